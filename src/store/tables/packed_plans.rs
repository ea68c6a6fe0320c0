//! The JSON of plans in the table `plan`: groups of plans, each one compressed with an earlier plan of its group as the
//! dictionary.
//! Not for: which plans exist (`plans`), or their content.

use crate::domain::base::Hash;
use crate::store::sql::{all_rows, first_row};
use crate::store::types::StoreError;
use rusqlite::Connection;
use std::io::Write as _;
use std::rc::Rc;

/// The maximum number of plans per group. A plan depends on at most six others (the bits of its position), and at most
/// this many plans must be rewritten when one of them changes.
const GROUP: u32 = 64;

const LEVEL: i32 = 3;

fn length(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Compresses a text, with `base` as the dictionary.
fn pack(text: &str, base: Option<&str>) -> Result<Vec<u8>, StoreError> {
    let mut out = Vec::new();
    let failed = |error: std::io::Error| StoreError::Sql(format!("a plan could not be compressed: {error}"));
    let mut write = || -> std::io::Result<()> {
        let mut encoder = match base {
            Some(base) => zstd::stream::write::Encoder::with_ref_prefix(&mut out, LEVEL, base.as_bytes())?,
            None => zstd::stream::write::Encoder::new(&mut out, LEVEL)?,
        };
        encoder.set_pledged_src_size(Some(text.len() as u64))?;
        encoder.include_checksum(true)?;
        if let Some(base) = base {
            // The window must cover the whole dictionary.
            encoder.window_log((usize::BITS - (text.len() + base.len()).leading_zeros()).clamp(10, 27))?;
            encoder.long_distance_matching(true)?;
        }
        encoder.write_all(text.as_bytes())?;
        encoder.finish().map(drop)
    };
    write().map_err(failed)?;
    Ok(out)
}

/// Decompresses in one step into memory of the size given in the frame. A stream would also keep a window as large as
/// the dictionary.
fn unpack(body: &[u8], base: Option<&str>) -> Result<String, StoreError> {
    let failed = StoreError::Plan;
    let refused = |code| failed(zstd::zstd_safe::get_error_name(code).to_owned());
    let size = zstd::zstd_safe::get_frame_content_size(body).ok().flatten();
    let size = size.and_then(|size| usize::try_from(size).ok()).ok_or_else(|| failed("its size is missing".into()))?;
    let mut text = Vec::new();
    text.try_reserve_exact(size).map_err(|error| failed(error.to_string()))?;
    let mut context =
        zstd::zstd_safe::DCtx::try_create().ok_or_else(|| StoreError::Sql("no memory to decompress a plan".into()))?;
    if let Some(base) = base {
        context.ref_prefix(base.as_bytes()).map_err(refused)?;
    }
    context.decompress(&mut text, body).map_err(refused)?;
    String::from_utf8(text).map_err(|error| failed(error.to_string()))
}

/// Returns the position of the plan that is the dictionary of this plan, or `None` for the first plan.
fn base_place(place: u32) -> Option<u32> {
    (place > 0).then(|| place & (place - 1))
}

/// Returns the positions of all plans that this plan depends on, the nearest first.
fn bases(place: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(base_place(place), |place| base_place(*place))
}

/// Returns `None` for a plan that can't be read.
pub(crate) fn readable<T>(found: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match found {
        Err(StoreError::Plan(_)) => Ok(None),
        found => found.map(Some),
    }
}

/// Returns the text at a position of a group. The connection must have a consistent view of all plans that it depends
/// on.
fn text_at(conn: &Connection, group: i64, place: u32) -> Result<String, StoreError> {
    let mut places = vec![place];
    places.extend(bases(place));
    let sql = "SELECT body FROM plan WHERE \"group\" = ?1 AND place = ?2";
    let mut text: Option<String> = None;
    for place in places.into_iter().rev() {
        let body: Option<Vec<u8>> = first_row(conn, sql, (group, place), |row| row.get(0))?;
        let body = body.ok_or_else(|| StoreError::Plan("a plan that it depends on is missing".into()))?;
        text = Some(unpack(&body, text.as_deref())?);
    }
    Ok(text.unwrap_or_default())
}

/// Returns a plan's text, or `None` if there is no such plan.
pub(crate) fn read(conn: &Connection, id: Hash) -> Result<Option<String>, StoreError> {
    let sql = "SELECT \"group\", place FROM plan WHERE id = ?1";
    let found = first_row(conn, sql, [id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    found.map(|(group, place)| text_at(conn, group, place)).transpose()
}

/// Where a plan was made: the row ids of its session and branch.
pub(crate) type PlanOrigin = (Option<i64>, Option<i64>);

/// Returns the group and position for a new plan: in the last group of its branch or, after a fork, of its session.
/// Returns `None` if that group is full or there is none.
fn group_for(conn: &Connection, origin: PlanOrigin) -> Result<Option<(i64, u32)>, StoreError> {
    let mut group: Option<i64> = None;
    for (column, row) in [("branch", origin.1), ("session", origin.0)] {
        let sql = format!("SELECT \"group\" FROM plan WHERE {column} = ?1 ORDER BY n DESC LIMIT 1");
        if let (None, Some(row)) = (group, row) {
            group = first_row(conn, &sql, [row], |row| row.get(0))?;
        }
    }
    let Some(group) = group else { return Ok(None) };
    let mut last = conn.prepare_cached("SELECT max(place) FROM plan WHERE \"group\" = ?1")?;
    let place = last.query_row([group], |row| row.get::<_, u32>(0))? + 1;
    Ok((place < GROUP).then_some((group, place)))
}

/// Stores a new plan.
pub(crate) fn insert(conn: &Connection, id: Hash, origin: PlanOrigin, text: &str) -> Result<(), StoreError> {
    let next: i64 = conn.prepare_cached("SELECT coalesce(max(n), 0) + 1 FROM plan")?.query_row([], |row| row.get(0))?;
    let mut put = conn.prepare_cached(
        "INSERT INTO plan (n, id, session, branch, \"group\", place, size, body)
         VALUES (?1, ?2, ?3, ?4, coalesce(?5, ?1), ?6, ?7, ?8)",
    )?;
    // After a plan that can't be read, a new group begins.
    if let Some((group, place)) = group_for(conn, origin)?
        && let Some(base) = readable(text_at(conn, group, base_place(place).unwrap_or(0)))?
    {
        let body = pack(text, Some(&base))?;
        let mut first = conn.prepare_cached("SELECT length(body) FROM plan WHERE \"group\" = ?1 AND place = 0")?;
        let first_length: i64 = first.query_row([group], |row| row.get(0))?;
        // Plans with little in common (another subject, another budget) start a separate group.
        if length(body.len()) * 2 <= first_length || text.len() <= 2_048 {
            put.execute((next, id, origin.0, origin.1, group, place, length(text.len()), body))?;
            return Ok(());
        }
    }
    put.execute((next, id, origin.0, origin.1, None::<i64>, 0, length(text.len()), pack(text, None)?))?;
    Ok(())
}

/// A plan visited while its group is rewritten, with its text before and after the change.
struct VisitedPlan {
    place: u32,
    before: Rc<str>,
    after: Rc<str>,
}

/// Returns the new text of a plan, or `None` to keep it.
pub(crate) type Change<'a> = dyn FnMut(Hash, &str) -> Result<Option<String>, StoreError> + 'a;

/// Calls `change` for every readable plan of every group. Stores the changed texts, and recompresses the plans that
/// depend on them. Deletes the plans that can't be read, and returns their number.
pub(crate) fn rewrite(conn: &Connection, change: &mut Change<'_>) -> Result<usize, StoreError> {
    let unreadable = visit(conn, change)?;
    let mut delete = conn.prepare_cached("DELETE FROM plan WHERE id = ?1")?;
    for id in &unreadable {
        delete.execute([id])?;
    }
    Ok(unreadable.len())
}

/// Returns the ids of the plans that can't be read, in a store with the tables of the current or the previous schema.
pub(crate) fn unreadable_stored(conn: &Connection) -> Result<Vec<Hash>, StoreError> {
    let mut old = conn.prepare_cached("SELECT id, body FROM plan_text")?;
    let mut rows = old.query([])?;
    let mut unreadable = Vec::new();
    while let Some(row) = rows.next()? {
        if row.get_ref(1)?.as_str().is_err() {
            unreadable.push(row.get(0)?);
        }
    }
    unreadable.extend(visit(conn, &mut |_, _| Ok(None))?);
    Ok(unreadable)
}

/// Stores what `change` returns for the readable plans, and returns the ids of the others.
fn visit(conn: &Connection, change: &mut Change<'_>) -> Result<Vec<Hash>, StoreError> {
    let mut unreadable = Vec::new();
    for group in all_rows(conn, "SELECT DISTINCT \"group\" FROM plan", [], |row| row.get(0))? {
        visit_group(conn, group, change, &mut unreadable)?;
    }
    Ok(unreadable)
}

fn visit_group(
    conn: &Connection,
    group: i64,
    change: &mut Change<'_>,
    unreadable: &mut Vec<Hash>,
) -> Result<(), StoreError> {
    let sql = "SELECT n, id, place FROM plan WHERE \"group\" = ?1 ORDER BY place";
    let rows: Vec<(i64, Hash, u32)> = all_rows(conn, sql, [group], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut read = conn.prepare_cached("SELECT body FROM plan WHERE n = ?1")?;
    let mut put = conn.prepare_cached("UPDATE plan SET size = ?2, body = ?3 WHERE n = ?1")?;
    let mut path: Vec<VisitedPlan> = Vec::new();
    for (n, id, place) in rows {
        while path.last().is_some_and(|step| !bases(place).any(|base| base == step.place)) {
            path.pop();
        }
        let base = path.last();
        let body: Vec<u8> = read.query_row([n], |row| row.get(0))?;
        // If the plan that it depends on could not be read, this plan cannot be read either.
        let has_base = base.map(|step| step.place) == base_place(place);
        let text = if has_base { readable(unpack(&body, base.map(|step| &*step.before)))? } else { None };
        let Some(before) = text.map(Rc::<str>::from) else {
            unreadable.push(id);
            continue;
        };
        let after: Rc<str> = change(id, &before)?.map_or_else(|| Rc::clone(&before), Into::into);
        if after != before || base.is_some_and(|step| !Rc::ptr_eq(&step.before, &step.after)) {
            put.execute((n, length(after.len()), pack(&after, base.map(|step| &*step.after))?))?;
        }
        path.push(VisitedPlan { place, before, after });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::cases::cases;
    use crate::store::schema::STEPS;
    use proptest::prelude::*;

    fn tables() -> Connection {
        let mut conn = Connection::open_in_memory().unwrap();
        crate::store::schema::migrate(&mut conn, STEPS).unwrap();
        conn
    }

    /// A plan that shares most of its rows with the previous plans.
    fn text(seed: u64, turn: u64) -> String {
        let rows = turn.saturating_sub(30)..=turn;
        let row = |n: u64| format!("{{\"key\":\"{}\",\"free\":{turn}}}", Hash::of(&(seed + n).to_le_bytes()));
        rows.map(row).collect::<Vec<_>>().concat()
    }

    proptest! {
        #![proptest_config(cases(24))]

        /// Whatever is stored, on any number of branches, and however often some of it is changed, each plan reads back
        /// unchanged.
        #[test]
        fn every_plan_reads_as_it_was_stored(
            plans in prop::collection::vec((0_u8..4, 0_u64..3), 1..150),
            hit in 0_u64..7,
        ) {
            let conn = tables();
            let mut kept: Vec<(Hash, String)> = Vec::new();
            for (turn, (branch, seed)) in (0_u64..).zip(&plans) {
                let text = text(seed * 1_000_000, turn);
                let id = Hash::of(&turn.to_le_bytes());
                insert(&conn, id, (Some(i64::from(branch / 2)), Some(i64::from(*branch))), &text).unwrap();
                kept.push((id, text));
            }
            rewrite(&conn, &mut |id, text| {
                let (_, known) = kept.iter_mut().find(|(known, _)| *known == id).unwrap();
                assert_eq!(known, text);
                *known = if u64::from(id.0[0]) % 7 == hit { format!("{}changed", &known[..known.len() / 2]) } else { known.clone() };
                Ok((known != text).then(|| known.clone()))
            }).unwrap();
            for (id, text) in kept {
                prop_assert_eq!(read(&conn, id).unwrap(), Some(text));
            }
            let alien: i64 = conn.query_row(
                "SELECT count(*) FROM plan JOIN plan AS first ON first.n = plan.\"group\" WHERE first.session <> plan.session",
                [], |row| row.get(0)).unwrap();
            prop_assert_eq!(alien, 0, "a group belongs to one session");
        }
    }
}
