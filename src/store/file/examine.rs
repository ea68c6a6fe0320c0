//! Checks the consistency of a store: its tables and indexes match its schema, every head and parent exists, and every
//! text matches its hash. Also decompresses every stored plan.
//! Not for: the file's pages (`check`), or the repair of faults (`damage`).

use crate::domain::base::{Hash, NodeId};
use crate::store::sql::{all_rows, pragma, uint};
use crate::store::tables::{content, packed_plans};
use crate::store::types::StoreError;
use crate::store::{Store, schema};
use rusqlite::{Connection, Row};

/// The numbers of examined parts, and the faults found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Examined {
    /// Tables and indexes of the schema.
    pub schema: u64,
    /// Branches whose head was checked.
    pub branches: u64,
    /// Messages whose parent was checked.
    pub messages: u64,
    /// Contents and large texts that were hashed.
    pub contents: u64,
    /// The faults, each a sentence without a period.
    pub faults: Vec<String>,
    /// The stored plans that can't be read. They do not count as faults of the messages: `drop_unreadable_plans`
    /// deletes them.
    pub plans: Vec<Hash>,
    /// Missing parts that do not affect the messages, each a sentence without a period.
    pub notes: Vec<String>,
}

impl Examined {
    /// Returns a sentence about the plans that can't be read, or `None` if all can be.
    pub fn plan_fault(&self) -> Option<String> {
        let first = self.plans.first()?.short();
        Some(match self.plans.len() {
            1 => format!(
                "the stored plan {first} can't be read: the request of its call can't be shown or replayed; all messages \
                    are intact"
            ),
            many => format!(
                "{many} stored plans can't be read ({first} and {} more): the requests of their calls can't be shown or \
                    replayed; all messages are intact",
                many - 1
            ),
        })
    }
}

impl Store {
    /// Examines everything. Slow for a large store.
    pub fn examine(&self) -> Result<Examined, StoreError> {
        self.read(|conn| {
            // One read transaction, so that concurrent writes do not look like faults.
            let view = conn.unchecked_transaction()?;
            examine(&view)
        })
    }
}

/// Examines a store of any known schema version.
pub(crate) fn examine(conn: &Connection) -> Result<Examined, StoreError> {
    let mut found = Examined::default();
    schema_of(conn, &mut found)?;
    // The other checks need the tables.
    if found.faults.is_empty() {
        tree(conn, &mut found)?;
        references(conn, &mut found)?;
        texts(conn, &mut found)?;
        notes(conn, &mut found)?;
        found.plans = unreadable_plans(conn)?;
    }
    Ok(found)
}

/// Checks every table, index, and view of the schema, and the columns of tables and indexes.
fn schema_of(conn: &Connection, found: &mut Examined) -> Result<(), StoreError> {
    let version = pragma(conn, "user_version")?;
    let mut wanted = Connection::open_in_memory()?;
    schema::migrate_to(&mut wanted, version)?;
    let sql =
        "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type DESC, name";
    let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    for (kind, name) in all_rows(&wanted, sql, [], read)? {
        found.schema += 1;
        let exists =
            conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = ?1 AND name = ?2")?.exists([&kind, &name])?;
        if !exists {
            found.faults.push(format!("the {kind} {name} is missing"));
        } else if shape(conn, &kind, &name).ok() != Some(shape(&wanted, &kind, &name)?) {
            found.faults.push(format!("the {kind} {name} differs from the schema"));
        }
    }
    Ok(())
}

/// Returns the columns of a table or index, as text.
fn shape(conn: &Connection, kind: &str, name: &str) -> Result<Vec<String>, StoreError> {
    let sql = match kind {
        "index" => {
            "SELECT i.seqno || ' ' || coalesce(i.name, '') || ' ' || i.desc || ' ' || l.\"unique\" || ' ' || l.partial \
             FROM pragma_index_xinfo(?1) AS i JOIN sqlite_schema AS s ON s.name = ?1 \
             JOIN pragma_index_list(s.tbl_name) AS l ON l.name = ?1 WHERE i.key = 1 ORDER BY i.seqno"
        }
        "table" => {
            "SELECT cid || ' ' || name || ' ' || type || ' ' || \"notnull\" || ' ' || pk FROM pragma_table_xinfo(?1) ORDER BY cid"
        }
        _ => return Ok(Vec::new()),
    };
    all_rows(conn, sql, [name], |row| row.get(0))
}

/// Checks heads and parents: they exist, belong to the same session, and form no cycles.
fn tree(conn: &Connection, found: &mut Examined) -> Result<(), StoreError> {
    let count = |sql: &str| conn.query_row(sql, [], |row| row.get(0)).map(uint);
    found.branches = count("SELECT count(*) FROM branch")?;
    found.messages = count("SELECT count(*) FROM node")?;
    let sql = "SELECT branch.name, session.title FROM branch LEFT JOIN session ON session.n = branch.session
         WHERE session.n IS NULL OR (branch.head IS NOT NULL AND NOT EXISTS
           (SELECT 1 FROM node WHERE node.id = branch.head AND node.session = branch.session))";
    let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?));
    for (branch, session) in all_rows(conn, sql, [], read)? {
        found.faults.push(match session {
            Some(session) => format!("the head of branch {branch} in {session:?} is not one of its messages"),
            None => format!("the session of branch {branch} is missing"),
        });
    }
    let sql = "SELECT id FROM node WHERE parent IS NOT NULL AND NOT EXISTS
           (SELECT 1 FROM node AS above WHERE above.id = node.parent AND above.session = node.session)";
    let orphans: Vec<NodeId> = all_rows(conn, sql, [], |row| row.get(0))?;
    found.faults.extend(message_fault("the parent of a message is missing", &orphans));
    let rooted = count(
        "WITH RECURSIVE below (id) AS (
           SELECT id FROM node WHERE parent IS NULL UNION ALL SELECT node.id FROM below JOIN node ON node.parent = below.id
         ) SELECT count(*) FROM below",
    )?;
    if orphans.is_empty() && rooted != found.messages {
        let lost = found.messages.saturating_sub(rooted);
        found.faults.push(format!("{lost} messages have no path to a first message"));
    }
    Ok(())
}

/// Checks references between the rows of different tables.
fn references(conn: &Connection, found: &mut Examined) -> Result<(), StoreError> {
    let sql = "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2";
    let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, uint(row.get(2)?)));
    for (table, parent, count) in all_rows(conn, sql, [], read)? {
        // These are reported above.
        if !matches!((table.as_str(), parent.as_str()), ("node" | "branch", "node") | ("branch", "session")) {
            found.faults.push(format!("{count} rows of {table} refer to missing rows of {parent}"));
        }
    }
    Ok(())
}

/// Checks contents and large texts against their hashes.
fn texts(conn: &Connection, found: &mut Examined) -> Result<(), StoreError> {
    let (mut mismatched, mut incomplete) = (Vec::new(), Vec::new());
    let mut stored = conn.prepare("SELECT 1 FROM body WHERE hash = ?1")?;
    let mut query = conn.prepare("SELECT id, content, parts FROM node WHERE content IS NOT NULL")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let (id, hash): (NodeId, Hash) = (row.get(0)?, row.get(1)?);
        found.contents += 1;
        let parts: Option<String> = row.get(2)?;
        let large = parts.as_deref().map_or_else(|| Ok(Vec::new()), content::large);
        let mut is_missing = large.is_err();
        for hash in large.into_iter().flatten() {
            is_missing |= !stored.exists([hash])?;
        }
        if is_missing {
            incomplete.push(id);
        } else if content::unpack(conn, parts.as_deref(), None).map_or(true, |unpacked| unpacked.hash() != hash) {
            mismatched.push(id);
        }
    }
    found.faults.extend(message_fault("the text of a message is missing", &incomplete));
    found.faults.extend(message_fault("the text of a message does not match its hash", &mismatched));
    let mut query = conn.prepare("SELECT hash, text FROM body")?;
    let mut rows = query.query([])?;
    let mut wrong = 0_u64;
    while let Some(row) = rows.next()? {
        found.contents += 1;
        let (hash, text): (Hash, &str) = (row.get(0)?, row.get_ref(1)?.as_str().unwrap_or_default());
        wrong += u64::from(Hash::of(text.as_bytes()) != hash);
    }
    if wrong > 0 {
        found.faults.push(format!("{wrong} large texts do not match their hashes"));
    }
    Ok(())
}

/// Returns the stored plans that can't be read, in a store of any known schema version.
pub(crate) fn unreadable_plans(conn: &Connection) -> Result<Vec<Hash>, StoreError> {
    if compresses_plans(conn)? { packed_plans::unreadable_stored(conn) } else { Ok(Vec::new()) }
}

/// Returns whether the schema has the table of compressed plans. Before it, plans were text.
fn compresses_plans(conn: &Connection) -> Result<bool, StoreError> {
    Ok(conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'plan_text'")?.exists([])?)
}

/// Notes calls without a stored plan, as in a store restored from an older backup, and missing messages at which
/// branches were forked.
fn notes(conn: &Connection, found: &mut Examined) -> Result<(), StoreError> {
    if compresses_plans(conn)? {
        let sql = "SELECT count(*) FROM plan_run WHERE NOT EXISTS (SELECT 1 FROM plan WHERE plan.id = plan_run.plan)
             AND NOT EXISTS (SELECT 1 FROM plan_text WHERE plan_text.id = plan_run.plan)";
        let note = match conn.query_row(sql, [], |row| row.get(0)).map(uint)? {
            0 => None,
            1 => Some("one call has no stored plan: its request can't be shown or replayed".into()),
            many => Some(format!("{many} calls have no stored plan: their requests can't be shown or replayed")),
        };
        found.notes.extend(note);
    }
    let sql = "SELECT branch.name, session.title FROM branch JOIN session ON session.n = branch.session
         WHERE branch.fork IS NOT NULL AND NOT EXISTS
           (SELECT 1 FROM node WHERE node.id = branch.fork AND node.session = branch.session)";
    let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    for (branch, session) in all_rows(conn, sql, [], read)? {
        found.notes.push(format!("the message at which branch {branch} in {session:?} was forked is missing"));
    }
    Ok(())
}

/// Returns a fault of several messages that names the first one, or `None` without messages.
fn message_fault(what: &str, ids: &[NodeId]) -> Option<String> {
    let first = ids.first()?;
    Some(match ids.len() {
        1 => format!("{what}: {first}"),
        more => format!("{what}: {first} and {} more", more - 1),
    })
}
