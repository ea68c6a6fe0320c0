//! The lines of workspace files that a request already contains, in tool results and attached files, and the lines that
//! a person excluded.
//! Not for: choosing code (`code`).

use crate::code::find::cards::{SentLines, Sources};
use crate::code::find::names;
use crate::code::index::records::Index;
use crate::context::AlreadyIn;
use crate::domain::base::Failure;
use crate::domain::base::secrets;
use crate::domain::conversation::{Atom, Content, Mark, Part, Role, attachment};
use crate::domain::planning::Warning;
use crate::domain::planning::{Form, Item, PlanInput, Row};
use crate::engine::indexing::code_workspace::{CodeWorkspace, WorkspaceFiles};
use crate::engine::plans::input_builder::{BuiltInput, InputBuilder};
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path};
use std::sync::Arc;

/// The maximum number of warnings about files that changed after they were read.
const MAX_WARNINGS: usize = 4;

#[derive(Deserialize)]
struct ReadFile {
    path: String,
    #[serde(default)]
    start_line: Option<u32>,
}

/// A text of a file in the request: the file's path, the text's first line in the file, and the text.
struct SentText {
    path: String,
    first: u32,
    text: String,
}

/// The lines of each turn that may be left out, because retrieved items may displace it or an accepted summary may
/// replace it.
pub(crate) type Margin = Vec<(Atom, SentLines)>;

/// Returns the current lines of the symbols that these marks exclude.
pub(crate) fn excluded<'m>(index: &Index, marks: impl IntoIterator<Item = &'m Mark>) -> SentLines {
    let mut lines = SentLines::default();
    for code in marks.into_iter().filter(|mark| mark.kind.excludes()).filter_map(|mark| mark.code.as_deref()) {
        if let Some((symbol, _)) = names::resolve(index, code).and_then(|id| index.symbol(id)) {
            lines.add(&code.path, symbol.lines);
        }
    }
    lines
}

/// Returns the lines of the turns that are always sent, and the lines of the margin. Lines that a tool read and that
/// the file no longer contains do not count; the plan warns of them.
pub(crate) fn already_sent(
    builder: &mut InputBuilder,
    workspace: &CodeWorkspace,
    already_in: &AlreadyIn,
    found: &mut BuiltInput,
) -> Result<(SentLines, Margin), Failure> {
    let (replaceable, certain): (Vec<&Row>, Vec<&Row>) =
        already_in.rows.iter().partition(|row| is_covered(row, &found.input));
    let (taken, mut changed) = lines(builder, workspace, found, certain.into_iter().flat_map(|row| &row.items))?;
    let mut margin = Margin::new();
    for row in replaceable {
        let (taken, more) = lines(builder, workspace, found, row.items.iter())?;
        changed.extend(more);
        margin.push((row.atom, taken));
    }
    found.input.warnings.extend(changed.into_iter().take(MAX_WARNINGS).map(|path| Warning::FileChanged { path }));
    for row in &already_in.displaceable {
        if margin.iter().all(|(turn, _)| *turn != row.atom) {
            margin.push((row.atom, lines(builder, workspace, found, row.items.iter())?.0));
        }
    }
    Ok((taken, margin))
}

/// Whether an accepted summary covers the turn of a row.
fn is_covered(row: &Row, input: &PlanInput) -> bool {
    input.covered.iter().any(|covered| match row.atom {
        Atom::Turn { user, tip } => (user, tip) == (covered.user, covered.tip),
        Atom::Preamble { first } => first == covered.user,
        Atom::Message { .. } | Atom::Episode { .. } | Atom::Section { .. } | Atom::Range { .. } => false,
    })
}

/// Returns the lines of some messages that their files still contain, and the files whose lines at these places have
/// changed.
fn lines<'i>(
    builder: &mut InputBuilder,
    workspace: &CodeWorkspace,
    found: &BuiltInput,
    items: impl Iterator<Item = &'i Item>,
) -> Result<(SentLines, BTreeSet<String>), Failure> {
    let mut taken = SentLines::default();
    let mut pieces = Vec::new();
    let mut calls: HashMap<String, (String, String)> = HashMap::new();
    for item in items {
        let read = matches!(item.form, Form::Full | Form::NoState);
        if !(read && (item.calls > 0 || matches!(item.role, Role::Tool | Role::User))) {
            continue;
        }
        let Some(content) = content(builder, found, item)? else { continue };
        pieces_of(item.role, &content, &mut calls, &mut pieces);
    }
    let mut changed = BTreeSet::new();
    for piece in pieces {
        let now = workspace.look(|loaded| WorkspaceFiles(&loaded.root).text(Path::new(&piece.path)));
        let Some(now) = now.flatten() else { continue };
        let line_count = piece.text.lines().count();
        // Possible secrets were masked when the text was sent.
        let now = String::from_utf8_lossy(&now);
        let same = same_lines(&piece, &now).max(same_lines(&piece, &secrets::mask(&now).0));
        if is_changed(same, line_count) {
            changed.insert(piece.path.clone());
        }
        if let Some(more) = same.checked_sub(1) {
            let last = piece.first.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            taken.add(&piece.path, (piece.first, last));
        }
    }
    Ok((taken, changed))
}

fn content(builder: &mut InputBuilder, found: &BuiltInput, item: &Item) -> Result<Option<Arc<Content>>, Failure> {
    match found.contents.messages.get(&item.key) {
        Some(content) => Ok(Some(content.clone())),
        None => builder.content(item.key, item.node),
    }
}

fn pieces_of(role: Role, content: &Content, calls: &mut HashMap<String, (String, String)>, pieces: &mut Vec<SentText>) {
    for (id, name, args) in content.calls() {
        calls.insert(id.to_owned(), (name.to_owned(), args.to_owned()));
    }
    let add_attached = |text: &str, pieces: &mut Vec<SentText>| {
        pieces.extend(attachment::attached_texts(text).into_iter().map(|loaded| SentText {
            path: loaded.path.to_owned(),
            first: loaded.lines.map_or(1, |(first, _)| first),
            text: loaded.text.to_owned(),
        }));
    };
    for part in &content.parts {
        match part {
            Part::Reply { call, body, .. } => match calls.get(call).map(|(name, args)| (name.as_str(), args)) {
                Some(("read_file", args)) => {
                    let Ok(read) = serde_json::from_str::<ReadFile>(args) else { continue };
                    let first = read.start_line.unwrap_or(1).max(1);
                    pieces.push(SentText { path: plain(&read.path), first, text: body.clone() });
                }
                Some(("expand" | "request_code_context", _)) => add_attached(&format!("\n\n{body}"), pieces),
                // The results of other tools contain no lines of files.
                Some(_) | None => {}
            },
            Part::Text { text } if role == Role::User => add_attached(text, pieces),
            Part::Text { .. } | Part::Reasoning { .. } | Part::Call { .. } | Part::Opaque { .. } => {}
        }
    }
}

/// Whether a file no longer contains a text of `count` lines that was read from it, by the number of `same` lines from
/// the first on. The tool may have added two lines of notes to the text.
fn is_changed(same: usize, count: usize) -> bool {
    same + 2 < count || (same == 0 && count > 0)
}

/// Returns a path in the index's format.
fn plain(path: &str) -> String {
    let parts = Path::new(path).components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Returns the number of lines, from the first on, that the file still contains at their place.
fn same_lines(piece: &SentText, now: &str) -> usize {
    let place = now.lines().skip(piece.first.saturating_sub(1) as usize);
    piece.text.lines().zip(place).take_while(|(then, now)| then == now).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_a_tool_read_are_compared_with_the_file() {
        let piece = |first: u32, text: &str| SentText { path: "a".into(), first, text: text.into() };
        let file = "one\ntwo\nthree\nfour\n";
        assert_eq!(same_lines(&piece(2, "two\nthree\n[the file continues at line 4]\n"), file), 2);
        assert_eq!(same_lines(&piece(1, "one\n2\nthree\n"), file), 1);
        assert_eq!(same_lines(&piece(9, "one\n"), file), 0);
        assert_eq!(plain("./src//a.rs"), "src/a.rs");
        let changed =
            [(0, 0), (0, 1), (1, 1), (1, 3), (1, 4), (5, 7), (5, 8)].map(|(same, count)| is_changed(same, count));
        assert_eq!(changed, [false, true, false, false, true, false, true]);
    }

    #[test]
    fn calls_and_messages_contain_texts_of_files() {
        let (mut calls, mut pieces) = (HashMap::new(), Vec::new());
        let call = Part::Call {
            id: "c".into(),
            name: "read_file".into(),
            args: r#"{"path":"src/a.rs","start_line":3,"lines":2}"#.into(),
        };
        let asks = Content { parts: vec![call], extra: None };
        pieces_of(Role::Assistant, &asks, &mut calls, &mut pieces);
        let reply = Part::Reply { call: "c".into(), name: "read_file".into(), body: "x\ny\n".into() };
        pieces_of(Role::Tool, &Content { parts: vec![reply], extra: None }, &mut calls, &mut pieces);
        let message = Content::text("why?\n\nFile b.rs, lines 7 to 8 (f):\n```rs\nfn f() {\n}\n```");
        pieces_of(Role::User, &message, &mut calls, &mut pieces);
        let found: Vec<(&str, u32, &str)> =
            pieces.iter().map(|p| (p.path.as_str(), p.first, p.text.as_str())).collect();
        assert_eq!(found, [("src/a.rs", 3, "x\ny\n"), ("b.rs", 7, "fn f() {\n}")]);
    }
}
