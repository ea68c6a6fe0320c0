//! What was looked up for calls.
//! Not for: looking it up (`retrieval`), or the words that search finds (`search`).

use super::Store;
use super::apply::Apply;
use super::sql::Json;
use super::types::StoreError;
use crate::domain::evidence::RetrievalSet;
use crate::domain::hash::Hash;
use crate::domain::ids::SessionId;
use rusqlite::OptionalExtension as _;

impl Store {
    /// A set by its id.
    pub fn retrieval_set(&self, id: Hash) -> Result<Option<RetrievalSet>, StoreError> {
        self.read(|conn| {
            let mut query = conn.prepare_cached("SELECT body FROM retrieval_set WHERE id = ?1")?;
            Ok(query.query_row([id], |row| Ok(row.get::<_, Json<RetrievalSet>>(0)?.0)).optional()?)
        })
    }
}

/// A set; one that is known is the same.
pub(super) fn put(apply: &Apply<'_>, session: SessionId, set: &RetrievalSet) -> Result<(), StoreError> {
    let row = apply.session(session)?;
    apply.run(
        "INSERT INTO retrieval_set (id, session, body) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
        &[&set.id, &row, &Json(set)],
    )?;
    Ok(())
}

/// What was asked in a session is forgotten: a message of it was removed, and queries are messages.
pub(super) fn forget_queries(apply: &Apply<'_>, session: i64) -> Result<(), StoreError> {
    apply.run("UPDATE retrieval_set SET body = json_set(body, '$.query', '') WHERE session = ?1", &[&session])?;
    Ok(())
}
