//! Recognizes a response body by its first bytes, and builds the errors for bodies that are not an answer.
//! Not for: reading an answer (`stream`, `sse`).

use super::clip;
use super::http::problem;
use super::sse::Decoder;
use crate::domain::call::ProviderError;
use crate::domain::call::provider::ProviderErrorKind as Kind;

/// Bytes of an unreadable piece or body that are kept. The displayed part is shorter, because secrets are removed
/// before it is cut.
pub(super) const MAX_KEPT: usize = 4096;

pub(super) enum BodyKind {
    Unknown(Vec<u8>),
    Events(Box<Decoder>),
    Json(Vec<u8>),
    Page(Vec<u8>),
    Compressed(&'static str),
}

impl Default for BodyKind {
    fn default() -> Self {
        Self::Unknown(Vec::new())
    }
}

/// Compression formats and their magic bytes.
const MAGIC: [(&[u8], &str); 2] = [(b"\x1F\x8B", "gzip"), (b"\x28\xB5\x2F\xFD", "zstd")];

/// Recognizes the body by its first byte that is neither a byte order mark nor white space. Returns `None` before that
/// byte arrives.
pub(super) fn recognize(bytes: &[u8]) -> Option<BodyKind> {
    const BOM: &[u8] = b"\xEF\xBB\xBF";
    let rest = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let may_begin = |start: &[u8]| bytes.len() < start.len() && start.starts_with(bytes);
    if may_begin(BOM) || MAGIC.iter().any(|(magic, _)| may_begin(magic)) {
        return None;
    }
    if let Some((_, name)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(BodyKind::Compressed(name));
    }
    match rest.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None if bytes.len() < MAX_KEPT => None,
        Some(b'{' | b'[') => Some(BodyKind::Json(Vec::new())),
        Some(b'<') => Some(BodyKind::Page(Vec::new())),
        _ => Some(BodyKind::Events(Box::default())),
    }
}

/// Returns the compression of a body: from its first bytes or, if the body is not text, from its header.
pub(super) fn compression_of<'a>(bytes: &[u8], header: Option<&'a str>) -> Option<&'a str> {
    let magic = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, name)| *name);
    let from_header =
        || header.map(str::trim).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity"));
    magic.or_else(|| from_header().filter(|_| !is_text(bytes)))
}

pub(super) fn compressed_sentence(name: &str) -> String {
    format!("a {name}-compressed body, which pleach did not ask for and can't read")
}

pub(super) fn compressed_error(name: &str) -> ProviderError {
    let error = problem(Kind::Protocol, format!("the server answered with {}", compressed_sentence(name)));
    let hint = "Turn compression off for this address, on the server or on the proxy in front of it.".to_owned();
    ProviderError { hint, ..error }
}

/// Returns the error for a body that contained no event, derived from its beginning. `None` if it looks like an event
/// stream or is empty.
pub(super) fn not_a_stream_error(head: &[u8], header: Option<&str>) -> Option<ProviderError> {
    if head.trim_ascii().is_empty() {
        return None;
    }
    if let Some(name) = compression_of(head, header) {
        return Some(compressed_error(name));
    }
    if !is_text(head) {
        let what = format!("the server answered with bytes that are not text: {}", display_bytes(head));
        return Some(problem(Kind::Protocol, what));
    }
    let text = String::from_utf8_lossy(head);
    let fields = ["data", "event", "id", "retry"];
    let is_field =
        |line: &str| line.starts_with(':') || line.split_once(':').is_some_and(|(name, _)| fields.contains(&name));
    let stream = text.trim_start_matches('\u{feff}').lines().any(|line| is_field(line) || fields.contains(&line));
    let what = || format!("the server answered with plain text instead of an answer: {}", clip(text.trim(), MAX_KEPT));
    (!stream).then(|| problem(Kind::Protocol, what()))
}

/// Returns whether bytes are valid UTF-8, apart from a last character that may be incomplete.
fn is_text(bytes: &[u8]) -> bool {
    let control = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x1B);
    !bytes.iter().any(control) && std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// Returns the beginning of bytes as text, with `\xNN` for each byte that is not UTF-8.
pub(super) fn display_bytes(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes[..bytes.len().min(MAX_KEPT)].utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
    }
    clip(&text, MAX_KEPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_identified_by_kind() {
        let what_of =
            |body: &[u8], header| not_a_stream_error(body, header).map(|error| error.what).unwrap_or_default();
        let cases: [(&[u8], Option<&str>, &str); 9] = [
            (b"\x1F\x8B\x08\0", None, "gzip-compressed"),
            (b"\x28\xB5\x2F\xFD\0", None, "zstd-compressed"),
            (b"\x0B\x02\x80", Some("br"), "br-compressed"),
            (b"\x0B\x02\x80", Some("identity"), "not text: \u{b}\u{2}\\x80"),
            (b"upstream is asleep", Some("gzip"), "plain text instead of an answer: upstream is asleep"),
            (b"database: down", None, "plain text"),
            (b": wait\n\n", None, ""),
            (b"data:\n\n", Some("gzip"), ""),
            (b" \n", None, ""),
        ];
        for (body, header, expected) in cases {
            let text = what_of(body, header);
            assert!(text.contains(expected) && text.is_empty() == expected.is_empty(), "{body:?}: {text}");
        }
        assert!(recognize(b"\x1F").is_none() && matches!(recognize(b"\x1F\x8B"), Some(BodyKind::Compressed("gzip"))));
        let blank = [b' '; MAX_KEPT];
        assert!(recognize(&blank[1..]).is_none() && matches!(recognize(&blank), Some(BodyKind::Events(_))));
    }
}
