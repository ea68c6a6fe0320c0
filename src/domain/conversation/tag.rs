//! Labels that a person gives to messages, and favorites, in order to find the messages in a large tree.
//! Not for: the content of requests (`mark`). A tag changes no plan.

use crate::domain::base::hash::Hash;
use serde::{Deserialize, Serialize};

/// Maximum characters of a label.
pub const LONGEST: usize = 40;

/// A message's label, and whether it is a favorite. A message has at most one label.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tag {
    /// The message's key.
    pub node: Hash,
    /// The label; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Whether it is a favorite.
    #[serde(rename = "favourite", default, skip_serializing_if = "std::ops::Not::not")]
    pub favorite: bool,
}

impl Tag {
    /// Creates an empty tag.
    pub fn new(node: Hash) -> Self {
        Self { node, label: String::new(), favorite: false }
    }

    /// Returns whether the tag has no label and is no favorite.
    pub fn is_empty(&self) -> bool {
        self.label.is_empty() && !self.favorite
    }
}

/// Returns a label as it is stored: one line without control characters, at most [`LONGEST`] characters.
pub fn clean(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    words.join(" ").chars().take(LONGEST).collect::<String>().trim_end().to_owned()
}

/// A parsed filter for messages of a tree: `label:x`, `fav`, and words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TagFilter {
    /// Parts of labels, in lower case; an empty one matches any label.
    pub labels: Vec<String>,
    /// Whether only favorites match.
    pub favorite: bool,
    /// Words in lower case, separated by single spaces.
    pub words: String,
}

impl TagFilter {
    /// Parses a filter.
    pub fn read(filter: &str) -> Self {
        let mut parsed = Self::default();
        let mut words: Vec<String> = Vec::new();
        for word in filter.split_whitespace() {
            let lower = word.to_lowercase();
            if let Some(label) = lower.strip_prefix("label:") {
                parsed.labels.push(label.to_owned());
            } else if lower == "fav" {
                parsed.favorite = true;
            } else {
                words.push(lower);
            }
        }
        parsed.words = words.join(" ");
        parsed
    }

    /// Returns whether the filter has no conditions.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && !self.favorite && self.words.is_empty()
    }

    /// Returns whether the filter has conditions on labels or favorites.
    pub fn tagged(&self) -> bool {
        self.favorite || !self.labels.is_empty()
    }

    /// Returns true only if everything that matches this filter also matches `before`. May return false even then.
    pub fn narrows(&self, before: &Self) -> bool {
        let labels = self.labels.len() >= before.labels.len()
            && before.labels.iter().zip(&self.labels).all(|(before, now)| now.contains(before.as_str()));
        labels && (self.favorite || !before.favorite) && self.words.contains(&before.words)
    }

    /// Returns whether a message with this tag matches the conditions on labels and favorites. Ignores `words`.
    pub fn matches(&self, tag: Option<&Tag>) -> bool {
        let label = tag.map(|tag| tag.label.to_lowercase()).unwrap_or_default();
        let named = |wanted: &String| !label.is_empty() && label.contains(wanted.as_str());
        self.labels.iter().all(named) && (!self.favorite || tag.is_some_and(|tag| tag.favorite))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn filters_are_read() {
        let wanted = TagFilter::read(" label:Draft  why FAV it ");
        assert_eq!((wanted.labels.as_slice(), wanted.favorite), (["draft".to_owned()].as_slice(), true));
        assert_eq!(wanted.words, "why it");
        assert!(TagFilter::read("  ").is_empty());
        assert_eq!(clean("  a\tname \u{1b}[31m of\nlines "), "a name [31m of lines");
        assert_eq!(clean(&"x".repeat(99)).len(), LONGEST);
    }

    proptest! {
        #[test]
        fn narrower_filters_find_no_more(
            filter in "(label:)?[a-c]{0,3}( fav)?( [a-c]{1,2})?", more in "[a-c ]{0,3}|( fav)|( label:a)",
            other in "(label:)?[a-c]{0,3}( fav)?",
            label in "[a-c]{0,4}", favorite: bool, text in "[a-c ]{0,8}"
        ) {
            let (before, now) = (TagFilter::read(&filter), TagFilter::read(&format!("{filter}{more}")));
            let tag = Tag { node: Hash::default(), label, favorite };
            let hit = |wanted: &TagFilter| wanted.matches(Some(&tag)) && text.contains(&wanted.words);
            for now in [&now, &TagFilter::read(&other)] {
                prop_assert!(!now.narrows(&before) || !hit(now) || hit(&before));
            }
            prop_assert_eq!(before.is_empty(), filter.trim().is_empty());
            prop_assert_eq!(before.tagged(), filter.contains("label:") || filter.contains("fav"));
        }
    }
}
