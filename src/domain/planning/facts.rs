//! Facts about turns beside their tokens, frozen into a plan's input: lane, age, flags, mentions.
//! Not for: collecting them (`engine`) or weighting them (`context`).

use super::plan::Scores;
use crate::domain::conversation::message::Role;
use serde::{Deserialize, Serialize};

/// A property of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// It reports an error.
    Error,
    /// It contains a code block.
    Code,
    /// It asks something.
    Question,
    /// It says that something was solved.
    Solution,
    /// It is long.
    Long,
    /// It uses technical words.
    Technical,
}

/// What a conversation is about, as recognized from its user's words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Nothing in particular.
    #[default]
    General,
    /// Writing code.
    Coding,
    /// Finding and fixing a fault.
    Debugging,
    /// Looking something up or learning it.
    Research,
    /// Weighing alternatives.
    ComplexAnalysis,
}

impl Task {
    /// Its name, in files and on the screen.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Coding => "coding",
            Self::Debugging => "debugging",
            Self::Research => "research",
            Self::ComplexAnalysis => "complex_analysis",
        }
    }
}

/// A turn's relation to a person's tasks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskRelation {
    /// In no task.
    #[default]
    None,
    /// In the running task.
    Running,
    /// In a finished task.
    Done,
}

/// Facts about one message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MessageFacts {
    /// Who wrote it.
    pub role: Role,
    /// Seconds between it and the path's head.
    pub age: u64,
    /// Its flags, without duplicates, in the order of [`Flag`].
    pub flags: Vec<Flag>,
}

/// Facts about one turn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnFacts {
    /// Its lane as stored ([`crate::domain::conversation::lane::Lane`]); for the open turn, the branch's present lane.
    pub lane: String,
    /// Seconds between its last message and the path's head; never computed from the clock.
    pub age: u64,
    /// What the conversation was about after it.
    pub task: Task,
    /// Its sent messages, in order; empty under policies that do not need them.
    pub messages: Vec<MessageFacts>,
    /// How many later turns mention its names and terms, and how many turns in all.
    pub mentions: (u32, u32),
    /// Its similarity to the open turn in thousandths; vectors may make it negative. `None` if not computed.
    pub similarity: Option<i32>,
    /// Its own priority, from 0 to 100.
    pub priority: u8,
    /// Its relation to the branch's tasks.
    pub part: TaskRelation,
    /// Its activation, if the program pinned it.
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
