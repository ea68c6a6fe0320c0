//! The body of a chat request as text: its parts, its faults, and its messages as one editable text and back.
//! Not for: making a body from a plan (`context::render`) or counting its tokens (`context::render::checks`).

use crate::domain::base::hash::Hash;
use serde_json::Value;
use std::fmt::{self, Write as _};
use std::ops::Range;
use std::sync::Arc;

/// The exact bytes of a request, with their parts.
#[derive(Clone, PartialEq, Debug)]
pub struct RawRequest {
    pub body: Arc<str>,
    /// The BLAKE3 hash of the body.
    pub digest: Hash,
    /// The parts of its messages, in order.
    pub parts: Vec<RawPart>,
    /// Tokens in all.
    pub tokens: u32,
    /// The budget, with its safety margin.
    pub budget: u32,
}

/// A part of a message of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawPart {
    /// The index of the message, from 0.
    pub message: u32,
    /// The length of its content as JSON, in bytes.
    pub bytes: usize,
    /// Its section and title, not sanitized.
    pub title: String,
    pub tokens: u32,
}

/// The kind of a part of a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockKind {
    /// Everything before the first message.
    Head,
    /// A message of the list.
    Message {
        /// The index, from 0.
        index: usize,
        /// The role, unsanitized.
        role: String,
    },
    /// The offered tools.
    Tools,
    /// Everything after the messages.
    Tail,
}

/// A part of a body. The parts in order make up the body, byte for byte.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    pub kind: BlockKind,
    /// The range of bytes in the body.
    pub range: Range<usize>,
}

/// The fault of a text, and its position. Lines and columns count from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BodyFault {
    pub line: usize,
    /// The column in characters; 1 if the whole line is at fault.
    pub column: usize,
    /// The fault, as a sentence without a period.
    pub what: String,
}

impl fmt::Display for BodyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}.", self.line, self.column, self.what)
    }
}

/// Byte ranges of the messages and of the tools in a body.
#[derive(Default)]
struct Ranges {
    messages: Vec<Range<usize>>,
    tools: Option<Range<usize>>,
}

/// Scans a body for the ranges of its messages and tools. Recognizes only strings, brackets, and the keys of the
/// outermost object; invalid JSON may give no ranges.
fn ranges(body: &str) -> Ranges {
    let bytes = body.as_bytes();
    let (mut found, mut stack) = (Ranges::default(), Vec::new());
    let (mut key, mut start_of_value) = (String::new(), None);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at);
                let is_key = bytes[end.min(bytes.len())..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':');
                if stack.len() == 1 && is_key {
                    body.get(at + 1..end - 1).unwrap_or_default().clone_into(&mut key);
                }
                at = end;
                continue;
            }
            open @ (b'{' | b'[') => {
                if stack.len() == 1 && key == "tools" && open == b'[' {
                    start_of_value = Some(at);
                }
                if stack == [b'{', b'['] && key == "messages" && open == b'{' {
                    start_of_value = Some(at);
                }
                stack.push(open);
            }
            b'}' | b']' => {
                stack.pop();
                if let Some(start) = start_of_value {
                    if stack == [b'{', b'['] && key == "messages" {
                        found.messages.push(start..at + 1);
                        start_of_value = None;
                    } else if stack.len() == 1 && key == "tools" {
                        found.tools = Some(start..at + 1);
                        start_of_value = None;
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Returns the position after the string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' => end += 2,
            b'"' => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

/// Returns the parts of a body, in order. A text that is not a request is one part.
pub fn blocks(body: &str) -> Vec<Block> {
    let found = ranges(body);
    let Some(first) = found.messages.first() else {
        return vec![Block { kind: BlockKind::Head, range: 0..body.len() }];
    };
    let mut all = vec![Block { kind: BlockKind::Head, range: 0..first.start }];
    let mut ends = 0;
    for (index, range) in found.messages.iter().enumerate() {
        ends = found.messages.get(index + 1).map_or(range.end, |next| next.start);
        let role = serde_json::from_str::<Value>(&body[range.clone()]).ok();
        let role = role.as_ref().and_then(|message| message.get("role")?.as_str()).unwrap_or("?").to_owned();
        all.push(Block { kind: BlockKind::Message { index, role }, range: range.start..ends });
    }
    if let Some(tools) = found.tools.filter(|tools| tools.start >= ends) {
        all.push(Block { kind: BlockKind::Tail, range: ends..tools.start });
        all.push(Block { kind: BlockKind::Tools, range: tools.clone() });
        ends = tools.end;
    }
    all.push(Block { kind: BlockKind::Tail, range: ends..body.len() });
    all
}

/// Returns the position after the opening quote of a message's content; `None` if the content is not a string.
pub fn content_at(body: &str, block: &Block) -> Option<usize> {
    let bytes = &body.as_bytes()[block.range.clone()];
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at);
                let named = depth == 1 && bytes.get(at + 1..end.saturating_sub(1)) == Some(b"content");
                let mut rest =
                    bytes[end.min(bytes.len())..].iter().enumerate().filter(|(_, b)| !b.is_ascii_whitespace());
                if let (true, Some((_, b':')), Some((quote, b'"'))) = (named, rest.next(), rest.next()) {
                    return Some(block.range.start + end + quote + 1);
                }
                at = end;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the number of bytes that a text takes inside a JSON string.
pub fn escaped_len(text: &str) -> usize {
    serde_json::to_string(text).map_or(0, |json| json.len().saturating_sub(2))
}

/// Checks that a text is a chat request that can be sent: an object with a model name and a list of messages with
/// roles.
///
/// # Errors
/// The first fault, with its line and column.
pub fn check(body: &str) -> Result<(), BodyFault> {
    let value: Value = serde_json::from_str(body).map_err(|error| {
        let whole = error.to_string();
        let what = whole.split(" at line ").next().unwrap_or_default().to_owned();
        let line = error.line().max(1);
        BodyFault { line, column: column(body, line, error.column()), what: format!("this is not JSON: {what}") }
    })?;
    let wrong = |what: &str| BodyFault { line: 1, column: 1, what: what.to_owned() };
    let Some(fields) = value.as_object() else { return Err(wrong("a request must be a JSON object")) };
    if fields.get("model").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err(wrong("the request names no model"));
    }
    let messages = fields.get("messages").and_then(Value::as_array).filter(|messages| !messages.is_empty());
    let messages = messages.ok_or_else(|| wrong("the request has no messages"))?;
    let broken = messages.iter().position(|message| role(message).is_none());
    let Some(at) = broken else { return Ok(()) };
    let start = ranges(body).messages.get(at).map_or(0, |range| range.start);
    let (line, column) = line_and_column(body, start);
    Err(BodyFault { line, column, what: format!("message {} has no role", at + 1) })
}

/// Converts a column in bytes to a column in characters.
fn column(body: &str, line: usize, bytes: usize) -> usize {
    let text = body.split('\n').nth(line - 1).unwrap_or_default();
    let chars = text.char_indices().take_while(|(at, _)| *at < bytes).count();
    chars.max(1)
}

fn line_and_column(body: &str, at: usize) -> (usize, usize) {
    let before = body.get(..at).unwrap_or(body);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// Returns the plain text of the last user message; `None` if there is none.
pub fn last_question(body: &str) -> Option<String> {
    parsed_messages(body).iter().rfind(|message| role(message) == Some("user")).map(message_text)
}

fn role(message: &Value) -> Option<&str> {
    message.get("role")?.as_str()
}

/// Returns the text of a message; the texts of several parts are joined by line breaks.
pub fn message_text(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Returns the person's own words in the edited last message of a request: without the blocks that preceded the draft
/// in the message `before` the edit, if these are unchanged.
pub fn own_words(before: Option<&str>, draft: &str, edited: &str) -> String {
    let blocks = before.and_then(|before| before.strip_suffix(draft));
    let own = blocks.filter(|blocks| !blocks.is_empty()).and_then(|blocks| edited.strip_prefix(blocks));
    own.unwrap_or(edited).to_owned()
}

/// Returns the model name of a body; `None` if there is none.
pub fn model(body: &str) -> Option<String> {
    serde_json::from_str::<Value>(body).ok()?.get("model")?.as_str().map(str::to_owned)
}

/// Returns the messages of a body as one editable text, each below a line such as `=== 2 user`. The run of `=` is
/// longer than any at the beginning of a line of the messages.
pub fn texts(body: &str) -> String {
    let messages = parsed_messages(body);
    let run = |line: &str| line.bytes().take_while(|b| *b == b'=').count();
    let longest =
        messages.iter().flat_map(|m| message_text(m).split('\n').map(run).collect::<Vec<_>>()).max().unwrap_or(0);
    let fence = "=".repeat((longest + 1).max(3));
    let mut out = String::new();
    for (index, message) in messages.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let role = role(message).unwrap_or("user");
        let calls = message.get("tool_calls").and_then(Value::as_array).map_or(0, Vec::len);
        let note = match calls {
            0 => String::new(),
            1 => " (with its tool call)".to_owned(),
            n => format!(" (with its {n} tool calls)"),
        };
        let _ = write!(out, "{fence} {} {role}{note}\n{}", index + 1, message_text(message));
    }
    out
}

/// Returns the messages of a body; empty if it is not a request.
fn parsed_messages(body: &str) -> Vec<Value> {
    let value: Option<Value> = serde_json::from_str(body).ok();
    value.and_then(|mut value| Some(value.get_mut("messages")?.as_array_mut()?.split_off(0))).unwrap_or_default()
}

/// A message of an edited text: the line where it starts, its number (`None` for a new message), its role, and its
/// text.
struct EditedMessage {
    line: usize,
    number: Option<usize>,
    role: String,
    text: String,
}

/// Returns a body with its messages replaced by the edited texts. Unchanged messages and everything other than messages
/// keep their exact bytes. A message without a number is new; a message that is missing from the texts is removed.
pub fn with_texts(body: &str, texts: &str) -> Result<String, BodyFault> {
    let messages = read(texts)?;
    let found = ranges(body);
    let (Some(first), Some(last)) = (found.messages.first(), found.messages.last()) else {
        return Err(BodyFault { line: 1, column: 1, what: "there is no request to edit".into() });
    };
    let mut parts: Vec<String> = Vec::with_capacity(messages.len());
    let mut used = Vec::new();
    for message in &messages {
        let wrong = |what: String| BodyFault { line: message.line, column: 1, what };
        let Some(number) = message.number else {
            parts.push(serde_json::json!({ "role": message.role, "content": message.text }).to_string());
            continue;
        };
        if used.contains(&number) {
            return Err(wrong(format!("message {number} appears twice")));
        }
        used.push(number);
        let range = number.checked_sub(1).and_then(|at| found.messages.get(at)).cloned();
        let range = range.ok_or_else(|| wrong(format!("there is no message {number}; a new message has no number")))?;
        parts.push(with_text(&body[range], message));
    }
    let mut out = body[..first.start].to_owned();
    out.push_str(&parts.join(","));
    out.push_str(&body[last.end..]);
    Ok(out)
}

/// Returns a message with its new role and text; its exact bytes if both are unchanged.
fn with_text(json: &str, to: &EditedMessage) -> String {
    let Ok(mut message) = serde_json::from_str::<Value>(json) else { return json.to_owned() };
    let same = message_text(&message) == to.text && role(&message) == Some(to.role.as_str());
    let Some(fields) = message.as_object_mut().filter(|_| !same) else { return json.to_owned() };
    fields.insert("role".into(), to.role.clone().into());
    if !(to.text.is_empty() && fields.get("content").is_some_and(Value::is_null)) {
        fields.insert("content".into(), to.text.clone().into());
    }
    message.to_string()
}

/// Parses an edited text.
fn read(texts: &str) -> Result<Vec<EditedMessage>, BodyFault> {
    let run = texts.bytes().take_while(|b| *b == b'=').count();
    if run < 3 {
        let what = "the first line must start a message, as in === 1 system".to_owned();
        return Err(BodyFault { line: 1, column: 1, what });
    }
    let fence = &texts[..run];
    let mut all: Vec<EditedMessage> = Vec::new();
    for (at, line) in texts.split('\n').enumerate() {
        let head = line.strip_prefix(fence).and_then(|rest| rest.strip_prefix(' '));
        if let Some(head) = head {
            all.push(heading(head, at + 1)?);
        } else if let Some(last) = all.last_mut() {
            if at > last.line {
                last.text.push('\n');
            }
            last.text.push_str(line);
        }
    }
    if all.is_empty() {
        return Err(BodyFault { line: 1, column: 1, what: "no message is left".into() });
    }
    Ok(all)
}

/// Parses the line that starts a message, without its `=`.
fn heading(head: &str, line: usize) -> Result<EditedMessage, BodyFault> {
    let mut words = head.split_whitespace();
    let first = words.next().unwrap_or_default();
    let number = first.parse::<usize>().ok();
    let role = if number.is_some() { words.next().unwrap_or_default() } else { first };
    let known = ["system", "developer", "user", "assistant", "tool"];
    if !known.contains(&role) {
        let what = format!("a message starts with its role ({}), not with {role:?}", known.join(", "));
        return Err(BodyFault { line, column: 1, what });
    }
    if number.is_none() && role == "tool" {
        let what = "a new tool result can't be added; a result must answer a tool call".to_owned();
        return Err(BodyFault { line, column: 1, what });
    }
    Ok(EditedMessage { line, number, role: role.to_owned(), text: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BODY: &str = r#"{"model":"m","messages":[{"role":"system","content":"You \"help\".\n=== 2 user"},{"role":"user","content":"What is {it}?"},{"content":null,"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"[1]","tool_call_id":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"stream":true}"#;

    #[test]
    fn parts_make_up_the_body() {
        let all = blocks(BODY);
        let whole: String = all.iter().map(|block| &BODY[block.range.clone()]).collect();
        assert_eq!(whole, BODY);
        let read = |block: &Block| serde_json::from_str::<Value>(&BODY[block.range.clone()]).unwrap();
        let tools = all.iter().find(|block| block.kind == BlockKind::Tools).unwrap();
        assert_eq!(read(tools), serde_json::from_str::<Value>(BODY).unwrap()["tools"]);
        let roles: Vec<String> = all
            .iter()
            .map(|block| match &block.kind {
                BlockKind::Message { index, role } => format!("{index} {role}"),
                kind => format!("{kind:?}"),
            })
            .collect();
        assert_eq!(roles, ["Head", "0 system", "1 user", "2 assistant", "3 tool", "Tail", "Tools", "Tail"]);
        let at = content_at(BODY, &all[2]).unwrap();
        assert!(BODY[at..].starts_with("What is {it}?"));
        assert_eq!(content_at(BODY, &all[3]), None, "null is no text");
        assert_eq!(blocks("no json {").len(), 1);
    }

    #[test]
    fn unchanged_texts_give_the_same_bytes() {
        let text = texts(BODY);
        assert!(text.starts_with("==== 1 system\nYou \"help\".\n=== 2 user\n==== 2 user\nWhat is {it}?\n"), "{text}");
        assert_eq!(with_texts(BODY, &text).unwrap(), BODY);
        let edited = with_texts(BODY, &text.replace("What is {it}?", "Who?\n")).unwrap();
        assert_eq!(
            edited,
            BODY.replace("What is {it}?", "Who?\\n").replace(
                r#"{"role":"user","content":"Who?\n"}"#,
                &serde_json::json!({"role": "user", "content": "Who?\n"}).to_string()
            )
        );
        let less = text.replace("==== 2 user\nWhat is {it}?\n", "==== user\nNew\n");
        assert_eq!(last_question(&with_texts(BODY, &less).unwrap()).as_deref(), Some("New"));
        for (invalid, line) in
            [("words", 1), ("=== 9 user\nx", 1), ("=== 1 system\n=== 1 system\n", 2), ("=== 1 who", 1)]
        {
            assert_eq!(with_texts(BODY, invalid).unwrap_err().line, line, "{invalid}");
        }
    }

    #[test]
    fn faults_have_positions() {
        assert_eq!(check(BODY), Ok(()));
        let broken = check("{\n  \"model\": \"m\",\n  \"é\": ]\n}").unwrap_err();
        assert_eq!((broken.line, broken.column), (3, 8), "{broken}");
        let fault = check("{\"model\":\"m\",\n\"messages\":[{\"role\":\"user\"}, {\"content\":\"x\"}]}").unwrap_err();
        assert_eq!((fault.line, fault.column), (2, 30), "{fault}");
        for invalid in ["[]", "{\"messages\":[]}", "{\"model\":\"m\",\"messages\":[]}"] {
            assert!(check(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn own_words_exclude_preceding_blocks() {
        assert_eq!(own_words(Some("BLOCKS\nhi"), "hi", "BLOCKS\nho"), "ho");
        assert_eq!(own_words(Some("BLOCKS\nhi"), "hi", "changed\nho"), "changed\nho");
        assert_eq!(own_words(Some("hi"), "hi", "ho"), "ho");
        assert_eq!(own_words(None, "", "ho"), "ho");
    }

    type Message = (bool, Option<String>);

    fn message() -> impl Strategy<Value = Message> {
        (any::<bool>(), proptest::option::of("(\\PC|\n|=){0,6}"))
    }

    fn body_of(messages: &[Message]) -> String {
        let one = |(user, text): &Message| serde_json::json!({"role": if *user { "user" } else { "assistant" }, "content": text});
        let messages: Vec<Value> = messages.iter().map(one).collect();
        serde_json::json!({"model": "m", "messages": messages}).to_string()
    }

    proptest! {
        #[test]
        fn any_text_survives_editing(texts_of_messages in proptest::collection::vec("(\\PC|\n|=|\"|\\\\|\t){0,20}", 1..5)) {
            let messages: Vec<Value> =
                texts_of_messages.iter().map(|text| serde_json::json!({"role": "user", "content": text})).collect();
            let body = serde_json::json!({"model": "m", "messages": messages}).to_string();
            prop_assert_eq!(with_texts(&body, &texts(&body)).unwrap(), body.clone());
            let whole: String = blocks(&body).iter().map(|block| &body[block.range.clone()]).collect();
            prop_assert_eq!(&whole, &body);
            for (block, text) in blocks(&body).iter().filter(|b| matches!(b.kind, BlockKind::Message { .. })).zip(&texts_of_messages) {
                let at = content_at(&body, block).unwrap();
                let end = at + escaped_len(text);
                prop_assert_eq!(serde_json::from_str::<String>(&body[at - 1..=end]).unwrap(), text.clone());
            }
        }

        /// A message without content stays without content unless it gets a text.
        #[test]
        fn edited_texts_are_the_new_texts(
            pairs in proptest::collection::vec((message(), message()), 1..5), more in proptest::collection::vec(message(), 0..3)
        ) {
            let (old, new): (Vec<Message>, Vec<Message>) = pairs.iter().cloned().unzip();
            let edited: Vec<Message> = pairs
                .into_iter()
                .map(|((_, old), (role, new))| (role, Some(new.unwrap_or_default()).filter(|new| old.is_some() || !new.is_empty())))
                .collect();
            let before = body_of(&[old, more].concat());
            prop_assert_eq!(with_texts(&before, &texts(&body_of(&new))).unwrap(), body_of(&edited));
        }

        #[test]
        fn no_text_panics(raw in "(\\PC|\\{|\\[|\"|\\\\|\\]|\\}|\"messages\":|\"content\":\"){0,40}") {
            let whole: String = blocks(&raw).iter().map(|block| &raw[block.range.clone()]).collect();
            prop_assert_eq!(&whole, &raw);
            let _ = (check(&raw), texts(&raw), with_texts(&raw, &raw), last_question(&raw));
            prop_assert!(blocks(&raw).iter().all(|block| content_at(&raw, block).is_none_or(|at| at <= raw.len())));
        }
    }
}
