//! Drafts of summaries, for a person's decision: the sources, the missing facts, the figures.
//! Not for: accepted summaries (`accepted`) or making drafts (`context::summary`).

use super::accepted::{KeptSentence, Summary, SummaryState};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, RunId};
use crate::domain::conversation::message::Role;
use crate::domain::planning::level_use::LevelUse;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The author of a summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummaryAuthor {
    /// The branch's model.
    Model,
    /// The extractive summarizer: no model, no network.
    #[default]
    Extractive,
}

/// The measure by which a policy makes automatic summaries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AutoSummaryTrigger {
    /// None: summaries are made only on request.
    #[default]
    Off,
    /// `[lanes]`: messages, tokens or hours of a lane without a summary.
    Lane,
    /// `[levels]`: percent of the total used, and turns that are old enough.
    Levels,
    /// More than `tokens` in turns without a summary that were left out of the last request as older than its window.
    Window,
}

/// What happens to an automatic summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AutoSummaryAcceptance {
    /// It waits for a person's decision.
    #[default]
    Ask,
    /// It is used at once, undoably, unless it is more than half as long as its sources.
    #[serde(rename = "self")]
    Own,
}

/// Automatic summaries of a policy (`[compaction]` in its file).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoSummarySettings {
    /// When they are made.
    pub measure: AutoSummaryTrigger,
    /// Tokens outside the window allowed without a summary (measure `window` only).
    pub tokens: u32,
    /// What happens to them.
    pub accept: AutoSummaryAcceptance,
    /// Who writes them.
    pub by: SummaryAuthor,
}

/// An override of the policy by a branch or the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AutoSummaryOverride {
    /// No automatic summaries.
    Off,
    /// By the policy's measure; they wait for a person's decision.
    Ask,
    /// By the policy's measure; they are used at once.
    #[serde(rename = "self")]
    Own,
}

impl AutoSummaryOverride {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Off, Self::Ask, Self::Own];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Ask => "ask",
            Self::Own => "self",
        }
    }

    /// Parses a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wish| wish.name() == name)
    }
}

impl Default for AutoSummarySettings {
    fn default() -> Self {
        Self {
            measure: AutoSummaryTrigger::Off,
            tokens: 2_500,
            accept: AutoSummaryAcceptance::Ask,
            by: SummaryAuthor::default(),
        }
    }
}

impl AutoSummarySettings {
    /// The settings under an override.
    #[must_use]
    pub fn under(self, wish: Option<AutoSummaryOverride>) -> Self {
        match wish {
            None => self,
            Some(AutoSummaryOverride::Off) => Self { measure: AutoSummaryTrigger::Off, ..self },
            Some(AutoSummaryOverride::Ask) => Self { accept: AutoSummaryAcceptance::Ask, ..self },
            Some(AutoSummaryOverride::Own) => Self { accept: AutoSummaryAcceptance::Own, ..self },
        }
    }
}

/// The kind of a required fact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum AnchorKind {
    /// A file's path or name.
    Path,
    /// A command line.
    Command,
    /// A name from code.
    Identifier,
    /// A meaningful number: with a unit, a version, a port, a date.
    Number,
    /// An address.
    Url,
    /// An error's code or name.
    ErrorCode,
    /// Quoted words.
    Quote,
    /// An unanswered question.
    Question,
}

impl AnchorKind {
    /// All kinds, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::Path,
        Self::Command,
        Self::Identifier,
        Self::Number,
        Self::Url,
        Self::ErrorCode,
        Self::Quote,
        Self::Question,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Command => "command",
            Self::Identifier => "identifier",
            Self::Number => "number",
            Self::Url => "url",
            Self::ErrorCode => "error_code",
            Self::Quote => "quote",
            Self::Question => "question",
        }
    }
}

/// A fact of the sources that a draft lacks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MissingFact {
    /// Its kind.
    pub kind: AnchorKind,
    /// The exact characters.
    pub text: String,
    /// The sentence or line of its last mention, verbatim.
    pub sentence: String,
    /// Key of that message.
    pub node: Hash,
    /// Its turn's number, from 1.
    pub turn: u32,
    /// Who wrote it.
    pub role: Role,
    /// Number of mentions in the sources.
    pub times: u32,
    /// Its importance: higher first. From [`SALIENT`] on it is shown by itself.
    pub weight: u32,
}

/// The minimum weight of a missing fact that deserves a person's attention.
pub const SALIENT: u32 = 4;

/// A message of a source turn, with secrets masked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceMessage {
    /// The node's key.
    pub node: Hash,
    /// Hash of its content as stored.
    pub content: Hash,
    /// Who wrote it.
    pub role: Role,
    /// Its text, without state blocks and calls; of tool results only lines that report an error.
    pub text: String,
}

/// Why a turn stays and is never summarized.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepReason {
    /// It has a pin, a lease or an include.
    Pinned,
    /// A person excluded it.
    Excluded,
    /// It belongs to another lane.
    OtherLane,
    /// It has nothing to send.
    Empty,
}

/// A turn as a candidate or source of a summary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceTurn {
    /// Key of its user message.
    pub user: Hash,
    /// Key of its last node.
    pub tip: Hash,
    /// Its number on the path, from 1.
    pub number: u32,
    /// Its user message.
    pub node: NodeId,
    /// One line, unsanitized.
    pub title: String,
    /// Milliseconds since 1970 of its last message.
    pub at: i64,
    /// Number of messages.
    pub count: u32,
    /// Its tokens when sent in full.
    pub tokens: u32,
    /// Why it stays, if so.
    pub stays: Option<KeepReason>,
    /// Its readable messages; empty until they are fetched.
    pub messages: Vec<SourceMessage>,
}

/// A summary that waits for a person's decision. At most one per branch. It is held only in memory, because it contains
/// text of its sources, which a removal must be able to delete. It is lost when the program ends, and made again when
/// due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummaryDraft {
    /// Increments; acts name it, so that none applies to another draft than was seen.
    pub number: u64,
    /// The branch.
    pub branch: BranchId,
    /// The summary as it would be accepted, with its kept sentences.
    pub summary: Summary,
    /// The text without kept sentences, to which they are appended again.
    pub body: String,
    /// The missing facts, highest weight first.
    pub dropped: Arc<[MissingFact]>,
    /// Number of facts checked.
    pub looked_for: u32,
    /// The source turns, displayed beside it.
    pub sources: Arc<[SourceTurn]>,
    /// Turns in between that stay, by number.
    pub stays: Vec<(u32, KeepReason)>,
    /// Number of secrets masked before anything read the sources.
    pub masked: u32,
    /// The model's call, if any.
    pub run: Option<RunId>,
    /// Why it was made automatically; `None` if a person asked for it.
    pub cause: Option<String>,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
}

/// An accepted summary, as displayed in lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummaryCard {
    /// The summary.
    pub summary: Arc<Summary>,
    /// Its state on the branch.
    pub state: SummaryState,
    /// Whether it is the newest level on the branch.
    pub active: bool,
    /// Whether it is sent with the next call.
    pub goes: bool,
    /// Number of levels below it that can be restored.
    pub depth: u32,
}

/// The figures of `stats`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Tokens of the next call's context.
    pub used: u32,
    /// The prompt budget.
    pub budget: u32,
    /// Messages stored in the session.
    pub messages: u64,
    /// Summaries of the session.
    pub summaries: u32,
    /// Mean ratio of original to summarized tokens, times 1,000; `None` without summaries.
    pub ratio_milli: Option<u32>,
    /// Level by level.
    pub levels: Vec<LevelUse>,
    /// Time of the last summary, in milliseconds since 1970.
    pub last: Option<i64>,
    /// Ids of items that retrieval would send.
    pub retrieved: Vec<String>,
}

/// A kept sentence as a line of text.
#[must_use]
pub fn kept_line(kept: &KeptSentence) -> String {
    format!("- [turn {}, {}] {}", kept.turn, kept.who, kept.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_wins_but_adds_no_measure() {
        let policy: AutoSummarySettings =
            toml::from_str("measure = \"lane\"\naccept = \"self\"\nby = \"model\"\n").unwrap();
        let whole = AutoSummarySettings {
            measure: AutoSummaryTrigger::Lane,
            accept: AutoSummaryAcceptance::Own,
            by: SummaryAuthor::Model,
            ..AutoSummarySettings::default()
        };
        assert_eq!((policy, policy.under(None)), (whole, whole));
        assert_eq!(policy.under(Some(AutoSummaryOverride::Off)).measure, AutoSummaryTrigger::Off);
        assert_eq!(
            policy.under(Some(AutoSummaryOverride::Ask)),
            AutoSummarySettings { accept: AutoSummaryAcceptance::Ask, ..whole }
        );
        let none = AutoSummarySettings::default().under(Some(AutoSummaryOverride::Own));
        assert_eq!(
            (none.measure, none.accept),
            (AutoSummaryTrigger::Off, AutoSummaryAcceptance::Own),
            "a policy without a measure makes none"
        );
        for wish in AutoSummaryOverride::ALL {
            assert_eq!(AutoSummaryOverride::from_name(wish.name()), Some(wish));
            assert_eq!(serde_json::to_value(wish).unwrap(), wish.name());
        }
        assert!(toml::from_str::<AutoSummarySettings>("accept = \"always\"").is_err());
    }
}
