//! Module summaries by workspace, in versions. The newest version that is not undone is the current one.
//! Not for: summaries of turns (`summaries`).

use crate::domain::summary::ModuleCard;
use crate::store::Store;
use crate::store::sql::{Json, all_rows, json};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;

/// The maximum number of versions kept per summary.
const MAX_VERSIONS: i64 = 20;

impl Store {
    /// Returns all versions of a workspace's module summaries, by path, oldest first, and whether each one is undone.
    pub fn modules(&self, root: &str) -> Result<Vec<(ModuleCard, bool)>, StoreError> {
        let sql = "SELECT body, undone FROM module_card WHERE root = ?1 ORDER BY path, n";
        self.read(|conn| all_rows(conn, sql, [root], |row| Ok((json(row, 0)?, row.get(1)?))))
    }
}

/// Stores a new version, and deletes undone ones.
pub(crate) fn put(tx: &WriteTransaction<'_>, root: &str, card: &ModuleCard) -> Result<(), StoreError> {
    tx.run("DELETE FROM module_card WHERE root = ?1 AND path = ?2 AND undone = 1", &[&root, &card.path])?;
    tx.run(
        "INSERT INTO module_card (root, path, body, undone) VALUES (?1, ?2, ?3, 0)",
        &[&root, &card.path, &Json(card)],
    )?;
    tx.run(
        "DELETE FROM module_card WHERE root = ?1 AND path = ?2 AND n NOT IN
           (SELECT n FROM module_card WHERE root = ?1 AND path = ?2 ORDER BY n DESC LIMIT ?3)",
        &[&root, &card.path, &MAX_VERSIONS],
    )
}

/// Undoes the newest version, or redoes the oldest undone one. Fails with `Moved` if there is none.
pub(crate) fn step(tx: &WriteTransaction<'_>, root: &str, path: &str, forward: bool) -> Result<(), StoreError> {
    let sql = if forward {
        "UPDATE module_card SET undone = 0 WHERE n =
           (SELECT n FROM module_card WHERE root = ?1 AND path = ?2 AND undone = 1 ORDER BY n LIMIT 1)"
    } else {
        "UPDATE module_card SET undone = 1 WHERE n =
           (SELECT n FROM module_card WHERE root = ?1 AND path = ?2 AND undone = 0 ORDER BY n DESC LIMIT 1)"
    };
    tx.run_one(sql, &[&root, &path])
}
