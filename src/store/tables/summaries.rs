//! Summaries with what they cover, the summaries that each branch uses, and the figures of each summarization.
//! Not for: which summaries are sent with a call (`engine`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, SessionId};
use crate::domain::summary::accepted::{Summary, TurnCover};
use crate::store::Store;
use crate::store::sql::{Json, all_rows, json};
use crate::store::transaction::WriteTransaction;
use crate::store::types::{StoreError, SummaryFigures};
use rusqlite::Row;
use std::collections::HashMap;

impl Store {
    /// Returns a session's summaries, oldest first.
    pub fn summaries(&self, session: SessionId) -> Result<Vec<Summary>, StoreError> {
        self.read(|conn| {
            let view = conn.unchecked_transaction()?;
            let mut covers: HashMap<i64, Vec<TurnCover>> = HashMap::new();
            let mut query = view.prepare_cached(
                "SELECT c.capsule, c.seq, c.user, c.tip, c.node, c.content
                 FROM capsule JOIN capsule_cover AS c ON c.capsule = capsule.n
                 WHERE capsule.session = (SELECT n FROM session WHERE id = ?1) ORDER BY c.capsule, c.turn, c.seq",
            )?;
            let mut rows = query.query([session])?;
            while let Some(row) = rows.next()? {
                let of = covers.entry(row.get(0)?).or_default();
                if row.get::<_, i64>(1)? == 0 {
                    of.push(TurnCover { user: row.get(2)?, tip: row.get(3)?, nodes: Vec::new() });
                }
                if let Some(cover) = of.last_mut() {
                    cover.nodes.push((row.get(4)?, row.get(5)?));
                }
            }
            let sql =
                "SELECT n, text, body FROM capsule WHERE session = (SELECT n FROM session WHERE id = ?1) ORDER BY n";
            all_rows(&view, sql, [session], |row| {
                let (n, text): (i64, Option<String>) = (row.get(0)?, row.get(1)?);
                let body: Summary = json(row, 2)?;
                Ok(Summary { text, covers: covers.remove(&n).unwrap_or_default(), ..body })
            })
        })
    }

    /// Returns the figures of a session's summarizations, oldest first.
    pub fn summary_figures(&self, session: SessionId) -> Result<Vec<SummaryFigures>, StoreError> {
        let sql = "SELECT capsule, original_tokens, compressed_tokens, timestamp FROM metrics
                 WHERE session = (SELECT n FROM session WHERE id = ?1) ORDER BY n";
        let read = |row: &Row<'_>| {
            Ok(SummaryFigures { summary: row.get(0)?, original: row.get(1)?, compressed: row.get(2)?, at: row.get(3)? })
        };
        self.read(|conn| all_rows(conn, sql, [session], read))
    }
}

/// Stores a summary and its figures. The row of a known summary stays unchanged; only the figures are added.
pub(crate) fn put(tx: &WriteTransaction<'_>, session: SessionId, summary: &Summary, at: i64) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    let light = Summary { text: None, covers: Vec::new(), ..summary.clone() };
    let new = tx.changed(
        "INSERT INTO capsule (session, id, kind, level, lane, text, tokens, generated_at, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (session, id) DO NOTHING",
        &[
            &row,
            &summary.id,
            &summary.kind.name(),
            &summary.kind.level(),
            &summary.lane,
            &summary.text,
            &summary.tokens,
            &summary.generated_at,
            &Json(&light),
        ],
    )?;
    let ratio = f64::from(summary.original_tokens) / f64::from(summary.tokens.max(1));
    tx.run(
        "INSERT INTO metrics (session, capsule, original_tokens, compressed_tokens, compression_ratio, timestamp)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &[&row, &summary.id, &summary.original_tokens, &summary.tokens, &ratio, &at],
    )?;
    if new == 0 {
        return Ok(());
    }
    let n = tx
        .conn
        .prepare_cached("SELECT n FROM capsule WHERE session = ?1 AND id = ?2")?
        .query_row((row, summary.id), |row| row.get::<_, i64>(0))?;
    for (turn, cover) in (0_i64..).zip(&summary.covers) {
        for (seq, (node, content)) in (0_i64..).zip(&cover.nodes) {
            tx.run(
                "INSERT INTO capsule_cover (capsule, turn, seq, user, tip, node, content)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                &[&n, &turn, &seq, &cover.user, &cover.tip, node, content],
            )?;
        }
    }
    Ok(())
}

/// Sets the summaries that a branch uses if the current ones are the expected ones, otherwise fails with `Moved`.
pub(crate) fn set_used(
    tx: &WriteTransaction<'_>,
    branch: BranchId,
    expect: &[Hash],
    now: &[Hash],
) -> Result<(), StoreError> {
    tx.run_one("UPDATE branch SET capsules = ?3 WHERE id = ?1 AND capsules = ?2", &[&branch, &Json(expect), &Json(now)])
}

/// Deletes the texts of summaries that read one of these messages, and the sentences that they quote verbatim.
pub(crate) fn forget(tx: &WriteTransaction<'_>, session: i64, nodes: &[Hash]) -> Result<(), StoreError> {
    for node in nodes {
        let mut query = tx.conn.prepare_cached(
            "SELECT DISTINCT capsule.n, capsule.body
             FROM capsule_cover AS c JOIN capsule ON capsule.n = c.capsule
             WHERE (c.node = ?2 OR c.user = ?2 OR c.tip = ?2) AND capsule.session = ?1 AND capsule.text IS NOT NULL",
        )?;
        let rows = query.query_map((session, node), |row| Ok((row.get(0)?, json(row, 1)?)))?;
        for (n, body) in rows.collect::<Result<Vec<(i64, Summary)>, _>>()? {
            let body = Summary { kept: Vec::new(), ..body };
            tx.run("UPDATE capsule SET text = NULL, body = ?2 WHERE n = ?1", &[&n, &Json(&body)])?;
        }
    }
    Ok(())
}
