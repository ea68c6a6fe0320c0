//! Completions of a line that begins with a slash, best match first, and the usage hint of a command while its
//! arguments are typed.
//! Not for: the table of commands and its grammar (`config::commands`), or running a command (`update::commands`).

use crate::config::commands::read;
use crate::config::commands::table::{self, Row};
use crate::tui::model::fuzzy::Fuzzy;

/// A row of the table of commands.
pub(crate) type CommandRow = Row;

/// A line that starts with a slash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlashLine {
    /// The line as it is shown, with placeholders for folded pastes.
    pub shown: String,
    /// The line with the pasted texts.
    pub full: String,
    /// The words of the command, without the slash; a pasted text is a part of one word.
    pub words: Vec<String>,
}

impl SlashLine {
    /// Returns a line without pastes.
    pub fn new(line: &str) -> Self {
        Self::with_pastes(line, &[])
    }

    /// Returns a line whose placeholders stand for these texts.
    pub fn with_pastes(shown: &str, pastes: &[(&str, &str)]) -> Self {
        let mut order: Vec<(usize, &str, &str)> = pastes
            .iter()
            .filter_map(|(placeholder, text)| Some((shown.find(placeholder)?, *placeholder, *text)))
            .collect();
        order.sort_unstable_by_key(|(at, ..)| *at);
        // A placeholder contains spaces, so a control character, which no line contains, takes its place in the split.
        let (mut marked, mut full, mut end) = (String::new(), String::new(), 0);
        for (at, placeholder, text) in &order {
            let before = &shown[end..*at];
            marked.extend([before, MARK]);
            full.extend([before, text]);
            end = at + placeholder.len();
        }
        marked.push_str(&shown[end..]);
        full.push_str(&shown[end..]);
        let mut texts = order.into_iter().map(|(.., text)| text);
        let mut put_texts = |word: String| {
            let mut parts = word.split(MARK);
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |word, rest| word + texts.next().unwrap_or_default() + rest)
        };
        let mut words: Vec<String> = Vec::new();
        for word in read::split(marked.strip_prefix('/').unwrap_or(&marked)) {
            let is_paste = word.starts_with(MARK);
            let text = put_texts(word);
            // A text that starts with a hyphen is not a flag.
            if is_paste && text.starts_with('-') && !words.iter().any(|word| word == "--") {
                words.push("--".to_owned());
            }
            words.push(text);
        }
        Self { shown: shown.to_owned(), full, words }
    }
}

/// Stands for a folded paste while a line is split.
const MARK: &str = "\u{1}";

/// How many recent commands are listed first.
const RECENT: usize = 5;

/// Commands run in this program, newest first.
#[derive(Clone, Debug, Default)]
pub struct RecentCommands(Vec<&'static str>);

impl RecentCommands {
    /// Adds the command of a line that was run.
    pub fn remember(&mut self, line: &str) {
        let Some(row) = line.strip_prefix('/').and_then(table::row_of) else { return };
        self.0.retain(|name| *name != row.name);
        self.0.insert(0, &row.name);
        self.0.truncate(RECENT);
    }
}

/// All rows of the command table in the order of the menu, each with its heading: recent commands, common commands,
/// then the others by group.
pub fn menu(recent: &RecentCommands) -> Vec<(&'static str, &'static Row)> {
    let all = table::all();
    let recent: Vec<&Row> = recent.0.iter().filter_map(|name| all.iter().find(|row| row.name == *name)).collect();
    let heading = |row: &Row| if row.is_common() { "Common" } else { row.group().title() };
    let mut others: Vec<&Row> = all.iter().filter(|row| !recent.iter().any(|other| other.name == row.name)).collect();
    others.sort_by_key(|row| (!row.is_common(), row.group()));
    recent.into_iter().map(|row| ("Recent", row)).chain(others.into_iter().map(|row| (heading(row), row))).collect()
}

/// Returns the rows of the command table that complete the line; after a single slash, all rows as in the menu.
pub fn choices(line: &str, recent: &RecentCommands) -> Vec<&'static Row> {
    let Some(typed) = line.strip_prefix('/') else { return Vec::new() };
    if typed.is_empty() {
        return menu(recent).into_iter().map(|(_, row)| row).collect();
    }
    let all = table::all().iter();
    if typed.contains(char::is_whitespace) {
        let mut found: Vec<_> = all.filter(|row| row.name.starts_with(typed)).collect();
        found.sort_by_key(|row| row.name != typed);
        return found;
    }
    let mut fuzzy = Fuzzy::new(typed);
    let mut found: Vec<_> = all.filter_map(|row| fuzzy.find(&row.name).map(|(score, _)| (score, row))).collect();
    found.sort_by_key(|(score, row)| (!row.name.starts_with(typed), std::cmp::Reverse(*score), row.name.len()));
    found.into_iter().map(|(_, row)| row).collect()
}

/// The index of the choice that Enter takes if no choice was selected with the arrows: the first one, if its name begins
/// with the line. A choice that only resembles the line is not what the person typed.
pub fn continued(line: &str, recent: &RecentCommands) -> Option<usize> {
    let typed = line.strip_prefix('/')?;
    let first = choices(line, recent).into_iter().next()?;
    first.name.get(..typed.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(typed)).then_some(0)
}

/// The completion that Enter takes in place of the line: the one that a person chose, or the first one if it begins with
/// the line, which is no command. None if Enter takes the line.
pub fn taken(line: &str, choice: Option<usize>, recent: &RecentCommands) -> Option<&'static Row> {
    let first = continued(line, recent);
    let is_incomplete = || read::read(line).is_err();
    let at = choice.filter(|at| Some(*at) != first).or(first.filter(|_| is_incomplete()))?;
    choices(line, recent).get(at).copied()
}

/// All commands, each once.
pub fn commands() -> &'static [Row] {
    table::rows()
}

/// All commands, short names, and actions, each once.
pub fn names() -> &'static [Row] {
    table::all()
}

/// The short names of commands, each with its full command.
pub fn short_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    table::ALIASES.iter().map(|alias| (alias.name, alias.means))
}

/// The row of the command that the line begins with, if any.
pub fn known(line: &str) -> Option<&'static Row> {
    line.strip_prefix('/').and_then(table::row_of)
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
        choices(line, &RecentCommands::default()).into_iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn a_folded_paste_is_a_part_of_one_word() {
        let (first, second) = ("- one\n- \"two\" three", "quotes [a b] itself");
        let line = SlashLine::with_pastes("/note see:[c d] and [a b] end", &[("[a b]", first), ("[c d]", second)]);
        assert_eq!(line.words, ["note", "see:quotes [a b] itself", "and", "--", first, "end"]);
        assert_eq!(line.full, format!("/note see:{second} and {first} end"));
        assert_eq!(line.shown, "/note see:[c d] and [a b] end");
        for line in ["/note [a b]", "/add user [a b]", "/ask [a b]"] {
            let words = SlashLine::with_pastes(line, &[("[a b]", first)]).words;
            let Ok(read::Typed::Command(args)) = read::read_words(&words) else { panic!("{line}") };
            assert!(format!("{:?}", args.command).contains(&format!("{first:?}")), "{line}: {:?}", args.command);
        }
        assert_eq!(SlashLine::new("/fork \"a name\"").words, ["fork", "a name"]);
    }

    #[test]
    fn names_are_completed_word_by_word() {
        assert_eq!(names("/bud")[0], "budget");
        assert_eq!(names("/q")[0], "quit");
        assert_eq!(names("/context w"), ["context window"]);
        assert!(names("/context ").contains(&"context show"));
        assert!(names("/budget 1").is_empty());
        assert_eq!(names("/message label")[0], "message label", "a whole name is not completed to a longer one");
        assert!(names("/").len() > Action::ALL.len());
        assert_eq!(names("/")[0], "mode", "common commands are first");
    }

    #[test]
    fn the_menu_lists_each_command_once_by_group_after_recent_ones() {
        let mut recent = RecentCommands::default();
        for line in ["/undo", "/fork a name", "/undo", "/nonsense"] {
            recent.remember(line);
        }
        let menu = menu(&recent);
        assert_eq!(
            menu.iter().take(3).map(|(group, row)| (*group, row.name.as_str())).collect::<Vec<_>>(),
            [("Recent", "undo"), ("Recent", "fork"), ("Common", "mode")]
        );
        let mut names: Vec<&str> = menu.iter().map(|(_, row)| row.name.as_str()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!((names.len(), count), (count, table::all().len()));
        let mut headings: Vec<&str> = menu.iter().map(|(group, _)| *group).collect();
        headings.dedup();
        assert_eq!(headings, ["Recent", "Common", "Context", "Branch", "Calls", "Tools", "Session", "View", "Message"]);
    }

    #[test]
    fn menus_have_whole_descriptions() {
        let text = |name: &str| table::all().iter().find(|row| row.name == name).unwrap().in_menus();
        assert_eq!(text("rules"), "Manage the rules that allow, ask about, or deny tool calls");
        assert!(text("race").starts_with("Send a message on several branches at once,"), "{}", text("race"));
        for row in table::all() {
            assert_eq!(format!("{}.", row.in_menus()), row.sentence);
        }
    }

    #[test]
    fn only_a_name_that_begins_with_the_line_is_taken_without_the_arrows() {
        for line in ["/", "/bud", "/Bud", "/quit", "/context w"] {
            assert_eq!(continued(line, &RecentCommands::default()), Some(0), "{line}");
        }
        for line in ["/quitt", "/modee", "/hm", "/budget 1"] {
            assert_eq!(continued(line, &RecentCommands::default()), None, "{line}");
        }
    }

    #[test]
    fn usage_is_shown_while_arguments_are_typed() {
        assert_eq!(hint("/context window ").unwrap().usage(), "/context window TURNS");
        assert_eq!(hint("/window 3").unwrap().usage(), "/window TURNS");
        assert_eq!(hint("/budg"), None);
        assert_eq!(hint("/nonsense 3"), None);
    }
}
