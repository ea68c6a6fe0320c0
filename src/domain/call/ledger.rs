//! The figures of successive calls: tokens in and out, cost, cached share, estimation error; totals and means. A figure
//! that a server did not report is unknown and never counts as 0.
//! Not for: collecting the calls (`engine`) or drawing (`base::chart`).

use super::item_use::{UseCount, UseTotals};
use super::run::{RunCard, RunStatus};
use crate::domain::base::ids::{BranchId, RunId};
use serde::Serialize;

/// Figures of one call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CallCost {
    pub run: RunId,
    pub branch: BranchId,
    /// The number of the turn on its path, from 1; `None` if its message is not a node.
    pub turn: Option<u32>,
    /// The tool round within the turn, from 1.
    pub round: u32,
    /// Milliseconds since 1970.
    pub at: i64,
    pub status: RunStatus,
    pub model: String,
    /// The first words of the question, unsanitized.
    pub title: String,
    /// Tokens of the prompt as estimated by the plan.
    pub est: u32,
    /// Tokens of the prompt, as the server reported them.
    pub input: Option<u32>,
    /// Tokens of the answer.
    pub output: Option<u32>,
    /// Prompt tokens that the server had cached.
    pub cached: Option<u32>,
    /// Cost in millionths of a dollar.
    pub cost_micro: Option<u64>,
    /// (actual − estimate) / estimate in thousandths.
    pub error_milli: Option<i64>,
    /// How many of the call's items the answer used; `None` if unknown.
    pub uses: Option<UseCount>,
}

impl CallCost {
    /// Returns the figures of a call. `turn` is the number of its turn, `title` the first words of the question.
    pub fn of(card: &RunCard, turn: Option<u32>, title: String) -> Self {
        let read = card.usage.prompt_read(card.est_total);
        let error_milli_of = |actual: u32| {
            let difference = i64::from(actual) - i64::from(card.est_total);
            rounded(difference * 1_000, i64::from(card.est_total.max(1)))
        };
        Self {
            run: card.id,
            branch: card.branch,
            turn,
            round: card.round,
            at: card.at,
            status: card.status,
            model: card.model.clone(),
            title,
            est: card.est_total,
            input: card.usage.whole_prompt(),
            output: card.usage.completion,
            cached: card.usage.cached_read,
            cost_micro: card.cost_micro,
            error_milli: read.map(error_milli_of),
            uses: card.uses,
        }
    }

    /// Returns the cached share of the prompt in thousandths; `None` if it is unknown.
    pub fn cached_milli(&self) -> Option<u64> {
        let (part, of) = (self.cached?, self.input.filter(|input| *input > 0)?);
        Some(u64::from(part.min(of)) * 1_000 / u64::from(of))
    }
}

/// Returns `part / of` rounded to nearest, halves away from zero. `of` must be positive.
fn rounded(part: i64, of: i64) -> i64 {
    let half = if part < 0 { -of / 2 } else { of / 2 };
    (part + half) / of
}

/// A sum over the calls whose figure is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Sum {
    /// Number of calls with a known figure.
    pub known: u32,
    pub total: u64,
    /// The largest figure.
    pub most: u64,
}

impl Sum {
    fn add(&mut self, value: Option<u64>) {
        let Some(value) = value else { return };
        self.known += 1;
        self.total = self.total.saturating_add(value);
        self.most = self.most.max(value);
    }

    /// Returns the rounded mean; `None` if nothing is known.
    pub fn mean(&self) -> Option<u64> {
        let known = u64::from(self.known);
        (known > 0).then(|| self.total.saturating_add(known / 2) / known)
    }

    /// Returns the sum; `None` if nothing is known.
    pub fn known(&self) -> Option<u64> {
        (self.known > 0).then_some(self.total)
    }
}

/// Totals over calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Totals {
    pub calls: u32,
    /// Reported prompt tokens.
    pub input: Sum,
    /// Tokens of answers.
    pub output: Sum,
    /// Millionths of a dollar.
    pub cost: Sum,
    /// Cached tokens, over the calls that report them.
    pub cached: Sum,
    /// Prompt tokens of the calls that report cached tokens.
    pub cached_of: u64,
    /// Absolute estimation errors, in thousandths.
    pub error: Sum,
    /// The sum of signed estimation errors, in thousandths.
    pub lean_milli: i64,
    /// Estimated prompt tokens.
    pub est: Sum,
}

impl Totals {
    /// Adds a call.
    pub fn add(&mut self, call: &CallCost) {
        self.calls += 1;
        self.est.add(Some(u64::from(call.est)));
        self.input.add(call.input.map(u64::from));
        self.output.add(call.output.map(u64::from));
        self.cost.add(call.cost_micro);
        if call.cached_milli().is_some() {
            self.cached.add(call.cached.map(u64::from));
            self.cached_of += call.input.map_or(0, u64::from);
        }
        self.error.add(call.error_milli.map(i64::unsigned_abs));
        self.lean_milli = self.lean_milli.saturating_add(call.error_milli.unwrap_or(0));
    }

    /// Returns the cached share of all prompts whose calls report it, in thousandths; `None` if none does.
    pub fn cached_milli(&self) -> Option<u64> {
        (self.cached_of > 0).then(|| self.cached.total.min(self.cached_of) * 1_000 / self.cached_of)
    }

    /// Returns the mean signed error in thousandths, positive if servers counted more than estimated; `None` if nothing
    /// is known.
    pub fn mean_signed_error(&self) -> Option<i64> {
        (self.error.known > 0).then(|| rounded(self.lean_milli, i64::from(self.error.known)))
    }
}

/// The calls of a branch or of a whole session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ledger {
    pub branch: BranchId,
    /// Whether it covers all branches of the session.
    pub whole: bool,
    /// The newest calls, oldest first.
    pub calls: Vec<CallCost>,
    /// Number of older calls, which count only in the totals.
    pub older: u32,
    /// Totals of all calls.
    pub totals: Totals,
    /// Item use of all calls.
    pub uses: UseTotals,
}

/// Returns thousandths as percent, such as `2.3%`.
pub fn percent(milli: u64) -> String {
    if milli >= 1_000 { format!("{}%", milli / 10) } else { format!("{}.{}%", milli / 10, milli % 10) }
}

/// Returns how the servers count on average, in thousandths of the estimate: `servers count 2.1% more`.
pub fn lean_words(lean: i64) -> String {
    let share = percent(lean.unsigned_abs());
    match lean {
        0 => "servers count the same".to_owned(),
        1.. => format!("servers count {share} more"),
        _ => format!("servers count {share} less"),
    }
}

/// Returns thousandths as percent with a sign, such as `+2.3%`.
pub fn signed_percent(milli: i64) -> String {
    let sign = match milli {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", percent(milli.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(est: u32, input: Option<u32>, cached: Option<u32>, cost: Option<u64>) -> CallCost {
        let error = input.map(|input| rounded((i64::from(input) - i64::from(est)) * 1_000, i64::from(est)));
        CallCost {
            run: RunId(uuid::Uuid::nil()),
            branch: BranchId(uuid::Uuid::nil()),
            turn: Some(1),
            round: 1,
            at: 0,
            status: RunStatus::Complete,
            model: "m".into(),
            title: String::new(),
            est,
            input,
            output: input.map(|_| 10),
            cached,
            cost_micro: cost,
            error_milli: error,
            uses: None,
        }
    }

    #[test]
    fn unknown_figures_do_not_count() {
        let mut sums = Totals::default();
        assert_eq!((sums.input.mean(), sums.cached_milli(), sums.mean_signed_error()), (None, None, None), "no calls");
        sums.add(&call(100, None, None, None));
        assert_eq!((sums.calls, sums.input.known(), sums.cost.mean(), sums.cached_milli()), (1, None, None, None));
        sums.add(&call(100, Some(110), Some(55), Some(7)));
        sums.add(&call(100, Some(97), None, Some(8)));
        assert_eq!((sums.input.total, sums.input.known, sums.input.mean()), (207, 2, Some(104)));
        assert_eq!((sums.cost.total, sums.cost.mean(), sums.cost.most), (15, Some(8), 8));
        assert_eq!(sums.cached_milli(), Some(500), "only of the call that tells it");
        assert_eq!((sums.error.mean(), sums.mean_signed_error()), (Some(65), Some(35)));
        assert_eq!(Totals { lean_milli: -7, ..sums }.mean_signed_error(), Some(-4));
        sums.add(&call(100, Some(u32::MAX), Some(0), Some(u64::MAX)));
        assert_eq!(sums.cost.total, u64::MAX, "it stops at the top");
    }

    #[test]
    fn quotients_are_rounded_to_the_nearest() {
        for of in 1..12_i64 {
            for part in -60..60_i64 {
                let over = (rounded(part, of) * of - part).abs();
                assert!(over * 2 <= of, "{part} / {of}");
                assert!(over * 2 < of || rounded(part, of).abs() > (part / of).abs(), "halves away from nothing");
                let sum = Sum { known: u32::try_from(of).unwrap(), total: part.unsigned_abs(), most: 0 };
                assert_eq!(sum.mean(), Some(rounded(part.abs(), of).unsigned_abs()));
            }
        }
    }

    #[test]
    fn percents_as_text() {
        assert_eq!((percent(0).as_str(), percent(23).as_str(), percent(1_000).as_str()), ("0.0%", "2.3%", "100%"));
        assert_eq!((signed_percent(-23).as_str(), signed_percent(0).as_str()), ("-2.3%", "0.0%"));
    }
}
