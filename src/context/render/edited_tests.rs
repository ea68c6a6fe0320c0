//! Tests of requests edited by hand: which rows are sent, and that they add up.

use super::checks::count_body;
use super::edited::{PlannedRequest, edited};
use crate::context::explain::cause_tests::{key, plan, row, turn};
use crate::context::render::RequestPiece;
use crate::domain::base::Hash;
use crate::domain::call::{CountTokens, Encoding};
use crate::domain::planning::Reason;
use crate::domain::planning::input::{ANSWER_FRAMING, CALL_FRAMING, MESSAGE_FRAMING};
use crate::domain::planning::{ContextPlan, Item, Row, RowKind, Section, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Counts one token per character.
struct Letters;

impl CountTokens for Letters {
    fn count(&self, _: Encoding, text: &str) -> u32 {
        u32::try_from(text.chars().count()).unwrap()
    }
}

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

fn body(messages: &[Value]) -> String {
    json!({"model": "m", "messages": messages, "tools": [{"type": "function"}]}).to_string()
}

/// Instructions, a question with its answer in one row, and the open question.
fn planned() -> (ContextPlan, Vec<Value>, Vec<RequestPiece>) {
    let messages =
        vec![message("system", "Help."), message("user", "Why?"), message("assistant", "So."), message("user", "Why?")];
    let text = Hash::of(b"Help.");
    let of = [text, key(1), key(1_001), key(2)];
    let stretch =
        |at: usize| RequestPiece { digest: of[at], tokens: 1, of: of[at], message: u32::try_from(at).ok(), bytes: 1 };
    let at = |n: u32, section, tokens| row(turn(n), Verdict::In { section }, tokens, Reason::Recent);
    let mut first = at(1, Section::Recent, 7);
    first.items.push(Item { key: key(1_001), ..first.items[0].clone() });
    let mut system = at(9, Section::System, 5);
    (system.text, system.kind, system.items) = (Some(text), RowKind::Text, Vec::new());
    let out = row(turn(7), Verdict::Out { needed: 0, remedy: None }, 40, Reason::OutsideWindow);
    let mut plan = plan(vec![system, first, at(2, Section::UserMessage, 4), out]);
    plan.tools = 21;
    plan.framing = 4 * MESSAGE_FRAMING + ANSWER_FRAMING;
    plan.est_total += plan.tools + plan.framing;
    (plan, messages, (0..4).map(stretch).collect())
}

/// Returns the included rows of the edited plan, and the rows that the edit removed.
fn edit(messages: &[Value]) -> (Vec<Row>, Vec<Row>) {
    edit_with_label(messages, 0)
}

/// The same, where the instructions carry a label of `label` more tokens.
fn edit_with_label(messages: &[Value], label: u32) -> (Vec<Row>, Vec<Row>) {
    let (mut plan, before, outline) = planned();
    plan.rows[0].tokens += label;
    let before = body(&before);
    let now = body(messages);
    let (plan, outline) =
        edited(PlannedRequest { plan: &plan, body: &before, outline: &outline }, &now, &Letters).unwrap();
    let rows: u32 = plan.included().map(|row| row.tokens).sum();
    assert_eq!(plan.est_total, rows + plan.framing + plan.tools, "{now}");
    assert_eq!(Some(plan.est_total), count_body(now.as_bytes(), plan.encoding, &Letters));
    assert!(outline.iter().all(|stretch| stretch.message.is_none_or(|at| (at as usize) < messages.len())));
    let away = plan.excluded().filter(|row| row.reason == Reason::RemovedByPerson).cloned().collect();
    (plan.included().cloned().collect(), away)
}

#[test]
fn tokens_of_a_body_are_its_texts_its_tools_and_their_framing() {
    let call = json!({"function": {"name": "run", "arguments": "{}"}});
    let calling = json!({"role": "assistant", "content": "ab", "tool_calls": [call, call]});
    let each = 2 * MESSAGE_FRAMING + 2 * (CALL_FRAMING + 5) + 2 + 4;
    assert_eq!(
        count_body(body(&[calling, message("user", "Why?")]).as_bytes(), Encoding::O200kBase, &Letters),
        Some(each + 21 + ANSWER_FRAMING)
    );
}

#[test]
fn unchanged_messages_keep_their_rows() {
    let (plan, messages, _) = planned();
    let (rows, away) = edit(&messages);
    assert_eq!((rows, away), (plan.included().cloned().collect(), Vec::new()));
}

#[test]
fn a_lost_label_is_subtracted_from_the_last_large_enough_row() {
    let (_, messages, _) = planned();
    for (label, tokens) in [(0, [5, 7, 4]), (3, [8, 7, 1]), (4, [9, 7, 0]), (6, [11, 1, 4])] {
        let (rows, _) = edit_with_label(&messages, label);
        assert_eq!(rows.iter().map(|row| row.tokens).collect::<Vec<_>>(), tokens, "{label}");
    }
}

#[test]
fn added_messages_have_their_own_rows() {
    let (plan, mut messages, _) = planned();
    let planned: Vec<Row> = plan.included().cloned().collect();
    messages[2] = message("assistant", "No: because.");
    messages.push(
        json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "run", "arguments": "{}"}}]}),
    );
    let (rows, away) = edit(&messages);
    let titles: Vec<(&str, u32, Option<Section>)> =
        rows.iter().map(|row| (row.title.as_str(), row.tokens, row.section())).collect();
    let own = |title, tokens| (title, tokens, Some(Section::Recent));
    assert_eq!(titles[1..3], [own("user: Why?", 4), own("assistant: No: because.", 12)]);
    assert_eq!(titles[4], own("assistant: ", 5));
    assert_eq!((&rows[0], &rows[3]), (&planned[0], &planned[2]), "what was not touched stays");
    assert_eq!(away.iter().map(|row| row.atom).collect::<Vec<_>>(), [planned[1].atom]);
}

proptest! {
    /// However messages are moved, duplicated, removed or written, the rows add up, and each planned row is included or
    /// removed.
    #[test]
    fn rows_of_any_edit_add_up(picks in proptest::collection::vec((0_usize..6, "[a-z]{0,5}"), 1..8)) {
        let (plan, planned, _) = planned();
        let pick = |(at, text): &(usize, String)| planned.get(*at).cloned().unwrap_or_else(|| message(["user", "assistant"][*at % 2], text));
        let messages: Vec<Value> = picks.iter().map(pick).collect();
        let (rows, away) = edit(&messages);
        for before in plan.included() {
            let is_kept = rows.iter().any(|row| row.atom == before.atom);
            prop_assert_eq!(is_kept, !away.iter().any(|row| row.atom == before.atom));
        }
    }
}
