//! Previews of acts, acts on several items at once, and requests edited by hand, through the whole engine; edited
//! requests go to a loopback server.

use crate::support::bench::{Bench, Client, Model, Quarter, draft, message, run_sql, text};
use crate::support::binary::Home;
use crate::support::server::{Server, end, json, stream, words};
use pleach::domain::base::{BranchId, FailureKind, Hash};
use pleach::domain::call::{RunStatus, request};
use pleach::domain::conversation::{Atom, MarkKind};
use pleach::domain::planning::Reason;
use pleach::domain::planning::{ActPreview, ContextPlan, RowKind, Verdict};
use pleach::engine::api::{
    Act, Answer, BodyCount, BranchRequest, CallAnswer, CallRequest, Draft, DraftKind, Event, Exact, ItemName,
    PlanAnswer, PlanRequest, Planned, RawRequest, ReplayedCall, Request, SessionRequest,
};
use std::sync::Arc;

const LONG: &str = "The grace of a refresh token is 1500 ms, because two tabs race for it. ";

fn talk(client: &mut Client, turns: usize) -> BranchId {
    let branch = client.session();
    for n in 0..turns {
        client.say(branch, &format!("Question {n}: {}", LONG.repeat(8)));
    }
    branch
}

fn budget(client: &mut Client, branch: BranchId, tokens: u32) {
    let found = client.open().branches.iter().find(|b| b.id == branch).unwrap().overrides.clone();
    client.must(Request::Branch(BranchRequest::Override {
        branch,
        overrides: pleach::domain::conversation::branch::Overrides { budget: Some(tokens), ..found },
    }));
}

fn preview(client: &mut Client, branch: BranchId, draft: &Draft, items: &[Atom], act: Act) -> Box<ActPreview> {
    let items = items.iter().map(|atom| ItemName::Atom(*atom)).collect();
    match client.must(Request::Plan(PlanRequest::Preview { branch, draft: draft.clone(), items, act })) {
        Answer::Plan(PlanAnswer::Preview(found)) => found,
        other => panic!("{other:?}"),
    }
}

fn set(kind: MarkKind) -> Act {
    Act::Set { kind, toggle: false }
}

fn out_turns(plan: &ContextPlan) -> Vec<Atom> {
    let out = plan.excluded().filter(|row| row.kind == RowKind::Turn && row.source.turn.is_some());
    out.map(|row| row.atom).collect()
}

#[test]
fn preview_matches_the_act() {
    let model = Model::new([]);
    let mut client = Bench::new(&model).start();
    let branch = talk(&mut client, 14);
    budget(&mut client, branch, 1_600);
    let asked = message("What was the grace?");
    let before = client.whole_plan(branch, &asked);
    let out = out_turns(&before);
    assert!(out.len() > 2, "a small budget leaves turns out");
    let included_atoms = |plan: &ContextPlan| plan.included().map(|row| row.atom).collect::<Vec<Atom>>();
    for (items, kind) in
        [(&out[..1], MarkKind::IncludeOnce), (&out[..2], MarkKind::Sticky), (&out[..1], MarkKind::Sticky)]
    {
        assert_eq!(client.whole_plan(branch, &asked).id, before.id, "after undo the plan is as before");
        let act_preview = preview(&mut client, branch, &asked, items, set(kind));
        assert_eq!((act_preview.branch, act_preview.present, act_preview.est), (branch, before.id, before.est_total));
        assert_eq!(client.whole_plan(branch, &asked).id, before.id, "a preview changes nothing");
        assert!(client.open().branches.iter().find(|b| b.id == branch).unwrap().marks.is_empty());
        let items: Vec<ItemName> = items.iter().map(|atom| ItemName::Atom(*atom)).collect();
        client.must(Request::Branch(BranchRequest::Mark { branch, items, act: set(kind) }));
        let after = client.plan(branch, &asked).unwrap();
        match (&act_preview.result, after) {
            (Ok(figures), Planned::Plan { plan, .. }) => {
                assert_eq!((figures.plan, figures.est), (plan.id, plan.est_total), "{kind:?}");
                let (old, new) = (included_atoms(&before), included_atoms(&plan));
                assert_eq!(figures.sums[0].0 as usize, new.iter().filter(|atom| !old.contains(atom)).count());
                assert_eq!(figures.sums[1].0 as usize, old.iter().filter(|atom| !new.contains(atom)).count());
                assert!(!figures.gained.is_empty(), "includes the requested item");
            }
            (Err(why), Planned::Blocked(blocked)) => assert_eq!(why.what, blocked.sentence()),
            other => panic!("{other:?}"),
        }
        client.must(Request::Session(SessionRequest::Undo));
    }
    let stale = Request::Plan(PlanRequest::Preview {
        branch,
        draft: message("another"),
        items: vec![ItemName::Atom(out[0])],
        act: set(MarkKind::Sticky),
    });
    assert_eq!(client.ask(stale).unwrap_err().kind, FailureKind::Stale, "only for the displayed plan");
    let reply = Request::Plan(PlanRequest::Preview {
        branch,
        draft: asked,
        items: vec![ItemName::Atom(out[0])],
        act: Act::Reply,
    });
    assert_eq!(client.ask(reply).unwrap_err().kind, FailureKind::User);
}

#[test]
fn newer_preview_replaces_the_older() {
    // A session that waits for all older messages to be indexed gets its answer too.
    for patient in [false, true] {
        let model = Model::new([]);
        let mut client = Bench::new(&model).start_with(|setup| setup.patient = patient);
        let branch = talk(&mut client, 4);
        let asked = message("What?");
        let plan = client.whole_plan(branch, &asked);
        let atom = plan.included().find(|row| row.kind == RowKind::Turn).unwrap().atom;
        let look = |kind| {
            Request::Plan(PlanRequest::Preview {
                branch,
                draft: asked.clone(),
                items: vec![ItemName::Atom(atom)],
                act: set(kind),
            })
        };
        let (first, second) = (client.post(look(MarkKind::Exclude)), client.post(look(MarkKind::Sticky)));
        assert!(matches!(client.answer(first), Ok(Answer::Done(_) | Answer::Plan(PlanAnswer::Preview(_)))));
        assert!(matches!(client.answer(second), Ok(Answer::Plan(PlanAnswer::Preview(_)))), "patient: {patient}");
    }
}

#[test]
fn acts_on_several_items_undo_in_one_step() {
    let model = Model::new([]);
    let mut client = Bench::new(&model).start();
    let branch = talk(&mut client, 5);
    let asked = message("What?");
    let before = client.whole_plan(branch, &asked);
    let turns: Vec<Atom> =
        before.included().filter(|row| row.kind == RowKind::Turn).map(|row| row.atom).take(3).collect();
    let items: Vec<ItemName> = turns.iter().chain(&turns[..1]).map(|atom| ItemName::Atom(*atom)).collect();
    let Answer::Done(sentence) =
        client.must(Request::Branch(BranchRequest::Mark { branch, items: items.clone(), act: set(MarkKind::Exclude) }))
    else {
        panic!()
    };
    assert!(sentence.contains("3 items"), "an item named twice is changed once: {sentence}");
    let after = client.whole_plan(branch, &asked);
    let out = after.excluded().filter(|row| row.reason == Reason::UserExcluded { once: false }).count();
    assert_eq!(out, 3);
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(client.whole_plan(branch, &asked).id, before.id, "all items in one step");
    client.must(Request::Session(SessionRequest::Redo));
    assert_eq!(client.whole_plan(branch, &asked).id, after.id);
    let toggle = Act::Set { kind: MarkKind::Exclude, toggle: true };
    client.must(Request::Branch(BranchRequest::Mark { branch, items, act: toggle }));
    assert_eq!(client.whole_plan(branch, &asked).id, before.id, "on and off");
    let bad = vec![ItemName::Atom(turns[0]), ItemName::Atom(Atom::Section { text: Hash::of(b"no such text") })];
    assert!(
        client.ask(Request::Branch(BranchRequest::Mark { branch, items: bad, act: set(MarkKind::Exclude) })).is_err()
    );
    assert_eq!(client.whole_plan(branch, &asked).id, before.id, "all or nothing");
}

fn raw(client: &mut Client, branch: BranchId) -> RawRequest {
    match client.must(Request::Plan(PlanRequest::Exact { branch, act: Exact::Show })) {
        Answer::Plan(PlanAnswer::Raw(raw)) => *raw,
        other => panic!("{other:?}"),
    }
}

fn count_body(client: &mut Client, branch: BranchId, draft: &Draft, body: &str) -> BodyCount {
    match client.must(Request::Plan(PlanRequest::Exact {
        branch,
        act: Exact::Weigh { draft: draft.clone(), body: body.into() },
    })) {
        Answer::Plan(PlanAnswer::Weighed(weighed)) => weighed,
        other => panic!("{other:?}"),
    }
}

fn send(branch: BranchId, draft: &Draft, body: &str) -> Request {
    Request::Plan(PlanRequest::Exact { branch, act: Exact::Send { draft: draft.clone(), body: body.into() } })
}

/// The plan that was shown last.
fn shown(client: &Client) -> (Arc<ContextPlan>, Hash) {
    let found = client.seen.iter().rev().find_map(|event| match event {
        Event::Planned { planned: Planned::Plan { plan, request_digest, .. }, .. } => {
            Some((plan.clone(), *request_digest))
        }
        _ => None,
    });
    found.unwrap()
}

/// The bodies that were posted.
fn posts(server: &Server) -> Vec<Vec<u8>> {
    server.requests().into_iter().filter(|request| request.method == "POST").map(|request| request.body).collect()
}

fn answers(words_: &[&str]) -> Server {
    Server::start_posts(words_.iter().map(|answer| vec![stream(), words(answer), end()]).collect())
}

/// The stored plan of an edited call: changed items are rows marked as edited, unchanged ones keep their rows, and
/// nothing is lost.
fn assert_every_item_has_one_row(client: &mut Client, run: &str, plan: &ContextPlan, weighed: BodyCount) {
    let Answer::Call(CallAnswer::StoredPlan { plan: kept, .. }) =
        client.must(Request::Call(CallRequest::StoredPlan { id: run.to_owned() }))
    else {
        panic!()
    };
    let own: Vec<&str> =
        kept.included().filter(|row| row.kind == RowKind::Request).map(|row| row.title.as_str()).collect();
    assert_eq!(u32::try_from(own.len()).unwrap(), weighed.changed);
    assert!(own.iter().any(|title| title.contains("door")), "{own:?}");
    let sum: u32 = kept.included().map(|row| row.tokens).sum::<u32>() + kept.framing + kept.tools;
    assert_eq!(sum, kept.est_total, "rows, overhead, and tools add up");
    assert!(kept.included().any(|row| row.source.turn == Some(2)), "unchanged items keep their rows");
    let away = kept.excluded().filter(|row| row.reason == Reason::RemovedByPerson).count();
    assert!(away > 0, "changed items are reported");
    for row in plan.included() {
        let times = kept.rows.iter().filter(|other| other.atom == row.atom).count();
        assert_eq!(times, 1, "every item has exactly one row: {row:?}");
    }
}

#[test]
fn edited_body_is_sent_unchanged() {
    let server = answers(&["first", "second", "edited", "usual", "again"]);
    let bench = Bench::http(&server);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "What is the port?");
    client.say(branch, "And the host?");
    let asked = message("Which of both is secret?");
    let plan = client.whole_plan(branch, &asked);
    let shown_raw = raw(&mut client, branch);
    assert_eq!(shown_raw.digest, Hash::of(shown_raw.body.as_bytes()));
    assert_eq!((shown_raw.tokens, shown_raw.budget), (plan.est_total, plan.budget.total()));
    let same = count_body(&mut client, branch, &asked, &shown_raw.body);
    assert_eq!((same.tokens, same.changed, same.digest), (plan.est_total, 0, shown_raw.digest));

    let texts = request::texts(&shown_raw.body);
    assert!(texts.contains("What is the port?") && texts.ends_with("Which of both is secret?"), "{texts}");
    let edited = texts.replace("What is the port?", "What is the door?\u{200b}").replace("secret?", "open?");
    let body = request::with_texts(&shown_raw.body, &edited).unwrap();
    let weighed = count_body(&mut client, branch, &asked, &body);
    assert_eq!(weighed.digest, Hash::of(body.as_bytes()));
    let from = client.seen.len();
    let Answer::Asked { run } = client.must(send(branch, &asked, &body)) else { panic!() };
    assert!(client.closed(from, branch).failure.is_none());

    let posted = posts(&server);
    assert_eq!(String::from_utf8(posted[2].clone()).unwrap(), body, "byte for byte");
    let runs = client.runs();
    let card = runs.iter().find(|card| card.id == run).unwrap().clone();
    assert_eq!((card.edited, card.status), (true, RunStatus::Complete));
    assert_eq!(card.request_digest, Hash::of(&posted[2]), "the digest is of what was posted");
    assert!(runs.iter().filter(|other| other.id != run).all(|other| !other.edited));
    let encoding = plan.encoding;
    let counted = pleach::context::render::checks::count_body(&posted[2], encoding, &Quarter);
    assert_eq!(Some(card.est_total), counted, "the meter counts what was posted");
    assert_eq!(card.est_total, weighed.tokens);

    assert_every_item_has_one_row(&mut client, &run.to_string(), &plan, weighed);
    let nodes = client.open().nodes.clone();
    let user = nodes.iter().find(|head| Some(head.id) == card.user).unwrap();
    assert_eq!(user.preview, "Which of both is open?", "the question is the one that was sent");
    assert_eq!(client.replay(&card).unwrap(), card.request_digest, "the call can be repeated");
    client.say(branch, "And now?");
    let posted = posts(&server);
    let usual = String::from_utf8(posted[3].clone()).unwrap();
    assert!(usual.contains("What is the port?") && !usual.contains("door"), "once only");
    let from = client.seen.len();
    let request =
        Request::Call(CallRequest::Replay { run: run.to_string(), profile: None, model: None, without: None });
    let Answer::Call(CallAnswer::Replaying(again)) = client.must(request) else { panic!() };
    let ReplayedCall { exact, branch: scratch, .. } = *again;
    assert!(client.closed(from, scratch.id).failure.is_none());
    let posted = posts(&server);
    assert!(exact && posted[4] == posted[2], "the same bytes again");
    let other = Request::Call(CallRequest::Replay {
        run: run.to_string(),
        profile: None,
        model: Some("big".into()),
        without: None,
    });
    assert_eq!(client.ask(other).unwrap_err().kind, FailureKind::User);
}

#[test]
fn edited_plan_is_shown_during_the_call() {
    let server = answers(&["first", "edited"]);
    let mut client = Bench::http(&server).start();
    let branch = client.session();
    client.say(branch, "What is the port?");
    let asked = message("Sure?");
    client.whole_plan(branch, &asked);
    let body = raw(&mut client, branch).body.replace("What is the port?", "8080");
    let from = client.seen.len();
    client.must(send(branch, &asked, &body));
    client.closed(from, branch);
    let (plan, digest) = shown(&client);
    assert_eq!(digest, Hash::of(body.as_bytes()), "the displayed bytes are sent");
    assert!(plan.included().any(|row| row.reason == Reason::WrittenByPerson && row.title.contains("8080")));
}

#[test]
fn unsendable_edits_are_refused() {
    let model = Model::new([text("one")]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "A question");
    let asked = message("Another");
    let room = client.whole_plan(branch, &asked).budget.prompt;
    let body = raw(&mut client, branch).body.to_string();
    let long = "word ".repeat(room as usize);
    let refused = [
        (body.replace("\"messages\"", "\"messages\" \n x"), FailureKind::User, "line 2, column 2"),
        (body.replace("one-model", "other-model"), FailureKind::User, "other-model"),
        (body.replace("Another", ""), FailureKind::User, "contains no question"),
        ("{}".into(), FailureKind::User, "names no model"),
        (body.replace("Another", &long), FailureKind::Blocked, "too many"),
    ];
    for (bad, kind, why) in refused {
        let blank = message("");
        let failure = client.ask(send(branch, &blank, &bad)).unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.to_string().contains(why), "{why}: {failure}");
        assert!(failure.kept.contains("Nothing was sent"), "{failure:?}");
    }
    let weighed = count_body(&mut client, branch, &asked, &body.replace("Another", &long));
    assert!(weighed.tokens > weighed.room);
    assert_eq!(model.bodies().len(), 1);
    assert_eq!(client.runs().len(), 1);
    let ok = client.ask(send(branch, &asked, &body)).unwrap();
    assert!(matches!(ok, Answer::Asked { .. }), "sending is possible again");
}

#[test]
fn edited_request_applies_to_one_call() {
    let tool = vec![crate::support::bench::Say::Call("echo".into(), "{\"size\":3}".into())];
    let model = Model::new([text("one"), tool, text("usual")]);
    let mut bench = Bench::new(&model);
    bench.tools = Some(Arc::new(crate::support::bench::Echo));
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "A question");
    let asked = message("Use the tool");
    client.whole_plan(branch, &asked);
    let body = raw(&mut client, branch).body.replace("A question", "A QUESTION");
    let from = client.seen.len();
    client.must(send(branch, &asked, &body));
    assert!(client.closed(from, branch).failure.is_none());
    assert_eq!(model.bodies().len(), 2, "no further round is sent without editing");
    let head = client.open().branches.iter().find(|b| b.id == branch).unwrap().head.unwrap();
    client.turn(branch, &draft("", DraftKind::Continue(head)));
    assert_eq!(model.bodies().len(), 3);
    assert!(!client.runs()[2].edited);
    let words = String::from_utf8(model.bodies()[2].clone()).unwrap();
    assert!(words.contains("A question") && words.contains("tool_call_id"), "the received text is kept");
}

#[test]
fn edited_request_is_not_adapted_for_a_server() {
    let refusal =
        json(400, &[], r#"{"error":{"message":"Unsupported parameter: 'stream_options'","param":"stream_options"}}"#);
    let server = Server::start_posts(vec![vec![stream(), words("first"), end()], refusal]);
    let mut client = Bench::http(&server).start();
    let branch = client.session();
    client.say(branch, "A question");
    let asked = message("Another");
    client.whole_plan(branch, &asked);
    let body = raw(&mut client, branch).body.replace("A question", "A QUESTION");
    let from = client.seen.len();
    client.must(send(branch, &asked, &body));
    let closed = client.closed(from, branch);
    assert!(closed.failure.is_some());
    let posts = server.requests().into_iter().filter(|request| request.method == "POST").count();
    assert_eq!(posts, 2, "only the edited body, once");
}

#[test]
fn removal_clears_edited_requests() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "The canary sings at noon");
    let asked = message("When?");
    client.whole_plan(branch, &asked);
    let body = raw(&mut client, branch).body.replace("You help.", "You help a little.");
    let from = client.seen.len();
    let Answer::Asked { run } = client.must(send(branch, &asked, &body)) else { panic!() };
    client.closed(from, branch);
    let first = client.open().nodes[0].id;
    client.must(Request::Branch(BranchRequest::RemoveMessage { branch, item: ItemName::TurnOf(first) }));
    let card = client.runs().into_iter().find(|card| card.id == run).unwrap();
    let failure = client.replay(&card).unwrap_err();
    assert!(failure.what.contains("edited request was deleted"), "{failure}");
    client.stop();
    run_sql(&bench.store_path(), "PRAGMA wal_checkpoint(TRUNCATE)");
    let bytes = std::fs::read(bench.store_path()).unwrap();
    assert!(!bytes.windows(10).any(|ten| ten == b"canary sin"), "none of its bytes are left");
}

#[test]
fn left_out_rows_name_their_remedy() {
    let model = Model::new([]);
    let mut client = Bench::new(&model).start();
    let branch = talk(&mut client, 3);
    let asked = message("What?");
    let plan = client.whole_plan(branch, &asked);
    let turn = plan.included().find(|row| row.source.turn == Some(1)).unwrap().atom;
    client.must(Request::Branch(BranchRequest::Mark {
        branch,
        items: vec![ItemName::Atom(turn)],
        act: set(MarkKind::Exclude),
    }));
    let after = client.whole_plan(branch, &asked);
    let row = after.rows.iter().find(|row| row.atom == turn).unwrap();
    let Verdict::Out { remedy: Some(remedy), .. } = &row.verdict else { panic!("{row:?}") };
    assert_eq!(remedy.action, "exclude");
    let back = preview(&mut client, branch, &asked, &[turn], Act::Set { kind: MarkKind::Exclude, toggle: true });
    let figures = back.result.unwrap();
    assert_eq!(figures.plan, plan.id, "removing the exclusion restores the plan");
    assert_eq!(figures.sums, [(1, row.tokens), (0, 0)]);
}

#[test]
fn command_line_sends_a_body_byte_for_byte() {
    let server = answers(&["first", "edited", "again"]);
    let home = Home::asking(&server.base_url());
    let key = [("TEST_KEY", "sk-test-0123456789")];
    assert_eq!(home.with(&key, &["ask", "What is the port?"]).code, 0);
    let output = home.with(&key, &["plan", "--request", "And the host?"]);
    assert_eq!(output.code, 0, "{}", output.err);
    let body = output.out.replace("What is the port?", "What is the door?") + "\n";
    let file = home.path("request.json");
    std::fs::write(&file, &body).unwrap();
    let file = file.display().to_string();
    let output = home.with(&key, &["ask", "--request", &file, "--json"]);
    assert_eq!(output.code, 0, "{}", output.err);
    let value: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    let posted = posts(&server);
    assert_eq!(String::from_utf8(posted[1].clone()).unwrap(), body, "including the line end at its end");
    assert_eq!(value["request_digest"], Hash::of(body.as_bytes()).to_string());
    let list = home.json(&["plans", "list"]);
    let edited: Vec<&serde_json::Value> = list.as_array().unwrap().iter().map(|run| &run["edited"]).collect();
    assert_eq!(edited.iter().filter(|flag| **flag == true).count(), 1, "{list}");
    assert!(home.ok(&["plans", "list"]).contains("edited by hand"));
    let run = value["run_id"].as_str().unwrap();
    let again = home.json(&["replay", run, "--dry-run"]);
    assert_eq!(again["same"], true, "{again}");
    let messages = home.json(&["message", "list"]);
    assert_eq!(messages[2]["content"], "And the host?");
    let broken = home.path("broken.json");
    std::fs::write(&broken, "{\n\"model\": }").unwrap();
    let output = home.with(&key, &["ask", "--request", &broken.display().to_string()]);
    assert_eq!(output.code, 1);
    assert!(output.err.contains("line 2, column 10"), "{}", output.err);
    let long = body.replace("And the host?", &"word ".repeat(40_000));
    std::fs::write(home.path("long.json"), long).unwrap();
    let output = home.with(&key, &["ask", "--request", &home.path("long.json").display().to_string()]);
    assert_eq!(output.code, 3);
    assert!(output.err.contains("too many"), "{}", output.err);
    let posts = server.requests().into_iter().filter(|request| request.method == "POST").count();
    assert_eq!(posts, 2, "nothing more was sent");
}
