//! Races: one place of a branch, several branches with other settings, so that one prompt is asked on all of them at once;
//! and putting away the ones that lost.
//! Not for: the calls themselves; each branch is asked like any other.

use super::api::Answer;
use super::core::Core;
use super::forking::{Sprout, fresh_name};
use crate::domain::arm;
use crate::domain::branch::{Branch, Overrides};
use crate::domain::failure::Failure;
use crate::domain::ids::BranchId;
use crate::domain::op::Change;
use crate::store::types::Write;

/// Branches of one race at the most: each is a call that somebody pays.
const MOST: usize = 8;

impl Core {
    /// Makes a branch for each way, at the branch's head. Undone together.
    pub(super) fn race(&mut self, id: BranchId, arms: &[Overrides]) -> Result<Answer, Failure> {
        if !(2..=MOST).contains(&arms.len()) {
            let what = format!(
                "A race has two to {MOST} ways of making the call, and there {} {}.",
                is(arms.len()),
                arms.len()
            );
            return Err(Failure::user(what).todo("Name each way, as in mode=off."));
        }
        self.must_rest(id)?;
        let branch = self.branch(id)?;
        let mut sprouts = Vec::new();
        let mut taken = 1;
        for arm in arms {
            let overrides = arm::over(&branch.overrides, arm);
            let trial = Branch { overrides: overrides.clone(), ..branch.clone() };
            let rules = self.rules(&trial)?;
            self.setup.servers.ready(&rules.profile).map_err(|failure| failure.kept("Nothing was sent."))?;
            let name = fresh_name(self.session_of(id)?, "race", taken);
            taken = name.rsplit('-').next().and_then(|n| n.parse::<u32>().ok()).unwrap_or(taken) + 1;
            sprouts.push(Sprout { name, overrides: Some(overrides) });
        }
        let what = format!("began a race of {}", arms.len());
        let made = self.sprout(id, None, sprouts, what)?;
        let branches = made.into_iter().map(|id| self.branch(id)).collect::<Result<Vec<_>, _>>()?;
        Ok(Answer::Race(branches))
    }

    /// Puts several branches away in one step.
    pub(super) fn put_away(&mut self, ids: &[BranchId]) -> Result<Answer, Failure> {
        let (mut writes, mut changes) = (Vec::new(), Vec::new());
        let Some(first) = ids.first() else { return Ok(Answer::Done(String::new())) };
        let session = self.session_of(*first)?;
        let (id, open) = (session.card.id, session.branches.iter().filter(|branch| !branch.archived).count());
        for branch in ids {
            self.must_rest(*branch)?;
            let found = self.session_of(*first)?.branch(*branch)?;
            if !found.archived {
                writes.push(Write::Archive { branch: *branch, archived: true });
                changes.push(Change::Archived { branch: *branch, before: false, after: true });
            }
        }
        if changes.is_empty() {
            return Ok(Answer::Done("They are put away already.".into()));
        }
        if changes.len() >= open {
            return Err(Failure::user("The last open branch cannot be put away."));
        }
        let what = format!("put {} branches away", changes.len());
        writes.push(self.operation(id, what.clone(), changes.clone()));
        self.store.write(writes)?;
        for change in &changes {
            self.apply(change, true);
        }
        Ok(Answer::Done(format!("{}. u undoes it.", super::session::capital(&what))))
    }
}

fn is(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}
