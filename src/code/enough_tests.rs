//! Tests of how much code a message brings: no symbol that shares only a general word with a question, and nothing for
//! files that do not exist.

use super::find::cards::{Limits, fill};
use super::find::{files, gate, query, rank};
use super::index::records::Index;
use super::parse::words::Analyzer;
use super::tests::{Disk, count, indexed};
use super::tuning::Tuning;
use crate::domain::call::{PassReason, SkipReason};
use std::fmt::Write as _;

const FILES: &[(&str, &str)] = &[
    ("src/calls.rs", "pub fn called() {}\npub fn choose() {}\npub fn named() {}\n"),
    ("src/llm/prompts.rs", "/// Templates of prompts.\npub fn templates() {}\n"),
    ("README.md", "# Books\n\nLends books.\n\n## Fines\n\nA late book costs money.\n"),
    ("notes.md", "# Notes\n\nIdeas.\n"),
];

fn read(text: &str) -> query::Query {
    let asks = crate::retrieval::gate::asks_something(text);
    query::Query { asks, ..query::read(&mut Analyzer::default(), text, &Tuning::default()) }
}

fn skipped(index: &Index, text: &str) -> Option<SkipReason> {
    let asked = read(text);
    gate::skip_reason(index, &asked, &rank::rank(index, &asked, &Tuning::for_plans(), 50))
}

/// A verb such as "called" does not say what a question is about, although a function has that name.
#[test]
fn a_general_verb_alone_brings_nothing() {
    let (_folder, index) = indexed(FILES);
    for text in ["and where is that called from?", "Which one did you choose?", "What was it named?"] {
        assert_eq!(skipped(&index, text), Some(SkipReason::Faint), "{text}");
    }
    for text in ["Where are the templates called?", "What does `choose` do?", "Which templates did we choose?"] {
        assert_eq!(skipped(&index, text), None, "{text}");
    }
}

/// A document is named without its extension, in capitals or by a word for documents.
#[test]
fn a_document_is_named_without_its_extension() {
    let (_folder, index) = indexed(FILES);
    for text in ["What is README about?", "What does the readme say?", "Explain README"] {
        let asked = read(text);
        assert_eq!(files::named(&index, &asked), ["README.md"], "{text}");
        assert_eq!(skipped(&index, text), None, "{text}");
        assert_eq!(gate::pass_reason(&index, &asked), PassReason::Named, "{text}");
        let best = rank::rank(&index, &asked, &Tuning::for_plans(), 50).remove(0).id;
        assert_eq!(&*index.symbol(best).unwrap().1.shown, "README.md", "{text}");
    }
    assert!(files::named(&index, &read("What do the notes say about NOTES?")).is_empty(), "it is not in capitals");
}

/// A path refers to the only file of its name, wherever that is; otherwise the file is missing.
#[test]
fn a_path_is_found_by_the_name_of_its_file() {
    let (_folder, index) = indexed(&[("a/one.rs", "fn one() {}"), ("a/two.rs", ""), ("b/two.rs", "fn two() {}")]);
    let named = |text: &str| (files::named(&index, &read(text)), files::missing(&index, &read(text)));
    assert_eq!(named("Explain old/one.rs"), (vec!["a/one.rs".to_owned()], vec![]));
    assert_eq!(named("Explain a/two.rs").0, ["a/two.rs"]);
    assert_eq!(
        named("Explain old/two.rs"),
        (vec![], vec!["old/two.rs".to_owned()]),
        "there are two files of that name"
    );
    assert_eq!(named("Explain llm/templates.py").1, ["llm/templates.py"]);
    assert_eq!(named("Is it and/or, client/server, one/two?").1, [""; 0], "these are words");
}

/// A question is not answered with symbols that share one of its words only to fill twelve places. A task is, because it
/// may change many places.
#[test]
fn after_the_first_ones_a_question_brings_only_symbols_with_more_than_one_of_its_words() {
    let mut texts: Vec<(String, String)> = Vec::new();
    for at in 0..8 {
        texts.push((format!("src/both{at}.rs"), format!("pub fn lend_volume_{at}() {{}}\n")));
        texts.push((format!("src/one{at}.rs"), format!("pub fn lend_{at}() {{}}\n")));
        texts.push((format!("src/other{at}.rs"), format!("pub fn volume_{at}() {{}}\n")));
    }
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let (folder, index) = indexed(&files);
    let found = |text: &str| {
        let (asked, tuning) = (read(text), Tuning::for_plans());
        let mut hits = rank::prefer_other_files(&index, rank::rank(&index, &asked, &tuning, 50), &tuning);
        gate::mark_weak(&index, &asked, &mut hits);
        let limits = Limits { items: 12, sure: 6, lines: 0, ..Limits::UNLIMITED };
        let mut names = String::new();
        for item in fill(&index, &hits, &Disk(folder.path().into()), &count, limits).items {
            let _ = write!(names, "{} ", item.symbol);
        }
        (names.matches(' ').count(), names)
    };
    let (items, names) = found("How do we lend a volume?");
    assert!(items == 8 && names.matches("lend_volume").count() == 8, "{names}");
    assert_eq!(found("How do we lend?").0, 6, "only one word can match");
    assert_eq!(found("Limit how we lend a volume").0, 12);
}
