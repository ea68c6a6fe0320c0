//! Vectors of passages, by model and hash of the text. Their bytes are opaque here; the module `retrieval` reads them.
//! Not for: which texts get a vector (`engine`).

use crate::domain::base::hash::Hash;
use crate::store::Store;
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
use rusqlite::OptionalExtension as _;
use std::collections::HashMap;

impl Store {
    /// Returns the stored vectors of a model for these hashes.
    pub fn embeddings(&self, model: &str, keys: &[Hash]) -> Result<HashMap<Hash, Vec<u8>>, StoreError> {
        self.read(|conn| {
            let view = conn.unchecked_transaction()?;
            let mut query = view.prepare_cached("SELECT code FROM embedding WHERE model = ?1 AND key = ?2")?;
            let mut found = HashMap::with_capacity(keys.len());
            for key in keys {
                if let Some(code) = query.query_row((model, key), |row| row.get(0)).optional()? {
                    found.insert(*key, code);
                }
            }
            Ok(found)
        })
    }
}

/// Stores vectors, replacing existing ones.
pub(crate) fn put(tx: &WriteTransaction<'_>, model: &str, codes: &[(Hash, Vec<u8>)]) -> Result<(), StoreError> {
    for (key, code) in codes {
        tx.run(
            "INSERT INTO embedding (model, key, code) VALUES (?1, ?2, ?3)
             ON CONFLICT (model, key) DO UPDATE SET code = excluded.code",
            &[&model, key, code],
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
