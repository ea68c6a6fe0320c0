//! A write transaction in progress: its connection, its state between writes, and statements that all tables need.
//! Not for: passing a write to its table (`apply`).

use super::file::owners::OwnersView;
use super::sql::{first_row, session_row};
use super::types::StoreError;
use crate::domain::base::{BranchId, NodeId, RunId, SessionId};
use rusqlite::{Connection, ToSql};
use std::collections::HashMap;

/// A transaction in progress.
pub(super) struct WriteTransaction<'a> {
    /// The writer's connection.
    pub(super) conn: &'a Connection,
    owners: &'a OwnersView,
    /// Nodes that were skipped because the session already has their key: the stored id by the id that the caller
    /// passed.
    twins: HashMap<NodeId, NodeId>,
    /// Whether text was permanently deleted.
    pub(super) purged: bool,
}

impl<'a> WriteTransaction<'a> {
    /// Begins a transaction's writes on a connection.
    pub(super) fn new(conn: &'a Connection, owners: &'a OwnersView) -> Self {
        Self { conn, owners, twins: HashMap::new(), purged: false }
    }

    /// Returns whether the process of an owner is alive.
    pub(super) fn alive(&self, owner: &str) -> bool {
        self.owners.alive(owner)
    }

    /// Returns the id that a node is stored under: the id of the existing node with the same key if this node was
    /// skipped, otherwise `node`.
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

    /// Runs one statement.
    pub(super) fn run(&self, sql: &str, values: &[&dyn ToSql]) -> Result<(), StoreError> {
        self.changed(sql, values).map(|_| ())
    }

    /// Runs one statement and returns the number of changed rows.
    pub(super) fn changed(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize, StoreError> {
        Ok(self.conn.prepare_cached(sql)?.execute(values)?)
    }

    /// Runs a statement that must change a row. Fails with `Moved` if there is no such row, because another writer
    /// removed or changed it.
    pub(super) fn run_one(&self, sql: &str, values: &[&dyn ToSql]) -> Result<(), StoreError> {
        if self.changed(sql, values)? == 0 { Err(StoreError::Moved) } else { Ok(()) }
    }

    /// Returns the row id of a session, or `Moved` if it does not exist.
    pub(super) fn session(&self, id: SessionId) -> Result<i64, StoreError> {
        session_row(self.conn, id)?.ok_or(StoreError::Moved)
    }

    /// Returns the row id of a branch, or `Moved` if it does not exist.
    pub(super) fn branch(&self, id: BranchId) -> Result<i64, StoreError> {
        self.row("SELECT n FROM branch WHERE id = ?1", &id)
    }

    /// Returns the row id of a run, or `Moved` if it does not exist.
    pub(super) fn plan_run(&self, id: RunId) -> Result<i64, StoreError> {
        self.row("SELECT n FROM plan_run WHERE id = ?1", &id)
    }

    fn row(&self, sql: &str, id: &dyn ToSql) -> Result<i64, StoreError> {
        first_row(self.conn, sql, [id], |row| row.get(0))?.ok_or(StoreError::Moved)
    }
}
