//! What was looked up for a call and what came of it: the query, the gate's word, the items with the parts of their scores,
//! and what nearly went.
//! Not for: looking it up (`retrieval`) or sending it (`context`).

use crate::domain::base::hash::{Fields, Hash};
use serde::{Deserialize, Serialize};

/// Why nothing was looked up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipWhy {
    /// The person said that this call goes without.
    NotWanted,
    /// Their words are still being indexed.
    Indexing,
    /// Nothing on the path that could be found.
    NothingToFind,
    /// The message names nothing: fillers and stop words only.
    NoContent,
    /// What it names was never spoken of here.
    Unknown,
    /// What it names is everyday talk here.
    Common,
    /// What it shares with older messages says too little.
    Faint,
}

impl SkipWhy {
    /// The sentence beside the gate's decision.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NotWanted => "this call goes without them, as you chose",
            Self::Indexing => "their words are still being indexed",
            Self::NothingToFind => "no older message could be found",
            Self::NoContent => "the message names nothing to search for",
            Self::Unknown => "nothing that the message names was mentioned before",
            Self::Common => "what the message names is mentioned everywhere here",
            Self::Faint => "no older message says enough about what the message names",
        }
    }
}

/// Why something was looked up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassWhy {
    /// A person asked for it.
    Forced,
    /// It points to the past.
    Cue,
    /// Rare words of it stand in older messages.
    Rare,
    /// Several known words of it.
    Several,
    /// An older message is far nearer to it in meaning than the others.
    Meaning,
}

/// The gate's decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(tag = "gate", content = "why", rename_all = "snake_case")]
pub enum Gate {
    /// Searched.
    Pass(PassWhy),
    /// Not searched; the previous message's results stayed. Only sets stored by earlier versions have it.
    Inherited(SkipWhy),
    /// Not searched.
    Skipped(SkipWhy),
}

impl Gate {
    /// Whether something was looked up.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pass(_))
    }
}

/// A query cluster of a path: the number of the turn whose question begins it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(transparent)]
pub struct ClusterId(pub u32);

/// What a score is made of; the sum is the score.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ScoreParts {
    /// Its own words.
    pub bm25: f32,
    /// Words learned from the best passages.
    pub feedback: f32,
    /// Its neighbours on the path.
    pub smooth: f32,
    /// The best of its sitting.
    pub sitting: f32,
    /// Its speaker is named.
    pub speaker: f32,
    /// Its role, and other things known beforehand.
    pub prior: f32,
    /// Cosine with the query.
    pub cos: f32,
}

impl ScoreParts {
    /// The sum.
    #[must_use]
    pub fn sum(&self) -> f32 {
        self.bm25 + self.feedback + self.smooth + self.sitting + self.speaker + self.prior + self.cos
    }
}

/// An item of evidence: a message, whole or by a passage.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Evidence {
    /// The message's key.
    pub key: Hash,
    /// Hash of its content.
    pub content: Hash,
    /// Bytes of its text that go, from and to; the first and last where several passages go.
    pub span: (u32, u32),
    /// Its score.
    pub score: f32,
    /// What the score is made of.
    pub score_parts: ScoreParts,
    /// Its rank, from 1.
    pub rank: u32,
    /// Tokens of its lines as sent.
    pub tokens: u32,
}

/// Why an item nearly went.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum MissWhy {
    /// It would not have fitted.
    NoRoom {
        /// Tokens that were missing.
        missing: u32,
    },
    /// Another item says the same.
    Duplicate,
    /// Better ones had filled the room.
    Below,
    /// It says too little of what is asked.
    Unrelated,
}

/// An item that nearly went.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NearMiss {
    /// The message's key.
    pub key: Hash,
    /// Bytes of its text, from and to.
    pub span: (u32, u32),
    /// Its score.
    pub score: f32,
    /// What the score is made of.
    pub score_parts: ScoreParts,
    /// Why it did not go.
    #[serde(flatten)]
    pub why: MissWhy,
}

/// Everything about one look-up.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RetrievalSet {
    /// See [`RetrievalSet::id_of`].
    pub id: Hash,
    /// What was asked.
    pub query: String,
    /// What limited it, as a digest (lane, window, time, exclusions).
    pub filters: Hash,
    /// The gate's decision.
    pub gate: Gate,
    /// The query's cluster.
    pub cluster: Option<ClusterId>,
    /// What goes, in the order in which it is sent.
    pub items: Vec<Evidence>,
    /// What nearly went, best first.
    pub near: Vec<NearMiss>,
    /// Id of the embedder whose vectors were compared; none where words alone were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// How long it took, in microseconds; measured by the engine.
    pub elapsed_us: u64,
}

impl RetrievalSet {
    /// H(query, filters, ordered (key, content hash)). Scores and times are fields beside it: one message elsewhere moves
    /// every BM25.
    #[must_use]
    pub fn id_of(query: &str, filters: Hash, items: &[Evidence]) -> Hash {
        let start = Fields::new("retrieval set").text(query).hash(filters).number(items.len() as u64);
        items.iter().fold(start, |fields, item| fields.hash(item.key).hash(item.content)).finish()
    }

    /// A set with its id.
    #[must_use]
    pub fn new(query: String, filters: Hash, gate: Gate, items: Vec<Evidence>, near: Vec<NearMiss>) -> Self {
        let id = Self::id_of(&query, filters, &items);
        Self { id, query, filters, gate, cluster: None, items, near, embedder: None, elapsed_us: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(key: &[u8], score: f32) -> Evidence {
        let score_parts = ScoreParts { bm25: score, ..ScoreParts::default() };
        Evidence { key: Hash::of(key), content: Hash::of(key), span: (0, 3), score, score_parts, rank: 1, tokens: 9 }
    }

    #[test]
    fn the_id_names_what_goes_and_not_its_scores() {
        let gate = Gate::Pass(PassWhy::Rare);
        let set = |items| RetrievalSet::new("q".into(), Hash::default(), gate, items, Vec::new());
        let (one, moved) = (set(vec![item(b"a", 1.0), item(b"b", 2.0)]), set(vec![item(b"a", 1.5), item(b"b", 0.5)]));
        assert_eq!(one.id, moved.id);
        assert_ne!(one.id, set(vec![item(b"b", 2.0), item(b"a", 1.0)]).id);
        assert_ne!(one.id, RetrievalSet::id_of("other", Hash::default(), &one.items));
    }

    #[test]
    fn it_survives_json() {
        let near = NearMiss {
            key: Hash::of(b"n"),
            span: (1, 2),
            score: 0.5,
            score_parts: ScoreParts::default(),
            why: MissWhy::NoRoom { missing: 12 },
        };
        let set = RetrievalSet::new(
            "q".into(),
            Hash::default(),
            Gate::Inherited(SkipWhy::NoContent),
            vec![item(b"a", 1.0)],
            vec![near],
        );
        let text = serde_json::to_string(&set).unwrap();
        assert!(text.contains(r#""gate":{"gate":"inherited","why":"no_content"}"#), "{text}");
        assert_eq!(serde_json::from_str::<RetrievalSet>(&text).unwrap(), set);
    }
}
