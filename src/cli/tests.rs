//! Tests of commands against a fake engine that answers from a script.

use super::*;
use crate::config::load::{Environment, Sources, load};
use crate::domain::base::damage::{BackupAct, BackupCard, BackupOutcome, Holding};
use crate::domain::base::failure::FailureKind;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::call::meter::{Calibration, PromptCost};
use crate::domain::call::run::{RunCard, RunStatus};
use crate::domain::call::tokens::{Certainty, Encoding};
use crate::domain::call::usage::Usage;
use crate::domain::conversation::branch::{Branch, Overrides, SessionCard};
use crate::domain::conversation::mark::{Atom, MarkKind};
use crate::domain::conversation::message::{Content, End, Node, NodeHead, Role};
use crate::domain::conversation::record::{ImportResult, ImportedFile, Skipped};
use crate::domain::planning::mode::Mode;
use crate::domain::planning::plan::{
    Basis, Blocked, BlockedRemedy, Budget, ContextPlan, Form, Item as PlanItem, Reason, Remedy, Row, RowKind, Source,
    Verdict, Warning,
};
use crate::domain::planning::policy::{Layout, Section};
use crate::engine::api::{
    Act, Answer, BranchRequest, Draft, DraftKind, Event, Exact, ItemName, PlanRequest, Planned, ProgramRequest,
    RawRequest, Request, SessionView, Ticket, ToolRequest, TurnEvent, TurnRequest,
};
use clap::Parser as _;
use serde_json::Value;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use uuid::Uuid;

type Script = Box<dyn Fn(Ticket, &Request) -> Vec<Event> + Send>;

struct FakeSender {
    out: Mutex<Sender<Event>>,
    seen: Mutex<Vec<Request>>,
    script: Script,
}

impl RequestSender for FakeSender {
    fn send(&self, ticket: Ticket, request: Request) {
        let events = match &request {
            Request::Session(SessionRequest::Open { .. }) => vec![answer(ticket, Answer::Opened(Arc::new(view())))],
            other => (self.script)(ticket, other),
        };
        self.seen.lock().unwrap().push(request);
        let out = self.out.lock().unwrap();
        for event in events {
            out.send(event).unwrap();
        }
    }
}

fn answer(ticket: Ticket, answer: Answer) -> Event {
    Event::Answer { ticket, result: Ok(answer) }
}

fn id(n: u128) -> Uuid {
    Uuid::from_u128((0x0190_0000_0000_7000_8000_0000_0000_0000) | (n << 96) | n)
}

fn head(n: u128, parent: Option<u128>, role: Role) -> NodeHead {
    NodeHead {
        id: NodeId(id(n)),
        parent: parent.map(|p| NodeId(id(p))),
        ord: 0,
        end: if n == 4 { End::Interrupted } else { End::Complete },
        bytes: 5,
        preview: format!("words {n}\u{1b}[31m"),
        external_id: (n == 1).then(|| "ext-1".into()),
        ..crate::domain::conversation::tree::tests::head(n, parent, role)
    }
}

fn branch(n: u128, name: &str, head: u128) -> Branch {
    Branch {
        seq: 1,
        overrides: Overrides { budget: Some(7), ..Overrides::default() },
        ..Branch::new(BranchId(id(n)), SessionId(id(90)), name, Some(NodeId(id(head))), 0)
    }
}

fn view() -> SessionView {
    let heads = vec![
        head(1, None, Role::User),
        head(2, Some(1), Role::Assistant),
        head(3, Some(2), Role::User),
        head(4, Some(3), Role::Assistant),
        head(5, Some(2), Role::User),
    ];
    SessionView {
        card: SessionCard {
            id: SessionId(id(90)),
            title: "work".into(),
            created_at: 0,
            updated_at: 0,
            messages: 5,
            branches: 2,
        },
        nodes: heads,
        branches: vec![branch(91, "main", 4), branch(92, "alt", 5)],
        current: BranchId(id(91)),
        runs: Vec::new(),
        tags: Vec::new(),
        races: Vec::new(),
        traces: Vec::new(),
        workspace: (String::new(), false),
        drafts: Vec::new(),
        cleared: Vec::new(),
        recovered: vec!["1 answer was interrupted".into()],
    }
}

fn row(n: u8, kind: RowKind, verdict: Verdict, reason: Reason, tokens: u32) -> Row {
    Row {
        atom: Atom::Message { node: Hash([n; 32]) },
        kind,
        verdict,
        reason,
        tokens,
        title: format!("row {n}"),
        source: Source { turn: Some(u32::from(n)), message: Some(NodeId(id(u128::from(n)))), ..Source::default() },
        pin: None,
        items: Vec::new(),
        turns: 0,
        text: None,
        scores: crate::domain::planning::plan::Scores::default(),
    }
}

fn budget() -> Budget {
    Budget::compute(8_192, None, None, Some(4_000))
}

fn plan() -> ContextPlan {
    let hash = Hash([7; 32]);
    let inside = |section| Verdict::In { section };
    let remedy = Remedy { action: "include-once".into(), does: "takes it in".into(), pushes_out: 40, pushes_turns: 1 };
    let mut pinned = row(2, RowKind::Turn, inside(Section::Recent), Reason::Sticky, 50);
    pinned.pin = Some(MarkKind::Sticky);
    pinned.items = vec![PlanItem {
        key: hash,
        node: None,
        role: Role::Tool,
        form: Form::Cut(300),
        tokens: 9,
        title: String::new(),
        calls: 0,
        orphan: false,
    }];
    let mut range =
        row(4, RowKind::Range, Verdict::Out { needed: 40, remedy: Some(remedy) }, Reason::OutsideWindow, 900);
    range.turns = 12;
    ContextPlan {
        id: hash,
        basis: Basis { head: hash, marks: hash, draft: hash, wire: hash, frozen: hash },
        input_digest: Hash([8; 32]),
        policy: "layered".into(),
        policy_version: 1,
        mode: Mode::Light,
        layout: Layout::Classic,
        profile: "openai".into(),
        model: "gpt-4.1-mini".into(),
        encoding: Encoding::O200kBase,
        certainty: Certainty::Estimated,
        budget: budget(),
        est_total: 71,
        framing: 6,
        tools: 0,
        tool_costs: Vec::new(),
        level_budgets: None,
        rows: vec![
            row(1, RowKind::Text, inside(Section::System), Reason::Instructions, 10),
            pinned,
            row(3, RowKind::Turn, inside(Section::UserMessage), Reason::Open, 5),
            range,
        ],
        anchor: None,
        retrieval_set_ids: vec![],
        warnings: vec![Warning::ToolsShortened { count: 1 }],
    }
}

fn blocked() -> Blocked {
    let choices = vec![BlockedRemedy::LargerBudget { at_least: 9_000 }, BlockedRemedy::OtherModel];
    Blocked { basis: plan().basis, needed: 9_000, budget: budget(), choices, rows: vec![], left_out: vec![] }
}

fn planned() -> Planned {
    Planned::Plan {
        plan: Arc::new(plan()),
        request_digest: Hash([9; 32]),
        bytes: 1_234,
        calibration: Some(Calibration { factor: 1.1, offset: 0, error_pct: Some(2.0), samples: 5 }),
        cost: Some(PromptCost {
            micro: 28,
            uncached_micro: 40,
            cached: 20,
            answer_most_micro: 1_640,
            certainty: Certainty::Calibrated,
        }),
        same_prefix: None,
        breaks: None,
        code_set: None,
    }
}

fn card(status: RunStatus) -> RunCard {
    RunCard {
        plan: Hash([7; 32]),
        request_digest: Hash([9; 32]),
        profile: "openai".into(),
        model: "m".into(),
        policy: "layered".into(),
        status,
        est_total: 71,
        usage: Usage { prompt: Some(70), completion: Some(3), ..Usage::default() },
        cost_micro: Some(1_500),
        finish_reason: Some("stop".into()),
        attempts: 1,
        ..RunCard::blank(RunId(id(70)), SessionId(id(90)), BranchId(id(91)))
    }
}

const BODY: &str = r#"{"model":"m","messages":[{"role":"system","content":"be"},{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"file"}],"stream":true}"#;

struct Output {
    code: u8,
    out: String,
    err: String,
    seen: Vec<Request>,
}

impl Output {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

#[derive(Default)]
struct Harness {
    input: &'static str,
    tty: bool,
    presses: usize,
}

impl Harness {
    fn execute(self, line: &[&str], script: impl Fn(Ticket, &Request) -> Vec<Event> + Send + 'static) -> Output {
        let args = Args::try_parse_from(std::iter::once(&"pleach").chain(line)).unwrap();
        let (tx, events) = channel();
        let sender = FakeSender { out: Mutex::new(tx), seen: Mutex::default(), script: Box::new(script) };
        let home = tempfile::tempdir().unwrap();
        let home = home.path().display().to_string();
        let env = Environment::of([("HOME", &home)]);
        let sources = Sources { env, workspace: home.clone().into(), store: None, overrides: args.overrides() };
        let config = load(sources).unwrap();
        let formats = Formats {
            check: |bytes, _| if bytes == b"bad" { Err(Failure::user("No known format.")) } else { Ok(()) },
            read: |_, _| Ok(ImportedFile::default().incoming()),
            jsonl: |_, mask| if mask { "masked\n".into() } else { "sk-secret\u{1b}\n".into() },
            markdown: |_, _| "# title\n".into(),
        };
        let (mut out, mut err, mut input) = (Vec::new(), Vec::new(), self.input.as_bytes());
        let presses = self.presses;
        let io = Io {
            out: &mut out,
            err: &mut err,
            input: &mut input,
            out_tty: self.tty,
            err_tty: self.tty,
            in_tty: self.tty,
            joins: true,
            json: args.global.json,
            escape: args.global.escape,
            interrupts: &|| presses,
        };
        let code = run_on(&args, &config, &sender, &events, &formats, io);
        let seen = sender.seen.into_inner().unwrap();
        Output { code, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap(), seen }
    }
}

fn execute(line: &[&str], script: impl Fn(Ticket, &Request) -> Vec<Event> + Send + 'static) -> Output {
    Harness::default().execute(line, script)
}

fn plans(ticket: Ticket, request: &Request) -> Vec<Event> {
    match request {
        Request::Plan(PlanRequest::Replan { .. }) => vec![answer(ticket, Answer::Planned(planned()))],
        Request::Plan(PlanRequest::WireText { .. }) => vec![answer(ticket, Answer::Text(BODY.into()))],
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_shape_of_a_plan() {
    let printed = execute(&["plan", "--json", "hello", "there"], plans);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let Some(Request::Plan(PlanRequest::Replan { draft, .. })) = printed.seen.last() else { panic!() };
    assert_eq!(&*draft.text, "hello there");
    insta::assert_snapshot!(serde_json::to_string_pretty(&printed.json()).unwrap());
}

#[test]
fn a_plan_as_text_and_as_bytes() {
    let printed = execute(&["plan", "--request", "x"], plans);
    assert_eq!(printed.out, BODY);
    let printed = execute(&["plan", "x"], plans);
    for part in ["71 of", "recent turns", "You pinned this", "left out 1", "removes the oldest turn", "1,234 bytes"] {
        assert!(printed.out.contains(part), "{part}: {}", printed.out);
    }
    let printed = execute(&["build"], plans);
    assert_eq!(
        printed.out,
        "──── system ────\nbe\n\n──── assistant ────\n→ read({}) c1\n\n──── tool (answers c1) ────\nfile\n\n"
    );
    let printed = execute(&["context", "show"], plans);
    assert!(printed.out.contains("model: \"m\"") && printed.out.contains("──── system ────\nbe"));
    assert_eq!(execute(&["context", "show", "--json"], plans).json()["stream"], true);
}

#[test]
fn a_blocked_plan_exits_with_3() {
    for refuses in [true, false] {
        let printed = execute(&["plan", "--json", "x"], move |ticket, _| {
            let planned = Planned::Blocked(Arc::new(blocked()));
            if refuses {
                let event = Event::Planned { branch: BranchId(id(91)), generation: 1, planned };
                let failure = Failure::new(FailureKind::Blocked, "no room");
                vec![event, Event::Answer { ticket, result: Err(failure) }]
            } else {
                vec![answer(ticket, Answer::Planned(planned))]
            }
        });
        assert_eq!(printed.code, 3);
        let json = printed.json();
        assert_eq!((json["blocked"].as_bool(), json["needed"].as_u64()), (Some(true), Some(9_000)));
        assert_eq!(json["choices"][0]["choice"], "larger_budget");
        assert_eq!(json["choices"][0]["at_least"], 9_000);
        assert_eq!(json["budget"]["prompt"], budget().prompt);
        assert!(printed.err.contains("nothing was sent") && printed.err.contains("larger context window"));
    }
}

fn answers(text: &'static [&'static str], status: RunStatus) -> impl Fn(Ticket, &Request) -> Vec<Event> + Send {
    move |ticket, request| {
        let branch = BranchId(id(91));
        let Request::Turn(TurnRequest::Ask { .. }) = request else { return vec![] };
        let mut events = vec![answer(ticket, Answer::Asked { run: RunId(id(70)) })];
        events.push(Event::Turn(TurnEvent::Run(Box::new(card(RunStatus::Open)))));
        events.extend(text.iter().map(|text| {
            Event::Turn(TurnEvent::Stream {
                branch,
                run: RunId(id(70)),
                text: (*text).into(),
                reasoning: String::new(),
                tokens: 1,
                certainty: Certainty::Estimated,
                cost_micro: None,
            })
        }));
        events.push(Event::Turn(TurnEvent::Run(Box::new(card(status)))));
        events.push(Event::Turn(TurnEvent::Closed { branch, draft: None, failure: None }));
        events
    }
}

const STREAM: &[&str] = &["Hel", "lo\n--", "-STATE---\nGoal: x\n", "---END STATE---\n"];

#[test]
fn ask_streams_without_the_state_block() {
    let printed = execute(&["ask", "hi"], answers(STREAM, RunStatus::Complete));
    assert_eq!((printed.code, printed.out.as_str()), (0, "Hello\n"), "{}", printed.err);
    assert!(printed.err.contains("1 answer was interrupted"));
    let printed = execute(&["ask", "hi"], answers(&["a\n--", "- rule\nb"], RunStatus::Complete));
    assert_eq!(printed.out, "a\n--- rule\nb\n");
    let printed = execute(&["ask", "hi"], answers(&["x\n#", "## STATE\nGoal: y"], RunStatus::Complete));
    assert_eq!(printed.out, "x\n");
    let printed = execute(&["ask", "hi"], answers(&["x\n### STATE", "MENT\ny  \n"], RunStatus::Complete));
    assert_eq!(printed.out, "x\n### STATEMENT\ny  \n");
    let printed = Harness { tty: true, ..Harness::default() }
        .execute(&["ask", "hi"], answers(&["a\u{1b}[2Jb"], RunStatus::Complete));
    assert!(!printed.out.contains('\u{1b}') && printed.out.contains("⟨U+001B⟩"));
}

#[test]
fn ask_as_json() {
    let printed = execute(&["ask", "--json", "hi"], answers(STREAM, RunStatus::Complete));
    let json = printed.json();
    assert_eq!((json["text"].as_str(), json["status"].as_str()), (Some("Hello"), Some("complete")));
    assert_eq!(json["plan_id"], Hash([7; 32]).to_string());
    assert_eq!(json["request_digest"], Hash([9; 32]).to_string());
    assert_eq!(json["usage"]["prompt"], 70);
    assert_eq!(json["cost"], 0.0015);
    assert_eq!(json["runs"][0]["branch_name"], "main");
}

#[test]
fn ask_reads_standard_input() {
    for line in [&["ask", "-"][..], &["ask"][..]] {
        let harness = Harness { input: "two\nlines\n", ..Harness::default() };
        let printed = harness.execute(line, answers(&["ok"], RunStatus::Complete));
        let Some(Request::Turn(TurnRequest::Ask { draft, plan: None, .. })) = printed.seen.last() else { panic!() };
        assert_eq!(*draft, Draft { text: "two\nlines".into(), kind: DraftKind::Message, ..Draft::default() });
    }
    assert_eq!(Harness { input: "\n", ..Harness::default() }.execute(&["ask", "-"], |_, _| vec![]).code, 2);
    assert_eq!(Harness { tty: true, ..Harness::default() }.execute(&["ask"], |_, _| vec![]).code, 2);
}

#[test]
fn ask_sends_a_body_byte_for_byte() {
    let body = "{\"model\":\"m\",\r\n \"messages\":[]}\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), body).unwrap();
    let path = file.path().display().to_string();
    for line in [&["ask", "--request", &path][..], &["ask", "--request", "-", "my", "words"][..]] {
        let harness = Harness { input: body, ..Harness::default() };
        let printed = harness.execute(line, |ticket, request| {
            let Request::Plan(PlanRequest::Exact { .. }) = request else { return vec![] };
            vec![Event::Answer { ticket, result: Err(Failure::new(FailureKind::Blocked, "9 too many")) }]
        });
        assert_eq!(printed.code, 3, "{}", printed.err);
        let Some(Request::Plan(PlanRequest::Exact { act: Exact::Send { draft, body: sent }, .. })) =
            printed.seen.last()
        else {
            panic!()
        };
        assert_eq!((&**sent, &*draft.text), (body, line.get(3..).unwrap_or_default().join(" ").as_str()));
    }
    assert_eq!(execute(&["ask", "--request", "/no/such/file"], |_, _| vec![]).code, 1);
    assert_eq!(
        Harness { input: "{}", ..Harness::default() }.execute(&["ask", "--request", "-", "-"], |_, _| vec![]).code,
        2
    );
}

#[test]
fn exit_codes_distinguish_causes() {
    let refused =
        |kind| move |ticket, _: &Request| vec![Event::Answer { ticket, result: Err(Failure::new(kind, "no")) }];
    for (kind, code) in [
        (FailureKind::User, 1),
        (FailureKind::Busy, 6),
        (FailureKind::Config, 2),
        (FailureKind::Blocked, 3),
        (FailureKind::Provider, 4),
        (FailureKind::Store, 5),
    ] {
        assert_eq!(execute(&["ask", "x"], refused(kind)).code, code);
        assert_eq!(execute(&["undo"], refused(kind)).code, code);
    }
    assert_eq!(execute(&["ask", "x"], answers(&["par"], RunStatus::Errored)).code, 4);
    let printed = execute(&["ask", "x"], |ticket, _| {
        let failure = Some(Failure::new(FailureKind::Provider, "refused \u{1b}[31m").kept("Your words are kept."));
        let asked = answer(ticket, Answer::Asked { run: RunId(id(70)) });
        vec![asked, Event::Turn(TurnEvent::Closed { branch: BranchId(id(91)), draft: None, failure })]
    });
    assert_eq!((printed.code, printed.out.as_str()), (4, ""));
    assert!(printed.err.contains("Your words are kept") && !printed.err.contains('\u{1b}'));
}

#[test]
fn ctrl_c_cancels_and_keeps_waiting() {
    let harness = Harness { presses: 1, ..Harness::default() };
    let printed = harness.execute(&["ask", "x"], |ticket, request| match request {
        Request::Turn(TurnRequest::Ask { .. }) => vec![answer(ticket, Answer::Asked { run: RunId(id(70)) })],
        Request::Turn(TurnRequest::Cancel { branch }) => vec![
            answer(ticket, Answer::Done(String::new())),
            Event::Turn(TurnEvent::Closed { branch: *branch, draft: None, failure: None }),
        ],
        other => panic!("{other:?}"),
    });
    assert_eq!(printed.code, 130);
    assert!(matches!(printed.seen.last(), Some(Request::Turn(TurnRequest::Cancel { .. }))));
    let harness = Harness { presses: 2, ..Harness::default() };
    assert_eq!(harness.execute(&["ask", "x"], |_, _| vec![]).code, 130);
}

fn bodies(ticket: Ticket, request: &Request) -> Vec<Event> {
    let Request::Session(SessionRequest::Bodies { nodes }) = request else { panic!("{request:?}") };
    let node = |id: &NodeId| {
        let head = view().nodes.into_iter().find(|head| head.id == *id).unwrap();
        Arc::new(Node { content: Content::text(format!("body\u{9b} of {}", head.role)), head })
    };
    vec![answer(ticket, Answer::Bodies(nodes.iter().map(node).collect()))]
}

#[test]
fn messages_of_the_branch_and_of_the_tree() {
    let printed = execute(&["message", "list", "--json"], bodies);
    let json = printed.json();
    assert_eq!(json.as_array().unwrap().len(), 4);
    assert!(!printed.out.contains('\u{9b}'));
    let keys: Vec<&String> = json[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "external_id", "parent", "role", "content", "status", "turn", "lane"]);
    assert_eq!((json[0]["external_id"].as_str(), json[0]["turn"].as_u64()), (Some("ext-1"), Some(1)));
    assert_eq!((json[3]["status"].as_str(), json[3]["turn"].as_u64()), (Some("interrupted"), Some(2)));
    assert_eq!(json[1]["content"], "body\u{9b} of assistant");
    assert_eq!(execute(&["message", "list", "--all", "--json"], bodies).json().as_array().unwrap().len(), 5);
    let printed = execute(&["message", "list"], bodies);
    assert_eq!(printed.out.lines().count(), 4);
    assert!(!printed.out.contains('\u{1b}'));
    let prefix = id(3).to_string()[..8].to_owned();
    assert_eq!(execute(&["message", "show", &prefix, "--json"], bodies).json()["turn"], 2);
    assert_eq!(execute(&["message", "show", "019"], bodies).code, 1);
    assert_eq!(execute(&["message", "show", "zz"], bodies).code, 1);
}

fn done(ticket: Ticket, request: &Request) -> Vec<Event> {
    match request {
        Request::Program(ProgramRequest::Backups(_)) => vec![answer(ticket, Answer::Backups(Vec::new()))],
        _ => vec![answer(ticket, Answer::Done(String::new()))],
    }
}

#[test]
fn commands_become_requests() {
    let branch = BranchId(id(91));
    let named = |message| vec![ItemName::Named { text: "ext-1".into(), message }];
    let set = |kind| Act::Set { kind, toggle: false };
    for (line, items, act) in [
        (&["pin", "ext-1"][..], named(false), set(MarkKind::Sticky)),
        (&["pin", "ext-1", "--turns", "3"], named(false), set(MarkKind::leased(3))),
        (&["pin", "--note", "n"], vec![ItemName::Note("n".into())], set(MarkKind::Sticky)),
        (&["unpin", "ext-1"], named(false), Act::Clear),
        (&["exclude", "ext-1", "--message"], named(true), set(MarkKind::Exclude)),
        (&["exclude", "ext-1", "--once"], named(false), set(MarkKind::ExcludeOnce)),
        (&["include", "ext-1"], named(false), set(MarkKind::IncludeOnce)),
    ] {
        let printed = execute(line, done);
        assert_eq!(printed.seen.last(), Some(&Request::Branch(BranchRequest::Mark { branch, items, act })), "{line:?}");
    }
    let overrides = |change: fn(&mut Overrides)| {
        let mut overrides = Overrides { budget: Some(7), ..Overrides::default() };
        change(&mut overrides);
        Request::Branch(BranchRequest::Override { branch, overrides })
    };
    let printed = execute(&["mode", "off"], done);
    assert_eq!(printed.seen.last(), Some(&overrides(|o| o.mode = Some(Mode::Off))));
    let printed = execute(&["lane", "billing"], done);
    assert_eq!(printed.seen.last(), Some(&overrides(|o| o.lane = Some("billing".into()))));
    let printed = execute(&["lane", "root"], done);
    assert_eq!(printed.seen.last(), Some(&overrides(|o| o.lane = Some(String::new()))));
    let printed = execute(&["lane", "none"], done);
    assert_eq!(printed.seen.last(), Some(&overrides(|_| {})));
    let printed = execute(&["context", "window", "4"], done);
    assert_eq!(printed.seen.last(), Some(&overrides(|o| o.window = Some(4))));
    let printed = execute(&["branch", "rename", "alt", "new"], done);
    assert_eq!(
        printed.seen.last(),
        Some(&Request::Branch(BranchRequest::Rename { branch: BranchId(id(92)), name: "new".into() }))
    );
    let printed = execute(&["session", "rename", "-s", "work", "t"], done);
    assert_eq!(
        printed.seen.last(),
        Some(&Request::Session(SessionRequest::Rename { session: Some("work".into()), title: Some("t".into()) }))
    );
    let printed = execute(&["state", "edit", "Goal: y"], done);
    assert_eq!(
        printed.seen.last(),
        Some(&Request::Branch(BranchRequest::EditState { branch, text: "Goal: y".into() }))
    );
    let printed = execute(&["undo", "--json"], done);
    assert_eq!(
        (printed.seen.last(), printed.json()["message"].as_str()),
        (Some(&Request::Session(SessionRequest::Undo)), Some("Undone."))
    );
    let printed = execute(&["regenerate"], answers(&["x"], RunStatus::Complete));
    let Some(Request::Turn(TurnRequest::Ask { draft, .. })) = printed.seen.last() else { panic!() };
    assert_eq!(draft.kind, DraftKind::Regenerate(NodeId(id(3))));
    let printed = execute(&["edit", "ext-1", "better", "words"], answers(&["x"], RunStatus::Complete));
    let Some(Request::Turn(TurnRequest::Ask { draft, .. })) = printed.seen.last() else { panic!() };
    assert_eq!(*draft, Draft { text: "better words".into(), kind: DraftKind::Edit(NodeId(id(1))), ..Draft::default() });
}

#[test]
fn trusting_a_folder_needs_an_explicit_yes() {
    let trusts = |printed: &Output| {
        printed.seen.iter().any(|seen| matches!(seen, Request::Tool(ToolRequest::Trust { trusted: true })))
    };
    let printed = execute(&["trust"], done);
    assert!(printed.code == 1 && printed.err.contains("trust --yes") && !trusts(&printed), "{}", printed.err);
    let asked = |input| Harness { input, tty: true, ..Harness::default() }.execute(&["trust"], done);
    assert!(asked("y\n").err.contains("sent to the model's server") && trusts(&asked("y\n")));
    assert!(!trusts(&asked("n\n")) && !trusts(&asked("")));
    assert!(trusts(&execute(&["trust", "--yes"], done)));
    let printed = execute(&["trust", "--off"], done);
    assert!(printed.out.contains("is not trusted") && printed.seen.is_empty(), "{}", printed.out);
    let printed = execute(&["--allow", "run", "undo"], done);
    assert!(printed.err.contains("--allow has no effect"), "{}", printed.err);
}

#[test]
fn irreversible_commands_ask_for_confirmation() {
    for line in [&["message", "remove", "ext-1"][..], &["session", "delete", "work"][..]] {
        assert_eq!(execute(line, done).code, 2);
        let no = Harness { input: "n\n", tty: true, ..Harness::default() }.execute(line, done);
        assert_eq!((no.code, no.err.contains("Permanently delete")), (1, true));
        let sends = |printed: &Output| {
            let removes = |seen: &Request| {
                matches!(
                    seen,
                    Request::Branch(BranchRequest::RemoveMessage { .. })
                        | Request::Session(SessionRequest::Delete { .. })
                )
            };
            printed.seen.iter().any(removes)
        };
        assert!(!sends(&no));
        let yes = Harness { input: "y\n", tty: true, ..Harness::default() }.execute(line, done);
        assert!(yes.code == 0 && sends(&yes));
        assert!(sends(&execute(&[line, &["--yes"]].concat(), done)));
        // One backup contains the deleted data. On a terminal the person is asked; a script gets the command to use.
        let backups_with_data = |ticket, request: &Request| match request {
            Request::Program(ProgramRequest::Backups(act)) => {
                let backup = BackupCard { path: "/s/b".into(), at: "2026-01-01 10:00 UTC".into(), bytes: 9 };
                let removed = u64::from(*act == BackupAct::List);
                let fate = if *act == BackupAct::List { BackupOutcome::Kept } else { BackupOutcome::Deleted };
                vec![answer(ticket, Answer::Backups(vec![Holding { backup, removed, fate, older: true, fault: None }]))]
            }
            _ => done(ticket, request),
        };
        let acts = |printed: &Output| {
            let act = |seen: &Request| {
                if let Request::Program(ProgramRequest::Backups(act)) = seen { Some(*act) } else { None }
            };
            printed.seen.iter().filter_map(act).collect::<Vec<_>>()
        };
        let typed = |input| Harness { input, tty: true, ..Harness::default() }.execute(line, backups_with_data);
        let rewritten = typed("y\ny\n");
        assert_eq!(acts(&rewritten), [BackupAct::List, BackupAct::Rewrite]);
        assert!(rewritten.err.contains("/s/b  2026-01-01 10:00 UTC (1 KiB)  was deleted"), "{}", rewritten.err);
        assert_eq!(acts(&typed("y\nn\n")), [BackupAct::List]);
        for (wish, wanted) in [
            (&["-y"][..], &[][..]),
            (&["-y", "--backups", "keep"], &[]),
            (&["-y", "--backups", "delete"], &[BackupAct::List, BackupAct::Delete]),
        ] {
            assert_eq!(acts(&execute(&[line, wish].concat(), backups_with_data)), wanted);
        }
    }
}

#[test]
fn lists_and_files() {
    let runs = |ticket, _: &Request| vec![answer(ticket, Answer::Runs(vec![card(RunStatus::Complete)]))];
    let json = execute(&["plans", "list", "--json"], runs).json();
    for key in ["run_id", "plan_id", "request_digest", "branch", "model", "status", "est_total", "usage"] {
        assert!(!json[0][key].is_null(), "{key}");
    }
    let json = execute(&["branch", "list", "--json"], done).json();
    assert_eq!((json[0]["current"].as_bool(), json[1]["messages"].as_u64()), (Some(true), Some(3)));
    let harness = Harness { input: "{}", ..Harness::default() };
    let printed = harness.execute(&["import", "-", "--json"], |ticket, _| {
        let session = SessionId(id(90));
        let sessions = vec![ImportResult { states: 1, session, title: "t".into(), added: 2, known: 0, head: None }];
        let skipped = vec![Skipped { place: "line 3".into(), why: "no role".into() }];
        vec![answer(ticket, Answer::Imported { format: "jsonl".into(), sessions, skipped })]
    });
    let json = printed.json();
    assert_eq!((json["sessions"][0]["added"].as_u64(), json["format"].as_str()), (Some(2), Some("jsonl")));
    assert!(printed.err.contains("line 3: no role"));
    assert_eq!(Harness { input: "bad", ..Harness::default() }.execute(&["import", "-"], done).code, 1);
    assert_eq!(execute(&["import", "/no/such/file"], done).code, 1);
    let transcript = |ticket, _: &Request| vec![answer(ticket, Answer::Transcript(Box::default()))];
    let printed = execute(&["export"], transcript);
    assert_eq!(printed.out, "sk-secret\\u001b\n");
    assert!(printed.err.contains("looks like a secret"));
    assert_eq!(execute(&["export", "--mask"], transcript).out, "masked\n");
    let printed = execute(&["export", "--all", "--format", "markdown"], transcript);
    assert!(matches!(
        printed.seen.last(),
        Some(Request::Session(SessionRequest::Transcript { branch: None, session: Some(_) }))
    ));
}

#[test]
fn replay_says_whether_the_bytes_are_the_same() {
    for (digest, code) in [(Hash([9; 32]), 0), (Hash([1; 32]), 1)] {
        let printed = execute(&["replay", "abc", "--dry-run", "--json"], move |ticket, _| {
            let run = Box::new(card(RunStatus::Complete));
            let request = RawRequest { body: BODY.into(), digest, parts: Vec::new(), tokens: 1, room: 2 };
            vec![answer(ticket, Answer::Replayed { run, request: Box::new(request) })]
        });
        assert_eq!((printed.code, printed.json()["same"].as_bool()), (code, Some(code == 0)));
    }
}

#[test]
fn commands_without_an_engine() {
    let printed = execute(&["completions", "bash"], done);
    assert!(printed.out.contains("_pleach") && printed.out.contains("regenerate"));
    assert!(execute(&["man"], done).out.contains(".TH pleach"));
    assert!(execute(&["config", "path", "--json"], done).json()["store"].as_str().unwrap().ends_with("pleach.db"));
    assert!(execute(&["config", "show"], done).out.contains("[profiles.openai]"));
    let args = Args::try_parse_from(["pleach", "config", "check"]).unwrap();
    assert!(args.local());
    let why = ConfigError::NoHome("x".into());
    let (mut out, mut err, mut input) = (Vec::new(), Vec::new(), &b""[..]);
    let mut io = Io {
        out: &mut out,
        err: &mut err,
        input: &mut input,
        out_tty: false,
        err_tty: false,
        in_tty: false,
        joins: true,
        json: false,
        escape: false,
        interrupts: &|| 0,
    };
    let result = system::program::local(&args, &Err(why), &mut io);
    assert_eq!(finish(result, &mut io), 2);
}

#[test]
fn json_escapes_lose_nothing() {
    let text = "a\u{1b}\u{9b}\u{202e}\u{e0041}é😀\n";
    let json = serde_json::to_string(text).unwrap();
    let escaped = output::escaped(&json);
    assert!(escaped.chars().all(|c| !c.is_control() && c != '\u{202e}' && c != '\u{e0041}'));
    assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    assert_eq!((output::number(1_234_567_u32), output::money(1_500)), ("1,234,567".into(), "$0.0015".into()));
}

#[test]
fn failures_are_sentences_about_commands() {
    use super::output::{escaped_lines, in_commands, sentence};
    for (raw, read) in [
        ("the server refused", "The server refused."),
        ("pleach session list shows them.", "pleach session list shows them."),
        ("/x can't be opened: Is a directory (os error 21)", "/x can't be opened: Is a directory."),
        ("gpt-9 is unknown!", "gpt-9 is unknown!"),
        ("  ", ""),
    ] {
        assert_eq!(sentence(raw), read);
    }
    assert_eq!(in_commands("Renamed. u undoes it."), "Renamed. `pleach undo` undoes it.");
    assert_eq!(in_commands("Undone: renamed main. U redoes it."), "Undone: renamed main. `pleach redo` redoes it.");
    assert_eq!(escaped_lines("{\"a\":\"\u{9b}\"}\n{\"b\":\"é\"}\n"), "{\"a\":\"\\u009b\"}\n{\"b\":\"é\"}\n");
}
