//! What-if comparisons: plans of the next call under other settings, solved one by one between the plans that a screen
//! waits for. They do not change the drawn plan, and a newer draft cancels them.
//! Not for: the plan that is drawn (`draft`), or comparing figures (`domain::planning::what_if`).

use super::input_builder::InputBuilder;
use super::results::{PlannedVariant, RunningWhatIf, VariantPlan, WhatIfWork};
use super::snapshot::{self, Question};
use super::worker::{self, WorkerTask};
use crate::context::render::same_prefix;
use crate::domain::base::{BranchId, Failure, FailureKind};
use crate::domain::call::{Backend, Profile};
use crate::domain::conversation::{Branch, Overrides};
use crate::domain::planning::variant;
use crate::domain::planning::{Alternative, Budget, Layout, Mode, PlanFigures, WhatIf};
use crate::engine::api::{Answer, Draft, PlanAnswer, Ticket};
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, PlanReport};
use crate::engine::indexing::priority::Priority;
use crate::engine::startup::learned::LearnedSettings;
use crate::engine::startup::rules::Rules;
use crate::engine::startup::setup::Setup;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// The maximum number of other models of the profile that are compared automatically.
const MODELS: usize = 5;
/// The maximum number of other policies that are compared automatically.
const POLICIES: usize = 8;
/// The maximum number of variants in all.
const MAX_VARIANTS: usize = 32;

impl Core {
    /// Starts solving the given variants, and the standard ones if `standard_variants` is set. Answered when all are
    /// solved.
    pub(crate) fn what_if(
        &mut self,
        ticket: Ticket,
        id: BranchId,
        draft: Draft,
        variants: &[Overrides],
        with_standard: bool,
    ) -> Result<(), Failure> {
        let branch = self.sessions.branch(id)?;
        let question = self.asked(&branch, &draft)?;
        let rules = self.rules(&branch)?;
        let mut all = vec![self.planned_variant(&branch, &rules, &question, Overrides::default())];
        let mut seen = vec![rules.clone()];
        for overrides in self.standard_variants(&branch, &rules).into_iter().filter(|_| with_standard) {
            let changed = Branch { overrides: variant::merge(&branch.overrides, &overrides), ..branch.clone() };
            let fresh = self.rules(&changed).ok().filter(|made| !seen.contains(made));
            seen.extend(fresh.clone());
            if fresh.is_some() {
                all.push(self.planned_variant(&branch, &rules, &question, overrides));
            }
        }
        for overrides in variants.iter().filter(|overrides| **overrides != Overrides::default()) {
            if !all.iter().any(|known| known.overrides == *overrides) {
                all.push(self.planned_variant(&branch, &rules, &question, overrides.clone()));
            }
        }
        all.truncate(MAX_VARIANTS);
        self.cancel_what_if();
        let stop = Arc::new(AtomicBool::new(false));
        let work = WhatIfWork { ticket, branch: id, revision: self.plans.revision(id), stop: stop.clone(), all };
        self.plans.planner.run(task(work, self.inbox.clone()))?;
        self.plans.what_if = Some(RunningWhatIf { ticket, branch: id, draft, stop });
        Ok(())
    }

    /// Returns the standard variants: the modes, the policies, the other layout, other known models of the profile, and
    /// other budgets.
    fn standard_variants(&self, branch: &Branch, rules: &Rules) -> Vec<Overrides> {
        let blank = Overrides::default;
        let mut variants: Vec<Overrides> =
            Mode::ALL.into_iter().map(|mode| Overrides { mode: Some(mode), ..blank() }).collect();
        let policies = self.setup.settings.policies.keys().filter(|name| **name != rules.policy.name).take(POLICIES);
        variants.extend(policies.map(|name| Overrides { policy: Some(name.clone()), ..blank() }));
        let layouts = [Layout::Classic, Layout::CacheFriendly].into_iter().filter(|layout| *layout != rules.layout);
        variants.extend(layouts.map(|layout| Overrides { layout: Some(layout.name().into()), ..blank() }));
        let models = self.other_models(branch, rules).into_iter();
        variants.extend(models.map(|model| Overrides { model: Some(model), ..blank() }));
        let budgets = budgets(&rules.budget).into_iter();
        variants.extend(budgets.map(|budget| Overrides { budget: Some(budget), ..blank() }));
        variants
    }

    /// Returns other models of the same profile: models that this session called, the profile's own models, and models
    /// that its server listed, those with a known window first.
    fn other_models(&self, branch: &Branch, rules: &Rules) -> Vec<String> {
        let profile = &rules.profile;
        let asked = self.sessions.of_branch(branch.id).map(|session| session.runs.as_slice()).unwrap_or_default();
        let asked = asked.iter().rev().filter(|run| run.profile == profile.name).map(|run| run.model.clone());
        let mut names: Vec<String> = Vec::new();
        for name in asked.chain([profile.model.clone()]).chain(listed_models(&self.learned, &self.setup, profile)) {
            if !name.is_empty() && name != rules.model.name && !names.contains(&name) {
                names.push(name);
            }
        }
        names.truncate(MODELS);
        names
    }

    fn planned_variant(
        &self,
        branch: &Branch,
        present: &Rules,
        question: &Question,
        overrides: Overrides,
    ) -> PlannedVariant {
        let changed = Branch { overrides: variant::merge(&branch.overrides, &overrides), ..branch.clone() };
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
                PlannedVariant { overrides, snapshot: Some(snapshot), price, same_model, result: None }
            }
            Err(failure) => {
                PlannedVariant { overrides, snapshot: None, price: None, same_model: false, result: Some(Err(failure)) }
            }
        }
    }

    /// Cancels the comparison in progress and answers its ticket.
    fn cancel_what_if(&mut self) {
        if let Some(old) = self.plans.what_if.take() {
            old.stop.store(true, Ordering::Relaxed);
            self.answer(old.ticket, Ok(Answer::Done("A newer draft replaced this comparison.".into())));
        }
    }

    /// Cancels the comparison in progress if it is for an older draft of the branch.
    pub(crate) fn cancel_outdated_what_if(&mut self, branch: BranchId, draft: &Draft) {
        if self.plans.what_if.as_ref().is_some_and(|current| current.branch == branch && current.draft != *draft) {
            self.cancel_what_if();
        }
    }

    /// Answers with the figures of all variants; stale if the branch changed meanwhile.
    pub(crate) fn report_what_if(&mut self, work: WhatIfWork) {
        if self.plans.what_if.as_ref().is_none_or(|current| current.ticket != work.ticket) {
            return;
        }
        self.plans.what_if = None;
        let WhatIfWork { ticket, branch, revision, all, .. } = work;
        if revision != self.plans.revision(branch) {
            let stale = Failure::new(FailureKind::Stale, "The branch changed during planning.");
            return self.answer(ticket, Err(stale.todo("Try again.")));
        }
        self.load_previous_request(branch);
        let before = self.plans.outlines.get(&branch).cloned();
        let first_call = before.is_none() && self.sessions.last_request(branch).is_none();
        let present = all.first().and_then(|first| match &first.result {
            Some(Ok(solved)) => Some(solved.plan.clone()),
            _ => None,
        });
        let mut alternatives: Vec<Alternative> = Vec::with_capacity(all.len());
        for variant in all {
            let result = match variant.result {
                Some(Ok(solved)) => {
                    let same = match &before {
                        _ if first_call || !variant.same_model => Some(0),
                        before => before.as_ref().map(|before| same_prefix(before, &solved.outline)),
                    };
                    let cost =
                        self.learned.meters.prompt_cost(&self.store, variant.price, &solved.plan, same.unwrap_or(0));
                    let base = present.as_deref().unwrap_or(&solved.plan);
                    Ok(PlanFigures::of(&solved.plan, base, same, cost))
                }
                Some(Err(why)) => Err(why),
                None => Err(Failure::new(FailureKind::Internal, "That plan was not computed.")),
            };
            alternatives.push(Alternative {
                title: variant::title(&variant.overrides),
                overrides: variant.overrides,
                result,
            });
        }
        let present = if alternatives.is_empty() {
            Err(Failure::new(FailureKind::Internal, "The planner returned no plan.").todo("Try again."))
        } else {
            alternatives.remove(0).result
        };
        self.answer(ticket, Ok(PlanAnswer::WhatIf(Arc::new(WhatIf { branch, present, alternatives })).into()));
    }
}

/// Returns the models that the profile's server listed, in its order, or else those that it described earlier. Models
/// whose window is only assumed come last. A profile without a server lists its own models.
fn listed_models(learned: &LearnedSettings, setup: &Setup, profile: &Profile) -> Vec<String> {
    if profile.backend != Backend::Openai {
        let own = setup.servers.models(profile).unwrap_or_default();
        return own.into_iter().map(|model| model.name).collect();
    }
    let described = learned.models.keys().filter(|(of, _)| *of == profile.name).map(|(_, name)| name);
    let mut names: Vec<String> = described.cloned().collect();
    names.sort_unstable();
    if let Some(listed) = learned.listed.get(&profile.name) {
        names.clone_from(listed);
    }
    let assumed = |name: &String| {
        let described = learned.models.contains_key(&(profile.name.clone(), name.clone()));
        !described && (setup.settings.models)(name, profile).source == "assumed"
    };
    names.sort_by_cached_key(assumed);
    names
}

/// Returns half of the current budget and the largest budget that the model's window allows, as caps; values close to
/// the current budget are omitted.
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

/// Solves one variant, then queues the next variant as a separate task, so that new drafts are planned in between.
fn task(mut work: WhatIfWork, inbox: Sender<Inbox>) -> WorkerTask {
    let stop = Some(work.stop.clone());
    let work = Box::new(move |builder: &mut InputBuilder| {
        if let Some(next) = work.all.iter_mut().find(|one| one.result.is_none()) {
            let solved = next.snapshot.as_ref().and_then(|snapshot| worker::solved(builder, snapshot));
            next.result =
                solved.map(|result| result.map(|solved| VariantPlan { plan: solved.plan, outline: solved.outline }));
            if next.result.is_some() {
                next.snapshot = None;
            }
        }
        if work.all.iter().any(|one| one.result.is_none()) {
            return Some(task(work, inbox));
        }
        let _ = inbox.send(Inbox::Plan(PlanReport::WhatIf(Box::new(work))));
        None
    });
    WorkerTask { work, stop }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_budgets_that_differ_are_compared() {
        assert_eq!(budgets(&Budget::compute(8_000, None, Some(2_000), None)), [3_000]);
        assert_eq!(budgets(&Budget::compute(8_000, None, Some(2_000), Some(4_000))), [2_000, 6_000]);
        assert_eq!(budgets(&Budget::compute(8_000, None, Some(2_000), Some(500))), [6_000]);
        assert_eq!(budgets(&Budget::compute(8_000, Some(3_000), Some(2_000), Some(1_000))), [500, 3_000]);
    }
}
