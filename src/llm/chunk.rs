//! Reads `chat.completion.chunk` objects (and whole `chat.completion` objects) as servers send them in practice: nearly
//! any field may be missing, null, or of another type, and none of that is an error.
//! Not for: splitting bytes into events (`sse`) or deciding how a call ended (`stream`).

use super::fault::Fault;
use super::surrogates::{Joiner, Parsed, lossy};
use crate::domain::base::RunId;
use crate::domain::call::tokens::grouped;
use crate::domain::call::{Delta, Diagnostic, Usage};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// One fact read from an object.
#[derive(Clone, PartialEq, Debug)]
pub enum ChunkItem {
    /// A delta for the receiver.
    Delta(Delta),
    /// The finish reason, verbatim.
    Finish(String),
    /// An error that the server reports.
    Fault(Fault),
}

/// Reads the objects of one answer and assigns each piece to its tool call.
#[derive(Default)]
pub struct Chunks {
    run: RunId,
    calls: Vec<CallSlot>,
    usage: Usage,
    text: Joiner,
    reasoning: Joiner,
    /// The request being answered; it names the tools on offer.
    request: Arc<[u8]>,
}

struct CallSlot {
    index: Option<u64>,
    id: String,
    name: String,
    started: bool,
    args: Joiner,
}

impl Chunks {
    /// Creates a reader for the answer of one run. The run's id seeds the ids of calls that have none.
    pub fn new(run: RunId) -> Self {
        Self { run, ..Self::default() }
    }

    /// Sets the request being answered. The names of its tools distinguish a repeated name from the next piece of a
    /// name.
    pub fn set_request(&mut self, request: &Arc<[u8]>) {
        self.request = request.clone();
    }

    /// Returns the usage that the server has reported so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns whether any call has no name.
    pub fn has_unnamed_call(&self) -> bool {
        self.calls.iter().any(|slot| slot.name.is_empty())
    }

    /// Returns the number of surrogate halves so far that arrived without their other half.
    pub fn lost_halves(&self) -> u32 {
        let args: u32 = self.calls.iter().map(|slot| slot.args.lost()).sum();
        self.text.lost() + self.reasoning.lost() + args
    }

    /// Reads one object.
    pub fn read(&mut self, parsed: &Parsed) -> Vec<ChunkItem> {
        let mut out = Vec::new();
        let (value, plain) = (parsed.value(), parsed.plain());
        out.extend(Fault::in_stream(&plain).map(ChunkItem::Fault));
        out.extend(first_choice(&plain).and_then(Fault::in_stream).map(ChunkItem::Fault));
        if let Some(choice) = first_choice(value) {
            self.choice(choice, &mut out);
        }
        let mut out: Vec<ChunkItem> =
            out.into_iter().filter_map(|item| self.join_surrogates(item, parsed.marked())).collect();
        let reported = [value.get("usage"), value.pointer("/x_groq/usage"), value.pointer("/choices/0/usage")]
            .into_iter()
            .flatten();
        for usage in reported {
            self.merge_usage(usage, &mut out);
        }
        out
    }

    /// Ends the answer. Returns replacement characters for first halves that are still waiting for their second half.
    pub fn finish(&mut self) -> Vec<ChunkItem> {
        let mut rest = vec![Delta::Text(self.text.end().into()), Delta::Reasoning(self.reasoning.end().into())];
        rest.extend(self.calls.iter_mut().enumerate().map(|(at, slot)| {
            let index = u32::try_from(at).unwrap_or(u32::MAX);
            Delta::Call { index, id: None, name: None, args: slot.args.end().into() }
        }));
        let has_content = |delta: &Delta| match delta {
            Delta::Text(text) | Delta::Reasoning(text) | Delta::Call { args: text, .. } => !text.is_empty(),
            _ => false,
        };
        rest.into_iter().filter(has_content).map(ChunkItem::Delta).collect()
    }

    /// Joins surrogate halves that arrived in different objects.
    fn join_surrogates(&mut self, item: ChunkItem, marked: bool) -> Option<ChunkItem> {
        let clean = |text: String| if marked { lossy(&text) } else { text };
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Some(match item {
            ChunkItem::Delta(Delta::Text(text)) => ChunkItem::Delta(Delta::Text(some(self.text.push(&text, marked))?)),
            ChunkItem::Delta(Delta::Reasoning(text)) => {
                ChunkItem::Delta(Delta::Reasoning(some(self.reasoning.push(&text, marked))?))
            }
            ChunkItem::Delta(Delta::Call { index, id, name, args }) => {
                let slot = self.calls.get_mut(index as usize)?;
                let args = slot.args.push(&args, marked);
                ChunkItem::Delta(Delta::Call { index, id: id.map(clean), name: name.map(clean), args })
            }
            ChunkItem::Finish(reason) => ChunkItem::Finish(clean(reason)),
            other @ (ChunkItem::Delta(_) | ChunkItem::Fault(_)) => other,
        })
    }

    fn choice(&mut self, choice: &Value, out: &mut Vec<ChunkItem>) {
        for place in ["delta", "message"] {
            if let Some(message) = choice.get(place).filter(|message| message.is_object()) {
                self.message(message, out);
            }
        }
        if let Some(text) = choice.get("text").and_then(Value::as_str).filter(|text| !text.is_empty()) {
            out.push(ChunkItem::Delta(Delta::Text(text.to_owned())));
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str).filter(|reason| !reason.is_empty()) {
            out.push(ChunkItem::Finish(super::clip(reason, 100)));
        }
    }

    fn message(&mut self, message: &Value, out: &mut Vec<ChunkItem>) {
        let reasoning = ["reasoning_content", "reasoning"]
            .into_iter()
            .find_map(|name| message.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()));
        if let Some(text) = reasoning {
            out.push(ChunkItem::Delta(Delta::Reasoning(text.to_owned())));
        }
        for name in ["content", "refusal"] {
            if let Some(content) = message.get(name) {
                read_content(content, out);
            }
        }
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let at = self.slot(call);
            let function = call.get("function").unwrap_or(call);
            self.call(at, function, out);
        }
        if let Some(function) = message.get("function_call").filter(|call| call.is_object()) {
            let at = if self.calls.is_empty() { self.open_call(None, "") } else { self.calls.len() - 1 };
            self.call(at, function, out);
        }
    }

    /// Returns the index of the call that a piece belongs to: by index, else by id, else the last call. A second id and
    /// name under a used index is another call, because some gateways number every call 0.
    fn slot(&mut self, call: &Value) -> usize {
        let index = call.get("index").and_then(Value::as_u64);
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
        let named = call.pointer("/function/name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
        let known = match index {
            Some(_) => self.calls.iter().rposition(|slot| slot.index == index),
            None if !id.is_empty() => self.calls.iter().rposition(|slot| slot.id == id),
            None => self.calls.len().checked_sub(1),
        };
        match known {
            Some(at) if id.is_empty() || self.calls[at].id == id || !named || !self.calls[at].started => at,
            Some(at) if index.is_some() => {
                let same = self.calls.iter().rposition(|slot| slot.index == index && slot.id == id);
                same.unwrap_or_else(|| self.continue_or_open_call(at, index, id))
            }
            _ => self.open_call(index, id),
        }
    }

    fn continue_or_open_call(&mut self, at: usize, index: Option<u64>, id: &str) -> usize {
        let invented = self.calls[at].id == self.generated_id(at);
        if invented { at } else { self.open_call(index, id) }
    }

    fn open_call(&mut self, index: Option<u64>, id: &str) -> usize {
        let at = self.calls.len();
        let id = if id.is_empty() { self.generated_id(at) } else { id.to_owned() };
        self.calls.push(CallSlot { index, id, name: String::new(), started: false, args: Joiner::default() });
        at
    }

    /// Returns an id of nine letters and digits, the only form that every server accepts back.
    fn generated_id(&self, at: usize) -> String {
        let hash =
            crate::domain::base::hash::Fields::new("call").text(&self.run.to_string()).number(at as u64).finish();
        hash.to_string()[..9].to_owned()
    }

    fn call(&mut self, at: usize, function: &Value, out: &mut Vec<ChunkItem>) {
        let slot = &mut self.calls[at];
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
        let repeated = !slot.name.is_empty() && slot.name == name && is_repeated(&self.request, name);
        let name = Some(name).filter(|name| !name.is_empty() && !repeated).map(str::to_owned);
        slot.name.push_str(name.as_deref().unwrap_or_default());
        let args = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(other @ (Value::Object(_) | Value::Array(_))) => other.to_string(),
            _ => String::new(),
        };
        let first = !std::mem::replace(&mut slot.started, true);
        if first || name.is_some() || !args.is_empty() {
            let id = first.then(|| slot.id.clone());
            let index = u32::try_from(at).unwrap_or(u32::MAX);
            out.push(ChunkItem::Delta(Delta::Call { index, id, name, args }));
        }
    }

    fn merge_usage(&mut self, value: &Value, out: &mut Vec<ChunkItem>) {
        let new = read_usage(value);
        let merged = Usage {
            prompt: new.prompt.or(self.usage.prompt),
            completion: new.completion.or(self.usage.completion),
            reasoning: new.reasoning.or(self.usage.reasoning),
            cached_read: new.cached_read.or(self.usage.cached_read),
            cache_write: new.cache_write.or(self.usage.cache_write),
        };
        if merged != self.usage {
            self.usage = merged;
            out.extend(uncountable(value).map(|diagnostic| ChunkItem::Delta(Delta::Diagnostic(diagnostic))));
            out.push(ChunkItem::Delta(Delta::Usage(merged)));
        }
    }
}

/// Returns whether a piece that equals the whole name so far repeats it, as some servers do with each piece of the
/// arguments, rather than extending it (`ls` and `ls` for `lsls`). It extends the name only if the name so far is not
/// an offered tool and the doubled name is the beginning of an offered tool's name.
fn is_repeated(request: &[u8], name: &str) -> bool {
    #[derive(Deserialize)]
    struct Request {
        #[serde(default)]
        tools: Vec<Tool>,
    }
    #[derive(Deserialize)]
    struct Tool {
        function: Function,
    }
    #[derive(Deserialize)]
    struct Function {
        name: String,
    }
    let tools = serde_json::from_slice::<Request>(request).map_or_else(|_| Vec::new(), |request| request.tools);
    let doubled = name.repeat(2);
    let offers = |fits: &dyn Fn(&str) -> bool| tools.iter().any(|tool| fits(&tool.function.name));
    offers(&|offered| offered == name) || !offers(&|offered| offered.starts_with(&doubled))
}

/// Returns the first choice. Requests ask for one choice; if a server sends more, the others are ignored.
fn first_choice(value: &Value) -> Option<&Value> {
    let choices = value.get("choices")?.as_array()?;
    choices.iter().find(|choice| choice.get("index").and_then(Value::as_u64).is_none_or(|index| index == 0))
}

/// Reads content, which is a string or a list of parts. Text parts are the answer; `thinking` parts are reasoning.
fn read_content(content: &Value, out: &mut Vec<ChunkItem>) {
    match content {
        Value::String(text) if !text.is_empty() => out.push(ChunkItem::Delta(Delta::Text(text.clone()))),
        Value::Array(parts) => {
            for part in parts {
                match (part.get("thinking"), part.get("text")) {
                    (Some(thinking), _) => out.extend(read_reasoning(thinking)),
                    (None, Some(text)) => read_content(text, out),
                    (None, None) if part.is_string() => read_content(part, out),
                    (None, None) => {}
                }
            }
        }
        _ => {}
    }
}

fn read_reasoning(value: &Value) -> Option<ChunkItem> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect::<String>()
        }
        _ => String::new(),
    };
    (!text.is_empty()).then_some(ChunkItem::Delta(Delta::Reasoning(text)))
}

/// Reads the server's usage under every field name in use. Missing numbers stay unknown.
pub fn read_usage(value: &Value) -> Usage {
    let number = |paths: &[&str]| paths.iter().find_map(|path| value.pointer(path).and_then(count));
    // Impossibly large numbers are limited by the prompt later, so they must not be lost here.
    let most = |value: &Value| too_large(value).map(|_| u32::MAX);
    let share = |paths: &[&str]| paths.iter().find_map(|path| value.pointer(path).and_then(|n| count(n).or(most(n))));
    // Only this format counts cached tokens in addition to the prompt rather than as part of it.
    let cached_extra = if value.get("prompt_tokens").is_none() {
        ["/cache_read_input_tokens", "/cache_creation_input_tokens"].map(|path| number(&[path]).unwrap_or(0))
    } else {
        [0, 0]
    };
    let prompt = number(&["/prompt_tokens", "/input_tokens"]);
    Usage {
        prompt: prompt.map(|tokens| cached_extra.iter().fold(tokens, |sum, more| sum.saturating_add(*more))),
        completion: number(&["/completion_tokens", "/output_tokens"]),
        reasoning: number(&[
            "/completion_tokens_details/reasoning_tokens",
            "/output_tokens_details/reasoning_tokens",
            "/reasoning_tokens",
        ]),
        cached_read: share(CACHED_READ),
        cache_write: share(CACHE_WRITE),
    }
}

const CACHED_READ: &[&str] = &[
    "/prompt_tokens_details/cached_tokens",
    "/input_tokens_details/cached_tokens",
    "/prompt_cache_hit_tokens",
    "/cache_read_input_tokens",
];
const CACHE_WRITE: &[&str] = &[
    "/prompt_tokens_details/cache_write_tokens",
    "/prompt_tokens_details/cache_creation_tokens",
    "/cache_creation_input_tokens",
];

fn too_large(value: &Value) -> Option<u64> {
    value.as_u64().filter(|whole| *whole > u64::from(u32::MAX))
}

/// Reports numbers of cached tokens that are too large to be kept, as the server wrote them.
fn uncountable(value: &Value) -> Option<Diagnostic> {
    let first = |paths: &[&str]| paths.iter().find_map(|path| value.pointer(path).and_then(too_large)).map(grouped);
    let read = first(CACHED_READ).map(|n| format!("{n} cached tokens"));
    let written = first(CACHE_WRITE).map(|n| format!("{n} tokens written to the cache"));
    let reported: Vec<String> = read.into_iter().chain(written).collect();
    let what = format!("The server reported {}; at most the prompt is counted.", reported.join(" and "));
    (!reported.is_empty()).then_some(Diagnostic { what, raw: String::new() })
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn count(value: &Value) -> Option<u32> {
    match value.as_u64() {
        Some(whole) => u32::try_from(whole).ok(),
        None => value.as_f64().filter(|n| (0.0..4e9).contains(n)).map(|n| n as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use uuid::Uuid;

    fn read_all(values: &[Value]) -> Vec<ChunkItem> {
        let mut chunks = Chunks::new(RunId(Uuid::nil()));
        values.iter().flat_map(|value| chunks.read(&Parsed::from(value.clone()))).collect()
    }

    fn delta(delta: &Value) -> Value {
        json!({"choices": [{"delta": delta}]})
    }

    /// Returns the calls as the receiver assembles them: (id, name, arguments).
    fn calls(values: &[Value]) -> Vec<(String, String, String)> {
        joined_calls(read_all(values))
    }

    fn joined_calls(all: Vec<ChunkItem>) -> Vec<(String, String, String)> {
        let mut found: Vec<(String, String, String)> = Vec::new();
        for item in all {
            if let ChunkItem::Delta(Delta::Call { index, id, name, args }) = item {
                let at = index as usize;
                if at == found.len() {
                    found.push((id.clone().expect("an id in the first piece"), String::new(), String::new()));
                } else {
                    assert_eq!(id, None, "only the first piece has an id");
                }
                found[at].1.push_str(name.as_deref().unwrap_or_default());
                found[at].2.push_str(&args);
            }
        }
        found
    }

    fn piece(index: Option<u64>, id: &str, name: &str, args: &str) -> Value {
        let mut call = json!({"function": {}});
        if let Some(index) = index {
            call["index"] = json!(index);
        }
        if !id.is_empty() {
            call["id"] = json!(id);
        }
        if !name.is_empty() {
            call["function"]["name"] = json!(name);
        }
        call["function"]["arguments"] = json!(args);
        call
    }

    fn each(pieces: &[Value]) -> Vec<Value> {
        pieces.iter().map(|piece| delta(&json!({"tool_calls": [piece]}))).collect()
    }

    fn of(id: &str, name: &str, args: &str) -> (String, String, String) {
        (id.into(), name.into(), args.into())
    }

    #[test]
    fn content_in_every_form() {
        let items = read_all(&[
            delta(&json!({"role": "assistant", "content": null})),
            delta(&json!({"role": "assistant", "content": ""})),
            delta(&json!({"content": "a"})),
            delta(&json!({"content": [{"type": "text", "text": "b"}, {"type": "image_url"}, "c"]})),
            delta(&json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}]})),
            delta(&json!({"reasoning": "r", "reasoning_content": null})),
            delta(&json!({"reasoning": "q", "reasoning_content": "q"})),
            json!({"choices": [{"text": "d", "finish_reason": ""}]}),
            json!({"choices": [{"index": 1, "delta": {"content": "other"}}]}),
            json!({"choices": null, "usage": null}),
            json!({"prompt_filter_results": [], "choices": [], "usage": {}}),
            json!("text"),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        ]);
        let text = |t: &str| ChunkItem::Delta(Delta::Text(t.into()));
        let reasoning = |t: &str| ChunkItem::Delta(Delta::Reasoning(t.into()));
        let expected = [
            text("a"),
            text("b"),
            text("c"),
            reasoning("t"),
            reasoning("r"),
            reasoning("q"),
            text("d"),
            ChunkItem::Finish("stop".into()),
        ];
        assert_eq!(items, expected);
    }

    #[test]
    fn usage_in_every_form() {
        let mut chunks = Chunks::new(RunId(Uuid::nil()));
        let mut read = |value: Value| chunks.read(&Parsed::from(value));
        read(json!({"choices": [{"index": 0, "delta": {}}], "usage": {"prompt_tokens": 10, "cost": 0.1}}));
        read(json!({"choices": [], "usage": {"completion_tokens": 4.0, "prompt_tokens": null,
            "prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 1}}}));
        assert!(read(json!({"usage": {"completion_tokens": 4}})).is_empty());
        let usage = Usage {
            prompt: Some(10),
            completion: Some(4),
            reasoning: Some(1),
            cached_read: Some(3),
            cache_write: None,
        };
        assert_eq!(chunks.usage(), usage);
        let anthropic = json!({"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4});
        let usage = read_usage(&anthropic);
        assert_eq!(
            (usage.prompt, usage.cache_write, usage.cached_read),
            (Some(8), Some(3), Some(4)),
            "cached tokens are added to the prompt"
        );
        let both = json!({"prompt_tokens": 8, "cache_read_input_tokens": 4});
        assert_eq!(read_usage(&both).prompt, Some(8), "cached tokens are part of the prompt");
        let absurd =
            json!({"usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 999_999_999_999_u64}}});
        let sentence = "The server reported 999,999,999,999 cached tokens; at most the prompt is counted.";
        let all = read_all(&[absurd.clone(), absurd]);
        let diagnostics: Vec<_> = all
            .iter()
            .filter_map(|item| match item {
                ChunkItem::Delta(Delta::Diagnostic(found)) => Some(found.what.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(diagnostics, [sentence], "reported once");
        let both = json!({"cache_read_input_tokens": u64::MAX, "cache_creation_input_tokens": 1_u64 << 32});
        assert_eq!(
            uncountable(&both).map(|found| found.what).as_deref(),
            Some(
                "The server reported 18,446,744,073,709,551,615 cached tokens and 4,294,967,296 tokens written to the \
                 cache; at most the prompt is counted."
            )
        );
        assert_eq!(uncountable(&json!({"cache_read_input_tokens": u32::MAX})), None, "reported beside the prompt");
        assert_eq!(read_usage(&json!({"prompt_tokens": -5, "completion_tokens": "7"})), Usage::default());
    }

    #[test]
    fn calls_by_index() {
        let pieces = [
            piece(Some(0), "a", "read", ""),
            piece(Some(1), "b", "list", "{\"x\""),
            piece(Some(0), "", "", "{\"p\":"),
            piece(Some(1), "", "", ":1}"),
            piece(Some(0), "", "", "2}"),
        ];
        assert_eq!(calls(&each(&pieces)), [of("a", "read", "{\"p\":2}"), of("b", "list", "{\"x\":1}")]);
    }

    #[test]
    fn name_pieces_are_joined() {
        let name = "read_file";
        for (a, b) in (0..=name.len()).flat_map(|a| (a..=name.len()).map(move |b| (a, b))) {
            let pieces = [
                piece(Some(0), "a", &name[..a], ""),
                piece(Some(0), "", &name[a..b], "{"),
                piece(Some(0), "", &name[b..], "}"),
            ];
            assert_eq!(calls(&each(&pieces)), [of("a", name, "{}")], "cut at {a} and {b}");
        }
    }

    #[test]
    fn a_repeated_name_is_recognized_by_the_offered_tools() {
        for (offered, pieces, name) in [
            (&["lsls"][..], &["ls", "ls"][..], "lsls"),
            (&["ls"], &["ls", "ls"], "ls"),
            (&["ls", "lsls"], &["ls", "ls"], "ls"),
            (&["ls", "ls_all"], &["ls", "ls", "ls"], "ls"),
            (&["ls", "ls_all"], &["ls", "_all"], "ls_all"),
            (&["bobob_x"], &["bo", "bo", "b_x"], "bobob_x"),
            (&["lsls"], &["lsls", "lsls", "lsls"], "lsls"),
            (&["lsls"], &["ls", "ls", "", "lsls"], "lsls"),
            (&["read_file"], &["ls", "ls"], "ls"),
            (&[], &["ls", "ls"], "ls"),
        ] {
            let tools: Vec<Value> =
                offered.iter().map(|name| json!({"type": "function", "function": {"name": name}})).collect();
            let request = json!({"model": "m", "messages": [], "tools": tools}).to_string();
            let mut chunks = Chunks::new(RunId(Uuid::nil()));
            chunks.set_request(&request.into_bytes().into());
            let pieces: Vec<Value> = pieces
                .iter()
                .enumerate()
                .map(|(at, part)| piece(Some(0), if at == 0 { "a" } else { "" }, part, " "))
                .collect();
            let items: Vec<ChunkItem> =
                each(&pieces).into_iter().flat_map(|value| chunks.read(&Parsed::from(value))).collect();
            assert_eq!(joined_calls(items)[0].1, name, "{pieces:?} of {offered:?}");
        }
    }

    #[test]
    fn calls_by_id_and_by_place() {
        let by_id = [piece(None, "a", "f", "1"), piece(None, "b", "g", "2"), piece(None, "a", "", "3")];
        assert_eq!(calls(&each(&by_id)), [of("a", "f", "13"), of("b", "g", "2")]);
        let by_place = [piece(None, "a", "f", "{"), piece(None, "", "", "}"), piece(None, "b", "f", "{}")];
        assert_eq!(calls(&each(&by_place)), [of("a", "f", "{}"), of("b", "f", "{}")]);
    }

    #[test]
    fn calls_that_all_have_index_zero() {
        let pieces = [piece(Some(0), "a", "f", "{}"), piece(Some(0), "b", "g", "{}"), piece(Some(0), "", "", " ")];
        assert_eq!(calls(&each(&pieces)), [of("a", "f", "{}"), of("b", "g", "{} ")]);
    }

    #[test]
    fn repeated_fields_and_objects_as_arguments() {
        let pieces = [piece(Some(0), "a", "f", "{"), piece(Some(0), "a", "f", "}")];
        assert_eq!(calls(&each(&pieces)), [of("a", "f", "{}")]);
        let whole = delta(&json!({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]}));
        assert_eq!(calls(&[whole]), [of("a", "f", "{\"x\":1}")]);
    }

    #[test]
    fn calls_without_id_get_one() {
        let found = calls(&each(&[piece(Some(0), "", "f", "{}"), piece(Some(1), "", "g", "{}")]));
        assert!(found.iter().all(|(id, ..)| id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric())));
        assert_ne!(found[0].0, found[1].0);
        let legacy = [
            delta(&json!({"function_call": {"name": "f", "arguments": "{"}})),
            delta(&json!({"function_call": {"arguments": "}"}})),
        ];
        assert_eq!(calls(&legacy)[0].2, "{}");
    }

    #[test]
    fn errors_in_the_stream() {
        for value in [
            json!({"error": {"message": "no", "code": 502}, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}),
            json!({"object": "error", "message": "no", "code": 400}),
            json!({"error": "no"}),
            json!({"choices": [{"error": {"message": "no"}, "delta": {}}]}),
        ] {
            assert!(
                matches!(&read_all(std::slice::from_ref(&value))[0], ChunkItem::Fault(fault) if fault.message == "no"),
                "{value}"
            );
        }
        assert!(read_all(&[json!({"error": null, "choices": []})]).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn interleaved_calls_come_together(order in proptest::collection::vec(0_usize..3, 0..60)) {
            let mut expected = vec![String::new(); 3];
            let mut pieces: Vec<Value> = (0..3).map(|n| piece(Some(n), &format!("id{n}"), "f", "")).collect();
            for (step, call) in order.iter().enumerate() {
                let text = format!("{step};\\u00e9");
                expected[*call].push_str(&text);
                pieces.push(piece(Some(*call as u64), "", "", &text));
            }
            let found: Vec<String> = calls(&each(&pieces)).into_iter().map(|call| call.2).collect();
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
