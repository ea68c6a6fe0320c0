//! The reasons why an item is included or left out, one sentence each, and the remedies that would include it.
//! Not for: its other facts, such as its name and its label (`reason_facts`), or determining the reason (`context`).

use super::reason_phrases::{
    earned_sentence, file_note, leased_sentence, state_request_sentence, superseded_sentence, touchpoint_sentence,
};
use crate::domain::base::hash::Hash;
use crate::domain::call::code_set;
use crate::domain::call::retrieval_set::SkipReason;
use crate::domain::call::tokens::{counted, grouped};
use serde::{Deserialize, Serialize};

/// Who decided that an item is included or left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecidedBy {
    /// A person's mark, reply, or setting.
    Person,
    /// The program's rules.
    Program,
    /// A limit: the item was requested but did not fit.
    Limit,
}

/// Why an item is included or left out. Each reason has one English sentence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Reason {
    /// In: the program's instructions.
    Instructions,
    /// In: the person's own text from configuration or branch.
    Configured,
    /// In: instructions that are a message of the conversation.
    ConversationInstructions {
        /// Whether the message was imported.
        imported: bool,
        /// Whether the person included it in one request only.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        once: bool,
    },
    /// In: guidelines for reading history.
    Guideline,
    /// In: a request to the model to keep a state block.
    StateRequested {
        /// Whether the setting is `auto`: asked only because the branch has a state block or turns are left out.
        older: bool,
        /// With `auto`: whether the branch has a state block. `None` in plans of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        has_state: Option<bool>,
        /// Without `auto`: whether the setting is `optional`. `None` in plans of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional: Option<bool>,
        /// Whether the policy decides, not the settings.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_policy: bool,
    },
    /// In: the newest state on this path.
    CurrentState,
    /// In: the open turn with the user's message.
    Open,
    /// In: pinned.
    Sticky,
    Leased {
        /// Turns left, as [`LeaseTurns`](crate::domain::conversation::mark::LeaseTurns) stores them.
        left: u32,
        /// Whether the program created the lease.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        engine: bool,
    },
    /// In: the program keeps it for one call, because the last answer referred to it.
    Ephemeral,
    /// In: an earlier error like the current one.
    ErrorBefore,
    /// In: the solution of that error, from the messages after which the same tool succeeded.
    ErrorResolved,
    /// In: within the window.
    Recent,
    /// In: older, but relevant enough to stay in the window.
    Relevant,
    WorkingLevel,
    /// In: a question that the person's message answers.
    Pending,
    /// In: a person included it for this call.
    IncludedOnce,
    /// In: a note that a person undid or redid a change of files, which earlier messages do not say.
    FilesReverted,
    /// In: the message replied to.
    Replied,
    /// In: a request to the model to continue a truncated answer.
    GoOn,
    /// In: an older message that matches the question.
    Retrieved {
        /// The rank among the results, from 1.
        rank: u32,
    },
    /// In: the map of a trusted folder's code.
    #[serde(rename = "oriented")]
    CodeMap,
    /// In: code of the workspace that matches the question.
    Touchpoint {
        /// The rank among the results, from 1.
        rank: u32,
        /// Why it was chosen, as text; may be empty.
        because: String,
    },
    /// In: the heading of code that was found.
    CodeSearched {
        /// Number of symbols searched.
        among: u32,
    },
    /// In: code of the previous question, kept for a message that asks for nothing new.
    KeptCode {
        /// The rank in the search for that question, from 1; 0 for the heading.
        rank: u32,
    },
    /// Out: the message does not refer to code.
    NoCode {
        /// Why the code was not searched.
        because: SkipReason,
    },
    /// Out: its file changed, and it no longer exists there.
    StaleFile,
    /// Out: the code is being indexed.
    CodeReading,
    /// In: the heading of retrieved messages.
    Searched {
        /// Number of messages searched.
        among: u32,
    },
    /// In: summarizes turns that are not sent.
    Summary,
    /// In: a confirmed memory.
    Memory {
        /// Whether it is a short preference that is always sent.
        #[serde(rename = "standing")]
        always: bool,
    },
    ProjectRules {
        /// The folder they apply to.
        folder: String,
        /// Whether their text changed since the last call.
        changed: bool,
        /// Bytes left out because the file is too large.
        left: u64,
    },
    /// In: the person's own rules for all projects.
    OwnRules {
        /// Whether their text changed since the last call.
        changed: bool,
        /// Bytes left out because the file is too large.
        left: u64,
    },
    /// In: names of the skills that can be loaded.
    Skills {
        /// Number of skills.
        count: u32,
    },
    /// In: a module summary.
    Module {
        /// Who wrote it.
        by: String,
        /// The staleness, as text.
        #[serde(rename = "stands")]
        staleness: String,
    },
    /// Out: switched off in the settings.
    SwitchedOff,
    /// Suggested: the model named it.
    #[serde(rename = "pin_suggested")]
    SuggestedByModel,
    /// Suggested: a person noted that an answer was different without it.
    #[serde(rename = "pin_mattered")]
    SuggestedByRating,
    /// Suggested: the program renewed its lease repeatedly.
    #[serde(rename = "pin_earned")]
    SuggestedByRenewals {
        renewals: u32,
    },
    /// Out: no free tokens in the budget.
    Budget {
        /// Tokens that were free for it.
        free: u32,
    },
    /// Out: the mode's allowance for retrieval, which better candidates take first, has no room for it.
    Allowance {
        /// The allowance in tokens.
        tokens: u32,
    },
    /// Out: before the window's start.
    OutsideWindow,
    /// Out: a summary replaces it.
    Superseded {
        /// Id of the summary.
        by: Hash,
        /// The first and the last turn that the summary covers; `None` in plans of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turns: Option<(u32, u32)>,
    },
    /// Out: a summary that would make the request larger.
    SavesNothing,
    /// Out: a summary for which a turn that it does not cover would leave, although that has room or takes much more.
    DisplacesTurn {
        /// The number of that turn.
        turn: u32,
    },
    /// Out: a summary of turns that changed, were excluded, or are on another branch.
    StaleSummary,
    /// Out: a person excluded it.
    UserExcluded {
        /// Whether it is excluded from this call only.
        once: bool,
    },
    /// Out: its lease ended.
    TtlExpired,
    /// Out: all leases together exceed their cap.
    LeaseCap {
        /// The cap in tokens.
        cap: u32,
    },
    /// Out: not on this branch's path.
    OffPath,
    /// Out: hidden at its origin.
    Hidden,
    /// Out: imported instructions.
    ForeignInstructions,
    /// Out: the model cannot accept it.
    ModelCannot,
    /// Out: removed.
    Removed,
    /// Out: another row contains the same text.
    Duplicate,
    /// Out: the mode adds nothing automatically.
    ModeOff,
    /// Out: nothing was retrieved for this message.
    NotSearched {
        /// Why nothing was searched.
        because: SkipReason,
    },
    /// Out: others match the question better.
    BelowThreshold,
    /// Out: it matches too little of the question, regardless of the room.
    Unrelated,
    /// Out: larger than the whole budget.
    TooLarge,
    /// Out: in another lane.
    OtherLane,
    /// Out: not in the only lane of the window, which a person chose.
    OutsideLane,
    /// Out: beyond the newest messages of its lane.
    LaneCount {
        /// Number of the newest messages.
        messages: u32,
    },
    /// Out: others are more relevant, up to the window's target.
    SoftTarget {
        /// The target in tokens.
        tokens: u32,
    },
    /// Out: the working level is full of turns with higher scores.
    LevelFull {
        /// The level's budget in tokens.
        budget: u32,
    },
    /// Out: it would fit, but accepted summaries must not make the request larger.
    SummaryLimit,
    /// Out: the session level has no room for it.
    SessionFull {
        /// The level's budget for such items, in tokens.
        budget: u32,
    },
    /// Out: the levels together were too full, and it had the lowest score of those old enough.
    LevelsOver {
        /// The trigger in percent.
        percent: u32,
    },
    /// In: a message that a person wrote into the exact request.
    #[serde(rename = "by_hand")]
    WrittenByPerson,
    /// Out: a person edited it out of the exact request.
    #[serde(rename = "edited_away")]
    RemovedByPerson,
}

#[deny(clippy::wildcard_enum_match_arm, reason = "a new reason must not compile without its sentence")]
impl Reason {
    /// Returns the reason as a sentence.
    #[allow(clippy::too_many_lines, reason = "one arm for each reason")]
    pub fn sentence(&self) -> String {
        match self {
            Self::Instructions => "Instructions, sent with every request.".into(),
            Self::Configured => "You configured this text.".into(),
            Self::ConversationInstructions { once: true, .. } => {
                "The imported system prompt; you included it in this request.".into()
            }
            Self::ConversationInstructions { imported: false, .. } => {
                "Instructions that you added to the conversation, sent with every request.".into()
            }
            Self::ConversationInstructions { imported: true, .. } => {
                "The imported system prompt, which you chose to keep; sent with every request.".into()
            }
            Self::Guideline => "Tells the model how to read the history.".into(),
            Self::StateRequested { by_policy: true, older: false, .. } => {
                "Asks the model to keep a state block: the policy asks for one in every request.".into()
            }
            Self::StateRequested { older, has_state, optional, .. } => {
                state_request_sentence(*older, *has_state, *optional).into()
            }
            Self::CurrentState => "The newest state block on this branch's path.".into(),
            Self::Open => "The open turn; always included.".into(),
            Self::Sticky => "You pinned this; included until you unpin.".into(),
            Self::Leased { left, engine } => leased_sentence(*left, *engine),
            Self::Ephemeral => "Kept for one turn: the answer cites this.".into(),
            Self::ErrorBefore => "An earlier error like the newest one.".into(),
            Self::ErrorResolved => "The solution of an earlier error like the newest one.".into(),
            Self::Recent => "Inside the window of recent turns.".into(),
            Self::Relevant => "Older, and relevant enough to stay.".into(),
            Self::WorkingLevel => "In the working level.".into(),
            Self::Pending => "Your message answers this question.".into(),
            Self::IncludedOnce => "You included this in the next request.".into(),
            Self::FilesReverted => "You undid or redid a change of files; the model is told once.".into(),
            Self::Replied => "Your message replies to this.".into(),
            Self::GoOn => "Asks the model to continue the truncated answer.".into(),
            Self::Retrieved { rank } => format!("Found by the search for your message: rank {rank}."),
            Self::Searched { among } => {
                format!("Heading of the search results among {} older messages.", grouped(u64::from(*among)))
            }
            Self::Summary => "Represents older turns that are left out.".into(),
            Self::Memory { always: false } => "A memory that you confirmed; related to your message.".into(),
            Self::Memory { always: true } => "A preference that you confirmed; always included.".into(),
            Self::SuggestedByModel => "The model suggests a pin. Nothing changes until you decide.".into(),
            Self::SuggestedByRating => "You noted that the answer differed without this item.".into(),
            Self::SuggestedByRenewals { renewals } => earned_sentence(*renewals),
            Self::Budget { free: 0 } => "Does not fit the budget.".into(),
            Self::Budget { free: 1 } => "Does not fit the budget: 1 token was left for this item.".into(),
            Self::Budget { free } => {
                format!("Does not fit the budget: {} tokens were left for this item.", count(*free))
            }
            Self::Allowance { tokens } => {
                format!("Does not fit into the {} that the mode allows for retrieved items.", tokens_in_words(*tokens))
            }
            Self::OutsideWindow => "Older than the window of recent turns.".into(),
            Self::Superseded { turns, .. } => superseded_sentence(*turns),
            Self::SavesNothing => "The request would be larger with this summary than without it.".into(),
            Self::DisplacesTurn { turn } => {
                format!("With this summary, the request would lose turn {turn}, which the summary does not cover.")
            }
            Self::StaleSummary => "A turn in this summary changed, was left out, or is not on this branch.".into(),
            Self::UserExcluded { once: false } => "You left this out.".into(),
            Self::UserExcluded { once: true } => "You left this out of the next request.".into(),
            Self::TtlExpired => "Its lease ended.".into(),
            Self::LeaseCap { cap } => format!("All leases together exceed their limit of {}.", tokens_in_words(*cap)),
            Self::OffPath => "Inactive mark: the message is not on this branch.".into(),
            Self::Hidden => "Hidden in the imported file.".into(),
            Self::ForeignInstructions => "An imported system prompt; left out unless you include it.".into(),
            Self::ModelCannot => "The model does not accept this kind of content; one line of text replaces it.".into(),
            Self::Removed => "Deleted; only a placeholder remains.".into(),
            Self::Duplicate => "Another included item contains this text.".into(),
            Self::ModeOff => "The context mode is Off; no automatic search.".into(),
            Self::NotSearched { because } => format!("No search: {}.", because.sentence()),
            Self::BelowThreshold => "Other items match better.".into(),
            Self::Unrelated => "Matches too little of your message.".into(),
            Self::TooLarge => "Too large for the whole budget.".into(),
            Self::OtherLane => "Belongs to another lane.".into(),
            Self::OutsideLane => "In another lane; the window holds only the lane that you chose.".into(),
            Self::LaneCount { messages: 1 } => "Beyond the newest message of this lane.".into(),
            Self::LaneCount { messages } => format!("Beyond the newest {} messages of this lane.", count(*messages)),
            Self::SoftTarget { tokens } => {
                format!("Newer or more relevant turns fill the window's {}.", tokens_in_words(*tokens))
            }
            Self::WrittenByPerson => "You wrote this into the exact request.".into(),
            Self::RemovedByPerson => "You edited the exact request; the original was not sent.".into(),
            Self::LevelFull { budget } => {
                let hold = if *budget == 1 { "holds" } else { "hold" };
                let budget = tokens_in_words(*budget);
                format!("The working level's {budget} {hold} the newest turns and turns with higher scores.")
            }
            Self::SummaryLimit => "With this, the request would be larger than without the accepted summary.".into(),
            Self::SessionFull { budget } => {
                format!("No room in the session level: {} at most.", tokens_in_words(*budget))
            }
            Self::LevelsOver { percent } => {
                format!("Levels over {percent}% full; this scored lowest of the older items.")
            }
            Self::CodeMap => "A map of this trusted folder's code.".into(),
            Self::Touchpoint { rank, because } => touchpoint_sentence(*rank, because),
            Self::KeptCode { .. } => "Kept from the previous question: this message asks for nothing new.".into(),
            Self::CodeSearched { among } => {
                format!(
                    "Heading of the search results among {} symbols of this trusted folder.",
                    grouped(u64::from(*among))
                )
            }
            Self::NoCode { because } => format!("No code search: {}.", code_set::skip_reason(*because)),
            Self::StaleFile => "The file changed; this name is no longer in it.".into(),
            Self::CodeReading => "The folder's code is still being indexed.".into(),
            Self::ProjectRules { folder, changed, left } => {
                format!("Project rules for work in {folder}.{}", file_note(*changed, *left))
            }
            Self::OwnRules { changed, left } => {
                format!("Your own rules for all projects.{}", file_note(*changed, *left))
            }
            Self::Skills { count: 1 } => "The name of a skill; the text is sent when the model loads the skill.".into(),
            Self::Skills { count } => {
                format!("Names of {count} skills; the text of a skill is sent when the model loads the skill.")
            }
            Self::Module { by, staleness } => {
                format!("A module summary, by {by}; {staleness}. It may be wrong: check the files.")
            }
            Self::SwitchedOff => "Disabled in the settings, under [project].".into(),
        }
    }
}

/// A number of tokens with thousands separators.
pub(super) fn count(tokens: u32) -> String {
    grouped(tokens.into())
}

/// A number of tokens with the word: `1 token`, `1,200 tokens`.
fn tokens_in_words(tokens: u32) -> String {
    counted(tokens.into(), "token")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_or_message_is_singular() {
        let of = |n: u32| {
            [
                Reason::Budget { free: n },
                Reason::Allowance { tokens: n },
                Reason::LeaseCap { cap: n },
                Reason::SoftTarget { tokens: n },
                Reason::LevelFull { budget: n },
                Reason::SessionFull { budget: n },
                Reason::LaneCount { messages: n },
            ]
        };
        for (one, many) in of(1).iter().zip(of(1_200)) {
            let (one, many) = (one.sentence(), many.sentence());
            assert!(!one.contains("1 tokens") && !one.contains("messages"), "{one}");
            assert!(many.contains("1,200 tokens") || many.contains("1,200 messages"), "{many}");
        }
        assert_eq!(of(1)[6].sentence(), "Beyond the newest message of this lane.");
    }
}
