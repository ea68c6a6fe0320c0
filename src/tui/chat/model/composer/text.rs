//! The text of a message with its folded pastes and attached files.
//! Not for: editing the text (`composer`).

use super::{DraftKind, FOLD_CHARS, FOLD_LINES, line_ends};
use crate::domain::conversation::attachment;
use crate::tui::chat::model::complete::named;
use std::fmt::Write as _;
use std::sync::Arc;

/// A paste that is shown as a placeholder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Paste {
    pub(super) chip: String,
    pub(super) text: Arc<str>,
}

/// A file or symbol that is sent with the message while its name is in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Attached {
    pub(super) token: String,
    pub(super) place: String,
    pub(super) text: Arc<str>,
}

/// A text that was taken out of the composer.
#[derive(Clone, Debug, Default)]
pub(super) struct Saved {
    pub(super) lines: Vec<String>,
    pub(super) pastes: Vec<Paste>,
    pub(super) files: Vec<Attached>,
    pub(super) kind: DraftKind,
    /// The draft that editing a sent message replaced.
    pub(super) before_edit: Option<Box<ReplacedDraft>>,
}

impl Saved {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(String::is_empty) && self.kind == DraftKind::Message
    }

    pub(super) fn text(&self) -> Arc<str> {
        Arc::from(expand(&self.lines, &self.pastes, &self.files, None))
    }

    /// The text as it is saved.
    pub(super) fn stored(&self) -> Arc<str> {
        Arc::from(expand(&self.lines, &self.pastes, &self.files, Some(FOLD_MARK)))
    }
}

/// The contents of the composer that editing a sent message replaced.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplacedDraft {
    pub(super) draft: Saved,
    /// Text of the sent message.
    pub(super) sent: Arc<str>,
}

/// Stands before and after each folded text of a saved draft: a code point that is no character, so that no text has it.
pub(super) const FOLD_MARK: char = '\u{fdd0}';

/// The text of a saved draft.
pub(crate) fn without_marks(stored: &str) -> String {
    stored.replace(FOLD_MARK, "")
}

/// Whether two texts, as drafts are saved, are the same apart from their folds.
pub(crate) fn same_text(a: &str, b: &str) -> bool {
    a.split(FOLD_MARK).flat_map(str::bytes).eq(b.split(FOLD_MARK).flat_map(str::bytes))
}

/// A text of which nobody knows which parts were pasted, as a draft is saved: folded if a paste of it would be.
pub(super) fn presumed_paste(text: &Arc<str>) -> Arc<str> {
    if is_long(text) { format!("{FOLD_MARK}{text}{FOLD_MARK}").into() } else { text.clone() }
}

/// Whether a paste is folded because of its length.
pub(super) fn is_long(text: &str) -> bool {
    text.chars().nth(FOLD_CHARS).is_some() || text.matches('\n').count() >= FOLD_LINES
}

/// Appends a file in a fence that its text cannot close.
fn append_file(text: &mut String, file: &Attached, mark: Option<char>) {
    let fence = attachment::fence(&file.text);
    let path = attachment::path(&file.place);
    let kind = path.rsplit_once('.').map_or("", |(_, kind)| kind);
    let kind = if kind.chars().all(|c| c.is_ascii_alphanumeric()) { kind } else { "" };
    let end = if file.text.ends_with('\n') { "" } else { "\n" };
    text.push_str("\n\n");
    text.extend(mark);
    let _ = write!(text, "{}\n{fence}{kind}\n{}{end}{fence}", attachment::heading(&file.place), file.text);
    text.extend(mark);
}

/// The first placeholder of a text: its position and its paste.
fn first_paste<'a>(text: &str, pastes: &'a [Paste]) -> Option<(usize, &'a Paste)> {
    pastes.iter().filter_map(|paste| Some((text.find(&paste.chip)?, paste))).min_by_key(|(at, _)| *at)
}

/// The lines with their pastes unfolded, followed by the attached files; each paste and file is enclosed in `mark`.
pub(super) fn expand(lines: &[String], pastes: &[Paste], files: &[Attached], mark: Option<char>) -> String {
    let shown = lines.join("\n");
    let mut text = String::with_capacity(shown.len());
    let mut rest = shown.as_str();
    // Only the shown text can contain placeholders: a pasted text is not searched for others.
    while let Some((at, paste)) = first_paste(rest, pastes) {
        text.push_str(&rest[..at]);
        text.extend(mark);
        text.push_str(&paste.text);
        text.extend(mark);
        rest = &rest[at + paste.chip.len()..];
    }
    text.push_str(rest);
    files.iter().filter(|file| named(lines, &file.token)).for_each(|file| append_file(&mut text, file, mark));
    text
}

/// The text of an old message without control characters, as the text area needs it.
pub(super) fn visible(text: &str) -> String {
    let text = line_ends(text);
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect()
}
