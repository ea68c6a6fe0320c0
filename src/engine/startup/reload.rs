//! Reloads the configuration while the engine runs, and reports which settings apply now and which only after a
//! restart.
//! Not for: reading files (`wiring` passes that in), or settings of the screen.

use crate::domain::base::Failure;
use crate::domain::call::Profile;
use crate::engine::api::Answer;
use crate::engine::core::{Core, with_skills};
use std::collections::BTreeMap;

impl Core {
    /// Reads the configuration again. If it is invalid, nothing changes.
    pub(crate) fn reload_config(&mut self) -> Result<Answer, Failure> {
        let Some(read) = self.setup.read_again.clone() else { return Ok(Answer::Done(String::new())) };
        let fresh = read()?;
        let notice = sentence(&fresh.changed, &fresh.later);
        if fresh.changed.is_empty() {
            return Ok(Answer::Done(notice));
        }
        let before = &self.setup.settings;
        let moved = moved_profiles(&before.profiles, &fresh.settings.profiles);
        let mut settings = fresh.settings;
        settings.tools = settings.tools.map(|inner| with_skills(inner, &self.tools.project));
        settings.named = settings.named.filter(|_| before.named.is_some());
        self.tools.trusted = settings.trusted;
        let project = settings.project.clone();
        self.setup.settings = settings;
        self.forget_learned(&moved);
        self.set_servers();
        self.tools.project.configure(Some(project), self.tools.trusted);
        self.show_all_branches();
        Ok(Answer::Done(notice))
    }
}

/// Returns the names of the profiles whose server has another address than before.
fn moved_profiles(before: &BTreeMap<String, Profile>, after: &BTreeMap<String, Profile>) -> Vec<String> {
    let moved = |(name, old): &(&String, &Profile)| after.get(*name).is_some_and(|new| new.base_url != old.base_url);
    before.iter().filter(moved).map(|(name, _)| name.clone()).collect()
}

/// Returns a sentence about the changed settings, which also names the settings that apply only after a restart.
fn sentence(changed: &[String], later: &[String]) -> String {
    let now: Vec<&str> = changed.iter().filter(|name| !later.contains(name)).map(String::as_str).collect();
    let mut parts = Vec::new();
    if !now.is_empty() {
        parts.push(format!("Settings reloaded: {}.", now.join(", ")));
    }
    if !later.is_empty() {
        parts.push(format!("After a restart: {}.", later.join(", ")));
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_wait_for_a_restart_are_named() {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(sentence(&[], &[]), "");
        let notice = sentence(&names(&["mode", "store"]), &names(&["store"]));
        assert_eq!(notice, "Settings reloaded: mode. After a restart: store.");
    }
}
