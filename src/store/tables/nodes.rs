//! Nodes: stores them, and reads their heads and contents.
//! Not for: removing their content (`removal`).

use super::{content, sessions};
use crate::domain::base::{Hash, NodeId, SessionId};
use crate::domain::conversation::{End, Node, NodeHead, Role};
use crate::store::Store;
use crate::store::sql::{all_rows, first_row, int, uint};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
use rusqlite::{OptionalExtension, Row};

/// The columns of a head. Whole nodes also have `parts` and `extra`; a session's tree is read without them.
const HEAD: &str = "id, key, parent, ord, role, \"end\", at, bytes, calls, hidden, imported, content, preview, model, \
                    name, lane, external_id";

fn parse_column<T>(row: &Row<'_>, column: usize, read: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?;
    let kind = text.data_type();
    let unknown = || rusqlite::Error::FromSqlConversionFailure(column, kind, "an unknown value".into());
    text.as_str().ok().and_then(read).ok_or_else(unknown)
}

fn head(row: &Row<'_>) -> rusqlite::Result<NodeHead> {
    Ok(NodeHead {
        id: row.get(0)?,
        key: row.get(1)?,
        parent: row.get(2)?,
        ord: row.get(3)?,
        role: parse_column(row, 4, Role::from_name)?,
        end: parse_column(row, 5, End::from_name)?,
        at: row.get(6)?,
        bytes: uint(row.get(7)?),
        calls: row.get(8)?,
        hidden: row.get(9)?,
        imported: row.get(10)?,
        content: row.get(11)?,
        preview: row.get(12)?,
        model: row.get(13)?,
        name: row.get(14)?,
        lane: row.get(15)?,
        external_id: row.get(16)?,
    })
}

impl Store {
    /// Returns the heads of a session's nodes, parents before children.
    pub fn heads(&self, session: SessionId) -> Result<Vec<NodeHead>, StoreError> {
        let sql = format!("SELECT {HEAD} FROM node WHERE session = (SELECT n FROM session WHERE id = ?1) ORDER BY n");
        self.read(|conn| all_rows(conn, &sql, [session], head))
    }

    /// Returns the whole node of a session with this key.
    pub fn node_by_key(&self, session: SessionId, key: Hash) -> Result<Option<Node>, StoreError> {
        let id: Option<NodeId> = self.read(|conn| {
            let sql = "SELECT id FROM node WHERE session = (SELECT n FROM session WHERE id = ?1) AND key = ?2";
            first_row(conn, sql, (session, key), |row| row.get(0))
        })?;
        Ok(match id {
            Some(id) => self.nodes(&[id])?.pop(),
            None => None,
        })
    }

    /// Returns whole nodes in the requested order. Missing ones are omitted.
    pub fn nodes(&self, ids: &[NodeId]) -> Result<Vec<Node>, StoreError> {
        self.read(|conn| {
            // In one read transaction, so that a message that is removed meanwhile is read either completely or not at
            // all.
            let view = conn.unchecked_transaction()?;
            let mut query = view.prepare_cached(&format!("SELECT {HEAD}, parts, extra FROM node WHERE id = ?1"))?;
            let mut found = Vec::with_capacity(ids.len());
            for id in ids {
                let row = query
                    .query_row([id], |row| {
                        Ok((head(row)?, row.get::<_, Option<String>>(17)?, row.get::<_, Option<String>>(18)?))
                    })
                    .optional()?;
                if let Some((head, parts, extra)) = row {
                    let content = content::unpack(&view, parts.as_deref(), extra.as_deref())?;
                    found.push(Node { head, content });
                }
            }
            Ok(found)
        })
    }
}

/// Stores new nodes. Nodes whose key the session already has are skipped; their children are attached to the existing
/// nodes.
pub(crate) fn put(tx: &mut WriteTransaction<'_>, session: SessionId, nodes: &[Node]) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    let (mut messages, mut newest) = (0, i64::MIN);
    for node in nodes {
        if put_one(tx, row, node)? {
            messages += i64::from(node.head.content.is_some());
            newest = newest.max(node.head.at);
        }
    }
    sessions::touch(tx, row, newest, messages)
}

/// Stores a node. Returns whether it is new.
fn put_one(tx: &mut WriteTransaction<'_>, session: i64, node: &Node) -> Result<bool, StoreError> {
    let head = &node.head;
    let sql = "SELECT id FROM node WHERE session = ?1 AND key = ?2";
    let known: Option<NodeId> = first_row(tx.conn, sql, (session, head.key), |row| row.get(0))?;
    if let Some(known) = known {
        tx.record_twin(head.id, known);
        return Ok(false);
    }
    let (parts, extra) = content::pack(tx, &node.content)?;
    let parent = tx.stored_id_of(head.parent);
    tx.run(
        "INSERT INTO node (session, id, key, parent, ord, role, \"end\", at, bytes, calls, hidden, imported, content,
           preview, model, name, lane, external_id, parts, extra)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
        &[
            &session,
            &head.id,
            &head.key,
            &parent,
            &head.ord,
            &head.role.name(),
            &head.end.name(),
            &head.at,
            &int(head.bytes),
            &head.calls,
            &head.hidden,
            &head.imported,
            &head.content,
            &head.preview,
            &head.model,
            &head.name,
            &head.lane,
            &head.external_id,
            &parts,
            &extra,
        ],
    )?;
    if head.content.is_some() {
        tx.run(
            "INSERT INTO search (rowid, session, words) SELECT n, session, words FROM node_text WHERE n = ?1",
            &[&tx.conn.last_insert_rowid()],
        )?;
    }
    Ok(true)
}
