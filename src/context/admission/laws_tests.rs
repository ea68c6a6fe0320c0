//! Laws of the window and of admission on purely numeric inputs, exact at every boundary because the numbers are small.
//! Not for: what is rendered from a plan (`tests/it/context/laws.rs`).

use super::admit::{self, Admitted};
use super::coverage::SummaryCoverage;
use super::forms::{Marks, cost_of, tokens_in, turn_cost};
use super::framing::Reserved;
use super::leases::Leases;
use super::position::RowPosition;
use super::sequence::{OfferTexts, Sequence};
use super::state_request;
use super::window::{self, CLOSED_RESULT, Costs, Window};
use crate::context::{explain, render};
use crate::domain::base::cases::cases;
use crate::domain::base::{Fields, Hash};
use crate::domain::call::{Certainty, Dialect, Encoding};
use crate::domain::conversation::{Actor, Atom, Mark, MarkKind, Role};
use crate::domain::planning::input::{CALL_FRAMING, MESSAGE_FRAMING};
use crate::domain::planning::{
    Adaptive, Anchor, Basis, Block, Budget, Candidate, CoveredTurn, Form, Gap, Item, Layout, MessageInput, Milli, Mode,
    Offer, OfferLimit, PlanInput, PolicySpec, RequestShape, Row, RowKind, Section, SendBarrier, Source, SummaryInput,
    TurnFacts, TurnInput, TurnSelection, Verdict,
};
use crate::domain::planning::{BlockedRemedy, Reason};
use proptest::prelude::*;

pub(in crate::context) fn key(turn: usize, message: usize) -> Hash {
    Fields::new("law").number(turn as u64).number(message as u64).finish()
}

fn atom(turn: usize) -> Atom {
    Atom::Turn { user: key(turn, 0), tip: key(turn, 2) }
}

/// A question, a call and its result: `[question, whole result, cut result]`.
type Sizes = [u32; 3];

fn turn(number: usize, [asked, whole, cut]: Sizes) -> TurnInput {
    let plain = |at, role, tokens| MessageInput::plain(key(number, at), role, String::new(), tokens);
    let call = MessageInput { calls: 1, elided: Some(4), ..plain(1, Role::Assistant, 5) };
    let result = MessageInput { cuts: vec![(CLOSED_RESULT, cut)], ..plain(2, Role::Tool, whole) };
    TurnInput {
        atom: atom(number),
        number: u32::try_from(number + 1).unwrap(),
        title: String::new(),
        source: Source::default(),
        messages: vec![plain(0, Role::User, asked), call, result],
        card: Some((Hash::default(), asked)),
        facts: TurnFacts::default(),
    }
}

pub(in crate::context) fn input(turns: &[Sizes], policy: PolicySpec, prompt: u32) -> PlanInput {
    let zero = Hash::default();
    let open = MessageInput::plain(key(turns.len(), 0), Role::User, String::new(), 9);
    let dialect = Dialect::default();
    PlanInput {
        basis: Basis { head: zero, marks: zero, draft: zero, wire: zero, frozen: zero },
        policy,
        window_turns: 0,
        mode: Mode::Light,
        layout: Layout::Classic,
        profile: String::new(),
        shape: RequestShape { model: String::new(), dialect, max_output: None, temperature: None, tools: Vec::new() },
        tools_tokens: 0,
        tool_costs: Vec::new(),
        encoding: Encoding::Approximate,
        certainty: Certainty::Estimated,
        budget: Budget {
            context_window: prompt,
            reserved_output: 0,
            safety: 0,
            prompt,
            cap: None,
            input_limit: None,
            results: 0,
        },
        blocks: Vec::new(),
        state_request: None,
        always_asks: false,
        turns: turns.iter().enumerate().map(|(at, sizes)| turn(at, *sizes)).collect(),
        gaps: Vec::new(),
        open: TurnInput { messages: vec![open], ..turn(turns.len(), [0; 3]) },
        labeled: 0,
        marks: Vec::new(),
        inactive_marks: Vec::new(),
        near: Vec::new(),
        offers: Vec::new(),
        allowance: 0,
        retrieval_set_ids: Vec::new(),
        summaries: Vec::new(),
        covered: Vec::new(),
        anchor: None,
        round_before: None,
        warnings: Vec::new(),
    }
}

/// The cost of each turn in full, cut and elided, and of what is always sent.
#[derive(Debug)]
struct Table {
    turns: Vec<[u32; 3]>,
    fixed: u32,
    summed: usize,
}

const FORMS: [Form; 3] = [Form::Full, Form::Cut(CLOSED_RESULT), Form::Elided];

impl Costs for Table {
    fn total(&self, start: usize, shortened: usize, form: Form) -> u32 {
        let rank = FORMS.iter().position(|other| *other == form).unwrap();
        let of = |at: usize| self.turns[at][if at < shortened { rank } else { 0 }];
        self.fixed + (start..self.turns.len()).map(of).sum::<u32>()
    }

    fn summed(&self) -> usize {
        self.summed
    }

    fn newest(&self) -> Option<usize> {
        self.turns.iter().rposition(|[full, ..]| *full > 0)
    }
}

/// Returns all windows from `low` on, best first: all turns, with as little shortening as possible; else as many turns
/// as fit, with as much shortening as possible.
fn wanted(low: usize, turns: usize, forms: &[Form]) -> Vec<(usize, Form)> {
    let all = forms.iter().map(|form| (low, *form));
    let fewer = forms.iter().rev().flat_map(|form| (low..=turns).map(|start| (start, *form)));
    all.chain(fewer).collect()
}

fn policy() -> impl Strategy<Value = PolicySpec> {
    let numbers = (any::<bool>(), any::<bool>(), 0_u32..=110, 0_u32..60);
    numbers.prop_map(|(anchored, shorten_tools, refill_percent, leased_cap_tokens)| PolicySpec {
        name: "law".into(),
        anchored,
        shorten_tools,
        refill_percent,
        leased_cap_tokens,
        ..PolicySpec::default()
    })
}

fn costs() -> impl Strategy<Value = Table> {
    let turn = (0_u32..6, 0_u32..6, 0_u32..6).prop_map(|(a, b, c)| [a + b + c, a + b, a]);
    (prop::collection::vec(turn, 0..7), 0_u32..5, 0_usize..8).prop_map(|(turns, fixed, summed)| Table {
        turns,
        fixed,
        summed: summed.saturating_sub(5),
    })
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn the_window_is_the_best_that_fits(
        table in costs(),
        policy in policy(),
        room in 0_u32..50,
        reach in 0_u32..8,
        gap in prop::option::of(0_usize..7),
        at in (0_usize..8, 0_usize..8, 0_usize..3),
    ) {
        let turns = table.turns.len();
        let forms = if policy.shorten_tools { &FORMS[..] } else { &FORMS[..1] };
        let mut input = input(&vec![[0; 3]; turns], policy, 50);
        input.window_turns = reach;
        input.gaps.extend(gap.map(|before| Gap { before, range: (key(90, 0), key(90, 1)), turns: 3, tokens: 1, elsewhere: false, from: 1 }));
        let floor = if reach == 0 { 0 } else { turns.saturating_sub(reach as usize) };
        let floor = floor.max(gap.unwrap_or(0)).max(table.summed).min(turns);
        prop_assert_eq!(window::floor(&input, table.summed), floor);
        let table = &table;
        let fits = |most: u32| move |(start, form): &(usize, Form)| table_total(table, *start, *form) <= most;
        let least = (floor..=turns).flat_map(|start| forms.iter().map(move |form| (start, *form)));
        let least = least.map(|(start, form)| table_total(table, start, form)).min().unwrap();
        prop_assert_eq!(window::least(&input, table), least);
        let new = |(start, form): (usize, Form), refilled: bool| {
            Window { start, shortened: if form == Form::Full { 0 } else { turns }, form, floor, refilled }
        };
        // The newest turn stays while it fits, in whatever form.
        let with_newest = |(start, form): (usize, Form)| {
            let newest = table.newest().filter(|newest| (floor..start).contains(newest));
            let alone = newest.and_then(|at| forms.iter().rev().map(|form| (at, *form)).find(fits(room)));
            alone.unwrap_or((start, form))
        };
        let fresh = wanted(floor, turns, forms).into_iter().find(fits(room)).unwrap_or((turns, Form::Full));
        let fresh = with_newest(fresh);
        prop_assert_eq!(window::choose(&input, table, room), new(fresh, false), "without an anchor");

        // The anchor that a plan leaves is read back as the same window.
        let old = Window { start: at.0.min(turns), shortened: at.1.min(turns), form: forms[at.2 % forms.len()], floor: 0, refilled: false };
        input.anchor = window::anchor(&input, old, &[]);
        prop_assert_eq!(input.anchor.is_some(), input.policy.anchored);
        let Some(left) = input.anchor.clone() else { return Ok(()) };
        let old = Window { start: old.start.max(floor), floor, ..old };
        let chosen = window::choose(&input, table, room);
        let rest = (old.start..=turns).flat_map(|start| forms.iter().map(move |form| (start, *form)));
        let rest = rest.map(|(start, form)| table_total(table, start, form)).min().unwrap();
        let target = |rest: u32| rest + (room - rest) * input.policy.refill_percent.min(100) / 100;
        if table.total(old.start, old.shortened, old.form) <= room {
            let reaches = |start: &usize| table.total(*start, old.shortened, old.form) <= target(rest);
            let further = (floor..old.start).find(reaches);
            let expected = further.map_or(old, |start| Window { start, refilled: true, ..old });
            let alone = with_newest((expected.start, expected.form));
            let expected = if alone.0 == expected.start { expected } else { new(alone, expected.refilled) };
            prop_assert_eq!(chosen, expected, "it stays while it fits and is full enough");
        } else if rest > room {
            prop_assert_eq!(chosen, new(fresh, false), "the anchor leaves no way");
        } else {
            let most = target(rest);
            let best = wanted(old.start, turns, forms).into_iter().skip(1).find(fits(most)).unwrap();
            // Where shortening results is enough, older turns come back too.
            let further = (floor..old.start).find(|start| best.0 == old.start && fits(most)(&(*start, best.1)));
            let best = with_newest((further.unwrap_or(best.0), best.1));
            prop_assert_eq!(chosen, new(best, true), "it is cut back to {}", most);
        }
        for other in [
            Anchor { budget: left.budget + 1, ..left.clone() },
            Anchor { policy: "another".into(), ..left.clone() },
            Anchor { form: if forms.len() == 1 { Form::Elided } else { Form::Card }, ..left.clone() },
            Anchor { start: key(99, 9), ..left },
        ] {
            input.anchor = Some(other);
            prop_assert_eq!(window::choose(&input, table, room), new(fresh, false), "an anchor of another call");
        }
    }

    /// Turns of this lane or of another, with the number of their messages that are sent.
    #[test]
    fn a_lane_keeps_its_newest_messages_and_none_of_other_lanes(
        turns in prop::collection::vec((any::<bool>(), 0_usize..4), 0..8),
        messages in 0_u32..8,
    ) {
        let mut policy = PolicySpec { choose: TurnSelection::Lane, ..PolicySpec::default() };
        policy.lanes.messages = messages;
        let mut input = input(&vec![[1; 3]; turns.len()], policy, 1_000);
        for (turn, (own, sent)) in input.turns.iter_mut().zip(&turns) {
            turn.facts.lane = if *own { "" } else { "another" }.into();
            turn.messages.iter_mut().skip(*sent).for_each(|message| message.bar = Some(SendBarrier::Hidden));
        }
        let admitted = admit::admit(&input).ok().unwrap();
        let (mut messages_so_far, mut newest, mut full) = (0, true, false);
        for (at, (own, sent)) in turns.iter().enumerate().rev() {
            let mut expected = Some(Reason::OtherLane);
            if *own {
                messages_so_far += u32::try_from(*sent).unwrap();
                full |= messages_so_far > messages && !newest;
                newest = false;
                expected = full.then_some(Reason::LaneCount { messages });
            }
            let expected = expected.filter(|_| *sent > 0);
            prop_assert_eq!(admitted.choice.reason(at), expected.as_ref(), "turn {}", at);
        }
    }

    /// Turns of other lanes than the chosen one leave whatever the room, unless a person wants them; the last turns are
    /// counted in the lane alone; and what is missing of other lanes does not end the window.
    #[test]
    fn a_chosen_lane_is_the_window(
        turns in prop::collection::vec((any::<bool>(), prop::option::weighted(0.3, kind())), 0..8),
        wanted in 0_u32..5,
        on in any::<bool>(),
        gap in prop::option::of((0_usize..8, any::<bool>())),
    ) {
        let policy = PolicySpec { lane_window: on, ..PolicySpec::default() };
        let mut input = input(&vec![[1; 3]; turns.len()], policy, 10_000);
        input.window_turns = wanted;
        for (turn, (own, _)) in input.turns.iter_mut().zip(&turns) {
            turn.facts.lane = if *own { "" } else { "another" }.into();
        }
        let marked = |at: usize| turns[at].1.map(|kind| mark(atom(at), kind));
        input.marks = (0..turns.len()).filter_map(marked).collect();
        let gap = gap.map(|(before, elsewhere)| (before.min(turns.len()), elsewhere));
        input.gaps.extend(gap.map(|(before, elsewhere)| Gap {
            before, range: (key(90, 0), key(90, 1)), turns: 3, tokens: 1, from: 1, elsewhere,
        }));
        let admitted = admit::admit(&input).ok().unwrap();
        let own = |at: &usize| !on || turns[*at].0;
        for at in 0..turns.len() {
            let other = (!own(&at)).then_some(&Reason::OutsideLane);
            prop_assert_eq!(admitted.choice.reason(at), other, "turn {}", at);
            let newer = (at..turns.len()).filter(own).count();
            let near = (wanted == 0 || newer <= wanted as usize) && gap.is_none_or(|(before, out)| out || before <= at);
            let place = admitted.places[at];
            match turns[at].1 {
                Some(kind) if kind.excludes() => prop_assert!(place.is_excluded()),
                Some(kind) if kind.includes() => prop_assert!(place.is_sent(), "turn {}: {:?}", at, place),
                _ if own(&at) => prop_assert_eq!(place == RowPosition::Window, near, "turn {}: {:?}", at, place),
                _ => prop_assert_eq!(place, RowPosition::Outside),
            }
        }
    }

    #[test]
    fn a_lease_goes_while_its_cap_and_the_room_last(
        (cap, room, total) in (0_u32..12, 0_u32..25, 0_u32..12),
        asked in prop::collection::vec(0_u32..10, 0..6),
    ) {
        let mut leases = Leases { cap, room, total, taken: 0 };
        let (mut taken, mut sum) = (0, total);
        for tokens in asked {
            let place = leases.place(tokens);
            let capped = taken + tokens > cap;
            if capped || sum + tokens > room {
                prop_assert_eq!(place, RowPosition::NoLease { capped });
            } else {
                prop_assert_eq!(place, RowPosition::Card(Section::LeasedPins));
                (taken, sum) = (taken + tokens, sum + tokens);
            }
            prop_assert_eq!((leases.taken, leases.total), (taken, sum));
        }
    }

    #[test]
    fn admitted_items_are_counted_and_fit(
        turns in prop::collection::vec([1_u32..20, 1_u32..60, 1_u32..60], 0..5),
        marks in prop::collection::vec(prop::option::of(kind()), 5),
        blocks in prop::collection::vec((1_u32..20, any::<bool>()), 0..3),
        policy in policy(),
        room in 0_u32..450,
        at in (0_usize..6, 0_usize..6, 0_usize..3),
    ) {
        let mut input = input(&turns, policy, room);
        input.marks = (0..turns.len()).filter_map(|at| marks[at].map(|kind| mark(atom(at), kind))).collect();
        input.blocks = blocks.iter().enumerate().map(|(at, (tokens, leased))| block(at, *tokens, *leased)).collect();
        let (start, shortened) = (at.0.min(turns.len()), at.1.min(turns.len()));
        let old = Window { start, shortened, form: FORMS[at.2], floor: 0, refilled: false };
        input.anchor = window::anchor(&input, old, &[]);
        match admit::admit(&input) {
            Ok(admitted) => {
                prop_assert_eq!(admitted.total, counted(&input, &admitted));
                prop_assert!(admitted.total <= room, "{} > {room}", admitted.total);
                prop_assert_eq!(admitted.free(), room - admitted.total);
                let refused = admitted.places.iter().chain(admitted.leases.iter().flatten());
                let capped = refused.filter(|place| matches!(place, RowPosition::NoLease { capped: true })).count();
                prop_assert!(capped == 0 || input.policy.leased_cap_tokens < 60);
            }
            Err(blocked) => {
                prop_assert!(blocked.needed > room);
                let rows: u32 = blocked.rows.iter().map(row_cost).sum();
                let framing = Reserved::new(&input, &Marks::new(&input.marks), &SummaryCoverage::default()).required;
                prop_assert_eq!(rows + framing, blocked.needed, "its rows are what it needs: {:?}", blocked.rows);
                let remedy = blocked.choices.iter().find_map(|choice| match choice {
                    BlockedRemedy::Unpin { atoms, frees, .. } => Some((&atoms[..], *frees)),
                    _ => None,
                });
                let (atoms, frees) = remedy.unwrap_or_default();
                let without = |atoms: &[Atom], prompt: u32| {
                    let mut unpinned = input.clone();
                    unpinned.marks.retain(|mark| !atoms.contains(&mark.target));
                    unpinned.blocks.retain(|block| block.atom.is_none_or(|atom| !atoms.contains(&atom)));
                    unpinned.budget.prompt = prompt;
                    admit::admit(&unpinned).map(drop)
                };
                let rest = without(atoms, 0).err().map(|rest| rest.needed);
                prop_assert_eq!(rest, Some(blocked.needed - frees), "unpinning frees what it says");
                let pins = input.marks.iter().filter(|mark| mark.kind == MarkKind::Sticky || mark.kind == MarkKind::IncludeOnce);
                let all: Vec<Atom> = pins.map(|mark| mark.target).chain(input.blocks.iter().filter_map(|block| block.atom)).collect();
                prop_assert!(without(atoms, room).is_ok() || without(&all, room).is_err(), "it fits if unpinning can make it fit");
                let others = |at: usize| atoms.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, atom)| *atom).collect::<Vec<_>>();
                let is_needed = |at: usize| without(&others(at), room).is_err();
                prop_assert!(atoms.is_empty() || (0..atoms.len()).any(is_needed), "no mark more than needed");
                input.budget.prompt = blocked.needed;
                prop_assert!(admit::admit(&input).is_ok(), "what it needs is enough");
                input.budget.prompt = blocked.needed - 1;
                prop_assert!(admit::admit(&input).is_err(), "and no token less");
            }
        }
    }
}

/// Checks the rule that lets admission ignore which turns are sent: a candidate that leaves frees at least the tokens
/// that the next one then takes in addition. `is_sent` says which candidates are sent; of each item, the last of them.
pub(crate) fn assert_leaving_frees_enough(offer: &Offer, is_sent: &dyn Fn(usize) -> bool) {
    let (texts, mut all) = (OfferTexts::new(offer), Sequence::default());
    (0..offer.candidates.len()).filter(|at| is_sent(*at)).for_each(|at| texts.place(&mut all, at, true));
    let again = texts.sequence(all.sent.clone());
    assert_eq!(texts.tokens(&all), texts.tokens(&again), "added one by one: {:?}", all.sent);
    for at in &all.sent {
        let mut rest = all.clone();
        texts.place(&mut rest, *at, false);
        assert!(texts.tokens(&rest) <= texts.tokens(&all), "without {at}: {:?}", all.sent);
    }
}

/// A card: its turn (`None` if too old for the window), its tokens, and its extra tokens when nothing precedes it. A
/// card takes at least the extra tokens of the next one, so that removing it never makes the cards larger.
pub(in crate::context) type Found = (Option<usize>, u32, u32);

/// Tokens after the last card.
const TAIL: u32 = 2;

pub(in crate::context) fn offered(input: &PlanInput, found: &[Found], limit: OfferLimit) -> Offer {
    let block = |at: usize, tokens: u32, kind: RowKind| {
        let block =
            Block::new(Section::Retrieved, kind, (key(300, at), tokens), "found", Reason::Retrieved { rank: 1 });
        Block { atom: Some(Atom::Message { node: key(300, at) }), ..block }
    };
    let candidates = found.iter().enumerate().map(|(at, (turn, tokens, alone))| {
        let one = Candidate::plain(block(at, *tokens, RowKind::Card), u32::try_from(at * 7 % 17).unwrap(), ("", ""));
        let texts = [0, TAIL, *alone, alone + TAIL, *alone, alone + TAIL].map(|more| (one.block.text, tokens + more));
        let turn = turn.and_then(|turn| input.turns.get(turn)).map(|turn| turn.atom);
        Candidate { texts, turn, ..one }
    });
    let candidates = candidates.collect();
    Offer::new(Some(block(99, 3, RowKind::Search)), candidates, limit)
}

proptest! {
    #![proptest_config(cases(500))]

    /// Retrieved candidates spend no more than the allowance, never block a call, repeat no turn, and leave the rest to
    /// the window: as long as the next older turn fits, it is sent.
    #[test]
    fn unspent_allowance_goes_to_turns(
        turns in prop::collection::vec([1_u32..20, 1_u32..60, 1_u32..60], 0..7),
        mut found in prop::collection::vec((prop::option::of(0_usize..7), 5_u32..60, 0_u32..5), 0..8),
        rules in prop::collection::vec(1_u32..60, 0..3),
        (allowance, most, share) in (0_u32..200, 0_u32..200, 0_u32..200),
        marks in prop::collection::vec(prop::option::weighted(0.2, prop_oneof![Just(MarkKind::Sticky), Just(MarkKind::Exclude)]), 7),
        policy in policy(),
        room in 0_u32..600,
    ) {
        let mut input = input(&turns, policy, room);
        input.allowance = allowance;
        input.marks = (0..turns.len()).filter_map(|at| marks[at].map(|kind| mark(atom(at), kind))).collect();
        found.sort_unstable();
        let rules: Vec<Found> = rules.into_iter().map(|tokens| (None, tokens, 0)).collect();
        let (ruled, searched) = (OfferLimit::Share(share), OfferLimit::Allowance { parts: most, of: allowance });
        input.offers = vec![offered(&input, &rules, ruled), offered(&input, &found, searched)];
        let bare = PlanInput { offers: Vec::new(), ..input.clone() };
        let Ok(admitted) = admit::admit(&input) else {
            prop_assert!(admit::admit(&bare).is_err(), "what is offered blocks no call");
            return Ok(());
        };
        let sent = admitted.offered();
        let took: u32 = sent.iter().map(|block| block.tokens).sum();
        prop_assert_eq!(admitted.total, counted(&input, &admitted) + took);
        prop_assert!(admitted.total <= room, "{} > {room}", admitted.total);
        let by_rules = PlanInput { offers: input.offers[..1].to_vec(), ..input.clone() };
        let by_rules: u32 = admit::admit(&by_rules).ok().unwrap().offered().iter().map(|block| block.tokens).sum();
        prop_assert!(took - by_rules <= allowance.min(most), "{took} of {allowance} and {most}");
        prop_assert!(by_rules <= share, "{by_rules} of {share}");
        let out = admitted.omitted_candidates();
        for (at, (turn, ..)) in found.iter().enumerate() {
            let is_turn_sent = turn.is_some_and(|turn| turn < turns.len() && admitted.places[turn].is_sent());
            let rows = out.iter().filter(|candidate| candidate.atom == Atom::Message { node: key(300, at) });
            let duplicates = rows.filter(|candidate| candidate.reason == Reason::Duplicate).count();
            prop_assert_eq!(duplicates, usize::from(is_turn_sent), "a turn that goes is not quoted beside itself");
        }
        for (at, kind) in marks.iter().enumerate().take(turns.len()) {
            prop_assert!(*kind != Some(MarkKind::Sticky) || admitted.places[at].is_sent(), "pins come first");
        }
        let already_in = crate::context::already_in(&input, true).expect("it is not blocked");
        let unlimited = PlanInput { allowance: 0, ..input.clone() };
        let unlimited = crate::context::already_in(&unlimited, false).expect("it is not blocked");
        let is_displaceable = |row: &&Row| row.kind == RowKind::Turn && !already_in.closed.contains(&row.atom);
        let displaceable = unlimited.rows.iter().filter(is_displaceable).filter(|row| row.atom != input.open.atom);
        prop_assert!(displaceable.eq(&already_in.displaceable), "turns that leave for the allowance");
        for (at, turn) in input.turns.iter().enumerate() {
            prop_assert!(!already_in.closed.contains(&turn.atom) || admitted.places[at] != RowPosition::Outside, "less found, fewer turns");
        }
        let Window { start, shortened, form, floor, .. } = admitted.window;
        if start > floor && marks[start - 1].is_none() {
            let form = if start - 1 < shortened { form } else { Form::Full };
            let needs = turn_cost(&input.turns[start - 1], form, &admitted.marks);
            prop_assert!(needs > admitted.free(), "{needs} tokens would fit into {}", admitted.free());
            let quoted = took - admitted.offered_tokens(&|turn| turn + 1 == start || admitted.places[turn].is_sent());
            prop_assert!(needs > admitted.free() + quoted, "{needs} tokens cost less than the {quoted} tokens that quote the turn");
        }
    }
}

proptest! {
    #![proptest_config(cases(24))]

    /// A turn sent as a card is not quoted as well, and leases may use the tokens of the quotation.
    #[test]
    fn no_lease_waits_while_there_is_room_for_it(asked in 1_u32..9, quoted in 20_u32..60, note in 9_u32..40) {
        let policy = PolicySpec { leased_cap_tokens: 1_000, shorten_tools: false, ..PolicySpec::default() };
        let mut input = input(&[[asked, 900, 900]], policy, 0);
        input.marks = vec![mark(atom(0), MarkKind::Ephemeral)];
        input.blocks = vec![block(0, note, true)];
        input.offers = vec![offered(&input, &[(Some(0), quoted, 0)], OfferLimit::Room)];
        for room in 0..300 {
            input.budget.prompt = room;
            let Ok(admitted) = admit::admit(&input) else { continue };
            for (place, needs) in [(admitted.leases[0], note), (Some(admitted.places[0]), asked)] {
                let waits = matches!(place, Some(RowPosition::NoLease { .. }));
                let free = admitted.free_beside_framing();
                prop_assert!(!waits || needs > free, "{needs} tokens would fit into {free}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// What goes by itself (rules, the map, retrieved items) leaves before the newest turn, and both leave before a
    /// person's lease within the cap: what is left out would not fit without what is lower.
    #[test]
    fn what_goes_by_itself_leaves_first(
        turns in prop::collection::vec([1_u32..20, 1_u32..60, 1_u32..60], 1..7),
        found in prop::collection::vec((prop::option::of(0_usize..7), 5_u32..60, 0_u32..5), 0..6),
        rules in prop::collection::vec(1_u32..60, 0..3),
        marks in prop::collection::vec(prop::option::weighted(0.4, kind()), 7),
        leases in prop::collection::vec(1_u32..40, 0..3),
        policy in policy(),
        (room, allowance, cap, old) in (30_u32..400, 0_u32..200, 0_u32..120, prop::option::of((0_usize..8, 0_usize..3))),
    ) {
        let mut input = input(&turns, PolicySpec { leased_cap_tokens: cap, ..policy }, room);
        input.allowance = allowance;
        input.marks = (0..turns.len() - 1).filter_map(|at| marks[at].map(|kind| mark(atom(at), kind))).collect();
        input.blocks = leases.iter().enumerate().map(|(at, tokens)| block(at, *tokens, true)).collect();
        let rules: Vec<Found> = rules.into_iter().map(|tokens| (None, tokens, 0)).collect();
        let searched = OfferLimit::WHOLE_ALLOWANCE;
        input.offers = vec![offered(&input, &rules, OfferLimit::Room), offered(&input, &found, searched)];
        input.anchor = old.and_then(|(start, form)| {
            let window = Window { start: start.min(turns.len()), shortened: 0, form: FORMS[form], floor: 0, refilled: false };
            window::anchor(&input, window, &[])
        });
        let Ok(admitted) = admit::admit(&input) else { return Ok(()) };
        let took: u32 = admitted.offered().iter().map(|block| block.tokens).sum();
        let without_offers = counted(&input, &admitted);
        prop_assert_eq!(admitted.total, without_offers + took);
        let newest = turns.len() - 1;
        let shortest = turn_cost(&input.turns[newest], window::shortest_form(&input), &admitted.marks);
        let sent = admitted.places[newest].is_sent();
        prop_assert!(sent || took == 0 || without_offers + shortest > room, "the newest turn would fit instead of {took}");
        let in_window = (0..turns.len()).filter(|at| admitted.places[*at] == RowPosition::Window);
        let unmarked = in_window.filter(|at| admitted.marks.turn(&input.turns[*at]).is_none());
        let window: u32 = unmarked.map(|at| cost_of(&input.turns[at], &admitted.forms(at))).sum();
        let blocks = input.blocks.iter().zip(&admitted.leases).map(|(block, place)| (block.tokens, *place));
        let cards = input.turns.iter().zip(&admitted.places);
        let cards = cards.map(|(turn, place)| (turn.card.unwrap().1, Some(*place)));
        for (needs, _) in blocks.chain(cards).filter(|(_, place)| *place == Some(RowPosition::NoLease { capped: false })) {
            let reserved = admitted.free() - admitted.free_beside_framing();
            let others = without_offers - window + reserved;
            prop_assert!(others + needs > room, "a lease of {needs} would fit: {window} + {took}");
        }
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// A lease of the program is left out exactly while a turn with the same text is in the window, or if there is no room
    /// for it. Whatever a summary covers, the request is no larger with it, and a person's lease that was sent without it
    /// is sent with it.
    #[test]
    fn a_lease_is_sent_unless_a_turn_repeats_it(
        turns in prop::collection::vec([1_u32..20, 1_u32..60, 1_u32..60], 1..7),
        repeats in prop::collection::vec(prop::bool::weighted(0.3), 7),
        (engine, lease, covered, summary) in (any::<bool>(), 1_u32..40, 1_usize..7, 1_u32..80),
        policy in policy(),
        (room, cap) in (0_u32..500, 20_u32..80),
    ) {
        let mut input = input(&turns, PolicySpec { leased_cap_tokens: cap, ..policy }, room);
        let repeats: Vec<usize> = (0..turns.len()).filter(|at| engine && repeats[*at]).collect();
        let reason = Reason::Leased { left: 1, engine };
        input.blocks = vec![Block { reason, repeats: repeats.iter().map(|at| atom(*at)).collect(), ..block(0, lease, true) }];
        let bare = input.clone();
        let (by, text) = (key(400, 0), key(401, 0));
        input.summaries = vec![SummaryInput { by, text, named: false, elsewhere: false, lacks: false, older: false, turns: None }];
        input.covered =
            (0..covered.min(turns.len())).map(|at| CoveredTurn { user: key(at, 0), tip: key(at, 2), by, lacks: false }).collect();
        let summary = Block::new(Section::SessionSummary, RowKind::Summary, (text, summary), "summary", Reason::Summary);
        input.blocks.push(summary);
        let (with, without) = match (admit::admit(&input), admit::admit(&bare)) {
            (Ok(with), Ok(without)) => (with, without),
            (with, without) => {
                prop_assert!(with.is_err() && without.is_err(), "neither a summary nor a lease blocks a call");
                return Ok(());
            }
        };
        for one in [&with, &without] {
            let repeated = repeats.iter().any(|at| one.places[*at] == RowPosition::Window);
            prop_assert_eq!(one.leases[0] == Some(RowPosition::Repeated), repeated);
            let waits = matches!(one.leases[0], Some(RowPosition::NoLease { .. }));
            let free = one.free_beside_framing().min(cap);
            prop_assert!(!waits || lease > free, "{lease} tokens would fit into {free}");
        }
        prop_assert!(explain::size(&with) <= explain::size(&without));
        let is_card = |one: &Admitted<'_>| matches!(one.leases[0], Some(RowPosition::Card(_)));
        prop_assert!(engine || !is_card(&without) || is_card(&with), "a summary displaces a person's lease");
    }
}

/// A summary block with its input; it covers the turns that `covered` names.
fn summarize(input: &mut PlanInput, covered: &[bool], tokens: u32, named: bool) {
    let (by, text) = (key(400, 0), key(401, 0));
    input.summaries = vec![SummaryInput { by, text, named, elsewhere: false, lacks: false, older: false, turns: None }];
    let turns = (0..input.turns.len()).filter(|at| covered[*at]);
    input.covered = turns.map(|at| CoveredTurn { user: key(at, 0), tip: key(at, 2), by, lacks: false }).collect();
    let block = (Section::LaneSummary, RowKind::Summary, (text, tokens), "summary", Reason::Summary);
    input.blocks.push(Block::new(block.0, block.1, block.2, block.3, block.4));
}

proptest! {
    #![proptest_config(cases(1_000))]

    /// A policy by relevance leaves no turn of its window out that fits, also where marks displace a turn that it chose.
    #[test]
    fn a_policy_by_relevance_fills_its_target_beside_marks(
        turns in prop::collection::vec([1_u32..90, 1_u32..60, 1_u32..60], 1..9),
        marks in prop::collection::vec(prop::option::weighted(0.3, prop::bool::ANY), 9),
        (base, room) in (50_u32..500, 50_u32..500),
        shorten_tools: bool,
    ) {
        let adaptive =
            Adaptive { base, lowest: Milli(1_000), highest: Milli(1_000), step: Milli(0), ..Adaptive::default() };
        let policy = PolicySpec { choose: TurnSelection::Relevance, adaptive, shorten_tools, ..PolicySpec::default() };
        let mut input = input(&turns, policy, room);
        let kind = |pins: bool| if pins { MarkKind::Sticky } else { MarkKind::IncludeOnce };
        input.marks = (0..turns.len()).filter_map(|at| marks[at].map(|pins| mark(atom(at), kind(pins)))).collect();
        let Ok(admitted) = admit::admit(&input) else { return Ok(()) };
        for at in (admitted.window.start..turns.len()).filter(|at| marks[*at].is_none()) {
            let is_over = matches!(admitted.choice.reason(at), Some(Reason::SoftTarget { .. }));
            let needs = turn_cost(&input.turns[at], window::shortest_form(&input), &admitted.marks);
            let left = base.min(room).saturating_sub(admitted.total);
            prop_assert!(!is_over || needs > left, "turn {at} takes {needs} of {left}");
        }
    }
}

fn selection() -> impl Strategy<Value = TurnSelection> {
    prop::sample::select(vec![
        TurnSelection::Recent,
        TurnSelection::Lane,
        TurnSelection::Relevance,
        TurnSelection::Levels,
    ])
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// A summary replaces exactly the turns that it covers, wherever they are. Any other turn leaves only if the policy or
    /// the budget has no room for it beside the summary, and the request is no larger.
    #[test]
    fn a_summary_costs_no_turn_that_has_room(
        turns in prop::collection::vec(([1_u32..20, 1_u32..60, 1_u32..60], prop::bool::weighted(0.4), any::<bool>()), 1..9),
        tokens in 1_u32..120,
        policy in policy(),
        (choose, messages, size) in (selection(), 1_u32..12, 100_u32..900),
        (room, reach, old) in (50_u32..900, 0_u32..5, prop::option::of((0_usize..8, 0_usize..3))),
    ) {
        let mut policy = PolicySpec { choose, ..policy };
        policy.lanes.messages = messages;
        policy.adaptive.base = size;
        (policy.levels.total, policy.levels.permanent) = (size, size / 8);
        (policy.levels.session, policy.levels.working) = (size / 4, size / 2);
        let (sizes, covered): (Vec<Sizes>, Vec<bool>) = turns.iter().map(|(sizes, covered, _)| (*sizes, *covered)).unzip();
        let mut input = input(&sizes, policy, room);
        input.window_turns = reach;
        for (turn, (.., own)) in input.turns.iter_mut().zip(&turns) {
            turn.facts.lane = if *own { "" } else { "another" }.into();
        }
        input.anchor = old.and_then(|(start, form)| {
            let window = Window { start: start.min(turns.len()), shortened: 0, form: FORMS[form], floor: 0, refilled: false };
            window::anchor(&input, window, &[])
        });
        let bare = input.clone();
        summarize(&mut input, &covered, tokens, false);
        let (Ok(with), Ok(without)) = (admit::admit(&input), admit::admit(&bare)) else { return Ok(()) };
        prop_assert!(explain::size(&with) <= explain::size(&without));
        let (used, mut lost) = (!with.summed.used.is_empty(), 0);
        for (at, covered) in covered.iter().enumerate() {
            let replaced = used && *covered;
            prop_assert!(!replaced || with.places[at] == RowPosition::Outside, "turn {}", at);
            let leaves = without.places[at].is_sent() && !with.places[at].is_sent() && !replaced;
            // A window without gaps contains the turn only if it also contains the newer turns.
            let is_unbroken = matches!(choose, TurnSelection::Recent | TurnSelection::Lane);
            let last = if is_unbroken { with.window.start.max(at + 1) } else { at + 1 };
            let is_out = |at: &usize| with.places[*at] == RowPosition::Outside && with.choice.takes_itself(*at);
            let cost = |at: usize| turn_cost(&input.turns[at], window::shortest_form(&input), &with.marks);
            let shortest = (at..last).filter(is_out).map(cost).sum::<u32>();
            let has_room = with.choice.reason(at).is_none() && shortest <= with.free();
            prop_assert!(!leaves || (used && !has_room), "turn {} leaves: {} of {}", at, shortest, with.free());
            lost += if leaves { cost(at) } else { 0 };
        }
        prop_assert!(lost <= tokens * 3, "{lost} tokens of turns leave for {tokens}");
    }

    /// A summary that covers no turn and that the question names is sent if there is room for it, and displaces no turn.
    #[test]
    fn a_named_summary_takes_free_room(
        turns in prop::collection::vec([1_u32..20, 1_u32..60, 1_u32..60], 0..6),
        (tokens, room) in (1_u32..200, 50_u32..700),
        shorten_tools in any::<bool>(),
    ) {
        let mut input = input(&turns, PolicySpec { shorten_tools, ..PolicySpec::default() }, room);
        let bare = input.clone();
        summarize(&mut input, &vec![false; turns.len()], tokens, true);
        let (Ok(with), Ok(without)) = (admit::admit(&input), admit::admit(&bare)) else { return Ok(()) };
        let used = !with.summed.used.is_empty();
        // Nothing else is in the leading message.
        prop_assert!(used || tokens + MESSAGE_FRAMING > without.free(), "{} of {}", tokens, without.free());
        let sent = |plan: &Admitted<'_>| -> Vec<bool> { plan.places.iter().map(|place| place.is_sent()).collect() };
        prop_assert_eq!(sent(&with), sent(&without));
    }

    /// A summary of another lane that the question names replaces its turns in a window of all lanes. It is sent if there
    /// is room for it, and no other turn leaves unless the request is no larger.
    #[test]
    fn a_named_summary_of_another_lane_replaces_its_turns(
        turns in prop::collection::vec(([1_u32..20, 1_u32..60, 1_u32..60], any::<bool>()), 1..8),
        (tokens, room, size) in (1_u32..200, 50_u32..900, 100_u32..900),
        choose in selection(),
    ) {
        let mut policy = PolicySpec { choose, anchored: false, ..PolicySpec::default() };
        policy.adaptive.base = size;
        (policy.levels.total, policy.levels.permanent) = (size, size / 8);
        (policy.levels.session, policy.levels.working) = (size / 4, size / 2);
        let (sizes, covered): (Vec<Sizes>, Vec<bool>) = turns.into_iter().unzip();
        let mut input = input(&sizes, policy, room);
        let bare = input.clone();
        summarize(&mut input, &covered, tokens, true);
        input.summaries[0].elsewhere = true;
        let (Ok(with), Ok(without)) = (admit::admit(&input), admit::admit(&bare)) else { return Ok(()) };
        let used = !with.summed.used.is_empty();
        // Nothing else is in the leading message. The levels have limits of their own.
        let has_room = choose != TurnSelection::Levels && tokens + MESSAGE_FRAMING <= without.free();
        prop_assert!(used || !has_room, "{} of {}", tokens, without.free());
        for (at, covered) in covered.iter().enumerate() {
            prop_assert!(!(used && *covered && with.places[at].is_sent()), "turn {} is sent twice", at);
            let leaves = !covered && without.places[at].is_sent() && !with.places[at].is_sent();
            prop_assert!(!leaves || explain::size(&with) <= explain::size(&without), "turn {} leaves", at);
        }
        prop_assert!(used || explain::size(&with) == explain::size(&without));
    }

    /// The request for a state block displaces neither a person's lease nor the newest turn.
    #[test]
    fn a_state_request_displaces_no_lease(
        turns in prop::collection::vec([1_u32..20, 1_u32..60, 1_u32..60], 1..7),
        (lease, leased, request) in (prop::option::of(1_u32..60), prop::option::of(0_usize..7), 1_u32..200),
        (choose, size) in (selection(), 100_u32..900),
        policy in policy(),
        (room, cap) in (50_u32..600, 20_u32..200),
    ) {
        let mut policy = PolicySpec { choose, leased_cap_tokens: cap, ..policy };
        policy.adaptive.base = size;
        (policy.levels.total, policy.levels.permanent) = (size, size / 8);
        (policy.levels.session, policy.levels.working) = (size / 4, size / 2);
        let mut input = input(&turns, policy, room);
        input.blocks = lease.iter().map(|tokens| block(0, *tokens, true)).collect();
        let leased = leased.filter(|at| *at < turns.len());
        input.marks = leased.map(|at| mark(atom(at), MarkKind::leased(2))).into_iter().collect();
        let bare = input.clone();
        let asks = Reason::StateRequested { older: true, has_state: None, optional: None, by_policy: false };
        input.state_request = Some(Block::new(Section::System, RowKind::Text, (key(9, 9), request), "state", asks));
        let read = |plan: &Admitted<'_>| {
            let cards = plan.leases.iter().flatten().filter(|place| matches!(place, RowPosition::Card(_))).count();
            let sent = |at: &usize| plan.places[*at].is_sent();
            (cards, leased.filter(sent), Some(turns.len() - 1).filter(sent))
        };
        let (Ok(with), Ok(without)) = (state_request::admit(&input, read), state_request::admit(&bare, read)) else {
            return Ok(());
        };
        prop_assert_eq!(with, without);
    }
}

fn table_total(table: &Table, start: usize, form: Form) -> u32 {
    table.total(start, if form == Form::Full { 0 } else { table.turns.len() }, form)
}

fn kind() -> impl Strategy<Value = MarkKind> {
    prop_oneof![
        Just(MarkKind::Sticky),
        Just(MarkKind::IncludeOnce),
        Just(MarkKind::Ephemeral),
        Just(MarkKind::Exclude),
        Just(MarkKind::ExcludeOnce),
        (0_u32..3).prop_map(MarkKind::leased),
    ]
}

pub(in crate::context) fn mark(target: Atom, kind: MarkKind) -> Mark {
    let (note, inherited_from, origin, code) = (None, None, None, None);
    Mark { target, kind, by: Actor::User, note, inherited_from, revision: 1, counted: None, renewals: 0, origin, code }
}

fn block(at: usize, tokens: u32, leased: bool) -> Block {
    let reason = if leased { Reason::Leased { left: 1, engine: false } } else { Reason::Sticky };
    let section = if leased { Section::LeasedPins } else { Section::StickyPins };
    Block::new(section, RowKind::Note, (key(200, at), tokens), "note", reason)
}

fn barred() -> impl Strategy<Value = (usize, usize, SendBarrier)> {
    let bar = prop_oneof![
        Just(SendBarrier::Hidden),
        Just(SendBarrier::Foreign),
        Just(SendBarrier::Removed),
        Just(SendBarrier::Empty)
    ];
    (0_usize..30, 1_usize..3, bar)
}

proptest! {
    /// A message that is not sent by itself has a row of its own, with a remedy if there is one. Every turn, even one
    /// that is only counted, is in one row.
    #[test]
    fn every_item_left_out_has_one_row(
        sizes in prop::collection::vec([1_u32..30, 20_u32..60, 5_u32..20], 1..30), prompt in 60_u32..900,
        bars in prop::collection::vec(barred(), 0..6), gaps in prop::collection::btree_set(0_usize..30, 0..3),
    ) {
        let mut input = input(&sizes, PolicySpec { name: "law".into(), ..PolicySpec::default() }, prompt);
        for (turn, message, bar) in bars {
            let turn = turn % sizes.len();
            input.turns[turn].messages[message].bar = Some(bar);
        }
        let gap = |before: usize| {
            let range = (key(300, before), key(301, before));
            Gap { before, range, turns: 2, tokens: 50, from: u32::try_from(before + 1).unwrap(), elsewhere: false }
        };
        input.gaps = gaps.into_iter().filter(|before| *before <= sizes.len()).map(gap).collect();
        let Ok(plan) = crate::context::plan(&input) else { return Ok(()) };
        let turns = plan.rows.iter().filter(|row| matches!(row.kind, RowKind::Turn | RowKind::Range));
        let open = u32::from(turns.clone().any(|row| row.atom == input.open.atom));
        let all = turns.map(|row| row.turns).sum::<u32>() - open;
        prop_assert_eq!(all as usize, sizes.len() + 2 * input.gaps.len(), "{:?}", plan.rows);
        for turn in &input.turns {
            let is_sent = plan.included().any(|row| row.kind == RowKind::Turn && row.atom == turn.atom);
            for message in &turn.messages {
                let atom = Atom::Message { node: message.key };
                let rows: Vec<_> = plan.rows.iter().filter(|row| row.atom == atom).collect();
                prop_assert_eq!(rows.len(), usize::from(message.bar.is_some_and(|bar| bar != SendBarrier::Empty)));
                let has_remedy = rows.iter().any(|row| matches!(&row.verdict, Verdict::Out { remedy: Some(_), .. }));
                prop_assert_eq!(has_remedy, is_sent && matches!(message.bar, Some(SendBarrier::Hidden | SendBarrier::Foreign)));
            }
        }
    }
}

/// Returns the request's size without offers, added up from its parts.
fn counted(input: &PlanInput, admitted: &Admitted<'_>) -> u32 {
    let blocks = input.blocks.iter().zip(&admitted.leases).filter(|(_, lease)| {
        !matches!(lease, Some(RowPosition::NoLease { .. } | RowPosition::Idle | RowPosition::Repeated))
    });
    let blocks: u32 = blocks.map(|(block, _)| block.tokens).sum();
    let turns = input.turns.iter().enumerate().map(|(at, turn)| match admitted.places[at] {
        RowPosition::Window => cost_of(turn, &admitted.forms(at)),
        RowPosition::Card(_) => turn.card.map_or(0, |(_, tokens)| tokens),
        RowPosition::Outside
        | RowPosition::Excluded { .. }
        | RowPosition::Idle
        | RowPosition::Repeated
        | RowPosition::NoLease { .. } => 0,
    });
    let around = render::framing(&render::skeleton(&explain::included(admitted), input.layout, &input.shape.dialect));
    let calls = |forms: &[Form], turn: &TurnInput| cost_of(turn, forms) - tokens_of(turn, forms);
    let in_window = (0..input.turns.len()).filter(|at| admitted.places[*at] == RowPosition::Window);
    let own: u32 = in_window.map(|at| calls(&admitted.forms(at), &input.turns[at])).sum();
    blocks + turns.sum::<u32>() + tokens_of(&input.open, &admitted.open) + around - own
}

fn tokens_of(turn: &TurnInput, forms: &[Form]) -> u32 {
    turn.messages.iter().zip(forms).map(|(message, form)| tokens_in(message, *form)).sum()
}

/// Returns the tokens of a required row with the framing of its messages.
fn row_cost(row: &Row) -> u32 {
    let framing = |item: &Item| match item.form {
        Form::Gone | Form::Out => 0,
        Form::Elided => MESSAGE_FRAMING,
        _ => MESSAGE_FRAMING + CALL_FRAMING * u32::from(item.calls),
    };
    row.tokens
        + match row.kind {
            RowKind::Turn => row.items.iter().map(framing).sum(),
            _ => 0,
        }
}

/// The forms and cost of a turn with a call, at each degree of shortening.
#[test]
fn forms_of_a_turn_cost_what_they_send() {
    let turn = turn(0, [7, 50, 20]);
    let none = super::forms::Marks::new(&[]);
    let costs = FORMS.map(|form| super::forms::turn_cost(&turn, form, &none));
    let rest = 7 + MESSAGE_FRAMING;
    let calling = 5 + MESSAGE_FRAMING + CALL_FRAMING;
    let expected =
        [rest + calling + 50 + MESSAGE_FRAMING, rest + calling + 20 + MESSAGE_FRAMING, rest + 4 + MESSAGE_FRAMING];
    assert_eq!(costs, expected);
}

/// A turn that no request can contain does not end the window.
#[test]
fn a_turn_larger_than_the_budget_is_passed_over() {
    for choose in [TurnSelection::Recent, TurnSelection::Lane] {
        for anchored in [false, true] {
            let policy = PolicySpec { choose, anchored, shorten_tools: false, ..PolicySpec::default() };
            let input = input(&[[10, 1, 1], [900, 1, 1], [10, 1, 1]], policy, 400);
            let plan = crate::context::plan(&input).ok().unwrap();
            let left_out = |row: &&Row| row.kind == RowKind::Turn && !row.included();
            let rows: Vec<_> = plan.rows.iter().filter(left_out).map(|row| (row.atom, &row.reason)).collect();
            assert_eq!(rows, [(atom(1), &Reason::TooLarge)], "{choose:?}");
        }
    }
}
