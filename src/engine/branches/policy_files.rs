//! Policies that a person wrote: saves one and steps between its versions.
//! Not for: the syntax of a policy (`config::policies`), or the list of its versions (`editable`).

use crate::config::error::ConfigError;
use crate::config::policy_files;
use crate::domain::base::Failure;
use crate::domain::planning::PolicySpec;
use crate::domain::summary::PolicyFault;
use crate::engine::api::{Answer, EditableAnswer};
use crate::engine::core::Core;
use crate::engine::startup::setup::Setup;
use std::path::PathBuf;

impl Core {
    /// Saves a person's own policy; with `preset`, a new policy that was copied from it. An invalid text is refused
    /// with the position of the error, and nothing is changed.
    pub(crate) fn save_policy(&mut self, name: &str, text: &str, preset: Option<&str>) -> Result<Answer, Failure> {
        let folder = self.setup.policies_dir()?;
        self.setup.ensure_name_free(name, preset.is_some())?;
        match policy_files::save(&folder, name, text, preset) {
            Ok(spec) => {
                Ok(self.take_policy(name, spec, format!("Saved policy {name}; u restores the previous version.")))
            }
            Err(error) => refused(&error),
        }
    }

    /// Goes back to the version that a policy's current version was made from, or forward again.
    pub(crate) fn step_policy(&mut self, name: &str, forward: bool) -> Result<Answer, Failure> {
        let folder = self.setup.policies_dir()?;
        match policy_files::step(&folder, name, forward) {
            Ok(Some((number, spec))) => {
                Ok(self.take_policy(name, spec, format!("Policy {name} is back at version {number}.")))
            }
            Ok(None) if forward => Err(Failure::user(format!("There is no undone version of {name} to restore."))),
            Ok(None) => Err(Failure::user(format!("{name} has no earlier version."))),
            Err(error) => Err(error.failure()),
        }
    }

    /// Replaces a policy, which makes plans under it stale.
    fn take_policy(&mut self, name: &str, spec: PolicySpec, notice: String) -> Answer {
        let same = self.setup.settings.policies.get(name) == Some(&spec);
        self.setup.settings.policies.insert(name.to_owned(), spec);
        if !same {
            for branch in self.sessions.branch_ids() {
                let rules = self.sessions.branch(branch).and_then(|branch| self.rules(&branch));
                if rules.is_ok_and(|rules| rules.policy.name == name) {
                    self.show_branch(branch);
                }
            }
        }
        Answer::Editable(EditableAnswer::Policies {
            names: self.setup.settings.policies.keys().cloned().collect(),
            notice,
        })
    }
}

impl Setup {
    fn policies_dir(&self) -> Result<PathBuf, Failure> {
        let none = || Failure::user("Policies can't be saved in the demo.").kept("Your text is kept in the editor.");
        self.policies_dir.clone().ok_or_else(none)
    }

    /// Checks that a policy can be saved under a name: the name must be valid, unused if the policy is new, and not the
    /// name of a built-in policy.
    fn ensure_name_free(&self, name: &str, new: bool) -> Result<(), Failure> {
        let folder = self.policies_dir()?;
        let all = policy_files::list(&folder).map_err(|error| error.failure())?;
        let there = all.iter().find(|policy| policy.name == name);
        let kept = |failure: Failure| failure.kept("Nothing was changed.");
        match there {
            _ if !policy_files::is_name(name) => {
                Err(kept(Failure::user(format!("{name:?} is not a valid policy name.")))
                    .todo("Use at most 40 lowercase letters, digits, hyphens, and underscores."))
            }
            Some(_) if new => {
                Err(kept(Failure::user(format!("There is already a policy {name}."))).todo("Choose another name."))
            }
            Some(policy) if policy.built_in => {
                Err(kept(Failure::user(format!("{name} is built in."))).todo("Copy it under another name."))
            }
            _ => Ok(()),
        }
    }
}

/// Turns an invalid policy text into an answer with the position of its error; other errors stay failures.
fn refused(error: &ConfigError) -> Result<Answer, Failure> {
    let ConfigError::Faulty { place, key, what, nearest, .. } = error else {
        return Err(error.failure().kept("Nothing was changed; your text is kept."));
    };
    let key = if key.is_empty() { String::new() } else { format!("`{key}`: ") };
    let meant = nearest.as_ref().map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
    let words = format!("Not saved: line {}, column {}: {key}{what}.{meant}", place.line, place.column);
    Ok(EditableAnswer::Refused(PolicyFault { place: Some((place.line, place.column)), words }).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::policies::read;
    use crate::domain::base::failure::FailureKind;

    #[test]
    fn errors_are_reported_with_their_position() {
        let Answer::Editable(EditableAnswer::Refused(fault)) = refused(&read("mine", "a = 1\n").unwrap_err()).unwrap()
        else {
            panic!()
        };
        assert_eq!(fault.place, Some((1, 1)));
        let Answer::Editable(EditableAnswer::Refused(fault)) =
            refused(&read("mine", "\n[levels]\nworkin = 1\n").unwrap_err()).unwrap()
        else {
            panic!()
        };
        assert_eq!(
            fault.words,
            "Not saved: line 3, column 1: `levels.workin`: unknown setting. Did you mean `working`?"
        );
        let other = ConfigError::NoHome("x".into());
        assert_eq!(refused(&other).unwrap_err().kind, FailureKind::Config);
    }
}
