//! Contents as stored in a row: as JSON, with each large text stored once in the table `body`.
//! Not for: heads of nodes (`nodes`).

use crate::domain::base::Hash;
use crate::domain::conversation::{Content, Part};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
use rusqlite::Connection;
use serde_json::{Map, Value};

/// Texts with more bytes than this are stored once and shared by hash.
const MIN_SHARED: usize = 4 * 1024;

/// The JSON key of the hash that replaces a large text.
const SHARED_KEY: &str = "big";

/// Returns the name of a part's field that may be large. Parts of other kinds have no field with that name.
fn field(part: &Map<String, Value>) -> &'static str {
    match part.get("part").and_then(Value::as_str) {
        Some("call") => "args",
        Some("reply") => "body",
        _ => "text",
    }
}

/// Packs a content into the columns `parts` and `extra`. Stores its large texts, or increments their use counts.
pub(crate) fn pack(
    tx: &WriteTransaction<'_>,
    content: &Content,
) -> Result<(Option<String>, Option<String>), StoreError> {
    let extra = content.extra.as_ref().map(serde_json::to_string).transpose()?;
    if content.parts.is_empty() {
        return Ok((None, extra));
    }
    let mut parts = Vec::with_capacity(content.parts.len());
    for part in &content.parts {
        parts.push(pack_part(tx, part)?);
    }
    Ok((Some(serde_json::to_string(&parts)?), extra))
}

fn pack_part(tx: &WriteTransaction<'_>, part: &Part) -> Result<Value, StoreError> {
    let mut value = serde_json::to_value(part)?;
    let Some(map) = value.as_object_mut() else { return Ok(value) };
    let name = field(map);
    if let Some(text) = map.get(name).and_then(Value::as_str).filter(|text| text.len() > MIN_SHARED) {
        let hash = Hash::of(text.as_bytes());
        tx.run(
            "INSERT INTO body (hash, text, refs) VALUES (?1, ?2, 1) ON CONFLICT (hash) DO UPDATE SET refs = refs + 1",
            &[&hash, &text],
        )?;
        map.remove(name);
        map.insert(SHARED_KEY.into(), hash.to_string().into());
    }
    Ok(value)
}

/// Unpacks the content from these columns.
pub(crate) fn unpack(conn: &Connection, parts: Option<&str>, extra: Option<&str>) -> Result<Content, StoreError> {
    let mut values: Vec<Value> = parts.map(serde_json::from_str).transpose()?.unwrap_or_default();
    for map in values.iter_mut().filter_map(Value::as_object_mut) {
        let Some(hash) = shared_hash(map) else { continue };
        let name = field(map);
        let mut query = conn.prepare_cached("SELECT text FROM body WHERE hash = ?1")?;
        let text: String = query.query_row([hash], |row| row.get(0))?;
        map.remove(SHARED_KEY);
        map.insert(name.into(), text.into());
    }
    let parts = serde_json::from_value(Value::Array(values))?;
    Ok(Content { parts, extra: extra.map(serde_json::from_str).transpose()? })
}

/// Returns the hashes of the large texts in a column `parts`, with repetitions.
pub(crate) fn large(parts: &str) -> Result<Vec<Hash>, StoreError> {
    let values: Vec<Value> = serde_json::from_str(parts)?;
    Ok(values.iter().filter_map(Value::as_object).filter_map(shared_hash).collect())
}

fn shared_hash(map: &Map<String, Value>) -> Option<Hash> {
    map.get(SHARED_KEY).and_then(Value::as_str).and_then(|hash| hash.parse().ok())
}

/// Releases one use of a large text. The last release deletes it.
pub(crate) fn release(tx: &WriteTransaction<'_>, hash: Hash) -> Result<(), StoreError> {
    tx.run("UPDATE body SET refs = refs - 1 WHERE hash = ?1", &[&hash])?;
    tx.run("DELETE FROM body WHERE hash = ?1 AND refs <= 0", &[&hash])
}
