//! The cost of stored plans: a conversation of thousands of turns through the engine's API, with bytes and CPU time for
//! each turn, bytes of every table for each turn, and the time to read any plan at the end.
//! `cargo bench --bench plans [-- TURNS]`. The stores are created in the temporary folder and deleted.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers"
)]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/it/support"]
mod support {
    pub(crate) mod bench;
    pub(crate) mod server;
}
#[allow(dead_code, reason = "other benches use the rest of it")]
#[path = "shared/setup.rs"]
mod shared;

use pleach::domain::base::Hash;
use pleach::domain::conversation::Overrides;
use pleach::engine::api::{BranchRequest, Request};
use rusqlite::Connection;
use std::path::Path;
use std::time::{Duration, Instant};
use support::bench::{Bench, Model, text};

/// The number of turns over which each figure is averaged.
const SPAN: usize = 100;

fn main() {
    let turns = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(3_000);
    for budget in [28_000, 120_000] {
        println!("budget {budget}");
        talk(budget, turns);
    }
}

/// Repeating words of which no two lines are equal.
fn words(seed: usize, count: usize) -> String {
    let word = |at: usize| {
        let dice = Hash::of(format!("{seed} {at}").as_bytes()).0;
        let rank = usize::from(dice[0]) * usize::from(dice[1]) / 64;
        let stem = Hash::of(&rank.to_le_bytes()).0;
        stem[..2 + usize::from(stem[9] % 6)].iter().map(|byte| char::from(b'a' + byte % 26)).collect::<String>()
    };
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

fn talk(budget: u32, turns: usize) {
    let model = Model::new((0..turns).map(|turn| text(&words(turn * 2, 80))));
    let bench = Bench::new(&model);
    let mut client = bench.start_with(|setup| {
        setup.settings.policies = shared::presets();
        setup.settings.models = shared::models(200_000);
    });
    let branch = client.session();
    client.must(Request::Branch(BranchRequest::Override {
        branch,
        overrides: Overrides { budget: Some(budget), ..Overrides::default() },
    }));
    let mut before = (Figures::default(), cpu());
    for turn in 1..=turns {
        client.say(branch, &words(turn * 2 + 1, 60));
        client.seen.clear();
        if turn % SPAN == 0 {
            let now = (Figures::read(&bench.store_path()), cpu());
            if [200, 1_000, 2_000, 3_000].contains(&turn) || turn == turns {
                let kept = (now.0.plans - before.0.plans) / SPAN as i64;
                let json = (now.0.json - before.0.json) / SPAN as i64;
                let spent = (now.1.saturating_sub(before.1)).as_secs_f64() * 1e3 / SPAN as f64;
                println!(
                    "  turn {turn:>5}: {kept:>6} bytes of plans a turn (JSON {json:>7}), CPU {spent:>5.1} ms a turn"
                );
            }
            before = now;
        }
    }
    client.stop();
    tables(&bench.store_path(), turns);
    read_all(&bench);
}

/// The size of all plans so far.
#[derive(Default)]
struct Figures {
    plans: i64,
    json: i64,
}

impl Figures {
    fn read(store: &Path) -> Self {
        let conn = Connection::open(store).unwrap();
        let sql = "SELECT sum(length(body)), sum(size) FROM plan";
        conn.query_row(sql, [], |row| Ok(Self { plans: row.get(0)?, json: row.get(1)? })).unwrap()
    }
}

/// CPU time of this process.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<u64> = stat.split_whitespace().skip(13).take(2).filter_map(|field| field.parse().ok()).collect();
    Duration::from_millis(fields.iter().sum::<u64>() * 10)
}

fn tables(store: &Path, turns: usize) {
    let size = std::fs::metadata(store).unwrap().len();
    println!("  store: {:.1} MB, {} bytes a turn", size as f64 / 1e6, size / turns as u64);
    let conn = Connection::open(store).unwrap();
    let mut names = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let mut sizes: Vec<(i64, String)> = names.into_iter().map(|name| (bytes(&conn, &name), name)).collect();
    sizes.sort_unstable();
    let large = sizes.iter().rev().filter(|(bytes, _)| *bytes > turns as i64 * 50);
    let large: Vec<String> = large.map(|(bytes, name)| format!("{name} {}", bytes / turns as i64)).collect();
    println!("  bytes of values a turn: {}", large.join(", "));
}

fn bytes(conn: &Connection, table: &str) -> i64 {
    let columns = conn.prepare(&format!("SELECT * FROM {table} LIMIT 0")).unwrap();
    let sum: Vec<String> =
        columns.column_names().iter().map(|name| format!("coalesce(length(\"{name}\"), 0)")).collect();
    conn.query_row(&format!("SELECT coalesce(sum({}), 0) FROM {table}", sum.join(" + ")), [], |row| row.get(0)).unwrap()
}

fn read_all(bench: &Bench) {
    let conn = Connection::open(bench.store_path()).unwrap();
    let mut ids = conn.prepare("SELECT id FROM plan").unwrap();
    let ids: Vec<[u8; 32]> = ids.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let store = bench.store();
    let read = |id: [u8; 32]| {
        let since = Instant::now();
        assert_eq!(store.plan_by_prefix(&Hash(id).to_string()).unwrap().len(), 1);
        since.elapsed().as_secs_f64() * 1e3
    };
    // Take the median of three reads, because other processes slow single reads down.
    let mut worst = 0.0_f64;
    let mut middle = |id: [u8; 32]| {
        let mut times = [read(id), read(id), read(id)];
        times.sort_by(f64::total_cmp);
        worst = worst.max(times[2]);
        times[1]
    };
    let mut times: Vec<f64> = ids.into_iter().map(&mut middle).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "  reading a plan, the middle one of three: {:.2} ms at the median, {:.2} ms at most, of {}; a single one {worst:.2} ms \
         at most",
        at(0.5),
        at(1.0),
        times.len()
    );
}
