//! The common beginning of two requests, as a server that caches prefixes would find it.

use serde_json::Value;

/// The messages of a request as texts, tools first.
pub(crate) fn parts(body: &[u8]) -> Vec<String> {
    let body: Value = serde_json::from_slice(body).unwrap();
    let tools = body.get("tools").map(Value::to_string);
    let messages = body["messages"].as_array().unwrap().iter().map(|message| {
        let calls = message.get("tool_calls").map(Value::to_string).unwrap_or_default();
        format!("{}\n{}{calls}", message["role"].as_str().unwrap(), message["content"].as_str().unwrap_or_default())
    });
    tools.into_iter().chain(messages).collect()
}

/// Tokens of the common prefix of two requests, message by message, including a partly equal last message.
pub(crate) fn same_tokens(before: &[String], now: &[String], count: &dyn Fn(&str) -> u32) -> u32 {
    let mut same = 0;
    for (at, text) in now.iter().enumerate() {
        match before.get(at) {
            Some(old) if old == text => same += count(text),
            Some(old) => {
                let bytes = old.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
                let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
                return same + count(&text[..end]);
            }
            None => return same,
        }
    }
    same
}
