//! The headings of the menus, and the short descriptions in them.
//! Not for: the group of each action (`actions`), or keys (`keymap`).

use super::actions::Action;
use crate::domain::base::plain_text::first_clause;

/// A heading of the menus.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ActionGroup {
    /// The content of the next request.
    Context,
    /// Branches and the tree.
    Branch,
    /// Past calls and their usage.
    Calls,
    /// Tools, their servers, and their rules.
    Tools,
    /// Sessions, settings and the program.
    Session,
    /// Appearance and navigation.
    View,
    /// Writing and sending.
    Message,
}

impl ActionGroup {
    /// Returns the heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Message => "Message",
            Self::Context => "Context",
            Self::Branch => "Branch",
            Self::Calls => "Calls",
            Self::Tools => "Tools",
            Self::Session => "Session",
            Self::View => "View",
        }
    }
}

impl Action {
    /// Returns the description for the menus.
    pub fn short(self) -> &'static str {
        short_clause(self.sentence())
    }
}

/// Returns a description's first clause; of a longer one than five words, as many phrases as have at most five.
pub(in crate::config) fn short_clause(sentence: &str) -> &str {
    let clause = first_clause(sentence).trim_end();
    let starts: Vec<usize> =
        clause.split(' ').scan(0, |at, word| Some(std::mem::replace(at, *at + word.len() + 1))).collect();
    let words = clause.split(' ').zip(&starts).enumerate();
    let phrases = words.filter(|(at, (word, _))| (2..=5).contains(at) && ADDITIONS.contains(word));
    match phrases.last() {
        Some((_, (_, start))) if starts.len() > 5 => clause[..*start].trim_end(),
        _ => clause,
    }
}

/// The words before which a description is cut for the menus.
const ADDITIONS: [&str; 17] = [
    "and", "as", "by", "for", "from", "in", "into", "of", "on", "onto", "or", "outside", "that", "to", "under", "with",
    "without",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_descriptions_have_at_most_five_words() {
        for action in Action::ALL {
            let words = action.short().split_whitespace().count();
            assert!((1..=5).contains(&words), "{}: {}", action.name(), action.short());
        }
    }
}
