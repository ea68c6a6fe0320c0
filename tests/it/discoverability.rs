//! Discoverability: every action is reachable from the keyboard and from help, every screen opens and closes, a key has
//! one meaning in one place, and nothing is destroyed without undo or a question.

use crate::screens::Stage;
use crate::screens::aside;
use crate::screens::fixture::{self, MAIN, RETRY};
use crate::screens::raw_request;
use crate::support::bench::{Bench, Client, Model, message};
use crate::support::binary::Home;
use pleach::config::commands::read::read;
use pleach::config::keys::keymap::KeyPlace;
use pleach::config::keys::keymap::{Action, Chord, Keymap};
use pleach::domain::base::BranchId;
use pleach::domain::conversation::{Atom, Branch, MarkKind, Memory, MemoryKind, NodeHead, Overrides};
use pleach::domain::planning::{ItemHistory, Mode};
use pleach::domain::tool::{Command, PendingApproval, ToolEffect};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, CallAnswer, CallRequest, Event, Exact, ItemName, MemoryAct, MemoryAnswer,
    MemoryRequest, MemoryScope, PlanAnswer, PlanRequest, Request, SessionAnswer, SessionRequest, ToolEvent,
    ToolRequest, TurnEvent,
};
use pleach::tui::chat::model::slash;
use pleach::tui::model::focus::Focus;
use pleach::tui::msg::{Input, Msg};
use pleach::tui::screens::picker::model::Choice;
use pleach::tui::screens::picker::model::Picker;
use pleach::tui::screens::question::model::Question;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Opens a screen.
pub(crate) type Open = fn(&mut Stage);

/// How each screen opens from the chat, by the name of its layer.
pub(crate) const SCREENS: &[(&str, Open)] = &[
    ("RequestScreen", |stage| {
        stage.press("ctrl-o");
    }),
    ("Reader", |stage| {
        stage.msg(Msg::Input(Input::Paste("a line of it\n".repeat(60))));
        stage.press("alt-v");
    }),
    ("RawRequestScreen", |stage| {
        stage.press("tab w");
        stage.reply(
            |r| matches!(r, Request::Plan(PlanRequest::Exact { act: Exact::Show, .. })),
            PlanAnswer::Raw(raw_request::raw()),
        );
    }),
    ("Traces", |stage| {
        stage.press("ctrl-t");
    }),
    ("Picker", |stage| {
        stage.press("ctrl-p");
    }),
    ("Question", |stage| {
        stage.type_text("/trust-folder").press("enter");
    }),
    ("Prompt", |stage| {
        stage.press("ctrl-b n");
    }),
    ("Editor", |stage| {
        stage.press("alt-s");
    }),
    ("DraftScreen", |stage| {
        stage.press("f5");
    }),
    ("SummaryList", |stage| {
        stage.press("f6");
    }),
    ("WhatIfScreen", |stage| {
        stage.press("f7");
    }),
    ("RaceScreen", |stage| {
        stage.type_text("/race mode:off mode:heavy Why?").press("enter");
        let branches =
            [7, 8].map(|n| fixture::branch(BranchId(uuid::Uuid::from_u128(n)), &format!("race-{n}"), None, Some(MAIN)));
        stage.reply(|r| matches!(r, Request::Call(CallRequest::Race { .. })), CallAnswer::Race(branches.to_vec()));
    }),
    ("Calls", |stage| {
        stage.press("f9");
    }),
    ("DiffView", |stage| {
        stage.press("ctrl-o D");
    }),
    ("CompareView", |stage| {
        stage.press("ctrl-b j c");
    }),
    ("HistoryScreen", |stage| {
        stage.press("tab h ctrl-o G k h");
        let atom = Atom::Message { node: fixture::story()[0].head.key };
        let history =
            ItemHistory { atom, title: "x".into(), turn: None, stays: Vec::new(), older: 0, steps: Vec::new() };
        stage.reply(
            |r| matches!(r, Request::Plan(PlanRequest::Why { most: None, .. })),
            PlanAnswer::History(Box::new(history)),
        );
    }),
    ("ConversationSearchScreen", |stage| {
        stage.press("tab /");
    }),
    ("SearchScreen", |stage| {
        stage.press("ctrl-r");
    }),
    ("TreeScreen", |stage| {
        stage.press("f8");
    }),
    ("ApprovalScreen", |stage| {
        let command = Command {
            line: "make".into(),
            folder: String::new(),
            seconds: 60,
            protection: Vec::new(),
            mechanisms: None,
        };
        let (tool, args) = ("run".into(), "{\"line\":\"make\"}".into());
        let asking = PendingApproval { index: 0, tool, args, effect: ToolEffect::Run(command), rule: None };
        stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "Build it.".into(), after: None }));
        stage.event(Event::Tool(ToolEvent::Approval { branch: MAIN, pending: Some(Arc::new(asking)) }));
        stage.press("alt-y");
    }),
    ("AsidePane", |stage| {
        stage.type_text("/aside What is it?").press("enter");
        stage.event(aside::aside("It is", None));
    }),
    ("UsageScreen", |stage| {
        stage.press("f10");
    }),
    ("EditorScreen", |stage| {
        stage.type_text("/editors").press("enter");
    }),
    ("ToolsScreen", |stage| {
        stage.press("ctrl-x o");
    }),
    ("HelpScreen", |stage| {
        stage.press("f1");
    }),
];

/// Keys whose meaning in one place intentionally differs from all panels, with the reason.
const INTENDED: &[(&str, &str, &str)] = &[("ApprovalScreen", "y", "the question's own yes; nothing is copied there")];

pub(crate) fn top(stage: &Stage) -> String {
    let shown = stage.model.layers.last().map(|layer| format!("{layer:?}")).unwrap_or_default();
    shown.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// The names of all screens, read from the source.
fn screens() -> BTreeSet<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tui/screens");
    let folders = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = folders.map(|path| syn::parse_file(&std::fs::read_to_string(path.join("mod.rs")).unwrap()).unwrap());
    let named = |item: &syn::Item| match item {
        syn::Item::Impl(item) if item.trait_.as_ref()?.1.is_ident("Screen") => match &*item.self_ty {
            syn::Type::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        },
        _ => None,
    };
    files.flat_map(|file| file.items.iter().filter_map(named).collect::<Vec<_>>()).collect()
}

#[test]
fn every_screen_opens_and_closes_by_key() {
    let known: BTreeSet<String> = SCREENS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(known, screens(), "a screen is missing in the list above");
    for (name, open) in SCREENS {
        let mut stage = fixture::opened();
        open(&mut stage);
        assert_eq!(top(&stage), *name);
        for (width, height) in [(40, 12), (80, 24), (120, 35)] {
            let screen = stage.screen(width, height);
            assert!(screen.trim().len() > 20, "{name} shows something at {width}x{height}:\n{screen}");
        }
        let mut presses = 0;
        while !stage.model.layers.is_empty() {
            stage.press("esc");
            presses += 1;
            assert!(presses <= 2, "{name} does not close");
        }
        assert!(!stage.model.quit);
    }
}

#[test]
fn every_action_is_in_help_and_palette() {
    let mut help = String::new();
    let mut stage = fixture::opened();
    stage.press("f1");
    for _ in 0..40 {
        help.push_str(&stage.screen(200, 50));
        stage.press("pagedown");
    }
    let lines: Vec<&str> = help.lines().collect();
    let keys = Keymap::built_in();
    for action in Action::ALL {
        assert!(help.contains(action.sentence()), "help does not mention {}", action.name());
        let way = keys.key_of(*action).unwrap_or_else(|| format!("/{}", action.name()));
        // An action with many keys has a row of its own for the keys, and its sentence below.
        let is_explained =
            lines.windows(2).any(|w| w[0].contains(&way) && w.iter().any(|l| l.contains(action.sentence())));
        assert!(is_explained, "help does not say that {way} does {}", action.name());
        let mut stage = fixture::opened();
        stage.press("ctrl-p").msg(Msg::Input(Input::Paste(action.sentence().to_owned())));
        let Some(picker) = stage.model.layers.top::<Picker>() else { panic!("the palette is open") };
        let choices = picker.shown.iter().map(|at| &picker.entries[*at].choice);
        let place = choices.clone().position(|choice| *choice == Choice::Action(*action));
        assert!(place.is_some_and(|place| place < 5), "typing the name of {} finds it: {place:?}", action.name());
        for _ in 0..place.unwrap() {
            stage.press("down");
        }
        let Some(picker) = stage.model.layers.top::<Picker>() else { panic!("the palette is open") };
        assert_eq!(picker.selected().map(|entry| &entry.choice), Some(&Choice::Action(*action)));
        stage.press("enter");
        assert!(read(&format!("/{}", action.name())).is_ok(), "/{} does it too", action.name());
    }
    for row in slash::commands() {
        assert!(help.contains(&row.usage()), "help does not mention /{}", row.name);
    }
}

/// Every chain of contexts in which a key is looked up, with its place.
fn contexts() -> Vec<(String, &'static [KeyPlace])> {
    let mut found = Vec::new();
    for (name, open) in SCREENS {
        let mut stage = fixture::opened();
        open(&mut stage);
        found.push(((*name).to_owned(), stage.model.places()));
    }
    for keys in ["ctrl-o /", "f8 /", "ctrl-t /"] {
        let mut stage = fixture::opened();
        stage.press(keys);
        found.push((format!("{} while filtering", top(&stage)), stage.model.places()));
    }
    let mut stage = fixture::opened();
    for _ in Focus::RING {
        found.push((format!("{:?}", stage.model.focus), stage.model.places()));
        stage.press("tab");
    }
    found
}

#[test]
fn keys_have_one_meaning_in_one_place() {
    let keys = Keymap::built_in();
    let mut bound: BTreeSet<String> = BTreeSet::new();
    for (name, places) in contexts() {
        let mut acts: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for binding in keys.bindings().iter().filter(|binding| places.contains(&binding.when)) {
            acts.entry(binding.on.to_string()).or_default().insert(binding.run.name());
            bound.insert(format!("{:?}", binding.when));
            let types = places.iter().any(|at| matches!(at, KeyPlace::Composer | KeyPlace::Picker | KeyPlace::Editor));
            assert!(
                !types || binding.on.chords().next().is_none_or(|first| first.typed().is_none()),
                "{name}: {} is typed there",
                binding.on
            );
        }
        for (on, acts) in acts {
            let meant = INTENDED.iter().any(|(place, key, _)| *place == name && *key == on);
            assert!(acts.len() == 1 || meant, "{name}: {on} does {acts:?}");
        }
    }
    let all: BTreeSet<String> = keys.bindings().iter().map(|binding| format!("{:?}", binding.when)).collect();
    assert_eq!(bound, all, "every context of the key table was checked");
}

fn sent(stage: &Stage, wanted: impl Fn(&Request) -> bool) -> usize {
    stage.sent.iter().filter(|(_, request)| wanted(request)).count()
}

/// A question is on the screen, and nothing has changed yet.
fn is_asked(stage: &Stage) {
    let Some(question) = stage.model.layers.top::<Question>() else { panic!("no question is shown") };
    assert_eq!(
        question.choices[question.cursor].2,
        pleach::tui::screens::question::model::Act::Close,
        "Enter alone destroys nothing"
    );
}

#[test]
fn irreversible_acts_ask_first() {
    let mut stage = fixture::opened();
    let deletes = |stage: &Stage| sent(stage, |r| matches!(r, Request::Session(SessionRequest::Delete { .. })));
    stage.press("f3");
    stage.reply(
        |r| matches!(r, Request::Session(SessionRequest::List | SessionRequest::Search { .. })),
        SessionAnswer::Sessions(vec![fixture::card("auth-bug")]),
    );
    stage.press("alt-d");
    is_asked(&stage);
    stage.press("enter");
    assert_eq!(deletes(&stage), 0);
    stage.press("alt-d y");
    assert_eq!(deletes(&stage), 1);

    let mut stage = fixture::opened();
    stage.type_text("/trust-folder").press("enter");
    is_asked(&stage);
    stage.press("esc");
    assert_eq!(sent(&stage, |r| matches!(r, Request::Tool(ToolRequest::Trust { .. }))), 0);

    let mut stage = fixture::opened();
    stage.press("ctrl-b D");
    assert_eq!(
        sent(&stage, |r| matches!(r, Request::Branch(BranchRequest::Archive { .. }))),
        0,
        "not the active branch"
    );
    stage.press("j D");
    assert_eq!(
        sent(&stage, |r| matches!(r, Request::Branch(BranchRequest::Archive { branch: RETRY, archived: true }))),
        1
    );
}

#[test]
fn no_key_loses_typed_text() {
    let mut stage = fixture::opened();
    let saves = |stage: &Stage| sent(stage, |r| matches!(r, Request::Branch(BranchRequest::EditState { .. })));
    stage.press("alt-s esc");
    assert!(stage.model.layers.is_empty(), "nothing was changed or asked");
    for leave in ["esc", "ctrl-c"] {
        stage.press("alt-s").type_text("New goal. ").press(leave);
        is_asked(&stage);
        stage.press("enter").type_text("More. ").press(leave).press("s");
        assert!(stage.model.layers.is_empty());
    }
    assert_eq!(saves(&stage), 2);
    let Some(Request::Branch(BranchRequest::EditState { text, .. })) =
        stage.sent.iter().rev().map(|(_, r)| r).find(|r| matches!(r, Request::Branch(BranchRequest::EditState { .. })))
    else {
        panic!()
    };
    assert!(text.starts_with("New goal. More. "), "{text}");
    stage.press("alt-s").type_text("Away. ").press("esc y");
    assert!(stage.model.layers.is_empty() && saves(&stage) == 2);

    stage.type_text("A long thought").press("ctrl-c");
    assert!(stage.model.composer.is_empty());
    stage.press("up");
    assert_eq!(&*stage.model.composer.text(), "A long thought", "cleared text returns");
}

/// A session's state that undo must restore.
#[derive(PartialEq, Debug)]
struct State {
    title: String,
    branches: Vec<Branch>,
    memories: Vec<Memory>,
    request: Option<pleach::domain::base::hash::Hash>,
}

fn state(client: &mut Client, branch: BranchId) -> State {
    let view = client.open();
    let mut branches = view.branches.clone();
    for branch in &mut branches {
        // Counters differ because undoing is an act too.
        (branch.seq, branch.anchor, branch.state) = (0, None, branch.state.take().filter(|state| !state.withdrawn));
        for mark in &mut branch.marks {
            mark.revision = 0;
        }
        branch.marks.sort_by_key(|mark| mark.target);
        branch.state.iter_mut().for_each(|state| state.version = 0);
    }
    let Answer::Memory(MemoryAnswer::Memories(mut memories)) =
        client.must(Request::Memory(MemoryRequest::List { session: None, words: None, scope: None }))
    else {
        panic!()
    };
    for memory in &mut memories {
        (memory.version, memory.updated_at) = (0, 0);
    }
    let request = client.drawn(branch, &message("And now?")).map(|(_, request)| request);
    State { title: view.card.title.clone(), branches, memories, request }
}

/// Everything that can be destroyed: two forks, a pin, a state, a memory, and an item that was used.
fn fill(client: &mut Client, main: BranchId, nodes: &[NodeHead]) -> (BranchId, BranchId, String) {
    let fork = |client: &mut Client, name: &str| match client.must(Request::Branch(BranchRequest::Fork {
        branch: main,
        at: None,
        name: Some(name.into()),
        switch: false,
    })) {
        Answer::Branch(BranchAnswer::Branch(branch)) => branch.id,
        other => panic!("{other:?}"),
    };
    let (one, two) = (fork(client, "one"), fork(client, "two"));
    client.say(one, "Elsewhere?");
    client.must(Request::Branch(BranchRequest::Mark {
        branch: main,
        items: vec![ItemName::TurnOf(nodes[0].id)],
        act: Act::Set { kind: MarkKind::Sticky, toggle: false },
    }));
    client.must(Request::Branch(BranchRequest::EditState { branch: main, text: "Goal: tea".into() }));
    client.must(Request::Memory(MemoryRequest::Remember {
        kind: MemoryKind::Fact,
        text: "Tea is served at five".into(),
        scope: MemoryScope::Session,
    }));
    let Answer::Memory(MemoryAnswer::Memories(memories)) =
        client.must(Request::Memory(MemoryRequest::List { session: None, words: None, scope: None }))
    else {
        panic!()
    };
    let important = vec![Atom::Message { node: nodes[2].key }];
    client.must(Request::Branch(BranchRequest::Override {
        branch: main,
        overrides: Overrides { important, ..Overrides::default() },
    }));
    (one, two, memories[0].id.to_string())
}

/// Every request that removes or changes something without asking.
fn destructive(client: &mut Client, main: BranchId, nodes: &[NodeHead]) -> Vec<Request> {
    let (one, two, memory) = fill(client, main, nodes);
    let turn = |at: usize| ItemName::TurnOf(nodes[at].id);
    let exclude = Act::Set { kind: MarkKind::Exclude, toggle: false };
    let mattered = Atom::Message { node: nodes[2].key };
    let heavy = Overrides { mode: Some(Mode::Off), budget: Some(4_000), ..Overrides::default() };
    vec![
        Request::Branch(BranchRequest::Archive { branch: one, archived: true }),
        Request::Branch(BranchRequest::ArchiveAll { branches: vec![one, two] }),
        Request::Branch(BranchRequest::Rename { branch: one, name: "elsewhere".into() }),
        Request::Session(SessionRequest::Rename { session: None, title: Some("Another title".into()) }),
        Request::Branch(BranchRequest::Mark { branch: main, items: vec![turn(0), turn(2)], act: exclude }),
        Request::Branch(BranchRequest::Mark { branch: main, items: vec![turn(0)], act: Act::Clear }),
        Request::Branch(BranchRequest::Override { branch: main, overrides: heavy }),
        Request::Branch(BranchRequest::EditState { branch: main, text: String::new() }),
        Request::Branch(BranchRequest::EditState { branch: main, text: "Goal: coffee".into() }),
        Request::Branch(BranchRequest::Dismiss { branch: main, item: ItemName::Atom(mattered) }),
        Request::Memory(MemoryRequest::Change {
            id: memory.clone(),
            act: MemoryAct::Edit(Some("Tea is served at six".into()), None),
        }),
        Request::Memory(MemoryRequest::Change { id: memory.clone(), act: MemoryAct::Dismiss }),
        Request::Memory(MemoryRequest::Change { id: memory, act: MemoryAct::Delete }),
        Request::Branch(BranchRequest::BringBack { from: one, onto: Some(main) }),
        Request::Call(CallRequest::Race {
            branch: main,
            variants: vec![Overrides { mode: Some(Mode::Off), ..Overrides::default() }; 2],
            limits: pleach::domain::call::race::Limits::default(),
            draft: message("Tea?"),
        }),
        Request::Branch(BranchRequest::Fork { branch: main, at: Some(nodes[1].id), name: None, switch: true }),
    ]
}

#[test]
fn unasked_acts_undo_completely() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    for words in ["One?", "Two?", "Three?"] {
        client.say(main, words);
    }
    let nodes = client.open().nodes.clone();
    let acts = destructive(&mut client, main, &nodes);
    for act in acts {
        let shown = format!("{act:?}");
        client.must(Request::Branch(BranchRequest::Switch { branch: main }));
        let before = state(&mut client, main);
        client.must(act);
        let during = state(&mut client, main);
        assert_ne!(during, before, "the act changed nothing: {shown}");
        client.must(Request::Session(SessionRequest::Undo));
        // On the screen, and in the store as another process reads it.
        for mut after in [state(&mut client, main), state(&mut bench.start(), main)] {
            // Undone forks are archived, not deleted, so they are left out of the comparison.
            after.branches.retain(|branch| before.branches.iter().any(|old| old.id == branch.id) || !branch.archived);
            assert_eq!(after, before, "{shown}");
        }
    }
}

#[test]
fn deleting_commands_ask_for_confirmation() {
    let home = Home::new("");
    home.ok(&["add", "user", "A message that stays."]);
    let count = || home.json(&["message", "list"]).as_array().map_or(0, Vec::len);
    let before = count();
    assert!(before > 0);
    for command in [&["session", "delete", "s"][..], &["message", "remove", "1"][..]] {
        let output = home.run(command);
        assert_ne!(output.code, 0, "{command:?}: {}", output.out);
        assert_eq!(count(), before, "{command:?} without an answer does nothing");
    }
    let chord: Chord = "alt-d".parse().unwrap();
    assert_eq!(Keymap::built_in().find(chord, &[KeyPlace::Picker]), Some(Action::Delete));
}
