//! Facts about turns other than their token counts, frozen into a plan's input: lane, age, flags, mentions.
//! Not for: collecting them (`engine`) or weighting them (`context`).

use super::plan::Scores;
use crate::domain::base::named_enum::named_enum;
use crate::domain::conversation::message::Role;
use serde::{Deserialize, Serialize};

/// A property of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// The message reports an error.
    Error,
    /// The message contains a code block.
    Code,
    /// The message asks a question.
    Question,
    /// The message says that something was solved.
    Solution,
    /// The message is long.
    Long,
    /// The message uses technical words.
    Technical,
}

named_enum! {
    /// The kind of work that a conversation is about, recognized from the user's words.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
    pub enum Task {
        /// No particular kind.
        #[default]
        General = "general",
        /// Writing code.
        Coding = "coding",
        /// Finding and fixing a bug.
        Debugging = "debugging",
        /// Looking up or learning something.
        Research = "research",
        /// Weighing alternatives.
        ComplexAnalysis = "complex_analysis",
    }
}

/// A turn's relation to a person's tasks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskRelation {
    /// The turn is in no task.
    #[default]
    None,
    /// The turn is in the running task.
    Running,
    /// The turn is in a finished task.
    Done,
}

/// Facts about one message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MessageFacts {
    /// Who wrote it.
    pub role: Role,
    /// Seconds between the message and the path's head.
    pub age: u64,
    /// The flags, without duplicates, in the order of [`Flag`].
    pub flags: Vec<Flag>,
}

/// Facts about one turn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnFacts {
    /// The lane as stored ([`crate::domain::conversation::lane::Lane`]); for the open turn, the branch's current lane.
    pub lane: String,
    /// Seconds between the turn's last message and the path's head. Never computed from the clock.
    pub age: u64,
    /// The kind of work that the conversation was about after the turn.
    pub task: Task,
    /// The sent messages, in order; empty if the policy does not use them.
    pub messages: Vec<MessageFacts>,
    /// The number of later turns that mention the turn's names and terms, and the number of all turns.
    pub mentions: (u32, u32),
    /// The similarity to the open turn in thousandths; vectors may make it negative. `None` if not computed.
    pub similarity: Option<i32>,
    /// The turn's own priority, from 0 to 100.
    pub priority: u8,
    /// The relation to the branch's tasks.
    pub part: TaskRelation,
    /// The activation, if the program pinned the turn.
    #[serde(skip_serializing_if = "Scores::is_empty")]
    pub alive: Scores,
}

impl Default for TurnFacts {
    fn default() -> Self {
        Self {
            lane: String::new(),
            age: 0,
            task: Task::default(),
            messages: Vec::new(),
            mentions: (0, 0),
            similarity: None,
            priority: 50,
            part: TaskRelation::None,
            alive: Scores::default(),
        }
    }
}
