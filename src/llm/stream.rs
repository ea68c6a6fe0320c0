//! Turns the bytes of a response into deltas and an end: Open → First → Streaming → Complete, Truncated, or Errored.
//! Not for: the network (`openai`). Pure, so that every split of every stream can be tested.
//!
//! Only a finish reason or `[DONE]` makes an answer complete, and an answer without text or a call never is. An
//! unreadable piece ends the answer, because later text would hide the gap. Pieces that could not be used as received
//! are reported as diagnostics. A body that is not an event stream is recognized by its first bytes (`body`),
//! regardless of its content type.

use super::body::{BodyKind, MAX_KEPT, compressed_error, display_bytes, not_a_stream_error, recognize};
use super::chunk::{ChunkItem, Chunks};
use super::clip;
use super::fault::Fault;
use super::http::problem;
use super::sse::{Event, MAX_EVENT};
use super::surrogates::Parsed;
use crate::domain::base::RunId;
use crate::domain::call::provider::ProviderErrorKind as Kind;
use crate::domain::call::{CallEnd, Delta, Diagnostic, ProviderError, StopCause, Usage, Wire};
use serde_json::Value;
use std::sync::Arc;

/// Data of events that some servers send to keep a connection open, in place of comments.
const KEEP_ALIVE: [&str; 4] = ["ping", "keep-alive", "keepalive", "heartbeat"];

/// Reads one answer.
#[derive(Default)]
pub struct AnswerReader {
    chunks: Chunks,
    kind: BodyKind,
    out: Vec<Delta>,
    any: bool,
    events: u64,
    done: bool,
    finish: Option<String>,
    error: Option<ProviderError>,
    /// The request being answered.
    request: Arc<[u8]>,
    /// The compression named in the response's header.
    encoding: Option<String>,
    /// The beginning of the body, until the first event.
    head: Vec<u8>,
    /// Text or a call arrived.
    has_content: bool,
    /// A piece was unreadable, which ended the answer.
    cut: bool,
    /// Bytes that are not UTF-8 were reported.
    reported_bytes: bool,
    /// The last object with a lone surrogate half.
    marked: String,
    /// The object with the first surrogate half that found no second half.
    half_object: Option<String>,
}

/// How an answer ended.
#[derive(Clone, PartialEq, Debug)]
pub struct AnswerEnd {
    /// The kind of end.
    pub end: CallEnd,
    /// Whether any part of an answer arrived.
    pub any: bool,
    /// The finish reason.
    pub finish: Option<String>,
    /// The usage that the server reported.
    pub usage: Usage,
    /// Why it failed or ended early. Not yet bounded; may contain secrets.
    pub error: Option<ProviderError>,
}

impl AnswerReader {
    /// Creates a reader at the start of an answer.
    pub fn new(run: RunId) -> Self {
        Self { chunks: Chunks::new(run), ..Self::default() }
    }

    /// Sets the request, which is needed to classify refusals in the answer and to recognize repeated tool names.
    #[must_use]
    pub fn to(mut self, request: &Wire) -> Self {
        self.chunks.set_request(&request.bytes);
        Self { request: request.bytes.clone(), ..self }
    }

    /// Sets the `content-encoding`.
    #[must_use]
    pub fn encoded(self, encoding: Option<&str>) -> Self {
        Self { encoding: encoding.map(str::to_owned), ..self }
    }

    /// Reads the next bytes of the body.
    pub fn feed(&mut self, bytes: &[u8]) {
        match &mut self.kind {
            BodyKind::Events(decoder) => {
                if self.events == 0 {
                    keep(&mut self.head, bytes, MAX_KEPT);
                }
                let events = decoder.feed(bytes);
                for event in events {
                    self.event(&event);
                }
            }
            BodyKind::Json(kept) => keep(kept, bytes, MAX_EVENT),
            BodyKind::Page(kept) => {
                keep(kept, bytes, MAX_KEPT);
                self.done = kept.len() >= MAX_KEPT;
            }
            BodyKind::Compressed(_) => {}
            BodyKind::Unknown(kept) => {
                kept.extend_from_slice(bytes);
                if let Some(kind) = recognize(kept) {
                    if let BodyKind::Compressed(name) = kind {
                        self.fail(compressed_error(name));
                        return;
                    }
                    let kept = std::mem::take(kept);
                    self.kind = kind;
                    self.feed(&kept);
                }
            }
        }
    }

    /// Returns the deltas since the last call.
    pub fn take(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.out)
    }

    /// Returns whether reading can stop: after `[DONE]`, an error, or enough of a web page.
    pub fn is_over(&self) -> bool {
        self.done || self.error.is_some()
    }

    /// Returns whether a finish reason arrived; only usage and `[DONE]` may still follow, and the caller waits for them
    /// briefly.
    pub fn finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Ends the body. `broken` gives the reason if it did not end by itself.
    pub fn end(&mut self, broken: Option<ProviderError>) {
        match std::mem::take(&mut self.kind) {
            BodyKind::Events(mut decoder) => {
                if let Some(event) = decoder.finish().filter(|_| !self.is_over()) {
                    self.event(&event);
                }
            }
            BodyKind::Json(body) => self.read_whole(&body),
            BodyKind::Page(body) => {
                let page = String::from_utf8_lossy(&body).into_owned();
                self.fail(problem(
                    Kind::Protocol,
                    format!("the server answered with a web page: {}", beginning(&page)),
                ));
            }
            BodyKind::Unknown(kept) => self.head.extend(kept),
            BodyKind::Compressed(_) => {}
        }
        for item in self.chunks.finish() {
            self.handle(item);
        }
        let was_lost = self.chunks.lost_halves() > 0 && !self.marked.is_empty();
        if let Some(raw) = self.half_object.take().or_else(|| was_lost.then(|| std::mem::take(&mut self.marked))) {
            self.report("Half of a surrogate pair arrived alone; U+FFFD replaces it.", raw);
        }
        let ended = self.done || self.finished();
        if let Some(error) = broken.filter(|_| !ended) {
            self.fail(if self.any && error.kind == Kind::Connect { broken_off_as(error) } else { error });
        } else if self.events == 0
            && let Some(error) = not_a_stream_error(&self.head, self.encoding.as_deref())
        {
            self.fail(error);
        }
    }

    /// Returns the outcome, once the body ended or was abandoned.
    pub fn close(self) -> AnswerEnd {
        let natural_end = self.natural_end();
        let limited = self.finish.as_deref().map(StopCause::of) == Some(StopCause::OutputLimit);
        let (end, error) = match (self.error, self.done || self.finish.is_some()) {
            (Some(error), _) if self.any && (error.kind == Kind::Connect || self.cut) => {
                (CallEnd::Truncated, Some(error))
            }
            (Some(error), _) => (CallEnd::Errored, Some(error)),
            (None, true) if self.finish.as_deref() == Some("error") => {
                (CallEnd::Errored, Some(problem(Kind::Server, "the server ended the answer with an error")))
            }
            (None, true) if limited => (CallEnd::Truncated, None),
            (None, true) if self.any => natural_end,
            (None, _) if !self.any => (CallEnd::Errored, Some(empty(self.finish.as_deref()))),
            (None, _) => (CallEnd::Truncated, Some(broken_off("the stream stopped before the end of the answer"))),
        };
        AnswerEnd { end, any: self.any, usage: self.chunks.usage(), finish: self.finish, error }
    }

    /// Returns the end of an answer that has an end mark and content.
    fn natural_end(&self) -> (CallEnd, Option<ProviderError>) {
        let reason = self.finish.as_deref().unwrap_or("none");
        if StopCause::of(reason) == StopCause::ContentFilter {
            let what = format!("the server's content filter stopped the answer here (finish reason {reason})");
            (CallEnd::Truncated, Some(filtered(what)))
        } else if self.chunks.has_unnamed_call() {
            let what = "the answer calls a tool without a name, so no tool was run";
            (CallEnd::Errored, Some(no_answer_error(what)))
        } else if self.has_content {
            (CallEnd::Complete, None)
        } else {
            let what = format!("the answer has neither text nor a tool call (finish reason {reason})");
            (CallEnd::Errored, Some(no_answer_error(what)))
        }
    }

    fn event(&mut self, event: &Event) {
        let data = event.data.trim();
        if self.is_over() || data.is_empty() {
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
        if event.name == "error" {
            self.fail(self.sorted(&Fault::in_body(data)));
            return;
        }
        if !event.broken.is_empty() {
            self.report_bytes(&event.broken);
        }
        if let Some(parsed) = Parsed::read(data) {
            self.object(&parsed, data);
            return;
        }
        // Servers that omit the blank line put several objects into one event.
        for line in data.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match Parsed::read(line) {
                _ if self.is_over() => return,
                Some(parsed) => self.object(&parsed, line),
                None if line == "[DONE]" => self.done = true,
                None => return self.unreadable(event),
            }
        }
    }

    /// Handles a piece that is not JSON. After the finish reason, nothing is missing from the answer.
    fn unreadable(&mut self, event: &Event) {
        let data = event.data.trim();
        if KEEP_ALIVE.iter().any(|word| [data, &event.name].iter().any(|value| value.eq_ignore_ascii_case(word))) {
            return;
        }
        let raw = if event.broken.is_empty() { beginning(data) } else { display_bytes(&event.broken) };
        let bytes = event.data.len();
        let place = format!("Event {} of the answer ({bytes} bytes) can't be read", self.events);
        if self.finished() {
            self.report(&format!("{place}; the answer had ended before it."), raw);
            return;
        }
        self.report(&format!("{place}; the answer ends there."), raw);
        if self.any {
            self.cut = true;
            let what = "a piece of the answer can't be read, so the answer ends before it";
            let hint = "Ask again. The piece is kept with the call: `pleach plans show` prints it.";
            self.fail(ProviderError { hint: hint.to_owned(), ..problem(Kind::Protocol, what) });
        } else {
            self.fail(problem(Kind::Protocol, format!("the server's answer can't be read: {}", beginning(data))));
        }
    }

    fn object(&mut self, parsed: &Parsed, data: &str) {
        let lost = self.chunks.lost_halves();
        if parsed.marked() {
            self.marked = beginning(data);
        }
        for item in self.chunks.read(parsed) {
            self.handle(item);
        }
        if self.chunks.lost_halves() > lost && self.half_object.is_none() {
            self.half_object = Some(self.marked.clone());
        }
    }

    fn handle(&mut self, item: ChunkItem) {
        match item {
            ChunkItem::Delta(delta) => {
                self.any |= !matches!(delta, Delta::Usage(_));
                self.has_content |= match &delta {
                    Delta::Text(text) => !text.trim().is_empty(),
                    other => matches!(other, Delta::Call { .. }),
                };
                self.out.push(delta);
            }
            ChunkItem::Finish(reason) => self.finish = Some(reason),
            ChunkItem::Fault(fault) => self.fail(self.sorted(&fault)),
        }
    }

    fn sorted(&self, fault: &Fault) -> ProviderError {
        fault.sort_for(Some(200), &self.request)
    }

    fn report(&mut self, what: &str, raw: String) {
        self.out.push(Delta::Diagnostic(Diagnostic { what: what.to_owned(), raw }));
    }

    /// Reports bytes that are not UTF-8, once.
    fn report_bytes(&mut self, bytes: &[u8]) {
        if !std::mem::replace(&mut self.reported_bytes, true) {
            self.report("Some bytes were not UTF-8; U+FFFD replaces them.", display_bytes(bytes));
        }
    }

    /// Reads a body that is not an event stream: a whole answer, an error, several objects without framing, or
    /// something else.
    fn read_whole(&mut self, body: &[u8]) {
        let text = String::from_utf8_lossy(body);
        let text = text.trim_start_matches('\u{feff}').trim();
        if std::str::from_utf8(body).is_err() {
            self.report_bytes(body);
        }
        let lines = || text.lines().filter(|line| !line.trim().is_empty()).map(Parsed::read).collect();
        let objects: Vec<Parsed> = Parsed::read(text).map(Parsed::elements).or_else(lines).unwrap_or_default();
        let answers = |parsed: &Parsed| {
            let choices = parsed.value().get("choices").and_then(Value::as_array);
            choices.is_some_and(|choices| !choices.is_empty()) || Fault::in_stream(&parsed.plain()).is_some()
        };
        if objects.iter().any(answers) {
            self.done = objects.len() == 1;
            for parsed in &objects {
                self.events += 1;
                self.object(parsed, text);
            }
        } else {
            self.report("The body of the answer can't be read.", beginning(text));
            let what = format!("the server's answer is neither a stream nor a completion: {}", beginning(text));
            self.fail(problem(Kind::Protocol, what));
        }
    }

    /// Records a failure; only the first is kept.
    pub fn fail(&mut self, error: ProviderError) {
        self.error.get_or_insert(error);
    }
}

/// Appends bytes up to a limit of the length.
fn keep(kept: &mut Vec<u8>, bytes: &[u8], limit: usize) {
    let room = limit.saturating_sub(kept.len());
    kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// The error of an answer that a content filter stopped. The server gives no reason that the user could read.
fn filtered(what: impl Into<String>) -> ProviderError {
    let hint =
        "Rephrase the message, or choose another model; `pleach plan --request MESSAGE` prints the exact request.";
    ProviderError { hint: hint.to_owned(), ..problem(Kind::Refused, what) }
}

/// The error of an event stream that ended too early. Part of the answer arrived, so the address is right.
fn broken_off(what: impl Into<String>) -> ProviderError {
    broken_off_as(problem(Kind::Protocol, what))
}

fn broken_off_as(error: ProviderError) -> ProviderError {
    let hint = "Continue the answer, or generate it again; the server or a proxy closed the connection.";
    ProviderError { hint: hint.to_owned(), ..error }
}

fn no_answer_error(what: impl Into<String>) -> ProviderError {
    ProviderError { hint: "Ask again, or try another model.".to_owned(), ..problem(Kind::Protocol, what) }
}

fn empty(finish: Option<&str>) -> ProviderError {
    match finish {
        Some(reason) if StopCause::of(reason) == StopCause::ContentFilter => {
            filtered("the server's content filter blocked the whole answer")
        }
        Some(reason) => no_answer_error(format!("the answer was empty (finish reason {reason})")),
        None => problem(Kind::Protocol, "the server closed the connection without any answer"),
    }
}

/// Returns the beginning of a text. Secrets must be removed before it is cut, so that no part of a secret remains.
fn beginning(text: &str) -> String {
    clip(text.trim(), MAX_KEPT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use uuid::Uuid;

    fn read(pieces: &[&[u8]]) -> (Vec<Delta>, AnswerEnd) {
        let mut reading = AnswerReader::new(RunId(Uuid::nil()));
        let mut deltas = Vec::new();
        for piece in pieces {
            reading.feed(piece);
            deltas.extend(reading.take());
            if reading.is_over() {
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
        assert_eq!(end_of(&format!("{HI}data: PING\n\n{HI}data: [DONE]\n\n")), (CallEnd::Complete, None));
    }

    #[test]
    fn only_an_answer_that_is_no_event_stream_suggests_another_address() {
        let hint = |body: &str| read(&[body.as_bytes()]).1.error.map(|error| error.hint).unwrap_or_default();
        assert!(hint("<!doctype html><p>hello").contains("base_url"));
        assert!(hint(HI).starts_with("Continue the answer"), "{}", hint(HI));
        let mut reader = AnswerReader::new(RunId(Uuid::nil()));
        reader.feed(HI.as_bytes());
        reader.end(Some(problem(Kind::Connect, "the connection was lost")));
        let hint = reader.close().error.map(|error| error.hint).unwrap_or_default();
        assert!(hint.starts_with("Continue the answer"), "{hint}");
    }

    #[test]
    fn a_filtered_answer_does_not_refer_to_a_message_of_the_server() {
        let filter = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\n";
        for body in [format!("{HI}{filter}"), filter.to_owned()] {
            let hint = read(&[body.as_bytes()]).1.error.map(|error| error.hint).unwrap_or_default();
            assert!(hint.starts_with("Rephrase the message"), "{hint}");
        }
    }

    #[test]
    fn errors_in_the_middle_end_the_answer() {
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

    fn delta(value: &serde_json::Value) -> String {
        format!("data: {}\n\n", serde_json::json!({"choices": [{"delta": value}]}))
    }

    fn finish(reason: &str) -> String {
        format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n")
    }

    fn diagnostics(deltas: &[Delta]) -> Vec<(&str, &str)> {
        let diagnostics = deltas.iter().filter_map(|delta| match delta {
            Delta::Diagnostic(diagnostics) => Some((diagnostics.what.as_str(), diagnostics.raw.as_str())),
            _ => None,
        });
        diagnostics.collect()
    }

    #[test]
    fn an_unreadable_piece_ends_the_answer_and_is_kept() {
        for piece in ["{\"choices\":[{\"delta\":{\"content\":\"lo", "garbage", "lo\"}}]}", "{\"a\":\"\\ud83d"] {
            let body = format!("{HI}data: {piece}\n\n{HI}{}data: [DONE]\n\n", finish("stop"));
            let (deltas, closed) = read(&[body.as_bytes()]);
            assert_eq!((text_of(&deltas).as_str(), closed.end), ("hi", CallEnd::Truncated), "{piece}");
            assert!(closed.error.unwrap().what.contains("can't be read"));
            assert!(
                matches!(diagnostics(&deltas)[..], [(what, raw)] if what.contains("Event 2 ") && raw == piece),
                "{deltas:?}"
            );
            let (deltas, closed) = read(&[format!("data: {piece}\n\n{HI}data: [DONE]\n\n").as_bytes()]);
            assert_eq!((text_of(&deltas).as_str(), closed.end), ("", CallEnd::Errored), "{piece}");
            let late = format!("{HI}{}data: {piece}\n\ndata: [DONE]\n\n", finish("stop"));
            let (deltas, closed) = read(&[late.as_bytes()]);
            assert_eq!((closed.end, closed.error, diagnostics(&deltas).len()), (CallEnd::Complete, None, 1), "{piece}");
        }
        for fine in ["{}", "{\"type\":\"ping\"}", "1", "null", "[]", "\"x\"", "keep-alive", "{\"choices\":[]}"] {
            let (deltas, closed) = read(&[format!("data: {fine}\n\n{HI}data: {fine}\n\ndata: [DONE]\n\n").as_bytes()]);
            assert_eq!((closed.end, diagnostics(&deltas).len()), (CallEnd::Complete, 0), "{fine}");
        }
        let (deltas, closed) =
            read(&[format!("{}{}data: [DONE]\n\n", HI.trim_end(), HI.replace("data", "\ndata")).as_bytes()]);
        assert_eq!((text_of(&deltas).as_str(), closed.end), ("hihi", CallEnd::Complete), "a forgotten blank line");
    }

    #[test]
    fn invalid_utf8_is_kept_in_its_original_bytes() {
        let (deltas, closed) =
            read(&[b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xF0\x9Fb\"}}]}\n\ndata: [DONE]\n\n"]);
        assert_eq!((text_of(&deltas).as_str(), closed.end), ("a\u{fffd}b", CallEnd::Complete));
        assert!(diagnostics(&deltas)[0].1.contains("a\\xF0\\x9Fb"), "{deltas:?}");
        let (deltas, closed) =
            read(&[b"{\"choices\":[{\"message\":{\"content\":\"a\xF0\x9Fb\"},\"finish_reason\":\"stop\"}]}"]);
        assert_eq!((text_of(&deltas).as_str(), closed.end), ("a\u{fffd}b", CallEnd::Complete), "in one piece");
        assert!(matches!(diagnostics(&deltas)[..], [(_, raw)] if raw.contains("a\\xF0\\x9Fb")), "{deltas:?}");
    }

    #[test]
    fn a_lone_surrogate_is_reported() {
        let half = "data: {\"choices\":[{\"delta\":{\"content\":\"a\\ud83d\"}}]}\n\n";
        for (body, text) in [
            (format!("{half}data: [DONE]\n\n"), "a\u{fffd}"),
            (format!("{half}{HI}data: [DONE]\n\n"), "a\u{fffd}hi"),
            ("{\"choices\":[{\"message\":{\"content\":\"a\\ude00\"}}]}".to_owned(), "a\u{fffd}"),
        ] {
            let (deltas, closed) = read(&[body.as_bytes()]);
            assert_eq!((text_of(&deltas).as_str(), closed.end), (text, CallEnd::Complete), "{body}");
            assert!(
                matches!(diagnostics(&deltas)[..], [(what, raw)] if what.contains("U+FFFD") && raw.contains("\\ud")),
                "{deltas:?}"
            );
        }
    }

    #[test]
    fn empty_filtered_or_unnamed_answers_fail() {
        let call =
            delta(&serde_json::json!({"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": "{}"}}]}));
        let thought = delta(&serde_json::json!({"reasoning": "hm"}));
        let blank = delta(&serde_json::json!({"content": " \n"}));
        for (body, end, kind, message) in [
            (format!("{HI}{}", finish("content_filter")), CallEnd::Truncated, Kind::Refused, "content filter"),
            (format!("{HI}{}", finish("SAFETY")), CallEnd::Truncated, Kind::Refused, "content filter"),
            (format!("{HI}{call}{}", finish("tool_calls")), CallEnd::Errored, Kind::Protocol, "without a name"),
            (format!("{thought}{}", finish("stop")), CallEnd::Errored, Kind::Protocol, "neither text nor a tool call"),
            (format!("{blank}data: [DONE]\n\n"), CallEnd::Errored, Kind::Protocol, "neither text nor a tool call"),
        ] {
            let (_, closed) = read(&[body.as_bytes()]);
            let error = closed.error.unwrap();
            assert_eq!((closed.end, error.kind), (end, kind), "{body}");
            assert!(error.what.contains(message), "{}", error.what);
        }
    }

    #[test]
    fn content_and_usage_after_the_finish_reason_are_kept() {
        let body = format!(
            "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n{HI}data: \
                {{\"choices\":[],\"usage\":{{\"prompt_tokens\":3}}}}\n\n"
        );
        let (deltas, closed) = read(&[body.as_bytes()]);
        assert_eq!((text_of(&deltas).as_str(), closed.usage.prompt), ("hi", Some(3)));
        assert_eq!(closed.end, CallEnd::Complete);
    }

    #[test]
    fn bodies_that_are_not_a_stream() {
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
        let lines = format!(
            "{}\n{}\n",
            HI.trim().trim_start_matches("data: "),
            finish("stop").trim().trim_start_matches("data: ")
        );
        for body in [lines.clone(), format!("\u{feff}[{}]", lines.trim().replace('\n', ","))] {
            let (deltas, closed) = read(&[body.as_bytes()]);
            assert_eq!((text_of(&deltas).as_str(), closed.end), ("hi", CallEnd::Complete), "{body}");
        }
        let (_, closed) = read(&[b"{\"nothing\":\"known\"}"]);
        assert!(closed.error.unwrap().what.contains("{\"nothing\":\"known\"}"));
    }

    #[test]
    fn every_split_reads_the_same() {
        let json = "{\"choices\":[{\"message\":{\"content\":\"日\"}}]}".to_owned();
        let stream = format!(
            "\u{feff}: hi\r\n\r\n{HI}data: {{\"choices\":[{{\"delta\":{{\"content\":\"日🙂\"}}}}]}}\r\n\r\ndata: \
                [DONE]\n\n"
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

    /// A piece of an answer: which of its texts grows, and by what.
    fn growth() -> impl Strategy<Value = (usize, String)> {
        (0_usize..4, "[ab🙂日𝄞\"\\\\]{0,6}")
    }

    /// Returns one event for each UTF-16 unit of a text, in escapes.
    fn by_units(place: usize, text: &str) -> Vec<String> {
        let event = |unit: u16| {
            let text = format!("\\u{unit:04x}");
            let delta = match place {
                0 => format!("\"content\":\"{text}\""),
                1 => format!("\"reasoning_content\":\"{text}\""),
                at => {
                    let index = at - 2;
                    format!(
                        "\"tool_calls\":[{{\"index\":{index},\"id\":\"id{index}\",\"function\":{{\"name\":\"f\",\"arguments\":\"{text}\"}}}}]"
                    )
                }
            };
            format!("data: {{\"choices\":[{{\"delta\":{{{delta}}}}}]}}\n\n")
        };
        text.encode_utf16().map(event).collect()
    }

    /// Returns the accumulated texts: answer, reasoning, the arguments of two calls.
    fn grown(deltas: &[Delta]) -> [String; 4] {
        let mut all: [String; 4] = Default::default();
        let mut order: Vec<usize> = Vec::new();
        for delta in deltas {
            match delta {
                Delta::Text(text) => all[0].push_str(text),
                Delta::Reasoning(text) => all[1].push_str(text),
                Delta::Call { index, id, args, .. } => {
                    if let Some(id) = id {
                        order.push(if id == "id0" { 2 } else { 3 });
                    }
                    all[order[*index as usize]].push_str(args);
                }
                _ => {}
            }
        }
        all
    }

    proptest! {
        #[test]
        fn texts_split_anywhere_are_joined(
            pieces in proptest::collection::vec(growth(), 1..6), order in proptest::collection::vec(0_usize..4, 0..80), size in 1_usize..60
        ) {
            let mut expected: [String; 4] = Default::default();
            for (place, text) in &pieces {
                expected[*place].push_str(text);
            }
            let mut queues: Vec<_> = (0..4).map(|at| by_units(at, &expected[at]).into_iter()).collect();
            let mut body: String = order.into_iter().filter_map(|at| queues[at].next()).collect();
            body.extend(queues.into_iter().flatten());
            body.push_str("data: [DONE]\n\n");
            let chunks: Vec<&[u8]> = body.as_bytes().chunks(size).collect();
            let (deltas, closed) = read(&chunks);
            prop_assert_eq!(grown(&deltas), expected);
            prop_assert_eq!((diagnostics(&deltas).len(), &closed), (0, &read(&[body.as_bytes()]).1));
        }

        #[test]
        fn any_body_is_handled(body in proptest::collection::vec(any::<u8>(), 0..300), lines in "(data: \
            |\\{|\\}|\"choices\"|:|\\[|\\]|\n|\"delta\"|1|null){0,60}") {
            for bytes in [body.as_slice(), lines.as_bytes()] {
                let (_, closed) = read(&[bytes]);
                prop_assert_eq!(closed.end == CallEnd::Errored, !closed.any || closed.error.as_ref().is_some_and(|e| e.kind != Kind::Protocol));
            }
        }
    }
}
