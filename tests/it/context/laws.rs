//! Invariants of plans and of marks, checked on random conversations: every plan is rendered, and the request is read
//! back.

#![allow(clippy::similar_names, reason = "a plan's own words are alike")]
use crate::support::talk::{self, MarkTarget, OwnText, Quarter, SearchResults, Talk, TalkMessage};
use pleach::context::policy::levels;
use pleach::context::render::checks;
use pleach::context::{plan, render};
use pleach::domain::base::Hash;
use pleach::domain::call::{CountTokens, Dialect, Encoding};
use pleach::domain::conversation::{Atom, LeaseTurns, MarkKind, Role};
use pleach::domain::planning::input::{CALL_FRAMING, MESSAGE_FRAMING};
use pleach::domain::planning::level_use::level_uses;
use pleach::domain::planning::{
    Adaptive, Anchor, Block, ContextPlan, CoveredTurn, Flag, Form, Lanes, Layout, Levels, MessageFacts, MessageInput,
    Mode, PlanInput, PolicySpec, Relevance, Row, RowKind, Section, SendBarrier, SummaryInput, Task, TaskRelation,
    TurnFacts, TurnInput, TurnSelection, Verdict,
};
use pleach::domain::planning::{Reason, Warning};
use pleach::llm::counting::tokens::Tokenizers;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

fn bar() -> impl Strategy<Value = Option<SendBarrier>> {
    prop_oneof![12 => Just(None), 1 => Just(Some(SendBarrier::Hidden)), 1 => Just(Some(SendBarrier::Removed))]
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        10 => (1_usize..60, "[a-z]{3,9}").prop_map(|(n, word)| format!("{word} ").repeat(n).trim().to_owned()),
        1 => "[ /\n.a-z#]{0,40}",
        1 => "\\PC{0,40}",
    ]
}

fn body() -> impl Strategy<Value = String> {
    prop_oneof![4 => words(), 2 => (280_usize..9_000).prop_map(|n| "line of output\n".repeat(n / 15))]
}

/// An assistant message with calls and their results, including missing and orphaned results.
fn episode() -> impl Strategy<Value = Vec<TalkMessage>> {
    (words(), prop::collection::vec((body(), 0_u8..8), 1..4), bar(), any::<bool>()).prop_map(
        |(text, results, bar, talks)| {
            let ids: Vec<String> = (0..results.len()).map(|n| format!("c{n}")).collect();
            let names: Vec<&str> = ids.iter().map(String::as_str).collect();
            let mut messages =
                vec![TalkMessage { bar, ..TalkMessage::calling(if talks { text } else { String::new() }, &names) }];
            for (id, (body, outcome)) in names.iter().zip(results) {
                match outcome {
                    0 => {}
                    1 => messages.push(TalkMessage::result("nobody", body)),
                    2 => messages.push(TalkMessage { bar: Some(SendBarrier::Hidden), ..TalkMessage::result(id, body) }),
                    3 => messages.extend([
                        TalkMessage { bar: Some(SendBarrier::Hidden), ..TalkMessage::new(Role::User, "between") },
                        TalkMessage::result(id, body),
                    ]),
                    _ => messages.push(TalkMessage::result(id, body)),
                }
            }
            messages
        },
    )
}

fn answer() -> impl Strategy<Value = TalkMessage> {
    (words(), bar(), 0_u8..6).prop_map(|(text, bar, state)| {
        let text = if state == 0 { format!("{text}\n\n---STATE---\ngoal: {text}\n---END STATE---") } else { text };
        TalkMessage { bar, ..TalkMessage::new(Role::Assistant, text) }
    })
}

fn turn() -> impl Strategy<Value = Vec<TalkMessage>> {
    (words(), bar(), prop::collection::vec(episode(), 0..3), prop::option::of(answer()), 0_u8..12).prop_map(
        |(asked, bar, episodes, answer, system)| {
            let mut messages = vec![TalkMessage { bar, image: system == 1, ..TalkMessage::new(Role::User, asked) }];
            if system == 0 {
                messages.push(TalkMessage::new(Role::System, "foreign orders"));
            }
            messages.extend(episodes.into_iter().flatten());
            messages.extend(answer);
            messages
        },
    )
}

fn open() -> impl Strategy<Value = Vec<TalkMessage>> {
    (words(), prop::collection::vec(episode(), 0..3)).prop_map(|(asked, episodes)| {
        let asked = if asked.is_empty() { "what now".to_owned() } else { asked };
        let mut messages = vec![TalkMessage::new(Role::User, asked)];
        messages.extend(episodes.into_iter().flatten());
        messages
    })
}

fn kind() -> impl Strategy<Value = MarkKind> {
    prop_oneof![
        3 => Just(MarkKind::Exclude),
        2 => Just(MarkKind::ExcludeOnce),
        2 => Just(MarkKind::Sticky),
        2 => Just(MarkKind::IncludeOnce),
        1 => Just(MarkKind::Ephemeral),
        2 => (0_u32..4).prop_map(MarkKind::leased),
    ]
}

fn marks(turns: usize) -> impl Strategy<Value = Vec<(MarkTarget, MarkKind)>> {
    let on = prop_oneof![
        4 => (0..turns.max(1)).prop_map(MarkTarget::Turn),
        3 => (0..turns.max(1), 0_usize..6).prop_map(|(turn, at)| MarkTarget::Message(turn, at)),
        1 => (0..turns.max(1), 1_usize..3).prop_map(|(turn, at)| MarkTarget::Episode(turn, at)),
        1 => (0_usize..5).prop_map(MarkTarget::Open),
        1 => "[a-z]{3,8} note".prop_map(MarkTarget::Note),
        1 => (0..MEMORIES).prop_map(|n| MarkTarget::Memory(memory(n))),
    ];
    prop::collection::vec((on, kind()), 0..6).prop_map(|marks| {
        let mut assert_marks_kept: Vec<(MarkTarget, MarkKind)> = Vec::new();
        for (on, kind) in marks {
            // A message and its episode share a key, so a later mark would take precedence over the other.
            if assert_marks_kept
                .iter()
                .all(|(other, _)| *other != on && place(other).is_none_or(|at| Some(at) != place(&on)))
            {
                assert_marks_kept.push((on, kind));
            }
        }
        assert_marks_kept
    })
}

/// The number of memories in a conversation.
const MEMORIES: usize = 4;

fn memory(number: usize) -> String {
    format!("m{number}z is what was remembered")
}

/// Memories and messages found by search, and messages that the model suggested to pin.
fn search_results(turns: usize) -> impl Strategy<Value = SearchResults> {
    let messages = |size_limit| {
        prop::collection::vec((0..turns.max(1), 0_usize..4), 0..size_limit).prop_map(|mut all: Vec<(usize, usize)>| {
            let mut seen = HashSet::new();
            all.retain(|one| seen.insert(*one));
            all
        })
    };
    let memories = prop::sample::subsequence((0..MEMORIES).map(memory).collect::<Vec<_>>(), 0..MEMORIES);
    (messages(9), memories, messages(3)).prop_map(|(fits, memories, suggested)| SearchResults {
        fits,
        memories,
        suggested,
    })
}

fn place(on: &MarkTarget) -> Option<(usize, usize)> {
    match on {
        MarkTarget::Message(turn, at) | MarkTarget::Episode(turn, at) => Some((*turn, *at)),
        MarkTarget::Turn(_) | MarkTarget::Open(_) | MarkTarget::Note(_) | MarkTarget::Memory(_) => None,
    }
}

fn own() -> impl Strategy<Value = Vec<OwnText>> {
    let some = |section: Section| {
        (any::<bool>(), words())
            .prop_map(move |(has, text)| (has && !text.trim().is_empty()).then_some(OwnText { section, text }))
    };
    let ours =
        (some(Section::Personality), some(Section::Guidelines), some(Section::State), some(Section::Orientation));
    let around = (some(Section::QuotedReply), some(Section::UserMessage), some(Section::DuringTurn));
    (ours, around, 0_u8..8).prop_map(|((a, b, c, map), (d, e, f), none)| {
        let system = OwnText { section: Section::System, text: "Be exact.".into() };
        let first = (none > 0).then_some(system);
        [first, a, b, c, map, d, e, f].into_iter().flatten().collect()
    })
}

fn dialect() -> impl Strategy<Value = Dialect> {
    (prop::sample::select(vec!["system", "developer", "user"]), any::<bool>(), any::<bool>()).prop_map(
        |(role, strict_alternation, tools)| Dialect {
            instruction_role: role.into(),
            strict_alternation,
            tools,
            ..Dialect::default()
        },
    )
}

/// The built-in policies.
static PRESETS: LazyLock<Vec<PolicySpec>> = LazyLock::new(|| {
    let all = pleach::config::policies::load(Path::new("no policies of one's own")).expect("the presets are valid");
    assert_eq!(all.len(), 5);
    all.into_values().collect()
});

fn policy() -> impl Strategy<Value = PolicySpec> {
    prop_oneof![2 => random_policy(), 1 => prop::sample::select(PRESETS.clone())]
}

fn random_policy() -> impl Strategy<Value = PolicySpec> {
    let chosen = prop::sample::select(vec![
        TurnSelection::Recent,
        TurnSelection::Recent,
        TurnSelection::Lane,
        TurnSelection::Relevance,
        TurnSelection::Levels,
    ]);
    let numbers = (any::<bool>(), any::<bool>(), 30_u32..100, 20_u32..600);
    let switches = (any::<bool>(), prop::bool::weighted(0.8), any::<bool>());
    (numbers, chosen, 500_u32..3_000, 1_u32..12, switches).prop_map(
        |((anchored, shorten, refill_percent, cap), choose, size, messages, (eager, retrieval, literal))| PolicySpec {
            name: if anchored { "layered" } else { "window" }.into(),
            anchored,
            shorten_tools: shorten && (anchored || choose != TurnSelection::Recent),
            refill_percent,
            leased_cap_tokens: cap,
            retrieval,
            choose,
            lane_window: choose == TurnSelection::Recent && eager,
            relevance: Relevance { time_constant: literal, ..Relevance::default() },
            lanes: Lanes { messages, ..Lanes::default() },
            adaptive: Adaptive { base: size, messages: messages * 3, ..Adaptive::default() },
            levels: Levels {
                total: size,
                permanent: size / 8,
                session: size / 4,
                working: size / 2,
                eager,
                ..Levels::default()
            },
            ..PolicySpec::default()
        },
    )
}

fn facts() -> impl Strategy<Value = TurnFacts> {
    let all = vec![Flag::Error, Flag::Code, Flag::Question, Flag::Solution, Flag::Long, Flag::Technical];
    let flags = prop::sample::subsequence(all, 0..6);
    let age = prop_oneof![3 => 0_u64..2_000, 1 => 2_000_u64..900_000];
    let known = (prop::sample::select(vec!["", "a"]), age, flags, -300_i32..1_000, 0_u8..101);
    let tasks = vec![Task::General, Task::Coding, Task::Debugging, Task::Research, Task::ComplexAnalysis];
    let task = prop::sample::select(tasks);
    (known, task, 0_u32..4, 0_u32..4).prop_map(|((lane, age, flags, similarity, priority), task, later, more)| {
        TurnFacts {
            lane: lane.into(),
            age,
            task,
            messages: vec![MessageFacts { role: Role::User, age, flags }],
            mentions: (later, later + more),
            similarity: Some(similarity),
            priority,
            part: [TaskRelation::None, TaskRelation::Running, TaskRelation::Done][usize::from(priority % 3)],
            ..TurnFacts::default()
        }
    })
}

fn budget() -> impl Strategy<Value = u32> {
    prop_oneof![1 => 10_u32..150, 4 => 150_u32..1_500, 2 => 1_500_u32..6_000, 1 => Just(100_000)]
}

/// Policy, window, mode, layout, budget, dialect, and number of tools.
type Settings = (PolicySpec, u32, Mode, Layout, u32, Dialect, usize);

fn settings() -> impl Strategy<Value = Settings> {
    (
        policy(),
        prop_oneof![3 => Just(0_u32), 1 => 1_u32..6],
        prop::sample::select(Mode::ALL.to_vec()),
        prop::sample::select(vec![Layout::Classic, Layout::CacheFriendly]),
        budget(),
        dialect(),
        0_usize..3,
    )
}

/// Whether the target of a mark exists.
fn exists(talk: &Talk, on: &MarkTarget) -> bool {
    match on {
        MarkTarget::Turn(turn) => *turn < talk.turns.len(),
        MarkTarget::Message(turn, at) => talk.turns.get(*turn).is_some_and(|turn| *at < turn.len()),
        MarkTarget::Episode(turn, at) => {
            talk.turns.get(*turn).and_then(|turn| turn.get(*at)).is_some_and(|message| !message.calls.is_empty())
        }
        MarkTarget::Open(at) => *at < talk.open.len(),
        MarkTarget::Note(_) | MarkTarget::Memory(_) => true,
    }
}

/// The first turns without marks.
fn unmarked(talk: &Talk, count: usize) -> Vec<usize> {
    let marked = |turn: &usize| {
        talk.marks
            .iter()
            .any(|(on, _)| matches!(on, MarkTarget::Turn(at) | MarkTarget::Message(at, _) | MarkTarget::Episode(at, _) if at == turn))
    };
    (0..count.min(talk.turns.len())).filter(|turn| !marked(turn)).collect()
}

#[allow(clippy::too_many_lines, reason = "one conversation, put together from its parts")]
fn talk() -> impl Strategy<Value = Talk> {
    let turns_and_marks = prop::collection::vec(turn(), 0..14).prop_flat_map(|turns| {
        let count = turns.len();
        (Just(turns), open(), own(), marks(count), search_results(count))
    });
    let more = (
        any::<bool>(),
        prop::collection::vec((kind(), 5_u32..500), 0..3),
        prop::option::of((0_usize..4, 2_u32..50)),
        prop::option::of((0_usize..14, 0_usize..14, 0_usize..3)),
        (prop::collection::vec(facts(), 14), prop::sample::select(vec!["", "a"])),
        (
            prop::option::weighted(0.4, (1_usize..12, words())),
            prop::option::weighted(0.2, (1_usize..12, words())),
            any::<bool>(),
        ),
        (prop::bool::weighted(0.2), prop::bool::weighted(0.3), prop::option::weighted(0.3, words())),
    );
    (turns_and_marks, settings(), more).prop_map(
        |(
            (turns, open, own, marks, search_results),
            settings,
            (preamble, inactive_marks, gap, anchor, known, summaries, names),
        )| {
            let (policy, window_turns, mode, layout, budget, dialect, tools) = settings;
            let (preamble, gap) = (preamble && !turns.is_empty(), gap.filter(|(before, _)| *before <= turns.len()));
            let mut talk = Talk {
                turns,
                preamble,
                open,
                own,
                inactive_marks,
                gap,
                policy,
                window_turns,
                mode,
                layout,
                budget,
                dialect,
                tools,
                facts: known.0,
                lane: known.1.into(),
                ..Talk::default()
            };
            if talk.preamble {
                talk.turns[0].remove(0);
                if talk.turns[0].is_empty() {
                    talk.turns[0].push(TalkMessage::new(Role::Assistant, "hello there"));
                }
            }
            tag(&mut talk);
            let there =
                |(turn, at): &(usize, usize)| talk.turns.get(*turn).is_some_and(|messages| *at < messages.len());
            talk.search_results = SearchResults {
                fits: search_results.fits.into_iter().filter(there).collect(),
                suggested: search_results.suggested.into_iter().filter(there).collect(),
                ..search_results
            };
            talk.marks = marks.into_iter().filter(|(on, _)| exists(&talk, on)).collect();
            let accepted = |summary: Option<(usize, String)>| {
                let (count, text) = summary.filter(|(_, text)| !text.trim().is_empty())?;
                Some((unmarked(&talk, count), text))
            };
            (talk.summary, talk.session) = (accepted(summaries.0), accepted(summaries.1));
            // A lane's summary covers no turns of other lanes.
            let in_lane = |turn: &usize| talk.facts[*turn].lane == talk.lane;
            if let Some((turns, _)) = talk.summary.as_mut().filter(|_| summaries.2) {
                turns.retain(in_lane);
            }
            (talk.names, talk.state_request) = ((names.0, names.1), names.2.filter(|text| !text.trim().is_empty()));
            talk.always_asks = anchor.is_some() == names.0;
            talk.anchor = anchor.filter(|(start, ..)| *start < talk.turns.len()).map(|(start, to, form)| {
                pleach::domain::planning::plan::Anchor {
                    start: talk.key(start, 0),
                    shortened_to: (form > 0 && to < talk.turns.len()).then(|| talk.key(to, 0)),
                    form: [Form::Full, Form::Cut(300), Form::Elided][form],
                    budget: talk.budget,
                    policy: talk.policy.name.clone(),
                    summaries: Vec::new(),
                }
            });
            talk
        },
    )
}

/// Gives each message a unique word, so that it can be found in a request.
fn tag(talk: &mut Talk) {
    let count = talk.turns.len();
    for (turn, messages) in talk.turns.iter_mut().chain([&mut talk.open]).enumerate() {
        for (at, one) in messages.iter_mut().enumerate() {
            if !one.text.trim().is_empty() {
                let turn = if turn == count { 999 } else { turn };
                one.text = format!("{}{}", word(turn, at), one.text);
            }
        }
    }
}

fn word(turn: usize, message: usize) -> String {
    format!("q{turn}z{message}z")
}

static VOCABULARY: LazyLock<Tokenizers> = LazyLock::new(Tokenizers::new);

struct Solved {
    input: PlanInput,
    plan: ContextPlan,
    body: Value,
    text: String,
    bytes: Vec<u8>,
}

fn solve(talk: &Talk) -> Option<Solved> {
    solve_with(talk, Encoding::Approximate, &Quarter)
}

fn solve_with(talk: &Talk, encoding: Encoding, counter: &dyn CountTokens) -> Option<Solved> {
    let (input, bag) = talk::build_input(talk, encoding, counter);
    let plan = plan(&input).ok()?;
    let (wire, _) = render::render(&plan, &input.shape, &bag).expect("every text exists");
    let counted = checks::count_body(&wire.bytes, encoding, counter).expect("a request");
    assert_eq!(
        counted,
        plan.est_total,
        "the meter equals the count of the request\n{}",
        String::from_utf8_lossy(&wire.bytes)
    );
    let body: Value = serde_json::from_slice(&wire.bytes).expect("json");
    let text = body["messages"].to_string();
    Some(Solved { input, plan, body, text, bytes: wire.bytes.to_vec() })
}

fn contains_atom(input: &PlanInput, key: Hash) -> bool {
    input.marks.iter().any(|mark| mark.includes_message(key))
}

/// The turns in a range row, by index.
fn held_in(input: &PlanInput, row: &Row) -> Vec<usize> {
    let Atom::Range { first, last } = row.atom else { return Vec::new() };
    let at = |key: Hash| input.turns.iter().position(|turn| turn.messages.iter().any(|m| m.key == key));
    let gap = |key: Hash| input.gaps.iter().find(|gap| gap.range.0 == key || gap.range.1 == key).map(|gap| gap.before);
    let from = at(first).or_else(|| gap(first)).expect("known");
    let to = at(last).map(|at| at + 1).or_else(|| gap(last)).expect("known");
    (from..to).collect()
}

/// A plan's rows, one line each.
fn brief(plan: &ContextPlan) -> String {
    let line = |row: &Row| {
        let place = if row.included() { "in " } else { "out" };
        let pin = row.pin.map_or(String::new(), |pin| format!(", marked {pin:?}"));
        let turn = row.source.turn.map_or(String::new(), |turn| format!(" of turn {turn}"));
        format!("  {place} {:?}{turn}, {} tokens: {:?}{pin}", row.kind, row.tokens, row.reason)
    };
    let rows: Vec<String> = plan.rows.iter().map(line).collect();
    format!("{} tokens\n{}", plan.est_total, rows.join("\n"))
}

/// Every item is in exactly one row, and the sum of the rows is the meter.
fn assert_accounted(solved: &Solved) {
    let Solved { input, plan, .. } = solved;
    let sum: u32 = plan.included().map(|row| row.tokens).sum();
    assert_eq!(sum + plan.framing + plan.tools, plan.est_total);
    for (index, turn) in input.turns.iter().enumerate() {
        let own = plan.rows.iter().filter(|row| row.atom == turn.atom && row.reason != Reason::OffPath).count();
        let ranges = plan.rows.iter().filter(|row| held_in(input, row).contains(&index)).count();
        let any = turn.messages.iter().any(|message| message.bar.is_none());
        let brought = turn.messages.iter().any(|message| contains_atom(input, message.key));
        if any {
            assert_eq!(own + ranges, 1, "turn {index} is in one row: {}", brief(plan));
        } else {
            assert!(own + ranges <= usize::from(brought), "turn {index} has nothing to send");
        }
        for message in &turn.messages {
            let of_it = plan.rows.iter().filter(|row| row.atom == Atom::Message { node: message.key });
            let alone =
                of_it.filter(|row| row.kind == RowKind::Message && row.reason != Reason::SuggestedByModel).count();
            let inside = plan.included().flat_map(|row| &row.items).filter(|item| item.key == message.key).count();
            let wanted = usize::from(matches!(
                message.bar,
                Some(SendBarrier::Hidden | SendBarrier::Foreign | SendBarrier::Removed)
            ));
            if message.bar.is_some() {
                assert_eq!(alone + inside, wanted, "barred message of turn {index}: {message:?}\n{}", brief(plan));
            } else {
                let is_excluded = |row: &&Row| matches!(row.reason, Reason::UserExcluded { .. }) && !row.included();
                let left_out = plan.rows.iter().filter(|row| row.atom == Atom::Message { node: message.key });
                let left_out = left_out.filter(|row| row.kind == RowKind::Message).filter(is_excluded).count();
                assert!(alone == left_out && left_out <= 1 && inside <= 1, "{message:?}\n{}", brief(plan));
            }
        }
    }
    for message in solved.input.turns.iter().flat_map(|turn| &turn.messages) {
        for part in &message.parts {
            let rows = plan.rows.iter().filter(|row| row.atom == Atom::Section { text: part.atom });
            assert!(rows.clone().count() <= 1 && rows.clone().all(|row| row.reason == Reason::ModelCannot));
        }
    }
    for near in &input.near {
        let same = |row: &&Row| (row.atom, row.kind, &row.reason) == (near.atom, near.kind, &near.reason);
        assert_eq!(plan.rows.iter().filter(same).filter(|row| !row.included()).count(), 1, "{near:?}");
    }
    for block in &input.blocks {
        assert_eq!(plan.rows.iter().filter(|row| row.text == Some(block.text)).count(), 1, "{block:?}");
    }
    for one in input.offers.iter().flat_map(|offer| &offer.candidates) {
        let same = |row: &&Row| (Some(row.atom), row.kind) == (one.block.atom, one.block.kind);
        assert_eq!(plan.rows.iter().filter(same).count(), 1, "{one:?}\n{}", brief(plan));
    }
    for mark in &input.inactive_marks {
        let rows = plan.rows.iter().filter(|row| row.atom == mark.mark.target && row.reason == Reason::OffPath);
        assert_eq!(rows.count(), 1);
    }
    let ranges = plan.rows.iter().filter(|row| row.kind == RowKind::Range);
    let missing: u32 = input.gaps.iter().map(|gap| gap.turns).sum();
    let piled: usize = ranges.clone().map(|row| held_in(input, row).len()).sum();
    assert_eq!(ranges.map(|row| row.turns).sum::<u32>(), missing + u32::try_from(piled).unwrap());
    assert_eq!(plan.rows.iter().filter(|row| row.reason == Reason::Open).count(), 1);
}

/// Nothing found is sent twice: a card's turn is neither in the window nor another card. Near misses and suggestions
/// change no byte.
fn assert_nothing_sent_twice(solved: &Solved) {
    let Solved { input, plan, .. } = solved;
    for card in plan.included().filter(|row| matches!(row.reason, Reason::Retrieved { .. })) {
        let Atom::Message { node } = card.atom else { panic!("{card:?}") };
        let turn = input.turns.iter().find(|turn| turn.messages.iter().any(|message| message.key == node)).unwrap();
        let row = plan.rows.iter().find(|row| row.atom == turn.atom && row.reason != Reason::OffPath);
        assert!(row.is_none_or(|row| !row.included()), "twice: {row:#?}");
    }
    if !input.near.is_empty() {
        let bare =
            pleach::context::plan(&PlanInput { near: Vec::new(), ..input.clone() }).expect("near misses block nothing");
        let sent = |plan: &ContextPlan| plan.included().cloned().collect::<Vec<_>>();
        assert_eq!(sent(&bare), sent(plan));
    }
}

/// Every call is followed directly by its results, every result follows its call, and roles alternate where required.
fn assert_calls_have_results(solved: &Solved) {
    let messages = solved.body["messages"].as_array().unwrap();
    let role = |at: usize| messages[at]["role"].as_str().unwrap();
    let mut waiting: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if role(at) == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            let found = waiting.iter().position(|call| call == id);
            waiting.remove(found.unwrap_or_else(|| panic!("a result without its call: {}", solved.text)));
            continue;
        }
        assert!(waiting.is_empty(), "a call without its result: {}", solved.text);
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        waiting = calls.map(|call| call["id"].as_str().unwrap().to_owned()).collect();
        assert!(!message["content"].is_null() || !waiting.is_empty());
        if solved.input.shape.dialect.strict_alternation && at > 0 {
            assert_ne!(role(at), role(at - 1), "{}", solved.text);
        }
    }
    assert!(waiting.is_empty(), "a call without its result at the end: {}", solved.text);
    let leads = solved.plan.included().any(|row| row.section() == Some(Section::System));
    if solved.input.shape.dialect.strict_alternation && leads {
        let first = messages.iter().find(|message| !matches!(message["role"].as_str(), Some("system" | "developer")));
        assert_ne!(first.and_then(|message| message["role"].as_str()), Some("assistant"), "{}", solved.text);
    }
}

/// The tokens of an unmarked turn in the window, including message overhead: in full, and with its tool results as
/// short as possible.
fn turn_costs(policy: &PolicySpec, turn: &TurnInput) -> (u32, u32) {
    let assert_calls_have_results =
        |message: &MessageInput| message.tokens + MESSAGE_FRAMING + CALL_FRAMING * u32::from(message.calls);
    let sent = || turn.messages.iter().filter(|message| message.bar.is_none());
    let mut gone = false;
    let shortest = sent().map(|message| {
        let result = message.role == Role::Tool && !message.orphan;
        gone = if result { gone } else { policy.shorten_tools && message.elided.is_some() };
        match message.elided {
            _ if result && gone => 0,
            Some(tokens) if gone => tokens + MESSAGE_FRAMING,
            _ => assert_calls_have_results(message),
        }
    });
    (sent().map(assert_calls_have_results).sum(), shortest.sum())
}

/// The tokens of the turns in the window, including message overhead.
fn history(plan: &ContextPlan) -> u32 {
    let sent = plan.included().filter(|row| row.section() == Some(Section::Recent)).flat_map(|row| &row.items);
    let each = sent.filter(|item| item.form != Form::Gone).map(|item| {
        let calls = if item.form == Form::Elided { 0 } else { CALL_FRAMING * u32::from(item.calls) };
        item.tokens + MESSAGE_FRAMING + calls
    });
    each.sum()
}

/// The largest allowed size of the request: the budget, or less where summaries are sent.
fn size_limit(talk: &Talk, solved: &Solved) -> u32 {
    let budget = solved.input.budget.prompt;
    if solved.plan.included().all(|row| row.kind != RowKind::Summary) {
        return budget;
    }
    // An accepted summary makes no request larger, each in addition to the earlier ones.
    let fewer = [Talk { session: None, ..talk.clone() }, Talk { summary: None, session: None, ..talk.clone() }];
    fewer.iter().map(|fewer| solve(fewer).unwrap().plan.est_total).fold(budget, u32::min)
}

/// Returns an upper bound of the framing that a request takes less because the dialect joins messages to one.
fn joined(talk: &Talk, plan: &ContextPlan) -> u32 {
    let messages = plan.included().flat_map(|row| &row.items).count() + plan.included().count();
    if talk.dialect.strict_alternation { u32::try_from(messages).unwrap() * MESSAGE_FRAMING } else { 0 }
}

/// Room that sources do not use returns to the window: the next turn is left out only because it does not fit.
fn assert_no_idle_room(talk: &Talk, solved: &Solved) {
    let Solved { input, plan, .. } = solved;
    let policy = &input.policy;
    let used = plan.est_total + joined(talk, plan);
    let clean = unmarked(talk, talk.turns.len());
    let row = |turn: &TurnInput| plan.rows.iter().find(|row| row.atom == turn.atom && row.reason != Reason::OffPath);
    let mut size_limit = size_limit(talk, solved);
    let is_anchored = policy.anchored && talk.anchor.is_some();
    if is_anchored {
        let offered = plan.included().filter(|row| row.section() == Some(Section::Retrieved)).map(|row| row.tokens);
        let (rest, share) =
            (plan.est_total - history(plan) - offered.sum::<u32>(), u64::from(policy.refill_percent.min(100)));
        size_limit = rest + u32::try_from(u64::from(size_limit.saturating_sub(rest)) * share / 100).unwrap();
    }
    let in_window = |turn: &TurnInput| row(turn).is_some_and(|row| row.section() == Some(Section::Recent));
    let start = input.turns.iter().position(in_window).unwrap_or(input.turns.len());
    for (index, turn) in input.turns.iter().enumerate().take(start).rev() {
        let own = |turn: &&TurnInput| !policy.lane_window || turn.facts.lane == input.open.facts.lane;
        let reach =
            talk.window_turns == 0 || input.turns[index..].iter().filter(own).count() <= talk.window_turns as usize;
        // Turns before the ones a summary covers do not return.
        let assert_summaries =
            |later: &TurnInput| input.covered.iter().any(|c| later.atom == Atom::Turn { user: c.user, tip: c.tip });
        if plan.included().any(|row| row.kind == RowKind::Summary) && input.turns[index..].iter().any(assert_summaries)
        {
            break;
        }
        if !reach || input.gaps.iter().any(|gap| gap.before > index) {
            break;
        }
        let Some(row) = row(turn) else { continue };
        if matches!(row.reason, Reason::UserExcluded { .. } | Reason::OtherLane | Reason::OutsideLane) {
            continue;
        }
        if matches!(row.reason, Reason::OutsideWindow | Reason::Budget { .. } | Reason::SummaryLimit)
            && clean.contains(&index)
            && (!is_anchored || clean.len() == talk.turns.len())
        {
            let (assert_calls_have_results, shortest) = turn_costs(policy, turn);
            let cost = if is_anchored { assert_calls_have_results } else { shortest };
            let by_summary = is_anchored || row.reason == Reason::SummaryLimit;
            let size_limit = if by_summary { size_limit } else { input.budget.prompt };
            assert!(
                used + cost > size_limit,
                "turn {index} would fit: {used} + {cost} of {size_limit}: {}",
                brief(plan)
            );
        }
        break;
    }
    assert_chosen_room(talk, solved, used);
}

/// Turns without marks that a policy left out for lack of room do not fit.
fn assert_chosen_room(talk: &Talk, solved: &Solved, used: u32) {
    let Solved { input, plan, .. } = solved;
    let policy = &input.policy;
    let clean = unmarked(talk, talk.turns.len());
    let row = |turn: &TurnInput| plan.rows.iter().find(|row| row.atom == turn.atom && row.reason != Reason::OffPath);
    // Turns chosen beside a summary may have had to leave again for it.
    let chosen = clean.len() == talk.turns.len() && plan.included().all(|row| row.kind != RowKind::Summary);
    for turn in input.turns.iter().filter(|_| chosen) {
        let (Some(row), (_, cost)) = (row(turn), turn_costs(policy, turn)) else { continue };
        let size_limit = match row.reason {
            Reason::SoftTarget { tokens } => tokens,
            Reason::LevelFull { .. } | Reason::LevelsOver { .. } => {
                policy.levels.total.min(input.budget.prompt) * policy.levels.trigger_percent / 100
            }
            _ => continue,
        };
        // Texts must fit into the first three levels too.
        let full = plan.level_budgets.is_some() && {
            let words: u32 = level_uses(plan)[..3].iter().map(|level| level.used).sum();
            let total = policy.levels.total.min(input.budget.prompt);
            words + used - plan.est_total + cost > levels::budgets(total, &policy.levels).iter().sum()
        };
        assert!(
            full || used + cost > size_limit,
            "{used} + {cost} of {size_limit}: {row:#?}
{}",
            brief(plan)
        );
    }
}

/// A row that says that there was no room names a number of tokens into which its item does not fit.
fn assert_no_room_is_true(solved: &Solved) {
    let Solved { input, plan, .. } = solved;
    for row in plan.excluded() {
        if let Reason::Budget { free } = row.reason {
            assert!(
                row.tokens > free || row.tokens == 0,
                "it would fit: {row:#?}
{}",
                brief(plan)
            );
            assert!(free <= input.budget.prompt - plan.est_total, "more than was free: {row:#?}");
        }
    }
    for offer in &input.offers {
        let is = |row: &&Row, block: &Block| (Some(row.atom), row.kind) == (block.atom, block.kind);
        let of = |block: &Block| plan.rows.iter().find(|row| is(row, block));
        let own = offer.heading.iter().chain(offer.candidates.iter().map(|one| &one.block));
        let spent: u32 = own.filter_map(of).filter(|row| row.included()).map(|row| row.tokens).sum();
        let search_results =
            plan.included().filter(|row| row.section() == Some(Section::Retrieved) && row.pin.is_none());
        let all: u32 = search_results.map(|row| row.tokens).sum();
        for one in &offer.candidates {
            let row = of(&one.block).expect("a row for each candidate");
            let heading = offer.heading.as_ref().map_or(0, |heading| heading.tokens);
            let needs = one.texts.iter().map(|text| text.1).max().unwrap_or(0) + heading;
            if let (Reason::Allowance { tokens }, false) = (&row.reason, row.included()) {
                assert!(
                    spent + needs > *tokens || all + needs > input.allowance,
                    "it would fit: {row:#?}
{}",
                    brief(plan)
                );
            }
        }
    }
}

/// The model is asked for a state block only if the request leaves out turns, or if it always is. This never displaces the
/// newest turn. A request for one that is not sent changes nothing.
fn assert_state_requested(talk: &Talk, solved: &Solved) {
    if talk.state_request.is_none() {
        return;
    }
    let without = solve(&Talk { state_request: None, ..talk.clone() }).expect("it blocks nothing");
    let asks = |row: &&Row| matches!(row.reason, Reason::StateRequested { .. });
    let turns = |solved: &Solved, reason_known: bool| {
        let kind = |row: &Row| matches!(row.kind, RowKind::Turn | RowKind::Preamble | RowKind::Range);
        let kept_out = |row: &Row| {
            use Reason::{
                Duplicate, LeaseCap, OffPath, OtherLane, OutsideLane, Superseded, TooLarge, TtlExpired, UserExcluded,
            };
            match row.reason {
                TtlExpired | LeaseCap { .. } => !reason_known,
                TooLarge => !reason_known && talk.policy.keeps_to_lane(true),
                OffPath | OtherLane | OutsideLane | Superseded { .. } | UserExcluded { .. } | Duplicate => true,
                _ => false,
            }
        };
        solved.plan.excluded().filter(|row| kind(row) && !kept_out(row)).count()
    };
    if solved.plan.included().any(|row| asks(&row)) {
        assert!(talk.always_asks || turns(&without, true) > 0, "nothing was left out: {}", brief(&without.plan));
        let newest = without.plan.included().filter(|row| row.kind == RowKind::Turn && row.reason == Reason::Recent);
        let newest = newest.filter_map(|row| row.source.turn).max();
        let is_sent = |turn: u32| {
            let row = solved.plan.rows.iter().find(|row| row.kind == RowKind::Turn && row.source.turn == Some(turn));
            row.is_none_or(|row| row.included() || matches!(row.reason, Reason::Superseded { .. }))
        };
        assert!(
            newest.is_none_or(is_sent),
            "the newest turn leaves: {}\n{}",
            brief(&without.plan),
            brief(&solved.plan)
        );
    } else {
        let no_room = solved.plan.excluded().any(|row| row.kind == RowKind::Text);
        assert!(no_room || !talk.always_asks, "it is not asked for: {}", brief(&solved.plan));
        // A summary alone does not cause the request.
        let unsummed = || Talk { state_request: None, summary: None, session: None, ..talk.clone() };
        let assert_calls_have_results = || solve(&unsummed()).is_some_and(|bare| turns(&bare, false) == 0);
        // For a leased or oversized turn nothing tells whether its lane excludes it too.
        let left_out =
            no_room || turns(solved, false) == 0 || (!solved.input.summaries.is_empty() && assert_calls_have_results());
        assert!(left_out, "turns are left out: {}", brief(&solved.plan));
        assert!(solved.bytes == without.bytes, "a request that does not go changes nothing");
    }
}

/// A summary that is sent replaces its turns: none of them is in the window, and none is quoted unless it contains what
/// the question names and the summary lacks. The request is no larger than without the summary. A summary that is not sent changes
/// nothing.
fn assert_summaries(talk: &Talk, solved: &Solved) {
    let Solved { input, plan, .. } = solved;
    let accepted = || plan.rows.iter().filter(|row| row.kind == RowKind::Summary);
    assert_eq!(accepted().count(), [&talk.summary, &talk.session].into_iter().flatten().count(), "each has a row");
    let Some(before) = talk.without_newest_summary() else { return };
    let going: Vec<_> = accepted().filter(|row| row.included()).map(|row| row.text).collect();
    let by = input.summaries.iter().filter(|one| going.contains(&Some(one.text))).map(|one| one.by);
    let by: Vec<Hash> = by.collect();
    let covered = |atom: Atom| {
        input.covered.iter().any(|c| by.contains(&c.by) && atom == Atom::Turn { user: c.user, tip: c.tip })
    };
    for row in plan.rows.iter().filter(|row| covered(row.atom) && row.reason != Reason::OffPath) {
        assert_ne!(row.section(), Some(Section::Recent), "twice: {row:#?}");
        assert!(row.pin.is_some() || matches!(row.reason, Reason::Superseded { .. }), "{row:#?}");
    }
    let (_, lacks) = talk.names;
    for card in plan.included().filter(|row| matches!(row.reason, Reason::Retrieved { .. })) {
        let turn =
            input.turns.iter().find(|turn| turn.messages.iter().any(|m| Atom::Message { node: m.key } == card.atom));
        let has_lacking = |c: &CoveredTurn| c.lacks && Atom::Turn { user: c.user, tip: c.tip } == turn.unwrap().atom;
        let is_covered = covered(turn.unwrap().atom);
        assert!(!is_covered || input.covered.iter().any(has_lacking), "quoted beside its summary: {card:#?}");
    }
    for row in accepted().filter(|row| !row.included()) {
        let by_level = matches!(row.reason, Reason::SessionFull { .. } | Reason::LevelsOver { .. });
        let why = matches!(
            row.reason,
            Reason::SavesNothing | Reason::DisplacesTurn { .. } | Reason::Duplicate | Reason::Budget { .. }
        );
        assert!(why || by_level && talk.policy.choose == TurnSelection::Levels, "{row:#?}");
    }
    let before = solve(&before).expect("a summary blocks nothing");
    let (now, then) = (plan.est_total, before.plan.est_total);
    assert_no_turn_leaves(solved, &before, &covered);
    // A summary that the question names takes free room if it belongs to another lane or covers no turn.
    let covers = |by: Hash| input.covered.iter().any(|covered| covered.by == by);
    let takes_room = |newest: &SummaryInput| newest.named && (newest.elsewhere || !covers(newest.by));
    let by_name = input.summaries.last().is_some_and(takes_room);
    assert!(
        now <= then || by_name,
        "accepting the newest summary makes {now} of {then}:\n{}\n{}",
        brief(&before.plan),
        brief(plan)
    );
    if going.is_empty() {
        let bare = solve(&Talk { summary: None, session: None, ..talk.clone() }).expect("a summary blocks nothing");
        // If the question names what a summary lacks, more is found. That changes the delimiters of quotations, and under
        // `levels` it takes room of its level, so that other turns may be sent.
        let sent =
            |plan: &ContextPlan| -> Vec<_> { plan.included().map(|row| (row.atom, row.kind, row.tokens)).collect() };
        let found_more = || talk.policy.choose == TurnSelection::Levels || sent(&bare.plan) == sent(plan);
        let same = bare.bytes == solved.bytes || (lacks && found_more());
        assert!(same, "unused summaries change nothing:\n{}\n{}", brief(&bare.plan), brief(plan));
    }
}

/// A turn that is sent `before` a summary is accepted, and that no summary covers, leaves only if the policy or the
/// budget has no room for it beside the summary.
fn assert_no_turn_leaves(solved: &Solved, before: &Solved, covered: &dyn Fn(Atom) -> bool) {
    let Solved { input, plan, .. } = solved;
    let row = |plan: &ContextPlan, turn: &TurnInput| {
        plan.rows.iter().find(|row| row.atom == turn.atom && row.reason != Reason::OffPath).cloned()
    };
    let used = plan.est_total;
    for turn in input.turns.iter().filter(|turn| !covered(turn.atom)) {
        let in_window = |row: &Row| row.section() == Some(Section::Recent);
        let Some(now) = row(plan, turn).filter(|now| !now.included()) else { continue };
        if !row(&before.plan, turn).is_some_and(|before| in_window(&before)) {
            continue;
        }
        let by_policy =
            matches!(now.reason, Reason::SoftTarget { .. } | Reason::LevelFull { .. } | Reason::LevelsOver { .. });
        // A window without gaps contains the turn only if it also contains the newer turns, which may have left, too.
        let has_left = |newer: &&TurnInput| {
            let was_there = row(&before.plan, newer).is_some_and(|before| in_window(&before));
            newer.number >= turn.number && was_there && row(plan, newer).is_some_and(|now| !now.included())
        };
        let is_unbroken = matches!(input.policy.choose, TurnSelection::Recent | TurnSelection::Lane);
        let newer = input.turns.iter().filter(|newer| !covered(newer.atom)).filter(has_left);
        let shortest = if is_unbroken {
            newer.map(|newer| turn_costs(&input.policy, newer).1).sum()
        } else {
            turn_costs(&input.policy, turn).1
        };
        assert!(
            by_policy || used + shortest > input.budget.prompt,
            "it leaves although {shortest} tokens are free beside {used}: {now:#?}\n{}\n{}",
            brief(&before.plan),
            brief(plan)
        );
    }
}

/// The guarantees of a person's marks.
fn assert_marks_kept(talk: &Talk, solved: &Solved) {
    let Solved { input, plan, text, .. } = solved;
    let turn_mark =
        |index: usize| talk.marks.iter().find(|(on, _)| *on == MarkTarget::Turn(index)).map(|(_, kind)| *kind);
    let marks_message = |index: usize| {
        let is_on = |on: &MarkTarget| matches!(on, MarkTarget::Message(turn, _) | MarkTarget::Episode(turn, _) if *turn == index);
        talk.marks.iter().any(|(on, _)| is_on(on))
    };
    for (index, messages) in talk.turns.iter().enumerate() {
        let sendable = input.turns[index].messages.iter().any(|message| message.bar.is_none());
        let row = plan.rows.iter().find(|row| row.atom == input.turns[index].atom && row.reason != Reason::OffPath);
        match turn_mark(index) {
            Some(MarkKind::Exclude | MarkKind::ExcludeOnce) => {
                for at in 0..messages.len() {
                    assert!(!text.contains(&word(index, at)), "excluded, yet sent: {text}");
                }
            }
            Some(MarkKind::Sticky | MarkKind::IncludeOnce) if sendable => {
                assert!(row.is_some_and(Row::included), "marked, yet out: {}", brief(plan));
            }
            Some(MarkKind::Leased { turns: LeaseTurns::Ended }) if !marks_message(index) => {
                assert!(row.is_none_or(|row| row.kind != RowKind::Card), "an expired lease pins nothing");
            }
            _ => {}
        }
    }
    for (on, kind) in &talk.marks {
        if let (MarkTarget::Message(turn, at), true) = (on, kind.excludes()) {
            let message = input.turns[*turn].messages.iter().find(|m| m.key == talk.key(*turn, *at)).unwrap();
            assert!(!text.contains(&word(*turn, *at)), "excluded, yet sent: {text}");
            let item = plan.included().filter(|row| row.kind != RowKind::Card).flat_map(|row| &row.items);
            let form = item.filter(|item| item.key == message.key).map(|item| item.form).next();
            assert!(matches!(form, None | Some(Form::Placeholder | Form::Gone)), "{form:?}");
        }
        if let (MarkTarget::Message(turn, at), MarkKind::Sticky) = (on, kind) {
            let message = input.turns[*turn].messages.iter().find(|m| m.key == talk.key(*turn, *at)).unwrap();
            let row = plan.rows.iter().find(|row| row.atom == input.turns[*turn].atom);
            if message.bar.is_none() && !turn_mark(*turn).is_some_and(MarkKind::excludes) {
                assert!(row.is_some_and(Row::included), "the turn of a pinned message is included");
            }
        }
    }
    let leased = plan.included().filter(|row| row.section() == Some(Section::LeasedPins));
    let leased = leased.filter(|row| matches!(row.reason, Reason::Leased { .. } | Reason::Ephemeral));
    assert!(leased.map(|row| row.tokens).sum::<u32>() <= talk.policy.leased_cap_tokens);
    let asks = input.open.messages.iter().filter(|message| message.role == Role::User && message.bar.is_none());
    for message in asks {
        let open = plan.included().find(|row| row.reason == Reason::Open).unwrap();
        assert!(open.items.iter().any(|item| item.key == message.key && item.form == message.whole));
    }
}

/// Returns whether the row is something that no person asked for: a retrieved item. (In these conversations, rules and
/// the map of the code are required texts.)
fn is_automatic(row: &Row) -> bool {
    row.pin.is_none() && row.section() == Some(Section::Retrieved)
}

/// What goes by itself leaves first: a person's lease within the cap, and after it the newest turn, are left out only if
/// there is no room for them in place of everything automatic. A lease also comes before the window. The turns of the
/// window that a person marked stay in the request as cards: in the window, they would keep the turns after them.
/// A person's lease that is left out has a warning.
fn assert_automatic_items_leave_first(talk: &Talk, solved: &Solved) {
    let Solved { input, plan, .. } = solved;
    let automatic: u32 = plan.included().filter(|row| is_automatic(row)).map(|row| row.tokens).sum();
    // A lease may need a message of its own, or the label.
    let slack = MESSAGE_FRAMING + input.labeled + joined(talk, plan);
    let window: u32 = history(plan);
    // A retrieved message of a turn with a mark of its own: the turn's mark decides.
    let is_retrieved = |row: &Row| {
        let mut candidates = input.offers.iter().flat_map(|offer| &offer.candidates);
        candidates.any(|one| (one.block.atom, one.block.kind) == (Some(row.atom), row.kind))
    };
    let is_kept = |row: &&Row| row.section() == Some(Section::Recent) && row.pin.is_some_and(MarkKind::includes);
    let card_of = |row: &Row| input.turns.iter().find(|turn| turn.atom == row.atom).and_then(|turn| turn.card);
    let kept: u32 = plan.included().filter(is_kept).filter_map(card_of).map(|(_, card)| card).sum();
    for row in plan.excluded().filter(|row| row.pin.is_some_and(MarkKind::includes) && row.reason != Reason::OffPath) {
        if matches!(row.reason, Reason::Budget { .. }) && !is_retrieved(row) {
            let needs = card_of(row).map_or(row.tokens, |(_, tokens)| tokens);
            let required = plan.est_total - automatic - window + kept;
            assert!(required + needs + slack > input.budget.prompt, "it would fit: {row:#?}\n{}", brief(plan));
        }
        let told = plan.warnings.iter().any(|warning| {
            matches!(warning, Warning::DecisionLeftOut { title, tokens, .. } if (title, *tokens) == (&row.title, row.tokens))
        });
        assert!(told || matches!(row.reason, Reason::Duplicate), "left out in silence: {row:#?}");
    }
    // The window does not reach beyond turns that are not loaded.
    let unbroken = input.gaps.iter().all(|gap| gap.elsewhere || gap.before < input.turns.len());
    let newest = input.turns.last().filter(|_| automatic > 0 && window == 0 && unbroken);
    let Some(newest) = newest.filter(|_| unmarked(talk, talk.turns.len()).contains(&(talk.turns.len() - 1))) else {
        return;
    };
    let Some(row) = plan.excluded().find(|row| row.atom == newest.atom) else { return };
    if matches!(row.reason, Reason::LevelFull { .. } | Reason::LevelsOver { .. } | Reason::SoftTarget { .. }) {
        let bare = PlanInput { offers: Vec::new(), state_request: None, ..input.clone() };
        let bare = pleach::context::plan(&bare).expect("it fits without offers");
        let is_sent = bare.included().any(|row| row.atom == newest.atom);
        assert!(!is_sent, "automatic items displace the newest turn: {}\n{}", brief(plan), brief(&bare));
    }
    if matches!(row.reason, Reason::Budget { .. } | Reason::OutsideWindow) {
        let (_, shortest) = turn_costs(&input.policy, newest);
        let others = plan.est_total - automatic;
        let limit = size_limit(talk, solved);
        assert!(others + shortest + slack > limit, "the newest turn would fit: {}", brief(plan));
    }
}

fn assert_laws(talk: &Talk) {
    let (input, _) = talk::build_input(talk, Encoding::Approximate, &Quarter);
    match plan(&input) {
        Ok(first) => {
            assert!(first.est_total <= input.budget.prompt, "{} > {}", first.est_total, input.budget.prompt);
            assert_eq!(Ok(&first), plan(&input).as_ref(), "the same input gives the same plan");
            let solved = solve(talk).unwrap();
            assert_eq!(solved.plan.id, first.id);
            assert_accounted(&solved);
            assert_calls_have_results(&solved);
            assert_marks_kept(talk, &solved);
            assert_summaries(talk, &solved);
            assert_state_requested(talk, &solved);
            assert_nothing_sent_twice(&solved);
            assert_no_room_is_true(&solved);
            assert_automatic_items_leave_first(talk, &solved);
            if !talk.dialect.strict_alternation {
                assert_no_idle_room(talk, &solved);
            }
            let awake = solve(&Talk { inactive_marks: Vec::new(), ..talk.clone() }).unwrap();
            assert_eq!(awake.bytes, solved.bytes, "an inactive mark changes nothing");
        }
        Err(blocked) => {
            assert!(blocked.needed > input.budget.prompt && !blocked.choices.is_empty());
            assert!(blocked.rows.iter().any(|row| row.reason == Reason::Open));
            let enough = Talk { budget: blocked.needed, anchor: None, ..talk.clone() };
            assert!(solve(&enough).is_some(), "the suggested budget is enough");
        }
    }
}

/// So many cases, or as many times more as `PROPTEST_CASES` is of proptest's usual 256, from one fixed seed, so that
/// runs are repeatable. `PROPTEST_RNG_SEED` sets another seed.
fn cases(usual: u32) -> ProptestConfig {
    let own = ProptestConfig::default();
    let rng_seed = if own.rng_seed == RngSeed::Random { RngSeed::Fixed(2) } else { own.rng_seed };
    let cases = (u64::from(usual) * u64::from(own.cases) / 256).clamp(1, u32::MAX.into());
    let cases = u32::try_from(cases).unwrap();
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..own }
}

proptest! {
    #![proptest_config(cases(160))]

    #[test]
    fn plans_keep_the_laws(talk in talk()) {
        assert_laws(&talk);
    }

    #[test]
    fn remedies_do_what_they_say(talk in talk(), pick in any::<prop::sample::Index>()) {
        remedy(&talk, |able| pick.index(able.len()));
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn meter_is_exact_with_a_real_vocabulary(talk in talk()) {
        let _ = solve_with(&talk, Encoding::O200kBase, &*VOCABULARY);
    }

    #[test]
    fn plans_depend_only_on_their_input(talk in talk()) {
        assert_round_trip(&talk);
    }
}

proptest! {
    #![proptest_config(cases(160))]

    /// Every built-in policy in every mode.
    #[test]
    fn no_room_is_wasted_under_any_policy_and_mode(
        talk in talk(),
        policy in prop::sample::select(PRESETS.clone()),
        mode in prop::sample::select(Mode::ALL.to_vec()),
        same in any::<bool>(),
    ) {
        let anchor = talk.anchor.clone().filter(|_| same && policy.anchored);
        let anchor = anchor.map(|anchor| Anchor { policy: policy.name.clone(), ..anchor });
        let small = |policy: PolicySpec| PolicySpec {
            adaptive: Adaptive { base: talk.policy.adaptive.base.min(3_000), ..policy.adaptive },
            levels: Levels { total: 3_000, permanent: 375, session: 750, working: 1_500, ..policy.levels },
            ..policy
        };
        let dialect = Dialect { strict_alternation: false, ..talk.dialect.clone() };
        let talk = Talk { policy: small(policy), mode, anchor, dialect, ..talk };
        if let Some(solved) = solve(&talk) {
            assert_no_idle_room(&talk, &solved);
            assert_no_room_is_true(&solved);
            assert_automatic_items_leave_first(&talk, &solved);
            assert_summaries(&talk, &solved);
        }
    }
}

proptest! {
    #![proptest_config(cases(320))]

    /// Questions that name what the summaries lack, and questions that name their lane or task.
    #[test]
    fn accepted_summaries_keep_their_law(
        talk in talk(),
        preset in prop::option::of(prop::sample::select(PRESETS.clone())),
        mode in prop::sample::select(Mode::ALL.to_vec()),
        (names, elsewhere) in any::<((bool, bool), bool)>(),
    ) {
        let policy = preset.unwrap_or_else(|| talk.policy.clone());
        let talk = Talk { names, elsewhere, policy, mode, ..talk };
        if let Some(solved) = solve(&talk) {
            assert_summaries(&talk, &solved);
        }
    }
}

/// Follows the remedy of one excluded turn: the turn is then sent, or no request fits.
fn remedy(talk: &Talk, pick: impl FnOnce(&[(usize, &Row)]) -> usize) {
    let Some(before) = solve(talk) else { return };
    let able: Vec<(usize, &Row)> = before
        .plan
        .excluded()
        .filter(|row| matches!(row.kind, RowKind::Turn | RowKind::Preamble) && row.reason != Reason::OffPath)
        .filter_map(|row| Some((before.input.turns.iter().position(|turn| turn.atom == row.atom)?, row)))
        .collect();
    if able.is_empty() {
        return;
    }
    let (index, row) = &able[pick(&able)];
    let Verdict::Out { remedy: Some(remedy), .. } = &row.verdict else { panic!("every turn has a remedy") };
    let mut after = talk.clone();
    after.marks.retain(|(on, _)| *on != MarkTarget::Turn(*index));
    match remedy.action.as_str() {
        "include-once" => after.marks.push((MarkTarget::Turn(*index), MarkKind::IncludeOnce)),
        "pin" => after.marks.push((MarkTarget::Turn(*index), MarkKind::Sticky)),
        "exclude" | "exclude-once" => {}
        other => panic!("{other}"),
    }
    let Some(then) = solve(&after) else { return };
    let now = then.plan.rows.iter().find(|other| other.atom == row.atom).expect("the turn has a row");
    assert!(now.included(), "the remedy leaves it out: {row:#?}\n{now:#?}");
}

/// A person's lease displaces no turn that a person pinned, and everything else leaves before it: under every policy, it
/// is sent as soon as the budget holds it beside the pinned turn. The pinned turn is in the window if the turns after it
/// fit, and otherwise it is a card.
#[test]
fn a_lease_is_left_out_only_for_what_a_person_decided() {
    let asks = |text: &str, count: usize| TalkMessage::new(Role::User, repeated(text, "word ", count));
    let answers = |count: usize| TalkMessage::new(Role::Assistant, repeated("", "reply ", count));
    for policy in PRESETS.iter() {
        let talk = |budget: u32| Talk {
            turns: vec![
                vec![asks("leased", 300), answers(60)],
                vec![
                    asks("pinned", 60),
                    TalkMessage::calling("", &["c"]),
                    TalkMessage::result("c", repeated("", "line of output\n", 3_000)),
                    answers(30),
                ],
                vec![asks("large", 9_000), answers(60)],
                vec![asks("newest", 60), answers(60)],
            ],
            open: vec![asks("now", 30)],
            marks: vec![(MarkTarget::Turn(0), MarkKind::Ephemeral), (MarkTarget::Turn(1), MarkKind::Sticky)],
            policy: policy.clone(),
            budget,
            ..Talk::default()
        };
        let plans: Vec<(u32, bool)> = (40..500)
            .filter_map(|budget| {
                let talk = talk(budget);
                let solved = solve(&talk)?;
                assert_automatic_items_leave_first(&talk, &solved);
                let is_sent = |turn: usize| solved.plan.included().any(|row| row.atom == solved.input.turns[turn].atom);
                assert!(is_sent(1), "{}", brief(&solved.plan));
                Some((budget, is_sent(0)))
            })
            .collect();
        let alone = solve(&Talk { turns: Vec::new(), marks: Vec::new(), ..talk(500) }).expect("it fits");
        let all = solve(&talk(500)).expect("it fits").input;
        let cards = all.turns.iter().filter_map(|turn| turn.card).map(|(_, tokens)| tokens + MESSAGE_FRAMING);
        // Levels reserve a share for the session.
        let needed = alone.plan.est_total + cards.sum::<u32>() + 3 * MESSAGE_FRAMING + all.labeled;
        assert!(plans.iter().all(|(budget, is_sent)| *budget < needed || *is_sent), "{}: {plans:?}", policy.name);
        assert!(plans.iter().any(|(_, is_sent)| !is_sent), "{}: some budgets are too small", policy.name);
    }
}

fn repeated(start: &str, unit: &str, count: usize) -> String {
    start.chars().chain(unit.chars().cycle().take(count)).collect()
}

/// A plan's input survives serialization and gives the same plan.
fn assert_round_trip(talk: &Talk) {
    let (input, _) = talk::build_input(talk, Encoding::Approximate, &Quarter);
    let mut written = serde_json::to_value(&input).unwrap();
    // A policy's name is the name of its file.
    written["policy"].as_object_mut().unwrap().remove("name");
    let read: PlanInput = serde_json::from_str(&written.to_string()).unwrap();
    let policy = PolicySpec { name: input.policy.name.clone(), ..read.policy };
    let read = PlanInput { policy, ..read };
    assert_eq!(read, input);
    assert_eq!(plan(&read), plan(&input));
}

/// The random conversations above exercise everything that the invariants mention, and not only by rare chance.
#[test]
#[allow(clippy::too_many_lines, reason = "a list of all that must occur")]
fn random_conversations_exercise_every_law() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = talk();
    let mut seen: std::collections::BTreeMap<String, u32> = std::collections::BTreeMap::new();
    for _ in 0..600 {
        let talk = strategy.new_tree(&mut runner).unwrap().current();
        let Some(solved) = solve(&talk) else { continue };
        let mut marks = vec![format!("policy {}", talk.policy.name), format!("layout {}", talk.layout.name())];
        marks.extend([format!("mode {}", talk.mode.title()), format!("choose {:?}", talk.policy.choose)]);
        let rows = solved.plan.rows.iter();
        marks.extend(rows.map(|row| {
            let state = if row.included() { "in" } else { "out" };
            format!("{state}: {:?} {}", row.kind, row.reason.name())
        }));
        marks.sort();
        marks.dedup();
        for mark in marks {
            *seen.entry(mark).or_default() += 1;
        }
    }
    for wanted in [
        "in: Card retrieved",
        "in: Search searched",
        "in: Memory memory",
        "in: Memory sticky",
        "in: Memory leased",
        "out: Memory user_excluded",
        "out: Memory allowance",
        "out: Card allowance",
        "out: Card duplicate",
        "out: Message pin_suggested",
        "out: Search mode_off",
        "out: Part model_cannot",
        "in: Text state_requested",
        "in: Summary summary",
        "out: Turn superseded",
        "out: Turn other_lane",
        "out: Turn soft_target",
        "out: Turn level_full",
        "out: Turn off_path",
        "in: Card sticky",
        "in: Card leased",
        "in: Turn relevant",
        "in: Turn working_level",
        "in: Note sticky",
        "in: Quote replied",
        "policy adaptive",
        "policy lanes",
        "policy levels",
        "policy layered",
        "policy window",
        "choose Lane",
        "choose Levels",
        "choose Relevance",
        "layout classic",
        "layout cache_friendly",
        "mode Off",
        "mode Light",
        "mode Heavy",
    ] {
        assert!(seen.get(wanted).is_some_and(|count| *count >= 3), "{wanted}: {seen:#?}");
    }
}

/// A conversation that grows turn by turn, where each plan receives the anchor of the previous one.
#[test]
fn anchored_window_moves_only_on_overflow() {
    let filler = |n: usize| "word ".repeat(n);
    let mut talk = Talk { budget: 3_000, born: 9, ..Talk::default() };
    let mut before: Option<(usize, ContextPlan)> = None;
    let mut moves = 0;
    for number in 0..200 {
        talk.open = vec![TalkMessage::new(Role::User, format!("{}q{number}", filler(10 + number % 30)))];
        let solved = solve(&talk).expect("nothing is too large");
        let recent = || solved.plan.included().filter(|row| row.section() == Some(Section::Recent));
        let first = recent()
            .next()
            .map_or(talk.turns.len(), |row| solved.input.turns.iter().position(|turn| turn.atom == row.atom).unwrap());
        if let Some((start, old)) = &before {
            assert!(first >= *start, "the window never moves back by itself");
            if first > *start {
                moves += 1;
                let lost: u32 =
                    old.included().filter(|row| row.section() == Some(Section::Recent)).map(|row| row.tokens).sum();
                assert!(lost + old.framing + solved.plan.tools > talk.budget / 2, "it moved without need");
                let sent = |item: &&pleach::domain::planning::plan::Item| item.form != Form::Gone;
                let calls = |item: &pleach::domain::planning::plan::Item| {
                    if item.form == Form::Elided { 0 } else { 12 * u32::from(item.calls) }
                };
                let items = recent().flat_map(|row| &row.items).filter(sent);
                let history: u32 = items.map(|item| item.tokens + 3 + calls(item)).sum();
                let rest = solved.plan.est_total - history;
                assert!(history <= (talk.budget - rest) * 70 / 100 + 3, "{history} of {}", talk.budget - rest);
            } else {
                let same = old.included().filter(|row| row.section() == Some(Section::Recent)).map(|row| row.atom);
                assert!(
                    same.eq(recent().map(|row| row.atom).take(talk.turns.len() - 1 - first)),
                    "the prefix stays the same"
                );
            }
        }
        talk.anchor.clone_from(&solved.plan.anchor);
        before = Some((first, solved.plan));
        let mut turn = talk.open.clone();
        if number % 4 == 0 {
            turn.push(TalkMessage::calling("", &["a"]));
            turn.push(TalkMessage::result("a", filler(number % 90)));
        }
        turn.push(TalkMessage::new(Role::Assistant, filler(20 + number % 40)));
        talk.turns.push(turn);
    }
    assert!((5..40).contains(&moves), "{moves} moves in 200 turns");
}

#[test]
fn plan_id_depends_on_what_is_sent() {
    let turn_of = |n: usize| {
        vec![TalkMessage::new(Role::User, format!("question {n}")), TalkMessage::new(Role::Assistant, "answer")]
    };
    let base = Talk {
        turns: (0..4).map(turn_of).collect(),
        open: vec![TalkMessage::new(Role::User, "now")],
        ..Talk::default()
    };
    let id = |talk: &Talk| solve(talk).unwrap().plan.id;
    let mut changed = vec![
        Talk { layout: Layout::CacheFriendly, ..base.clone() },
        Talk { tools: 1, ..base.clone() },
        Talk { window_turns: 2, ..base.clone() },
        Talk { marks: vec![(MarkTarget::Turn(1), MarkKind::Exclude)], ..base.clone() },
        Talk { marks: vec![(MarkTarget::Turn(1), MarkKind::Sticky)], ..base.clone() },
        Talk { marks: vec![(MarkTarget::Message(1, 1), MarkKind::Exclude)], ..base.clone() },
        Talk { open: vec![TalkMessage::new(Role::User, "now?")], born: 1, ..base.clone() },
        Talk { own: vec![OwnText { section: Section::System, text: "Be brief.".into() }], ..base.clone() },
    ];
    let mut strict = base.clone();
    strict.dialect.strict_alternation = true;
    let mut named = base.clone();
    named.policy.name = "mine".into();
    changed.extend([strict, named]);
    let mut ids: HashSet<Hash> = changed.iter().map(id).collect();
    assert_eq!(ids.len(), changed.len(), "each change gives another id");
    assert!(ids.insert(id(&base)));
    assert_eq!(id(&base), id(&Talk { inactive_marks: Vec::new(), ..base.clone() }));
}
