//! What-if comparisons: plans of the next call under other settings, solved one by one between the plans that a screen
//! waits for. They change nothing that is drawn, and a newer draft cancels them.
//! Not for: the plan that is drawn (`draft`), or comparing figures (`domain::planning::what_if`).

use super::input_builder::InputBuilder;
use super::results::{Trial, TrialPlan, TrialWork, Trials};
use super::snapshot::{self, Question, Snapshot};
use super::worker::{self, Planner, WorkerTask};
use crate::context::render::same_prefix;
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::ids::BranchId;
use crate::domain::conversation::branch::{Branch, Overrides};
use crate::domain::planning::mode::Mode;
use crate::domain::planning::plan::Budget;
use crate::domain::planning::policy::Layout;
use crate::domain::planning::variant;
use crate::domain::planning::what_if::{Alternative, PlanFigures, WhatIf};
use crate::engine::api::{Answer, Draft, Ticket};
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, PlanReport};
use crate::engine::indexing::priority::Priority;
use crate::engine::startup::rules::Rules;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Maximum number of other models of the profile that are included by default.
const MODELS: usize = 3;
/// Maximum number of other policies that are included by default.
const POLICIES: usize = 8;
/// Maximum number of variants.
const WAYS: usize = 32;

impl Core {
    /// Plans the requested variants (and the default ones, if requested); answered when all are planned.
    pub(crate) fn what_if(
        &mut self,
        ticket: Ticket,
        id: BranchId,
        draft: Draft,
        arms: &[Overrides],
        usual: bool,
    ) -> Result<(), Failure> {
        let branch = self.sessions.branch(id)?;
        let question = self.asked(&branch, &draft)?;
        let rules = self.rules(&branch)?;
        let mut all = vec![self.trial(&branch, &rules, &question, Overrides::default())];
        let mut seen = vec![rules.clone()];
        for arm in self.usual(&branch, &rules).into_iter().filter(|_| usual) {
            let changed = Branch { overrides: variant::merge(&branch.overrides, &arm), ..branch.clone() };
            let fresh = self.rules(&changed).ok().filter(|made| !seen.contains(made));
            seen.extend(fresh.clone());
            if fresh.is_some() {
                all.push(self.trial(&branch, &rules, &question, arm));
            }
        }
        for arm in arms.iter().filter(|arm| **arm != Overrides::default()) {
            if !all.iter().any(|known| known.arm == *arm) {
                all.push(self.trial(&branch, &rules, &question, arm.clone()));
            }
        }
        all.truncate(WAYS);
        self.drop_trying();
        let stop = Arc::new(AtomicBool::new(false));
        let tries = Trials { ticket, branch: id, revision: self.plans.revision(id), stop: stop.clone(), all };
        self.plans.trying = Some(TrialWork { ticket, branch: id, draft, stop });
        self.plans.planner.run(task(tries, self.plans.planner.clone(), self.inbox.clone()));
        Ok(())
    }

    /// Modes, policies, the other layout, other models of the profile that are known, half and all of the room.
    fn usual(&self, branch: &Branch, rules: &Rules) -> Vec<Overrides> {
        let blank = Overrides::default;
        let mut arms: Vec<Overrides> =
            Mode::ALL.into_iter().map(|mode| Overrides { mode: Some(mode), ..blank() }).collect();
        let policies = self.setup.policies.keys().filter(|name| **name != rules.policy.name).take(POLICIES);
        arms.extend(policies.map(|name| Overrides { policy: Some(name.clone()), ..blank() }));
        let layouts = [Layout::Classic, Layout::CacheFriendly].into_iter().filter(|layout| *layout != rules.layout);
        arms.extend(layouts.map(|layout| Overrides { layout: Some(layout.name().into()), ..blank() }));
        let models = self.other_models(branch, rules).into_iter();
        arms.extend(models.map(|model| Overrides { model: Some(model), ..blank() }));
        let budgets = budgets(&rules.budget).into_iter();
        arms.extend(budgets.map(|budget| Overrides { budget: Some(budget), ..blank() }));
        arms
    }

    /// Models of the same profile that this session used, the profile's own, and those that its server reported.
    fn other_models(&self, branch: &Branch, rules: &Rules) -> Vec<String> {
        let profile = &rules.profile;
        let asked = self.sessions.of_branch(branch.id).map(|session| session.runs.as_slice()).unwrap_or_default();
        let asked = asked.iter().rev().filter(|run| run.profile == profile.name).map(|run| run.model.clone());
        let mut told: Vec<String> =
            self.learned.models.keys().filter(|(of, _)| *of == profile.name).map(|(_, m)| m.clone()).collect();
        told.sort_unstable();
        let mut names: Vec<String> = Vec::new();
        for name in asked.chain([profile.model.clone()]).chain(told) {
            if !name.is_empty() && name != rules.model.name && !names.contains(&name) {
                names.push(name);
            }
        }
        names.truncate(MODELS);
        names
    }

    fn trial(&self, branch: &Branch, present: &Rules, question: &Question, arm: Overrides) -> Trial {
        let changed = Branch { overrides: variant::merge(&branch.overrides, &arm), ..branch.clone() };
        let made = self.rules(&changed).and_then(|rules| {
            let price = rules.model.price;
            let same = (&rules.profile.name, &rules.model.name) == (&present.profile.name, &present.model.name);
            let session = self.sessions.of_branch(branch.id)?;
            let mut snapshot = snapshot::take(session, &changed, rules, question);
            snapshot.priority = Priority::Typing;
            snapshot.waits = self.setup.patient;
            Ok((snapshot, price, same))
        });
        match made {
            Ok((snapshot, price, same_model)) => {
                Trial { arm, snapshot: Some(snapshot), price, same_model, result: None }
            }
            Err(failure) => {
                Trial { arm, snapshot: None, price: None, same_model: false, result: Some(Err(failure.to_string())) }
            }
        }
    }

    /// Cancels the running comparison.
    fn drop_trying(&mut self) {
        if let Some(old) = self.plans.trying.take() {
            old.stop.store(true, Ordering::Relaxed);
            self.answer(old.ticket, Ok(Answer::Done("A newer draft replaced it.".into())));
        }
    }

    /// Another draft is planned for the branch: a comparison for an older one is canceled.
    pub(crate) fn cancel_outdated_trials(&mut self, branch: BranchId, draft: &Draft) {
        if self.plans.trying.as_ref().is_some_and(|trying| trying.branch == branch && trying.draft != *draft) {
            self.drop_trying();
        }
    }

    /// All variants are planned.
    pub(crate) fn report_trials(&mut self, tries: Trials) {
        if self.plans.trying.as_ref().is_none_or(|trying| trying.ticket != tries.ticket) {
            return;
        }
        self.plans.trying = None;
        let Trials { ticket, branch, revision, all, .. } = tries;
        if revision != self.plans.revision(branch) {
            let stale = Failure::new(FailureKind::Stale, "The branch changed during planning.");
            return self.answer(ticket, Err(stale.todo("Ask again.")));
        }
        self.recall_request(branch);
        let before = self.plans.outlines.get(&branch).cloned();
        let never = before.is_none() && self.last_request(branch).is_none();
        let present = all.first().and_then(|first| match &first.result {
            Some(Ok(solved)) => Some(solved.plan.clone()),
            _ => None,
        });
        let mut ways: Vec<Alternative> = Vec::with_capacity(all.len());
        for tried in all {
            let result = match tried.result {
                Some(Ok(solved)) => {
                    let same = match &before {
                        _ if never || !tried.same_model => Some(0),
                        before => before.as_ref().map(|before| same_prefix(before, &solved.outline)),
                    };
                    let cost =
                        self.learned.meters.prompt_cost(&self.store, tried.price, &solved.plan, same.unwrap_or(0));
                    let beside = present.as_deref().unwrap_or(&solved.plan);
                    Ok(PlanFigures::of(&solved.plan, beside, same, cost))
                }
                Some(Err(why)) => Err(why),
                None => Err("That plan was not computed.".into()),
            };
            ways.push(Alternative { title: variant::title(&tried.arm), arm: tried.arm, result });
        }
        let present = if ways.is_empty() { Err("There is no plan.".into()) } else { ways.remove(0).result };
        self.answer(ticket, Ok(Answer::WhatIf(Arc::new(WhatIf { branch, present, ways }))));
    }
}

/// Half of the present room, and all that the model's window leaves, as caps; none that changes little.
fn budgets(budget: &Budget) -> Vec<u32> {
    let round = |tokens: u32| (tokens / 500 * 500).max(500);
    let whole = budget.most();
    let now = budget.cap.unwrap_or(whole).min(whole);
    let mut caps = vec![round(now / 2)];
    if u64::from(now) * 11 < u64::from(whole) * 10 {
        caps.push(whole);
    }
    caps.retain(|cap| *cap != now);
    caps
}

/// Plans one variant, then the next in a separate task, so that drafts are planned in between.
fn task(mut tries: Trials, planner: Planner, inbox: Sender<Inbox>) -> WorkerTask {
    Box::new(move |builder| {
        if tries.stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(next) = tries.all.iter_mut().find(|one| one.result.is_none()) {
            next.result = next.snapshot.as_ref().and_then(|snapshot| solved(builder, snapshot));
            if next.result.is_some() {
                next.snapshot = None;
            }
        }
        if tries.all.iter().all(|one| one.result.is_some()) {
            let _ = inbox.send(Inbox::Plan(PlanReport::Trials(Box::new(tries))));
        } else {
            let again = planner.clone();
            planner.run(task(tries, again, inbox));
        }
    })
}

/// The plan of a variant; `None` while it waits for older messages to be indexed.
fn solved(builder: &mut InputBuilder, snapshot: &Snapshot) -> Option<Result<TrialPlan, String>> {
    let (solution, left) = worker::try_out(builder, snapshot);
    if left > 0 && snapshot.waits {
        return None;
    }
    Some(match solution {
        Ok(Ok(solved)) => Ok(TrialPlan { plan: solved.plan, outline: solved.outline }),
        Ok(Err(blocked)) => Err(blocked.sentence()),
        Err(failure) => Err(failure.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_that_change_something() {
        assert_eq!(budgets(&Budget::work_out(8_000, None, Some(2_000), None)), [3_000]);
        assert_eq!(budgets(&Budget::work_out(8_000, None, Some(2_000), Some(4_000))), [2_000, 6_000]);
        assert_eq!(budgets(&Budget::work_out(8_000, None, Some(2_000), Some(500))), [6_000]);
        assert_eq!(budgets(&Budget::work_out(8_000, Some(3_000), Some(2_000), Some(1_000))), [500, 3_000]);
    }
}
