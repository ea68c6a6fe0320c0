//! Plans by their id, as JSON.
//! Not for: the runs made from them (`runs`).

use super::Store;
use super::apply::Apply;
use super::sql::hex_range;
use super::types::StoreError;
use crate::domain::hash::Hash;

impl Store {
    /// The plans whose id begins so, with their JSON; two where there are more than one.
    pub fn plan_by_prefix(&self, prefix: &str) -> Result<Vec<(Hash, String)>, StoreError> {
        let Some(range) = hex_range::<32>(prefix) else { return Ok(Vec::new()) };
        self.read(|conn| {
            let mut query =
                conn.prepare_cached("SELECT id, body FROM plan WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT 2")?;
            Ok(query.query_map(range, |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
        })
    }
}

/// A plan; one that is known is the same.
pub(super) fn put(apply: &Apply<'_>, id: Hash, body: &str) -> Result<(), StoreError> {
    apply.run("INSERT INTO plan (id, body) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING", &[&id, &body])?;
    Ok(())
}
