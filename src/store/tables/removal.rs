//! Permanent deletion: a message's text with everything in the store that was made from it, or a whole session.
//! Not for: backups next to the store's file (`file::copies` edits them).

use super::{content, journal, sessions, summaries};
use crate::domain::base::{Hash, NodeId, SessionId};
use crate::domain::conversation::memory::one_line;
use crate::domain::conversation::{Change, Content, Mark, Operation, Part, Tag};
use crate::domain::tool::{ToolTrace, TraceDetails};
use crate::store::sql::{Json, all_rows, first_row, numbered_json};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
use serde_json::Value;
use std::collections::HashSet;

/// Titles with fewer characters than this are not specific enough to count as quotations.
const MIN_QUOTE: usize = 8;

/// Overwriting a message's words in the search index takes about as long as indexing this many messages (measured).
const REBUILD_RATIO: i64 = 7;

/// The removed nodes, their keys, and their texts, each as one line.
#[derive(Default)]
struct RemovedNodes {
    ids: Vec<NodeId>,
    keys: Vec<Hash>,
    names: HashSet<String>,
    calls: HashSet<String>,
    texts: Vec<String>,
}

impl RemovedNodes {
    fn add(&mut self, id: NodeId, key: Hash, content: &Content) {
        self.ids.push(id);
        self.keys.push(key);
        self.names.extend([id.to_string(), key.to_string()]);
        for part in &content.parts {
            match part {
                Part::Text { text } | Part::Reasoning { text } => self.add_text(text),
                Part::Reply { call, body, .. } => {
                    self.calls.insert(call.clone());
                    self.add_text(body);
                }
                Part::Call { id, args, .. } => {
                    self.calls.insert(id.clone());
                    self.add_text(args);
                }
                Part::Opaque { .. } => {}
            }
        }
    }

    fn add_text(&mut self, text: &str) {
        self.texts.push(one_line(text));
    }

    /// Returns whether a title in the store was taken from a removed text or contains the beginning of a removed text.
    fn quoted_in(&self, title: &str) -> bool {
        let line = one_line(title.trim_end_matches(['…', '.']));
        let long = |text: &str| text.chars().count() >= MIN_QUOTE;
        long(&line)
            && self.texts.iter().any(|text| {
                let first: String = text.chars().take(24).collect();
                text.contains(&line) || (long(&first) && line.contains(&first))
            })
    }

    /// Returns whether a JSON value contains the id or key of a removed node anywhere in it.
    fn named_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.names.contains(text),
            Value::Array(items) => items.iter().any(|item| self.named_in(item)),
            Value::Object(fields) => fields.values().any(|field| self.named_in(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

/// Turns nodes into tombstones. Fails with `Busy` while the session has an open call.
pub(crate) fn nodes(tx: &mut WriteTransaction<'_>, session: SessionId, nodes: &[NodeId]) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    let open = "SELECT 1 FROM plan_run WHERE session = ?1 AND open = 1 LIMIT 1";
    if tx.conn.prepare_cached(open)?.exists([row])? {
        return Err(StoreError::Busy);
    }
    let mut removed = RemovedNodes::default();
    let mut messages = 0;
    for id in nodes {
        messages += i64::from(node(tx, row, tx.stored_id(*id), &mut removed)?);
    }
    sessions::touch(tx, row, i64::MIN, -messages)?;
    states(tx, row, &mut removed)?;
    titles(tx, row, &mut removed)?;
    summaries::forget(tx, row, &removed.keys)?;
    for text in super::memory::forget_messages(tx, session, &removed.names)? {
        removed.add_text(&text);
    }
    picked_copies(tx, row, &mut removed)?;
    let changed = traces(tx, row, &removed)?;
    files(tx, row, &changed)?;
    plans(tx, row, &removed)?;
    super::runs::forget_raw(tx, row, &removed.ids)?;
    super::retrieval::forget_queries(tx, row)?;
    super::message_index::drop_all(tx, row)?;
    names(tx, row, &removed)?;
    super::tags::forget(tx, row, &|tag| tagged(tag, &removed))?;
    operations(tx, row, &removed)?;
    tx.purged = true;
    Ok(())
}

/// Empties a node. Returns whether it had content.
fn node(tx: &WriteTransaction<'_>, session: i64, id: NodeId, removed: &mut RemovedNodes) -> Result<bool, StoreError> {
    type Found = (i64, Hash, Option<Hash>, Option<String>, Option<String>);
    let sql = "SELECT n, key, content, parts, extra FROM node WHERE id = ?1 AND session = ?2";
    let found: Option<Found> = first_row(tx.conn, sql, (id, session), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    })?;
    let Some((n, key, hash, parts, extra)) = found else { return Ok(false) };
    let unpacked = content::unpack(tx.conn, parts.as_deref(), extra.as_deref())?;
    removed.add(id, key, &unpacked);
    if hash.is_some() {
        forget_words(tx, "SELECT n FROM node WHERE n = ?1", n)?;
    }
    forget_counts(tx, hash, &unpacked)?;
    for large in parts.as_deref().map(content::large).transpose()?.unwrap_or_default() {
        content::release(tx, large)?;
    }
    tx.run(
        "UPDATE node SET \"end\" = 'removed', bytes = 0, calls = 0, content = NULL, preview = '', model = NULL,
           name = NULL, external_id = NULL, parts = NULL, extra = NULL
         WHERE n = ?1",
        &[&n],
    )?;
    Ok(hash.is_some())
}

/// Removes rows from the search index. Their words must still be stored, because the index needs them for that.
fn forget_words(tx: &WriteTransaction<'_>, which: &str, value: i64) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO search (search, rowid, session, words)
         SELECT 'delete', n, session, words FROM node_text WHERE n IN ({which})"
    );
    tx.run(&sql, &[&value])
}

/// Deletes the token counts of a content. They are stored by the hash of the counted text: the content, its full text,
/// or one part.
fn forget_counts(tx: &WriteTransaction<'_>, hash: Option<Hash>, content: &Content) -> Result<(), StoreError> {
    let mut keys: Vec<Hash> = hash.into_iter().collect();
    keys.push(Hash::of(content.plain_text().as_bytes()));
    for part in &content.parts {
        match part {
            Part::Text { text } | Part::Reasoning { text } => keys.push(Hash::of(text.as_bytes())),
            Part::Call { args, .. } => keys.push(Hash::of(args.as_bytes())),
            Part::Reply { body, .. } => keys.push(Hash::of(body.as_bytes())),
            Part::Opaque { raw, .. } => keys.push(*raw),
        }
    }
    for key in keys {
        tx.run("DELETE FROM token_count WHERE key = ?1", &[&key])?;
    }
    Ok(())
}

/// Deletes the state versions that were made from the nodes. Their texts count as removed too.
fn states(tx: &WriteTransaction<'_>, session: i64, removed: &mut RemovedNodes) -> Result<(), StoreError> {
    for id in removed.ids.clone() {
        let sql = "SELECT body ->> '$.text' FROM state_version WHERE session = ?1 AND node = ?2";
        for text in all_rows(tx.conn, sql, (session, id), |row| row.get::<_, String>(0))? {
            removed.add_text(&text);
        }
        tx.run("DELETE FROM state_version WHERE session = ?1 AND node = ?2", &[&session, &id])?;
    }
    Ok(())
}

/// Deletes the titles that a model made from the nodes. They count as removed too.
fn titles(tx: &WriteTransaction<'_>, session: i64, removed: &mut RemovedNodes) -> Result<(), StoreError> {
    for id in removed.ids.clone() {
        let sql = "SELECT title FROM made_title WHERE session = ?1 AND node = ?2";
        for title in all_rows(tx.conn, sql, (session, id), |row| row.get::<_, String>(0))? {
            removed.add_text(&title);
            tx.run("DELETE FROM made_title WHERE session = ?1 AND title = ?2", &[&session, &title])?;
        }
    }
    Ok(())
}

/// Empties the arguments and results of the traces of removed calls. Returns the files that those calls changed.
fn traces(tx: &WriteTransaction<'_>, session: i64, removed: &RemovedNodes) -> Result<HashSet<String>, StoreError> {
    let mut changed = HashSet::new();
    let sql = "SELECT n, body FROM tool_trace WHERE session = ?1";
    for (n, mut trace) in all_rows(tx.conn, sql, [session], numbered_json::<ToolTrace>)? {
        let is_removed_call = |call: &String| removed.calls.contains(call);
        let is_removed = is_removed_call(&trace.call_id) || trace.more.again.as_ref().is_some_and(is_removed_call);
        if is_removed || trace.node.is_some_and(|node| removed.ids.contains(&node)) {
            trace.args.clear();
            trace.preview.clear();
            changed.extend(std::mem::take(&mut trace.changed));
            trace.more = TraceDetails { again: trace.more.again, ..TraceDetails::default() };
            tx.run("DELETE FROM tool_output WHERE run = ?1 AND call_id = ?2", &[&trace.run, &trace.call_id])?;
            tx.run("UPDATE tool_trace SET body = ?2 WHERE n = ?1", &[&n, &Json(&trace)])?;
        }
    }
    Ok(changed)
}

/// Deletes the other changes of an operation. Returns whether there were any.
fn retain(operation: &mut Operation, is_kept: &mut dyn FnMut(&Change) -> bool) -> bool {
    let all = operation.changes.len();
    operation.changes.retain(is_kept);
    operation.changes.len() < all
}

/// Deletes the stored versions of those files, and with them the ability to undo the changes, because a file contains
/// the arguments of the call that wrote it.
fn files(tx: &WriteTransaction<'_>, session: i64, paths: &HashSet<String>) -> Result<(), StoreError> {
    if paths.is_empty() {
        return Ok(());
    }
    let (mut deleted, mut kept) = (HashSet::new(), HashSet::new());
    journal::change_ops(tx, session, &mut |operation| {
        retain(operation, &mut |change| {
            let Change::File { path, before, after } = change else { return true };
            let is_removed = paths.contains(path);
            if is_removed { &mut deleted } else { &mut kept }.extend([before, after].into_iter().flatten().copied());
            !is_removed
        })
    })?;
    for hash in deleted.difference(&kept) {
        tx.run("DELETE FROM file_text WHERE session = ?1 AND hash = ?2", &[&session, hash])?;
    }
    Ok(())
}

/// Empties titles in plans that quote the nodes. Checks all plans, because plans of another session may quote them.
/// Deletes plans that can't be read, because they may quote them too.
fn plans(tx: &WriteTransaction<'_>, session: i64, removed: &RemovedNodes) -> Result<(), StoreError> {
    let sql = "SELECT DISTINCT plan FROM plan_run WHERE session = ?1";
    let ours: HashSet<Hash> = all_rows(tx.conn, sql, [session], |row| row.get(0))?.into_iter().collect();
    let dropped = super::plans::rewrite(tx.conn, &mut |id, body| {
        if !ours.contains(&id) && !removed.names.iter().any(|name| body.contains(name)) {
            return Ok(None);
        }
        // A plan that is not JSON is emptied instead of deleted, because later plans depend on its text.
        let Ok(mut plan) = serde_json::from_str::<Value>(body) else { return Ok(Some("{}".into())) };
        Ok(blank_titles(&mut plan, removed).then(|| plan.to_string()))
    })?;
    if dropped > 0 {
        tracing::warn!(dropped, "deleted stored plans that could not be read");
    }
    Ok(())
}

/// Empties the titles of rows and items of a plan that name or quote removed text. Returns whether there were any.
fn blank_titles(plan: &mut Value, removed: &RemovedNodes) -> bool {
    let mut changed = false;
    for row in plan.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten() {
        let named = removed.named_in(row);
        changed |= blank_title(row, named, removed);
        for item in row.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
            let named = removed.named_in(item);
            changed |= blank_title(item, named, removed);
        }
    }
    // A request that a person edited may quote anything.
    if let Some(Value::String(body)) = plan.get_mut("edited").filter(|body| *body != "") {
        body.clear();
        changed = true;
    }
    for text in plan.get_mut("texts").and_then(Value::as_object_mut).into_iter().flat_map(|texts| texts.values_mut()) {
        if text.as_str().is_some_and(|current| !current.is_empty() && removed.quoted_in(current)) {
            *text = Value::String(String::new());
            changed = true;
        }
    }
    changed
}

fn blank_title(of: &mut Value, named: bool, removed: &RemovedNodes) -> bool {
    match of.get_mut("title") {
        Some(Value::String(title)) if !title.is_empty() && (named || removed.quoted_in(title)) => {
            title.clear();
            true
        }
        _ => false,
    }
}

/// Replaces the names of the session and its branches that quote a removed message.
fn names(tx: &WriteTransaction<'_>, session: i64, removed: &RemovedNodes) -> Result<(), StoreError> {
    for (read, write) in [
        ("SELECT n, title FROM session WHERE n = ?1", "UPDATE session SET title = 'untitled' WHERE n = ?1"),
        ("SELECT n, name FROM branch WHERE session = ?1", "UPDATE branch SET name = 'unnamed ' || n WHERE n = ?1"),
    ] {
        let rows = all_rows(tx.conn, read, [session], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
        for (n, name) in rows {
            if removed.quoted_in(&name) {
                tx.run(write, &[&n])?;
            }
        }
    }
    Ok(())
}

/// Deletes the changes of operations that picked a removed message onto another branch, so that neither undo nor redo
/// restores it: a picked message is a copy of the text. The copies count as removed texts.
fn picked_copies(tx: &WriteTransaction<'_>, session: i64, removed: &mut RemovedNodes) -> Result<(), StoreError> {
    let is_copy = |mark: &Mark, keys: &[Hash]| {
        mark.origin.as_ref().is_some_and(|origin| origin.sources.iter().any(|key| keys.contains(key)))
    };
    let RemovedNodes { keys, texts, .. } = removed;
    journal::change_ops(tx, session, &mut |operation| {
        retain(operation, &mut |change| {
            let Change::Mark { before, after, .. } = change else { return true };
            let copies = || [before, after].into_iter().flatten().filter(|mark| is_copy(mark, keys));
            texts.extend(copies().filter_map(|mark| mark.note.as_deref()).map(one_line));
            copies().next().is_none()
        })
    })
}

/// Returns whether a tag belongs to a removed message, or its name quotes one.
fn tagged(tag: &Tag, removed: &RemovedNodes) -> bool {
    removed.keys.contains(&tag.node) || removed.quoted_in(&tag.label)
}

/// Removes quotations and tags of removed messages from the operations, so that undo cannot restore them.
fn operations(tx: &WriteTransaction<'_>, session: i64, removed: &RemovedNodes) -> Result<(), StoreError> {
    journal::change_ops(tx, session, &mut |operation| {
        let mut changed = retain(operation, &mut |change| {
            let Change::Tag { before, after, .. } = change else { return true };
            ![before, after].into_iter().flatten().any(|tag| tagged(tag, removed))
        });
        let mut lines = vec![(&mut operation.what, "a change")];
        for change in &mut operation.changes {
            match change {
                Change::Name { before, after, .. } => lines.extend([(before, "unnamed"), (after, "unnamed")]),
                Change::Title { before, after } => lines.extend([(before, "untitled"), (after, "untitled")]),
                _ => {}
            }
        }
        for (line, instead) in lines {
            if removed.quoted_in(line) {
                instead.clone_into(line);
                changed = true;
            }
        }
        changed
    })
}

/// Deletes a session and everything that belongs to it. Fails with `Busy` while a living program has an open call in
/// it.
pub(crate) fn session(tx: &mut WriteTransaction<'_>, id: SessionId) -> Result<(), StoreError> {
    let row = tx.session(id)?;
    super::runs::check_not_open(tx, "session", row)?;
    let rebuild = forget_all_words(tx, row)?;
    forget_contents(tx, row)?;
    super::plans::forget_session(tx, row)?;
    super::memory::forget_session(tx, id)?;
    for table in [
        "shelf",
        "shelf_tail",
        "posting",
        "memory",
        "transition",
        "touch",
        "retrieval_set",
        "capsule",
        "summary_draft",
        "metrics",
        "plan_run",
        "tool_trace",
        "tool_output",
        "file_text",
        "operation",
        "tag",
        "branch_run",
        "made_title",
        "state_version",
        "branch",
        "node",
    ] {
        tx.run(&format!("DELETE FROM {table} WHERE session = ?1"), &[&row])?;
    }
    tx.run("DELETE FROM session WHERE n = ?1", &[&row])?;
    tx.run("INSERT OR IGNORE INTO removed_session (id) VALUES (?1)", &[&id])?;
    if rebuild {
        tx.run(
            "INSERT INTO search (rowid, session, words)
             SELECT t.n, t.session, t.words FROM node JOIN node_text AS t ON t.n = node.n
             WHERE node.content IS NOT NULL",
            &[],
        )?;
    }
    tx.purged = true;
    Ok(())
}

/// Removes a session from the search index. Returns whether the index is now empty and must be rebuilt.
fn forget_all_words(tx: &WriteTransaction<'_>, session: i64) -> Result<bool, StoreError> {
    let (deleted, all): (i64, i64) = tx.conn.query_row(
        "SELECT (SELECT messages FROM session WHERE n = ?1), (SELECT sum(messages) FROM session)",
        [session],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if deleted * REBUILD_RATIO <= all - deleted {
        forget_words(tx, "SELECT n FROM node WHERE session = ?1 AND content IS NOT NULL", session)?;
        return Ok(false);
    }
    tx.run("INSERT INTO search (search) VALUES ('delete-all')", &[])?;
    Ok(true)
}

fn forget_contents(tx: &WriteTransaction<'_>, session: i64) -> Result<(), StoreError> {
    let mut query =
        tx.conn.prepare_cached("SELECT content, parts FROM node WHERE session = ?1 AND parts IS NOT NULL")?;
    let mut rows = query.query([session])?;
    while let Some(row) = rows.next()? {
        let (hash, parts): (Option<Hash>, String) = (row.get(0)?, row.get(1)?);
        forget_counts(tx, hash, &content::unpack(tx.conn, Some(&parts), None)?)?;
        for large in content::large(&parts)? {
            content::release(tx, large)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn removed() -> RemovedNodes {
        let mut removed = RemovedNodes { names: HashSet::from(["a-key".to_owned()]), ..RemovedNodes::default() };
        removed.add_text("the launch code of\nthe rocket is 1234");
        removed.add_text("short");
        removed
    }

    #[test]
    fn titles_that_quote_a_removed_message_are_emptied() {
        let row =
            |key: &str, title: &str| json!({ "title": title, "key": key, "items": [{ "title": title, "key": key }] });
        let plan = |gone: [&str; 4]| {
            let rows = [row("b", gone[0]), row("a-key", gone[1]), row("b", "another matter")];
            json!({ "rows": rows, "edited": gone[2], "texts": { "a": gone[3], "b": "another matter", "c": "" } })
        };
        let mut held = plan(["the launch code…", "anything", "a body", "the launch code of the rocket"]);
        assert!(blank_titles(&mut held, &removed()));
        assert_eq!(held, plan([""; 4]));
        assert!(!blank_titles(&mut held, &removed()), "nothing is left to empty");
    }

    #[test]
    fn a_quote_is_part_of_a_text_or_contains_its_beginning() {
        for (title, quoted) in [
            ("launch code", true),
            ("is 1234.", false),
            ("of  the rocket …", true),
            ("said: the launch code of the rocket was 99", true),
            ("said: the launch code of", false),
            ("a short one", false),
            ("", false),
        ] {
            assert_eq!(removed().quoted_in(title), quoted, "{title}");
        }
    }
}
