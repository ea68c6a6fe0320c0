//! `backups`: the copies beside the store, and what of a removal they still hold.
//! Not for: starting from one (`repair`).

use crate::cli::Run;
use crate::cli::client::unexpected;
use crate::cli::commands::WithBackups;
use crate::cli::stop::Stop;
use crate::domain::base::damage::{BackupAct, Holding};
use crate::engine::api::{Answer, ProgramRequest, Request};
use serde_json::{Value, json};

/// `backups`.
pub(crate) fn backups(run: &mut Run<'_, '_>, rewrite: bool, delete: bool, yes: bool) -> Result<(), Stop> {
    if delete && !run.io.confirm("Delete the backups that still hold what was removed?", yes)? {
        run.io.note("nothing was deleted");
        return Err(Stop::Said(1));
    }
    let act = match (rewrite, delete) {
        (true, _) => BackupAct::Rewrite,
        (_, true) => BackupAct::Delete,
        _ => BackupAct::List,
    };
    let all = ask(run, act)?;
    if run.io.json {
        return run.io.value(&all.iter().map(shape).collect::<Vec<_>>());
    }
    if all.is_empty() {
        run.io.note("there is no backup beside the store");
    }
    for copy in &all {
        run.io.say(&line(copy));
    }
    if act != BackupAct::List && all.iter().any(|copy| copy.removed > 0) { Err(Stop::Said(1)) } else { Ok(()) }
}

fn ask(run: &mut Run<'_, '_>, act: BackupAct) -> Result<Vec<Holding>, Stop> {
    match run.client.call(Request::Program(ProgramRequest::Backups(act)), &mut run.io)? {
        Answer::Backups(all) => Ok(all),
        other => Err(unexpected(&other)),
    }
}

fn line(copy: &Holding) -> String {
    let about = format!("{}  {}", copy.backup.path, copy.backup.about());
    match (copy.removed, &copy.fault) {
        (_, Some(why)) => format!("{about}  {why}"),
        (0, None) => about,
        (1, None) => format!("{about}  holds one item that was removed from the store"),
        (many, None) => format!("{about}  holds {many} items that were removed from the store"),
    }
}

fn shape(copy: &Holding) -> Value {
    json!({
        "path": copy.backup.path,
        "at": copy.backup.at,
        "bytes": copy.backup.bytes,
        "removed": copy.removed,
        "fault": copy.fault,
    })
}

/// Removes something for good, and then, as was said or as a person answers, from the backups too.
pub(crate) fn after_removal(
    run: &mut Run<'_, '_>,
    request: Request,
    said: &str,
    wish: Option<WithBackups>,
) -> Result<(), Stop> {
    run.done(request, said)?;
    if wish == Some(WithBackups::Keep) || (wish.is_none() && !run.io.in_tty) {
        return Ok(());
    }
    let all = ask(run, BackupAct::List)?;
    if all.iter().all(|copy| copy.removed == 0) {
        return Ok(());
    }
    let act = match wish {
        Some(WithBackups::Rewrite) => BackupAct::Rewrite,
        Some(WithBackups::Delete) => BackupAct::Delete,
        _ if run.io.confirm("Remove it from the backups too?", false)? => BackupAct::Rewrite,
        _ => return Ok(()),
    };
    let left = ask(run, act)?;
    let held: Vec<&Holding> = left.iter().filter(|copy| copy.removed > 0).collect();
    for copy in &held {
        run.io.note(&line(copy));
    }
    if !held.is_empty() {
        return Err(Stop::Said(1));
    }
    run.io.note(if act == BackupAct::Delete { "those backups are deleted" } else { "the backups no longer hold it" });
    Ok(())
}
