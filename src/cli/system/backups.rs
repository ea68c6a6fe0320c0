//! `backups`: lists the backups of the store and removes deleted data from them.
//! Not for: restoring a backup (`repair`).

use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::stop::Stop;
use crate::config::commands::system::WithBackups;
use crate::domain::base::{BackupAct, BackupOutcome, BackupReport};
use crate::engine::api::{ProgramAnswer, ProgramRequest, Request};
use serde_json::{Value, json};

pub(crate) fn backups(run: &mut Run<'_, '_>, rewrite: bool, delete: bool, yes: bool) -> Result<(), Stop> {
    if delete {
        let question = "Delete the backups that still contain deleted data?";
        run.io.require_yes(question, yes, "nothing was deleted")?;
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
        run.io.note("There are no backups of the store.");
    }
    for copy in &all {
        run.io.say(&copy.line());
    }
    if act != BackupAct::List && all.iter().any(|copy| copy.removed > 0) { Err(Stop::Printed(1)) } else { Ok(()) }
}

fn request_backups(run: &mut Run<'_, '_>, act: BackupAct) -> Result<Vec<BackupReport>, Stop> {
    let all = expect_answer!(run, Program(ProgramAnswer::Backups), ProgramRequest::Backups(act));
    Ok(all)
}

fn shape(copy: &BackupReport) -> Value {
    json!({
        "path": copy.backup.path,
        "at": copy.backup.at,
        "bytes": copy.backup.bytes,
        "removed": copy.removed,
        "outcome": copy.outcome,
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
    let deleted = left.iter().filter(|copy| copy.outcome == BackupOutcome::Deleted && act == BackupAct::Rewrite);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{Harness, Output, answer, done, execute};
    use crate::domain::base::damage::BackupCard;
    use crate::engine::api::{BranchRequest, ProgramAnswer, SessionRequest};

    #[test]
    fn a_session_that_does_not_exist_is_refused_before_a_question() {
        let typed = Harness { input: "y\n", tty: true, ..Harness::default() };
        let refused = typed.execute(&["session", "delete", "99"], done);
        assert!(refused.code == 1 && refused.err.contains("There is no session \"99\"."), "{}", refused.err);
        assert!(!refused.err.contains("[y/N]"), "{}", refused.err);
    }

    #[test]
    fn irreversible_commands_ask_for_confirmation() {
        for line in [&["message", "remove", "ext-1"][..], &["session", "delete", "work"][..]] {
            assert_eq!(execute(line, done).code, 2);
            let no = Harness { input: "n\n", tty: true, ..Harness::default() }.execute(line, done);
            assert_eq!((no.code, no.err.contains("Permanently delete")), (1, true));
            let sends = |printed: &Output| {
                let removes = |seen: &Request| {
                    matches!(
                        seen,
                        Request::Branch(BranchRequest::RemoveMessage { .. })
                            | Request::Session(SessionRequest::Delete { .. })
                    )
                };
                printed.seen.iter().any(removes)
            };
            assert!(!sends(&no));
            let yes = Harness { input: "y\n", tty: true, ..Harness::default() }.execute(line, done);
            assert!(yes.code == 0 && sends(&yes));
            assert!(sends(&execute(&[line, &["--yes"]].concat(), done)));
            // One backup contains the deleted data. On a terminal the person is asked; a script gets the command to
            // use.
            let backups_with_data = |ticket, request: &Request| match request {
                Request::Program(ProgramRequest::Backups(act)) => {
                    let backup = BackupCard { path: "/s/b".into(), at: "2026-01-01 10:00 UTC".into(), bytes: 9 };
                    let removed = u64::from(*act == BackupAct::List);
                    let outcome = if *act == BackupAct::List { BackupOutcome::Kept } else { BackupOutcome::Deleted };
                    vec![answer(
                        ticket,
                        ProgramAnswer::Backups(vec![BackupReport {
                            backup,
                            removed,
                            outcome,
                            older: true,
                            fault: None,
                        }]),
                    )]
                }
                _ => done(ticket, request),
            };
            let acts = |printed: &Output| {
                let act = |seen: &Request| {
                    if let Request::Program(ProgramRequest::Backups(act)) = seen { Some(*act) } else { None }
                };
                printed.seen.iter().filter_map(act).collect::<Vec<_>>()
            };
            let typed = |input| Harness { input, tty: true, ..Harness::default() }.execute(line, backups_with_data);
            let rewritten = typed("y\ny\n");
            assert_eq!(acts(&rewritten), [BackupAct::List, BackupAct::Rewrite]);
            assert!(rewritten.err.contains("/s/b  2026-01-01 10:00 UTC (1 KiB)  was deleted"), "{}", rewritten.err);
            assert_eq!(acts(&typed("y\nn\n")), [BackupAct::List]);
            for (flags, wanted) in [
                (&["-y"][..], &[][..]),
                (&["-y", "--backups", "keep"], &[]),
                (&["-y", "--backups", "delete"], &[BackupAct::List, BackupAct::Delete]),
            ] {
                assert_eq!(acts(&execute(&[line, flags].concat(), backups_with_data)), wanted);
            }
        }
    }
}
