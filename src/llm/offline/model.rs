//! The built-in offline model. It is not a language model, and says so. With it, people can try every part of the
//! program without a key or a server: it streams, stops, reports usage, calls tools, and keeps a state block.
//! Not for: the text of its answers (`answer`).
//!
//! A line `call TOOL {json}` in the last user message calls a tool, if the request offers that tool.

use super::answer::{Answer, answer};
use super::body::Body;
use super::{Progress, pause};
use crate::domain::base::{Hash, RunId};
use crate::domain::call::provider::ProviderErrorKind as Kind;
use crate::domain::call::{CallEnd, CountTokens, Delta, Encoding, Outcome, Provider, Usage, Wire};
use crate::llm::http::problem;
use std::sync::Arc;
use std::time::Duration;

/// Pause between two pieces of an answer.
const PACE: Duration = Duration::from_millis(12);
/// Minimum characters per piece.
const MIN_PIECE_CHARS: usize = 12;
/// Overhead in tokens: per message, and per prompt.
const FRAMING: (u32, u32) = (4, 3);

/// The offline model.
pub struct Offline {
    tokens: Arc<dyn CountTokens>,
    pace: Duration,
}

impl Offline {
    /// Creates the model with a readable pace.
    pub fn new(tokens: Arc<dyn CountTokens>) -> Self {
        Self { tokens, pace: PACE }
    }

    /// Sets another pause between pieces; zero for none.
    #[must_use]
    pub fn with_pace(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    fn count(&self, text: &str) -> u32 {
        self.tokens.count(Encoding::O200kBase, text)
    }

    fn prompt(&self, body: &Body) -> u32 {
        let messages = body.messages.iter().map(|message| self.count(&message.text).saturating_add(FRAMING.0));
        let sum = messages.fold(FRAMING.1, u32::saturating_add);
        if body.tools_json.is_empty() { sum } else { sum.saturating_add(self.count(&body.tools_json)) }
    }

    fn stream_text(
        &self,
        text: &str,
        limit: Option<u32>,
        progress: &mut Progress,
        sink: &mut dyn FnMut(Delta) -> bool,
    ) -> StreamedText {
        let mut used = 0_u32;
        for piece in pieces(text) {
            let cost = self.count(piece);
            if limit.is_some_and(|limit| used.saturating_add(cost) > limit) {
                return StreamedText { end: CallEnd::Truncated, tokens: used };
            }
            used += cost;
            progress.record(true);
            if !sink(Delta::Text(piece.to_owned())) || !pause(self.pace, sink) {
                return StreamedText { end: CallEnd::Cancelled, tokens: used };
            }
        }
        StreamedText { end: CallEnd::Complete, tokens: used }
    }
}

struct StreamedText {
    end: CallEnd,
    tokens: u32,
}

impl Provider for Offline {
    fn post(&self, run: RunId, wire: &Wire, sink: &mut dyn FnMut(Delta) -> bool) -> Outcome {
        let mut progress = Progress::start();
        let Some(body) = Body::read(&wire.bytes) else {
            let error = problem(Kind::Refused, "the offline model can't read the request: it has no messages");
            return Outcome { error: Some(error), ..progress.outcome(CallEnd::Errored, None, Usage::default()) };
        };
        if !sink(Delta::Accepted) {
            return progress.outcome(CallEnd::Cancelled, None, Usage::default());
        }
        let prompt = self.prompt(&body);
        let (streamed, finish) = match answer(&body) {
            Answer::Text(text) => (self.stream_text(&text, body.limit, &mut progress, sink), "stop"),
            Answer::Calls(calls) => {
                let mut streamed = StreamedText { end: CallEnd::Complete, tokens: 0 };
                for (index, call) in (0_u32..).zip(calls) {
                    streamed.tokens += self.count(&call.name) + self.count(&call.args);
                    progress.record(true);
                    let id = format!("{}{index}", Hash::of(run.to_string().as_bytes()).short());
                    if !sink(Delta::Call { index, id: Some(id), name: Some(call.name), args: call.args }) {
                        streamed.end = CallEnd::Cancelled;
                        break;
                    }
                }
                (streamed, "tool_calls")
            }
        };
        if streamed.end == CallEnd::Cancelled {
            return progress.outcome(CallEnd::Cancelled, None, Usage::default());
        }
        let usage = Usage { prompt: Some(prompt), completion: Some(streamed.tokens), ..Usage::default() };
        let end = if sink(Delta::Usage(usage)) { streamed.end } else { CallEnd::Cancelled };
        let finish = if end == CallEnd::Truncated { "length" } else { finish };
        progress.outcome(end, Some(finish), usage)
    }
}

/// Splits a text into small pieces that end after white space where possible.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut length = 0;
        let end = rest.char_indices().find_map(|(at, c)| {
            length += 1;
            let enough = (length >= MIN_PIECE_CHARS && c.is_whitespace()) || length >= 4 * MIN_PIECE_CHARS;
            enough.then_some(at + c.len_utf8())
        });
        let (piece, tail) = rest.split_at(end.unwrap_or(rest.len()));
        rest = tail;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::conversation::state;
    use serde_json::{Value, json};
    use uuid::Uuid;

    struct Quarter;

    impl CountTokens for Quarter {
        fn count(&self, _: Encoding, text: &str) -> u32 {
            crate::domain::call::tokens::approximate(text)
        }
    }

    fn post(body: &Value, sink: &mut dyn FnMut(Delta) -> bool) -> Outcome {
        let offline = Offline::new(Arc::new(Quarter)).with_pace(Duration::ZERO);
        offline.post(RunId(Uuid::nil()), &Wire::new(body.to_string().into_bytes()), sink)
    }

    fn ask(body: &Value) -> (String, Vec<Delta>, Outcome) {
        let (mut text, mut others) = (String::new(), Vec::new());
        let outcome = post(body, &mut |delta| {
            match delta {
                Delta::Text(piece) => text.push_str(&piece),
                other => others.push(other),
            }
            true
        });
        (text, others, outcome)
    }

    fn conversation() -> Value {
        json!({"messages": [
            {"role": "system", "content": "Be kind. End with a ---STATE--- block."},
            {"role": "user", "content": "Where is the harbour crane kept?"},
            {"role": "assistant", "content": "The harbour crane stands at pier nine.\n\nLunch is at noon."},
            {"role": "user", "content": [{"type": "text", "text": "Is the crane in src/pier.rs still at the pier?"}]}
        ]})
    }

    #[test]
    fn quotes_its_context_and_says_what_it_is() {
        let (text, _, outcome) = ask(&conversation());
        assert!(text.contains("a placeholder") && text.contains("4 messages"), "{text}");
        assert!(text.contains("> Is the crane in src/pier.rs"), "{text}");
        let (pier, crane) = (text.find("> The harbour crane stands").unwrap(), text.find("> Where is the").unwrap());
        assert!(pier < crane && !text.contains("> Lunch"), "{text}");
        assert_eq!((outcome.end, outcome.any, outcome.attempts), (CallEnd::Complete, true, 1));
        assert_eq!(outcome.finish_reason.as_deref(), Some("stop"));
        assert!(outcome.usage.prompt.unwrap() > 20 && outcome.usage.completion.unwrap() > 20);
    }

    #[test]
    fn content_before_the_question_is_context() {
        let question =
            "## Code of pier\n\n<<<1\nfn crane() {}\n<<<1\n\nfn lunch() {}\n## Message\n\nWhere is the crane?";
        let body =
            json!({"tools": [{"function": {"name": "list_dir"}}], "messages": [{"role": "user", "content": question}]});
        let (text, ..) = ask(&body);
        assert!(text.contains("> fn crane()") && !text.contains("lunch"), "{text}");
        assert!(!text.contains("call list_dir"), "{text}");
        let lost =
            json!({"tools": [{"function": {"name": "list_dir"}}], "messages": [{"role": "user", "content": "Hello"}]});
        assert!(ask(&lost).0.contains("call list_dir {}"), "the answer says how to call a tool");
    }

    #[test]
    fn the_second_model_answers_differently() {
        let mut body = conversation();
        body["model"] = json!("offline-brief");
        let (brief, ..) = ask(&body);
        assert!(brief.contains("brief version") && brief.contains("> The harbour crane stands"), "{brief}");
        assert!(!brief.contains("> Where is the harbour") && brief.contains("---STATE---"), "{brief}");
        body["messages"] = json!([{"role": "user", "content": "Hello"}]);
        assert!(ask(&body).0.contains("There is none."));
    }

    #[test]
    fn keeps_a_state_block_when_asked() {
        let (text, ..) = ask(&conversation());
        let block = state::find(&text, true).unwrap().text;
        let fields: Vec<(&str, &str)> = block.lines().filter_map(|line| line.split_once(": ")).collect();
        let names: Vec<&str> = fields.iter().map(|field| field.0).collect();
        assert_eq!(names, ["Goal", "Context", "Resolved", "Technical Anchors"]);
        assert!(fields[0].1.starts_with("Is the crane") && fields[3].1.contains("src/pier.rs"), "{fields:?}");
        let mut plain = conversation();
        plain["messages"][0]["content"] = json!("Be kind.");
        plain["messages"][3]["content"] = json!("What of this:\n---STATE---\nGoal: none\n---END STATE---");
        assert_eq!(state::find(&ask(&plain).0, true), None);
    }

    #[test]
    fn calls_tools_in_the_fixed_form() {
        let tools = json!([{"type": "function", "function": {"name": "read_file"}}]);
        let question = "Look:\ncall read_file {\"path\": \"a.rs\"}\ncall rm {\"x\":1}";
        let mut body = json!({"tools": tools, "messages": [{"role": "user", "content": question}]});
        let (text, others, outcome) = ask(&body);
        assert!(text.is_empty());
        assert_eq!(outcome.finish_reason.as_deref(), Some("tool_calls"));
        let expected = |delta: &Delta| matches!(delta, Delta::Call { index: 0, id: Some(_), name: Some(name), args } if name == "read_file" && args == "{\"path\": \"a.rs\"}");
        assert_eq!(others.iter().filter(|delta| expected(delta)).count(), 1);
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": []}));
        messages.push(json!({"role": "tool", "tool_call_id": "x", "content": "fn main() {}"}));
        let (text, others, _) = ask(&body);
        assert!(text.contains("> fn main() {}") && text.contains("have no tool called rm"), "{text}");
        assert!(!others.iter().any(|delta| matches!(delta, Delta::Call { .. })));
    }

    #[test]
    fn stops_when_told_and_at_its_limit() {
        let mut seen = 0;
        let outcome = post(&conversation(), &mut |delta| {
            seen += u32::from(matches!(delta, Delta::Text(_)));
            seen < 3
        });
        assert_eq!((outcome.end, outcome.any, seen), (CallEnd::Cancelled, true, 3));
        let mut body = conversation();
        body["max_tokens"] = json!(10);
        let (text, _, outcome) = ask(&body);
        assert_eq!((outcome.end, outcome.finish_reason.as_deref()), (CallEnd::Truncated, Some("length")));
        assert!(!text.is_empty() && outcome.usage.completion.unwrap() <= 10);
    }

    #[test]
    fn bad_requests_are_refused() {
        let (_, _, outcome) = ask(&json!({"prompt": "hi"}));
        assert_eq!((outcome.end, outcome.error.unwrap().kind), (CallEnd::Errored, Kind::Refused));
        let (text, ..) = ask(&json!({"messages": []}));
        assert!(text.contains("0 messages"));
    }

    proptest::proptest! {
        #[test]
        fn any_question_is_answered(question in "(\\PC|call |\n|---STATE---){0,80}") {
            let (text, ..) = ask(&json!({"messages": [{"role": "user", "content": question}]}));
            proptest::prop_assert!(text.contains("offline model"));
        }
    }
}
