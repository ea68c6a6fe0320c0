//! A write transaction in progress: its connection, its state between writes, and statements that every table needs.
//! Not for: which write goes to which table (`apply`).

use super::file::owners::OwnersView;
use super::types::StoreError;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use rusqlite::{Connection, OptionalExtension, ToSql};
use std::collections::HashMap;

/// A transaction in progress.
pub(super) struct WriteTransaction<'a> {
    /// The writer's connection.
    pub(super) conn: &'a Connection,
    owners: &'a OwnersView,
    /// Nodes that were skipped because the session already has their key, by the id that the caller gave them.
    twins: HashMap<NodeId, NodeId>,
    purged: bool,
}

impl<'a> WriteTransaction<'a> {
    /// Begins a transaction's writes on a connection.
    pub(super) fn new(conn: &'a Connection, owners: &'a OwnersView) -> Self {
        Self { conn, owners, twins: HashMap::new(), purged: false }
    }

    /// Whether text was permanently deleted.
    pub(super) fn purged(&self) -> bool {
        self.purged
    }

    /// Records that text was permanently deleted.
    pub(super) fn purge(&mut self) {
        self.purged = true;
    }

    /// Whether an owner's process is alive.
    pub(super) fn alive(&self, owner: &str) -> bool {
        self.owners.alive(owner)
    }

    /// The stored node for an id: the existing twin of a skipped node, otherwise the node itself.
    pub(super) fn stored_id(&self, node: NodeId) -> NodeId {
        self.twins.get(&node).copied().unwrap_or(node)
    }

    /// Like [`Self::stored_id`], for an optional node.
    pub(super) fn stored_id_of(&self, node: Option<NodeId>) -> Option<NodeId> {
        node.map(|node| self.stored_id(node))
    }

    /// Records that a node is stored under another id.
    pub(super) fn record_twin(&mut self, given: NodeId, stored: NodeId) {
        self.twins.insert(given, stored);
    }

    /// Runs one statement and returns the number of changed rows.
    pub(super) fn run(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize, StoreError> {
        Ok(self.conn.prepare_cached(sql)?.execute(values)?)
    }

    /// Runs one statement that must change a row. If the row is gone, another writer removed it.
    pub(super) fn run_one(&self, sql: &str, values: &[&dyn ToSql]) -> Result<(), StoreError> {
        if self.run(sql, values)? == 0 { Err(StoreError::Moved) } else { Ok(()) }
    }

    /// Row id of a session.
    pub(super) fn session(&self, id: SessionId) -> Result<i64, StoreError> {
        self.row("SELECT n FROM session WHERE id = ?1", &id)
    }

    /// Row id of a branch.
    pub(super) fn branch(&self, id: BranchId) -> Result<i64, StoreError> {
        self.row("SELECT n FROM branch WHERE id = ?1", &id)
    }

    /// Row id of a run.
    pub(super) fn plan_run(&self, id: RunId) -> Result<i64, StoreError> {
        self.row("SELECT n FROM plan_run WHERE id = ?1", &id)
    }

    fn row(&self, sql: &str, id: &dyn ToSql) -> Result<i64, StoreError> {
        let found = self.conn.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
        found.ok_or(StoreError::Moved)
    }
}
