//! The request of a call that was made: opened from its messages and from the call history, read-only, with the steps
//! to other calls. Snapshots and requests.

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, run_id};
use crate::screens::pictures::picture;
use crate::screens::raw_request;
use pleach::domain::base::{Failure, FailureKind, Hash, RunId};
use pleach::domain::call::item_use::counts;
use pleach::domain::call::{CallUses, ItemUse, RunStatus, Usage, UseCount, UseKind};
use pleach::domain::planning::{ContextPlan, RowKind, Verdict};
use pleach::engine::api::{
    Answer, BranchRequest, CallAnswer, CallRequest, CallSelector, Event, PlanRequest, RawRequest, Request, SentRequest,
    SessionEvent, TurnEvent,
};
use pleach::tui::screens::request::model::RequestScreen;
use std::sync::Arc;

/// The second of three calls of turn 2.
pub(super) fn found() -> SentRequest {
    let nodes = fixture::story();
    let mut plan = fixture::plan(&nodes);
    plan.warnings.clear();
    (plan.rows[1].kind, plan.rows[2].kind) = (RowKind::State, RowKind::Note);
    plan.rows[4].title = "And with two tabs open?".into();
    plan.rows[5].verdict = Verdict::Out { needed: 0, remedy: None };
    let by = |at: usize| if at == 1 { vec![UseKind::Quoted, UseKind::Named] } else { Vec::new() };
    let used = plan.included().filter(|row| counts(row)).enumerate();
    let items: Vec<ItemUse> = used
        .map(|(at, row)| {
            let section = row.section().unwrap();
            ItemUse { item: row.atom.key(), section, tokens: row.tokens, by: by(at) }
        })
        .collect();
    let mut card = fixture::run(1, &nodes[0], &nodes[3]);
    card.round = 2;
    card.est_total = plan.est_total;
    card.usage.prompt = Some(5_364);
    card.usage.cached_read = Some(4_096);
    card.uses = Some(UseCount { shown: 3, used: 1, shown_tokens: 4_391, used_tokens: 340 });
    SentRequest {
        card,
        plan: Ok(Arc::new(plan)),
        code_set: None,
        uses: Some(Box::new(CallUses { rule: 1, items })),
        turn: Some(2),
        rounds: 3,
        before: Some(run_id(7)),
        after: Some(run_id(8)),
    }
}

fn is_asked(request: &Request) -> bool {
    matches!(request, Request::Call(CallRequest::SentRequest { .. }))
}

fn asked(stage: &Stage) -> Vec<Option<RunId>> {
    let of = |request: &Request| match request {
        Request::Call(CallRequest::SentRequest { branch: MAIN, run }) => Some(*run),
        _ => None,
    };
    stage.sent.iter().filter_map(|(_, request)| of(request)).collect()
}

fn shows(stage: &mut Stage, found: SentRequest) {
    stage.reply(is_asked, CallAnswer::SentRequest(Box::new(found)));
}

/// The overlay, opened from the first message.
pub(crate) fn opened() -> Stage {
    let mut stage = fixture::opened();
    stage.press("tab g ctrl-o");
    shows(&mut stage, found());
    stage
}

fn both(name: &str, stage: &mut Stage) {
    for size in [(80, 24), (120, 35)] {
        picture(name, size, stage);
    }
}

#[test]
fn the_request_of_a_past_message_shows_the_rows_of_its_call() {
    let mut stage = fixture::opened();
    stage.press("tab g ctrl-o");
    assert_eq!(asked(&stage), [Some(run_id(1))]);
    assert!(stage.screen(120, 35).contains("Loading the request"));
    shows(&mut stage, found());
    let selected = |stage: &Stage| {
        let overlay = stage.model.layers.top::<RequestScreen>().unwrap();
        overlay.selected().map(|(row, _)| row.title.clone())
    };
    assert_eq!(selected(&stage).as_deref(), Some("And with two tabs open?"), "the message that was asked");
    let screen = stage.screen(120, 35);
    assert!(
        screen.contains("Request of turn 2, round 2 of 3 · 5 in, 2 left out · 5,213 of 9,000 · $0.0011"),
        "{screen}"
    );
    assert!(screen.contains("1 of 3 items used") && !screen.contains("cache breaks"), "{screen}");
    stage.press("g j j");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Used by the answer: quoted, named."), "{screen}");
    let atom = fixture::plan(&fixture::story()).rows[2].atom;
    let text_request = Request::Call(CallRequest::SentText { run: run_id(1), atom });
    stage.reply(|request| *request == text_request, Answer::Text("Never log tokens, not even in tests.".into()));
    both("sent_request", &mut stage);
    stage.press("v");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Server's count: 5,364 tokens, 2.9% more than"), "{screen}");
    both("sent_request_details", &mut stage);
    stage.press("v esc");
    assert!(stage.model.layers.is_empty());
    assert_eq!(
        (stage.model.focus, stage.model.conversation.cursor),
        (pleach::tui::model::focus::Focus::Conversation, 0)
    );
}

#[test]
fn the_request_of_a_call_refuses_marks() {
    let mut stage = opened();
    let changes = |stage: &Stage| {
        let changes = |request: &&(_, Request)| {
            matches!(request.1, Request::Branch(_))
                && !matches!(request.1, Request::Branch(BranchRequest::Steps { .. }))
                || matches!(request.1, Request::Plan(PlanRequest::Preview { .. } | PlanRequest::Exact { .. }))
        };
        stage.sent.iter().filter(changes).count()
    };
    let before = changes(&stage);
    for key in ["p", "P", "x", "X", "i", "d", "space", "V", "S", "r", "[", "]", "E"] {
        stage.press("esc").press("ctrl-o");
        shows(&mut stage, found());
        stage.press(key).wait(500);
        let screen = stage.screen(120, 35);
        assert!(
            screen.contains("This request was sent; marks act on the next request: Ctrl+O from the composer."),
            "{key}: {screen}"
        );
    }
    assert_eq!(changes(&stage), before);
    let overlay = stage.model.layers.top::<RequestScreen>().unwrap();
    assert!(overlay.selection.is_empty() && overlay.preview.action.is_none());
    stage.press("ctrl-o");
    assert!(stage.model.layers.is_empty(), "the key that opened it closes it");
}

#[test]
fn other_calls_are_one_key_away() {
    let mut stage = opened();
    stage.press("right");
    assert_eq!(asked(&stage).last(), Some(&Some(run_id(8))));
    assert!(stage.screen(120, 35).contains("round 2 of 3"), "the present call stays until the other one is loaded");
    let mut next = found();
    (next.card.id, next.card.round, next.before, next.after) = (run_id(8), 3, Some(run_id(1)), None);
    next.card.usage.prompt = None;
    let mut plan: ContextPlan = (**next.plan.as_ref().unwrap()).clone();
    plan.rows[4].atom = pleach::domain::conversation::mark::Atom::Section { text: Hash::of(b"another question") };
    plan.rows[4].title = "And what now?".into();
    plan.rows.swap(3, 4);
    next.plan = Ok(Arc::new(plan));
    shows(&mut stage, next);
    assert!(stage.screen(120, 35).contains("round 3 of 3"));
    let row = stage.model.layers.top::<RequestScreen>().and_then(RequestScreen::selected).unwrap().0;
    assert_eq!(row.title, "And what now?", "the cursor stays on the message that was asked");
    stage.press("right");
    assert!(
        stage.screen(120, 35).contains("This is the newest call; Ctrl+O from the composer shows the next request.")
    );
    stage.press("left");
    let mut first = found();
    (first.card.id, first.card.round, first.rounds, first.before) = (run_id(7), 1, 1, None);
    shows(&mut stage, first);
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Request of turn 2 ·"), "{screen}");
    stage.press("left");
    assert!(stage.screen(120, 35).contains("This is the first call."));
    stage.press("esc esc ctrl-o left");
    assert_eq!(asked(&stage).last(), Some(&None), "from the next request, the newest call");
    shows(&mut stage, found());
    assert!(stage.screen(120, 35).contains("Request of turn 2"));
    stage.press("esc");
    assert!(stage.screen(120, 35).contains("Next request ·"), "Esc returns to the next request");
}

#[test]
fn a_late_answer_does_not_replace_a_newer_one() {
    let mut stage = opened();
    stage.press("right left");
    let tickets: Vec<_> =
        stage.sent.iter().filter(|(_, request)| is_asked(request)).map(|(ticket, _)| *ticket).collect();
    let mut other = found();
    (other.card.id, other.turn) = (run_id(7), Some(1));
    stage.answer(tickets[2], Answer::Call(CallAnswer::SentRequest(Box::new(other))));
    let mut late = found();
    (late.card.id, late.turn) = (run_id(8), Some(9));
    stage.answer(tickets[1], Answer::Call(CallAnswer::SentRequest(Box::new(late))));
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Request of turn 1,"), "{screen}");
}

#[test]
fn an_absent_plan_is_said_in_one_sentence() {
    let mut stage = fixture::opened();
    stage.press("tab g ctrl-o");
    let absent = SentRequest { plan: Err(Failure::user("The plan of this call was deleted.")), uses: None, ..found() };
    shows(&mut stage, absent);
    both("sent_request_absent", &mut stage);
    stage.press("p j k G v enter y w left");
    assert_eq!(asked(&stage).last(), Some(&Some(run_id(7))), "the other calls can still be reached");
    shows(&mut stage, found());
    assert!(stage.screen(80, 24).contains("Never log tokens."));
    stage.press("esc ctrl-o");
    let ticket = stage.sent.iter().rev().find(|(_, request)| is_asked(request)).unwrap().0;
    let result = Err(Failure::new(FailureKind::Store, "The stored plan can't be read: no such thing."));
    stage.event(Event::Answer { ticket, result });
    assert!(stage.screen(80, 24).contains("The stored plan can't be read: no such thing."));
}

#[test]
fn a_message_without_a_call_opens_the_next_request_and_says_why() {
    let mut stage = fixture::opened();
    stage.press("tab G ctrl-o");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Next request") && screen.contains("No call is stored for this message"), "{screen}");
    let mut stage = fixture::opened();
    let mut head = fixture::story()[5].head.clone();
    head.imported = true;
    stage.event(Event::Session(SessionEvent::Nodes { session: fixture::SESSION, heads: vec![head] }));
    stage.press("tab G ctrl-o");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("This message was imported; this is the next request."), "{screen}");
    assert!(asked(&stage).is_empty());
}

#[test]
fn a_call_in_progress_is_shown_and_brought_up_to_date() {
    let mut stage = fixture::opened();
    stage.press("tab g ctrl-o");
    let mut open = found();
    (open.card.status, open.card.usage, open.card.cost_micro) = (RunStatus::Open, Usage::default(), None);
    (open.card.uses, open.uses, open.after) = (None, None, None);
    shows(&mut stage, open);
    let screen = stage.screen(120, 35);
    assert!(screen.contains("the answer is arriving") && !screen.contains("used"), "{screen}");
    let count = asked(&stage).len();
    stage.event(Event::Turn(TurnEvent::Run(Box::new(found().card))));
    assert_eq!(asked(&stage).len(), count + 1);
    shows(&mut stage, found());
    let screen = stage.screen(120, 35);
    assert!(screen.contains("complete · 1 of 3 items used"), "{screen}");
}

#[test]
fn a_request_that_was_edited_by_hand_says_so_and_shows_its_bytes() {
    let mut stage = fixture::opened();
    stage.press("tab g ctrl-o");
    let mut edited = found();
    edited.card.edited = true;
    let card = edited.card.clone();
    shows(&mut stage, edited);
    both("sent_request_edited", &mut stage);
    stage.press("w");
    let is_bytes = |request: &Request| matches!(request, Request::Call(CallRequest::ReplayDryRun { .. }));
    let rendered = |digest| RawRequest { digest, ..*raw_request::raw() };
    let same = Box::new(rendered(card.request_digest));
    stage.reply(is_bytes, CallAnswer::Replayed { run: Box::new(card.clone()), request: same });
    both("sent_request_raw", &mut stage);
    let screen = stage.press("t").screen(120, 35);
    assert!(screen.contains("The exact request, as it was sent"), "{screen}");
    assert!(
        screen.contains("1 state") && screen.contains("login⟨U+00A0⟩fail"),
        "parts as in the next request: {screen}"
    );
    for key in ["E", "e", "S"] {
        let screen = stage.press(key).screen(120, 35);
        assert!(screen.contains("This request was sent; only the next request can be edited"), "{key}: {screen}");
    }
    stage.press("w").press("w");
    let other = Box::new(rendered(Hash::of(b"other")));
    stage.reply(is_bytes, CallAnswer::Replayed { run: Box::new(card), request: other });
    let screen = stage.screen(120, 35);
    assert!(screen.contains("The request as it would be rendered now") && screen.contains("not the bytes that were"));
}

#[test]
fn a_call_is_compared_replayed_and_left_for_its_message() {
    let mut stage = opened();
    stage.press("D");
    let before = Some(CallSelector::Named(run_id(1).to_string()));
    let wanted = Request::Call(CallRequest::DiffPlans { before, after: CallSelector::Next(MAIN) });
    assert!(stage.sent.iter().any(|(_, request)| *request == wanted));
    stage.press("esc Z");
    assert!(stage.screen(120, 35).contains("Replay this call?"));
    stage.press("esc").press("j j j");
    let node = stage.model.layers.top::<RequestScreen>().unwrap().selected_node();
    assert!(node.is_some(), "a turn is selected");
    stage.press("m");
    assert!(stage.model.layers.is_empty());
    let session = stage.model.session.as_ref().unwrap();
    assert_eq!(stage.model.conversation.selected().map(|slot| session.tree.head(slot).id), node);
}

#[test]
fn the_call_history_opens_the_request_of_a_call() {
    let mut stage = fixture::opened();
    stage.press("f9");
    let nodes = fixture::story();
    let runs = vec![fixture::run(1, &nodes[0], &nodes[3]), fixture::run(2, &nodes[4], &nodes[5])];
    stage.reply(|request| matches!(request, Request::Call(CallRequest::List)), CallAnswer::Runs(runs));
    stage.press("v");
    assert_eq!(asked(&stage), [Some(run_id(2))]);
    shows(&mut stage, found());
    stage.press("ctrl-o");
    assert!(stage.screen(120, 35).contains("Call history"), "and the history is below it");
}

#[test]
fn deleted_messages_are_loaded_again() {
    let mut stage = opened();
    let (ticket, _) = *stage
        .sent
        .iter()
        .map(|(ticket, request)| (ticket, request))
        .filter(|(_, request)| matches!(request, Request::Call(CallRequest::SentText { .. })))
        .collect::<Vec<_>>()
        .last()
        .unwrap();
    stage.answer(*ticket, Answer::Text("the deleted words".into()));
    assert!(stage.screen(120, 35).contains("the deleted words"));
    let mut head = fixture::story()[1].head.clone();
    head.end = pleach::domain::conversation::message::End::Removed;
    let count = asked(&stage).len();
    stage.event(Event::Session(SessionEvent::Nodes { session: fixture::SESSION, heads: vec![head] }));
    assert_eq!(asked(&stage).len(), count + 1);
    shows(&mut stage, found());
    assert!(!stage.screen(120, 35).contains("the deleted words"));
}

/// 10,000 rows are listed once, and a frame draws only those that are visible.
#[test]
fn a_huge_plan_is_listed_and_stepped_through() {
    let mut large = found();
    let mut plan: ContextPlan = (**large.plan.as_ref().unwrap()).clone();
    let turn = plan.rows[6].clone();
    for n in 0..10_000_u32 {
        let mut row = turn.clone();
        row.atom = pleach::domain::conversation::mark::Atom::Message { node: Hash::of(&n.to_le_bytes()) };
        (row.title, row.source.turn) = (format!("Older turn {n}"), Some(n));
        plan.rows.push(row);
    }
    large.plan = Ok(Arc::new(plan));
    let mut stage = fixture::opened();
    stage.press("tab g ctrl-o");
    shows(&mut stage, large);
    stage.press("G");
    let screen = stage.screen(80, 24);
    assert!(screen.contains("Older turn 9999") && screen.contains("10,002 left out"), "{screen}");
}
