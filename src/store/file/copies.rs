//! Finds backups that still contain permanently removed content, and removes it from them.
//! Not for: making backups (`backup`), or removing content from the store itself (`removal`).

use super::backup;
use super::pool::reader;
use crate::domain::base::{BackupAct, BackupCard, BackupOutcome, BackupReport, NodeId, SessionId};
use crate::store::sql::all_rows;
use crate::store::transaction::WriteTransaction;
use crate::store::types::{StoreError, Write};
use crate::store::{Store, schema};
use rusqlite::{Connection, TransactionBehavior};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Removed content that a backup still contains. Content that is merely missing in the store does not count: the store
/// may have been created again.
#[derive(Default)]
struct RemovedContent {
    sessions: Vec<SessionId>,
    nodes: Vec<(SessionId, NodeId)>,
}

impl Store {
    /// Applies `act` to the backups with removed content, and returns all backups next to the store, newest first,
    /// including backups that this call deleted.
    pub fn copies(&self, act: BackupAct) -> Result<Vec<BackupReport>, StoreError> {
        if act != BackupAct::List && self.read_only() {
            return Err(StoreError::ReadOnly);
        }
        let dated = backup::cards(&self.0.path).into_iter().map(|card| (card, false));
        let older =
            backup::before_schema(&self.0.path).into_iter().filter_map(|file| Some((backup::undated(&file)?, true)));
        Ok(dated.chain(older).map(|(card, older)| self.copy_after(act, card, older)).collect())
    }

    /// Applies `act` to one backup, and describes it.
    fn copy_after(&self, act: BackupAct, backup: BackupCard, older: bool) -> BackupReport {
        let file = PathBuf::from(&backup.path);
        let kept = BackupReport { backup, removed: 0, outcome: BackupOutcome::Kept, older, fault: None };
        let found = match self.removed_content_in(&file) {
            Ok(found) => found,
            Err(_) if act == BackupAct::Delete && std::fs::remove_file(&file).is_ok() => {
                return BackupReport { outcome: BackupOutcome::Deleted, ..kept };
            }
            Err(error) => return BackupReport { fault: Some(format!("it can't be read: {error}")), ..kept },
        };
        let removed = (found.sessions.len() + found.nodes.len()) as u64;
        if removed == 0 || act == BackupAct::List {
            return BackupReport { removed, ..kept };
        }
        // A backup from before a schema change is for the older program, which could not read a rewritten one.
        let (outcome, done) = if act == BackupAct::Rewrite && !older {
            (BackupOutcome::Rewritten, self.remove_in(&file, &found))
        } else {
            let deleted = std::fs::remove_file(&file);
            let failed = |error| StoreError::Sql(format!("it could not be deleted: {error}"));
            (BackupOutcome::Deleted, deleted.map_err(failed))
        };
        let bytes = std::fs::metadata(&file).map_or(kept.backup.bytes, |file| file.len());
        let backup = BackupCard { bytes, ..kept.backup.clone() };
        match done {
            Ok(()) => BackupReport { backup, outcome, ..kept },
            Err(error) => BackupReport { backup, removed, fault: Some(error.to_string()), ..kept },
        }
    }

    /// Returns the removed content that a backup still contains.
    fn removed_content_in(&self, file: &Path) -> Result<RemovedContent, StoreError> {
        let conn = reader(&self.0.path, false)?;
        conn.execute("ATTACH ?1 AS copy", [file.to_string_lossy()])?;
        let sessions = "SELECT id FROM copy.session WHERE id IN (SELECT id FROM main.removed_session)";
        let nodes = "SELECT session.id, old.id FROM main.node JOIN copy.node AS old ON old.id = node.id
             JOIN copy.session ON session.n = old.session
             WHERE node.\"end\" = 'removed' AND old.\"end\" <> 'removed'";
        Ok(RemovedContent {
            sessions: all_rows(&conn, sessions, [], |row| row.get(0))?,
            nodes: all_rows(&conn, nodes, [], |row| Ok((row.get(0)?, row.get(1)?)))?,
        })
    }

    /// Removes that content from a backup.
    fn remove_in(&self, file: &Path, found: &RemovedContent) -> Result<(), StoreError> {
        let mut nodes: BTreeMap<SessionId, Vec<NodeId>> = BTreeMap::new();
        for (session, node) in &found.nodes {
            nodes.entry(*session).or_default().push(*node);
        }
        let sessions = found.sessions.iter().map(|session| Write::DeleteSession(*session));
        let nodes = nodes.into_iter().map(|(session, nodes)| Write::Tombstone { session, nodes });
        let removals: Vec<Write> = sessions.chain(nodes).collect();
        backup::edit_copy(file, |conn: &mut Connection| {
            schema::migrate(conn, schema::STEPS)?;
            let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Calls that were open when the backup was made cannot be continued.
            transaction.execute_batch(
                "DELETE FROM stream_chunk; UPDATE plan_run SET open = 0, owner = NULL, draft = NULL WHERE open = 1;",
            )?;
            let mut tx = WriteTransaction::new(&transaction, &self.0.owners.view);
            removals.iter().try_for_each(|write| tx.apply(write))?;
            Ok(transaction.commit()?)
        })
    }
}
