//! The screen of tool calls: snapshots, filter, groups, links, reruns, copying, marks, and jumping to the message.

use super::Stage;
use super::fixture::{self, MAIN};
use pleach::domain::conversation::MarkKind;
use pleach::domain::tool::consent::BESIDE;
use pleach::domain::tool::{
    Command, Consent, FileChange, FileTexts, Hunk, PendingApproval, Rerun, RerunState, ToolEffect, ToolStatus,
    ToolTrace,
};
use pleach::engine::api::{
    Act, BranchRequest, Event, ItemName, Request, SessionEvent, ToolAnswer, ToolEvent, ToolRequest, TraceAct,
    TraceWhole, TurnEvent,
};
use std::sync::Arc;

const SIZES: [(u16, u16); 5] = [(60, 16), (80, 24), (120, 35), (160, 40), (200, 50)];

fn pictures(name: &str, stage: &mut Stage) {
    for (width, height) in SIZES {
        let screen = stage.screen(width, height);
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots" }, {
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), screen);
        });
    }
}

fn trace(call: &str, name: &str, args: &serde_json::Value, status: ToolStatus) -> ToolTrace {
    let story = fixture::story();
    ToolTrace {
        call_id: call.into(),
        name: name.into(),
        args: args.to_string(),
        preview: "[exit 101]".into(),
        ..fixture::trace(&story[2], Some(status))
    }
}

/// A failed test, an edit, the passing test, a refused command, and missing files.
pub(super) fn opened() -> Stage {
    let mut stage = fixture::opened();
    let run = |call: &str, status, exit| {
        let args = serde_json::json!({ "line": "cargo test --offline auth::refresh", "seconds": 300 });
        let mut trace = trace(call, "run", &args, status);
        (trace.exit, trace.word) = (Some(exit), Some("rule allow run \"cargo test*\"".into()));
        trace.more.protection = vec!["files: writes only in the workspace (landlock 7)".into()];
        trace.duration_ms = 8_400;
        trace
    };
    let mut failed = run("f1", ToolStatus::Failed, 101);
    failed.more.error = Some("test auth::refresh::rotates ... FAILED".into());
    // Each trace belongs to another node of the path.
    failed.node = Some(fixture::story()[0].head.id);
    failed.truncated_from = Some(260_000);
    failed.more.back = Some(format!("read_file or search with path output:{}", failed.id()));
    failed.more.kept = Some(260_000);
    let mut edit = trace("e1", "edit_file", &serde_json::json!({ "path": "src/auth/refresh.rs" }), ToolStatus::Ok);
    (edit.word, edit.changed) = (Some("you".into()), vec!["src/auth/refresh.rs".into()]);
    edit.more.files = vec![FileTexts { path: "src/auth/refresh.rs".into(), before: None, after: None }];
    let refused = ToolTrace {
        word: Some("you".into()),
        ..trace("r1", "run", &serde_json::json!({ "line": "git push" }), ToolStatus::Refused)
    };
    let gone = |call: &str, path: &str| {
        let mut gone = trace(call, "read_file", &serde_json::json!({ "path": path }), ToolStatus::Failed);
        gone.more.error = Some(format!("{path} does not exist in the workspace."));
        gone
    };
    let all = [
        gone("g1", "src/token.rs"),
        gone("g2", "src/session/token.rs"),
        failed,
        refused,
        edit,
        run("f2", ToolStatus::Ok, 0),
    ];
    for trace in all {
        stage.event(Event::Tool(ToolEvent::Trace(Box::new(trace))));
    }
    stage
}

fn asked(stage: &Stage, wanted: impl Fn(&TraceAct) -> bool) -> usize {
    stage
        .sent
        .iter()
        .filter(|(_, request)| matches!(request, Request::Tool(ToolRequest::Traces(act)) if wanted(act)))
        .count()
}

#[test]
fn call_that_was_stopped_before_a_decision_says_so() {
    let mut stage = fixture::opened();
    let line = serde_json::json!({ "line": "make" });
    let stopped = ToolTrace { word: Some("undecided".into()), ..trace("w1", "run", &line, ToolStatus::Cancelled) };
    stage.event(Event::Tool(ToolEvent::Trace(Box::new(stopped))));
    stage.press("ctrl-t");
    let screen = stage.screen(160, 45);
    assert!(screen.contains("It waited for approval and was stopped before anyone decided."), "{screen}");
    assert!(!screen.contains("No approval was needed"), "{screen}");
}

#[test]
fn a_call_that_waits_needs_approval() {
    let mut stage = fixture::opened();
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "Go on".into(), after: None }));
    let line = serde_json::json!({ "line": "make" });
    let mut waits = trace("w1", "run", &line, ToolStatus::Ok);
    (waits.status, waits.node, waits.est_tokens, waits.preview) = (None, None, 0, String::new());
    let command =
        Command { line: "make".into(), folder: String::new(), seconds: 9, protection: Vec::new(), mechanisms: None };
    let (tool, args, effect) = ("run".to_owned(), waits.args.clone(), ToolEffect::Run(command));
    let asking = PendingApproval { index: 0, tool, args, effect, rule: None };
    stage.model.live.get_mut(&MAIN).unwrap().stream(waits.run, "", "");
    stage.event(Event::Tool(ToolEvent::Trace(Box::new(waits))));
    stage.press("ctrl-t");
    assert!(stage.screen(120, 35).contains(" running · "), "{}", stage.screen(120, 35));
    stage.event(Event::Tool(ToolEvent::Approval { branch: MAIN, pending: Some(Arc::new(asking)) }));
    let screen = stage.screen(120, 35);
    assert!(screen.contains("needs approval · "), "in the details: {screen}");
    for words in ["running ·", "0 tokens", "result, first line"] {
        assert!(!screen.contains(words), "{words}: {screen}");
    }
}

#[test]
fn calls_and_their_links() {
    let mut stage = opened();
    stage.press("ctrl-t");
    pictures("tool_calls", &mut stage);
    stage.press("j j j");
    let whole = TraceWhole {
        trace: trace("f1", "run", &serde_json::json!({}), ToolStatus::Failed),
        result: Some("[exit 101]\nrunning 2 tests\n".into()),
        full: Some("[exit 101]\nrunning 2 tests\ntest auth::refresh::rotates ... FAILED\n".into()),
        files: Vec::new(),
    };
    stage.reply(
        |r| matches!(r, Request::Tool(ToolRequest::Traces(TraceAct::Show { .. }))),
        ToolAnswer::Trace(Box::new(whole)),
    );
    let screen = stage.screen(160, 60);
    for words in [
        "Fixed by run cargo test",
        "after src/auth/refresh.rs",
        "Shortened from 260,000",
        "output:",
        "(landlock 7)",
        "full result",
    ] {
        assert!(screen.contains(words), "{words}:\n{screen}");
    }
    stage.press("enter");
    pictures("tool_call", &mut stage);
    stage.press("esc l");
    assert!(stage.screen(160, 40).contains("Resolves run cargo test"));
    stage.press("l");
    assert!(stage.screen(160, 40).contains("Fixed by run cargo test"));
    stage.press("esc");
    assert!(stage.model.layers.is_empty());
    let chat = stage.screen(120, 35);
    assert!(chat.contains("resolves the"), "{chat}");
}

#[test]
fn ids_and_bytes_of_a_call_are_details() {
    let mut stage = opened();
    stage.press("ctrl-t");
    let hidden = stage.screen(120, 35);
    assert!(!hidden.contains("1,300 bytes") && hidden.contains("Tool calls · main · "), "{hidden}");
    stage.press("v");
    assert!(stage.screen(120, 35).contains("1,300 bytes"), "{}", stage.screen(120, 35));
    stage.press("v");
    assert_eq!(stage.screen(120, 35), hidden);
}

/// The note on a result counts the failures that the call resolved.
#[test]
fn resolved_failures_are_counted() {
    for (failures, note) in [(1, "resolves the failure"), (2, "resolves 2 failures"), (3, "resolves 3 failures")] {
        let mut stage = fixture::opened();
        let nodes: Vec<_> = fixture::story().iter().map(|node| node.head.id).collect();
        for (at, node) in nodes.iter().enumerate().take(failures + 1) {
            let status = if at < failures { ToolStatus::Failed } else { ToolStatus::Ok };
            let args = serde_json::json!({ "line": "cargo test" });
            let call = ToolTrace { node: Some(*node), ..trace(&format!("t{at}"), "run", &args, status) };
            stage.event(Event::Tool(ToolEvent::Trace(Box::new(call))));
        }
        stage.screen(120, 35);
        assert_eq!(stage.model.tools.fixes.get(&nodes[failures]), Some(&(true, note.to_owned())));
    }
}

#[test]
fn filtered_and_grouped() {
    let mut stage = opened();
    stage.press("ctrl-t /").type_text("state:unf");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("token.rs") && !screen.contains("git push"), "{screen}");
    stage.press("enter t");
    pictures("tool_failures", &mut stage);
    let screen = stage.screen(120, 35);
    assert!(screen.contains("… does not exist in the workspace.") && screen.contains("2 times"), "{screen}");
    stage.press("t esc");
    assert!(stage.screen(120, 35).contains("git push"), "Esc clears the filter first");
    stage.press("/").type_text("file:refresh tool:edit").press("enter");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("edit_file") && !screen.contains("git push"), "{screen}");
    stage.press("esc /").type_text("nothing is so");
    assert!(stage.screen(120, 35).contains("No call matches"));
    stage.press("esc a");
    assert!(stage.screen(120, 35).contains("Tool calls · whole session"));
    stage.press("esc");
    assert!(stage.model.layers.is_empty());
}

#[test]
fn rerun_beside_the_conversation() {
    let mut stage = opened();
    stage.press("ctrl-t R");
    assert_eq!(asked(&stage, |act| matches!(act, TraceAct::Again { branch: MAIN, .. })), 1);
    let of = trace("f2", "run", &serde_json::json!({ "line": "cargo test" }), ToolStatus::Ok);
    let command = Command {
        line: "cargo test".into(),
        folder: String::new(),
        seconds: 9,
        protection: Vec::new(),
        mechanisms: None,
    };
    let asking = PendingApproval {
        index: BESIDE,
        tool: "run".into(),
        args: "{}".into(),
        effect: ToolEffect::Run(command),
        rule: None,
    };
    let mut again = trace("f2/x", "run", &serde_json::json!({ "line": "cargo test" }), ToolStatus::Ok);
    (again.node, again.more.again) = (None, Some("f2".into()));
    let mut view =
        Rerun { branch: MAIN, of: of.id(), state: RerunState::Asks(Arc::new(asking)), trace: again, change: None };
    stage.event(Event::Tool(ToolEvent::Rerun(Box::new(view.clone()))));
    assert!(stage.screen(100, 30).contains("run needs approval"));
    let yes = Consent::Yes { hunks: Vec::new() };
    stage.press("y a");
    assert_eq!(asked(&stage, |act| matches!(act, TraceAct::Word { .. })), 0, "a key for the earlier view");
    assert!(stage.screen(100, 30).contains("just appeared"));
    stage.wait(700).press("y");
    assert_eq!(asked(&stage, |act| *act == TraceAct::Word { consent: yes.clone(), always: None }), 1);
    let text = |text: &str| Some(Arc::from(text));
    view.change = Some(FileChange {
        path: "result".into(),
        before: text("[exit 0]\n9 passed\n"),
        after: text("[exit 0]\n10 passed\n"),
        hunks: vec![Hunk { old: 1..2, new: 1..2 }],
    });
    view.state = RerunState::Ended;
    stage.event(Event::Tool(ToolEvent::Trace(Box::new(view.trace.clone()))));
    stage.event(Event::Tool(ToolEvent::Rerun(Box::new(view))));
    stage.press("g");
    let screen = stage.screen(160, 50);
    assert!(screen.contains("again run"), "it is a call of its own:\n{screen}");
    stage.press("j");
    let screen = stage.screen(160, 50);
    assert!(screen.contains("-9 passed") && screen.contains("+10 passed"), "{screen}");
    assert!(screen.contains("A inserts it into your message"), "{screen}");
    pictures("tool_again", &mut stage);
    stage.press("A");
    assert!(stage.model.layers.is_empty());
    let draft = stage.model.composer.text();
    assert!(draft.contains("10 passed") && draft.contains("I reran run cargo test"), "{draft}");
}

#[test]
fn typing_never_approves_a_rerun() {
    let mut stage = opened();
    stage.press("ctrl-t R esc");
    assert!(stage.model.layers.is_empty());
    let of = trace("f2", "run", &serde_json::json!({ "line": "cargo test" }), ToolStatus::Ok);
    let command =
        Command { line: "rm -r a".into(), folder: String::new(), seconds: 9, protection: Vec::new(), mechanisms: None };
    let asking = PendingApproval {
        index: BESIDE,
        tool: "run".into(),
        args: "{}".into(),
        effect: ToolEffect::Run(command),
        rule: None,
    };
    let waits = RerunState::Asks(Arc::new(asking));
    stage.type_text("ma");
    stage.event(Event::Tool(ToolEvent::Rerun(Box::new(Rerun {
        branch: MAIN,
        of: of.id(),
        state: waits,
        trace: of,
        change: None,
    }))));
    stage.wait(900).type_text("y");
    assert_eq!(&*stage.model.composer.text(), "may", "it does not cover the text being written");
    assert_eq!(asked(&stage, |act| matches!(act, TraceAct::Word { .. })), 0);
    assert!(stage.screen(100, 30).contains("Alt+Y shows it"));
    stage.press("alt-y");
    assert!(stage.screen(100, 30).contains("rm -r a"));
    stage.press("y");
    assert_eq!(asked(&stage, |act| matches!(act, TraceAct::Word { .. })), 0, "beside an unsent message it asks first");
    stage.press("y");
    assert_eq!(asked(&stage, |act| matches!(act, TraceAct::Word { .. })), 1);
}

#[test]
fn copied_marked_and_found_in_the_conversation() {
    let mut stage = opened();
    stage.press("ctrl-t Y");
    assert!(stage.copied.last().unwrap().contains("cargo test --offline"));
    stage.press("y");
    let whole = TraceWhole {
        trace: trace("f2", "run", &serde_json::json!({}), ToolStatus::Ok),
        result: Some("cut".into()),
        full: Some("all of it".into()),
        files: Vec::new(),
    };
    stage.reply(
        |r| matches!(r, Request::Tool(ToolRequest::Traces(TraceAct::Show { .. }))),
        ToolAnswer::Trace(Box::new(whole)),
    );
    assert_eq!(stage.copied.last().unwrap(), "all of it");
    let node = fixture::story()[2].head.id;
    for (key, kind) in [("p", MarkKind::Sticky), ("x", MarkKind::Exclude)] {
        stage.press(key);
        let wanted = Request::Branch(BranchRequest::Mark {
            branch: MAIN,
            items: vec![ItemName::Message(node)],
            act: Act::Set { kind, toggle: true },
        });
        assert!(stage.sent.iter().any(|(_, request)| *request == wanted), "{kind:?}");
    }
    stage.press("m");
    assert!(stage.model.layers.is_empty());
    let session = stage.model.session.as_ref().unwrap();
    assert_eq!(session.tree.head(stage.model.conversation.selected().unwrap()).id, node);
}

#[test]
fn panel_opens_the_screen() {
    let mut stage = opened();
    stage.press("ctrl-b tab");
    while stage.model.focus != pleach::tui::model::focus::Focus::Tools {
        stage.press("tab");
    }
    stage.press("j j enter");
    assert!(stage.screen(160, 40).contains("git push"), "the call that was selected there");
    stage.press("esc esc");
    stage.type_text("/traces").press("enter");
    assert!(stage.screen(100, 30).contains("Tool calls · main"));
}

/// The panel lists the calls of the branch in view.
#[test]
fn the_panel_lists_the_calls_of_the_branch() {
    let mut stage = opened();
    assert_eq!(stage.model.tool_calls().len(), 7);
    let first = fixture::branch(MAIN, "main", fixture::story().first(), None);
    stage.event(Event::Session(SessionEvent::Branch(Box::new(first))));
    let here: Vec<&str> = stage.model.tool_calls().iter().map(|trace| trace.call_id.as_str()).collect();
    assert_eq!(here, ["f1"], "the result of the other calls is on no message of this path");
    let empty = fixture::branch(MAIN, "main", None, None);
    stage.event(Event::Session(SessionEvent::Branch(Box::new(empty))));
    assert!(stage.model.tool_calls().is_empty());
}
