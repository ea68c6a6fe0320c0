//! Records of calls: tool traces, tool results, texts of changed files, and usage reports.
//! Not for: the calls themselves (`runs`).

use crate::domain::base::{Hash, RunId, SessionId};
use crate::domain::call::UsageReport;
use crate::domain::tool::ToolTrace;
use crate::store::Store;
use crate::store::sql::{Json, all_rows, first_row, int, json};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;

/// The maximum number of characters of full results kept per session.
const MAX_OUTPUT: i64 = 64 << 20;

impl Store {
    /// Returns the newest `limit` tool traces of a session, oldest first.
    pub fn traces(&self, session: SessionId, limit: usize) -> Result<Vec<ToolTrace>, StoreError> {
        let sql = "SELECT body FROM tool_trace WHERE session = (SELECT n FROM session WHERE id = ?1)
                 ORDER BY n DESC LIMIT ?2";
        let mut found = self.read(|conn| all_rows(conn, sql, (session, int(limit as u64)), |row| json(row, 0)))?;
        found.reverse();
        Ok(found)
    }

    /// Returns the text of a workspace file before or after a tool changed it.
    pub fn file_text(&self, session: SessionId, hash: Hash) -> Result<Option<String>, StoreError> {
        let sql = "SELECT text FROM file_text WHERE session = (SELECT n FROM session WHERE id = ?1) AND hash = ?2";
        self.read(|conn| first_row(conn, sql, (session, hash), |row| row.get(0)))
    }

    /// Returns the full result of a tool call, if it was kept.
    pub fn tool_output(&self, run: RunId, call_id: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT text FROM tool_output WHERE run = ?1 AND call_id = ?2";
        self.read(|conn| first_row(conn, sql, (run, call_id), |row| row.get(0)))
    }

    /// Passes the newest `limit` usage reports of all sessions to `take`, newest first, until it returns false.
    pub fn recent_usage(&self, limit: usize, mut take: impl FnMut(UsageReport) -> bool) -> Result<(), StoreError> {
        self.read(|conn| {
            let mut query = conn.prepare_cached("SELECT body FROM usage_report ORDER BY run DESC LIMIT ?1")?;
            let mut rows = query.query([int(limit as u64)])?;
            while let Some(row) = rows.next()? {
                if !take(json(row, 0)?) {
                    break;
                }
            }
            Ok(())
        })
    }
}

/// Stores the text of a file. Equal texts are stored once.
pub(crate) fn put_file_text(tx: &WriteTransaction<'_>, session: SessionId, text: &str) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    let hash = Hash::of(text.as_bytes());
    tx.run("INSERT OR IGNORE INTO file_text (session, hash, text) VALUES (?1, ?2, ?3)", &[&row, &hash, &text])
}

/// Stores the full result of a call, and deletes the session's oldest results to stay within the limit.
pub(crate) fn put_output(
    tx: &WriteTransaction<'_>,
    session: SessionId,
    run: RunId,
    call_id: &str,
    text: &str,
) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    tx.run(
        "INSERT INTO tool_output (session, run, call_id, text) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (run, call_id) DO UPDATE SET text = excluded.text",
        &[&row, &run, &call_id, &text],
    )?;
    tx.run(
        "DELETE FROM tool_output WHERE n IN (
           SELECT n FROM (
             SELECT n, sum(length(text)) OVER (ORDER BY n DESC) AS total FROM tool_output WHERE session = ?1
           ) WHERE total > ?2
         )",
        &[&row, &MAX_OUTPUT],
    )
}

/// Stores a trace, new or changed.
pub(crate) fn put(tx: &WriteTransaction<'_>, session: SessionId, trace: &ToolTrace) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    let trace = ToolTrace { node: tx.stored_id_of(trace.node), ..trace.clone() };
    tx.run(
        "INSERT INTO tool_trace (session, run, call_id, body) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (run, call_id) DO UPDATE SET body = excluded.body",
        &[&row, &trace.run, &trace.call_id, &Json(&trace)],
    )
}

/// Stores the usage report of a call that is in the store.
pub(crate) fn put_usage(tx: &WriteTransaction<'_>, report: &UsageReport) -> Result<(), StoreError> {
    let run = tx.plan_run(report.run)?;
    tx.run(
        "INSERT INTO usage_report (run, est_error_pct, body) VALUES (?1, ?2, ?3)
         ON CONFLICT (run) DO UPDATE SET est_error_pct = excluded.est_error_pct, body = excluded.body",
        &[&run, &report.est_error_pct, &Json(report)],
    )
}
