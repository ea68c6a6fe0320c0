//! The rows of code in a plan: their atoms, titles, and scores, and the text of the map.
//! Not for: choosing the symbols (`code`).

use super::cards::in_thousandths;
use crate::context::render::render_forms;
use crate::domain::base::secrets;
use crate::domain::call::tokens::grouped;
use crate::domain::code::{CodeMap, CodeRef, Parts};
use crate::domain::conversation::Atom;
use crate::domain::planning::Reason;
use crate::domain::planning::{OmittedItem, RowKind, Scores, Source};
use crate::domain::summary::ModuleCard;
use crate::domain::tool::ToolSpec;
use std::fmt::Write as _;

/// The maximum number of module summaries and central symbols in the map.
pub(crate) const ANCHORS: usize = 8;

/// The length of a module summary's line in the map, in characters.
const PART: usize = 120;

pub(crate) fn atom_of(code: &CodeRef) -> Atom {
    Atom::Section { text: code.key() }
}

/// Returns the map's text: folders, then module summaries and central symbols, then a hint on how to explore further.
pub(crate) fn map_text(name: &str, map: &CodeMap, parts: &[String], tools: &[ToolSpec]) -> String {
    let mut body = map.text.clone();
    if !parts.is_empty() {
        body.push_str("\nParts, from summaries that may be wrong:\n");
    }
    for part in parts {
        let _ = writeln!(body, "{part}");
    }
    let symbols = &map.anchors[..map.anchors.len().min(ANCHORS.saturating_sub(parts.len()))];
    if !symbols.is_empty() {
        body.push_str("\nMost depended on:\n");
    }
    for anchor in symbols {
        let doc = if anchor.doc.is_empty() { String::new() } else { format!(": {}", anchor.doc) };
        let _ = writeln!(body, "{} {} ({}){doc}", anchor.kind.name(), anchor.symbol, anchor.path);
    }
    let (body, _) = secrets::mask(&body);
    let offered = |wanted: &str| tools.iter().any(|tool| tool.name == wanted);
    let how = match (offered("request_code_context"), offered("read_file")) {
        (true, _) => " Look for symbols with request_code_context, open them with expand.",
        (false, true) => " Open what you need with read_file.",
        (false, false) => " Ask for what you need.",
    };
    let note = format!(
        "Folders and files of {name}. A number counts files that are not listed; words after a folder come from the \
        folder's own documentation.{how}"
    );
    render_forms::fenced(&format!("Map of the code\n\n{note}"), &body)
}

/// Returns the key line of a summary: its first line, or its second if the first contains only figures.
pub(crate) fn first_line(card: &ModuleCard) -> String {
    let figures = format!("{}: ", card.path);
    let lines =
        card.text.lines().map(|line| line.trim_start_matches(['#', '-', '*', ' '])).filter(|line| !line.is_empty());
    let mut lines = lines.map(|line| (line.starts_with(&figures), line.strip_prefix(figures.as_str()).unwrap_or(line)));
    let line = match (lines.next(), lines.next()) {
        (Some((true, _)), Some((_, second))) if !second.ends_with(':') => second,
        (Some((_, first)), _) => first,
        (None, _) => "",
    };
    line.chars().take(PART).collect()
}

pub(crate) fn place(code: &CodeRef) -> String {
    let (first, last) = code.lines;
    format!("{}, lines {first} to {last}", code.path)
}

pub(crate) fn near_row(
    code: CodeRef,
    tokens: u32,
    reason: Reason,
    remedy: (&str, &str),
    scores: Scores,
) -> OmittedItem {
    let item = OmittedItem::new(atom_of(&code), RowKind::Code, &code.title(), tokens, reason, remedy);
    OmittedItem { source: Source { code: Some(Box::new(code)), ..Source::default() }, scores, ..item }
}

/// Returns the row of a symbol whose lines are part of something that a person excluded.
pub(crate) fn near_excluded(code: CodeRef) -> OmittedItem {
    let remedy = ("include-once", "includes it in the next request");
    let mut row = near_row(code, 0, Reason::UserExcluded { once: false }, remedy, Scores::default());
    row.title.push_str("; part of what you left out");
    row
}

/// Returns the row that says why no code was found or searched.
pub(crate) fn nothing(reason: Reason, among: usize) -> OmittedItem {
    let title = match among {
        0 => "search of the code".to_owned(),
        _ => format!("search of {} symbols of the code", grouped(among as u64)),
    };
    let remedy = ("focus", "focuses the code search on a file, folder, or symbol");
    OmittedItem::new(Atom::code_search(), RowKind::Search, &title, 0, reason, remedy)
}

pub(crate) fn scores(score: f32, parts: &Parts) -> Scores {
    let named = [
        ("words", parts.words),
        ("file", parts.file),
        ("path", parts.path),
        ("graph", parts.graph),
        ("near", parts.near),
        ("exact", parts.exact),
        ("prior", parts.prior),
        ("focus", parts.focus),
        ("meaning", parts.meaning),
    ];
    in_thousandths(score, &named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::code::symbols::{Kind, MapAnchor};
    use crate::domain::summary::accepted::SummarySource;

    #[test]
    fn the_row_for_no_code_names_the_number_of_symbols() {
        for (among, title) in [(0, "search of the code"), (1_234, "search of 1,234 symbols of the code")] {
            let row = nothing(Reason::CodeReading, among);
            assert_eq!((row.title.as_str(), row.kind), (title, RowKind::Search));
            assert_eq!((row.atom, row.reason, row.tokens), (Atom::code_search(), Reason::CodeReading, 0));
        }
    }

    #[test]
    fn the_map_lists_summaries_first_and_at_most_eight_entries() {
        let anchor = |n: usize| MapAnchor {
            symbol: format!("symbol_{n}"),
            kind: Kind::Function,
            path: format!("src/{n}.rs"),
            line: 1,
            doc: String::new(),
        };
        let map = CodeMap { text: "src\n".into(), tokens: 1, anchors: (0..8).map(anchor).collect() };
        let parts: Vec<String> = (0..3).map(|n| format!("src/part_{n} (fresh): does {n}")).collect();
        let text = map_text("work", &map, &parts, &[]);
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} in {text}"));
        assert!(place("src/part_2") < place("symbol_0") && place("may be wrong") < place("src/part_0"));
        assert!(text.contains("symbol_4") && !text.contains("symbol_5"), "{text}");
        assert!(!map_text("work", &map, &[], &[]).contains("Parts, from"));
    }

    #[test]
    fn code_is_placed_by_its_lines() {
        let code = CodeRef {
            path: "src/a.rs".into(),
            qualified: "a".into(),
            kind: Kind::Function,
            lines: (3, 9),
            nth: 0,
            file: crate::domain::base::hash::Hash::default(),
        };
        assert_eq!(place(&code), "src/a.rs, lines 3 to 9");
        assert_eq!([0.0004, 0.0006, -1.5].map(|score| in_thousandths(score, &[]).score), [0, 1, -1_500].map(Some));
    }

    #[test]
    fn the_first_line_is_the_first_line_without_mere_figures() {
        let first_line_of = |text: &str| {
            let (path, source, model, commit) = ("src/a".to_owned(), SummarySource::Extractive, None, None);
            let (text, files) = (text.to_owned(), Vec::new());
            first_line(&ModuleCard {
                path,
                text,
                source,
                model,
                version: 1,
                confidence: 0,
                generated_at: 0,
                commit,
                files,
            })
        };
        for (text, first_line) in [
            ("", ""),
            ("# Parsing\n\nReads files.", "Parsing"),
            ("src/a: 3 files\n- Reads files.", "Reads files."),
            ("src/a: 3 files\nSymbols:\nx", "3 files"),
            ("src/a: 3 files", "3 files"),
        ] {
            assert_eq!(first_line_of(text), first_line, "{text:?}");
        }
        assert_eq!(first_line_of(&"x".repeat(PART + 1)).chars().count(), PART);
    }
}
