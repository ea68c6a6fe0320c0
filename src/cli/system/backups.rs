//! `backups`: lists the backups of the store and removes deleted data from them.
//! Not for: restoring a backup (`repair`).

use crate::cli::Run;
use crate::cli::client::unexpected;
use crate::cli::stop::Stop;
use crate::config::commands::system::WithBackups;
use crate::domain::base::damage::{BackupAct, BackupOutcome, BackupReport};
use crate::engine::api::{Answer, ProgramRequest, Request};
use serde_json::{Value, json};

/// `backups`.
pub(crate) fn backups(run: &mut Run<'_, '_>, rewrite: bool, delete: bool, yes: bool) -> Result<(), Stop> {
    if delete && !run.io.confirm("Delete the backups that still contain deleted data?", yes)? {
        run.io.note("nothing was deleted");
        return Err(Stop::Printed(1));
    }
    let act = match (rewrite, delete) {
        (true, _) => BackupAct::Rewrite,
        (_, true) => BackupAct::Delete,
        _ => BackupAct::List,
    };
    let all = request_backups(run, act)?;
    if run.io.json {
        return run.io.value(&all.iter().map(shape).collect::<Vec<_>>());
    }
    if all.is_empty() {
        run.io.note("no backups of the store");
    }
    for copy in &all {
        run.io.say(&copy.line());
    }
    if act != BackupAct::List && all.iter().any(|copy| copy.removed > 0) { Err(Stop::Printed(1)) } else { Ok(()) }
}

fn request_backups(run: &mut Run<'_, '_>, act: BackupAct) -> Result<Vec<BackupReport>, Stop> {
    let answer = run.call(ProgramRequest::Backups(act))?;
    let Answer::Backups(all) = answer else { return Err(unexpected(&answer)) };
    Ok(all)
}

fn shape(copy: &BackupReport) -> Value {
    json!({
        "path": copy.backup.path,
        "at": copy.backup.at,
        "bytes": copy.backup.bytes,
        "removed": copy.removed,
        "outcome": copy.fate,
        "older_schema": copy.older,
        "fault": copy.fault,
    })
}

/// Deletes data permanently, and then removes it from the backups too, if a flag or the person says so.
pub(crate) fn after_removal(
    run: &mut Run<'_, '_>,
    request: impl Into<Request>,
    message: &str,
    choice: Option<WithBackups>,
) -> Result<(), Stop> {
    run.change(request, message)?;
    if choice == Some(WithBackups::Keep) || (choice.is_none() && !run.io.in_tty) {
        return Ok(());
    }
    let all = request_backups(run, BackupAct::List)?;
    if all.iter().all(|copy| copy.removed == 0) {
        return Ok(());
    }
    let act = match choice {
        Some(WithBackups::Rewrite) => BackupAct::Rewrite,
        Some(WithBackups::Delete) => BackupAct::Delete,
        _ if run.io.confirm("Remove the deleted data from the backups too?", false)? => BackupAct::Rewrite,
        _ => return Ok(()),
    };
    let left = request_backups(run, act)?;
    let uncleaned: Vec<&BackupReport> = left.iter().filter(|copy| copy.removed > 0).collect();
    // A rewrite should keep the backups, so each backup that it had to delete is reported.
    let deleted = left.iter().filter(|copy| copy.fate == BackupOutcome::Deleted && act == BackupAct::Rewrite);
    for copy in deleted.chain(uncleaned.iter().copied()) {
        run.io.note(&copy.line());
    }
    if !uncleaned.is_empty() {
        return Err(Stop::Printed(1));
    }
    run.io.note(if act == BackupAct::Delete {
        "the backups that contained it are deleted"
    } else {
        "the backups no longer contain it"
    });
    Ok(())
}
