//! A list that is filtered by typing: sessions, models, all actions.
//! Not for: what choosing does (`update`).

use super::Action;
use crate::domain::consent::{Rule, RuleScope};
use crate::domain::ids::{MemoryId, NodeId, RunId, SessionId};
use crate::domain::mark::Atom;

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
    /// Rules about calls to tools.
    Rules,
    /// Actions.
    Palette,
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
    /// Entries that match, by place.
    pub shown: Vec<usize>,
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
            cursor: 0,
            loading: false,
            ticket: 0,
        }
    }

    /// All actions, with their keys.
    #[must_use]
    pub fn palette(keys: &super::Keymap) -> Self {
        let entry = |action: &Action| Entry {
            label: action.sentence().to_owned(),
            detail: keys.key_of(*action).unwrap_or_else(|| format!("/{}", action.name())),
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

    /// Works out what matches. Sessions come sifted by the store already.
    pub fn sift(&mut self) {
        let all = self.kind == Kind::Sessions;
        let hit = |entry: &Entry| all || matches(&format!("{} {}", entry.label, entry.detail), &self.filter);
        self.shown = (0..self.entries.len()).filter(|at| hit(&self.entries[*at])).collect();
        if self.kind == Kind::Palette && !self.filter.is_empty() {
            let wanted = self.filter.to_lowercase();
            let entries = &self.entries;
            self.shown.sort_by_key(|at| !entries[*at].label.to_lowercase().contains(&wanted));
        }
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
    }

    /// The selected entry.
    #[must_use]
    pub fn selected(&self) -> Option<&Entry> {
        self.shown.get(self.cursor).and_then(|at| self.entries.get(*at))
    }
}

/// Whether the letters of `wanted` stand in `text` in this order, in any case.
#[must_use]
pub fn matches(text: &str, wanted: &str) -> bool {
    let mut letters = text.chars().flat_map(char::to_lowercase);
    wanted.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).all(|w| letters.any(|c| c == w))
}
