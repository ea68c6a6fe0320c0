//! The effect of other settings on the next call: figures side by side, and items gained and lost.
//! Not for: solving those plans (`engine`) or naming the settings (`variant`).

use super::plan::{ContextPlan, Form, Row, RowKind};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::call::meter::PromptCost;
use crate::domain::call::tokens::Certainty;
use crate::domain::conversation::branch::Overrides;
use crate::domain::conversation::mark::Atom;
use std::collections::BTreeMap;

/// Maximum items listed on either side; the rest are only counted.
const NAMED: usize = 200;

/// The present call, and its variants.
#[derive(Clone, PartialEq, Debug)]
pub struct WhatIf {
    /// The branch.
    pub branch: BranchId,
    /// The present call.
    pub present: Result<PlanFigures, String>,
    /// The variants.
    pub ways: Vec<Alternative>,
}

/// One variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Alternative {
    /// Its changes, as text.
    pub title: String,
    /// Its changes.
    pub arm: Overrides,
    /// The figures, or why it cannot be sent.
    pub result: Result<PlanFigures, String>,
}

/// The effect of an act on the next call.
#[derive(Clone, PartialEq, Debug)]
pub struct ActPreview {
    /// The branch.
    pub branch: BranchId,
    /// The present plan.
    pub present: Hash,
    /// Its tokens.
    pub est: u32,
    /// The figures after the act, compared with the present plan; or why it cannot be sent.
    pub result: Result<PlanFigures, String>,
}

/// Figures of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanFigures {
    /// The plan.
    pub plan: Hash,
    /// Tokens of the whole prompt.
    pub est: u32,
    /// Their certainty.
    pub certainty: Certainty,
    /// The prompt budget.
    pub room: u32,
    /// Tokens of the prefix shared with the branch's last request, which its server may have cached. `None` if that
    /// request is unknown.
    pub same: Option<u32>,
    /// The cost of the prompt, if prices are known.
    pub cost: Option<PromptCost>,
    /// Number of included rows.
    pub items: u32,
    /// Items included here and not in the present call.
    pub gained: Vec<MovedItem>,
    /// Items included in the present call and not here.
    pub lost: Vec<MovedItem>,
    /// Number and tokens of all items gained and lost, including unlisted ones.
    pub sums: [(u32, u32); 2],
    /// Number of items included in both, in another form or place.
    pub changed: u32,
}

/// An item on one side only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MovedItem {
    /// Its kind.
    pub kind: RowKind,
    /// One line, unsanitized.
    pub title: String,
    /// Its tokens.
    pub tokens: u32,
    /// Its turn on the path, from 1.
    pub turn: Option<u32>,
}

impl PlanFigures {
    /// The figures of a plan, compared with the present plan (or itself).
    #[must_use]
    pub fn of(plan: &ContextPlan, present: &ContextPlan, same: Option<u32>, cost: Option<PromptCost>) -> Self {
        let (here, there) = (rows(plan), rows(present));
        let only = |of: &ContextPlan, others: &BTreeMap<Atom, &Row>| {
            let alone = of
                .included()
                .filter(|row| counts(row) && !others.contains_key(&row.atom) && !is_also_sent(row, others));
            let all: Vec<MovedItem> = alone.map(moved).collect();
            let tokens = all.iter().map(|item| item.tokens).sum::<u32>();
            let sum = (u32::try_from(all.len()).unwrap_or(u32::MAX), tokens);
            (all.into_iter().take(NAMED).collect::<Vec<_>>(), sum)
        };
        let (gained, more) = only(plan, &there);
        let (lost, less) = only(present, &here);
        let other = |(atom, row): (&Atom, &&Row)| match there.get(atom) {
            Some(before) => sent_forms(before) != sent_forms(row),
            None => is_also_sent(row, &there),
        };
        Self {
            plan: plan.id,
            est: plan.est_total,
            certainty: plan.certainty,
            room: plan.budget.prompt,
            same: same.map(|same| same.min(plan.est_total)),
            cost,
            items: u32::try_from(here.len()).unwrap_or(u32::MAX),
            gained,
            lost,
            sums: [more, less],
            changed: u32::try_from(here.iter().filter(|entry| other(*entry)).count()).unwrap_or(u32::MAX),
        }
    }

    /// The share of the prompt that may be cached, in percent, if known.
    #[must_use]
    pub fn same_pct(&self) -> Option<u32> {
        let percent = u64::from(self.same?) * 100 / u64::from(self.est.max(1));
        Some(u32::try_from(percent).unwrap_or(100))
    }

    /// The share as text: `82 %`, or `?`.
    #[must_use]
    pub fn same_words(&self) -> String {
        self.same_pct().map_or_else(|| "?".to_owned(), |percent| format!("{percent} %"))
    }
}

/// Whether the other side sends the same turn, or a card of it, in another row: moved or shortened, neither added nor
/// removed.
fn is_also_sent(row: &Row, others: &BTreeMap<Atom, &Row>) -> bool {
    let other = match row.kind {
        RowKind::Turn => RowKind::Card,
        RowKind::Card => RowKind::Turn,
        _ => return false,
    };
    row.source.turn.is_some() && others.values().any(|it| it.kind == other && it.source.turn == row.source.turn)
}

fn counts(row: &Row) -> bool {
    row.kind != RowKind::Search
}

fn rows(plan: &ContextPlan) -> BTreeMap<Atom, &Row> {
    plan.included().filter(|row| counts(row)).map(|row| (row.atom, row)).collect()
}

/// How an item is sent: its kind and the form of each message.
fn sent_forms(row: &Row) -> (RowKind, Vec<Form>, Option<Hash>) {
    (row.kind, row.items.iter().map(|item| item.form).collect(), row.text)
}

fn moved(row: &Row) -> MovedItem {
    MovedItem { kind: row.kind, title: row.title.clone(), tokens: row.tokens, turn: row.source.turn }
}
