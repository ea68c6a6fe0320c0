//! What differs between two plans: rows that came, went, moved, were shortened or lengthened, and rows that go for another
//! reason. Rows are matched by what they are about, not by where they stand.
//! Not for: whose act it was (`context::blame`) or finding plans (`engine`).

use super::hash::Hash;
use super::ids::{BranchId, RunId};
use super::mark::Atom;
use super::plan::{ContextPlan, Form, Row, RowKind};
use super::policy::Section;
use super::reason::Reason;
use super::transition::Standing;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// How a row differs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It goes now and did not.
    Entered,
    /// It went and does not now.
    Left,
    /// It goes in another section, or in another order among the others.
    Moved,
    /// It goes with fewer tokens.
    Shortened,
    /// It goes with more tokens.
    Lengthened,
    /// Its text is another one of the same length.
    Changed,
    /// It goes, or stays out, for another reason.
    Reason,
}

impl Kind {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 7] =
        [Self::Entered, Self::Left, Self::Moved, Self::Shortened, Self::Lengthened, Self::Changed, Self::Reason];

    /// The word for it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Entered => "entered",
            Self::Left => "left",
            Self::Moved => "moved",
            Self::Shortened => "shortened",
            Self::Lengthened => "lengthened",
            Self::Changed => "other text",
            Self::Reason => "other reason",
        }
    }
}

/// Where an item stands in a plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Place {
    /// Whether it goes.
    pub goes: bool,
    /// Its section, where it goes.
    pub section: Option<Section>,
    /// Its place among the rows that go, from 1.
    pub at: Option<u32>,
    /// Tokens, estimated.
    pub tokens: u32,
    /// How much of it goes: the farthest from full among its messages.
    pub form: Form,
    /// Why.
    pub reason: Reason,
    /// It shares a row with its neighbours (turns that stay out together).
    pub shared: bool,
}

impl Place {
    fn of(row: &Row, at: Option<u32>, about: &Atom) -> Self {
        let form = row.items.iter().map(|item| item.form).max().unwrap_or(Form::Full);
        let shared = matches!(row.atom, Atom::Range { .. }) && row.atom != *about;
        Self {
            goes: row.included(),
            section: row.section(),
            at,
            tokens: if shared { 0 } else { row.tokens },
            form,
            reason: row.reason.clone(),
            shared,
        }
    }

    /// `Recent, 412 tok` or `out`.
    #[must_use]
    pub fn words(&self) -> String {
        let form = match self.form {
            Form::Cut(_) | Form::Elided | Form::Gone if self.goes => ", shortened",
            Form::Placeholder if self.goes => ", partly left out",
            _ => "",
        };
        match self.section {
            Some(section) => {
                let tokens = super::tokens::grouped(u64::from(self.tokens));
                format!("{}, {tokens} tok est{form}", section.title())
            }
            None if matches!(self.reason, Reason::PinSuggested | Reason::PinEarned { .. }) => "suggested".to_owned(),
            None => "out".to_owned(),
        }
    }

    /// Whether a person would call two places the same: section, form and kind of reason.
    #[must_use]
    pub fn like(&self, other: &Self) -> bool {
        self.goes == other.goes
            && self.section == other.section
            && self.form == other.form
            && same_reason(&self.reason, &other.reason)
    }
}

/// What caused a difference.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A person's act.
    You,
    /// The model's.
    Model,
    /// The program leased it, renewed or ended a lease.
    Lease,
    /// The prompt budget.
    Budget,
    /// The context mode.
    Mode,
    /// The policy or the layout.
    Policy,
    /// Another model, whose tokens or window differ.
    OtherModel,
    /// A summary goes in place of turns.
    Summary,
    /// The look through older messages.
    Retrieval,
    /// The window of recent turns moved on.
    Window,
    /// The conversation went on.
    Turn,
    /// Another path: a branch, another version of a message.
    Branch,
}

impl By {
    /// The word for it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::You => "you",
            Self::Model => "the model",
            Self::Lease => "a lease",
            Self::Budget => "the budget",
            Self::Mode => "the mode",
            Self::Policy => "the policy",
            Self::OtherModel => "another model",
            Self::Summary => "a summary",
            Self::Retrieval => "what is asked",
            Self::Window => "the window",
            Self::Turn => "the conversation",
            Self::Branch => "another path",
        }
    }
}

/// One cause of a difference.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cause {
    /// What.
    pub by: By,
    /// A sentence.
    pub words: String,
    /// When, where that is known: milliseconds since 1970.
    pub at: Option<i64>,
}

/// One item that differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Delta {
    /// What it is about, as the later plan names it.
    pub atom: Atom,
    /// Of which kind.
    pub row: RowKind,
    /// First words, unsanitised.
    pub title: String,
    /// Its turn, from 1.
    pub turn: Option<u32>,
    /// How it differs, the most telling first; never empty.
    pub kinds: Vec<Kind>,
    /// Before; none where the plan had no such row.
    pub before: Option<Place>,
    /// After.
    pub after: Option<Place>,
    /// Why; empty where nothing is known.
    pub causes: Vec<Cause>,
}

impl Delta {
    /// The group under which it is told.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kinds.first().copied().unwrap_or(Kind::Reason)
    }

    /// What it is called in lists: its turn, or the kind of its row.
    #[must_use]
    pub fn label(&self) -> String {
        match (self.turn, self.row) {
            (Some(turn), RowKind::Turn) => format!("turn {turn}"),
            (Some(turn), kind) => format!("{} {turn}", kind.name()),
            (None, kind) => kind.name().to_owned(),
        }
    }

    /// What it adds to the request, in tokens (est); negative where it takes away.
    #[must_use]
    pub fn tokens(&self) -> i64 {
        let of = |place: &Option<Place>| {
            place.as_ref().filter(|place| place.goes).map_or(0, |place| i64::from(place.tokens))
        };
        of(&self.after) - of(&self.before)
    }

    /// `Recent, 412 tok est → out`
    #[must_use]
    pub fn words(&self, becomes: &str) -> String {
        let of = |place: &Option<Place>| place.as_ref().map_or_else(|| "not there".to_owned(), Place::words);
        let (from, to) = (of(&self.before), of(&self.after));
        if from == to { to } else { format!("{from} {becomes} {to}") }
    }
}

/// A call, or the one that would be sent next.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Call {
    /// The run; none for what was not sent.
    pub run: Option<RunId>,
    /// The plan.
    pub plan: Hash,
    /// The branch.
    pub branch: Option<BranchId>,
    /// Its name, unsanitised.
    pub name: String,
    /// Milliseconds since 1970; none for what was not sent.
    pub at: Option<i64>,
    /// Tokens of the prompt (est).
    pub tokens: u32,
    /// The prompt budget.
    pub budget: u32,
    /// The model.
    pub model: String,
    /// Millionths of a dollar, where known.
    pub cost_micro: Option<u64>,
}

impl Call {
    /// `call 1f2e3d4c on main`, or `the next call on main`.
    #[must_use]
    pub fn words(&self) -> String {
        let id = |run: RunId| {
            run.to_string().chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect::<String>()
        };
        let what = self.run.map_or_else(
            || if self.at.is_none() { "the next call".to_owned() } else { format!("plan {}", self.plan.short()) },
            |run| format!("call …{}", id(run)),
        );
        if self.name.is_empty() { what } else { format!("{what} on {}", self.name) }
    }
}

/// A setting of the call that differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Before.
    pub before: String,
    /// After.
    pub after: String,
}

/// Everything that differs between two plans.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlanDiff {
    /// The earlier one.
    pub before: Call,
    /// The later one.
    pub after: Call,
    /// Settings that differ.
    pub settings: Vec<Setting>,
    /// Items, by kind, each in the order of the request.
    pub deltas: Vec<Delta>,
    /// Rows that go in both as they were.
    pub same: u32,
    /// Their tokens (est).
    pub same_tokens: u32,
}

impl PlanDiff {
    /// How many items are told under a kind, and what they add in tokens.
    #[must_use]
    pub fn sum(&self, kind: Kind) -> (usize, i64) {
        let of = self.deltas.iter().filter(|delta| delta.kind() == kind);
        of.fold((0, 0), |(count, tokens), delta| (count + 1, tokens + delta.tokens()))
    }
}

/// An item in one call.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stay {
    /// The first of the calls in a row in which it stood so.
    pub from: Call,
    /// The last.
    pub to: Call,
    /// How many calls.
    pub calls: u32,
    /// Where it stood in the last of them; none where the plan had no such row.
    pub place: Option<Place>,
    /// What brought it there.
    pub causes: Vec<Cause>,
}

/// A step in an item's life.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Told {
    /// Milliseconds since 1970.
    pub at: i64,
    /// Where it came to stand.
    pub to: Standing,
    /// What happened, by whom and why.
    pub words: String,
}

/// An item over the calls of a branch.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ItemHistory {
    /// What.
    pub atom: Atom,
    /// First words, unsanitised.
    pub title: String,
    /// Its turn, from 1.
    pub turn: Option<u32>,
    /// Where it stood, oldest first; calls in a row with the same place are one.
    pub stays: Vec<Stay>,
    /// Calls that were not looked at, because they are older.
    pub older: u32,
    /// What was done to it, oldest first.
    pub steps: Vec<Told>,
}

/// What rows are matched by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Subject {
    /// A turn by its user message: it grows while it is answered.
    Turn(Hash),
    /// A calling message with its results.
    Episode(Hash),
    /// One message.
    Message(Hash),
    /// What stands before the first question.
    Preamble,
    /// A text.
    Text(Hash),
    /// Turns that stay out together.
    Range(Hash),
}

/// What an atom is about, whatever became of it since.
#[must_use]
pub fn subject(atom: &Atom) -> Subject {
    match atom {
        Atom::Turn { user, .. } => Subject::Turn(*user),
        Atom::Episode { call, .. } => Subject::Episode(*call),
        Atom::Message { node } => Subject::Message(*node),
        Atom::Preamble { .. } => Subject::Preamble,
        Atom::Section { text } => Subject::Text(*text),
        Atom::Range { first, .. } => Subject::Range(*first),
    }
}

/// Whether a range's row covers the turn with this user message: `(range, user)`.
pub type Covers<'a> = dyn Fn(&Atom, Hash) -> bool + 'a;

/// Where an item stands in a plan: in a row of its own, or in the row of a range.
#[must_use]
pub fn place(plan: &ContextPlan, atom: &Atom, covers: &Covers<'_>) -> Option<Place> {
    let about = subject(atom);
    let own = plan.rows.iter().position(|row| subject(&row.atom) == about);
    if let (None, Atom::Message { node }) = (own, atom) {
        return inside(plan, *node);
    }
    let found = own.or_else(|| plan.rows.iter().position(|row| covered(row, atom, covers)))?;
    let at = plan.rows[..found].iter().filter(|row| row.included()).count();
    let row = &plan.rows[found];
    let at = u32::try_from(at + 1).ok().filter(|_| row.included());
    Some(Place::of(row, at, atom))
}

/// Where a message stands that shares its turn's row.
fn inside(plan: &ContextPlan, node: Hash) -> Option<Place> {
    let hit = |row: &&Row| row.items.iter().any(|item| item.key == node);
    let row = plan.included().find(hit).or_else(|| plan.rows.iter().find(hit))?;
    let item = row.items.iter().find(|item| item.key == node)?;
    let mut place = Place::of(row, None, &row.atom);
    (place.tokens, place.form) = (item.tokens, item.form);
    if matches!(item.form, Form::Out | Form::Gone) {
        (place.goes, place.section) = (false, None);
    }
    Some(place)
}

fn covered(row: &Row, atom: &Atom, covers: &Covers<'_>) -> bool {
    match atom {
        Atom::Turn { user, .. } => row.kind == RowKind::Range && covers(&row.atom, *user),
        _ => false,
    }
}

/// What differs between two places of one item; empty where nothing does.
#[must_use]
pub fn kinds(before: Option<&Place>, after: Option<&Place>) -> Vec<Kind> {
    let goes = |place: Option<&Place>| place.is_some_and(|place| place.goes);
    match (before, after) {
        (before, _) if goes(after) && !goes(before) => vec![Kind::Entered],
        (_, after) if goes(before) && !goes(after) => vec![Kind::Left],
        (Some(before), Some(after)) => {
            let mut found = Vec::new();
            if before.section != after.section {
                found.push(Kind::Moved);
            }
            if after.goes && after.tokens < before.tokens {
                found.push(Kind::Shortened);
            }
            if after.goes && after.tokens > before.tokens {
                found.push(Kind::Lengthened);
            }
            if !(same_reason(&before.reason, &after.reason) || before.shared || after.shared) {
                found.push(Kind::Reason);
            }
            found
        }
        _ => Vec::new(),
    }
}

/// Whether two reasons say the same but for numbers that change with every call. A lease that has more turns left than
/// before was begun anew.
#[must_use]
pub fn same_reason(before: &Reason, after: &Reason) -> bool {
    match (before, after) {
        (Reason::Leased { left: old, engine: a }, Reason::Leased { left: new, engine: b }) => a == b && new <= old,
        (Reason::UserExcluded { once: a }, Reason::UserExcluded { once: b }) => a == b,
        (Reason::Superseded { by: a }, Reason::Superseded { by: b }) => a == b,
        (a, b) => a.name() == b.name(),
    }
}

/// The rows of both plans that are about the same thing: indices into each, by pairs. What is left over has no partner.
fn pairs(before: &ContextPlan, after: &ContextPlan) -> Vec<(Option<usize>, Option<usize>)> {
    let mut old: HashMap<Subject, usize> = HashMap::new();
    for (at, row) in before.rows.iter().enumerate() {
        old.entry(subject(&row.atom)).or_insert(at);
    }
    let mut used = HashSet::new();
    let mut found: Vec<(Option<usize>, Option<usize>)> = Vec::new();
    for (at, row) in after.rows.iter().enumerate() {
        let partner = old.get(&subject(&row.atom)).copied().filter(|old| used.insert(*old));
        found.push((partner, Some(at)));
    }
    // Texts are new whenever a word of them is: those of the program's own blocks are the same block.
    let block = |row: &Row| {
        let one = matches!(row.kind, RowKind::Text | RowKind::State | RowKind::Summary | RowKind::Search);
        one.then(|| (row.kind.name(), row.section()))
    };
    for pair in found.iter_mut().filter(|pair| pair.0.is_none()) {
        let Some(wanted) = pair.1.and_then(|at| block(&after.rows[at])) else { continue };
        let partner = (0..before.rows.len()).find(|at| !used.contains(at) && block(&before.rows[*at]) == Some(wanted));
        pair.0 = partner.inspect(|at| {
            used.insert(*at);
        });
    }
    found.extend((0..before.rows.len()).filter(|at| !used.contains(at)).map(|at| (Some(at), None)));
    found
}

/// The items that differ between two plans, without causes, and how many rows (and tokens of them) are as they were.
#[must_use]
pub fn deltas(before: &ContextPlan, after: &ContextPlan, covers: &Covers<'_>) -> (Vec<Delta>, (u32, u32)) {
    let (old_at, new_at) = (numbers(before), numbers(after));
    let pairs = pairs(before, after);
    let strayed = strayed(before, after, &pairs);
    let (mut found, mut same) = (Vec::new(), (0_u32, 0_u32));
    for (old, new) in pairs {
        let Some(row) = new.map(|at| &after.rows[at]).or(old.map(|at| &before.rows[at])) else { continue };
        if row.kind == RowKind::Range {
            continue;
        }
        let atom = row.atom;
        let from = old.map(|at| Place::of(&before.rows[at], old_at.get(&at).copied(), &atom));
        let to = new.map(|at| Place::of(&after.rows[at], new_at.get(&at).copied(), &atom));
        let from = from.or_else(|| ranged(before, &atom, covers));
        let to = to.or_else(|| ranged(after, &atom, covers));
        let mut kinds = kinds(from.as_ref(), to.as_ref());
        let other = |(old, new): (usize, usize)| before.rows[old].text != after.rows[new].text;
        if kinds.is_empty() && row.included() && old.zip(new).is_some_and(other) {
            kinds.push(Kind::Changed);
        }
        if new.is_some_and(|at| strayed.contains(&at)) && !kinds.contains(&Kind::Moved) {
            kinds.insert(0, Kind::Moved);
        }
        if kinds.is_empty() {
            if row.included() {
                same = (same.0 + 1, same.1 + row.tokens);
            }
            continue;
        }
        found.push(Delta {
            atom,
            row: row.kind,
            title: row.title.clone(),
            turn: row.source.turn,
            kinds,
            before: from,
            after: to,
            causes: Vec::new(),
        });
    }
    found.sort_by_key(Delta::kind);
    (found, same)
}

fn ranged(plan: &ContextPlan, atom: &Atom, covers: &Covers<'_>) -> Option<Place> {
    plan.rows.iter().find(|row| covered(row, atom, covers)).map(|row| Place::of(row, None, atom))
}

/// The places of the rows that go, from 1, by their index.
fn numbers(plan: &ContextPlan) -> BTreeMap<usize, u32> {
    let going = plan.rows.iter().enumerate().filter(|(_, row)| row.included()).map(|(at, _)| at);
    going.zip(1..).collect()
}

/// Rows of the later plan that go in both, in one section, and whose order among the others is another: all but a longest
/// run that kept its order.
fn strayed(before: &ContextPlan, after: &ContextPlan, pairs: &[(Option<usize>, Option<usize>)]) -> HashSet<usize> {
    let both: Vec<(usize, usize)> = pairs
        .iter()
        .filter_map(|(old, new)| old.zip(*new))
        .filter(|(old, new)| {
            let (old, new) = (&before.rows[*old], &after.rows[*new]);
            old.section().is_some() && old.section() == new.section() && before.layout == after.layout
        })
        .collect();
    // Patience: ends[n] is the smallest end of an increasing run of n + 1 places; `back` leads along it.
    let (mut ends, mut back): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (at, (old, _)) in both.iter().enumerate() {
        let length = ends.partition_point(|end| both[*end].0 < *old);
        back.push(length.checked_sub(1).map(|before| ends[before]));
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut kept = HashSet::new();
    let mut at = ends.last().copied();
    while let Some(here) = at {
        kept.insert(here);
        at = back[here];
    }
    (0..both.len()).filter(|at| !kept.contains(at)).map(|at| both[at].1).collect()
}

/// The settings that differ.
#[must_use]
pub fn settings(before: &ContextPlan, after: &ContextPlan) -> Vec<Setting> {
    let of = |plan: &ContextPlan| -> [(&'static str, String); 7] {
        [
            ("model", plan.model.clone()),
            ("profile", plan.profile.clone()),
            ("policy", format!("{} v{}", plan.policy, plan.policy_version)),
            ("mode", plan.mode.title().to_owned()),
            ("layout", plan.layout.name().to_owned()),
            ("budget", super::tokens::grouped(u64::from(plan.budget.prompt))),
            ("tools", super::tokens::grouped(u64::from(plan.tools))),
        ]
    };
    let both = of(before).into_iter().zip(of(after));
    let other = both.filter(|((_, before), (_, after))| before != after);
    other.map(|((name, before), (_, after))| Setting { name, before, after }).collect()
}
