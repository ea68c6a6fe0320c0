//! Promises over random histories: the displayed plan is sent, undo restores exactly, and branches are isolated.

use crate::support::bench::{Bench, Client, Dice, Echo, Model, Quarter, Say, draft, histories, message};
use crate::support::server::{Server, Step, end, send, stream, words};
use pleach::context::render::checks::count_body;
use pleach::domain::base::{BranchId, Hash, NodeId};
use pleach::domain::call::{Encoding, RunStatus};
use pleach::domain::conversation::{MarkKind, NodeHead, Overrides, Role};
use pleach::domain::planning::{ContextPlan, Mode};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, CallAnswer, CallRequest, Draft, DraftKind, ItemName, PlanRequest,
    Planned, Request, SessionRequest, SessionView, TurnRequest,
};
use std::sync::Arc;

const ASKED: [&str; 5] = ["why?", "and then?", "same again", "show it", "what of the crane at pier nine?"];

/// The state of a session for a random history: a branch and its path.
struct Place {
    view: Arc<SessionView>,
    branch: BranchId,
    path: Vec<NodeHead>,
}

fn place(client: &mut Client, branch: Option<BranchId>) -> Place {
    let view = client.open();
    let branch = branch.unwrap_or(view.current);
    let find = |id: NodeId| view.nodes.iter().find(|head| head.id == id).unwrap().clone();
    let mut path = Vec::new();
    let mut at = view.branches.iter().find(|b| b.id == branch).unwrap().head;
    while let Some(id) = at {
        let head = find(id);
        at = head.parent;
        path.push(head);
    }
    path.reverse();
    Place { view, branch, path }
}

impl Place {
    fn any(&self, dice: &mut Dice) -> Option<NodeId> {
        (!self.path.is_empty()).then(|| dice.pick(&self.path).id)
    }

    fn user(&self, dice: &mut Dice) -> Option<NodeId> {
        let users: Vec<NodeId> = self.path.iter().filter(|h| h.role == Role::User).map(|h| h.id).collect();
        (!users.is_empty()).then(|| *dice.pick(&users))
    }
}

/// A random draft that fits the branch.
fn any_draft(place: &Place, dice: &mut Dice) -> Draft {
    let long = "a long line of a long question\n".repeat(dice.below(40));
    let words = format!("{}{}", dice.pick(&ASKED), if dice.below(5) == 0 { long } else { String::new() });
    let user = place.user(dice);
    let leaf = place.path.last().filter(|head| head.role == Role::Assistant).map(|head| head.id);
    match (dice.below(8), user, leaf) {
        (0, Some(user), _) => draft("", DraftKind::Regenerate(user)),
        (1, Some(user), _) => draft(&words, DraftKind::Edit(user)),
        (2, _, Some(leaf)) => draft("", DraftKind::Continue(leaf)),
        _ => message(&words),
    }
}

fn overrides(place: &Place, dice: &mut Dice) -> Overrides {
    let mut new = place.view.branches.iter().find(|b| b.id == place.branch).unwrap().overrides.clone();
    match dice.below(6) {
        0 => new.mode = Some(*dice.pick(&Mode::ALL)),
        1 => new.policy = Some((*dice.pick(&["layered", "window"])).into()),
        2 => new.layout = Some((*dice.pick(&["classic", "cache_friendly"])).into()),
        3 => new.budget = Some(*dice.pick(&[700, 1_000, 2_000, 5_000])),
        4 => new.window = Some(*dice.pick(&[0, 1, 2, 5])),
        _ => new.profile = Some((*dice.pick(&["one", "two"])).into()),
    }
    new
}

/// A random act without a call, or `None` when there is nothing to act on.
fn any_act(place: &Place, dice: &mut Dice) -> Option<Request> {
    let branch = place.branch;
    let kinds =
        [MarkKind::Sticky, MarkKind::leased(2), MarkKind::Exclude, MarkKind::ExcludeOnce, MarkKind::IncludeOnce];
    let set = |kind| Act::Set { kind, toggle: true };
    Some(match dice.below(12) {
        0..=2 => {
            let items = vec![ItemName::TurnOf(place.any(dice)?)];
            let lease = dice.below(kinds.len() + 1) == kinds.len();
            let act = if lease { Act::Lease { toggle: true } } else { set(*dice.pick(&kinds)) };
            Request::Branch(BranchRequest::Mark { branch, items, act })
        }
        3 => {
            let kind = *dice.pick(&[MarkKind::Exclude, MarkKind::ExcludeOnce]);
            Request::Branch(BranchRequest::Mark {
                branch,
                items: vec![ItemName::Message(place.any(dice)?)],
                act: set(kind),
            })
        }
        4 => {
            let anywhere = place.view.nodes.get(dice.below(place.view.nodes.len()))?.id;
            Request::Branch(BranchRequest::Mark {
                branch,
                items: vec![ItemName::TurnOf(anywhere)],
                act: set(*dice.pick(&kinds)),
            })
        }
        5 => {
            let items = vec![ItemName::Note(format!("note {}", dice.below(3)))];
            Request::Branch(BranchRequest::Mark { branch, items, act: set(*dice.pick(&kinds[..2])) })
        }
        6 => Request::Branch(BranchRequest::EditState { branch, text: format!("Goal: {}", dice.below(9)) }),
        7 | 8 => Request::Branch(BranchRequest::Override { branch, overrides: overrides(place, dice) }),
        9 | 10 => Request::Branch(BranchRequest::Sibling {
            branch,
            node: place.any(dice)?,
            step: if dice.below(2) == 0 { 1 } else { -1 },
        }),
        _ => Request::Branch(BranchRequest::Fork { branch, at: place.any(dice), name: None, switch: false }),
    })
}

fn reply(place: &Place, dice: &mut Dice) -> Option<Request> {
    let items = vec![ItemName::Message(place.any(dice)?)];
    Some(Request::Branch(BranchRequest::Mark { branch: place.branch, items, act: Act::Reply }))
}

/// A server's answers: text, thinking, state blocks, tool calls, cut streams.
fn scripts(dice: &mut Dice) -> Vec<Vec<Step>> {
    let state = "Fine.\n---STATE---\nGoal: finish\nOpen: none\n---END STATE---\n";
    (0..80)
        .map(|n| match dice.below(8) {
            0 | 1 => {
                let args = format!("{{\"size\":{}}}", dice.below(1_500));
                vec![stream(), send(&called(n, &args)), send("data: [DONE]\n\n")]
            }
            2 => vec![stream(), words("half an"), Step::Close],
            3 => vec![stream(), words(state), end()],
            4 => vec![stream(), words(&"many words come \n".repeat(dice.below(60) + 1)), end()],
            _ => vec![stream(), words(&format!("answer {n} 日本 ")), words("🙂 done"), end()],
        })
        .collect()
}

fn called(n: usize, args: &str) -> String {
    let call = serde_json::json!({"index": 0, "id": format!("call_{n}"), "type": "function",
        "function": {"name": "echo", "arguments": args}});
    let chunk = serde_json::json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]},
        "finish_reason": "tool_calls"}]});
    format!("data: {chunk}\n\n")
}

/// Displays a draft's plan and sends exactly that. Returns the displayed digest.
fn drawn_and_sent(client: &mut Client, branch: BranchId, draft: &Draft) -> Option<Hash> {
    let Ok(Planned::Plan { plan, request_digest, bytes, .. }) = client.plan(branch, draft) else { return None };
    assert!(plan.est_total <= plan.budget.prompt, "over budget");
    let Answer::Text(body) = client.must(Request::Plan(PlanRequest::WireText { branch })) else { panic!() };
    assert_eq!((Hash::of(body.as_bytes()), body.len() as u64), (request_digest, bytes));
    let from = client.seen.len();
    client.must(Request::Turn(TurnRequest::Ask { branch, draft: draft.clone(), plan: Some(plan.id) }));
    client.closed(from, branch);
    Some(request_digest)
}

/// Every call so far: the received bytes are the run's, match the plan's count, and are the same in a replay.
fn check_calls(client: &mut Client, server: &Server, from: usize) -> usize {
    let runs = client.runs();
    let requests = server.requests();
    assert_eq!(runs.len(), requests.len(), "one POST for each run");
    for (run, request) in runs.iter().zip(&requests).skip(from) {
        assert_eq!(Hash::of(&request.body), run.request_digest);
        let counted = count_body(&request.body, Encoding::Approximate, &Quarter);
        assert_eq!(counted, Some(run.est_total), "{}", String::from_utf8_lossy(&request.body));
        assert_ne!(run.status, RunStatus::Open);
        let plan: Arc<ContextPlan> =
            match client.must(Request::Call(CallRequest::StoredPlan { id: run.id.to_string() })) {
                Answer::Call(CallAnswer::StoredPlan { plan, .. }) => plan,
                other => panic!("{other:?}"),
            };
        assert_eq!((plan.id, plan.est_total), (run.plan, run.est_total));
        assert!(plan.est_total <= plan.budget.prompt);
    }
    runs.len()
}

fn sent_history(seed: u64) {
    let mut dice = Dice::new(seed);
    let server = Server::start(scripts(&mut dice));
    let mut bench = Bench::http(&server);
    bench.tools = Some(Arc::new(Echo));
    let mut client = bench.start();
    client.session();
    let mut checked = 0;
    for _ in 0..12 {
        let here = place(&mut client, None);
        match dice.below(10) {
            0..=4 => {
                let draft = any_draft(&here, &mut dice);
                let before = client.runs().len();
                if let Some(digest) = drawn_and_sent(&mut client, here.branch, &draft) {
                    assert_eq!(client.runs()[before].request_digest, digest, "seed {seed}");
                }
                checked = check_calls(&mut client, &server, checked);
            }
            5..=7 => {
                if let Some(act) = any_act(&here, &mut dice) {
                    let _ = client.ask(act);
                }
            }
            8 => {
                let request = match dice.below(3) {
                    0 => Some(Request::Session(SessionRequest::Undo)),
                    1 => Some(Request::Session(SessionRequest::Redo)),
                    _ => reply(&here, &mut dice),
                };
                let _ = request.map(|request| client.ask(request));
            }
            _ => {
                let fixed = message("fixed");
                let before = client.drawn(here.branch, &fixed);
                client.stop();
                client = bench.start();
                client.open();
                assert_eq!(client.drawn(here.branch, &fixed), before, "seed {seed}: a restart changes the plan");
            }
        }
    }
    for run in client.runs() {
        let again = client.replay(&run).unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        assert_eq!(again, run.request_digest, "seed {seed}: a replay differs");
    }
}

/// A quarter of the histories, so that the quarters run at the same time.
fn sent_histories(quarter: u64) {
    histories(6).for_each(|seed| sent_history(4 * seed + quarter));
}

#[test]
fn displayed_plan_is_sent_1() {
    sent_histories(0);
}

#[test]
fn displayed_plan_is_sent_2() {
    sent_histories(1);
}

#[test]
fn displayed_plan_is_sent_3() {
    sent_histories(2);
}

#[test]
fn displayed_plan_is_sent_4() {
    sent_histories(3);
}

/// An in-memory model that sometimes calls tools and keeps a state.
fn random_model(dice: &mut Dice) -> Arc<Model> {
    let state = "So.\n---STATE---\nGoal: go\n---END STATE---\n";
    Model::new((0..200).map(|n| match dice.below(6) {
        0 => vec![Say::Call("echo".into(), format!("{{\"size\":{}}}", dice.below(600)))],
        1 => vec![Say::Text(format!("{n} {state}"))],
        2 => vec![Say::Text(format!("cut {n}")), Say::Cut],
        _ => vec![Say::Text(format!("answer {n} {}", "word ".repeat(dice.below(80))))],
    }))
}

fn grown(bench: &Bench, dice: &mut Dice) -> (Client, BranchId) {
    let mut client = bench.start();
    let branch = client.session();
    for _ in 0..dice.below(5) + 2 {
        let here = place(&mut client, Some(branch));
        let draft = any_draft(&here, dice);
        if client.drawn(branch, &draft).is_some() {
            client.turn(branch, &draft);
        }
        let here = place(&mut client, Some(branch));
        if let Some(act) = any_act(&here, dice).filter(|_| dice.below(2) == 0) {
            let _ = client.ask(act);
        }
    }
    (client, branch)
}

fn bench(dice: &mut Dice) -> Bench {
    let mut bench = Bench::new(&random_model(dice));
    bench.tools = Some(Arc::new(Echo));
    bench
}

#[test]
fn branches_are_isolated() {
    for seed in histories(4) {
        let mut dice = Dice::new(seed + 1_000);
        let bench = bench(&mut dice);
        let (mut client, one) = grown(&bench, &mut dice);
        let made =
            client.must(Request::Branch(BranchRequest::Fork { branch: one, at: None, name: None, switch: false }));
        let Answer::Branch(BranchAnswer::Branch(two)) = made else { panic!() };
        let drafts = ASKED.map(message);
        let plans = |client: &mut Client| drafts.iter().map(|d| client.drawn(two.id, d)).collect::<Vec<_>>();
        let before = plans(&mut client);
        for _ in 0..8 {
            let here = place(&mut client, Some(one));
            if dice.below(2) == 0 {
                let draft = any_draft(&here, &mut dice);
                if client.drawn(one, &draft).is_some() {
                    client.turn(one, &draft);
                }
            } else if let Some(act) = any_act(&here, &mut dice) {
                let _ = client.ask(act);
            }
            assert_eq!(plans(&mut client), before, "seed {seed}");
        }
    }
}

/// What undo must restore: the plan of a fixed draft, and the branch's head.
fn undoable_state(client: &mut Client, branch: BranchId) -> (Option<(Hash, Hash)>, Option<NodeId>, String, Overrides) {
    let drawn = client.drawn(branch, &message("fixed"));
    let view = client.open();
    let found = view.branches.iter().find(|b| b.id == branch).unwrap().clone();
    (drawn, found.head, found.name, found.overrides)
}

#[test]
fn undo_and_redo_restore_exactly() {
    for seed in histories(4) {
        let mut dice = Dice::new(seed + 2_000);
        let bench = bench(&mut dice);
        let (mut client, branch) = grown(&bench, &mut dice);
        let store = bench.store();
        let session = client.open().card.id;
        let count = |store: &pleach::store::Store| store.ops(session).unwrap().iter().filter(|op| !op.undone).count();
        let mut trail = vec![undoable_state(&mut client, branch)];
        for n in 0..10 {
            let here = place(&mut client, Some(branch));
            let before = count(&store);
            match dice.below(5) {
                0 => {
                    if let Some(user) = here.user(&mut dice) {
                        let kind = if dice.below(2) == 0 { DraftKind::Regenerate(user) } else { DraftKind::Edit(user) };
                        let words = if matches!(kind, DraftKind::Edit(_)) { "other words" } else { "" };
                        let draft = draft(words, kind);
                        if place_moves(&here, user) && client.drawn(branch, &draft).is_some() {
                            client.turn(branch, &draft);
                        }
                    }
                }
                1 => drop(client.ask(Request::Branch(BranchRequest::Rename { branch, name: format!("name {n}") }))),
                _ => {
                    if let Some(act) = any_act(&here, &mut dice) {
                        let _ = client.ask(act);
                    }
                }
            }
            let after = count(&store);
            assert!(after <= before + 1, "one act is one operation");
            if after > before {
                trail.push(undoable_state(&mut client, branch));
            }
        }
        for round in 0..2 {
            for step in (0..trail.len() - 1).rev() {
                client.must(Request::Session(SessionRequest::Undo));
                assert_eq!(
                    undoable_state(&mut client, branch),
                    trail[step],
                    "seed {seed} round {round} undo to {step}"
                );
            }
            for (step, there) in trail.iter().enumerate().skip(1) {
                client.must(Request::Session(SessionRequest::Redo));
                assert_eq!(undoable_state(&mut client, branch), *there, "seed {seed} round {round} redo to {step}");
            }
        }
    }
}

/// Regenerating the last question with nothing below it is an ordinary turn, not an operation.
fn place_moves(here: &Place, user: NodeId) -> bool {
    here.path.last().is_some_and(|head| head.id != user)
}
