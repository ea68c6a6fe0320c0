//! Plans by id, as JSON, and the conversion of plans of older versions.
//! Not for: the runs made from plans (`runs`), or their compression (`packed_plans`).

use super::packed_plans::{self, PlanOrigin};
use crate::domain::base::{BranchId, Hash, SessionId};
use crate::store::Store;
use crate::store::sql::{all_rows, first_row, hex_range, session_row, uint};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::time::{Duration, Instant};

/// How long plans are converted at a time, which limits how long a write waits.
const MAX_STRETCH: Duration = Duration::from_millis(15);

impl Store {
    /// Returns the plans whose id has this prefix, with their JSON; at most two.
    pub fn plan_by_prefix(&self, prefix: &str) -> Result<Vec<(Hash, String)>, StoreError> {
        let Some(range) = hex_range::<32>(prefix) else { return Ok(Vec::new()) };
        self.read(|conn| {
            let view = conn.unchecked_transaction()?;
            let sql = "SELECT id FROM (SELECT id FROM plan UNION ALL SELECT id FROM plan_text)
                 WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT 2";
            let ids: Vec<Hash> = all_rows(&view, sql, range, |row| row.get(0))?;
            ids.into_iter().map(|id| Ok((id, text(&view, id)?.unwrap_or_default()))).collect()
        })
    }

    /// Returns the number of plans that are still in an older format, and the number of all plans.
    pub fn unconverted_plans(&self) -> Result<(u64, u64), StoreError> {
        self.read(|conn| {
            let unconverted = unconverted(conn)?;
            let moved: i64 = conn.query_row("SELECT count(*) FROM plan", [], |row| row.get(0))?;
            Ok((unconverted, unconverted + uint(moved)))
        })
    }

    /// Deletes the plans that can't be read, and returns their number.
    pub fn drop_unreadable_plans(&self) -> Result<usize, StoreError> {
        let drop_all = |conn: &mut Connection| {
            let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let dropped = rewrite(&transaction, &mut |_, _| Ok(None))?;
            transaction.commit()?;
            Ok(dropped)
        };
        self.writer()?.call(drop_all).map_err(|error| self.with_path(error))
    }

    /// Converts old plans for a few milliseconds. Returns how many remain.
    pub(crate) fn convert_plans(&self) -> Result<u64, StoreError> {
        self.writer()?.call(convert_some).map_err(|error| self.with_path(error))
    }
}

/// Returns a plan's JSON, from either format.
fn text(conn: &Connection, id: Hash) -> Result<Option<String>, StoreError> {
    if let Some(text) = packed_plans::read(conn, id)? {
        return Ok(Some(text));
    }
    first_row(conn, "SELECT body FROM plan_text WHERE id = ?1", [id], |row| row.get(0))
}

fn known(conn: &Connection, id: Hash) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM plan WHERE id = ?1 UNION ALL SELECT 1 FROM plan_text WHERE id = ?1";
    Ok(conn.prepare_cached(sql)?.exists([id])?)
}

/// Stores a plan. A plan with a known id is the same plan and is skipped.
pub(crate) fn put(tx: &WriteTransaction<'_>, id: Hash, branch: BranchId, body: &str) -> Result<(), StoreError> {
    if known(tx.conn, id)? {
        return Ok(());
    }
    let sql = "SELECT session, n FROM branch WHERE id = ?1";
    let origin = first_row(tx.conn, sql, [branch], |row| Ok((row.get(0)?, row.get(1)?)))?;
    packed_plans::insert(tx.conn, id, origin.unwrap_or_default(), body)
}

/// Returns where an old plan was made: according to its first call, otherwise according to its rows.
fn origin(conn: &Connection, id: Hash, body: &str) -> Result<PlanOrigin, StoreError> {
    let sql = "SELECT session, branch FROM plan_run WHERE plan = ?1 ORDER BY n LIMIT 1";
    if let Some(found) = first_row(conn, sql, [id], |row| Ok((row.get(0)?, row.get(1)?)))? {
        return Ok(found);
    }
    let named = body.split_once("\"session\":\"").and_then(|(_, rest)| rest.split('"').next());
    let Some(id) = named.and_then(|text| text.parse().ok()).map(SessionId) else { return Ok((None, None)) };
    Ok((session_row(conn, id)?, None))
}

fn unconverted(conn: &Connection) -> Result<u64, StoreError> {
    Ok(uint(conn.query_row("SELECT count(*) FROM plan_text", [], |row| row.get(0))?))
}

fn convert_some(conn: &mut Connection) -> Result<u64, StoreError> {
    let began = Instant::now();
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    while began.elapsed() < MAX_STRETCH {
        let sql = "SELECT n, id, body FROM plan_text ORDER BY n LIMIT 1";
        let found = first_row(&transaction, sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let Some((n, id, body)): Option<(i64, Hash, String)> = found else { break };
        packed_plans::insert(&transaction, id, origin(&transaction, id, &body)?, &body)?;
        transaction.prepare_cached("DELETE FROM plan_text WHERE n = ?1")?.execute([n])?;
    }
    let unconverted = unconverted(&transaction)?;
    transaction.commit()?;
    Ok(unconverted)
}

/// Calls `change` for every readable plan, and stores the changed texts. Deletes the plans that can't be read, and
/// returns their number.
pub(crate) fn rewrite(conn: &Connection, change: &mut packed_plans::Change<'_>) -> Result<usize, StoreError> {
    let old: Vec<i64> = all_rows(conn, "SELECT n FROM plan_text", [], |row| row.get(0))?;
    let mut dropped = 0;
    for n in old {
        let mut one = conn.prepare_cached("SELECT id, body FROM plan_text WHERE n = ?1")?;
        let (id, body): (Hash, Option<String>) =
            one.query_row([n], |row| Ok((row.get(0)?, row.get_ref(1)?.as_str().ok().map(str::to_owned))))?;
        let Some(body) = body else {
            dropped += conn.prepare_cached("DELETE FROM plan_text WHERE n = ?1")?.execute([n])?;
            continue;
        };
        if let Some(text) = change(id, &body)? {
            conn.prepare_cached("UPDATE plan_text SET body = ?2 WHERE n = ?1")?.execute((n, text))?;
        }
    }
    Ok(dropped + packed_plans::rewrite(conn, change)?)
}

/// Deletes a session's plans. A plan that another session made a call from is moved to that session if it can be read.
pub(crate) fn forget_session(tx: &WriteTransaction<'_>, session: i64) -> Result<(), StoreError> {
    let conn = tx.conn;
    tx.run(
        "DELETE FROM plan_text WHERE id IN (SELECT plan FROM plan_run WHERE session = ?1)
         AND NOT EXISTS (SELECT 1 FROM plan_run AS other WHERE other.plan = plan_text.id AND other.session <> ?1)",
        &[&session],
    )?;
    let sql =
        "SELECT plan.id, other.session, min(other.branch) FROM plan JOIN plan_run AS other ON other.plan = plan.id
         WHERE plan.session = ?1 AND other.session <> ?1 GROUP BY plan.n ORDER BY plan.n";
    let shared: Vec<(Hash, PlanOrigin)> =
        all_rows(conn, sql, [session], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    let read = |(id, _): &(Hash, PlanOrigin)| Ok(packed_plans::readable(packed_plans::read(conn, *id))?.flatten());
    let kept: Vec<Option<String>> = shared.iter().map(read).collect::<Result<_, StoreError>>()?;
    tx.run("DELETE FROM plan WHERE session = ?1", &[&session])?;
    for ((id, origin), text) in shared.iter().zip(kept) {
        if let Some(text) = text {
            packed_plans::insert(conn, *id, *origin, &text)?;
        }
    }
    Ok(())
}
