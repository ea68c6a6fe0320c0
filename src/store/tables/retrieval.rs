//! Retrieval sets: sets of older messages, one per call with retrieval, and sets of code, one per call in a trusted
//! folder. A set of code names its kind; a set of messages has none.
//! Not for: retrieving (`retrieval`, `code`), or full-text search (`search::full_text`).

use crate::domain::base::{Hash, SessionId};
use crate::domain::call::{CodeSet, RetrievalSet};
use crate::store::Store;
use crate::store::sql::{Json, first_row, json};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;

impl Store {
    /// Returns a set of older messages by its id.
    pub fn retrieval_set(&self, id: Hash) -> Result<Option<RetrievalSet>, StoreError> {
        self.of_kind(id, "IS NULL")
    }

    /// Returns a set of code by its id.
    pub fn code_set(&self, id: Hash) -> Result<Option<CodeSet>, StoreError> {
        self.of_kind(id, "= 'code'")
    }

    fn of_kind<T: DeserializeOwned>(&self, id: Hash, kind: &str) -> Result<Option<T>, StoreError> {
        let sql = format!("SELECT body FROM retrieval_set WHERE id = ?1 AND json_extract(body, '$.kind') {kind}");
        self.read(|conn| first_row(conn, &sql, [id], |row| json(row, 0)))
    }
}

/// Stores a set of either kind. A set with a known id is the same set and is skipped.
pub(crate) fn put(
    tx: &WriteTransaction<'_>,
    session: SessionId,
    id: Hash,
    set: &impl Serialize,
) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    tx.run(
        "INSERT INTO retrieval_set (id, session, body) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
        &[&id, &row, &Json(set)],
    )
}

/// Empties the queries of a session after a message of it was removed, because queries contain messages. The words that
/// matched and the reasons of candidates are taken from the query, so they are removed as well.
pub(crate) fn forget_queries(tx: &WriteTransaction<'_>, session: i64) -> Result<(), StoreError> {
    tx.run("UPDATE retrieval_set SET body = json_set(body, '$.query', '') WHERE session = ?1", &[&session])?;
    tx.run(
        "UPDATE retrieval_set SET body = json_set(body, '$.candidates', (SELECT json_group_array(json_remove(value, \
         '$.matched', '$.because')) FROM json_each(body, '$.candidates'))) WHERE session = ?1 AND json_extract(body, \
         '$.kind') = 'code'",
        &[&session],
    )
}
