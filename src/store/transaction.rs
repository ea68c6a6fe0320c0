//! A write transaction under way: its connection, what it has to remember between writes, and statements that every table
//! needs.
//! Not for: which write goes to which table (`apply`).

use super::file::owners::OwnersView;
use super::types::StoreError;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use rusqlite::{Connection, OptionalExtension, ToSql};
use std::collections::HashMap;

/// See the module.
pub(super) struct WriteTransaction<'a> {
    /// Where it happens.
    pub(super) conn: &'a Connection,
    owners: &'a OwnersView,
    /// Nodes that were passed over because the session has their key, by the id that the writer gave them.
    twins: HashMap<NodeId, NodeId>,
    purged: bool,
}

impl<'a> WriteTransaction<'a> {
    /// Starts.
    pub(super) fn new(conn: &'a Connection, owners: &'a OwnersView) -> Self {
        Self { conn, owners, twins: HashMap::new(), purged: false }
    }

    /// Whether text was deleted for good.
    pub(super) fn purged(&self) -> bool {
        self.purged
    }

    /// Notes that text was deleted for good.
    pub(super) fn purge(&mut self) {
        self.purged = true;
    }

    /// Whether an owner's process lives.
    pub(super) fn alive(&self, owner: &str) -> bool {
        self.owners.alive(owner)
    }

    /// The node that stands for this one.
    pub(super) fn real(&self, node: NodeId) -> NodeId {
        self.twins.get(&node).copied().unwrap_or(node)
    }

    /// The same, where there may be none.
    pub(super) fn real_of(&self, node: Option<NodeId>) -> Option<NodeId> {
        node.map(|node| self.real(node))
    }

    /// Notes that a node is known under another id.
    pub(super) fn twin(&mut self, given: NodeId, stored: NodeId) {
        self.twins.insert(given, stored);
    }

    /// Runs one statement and says how many rows it changed.
    pub(super) fn run(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize, StoreError> {
        Ok(self.conn.prepare_cached(sql)?.execute(values)?)
    }

    /// Runs one statement that must find its row: where it is gone, somebody else was here.
    pub(super) fn must(&self, sql: &str, values: &[&dyn ToSql]) -> Result<(), StoreError> {
        if self.run(sql, values)? == 0 { Err(StoreError::Moved) } else { Ok(()) }
    }

    /// A session's row.
    pub(super) fn session(&self, id: SessionId) -> Result<i64, StoreError> {
        self.row("SELECT n FROM session WHERE id = ?1", &id)
    }

    /// A branch's row.
    pub(super) fn branch(&self, id: BranchId) -> Result<i64, StoreError> {
        self.row("SELECT n FROM branch WHERE id = ?1", &id)
    }

    /// A run's row.
    pub(super) fn plan_run(&self, id: RunId) -> Result<i64, StoreError> {
        self.row("SELECT n FROM plan_run WHERE id = ?1", &id)
    }

    fn row(&self, sql: &str, id: &dyn ToSql) -> Result<i64, StoreError> {
        let found = self.conn.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
        found.ok_or(StoreError::Moved)
    }
}
