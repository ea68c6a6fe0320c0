//! Every key that a screen binds in its own section of the key table does something there: the frame changes, a request
//! or an effect follows, or a notice says what is missing.
//! Not for: what the key does, which the tests of the screen check.

use crate::discoverability::{SCREENS, top};
use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, RETRY};
use crate::screens::{
    approval, aside, calls, compare, editor, memories, race, request, summaries, tools, traces, usage, what_if,
};
use pleach::config::keys::keymap::{Binding, KeyPlace, Keymap};
use pleach::domain::call::RunCard;
use pleach::domain::summary::{EditableKind, SummaryState};
use pleach::domain::tool::{FileDecision, Rule, RuleScope, ToolStatus, ToolTrace, Verdict};
use pleach::engine::api::{
    Answer, BranchAnswer, BranchRequest, CallAnswer, CallRequest, Event, PlanAnswer, PlanRequest, Request, RuleAct,
    SessionAnswer, SessionRequest, SummaryAct, SummaryAnswer, SummaryEvent, ToolAnswer, ToolEvent, ToolRequest,
    TurnEvent,
};
use pleach::tui::model::status::Severity;
use pleach::tui::msg::{Input, Msg};
use pleach::tui::screens::screen::Screen;
use ratatui::buffer::Buffer;

const LONG: &str = "A text of many words that wraps over many lines, so that there is something to scroll. ";

/// Opens a screen with contents.
type Fill = fn() -> Stage;

/// The screens again, filled with something to act on.
const FILLED: &[(&str, Fill)] = &[
    ("Calls", || {
        let (mut stage, nodes) = (calls::listed(), fixture::story());
        let card = RunCard { error: Some(LONG.repeat(9)), ..fixture::run(2, &nodes[4], &nodes[5]) };
        stage.event(Event::Turn(TurnEvent::Run(Box::new(card))));
        stage
    }),
    ("DiffView", || {
        let mut stage = opened("ctrl-o D");
        let diff = calls::plan_diff(&LONG.repeat(9));
        stage.reply(|r| matches!(r, Request::Call(CallRequest::DiffPlans { .. })), CallAnswer::Diff(diff));
        stage
    }),
    ("RequestScreen", || {
        let mut stage = opened("ctrl-o j j j");
        let text = Answer::Text(LONG.repeat(30));
        stage.reply(|r| matches!(r, Request::Plan(PlanRequest::RowText { .. })), text);
        stage
    }),
    ("RequestScreen", request::sent::opened),
    ("Traces", || {
        let mut stage = traces::opened();
        let args = format!("{{\"line\":\"{}\"}}", LONG.repeat(30));
        let trace = fixture::trace(&fixture::story()[2], Some(ToolStatus::Failed));
        let long = ToolTrace { call_id: "long".into(), args, preview: LONG.repeat(30), ..trace };
        stage.event(Event::Tool(ToolEvent::Trace(Box::new(long))));
        stage.press("ctrl-t");
        stage
    }),
    ("Picker", || {
        let mut stage = opened("f3");
        let sessions = Answer::Session(SessionAnswer::Sessions(["auth-bug", "other"].map(fixture::card).into()));
        stage.reply(|r| matches!(r, Request::Session(SessionRequest::List)), sessions);
        stage
    }),
    ("Picker", || {
        let mut stage = typed("/memories");
        memories::listed(&mut stage);
        stage
    }),
    ("Picker", || {
        let mut stage = typed("/rules");
        let rule = Rule { tool: "run".into(), on: Some("make*".into()), verdict: Verdict::Allow };
        let rules = Answer::Tool(ToolAnswer::Rules(vec![(RuleScope::Folder, rule)]));
        stage.reply(|r| *r == Request::Tool(ToolRequest::Rule(RuleAct::List)), rules);
        stage
    }),
    ("DraftScreen", summaries::opened),
    ("DraftScreen", || {
        let mut stage = fixture::opened();
        let draft = Some(summaries::hostile(&LONG.repeat(20)));
        stage.event(Event::Summary(SummaryEvent::Draft { branch: MAIN, draft }));
        stage.press("f5");
        stage
    }),
    ("SummaryList", || {
        let mut stage = opened("f6");
        let cards = ["newest", "oldest"].map(|_| summaries::card(&LONG.repeat(20), (1, 9), SummaryState::Fresh, 1));
        let list = Answer::Summary(SummaryAnswer::Summaries(cards.into()));
        stage.reply(|r| matches!(r, Request::Summary { act: SummaryAct::List, .. }), list);
        stage
    }),
    ("WhatIfScreen", || {
        let mut stage = opened("f7");
        let found = Answer::Plan(PlanAnswer::WhatIf(what_if::found(&LONG.repeat(5))));
        stage.reply(|r| matches!(r, Request::Plan(PlanRequest::WhatIf { .. })), found);
        stage
    }),
    ("RaceScreen", || {
        let mut stage = typed("/race mode:off mode:heavy Why?");
        let raced = [race::branch(50, "race-1"), race::branch(51, "race-2")];
        stage.reply(|r| matches!(r, Request::Call(CallRequest::Race { .. })), CallAnswer::Race(raced.to_vec()));
        for (n, arm) in (40..).zip(&raced) {
            race::answered(&mut stage, arm, n, &LONG.repeat(40));
        }
        stage
    }),
    ("AsidePane", || {
        let (mut stage, story) = (typed("/aside What does *rotate* mean here?"), fixture::story());
        let card = RunCard { user: None, answer: None, aside: true, ..fixture::run(1, &story[0], &story[3]) };
        stage.event(aside::aside(&LONG.repeat(40), Some(card)));
        stage
    }),
    ("UsageScreen", || usage::opened(23)),
    ("EditorScreen", || {
        let mut stage = typed("/policies");
        let text = "about = \"a line\"\n".repeat(60);
        editor::fill(&mut stage, EditableKind::Policies, editor::policies_there(Some((&text, false))));
        stage.press("G");
        stage
    }),
    ("EditorScreen", || {
        let mut stage = typed("/project");
        editor::fill(&mut stage, EditableKind::Rules, editor::project::rules());
        stage
    }),
    ("EditorScreen", || {
        let mut stage = typed("/modules");
        let versions = vec![editor::version("version 1", "What the module does.", true, None)];
        let modules = vec![editor::thing(EditableKind::Modules, "src", versions)];
        editor::fill(&mut stage, EditableKind::Modules, modules);
        stage
    }),
    ("CompareView", || {
        let mut stage = typed("/compare retry");
        let compared = Answer::Branch(BranchAnswer::Compared(compare::compared(&LONG.repeat(9))));
        stage.reply(|r| matches!(r, Request::Branch(BranchRequest::Compare { a: MAIN, b: RETRY })), compared);
        stage
    }),
    ("ApprovalScreen", || {
        let mut stage = approval::asks("edit_file", approval::change());
        stage.press("alt-y");
        stage
    }),
    ("ApprovalScreen", || {
        let mut stage = approval::asks("run", approval::run(&LONG.repeat(60)));
        stage.press("alt-y");
        stage
    }),
    ("ToolsScreen", || {
        let mut stage = tools::opened(FileDecision::Waits);
        stage.press("esc");
        stage
    }),
    ("ToolsScreen", || {
        let mut stage = tools::opened(FileDecision::Yes);
        stage.press("G");
        stage
    }),
];

/// Keys pressed before the tested key, so that it has something to act on.
const BEFORE: [&str; 13] =
    ["", "j", "j j", "j j j j j j", "G", "J", "j J", "h", "enter", "enter J", "space", "down", "/ e enter"];
/// The sizes of the terminal: one of them leaves something to scroll.
const SIZES: [(u16, u16); 2] = [(60, 16), (120, 35)];

/// Keys of sections that several screens share, where a screen has no use for them, with the reason.
const EXCUSED: &[(&str, &[&str], &str)] = &[
    ("AsidePane", &["l", "h", "m", "x"], "one answer that is no branch: nothing beside it, nothing to archive"),
    ("WhatIfScreen", &["l", "h", "m", "x"], "a list of plans without answers"),
    ("DiffView", &["Space"], "the two calls were chosen in the list of calls"),
];

/// A stage after these keys.
fn opened(keys: &str) -> Stage {
    let mut stage = fixture::opened();
    stage.press(keys);
    stage
}

/// A stage after this command.
fn typed(line: &str) -> Stage {
    let mut stage = fixture::opened();
    stage.type_text(line).press("enter");
    stage
}

/// Everything that a person or another part of the program can observe, at one size of the terminal.
fn seen(stage: &mut Stage, (width, height): (u16, u16)) -> (Buffer, [usize; 4], Option<String>) {
    let effects = [stage.sent.len(), stage.copied.len(), stage.composed.len(), stage.kept.len()];
    let notice = stage.model.status.shown().map(|message| message.text.clone());
    (stage.buffer(width, height), effects, notice)
}

/// Whether a key does something on a screen in one of its states. Starts with the state in which the last key did.
fn acts(screen: &str, fill: &dyn Fn() -> Stage, binding: &Binding, last: &mut (&str, (u16, u16))) -> bool {
    let all = SIZES.iter().flat_map(|size| BEFORE.map(|before| (before, *size)));
    let found = std::iter::once(*last).chain(all).find(|(before, size)| {
        let (mut stage, size) = (fill(), *size);
        seen(&mut stage, size);
        if !before.is_empty() {
            stage.press(before);
            seen(&mut stage, size);
        }
        stage.wait(60_000);
        if top(&stage) != screen {
            return false;
        }
        seen(&mut stage, size);
        let first = seen(&mut stage, size);
        for chord in binding.on.chords() {
            stage.msg(Msg::Input(Input::Key(chord)));
        }
        let second = seen(&mut stage, size);
        first != second && !second.2.is_some_and(|notice| notice.contains("does nothing here"))
    });
    *last = found.unwrap_or(*last);
    found.is_some()
}

/// The lowest row above the keys is kept free for notices; a longer notice covers one row more, but never the keys.
#[test]
fn a_notice_moves_no_row_of_a_screen() {
    for (name, fill) in FILLED {
        for (words, covered) in [("A notice of one row.", 1), (&"A notice of two rows. ".repeat(9), 2)] {
            let mut stage = fill();
            if !stage.model.layers.last().is_some_and(Screen::full) {
                continue;
            }
            let seen = |stage: &mut Stage| {
                let screen = stage.screen(120, 35);
                let mut rows: Vec<String> = screen.lines().map(str::to_owned).collect();
                rows.drain(34 - covered..34);
                (rows, stage.model.layers.last().and_then(Screen::page))
            };
            stage.press("G");
            let before = seen(&mut stage);
            stage.model.status.say(Severity::Notice, words, stage.model.now);
            assert!(stage.screen(120, 35).contains("A notice of"), "{name}");
            assert_eq!(seen(&mut stage), before, "{name}: {words}");
        }
    }
}

#[test]
fn every_key_of_a_screen_does_something_there() {
    let keys = Keymap::built_in();
    let (mut idle, mut last) = (Vec::new(), (BEFORE[0], SIZES[0]));
    for (screen, open) in SCREENS {
        let plain = || {
            let mut stage = fixture::opened();
            open(&mut stage);
            stage
        };
        let section = plain().model.places()[0];
        // A screen in which a line is typed shares the section of the lists that are filtered by typing.
        if matches!(section, KeyPlace::Panel | KeyPlace::Always) || (section == KeyPlace::Picker && *screen != "Picker")
        {
            continue;
        }
        let excused = EXCUSED.iter().find(|(name, ..)| name == screen).map_or(&[][..], |(_, keys, _)| keys);
        for binding in keys.bindings().iter().filter(|binding| binding.when == section) {
            let key = binding.on.to_string();
            let mut filled = FILLED.iter().filter(|(name, _)| name == screen);
            let does = filled.any(|(_, fill)| acts(screen, fill, binding, &mut last))
                || acts(screen, &plain, binding, &mut last);
            if does == excused.contains(&key.as_str()) {
                idle.push(format!("{screen}: {key} ({}) acts: {does}", binding.run.name()));
            }
        }
    }
    assert!(idle.is_empty(), "{idle:#?}");
}
