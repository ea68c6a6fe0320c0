//! Rows of code in a plan: how each is named, titled and scored, and the text of the map.
//! Not for: which ones there are (`orient`).

use crate::context::project;
use crate::domain::code::{CodeRef, Kind, Scaffold};
use crate::domain::hash::Hash;
use crate::domain::input::Near;
use crate::domain::mark::Atom;
use crate::domain::plan::{Reason, RowKind, Scores, Source};
use crate::domain::tokens::grouped;
use crate::export::secrets;
use std::fmt::Write as _;

/// The row of the map.
pub(super) fn map_atom() -> Atom {
    Atom::Section { text: Hash::of(b"map of the code") }
}

/// The row over the touchpoints.
pub(super) fn heading_atom() -> Atom {
    Atom::Section { text: Hash::of(b"search of the code") }
}

pub(super) fn atom_of(code: &CodeRef) -> Atom {
    Atom::Section { text: code.key() }
}

/// Folders, then central symbols, then how to go on.
pub(super) fn map_text(name: &str, map: &Scaffold, tools: &[crate::domain::trace::ToolSpec]) -> String {
    let mut body = map.text.clone();
    if !map.anchors.is_empty() {
        body.push_str("\nMuch depends on:\n");
    }
    for anchor in &map.anchors {
        let said = if anchor.doc.is_empty() { String::new() } else { format!(": {}", anchor.doc) };
        let _ = writeln!(body, "{} {} ({}){said}", anchor.kind.name(), anchor.symbol, anchor.path);
    }
    let (body, _) = secrets::mask(&body);
    let offered = |wanted: &str| tools.iter().any(|tool| tool.name == wanted);
    let how = match (offered("request_code_context"), offered("read_file")) {
        (true, _) => " Look for symbols with request_code_context, open them with expand.",
        (false, true) => " Open what you need with read_file.",
        (false, false) => " Ask for what you need.",
    };
    let note = format!("Folders and files of {name}; a number stands for files that are not listed.{how}");
    project::fenced(&format!("Map of the code\n\n{note}"), &body)
}

pub(super) fn place(code: &CodeRef) -> String {
    let (first, last) = code.lines;
    format!("{}, lines {first} to {last}", code.path)
}

/// `retry_request  src/net/retry.rs:1-4`
pub(super) fn title(code: &CodeRef) -> String {
    let (first, last) = code.lines;
    let name = if code.kind == Kind::File { "file" } else { own_name(&code.qualified) };
    format!("{name}  {}:{first}-{last}", code.path)
}

fn own_name(qualified: &str) -> &str {
    qualified.rsplit([':', '.']).next().unwrap_or(qualified)
}

pub(super) fn near_row(code: CodeRef, tokens: u32, reason: Reason, remedy: (String, String), scores: Scores) -> Near {
    Near {
        atom: atom_of(&code),
        kind: RowKind::Code,
        title: title(&code),
        tokens,
        reason,
        remedy,
        source: Source { code: Some(Box::new(code)), ..Source::default() },
        scores,
    }
}

/// The row that says why no code was looked up.
pub(super) fn nothing(reason: Reason, among: usize) -> Near {
    Near {
        atom: heading_atom(),
        kind: RowKind::Search,
        title: if among == 0 {
            "search of the code".into()
        } else {
            format!("search of {} symbols of the code", grouped(among as u64))
        },
        tokens: 0,
        reason,
        remedy: ("focus".into(), "keeps to a file, folder or symbol and looks there".into()),
        source: Source::default(),
        scores: Scores::default(),
    }
}

pub(super) fn scores(score: f32, parts: &crate::domain::code::Parts) -> Scores {
    let named = [
        ("words", parts.words),
        ("file", parts.file),
        ("path", parts.path),
        ("graph", parts.graph),
        ("near", parts.near),
        ("exact", parts.exact),
        ("prior", parts.prior),
        ("focus", parts.focus),
    ];
    let parts = named.iter().filter(|(_, part)| *part != 0.0).map(|(name, part)| ((*name).to_owned(), milli(*part)));
    Scores { score: Some(milli(score)), parts: parts.collect() }
}

#[allow(clippy::cast_possible_truncation, reason = "scores are small; what is not is held at the ends")]
pub(super) fn milli(score: f32) -> i32 {
    (score * 1_000.0).round() as i32
}
