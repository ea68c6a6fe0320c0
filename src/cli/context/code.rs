//! `index` and `retrieve --code`: indexes a workspace's symbols and searches them.
//! Not for: the index itself (`code`).

use super::retrieve;
use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::number;
use crate::cli::stop::Stop;
use crate::domain::call::tokens::counted;
use crate::domain::code::{CodeMap, CodeSearchResult, IndexStatus, NearSymbolReason, ParseOutcome};
use crate::engine::api::{CodeAct, ToolAnswer, ToolRequest};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// The default token budget of search results.
const DEFAULT_BUDGET: u32 = 4_000;
/// The default token budget of the map.
const MAP_BUDGET: u32 = 200;
/// The maximum number of central symbols listed with the map.
const MAX_SYMBOLS: usize = 6;

/// A line of a batch.
#[derive(Deserialize)]
struct Line {
    id: Value,
    query: String,
}

fn request(dir: Option<&Path>, act: CodeAct) -> ToolRequest {
    ToolRequest::Code { root: dir.map(Path::to_path_buf), act }
}

pub(crate) fn index(run: &mut Run<'_, '_>, dir: Option<&Path>) -> Result<(), Stop> {
    let status = expect_answer!(run, Tool(ToolAnswer::Indexed), request(dir, CodeAct::Index));
    for note in &status.notes {
        run.io.note(note);
    }
    if run.io.json {
        return run.io.value(&figures(&status));
    }
    show_status(run, &status);
    Ok(())
}

/// `index --map`.
pub(crate) fn map(run: &mut Run<'_, '_>, dir: Option<&Path>) -> Result<(), Stop> {
    let budget = run.global.budget.unwrap_or(MAP_BUDGET);
    let map = expect_answer!(run, Tool(ToolAnswer::Map), request(dir, CodeAct::Map { budget, anchors: MAX_SYMBOLS }));
    if run.io.json {
        return run.io.value(&map);
    }
    show_map(run, &map);
    Ok(())
}

/// `retrieve --code`.
pub(crate) fn find(
    run: &mut Run<'_, '_>,
    query: &[String],
    batch: Option<&Path>,
    dir: Option<&Path>,
) -> Result<(), Stop> {
    if let Some(file) = batch {
        return retrieve::batch(run, file, "{\"id\": …, \"query\": …}", |run, line: Line, _| {
            Ok(shape(&line.id, &search(run, line.query, dir)?))
        });
    }
    let query = run.io.text(query)?.unwrap_or_default();
    let found = search(run, query, dir)?;
    if run.io.json {
        return run.io.value(&shape(&Value::Null, &found));
    }
    show(run, &found);
    Ok(())
}

fn search(run: &mut Run<'_, '_>, query: String, dir: Option<&Path>) -> Result<CodeSearchResult, Stop> {
    let budget = run.global.budget.unwrap_or(DEFAULT_BUDGET);
    Ok(*expect_answer!(run, Tool(ToolAnswer::Code), request(dir, CodeAct::Find { query, budget })))
}

fn shape(id: &Value, found: &CodeSearchResult) -> Value {
    json!({
        "id": id,
        "root": found.root,
        "items": found.items,
        "near": found.near,
        "elapsed_ms": found.elapsed_us as f64 / 1_000.0,
    })
}

fn figures(status: &IndexStatus) -> Value {
    let mut value = json!(status);
    for (name, (files, symbols)) in &status.languages {
        value["languages"][name] = json!({ "files": files, "symbols": symbols });
    }
    if let Some(fields) = value.as_object_mut() {
        fields.remove("elapsed_us");
    }
    value["seconds"] = (status.elapsed_us as f64 / 1_000_000.0).into();
    value
}

fn show_status(run: &mut Run<'_, '_>, status: &IndexStatus) {
    let seconds = status.elapsed_us as f64 / 1_000_000.0;
    let memory = status.peak_bytes.map_or_else(String::new, |bytes| format!(", peak memory {} MiB", bytes >> 20));
    run.io.say(&format!(
        "{}: {}, {} updated, {seconds:.2} s{memory}",
        status.root,
        counted(status.files as u64, "file"),
        number(status.read as u64)
    ));
    run.io.say(&format!(
        "{} in {}, {} between symbols",
        counted(status.symbols as u64, "symbol"),
        counted(status.lines, "line"),
        counted(status.uses as u64, "reference")
    ));
    for (name, (files, symbols)) in &status.languages {
        run.io.say(&format!(
            "  {name:<11} {:>14}  {:>15}",
            counted(*files as u64, "file"),
            counted(*symbols as u64, "symbol")
        ));
    }
    for (outcome, count) in &status.outcomes {
        let why = match outcome {
            ParseOutcome::Parsed => continue,
            ParseOutcome::NoLanguage => "unsupported language",
            ParseOutcome::TooLarge => "too large",
            ParseOutcome::Binary => "binary",
            ParseOutcome::Generated => "generated",
            ParseOutcome::Unreadable => "unreadable",
        };
        run.io.say(&format!("  skipped: {} {why}", number(*count as u64)));
    }
    if status.errors > 0 {
        run.io.say(&format!(
            "  {} files with syntax errors; the rest of each file is indexed",
            number(status.errors as u64)
        ));
    }
    if status.symbols == 0 {
        run.io.note("no code in a supported language");
    }
    if status.more {
        run.io.note("The workspace exceeds the index limits; the remaining files are skipped.");
    }
}

fn show_map(run: &mut Run<'_, '_>, map: &CodeMap) {
    run.io.words(&map.text);
    run.io.say(&format!("({} tokens, estimated)", number(map.tokens)));
    for anchor in &map.anchors {
        run.io.say(&format!("{} {}:{}  {}", anchor.kind.name(), anchor.path, anchor.line, anchor.symbol));
        if !anchor.doc.is_empty() {
            run.io.say(&format!("    {}", anchor.doc));
        }
    }
}

fn show(run: &mut Run<'_, '_>, found: &CodeSearchResult) {
    let tokens: u32 = found.items.iter().map(|item| item.tokens).sum();
    run.io.say(&format!("{} found in {}, {} tokens (estimated)", found.items.len(), found.root, number(tokens)));
    for item in &found.items {
        run.io.words(&item.text);
    }
    for near in &found.near {
        let why = match near.why {
            NearSymbolReason::NoRoom { needed } => format!("over budget, needs {}", counted(needed.into(), "token")),
            NearSymbolReason::Weak { .. } => "others match better".into(),
            NearSymbolReason::Inside => "part of another included symbol".into(),
            NearSymbolReason::Sent => "already in the request".into(),
            NearSymbolReason::Excluded => "left out by you".into(),
            NearSymbolReason::Changed => "file changed since indexing".into(),
        };
        run.io.say(&format!("  near {}  {}  {:.2}  {why}", near.path, near.symbol, near.score));
    }
}
