//! Turns through the whole engine: one POST, what is kept, recovery, and two windows on one store.

use crate::support::bench::{Bench, Dice, Echo, Model, Say, draft, message, path, quirk_failure, run_sql, text};
use crate::support::chatgpt;
use crate::support::server::{Server, end, send, stream, words};
use pleach::domain::base::{BranchId, Failure, FailureKind, NodeId, RunId};
use pleach::domain::call::{
    ModelInfo, Profile, Provider, ProviderError, ProviderErrorKind, Quirk, RunCard, RunStatus, SkipReason,
};
use pleach::domain::conversation::{
    Content, End, ImportedFile, IncomingPieces, MarkKind, NodeHead, Overrides, Part, Piece, PieceReader, Report, Role,
};
use pleach::domain::planning::{BlockedRemedy, Reason, Warning};
use pleach::domain::planning::{Row, RowKind, SearchChoice, Section};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, Draft, DraftKind, Event, FileAct, IndexingEvent, ItemName, PlanRequest,
    Planned, ProgramAnswer, ProgramEvent, ProgramRequest, Request, SessionAnswer, SessionEvent, SessionRequest,
    ToolAnswer, ToolRequest, TurnEvent, TurnRequest,
};
use pleach::engine::startup::setup::Servers;
use pleach::store::types::{OpenRun, Write};
use pleach::tools::Workspace;
use std::sync::Arc;
use uuid::Uuid;

fn call(name: &str, args: &str) -> Say {
    Say::Call(name.into(), args.into())
}

fn streams(event: &Event) -> bool {
    matches!(event, Event::Turn(TurnEvent::Stream { .. }))
}

#[test]
fn one_post_and_events_in_order() {
    let model = Model::new([vec![Say::Retry, Say::Text("hel".into()), Say::Hold, Say::Text("lo".into())]]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    let from = client.seen.len();
    client.send(branch, &message("hi")).unwrap();
    client.wait(from, |event| matches!(event, Event::Turn(TurnEvent::Retrying { attempt: 2, .. })));
    client.wait(from, streams);
    let busy = client.send(branch, &message("again")).unwrap_err();
    assert_eq!(busy.kind, FailureKind::Busy);
    model.release();
    let closed = client.closed(from, branch);
    assert!(closed.draft.is_none() && closed.failure.is_none());
    assert_eq!(model.bodies().len(), 1);
    let names: Vec<&str> = client.seen[from..].iter().filter_map(kind).collect();
    let place = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let last = |name: &str| names.iter().rposition(|n| *n == name).unwrap();
    assert!(place("opened") < place("run") && place("run") < place("stream"), "{names:?}");
    assert!(last("stream") < last("nodes") && last("nodes") < last("branch"), "{names:?}");
    assert!(last("branch") < last("run") && last("run") < place("closed"), "{names:?}");
    let run = &client.runs()[0];
    assert_eq!((run.status, run.attempts), (RunStatus::Complete, 2));
    assert_eq!(client.stop().iter().filter(|e| kind(e) == Some("closed")).count(), 1);
}

fn kind(event: &Event) -> Option<&'static str> {
    match event {
        Event::Turn(TurnEvent::Opened { .. }) => Some("opened"),
        Event::Turn(TurnEvent::Run(_)) => Some("run"),
        Event::Turn(TurnEvent::Stream { .. }) => Some("stream"),
        Event::Session(SessionEvent::Nodes { .. }) => Some("nodes"),
        Event::Session(SessionEvent::Branch(_)) => Some("branch"),
        Event::Turn(TurnEvent::Closed { .. }) => Some("closed"),
        _ => None,
    }
}

#[test]
fn two_quick_asks_are_one_call() {
    let model = Model::new([vec![Say::Hold]]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    let ask = || Request::Turn(TurnRequest::Ask { branch, draft: message("once"), plan: None });
    let (first, second) = (client.post(ask()), client.post(ask()));
    assert!(client.answer(first).is_ok());
    assert_eq!(client.answer(second).unwrap_err().kind, FailureKind::Busy);
    client.must(Request::Turn(TurnRequest::Cancel { branch }));
    let closed = client.closed(0, branch);
    assert_eq!((closed.draft, closed.failure), (Some(message("once")), None));
    assert_eq!(model.bodies().len(), 1);
}

#[test]
fn queued_message_can_be_withdrawn() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    let ask = client.post(Request::Turn(TurnRequest::Ask { branch, draft: message("hi"), plan: None }));
    let cancel = client.post(Request::Turn(TurnRequest::Cancel { branch }));
    let (asked, cancelled) = (client.answer(ask), client.answer(cancel));
    // Either the plan was quicker, and the turn was stopped, or nothing was sent.
    assert!(cancelled.is_ok());
    if asked.is_err() {
        assert_eq!(model.bodies().len(), 0);
        assert!(client.runs().is_empty());
    }
}

#[test]
fn cancelled_before_and_after_the_first_word() {
    let model = Model::new([vec![Say::Hold], vec![Say::Text("half an".into()), Say::Hold]]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    let from = client.seen.len();
    client.send(branch, &message("first")).unwrap();
    client.must(Request::Turn(TurnRequest::Cancel { branch }));
    let closed = client.closed(from, branch);
    assert_eq!(closed.draft, Some(message("first")));
    let session = client.open().card.id;
    let store = bench.store();
    assert!(path(&store, session, branch).is_empty());
    let from = client.seen.len();
    client.send(branch, &message("second")).unwrap();
    client.wait(from, streams);
    client.must(Request::Turn(TurnRequest::Cancel { branch }));
    assert!(client.closed(from, branch).draft.is_none());
    let nodes = path(&store, session, branch);
    assert_eq!(nodes.len(), 2);
    assert_eq!((nodes[1].head.end, nodes[1].content.plain_text().as_str()), (End::Cancelled, "half an"));
    let on = client.turn(branch, &draft("", DraftKind::Continue(nodes[1].head.id)));
    assert!(on.failure.is_none());
    let body = String::from_utf8(model.bodies()[2].clone()).unwrap();
    assert!(body.contains("half an") && body.contains("Go on where you stopped."), "{body}");
    let statuses: Vec<RunStatus> = client.runs().iter().map(|run| run.status).collect();
    assert_eq!(statuses, [RunStatus::Cancelled, RunStatus::Cancelled, RunStatus::Complete]);
}

#[test]
fn every_failure_has_its_own_outcome() {
    let fail = || Say::Fail(ProviderErrorKind::Server);
    let model = Model::new([
        vec![fail()],
        vec![Say::Text("partly".into()), fail()],
        vec![Say::Text("cut".into()), Say::Cut],
        vec![],
        vec![Say::Thought("hm".into())],
    ]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    let refused = client.say(branch, "a");
    assert!(refused.draft.is_some() && refused.failure.is_some());
    let broken = client.say(branch, "b");
    assert!(broken.draft.is_none() && broken.failure.is_some());
    let cut = client.say(branch, "c");
    assert!(cut.draft.is_none() && cut.failure.is_none());
    let empty = client.say(branch, "d");
    assert!(empty.draft.is_some() && empty.failure.unwrap().what.contains("without any text"));
    client.say(branch, "e");
    let session = client.open().card.id;
    let ends: Vec<(Role, End)> =
        path(&bench.store(), session, branch).iter().map(|node| (node.head.role, node.head.end)).collect();
    let (user, answer) = (|| (Role::User, End::Complete), |end| (Role::Assistant, end));
    let expected = [user(), answer(End::Errored), user(), answer(End::Truncated), user(), answer(End::Errored)];
    assert_eq!(ends, expected);
    assert_eq!(model.bodies().len(), 5);
}

/// A notice about the maximum of rounds follows only tool results, not an answer that was cut off.
#[test]
fn cut_off_answer_in_the_last_round_does_not_count_as_too_many_rounds() {
    let model = Model::new([vec![Say::Text("cut".into()), Say::Cut]]);
    let mut client = Bench::new(&model).start_with(|setup| setup.settings.rounds = 1);
    let branch = client.session();
    assert!(client.say(branch, "hi").failure.is_none());
    let is_about_rounds = |notice: &String| notice.contains("rounds of tool calls");
    assert!(!client.seen.iter().any(|e| matches!(e, Event::Program(ProgramEvent::Notice(n)) if is_about_rounds(n))));
}

#[test]
fn adapted_body_is_a_second_run_and_never_a_third() {
    let model = Model::new([
        quirk_failure(Quirk::MaxCompletionTokens),
        text("fine"),
        quirk_failure(Quirk::NoTemperature),
        quirk_failure(Quirk::NoTemperature),
    ]);
    let bench = Bench::new(&model);
    let warm = |setup: &mut pleach::engine::startup::setup::Setup| {
        setup.settings.profiles.values_mut().for_each(|profile| profile.temperature = Some(0.5));
    };
    let mut client = bench.start_with(warm);
    let branch = client.session();
    assert!(client.say(branch, "hi").failure.is_none());
    let runs = client.runs();
    assert_eq!(runs.len(), 2);
    assert_ne!(runs[0].request_digest, runs[1].request_digest);
    assert!(String::from_utf8_lossy(&model.bodies()[1]).contains("max_completion_tokens"));
    assert!(client.seen.iter().any(
        |e| matches!(e, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("max_completion_tokens"))
    ));
    let again = client.say(branch, "more");
    assert_eq!(again.draft, Some(message("more")));
    assert!(again.failure.is_some());
    assert_eq!(model.bodies().len(), 4);
    client.stop();
    let mut next = bench.start_with(warm);
    next.open();
    next.say(branch, "later");
    assert!(String::from_utf8_lossy(&model.bodies()[4]).contains("max_completion_tokens"));
    assert!(!String::from_utf8_lossy(&model.bodies()[4]).contains("temperature"));
}

/// A server that asks for a change that the request already has: its error is final, and nothing is learned.
#[test]
fn same_bytes_are_never_posted_twice() {
    let model = Model::new([quirk_failure(Quirk::NoTemperature), text("fine")]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    let closed = client.say(branch, "hi");
    let failure = closed.failure.unwrap();
    assert_eq!((closed.draft, failure.what.as_str()), (Some(message("hi")), "The server said no."));
    assert!(failure.todo.contains("not sent again"), "{failure}");
    assert_eq!((model.bodies().len(), client.runs().len()), (1, 1));
    let forget = Request::Program(ProgramRequest::ForgetQuirks { profile: None, model: None, quirk: None });
    assert!(client.ask(forget).unwrap_err().todo.contains("No quirks are stored"));
    assert!(client.say(branch, "hi").failure.is_none());
}

#[test]
fn duplicate_call_ids_are_replaced() {
    let two = |a: &str, b: &str| {
        let call = |index: u32, id: &str| serde_json::json!({"index": index, "id": id, "function": {"name": "echo", "arguments": "{}"}});
        let calls = serde_json::json!({"choices": [{"delta": {"tool_calls": [call(0, a), call(1, b)]}, "finish_reason": "tool_calls"}]});
        vec![stream(), send(&format!("data: {calls}\n\ndata: [DONE]\n\n"))]
    };
    let server = Server::start_posts(vec![two("dup", "dup"), two("dup", "own"), vec![stream(), words("done"), end()]]);
    let mut bench = Bench::http(&server);
    bench.tools = Some(Arc::new(Echo));
    let mut client = bench.start();
    let branch = client.session();
    assert!(client.say(branch, "hi").failure.is_none());
    let mut posts = server.requests().into_iter().filter(|request| request.method == "POST");
    let last: serde_json::Value = serde_json::from_slice(&posts.next_back().unwrap().body).unwrap();
    let messages = last["messages"].as_array().unwrap();
    let called: Vec<&str> =
        messages.iter().filter_map(|m| m["tool_calls"].as_array()).flatten().filter_map(|c| c["id"].as_str()).collect();
    let answered: Vec<&str> = messages.iter().filter_map(|m| m["tool_call_id"].as_str()).collect();
    assert_eq!((called.len(), &called), (4, &answered), "each call has its result, in order");
    assert_eq!(called.iter().collect::<std::collections::HashSet<_>>().len(), 4, "{called:?}");
    assert_eq!((called[0], called[3]), ("dup", "own"));
    let reported = |at: usize| {
        client
            .seen
            .iter()
            .any(|e| matches!(e, Event::Program(ProgramEvent::Notice(notice)) if notice.contains(called[at])))
    };
    assert!(reported(1) && reported(2));
    assert!(client.runs().iter().map(|run| run.diagnostics.len()).eq([1, 1, 0]));
}

#[test]
fn tools_in_a_folder() {
    let scripts = |name: &str, args: &str| vec![call(name, args)];
    let model = Model::new([
        vec![call("read_file", r#"{"path":"a.txt"}"#), call("read_file", r#"{"path":"../secret"}"#)],
        scripts("read_file", "{oops"),
        text("done"),
        scripts("read_file", r#"{"path":"a.txt"}"#),
        text("no"),
    ]);
    let mut bench = Bench::new(&model);
    std::fs::write(bench.workspace.join("a.txt"), "the harbour crane\n").unwrap();
    std::fs::write(bench.workspace.parent().unwrap().join("secret"), "hidden\n").unwrap();
    bench.tools = Some(Arc::new(Workspace::open(&bench.workspace, 4_000).unwrap()));
    let mut client = bench.start();
    let branch = client.session();
    assert!(client.say(branch, "read").failure.is_none());
    let session = client.open().card.id;
    let nodes = path(&bench.store(), session, branch);
    let roles: Vec<Role> = nodes.iter().map(|node| node.head.role).collect();
    let expected = [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::Assistant, Role::Tool, Role::Assistant];
    assert_eq!(roles, expected);
    assert!(nodes[2].content.plain_text().contains("the harbour crane"));
    assert!(!nodes[3].content.plain_text().contains("hidden"), "{:?}", nodes[3].content);
    assert!(nodes[5].content.plain_text().contains("not valid JSON"), "{:?}", nodes[5].content);
    assert_eq!(model.bodies().len(), 3);
    client.must(Request::Tool(ToolRequest::Trust { trusted: false }));
    client.say(branch, "read again");
    assert!(!String::from_utf8_lossy(&model.bodies()[3]).contains("\"tools\""));
    let refused = path(&bench.store(), session, branch)[9].content.plain_text();
    assert!(refused.contains("not trusted"), "{refused}");
}

#[test]
fn tool_rounds_stop_at_their_limit_and_continue() {
    let model = Model::new((0..3).map(|_| vec![call("echo", r#"{"size":50}"#)]).chain([text("now done")]));
    let mut bench = Bench::new(&model);
    bench.tools = Some(Arc::new(Echo));
    bench.rounds = 3;
    let mut client = bench.start();
    let branch = client.session();
    let closed = client.say(branch, "loop");
    assert!(closed.failure.is_none() && closed.draft.is_none());
    assert_eq!(model.bodies().len(), 3);
    assert!(
        client
            .seen
            .iter()
            .any(|e| matches!(e, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("3 rounds")))
    );
    let session = client.open().card.id;
    let tip = path(&bench.store(), session, branch).pop().unwrap();
    assert_eq!(tip.head.role, Role::Tool);
    client.turn(branch, &draft("", DraftKind::Continue(tip.head.id)));
    let nodes = path(&bench.store(), session, branch);
    assert_eq!(nodes.last().unwrap().content.plain_text(), "now done");
    assert_eq!(nodes.iter().filter(|node| node.head.role == Role::User).count(), 1);
}

#[test]
fn same_question_on_two_branches() {
    let hold = || vec![Say::Text("it".into()), Say::Hold, Say::Text(" is".into())];
    let model = Model::new([text("root"), hold(), hold()]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let one = client.session();
    client.say(one, "begin");
    let two = forked(&mut client, one, None);
    let from = client.seen.len();
    client.send(one, &message("what?")).unwrap();
    client.send(two, &message("what?")).unwrap();
    for branch in [one, two] {
        client.wait(from, |event| matches!(event, Event::Turn(TurnEvent::Stream { branch: b, .. }) if *b == branch));
    }
    model.release();
    model.release();
    for branch in [one, two] {
        assert!(client.closed(from, branch).failure.is_none());
    }
    let session = client.open().card.id;
    let store = bench.store();
    let (a, b) = (path(&store, session, one), path(&store, session, two));
    for nodes in [&a, &b] {
        assert_eq!(nodes.len(), 4);
        assert_eq!(
            (nodes[2].content.plain_text().as_str(), nodes[3].content.plain_text().as_str()),
            ("what?", "it is")
        );
    }
    assert_ne!(a[2].head.id, b[2].head.id);
    for run in client.runs() {
        assert_eq!(client.replay(&run).unwrap(), run.request_digest);
    }
}

fn forked(client: &mut crate::support::bench::Client, branch: BranchId, at: Option<NodeId>) -> BranchId {
    match client.must(Request::Branch(BranchRequest::Fork { branch, at, name: None, switch: false })) {
        Answer::Branch(BranchAnswer::Branch(made)) => made.id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn stopping_keeps_the_partial_answer() {
    let model = Model::new([vec![Say::Text("half".into()), Say::Hold]]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.send(branch, &message("hi")).unwrap();
    client.wait(0, streams);
    let began = std::time::Instant::now();
    client.stop();
    assert!(began.elapsed().as_secs() < 5);
    let mut next = bench.start();
    let view = next.open();
    assert!(view.recovered.is_empty(), "{:?}", view.recovered);
    let nodes = path(&bench.store(), view.card.id, branch);
    assert_eq!((nodes[1].head.end, nodes[1].content.plain_text().as_str()), (End::Cancelled, "half"));
    assert_eq!(model.bodies().len(), 1);
}

#[test]
fn full_disk_keeps_the_answer_until_there_is_room() {
    let model = Model::new([vec![Say::Text("precious".into()), Say::Hold, Say::Text(" words".into())]]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.send(branch, &message("hi")).unwrap();
    client.wait(0, streams);
    let full = "CREATE TRIGGER full BEFORE INSERT ON node BEGIN SELECT RAISE(ABORT, 'disk full'); END;";
    run_sql(&bench.store_path(), full);
    model.release();
    client.wait(
        0,
        |event| matches!(event, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("stays on the screen")),
    );
    assert!(!client.seen.iter().any(|event| matches!(event, Event::Turn(TurnEvent::Closed { .. }))));
    run_sql(&bench.store_path(), "DROP TRIGGER full;");
    assert!(client.closed(0, branch).failure.is_none());
    let session = client.open().card.id;
    let nodes = path(&bench.store(), session, branch);
    assert_eq!((nodes[1].head.end, nodes[1].content.plain_text().as_str()), (End::Complete, "precious words"));
    assert_eq!(model.bodies().len(), 1);
}

#[test]
fn two_windows_on_one_store() {
    let model = Model::new([vec![Say::Text("a".into()), Say::Hold], text("b")]);
    let bench = Bench::new(&model);
    let mut one = bench.start();
    let branch = one.session();
    let mut two = bench.start();
    two.open();
    one.send(branch, &message("hi")).unwrap();
    one.wait(0, streams);
    two.wait(0, |event| matches!(event, Event::Session(SessionEvent::Nodes { heads, .. }) if heads[0].preview == "hi"));
    let busy = two.send(branch, &message("me too")).unwrap_err();
    assert_eq!(busy.kind, FailureKind::Busy);
    assert_eq!(model.bodies().len(), 1);
    model.release();
    one.closed(0, branch);
    two.wait(0, |event| matches!(event, Event::Session(SessionEvent::Nodes { heads, .. }) if heads[0].preview == "a"));
    two.say(branch, "now me");
    one.wait(0, |event| matches!(event, Event::Session(SessionEvent::Nodes { heads, .. }) if heads.iter().any(|h| h.preview == "b")));
}

#[test]
fn moved_branch_keeps_the_answer_beside_it() {
    let model = Model::new([text("one"), text("two"), vec![Say::Text("three".into()), Say::Hold]]);
    let bench = Bench::new(&model);
    let mut one = bench.start();
    let branch = one.session();
    one.say(branch, "a");
    one.say(branch, "b");
    let session = one.open().card.id;
    let first = path(&bench.store(), session, branch)[1].head.id;
    let mut two = bench.start();
    two.open();
    let from = one.seen.len();
    one.send(branch, &message("c")).unwrap();
    one.wait(from, streams);
    two.wait(0, |event| matches!(event, Event::Session(SessionEvent::Nodes { heads, .. }) if heads[0].preview == "c"));
    let store = bench.store();
    let head = path(&store, session, branch).last().map(|node| node.head.id);
    store.write(vec![Write::MoveHead { branch, expect: head, head: Some(first) }]).unwrap();
    model.release();
    assert!(one.closed(from, branch).failure.is_none());
    assert_eq!(path(&store, session, branch).len(), 2);
    assert!(store.heads(session).unwrap().iter().any(|head| head.preview == "three"));
    assert!(one.runs().iter().all(|run| run.status == RunStatus::Complete));
}

#[test]
fn removal_reaches_the_other_window() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut one = bench.start();
    let branch = one.session();
    one.say(branch, "my password is swordfish");
    one.say(branch, "next");
    let session = one.open().card.id;
    let mut two = bench.start();
    two.open();
    two.drawn(branch, &message("x")).unwrap();
    let user = path(&bench.store(), session, branch)[0].head.id;
    one.must(Request::Branch(BranchRequest::RemoveMessage { branch, item: ItemName::TurnOf(user) }));
    two.wait(0, |e| matches!(e, Event::Session(SessionEvent::Nodes { heads, .. }) if heads.iter().any(|h| h.end == End::Removed)));
    for client in [&mut one, &mut two] {
        client.drawn(branch, &message("x")).unwrap();
        let Answer::Text(body) = client.must(Request::Plan(PlanRequest::WireText { branch })) else { panic!() };
        assert!(!body.contains("swordfish"));
    }
    drop((one, two));
    let bytes = std::fs::read(bench.store_path()).unwrap();
    assert!(!bytes.windows(9).any(|w| w == b"swordfish"), "the text is still in the file");
    // Sending the same text again creates a new message, not the removed one.
    let mut three = bench.start();
    three.open();
    let again = three.turn(branch, &draft("my password is swordfish", DraftKind::Edit(user)));
    assert!(again.failure.is_none(), "{again:?}");
    let nodes = path(&bench.store(), session, branch);
    assert_eq!((nodes.len(), nodes[0].content.plain_text().as_str()), (2, "my password is swordfish"));
    assert_ne!(nodes[0].head.id, user);
}

#[test]
fn crashed_run_is_recovered_and_not_sent_again() {
    let model = Model::new([text("first")]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "hello");
    let session = client.open().card.id;
    let done = client.runs().pop().unwrap();
    client.stop();
    let store = bench.store();
    let tip = path(&store, session, branch).pop().unwrap().head;
    let content = Content::text("lost question");
    let head = NodeHead {
        id: NodeId(Uuid::now_v7()),
        key: pleach::domain::conversation::message::node_key(Some(tip.key), Role::User, Some(content.hash()), 0, None),
        parent: Some(tip.id),
        role: Role::User,
        content: Some(content.hash()),
        preview: "lost question".into(),
        calls: 0,
        model: None,
        ..tip.clone()
    };
    let card = RunCard { id: RunId(Uuid::now_v7()), status: RunStatus::Open, user: None, answer: None, ..done };
    let piece = serde_json::json!({"text": "half an answer", "reasoning": "", "calls": []}).to_string();
    let open = OpenRun {
        card: card.clone(),
        owner: Uuid::now_v7().to_string(),
        after: Some(tip.id),
        head: Some(tip.id),
        user: Some((head, content)),
    };
    let chunk = Write::PutChunk { run: card.id, seq: 0, body: piece.into_bytes() };
    store.write(vec![Write::OpenRun(Box::new(open)), chunk]).unwrap();
    drop(store);
    let mut next = bench.start();
    let view = next.open();
    assert_eq!(view.recovered.len(), 1, "{:?}", view.recovered);
    let nodes = path(&bench.store(), session, branch);
    assert_eq!(nodes.len(), 4);
    assert_eq!((nodes[3].head.end, nodes[3].content.plain_text().as_str()), (End::Interrupted, "half an answer"));
    assert_eq!(next.runs().last().unwrap().status, RunStatus::Interrupted);
    assert_eq!(model.bodies().len(), 1);
    assert!(next.say(branch, "on").failure.is_none());
}

#[test]
fn stale_plan_is_refused() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "one");
    let words = message("two");
    let (plan, _) = client.drawn(branch, &words).unwrap();
    client.must(Request::Branch(BranchRequest::Mark {
        branch,
        items: vec![ItemName::Note("remember".into())],
        act: pin(),
    }));
    let ask = |plan| Request::Turn(TurnRequest::Ask { branch, draft: words.clone(), plan: Some(plan) });
    assert_eq!(client.ask(ask(plan)).unwrap_err().kind, FailureKind::Stale);
    assert_eq!(model.bodies().len(), 1);
    client.must(Request::Session(SessionRequest::Undo));
    client.must(Request::Branch(BranchRequest::Rename { branch, name: "other".into() }));
    let from = client.seen.len();
    assert!(client.ask(ask(plan)).is_ok());
    client.closed(from, branch);
    assert_eq!(model.bodies().len(), 2);
}

fn pin() -> Act {
    Act::Set { kind: pleach::domain::conversation::mark::MarkKind::Sticky, toggle: false }
}

#[test]
fn reply_quotation_is_kept_by_regeneration() {
    let model = Model::new([text("the crane is red"), text("yes"), text("yes indeed"), text("later")]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "colour?");
    let session = client.open().card.id;
    let store = bench.store();
    let answer = path(&store, session, branch)[1].head.id;
    client.must(Request::Branch(BranchRequest::Mark {
        branch,
        items: vec![ItemName::Message(answer)],
        act: Act::Reply,
    }));
    client.say(branch, "sure?");
    let quoted = |at: usize| String::from_utf8_lossy(&model.bodies()[at]).contains("The user replies to this");
    assert!(quoted(1));
    let user = path(&store, session, branch)[2].clone();
    assert!(matches!(user.content.parts[..], [Part::Text { .. }]) && user.content.extra.is_some());
    client.turn(branch, &draft("", DraftKind::Regenerate(user.head.id)));
    client.say(branch, "else?");
    assert!(quoted(2) && !quoted(3));
    for run in client.runs() {
        assert_eq!(client.replay(&run).unwrap(), run.request_digest);
    }
}

/// A call is answered by the result beside it. A hidden result, or the result of a hidden call, is sent as text if at
/// all. Hidden messages between a call and its result do not separate them. An empty result is an answer too.
#[test]
fn calls_are_answered_by_adjacent_results() {
    let call = r#""tool_calls":[{"id":"k","type":"function","function":{"name":"read","arguments":"{}"}}]"#;
    let asks = |hidden: bool| format!(r#"{{"role":"assistant","content":"","hidden":{hidden},{call}}}"#);
    let result = |hidden: bool, content: &str| {
        format!(r#"{{"role":"tool","tool_call_id":"k","name":"read","content":"{content}","hidden":{hidden}}}"#)
    };
    let red = "the red crane";
    let aside = r#"{"role":"assistant","content":"an aside","hidden":true}"#.to_owned();
    // The messages, the one included by hand, the results that are sent, and whether the result is sent as text.
    for (messages, include, answers, as_text) in [
        (vec![asks(false), result(true, red)], Some(2), vec!["[cancelled]"], true),
        (vec![asks(false), result(true, red)], None, vec!["[cancelled]"], false),
        (vec![asks(true), result(false, red)], None, vec![], true),
        (vec![asks(false), aside, result(false, red)], None, vec![red], false),
        (vec![asks(false), result(false, "")], None, vec![""], false),
        (vec![asks(true), result(false, "")], None, vec![], false),
        (vec![asks(false), result(true, "")], Some(2), vec!["[cancelled]"], false),
    ] {
        let model = Model::new([]);
        let bench = Bench::new(&model);
        let mut client = bench.start();
        let (first, last) = (r#"{"role":"user","content":"Read it."}"#, r#"{"role":"assistant","content":"Done."}"#);
        let lines = format!("{first}\n{}\n{last}\n", messages.join("\n"));
        let reading = pleach::import::read(lines.as_bytes(), "x.jsonl").unwrap();
        client.must(Request::Session(SessionRequest::Import { reading: reading.incoming() }));
        let view = client.open();
        let branch = view.current;
        if let Some(at) = include {
            assert!(view.nodes[at].hidden && view.nodes[at].role == Role::Tool);
            let act = Act::Set { kind: MarkKind::IncludeOnce, toggle: false };
            let items = vec![ItemName::Message(view.nodes[at].id)];
            client.must(Request::Branch(BranchRequest::Mark { branch, items, act }));
        }
        let plan = client.whole_plan(branch, &message("Which?"));
        let made = plan.warnings.iter().any(|warning| matches!(warning, Warning::ResultsMade { count: 1 }));
        assert_eq!(made, answers.contains(&"[cancelled]"), "{lines}");
        client.say(branch, "Which?");
        let body: serde_json::Value = serde_json::from_slice(&model.bodies()[0]).unwrap();
        let text = |message: &serde_json::Value| message["content"].as_str().unwrap_or_default().to_owned();
        let (results, others): (Vec<_>, Vec<_>) =
            body["messages"].as_array().unwrap().iter().partition(|message| message["role"] == "tool");
        assert_eq!(results.into_iter().map(text).collect::<Vec<_>>(), answers, "{lines}{body}");
        let orphan = |text: &String| text.contains("Tool result whose call is missing");
        let words: Vec<String> = others.into_iter().map(text).filter(orphan).collect();
        assert_eq!(words.len(), usize::from(as_text), "{lines}{body}");
        assert!(words.iter().all(|words| words.contains(red)), "{body}");
    }
}

#[test]
fn regenerated_turn_has_its_own_marks() {
    let model = Model::new([text("first"), text("second")]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "q");
    let session = client.open().card.id;
    let store = bench.store();
    let user = path(&store, session, branch)[0].head.id;
    client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::TurnOf(user)], act: pin() }));
    client.turn(branch, &draft("", DraftKind::Regenerate(user)));
    client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::TurnOf(user)], act: pin() }));
    assert_eq!(store.branches(session).unwrap()[0].marks.len(), 2);
    client.must(Request::Session(SessionRequest::Undo));
    client.must(Request::Session(SessionRequest::Undo));
    let nodes = path(&store, session, branch);
    assert_eq!(nodes[1].content.plain_text(), "first");
    assert_eq!(store.branches(session).unwrap()[0].marks.len(), 1);
}

#[test]
fn forks_start_after_whole_atoms() {
    let model = Model::new([vec![call("echo", "{}"), call("echo", "{}")], vec![Say::Text("x".into()), Say::Hold]]);
    let mut bench = Bench::new(&model);
    bench.tools = Some(Arc::new(Echo));
    let mut client = bench.start();
    let branch = client.session();
    client.send(branch, &message("go")).unwrap();
    client.wait(0, streams);
    let session = client.open().card.id;
    let store = bench.store();
    let nodes = path(&store, session, branch);
    assert_eq!(nodes.len(), 4);
    let length = |client: &mut crate::support::bench::Client, at: Option<NodeId>| {
        let made = forked(client, branch, at);
        path(&store, session, made).len()
    };
    assert_eq!(length(&mut client, None), 4);
    assert_eq!(length(&mut client, Some(nodes[2].head.id)), 1);
    assert_eq!(length(&mut client, Some(nodes[1].head.id)), 1);
    model.release();
    client.closed(0, branch);
}

#[test]
fn model_details_from_a_server_are_stored() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    let before = client.whole_plan(branch, &message("x")).budget.context_window;
    client.must(Request::Program(ProgramRequest::Models { profile: None, unready: false }));
    let after = client.whole_plan(branch, &message("x")).budget.context_window;
    assert_eq!((before, after), (6_000, 9_999));
    let drawn = client.drawn(branch, &message("x"));
    client.stop();
    let mut next = bench.start();
    next.open();
    assert_eq!(next.drawn(branch, &message("x")), drawn);
}

/// Servers of two profiles; `two` has no key.
struct OneKey(Arc<dyn Servers>);

impl Servers for OneKey {
    fn provider(&self, profile: &Profile) -> Result<Arc<dyn Provider>, Failure> {
        self.0.provider(profile)
    }

    fn ready(&self, profile: &Profile) -> Result<(), Failure> {
        if profile.name == "two" { Err(Failure::user("Profile two has no key.")) } else { Ok(()) }
    }

    fn models(&self, profile: &Profile) -> Result<Vec<ModelInfo>, ProviderError> {
        self.0.models(profile)
    }

    fn probe(&self, profile: &Profile) -> Result<usize, ProviderError> {
        self.0.probe(profile)
    }
}

#[test]
fn profiles_without_a_key_are_listed_on_request() {
    let model = Model::new([]);
    let mut bench = Bench::new(&model);
    bench.back = Arc::new(OneKey(bench.back.clone()));
    let mut client = bench.start();
    for (unready, wanted) in [(false, vec![("one", true)]), (true, vec![("one", true), ("two", false)])] {
        let answer = client.must(Request::Program(ProgramRequest::Models { profile: None, unready }));
        let Answer::Program(ProgramAnswer::Models(found)) = answer else { panic!("{answer:?}") };
        let listed: Vec<(&str, bool)> = found.iter().map(|(name, models)| (name.as_str(), models.is_ok())).collect();
        assert_eq!(listed, wanted, "{found:?}");
    }
    client.stop();
}

/// Pieces that end with a failure.
struct FailingPieces(Vec<Piece>);

impl PieceReader for FailingPieces {
    fn next(&mut self) -> Result<Option<Piece>, Failure> {
        if self.0.is_empty() { Err(Failure::user("The disk is gone.")) } else { Ok(Some(self.0.remove(0))) }
    }

    fn report(&mut self) -> Report {
        Report::default()
    }
}

#[test]
fn interrupted_import_resumes() {
    let line = |n: u32| {
        let parent = n.checked_sub(1).map_or("null".into(), |n| format!("\"{n}\""));
        format!("{{\"id\":\"{n}\",\"parent\":{parent},\"role\":\"user\",\"content\":\"text {n}\",\"session\":\"s\"}}\n")
    };
    let text: String = (0..4_500).map(line).collect();
    let reading = pleach::import::read(text.as_bytes(), "x.jsonl").unwrap();
    let pieces = reading.transcripts[0].clone().pieces(0);
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let mut before = 0;
    for cut in [2, 3, 4, 5] {
        let torn = IncomingPieces::new(FailingPieces(pieces[..cut].to_vec()));
        assert!(client.ask(Request::Session(SessionRequest::Import { reading: torn })).is_err());
        let written = bench.store().sessions().unwrap().first().map_or(0, |card| card.messages);
        assert!(written >= before && written.is_multiple_of(1_000), "{written}");
        before = written;
    }
    assert!(before >= 3_000, "{before}");
    for (added, known) in [(4_500 - before, before), (0, 4_500)] {
        let Answer::Session(SessionAnswer::Imported { sessions, .. }) =
            client.must(Request::Session(SessionRequest::Import { reading: reading.clone().incoming() }))
        else {
            panic!()
        };
        assert_eq!((sessions[0].added, sessions[0].known), (added, known));
    }
    let view = client.open();
    let ends = |n: u32| view.nodes.iter().find(|node| node.preview == format!("text {n}")).map(|node| node.id);
    assert_eq!((view.nodes.len(), view.branches.len(), view.branches[0].head), (4_500, 1, ends(4_499)));
}

#[test]
fn an_empty_system_message_of_chatgpt_becomes_no_message() {
    const BLANK: u64 = 2;
    let open = |nodes| {
        let json = chatgpt::export(1, nodes).json.into_bytes();
        pleach::import::open(Box::new(std::io::Cursor::new(json)), "conversations.json").unwrap()
    };
    let sizes = [60, 90].map(|nodes| chatgpt::export(1, nodes).trees[0].len() as u64);
    for earlier in [false, true] {
        let bench = Bench::new(&Model::new([]));
        let mut client = bench.start();
        let mut import = |reading| match client.must(Request::Session(SessionRequest::Import { reading })) {
            Answer::Session(SessionAnswer::Imported { sessions, .. }) => (sessions[0].added, sessions[0].known),
            other => panic!("{other:?}"),
        };
        // Earlier versions stored all records of the file.
        let blank = if earlier { 0 } else { BLANK };
        let first = if earlier {
            import(ImportedFile::collect(&mut open(60)).unwrap().incoming())
        } else {
            import(IncomingPieces::new(open(60)))
        };
        assert_eq!(first, (sizes[0] - blank, 0));
        for added in [sizes[1] - sizes[0], 0] {
            let counts = import(IncomingPieces::new(open(90)));
            assert_eq!(counts, (added, sizes[1] - blank - added), "the conversation goes on where it was");
        }
        let view = client.open();
        let roots: Vec<&NodeHead> = view.nodes.iter().filter(|node| node.parent.is_none()).collect();
        assert_eq!(roots.len(), 1);
        assert_eq!(roots[0].preview.is_empty(), earlier);
        let empty = view.nodes.iter().filter(|node| node.role == Role::System && node.preview.is_empty()).count();
        assert_eq!(empty as u64, BLANK - blank);
        let head = view.nodes.iter().find(|node| Some(node.id) == view.branches[0].head).unwrap();
        assert_eq!(head.external_id.as_ref(), Some(&chatgpt::export(1, 90).current[0]));
    }
}

#[test]
fn export_imports_as_the_same_tree() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    let mut dice = Dice::new(7);
    for n in 0..6 {
        client.say(branch, &format!("q{n}"));
        let session = client.open().card.id;
        let nodes = path(&bench.store(), session, branch);
        let users: Vec<NodeId> = nodes.iter().filter(|n| n.head.role == Role::User).map(|n| n.head.id).collect();
        let user = *dice.pick(&users);
        client.turn(branch, &draft("", DraftKind::Regenerate(user)));
    }
    let transcript = |client: &mut crate::support::bench::Client| match client
        .must(Request::Session(SessionRequest::Transcript { session: None, branch: None }))
    {
        Answer::Session(SessionAnswer::Transcript(transcript)) => *transcript,
        other => panic!("{other:?}"),
    };
    let out = transcript(&mut client);
    let reading = ImportedFile { format: "jsonl".into(), transcripts: vec![out.clone()], skipped: Vec::new() };
    let import = || Request::Session(SessionRequest::Import { reading: reading.clone().incoming() });
    let Answer::Session(SessionAnswer::Imported { sessions, .. }) = client.must(import()) else { panic!() };
    assert_eq!((sessions[0].added, sessions[0].known), (0, out.records.len() as u64));
    let other = Bench::new(&model);
    let mut fresh = other.start();
    for added in [out.records.len() as u64, 0] {
        let Answer::Session(SessionAnswer::Imported { sessions, .. }) = fresh.must(import()) else { panic!() };
        assert_eq!(sessions[0].added, added);
    }
    fresh.open();
    let back = transcript(&mut fresh);
    let shape = |t: &pleach::domain::conversation::record::Transcript| {
        t.records.iter().map(|r| (r.id.clone(), r.parent.clone(), r.content.clone())).collect::<Vec<_>>()
    };
    assert_eq!(shape(&back), shape(&out));
    assert_eq!(back.current, out.current);
}

#[test]
fn ineffective_marks_are_refused() {
    let model = Model::new([text("one")]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "first");
    let plan = client.whole_plan(branch, &message("now"));
    let exclude = Act::Set { kind: MarkKind::Exclude, toggle: true };
    let asked = plan.rows.iter().find(|row| row.section() == Some(Section::UserMessage)).unwrap();
    let system = plan.rows.iter().find(|row| row.section() == Some(Section::System)).unwrap();
    for row in [asked, system] {
        let request =
            Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::Atom(row.atom)], act: exclude });
        assert_eq!(client.ask(request).unwrap_err().kind, FailureKind::User);
    }
    assert_eq!(client.whole_plan(branch, &message("now")).id, plan.id);
    client.must(Request::Branch(BranchRequest::Mark {
        branch,
        items: vec![ItemName::Note("keep".into())],
        act: pin(),
    }));
    let noted = client.whole_plan(branch, &message("now"));
    let note = noted.rows.iter().find(|row| row.kind == RowKind::Note).unwrap();
    client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::Atom(note.atom)], act: exclude }));
    assert_eq!(client.whole_plan(branch, &message("now")).id, plan.id);
    let twice = Request::Branch(BranchRequest::Fork { branch, at: None, name: Some("main".into()), switch: false });
    assert_eq!(client.ask(twice).unwrap_err().kind, FailureKind::User);
}

#[test]
fn suggested_budget_is_enough() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    let long = message(&"word ".repeat(3_000));
    let cap = |budget| Overrides { budget: Some(budget), ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch, overrides: cap(1_500) }));
    let Ok(Planned::Blocked(blocked)) = client.plan(branch, &long) else { panic!("it must not fit") };
    let advised = blocked.choices.iter().find_map(|choice| match choice {
        BlockedRemedy::LargerBudget { at_least } => Some(*at_least),
        _ => None,
    });
    client.must(Request::Branch(BranchRequest::Override { branch, overrides: cap(advised.unwrap()) }));
    assert!(matches!(client.plan(branch, &long), Ok(Planned::Plan { .. })));
}

/// The line under a message counts items that the mode added: no turns, no texts of every call, no pins of a person.
#[test]
fn constant_texts_are_not_counted_as_attached() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "hello");
    client.must(Request::Branch(BranchRequest::EditState { branch, text: "Goal: finish".into() }));
    let sections: Vec<_> = client.whole_plan(branch, &message("and?")).included().filter_map(Row::section).collect();
    assert!(sections.contains(&Section::Guidelines) && sections.contains(&Section::State), "{sections:?}");
    client.say(branch, "and?");
    let note = ItemName::Note("Mind the gap.".into());
    let act = Act::Set { kind: MarkKind::Sticky, toggle: true };
    client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![note], act }));
    client.say(branch, "and now?");
    let counted: Vec<(u32, bool)> = client.runs().iter().map(|run| (run.items, run.attached > 0)).collect();
    assert_eq!(counted, [(0, false); 3]);
    let marked: Vec<u32> = client.runs().iter().map(|run| run.marked).collect();
    assert_eq!(marked.iter().filter(|marked| **marked == 1).count(), 1, "the pin went with the last one: {marked:?}");
}

/// No budget helps a message that is larger than the model's window, so none is suggested.
#[test]
fn no_budget_above_the_window_is_suggested() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    let long = message(&"word ".repeat(40_000));
    for budget in [None, Some(1_500), Some(900_000)] {
        client.must(Request::Branch(BranchRequest::Override {
            branch,
            overrides: Overrides { budget, ..Overrides::default() },
        }));
        let Ok(Planned::Blocked(blocked)) = client.plan(branch, &long) else { panic!("it must not fit") };
        assert!(blocked.needed > blocked.budget.context_window, "{:?}", blocked.budget);
        let raises = |choice: &&BlockedRemedy| matches!(choice, BlockedRemedy::LargerBudget { .. });
        assert_eq!(blocked.choices.iter().find(raises), None, "{budget:?}");
        assert!(blocked.choices.contains(&BlockedRemedy::OtherModel));
    }
}

/// A session with so many words that indexing takes a while.
fn long(bench: &Bench) {
    let line = |turn: usize, role: &str, words: String| {
        let (id, parent) = match role {
            "user" => (format!("u{turn}"), turn.checked_sub(1).map(|before| format!("a{before}"))),
            _ => (format!("a{turn}"), Some(format!("u{turn}"))),
        };
        serde_json::json!({"id": id, "parent": parent, "role": role, "content": words, "session": "long"}).to_string()
    };
    let mut dice = Dice::new(7);
    let mut words = |count: usize| -> String {
        let each: Vec<String> = (0..count).map(|_| format!("w{}", dice.below(60_000))).collect();
        each.join(" ")
    };
    let turns = (0..300).flat_map(|turn| {
        let asked = if turn == 3 { "The proxy listens on port 48213.".into() } else { words(60) };
        [line(turn, "user", asked), line(turn, "assistant", words(700))]
    });
    let lines = turns.collect::<Vec<_>>().join("\n");
    let mut client = bench.start();
    client.must(Request::Session(SessionRequest::Import {
        reading: pleach::import::read(lines.as_bytes(), "long.jsonl").unwrap().incoming(),
    }));
    client.stop();
}

fn searched(plan: &pleach::domain::planning::plan::ContextPlan) -> (bool, bool) {
    let card = plan.rows.iter().any(|row| row.section() == Some(Section::Retrieved));
    let because = |why| plan.rows.iter().any(|row| row.reason == Reason::NotSearched { because: why });
    assert!(!(card && because(SkipReason::Indexing)));
    (card, because(SkipReason::Indexing))
}

#[test]
fn older_messages_are_indexed_in_the_background() {
    let model = Model::new([text("one"), text("two"), text("three")]);
    let bench = Bench::new(&model);
    long(&bench);
    let mut client = bench.start();
    let branch = client.open().current;
    let draft = message("Which port does the proxy listen on?");
    let from = client.seen.len();
    let first = client.whole_plan(branch, &draft);
    assert_eq!(searched(&first), (false, true), "the plan does not wait for indexing 3 MB");
    let done =
        |event: &Event| matches!(event, Event::Indexing(IndexingEvent::Messages { done, total }) if done == total);
    let at = client.wait(from, done);
    let steps = client.seen[from..]
        .iter()
        .filter(|event| matches!(event, Event::Indexing(IndexingEvent::Messages { .. })))
        .count();
    assert!(steps > 2, "in steps: {steps}");
    let again = client.wait(at, |event| matches!(event, Event::Planned { .. }));
    let Event::Planned { planned: Planned::Plan { plan, .. }, .. } = &client.seen[again] else { panic!() };
    assert_eq!(searched(plan), (true, false), "and is planned again with them");
    client.stop();
}

#[test]
fn displayed_plan_is_sent_while_the_index_grows() {
    let model = Model::new([text("one")]);
    let bench = Bench::new(&model);
    long(&bench);
    let mut client = bench.start();
    let branch = client.open().current;
    let draft = message("Which port does the proxy listen on?");
    let from = client.seen.len();
    let first = client.whole_plan(branch, &draft);
    assert_eq!(searched(&first), (false, true));
    let at = client
        .wait(from, |event| matches!(event, Event::Indexing(IndexingEvent::Messages { done, total }) if done == total));
    client.wait(at, |event| matches!(event, Event::Planned { .. }));
    client.must(Request::Turn(TurnRequest::Ask { branch, draft, plan: Some(first.id) }));
    client.closed(from, branch);
    assert_eq!(client.runs()[0].plan, first.id);
    assert!(!String::from_utf8(model.bodies()[0].clone()).unwrap().contains("48213"));
    client.stop();
}

#[test]
fn call_waits_for_the_index_or_goes_without() {
    let model = Model::new([text("one"), text("two")]);
    let bench = Bench::new(&model);
    long(&bench);
    let mut client = bench.start();
    let branch = client.open().current;
    let draft = message("Which port does the proxy listen on?");
    let waits = client.post(Request::Turn(TurnRequest::Ask { branch, draft: draft.clone(), plan: None }));
    let from = client.seen.len();
    client.wait(from, |event| matches!(event, Event::Indexing(IndexingEvent::Messages { .. })));
    assert!(model.bodies().is_empty(), "nothing is sent before the search");
    let hurried = Draft { search: SearchChoice::Never, ..draft.clone() };
    client.send(branch, &hurried).unwrap();
    let taken_back = client.answer(waits).unwrap_err();
    assert!(taken_back.to_string().contains("before anything was sent"), "{taken_back}");
    client.closed(from, branch);
    let body = |at: usize| String::from_utf8(model.bodies()[at].clone()).unwrap();
    assert!(!body(0).contains("48213"));
    let run = client.runs().remove(0);
    let (_, stored) = bench.store().plan_by_prefix(&run.plan.to_string()).unwrap().remove(0);
    assert!(stored.contains("\"not_wanted\"") && stored.contains("\"warning\":\"not_searched\""), "{stored}");
    client.turn(branch, &draft);
    assert!(body(1).contains("48213"), "a patient session finds it");
    assert_eq!(model.bodies().len(), 2);
    client.stop();
}

#[test]
fn files_attach_only_from_a_trusted_folder_and_masked() {
    let model = Model::new([]);
    let mut bench = Bench::new(&model);
    std::fs::write(bench.workspace.join("notes.md"), "key = ghp_abcdefghijklmnopqrstuvwxyz0123456789\n").unwrap();
    std::fs::write(bench.workspace.join("big.txt"), "x".repeat(300_000)).unwrap();
    bench.tools = Some(Arc::new(Workspace::open(&bench.workspace, 4_000).unwrap()));
    let mut client = bench.start();
    client.session();
    let find = |query: &str| Request::Tool(ToolRequest::Files(FileAct::Find { query: query.into(), limit: 10 }));
    let read = |path: &str| Request::Tool(ToolRequest::Files(FileAct::Read { path: path.into() }));
    let Answer::Tool(ToolAnswer::Files(list)) = client.must(find("not")) else { panic!("no list") };
    assert_eq!((list.paths, list.note), (vec!["notes.md".to_owned()], String::new()));
    let Answer::Tool(ToolAnswer::Attached { text, masked }) = client.must(read("notes.md")) else { panic!("no text") };
    assert!(masked == 1 && text.contains("[masked:") && !text.contains("abcdefghij"), "{text}");
    assert!(client.ask(read("big.txt")).unwrap_err().what.contains("300,000 bytes, more than 200,000"));
    client.must(Request::Tool(ToolRequest::Trust { trusted: false }));
    let Answer::Tool(ToolAnswer::Files(list)) = client.must(find("not")) else { panic!("no list") };
    assert!(list.paths.is_empty() && list.note.contains("not trusted"), "{}", list.note);
    assert!(client.ask(read("notes.md")).unwrap_err().what.contains("not trusted"));
}

#[test]
fn row_text_names_its_tool_calls() {
    let bench = Bench::new(&Model::new([vec![call("look", "{}")], text("Nothing there.")]));
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "Look around.");
    let plan = client.whole_plan(branch, &message("next"));
    let row = plan.included().find(|row| row.kind == RowKind::Turn && row.source.turn == Some(1)).unwrap();
    let shown = client.must(Request::Plan(PlanRequest::RowText { branch, atom: row.atom }));
    assert!(matches!(&shown, Answer::Text(text) if text.contains("[calls look {}]")), "{shown:?}");
}

#[test]
fn search_reports_whether_there_is_more() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let branch = client.session();
    for words in ["cranes in the wind", "cranes at night"] {
        client.say(branch, words);
    }
    for (limit, brought, more) in [(1, 1, true), (2, 2, false), (9, 2, false)] {
        match client.must(Request::Session(SessionRequest::Find { line: "cranes".into(), limit })) {
            Answer::Session(SessionAnswer::Found(found)) => {
                assert_eq!((found.messages.len(), found.more), (brought, more), "{limit}");
            }
            other => panic!("{other:?}"),
        }
    }
}
