//! Decides at the end of a turn which items the program leases, includes for one call, renews, releases, or suggests to
//! pin: a pure decision over what touched each item.
//! Not for: recording touches or applying the decision (`engine`), or the effect of a pin on a plan (`admission`).
//!
//! An item's activation at the end of a turn is `A' = keep·A + user + model + plan + found + hop − negative`, in
//! thousandths and clamped to 0..=10. A term counts only where it applies. An item that is sent with every call settles
//! at 0.667, and an item that is also found every time stays below 2.0, so neither of these alone promotes it. Two
//! references within the last five turns, or an activation of 2, create a lease at the end of a turn that touched the
//! item. A lease that runs out is therefore not created again by the touches that created it.

use crate::domain::call::ClusterId;
use crate::domain::conversation::{Activation, Touch};
use crate::domain::planning::Milli;

/// Number of turns that are considered; older turns weigh less than a hundredth.
pub const HORIZON: usize = 16;
/// Upper bound of an activation, in thousandths.
const MAX_ACTIVATION: i32 = 10_000;

/// The mark on an item before the decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemMarks {
    /// No mark.
    Free,
    /// A lease of the program with turns left.
    Leased {
        /// How often it was renewed.
        renewals: u32,
    },
    /// A person's mark, which takes precedence.
    Person,
}

/// An older turn with the facts that the decision uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Estimated tokens of its card.
    pub tokens: u32,
    /// Whether it was sent inside the window.
    pub inside: bool,
    pub held: ItemMarks,
    /// A person excluded or released it, so the program leaves it alone.
    pub refused: bool,
    /// The touches of the item, newest turn first.
    pub seen: Vec<Touch>,
}

/// Other inputs of the decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecisionContext<'a> {
    /// The numbers of the policy.
    pub spec: &'a Activation,
    /// Whether the mode allows the program to create leases.
    pub creates: bool,
    /// Tokens that all leases may take together.
    pub cap: u32,
    /// Tokens of the cap that a person's leases take.
    pub taken: u32,
    /// The subjects of the questions, newest turn first.
    pub clusters: &'a [Option<ClusterId>],
    /// Whether each of these questions names nothing and only stays in the cluster of the one before it; missing ones
    /// do not.
    pub inherited: &'a [bool],
}

/// A change of an item's mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemChange {
    /// Send it with the next call.
    Ephemeral,
    Lease,
    /// Renew its lease.
    Renew,
    /// End its lease.
    End,
    /// Suggest to pin it.
    Suggest,
}

/// Why an item changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeReason {
    /// It was referred to in several of the last turns.
    Referred {
        /// Turns that referred to it.
        turns: u32,
        /// Turns considered.
        within: u32,
    },
    /// Its activation is high enough, in thousandths.
    Active(i32),
    /// This turn referred to it.
    Named {
        /// Whether the person did.
        user: bool,
    },
    /// Its lease was renewed this many times.
    Renewed(u32),
    /// The cap is full and its activation is low, in thousandths.
    AboveLimit(i32),
    /// Two questions in a row had another subject.
    SubjectChanged,
}

impl ChangeReason {
    /// Returns the reason as a short phrase.
    pub fn to_text(self) -> String {
        match self {
            Self::Referred { turns, within } => format!("mentioned in {turns} of the last {within} turns"),
            Self::Active(milli) => format!("activation {}", Milli(milli)),
            Self::Named { user: true } => "your message mentioned it".into(),
            Self::Named { user: false } => "the answer mentioned it".into(),
            Self::Renewed(times) => format!("mentioned again, renewal {times}"),
            Self::AboveLimit(milli) => {
                format!("the limit for leases is reached, and the activation of this item is {}", Milli(milli))
            }
            Self::SubjectChanged => "the questions moved to another subject".into(),
        }
    }
}

/// One step of the decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Index of the item in the list.
    pub item: usize,
    pub to: ItemChange,
    pub why: ChangeReason,
}

/// Returns an item's activation in thousandths, and its terms by name. `seen` and `clusters` list the newest turn
/// first.
pub fn activation(
    seen: &[Touch],
    clusters: &[Option<ClusterId>],
    spec: &Activation,
) -> (i32, Vec<(&'static str, i32)>) {
    let now = clusters.first().copied().flatten();
    let same = |ago: usize| !spec.clusters || clusters.get(ago).copied().flatten() == now;
    let fold = |weight: Milli, matches: &dyn Fn(usize, &Touch) -> bool| {
        let turns = seen.iter().enumerate().take(HORIZON).rev();
        turns.fold(0_i32, |sum, (ago, touch)| {
            let more = if matches(ago, touch) { weight.0 } else { 0 };
            spec.keep.of(sum).saturating_add(more).clamp(0, MAX_ACTIVATION)
        })
    };
    let parts = vec![
        ("user", fold(spec.user, &|_, touch| touch.user)),
        ("model", fold(spec.model, &|_, touch| touch.model)),
        ("plan", fold(spec.plan, &|_, touch| touch.plan)),
        ("found", fold(spec.found, &|ago, touch| touch.found && same(ago))),
        ("hop", fold(spec.hop, &|_, touch| touch.hop)),
        ("negative", -fold(spec.negative, &|_, touch| touch.against)),
    ];
    let whole = parts.iter().fold(0_i32, |sum, (_, part)| sum.saturating_add(*part)).clamp(0, MAX_ACTIVATION);
    (whole, parts)
}

/// Returns the number of the last `within` turns that referred to the item.
fn referred(seen: &[Touch], within: u32) -> u32 {
    let turns = seen.iter().take(within as usize).filter(|touch| touch.refers()).count();
    u32::try_from(turns).unwrap_or(u32::MAX)
}

/// Returns whether the last two questions belong to other subjects than the question at which the item was last
/// referred to or found. A question that names nothing does not count.
fn subject_changed(item: &Item, context: &DecisionContext<'_>) -> bool {
    let counts = |ago: &usize| !context.inherited.get(*ago).copied().unwrap_or(false);
    let mut questions = (0..context.clusters.len()).filter(counts).map(|ago| (ago, context.clusters[ago]));
    let (Some((_, Some(last))), Some((second, Some(before)))) = (questions.next(), questions.next()) else {
        return false;
    };
    let touched = item.seen.iter().position(|touch| touch.refers() || touch.found);
    let touched_subject =
        touched.filter(|ago| *ago > second).and_then(|ago| context.clusters.get(ago).copied().flatten());
    context.spec.clusters
        && touched_subject.is_some_and(|touched_subject| touched_subject != last && touched_subject != before)
}

/// Decides the changes of all items, in the order in which they are reported. An item gets at most one step, except
/// that a suggestion may accompany a renewal. Returns an empty list if the policy or the mode allows no leases.
pub fn decide(items: &[Item], context: &DecisionContext<'_>) -> Vec<Step> {
    if !context.spec.on || !context.creates {
        return Vec::new();
    }
    let mut state = DecisionState {
        items,
        context,
        active: items.iter().map(|item| activation(&item.seen, context.clusters, context.spec).0).collect(),
        leased: items.iter().map(|item| matches!(item.held, ItemMarks::Leased { .. })).collect(),
        steps: Vec::new(),
    };
    state.renew_or_end();
    state.promote();
    state.include_once();
    state.steps
}

struct DecisionState<'a> {
    items: &'a [Item],
    context: &'a DecisionContext<'a>,
    active: Vec<i32>,
    /// Whether the program leases each item after the steps so far.
    leased: Vec<bool>,
    steps: Vec<Step>,
}

impl DecisionState<'_> {
    fn step(&mut self, item: usize, to: ItemChange, why: ChangeReason) {
        self.steps.push(Step { item, to, why });
    }

    /// Renews the program's leases on items that this turn referred to, and ends the leases whose subject is no longer
    /// discussed.
    fn renew_or_end(&mut self) {
        for (at, item) in self.items.iter().enumerate() {
            let ItemMarks::Leased { renewals } = item.held else { continue };
            if item.seen.first().is_some_and(|touch| touch.refers()) {
                self.step(at, ItemChange::Renew, ChangeReason::Renewed(renewals + 1));
                if renewals + 1 == self.context.spec.suggest_after {
                    self.step(at, ItemChange::Suggest, ChangeReason::Renewed(renewals + 1));
                }
            } else if subject_changed(item, self.context) {
                self.end(at, ChangeReason::SubjectChanged);
            }
        }
    }

    fn end(&mut self, at: usize, why: ChangeReason) {
        self.leased[at] = false;
        self.step(at, ItemChange::End, why);
    }

    /// Returns the items without a mark, highest activation first; the newest first among equals.
    fn free(&self) -> Vec<usize> {
        let may = |at: &usize| {
            let item = &self.items[*at];
            let ended = self.steps.iter().any(|step| step.item == *at);
            item.held == ItemMarks::Free && !item.inside && !item.refused && !self.leased[*at] && !ended
        };
        let mut free: Vec<usize> = (0..self.items.len()).filter(may).collect();
        free.sort_by_key(|at| (std::cmp::Reverse(self.active[*at]), std::cmp::Reverse(*at)));
        free
    }

    /// Leases items that were referred to often enough, or whose activation is high enough, while there is room.
    fn promote(&mut self) {
        let spec = self.context.spec;
        for at in self.free() {
            let seen = &self.items[at].seen;
            let (turns, now) = (referred(seen, spec.within), seen.first().copied().unwrap_or_default());
            let why = if now.refers() && turns >= spec.turns {
                ChangeReason::Referred { turns, within: spec.within }
            } else if (now.refers() || now.found) && self.active[at] >= spec.promote.0 {
                ChangeReason::Active(self.active[at])
            } else {
                continue;
            };
            if self.make_room(at) {
                self.leased[at] = true;
                self.step(at, ItemChange::Lease, why);
            }
        }
    }

    /// Returns whether a lease on this item fits. Ends leases with low activation to make room, lowest first, but only
    /// if that frees enough.
    fn make_room(&mut self, at: usize) -> bool {
        let mut idle: Vec<usize> = (0..self.items.len())
            .filter(|other| {
                let old = matches!(self.items[*other].held, ItemMarks::Leased { .. });
                let touched = self.items[*other].seen.first().is_some_and(|touch| touch.refers());
                self.leased[*other] && old && !touched && self.active[*other] < self.context.spec.demote.0
            })
            .collect();
        idle.sort_by_key(|other| (self.active[*other], *other));
        let needed = self.items[at].tokens;
        let (mut tokens, mut count) = (self.tokens(), self.leased.iter().filter(|leased| **leased).count());
        let most = self.context.spec.leases as usize;
        let mut ended = 0;
        while tokens.saturating_add(needed) > self.context.cap || count + 1 > most {
            let Some(other) = idle.get(ended) else { return false };
            tokens = tokens.saturating_sub(self.items[*other].tokens);
            count -= 1;
            ended += 1;
        }
        for other in idle.into_iter().take(ended) {
            self.end(other, ChangeReason::AboveLimit(self.active[other]));
        }
        true
    }

    fn tokens(&self) -> u32 {
        let own = self.items.iter().zip(&self.leased).filter(|(_, leased)| **leased);
        own.fold(self.context.taken, |sum, (item, _)| sum.saturating_add(item.tokens))
    }

    /// Includes the items that this turn referred to in the next call, within their own cap and the cap for leases.
    fn include_once(&mut self) {
        let (mut tokens, mut count) = (self.tokens(), 0);
        for at in self.free() {
            let Some(touch) = self.items[at].seen.first().filter(|touch| touch.refers()) else { continue };
            let then = tokens.saturating_add(self.items[at].tokens);
            if count < self.context.spec.ephemeral && then <= self.context.cap {
                (tokens, count) = (then, count + 1);
                self.step(at, ItemChange::Ephemeral, ChangeReason::Named { user: touch.user });
            }
        }
    }
}

#[cfg(test)]
#[path = "activation_tests.rs"]
mod tests;
