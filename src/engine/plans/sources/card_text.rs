//! The instructions for making a card's text: the passages of its message and the text between them. A plan is stored
//! with these instead of the card's text, so that the text of a removed message disappears from stored plans too.
//! Not for: cards of whole turns, which are written again.

use crate::domain::base::{Hash, NodeId};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How to make a card's text from its message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct CardSettings {
    /// The id of the message.
    pub(crate) node: NodeId,
    /// The key of the message.
    pub(crate) key: Hash,
    /// The text before each passage, and the passage's range in the message.
    parts: Vec<(String, u32, u32)>,
    /// The text after the last passage.
    tail: String,
}

impl CardSettings {
    /// Derives the instructions for `card`, which quotes `spans` of `text` in that order.
    pub(crate) fn of(node: NodeId, key: Hash, card: &str, text: &str, spans: &[Range<usize>]) -> Self {
        let mut rest = card;
        let mut parts = Vec::with_capacity(spans.len());
        for span in spans {
            let quoted = text.get(span.clone()).unwrap_or_default();
            let Some((glue, after)) = rest.split_once(quoted).filter(|_| !quoted.is_empty()) else { continue };
            let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            parts.push((glue.to_owned(), place(span.start), place(span.end)));
            rest = after;
        }
        Self { node, key, parts, tail: rest.to_owned() }
    }

    /// Makes the card's text from the text of its message.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut card = String::new();
        for (glue, start, end) in &self.parts {
            card.push_str(glue);
            card.push_str(text.get(*start as usize..*end as usize).unwrap_or_default());
        }
        card.push_str(&self.tail);
        card
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_card_is_rebuilt_and_its_settings_contain_none_of_its_text() {
        let text = "First passage.\n\nSecret in the middle.\n\nLast passage.";
        let card = "[2026-01-02]\n… Ann: First passage. …\nAnn: … Last passage.\n0f0f>>>\n\n";
        let spans = [0..14, 39..52];
        let settings = CardSettings::of(NodeId(Uuid::from_u128(1)), Hash::of(b"k"), card, text, &spans);
        assert_eq!(settings.text(text), card);
        let stored = serde_json::to_string(&settings).unwrap();
        assert!(!stored.contains("passage") && !stored.contains("Secret"), "{stored}");
    }
}
