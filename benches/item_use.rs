//! The time to find which items an answer used: 200 items of 28,000 tokens in total, from files of this repository, an
//! answer of 2,000 tokens that quotes some of them, and one that quotes none.
//!
//! `cargo bench --bench item_use`.
//! Not for: whether the evidence is right (the tests of `context::item_use`).
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]

use pleach::context::item_use::{SentItem, ToolUse, find_uses};
use std::path::Path;
use std::time::{Duration, Instant};

const ITEMS: usize = 200;
/// Bytes of an item: 140 tokens of four bytes.
const EACH: usize = 560;
const ROUNDS: usize = 100;
/// The limit for each answer.
const MOST: Duration = Duration::from_millis(20);

fn texts(folder: &Path, all: &mut String) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            texts(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs") {
            all.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

fn main() {
    let mut all = String::new();
    texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine"), &mut all);
    let chars: Vec<char> = all.chars().collect();
    let piece = |from: usize, count: usize| chars[from..from + count].iter().collect::<String>();
    let texts: Vec<String> = (0..ITEMS).map(|n| piece(n * EACH, EACH)).collect();
    let items: Vec<SentItem<'_>> =
        (1..).zip(&texts).map(|(turn, text)| SentItem { text, turn: Some(turn), ..SentItem::default() }).collect();
    let after = ITEMS * EACH;
    let (known, fresh, quoting) = (piece(after, 16_000), piece(after + 16_000, 8_000), piece(after / 3, 8_000));
    let calls = [ToolUse { args: r#"{"path": "src/lib.rs"}"#.to_owned(), done: true, changed: Vec::new() }];
    for (name, answer) in [("quotes items", &quoting), ("quotes none", &fresh)] {
        let mut times: Vec<Duration> = Vec::with_capacity(ROUNDS);
        let mut used = 0;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let found = find_uses(&items, &known, answer, &calls);
            times.push(start.elapsed());
            used = found.iter().filter(|by| !by.is_empty()).count();
        }
        times.sort();
        let (median, worst) = (times[ROUNDS / 2], times[ROUNDS * 95 / 100]);
        println!("{name}: {used} of {ITEMS} used, median {median:.1?}, 95% below {worst:.1?}");
        assert!(median < MOST, "{median:?} is more than {MOST:?}");
    }
}
