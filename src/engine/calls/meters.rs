//! What the stored calls reveal about each model's server: how it counts tokens compared with the program's counter, and
//! whether it reads repeated prompts from a cache. This serves display and warnings only; no plan depends on it, so a
//! changed factor makes no plan stale.
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

/// What was learned about one model.
#[derive(Clone, Copy, Default)]
struct Learned {
    calibration: Option<Calibration>,
    /// Whether its server reported that it read part of a prompt from a cache.
    caches: bool,
}

/// A cache of what was learned, valid until the next call is reported.
#[derive(Default)]
pub(crate) struct Meters(BTreeMap<Key, Learned>);

impl Meters {
    /// Clears the cache, after a call was reported here or in another window.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    /// Returns the calibration of a plan's model and encoding; `None` without enough calls.
    pub(crate) fn calibration(&mut self, store: &Store, plan: &ContextPlan) -> Option<Calibration> {
        self.learned(store, plan).calibration
    }

    fn learned(&mut self, store: &Store, plan: &ContextPlan) -> Learned {
        let key = (plan.profile.clone(), plan.model.clone(), plan.encoding.name().into_owned());
        *self.0.entry(key).or_insert_with_key(|key| learn(store, Some(key)).remove(key).unwrap_or_default())
    }

    /// Returns the cost of a plan's prompt before it is sent; `None` without prices. The first `same` tokens count as
    /// cached if the server has reported cached tokens before.
    pub(crate) fn prompt_cost(
        &mut self,
        store: &Store,
        price: Option<Price>,
        plan: &ContextPlan,
        same: u32,
    ) -> Option<PromptCost> {
        let Learned { calibration, caches } = self.learned(store, plan);
        let same = if caches { same } else { 0 };
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
fn learn(store: &Store, wanted: Option<&Key>) -> BTreeMap<Key, Learned> {
    let mut found: BTreeMap<Key, (Vec<Sample>, bool)> = BTreeMap::new();
    let read = store.recent_usage(RECENT, |report| {
        let sample = report.sample().filter(|_| !report.encoding.is_empty());
        let caches = report.usage.cached_read.is_some_and(|tokens| tokens > 0);
        let key = (report.provider, report.model, report.encoding);
        if let Some(sample) = sample.filter(|_| wanted.is_none_or(|wanted| *wanted == key)) {
            let (samples, has_cache) = found.entry(key).or_default();
            if samples.len() < NEWEST {
                samples.push(sample);
                *has_cache |= caches;
            }
            return wanted.is_none() || samples.len() < NEWEST;
        }
        true
    });
    if let Err(error) = read {
        tracing::warn!(%error, "the usage of calls could not be read");
    }
    let learned =
        |(samples, caches): (Vec<Sample>, bool)| Learned { calibration: Calibration::learn(&samples), caches };
    found.into_iter().map(|(key, of)| (key, learned(of))).collect()
}

/// Returns all calibrations, by profile, model, and encoding.
pub(crate) fn learned(store: &Store) -> Vec<CalibrationEntry> {
    let row = |((profile, model, encoding), learned): (Key, Learned)| {
        Some(CalibrationEntry { profile, model, encoding, calibration: learned.calibration? })
    };
    learn(store, None).into_iter().filter_map(row).collect()
}
