//! State, summaries, memories, and policies with their versions: snapshots, and the journey of a policy.
//! Not for: one text without versions (`text_editor`).

pub(crate) mod project;

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, NOON};
use crate::screens::pictures::pictures;
use crate::screens::what_if::found;
use pleach::config::policies;
use pleach::domain::base::Failure;
use pleach::domain::conversation::Overrides;
use pleach::domain::summary::{Editability, Editable, EditableKind, PolicyFault, Version};
use pleach::engine::api::{
    Answer, BranchRequest, EditableAct, EditableAnswer, Event, MemoryAct, MemoryRequest, PlanAnswer, PlanRequest,
    Request, SessionRequest,
};
use pleach::tui::msg::{Done, Msg};

const PRESET: &str = "# What fits, the newest first.\nabout = \"The default.\"\nuser_cap = 32000\nwindow_turns = 0\n\n\
                      # When it is full, drop to so much at once.\nanchored = true\nrefill_percent = 70\n\n[activation]\non = true\n";

pub(crate) fn version(what: &str, text: &str, current: bool, from: Option<usize>) -> Version {
    Version { what: what.into(), at: Some(NOON), text: text.into(), current, from }
}

pub(crate) fn thing(kind: EditableKind, id: &str, versions: Vec<Version>) -> Editable {
    Editable {
        kind,
        id: id.into(),
        title: id.into(),
        note: "keeps the newest turns\u{202e} that fit".into(),
        source: None,
        editing: Editability::Here,
        in_use: false,
        versions,
    }
}

pub(crate) fn policies_there(own: Option<(&str, bool)>) -> Vec<Editable> {
    let preset = |name: &str| Editable {
        editing: Editability::Copy,
        in_use: name == "layered" && own.is_none_or(|(_, in_use)| !in_use),
        ..thing(EditableKind::Policies, name, vec![Version { at: None, ..version("built in", PRESET, true, None) }])
    };
    let mut all: Vec<Editable> = ["adaptive", "lanes", "layered", "levels", "window"].map(preset).into();
    if let Some((text, in_use)) = own {
        let versions = vec![
            version("version 2", text, true, Some(1)),
            version("version 1", PRESET, false, Some(2)),
            Version { at: None, ..version("the preset layered", PRESET, false, None) },
        ];
        all.push(Editable { in_use, ..thing(EditableKind::Policies, "lean", versions) });
    }
    all
}

/// The last request that is not a plan.
fn asked(stage: &Stage) -> &Request {
    let found = stage.sent.iter().rev().map(|(_, request)| request);
    let mut found = found.filter(|request| {
        !matches!(request, Request::Plan(PlanRequest::Replan { .. }) | Request::Editable(EditableAct::TryPolicy { .. }))
    });
    found.next().unwrap()
}

fn reads(request: &Request) -> bool {
    matches!(request, Request::Editable(EditableAct::List { .. }))
}

pub(crate) fn fill(stage: &mut Stage, kind: EditableKind, things: Vec<Editable>) {
    stage.reply(reads, EditableAnswer::Editables(kind, things));
}

#[test]
fn every_kind_has_a_tab() {
    let mut stage = fixture::opened();
    stage.type_text("/editors").press("enter");
    assert_eq!(*asked(&stage), Request::Editable(EditableAct::List { branch: MAIN, kind: EditableKind::State }));
    assert!(stage.screen(80, 24).contains("Loading."));
    let block = thing(
        EditableKind::State,
        "",
        vec![
            version("version 3, edited by you", "Goal: fix login\nContext: src/auth.rs\nResolved: port", true, Some(1)),
            version("version 2, by the model", "Goal: fix login\nContext: src/main.rs", false, None),
        ],
    );
    fill(
        &mut stage,
        EditableKind::State,
        vec![Editable { title: "The state block of main".into(), in_use: true, ..block }],
    );
    pictures("editors_state", &mut stage);
    stage.press("tab");
    assert_eq!(*asked(&stage), Request::Editable(EditableAct::List { branch: MAIN, kind: EditableKind::Summaries }));
    fill(&mut stage, EditableKind::Summaries, Vec::new());
    assert!(stage.screen(120, 35).contains("No summaries are in use on this branch"));
    stage.press("e tab");
    let one = thing(
        EditableKind::Memories,
        "0190",
        vec![
            version("version 2, confirmed", "The gate is blue", true, Some(1)),
            version("version 1, confirmed", "The gate is green", false, None),
        ],
    );
    let other =
        thing(EditableKind::Memories, "0191", vec![version("version 1, suggested", "日本語 works", true, None)]);
    fill(&mut stage, EditableKind::Memories, vec![Editable { title: "The gate is blue".into(), ..one }, other]);
    pictures("editors_memories", &mut stage);
    stage.press("shift-tab shift-tab");
    assert_eq!(*asked(&stage), Request::Editable(EditableAct::List { branch: MAIN, kind: EditableKind::State }));
    stage.press("esc");
    assert!(stage.model.layers.is_empty());
}

#[test]
fn refused_memory_stays_in_the_editor() {
    let mut stage = fixture::opened();
    stage.type_text("/editors").press("enter tab tab");
    let memory =
        thing(EditableKind::Memories, "0190", vec![version("version 1, confirmed", "The gate is", true, None)]);
    fill(&mut stage, EditableKind::Memories, vec![memory]);
    stage.press("e end").type_text(" green").press("ctrl-d");
    let wanted = Request::Memory(MemoryRequest::Change {
        id: "0190".into(),
        act: MemoryAct::Edit(Some("The gate is green".into()), None),
    });
    assert_eq!(*asked(&stage), wanted);
    let saved = |request: &Request| matches!(request, Request::Memory(MemoryRequest::Change { .. }));
    let ticket = stage.sent.iter().rev().find(|(_, request)| saved(request)).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::user("That looks like a secret.")) });
    let screen = stage.screen(120, 35);
    assert!(screen.contains("That looks like a secret.") && screen.contains("The gate is green"), "{screen}");
    stage.press("esc");
    assert!(stage.screen(80, 24).contains("discard the changes"), "typed text is not lost without a question");
    stage.press("n ctrl-g");
    assert_eq!(stage.composed, ["The gate is green"]);
    stage.msg(Msg::Done(Done::Edited(Ok("The gate is red\n".into())))).press("ctrl-d");
    stage.reply(
        |r| matches!(r, Request::Memory(MemoryRequest::Change { .. })),
        Answer::Done("Edited a memory. u undoes it.".into()),
    );
    assert_eq!(
        *asked(&stage),
        Request::Editable(EditableAct::List { branch: MAIN, kind: EditableKind::Memories }),
        "read again"
    );
    stage.press("u");
    assert_eq!(*asked(&stage), Request::Session(SessionRequest::Undo), "a memory lives in the session");
    stage.press("e").type_text("x").press("esc y");
    assert!(stage.screen(80, 24).contains("[Memories]"), "discarded after confirmation");
    stage.press("e esc");
    assert!(stage.screen(80, 24).contains("[Memories]"), "an unchanged text is left at once");
}

#[test]
#[allow(clippy::too_many_lines, reason = "one journey from its first key to its last")]
fn policy_is_copied_edited_fixed_applied_and_undone() {
    let mut stage = fixture::opened();
    stage.type_text("/policies").press("enter");
    fill(&mut stage, EditableKind::Policies, policies_there(None));
    let screen = stage.screen(120, 35);
    assert!(screen.contains("[Policies]") && screen.contains("layered (this branch's policy)"), "{screen}");
    pictures("editors_preset", &mut stage);
    stage.press("u");
    assert!(stage.screen(120, 35).contains("built in and can't be changed"));
    stage.press("e ctrl-u").type_text("lean").press("enter");
    stage.type_text("user_cpa = 900").press("enter ctrl-d");
    let Request::Editable(EditableAct::SavePolicy { name, text, preset }) = asked(&stage).clone() else {
        panic!("{:?}", asked(&stage))
    };
    assert_eq!((name.as_str(), preset.as_deref()), ("lean", Some("layered")));
    assert!(text.starts_with("user_cpa = 900\n") && text.ends_with(PRESET), "{text}");
    let why = policies::read("lean", &text).unwrap_err().to_string();
    let saves = |request: &Request| matches!(request, Request::Editable(EditableAct::SavePolicy { .. }));
    let words = format!("Not saved: {why} Did you mean `user_cap`?");
    stage.reply(saves, EditableAnswer::Refused(PolicyFault { place: Some((4, 1)), words }));
    pictures("editors_refused", &mut stage);
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Did you mean `user_cap`?") && screen.contains("user_cpa = 900"), "the text is kept");
    stage.type_text("#").press("ctrl-d");
    let Request::Editable(EditableAct::SavePolicy { text, .. }) = asked(&stage).clone() else { panic!() };
    assert!(text.contains("\n#user_cap = 32000\n"), "the cursor is at the fault: {text}");
    let names = vec!["layered".to_owned(), "lean".to_owned()];
    stage.reply(saves, EditableAnswer::Policies { names, notice: "Saved policy lean.".into() });
    assert!(
        stage
            .sent
            .iter()
            .any(|(_, r)| matches!(r, Request::Editable(EditableAct::TryPolicy { policy, .. }) if policy == "lean"))
    );
    let changed = PRESET.replace("user_cap = 32000", "user_cap = 900");
    fill(&mut stage, EditableKind::Policies, policies_there(Some((&changed, false))));
    stage.reply(
        |r| matches!(r, Request::Editable(EditableAct::TryPolicy { .. })),
        PlanAnswer::WhatIf(found("Why does login fail?")),
    );
    pictures("editors_policy", &mut stage);
    let screen = stage.screen(120, 35);
    assert!(screen.contains("+ user_cap = 900") && screen.contains("- user_cap = 32000"), "{screen}");
    assert!(screen.contains("The next request with this policy:"), "{screen}");
    stage.press("d");
    assert!(stage.screen(120, 35).contains("compared with the preset layered"));
    stage.press("d h");
    assert!(stage.screen(120, 35).contains("version 1"));
    stage.press("l a");
    let overrides = Overrides { policy: Some("lean".into()), ..Overrides::default() };
    assert!(stage.sent.iter().any(|(_, r)| *r == Request::Branch(BranchRequest::Override { branch: MAIN, overrides: overrides.clone() })));
    fill(&mut stage, EditableKind::Policies, policies_there(Some((&changed, true))));
    stage.press("u");
    assert_eq!(*asked(&stage), Request::Session(SessionRequest::Undo), "applying it is undone first");
    stage.reply(|r| matches!(r, Request::Session(SessionRequest::Undo)), Answer::Done("Undone.".into()));
    fill(&mut stage, EditableKind::Policies, policies_there(Some((&changed, false))));
    stage.press("u");
    assert_eq!(
        *asked(&stage),
        Request::Editable(EditableAct::StepPolicy { name: "lean".into(), forward: false }),
        "then its version"
    );
    stage.press("U");
    assert_eq!(*asked(&stage), Request::Editable(EditableAct::StepPolicy { name: "lean".into(), forward: true }));
    stage.press("esc").type_text("/policy lean").press("enter");
    assert!(!stage.screen(120, 35).contains("There is no policy"), "the new name is known");
}
