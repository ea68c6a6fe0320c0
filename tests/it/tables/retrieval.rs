//! Search results for questions about a conversation: the terms of each question, the gate, the hits with the parts of
//! their scores, and the cards that fit and those that do not.

use super::{corpus, same};
use pleach::context;
use pleach::domain::base::Hash;
use pleach::domain::call::Gate;
use pleach::domain::call::tokens::approximate;
use pleach::domain::conversation::Role;
use pleach::domain::planning::Preceding;
use pleach::retrieval::cluster::{Clusters, QuestionVector};
use pleach::retrieval::compose::{CardRules, Composed, compose};
use pleach::retrieval::floor::Floor;
use pleach::retrieval::gate::{asks_something, gate, measure};
use pleach::retrieval::index::passages::{estimate, passages_of};
use pleach::retrieval::index::segment::NoSegments;
use pleach::retrieval::index::session::{Entry, Index};
use pleach::retrieval::query::Query;
use pleach::retrieval::scope::{Filter, Scope};
use pleach::retrieval::search::{Hit, MessageTexts, SearchOptions, search};
use pleach::retrieval::tuning::Tuning;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

/// An indexed conversation.
struct Talk {
    index: Index,
    path: Vec<u32>,
    texts: HashMap<Hash, (String, Option<String>)>,
}

impl MessageTexts for Talk {
    fn text(&self, key: &Hash) -> Option<Cow<'_, str>> {
        self.texts.get(key).map(|(text, _)| text.into())
    }

    fn speaker(&self, key: &Hash) -> Option<Cow<'_, str>> {
        self.texts.get(key)?.1.as_deref().map(Cow::from)
    }
}

/// The conversation as it is, with speaker names, or joined to long messages.
fn talk(named: bool, join: usize) -> Talk {
    let mut talk = Talk { index: Index::new(), path: Vec::new(), texts: HashMap::new() };
    let mut at = 1_770_000_000;
    for (number, lines) in corpus::lines().chunks(join).enumerate() {
        at += lines.iter().map(|line| line.after * 60).sum::<i64>();
        let text = lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n\n");
        let key = Hash::of(format!("{number} {text}").as_bytes());
        let speaker = named.then(|| if lines[0].role == Role::User { "Ann Lee" } else { "Bob" });
        let lane = u32::from(number % 5 == 0);
        let entry = Entry { key, role: lines[0].role, speaker, at: (number % 9 != 5).then_some(at), lane, text: &text };
        talk.path.push(talk.index.add(&entry));
        talk.texts.insert(key, (text, speaker.map(str::to_owned)));
    }
    talk
}

const QUESTIONS: &[&str] = &[
    "Which store did we choose for the sessions?",
    "what is the limit of connections",
    "When does the backup run?",
    "How many connections may there be, and how long does retry_with_backoff wait?",
    "What did you say about TokenBucket and src/auth/token.rs?",
    "What did Ann Lee say about short answers",
    "what did I decide earlier about the slice",
    "Remember the region workers: step 17 waits how many ms?",
    "describe the logging format",
    "clean retry_with_backoff up",
    "备份什么时候运行？",
    "was ist mit dem Backup",
    "Which day in march 2026 is the deadline?",
    "What happened on the 4th of february 2026?",
    "what happened in Feb 2026",
    "the weather in the mountains",
    "why?",
    "ok continue",
    "please use the slice of rows in the writer",
    "postgres pool and redis",
    "",
];

fn hit(hit: &Hit) -> String {
    let p = &hit.parts;
    format!(
        "{}.{} {:.3} = bm25 {:.3} feedback {:.3} smooth {:.3} sitting {:.3} speaker {:.3} prior {:.3} cos {:.3}",
        hit.position, hit.passage, hit.score, p.bm25, p.feedback, p.smooth, p.sitting, p.speaker, p.prior, p.cos
    )
}

/// The cards that fit, in their forms, and what the best of the others lack.
fn filled(out: &mut String, composed: &Composed, tokens: u32) {
    let (sent, left_out) = context::within(&composed.offer(), tokens);
    for one in &sent {
        let card = &composed.cards[one.at];
        let _ = writeln!(
            out,
            "    card {} {:?} rank {} {:.3} {} tokens {:?} {:?}",
            card.position,
            card.spans,
            card.rank,
            card.score,
            one.tokens,
            card.text(one.after),
            card.text(Preceding::Other).chars().take(40).collect::<String>()
        );
    }
    for (at, missing) in left_out.iter().take(3) {
        let card = &composed.cards[*at];
        let _ = writeln!(out, "    out {} {:?} {:.3} lacks {missing}", card.position, card.spans, card.score);
    }
    for near in &composed.near {
        let _ = writeln!(out, "    near {} {:?} {:.3} {:?}", near.position, near.span, near.score, near.why);
    }
    let _ = writeln!(out, "    {} tokens", sent.iter().map(|one| one.tokens).sum::<u32>());
}

/// Searches for a question under all settings.
fn look(talk: &Talk, scope: &Scope, question: &str, cosines: Option<&[(u32, f32)]>, filter: &Filter) -> String {
    let mut out = String::new();
    let ask =
        SearchOptions { index: &talk.index, scope, source: &NoSegments, texts: talk, filter, cosines, tuning: None };
    let query = Query::new(&talk.index, scope, question);
    let _ = writeln!(out, "? {question}\n  {:.3?}", measure(&ask, question, &query).unwrap());
    let _ = writeln!(out, "  {:?}, {:?}", gate(&ask, question).unwrap(), query.hints);
    let hits = search(&ask, &query).unwrap();
    let floor = Floor::new(&ask, question).unwrap();
    let passing = hits.iter().filter(|hit| floor.passes(&ask, hit)).count();
    let _ = writeln!(out, "  {} hits, {passing} pass", hits.len());
    for one in hits.iter().take(5) {
        let _ = writeln!(out, "  {}", hit(one));
    }
    let together = |at: usize| match at % 7 {
        3 => at..at + 2,
        4 => at - 1..at + 1,
        _ => at..at + 1,
    };
    for (tokens, near, floor) in [(70, 3, Some(&floor)), (300, 2, None)] {
        let is_enough = &context::enough_within(tokens);
        let rules = CardRules { count: &approximate, together: &together, near, floor, is_enough };
        let found = compose(&ask, &hits, &rules);
        filled(&mut out, &found, tokens);
        let record = found.record(
            Gate::Skipped(pleach::domain::call::retrieval_set::SkipReason::Faint),
            question,
            Hash::default(),
            &|key| *key,
        );
        let _ = writeln!(
            out,
            "    record {:?}",
            record.items.iter().take(5).map(|item| (item.span, item.rank, item.tokens)).collect::<Vec<_>>()
        );
    }
    out
}

fn shape(talk: &Talk, scope: &Scope) -> String {
    let sittings: Vec<u32> = (0..scope.messages()).map(|at| scope.sitting(at)).collect();
    let spans: Vec<usize> = (0..scope.messages()).map(|at| scope.span(at).start).collect();
    let lengths: Vec<u16> = (0..scope.slots()).map(|slot| scope.length(slot)).collect();
    format!(
        "{:.3?}\n{:.3?}\nsittings {sittings:?}\nspans {spans:?}\nlengths {lengths:?}\nnames {:?} of {}\n",
        scope.shape,
        Tuning::of(&scope.shape),
        scope.names(),
        talk.index.speakers().len()
    )
}

#[test]
fn results_for_questions() {
    let nothing = Filter::default();
    for (name, named, join) in [("short", false, 1), ("named", true, 1), ("long", false, 4)] {
        let talk = talk(named, join);
        let scope = Scope::new(&talk.index, &talk.path);
        let mut out = shape(&talk, &scope);
        for question in QUESTIONS {
            out += &look(&talk, &scope, question, None, &nothing);
        }
        same(&format!("retrieval_{name}"), &out);
    }
}

#[test]
fn semantic_and_filtered_results() {
    let talk = talk(false, 1);
    let mut out = String::new();
    let every_second: Vec<u32> = talk.path.iter().copied().filter(|number| number % 3 != 1).collect();
    let whole = Scope::new(&talk.index, &talk.path);
    let branch = Scope::new(&talk.index, &every_second);
    let cosines: Vec<(u32, f32)> = (0..talk.index.passages() - 3)
        .map(|at| (at, if at == 11 { 0.91 } else { f32::from(u16::try_from(at * 37 % 50).unwrap()) / 100.0 }))
        .collect();
    let out_of = Filter { out: vec![30..90, 2..4], ..Filter::default() };
    let lane = Filter { lane: Some(0), ..Filter::default() };
    for question in &QUESTIONS[..6] {
        out += &look(&talk, &whole, question, Some(&cosines), &Filter::default());
        out += &look(&talk, &whole, question, None, &out_of);
        out += &look(&talk, &branch, question, None, &lane);
    }
    out += &look(&talk, &Scope::new(&talk.index, &[]), QUESTIONS[0], None, &lane);
    same("retrieval_ways", &out);
}

#[test]
fn terms_of_questions() {
    let mut out = String::new();
    let mut clusters = Clusters::default();
    for (number, question) in QUESTIONS.iter().enumerate() {
        let hashed = QuestionVector::of_words(question);
        let place = clusters.place(hashed.as_ref(), u32::try_from(number).unwrap());
        let taken = clusters.take(hashed.as_ref(), u32::try_from(number).unwrap());
        assert_eq!(place, taken);
        let _ = writeln!(out, "{question:?}: asks {}, {taken:?}", asks_something(question));
    }
    same("retrieval_questions", &out);
}

#[test]
fn passages_of_texts() {
    let mut out = String::new();
    let cjk = "备份每天运行。谁负责？没有人！".repeat(9);
    let code = format!("Intro.\n\n```rust\n{}```\n\nAfter it. The end", "let a = 1;\n\n    call(a);\n".repeat(9));
    let texts = [
        "",
        "  \n ",
        "one",
        &cjk,
        &code,
        &"word ".repeat(90),
        &"x".repeat(300),
        &"A sentence here. And (there)! ".repeat(20),
        "a\r\n\r\nb\r\n\r\nc",
    ];
    for text in texts {
        let begins: String = text.chars().take(12).collect();
        let _ = writeln!(out, "{begins:?} {} tokens", estimate(text));
        for most in [0, 1, 3, 12, 40] {
            let spans: Vec<String> = passages_of(text, most)
                .into_iter()
                .map(|span| format!("{}-{}", span.start, span.end))
                .take(60)
                .collect();
            let _ = writeln!(out, "  {most}: {}", spans.join(" "));
        }
    }
    same("passages", &out);
}
