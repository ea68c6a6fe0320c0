//! Approving tool calls: snapshots, the keys' answers, and no accidental approval.
//! Not for: the list of approval rules (`picker::lists`).

use super::Stage;
use super::fixture::{self, MAIN, RETRY};
use super::pictures::pictures;
use pleach::domain::tool::{Command, Consent, FileChange, Hunk, PendingApproval, Rule, RuleScope, ToolEffect, Verdict};
use pleach::engine::api::{Event, Request, ToolEvent, TurnEvent, TurnRequest};
use pleach::tui::model::focus::Focus;
use pleach::tui::model::status::Severity;
use std::sync::Arc;

pub(super) fn run(line: &str) -> ToolEffect {
    ToolEffect::Run(Command {
        line: line.into(),
        folder: String::new(),
        seconds: 120,
        protection: vec![
            "Sandboxed: writes only in the workspace; home folder hidden; no network.".into(),
            "files: writes only in the workspace and a temporary folder".into(),
            "network: none".into(),
        ],
        mechanisms: Some("enforced by: landlock 7, seccomp, namespaces".into()),
    })
}

pub(super) fn change() -> ToolEffect {
    let before =
        "use std::time::Duration;\n\nconst GRACE: u64 = 0;\n\nfn rotate() {\n    revoke(old);\n    issue(new);\n}\n";
    let after = "use std::time::Duration;\n\nconst GRACE: u64 = 1_500;\n\nfn rotate() {\n    issue(new);\n    \
        revoke(old);\n}\n";
    ToolEffect::Change(vec![
        FileChange {
            path: "src/auth/refresh.rs".into(),
            before: Some(before.into()),
            after: Some(after.into()),
            hunks: vec![Hunk { old: 2..3, new: 2..3 }, Hunk { old: 5..7, new: 5..7 }],
        },
        FileChange {
            path: "notes/grace.md".into(),
            before: None,
            after: Some("The grace is 1.5 s.\n".into()),
            hunks: vec![Hunk { old: 0..0, new: 0..1 }],
        },
    ])
}

pub(super) fn asks(tool: &str, effect: ToolEffect) -> Stage {
    let mut stage = fixture::opened();
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "Go on".into(), after: None }));
    let asking = PendingApproval { index: 1, tool: tool.into(), args: "{}".into(), effect, rule: None };
    stage.event(Event::Tool(ToolEvent::Approval { branch: MAIN, pending: Some(Arc::new(asking)) }));
    stage
}

fn consents(stage: &Stage) -> Vec<(Consent, Option<(RuleScope, Rule)>)> {
    let of = |request: &Request| match request {
        Request::Turn(TurnRequest::Consent { branch, index, consent, always }) => {
            assert_eq!((*branch, *index), (MAIN, 1));
            Some((consent.clone(), always.clone()))
        }
        _ => None,
    };
    stage.sent.iter().filter_map(|(_, request)| of(request)).collect()
}

#[test]
fn commands_and_changes_are_shown_completely() {
    let mut stage = asks("run", run("cargo test --lib auth::refresh -- --nocapture"));
    pictures("asks", &mut stage);
    stage.press("alt-y");
    pictures("asks_run", &mut stage);
    let mut stage = asks("edit_file", change());
    stage.type_text("and the tests");
    pictures("asks_inline", &mut stage);
    let mut stage = asks("edit_file", change());
    stage.press("alt-y j space");
    pictures("asks_edit", &mut stage);
}

#[test]
fn long_command_is_shown_completely() {
    let line = format!("echo {} && rm -rf /tmp/x\u{202e}\u{200b}end", "very ".repeat(80));
    let mut stage = asks("run", run(&line));
    stage.press("alt-y");
    let screen = stage.screen(80, 24);
    assert!(screen.contains("rm -rf /tmp/x") && screen.contains("end"), "{screen}");
    assert!(screen.contains("202e") || screen.contains("202E"), "invisible characters are shown: {screen}");
    assert!(screen.contains("run needs approval"));
    stage.press("a");
    let screen = stage.screen(80, 24);
    let places =
        screen.contains("1  in this session: allow run") && screen.contains("2  in this folder, every session: allow");
    assert!(places, "the scope of a rule is visible for a line of any length:\n{screen}");
    assert!(!screen.contains("3  in this"), "a rule with a star would not apply to such a line:\n{screen}");
}

#[test]
fn server_tools_are_marked_as_unsandboxed() {
    let mut stage = fixture::opened();
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "Go on".into(), after: None }));
    let args = serde_json::json!({ "text": "long ".repeat(2_000), "to": "/etc" }).to_string();
    let effect = ToolEffect::Foreign { server: "notes".into(), tool: "put".into(), looks: true };
    let asking = PendingApproval { index: 1, tool: "mcp__notes__put".into(), args, effect, rule: None };
    stage.event(Event::Tool(ToolEvent::Approval { branch: MAIN, pending: Some(Arc::new(asking)) }));
    stage.press("alt-y");
    for (width, height) in [(80, 24), (60, 16)] {
        let screen = stage.screen(width, height);
        assert!(screen.contains("notes/put needs approval"), "{screen}");
        let consents: String = screen.split(['│', '┃', '\n']).map(str::trim).collect::<Vec<_>>().join(" ");
        let consents = consents.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(consents.contains("outside the sandbox that confines commands, and undo does not revert"), "{screen}");
        assert!(consents.contains("The server declares this tool read-only; pleach can't verify that."), "{screen}");
    }
}

#[test]
fn text_after_blank_lines_is_visible() {
    let mut stage = asks("run", run(&format!("ls{}touch PWNED", "\n".repeat(200))));
    stage.press("alt-y");
    pictures("asks_tail", &mut stage);
    let spaces = format!("ls{}; rm -rf x", " ".repeat(10_000));
    for (line, wanted) in [
        (
            format!("ls{}touch PWNED", "\n".repeat(200)),
            vec!["(201 lines, 199 of them blank)", "[199 blank lines]", "touch PWNED"],
        ),
        (spaces, vec!["ls⟨10,000 spaces⟩; rm -rf x"]),
        ("ls\u{a0}\u{200b}\u{e0041}\tx\t".into(), vec!["ls⟨U+00A0⟩⟨U+200B⟩⟨U+E0041⟩⟨U+0009⟩x⟨U+0009⟩"]),
    ] {
        let mut stage = asks("run", run(&line));
        stage.press("alt-y");
        let screen = stage.screen(80, 24);
        assert!(wanted.iter().all(|consents| screen.contains(consents)), "{screen}");
        stage.press("y");
        assert_eq!(consents(&stage).len(), 1, "everything was visible");
    }
}

#[test]
fn approval_counts_once_the_end_was_visible() {
    let long: String = (0..300).map(|at| format!("echo line {at}\n")).chain(["touch PWNED".into()]).collect();
    let file = FileChange {
        path: "a.sh".into(),
        before: None,
        after: Some(long.as_str().into()),
        hunks: vec![Hunk { old: 0..0, new: 0..301 }],
    };
    let args = serde_json::json!({ "lines": long.lines().collect::<Vec<_>>() }).to_string();
    let foreign = ToolEffect::Foreign { server: "notes".into(), tool: "put".into(), looks: false };
    for (tool, effect) in
        [("run", run(&long)), ("write_file", ToolEffect::Change(vec![file])), ("mcp__notes__put", foreign)]
    {
        let mut stage = fixture::opened();
        stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "Go on".into(), after: None }));
        let asking = PendingApproval { index: 1, tool: tool.into(), args: args.clone(), effect, rule: None };
        stage.event(Event::Tool(ToolEvent::Approval { branch: MAIN, pending: Some(Arc::new(asking)) }));
        stage.press("alt-y y");
        assert!(consents(&stage).is_empty(), "{tool}: nothing was drawn yet");
        let screen = stage.screen(80, 24);
        let end = if tool == "mcp__notes__put" { "}" } else { "touch PWNED" };
        assert!(screen.contains("more rows; the last rows:") && screen.contains(end), "{tool}: {screen}");
        stage.press("y");
        let screen = stage.screen(80, 24);
        assert!(consents(&stage).is_empty() && screen.contains("You have not seen the whole call"), "{tool}: {screen}");
        stage.press("a");
        assert!(!stage.screen(80, 24).contains("Allow this without asking"), "{tool}");
        stage.press("n");
        assert_eq!(consents(&stage), [(Consent::No { why: None }, None)], "{tool}: a no needs nothing seen");
        let asking = stage.model.live[&MAIN].asks.clone();
        stage.event(Event::Tool(ToolEvent::Approval { branch: MAIN, pending: asking }));
        stage.press("alt-y");
        for _ in 0..40 {
            stage.screen(80, 24);
            stage.press("pagedown");
        }
        let screen = stage.screen(80, 24);
        assert!(!screen.contains("more rows; the last rows:"), "{tool}: {screen}");
        stage.press("y");
        assert!(matches!(consents(&stage).last(), Some((Consent::Yes { .. }, None))), "{tool}");
    }
}

#[test]
fn typing_never_approves() {
    let mut stage = asks("run", run("make"));
    stage.type_text("yes y a n");
    assert!(consents(&stage).is_empty());
    stage.press("alt-y");
    stage.press("esc");
    assert!(consents(&stage).is_empty(), "Esc leaves the call waiting");
    assert!(stage.screen(100, 30).contains("needs approval"));
}

#[test]
fn the_conversation_shows_the_effect_and_the_footer_the_key() {
    let mut stage = asks("run", run("cargo test --lib"));
    stage.type_text("y and more");
    let screen = stage.screen(100, 30);
    for words in ["cargo test --lib", "Sandboxed: writes only", "waiting for approval", "y and more"] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    let footer = screen.lines().last().unwrap().trim();
    assert!(footer.starts_with("Alt+Y approve or deny  Esc stop"), "{screen}");
    assert_eq!(screen.matches("needs approval").count(), 1, "the chat announces it, and no notice does: {screen}");
    assert!(!screen.contains("waiting for approval 0 s") && !screen.contains("answering"), "{screen}");
    assert!(consents(&stage).is_empty(), "typed letters go to the composer");
    let long = (0..60).map(|at| format!("echo line {at}")).collect::<Vec<_>>().join("\n");
    let screen = asks("run", run(&long)).screen(100, 30);
    assert!(screen.contains("echo line 0") && !screen.contains("echo line 59"), "{screen}");
    assert!(screen.contains("more lines; Alt+Y shows all"), "{screen}");
    let screen = asks("run", run("make")).screen(40, 12);
    assert!(screen.contains("run needs approval (Alt+Y)") && screen.contains("  make"), "{screen}");
    for size in [(80, 24), (120, 35)] {
        let screen = asks("edit_file", change()).screen(size.0, size.1);
        assert!(
            screen.contains("src/auth/refresh.rs  (+3 -3)") && screen.contains("Alt+Y approve or deny"),
            "{screen}"
        );
        assert!(screen.contains("+const GRACE: u64 = 1_500;"), "changed lines before unchanged ones: {screen}");
    }
}

#[test]
fn unsent_text_stays_visible_and_a_reason_is_typed_inside_the_approval() {
    for size in [(120, 35), (80, 24), (60, 16), (40, 12)] {
        let mut stage = asks("edit_file", change());
        stage.type_text("unsent words").press("alt-y");
        assert!(stage.screen(size.0, size.1).contains("unsent words"), "{size:?}");
        stage.press("y");
        let screen = stage.screen(size.0, size.1);
        assert!(consents(&stage).is_empty() && screen.contains("unsent words"), "one letter asks first: {screen}");
    }
    let mut stage = asks("run", run("make all"));
    stage.press("alt-y N").type_text("yes, n y");
    let screen = stage.screen(80, 24);
    assert!(screen.contains("Deny, and tell the model why: yes, n y_"), "{screen}");
    assert!(screen.contains("Run this command") && consents(&stage).is_empty(), "{screen}");
    stage.press("esc");
    assert!(stage.screen(80, 24).contains("y approve  n deny"), "Esc leaves the line, not the approval");
    stage.press("n");
    assert_eq!(consents(&stage), [(Consent::No { why: None }, None)]);
}

/// Letters in the composer are text. Tab goes to the approval, and on to the conversation.
#[test]
fn tab_goes_from_the_composer_to_the_approval() {
    let mut stage = asks("run", run("make all"));
    stage.type_text("y, n, a");
    assert!(consents(&stage).is_empty() && stage.screen(80, 24).contains("> y, n, a"));
    stage.press("tab");
    let screen = stage.screen(80, 24);
    assert!(screen.contains("y approve  n deny") && screen.contains("Run this command"), "{screen}");
    stage.press("y");
    assert!(consents(&stage).is_empty(), "beside unsent text, one letter asks first");
    stage.press("y");
    assert_eq!(consents(&stage), [(Consent::Yes { hunks: Vec::new() }, None)]);
    let mut stage = asks("run", run("make all"));
    stage.press("tab tab");
    assert_eq!(stage.model.focus, Focus::Conversation);
    let mut stage = asks("run", run("make all"));
    stage.press("tab shift-tab").type_text("y");
    assert!(consents(&stage).is_empty() && stage.screen(80, 24).contains("> y"), "back in the composer");
}

/// The sandbox is one line until a key shows its details, so that a command is seen without scrolling.
#[test]
fn the_command_comes_before_the_sandbox() {
    let mut effect = run("git status && cargo build --release --workspace");
    if let ToolEffect::Run(command) = &mut effect {
        command.protection.extend((0..9).map(|at| format!("limit {at}: {}", "words ".repeat(20))));
    }
    let mut stage = asks("run", effect);
    stage.press("alt-y");
    let screen = stage.screen(80, 24);
    let places = ["git status", "Sandboxed:"].map(|words| screen.find(words).unwrap());
    assert!(places[0] < places[1] && !screen.contains("limit 0"), "{screen}");
    assert!(screen.contains("v details") && screen.contains("With two tabs both"), "the chat stays: {screen}");
    stage.press("v");
    let screen = stage.screen(80, 24);
    assert!(screen.contains("limit 0") && screen.contains("v details"), "{screen}");
    stage.press("y");
    assert_eq!(consents(&stage).len(), 1, "the command was on the screen, although the details end below it");
}

/// A bare word that looks like an answer is not queued without a second Enter, and never approves.
#[test]
fn a_typed_yes_says_which_key_approves() {
    for (word, verb) in [("yes", "approve"), ("Ok!", "approve"), ("n", "deny")] {
        let mut stage = asks("run", run("make"));
        stage.type_text(word).press("enter");
        let screen = stage.screen(100, 30);
        let notice = format!("To {verb}, press Alt+Y first; Enter again sends this as a message.");
        assert!(screen.contains(&notice) && screen.contains(&format!("> {word}")), "{screen}");
        assert!(consents(&stage).is_empty() && stage.model.queue.of(MAIN).is_empty());
        stage.press("enter");
        assert!(consents(&stage).is_empty() && stage.model.queue.of(MAIN).len() == 1);
        assert!(stage.model.composer.is_empty());
    }
    let mut stage = asks("run", run("make"));
    stage.type_text("yes, and then run the tests").press("enter");
    assert_eq!(stage.model.queue.of(MAIN).len(), 1, "a sentence is a message");
}

/// Beside an approval, a notice has two rows and ends with a sign where it is cut.
#[test]
fn a_long_notice_leaves_room_for_the_approval() {
    let long = "word ".repeat(90);
    let rows = |stage: &mut Stage| {
        stage.model.status.say(Severity::Warning, long.clone(), stage.model.now);
        let screen = stage.screen(80, 24);
        screen.lines().filter(|line| line.contains("word word")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rows(&mut fixture::opened()).len(), 4);
    for opened in [false, true] {
        let mut stage = asks("run", run("make all"));
        if opened {
            stage.press("alt-y");
        }
        let rows = rows(&mut stage);
        assert!(rows.len() == 2 && rows[1].contains('…'), "{rows:?}");
    }
}

#[test]
fn keys_approve_and_deny() {
    let mut stage = asks("edit_file", change());
    stage.press("alt-y j space");
    stage.screen(100, 60);
    stage.press("y");
    assert_eq!(consents(&stage), [(Consent::Yes { hunks: vec![vec![true, false], vec![true]] }, None)]);
    let mut stage = asks("edit_file", change());
    stage.press("alt-y space j space j space");
    stage.screen(100, 60);
    stage.press("y");
    assert!(consents(&stage).is_empty(), "nothing is chosen");
    stage.press("n");
    assert_eq!(consents(&stage), [(Consent::No { why: None }, None)]);
    let mut stage = asks("run", run("make all"));
    stage.press("alt-y N").type_text("use ninja").press("enter");
    assert_eq!(consents(&stage), [(Consent::No { why: Some("use ninja".into()) }, None)]);
    let mut stage = asks("run", run("cargo test --lib"));
    stage.press("alt-y");
    stage.screen(100, 30);
    stage.press("a");
    assert!(stage.screen(100, 30).contains("cargo test *"));
    stage.press("3");
    let rule = Rule { tool: "run".into(), on: Some("cargo test *".into()), verdict: Verdict::Allow };
    assert_eq!(consents(&stage), [(Consent::Yes { hunks: Vec::new() }, Some((RuleScope::Session, rule)))]);
    assert!(!stage.screen(100, 30).contains("Allow this without asking"));
}

#[test]
fn calls_of_other_branches_are_listed() {
    let mut stage = fixture::opened();
    stage.press("alt-y");
    assert!(stage.screen(100, 30).contains("No tool call needs"));
    stage.event(Event::Turn(TurnEvent::Opened { branch: RETRY, text: "x".into(), after: None }));
    let asking = PendingApproval { index: 0, tool: "run".into(), args: "{}".into(), effect: run("make"), rule: None };
    stage.event(Event::Tool(ToolEvent::Approval { branch: RETRY, pending: Some(Arc::new(asking)) }));
    stage.press("alt-y");
    assert!(stage.screen(100, 30).contains("run needs approval"));
    stage.event(Event::Tool(ToolEvent::Approval { branch: RETRY, pending: None }));
    assert!(!stage.screen(100, 30).contains("Run this command"));
}
