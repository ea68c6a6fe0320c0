//! Writes bundles: a header, the messages as in JSON lines, branches, plans, searches, calls, tool calls, and the number
//! of each, one record per line.
//! Not for: collecting the records (`engine`), or their hashes (`domain::base::record_chain`).
//!
//! Everything is masked. Where a message contains a secret, quotes of it are left out too, because a quote can contain a
//! part of the secret that no pattern recognizes: titles and previews are emptied, and the request is left out. A request
//! that the bundle contains is therefore exactly what was sent, and its digest can be checked.

use super::jsonl;
use super::masking::{mask_names, mask_record, mask_text, mask_value};
use crate::domain::base::record_chain::ChainWriter;
use crate::domain::call::bundle::{Bundle, BundleCounts, BundledCall, KEY_FIELD, RecordKind, VERSION, WrittenBundle};
use crate::domain::conversation::Transcript;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// The program and its version.
const PROGRAM: &str = concat!("pleach ", env!("CARGO_PKG_VERSION"));

/// Why a request is left out.
const SECRET: &str = "it contains text that looks like a secret";

/// Writes a bundle.
pub(super) fn write(bundle: &Bundle) -> WrittenBundle {
    let mut writer = Writer::default();
    let transcript = writer.masked(bundle);
    writer.header(&transcript, bundle);
    for (mut line, key) in jsonl::messages(&transcript).zip(&bundle.keys) {
        line.insert(KEY_FIELD.into(), json!(key));
        writer.record(RecordKind::Message, &line);
    }
    jsonl::branches(&transcript).for_each(|line| writer.record(RecordKind::Branch, &line));
    let mut quoting = HashMap::new();
    for plan in &bundle.plans {
        let mut plan = plan.clone();
        quoting.insert(plan["id"].to_string(), writer.hide_rows(&mut plan));
        writer.value(RecordKind::Plan, plan);
    }
    for search in &bundle.searches {
        let mut search = search.clone();
        writer.hide_search(&mut search);
        writer.value(RecordKind::Search, search);
    }
    for call in &bundle.calls {
        writer.call(call, quoting.get(&json!(call.card.plan).to_string()).copied());
    }
    for trace in &bundle.tool_calls {
        let mut trace = json!(trace);
        writer.hide(&mut trace);
        writer.value(RecordKind::ToolCall, trace);
    }
    writer.end()
}

#[derive(Default)]
struct Writer {
    chain: ChainWriter,
    text: String,
    counts: BundleCounts,
    masked: usize,
    /// The keys and ids of the messages in which something was masked.
    secret: HashSet<String>,
    /// The last request that was written. The next one often begins with the same bytes.
    request: String,
}

impl Writer {
    /// Returns the masked transcript, and remembers its masked messages.
    fn masked(&mut self, bundle: &Bundle) -> Transcript {
        let mut transcript = bundle.transcript.clone();
        self.masked += mask_names(&mut transcript);
        for (record, key) in transcript.records.iter_mut().zip(&bundle.keys) {
            let found = mask_record(record);
            self.masked += found;
            if found > 0 {
                self.secret.extend([key.to_string(), record.id.clone()]);
            }
        }
        transcript
    }

    fn header(&mut self, transcript: &Transcript, bundle: &Bundle) {
        let branch = bundle.branch.clone().map(|mut name| {
            mask_text(&mut name);
            name
        });
        let header = json!({
            "version": VERSION, "program": PROGRAM, "session": transcript.source, "source": transcript.source,
            "title": transcript.title, "only_branch": branch,
        });
        self.value(RecordKind::Header, header);
    }

    fn record(&mut self, kind: RecordKind, fields: &Map<String, Value>) {
        self.counts.add(kind);
        self.text.push_str(&self.chain.line(kind.name(), fields));
    }

    /// Masks and writes a record.
    fn value(&mut self, kind: RecordKind, mut value: Value) {
        self.masked += mask_value(&mut value);
        if let Value::Object(fields) = value {
            self.record(kind, &fields);
        }
    }

    /// Writes a call. `quotes`: whether its plan quotes a masked message; `None` if the bundle does not contain its plan.
    fn call(&mut self, call: &BundledCall, quotes: Option<bool>) {
        let mut line = json!({
            "run_id": call.card.id,
            "plan_id": call.card.plan,
            "request_digest": call.card.request_digest,
            "turn": call.turn,
            "question": call.question,
            "answer": call.answer,
            "card": call.card,
            "usage_report": call.usage,
            "uses": call.uses,
        });
        if quotes.is_none() {
            line["plan_left_out"] = "it is no longer stored".into();
        }
        self.hide(&mut line);
        let secret = |body: &str| quotes.unwrap_or_default() || is_secret(body);
        let request = call.request.as_deref().map_err(String::as_str);
        match request.and_then(|body| if secret(body) { Err(SECRET) } else { Ok(body) }) {
            Ok(body) => {
                let same = shared(&self.request, body);
                line["request_from_previous"] = same.into();
                line["request"] = body[same..].into();
                body.clone_into(&mut self.request);
            }
            Err(why) => line["request_left_out"] = why.into(),
        }
        let Value::Object(mut fields) = line else { return };
        // The request contains no secret as a whole. Its rest alone could look like one.
        let rest = fields.shift_remove("request");
        let mut line = Value::Object(fields);
        self.masked += mask_value(&mut line);
        line["request"] = rest.unwrap_or_default();
        if let Value::Object(fields) = line {
            self.record(RecordKind::Call, &fields);
        }
    }

    fn end(mut self) -> WrittenBundle {
        let mut counts = json!(self.counts);
        counts["masked"] = self.masked.into();
        self.value(RecordKind::End, counts);
        WrittenBundle { digest: self.chain.digest(), text: self.text, masked: self.masked }
    }

    /// Empties quotes of masked messages in the rows of a plan, and leaves out the texts that were made from them. Returns
    /// whether there are any.
    fn hide_rows(&self, plan: &mut Value) -> bool {
        let mut gone = HashSet::new();
        let mut quotes = false;
        for row in plan["rows"].as_array_mut().into_iter().flatten() {
            if self.hide(row) {
                quotes = true;
                gone.extend(row["text"].as_str().map(str::to_owned));
            }
        }
        if let Some(texts) = plan["texts"].as_object_mut() {
            texts.retain(|hash, _| !gone.contains(hash));
        }
        quotes
    }

    /// Empties what a search quotes of masked messages. Its query is a message; a query that was cut can end in the
    /// middle of a secret.
    fn hide_search(&self, search: &mut Value) {
        self.hide(search);
        if !self.secret.is_empty() && search["query"].as_str().is_some_and(|query| query.ends_with('…')) {
            search["query"] = "".into();
        }
    }

    /// Empties the titles and previews of everything that names a masked message. Returns whether the value names one.
    fn hide(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => self.secret.contains(text.as_str()),
            Value::Array(items) => items.iter_mut().fold(false, |named, item| self.hide(item) | named),
            Value::Object(fields) => {
                let named = fields.values_mut().fold(false, |named, field| self.hide(field) | named);
                for quote in ["title", "preview"].into_iter().filter(|_| named) {
                    if let Some(text) = fields.get_mut(quote) {
                        *text = "".into();
                    }
                }
                named
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

/// Whether the body of a request contains text that looks like a secret, in any of its strings.
fn is_secret(body: &str) -> bool {
    let parsed = serde_json::from_str(body).map(|mut value: Value| mask_value(&mut value) > 0);
    parsed.unwrap_or(true) || mask_text(&mut body.to_owned()) > 0
}

/// Returns the number of bytes that two texts share at their beginning, in whole characters.
fn shared(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    b.floor_char_boundary(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::Hash;

    #[test]
    fn requests_share_whole_characters() {
        for (a, b, same) in [("", "x", 0), ("abc", "abd", 2), ("aé", "aè", 1), ("ab", "abc", 2), ("ß", "ß", 2)] {
            assert_eq!(shared(a, b), same, "{a} {b}");
        }
    }

    #[test]
    fn quotes_of_a_masked_message_are_emptied() {
        let key = Hash::of(b"m").to_string();
        let writer = Writer { secret: HashSet::from([key.clone()]), ..Writer::default() };
        let mut plan = json!({
            "rows": [
                {"atom": {"node": key}, "title": "my key is ghp_ab", "text": "t1", "items": [{"key": key, "title": "ghp_a"}]},
                {"atom": {"node": "other"}, "title": "stays", "text": "t2", "items": []},
            ],
            "texts": {"t1": "my key is ghp_a", "t2": "stays"},
        });
        assert!(writer.hide_rows(&mut plan));
        assert_eq!(plan["rows"][0]["title"], "");
        assert_eq!(plan["rows"][0]["items"][0]["title"], "");
        assert_eq!(plan["rows"][1]["title"], "stays");
        assert_eq!(plan["texts"], json!({"t2": "stays"}));
        let mut search = json!({"kind": "code", "query": "where is ghp_ab…"});
        writer.hide_search(&mut search);
        assert_eq!(search["query"], "");
    }

    #[test]
    fn a_secret_behind_an_escape_is_found_in_a_request() {
        let key = format!("ghp_{}", "a1B2c3".repeat(6));
        let call = json!({"path": format!("a\n{key}")}).to_string();
        let body = |text: &str| json!({"messages": [{"content": text}]}).to_string();
        assert!(is_secret(&body(&format!("see\n{key}"))) && is_secret(&body(&call)));
        assert!(!is_secret(&body("no secret")));
    }
}
