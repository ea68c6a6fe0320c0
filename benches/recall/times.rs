//! Times and sizes at 1,000, 100,000, and 1,000,000 messages of random words with Zipf-distributed frequencies.

use pleach::domain::base::hash::Hash;
use pleach::domain::conversation::message::Role;
use pleach::retrieval::index::segment::NoSegments;
use pleach::retrieval::index::session::{Entry, Index};
use pleach::retrieval::query::Query;
use pleach::retrieval::scope::{Filter, Scope};
use pleach::retrieval::search::{MessageTexts, SearchOptions, search};
use std::borrow::Cow;
use std::collections::HashMap;
use std::time::{Duration, Instant};

const WORDS: u64 = 60_000;
const STOPS: [&str; 8] = ["the", "what", "did", "you", "about", "and", "is", "of"];

/// Deterministic pseudo-random numbers (`SplitMix64`).
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    fn unit(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A random word: rank r is r times rarer than rank 1.
    fn word(&mut self) -> String {
        let rank = ((WORDS as f64).powf(self.unit())) as u64;
        spell(rank)
    }
}

/// The word of a rank, which is not an English word.
fn spell(mut rank: u64) -> String {
    let mut word = String::from("q");
    while rank > 0 {
        word.push(char::from(b"bcdfgklmnprtvz"[(rank % 14) as usize]));
        word.push(char::from(b"aou"[(rank / 14 % 3) as usize]));
        rank /= 42;
    }
    word
}

fn message(dice: &mut Dice) -> String {
    let count = 12 + dice.below(50);
    let word =
        |dice: &mut Dice| if dice.below(2) == 0 { STOPS[dice.below(8) as usize].to_owned() } else { dice.word() };
    (0..count).map(|_| word(dice)).collect::<Vec<_>>().join(" ")
}

fn key(number: u64) -> Hash {
    Hash::of(&number.to_le_bytes())
}

/// Generates each text again from its number, so that a million texts need no memory.
struct Made(HashMap<Hash, u64>);

impl MessageTexts for Made {
    fn text(&self, key: &Hash) -> Option<Cow<'_, str>> {
        self.0.get(key).map(|number| Cow::Owned(message(&mut Dice(*number))))
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
                let text = message(&mut Dice(number));
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
        let filter = Filter { out: std::iter::once(path.len() - 20..path.len()).collect(), lane: None };
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
