//! Comparing stored calls happens in the background and delays nothing else.

use crate::support::bench::{Bench, Client, Model, draft};
use crate::support::live::Live;
use pleach::domain::base::{FailureKind, RunId};
use pleach::domain::conversation::Atom;
use pleach::engine::api::{
    Answer, CallAnswer, CallRequest, CallSelector, DraftKind, Event, ItemName, PlanAnswer, PlanRequest, Request,
    SessionAnswer, SessionRequest, Ticket,
};
use pleach::store::Store;
use pleach::tui::screens::question::model::Question;

/// The order in which tickets were answered.
fn order(seen: &[Event], tickets: [Ticket; 2]) -> Vec<Ticket> {
    let answered = |event: &Event| match event {
        Event::Answer { ticket, .. } => Some(*ticket).filter(|ticket| tickets.contains(ticket)),
        _ => None,
    };
    seen.iter().filter_map(answered).collect()
}

#[test]
fn long_comparison_delays_nothing() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let branch = client.session();
    for n in 0..24 {
        client.say(branch, &format!("Question {n}?"));
    }
    let runs = client.runs();
    let which = |at: usize| CallSelector::Named(runs[at].id.to_string());
    let view = client.open();
    let atom = Atom::Message { node: view.nodes[0].key };
    let mut overtook = false;
    // On one thread the answers would always come in the order of the requests.
    for _ in 0..50 {
        let mut long = Vec::new();
        for at in 1..runs.len() {
            long.push(client.post(Request::Call(CallRequest::DiffPlans { before: Some(which(0)), after: which(at) })));
        }
        let (last, short) = (long[long.len() - 1], client.post(Request::Session(SessionRequest::List)));
        assert!(matches!(client.answer(last), Ok(Answer::Call(CallAnswer::Diff(_)))));
        assert!(matches!(client.answer(short), Ok(Answer::Session(SessionAnswer::Sessions(_)))));
        overtook |= order(&client.seen, [last, short]) == [short, last];
        if overtook {
            break;
        }
    }
    assert!(overtook, "the short question always waited for the long ones");
    let why = |most: Option<u32>| Request::Plan(PlanRequest::Why { branch, item: ItemName::Atom(atom), most });
    let passing: Vec<Ticket> = (0..30).map(|_| client.post(why(Some(24)))).collect();
    let whole = client.post(why(None));
    let newest = *passing.last().unwrap();
    let Ok(Answer::Plan(PlanAnswer::History(history))) = client.answer(newest) else {
        panic!("the newest request is answered")
    };
    assert!(!history.stays.is_empty());
    assert!(matches!(client.answer(whole), Ok(Answer::Plan(PlanAnswer::History(_)))), "the request is not dropped");
    for ticket in &passing[..29] {
        match client.answer(*ticket) {
            Ok(Answer::Plan(PlanAnswer::History(_))) => {}
            Err(failure) => assert_eq!(failure.kind, FailureKind::Stale, "{failure}"),
            other => panic!("{other:?}"),
        }
    }
}

/// The screen and the engine in one process. This test's thread is the screen's.
#[test]
fn screen_never_reads_the_store() {
    let bench = Bench::new(&Model::new([]));
    let store = bench.store();
    let mut client = bench.start();
    let branch = client.session();
    for words in ["How do bees dance?", "And wasps?"] {
        client.say(branch, words);
    }
    let before = Store::reads_of_this_thread();
    store.sessions().unwrap();
    assert_eq!(Store::reads_of_this_thread(), before + 1, "reads are counted");

    let before = Store::reads_of_this_thread();
    let mut live = Live::open(client, "test", (120, 35));
    live.types("Which of them waggle");
    live.until(|model| model.branch().is_some_and(|branch| model.plan.plan(branch.id).is_some()));
    for keys in ["ctrl-o j k h", "esc ctrl-r", "b e e esc", "f8 j esc", "f9 enter", "esc ctrl-b j c", "esc f6", "f3"] {
        keys.split(' ').for_each(|key| live.press(key));
        live.frame();
        live.until(|model| model.requests.pending.is_empty());
        live.frame();
        live.press("esc");
    }
    while !live.model.layers.is_empty() {
        live.press("esc");
    }
    live.press("enter");
    live.until(|model| model.composer.is_empty());
    live.until(|model| model.live.is_empty());
    live.frame();
    let last = live.model.layers.last();
    assert!(!live.model.layers.on::<Question>(), "{last:?}");
    assert_eq!(Store::reads_of_this_thread(), before, "the screen's thread read from the store");
}

/// A call whose edit was undone stays in the call history, but later calls are not compared with it.
#[test]
fn the_previous_call_is_no_undone_call() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "How do bees dance?");
    client.say(branch, "And wasps?");
    let question = client.open().nodes.iter().rfind(|node| node.preview == "And wasps?").unwrap().id;
    client.turn(branch, &draft("And hornets?", DraftKind::Edit(question)));
    client.must(Request::Session(SessionRequest::Undo));
    client.say(branch, "Do they waggle?");
    let runs: Vec<RunId> = client.runs().iter().map(|run| run.id).collect();
    let diff = |client: &mut Client, before: Option<CallSelector>, after: RunId| {
        let after = CallSelector::Named(after.to_string());
        match client.must(Request::Call(CallRequest::DiffPlans { before, after })) {
            Answer::Call(CallAnswer::Diff(diff)) => diff.before.run,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(diff(&mut client, None, runs[3]), Some(runs[1]));
    assert_eq!(diff(&mut client, None, runs[2]), Some(runs[1]), "the undone call itself");
}
