//! Retrieval sets, one per call with retrieval.
//! Not for: retrieving (`retrieval`), or full-text search (`search::full_text`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::SessionId;
use crate::domain::call::retrieval_set::RetrievalSet;
use crate::store::Store;
use crate::store::sql::{Json, first_row, json};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;

impl Store {
    /// Returns a set by its id.
    pub fn retrieval_set(&self, id: Hash) -> Result<Option<RetrievalSet>, StoreError> {
        self.read(|conn| first_row(conn, "SELECT body FROM retrieval_set WHERE id = ?1", [id], |row| json(row, 0)))
    }
}

/// Stores a set. A set with a known id is the same set and is skipped.
pub(crate) fn put(tx: &WriteTransaction<'_>, session: SessionId, set: &RetrievalSet) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    tx.run(
        "INSERT INTO retrieval_set (id, session, body) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
        &[&set.id, &row, &Json(set)],
    )
}

/// Empties the queries of a session after a message of it was removed, because queries contain messages.
pub(crate) fn forget_queries(tx: &WriteTransaction<'_>, session: i64) -> Result<(), StoreError> {
    tx.run("UPDATE retrieval_set SET body = json_set(body, '$.query', '') WHERE session = ?1", &[&session])
}
