//! The replayed conversations: from a file in the import format, or a generated technical one.

use crate::support::bench::Say;
use serde_json::Value;
use std::collections::BTreeMap;

/// Turns of the generated conversation.
const MADE: usize = 120;
/// Earlier exchanges that the state block mentions, one line each.
const KNOWN: usize = 6;

/// A question and its answer.
pub(crate) struct Exchange {
    pub(crate) asked: String,
    pub(crate) answered: String,
    /// Milliseconds since 1970.
    pub(crate) at: i64,
    /// Characters of a tool's result before the answer; 0 for no call.
    pub(crate) tool: usize,
}

pub(crate) struct Talk {
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) tools: bool,
}

/// The model's answer to one question: possibly a call, then the text with the state block that it would keep.
pub(crate) fn answers(all: &[Exchange], at: usize, one: &Exchange) -> Vec<Vec<Say>> {
    let call = (one.tool > 0).then(|| vec![Say::Call("echo".into(), format!("{{\"size\":{}}}", one.tool))]);
    let line = |text: &str| text.split_whitespace().take(14).collect::<Vec<_>>().join(" ");
    let known = all[at.saturating_sub(KNOWN)..=at].iter().map(|earlier| format!("- {}\n", line(&earlier.answered)));
    let state = format!("Goal: {}\nFacts:\n{}", line(&one.asked), known.collect::<String>());
    let answer = format!("{}\n\n---STATE---\n{state}---END STATE---\n", one.answered);
    call.into_iter().chain([vec![Say::Text(answer)]]).collect()
}

/// From the given file, or generated.
pub(crate) fn talks() -> Vec<Talk> {
    let file = std::env::args().skip(1).find(|arg| std::path::Path::new(arg).extension().is_some_and(|e| e == "jsonl"));
    file.map_or_else(|| vec![made()], |file| read(&file))
}

fn read(file: &str) -> Vec<Talk> {
    let mut sessions: BTreeMap<String, Vec<Exchange>> = BTreeMap::new();
    for line in std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}")).lines() {
        let value: Value = serde_json::from_str(line).expect("a JSON line");
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let at = text("created_at").parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_millisecond);
        let exchanges = sessions.entry(text("session")).or_default();
        let content = text("content");
        match (text("role").as_str(), exchanges.last_mut()) {
            ("user", Some(last)) if last.answered.is_empty() => {
                last.asked = format!("{}\n{content}", last.asked);
            }
            ("user", _) => exchanges.push(Exchange { asked: content, answered: String::new(), at, tool: 0 }),
            ("assistant", Some(last)) if last.answered.is_empty() => last.answered = content,
            ("assistant", Some(last)) => last.answered = format!("{}\n{content}", last.answered),
            _ => {}
        }
    }
    let whole = |exchanges: Vec<Exchange>| {
        let kept = exchanges.into_iter().filter(|one| !one.asked.trim().is_empty() && !one.answered.trim().is_empty());
        Talk { exchanges: kept.collect(), tools: false }
    };
    sessions.into_values().map(whole).collect()
}

/// Questions of about 40 tokens and answers of about 300 to 900. Every fourth reads a file first.
fn made() -> Talk {
    let places = ["the scheduler", "the parser", "the cache", "the importer", "the renderer", "the queue", "the index"];
    let faults =
        ["blocks", "drops entries", "grows without bound", "returns early", "reads stale data", "retries twice"];
    let exchange = |n: usize| {
        let (subject, act) = (places[n * 5 % places.len()], faults[n * 11 % faults.len()]);
        let port = 4_000 + n * 37 % 900;
        let asked = format!(
            "In step {n} {subject} {act} once the worker on port {port} has been idle for {} seconds. I have looked at \
             src/part_{}.rs and cannot see why. What should I check, and what did we decide about it before?",
            n * 13 % 300,
            n % 17
        );
        let reason = |k: usize| {
            format!(
                "Reason {k}: {subject} keeps entry {} of batch {} while `flush_{}` runs, so the lock on slot {} is held for \
                 {} ms and every caller behind it waits. ",
                n * 7 + k,
                n % 23,
                n % 9,
                k * 3 + n % 5,
                n * 19 % 700 + k
            )
        };
        let answered: String = (0..6 + n * 3 % 13).map(reason).collect();
        let tool = if n.is_multiple_of(4) { 600 + n * 211 % 5_000 } else { 0 };
        let at = 1_750_000_000_000 + i64::try_from(n).expect("small") * 180_000;
        Exchange { asked, answered, at, tool }
    };
    Talk { exchanges: (0..MADE).map(exchange).collect(), tools: true }
}
