//! Many turns in one process through the engine's API: what each further turn costs in bytes of the store, resident
//! memory, open descriptors, and CPU time, reported after 100, 1,000, and 10,000 turns and between.
//! `cargo bench --bench soak [-- TURNS [STORE [BUDGET]]]`. Without STORE it is created in the temporary folder and
//! deleted.
//!
//! The offline model answers without its reading pace; everything else is wired as in the program.
//! Not for: waiting time (`workbench`, `planning`).
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]

#[allow(dead_code, reason = "other benches use the rest of it")]
#[path = "shared/setup.rs"]
mod shared;

use pleach::config::load::{Environment, Sources, load};
use pleach::domain::base::BranchId;
use pleach::domain::conversation::Overrides;
use pleach::engine::Engine;
use pleach::engine::api::{
    Answer, Draft, DraftKind, Event, Events, PlanRequest, Request, SessionAnswer, SessionRequest, Ticket, TurnEvent,
    TurnRequest,
};
use pleach::engine::startup::setup::Setup;
use pleach::engine::startup::wiring;
use pleach::llm::offline::model::Offline;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The turns after which figures are printed.
const REPORTED: [usize; 10] = [10, 100, 200, 500, 1_000, 2_000, 3_000, 5_000, 7_500, 10_000];

/// A turn that takes longer is considered stuck.
const PATIENCE: Duration = Duration::from_mins(2);

/// Resources that the process has used so far.
#[derive(Clone, Copy, Default)]
struct Figures {
    turn: usize,
    store: u64,
    resident: u64,
    descriptors: usize,
    cpu_ms: u64,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let turns = args.first().map_or(10_000, |turns| turns.parse().expect("how many turns"));
    let home = tempfile::tempdir().unwrap();
    let store = args.get(1).map_or_else(|| home.path().join("soak.db"), PathBuf::from);
    let budget = args.get(2).map(|budget| budget.parse().expect("a budget in tokens"));
    soak(turns, home.path(), &store, budget);
}

fn soak(turns: usize, home: &Path, store: &Path, budget: Option<u32>) {
    let overrides = Overrides { profile: Some("offline".into()), budget, ..Overrides::default() };
    let env = Environment::of([("HOME", home.to_str().unwrap())]);
    let sources = Sources { env, workspace: home.to_path_buf(), store: Some(store.to_path_buf()), overrides };
    let config = load(sources).unwrap();
    let setup = wiring::setup(&config, false).unwrap();
    let model = Offline::new(setup.counter.clone()).with_pace(Duration::ZERO);
    let servers = Arc::new(shared::OneServer(Arc::new(model)));
    let (engine, events) = Engine::start(Setup { servers, ..setup }).unwrap();
    let mut screen = Screen { sender: Box::new(engine.sender()), events, next: 0 };
    let branch = screen.session();
    println!("  turns   store MB  bytes a turn   resident MB  descriptors  CPU ms a turn   ms a turn");
    let mut last = Figures { store: bytes(store), ..measured(0, store) };
    let mut begun = Instant::now();
    for turn in 1..=turns {
        screen.turn(branch, &question(turn));
        if REPORTED.contains(&turn) || turn == turns {
            let now = measured(turn, store);
            let count = (now.turn - last.turn).max(1);
            let each = |sum: u64| sum as f64 / count as f64;
            println!(
                "{:>7}  {:>9.1}  {:>12.0}  {:>12.1}  {:>11}  {:>13.1}  {:>10.1}",
                now.turn,
                now.store as f64 / 1e6,
                each(now.store.saturating_sub(last.store)),
                now.resident as f64 / 1e6,
                now.descriptors,
                each(now.cpu_ms - last.cpu_ms),
                begun.elapsed().as_secs_f64() * 1e3 / count as f64,
            );
            (last, begun) = (now, Instant::now());
        }
    }
    engine.stop();
    println!("closed: {:.1} MB on the disk", bytes(store) as f64 / 1e6);
}

/// A question of about 700 bytes, different each turn, sometimes about an earlier topic.
fn question(turn: usize) -> String {
    let topics = ["the parser", "the store", "the network", "the screen", "the budget", "the tests", "the release"];
    let topic = topics[turn % topics.len()];
    let words: Vec<String> = (0..80).map(|word| format!("w{} ", (turn * 31 + word * 17) % 4_001)).collect();
    let detail = words.concat();
    match turn % 10 {
        0 => format!("What did we say about {topic} in turn {}?", turn / 2),
        _ => format!("Turn {turn}: tell me about {topic}. {detail}"),
    }
}

struct Screen {
    sender: Box<dyn pleach::engine::api::RequestSender>,
    events: Events,
    next: u64,
}

impl Screen {
    fn send(&mut self, request: Request) -> Ticket {
        self.next += 1;
        self.sender.send(Ticket(self.next), request);
        Ticket(self.next)
    }

    fn session(&mut self) -> BranchId {
        let mine = self.send(Request::Session(SessionRequest::New { title: "soak".into() }));
        loop {
            match self.events.recv_timeout(PATIENCE).expect("a session") {
                Event::Answer { ticket, result } if ticket == mine => match result.unwrap() {
                    Answer::Session(SessionAnswer::Opened(view)) => return view.current,
                    other => panic!("{other:?}"),
                },
                _ => {}
            }
        }
    }

    /// One turn as in the workbench: a plan is displayed, then sent.
    fn turn(&mut self, branch: BranchId, words: &str) {
        let draft = Draft { text: words.into(), kind: DraftKind::Message, ..Draft::default() };
        self.send(Request::Plan(PlanRequest::Replan { branch, generation: self.next + 1, draft: draft.clone() }));
        self.send(Request::Turn(TurnRequest::Ask { branch, draft, plan: None }));
        loop {
            match self.events.recv_timeout(PATIENCE).expect("the end of a turn") {
                Event::Turn(TurnEvent::Closed { branch: whose, failure, .. }) if whose == branch => {
                    assert!(failure.is_none(), "{failure:?}");
                    return;
                }
                Event::Answer { result: Err(failure), .. } => panic!("{failure}"),
                _ => {}
            }
        }
    }
}

fn measured(turn: usize, store: &Path) -> Figures {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).map_or(0, kilobytes);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum();
    let descriptors = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    Figures { turn, store: bytes(store), resident: resident << 10, descriptors, cpu_ms: ticks * 10 }
}

fn kilobytes(text: &str) -> u64 {
    text.trim().trim_end_matches("kB").trim().parse().unwrap_or(0)
}

/// The size of the store with its log.
fn bytes(store: &Path) -> u64 {
    let beside = |end: &str| PathBuf::from(format!("{}{end}", store.display()));
    let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |about| about.len());
    size(beside("")) + size(beside("-wal"))
}
