//! Runs: opens a run under its fence, stores the chunks of its stream, and closes it.
//! Not for: usage and tool traces (`traces`) or plans (`plans`).

use crate::domain::base::{Hash, NodeId, RunId, SessionId};
use crate::domain::call::{CallUses, RunCard};
use crate::domain::conversation::{Content, NodeHead};
use crate::store::Store;
use crate::store::sql::{Json, all_rows, first_row, hex_range, int, json, numbered_json};
use crate::store::transaction::WriteTransaction;
use crate::store::types::{OpenRun, StoreError};
use rusqlite::{Connection, Params, Row};
use std::collections::HashMap;

/// The open runs. The plus makes SQLite use the index of open runs instead of reading every run in order of row id.
pub(crate) const OPEN_RUNS: &str = "SELECT card, owner, after, head, draft FROM plan_run WHERE open = 1 ORDER BY +n";

/// The user message of a run, stored in the run's row until it is a node.
type Draft = (NodeHead, Content);

fn cards(conn: &Connection, rest: &str, values: impl Params) -> Result<Vec<RunCard>, StoreError> {
    all_rows(conn, &format!("SELECT card FROM plan_run {rest}"), values, |row| json(row, 0))
}

fn open_run(row: &Row<'_>) -> rusqlite::Result<OpenRun> {
    Ok(OpenRun {
        card: json(row, 0)?,
        owner: row.get(1)?,
        after: row.get(2)?,
        head: row.get(3)?,
        user: row.get::<_, Option<Json<Draft>>>(4)?.map(|draft| draft.0),
    })
}

impl Store {
    /// Returns a session's calls, oldest first.
    pub fn runs(&self, session: SessionId) -> Result<Vec<RunCard>, StoreError> {
        self.read(|conn| cards(conn, "WHERE session = (SELECT n FROM session WHERE id = ?1) ORDER BY n", [session]))
    }

    /// Returns the item uses of the newest `limit` calls of a session that have recorded uses.
    pub fn uses(&self, session: SessionId, limit: usize) -> Result<HashMap<RunId, CallUses>, StoreError> {
        let sql =
            "SELECT id, uses FROM plan_run WHERE session = (SELECT n FROM session WHERE id = ?1) AND uses IS NOT NULL
                 ORDER BY n DESC LIMIT ?2";
        let read = |row: &Row<'_>| Ok((row.get(0)?, json(row, 1)?));
        self.read(|conn| Ok(all_rows(conn, sql, (session, int(limit as u64)), read)?.into_iter().collect()))
    }

    /// Returns the item uses of one call, or `None` if they were not recorded.
    pub fn uses_of(&self, run: RunId) -> Result<Option<CallUses>, StoreError> {
        let sql = "SELECT uses FROM plan_run WHERE id = ?1 AND uses IS NOT NULL";
        self.read(|conn| first_row(conn, sql, [run], |row| json(row, 0)))
    }

    /// Returns the calls whose id has this prefix; at most two.
    pub fn run_by_prefix(&self, prefix: &str) -> Result<Vec<RunCard>, StoreError> {
        let Some(range) = hex_range::<16>(prefix) else { return Ok(Vec::new()) };
        self.read(|conn| cards(conn, "WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT 2", range))
    }

    /// Returns the calls made from a plan, oldest first.
    pub fn plan_runs(&self, plan: Hash) -> Result<Vec<RunCard>, StoreError> {
        self.read(|conn| cards(conn, "WHERE plan = ?1 ORDER BY n", [plan]))
    }

    /// Returns all runs of the store that were never closed, oldest first.
    pub fn open_runs(&self) -> Result<Vec<OpenRun>, StoreError> {
        self.read(|conn| all_rows(conn, OPEN_RUNS, [], open_run))
    }

    /// Returns the chunks of a run's stream in order.
    pub fn chunks(&self, run: RunId) -> Result<Vec<Vec<u8>>, StoreError> {
        let sql = "SELECT body FROM stream_chunk WHERE run = (SELECT n FROM plan_run WHERE id = ?1) ORDER BY seq";
        self.read(|conn| all_rows(conn, sql, [run], |row| row.get(0)))
    }
}

/// Fails with `Busy` if a living process has an open run whose `column` (`session` or `branch`) is this row.
pub(crate) fn check_not_open(tx: &WriteTransaction<'_>, column: &str, row: i64) -> Result<(), StoreError> {
    let sql = format!("SELECT owner FROM plan_run WHERE {column} = ?1 AND open = 1");
    let owners: Vec<Option<String>> = all_rows(tx.conn, &sql, [row], |row| row.get(0))?;
    if owners.iter().flatten().any(|owner| tx.alive(owner)) { Err(StoreError::Busy) } else { Ok(()) }
}

/// Opens a run. Fails with `Busy` if a living process has an open run on the branch, and with `Moved` if the branch's
/// head has moved.
pub(crate) fn open(tx: &WriteTransaction<'_>, run: &OpenRun) -> Result<(), StoreError> {
    let branch = tx.branch(run.card.branch)?;
    check_not_open(tx, "branch", branch)?;
    let head: Option<NodeId> =
        tx.conn.prepare_cached("SELECT head FROM branch WHERE n = ?1")?.query_row([branch], |row| row.get(0))?;
    if head != tx.stored_id_of(run.head) {
        return Err(StoreError::Moved);
    }
    let card = with_stored_ids(tx, &run.card);
    tx.run(
        "INSERT INTO plan_run (id, session, branch, plan, open, owner, after, head, draft, card)
         VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9)",
        &[
            &card.id,
            &tx.session(card.session)?,
            &branch,
            &card.plan,
            &run.owner,
            &tx.stored_id_of(run.after),
            &tx.stored_id_of(run.head),
            &run.user.as_ref().map(Json),
            &Json(&card),
        ],
    )
}

/// Records that the user message is a node: deletes it from the row, and attaches the answer after it.
pub(crate) fn user_is_node(tx: &WriteTransaction<'_>, run: RunId) -> Result<(), StoreError> {
    let sql = "SELECT draft FROM plan_run WHERE id = ?1";
    let draft: Option<Option<Json<Draft>>> = first_row(tx.conn, sql, [run], |row| row.get(0))?;
    let Some(Json((head, _))) = draft.flatten() else {
        return tx.run_one("UPDATE plan_run SET draft = NULL WHERE id = ?1", &[&run]);
    };
    tx.run_one("UPDATE plan_run SET draft = NULL, after = ?2 WHERE id = ?1", &[&run, &tx.stored_id(head.id)])
}

/// Stores a changed card, or the card of a run that was never open here.
pub(crate) fn put(tx: &WriteTransaction<'_>, card: &RunCard) -> Result<(), StoreError> {
    let card = with_stored_ids(tx, card);
    tx.run(
        "INSERT INTO plan_run (id, session, branch, plan, open, card) VALUES (?1, ?2, ?3, ?4, 0, ?5)
         ON CONFLICT (id) DO UPDATE SET plan = excluded.plan, card = excluded.card",
        &[&card.id, &tx.session(card.session)?, &tx.branch(card.branch)?, &card.plan, &Json(&card)],
    )
}

/// Stores the item uses of a run. The rest of its card is unchanged.
pub(crate) fn put_uses(tx: &WriteTransaction<'_>, run: RunId, uses: &CallUses) -> Result<(), StoreError> {
    tx.run(
        "UPDATE plan_run SET uses = ?2, card = json_set(card, '$.uses', json(?3)) WHERE id = ?1",
        &[&run, &Json(uses), &Json(&uses.count())],
    )
}

/// Closes a run. Fails with `Moved` if the run is already closed (by a process that considered its owner dead), because
/// the writes that accompany a late end must not be applied.
pub(crate) fn close(tx: &WriteTransaction<'_>, card: &RunCard) -> Result<(), StoreError> {
    let card = with_stored_ids(tx, card);
    tx.run_one(
        "UPDATE plan_run SET open = 0, owner = NULL, draft = NULL, plan = ?2, card = ?3 WHERE id = ?1 AND open = 1",
        &[&card.id, &card.plan, &Json(&card)],
    )?;
    tx.run("DELETE FROM stream_chunk WHERE run = ?1", &[&tx.plan_run(card.id)?])
}

/// Deletes the parts of diagnostics that quote removed messages; the diagnostics themselves stay.
pub(crate) fn forget_raw(tx: &WriteTransaction<'_>, session: i64, nodes: &[NodeId]) -> Result<(), StoreError> {
    let sql = "SELECT n, card FROM plan_run WHERE session = ?1 AND card ->> '$.diagnostics' IS NOT NULL";
    for (n, mut card) in all_rows(tx.conn, sql, [session], numbered_json::<RunCard>)? {
        if [card.user, card.answer].into_iter().flatten().any(|node| nodes.contains(&node)) {
            card.diagnostics.iter_mut().for_each(|diagnostic| diagnostic.raw.clear());
            tx.run("UPDATE plan_run SET card = ?2 WHERE n = ?1", &[&n, &Json(&card)])?;
        }
    }
    Ok(())
}

/// Stores a chunk of a stream. A chunk that arrives after the end is ignored: the answer is stored in its node.
pub(crate) fn put_chunk(tx: &WriteTransaction<'_>, run: RunId, seq: u64, body: &[u8]) -> Result<(), StoreError> {
    let sql = "SELECT n FROM plan_run WHERE id = ?1 AND open = 1";
    let open: Option<i64> = first_row(tx.conn, sql, [run], |row| row.get(0))?;
    if let Some(run) = open {
        tx.run("INSERT OR REPLACE INTO stream_chunk (run, seq, body) VALUES (?1, ?2, ?3)", &[&run, &int(seq), &body])?;
    }
    Ok(())
}

fn with_stored_ids(tx: &WriteTransaction<'_>, card: &RunCard) -> RunCard {
    RunCard { user: tx.stored_id_of(card.user), answer: tx.stored_id_of(card.answer), ..card.clone() }
}
