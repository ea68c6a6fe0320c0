//! Token counts by hash, and small named values.
//! Not for: counting tokens (`llm`).

use super::lookup::StoreLookup;
use crate::domain::base::Hash;
use crate::domain::call::Encoding;
use crate::store::Store;
use crate::store::sql::first_rows;
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
use std::collections::HashMap;

impl Store {
    /// Returns the known token counts of these texts.
    pub fn counts(&self, keys: &[Hash], encoding: Encoding) -> Result<HashMap<Hash, u32>, StoreError> {
        let (sql, encoding) = ("SELECT tokens FROM token_count WHERE key = ?1 AND encoding = ?2", encoding.name());
        self.read(|conn| first_rows(conn, sql, keys, |key| (key, &encoding), |row| row.get(0)))
    }

    /// Returns a named value.
    pub fn setting(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.read(|conn| StoreLookup(conn).setting(key))
    }
}

/// Stores token counts. A count that is already stored is overwritten with the same value.
pub(crate) fn put(tx: &WriteTransaction<'_>, counts: &[(Hash, Encoding, u32)]) -> Result<(), StoreError> {
    for (key, encoding, tokens) in counts {
        tx.run(
            "INSERT INTO token_count (key, encoding, tokens) VALUES (?1, ?2, ?3)
             ON CONFLICT (key, encoding) DO UPDATE SET tokens = excluded.tokens",
            &[key, &encoding.name(), tokens],
        )?;
    }
    Ok(())
}

/// Sets a named value; `None` deletes it.
pub(crate) fn set(tx: &WriteTransaction<'_>, key: &str, value: Option<&str>) -> Result<(), StoreError> {
    match value {
        Some(value) => tx.run(
            "INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            &[&key, &value],
        ),
        None => tx.run("DELETE FROM setting WHERE key = ?1", &[&key]),
    }
}
