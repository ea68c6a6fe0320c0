//! Updates of the completion popup for names after an `@`, and the attachment of the named file or symbol.
//! Not for: commands after a slash (`ask`).

use crate::domain::base::Failure;
use crate::domain::call::tokens::grouped;
use crate::domain::code::NamedSymbol;
use crate::engine::api::{CodeAct, FileAct, FileList, ToolRequest};
use crate::tui::chat::model::complete::{CompletionItem, CompletionPopup, CompletionSource, mention};
use crate::tui::chat::model::pending::ComposerPending;
use crate::tui::update::prelude::*;
use std::sync::Arc;

/// How many names are requested.
const MAX_NAMES: usize = 50;

/// Opens, refreshes, or closes the popup according to the text before the cursor.
pub(crate) fn follow(model: &mut Model, out: &mut Vec<Cmd>) {
    let writing = model.focus == Focus::Composer && model.layers.is_empty() && model.session.is_some();
    let found = Some(()).filter(|()| writing && !model.composer.commanding()).and_then(|()| {
        let (row, column) = model.composer.cursor();
        let line = model.composer.area().lines().get(row)?;
        mention(line, column).map(|(at, word)| ((row, at), word))
    });
    let Some((at, word)) = found else {
        if let Some(popup) = model.popup.take().filter(|popup| writing && !popup.closed) {
            typed(model, &popup, out);
        }
        return;
    };
    let mut popup = model.popup.take().filter(|popup| popup.at == at).unwrap_or_default();
    let fresh = popup.ticket == 0 || popup.word != word;
    (popup.at, popup.word) = (at, word.clone());
    if fresh && !popup.closed {
        // Symbols are requested from the first letter on.
        if word.is_empty() {
            popup.symbols = 0;
            popup.fill(CompletionSource::Symbols, Vec::new());
        } else {
            let act = CodeAct::Names { typed: word.clone(), most: MAX_NAMES };
            popup.symbols = send(model, ToolRequest::Code { root: None, act }, ComposerPending::Complete, out);
        }
        let request = ToolRequest::Files(FileAct::Find { query: word, limit: MAX_NAMES });
        popup.ticket = send(model, request, ComposerPending::Complete, out);
    }
    model.popup = Some(popup);
}

/// Handles a name that was typed without choosing it from the popup: if it exists, also attaches its file or symbol.
fn typed(model: &mut Model, popup: &CompletionPopup, out: &mut Vec<Cmd>) {
    let (row, at) = popup.at;
    let line: Vec<char> = model.composer.area().lines().get(row).map(|line| line.chars().collect()).unwrap_or_default();
    let whole: String = line.get(at..).unwrap_or_default().iter().take_while(|c| !c.is_whitespace()).collect();
    let name =
        whole.trim_start_matches('@').trim_end_matches([',', '.', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '`']);
    let same = popup.word.starts_with(name) || name.starts_with(&popup.word);
    if name.is_empty() || !same || !whole.starts_with('@') || model.composer.has_attachment(name) {
        return;
    }
    let act = CodeAct::Names { typed: name.to_owned(), most: MAX_NAMES };
    send(model, ToolRequest::Code { root: None, act }, ComposerPending::Check(name.to_owned()), out);
    let request = ToolRequest::Files(FileAct::Find { query: name.to_owned(), limit: MAX_NAMES });
    send(model, request, ComposerPending::Check(name.to_owned()), out);
}

/// Attaches the file with this name, if it is in the list.
pub(crate) fn attach_file(model: &mut Model, name: String, list: &FileList, out: &mut Vec<Cmd>) {
    if list.paths.contains(&name) {
        attach(model, name, None, out);
    } else if name.contains('/') && list.note.is_empty() {
        let text = format!("There is no file {name} here; the message contains only its name.");
        model.status.say(Severity::Notice, text, model.now);
    }
}

/// Attaches the symbol with this name, if exactly one of these has it.
pub(crate) fn attach_symbol(model: &mut Model, name: String, symbols: Vec<NamedSymbol>, out: &mut Vec<Cmd>) {
    let mut same = symbols.into_iter().filter(|symbol| symbol.short == name);
    if let (Some(named), None) = (same.next(), same.next()) {
        attach(model, name, Some(Box::new(named)), out);
    }
}

/// Requests the text of a file, or of a symbol if there is one, to attach it.
fn attach(model: &mut Model, name: String, symbol: Option<Box<NamedSymbol>>, out: &mut Vec<Cmd>) {
    let place = symbol.as_ref().map_or_else(|| name.clone(), |symbol| symbol.place());
    let request = match symbol {
        None => ToolRequest::Files(FileAct::Read { path: name.clone() }),
        Some(symbol) => ToolRequest::Code { root: None, act: CodeAct::Source(symbol) },
    };
    send(model, request, ComposerPending::Attach { name, place }, out);
}

/// Stores the file names.
pub(crate) fn arrived(model: &mut Model, ticket: u64, list: FileList) {
    if let Some(popup) = model.popup.as_mut().filter(|popup| popup.ticket == ticket) {
        popup.fill(CompletionSource::Files, list.paths.into_iter().map(CompletionItem::file).collect());
        popup.note = list.note;
    }
}

/// Stores the symbols.
pub(crate) fn store_symbols(model: &mut Model, ticket: u64, symbols: Vec<NamedSymbol>) {
    if let Some(popup) = model.popup.as_mut().filter(|popup| popup.symbols == ticket) {
        popup.fill(CompletionSource::Symbols, symbols.into_iter().map(CompletionItem::symbol).collect());
    }
}

/// The popup, if it is visible and receives the keys.
fn open(model: &mut Model) -> Option<&mut CompletionPopup> {
    let here = model.focus == Focus::Composer && model.layers.is_empty();
    model.popup.as_mut().filter(|popup| here && popup.seen())
}

/// Moves the selection up or down. Returns false if the popup is not visible.
pub(crate) fn step(model: &mut Model, up: bool) -> bool {
    open(model).filter(|popup| !popup.items.is_empty()).is_some_and(|popup| {
        popup.step(up);
        true
    })
}

/// Closes the popup until another name is begun. Returns false if it is not visible.
pub(crate) fn close(model: &mut Model) -> bool {
    open(model).is_some_and(|popup| {
        popup.closed = true;
        true
    })
}

/// Inserts the selected name and attaches its file or symbol. Returns false if there is none.
pub(crate) fn take(model: &mut Model, out: &mut Vec<Cmd>) -> bool {
    let Some(popup) = open(model) else { return false };
    let Some(item) = popup.selected().cloned() else { return false };
    let typed = popup.word.chars().count();
    model.popup = None;
    model.composer.put_name(typed, &item.name);
    model.plan.touch(model.now);
    attach(model, item.name, item.symbol, out);
    true
}

/// Attaches the text of the file or symbol at a place; the text has this many masked secrets.
pub(crate) fn attached(model: &mut Model, name: &str, place: &str, text: Arc<str>, masked: usize) {
    let bytes = grouped(text.len() as u64);
    if !model.composer.attach(name, place, text) {
        return;
    }
    model.plan.touch(model.now);
    let key = model.keys.key_named("expand-paste");
    let secret = match masked {
        0 => String::new(),
        1 => " 1 possible secret is masked.".to_owned(),
        n => format!(" {n} possible secrets are masked."),
    };
    let text = format!("Attached the current text of {place}, {bytes} bytes; {key} shows it.{secret}");
    model.status.say(if masked > 0 { Severity::Warning } else { Severity::Notice }, text, model.now);
}

/// Reports that the text of a file or symbol could not be read.
pub(crate) fn not_attached(model: &mut Model, failure: &Failure) {
    let text = format!("{} The message contains only its name.", failure.what);
    model.status.say(Severity::Warning, text, model.now);
}
