//! The setup of the workbench, from the configuration, and the question about a damaged store before the screen is
//! entered.
//! Not for: anything that changes while the workbench runs.

use super::{configuration, links};
use crate::config::commands::args::Global;
use crate::config::load::Config;
use crate::config::panels::Arrangements;
use crate::config::settings::LinksChoice;
use crate::domain::base::{Damage, Failure, Safe, StartWith};
use crate::tui::{Setup, TuiError};
use std::io::{self, IsTerminal as _, Write as _};

impl Setup {
    /// Builds the setup from the configuration and the command line's options.
    pub fn new(config: &Config, chosen: &Global) -> Self {
        let demo = chosen.demo;
        let light = configuration::background_from_env(config);
        let (keymap, themes, problems) = configuration::load_display(config, light);
        Self {
            keymap,
            themes,
            screen: config.settings.screen.clone(),
            arrangements: if demo { Arrangements::default() } else { Arrangements::load(&config.paths.screen_file()) },
            may_ask: configuration::may_ask(config),
            session: chosen.session.clone(),
            branch: chosen.branch.clone(),
            first_start: config.start_profile().is_none() && !demo,
            demo,
            policies: config.policies.keys().cloned().collect(),
            links: match config.settings.screen.links {
                LinksChoice::Auto => links::known(&|name| config.env.get(name)),
                LinksChoice::On => true,
                LinksChoice::Off => false,
            },
            notices: config.notes.iter().cloned().chain(problems).collect(),
            config: Some(config.clone()),
        }
    }
}

impl From<TuiError> for Failure {
    fn from(error: TuiError) -> Self {
        Self::user(error.to_string())
    }
}

/// Asks what to do with a damaged store before the screen is entered. Returns None if the store stays unchanged, or if
/// there is no terminal to ask on.
pub fn ask_about(damage: &Damage) -> Option<StartWith> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return None;
    }
    let mut err = io::stderr();
    write!(err, "{}", Safe::text(&question(damage))).and_then(|()| err.flush()).ok()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line).ok()?;
    chosen(&line, damage)
}

fn question(damage: &Damage) -> String {
    let mut text = format!("{}\n{}\n", damage.what(), damage.backups_sentence());
    if !damage.backups.is_empty() {
        text.push_str("  [b] move the store aside, unchanged, and start from the newest backup\n");
    }
    text.push_str(
        "  [n] move the store aside, unchanged, and start empty\n  [q] leave everything unchanged and quit\n? [q] ",
    );
    text
}

fn chosen(line: &str, damage: &Damage) -> Option<StartWith> {
    match line.trim().to_lowercase().as_str() {
        "b" if !damage.backups.is_empty() => Some(StartWith::Backup),
        "n" => Some(StartWith::Empty),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::damage::BackupCard;

    #[test]
    fn only_a_listed_choice_moves_the_store() {
        let mut damage = Damage { path: "/p".into(), why: "bad\u{1b}[31m".into(), backups: Vec::new() };
        assert!(!question(&damage).contains("[b]") && question(&damage).contains("no backup"));
        assert_eq!(chosen("b\n", &damage), None);
        damage.backups.push(BackupCard { path: "/b".into(), at: "2026-01-01 10:00 UTC".into(), bytes: 1 });
        assert!(question(&damage).contains("[b]") && question(&damage).contains("2026-01-01"));
        assert_eq!(chosen(" B \n", &damage), Some(StartWith::Backup));
        assert_eq!(chosen("n", &damage), Some(StartWith::Empty));
        for nothing in ["", "\n", "q\n", "y\n", "nb"] {
            assert_eq!(chosen(nothing, &damage), None, "{nothing:?}");
        }
    }
}
