//! Suggestions in a model's state block: lines that name something to remember or to pin.
//! Not for: finding the block (`state`) or handling the suggestions (`engine`).
//!
//! `Remember: <kind>: <text>` suggests a memory (a fact if no kind is named). `Suggest pins: <what>[, <what>…]` names
//! messages to pin, by id, by `turn N`, or by words that they contain, preferably in double quotes. Both are recognized
//! at the start of a line, after list marks and emphasis, ignoring case. They are removed from the state.

use super::memory::{MemoryKind, one_line};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::code::symbols::CodeRef;
use serde::{Deserialize, Serialize};

/// Maximum pins that one block may suggest.
const MAX_PINS: usize = 8;

/// A message or symbol that the model suggested to pin.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SuggestedPin {
    /// The key of the message or symbol.
    pub key: Hash,
    /// The branch where it was suggested; forks do not inherit suggestions.
    pub branch: BranchId,
    /// The symbol of the workspace's code; `None` for a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Box<CodeRef>>,
}

/// A parsed state block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParsedStateBlock {
    /// The state without the suggestions.
    pub state: String,
    /// The suggested memories, in the order of the block.
    pub remember: Vec<(MemoryKind, String)>,
    /// The messages to pin, as named by the model.
    pub pins: Vec<String>,
}

/// Parses a state block's text.
pub fn read(block: &str) -> ParsedStateBlock {
    let mut parsed = ParsedStateBlock::default();
    let mut state: Vec<&str> = Vec::new();
    for line in block.lines() {
        if let Some(suggestion) = after(line, &["remember"]) {
            parsed.remember.extend(memory(suggestion));
        } else if let Some(named) = after(line, &["suggest pins", "suggest pin", "suggested pins"]) {
            parsed.pins.extend(names(named));
        } else {
            state.push(line);
        }
    }
    parsed.pins.truncate(MAX_PINS);
    state.join("\n").trim().clone_into(&mut parsed.state);
    parsed
}

/// Returns the text after one of these words and a colon, at the start of a line.
fn after<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    let (name, rest) = line.trim_start_matches(['-', '*', ' ', '\t']).split_once(':')?;
    let name = name.trim().trim_matches(['*', '_']).trim();
    let fits = words.iter().any(|word| word.eq_ignore_ascii_case(name));
    fits.then(|| rest.trim_start_matches(['*', '_']).trim())
}

/// Parses `<kind>: <text>`; `None` if the text names nothing.
fn memory(suggestion: &str) -> Option<(MemoryKind, String)> {
    let named = suggestion.split_once(':').and_then(|(kind, text)| {
        let kind = kind.trim().trim_matches(['*', '_', '<', '>', '[', ']', '(', ')']);
        MemoryKind::from_name(kind).map(|kind| (kind, text))
    });
    let (kind, text) = named.unwrap_or((MemoryKind::Fact, suggestion));
    let text = one_line(text.trim().trim_matches(['*', '_']));
    (!is_empty_suggestion(&text)).then_some((kind, text))
}

/// Returns the elements of a list, which are separated by commas or semicolons outside quotes.
fn names(list: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut quoted = false;
    for c in list.chars() {
        match c {
            '"' | '“' | '”' | '„' | '«' | '»' | '`' => {
                let opens = matches!(c, '“' | '„' | '«');
                quoted = opens || (matches!(c, '"' | '`') && !quoted);
            }
            ',' | ';' if !quoted => found.push(std::mem::take(&mut current)),
            c => current.push(c),
        }
    }
    found.push(current);
    let trimmed = found.iter().map(|name| one_line(name.trim().trim_end_matches('.')));
    trimmed.filter(|name| !is_empty_suggestion(name)).collect()
}

/// Returns whether a text names nothing, such as `none` or `n/a`.
fn is_empty_suggestion(text: &str) -> bool {
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    matches!(bare.as_str(), "" | "none" | "nothing" | "n/a")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_are_removed_from_the_state() {
        let parsed = read(
            "Goal: a\n- Remember: preference: short answers\n**Remember:** the port is 8443\nContext: b\n\
             REMEMBER: Outcome:  the  cache was the cause\nSuggest pins: \"use WAL, always\", turn 7, 1a2b3c4d\nResolved: c",
        );
        assert_eq!(parsed.state, "Goal: a\nContext: b\nResolved: c");
        assert_eq!(
            parsed.remember,
            [
                (MemoryKind::Preference, "short answers".to_owned()),
                (MemoryKind::Fact, "the port is 8443".to_owned()),
                (MemoryKind::Outcome, "the cache was the cause".to_owned()),
            ]
        );
        assert_eq!(parsed.pins, ["use WAL, always", "turn 7", "1a2b3c4d"]);
    }

    #[test]
    fn a_block_without_requests_has_none() {
        for block in ["Goal: remember: this", "Remember: none", "Suggest pins: -", "Remember:", "Suggest pins: none."] {
            let parsed = read(block);
            assert!(parsed.remember.is_empty() && parsed.pins.is_empty(), "{block}: {parsed:?}");
        }
        assert_eq!(read("Remembering: x").state, "Remembering: x");
    }

    #[test]
    fn an_unknown_kind_is_part_of_the_text() {
        assert_eq!(read("Remember: note: x").remember, [(MemoryKind::Fact, "note: x".to_owned())]);
    }

    #[test]
    fn curly_quotes_protect_commas() {
        assert_eq!(read("Suggest pins: “a, b and c”, other words").pins, ["a, b and c", "other words"]);
        assert_eq!(read(&format!("Suggest pins: {}", "word, ".repeat(40))).pins.len(), MAX_PINS);
    }

    proptest! {
        #[test]
        fn other_lines_are_never_lost(lines in prop::collection::vec("[^\n\r]{0,40}", 0..8)) {
            let block = lines.join("\n");
            let parsed = read(&block);
            for (_, text) in &parsed.remember {
                prop_assert!(!text.contains('\n') && !text.is_empty());
            }
            let plain: Vec<&str> =
                block.lines().filter(|line| !line.contains(':')).filter(|line| !line.trim().is_empty()).collect();
            for line in plain {
                prop_assert!(parsed.state.contains(line.trim()));
            }
        }
    }
}
