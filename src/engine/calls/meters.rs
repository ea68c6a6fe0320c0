//! Calibrations: how each model's server counts tokens compared with the program's counter, learned from the stored
//! calls. They serve display and warnings only; no plan depends on them, so a changed factor makes no plan stale.
//! Not for: the arithmetic (`domain::call::meter`), or admission.

use crate::domain::call::meter::NEWEST;
use crate::domain::call::{Calibration, CalibrationEntry, Price, PromptCost, Sample, ShortRead, Usage};
use crate::domain::planning::ContextPlan;
use crate::store::Store;
use std::collections::BTreeMap;

/// The number of newest calls that are read, over all models. Reading them all takes a few milliseconds; learning about
/// one model stops once enough of its calls were read, because learning is repeated after every call.
const RECENT: usize = 1_000;

/// Profile, model, encoding.
type Key = (String, String, String);

/// A cache of calibrations that is valid until the next call is reported.
#[derive(Default)]
pub(crate) struct Meters(BTreeMap<Key, Option<Calibration>>);

impl Meters {
    /// Clears the cache, after a call was reported here or in another window.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    /// Returns the calibration of a plan's model and encoding; `None` without enough calls.
    pub(crate) fn calibration(&mut self, store: &Store, plan: &ContextPlan) -> Option<Calibration> {
        let key = (plan.profile.clone(), plan.model.clone(), plan.encoding.name().into_owned());
        *self.0.entry(key).or_insert_with_key(|key| learn(store, Some(key)).remove(key))
    }

    /// Returns the cost of a plan's prompt before it is sent; `None` without prices. The first `same` tokens may be
    /// cached.
    pub(crate) fn prompt_cost(
        &mut self,
        store: &Store,
        price: Option<Price>,
        plan: &ContextPlan,
        same: u32,
    ) -> Option<PromptCost> {
        let calibration = self.calibration(store, plan);
        price.map(|price| {
            PromptCost::new(&price, plan.est_total, same, plan.budget.reserved_output, calibration.as_ref())
        })
    }

    /// Returns a report if a server read far fewer tokens of a plan than were sent.
    pub(crate) fn short_read(&mut self, store: &Store, plan: &ContextPlan, usage: &Usage) -> Option<ShortRead> {
        let calibration = self.calibration(store, plan);
        let expected = calibration.map_or(plan.est_total, |known| known.apply(plan.est_total));
        ShortRead::find(plan.est_total, plan.framing + plan.tools, calibration.as_ref(), usage.prompt_read(expected)?)
    }
}

/// Learns from the newest calls, for one model or for all.
fn learn(store: &Store, wanted: Option<&Key>) -> BTreeMap<Key, Calibration> {
    let mut samples: BTreeMap<Key, Vec<Sample>> = BTreeMap::new();
    let read = store.recent_usage(RECENT, |report| {
        let sample = report.sample().filter(|_| !report.encoding.is_empty());
        let key = (report.provider, report.model, report.encoding);
        if let Some(sample) = sample.filter(|_| wanted.is_none_or(|wanted| *wanted == key)) {
            let of = samples.entry(key).or_default();
            if of.len() < NEWEST {
                of.push(sample);
            }
            return wanted.is_none() || of.len() < NEWEST;
        }
        true
    });
    if let Err(error) = read {
        tracing::warn!(%error, "the usage of calls could not be read");
    }
    samples.into_iter().filter_map(|(key, samples)| Some((key, Calibration::learn(&samples)?))).collect()
}

/// Returns all calibrations, by profile, model, and encoding.
pub(crate) fn learned(store: &Store) -> Vec<CalibrationEntry> {
    let row = |((profile, model, encoding), calibration)| CalibrationEntry { profile, model, encoding, calibration };
    learn(store, None).into_iter().map(row).collect()
}
