//! Do the cards contain the messages that answer a question? How long does the search take, and how large is the index?
//!
//! `cargo bench --bench recall -- CONVERSATIONS.jsonl QUESTIONS.jsonl [BUDGET…]` measures evidence recall on
//! conversations in the import format and on questions `{session, query, category, evidence: [ids]}`, compared with
//! baselines in the same run, the gate's figures, and the results of questions asked of other conversations. Without
//! files it generates a technical conversation and questions about it. Both end with the times at 1,000, 100,000, and
//! 1,000,000 generated messages (`--no-times` skips them, `--only-times` skips the rest). `--vectors=FILE` names a
//! model's vectors for every message, question, and follow-up (see `data::Vectors`) and repeats all figures with them.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(unreachable_pub, reason = "its parts are files of their own")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]
#![allow(clippy::cast_possible_truncation, reason = "counts of a bench")]
#![allow(clippy::cast_sign_loss, reason = "positive throughout")]

#[path = "recall/baseline.rs"]
mod baseline;
#[path = "recall/cross.rs"]
mod cross;
#[path = "recall/data.rs"]
mod data;
#[path = "shared/dice.rs"]
mod dice;
#[path = "recall/made.rs"]
mod made;
#[path = "recall/times.rs"]
mod times;

use data::{Question, Table, Talk, Vectors};
use pleach::retrieval::floor::Floor;
use pleach::retrieval::gate;
use pleach::retrieval::query::Query;
use pleach::retrieval::scope::Filter;
use pleach::retrieval::search::{Hit, SearchOptions, search};
use pleach::retrieval::tuning::Tuning;

/// The row whose categories are printed.
const OURS: &str = "pleach, no model";
const DENSE: &str = "pleach, with the vectors";
/// Messages without content of their own, for which the gate must stay closed.
const FOLLOWUPS: &str = include_str!("recall/followups.txt");

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let (flags, rest): (Vec<String>, Vec<String>) =
        arguments.into_iter().partition(|argument| argument.starts_with("--"));
    let flag = |name: &str| flags.iter().any(|flag| flag == name);
    if !flag("--only-times") {
        let mut vectors = None;
        let (talks, questions) = match rest.as_slice() {
            [conversations, questions, ..] => {
                let talks = data::talks(conversations);
                let asked = data::questions(questions, &talks);
                let file = flags.iter().find_map(|flag| flag.strip_prefix("--vectors="));
                vectors = file.map(|file| Vectors::read(file, conversations, questions, FOLLOWUPS.lines().count()));
                (talks, asked)
            }
            _ => made::technical(),
        };
        let budgets: Vec<u32> = rest.iter().skip(2).map(|budget| budget.parse().expect("a budget in tokens")).collect();
        let budgets = if budgets.is_empty() { vec![1_000, 2_000, 4_000, 8_000] } else { budgets };
        recall(&talks, &questions, &budgets, vectors.as_ref());
        for vectors in [None, vectors.as_ref()].into_iter().take(1 + usize::from(vectors.is_some())) {
            println!("\n{}", if vectors.is_some() { DENSE } else { OURS });
            gates(&talks, &questions, vectors);
            cross::print(&talks, &questions, &budgets, vectors);
        }
    }
    if !flag("--no-times") {
        times::print();
    }
}

type Method<'a> = (&'static str, &'a dyn Fn(&Talk, &Question) -> Vec<Hit>, bool);

fn found(talk: &Talk, query: &str, cosines: Option<&[(u32, f32)]>) -> Vec<Hit> {
    let filter = Filter::default();
    let ask = SearchOptions { cosines, ..talk.ask(&filter, None) };
    search(&ask, &Query::new(&talk.index, &talk.scope, query)).expect("postings are in memory")
}

fn floor(talk: &Talk, query: &str, cosines: Option<&[(u32, f32)]>) -> Floor {
    let filter = Filter::default();
    Floor::new(&SearchOptions { cosines, ..talk.ask(&filter, None) }, query).expect("postings are in memory")
}

fn recall(talks: &[Talk], questions: &[Question], budgets: &[u32], vectors: Option<&Vectors>) {
    let mut methods: Vec<Method<'_>> = vec![
        ("most recent", &|talk, asked| baseline::recent(talk, &asked.query), false),
        ("BM25, raw words, OR", &|talk, asked| baseline::raw(talk, &asked.query), false),
        ("BM25, stems, no stop words", &|talk, asked| baseline::stems(talk, &asked.query), false),
        (OURS, &|talk, asked| found(talk, &asked.query, None), true),
    ];
    let dense = |talk: &Talk, asked: &Question| {
        let cosines = vectors.map(|vectors| vectors.cosines(talk, vectors.of_question(asked)));
        found(talk, &asked.query, cosines.as_deref())
    };
    if vectors.is_some() {
        methods.push((DENSE, &dense, true));
    }
    let messages: usize = talks.iter().map(|talk| talk.messages.len()).sum();
    println!(
        "{} conversations, {messages} messages, {} questions; recall / all-evidence hit in %",
        talks.len(),
        questions.len()
    );
    let heads: Vec<String> = budgets.iter().map(|budget| format!("{budget:>13}")).collect();
    println!("{:30}{}", "budget (o200k tokens)", heads.concat());
    let count = data::counter();
    for (name, method, own) in methods {
        let mut tables = vec![Table::default(); budgets.len()];
        let mut times = Vec::new();
        for question in questions {
            let Some(talk) = talks.iter().find(|talk| talk.session == question.session) else { continue };
            let start = std::time::Instant::now();
            let plain = Tuning { size_penalty: 0.0, ..Tuning::of(&talk.scope.shape) };
            let tuning = (!own).then_some(&plain);
            let hits = method(talk, question);
            times.push(start.elapsed());
            let cosines =
                vectors.filter(|_| name == DENSE).map(|vectors| vectors.cosines(talk, vectors.of_question(question)));
            let floor = own.then(|| floor(talk, &question.query, cosines.as_deref()));
            for (budget, table) in budgets.iter().zip(&mut tables) {
                let filled = data::filled(talk, &hits, *budget, tuning, floor.as_ref(), &count);
                assert!(filled.tokens <= *budget, "over the budget");
                table.add(question, &filled);
            }
        }
        println!("{}", row(name, "all", &tables));
        if own {
            tables[0]
                .0
                .keys()
                .filter(|category| *category != "all")
                .for_each(|category| println!("{}", row(&format!("  {category}"), category, &tables)));
            times.sort();
            println!("  search: median {:?}, p95 {:?}", times[times.len() / 2], times[times.len() * 95 / 100]);
        }
    }
}

fn row(name: &str, category: &str, tables: &[Table]) -> String {
    let cell = |table: &Table| {
        let (recall, all) = table.percent(category);
        format!("{recall:>6.1} /{all:>5.1}")
    };
    format!("{name:30}{}", tables.iter().map(cell).collect::<String>())
}

fn gates(talks: &[Talk], questions: &[Question], vectors: Option<&Vectors>) {
    let filter = Filter::default();
    let open = |talk: &Talk, text: &str, vector: Option<&[f32]>| {
        let cosines = vectors.zip(vector).map(|(vectors, vector)| vectors.cosines(talk, vector));
        let ask = SearchOptions { cosines: cosines.as_deref(), ..talk.ask(&filter, None) };
        gate::gate(&ask, text).expect("postings are in memory").is_open()
    };
    let (mut pulled, mut all) = (0_usize, 0_usize);
    for talk in talks {
        for (number, line) in FOLLOWUPS.lines().enumerate() {
            pulled += usize::from(open(talk, line, vectors.map(|vectors| vectors.of_followup(number))));
            all += 1;
        }
    }
    let asked = questions
        .iter()
        .filter_map(|question| Some((talks.iter().find(|talk| talk.session == question.session)?, question)));
    let opened = asked
        .filter(|(talk, question)| open(talk, &question.query, vectors.map(|vectors| vectors.of_question(question))))
        .count();
    // Remarks from other conversations, at most twelve words and no questions: the closest to unrelated small talk in
    // this data.
    let (mut strange, mut strangers) = (0_usize, 0_usize);
    for talk in talks {
        for other in talks.iter().filter(|other| other.session != talk.session) {
            let short = other
                .messages
                .iter()
                .filter(|message| message.text.split_whitespace().count() <= 12 && !message.text.contains('?'));
            for message in short {
                let vector = vectors.map(|vectors| vectors.of_message(message));
                strange += usize::from(open(talk, &message.text, vector));
                strangers += 1;
            }
        }
    }
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    println!("gate: {:.2}% of {all} follow-ups that name nothing pull something", percent(pulled, all));
    println!("gate: {:.1}% of {} questions open it", percent(opened, questions.len()), questions.len());
    if strangers > 0 {
        println!(
            "gate: {:.1}% of {strangers} short remarks from other conversations open it",
            percent(strange, strangers)
        );
    }
    println!();
}
