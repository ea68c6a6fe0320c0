//! Parses commands: command lines and lines that start with a slash, with one grammar.
//! Not for: running commands (`cli`, `tui`), or the sentences about errors (`usage_error`).

use super::args::{Args, Global};
use super::command::Command;
use super::system::ProgramCommand;
use super::table::{self, ACTIONS_AS_COMMANDS, ALIASES, Alias, BARE_NAMES, UNLISTED};
use super::usage_error::usage_error;
use crate::config::keys::actions::Action;
use crate::domain::conversation::MemoryKind;
use crate::domain::conversation::resolve::{LAST, SHORTEST_ID};
use crate::domain::planning::{VariantError, variant};
use clap::Parser as _;
use clap::error::ErrorKind;
use std::ffi::OsString;

/// Replaces `pleach COMMAND` by `/COMMAND` in a text, as commands are typed inside the program. The repair of the store,
/// which needs the program to end, keeps its name.
pub fn slashed(text: &str) -> String {
    text.replace("`pleach ", "`/").replace("`/doctor --repair", "`pleach doctor --repair")
}

/// The result of parsing a slash line.
#[derive(Clone, Debug)]
pub enum Typed {
    /// A command with its arguments.
    Command(Box<Args>),
    /// An action of the full-screen program.
    Action(Action),
    /// The help of a command.
    Help(String),
}

/// Parses the words of a command line; the first word is the program's name. Short names and short forms are expanded
/// first.
///
/// # Errors
/// Returns clap's report, which can be the requested help.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Args, clap::Error> {
    let words: Vec<OsString> = with_help_last(words.into_iter().skip(1).collect());
    // The usage names the program by its name, whatever its file is called.
    let parse = |words: &[OsString]| Args::try_parse_from(std::iter::once("pleach".into()).chain(expand(words)));
    parse(&words).or_else(|error| match error.kind() {
        ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::MissingRequiredArgument
        | ErrorKind::InvalidSubcommand => with_bare_name(&words).map_or(Err(error), |words| parse(&words)),
        _ => Err(error),
    })
}

/// Returns the words with `help COMMAND` replaced by `COMMAND --help`, which every short name accepts.
pub(super) fn with_help_last(mut words: Vec<OsString>) -> Vec<OsString> {
    let at = command_start(&words);
    if words.len() > at + 1 && words[at] == "help" {
        words.remove(at);
        words.push("--help".into());
    }
    words
}

/// Returns the words with a bare command name replaced by the command that it stands for; `None` if there is none.
fn with_bare_name(words: &[OsString]) -> Option<Vec<OsString>> {
    let at = command_start(words);
    let is_command = |means: &str| table::rows().iter().any(|row| row.name == means);
    let is_alone = words.get(at + 1).is_none_or(|word| word.to_string_lossy().starts_with('-'));
    let (_, means) = BARE_NAMES
        .iter()
        .chain(ACTIONS_AS_COMMANDS)
        .find(|(name, means)| is_alone && words.get(at).is_some_and(|word| word == name) && is_command(means))?;
    let means = means.split(' ').map(OsString::from);
    Some(words[..at].iter().cloned().chain(means).chain(words[at + 1..].iter().cloned()).collect())
}

/// Parses a line that starts with a slash. Accepts commands, actions, short names, and short forms.
///
/// # Errors
/// Returns a sentence about the error, with the usage and the example of the intended command.
pub fn read(line: &str) -> Result<Typed, String> {
    read_words(&split(line.strip_prefix('/').unwrap_or(line)))
}

/// Parses the words of a line that starts with a slash, without the slash.
pub fn read_words(typed: &[String]) -> Result<Typed, String> {
    let alone = |name: &str| BARE_NAMES.iter().find(|(known, _)| *known == name).map(|(_, means)| split(means));
    let typed = with_help_last(typed.iter().map(OsString::from).collect());
    let typed: Vec<String> = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let typed = match typed.as_slice() {
        [] => return Err("Type a command after the slash. /help lists all commands.".to_owned()),
        [name] => alone(name).unwrap_or(typed),
        _ => typed,
    };
    let words = expand(&typed.iter().map(OsString::from).collect::<Vec<_>>());
    let only = Some(&words).filter(|words| words.len() == 1).and_then(|words| words[0].to_str());
    let only = only.filter(|name| table::rows().iter().all(|row| row.name != *name));
    if let Some(action) = only.and_then(Action::from_name) {
        return Ok(Typed::Action(action));
    }
    match Args::try_parse_from(std::iter::once("pleach".into()).chain(words.iter().cloned())) {
        Ok(args) if args.command.is_none() => Err(usage_error("/", &typed, &words, None)),
        Ok(args) => check_in_program(&args).map(|()| Typed::Command(Box::new(args))),
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            Ok(Typed::Help(help_in_program(&error.render().to_string())))
        }
        Err(error) => {
            if let [name, flag] = words.as_slice()
                && flag == "--help"
                && let Some(action) = name.to_str().and_then(Action::from_name)
            {
                return Ok(Typed::Help(format!("/{}: {}", action.name(), action.sentence())));
            }
            let alone = typed.first().filter(|_| typed.len() == 1);
            let action = alone.and_then(|name| Action::from_name(name));
            action.map(Typed::Action).ok_or_else(|| usage_error("/", &typed, &words, Some(&error)))
        }
    }
}

/// Returns the help of a command as it is typed inside the program, without the flags that start the program.
fn help_in_program(help: &str) -> String {
    let parts = help.split("\n\n").filter(|part| !part.starts_with(super::args::GLOBAL_FLAGS));
    let help = parts.collect::<Vec<_>>().join("\n\n");
    slashed(&help.replace("Usage: pleach ", "Usage: /").replace("Example: pleach ", "Example: /"))
}

/// Returns why a command cannot run without its arguments, with its usage and example; `None` if no command has this
/// name. For actions of the full-screen program that share their name with a command.
pub fn missing_arguments(name: &str) -> Option<String> {
    let words = expand(&[OsString::from(name)]);
    table::row_of(name).filter(|row| !row.example.is_empty())?;
    let error = Args::try_parse_from(std::iter::once("pleach".into()).chain(words.iter().cloned())).err()?;
    Some(usage_error("/", &[name.to_owned()], &words, Some(&error)))
}

/// The earlier and the current name of a flag.
const RENAMED_FLAG: (&str, &str) = ("--favourites", "--favorites");

/// Returns a sentence about each name from an earlier version among the words of a line, with its current name.
pub fn earlier_names<W: AsRef<std::ffi::OsStr>>(words: &[W]) -> Vec<String> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let command = alias_at(&words[command_start(&words)..], UNLISTED).map(|alias| (alias.name, alias.means));
    let flag = Some(RENAMED_FLAG).filter(|(was, _)| words.iter().any(|word| word == was));
    let names = command.into_iter().chain(flag);
    names.map(|(was, now)| format!("{was} is now {now}. The earlier name still works.")).collect()
}

/// Returns the short name that the words start with.
fn alias_at<'a>(words: &[OsString], aliases: impl IntoIterator<Item = &'a Alias>) -> Option<&'a Alias> {
    let starts = |alias: &&Alias| {
        let (mut name, mut typed) = (alias.name.split(' '), words.iter());
        name.all(|part| typed.next().is_some_and(|word| word == part))
    };
    aliases.into_iter().find(starts)
}

/// Splits a line into words as a shell does: text in quotes at the start of a word is one word. An apostrophe inside a
/// word is part of the word.
pub fn split(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let quoted =
            Some(first).filter(|c| matches!(c, '"' | '\'')).and_then(|quote| split_at_quote(&rest[1..], quote));
        let (word, after) = quoted.unwrap_or_else(|| {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            rest.split_at(end)
        });
        found.push(word.to_owned());
        rest = after.trim_start();
    }
    found
}

/// Returns the text before the first quote that ends a word, and the text after that quote.
fn split_at_quote(text: &str, quote: char) -> Option<(&str, &str)> {
    text.match_indices(quote).find_map(|(at, _)| {
        let after = &text[at + 1..];
        (after.is_empty() || after.starts_with(char::is_whitespace)).then(|| (&text[..at], after))
    })
}

/// Expands short names and short forms after the global flags.
pub(super) fn expand(words: &[OsString]) -> Vec<OsString> {
    let words = &with_help_last(words.to_vec())[..];
    let command_start = command_start(words);
    let (mut before, mut rest) = (words[..command_start].to_vec(), words[command_start..].to_vec());
    if let Some(alias) = alias_at(&rest, ALIASES.iter().chain(UNLISTED)) {
        let own: Vec<OsString> = rest.split_off(alias.name.split(' ').count());
        let means = if alias.name == "label" && names_message(&own) { "message label" } else { alias.means };
        let means: Vec<OsString> = means.split(' ').map(OsString::from).collect();
        rest = match means.last() {
            Some(flag) if own == ["--help"] && flag.to_string_lossy().starts_with("--") => {
                means[..means.len() - 1].iter().cloned().chain(own).collect()
            }
            Some(flag) if alias.joins && flag.to_string_lossy().starts_with("--") => with_value(&means, own),
            _ => means.into_iter().chain(if alias.joins { join(own) } else { own }).collect(),
        };
        if alias.name == "remember" {
            expand_memory_kind(&mut rest);
        }
    }
    short_forms(&mut rest);
    before.append(&mut rest);
    before
}

/// Whether the words after `label` start with a message: a turn number, an id, or `last`. A number of four or more digits
/// is a message only if a label follows. Without words, the message is missing.
fn names_message(words: &[OsString]) -> bool {
    let Some(first) = words.first().map(|word| word.to_string_lossy()) else { return true };
    let followed = words.get(1).is_some_and(|word| !word.to_string_lossy().starts_with("--"));
    let is_number = first.bytes().all(|byte| byte.is_ascii_digit()) && (followed || first.len() < SHORTEST_ID);
    let is_id = first.len() >= 8
        && first.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && first.bytes().any(|byte| byte.is_ascii_digit());
    !first.is_empty() && (is_number || is_id || first == LAST)
}

/// Returns the index of the command's name, after the flags that every command accepts.
pub(super) fn command_start(words: &[OsString]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()).filter(|word| word.starts_with('-')) {
        at += if takes_value(word) { 2 } else { 1 };
    }
    at.min(words.len())
}

fn takes_value(flag: &str) -> bool {
    Args::description().get_arguments().filter(|arg| arg.get_action().takes_values()).any(|arg| {
        let short = arg.get_short().is_some_and(|short| flag == format!("-{short}"));
        short || arg.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long))
    })
}

/// Returns the words of a command whose last one is a flag, with the joined words as the flag's value. The value may start
/// with a hyphen.
fn with_value(command: &[OsString], mut words: Vec<OsString>) -> Vec<OsString> {
    if words.first().is_some_and(|word| word == "--") {
        words.remove(0);
    }
    let mut rest = join(words);
    let mut all = command.to_vec();
    if let (Some(flag), true) =
        (all.last_mut(), rest.first().is_some_and(|word| !word.to_string_lossy().starts_with("--")))
    {
        flag.push("=");
        flag.push(rest.remove(0));
    }
    all.append(&mut rest);
    all
}

/// Joins all words before the first flag into one.
fn join(words: Vec<OsString>) -> Vec<OsString> {
    let flag = words.iter().position(|word| word.to_string_lossy().starts_with("--")).unwrap_or(words.len());
    if flag < 2 {
        return words;
    }
    let one = words[..flag].join(std::ffi::OsStr::new(" "));
    std::iter::once(one).chain(words[flag..].iter().cloned()).collect()
}

/// Reads `[KIND:] TEXT` or `KIND TEXT` after `memory add`; the default kind is fact.
fn expand_memory_kind(words: &mut Vec<OsString>) {
    let has_text = words.get(3).is_some_and(|word| !word.to_string_lossy().starts_with("--"));
    let is_kind = |word: &str| MemoryKind::ALL.iter().any(|kind| kind.name() == word);
    let kind = words.get(2).and_then(|word| {
        let word = word.to_str()?;
        let marked = word.strip_suffix(':').filter(|kind| MemoryKind::from_name(kind).is_some());
        marked.or_else(|| Some(word).filter(|word| has_text && is_kind(word)))
    });
    match kind.map(OsString::from) {
        Some(kind) => words[2] = kind,
        None => words.insert(2, "fact".into()),
    }
}

/// Expands the short forms of three commands: `compress [TURN] [model] [session]`, `module-summary PATH by model`, and `race`
/// with settings and limits before its text, such as `mode:off` and `tokens:400`.
fn short_forms(words: &mut Vec<OsString>) {
    let name = words.first().and_then(|word| word.to_str()).unwrap_or_default().to_owned();
    match name.as_str() {
        "compress" => replace(words, |word| match word {
            "model" => Some(vec!["--by-model".into()]),
            "session" => Some(vec!["--whole-session".into()]),
            "extractive" => Some(vec!["--extractive".into()]),
            turn => turn.parse::<u32>().ok().map(|_| vec!["--up-to".into(), turn.into()]),
        }),
        "module-summary" if words.len() > 3 && words.ends_with(&["by".into(), "model".into()]) => {
            words.truncate(words.len() - 2);
            words.push("--by-model".into());
        }
        "race" => replace(words, |word| {
            // A quoted message is one word of the command line, and never a setting.
            let (setting, value) = word.split_once([':', '=']).filter(|_| !word.contains(char::is_whitespace))?;
            let limit = match setting {
                "tokens" => Some("--max-tokens"),
                "cost" => Some("--max-cost"),
                "time" => Some("--max-seconds"),
                _ => None,
            };
            if let Some(limit) = limit {
                return Some(vec![limit.into(), value.into()]);
            }
            // A word that starts with a setting is one even if another part of it is not, which the race refuses.
            let first = word.split(',').next().unwrap_or(word);
            matches!(variant::read(first), Ok(_) | Err(VariantError::Value { .. }))
                .then(|| vec!["--arm".into(), word.into()])
        }),
        _ => {}
    }
}

/// Replaces the words after the command's name, up to the first word that has no replacement.
fn replace(words: &mut Vec<OsString>, means: impl Fn(&str) -> Option<Vec<OsString>>) {
    let mut at = 1;
    while let Some(new) = words.get(at).and_then(|word| means(word.to_str()?)) {
        let count = new.len();
        drop(words.splice(at..=at, new));
        at += count;
    }
}

/// Rejects flags and commands that have no effect inside a running program.
fn check_in_program(args: &Args) -> Result<(), String> {
    let Global {
        store,
        session,
        branch,
        mode,
        policy,
        layout,
        budget,
        model,
        profile,
        allow,
        json: _,
        escape: _,
        demo,
    } = &args.global;
    let command = args.command.as_ref();
    let once = matches!(
        command,
        Some(
            Command::Retrieve { .. }
                | Command::Index { .. }
                | Command::Replay(_)
                | Command::Doctor { .. }
                | Command::Models
        )
    );
    let only = |what: &str, instead: &str| Err(format!("{what} works only on the command line{instead}."));
    if store.is_some() || *demo || args.plain {
        return only("A startup flag", "");
    }
    if session.is_some() {
        return only("--session", "; use /session switch NAME");
    }
    if branch.is_some() {
        return only("--branch", "; use /branch switch NAME");
    }
    if !allow.is_empty() {
        return only("--allow", "; use /rules allow TOOL");
    }
    let call = budget.is_some() || model.is_some() || profile.is_some();
    if mode.is_some() || policy.is_some() || layout.is_some() || (call && !once) {
        return only(
            "A setting for one call",
            "; use /mode, /policy, /layout, /budget, /model, or /profile to change the branch's setting",
        );
    }
    if matches!(command, Some(Command::Program(ProgramCommand::Completions { .. } | ProgramCommand::Man))) {
        return only("This command", "");
    }
    if matches!(command, Some(Command::Doctor { repair: true, .. })) {
        return only("--repair", ", while no pleach process has the store open");
    }
    Ok(())
}
