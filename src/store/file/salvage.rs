//! Reads the readable content of a damaged store as neutral records.
//! Not for: writing the records (`export`), or anything except messages and titles.

use crate::domain::base::{NodeId, SessionId};
use crate::domain::conversation::{Content, End, Record, Role, Transcript};
use crate::store::tables::content;
use rusqlite::{Connection, Row};
use std::collections::{BTreeMap, HashSet};

/// The scan of a table ends after this many consecutive unreadable rows.
const MAX_UNREADABLE: u32 = 200_000;

/// Replaces the unreadable text of a message.
const LOST_TEXT: &str = "[The text of this message could not be read.]";

/// Returns all sessions with at least one readable message.
pub(crate) fn read(conn: &Connection) -> Vec<Transcript> {
    let sessions = scan(conn, "SELECT n, id, title FROM session WHERE n > ?1 ORDER BY n", |row| {
        Ok((row.get::<_, SessionId>(1)?, row.get::<_, String>(2)?))
    });
    let named: BTreeMap<i64, (SessionId, String)> = sessions.into_iter().collect();
    let nodes = scan(
        conn,
        "SELECT n, session, id, parent, role, \"end\", at, name, lane, model, hidden, parts, extra
         FROM node WHERE n > ?1 ORDER BY n",
        |row| Ok((row.get::<_, i64>(1)?, record(conn, row)?)),
    );
    let mut found: BTreeMap<i64, Transcript> = BTreeMap::new();
    for (_, (session, record)) in nodes {
        let transcript = found.entry(session).or_insert_with(|| match named.get(&session) {
            Some((id, title)) => empty(&format!("pleach:{id}"), title),
            None => empty(&format!("pleach:lost-{session}"), &format!("salvaged {session}")),
        });
        transcript.records.push(record);
    }
    let mut all: Vec<Transcript> = found.into_values().collect();
    all.iter_mut().for_each(join);
    all
}

fn empty(source: &str, title: &str) -> Transcript {
    Transcript { source: source.into(), title: title.into(), ..Transcript::default() }
}

/// Attaches each message whose parent is lost to the message written before it.
fn join(transcript: &mut Transcript) {
    let mut known: HashSet<String> = HashSet::new();
    let mut before: Option<String> = None;
    for record in &mut transcript.records {
        if record.parent.as_ref().is_some_and(|parent| !known.contains(parent)) {
            record.parent.clone_from(&before);
        }
        known.insert(record.id.clone());
        before = Some(record.id.clone());
    }
    transcript.current = before;
}

fn record(conn: &Connection, row: &Row<'_>) -> rusqlite::Result<Record> {
    let (parts, extra): (Option<String>, Option<String>) = (row.get(11)?, row.get(12)?);
    let content =
        content::unpack(conn, parts.as_deref(), extra.as_deref()).unwrap_or_else(|_| Content::text(LOST_TEXT));
    Ok(Record {
        id: row.get::<_, NodeId>(2)?.to_string(),
        parent: row.get::<_, Option<NodeId>>(3)?.map(|id| id.to_string()),
        role: Role::from_name(row.get_ref(4)?.as_str()?).unwrap_or(Role::User),
        name: row.get(7)?,
        content,
        end: End::from_name(row.get_ref(5)?.as_str()?).unwrap_or(End::Interrupted),
        at: row.get(6)?,
        lane: row.get(8)?,
        hidden: row.get(10)?,
        model: row.get(9)?,
        label: String::new(),
        favorite: false,
    })
}

/// Returns the rows of a table by row id; skips rows that cannot be read.
fn scan<T>(conn: &Connection, sql: &str, read: impl Fn(&Row<'_>) -> rusqlite::Result<T>) -> Vec<(i64, T)> {
    let (mut found, mut last, mut failed) = (Vec::new(), 0_i64, 0);
    let Ok(mut query) = conn.prepare(sql) else { return found };
    while failed < MAX_UNREADABLE {
        let Ok(mut rows) = query.query([last]) else { return found };
        loop {
            match rows.next() {
                Ok(None) => return found,
                Ok(Some(row)) => {
                    failed = 0;
                    last = row.get(0).unwrap_or(last + 1);
                    if let Ok(value) = read(row) {
                        found.push((last, value));
                    }
                }
                Err(_) => break,
            }
        }
        failed += 1;
        last += 1;
    }
    found
}
