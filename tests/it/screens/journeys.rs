//! What keys do: requests, focus, drafts.

use super::Stage;
use super::fixture::{self, MAIN, RETRY, node_id, run_id};
use pleach::config::commands::Printed;
use pleach::config::keys::keymap::{Action, Keymap};
use pleach::domain::base::{Failure, FailureKind, Hash, RunId};
use pleach::domain::call::{Certainty, PromptCost};
use pleach::domain::conversation::{MarkKind, Overrides, Role};
use pleach::domain::planning::plan::Warning;
use pleach::domain::planning::{ContextPlan, Milli, Mode, SearchChoice, Task};
use pleach::engine::api::{
    Act, Answer, BranchRequest, Draft, DraftKind, Event, IndexingEvent, ItemName, PlanRequest, Planned, Request,
    SessionEvent, SessionRequest, TaskAct, TurnEvent, TurnRequest,
};
use pleach::tui::chat::model::slash::{RecentCommands, choices};
use pleach::tui::msg::{Done, Input, Msg};
use pleach::tui::screens::tree::model::TreeScreen;

fn ask(stage: &Stage) -> (Draft, Option<Hash>) {
    let found = stage.sent.iter().rev().find_map(|(_, request)| match request {
        Request::Turn(TurnRequest::Ask { draft, plan, .. }) => Some((draft.clone(), *plan)),
        _ => None,
    });
    found.unwrap()
}

fn asks(stage: &Stage) -> usize {
    stage.sent.iter().filter(|(_, request)| matches!(request, Request::Turn(TurnRequest::Ask { .. }))).count()
}

fn planned(stage: &mut Stage) {
    let plan = fixture::plan(&fixture::story());
    stage.reply(|r| matches!(r, Request::Plan(PlanRequest::Replan { .. })), Answer::Planned(fixture::planned(plan)));
}

#[test]
fn enter_sends_the_displayed_plan() {
    let mut stage = fixture::opened();
    stage.type_text("hello").wait(100);
    planned(&mut stage);
    stage.press("enter");
    let (draft, plan) = ask(&stage);
    assert_eq!(&*draft.text, "hello");
    assert_eq!(plan, Some(Hash::of(b"plan")));
    assert!(stage.screen(100, 30).contains("hello"), "the draft is kept until it is sent");
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Ask { .. })), Answer::Asked { run: run_id(5) });
    assert!(stage.model.composer.is_empty());
}

#[test]
fn enter_without_a_plan_names_none() {
    let mut stage = fixture::opened();
    stage.type_text("hello").wait(100);
    planned(&mut stage);
    stage.type_text("!").press("enter");
    assert_eq!(ask(&stage).1, None);
    stage.press("enter");
    assert_eq!(asks(&stage), 1, "the same draft is not sent twice");
}

#[test]
fn waiting_call_is_shown_and_second_enter_sends() {
    let mut stage = fixture::opened();
    stage.type_text("hello").press("enter").wait(200).press("enter");
    assert_eq!(asks(&stage), 1, "a quick second Enter is ignored");
    assert!(!stage.screen(120, 30).contains("Not sent yet"));
    stage.wait(101);
    let screen = stage.screen(120, 30);
    assert!(screen.contains("Not sent yet") && screen.contains("Esc cancels"), "{screen}");
    stage.event(Event::Indexing(IndexingEvent::Messages { done: 1_200, total: 10_000 }));
    let screen = stage.screen(120, 30);
    assert!(screen.contains("Not sent yet: indexing older messages, 1,200 of 10,000."), "{screen}");
    let first = stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. }))).unwrap().0;
    stage.press("enter");
    assert_eq!(asks(&stage), 2);
    assert_eq!(ask(&stage).0.search, SearchChoice::Never);
    stage.event(Event::Answer { ticket: first, result: Err(Failure::user("Stopped before anything was sent.")) });
    stage.wait(400).press("enter");
    assert_eq!(asks(&stage), 2, "nothing is left to skip");
    assert!(!stage.screen(120, 30).contains("Stopped before"));
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Ask { .. })), Answer::Asked { run: run_id(5) });
    assert!(stage.model.composer.is_empty());
    assert!(!stage.screen(120, 30).contains("Not sent yet"));
}

fn withdrawn(stage: &mut Stage) {
    let stopped = Failure::user("Stopped before anything was sent.").kept("Your draft is kept.");
    let ticket = stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. }))).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(stopped) });
}

#[test]
fn esc_withdraws_a_waiting_call() {
    let mut stage = fixture::opened();
    stage.type_text("hello").press("enter").wait(301).press("esc");
    assert!(matches!(stage.sent.last(), Some((_, Request::Turn(TurnRequest::Cancel { .. })))));
    withdrawn(&mut stage);
    let screen = stage.screen(120, 30);
    assert!(screen.contains("Stopped before anything was sent") && screen.contains("hello"), "{screen}");
    assert!(!screen.contains("Not sent yet"), "{screen}");
}

#[test]
fn stale_plan_is_reported_and_the_draft_kept() {
    let mut stage = fixture::opened();
    stage.type_text("hello").press("enter");
    let ticket = stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. }))).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Stale, "changed")) });
    let screen = stage.screen(120, 30);
    assert!(screen.contains("The plan changed") && screen.contains("hello"), "{screen}");
}

#[test]
fn plans_are_requested_after_a_pause() {
    let mut stage = fixture::opened();
    let before = stage.sent.len();
    stage.type_text("abc");
    assert_eq!(stage.sent.len(), before);
    stage.wait(60);
    let Request::Plan(PlanRequest::Replan { generation, draft, .. }) = stage.last().clone() else { panic!() };
    assert_eq!(&*draft.text, "abc");
    let mut old = fixture::plan(&fixture::story());
    old.est_total = 1;
    stage.event(Event::Planned { branch: MAIN, generation: generation - 1, planned: fixture::planned(old) });
    assert!(stage.screen(120, 30).contains("5,213 of 8,000"), "an older generation changes nothing");
}

#[test]
fn keys_act_on_the_selected_message() {
    let mut stage = fixture::opened();
    stage.press("tab g p");
    let Request::Branch(BranchRequest::Mark { items, act, .. }) = stage.last().clone() else {
        panic!("{:?}", stage.last())
    };
    assert_eq!(items, vec![ItemName::TurnOf(node_id(1))]);
    assert_eq!(act, Act::Set { kind: MarkKind::Sticky, toggle: true });
    let replans = |request: &Request| matches!(request, Request::Plan(PlanRequest::Replan { .. }));
    assert_eq!(
        stage.sent.iter().filter(|(_, request)| replans(request)).count(),
        1,
        "the engine plans again by itself"
    );
    stage.press("G x");
    let Request::Branch(BranchRequest::Mark { items, .. }) = stage.last().clone() else { panic!() };
    assert_eq!(items, vec![ItemName::Message(node_id(6))]);
    stage.press("R");
    assert_eq!(ask(&stage).0.kind, DraftKind::Regenerate(node_id(5)));
    stage.press("c");
    assert_eq!(ask(&stage).0.kind, DraftKind::Continue(node_id(6)));
    stage.press("f");
    assert!(
        matches!(stage.last(), Request::Branch(BranchRequest::Fork { at: Some(at), switch: true, .. }) if *at == node_id(6))
    );
    stage.press("h");
    assert!(matches!(stage.last(), Request::Branch(BranchRequest::Sibling { step: -1, .. })));
    stage.press("y");
    assert_eq!(stage.copied, ["With two tabs both"]);
}

#[test]
fn letters_are_text_while_writing() {
    let mut stage = fixture::opened();
    let before = stage.sent.len();
    stage.type_text("pxfXq[]uU");
    assert_eq!(stage.sent.len(), before);
    assert_eq!(stage.model.composer.first_line(), "pxfXq[]uU");
}

#[test]
fn overlay_acts_on_rows_and_their_messages() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o j j j");
    stage.press("x");
    let marks = |stage: &Stage| {
        stage.sent.iter().rev().find_map(|(_, r)| match r {
            Request::Branch(BranchRequest::Mark { items, .. }) => Some(items.clone()),
            _ => None,
        })
    };
    let rows = fixture::plan(&fixture::story()).rows;
    assert_eq!(marks(&stage), Some(vec![ItemName::Atom(rows[3].atom)]));
    stage.press("enter j j j x");
    let tool = fixture::story()[2].head.key;
    assert_eq!(
        marks(&stage),
        Some(vec![ItemName::Atom(pleach::domain::conversation::mark::Atom::Message { node: tool })])
    );
    stage.press("]");
    let raised = stage.sent.iter().rev().find_map(|(_, r)| match r {
        Request::Branch(BranchRequest::Override { overrides, .. }) => overrides.budget,
        _ => None,
    });
    assert_eq!(raised, None, "9,000 is the most that this window leaves");
    assert!(stage.screen(120, 35).contains("The prompt budget stays at 9,000 tokens."));
    stage.press("e");
    assert!(stage.model.layers.is_empty());
    assert_eq!(stage.model.composer.first_line(), "Why does login fail after the refresh?");
    stage.press("enter");
    assert_eq!(ask(&stage).0.kind, DraftKind::Edit(node_id(1)));
    stage.press("esc");
    withdrawn(&mut stage);
    stage.press("esc");
    assert!(stage.model.composer.is_empty());
}

#[test]
fn mode_cycles_everywhere() {
    let mut stage = fixture::opened();
    let mode = |stage: &Stage| {
        stage.sent.iter().rev().find_map(|(_, r)| match r {
            Request::Branch(BranchRequest::Override { overrides, .. }) => overrides.mode,
            _ => None,
        })
    };
    stage.type_text("x").press("ctrl-f");
    assert_eq!(mode(&stage), Some(Mode::Heavy));
    stage.press("ctrl-o ctrl-f");
    assert_eq!(mode(&stage), Some(Mode::Off));
    assert_eq!(stage.model.composer.first_line(), "x");
}

#[test]
fn esc_leaves_then_interrupts() {
    let mut stage = fixture::opened();
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "q".into(), after: None }));
    stage.press("tab esc");
    assert!(!matches!(stage.last(), Request::Turn(TurnRequest::Cancel { .. })));
    stage.press("esc");
    assert!(matches!(stage.last(), Request::Turn(TurnRequest::Cancel { .. })));
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: None, failure: None }));
    stage.press("esc esc esc");
    assert!(stage.model.layers.is_empty(), "Esc never opens a screen");
    stage.type_text("/mod").press("esc esc");
    assert_eq!(stage.model.composer.first_line(), "/mod", "Esc closes the list and keeps the line");
    stage.press("ctrl-c up");
    assert_eq!(stage.model.composer.first_line(), "/mod", "text cleared by Ctrl+C returns");
    stage.press("ctrl-c");
    let sent = stage.sent.len();
    stage.press("f8");
    assert!(stage.model.layers.on::<TreeScreen>());
    stage.press("k");
    assert_eq!(stage.sent.len(), sent, "nothing changes until Enter");
    stage.press("enter");
    assert!(matches!(stage.last(), Request::Plan(PlanRequest::Replan { .. })));
    assert!(
        stage
            .sent
            .iter()
            .any(|(_, r)| matches!(r, Request::Branch(BranchRequest::Switch { branch }) if *branch == RETRY))
    );
}

#[test]
fn drafts_stay_with_their_branch() {
    let mut stage = fixture::opened();
    stage.type_text("for main").press("ctrl-b j enter");
    assert!(stage.model.composer.is_empty());
    stage.type_text("for retry").press("ctrl-b k enter");
    assert_eq!(stage.model.composer.first_line(), "for main");
}

#[test]
fn ctrl_c_clears_then_quits() {
    let mut stage = fixture::opened();
    stage.type_text("words").press("ctrl-c");
    assert!(stage.model.composer.is_empty() && !stage.model.quit);
    stage.press("ctrl-c");
    assert!(!stage.model.quit && stage.screen(100, 30).contains("again to quit"));
    stage.type_text("more").press("ctrl-c ctrl-c");
    assert!(!stage.model.quit, "clearing a message between the presses starts again");
    stage.press("ctrl-c");
    assert!(stage.model.quit);
    let mut other = fixture::opened();
    other.type_text("x").press("ctrl-d");
    assert!(!other.model.quit);
    other.press("backspace ctrl-d");
    assert!(other.model.quit);
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
    stage.type_text("/lane").press("enter");
    assert!(stage.screen(120, 30).contains("goes to lane login bug"));
    let root = fixture::story()[0].head.clone();
    let mut branch = stage.model.branch().unwrap().clone();
    branch.overrides.lane = Some(format!("reply:{}", root.key));
    stage.event(Event::Session(SessionEvent::Branch(Box::new(branch))));
    let beginning: String = root.preview.chars().take(6).collect();
    assert!(stage.screen(160, 40).contains(&format!("lane replies to \"{beginning}")), "{}", stage.screen(160, 40));
    stage.type_text("/lane root").press("enter");
    assert_eq!(stage.sent.iter().rev().find_map(|(_, r)| lane(r)).as_deref(), Some(""));
}

#[test]
fn changed_window_size_is_announced_once() {
    let mut stage = fixture::opened();
    stage.type_text("hello").wait(100);
    let mut plan = fixture::plan(&fixture::story());
    plan.warnings = vec![Warning::WindowAdjusted {
        tokens: 10_000,
        complexity: Milli(600),
        task: Task::Debugging,
        times: Milli(2_000),
        limited: false,
    }];
    let reply = |stage: &mut Stage, plan: &ContextPlan| {
        stage.reply(
            |r| matches!(r, Request::Plan(PlanRequest::Replan { .. })),
            Answer::Planned(fixture::planned(plan.clone())),
        );
    };
    reply(&mut stage, &plan);
    let status_text =
        |stage: &Stage| stage.model.status.shown().map(|status_text| status_text.text.clone()).unwrap_or_default();
    assert!(status_text(&stage).starts_with("Adjusted context window to 10,000 tokens (complexity: 0.6, debugging"));
    while stage.model.status.dismiss() {}
    stage.type_text(" there").wait(100);
    plan.id = Hash::of(b"the next");
    reply(&mut stage, &plan);
    assert_eq!(status_text(&stage), "", "not repeated with every key");
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

#[test]
fn turn_is_streamed_committed_and_shown_once() {
    let mut stage = fixture::opened();
    let story = fixture::story();
    let after = Some(story[5].head.id);
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "Unique question".into(), after }));
    let words = |text: &str| {
        Event::Turn(TurnEvent::Stream {
            branch: MAIN,
            run: run_id(8),
            text: text.into(),
            reasoning: String::new(),
            tokens: 3,
            certainty: Certainty::Estimated,
            cost_micro: None,
        })
    };
    stage.event(words("Unique ans")).event(words("wer\nmore"));
    let screen = stage.screen(100, 40);
    assert_eq!(screen.matches("Unique question").count(), 1, "{screen}");
    assert!(screen.contains("Unique answer") && screen.contains("answering"));
    let user = fixture::text_node(20, Some(&story[5]), Role::User, "Unique question");
    let answer = fixture::text_node(21, Some(&user), Role::Assistant, "Unique answer\nmore");
    for node in [&user, &answer] {
        stage.bodies.insert(node.head.id, std::sync::Arc::new(node.clone()));
    }
    let heads = vec![user.head.clone(), answer.head.clone()];
    stage.event(Event::Session(SessionEvent::Nodes { session: fixture::SESSION, heads }));
    let branch = fixture::branch(MAIN, "main", Some(&answer), None);
    stage.event(Event::Session(SessionEvent::Branch(Box::new(branch))));
    let screen = stage.screen(100, 40);
    assert_eq!(screen.matches("Unique question").count(), 1, "{screen}");
    assert_eq!(screen.matches("Unique answer").count(), 1, "{screen}");
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: None, failure: None }));
    assert_eq!(stage.screen(100, 40).matches("Unique answer").count(), 1);
}

#[test]
fn failed_draft_is_restored() {
    let mut stage = fixture::opened();
    let draft = Draft { text: "try me".into(), kind: DraftKind::Message, ..Draft::default() };
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: draft.text.clone(), after: None }));
    let failure = Failure::new(FailureKind::Provider, "The connection was refused.");
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: Some(draft), failure: Some(failure) }));
    assert_eq!(stage.model.composer.first_line(), "try me");
    assert!(stage.screen(100, 30).contains("refused"));
}

#[test]
fn busy_offers_a_fork_or_waiting() {
    let mut stage = fixture::opened();
    stage.type_text("next").press("enter");
    let ticket = stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. }))).unwrap().0;
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "q".into(), after: None }));
    stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Busy, "busy")) });
    stage.press("w");
    let before = asks(&stage);
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: None, failure: None }));
    assert_eq!(asks(&stage), before + 1);
    assert_eq!(&*ask(&stage).0.text, "next");
}

#[test]
fn ten_megabyte_paste_is_folded_and_sent_completely() {
    let mut stage = fixture::opened();
    let text = "all of it, line by line\r\n".repeat(420_000);
    stage.msg(Msg::Input(Input::Paste(text.clone())));
    let screen = stage.screen(80, 24);
    assert!(screen.contains("[pasted 420,000 lines"), "{screen}");
    stage.press("enter");
    assert_eq!(&*ask(&stage).0.text, text.replace("\r\n", "\n"));
}

#[test]
fn state_is_shown_and_edited() {
    let mut stage = fixture::opened();
    stage.press("tab s").type_text("Now: ").press("ctrl-d");
    let edited = stage.sent.iter().find_map(|(_, r)| match r {
        Request::Branch(BranchRequest::EditState { text, .. }) => Some(text.clone()),
        _ => None,
    });
    assert_eq!(edited.as_deref(), Some("Now: Goal: fix login"));
    assert!(!stage.screen(100, 40).contains("---STATE"), "the block is not in the answer");
}

#[test]
fn deleting_a_session_asks_first() {
    let mut stage = fixture::opened();
    stage.press("f3");
    stage.reply(|r| matches!(r, Request::Session(SessionRequest::List)), Answer::Sessions(vec![fixture::card("old")]));
    stage.press("alt-d enter");
    assert!(
        !stage.sent.iter().any(|(_, r)| matches!(r, Request::Session(SessionRequest::Delete { .. }))),
        "the first choice is no"
    );
    stage.press("alt-d y");
    assert!(stage.sent.iter().any(|(_, r)| matches!(r, Request::Session(SessionRequest::Delete { .. }))));
}

#[test]
fn every_action_can_be_reached() {
    let mut stage = fixture::opened();
    stage.press("ctrl-p");
    let keys = Keymap::built_in();
    let palette = pleach::tui::screens::picker::model::Picker::palette(&keys, &[]);
    let listed = palette
        .entries
        .iter()
        .filter(|entry| matches!(entry.choice, pleach::tui::screens::picker::model::Choice::Action(_)));
    assert_eq!(listed.count(), Action::ALL.len());
    let bare: Vec<&str> = Action::ALL
        .iter()
        .filter(|action| keys.key_of(**action).is_none())
        .map(|action| action.name())
        .filter(|name| choices(&format!("/{name}"), &RecentCommands::default()).iter().all(|c| c.name != *name))
        .collect();
    assert!(bare.is_empty(), "{bare:?}");
}

#[test]
fn the_palette_writes_a_command_with_arguments_and_runs_others() {
    let mut stage = fixture::opened();
    stage.type_text("a draft").press("ctrl-p").type_text("export").press("enter");
    assert!(stage.model.layers.is_empty());
    assert_eq!(stage.model.composer.first_line(), "/export ");
    assert!(stage.screen(120, 30).contains("restores your message"), "{}", stage.screen(120, 30));
    stage.type_text("talk.md").press("enter");
    assert_eq!(stage.kept, ["run /export talk.md"]);
    stage.press("up up");
    assert_eq!(stage.model.composer.first_line(), "a draft");
    stage.press("ctrl-p").type_text("config check").press("enter");
    assert_eq!(stage.kept.last().map(String::as_str), Some("run /config check"));
    assert_eq!(
        stage.model.composer.first_line(),
        "a draft",
        "a command without arguments leaves the composer as it is"
    );
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
fn key_press_does_not_wrap_ten_thousand_messages() {
    let mut nodes = Vec::new();
    for n in 1..=10_000_u128 {
        let role = if n % 2 == 1 { Role::User } else { Role::Assistant };
        let text = "word ".repeat(1_000);
        let node = fixture::text_node(n, nodes.last(), role, &text);
        nodes.push(node);
    }
    let head = fixture::branch(MAIN, "main", nodes.last(), None);
    let view = fixture::view(&nodes, vec![head]);
    let mut stage = fixture::open(nodes, view);
    stage.screen(120, 40);
    let before = stage.cache.misses;
    stage.type_text("a").screen(120, 40);
    assert_eq!(stage.cache.misses, before, "a key wraps nothing again");
    stage.press("tab g").screen(120, 40);
    stage.press("G").screen(120, 40);
    assert!(stage.cache.misses < before + 30, "{} messages were wrapped", stage.cache.misses - before);
    assert!(stage.model.bodies.bytes() < 1_000_000, "only what was near the view was loaded");
    let begin = std::time::Instant::now();
    for _ in 0..50 {
        stage.type_text("x").buffer(120, 40);
    }
    let each = begin.elapsed() / 200;
    assert!(each.as_millis() < 80, "a frame takes {each:?} even without optimization");
}

#[test]
fn earlier_runs_are_recognized() {
    let mut stage = fixture::opened();
    let unknown = RunId(uuid::Uuid::from_u128(424_242));
    let mut card = fixture::run(1, &fixture::story()[0], &fixture::story()[3]);
    card.id = unknown;
    stage.event(Event::Turn(TurnEvent::Run(Box::new(card))));
    stage
        .event(Event::Answer { ticket: pleach::engine::api::Ticket(999), result: Ok(Answer::Done("stranger".into())) });
    assert!(!stage.screen(100, 30).contains("stranger"));
}

/// The next plan shares a number of tokens with the last call, which saves an amount.
fn reusing(stage: &mut Stage, tokens: u32, saves: u64) {
    let Planned::Plan { plan, request_digest, bytes, calibration, cost, breaks, code_set, .. } =
        fixture::planned(fixture::plan(&fixture::story()))
    else {
        panic!()
    };
    let cost = cost.map(|cost| PromptCost { micro: cost.uncached_micro - saves, ..cost });
    let planned =
        Planned::Plan { plan, request_digest, bytes, calibration, cost, breaks, code_set, same_prefix: Some(tokens) };
    stage.type_text("x").wait(100);
    stage.reply(|r| matches!(r, Request::Plan(PlanRequest::Replan { .. })), Answer::Planned(planned));
}

#[test]
fn acts_report_their_effect_on_the_cache() {
    let mut stage = fixture::opened();
    reusing(&mut stage, 4_800, 1_800);
    let screen = stage.screen(160, 40);
    assert!(screen.contains("Cached prefix") && screen.contains("92%"), "{screen}");
    reusing(&mut stage, 1_000, 400);
    let screen = stage.screen(160, 40);
    assert!(screen.contains("19%, was 92% +$0.0014"), "{screen}");
    reusing(&mut stage, 4_800, 1_800);
    let screen = stage.screen(160, 40);
    assert!(screen.contains("92%") && !screen.contains("was"), "taken back: {screen}");
    reusing(&mut stage, 4_600, 1_700);
    let screen = stage.screen(160, 40);
    assert!(screen.contains("88%") && !screen.contains("was"), "a fall of 4 points is not notable: {screen}");
    reusing(&mut stage, 1_000, 400);
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "x".into(), after: None }));
    reusing(&mut stage, 1_000, 400);
    let screen = stage.screen(160, 40);
    assert!(!screen.contains(", was "), "it counts from the last call: {screen}");
}
