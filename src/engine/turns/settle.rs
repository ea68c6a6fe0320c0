//! Normalizes an answer when it ends: gives tool calls unique ids, turns a call without a name or an answer without
//! text into a failure, and bounds absurd counts. Every correction becomes a diagnostic.
//! Not for: reading an answer (`llm`), or the effects of its end (`machine`).

use super::machine::Arrived;
use crate::domain::base::{Fields, RunId};
use crate::domain::call::tokens::grouped;
use crate::domain::call::{CallEnd, Diagnostic, Outcome, ProviderError, ProviderErrorKind, Usage, Wire};
use serde_json::Value;
use std::collections::HashSet;

/// Normalizes an answer. `wire` is the request and `expected` its estimated tokens. Returns the corrections.
pub(crate) fn settle(
    run: RunId,
    arrived: &mut Arrived,
    outcome: &mut Outcome,
    wire: &Wire,
    expected: u32,
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    diagnostics.extend(bound(&mut outcome.usage, expected));
    for (at, call) in arrived.calls.iter().enumerate().filter(|(_, call)| call.name.is_empty()) {
        let what = format!("Call {} of the answer names no tool; it was not run and is kept here.", at + 1);
        diagnostics.push(Diagnostic { what, raw: call.args.chars().take(2_000).collect() });
    }
    if outcome.end == CallEnd::Complete && !arrived.is_empty() {
        if let Some(what) = unfit(arrived) {
            outcome.end = CallEnd::Errored;
            outcome.error.get_or_insert(ProviderError {
                kind: ProviderErrorKind::Protocol,
                what: what.into(),
                hint: "Ask again, or try another model.".into(),
                status: None,
            });
        } else if !arrived.calls.is_empty() {
            diagnostics.extend(unique(run, arrived, wire));
        }
    }
    diagnostics
}

/// Returns why a complete answer is a failure; `None` if it is not.
fn unfit(arrived: &Arrived) -> Option<&'static str> {
    if arrived.calls.iter().any(|call| call.name.is_empty()) {
        return Some("The answer calls a tool without a name, so no tool was run.");
    }
    let silent = arrived.calls.is_empty() && arrived.text.trim().is_empty();
    silent.then_some("The answer has neither text nor a tool call.")
}

/// Gives a new id to each call whose id is not unique in the answer and the request.
fn unique(run: RunId, arrived: &mut Arrived, wire: &Wire) -> Vec<Diagnostic> {
    let mut taken = ids(wire);
    let mut diagnostics = Vec::new();
    for (at, call) in arrived.calls.iter_mut().enumerate() {
        if call.id.is_empty() || taken.insert(call.id.clone()) {
            continue;
        }
        let old = std::mem::replace(&mut call.id, fresh(run, at, &taken));
        taken.insert(call.id.clone());
        let what = format!(
            "Call {} of the answer ({}) has the id {old} of another call; it is sent back as {}.",
            at + 1,
            call.name,
            call.id
        );
        diagnostics.push(Diagnostic { what, raw: String::new() });
    }
    diagnostics
}

/// Returns a new id of nine letters and digits, the only form that every server accepts.
fn fresh(run: RunId, at: usize, taken: &HashSet<String>) -> String {
    let id = |salt: u64| {
        let fields = Fields::new("another call").text(&run.to_string()).number(at as u64).number(salt);
        fields.finish().to_string()[..9].to_owned()
    };
    (0..u64::MAX).map(id).find(|id| !taken.contains(id)).unwrap_or_default()
}

/// Returns the ids of the calls in a request.
fn ids(wire: &Wire) -> HashSet<String> {
    let request: Value = serde_json::from_slice(&wire.bytes).unwrap_or_default();
    let messages = request.get("messages").and_then(Value::as_array).into_iter().flatten();
    let calls = messages.filter_map(|message| message.get("tool_calls")?.as_array()).flatten();
    calls.filter_map(|call| call.get("id")?.as_str().map(str::to_owned)).collect()
}

/// Limits absurd numbers of cached tokens. Numbers that were too large to be kept were reported when they were read.
fn bound(usage: &mut Usage, expected: u32) -> Option<Diagnostic> {
    let before = std::mem::replace(usage, usage.bounded(expected));
    let number = |tokens: Option<u32>| grouped(tokens.unwrap_or(0).into());
    let what = format!(
        "The server reported {} cached tokens and {} written to the cache for a prompt of {}; at most the prompt \
            is counted.",
        number(before.cached_read),
        number(before.cache_write),
        number(before.prompt)
    );
    let is_reported = before.cached_read == Some(u32::MAX) || before.cache_write == Some(u32::MAX);
    (before != *usage && !is_reported).then_some(Diagnostic { what, raw: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::turns::machine::PartialCall;
    use proptest::prelude::*;
    use uuid::Uuid;

    fn settled(arrived: &mut Arrived, sent: &[String]) -> (Outcome, Vec<Diagnostic>) {
        let calls: Vec<Value> = sent.iter().map(|id| serde_json::json!({ "id": id })).collect();
        let body = serde_json::json!({ "messages": [{ "role": "assistant", "tool_calls": calls }] });
        let mut outcome = Outcome { finish_reason: Some("stop".into()), ..Outcome::of(CallEnd::Complete) };
        let wire = Wire::new(body.to_string().into_bytes());
        let diagnostics = settle(RunId(Uuid::nil()), arrived, &mut outcome, &wire, 100);
        (outcome, diagnostics)
    }

    #[test]
    fn an_answer_without_text_or_a_tool_name_is_a_failure() {
        let call = |name: &str| PartialCall { name: name.into(), args: "{\"x\":1}".into(), ..PartialCall::default() };
        for (text, reasoning, calls, end, count) in [
            ("hi", "", vec![], CallEnd::Complete, 0),
            ("", "hm", vec![], CallEnd::Errored, 0),
            (" \n", "", vec![], CallEnd::Errored, 0),
            ("", "", vec![call("f")], CallEnd::Complete, 0),
            ("I look", "", vec![call("f"), call("")], CallEnd::Errored, 1),
        ] {
            let mut arrived = Arrived { text: text.into(), reasoning: reasoning.into(), calls };
            let (outcome, diagnostics) = settled(&mut arrived, &[]);
            assert_eq!((outcome.end, diagnostics.len()), (end, count), "{arrived:?}");
            assert_eq!(outcome.error.is_some(), end == CallEnd::Errored);
            assert!(diagnostics.iter().all(|diagnostic| diagnostic.raw == "{\"x\":1}"));
        }
    }

    proptest! {
        #[test]
        fn no_two_calls_have_one_id(
            ids in proptest::collection::vec("[ab]{1,2}", 1..6), sent in proptest::collection::vec("[ab]{1,2}", 0..4)
        ) {
            let call = |id: &String| PartialCall { id: id.clone(), name: "f".into(), ..PartialCall::default() };
            let mut arrived = Arrived { calls: ids.iter().map(call).collect(), ..Arrived::default() };
            let (_, diagnostics) = settled(&mut arrived, &sent);
            let after: Vec<&str> = arrived.calls.iter().map(|call| call.id.as_str()).collect();
            let all: HashSet<&str> = after.iter().copied().chain(sent.iter().map(String::as_str)).collect();
            let sent: HashSet<&String> = sent.iter().collect();
            prop_assert_eq!(all.len(), after.len() + sent.len());
            let renamed = ids.iter().zip(&after).filter(|(old, new)| old != *new).count();
            prop_assert_eq!(diagnostics.len(), renamed);
            let first = |id: &String, at: usize| !sent.contains(id) && !ids[..at].contains(id);
            for (at, id) in ids.iter().enumerate() {
                prop_assert_eq!(first(id, at), id == after[at], "only a taken id is changed");
            }
        }
    }
}
