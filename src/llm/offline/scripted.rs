//! A model that replays a recording: the same answers every time, without a server.
//! Not for: making recordings.
//!
//! A recording is JSON lines; empty lines and lines that begin with `#` are skipped. Each line is one answer:
//!
//! ```json
//! {"match": "login", "deltas": [{"text": "Hello"}, {"reasoning": "hm"}, {"wait_ms": 20},
//!  {"call": {"index": 0, "id": "c1", "name": "read_file", "args": "{}"}}, {"usage": {"prompt": 9, "completion": 2}}],
//!  "end": "complete", "finish": "stop", "error": "a sentence, for the end errored"}
//! ```
//!
//! `match` is a substring of the last user message (absent: any) and `digest` the hex digest of the request (absent:
//! any). The first unused line that matches answers. Once all matching lines are used, the last of them answers again.
//! `end` is `complete` (the default), `truncated`, `errored`, or `cancelled`.

use super::body::Body;
use super::{Progress, pause};
use crate::domain::base::RunId;
use crate::domain::call::provider::ProviderErrorKind as Kind;
use crate::domain::call::{CallEnd, Delta, Outcome, Provider, Usage, Wire};
use crate::llm::LlmError;
use crate::llm::http::problem;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Limit of a recording in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "match")]
    part: Option<String>,
    digest: Option<String>,
    deltas: Vec<Piece>,
    #[serde(default)]
    end: CallEnd,
    finish: Option<String>,
    error: Option<String>,
}

#[derive(Deserialize, Debug, Clone)]
#[serde(rename_all = "snake_case")]
enum Piece {
    Text(String),
    Reasoning(String),
    WaitMs(u64),
    Call(Call),
    Usage(Usage),
}

#[derive(Deserialize, Debug, Clone)]
#[serde(deny_unknown_fields)]
struct Call {
    #[serde(default)]
    index: u32,
    id: Option<String>,
    name: Option<String>,
    #[serde(default)]
    args: String,
}

/// Replays a recording.
#[derive(Debug)]
pub struct Scripted {
    lines: Vec<Line>,
    used: Mutex<HashSet<usize>>,
}

impl Scripted {
    /// Reads a recording from a file.
    pub fn open(path: &str) -> Result<Self, LlmError> {
        use std::io::Read as _;
        let wrong = |why: String| LlmError::Recording { path: path.to_owned(), why };
        let file = std::fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
        let mut text = String::new();
        let read = file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| wrong(error.to_string()))?;
        if read as u64 > MAX_BYTES {
            return Err(wrong(format!("it is larger than {MAX_BYTES} bytes")));
        }
        Self::read(path, &text)
    }

    /// Reads a recording from text; `name` is used in errors.
    pub fn read(name: &str, text: &str) -> Result<Self, LlmError> {
        let mut lines = Vec::new();
        for (at, line) in text.lines().enumerate().map(|(at, line)| (at, line.trim())) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let line = serde_json::from_str(line).map_err(|error| LlmError::Recording {
                path: name.to_owned(),
                why: format!("line {}: {error}", at + 1),
            })?;
            lines.push(line);
        }
        Ok(Self { lines, used: Mutex::default() })
    }

    fn choose(&self, wire: &Wire) -> Option<&Line> {
        let body = Body::read(&wire.bytes).unwrap_or_default();
        let digest = wire.digest.to_string();
        let matches_request = |line: &Line| {
            line.part.as_ref().is_none_or(|part| body.question().contains(part))
                && line.digest.as_ref().is_none_or(|wanted| *wanted == digest)
        };
        let matching: Vec<usize> = (0..self.lines.len()).filter(|at| matches_request(&self.lines[*at])).collect();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let at = matching.iter().find(|at| !used.contains(at)).or(matching.last()).copied()?;
        used.insert(at);
        self.lines.get(at)
    }
}

impl Provider for Scripted {
    fn post(&self, _run: RunId, wire: &Wire, sink: &mut dyn FnMut(Delta) -> bool) -> Outcome {
        let (mut progress, mut usage) = (Progress::start(), Usage::default());
        let Some(line) = self.choose(wire) else {
            let error = problem(Kind::Refused, "the recording has no answer to this request");
            return Outcome { error: Some(error), ..progress.outcome(CallEnd::Errored, None, usage) };
        };
        let mut wants_more = sink(Delta::Accepted);
        for piece in &line.deltas {
            if !wants_more {
                break;
            }
            let delta = match piece.clone() {
                Piece::WaitMs(ms) => {
                    wants_more = pause(Duration::from_millis(ms), sink);
                    continue;
                }
                Piece::Text(text) => Delta::Text(text),
                Piece::Reasoning(text) => Delta::Reasoning(text),
                Piece::Usage(usage) => Delta::Usage(usage),
                Piece::Call(call) => Delta::Call { index: call.index, id: call.id, name: call.name, args: call.args },
            };
            progress.record(!matches!(delta, Delta::Usage(_)));
            if let Delta::Usage(reported) = delta {
                usage = reported;
            }
            wants_more = sink(delta);
        }
        if !wants_more {
            return progress.outcome(CallEnd::Cancelled, None, usage);
        }
        let end = line.end;
        let finish = match end {
            CallEnd::Complete => Some("stop"),
            CallEnd::Truncated | CallEnd::Errored | CallEnd::Cancelled => None,
        };
        let why = line.error.as_deref().unwrap_or("the recorded call failed");
        let error = (end == CallEnd::Errored).then(|| problem(Kind::Server, why));
        Outcome { error, ..progress.outcome(end, line.finish.as_deref().or(finish), usage) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use uuid::Uuid;

    fn wire(question: &str) -> Wire {
        Wire::new(json!({"messages": [{"role": "user", "content": question}]}).to_string().into_bytes())
    }

    fn ask(scripted: &Scripted, question: &str) -> (String, Outcome) {
        let mut text = String::new();
        let outcome = scripted.post(RunId(Uuid::nil()), &wire(question), &mut |delta| {
            if let Delta::Text(piece) = delta {
                text.push_str(&piece);
            }
            true
        });
        (text, outcome)
    }

    #[test]
    fn replays_in_order_and_by_match() {
        let recording = r#"
            # a comment
            {"match": "b", "deltas": [{"text": "to b"}], "end": "truncated"}
            {"deltas": [{"text": "on"}, {"wait_ms": 1}, {"text": "e"}, {"usage": {"prompt": 3}}]}
            {"deltas": [{"text": "two"}], "end": "errored", "error": "boom"}
        "#;
        let scripted = Scripted::read("test", recording).unwrap();
        let (text, outcome) = ask(&scripted, "a");
        assert_eq!((text.as_str(), outcome.end, outcome.usage.prompt), ("one", CallEnd::Complete, Some(3)));
        assert_eq!(ask(&scripted, "b").1.end, CallEnd::Truncated);
        let (text, outcome) = ask(&scripted, "a");
        assert_eq!((text.as_str(), outcome.error.unwrap().what.as_str()), ("two", "boom"));
        assert_eq!(ask(&scripted, "a").0, "two");
    }

    #[test]
    fn a_line_for_one_request_answers_no_other() {
        let line = json!({"digest": wire("a").digest.to_string(), "deltas": [{"text": "to a"}]});
        let scripted = Scripted::read("test", &format!("{line}\n{}", r#"{"deltas": [{"text": "to all"}]}"#)).unwrap();
        assert_eq!(
            ["b", "a", "a", "b"].map(|question| ask(&scripted, question).0),
            ["to all", "to a", "to all", "to all"]
        );
    }

    #[test]
    fn an_invalid_recording_says_why() {
        let error = Scripted::read("r.jsonl", "\n{\"deltas\": 3}").unwrap_err().to_string();
        assert!(error.contains("r.jsonl") && error.contains("line 2"), "{error}");
        assert!(matches!(Scripted::open("/nowhere/at/all"), Err(LlmError::Recording { .. })));
        let none = Scripted::read("x", "{\"match\": \"never\", \"deltas\": []}").unwrap();
        assert_eq!(ask(&none, "a").1.end, CallEnd::Errored);
    }

    #[test]
    fn the_model_stops_when_told() {
        let scripted =
            Scripted::read("x", r#"{"deltas": [{"text": "a"}, {"wait_ms": 60000}, {"text": "b"}]}"#).unwrap();
        let mut ticks = 0;
        let outcome = scripted.post(RunId(Uuid::nil()), &Wire::new(Vec::new()), &mut |delta| {
            ticks += u32::from(delta == Delta::Tick);
            ticks < 2
        });
        assert_eq!((outcome.end, outcome.any), (CallEnd::Cancelled, true));
    }
}
