//! `memory`: list, search, add, confirm, edit, dismiss, and delete memories.
//! Not for: choosing memories for a request (the engine).

use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::{column, time};
use crate::cli::stop::Stop;
use crate::config::commands::conversation::{MemoryCommand, Within};
use crate::domain::conversation::{Memory, MemoryKind, Scope};
use crate::engine::api::{MemoryAct, MemoryAnswer, MemoryRequest, MemoryScope, memory_scope};
use serde_json::{Value, json};

pub(crate) fn memory(run: &mut Run<'_, '_>, command: &MemoryCommand) -> Result<(), Stop> {
    match command {
        MemoryCommand::List { within } => list(run, None, *within),
        MemoryCommand::Search { words, within } => {
            let words = run.io.text(words)?;
            list(run, words, *within)
        }
        MemoryCommand::Add { kind, text, within } => add(run, *kind, text, *within),
        MemoryCommand::Edit { id, text, within } => {
            let text = run.io.text(text)?;
            if text.is_none() && memory_scope(*within).is_none() {
                return Err(Stop::Usage("Give new text, --all, or --here.".into()));
            }
            act(run, id, MemoryAct::Edit(text, memory_scope(*within)))
        }
        MemoryCommand::Confirm { id, within } => act(run, id, MemoryAct::Confirm(memory_scope(*within))),
        MemoryCommand::Dismiss { id } => act(run, id, MemoryAct::Dismiss),
        MemoryCommand::Delete { id } => act(run, id, MemoryAct::Delete),
    }
}

fn list(run: &mut Run<'_, '_>, words: Option<String>, within: Within) -> Result<(), Stop> {
    let session = run.global.session.clone();
    let found = expect_answer!(
        run,
        Memory(MemoryAnswer::Memories),
        MemoryRequest::List { session, words, scope: memory_scope(within) }
    );
    if run.io.json {
        return run.io.value(&found.iter().map(shape).collect::<Vec<_>>());
    }
    for memory in &found {
        run.io.say(&line(memory));
    }
    if found.is_empty() {
        run.io.say("No memories.");
    }
    Ok(())
}

fn add(run: &mut Run<'_, '_>, kind: MemoryKind, words: &[String], within: Within) -> Result<(), Stop> {
    let text = run.io.text(words)?.unwrap_or_default();
    run.open(true)?;
    let scope = memory_scope(within).unwrap_or(MemoryScope::usual(kind));
    let made = expect_answer!(run, Memory(MemoryAnswer::Memories), MemoryRequest::Remember { kind, text, scope });
    let words = |memory: &Memory| {
        if run.io.joins { memory.id.to_string() } else { format!("Remembered: {}", memory.text) }
    };
    let words = made.first().map(words).unwrap_or_default();
    run.io.either(&made.first().map(shape), &words)
}

fn act(run: &mut Run<'_, '_>, id: &str, act: MemoryAct) -> Result<(), Stop> {
    run.open(false)?;
    run.change(MemoryRequest::Change { id: id.to_owned(), act }, "Done.")
}

/// Returns the last characters of an id, which differ between memories.
fn short(memory: &Memory) -> String {
    let id = memory.id.0.simple().to_string();
    id[id.len().saturating_sub(8)..].to_owned()
}

fn place(memory: &Memory) -> &'static str {
    if memory.scope == Scope::All { "all" } else { "session" }
}

fn line(memory: &Memory) -> String {
    let (status, kind) = (column(memory.status.name(), 9), column(memory.kind.name(), 10));
    let when = time(memory.updated_at);
    format!("{}  {status}  {kind}  {}  {when}  {}", short(memory), column(place(memory), 7), memory.text)
}

fn shape(memory: &Memory) -> Value {
    json!({
        "id": memory.id,
        "short": short(memory),
        "kind": memory.kind.name(),
        "text": memory.text,
        "scope": place(memory),
        "lane": memory.lane,
        "status": memory.status.name(),
        "source": { "session": memory.source.session, "message": memory.source.node, "by": memory.source.by },
        "version": memory.version,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
    })
}
