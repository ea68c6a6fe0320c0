//! The commands that show or change a branch setting, and the change as a value, so that the command line, slash
//! commands, and plain mode make the same change.
//! Not for: program settings (`config::settings`).

use super::args::mode;
use super::example;
use crate::config::settings::SummariesChoice;
use crate::domain::call::tokens::counted;
use crate::domain::code::settings;
use crate::domain::conversation::{Lane, Overrides};
use crate::domain::planning::{Layout, Mode};
use clap::Subcommand;

/// The word that removes a branch setting.
const NONE: &str = "none";

/// A command that shows or changes a setting of the branch.
#[derive(Subcommand, Clone, Debug)]
pub enum SettingCommand {
    /// Show or change the mode of the branch.
    #[command(after_help = example("mode heavy"))]
    Mode {
        /// off, light, or heavy.
        #[arg(value_name = "off|light|heavy", value_parser = mode)]
        to: Option<Mode>,
    },
    /// Show or change the model of the branch; `none` restores the model from the settings.
    #[command(after_help = example("model gpt-4.1-mini"))]
    Model {
        /// The model's name.
        name: Option<String>,
    },
    /// Show or change the profile of the branch, with the profile's model; `none` restores the profile from the
    /// settings.
    #[command(after_help = example("profile openai"))]
    Profile {
        /// The profile's name.
        name: Option<String>,
    },
    /// Show or change the policy of the branch; `none` restores the policy from the settings.
    #[command(after_help = example("policy window"))]
    Policy {
        /// The policy's name.
        name: Option<String>,
    },
    /// Show or change the budget of the branch: the most tokens that a request and its safety margin may take; 0 removes
    /// the limit.
    #[command(after_help = example("budget 8000"))]
    Budget {
        /// The limit on the whole request in tokens.
        #[arg(value_parser = tokens, allow_hyphen_values = true)]
        tokens: Option<u32>,
    },
    /// Show or change the layout of the branch's requests (the order of their sections): classic or `cache_friendly`;
    /// wide, narrow, and zen change the screen layout.
    #[command(after_help = example("layout cache_friendly"))]
    Layout {
        /// The layout's name.
        name: Option<String>,
    },
    /// Show or change the personality of the model on the branch; `none` removes the personality.
    #[command(after_help = example("personality Answer in short sentences."))]
    Personality {
        /// The personality in your words.
        text: Vec<String>,
    },
    /// List the branch's summaries, and show or change whether they are automatic.
    #[command(after_help = example("summaries draft"))]
    Summaries {
        /// off, draft (drafts wait for you), auto (drafts are used at once), or policy (as the settings and the policy
        /// say).
        #[arg(value_name = "off|draft|auto|policy", value_parser = summaries)]
        to: Option<SummariesChoice>,
    },
    /// Show or change the focus of the branch's code search: files, folders, and symbols.
    #[command(after_help = example("focus src/auth.rs"))]
    Focus {
        /// Paths and symbol names; `none` clears the focus.
        names: Vec<String>,
    },
    /// Show or change the lane of the branch's next message; `none` continues in the lane of the last message.
    #[command(after_help = example("lane login bug"), args_conflicts_with_subcommands = true)]
    Lane {
        /// The subcommand.
        #[command(subcommand)]
        command: Option<LaneCommand>,
        /// A topic's name, or a key that `lane list` shows; `root` is the root lane.
        name: Vec<String>,
    },
}

/// `lane`.
#[derive(Subcommand, Clone, Debug)]
pub enum LaneCommand {
    /// List the branch's lanes, last used first, with their turns, tokens, summaries, and keys; ● marks the lane of the
    /// next message.
    #[command(after_help = example("lane list"))]
    List,
}

fn tokens(text: &str) -> Result<u32, String> {
    let (digits, times) = text.strip_suffix(['k', 'K']).map_or((text, 1), |digits| (digits, 1_000_u32));
    let mut groups = digits.split([',', '_', '.']);
    let first = groups.next().unwrap_or_default();
    let grouped = groups.try_fold(first.to_owned(), |all, group| (group.len() == 3).then(|| all + group));
    let tokens = grouped.and_then(|digits| digits.parse::<u32>().ok()?.checked_mul(times));
    tokens.ok_or_else(|| "must be a number of tokens, such as 8000 or 8k".into())
}

fn summaries(text: &str) -> Result<SummariesChoice, String> {
    SummariesChoice::from_name(text).ok_or_else(|| "must be off, draft, auto, or policy".into())
}

/// A change to a branch setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Setting {
    /// The context mode.
    Mode(Mode),
    /// The model; none uses the model of the profile or the settings.
    Model(Option<String>),
    /// The profile; none uses the profile of the settings.
    Profile(Option<String>),
    /// The policy; none uses the policy of the settings.
    Policy(Option<String>),
    /// The budget in tokens; 0 is no limit.
    Budget(u32),
    /// The window in turns; 0 is the full history.
    Window(u32),
    /// The section order; none uses the order of the settings.
    Layout(Option<Layout>),
    /// The personality of the model.
    Personality(Option<String>),
    /// Whether summaries are automatic.
    Summaries(SummariesChoice),
    /// The lane of the next messages; none continues in the lane of the last message.
    Lane(Option<Lane>),
    /// The code focus: files, folders, and symbols.
    Focus(Vec<String>),
}

impl SettingCommand {
    /// Returns the change that the command makes, or None if the command shows the setting.
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
                    "The request layouts are classic and cache_friendly; wide, narrow, and zen are screen layouts.",
                )?;
                Some(Setting::Layout(Some(known)))
            }
            Self::Personality { text } => words(text).as_deref().map(named).map(Setting::Personality),
            Self::Summaries { to } => to.map(Setting::Summaries),
            Self::Lane { name, command: _ } => {
                words(name).map(|name| Setting::Lane((name != NONE).then(|| Lane::read(&name))))
            }
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
    /// Completes the name of a lane of replies if one of the known lanes begins with it.
    #[must_use]
    pub fn among<'a>(self, known: impl Iterator<Item = &'a str>) -> Self {
        match self {
            Self::Lane(Some(lane)) => Self::Lane(Some(lane.among(known))),
            other => other,
        }
    }

    /// Returns the error message if the change names a policy that is not among the known ones.
    pub fn unknown_policy(&self, known: &[&str]) -> Option<String> {
        let Self::Policy(Some(name)) = self else { return None };
        let is_known = known.contains(&name.as_str());
        (!is_known).then(|| format!("There is no policy {name:?}. Known policies: {}.", known.join(", ")))
    }

    /// Applies the change to the branch's settings.
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
            Self::Summaries(choice) => overrides.auto_summaries = choice.over_policy(),
            Self::Lane(lane) => overrides.lane = lane.as_ref().map(Lane::text),
            Self::Focus(names) => overrides.focus.clone_from(names),
        }
    }

    /// Returns a sentence about the change, for the branch with this name.
    pub fn sentence(&self, branch: &str) -> String {
        let back = |what: &str| format!("Branch {branch} now uses the {what} from the settings.");
        match self {
            Self::Mode(mode) => format!("Branch {branch} is now in mode {}.", mode.title()),
            Self::Model(Some(name)) | Self::Profile(Some(name)) => format!("Branch {branch} now uses {name}."),
            Self::Model(None) => back("model"),
            Self::Profile(None) => back("profile"),
            Self::Policy(Some(name)) => format!("Branch {branch} now uses policy {name}."),
            Self::Policy(None) => back("policy"),
            Self::Budget(0) => back("budget"),
            Self::Budget(cap) => {
                format!("The budget of branch {branch} is now {}.", counted((*cap).into(), "token"))
            }
            Self::Window(0) => format!("The window of branch {branch} is now the full history."),
            Self::Window(turns) => {
                format!("The window of branch {branch} is now {}.", counted((*turns).into(), "turn"))
            }
            Self::Layout(Some(layout)) => format!("Branch {branch} now uses layout {}.", layout.name()),
            Self::Layout(None) => back("layout"),
            Self::Personality(Some(_)) => format!("Branch {branch} now has its own personality."),
            Self::Personality(None) => back("personality"),
            Self::Summaries(SummariesChoice::Policy) => {
                format!("Automatic summaries on branch {branch} now follow the settings and the policy.")
            }
            Self::Summaries(SummariesChoice::Off) => format!("Automatic summaries are now off on branch {branch}."),
            Self::Summaries(SummariesChoice::Draft) => {
                format!("Automatic summaries on branch {branch} now wait as drafts until you accept them.")
            }
            Self::Summaries(SummariesChoice::Auto) => {
                format!("Automatic summaries on branch {branch} are now used at once.")
            }
            Self::Lane(Some(lane)) => format!("The next messages of branch {branch} go into lane {}.", lane.word()),
            Self::Lane(None) => {
                format!("The next messages of branch {branch} continue in the lane of the last message.")
            }
            Self::Focus(names) if names.is_empty() => format!("Branch {branch} now has no code focus."),
            Self::Focus(names) => format!("The code focus of branch {branch} is now {}.", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn budgets_are_numbers_with_groups_or_thousands() {
        for (typed, meant) in [
            ("8000", Some(8_000)),
            ("8,000", Some(8_000)),
            ("8_000", Some(8_000)),
            ("1.250.000", Some(1_250_000)),
            ("8k", Some(8_000)),
            ("1.5", None),
            ("1.5k", None),
            ("8000k000", None),
            ("", None),
            ("k", None),
            ("9999999999", None),
            ("5000000k", None),
        ] {
            assert_eq!(tokens(typed).ok(), meant, "{typed}");
        }
    }
}
