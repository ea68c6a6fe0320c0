//! What a plan warns of, and a call that cannot be planned with the ways out of it.
//! Not for: plans themselves (`plan`).

use super::facts::Task;
use super::plan::{Basis, Budget, Row};
use super::tuning::Milli;
use crate::domain::call::tokens::Encoding;
use crate::domain::conversation::mark::Atom;
use serde::{Deserialize, Serialize};

/// Something to know about a plan that stops nobody.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "warning", rename_all = "snake_case")]
pub enum Warning {
    /// The model's window is not known; a value was assumed.
    WindowAssumed {
        /// The value.
        tokens: u32,
    },
    /// Tool results were shortened to make room.
    ToolsShortened {
        /// How many.
        count: u32,
    },
    /// Marks sleep because their messages are not on the path.
    MarksAsleep {
        /// How many.
        count: u32,
    },
    /// Invisible characters are among what is sent.
    HiddenCharacters {
        /// How many.
        count: u32,
    },
    /// The last answer brought no state block; the old state is sent.
    StateMissing,
    /// The newest summary cannot go (a turn of it left the path, changed, or was taken out): an older one goes, or none.
    SummaryOlder {
        /// The last turn that the one which goes covers; none where none goes.
        to: Option<u32>,
    },
    /// A tool result was missing and is sent as `[cancelled]`.
    ResultsMade {
        /// How many.
        count: u32,
    },
    /// Nothing was looked up, because the person would not wait for it or did not want it.
    NotSearched,
    /// The moving window took another size than at the turn before.
    WindowAdjusted {
        /// Its target for the whole request.
        tokens: u32,
        /// How complex the last messages are, from 0 to 1.
        complexity: Milli,
        /// What the conversation is about.
        task: Task,
        /// What that multiplies the size by.
        times: Milli,
        /// It moves one step at a time and has not arrived.
        limited: bool,
    },
    /// A file that was read earlier in this conversation was changed since; the request holds what was read.
    FileChanged {
        /// Which.
        path: String,
    },
    /// Something in the focus is neither a file, a folder nor a symbol of the workspace.
    FocusUnknown {
        /// As it was written.
        name: String,
    },
    /// The model's `tokenizer.json` cannot be used; another vocabulary stands in.
    TokenizerUnused {
        /// Why.
        why: String,
        /// What counts in its place.
        instead: Encoding,
    },
    /// There are rules of the project, and none goes because the folder is not trusted.
    RulesUntrusted {
        /// How many files.
        count: u32,
    },
    /// A file with rules does not go because it cannot be read.
    RulesUnread {
        /// Its path.
        path: String,
        /// The rest of a sentence that begins with it.
        why: String,
    },
    /// A level holds more than its budget, and nothing of it may leave.
    LevelOver {
        /// Its name.
        level: String,
        /// Its tokens.
        used: u32,
        /// Its budget.
        budget: u32,
    },
    /// Levels are over their mark, and nothing in them is old enough to leave.
    LevelsCannotFit {
        /// Tokens over it.
        over: u32,
        /// The mark, in percent of all levels.
        percent: u32,
    },
}

impl Warning {
    /// The sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::WindowAssumed { tokens } => {
                format!("The model's context window is unknown; {tokens} tokens are assumed.")
            }
            Self::TokenizerUnused { why, instead } => {
                format!("Tokens are estimated with {}: {why}.", instead.title())
            }
            Self::ToolsShortened { count: 1 } => "1 tool result is shortened to make room.".into(),
            Self::ToolsShortened { count } => format!("{count} tool results are shortened to make room."),
            Self::MarksAsleep { count: 1 } => "1 mark inactive: its message is on another branch.".into(),
            Self::MarksAsleep { count } => {
                format!("{count} marks inactive: their messages are on another branch.")
            }
            Self::HiddenCharacters { count } => format!("The request contains {count} invisible characters."),
            Self::StateMissing => "The last answer had no state block; the previous state is sent.".into(),
            Self::SummaryOlder { to: Some(to) } => {
                format!("The newest summary does not apply here; an older one, up to turn {to}, is sent.")
            }
            Self::SummaryOlder { to: None } => {
                "The accepted summary does not apply here (one of its turns was deleted, edited or excluded), so \
                    it is not sent."
                    .into()
            }
            Self::RulesUntrusted { count: 1 } => {
                "A file with rules of the project is left out: this folder is not trusted.".into()
            }
            Self::RulesUntrusted { count } => {
                format!("{count} files with rules of the project are left out: this folder is not trusted.")
            }
            Self::RulesUnread { path, why } => format!("The rules in {path} are left out: the file {why}."),
            Self::FileChanged { path } => {
                format!("{path} changed after it was read; the request contains the earlier text.")
            }
            Self::FocusUnknown { name } => {
                format!("The code focus names {name}, but no file, folder or symbol has that name.")
            }
            Self::ResultsMade { count } => format!("{count} missing tool results are sent as [cancelled]."),
            Self::NotSearched => "Older messages are not searched for this call, as you chose.".into(),
            Self::WindowAdjusted { tokens, complexity, task, times, limited } => {
                let limit = if *limited { ", one step at a time" } else { "" };
                let task = task.name();
                format!(
                    "Adjusted context window to {tokens} tokens (complexity: {complexity}, {task} × {times}{limit})."
                )
            }
            Self::LevelOver { level, used, budget } => {
                format!("The {level} level holds {used} tokens, more than its budget of {budget}; turns get less room.")
            }
            Self::LevelsCannotFit { over, percent } => format!(
                "The levels are {over} tokens over {percent} %, and nothing more in them is old enough to remove."
            ),
        }
    }
}

/// A way out of [`Blocked`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum Choice {
    /// Raise the cap.
    LargerBudget {
        /// To at least this many tokens, the safety margin included.
        at_least: u32,
    },
    /// Ask a model with a larger window.
    OtherModel,
    /// Take these pins off, or lease them.
    Unpin {
        /// Which.
        atoms: Vec<Atom>,
        /// Tokens that frees.
        frees: u32,
    },
    /// Take a policy that shortens tool results (the present one does not).
    ShortenBodies {
        /// Tokens that frees.
        frees: u32,
    },
    /// Offer fewer tools.
    FewerTools {
        /// Tokens that frees.
        frees: u32,
    },
    /// Say it shorter, or in several messages.
    ShorterMessage {
        /// By so many tokens.
        by: u32,
    },
}

impl Choice {
    /// The sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::LargerBudget { at_least } => format!("raise the budget to {at_least} tokens or more"),
            Self::OtherModel => "choose a model with a larger context window".into(),
            Self::Unpin { atoms, frees } => format!("unpin {} (frees {frees} tokens, estimated)", atoms.len()),
            Self::ShortenBodies { frees } => {
                format!(
                    "switch to policy layered, which shortens tool results (frees up to {frees} tokens, \
                    estimated)"
                )
            }
            Self::FewerTools { frees } => format!("switch the tools off (frees {frees} tokens, estimated)"),
            Self::ShorterMessage { by } => format!("shorten the message by {by} tokens (estimated)"),
        }
    }
}

/// What must go does not fit. Nothing was cut and nothing was sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blocked {
    /// What it was solved from.
    pub basis: Basis,
    /// Tokens that what must go takes.
    pub needed: u32,
    /// The prompt budget.
    pub budget: Budget,
    /// Ways out.
    pub choices: Vec<Choice>,
    /// What must go.
    pub rows: Vec<Row>,
}

impl Blocked {
    /// The sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!(
            "This request needs at least {} tokens (estimated), but the prompt budget is {}; nothing was sent \
                and nothing was cut.",
            self.needed, self.budget.prompt
        )
    }
}
