//! Vectors of passages, by model and hash of the text. Their bytes are opaque here; the module `retrieval` reads them.
//! Not for: which texts get a vector (`engine`).

use crate::domain::base::Hash;
use crate::store::Store;
use crate::store::sql::first_rows;
use crate::store::transaction::WriteTransaction;
use crate::store::types::{PassageVector, StoreError};
use std::collections::HashMap;

impl Store {
    /// Returns the stored vectors of a model for these hashes.
    pub fn embeddings(&self, model: &str, keys: &[Hash]) -> Result<HashMap<Hash, Vec<u8>>, StoreError> {
        let sql = "SELECT code FROM embedding WHERE model = ?1 AND key = ?2";
        self.read(|conn| first_rows(conn, sql, keys, |key| (model, key), |row| row.get(0)))
    }
}

/// Stores vectors, replacing existing ones. The message of a vector may have been removed since its text was read; such a
/// vector is not stored.
pub(crate) fn put(tx: &WriteTransaction<'_>, model: &str, vectors: &[PassageVector]) -> Result<(), StoreError> {
    for PassageVector { node, key, code } in vectors {
        tx.run(
            "INSERT INTO embedding (model, key, code)
             SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM node WHERE id = ?4 AND \"end\" <> 'removed')
             ON CONFLICT (model, key) DO UPDATE SET code = excluded.code",
            &[&model, key, code, &tx.stored_id(*node)],
        )?;
    }
    Ok(())
}

/// Deletes the vectors of these texts, of every model.
pub(crate) fn drop(tx: &WriteTransaction<'_>, keys: &[Hash]) -> Result<(), StoreError> {
    for key in keys {
        tx.run("DELETE FROM embedding WHERE key = ?1", &[key])?;
    }
    Ok(())
}
