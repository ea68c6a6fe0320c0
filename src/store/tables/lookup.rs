//! Reads inside the transaction that will write, so that no other write happens before it.
//! Not for: reads without a write, which use the pool.

use crate::domain::base::{BranchId, Hash, NodeId, SessionId};
use crate::domain::conversation::End;
use crate::store::Store;
use crate::store::sql::{all_rows, first_row, uint};
use crate::store::types::{StoreError, Write};
use rusqlite::{Connection, Row};

/// The store as seen inside a transaction.
pub struct StoreLookup<'a>(pub(crate) &'a Connection);

/// The stored facts of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeState {
    pub id: NodeId,
    pub key: Hash,
    /// Milliseconds since 1970.
    pub at: i64,
    pub content: Option<Hash>,
    /// Whether its content was removed.
    pub removed: bool,
}

/// A branch's name and head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BranchName {
    pub id: BranchId,
    pub name: String,
    pub head: Option<NodeId>,
}

impl Store {
    /// Reads, decides what to write, and writes it, all in one transaction.
    ///
    /// # Errors
    /// Any error of reading or writing. In that case, nothing is written.
    pub fn decide<T: Send + 'static>(
        &self,
        work: impl FnOnce(&StoreLookup<'_>) -> Result<(Vec<Write>, T), StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer()?.decide(|conn| work(&StoreLookup(conn))).map_err(|error| self.with_path(error))
    }
}

impl StoreLookup<'_> {
    /// Returns a named value.
    pub fn setting(&self, key: &str) -> Result<Option<String>, StoreError> {
        first_row(self.0, "SELECT value FROM setting WHERE key = ?1", [key], |row| row.get(0))
    }

    /// Returns the title of a session, if the session exists.
    pub fn title(&self, session: SessionId) -> Result<Option<String>, StoreError> {
        first_row(self.0, "SELECT title FROM session WHERE id = ?1", [session], |row| row.get(0))
    }

    /// Returns the node of a session with this key.
    pub fn by_key(&self, session: SessionId, key: Hash) -> Result<Option<NodeState>, StoreError> {
        first_row(self.0, &format!("{NODE} AND key = ?2"), (session, key), node_state)
    }

    /// Returns the node of a session with this id.
    pub fn by_id(&self, session: SessionId, id: NodeId) -> Result<Option<NodeState>, StoreError> {
        first_row(self.0, &format!("{NODE} AND id = ?2"), (session, id), node_state)
    }

    /// Returns the branches of a session in order of creation.
    pub fn branches(&self, session: SessionId) -> Result<Vec<BranchName>, StoreError> {
        let sql = "SELECT id, name, head FROM branch WHERE session = (SELECT n FROM session WHERE id = ?1) ORDER BY n";
        all_rows(self.0, sql, [session], |row| Ok(BranchName { id: row.get(0)?, name: row.get(1)?, head: row.get(2)? }))
    }

    /// Returns the number of a session's next state version.
    pub fn next_state(&self, session: SessionId) -> Result<u32, StoreError> {
        let sql = "SELECT max(version) FROM state_version WHERE session = (SELECT n FROM session WHERE id = ?1)";
        let last: Option<i64> = first_row(self.0, sql, [session], |row| row.get(0))?.flatten();
        Ok(u32::try_from(last.map_or(0, uint)).unwrap_or(u32::MAX - 1) + 1)
    }

    /// Returns whether a message has a tag.
    pub fn tagged(&self, session: SessionId, node: Hash) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM tag WHERE session = (SELECT n FROM session WHERE id = ?1) AND node = ?2";
        Ok(self.0.prepare_cached(sql)?.exists((session, node))?)
    }
}

const NODE: &str = "SELECT id, key, at, content, \"end\" FROM node
     WHERE session = (SELECT n FROM session WHERE id = ?1)";

fn node_state(row: &Row<'_>) -> rusqlite::Result<NodeState> {
    let removed = End::from_name(row.get_ref(4)?.as_str()?) == Some(End::Removed);
    Ok(NodeState { id: row.get(0)?, key: row.get(1)?, at: row.get(2)?, content: row.get(3)?, removed })
}
