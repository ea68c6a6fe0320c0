//! Renders the bytes of a request from a plan, once. The bytes that are hashed here are posted unchanged.
//! Not for: choosing (`admission`) or posting (`llm`).
//!
//! One leading instruction message contains the program's own texts. Texts from outside (cards, quoted replies) are in
//! user-role messages, labeled and delimited. In the layout `cache_friendly`, everything that changes with each call is
//! in the open turn's user message, before the person's words.
//!
//! * [`render_forms`] gives the text of a message in each form, and the texts of blocks and cards.
//! * [`edited`] makes the plan of a request that a person edited by hand.
//! * [`checks`] counts the tokens of a body from its bytes alone.

pub mod checks;
pub mod edited;
#[cfg(test)]
mod edited_tests;
pub mod render_forms;

use crate::domain::base::{Fields, Hash};
use crate::domain::call::request::escaped_len;
use crate::domain::call::{Dialect, Wire};
use crate::domain::conversation::{Content, Part, Role};
use crate::domain::planning::input::{ANSWER_FRAMING, CALL_FRAMING, MESSAGE_FRAMING};
use crate::domain::planning::{ContextPlan, Form, Item, Layout, RequestShape, Row, RowKind, Section};
use crate::domain::tool::ToolSpec;
use render_forms::WireState;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Supplies texts while rendering.
pub trait TextSource {
    /// Returns the text of a block or card by its hash.
    fn block(&self, text: Hash) -> Option<Arc<str>>;
    /// Returns the content of a message by its node's key.
    fn content(&self, key: Hash) -> Option<Arc<Content>>;
}

/// A text that a plan names no longer exists because its message was removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a text of this plan was deleted: {title}")]
pub struct MissingText {
    /// The title of the row or message.
    pub title: String,
}

/// A piece of a message's content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::context) enum ContentPiece {
    /// A block or card.
    Block {
        text: Hash,
        title: String,
    },
    Message {
        item: Item,
        state: WireState,
    },
}

/// A message of the request, before its texts are filled in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::context) struct WireMessage {
    role: &'static str,
    pieces: Vec<ContentPiece>,
    calls: u16,
}

/// The pieces of a request, for comparing its prefix with another request's.
pub type Outline = Vec<RequestPiece>;

/// A piece of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestPiece {
    /// Hash of its role and exact text.
    pub digest: Hash,
    pub tokens: u32,
    /// The piece's identity in the plan: the hash of a text or the key of a message.
    pub of: Hash,
    /// Index of its message in the request; `None` for the tools.
    pub message: Option<u32>,
    /// Bytes it takes in that message's content, JSON-escaped.
    pub bytes: usize,
}

/// Returns the messages of a plan's rows.
pub(in crate::context) fn skeleton(rows: &[Row], layout: Layout, dialect: &Dialect) -> Vec<WireMessage> {
    let mut messages: Vec<WireMessage> = Vec::new();
    let pieces = |place| rows.iter().filter(is_in(place, layout)).filter_map(block_piece).collect::<Vec<_>>();
    push(&mut messages, instruction_role(dialect), pieces(TextPlace::Instructions), dialect);
    push(&mut messages, "user", pieces(TextPlace::BeforeTurns), dialect);
    for row in rows.iter().filter(|row| row.section() == Some(Section::Recent)) {
        for item in in_order(row) {
            push_item(&mut messages, item, Vec::new(), false, dialect);
        }
    }
    push_open(&mut messages, rows, pieces(TextPlace::UserMessage), dialect);
    open_with_user(&mut messages, dialect);
    messages
}

/// If roles must alternate, the model must not speak first, so the instructions are sent in the user role.
fn open_with_user(messages: &mut [WireMessage], dialect: &Dialect) {
    if let [first, second, ..] = messages
        && dialect.strict_alternation
        && second.role == "assistant"
    {
        first.role = "user";
    }
}

/// Returns the sent items of a row, each call directly followed by its results; messages between a call and its results
/// come after them.
fn in_order(row: &Row) -> Vec<&Item> {
    let mut ordered = Vec::with_capacity(row.items.len());
    let mut waiting = Vec::new();
    let mut open = 0_u16;
    for item in row.items.iter().filter(|item| sent(item.form)) {
        if item.role == Role::Tool && !item.orphan {
            open = open.saturating_sub(1);
            ordered.push(item);
        } else if open > 0 {
            waiting.push(item);
        } else {
            open = calls(item);
            ordered.push(item);
        }
        if open == 0 {
            ordered.append(&mut waiting);
        }
    }
    ordered.append(&mut waiting);
    ordered
}

fn calls(item: &Item) -> u16 {
    if render_forms::keeps_calls(item.form) { item.calls } else { 0 }
}

fn push_open(messages: &mut Vec<WireMessage>, rows: &[Row], changing: Vec<ContentPiece>, dialect: &Dialect) {
    let Some(open) = rows.iter().find(|row| row.section() == Some(Section::UserMessage) && row.text.is_none()) else {
        push(messages, "user", changing, dialect);
        return push(messages, "user", added(rows), dialect);
    };
    let items = in_order(open);
    let question = items.iter().rposition(|item| item.role == Role::User);
    let mut changing = Some(changing).filter(|pieces| !pieces.is_empty());
    if question.is_none() {
        push(messages, "user", changing.take().unwrap_or_default(), dialect);
    }
    for (index, item) in items.into_iter().enumerate() {
        let before = if question == Some(index) { changing.take() } else { None };
        let labeled = before.is_some();
        push_item(messages, item, before.unwrap_or_default(), labeled, dialect);
    }
    push(messages, "user", added(rows), dialect);
    let after = rows.iter().filter(|row| row.section() == Some(Section::UserMessage) && row.text.is_some());
    push(messages, "user", after.filter_map(block_piece).collect(), dialect);
}

/// Returns the rows that the request adds after the tool results of its turn.
fn added(rows: &[Row]) -> Vec<ContentPiece> {
    rows.iter().filter(|row| row.section() == Some(Section::DuringTurn)).filter_map(block_piece).collect()
}

fn has_question(open: &Row) -> bool {
    open.items.iter().any(|item| item.role == Role::User && sent(item.form))
}

/// Returns whether blocks precede the person's words in one message, so that the words need a label.
pub(in crate::context) fn needs_label(rows: &[Row], layout: Layout) -> bool {
    let open = rows.iter().find(|row| row.section() == Some(Section::UserMessage) && row.text.is_none());
    open.is_some_and(has_question) && rows.iter().any(|row| is_in(TextPlace::UserMessage, layout)(&row))
}

/// The part of a request that contains a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::context) enum TextPlace {
    /// The leading instruction message.
    Instructions,
    /// A message of its own before the turns.
    BeforeTurns,
    /// The open turn's user message, before the person's words.
    UserMessage,
    /// A message after the tool results of the open turn.
    DuringTurn,
    /// A message at the end.
    Last,
    /// The messages of the turns.
    Turns,
}

/// Returns the part of a request that contains the text of a row or block.
pub(in crate::context) fn text_place(section: Section, kind: RowKind, layout: Layout) -> TextPlace {
    let is_classic = layout == Layout::Classic;
    let is_own = matches!(kind, RowKind::Text | RowKind::State | RowKind::Note | RowKind::Summary);
    match section {
        // A message among the instructions was added or kept by the person.
        Section::System => TextPlace::Instructions,
        Section::Guidelines if kind == RowKind::Rules => TextPlace::Instructions,
        Section::Personality | Section::Guidelines | Section::StickyPins if is_own => TextPlace::Instructions,
        Section::State | Section::SessionSummary | Section::LaneSummary if is_classic => TextPlace::Instructions,
        Section::Retrieved | Section::LeasedPins if is_classic => TextPlace::BeforeTurns,
        // A folder's own text is external and rarely changes.
        Section::Personality | Section::Guidelines | Section::StickyPins | Section::Orientation => {
            TextPlace::BeforeTurns
        }
        Section::State
        | Section::SessionSummary
        | Section::LaneSummary
        | Section::Retrieved
        | Section::LeasedPins
        | Section::QuotedReply => TextPlace::UserMessage,
        Section::Recent => TextPlace::Turns,
        Section::UserMessage => TextPlace::Last,
        Section::DuringTurn => TextPlace::DuringTurn,
    }
}

fn is_in(place: TextPlace, layout: Layout) -> impl Fn(&&Row) -> bool {
    move |row| row.section().is_some_and(|section| text_place(section, row.kind, layout) == place)
}

fn block_piece(row: &Row) -> Option<ContentPiece> {
    row.text.map(|text| ContentPiece::Block { text, title: row.title.clone() })
}

fn sent(form: Form) -> bool {
    !matches!(form, Form::Gone | Form::Out | Form::Card)
}

fn instruction_role(dialect: &Dialect) -> &'static str {
    match dialect.instruction_role.as_str() {
        "user" => "user",
        "developer" => "developer",
        _ => "system",
    }
}

fn push_item(
    messages: &mut Vec<WireMessage>,
    item: &Item,
    before: Vec<ContentPiece>,
    labeled: bool,
    dialect: &Dialect,
) {
    if !sent(item.form) {
        return;
    }
    let role = match item.role {
        Role::Assistant => "assistant",
        Role::Tool if !item.orphan => "tool",
        Role::Tool | Role::System | Role::User => "user",
    };
    let state = WireState { orphan: item.orphan, joins: dialect.strict_alternation, labeled };
    let mut pieces = before;
    pieces.push(ContentPiece::Message { item: item.clone(), state });
    push(messages, role, pieces, dialect);
    if let Some(last) = messages.last_mut() {
        last.calls += calls(item);
    }
}

fn push(messages: &mut Vec<WireMessage>, role: &'static str, pieces: Vec<ContentPiece>, dialect: &Dialect) {
    if pieces.is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(last) if dialect.strict_alternation && last.role == role && last.calls == 0 && role != "tool" => {
            last.pieces.extend(pieces);
        }
        Some(_) | None => messages.push(WireMessage { role, pieces, calls: 0 }),
    }
}

/// Returns the tokens of the framing around messages.
pub(in crate::context) fn framing(messages: &[WireMessage]) -> u32 {
    let each = messages.iter().map(|message| MESSAGE_FRAMING + CALL_FRAMING * u32::from(message.calls));
    each.sum::<u32>() + ANSWER_FRAMING
}

/// Returns the tools as JSON for the request; `None` if the dialect or the shape has none.
pub fn tools_json(shape: &RequestShape) -> Option<Value> {
    let wanted = shape.dialect.tools && !shape.tools.is_empty();
    wanted.then(|| as_sent(&shape.tools))
}

fn as_sent(tools: &[ToolSpec]) -> Value {
    Value::Array(tools.iter().map(|tool| json!({"type": "function", "function": tool})).collect())
}

/// Returns the text of tools as a plan counts it; empty without tools.
pub fn tools_text(tools: &[ToolSpec]) -> String {
    if tools.is_empty() { String::new() } else { as_sent(tools).to_string() }
}

/// Renders a plan.
///
/// # Errors
/// [`MissingText`] if a text that the plan names no longer exists.
pub fn render(
    plan: &ContextPlan,
    shape: &RequestShape,
    texts: &dyn TextSource,
) -> Result<(Wire, Outline), MissingText> {
    let mut outline = Outline::new();
    let tools = tools_json(shape);
    if let Some(tools) = &tools {
        let digest = Fields::new("tools").json(tools).finish();
        outline.push(RequestPiece { digest, tokens: plan.tools, of: digest, message: None, bytes: 0 });
    }
    let mut messages = Vec::new();
    for (at, message) in (0_u32..).zip(skeleton(&plan.rows, plan.layout, &shape.dialect)) {
        messages.push(fill_message((at, &message), texts, plan, &mut outline)?);
    }
    let mut body = Map::new();
    body.insert("model".into(), shape.model.clone().into());
    body.insert("messages".into(), Value::Array(messages));
    body.extend(tools.map(|tools| ("tools".to_owned(), tools)));
    if let Some(limit) = shape.max_output.filter(|_| !shape.dialect.limit_field.is_empty()) {
        body.insert(shape.dialect.limit_field.clone(), limit.into());
    }
    if let Some(temperature) = shape.temperature.filter(|_| shape.dialect.temperature) {
        body.insert("temperature".into(), temperature.into());
    }
    body.insert("stream".into(), true.into());
    if shape.dialect.stream_options {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    let bytes = serde_json::to_vec(&Value::Object(body)).unwrap_or_default();
    Ok((Wire::new(bytes), outline))
}

fn fill_message(
    (at, message): (u32, &WireMessage),
    texts: &dyn TextSource,
    plan: &ContextPlan,
    outline: &mut Outline,
) -> Result<Value, MissingText> {
    let mut text = String::new();
    let mut fields = Map::new();
    fields.insert("role".into(), message.role.into());
    let mut extra = Map::new();
    for piece in &message.pieces {
        let (piece_text, tokens, of) = match piece {
            ContentPiece::Block { text, title } => {
                let piece_text = texts.block(*text).ok_or_else(|| MissingText { title: title.clone() })?;
                (piece_text.to_string(), block_tokens(plan, *text), *text)
            }
            ContentPiece::Message { item, state } => {
                let content = texts.content(item.key).ok_or_else(|| MissingText { title: item.title.clone() })?;
                call_fields(&content, item, &mut extra);
                (render_forms::wire_text(item.key, item.role, &content, item.form, *state), item.tokens, item.key)
            }
        };
        let digest = Fields::new(message.role).text(&piece_text).finish();
        outline.push(RequestPiece { digest, tokens, of, message: Some(at), bytes: escaped_len(&piece_text) });
        text.push_str(&piece_text);
    }
    let content = if text.is_empty() && extra.contains_key("tool_calls") { Value::Null } else { text.into() };
    fields.insert("content".into(), content);
    fields.extend(extra);
    Ok(Value::Object(fields))
}

fn block_tokens(plan: &ContextPlan, text: Hash) -> u32 {
    plan.rows.iter().find(|row| row.text == Some(text)).map_or(0, |row| row.tokens)
}

fn call_fields(content: &Content, item: &Item, extra: &mut Map<String, Value>) {
    if item.role == Role::Assistant && render_forms::keeps_calls(item.form) && item.calls > 0 {
        let calls = content.calls().map(
            |(id, name, args)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": args}}),
        );
        extra.insert("tool_calls".into(), Value::Array(calls.collect()));
    }
    if item.role == Role::Tool && !item.orphan {
        let call = content.parts.iter().find_map(|part| match part {
            Part::Reply { call, .. } => Some(call.clone()),
            Part::Text { .. } | Part::Reasoning { .. } | Part::Call { .. } | Part::Opaque { .. } => None,
        });
        extra.insert("tool_call_id".into(), call.unwrap_or_default().into());
    }
}

/// Returns the tokens of the longest common prefix of two requests.
pub fn same_prefix(before: &Outline, now: &Outline) -> u32 {
    before.iter().zip(now).take_while(|(a, b)| a.digest == b.digest).map(|(_, b)| b.tokens).sum()
}

/// Returns the first piece of `now` that differs from `before`; `None` if `now` only extends it.
pub fn first_other(before: &Outline, now: &Outline) -> Option<Hash> {
    before.iter().zip(now).find(|(a, b)| a.digest != b.digest).map(|(_, b)| b.of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_messages_of_one_role_are_joined_if_required() {
        let sent = |strict_alternation, of: [(&'static str, u16); 2]| {
            let mut messages = Vec::new();
            for (role, calls) in of {
                let pieces = vec![ContentPiece::Block { text: Hash::default(), title: String::new() }];
                push(&mut messages, role, pieces, &Dialect { strict_alternation, ..Dialect::default() });
                messages.last_mut().unwrap().calls = calls;
            }
            push(&mut messages, "user", Vec::new(), &Dialect::default());
            messages.len()
        };
        for (of, strict) in [
            ([("user", 0), ("user", 0)], 1),
            ([("assistant", 0), ("assistant", 1)], 1),
            ([("assistant", 1), ("assistant", 0)], 2),
            ([("tool", 0), ("tool", 0)], 2),
            ([("user", 0), ("assistant", 0)], 2),
        ] {
            assert_eq!((sent(true, of), sent(false, of)), (strict, 2), "{of:?}");
        }
    }

    #[test]
    fn tools_are_counted_as_they_are_sent() {
        let tool =
            |name: &str| ToolSpec { name: name.into(), description: "\"x\"".into(), parameters: json!({"a": []}) };
        for tools in [vec![], vec![tool("a")], vec![tool("a"), tool("b")]] {
            let counted = tools_text(&tools);
            let (max_output, temperature) = (None, None);
            let shape = RequestShape { model: "m".into(), dialect: Dialect::default(), max_output, temperature, tools };
            assert_eq!(counted, tools_json(&shape).map_or_else(String::new, |sent| sent.to_string()));
        }
    }

    #[test]
    fn where_two_requests_diverge() {
        let part = |text: &str, tokens: u32| RequestPiece {
            digest: Hash::of(text.as_bytes()),
            tokens,
            of: Hash::of(format!("of {text}").as_bytes()),
            message: Some(0),
            bytes: text.len(),
        };
        let before = vec![part("a", 3), part("b", 5), part("c", 7)];
        let now = vec![part("a", 3), part("b", 5), part("d", 9), part("c", 7)];
        assert_eq!((same_prefix(&before, &now), first_other(&before, &now)), (8, Some(now[2].of)));
        let grown = [before.clone(), vec![part("e", 1)]].concat();
        assert_eq!((same_prefix(&before, &grown), first_other(&before, &grown)), (15, None));
        assert_eq!((same_prefix(&before, &Vec::new()), first_other(&before, &Vec::new())), (0, None));
    }
}
