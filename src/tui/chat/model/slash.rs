//! Completions of a line that begins with a slash, best match first, and the usage hint of a command while its
//! arguments are typed.
//! Not for: the table of commands and its grammar (`config::commands`), or running a command (`update::commands`).

use crate::config::commands::table::{self, Row};
use crate::tui::model::fuzzy::Fuzzy;

/// Returns the rows of the command table that complete the line.
pub fn completions(line: &str) -> Vec<&'static Row> {
    let Some(typed) = line.strip_prefix('/') else { return Vec::new() };
    let all = table::all().iter();
    if typed.is_empty() {
        return all.collect();
    }
    if typed.contains(char::is_whitespace) {
        return all.filter(|row| row.name.len() > typed.len() && row.name.starts_with(typed)).collect();
    }
    let mut fuzzy = Fuzzy::new(typed);
    let mut found: Vec<_> = all.filter_map(|row| fuzzy.find(&row.name).map(|(score, _)| (score, row))).collect();
    found.sort_by_key(|(score, row)| (!row.name.starts_with(typed), std::cmp::Reverse(*score), row.name.len()));
    found.into_iter().map(|(_, row)| row).collect()
}

/// All commands, each once.
pub fn commands() -> &'static [Row] {
    table::rows()
}

/// The short names of commands, each with the command that it stands for.
pub fn short_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    table::ALIASES.iter().map(|alias| (alias.name, alias.means))
}

/// The row of the command whose arguments are being typed, if any.
pub fn hint(line: &str) -> Option<&'static Row> {
    line.strip_prefix('/').filter(|typed| typed.contains(char::is_whitespace)).and_then(table::row_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::model::keys::Action;

    fn names(line: &str) -> Vec<&'static str> {
        completions(line).into_iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn names_are_completed_word_by_word() {
        assert_eq!(names("/bud")[0], "budget");
        assert_eq!(names("/q")[0], "quit");
        assert_eq!(names("/context w"), ["context window"]);
        assert!(names("/context ").contains(&"context show"));
        assert!(names("/budget 1").is_empty());
        assert!(names("/").len() > Action::ALL.len());
        assert_eq!(names("/")[0], "mode", "what a newcomer may want stands first");
    }

    #[test]
    fn usage_is_shown_while_arguments_are_typed() {
        assert_eq!(hint("/context window ").unwrap().usage(), "/context window TURNS");
        assert_eq!(hint("/window 3").unwrap().usage(), "/window TURNS");
        assert_eq!(hint("/budg"), None);
        assert_eq!(hint("/nonsense 3"), None);
    }
}
