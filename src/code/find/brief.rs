//! A symbol in a few lines: its qualified name, its signature, its compilation conditions, and one line of
//! documentation.
//! Not for: touchpoints with lines of code (`cards`).

use super::cards::signature;
use crate::code::index::records::{Index, SymbolId};
use crate::code::parse::doc;

/// The maximum characters of each line.
const LONGEST: usize = 200;

/// Returns a symbol in at most `most` tokens, as `count` counts them; `None` if it is not in the index. Documentation
/// is left out first, then conditions.
pub fn brief(index: &Index, id: SymbolId, text: &[u8], (count, most): (&dyn Fn(&str) -> u32, u32)) -> Option<String> {
    let (symbol, _) = index.symbol(id)?;
    let clipped = |line: &str| line.chars().take(LONGEST).collect::<String>();
    let attributes = String::from_utf8_lossy(&text[symbol.attrs.within(text.len())]).into_owned();
    let conditions = attributes.lines().map(str::trim).filter(|line| line.starts_with("#[cfg"));
    let conditions: Vec<String> = conditions.map(clipped).collect();
    let documentation = doc::first_sentence(symbol, text);
    let named = format!("{}\n{}", index.qualified(id), clipped(&signature(symbol, text)));
    let with = |parts: &[&str]| -> String {
        let parts = std::iter::once(named.as_str()).chain(parts.iter().copied()).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("\n")
    };
    let (conditions, documentation) = (conditions.join("\n"), clipped(&documentation));
    let versions =
        [with(&[&conditions, &documentation]), with(&[&conditions]), with(&[]), clipped(&index.qualified(id))];
    versions.into_iter().find(|version| count(version) <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::tests::indexed;

    const TEXT: &str = "/// Waits before a retry. The time doubles.\n#[cfg(unix)]\n#[inline]\npub fn backoff(n: u32) -> u32 \
                        {\n    n * 2\n}\n";

    #[test]
    fn a_symbol_is_brief_and_loses_documentation_first() {
        let (_folder, index) = indexed(&[("retry.rs", TEXT)]);
        let id = index.defined("backoff")[0];
        let count = |text: &str| u32::try_from(text.lines().count()).unwrap();
        let lines = |most| brief(&index, id, TEXT.as_bytes(), (&count, most));
        let whole = "retry::backoff\npub fn backoff(n: u32) -> u32\n#[cfg(unix)]\nWaits before a retry.";
        assert_eq!(lines(9).as_deref(), Some(whole));
        assert_eq!(lines(3).as_deref(), whole.rsplit_once('\n').map(|(rest, _)| rest));
        assert_eq!(lines(2).as_deref(), Some("retry::backoff\npub fn backoff(n: u32) -> u32"));
        assert_eq!((lines(1).as_deref(), lines(0)), (Some("retry::backoff"), None));
    }
}
