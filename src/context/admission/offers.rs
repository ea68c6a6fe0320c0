//! Admits the candidates that sources offer in addition to the turns, and determines their cost for each start of the
//! window, their blocks, and the reasons of candidates that are left out.
//! Not for: finding candidates (`engine`), the window (`window`), or the room for offers (`admit`).
//!
//! Offers come after everything required and never block a call. Rules, module summaries, and the map of the code take
//! free room, each offer up to its limit; retrieved candidates share the mode's allowance, in the order of their
//! offers. A candidate that repeats a turn costs nothing while that turn is in the window, so a single search for the
//! start of the window weighs both, and tokens that candidates do not spend go to turns. The text of a candidate
//! depends on what is sent before it, so its form is chosen after the candidates are.

use super::admit::AllowanceUse;
use super::choose::SESSION_LEVEL;
use super::coverage::{LIST, SummaryCoverage};
use super::sequence::{OfferTexts, SentCandidate, Sequence};
use crate::domain::conversation::Atom;
use crate::domain::planning::Reason;
use crate::domain::planning::{
    Block, Candidate, Mode, Offer, OfferLimit, OmittedItem, PlanInput, Preceding, RowKind, Section,
};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// An offer and the decisions about its candidates.
struct OfferDecision<'a> {
    offer: &'a Offer,
    texts: OfferTexts<'a>,
    /// The most tokens that its limit allows.
    most: u32,
    /// Tokens left by its priority level, for an offer that does not spend the allowance.
    level: u32,
    /// For each candidate: the index of the turn that contains the same text.
    turns: Vec<Option<usize>>,
    /// The candidates that are admitted together, in the order in which they are tried.
    groups: Rc<[Vec<usize>]>,
    /// For each candidate: the index of its group.
    group_of: Vec<usize>,
    /// The maximum tokens that a candidate takes less after another than alone.
    saving: u32,
    /// For each candidate: why it was not admitted; `None` if it was.
    out: Vec<Option<Reason>>,
    /// For each candidate that is not code and whose turn a summary covers: that as a reason, and whether the turn
    /// contains something that the question names and the summary lacks.
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
        // A summary replaces the messages of a turn, but not the code that the turn also contains.
        let replaces = |one: &Candidate| one.block.kind != RowKind::Code;
        let covers = |one: &Candidate| {
            let turn = *places.get(&one.turn.filter(|_| replaces(one))?)?;
            Some((input.superseded(summed.by[turn]?), summed.lacks[turn]))
        };
        let decided = input.offers.iter().map(|offer| OfferDecision {
            turns: offer.candidates.iter().map(|one| places.get(&one.turn?).copied()).collect(),
            summed: offer.candidates.iter().map(covers).collect(),
            ..OfferDecision::new(offer, input.allowance)
        });
        Self { decided: decided.collect(), kept: 0, spare: summed.spare }
    }

    /// Admits offers that do not spend the allowance, with at most `session` tokens in the session level. Returns the
    /// tokens taken.
    pub(in crate::context) fn by_room(&mut self, room: u32, mut session: u32) -> u32 {
        let mut left = room;
        for decided in self.decided.iter_mut().filter(|decided| !decided.offer.limit.is_of_allowance()) {
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
    pub(in crate::context) fn by_allowance(&mut self, how: AllowanceUse, allowance: u32, room: u32) -> u32 {
        if let AllowanceUse::KeptFree(tokens) = how {
            self.kept = tokens.min(room);
            return self.kept;
        }
        let (mut left, mut free) = (allowance, room);
        for decided in self.decided.iter_mut().filter(|decided| decided.offer.limit.is_of_allowance()) {
            let taken = decided.admit(decided.most.min(left).min(free), &mut self.spare);
            (left, free) = (left - taken, free - taken);
        }
        room - free
    }

    /// Admits more candidates once it is known which turns are sent: candidates that repeat those turns cost nothing,
    /// so more may fit into the rest of the allowance and into `free` tokens. Records for all others how much room
    /// there was. Returns the tokens taken.
    pub(in crate::context) fn settle(&mut self, is_sent: &dyn Fn(usize) -> bool, allowance: u32, free: u32) -> u32 {
        let retrieved = self.decided.iter().filter(|decided| decided.offer.limit.is_of_allowance());
        let spent = retrieved.fold(0_u32, |sum, decided| sum.saturating_add(decided.cost(is_sent)));
        let (mut left, mut now) = (allowance.saturating_sub(spent), free);
        for decided in &mut self.decided {
            let taken = decided.admit_more(is_sent, left, now);
            left -= if decided.offer.limit.is_of_allowance() { taken } else { 0 };
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
        let repeated = |decided: &OfferDecision<'_>| -> Vec<usize> {
            decided
                .admitted()
                .flat_map(|at| &decided.groups[decided.group_of[at]])
                .filter_map(|at| decided.turns[*at])
                .collect()
        };
        let repeated: BTreeSet<usize> = self.decided.iter().flat_map(repeated).collect();
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

/// Returns a predicate that tells whether candidates with a given total of tokens are enough to choose `most` tokens
/// from, so that a source need not compose more: one and a half times what may be sent, or what the smallest mode that
/// searches may send.
pub fn enough_within(most: u32) -> impl Fn(u32) -> bool {
    let most = most.max(Mode::Light.limits(u32::MAX).retrieval_tokens);
    move |composed| composed >= most.saturating_add(most / 2)
}

/// Admits the candidates of one offer beside no turns, in at most this many tokens. Also returns the index of each
/// candidate that is left out, with the tokens that it lacks, best first.
pub fn within(offer: &Offer, tokens: u32) -> (Vec<SentCandidate>, Vec<(usize, u32)>) {
    let (mut decided, nothing) = (OfferDecision::new(offer, tokens), |_: usize| false);
    decided.admit(tokens, &mut 0);
    let sequence = decided.sequence(&nothing);
    let mut left_out = Vec::new();
    for group in Rc::clone(&decided.groups).iter() {
        if decided.out[group[0]].is_some() && !offer.candidates[group[0]].extends {
            let needed = decided.texts.tokens(&decided.with(&sequence, group, &nothing));
            left_out.extend(group.iter().map(|at| (*at, needed.saturating_sub(tokens))));
        }
    }
    (decided.texts.sent(&sequence).map(|(sent, _)| sent).collect(), left_out)
}

impl<'a> OfferDecision<'a> {
    /// Creates a decision with nothing admitted, for an offer that repeats no turn.
    fn new(offer: &'a Offer, allowance: u32) -> Self {
        let all = &offer.candidates;
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|at| (all[*at].order, *at));
        let groups: Rc<[Vec<usize>]> = order.chunk_by(|a, b| all[*a].order == all[*b].order).map(Vec::from).collect();
        let mut group_of = vec![0; all.len()];
        for (number, group) in groups.iter().enumerate() {
            for at in group {
                group_of[*at] = number;
            }
        }
        let tokens = |one: &Candidate| one.text(Preceding::Other, false).1.saturating_sub(least(one));
        Self {
            offer,
            texts: OfferTexts::new(offer),
            most: offer.limit.tokens(allowance),
            level: u32::MAX,
            turns: vec![None; all.len()],
            summed: vec![None; all.len()],
            groups,
            group_of,
            saving: all.iter().map(tokens).max().unwrap_or_default(),
            out: vec![Some(Reason::Budget { free: 0 }); all.len()],
        }
    }

    /// Admits candidates in their order while all of them together take at most `most` tokens, regardless of which
    /// turns are sent. Returns the tokens taken. Candidates whose turn a summary covers draw on `spare` as well.
    fn admit(&mut self, most: u32, spare: &mut u32) -> u32 {
        let (mut sequence, mut taken) = (Sequence::default(), 0);
        for group in Rc::clone(&self.groups).iter() {
            if !self.may_fit(group, most - taken) {
                continue;
            }
            let next = self.with(&sequence, group, &|_| false);
            let cost = self.texts.tokens(&next);
            let covered: Vec<bool> =
                group.iter().filter_map(|at| self.summed[*at].as_ref()).map(|(_, lacks)| *lacks).collect();
            let allowed = covered.iter().all(|lacks| *lacks && cost.saturating_sub(taken) <= *spare);
            if cost <= most && allowed {
                *spare -= if covered.is_empty() { 0 } else { cost.saturating_sub(taken) };
                (sequence, taken) = (next, cost);
                self.set_admitted(group);
            }
        }
        taken
    }

    fn set_admitted(&mut self, group: &[usize]) {
        for at in group {
            self.out[*at] = None;
        }
    }

    /// Returns whether candidates that are left out may fit into this room: a quick check before their cost is added
    /// up. A candidate that extends another needs that one.
    fn may_fit(&self, group: &[usize], room: u32) -> bool {
        let all = &self.offer.candidates;
        if self.out[group[0]].is_none() {
            return false;
        }
        if all[group[0]].extends {
            return self.out[self.base(group[0])].is_none();
        }
        let tokens =
            group.iter().fold(0_u32, |sum, at| sum.saturating_add(least(&all[*at]).saturating_sub(self.saving)));
        tokens <= room
    }

    /// Returns the first candidate of the same item.
    fn base(&self, at: usize) -> usize {
        self.texts.items.partition_point(|item| *item < self.texts.items[at])
    }

    /// Admits more candidates that repeat no turn, within the rest of the allowance and the room.
    fn admit_more(&mut self, is_sent: &dyn Fn(usize) -> bool, left: u32, free: u32) -> u32 {
        let mut sequence = self.sequence(is_sent);
        let before = self.texts.tokens(&sequence);
        let most = self.allowed(before, left).min(free);
        let mut taken = 0;
        for group in Rc::clone(&self.groups).iter() {
            let covered = group.iter().any(|at| self.summed[*at].is_some());
            let room = most.saturating_sub(taken);
            if covered || self.is_repeated(group[0], is_sent) || !self.may_fit(group, room) {
                continue;
            }
            let next = self.with(&sequence, group, is_sent);
            let cost = self.texts.tokens(&next).saturating_sub(before);
            if cost <= most {
                (sequence, taken) = (next, cost);
                self.set_admitted(group);
            }
        }
        taken
    }

    /// Records why candidates are left out. The room reported for each excludes its heading and the candidates that
    /// come with it.
    fn record_reasons(&mut self, is_sent: &dyn Fn(usize) -> bool, left: u32, free: u32) {
        let sequence = self.sequence(is_sent);
        let before = self.texts.tokens(&sequence);
        let allowed = self.allowed(before, left);
        let is_out = |group: &&Vec<usize>| self.out[group[0]].is_some() && !self.offer.candidates[group[0]].extends;
        let most_rows = self.offer.most_rows.unwrap_or(usize::MAX);
        let left_out: Vec<Vec<usize>> = self.groups.iter().filter(is_out).take(most_rows).cloned().collect();
        for group in left_out {
            let needed = self.texts.tokens(&self.with(&sequence, &group, is_sent)).saturating_sub(before);
            for at in &group {
                let other_tokens = needed.saturating_sub(self.offer.candidates[*at].block.tokens);
                let reason = match (&self.summed[*at], self.offer.limit) {
                    (Some((reason, _)), _) => reason.clone(),
                    (None, OfferLimit::Allowance { .. }) if allowed <= free => Reason::Allowance { tokens: self.most },
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
        let allowed = self.level.min(self.most).saturating_sub(taken);
        if self.offer.limit.is_of_allowance() { allowed.min(left) } else { allowed }
    }

    /// Returns whether a candidate is left out because turns with the same text are sent: its own turn, and the turns
    /// of the candidates it belongs to.
    fn is_repeated(&self, at: usize, is_sent: &dyn Fn(usize) -> bool) -> bool {
        let group = &self.groups[self.group_of[at]];
        self.turns[at].is_some() && group.iter().all(|mate| self.turns[*mate].is_some_and(is_sent))
    }

    /// Returns whether an admitted candidate contains this one.
    fn is_part(&self, at: usize) -> bool {
        (at + 1..self.texts.items.len())
            .take_while(|next| self.texts.items[*next] == self.texts.items[at])
            .any(|next| self.out[next].is_none())
    }

    /// Returns the admitted candidates that are not sent as part of another.
    fn admitted(&self) -> impl Iterator<Item = usize> {
        (0..self.texts.items.len()).filter(|at| self.out[*at].is_none() && !self.is_part(*at))
    }

    /// Returns the candidates that are sent.
    fn sequence(&self, is_sent: &dyn Fn(usize) -> bool) -> Sequence {
        self.texts.sequence(self.admitted().filter(|at| !self.is_repeated(*at, is_sent)).collect())
    }

    /// Returns the sequence with the candidates of a group, which are not admitted yet.
    fn with(&self, before: &Sequence, group: &[usize], is_sent: &dyn Fn(usize) -> bool) -> Sequence {
        let mut sequence = before.clone();
        for at in group.iter().filter(|at| !self.is_part(**at)) {
            self.texts.place(&mut sequence, *at, !self.is_repeated(*at, is_sent));
        }
        sequence
    }

    /// Returns the tokens of the candidates that are sent. They are most if no turn is sent: a candidate that is not
    /// sent frees at least the tokens that the next one takes in addition.
    fn cost(&self, is_sent: &dyn Fn(usize) -> bool) -> u32 {
        self.texts.tokens(&self.sequence(is_sent))
    }

    fn blocks(&self, is_sent: &dyn Fn(usize) -> bool) -> Vec<Block> {
        let sequence = self.sequence(is_sent);
        let heading = self.offer.heading.as_ref().filter(|_| !sequence.sent.is_empty());
        let heading = heading.map(|heading| numbered(heading, sequence.sent.len()));
        let each = self.texts.sent(&sequence).map(|(one, text)| {
            let block = self.offer.candidates[one.at].block.clone();
            Block { text, tokens: one.tokens, ..block }
        });
        heading.into_iter().chain(each).collect()
    }

    fn omitted(&self, is_sent: &dyn Fn(usize) -> bool) -> Vec<OmittedItem> {
        let is_repeated = |at: usize| self.is_repeated(at, is_sent).then_some(Reason::Duplicate);
        let reason = |at: usize| is_repeated(at).or_else(|| self.out[at].clone());
        let all = &self.offer.candidates;
        let mut order: Vec<usize> = (0..all.len()).filter(|at| !all[*at].extends).collect();
        if self.offer.most_rows.is_some() {
            order.sort_by_key(|at| all[*at].order);
        }
        let each = order
            .into_iter()
            .filter_map(|at| Some(OmittedItem::of(&all[at].block, reason(at)?, all[at].remedy.clone())));
        let each = each.chain(self.offer.others.iter().cloned());
        let mut omitted: Vec<OmittedItem> = each.take(self.offer.most_rows.unwrap_or(usize::MAX)).collect();
        let heading = self.offer.heading.as_ref().filter(|_| self.sequence(is_sent).sent.is_empty());
        omitted.extend(heading.and_then(|heading| self.omitted_heading(heading)));
        omitted
    }

    /// Returns the row of the heading if no candidate is sent and one of them lacked room, with the reason of the best of
    /// those that lacked room or that a summary replaces: what was found does not fit, or is in the summary.
    fn omitted_heading(&self, heading: &Block) -> Option<OmittedItem> {
        let is_limit = |reason: &&Reason| matches!(reason, Reason::Allowance { .. } | Reason::Budget { .. });
        let mut reasons = self.groups.iter().filter_map(|group| self.out[group[0]].as_ref());
        let limit = reasons.clone().find(is_limit)?;
        let reason = match reasons.find(|one| *one == limit || matches!(one, Reason::Superseded { .. }))? {
            Reason::Budget { .. } => Reason::Budget { free: 0 },
            reason => reason.clone(),
        };
        let replaced = matches!(reason, Reason::Superseded { .. });
        let (action, does) = if replaced { LIST } else { ("budget-up", "raises the budget") };
        let remedy = (action.to_owned(), does.to_owned());
        let heading = numbered(heading, self.texts.items.last().copied().unwrap_or_default());
        Some(OmittedItem { tokens: 0, ..OmittedItem::of(&heading, reason, remedy) })
    }
}

/// Returns the fewest tokens that a candidate takes.
fn least(one: &Candidate) -> u32 {
    one.texts.iter().map(|(_, tokens)| *tokens).min().unwrap_or_default()
}

/// Returns the heading of a search with the number of items that it found.
fn numbered(heading: &Block, items: usize) -> Block {
    let title =
        if heading.kind == RowKind::Search { format!("{items} {}", heading.title) } else { heading.title.clone() };
    Block { title, ..heading.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::admission::laws_tests::{Found, input, offered};
    use crate::domain::base::Hash;
    use crate::domain::planning::policy::PolicySpec;

    /// The heading of a search of which nothing is sent has the reason of the best candidate that was decided on room or
    /// on a summary.
    #[test]
    fn the_heading_names_the_summary_that_replaces_what_was_found() {
        let input = input(&[[1; 3]], PolicySpec::default(), 100);
        let offer = offered(&input, &[(None, 5, 0), (None, 10, 4)], OfferLimit::Room);
        let (summary, room) = (Reason::Superseded { by: Hash([9; 32]), turns: None }, Reason::Budget { free: 3 });
        let heading = |out: [Option<&Reason>; 2]| {
            let out = out.map(Option::<&Reason>::cloned).into();
            let decided = OfferDecision { out, ..OfferDecision::new(&offer, 0) };
            let omitted = decided.omitted(&|_| false);
            omitted.into_iter().find(|item| item.kind == RowKind::Search).map(|item| (item.reason, item.remedy.0))
        };
        let named = |reason: &Reason, action: &str| Some((reason.clone(), action.to_owned()));
        assert_eq!(heading([Some(&summary), Some(&room)]), named(&summary, "capsules"));
        assert_eq!(heading([Some(&room), Some(&summary)]), named(&Reason::Budget { free: 0 }, "budget-up"));
        assert_eq!(heading([Some(&Reason::Duplicate), Some(&summary)]), None);
        assert_eq!(heading([Some(&Reason::Duplicate); 2]), None);
    }

    /// The heading takes 3 tokens and what follows the last card 2; the third number is the additional tokens of a card
    /// if the previous card is not sent.
    #[test]
    fn offers_cost_most_if_no_turn_is_sent() {
        let found: [(&[Found], u32); 5] = [
            (&[], 0),
            (&[(None, 5, 4)], 3 + 9 + 2),
            (&[(None, 5, 0), (None, 10, 4)], 3 + 5 + 10 + 2),
            (&[(None, 5, 0), (Some(0), 10, 4)], 3 + 5 + 10 + 2),
            (&[(Some(0), 5, 0), (None, 10, 4)], 3 + 5 + 10 + 2),
        ];
        let input = input(&[[1; 3]], PolicySpec::default(), 100);
        for (found, most) in found {
            let offer = offered(&input, found, OfferLimit::Room);
            let turns = found.iter().map(|(turn, ..)| *turn).collect();
            let decided = OfferDecision { turns, out: vec![None; found.len()], ..OfferDecision::new(&offer, 0) };
            assert_eq!(decided.cost(&|_| false), most, "{found:?}");
            assert!(decided.cost(&|_| true) <= most, "{found:?}");
        }
    }
}
