//! Drafts of summaries and what a person decides on: the sources beside the draft, what the draft dropped, figures.
//! Not for: capsules that were accepted (`accepted`) or making any of it (`context::summary`).

use super::accepted::{Kept, Summary, SummaryState};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, RunId};
use crate::domain::conversation::message::Role;
use crate::domain::planning::level_use::LevelUse;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Who is to write a summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummaryAuthor {
    /// The branch's model.
    Model,
    /// The extractive summariser: no model, no network.
    #[default]
    Extractive,
}

/// By which measure of its policy a branch has summaries made by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// None: only a person asks for one.
    #[default]
    Off,
    /// `[lanes]`: so many messages, tokens or hours of a lane without one.
    Lane,
    /// `[levels]`: so many percent of the total used, and turns that are old enough.
    Levels,
    /// Turns without one that the last request left out, being older than its window, hold more than `tokens`.
    Window,
}

/// What becomes of a summary that was made by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accept {
    /// It waits until a person looked at it.
    #[default]
    Ask,
    /// It is used at once, undoably, unless it is more than half as long as its sources.
    #[serde(rename = "self")]
    Own,
}

/// Summaries that a policy has made by themselves (`[compaction]` in its file).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Compaction {
    /// When.
    pub measure: Measure,
    /// Tokens outside the window that may be without a summary (measure `window` only).
    pub tokens: u32,
    /// What becomes of them.
    pub accept: Accept,
    /// Who writes them.
    pub by: SummaryAuthor,
}

/// What a branch or the configuration wishes above its policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compacting {
    /// No summary is made by itself.
    Off,
    /// They are, by the policy's measure, and wait for a person.
    Ask,
    /// They are, and are used at once.
    #[serde(rename = "self")]
    Own,
}

impl Compacting {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Off, Self::Ask, Self::Own];

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Ask => "ask",
            Self::Own => "self",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wish| wish.name() == name)
    }
}

impl Default for Compaction {
    fn default() -> Self {
        Self { measure: Measure::Off, tokens: 2_500, accept: Accept::Ask, by: SummaryAuthor::default() }
    }
}

impl Compaction {
    /// What holds under a wish.
    #[must_use]
    pub fn under(self, wish: Option<Compacting>) -> Self {
        match wish {
            None => self,
            Some(Compacting::Off) => Self { measure: Measure::Off, ..self },
            Some(Compacting::Ask) => Self { accept: Accept::Ask, ..self },
            Some(Compacting::Own) => Self { accept: Accept::Own, ..self },
        }
    }
}

/// What the checker looks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum AnchorKind {
    /// A file's path or name.
    Path,
    /// A command line.
    Command,
    /// A name from code.
    Identifier,
    /// A number that means something: with a unit, a version, a port, a date.
    Number,
    /// An address.
    Url,
    /// An error's code or name.
    ErrorCode,
    /// Words that somebody put in quotation marks.
    Quote,
    /// A question that nobody answered.
    Question,
}

impl AnchorKind {
    /// All of them, in the order of tables.
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

    /// The word for it.
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

/// Something of the sources that a draft does not say.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MissingFact {
    /// What it is.
    pub kind: AnchorKind,
    /// The very characters.
    pub text: String,
    /// The sentence or line that holds it, word for word, where it was last said.
    pub sentence: String,
    /// Key of that message.
    pub node: Hash,
    /// Its turn's number, from 1.
    pub turn: u32,
    /// Who said it.
    pub role: Role,
    /// How often the sources say it.
    pub times: u32,
    /// How much it matters: higher first. From [`SALIENT`] on it is shown by itself.
    pub weight: u32,
}

/// The weight from which a dropped item is worth a person's look.
pub const SALIENT: u32 = 4;

/// A message of a source turn, secrets masked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceMessage {
    /// The node's key.
    pub node: Hash,
    /// Hash of its content as stored.
    pub content: Hash,
    /// Who says it.
    pub role: Role,
    /// What, without state blocks and calls; of tool results only lines that tell of an error.
    pub text: String,
}

/// Why a turn stays word for word and is in no summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepReason {
    /// A pin, a lease or an include is on it.
    Pinned,
    /// A person took it out.
    Excluded,
    /// It belongs to another lane.
    OtherLane,
    /// Nothing of it would be sent.
    Empty,
}

/// A turn as a candidate for a summary, or as its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceTurn {
    /// Key of its user message.
    pub user: Hash,
    /// Key of its last node.
    pub tip: Hash,
    /// Its number on the path, from 1.
    pub number: u32,
    /// Its user message, for opening it.
    pub node: NodeId,
    /// One line, unsanitised.
    pub title: String,
    /// Milliseconds since 1970 of its last message.
    pub at: i64,
    /// How many messages it has.
    pub count: u32,
    /// Tokens of it as it would be sent whole.
    pub tokens: u32,
    /// Why it stays, where it does.
    pub stays: Option<KeepReason>,
    /// Its messages that may be read; empty until they are fetched.
    pub messages: Vec<SourceMessage>,
}

/// A summary that waits for a person's decision. At most one a branch. It is kept in memory only, because it holds words of
/// its sources, which a removal must be able to take away: it goes with the program, and is made again when it is due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummaryDraft {
    /// Counts up; acts name it, so that none is done on another draft than was seen.
    pub number: u64,
    /// Whose.
    pub branch: BranchId,
    /// The summary as it would be accepted, its kept words included.
    pub capsule: Summary,
    /// The text before anything was kept; what was kept is put together with it anew.
    pub body: String,
    /// What the summary does not say, the weightiest first.
    pub dropped: Arc<[MissingFact]>,
    /// How many items were looked for.
    pub looked_for: u32,
    /// The turns that it was made from, beside which it is shown.
    pub sources: Arc<[SourceTurn]>,
    /// Turns in between that stay as they are, by number.
    pub stays: Vec<(u32, KeepReason)>,
    /// Secrets that were masked before anything read the sources.
    pub masked: u32,
    /// The model's call, where one was made.
    pub run: Option<RunId>,
    /// Why it was made by itself; none where a person asked for it.
    pub cause: Option<String>,
    /// Things to know, a sentence each.
    pub warnings: Vec<String>,
}

/// An accepted capsule, as lists show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummaryCard {
    /// The capsule.
    pub capsule: Arc<Summary>,
    /// How it stands on the branch.
    pub state: SummaryState,
    /// It is the newest level on the branch.
    pub active: bool,
    /// It is what goes with the next call.
    pub goes: bool,
    /// Levels below it that undoing leads to.
    pub depth: u32,
}

/// What `stats` tells.
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
    /// Average of original to compressed, times 1,000; none where nothing was compressed.
    pub ratio_milli: Option<u32>,
    /// Level by level.
    pub levels: Vec<LevelUse>,
    /// When something was last compressed, in milliseconds since 1970.
    pub last: Option<i64>,
    /// Items that retrieval would send, by id.
    pub retrieved: Vec<String>,
}

/// What kept words are put together from: used by screens that show them.
#[must_use]
pub fn kept_line(kept: &Kept) -> String {
    format!("- [turn {}, {}] {}", kept.turn, kept.who, kept.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_stands_above_the_policy_and_gives_it_no_measure() {
        let policy: Compaction = toml::from_str("measure = \"lane\"\naccept = \"self\"\nby = \"model\"\n").unwrap();
        let whole = Compaction {
            measure: Measure::Lane,
            accept: Accept::Own,
            by: SummaryAuthor::Model,
            ..Compaction::default()
        };
        assert_eq!((policy, policy.under(None)), (whole, whole));
        assert_eq!(policy.under(Some(Compacting::Off)).measure, Measure::Off);
        assert_eq!(policy.under(Some(Compacting::Ask)), Compaction { accept: Accept::Ask, ..whole });
        let none = Compaction::default().under(Some(Compacting::Own));
        assert_eq!((none.measure, none.accept), (Measure::Off, Accept::Own), "a policy without a measure makes none");
        for wish in Compacting::ALL {
            assert_eq!(Compacting::from_name(wish.name()), Some(wish));
            assert_eq!(serde_json::to_value(wish).unwrap(), wish.name());
        }
        assert!(toml::from_str::<Compaction>("accept = \"always\"").is_err());
    }
}
