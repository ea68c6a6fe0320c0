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
    /// Returns the description's first clause; of a longer one than five words, the part before its first phrase with a
    /// preposition.
    pub fn short(self) -> &'static str {
        let clause = first_clause(self.sentence()).trim_end();
        let starts: Vec<usize> =
            clause.split(' ').scan(0, |at, word| Some(std::mem::replace(at, *at + word.len() + 1))).collect();
        let words = clause.split(' ').zip(&starts).enumerate();
        let mut phrases = words.filter(|(at, (word, _))| *at > 1 && PREPOSITIONS.contains(word));
        match phrases.next() {
            Some((_, (_, start))) if starts.len() > 5 => clause[..*start].trim_end(),
            _ => clause,
        }
    }
}

/// The prepositions before which the description of an action is cut for the menus.
const PREPOSITIONS: [&str; 12] =
    ["as", "by", "for", "from", "in", "into", "of", "on", "outside", "to", "under", "with"];

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
