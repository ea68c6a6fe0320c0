//! The word indexes of sessions, in segments. Their bytes are opaque here; the module `retrieval` reads them.
//! Not for: full-text search (`search::full_text`).

use crate::domain::base::{Hash, SessionId};
use crate::store::Store;
use crate::store::sql::{all_rows, first_row, session_row};
use crate::store::transaction::WriteTransaction;
use crate::store::types::{StoreError, Write};

/// A segment's digest and header.
pub(crate) type Segment = (Hash, Vec<u8>);
/// The growing part of an index, with the digest of the last segment before it.
pub(crate) type Tail = (Option<Hash>, Vec<u8>);

impl Store {
    /// Returns the headers of a session's segments, in order.
    pub fn index_segments(&self, session: SessionId) -> Result<Vec<Segment>, StoreError> {
        let sql =
            "SELECT digest, header FROM shelf WHERE session = (SELECT n FROM session WHERE id = ?1) ORDER BY segment";
        self.read(|conn| all_rows(conn, sql, [session], |row| Ok((row.get(0)?, row.get(1)?))))
    }

    /// Returns the growing part as last stored: the digest of the segment before it, and its bytes.
    pub fn index_tail(&self, session: SessionId) -> Result<Option<Tail>, StoreError> {
        let sql = "SELECT before, body FROM shelf_tail WHERE session = (SELECT n FROM session WHERE id = ?1)";
        self.read(|conn| first_row(conn, sql, [session], |row| Ok((row.get(0)?, row.get(1)?))))
    }

    /// Returns whether a segment with this number and digest is stored.
    pub fn holds_segment(&self, session: SessionId, segment: u32, digest: Hash) -> Result<bool, StoreError> {
        self.read(|conn| {
            let mut query = conn.prepare_cached(
                "SELECT 1 FROM shelf
                 WHERE session = (SELECT n FROM session WHERE id = ?1) AND segment = ?2 AND digest = ?3",
            )?;
            Ok(query.exists((session, segment, digest))?)
        })
    }

    /// Returns the postings of some terms: term, segment, bytes.
    pub fn postings(&self, session: SessionId, terms: &[u64]) -> Result<Vec<(u64, u32, Vec<u8>)>, StoreError> {
        self.read(|conn| {
            let Some(row) = session_row(conn, session)? else { return Ok(Vec::new()) };
            let mut query =
                conn.prepare_cached("SELECT segment, list FROM posting WHERE session = ?1 AND term = ?2")?;
            let mut found = Vec::new();
            for term in terms {
                for list in query.query_map((row, term.cast_signed()), |row| Ok((row.get(0)?, row.get(1)?)))? {
                    let (segment, bytes) = list?;
                    found.push((*term, segment, bytes));
                }
            }
            Ok(found)
        })
    }
}

/// Stores a segment if it continues the stored ones and all of its messages exist; otherwise does nothing.
pub(crate) fn put(tx: &WriteTransaction<'_>, write: &Write) -> Result<(), StoreError> {
    let Write::PutIndexSegment { session, segment, before, digest, keys, header, lists } = write else { return Ok(()) };
    let row = tx.session(*session)?;
    let sql = "SELECT digest FROM shelf WHERE session = ?1 AND segment = ?2";
    let digest_of = |segment: i64| first_row(tx.conn, sql, (row, segment), |row| row.get::<_, Hash>(0));
    let number = i64::from(*segment);
    let first = number == 0;
    if first != before.is_none() || digest_of(number)?.is_some() || digest_of(number - 1)? != *before {
        return Ok(());
    }
    if !all_exist(tx, row, keys)? {
        return Ok(());
    }
    tx.run(
        "INSERT INTO shelf (session, segment, digest, header) VALUES (?1, ?2, ?3, ?4)",
        &[&row, &number, digest, header],
    )?;
    let mut insert =
        tx.conn.prepare_cached("INSERT INTO posting (session, term, segment, list) VALUES (?1, ?2, ?3, ?4)")?;
    for (term, list) in lists {
        insert.execute((row, term.cast_signed(), number, list))?;
    }
    Ok(())
}

/// Stores the growing part if it continues the stored segments and all of its messages exist; otherwise does nothing.
pub(crate) fn put_tail(
    tx: &WriteTransaction<'_>,
    session: SessionId,
    before: Option<Hash>,
    keys: &[Hash],
    body: &[u8],
) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    let sql = "SELECT digest FROM shelf WHERE session = ?1 ORDER BY segment DESC LIMIT 1";
    if first_row(tx.conn, sql, [row], |row| row.get(0))? != before {
        return Ok(());
    }
    if !all_exist(tx, row, keys)? {
        return Ok(());
    }
    tx.run("INSERT OR REPLACE INTO shelf_tail (session, before, body) VALUES (?1, ?2, ?3)", &[&row, &before, &body])
}

/// Returns whether the session has all of these messages, and none of them was removed. Another program may still have
/// the words of a removed message in memory.
fn all_exist(tx: &WriteTransaction<'_>, session: i64, keys: &[Hash]) -> Result<bool, StoreError> {
    let mut existing =
        tx.conn.prepare_cached("SELECT 1 FROM node WHERE session = ?1 AND key = ?2 AND content IS NOT NULL")?;
    for key in keys {
        if !existing.exists((session, key))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Deletes the whole index of a session.
pub(crate) fn drop_all(tx: &WriteTransaction<'_>, session: i64) -> Result<(), StoreError> {
    ["posting", "shelf", "shelf_tail"]
        .iter()
        .try_for_each(|table| tx.run(&format!("DELETE FROM {table} WHERE session = ?1"), &[&session]))
}
