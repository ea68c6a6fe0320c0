//! The items of a call that its answer used, the evidence for it, and totals.
//! Not for: finding the evidence (`context::item_use`) or the cost of a call (`ledger`).
//!
//! Evidence is lexical or structural; no model is asked. An item without evidence may still have helped, and a
//! quotation may be a coincidence, so the kinds of evidence are stored rather than a verdict. No word of an item is
//! stored.

use super::run::RunCard;
use super::tokens::{counted, grouped};
use crate::domain::base::hash::Hash;
use crate::domain::base::named_enum::named_enum;
use crate::domain::conversation::mark::{Atom, Mark, MarkKind};
use crate::domain::planning::policy::Section;
use crate::domain::planning::{ContextPlan, Row, RowKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the rule for finding evidence. Incremented whenever the rule finds different evidence.
pub const RULE: u32 = 1;
/// Minimum number of turns in which an item was sent before it is reported if no answer ever used it.
pub const MIN_NEVER_USED_TURNS: u32 = 3;
/// Minimum number of turns in which an item was sent since an answer last used it before it is reported.
pub const MIN_UNUSED_TURNS: u32 = 5;

named_enum! {
    /// How an answer used an item.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum UseKind {
        /// A sequence of the item's words occurs in the answer or in the arguments of a tool call.
        Quoted = "quoted",
        /// The answer contains a path, identifier, number, or turn of the item that few other items contain and the
        /// question does not.
        Named = "named",
        /// A tool changed the item's lines, or its file if the lines are unknown.
        Edited = "edited",
        /// The answer names or calls the item's symbol.
        Symbol = "symbol",
        /// The model used a tool to see more of the item.
        Expanded = "expanded",
    }
}

/// One item of a call, with the evidence for its use.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ItemUse {
    /// The key of the row's atom.
    pub item: Hash,
    pub section: Section,
    /// The estimated tokens.
    pub tokens: u32,
    /// The evidence; empty if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<UseKind>,
}

impl ItemUse {
    /// Returns the evidence as text, such as `used: quoted, named` or `not used`.
    pub fn to_text(&self) -> String {
        let kinds: Vec<&str> = self.by.iter().map(|kind| kind.name()).collect();
        if kinds.is_empty() { "not used".to_owned() } else { format!("used: {}", kinds.join(", ")) }
    }
}

/// The items of one call, in the order of the request.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CallUses {
    /// Version of the rule for finding evidence.
    pub rule: u32,
    pub items: Vec<ItemUse>,
}

impl CallUses {
    /// Returns the numbers of all items and of used ones.
    pub fn count(&self) -> UseCount {
        self.items.iter().fold(UseCount::default(), UseCount::and)
    }

    /// Returns the use of each included row, in the order of the call's plan; `None` for rows that do not count.
    pub fn by_row(&self, plan: &ContextPlan) -> Vec<Option<&ItemUse>> {
        let mut items = self.items.iter();
        plan.included().map(|row| if counts(row) { items.next() } else { None }).collect()
    }
}

/// Returns whether an answer can show that it used a row. It cannot for instructions, rules, and skills, which shape an
/// answer without leaving words in it, nor for the question.
pub fn counts(row: &Row) -> bool {
    use RowKind as K;
    let leaves_words = match row.kind {
        K::Text | K::Rules | K::Skills | K::Search | K::Request | K::Part | K::Range => false,
        K::State
        | K::Note
        | K::Preamble
        | K::Turn
        | K::Card
        | K::Summary
        | K::Quote
        | K::Message
        | K::Memory
        | K::Module
        | K::Code => true,
    };
    leaves_words && row.section().is_some_and(|section| section != Section::UserMessage)
}

/// Numbers of items that were sent and that were used, with their tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct UseCount {
    /// Number of items that were sent.
    pub shown: u32,
    /// Number of items that were used.
    pub used: u32,
    /// Tokens of the items that were sent.
    pub shown_tokens: u64,
    /// Tokens of the items that were used.
    pub used_tokens: u64,
}

impl UseCount {
    /// Returns the numbers with one more item.
    fn and(self, item: &ItemUse) -> Self {
        let (used, tokens) = (!item.by.is_empty(), u64::from(item.tokens));
        Self {
            shown: self.shown + 1,
            used: self.used + u32::from(used),
            shown_tokens: self.shown_tokens + tokens,
            used_tokens: self.used_tokens + if used { tokens } else { 0 },
        }
    }

    /// Returns the numbers as text, such as `3 of 12 items used`.
    pub fn to_text(&self) -> String {
        format!("{} of {} used", self.used, counted(u64::from(self.shown), "item"))
    }
}

/// The turns in which an item was sent and that did not use it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnusedTurns {
    /// Number of turns in which it was sent since it was last used.
    pub turns: u32,
    /// Whether an earlier turn used it.
    pub used_before: bool,
}

impl UnusedTurns {
    fn is_reported(self) -> bool {
        self.turns >= if self.used_before { MIN_UNUSED_TURNS } else { MIN_NEVER_USED_TURNS }
    }
}

/// An item that was sent repeatedly and not used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnusedItem {
    pub atom: Atom,
    pub kind: RowKind,
    /// The first words, unsanitized.
    pub title: String,
    /// Whether it is pinned permanently instead of leased.
    pub pinned: bool,
    pub unused: UnusedTurns,
    /// Estimated tokens that each call would save without it.
    pub tokens: u32,
}

impl UnusedItem {
    /// Returns the report as text: `sent in 7 turns, used in none; leaving it out saves about 310 tokens a call`, or
    /// `not used in its last 7 turns; …` if an earlier turn used it.
    pub fn to_text(&self) -> String {
        let (turns, tokens) = (self.unused.turns, grouped(u64::from(self.tokens)));
        let since = if self.unused.used_before {
            format!("not used in its last {turns} turns")
        } else {
            format!("sent in {turns} turns, used in none")
        };
        format!("{since}; leaving it out saves about {tokens} tokens a call")
    }
}

/// The use of the items of many calls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UseTotals {
    /// Number of calls with known use.
    pub calls: u32,
    /// All items.
    pub all: UseCount,
    /// By section, in the order of sections.
    pub by_section: Vec<(Section, UseCount)>,
    /// By policy, with the number of its calls, sorted by name.
    pub by_policy: Vec<(String, u32, UseCount)>,
    /// Items that were sent repeatedly and not used, largest first.
    pub unused: Vec<UnusedItem>,
}

impl UseTotals {
    /// Adds a call.
    pub fn add(&mut self, policy: &str, uses: &CallUses) {
        self.calls += 1;
        let at = self.by_policy.binary_search_by(|(name, ..)| name.as_str().cmp(policy)).unwrap_or_else(|at| {
            self.by_policy.insert(at, (policy.to_owned(), 0, UseCount::default()));
            at
        });
        self.by_policy[at].1 += 1;
        for item in &uses.items {
            self.all = self.all.and(item);
            self.by_policy[at].2 = self.by_policy[at].2.and(item);
            let known = self.by_section.binary_search_by_key(&item.section, |(section, _)| *section);
            let place = known.unwrap_or_else(|place| {
                self.by_section.insert(place, (item.section, UseCount::default()));
                place
            });
            self.by_section[place].1 = self.by_section[place].1.and(item);
        }
    }
}

/// Returns, for each item by its key, the turns in which it was sent since an answer last used it. `calls` are newest
/// first. The calls of a turn count as one: an item that one of them used was used in the turn.
pub fn unused_turns<'a>(calls: impl Iterator<Item = (&'a RunCard, &'a CallUses)>) -> BTreeMap<Hash, UnusedTurns> {
    let calls: Vec<_> = calls.collect();
    let mut unused: BTreeMap<Hash, UnusedTurns> = BTreeMap::new();
    for turn in calls.chunk_by(|(a, _), (b, _)| a.user.is_some() && a.user == b.user) {
        let mut used_in_turn: BTreeMap<Hash, bool> = BTreeMap::new();
        for item in turn.iter().flat_map(|(_, uses)| &uses.items) {
            *used_in_turn.entry(item.item).or_default() |= !item.by.is_empty();
        }
        for (item, is_used) in used_in_turn {
            let known = unused.entry(item).or_default();
            known.used_before |= is_used;
            known.turns += u32::from(!known.used_before);
        }
    }
    unused
}

/// Returns the items that were sent repeatedly and not used: rows of the `next` request, and rows of the `last` one that
/// the program attached and that no mark leaves out, since a code search attaches none before a question is typed. The
/// turns of the window and the state are not reported, since the policy chooses them.
pub fn unused<'a>(
    next: impl Iterator<Item = &'a Row>,
    last: impl Iterator<Item = &'a Row>,
    marks: &[Mark],
    unused_turns: &BTreeMap<Hash, UnusedTurns>,
) -> Vec<UnusedItem> {
    let is_excluded = |row: &Row| marks.iter().any(|mark| mark.target == row.atom && mark.kind.excludes());
    let attached_again = last.filter(|row| row.pin.is_none() && !is_excluded(row));
    let mut found: Vec<UnusedItem> = Vec::new();
    for row in next.chain(attached_again).filter(|row| may_be_left_out(row)) {
        let unused = unused_turns.get(&row.atom.key()).copied().unwrap_or_default();
        if unused.is_reported() && found.iter().all(|item| item.atom != row.atom) {
            found.push(UnusedItem {
                atom: row.atom,
                kind: row.kind,
                title: row.title.clone(),
                pinned: row.pin == Some(MarkKind::Sticky),
                unused,
                tokens: row.tokens,
            });
        }
    }
    found.sort_by_key(|item| std::cmp::Reverse(item.tokens));
    found
}

/// Returns whether an answer can show that it used a row, and a mark can leave it out. Accepted summaries and quoted
/// messages cannot be left out by marks.
fn may_be_left_out(row: &Row) -> bool {
    let attached = row.section().is_some_and(|section| section.is_attached() || section == Section::Orientation);
    counts(row) && attached && !matches!(row.kind, RowKind::Summary | RowKind::Quote)
}

#[cfg(test)]
#[path = "item_use_tests.rs"]
mod tests;
