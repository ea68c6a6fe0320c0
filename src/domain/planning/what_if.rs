//! The effect of other settings on the next call: figures side by side, and the items gained and lost.
//! Not for: solving those plans (`engine`) or naming the settings (`variant`).

use super::plan::{Budget, ContextPlan, Form, Row, RowKind};
use crate::domain::base::failure::Failure;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::call::meter::PromptCost;
use crate::domain::call::tokens::Certainty;
use crate::domain::conversation::branch::Overrides;
use crate::domain::conversation::mark::Atom;
use std::collections::BTreeMap;

/// Maximum number of items listed on either side; the rest are only counted.
const MAX_LISTED: usize = 200;

/// The next call under the current settings, and under each variant.
#[derive(Clone, PartialEq, Debug)]
pub struct WhatIf {
    pub branch: BranchId,
    /// The figures of the current call, or why it cannot be sent; of kind `Blocked` if it does not fit.
    pub present: Result<PlanFigures, Failure>,
    /// The variants.
    pub alternatives: Vec<Alternative>,
}

/// The next call under one variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Alternative {
    /// The variant as text.
    pub title: String,
    /// The changed settings.
    pub overrides: Overrides,
    /// The figures, or why it cannot be sent; of kind `Blocked` if it does not fit.
    pub result: Result<PlanFigures, Failure>,
}

/// The effect of an act on the next call.
#[derive(Clone, PartialEq, Debug)]
pub struct ActPreview {
    pub branch: BranchId,
    /// The current plan.
    pub present: Hash,
    /// The tokens.
    pub est: u32,
    /// The figures after the act, compared with the current plan; or why it cannot be sent.
    pub result: Result<PlanFigures, Failure>,
    /// Why the next call would leave out the summary that the act accepts, as a sentence; `None` otherwise.
    pub left_out: Option<String>,
}

/// Figures of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanFigures {
    pub plan: Hash,
    /// Tokens of the whole prompt.
    pub est: u32,
    pub certainty: Certainty,
    pub budget: Budget,
    /// Tokens of the prefix shared with the branch's last request, which its server may have cached. `None` if that
    /// request is unknown.
    pub same: Option<u32>,
    /// The cost of the prompt, if prices are known.
    pub cost: Option<PromptCost>,
    /// Number of included rows.
    pub items: u32,
    /// Items included here but not in the current call.
    pub gained: Vec<MovedItem>,
    /// Items included in the current call but not here.
    pub lost: Vec<MovedItem>,
    /// Number and tokens of all items gained and lost, including unlisted ones.
    pub sums: [(u32, u32); 2],
    /// Number of items included in both, in another form or place.
    pub changed: u32,
    /// These items; unlisted ones are only counted.
    pub changes: Vec<ChangedItem>,
}

/// An item on both sides that is sent in another form: shortened, or as a card in place of its turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedItem {
    pub kind: RowKind,
    /// One-line title, unsanitized.
    pub title: String,
    /// The turn on the path, from 1.
    pub turn: Option<u32>,
    /// Tokens in the current plan.
    pub before: u32,
    /// Tokens here.
    pub after: u32,
}

/// An item on one side only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MovedItem {
    pub kind: RowKind,
    /// One-line title, unsanitized.
    pub title: String,
    pub tokens: u32,
    /// The turn on the path, from 1.
    pub turn: Option<u32>,
}

impl PlanFigures {
    /// Returns the figures of a plan, compared with the current plan (which may be the same plan).
    pub fn of(plan: &ContextPlan, present: &ContextPlan, same: Option<u32>, cost: Option<PromptCost>) -> Self {
        let (rows_here, rows_present) = (rows(plan), rows(present));
        let only_in = |of: &ContextPlan, others: &BTreeMap<Atom, &Row>| {
            let alone = of
                .included()
                .filter(|row| is_counted(row) && !others.contains_key(&row.atom) && !is_also_sent(row, others));
            let all: Vec<MovedItem> = alone.map(moved_item).collect();
            let tokens = all.iter().map(|item| item.tokens).sum::<u32>();
            let sum = (u32::try_from(all.len()).unwrap_or(u32::MAX), tokens);
            (all.into_iter().take(MAX_LISTED).collect::<Vec<_>>(), sum)
        };
        let (gained, gained_sum) = only_in(plan, &rows_present);
        let (lost, lost_sum) = only_in(present, &rows_here);
        let mut listed = changes(&rows_here, &rows_present);
        let changed = u32::try_from(listed.len()).unwrap_or(u32::MAX);
        listed.truncate(MAX_LISTED);
        Self {
            plan: plan.id,
            est: plan.est_total,
            certainty: plan.certainty,
            budget: plan.budget,
            same: same.map(|same| same.min(plan.est_total)),
            cost,
            items: u32::try_from(rows_here.len()).unwrap_or(u32::MAX),
            gained,
            lost,
            sums: [gained_sum, lost_sum],
            changed,
            changes: listed,
        }
    }

    /// Returns the share of the prompt that may be cached, such as `82%`; `?` if it is unknown.
    pub fn same_text(&self) -> String {
        let percent = |same: u32| u64::from(same) * 100 / u64::from(self.est.max(1));
        self.same.map_or_else(|| "?".to_owned(), |same| format!("{}%", percent(same)))
    }
}

/// Returns why a plan leaves out a summary that the plan before it does not have, as a sentence; `None` if it does not.
pub fn omitted_summary(plan: &ContextPlan, before: &ContextPlan) -> Option<String> {
    let is_new = |row: &&Row| row.kind == RowKind::Summary && before.rows.iter().all(|other| other.atom != row.atom);
    plan.excluded().find(is_new).map(|row| row.reason.sentence())
}

/// Returns whether the other side sends the same turn (or a card of it) in another row, or another text of the same
/// title: the item was moved, shortened, or reworded, but neither added nor removed.
fn is_also_sent(row: &Row, others: &BTreeMap<Atom, &Row>) -> bool {
    let other = match row.kind {
        RowKind::Turn => RowKind::Card,
        RowKind::Card => RowKind::Turn,
        RowKind::Text => return others.values().any(|it| it.kind == RowKind::Text && it.title == row.title),
        _ => return false,
    };
    row.source.turn.is_some() && others.values().any(|it| it.kind == other && it.source.turn == row.source.turn)
}

/// Returns the items that both plans send in different forms. The cards of a turn are one item with the turn.
fn changes(here: &BTreeMap<Atom, &Row>, present: &BTreeMap<Atom, &Row>) -> Vec<ChangedItem> {
    let mut found: Vec<ChangedItem> = Vec::new();
    let mut add = |row: &Row, before: u32, after: u32| {
        let is_turn = matches!(row.kind, RowKind::Turn | RowKind::Card) && row.source.turn.is_some();
        let kind = if is_turn { RowKind::Turn } else { row.kind };
        let same = |item: &ChangedItem| {
            (item.kind, item.turn) == (kind, row.source.turn) && (is_turn || item.title == row.title)
        };
        if let Some(at) = found.iter().position(same) {
            (found[at].before, found[at].after) = (found[at].before + before, found[at].after + after);
        } else {
            let (title, turn) = (row.title.clone(), row.source.turn);
            found.push(ChangedItem { kind, title, turn, before, after });
        }
    };
    for (atom, row) in here {
        match present.get(atom) {
            Some(before) if sent_forms(before) != sent_forms(row) => add(row, before.tokens, row.tokens),
            None if is_also_sent(row, present) => add(row, 0, row.tokens),
            Some(_) | None => {}
        }
    }
    for (_, row) in present.iter().filter(|(atom, row)| !here.contains_key(*atom) && is_also_sent(row, here)) {
        add(row, row.tokens, 0);
    }
    found
}

/// Returns whether a row is an item of the figures; a search is not.
fn is_counted(row: &Row) -> bool {
    row.kind != RowKind::Search
}

fn rows(plan: &ContextPlan) -> BTreeMap<Atom, &Row> {
    plan.included().filter(|row| is_counted(row)).map(|row| (row.atom, row)).collect()
}

/// Returns how an item is sent: its kind, the form of each message, and its text.
fn sent_forms(row: &Row) -> (RowKind, Vec<Form>, Option<Hash>) {
    (row.kind, row.items.iter().map(|item| item.form).collect(), row.text)
}

fn moved_item(row: &Row) -> MovedItem {
    MovedItem { kind: row.kind, title: row.title.clone(), tokens: row.tokens, turn: row.source.turn }
}
