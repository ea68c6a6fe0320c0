//! The commands that show or change a setting of a branch, and the change as a value: on every way in, the same words make
//! the same change.
//! Not for: settings of the program (`config::settings`).

use super::args::mode;
use super::example;
use crate::config::settings::CompactionChoice;
use crate::domain::code::settings;
use crate::domain::conversation::branch::Overrides;
use crate::domain::conversation::lane::Lane;
use crate::domain::planning::mode::Mode;
use crate::domain::planning::policy::Layout;
use clap::Subcommand;

/// The word that takes a setting of a branch off again.
const NONE: &str = "none";

/// A command that shows a setting of the branch, or changes it.
#[derive(Subcommand, Clone, Debug)]
pub enum SettingCommand {
    /// Show the branch's context mode, or change it.
    #[command(after_help = example("mode heavy"))]
    Mode {
        /// off, light or heavy.
        #[arg(value_name = "off|light|heavy", value_parser = mode)]
        to: Option<Mode>,
    },
    /// Show the model that the branch asks, or ask another one; `none` goes back to the settings.
    #[command(after_help = example("model gpt-4.1-mini"))]
    Model {
        /// The model's name.
        name: Option<String>,
    },
    /// Show the profile that the branch asks, or ask another one with its own model; `none` goes back to the settings.
    #[command(after_help = example("profile openai"))]
    Profile {
        /// The profile's name.
        name: Option<String>,
    },
    /// Show the rules by which the context of the branch is made, or choose others; `none` goes back to the settings.
    #[command(after_help = example("policy window"))]
    Policy {
        /// The policy's name.
        name: Option<String>,
    },
    /// Show the cap on the whole prompt of the branch, in tokens, or change it; 0 takes it off.
    #[command(after_help = example("budget 8000"))]
    Budget {
        /// Tokens.
        #[arg(value_parser = tokens)]
        tokens: Option<u32>,
    },
    /// Show the order of the prompt's sections on the branch, or choose it: classic or `cache_friendly`; wide, narrow and zen
    /// arrange the full-screen program.
    #[command(after_help = example("layout cache_friendly"))]
    Layout {
        /// The layout's name.
        name: Option<String>,
    },
    /// Show how the model is to be on the branch, or say it; `none` takes it off.
    #[command(after_help = example("personality Answer in short sentences."))]
    Personality {
        /// The words.
        text: Vec<String>,
    },
    /// Show whether summaries are made by themselves on the branch and used unasked, or choose it.
    #[command(after_help = example("compaction ask"))]
    Compaction {
        /// off, ask, self, or policy for the policy's own way.
        #[arg(value_name = "off|ask|self|policy", value_parser = compaction)]
        to: Option<CompactionChoice>,
    },
    /// Show which files, folders and symbols looking at code keeps to on the branch, or change it.
    #[command(after_help = example("focus src/auth.rs"))]
    Focus {
        /// Paths and names; `none` takes them off.
        names: Vec<String>,
    },
    /// Show the lane of the branch's next message, or change it.
    #[command(after_help = example("lane login bug"))]
    Lane {
        /// A topic's name; `root` goes back.
        name: Vec<String>,
    },
}

fn tokens(text: &str) -> Result<u32, String> {
    text.replace([',', '_', '.'], "").parse().map_err(|_| "must be a number of tokens, such as 8000".into())
}

fn compaction(text: &str) -> Result<CompactionChoice, String> {
    match text {
        "policy" => Ok(CompactionChoice::Policy),
        "off" => Ok(CompactionChoice::Off),
        "ask" => Ok(CompactionChoice::Ask),
        "self" => Ok(CompactionChoice::Own),
        _ => Err("must be off, ask, self or policy".into()),
    }
}

/// A change of a setting of a branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Setting {
    /// The context mode.
    Mode(Mode),
    /// The model that is asked; that of the profile or the settings when none.
    Model(Option<String>),
    /// The profile that is asked; that of the settings when none.
    Profile(Option<String>),
    /// The policy; that of the settings when none.
    Policy(Option<String>),
    /// The cap on the whole prompt in tokens; 0 is none.
    Budget(u32),
    /// The window in turns; 0 is all.
    Window(u32),
    /// The order of the sections; that of the settings when none.
    Layout(Option<Layout>),
    /// How the model is to be.
    Personality(Option<String>),
    /// Whether summaries are made by themselves.
    Compaction(CompactionChoice),
    /// The lane of the next messages.
    Lane(Lane),
    /// The files, folders and symbols to which looking at code keeps.
    Focus(Vec<String>),
}

impl SettingCommand {
    /// The change that the command makes; none where it shows the setting.
    ///
    /// # Errors
    /// A sentence about a value that the setting cannot have.
    pub fn change(&self) -> Result<Option<Setting>, String> {
        let named = |name: &str| Some(name.to_owned()).filter(|name| name != NONE);
        let words = |words: &[String]| Some(words.join(" ")).filter(|words| !words.is_empty());
        Ok(match self {
            Self::Mode { to } => to.map(Setting::Mode),
            Self::Model { name } => name.as_deref().map(named).map(Setting::Model),
            Self::Profile { name } => name.as_deref().map(named).map(Setting::Profile),
            Self::Policy { name } => name.as_deref().map(named).map(Setting::Policy),
            Self::Budget { tokens } => tokens.map(Setting::Budget),
            Self::Layout { name: None } => None,
            Self::Layout { name: Some(name) } if name == NONE => Some(Setting::Layout(None)),
            Self::Layout { name: Some(name) } => {
                let known = Layout::from_name(name).ok_or(
                    "The layouts are classic and cache_friendly; wide, narrow and zen arrange the full-screen program.",
                )?;
                Some(Setting::Layout(Some(known)))
            }
            Self::Personality { text } => words(text).as_deref().map(named).map(Setting::Personality),
            Self::Compaction { to } => to.map(Setting::Compaction),
            Self::Lane { name } => words(name).map(|name| Setting::Lane(Lane::read(&name))),
            Self::Focus { names } => words(names).map(|words| {
                Setting::Focus(if matches!(words.as_str(), NONE | "off") {
                    Vec::new()
                } else {
                    settings::focus(&words)
                })
            }),
        })
    }
}

impl Setting {
    /// Makes the change.
    pub fn apply(&self, overrides: &mut Overrides) {
        match self {
            Self::Mode(mode) => overrides.mode = Some(*mode),
            Self::Model(name) => overrides.model.clone_from(name),
            Self::Profile(name) => (overrides.profile, overrides.model) = (name.clone(), None),
            Self::Policy(name) => overrides.policy.clone_from(name),
            Self::Budget(cap) => overrides.budget = Some(*cap).filter(|cap| *cap > 0),
            Self::Window(turns) => overrides.window = Some(*turns),
            Self::Layout(layout) => overrides.layout = layout.map(|layout| layout.name().to_owned()),
            Self::Personality(text) => overrides.personality.clone_from(text),
            Self::Compaction(choice) => overrides.compaction = choice.wish(),
            Self::Lane(lane) => overrides.lane = Some(lane.text()),
            Self::Focus(names) => overrides.focus.clone_from(names),
        }
    }

    /// What the change came to on the branch of this name.
    #[must_use]
    pub fn sentence(&self, branch: &str) -> String {
        let back = |what: &str| format!("The {what} of {branch} is that of the settings again.");
        match self {
            Self::Mode(mode) => format!("{branch} is in mode {}.", mode.title()),
            Self::Model(Some(name)) | Self::Profile(Some(name)) => format!("{branch} asks {name}."),
            Self::Model(None) => back("model"),
            Self::Profile(None) => back("profile"),
            Self::Policy(Some(name)) => format!("{branch} uses the policy {name}."),
            Self::Policy(None) => back("policy"),
            Self::Budget(0) => back("budget"),
            Self::Budget(cap) => format!("The whole prompt of {branch} is capped at {cap} tokens."),
            Self::Window(0) => format!("The window of {branch} is the full history."),
            Self::Window(turns) => format!("The window of {branch} is {turns} turns."),
            Self::Layout(Some(layout)) => format!("The sections of {branch} go in the layout {}.", layout.name()),
            Self::Layout(None) => back("layout"),
            Self::Personality(Some(_)) => format!("{branch} has a personality of its own."),
            Self::Personality(None) => back("personality"),
            Self::Compaction(CompactionChoice::Policy) => format!("Summaries on {branch} are made as its policy says."),
            Self::Compaction(CompactionChoice::Off) => format!("No summary is made by itself on {branch}."),
            Self::Compaction(CompactionChoice::Ask) => format!("Summaries on {branch} wait for your decision."),
            Self::Compaction(CompactionChoice::Own) => format!("Summaries on {branch} are used unasked."),
            Self::Lane(lane) => format!("The next messages of {branch} go into the lane {}.", lane.title()),
            Self::Focus(names) if names.is_empty() => format!("Looking at code keeps to nothing on {branch}."),
            Self::Focus(names) => format!("Looking at code keeps to {} on {branch}.", names.join(", ")),
        }
    }
}
