//! What policies know of a turn beside its tokens, frozen into a plan's input: lane, age, flags, mentions.
//! Not for: finding these out (`engine`) or weighing them (`context`).

use super::plan::Scores;
use crate::domain::conversation::message::Role;
use serde::{Deserialize, Serialize};

/// Something that a message holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// It tells of an error.
    Error,
    /// It holds a block of code.
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

/// What a conversation is about at a moment, as far as its user's words tell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Nothing in particular.
    #[default]
    General,
    /// Writing code.
    Coding,
    /// Finding and mending a fault.
    Debugging,
    /// Looking something up or learning it.
    Research,
    /// Weighing things against each other.
    ComplexAnalysis,
}

impl Task {
    /// Its word, in files and on the screen.
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

/// Where a turn stands among the tasks that a person named.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// In none.
    #[default]
    None,
    /// In the one that is running.
    Running,
    /// In one that is done.
    Done,
}

/// What is known of one message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MessageFacts {
    /// Who speaks.
    pub role: Role,
    /// Seconds between it and the path's head.
    pub age: u64,
    /// What it holds, each once, in the order of [`Flag`].
    pub flags: Vec<Flag>,
}

/// What is known of one turn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnFacts {
    /// Its lane as stored ([`crate::domain::conversation::lane::Lane`]); for the open turn the branch's current one.
    pub lane: String,
    /// Seconds between its last message and the path's head; never from the clock.
    pub age: u64,
    /// What the conversation was about after it.
    pub task: Task,
    /// Its messages that are sent, in order; empty under policies that do not ask.
    pub messages: Vec<MessageFacts>,
    /// How often its names and terms come in later turns, and in all.
    pub mentions: (u32, u32),
    /// How alike it and the open turn are, in thousandths; may be negative where vectors say so. None where nobody asked.
    pub similarity: Option<i32>,
    /// Its own priority, from 0 to 100.
    pub priority: u8,
    /// Where it stands among the branch's tasks.
    pub part: Part,
    /// Its activation, where the program pinned it.
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
            part: Part::None,
            alive: Scores::default(),
        }
    }
}
