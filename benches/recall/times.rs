//! Times and sizes at 1,000, 100,000, and 1,000,000 messages of random words with Zipf-distributed frequencies.

use crate::dice::{Dice, STOPS};
use pleach::domain::base::Hash;
use pleach::domain::conversation::Role;
use pleach::retrieval::index::segment::NoSegments;
use pleach::retrieval::index::session::{Entry, Index};
use pleach::retrieval::query::Query;
use pleach::retrieval::scope::{Filter, Scope};
use pleach::retrieval::search::{MessageTexts, SearchOptions, search};
use std::borrow::Cow;
use std::collections::HashMap;
use std::time::{Duration, Instant};

fn message(number: u64) -> String {
    Dice(number).text(62)
}

fn key(number: u64) -> Hash {
    Hash::of(&number.to_le_bytes())
}

/// Generates each text again from its number, so that a million texts need no memory.
struct Made(HashMap<Hash, u64>);

impl MessageTexts for Made {
    fn text(&self, key: &Hash) -> Option<Cow<'_, str>> {
        self.0.get(key).map(|number| Cow::Owned(message(*number)))
    }

    fn speaker(&self, _: &Hash) -> Option<Cow<'_, str>> {
        None
    }
}

fn query(dice: &mut Dice, stops: bool) -> String {
    let words = (0..6).map(|_| dice.word());
    let all: Vec<String> =
        if stops { words.chain(STOPS.iter().map(|stop| (*stop).to_owned())).collect() } else { words.collect() };
    all.join(" ")
}

fn share(times: &mut [Duration], percent: usize) -> f64 {
    times.sort();
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3
}

pub fn print() {
    println!(
        "{:>9} {:>9} {:>9} {:>10} {:>10} {:>19} {:>19}",
        "messages", "build s", "scope ms", "lists MB", "known MB", "query p50/p95 ms", "with stop words"
    );
    for many in [1_000_u64, 100_000, 1_000_000] {
        let start = Instant::now();
        let mut index = Index::new();
        let path: Vec<u32> = (0..many)
            .map(|number| {
                let text = message(number);
                let role = if number % 2 == 0 { Role::User } else { Role::Assistant };
                let at = Some((number * 60 + number / 40 * 40_000).cast_signed());
                index.add(&Entry { key: key(number), role, speaker: None, at, lane: 0, text: &text })
            })
            .collect();
        let built = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let scope = Scope::new(&index, &path);
        let scoped = start.elapsed().as_secs_f64() * 1e3;
        let texts = Made((0..many).map(|number| (key(number), number)).collect());
        let filter = Filter { out: std::iter::once(path.len() - 20..path.len()).collect(), ..Filter::default() };
        let ask = SearchOptions {
            index: &index,
            scope: &scope,
            source: &NoSegments,
            texts: &texts,
            filter: &filter,
            cosines: None,
            tuning: None,
        };
        let mut cells = Vec::new();
        for stops in [false, true] {
            let mut dice = Dice(7);
            let mut times: Vec<Duration> = (0..100)
                .map(|_| {
                    let text = query(&mut dice, stops);
                    let start = Instant::now();
                    std::hint::black_box(search(&ask, &Query::new(&index, &scope, &text)).expect("in memory").len());
                    start.elapsed()
                })
                .collect();
            cells.push(format!("{:>9.2} {:>9.2}", share(&mut times, 50), share(&mut times, 95)));
        }
        let (lists, known) = index.footprint();
        println!(
            "{many:>9} {built:>9.2} {scoped:>9.1} {:>10.1} {:>10.1} {} {}",
            lists as f64 / 1e6,
            known as f64 / 1e6,
            cells[0],
            cells[1]
        );
    }
}
