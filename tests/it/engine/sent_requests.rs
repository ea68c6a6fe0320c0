//! The request of a call that was made, through the whole engine: the rows of its stored plan, its rounds, the calls
//! before and after it, and the texts as they were sent, also after messages or plans were deleted.
//! Not for: how the screen shows it (`screens::request::sent`).

use crate::support::bench::{Bench, Client, Echo, Model, Say, message, run_sql, text};
use pleach::domain::base::{BranchId, RunId};
use pleach::domain::conversation::{Atom, MarkKind, Role};
use pleach::domain::planning::{ContextPlan, RowKind};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, CallAnswer, CallRequest, ItemName, PlanRequest, Request, SentRequest,
    SessionRequest,
};
use std::sync::Arc;

fn sent(client: &mut Client, branch: BranchId, run: Option<RunId>) -> Box<SentRequest> {
    match client.must(Request::Call(CallRequest::SentRequest { branch, run })) {
        Answer::Call(CallAnswer::SentRequest(found)) => found,
        other => panic!("{other:?}"),
    }
}

fn text_of(client: &mut Client, run: RunId, atom: Atom) -> String {
    match client.must(Request::Call(CallRequest::SentText { run, atom })) {
        Answer::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

fn stored(client: &mut Client, run: RunId) -> Arc<ContextPlan> {
    match client.must(Request::Call(CallRequest::StoredPlan { id: run.to_string() })) {
        Answer::Call(CallAnswer::StoredPlan { plan, .. }) => plan,
        other => panic!("{other:?}"),
    }
}

/// Two turns; the second calls a tool twice, so that it has three calls.
fn talk() -> (Arc<Model>, Bench, Client, BranchId) {
    let call = || vec![Say::Call("echo".into(), r#"{"size":40}"#.into())];
    let model = Model::new([text("Cranes are red."), call(), call(), text("Twice as said.")]);
    let mut bench = Bench::new(&model);
    bench.tools = Some(Arc::new(Echo));
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "Which color do cranes have?");
    client.say(branch, "Say it twice.");
    (model, bench, client, branch)
}

#[test]
fn rows_are_those_of_the_stored_plan() {
    let (model, _bench, mut client, branch) = talk();
    let runs = client.runs();
    assert_eq!(runs.len(), 4);
    for (at, run) in runs.iter().enumerate() {
        let found = sent(&mut client, branch, Some(run.id));
        assert_eq!(found.plan.as_ref().unwrap(), &stored(&mut client, run.id), "call {at}");
        assert_eq!((&found.card, found.uses.is_some()), (run, run.uses.is_some()));
        let place = (found.turn, found.card.round, found.rounds);
        assert_eq!(place, [(Some(1), 1, 1), (Some(2), 1, 3), (Some(2), 2, 3), (Some(2), 3, 3)][at]);
        let neighbors = (at.checked_sub(1).map(|at| runs[at].id), runs.get(at + 1).map(|run| run.id));
        assert_eq!((found.before, found.after), neighbors, "call {at}");
        let body: serde_json::Value = serde_json::from_slice(&model.bodies()[at]).unwrap();
        let all = body["messages"].as_array().unwrap().iter();
        let words: String = all.filter_map(|message| message["content"].as_str()).collect();
        for item in found.plan.as_ref().unwrap().included().flat_map(|row| &row.items) {
            let shown = text_of(&mut client, run.id, Atom::Message { node: item.key });
            let shown = shown.strip_prefix(item.role.name()).and_then(|text| text.strip_prefix(":\n")).unwrap();
            let text = shown.split("\n[calls ").next().unwrap().trim();
            assert!(words.contains(text), "call {at}: {text:?} in {words:?}");
        }
    }
    assert_eq!(sent(&mut client, branch, None).card.id, runs[3].id, "without a call, the newest");
}

#[test]
fn texts_of_rows_are_those_that_were_sent() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    for n in 0..12 {
        client.say(branch, &format!("Question {n} about the red cranes of the northern marsh."));
    }
    let first = client.open().nodes.iter().find(|node| node.role == Role::User).unwrap().id;
    let items = vec![ItemName::TurnOf(first)];
    let act = Act::Set { kind: MarkKind::Sticky, toggle: false };
    client.must(Request::Branch(BranchRequest::Mark { branch, items, act }));
    client.say(branch, "And now?");
    let run = client.runs().last().unwrap().id;
    let body = String::from_utf8(model.bodies().last().unwrap().clone()).unwrap();
    let plan = sent(&mut client, branch, Some(run)).plan.unwrap();
    let mut blocks = 0;
    for row in plan.included().filter(|row| row.text.is_some()) {
        let shown = serde_json::to_string(text_of(&mut client, run, row.atom).trim()).unwrap();
        assert!(body.contains(shown.trim_matches('"')), "{}: {shown}", row.title);
        blocks += 1;
    }
    assert!(blocks > 0, "instructions are sent as texts of the program");
    let left_out = plan.excluded().find(|row| row.kind == RowKind::Turn);
    if let Some(row) = left_out {
        assert!(!text_of(&mut client, run, row.atom).is_empty(), "a row that was left out shows its messages");
    }
}

#[test]
fn a_message_inside_a_row_of_the_next_request_has_its_text() {
    let (_model, _bench, mut client, branch) = talk();
    let plan = client.whole_plan(branch, &message("And now?"));
    let row = plan.included().find(|row| row.kind == RowKind::Turn).unwrap();
    let atom = Atom::Message { node: row.items[1].key };
    let answer = client.must(Request::Plan(PlanRequest::RowText { branch, atom }));
    assert_eq!(answer, Answer::Text("assistant:\nCranes are red.\n".into()));
}

#[test]
fn a_call_without_its_plan_still_shows_what_is_stored() {
    let (_model, bench, mut client, branch) = talk();
    let runs = client.runs();
    run_sql(&bench.store_path(), "DELETE FROM plan; DELETE FROM plan_text;");
    let found = sent(&mut client, branch, Some(runs[2].id));
    assert_eq!(found.plan.unwrap_err().to_string(), "The plan of this call was deleted.");
    assert_eq!((found.card.id, found.turn, found.rounds), (runs[2].id, Some(2), 3));
    assert_eq!((found.before, found.after), (Some(runs[1].id), Some(runs[3].id)), "its neighbors can still be reached");
    let failure = client.ask(Request::Call(CallRequest::SentText { run: runs[2].id, atom: Atom::code_search() }));
    assert_eq!(failure.unwrap_err().to_string(), "The plan of this call was deleted.");
    let unknown = RunId(uuid::Uuid::from_u128(7));
    let failure = client.ask(Request::Call(CallRequest::SentRequest { branch, run: Some(unknown) }));
    assert_eq!(failure.unwrap_err().to_string(), "That call is no longer stored. `pleach plans list` lists the calls.");
}

#[test]
fn a_branch_without_calls_says_so() {
    let model = Model::new([]);
    let mut client = Bench::new(&model).start();
    let branch = client.session();
    let failure = client.ask(Request::Call(CallRequest::SentRequest { branch, run: None })).unwrap_err();
    assert_eq!(failure.to_string(), "There are no calls on this branch yet. Send a message first.");
}

#[test]
fn texts_that_were_deleted_are_not_shown() {
    let (_model, _bench, mut client, branch) = talk();
    let runs = client.runs();
    let plan = sent(&mut client, branch, Some(runs[1].id)).plan.unwrap();
    let row = plan.included().find(|row| row.kind == RowKind::Turn).unwrap().clone();
    assert!(text_of(&mut client, runs[1].id, row.atom).contains("Cranes are red."));
    let first = client.open().nodes.iter().find(|node| node.role == Role::User).unwrap().id;
    client.must(Request::Branch(BranchRequest::RemoveMessage { branch, item: ItemName::TurnOf(first) }));
    let shown = text_of(&mut client, runs[1].id, row.atom);
    assert!(!shown.contains("ranes") && shown.contains("deleted permanently"), "{shown}");
    let found = sent(&mut client, branch, Some(runs[1].id));
    let titles: Vec<String> = found.plan.unwrap().rows.iter().map(|row| row.title.clone()).collect();
    assert!(titles.iter().all(|title| !title.contains("ranes")), "{titles:?}");
}

#[test]
fn a_call_of_another_branch_has_the_calls_of_that_branch_around_it() {
    let (model, _bench, mut client, main) = talk();
    let head = client.open().nodes[1].id;
    let fork = BranchRequest::Fork { branch: main, at: Some(head), name: Some("side".into()), switch: true };
    let Answer::Branch(BranchAnswer::Branch(side)) = client.must(Request::Branch(fork)) else { panic!() };
    model.then(text("Elsewhere."));
    client.say(side.id, "And where do they live?");
    let runs = client.runs();
    let found = sent(&mut client, side.id, Some(runs[4].id));
    assert_eq!((found.before, found.after, found.turn), (Some(runs[0].id), None, Some(2)), "the path of the fork");
    let found = sent(&mut client, side.id, Some(runs[2].id));
    assert_eq!((found.before, found.after), (Some(runs[1].id), Some(runs[3].id)), "the calls of main");
    client.must(Request::Session(SessionRequest::Undo));
}
