//! Passes each write to its table, inside the writer's transaction.
//! Not for: SQL; each group of tables has its own file.

use super::tables::{
    branches, counts, embeddings, journal, memory, message_index, modules, nodes, plans, races, removal, retrieval,
    runs, sessions, steps, summaries, tags, traces,
};
use super::transaction::WriteTransaction;
use super::types::{StoreError, Write};

impl WriteTransaction<'_> {
    /// Executes one write.
    pub(super) fn apply(&mut self, write: &Write) -> Result<(), StoreError> {
        match write {
            Write::PutSession { id, title, at } => sessions::put(self, *id, title, *at),
            Write::SetTitle { session, title } => sessions::title(self, *session, title),
            Write::SetModelTitle { session, title, sources } => sessions::model_title(self, *session, title, sources),
            Write::DeleteSession(id) => removal::session(self, *id),
            Write::UseSession(id) => sessions::use_session(self, *id),
            Write::PutNodes { session, nodes } => nodes::put(self, *session, nodes),
            Write::Tombstone { session, nodes } => removal::nodes(self, *session, nodes),
            Write::PutState { session, version } => journal::put_state(self, *session, version),
            Write::PutSummary { session, summary, at } => summaries::put(self, *session, summary, *at),
            Write::SetSummaries { branch, expect, summaries } => summaries::set_used(self, *branch, expect, summaries),
            Write::PutDraft { session, draft, expect } => summaries::put_draft(self, *session, draft, *expect),
            Write::DeleteDraft { branch, expect } => summaries::delete_draft(self, *branch, *expect),
            Write::PutOperation(operation) => journal::put_op(self, operation),
            Write::SetUndone { seq, undone } => journal::set_undone(self, *seq, *undone),
            Write::PutPlan { id, branch, body } => plans::put(self, *id, *branch, body),
            Write::PutTrace { session, trace } => traces::put(self, *session, trace),
            Write::PutToolOutput { session, run, call_id, text } => {
                traces::put_output(self, *session, *run, call_id, text)
            }
            Write::PutFileText { session, text } => traces::put_file_text(self, *session, text),
            Write::PutIndexSegment { .. } => message_index::put(self, write),
            Write::PutIndexTail { session, before, keys, body } => {
                message_index::put_tail(self, *session, *before, keys, body)
            }
            Write::DropIndex(session) => message_index::drop_all(self, self.session(*session)?),
            Write::PutEmbeddings { model, vectors } => embeddings::put(self, model, vectors),
            Write::DropEmbeddings(keys) => embeddings::drop(self, keys),
            Write::PutRetrieval { session, set } => retrieval::put(self, *session, set.id, set),
            Write::PutCodeSet { session, set } => retrieval::put(self, *session, set.id, set),
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
            Write::SetValue { key, value } => counts::set(self, key, value.as_deref()),
            Write::OpenRun(open) => runs::open(self, open),
            Write::UserIsNode(run) => runs::user_is_node(self, *run),
            Write::PutRun(card) => runs::put(self, card),
            Write::CloseRun(card) => runs::close(self, card),
            Write::PutUses { run, uses } => runs::put_uses(self, *run, uses),
            Write::PutChunk { run, seq, body } => runs::put_chunk(self, *run, *seq, body),
            Write::PutBranch(_)
            | Write::MoveHead { .. }
            | Write::RenameBranch { .. }
            | Write::ArchiveBranch { .. }
            | Write::SetOverrides { .. }
            | Write::SetAnchor { .. }
            | Write::SetReply { .. }
            | Write::PutMark { .. }
            | Write::UseBranch(_) => branches::apply(self, write),
        }
    }
}
