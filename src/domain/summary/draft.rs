//! Drafts of summaries, which wait for a person's decision: the sources, the missing facts, the figures. Also the
//! settings of automatic summaries.
//! Not for: accepted summaries (`accepted`) or making drafts (`context::summary`).

use super::accepted::{KeptSentence, Summary, SummaryState, turns_in_words};
use crate::domain::base::failure::Failure;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, RunId};
use crate::domain::base::named_enum::named_enum;
use crate::domain::call::tokens::grouped;
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

/// The condition for a policy to make automatic summaries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AutoSummaryTrigger {
    /// Never: summaries are made only on request.
    #[default]
    Off,
    /// By `[lanes]`: enough messages, tokens, or hours of a lane without a summary.
    Lane,
    /// By `[levels]`: enough of the total is used, and turns are old enough.
    Levels,
    /// The turns that the last request left out as older than its window, and that have no summary, have more than
    /// `tokens` tokens.
    Window,
}

/// The treatment of an automatic summary. It is written under its original names, because requests are identified by a
/// digest of their policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AutoSummaryAcceptance {
    /// The summary is a draft, which waits for a person's decision.
    #[default]
    #[serde(rename(serialize = "ask"), alias = "ask")]
    Draft,
    /// The summary is accepted immediately, which can be undone, unless it is more than half as long as its sources.
    #[serde(rename(serialize = "self"), alias = "self")]
    Auto,
}

/// A policy's settings of automatic summaries (`[summaries]` in its file).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoSummarySettings {
    /// When summaries are made.
    pub measure: AutoSummaryTrigger,
    /// Number of tokens outside the window that may have no summary (only for the measure `window`).
    pub tokens: u32,
    /// The treatment of the summaries.
    pub accept: AutoSummaryAcceptance,
    /// Who writes the summaries.
    pub by: SummaryAuthor,
}

/// An override of a policy's automatic summaries, by a branch or the configuration. It is stored under its original
/// names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AutoSummaryOverride {
    /// No automatic summaries.
    Off,
    /// Automatic summaries by the policy's measure, as drafts, which wait for a person's decision.
    #[serde(rename(serialize = "ask"), alias = "ask")]
    Draft,
    /// Automatic summaries by the policy's measure, which are accepted immediately.
    #[serde(rename(serialize = "self"), alias = "self")]
    Auto,
}

impl AutoSummaryOverride {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Draft => "draft",
            Self::Auto => "auto",
        }
    }
}

impl Default for AutoSummarySettings {
    fn default() -> Self {
        Self {
            measure: AutoSummaryTrigger::Off,
            tokens: 2_500,
            accept: AutoSummaryAcceptance::Draft,
            by: SummaryAuthor::default(),
        }
    }
}

impl AutoSummarySettings {
    /// Returns the settings under an override.
    #[must_use]
    pub fn under(self, chosen: Option<AutoSummaryOverride>) -> Self {
        match chosen {
            None => self,
            Some(AutoSummaryOverride::Off) => Self { measure: AutoSummaryTrigger::Off, ..self },
            Some(AutoSummaryOverride::Draft) => Self { accept: AutoSummaryAcceptance::Draft, ..self },
            Some(AutoSummaryOverride::Auto) => Self { accept: AutoSummaryAcceptance::Auto, ..self },
        }
    }
}

named_enum! {
    /// The kind of a fact that a summary should keep.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
    pub enum AnchorKind {
        /// A file's path or name.
        Path = "path",
        /// A command line.
        Command = "command",
        /// A name from code.
        Identifier = "identifier",
        /// A meaningful number: with a unit, a version, a port, a date.
        Number = "number",
        /// An address.
        Url = "url",
        /// An error's code or name.
        ErrorCode = "error_code",
        /// Words in quotation marks.
        Quote = "quote",
        /// An unanswered question.
        Question = "question",
    }
}

/// A fact of the sources that a draft lacks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MissingFact {
    pub kind: AnchorKind,
    /// The fact, verbatim.
    pub text: String,
    /// The sentence or line that mentions the fact last, verbatim.
    pub sentence: String,
    /// Key of the message with that sentence.
    pub node: Hash,
    /// The number of that message's turn, from 1.
    pub turn: u32,
    /// Who wrote the message.
    pub role: Role,
    /// Number of times that the sources mention the fact.
    pub times: u32,
    /// The importance; higher is more important. From [`SALIENT`] on, the fact is listed individually.
    pub weight: u32,
}

/// Minimum weight of a missing fact that is worth a person's attention.
pub const SALIENT: u32 = 4;

/// A message of a source turn, with secrets masked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceMessage {
    /// The node's key.
    pub node: Hash,
    /// Hash of its content as stored.
    pub content: Hash,
    /// Who wrote the message.
    pub role: Role,
    /// The text without state blocks and calls; for a tool result, only lines that report an error.
    pub text: String,
}

/// The reason why a turn is not summarized.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepReason {
    /// The turn, or a message of it, is pinned until a person unpins it.
    Pinned,
    /// A person leased the turn or a message of it.
    Leased,
    /// The turn, or a message of it, is included in the next call.
    Included,
    /// A person excluded the turn.
    Excluded,
    /// The turn belongs to another lane.
    OtherLane,
    /// The turn has nothing to send.
    Empty,
}

impl KeepReason {
    fn words(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Leased => "leased",
            Self::Included => "included once",
            Self::Excluded => "left out",
            Self::OtherLane => "of another lane",
            Self::Empty => "empty",
        }
    }

    /// Returns a sentence about the turns of a summary's range that are kept verbatim, with the reasons; `None` if there
    /// are none.
    pub fn sentence(stays: &[(u32, Self)]) -> Option<String> {
        let mut kinds: Vec<(Self, Vec<String>)> = Vec::new();
        for (turn, why) in stays {
            match kinds.iter_mut().find(|(known, _)| known == why) {
                Some((_, turns)) => turns.push(turn.to_string()),
                None => kinds.push((*why, vec![turn.to_string()])),
            }
        }
        let parts = kinds.into_iter().map(|(why, turns)| {
            let more = if turns.len() > 6 { format!(" and {} more", turns.len() - 6) } else { String::new() };
            format!("{}{more} ({})", turns.iter().take(6).cloned().collect::<Vec<_>>().join(", "), why.words())
        });
        let parts: Vec<String> = parts.collect();
        let (turns, are) = if stays.len() == 1 { ("Turn", "is") } else { ("Turns", "are") };
        (!parts.is_empty()).then(|| format!("{turns} {} {are} kept verbatim.", parts.join(", ")))
    }
}

/// A turn as a candidate or source of a summary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceTurn {
    /// Key of its user message.
    pub user: Hash,
    /// Key of its last node.
    pub tip: Hash,
    /// The number on the path, from 1.
    pub number: u32,
    /// The user message.
    pub node: NodeId,
    /// One-line title, unsanitized.
    pub title: String,
    /// Milliseconds since 1970 of its last message.
    pub at: i64,
    /// Number of messages.
    pub count: u32,
    /// Tokens of the turn when sent in full.
    pub tokens: u32,
    /// Why it is not summarized; `None` if it is.
    pub stays: Option<KeepReason>,
    /// The readable messages; empty until they are fetched.
    pub messages: Vec<SourceMessage>,
}

/// A summary that waits for a person's decision; at most one per branch. It is stored without the texts of its sources
/// ([`StoredDraft`](super::stored_draft::StoredDraft)) and deleted when one of them is removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummaryDraft {
    /// The draft's number. Acts name it, so that an act applies only to the draft that was shown.
    pub number: u64,
    pub branch: BranchId,
    /// The summary as it would be accepted, kept sentences included.
    pub summary: Summary,
    /// The text without the kept sentences, which are appended to it.
    pub body: String,
    /// The missing facts, highest weight first.
    pub dropped: Arc<[MissingFact]>,
    /// Number of facts checked.
    pub checked: u32,
    /// The source turns, which are displayed next to the draft.
    pub sources: Arc<[SourceTurn]>,
    /// The turns between the sources that are not summarized, by number, with the reasons.
    pub stays: Vec<(u32, KeepReason)>,
    /// Number of secrets that were masked before the sources were read.
    pub masked: u32,
    /// The model's call; `None` if no model was asked.
    pub run: Option<RunId>,
    /// Why it was made automatically; `None` if a person asked for it.
    pub cause: Option<String>,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
}

impl SummaryDraft {
    /// Returns a sentence that says that the draft waits for a person.
    pub fn waiting_sentence(&self) -> String {
        let (turns, Summary { original_tokens, tokens, .. }) = (turns_in_words(self.summary.turns), &self.summary);
        let cause = self.cause.as_deref().map_or_else(String::new, |cause| format!(" ({cause})"));
        let (before, after) = (grouped((*original_tokens).into()), grouped((*tokens).into()));
        format!("A summary draft of {turns} is waiting: {before} → {after} tokens{cause}.")
    }
}

/// The commands that decide on a draft, as sentences of the command line.
pub const DRAFT_COMMANDS: &str = "`pleach summary draft` shows it, `pleach summary accept` uses it, and `pleach summary \
    discard` discards it.";

/// Returns the failure for a command on the waiting draft if none is waiting.
pub fn no_draft() -> Failure {
    Failure::user("No summary draft is waiting on this branch.")
        .todo("`pleach compress` prints a new draft; `pleach compress --accept` uses it.")
}

/// An accepted summary, as displayed in lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummaryCard {
    pub summary: Arc<Summary>,
    /// The summary's state on the branch.
    pub state: SummaryState,
    /// Whether it is the newest version on the branch.
    pub active: bool,
    /// Whether it is sent with the next call.
    pub included: bool,
    /// Number of earlier versions that can be restored.
    pub depth: u32,
}

/// The figures that the command `stats` shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Tokens of the next call's prompt.
    pub used: u32,
    /// The prompt budget.
    pub budget: u32,
    /// Number of messages stored in the session.
    pub messages: u64,
    /// Number of the summaries that the branch uses.
    pub summaries: u32,
    /// Ratio of original to summarized tokens of these summaries, times 1,000; `None` if there are none.
    pub ratio_milli: Option<u32>,
    /// The use of each priority level.
    pub levels: Vec<LevelUse>,
    /// Time of the last summary in milliseconds since 1970; `None` if there is none.
    pub last: Option<i64>,
    /// Ids of the items that the newest call retrieved.
    pub retrieved: Vec<String>,
}

/// Returns a kept sentence as a line of the summary's text.
pub fn kept_line(kept: &KeptSentence) -> String {
    format!("- [turn {}, {}] {}", kept.turn, kept.who, kept.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_takes_precedence_but_adds_no_measure() {
        let policy: AutoSummarySettings =
            toml::from_str("measure = \"lane\"\naccept = \"auto\"\nby = \"model\"\n").unwrap();
        let whole = AutoSummarySettings {
            measure: AutoSummaryTrigger::Lane,
            accept: AutoSummaryAcceptance::Auto,
            by: SummaryAuthor::Model,
            ..AutoSummarySettings::default()
        };
        assert_eq!((policy, policy.under(None)), (whole, whole));
        assert_eq!(policy.under(Some(AutoSummaryOverride::Off)).measure, AutoSummaryTrigger::Off);
        assert_eq!(
            policy.under(Some(AutoSummaryOverride::Draft)),
            AutoSummarySettings { accept: AutoSummaryAcceptance::Draft, ..whole }
        );
        let none = AutoSummarySettings::default().under(Some(AutoSummaryOverride::Auto));
        assert_eq!(
            (none.measure, none.accept),
            (AutoSummaryTrigger::Off, AutoSummaryAcceptance::Auto),
            "a policy without a measure makes none"
        );
        assert!(toml::from_str::<AutoSummarySettings>("accept = \"always\"").is_err());
    }

    /// Stores and digests contain the first names; files contain either.
    #[test]
    fn values_are_written_under_their_first_names_and_read_under_both() {
        for (chosen, names) in [
            (AutoSummaryOverride::Off, ["off"; 2]),
            (AutoSummaryOverride::Draft, ["ask", "draft"]),
            (AutoSummaryOverride::Auto, ["self", "auto"]),
        ] {
            assert_eq!(serde_json::to_value(chosen).unwrap(), names[0]);
            for name in names {
                assert_eq!(serde_json::from_value::<AutoSummaryOverride>(name.into()).unwrap(), chosen);
            }
        }
        for (accept, names) in
            [(AutoSummaryAcceptance::Draft, ["ask", "draft"]), (AutoSummaryAcceptance::Auto, ["self", "auto"])]
        {
            let written =
                serde_json::to_string(&AutoSummarySettings { accept, ..AutoSummarySettings::default() }).unwrap();
            let wanted = format!(r#"{{"measure":"off","tokens":2500,"accept":"{}","by":"extractive"}}"#, names[0]);
            assert_eq!(written, wanted);
            for name in names {
                assert_eq!(serde_json::from_value::<AutoSummaryAcceptance>(name.into()).unwrap(), accept);
            }
        }
    }
}
