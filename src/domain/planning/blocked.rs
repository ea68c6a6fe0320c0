//! Warnings about plans, and calls that do not fit, with their remedies.
//! Not for: plans (`plan`).

use super::facts::Task;
use super::plan::{Basis, Budget, Row};
use super::reason::count;
use super::tuning::Milli;
use crate::domain::call::tokens::{Encoding, counted};
use crate::domain::code::symbols::is_zero;
use crate::domain::conversation::mark::Atom;
use serde::{Deserialize, Serialize};

/// Says that the message of a call that failed before the server answered is in the composer.
pub const RETURNED: &str = "Your message is back in the composer.";

/// How many characters of a title a warning names.
const TITLE_CHARS: usize = 60;

/// The title, or its first words and an ellipsis.
fn start_of(title: &str) -> String {
    let title = title.trim();
    let Some((end, _)) = title.char_indices().nth(TITLE_CHARS) else { return title.to_owned() };
    let start = &title[..end];
    let words = start.rsplit_once(' ').map_or(start, |(words, _)| words);
    format!("{words}…")
}

/// `1 token`, `1,200 tokens`.
fn in_tokens(n: u32) -> String {
    counted(n.into(), "token")
}

fn hidden(n: u32) -> String {
    format!("The request contains {}.", counted(n.into(), "invisible character"))
}

/// The sentence about inactive marks. `replaced` of them are on messages that have another version on the branch.
fn inactive(count: u32, replaced: u32) -> String {
    match (count, count == replaced) {
        (1, true) => "1 mark inactive: this branch has another version of its message.".into(),
        (_, true) => format!("{count} marks inactive: this branch has other versions of their messages."),
        (1, false) => "1 mark inactive: its message is not on this branch.".into(),
        (_, false) => format!("{count} marks inactive: their messages are not on this branch."),
    }
}

/// A warning of a plan. A plan with warnings can be sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "warning", rename_all = "snake_case")]
pub enum Warning {
    /// The model's window is unknown, and a value was assumed.
    WindowAssumed { tokens: u32 },
    /// Tool results were shortened to make room.
    ToolsShortened {
        /// Number of them.
        count: u32,
    },
    /// Marks are inactive because their messages are not on the path.
    #[serde(rename = "marks_asleep")]
    MarksInactive {
        /// Number of them.
        count: u32,
        /// Number of those whose messages have another version on the path.
        #[serde(default, skip_serializing_if = "is_zero")]
        replaced: u32,
    },
    /// An item that the person leased or included is left out.
    DecisionLeftOut {
        /// The item's title.
        title: String,
        tokens: u32,
        /// Why it is left out, as a sentence.
        why: String,
    },
    /// The request contains invisible characters.
    HiddenCharacters {
        /// Number of them.
        count: u32,
    },
    /// The last answer had no state block, so the old state is sent.
    StateMissing,
    /// The newest summary cannot be sent (one of its turns left the path, changed, or was excluded), so an older
    /// summary or none is sent.
    SummaryOlder {
        /// The last turn covered by the summary that is sent; `None` if none is.
        to: Option<u32>,
    },
    /// A tool result was missing and is sent as `[cancelled]`.
    ResultsMade {
        /// Number of them.
        count: u32,
    },
    /// Nothing was retrieved, because the person did not wait for the search or turned it off.
    NotSearched,
    /// The adaptive window changed its size since the previous turn.
    WindowAdjusted {
        /// The target for the whole request, in tokens.
        tokens: u32,
        /// The complexity of the last messages, from 0 to 1.
        complexity: Milli,
        /// The kind of work that the conversation is about.
        task: Task,
        /// The task's multiplier of the size.
        times: Milli,
        /// Whether the limit on the change per turn keeps the window from its target.
        limited: bool,
    },
    /// A file that was read earlier in this conversation has changed since; the request contains the old text.
    FileChanged { path: String },
    /// A name in the focus is not a file, folder, or symbol of the workspace.
    FocusUnknown { name: String },
    /// The model's `tokenizer.json` cannot be used, so another vocabulary replaces it.
    TokenizerUnused {
        /// Why the `tokenizer.json` cannot be used.
        why: String,
        /// The replacement.
        instead: Encoding,
    },
    /// The project has rules, and none is sent because the folder is not trusted.
    RulesUntrusted {
        /// Number of files.
        count: u32,
    },
    /// A rule file cannot be read and is not sent.
    RulesUnread {
        path: String,
        /// The rest of a sentence that begins with the path.
        why: String,
    },
    /// A level exceeds its budget, and nothing in it may be removed.
    LevelOver {
        /// The name.
        level: String,
        /// The tokens.
        used: u32,
        budget: u32,
    },
    /// The levels exceed their trigger, and nothing in them is old enough to be removed.
    LevelsCannotFit {
        /// Tokens beyond the trigger.
        over: u32,
        /// The trigger, in percent of all levels.
        percent: u32,
    },
}

impl Warning {
    /// Returns whether the warning is about a person's decision that the plan does not follow.
    pub fn is_about_decision(&self) -> bool {
        matches!(self, Self::DecisionLeftOut { .. })
    }

    /// Returns the warning as a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::WindowAssumed { tokens } => {
                format!("The model's context window is unknown; {} are assumed.", in_tokens(*tokens))
            }
            Self::TokenizerUnused { why, instead } => {
                format!("Tokens are estimated with {}: {why}.", instead.title())
            }
            Self::ToolsShortened { count: 1 } => "1 tool result is shortened to make room.".into(),
            Self::ToolsShortened { count } => format!("{count} tool results are shortened to make room."),
            Self::MarksInactive { count, replaced } => inactive(*count, *replaced),
            Self::DecisionLeftOut { title, tokens, why } => {
                let (title, tokens) = (start_of(title), in_tokens(*tokens));
                format!("Left out although you marked it: {title} ({tokens}). {why}")
            }
            Self::HiddenCharacters { count } => hidden(*count),
            Self::StateMissing => "The last answer had no state block; the previous state block is sent.".into(),
            Self::SummaryOlder { to: Some(to) } => {
                format!("The newest summary does not apply here; an older one, up to turn {to}, is sent.")
            }
            Self::SummaryOlder { to: None } => {
                "The accepted summary does not apply here (one of its turns was deleted, edited, or excluded), so \
                    it is not sent."
                    .into()
            }
            Self::RulesUntrusted { count: 1 } => "1 project rules file is left out: this folder is not trusted.".into(),
            Self::RulesUntrusted { count } => {
                format!("{count} project rules files are left out: this folder is not trusted.")
            }
            Self::RulesUnread { path, why } => format!("The rules in {path} are left out: the file {why}."),
            Self::FileChanged { path } => {
                format!("{path} changed after it was read; the request contains the earlier text.")
            }
            Self::FocusUnknown { name } => {
                format!("The code focus names {name}, but no file, folder, or symbol has that name.")
            }
            Self::ResultsMade { count: 1 } => "1 missing tool result is sent as canceled.".into(),
            Self::ResultsMade { count } => format!("{count} missing tool results are sent as canceled."),
            Self::NotSearched => "Older messages are not searched for this call, as you chose.".into(),
            Self::WindowAdjusted { tokens, complexity, task, times, limited } => {
                let limit = if *limited { ", at most one step per turn" } else { "" };
                let task = task.name();
                format!(
                    "Adjusted context window to {} (complexity: {complexity}, {task} × {times}{limit}).",
                    in_tokens(*tokens)
                )
            }
            Self::LevelOver { level, used, budget } => {
                let (used, budget) = (in_tokens(*used), count(*budget));
                format!("The {level} level holds {used}, more than its budget of {budget}; turns get less room.")
            }
            Self::LevelsCannotFit { over, percent } => {
                let over = in_tokens(*over);
                format!(
                    "The levels exceed {percent}% of their total by {over}; no other item is old enough to \
                        remove."
                )
            }
        }
    }
}

/// Maximum number of marked items that a remedy names.
const NAMED: usize = 3;

/// A remedy for [`Blocked`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum BlockedRemedy {
    /// Raise the cap.
    LargerBudget {
        /// At least this many tokens. The safety margin is part of a budget.
        at_least: u32,
    },
    /// Use a model with a larger window.
    OtherModel,
    /// Unpin these items, or lease them.
    Unpin {
        /// The items.
        atoms: Vec<Atom>,
        /// Tokens freed.
        frees: u32,
        /// For each item, the act that undoes its mark: `unpin turn 1 "title"`. Empty in reports of earlier versions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        acts: Vec<String>,
    },
    /// Use a policy that shortens tool results (the current one does not).
    ShortenBodies {
        /// Tokens freed.
        frees: u32,
    },
    /// Offer fewer tools.
    FewerTools {
        /// Tokens freed.
        frees: u32,
    },
    /// Shorten the message, or split it.
    ShorterMessage {
        /// By this many tokens.
        by: u32,
    },
}

impl BlockedRemedy {
    /// Returns the remedy that makes room for `needed` tokens: a larger budget if the model has that room.
    pub fn more_room(budget: &Budget, needed: u32) -> Self {
        let larger = budget.cap_for(needed).filter(|_| budget.is_capped());
        larger.map_or(Self::OtherModel, |at_least| Self::LargerBudget { at_least })
    }

    /// Returns the remedy as a clause.
    pub fn sentence(&self) -> String {
        match self {
            Self::LargerBudget { at_least } => {
                format!("raise the budget to {} or more", in_tokens(*at_least))
            }
            Self::OtherModel => "choose a model with a larger context window".into(),
            Self::Unpin { atoms, frees, acts } => {
                let named = acts.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
                let frees = format!("frees {}, estimated", in_tokens(*frees));
                if atoms.len() > NAMED {
                    let marks = counted(atoms.len() as u64, "mark");
                    let more = atoms.len() - acts.len().min(NAMED);
                    format!("remove {marks} ({frees}): {named}, and {more} more")
                } else {
                    format!("{named} ({frees})")
                }
            }
            Self::ShortenBodies { frees } => {
                let frees = in_tokens(*frees);
                format!("switch to policy layered, which shortens tool results (frees up to {frees}, estimated)")
            }
            Self::FewerTools { frees } => format!("disable the tools (frees {}, estimated)", in_tokens(*frees)),
            Self::ShorterMessage { by } => format!("shorten the message by {} (estimated)", in_tokens(*by)),
        }
    }
}

/// What a failed send left unchanged. A command replaces the words about the draft.
pub const UNSENT: &str = "Nothing was sent and nothing was cut; your draft is kept.";

/// A call whose required items do not fit the budget. Nothing was shortened or sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blocked {
    /// The basis of the planning.
    pub basis: Basis,
    /// Tokens of the required items.
    pub needed: u32,
    pub budget: Budget,
    pub choices: Vec<BlockedRemedy>,
    /// The required items.
    pub rows: Vec<Row>,
    /// The items that no request has room for while the required ones exceed the budget, newest first. For display.
    #[serde(skip)]
    pub left_out: Vec<Row>,
}

impl Blocked {
    /// Returns the tokens of the tool definitions.
    pub fn tools(&self) -> u32 {
        let frees = |choice: &BlockedRemedy| match choice {
            BlockedRemedy::FewerTools { frees } => Some(*frees),
            BlockedRemedy::LargerBudget { .. }
            | BlockedRemedy::OtherModel
            | BlockedRemedy::Unpin { .. }
            | BlockedRemedy::ShortenBodies { .. }
            | BlockedRemedy::ShorterMessage { .. } => None,
        };
        self.choices.iter().find_map(frees).unwrap_or(0)
    }

    /// Returns the tokens of the message overhead: what is needed beside the required rows and the tool definitions.
    pub fn framing(&self) -> u32 {
        let rows = self.rows.iter().filter(|row| row.included()).map(|row| row.tokens);
        rows.fold(self.needed.saturating_sub(self.tools()), u32::saturating_sub)
    }

    /// Returns the problem of a planned request as a sentence.
    pub fn sentence(&self) -> String {
        format!("The next request does not fit: it {}.", self.needs())
    }

    /// Returns the problem of a request that was to be sent as a sentence.
    pub fn send_failure(&self) -> String {
        format!("This request {}.", self.needs())
    }

    fn needs(&self) -> String {
        format!("needs at least {} (estimated), but {}", in_tokens(self.needed), self.budget.limit_in_words())
    }

    /// Returns the remedies as a sentence.
    pub fn remedies(&self) -> String {
        let all: Vec<String> = self.choices.iter().map(BlockedRemedy::sentence).collect();
        format!("You can: {}.", all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;

    #[test]
    fn a_long_title_ends_with_an_ellipsis() {
        let left_out = |title: &str| {
            let why = "It is over the budget.".into();
            Warning::DecisionLeftOut { title: title.into(), tokens: 7, why }.sentence()
        };
        let whole = "Left out although you marked it: A short title (7 tokens). It is over the budget.";
        assert_eq!(left_out("A short title"), whole);
        let long = left_out("Since Thursday some users are thrown out right after they log in. The log says t");
        assert!(long.contains(": Since Thursday some users are thrown out right after they… (7 tokens)"), "{long}");
    }

    #[test]
    fn a_remedy_says_how_many_marks_it_does_not_name() {
        let unpin = |n: u8| {
            let atoms = (0..n).map(|at| Atom::Message { node: Hash::of(&[at]) }).collect();
            let acts = (1..=n).map(|at| format!("unpin turn {at}")).collect();
            BlockedRemedy::Unpin { atoms, frees: 70, acts }.sentence()
        };
        assert_eq!(unpin(2), "unpin turn 1, unpin turn 2 (frees 70 tokens, estimated)");
        let seven = "remove 7 marks (frees 70 tokens, estimated): unpin turn 1, unpin turn 2, unpin turn 3, and 4 more";
        assert_eq!(unpin(7), seven);
    }
}
