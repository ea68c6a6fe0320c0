//! From the bytes of an answer to deltas and an end: Open → First → Streaming → Complete, Truncated or Errored.
//! Not for: the network (`openai`). Pure, so that every split of every stream can be tried.
//!
//! Only a finish reason or `[DONE]` makes an answer complete, and an answer without a word never is one. A body that is
//! no event stream is recognised by its first byte, whatever its content type says.

use super::chunk::{Chunks, Said};
use super::clip;
use super::fault::Fault;
use super::http::problem;
use super::sse::{Decoder, Event, MAX_EVENT};
use crate::domain::ids::RunId;
use crate::domain::provider::{CallEnd, Delta, ProviderError, ProviderErrorKind as Kind};
use crate::domain::usage::Usage;
use serde_json::Value;

/// Bytes of an unreadable event or page that are kept: more than are shown, because secrets are taken out first.
const KEPT: usize = 4096;

/// Reads one answer.
pub struct Reading {
    chunks: Chunks,
    shape: Shape,
    out: Vec<Delta>,
    any: bool,
    events: u64,
    done: bool,
    finish: Option<String>,
    garbage: Option<String>,
    error: Option<ProviderError>,
}

/// What the body turns out to be.
enum Shape {
    Unknown(Vec<u8>),
    Events(Box<Decoder>),
    Json(Vec<u8>),
    Page(Vec<u8>),
}

/// How an answer ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Closed {
    /// The end.
    pub end: CallEnd,
    /// Whether anything of an answer came.
    pub any: bool,
    /// The finish reason.
    pub finish: Option<String>,
    /// What the server said that it used.
    pub usage: Usage,
    /// Why it failed, or stopped before its end. Not yet bounded, nor free of secrets.
    pub error: Option<ProviderError>,
}

impl Reading {
    /// At the start of an answer.
    #[must_use]
    pub fn new(run: RunId) -> Self {
        Self {
            chunks: Chunks::new(run),
            shape: Shape::Unknown(Vec::new()),
            out: Vec::new(),
            any: false,
            events: 0,
            done: false,
            finish: None,
            garbage: None,
            error: None,
        }
    }

    /// Takes the next bytes of the body.
    pub fn feed(&mut self, bytes: &[u8]) {
        match &mut self.shape {
            Shape::Events(decoder) => {
                let events = decoder.feed(bytes);
                for event in events {
                    self.event(&event);
                }
            }
            Shape::Json(kept) => {
                let room = MAX_EVENT.saturating_sub(kept.len());
                kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Shape::Page(kept) => {
                let room = KEPT.saturating_sub(kept.len());
                kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
                self.done = kept.len() >= KEPT;
            }
            Shape::Unknown(kept) => {
                kept.extend_from_slice(bytes);
                if let Some(shape) = recognise(kept) {
                    let kept = std::mem::take(kept);
                    self.shape = shape;
                    self.feed(&kept);
                }
            }
        }
    }

    /// The deltas since the last call.
    pub fn take(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.out)
    }

    /// Nothing more is wanted: `[DONE]`, an error, or enough of a page.
    #[must_use]
    pub fn over(&self) -> bool {
        self.done || self.error.is_some()
    }

    /// A finish reason came; only usage and `[DONE]` are still waited for, and not for long.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The body ended. `broken` says why, when it did not end by itself.
    pub fn end(&mut self, broken: Option<ProviderError>) {
        match std::mem::replace(&mut self.shape, Shape::Unknown(Vec::new())) {
            Shape::Events(mut decoder) => {
                if let Some(event) = decoder.finish().filter(|_| !self.over()) {
                    self.event(&event);
                }
            }
            Shape::Json(body) => self.whole(&body),
            Shape::Page(body) => {
                let page = String::from_utf8_lossy(&body).into_owned();
                self.fail(problem(Kind::Protocol, format!("the server answered with a web page: {}", show(&page))));
            }
            Shape::Unknown(_) => {}
        }
        let ended = self.done || self.finished();
        if let Some(error) = broken.filter(|_| !ended) {
            self.fail(error);
        }
    }

    /// The end, once the body ended or was given up.
    #[must_use]
    pub fn close(self) -> Closed {
        let limited = self.finish.as_deref().is_some_and(is_limit);
        let (end, error) = match (self.error, self.done || self.finish.is_some()) {
            (Some(error), _) if error.kind == Kind::Connect && self.any => (CallEnd::Truncated, Some(error)),
            (Some(error), _) => (CallEnd::Errored, Some(error)),
            (None, true) if self.finish.as_deref() == Some("error") => {
                (CallEnd::Errored, Some(problem(Kind::Server, "the server ended the answer with an error")))
            }
            (None, true) if limited => (CallEnd::Truncated, None),
            (None, true) if self.any => (CallEnd::Complete, None),
            (None, _) if !self.any => (CallEnd::Errored, Some(empty(self.finish.as_deref(), self.garbage.as_deref()))),
            (None, _) => {
                (CallEnd::Truncated, Some(problem(Kind::Protocol, "the stream stopped before the answer's end")))
            }
        };
        Closed { end, any: self.any, usage: self.chunks.usage(), finish: self.finish, error }
    }

    fn event(&mut self, event: &Event) {
        let data = event.data.trim();
        if self.over() || data.is_empty() {
            return;
        }
        self.events += 1;
        if event.cut {
            self.fail(problem(Kind::Protocol, "the server sent a single event of more than 16 MB"));
            return;
        }
        if data == "[DONE]" {
            self.done = true;
            return;
        }
        match serde_json::from_str::<Value>(data) {
            Ok(value) if event.name == "error" => self.fail(Fault::in_body(&value.to_string()).sort(Some(200))),
            Ok(value) => self.value(&value),
            Err(_) if event.name == "error" => self.fail(Fault::in_body(data).sort(Some(200))),
            Err(_) => {
                self.garbage.get_or_insert_with(|| data.chars().take(KEPT).collect());
            }
        }
    }

    fn value(&mut self, value: &Value) {
        for said in self.chunks.read(value) {
            match said {
                Said::Delta(delta) => {
                    self.any |= !matches!(delta, Delta::Usage(_));
                    self.out.push(delta);
                }
                Said::Finish(reason) => self.finish = Some(reason),
                Said::Fault(fault) => self.fail(fault.sort(Some(200))),
            }
        }
    }

    /// A body in one piece: a whole answer, an error, or something else.
    fn whole(&mut self, body: &[u8]) {
        let text = String::from_utf8_lossy(body);
        let value = serde_json::from_str::<Value>(&text).unwrap_or_default();
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(&value);
        let answers = value.get("choices").and_then(Value::as_array).is_some_and(|choices| !choices.is_empty());
        if answers || Fault::in_stream(value).is_some() {
            self.events += 1;
            self.value(value);
            self.done = true;
        } else {
            let what = format!("the server's answer is neither a stream nor a completion: {}", show(&text));
            self.fail(problem(Kind::Protocol, what));
        }
    }

    /// Records a failure; the first one counts.
    pub fn fail(&mut self, error: ProviderError) {
        self.error.get_or_insert(error);
    }
}

/// By the first byte that is neither a byte order mark nor white space; none while that is open.
fn recognise(bytes: &[u8]) -> Option<Shape> {
    const BOM: &[u8] = b"\xEF\xBB\xBF";
    let rest = bytes.strip_prefix(BOM).unwrap_or(bytes);
    if BOM.starts_with(rest) && rest.len() == bytes.len() && rest.len() < BOM.len() {
        return None;
    }
    match rest.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None if bytes.len() < KEPT => None,
        Some(b'{' | b'[') => Some(Shape::Json(Vec::new())),
        Some(b'<') => Some(Shape::Page(Vec::new())),
        _ => Some(Shape::Events(Box::default())),
    }
}

fn is_limit(reason: &str) -> bool {
    ["length", "max_tokens", "model_length", "max_output_tokens"].iter().any(|name| name.eq_ignore_ascii_case(reason))
}

fn empty(finish: Option<&str>, garbage: Option<&str>) -> ProviderError {
    match (finish, garbage) {
        (Some("content_filter"), _) => problem(Kind::Refused, "the server's content filter held the whole answer back"),
        (Some(reason), _) => problem(Kind::Protocol, format!("the answer was empty (finish reason {reason})")),
        (None, Some(garbage)) => {
            problem(Kind::Protocol, format!("the server's answer cannot be read: {}", show(garbage)))
        }
        (None, None) => problem(Kind::Protocol, "the server closed the connection without a word of an answer"),
    }
}

/// The beginning. It is cut to what is shown only after secrets were taken out, lest half of one stays.
fn show(text: &str) -> String {
    clip(text.trim(), KEPT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use uuid::Uuid;

    fn read(pieces: &[&[u8]]) -> (Vec<Delta>, Closed) {
        let mut reading = Reading::new(RunId(Uuid::nil()));
        let mut deltas = Vec::new();
        for piece in pieces {
            reading.feed(piece);
            deltas.extend(reading.take());
            if reading.over() {
                break;
            }
        }
        reading.end(None);
        deltas.extend(reading.take());
        (deltas, reading.close())
    }

    fn text_of(deltas: &[Delta]) -> String {
        let text = deltas.iter().filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            _ => None,
        });
        text.collect()
    }

    fn end_of(body: &str) -> (CallEnd, Option<Kind>) {
        let (_, closed) = read(&[body.as_bytes()]);
        (closed.end, closed.error.map(|error| error.kind))
    }

    const HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";

    #[test]
    fn only_an_end_mark_completes() {
        let finish = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
        let length = finish.replace("stop", "length");
        assert_eq!(end_of(&format!("{HI}{finish}")), (CallEnd::Complete, None));
        assert_eq!(end_of(&format!("{HI}data: [DONE]")), (CallEnd::Complete, None));
        assert_eq!(end_of(&format!("{HI}{}", finish.replace("stop", "error"))), (CallEnd::Errored, Some(Kind::Server)));
        assert_eq!(end_of(&format!("{HI}{length}data: [DONE]\n\n")), (CallEnd::Truncated, None));
        assert_eq!(end_of(HI), (CallEnd::Truncated, Some(Kind::Protocol)));
        assert_eq!(end_of(""), (CallEnd::Errored, Some(Kind::Protocol)));
        assert_eq!(end_of(&format!("{finish}data: [DONE]\n\n")), (CallEnd::Errored, Some(Kind::Protocol)));
        assert_eq!(end_of(&finish.replace("stop", "content_filter")), (CallEnd::Errored, Some(Kind::Refused)));
        assert_eq!(end_of("data: garbage\n\n"), (CallEnd::Errored, Some(Kind::Protocol)));
        assert_eq!(end_of(&format!("{HI}data: garbage\n\n{HI}data: [DONE]\n\n")), (CallEnd::Complete, None));
    }

    #[test]
    fn errors_in_the_middle_end_it() {
        for error in [
            "data: {\"error\":{\"message\":\"Internal server error\",\"code\":502}}\n\n",
            "data: {\"object\":\"error\",\"message\":\"boom\",\"code\":500}\n\n",
            "event: error\ndata: {\"message\":\"boom\",\"code\":500}\n\n",
        ] {
            let (deltas, closed) = read(&[format!("{HI}{error}{HI}").as_bytes()]);
            assert_eq!((closed.end, text_of(&deltas).as_str()), (CallEnd::Errored, "hi"), "{error}");
            assert_eq!(closed.error.unwrap().kind, Kind::Server, "{error}");
        }
    }

    #[test]
    fn content_and_usage_after_the_finish_reason_count() {
        let body = format!(
            "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n{HI}data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":3}}}}\n\n"
        );
        let (deltas, closed) = read(&[body.as_bytes()]);
        assert_eq!((text_of(&deltas).as_str(), closed.usage.prompt), ("hi", Some(3)));
        assert_eq!(closed.end, CallEnd::Complete);
    }

    #[test]
    fn bodies_that_are_no_stream() {
        let whole = "\n\n {\"object\":\"chat.completion\",\"choices\":[{\"message\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}],\"usage\":{\"completion_tokens\":1}}";
        let (deltas, closed) = read(&[whole.as_bytes()]);
        assert_eq!(
            (text_of(&deltas).as_str(), closed.end, closed.usage.completion),
            ("hi", CallEnd::Complete, Some(1))
        );
        assert_eq!(end_of("<!doctype html><p>hello"), (CallEnd::Errored, Some(Kind::Protocol)));
        assert_eq!(end_of("{\"status\":\"ok\"}"), (CallEnd::Errored, Some(Kind::Protocol)));
        assert_eq!(end_of("{\"choices\":[{\"mess"), (CallEnd::Errored, Some(Kind::Protocol)));
        assert_eq!(
            end_of("{\"error\":{\"message\":\"x\",\"code\":\"invalid_api_key\"}}"),
            (CallEnd::Errored, Some(Kind::Auth))
        );
        let (_, closed) = read(&[b"{\"nothing\":\"known\"}"]);
        assert!(closed.error.unwrap().what.contains("{\"nothing\":\"known\"}"));
    }

    #[test]
    fn every_split_reads_the_same() {
        let json = "{\"choices\":[{\"message\":{\"content\":\"日\"}}]}".to_owned();
        let stream = format!(
            "\u{feff}: hi\r\n\r\n{HI}data: {{\"choices\":[{{\"delta\":{{\"content\":\"日🙂\"}}}}]}}\r\n\r\ndata: [DONE]\n\n"
        );
        for body in [stream, json, "\n\n<html>".to_owned()] {
            let bytes = body.as_bytes();
            let expected = read(&[bytes]);
            for at in 0..=bytes.len() {
                assert_eq!(read(&[&bytes[..at], &bytes[at..]]), expected, "{body} split at {at}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read(&single), expected);
        }
    }

    proptest! {
        #[test]
        fn any_body_is_survived(body in proptest::collection::vec(any::<u8>(), 0..300), lines in "(data: |\\{|\\}|\"choices\"|:|\\[|\\]|\n|\"delta\"|1|null){0,60}") {
            for bytes in [body.as_slice(), lines.as_bytes()] {
                let (_, closed) = read(&[bytes]);
                prop_assert_eq!(closed.end == CallEnd::Errored, !closed.any || closed.error.as_ref().is_some_and(|e| e.kind != Kind::Protocol));
            }
        }
    }
}
