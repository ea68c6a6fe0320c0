//! The sentences about lines that clap refused: the error, with the usage and the example of the intended command.
//! Not for: the grammar (`read`).

use super::args::Args;
use super::read::{command_start, expand, with_help_last};
use super::table::{self, Row};
use crate::config::keys::actions::Action;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// Returns the sentence for a command line that clap refused: the error, with the usage and the example of the intended
/// command. The first word is the program's name.
pub fn usage_on_command_line(words: impl IntoIterator<Item = OsString>, error: &clap::Error) -> String {
    let words = with_help_last(words.into_iter().skip(1).collect());
    let words = &words[command_start(&words)..];
    let typed: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    usage_error("pleach ", &typed, &expand(words), Some(error))
}

/// Returns the error with the usage and the example of the intended command. `prefix` precedes the names of commands: a
/// slash, or the program's name and a space.
pub(super) fn usage_error(prefix: &str, typed: &[String], words: &[OsString], error: Option<&clap::Error>) -> String {
    let line = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let reason = error.map(|error| reason(error, typed)).unwrap_or_default();
    let row = table::row_of(&typed.join(" ")).or_else(|| table::row_of(&line));
    let group = words.first().map(|word| format!("{} ", word.to_string_lossy())).unwrap_or_default();
    let members: Vec<&Row> = table::rows().iter().filter(|row| row.name.starts_with(&group)).collect();
    if let Some(row) = row.filter(|row| !row.example.is_empty()) {
        let members = members.into_iter().filter(|member| group.trim_end() == row.name && !member.example.is_empty());
        let flag = error.and_then(global_flag).map(|flag| format!(" [{flag}]")).unwrap_or_default();
        let words = missing_names(error)
            .iter()
            .fold(row.words.clone(), |words, name| words.replace(&format!("[{name}…]"), &format!("{name}…")));
        let row = Row { words: format!("{words}{flag}").trim_start().to_owned(), ..row.clone() };
        return format!("{reason} {}", table::usages(prefix, std::iter::once(&row).chain(members)))
            .trim_start()
            .to_owned();
    }
    let Some(name) = words.first().map(|word| word.to_string_lossy()) else {
        let flag = error.and_then(global_flag).map(|flag| format!(" [{flag}]")).unwrap_or_default();
        return format!("{reason} Usage: {prefix}COMMAND{flag}. `pleach --help` lists all commands and flags.");
    };
    if !members.is_empty() {
        let line = line.strip_suffix(" --help").unwrap_or(&line);
        return format!("Unknown command {prefix}{line}. {}", table::usages(prefix, members));
    }
    if prefix == "/" && Action::from_name(&name).is_some() {
        return format!("/{name} takes no arguments.");
    }
    let name = typed.first().map_or(name, |word| word.as_str().into());
    let known = if prefix == "/" { table::all() } else { table::rows() };
    let similar = similar(&name, known).map(|name| format!(" Did you mean {prefix}{name}?")).unwrap_or_default();
    if prefix == "/" {
        return format!(
            "Unknown command /{name}.{similar} /help lists all commands. To send text that starts with /, type \
            //{name}."
        );
    }
    format!("Unknown command {prefix}{name}.{similar} `pleach --help` lists all commands.")
}

/// Returns the command whose name differs from an unknown name by the fewest typing errors: at most two, and fewer than
/// half of its letters.
fn similar<'a>(unknown: &str, known: &'a [Row]) -> Option<&'a str> {
    let names = known.iter().filter_map(|row| row.name.split(' ').next());
    let near = names.map(|name| (strsim::damerau_levenshtein(unknown, name), name));
    let best = near.filter(|(errors, name)| *errors <= 2 && errors * 2 < name.len()).min();
    best.map(|(_, name)| name)
}

/// Returns the flag of every command, such as `--budget N`, whose value clap refused; `None` if it refused another part.
fn global_flag(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else { return None };
    let name = shown.split_whitespace().next()?.strip_prefix("--")?;
    let is_global = Args::description().get_arguments().any(|arg| arg.get_long() == Some(name) && arg.is_global_set());
    is_global.then(|| shown.replace(['<', '>'], ""))
}

/// Returns the sentence about a flag whose value is missing; a short name such as `/note` stands for its flag. `None` if
/// the error is another one, or the flag takes one of several words.
fn missing_value(error: &clap::Error, typed: &[String]) -> Option<String> {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_empty =
        matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if value.is_empty());
    let has_choice = matches!(error.get(ContextKind::ValidValue), Some(ContextValue::Strings(all)) if !all.is_empty());
    if error.kind() != ErrorKind::InvalidValue || !is_empty || has_choice {
        return None;
    }
    let shown = shown.replace(['<', '>'], "");
    let (flag, value) = shown.split_once(' ')?;
    let has_flag = typed.iter().any(|word| word == flag);
    Some(if has_flag { format!("{flag} needs a value: {value}.") } else { missing_sentence(&[value.to_owned()]) })
}

/// Returns the names of the arguments that clap misses; none if the error is another one.
fn missing_names(error: Option<&clap::Error>) -> Vec<String> {
    let error = error.filter(|error| error.kind() == ErrorKind::MissingRequiredArgument);
    let Some(ContextValue::Strings(missing)) = error.and_then(|error| error.get(ContextKind::InvalidArg)) else {
        return Vec::new();
    };
    // `<BRANCH> [NAME]` is an optional first value and a required last one.
    let required = |name: &String| {
        let last = if name.starts_with('-') { name } else { name.rsplit(' ').next().unwrap_or_default() };
        last.replace(['<', '>', '.', '[', ']'], "")
    };
    missing.iter().map(required).collect()
}

/// Returns the sentence about missing arguments.
fn missing_sentence(names: &[String]) -> String {
    match names {
        [name] => format!("The argument {name} is missing."),
        names => format!("The arguments {} are missing.", names.join(" and ")),
    }
}

/// Returns clap's error message as one sentence, without usage and tips. `typed` are the words of the line.
fn reason(error: &clap::Error, typed: &[String]) -> String {
    if let Some(missing) = missing_value(error, typed) {
        return missing;
    }
    let missing = missing_names(Some(error));
    if !missing.is_empty() {
        return missing_sentence(&missing);
    }
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = in_words(error, line.strip_prefix("error: ").unwrap_or(&line));
    let line = line.trim_end_matches('.').trim_end_matches(" found");
    let mut chars = line.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
}

/// Returns clap's message with the argument as usages name it, and with the values that it takes as a sentence.
fn in_words(error: &clap::Error, line: &str) -> String {
    let mut line = line.to_owned();
    if let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) {
        line = line.replace(&format!("'{shown}'"), &format!("'{}'", shown.replace(['<', '>'], "")));
    }
    if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue)
        && let [first @ .., last] = values.as_slice()
    {
        let shown = format!(" [possible values: {}]", values.join(", "));
        line = line.replace(&shown, &format!(": must be {}, or {last}", first.join(", ")));
    }
    line
}
