//! Counts a request's tokens from its bytes alone, by the plan's rules; the meter must show the same number.
//! Not for: planning.

use crate::domain::call::{CountTokens, Encoding};
use crate::domain::planning::input::{ANSWER_FRAMING, CALL_FRAMING, MESSAGE_FRAMING};
use serde_json::Value;

/// Returns the tokens of the body of a chat request; `None` for any other body.
pub fn count_body(body: &[u8], encoding: Encoding, counter: &dyn CountTokens) -> Option<u32> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let messages = body.get("messages")?.as_array()?;
    let tools = body.get("tools").map_or(0, |tools| counter.count(encoding, &tools.to_string()));
    let each = messages.iter().map(|message| count_message(message, encoding, counter));
    Some(each.sum::<u32>() + tools + ANSWER_FRAMING)
}

/// Returns the tokens of one message of a body, with framing.
pub(in crate::context) fn count_message(message: &Value, encoding: Encoding, counter: &dyn CountTokens) -> u32 {
    let count = |value: Option<&Value>| value.and_then(Value::as_str).map_or(0, |text| counter.count(encoding, text));
    let calls = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let called: u32 = calls
        .iter()
        .map(|call| CALL_FRAMING + count(call.pointer("/function/name")) + count(call.pointer("/function/arguments")))
        .sum();
    MESSAGE_FRAMING + count(message.get("content")) + called
}
