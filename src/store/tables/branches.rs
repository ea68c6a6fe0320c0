//! Branches with their marks.
//! Not for: the current state version of a branch; the engine finds it on the branch's path.

use crate::domain::base::{BranchId, SessionId};
use crate::domain::conversation::{Atom, Branch, Mark};
use crate::store::Store;
use crate::store::sql::{Json, all_rows, first_row, int, json, numbered_json, uint};
use crate::store::transaction::WriteTransaction;
use crate::store::types::{StoreError, Write};
use rusqlite::Row;
use std::collections::HashMap;

fn branch(row: &Row<'_>, session: SessionId, marks: &mut HashMap<i64, Vec<Mark>>) -> rusqlite::Result<Branch> {
    Ok(Branch {
        id: row.get(1)?,
        session,
        name: row.get(2)?,
        head: row.get(3)?,
        parent: row.get(4)?,
        fork: row.get(5)?,
        archived: row.get(6)?,
        created_at: row.get(7)?,
        seq: uint(row.get(8)?),
        overrides: json(row, 9)?,
        anchor: row.get::<_, Option<Json<_>>>(10)?.map(|anchor| anchor.0),
        marks: marks.remove(&row.get(0)?).unwrap_or_default(),
        state: None,
        offered: None,
        reply: row.get(11)?,
        summaries: json(row, 12)?,
    })
}

impl Store {
    /// Returns a session's branches in order of creation, with their marks. Their `state` is `None`.
    pub fn branches(&self, session: SessionId) -> Result<Vec<Branch>, StoreError> {
        self.read(|conn| {
            let view = conn.unchecked_transaction()?;
            let mut marks: HashMap<i64, Vec<Mark>> = HashMap::new();
            let sql = "SELECT mark.branch, mark.body FROM branch JOIN mark ON mark.branch = branch.n
                 WHERE branch.session = (SELECT n FROM session WHERE id = ?1) ORDER BY mark.n";
            for (branch, mark) in all_rows(&view, sql, [session], numbered_json)? {
                marks.entry(branch).or_default().push(mark);
            }
            let sql =
                "SELECT n, id, name, head, parent, fork, archived, created_at, seq, overrides, anchor, reply, capsules
                 FROM branch WHERE session = (SELECT n FROM session WHERE id = ?1) ORDER BY n";
            all_rows(&view, sql, [session], |row| branch(row, session, &mut marks))
        })
    }
}

/// Executes a write that concerns one branch.
pub(crate) fn apply(tx: &WriteTransaction<'_>, write: &Write) -> Result<(), StoreError> {
    match write {
        Write::PutBranch(branch) => put(tx, branch),
        Write::MoveHead { branch, expect, head } => tx.run_one(
            "UPDATE branch SET head = ?3, seq = seq + 1 WHERE id = ?1 AND head IS ?2",
            &[branch, &tx.stored_id_of(*expect), &tx.stored_id_of(*head)],
        ),
        Write::RenameBranch { branch, name } => {
            tx.run_one("UPDATE branch SET name = ?2 WHERE id = ?1", &[branch, name])
        }
        Write::ArchiveBranch { branch, archived } => archive(tx, *branch, *archived),
        Write::SetOverrides { branch, overrides } => {
            tx.run_one("UPDATE branch SET overrides = ?2 WHERE id = ?1", &[branch, &Json(overrides)])
        }
        Write::SetAnchor { branch, anchor } => {
            tx.run_one("UPDATE branch SET anchor = ?2 WHERE id = ?1", &[branch, &anchor.as_ref().map(Json)])
        }
        Write::SetReply { branch, reply } => tx.run_one("UPDATE branch SET reply = ?2 WHERE id = ?1", &[branch, reply]),
        Write::PutMark { branch, target, expect, mark } => {
            put_mark(tx, tx.branch(*branch)?, target, *expect, mark.as_ref())
        }
        Write::UseBranch(branch) => tx.run_one(
            "UPDATE branch SET used = 1 + (SELECT max(b.used) FROM branch AS b WHERE b.session = branch.session)
             WHERE id = ?1",
            &[branch],
        ),
        _ => Ok(()),
    }
}

fn put(tx: &WriteTransaction<'_>, branch: &Branch) -> Result<(), StoreError> {
    let session = tx.session(branch.session)?;
    tx.run(
        "INSERT INTO branch (session, id, name, head, parent, fork, archived, created_at, seq, overrides, anchor, reply,
           capsules)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        &[
            &session,
            &branch.id,
            &branch.name,
            &tx.stored_id_of(branch.head),
            &branch.parent,
            &tx.stored_id_of(branch.fork),
            &branch.archived,
            &branch.created_at,
            &int(branch.seq),
            &Json(&branch.overrides),
            &branch.anchor.as_ref().map(Json),
            &branch.reply,
            &Json(&branch.summaries),
        ],
    )?;
    let row = tx.conn.last_insert_rowid();
    for mark in &branch.marks {
        put_mark(tx, row, &mark.target, None, Some(mark))?;
    }
    tx.run_one(
        "UPDATE session SET updated_at = max(updated_at, ?2), branches = branches + ?3 WHERE n = ?1",
        &[&session, &branch.created_at, &i64::from(!branch.archived)],
    )
}

fn archive(tx: &WriteTransaction<'_>, branch: BranchId, archived: bool) -> Result<(), StoreError> {
    tx.branch(branch)?;
    let changed =
        tx.changed("UPDATE branch SET archived = ?2 WHERE id = ?1 AND archived <> ?2", &[&branch, &archived])?;
    if changed == 0 {
        return Ok(());
    }
    tx.run_one(
        "UPDATE session SET branches = branches + ?2 WHERE n = (SELECT session FROM branch WHERE id = ?1)",
        &[&branch, &if archived { -1_i64 } else { 1 }],
    )
}

fn put_mark(
    tx: &WriteTransaction<'_>,
    branch: i64,
    target: &Atom,
    expect: Option<u64>,
    mark: Option<&Mark>,
) -> Result<(), StoreError> {
    let key = target.key();
    let sql = "SELECT revision FROM mark WHERE branch = ?1 AND target = ?2";
    let found: Option<i64> = first_row(tx.conn, sql, (branch, key), |row| row.get(0))?;
    if found.map(uint) != expect {
        return Err(StoreError::Moved);
    }
    match mark {
        None => tx.run("DELETE FROM mark WHERE branch = ?1 AND target = ?2", &[&branch, &key]),
        Some(mark) => tx.run(
            "INSERT INTO mark (branch, target, revision, body) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (branch, target) DO UPDATE SET revision = excluded.revision, body = excluded.body",
            &[&branch, &key, &int(mark.revision), &Json(mark)],
        ),
    }
}
