//! Carrying writes out, inside the writer's transaction.
//! Not for: SQL; each family of tables has its own file.

use super::file::owners::OwnersView;
use super::tables::{
    branches, counts, embeddings, journal, memory, message_index, modules, nodes, plans, races, removal, retrieval,
    runs, sessions, steps, summaries, tags, traces,
};
use super::types::{StoreError, Write};
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use rusqlite::{Connection, OptionalExtension, ToSql};
use std::collections::HashMap;

/// One transaction under way.
pub(super) struct Apply<'a> {
    /// Where it happens.
    pub(super) conn: &'a Connection,
    owners: &'a OwnersView,
    /// Nodes that were passed over because the session has their key, by the id that the writer gave them.
    twins: HashMap<NodeId, NodeId>,
    purged: bool,
}

impl<'a> Apply<'a> {
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

    /// Carries one write out.
    pub(super) fn apply(&mut self, write: &Write) -> Result<(), StoreError> {
        match write {
            Write::PutSession { id, title, at } => sessions::put(self, *id, title, *at),
            Write::Title { session, title } => sessions::title(self, *session, title),
            Write::MadeTitle { session, title, sources } => sessions::made_title(self, *session, title, sources),
            Write::DeleteSession(id) => removal::session(self, *id),
            Write::UseSession(id) => sessions::used(self, *id),
            Write::PutNodes { session, nodes } => nodes::put(self, *session, nodes),
            Write::Tombstone { session, nodes } => removal::nodes(self, *session, nodes),
            Write::PutState { session, version } => journal::put_state(self, *session, version),
            Write::PutCapsule { session, capsule, at } => summaries::put(self, *session, capsule, *at),
            Write::SetCapsules { branch, expect, capsules } => summaries::used(self, *branch, expect, capsules),
            Write::PutOp(operation) => journal::put_op(self, operation),
            Write::SetUndone { seq, undone } => journal::set_undone(self, *seq, *undone),
            Write::PutPlan { id, branch, body } => plans::put(self, *id, *branch, body),
            Write::PutTrace { session, trace } => traces::put(self, *session, trace),
            Write::PutToolOutput { session, run, call_id, text } => {
                traces::put_output(self, *session, *run, call_id, text)
            }
            Write::PutFileText { session, text } => traces::put_file_text(self, *session, text),
            Write::PutShelf { .. } => message_index::put(self, write),
            Write::PutTail { session, before, keys, body } => {
                message_index::put_tail(self, *session, *before, keys, body)
            }
            Write::DropShelf(session) => message_index::drop_all(self, self.session(*session)?),
            Write::PutEmbeddings { model, codes } => embeddings::put(self, model, codes),
            Write::DropEmbeddings(keys) => embeddings::drop(self, keys),
            Write::PutRetrieval { session, set } => retrieval::put(self, *session, set),
            Write::PutMemory { memory, expect } => memory::put(self, memory, *expect),
            Write::DeleteMemory { id, expect } => memory::delete(self, *id, *expect),
            Write::PutTransition { session, transition } => steps::put(self, *session, transition),
            Write::PutTouches { session, node, touches } => steps::put_touches(self, *session, *node, touches),
            Write::PutTag { session, node, expect, tag } => {
                tags::put(self, *session, *node, expect.as_ref(), tag.as_ref())
            }
            Write::PutModule { root, card } => modules::put(self, root, card),
            Write::StepModule { root, path, forward } => modules::step(self, root, path, *forward),
            Write::PutBranchRun { session, record } => races::put(self, *session, record),
            Write::PutUsage(report) => traces::put_usage(self, report),
            Write::PutCounts(found) => counts::put(self, found),
            Write::Setting { key, value } => counts::set(self, key, value.as_deref()),
            Write::OpenRun(open) => runs::open(self, open),
            Write::UserIsNode(run) => runs::user_is_node(self, *run),
            Write::PutRun(card) => runs::put(self, card),
            Write::CloseRun(card) => runs::close(self, card),
            Write::PutUses { run, uses } => runs::put_uses(self, *run, uses),
            Write::PutChunk { run, seq, body } => runs::put_chunk(self, *run, *seq, body),
            Write::PutBranch(_)
            | Write::MoveHead { .. }
            | Write::Name { .. }
            | Write::Archive { .. }
            | Write::SetOverrides { .. }
            | Write::SetAnchor { .. }
            | Write::SetReply { .. }
            | Write::PutMark { .. }
            | Write::UseBranch(_) => branches::apply(self, write),
        }
    }
}
