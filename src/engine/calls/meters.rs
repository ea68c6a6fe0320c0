//! What is learned of each model's tokens from the calls in the store. For display and alarm: no plan stands on it, so a
//! factor that moved makes no drawn plan stale.
//! Not for: the arithmetic (`domain::call::meter`) or admission.

use crate::domain::call::meter::{Calibration, CalibrationEntry, NEWEST, PromptCost, Sample, ShortRead};
use crate::domain::call::model::Price;
use crate::domain::call::usage::UsageReport;
use crate::domain::planning::plan::ContextPlan;
use crate::engine::core::Core;
use crate::store::Store;
use std::collections::BTreeMap;

/// How many of the newest calls of all models are looked at. Reading them takes a few milliseconds, once and after calls.
const RECENT: usize = 1_000;

/// Profile, model, encoding.
type Key = (String, String, String);

/// What was learned, until something is reported.
#[derive(Default)]
pub(crate) struct Meters(Option<BTreeMap<Key, Calibration>>);

impl Meters {
    /// A call was reported, here or in another window.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }

    fn of(&mut self, store: &Store, key: &Key) -> Option<Calibration> {
        self.0.get_or_insert_with(|| learn(&store.recent_usage(RECENT).unwrap_or_default())).get(key).copied()
    }
}

/// What the newest accounts teach, newest first.
fn learn(reports: &[UsageReport]) -> BTreeMap<Key, Calibration> {
    let mut samples: BTreeMap<Key, Vec<Sample>> = BTreeMap::new();
    for report in reports.iter().filter(|report| !report.encoding.is_empty()) {
        let Some(sample) = report.sample() else { continue };
        let key = (report.provider.clone(), report.model.clone(), report.encoding.clone());
        let of = samples.entry(key).or_default();
        if of.len() < NEWEST {
            of.push(sample);
        }
    }
    samples.into_iter().filter_map(|(key, samples)| Some((key, Calibration::learn(&samples)?))).collect()
}

/// All that was learned, by profile, model and encoding.
pub(crate) fn learned(store: &Store) -> Vec<CalibrationEntry> {
    let all = learn(&store.recent_usage(RECENT).unwrap_or_default());
    let row = |((profile, model, encoding), calibration)| CalibrationEntry { profile, model, encoding, calibration };
    all.into_iter().map(row).collect()
}

impl Core {
    /// What is known of how a plan's model counts.
    pub(crate) fn calibration(&mut self, plan: &ContextPlan) -> Option<Calibration> {
        let key = (plan.profile.clone(), plan.model.clone(), plan.encoding.name().into_owned());
        self.meters.of(&self.store, &key)
    }

    /// What a plan's call costs before it is sent, where prices are known.
    pub(crate) fn prompt_cost(&mut self, price: Option<Price>, plan: &ContextPlan, same: u32) -> Option<PromptCost> {
        let calibration = self.calibration(plan);
        price.map(|price| {
            PromptCost::new(&price, plan.est_total, same, plan.budget.reserved_output, calibration.as_ref())
        })
    }

    /// Whether a server read far less of a plan than was sent.
    pub(crate) fn short_read(
        &mut self,
        plan: &ContextPlan,
        usage: &crate::domain::call::usage::Usage,
    ) -> Option<ShortRead> {
        let calibration = self.calibration(plan);
        let expected = calibration.map_or(plan.est_total, |known| known.apply(plan.est_total));
        ShortRead::find(plan.est_total, plan.framing + plan.tools, calibration.as_ref(), usage.prompt_read(expected)?)
    }
}
