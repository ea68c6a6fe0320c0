//! A list that is filtered by typing: sessions, models, all actions.
//! Not for: the effect of a choice (`update`).

use crate::domain::base::ids::{MemoryId, NodeId, RunId, SessionId};
use crate::domain::conversation::mark::Atom;
use crate::domain::tool::consent::{Rule, RuleScope};
use crate::tui::model::fuzzy::{Fuzzy, Score};
use crate::tui::model::keys::Action;
use std::sync::Arc;

/// The content of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Sessions.
    Sessions,
    /// Models.
    Models,
    /// Models for a replay of a stored call.
    ReplayModels(RunId),
    /// Items that can be left out of a stored call.
    ReplayItems,
    /// Memories.
    Memories,
    /// Messages with a name or a star.
    Labels,
    /// Themes; the selected one is previewed.
    Themes,
    /// Rules about tool calls.
    Rules,
    /// Actions.
    Palette,
    /// Copyable parts of a message.
    Copies,
}

/// The effect of choosing an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Open a session.
    Session(SessionId),
    /// Use a model.
    Model {
        /// Its profile.
        profile: String,
        /// Its name.
        model: String,
    },
    /// Replay a call without this item.
    Without(RunId, Atom),
    /// Confirm a memory.
    Memory(MemoryId),
    /// Go to a message.
    Message(NodeId),
    /// Use a theme.
    Theme(String),
    /// Copy this text.
    Copy(Arc<str>),
    /// Copy the turn of this message.
    CopyTurn(NodeId),
    /// Copy the branch as Markdown.
    CopyBranch,
    /// A rule about tool calls.
    Rule(RuleScope, Rule),
    /// Run an action.
    Action(Action),
    /// No effect; Enter shows this text.
    Explain(String),
}

/// One entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The main text, unsanitized.
    pub label: String,
    /// The text at its right or below it, unsanitized.
    pub detail: String,
    /// The effect of choosing it.
    pub choice: Choice,
}

/// One row of the list on the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PickerRow {
    /// A heading.
    Heading(&'static str),
    /// An entry, by its index among the displayed ones.
    Entry(usize),
}

/// The list.
#[derive(Clone, Debug)]
pub struct Picker {
    /// The content of the list.
    pub kind: Kind,
    /// All entries.
    pub entries: Vec<Entry>,
    /// The typed filter.
    pub filter: String,
    /// Matching entries, by index; the best first.
    pub shown: Vec<usize>,
    /// For each of them, the matching letters of its label, counted in characters; may be missing.
    pub marks: Vec<Vec<usize>>,
    /// The selected one of them.
    pub cursor: usize,
    /// Headings, each before the entry with this index; shown while the filter is empty.
    pub headings: Vec<(usize, &'static str)>,
    /// The entries are being loaded.
    pub loading: bool,
    /// The newest request for them.
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
            headings: Vec::new(),
            loading: false,
            ticket: 0,
        }
    }

    /// All actions, each once: `recent` ones first, the others by group.
    #[must_use]
    pub fn palette(keys: &crate::tui::model::keys::Keymap, recent: &[Action]) -> Self {
        let wide = Action::ALL.iter().map(|action| action.name().len()).max().unwrap_or(0);
        let entry = |action: &Action| Entry {
            label: format!("{:<wide$}  {}", action.name(), action.short()),
            detail: keys.key_of(*action).unwrap_or_default(),
            choice: Choice::Action(*action),
        };
        let mut others: Vec<Action> = Action::ALL.iter().filter(|action| !recent.contains(action)).copied().collect();
        others.sort_by_key(|action| action.group());
        let mut picker = Self::new(Kind::Palette);
        picker.headings.extend((!recent.is_empty()).then_some((0, "Recent")));
        for (at, action) in others.iter().enumerate() {
            if at == 0 || others[at - 1].group() != action.group() {
                picker.headings.push((recent.len() + at, action.group().title()));
            }
        }
        picker.fill(recent.iter().chain(&others).map(entry).collect());
        picker
    }

    /// The rows of the list from top to bottom: headings, and indices of displayed entries.
    #[must_use]
    pub fn rows(&self) -> Vec<PickerRow> {
        let typed = !self.filter.trim().is_empty();
        let heading = |at: usize| self.headings.iter().filter(move |(before, _)| !typed && *before == at);
        let rows = (0..self.shown.len())
            .flat_map(|at| heading(at).map(|(_, title)| PickerRow::Heading(title)).chain([PickerRow::Entry(at)]));
        rows.collect()
    }

    /// Replaces the entries.
    pub fn fill(&mut self, entries: Vec<Entry>) {
        self.entries = entries;
        self.loading = false;
        self.apply_filter();
    }

    /// Finds the matching entries, the best first. Sessions are already filtered by the store.
    pub fn apply_filter(&mut self) {
        self.marks.clear();
        if self.kind == Kind::Sessions || self.filter.trim().is_empty() {
            self.shown = (0..self.entries.len()).collect();
        } else {
            let mut fuzzy = Fuzzy::new(&self.filter);
            let fits = |(at, entry): (usize, &Entry)| fit(&mut fuzzy, entry).map(|(score, marks)| (score, at, marks));
            let mut found: Vec<(Score, usize, Vec<usize>)> = self.entries.iter().enumerate().filter_map(fits).collect();
            let length = |at: usize| self.entries[at].label.split("  ").next().map_or(0, str::len);
            found.sort_by_key(|(score, at, _)| (std::cmp::Reverse(*score), length(*at), *at));
            // In many sentences, scattered letters match nearly everywhere; such matches would hide the useful ones.
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

/// The score of an entry: for its name, which counts twice, else for its whole label, else with its detail and an
/// action's whole sentence.
fn fit(fuzzy: &mut Fuzzy, entry: &Entry) -> Option<(Score, Vec<usize>)> {
    let name = entry.label.split("  ").next().unwrap_or_default();
    if let Some((score, marks)) = fuzzy.find(name) {
        return Some((score * 2, marks));
    }
    if let Some(found) = fuzzy.find(&entry.label) {
        return Some(found);
    }
    let sentence = if let Choice::Action(action) = &entry.choice { action.sentence() } else { "" };
    let (score, mut marks) = fuzzy.find(&format!("{} {} {sentence}", entry.label, entry.detail))?;
    let end = entry.label.chars().count();
    marks.retain(|at| *at < end);
    Some((score / 2, marks))
}

/// Whether `text` contains the letters of `wanted` in this order, ignoring case.
#[must_use]
pub fn matches(text: &str, wanted: &str) -> bool {
    let mut letters = text.chars().flat_map(char::to_lowercase);
    wanted.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).all(|w| letters.any(|c| c == w))
}

/// The purpose of a request of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PickerPending {
    /// To list sessions.
    Sessions,
    /// To list models.
    Models,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::model::keys::Keymap;

    fn first(wanted: &str) -> (String, usize) {
        let mut picker = Picker::palette(&Keymap::built_in(), &[]);
        picker.filter = wanted.to_owned();
        picker.apply_filter();
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
    fn every_action_stands_once_under_its_heading_and_recent_ones_first() {
        let recent = [Action::Zen, Action::Fork];
        let mut picker = Picker::palette(&Keymap::built_in(), &recent);
        assert_eq!(picker.entries.len(), Action::ALL.len());
        let rows = picker.rows();
        assert_eq!(
            rows[..4],
            [PickerRow::Heading("Recent"), PickerRow::Entry(0), PickerRow::Entry(1), PickerRow::Heading("Context"),]
        );
        let mut heading = "";
        for row in rows {
            match row {
                PickerRow::Heading(title) => heading = title,
                PickerRow::Entry(at) => {
                    let Choice::Action(action) = picker.entries[picker.shown[at]].choice else { panic!() };
                    let expected = if recent.contains(&action) { "Recent" } else { action.group().title() };
                    assert_eq!(heading, expected, "{action:?}");
                    assert!(!action.short().is_empty(), "{action:?}");
                }
            }
        }
        picker.filter = "fork".into();
        picker.apply_filter();
        assert!(picker.rows().iter().all(|row| matches!(row, PickerRow::Entry(_))), "headings stand in whole lists");
    }

    #[test]
    fn letters_that_match_are_known() {
        let mut picker = Picker::palette(&Keymap::built_in(), &[]);
        picker.filter = "zen".into();
        picker.apply_filter();
        assert_eq!(picker.marks[0], [0, 1, 2]);
    }
}
