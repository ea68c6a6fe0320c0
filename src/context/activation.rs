//! Which items the program leases, keeps for one call, renews, lets go of, or suggests to pin, at the end of a turn: a pure
//! decision over what touched them.
//! Not for: finding that out or carrying it out (`engine`), or what a pin does to a plan (`admit`).
//!
//! An item's activation at the end of a turn is `A' = keep·A + user + model + plan + found + hop − negative`, each term only where it
//! holds, kept from 0 to 10, in thousandths. Going with a call again and again settles at 0.667 and with being found at 2.0 short
//! of it, so neither promotes by itself. Two references within the last five turns, or an
//! activation of 2, make a lease, at the end of a turn that touched the item: a lease that runs out is not made again by what
//! made it.

use crate::domain::call::retrieval_set::ClusterId;
use crate::domain::conversation::activation::{Activation, Touch};
use crate::domain::planning::tuning::Milli;

/// Turns that are looked back; what lies further back weighs less than a hundredth.
pub const HORIZON: usize = 16;
/// No activation is higher, in thousandths.
const MOST: i32 = 10_000;

/// What stands on an item before the decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemMarks {
    /// Nothing.
    Free,
    /// A lease of the program's with turns left.
    Leased {
        /// How often it was renewed.
        renewals: u32,
    },
    /// Something of a person's: they decide.
    Person,
}

/// An older turn as the decision sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Tokens of its card, roughly.
    pub tokens: u32,
    /// It went inside the window.
    pub inside: bool,
    /// What stands on it.
    pub held: ItemMarks,
    /// A person took it out or let go of it: nothing is made of it by itself.
    pub refused: bool,
    /// What touched it, the newest turn first.
    pub seen: Vec<Touch>,
}

/// What else the decision rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecisionContext<'a> {
    /// The policy's numbers.
    pub spec: &'a Activation,
    /// The mode lets the program lease.
    pub creates: bool,
    /// Tokens that leases may take together.
    pub cap: u32,
    /// Tokens that a person's leases take of that.
    pub taken: u32,
    /// The subjects of the turns' questions, the newest first.
    pub clusters: &'a [Option<ClusterId>],
}

/// What becomes of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemChange {
    /// It goes with the next call.
    Ephemeral,
    /// It is leased.
    Lease,
    /// Its lease begins anew.
    Renew,
    /// Its lease ends.
    End,
    /// To pin it is suggested.
    Suggest,
}

/// Why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeReason {
    /// It was referred to in so many of the last turns.
    Referred {
        /// How many.
        turns: u32,
        /// Of how many.
        within: u32,
    },
    /// It is active enough.
    Active(i32),
    /// This turn referred to it.
    Named {
        /// The person did.
        user: bool,
    },
    /// Its lease was renewed so often.
    Renewed(u32),
    /// The cap is full and it is hardly active.
    OverCap(i32),
    /// Two questions in a row were of another subject.
    MovedOn,
}

impl ChangeReason {
    /// A few words.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Referred { turns, within } => format!("referred to in {turns} of the last {within} turns"),
            Self::Active(milli) => format!("activation {}", Milli(milli)),
            Self::Named { user: true } => "your message referred to it".into(),
            Self::Named { user: false } => "the answer referred to it".into(),
            Self::Renewed(times) => format!("referred to again, renewal {times}"),
            Self::OverCap(milli) => format!("the cap for leases is reached, and its activation is {}", Milli(milli)),
            Self::MovedOn => "the questions moved to another subject".into(),
        }
    }
}

/// One step of the decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Which item, by its place in the list.
    pub item: usize,
    /// What becomes of it.
    pub to: ItemChange,
    /// Why.
    pub why: ChangeReason,
}

/// An item's activation in thousandths, with what it is made of by name. `seen` and `clusters`: the newest turn first.
#[must_use]
pub fn activation(
    seen: &[Touch],
    clusters: &[Option<ClusterId>],
    spec: &Activation,
) -> (i32, Vec<(&'static str, i32)>) {
    let now = clusters.first().copied().flatten();
    let same = |ago: usize| !spec.clusters || clusters.get(ago).copied().flatten() == now;
    let fold = |weight: Milli, holds: &dyn Fn(usize, &Touch) -> bool| {
        let turns = seen.iter().enumerate().take(HORIZON).rev();
        turns.fold(0_i32, |sum, (ago, touch)| {
            let more = if holds(ago, touch) { weight.0 } else { 0 };
            spec.keep.of(sum).saturating_add(more).clamp(0, MOST)
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
    let whole = parts.iter().fold(0_i32, |sum, (_, part)| sum.saturating_add(*part)).clamp(0, MOST);
    (whole, parts)
}

/// In how many of the last `within` turns somebody spoke of it.
fn referred(seen: &[Touch], within: u32) -> u32 {
    let turns = seen.iter().take(within as usize).filter(|touch| touch.refers()).count();
    u32::try_from(turns).unwrap_or(u32::MAX)
}

/// Whether the last two questions are of other subjects than the one in which the item was last spoken of or found.
fn left_behind(item: &Item, ground: &DecisionContext<'_>) -> bool {
    let (Some(Some(last)), Some(Some(before))) = (ground.clusters.first(), ground.clusters.get(1)) else {
        return false;
    };
    let touched = item.seen.iter().position(|touch| touch.refers() || touch.found);
    let of = touched.filter(|ago| *ago > 1).and_then(|ago| ground.clusters.get(ago).copied().flatten());
    ground.spec.clusters && of.is_some_and(|of| of != *last && of != *before)
}

/// Decides. Steps come in the order in which they are to be told; at most one of an item, but for a suggestion beside a
/// renewal. Where policy or mode say no, there are none.
#[must_use]
pub fn decide(items: &[Item], ground: &DecisionContext<'_>) -> Vec<Step> {
    if !ground.spec.on || !ground.creates {
        return Vec::new();
    }
    let mut work = Work {
        items,
        ground,
        active: items.iter().map(|item| activation(&item.seen, ground.clusters, ground.spec).0).collect(),
        leased: items.iter().map(|item| matches!(item.held, ItemMarks::Leased { .. })).collect(),
        steps: Vec::new(),
    };
    work.keep_or_end();
    work.promote();
    work.hook();
    work.steps
}

struct Work<'a> {
    items: &'a [Item],
    ground: &'a DecisionContext<'a>,
    active: Vec<i32>,
    /// Leased by the program after the steps so far.
    leased: Vec<bool>,
    steps: Vec<Step>,
}

impl Work<'_> {
    fn step(&mut self, item: usize, to: ItemChange, why: ChangeReason) {
        self.steps.push(Step { item, to, why });
    }

    /// Leases of the program's: renewed when spoken of, ended when the subject was left behind.
    fn keep_or_end(&mut self) {
        for (at, item) in self.items.iter().enumerate() {
            let ItemMarks::Leased { renewals } = item.held else { continue };
            if item.seen.first().is_some_and(|touch| touch.refers()) {
                self.step(at, ItemChange::Renew, ChangeReason::Renewed(renewals + 1));
                if renewals + 1 == self.ground.spec.suggest_after {
                    self.step(at, ItemChange::Suggest, ChangeReason::Renewed(renewals + 1));
                }
            } else if left_behind(item, self.ground) {
                self.end(at, ChangeReason::MovedOn);
            }
        }
    }

    fn end(&mut self, at: usize, why: ChangeReason) {
        self.leased[at] = false;
        self.step(at, ItemChange::End, why);
    }

    /// Free items by activation, the newest first among equals.
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

    fn promote(&mut self) {
        let spec = self.ground.spec;
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

    /// Whether a lease on this item fits; leases that are hardly active end for it, the least active first, and only where
    /// that is enough.
    fn make_room(&mut self, at: usize) -> bool {
        let mut idle: Vec<usize> = (0..self.items.len())
            .filter(|other| {
                let old = matches!(self.items[*other].held, ItemMarks::Leased { .. });
                let touched = self.items[*other].seen.first().is_some_and(|touch| touch.refers());
                self.leased[*other] && old && !touched && self.active[*other] < self.ground.spec.demote.0
            })
            .collect();
        idle.sort_by_key(|other| (self.active[*other], *other));
        let needed = self.items[at].tokens;
        let (mut tokens, mut count) = (self.tokens(), self.leased.iter().filter(|leased| **leased).count());
        let most = self.ground.spec.leases as usize;
        let mut going = 0;
        while tokens.saturating_add(needed) > self.ground.cap || count + 1 > most {
            let Some(other) = idle.get(going) else { return false };
            tokens = tokens.saturating_sub(self.items[*other].tokens);
            count -= 1;
            going += 1;
        }
        for other in idle.into_iter().take(going) {
            self.end(other, ChangeReason::OverCap(self.active[other]));
        }
        true
    }

    /// Tokens of all leases.
    fn tokens(&self) -> u32 {
        let own = self.items.iter().zip(&self.leased).filter(|(_, leased)| **leased);
        own.fold(self.ground.taken, |sum, (item, _)| sum.saturating_add(item.tokens))
    }

    /// What this turn spoke of goes with the next call, while its cap and the leases' last.
    fn hook(&mut self) {
        let (mut tokens, mut count) = (self.tokens(), 0);
        for at in self.free() {
            let Some(touch) = self.items[at].seen.first().filter(|touch| touch.refers()) else { continue };
            let then = tokens.saturating_add(self.items[at].tokens);
            if count < self.ground.spec.ephemeral && then <= self.ground.cap {
                (tokens, count) = (then, count + 1);
                self.step(at, ItemChange::Ephemeral, ChangeReason::Named { user: touch.user });
            }
        }
    }
}

#[cfg(test)]
#[path = "activation_tests.rs"]
mod tests;
