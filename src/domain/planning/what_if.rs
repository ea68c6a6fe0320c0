//! What the next call would hold if a setting were another: figures side by side, and what is gained and lost.
//! Not for: solving those plans (`engine`) or naming the settings (`variant`).

use super::plan::{ContextPlan, Form, Row, RowKind};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::call::meter::PromptCost;
use crate::domain::call::tokens::Certainty;
use crate::domain::conversation::branch::Overrides;
use crate::domain::conversation::mark::Atom;
use std::collections::BTreeMap;

/// Items that are named on either side; the rest are only counted.
const NAMED: usize = 200;

/// The call as it stands, and the other ways of making it.
#[derive(Clone, PartialEq, Debug)]
pub struct WhatIf {
    /// On which branch.
    pub branch: BranchId,
    /// As it stands.
    pub present: Result<Figures, String>,
    /// Otherwise.
    pub ways: Vec<Alternative>,
}

/// One other way.
#[derive(Clone, PartialEq, Debug)]
pub struct Alternative {
    /// What is changed, in words.
    pub title: String,
    /// What is changed.
    pub arm: Overrides,
    /// What would be sent; or why nothing could be.
    pub result: Result<Figures, String>,
}

/// What an act on items would do to the next call.
#[derive(Clone, PartialEq, Debug)]
pub struct ActPreview {
    /// On which branch.
    pub branch: BranchId,
    /// The plan as it stands.
    pub present: Hash,
    /// Its tokens.
    pub est: u32,
    /// What would be sent, beside the plan as it stands; or why nothing could be.
    pub result: Result<Figures, String>,
}

/// Figures of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Figures {
    /// The plan.
    pub plan: Hash,
    /// Tokens of the whole prompt.
    pub est: u32,
    /// How sure they are.
    pub certainty: Certainty,
    /// Tokens that the prompt may take.
    pub room: u32,
    /// Tokens of the prefix that is the same as in the branch's last request: what its server may have cached. None where
    /// that request is not known any more.
    pub same: Option<u32>,
    /// What the prompt costs, where prices are known.
    pub cost: Option<PromptCost>,
    /// Rows that go.
    pub items: u32,
    /// What goes here and not as the call stands.
    pub gained: Vec<MovedItem>,
    /// What goes as the call stands and not here.
    pub lost: Vec<MovedItem>,
    /// Items gained and lost, and their tokens, the unnamed ones too.
    pub sums: [(u32, u32); 2],
    /// Items that go both ways, in another form or place of the request.
    pub changed: u32,
}

/// An item on one side only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MovedItem {
    /// Of which kind.
    pub kind: RowKind,
    /// One line, unsanitised.
    pub title: String,
    /// Its tokens.
    pub tokens: u32,
    /// Its turn on the path, from 1.
    pub turn: Option<u32>,
}

impl Figures {
    /// Figures of a plan beside the plan as it stands (itself, for that one).
    #[must_use]
    pub fn of(plan: &ContextPlan, present: &ContextPlan, same: Option<u32>, cost: Option<PromptCost>) -> Self {
        let (here, there) = (rows(plan), rows(present));
        let only = |of: &ContextPlan, others: &BTreeMap<Atom, &Row>| {
            let alone =
                of.included().filter(|row| counts(row) && !others.contains_key(&row.atom) && !again(row, others));
            let all: Vec<MovedItem> = alone.map(moved).collect();
            let tokens = all.iter().map(|item| item.tokens).sum::<u32>();
            let sum = (u32::try_from(all.len()).unwrap_or(u32::MAX), tokens);
            (all.into_iter().take(NAMED).collect::<Vec<_>>(), sum)
        };
        let (gained, more) = only(plan, &there);
        let (lost, less) = only(present, &here);
        let other = |(atom, row): (&Atom, &&Row)| match there.get(atom) {
            Some(before) => looks(before) != looks(row),
            None => again(row, &there),
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

    /// The part of the prompt that may be cached, in per cent, where it is known.
    #[must_use]
    pub fn same_pct(&self) -> Option<u32> {
        let percent = u64::from(self.same?) * 100 / u64::from(self.est.max(1));
        Some(u32::try_from(percent).unwrap_or(100))
    }

    /// The same in words: `82 %`, or `?`.
    #[must_use]
    pub fn same_words(&self) -> String {
        self.same_pct().map_or_else(|| "?".to_owned(), |percent| format!("{percent} %"))
    }
}

/// Whether the other side sends the same turn, or a card of it, in another row: moved or shortened, neither added nor removed.
fn again(row: &Row, others: &BTreeMap<Atom, &Row>) -> bool {
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

/// How an item is sent: as what, and each of its messages in which form.
fn looks(row: &Row) -> (RowKind, Vec<Form>, Option<Hash>) {
    (row.kind, row.items.iter().map(|item| item.form).collect(), row.text)
}

fn moved(row: &Row) -> MovedItem {
    MovedItem { kind: row.kind, title: row.title.clone(), tokens: row.tokens, turn: row.source.turn }
}
