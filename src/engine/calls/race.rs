//! Races: several branches from one place with different settings. One message is sent to all of them. Also keeps one
//! branch and archives the others.
//! Not for: the calls themselves; each branch is asked like any other.

use super::race_work::RaceWork;
use crate::domain::base::ids::RaceId;
use crate::domain::base::{BranchId, Failure, FailureKind};
use crate::domain::call::{BranchRun, Config, Limits, RaceUsage};
use crate::domain::conversation::{Branch, Change, Overrides};
use crate::domain::planning::Blocked;
use crate::domain::planning::variant::{difference, merge, title};
use crate::engine::api::{Answer, CallAnswer, Draft, Ticket};
use crate::engine::branches::fork::{NewBranch, fresh_name};
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, PlanReport};
use crate::engine::plans::input_builder::InputBuilder;
use crate::engine::plans::snapshot;
use crate::engine::plans::worker::{WorkerTask, try_solve};
use crate::engine::sessions::session::undoable;
use crate::engine::startup::rules::Rules;
use crate::store::types::Write;
use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use uuid::Uuid;

/// The maximum number of branches in a race. Each branch costs a call.
const MOST: usize = 8;

impl Core {
    /// Plans the draft with the settings of each variant, then makes a branch for each variant at the branch's head.
    /// Makes no branch if a request does not fit.
    pub(crate) fn race(
        &mut self,
        ticket: Ticket,
        id: BranchId,
        variants: Vec<Overrides>,
        limits: Limits,
        draft: Draft,
    ) -> Result<(), Failure> {
        if !(2..=MOST).contains(&variants.len()) {
            let what = format!("A race needs 2 to {MOST} branches; this race has {}.", variants.len());
            return Err(Failure::user(what).todo("Give each branch a setting, such as mode=off."));
        }
        self.ensure_idle_everywhere(id)?;
        let branch = self.sessions.branch(id)?;
        let question = self.asked(&branch, &draft)?;
        let mut left = VecDeque::new();
        for variant in &variants {
            let (arm, rules) = self.variant_of(&branch, variant)?;
            let mut snapshot = snapshot::take(self.sessions.of_branch(id)?, &arm, rules, &question);
            snapshot.waits = self.setup.patient;
            left.push_back((title(variant), snapshot));
        }
        let revision = self.plans.revision(id);
        let race = RaceWork { ticket, branch: id, revision, variants, limits, draft, left, refusal: None };
        self.plans.planner.run(task(race, self.inbox.clone()))
    }

    /// Starts a planned race, or answers why it cannot start. If the branch changed meanwhile, plans it again.
    pub(crate) fn race_planned(&mut self, race: RaceWork) {
        let RaceWork { ticket, branch, revision, variants, limits, draft, refusal, .. } = race;
        let result = match refusal {
            Some(failure) => Err(failure),
            None if revision != self.plans.revision(branch) => {
                match self.race(ticket, branch, variants, limits, draft) {
                    Ok(()) => return,
                    Err(failure) => Err(failure),
                }
            }
            None => self.start_race(branch, &variants, limits),
        };
        self.answer(ticket, result);
    }

    /// Returns the branch with the settings of a variant, and its rules.
    fn variant_of(&self, branch: &Branch, variant: &Overrides) -> Result<(Branch, Rules), Failure> {
        let arm = Branch { overrides: merge(&branch.overrides, variant), ..branch.clone() };
        let rules = self.rules(&arm)?;
        self.setup.servers.ready(&rules.profile).map_err(|failure| failure.kept("Nothing was sent."))?;
        Ok((arm, rules))
    }

    /// Makes a branch for each variant at the branch's head, with a record of its settings and limits (undone
    /// together).
    fn start_race(&mut self, id: BranchId, variants: &[Overrides], limits: Limits) -> Result<Answer, Failure> {
        self.ensure_idle_everywhere(id)?;
        let branch = self.sessions.branch(id)?;
        let (mut new_branches, mut records) = (Vec::new(), Vec::new());
        let (race, at, limits) =
            (RaceId(Uuid::now_v7()), self.setup.now(), limits.over(self.setup.settings.race).without_zeros());
        let mut taken = 1;
        for variant in variants {
            let (arm, rules) = self.variant_of(&branch, variant)?;
            let overrides = arm.overrides;
            let name = fresh_name(self.sessions.of_branch(id)?, "race", taken);
            taken = name.rsplit('-').next().and_then(|n| n.parse::<u32>().ok()).unwrap_or(taken) + 1;
            let mut new_branch = NewBranch::new(name, Some(overrides.clone()));
            let record = BranchRun {
                race,
                branch: new_branch.id,
                from: id,
                place: u32::try_from(records.len()).unwrap_or(u32::MAX),
                config: config(rules, overrides),
                limits,
                runs: Vec::new(),
                spent: RaceUsage::default(),
                stopped: None,
                ended: None,
                at,
            };
            new_branch.writes.push(Write::PutBranchRun { session: branch.session, record: Box::new(record.clone()) });
            records.push(record);
            new_branches.push(new_branch);
        }
        let what = format!("started a race of {}", variants.len());
        self.make_branches(id, None, new_branches, what)?;
        self.sessions.of_branch_mut(id)?.races.extend(records.iter().cloned());
        self.show_records(&records);
        let branches = records.iter().map(|record| self.sessions.branch(record.branch));
        Ok(CallAnswer::Race(branches.collect::<Result<_, _>>()?).into())
    }

    /// Keeps one branch of a race and archives the others. The kept branch takes the name of the raced branch, which is
    /// archived too, unless the raced branch has grown since.
    pub(crate) fn keep_one(&mut self, id: BranchId) -> Result<Answer, Failure> {
        let session = self.sessions.of_branch(id)?;
        let kept = session.branch(id)?.clone();
        let of = |branch: BranchId| session.races.iter().find(|record| record.branch == branch);
        let Some(record) = of(id) else {
            return Err(Failure::user(format!("{} is not a branch of a race.", kept.name))
                .todo("Archive it in the list of branches."));
        };
        let same = |branch: &&Branch| branch.id != id && of(branch.id).is_some_and(|other| other.race == record.race);
        let mut away: Vec<BranchId> =
            session.branches.iter().filter(same).filter(|b| !b.archived).map(|b| b.id).collect();
        let unmoved = |branch: &&Branch| branch.head == kept.fork && !branch.archived;
        let raced = session.branch(record.from).ok().filter(unmoved).cloned();
        let mut changes = Vec::new();
        if let Some(raced) = &raced {
            let spare = fresh_name(session, &format!("{}-before", raced.name), 1);
            let name = |branch, before: &str, after: &str| {
                let (before, after) = (before.to_owned(), after.to_owned());
                Change::Name { branch, before, after }
            };
            changes.extend([name(raced.id, &raced.name, &spare), name(id, &kept.name, &raced.name)]);
            away.push(raced.id);
        }
        let session = session.card.id;
        for branch in away.iter().chain([&id]) {
            self.turns.ensure_idle(*branch)?;
        }
        let archived = |branch: &BranchId| Change::Archived { branch: *branch, before: false, after: true };
        changes.extend(away.iter().map(archived));
        if changes.is_empty() {
            return Ok(Answer::Done("The other branches are already archived.".into()));
        }
        let named = raced.as_ref().map(|raced| kept_as(&kept, raced)).unwrap_or_default();
        let what = format!("kept {}{named} and archived the other branches of the race", kept.name);
        let mut writes: Vec<Write> = changes.iter().filter_map(written).collect();
        writes.push(Write::UseBranch(id));
        writes.push(self.setup.operation(session, what.clone(), changes.clone()));
        self.store.write(writes)?;
        self.sessions.of_branch_mut(id)?.current = id;
        for change in &changes {
            self.apply(change, true);
        }
        Ok(undoable(&what))
    }

    /// Archives several branches in one step.
    pub(crate) fn archive_all(&mut self, ids: &[BranchId]) -> Result<Answer, Failure> {
        let (mut writes, mut changes) = (Vec::new(), Vec::new());
        let Some(first) = ids.first() else { return Ok(Answer::Done(String::new())) };
        let session = self.sessions.of_branch(*first)?;
        let (id, open) = (session.card.id, session.branches.iter().filter(|branch| !branch.archived).count());
        for branch in ids {
            self.turns.ensure_idle(*branch)?;
            let found = self.sessions.of_branch(*first)?.branch(*branch)?;
            if !found.archived {
                writes.push(Write::ArchiveBranch { branch: *branch, archived: true });
                changes.push(Change::Archived { branch: *branch, before: false, after: true });
            }
        }
        if changes.is_empty() {
            return Ok(Answer::Done("These branches are already archived.".into()));
        }
        if changes.len() >= open {
            return Err(Failure::user("The last open branch can't be archived."));
        }
        let what = format!("archived {} branches", changes.len());
        self.record(id, &what, writes, &changes)
    }
}

/// Plans one variant, then queues the next variant as a separate task, so that drafts are planned in between. The first
/// request that cannot be made ends the planning.
fn task(mut race: RaceWork, inbox: Sender<Inbox>) -> WorkerTask {
    let work = Box::new(move |builder: &mut InputBuilder| {
        if let Some((title, snapshot)) = race.left.pop_front() {
            let (solution, unindexed) = try_solve(builder, &snapshot);
            if unindexed > 0 && snapshot.waits {
                race.left.push_front((title, snapshot));
                return Some(task(race, inbox));
            }
            race.refusal = match solution {
                Ok(Ok(_)) => None,
                Ok(Err(blocked)) => Some(unfit(&title, &blocked)),
                Err(failure) => Some(failure.kept("Nothing was sent, and no branch was created.")),
            };
        }
        if race.refusal.is_none() && !race.left.is_empty() {
            return Some(task(race, inbox));
        }
        let _ = inbox.send(Inbox::Plan(PlanReport::Race(Box::new(race))));
        None
    });
    WorkerTask { work, stop: None }
}

/// Returns the failure of a race one of whose requests does not fit its budget.
fn unfit(title: &str, blocked: &Blocked) -> Failure {
    let title = if title.is_empty() { "current settings" } else { title };
    let (what, todo) = (format!("{title}: {}", blocked.sentence()), blocked.remedies());
    Failure::new(FailureKind::Blocked, what).kept("Nothing was sent, and no branch was created.").todo(todo)
}

fn written(change: &Change) -> Option<Write> {
    match change {
        Change::Name { branch, after, .. } => Some(Write::RenameBranch { branch: *branch, name: after.clone() }),
        Change::Archived { branch, after, .. } => Some(Write::ArchiveBranch { branch: *branch, archived: *after }),
        _ => None,
    }
}

/// Returns the end of a sentence: a kept branch takes the name of the raced branch and keeps the settings of the race.
fn kept_as(kept: &Branch, raced: &Branch) -> String {
    match title(&difference(&raced.overrides, &kept.overrides)) {
        same if same.is_empty() => format!(" as {}", raced.name),
        own => format!(" as {} with the settings of the race ({own})", raced.name),
    }
}

/// Returns the effective settings, including defaults.
fn config(rules: Rules, overrides: Overrides) -> Config {
    Config {
        max_output: rules.max_output().unwrap_or(rules.budget.reserved_output),
        profile: rules.profile.name,
        model: rules.model.name,
        policy: rules.policy.name,
        layout: rules.layout.name().to_owned(),
        mode: rules.mode,
        budget: rules.budget.prompt,
        overrides,
    }
}
