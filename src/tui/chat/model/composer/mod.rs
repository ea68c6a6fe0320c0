//! The composer: the message being written, with its purpose, its folded pastes, and its attached files.
//! Not for: sending (`update`) or commands (`slash`).

mod drafts;
pub(crate) mod text;

use super::complete::named;
use super::history::History;
use super::slash::{CommandRow, SlashLine};
use crate::config::commands::table;
use crate::domain::base::{BranchId, Safe, SessionId};
use crate::domain::call::tokens::{counted, grouped};
use crate::domain::planning::{Draft, DraftKind, SearchChoice};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use text::{Attached, FOLD_MARK, Paste, ReplacedDraft, Saved, expand, is_long};
use tui_textarea::{CursorMove, TextArea, WrapMode};

/// A paste with more characters than this is folded.
const FOLD_CHARS: usize = 2_000;
/// A paste with more lines than this is folded.
const FOLD_LINES: usize = 20;

/// The composer.
pub struct Composer {
    area: TextArea<'static>,
    pastes: Vec<Paste>,
    files: Vec<Attached>,
    kind: DraftKind,
    /// Whether to search older messages for the next call.
    pub search: SearchChoice,
    drafts: HashMap<BranchId, Saved>,
    before_edit: Option<Box<ReplacedDraft>>,
    history: History,
    /// The draft, while a message of the history is shown.
    draft_below: Option<Saved>,
    /// Whether ↑ was pressed and the earlier messages are being loaded.
    pub awaits_history: bool,
    /// Texts cleared in earlier runs of the program, with their times in milliseconds.
    pub cleared_before: Vec<(i64, Arc<str>)>,
    /// Cleared texts that are not saved yet, oldest first.
    cleared: Vec<Arc<str>>,
    /// The text, and the text as it is saved.
    whole: Option<[Arc<str>; 2]>,
    /// Index of the selected completion.
    pub choice: Option<usize>,
    /// Whether Esc closed the list of commands.
    closed: bool,
    /// The session whose earlier messages are loaded or requested.
    pub seeded: Option<SessionId>,
    /// The saved drafts; None for a draft that could not be saved.
    saved_drafts: HashMap<BranchId, Option<Arc<str>>>,
}

impl Default for Composer {
    fn default() -> Self {
        Self {
            area: area(Vec::new()),
            pastes: Vec::new(),
            files: Vec::new(),
            kind: DraftKind::Message,
            search: SearchChoice::Auto,
            drafts: HashMap::new(),
            before_edit: None,
            history: History::default(),
            draft_below: None,
            awaits_history: false,
            cleared_before: Vec::new(),
            cleared: Vec::new(),
            whole: None,
            choice: None,
            closed: false,
            seeded: None,
            saved_drafts: HashMap::new(),
        }
    }
}

impl fmt::Debug for Composer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Composer")
            .field("lines", &self.area.lines().len())
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// Creates a text area with this program's settings.
pub fn area(lines: Vec<String>) -> TextArea<'static> {
    let mut area = TextArea::new(if lines.is_empty() { vec![String::new()] } else { lines });
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(ratatui::style::Style::default());
    area.set_max_histories(200);
    area
}

/// Converts all line ends to `\n`.
pub fn line_ends(text: &str) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() }
}

impl Composer {
    /// The text area, for drawing.
    pub fn area(&self) -> &TextArea<'static> {
        &self.area
    }

    /// The text area, for changing the text. Clears the data derived from the old text.
    pub fn edit(&mut self) -> &mut TextArea<'static> {
        self.whole = None;
        self.choice = None;
        self.closed = false;
        self.awaits_history = false;
        self.history.leave();
        self.keep_replaced_draft();
        &mut self.area
    }

    /// The purpose of the text.
    pub fn kind(&self) -> DraftKind {
        self.kind
    }

    /// Whether the composer is empty.
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// The first line as shown; commands are typed there.
    pub fn first_line(&self) -> &str {
        self.area.lines().first().map_or("", String::as_str)
    }

    /// Whether the text is a single line that begins a command.
    pub fn commanding(&self) -> bool {
        let line = self.first_line();
        self.area.lines().len() == 1 && line.starts_with('/') && !line.starts_with("//")
    }

    /// The command that the first line begins.
    fn command(&self) -> Option<&'static CommandRow> {
        let line = self.first_line().strip_prefix('/')?;
        table::row_of(line)
    }

    /// The name of the command that the first of several lines begins. Such a text is neither a command, which is one
    /// line, nor meant as a message.
    pub fn command_over_lines(&self) -> Option<&'static str> {
        self.command().filter(|_| self.area.lines().len() > 1).map(|row| row.name.as_str())
    }

    /// Whether the completions of a command are listed.
    pub fn listing(&self) -> bool {
        self.commanding() && !self.closed
    }

    /// Closes the list of completions. Returns false if it is not open.
    pub fn close_list(&mut self) -> bool {
        let open = self.listing();
        self.closed |= open;
        open
    }

    /// The whole text with pastes unfolded and attached files appended; cached until it changes.
    pub fn text(&mut self) -> Arc<str> {
        self.whole()[0].clone()
    }

    fn whole(&mut self) -> &[Arc<str>; 2] {
        self.whole.get_or_insert_with(|| {
            let lines = self.area.lines();
            let text: Arc<str> = Arc::from(expand(lines, &self.pastes, &self.files, None));
            let has_folds = !self.pastes.is_empty() || !self.files.is_empty();
            let stored =
                if has_folds { expand(lines, &self.pastes, &self.files, Some(FOLD_MARK)).into() } else { text.clone() };
            [if text.starts_with("//") { Arc::from(&text[1..]) } else { text }, stored]
        })
    }

    /// The command line in the composer. Pastes are unfolded; attached files are not part of a command.
    pub fn slash_line(&self) -> SlashLine {
        let pastes: Vec<(&str, &str)> = self.pastes().map(|(chip, text)| (chip, &**text)).collect();
        SlashLine::with_pastes(self.first_line(), &pastes)
    }

    /// The draft that sending would submit.
    pub fn draft(&mut self) -> Draft {
        Draft { text: self.text(), kind: self.kind, search: self.search }
    }

    /// The draft of the next request; empty while a command is typed.
    pub fn next_draft(&mut self) -> Draft {
        if self.commanding() { Draft::default() } else { self.draft() }
    }

    /// Inserts a paste. A paste that is long, has invisible characters, or contains the placeholder of another paste is
    /// folded into a placeholder. Several lines pasted into a command are folded too.
    pub fn paste(&mut self, raw: &str) {
        let mut text = line_ends(raw);
        let in_command = self.commanding() && self.command().is_some();
        if in_command {
            text.truncate(text.trim_end_matches('\n').len());
        }
        let is_part = in_command && text.contains('\n');
        let folds = is_part || is_long(&text);
        self.insert(text, folds);
    }

    /// Inserts a text, folded if `folds`, or if it cannot be shown as it is.
    fn insert(&mut self, text: String, folds: bool) {
        let odd = Safe::is_marked(&text);
        let quotes = self.pastes.iter().any(|paste| text.contains(&paste.chip));
        if !odd && !quotes && !folds {
            self.edit().insert_str(&text);
            return;
        }
        let lines = text.lines().count().max(1);
        let chars = text.chars().count();
        let hidden = if odd { ", with control characters" } else { "" };
        // The no-break space distinguishes a placeholder from the same words typed by a person.
        let sizes = format!("{}, {}\u{a0}characters{hidden}", counted(lines as u64, "line"), grouped(chars as u64));
        let is_taken = |chip: &String| {
            self.pastes.iter().any(|paste| paste.chip == *chip)
                || self.area.lines().iter().any(|line| line.contains(chip))
        };
        let mut chip = format!("[pasted {sizes}]");
        let mut again = 2;
        while is_taken(&chip) {
            chip = format!("[pasted {sizes}, no. {again}]");
            again += 1;
        }
        self.edit().insert_str(&chip);
        self.pastes.push(Paste { chip, text: Arc::from(text) });
    }

    /// The pastes whose placeholder is still in the text, with their texts.
    pub fn pastes(&self) -> impl Iterator<Item = (&str, &Arc<str>)> {
        let there = |paste: &&Paste| self.area.lines().iter().any(|line| line.contains(&paste.chip));
        self.pastes.iter().filter(there).map(|paste| (paste.chip.as_str(), &paste.text))
    }

    /// The attached files and symbols: place and text.
    pub fn files(&self) -> impl Iterator<Item = (&str, &Arc<str>)> {
        let lines = self.area.lines();
        self.files.iter().filter(|file| named(lines, &file.token)).map(|file| (file.place.as_str(), &file.text))
    }

    /// Whether a name in the text has an attachment.
    pub fn has_attachment(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.token.strip_prefix('@') == Some(name))
    }

    /// Line and column of the cursor, in characters.
    pub fn cursor(&self) -> (usize, usize) {
        let at = self.area.cursor();
        (at.0, at.1)
    }

    /// Replaces the last `typed` characters before the cursor by a name and a space.
    pub fn put_name(&mut self, typed: usize, name: &str) {
        let area = self.edit();
        for _ in 0..typed {
            area.delete_char();
        }
        area.insert_str(format!("{name} "));
    }

    /// Attaches a file or symbol whose name is in the text. Returns false if the text no longer contains the name.
    pub fn attach(&mut self, name: &str, place: &str, text: Arc<str>) -> bool {
        let token = format!("@{name}");
        if !named(self.area.lines(), &token) {
            return false;
        }
        self.files.retain(|file| file.token != token && file.place != place);
        self.files.push(Attached { token, place: place.to_owned(), text });
        self.whole = None;
        true
    }

    /// Replaces the text and its purpose.
    pub fn set(&mut self, text: &str, kind: DraftKind) {
        self.clear();
        self.kind = kind;
        self.paste(text);
    }

    /// Clears the text, its pastes, and its attachments.
    pub fn clear(&mut self) {
        *self.edit() = area(Vec::new());
        self.pastes.clear();
        self.files.clear();
        self.kind = DraftKind::Message;
        self.search = SearchChoice::Auto;
    }

    /// Replaces the text; the search setting and the draft replaced by an edit stay.
    pub fn replace(&mut self, text: &str, kind: DraftKind) {
        let (search, before) = (self.search, self.before_edit.take());
        self.set(text, kind);
        (self.search, self.before_edit) = (search, before);
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    /// Moves the cursor one row up or down. Returns false at the first or last row.
    pub fn move_row(&mut self, up: bool) -> bool {
        let before = self.area.cursor();
        self.area.move_cursor(if up { CursorMove::Up } else { CursorMove::Down });
        self.area.cursor() != before
    }

    /// Moves the cursor to the start or end of its line. Returns false if it is there.
    pub fn move_to_edge(&mut self, start: bool) -> bool {
        let before = self.area.cursor();
        self.area.move_cursor(if start { CursorMove::Head } else { CursorMove::End });
        self.area.cursor() != before
    }

    /// Whether a message of the history is shown unchanged.
    pub fn recalling(&self) -> bool {
        self.history.is_shown()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pastes_fold_and_expand_unchanged() {
        let mut composer = Composer::default();
        let long = "line\r\n".repeat(100_000);
        composer.paste("see: ");
        composer.paste(&long);
        assert_eq!(composer.area().lines().len(), 1);
        assert!(composer.first_line().starts_with("see: [pasted 100,000 lines"));
        assert_eq!(&*composer.text(), format!("see: {}", long.replace("\r\n", "\n")));
        composer.paste("\u{1f469}\u{200d}\u{1f467} \u{2764}\u{fe0f} ok");
        assert!(composer.first_line().ends_with(" ok"), "joined emoji are ordinary text");
        composer.paste("\x1b[31mred");
        assert!(!composer.first_line().contains('\x1b'));
        assert!(composer.text().contains("\x1b[31mred"));
    }

    /// Only the placeholders in the composer are expanded: none in a pasted text, and no typed text that looks like
    /// one.
    #[test]
    fn a_paste_is_expanded_only_at_its_own_placeholder() {
        let long = |start: &str| format!("{start}{}", "\n".repeat(FOLD_LINES));
        let chip_of = |text: &str| {
            let mut other = Composer::default();
            other.paste(text);
            other.first_line().to_owned()
        };
        // The first paste quotes the placeholder of the second.
        let (chip, second) = (chip_of(&long("b")), long("b"));
        let first = long(&format!("quoted: {chip} "));
        let mut composer = Composer::default();
        composer.paste(&first);
        composer.paste(" and ");
        composer.paste(&second);
        assert_eq!(&*composer.text(), format!("{first} and {second}"));
        // The same words are typed before the placeholder.
        let typed = chip.replace('\u{a0}', " ");
        let mut composer = Composer::default();
        composer.paste(&second);
        composer.area.move_cursor(CursorMove::Head);
        composer.edit().insert_str(&typed);
        assert_eq!(&*composer.text(), format!("{typed}{second}"));
        // The placeholder itself is in the text already, or is pasted into it.
        let mut composer = Composer::default();
        composer.paste(&chip);
        composer.paste(&second);
        composer.paste("\n");
        composer.paste(&chip);
        composer.area.move_cursor(CursorMove::Top);
        composer.area.move_cursor(CursorMove::Head);
        let last = chip.replace(']', ", no. 2]");
        assert_eq!(composer.pastes().map(|(chip, _)| chip).collect::<Vec<_>>(), [last.as_str()]);
        composer.paste(&last);
        assert_eq!(&*composer.text(), format!("{last}{chip}{second}\n{chip}"));
    }

    #[test]
    fn a_file_is_attached_while_its_name_is_in_the_text() {
        let mut composer = Composer::default();
        composer.paste("why does @au");
        composer.put_name(2, "src/auth.rs");
        assert_eq!(composer.first_line(), "why does @src/auth.rs ");
        assert!(composer.attach("src/auth.rs", "src/auth.rs", "fn x() {} // ```\n".into()));
        composer.paste("fail?");
        let want = "why does @src/auth.rs fail?\n\nFile src/auth.rs:\n````rs\nfn x() {} // ```\n````";
        assert_eq!(&*composer.text(), want);
        assert_eq!(composer.files().count(), 1);
        composer.replace("why does @src/auth.rsx fail?", DraftKind::Message);
        assert_eq!((&*composer.text(), composer.files().count()), ("why does @src/auth.rsx fail?", 0));
        assert!(!composer.attach("src/auth.rs", "src/auth.rs", "".into()), "its name is gone");
    }

    #[test]
    fn pasted_lines_are_a_part_of_the_command_before_them() {
        let mut composer = Composer::default();
        composer.paste("/note ");
        composer.paste("first\nsecond\n");
        assert!(composer.commanding(), "{}", composer.first_line());
        assert_eq!(composer.slash_line().words, ["note", "first\nsecond"]);
        assert_eq!(composer.command_over_lines(), None);
        composer.clear();
        composer.paste("/budget ");
        composer.paste("9000\n");
        assert_eq!(composer.slash_line().shown, "/budget 9000");
        for (text, name) in [
            ("/note first\nsecond", Some("note")),
            ("/etc/hosts\nis a file", None),
            ("//note a\nb", None),
            ("a\n/note b", None),
        ] {
            composer.set(text, DraftKind::Message);
            assert_eq!(composer.command_over_lines(), name, "{text}");
        }
    }

    #[test]
    fn a_double_slash_escapes_a_command() {
        let mut composer = Composer::default();
        composer.paste("//etc/hosts");
        assert!(!composer.commanding());
        assert_eq!(&*composer.text(), "/etc/hosts");
    }

    /// Text that was typed around a paste is shown again, however the message came into the history.
    #[test]
    fn a_recalled_message_folds_only_its_pastes() {
        let long = "row\n".repeat(FOLD_LINES + 1);
        let written = || {
            let mut composer = Composer::default();
            for part in ["look at ", &long, " and answer"] {
                composer.paste(part);
            }
            composer
        };
        let (shown, text) = (written().first_line().to_owned(), written().text());
        let mut sent = written();
        sent.sent(&text);
        let mut cleared = written();
        cleared.move_to_history();
        cleared.clear();
        let mut replaced = written();
        replaced.history.remember(&Arc::from("older"));
        assert!(replaced.recall(true));
        replaced.edit();
        replaced.clear();
        for mut composer in [sent, cleared, replaced] {
            composer.seed([(0, text.clone())].into_iter());
            assert!(composer.recall(true));
            assert_eq!((composer.first_line(), composer.pastes().count()), (shown.as_str(), 1));
            assert_eq!(composer.text(), text);
        }
        // Nobody knows what was pasted into a message of an earlier run.
        let mut composer = Composer::default();
        composer.seed([(0, text.clone()), (1, "short".into())].into_iter());
        assert!(composer.recall(true) && composer.recall(true) && !composer.recall(true));
        assert!(composer.first_line().starts_with("[pasted "), "{}", composer.first_line());
    }

    #[test]
    fn history_and_drafts_are_restored() {
        let mut composer = Composer::default();
        let (a, b) = (BranchId(uuid::Uuid::from_u128(1)), BranchId(uuid::Uuid::from_u128(2)));
        composer.sent(&Arc::from("one"));
        composer.sent(&Arc::from("two"));
        assert!(composer.recall(true) && composer.recall(true) && !composer.recall(true));
        assert_eq!((&*composer.text(), composer.cursor()), ("one", (0, 3)), "the cursor is at the end");
        assert!(composer.recall(false) && composer.recall(false));
        assert!(composer.is_empty() && !composer.recall(false));
        composer.paste("draft of a");
        composer.swap(Some(a), b);
        assert!(composer.is_empty());
        composer.swap(Some(b), a);
        assert_eq!(composer.first_line(), "draft of a");
    }
}
