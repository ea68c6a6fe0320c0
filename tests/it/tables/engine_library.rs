//! Sessions through the whole engine: naming, searching, opening, importing, exporting, and deleting; and suggestions
//! in state blocks, with every decision about them.

use super::record::{Record, notice};
use super::same;
use crate::support::bench::{Bench, Client, Echo, Model, Say, draft, message, text};
use pleach::config::settings::Titles;
use pleach::domain::base::BranchId;
use pleach::domain::call::ProviderErrorKind;
use pleach::domain::conversation::{MemoryKind, Role};
use pleach::domain::planning::StateBlock;
use pleach::domain::summary::{EditableKind, SummaryAuthor};
use pleach::engine::api::{
    Answer, BranchRequest as B, DraftKind, EditableAct, Event, ItemName, MemoryAct, MemoryAnswer, MemoryRequest,
    MemoryScope, Request, SessionAnswer, SessionEvent, SessionRequest as S, TurnEvent,
};
use std::sync::Arc;

struct Talk {
    client: Client,
    record: Record,
    branch: BranchId,
}

impl Talk {
    fn ask(&mut self, label: &str, request: Request) -> Option<Answer> {
        let from = self.client.seen.len();
        let answer = self.record.ask(&mut self.client, label, request);
        self.record_notices(from);
        answer
    }

    /// Records notices that are not answers.
    fn record_notices(&mut self, from: usize) {
        let notices: Vec<String> = self.client.seen[from..]
            .iter()
            .filter_map(|event| match event {
                Event::Session(SessionEvent::State { version, missing, .. }) => {
                    Some(format!("state {:?} missing {missing}", version.as_ref().map(|version| version.version)))
                }
                Event::Session(SessionEvent::Card(card)) => Some(format!("{:?} has {}", card.title, card.messages)),
                Event::Turn(TurnEvent::Retrying { attempt, why, .. }) => Some(format!("attempt {attempt}: {why}")),
                other => notice(other),
            })
            .collect();
        if !notices.is_empty() {
            self.record.note("told", &notices);
        }
    }

    fn turn(&mut self, words: &str) {
        self.send(words, DraftKind::Message);
    }

    fn send(&mut self, words: &str, kind: DraftKind) {
        let from = self.client.seen.len();
        let closed = self.client.turn(self.branch, &draft(words, kind));
        self.record.note(&format!("turn {words:?}"), &closed);
        self.record_notices(from);
    }
}

fn begin(model: &Arc<Model>, change: impl FnOnce(&mut pleach::engine::startup::setup::Setup)) -> (Bench, Talk) {
    let mut bench = Bench::new(model);
    bench.tools = Some(Arc::new(Echo));
    let record = Record::new(&bench);
    let mut client = bench.start_with(change);
    let branch = client.session();
    (bench, Talk { client, record, branch })
}

#[allow(clippy::unnecessary_wraps, reason = "as requests take it")]
fn name(text: &str) -> Option<String> {
    Some(text.to_owned())
}

const FILES: [(&str, &str); 3] = [
    (
        "talk.json",
        r#"[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Where is the crane?"},
            {"role": "assistant", "content": "At pier nine.\n\n---STATE---\nGoal: find the crane\n---END STATE---"}]"#,
    ),
    (
        "talk.jsonl",
        "{\"role\": \"user\", \"content\": \"one\"}\n{\"role\": \"assistant\", \"content\": \"two\"}\nnonsense\n",
    ),
    ("talk.md", "## User\n\nHello there\n\n## Assistant\n\nHi.\n"),
];

#[test]
#[allow(clippy::too_many_lines, reason = "one history, act by act")]
fn sessions_as_a_library() {
    let model = Model::new([text("The crane is red."), text("Nine tons."), text("**\"A title by the model.\"**")]);
    let (bench, mut talk) = begin(&model, |setup| setup.settings.titles = Titles::Words);
    talk.turn("Which color has the crane? Tell me.");
    for (label, title) in [("dated", ""), ("named", "  harbor works "), ("twice", "harbor walls"), ("odd", "9f")] {
        talk.ask(label, Request::Session(S::New { title: title.into() }));
    }
    let Answer::Session(SessionAnswer::Opened(view)) =
        talk.client.must(Request::Session(S::Open { session: name("harbor works"), branch: None, create: false }))
    else {
        panic!()
    };
    talk.branch = view.current;
    talk.ask("draft", Request::Branch(B::KeepDraft { branch: talk.branch, text: "half a".into() }));
    talk.turn("How heavy is it; and how old?");
    talk.ask("draft", Request::Branch(B::KeepDraft { branch: talk.branch, text: "half a thought".into() }));
    let session = view.card.id;
    let fork = Request::Branch(B::Fork { branch: talk.branch, at: None, name: name("side"), switch: true });
    talk.ask("fork", fork);
    talk.record.say("named and opened");
    for (session, branch, create) in [
        (name("harbor"), None, false),
        (name("harbor works"), name("side"), false),
        (name("HARBOR WALLS"), None, false),
        (name(&session.to_string()), name("main"), false),
        (name(&session.to_string()[28..]), None, true),
        (name("nothing"), None, true),
        (name("harbor works"), name("none"), false),
        (name("9f"), None, false),
        (name(""), None, false),
        (None, name("main"), false),
    ] {
        talk.ask(&format!("open {branch:?} {create}"), Request::Session(S::Open { session, branch, create }));
    }
    talk.record.say("renamed and titled");
    for (session, title) in [
        (name("9f"), name("cranes")),
        (name("cranes"), name("  ")),
        (name("gone"), name("x")),
        (name("harbor works"), None),
    ] {
        talk.ask("rename", Request::Session(S::Rename { session, title }));
    }
    for _ in 0..2 {
        talk.ask("undo", Request::Session(S::Undo));
    }
    talk.ask("redo", Request::Session(S::Redo));
    talk.record.say("searched");
    for words in ["crane", "HARBOR", "nine tons", "walls", "", "zzz"] {
        talk.ask(&format!("search {words}"), Request::Session(S::Search { words: words.into() }));
    }
    for (line, limit) in [
        ("crane", 9),
        ("crane OR tons", 1),
        ("role:assistant crane", 9),
        ("session:harbor tons", 9),
        ("\"how heavy\"", 9),
        ("-red crane", 9),
    ] {
        talk.ask(&format!("find {line}"), Request::Session(S::Find { line: line.into(), limit }));
    }
    if let Ok(Answer::Session(SessionAnswer::Found(found))) =
        talk.client.ask(Request::Session(S::Find { line: "crane".into(), limit: 9 }))
    {
        talk.record.note("found", &found);
    }
    let nodes: Vec<_> = talk.client.open().nodes.iter().map(|node| node.id).collect();
    talk.ask("bodies", Request::Session(S::Bodies { nodes: nodes.clone() }));
    for node in nodes {
        talk.ask("open at", Request::Session(S::OpenAt { session, node }));
    }
    talk.record.say("imported and handed out");
    for (file, content) in FILES {
        for times in ["once", "again"] {
            match pleach::import::read(content.as_bytes(), file) {
                Ok(reading) => {
                    talk.ask(
                        &format!("import {file} {times}"),
                        Request::Session(S::Import { reading: reading.incoming() }),
                    );
                }
                Err(failure) => talk.record.note(file, &failure),
            }
        }
    }
    talk.ask("newest", Request::Session(S::Open { session: None, branch: None, create: false }));
    let open = talk.client.open();
    talk.branch = open.current;
    talk.ask("adopt", Request::Branch(B::AdoptState(talk.branch)));
    talk.ask("adopt again", Request::Branch(B::AdoptState(talk.branch)));
    for role in [Role::User, Role::Assistant, Role::System] {
        talk.ask(
            "add",
            Request::Branch(B::AddMessage {
                branch: talk.branch,
                role,
                text: format!("by hand: {}", role.name()),
                priority: None,
            }),
        );
    }
    for session in [None, name("harbor works"), name("nothing")] {
        talk.ask("transcript", Request::Session(S::Transcript { session, branch: None }));
    }
    talk.ask("markdown", Request::Session(S::Markdown { branch: talk.branch }));
    talk.ask("list", Request::Session(S::List));
    let whole = Request::Session(S::Transcript { session: name(&session.to_string()), branch: None });
    let Answer::Session(SessionAnswer::Transcript(mut whole)) = talk.client.must(whole) else { panic!() };
    for (source, names) in [("elsewhere", ["main", "side"]), ("elsewhere", ["main", "other"]), ("", [" ", "main"])] {
        // As another program might export it: with other branches and one more message.
        if !source.is_empty() {
            whole.source = source.into();
        }
        for (pointer, name) in whole.branches.iter_mut().zip(names) {
            pointer.name = name.into();
        }
        let written = pleach::export::jsonl(&whole, false);
        let reading = pleach::import::read(written.as_bytes(), "own.jsonl").unwrap();
        talk.ask("import", Request::Session(S::Import { reading: reading.incoming() }));
        talk.ask("open", Request::Session(S::Open { session: None, branch: None, create: false }));
        let last = whole.records.last().unwrap().clone();
        let content = pleach::domain::conversation::message::Content::text("One more.");
        let more = pleach::domain::conversation::record::Record {
            id: format!("{}-more", last.id),
            parent: Some(last.id.clone()),
            content,
            ..last
        };
        whole.branches[0].head = Some(more.id.clone());
        whole.records.push(more);
    }
    talk.record.say("deleted");
    let made = talk.client.must(Request::Session(S::New { title: "preamble".into() }));
    let Answer::Session(SessionAnswer::Opened(made)) = made else { panic!() };
    for role in [Role::System, Role::Assistant, Role::User, Role::Assistant] {
        talk.client.must(Request::Branch(B::AddMessage {
            branch: made.current,
            role,
            text: format!("by hand: {}", role.name()),
            priority: None,
        }));
    }
    let head = talk.client.open().nodes[1].id;
    talk.ask("remove", Request::Branch(B::RemoveMessage { branch: made.current, item: ItemName::TurnOf(head) }));
    talk.ask("open", Request::Session(S::Open { session: None, branch: None, create: false }));
    talk.ask("back", Request::Session(S::OpenAt { session, node: open.nodes[0].id }));
    for item in ["1", "2", "9"] {
        let item = ItemName::Named { text: item.into(), message: false };
        talk.ask("remove", Request::Branch(B::RemoveMessage { branch: talk.branch, item }));
    }
    for session in [name("harbor works"), name("harbor works"), name("nothing"), None, None] {
        talk.ask("delete", Request::Session(S::Delete { session }));
    }
    talk.ask("list", Request::Session(S::List));
    talk.ask("undo", Request::Session(S::Undo));
    talk.client.stop();
    let mut record = talk.record;
    record.store(&bench);
    same("engine_library", &record.end());
}

fn state(words: &str, block: &str) -> Vec<Say> {
    text(&format!("{words}\n\n---STATE---\n{block}\n---END STATE---"))
}

/// State blocks of every kind.
fn blocks() -> Vec<Vec<Say>> {
    let many: Vec<String> = (1..=7).map(|n| format!("Remember: fact: Pier {n} holds {n}0 tons")).collect();
    let long = format!("Remember: event: {}", "long ".repeat(300));
    vec![
        state("The crane of the harbor is red and old.", "Goal: paint the crane"),
        text("No block this time, though one was asked for."),
        state("Noted.", &format!("Goal: paint\n{}", many.join("\n"))),
        state(
            "Secrets.",
            "Goal: paint\nRemember: fact: the key is ghp_R4nd0mT0kenWithL3ttersAndNumb3rs7xQ9\nRemember: fact: Pier 1 holds 10 tons",
        ),
        state("Long.", &format!("Goal: paint\n{long}\n{long} more")),
        state(
            "Preferences.",
            "Remember: preference: short answers, please\nRemember: preference: SHORT answers please",
        ),
        state(
            "Pins.",
            "Goal: paint\nSuggest pins: \"turn 1\", turn 2, turn 99, \"the harbor is red and old\", red, \"turn 1\"",
        ),
        state("Only pins.", "Suggest pins: turn 3"),
        vec![
            Say::Text("Cut off.\n\n---STATE---\nGoal: never\nRemember: fact: cut off facts do not count".into()),
            Say::Cut,
        ],
        vec![Say::Odd("A piece was odd.".into()), Say::Retry, Say::Text("Odd, but done.".into())],
        vec![Say::Fail(ProviderErrorKind::Server)],
        vec![],
        state("At last.", "Goal: sail\nOpen: where to"),
    ]
}

/// A missing state block is reported only where one was requested, and not where it was optional.
#[test]
fn missing_state_blocks() {
    let long = "The rest is plain talk about how the parts of the service fit together. ".repeat(40);
    let mut all = String::new();
    for block in [StateBlock::Auto, StateBlock::Required, StateBlock::Optional, StateBlock::Off] {
        let mut scripts =
            vec![text(&long), text(&long), text(&long), text(&long), state("With one.", "Goal: end"), text("Without.")];
        scripts.push(vec![Say::Text("Cut off".into()), Say::Cut]);
        let turns = scripts.len();
        let (_bench, mut talk) = begin(&Model::new(scripts), |setup| setup.settings.state_block = Some(block));
        talk.record.say(&format!("{block:?}"));
        for n in 0..turns {
            let from = talk.client.seen.len();
            talk.client.turn(talk.branch, &message(&format!("{n}: {long}")));
            talk.record_notices(from);
        }
        talk.client.stop();
        all.push_str(&talk.record.end());
    }
    same("engine_missing_states", &all);
}

#[test]
#[allow(clippy::too_many_lines, reason = "one history, act by act")]
fn state_block_suggestions() {
    let model = Model::new(blocks());
    let (bench, mut talk) = begin(&model, |setup| setup.settings.state_block = Some(StateBlock::Required));
    let branch = talk.branch;
    let list = |scope| Request::Memory(MemoryRequest::List { session: None, words: None, scope });
    for n in 0..blocks().len() {
        talk.turn(&format!("Question {n} about the harbor and its cranes"));
        talk.ask("memories", list(None));
    }
    talk.record.say("pins");
    let named = |text: &str| ItemName::Named { text: text.into(), message: true };
    for item in ["1", "2", "3", "red and old"] {
        talk.ask(&format!("dismiss {item}"), Request::Branch(B::Dismiss { branch, item: named(item) }));
    }
    let nodes: Vec<_> = talk.client.open().nodes.iter().map(|node| node.id).collect();
    for node in &nodes[..6] {
        talk.ask("dismiss", Request::Branch(B::Dismiss { branch, item: ItemName::Message(*node) }));
    }
    talk.ask("undo", Request::Session(S::Undo));
    talk.record.say("memories");
    let Some(Answer::Memory(MemoryAnswer::Memories(all))) = talk.ask("all", list(None)) else { panic!() };
    let ids: Vec<String> = all.iter().map(|memory| memory.id.to_string()).collect();
    let acts = [
        MemoryAct::Confirm(None),
        MemoryAct::Confirm(Some(MemoryScope::All)),
        MemoryAct::Edit(Some("Pier 3 holds 33 tons".into()), None),
        MemoryAct::Edit(None, Some(MemoryScope::All)),
        MemoryAct::Edit(Some("  ".into()), None),
        MemoryAct::Edit(Some("the token is ghp_R4nd0mT0kenWithL3ttersAndNumb3rs7xQ9".into()), None),
        MemoryAct::Edit(None, None),
        MemoryAct::Dismiss,
        MemoryAct::Dismiss,
        MemoryAct::Delete,
        MemoryAct::Confirm(None),
    ];
    for (at, act) in acts.into_iter().enumerate() {
        let id = ids[at.min(9) / 2 % ids.len()].clone();
        talk.ask(&format!("{act:?}"), Request::Memory(MemoryRequest::Change { id, act }));
    }
    for (id, act) in [(&ids[0][..3], MemoryAct::Delete), (&ids[0][28..], MemoryAct::Dismiss), ("", MemoryAct::Delete)] {
        talk.ask("by a beginning", Request::Memory(MemoryRequest::Change { id: id.to_owned(), act }));
    }
    for (kind, text, scope) in [
        (MemoryKind::Preference, "Answers in English", MemoryScope::All),
        (MemoryKind::Fact, "pier 1 holds 10 tons", MemoryScope::Session),
        (MemoryKind::Event, "We moved on Monday", MemoryScope::Session),
    ] {
        talk.ask("remember", Request::Memory(MemoryRequest::Remember { kind, text: text.into(), scope }));
    }
    for words in ["pier", "tons holds", "monday", "english answers", "zzz", " "] {
        for scope in [None, Some(MemoryScope::All), Some(MemoryScope::Session)] {
            let request = MemoryRequest::List { session: None, words: name(words), scope };
            talk.ask(&format!("{words} {scope:?}"), Request::Memory(request));
        }
    }
    for _ in 0..4 {
        talk.ask("undo", Request::Session(S::Undo));
    }
    talk.ask("redo", Request::Session(S::Redo));
    talk.record.say("states");
    for text in ["Goal: by hand", "Goal: by hand", "  ", "no field"] {
        talk.ask("edit", Request::Branch(B::EditState { branch, text: text.into() }));
    }
    talk.ask("undo", Request::Session(S::Undo));
    talk.ask("rebuild", Request::Branch(B::RebuildState { branch, by: SummaryAuthor::Extractive }));
    talk.send("", DraftKind::Regenerate(nodes[1]));
    talk.send("Another question", DraftKind::Edit(nodes[2]));
    talk.ask("undo", Request::Session(S::Undo));
    talk.ask("undo", Request::Session(S::Undo));
    for kind in [EditableKind::State, EditableKind::Memories] {
        talk.ask(kind.title(), Request::Editable(EditableAct::List { branch, kind }));
    }
    talk.ask(
        "remove",
        Request::Branch(B::RemoveMessage { branch, item: ItemName::Named { text: "3".into(), message: false } }),
    );
    talk.turn("And after that?");
    let _ = talk.client.plan(branch, &message("so?"));
    talk.client.stop();
    let mut record = talk.record;
    record.store(&bench);
    same("engine_states", &record.end());
}
