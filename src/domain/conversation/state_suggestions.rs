//! Requests in a model's state block beside the state: lines that name something to remember or to pin.
//! Not for: finding the block (`state`) or handling the requests (`engine`).
//!
//! `Remember: <kind>: <text>` suggests a memory (a fact if no kind is named). `Suggest pins: <what>[, <what>…]` names
//! messages to pin, by id, by `turn N`, or by words they contain, preferably in double quotes. Both are read at the
//! start of a line, after list marks and emphasis, in any case; they are removed from the state.

use super::memory::{MemoryKind, one_line};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use serde::{Deserialize, Serialize};

/// Maximum pins that one block may suggest.
const PINS: usize = 8;

/// A message that the model suggested to pin.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SuggestedPin {
    /// Its key.
    pub key: Hash,
    /// The branch on which it was suggested; forks do not inherit suggestions.
    pub branch: BranchId,
}

/// A parsed state block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParsedStateBlock {
    /// The state without the requests.
    pub state: String,
    /// Memories to suggest, in the order of the block.
    pub remember: Vec<(MemoryKind, String)>,
    /// Pins to suggest, as named by the model.
    pub pins: Vec<String>,
}

/// Parses a state block's text.
#[must_use]
pub fn read(block: &str) -> ParsedStateBlock {
    let mut asks = ParsedStateBlock::default();
    let mut state: Vec<&str> = Vec::new();
    for line in block.lines() {
        if let Some(wish) = after(line, &["remember"]) {
            asks.remember.extend(memory(wish));
        } else if let Some(named) = after(line, &["suggest pins", "suggest pin", "suggested pins"]) {
            asks.pins.extend(names(named));
        } else {
            state.push(line);
        }
    }
    asks.pins.truncate(PINS);
    state.join("\n").trim().clone_into(&mut asks.state);
    asks
}

/// The text after one of these words and a colon, at the start of a line.
fn after<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    let (name, rest) = line.trim_start_matches(['-', '*', ' ', '\t']).split_once(':')?;
    let name = name.trim().trim_matches(['*', '_']).trim();
    let fits = words.iter().any(|word| word.eq_ignore_ascii_case(name));
    fits.then(|| rest.trim_start_matches(['*', '_']).trim())
}

fn memory(wish: &str) -> Option<(MemoryKind, String)> {
    let named = wish.split_once(':').and_then(|(kind, text)| {
        let kind = kind.trim().trim_matches(['*', '_', '<', '>', '[', ']', '(', ')']);
        MemoryKind::from_name(kind).map(|kind| (kind, text))
    });
    let (kind, text) = named.unwrap_or((MemoryKind::Fact, wish));
    let text = one_line(text.trim().trim_matches(['*', '_']));
    (!empty(&text)).then_some((kind, text))
}

/// The elements of a list: separated by commas outside quotes.
fn names(list: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut one = String::new();
    let mut quoted = false;
    for c in list.chars() {
        match c {
            '"' | '“' | '”' | '„' | '«' | '»' | '`' => {
                let opens = matches!(c, '“' | '„' | '«');
                quoted = opens || (matches!(c, '"' | '`') && !quoted);
            }
            ',' | ';' if !quoted => found.push(std::mem::take(&mut one)),
            c => one.push(c),
        }
    }
    found.push(one);
    let told = found.iter().map(|name| one_line(name.trim().trim_end_matches('.')));
    told.filter(|name| !empty(name)).collect()
}

fn empty(text: &str) -> bool {
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    matches!(bare.as_str(), "" | "none" | "nothing" | "n/a")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_are_removed_from_the_state() {
        let asks = read(
            "Goal: a\n- Remember: preference: short answers\n**Remember:** the port is 8443\nContext: b\n\
             REMEMBER: Outcome:  the  cache was the cause\nSuggest pins: \"use WAL, always\", turn 7, 1a2b3c4d\nResolved: c",
        );
        assert_eq!(asks.state, "Goal: a\nContext: b\nResolved: c");
        assert_eq!(
            asks.remember,
            [
                (MemoryKind::Preference, "short answers".to_owned()),
                (MemoryKind::Fact, "the port is 8443".to_owned()),
                (MemoryKind::Outcome, "the cache was the cause".to_owned()),
            ]
        );
        assert_eq!(asks.pins, ["use WAL, always", "turn 7", "1a2b3c4d"]);
    }

    #[test]
    fn a_block_without_requests_has_none() {
        for block in ["Goal: remember: this", "Remember: none", "Suggest pins: -", "Remember:", "Suggest pins: none."] {
            let asks = read(block);
            assert!(asks.remember.is_empty() && asks.pins.is_empty(), "{block}: {asks:?}");
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
        assert_eq!(read(&format!("Suggest pins: {}", "word, ".repeat(40))).pins.len(), PINS);
    }

    proptest! {
        #[test]
        fn other_lines_are_never_lost(lines in prop::collection::vec("[^\n\r]{0,40}", 0..8)) {
            let block = lines.join("\n");
            let asks = read(&block);
            for (_, text) in &asks.remember {
                prop_assert!(!text.contains('\n') && !text.is_empty());
            }
            let plain: Vec<&str> =
                block.lines().filter(|line| !line.contains(':')).filter(|line| !line.trim().is_empty()).collect();
            for line in plain {
                prop_assert!(asks.state.contains(line.trim()));
            }
        }
    }
}
