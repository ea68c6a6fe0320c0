//! Calls to tools through the whole engine, with the real tools: what is kept of a long result and how the model reads it, what
//! a later success resolves, a call that a person runs again, marks on results, and that a removed turn takes all of it along.

use crate::support::bench::{Bench, Client, Model, Say, message, text};
use pleach::domain::base::ids::BranchId;
use pleach::domain::conversation::mark::{Atom, MarkKind};
use pleach::domain::tool::consent::{Consent, Rule, Verdict};
use pleach::domain::tool::rerun::{AgainState, AgainView};
use pleach::domain::tool::resolution;
use pleach::domain::tool::trace::{ToolStatus, ToolTrace, kept_path};
use pleach::engine::api::{
    Act, Answer, BranchRequest, Event, ItemName, PlanRequest, Request, SessionRequest, ToolEvent, ToolRequest,
    TraceAct, TraceWhole, TurnRequest,
};
use pleach::tools::{Acting, Workspace};
use serde_json::{Value, json};
use std::sync::Arc;

const LIMIT: usize = 2_000;

struct Scene {
    bench: Bench,
    client: Client,
    branch: BranchId,
    model: Arc<Model>,
}

fn rule(tool: &str, on: Option<&str>) -> Rule {
    Rule { tool: tool.into(), on: on.map(str::to_owned), verdict: Verdict::Allow }
}

fn scene(rules: Vec<Rule>) -> Scene {
    let model = Model::new([]);
    let mut bench = Bench::new(&model);
    let acting = Acting { program: Some(env!("CARGO_BIN_EXE_pleach").into()), ..Acting::default() };
    bench.tools = Some(Arc::new(Workspace::open_acting(&bench.workspace, LIMIT, acting).unwrap()));
    let mut client = bench.start_with(|setup| setup.tool_rules = rules);
    let branch = client.session();
    Scene { bench, client, branch, model }
}

impl Scene {
    fn calls(&mut self, calls: &[(&str, Value)]) {
        for (name, args) in calls {
            self.model.then(vec![Say::Call((*name).into(), args.to_string())]);
        }
        self.model.then(text("Done."));
    }

    fn say(&mut self, words: &str) {
        assert!(self.client.say(self.branch, words).failure.is_none());
    }

    fn traces(&mut self) -> Vec<ToolTrace> {
        match self.client.must(Request::Tool(ToolRequest::Traces(TraceAct::List { most: 100 }))) {
            Answer::Traces(all) => all,
            other => panic!("{other:?}"),
        }
    }

    fn show(&mut self, trace: &ToolTrace) -> TraceWhole {
        match self.client.must(Request::Tool(ToolRequest::Traces(TraceAct::Show { id: trace.id()[..8].into() }))) {
            Answer::Trace(whole) => *whole,
            other => panic!("{other:?}"),
        }
    }

    /// Runs a call again; gives what is told until it waits for a word or ended.
    fn again(&mut self, trace: &ToolTrace) -> AgainView {
        let from = self.client.seen.len();
        self.client.must(Request::Tool(ToolRequest::Traces(TraceAct::Again { branch: self.branch, id: trace.id() })));
        self.told(from)
    }

    fn told(&mut self, from: usize) -> AgainView {
        let at = self
            .client
            .wait(from, |event| matches!(event, Event::Tool(ToolEvent::Rerun(view)) if view.state != AgainState::Runs));
        match self.client.seen[at].clone() {
            Event::Tool(ToolEvent::Rerun(view)) => *view,
            other => panic!("{other:?}"),
        }
    }

    fn holds(&self, word: &str) -> usize {
        let folder = std::fs::read_dir(self.bench.store_path().parent().unwrap()).unwrap();
        let files = folder.flatten().filter(|entry| entry.path().is_file());
        files
            .filter(|entry| {
                std::fs::read(entry.path()).unwrap().windows(word.len()).any(|bytes| bytes == word.as_bytes())
            })
            .count()
    }
}

/// Whether commands can be confined here at all; says so where not.
fn confines(scene: &Scene) -> bool {
    let can = scene.bench.tools.as_ref().unwrap().deed("run", "{\"line\":\"true\"}").is_ok();
    if !can {
        #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
        {
            println!("skipped: commands cannot be confined here");
        }
    }
    can
}

#[test]
fn a_long_output_is_kept_and_read_in_parts_and_goes_with_its_turn() {
    let mut scene = scene(vec![rule("run", Some("seq *"))]);
    if !confines(&scene) {
        return;
    }
    scene.calls(&[("run", json!({ "line": "seq -f xyzzy%.0fplugh 1 4000" }))]);
    scene.say("Count.");
    let trace = scene.traces().pop().unwrap();
    assert_eq!((trace.status, trace.exit), (Some(ToolStatus::Ok), Some(0)));
    assert!(trace.bytes < 2_500 && trace.truncated_from.unwrap() > 50_000, "{trace:?}");
    let path = kept_path(&trace.id());
    assert_eq!(trace.more.back.as_deref(), Some(format!("read_file or search with path {path}").as_str()));
    assert!(!trace.more.protection.is_empty());
    let whole = scene.show(&trace);
    let (result, full) = (whole.result.unwrap(), whole.full.unwrap());
    assert!(result.contains(&path) && !result.contains("xyzzy2000plugh"), "{result}");
    assert!(full.contains("xyzzy2000plugh") && full.lines().count() == 4_001);

    scene.calls(&[
        ("read_file", json!({ "path": path, "start_line": 2_001, "lines": 2 })),
        ("search", json!({ "path": path, "pattern": "zzy311[0-2]plugh" })),
        ("read_file", json!({ "path": "output:0000000000" })),
        ("list_dir", json!({ "path": path })),
    ]);
    scene.say("What stands in the middle?");
    let all = scene.traces();
    let results: Vec<String> = all[1..].iter().map(|trace| scene.show(trace).result.unwrap().to_string()).collect();
    assert!(results[0].starts_with("xyzzy2000plugh\nxyzzy2001plugh\n"), "{}", results[0]);
    assert_eq!(results[1].matches("plugh").count(), 3, "{}", results[1]);
    assert_eq!(all[3].status, Some(ToolStatus::Failed), "what is not kept is said");
    assert!(results[2].contains("nothing is kept"), "{}", results[2]);
    assert!(results[3].contains("does not exist"), "{}", results[3]);

    assert!(scene.holds("xyzzy2000plugh") > 0);
    let nodes = scene.client.open().nodes.clone();
    let asked: Vec<_> =
        nodes.iter().filter(|node| node.role == pleach::domain::conversation::message::Role::User).collect();
    for node in asked.into_iter().rev() {
        let item = ItemName::TurnOf(node.id);
        scene.client.must(Request::Branch(BranchRequest::RemoveMessage { branch: scene.branch, item }));
    }
    assert_eq!(scene.holds("xyzzy2000plugh"), 0, "a removed turn takes along what was kept of its results");
    assert!(scene.show(&trace).full.is_none());
}

#[test]
#[allow(clippy::too_many_lines, reason = "one journey")]
fn a_failure_is_linked_to_its_fix_and_a_call_is_run_again_beside_the_conversation() {
    let mut scene = scene(vec![rule("run", Some("cat *"))]);
    if !confines(&scene) {
        return;
    }
    scene.calls(&[
        ("run", json!({ "line": "cat notes.txt" })),
        ("write_file", json!({ "path": "notes.txt", "text": "first\n" })),
        ("run", json!({ "line": "cat notes.txt # again" })),
    ]);
    let from = scene.client.seen.len();
    scene.client.send(scene.branch, &message("Make notes.")).unwrap();
    let at =
        scene.client.wait(from, |event| matches!(event, Event::Tool(ToolEvent::Approval { pending: Some(_), .. })));
    let Event::Tool(ToolEvent::Approval { pending: Some(asking), .. }) = scene.client.seen[at].clone() else {
        panic!()
    };
    let yes = || Consent::Yes { hunks: Vec::new() };
    let branch = scene.branch;
    scene.client.must(Request::Turn(TurnRequest::Consent {
        branch,
        index: asking.index,
        consent: yes(),
        always: None,
    }));
    assert!(scene.client.closed(from, branch).failure.is_none());

    let all = scene.traces();
    let [failed, wrote, read] = &all[..] else { panic!("{all:?}") };
    assert_eq!((failed.status, read.status), (Some(ToolStatus::Failed), Some(ToolStatus::Ok)));
    assert!(failed.more.error.as_ref().unwrap().contains("No such file"), "{failed:?}");
    let links = resolution::links(&all.iter().collect::<Vec<_>>(), |_, _| true);
    assert_eq!(links, [resolution::Link { failed: 0, fixed: 2, between: vec!["notes.txt".into()] }]);
    let whole = scene.show(wrote);
    assert_eq!(whole.files[0].unified(3), "--- /dev/null\n+++ notes.txt\n@@ -1,0 +1,1 @@\n+first\n");
    assert_eq!(wrote.word.as_deref(), Some("you"));

    // What a rule allows runs at once.
    let nodes = scene.client.open().nodes.len();
    let posts = scene.model.bodies().len();
    let view = scene.again(failed);
    assert_eq!((&view.state, view.of.as_str(), view.trace.exit), (&AgainState::Ended, failed.id().as_str(), Some(0)));
    let change = view.change.clone().unwrap().unified(0);
    assert!(change.contains("+first\n") && change.contains("-[exit 1]"), "{change}");
    assert_eq!(scene.client.open().nodes.len(), nodes, "no message was added");
    assert_eq!(scene.model.bodies().len(), posts, "the model was not asked");
    let kept = scene.traces().pop().unwrap();
    assert_eq!((kept.node, kept.more.again.as_deref()), (None, Some(failed.call_id.as_str())));
    assert_eq!(scene.show(&kept).result.as_deref(), Some("[exit 0]\nfirst\n"));

    // What acts asks; a no does nothing, a yes is undone as any change is.
    let file = scene.bench.workspace.join("notes.txt");
    std::fs::write(&file, "second\n").unwrap();
    for (consent, status, now) in
        [(Consent::No { why: None }, ToolStatus::Refused, "second\n"), (yes(), ToolStatus::Ok, "first\n")]
    {
        let view = scene.again(wrote);
        assert!(matches!(view.state, AgainState::Asks(_)), "{view:?}");
        let twice = scene.client.ask(Request::Tool(ToolRequest::Traces(TraceAct::Again { branch, id: wrote.id() })));
        assert!(twice.unwrap_err().to_string().contains("already"));
        let from = scene.client.seen.len();
        scene.client.must(Request::Tool(ToolRequest::Traces(TraceAct::Word { consent, always: None })));
        assert_eq!(scene.told(from).trace.status, Some(status));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), now);
    }
    scene.client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "second\n");
    let stale = scene.client.ask(Request::Tool(ToolRequest::Traces(TraceAct::Word { consent: yes(), always: None })));
    assert!(stale.unwrap_err().to_string().contains("no longer waits"));
    // One that waits is stopped.
    scene.again(wrote);
    let from = scene.client.seen.len();
    scene.client.must(Request::Tool(ToolRequest::Traces(TraceAct::Stop)));
    assert_eq!(scene.told(from).trace.status, Some(ToolStatus::Cancelled));
}

#[test]
fn results_are_pinned_and_left_out_by_marks_that_undo_takes_back() {
    let mut scene = scene(Vec::new());
    std::fs::write(scene.bench.workspace.join("a.txt"), "the word is frobnicate\n").unwrap();
    scene.calls(&[("read_file", json!({ "path": "a.txt" }))]);
    scene.say("Read it.");
    let node = scene.traces()[0].node.unwrap();
    let key = scene.client.open().nodes.iter().find(|head| head.id == node).unwrap().key;
    let body = |scene: &mut Scene| {
        let branch = scene.branch;
        scene.client.plan(branch, &message("And now?")).unwrap();
        match scene.client.must(Request::Plan(PlanRequest::WireText { branch })) {
            Answer::Text(body) => body,
            other => panic!("{other:?}"),
        }
    };
    assert!(body(&mut scene).contains("frobnicate"));
    for (kind, there) in [(MarkKind::Exclude, false), (MarkKind::Sticky, true)] {
        let items = vec![ItemName::Message(node)];
        scene.client.must(Request::Branch(BranchRequest::Mark {
            branch: scene.branch,
            items,
            act: Act::Set { kind, toggle: true },
        }));
        let marks = scene.client.open().branches[0].marks.clone();
        assert_eq!(
            marks.iter().map(|mark| (mark.target, mark.kind)).collect::<Vec<_>>(),
            [(Atom::Message { node: key }, kind)]
        );
        assert_eq!(body(&mut scene).contains("frobnicate"), there, "{kind:?}");
        scene.client.must(Request::Session(SessionRequest::Undo));
        assert!(scene.client.open().branches[0].marks.is_empty());
    }
}
