//! Summaries of a conversation: facts that must not be lost, extracts of several sizes, quoted parts, and the parts for
//! a model.

use super::{corpus, same};
use pleach::context::summary::survive::{LackingFacts, RequiredFacts};
use pleach::context::summary::{Size, extract, keep, parts, ratio, sources};
use pleach::domain::base::{Hash, NodeId};
use pleach::domain::call::tokens::approximate;
use pleach::domain::conversation::Role;
use pleach::domain::summary::{KeepReason, MissingFact, SourceMessage, SourceTurn};
use std::fmt::Write as _;

/// The conversation as closed turns, numbered from 1.
fn turns() -> Vec<SourceTurn> {
    let mut turns: Vec<SourceTurn> = Vec::new();
    for line in corpus::lines() {
        let key = Hash::of(line.text.as_bytes());
        if line.role == Role::User {
            turns.push(SourceTurn {
                user: key,
                tip: key,
                number: u32::try_from(turns.len()).unwrap() + 1,
                node: NodeId(uuid::Uuid::nil()),
                title: line.text.clone(),
                at: 0,
                count: 0,
                tokens: 0,
                stays: None,
                messages: Vec::new(),
            });
        }
        let turn = turns.last_mut().unwrap();
        turn.tip = key;
        turn.count += 1;
        turn.tokens += approximate(&line.text);
        turn.messages.push(SourceMessage { node: key, content: key, role: line.role, text: line.text });
    }
    turns
}

fn fact(fact: &MissingFact) -> String {
    let MissingFact { kind, text, sentence, turn, role, times, weight, .. } = fact;
    let sentence: String = sentence.chars().take(60).collect();
    format!("{weight} {} {text:?} ×{times} of {} in turn {turn}: {sentence}", kind.name(), role.name())
}

#[test]
fn facts_that_must_not_be_lost() {
    let mut out = String::new();
    let all = RequiredFacts::of(&turns());
    let _ = writeln!(out, "{} facts", all.len());
    all.dropped("").iter().for_each(|gone| out += &(fact(gone) + "\n"));
    same("summary_facts", &out);
}

#[test]
fn extracts_of_several_sizes() {
    let (turns, mut out) = (turns(), String::new());
    for (from, to, target) in
        [(0, 6, 60), (0, 6, 200), (4, 12, 150), (0, 19, 90), (0, 19, 400), (0, 19, 2_000), (10, 11, 120), (7, 8, 9)]
    {
        let part = &turns[from..to.min(turns.len())];
        let text = extract::extract(part, target, &approximate);
        let facts = RequiredFacts::of(part);
        let survival = facts.survival(&text);
        let _ = writeln!(
            out,
            "== turns {from}..{to} in {target}: {} tokens, {} facts, {} ‰",
            approximate(&text),
            facts.len(),
            survival.milli()
        );
        for (kind, all, kept) in &survival.kinds {
            let _ = write!(out, "{} {kept}/{all}; ", kind.name());
        }
        let _ = writeln!(out, "\n{text}");
        for room in [30, 150, 600] {
            let kept = keep::fill(&facts, &text, room, &approximate);
            let _ = writeln!(out, "-- kept in {room}, {} still gone", facts.dropped(&keep::joined(&text, &kept)).len());
            for line in kept {
                let _ = writeln!(
                    out,
                    "[turn {}, {}{}] {}",
                    line.turn,
                    line.who,
                    if line.auto { ", auto" } else { "" },
                    line.text
                );
            }
        }
    }
    same("summary_extracts", &out);
}

#[test]
fn named_facts_that_a_text_lacks() {
    let text = "The port is 8443, the limit 1,500 ms; see `src/main.rs`, TokenBucket and \"too many open files\". \
                Error E0382 came of https://example.org/a?b=1, exit code 137. Should the index grow each night?";
    let mut out = String::new();
    for question in [
        "What about port 8443?",
        "And port 844?",
        "Is 1500ms enough?",
        "Is 15,000 ms enough?",
        "Open main.rs",
        "Open src/main.rs.",
        "Open src/main.r",
        "Why tokenBucket?",
        "Why TokenBucket?",
        "Why TokenBuckets now?",
        "It says \"Too Many open files\"",
        "It says \"too many closed files\"",
        "What is e0382?",
        "What is E0382?",
        "exit code 13",
        "Exit Code 137 again",
        "See https://example.org/a",
        "How does it grow?",
        "Run `cargo test --lib`",
        "",
        "nothing at all",
    ] {
        let _ = writeln!(
            out,
            "{question:?}: {}",
            if LackingFacts::of(question, text).is_empty() { "says" } else { "lacks" }
        );
    }
    same("summary_lacks", &out);
}

#[test]
fn sources_and_their_parts() {
    let (mut turns, mut out) = (turns(), String::new());
    turns[1].stays = Some(KeepReason::Pinned);
    turns[3].stays = Some(KeepReason::Excluded);
    turns[4].stays = Some(KeepReason::OtherLane);
    turns[5].number = 0;
    for count in [0, 1, 4, 6, 9, 19] {
        for up_to in [None, Some(0), Some(1), Some(2), Some(4), Some(5), Some(7), Some(40)] {
            for already in [None, Some(1), Some(3), Some(30)] {
                let result = match sources::choose(&turns[..count.min(turns.len())], up_to, already) {
                    Ok(choice) => format!("{choice:?}"),
                    Err(error) => error.to_string(),
                };
                let _ = writeln!(out, "{count} turns up to {up_to:?} already {already:?}: {result}");
            }
        }
    }
    for room in [1, 100, 300, 1_000, 100_000] {
        let _ = writeln!(out, "chunks of {room}: {:?}", parts::chunks(&turns, room, &approximate));
    }
    for most in [0, 1, 9, 40, 5_000] {
        let _ = writeln!(out, "== told with {most}\n{}", parts::to_prompt_text(&turns[2..5], most));
    }
    let answers = [
        "Intro line\n### Goals and open questions\n- one\n- two \n\n## Decided so far\n- Postgres\n- Postgres\n### Tried\n- slice",
        "intro line\n# To do next\n- keys\n### Goals\n-  one\n- three\n### Other\n- odd\n### Open questions: many\n- four",
        "",
    ];
    for many in 0..=answers.len() {
        let chosen: Vec<String> = answers[..many].iter().map(|text| (*text).to_owned()).collect();
        let _ = writeln!(out, "== {many} answers\n{}", parts::merge_answers(&chosen));
    }
    for (percent, most, original) in
        [(20, 2_000, 999), (20, 2_000, 100_000), (150, 2_000, 50), (0, 9, 9), (100, u32::MAX, u32::MAX)]
    {
        let _ = writeln!(out, "{percent}% of {original}, at most {most}: {}", Size { percent, most }.target(original));
    }
    for (original, tokens) in [(0, 0), (9, 0), (9, 9), (9, 8), (1_000, 1), (7, 3), (u32::MAX, 1)] {
        let _ =
            writeln!(out, "{original} to {tokens}: {:?}", ratio(original, tokens).map_err(|error| error.to_string()));
    }
    same("summary_sources", &out);
}
