//! Policies through the whole engine: lanes that do not leak, replies that stay in their lane, a pending question that
//! meets its answer, and windows that follow the conversation.

use crate::support::bench::{Bench, Client, Model, message, path, text};
use pleach::domain::base::ids::{BranchId, NodeId};
use pleach::domain::conversation::activation::Activation;
use pleach::domain::conversation::branch::Overrides;
use pleach::domain::conversation::message::Role;
use pleach::domain::planning::plan::{Reason, RowKind, Warning};
use pleach::domain::planning::policy::{PolicySpec, Section};
use pleach::domain::planning::tuning::{Adaptive, Levels, Milli, TurnSelection};
use pleach::engine::api::{Act, BranchRequest, ItemName, Request, SessionRequest};

fn client(bench: &Bench, spec: PolicySpec) -> Client {
    bench.start_with(|setup| {
        setup.defaults.policy = Some(spec.name.clone());
        setup.policies.insert(spec.name.clone(), spec);
    })
}

fn lanes() -> PolicySpec {
    PolicySpec { name: "lanes".into(), choose: TurnSelection::Lane, anchored: false, ..PolicySpec::default() }
}

fn into_lane(client: &mut Client, branch: BranchId, lane: &str) {
    let overrides = Overrides { lane: Some(lane.into()), ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
}

fn body(model: &Model, at: usize) -> String {
    String::from_utf8(model.bodies()[at].clone()).unwrap()
}

#[test]
fn lanes_do_not_leak_into_each_other() {
    let model = Model::new([text("Red cranes."), text("Nine francs."), text("Still red.")]);
    let bench = Bench::new(&model);
    let mut client = client(&bench, lanes());
    let branch = client.session();
    client.say(branch, "Which cranes?");
    into_lane(&mut client, branch, "billing");
    client.say(branch, "What does it cost?");
    let drawn = client.whole_plan(branch, &message("And with tax?"));
    let reasons: Vec<&Reason> =
        drawn.excluded().filter(|row| row.kind != RowKind::Search).map(|row| &row.reason).collect();
    assert_eq!(reasons, [&Reason::OtherLane]);
    assert!(drawn.included().any(|row| row.section() == Some(Section::Recent) && row.title.contains("cost")));
    into_lane(&mut client, branch, "");
    assert_ne!(client.whole_plan(branch, &message("And with tax?")).basis, drawn.basis, "another lane, another basis");
    client.say(branch, "Which colour?");
    assert!(!body(&model, 1).contains("cranes") && body(&model, 1).contains("cost"));
    assert!(body(&model, 2).contains("cranes") && !body(&model, 2).contains("francs"));
    client.must(Request::Session(SessionRequest::Undo));
    let session = client.open().card.id;
    let nodes = path(&bench.store(), session, branch);
    let lanes: Vec<&str> = nodes.iter().map(|node| node.head.lane.as_str()).collect();
    assert_eq!(lanes, ["", "", "billing", "billing", "", ""], "undo changes later requests, not messages");
    let now = client.open().branches.iter().find(|one| one.id == branch).unwrap().overrides.lane.clone();
    assert_eq!(now.as_deref(), Some("billing"), "setting a lane can be undone");
}

fn reply(client: &mut Client, branch: BranchId, to: NodeId) {
    client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::Message(to)], act: Act::Reply }));
}

/// A reply to a reply belongs to the lane of the chain's first message.
#[test]
fn reply_chain_is_one_lane() {
    let model = Model::new([text("one"), text("two"), text("three"), text("four")]);
    let bench = Bench::new(&model);
    let mut client = client(&bench, lanes());
    let branch = client.session();
    client.say(branch, "first");
    client.say(branch, "second");
    let session = client.open().card.id;
    let nodes = path(&bench.store(), session, branch);
    reply(&mut client, branch, nodes[1].head.id);
    client.say(branch, "about one");
    let answer = path(&bench.store(), session, branch)[5].head.id;
    reply(&mut client, branch, answer);
    client.say(branch, "about that");
    let nodes = path(&bench.store(), session, branch);
    let lane = format!("reply:{}", nodes[0].head.key);
    assert_eq!(nodes[4].head.lane, lane, "the lane starts at the question of the first answer");
    assert!(nodes[4..].iter().all(|node| node.head.lane == lane));
    let last = body(&model, 3);
    assert!(last.contains("about one") && !last.contains("second"), "the chain and nothing else");
}

#[test]
fn pending_question_meets_only_its_answer() {
    let asks = "Done.\n---STATE---\nGoal: ship\nPending: yes_no Shall I push it?\n---END STATE---";
    let model = Model::new([text(asks), text("Pushed."), text("fine"), text(asks), text("A poem.")]);
    let bench = Bench::new(&model);
    let mut client = client(&bench, lanes());
    let branch = client.session();
    client.say(branch, "Prepare it.");
    let waits = |client: &mut Client, words: &str| {
        let plan = client.whole_plan(branch, &message(words));
        plan.included().any(|row| row.reason == Reason::Pending)
    };
    assert!(!waits(&mut client, "Write a poem about the sea first"), "a new task does not answer the question");
    into_lane(&mut client, branch, "other");
    assert!(!waits(&mut client, "yes"), "another lane has no pending question");
    into_lane(&mut client, branch, "");
    assert!(waits(&mut client, "yes"));
    client.say(branch, "Yes.");
    let sent = body(&model, 1);
    assert!(sent.contains("answers this question") && sent.contains("Shall I push it?"), "{sent}");
    assert!(!waits(&mut client, "yes"), "answered");
    client.say(branch, "good");
    client.say(branch, "Prepare the next one.");
    client.say(branch, "Write a poem about the sea first");
    assert!(!waits(&mut client, "yes"), "a message that does not match clears the question");
    for run in client.runs() {
        assert_eq!(client.replay(&run).unwrap(), run.request_digest);
    }
}

#[test]
fn window_grows_with_errors() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let adaptive = Adaptive { base: 1_000, ..Adaptive::default() };
    let spec = PolicySpec {
        name: "adaptive".into(),
        choose: TurnSelection::Relevance,
        anchored: false,
        adaptive,
        ..PolicySpec::default()
    };
    let mut client = client(&bench, spec);
    let branch = client.session();
    client.say(branch, "The build gives an error in src/tree.rs:\n```\nerror[E0308]\n```\nwhy?");
    let plan = client.whole_plan(branch, &message("What about src/tree.rs?"));
    let warning = plan.warnings.iter().find(|warning| matches!(warning, Warning::WindowAdjusted { .. })).unwrap();
    let wanted = "Adjusted context window to 1250 tokens (complexity: 0.75, debugging × 2.0, one step at a time).";
    assert_eq!(warning.sentence(), wanted);
    let row = plan.included().find(|row| row.section() == Some(Section::Recent)).unwrap();
    let part = |name: &str| row.scores.parts.iter().find(|(known, _)| known == name).unwrap().1;
    assert_eq!((row.scores.score, part("flags"), part("source")), (Some(1_000), 1_500, 300));
    assert!(part("similarity") > 0, "both name the file");
    let other = client.whole_plan(branch, &message("Tell me of whales"));
    let same = other.included().find(|row| row.section() == Some(Section::Recent)).unwrap();
    assert!(same.scores.parts.iter().any(|(name, part)| name == "similarity" && *part == 0));
}

#[test]
fn levels_score_recurring_items_higher() {
    let model = Model::new([text("It is in refresh_token."), text("Nice weather."), text("refresh_token again.")]);
    let bench = Bench::new(&model);
    let levels = Levels { total: 1_000, permanent: 0, session: 0, working: 400, ..Levels::default() };
    let spec = PolicySpec {
        name: "levels".into(),
        choose: TurnSelection::Levels,
        anchored: false,
        levels,
        activation: Activation { on: false, ..Activation::default() },
        ..PolicySpec::default()
    };
    let mut client = client(&bench, spec);
    let branch = client.session();
    let long = |words: &str| format!("{words} {}", "so ".repeat(180));
    for words in ["Where is refresh_token made?", "How is it outside?", "And where is it read?"] {
        client.say(branch, &long(words));
    }
    let plan = client.whole_plan(branch, &message("Does refresh_token expire?"));
    let turns = plan.excluded().filter(|row| row.kind == RowKind::Turn);
    let out: Vec<(Option<u32>, &Reason)> = turns.map(|row| (row.source.turn, &row.reason)).collect();
    assert!(
        matches!(out[..], [(Some(2), Reason::LevelFull { budget: 300..400 })]),
        "less the permanent items: {out:?}"
    );
    let first = plan.included().find(|row| row.source.turn == Some(1)).unwrap();
    assert_eq!(first.reason, Reason::WorkingLevel);
    let part = |name: &str| first.scores.parts.iter().find(|(known, _)| known == name).unwrap().1;
    assert!(part("references") > 0 && part("task") > 0, "{:?}", first.scores.parts);
}

/// Of turns with equal scores, the one with the lower priority is left out first.
#[test]
fn higher_priority_stays_longer() {
    let bench = Bench::new(&Model::new([]));
    let none = Milli(0);
    let weights = Levels { recency: none, references: none, task: none, recent_share: none, ..Levels::default() };
    let levels = Levels { total: 1_000, permanent: 0, session: 0, working: 400, ..weights };
    let spec = PolicySpec {
        name: "levels".into(),
        choose: TurnSelection::Levels,
        anchored: false,
        levels,
        activation: Activation { on: false, ..Activation::default() },
        ..PolicySpec::default()
    };
    let mut client = client(&bench, spec);
    let branch = client.session();
    for priority in [Some(90), None, None] {
        let text = "so ".repeat(180);
        client.must(Request::Branch(BranchRequest::AddMessage { branch, role: Role::User, text, priority }));
    }
    let plan = client.whole_plan(branch, &message("Well?"));
    let turns = plan.excluded().filter(|row| row.kind == RowKind::Turn);
    assert_eq!(turns.map(|row| row.source.turn).collect::<Vec<_>>(), [Some(2)], "not the oldest");
}
