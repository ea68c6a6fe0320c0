//! Makes the plan of a request that a person edited by hand: unchanged messages keep their rows, changed or added
//! messages get new rows, and the rest is left out.
//! Not for: sending the request, or its texts (`domain::call::request`).

use super::checks::{count_body, count_message};
use crate::context::render::{Outline, RequestPiece};
use crate::domain::base::{Fields, Hash};
use crate::domain::call::{CountTokens, request};
use crate::domain::conversation::{Atom, NodeHead};
use crate::domain::planning::Reason;
use crate::domain::planning::input::{ANSWER_FRAMING, CALL_FRAMING, MESSAGE_FRAMING};
use crate::domain::planning::{ContextPlan, Row, RowKind, Section, Verdict};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The request as planned, before the edit.
#[derive(Clone, Copy, Debug)]
pub struct PlannedRequest<'a> {
    pub plan: &'a ContextPlan,
    pub body: &'a str,
    /// The pieces of the body.
    pub outline: &'a Outline,
}

/// Returns the plan and the pieces of an edited body, or `None` if the body is not a chat request. Tokens are counted
/// from the body alone, as in [`crate::context::render::checks`].
pub fn edited(base: PlannedRequest<'_>, body: &str, counter: &dyn CountTokens) -> Option<(ContextPlan, Outline)> {
    let est_total = count_body(body.as_bytes(), base.plan.encoding, counter)?;
    let whole: Value = serde_json::from_str(body).ok()?;
    let new = whole.get("messages")?.as_array()?;
    let old: Value = serde_json::from_str(base.body).ok()?;
    let old_messages = old.get("messages")?.as_array()?;
    let kept = match_messages(old_messages, new);
    let rows_by_message = rows_by_message(base);
    let changed = changed(base, &kept, &rows_by_message);
    let mut builder = EditedPlan {
        base,
        counter,
        rows_by_message: &rows_by_message,
        changed: &changed,
        rows: Vec::new(),
        outline: Outline::new(),
    };
    if old.get("tools") == whole.get("tools") {
        builder.outline.extend(base.outline.iter().filter(|stretch| stretch.message.is_none()));
    }
    let last = new.iter().rposition(|message| role(message) == "user");
    for (at, message) in new.iter().enumerate() {
        builder.message(at, message, kept[at], last == Some(at));
    }
    let (rows, outline) = (builder.rows, builder.outline);
    let tools = whole.get("tools").map_or(0, |tools| counter.count(base.plan.encoding, &tools.to_string()));
    let mut plan = ContextPlan {
        id: Fields::new("edited plan").hash(base.plan.id).hash(Hash::of(body.as_bytes())).finish(),
        est_total,
        framing: new.iter().map(framing).sum::<u32>() + ANSWER_FRAMING,
        tools,
        rows,
        anchor: None,
        ..base.plan.clone()
    };
    let omitted_rows = omitted_rows(base.plan, &plan.rows);
    plan.rows.extend(omitted_rows);
    balance(&mut plan);
    Some((plan, outline))
}

/// Returns for each message of the new body the index of the equal message of the old body; matches keep their order.
fn match_messages(old: &[Value], new: &[Value]) -> Vec<Option<u32>> {
    let hash = |message: &Value| Fields::new("message").json(message).finish();
    let old: Vec<Hash> = old.iter().map(hash).collect();
    let mut from = 0;
    new.iter()
        .map(|message| {
            let wanted = hash(message);
            let at = from + old[from..].iter().position(|known| *known == wanted)?;
            from = at + 1;
            u32::try_from(at).ok()
        })
        .collect()
}

/// Returns, for each message of the planned body, the indices of the rows whose texts it contains.
fn rows_by_message(base: PlannedRequest<'_>) -> HashMap<u32, Vec<usize>> {
    let mut of: HashMap<Hash, usize> = HashMap::new();
    for (at, row) in base.plan.rows.iter().enumerate().filter(|(_, row)| row.included()) {
        of.extend(row.text.map(|text| (text, at)));
        of.extend(row.items.iter().map(|item| (item.key, at)));
    }
    let mut found: HashMap<u32, Vec<usize>> = HashMap::new();
    for stretch in base.outline {
        if let (Some(message), Some(row)) = (stretch.message, of.get(&stretch.of)) {
            let rows = found.entry(message).or_default();
            if !rows.contains(row) {
                rows.push(*row);
            }
        }
    }
    found
}

/// Returns the rows that are not sent whole and unchanged.
fn changed(
    base: PlannedRequest<'_>,
    kept: &[Option<u32>],
    rows_by_message: &HashMap<u32, Vec<usize>>,
) -> HashSet<usize> {
    let still: HashSet<u32> = kept.iter().flatten().copied().collect();
    let lost = base.outline.iter().filter_map(|stretch| stretch.message).filter(|message| !still.contains(message));
    lost.flat_map(|message| rows_by_message.get(&message).into_iter().flatten().copied()).collect()
}

struct EditedPlan<'a> {
    base: PlannedRequest<'a>,
    counter: &'a dyn CountTokens,
    rows_by_message: &'a HashMap<u32, Vec<usize>>,
    changed: &'a HashSet<usize>,
    rows: Vec<Row>,
    outline: Outline,
}

impl EditedPlan<'_> {
    /// Adds the rows that a message of the edited body was rendered from, or a new row.
    fn message(&mut self, at: usize, message: &Value, kept: Option<u32>, is_question: bool) {
        let place = u32::try_from(at).ok();
        if let Some(before) = kept {
            let same = self.base.outline.iter().filter(|stretch| stretch.message == Some(before));
            self.outline.extend(same.map(|stretch| RequestPiece { message: place, ..*stretch }));
            let rows = self.rows_by_message.get(&before).map(Vec::as_slice).unwrap_or_default();
            if !rows.is_empty() && rows.iter().all(|row| !self.changed.contains(row)) {
                for row in rows.iter().map(|row| &self.base.plan.rows[*row]) {
                    if !self.rows.iter().any(|known| known.atom == row.atom && known.text == row.text) {
                        self.rows.push(row.clone());
                    }
                }
                return;
            }
        }
        let row = self.row_of(at, message, is_question);
        if kept.is_none() {
            let (digest, of) = (row.text.unwrap_or_default(), row.text.unwrap_or_default());
            let bytes = request::escaped_len(&request::message_text(message));
            self.outline.push(RequestPiece { digest, tokens: row.tokens, of, message: place, bytes });
        }
        self.rows.push(row);
    }

    fn row_of(&self, at: usize, message: &Value, is_question: bool) -> Row {
        let text = Fields::new("by hand").number(at as u64).json(message).finish();
        let section = match role(message) {
            _ if is_question => Section::UserMessage,
            "system" | "developer" if at == 0 => Section::System,
            _ => Section::Recent,
        };
        Row {
            tokens: count_message(message, self.base.plan.encoding, self.counter).saturating_sub(framing(message)),
            title: format!("{}: {}", role(message), NodeHead::preview_of(&request::message_text(message))),
            turns: 1,
            text: Some(text),
            ..Row::new(Atom::Section { text }, RowKind::Request, Verdict::In { section }, Reason::WrittenByPerson)
        }
    }
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn framing(message: &Value) -> u32 {
    let calls = message.get("tool_calls").and_then(Value::as_array).map_or(0, Vec::len);
    MESSAGE_FRAMING + CALL_FRAMING * u32::try_from(calls).unwrap_or(0)
}

/// Returns the rows left out of an edited request: by the edit, or already before it.
fn omitted_rows(plan: &ContextPlan, kept_rows: &[Row]) -> Vec<Row> {
    let is_removed = |row: &&Row| !kept_rows.iter().any(|known| known.atom == row.atom && known.text == row.text);
    let removed = plan.included().filter(is_removed).map(|row| Row {
        verdict: Verdict::Out { needed: 0, remedy: None },
        reason: Reason::RemovedByPerson,
        ..row.clone()
    });
    let removed: Vec<Row> = removed.collect();
    plan.suggested().cloned().chain(removed).chain(plan.excluded().cloned()).collect()
}

/// Makes rows, framing, and tools add up to the body's count: labels and separators that changed because a neighbor was
/// removed are counted with the last row.
fn balance(plan: &mut ContextPlan) {
    let fixed = plan.framing + plan.tools;
    let rows: u32 = plan.included().map(|row| row.tokens).sum();
    let (more, less) = (plan.est_total.saturating_sub(rows + fixed), (rows + fixed).saturating_sub(plan.est_total));
    if let Some(row) = plan.rows.iter_mut().rfind(|row| row.included() && row.tokens + more >= less) {
        row.tokens = row.tokens + more - less;
    }
}
