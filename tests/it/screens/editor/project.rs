//! Rules, skills, and module summaries in the editor: snapshots, excluding and restoring rules, writing them, attaching
//! a skill, and making a summary again.
//! Not for: texts that live in the session (`editor`).

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, NOON};
use pleach::domain::base::{Failure, Hash};
use pleach::domain::summary::{Editability, Editable, EditableKind, SummaryAuthor, SummarySource, Version};
use pleach::engine::api::{
    Answer, EditableAct, EditableAnswer, Event, FileAct, ModuleAct, PlanRequest, ProjectAct, Request, SessionRequest,
    SummaryEvent, ToolAnswer, ToolRequest,
};
use pleach::tui::model::status::Severity;

const SIZES: [(u16, u16); 5] = [(60, 16), (80, 24), (120, 35), (160, 40), (200, 50)];

fn pictures(name: &str, stage: &mut Stage) {
    for (width, height) in SIZES {
        let screen = stage.screen(width, height);
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../../snapshots" }, {
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), screen);
        });
    }
}

fn asked(stage: &Stage) -> &Request {
    stage.sent.iter().rev().map(|(_, r)| r).find(|r| !matches!(r, Request::Plan(PlanRequest::Replan { .. }))).unwrap()
}

fn fill(stage: &mut Stage, kind: EditableKind, things: Vec<Editable>) {
    stage.reply(|r| matches!(r, Request::Editable(EditableAct::List { .. })), EditableAnswer::Editables(kind, things));
}

fn now(text: &str) -> Version {
    Version { what: "current version".into(), at: None, text: text.into(), current: true, from: None }
}

const RULES: &str = "# Rules of this repository\n\n- Run `cargo test` before you say that it is done.\n- No `unwrap` \
    outside tests.\n\u{1b}[31mhidden\n";

pub(crate) fn rules() -> Vec<Editable> {
    let thing = |path: &str, note: &str, in_use: bool, editing: Editability, text: &str| Editable {
        kind: EditableKind::Rules,
        id: path.into(),
        title: path.into(),
        note: note.into(),
        source: None,
        editing,
        in_use,
        versions: vec![now(text)],
    };
    let outside = Editability::Not("The file is outside this folder; edit it there.");
    vec![
        thing(
            "~/.config/pleach/AGENTS.md",
            "included; included in the next request; for all your projects; 31 tokens (estimated)",
            true,
            outside,
            "Be brief.",
        ),
        thing(
            "../AGENTS.md",
            "excluded; excluded on this branch; for all of repo; 212 tokens (estimated)",
            false,
            outside,
            "Old rules.",
        ),
        thing(
            "AGENTS.md",
            "included; included in the next request; for the workspace; 88 tokens (estimated); 1 invisible character",
            true,
            Editability::Here,
            RULES,
        ),
        thing(
            "src/tui/AGENTS.md",
            "waiting; waiting until a file near it is named or touched; for src/tui/; 41 tokens (estimated)",
            false,
            Editability::Here,
            "Views are pure.",
        ),
    ]
}

#[test]
fn rules_are_shown_excluded_and_written() {
    let mut stage = fixture::opened();
    stage.type_text("/project").press("enter");
    assert_eq!(*asked(&stage), Request::Editable(EditableAct::List { branch: MAIN, kind: EditableKind::Rules }));
    fill(&mut stage, EditableKind::Rules, Vec::new());
    assert!(stage.screen(120, 35).contains("There is no AGENTS.md"), "{}", stage.screen(120, 35));
    stage.press("esc").press("ctrl-x p");
    fill(&mut stage, EditableKind::Rules, rules());
    stage.press("j j");
    pictures("project_rules", &mut stage);
    stage.press("x");
    let set = ProjectAct::Set { branch: MAIN, path: "AGENTS.md".into(), on: None, once: false };
    assert_eq!(*asked(&stage), Request::Tool(ToolRequest::Project(set)));
    stage.reply(|r| matches!(r, Request::Tool(ToolRequest::Project(_))), Answer::Done("Excluded. u undoes it.".into()));
    let screen = stage.screen(80, 24);
    assert!(screen.contains("Excluded. ") && screen.contains(" undoes it."), "{screen}");
    fill(&mut stage, EditableKind::Rules, rules());
    stage.press("u");
    assert_eq!(*asked(&stage), Request::Session(SessionRequest::Undo));
    stage.press("e").type_text("- New.\n");
    stage.press("ctrl-d");
    match asked(&stage) {
        Request::Tool(ToolRequest::Project(ProjectAct::Save { branch, path, text, expected })) => {
            assert_eq!((*branch, path.as_str(), *expected), (MAIN, "AGENTS.md", Some(Hash::of(RULES.as_bytes()))));
            assert!(text.starts_with("- New.\n# Rules") && !text.contains('\u{1b}'), "{text}");
        }
        other => panic!("{other:?}"),
    }
    stage.reply(
        |r| matches!(r, Request::Tool(ToolRequest::Project(ProjectAct::Save { .. }))),
        Answer::Done("Wrote AGENTS.md.".into()),
    );
    fill(&mut stage, EditableKind::Rules, rules());
    stage.press("k e");
    assert!(stage.screen(120, 35).contains("The file is outside this folder"));
    stage.press("esc").press("ctrl-x p");
    fill(&mut stage, EditableKind::Rules, Vec::new());
    stage.press("e").type_text("First rule.").press("ctrl-d");
    let first = |r: &Request| matches!(r, Request::Tool(ToolRequest::Project(ProjectAct::Save { expected: None, text, .. })) if text == "First rule.");
    assert!(first(asked(&stage)), "{:?}", asked(&stage));
}

#[test]
fn skill_is_attached_to_the_message() {
    let mut stage = fixture::opened();
    stage.type_text("/skills").press("enter");
    let skill = |name: &str, note: &str| Editable {
        kind: EditableKind::Skills,
        id: name.into(),
        title: name.into(),
        note: note.into(),
        source: None,
        editing: Editability::Not("Edit a skill in its file; a adds it to the message."),
        in_use: true,
        versions: vec![now("---\nname: pdf\n---\n# Reading PDFs\n\nUse `pdftotext`.\n")],
    };
    let all = vec![
        skill("pdf", "Reads PDF files and fills in their forms; .claude/skills/pdf/SKILL.md; 44 tokens (estimated)"),
        skill("release", "Cuts a release; ~/.agents/skills/release/SKILL.md; 210 tokens (estimated)"),
    ];
    fill(&mut stage, EditableKind::Skills, all);
    pictures("project_skills", &mut stage);
    stage.press("x");
    assert!(
        matches!(asked(&stage), Request::Tool(ToolRequest::Project(ProjectAct::Set { path, .. })) if path == "skills")
    );
    stage.press("a");
    assert!(stage.model.layers.is_empty());
    assert_eq!(*asked(&stage), Request::Tool(ToolRequest::Files(FileAct::Read { path: "skill:pdf".into() })));
    stage.reply(
        |r| matches!(r, Request::Tool(ToolRequest::Files(_))),
        ToolAnswer::Attached { text: "Use pdftotext.".into(), masked: 0 },
    );
    assert!(
        stage.model.composer.text().contains("@skill:pdf") && stage.model.composer.text().contains("Use pdftotext.")
    );
}

/// The name of a skill that does not exist is not put into the message.
#[test]
fn unknown_skill_leaves_the_message_alone() {
    let mut stage = fixture::opened();
    stage.type_text("/skill nosuch").press("enter");
    let read = Request::Tool(ToolRequest::Files(FileAct::Read { path: "skill:nosuch".into() }));
    let ticket = stage.sent.iter().find(|(_, request)| *request == read).unwrap().0;
    let failure = Failure::user("There is no skill \"nosuch\".").todo("/skills lists the skills.");
    stage.event(Event::Answer { ticket, result: Err(failure) });
    assert_eq!(*stage.model.composer.text(), *"");
    let screen = stage.screen(120, 30);
    assert!(screen.contains("There is no skill \"nosuch\". /skills lists the skills."), "{screen}");
}

#[test]
fn module_summary_in_progress_is_shown_and_stopped() {
    let mut stage = fixture::opened();
    stage.type_text("/module-summary ./src/engine/ by model").press("enter");
    let going = |files, tokens| {
        Event::Summary(SummaryEvent::ModuleProgress {
            branch: MAIN,
            path: "src/engine".into(),
            by: SummaryAuthor::Model,
            files,
            tokens,
        })
    };
    assert!(stage.screen(120, 30).contains("summarizing src/engine, Esc stops"));
    stage.event(going((20, 61), 0));
    assert!(stage.screen(120, 30).contains("summarizing src/engine: read 20 of 61 files, Esc stops"));
    stage.event(going((61, 61), 0));
    assert!(stage.screen(160, 30).contains("summarizing src/engine: 61 files sent to the model, Esc stops"));
    stage.event(going((61, 61), 1_204));
    assert!(stage.screen(120, 30).contains("summarizing src/engine: 1,204 tokens (estimated) so far, Esc stops"));
    stage.press("esc");
    let stop = Request::Tool(ToolRequest::Project(ProjectAct::Module(ModuleAct::Stop { branch: MAIN })));
    assert_eq!(*asked(&stage), stop);
    assert!(stage.screen(120, 30).contains("stopping the summary of src/engine"));
    let before = stage.sent.len();
    stage.press("esc");
    assert!(!stage.sent[before..].iter().any(|(_, request)| *request == stop), "once is enough");
    let make =
        |r: &Request| matches!(r, Request::Tool(ToolRequest::Project(ProjectAct::Module(ModuleAct::Make { .. }))));
    let ticket = stage.sent.iter().find(|(_, request)| make(request)).unwrap().0;
    let kept = "No part of the summary was kept. The call counts as usage.";
    stage.event(Event::Answer { ticket, result: Err(Failure::user("Stopped.").kept(kept)) });
    let screen = stage.screen(120, 30);
    assert!(screen.contains(kept) && !screen.contains("src/engine"), "{screen}");
    assert_eq!(stage.model.status.shown().unwrap().severity, Severity::Notice, "a person stopped it");
    // On its own screen the progress is shown above the text, and the first Esc stops it there too.
    stage.type_text("/module-summary src/store by model").press("enter");
    stage.type_text("/modules").press("enter");
    fill(&mut stage, EditableKind::Modules, Vec::new());
    assert!(stage.screen(120, 30).contains("summarizing src/store"));
    stage.press("esc");
    assert!(*asked(&stage) == stop && !stage.model.layers.is_empty());
    stage.press("esc");
    assert!(stage.model.layers.is_empty());
}

#[test]
#[allow(clippy::too_many_lines, reason = "one journey")]
fn module_is_summarized_compared_and_summarized_again() {
    let mut stage = fixture::opened();
    stage.type_text("/module-summary src/engine").press("enter");
    let make = |by| {
        Request::Tool(ToolRequest::Project(ProjectAct::Module(ModuleAct::Make {
            branch: MAIN,
            path: "src/engine".into(),
            by,
        })))
    };
    assert_eq!(*asked(&stage), make(SummaryAuthor::Extractive));
    stage.type_text("/module-summary src/engine by model").press("enter");
    assert_eq!(*asked(&stage), make(SummaryAuthor::Model));
    for by in [SummaryAuthor::Extractive, SummaryAuthor::Model] {
        stage.reply(|r| *r == make(by), Answer::Done("Summed up src/engine from 61 files.".into()));
    }
    stage.type_text("/modules").press("enter");
    let version = |what: &str, text: &str, current: bool, from: Option<usize>| Version {
        what: what.into(),
        at: Some(NOON),
        text: text.into(),
        current,
        from,
    };
    let thing = |path: &str, note: &str, source: SummarySource, versions: Vec<Version>| Editable {
        kind: EditableKind::Modules,
        id: path.into(),
        title: path.into(),
        note: note.into(),
        source: Some(source),
        editing: Editability::Here,
        in_use: source == SummarySource::Extractive,
        versions,
    };
    let old = "src/engine: 60 files, 14,000 lines of rust\nThe engine.\n- core.rs: Its own thread.";
    let new =
        "src/engine: 61 files, 15,000 lines of rust\nThe engine.\n- core.rs: Its own thread.\n- modules.rs: Summaries.";
    let note = "fresh; 412 tokens (estimated); by pleach, from names and comments; covers 64% of it; commit 6916441a";
    let older = "stale; stale: 2 of 12 files changed since; 201 tokens (estimated); by a model; 97% of its names occur \
        in the files";
    fill(
        &mut stage,
        EditableKind::Modules,
        vec![
            thing(
                "src/engine",
                note,
                SummarySource::Extractive,
                vec![
                    version("version 2, by pleach", new, true, Some(1)),
                    version("version 1, by pleach", old, false, None),
                ],
            ),
            thing(
                "src/store",
                older,
                SummarySource::Llm,
                vec![version("version 1, by the model", "Keeps things.", true, None)],
            ),
        ],
    );
    pictures("project_modules", &mut stage);
    stage.press("m");
    assert_eq!(*asked(&stage), make(SummaryAuthor::Extractive));
    stage.press("down m");
    let by_model = |request: &Request| {
        let Request::Tool(ToolRequest::Project(ProjectAct::Module(ModuleAct::Make { path, by, .. }))) = request else {
            return false;
        };
        path == "src/store" && *by == SummaryAuthor::Model
    };
    assert!(by_model(asked(&stage)), "the author of the current version, whatever its note says");
    stage.press("up u");
    let step = |forward| {
        Request::Tool(ToolRequest::Project(ProjectAct::Module(ModuleAct::Step { path: "src/engine".into(), forward })))
    };
    assert_eq!(*asked(&stage), step(false));
    stage.press("U");
    assert_eq!(*asked(&stage), step(true));
    stage.press("e").press("ctrl-d");
    assert!(matches!(asked(&stage), Request::Tool(ToolRequest::Project(ProjectAct::Module(ModuleAct::Edit { .. })))));
}
