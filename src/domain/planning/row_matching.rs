//! Matches the rows of two plans by their subjects, regardless of their places.
//! Not for: the kinds of differences (`diff`) or their causes (`context::explain::cause`).

use super::diff::{DiffKind, ItemDiff, ItemPlace, SettingDiff};
use super::plan::{ContextPlan, Form, Row, RowKind};
use super::reason::Reason;
use crate::domain::base::hash::Hash;
use crate::domain::call::tokens::grouped;
use crate::domain::conversation::mark::Atom;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The subject of a row; rows with equal subjects match.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Subject {
    /// A turn, by its user message, since a turn grows while it is answered.
    Turn(Hash),
    /// An episode, by its calling message.
    Episode(Hash),
    Message(Hash),
    /// Everything before the first question.
    Preamble,
    /// A text, by its hash.
    Text(Hash),
    /// Turns that are left out together, by the first turn.
    Range(Hash),
}

/// Returns the subject of an atom. It stays the same when the atom grows.
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

/// Returns the row that an item has to itself in a plan.
pub fn row<'a>(plan: &'a ContextPlan, atom: &Atom) -> Option<&'a Row> {
    let about = subject(atom);
    plan.rows.iter().find(|row| subject(&row.atom) == about)
}

/// Whether a range's row covers the turn with this user message: `(range, user)`.
pub type Covers<'a> = dyn Fn(&Atom, Hash) -> bool + 'a;

/// Returns the place of an item in a plan: in its own row, in the row of its turn, or in the row of a range. `None` if
/// no row contains it.
pub fn place(plan: &ContextPlan, atom: &Atom, covers: &Covers<'_>) -> Option<ItemPlace> {
    let about = subject(atom);
    let own = plan.rows.iter().position(|row| subject(&row.atom) == about);
    if let (None, Atom::Message { node }) = (own, atom) {
        return place_in_turn(plan, *node);
    }
    let found = own.or_else(|| plan.rows.iter().position(|row| is_covered(row, atom, covers)))?;
    let at = plan.rows[..found].iter().filter(|row| row.included()).count();
    let row = &plan.rows[found];
    let at = u32::try_from(at + 1).ok().filter(|_| row.included());
    Some(ItemPlace::of(row, at, atom))
}

/// Returns the place of a message that shares its turn's row.
fn place_in_turn(plan: &ContextPlan, node: Hash) -> Option<ItemPlace> {
    let contains = |row: &&Row| row.items.iter().any(|item| item.key == node);
    let row = plan.included().find(contains).or_else(|| plan.rows.iter().find(contains))?;
    let item = row.items.iter().find(|item| item.key == node)?;
    let mut place = ItemPlace::of(row, None, &row.atom);
    (place.tokens, place.form) = (item.tokens, item.form);
    if matches!(item.form, Form::Out | Form::Gone) {
        (place.included, place.section) = (false, None);
    }
    Some(place)
}

/// Returns whether a row is a range that covers the turn `atom`.
fn is_covered(row: &Row, atom: &Atom, covers: &Covers<'_>) -> bool {
    match atom {
        Atom::Turn { user, .. } => row.kind == RowKind::Range && covers(&row.atom, *user),
        _ => false,
    }
}

/// Returns the differences between two places of an item; empty if there are none.
pub fn kinds(before: Option<&ItemPlace>, after: Option<&ItemPlace>) -> Vec<DiffKind> {
    let sent = |place: Option<&ItemPlace>| place.is_some_and(|place| place.included);
    match (before, after) {
        (before, _) if sent(after) && !sent(before) => vec![DiffKind::Entered],
        (_, after) if sent(before) && !sent(after) => vec![DiffKind::Left],
        (Some(before), Some(after)) => {
            let mut found = Vec::new();
            if before.section != after.section {
                found.push(DiffKind::Moved);
            }
            if after.included && after.tokens < before.tokens {
                found.push(DiffKind::Shortened);
            }
            if after.included && after.tokens > before.tokens {
                found.push(DiffKind::Lengthened);
            }
            if !(same_reason(&before.reason, &after.reason) || before.shared || after.shared) {
                found.push(DiffKind::Reason);
            }
            found
        }
        _ => Vec::new(),
    }
}

/// Returns whether two reasons are equal except for numbers that change with every call. A lease with more turns left
/// than before was renewed.
pub fn same_reason(before: &Reason, after: &Reason) -> bool {
    match (before, after) {
        (Reason::Leased { left: old, engine: a }, Reason::Leased { left: new, engine: b }) => a == b && new <= old,
        (Reason::UserExcluded { once: a }, Reason::UserExcluded { once: b }) => a == b,
        (Reason::Superseded { by: a, .. }, Reason::Superseded { by: b, .. }) => a == b,
        (a, b) => a.name() == b.name(),
    }
}

/// Returns the rows of both plans paired by subject: indices into each; `None` for a row without a match.
fn pairs(before: &ContextPlan, after: &ContextPlan) -> Vec<(Option<usize>, Option<usize>)> {
    let mut old: HashMap<Subject, usize> = HashMap::new();
    for (at, row) in before.rows.iter().enumerate() {
        old.entry(subject(&row.atom)).or_insert(at);
    }
    let mut used = HashSet::new();
    let partner = |row: &Row| old.get(&subject(&row.atom)).copied().filter(|old| used.insert(*old));
    let mut found: Vec<(Option<usize>, Option<usize>)> = after.rows.iter().map(partner).zip((0..).map(Some)).collect();
    // The hash of a text changes with every word, so the program's own blocks are matched by kind and section.
    let block = |row: &Row| {
        let is_block = matches!(row.kind, RowKind::Text | RowKind::State | RowKind::Summary | RowKind::Search);
        is_block.then(|| (row.kind.name(), row.section()))
    };
    for pair in found.iter_mut().filter(|pair| pair.0.is_none()) {
        let Some(wanted) = pair.1.and_then(|at| block(&after.rows[at])) else { continue };
        let partner = (0..before.rows.len()).find(|at| !used.contains(at) && block(&before.rows[*at]) == Some(wanted));
        used.extend(partner);
        pair.0 = partner;
    }
    found.extend((0..before.rows.len()).filter(|at| !used.contains(at)).map(|at| (Some(at), None)));
    found
}

/// Returns the items that differ between two plans, without causes, and the number and tokens of unchanged rows.
pub fn deltas(before: &ContextPlan, after: &ContextPlan, covers: &Covers<'_>) -> (Vec<ItemDiff>, (u32, u32)) {
    let (old_at, new_at) = (positions(before), positions(after));
    let pairs = pairs(before, after);
    let reordered = reordered(before, after, &pairs);
    let (mut found, mut same) = (Vec::new(), (0_u32, 0_u32));
    for (old, new) in pairs {
        let Some(row) = new.map(|at| &after.rows[at]).or(old.map(|at| &before.rows[at])) else { continue };
        if row.kind == RowKind::Range {
            continue;
        }
        let atom = row.atom;
        let from = old.map(|at| ItemPlace::of(&before.rows[at], old_at.get(&at).copied(), &atom));
        let to = new.map(|at| ItemPlace::of(&after.rows[at], new_at.get(&at).copied(), &atom));
        let from = from.or_else(|| place_in_range(before, &atom, covers));
        let to = to.or_else(|| place_in_range(after, &atom, covers));
        let mut kinds = kinds(from.as_ref(), to.as_ref());
        let text_differs = |(old, new): (usize, usize)| before.rows[old].text != after.rows[new].text;
        if kinds.is_empty() && row.included() && old.zip(new).is_some_and(text_differs) {
            kinds.push(DiffKind::Changed);
        }
        if new.is_some_and(|at| reordered.contains(&at)) && !kinds.contains(&DiffKind::Moved) {
            kinds.insert(0, DiffKind::Moved);
        }
        if kinds.is_empty() {
            if row.included() {
                same = (same.0 + 1, same.1 + row.tokens);
            }
            continue;
        }
        found.push(ItemDiff {
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
    found.sort_by_key(ItemDiff::kind);
    (found, same)
}

/// Returns the place of a turn in the row of a range that covers it.
fn place_in_range(plan: &ContextPlan, atom: &Atom, covers: &Covers<'_>) -> Option<ItemPlace> {
    plan.rows.iter().find(|row| is_covered(row, atom, covers)).map(|row| ItemPlace::of(row, None, atom))
}

/// Returns the positions of the included rows, from 1, by their index.
fn positions(plan: &ContextPlan) -> BTreeMap<usize, u32> {
    let included = plan.rows.iter().enumerate().filter(|(_, row)| row.included()).map(|(at, _)| at);
    included.zip(1..).collect()
}

/// Returns the indices of the later plan's rows that are in the same section of both plans and changed their order: all
/// rows except those in a longest subsequence that kept its order.
fn reordered(before: &ContextPlan, after: &ContextPlan, pairs: &[(Option<usize>, Option<usize>)]) -> HashSet<usize> {
    let both: Vec<(usize, usize)> = pairs
        .iter()
        .filter_map(|(old, new)| old.zip(*new))
        .filter(|(old, new)| {
            let (old, new) = (&before.rows[*old], &after.rows[*new]);
            old.section().is_some() && old.section() == new.section() && before.layout == after.layout
        })
        .collect();
    // Patience sorting: `ends[n]` is the smallest end of an increasing subsequence of n + 1 places; `back` links its
    // elements.
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

/// Returns the settings that differ between two plans.
pub fn settings(before: &ContextPlan, after: &ContextPlan) -> Vec<SettingDiff> {
    let budget = |plan: &ContextPlan| grouped(plan.budget.shown_without_results().into());
    let values = |plan: &ContextPlan| -> [(&'static str, String); 7] {
        [
            ("model", plan.model.clone()),
            ("profile", plan.profile.clone()),
            ("policy", format!("{} v{}", plan.policy, plan.policy_version)),
            ("mode", plan.mode.title().to_owned()),
            ("layout", plan.layout.name().to_owned()),
            ("budget", grouped(plan.budget.without_results().into())),
            ("tools", grouped(u64::from(plan.tools))),
        ]
    };
    let both = values(before).into_iter().zip(values(after));
    let different = both.filter(|((_, before), (_, after))| before != after);
    let diff = |((name, old), (_, new)): ((&'static str, String), (&'static str, String))| {
        let shown = if name == "budget" { [budget(before), budget(after)] } else { [old.clone(), new.clone()] };
        SettingDiff { name, before: old, after: new, shown }
    };
    different.map(diff).collect()
}
