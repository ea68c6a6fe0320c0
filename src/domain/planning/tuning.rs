//! The numbers of the policies: weights, thresholds, budgets. The defaults come from the policies' published sources.
//! Not for: applying them (`context`) or reading them (`config`).

use super::facts::Task;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A number in thousandths: written as `0.3` in a file, stored as 300, so that scores are the same on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, PartialOrd, Ord)]
pub struct Milli(pub i32);

impl Milli {
    /// The number 1.0.
    pub const ONE: Self = Self(1_000);

    /// Returns this share of `part`, a number of thousandths; rounded to nearest, halves away from zero.
    pub fn of(self, part: i32) -> i32 {
        let product = i64::from(self.0) * i64::from(part);
        let half = if product < 0 { -500 } else { 500 };
        i32::try_from((product + half) / 1_000).unwrap_or(if product < 0 { i32::MIN } else { i32::MAX })
    }

    /// Returns this share of a number of tokens, rounded down; 0 if the share is negative.
    pub fn share(self, tokens: u32) -> u32 {
        let thousandths = u64::try_from(self.0).unwrap_or(0);
        u32::try_from(u64::from(tokens) * thousandths / 1_000).unwrap_or(u32::MAX)
    }
}

impl fmt::Display for Milli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, digits) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        let rest = format!("{:03}", digits % 1_000);
        let rest = rest.trim_end_matches('0');
        write!(f, "{sign}{}.{}", digits / 1_000, if rest.is_empty() { "0" } else { rest })
    }
}

impl Serialize for Milli {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 1_000.0)
    }
}

impl<'de> Deserialize<'de> for Milli {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer).ok().filter(|number| (-1_000.0..=1_000.0).contains(number));
        let number = number.ok_or_else(|| D::Error::custom("must be a number from -1000 to 1000"))?;
        #[allow(clippy::cast_possible_truncation, reason = "it was just checked to be small")]
        Ok(Self((number * 1_000.0).round() as i32))
    }
}

/// How a policy chooses the turns in the window, before hard rules and marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnSelection {
    /// The newest turns that fit.
    #[default]
    Recent,
    /// The newest turns of the current lane.
    Lane,
    /// The newest turns, then the most relevant older ones, up to an adaptive soft target.
    Relevance,
    /// Turns by priority levels with budgets; the lowest score is removed first.
    Levels,
}

/// Numbers of the policy by lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lanes {
    /// Number of the lane's messages in the window, which begins with a whole turn. When more messages have no summary,
    /// one is due.
    pub messages: u32,
    /// Number of tokens without a summary above which a summary is due.
    pub tokens: u32,
    /// Hours after the last summary until a new one is due; 0 means never.
    pub hours: u32,
    /// Number of the newest messages that are never summarized.
    pub keep: u32,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { messages: 30, tokens: 2_500, hours: 24, keep: 10 }
    }
}

/// The weights of relevance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Relevance {
    /// Half-life of recency in hours.
    pub half_life_hours: u32,
    /// Whether `half_life_hours` is a time constant instead: the time in which recency falls to 1/e (`exp(-h/24)`).
    pub time_constant: bool,
    /// Weight of recency.
    pub recency: Milli,
    /// Weight of the similarity to the question.
    pub similarity: Milli,
    /// Weight of a pinned turn (displayed only, since pins never compete).
    pub starred: Milli,
    /// Weight of a message that reports an error.
    pub error: Milli,
    /// Weight of a message with code.
    pub code: Milli,
    /// Weight of a question.
    pub question: Milli,
    /// Weight of a solution.
    pub solution: Milli,
    /// Weight of a user message.
    pub from_user: Milli,
    /// Weight of an assistant message.
    pub from_assistant: Milli,
    /// Weight of a tool result that reports an error.
    pub from_error: Milli,
    /// Weight of any other tool result.
    pub from_file: Milli,
    /// Weight of instructions.
    pub from_system: Milli,
}

impl Default for Relevance {
    fn default() -> Self {
        Self {
            half_life_hours: 24,
            time_constant: false,
            recency: Milli(300),
            similarity: Milli(400),
            starred: Milli(800),
            error: Milli(600),
            code: Milli(400),
            question: Milli(500),
            solution: Milli(700),
            from_user: Milli(300),
            from_assistant: Milli(200),
            from_error: Milli(400),
            from_file: Milli(100),
            from_system: Milli(100),
        }
    }
}

/// The adaptive size of the window.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Adaptive {
    /// Base size in tokens of the whole request.
    pub base: u32,
    /// Minimum target, as a share of the base.
    pub lowest: Milli,
    /// Maximum target, as a share of the base.
    pub highest: Milli,
    /// Maximum change per turn, as a share of the base.
    pub step: Milli,
    /// The target is base × task × (`flat` + `slope` × complexity).
    pub flat: Milli,
    /// See `flat`.
    pub slope: Milli,
    /// Number of the newest messages over which complexity is measured.
    pub items: u32,
    /// Number of indicators per message that counts as full complexity.
    pub full_marks: u32,
    /// Characters above which a message is long.
    pub long_characters: u32,
    /// Maximum messages of the newest turns; the target alone limits the turns that relevance decides about.
    pub messages: u32,
    /// Share of the target that the newest turns fill before relevance decides.
    pub recent_share: Milli,
    /// Words that report an error, matched as whole words.
    pub error_words: Vec<String>,
    /// Technical words, matched as whole words.
    pub technical_words: Vec<String>,
    /// Multipliers by task.
    pub tasks: Tasks,
}

impl Default for Adaptive {
    fn default() -> Self {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        Self {
            base: 8_000,
            lowest: Milli(500),
            highest: Milli(4_000),
            step: Milli(250),
            flat: Milli(500),
            slope: Milli(2_500),
            items: 10,
            full_marks: 2,
            long_characters: 500,
            messages: 100,
            recent_share: Milli(500),
            error_words: words(&["error", "exception", "traceback", "failed"]),
            technical_words: words(&["algorithm", "implementation", "architecture", "database", "api"]),
            tasks: Tasks::default(),
        }
    }
}

/// Multipliers of the window's size by task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tasks {
    /// No particular kind of work.
    pub general: Milli,
    /// Writing code.
    pub coding: Milli,
    /// Fixing bugs.
    pub debugging: Milli,
    /// Looking up something.
    pub research: Milli,
    /// Weighing alternatives.
    pub complex_analysis: Milli,
}

impl Tasks {
    /// Returns the multiplier of a task.
    pub fn of(&self, task: Task) -> Milli {
        match task {
            Task::General => self.general,
            Task::Coding => self.coding,
            Task::Debugging => self.debugging,
            Task::Research => self.research,
            Task::ComplexAnalysis => self.complex_analysis,
        }
    }
}

impl Default for Tasks {
    fn default() -> Self {
        Self {
            general: Milli(1_000),
            coding: Milli(1_500),
            debugging: Milli(2_000),
            research: Milli(1_300),
            complex_analysis: Milli(2_500),
        }
    }
}

/// Numbers of the policy by levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Levels {
    /// Tokens of all levels together. The volatile level gets the tokens that the other levels leave.
    pub total: u32,
    /// Level 1: instructions and permanent pins.
    pub permanent: u32,
    /// Level 2: summaries and leases.
    pub session: u32,
    /// Level 3: the text of recent turns.
    pub working: u32,
    /// Share of the working level for the newest turns, which are removed last.
    pub recent_share: Milli,
    /// Percentage of the total above which items are removed from levels: tool results first, then working turns.
    pub trigger_percent: u32,
    /// Minimum age in seconds of turns that are removed from the working level; 0 uses `default_seconds`.
    pub working_seconds: u32,
    /// The same for summaries in the session level.
    pub session_seconds: u32,
    /// Minimum age in seconds for levels without their own minimum.
    pub default_seconds: u32,
    /// Whether age alone shortens turns, even below the trigger.
    pub eager: bool,
    /// Weight of 1 / (1 + minutes).
    pub recency: Milli,
    /// Weight of later mentions / all mentions.
    pub references: Milli,
    /// Weight of the similarity to the question.
    pub task: Milli,
    /// Weight of being pinned.
    pub explicit: Milli,
    /// Added for a turn of the running task.
    pub running: Milli,
    /// Added for a turn of a finished task; if negative, such a turn is removed sooner.
    pub done: Milli,
}

impl Default for Levels {
    fn default() -> Self {
        Self {
            total: 16_000,
            permanent: 2_000,
            session: 4_000,
            working: 8_000,
            recent_share: Milli(500),
            trigger_percent: 80,
            working_seconds: 300,
            session_seconds: 1_800,
            default_seconds: 600,
            eager: false,
            recency: Milli(300),
            references: Milli(200),
            task: Milli(400),
            explicit: Milli(100),
            running: Milli(200),
            done: Milli(-200),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousandths_parse_and_display() {
        #[derive(Deserialize)]
        struct One {
            x: Milli,
        }
        let read = |text: &str| toml::from_str::<One>(text).map(|one| one.x);
        assert_eq!(read("x = 0.3").unwrap(), Milli(300));
        assert_eq!(read("x = 2").unwrap(), Milli(2_000));
        assert_eq!(read("x = -0.1255").unwrap(), Milli(-126));
        assert!(read("x = nan").is_err() && read("x = 1001").is_err() && read("x = \"1\"").is_err());
        assert!(read("x = \"1\"").unwrap_err().message().contains("a number from -1000 to 1000"));
        let shown: Vec<String> = [300, 0, -1_250, 2_000].map(|n| Milli(n).to_string()).into();
        assert_eq!(shown, ["0.3", "0.0", "-1.25", "2.0"]);
        assert_eq!(serde_json::to_string(&Milli(300)).unwrap(), "0.3");
    }

    #[test]
    fn shares_are_rounded() {
        assert_eq!((Milli(300).of(500), Milli(300).of(5), Milli(300).of(-5)), (150, 2, -2));
        assert_eq!((Milli(250).share(8_000), Milli(-1).share(8)), (2_000, 0));
        assert_eq!(Milli(i32::MAX).of(i32::MAX), i32::MAX);
    }
}
