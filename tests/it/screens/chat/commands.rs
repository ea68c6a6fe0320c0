//! Commands that are typed in the composer, and their output.
//! Not for: commands in the palette (`picker::palette`).

use super::sending::ask;
use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN};
use crate::screens::pictures::pictures;
use pleach::config::commands::Printed;
use pleach::domain::conversation::{MarkKind, Overrides};
use pleach::domain::planning::Mode;
use pleach::engine::api::{
    Act, Answer, BranchRequest, Event, ItemName, ProgramAnswer, ProgramEvent, ProgramRequest, Request, SessionAnswer,
    SessionEvent, SessionRequest, SummaryAct, SummaryAnswer, TaskAct, TurnRequest,
};
use pleach::tui::msg::{Done, Input, Msg};
use pleach::tui::screens::request::model::RequestScreen;

#[test]
fn commands() {
    let mut stage = fixture::opened();
    stage.type_text("/bud");
    pictures("commands", &mut stage);
}

/// Enter completes a command that has arguments and runs any other; the line of keys says which.
#[test]
fn the_keys_say_whether_enter_completes_or_runs() {
    for (line, completes) in [("/bud", true), ("/budget", false), ("/undo", false), ("/un", false)] {
        let mut stage = fixture::opened();
        let screen = stage.type_text(line).screen(120, 35);
        let keys = screen.lines().last().unwrap();
        assert_eq!(keys.contains("Enter complete"), completes, "{line}: {keys}");
        assert_eq!(keys.contains("Enter run"), !completes, "{line}: {keys}");
        stage.press("enter");
        assert_eq!(stage.model.composer.first_line().ends_with(' '), completes, "{line}");
    }
}

#[test]
fn lane_is_set_and_shown_in_the_title() {
    let mut stage = fixture::opened();
    assert!(!stage.screen(120, 30).contains("lane"), "the root lane is not mentioned");
    stage.type_text("/lane login bug").press("enter");
    let lane = |r: &Request| match r {
        Request::Branch(BranchRequest::Override { overrides, .. }) => overrides.lane.clone(),
        _ => None,
    };
    assert_eq!(stage.sent.iter().rev().find_map(|(_, r)| lane(r)).as_deref(), Some("login bug"));
    let mut branch = stage.model.branch().unwrap().clone();
    branch.overrides.lane = Some("login bug".into());
    stage.event(Event::Session(SessionEvent::Branch(Box::new(branch))));
    assert!(stage.screen(120, 30).contains("lane login bug"));
    for command in ["/lane", "/lanes"] {
        stage.type_text(command).press("enter");
        let act = |r: &Request| matches!(r, Request::Summary { act: SummaryAct::List, .. });
        stage.reply(act, SummaryAnswer::Summaries(Vec::new()));
        let screen = stage.screen(120, 30);
        assert!(screen.contains("Lanes of this branch") && screen.contains("● login bug"), "{screen}");
        assert!(screen.contains("0 turns · 0 tokens · no summary · not used yet"), "{screen}");
        stage.press("down enter");
        assert!(stage.model.layers.is_empty());
        assert_eq!(stage.sent.iter().rev().find_map(|(_, r)| lane(r)).as_deref(), Some(""), "the root lane is chosen");
        stage.type_text("/lane login bug").press("enter");
    }
    stage.press("esc");
    let root = fixture::story()[0].head.clone();
    let mut branch = stage.model.branch().unwrap().clone();
    branch.overrides.lane = Some(format!("reply:{}", root.key));
    stage.event(Event::Session(SessionEvent::Branch(Box::new(branch))));
    let beginning: String = root.preview.chars().take(6).collect();
    assert!(stage.screen(160, 40).contains(&format!("lane replies to \"{beginning}")), "{}", stage.screen(160, 40));
    stage.type_text("/lane root").press("enter");
    assert_eq!(stage.sent.iter().rev().find_map(|(_, r)| lane(r)).as_deref(), Some(""));
}

/// The engine answers first, so the warning is the newest message.
#[test]
fn a_model_that_the_server_does_not_list_is_reported() {
    let mut stage = fixture::opened();
    stage.type_text("/model nosuch").press("enter");
    let asked = |r: &Request| matches!(r, Request::Program(ProgramRequest::Models { profile: Some(of), unready: false }) if of == "openai");
    let other = pleach::domain::call::model::ModelInfo { name: "gpt-4.1".into(), ..fixture::settings().model };
    let listed = Answer::Program(ProgramAnswer::Models(vec![("openai".into(), Ok(vec![other]))]));
    stage.reply(asked, listed);
    let screen = stage.screen(120, 35);
    assert!(screen.contains("The profile openai has no model gpt-4.1-mini. F4 lists its models."), "{screen}");
}

#[test]
fn plan_without_a_text_opens_the_next_request() {
    let mut stage = fixture::opened();
    stage.type_text("/plan").press("enter");
    assert!(stage.model.layers.on::<RequestScreen>());
    stage.press("esc").type_text("/plan What next?").press("enter");
    assert!(stage.model.layers.is_empty(), "another text is planned by the command line's code");
}

#[test]
fn a_command_over_several_lines_is_not_sent_to_the_model() {
    let mut stage = fixture::opened();
    // Where no text can be typed, a notice says that the text was not inserted.
    stage.press("ctrl-o").msg(Msg::Input(Input::Paste("lost".into())));
    assert!(stage.screen(120, 35).contains("The pasted text was not inserted; Esc closes this first."));
    stage.press("esc");
    stage.msg(Msg::Input(Input::Paste("/note first\nsecond".into())));
    stage.press("enter");
    let asks = |stage: &Stage| stage.sent.iter().any(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. })));
    assert!(!asks(&stage));
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Not sent: /note is a command") && screen.contains("begin it with //"), "{screen}");
    let mut stage = fixture::opened();
    stage.type_text("/note ").msg(Msg::Input(Input::Paste("first\nsecond".into())));
    stage.press("enter");
    let note = |r: &Request| match r {
        Request::Branch(BranchRequest::Mark { items, .. }) => Some(items.clone()),
        _ => None,
    };
    let noted = stage.sent.iter().find_map(|(_, r)| note(r)).unwrap_or_default();
    assert_eq!(noted, [ItemName::Note("first\nsecond".into())]);
    assert!(!asks(&stage));
}

#[test]
fn commands_with_words() {
    let mut stage = fixture::opened();
    stage.type_text("/budget 6,000").press("enter");
    assert!(
        stage
            .sent
            .iter()
            .any(|(_, r)| matches!(r, Request::Branch(BranchRequest::Override { overrides, .. }) if overrides.budget == Some(6_000)))
    );
    stage.type_text("/note keep it short").press("enter");
    assert!(
        stage
            .sent
            .iter()
            .any(|(_, r)| matches!(r, Request::Branch(BranchRequest::Mark { items, .. }) if items[0] == ItemName::Note("keep it short".into())))
    );
    stage.type_text("/fork other").press("enter");
    assert!(
        stage
            .sent
            .iter()
            .any(|(_, r)| matches!(r, Request::Branch(BranchRequest::Fork { name: Some(n), .. }) if n == "other"))
    );
    stage.type_text("/nonsense").press("enter");
    assert!(stage.screen(120, 30).contains("Unknown command /nonsense"));
    stage.press("ctrl-c").type_text("//etc is a folder").press("enter");
    assert_eq!(&*ask(&stage).0.text, "/etc is a folder");
}

/// The overrides that were sent last.
fn overridden(stage: &Stage) -> Option<&Overrides> {
    stage.sent.iter().rev().find_map(|(_, request)| match request {
        Request::Branch(BranchRequest::Override { overrides, .. }) => Some(overrides),
        _ => None,
    })
}

#[test]
fn commands_match_the_command_line() {
    let mut stage = fixture::opened();
    stage.type_text("/context window 3").press("enter");
    assert_eq!(overridden(&stage).unwrap().window, Some(3));
    stage.type_text("/mode heavy").press("enter");
    assert_eq!(overridden(&stage).unwrap().mode, Some(Mode::Heavy));
    let chosen = Overrides { mode: Some(Mode::Heavy), ..Overrides::default() };
    stage.type_text("/mode heavy").press("enter");
    let again = Request::Branch(BranchRequest::Choose { branch: MAIN, chosen });
    assert_eq!(*stage.last(), again, "a choice takes precedence over the command line even if it is stored already");
    stage.type_text("/task start fix the login").press("enter");
    let task = |r: &Request| matches!(r, Request::Branch(BranchRequest::Task { act: TaskAct::Start(name), .. }) if name == "fix the login");
    assert!(stage.sent.iter().any(|(_, r)| task(r)));
    stage.type_text("/exclude 2 --once").press("enter");
    let item = ItemName::Named { text: "2".into(), message: false };
    let act = Act::Set { kind: MarkKind::ExcludeOnce, toggle: false };
    let wanted = Request::Branch(BranchRequest::Mark { branch: MAIN, items: vec![item], act });
    assert!(stage.sent.iter().any(|(_, request)| *request == wanted));
    stage.type_text("/fork early --at 1").press("enter");
    let fork = |r: &Request| matches!(r, Request::Branch(BranchRequest::Fork { at: Some(_), name: Some(n), .. }) if n == "early");
    assert!(stage.sent.iter().any(|(_, r)| fork(r)), "turns are named by number");
}

#[test]
fn an_unknown_command_stays_and_runs_no_similar_one() {
    for (line, similar) in [("/quitt", "Did you mean /quit?"), ("/modee", "Did you mean /mode?")] {
        let mut stage = fixture::opened();
        let sent = stage.sent.len();
        stage.type_text(line).press("enter");
        let screen = stage.screen(120, 35);
        assert!(screen.contains(&format!("Unknown command {line}. {similar}")), "{screen}");
        assert_eq!((stage.model.composer.first_line(), stage.sent.len()), (line, sent));
        assert!(!stage.model.quit, "{line}");
        stage.press("backspace enter");
        assert_ne!(stage.model.composer.first_line(), &line[..line.len() - 1], "a whole name runs");
    }
    let mut stage = fixture::opened();
    stage.type_text("/modee").press("down enter");
    let first = stage.model.composer.first_line().to_owned();
    assert!(first.starts_with('/') && first.ends_with(' '), "a command that was chosen with the arrows: {first:?}");
}

#[test]
fn refused_command_is_cleared_and_recalled_from_the_history() {
    let mut stage = fixture::opened();
    for line in [
        "/context window 3 4",
        "/context windw 3",
        "/mode loud",
        "/fork x --at 99",
        "/plan hi --store /x",
        "/state edit -",
    ] {
        let sent = stage.sent.len();
        stage.type_text(line).press("enter").type_text("h");
        assert_eq!(stage.model.composer.first_line(), "h", "the next message does not continue {line}");
        assert_eq!((stage.sent.len(), stage.kept.len()), (sent, 0), "{line}");
        let shown = stage.model.status.shown().map(|message| message.text.clone()).unwrap_or_default();
        assert!(shown.ends_with("↑ restores the line."), "{line} says why: {shown}");
        stage.press("backspace").press("up");
        assert_eq!(stage.model.composer.first_line(), line, "it can be corrected");
        stage.press("ctrl-c");
    }
}

#[test]
fn command_output_is_shown() {
    let mut stage = fixture::opened();
    stage.type_text("/plans why 1").press("enter");
    assert_eq!(stage.kept, ["run /plans why 1"]);
    let printed = |code: u8, out: &str, err: &str| Printed { code, out: out.into(), err: err.into() };
    stage.msg(Msg::Done(Done::Printed("/plans why 1".into(), printed(0, "one line\nanother line\n", ""))));
    assert!(stage.screen(120, 30).contains("another line"));
    stage.press("esc").msg(Msg::Done(Done::Printed("/task list".into(), printed(0, "", "no task is running\n"))));
    assert!(stage.model.layers.is_empty() && stage.screen(120, 30).contains("no task is running"));
    stage.msg(Msg::Done(Done::Printed("/plans why 99".into(), printed(1, "", "There is no turn 99.\n"))));
    assert!(stage.screen(120, 30).contains("There is no turn 99."));
    stage.type_text("/message remove 2").press("enter");
    assert_eq!(stage.kept.len(), 1, "it asks first");
    stage.press("y");
    assert_eq!(stage.kept[1], "run /message remove 2 --yes");
}

/// What these commands print, the command line prints too.
#[test]
fn commands_without_a_value_print_as_on_the_command_line() {
    let mut stage = fixture::opened();
    stage.type_text("/layout").press("enter").type_text("/summary draft").press("enter");
    assert_eq!(stage.kept, ["run /layout", "run /summary draft"]);
    stage.type_text("/compaction draft").press("enter");
    assert!(stage.screen(160, 35).contains("compaction is now summaries. The earlier name still works."));
}

#[test]
fn deleting_a_session_by_name_asks_only_if_it_exists() {
    let listed = |r: &Request| matches!(r, Request::Session(SessionRequest::List));
    let mut stage = fixture::opened();
    stage.type_text("/session delete 99").press("enter");
    stage.reply(listed, SessionAnswer::Sessions(vec![fixture::card("old")]));
    assert!(stage.model.layers.is_empty() && stage.screen(120, 30).contains("There is no session \"99\"."));
    stage.type_text("/session delete old").press("enter");
    stage.reply(listed, SessionAnswer::Sessions(vec![fixture::card("old")]));
    assert!(stage.screen(120, 30).contains("Permanently delete the session \"old\" and all its messages?"));
    assert_eq!(stage.kept, Vec::<String>::new());
    stage.press("y");
    assert_eq!(stage.kept, ["run /session delete old --yes"]);
}

#[test]
fn an_export_without_a_file_says_how_to_write_one() {
    let mut stage = fixture::opened();
    for line in ["/export", "/export --all"] {
        let printed = Printed { code: 0, out: "# Talk\n\nFirst.\n".into(), err: String::new() };
        stage.msg(Msg::Done(Done::Printed(line.into(), printed)));
        let screen = stage.screen(120, 30);
        assert!(screen.contains("/export talk.md") && screen.contains("# Talk"), "{screen}");
        stage.press("esc");
    }
    let printed = Printed { code: 0, out: String::new(), err: "2 messages written to talk.md".into() };
    stage.msg(Msg::Done(Done::Printed("/export talk.md".into(), printed)));
    assert!(stage.screen(120, 30).contains("2 messages written to talk.md"));
}

#[test]
fn clear_starts_a_new_session() {
    let mut stage = fixture::opened();
    stage.type_text("/clear").press("enter");
    assert!(matches!(stage.last(), Request::Session(SessionRequest::New { .. })));
    assert_eq!(stage.model.input.clear_at, None, "it is not the key that quits");
}

#[test]
fn seen_error_goes_with_the_next_success() {
    let mut stage = fixture::opened();
    let error = "There is no turn 9 on this branch";
    stage.type_text("/replay 9").press("enter");
    assert!(stage.screen(120, 35).contains(error));
    stage.press("ctrl-f");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Context mode") && !screen.contains("more notice"), "{screen}");
    stage.press("esc");
    assert!(!stage.screen(120, 35).contains(error), "it does not return");
    stage.type_text("/replay 9").press("enter");
    stage.type_text("/state edit").press("enter");
    let screen = stage.screen(120, 35);
    assert!(!stage.model.layers.is_empty() && !screen.contains(error), "{screen}");
    stage.press("esc");
    stage.event(Event::Program(ProgramEvent::Alarm("The disk is full.".into())));
    assert!(stage.screen(120, 35).contains("The disk is full."));
    stage.type_text("/state edit").press("enter");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Goal: fix login") && !screen.contains("The disk is full."), "{screen}");
    stage.press("esc");
    assert!(stage.screen(120, 35).contains("The disk is full."), "an alarm stays");
}

#[test]
fn deletion_names_the_turn() {
    let mut stage = fixture::opened();
    stage.type_text("/message remove 2").press("enter");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Permanently delete turn 2?"), "{screen}");
}
