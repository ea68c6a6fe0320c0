//! `doctor --repair`: moves a damaged store aside after confirmation.
//! Not for: the repair itself, which is passed in so that this module does not depend on the store.

use crate::cli::output::sentence;
use crate::cli::stop::Stop;
use crate::cli::{finish, on_process};
use crate::config::commands::args::Args;
use crate::config::commands::command::Command;
use crate::domain::base::damage::{Damage, RepairResult, StartWith};
use crate::domain::base::failure::Failure;
use serde_json::json;

/// Checks the whole store. Returns None if it is intact.
pub type CheckStore<'a> = &'a dyn Fn() -> Result<Option<Damage>, Failure>;
/// Moves the store aside and starts from a backup or with an empty store.
pub type RepairStore<'a> = &'a dyn Fn(StartWith) -> Result<RepairResult, Failure>;

/// Whether the command repairs the store. It must run before an engine opens the store.
#[must_use]
pub fn wanted(args: &Args) -> bool {
    matches!(args.command, Some(Command::Doctor { repair: true, .. }))
}

/// Runs `doctor --repair` and returns its exit code.
#[must_use]
pub fn run(args: &Args, check: CheckStore<'_>, repair_store: RepairStore<'_>) -> u8 {
    on_process(args, &|| 0, |mut io| {
        let result = repair(args, check, repair_store, &mut io);
        finish(result, &mut io)
    })
}

fn repair(
    args: &Args,
    check: CheckStore<'_>,
    repair_store: RepairStore<'_>,
    io: &mut crate::cli::Io<'_>,
) -> Result<(), Stop> {
    let Some(Command::Doctor { yes, empty, .. }) = args.command else { return Ok(()) };
    let Some(damage) = check()? else {
        let said = "The store is intact. Nothing changed.";
        return io.either(&json!({ "damaged": false, "repaired": false, "message": said }), said);
    };
    io.note(&damage.what());
    io.note(&damage.backups_sentence());
    let start = if empty || damage.backups.is_empty() { StartWith::Empty } else { StartWith::Backup };
    if !yes && !io.in_tty {
        return Err(Stop::Usage("Nothing changed. No terminal to ask on: use --yes to confirm.".into()));
    }
    let into = match start {
        StartWith::Backup => "start from the newest backup",
        StartWith::Empty => "start empty",
    };
    if !io.confirm(&format!("Move the damaged store aside, unchanged, and {into}?"), yes)? {
        io.note("nothing changed");
        return Err(Stop::Printed(1));
    }
    let repaired = repair_store(start)?;
    let said: Vec<String> = repaired.sentences().iter().map(|said| sentence(said)).collect();
    let value = json!({
        "damaged": true,
        "repaired": true,
        "moved": Some(&repaired.moved).filter(|moved| !moved.is_empty()),
        "from": repaired.from.map(|from| from.path),
        "salvaged": repaired.salvaged.map(|(file, messages)| json!({ "file": file, "messages": messages })),
    });
    io.either(&value, &said.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::damage::BackupCard;
    use clap::Parser as _;
    use std::cell::RefCell;

    fn run_repair(line: &str, backups: usize, tty: bool, typed: &str) -> (Result<(), Stop>, String, Vec<StartWith>) {
        let args = Args::try_parse_from(line.split_whitespace()).unwrap();
        assert!(wanted(&args));
        let asked = RefCell::new(Vec::new());
        let card = |n| BackupCard { path: format!("/s/b{n}"), at: "2026-01-01 10:00 UTC".into(), bytes: 9 };
        let damage = Damage { path: "/s/p".into(), why: "bad".into(), backups: (0..backups).map(card).collect() };
        let check = || Ok(Some(damage.clone()));
        let repair_store = |start| {
            asked.borrow_mut().push(start);
            Ok(RepairResult { moved: "/s/p.corrupt".into(), from: None, salvaged: Some(("/s/x".into(), 3)) })
        };
        let (mut out, mut err, mut input) = (Vec::new(), Vec::new(), typed.as_bytes());
        let mut io = crate::cli::Io {
            out: &mut out,
            err: &mut err,
            input: &mut input,
            out_tty: tty,
            err_tty: tty,
            in_tty: tty,
            joins: true,
            json: args.global.json,
            escape: false,
            interrupts: &|| 0,
        };
        let result = repair(&args, &check, &repair_store, &mut io);
        let said = String::from_utf8([out, err].concat()).unwrap();
        (result, said, asked.into_inner())
    }

    #[test]
    fn nothing_changes_without_confirmation() {
        let (result, said, asked) = run_repair("pleach doctor --repair", 1, true, "\n");
        assert_eq!((result.unwrap_err().code(), asked.len()), (1, 0), "{said}");
        assert!(said.contains("[y/N]") && said.contains("2026-01-01 10:00 UTC"), "{said}");
        let (result, said, asked) = run_repair("pleach doctor --repair", 1, false, "y\n");
        assert_eq!((result.unwrap_err().code(), asked.len()), (2, 0), "{said}");
    }

    #[test]
    fn confirmation_starts_from_a_backup_if_one_exists() {
        for (line, backups, typed, start) in [
            ("pleach doctor --repair", 2, "y\n", StartWith::Backup),
            ("pleach doctor --repair --yes", 2, "", StartWith::Backup),
            ("pleach doctor --repair --empty", 2, "yes\n", StartWith::Empty),
            ("pleach doctor --repair -y", 0, "", StartWith::Empty),
        ] {
            let (result, said, asked) = run_repair(line, backups, true, typed);
            assert_eq!((result, asked), (Ok(()), vec![start]), "{said}");
            assert!(said.contains("/s/p.corrupt") && said.contains("3 messages"), "{said}");
        }
        let (_, said, _) = run_repair("pleach --json doctor --repair --yes", 0, false, "");
        assert!(said.contains("\"messages\":3"), "{said}");
    }
}
