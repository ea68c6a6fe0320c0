//! Why an item is in a plan or out of it, in one sentence each, and what would bring it in.
//! Not for: finding the reason (`context`).

pub use super::decided_by::DecidedBy;
use crate::domain::base::hash::Hash;
use crate::domain::call::retrieval_set::SkipWhy;
use crate::domain::call::tokens::grouped;
use serde::{Deserialize, Serialize};

/// Why an item is in or out. Each has one English sentence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Reason {
    /// In: the program's instructions.
    Instructions,
    /// In: the person's own text from configuration or branch.
    Configured,
    /// In: guidelines for reading history.
    Guideline,
    /// In: asks the model to keep a state block.
    StateRequested {
        /// Because turns of the conversation are left out.
        older: bool,
    },
    /// In: the newest state on this path.
    CurrentState,
    /// In: the message now asked, or the turn that is open.
    Open,
    /// In: pinned by the person.
    Sticky,
    /// In: leased.
    Leased {
        /// Turns left.
        left: u32,
        /// By the program itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        engine: bool,
    },
    /// In: the program keeps it for one call, because it was just spoken of.
    Ephemeral,
    /// In, brought back: an error like the one just met.
    ErrorBefore,
    /// In, brought back: what was said once the same tool worked after that error.
    ErrorResolved,
    /// In: within the window.
    Recent,
    /// In: older, and relevant enough.
    Relevant,
    /// In: in the working level.
    WorkingLevel,
    /// In: the message answers a question that waited for it.
    Pending,
    /// In: the person asked for it for this call.
    IncludedOnce,
    /// In: replied to.
    Replied,
    /// In: asks the model to go on where its answer was cut.
    GoOn,
    /// In, brought back: an older message that fits what is asked.
    Retrieved {
        /// Its place among what was found, from 1.
        rank: u32,
    },
    /// In: the map of a trusted folder's code.
    Oriented,
    /// In, brought from the workspace's code: it fits what is asked.
    Touchpoint {
        /// Its place among what was found, from 1.
        rank: u32,
        /// Why, in words.
        because: String,
    },
    /// In: the heading over what was found in code.
    CodeSearched {
        /// Symbols that were looked through.
        among: u32,
    },
    /// Out: the message does not speak of code.
    NoCode {
        /// Why.
        because: SkipWhy,
    },
    /// Out: its file was changed since, and it is no longer there.
    StaleFile,
    /// Out: the code is being read.
    CodeReading,
    /// In: the heading over what was found.
    Searched {
        /// How many older messages were looked through.
        among: u32,
    },
    /// In: sums up turns that do not go themselves.
    Summary,
    /// In: a memory that a person confirmed.
    Memory {
        /// A short preference that goes whatever is asked.
        standing: bool,
    },
    /// In: rules of the project.
    ProjectRules {
        /// The folder whose work they are for.
        folder: String,
        /// Another text of them went with the last call.
        changed: bool,
        /// Bytes of the file that do not go, since it is too large.
        left: u64,
    },
    /// In: rules of the person's own, for all projects.
    OwnRules {
        /// Another text of them went with the last call.
        changed: bool,
        /// Bytes of the file that do not go, since it is too large.
        left: u64,
    },
    /// In: names of the skills that can be loaded.
    Skills {
        /// How many.
        count: u32,
    },
    /// In: a summary of a part of the program.
    Module {
        /// Who wrote it.
        by: String,
        /// How it stands to its files.
        stands: String,
    },
    /// Out: switched off in the settings.
    SwitchedOff,
    /// Suggested: the model named it to be pinned.
    PinSuggested,
    /// Suggested: a person saw that an answer was another without it.
    PinMattered,
    /// Suggested: the program's lease on it was renewed again and again.
    PinEarned {
        /// How often.
        renewals: u32,
    },
    /// Out: no room.
    Budget {
        /// Tokens that were free for it.
        free: u32,
    },
    /// Out: what fits better took the tokens that the mode lets what is looked up take.
    Allowance {
        /// Those tokens.
        tokens: u32,
    },
    /// Out: before the window's start.
    OutsideWindow,
    /// Out: a summary goes in its place.
    Superseded {
        /// The capsule.
        by: Hash,
    },
    /// Out: a summary with which the request would be larger than without it.
    SavesNothing,
    /// Out: a summary of turns that have changed, were left out, or are on another branch.
    StaleSummary,
    /// Out: the person took it out.
    UserExcluded {
        /// For this call only.
        once: bool,
    },
    /// Out: its lease ended.
    TtlExpired,
    /// Out: the leases together are over their cap.
    LeaseCap {
        /// The cap in tokens.
        cap: u32,
    },
    /// Out: not on this branch's path.
    OffPath,
    /// Out: hidden where it was imported from.
    Hidden,
    /// Out: instructions that came with an import.
    ForeignInstructions,
    /// Out: the model cannot take it.
    ModelCannot,
    /// Out: removed.
    Removed,
    /// Out: another row already says it.
    Duplicate,
    /// Out: the mode gathers nothing by itself.
    ModeOff,
    /// Out: nothing was looked up for this message.
    NotSearched {
        /// Why not.
        because: SkipWhy,
    },
    /// Out: others fit what is asked better.
    BelowThreshold,
    /// It says too little of what is asked to be sent, whatever room there is.
    Unrelated,
    /// Out: bigger than the whole budget.
    TooLarge,
    /// Out: of another lane.
    OtherLane,
    /// Out: beyond the newest messages of its lane.
    LaneCount {
        /// How many those are.
        messages: u32,
    },
    /// Out: others are more relevant, up to the window's target.
    SoftTarget {
        /// The target in tokens.
        tokens: u32,
    },
    /// Out: the working level is full of turns that score higher.
    LevelFull {
        /// Its tokens.
        budget: u32,
    },
    /// Out: the session level has no room for it.
    SessionFull {
        /// What that level gives it and its like.
        budget: u32,
    },
    /// Out: the levels together were too full, and it scored lowest of what was old enough.
    LevelsOver {
        /// The percentage above which they are emptied.
        percent: u32,
    },
    /// In: a message of the exact request that a person edited.
    ByHand,
    /// Out: a person edited the exact request.
    EditedAway,
}

#[warn(clippy::wildcard_enum_match_arm, reason = "a new reason must not compile without its sentence and its name")]
impl Reason {
    /// The sentence.
    #[must_use]
    #[allow(clippy::too_many_lines, reason = "one arm for each reason")]
    pub fn sentence(&self) -> String {
        match self {
            Self::Instructions => "Instructions, sent with every request.".into(),
            Self::Configured => "You configured this text.".into(),
            Self::Guideline => "Tells the model how to read the history.".into(),
            Self::StateRequested { older: false } => "Asks the model to keep a state block, as configured.".into(),
            Self::StateRequested { older: true } => {
                "Asks the model to keep a state block: this branch has one, or turns are left out.".into()
            }
            Self::CurrentState => "The newest state block on this branch's path.".into(),
            Self::Open => "The open turn; always included.".into(),
            Self::Sticky => "You pinned this; included until you unpin.".into(),
            Self::Leased { left, engine } => leased(*left, *engine),
            Self::Ephemeral => "Kept for one turn: the answer cites this.".into(),
            Self::ErrorBefore => "An earlier error like the newest one.".into(),
            Self::ErrorResolved => "The solution of an earlier error like the newest one.".into(),
            Self::Recent => "Inside the window of recent turns.".into(),
            Self::Relevant => "Older, and relevant enough to stay.".into(),
            Self::WorkingLevel => "In the working level.".into(),
            Self::Pending => "Your message answers this question.".into(),
            Self::IncludedOnce => "You included this in the next request.".into(),
            Self::Replied => "Your message replies to this.".into(),
            Self::GoOn => "Asks the model to continue the cut answer.".into(),
            Self::Retrieved { rank } => format!("Found by the search for your message: rank {rank}."),
            Self::Searched { among } => {
                format!("Heading of the search results among {} older messages.", grouped(u64::from(*among)))
            }
            Self::Summary => "Stands for older turns that are left out.".into(),
            Self::Memory { standing: false } => "A memory that you confirmed; related to your message.".into(),
            Self::Memory { standing: true } => "A preference that you confirmed; always included.".into(),
            Self::PinSuggested => "The model suggests a pin. Nothing changes until you decide.".into(),
            Self::PinMattered => "You noted that the answer differed without this item.".into(),
            Self::PinEarned { renewals } => earned(*renewals),
            Self::Budget { free } => format!("Does not fit the budget: {free} tokens were free."),
            Self::Allowance { tokens } => {
                format!("The mode searches up to {tokens} tokens; better matches filled them.")
            }
            Self::OutsideWindow => "Older than the window of recent turns.".into(),
            Self::Superseded { .. } => "An accepted summary replaces this.".into(),
            Self::SavesNothing => "The request would be larger with this summary than without it.".into(),
            Self::StaleSummary => "A turn in this summary changed, was left out, or is on another branch.".into(),
            Self::UserExcluded { once: false } => "You left this out.".into(),
            Self::UserExcluded { once: true } => "You left this out of the next request.".into(),
            Self::TtlExpired => "Its lease ended.".into(),
            Self::LeaseCap { cap } => format!("All leases together exceed their cap of {cap} tokens."),
            Self::OffPath => "Inactive mark: the message is on another branch.".into(),
            Self::Hidden => "Hidden in the imported file.".into(),
            Self::ForeignInstructions => "An imported system prompt; left out unless you include it.".into(),
            Self::ModelCannot => "The model does not accept this kind of content; one line of text replaces it.".into(),
            Self::Removed => "Deleted; only an empty place remains.".into(),
            Self::Duplicate => "Another item already contains this.".into(),
            Self::ModeOff => "The context mode is Off; no automatic search.".into(),
            Self::NotSearched { because } => format!("No search: {}.", because.sentence()),
            Self::BelowThreshold => "Other messages match better.".into(),
            Self::Unrelated => "Matches too little of your message.".into(),
            Self::TooLarge => "Larger than the whole budget.".into(),
            Self::OtherLane => "Belongs to another lane.".into(),
            Self::LaneCount { messages } => format!("Beyond the newest {messages} messages of this lane."),
            Self::SoftTarget { tokens } => {
                format!("Newer or more relevant turns fill the window's {tokens} tokens.")
            }
            Self::ByHand => "You wrote this into the exact request.".into(),
            Self::EditedAway => "You edited the exact request; the original was not sent.".into(),
            Self::LevelFull { budget } => {
                format!("The working level's {budget} tokens hold the newest turns and those that score higher.")
            }
            Self::SessionFull { budget } => format!("No room in the session level: {budget} tokens at most."),
            Self::LevelsOver { percent } => format!("Levels over {percent} % full; this scored lowest of older items."),
            Self::Oriented => "A map of this trusted folder's code.".into(),
            Self::Touchpoint { rank, because } => touchpoint(*rank, because),
            Self::CodeSearched { among } => {
                format!(
                    "Heading of the search results among {} symbols of this trusted folder.",
                    grouped(u64::from(*among))
                )
            }
            Self::NoCode { because } => format!("No code search: {}.", of_code(*because)),
            Self::StaleFile => "The file changed; this name is no longer in it.".into(),
            Self::CodeReading => "The folder's code is still being indexed.".into(),
            Self::ProjectRules { folder, changed, left } => {
                format!("Rules of the project for work in {folder}.{}", of_file(*changed, *left))
            }
            Self::OwnRules { changed, left } => {
                format!("Your own rules for all projects.{}", of_file(*changed, *left))
            }
            Self::Skills { count: 1 } => "The name of a skill; the text is sent when the model loads the skill.".into(),
            Self::Skills { count } => {
                format!("Names of {count} skills; a text is sent when the model loads the skill.")
            }
            Self::Module { by, stands } => {
                format!("A summary of a part of the program, by {by}; {stands}. It may be wrong: check the files.")
            }
            Self::SwitchedOff => "Switched off in the settings, under [project].".into(),
        }
    }

    /// Its two or three words in a list.
    #[must_use]
    pub fn label(&self) -> String {
        match self.name() {
            "open" => "open turn",
            "sticky" => "pinned",
            "ephemeral" => "kept for one turn",
            "included_once" => "included once",
            "retrieved" => "found",
            "searched" | "code_searched" => "search results",
            "oriented" => "code map",
            "touchpoint" => "found in code",
            "budget" => "over the budget",
            "allowance" => "search limit",
            "outside_window" => "older than window",
            "superseded" => "summarized",
            "user_excluded" if matches!(self, Self::UserExcluded { once: true }) => "left out once",
            "user_excluded" => "left out by you",
            "ttl_expired" => "lease ended",
            "off_path" => "inactive mark",
            "foreign_instructions" => "imported system prompt",
            "model_cannot" => "not accepted by model",
            "below_threshold" => "weaker match",
            "soft_target" => "window is full",
            "pin_suggested" | "pin_mattered" | "pin_earned" => "suggested pin",
            name => return name.replace('_', " "),
        }
        .to_owned()
    }

    /// Its word in JSON.
    #[must_use]
    #[allow(clippy::too_many_lines, reason = "one line for each reason")]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Configured => "configured",
            Self::Guideline => "guideline",
            Self::StateRequested { .. } => "state_requested",
            Self::CurrentState => "current_state",
            Self::Open => "open",
            Self::Sticky => "sticky",
            Self::Leased { .. } => "leased",
            Self::Ephemeral => "ephemeral",
            Self::ErrorBefore => "error_before",
            Self::ErrorResolved => "error_resolved",
            Self::Recent => "recent",
            Self::Relevant => "relevant",
            Self::WorkingLevel => "working_level",
            Self::Pending => "pending",
            Self::IncludedOnce => "included_once",
            Self::Replied => "replied",
            Self::GoOn => "go_on",
            Self::Retrieved { .. } => "retrieved",
            Self::Searched { .. } => "searched",
            Self::Oriented => "oriented",
            Self::Touchpoint { .. } => "touchpoint",
            Self::CodeSearched { .. } => "code_searched",
            Self::NoCode { .. } => "no_code",
            Self::StaleFile => "stale_file",
            Self::CodeReading => "code_reading",
            Self::Summary => "summary",
            Self::Memory { .. } => "memory",
            Self::ProjectRules { .. } => "project_rules",
            Self::OwnRules { .. } => "own_rules",
            Self::Skills { .. } => "skills",
            Self::Module { .. } => "module",
            Self::SwitchedOff => "switched_off",
            Self::PinSuggested => "pin_suggested",
            Self::PinMattered => "pin_mattered",
            Self::PinEarned { .. } => "pin_earned",
            Self::Budget { .. } => "budget",
            Self::Allowance { .. } => "allowance",
            Self::OutsideWindow => "outside_window",
            Self::Superseded { .. } => "superseded",
            Self::SavesNothing => "saves_nothing",
            Self::StaleSummary => "stale_summary",
            Self::UserExcluded { .. } => "user_excluded",
            Self::TtlExpired => "ttl_expired",
            Self::LeaseCap { .. } => "lease_cap",
            Self::OffPath => "off_path",
            Self::Hidden => "hidden",
            Self::ForeignInstructions => "foreign_instructions",
            Self::ModelCannot => "model_cannot",
            Self::Removed => "removed",
            Self::Duplicate => "duplicate",
            Self::ModeOff => "mode_off",
            Self::NotSearched { .. } => "not_searched",
            Self::BelowThreshold => "below_threshold",
            Self::Unrelated => "unrelated",
            Self::TooLarge => "too_large",
            Self::OtherLane => "other_lane",
            Self::LaneCount { .. } => "lane_count",
            Self::SoftTarget { .. } => "soft_target",
            Self::LevelFull { .. } => "level_full",
            Self::SessionFull { .. } => "session_full",
            Self::LevelsOver { .. } => "levels_over",
            Self::ByHand => "by_hand",
            Self::EditedAway => "edited_away",
        }
    }
}

fn of_file(changed: bool, left: u64) -> String {
    let changed = if changed { " Changed since the last call." } else { "" };
    match left {
        0 => changed.to_owned(),
        left => format!("{changed} Too large: {} of its bytes are left out.", grouped(left)),
    }
}

fn touchpoint(rank: u32, because: &str) -> String {
    match because {
        "" => format!("Code that matches this message: number {rank} in the results."),
        because => format!("Code that matches this message: number {rank}, for {because}."),
    }
}

fn of_code(because: SkipWhy) -> &'static str {
    match because {
        SkipWhy::NotWanted => "this call goes without it, as you chose",
        SkipWhy::NoContent => "the message names nothing to search for",
        SkipWhy::Unknown => "the code contains nothing that the message names",
        SkipWhy::Indexing => "the code is still being indexed",
        SkipWhy::NothingToFind | SkipWhy::Common | SkipWhy::Faint => "no symbol matches enough of the message",
    }
}

fn leased(left: u32, engine: bool) -> String {
    let by = if engine { " automatically, because it was mentioned" } else { "" };
    format!("Leased{by}: included for {left} more {}.", turns_word(left))
}

fn earned(renewals: u32) -> String {
    format!(
        "Mentioned again and again (its lease was renewed {renewals} times). Nothing happens unless you pin \
        it."
    )
}

fn turns_word(n: u32) -> &'static str {
    if n == 1 { "turn" } else { "turns" }
}

/// What would bring an excluded item in, and at what price.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Remedy {
    /// The action's name in the key table (`include-once`, `exclude`, `pin`, `budget-up` …); the screen shows its key.
    pub action: String,
    /// What it does, as the end of a sentence: "takes the exclusion back".
    pub does: String,
    /// Tokens that would have to leave first.
    pub pushes_out: u32,
    /// How many of the oldest turns in the window that would take.
    pub pushes_turns: u32,
}

impl Remedy {
    /// The sentence, with the key named by the caller.
    #[must_use]
    pub fn sentence(&self, key: &str) -> String {
        let price = match (self.pushes_out, self.pushes_turns) {
            (0, _) => "; removes no turn".to_owned(),
            (tokens, 0) => format!("; {tokens} tokens over the budget"),
            (tokens, 1) => format!("; removes the oldest turn ({tokens} tokens)"),
            (tokens, turns) => format!("; removes the {turns} oldest turns ({tokens} tokens)"),
        };
        format!("{key} {}{price}", self.does)
    }
}
