//! A session of 40 turns about a real repository, under every policy in Light and Heavy: what is sent, how much of it the
//! answers use, and how much of each request repeats the one before.
//!
//! `cargo bench --bench session`. The repository is this project's `src`, or the folder in `PLEACH_BENCH_REPO`; it is copied
//! first. The messages are in `session/questions.txt`. The scripted model reads the request like a model would: it opens a
//! symbol that the request shows and that fits the question, quotes it, edits it, or quotes what was said before
//! (`session/answering.rs`). The clock stands still within a turn. Files
//! are indexed beside the planning, so figures of two runs may still differ a little.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]

#[path = "session/answering.rs"]
mod answering;
#[path = "layouts/prefix.rs"]
mod prefix;
#[allow(dead_code, reason = "other benches use the rest of it")]
#[path = "shared/setup.rs"]
mod shared;
#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/it/support"]
mod support {
    pub(crate) mod bench;
    pub(crate) mod server;
}

use answering::{Answering, Kind, Question};
use pleach::domain::call::{CountTokens, Encoding, UseCount, UseTotals};
use pleach::domain::code::CodeSettings;
use pleach::domain::planning::{Mode, Planned, PolicySpec, Row, RowKind, Section};
use pleach::domain::tool::{Rule, Verdict};
use pleach::engine::api::{Answer, CallAnswer, CallRequest, Request};
use pleach::llm::counting::tokens::Tokenizers;
use pleach::tools::{EffectOptions, Workspace};
use prefix::{parts, same_tokens};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use support::bench::{Bench, Client, Model, message};

const POLICIES: [&str; 5] = ["window", "layered", "lanes", "adaptive", "levels"];
/// Tokens of each request at most, so that 40 turns do not fit.
const BUDGET: u32 = 12_000;
/// Milliseconds between two messages.
const PAUSE: i64 = 90_000;

/// The figures of one session.
struct Figures {
    calls: usize,
    tokens: u64,
    /// Tokens that the requests share with the ones before, as the program shows them, and tokens of those requests. Only
    /// the first call of a turn is planned before it is sent.
    same: (u64, u64),
    /// The same counted in the bodies of all calls, with the tools before the messages.
    same_of_all: (u64, u64),
    uses: UseTotals,
    /// Turns in the window of the last request.
    turns: usize,
    planning: Vec<Duration>,
}

fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (path, at) = (entry.path(), to.join(entry.file_name()));
        let hidden = entry.file_name().to_string_lossy().starts_with('.') || entry.file_name() == "target";
        match entry.file_type().unwrap() {
            kind if hidden || kind.is_symlink() => {}
            kind if kind.is_dir() => copied(&path, &at),
            _ => drop(std::fs::copy(&path, &at).unwrap()),
        }
    }
}

fn started(
    policy: &PolicySpec,
    mode: Mode,
    repository: &Path,
    counter: &Arc<Tokenizers>,
    clock: &Arc<AtomicI64>,
) -> (Client, Arc<Answering>) {
    let mut bench = Bench::new(&Model::new([]));
    copied(repository, &bench.workspace.join("src"));
    let model = Arc::new(Answering::new(questions(), bench.workspace.clone()));
    bench.back = Arc::new(shared::OneServer(model.clone()));
    bench.code = CodeSettings::default();
    bench.tools =
        Some(Arc::new(Workspace::open_with_effects(&bench.workspace, 20_000, EffectOptions::default()).unwrap()));
    let now = clock.clone();
    let client = bench.start_with(|setup| {
        setup.patient = true;
        setup.settings.policies = [(policy.name.clone(), policy.clone())].into();
        setup.counter = counter.clone();
        setup.settings.prompts = shared::prompts();
        setup.settings.defaults.policy = Some(policy.name.clone());
        setup.settings.defaults.mode = Some(mode);
        setup.settings.defaults.budget = Some(BUDGET);
        setup.settings.tool_rules = vec![Rule { tool: "edit_file".into(), on: None, verdict: Verdict::Allow }];
        setup.settings.models = shared::models(128_000);
        setup.now = Arc::new(move || now.load(Ordering::Relaxed));
    });
    (client, model)
}

fn questions() -> Vec<Question> {
    let lines = include_str!("session/questions.txt").lines().filter(|line| !line.starts_with('#'));
    let read = |line: &str| {
        let (kind, text) = line.split_once(": ").expect("a kind and a text");
        Question { kind: Kind::named(kind), text: text.to_owned() }
    };
    lines.map(read).collect()
}

fn session(policy: &PolicySpec, mode: Mode, repository: &Path, counter: &Arc<Tokenizers>) -> Figures {
    let clock = Arc::new(AtomicI64::new(1_790_000_000_000));
    let (mut client, model) = started(policy, mode, repository, counter, &clock);
    let branch = client.session();
    let mut figures = Figures {
        calls: 0,
        tokens: 0,
        same: (0, 0),
        same_of_all: (0, 0),
        uses: UseTotals::default(),
        turns: 0,
        planning: Vec::new(),
    };
    for question in questions() {
        clock.fetch_add(PAUSE, Ordering::Relaxed);
        let draft = message(&question.text);
        let start = Instant::now();
        let planned = client.plan(branch, &draft).expect("a plan");
        figures.planning.push(start.elapsed());
        let Planned::Plan { plan, same_prefix, .. } = planned else { panic!("blocked: {planned:?}") };
        if let Some(same) = same_prefix {
            figures.same.0 += u64::from(same);
            figures.same.1 += u64::from(plan.est_total);
        }
        let window = |row: &&Row| row.kind == RowKind::Turn && row.section() == Some(Section::Recent);
        figures.turns = plan.included().filter(window).count();
        let closed = client.turn(branch, &draft);
        assert!(closed.failure.is_none(), "{:?}", closed.failure);
        client.seen.clear();
    }
    let runs = client.runs();
    figures.calls = runs.len();
    figures.tokens = runs.iter().map(|run| u64::from(run.est_total)).sum();
    client.plan(branch, &message("And now?")).expect("a plan");
    match client.must(Request::Call(CallRequest::Ledger { branch, whole: false })) {
        Answer::Call(CallAnswer::Ledger(ledger)) => figures.uses = ledger.uses,
        other => panic!("{other:?}"),
    }
    client.stop();
    let count = |text: &str| counter.count(Encoding::O200kBase, text);
    let bodies: Vec<Vec<String>> = model.bodies().iter().map(|body| parts(body)).collect();
    for pair in bodies.windows(2) {
        figures.same_of_all.0 += u64::from(same_tokens(&pair[0], &pair[1], &count));
        figures.same_of_all.1 += pair[1].iter().map(|text| u64::from(count(text))).sum::<u64>();
    }
    figures
}

fn percent((part, whole): (u64, u64)) -> String {
    format!("{}%", (part * 100 + whole / 2).checked_div(whole).unwrap_or(0))
}

fn yields(count: &UseCount) -> String {
    format!("{} of {}, {}", count.used, count.shown, percent((count.used.into(), count.shown.into())))
}

fn main() {
    let repository = std::env::var_os("PLEACH_BENCH_REPO")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), PathBuf::from);
    let presets = shared::presets();
    let counter = Arc::new(Tokenizers::new());
    println!("{} turns, a budget of {BUDGET} tokens\n", questions().len());
    println!(
        "| policy | mode | calls | tokens sent | items used | their tokens | prefix | of all calls | turns | planning |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut details: BTreeMap<String, UseTotals> = BTreeMap::new();
    for mode in [Mode::Light, Mode::Heavy] {
        for name in POLICIES {
            let mut found = session(&presets[name], mode, &repository, &counter);
            found.planning.sort();
            let all = &found.uses.all;
            println!(
                "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1?}, {:.1?} |",
                mode.title(),
                found.calls,
                found.tokens,
                yields(all),
                percent((all.used_tokens, all.shown_tokens)),
                percent(found.same),
                percent(found.same_of_all),
                found.turns,
                found.planning[found.planning.len() / 2],
                found.planning[found.planning.len() * 95 / 100],
            );
            details.insert(format!("{name}, {}", mode.title()), found.uses);
        }
    }
    println!(
        "\nprefix: share of the tokens of a turn's first request that begin as the request before; then of all calls"
    );
    println!("planning: median and 95th percentile, with the search of the code\n");
    for (name, uses) in &details {
        println!("{name}: {} calls with known use", uses.calls);
        for (section, count) in &uses.by_section {
            println!("    {:20} {} ({} tokens)", section.name(), yields(count), count.shown_tokens);
        }
        for item in &uses.unused {
            println!("    never used: {} {:?}, {}", item.kind.name(), item.title, item.to_text());
        }
    }
}
