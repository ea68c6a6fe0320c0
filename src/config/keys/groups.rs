//! The headings of the menus, and the short descriptions in them.
//! Not for: the group of each action (`actions`), or keys (`keymap`).

use super::actions::Action;
use crate::domain::base::named_enum::named_enum;
use crate::domain::base::plain_text::first_clause;

named_enum! {
    /// A heading of the menus.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum ActionGroup {
        /// The content of the next request.
        Context => "Context",
        /// Branches and the tree.
        Branch => "Branch",
        /// Past calls and their usage.
        Call => "Calls",
        /// Tools, their servers, and their rules.
        Tool => "Tools",
        /// Sessions, settings and the program.
        Session => "Session",
        /// Appearance and navigation.
        View => "View",
        /// Writing and sending.
        Message => "Message",
    }
    /// Returns the heading.
    pub fn title
}

impl Action {
    /// Returns the description for the menus, which cut it at their width.
    pub fn in_menus(self) -> &'static str {
        in_menus(self.sentence())
    }

    /// Returns the description for the hint of the keys that may follow, whose columns are narrow.
    pub fn short(self) -> &'static str {
        short_clause(self.sentence())
    }

    /// Returns what the action does, in the third person: `excludes the item`, `pins or unpins the item`.
    pub fn does(self) -> String {
        let words: Vec<&str> = self.short().trim_end_matches('.').split(' ').collect();
        let is_verb = |at: usize| at == 0 || at == 2 && matches!(words[1], "or" | "and");
        let word = |(at, word): (usize, &&str)| if is_verb(at) { third_person(word) } else { (*word).to_owned() };
        words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
    }
}

/// Returns a verb in the third person, in lower case: `excludes`, `denies`, `switches`.
fn third_person(verb: &str) -> String {
    let verb = verb.to_lowercase();
    match verb.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u'])) {
        Some(stem) => format!("{stem}ies"),
        None if verb.ends_with(['o', 's', 'x']) || verb.ends_with("ch") || verb.ends_with("sh") => format!("{verb}es"),
        None => format!("{verb}s"),
    }
}

/// Returns a description for the menus: the whole text without its last full stop.
pub(in crate::config) fn in_menus(sentence: &str) -> &str {
    sentence.strip_suffix('.').unwrap_or(sentence)
}

/// Returns the longest form of a description that fits in `room` columns of a menu: the whole text, its first clause, or
/// the phrases that have at most five words. Each form is the beginning of the longer ones.
pub fn in_menu_room(sentence: &str, room: usize) -> &str {
    let forms = [in_menus(sentence), first_clause(sentence), short_clause(sentence)];
    forms.into_iter().find(|form| form.chars().count() <= room).unwrap_or(forms[2])
}

/// Returns a description's first clause; of a longer one than five words, as many phrases as have at most five.
fn short_clause(sentence: &str) -> &str {
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
    fn effects_are_in_the_third_person() {
        for (action, does) in [
            (Action::Exclude, "excludes the item"),
            (Action::Pin, "pins or unpins the item"),
            (Action::Reply, "replies with a quote"),
            (Action::RefuseTool, "denies the call"),
            (Action::AllowAlways, "approves and adds a rule"),
            (Action::Dismiss, "dismisses the suggestion for good"),
            (Action::Undo, "undoes the session's last change"),
        ] {
            assert_eq!(action.does(), does);
        }
    }

    #[test]
    fn a_description_is_shortened_at_its_clauses() {
        let sentence = "Show or change the budget of the branch: the most tokens of a request.";
        for (room, form) in [
            (80, "Show or change the budget of the branch: the most tokens of a request"),
            (60, "Show or change the budget of the branch"),
            (30, "Show or change the budget"),
            (10, "Show or change the budget"),
        ] {
            assert_eq!(in_menu_room(sentence, room), form, "{room}");
        }
    }

    #[test]
    fn short_descriptions_have_at_most_five_words() {
        for action in Action::ALL {
            let words = action.short().split_whitespace().count();
            assert!((1..=5).contains(&words), "{}: {}", action.name(), action.short());
        }
    }
}
