//! The requests of one turn with tool calls, under every policy: each request continues the one before, results come on
//! top of a policy's limit, and a change that a person makes between two requests takes effect with the next one.
//! Not for: what the first request finds (`retrieval`, `code_context`), or errors that recur (`activation`).

use crate::support::bench::{Bench, Client, Echo, Model, Say, draft, message, text};
use pleach::domain::base::BranchId;
use pleach::domain::call::ModelInfo;
use pleach::domain::conversation::{LeaseTurns, MarkKind, Overrides, Role};
use pleach::domain::planning::{ContextPlan, Mode};
use pleach::engine::api::{
    Act, Answer, BranchRequest, CallAnswer, CallRequest, DraftKind, Event, ItemName, Request, TurnEvent,
};
use serde_json::Value;
use std::sync::Arc;

const ROUNDS: usize = 8;

/// A client with the policies as they are shipped and a model with a large context window.
fn client(bench: &Bench, rounds: u32) -> Client {
    bench.start_with(|setup| {
        setup.settings.rounds = rounds;
        setup.settings.policies = pleach::config::policies::load(std::path::Path::new("/nowhere")).unwrap();
        let model = setup.settings.models.clone();
        setup.settings.models =
            Arc::new(move |name, profile| ModelInfo { context_window: 128_000, ..model(name, profile) });
    })
}

/// A branch under a policy, with more history than the policy sends.
fn with_history(model: &Arc<Model>, overrides: Overrides) -> (Bench, Client, BranchId) {
    let mut bench = Bench::new(model);
    bench.tools = Some(Arc::new(Echo));
    let mut client = client(&bench, 20);
    let branch = client.session();
    // Small requests, so that the history is made quickly.
    let small = Overrides { mode: Some(Mode::Off), budget: Some(2_000), ..under("window") };
    client.must(Request::Branch(BranchRequest::Override { branch, overrides: small }));
    for turn in 0..60 {
        model.then(text(&format!("The lamp of room {turn} was repaired with wire and tape. ").repeat(55)));
        client.say(branch, &format!("What happened to the lamp of room {turn}?"));
    }
    client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
    (bench, client, branch)
}

fn under(policy: &str) -> Overrides {
    Overrides { policy: Some(policy.into()), ..Overrides::default() }
}

/// Scripts a turn whose every round but the last calls the tool.
fn calls_tools(model: &Model, characters: usize) {
    for _ in 0..ROUNDS {
        model.then(vec![Say::Call("echo".into(), format!(r#"{{"size":{characters}}}"#))]);
    }
    model.then(text("Done."));
}

/// Leases and pins a turn each: the newest two, which every policy sends, and two old ones. A lease of a third old one,
/// which the question finds, has ended.
fn mark_turns(client: &mut Client, branch: BranchId) {
    let questions: Vec<_> =
        client.open().nodes.iter().filter(|node| node.role == Role::User).map(|node| node.id).collect();
    let newest = questions.len() - 1;
    let (leased, ended) = (MarkKind::leased(5), MarkKind::Leased { turns: LeaseTurns::Ended });
    for (at, kind) in [(newest, leased), (newest - 1, MarkKind::Sticky), (1, leased), (2, MarkKind::Sticky), (3, ended)]
    {
        let act = Act::Set { kind, toggle: false };
        let items = vec![ItemName::TurnOf(questions[at])];
        client.must(Request::Branch(BranchRequest::Mark { branch, items, act }));
    }
}

fn messages(body: &[u8]) -> Vec<Value> {
    let body: Value = serde_json::from_slice(body).unwrap();
    body["messages"].as_array().unwrap().clone()
}

/// The messages before the turn's first result.
fn prefix(body: &[u8]) -> Vec<Value> {
    let all = messages(body);
    let question = all.iter().rposition(|message| message["role"] == "user").unwrap();
    all[..question].to_vec()
}

fn plans(client: &mut Client, last: usize) -> Vec<Arc<ContextPlan>> {
    let runs = client.runs();
    let mut plans = Vec::new();
    for run in &runs[runs.len() - last..] {
        assert_eq!(client.replay(run).unwrap(), run.request_digest);
        let stored = client.must(Request::Call(CallRequest::StoredPlan { id: run.plan.to_string() }));
        let Answer::Call(CallAnswer::StoredPlan { plan, .. }) = stored else { panic!("{stored:?}") };
        plans.push(plan);
    }
    plans
}

#[test]
fn each_request_of_a_turn_begins_with_the_request_before() {
    for policy in ["layered", "lanes", "adaptive", "levels", "window"] {
        let model = Model::new([]);
        let (_bench, mut client, branch) = with_history(&model, under(policy));
        mark_turns(&mut client, branch);
        calls_tools(&model, 6_000);
        let before = model.bodies().len();
        client.say(branch, "Which lamp was repaired with tape?");
        let bodies = model.bodies()[before..].to_vec();
        assert_eq!(bodies.len(), ROUNDS + 1, "{policy}");
        for (at, pair) in bodies.windows(2).enumerate() {
            let (old, new) = (messages(&pair[0]), messages(&pair[1]));
            assert_eq!(old[..], new[..old.len()], "{policy}, round {}", at + 2);
        }
        let plans = plans(&mut client, ROUNDS + 1);
        for plan in &plans {
            assert!(plan.est_total <= plan.budget.prompt, "{policy}");
        }
        let (first, last) = (&plans[0].budget, &plans[ROUNDS].budget);
        let is_capped = first.cap.is_some();
        assert_eq!((first.results, last.results > 12_000), (0, is_capped), "{policy}");
        assert_eq!(last.prompt, first.prompt + last.results, "{policy}");
    }
}

/// A turn that stopped after its last allowed round goes on with the same request when a person continues it, and so does
/// an answer that was stopped.
#[test]
fn a_continued_turn_repeats_its_last_request() {
    for policy in ["layered", "lanes", "adaptive", "levels", "window"] {
        let model = Model::new([]);
        let (bench, first, branch) = with_history(&model, Overrides { mode: Some(Mode::Heavy), ..under(policy) });
        drop(first);
        let mut client = client(&bench, 3);
        client.open();
        mark_turns(&mut client, branch);
        calls_tools(&model, 6_000);
        let before = model.bodies().len();
        client.say(branch, "Which lamp of room 3 was repaired with tape?");
        let stopped = model.bodies()[before..].len();
        let last = client.open().nodes.iter().max_by_key(|node| node.at).unwrap().id;
        client.turn(branch, &draft("", DraftKind::Continue(last)));
        let bodies = model.bodies()[before..].to_vec();
        assert_eq!((stopped, bodies.len()), (3, 6), "{policy}");
        for (at, pair) in bodies.windows(2).enumerate() {
            let (old, new) = (messages(&pair[0]), messages(&pair[1]));
            assert_eq!(old[..], new[..old.len()], "{policy}, round {}", at + 2);
        }
    }
}

/// A budget that a person sets is never exceeded. Where the results need room of the turns, the oldest turns leave, with
/// room to spare for more results.
#[test]
fn results_push_turns_out_of_a_budget_that_a_person_set() {
    for policy in ["layered", "lanes", "adaptive", "levels", "window"] {
        let model = Model::new([]);
        let (_bench, mut client, branch) = with_history(&model, Overrides { budget: Some(8_000), ..under(policy) });
        calls_tools(&model, 1_600);
        let before = model.bodies().len();
        client.say(branch, "Which lamp was repaired with tape?");
        let bodies = model.bodies()[before..].to_vec();
        assert_eq!(bodies.len(), ROUNDS + 1, "{policy}");
        let changes = bodies.windows(2).filter(|pair| prefix(&pair[0]) != prefix(&pair[1])).count();
        assert!((1..=2).contains(&changes), "{policy}: the turns changed {changes} times");
        for plan in plans(&mut client, ROUNDS + 1) {
            assert!(plan.est_total <= plan.budget.prompt && plan.budget.results == 0, "{policy}");
        }
    }
}

#[test]
fn a_change_between_two_rounds_takes_effect_with_the_next() {
    let model = Model::new([]);
    let heavy = |policy: &str| Overrides { mode: Some(Mode::Heavy), ..under(policy) };
    let (_bench, mut client, branch) = with_history(&model, heavy("adaptive"));
    let newest = client.open().nodes.iter().rfind(|node| node.role == Role::User).map(|node| ItemName::TurnOf(node.id));
    let newest: Vec<ItemName> = newest.into_iter().collect();
    let act = Act::Set { kind: MarkKind::leased(5), toggle: false };
    client.must(Request::Branch(BranchRequest::Mark { branch, items: newest.clone(), act }));
    let call = Say::Call("echo".into(), r#"{"size":100}"#.into());
    for _ in 0..3 {
        model.then(vec![Say::Hold, call.clone()]);
    }
    model.then(text("Done."));
    let before = model.bodies().len();
    let from = client.seen.len();
    client.send(branch, &message("Which lamp was repaired with tape in room 3?")).unwrap();
    let off = Overrides { mode: Some(Mode::Off), ..under("adaptive") };
    let layered = Overrides { mode: Some(Mode::Off), ..under("layered") };
    for (round, overrides) in (1..).zip([heavy("adaptive"), off, layered]) {
        client.wait(from, |event| matches!(event, Event::Turn(TurnEvent::Run(run)) if run.round == round));
        // A turn in the window stays there without the lease that it had.
        client.must(Request::Branch(BranchRequest::Mark { branch, items: newest.clone(), act: Act::Clear }));
        client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
        model.release();
    }
    client.closed(from, branch);
    let bodies = model.bodies()[before..].to_vec();
    let cards: Vec<bool> =
        bodies.iter().map(|body| String::from_utf8_lossy(body).contains("Earlier messages that may bear")).collect();
    assert_eq!(cards, [true, true, false, false]);
    let turns = |body: &[u8]| messages(body).iter().filter(|message| message["role"] == "user").count();
    let turns: Vec<usize> = bodies.iter().map(|body| turns(body)).collect();
    assert_eq!((turns[0], turns[1]), (turns[1], turns[2]), "{turns:?}");
    assert!(turns[3] > turns[2], "another policy chooses other turns: {turns:?}");
}
