//! `doctor --repair`: moves a damaged store aside after confirmation, or drops stored plans that can't be read.
//! Not for: the repair itself, which is passed in so that this module does not depend on the store.

use crate::cli::output::sentence;
use crate::cli::stop::Stop;
use crate::cli::{finish, on_process};
use crate::config::commands::args::Args;
use crate::config::commands::command::Command;
use crate::domain::base::{Damage, Failure, RepairResult, StartWith};
use serde_json::json;

/// How the store is checked and repaired.
pub struct Store<'a> {
    /// Checks the whole store. Returns None if its messages are intact.
    pub check: &'a dyn Fn() -> Result<Option<Damage>, Failure>,
    /// Deletes the stored plans that can't be read, and returns their number.
    pub drop_plans: &'a dyn Fn() -> Result<usize, Failure>,
    /// Moves the store aside and starts from a backup or with an empty store.
    pub repair: &'a dyn Fn(StartWith) -> Result<RepairResult, Failure>,
}

/// Whether the command repairs the store. It must run before an engine opens the store.
pub fn wanted(args: &Args) -> bool {
    matches!(args.command, Some(Command::Doctor { repair: true, .. }))
}

/// Runs `doctor --repair` and returns its exit code.
pub fn run(args: &Args, store: &Store<'_>) -> u8 {
    on_process(args, &|| 0, |mut io| {
        let result = repair(args, store, &mut io);
        finish(result, &mut io)
    })
}

fn repair(args: &Args, store: &Store<'_>, io: &mut crate::cli::Io<'_>) -> Result<(), Stop> {
    let Some(Command::Doctor { yes, empty, .. }) = args.command else { return Ok(()) };
    let Some(damage) = (store.check)()? else {
        let dropped = (store.drop_plans)()?;
        let (any, message) = (dropped > 0, dropped_sentence(dropped));
        let value = json!({ "damaged": any, "repaired": any, "plans_dropped": dropped, "message": message });
        return io.either(&value, &message);
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
    io.require_yes(&format!("Move the damaged store aside, unchanged, and {into}?"), yes, "nothing changed")?;
    let repaired = (store.repair)(start)?;
    let sentences: Vec<String> = repaired.sentences().iter().map(|text| sentence(text)).collect();
    let value = json!({
        "damaged": true,
        "repaired": true,
        "moved": Some(&repaired.moved).filter(|moved| !moved.is_empty()),
        "from": repaired.from.map(|from| from.path),
        "salvaged": repaired.salvaged.map(|(file, messages)| json!({ "file": file, "messages": messages })),
    });
    io.either(&value, &sentences.join("\n"))
}

fn dropped_sentence(dropped: usize) -> String {
    let (plans, calls) = match dropped {
        0 => return "The store is intact. Nothing changed.".into(),
        1 => ("One stored plan could not be read and was dropped".into(), "request of its call"),
        many => (format!("{many} stored plans could not be read and were dropped"), "requests of their calls"),
    };
    format!("{plans}: the {calls} can no longer be shown or replayed. All messages are intact.")
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
        let repair_store = |start| {
            asked.borrow_mut().push(start);
            Ok(RepairResult { moved: "/s/p.corrupt".into(), from: None, salvaged: Some(("/s/x".into(), 3)) })
        };
        let store = Store { check: &|| Ok(Some(damage.clone())), drop_plans: &|| Ok(0), repair: &repair_store };
        let (result, printed) = run_on(&args, &store, tty, typed);
        (result, printed, asked.into_inner())
    }

    fn run_on(args: &Args, store: &Store<'_>, tty: bool, typed: &str) -> (Result<(), Stop>, String) {
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
        let result = repair(args, store, &mut io);
        (result, String::from_utf8([out, err].concat()).unwrap())
    }

    #[test]
    fn plans_that_cannot_be_read_are_dropped_without_moving_the_store() {
        for (dropped, printed) in [
            (0, "The store is intact. Nothing changed."),
            (1, "One stored plan could not be read and was dropped"),
            (2, "2 stored plans could not be read and were dropped"),
        ] {
            let store = Store { check: &|| Ok(None), drop_plans: &|| Ok(dropped), repair: &|_| unreachable!() };
            let args = Args::try_parse_from(["pleach", "doctor", "--repair"]).unwrap();
            let (result, text) = run_on(&args, &store, false, "");
            assert!(result.is_ok() && text.starts_with(printed), "{text}");
            let args = Args::try_parse_from(["pleach", "--json", "doctor", "--repair"]).unwrap();
            let (_, text) = run_on(&args, &store, false, "");
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&value["plans_dropped"], &value["repaired"]), (&json!(dropped), &json!(dropped > 0)));
        }
    }

    #[test]
    fn nothing_changes_without_confirmation() {
        let (result, printed, asked) = run_repair("pleach doctor --repair", 1, true, "\n");
        assert_eq!((result.unwrap_err().code(), asked.len()), (1, 0), "{printed}");
        assert!(printed.contains("[y/N]") && printed.contains("2026-01-01 10:00 UTC"), "{printed}");
        let (result, printed, asked) = run_repair("pleach doctor --repair", 1, false, "y\n");
        assert_eq!((result.unwrap_err().code(), asked.len()), (2, 0), "{printed}");
    }

    #[test]
    fn confirmation_starts_from_a_backup_if_one_exists() {
        for (line, backups, typed, start) in [
            ("pleach doctor --repair", 2, "y\n", StartWith::Backup),
            ("pleach doctor --repair --yes", 2, "", StartWith::Backup),
            ("pleach doctor --repair --empty", 2, "yes\n", StartWith::Empty),
            ("pleach doctor --repair -y", 0, "", StartWith::Empty),
        ] {
            let (result, printed, asked) = run_repair(line, backups, true, typed);
            assert_eq!((result, asked), (Ok(()), vec![start]), "{printed}");
            assert!(printed.contains("/s/p.corrupt") && printed.contains("3 messages"), "{printed}");
        }
        let (_, printed, _) = run_repair("pleach --json doctor --repair --yes", 0, false, "");
        assert!(printed.contains("\"messages\":3"), "{printed}");
    }
}
