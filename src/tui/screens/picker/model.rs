//! State of a list that is filtered by typing.
//! Not for: the effect of choosing an entry (`update`).

use crate::domain::base::ids::MemoryId;
use crate::domain::base::{BranchId, NodeId, RunId, SessionId};
use crate::domain::conversation::Atom;
use crate::domain::tool::{Rule, RuleScope};
use crate::tui::chat::model::slash::{self, CommandRow};
use crate::tui::model::fuzzy::{Fuzzy, Literal, Score, Words};
use crate::tui::model::keys::{Action, KeyPlace, Keymap};
use crate::tui::model::typed_line::TypedLine;
use crate::tui::screens::race::model::RaceQuestion;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The kind of a list, by its contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    #[default]
    Sessions,
    Models,
    /// Models to repeat a stored call with.
    ReplayModels(RunId),
    /// Models to send a question to; several can be chosen.
    RaceModels,
    /// Items to leave out when a stored call is repeated.
    ReplayItems,
    Memories,
    /// Labeled messages and favorites.
    Labels,
    /// Themes; the theme under the cursor is previewed.
    Themes,
    /// Rules about tool calls.
    Rules,
    /// All actions and commands.
    Palette,
    /// Parts of a message that can be copied.
    Copies,
    /// Branches to compare the current one with.
    CompareWith,
    /// Lanes of the current branch's path.
    Lanes,
}

/// The effect of choosing an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Opens a session.
    Session(SessionId),
    /// Sets the model of the branch.
    Model { profile: String, model: String },
    /// Repeats a call without an item.
    Without(RunId, Atom),
    /// Confirms a memory.
    Memory(MemoryId),
    /// Goes to a message.
    Message(NodeId),
    /// Sets the theme.
    Theme(String),
    /// Copies this text.
    Copy(Arc<str>),
    /// Copies the turn of this message.
    CopyTurn(NodeId),
    /// Copies the branch as Markdown.
    CopyBranch,
    /// Compares the current branch with this one.
    CompareWith(BranchId),
    /// Chooses the lane with this text for the next message.
    Lane(String),
    /// A rule about tool calls; choosing it has no effect.
    Rule(RuleScope, Rule),
    /// Runs an action.
    Action(Action),
    /// Runs a command, or writes its name into the composer if it takes arguments.
    Command(&'static CommandRow),
    /// Shows these words, for an entry that cannot be chosen.
    Explain(String),
}

impl Choice {
    /// The description of an action or a command; empty for other choices.
    pub(super) fn sentence(&self) -> &str {
        if let Self::Action(action) = self {
            action.sentence()
        } else if let Self::Command(row) = self {
            &row.sentence
        } else {
            ""
        }
    }
}

/// An entry of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The label, not sanitized.
    pub label: String,
    /// The detail at its right, not sanitized.
    pub detail: String,
    /// The effect of choosing it.
    pub choice: Choice,
}

/// The columns of an entry, from left to right; see [`TITLES`].
pub type Columns = [String; 6];

/// The titles of the columns. Prices are in dollars per million tokens.
pub const TITLES: [&str; 6] = ["Context", "In", "Out", "Answer", "Supports", "Profile"];
/// From this column on, values are aligned on the left.
pub const WORDS: usize = 4;
/// The order in which columns are left out if there is no room for them: indices into [`TITLES`].
const LEFT_OUT_FIRST: [&[usize]; 5] = [&[5], &[3], &[4], &[0], &[1, 2]];
/// The space before a column.
pub const GAP: usize = 2;
/// A label is shortened to this width before a column is left out.
const LEAST_LABEL: usize = 22;

/// Returns the width of the labels and the widths of the columns, 0 for a column that is left out, so that a row has at
/// most `room` columns of the screen. `labels` is the width of the widest label, `wanted` the widths of the columns.
pub fn fitting(labels: usize, wanted: [usize; 6], room: usize) -> (usize, [usize; 6]) {
    let mut kept = wanted;
    let needed = |kept: &[usize; 6]| kept.iter().filter(|width| **width > 0).map(|width| width + GAP).sum::<usize>();
    for together in LEFT_OUT_FIRST {
        if labels.min(LEAST_LABEL) + needed(&kept) <= room {
            break;
        }
        for at in together {
            kept[*at] = 0;
        }
    }
    (labels.min(room.saturating_sub(needed(&kept))), kept)
}

/// A row of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PickerRow {
    Heading(&'static str),
    /// An entry, by its index in `shown`.
    Entry(usize),
}

/// A list that is filtered by typing.
#[derive(Clone, Debug, Default)]
pub struct Picker {
    /// The kind of the list.
    pub kind: Kind,
    pub entries: Vec<Entry>,
    pub filter: TypedLine,
    /// Indices of the matching entries, best match first.
    pub shown: Vec<usize>,
    /// For each of `shown`, the character positions of its label that match; may be shorter than `shown`.
    pub marks: Vec<Vec<usize>>,
    /// Index in `shown` of the entry under the cursor.
    pub cursor: usize,
    /// Headings with the index of the entry that each precedes; shown while the filter is empty.
    pub headings: Vec<(usize, &'static str)>,
    /// For each entry, the columns between its label and its end, if the list has columns; otherwise, or for an entry
    /// without columns, empty.
    pub columns: Vec<Columns>,
    /// The index of the first action that works only on another screen; such actions are last.
    pub elsewhere: Option<usize>,
    /// Indices of the entries that are chosen, in a list where several can be.
    pub chosen: BTreeSet<usize>,
    /// The question for the chosen models.
    pub race: Option<RaceQuestion>,
    /// Whether an answer is pending.
    pub loading: bool,
    /// Ticket of the newest request.
    pub ticket: u64,
}

impl Picker {
    /// Creates an empty list.
    pub fn new(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Creates the list of all actions: `recent` ones first, then the others by group, then the commands that have no
    /// action of the same name, then the actions that work only on other screens than `here`. Each is shown as it is
    /// typed after a slash.
    pub fn palette(keys: &Keymap, recent: &[Action], here: &[KeyPlace]) -> Self {
        let commands = slash::names()
            .iter()
            .filter(|row| Action::from_name(&row.name).is_none_or(|action| action.name() != row.name));
        let names = Action::ALL.iter().map(|action| action.name().len());
        let wide = names.chain(commands.clone().map(|row| row.name.len())).max().unwrap_or(0) + 1;
        let entry = |action: &Action| Entry {
            label: format!("{:<wide$}  {}", format!("/{}", action.name()), action.in_menus()),
            detail: keys.key_of(*action).unwrap_or_default(),
            choice: Choice::Action(*action),
        };
        let others = Action::ALL.iter().filter(|action| !recent.contains(action)).copied();
        let (mut others, far): (Vec<Action>, Vec<Action>) =
            others.partition(|action| keys.elsewhere(*action, here).is_empty());
        others.sort_by_key(|action| action.group());
        let mut picker = Self::new(Kind::Palette);
        picker.headings.extend((!recent.is_empty()).then_some((0, "Recent")));
        for (at, action) in others.iter().enumerate() {
            if at == 0 || others[at - 1].group() != action.group() {
                picker.headings.push((recent.len() + at, action.group().title()));
            }
        }
        let mut entries: Vec<Entry> = recent.iter().chain(&others).map(entry).collect();
        picker.headings.push((entries.len(), "Commands"));
        entries.extend(commands.map(|row| Entry {
            label: format!("{:<wide$}  {}", format!("/{}", row.name), row.in_menus()),
            detail: String::new(),
            choice: Choice::Command(row),
        }));
        picker.elsewhere = Some(entries.len()).filter(|_| !far.is_empty());
        picker.headings.extend(picker.elsewhere.map(|at| (at, "On other screens")));
        entries.extend(far.iter().map(|action| {
            let places: Vec<&str> = keys.elsewhere(*action, here).into_iter().map(KeyPlace::title).collect();
            Entry { detail: format!("{}: {}", places.join(", "), keys.key(*action)), ..entry(action) }
        }));
        picker.fill(entries);
        picker
    }

    /// Rows of the list from top to bottom.
    pub fn rows(&self) -> Vec<PickerRow> {
        let typed = !self.filter.trim().is_empty();
        let heading = |at: usize| self.headings.iter().filter(move |(before, _)| !typed && *before == at);
        let rows = (0..self.shown.len())
            .flat_map(|at| heading(at).map(|(_, title)| PickerRow::Heading(title)).chain([PickerRow::Entry(at)]));
        rows.collect()
    }

    /// Stores the entries and applies the filter.
    pub fn fill(&mut self, entries: Vec<Entry>) {
        self.entries = entries;
        self.loading = false;
        self.apply_filter();
    }

    /// Applies the filter, best matches first. Sessions are filtered by the store instead.
    pub fn apply_filter(&mut self) {
        self.marks.clear();
        if self.kind == Kind::Sessions || self.filter.trim().is_empty() {
            self.shown = (0..self.entries.len()).collect();
        } else {
            (self.shown, self.marks) = self.matching().into_iter().map(|found| (found.at, found.marks)).unzip();
        }
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
    }

    /// The entries that match the filter, best match first.
    fn matching(&self) -> Vec<Match> {
        let wanted = self.filter.trim();
        let wanted = wanted.strip_prefix('/').filter(|_| self.kind == Kind::Palette).unwrap_or(wanted);
        let (mut fuzzy, words) = (Fuzzy::new(wanted), Words::new(wanted));
        let fits = |(at, entry)| {
            let (rank, score, marks) = fit(&mut fuzzy, &words, entry)?;
            let rank = if name_of(entry).eq_ignore_ascii_case(wanted) { Rank::Exact } else { rank };
            Some(Match { at, rank, score, marks })
        };
        let mut found: Vec<Match> = self.entries.iter().enumerate().filter_map(fits).collect();
        let length = |at: usize| self.entries[at].label.split("  ").next().map_or(0, str::len);
        // An action is chosen more often than a command with the same words.
        let is_command = |at: usize| matches!(self.entries[at].choice, Choice::Command(_));
        let late = |found: &Match| match found.rank {
            Rank::Exact | Rank::Scattered => false,
            Rank::Name | Rank::Label | Rank::Sentence | Rank::Inside => is_command(found.at) || self.is_far(found.at),
        };
        found.sort_by_key(|one| (one.rank, late(one), std::cmp::Reverse(one.score), length(one.at), one.at));
        // Scattered letters match most long sentences, so they count only if no entry contains the words, and matches
        // far below the best one are dropped.
        let best = found.first().map_or((Rank::Scattered, 0), |found| (found.rank, found.score));
        found.retain(|found| {
            let far = || found.score * 3 < best.1 * 2;
            if best.0 == Rank::Scattered { !far() } else { found.rank != Rank::Scattered }
        });
        found
    }

    /// Whether an entry is an action that works only on another screen.
    pub fn is_far(&self, entry: usize) -> bool {
        self.elsewhere.is_some_and(|first| entry >= first)
    }

    /// Chooses the model under the cursor, or no longer chooses it.
    pub fn toggle(&mut self) {
        let Some(at) = self.shown.get(self.cursor).copied() else { return };
        if matches!(self.entries[at].choice, Choice::Model { .. }) && !self.chosen.remove(&at) {
            self.chosen.insert(at);
        }
    }

    /// The entry under the cursor.
    pub fn selected(&self) -> Option<&Entry> {
        self.shown.get(self.cursor).and_then(|at| self.entries.get(*at))
    }
}

/// An entry that matches the filter.
struct Match {
    /// Index of the entry.
    at: usize,
    rank: Rank,
    score: Score,
    /// The matching positions of the label.
    marks: Vec<usize>,
}

/// The name of an entry, without a slash.
fn name_of(entry: &Entry) -> &str {
    let name = entry.label.split("  ").next().unwrap_or_default();
    name.strip_prefix('/').unwrap_or(name)
}

/// How an entry matches the filter, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    /// The filter is the name.
    Exact,
    /// The words begin words of the name.
    Name,
    /// The words begin words of the label.
    Label,
    /// The words begin words of the label, the detail, or the sentence.
    Sentence,
    /// These contain the words.
    Inside,
    /// The letters of the words occur in order.
    Scattered,
}

/// Ranks and scores an entry, and returns the matching positions of its label. Among scattered letters, its name counts
/// twice, then its whole label, then its label with its detail and its sentence, which counts half.
fn fit(fuzzy: &mut Fuzzy, words: &Words, entry: &Entry) -> Option<(Rank, Score, Vec<usize>)> {
    let name = entry.label.split("  ").next().unwrap_or_default();
    let sentence = entry.choice.sentence();
    let whole = format!("{} {} {sentence}", entry.label, entry.detail);
    let starts = |text: &str| words.find(text) == Some(Literal::Start);
    let rank = match words.find(&whole) {
        None => Rank::Scattered,
        Some(Literal::Inside) => Rank::Inside,
        Some(Literal::Start) if starts(name) => Rank::Name,
        Some(Literal::Start) if starts(&entry.label) => Rank::Label,
        Some(Literal::Start) => Rank::Sentence,
    };
    let (bare, slash) = name.strip_prefix('/').map_or((name, 0), |bare| (bare, 1));
    if let Some((score, marks)) = fuzzy.find(bare) {
        return Some((rank, score * 2, marks.into_iter().map(|at| at + slash).collect()));
    }
    if let Some((score, marks)) = fuzzy.find(&entry.label) {
        return Some((rank, score, marks));
    }
    let (score, mut marks) = fuzzy.find(&whole)?;
    let end = entry.label.chars().count();
    marks.retain(|at| *at < end);
    Some((rank, score / 2, marks))
}

/// The purpose of a request of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PickerPending {
    /// To list sessions.
    Sessions,
    /// To list models.
    Models,
    /// To list the summaries of lanes.
    Lanes,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn first(wanted: &str) -> (String, usize) {
        let mut picker = Picker::palette(&Keymap::built_in(), &[], KeyPlace::ALL);
        picker.filter = wanted.into();
        picker.apply_filter();
        let label = picker.selected().map_or_else(String::new, |entry| entry.label.clone());
        (label.split_whitespace().next().unwrap_or_default().to_owned(), picker.shown.len())
    }

    #[test]
    fn the_palette_finds_the_action_and_few_others() {
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
            assert_eq!(found, format!("/{name}"), "for {wanted:?}");
            assert!(count < 25, "{wanted:?} leaves {count}");
        }
        assert_eq!(first("xqzj").1, 0);
        assert!(first("").1 > Action::ALL.len(), "the commands too");
    }

    #[test]
    fn commands_are_found_by_the_start_of_a_word() {
        for (wanted, name) in [
            ("export", "/export"),
            ("expo", "/export"),
            ("import", "/import"),
            ("backup", "/backups"),
            ("delete sess", "/session"),
            ("clear", "/clear"),
            ("/clear", "/clear"),
            ("new", "/new"),
            ("note", "/note"),
            ("model", "/model"),
        ] {
            assert_eq!(first(wanted).0, name, "for {wanted:?}");
        }
        let mut picker = Picker::palette(&Keymap::built_in(), &[], KeyPlace::ALL);
        picker.filter = "export".into();
        picker.apply_filter();
        for at in &picker.shown {
            let entry = &picker.entries[*at];
            let sentence = entry.choice.sentence();
            assert!(!sentence.is_empty(), "{entry:?}");
            assert!(format!("{} {sentence}", entry.label).to_lowercase().contains("export"), "{}", entry.label);
        }
    }

    #[test]
    fn every_action_is_listed_once_under_its_group_after_recent_ones() {
        let recent = [Action::Zen, Action::Fork];
        let mut picker = Picker::palette(&Keymap::built_in(), &recent, KeyPlace::ALL);
        let rows = picker.rows();
        assert_eq!(
            rows[..4],
            [PickerRow::Heading("Recent"), PickerRow::Entry(0), PickerRow::Entry(1), PickerRow::Heading("Context"),]
        );
        let (mut heading, mut listed) = ("", HashSet::new());
        for row in rows {
            match row {
                PickerRow::Heading(title) => heading = title,
                PickerRow::Entry(at) => {
                    let choice = &picker.entries[picker.shown[at]].choice;
                    let (expected, short, name) = if let Choice::Action(action) = choice {
                        let group = if recent.contains(action) { "Recent" } else { action.group().title() };
                        (group, action.in_menus(), action.name())
                    } else if let Choice::Command(row) = choice {
                        ("Commands", row.in_menus(), row.name.as_str())
                    } else {
                        panic!("{choice:?}");
                    };
                    assert_eq!(heading, expected, "{name}");
                    assert!(!short.is_empty() && listed.insert(name), "{name}");
                }
            }
        }
        let all = Action::ALL.iter().map(|action| action.name());
        let mut all: HashSet<&str> = all.chain(slash::names().iter().map(|row| row.name.as_str())).collect();
        all.retain(|name| !listed.contains(name));
        assert!(all.is_empty(), "not listed: {all:?}");
        assert_eq!(picker.entries.len(), slash::names().len(), "the list after a slash has as many");
        picker.filter = "fork".into();
        picker.apply_filter();
        assert!(picker.rows().iter().all(|row| matches!(row, PickerRow::Entry(_))), "a filtered list has no headings");
    }

    #[test]
    fn actions_of_other_screens_are_last() {
        let keys = Keymap::built_in();
        let picker = Picker::palette(&keys, &[], &[KeyPlace::Composer, KeyPlace::Always]);
        let position = |action| picker.entries.iter().position(|entry| entry.choice == Choice::Action(action)).unwrap();
        let first = picker.elsewhere.unwrap();
        for action in [Action::SendEdited, Action::TakeRow, Action::EditJson] {
            assert!(position(action) >= first, "{action:?}");
        }
        for action in [Action::Fork, Action::Undo, Action::Zen, Action::Pin] {
            assert!(position(action) < first, "{action:?}");
        }
        assert_eq!(picker.entries[position(Action::SendEdited)].detail, "exact request: S");
        assert!(picker.headings.contains(&(first, "On other screens")));
        let there = Picker::palette(&keys, &[], &[KeyPlace::Request, KeyPlace::Panel, KeyPlace::Always]);
        let at = there.entries.iter().position(|entry| entry.choice == Choice::Action(Action::SendEdited)).unwrap();
        assert!(!there.is_far(at), "it works on the screen below");
    }

    #[test]
    fn columns_are_left_out_whole() {
        let wanted = [7, 6, 6, 6, 8, 10];
        assert_eq!(fitting(30, wanted, 120), (30, wanted));
        assert_eq!(fitting(40, wanted, 85), (30, wanted), "the label is shortened first");
        assert_eq!(fitting(40, wanted, 70), (27, [7, 6, 6, 6, 8, 0]));
        assert_eq!(fitting(40, wanted, 60), (25, [7, 6, 6, 0, 8, 0]));
        assert_eq!(fitting(40, wanted, 39), (23, [0, 6, 6, 0, 0, 0]), "the prices stay longest");
        assert_eq!(fitting(40, wanted, 30), (30, [0; 6]));
        for room in 0..140 {
            let (label, kept) = fitting(30, wanted, room);
            let sum: usize = kept.iter().filter(|width| **width > 0).map(|width| width + GAP).sum();
            assert!(label + sum <= room, "{room}");
        }
    }

    #[test]
    fn matching_letters_are_recorded() {
        let mut picker = Picker::palette(&Keymap::built_in(), &[], KeyPlace::ALL);
        picker.filter = "zen".into();
        picker.apply_filter();
        assert_eq!(picker.marks[0], [1, 2, 3]);
    }
}
