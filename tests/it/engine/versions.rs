//! Editable texts with versions, through the engine: state, summaries, memories, policies. Every change can be undone.

use crate::support::bench::{Bench, Client, Echo, Model, Say, message, text};
use pleach::domain::base::BranchId;
use pleach::domain::conversation::{MarkKind, MemoryKind, Overrides};
use pleach::domain::planning::{LeftOutTurns, Mode, RowKind, StateBlock, StateRequestOutcome as Outcome};
use pleach::domain::summary::{
    Editability, Editable, EditableKind, SummaryAuthor, SummaryCard, SummaryKind, SummarySource, Version,
};
use pleach::engine::api::{
    Act, Answer, BranchRequest, EditableAct, EditableAnswer, Event, ItemName, MemoryAct, MemoryRequest, MemoryScope,
    PlanAnswer, Planned, Request, SessionEvent, SessionRequest, SummaryAct, SummaryAnswer,
};

fn things(client: &mut Client, branch: BranchId, kind: EditableKind) -> Vec<Editable> {
    match client.must(Request::Editable(EditableAct::List { branch, kind })) {
        Answer::Editable(EditableAnswer::Editables(of, things)) => {
            assert_eq!(of, kind);
            things
        }
        other => panic!("{other:?}"),
    }
}

/// The texts of an item's versions, newest first, with the current one in brackets.
fn texts(thing: &Editable) -> Vec<String> {
    let one =
        |version: &Version| if version.current { format!("[{}]", version.text) } else { version.text.to_string() };
    thing.versions.iter().map(one).collect()
}

#[test]
fn state_block_versions() {
    let answer_with_goal = |goal: &str| text(&format!("Yes.\n\n---STATE---\nGoal: {goal}\n---END STATE---\n"));
    let model = Model::new([answer_with_goal("one"), answer_with_goal("two")]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    let empty = &things(&mut client, branch, EditableKind::State)[0];
    assert!(empty.versions.is_empty() && matches!(empty.editing, Editability::Not(_)), "there is no message yet");
    client.say(branch, "first");
    client.say(branch, "second");
    client.must(Request::Branch(BranchRequest::EditState { branch, text: "Goal: mine".into() }));
    let state = &things(&mut client, branch, EditableKind::State)[0];
    assert_eq!(texts(state), ["[Goal: mine]", "Goal: two", "Goal: one"]);
    assert_eq!(state.versions.iter().map(|version| version.from).collect::<Vec<_>>(), [Some(1), Some(2), None]);
    client.must(Request::Session(SessionRequest::Undo));
    let state = &things(&mut client, branch, EditableKind::State)[0];
    assert_eq!(texts(state), ["Goal: mine", "[Goal: two]", "Goal: one"], "an undone version stays visible");
    assert!(state.versions[0].what.contains("undone"));
}

/// Without a state block in any answer, the model writes one from the messages that may be sent; undo removes it.
#[test]
fn state_block_by_the_model() {
    let block = "Here it is.\n---STATE---\nGoal: load pier 3\nRemember: fact: never\n---END STATE---";
    let model = Model::new([text("Fine."), text("Secret."), text(block), text("I'd rather not."), text("Goal: bare")]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    let rebuild = |by| Request::Branch(BranchRequest::RebuildState { branch, by });
    let failure = client.ask(rebuild(SummaryAuthor::Model)).unwrap_err();
    assert!(failure.what.contains("no message yet"), "{failure}");
    client.say(branch, "Load the ship at pier 3");
    client.say(branch, "the password is swordfish");
    let last = client.open().nodes[2].id;
    client.must(Request::Branch(BranchRequest::Mark {
        branch,
        items: vec![ItemName::Message(last)],
        act: Act::Set { kind: MarkKind::Exclude, toggle: false },
    }));
    let failure = client.ask(rebuild(SummaryAuthor::Extractive)).unwrap_err();
    assert!(failure.todo.contains("--by-model"), "{failure}");

    client.must(rebuild(SummaryAuthor::Model));
    let asked = String::from_utf8(model.bodies()[2].clone()).unwrap();
    assert!(asked.contains("pier 3") && !asked.contains("swordfish"), "{asked}");
    let state = &things(&mut client, branch, EditableKind::State)[0];
    assert_eq!(texts(state), ["[Goal: load pier 3]"]);
    let failure = client.ask(rebuild(SummaryAuthor::Model)).unwrap_err();
    assert!(failure.what.contains("returned no state block"), "{failure}");
    client.must(rebuild(SummaryAuthor::Model));
    assert_eq!(texts(&things(&mut client, branch, EditableKind::State)[0]), ["[Goal: bare]", "Goal: load pier 3"]);
    assert_eq!(client.open().runs.len(), 5, "each call is counted like any other");
    client.must(Request::Session(SessionRequest::Undo));
    client.must(Request::Session(SessionRequest::Undo));
    assert!(client.open().branches[0].state.is_none());
}

/// While the model writes a state block, a second request makes no call.
#[test]
fn a_state_block_is_written_once_at_a_time() {
    let model = Model::new([text("Fine."), vec![Say::Hold, Say::Text("Goal: load pier 3".into())]]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "Load the ship at pier 3");
    let rebuild = || Request::Branch(BranchRequest::RebuildState { branch, by: SummaryAuthor::Model });
    let first = client.post(rebuild());
    let failure = client.ask(rebuild()).unwrap_err();
    assert!(failure.what.contains("already being written"), "{failure}");
    model.release();
    client.answer(first).unwrap();
    assert_eq!(model.bodies().len(), 2);
    model.then(text("Goal: load pier 4"));
    client.must(rebuild());
}

#[test]
fn memory_versions() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "hello");
    let (kind, scope) = (MemoryKind::Fact, MemoryScope::Session);
    client.must(Request::Memory(MemoryRequest::Remember { kind, text: "The gate is green".into(), scope }));
    let memory = things(&mut client, branch, EditableKind::Memories).remove(0);
    assert_eq!(texts(&memory), ["[The gate is green]"]);
    let edit = |text: &str| {
        Request::Memory(MemoryRequest::Change { id: memory.id.clone(), act: MemoryAct::Edit(Some(text.into()), None) })
    };
    client.must(edit("The gate is blue"));
    client.must(edit("The gate is red"));
    let seen = |client: &mut Client| texts(&things(client, branch, EditableKind::Memories)[0]);
    assert_eq!(seen(&mut client), ["[The gate is red]", "The gate is blue", "The gate is green"]);
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(seen(&mut client), ["The gate is red", "[The gate is blue]", "The gate is green"]);
    client.stop();
    let mut client = bench.start();
    client.open();
    assert_eq!(seen(&mut client), ["The gate is red", "[The gate is blue]", "The gate is green"], "after a restart");
}

fn cards(client: &mut Client, branch: BranchId) -> Vec<SummaryCard> {
    match client.must(Request::Summary { branch, act: SummaryAct::List }) {
        Answer::Summary(SummaryAnswer::Summaries(cards)) => cards,
        other => panic!("{other:?}"),
    }
}

#[test]
fn edited_summary_is_a_version_that_can_be_taken_back() {
    let answer =
        |n: usize| text(&format!("Run `cargo test part{n}` on port {}. {}", 8_000 + n, "Plain talk. ".repeat(30)));
    let model = Model::new((0..9).map(answer));
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    for n in 0..9 {
        client.say(branch, &format!("Step {n}: what comes next on port {}?", 8_000 + n));
    }
    let act = SummaryAct::Draft { kind: SummaryKind::Lane, up_to: None, by: SummaryAuthor::Extractive };
    let Answer::Summary(SummaryAnswer::Draft(Some(draft))) = client.must(Request::Summary { branch, act }) else {
        panic!()
    };
    client.must(Request::Summary { branch, act: SummaryAct::Accept { draft: draft.number } });
    let first = cards(&mut client, branch)[0].clone();
    let rewrite =
        |summary, text: &str| Request::Summary { branch, act: SummaryAct::Rewrite { summary, text: text.into() } };
    client.must(rewrite(first.summary.id, "Ports 8000 and 8001 were told."));
    let thing = things(&mut client, branch, EditableKind::Summaries).remove(0);
    assert_eq!(thing.versions.len(), 2);
    assert_eq!(&*thing.versions[0].text, "Ports 8000 and 8001 were told.");
    assert!(thing.versions[0].current && thing.versions[0].from == Some(1));
    let now = cards(&mut client, branch)[0].clone();
    assert_eq!((now.summary.source, now.summary.turns), (SummarySource::User, first.summary.turns));
    assert_ne!(now.summary.confidence, first.summary.confidence, "the edited text was checked again");
    let Ok(pleach::engine::api::Planned::Plan { plan, .. }) = client.plan(branch, &message("and now?")) else {
        panic!()
    };
    let is_sent = plan
        .included()
        .any(|row| row.title.contains("Ports 8000") || row.text.is_some_and(|_| row.title.contains("turns")));
    assert!(is_sent || plan.included().any(|row| row.kind == pleach::domain::planning::plan::RowKind::Summary));
    let refused = client.ask(rewrite(now.summary.id, "  ")).unwrap_err();
    assert!(refused.kept.contains("Nothing was changed"), "{refused}");
    assert!(client.ask(rewrite(first.summary.id, "x")).is_err(), "only summaries in use");
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(cards(&mut client, branch)[0].summary.id, first.summary.id);
}

fn policy(client: &mut Client, branch: BranchId, name: &str) -> Editable {
    things(client, branch, EditableKind::Policies).into_iter().find(|thing| thing.id == name).unwrap()
}

fn save(name: &str, text: &str, preset: Option<&str>) -> Request {
    Request::Editable(EditableAct::SavePolicy {
        name: name.into(),
        text: text.into(),
        preset: preset.map(str::to_owned),
    })
}

#[test]
#[allow(clippy::too_many_lines, reason = "one story")]
fn policy_is_copied_refused_fixed_applied_and_undone() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    for n in 0..8 {
        client.say(branch, &format!("Question {n}: {}", "the grace is 1500 ms. ".repeat(20)));
    }
    let layered = policy(&mut client, branch, "layered");
    assert!(layered.in_use && layered.editing == Editability::Copy, "{layered:?}");
    let preset = layered.versions[0].text.to_string();
    assert!(client.ask(save("layered", &preset, None)).is_err(), "a preset never changes");
    assert!(client.ask(save("window", &preset, Some("layered"))).is_err(), "the name is taken");
    assert!(client.ask(save("My Own", &preset, Some("layered"))).is_err(), "not a valid name");
    let wrong = format!("{preset}\nuser_cpa = 900\n");
    let Answer::Editable(EditableAnswer::Refused(fault)) =
        client.must(save("lean", "user_cpa = 900\n", Some("layered")))
    else {
        panic!()
    };
    assert_eq!(fault.place, Some((1, 1)));
    assert!(fault.words.contains("line 1, column 1") && fault.words.contains("Did you mean `user_cap`?"), "{fault:?}");
    assert!(matches!(client.must(save("lean", &wrong, Some("layered"))), Answer::Editable(EditableAnswer::Refused(_))));
    assert!(
        !things(&mut client, branch, EditableKind::Policies).iter().any(|thing| thing.id == "lean"),
        "nothing was saved"
    );
    let Answer::Editable(EditableAnswer::Policies { names, .. }) =
        client.must(save("lean", "user_cap = 900\n", Some("layered")))
    else {
        panic!()
    };
    assert!(names.contains(&"lean".to_owned()));
    let lean = policy(&mut client, branch, "lean");
    assert_eq!(texts(&lean), ["[user_cap = 900\n]".to_owned(), preset.clone()], "beside the preset it came from");
    let before = client.whole_plan(branch, &message("and now?"));
    let request =
        Request::Editable(EditableAct::TryPolicy { branch, draft: message("and now?"), policy: "lean".into() });
    let Answer::Plan(PlanAnswer::WhatIf(found)) = client.must(request) else { panic!() };
    assert_eq!(found.alternatives.len(), 1, "only the requested policy");
    let made = found.alternatives[0].result.clone().unwrap();
    assert!(made.sums[1].0 > 0 && made.est < before.est_total, "a smaller cap leaves something out");
    let overrides = Overrides { policy: Some("lean".into()), ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
    let now = client.whole_plan(branch, &message("and now?"));
    assert_eq!(
        (now.policy.as_str(), now.est_total, now.id),
        ("lean", made.est, made.plan),
        "the plan is the announced one"
    );
    let from = client.seen.len();
    client.must(save("lean", "user_cap = 1400\n", None));
    let shown = |event: &Event| matches!(event, Event::Session(SessionEvent::Branch(of)) if of.id == branch);
    assert!(client.seen[from..].iter().any(shown), "branches under it are shown anew");
    let wider = client.whole_plan(branch, &message("and now?"));
    assert!(wider.est_total > now.est_total, "a saved policy applies at once");
    client.must(Request::Editable(EditableAct::StepPolicy { name: "lean".into(), forward: false }));
    assert_eq!(client.whole_plan(branch, &message("and now?")).est_total, now.est_total);
    assert!(
        client.ask(Request::Editable(EditableAct::StepPolicy { name: "lean".into(), forward: false })).is_err(),
        "that was the first version"
    );
    client.must(Request::Editable(EditableAct::StepPolicy { name: "lean".into(), forward: true }));
    assert_eq!(texts(&policy(&mut client, branch, "lean"))[0], "[user_cap = 1400\n]");
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(
        client.whole_plan(branch, &message("and now?")).policy,
        "layered",
        "applying it is undone in the session"
    );
    client.stop();
    let mut nothing = bench.start_with(|setup| setup.policies_dir = None);
    nothing.open();
    let refused = nothing.ask(save("lean", "user_cap = 900\n", None)).unwrap_err();
    assert!(refused.kept.contains("kept"), "{refused}");
}

/// Why the next request of a branch does not ask for a state block, as every setting, mode, and policy decides.
#[test]
fn a_plan_tells_why_no_state_block_is_requested() {
    let model = Model::new([text("Fine."), text("Fine again.")]);
    let bench = Bench::new(&model);
    let with = |client: &mut Client, branch, overrides: Overrides| {
        client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
        outcome(&client.plan(branch, &message("and now?")).unwrap()).unwrap()
    };
    let mut client = bench.start_with(|setup| setup.settings.state_block = Some(StateBlock::Auto));
    let branch = client.session();
    client.say(branch, "first");
    client.say(branch, "second");
    let window = Overrides { policy: Some("window".into()), ..Overrides::default() };
    for overrides in [Overrides::default(), Overrides { mode: Some(Mode::Off), ..Overrides::default() }, window.clone()]
    {
        let outcome = with(&mut client, branch, overrides);
        let is_needless = matches!(outcome, Outcome::NotNeeded { turns: LeftOutTurns::NoTurn, tokens: 1.. });
        assert!(is_needless, "{outcome:?}");
    }
    let last = Overrides { window: Some(1), ..window.clone() };
    assert_eq!(with(&mut client, branch, last), Outcome::Asked, "a turn is older than the window");
    drop(client);
    let mut client = bench.start_with(|setup| setup.settings.state_block = Some(StateBlock::Off));
    let branch = client.open().current;
    assert_eq!(with(&mut client, branch, window.clone()), Outcome::Off { has_state: false });
    client.must(Request::Branch(BranchRequest::EditState { branch, text: "Goal: mine".into() }));
    let off = with(&mut client, branch, Overrides { mode: Some(Mode::Off), ..Overrides::default() });
    assert_eq!(off, Outcome::Off { has_state: true });
    let rows = client.whole_plan(branch, &message("and now?")).rows.clone();
    assert!(rows.iter().all(|row| row.kind != RowKind::State), "and the state block is not sent: {rows:?}");
    drop(client);
    let mut client = bench.start_with(|setup| setup.settings.state_block = Some(StateBlock::Auto));
    let branch = client.open().current;
    assert_eq!(with(&mut client, branch, Overrides::default()), Outcome::Asked, "the branch has a state block");
    drop(client);
    let mut client = bench.start();
    let branch = client.open().current;
    assert_eq!(with(&mut client, branch, window), Outcome::Asked, "as the policy says");
}

/// The later requests of a turn ask if its first request does, and only then.
#[test]
fn the_rounds_of_a_turn_tell_why_no_state_block_is_requested() {
    for (setting, later) in [(StateBlock::Auto, Outcome::LaterRound), (StateBlock::Required, Outcome::Asked)] {
        let call = vec![Say::Call("echo".into(), r#"{"size":100}"#.into())];
        let model = Model::new([call, text("Done.")]);
        let mut bench = Bench::new(&model);
        bench.tools = Some(std::sync::Arc::new(Echo));
        let mut client = bench.start_with(|setup| setup.settings.state_block = Some(setting));
        let branch = client.session();
        client.say(branch, "first");
        let planned = client.seen.iter().filter_map(|event| match event {
            Event::Planned { planned, .. } => outcome(planned),
            _ => None,
        });
        let outcomes: Vec<Outcome> = planned.collect();
        assert_eq!((outcomes.len(), outcomes.last()), (2, Some(&later)), "{setting:?}: {outcomes:?}");
        assert_eq!(outcomes[0] == Outcome::Asked, later == Outcome::Asked, "{setting:?}");
    }
}

fn outcome(planned: &Planned) -> Option<Outcome> {
    let Planned::Plan { state_request, .. } = planned else { panic!("{planned:?}") };
    *state_request
}
