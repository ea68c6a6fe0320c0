//! The record of a retrieval for a call: the query, the gate's decision, the items with the parts of their scores, and
//! the near misses.
//! Not for: retrieving (`retrieval`) or sending (`context`).

use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::named_enum::named_enum;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

named_enum! {
    /// The reason why nothing was retrieved.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    pub enum SkipReason {
        /// A person turned retrieval off for this call.
        NotWanted = "not_wanted" => "you turned the search off for this call",
        Indexing = "indexing" => "the older messages are still being indexed",
        /// The path has no searchable messages.
        NothingToFind = "nothing_to_find" => "there is no older message to search",
        /// The message has no content words.
        NoContent = "no_content" => "the message names nothing to search for",
        /// The message's words do not occur in older messages.
        Unknown = "unknown" => "no older message mentions anything that the message names",
        /// The message's words are too common on this path.
        Common = "common" => "the words of the message are too common in this conversation",
        /// The message shares too little with older messages.
        Faint = "faint" => "no older message matches enough of the message",
        /// The mode searches nothing. Only for code. Earlier versions recorded it if the policy or a setting did, too.
        ModeOff = "mode_off" => "the context mode turns search off for this message",
        /// The policy searches nothing by itself.
        PolicyOff = "policy_off" => "the policy turns automatic search off",
        /// The settings leave no room for code. Only for code.
        NoShare = "no_share" => "the settings leave no room for code",
        /// The message names no symbol or file, and the mode sends only named symbols and files. Only for code.
        NotNamed = "not_named" => "the context mode turns search off for this message",
        /// The message is about a file that the workspace does not have. Only for code.
        NoFile = "no_file" => "the message names a file that does not exist in this folder",
    }
    /// Returns the reason as a clause that follows the gate's decision.
    pub fn sentence
}

/// The reason why older messages were searched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassReason {
    /// A person asked for a search.
    Forced,
    /// The message refers to the past.
    Cue,
    /// Older messages contain rare words of the message.
    Rare,
    /// Older messages contain several words of the message.
    Several,
    /// The message asks about a time from which there are older messages.
    Time,
    /// One older message is far closer in meaning than the others.
    Meaning,
    /// The message names a symbol or file. Only for code.
    Named,
    /// Symbols contain enough of the message. Only for code.
    Matches,
    /// A focus or an attached file limits the search. Only for code.
    Focus,
}

/// The gate's decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(tag = "gate", content = "why", rename_all = "snake_case")]
pub enum Gate {
    /// The messages were searched.
    Pass(PassReason),
    /// Nothing was searched; the previous results were kept. For older messages, occurs only in sets stored by earlier
    /// versions.
    Inherited(SkipReason),
    /// Nothing was searched.
    Skipped(SkipReason),
}

impl Gate {
    /// Returns whether a search was made.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pass(_))
    }
}

/// A cluster of similar questions on a path, named by the number of the turn whose question begins it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(transparent)]
pub struct ClusterId(pub u32);

/// The parts of a score, which sum to it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ScoreParts {
    /// Score of the query's own words (BM25).
    pub bm25: f32,
    /// Score of words learned from the best passages.
    pub feedback: f32,
    /// Score of the neighbors on the path.
    pub smooth: f32,
    /// Score of the best passage of the same sitting.
    pub sitting: f32,
    /// Score for a query that names the speaker.
    pub speaker: f32,
    /// Score for the role, and other priors.
    pub prior: f32,
    /// Score of the cosine similarity to the query.
    pub cos: f32,
}

impl ScoreParts {
    /// Returns the score.
    pub fn sum(&self) -> f32 {
        self.bm25 + self.feedback + self.smooth + self.sitting + self.speaker + self.prior + self.cos
    }
}

/// An item of evidence: a message, or a passage of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Evidence {
    /// The message's key.
    pub key: Hash,
    pub content: Hash,
    /// Byte range of the message's text that is sent: from the first to the last of its passages.
    pub span: (u32, u32),
    pub score: f32,
    pub score_parts: ScoreParts,
    /// The rank, from 1.
    pub rank: u32,
    /// Tokens of the item's lines as sent.
    pub tokens: u32,
}

/// The reason why an item was a near miss.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum MissReason {
    /// The item did not fit.
    NoRoom {
        /// Missing tokens.
        missing: u32,
    },
    /// Another item contains the same text.
    Duplicate,
    /// Better items filled the room.
    Below,
    /// The item is not about the question.
    Unrelated,
}

/// A near miss: an item that was almost sent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NearMiss {
    /// The message's key.
    pub key: Hash,
    /// Byte range of its text.
    pub span: (u32, u32),
    pub score: f32,
    pub score_parts: ScoreParts,
    /// Why it was not included.
    #[serde(flatten)]
    pub why: MissReason,
}

/// The record of one retrieval.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RetrievalSet {
    /// See [`RetrievalSet::new`].
    pub id: Hash,
    pub query: String,
    /// Digest of the limits of the search (lane, window, time, exclusions).
    pub filters: Hash,
    /// The gate's decision.
    pub gate: Gate,
    /// The query's cluster.
    pub cluster: Option<ClusterId>,
    /// The sent items, in sending order.
    pub items: Vec<Evidence>,
    /// Near misses, best first.
    pub near: Vec<NearMiss>,
    /// Id of the embedder whose vectors were compared; `None` if only words were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// Duration in microseconds, measured by the engine.
    pub elapsed_us: u64,
}

impl RetrievalSet {
    /// Creates a set with its id: the hash of the query, the filters, and the key and content hash of each item in
    /// order. Scores and times are not part of it, since one message elsewhere changes every BM25 score.
    pub fn new(query: String, filters: Hash, gate: Gate, items: Vec<Evidence>, near: Vec<NearMiss>) -> Self {
        let id = id_of(&query, filters, &items);
        Self { id, query, filters, gate, cluster: None, items, near, embedder: None, elapsed_us: 0 }
    }

    /// Keeps the items that are sent, and at most `most` near misses. Items that are sent are no longer near misses.
    /// `sent` returns the tokens of an item that is sent, `why` the reason of a near miss that lacked room.
    pub fn record_sent(
        &mut self,
        sent: &dyn Fn(&Evidence) -> Option<u32>,
        why: &dyn Fn(&NearMiss) -> MissReason,
        most: usize,
    ) {
        self.items.retain_mut(|item| sent(item).map(|tokens| item.tokens = tokens).is_some());
        let keys: HashSet<Hash> = self.items.iter().map(|item| item.key).collect();
        let has_room = |near: &NearMiss| matches!(near.why, MissReason::NoRoom { .. });
        self.near.retain(|near| !(has_room(near) && keys.contains(&near.key)));
        self.near.truncate(most);
        for near in self.near.iter_mut().filter(|near| has_room(near)) {
            near.why = why(near);
        }
        self.id = id_of(&self.query, self.filters, &self.items);
    }
}

fn id_of(query: &str, filters: Hash, items: &[Evidence]) -> Hash {
    let start = Fields::new("retrieval set").text(query).hash(filters).number(items.len() as u64);
    items.iter().fold(start, |fields, item| fields.hash(item.key).hash(item.content)).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(key: &[u8], score: f32) -> Evidence {
        let score_parts = ScoreParts { bm25: score, ..ScoreParts::default() };
        Evidence { key: Hash::of(key), content: Hash::of(key), span: (0, 3), score, score_parts, rank: 1, tokens: 9 }
    }

    #[test]
    fn the_id_covers_items_but_not_scores() {
        let gate = Gate::Pass(PassReason::Rare);
        let id = |query: &str, items| RetrievalSet::new(query.into(), Hash::default(), gate, items, Vec::new()).id;
        let one = id("q", vec![item(b"a", 1.0), item(b"b", 2.0)]);
        assert_eq!(one, id("q", vec![item(b"a", 1.5), item(b"b", 0.5)]));
        assert_ne!(one, id("q", vec![item(b"b", 2.0), item(b"a", 1.0)]));
        assert_ne!(one, id("other", vec![item(b"a", 1.0), item(b"b", 2.0)]));
    }

    #[test]
    fn a_set_round_trips_through_json() {
        let near = NearMiss {
            key: Hash::of(b"n"),
            span: (1, 2),
            score: 0.5,
            score_parts: ScoreParts::default(),
            why: MissReason::NoRoom { missing: 12 },
        };
        let set = RetrievalSet::new(
            "q".into(),
            Hash::default(),
            Gate::Inherited(SkipReason::NoContent),
            vec![item(b"a", 1.0)],
            vec![near],
        );
        let text = serde_json::to_string(&set).unwrap();
        assert!(text.contains(r#""gate":{"gate":"inherited","why":"no_content"}"#), "{text}");
        assert_eq!(serde_json::from_str::<RetrievalSet>(&text).unwrap(), set);
    }
}
