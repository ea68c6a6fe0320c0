//! A conversation through the whole engine, step by step: branches, marks, undo, names, tasks, state, memories, and
//! comparisons.

use super::record::Record;
use super::same;
use crate::support::bench::{Bench, Client, Echo, Model, Say, draft, message, text};
use pleach::domain::base::{BranchId, NodeId};
use pleach::domain::call::RunCard;
use pleach::domain::conversation::{MarkKind, MemoryKind, Overrides, Role};
use pleach::domain::planning::{Mode, SearchChoice};
use pleach::domain::summary::SummaryAuthor;
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest as B, CallRequest, CallSelector, Draft, DraftKind, ItemName, MemoryAct,
    MemoryAnswer, MemoryRequest, MemoryScope, PlanRequest, Request, SessionAnswer, SessionRequest as S, TagAct,
    TaskAct,
};
use std::sync::Arc;

fn state(words: &str, goal: &str, more: &str) -> Vec<Say> {
    text(&format!("{words}\n\n---STATE---\nGoal: {goal}\n{more}\n---END STATE---"))
}

fn model() -> Arc<Model> {
    Model::new([
        state("Cranes are red and stand in src/port/cranes.rs.", "paint the cranes", "Open: which red?"),
        vec![Say::Text("I look. ".into()), Say::Call("echo".into(), "{\"size\": 900}".into())],
        text("The pier holds 42 tons, see src/port/pier.rs and TokenBucket."),
        state(
            "Noted.",
            "paint the cranes",
            "Remember: fact: The pier holds 42 tons\nRemember: preference: short answers\nSuggest pins: \"The pier holds 42 tons\"",
        ),
        vec![Say::Thought("hm".into()), Say::Text("Half of an".into()), Say::Cut],
        text(" answer goes on."),
        text("Another answer about cranes in src/port/cranes.rs."),
        text("On the side: nine francs."),
        text("Edited answer."),
        vec![Say::Fail(pleach::domain::call::provider::ProviderErrorKind::Server)],
    ])
}

/// The branch on which everything happens.
struct Talk {
    client: Client,
    record: Record,
    branch: BranchId,
}

impl Talk {
    fn ask(&mut self, label: &str, request: Request) -> Option<Answer> {
        self.record.ask(&mut self.client, label, request)
    }

    fn turn(&mut self, draft: &Draft) {
        let closed = self.client.turn(self.branch, draft);
        self.record.note(&format!("turn {:?} {:?}", draft.text, draft.search), &closed);
        // Item use is reported when it is known, not at the end of the turn.
        let run = self.client.runs().pop().map(|run| RunCard { uses: None, ..run });
        self.record.note("run", &run);
    }

    /// The nodes of the path, oldest first.
    fn nodes(&mut self) -> Vec<NodeId> {
        self.client.open().nodes.iter().map(|node| node.id).collect()
    }

    fn plan(&mut self, words: &str) {
        let (branch, mut draft) = (self.branch, message(words));
        draft.search = SearchChoice::default();
        let planned = self.client.plan(branch, &draft);
        self.record.note(&format!("plan {words:?}"), &planned);
        self.ask("wire", Request::Plan(PlanRequest::WireText { branch }));
    }

    fn mark(&mut self, item: ItemName, act: Act) {
        let branch = self.branch;
        self.ask(&format!("{act:?}"), Request::Branch(B::Mark { branch, items: vec![item], act }));
    }
}

fn begin(model: &Arc<Model>) -> (Bench, Talk) {
    let mut bench = Bench::new(model);
    bench.tools = Some(Arc::new(Echo));
    let mut record = Record::new(&bench);
    let mut client = bench.start();
    let opened = record.ask(&mut client, "new", Request::Session(S::New { title: "port".into() }));
    let Some(Answer::Session(SessionAnswer::Opened(view))) = opened else { panic!("{opened:?}") };
    let branch = view.current;
    (bench, Talk { client, record, branch })
}

fn set(kind: MarkKind) -> Act {
    Act::Set { kind, toggle: true }
}

fn turn_named(number: u32) -> ItemName {
    ItemName::Named { text: number.to_string(), message: false }
}

/// Turns of every kind.
fn turns(talk: &mut Talk) {
    talk.turn(&message("Which color have the cranes of the port?"));
    talk.turn(&message("What does the pier hold?"));
    talk.turn(&message("Remember that, please."));
    talk.turn(&message("Tell me more about piers"));
    let last = *talk.nodes().last().unwrap();
    talk.turn(&draft("", DraftKind::Continue(last)));
    talk.turn(&message("And the cranes?"));
    talk.plan("How many tons does the pier hold?");
}

#[test]
fn turns_marks_and_undo() {
    let model = model();
    let (bench, mut talk) = begin(&model);
    turns(&mut talk);
    let branch = talk.branch;
    talk.record.say("marks");
    talk.mark(turn_named(1), set(MarkKind::Sticky));
    talk.mark(turn_named(1), set(MarkKind::Sticky));
    talk.mark(turn_named(1), set(MarkKind::Sticky));
    talk.mark(turn_named(2), set(MarkKind::Exclude));
    talk.mark(turn_named(3), Act::Lease { toggle: true });
    talk.mark(ItemName::Note("the pier is old".into()), set(MarkKind::Sticky));
    talk.mark(ItemName::Span { first: "1".into(), last: "2".into() }, set(MarkKind::ExcludeOnce));
    talk.mark(turn_named(77), set(MarkKind::Sticky));
    talk.mark(ItemName::Named { text: "pier".into(), message: true }, set(MarkKind::IncludeOnce));
    talk.plan("And the price?");
    let nodes = talk.nodes();
    talk.mark(ItemName::Message(nodes[1]), Act::Reply);
    talk.turn(&message("What of this?"));
    talk.plan("so?");
    talk.mark(turn_named(2), Act::Clear);
    talk.record.say("undo");
    for _ in 0..4 {
        talk.ask("undo", Request::Session(S::Undo));
    }
    talk.ask("redo", Request::Session(S::Redo));
    talk.ask("steps", Request::Branch(B::Steps { branch, atom: None }));
    talk.plan("And now?");
    talk.ask("redo", Request::Session(S::Redo));
    talk.ask("redo", Request::Session(S::Redo));
    talk.ask("redo", Request::Session(S::Redo));
    talk.ask("open", Request::Session(S::Open { session: None, branch: None, create: false }));
    talk.turn(&draft("Which green have they?", DraftKind::Edit(nodes[0])));
    talk.turn(&message("and a failure"));
    talk.client.stop();
    let mut record = talk.record;
    record.store(&bench);
    same("engine_turns", &record.end());
}

/// Two branches side by side.
fn branches(talk: &mut Talk) {
    let branch = talk.branch;
    let nodes = talk.nodes();
    let fork = |at: Option<NodeId>, name: Option<&str>| {
        Request::Branch(B::Fork { branch, at, name: name.map(str::to_owned), switch: false })
    };
    let Some(Answer::Branch(BranchAnswer::Branch(side))) = talk.ask("fork", fork(Some(nodes[3]), Some("side"))) else {
        panic!()
    };
    talk.ask("fork again", fork(None, Some("side")));
    talk.ask("fork unnamed", fork(None, None));
    talk.client.say(side.id, "What does it cost on the side?");
    talk.ask("rename", Request::Branch(B::Rename { branch: side.id, name: "cost".into() }));
    talk.ask("rename to nothing", Request::Branch(B::Rename { branch: side.id, name: "  ".into() }));
    talk.ask("compare", Request::Branch(B::Compare { a: branch, b: side.id }));
    talk.ask("compare back", Request::Branch(B::Compare { a: side.id, b: branch }));
    let item = vec![ItemName::Named { text: "francs".into(), message: true }];
    talk.ask("pick", Request::Branch(B::Pick { from: side.id, items: item.clone(), onto: branch, together: false }));
    talk.ask("pick together", Request::Branch(B::Pick { from: side.id, items: item, onto: branch, together: true }));
    talk.ask("bring back", Request::Branch(B::BringBack { from: side.id, onto: None }));
    talk.ask("sibling", Request::Branch(B::Sibling { branch, node: nodes[2], step: 1 }));
    talk.ask("undo", Request::Session(S::Undo));
    talk.ask("switch", Request::Branch(B::Switch { branch: side.id }));
    talk.ask("archive", Request::Branch(B::Archive { branch: side.id, archived: true }));
    talk.ask("put away", Request::Branch(B::ArchiveAll { branches: vec![side.id, branch] }));
    talk.ask("bring out", Request::Branch(B::Archive { branch: side.id, archived: false }));
    talk.ask("archive all", Request::Branch(B::Archive { branch, archived: true }));
    talk.ask("diff", Request::Call(CallRequest::DiffPlans { before: None, after: CallSelector::Last(side.id) }));
    // The engine plans the displayed draft again by itself. This waits for it.
    let _ = talk.client.plan(branch, &message("so?"));
    talk.ask("diff next", Request::Call(CallRequest::DiffPlans { before: None, after: CallSelector::Next(branch) }));
}

#[test]
#[allow(clippy::too_many_lines, reason = "one history, act by act")]
fn branches_names_tasks_and_memories() {
    let (bench, mut talk) = begin(&model());
    turns(&mut talk);
    let branch = talk.branch;
    branches(&mut talk);
    talk.record.say("names");
    let tag = |act: TagAct| Request::Branch(B::Tag { branch, item: turn_named(1), act });
    for act in [
        TagAct::Label("port".into()),
        TagAct::Label("pier".into()),
        TagAct::Label(" ".into()),
        TagAct::Favorite(None),
        TagAct::Favorite(Some(true)),
        TagAct::Favorite(None),
    ] {
        talk.ask(&format!("{act:?}"), tag(act.clone()));
    }
    talk.mark(ItemName::Named { text: "port".into(), message: false }, set(MarkKind::Sticky));
    talk.record.say("tasks and lanes");
    for act in [
        TaskAct::Start("paint".into()),
        TaskAct::Start("paint".into()),
        TaskAct::Start("dry".into()),
        TaskAct::Done(Some("paint".into())),
        TaskAct::Done(None),
        TaskAct::Done(None),
    ] {
        talk.ask(&format!("{act:?}"), Request::Branch(B::Task { branch, act: act.clone() }));
    }
    for overrides in [
        Overrides { mode: Some(Mode::Heavy), window: Some(2), budget: Some(3_000), ..Overrides::default() },
        Overrides {
            policy: Some("window".into()),
            layout: Some("classic".into()),
            lane: Some("billing".into()),
            ..Overrides::default()
        },
        Overrides { policy: Some("nothing".into()), ..Overrides::default() },
        Overrides {
            profile: Some("two".into()),
            model: Some("big".into()),
            personality: Some("Be long.".into()),
            ..Overrides::default()
        },
    ] {
        talk.ask("override", Request::Branch(B::Override { branch, overrides }));
    }
    talk.plan("with overrides");
    talk.record.say("state");
    talk.ask("edit state", Request::Branch(B::EditState { branch, text: "Goal: sail".into() }));
    talk.ask("rebuild state", Request::Branch(B::RebuildState { branch, by: SummaryAuthor::Extractive }));
    talk.ask("adopt state", Request::Branch(B::AdoptState(branch)));
    talk.record.say("memories");
    memories(&mut talk);
    talk.record.say("messages");
    talk.ask(
        "add",
        Request::Branch(B::AddMessage { branch, role: Role::Assistant, text: "put in by hand".into(), priority: None }),
    );
    talk.ask("remove", Request::Branch(B::RemoveMessage { branch, item: turn_named(2) }));
    talk.ask("dismiss", Request::Branch(B::Dismiss { branch, item: turn_named(3) }));
    for line in ["pier", "pier cranes", "\"the pier\"", "role:user port", "nothing of it", ""] {
        talk.ask(&format!("find {line}"), Request::Session(S::Find { line: line.into(), limit: 5 }));
        talk.ask(&format!("search {line}"), Request::Session(S::Search { words: line.into() }));
    }
    talk.ask("markdown", Request::Session(S::Markdown { branch }));
    talk.ask("transcript", Request::Session(S::Transcript { session: None, branch: Some(branch) }));
    talk.ask("rename", Request::Session(S::Rename { session: None, title: Some("harbor".into()) }));
    talk.ask("rename back", Request::Session(S::Rename { session: None, title: None }));
    talk.ask("sessions", Request::Session(S::List));
    talk.client.stop();
    let mut record = talk.record;
    record.store(&bench);
    same("engine_branches", &record.end());
}

fn memories(talk: &mut Talk) {
    let list = |words: Option<&str>, scope| {
        Request::Memory(MemoryRequest::List { session: None, words: words.map(str::to_owned), scope })
    };
    talk.ask("list", list(None, None));
    talk.ask(
        "remember",
        Request::Memory(MemoryRequest::Remember {
            kind: MemoryKind::Fact,
            text: "The port is 8443.".into(),
            scope: MemoryScope::All,
        }),
    );
    talk.ask(
        "remember twice",
        Request::Memory(MemoryRequest::Remember {
            kind: MemoryKind::Fact,
            text: "the port is 8443".into(),
            scope: MemoryScope::All,
        }),
    );
    talk.ask(
        "remember nothing",
        Request::Memory(MemoryRequest::Remember {
            kind: MemoryKind::Event,
            text: " ".into(),
            scope: MemoryScope::Session,
        }),
    );
    let Some(Answer::Memory(MemoryAnswer::Memories(all))) = talk.ask("all", list(None, None)) else { panic!() };
    for (memory, act) in all.iter().zip([
        MemoryAct::Confirm(None),
        MemoryAct::Edit(Some("Answers are short.".into()), Some(MemoryScope::All)),
        MemoryAct::Delete,
    ]) {
        talk.ask(&format!("{act:?}"), Request::Memory(MemoryRequest::Change { id: memory.id.to_string(), act }));
    }
    talk.ask("dismiss", Request::Memory(MemoryRequest::Change { id: "none".into(), act: MemoryAct::Dismiss }));
    talk.ask("words", list(Some("answers"), None));
    talk.ask("everywhere", list(None, Some(MemoryScope::All)));
    talk.plan("What port and answers do we have?");
    talk.ask("undo", Request::Session(S::Undo));
}
