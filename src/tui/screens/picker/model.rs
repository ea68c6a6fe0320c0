//! A list that is filtered by typing: sessions, models, all actions.
//! Not for: what choosing does (`update`).

use crate::domain::base::ids::{MemoryId, NodeId, RunId, SessionId};
use crate::domain::conversation::mark::Atom;
use crate::domain::tool::consent::{Rule, RuleScope};
use crate::tui::model::Action;
use crate::tui::model::fuzzy::{Fuzzy, Score};
use std::sync::Arc;

/// What the list is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Sessions.
    Sessions,
    /// Models.
    Models,
    /// Models with which a stored call can be made again.
    ReplayModels(RunId),
    /// Items that can be left out of a stored call.
    ReplayItems,
    /// Memories.
    Memories,
    /// Messages with a name or a star.
    Labels,
    /// Themes: the selected one is shown.
    Themes,
    /// Rules about calls to tools.
    Rules,
    /// Actions.
    Palette,
    /// What can be copied of a message.
    Copies,
}

/// What choosing an entry means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Open a session.
    Session(SessionId),
    /// Ask a model.
    Model {
        /// Of which profile.
        profile: String,
        /// Its name.
        model: String,
    },
    /// Make a call again without this.
    Without(RunId, Atom),
    /// Confirm a memory.
    Memory(MemoryId),
    /// Go to a message.
    Message(NodeId),
    /// Take a theme.
    Theme(String),
    /// Copy this text.
    Copy(Arc<str>),
    /// Copy the turn of this message.
    CopyTurn(NodeId),
    /// Copy the branch as Markdown.
    CopyBranch,
    /// A rule about calls to tools.
    Rule(RuleScope, Rule),
    /// Do it.
    Action(Action),
    /// Only says something.
    Nothing,
}

/// One entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What is read first, unsanitised.
    pub label: String,
    /// What stands at its right or under it, unsanitised.
    pub detail: String,
    /// What choosing it means.
    pub choice: Choice,
}

/// The list.
#[derive(Clone, Debug)]
pub struct Picker {
    /// What of.
    pub kind: Kind,
    /// All entries.
    pub entries: Vec<Entry>,
    /// What was typed.
    pub filter: String,
    /// Entries that match, by place; the best first.
    pub shown: Vec<usize>,
    /// Of each of them the letters of its label that match, counted in characters; may be missing.
    pub marks: Vec<Vec<usize>>,
    /// The selected one among them.
    pub cursor: usize,
    /// An answer is awaited.
    pub loading: bool,
    /// The newest request for it.
    pub ticket: u64,
}

impl Picker {
    /// An empty list.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            entries: Vec::new(),
            filter: String::new(),
            shown: Vec::new(),
            marks: Vec::new(),
            cursor: 0,
            loading: false,
            ticket: 0,
        }
    }

    /// All actions by name, with what they do and their keys.
    #[must_use]
    pub fn palette(keys: &crate::tui::model::Keymap) -> Self {
        let wide = Action::ALL.iter().map(|action| action.name().len()).max().unwrap_or(0);
        let entry = |action: &Action| Entry {
            label: format!("{:<wide$}  {}", action.name(), action.sentence()),
            detail: keys.key_of(*action).unwrap_or_default(),
            choice: Choice::Action(*action),
        };
        let mut picker = Self::new(Kind::Palette);
        picker.fill(Action::ALL.iter().map(entry).collect());
        picker
    }

    /// Takes entries in.
    pub fn fill(&mut self, entries: Vec<Entry>) {
        self.entries = entries;
        self.loading = false;
        self.sift();
    }

    /// Works out what matches, the best first. Sessions come sifted by the store already.
    pub fn sift(&mut self) {
        self.marks.clear();
        if self.kind == Kind::Sessions || self.filter.trim().is_empty() {
            self.shown = (0..self.entries.len()).collect();
        } else {
            let mut fuzzy = Fuzzy::new(&self.filter);
            let fits = |(at, entry): (usize, &Entry)| fit(&mut fuzzy, entry).map(|(score, marks)| (score, at, marks));
            let mut found: Vec<(Score, usize, Vec<usize>)> = self.entries.iter().enumerate().filter_map(fits).collect();
            let length = |at: usize| self.entries[at].label.split("  ").next().map_or(0, str::len);
            found.sort_by_key(|(score, at, _)| (std::cmp::Reverse(*score), length(*at), *at));
            // Among many sentences scattered letters are found nearly everywhere; such hits would bury what is meant.
            let best = found.first().map_or(0, |(score, ..)| *score);
            found.retain(|(score, ..)| score * 3 >= best * 2);
            (self.shown, self.marks) = found.into_iter().map(|(_, at, marks)| (at, marks)).unzip();
        }
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
    }

    /// The selected entry.
    #[must_use]
    pub fn selected(&self) -> Option<&Entry> {
        self.shown.get(self.cursor).and_then(|at| self.entries.get(*at))
    }
}

/// How well an entry fits: by its name, which counts twice, else by its whole label, else with what stands beside it.
fn fit(fuzzy: &mut Fuzzy, entry: &Entry) -> Option<(Score, Vec<usize>)> {
    let name = entry.label.split("  ").next().unwrap_or_default();
    if let Some((score, marks)) = fuzzy.find(name) {
        return Some((score * 2, marks));
    }
    if let Some(found) = fuzzy.find(&entry.label) {
        return Some(found);
    }
    let (score, mut marks) = fuzzy.find(&format!("{} {}", entry.label, entry.detail))?;
    let end = entry.label.chars().count();
    marks.retain(|at| *at < end);
    Some((score / 2, marks))
}

/// Whether the letters of `wanted` stand in `text` in this order, in any case.
#[must_use]
pub fn matches(text: &str, wanted: &str) -> bool {
    let mut letters = text.chars().flat_map(char::to_lowercase);
    wanted.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).all(|w| letters.any(|c| c == w))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::model::Keymap;

    fn first(wanted: &str) -> (String, usize) {
        let mut picker = Picker::palette(&Keymap::built_in());
        picker.filter = wanted.to_owned();
        picker.sift();
        let label = picker.selected().map_or_else(String::new, |entry| entry.label.clone());
        (label.split_whitespace().next().unwrap_or_default().to_owned(), picker.shown.len())
    }

    #[test]
    fn the_palette_finds_what_is_meant_and_little_else() {
        for (wanted, name) in [
            ("theme", "theme"),
            ("thm", "theme"),
            ("hidec", "hide-context"),
            ("whatif", "what-if"),
            ("budget up", "budget-up"),
            ("zen", "zen"),
            ("undo", "undo"),
            ("quit", "quit"),
        ] {
            let (found, count) = first(wanted);
            assert_eq!(found, name, "for {wanted:?}");
            assert!(count < 25, "{wanted:?} leaves {count}");
        }
        assert_eq!(first("xqzj").1, 0);
        assert_eq!(first("").1, Action::ALL.len());
    }

    #[test]
    fn letters_that_match_are_known() {
        let mut picker = Picker::palette(&Keymap::built_in());
        picker.filter = "zen".into();
        picker.sift();
        assert_eq!(picker.marks[0], [0, 1, 2]);
    }
}
