//! Summaries of turns, with the sources that they were made from, so that their validity can be checked.
//! Not for: making them (`context::summary`), choosing which one is sent (`engine`), or drafts (`draft`).

use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::named_enum::named_enum;
use crate::domain::planning::mode::Mode;
use serde::{Deserialize, Serialize};

/// The compression ratio, times 1,000, below which a summary is too detailed.
const LOW_RATIO: u32 = 2_000;

named_enum! {
    /// The turns that a summary covers.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
    pub enum SummaryKind {
        /// The older turns of one lane.
        Lane = "lane",
        /// The older turns of the whole path.
        Session = "session",
    }
}

impl SummaryKind {
    /// Returns the number of its priority level: 2 is session, 3 is working.
    pub fn level(self) -> u8 {
        match self {
            Self::Session => 2,
            Self::Lane => 3,
        }
    }
}

named_enum! {
    /// Who wrote a summary's text.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    pub enum SummarySource {
        /// A language model.
        Llm = "llm" => "by the model",
        /// The extractive summarizer: sentences of the sources, no model.
        Extractive = "extractive" => "extracted",
        /// A person, by hand or by editing a draft.
        User = "user" => "by you",
    }
    /// Returns the author as a phrase, such as `by the model`.
    pub fn phrase
}

/// A turn that a summary was made from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TurnCover {
    /// Key of the turn's user message.
    pub user: Hash,
    /// Key of the turn's last node.
    pub tip: Hash,
    /// The messages that were read, each as its key and the hash of its content.
    pub nodes: Vec<(Hash, Hash)>,
}

/// A file that a summary mentions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileCover {
    /// The path in the workspace.
    pub path: String,
    /// BLAKE3 hash of the file's bytes at that time.
    pub hash: Hash,
}

/// A sentence that is kept verbatim, in this summary and in later summaries that replace it. A person or the program
/// chose it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeptSentence {
    pub text: String,
    /// Key of the message that it is from.
    pub node: Hash,
    /// The turn's number on the path, from 1.
    pub turn: u32,
    /// The name of the author's role.
    pub who: String,
    /// Whether the program chose it, to use free tokens. The program chooses again for each new version; sentences chosen
    /// by a person stay.
    #[serde(default)]
    pub auto: bool,
}

/// A summary of turns. Immutable: a change creates another summary.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Hash of kind, lane, text, source, sources, and parent; the same on every machine.
    pub id: Hash,
    /// The turns that it covers.
    pub kind: SummaryKind,
    /// The lane; empty for the root lane.
    pub lane: String,
    /// The text without label; `None` after one of its sources was permanently removed.
    pub text: Option<String>,
    /// Who wrote it.
    pub source: SummarySource,
    /// The model, if one wrote it.
    pub model: Option<String>,
    /// Version of the prompt or of the extractive method.
    pub prompt_version: u32,
    /// Share of the sources' facts that the summary contains, in thousandths.
    pub confidence: u32,
    /// Milliseconds since 1970: the time of the newest source, never the clock, so that plans do not change.
    pub generated_at: i64,
    /// The sources, oldest first.
    pub covers: Vec<TurnCover>,
    /// Numbers of the first and last covered turn on the path.
    pub turns: (u32, u32),
    /// Files that it mentions.
    pub files: Vec<FileCover>,
    pub source_hash: Hash,
    /// The summary that it replaces, which was not one of its sources.
    pub parent: Option<Hash>,
    /// Tokens of the sources as they would be sent.
    pub original_tokens: u32,
    /// Tokens of the summary as it is sent.
    pub tokens: u32,
    /// Sentences kept verbatim.
    pub kept: Vec<KeptSentence>,
}

impl Summary {
    /// Sets the hashes that derive from the other fields: `source_hash` and `id`.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.source_hash = source_hash(&self.covers);
        self.id = Fields::new("capsule")
            .text(self.kind.name())
            .text(&self.lane)
            .json(&self.text)
            .text(self.source.name())
            .hash(self.source_hash)
            .optional(self.parent)
            .finish();
        self
    }

    /// Returns the ratio of original to summarized tokens, times 1,000.
    pub fn ratio_milli(&self) -> u32 {
        ratio_milli(self.original_tokens, self.tokens)
    }

    /// Returns whether the summary saves too little.
    pub fn too_detailed(&self) -> bool {
        self.ratio_milli() < LOW_RATIO
    }

    /// Returns the key of the last node that it covers; `None` if it covers nothing.
    pub fn tip(&self) -> Option<Hash> {
        self.covers.last().map(|cover| cover.tip)
    }
}

/// Returns the hash of a summary's sources.
pub fn source_hash(covers: &[TurnCover]) -> Hash {
    let start = Fields::new("capsule sources").number(covers.len() as u64);
    covers.iter().fold(start, Fields::json).finish()
}

/// Returns `before / after` times 1,000, rounded down; 0 if `after` is 0.
pub fn ratio_milli(before: u32, after: u32) -> u32 {
    let ratio = (u64::from(before) * 1_000).checked_div(u64::from(after)).unwrap_or(0);
    u32::try_from(ratio).unwrap_or(u32::MAX)
}

/// A fault of a covered turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceFault {
    /// A person excluded the turn or one of its messages.
    Excluded,
    /// The turn was permanently removed.
    Removed,
    /// The turn's text changed or grew.
    Changed,
}

/// The messages after the last covered turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessagesSince {
    pub messages: u32,
    /// Approximate number of their tokens.
    pub tokens: u32,
    /// Milliseconds between the newest source and the path's last message.
    pub ms: i64,
}

/// The limits on the messages that follow a summary. Exceeding any of these limits makes it stale.
pub const MAX_SINCE: MessagesSince = MessagesSince { messages: 30, tokens: 2_500, ms: 24 * 3_600 * 1_000 };

/// The relation of a summary to a path: everything that its state depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SummaryPosition {
    /// Whether all covered turns are on the path.
    pub on_path: bool,
    /// The worst fault of a covered turn.
    pub source: Option<SourceFault>,
    /// Whether a mentioned file has changed.
    pub file_changed: bool,
    /// The messages after the covered turns.
    pub newer: MessagesSince,
}

named_enum! {
    /// Whether a summary is valid.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    pub enum SummaryState {
        /// The summary is valid.
        Fresh = "fresh",
        /// A source changed, was removed, or was excluded.
        StaleSource = "stale_source",
        /// A mentioned file changed.
        StaleFile = "stale_file",
        /// Many messages followed.
        StaleLag = "stale_lag",
        /// The covered turns are not on this path.
        Orphan = "orphan",
    }
}

impl SummaryState {
    /// Returns why the summary is stale, as a phrase; `None` if it is valid.
    pub fn phrase(self) -> Option<&'static str> {
        match self {
            Self::Fresh => None,
            Self::StaleSource => Some("a turn changed"),
            Self::StaleFile => Some("a file changed"),
            Self::StaleLag => Some("many messages since"),
            Self::Orphan => Some("not on this branch"),
        }
    }
}

/// Whether and how a summary may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SummaryUse {
    /// It is sent without a label.
    Plain,
    /// It is sent with a label that says why it is stale.
    Labelled(&'static str),
    /// It is not sent.
    Not,
}

impl SummaryPosition {
    /// Returns the worst state that applies.
    pub fn state(&self) -> SummaryState {
        let MessagesSince { messages, tokens, ms } = self.newer;
        if !self.on_path {
            SummaryState::Orphan
        } else if self.source.is_some() {
            SummaryState::StaleSource
        } else if self.file_changed {
            SummaryState::StaleFile
        } else if messages > MAX_SINCE.messages || tokens > MAX_SINCE.tokens || ms > MAX_SINCE.ms {
            SummaryState::StaleLag
        } else {
            SummaryState::Fresh
        }
    }

    /// Returns how a summary in this position may be sent in a mode. A summary of excluded or removed turns is never
    /// sent; other stale summaries are sent only in Heavy, with a label.
    pub fn usage(&self, mode: Mode) -> SummaryUse {
        match (self.state(), self.source) {
            (SummaryState::Fresh | SummaryState::StaleLag, _) => SummaryUse::Plain,
            (SummaryState::StaleSource, Some(SourceFault::Changed)) if mode == Mode::Heavy => {
                SummaryUse::Labelled("a turn in it has changed since")
            }
            (SummaryState::StaleFile, _) if mode == Mode::Heavy => {
                SummaryUse::Labelled("one of its files has changed since")
            }
            (SummaryState::StaleSource | SummaryState::StaleFile | SummaryState::Orphan, _) => SummaryUse::Not,
        }
    }
}

/// Returns consecutive turns in words: `turn 3`, or `turns 3–7`.
pub fn turns_in_words((first, last): (u32, u32)) -> String {
    if first == last { format!("turn {first}") } else { format!("turns {first}–{last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_path() -> SummaryPosition {
        SummaryPosition { on_path: true, ..SummaryPosition::default() }
    }

    #[test]
    fn the_worst_fault_is_the_state() {
        let newer = |messages, tokens, ms| {
            SummaryPosition { newer: MessagesSince { messages, tokens, ms }, ..on_path() }.state()
        };
        assert_eq!(on_path().state(), SummaryState::Fresh);
        assert_eq!(newer(30, 2_500, 86_400_000), SummaryState::Fresh, "the limits themselves are not passed");
        assert_eq!(newer(31, 0, 0), SummaryState::StaleLag);
        assert_eq!(newer(0, 2_501, 0), SummaryState::StaleLag);
        assert_eq!(newer(0, 0, 86_400_001), SummaryState::StaleLag);
        let changed = SummaryPosition { source: Some(SourceFault::Changed), file_changed: true, ..on_path() };
        assert_eq!(changed.state(), SummaryState::StaleSource);
        assert_eq!(SummaryPosition { on_path: false, ..changed }.state(), SummaryState::Orphan);
        assert_eq!(SummaryPosition { file_changed: true, ..on_path() }.state(), SummaryState::StaleFile);
    }

    #[test]
    fn only_heavy_sends_stale_summaries_and_none_sends_excluded_ones() {
        let changed = SummaryPosition { source: Some(SourceFault::Changed), ..on_path() };
        assert_eq!(changed.usage(Mode::Light), SummaryUse::Not);
        assert!(matches!(changed.usage(Mode::Heavy), SummaryUse::Labelled(_)));
        for fault in [SourceFault::Excluded, SourceFault::Removed] {
            for mode in Mode::ALL {
                assert_eq!(SummaryPosition { source: Some(fault), ..on_path() }.usage(mode), SummaryUse::Not);
            }
        }
        assert_eq!(on_path().usage(Mode::Off), SummaryUse::Plain);
    }

    #[test]
    fn ratios_are_exact_integers() {
        assert_eq!(ratio_milli(500, 50), 10_000);
        assert_eq!(ratio_milli(1_999, 1_000), 1_999);
        assert_eq!((ratio_milli(5, 0), ratio_milli(0, 5)), (0, 0));
        assert_eq!(ratio_milli(u32::MAX, 1), u32::MAX);
    }

    fn of(original_tokens: u32, tokens: u32) -> Summary {
        serde_json::from_value(serde_json::json!({
            "id": Hash::default(), "kind": "session", "lane": "", "text": null, "source": "user", "model": null,
            "prompt_version": 1, "confidence": 0, "generated_at": 0, "covers": [], "turns": [1, 2], "files": [],
            "source_hash": Hash::default(), "parent": null, "original_tokens": original_tokens, "tokens": tokens, "kept": [],
        }))
        .unwrap()
    }

    #[test]
    fn a_summary_is_too_detailed_below_half() {
        let found = [(1_999, 1_000), (2_000, 1_000), (2_001, 1_000), (0, 5), (5, 0), (10, 1)];
        let found = found.map(|(before, after)| of(before, after).too_detailed());
        assert_eq!(found, [true, false, false, true, true, false]);
    }
}
