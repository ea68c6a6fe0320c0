//! The cost of planning and searching older messages with 1,000, 100,000, and 1,000,000 messages in a real store, with
//! plans requested for every keystroke as in the workbench: snapshot, input, solve, render.
//! `cargo bench --bench bounded [-- MOST]`. Stores are created in the temporary folder (1 GB for a million messages)
//! and deleted.
//!
//! Each store holds one session whose path contains all of its messages, and a second one of 1,000. Creation, the first
//! opening (which indexes), and measurement run in separate processes, so that memory is measured separately.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/it/support"]
mod support {
    pub(crate) mod bench;
    pub(crate) mod server;
}
#[allow(dead_code, reason = "other benches use the rest of it")]
#[path = "shared/dice.rs"]
mod dice;
#[path = "bounded/fill.rs"]
mod fill;
#[allow(dead_code, reason = "other benches use the rest of it")]
#[path = "shared/setup.rs"]
mod shared;

use dice::Dice;
use pleach::domain::base::BranchId;
use pleach::domain::call::SkipReason;
use pleach::domain::planning::Reason;
use pleach::domain::planning::{ContextPlan, Mode};
use pleach::engine::api::{
    Answer, BranchRequest, Event, IndexingEvent, PlanAnswer, PlanRequest, Planned, Request, SessionAnswer,
    SessionRequest,
};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use support::bench::{Client, message};

const SIZES: [usize; 3] = [1_000, 100_000, 1_000_000];
/// Messages of the second session.
const BESIDE: usize = 1_000;
/// How many keystrokes and queries are timed.
const SAMPLES: usize = 200;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", size, store] => fill::store(Path::new(store), size.parse().unwrap(), BESIDE),
        ["first", _, store] => first(Path::new(store)),
        ["measure", size, store] => measure(size.parse().unwrap(), Path::new(store)),
        [] => all(usize::MAX),
        [most] => all(most.parse().expect("how many messages at most")),
        _ => panic!("no such arguments"),
    }
}

fn all(most: usize) {
    println!("key to plan at the engine's interface, ms (p50 / p95): `plan` looks nothing up (Off), `light` does");
    println!(
        "retrieve: ms of the look alone, queries of rare and common words; + stops: with as many stop words among them\n"
    );
    for size in SIZES.into_iter().filter(|size| *size <= most) {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("data").join("pleach.db");
        for step in ["make", "first", "measure"] {
            child(step, size, &store);
        }
    }
}

fn child(step: &str, size: usize, store: &PathBuf) {
    let exe = std::env::current_exe().unwrap();
    let status = Command::new(exe).arg(step).arg(size.to_string()).arg(store).status().unwrap();
    assert!(status.success(), "{step} {size}");
}

/// A memory figure of this process in kilobytes, as the system reports it.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    line.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

fn megabytes(kilobytes: u64) -> String {
    format!("{:.0} MB", kilobytes as f64 / 1024.0)
}

/// Opens a session and returns its branch.
fn open(client: &mut Client, title: &str) -> BranchId {
    let session = Some(title.to_owned());
    match client.must(Request::Session(SessionRequest::Open { session, branch: None, create: false })) {
        Answer::Session(SessionAnswer::Opened(view)) => view.current,
        other => panic!("{other:?}"),
    }
}

fn mode(client: &mut Client, branch: BranchId, mode: Mode) {
    let overrides = pleach::domain::conversation::branch::Overrides { mode: Some(mode), ..Default::default() };
    client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
}

/// The first plan with a search, after which every message is indexed.
fn first(store: &Path) {
    let (_bench, mut client) = fill::start(store);
    let since = Instant::now();
    let branch = open(&mut client, fill::LONG);
    let opened = since.elapsed();
    let first = indexed(&mut client, branch);
    println!(
        "  first: open {:.0} ms, first plan {:.0} ms, indexed beside it in {:.1} s, peak {}",
        opened.as_secs_f64() * 1e3,
        first.as_secs_f64() * 1e3,
        since.elapsed().saturating_sub(opened).as_secs_f64(),
        megabytes(memory("VmHWM:"))
    );
    client.stop();
}

/// Plans until every message is indexed. Returns the time of the first plan, which does not wait.
fn indexed(client: &mut Client, branch: BranchId) -> Duration {
    let draft = message("what did you say about it back then?");
    let since = Instant::now();
    let behind = |plan: &ContextPlan| {
        plan.rows.iter().any(|row| row.reason == Reason::NotSearched { because: SkipReason::Indexing })
    };
    let mut from = client.seen.len();
    let mut waits = behind(&client.whole_plan(branch, &draft));
    let first = since.elapsed();
    while waits {
        let at = client.wait(from, |event| matches!(event, Event::Indexing(IndexingEvent::Messages { .. })));
        waits = !matches!(client.seen[at], Event::Indexing(IndexingEvent::Messages { done, total }) if done == total);
        from = at + 1;
    }
    client.seen.clear();
    first
}

fn plan(client: &mut Client, branch: BranchId, draft: &str) -> Duration {
    let since = Instant::now();
    match client.plan(branch, &message(draft)) {
        Ok(Planned::Plan { .. }) => {}
        other => panic!("{other:?}"),
    }
    let took = since.elapsed();
    client.seen.clear();
    took
}

/// Types questions key by key and times every plan.
fn typed(client: &mut Client, branch: BranchId, dice: &mut Dice) -> Vec<Duration> {
    let mut times = Vec::with_capacity(SAMPLES);
    while times.len() < SAMPLES {
        let question = fill::question(dice, true);
        for end in 1..=question.len().min(40) {
            times.push(plan(client, branch, &question[..end]));
        }
    }
    times
}

/// Times of the search alone, and from request to answer.
fn search_times(client: &mut Client, stops: bool, dice: &mut Dice) -> (Vec<Duration>, Vec<Duration>) {
    let (mut alone, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let query = fill::question(dice, stops);
        let since = Instant::now();
        let request = Request::Plan(PlanRequest::Retrieve {
            session: Some(fill::LONG.to_owned()),
            branch: None,
            query,
            at: None,
            budget: Some(4_000),
            anyway: true,
        });
        let Answer::Plan(PlanAnswer::Retrieved(found)) = client.must(request) else { panic!("no answer") };
        whole.push(since.elapsed());
        alone.push(Duration::from_micros(found.set.elapsed_us));
        assert!(!found.items.is_empty(), "something is found");
        client.seen.clear();
    }
    (alone, whole)
}

fn measure(size: usize, store: &Path) {
    let (_bench, mut client) = fill::start(store);
    let mut dice = Dice(7);
    let since = Instant::now();
    let beside = open(&mut client, fill::SHORT);
    mode(&mut client, beside, Mode::Off);
    plan(&mut client, beside, "warm");
    let beside = typed(&mut client, beside, &mut dice);
    let first = since.elapsed();
    let since = Instant::now();
    let long = open(&mut client, fill::LONG);
    let opened = since.elapsed();
    mode(&mut client, long, Mode::Off);
    plan(&mut client, long, "warm");
    let off = typed(&mut client, long, &mut dice);
    mode(&mut client, long, Mode::Light);
    let since = Instant::now();
    indexed(&mut client, long);
    let loaded = since.elapsed();
    let light = typed(&mut client, long, &mut dice);
    let (rare, _) = search_times(&mut client, false, &mut dice);
    let (mixed, whole) = search_times(&mut client, true, &mut dice);
    let files = std::fs::read_dir(store.parent().unwrap()).unwrap().flatten();
    let disk: u64 =
        files.filter_map(|file| file.metadata().ok()).filter(std::fs::Metadata::is_file).map(|m| m.len()).sum();
    println!("{size:>9} messages, {:.0} MB on disk", disk as f64 / 1024.0 / 1024.0);
    println!("  plan     1,000 on the path, the rest beside  {}", percentiles(beside));
    println!("  plan     all on the path                     {}", percentiles(off));
    println!("  light    all on the path                     {}", percentiles(light));
    println!("  retrieve                                     {}", percentiles(rare));
    println!("  retrieve + stops                             {}", percentiles(mixed));
    println!("  retrieve + stops, request to answer          {}", percentiles(whole));
    println!(
        "  open {:.0} ms, index from the store {:.0} ms, resident {}, peak {} ({:.0} s in all)",
        opened.as_secs_f64() * 1e3,
        loaded.as_secs_f64() * 1e3,
        megabytes(memory("VmRSS:")),
        megabytes(memory("VmHWM:")),
        first.as_secs_f64()
    );
    client.stop();
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    format!("{:8.2} / {:8.2}", at(50), at(95))
}
