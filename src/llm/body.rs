//! What the body of an answer is, told by its first bytes, and the sentences for bodies that are no answer.
//! Not for: reading an answer (`stream`, `sse`).

use super::clip;
use super::http::problem;
use super::sse::Decoder;
use crate::domain::call::provider::{ProviderError, ProviderErrorKind as Kind};

/// Bytes of an unreadable piece or body that are kept: more than are shown, because secrets are taken out first.
pub(super) const KEPT: usize = 4096;

/// What the body turns out to be.
pub(super) enum Shape {
    Unknown(Vec<u8>),
    Events(Box<Decoder>),
    Json(Vec<u8>),
    Page(Vec<u8>),
    Packed(&'static str),
}

/// Compressions by their first bytes.
const MAGIC: [(&[u8], &str); 2] = [(b"\x1F\x8B", "gzip"), (b"\x28\xB5\x2F\xFD", "zstd")];

/// By the first byte that is neither a byte order mark nor white space; none while that is open.
pub(super) fn recognise(bytes: &[u8]) -> Option<Shape> {
    const BOM: &[u8] = b"\xEF\xBB\xBF";
    let rest = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let begun = |start: &[u8]| bytes.len() < start.len() && start.starts_with(bytes);
    if begun(BOM) || MAGIC.iter().any(|(magic, _)| begun(magic)) {
        return None;
    }
    if let Some((_, name)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(Shape::Packed(name));
    }
    match rest.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None if bytes.len() < KEPT => None,
        Some(b'{' | b'[') => Some(Shape::Json(Vec::new())),
        Some(b'<') => Some(Shape::Page(Vec::new())),
        _ => Some(Shape::Events(Box::default())),
    }
}

/// The compression of a body: by its first bytes, else, where it is no text, by what its header says.
pub(super) fn packed<'a>(bytes: &[u8], header: Option<&'a str>) -> Option<&'a str> {
    let magic = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, name)| *name);
    let named = || header.map(str::trim).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity"));
    magic.or_else(|| named().filter(|_| !is_text(bytes)))
}

/// The sentence for a compressed body.
pub(super) fn packed_sentence(name: &str) -> String {
    format!("a {name}-compressed body, which pleach did not ask for and can't read")
}

/// The error for a compressed answer.
pub(super) fn packed_problem(name: &str) -> ProviderError {
    let error = problem(Kind::Protocol, format!("the server answered with {}", packed_sentence(name)));
    let hint = "Turn compression off for this address, on the server or on the proxy in front of it.".to_owned();
    ProviderError { hint, ..error }
}

/// The error for a body of which no event came, by its beginning. None where it looks like an event stream, or is empty.
pub(super) fn no_stream(head: &[u8], header: Option<&str>) -> Option<ProviderError> {
    if head.trim_ascii().is_empty() {
        return None;
    }
    if let Some(name) = packed(head, header) {
        return Some(packed_problem(name));
    }
    if !is_text(head) {
        let what = format!("the server answered with bytes that are not text: {}", shown(head));
        return Some(problem(Kind::Protocol, what));
    }
    let text = String::from_utf8_lossy(head);
    let fields = ["data", "event", "id", "retry"];
    let is_field =
        |line: &str| line.starts_with(':') || line.split_once(':').is_some_and(|(name, _)| fields.contains(&name));
    let stream = text.trim_start_matches('\u{feff}').lines().any(|line| is_field(line) || fields.contains(&line));
    let what = || format!("the server answered with plain text instead of an answer: {}", clip(text.trim(), KEPT));
    (!stream).then(|| problem(Kind::Protocol, what()))
}

/// Whether bytes read as text; the last character may be cut.
fn is_text(bytes: &[u8]) -> bool {
    let control = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x1B);
    !bytes.iter().any(control) && std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// The beginning of bytes as text, with `\xNN` for each byte that is no UTF-8.
pub(super) fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes[..bytes.len().min(KEPT)].utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
    }
    clip(&text, KEPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_named_for_what_they_are() {
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
        assert!(recognise(b"\x1F").is_none() && matches!(recognise(b"\x1F\x8B"), Some(Shape::Packed("gzip"))));
        let blank = [b' '; KEPT];
        assert!(recognise(&blank[1..]).is_none() && matches!(recognise(&blank), Some(Shape::Events(_))));
    }
}
