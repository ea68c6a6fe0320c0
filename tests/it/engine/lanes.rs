//! Policies through the whole engine: lanes that do not leak, replies that stay in their lane, a pending question that
//! meets its answer, and windows that follow the conversation.

use crate::support::bench::{Bench, Client, Model, message, path, text};
use pleach::domain::base::{BranchId, NodeId};
use pleach::domain::conversation::{Activation, MarkKind, Overrides, Role};
use pleach::domain::planning::{
    Adaptive, ContextPlan, Levels, Milli, Mode, PolicySpec, RowKind, Section, TurnSelection,
};
use pleach::domain::planning::{Reason, Warning};
use pleach::domain::summary::{SummaryAuthor, SummaryKind};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, Draft, DraftKind, ItemName, Request, SessionAnswer, SessionRequest,
    SummaryAct, SummaryAnswer,
};

fn client(bench: &Bench, spec: PolicySpec) -> Client {
    bench.start_with(|setup| {
        setup.settings.defaults.policy = Some(spec.name.clone());
        setup.settings.policies.insert(spec.name.clone(), spec);
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

/// The branch's lane is another one, and the new version has twins of its predecessor's lane before and after it.
#[test]
fn an_edited_message_stays_in_its_lane() {
    let model = Model::new(["Privet.", "Two meters.", "8443.", "Two by one."].map(text));
    let bench = Bench::new(&model);
    let mut client = client(&bench, lanes());
    let branch = client.session();
    into_lane(&mut client, branch, "garden");
    client.say(branch, "Which hedge?");
    client.say(branch, "How high?");
    into_lane(&mut client, branch, "server");
    client.say(branch, "Which port?");
    let session = client.open().card.id;
    let lanes = |bench: &Bench| -> Vec<String> {
        path(&bench.store(), session, branch).iter().map(|node| node.head.lane.clone()).collect()
    };
    let question = path(&bench.store(), session, branch)[2].head.id;
    let edit = Draft { kind: DraftKind::Edit(question), ..message("How high and wide?") };
    let plan = client.whole_plan(branch, &edit);
    assert!(plan.excluded().all(|row| row.reason != Reason::OtherLane), "turn 1 is of its lane");
    client.turn(branch, &edit);
    assert_eq!(lanes(&bench), ["garden"; 4]);
}

/// The default policy, as it is shipped.
fn layered() -> PolicySpec {
    PolicySpec { name: "layered".into(), lane_window: true, ..PolicySpec::default() }
}

fn out_of_lane(plan: &ContextPlan) -> Vec<Option<u32>> {
    let turns = plan.excluded().filter(|row| row.reason == Reason::OutsideLane);
    turns.map(|row| row.source.turn).collect()
}

fn mark(client: &mut Client, branch: BranchId, node: NodeId, kind: MarkKind, toggle: bool) {
    let act = Act::Set { kind, toggle };
    client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::Message(node)], act }));
}

#[test]
fn chosen_lane_is_the_window_of_the_branch() {
    let model =
        Model::new([text("Red cranes."), text("Nine francs."), text("Eleven."), text("Still red."), text("ok")]);
    let bench = Bench::new(&model);
    let mut client = client(&bench, layered());
    let branch = client.session();
    client.say(branch, "Which cranes?");
    into_lane(&mut client, branch, "billing");
    client.say(branch, "What does it cost?");
    client.say(branch, "And with tax?");
    assert!(!body(&model, 1).contains("cranes"), "another lane before the first message of this one");
    assert!(body(&model, 2).contains("francs") && !body(&model, 2).contains("cranes"));
    let plan = client.whole_plan(branch, &message("And in euros?"));
    assert_eq!(out_of_lane(&plan), [Some(1)]);

    let session = client.open().card.id;
    let first = path(&bench.store(), session, branch)[0].head.id;
    for kind in [MarkKind::Sticky, MarkKind::IncludeOnce] {
        mark(&mut client, branch, first, kind, false);
        let marked = client.whole_plan(branch, &message("And in euros?"));
        assert!(out_of_lane(&marked).is_empty(), "{kind:?}: a person brings in what they want");
        assert!(marked.included().any(|row| row.title.contains("cranes")), "{kind:?}");
        client.must(Request::Session(SessionRequest::Undo));
    }
    assert_eq!(client.whole_plan(branch, &message("And in euros?")).id, plan.id, "undo brings the plan back");

    let fork = BranchRequest::Fork { branch, at: None, name: Some("side".into()), switch: false };
    let Answer::Branch(BranchAnswer::Branch(fork)) = client.must(Request::Branch(fork)) else { panic!("no branch") };
    assert_eq!(out_of_lane(&client.whole_plan(fork.id, &message("And in euros?"))), [Some(1)], "a fork keeps the lane");

    into_lane(&mut client, branch, "");
    assert_eq!(out_of_lane(&client.whole_plan(branch, &message("Which colour?"))), [Some(3), Some(2)]);
    client.say(branch, "Which colour?");
    assert!(body(&model, 3).contains("cranes") && !body(&model, 3).contains("francs"));
    client.must(Request::Branch(BranchRequest::Override { branch, overrides: Overrides::default() }));
    assert!(out_of_lane(&client.whole_plan(branch, &message("Sum it up."))).is_empty());
    client.say(branch, "Sum it up.");
    assert!(["cranes", "francs", "Eleven"].iter().all(|words| body(&model, 4).contains(words)), "all lanes are back");
    client.must(Request::Session(SessionRequest::Undo));
    let now = client.open().branches.iter().find(|one| one.id == branch).unwrap().overrides.lane.clone();
    assert_eq!(now.as_deref(), Some(""), "the choice can be undone too");
    for run in client.runs() {
        assert_eq!(client.replay(&run).unwrap(), run.request_digest);
    }
}

/// Undo restores the request of before, byte for byte: after a lane was chosen, and after a summary was accepted in it.
#[test]
fn undo_of_a_lane_and_of_a_summary_in_it_restores_every_byte() {
    let long =
        |n: usize| text(&format!("Nine francs, note {n}. {}", "The rest is plain talk about cranes. ".repeat(9)));
    let model = Model::new((0..15).map(long));
    let bench = Bench::new(&model);
    let mut client = client(&bench, layered());
    let branch = client.session();
    for n in 0..3 {
        client.say(branch, &format!("Which cranes are red, number {n}?"));
    }
    let drawn = |client: &mut Client| client.drawn(branch, &message("And in euros?")).unwrap();
    let outside = drawn(&mut client);
    into_lane(&mut client, branch, "billing");
    assert_ne!(drawn(&mut client), outside);
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(drawn(&mut client), outside, "undo of a lane");
    into_lane(&mut client, branch, "billing");
    for n in 0..12 {
        client.say(branch, &format!("What does number {n} cost?"));
    }
    let inside = drawn(&mut client);
    let act = SummaryAct::Draft { kind: SummaryKind::Lane, up_to: None, by: SummaryAuthor::Extractive };
    let Answer::Summary(SummaryAnswer::Draft(Some(made))) = client.must(Request::Summary { branch, act }) else {
        panic!("nothing to summarize")
    };
    client.must(Request::Summary { branch, act: SummaryAct::Accept { draft: made.number } });
    assert_ne!(drawn(&mut client), inside);
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(drawn(&mut client), inside, "undo of a summary");
    into_lane(&mut client, branch, "");
    assert_ne!(drawn(&mut client), inside);
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(drawn(&mut client), inside, "undo of another lane");
}

/// A reply takes its message, and only that one, into the lane of what it replies to.
#[test]
fn reply_into_another_lane_takes_its_turns() {
    let model = Model::new([text("Nine francs."), text("Red cranes."), text("Ten."), text("Blue.")]);
    let bench = Bench::new(&model);
    let mut client = client(&bench, layered());
    let branch = client.session();
    into_lane(&mut client, branch, "billing");
    client.say(branch, "What does it cost?");
    into_lane(&mut client, branch, "birds");
    client.say(branch, "Which cranes?");
    let session = client.open().card.id;
    let answer = path(&bench.store(), session, branch)[1].head.id;
    reply(&mut client, branch, answer);
    client.say(branch, "And tomorrow?");
    assert!(body(&model, 2).contains("francs") && !body(&model, 2).contains("cranes"), "{}", body(&model, 2));
    client.say(branch, "And the eggs?");
    assert!(body(&model, 3).contains("cranes") && !body(&model, 3).contains("francs"));
    let lanes: Vec<String> = path(&bench.store(), session, branch).iter().map(|node| node.head.lane.clone()).collect();
    assert_eq!(lanes, ["billing", "billing", "birds", "birds", "billing", "billing", "birds", "birds"]);
}

/// Far more of other lanes lies between than a plan looks at.
#[test]
fn window_reaches_back_to_turns_of_its_lane() {
    let bench = Bench::new(&Model::new([]));
    let mut client = client(&bench, layered());
    let lines: Vec<String> = (0..260)
        .map(|turn| {
            let (lane, text) = if turn % 50 == 0 { ("birds", "One crane.") } else { ("noise", "So it goes on.") };
            let text = format!("{text} {turn} {}", "words ".repeat(if lane == "noise" { 400 } else { 1 }));
            serde_json::json!({ "role": "user", "content": text, "lane": lane, "session": "s" }).to_string()
        })
        .collect();
    let reading = pleach::import::read(lines.join("\n").as_bytes(), "x.jsonl").unwrap().incoming();
    let Answer::Session(SessionAnswer::Imported { sessions, .. }) =
        client.must(Request::Session(SessionRequest::Import { reading }))
    else {
        panic!("nothing was imported")
    };
    let open = SessionRequest::Open { session: Some(sessions[0].session.to_string()), branch: None, create: false };
    client.must(Request::Session(open));
    let branch = client.open().current;
    let window = |plan: &ContextPlan| -> Vec<u32> {
        plan.included().filter(|row| row.section() == Some(Section::Recent)).filter_map(|row| row.source.turn).collect()
    };
    let budget = |overrides: Overrides| {
        Request::Branch(BranchRequest::Override { branch, overrides: Overrides { budget: Some(6_000), ..overrides } })
    };
    client.must(budget(Overrides::default()));
    let all = client.whole_plan(branch, &message("Well?"));
    assert!(window(&all).len() > 1 && !window(&all).contains(&201), "{:?}", window(&all));
    client.must(budget(Overrides { lane: Some("birds".into()), ..Overrides::default() }));
    let plan = client.whole_plan(branch, &message("Well?"));
    assert_eq!(window(&plan), [1, 51, 101, 151, 201, 251]);
    let lost = plan.excluded().filter(|row| row.reason == Reason::OutsideLane).map(|row| row.turns.max(1)).sum::<u32>();
    assert_eq!(lost, 254, "every other turn has a row, alone or among others");
    client.must(budget(Overrides { lane: Some("birds".into()), window: Some(3), ..Overrides::default() }));
    assert_eq!(window(&client.whole_plan(branch, &message("Well?"))), [151, 201, 251], "the last three of the lane");
}

/// The summary of another lane is not sent with a lane that was just chosen.
#[test]
fn summary_of_another_lane_stays_out_of_a_chosen_one() {
    let long = |words: &str| text(&format!("{words}. {}", "It went on and on about the same old thing. ".repeat(12)));
    let model = Model::new((0..8).map(|n| long(&format!("Answer {n} on herons"))));
    let bench = Bench::new(&model);
    let mut client = client(&bench, layered());
    let branch = client.session();
    for n in 0..6 {
        client.say(branch, &format!("Question {n} about herons, please?"));
    }
    let draft = SummaryAct::Draft { kind: SummaryKind::Lane, up_to: Some(4), by: SummaryAuthor::Extractive };
    let act = |client: &mut Client, act| client.must(Request::Summary { branch, act });
    let Answer::Summary(SummaryAnswer::Draft(Some(made))) = act(&mut client, draft) else { panic!("no draft") };
    act(&mut client, SummaryAct::Accept { draft: made.number });
    let sent = |client: &mut Client| {
        let plan = client.whole_plan(branch, &message("How are you?"));
        plan.rows.iter().find(|row| row.kind == RowKind::Summary).map(|row| (row.included(), row.reason.clone()))
    };
    assert_eq!(sent(&mut client), Some((true, Reason::Summary)));
    into_lane(&mut client, branch, "billing");
    assert_eq!(sent(&mut client), Some((false, Reason::OtherLane)));
    let plan = client.whole_plan(branch, &message("How are you?"));
    assert_eq!(out_of_lane(&plan).len(), 6, "turns that it covered are of another lane first of all");
    into_lane(&mut client, branch, "");
    assert_eq!(sent(&mut client), Some((true, Reason::Summary)));
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

/// Earlier versions named a chain by the first digits of its root's key.
#[test]
fn chain_of_an_earlier_version_keeps_its_name() {
    let model = Model::new([text("one"), text("two"), text("three")]);
    let bench = Bench::new(&model);
    let mut client = client(&bench, lanes());
    let branch = client.session();
    client.say(branch, "first");
    let session = client.open().card.id;
    let nodes = path(&bench.store(), session, branch);
    let lane = format!("reply:{}", nodes[0].head.key.short());
    into_lane(&mut client, branch, &lane);
    client.say(branch, "about one");
    reply(&mut client, branch, nodes[1].head.id);
    client.say(branch, "and again");
    let nodes = path(&bench.store(), session, branch);
    assert_eq!(nodes.len(), 6);
    assert!(nodes[2..].iter().all(|node| node.head.lane == lane));
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
    let wanted =
        "Adjusted context window to 1,250 tokens (complexity: 0.75, debugging × 2.0, at most one step per turn).";
    assert_eq!(warning.sentence(), wanted);
    let row = plan.included().find(|row| row.section() == Some(Section::Recent)).unwrap();
    let part = |name: &str| row.scores.parts.iter().find(|(known, _)| known == name).unwrap().1;
    assert_eq!((row.scores.score, part("flags"), part("source")), (Some(1_000), 1_500, 300));
    assert!(part("similarity") > 0, "both name the file");
    let other = client.whole_plan(branch, &message("Tell me of whales"));
    let same = other.included().find(|row| row.section() == Some(Section::Recent)).unwrap();
    assert!(same.scores.parts.iter().any(|(name, part)| name == "similarity" && *part == 0));
}

/// A policy that chooses turns by score reaches turns far older than what the budget could contain.
#[test]
fn turns_said_long_ago_are_chosen() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let adaptive = Adaptive { base: 1_000, ..Adaptive::default() };
    let choose = TurnSelection::Relevance;
    let spec = PolicySpec { name: "adaptive".into(), choose, anchored: false, adaptive, ..PolicySpec::default() };
    let mut client = client(&bench, spec);
    let branch = client.session();
    for turn in 1..=60 {
        let topic = if turn == 3 { "refresh_token in src/tree.rs".to_owned() } else { format!("whale number {turn}") };
        model.then(text(&format!("The {topic} was noted. {}", "And so on. ".repeat(60))));
        client.say(branch, &format!("What of the {topic}?"));
    }
    let overrides = Overrides { mode: Some(Mode::Off), budget: Some(2_500), ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
    let chosen = |client: &mut Client, question: &str| {
        let plan = client.whole_plan(branch, &message(question));
        plan.included().filter(|row| row.section() == Some(Section::Recent)).any(|row| row.source.turn == Some(3))
    };
    assert!(chosen(&mut client, "What was refresh_token in src/tree.rs?"));
    assert!(!chosen(&mut client, "What of the whale number 50?"));
}

/// The policy `levels` with these numbers, and without leases of the program.
fn by_levels(levels: Levels) -> PolicySpec {
    PolicySpec {
        name: "levels".into(),
        choose: TurnSelection::Levels,
        anchored: false,
        levels,
        activation: Activation { on: false, ..Activation::default() },
        ..PolicySpec::default()
    }
}

#[test]
fn levels_score_recurring_items_higher() {
    let model = Model::new([text("It is in refresh_token."), text("Nice weather."), text("refresh_token again.")]);
    let bench = Bench::new(&model);
    let levels = Levels { total: 1_000, permanent: 0, session: 0, working: 400, ..Levels::default() };
    let mut client = client(&bench, by_levels(levels));
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
    let mut client = client(&bench, by_levels(levels));
    let branch = client.session();
    for priority in [Some(90), None, None] {
        let text = "so ".repeat(180);
        client.must(Request::Branch(BranchRequest::AddMessage { branch, role: Role::User, text, priority }));
    }
    let plan = client.whole_plan(branch, &message("Well?"));
    let turns = plan.excluded().filter(|row| row.kind == RowKind::Turn);
    assert_eq!(turns.map(|row| row.source.turn).collect::<Vec<_>>(), [Some(2)], "not the oldest");
}

/// The window of these policies contains all lanes, so the summary replaces turns that they would send, and is also sent
/// if they send none of them.
#[test]
fn the_summary_of_a_named_lane_replaces_its_turns() {
    let levels = || Levels { total: 4_000, permanent: 400, session: 1_000, working: 2_000, ..Levels::default() };
    let policies = [
        PolicySpec { name: "window".into(), anchored: false, lane_window: false, ..PolicySpec::default() },
        PolicySpec {
            name: "adaptive".into(),
            choose: TurnSelection::Relevance,
            anchored: false,
            adaptive: Adaptive { base: 1_500, ..Adaptive::default() },
            ..PolicySpec::default()
        },
        by_levels(levels()),
    ];
    for policy in policies {
        let name = policy.name.clone();
        let bench = Bench::new(&Model::new([]));
        let mut client = client(&bench, PolicySpec { lane_window: false, ..policy });
        let branch = client.session();
        let add = |client: &mut Client, role: Role, text: String| {
            client.must(Request::Branch(BranchRequest::AddMessage { branch, role, text, priority: None }));
        };
        into_lane(&mut client, branch, "deploy pipeline");
        for step in 1..=8 {
            add(&mut client, Role::User, format!("Step {step}: which limit must runner-{step} keep?"));
            let plain = "The pipeline requires an artifact. ".repeat(12);
            add(&mut client, Role::Assistant, format!("Decided: runner-{step} must keep {step}1 jobs. {plain}"));
        }
        let act = SummaryAct::Draft { kind: SummaryKind::Lane, up_to: Some(8), by: SummaryAuthor::Extractive };
        let Answer::Summary(SummaryAnswer::Draft(Some(draft))) = client.must(Request::Summary { branch, act }) else {
            panic!("no draft")
        };
        client.must(Request::Summary { branch, act: SummaryAct::Accept { draft: draft.number } });
        into_lane(&mut client, branch, "garden");
        for plant in 1..=3 {
            add(&mut client, Role::User, format!("Which plant has number {plant}?"));
            add(&mut client, Role::Assistant, format!("Plant {plant} is hazel-{plant}."));
        }
        let plan = client.whole_plan(branch, &message("What about the deploy pipeline?"));
        let row = plan.rows.iter().find(|row| row.kind == RowKind::Summary).unwrap();
        assert_eq!(row.reason, Reason::Summary, "{name}");
        let rows = plan.included().filter(|row| row.kind == RowKind::Turn);
        let turns: Vec<u32> = rows.filter_map(|row| row.source.turn).collect();
        assert!(turns.iter().all(|turn| *turn > 8) && turns.len() >= 3, "{name}: only the other turns: {turns:?}");
        let plan = client.whole_plan(branch, &message("Which plant?"));
        assert!(plan.included().all(|row| row.kind != RowKind::Summary), "{name}: the lane is not named");
    }
}
