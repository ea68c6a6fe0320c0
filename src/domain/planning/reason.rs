//! Why an item is in a plan or out of it, in one sentence each, and what would bring it in.
//! Not for: finding the reason (`context`).

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
    /// In: guidelines for reading history and keeping state.
    Guideline,
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
            Self::Instructions => "Instructions that go with every call.".into(),
            Self::Configured => "You configured this text.".into(),
            Self::Guideline => "Says how history is to be read and the state block kept.".into(),
            Self::CurrentState => "The newest state block on this branch's path.".into(),
            Self::Open => "The turn that is being asked; it always goes.".into(),
            Self::Sticky => "You pinned it; it stays until you take the pin off.".into(),
            Self::Leased { left, engine } => leased(*left, *engine),
            Self::Ephemeral => "Just spoken of: the program keeps it for this call.".into(),
            Self::ErrorBefore => "An earlier error like the one just met.".into(),
            Self::ErrorResolved => "What was said once it worked, after an earlier error like the one just met.".into(),
            Self::Recent => "Recent: inside the window.".into(),
            Self::Relevant => "Older, and relevant enough to stay.".into(),
            Self::WorkingLevel => "In the working level.".into(),
            Self::Pending => "Your message answers this question, which waited for it.".into(),
            Self::IncludedOnce => "You included it for this call.".into(),
            Self::Replied => "Your message replies to it.".into(),
            Self::GoOn => "Asks the model to go on where its answer was cut.".into(),
            Self::Retrieved { rank } => format!("Found for this message: number {rank} of what fits it."),
            Self::Searched { among } => {
                format!("Heads what was found among {} older messages.", grouped(u64::from(*among)))
            }
            Self::Summary => "Sums up older turns that do not go themselves.".into(),
            Self::Memory { standing: false } => "A memory that you confirmed; it fits this message.".into(),
            Self::Memory { standing: true } => "A preference that you confirmed; it goes whatever is asked.".into(),
            Self::PinSuggested => "The model suggests to pin it. Nothing happens unless you do it.".into(),
            Self::PinMattered => "You noted that it mattered: a call without it was answered otherwise.".into(),
            Self::PinEarned { renewals } => earned(*renewals),
            Self::Budget { free } => format!("No room: {free} tokens (est) were free for it."),
            Self::Allowance { tokens } => {
                format!("This may take {tokens} tokens (est) in this mode; what fits better comes first.")
            }
            Self::OutsideWindow => "Older than the window reaches.".into(),
            Self::Superseded { .. } => "A summary that you accepted goes in its place.".into(),
            Self::UserExcluded { once: false } => "You excluded it.".into(),
            Self::UserExcluded { once: true } => "You excluded it for this call.".into(),
            Self::TtlExpired => "Its lease ended.".into(),
            Self::LeaseCap { cap } => format!("Leased pins together are over their cap of {cap} tokens."),
            Self::OffPath => "Marked, but not on this branch's path: the mark sleeps.".into(),
            Self::Hidden => "Hidden in the export that it came from.".into(),
            Self::ForeignInstructions => "Instructions from an import are off unless you include them.".into(),
            Self::ModelCannot => {
                "The model cannot take this kind of content; a line of text names it in its place.".into()
            }
            Self::Removed => "Removed: only its place is left.".into(),
            Self::Duplicate => "Already in the request in another row.".into(),
            Self::ModeOff => "The context mode is Off: nothing is looked up by itself.".into(),
            Self::NotSearched { because } => format!("Nothing was looked up: {}.", because.sentence()),
            Self::BelowThreshold => "Others fit this message better.".into(),
            Self::Unrelated => "It says too little of what this message asks.".into(),
            Self::TooLarge => "Larger than the whole prompt budget.".into(),
            Self::OtherLane => "It belongs to another lane.".into(),
            Self::LaneCount { messages } => format!("Beyond the newest {messages} messages of this lane."),
            Self::SoftTarget { tokens } => {
                format!("No room in the window's {tokens} tokens; what is newer or more relevant comes first.")
            }
            Self::ByHand => "You wrote it into the exact request by hand.".into(),
            Self::EditedAway => "You edited the exact request by hand: it did not go as it stood.".into(),
            Self::LevelFull { budget } => format!("The working level's {budget} tokens hold turns that score higher."),
            Self::LevelsOver { percent } => levels_over(*percent),
            Self::Oriented => {
                "The folders and files of this trusted folder's code, so that the model knows its way.".into()
            }
            Self::Touchpoint { rank, because } => touchpoint(*rank, because),
            Self::CodeSearched { among } => {
                format!("Heads what was found among {} symbols of this trusted folder.", grouped(u64::from(*among)))
            }
            Self::NoCode { because } => format!("The code was not looked through: {}.", of_code(*because)),
            Self::StaleFile => "Its file was changed since: it is no longer there under that name.".into(),
            Self::CodeReading => "The folder's code is being read; it is looked through once that is done.".into(),
            Self::ProjectRules { folder, changed, left } => {
                format!("Rules of the project for work in {folder}.{}", of_file(*changed, *left))
            }
            Self::OwnRules { changed, left } => {
                format!("Your own rules for all projects.{}", of_file(*changed, *left))
            }
            Self::Skills { count: 1 } => "The name of a skill that can be loaded; its text goes once it is.".into(),
            Self::Skills { count } => format!("Names of {count} skills that can be loaded; a text goes once it is."),
            Self::Module { by, stands } => {
                format!("A summary of a part of the program, by {by}; {stands}. Never the truth: the files are.")
            }
            Self::SwitchedOff => "Switched off in the settings, under [project].".into(),
        }
    }

    /// Its word in JSON.
    #[must_use]
    #[allow(clippy::too_many_lines, reason = "one line for each reason")]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Configured => "configured",
            Self::Guideline => "guideline",
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
        left => format!("{changed} Too large: {} bytes of it stay out.", grouped(left)),
    }
}

fn touchpoint(rank: u32, because: &str) -> String {
    match because {
        "" => format!("Code that fits this message: number {rank} of what was found."),
        because => format!("Code that fits this message: number {rank}, for {because}."),
    }
}

fn of_code(because: SkipWhy) -> &'static str {
    match because {
        SkipWhy::NotWanted => "this call goes without, as you said",
        SkipWhy::NoContent => "the message names nothing to look for",
        SkipWhy::Unknown => "nothing that the message names is there",
        SkipWhy::Indexing => "it is being read",
        SkipWhy::NothingToFind | SkipWhy::Common | SkipWhy::Faint => "no symbol says enough of what the message names",
    }
}

fn levels_over(percent: u32) -> String {
    format!("The levels were more than {percent} % full, and it scores lowest of what is old enough to leave.")
}

fn leased(left: u32, engine: bool) -> String {
    let by = if engine { " by the program, because it was spoken of" } else { "" };
    format!("Leased{by}: stays for {left} more {}.", turns_word(left))
}

fn earned(renewals: u32) -> String {
    format!("Spoken of again and again (its lease was renewed {renewals} times). Nothing happens unless you pin it.")
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
            (0, _) => "; no turn has to leave for it".to_owned(),
            (tokens, 0) => format!("; {tokens} tokens (est) more than the budget holds"),
            (tokens, 1) => format!("; pushes out the oldest turn ({tokens} tokens est)"),
            (tokens, turns) => format!("; pushes out the {turns} oldest turns ({tokens} tokens est)"),
        };
        format!("{key} {}{price}", self.does)
    }
}
