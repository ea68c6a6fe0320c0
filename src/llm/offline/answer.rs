//! Builds the answers of the offline model: it identifies itself and quotes its context. Pure: the same request gets
//! the same answer.
//! Not for: pacing and counting (`model`).

use super::body::Body;
use crate::domain::call::tokens::grouped;
use crate::domain::conversation::memory::one_line;
use crate::llm::clip;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// Characters per quote.
const QUOTE_CHARS: usize = 400;
/// Maximum passages quoted.
const MAX_PASSAGES: usize = 3;
/// The second offline model. It names the single best passage, so that a race of both gives two different answers.
pub(crate) const BRIEF: &str = "offline-brief";
/// Maximum tool calls per message.
const MAX_CALLS: usize = 8;

/// A tool call written in the user's message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WrittenCall {
    pub(crate) name: String,
    pub(crate) args: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Text(String),
    Calls(Vec<WrittenCall>),
}

pub(crate) fn answer(body: &Body) -> Answer {
    let results = body.last_user().map_or(&[][..], |at| &body.messages[at + 1..]);
    let results: Vec<&str> = results.iter().filter(|m| m.role == "tool").map(|m| m.text.as_str()).collect();
    let (calls, refused) = written_calls(body);
    if results.is_empty() && !calls.is_empty() {
        return Answer::Calls(calls);
    }
    let brief = body.model == BRIEF;
    let mut text = if brief { BRIEF_INTRO.to_owned() } else { intro(body) };
    for why in refused {
        text.push_str("\n\n");
        text.push_str(&why);
    }
    if results.is_empty() && brief {
        let found = passages(body);
        let best = found.iter().find(|passage| passage.role == "assistant").or(found.first());
        text.push_str(&best.map_or_else(|| "\n\nThere is none.".to_owned(), Passage::to_text));
    } else if results.is_empty() {
        quote_context(body, &mut text);
    } else {
        for result in results {
            text.push_str("\n\nThe tool returned:\n\n");
            text.push_str(&quote(result));
        }
    }
    if wants_state(body) {
        text.push_str(&state(body));
    }
    Answer::Text(text)
}

const BRIEF_INTRO: &str =
    "I am the brief version of the offline model: I name only the one earlier passage that fits your message best.";

fn intro(body: &Body) -> String {
    let characters: usize = body.messages.iter().map(|message| message.text.chars().count()).sum();
    format!(
        "I am the offline model, a placeholder that only quotes its context. I was given {} messages, {} \
            characters in all.",
        body.messages.len(),
        grouped(characters as u64)
    )
}

fn quote_context(body: &Body, text: &mut String) {
    let question = body.question();
    if question.trim().is_empty() {
        text.push_str("\n\nNone of them is a question from you.");
        return;
    }
    text.push_str("\n\nYour last message:\n\n");
    text.push_str(&quote(question));
    let found = passages(body);
    if found.is_empty() {
        text.push_str("\n\nNo earlier text shares words with it.");
        if let Some(tool) = body.tools.iter().find(|tool| *tool == "list_dir").or(body.tools.first()) {
            let _ = write!(text, "\n\nA line such as `call {tool} {{}}` in a message makes me call that tool.");
        }
        return;
    }
    text.push_str("\n\nThe earlier text that shares the most words with it:");
    for passage in found {
        text.push_str(&passage.to_text());
    }
}

struct Passage<'a> {
    at: usize,
    role: &'a str,
    text: &'a str,
    score: f64,
}

impl Passage<'_> {
    fn to_text(&self) -> String {
        format!("\n\nFrom message {} ({}):\n\n{}", self.at + 1, self.role, quote(self.text))
    }
}

/// Returns the paragraphs before the question that share the most with it. Each word is weighted by how few paragraphs
/// contain it.
fn passages(body: &Body) -> Vec<Passage<'_>> {
    let Some(last) = body.last_user() else { return Vec::new() };
    let wanted = words(body.question());
    let earlier = body.messages[..last]
        .iter()
        .enumerate()
        .filter(|(_, message)| message.role != "system" && message.role != "developer");
    let earlier = earlier.map(|(at, message)| (at, message.role.as_str(), message.text.as_str()));
    let attachments = std::iter::once((last, "with your message", body.attachments()));
    let mut all: Vec<(Passage<'_>, HashSet<String>)> = Vec::new();
    for (at, role, text) in earlier.chain(attachments) {
        for text in text.split("\n\n").map(str::trim).filter(|text| !text.is_empty()) {
            let shared = words(text).intersection(&wanted).cloned().collect();
            all.push((Passage { at, role, text, score: 0.0 }, shared));
        }
    }
    let mut frequency: HashMap<&str, f64> = HashMap::new();
    for word in all.iter().flat_map(|(_, shared)| shared) {
        *frequency.entry(word).or_default() += 1.0;
    }
    let scores: Vec<f64> =
        all.iter().map(|(_, shared)| shared.iter().map(|word| 1.0 / frequency[word.as_str()]).sum()).collect();
    let mut found: Vec<Passage<'_>> =
        all.into_iter().zip(scores).map(|((passage, _), score)| Passage { score, ..passage }).collect();
    found.retain(|passage| passage.score > 0.0);
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.at.cmp(&a.at)));
    found.truncate(MAX_PASSAGES);
    found
}

/// Returns the content words of a text: three letters or more, in lower case.
fn words(text: &str) -> HashSet<String> {
    const COMMON: [&str; 24] = [
        "the", "and", "for", "that", "this", "with", "you", "are", "was", "what", "have", "not", "but", "can", "how",
        "does", "from", "they", "will", "there", "which", "about", "would", "your",
    ];
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= 3 || (!word.is_ascii() && !word.is_empty()))
        .map(str::to_lowercase)
        .filter(|word| !COMMON.contains(&word.as_str()))
        .collect()
}

/// Marks every line, so that quoted text, especially a state block, cannot be mistaken for a part of the answer.
fn quote(text: &str) -> String {
    let text = clip(text.trim(), QUOTE_CHARS);
    let lines: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
    if lines.is_empty() { "> (nothing)".to_owned() } else { lines.join("\n") }
}

/// Returns the calls written as `call TOOL {json}` in lines of the last user message, and the reasons why others are
/// not made.
fn written_calls(body: &Body) -> (Vec<WrittenCall>, Vec<String>) {
    let (mut calls, mut refused) = (Vec::new(), Vec::new());
    for line in body.question().lines().filter_map(|line| line.trim().strip_prefix("call ")) {
        let (name, given) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        let args = if given.trim().is_empty() { "{}" } else { given.trim() };
        let known = body.tools.iter().any(|tool| tool == name);
        let valid = serde_json::from_str::<serde_json::Value>(args).is_ok_and(|value| value.is_object());
        match (known, valid) {
            (true, true) if calls.len() < MAX_CALLS => {
                calls.push(WrittenCall { name: name.to_owned(), args: args.to_owned() });
            }
            (true, true) => refused.push(format!("I make at most {MAX_CALLS} calls for one message.")),
            (true, false) => refused.push(format!("I don't call {name}: its arguments are not a JSON object.")),
            (false, true) if !given.is_empty() => refused.push(format!("I have no tool called {name}.")),
            (false, _) => {}
        }
    }
    (calls, refused)
}

/// Returns whether the instructions ask for a state block. They are in the first message, regardless of its role in the
/// dialect.
fn wants_state(body: &Body) -> bool {
    let leading = body.messages.iter().take(1);
    let instructions = body.messages.iter().filter(|message| message.role == "system" || message.role == "developer");
    leading.chain(instructions).any(|message| message.text.contains("---STATE---"))
}

fn state(body: &Body) -> String {
    let question = one_line(body.question());
    let goal = if question.is_empty() { "none yet".to_owned() } else { clip(&question, 160) };
    let turns = body.messages.iter().filter(|message| message.role == "user").count();
    let answered =
        body.messages.iter().rev().find(|message| message.role == "assistant" && !message.text.trim().is_empty());
    // Only the first paragraph: the others quote messages that a person may exclude later.
    let first = |text: &str| text.trim().split("\n\n").next().unwrap_or_default().to_owned();
    let resolved =
        answered.map_or_else(|| "nothing yet".to_owned(), |message| clip(&one_line(&first(&message.text)), 160));
    let anchors = anchors(body.question());
    let anchors = if anchors.is_empty() { "none".to_owned() } else { anchors.join(", ") };
    format!(
        "\n\n---STATE---\nGoal: {goal}\nContext: {} messages, {turns} of them yours\nResolved: {resolved}\n\
         Technical Anchors: {anchors}\n---END STATE---\n",
        body.messages.len()
    )
}

/// Returns words that look like names: paths, identifiers, numbers with a unit.
fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_' | '~'));
        let inner = word.get(1..).unwrap_or_default();
        let technical = inner.contains(['/', '_', '.', ':']) || word.chars().any(|c| c.is_ascii_digit());
        if technical && word.chars().count() <= 80 && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
        if found.len() == 6 {
            break;
        }
    }
    found
}
