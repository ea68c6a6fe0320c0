//! Baselines: the most recent messages; BM25 over raw words joined by OR, with the constants of SQLite's FTS5; and the
//! same over stems without stop words.

use super::data::Talk;
use pleach::domain::call::ScoreParts;
use pleach::retrieval::index::passages::passages;
use pleach::retrieval::index::words::{Analyzer, Term, hash, words_of};
use pleach::retrieval::search::Hit;
use std::cell::RefCell;
use std::collections::HashMap;

/// All passages of a message, with one score.
fn hits(talk: &Talk, scores: &[f32]) -> Vec<Hit> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    let hit = |position: usize, passage: usize| Hit {
        position,
        passage,
        score: scores[position],
        parts: ScoreParts::default(),
    };
    order
        .into_iter()
        .flat_map(|at| (0..passages(&talk.messages[at].text).len()).map(move |passage| hit(at, passage)))
        .collect()
}

pub fn recent(talk: &Talk, _: &str) -> Vec<Hit> {
    let scores: Vec<f32> = (1..=talk.messages.len()).map(|at| at as f32).collect();
    hits(talk, &scores)
}

pub fn raw(talk: &Talk, query: &str) -> Vec<Hit> {
    bm25(talk, query, "raw", |text| words_of(text).map(|word| hash(&word.to_lowercase())).collect())
}

pub fn stems(talk: &Talk, query: &str) -> Vec<Hit> {
    bm25(talk, query, "stems", |text| Analyzer::default().terms(text))
}

/// The terms of each message with their counts, and their total.
type Counted = Vec<(HashMap<Term, f32>, f32)>;

thread_local! {
    static COUNTED: RefCell<HashMap<String, Counted>> = RefCell::new(HashMap::new());
}

fn bm25(talk: &Talk, query: &str, kind: &str, terms: fn(&str) -> Vec<Term>) -> Vec<Hit> {
    let counted = |text: &str| {
        let all = terms(text);
        let mut counts: HashMap<Term, f32> = HashMap::new();
        for term in &all {
            *counts.entry(*term).or_default() += 1.0;
        }
        (counts, all.len() as f32)
    };
    COUNTED.with_borrow_mut(|known| {
        let messages = known
            .entry(format!("{kind} {}", talk.session))
            .or_insert_with(|| talk.messages.iter().map(|message| counted(&message.text)).collect());
        let mean = messages.iter().map(|(_, length)| length).sum::<f32>() / messages.len().max(1) as f32;
        let mut scores = vec![0.0; messages.len()];
        let mut asked = terms(query);
        asked.sort_unstable();
        asked.dedup();
        for term in asked {
            let with = messages.iter().filter(|(counts, _)| counts.contains_key(&term)).count() as f32;
            let idf = (1.0 + (messages.len() as f32 - with + 0.5) / (with + 0.5)).ln();
            for (score, (counts, length)) in scores.iter_mut().zip(messages.iter()) {
                let count = counts.get(&term).copied().unwrap_or(0.0);
                *score += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / mean.max(1.0)));
            }
        }
        hits(talk, &scores)
    })
}
