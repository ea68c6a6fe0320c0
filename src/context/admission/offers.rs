//! Candidates that sources offer beside the turns: which are admitted, their cost for each start of the window, and
//! their blocks and reasons.
//! Not for: finding candidates (`engine`), the window (`window`) or the room for offers (`admit`).
//!
//! Offers come after everything required and never block a call. Offers without an allowance (rules, the map of the
//! code) may take any free room; retrieved ones share the mode's allowance, in their order. A candidate that repeats a
//! turn costs nothing while that turn is in the window, so one search for the start of the window weighs both, and
//! tokens that candidates do not spend go to turns.

use super::accepted_summaries::SummaryCoverage;
use super::admit::AllowanceUse;
use super::choose::SESSION_LEVEL;
use crate::domain::base::hash::Hash;
use crate::domain::conversation::mark::Atom;
use crate::domain::planning::input::{Block, Candidate, Offer, OmittedItem, PlanInput};
use crate::domain::planning::plan::Reason;
use crate::domain::planning::policy::Section;
use std::collections::{BTreeSet, HashMap};

/// An offer and the decisions about its candidates.
struct OfferDecision<'a> {
    offer: &'a Offer,
    /// Tokens left by its priority level, for an offer without an allowance.
    level: u32,
    /// For each candidate: the index of the turn that contains the same text.
    turns: Vec<Option<usize>>,
    /// For each candidate: the candidates that are admitted only together with it, itself included.
    mates: Vec<Vec<usize>>,
    /// For each candidate: why it was not admitted; `None` if it was.
    out: Vec<Option<Reason>>,
    /// For each candidate: the summary that covers its turn, and whether that summary lacks what is asked.
    summed: Vec<Option<(Hash, bool)>>,
}

/// All offers of an input, with the decisions about them.
pub(in crate::context) struct Offers<'a> {
    decided: Vec<OfferDecision<'a>>,
    /// Tokens kept free in place of retrieved candidates.
    kept: u32,
    /// Tokens left for candidates whose turn a summary covers.
    spare: u32,
}

impl<'a> Offers<'a> {
    /// With nothing admitted yet.
    pub(in crate::context) fn new(input: &'a PlanInput, summed: &SummaryCoverage) -> Self {
        let some = input.offers.iter().any(|offer| offer.candidates.iter().any(|one| one.turn.is_some()));
        let turns = if some { input.turns.as_slice() } else { &[] };
        let places: HashMap<Atom, usize> = turns.iter().enumerate().map(|(at, turn)| (turn.atom, at)).collect();
        let lacks = |by: Hash| input.summaries.iter().any(|one| one.by == by && one.lacks);
        let covers = |one: &Candidate| summed.by[*places.get(&one.turn?)?].map(|by| (by, lacks(by)));
        let decided = input.offers.iter().map(|offer| OfferDecision {
            offer,
            level: u32::MAX,
            turns: offer.candidates.iter().map(|one| places.get(&one.turn?).copied()).collect(),
            summed: offer.candidates.iter().map(covers).collect(),
            mates: mates(&offer.candidates),
            out: vec![Some(Reason::Budget { free: 0 }); offer.candidates.len()],
        });
        Self { decided: decided.collect(), kept: 0, spare: summed.spare }
    }

    /// Admits offers without an allowance, with at most `session` tokens of the session level. Returns the tokens
    /// taken.
    pub(in crate::context) fn by_room(&mut self, room: u32, mut session: u32) -> u32 {
        let mut left = room;
        for decided in self.decided.iter_mut().filter(|decided| decided.offer.most.is_none()) {
            let own = decided.offer.candidates.iter().any(|one| SESSION_LEVEL.contains(&one.block.section));
            decided.level = if own { session } else { u32::MAX };
            let taken = decided.take(left.min(decided.level), &mut self.spare);
            left -= taken;
            session -= if own { taken } else { 0 };
        }
        room - left
    }

    /// Spends the allowance or keeps it free, as far as there is room. Returns those tokens.
    pub(in crate::context) fn look_up(&mut self, how: AllowanceUse, allowance: u32, room: u32) -> u32 {
        match how {
            AllowanceUse::Offered => self.by_allowance(allowance, room),
            AllowanceUse::KeptFree(tokens) => self.keep_free(tokens, room),
        }
    }

    /// Admits retrieved candidates within the allowance and the room. Returns the tokens taken.
    fn by_allowance(&mut self, allowance: u32, room: u32) -> u32 {
        let (mut left, mut free) = (allowance, room);
        for decided in &mut self.decided {
            let Some(most) = decided.offer.most else { continue };
            let taken = decided.take(most.min(left).min(free), &mut self.spare);
            (left, free) = (left - taken, free - taken);
        }
        room - free
    }

    /// Keeps the allowance free in place of retrieved candidates, as far as there is room. Returns those tokens.
    fn keep_free(&mut self, allowance: u32, room: u32) -> u32 {
        self.kept = allowance.min(room);
        self.kept
    }

    /// Admits further candidates once it is known which turns are sent: candidates that repeat those turns cost
    /// nothing, so more may fit into the rest of the allowance and into `free` tokens. Records for all others how much
    /// room there was. Returns the tokens taken.
    pub(in crate::context) fn settle(&mut self, goes: &dyn Fn(usize) -> bool, allowance: u32, free: u32) -> u32 {
        let looked = self.decided.iter().filter(|decided| decided.offer.most.is_some());
        let spent = looked.fold(0_u32, |sum, decided| sum.saturating_add(decided.cost(goes)));
        let (mut left, mut now) = (allowance.saturating_sub(spent), free);
        for decided in &mut self.decided {
            let taken = decided.take_more(goes, left, now);
            left -= if decided.offer.most.is_some() { taken } else { 0 };
            now -= taken;
        }
        self.decided.iter_mut().for_each(|decided| decided.tell(goes, left, now));
        free - now
    }

    /// Tokens of the offers beside the turns that are sent.
    pub(in crate::context) fn cost(&self, goes: &dyn Fn(usize) -> bool) -> u32 {
        self.decided.iter().fold(self.kept, |sum, decided| sum.saturating_add(decided.cost(goes)))
    }

    /// Tokens admitted in these sections beside the turns that are sent.
    pub(in crate::context) fn of(&self, sections: &[Section], goes: &dyn Fn(usize) -> bool) -> u32 {
        let blocks = self.blocks(goes);
        let held = blocks.iter().filter(|block| sections.contains(&block.section)).map(|block| block.tokens);
        let kept = if sections.contains(&Section::Retrieved) { self.kept } else { 0 };
        held.fold(kept, u32::saturating_add)
    }

    /// Tokens of the offers for each start of the window; `goes(turn, start)` says whether a turn is then in the
    /// request.
    pub(in crate::context) fn by_start(&self, turns: usize, goes: &dyn Fn(usize, usize) -> bool) -> Vec<u32> {
        let said: BTreeSet<usize> =
            self.decided.iter().flat_map(|decided| decided.turns.iter().flatten().copied()).collect();
        let cost = |start: usize| self.cost(&|turn| goes(turn, start));
        let mut now = cost(turns);
        let mut costs = vec![now; turns + 1];
        for start in (0..turns).rev() {
            if said.contains(&start) {
                now = cost(start);
            }
            costs[start] = now;
        }
        costs
    }

    /// The blocks to send, in order; `goes` says whether a turn itself is sent.
    pub(in crate::context) fn blocks(&self, goes: &dyn Fn(usize) -> bool) -> Vec<Block> {
        self.decided.iter().flat_map(|decided| decided.blocks(goes)).collect()
    }

    /// The candidates left out, with their reasons.
    pub(in crate::context) fn near(&self, goes: &dyn Fn(usize) -> bool) -> Vec<OmittedItem> {
        self.decided.iter().flat_map(|decided| decided.near(goes)).collect()
    }
}

fn mates(candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let mut together: HashMap<u32, Vec<usize>> = HashMap::new();
    for (at, one) in candidates.iter().enumerate() {
        together.entry(one.together).or_default().push(at);
    }
    candidates.iter().map(|one| together[&one.together].clone()).collect()
}

impl OfferDecision<'_> {
    /// Admits candidates in their order while all of them together take at most `most` tokens, whichever turns are
    /// sent. Returns the tokens taken. Candidates whose turn a summary covers draw on `spare` as well.
    fn take(&mut self, most: u32, spare: &mut u32) -> u32 {
        let mut taken = 0;
        for mates in self.groups() {
            let reason = self.out[mates[0]].clone();
            self.set(&mates, None);
            let cost = self.at_most();
            let covered: Vec<bool> = mates.iter().filter_map(|at| self.summed[*at]).map(|(_, lacks)| lacks).collect();
            let allowed = covered.iter().all(|lacks| *lacks && cost.saturating_sub(taken) <= *spare);
            if cost <= most && allowed {
                *spare -= if covered.is_empty() { 0 } else { cost.saturating_sub(taken) };
                taken = cost;
            } else {
                self.set(&mates, reason.as_ref());
            }
        }
        taken
    }

    /// Candidates that are admitted together, in the order in which they are tried.
    fn groups(&self) -> Vec<Vec<usize>> {
        let all = &self.offer.candidates;
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|at| (all[*at].order, *at));
        let mut tried = BTreeSet::new();
        order.retain(|at| tried.insert(all[*at].together));
        order.into_iter().map(|first| self.mates[first].clone()).collect()
    }

    /// Admits further candidates that repeat no turn, within the rest of the allowance and the room.
    fn take_more(&mut self, goes: &dyn Fn(usize) -> bool, left: u32, free: u32) -> u32 {
        let before = self.cost(goes);
        let most = self.allowed(before, left).min(free);
        for mates in self.groups() {
            let covered = mates.iter().any(|at| self.summed[*at].is_some());
            if self.out[mates[0]].is_none() || covered || self.said(mates[0], goes) {
                continue;
            }
            let reason = self.out[mates[0]].clone();
            self.set(&mates, None);
            if self.cost(goes).saturating_sub(before) > most {
                self.set(&mates, reason.as_ref());
            }
        }
        self.cost(goes).saturating_sub(before)
    }

    /// Records why candidates are left out: the room for each beside its heading and the candidates that come with it.
    fn tell(&mut self, goes: &dyn Fn(usize) -> bool, left: u32, free: u32) {
        let before = self.cost(goes);
        let allowed = self.allowed(before, left);
        for mates in self.groups().into_iter().filter(|mates| self.out[mates[0]].is_some()).collect::<Vec<_>>() {
            self.set(&mates, None);
            let needed = self.cost(goes).saturating_sub(before);
            for at in &mates {
                let beside = needed.saturating_sub(self.offer.candidates[*at].block.tokens);
                let reason = match (self.summed[*at], self.offer.most) {
                    (Some((by, _)), _) => Reason::Superseded { by },
                    (None, Some(tokens)) if allowed <= free => Reason::Allowance { tokens },
                    (None, None) if allowed < free => Reason::SessionFull { budget: self.level },
                    (None, _) => Reason::Budget { free: free.saturating_sub(beside) },
                };
                self.out[*at] = Some(reason);
            }
        }
    }

    /// What the allowance leaves to this offer.
    fn allowed(&self, taken: u32, left: u32) -> u32 {
        self.offer.most.map_or(self.level.saturating_sub(taken), |most| most.saturating_sub(taken).min(left))
    }

    fn set(&mut self, all: &[usize], out: Option<&Reason>) {
        for at in all {
            self.out[*at] = out.cloned();
        }
    }

    /// Whether a candidate is left out because turns with the same text are sent: its own, or those of the candidates
    /// it belongs to.
    fn said(&self, at: usize, goes: &dyn Fn(usize) -> bool) -> bool {
        self.turns[at].is_some() && self.mates[at].iter().all(|mate| self.turns[*mate].is_some_and(goes))
    }

    /// The candidates that are sent, each with its text.
    fn sent<'s>(&'s self, goes: &dyn Fn(usize) -> bool) -> Vec<(&'s Candidate, (Hash, u32))> {
        let stays = |at: &usize| self.out[*at].is_none() && !self.said(*at, goes);
        let there: Vec<usize> = (0..self.offer.candidates.len()).filter(stays).collect();
        let text = |(nth, at): (usize, &usize)| {
            let alone = nth == 0 || there[nth - 1] + 1 != *at;
            let one = &self.offer.candidates[*at];
            (one, one.text(alone, nth + 1 == there.len()))
        };
        there.iter().enumerate().map(text).collect()
    }

    fn cost(&self, goes: &dyn Fn(usize) -> bool) -> u32 {
        let sent = self.sent(goes);
        let heading = self.offer.heading.as_ref().filter(|_| !sent.is_empty()).map_or(0, |heading| heading.tokens);
        sent.into_iter().fold(heading, |sum, (_, (_, tokens))| sum.saturating_add(tokens))
    }

    /// The maximum cost, whichever turns are sent: a candidate whose predecessor is left out costs as much as alone,
    /// and any may be the last.
    fn at_most(&self) -> u32 {
        let there: Vec<usize> = (0..self.out.len()).filter(|at| self.out[*at].is_none()).collect();
        let (mut sum, mut tail) = (0_u32, 0);
        for (nth, at) in there.iter().enumerate() {
            let tokens = |alone: bool, last: bool| self.offer.candidates[*at].text(alone, last).1;
            let behind = nth > 0 && there[nth - 1] + 1 == *at;
            let may_leave = behind && self.turns[*at - 1].is_some();
            let most = |last: bool| match (behind, may_leave) {
                (false, _) => tokens(true, last),
                (true, false) => tokens(false, last),
                (true, true) => tokens(false, last).max(tokens(true, last)),
            };
            sum = sum.saturating_add(most(false));
            tail = tail.max(most(true).saturating_sub(most(false)));
        }
        let heading = self.offer.heading.as_ref().filter(|_| !there.is_empty()).map_or(0, |heading| heading.tokens);
        heading.saturating_add(sum).saturating_add(tail)
    }

    fn blocks(&self, goes: &dyn Fn(usize) -> bool) -> Vec<Block> {
        let sent = self.sent(goes);
        let heading = self.offer.heading.clone().filter(|_| !sent.is_empty());
        let each = sent.into_iter().map(|(one, (text, tokens))| Block { text, tokens, ..one.block.clone() });
        heading.into_iter().chain(each).collect()
    }

    fn near(&self, goes: &dyn Fn(usize) -> bool) -> Vec<OmittedItem> {
        let candidates = self.offer.candidates.iter().enumerate();
        let each = candidates.filter_map(|(at, Candidate { block, remedy, .. })| {
            let said = self.said(at, goes).then_some(Reason::Duplicate);
            Some(OmittedItem {
                reason: said.or_else(|| self.out[at].clone())?,
                atom: block.atom.unwrap_or(Atom::Section { text: block.text }),
                kind: block.kind,
                title: block.title.clone(),
                tokens: block.tokens,
                remedy: remedy.clone(),
                source: block.source.clone(),
                scores: block.scores.clone(),
            })
        });
        each.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::admission::laws_tests::{Found, input, offered};
    use crate::domain::planning::policy::PolicySpec;

    /// The heading takes 3 tokens and what follows the last card 2; the third number is what a card takes more when the
    /// one before it does not go.
    #[test]
    fn offers_cost_at_most_what_any_choice_of_turns_leaves() {
        let found: [(&[Found], u32); 5] = [
            (&[], 0),
            (&[(None, 5, 4)], 3 + 9 + 2),
            (&[(None, 5, 0), (None, 10, 4)], 3 + 5 + 10 + 2),
            (&[(None, 5, 0), (Some(0), 10, 4)], 3 + 5 + 10 + 2),
            (&[(Some(0), 5, 0), (None, 10, 4)], 3 + 5 + 14 + 2),
        ];
        let input = input(&[[1; 3]], PolicySpec::default(), 100);
        for (found, most) in found {
            let offer = offered(&input, found, None);
            let decided = OfferDecision {
                level: u32::MAX,
                turns: found.iter().map(|(turn, ..)| *turn).collect(),
                mates: mates(&offer.candidates),
                out: vec![None; found.len()],
                summed: vec![None; found.len()],
                offer: &offer,
            };
            assert_eq!(decided.at_most(), most, "{found:?}");
            assert!([true, false].iter().all(|goes| decided.cost(&|_| *goes) <= most), "{found:?}");
        }
    }
}
