//! The commands about the program; the subcommands of `mcp`, `rules`, `project`, and `traces`; and arguments of `doctor` and removals.
//! Not for: running the commands (`cli`, `tui`).

use super::example;
use crate::domain::call::Quirk;
use crate::domain::tool::{Rule, RuleScope, Verdict};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

/// What to do with backups that contain deleted data.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum WithBackups {
    /// Keep the backups unchanged.
    Keep,
    /// Remove the data from the backups too; backups with an older schema are deleted.
    Rewrite,
    /// Delete the backups.
    Delete,
}

/// The quirks that `doctor` forgets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forget {
    /// All learned quirks.
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

/// The commands about the program itself, which need no engine.
#[derive(Subcommand, Clone, Debug)]
pub enum ProgramCommand {
    /// Show, check, or change the settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a shell completion script.
    #[command(after_help = example("completions bash"))]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    #[command(after_help = example("man"))]
    Man,
}

/// `config`.
#[derive(Subcommand, Clone, Debug, PartialEq, Eq)]
pub enum ConfigCommand {
    /// Print the paths of the files.
    #[command(after_help = example("config path"))]
    Path,
    /// Print the effective settings as TOML.
    #[command(after_help = example("config show"))]
    Show,
    /// Check the settings files.
    #[command(after_help = example("config check"))]
    Check,
    /// List the themes; with a name, print the theme as TOML, as a starting point for your own file in the themes
    /// folder.
    #[command(after_help = example("config theme dark"))]
    Theme {
        /// The theme.
        name: Option<String>,
    },
    /// Set the default profile (and model) in your settings file; its comments are kept.
    #[command(after_help = example("config default openai gpt-4.1-mini"))]
    Default {
        /// The profile's name.
        #[arg(id = "which", value_name = "PROFILE")]
        profile: String,
        /// The model. The default is the profile's model.
        #[arg(id = "its_model", value_name = "MODEL")]
        model: Option<String>,
    },
}

/// `mcp`.
#[derive(Subcommand, Clone, Debug)]
pub enum McpCommand {
    /// List tools and servers with their state and cost (the default).
    #[command(after_help = example("mcp list"))]
    List,
    /// Test a server: start it and list its tools.
    #[command(after_help = example("mcp test files"))]
    Test {
        /// The server.
        server: String,
    },
    /// Enable tools on the branch.
    #[command(after_help = example("mcp on files/read"))]
    On {
        /// The tools' keys from the list: `server/tool`, or `server/*`.
        keys: Vec<String>,
    },
    /// Disable tools on the branch.
    #[command(after_help = example("mcp off files/*"))]
    Off {
        /// The tools' keys from the list: `server/tool`, or `server/*`.
        keys: Vec<String>,
    },
    /// Approve the current descriptions of a server's tools.
    #[command(after_help = example("mcp approve files"))]
    Approve {
        /// The server.
        server: String,
        /// Only this tool.
        tool: Option<String>,
    },
    /// Show the servers in the folder's .mcp.json and approve the file.
    #[command(after_help = example("mcp use"))]
    Use {
        /// Approve without a question, after you read the file.
        #[arg(long)]
        yes: bool,
    },
}

/// `rules`.
#[derive(Subcommand, Clone, Debug)]
pub enum RulesCommand {
    /// List the rules with their scopes (the default).
    #[command(after_help = example("rules list"))]
    List,
    /// Allow matching calls: add a rule.
    #[command(after_help = example("rules allow run \"cargo test*\""))]
    Allow(RuleArgs),
    /// Ask about matching calls: add a rule.
    #[command(after_help = example("rules ask run"))]
    Ask(RuleArgs),
    /// Deny matching calls: add a rule.
    #[command(after_help = example("rules deny write_file"))]
    Deny(RuleArgs),
    /// Remove a rule.
    #[command(after_help = example("rules remove allow run"))]
    Remove {
        /// The rule's verdict: allow, ask, or deny.
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
    /// The tool; * matches any characters.
    pub tool: String,
    /// A pattern for the path or command line. The default matches every call.
    pub on: Option<String>,
    /// Apply the rule to this folder in every session, not only to this session.
    #[arg(long)]
    pub folder: bool,
}

impl RuleArgs {
    /// Returns the rule's scope.
    pub fn scope(&self) -> RuleScope {
        if self.folder { RuleScope::Folder } else { RuleScope::Session }
    }

    /// Returns the rule with this verdict.
    pub fn rule(&self, verdict: Verdict) -> Rule {
        Rule { tool: self.tool.clone(), on: self.on.clone(), verdict }
    }
}

fn verdict(text: &str) -> Result<Verdict, String> {
    match text {
        "allow" => Ok(Verdict::Allow),
        "ask" => Ok(Verdict::Ask),
        "deny" => Ok(Verdict::Deny),
        other => Err(format!("{other:?} is not allow, ask, or deny")),
    }
}

/// `project`.
#[derive(Subcommand, Clone, Debug)]
pub enum ProjectCommand {
    /// List all rules and skills with their status (the default).
    #[command(after_help = example("project list"))]
    List,
    /// Print the text of a rules file or skill.
    #[command(after_help = example("project show AGENTS.md"))]
    Show {
        /// The path from the list, or a skill's name.
        path: String,
    },
    /// Exclude a rules file on the branch until you include it again; `skills` is the list of skills.
    #[command(after_help = example("project exclude AGENTS.md"))]
    Exclude {
        /// The path from the list.
        path: String,
        /// Exclude it from the next request only.
        #[arg(long)]
        once: bool,
    },
    /// Include a rules file again; a file that the settings exclude is included in the next request.
    #[command(after_help = example("project include AGENTS.md"))]
    Include {
        /// The path from the list.
        path: String,
    },
}

/// `traces`.
#[derive(ClapArgs, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Traces {
    /// The subcommand. The default lists tool calls.
    #[command(subcommand)]
    pub command: Option<TracesCommand>,
    /// Only failed calls.
    #[arg(long)]
    pub failed: bool,
    /// Only calls of this tool.
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<String>,
    /// Only calls that match: words, tool:, state: (failed, refused, unfixed …), file:.
    #[arg(long, value_name = "WORDS")]
    pub filter: Option<String>,
    /// Group failures by tool and kind of error, most frequent first.
    #[arg(long)]
    pub grouped: bool,
    /// List the calls of the whole session, not only of this branch.
    #[arg(long)]
    pub whole_session: bool,
}

/// A command about one tool call.
#[derive(Subcommand, Clone, Debug)]
pub enum TracesCommand {
    /// Print a call in full: arguments, result, stored output, and changes to files.
    #[command(after_help = example("traces show 4f1c"))]
    Show {
        /// The call's id, or a prefix of the id.
        id: String,
    },
    /// Rerun a call outside the conversation and print how the result differs. Calls with side effects ask first.
    #[command(after_help = example("traces again 4f1c"))]
    Again {
        /// The call's id, or a prefix of the id.
        id: String,
    },
}
