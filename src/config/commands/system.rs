//! The commands below `config`, `mcp`, `rules`, `project` and `traces`, and what `doctor` and removals take.
//! Not for: doing what they say (`cli`, `tui`).

use super::example;
use crate::domain::call::model::Quirk;
use crate::domain::tool::consent::{Rule, RuleScope, Verdict};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

/// What is to be done with backups that hold what was removed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum WithBackups {
    /// They stay as they are.
    Keep,
    /// It is removed from them too. One from before a change of the store's schema cannot be written anew: it is deleted.
    Rewrite,
    /// They are deleted.
    Delete,
}

/// What `doctor` forgets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forget {
    /// Everything that was learned from refusals.
    All,
    /// One quirk.
    One(Quirk),
}

impl Forget {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Quirk::ALL.iter().map(|quirk| quirk.name()).collect();
        let one = Quirk::from_name(text).map(Self::One);
        let all = || (text == "all").then_some(Self::All);
        one.or_else(all).ok_or_else(|| format!("must be all or one of {}", names.join(", ")))
    }
}

/// `config`.
#[derive(Subcommand, Clone, Debug, PartialEq, Eq)]
pub enum ConfigCommand {
    /// Where the files are.
    #[command(after_help = example("config path"))]
    Path,
    /// The settings that hold, as TOML.
    #[command(after_help = example("config show"))]
    Show,
    /// Check the files.
    #[command(after_help = example("config check"))]
    Check,
    /// The themes there are; with a name, that theme as TOML, to be changed and kept in the themes folder.
    #[command(after_help = example("config theme dark"))]
    Theme {
        /// Which.
        name: Option<String>,
    },
    /// Start with this profile (and model) from now on; written into your file, its comments kept.
    #[command(after_help = example("config default openai gpt-4.1-mini"))]
    Default {
        /// The profile's name.
        #[arg(id = "which", value_name = "PROFILE")]
        profile: String,
        /// The model; the profile's own when left out.
        #[arg(id = "its_model", value_name = "MODEL")]
        model: Option<String>,
    },
}

/// `mcp`.
#[derive(Subcommand, Clone, Debug)]
pub enum McpCommand {
    /// Tools and servers with their state and cost (also without any word).
    #[command(after_help = example("mcp list"))]
    List,
    /// Start a server and list what it offers.
    #[command(after_help = example("mcp test files"))]
    Test {
        /// Which.
        server: String,
    },
    /// Switch a tool on, on the branch: its key as the list shows it, as `server/tool`, or `server/*`.
    #[command(after_help = example("mcp on files/read"))]
    On {
        /// Which.
        keys: Vec<String>,
    },
    /// Switch a tool off, on the branch.
    #[command(after_help = example("mcp off files/*"))]
    Off {
        /// Which.
        keys: Vec<String>,
    },
    /// Take a server's tools as they are described now.
    #[command(after_help = example("mcp approve files"))]
    Approve {
        /// Whose.
        server: String,
        /// Only this tool.
        tool: Option<String>,
    },
    /// Show what the folder's own .mcp.json names, and use it once told so.
    #[command(after_help = example("mcp use"))]
    Use {
        /// Use it without asking: you have read it.
        #[arg(long)]
        yes: bool,
    },
}

/// `rules`.
#[derive(Subcommand, Clone, Debug)]
pub enum RulesCommand {
    /// The rules that hold, with where each stands (also without any word).
    #[command(after_help = example("rules list"))]
    List,
    /// Do it without asking.
    #[command(after_help = example("rules allow run \"cargo test*\""))]
    Allow(RuleArgs),
    /// Ask about it.
    #[command(after_help = example("rules ask run"))]
    Ask(RuleArgs),
    /// Refuse it without asking.
    #[command(after_help = example("rules deny write"))]
    Deny(RuleArgs),
    /// Take a rule off.
    #[command(after_help = example("rules remove allow run"))]
    Remove {
        /// Its verdict: allow, ask or deny.
        #[arg(value_parser = verdict)]
        verdict: Verdict,
        /// The rule.
        #[command(flatten)]
        rule: RuleArgs,
    },
}

/// A rule without its verdict.
#[derive(ClapArgs, Clone, Debug)]
pub struct RuleArgs {
    /// The tool; * is any run of characters.
    pub tool: String,
    /// What it may act on, a path or a command line; anything where it is left out.
    pub on: Option<String>,
    /// In this folder and every session, instead of in this session.
    #[arg(long)]
    pub folder: bool,
}

impl RuleArgs {
    /// Where the rule holds.
    #[must_use]
    pub fn scope(&self) -> RuleScope {
        if self.folder { RuleScope::Folder } else { RuleScope::Session }
    }

    /// The rule with this verdict.
    #[must_use]
    pub fn rule(&self, verdict: Verdict) -> Rule {
        Rule { tool: self.tool.clone(), on: self.on.clone(), verdict }
    }
}

fn verdict(text: &str) -> Result<Verdict, String> {
    match text {
        "allow" => Ok(Verdict::Allow),
        "ask" => Ok(Verdict::Ask),
        "deny" => Ok(Verdict::Deny),
        other => Err(format!("{other:?} is none of allow, ask and deny")),
    }
}

/// `project`.
#[derive(Subcommand, Clone, Debug)]
pub enum ProjectCommand {
    /// All rules and skills, with how each stands.
    #[command(after_help = example("project list"))]
    List,
    /// Print the text of one, as it stands in its file.
    #[command(after_help = example("project show AGENTS.md"))]
    Show {
        /// Its path as it is listed, or a skill's name.
        path: String,
    },
    /// Leave one out of the branch's calls until taken back; `skills` is the list of skills.
    #[command(after_help = example("project exclude AGENTS.md"))]
    Exclude {
        /// Its path as it is listed.
        path: String,
        /// For the next call only.
        #[arg(long)]
        once: bool,
    },
    /// Take it back in; what the settings switch off goes with the next call.
    #[command(after_help = example("project include AGENTS.md"))]
    Include {
        /// Its path as it is listed.
        path: String,
    },
}

/// `traces`.
#[derive(ClapArgs, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Traces {
    /// One call.
    #[command(subcommand)]
    pub command: Option<TracesCommand>,
    /// Only those that failed.
    #[arg(long)]
    pub failed: bool,
    /// Only calls of this tool.
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<String>,
    /// Only what fits: words, tool:, state: (failed, refused, unfixed …), file:.
    #[arg(long, value_name = "WORDS")]
    pub filter: Option<String>,
    /// Failures by tool and kind of error, the most frequent first.
    #[arg(long)]
    pub grouped: bool,
    /// Of the whole session instead of this branch.
    #[arg(long)]
    pub whole_session: bool,
}

/// What is done with one call.
#[derive(Subcommand, Clone, Debug)]
pub enum TracesCommand {
    /// All of it: arguments, result, what is kept beyond that, files as a difference.
    #[command(after_help = example("traces show 4f1c"))]
    Show {
        /// Its id, or the beginning of it.
        id: String,
    },
    /// Run it again, beside the conversation; prints what differs from the result of then. What may act asks first.
    #[command(after_help = example("traces again 4f1c"))]
    Again {
        /// Its id, or the beginning of it.
        id: String,
    },
}
