//! Renders a server's result as text for the model: cleaned, of limited size, and with a description of content that is
//! not text.
//! Not for: calling (`call`).

use crate::domain::base::failure::with_causes;
use crate::domain::tool::mcp::{cut, plain};
use crate::domain::tool::{ToolOutput, ToolStatus};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use std::error::Error;
use std::fmt::Write as _;

/// The maximum length of an error in characters.
const MAX_ERROR: usize = 600;
/// The beginning of the error about a URL that could not be reached.
pub(super) const UNREACHED: &str = "no connection to ";

/// Makes the output of a call that failed.
pub(super) fn failed(why: &str) -> ToolOutput {
    ToolOutput::whole(ToolStatus::Failed, format!("Failed: {}", plain(why).0))
}

/// Formats an error with its causes, bounded and on one line.
pub(super) fn chain(error: &dyn Error) -> String {
    plain_error(&plain(&with_causes(error)).0.replace('\n', " ")).chars().take(MAX_ERROR).collect()
}

/// Removes type names from an error of the protocol's crate, and rewords it so that a person knows what to do.
fn plain_error(message: &str) -> String {
    let inner = match message.split_once("Transport [") {
        Some((_, rest)) => rest.split_once("] error: ").map_or(message, |(_, inner)| inner),
        None => message,
    };
    let inner = inner.strip_suffix(", when send initialize request").unwrap_or(inner);
    let inner = inner.strip_prefix("Client error: ").unwrap_or(inner);
    match inner.strip_prefix("error sending request for url (").and_then(|rest| rest.split_once(')')) {
        Some((address, rest)) => format!("{UNREACHED}{address}{rest}"),
        None => inner.to_owned(),
    }
}

/// Makes the output from a result; its text has at most about `limit` bytes.
pub(super) fn result(result: &CallToolResult, limit: usize) -> ToolOutput {
    let mut parts: Vec<String> = result.content.iter().map(block).collect();
    // Structured content repeats the text, if there is any.
    if let Some(value) = result.structured_content.as_ref().filter(|_| parts.is_empty()) {
        parts.push(serde_json::to_string_pretty(value).unwrap_or_default());
    }
    if parts.is_empty() {
        parts.push("[the tool returned no output]".into());
    }
    let (text, gone) = plain(&parts.join("\n"));
    let full_bytes = text.len() as u64;
    let mut body = cut(text, limit);
    if gone > 0 {
        let _ = write!(body, "\n[{gone} invisible or control characters were removed]");
    }
    let status = if result.is_error == Some(true) { ToolStatus::Failed } else { ToolStatus::Ok };
    ToolOutput { status, full_bytes: full_bytes.max(body.len() as u64), body }
}

fn block(block: &ContentBlock) -> String {
    // Four characters of base64 encode three bytes.
    let bytes = |data: &str| data.len() / 4 * 3;
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => {
            format!("[an image, {}, about {} bytes: not passed on]", image.mime_type, bytes(&image.data))
        }
        ContentBlock::Audio(audio) => {
            format!("[audio, {}, about {} bytes: not passed on]", audio.mime_type, bytes(&audio.data))
        }
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[the resource {uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, blob, mime_type, .. } => {
                let kind = mime_type.as_deref().unwrap_or("of an unknown type");
                format!("[the resource {uri}, {kind}, about {} bytes: not passed on]", bytes(blob))
            }
            _ => "[a resource of an unknown type: not passed on]".into(),
        },
        ContentBlock::ResourceLink(link) => format!("[a link to the resource {}: {}]", link.name, link.uri),
        _ => "[content of an unknown type: not passed on]".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_errors_name_no_types() {
        let all = |inner: &str| {
            plain_error(&format!(
                "Send message error Transport [a::Tap<b::Worker<c::Client>>] error: {inner}, when send initialize request"
            ))
        };
        let dead = all("Client error: error sending request for url (http://127.0.0.1:9/mcp)");
        assert_eq!(dead, "no connection to http://127.0.0.1:9/mcp");
        assert_eq!(
            all("unexpected server response: HTTP 404 Not Found"),
            "unexpected server response: HTTP 404 Not Found"
        );
        assert_eq!(plain_error("it said [no] error: x"), "it said [no] error: x");
    }
}
