//! Reloads the configuration while the engine runs, and reports which settings apply now and which only after a
//! restart.
//! Not for: reading files (`wiring` passes that in), or settings of the screen.

use crate::domain::base::failure::Failure;
use crate::domain::call::model::Profile;
use crate::engine::api::Answer;
use crate::engine::core::{Core, with_skills};
use std::collections::BTreeMap;

impl Core {
    /// Reads the configuration again. If it is invalid, nothing changes.
    pub(crate) fn reload_config(&mut self) -> Result<Answer, Failure> {
        let Some(read) = self.setup.read_again.clone() else { return Ok(Answer::Done(String::new())) };
        let fresh = read()?;
        let said = sentence(&fresh.changed, &fresh.later);
        if fresh.changed.is_empty() {
            return Ok(Answer::Done(said));
        }
        let moved = moved_profiles(&self.setup.profiles, &fresh.profiles);
        let setup = &mut self.setup;
        setup.profiles = fresh.profiles;
        setup.profile = fresh.profile;
        setup.model = fresh.model;
        setup.policies = fresh.policies;
        setup.defaults = fresh.defaults;
        setup.state_block = fresh.state_block;
        setup.prompts = fresh.prompts;
        setup.tools = fresh.tools.map(|inner| with_skills(inner, &self.tools.project));
        setup.named = setup.named.take().map(|_| fresh.named);
        setup.output_limit = fresh.output_limit;
        setup.project = fresh.project.clone();
        setup.orient = fresh.orient;
        setup.tool_rules = fresh.tool_rules;
        setup.rounds = fresh.rounds;
        setup.race = fresh.race;
        setup.titles = fresh.titles;
        setup.models = fresh.models;
        self.forget_learned(&moved);
        self.tools.trusted = fresh.trusted;
        self.set_servers();
        self.tools.project.configure(Some(fresh.project), fresh.trusted);
        self.show_all_branches();
        Ok(Answer::Done(said))
    }
}

/// Returns the names of the profiles whose server has another address than before.
fn moved_profiles(before: &BTreeMap<String, Profile>, after: &BTreeMap<String, Profile>) -> Vec<String> {
    let moved = |(name, old): &(&String, &Profile)| after.get(*name).is_some_and(|new| new.base_url != old.base_url);
    before.iter().filter(moved).map(|(name, _)| name.clone()).collect()
}

/// Returns a sentence about the changed settings and those of them that apply only after a restart.
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
    fn it_is_said_what_waits() {
        let words = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(sentence(&[], &[]), "");
        let said = sentence(&words(&["mode", "store"]), &words(&["store"]));
        assert_eq!(said, "Settings reloaded: mode. After a restart: store.");
    }
}
