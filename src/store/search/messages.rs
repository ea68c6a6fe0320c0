//! Messages of all sessions by words and filters, newest first, given up as soon as nobody wants them any more.
//! Not for: reading what was typed (`domain::conversation::search`), or retrieval into prompts.
//!
//! Nothing is ranked: at a million messages ranking a common word costs a look at all of its messages, while the newest
//! ones come at once. Words are looked up in the index from the newest message down; filters on the message are tested as
//! it comes by. Snippets are made only for what is shown.
//!
//! A word that is still being typed is the beginning of many, and the index makes one list of all of them before it gives
//! the first: minutes where they are common. So the newest messages are read themselves first. Too few of them having such
//! a word, it is rare, and the index is quick.

use super::excerpt;
use super::full_text::phrases;
use crate::domain::base::ids::SessionId;
use crate::domain::conversation::message::Role;
use crate::domain::conversation::search::{FoundMessage, SearchFilter};
use crate::store::Store;
use crate::store::types::StoreError;
use rusqlite::Connection;
use std::collections::HashSet;

/// How many rows are passed between two looks at whether the search is still wanted.
const STRIDE: usize = 512;
/// Messages whose words are read for one that is still being typed.
const PEEKED: usize = 5_000;
/// Sessions that are named in the match itself; more are tested one by one.
const NAMED: usize = 32;

/// What a message is tested against, once the filters' names are looked up.
struct Wanted<'a> {
    find: &'a SearchFilter,
    sessions: Option<HashSet<i64>>,
    nodes: Option<HashSet<i64>>,
    stop: &'a dyn Fn() -> bool,
}

impl Store {
    /// The newest messages for which all of it holds, at most `limit`. What was found so far when `stop` says so.
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
            let mut wanted = Wanted { find, sessions: None, nodes: None, stop };
            if let Some(named) = &find.session {
                wanted.sessions = Some(sessions(conn, named)?);
            }
            if let Some(named) = &find.branch {
                wanted.nodes = Some(nodes_of(conn, named, &wanted)?);
            }
            if let Some(named) = &find.label {
                let labelled = crate::store::tables::tags::labelled(conn, named)?;
                wanted.nodes = Some(match wanted.nodes {
                    Some(nodes) => nodes.intersection(&labelled).copied().collect(),
                    None => labelled,
                });
            }
            let matching = (!find.phrases.is_empty()).then(|| wanted.expression(&find.phrases, find.open));
            let found = match peek(conn, &wanted, limit)? {
                Some(found) => found,
                None => scan(conn, &wanted, (matching.as_deref(), None), limit)?.0,
            };
            found.into_iter().map(|n| shown(conn, n, find)).collect()
        })
    }
}

impl Wanted<'_> {
    fn expression(&self, all: &[String], open: bool) -> String {
        let words = phrases(all, open);
        match &self.sessions {
            Some(named) if !named.is_empty() && named.len() <= NAMED => {
                let mut named: Vec<i64> = named.iter().copied().collect();
                named.sort_unstable();
                let named: Vec<String> = named.iter().map(|n| format!("s{n}")).collect();
                format!("session : ({}) AND {words}", named.join(" OR "))
            }
            _ => words,
        }
    }

    fn holds(&self, n: i64, session: i64, role: &str, at: i64, model: Option<&str>) -> bool {
        let find = self.find;
        self.sessions.as_ref().is_none_or(|named| named.contains(&session))
            && self.nodes.as_ref().is_none_or(|nodes| nodes.contains(&n))
            && (find.roles.is_empty() || Role::from_name(role).is_some_and(|role| find.roles.contains(&role)))
            && find.after.is_none_or(|after| at >= after)
            && find.before.is_none_or(|before| at < before)
            && find.model.as_ref().is_none_or(|wanted| model.is_some_and(|m| m.to_lowercase().contains(wanted)))
    }
}

/// The sessions with this in their title, or with an id that begins so.
fn sessions(conn: &Connection, named: &str) -> Result<HashSet<i64>, StoreError> {
    let mut query = conn.prepare_cached("SELECT n, id, title FROM session")?;
    let mut rows = query.query([])?;
    let mut found = HashSet::new();
    while let Some(row) = rows.next()? {
        let (n, id, title): (i64, SessionId, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if title.to_lowercase().contains(named) || id.to_string().starts_with(named) {
            found.insert(n);
        }
    }
    Ok(found)
}

/// The messages on the paths of branches with this in their name.
fn nodes_of(conn: &Connection, named: &str, wanted: &Wanted<'_>) -> Result<HashSet<i64>, StoreError> {
    let mut query = conn.prepare_cached("SELECT session, name, head FROM branch WHERE head IS NOT NULL")?;
    let mut rows = query.query([])?;
    let mut heads: Vec<[u8; 16]> = Vec::new();
    while let Some(row) = rows.next()? {
        let (session, name): (i64, String) = (row.get(0)?, row.get(1)?);
        let inside = wanted.sessions.as_ref().is_none_or(|sessions| sessions.contains(&session));
        if inside && name.to_lowercase().contains(named) {
            heads.push(row.get(2)?);
        }
    }
    let mut found = HashSet::new();
    let mut up = conn.prepare_cached("SELECT n, parent FROM node WHERE id = ?1")?;
    for head in heads {
        let mut at = Some(head);
        while let Some(id) = at {
            let mut rows = up.query([id])?;
            let Some(row) = rows.next()? else { break };
            let (n, parent): (i64, Option<[u8; 16]>) = (row.get(0)?, row.get(1)?);
            // A path that was walked already is known to its root.
            if !found.insert(n) || (found.len() % STRIDE == 0 && (wanted.stop)()) {
                break;
            }
            at = parent;
        }
    }
    Ok(found)
}

/// The rows for which all of it holds, found by reading the newest ones; none where that does not tell.
fn peek(conn: &Connection, wanted: &Wanted<'_>, limit: usize) -> Result<Option<Vec<i64>>, StoreError> {
    let find = wanted.find;
    let Some((open, whole)) = find.phrases.split_last().filter(|_| find.open) else { return Ok(None) };
    // A word with a sign in it is several to the index.
    if !open.chars().all(char::is_alphanumeric) {
        return Ok(None);
    }
    let open: String = open.chars().map(excerpt::folded).collect();
    let words = (!whole.is_empty()).then(|| wanted.expression(whole, false));
    let (found, done) = scan(conn, wanted, (words.as_deref(), Some(&open)), limit)?;
    Ok(done.then_some(found))
}

/// The rows for which all of it holds, newest first: those that the index gives for `words`, and, where a beginning is named,
/// that have a word which begins so. Also whether that is the whole answer: it is not where so many were read that the index
/// is to be asked about the beginning.
fn scan(
    conn: &Connection,
    wanted: &Wanted<'_>,
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
    let (mut found, mut passed, mut read) = (Vec::new(), 0_usize, 0_usize);
    while let Some(row) = rows.next()? {
        passed += 1;
        if passed.is_multiple_of(STRIDE) && (wanted.stop)() {
            break;
        }
        let n: i64 = row.get(0)?;
        let model = row.get_ref(4)?.as_str_or_null().unwrap_or_default();
        let role = row.get_ref(2)?.as_str().unwrap_or_default();
        if !wanted.holds(n, row.get(1)?, role, row.get(3)?, model) {
            continue;
        }
        if let Some(name) = &wanted.find.tool
            && !tool.exists((n, name))?
        {
            continue;
        }
        if let Some(open) = open {
            read += 1;
            if read > PEEKED {
                return Ok((found, false));
            }
            let said: Option<String> = text.query_row([n], |row| row.get(0))?;
            if !said.is_some_and(|said| excerpt::begins(&said, open)) {
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

/// A message as it is shown, with the words around its first match.
fn shown(conn: &Connection, n: i64, find: &SearchFilter) -> Result<FoundMessage, StoreError> {
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
        // The index could show the place too, but looks a word that is still being typed up anew for each message.
        let mut query = conn.prepare_cached("SELECT words FROM node_text WHERE n = ?1")?;
        let text: Option<String> = query.query_row([n], |row| row.get(0))?;
        found.pieces = excerpt::pieces(&text.unwrap_or_default(), &find.phrases, find.open);
    }
    Ok(found)
}
