//! A chat request's body as text: its parts, its faults, and its messages as an editable text and back.
//! Not for: making one from a plan (`context::render`) or counting it (`context::render::checks`).

use serde_json::Value;
use std::fmt::{self, Write as _};
use std::ops::Range;

/// The kind of a part of a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockKind {
    /// Everything before the first message.
    Head,
    /// A message of the list.
    Message {
        /// Its index, from 0.
        index: usize,
        /// Its role, unsanitized.
        role: String,
    },
    /// The offered tools.
    Tools,
    /// Everything after the messages.
    Tail,
}

/// A part of a body. All parts together are the body, byte for byte.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its kind.
    pub kind: BlockKind,
    /// Its bytes.
    pub range: Range<usize>,
}

/// What is wrong with a text, and where; line and column from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BodyFault {
    /// The line.
    pub line: usize,
    /// The column, in characters; 1 if the whole line is meant.
    pub column: usize,
    /// What is wrong, as a sentence without a period.
    pub what: String,
}

impl fmt::Display for BodyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}.", self.line, self.column, self.what)
    }
}

/// Positions of the values in a body.
#[derive(Default)]
struct Places {
    messages: Vec<Range<usize>>,
    tools: Option<Range<usize>>,
}

/// Scans a body once. Recognizes only strings, brackets and the keys of the outermost object; invalid JSON gives no
/// positions.
fn places(body: &str) -> Places {
    let bytes = body.as_bytes();
    let (mut found, mut stack) = (Places::default(), Vec::new());
    let (mut key, mut member) = (String::new(), None);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at);
                let keyed = bytes[end.min(bytes.len())..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':');
                if stack.len() == 1 && keyed {
                    body.get(at + 1..end - 1).unwrap_or_default().clone_into(&mut key);
                }
                at = end;
                continue;
            }
            open @ (b'{' | b'[') => {
                if stack.len() == 1 && key == "tools" && open == b'[' {
                    member = Some(at);
                }
                if stack == [b'{', b'['] && key == "messages" && open == b'{' {
                    member = Some(at);
                }
                stack.push(open);
            }
            b'}' | b']' => {
                stack.pop();
                if let Some(start) = member {
                    if stack == [b'{', b'['] && key == "messages" {
                        found.messages.push(start..at + 1);
                        member = None;
                    } else if stack.len() == 1 && key == "tools" {
                        found.tools = Some(start..at + 1);
                        member = None;
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The position after the string that begins at `at`.
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

/// The parts of a body, in order. Anything that is not a request is one part.
#[must_use]
pub fn blocks(body: &str) -> Vec<Block> {
    let found = places(body);
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

/// The position after the opening quote of a message's content, if that is a string.
#[must_use]
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

/// Bytes of a text inside a JSON string.
#[must_use]
pub fn escaped_len(text: &str) -> usize {
    serde_json::to_string(text).map_or(0, |json| json.len().saturating_sub(2))
}

/// Checks that a text is a chat request that can be sent: an object with a model's name and a list of messages with
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
    let broken = messages.iter().position(|message| message.get("role").and_then(Value::as_str).is_none());
    let Some(at) = broken else { return Ok(()) };
    let start = places(body).messages.get(at).map_or(0, |range| range.start);
    let (line, column) = position(body, start);
    Err(BodyFault { line, column, what: format!("message {} has no role", at + 1) })
}

/// Converts a column in bytes to one in characters.
fn column(body: &str, line: usize, bytes: usize) -> usize {
    let text = body.split('\n').nth(line - 1).unwrap_or_default();
    let chars = text.char_indices().take_while(|(at, _)| *at < bytes).count();
    chars.max(1)
}

fn position(body: &str, at: usize) -> (usize, usize) {
    let before = body.get(..at).unwrap_or(body);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// The plain text of the last user message; `None` if there is none.
#[must_use]
pub fn last_question(body: &str) -> Option<String> {
    let value: Value = serde_json::from_str(body).ok()?;
    let messages = value.get("messages")?.as_array()?;
    let last = messages.iter().rev().find(|message| message.get("role").and_then(Value::as_str) == Some("user"))?;
    Some(message_text(last))
}

/// The text of a message, from its text parts if there are several.
#[must_use]
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

/// The person's own words in an edited request: without the blocks that precede them in the same message, as in the
/// request before the edit.
#[must_use]
pub fn own_words(before: Option<&str>, draft: &str, edited: &str) -> String {
    let blocks = before.and_then(|before| before.strip_suffix(draft));
    let own = blocks.filter(|blocks| !blocks.is_empty()).and_then(|blocks| edited.strip_prefix(blocks));
    own.unwrap_or(edited).to_owned()
}

/// The model of a body.
#[must_use]
pub fn model(body: &str) -> Option<String> {
    serde_json::from_str::<Value>(body).ok()?.get("model")?.as_str().map(str::to_owned)
}

/// The messages of a body as one editable text: each below a line such as `=== 2 user`. The run of `=` is longer than
/// any that begins a line of the messages.
#[must_use]
pub fn texts(body: &str) -> String {
    let messages = parsed(body);
    let run = |line: &str| line.bytes().take_while(|b| *b == b'=').count();
    let longest =
        messages.iter().flat_map(|m| message_text(m).split('\n').map(run).collect::<Vec<_>>()).max().unwrap_or(0);
    let fence = "=".repeat((longest + 1).max(3));
    let mut out = String::new();
    for (index, message) in messages.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
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

fn parsed(body: &str) -> Vec<Value> {
    let value: Option<Value> = serde_json::from_str(body).ok();
    value.and_then(|mut value| Some(value.get_mut("messages")?.as_array_mut()?.split_off(0))).unwrap_or_default()
}

/// A message of an edited text.
struct EditedMessage {
    line: usize,
    number: Option<usize>,
    role: String,
    text: String,
}

/// Puts edited texts back into a body. Unchanged messages and everything beside the messages keep their exact bytes; a
/// message without a number is new, a missing one is removed.
///
/// # Errors
/// A line that heads no message, a number that is unknown or repeated, or no message at all.
pub fn written(body: &str, texts: &str) -> Result<String, BodyFault> {
    let messages = read(texts)?;
    let found = places(body);
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
        parts.push(changed(&body[range], message));
    }
    let mut out = body[..first.start].to_owned();
    out.push_str(&parts.join(","));
    out.push_str(&body[last.end..]);
    Ok(out)
}

/// A message with new text, or its exact bytes if the text is unchanged.
fn changed(json: &str, to: &EditedMessage) -> String {
    let Ok(mut message) = serde_json::from_str::<Value>(json) else { return json.to_owned() };
    let same =
        message_text(&message) == to.text && message.get("role").and_then(Value::as_str) == Some(to.role.as_str());
    let Some(fields) = message.as_object_mut().filter(|_| !same) else { return json.to_owned() };
    fields.insert("role".into(), to.role.clone().into());
    if !(to.text.is_empty() && fields.get("content").is_some_and(Value::is_null)) {
        fields.insert("content".into(), to.text.clone().into());
    }
    message.to_string()
}

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
        return Err(BodyFault {
            line,
            column: 1,
            what: "a new tool result is not possible; a result answers a call".into(),
        });
    }
    Ok(EditedMessage { line, number, role: role.to_owned(), text: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BODY: &str = r#"{"model":"m","messages":[{"role":"system","content":"You \"help\".\n=== 2 user"},{"role":"user","content":"What is {it}?"},{"content":null,"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"[1]","tool_call_id":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"stream":true}"#;

    #[test]
    fn parts_are_the_body() {
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
        assert_eq!(written(BODY, &text).unwrap(), BODY);
        let edited = written(BODY, &text.replace("What is {it}?", "Who?\n")).unwrap();
        assert_eq!(
            edited,
            BODY.replace("What is {it}?", "Who?\\n").replace(
                r#"{"role":"user","content":"Who?\n"}"#,
                &serde_json::json!({"role": "user", "content": "Who?\n"}).to_string()
            )
        );
        let less = text.replace("==== 2 user\nWhat is {it}?\n", "==== user\nNew\n");
        assert_eq!(last_question(&written(BODY, &less).unwrap()).as_deref(), Some("New"));
        for (bad, line) in [("words", 1), ("=== 9 user\nx", 1), ("=== 1 system\n=== 1 system\n", 2), ("=== 1 who", 1)] {
            assert_eq!(written(BODY, bad).unwrap_err().line, line, "{bad}");
        }
    }

    #[test]
    fn faults_have_positions() {
        assert_eq!(check(BODY), Ok(()));
        let broken = check("{\n  \"model\": \"m\",\n  \"é\": ]\n}").unwrap_err();
        assert_eq!((broken.line, broken.column), (3, 8), "{broken}");
        let fault = check("{\"model\":\"m\",\n\"messages\":[{\"role\":\"user\"}, {\"content\":\"x\"}]}").unwrap_err();
        assert_eq!((fault.line, fault.column), (2, 30), "{fault}");
        for bad in ["[]", "{\"messages\":[]}", "{\"model\":\"m\",\"messages\":[]}"] {
            assert!(check(bad).is_err(), "{bad}");
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
        fn any_text_survives_editing(said in proptest::collection::vec("(\\PC|\n|=|\"|\\\\|\t){0,20}", 1..5)) {
            let messages: Vec<Value> =
                said.iter().map(|text| serde_json::json!({"role": "user", "content": text})).collect();
            let body = serde_json::json!({"model": "m", "messages": messages}).to_string();
            prop_assert_eq!(written(&body, &texts(&body)).unwrap(), body.clone());
            let whole: String = blocks(&body).iter().map(|block| &body[block.range.clone()]).collect();
            prop_assert_eq!(&whole, &body);
            for (block, text) in blocks(&body).iter().filter(|b| matches!(b.kind, BlockKind::Message { .. })).zip(&said) {
                let at = content_at(&body, block).unwrap();
                let end = at + escaped_len(text);
                prop_assert_eq!(serde_json::from_str::<String>(&body[at - 1..=end]).unwrap(), text.clone());
            }
        }

        /// A message without content keeps none as long as it gets no text.
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
            prop_assert_eq!(written(&before, &texts(&body_of(&new))).unwrap(), body_of(&edited));
        }

        #[test]
        fn nothing_panics(raw in "(\\PC|\\{|\\[|\"|\\\\|\\]|\\}|\"messages\":|\"content\":\"){0,40}") {
            let whole: String = blocks(&raw).iter().map(|block| &raw[block.range.clone()]).collect();
            prop_assert_eq!(&whole, &raw);
            let _ = (check(&raw), texts(&raw), written(&raw, &raw), last_question(&raw));
            prop_assert!(blocks(&raw).iter().all(|block| content_at(&raw, block).is_none_or(|at| at <= raw.len())));
        }
    }
}
