//! Variations of calls through the whole engine: the next call under other settings, stored calls repeated, and races.

use crate::support::bench::{Bench, Client, Model, Say, draft, message, model_of, text};
use pleach::domain::base::{BranchId, Failure, FailureKind};
use pleach::domain::call::{Limits, ModelInfo, Profile, Provider, ProviderError, RunStatus};
use pleach::domain::conversation::{Branch, MarkKind, Overrides};
use pleach::domain::planning::Reason;
use pleach::domain::planning::{WhatIf, variant};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, CallAnswer, CallRequest, Draft, DraftKind, Event, ItemName, PlanAnswer,
    PlanRequest, Planned, ProgramRequest, ReplayedCall, Request, SessionRequest, TurnEvent,
};
use pleach::engine::startup::setup::Servers;
use std::sync::Arc;

const LONG: &str = "The grace of a refresh token is 1500 ms, because two tabs race for it. ";

fn talk(client: &mut Client, turns: usize) -> BranchId {
    let branch = client.session();
    for n in 0..turns {
        client.say(branch, &format!("Question {n}: {}", LONG.repeat(6)));
    }
    branch
}

fn what_if(client: &mut Client, branch: BranchId, draft: &Draft, variants: &[&str]) -> Arc<WhatIf> {
    let variants = variants.iter().map(|words| variant::read(words).unwrap()).collect();
    match client.must(Request::Plan(PlanRequest::WhatIf { branch, draft: draft.clone(), variants })) {
        Answer::Plan(PlanAnswer::WhatIf(found)) => found,
        other => panic!("{other:?}"),
    }
}

fn branch_of(client: &mut Client, id: BranchId) -> Branch {
    client.open().branches.iter().find(|branch| branch.id == id).unwrap().clone()
}

#[test]
fn preview_of_a_variant_matches_the_call() {
    let model = Model::new([]);
    let mut client = Bench::new(&model).start();
    let branch = talk(&mut client, 12);
    let asked = message("What was the grace?");
    let drawn = client.drawn(branch, &asked).unwrap();
    let found = what_if(&mut client, branch, &asked, &["budget=900", "policy=nowhere", "model=other-model"]);
    let present = found.present.as_ref().unwrap();
    assert_eq!(present.plan, drawn.0, "the first line is the displayed plan");
    assert!(present.gained.is_empty() && present.lost.is_empty() && present.same > Some(0));
    let titles: Vec<&str> = found.alternatives.iter().map(|way| way.title.as_str()).collect();
    for wanted in ["mode Off", "mode Heavy", "policy window", "layout classic", "budget 900", "model other-model"] {
        assert!(titles.contains(&wanted), "{titles:?}");
    }
    assert!(!titles.contains(&"mode Light"), "the current settings are not a variant");
    assert!(model.bodies().len() == 12, "nothing was sent");
    let mut differ = 0;
    for way in &found.alternatives {
        let Ok(figures) = &way.result else {
            assert_eq!(way.title, "policy nowhere");
            continue;
        };
        let before = branch_of(&mut client, branch).overrides;
        client.must(Request::Branch(BranchRequest::Override {
            branch,
            overrides: variant::merge(&before, &way.overrides),
        }));
        let Ok(Planned::Plan { plan, .. }) = client.plan(branch, &asked) else { panic!("{}", way.title) };
        assert_eq!((plan.id, plan.est_total), (figures.plan, figures.est), "{}", way.title);
        let kept = present.items - figures.sums[1].0 + figures.sums[0].0;
        assert_eq!(figures.items, kept, "{}: gained and lost account for every item", way.title);
        differ += u32::from(figures.sums[1].0 > 0);
        if way.title.starts_with("model") {
            assert_eq!(figures.same, Some(0), "another model has nothing cached");
        }
        client.must(Request::Session(SessionRequest::Undo));
        assert_eq!(branch_of(&mut client, branch).overrides, before);
    }
    assert!(differ > 0, "a small budget leaves something out");
    assert_eq!(client.drawn(branch, &asked), Some(drawn), "a preview changes nothing");
}

/// Servers that list seven models, each with another window.
struct SevenModels(Arc<dyn Servers>);

impl Servers for SevenModels {
    fn provider(&self, profile: &Profile) -> Result<Arc<dyn Provider>, Failure> {
        self.0.provider(profile)
    }

    fn ready(&self, profile: &Profile) -> Result<(), Failure> {
        self.0.ready(profile)
    }

    fn models(&self, _: &Profile) -> Result<Vec<ModelInfo>, ProviderError> {
        let named =
            |n: u32| ModelInfo { source: "server".into(), context_window: 5_000 + n, ..model_of(&format!("m{n}")) };
        Ok((1..=7).map(named).collect())
    }

    fn probe(&self, profile: &Profile) -> Result<usize, ProviderError> {
        self.0.probe(profile)
    }
}

#[test]
fn models_that_the_server_listed_are_compared() {
    let model = Model::new([]);
    let mut bench = Bench::new(&model);
    bench.back = Arc::new(SevenModels(bench.back.clone()));
    let mut client = bench.start();
    let branch = talk(&mut client, 2);
    let rows = |client: &mut Client| {
        let found = what_if(client, branch, &message("What was the grace?"), &[]);
        let models = found.alternatives.iter().filter(|way| way.overrides.model.is_some());
        models.map(|way| (way.title.clone(), way.result.as_ref().unwrap().budget.prompt)).collect::<Vec<_>>()
    };
    assert_eq!(rows(&mut client), [], "nothing is listed yet");
    client.must(Request::Program(ProgramRequest::Models { profile: None, unready: false }));
    let found = rows(&mut client);
    let titles: Vec<&str> = found.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(titles, ["model m1", "model m2", "model m3", "model m4", "model m5"]);
    assert!(found.windows(2).all(|pair| pair[0].1 < pair[1].1), "each with the window of its model: {found:?}");
}

#[test]
fn another_draft_cancels_variants() {
    let model = Model::new([]);
    let mut client = Bench::new(&model).start();
    let branch = talk(&mut client, 3);
    let ask = |words: &str| Request::Plan(PlanRequest::WhatIf { branch, draft: message(words), variants: Vec::new() });
    let first = client.post(ask("one"));
    let second = client.post(ask("two"));
    let same = client.post(Request::Plan(PlanRequest::Replan { branch, generation: 100, draft: message("two") }));
    assert!(matches!(client.answer(first), Ok(Answer::Done(_))), "replaced by a newer request");
    assert!(matches!(client.answer(same), Ok(Answer::Plan(PlanAnswer::Planned(_)))));
    assert!(matches!(client.answer(second), Ok(Answer::Plan(PlanAnswer::WhatIf(_)))));
    let third = client.post(ask("two"));
    let other =
        client.post(Request::Plan(PlanRequest::Replan { branch, generation: 101, draft: message("two and more") }));
    assert!(matches!(client.answer(third), Ok(Answer::Done(_))));
    assert!(matches!(client.answer(other), Ok(Answer::Plan(PlanAnswer::Planned(_)))));
    let fork = BranchRequest::Fork { branch, at: None, name: None, switch: false };
    let Answer::Branch(BranchAnswer::Branch(side)) = client.must(Request::Branch(fork)) else { panic!() };
    let fourth = client.post(ask("two"));
    let elsewhere = PlanRequest::Replan { branch: side.id, generation: 102, draft: message("on the side") };
    let elsewhere = client.post(Request::Plan(elsewhere));
    assert!(matches!(client.answer(elsewhere), Ok(Answer::Plan(PlanAnswer::Planned(_)))));
    assert!(
        matches!(client.answer(fourth), Ok(Answer::Plan(PlanAnswer::WhatIf(_)))),
        "a draft on another branch cancels nothing"
    );
}

fn rerun(client: &mut Client, run: &str, model: Option<&str>, without: Option<ItemName>) -> ReplayedCall {
    let request =
        Request::Call(CallRequest::Replay { run: run.into(), profile: None, model: model.map(str::to_owned), without });
    let from = client.seen.len();
    let made = match client.must(request) {
        Answer::Call(CallAnswer::Replaying(made)) => *made,
        other => panic!("{other:?}"),
    };
    assert!(client.closed(from, made.branch.id).failure.is_none());
    made
}

#[test]
fn calls_are_repeated_for_another_model_and_without_an_item() {
    let model =
        Model::new([text("first"), text("second"), text("third"), text("anew"), text("elsewhere"), text("less")]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    for words in ["What is the port?", "And the host?", "Then the grace?"] {
        client.say(branch, words);
    }
    let before = branch_of(&mut client, branch);
    let runs = client.runs();
    let run = runs[1].clone();
    let made = rerun(&mut client, &run.id.to_string(), None, None);
    assert!(made.exact && made.branch.name == "replay-1");
    let bodies = model.bodies();
    assert_eq!(bodies[3], bodies[1], "byte for byte");
    let other = rerun(&mut client, &run.id.to_string(), Some("big-model"), None);
    let sent: serde_json::Value = serde_json::from_slice(&model.bodies()[4]).unwrap();
    let mut old: serde_json::Value = serde_json::from_slice(&bodies[1]).unwrap();
    old["model"] = "big-model".into();
    assert!(!other.exact && sent == old, "only the model differs");
    let plan = match client.must(Request::Call(CallRequest::StoredPlan { id: run.id.to_string() })) {
        Answer::Call(CallAnswer::StoredPlan { plan, .. }) => plan,
        other => panic!("{other:?}"),
    };
    let turn = plan.included().find(|row| row.source.turn == Some(1)).unwrap().clone();
    let less = rerun(&mut client, &run.id.to_string(), None, Some(ItemName::Atom(turn.atom)));
    assert_eq!(less.without.as_ref().map(|(atom, _)| *atom), Some(turn.atom));
    let body = String::from_utf8(model.bodies()[5].clone()).unwrap();
    assert!(!body.contains("What is the port?") && body.contains("And the host?"), "{body}");
    let now = branch_of(&mut client, branch);
    assert_eq!((now.head, &now.marks, &now.overrides), (before.head, &before.marks, &before.overrides));
    let calls = client.runs();
    assert_eq!(
        calls[..3].iter().map(|run| run.answer).collect::<Vec<_>>(),
        runs.iter().map(|r| r.answer).collect::<Vec<_>>()
    );
    for made in [&made, &other, &less] {
        let card = calls.iter().find(|card| card.id == made.run).unwrap().clone();
        assert_eq!((card.status, card.user, card.branch), (RunStatus::Complete, run.user, made.branch.id));
        assert_eq!(client.replay(&card).unwrap(), card.request_digest, "it can be made again itself");
        let tokens = pleach::context::render::checks::count_body(
            &model.bodies()[calls.iter().position(|c| c.id == card.id).unwrap()],
            plan.encoding,
            &crate::support::bench::Quarter,
        );
        assert_eq!(tokens, Some(card.est_total), "the estimate equals the count of the body");
    }
}

#[test]
fn unrepeatable_calls_are_refused() {
    let model = Model::new([text("one"), vec![Say::Fail(pleach::domain::call::provider::ProviderErrorKind::Auth)]]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "A question");
    client.say(branch, "Never answered");
    let runs = client.runs();
    let ask = |run: usize, model: Option<&str>, without: Option<&str>| {
        Request::Call(CallRequest::Replay {
            run: runs[run].id.to_string(),
            profile: None,
            model: model.map(str::to_owned),
            without: without.map(|text| ItemName::Named { text: text.into(), message: false }),
        })
    };
    for request in
        [ask(1, None, None), ask(0, None, Some("zzz")), ask(0, None, Some(&runs[0].user.unwrap().to_string()))]
    {
        let failure = client.ask(request).unwrap_err();
        assert_eq!(failure.kind, FailureKind::User, "{failure}");
    }
    assert_eq!(model.bodies().len(), 2);
    assert_eq!(client.open().branches.len(), 1);
}

#[test]
fn items_that_mattered_are_suggested_as_pins() {
    let model = Model::new([]);
    let mut client = Bench::new(&model).start();
    let branch = talk(&mut client, 3);
    let suggested = |client: &mut Client| {
        let plan = client.whole_plan(branch, &message("next"));
        plan.suggested().map(|row| (row.reason.clone(), row.source.turn)).collect::<Vec<_>>()
    };
    let plan = client.whole_plan(branch, &message("next"));
    let atom = plan.included().find(|row| row.source.turn == Some(2)).unwrap().atom;
    let before = branch_of(&mut client, branch).overrides;
    client.must(Request::Branch(BranchRequest::Override {
        branch,
        overrides: Overrides { important: vec![atom], ..before },
    }));
    assert_eq!(suggested(&mut client), [(Reason::SuggestedByRating, Some(2))]);
    client.must(Request::Session(SessionRequest::Undo));
    assert!(suggested(&mut client).is_empty());
    client.must(Request::Session(SessionRequest::Redo));
    let pin = Act::Set { kind: MarkKind::Sticky, toggle: false };
    client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::Atom(atom)], act: pin }));
    assert!(suggested(&mut client).is_empty(), "it is pinned");
}

fn race(client: &mut Client, branch: BranchId, variants: &[&str]) -> Vec<Branch> {
    let variants: Vec<Overrides> = variants.iter().map(|words| variant::read(words).unwrap()).collect();
    let (limits, draft) = (Limits::default(), message("Which way?"));
    match client.must(Request::Call(CallRequest::Race { branch, variants, limits, draft })) {
        Answer::Call(CallAnswer::Race(branches)) => branches,
        other => panic!("{other:?}"),
    }
}

#[test]
fn race_makes_no_branch_unless_every_request_fits() {
    let bench = Bench::new(&Model::new([text("before")]));
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "Hello");
    let variants = ["mode=off", "budget=20"].map(|words| variant::read(words).unwrap()).to_vec();
    let (limits, draft) = (Limits::default(), message(&"Which way? ".repeat(40)));
    let failure = client.ask(Request::Call(CallRequest::Race { branch, variants, limits, draft })).unwrap_err();
    let text = failure.to_string();
    assert!(
        failure.kind == FailureKind::Blocked && text.starts_with("budget 20: The next request does not fit"),
        "{text}"
    );
    assert!(text.contains("Nothing was sent, and no branch was created. You can: raise the budget"), "{text}");
    assert_eq!(client.open().branches.len(), 1);
}

#[test]
fn race_is_archived_and_undone_in_one_step() {
    let model =
        Model::new([text("before"), vec![Say::Hold, Say::Text("a".into())], vec![Say::Hold, Say::Text("b".into())]]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "Hello");
    let pin = Act::Set { kind: MarkKind::Sticky, toggle: false };
    client.must(Request::Branch(BranchRequest::Mark {
        branch,
        items: vec![ItemName::Note("Metres.".into())],
        act: pin,
    }));
    client.must(Request::Branch(BranchRequest::EditState { branch, text: "Goal: metres".into() }));
    let before = branch_of(&mut client, branch);
    let (one, limits) = (vec![Overrides::default()], Limits::default());
    let too_few = CallRequest::Race { branch, variants: one, limits, draft: message("Which way?") };
    let refused = client.ask(Request::Call(too_few)).unwrap_err();
    assert!(refused.what.contains("2 to 8"), "{refused}");
    let raced = race(&mut client, branch, &["mode=off", "model=other-model,policy=window"]);
    assert_eq!(raced.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(), ["race-1", "race-2"]);
    let states: Vec<_> = raced.iter().map(|arm| branch_of(&mut client, arm.id).state.unwrap()).collect();
    assert!(states.iter().all(|state| state.text == "Goal: metres") && states[0].version != states[1].version);
    let from = client.seen.len();
    for arm in &raced {
        assert_eq!((arm.head, arm.marks.len()), (before.head, before.marks.len()));
        client.send(arm.id, &message("Which way?")).unwrap();
    }
    assert_eq!(
        client.seen[from..].iter().filter(|e| matches!(e, Event::Turn(TurnEvent::Closed { .. }))).count(),
        0,
        "both are open"
    );
    model.release();
    model.release();
    for arm in &raced {
        assert!(client.closed(from, arm.id).failure.is_none());
    }
    let runs = client.runs();
    let of = |arm: &Branch| runs.iter().find(|run| run.branch == arm.id).unwrap();
    assert_eq!(
        (of(&raced[0]).mode, of(&raced[1]).policy.as_str()),
        (pleach::domain::planning::mode::Mode::Off, "window")
    );
    assert_eq!(of(&raced[1]).model, "other-model");
    assert_eq!(branch_of(&mut client, branch).head, before.head, "the branch itself did not move");
    client.must(Request::Branch(BranchRequest::ArchiveAll { branches: vec![raced[1].id] }));
    assert!(branch_of(&mut client, raced[1].id).archived && !branch_of(&mut client, raced[0].id).archived);
    client.must(Request::Session(SessionRequest::Undo));
    assert!(!branch_of(&mut client, raced[1].id).archived);
    let all = race(&mut client, branch, &["mode=off", "mode=heavy", "mode=light"]);
    client.must(Request::Session(SessionRequest::Undo));
    assert!(all.iter().all(|arm| branch_of(&mut client, arm.id).archived), "one step for all branches");
    let blank = PlanRequest::WhatIf { branch, draft: draft("", DraftKind::Message), variants: Vec::new() };
    assert!(client.ask(Request::Plan(blank)).is_ok());
}
