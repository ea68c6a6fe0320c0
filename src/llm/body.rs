//! Recognizes a response body by its first bytes, and words the errors for bodies that are not an answer.
//! Not for: reading an answer (`stream`, `sse`).

use super::clip;
use super::http::problem;
use super::sse::Decoder;
use crate::domain::call::provider::{ProviderError, ProviderErrorKind as Kind};

/// Bytes of an unreadable piece or body that are kept. More than is shown, because secrets are removed first.
pub(super) const MAX_KEPT: usize = 4096;

/// The kind of a response body.
pub(super) enum BodyKind {
    Unknown(Vec<u8>),
    Events(Box<Decoder>),
    Json(Vec<u8>),
    Page(Vec<u8>),
    Packed(&'static str),
}

/// Compression formats and their magic bytes.
const MAGIC: [(&[u8], &str); 2] = [(b"\x1F\x8B", "gzip"), (b"\x28\xB5\x2F\xFD", "zstd")];

/// Recognizes the body by its first byte that is neither a byte order mark nor white space; `None` before that byte
/// arrives.
pub(super) fn recognize(bytes: &[u8]) -> Option<BodyKind> {
    const BOM: &[u8] = b"\xEF\xBB\xBF";
    let rest = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let begun = |start: &[u8]| bytes.len() < start.len() && start.starts_with(bytes);
    if begun(BOM) || MAGIC.iter().any(|(magic, _)| begun(magic)) {
        return None;
    }
    if let Some((_, name)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(BodyKind::Packed(name));
    }
    match rest.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None if bytes.len() < MAX_KEPT => None,
        Some(b'{' | b'[') => Some(BodyKind::Json(Vec::new())),
        Some(b'<') => Some(BodyKind::Page(Vec::new())),
        _ => Some(BodyKind::Events(Box::default())),
    }
}

/// The compression of a body: from its first bytes or, if the body is not text, from its header.
pub(super) fn packed<'a>(bytes: &[u8], header: Option<&'a str>) -> Option<&'a str> {
    let magic = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, name)| *name);
    let named = || header.map(str::trim).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity"));
    magic.or_else(|| named().filter(|_| !is_text(bytes)))
}

/// The sentence for a compressed body.
pub(super) fn packed_sentence(name: &str) -> String {
    format!("a {name}-compressed body, which pleach did not ask for and can't read")
}

/// The error for a compressed response.
pub(super) fn packed_problem(name: &str) -> ProviderError {
    let error = problem(Kind::Protocol, format!("the server answered with {}", packed_sentence(name)));
    let hint = "Turn compression off for this address, on the server or on the proxy in front of it.".to_owned();
    ProviderError { hint, ..error }
}

/// The error for a body that contained no event, from its beginning. `None` if it looks like an event stream or is
/// empty.
pub(super) fn no_stream(head: &[u8], header: Option<&str>) -> Option<ProviderError> {
    if head.trim_ascii().is_empty() {
        return None;
    }
    if let Some(name) = packed(head, header) {
        return Some(packed_problem(name));
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

/// Whether bytes are valid UTF-8, apart from a last character that may be incomplete.
fn is_text(bytes: &[u8]) -> bool {
    let control = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x1B);
    !bytes.iter().any(control) && std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// The beginning of bytes as text, with `\xNN` for each byte that is not UTF-8.
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
        let named = |body: &[u8], header| no_stream(body, header).map(|error| error.what).unwrap_or_default();
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
            let said = named(body, header);
            assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{body:?}: {said}");
        }
        assert!(recognize(b"\x1F").is_none() && matches!(recognize(b"\x1F\x8B"), Some(BodyKind::Packed("gzip"))));
        let blank = [b' '; MAX_KEPT];
        assert!(recognize(&blank[1..]).is_none() && matches!(recognize(&blank), Some(BodyKind::Events(_))));
    }
}
