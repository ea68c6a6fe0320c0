//! Summaries with the turns that they cover, the summaries that each branch uses, the drafts that wait for a decision,
//! and the figures of each summarization.
//! Not for: which summaries are sent with a call, or whether a draft is still valid (`engine`).

use crate::domain::base::{BranchId, Hash, SessionId};
use crate::domain::summary::{StoredDraft, Summary, TurnCover};
use crate::store::Store;
use crate::store::sql::{Json, all_rows, first_row, json, numbered_json};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
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

    /// Returns the draft that waits on a branch.
    pub fn summary_draft(&self, branch: BranchId) -> Result<Option<StoredDraft>, StoreError> {
        let sql = "SELECT body FROM summary_draft WHERE branch = ?1";
        self.read(|conn| first_row(conn, sql, [branch], |row| json(row, 0)))
    }

    /// Returns the id of the draft that waits on a branch.
    pub fn summary_draft_id(&self, branch: BranchId) -> Result<Option<Hash>, StoreError> {
        let sql = "SELECT summary FROM summary_draft WHERE branch = ?1";
        self.read(|conn| first_row(conn, sql, [branch], |row| row.get(0)))
    }

    /// Returns the time of a session's last summarization in milliseconds since 1970; `None` if there was none.
    pub fn last_summary_at(&self, session: SessionId) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT timestamp FROM metrics WHERE session = (SELECT n FROM session WHERE id = ?1)
                 ORDER BY n DESC LIMIT 1";
        self.read(|conn| first_row(conn, sql, [session], |row| row.get(0)))
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
    let n = tx.conn.last_insert_rowid();
    let ratio = f64::from(summary.original_tokens) / f64::from(summary.tokens.max(1));
    tx.run(
        "INSERT INTO metrics (session, capsule, original_tokens, compressed_tokens, compression_ratio, timestamp)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &[&row, &summary.id, &summary.original_tokens, &summary.tokens, &ratio, &at],
    )?;
    if new == 0 {
        return Ok(());
    }
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

/// Sets the summaries that a branch uses if `expect` is current; otherwise fails with `Moved`.
pub(crate) fn set_used(
    tx: &WriteTransaction<'_>,
    branch: BranchId,
    expect: &[Hash],
    now: &[Hash],
) -> Result<(), StoreError> {
    tx.run_one("UPDATE branch SET capsules = ?3 WHERE id = ?1 AND capsules = ?2", &[&branch, &Json(expect), &Json(now)])
}

/// Deletes the texts of summaries that read one of these messages, the sentences that they quote verbatim, and drafts
/// that read one of them.
pub(crate) fn forget(tx: &WriteTransaction<'_>, session: i64, nodes: &[Hash]) -> Result<(), StoreError> {
    for node in nodes {
        let sql = "SELECT DISTINCT capsule.n, capsule.body
             FROM capsule_cover AS c JOIN capsule ON capsule.n = c.capsule
             WHERE (c.node = ?2 OR c.user = ?2 OR c.tip = ?2) AND capsule.session = ?1 AND capsule.text IS NOT NULL";
        for (n, body) in all_rows(tx.conn, sql, (session, node), numbered_json)? {
            let body = Summary { kept: Vec::new(), ..body };
            tx.run("UPDATE capsule SET text = NULL, body = ?2 WHERE n = ?1", &[&n, &Json(&body)])?;
        }
    }
    forget_drafts(tx, session, nodes)
}

/// Stores a draft in place of the expected one.
pub(crate) fn put_draft(
    tx: &WriteTransaction<'_>,
    session: SessionId,
    draft: &StoredDraft,
    expect: Option<Hash>,
) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    if let Some(old) = expect {
        delete_draft(tx, draft.branch, old)?;
    }
    tx.run_one(
        "INSERT INTO summary_draft (branch, session, summary, sources, body) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (branch) DO NOTHING",
        &[&draft.branch, &row, &draft.id(), &draft.summary.source_hash, &Json(draft)],
    )
}

/// Deletes the expected draft of a branch.
pub(crate) fn delete_draft(tx: &WriteTransaction<'_>, branch: BranchId, expect: Hash) -> Result<(), StoreError> {
    tx.run_one("DELETE FROM summary_draft WHERE branch = ?1 AND summary = ?2", &[&branch, &expect])
}

/// Deletes the drafts that read one of these messages, and unreadable drafts.
fn forget_drafts(tx: &WriteTransaction<'_>, session: i64, nodes: &[Hash]) -> Result<(), StoreError> {
    let sql = "SELECT branch, body FROM summary_draft WHERE session = ?1";
    let drafts: Vec<(BranchId, String)> = all_rows(tx.conn, sql, [session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (branch, body) in drafts {
        if serde_json::from_str(&body).map_or(true, |draft: StoredDraft| draft.reads(nodes)) {
            tx.run("DELETE FROM summary_draft WHERE branch = ?1", &[&branch])?;
        }
    }
    Ok(())
}
