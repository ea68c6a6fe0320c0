//! `retrieve`: searches older messages for one query or many.
//! Not for: the search itself (`retrieval`).

use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::number;
use crate::cli::stop::Stop;
use crate::domain::base::Failure;
use crate::domain::call::tokens::counted;
use crate::domain::call::{Evidence, Gate, MissReason, ScoreParts};
use crate::engine::api::{PlanAnswer, PlanRequest, Retrieved};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::path::Path;

/// A line of a batch.
#[derive(Deserialize)]
struct Line {
    id: Value,
    query: String,
    session: Option<String>,
    branch: Option<String>,
    /// The time of the search: RFC 3339, or milliseconds since 1970.
    at: Option<Value>,
}

pub(crate) fn retrieve(
    run: &mut Run<'_, '_>,
    query: &[String],
    batch: Option<&Path>,
    anyway: bool,
) -> Result<(), Stop> {
    if let Some(file) = batch {
        return many(run, file, anyway);
    }
    let query = run.io.text(query)?.unwrap_or_default();
    let found = search(run, None, None, query, None, anyway)?;
    if run.io.json {
        return run.io.value(&shape(&Value::Null, &found));
    }
    show(run, &found);
    Ok(())
}

/// Answers the requests of a file, one per line as JSON; `-` is standard input. `form` describes a line. `answer` also
/// gets the file's name and the line's number.
pub(crate) fn batch<L: DeserializeOwned>(
    run: &mut Run<'_, '_>,
    file: &Path,
    form: &str,
    mut answer: impl FnMut(&mut Run<'_, '_>, L, (&str, usize)) -> Result<Value, Stop>,
) -> Result<(), Stop> {
    let (name, text) = (file.display().to_string(), crate::cli::input::text_of(run, file)?);
    for (place, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: L = serde_json::from_str(line).map_err(|error| {
            Failure::user(format!("{name}, line {}: {error}.", place + 1)).todo(format!("Each line must be {form}."))
        })?;
        let value = answer(run, line, (&name, place + 1))?;
        run.io.data(&format!("{value}\n"));
    }
    Ok(())
}

fn many(run: &mut Run<'_, '_>, file: &Path, anyway: bool) -> Result<(), Stop> {
    let form = "{\"id\": …, \"query\": …, \"session\"?: …, \"at\"?: …}";
    batch(run, file, form, |run, line: Line, (name, number)| {
        let at = line.at.as_ref().map(|at| moment(at, name, number)).transpose()?;
        let found = search(run, line.session, line.branch, line.query, at, anyway)?;
        Ok(shape(&line.id, &found))
    })
}

/// Parses the time of a batch line into milliseconds since 1970.
fn moment(at: &Value, name: &str, line: usize) -> Result<i64, Stop> {
    let read = match at {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    read.ok_or_else(|| {
        Failure::user(format!(
            "{name}, line {line}: {at} is not a valid time; use a form such as 2026-03-01T12:00:00Z."
        ))
        .into()
    })
}

fn search(
    run: &mut Run<'_, '_>,
    session: Option<String>,
    branch: Option<String>,
    query: String,
    at: Option<i64>,
    anyway: bool,
) -> Result<Retrieved, Stop> {
    let request = PlanRequest::Retrieve {
        branch: branch.or_else(|| run.global.branch.clone().filter(|_| session.is_none())),
        session: session.or_else(|| run.global.session.clone()),
        query,
        at,
        budget: run.global.budget,
        anyway,
    };
    let found = expect_answer!(run, Plan(PlanAnswer::Retrieved), request);
    Ok(*found)
}

fn shape(id: &Value, found: &Retrieved) -> Value {
    let items: Vec<Value> = found
        .set
        .items
        .iter()
        .zip(&found.items)
        .map(|(item, (node, external, text))| {
            json!({
                "message_ids": [node],
                "external_ids": external.iter().collect::<Vec<_>>(),
                "tokens": item.tokens,
                "rank": item.rank,
                "span": item.span,
                "score": item.score,
                "score_parts": parts(&item.score_parts),
                "text": text,
            })
        })
        .collect();
    let near: Vec<Value> = found
        .set
        .near
        .iter()
        .map(|near| {
            json!({
                "key": near.key,
                "span": near.span,
                "score": near.score,
                "score_parts": parts(&near.score_parts),
                "why": near.why,
            })
        })
        .collect();
    let elapsed = found.set.elapsed_us as f64 / 1_000.0;
    json!({
        "id": id,
        "retrieval_set_id": found.set.id,
        "gate": found.set.gate,
        "embedder": found.set.embedder,
        "items": items,
        "near": near,
        "elapsed_ms": elapsed,
    })
}

fn parts(parts: &ScoreParts) -> Map<String, Value> {
    let Value::Object(all) = serde_json::to_value(parts).unwrap_or_default() else { return Map::new() };
    all.into_iter().filter(|(_, part)| part.as_f64() != Some(0.0)).collect()
}

fn show(run: &mut Run<'_, '_>, found: &Retrieved) {
    let tokens: u32 = found.set.items.iter().map(|item| item.tokens).sum();
    match found.set.gate {
        Gate::Pass(_) => run.io.say(&format!("{} found, {} tokens (estimated)", found.items.len(), number(tokens))),
        Gate::Inherited(why) | Gate::Skipped(why) => {
            run.io.say(&format!("Search skipped: {}. --anyway searches regardless.", why.sentence()));
        }
    }
    for (item, (_, _, text)) in found.set.items.iter().zip(&found.items) {
        run.io.say(&format!("\n{}", heading(item)));
        run.io.words(text);
    }
    for near in &found.set.near {
        let why = match near.why {
            MissReason::NoRoom { missing } => format!("over budget by {}", counted(missing.into(), "token")),
            MissReason::Duplicate => "duplicate of another result".into(),
            MissReason::Below => "lower score than the included results".into(),
            MissReason::Unrelated => "unrelated to the query".into(),
        };
        run.io.say(&format!("  near miss  {:.2}  {why}", near.score));
    }
}

fn heading(item: &Evidence) -> String {
    let parts: Vec<String> = parts(&item.score_parts)
        .iter()
        .map(|(name, part)| format!("{name} {:.2}", part.as_f64().unwrap_or_default()))
        .collect();
    format!("#{}  {} tokens (estimated)  {:.2} = {}", item.rank, item.tokens, item.score, parts.join(" + "))
}
