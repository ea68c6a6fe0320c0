//! A fake engine that answers from a script, for the tests of commands.

use super::{BundleFormat, Formats, Io, run_on};
use crate::config::commands::args::Args;
use crate::config::load::{Environment, Sources, load};
use crate::domain::base::{BranchId, Failure, Hash, NodeId, RunId, SessionId};
use crate::domain::call::bundle::WrittenBundle;
use crate::domain::call::{RunCard, RunStatus, Usage};
use crate::domain::conversation::{Branch, End, ImportedFile, NodeHead, Overrides, Role, SessionCard};
use crate::engine::api::{
    Answer, Event, ProgramAnswer, ProgramRequest, Request, RequestSender, SessionAnswer, SessionRequest, SessionView,
    Ticket,
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
    /// The number of times that a session opens; `None` if always.
    opens: Option<usize>,
}

impl RequestSender for FakeSender {
    fn send(&self, ticket: Ticket, request: Request) {
        let events = match &request {
            Request::Session(SessionRequest::Open { .. } | SessionRequest::OpenUnsaved { .. }) => {
                let is_open = |request: &&Request| {
                    matches!(
                        request,
                        Request::Session(SessionRequest::Open { .. } | SessionRequest::OpenUnsaved { .. })
                    )
                };
                let before = self.seen.lock().unwrap().iter().filter(is_open).count();
                let opened = SessionAnswer::Opened(Arc::new(view()));
                let result = if self.opens.is_none_or(|opens| before < opens) {
                    Ok(opened.into())
                } else {
                    Err(Failure::user("The session no longer opens."))
                };
                vec![Event::Answer { ticket, result }]
            }
            other => (self.script)(ticket, other),
        };
        self.seen.lock().unwrap().push(request);
        let out = self.out.lock().unwrap();
        for event in events {
            out.send(event).unwrap();
        }
    }
}

pub(crate) fn answer(ticket: Ticket, answer: impl Into<Answer>) -> Event {
    Event::Answer { ticket, result: Ok(answer.into()) }
}

pub(crate) fn id(n: u128) -> Uuid {
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

pub(crate) fn view() -> SessionView {
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

pub(crate) fn card(status: RunStatus) -> RunCard {
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

pub(crate) struct Output {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) seen: Vec<Request>,
}

impl Output {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

#[derive(Default)]
pub(crate) struct Harness {
    pub(crate) input: &'static str,
    pub(crate) tty: bool,
    pub(crate) presses: usize,
    pub(crate) opens: Option<usize>,
}

impl Harness {
    pub(crate) fn execute(
        self,
        line: &[&str],
        script: impl Fn(Ticket, &Request) -> Vec<Event> + Send + 'static,
    ) -> Output {
        let args = Args::try_parse_from(std::iter::once(&"pleach").chain(line)).unwrap();
        let (tx, events) = channel();
        let sender =
            FakeSender { out: Mutex::new(tx), seen: Mutex::default(), script: Box::new(script), opens: self.opens };
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
            html: |_, _, whole| if whole { "<p>whole\n".into() } else { "<p>path\n".into() },
            bundles: BundleFormat {
                write: |_| WrittenBundle { text: "{}\n".into(), digest: Hash::of(b"bundle"), masked: 2 },
                verify: |_, name| Err(Failure::user(format!("{name} is not a pleach bundle."))),
                recorded: |_, _, _| Err(Failure::user("No call.")),
            },
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

/// Runs a command line without input.
pub(crate) fn execute(line: &[&str], script: impl Fn(Ticket, &Request) -> Vec<Event> + Send + 'static) -> Output {
    Harness::default().execute(line, script)
}

/// Answers every request as done, except requests for a list of sessions or backups.
pub(crate) fn done(ticket: Ticket, request: &Request) -> Vec<Event> {
    match request {
        Request::Program(ProgramRequest::Backups(_)) => vec![answer(ticket, ProgramAnswer::Backups(Vec::new()))],
        Request::Session(SessionRequest::List) => vec![answer(ticket, SessionAnswer::Sessions(vec![view().card]))],
        _ => vec![answer(ticket, Answer::Done(String::new()))],
    }
}
