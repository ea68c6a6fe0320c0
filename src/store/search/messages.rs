//! Finds messages of all sessions by words and filters, newest first. Stops as soon as the result is no longer needed.
//! Not for: parsing the query (`domain::conversation::search`), or retrieval into prompts.
//!
//! Results are not ranked: with a million messages, ranking a common word reads all of its messages, while the newest
//! messages are available immediately. Words are looked up in the index from the newest message to the oldest, filters
//! are tested on each message, and excerpts are made only for results.
//!
//! A word that is still being typed is a prefix of many words, and the index merges their lists before it returns the
//! first result, which takes minutes for common ones. So the newest messages are scanned first. If too few of them
//! match, the prefix is rare and the index is fast.

use super::excerpt;
use super::full_text::phrases;
use crate::domain::base::SessionId;
use crate::domain::conversation::{FoundMessage, Role, SearchFilter};
use crate::store::Store;
use crate::store::sql::all_rows;
use crate::store::types::StoreError;
use rusqlite::{Connection, Row};
use std::collections::HashSet;

/// The number of rows between two checks of whether the search is still needed.
const STRIDE: usize = 512;
/// The maximum number of messages scanned for a word that is still being typed.
const MAX_SCANNED: usize = 5_000;
/// The maximum number of sessions in a match expression; more are tested on each message.
const MAX_NAMED: usize = 32;

/// A test of messages, with the names in the filters resolved to row ids.
struct MessageTest<'a> {
    find: &'a SearchFilter,
    sessions: Option<HashSet<i64>>,
    nodes: Option<HashSet<i64>>,
    stop: &'a dyn Fn() -> bool,
}

impl Store {
    /// Returns the newest messages that match, at most `limit`. If `stop` returns true, returns the results so far.
    pub fn find(
        &self,
        find: &SearchFilter,
        limit: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<FoundMessage>, StoreError> {
        if find.is_empty() {
            return Ok(Vec::new());
        }
        self.read(|conn| {
            let mut wanted = MessageTest { find, sessions: None, nodes: None, stop };
            if let Some(named) = &find.session {
                wanted.sessions = Some(sessions(conn, named)?);
            }
            if let Some(named) = &find.branch {
                wanted.nodes = Some(nodes_of(conn, named, &wanted)?);
            }
            if let Some(named) = &find.label {
                let with_label = crate::store::tables::tags::with_label(conn, named)?;
                wanted.nodes = Some(match wanted.nodes {
                    Some(nodes) => nodes.intersection(&with_label).copied().collect(),
                    None => with_label,
                });
            }
            let matching = (!find.phrases.is_empty()).then(|| wanted.expression(&find.phrases, find.open));
            let found = match scan_newest(conn, &wanted, limit)? {
                Some(found) => found,
                None => scan(conn, &wanted, (matching.as_deref(), None), limit)?.0,
            };
            found.into_iter().map(|n| found_message(conn, n, find)).collect()
        })
    }
}

impl MessageTest<'_> {
    fn expression(&self, all: &[String], open: bool) -> String {
        let words = phrases(all, open);
        match &self.sessions {
            Some(named) if !named.is_empty() && named.len() <= MAX_NAMED => {
                let mut named: Vec<i64> = named.iter().copied().collect();
                named.sort_unstable();
                let named: Vec<String> = named.iter().map(|n| format!("s{n}")).collect();
                format!("session : ({}) AND {words}", named.join(" OR "))
            }
            _ => words,
        }
    }

    fn matches_filters(&self, n: i64, session: i64, role: &str, at: i64, model: Option<&str>) -> bool {
        let find = self.find;
        self.sessions.as_ref().is_none_or(|named| named.contains(&session))
            && self.nodes.as_ref().is_none_or(|nodes| nodes.contains(&n))
            && (find.roles.is_empty() || Role::from_name(role).is_some_and(|role| find.roles.contains(&role)))
            && find.after.is_none_or(|after| at >= after)
            && find.before.is_none_or(|before| at < before)
            && find.model.as_ref().is_none_or(|wanted| model.is_some_and(|m| m.to_lowercase().contains(wanted)))
    }
}

/// Returns the sessions whose title contains `named` or whose id begins with it.
fn sessions(conn: &Connection, named: &str) -> Result<HashSet<i64>, StoreError> {
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let all: Vec<(i64, SessionId, String)> = all_rows(conn, "SELECT n, id, title FROM session", [], read)?;
    let is_named =
        |id: SessionId, title: &str| title.to_lowercase().contains(named) || id.to_string().starts_with(named);
    Ok(all.into_iter().filter(|(_, id, title)| is_named(*id, title)).map(|(n, ..)| n).collect())
}

/// Returns the messages on the paths of branches whose name contains `named`.
fn nodes_of(conn: &Connection, named: &str, wanted: &MessageTest<'_>) -> Result<HashSet<i64>, StoreError> {
    let sql = "SELECT session, name, head FROM branch WHERE head IS NOT NULL";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let heads: Vec<(i64, String, [u8; 16])> = all_rows(conn, sql, [], read)?;
    let is_wanted = |session: &i64| wanted.sessions.as_ref().is_none_or(|sessions| sessions.contains(session));
    let mut found = HashSet::new();
    let mut parent_query = conn.prepare_cached("SELECT n, parent FROM node WHERE id = ?1")?;
    for (session, name, head) in heads {
        if !is_wanted(&session) || !name.to_lowercase().contains(named) {
            continue;
        }
        let mut at = Some(head);
        while let Some(id) = at {
            let mut rows = parent_query.query([id])?;
            let Some(row) = rows.next()? else { break };
            let (n, parent): (i64, Option<[u8; 16]>) = (row.get(0)?, row.get(1)?);
            // The rest of this path is already known.
            if !found.insert(n) || (found.len() % STRIDE == 0 && (wanted.stop)()) {
                break;
            }
            at = parent;
        }
    }
    Ok(found)
}

/// Returns the matching rows among the newest messages, or `None` if a scan cannot decide.
fn scan_newest(conn: &Connection, wanted: &MessageTest<'_>, limit: usize) -> Result<Option<Vec<i64>>, StoreError> {
    let find = wanted.find;
    let Some((open, whole)) = find.phrases.split_last().filter(|_| find.open) else { return Ok(None) };
    // The index splits a word at punctuation.
    if !open.chars().all(char::is_alphanumeric) {
        return Ok(None);
    }
    let open: String = open.chars().map(excerpt::fold).collect();
    let words = (!whole.is_empty()).then(|| wanted.expression(whole, false));
    let (found, done) = scan(conn, wanted, (words.as_deref(), Some(&open)), limit)?;
    Ok(done.then_some(found))
}

/// Returns the matching rows, newest first: the rows that the index returns for `words` and that, with a prefix,
/// contain a word with it. Also returns whether the result is complete. It is not complete if so many rows were read
/// that the index should look up the prefix instead.
fn scan(
    conn: &Connection,
    wanted: &MessageTest<'_>,
    (words, open): (Option<&str>, Option<&str>),
    limit: usize,
) -> Result<(Vec<i64>, bool), StoreError> {
    let columns = "node.n, node.session, node.role, node.at, node.model";
    let mut query = conn.prepare_cached(&match words {
        Some(_) => format!(
            "SELECT {columns} FROM search CROSS JOIN node ON node.n = search.rowid
             WHERE search MATCH ?1 ORDER BY search.rowid DESC"
        ),
        None => format!("SELECT {columns} FROM node WHERE parts IS NOT NULL AND ?1 IS NULL ORDER BY n DESC"),
    })?;
    let mut tool = conn.prepare_cached(
        "SELECT 1 FROM node, json_each(node.parts) AS p WHERE node.n = ?1
         AND p.value ->> '$.part' IN ('call', 'reply') AND instr(lower(p.value ->> '$.name'), ?2) > 0",
    )?;
    let mut text = conn.prepare_cached("SELECT words FROM node_text WHERE n = ?1")?;
    let mut rows = query.query([words])?;
    let (mut found, mut rows_read, mut read) = (Vec::new(), 0_usize, 0_usize);
    while let Some(row) = rows.next()? {
        rows_read += 1;
        if rows_read.is_multiple_of(STRIDE) && (wanted.stop)() {
            break;
        }
        let n: i64 = row.get(0)?;
        let model = row.get_ref(4)?.as_str_or_null().unwrap_or_default();
        let role = row.get_ref(2)?.as_str().unwrap_or_default();
        if !wanted.matches_filters(n, row.get(1)?, role, row.get(3)?, model) {
            continue;
        }
        if let Some(name) = &wanted.find.tool
            && !tool.exists((n, name))?
        {
            continue;
        }
        if let Some(open) = open {
            read += 1;
            if read > MAX_SCANNED {
                return Ok((found, false));
            }
            let stored: Option<String> = text.query_row([n], |row| row.get(0))?;
            if !stored.is_some_and(|stored| excerpt::has_word_prefix(&stored, open)) {
                continue;
            }
        }
        found.push(n);
        if found.len() >= limit {
            break;
        }
    }
    Ok((found, true))
}

/// Reads a result, with an excerpt around its first match.
fn found_message(conn: &Connection, n: i64, find: &SearchFilter) -> Result<FoundMessage, StoreError> {
    let mut query = conn.prepare_cached(
        "SELECT session.id, session.title, node.id, node.external_id, node.role, node.at, node.model, node.preview
         FROM node JOIN session ON session.n = node.session WHERE node.n = ?1",
    )?;
    let mut found = query.query_row([n], |row| {
        Ok(FoundMessage {
            session: row.get(0)?,
            title: row.get(1)?,
            node: row.get(2)?,
            external_id: row.get(3)?,
            role: Role::from_name(&row.get::<_, String>(4)?).unwrap_or(Role::User),
            at: row.get(5)?,
            model: row.get(6)?,
            pieces: vec![(false, row.get(7)?)],
        })
    })?;
    if !find.phrases.is_empty() {
        // The index could locate the match too, but would look up the unfinished word again for each message.
        let mut query = conn.prepare_cached("SELECT words FROM node_text WHERE n = ?1")?;
        let text: Option<String> = query.query_row([n], |row| row.get(0))?;
        found.pieces = excerpt::pieces(&text.unwrap_or_default(), &find.phrases, find.open);
    }
    Ok(found)
}
