//! Admits the candidates that sources offer in addition to the turns, and determines their cost for each start of the
//! window, their blocks, and the reasons of candidates that are left out.
//! Not for: finding candidates (`engine`), the window (`window`), or the room for offers (`admit`).
//!
//! Offers come after everything required and never block a call. Rules, module summaries, and the map of the code take
//! free room, each offer up to its limit; retrieved candidates share the mode's allowance, in the order of their
//! offers. A candidate that repeats a turn costs nothing while that turn is in the window, so a single search for the
//! start of the window weighs both, and tokens that candidates do not spend go to turns.

use super::admit::AllowanceUse;
use super::choose::SESSION_LEVEL;
use super::coverage::SummaryCoverage;
use crate::domain::base::Hash;
use crate::domain::conversation::Atom;
use crate::domain::planning::plan::Reason;
use crate::domain::planning::{Block, Candidate, Offer, OfferLimit, OmittedItem, PlanInput, RowKind, Section};
use std::collections::{BTreeSet, HashMap};

/// An offer and the decisions about its candidates.
struct OfferDecision<'a> {
    offer: &'a Offer,
    /// Tokens left by its priority level, for an offer that does not spend the allowance.
    level: u32,
    /// For each candidate: the index of the turn that contains the same text.
    turns: Vec<Option<usize>>,
    /// For each candidate: the candidates that are admitted only together with it, including itself.
    companions: Vec<Vec<usize>>,
    /// For each candidate: why it was not admitted; `None` if it was.
    out: Vec<Option<Reason>>,
    /// For each candidate that is not code and whose turn a summary covers: that as a reason, and whether the summary
    /// lacks facts that the question asks for.
    summed: Vec<Option<(Reason, bool)>>,
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
    /// Creates the decisions with nothing admitted yet.
    pub(in crate::context) fn new(input: &'a PlanInput, summed: &SummaryCoverage) -> Self {
        let some = input.offers.iter().any(|offer| offer.candidates.iter().any(|one| one.turn.is_some()));
        let turns = if some { input.turns.as_slice() } else { &[] };
        let places: HashMap<Atom, usize> = turns.iter().enumerate().map(|(at, turn)| (turn.atom, at)).collect();
        let lacks = |by: Hash| input.summaries.iter().any(|one| one.by == by && one.lacks);
        // A summary replaces the messages of a turn, but not the code that the turn also contains.
        let replaces = |one: &Candidate| one.block.kind != RowKind::Code;
        let covers = |one: &Candidate| {
            let by = summed.by[*places.get(&one.turn.filter(|_| replaces(one))?)?]?;
            Some((input.superseded(by), lacks(by)))
        };
        let decided = input.offers.iter().map(|offer| OfferDecision {
            offer,
            level: u32::MAX,
            turns: offer.candidates.iter().map(|one| places.get(&one.turn?).copied()).collect(),
            summed: offer.candidates.iter().map(covers).collect(),
            companions: companions(&offer.candidates),
            out: vec![Some(Reason::Budget { free: 0 }); offer.candidates.len()],
        });
        Self { decided: decided.collect(), kept: 0, spare: summed.spare }
    }

    /// Admits offers that do not spend the allowance, with at most `session` tokens in the session level. Returns the
    /// tokens taken.
    pub(in crate::context) fn by_room(&mut self, room: u32, mut session: u32) -> u32 {
        let mut left = room;
        for decided in self.decided.iter_mut().filter(|decided| decided.offer.limit.of_allowance().is_none()) {
            let own = decided.offer.candidates.iter().any(|one| SESSION_LEVEL.contains(&one.block.section));
            decided.level = if own { session } else { u32::MAX };
            let taken = decided.admit(left.min(decided.allowed(0, 0)), &mut self.spare);
            left -= taken;
            session -= if own { taken } else { 0 };
        }
        room - left
    }

    /// Spends the allowance on retrieved candidates, or keeps tokens free in their place, up to the available room.
    /// Returns the tokens taken or kept.
    pub(in crate::context) fn look_up(&mut self, how: AllowanceUse, allowance: u32, room: u32) -> u32 {
        if let AllowanceUse::KeptFree(tokens) = how {
            self.kept = tokens.min(room);
            return self.kept;
        }
        let (mut left, mut free) = (allowance, room);
        for decided in &mut self.decided {
            let Some(most) = decided.offer.limit.of_allowance() else { continue };
            let taken = decided.admit(most.min(left).min(free), &mut self.spare);
            (left, free) = (left - taken, free - taken);
        }
        room - free
    }

    /// Admits more candidates once it is known which turns are sent: candidates that repeat those turns cost nothing,
    /// so more may fit into the rest of the allowance and into `free` tokens. Records for all others how much room
    /// there was. Returns the tokens taken.
    pub(in crate::context) fn settle(&mut self, is_sent: &dyn Fn(usize) -> bool, allowance: u32, free: u32) -> u32 {
        let looked = self.decided.iter().filter(|decided| decided.offer.limit.of_allowance().is_some());
        let spent = looked.fold(0_u32, |sum, decided| sum.saturating_add(decided.cost(is_sent)));
        let (mut left, mut now) = (allowance.saturating_sub(spent), free);
        for decided in &mut self.decided {
            let taken = decided.admit_more(is_sent, left, now);
            left -= if decided.offer.limit.of_allowance().is_some() { taken } else { 0 };
            now -= taken;
        }
        self.decided.iter_mut().for_each(|decided| decided.record_reasons(is_sent, left, now));
        free - now
    }

    /// Returns the tokens of the offers, given the turns that are sent.
    pub(in crate::context) fn cost(&self, is_sent: &dyn Fn(usize) -> bool) -> u32 {
        self.decided.iter().fold(self.kept, |sum, decided| sum.saturating_add(decided.cost(is_sent)))
    }

    /// Returns the tokens admitted in these sections, given the turns that are sent.
    pub(in crate::context) fn tokens_in(&self, sections: &[Section], is_sent: &dyn Fn(usize) -> bool) -> u32 {
        let blocks = self.blocks(is_sent);
        let tokens = blocks.iter().filter(|block| sections.contains(&block.section)).map(|block| block.tokens);
        let kept = if sections.contains(&Section::Retrieved) { self.kept } else { 0 };
        tokens.fold(kept, u32::saturating_add)
    }

    /// Returns the tokens of the offers for each start of the window; `is_sent(turn, start)` says whether the turn is
    /// then in the request.
    pub(in crate::context) fn by_start(&self, turns: usize, is_sent: &dyn Fn(usize, usize) -> bool) -> Vec<u32> {
        let repeated: BTreeSet<usize> =
            self.decided.iter().flat_map(|decided| decided.turns.iter().flatten().copied()).collect();
        let cost = |start: usize| self.cost(&|turn| is_sent(turn, start));
        let mut now = cost(turns);
        let mut costs = vec![now; turns + 1];
        for start in (0..turns).rev() {
            if repeated.contains(&start) {
                now = cost(start);
            }
            costs[start] = now;
        }
        costs
    }

    /// Returns the blocks to send, in order; `is_sent` says whether a turn itself is sent.
    pub(in crate::context) fn blocks(&self, is_sent: &dyn Fn(usize) -> bool) -> Vec<Block> {
        self.decided.iter().flat_map(|decided| decided.blocks(is_sent)).collect()
    }

    /// Returns the candidates left out, with their reasons.
    pub(in crate::context) fn omitted(&self, is_sent: &dyn Fn(usize) -> bool) -> Vec<OmittedItem> {
        self.decided.iter().flat_map(|decided| decided.omitted(is_sent)).collect()
    }
}

fn companions(candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let mut together: HashMap<u32, Vec<usize>> = HashMap::new();
    for (at, one) in candidates.iter().enumerate() {
        together.entry(one.together).or_default().push(at);
    }
    candidates.iter().map(|one| together[&one.together].clone()).collect()
}

impl OfferDecision<'_> {
    /// Admits candidates in their order while all of them together take at most `most` tokens, regardless of which
    /// turns are sent. Returns the tokens taken. Candidates whose turn a summary covers draw on `spare` as well.
    fn admit(&mut self, most: u32, spare: &mut u32) -> u32 {
        let mut taken = 0;
        for companions in self.groups() {
            let reason = self.out[companions[0]].clone();
            self.set(&companions, None);
            let cost = self.max_cost();
            let covered: Vec<bool> =
                companions.iter().filter_map(|at| self.summed[*at].as_ref()).map(|(_, lacks)| *lacks).collect();
            let allowed = covered.iter().all(|lacks| *lacks && cost.saturating_sub(taken) <= *spare);
            if cost <= most && allowed {
                *spare -= if covered.is_empty() { 0 } else { cost.saturating_sub(taken) };
                taken = cost;
            } else {
                self.set(&companions, reason.as_ref());
            }
        }
        taken
    }

    /// Returns the candidates that are admitted together, in the order in which they are tried.
    fn groups(&self) -> Vec<Vec<usize>> {
        let all = &self.offer.candidates;
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|at| (all[*at].order, *at));
        let mut tried = BTreeSet::new();
        order.retain(|at| tried.insert(all[*at].together));
        order.into_iter().map(|first| self.companions[first].clone()).collect()
    }

    /// Admits more candidates that repeat no turn, within the rest of the allowance and the room.
    fn admit_more(&mut self, is_sent: &dyn Fn(usize) -> bool, left: u32, free: u32) -> u32 {
        let before = self.cost(is_sent);
        let most = self.allowed(before, left).min(free);
        for companions in self.groups() {
            let covered = companions.iter().any(|at| self.summed[*at].is_some());
            if self.out[companions[0]].is_none() || covered || self.is_repeated(companions[0], is_sent) {
                continue;
            }
            let reason = self.out[companions[0]].clone();
            self.set(&companions, None);
            if self.cost(is_sent).saturating_sub(before) > most {
                self.set(&companions, reason.as_ref());
            }
        }
        self.cost(is_sent).saturating_sub(before)
    }

    /// Records why candidates are left out. The room reported for each excludes its heading and the candidates that
    /// come with it.
    fn record_reasons(&mut self, is_sent: &dyn Fn(usize) -> bool, left: u32, free: u32) {
        let before = self.cost(is_sent);
        let allowed = self.allowed(before, left);
        for companions in self.groups() {
            if self.out[companions[0]].is_none() {
                continue;
            }
            self.set(&companions, None);
            let needed = self.cost(is_sent).saturating_sub(before);
            for at in &companions {
                let other_tokens = needed.saturating_sub(self.offer.candidates[*at].block.tokens);
                let reason = match (&self.summed[*at], self.offer.limit) {
                    (Some((reason, _)), _) => reason.clone(),
                    (None, OfferLimit::Allowance(tokens)) if allowed <= free => Reason::Allowance { tokens },
                    (None, OfferLimit::Share(tokens)) if allowed <= free && tokens <= self.level => {
                        Reason::BelowThreshold
                    }
                    (None, OfferLimit::Room | OfferLimit::Share(_)) if allowed < free => {
                        Reason::SessionFull { budget: self.level }
                    }
                    (None, _) => Reason::Budget { free: free.saturating_sub(other_tokens) },
                };
                self.out[*at] = Some(reason);
            }
        }
    }

    /// Returns the tokens that this offer may still take, if `left` tokens are left of the allowance.
    fn allowed(&self, taken: u32, left: u32) -> u32 {
        match self.offer.limit {
            OfferLimit::Room => self.level.saturating_sub(taken),
            OfferLimit::Share(most) => self.level.min(most).saturating_sub(taken),
            OfferLimit::Allowance(most) => most.saturating_sub(taken).min(left),
        }
    }

    fn set(&mut self, all: &[usize], out: Option<&Reason>) {
        for at in all {
            self.out[*at] = out.cloned();
        }
    }

    /// Returns whether a candidate is left out because turns with the same text are sent: its own turn, and the turns
    /// of the candidates it belongs to.
    fn is_repeated(&self, at: usize, is_sent: &dyn Fn(usize) -> bool) -> bool {
        self.turns[at].is_some() && self.companions[at].iter().all(|mate| self.turns[*mate].is_some_and(is_sent))
    }

    /// Returns the candidates that are sent, each with its text.
    fn sent<'s>(&'s self, is_sent: &dyn Fn(usize) -> bool) -> Vec<(&'s Candidate, (Hash, u32))> {
        let stays = |at: &usize| self.out[*at].is_none() && !self.is_repeated(*at, is_sent);
        let remaining: Vec<usize> = (0..self.offer.candidates.len()).filter(stays).collect();
        let text = |(nth, at): (usize, &usize)| {
            let alone = nth == 0 || remaining[nth - 1] + 1 != *at;
            let one = &self.offer.candidates[*at];
            (one, one.text(alone, nth + 1 == remaining.len()))
        };
        remaining.iter().enumerate().map(text).collect()
    }

    fn cost(&self, is_sent: &dyn Fn(usize) -> bool) -> u32 {
        let sent = self.sent(is_sent);
        let heading = self.offer.heading.as_ref().filter(|_| !sent.is_empty()).map_or(0, |heading| heading.tokens);
        sent.into_iter().fold(heading, |sum, (_, (_, tokens))| sum.saturating_add(tokens))
    }

    /// Returns the maximum cost over all choices of turns: a candidate whose predecessor is left out costs as much as
    /// one that is sent alone, and any candidate may be the last.
    fn max_cost(&self) -> u32 {
        let remaining: Vec<usize> = (0..self.out.len()).filter(|at| self.out[*at].is_none()).collect();
        let (mut sum, mut tail) = (0_u32, 0);
        for (nth, at) in remaining.iter().enumerate() {
            let tokens = |alone: bool, last: bool| self.offer.candidates[*at].text(alone, last).1;
            let behind = nth > 0 && remaining[nth - 1] + 1 == *at;
            let may_leave = behind && self.turns[*at - 1].is_some();
            let most = |last: bool| match (behind, may_leave) {
                (false, _) => tokens(true, last),
                (true, false) => tokens(false, last),
                (true, true) => tokens(false, last).max(tokens(true, last)),
            };
            sum = sum.saturating_add(most(false));
            tail = tail.max(most(true).saturating_sub(most(false)));
        }
        let heading = self.offer.heading.as_ref().filter(|_| !remaining.is_empty()).map_or(0, |heading| heading.tokens);
        heading.saturating_add(sum).saturating_add(tail)
    }

    fn blocks(&self, is_sent: &dyn Fn(usize) -> bool) -> Vec<Block> {
        let sent = self.sent(is_sent);
        let heading = self.offer.heading.clone().filter(|_| !sent.is_empty());
        let each = sent.into_iter().map(|(one, (text, tokens))| Block { text, tokens, ..one.block.clone() });
        heading.into_iter().chain(each).collect()
    }

    fn omitted(&self, is_sent: &dyn Fn(usize) -> bool) -> Vec<OmittedItem> {
        let candidates = self.offer.candidates.iter().enumerate();
        let each = candidates.filter_map(|(at, Candidate { block, remedy, .. })| {
            let is_repeated = self.is_repeated(at, is_sent).then_some(Reason::Duplicate);
            let reason = is_repeated.or_else(|| self.out[at].clone())?;
            Some(OmittedItem::of(block, reason, remedy.clone()))
        });
        let mut omitted: Vec<OmittedItem> = each.collect();
        let heading = self.offer.heading.as_ref().filter(|_| self.sent(is_sent).is_empty());
        omitted.extend(heading.and_then(|heading| self.omitted_heading(heading)));
        omitted
    }

    /// Returns the row of the heading if no candidate is sent and one of them lacked room: what was found does not fit.
    fn omitted_heading(&self, heading: &Block) -> Option<OmittedItem> {
        let is_limit = |reason: &&Reason| matches!(reason, Reason::Allowance { .. } | Reason::Budget { .. });
        let reason = match self.out.iter().flatten().find(is_limit)? {
            Reason::Budget { .. } => Reason::Budget { free: 0 },
            reason => reason.clone(),
        };
        let remedy = ("budget-up".to_owned(), "raises the budget".to_owned());
        Some(OmittedItem { tokens: 0, ..OmittedItem::of(heading, reason, remedy) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::admission::laws_tests::{Found, input, offered};
    use crate::domain::planning::policy::PolicySpec;

    /// The heading takes 3 tokens and what follows the last card 2; the third number is the additional tokens of a card
    /// if the previous card is not sent.
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
            let offer = offered(&input, found, OfferLimit::Room);
            let decided = OfferDecision {
                level: u32::MAX,
                turns: found.iter().map(|(turn, ..)| *turn).collect(),
                companions: companions(&offer.candidates),
                out: vec![None; found.len()],
                summed: vec![None; found.len()],
                offer: &offer,
            };
            assert_eq!(decided.max_cost(), most, "{found:?}");
            assert!([true, false].iter().all(|goes| decided.cost(&|_| *goes) <= most), "{found:?}");
        }
    }
}
