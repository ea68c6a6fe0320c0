//! What happens beside turns, through the whole engine: side questions, races, repeated calls, learned server details,
//! picking and comparing, and diagnostics.

use super::record::{Record, notice};
use super::same;
use crate::support::bench::{Bench, Client, Echo, Model, Say, draft, message, quirk_failure, text};
use pleach::domain::base::{BackupAct, BranchId, NodeId};
use pleach::domain::call::{Limits, ProviderErrorKind, Quirk};
use pleach::domain::conversation::{Atom, MarkKind, Overrides};
use pleach::domain::planning::Mode;
use pleach::engine::api::{
    Act, Answer, AsideView, BranchAnswer, BranchRequest as B, CallAnswer, CallRequest as C, CallSelector, DraftKind,
    Event, ItemName, PlanRequest, ProgramRequest as P, Request, SessionRequest as S, TurnEvent, TurnRequest as T,
};
use std::sync::Arc;

struct Talk {
    client: Client,
    record: Record,
    branch: BranchId,
    model: Arc<Model>,
    bench: Bench,
}

impl Talk {
    fn new() -> Self {
        let model = Model::new([
            text("The crane of the harbor is red, see src/port/crane.rs."),
            text("The pier holds 42 tons."),
            vec![Say::Text("I look. ".into()), Say::Call("echo".into(), "{\"size\": 60}".into())],
            text("It was painted on Monday."),
        ]);
        let mut bench = Bench::new(&model);
        bench.tools = Some(Arc::new(Echo));
        let mut client = bench.start();
        let branch = client.session();
        for words in ["Which color has the crane?", "What does the pier hold?", "When was it painted?"] {
            client.say(branch, words);
        }
        let record = Record::new(&bench);
        Self { client, record, branch, model, bench }
    }

    fn ask(&mut self, label: &str, request: Request) -> Option<Answer> {
        let from = self.client.seen.len();
        let answer = self.record.ask(&mut self.client, label, request);
        self.record_notices(from);
        answer
    }

    fn record_notices(&mut self, from: usize) {
        let notices: Vec<String> = self.client.seen[from..].iter().filter_map(notice).collect();
        if !notices.is_empty() {
            self.record.note("told", &notices);
        }
    }

    fn turn(&mut self, words: &str, kind: DraftKind) {
        let from = self.client.seen.len();
        let closed = self.client.turn(self.branch, &draft(words, kind));
        self.record.note(&format!("turn {words:?}"), &closed);
        self.record_notices(from);
    }

    fn nodes(&mut self) -> Vec<NodeId> {
        self.client.open().nodes.iter().map(|node| node.id).collect()
    }

    /// Runs a side question to its end.
    fn aside(&mut self, words: &str) -> Option<AsideView> {
        let from = self.client.seen.len();
        let asked = self.ask(words, Request::Turn(T::Aside { branch: self.branch, text: words.into() }));
        let Some(Answer::Asked { run }) = asked else { return None };
        let ends = |event: &Event| matches!(event, Event::Turn(TurnEvent::Aside(view)) if view.run == run && view.card.is_some());
        let at = self.client.wait(from, ends);
        let Event::Turn(TurnEvent::Aside(view)) = self.client.seen[at].clone() else { panic!() };
        self.record.note("aside", &view);
        Some(*view)
    }
}

fn named(text: &str) -> ItemName {
    ItemName::Named { text: text.into(), message: false }
}

#[test]
fn side_questions() {
    let mut talk = Talk::new();
    for script in [
        text("Nine francs."),
        vec![Say::Thought("hm".into()), Say::Text("Half".into()), Say::Cut],
        vec![Say::Call("echo".into(), "{}".into())],
        vec![],
        vec![Say::Fail(ProviderErrorKind::RateLimit)],
        quirk_failure(Quirk::NoTemperature),
        vec![Say::Odd("odd".into()), Say::Text("Kept.\n\n---STATE---\nGoal: aside\n---END STATE---".into())],
    ] {
        talk.model.then(script);
    }
    talk.aside(" ");
    let mut views = Vec::new();
    for words in
        ["What does it cost?", "And then?", "Call something", "Say nothing", "Fail", "Fail otherwise", "Keep this"]
    {
        views.extend(talk.aside(words));
    }
    // While an answer is streaming, a side question starts before that turn.
    talk.model.then(vec![Say::Text("It comes. ".into()), Say::Hold, Say::Text("It came.".into())]);
    talk.model.then(text("Asked meanwhile."));
    let from = talk.client.seen.len();
    talk.client.send(talk.branch, &message("A slow one?")).unwrap();
    talk.client.wait(from, |event| matches!(event, Event::Turn(TurnEvent::Stream { .. })));
    let meanwhile = talk.aside("And meanwhile?").unwrap();
    talk.ask("keep", Request::Turn(T::KeepAside { run: meanwhile.run }));
    talk.model.release();
    talk.client.closed(from, talk.branch);
    for (at, view) in views.iter().enumerate() {
        let request = if at % 3 == 1 { T::DropAside { run: view.run } } else { T::KeepAside { run: view.run } };
        talk.ask(&format!("{at}"), Request::Turn(request));
        talk.ask("once more", Request::Turn(T::KeepAside { run: view.run }));
    }
    talk.ask("undo", Request::Session(S::Undo));
    talk.ask("list", Request::Call(C::List));
    talk.ask("open", Request::Session(S::Open { session: None, branch: None, create: false }));
    talk.client.stop();
    let mut record = talk.record;
    record.store(&talk.bench);
    same("engine_asides", &record.end());
}

#[test]
#[allow(clippy::too_many_lines, reason = "one history, act by act")]
fn races_and_repeated_calls() {
    let mut talk = Talk::new();
    let (branch, nodes) = (talk.branch, talk.nodes());
    for variants in [
        Vec::new(),
        vec![Overrides::default()],
        vec![Overrides { policy: Some("none".into()), ..Overrides::default() }, Overrides::default()],
        vec![
            Overrides::default(),
            Overrides { profile: Some("two".into()), ..Overrides::default() },
            Overrides { mode: Some(Mode::Heavy), ..Overrides::default() },
        ],
    ] {
        let limits = Limits { tokens: Some(50), ..Limits::default() };
        let made = talk.ask("race", Request::Call(C::Race { branch, variants, limits, draft: message("Which?") }));
        let Some(Answer::Call(CallAnswer::Race(made))) = made else { continue };
        let raced: Vec<BranchId> = made.iter().map(|arm| arm.id).collect();
        for (at, arm) in raced.iter().enumerate() {
            let words = format!("An answer by arm {at}, which goes on and on. ").repeat(if at == 1 { 12 } else { 1 });
            // The one that writes too much is stopped.
            let more = if at == 1 { Say::Hold } else { Say::Text("More. ".into()) };
            talk.model.then(vec![Say::Text(words), more]);
            let from = talk.client.seen.len();
            talk.client.send(*arm, &message("Who is the fastest?")).unwrap();
            let closed = talk.client.closed(from, *arm);
            talk.record.note("arm", &closed);
            talk.record_notices(from);
        }
        talk.ask("compare", Request::Branch(B::Compare { a: raced[0], b: raced[1] }));
        talk.ask("keep one", Request::Call(C::KeepOne { branch: raced[1] }));
        talk.ask("keep one again", Request::Call(C::KeepOne { branch: raced[1] }));
        talk.ask("undo", Request::Session(S::Undo));
    }
    talk.record.say("again");
    let runs = talk.client.runs();
    for (at, run) in runs.iter().enumerate() {
        let id = run.id.to_string();
        talk.ask(&format!("dry {at}"), Request::Call(C::ReplayDryRun { run: id.clone(), without: None }));
        talk.ask(&format!("plan {at}"), Request::Call(C::StoredPlan { id: run.plan.to_string()[..10].to_owned() }));
    }
    for (run, profile, without) in [
        (runs[1].id.to_string(), None, None),
        (runs[1].id.to_string(), Some("two".to_owned()), None),
        (runs[2].id.to_string(), None, Some(named("1"))),
        (runs[2].id.to_string(), None, Some(named("9"))),
        ("none".to_owned(), None, None),
    ] {
        talk.model.then(text("The same, said again."));
        let from = talk.client.seen.len();
        let answer = talk.ask("replay", Request::Call(C::Replay { run, profile, model: None, without }));
        if let Some(Answer::Call(CallAnswer::Replaying(call))) = answer {
            talk.client.closed(from, call.branch.id);
        }
    }
    for whole in [false, true] {
        talk.ask("ledger", Request::Call(C::Ledger { branch, whole }));
    }
    for (before, after) in [
        (None, CallSelector::Last(branch)),
        (Some(CallSelector::Last(branch)), CallSelector::Named(runs[0].id.to_string())),
    ] {
        talk.ask("diff", Request::Call(C::DiffPlans { before, after }));
    }
    talk.turn("", DraftKind::Regenerate(*nodes.last().unwrap()));
    talk.turn("Which color?", DraftKind::Edit(nodes[0]));
    for step in [1, -1, 1, 5] {
        talk.ask("sibling", Request::Branch(B::Sibling { branch, node: nodes[0], step }));
    }
    talk.client.stop();
    same("engine_races", &talk.record.end());
}

#[test]
#[allow(clippy::too_many_lines, reason = "one history, act by act")]
fn learned_details_and_diagnostics() {
    let mut talk = Talk::new();
    let branch = talk.branch;
    let forget = |profile: Option<&str>, model: Option<&str>, quirk| {
        Request::Program(P::ForgetQuirks {
            profile: profile.map(str::to_owned),
            model: model.map(str::to_owned),
            quirk,
        })
    };
    talk.ask("doctor", Request::Program(P::Doctor));
    talk.ask("forget nothing", forget(None, None, None));
    for quirks in [
        &[Quirk::MaxCompletionTokens][..],
        &[Quirk::NoTools, Quirk::NoSystemRole],
        &[Quirk::NoTools],
        &[Quirk::NoStreamOptions, Quirk::StrictAlternation, Quirk::MaxTokens],
        &[Quirk::NoTemperature],
    ] {
        for quirk in quirks {
            talk.model.then(quirk_failure(*quirk));
        }
        if quirks.len() > 1 {
            talk.model.then(text("Now it works."));
        }
        talk.turn("Try again", DraftKind::Message);
    }
    let overrides = Overrides { profile: Some("two".into()), ..Overrides::default() };
    talk.ask("two", Request::Branch(B::Override { branch, overrides }));
    talk.model.then(quirk_failure(Quirk::MaxCompletionTokens));
    talk.model.then(quirk_failure(Quirk::DeveloperRole));
    talk.model.then(text("It works there, too."));
    talk.turn("And there?", DraftKind::Message);
    talk.ask("doctor", Request::Program(P::Doctor));
    for (profile, model, quirk) in [
        (Some("three"), None, None),
        (Some("one"), Some("no-model"), None),
        (Some("one"), None, Some(Quirk::DeveloperRole)),
        (Some("one"), Some("one-model"), Some(Quirk::NoTools)),
        (None, Some("two-model"), None),
        (None, None, None),
        (None, None, None),
    ] {
        talk.ask("forget", forget(profile, model, quirk));
        talk.model.then(text("Done."));
        talk.turn("Once more", DraftKind::Message);
    }
    for profile in [None, Some("one".to_owned()), Some("three".to_owned())] {
        talk.ask("models", Request::Program(P::Models { profile, unready: false }));
    }
    talk.ask("meters", Request::Program(P::Meters));
    for act in [BackupAct::List, BackupAct::Rewrite, BackupAct::Delete] {
        talk.ask("backups", Request::Program(P::Backups(act)));
    }
    talk.ask("reload", Request::Program(P::Reload));
    let trust = |trusted| Request::Tool(pleach::engine::api::ToolRequest::Trust { trusted });
    talk.ask("trust", trust(false));
    talk.ask("doctor", Request::Program(P::Doctor));
    talk.ask("trust", trust(true));
    talk.client.stop();
    same("engine_learned", &talk.record.end());
}

#[test]
#[allow(clippy::too_many_lines, reason = "one history, act by act")]
fn picks_and_comparisons() {
    let mut talk = Talk::new();
    let (branch, nodes) = (talk.branch, talk.nodes());
    let mark = |branch, item: ItemName, kind| {
        Request::Branch(B::Mark { branch, items: vec![item], act: Act::Set { kind, toggle: false } })
    };
    let fork = |at: NodeId, name: &str| {
        Request::Branch(B::Fork { branch, at: Some(at), name: Some(name.into()), switch: false })
    };
    let Some(Answer::Branch(BranchAnswer::Branch(side))) = talk.ask("fork", fork(nodes[1], "side")) else { panic!() };
    let Some(Answer::Branch(BranchAnswer::Branch(other))) = talk.ask("fork", fork(nodes[3], "other")) else { panic!() };
    for (at, words) in
        [(side.id, "What does it cost on the side?"), (side.id, "And for children?"), (other.id, "What of the other?")]
    {
        talk.client.say(at, words);
    }
    talk.ask("note", mark(side.id, ItemName::Note("kept by hand".into()), MarkKind::Sticky));
    talk.ask("pin", mark(side.id, named("1"), MarkKind::IncludeOnce));
    talk.ask("exclude", mark(side.id, named("2"), MarkKind::Exclude));
    let marks = talk.client.open();
    let note = marks.branches.iter().find(|b| b.id == side.id).unwrap().marks.iter().find(|mark| mark.note.is_some());
    let note = note.map(|mark| mark.target.key().to_string()[..8].to_owned()).unwrap();
    let lists: Vec<Vec<ItemName>> = vec![
        vec![],
        vec![named("1")],
        vec![named("2"), named("3")],
        vec![named(&note)],
        vec![named(&note[..5])],
        vec![named("1"), named("2"), named(&note)],
        vec![ItemName::Span { first: "2".into(), last: "3".into() }],
        vec![ItemName::Span { first: "3".into(), last: "2".into() }],
        vec![named("77")],
        vec![ItemName::Message(nodes[0]), ItemName::TurnOf(nodes[2])],
    ];
    for items in lists {
        for together in [false, true] {
            let request = B::Pick { from: side.id, items: items.clone(), onto: branch, together };
            talk.ask(&format!("pick {} {together}", items.len()), Request::Branch(request));
        }
    }
    talk.ask(
        "onto itself",
        Request::Branch(B::Pick { from: side.id, items: vec![named("1")], onto: side.id, together: false }),
    );
    for (from, onto) in [
        (side.id, None),
        (side.id, None),
        (side.id, Some(other.id)),
        (branch, None),
        (branch, Some(side.id)),
        (other.id, Some(branch)),
    ] {
        talk.ask("bring back", Request::Branch(B::BringBack { from, onto }));
    }
    for (a, b) in [(branch, side.id), (side.id, other.id), (other.id, other.id)] {
        talk.ask("compare", Request::Branch(B::Compare { a, b }));
    }
    talk.record.say("undo");
    for _ in 0..12 {
        talk.ask("undo", Request::Session(S::Undo));
    }
    for _ in 0..5 {
        talk.ask("redo", Request::Session(S::Redo));
    }
    talk.turn("From here on?", DraftKind::Message);
    talk.ask("undo", Request::Session(S::Undo));
    talk.ask("steps", Request::Branch(B::Steps { branch, atom: None }));
    let atoms: Vec<_> =
        talk.client.open().branches.iter().flat_map(|branch| branch.marks.iter().map(|mark| mark.target)).collect();
    for atom in atoms {
        talk.ask("steps of one", Request::Branch(B::Steps { branch, atom: Some(atom) }));
    }
    let plan = talk.client.whole_plan(branch, &message("What of all this?"));
    // Notes are in the order of their keys, which contain ids.
    for row in plan.rows.iter().filter(|row| !matches!(row.atom, Atom::Section { .. })) {
        talk.ask(&format!("text of {:?}", row.kind), Request::Plan(PlanRequest::RowText { branch, atom: row.atom }));
    }
    let remove = |item| Request::Branch(B::RemoveMessage { branch: side.id, item });
    talk.ask("remove", remove(named("2")));
    talk.ask("archive", Request::Branch(B::ArchiveAll { branches: vec![side.id, other.id] }));
    talk.ask("switch", Request::Branch(B::Switch { branch: side.id }));
    for item in ["1", "2", "note", "99"] {
        talk.ask("why", Request::Plan(PlanRequest::Why { branch, item: named(item), most: Some(2) }));
    }
    talk.ask("open", Request::Session(S::Open { session: None, branch: None, create: false }));
    talk.client.stop();
    same("engine_picks", &talk.record.end());
}
