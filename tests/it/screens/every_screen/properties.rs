//! Whatever happens, at any size: no panic, no control character in a cell, and nothing written beyond a row.
//! Not for: what a screen shows.

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, RETRY, SESSION, node_id, run_id};
use crate::screens::tree::names;
use crate::screens::{aside, search, summaries, what_if};
use pleach::config::keys::keymap::{Chord, Key};
use pleach::domain::base::{Failure, FailureKind};
use pleach::domain::call::Certainty;
use pleach::domain::conversation::Role;
use pleach::domain::summary::SummaryAuthor;
use pleach::engine::api::{
    Answer, Draft, Event, PlanAnswer, PlanRequest, ProgramEvent, Request, SessionAnswer, SessionEvent, SessionRequest,
    SummaryAct, SummaryAnswer, SummaryEvent, Ticket, TurnEvent, TurnRequest,
};
use pleach::tui::model::pointer::{Mouse, PointerAction};
use pleach::tui::msg::{Input, Msg};
use proptest::prelude::*;
use ratatui::buffer::Buffer;

const HOSTILE: &str = "x\x1b]52;c;ZXZpbA==\x07\x1b[2J\u{9b}31m\x08\r\x7f\u{202e}\u{e0041}\u{200b}\x1b]0;t\x1b\\\tend";

#[derive(Clone, Debug)]
enum Step {
    Key(Chord),
    Paste(String),
    Size(u16, u16),
    Mouse(Mouse),
    Wait(u64),
    Event(u8, String),
}

fn chord() -> impl Strategy<Value = Chord> {
    let bound: Vec<Chord> = pleach::config::keys::keymap::Keymap::built_in()
        .bindings()
        .iter()
        .flat_map(|binding| binding.on.chords().collect::<Vec<_>>())
        .filter(|on| on.to_string() != "Ctrl+C")
        .collect();
    prop_oneof![
        4 => proptest::sample::select(bound),
        1 => any::<char>().prop_map(|c| Chord::plain(Key::Char(c))),
        1 => proptest::sample::select(vec!['y', 'n', 'w', '/', ' ', 'a', '日'])
            .prop_map(|c| Chord::plain(Key::Char(c))),
        1 => Just(Chord::plain(Key::Backspace)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => chord().prop_map(Step::Key),
        1 => "(\\PC|\n|\x1b|\t|🙂|👩‍👩‍👧){0,60}".prop_map(Step::Paste),
        1 => (0_u16..200, 0_u16..60).prop_map(|(w, h)| Step::Size(w, h)),
        1 => prop_oneof![Just((0, 0)), Just((1, 1)), Just((2, 2)), Just((3, 200)), Just((500, 3))]
            .prop_map(|(w, h)| Step::Size(w, h)),
        2 => (0_u8..5, 0_u16..210, 0_u16..70, -50_i64..50).prop_map(|(did, x, y, rows)| {
            let did = [PointerAction::Press, PointerAction::Press, PointerAction::Drag, PointerAction::Release, PointerAction::Wheel(rows)][usize::from(did)];
            Step::Mouse(Mouse { did, x, y })
        }),
        1 => (0_u64..5_000).prop_map(Step::Wait),
        4 => (0_u8..18, "(\\PC|\n|```|# |- |\x1b){0,40}").prop_map(|(n, s)| Step::Event(n, s)),
    ]
}

fn event(stage: &mut Stage, n: u8, words: String) {
    let branch = if n.is_multiple_of(2) { MAIN } else { RETRY };
    let stream = |text: String| {
        Event::Turn(TurnEvent::Stream {
            branch,
            run: run_id(u128::from(n)),
            text: text.clone(),
            reasoning: text,
            tokens: 1,
            certainty: Certainty::Estimated,
            cost_micro: Some(1),
        })
    };
    let event = match n {
        0 | 1 => Event::Turn(TurnEvent::Opened { branch, text: words.into(), after: Some(node_id(4)) }),
        2 | 3 => stream(words),
        4 => Event::Turn(TurnEvent::Closed {
            branch,
            draft: Some(Draft { text: words.clone().into(), ..Draft::default() }),
            failure: Some(failed(&words)),
        }),
        5 => Event::Program(ProgramEvent::Alarm(words)),
        6 => Event::Session(SessionEvent::Nodes {
            session: SESSION,
            heads: vec![fixture::text_node(30, None, Role::User, &words).head],
        }),
        7 => Event::Session(SessionEvent::Branch(Box::new(fixture::branch(RETRY, &words, None, Some(MAIN))))),
        8 => {
            Event::Session(SessionEvent::Branch(Box::new(fixture::branch(MAIN, &words, fixture::story().get(3), None))))
        }
        9 => Event::Turn(TurnEvent::Retrying { branch: MAIN, attempt: 2, wait_ms: 900, why: words }),
        12 => Event::Summary(SummaryEvent::Draft { branch, draft: Some(summaries::hostile(&words)) }),
        13 => Event::Summary(SummaryEvent::Draft { branch, draft: None }),
        15 => names::named(&words),
        16 | 17 => aside::beside(&words, n == 17),
        14 => Event::Summary(SummaryEvent::Progress {
            branch,
            turns: (1, 4),
            by: SummaryAuthor::Model,
            done: 1,
            of: 2,
            tokens: 40,
        }),
        _ => {
            answer_newest(stage, n, &words);
            return;
        }
    };
    stage.event(event);
}

fn failed(words: &str) -> Failure {
    Failure::new(FailureKind::Busy, words).todo(words)
}

/// Answers the three newest requests.
fn answer_newest(stage: &mut Stage, n: u8, words: &str) {
    let open: Vec<(Ticket, Request)> = stage.sent.split_off(stage.sent.len().saturating_sub(3));
    for (ticket, request) in open {
        let result = match request {
            Request::Turn(TurnRequest::Ask { .. }) if n == 10 => Ok(Answer::Asked { run: run_id(1) }),
            Request::Plan(PlanRequest::Replan { .. }) => {
                Ok(PlanAnswer::Planned(fixture::planned(fixture::plan(&fixture::story()))).into())
            }
            Request::Plan(PlanRequest::RowText { .. } | PlanRequest::WireText { .. }) => {
                Ok(Answer::Text(words.to_owned()))
            }
            Request::Summary { act: SummaryAct::List, .. } => {
                Ok(SummaryAnswer::Summaries(summaries::hostile_list(words)).into())
            }
            Request::Plan(PlanRequest::WhatIf { .. }) => Ok(PlanAnswer::WhatIf(what_if::found(words)).into()),
            Request::Session(SessionRequest::Find { .. }) => {
                Ok(SessionAnswer::Found(Box::new(search::found(words))).into())
            }
            Request::Session(SessionRequest::List) => Ok(SessionAnswer::Sessions(vec![fixture::card(words)]).into()),
            _ if n == 10 => Ok(Answer::Done(words.to_owned())),
            _ => Err(failed(words)),
        };
        stage.event(Event::Answer { ticket, result });
    }
}

fn clean(buf: &Buffer) {
    for cell in &buf.content {
        let odd = cell.symbol().chars().find(|c| c.is_control() || matches!(u32::from(*c), 0x202E | 0xE0041 | 0x200B));
        assert!(odd.is_none(), "{odd:?} reached the screen in {:?}", cell.symbol());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(steps in proptest::collection::vec(step(), 1..60)) {
        let mut stage = fixture::opened();
        stage.model.facts.mouse = true;
        let mut size = (80, 24);
        for step in steps {
            match step {
                Step::Key(chord) => drop(stage.msg(Msg::Input(Input::Key(chord)))),
                Step::Paste(text) => drop(stage.msg(Msg::Input(Input::Paste(text)))),
                Step::Size(width, height) => size = (width, height),
                Step::Mouse(mouse) => drop(stage.msg(Msg::Input(Input::Mouse(mouse)))),
                Step::Wait(ms) => drop(stage.wait(ms)),
                Step::Event(n, words) => event(&mut stage, n, words),
            }
            let buf = stage.buffer(size.0, size.1);
            clean(&buf);
        }
    }
}

/// Hostile text in every field from outside, on every screen.
#[test]
fn escapes_are_shown_in_every_field() {
    let mut nodes = fixture::story();
    for node in &mut nodes {
        node.head.preview = HOSTILE.into();
        node.head.name = Some(HOSTILE.into());
        node.head.model = Some(HOSTILE.into());
        for part in &mut node.content.parts {
            use pleach::domain::conversation::message::Part;
            match part {
                Part::Text { text } | Part::Reasoning { text } => *text = HOSTILE.into(),
                Part::Call { name, args, .. } => (*name, *args) = (HOSTILE.into(), HOSTILE.into()),
                Part::Reply { body, .. } => *body = HOSTILE.into(),
                Part::Opaque { mime, .. } => *mime = HOSTILE.into(),
            }
        }
    }
    let mut main = fixture::branch(MAIN, HOSTILE, Some(&nodes[5]), None);
    main.reply = Some(nodes[0].head.key);
    let mut view = fixture::view(&nodes, vec![main, fixture::branch(RETRY, HOSTILE, Some(&nodes[6]), Some(MAIN))]);
    view.card.title = HOSTILE.into();
    view.recovered = vec![HOSTILE.into()];
    view.workspace.0 = HOSTILE.into();
    let mut trace = fixture::trace(&nodes[2], None);
    (trace.name, trace.args, trace.preview) = (HOSTILE.into(), HOSTILE.into(), HOSTILE.into());
    view.traces = vec![trace];
    let mut stage = fixture::open(nodes.clone(), view);
    let mut settings = fixture::settings();
    settings.model.name = HOSTILE.into();
    settings.policy = HOSTILE.into();
    stage.event(Event::Session(SessionEvent::Settings { branch: MAIN, settings: Box::new(settings) }));
    let mut plan = fixture::plan(&nodes);
    for row in &mut plan.rows {
        row.title = HOSTILE.into();
        row.source.external_id = Some(HOSTILE.into());
        row.items.iter_mut().for_each(|item| item.title = HOSTILE.into());
    }
    (plan.policy, plan.model, plan.profile) = (HOSTILE.into(), HOSTILE.into(), HOSTILE.into());
    stage.wait(100);
    stage
        .reply(|r| matches!(r, Request::Plan(PlanRequest::Replan { .. })), PlanAnswer::Planned(fixture::planned(plan)));
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: HOSTILE.into(), after: Some(nodes[5].head.id) }));
    event(&mut stage, 2, HOSTILE.into());
    stage.event(Event::Turn(TurnEvent::Retrying { branch: MAIN, attempt: 2, wait_ms: 900, why: HOSTILE.into() }));
    stage.event(Event::Program(ProgramEvent::Alarm(HOSTILE.into())));
    for keys in ["tab g enter", "ctrl-o", "j enter j", "w", "esc esc ctrl-t", "esc ctrl-b", "n", "esc f3", "esc tab s"]
    {
        stage.press(keys);
        for kind in [10, 11] {
            event(&mut stage, kind, HOSTILE.into());
        }
        for (width, height) in [(160, 50), (80, 24), (40, 12)] {
            clean(&stage.buffer(width, height));
        }
    }
    stage.press("esc esc esc").msg(Msg::Input(Input::Paste(HOSTILE.into())));
    stage.model.focus = pleach::tui::model::focus::Focus::Composer;
    clean(&stage.buffer(120, 40));
    let shown = stage.screen(250, 80);
    assert!(shown.contains("⟨U+001B⟩"), "the escape is shown");
}

/// The same for the draft of a summary and the list of summaries.
#[test]
fn escapes_are_shown_in_summaries() {
    let mut stage = fixture::opened();
    stage.event(Event::Summary(SummaryEvent::Draft { branch: MAIN, draft: Some(summaries::hostile(HOSTILE)) }));
    stage.press("f5");
    assert!(stage.screen(250, 80).contains("⟨U+001B⟩"), "the escape is shown");
    for keys in ["tab", "tab", "j enter", "e", "esc esc f6", "enter", "esc esc"] {
        stage.press(keys);
        event(&mut stage, 10, HOSTILE.into());
        for (width, height) in [(160, 50), (80, 24), (40, 12)] {
            clean(&stage.buffer(width, height));
        }
    }
}
