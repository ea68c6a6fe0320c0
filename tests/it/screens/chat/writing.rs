//! Writing: queued messages, names after an `@`, the focus on code, and undo in the composer.
//! Not for: drafts that survive restarts (`chat::composing`).

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, run_id};
use crate::screens::pictures::pictures;
use pleach::domain::base::{Failure, FailureKind};
use pleach::domain::call::Certainty;
use pleach::domain::code::{Kind, NamedSymbol, SymbolSource};
use pleach::engine::api::{
    Answer, BranchRequest, CodeAct, Draft, Event, FileAct, FileList, Request, SessionEvent, ToolAnswer, ToolRequest,
    TurnEvent, TurnRequest,
};
use pleach::tui::chat::model::queue::{Queue, QueueState};
use pleach::tui::msg::{Input, Msg};

fn asks(stage: &Stage) -> Vec<String> {
    let texts = stage.sent.iter().filter_map(|(_, request)| match request {
        Request::Turn(TurnRequest::Ask { draft, .. }) => Some(draft.text.to_string()),
        _ => None,
    });
    texts.collect()
}

/// A stage on which an answer is streaming.
pub(crate) fn answering() -> Stage {
    let mut stage = fixture::opened();
    let after = stage.model.branch().unwrap().head;
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "Why?".into(), after }));
    stage.event(Event::Turn(TurnEvent::Stream {
        branch: MAIN,
        run: run_id(7),
        text: "Because the two requests race.\n".into(),
        reasoning: String::new(),
        tokens: 18,
        certainty: Certainty::Estimated,
        cost_micro: Some(150),
    }));
    stage
}

fn closed(stage: &mut Stage, failure: Option<Failure>) {
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: None, failure }));
}

#[test]
fn queued_messages_are_sent_in_order() {
    let mut stage = answering();
    stage.type_text("first").press("enter").type_text("second").press("enter");
    assert_eq!(asks(&stage), [""; 0], "nothing is sent while the answer is streaming");
    assert!(stage.model.composer.is_empty());
    let screen = stage.screen(100, 30);
    assert!(screen.contains("queued 1: first") && screen.contains("queued 2: second"), "{screen}");
    pictures("queued", &mut stage);
    closed(&mut stage, None);
    assert_eq!(asks(&stage), ["first"]);
    assert!(stage.screen(100, 30).contains("sending 1: first"));
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Ask { .. })), Answer::Asked { run: run_id(8) });
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "first".into(), after: None }));
    assert!(stage.screen(100, 30).contains("queued 1: second"));
    closed(&mut stage, None);
    assert_eq!(asks(&stage), ["first", "second"]);
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Ask { .. })), Answer::Asked { run: run_id(9) });
    assert!(stage.model.queue.of(MAIN).is_empty());
}

#[test]
fn queue_stops_after_a_failure_or_stop() {
    for stopped in [false, true] {
        let mut stage = answering();
        stage.type_text("next").press("enter");
        if stopped {
            stage.press("ctrl-p").type_text("interrupt").press("enter");
            let live = stage.model.live.get_mut(&MAIN).unwrap();
            live.stopping = true;
            closed(&mut stage, None);
        } else {
            closed(&mut stage, Some(Failure::new(FailureKind::Provider, "The server said no.")));
        }
        assert_eq!(asks(&stage), [""; 0]);
        assert_eq!(stage.model.queue.of(MAIN)[0].state, QueueState::Held);
        assert!(stage.model.layers.is_empty(), "no question opens by itself");
        let why =
            if stopped { "Not sent: the previous answer was stopped." } else { "Not sent: the previous call failed." };
        let screen = stage.screen(100, 30);
        assert!(screen.contains("queued 1: next") && screen.contains(why), "{screen}");
        assert!(screen.contains("Alt+W, or Enter with an empty composer, sends it"), "{screen}");
        stage.press("enter");
        assert_eq!(asks(&stage), ["next"], "Enter in an empty composer sends it");
    }
}

#[test]
fn typed_text_never_sends_the_queue() {
    let mut stage = answering();
    stage.type_text("one").press("enter").type_text("two").press("enter").type_text("so");
    closed(&mut stage, Some(Failure::new(FailureKind::Provider, "The server said no.")));
    stage.type_text("rry, by now");
    assert_eq!((asks(&stage).len(), &*stage.model.composer.text()), (0, "sorry, by now"));
    pictures("queue_held", &mut stage);
    stage.press("alt-w");
    assert_eq!((asks(&stage), &*stage.model.composer.text()), (vec!["one".to_owned()], "sorry, by now"));
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Ask { .. })), Answer::Asked { run: run_id(8) });
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "one".into(), after: None }));
    closed(&mut stage, None);
    assert_eq!(asks(&stage), ["one", "two"], "the others follow");
}

#[test]
fn failed_message_waits_beside_typed_text() {
    let mut stage = answering();
    stage.type_text("half a thou");
    let draft = Draft { text: "Why?".into(), ..Draft::default() };
    let failure =
        Failure::new(FailureKind::Provider, "The server said no.").kept("Your message is back in the composer.");
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: Some(draft), failure: Some(failure) }));
    assert_eq!(&*stage.model.composer.text(), "half a thou");
    let screen = stage.screen(100, 30);
    assert!(screen.contains("Your message is queued.") && screen.contains("queued 1: Why?"), "{screen}");
    assert!(!screen.contains("back in the composer"), "{screen}");
    stage.press("alt-w");
    assert_eq!(asks(&stage), ["Why?"]);
}

/// The message of a failed call is in the composer, or ↑ brings it back.
#[test]
fn a_failure_says_where_the_message_is_now() {
    let mut stage = answering();
    let draft = Draft { text: "Why?".into(), ..Draft::default() };
    let failure =
        Failure::new(FailureKind::Provider, "The server said no.").kept("Your message is back in the composer.");
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: Some(draft), failure: Some(failure) }));
    assert!(stage.screen(100, 30).contains("Your message is back in the composer."));
    stage.press("ctrl-c");
    let screen = stage.screen(100, 30);
    assert!(!screen.contains("back in the composer"), "{screen}");
    assert!(
        screen.contains("Up brings your message back.") || screen.contains("↑ brings your message back."),
        "{screen}"
    );
    stage.press("up");
    assert_eq!(&*stage.model.composer.text(), "Why?");
    assert!(stage.screen(100, 30).contains("Your message is back in the composer."));
}

#[test]
fn all_queued_messages_return_after_a_stop() {
    let mut stage = answering();
    for text in ["one", "two", "three"] {
        stage.type_text(text).press("enter");
    }
    closed(&mut stage, Some(Failure::new(FailureKind::Provider, "The server said no.")));
    stage.press("alt-q alt-q alt-q");
    assert_eq!(&*stage.model.composer.text(), "one\n\ntwo\n\nthree");
    assert!(stage.model.queue.of(MAIN).is_empty());
}

#[test]
fn queued_message_returns_to_the_composer() {
    let mut stage = answering();
    stage.type_text("one").press("enter").type_text("two").press("enter").type_text("three");
    stage.press("alt-q");
    assert_eq!(&*stage.model.composer.text(), "two\n\nthree");
    stage.press("alt-a backspace").press("alt-q");
    assert_eq!(&*stage.model.composer.text(), "one");
    assert!(!stage.model.live[&MAIN].stopping, "the answer continues");
    stage.press("alt-q");
    assert!(stage.screen(100, 30).contains("No message is queued"));
}

/// A queued message that is taken back, or saved for a restart, has its folds, and so has the text after it.
#[test]
fn queued_messages_keep_their_folds() {
    let mut stage = answering();
    let long = "row\n".repeat(40);
    let paste = || Msg::Input(Input::Paste(long.clone()));
    stage.msg(paste());
    stage.type_text("and answer");
    let shown = stage.model.composer.first_line().to_owned();
    stage.press("enter").type_text("//etc").press("enter");
    assert!(stage.model.composer.is_empty() && stage.model.queue.of(MAIN).len() == 2);
    stage.wait(2_000);
    let saved = stage.sent.iter().rev().find_map(|(_, request)| match request {
        Request::Branch(BranchRequest::KeepDraft { text, .. }) => Some(text.to_string()),
        _ => None,
    });
    assert_eq!(saved, Some(format!("\u{fdd0}{long}\u{fdd0}and answer\n\n/etc")));
    stage.press("alt-q");
    assert_eq!((&*stage.model.composer.text(), stage.model.composer.first_line()), ("/etc", "//etc"));
    stage.press("alt-q");
    assert_eq!(stage.model.composer.area().lines(), [shown.as_str(), "", "/etc"]);
    assert_eq!(&*stage.model.composer.text(), format!("{long}and answer\n\n/etc"));
    stage.press("alt-a backspace");
    stage.msg(paste());
    stage.type_text("again").press("enter");
    let shown = shown.replace("and answer", "again");
    let text = stage.model.queue.of(MAIN)[0].draft.text.clone();
    let draft = Draft { text, ..Draft::default() };
    let failure = Failure::new(FailureKind::Provider, "The server said no.");
    stage.model.queue = Queue::default();
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: Some(draft), failure: Some(failure) }));
    assert_eq!(stage.model.composer.first_line(), shown, "and so has the message of a failed call");
}

#[test]
fn one_escape_stops_the_answer_beside_a_queue() {
    let mut stage = answering();
    stage.type_text("one").press("enter").type_text("two").press("enter esc");
    assert!(stage.model.live[&MAIN].stopping);
    assert_eq!(*stage.last(), Request::Turn(TurnRequest::Cancel { branch: MAIN }));
    assert_eq!((stage.model.queue.of(MAIN).len(), stage.model.composer.is_empty()), (2, true), "both stay queued");
}

#[test]
fn escape_holds_a_message_that_waits_for_another_program() {
    let mut stage = fixture::opened();
    stage.type_text("mine").press("enter");
    let is_ask = |r: &Request| matches!(r, Request::Turn(TurnRequest::Ask { .. }));
    let ticket = stage.sent.iter().rev().find(|(_, r)| is_ask(r)).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Busy, "Another program is calling.")) });
    stage.press("w").press("esc");
    assert!(stage.screen(100, 30).contains("Not sent: you stopped it."), "{}", stage.screen(100, 30));
    let asked = asks(&stage).len();
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Claim(_))), Answer::Done(String::new()));
    assert_eq!((asks(&stage).len(), stage.last()), (asked, &Request::Turn(TurnRequest::GiveBackClaim(MAIN))));
}

#[test]
fn queued_messages_survive_a_restart() {
    let mut stage = answering();
    stage.type_text("one").press("enter").type_text("two").wait(2_000);
    let kept = stage.sent.iter().rev().find_map(|(_, request)| match request {
        Request::Branch(BranchRequest::KeepDraft { text, .. }) => Some(text.to_string()),
        _ => None,
    });
    assert_eq!(kept.as_deref(), Some("one\n\ntwo"));
}

#[test]
fn refused_queued_message_is_held() {
    let mut stage = answering();
    stage.type_text("next").press("enter");
    closed(&mut stage, None);
    let ticket = stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. }))).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Blocked, "Too large for the budget.")) });
    assert_eq!(stage.model.queue.of(MAIN)[0].state, QueueState::Held);
    assert!(stage.screen(100, 30).contains("not sent: Too large for the budget."));
}

fn files(paths: &[&str], note: &str) -> Answer {
    Answer::Tool(ToolAnswer::Files(FileList {
        paths: paths.iter().map(|&path| path.to_owned()).collect(),
        note: note.into(),
    }))
}

#[test]
fn named_file_is_attached() {
    let mut stage = fixture::opened();
    stage.type_text("why does @au");
    assert!(matches!(stage.last(), Request::Tool(ToolRequest::Files(FileAct::Find { query, .. })) if query == "au"));
    stage.reply(
        |r| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Find { .. }))),
        files(&["src/auth.rs", "docs/audit.md"], ""),
    );
    let screen = stage.screen(100, 30);
    assert!(screen.contains("@auth.rs  src") && screen.contains("@audit.md  docs"), "{screen}");
    pictures("names", &mut stage);
    stage.press("down up enter");
    assert_eq!(stage.model.composer.first_line(), "why does @src/auth.rs ");
    assert!(matches!(stage.last(), Request::Tool(ToolRequest::Files(FileAct::Read { path })) if path == "src/auth.rs"));
    stage.reply(
        |r| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Read { .. }))),
        ToolAnswer::Attached { text: "fn a() {}\n".into(), masked: 1 },
    );
    let screen = stage.screen(200, 30);
    assert!(screen.contains("with src/auth.rs 10 bytes") && screen.contains("masked"), "{screen}");
    stage.type_text("fail").wait(1_000).press("enter");
    assert_eq!(asks(&stage), ["why does @src/auth.rs fail\n\nFile src/auth.rs:\n```rs\nfn a() {}\n```"]);
}

/// A path or symbol that is typed completely, without choosing it from the list, is attached like a chosen one.
#[test]
fn completely_typed_name_is_attached() {
    let mut stage = fixture::opened();
    stage.type_text("see @src/auth.rs, then");
    let find = |r: &Request| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Find { query, .. })) if query == "src/auth.rs");
    stage.reply(find, files(&["src/auth.rs", "src/auth.rs.bak"], ""));
    assert!(matches!(stage.last(), Request::Tool(ToolRequest::Files(FileAct::Read { path })) if path == "src/auth.rs"));
    stage.reply(
        |r| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Read { .. }))),
        ToolAnswer::Attached { text: "fn a() {}\n".into(), masked: 0 },
    );
    assert!(stage.screen(200, 30).contains("with src/auth.rs 10 bytes"));
    assert_eq!(stage.model.composer.first_line(), "see @src/auth.rs, then");
    // Items that are already resolved are not requested again, and neither are unknown ones. An unknown name is
    // reported once it looks like a path.
    let reads = |stage: &Stage| {
        stage.sent.iter().filter(|(_, r)| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Read { .. })))).count()
    };
    stage.press("ctrl-left ctrl-left").press("end");
    stage.type_text(" @src/gone.rs and @somebody (");
    for query in ["src/gone.rs", "somebody"] {
        let find =
            |r: &Request| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Find { query: q, .. })) if q == query);
        stage.reply(find, files(&["src/other.rs"], ""));
    }
    assert!(stage.screen(200, 30).contains("There is no file src/gone.rs here; the message contains only its name."));
    assert_eq!(reads(&stage), 1);
    stage.type_text("@Hive::fly)  ");
    let names = |r: &Request| matches!(r, Request::Tool(ToolRequest::Code { act: CodeAct::Names { typed, .. }, .. }) if typed == "Hive::fly");
    stage.reply(names, ToolAnswer::Symbols(vec![symbol("src/hive.rs", "Hive::fly", Kind::Method, (6, 8))]));
    assert!(
        matches!(stage.last(), Request::Tool(ToolRequest::Code { act: CodeAct::Source(of), .. }) if of.short == "Hive::fly")
    );
    // With the list closed it is plain text.
    let before = stage.sent.len();
    stage.type_text("@src/x.rs");
    stage.reply(|r| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Find { .. }))), files(&["src/x.rs"], ""));
    stage.press("esc").type_text(" ");
    let sources = stage.sent[before..]
        .iter()
        .filter(|(_, r)| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Find { .. }))))
        .count();
    assert_eq!(sources, "@src/x.rs".len(), "one request for each letter, and none for the space");
}

#[test]
fn name_list_closes() {
    let mut stage = fixture::opened();
    stage.type_text("@x");
    stage.reply(|r| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Find { .. }))), files(&["x.rs"], ""));
    stage.press("esc").press("enter");
    assert_eq!(asks(&stage), ["@x"], "with the list closed, Enter sends");
    let mut stage = fixture::opened();
    stage.type_text("@x");
    stage.reply(
        |r| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Find { .. }))),
        files(&[], "This folder is not trusted."),
    );
    assert!(stage.screen(100, 30).contains("not trusted"));
    stage.press("enter");
    assert_eq!(asks(&stage), ["@x"], "nothing to choose");
    let mut stage = fixture::opened();
    stage.type_text("mail me@x.org");
    assert!(
        !stage.sent.iter().any(|(_, r)| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Find { .. })))),
        "no name begins inside a word"
    );
    stage.type_text(" @big");
    stage.reply(|r| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Find { .. }))), files(&["big.json"], ""));
    stage.press("tab");
    let ticket = stage
        .sent
        .iter()
        .rev()
        .find(|(_, r)| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Read { .. }))))
        .unwrap()
        .0;
    stage.event(Event::Answer {
        ticket,
        result: Err(Failure::user("big.json has 4,200,000 bytes, more than 200,000.")),
    });
    assert!(stage.screen(160, 30).contains("more than 200,000. The message contains only its name."));
    assert_eq!(&*stage.model.composer.text(), "mail me@x.org @big.json ");
}

#[test]
fn typing_is_undone_and_selected() {
    let mut stage = fixture::opened();
    stage.type_text("one two").press("ctrl-w alt-u");
    assert_eq!(stage.model.composer.first_line(), "one two");
    stage.press("alt-r");
    assert_eq!(stage.model.composer.first_line(), "one ");
    stage.press("ctrl-u");
    assert_eq!(stage.model.composer.first_line(), "", "Ctrl+U deletes to the start and never undoes");
    stage.press("alt-u");
    assert_eq!(stage.model.composer.first_line(), "one ");
    stage.press("alt-a").type_text("x");
    assert_eq!(stage.model.composer.first_line(), "x");
    stage.press("f1");
    assert!(stage.screen(120, 400).contains("Delete the word before the cursor."));
}

fn symbol(path: &str, short: &str, kind: Kind, lines: (u32, u32)) -> NamedSymbol {
    NamedSymbol { path: path.into(), short: short.into(), qualified: short.replace('#', "::"), kind, lines }
}

#[test]
fn named_symbol_is_attached_with_its_source() {
    let mut stage = fixture::opened();
    stage.type_text("why does @se");
    let symbols = vec![
        symbol("src/net/client.rs", "Client::send", Kind::Method, (6, 8)),
        symbol(
            "src/a_long/way_down/in_folders/disk.rs",
            "src/a_long/way_down/in_folders/disk.rs#send_all",
            Kind::Function,
            (120, 180),
        ),
    ];
    let names = |r: &Request| matches!(r, Request::Tool(ToolRequest::Code { root: None, act: CodeAct::Names { typed, .. } }) if typed == "se");
    stage.reply(
        |r| matches!(r, Request::Tool(ToolRequest::Files(FileAct::Find { .. }))),
        files(&["src/session.rs", "docs/setup.md"], ""),
    );
    stage.reply(names, ToolAnswer::Symbols(symbols.clone()));
    let screen = stage.screen(100, 30);
    assert!(
        screen.contains("@session.rs  src") && screen.contains("@Client::send  method  src/net/client.rs:6"),
        "{screen}"
    );
    assert!(screen.contains("@send_all  function"), "{screen}");
    pictures("symbols", &mut stage);
    stage.press("down down enter");
    assert_eq!(stage.model.composer.first_line(), "why does @Client::send ");
    let source = SymbolSource { named: symbols[0].clone(), text: "pub fn send(&self) {}\n".into(), masked: 0 };
    let read = |r: &Request| matches!(r, Request::Tool(ToolRequest::Code { act: CodeAct::Source(symbol), .. }) if symbol.short == "Client::send");
    stage.reply(read, ToolAnswer::Source(Box::new(source)));
    let screen = stage.screen(200, 30);
    assert!(screen.contains("src/net/client.rs, lines 6 to 8 (Client::send) 22 bytes"), "{screen}");
    stage.type_text("fail").wait(1_000).press("enter");
    let want = "why does @Client::send fail\n\nFile src/net/client.rs, lines 6 to 8 (Client::send):\n```rs\npub fn \
        send(&self) {}\n```";
    assert_eq!(asks(&stage), [want]);
}

#[test]
fn focus_is_set_shown_and_removed() {
    let mut stage = fixture::opened();
    stage.press("ctrl-x F").type_text("@src/net, Client").press("enter");
    let kept = |stage: &Stage| {
        let found = stage.sent.iter().rev().find_map(|(_, request)| match request {
            Request::Branch(BranchRequest::Override { branch, overrides }) => Some((*branch, overrides.clone())),
            _ => None,
        });
        found.unwrap()
    };
    let (branch, overrides) = kept(&stage);
    assert_eq!(overrides.focus, ["src/net", "Client"]);
    let mut changed = stage.model.session.as_ref().unwrap().find(branch).unwrap().clone();
    changed.overrides = overrides;
    stage.event(Event::Session(SessionEvent::Branch(Box::new(changed))));
    assert!(stage.screen(120, 30).contains("focus src/net +1"), "{}", stage.screen(120, 30));
    stage.type_text("/focus").press("enter");
    assert!(stage.screen(120, 30).contains("Code focus: src/net, Client"));
    stage.type_text("/focus none").press("enter");
    assert!(kept(&stage).1.focus.is_empty());
}

/// Another process asks on the branch: the message waits and is sent afterwards. If it is withdrawn meanwhile, the turn
/// is unused.
#[test]
fn message_waits_for_another_process() {
    for taken_back in [false, true] {
        let mut stage = fixture::opened();
        stage.type_text("hello").wait(100).press("enter");
        let ticket =
            stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. }))).unwrap().0;
        let what = "Another process is sending on main: the command line of process 7, since 2026-11-22 10:00:00.";
        stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Busy, what)) });
        assert!(stage.screen(140, 30).contains("Another process is sending on main"), "the asking process is named");
        stage.press("w");
        assert_eq!(asks(&stage).len(), 1, "nothing is sent while the other process asks");
        assert!(stage.screen(100, 30).contains("queued 1: hello") && stage.model.composer.is_empty());
        if taken_back {
            stage.press("alt-q");
        }
        stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Claim(_))), Answer::Done(String::new()));
        let given_back = stage.sent.iter().any(|(_, r)| matches!(r, Request::Turn(TurnRequest::GiveBackClaim(_))));
        assert_eq!((asks(&stage).len(), given_back), if taken_back { (1, true) } else { (2, false) });
    }
}
