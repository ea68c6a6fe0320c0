//! Answers of the offline model and of recordings to many requests.

use super::same;
use pleach::domain::base::RunId;
use pleach::domain::call::tokens::approximate;
use pleach::domain::call::{CountTokens, Delta, Encoding, Outcome, Provider, Wire};
use pleach::llm::offline::model::Offline;
use pleach::llm::offline::scripted::Scripted;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

struct Quarter;

impl CountTokens for Quarter {
    fn count(&self, _: Encoding, text: &str) -> u32 {
        approximate(text)
    }
}

/// A model's answer to a request when the receiver stops after a number of deltas.
fn answer(model: &dyn Provider, body: &Value, most: usize) -> String {
    let mut deltas = Vec::new();
    let wire = Wire::new(body.to_string().into_bytes());
    let outcome = model.post(RunId(Uuid::from_u128(7)), &wire, &mut |delta| {
        deltas.push(delta);
        deltas.len() < most
    });
    let mut out = String::new();
    let mut text = String::new();
    let mut pieces = Vec::new();
    for delta in &deltas {
        if let Delta::Text(piece) = delta {
            text.push_str(piece);
            pieces.push(piece.chars().count().to_string());
        } else if *delta != Delta::Tick {
            let _ = writeln!(out, "    {delta:?}");
        }
    }
    let _ = writeln!(out, "    pieces {}", pieces.join(" "));
    for line in text.lines() {
        let _ = writeln!(out, "    | {line}");
    }
    let Outcome { end, any, finish_reason, usage, error, attempts, ttft_ms, .. } = outcome;
    let error = error.map(|error| (error.kind, error.what));
    let first = ttft_ms.is_some();
    let _ = writeln!(out, "    {end:?} any {any} {finish_reason:?} {usage:?} {error:?} {attempts} first {first}");
    out
}

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// Requests, by what is special about them.
#[allow(clippy::too_many_lines, reason = "a list")]
fn requests() -> Vec<Value> {
    let talk = vec![
        message("system", "Be kind."),
        message("user", "Where is the harbour crane kept?"),
        message(
            "assistant",
            "The harbour crane stands at pier nine.\n\nLunch is at noon. The pier is long.\n\nThe boat lies there.",
        ),
        message("tool", "crane: red\n\npier: nine, and the harbour is wide"),
        message("assistant", "It is red.\n\nThe crane and the pier are both old."),
        message("developer", "harbour crane pier"),
    ];
    let asks = |text: &str| {
        let mut all = talk.clone();
        all.push(message("user", text));
        all
    };
    let tools = json!([
        {"type": "function", "function": {"name": "read_file"}},
        {"type": "function", "function": {"name": "list_dir"}}
    ]);
    let nine: Vec<String> = (0..9).map(|at| format!("call read_file {{\"path\": \"{at}\"}}\n")).collect();
    let nine = nine.concat();
    let long = format!("{} crane", "word ".repeat(120));
    vec![
        json!({"prompt": "hi"}),
        json!({"messages": []}),
        json!({"messages": [message("user", " \n")]}),
        json!({"messages": [message("assistant", "only this")]}),
        json!({"messages": [message("user", "Hello")], "tools": tools}),
        json!({"messages": [message("user", "Hello")], "tools": [{"function": {"name": "search"}}]}),
        json!({"messages": asks("Is the crane still at the pier of the harbour?")}),
        json!({"messages": asks("What about the old red one?"), "max_tokens": 40}),
        json!({"messages": asks("What about the old red one?"), "max_tokens": 40, "max_completion_tokens": 60}),
        json!({"messages": asks("crane pier"), "model": "offline-brief"}),
        json!({"messages": [message("user", "Hello")], "model": "offline-brief"}),
        json!({"messages": [message("user", "crane one"), message("user", "crane two")], "model": "offline-brief"}),
        json!({"messages": asks(&long)}),
        json!({"messages": [message("user", &format!("crane {}", "x".repeat(500))), message("user", "crane?")]}),
        json!({"messages": [message("user", "日本語 の 話"), message("user", "語 日本語 ab the 話")]}),
        json!({"messages": [message("user", "## Code of pier\n\nfn crane() {}\n\nfn lunch() {}\n## Message\n\nWhere is the crane?")]}),
        json!({"messages": [message("user", "## Code of pier\n\nfn crane() {}")]}),
        json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "image"}, {"text": "two"}]}, {"role": "user"}]}),
        json!({"messages": [message("user", "Look:\ncall read_file {\"path\": \"a.rs\"}\n  call list_dir\ncall rm {\"x\":1}\ncall rm\ncall read_file [1]\ncall read_file {oops")], "tools": tools}),
        json!({"messages": [message("user", &nine)], "tools": tools}),
        json!({"messages": [message("user", "call rm {}\ncall read_file 7")], "tools": tools}),
        json!({"messages": [message("user", "call read_file {}"), message("assistant", ""), message("tool", "fn main() {}\n\nend"), message("tool", " ")], "tools": tools}),
        json!({"messages": [message("system", "End with a ---STATE--- block."), message("user", "Fix src/pier.rs:12 and the 42 cranes, please, with v1.2 and a_b and (x/y) again 42 and ~/z and 9am")]}),
        json!({"messages": [message("user", "Keep ---STATE---"), message("assistant", "It is\ndone.\n\nMore."), message("user", "   ")]}),
        json!({"messages": [message("user", "x"), message("developer", "---STATE---"), message("assistant", " "), message("user", &"goal ".repeat(60))]}),
        json!({"messages": [message("user", "x"), message("user", "---STATE---")]}),
    ]
}

#[test]
fn the_offline_model_answers() {
    let model = Offline::new(Arc::new(Quarter)).with_pace(Duration::ZERO);
    let mut out = String::new();
    for request in requests() {
        let name: String = request.to_string().chars().take(400).collect();
        let _ = write!(out, "{name}\n{}", answer(&model, &request, usize::MAX));
    }
    let last = json!({"messages": [message("user", "Tell me of the cranes")]});
    for most in [1, 2, 3] {
        let _ = write!(out, "stopped after {most}\n{}", answer(&model, &last, most));
    }
    let calls = json!({"messages": [message("user", "call f {}\ncall f {}")], "tools": [{"function": {"name": "f"}}]});
    for most in [2, 3, 4, 5] {
        let _ = write!(out, "calls stopped after {most}\n{}", answer(&model, &calls, most));
    }
    same("llm_offline", &out);
}

#[test]
fn recordings_answer() {
    let recording = r#"
        # a comment
        {"match": "b", "deltas": [{"text": "to b"}], "end": "truncated"}
        {"deltas": [{"text": "on"}, {"wait_ms": 1}, {"text": "e"}, {"usage": {"prompt": 3, "completion": 1}}]}
        {"match": "call", "deltas": [{"reasoning": "hm"}, {"call": {"name": "f", "args": "{"}}, {"call": {"index": 0, "args": "}"}}], "finish": "tool_calls"}
        {"deltas": [{"text": "two"}], "end": "errored", "error": "boom"}
        {"deltas": [{"usage": {"prompt": 3}}], "end": "errored"}
        {"deltas": [], "end": "cancelled", "finish": "own"}
    "#;
    let mut out = String::new();
    let scripted = Scripted::read("r.jsonl", recording).unwrap();
    for question in ["a", "b", "b", "call it", "x", "y", "z", "call b"] {
        let _ = write!(
            out,
            "{question}\n{}",
            answer(&scripted, &json!({"messages": [message("user", question)]}), usize::MAX)
        );
    }
    let digest = Wire::new(json!({"messages": [message("user", "q")]}).to_string().into_bytes()).digest;
    let by_digest = format!(
        "{{\"digest\": \"{digest}\", \"deltas\": [{{\"text\": \"known\"}}, {{\"wait_ms\": 90}}, {{\"text\": \"on\"}}]}}"
    );
    let scripted = Scripted::read("r.jsonl", &by_digest).unwrap();
    for (question, most) in [("q", usize::MAX), ("other", 9), ("q", 1), ("q", 2), ("q", 3), ("q", 4), ("q", 5)] {
        let _ = write!(
            out,
            "{question} {most}\n{}",
            answer(&scripted, &json!({"messages": [message("user", question)]}), most)
        );
    }
    for wrong in [
        "{",
        "{\"deltas\": 3}",
        "\n\n{\"deltas\": [], \"x\": 1}",
        "{\"deltas\": [{\"call\": {\"nam\": \"x\"}}]}",
        "{\"deltas\": [], \"end\": \"Complete\"}",
    ] {
        let _ = writeln!(out, "{wrong:?} {}", Scripted::read("r.jsonl", wrong).unwrap_err());
    }
    same("llm_recordings", &out);
}
