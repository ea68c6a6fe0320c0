//! Reports on damaged stores and on backups: the damage, the backups, and the repairs.
//! Not for: reading or moving files (`store`).

use serde::Serialize;

/// A backup of the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackupCard {
    /// Path of the file.
    pub path: String,
    /// When it was made, as text in UTC.
    pub at: String,
    /// The size in bytes.
    pub bytes: u64,
}

impl BackupCard {
    /// Returns the date and size.
    pub fn about(&self) -> String {
        format!("{} ({} KiB)", self.at, self.bytes.div_ceil(1_024))
    }
}

/// The change that was made to a backup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BackupOutcome {
    /// The backup is unchanged.
    Kept,
    /// The backup was rewritten without the items that were removed from the store.
    Rewritten,
    /// The backup was deleted.
    Deleted,
}

/// A backup, and whether it still contains items that were removed from the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackupReport {
    pub backup: BackupCard,
    /// Number of its messages and sessions that were removed from the store permanently; 0 once the backup is deleted.
    pub removed: u64,
    /// The change that was made to it.
    pub outcome: BackupOutcome,
    /// Whether it was made before a change of the schema. Only an older program can read it, so it cannot be rewritten.
    pub older: bool,
    /// Why it could not be read or changed.
    pub fault: Option<String>,
}

impl BackupReport {
    /// Returns the file, its date and size, and its state, on one line.
    pub fn line(&self) -> String {
        let about = format!("{}  {}", self.backup.path, self.backup.about());
        let words = match (self.outcome, self.removed, &self.fault) {
            (_, _, Some(why)) => why.clone(),
            (BackupOutcome::Deleted, ..) if self.older => {
                "was deleted: its store format is older, and only an older version of pleach could have rewritten \
                    the backup without the deleted text"
                    .into()
            }
            (BackupOutcome::Deleted, ..) => "was deleted".into(),
            (BackupOutcome::Rewritten, ..) => "was rewritten without the deleted text".into(),
            (BackupOutcome::Kept, 0, None) => return about,
            (BackupOutcome::Kept, 1, None) => "contains one item that was deleted from the store".into(),
            (BackupOutcome::Kept, many, None) => format!("contains {many} items that were deleted from the store"),
        };
        format!("{about}  {words}")
    }
}

/// What to do with backups that still contain removed items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackupAct {
    /// Only report them.
    List,
    /// Remove the items from them too. Backups from before a change of the schema are deleted.
    Rewrite,
    /// Delete them.
    Delete,
}

/// Returns a sentence about backups that still contain removed items; `None` if there are none.
pub fn deleted_text_sentence(all: &[BackupReport]) -> Option<String> {
    let paths = |of: &dyn Fn(&BackupReport) -> bool| {
        all.iter().filter(|copy| of(copy)).map(|copy| copy.backup.path.as_str()).collect::<Vec<_>>()
    };
    let (still, unread) = (paths(&|copy| copy.removed > 0), paths(&|copy| copy.fault.is_some() && copy.removed == 0));
    let mut sentences = Vec::new();
    match still.len() {
        0 => {}
        1 => sentences.push(format!("One backup still contains deleted text: {}.", still[0])),
        many => sentences.push(format!("{many} backups still contain deleted text: {}.", still.join(", "))),
    }
    if !unread.is_empty() {
        sentences.push(format!("Deleted text may also be in files that can't be read: {}.", unread.join(", ")));
    }
    if sentences.is_empty() {
        return None;
    }
    let older = all.iter().any(|copy| copy.older && copy.removed > 0);
    let but = if older { " (and deletes backups with an older store format)" } else { "" };
    sentences.push(format!(
        "`pleach backups --rewrite` removes the text from the backups{but}; `pleach backups --delete` \
        deletes the backups."
    ));
    Some(sentences.join(" "))
}

/// A damaged store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The file.
    pub path: String,
    /// The fault, as reported by SQLite.
    pub why: String,
    /// The backups, newest first.
    pub backups: Vec<BackupCard>,
}

impl Damage {
    /// Returns what happened, as a sentence.
    pub fn what(&self) -> String {
        format!("The store at {} is damaged: {}.", self.path, self.why.trim_end_matches('.'))
    }

    /// Returns the available backups, as a sentence.
    pub fn backups_sentence(&self) -> String {
        match self.backups.as_slice() {
            [] => "It has no backup.".into(),
            [only] => format!("There is one backup, from {}: {}.", only.about(), only.path),
            [newest, ..] => {
                format!(
                    "There are {} backups; the newest is from {}: {}.",
                    self.backups.len(),
                    newest.about(),
                    newest.path
                )
            }
        }
    }
}

/// The store to start with after a damaged store was moved aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartWith {
    /// The newest readable backup.
    Backup,
    /// An empty store.
    Empty,
}

/// The repair of a damaged store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepairResult {
    /// The new path of the damaged file; empty if there was none.
    pub moved: String,
    /// The backup that replaced it; `None` for an empty store.
    pub from: Option<BackupCard>,
    /// The file with the messages that could still be read, and their number.
    pub salvaged: Option<(String, u64)>,
}

impl RepairResult {
    /// Returns the report, one sentence per element.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if !self.moved.is_empty() {
            sentences.push(format!("The damaged store was moved, unchanged, to {}.", self.moved));
        }
        sentences.push(match &self.from {
            Some(backup) => format!("The store was restored from the backup of {}.", backup.about()),
            None => "The store is empty now.".into(),
        });
        if let Some((file, count)) = &self.salvaged {
            sentences.push(format!(
                "{count} messages of the damaged store could be read; they are in {file}, and `pleach import` \
                    imports them."
            ));
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backup(at: &str, bytes: u64) -> BackupCard {
        BackupCard { path: format!("/s/b-{at}"), at: at.into(), bytes }
    }

    #[test]
    fn backups_with_removed_items_are_named() {
        let copy = |removed, fault: Option<&str>| BackupReport {
            backup: backup("2026-02-01", 1),
            removed,
            outcome: BackupOutcome::Kept,
            older: false,
            fault: fault.map(String::from),
        };
        assert_eq!(deleted_text_sentence(&[copy(0, None)]), None);
        let sentences =
            deleted_text_sentence(&[copy(0, None), copy(2, None), copy(0, Some("it can't be read"))]).unwrap();
        assert!(
            sentences.starts_with("One backup still contains deleted text: /s/b-2026-02-01. Deleted text may also")
        );
        assert!(
            sentences.contains("`pleach backups --rewrite` removes the text from the backups;")
                && sentences.contains("--delete"),
            "{sentences}"
        );
        let older = BackupReport { older: true, ..copy(1, None) };
        assert!(
            deleted_text_sentence(std::slice::from_ref(&older))
                .unwrap()
                .contains("deletes backups with an older store format")
        );
        let (deleted, why) = (BackupOutcome::Deleted, Some("it can't be read".to_owned()));
        for (copy, end) in [
            (copy(0, None), ")"),
            (copy(1, None), "  contains one item that was deleted from the store"),
            (copy(3, None), "  contains 3 items that were deleted from the store"),
            (
                BackupReport { outcome: BackupOutcome::Rewritten, ..copy(0, None) },
                "  was rewritten without the deleted text",
            ),
            (BackupReport { outcome: deleted, ..copy(0, None) }, "  was deleted"),
            (
                BackupReport { outcome: deleted, ..older.clone() },
                "only an older version of pleach could have rewritten the backup without the deleted text",
            ),
            (BackupReport { fault: why, outcome: deleted, ..older }, "  it can't be read"),
        ] {
            assert!(copy.line().starts_with("/s/b-2026-02-01  ") && copy.line().ends_with(end), "{}", copy.line());
        }
    }

    #[test]
    fn the_newest_backup_is_named() {
        let mut damage = Damage { path: "/s/p.db".into(), why: "malformed.".into(), backups: Vec::new() };
        assert_eq!(damage.what(), "The store at /s/p.db is damaged: malformed.");
        assert_eq!(damage.backups_sentence(), "It has no backup.");
        damage.backups.push(backup("2026-02-01 10:00 UTC", 2_049));
        assert_eq!(
            damage.backups_sentence(),
            "There is one backup, from 2026-02-01 10:00 UTC (3 KiB): /s/b-2026-02-01 10:00 UTC."
        );
        damage.backups.push(backup("2026-01-01 10:00 UTC", 1));
        assert!(damage.backups_sentence().starts_with("There are 2 backups; the newest is from 2026-02-01"));
    }

    #[test]
    fn the_report_is_complete() {
        let mut mended = RepairResult { moved: "/s/p.db.corrupt-x".into(), from: None, salvaged: None };
        assert_eq!(mended.sentences().len(), 2);
        mended.from = Some(backup("2026-02-01 10:00 UTC", 1));
        mended.salvaged = Some(("/s/x.jsonl".into(), 7));
        let sentences = mended.sentences().join(" ");
        assert!(
            sentences.contains("/s/p.db.corrupt-x")
                && sentences.contains("backup of 2026-02-01")
                && sentences.contains("7 messages")
        );
    }
}
