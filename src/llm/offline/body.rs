//! Reads the body of a request as a server would: messages, tools, and the limit on the answer.
//! Not for: answering (`answer`).

use crate::domain::call::request::message_text;
use serde_json::Value;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    pub(crate) role: String,
    pub(crate) text: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Body {
    /// The requested model.
    pub(crate) model: String,
    pub(crate) messages: Vec<Message>,
    /// Names of the offered tools.
    pub(crate) tools: Vec<String>,
    /// The tools as sent, for counting.
    pub(crate) tools_json: String,
    /// Limit of the answer in tokens.
    pub(crate) limit: Option<u32>,
}

impl Body {
    /// Reads a body; `None` if it is not a JSON object with messages.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let messages = value.get("messages")?.as_array()?.iter().map(read_message).collect();
        let tools = value.get("tools").and_then(Value::as_array);
        let names = tools.into_iter().flatten().filter_map(|tool| tool.pointer("/function/name")?.as_str());
        let limit = ["max_completion_tokens", "max_tokens"].iter().find_map(|name| value.get(name)?.as_u64());
        Some(Self {
            model: value.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
            messages,
            tools: names.map(str::to_owned).collect(),
            tools_json: tools.map(|tools| Value::Array(tools.clone()).to_string()).unwrap_or_default(),
            limit: limit.and_then(|limit| u32::try_from(limit).ok()),
        })
    }

    /// Returns the index of the last user message.
    pub(crate) fn last_user(&self) -> Option<usize> {
        self.messages.iter().rposition(|message| message.role == "user")
    }

    /// Returns the person's question in the last user message: the text after the label if other content precedes it;
    /// may be empty.
    pub(crate) fn question(&self) -> &str {
        self.last_parts().1
    }

    /// Returns the content before the question in the same message: code, cards, quotes; may be empty.
    pub(crate) fn attachments(&self) -> &str {
        self.last_parts().0
    }

    fn last_parts(&self) -> (&str, &str) {
        let text = self.last_user().map_or("", |at| self.messages[at].text.as_str());
        split_question(text).unwrap_or(("", text))
    }
}

/// Splits a message in which other content precedes the person's question.
fn split_question(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("## ").and_then(|text| text.split_once("\n## Message\n\n"))
}

fn read_message(value: &Value) -> Message {
    let role = value.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    Message { role, text: message_text(value) }
}
