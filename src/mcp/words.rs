//! What a server gave back, as words for the model: cleaned, bounded, with what is no text named.
//! Not for: getting it (`call`).

use crate::domain::mcp::{cut, plain};
use crate::domain::trace::{ToolOutput, ToolStatus};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use std::error::Error;
use std::fmt::Write as _;

/// Most characters of an error.
const ERROR: usize = 600;

/// A call that did not do what was asked.
pub(super) fn failed(why: &str) -> ToolOutput {
    let body = format!("Failed: {}", plain(why).0);
    ToolOutput { status: ToolStatus::Failed, full_bytes: body.len() as u64, body }
}

/// An error with its causes, each said once.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !said.contains(&words) {
            said = format!("{said}: {words}");
        }
        cause = error.source();
    }
    plain(&said).0.replace('\n', " ").chars().take(ERROR).collect()
}

/// The words of a result, at most about `limit` bytes.
pub(super) fn result(result: &CallToolResult, limit: usize) -> ToolOutput {
    let mut parts: Vec<String> = result.content.iter().map(block).collect();
    // Structured content says again what the text says, where there is text.
    if let Some(value) = result.structured_content.as_ref().filter(|_| parts.is_empty()) {
        parts.push(serde_json::to_string_pretty(value).unwrap_or_default());
    }
    if parts.is_empty() {
        parts.push("[the tool said nothing]".into());
    }
    let (text, gone) = plain(&parts.join("\n"));
    let full_bytes = text.len() as u64;
    let mut body = cut(text, limit);
    if gone > 0 {
        let _ = write!(body, "\n[{gone} invisible or control characters were taken out]");
    }
    let status = if result.is_error == Some(true) { ToolStatus::Failed } else { ToolStatus::Ok };
    ToolOutput { status, full_bytes: full_bytes.max(body.len() as u64), body }
}

fn block(block: &ContentBlock) -> String {
    // Base64 has four characters for three bytes.
    let bytes = |data: &str| data.len() / 4 * 3;
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => {
            format!("[an image, {}, about {} bytes: not sent on]", image.mime_type, bytes(&image.data))
        }
        ContentBlock::Audio(audio) => {
            format!("[a sound, {}, about {} bytes: not sent on]", audio.mime_type, bytes(&audio.data))
        }
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[the resource {uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, blob, mime_type, .. } => {
                let kind = mime_type.as_deref().unwrap_or("of no named kind");
                format!("[the resource {uri}, {kind}, about {} bytes: not sent on]", bytes(blob))
            }
            _ => "[a resource of an unknown kind: not sent on]".into(),
        },
        ContentBlock::ResourceLink(link) => format!("[a link to the resource {}: {}]", link.name, link.uri),
        _ => "[something of an unknown kind: not sent on]".into(),
    }
}
