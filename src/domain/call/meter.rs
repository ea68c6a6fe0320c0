//! The reliability of the program's token counts: the calibration learned from server reports, the detection of a
//! silently truncated prompt, and the cost of a call before it is sent. For display and alarms only.
//! Not for: admission, which uses raw counts (`context`), or storing reports (`store`).

use super::model::Price;
use super::tokens::{Certainty, counted, grouped};
use serde::{Deserialize, Serialize};

/// Number of the newest reports of a model that are used.
pub const NEWEST: usize = 20;
/// Minimum number of reports for computing an error.
const MIN_FOR_ERROR: usize = 3;
/// Minimum number of reports for computing an offset. An offset is independent of the prompt's size, such as tool
/// schemas that the server does not count, or the server's own template.
const MIN_FOR_LINE: usize = 5;
/// Plausible slopes of a line through the reports.
const SLOPES: std::ops::RangeInclusive<f64> = 0.25..=4.0;
/// Minimum share of the expected tokens that is missing from a truncated prompt, if the counts are steady.
const MIN_MISSING_SHARE: f64 = 0.20;
/// The largest such share, if the counts scatter.
const MAX_MISSING_SHARE: f64 = 0.50;
/// Four standard deviations in units of the median absolute deviation. One standard deviation of a normal distribution
/// is 1.4826 median absolute deviations.
const DEVIATIONS: f64 = 4.0 * 1.4826;
/// Minimum number of missing tokens for an alarm, since framing and templates alone make small prompts differ.
const MIN_MISSING_TOKENS: u32 = 256;

/// The estimate of a call's prompt, and the server's count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The estimate in tokens.
    pub est: u32,
    /// The server's count in tokens.
    pub actual: u32,
}

/// The relation of a server's counts for a model to estimates in one encoding, learned from reports.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Calibration {
    /// The median of actual / estimate; with an offset, the slope of the line.
    pub factor: f64,
    /// Tokens added independently of the prompt's size; 0 unless an offset halves the error.
    pub offset: i32,
    /// Error in percent: the larger of two medians, of the distances of the reports from this calibration, and of the
    /// distance of each report from the calibration learned from the reports before it. `None` for fewer than three
    /// calls.
    pub error_pct: Option<f64>,
    /// Number of calls that it was learned from.
    pub samples: u32,
}

impl Calibration {
    /// Learns a calibration from the first [`NEWEST`] of the samples, which are sorted newest first. `None` if there
    /// are none.
    pub fn learn(samples: &[Sample]) -> Option<Self> {
        let reports = samples.iter().filter(|sample| sample.est > 0 && sample.actual > 0).take(NEWEST);
        let reports: Vec<(f64, f64)> =
            reports.map(|sample| (f64::from(sample.est), f64::from(sample.actual))).collect();
        let (factor, offset, deviation_within) = best_fit(&reports)?;
        let ahead = (1..reports.len())
            .filter_map(|at| Some(relative_error(reports[at - 1], best_fit(&reports[at..])?)))
            .collect();
        let error = median(ahead).unwrap_or(0.0).max(deviation_within);
        let samples = u32::try_from(reports.len()).unwrap_or(u32::MAX);
        let error_pct = (reports.len() >= MIN_FOR_ERROR).then_some(error * 100.0);
        #[allow(clippy::cast_possible_truncation, reason = "a cast of a float stops at the bounds")]
        Some(Self { factor, offset: offset.round() as i32, error_pct, samples })
    }

    /// Returns the tokens that the server would count for an estimate.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast of a float stops at the bounds")]
    pub fn apply(&self, est: u32) -> u32 {
        (f64::from(est) * self.factor + f64::from(self.offset)).round() as u32
    }

    /// Returns the calibrated estimate with its label and error, such as `5,480 cal ±2%`.
    pub fn to_text(&self, est: u32) -> String {
        format!("{} {}{}", grouped(self.apply(est).into()), Certainty::Calibrated.label(), self.error_text())
    }

    /// Returns the calibration in words, such as `1.051 times the estimate plus 12 tokens ±2% (from 20 calls)`.
    pub fn sentence(&self) -> String {
        let offset = match self.offset {
            0 => String::new(),
            offset @ 1.. => format!(" plus {}", counted(offset.unsigned_abs().into(), "token")),
            less => format!(" minus {}", counted(less.unsigned_abs().into(), "token")),
        };
        let calls = counted(self.samples.into(), "call");
        format!("{:.3} times the estimate{offset}{} (from {calls})", self.factor, self.error_text())
    }

    fn error_text(&self) -> String {
        self.error_pct.map(|error| format!(" ±{}", percent(error))).unwrap_or_default()
    }
}

/// Returns a percentage as text, such as `2%` or `0.4%`. It is at least `0.1%`, since a median of 0 does not mean
/// that there is no error.
fn percent(error: f64) -> String {
    if error >= 0.95 { format!("{error:.0}%") } else { format!("{:.1}%", error.max(0.1)) }
}

/// Returns slope, offset, and median deviation of the best fit: the median quotient, or a line if that halves the
/// deviation. Reports are pairs of estimate and actual count.
fn best_fit(reports: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    let deviation =
        |slope, offset| median(reports.iter().map(|one| relative_error(*one, (slope, offset, 0.0))).collect());
    let factor = median(reports.iter().map(|(est, actual)| actual / est).collect())?;
    let plain = (factor, 0.0, deviation(factor, 0.0)?);
    let line = line(reports).and_then(|(slope, offset)| Some((slope, offset, deviation(slope, offset)?)));
    Some(line.filter(|line| line.2 * 2.0 < plain.2).unwrap_or(plain))
}

/// Returns the relative error of a fit's prediction for a report.
fn relative_error((est, actual): (f64, f64), (slope, offset, _): (f64, f64, f64)) -> f64 {
    (actual / (est * slope + offset).max(1.0) - 1.0).abs()
}

/// Returns the Theil–Sen line through the reports: the median of all pairwise slopes and of the remaining offsets,
/// which a few outliers do not change. `None` if the prompts are too few or too similar.
fn line(reports: &[(f64, f64)]) -> Option<(f64, f64)> {
    if reports.len() < MIN_FOR_LINE {
        return None;
    }
    let pairs =
        reports.iter().enumerate().flat_map(|(at, one)| reports[at + 1..].iter().map(move |other| (one, other)));
    let slopes: Vec<f64> = pairs
        .filter(|(one, other)| (one.0 - other.0).abs() >= 1.0)
        .map(|(one, other)| (one.1 - other.1) / (one.0 - other.0))
        .collect();
    let slope = median(slopes).filter(|slope| SLOPES.contains(slope))?;
    let offset = median(reports.iter().map(|(est, actual)| actual - slope * est).collect())?;
    Some((slope, offset))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[middle - 1], upper) })
}

/// A model's calibration, as lists of models show it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CalibrationEntry {
    pub profile: String,
    pub model: String,
    /// The encoding of the estimates.
    pub encoding: String,
    #[serde(flatten)]
    pub calibration: Calibration,
}

/// The sign of a truncated prompt: a server read far less than was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ShortRead {
    /// Tokens that the server reports.
    pub read: u32,
    /// Expected tokens, calibrated if possible.
    pub expected: u32,
}

impl ShortRead {
    /// Detects a truncated prompt. `read` must be below the expectation by a fifth, or by four standard deviations of
    /// the calibration if that is more (but at most by half), and by at least 256 tokens. It must also be below the raw
    /// count of the texts alone (without the `fixed` tokens of tool schemas and framing). Therefore neither a factor
    /// learned from another language nor a server that does not count schemas and framing raises an alarm.
    pub fn find(est: u32, fixed: u32, calibration: Option<&Calibration>, read: u32) -> Option<Self> {
        let expected = calibration.map_or(est, |calibration| calibration.apply(est));
        let scatter = calibration.and_then(|known| known.error_pct).unwrap_or(0.0) / 100.0 * DEVIATIONS;
        let least = f64::from(expected) * (1.0 - scatter.clamp(MIN_MISSING_SHARE, MAX_MISSING_SHARE));
        let short = f64::from(read) < least
            && read < est.saturating_sub(fixed)
            && expected.saturating_sub(read) >= MIN_MISSING_TOKENS;
        (short && read > 0).then_some(Self { read, expected })
    }

    /// Returns what happened, as a sentence.
    pub fn sentence(self) -> String {
        format!(
            "The server counted {} of about {} tokens: it may have cut the prompt (its context window may be \
                smaller than configured).",
            grouped(self.read.into()),
            grouped(self.expected.into())
        )
    }

    /// Returns what to do, as a sentence.
    pub fn todo(self) -> &'static str {
        "Set context_window in the profile to the server's actual value, or give the model a larger window on the server."
    }
}

/// The cost of a call's prompt before it is sent, in millionths of a dollar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PromptCost {
    /// Cost with cached tokens at their own price, if the table has one.
    pub micro: u64,
    /// Cost if nothing is cached.
    pub uncached_micro: u64,
    /// Tokens assumed to be cached.
    pub cached: u32,
    /// Cost of the answer if it uses all tokens reserved for it.
    pub answer_most_micro: u64,
    /// The certainty of the token count.
    pub certainty: Certainty,
}

impl PromptCost {
    /// Computes the cost of a prompt of `est` estimated tokens. The first `same_prefix` tokens are the same as in the
    /// previous request. `answer` is the number of tokens reserved for the answer.
    pub fn new(price: &Price, est: u32, same_prefix: u32, answer: u32, calibration: Option<&Calibration>) -> Self {
        let prompt = calibration.map_or(est, |calibration| calibration.apply(est));
        let share = u64::from(prompt) * u64::from(same_prefix.min(est)) / u64::from(est.max(1));
        let cached = price.cached.map_or(0, |_| u32::try_from(share).unwrap_or(prompt));
        Self {
            micro: price.micro(prompt, cached, 0),
            uncached_micro: price.micro(prompt, 0, 0),
            cached,
            answer_most_micro: price.micro(0, 0, answer),
            certainty: calibration.map_or(Certainty::Estimated, |_| Certainty::Calibrated),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn samples(pairs: &[(u32, u32)]) -> Vec<Sample> {
        pairs.iter().map(|(est, actual)| Sample { est: *est, actual: *actual }).collect()
    }

    #[test]
    fn the_factor_is_the_median_of_the_newest() {
        assert_eq!(Calibration::learn(&[]), None);
        assert_eq!(Calibration::learn(&samples(&[(0, 5), (5, 0)])), None, "a zero is no report");
        let one = Calibration::learn(&samples(&[(100, 110)])).unwrap();
        assert_eq!((one.factor, one.error_pct, one.samples), (1.1, None, 1));
        let odd = Calibration::learn(&samples(&[(100, 110), (100, 900), (100, 105), (100, 120), (100, 100)])).unwrap();
        assert_eq!((odd.factor, odd.samples), (1.1, 5));
        let ahead = f64::midpoint(0.2, 1.0 - 1.05 / 1.1) * 100.0;
        assert!((odd.error_pct.unwrap() - ahead).abs() < 1e-9, "missed by 2.2, 757, 4.5 and 20%; within 9.1%");
        let even = Calibration::learn(&samples(&[(10, 10), (10, 20)])).unwrap();
        assert_eq!((even.factor, even.error_pct), (1.5, None));
        let newest: Vec<Sample> = samples(&[(10, 20); NEWEST]).into_iter().chain(samples(&[(10, 90); 50])).collect();
        let rolled = Calibration::learn(&newest).unwrap();
        assert_eq!((rolled.factor, rolled.error_pct, rolled.samples), (2.0, Some(0.0), 20));
    }

    #[test]
    fn a_constant_offset_is_found() {
        let reports: Vec<Sample> =
            [700, 1_400, 900, 3_000, 2_200, 1_000, 800, 2_500, 4_000, 1_700, 1_100, 3_300, 600, 2_800]
                .map(|est| Sample { est, actual: est * 11 / 10 - 300 })
                .to_vec();
        let learned = Calibration::learn(&reports).unwrap();
        assert!((learned.factor - 1.1).abs() < 0.002 && (learned.offset + 300).abs() <= 2, "{learned:?}");
        assert!(learned.error_pct.unwrap() < 0.5 && learned.apply(5_000).abs_diff(5_200) < 8);
        assert!(learned.sentence().starts_with("1.100 times the estimate minus "), "{}", learned.sentence());
        assert_eq!(learned.apply(0), 0, "never below nothing");
        assert_eq!(Calibration::learn(&reports[..4]).unwrap().offset, 0, "too few to tell");
    }

    #[test]
    fn calibrated_numbers_are_labeled() {
        let known = Calibration { factor: 1.0512, offset: 0, error_pct: Some(2.04), samples: 20 };
        assert_eq!(known.to_text(5_213), "5,480 cal ±2%");
        assert_eq!(known.sentence(), "1.051 times the estimate ±2% (from 20 calls)");
        let first = Calibration { factor: 1.2, offset: 0, error_pct: None, samples: 1 };
        assert_eq!(
            (first.to_text(10).as_str(), first.sentence().as_str()),
            ("12 cal", "1.200 times the estimate (from 1 call)")
        );
        let steady = Calibration { factor: 1.0, offset: 0, error_pct: Some(0.31), samples: 4 };
        assert_eq!(steady.to_text(100), "100 cal ±0.3%");
    }

    #[test]
    fn a_truncated_prompt_is_distinguished_from_a_small_difference() {
        let find = |est, read| ShortRead::find(est, 0, None, read);
        assert_eq!(find(10_000, 4_096), Some(ShortRead { read: 4_096, expected: 10_000 }));
        assert_eq!(find(10_000, 8_000), None, "a fifth is within reach of another tokenizer");
        assert!(find(10_000, 7_999).is_some());
        assert_eq!(find(400, 150), None, "250 tokens can be framing");
        assert!(find(1_000, 700).is_some());
        assert_eq!(find(10_000, 0), None, "a server that says 0 did not count");
        let factor = |factor, error| Calibration { factor, offset: 0, error_pct: error, samples: 9 };
        assert_eq!(ShortRead::find(10_000, 0, Some(&factor(0.6, Some(1.0))), 6_000), None, "that is how it counts");
        assert!(ShortRead::find(10_000, 0, Some(&factor(0.6, Some(1.0))), 4_096).is_some());
        assert_eq!(ShortRead::find(10_000, 0, Some(&factor(1.0, Some(8.0))), 6_000), None, "it scatters that much");
        assert!(ShortRead::find(10_000, 0, Some(&factor(1.0, Some(90.0))), 4_900).is_some(), "half is too much");
        assert_eq!(ShortRead::find(10_000, 0, Some(&factor(2.5, Some(1.0))), 11_000), None, "other words than before");
        assert_eq!(ShortRead::find(691, 326, None, 395), None, "it does not count tool schemas");
        assert!(ShortRead::find(9_691, 326, None, 4_096).is_some());
        let text = find(10_000, 4_096).unwrap().sentence();
        assert!(text.starts_with("The server counted 4,096 of about 10,000 tokens"), "{text}");
    }

    #[test]
    fn the_cost_before_sending() {
        let price = Price { input: 2.0, output: 8.0, cached: Some(0.5), ..Price::default() };
        let cost = PromptCost::new(&price, 1_000, 600, 100, None);
        assert_eq!((cost.micro, cost.uncached_micro, cost.cached), (1_100, 2_000, 600));
        assert_eq!((cost.answer_most_micro, cost.certainty), (800, Certainty::Estimated));
        let known = Calibration { factor: 1.5, offset: 0, error_pct: None, samples: 1 };
        let cost = PromptCost::new(&price, 1_000, 600, 100, Some(&known));
        assert_eq!((cost.micro, cost.uncached_micro, cost.cached), (1_650, 3_000, 900));
        assert_eq!(cost.certainty, Certainty::Calibrated);
        let plain = PromptCost::new(&Price { cached: None, ..price }, 1_000, 600, 100, None);
        assert_eq!((plain.micro, plain.cached), (2_000, 0), "no price for cached tokens: none is assumed");
    }

    proptest! {
        /// A calibration learned from a server with a fixed factor reproduces its numbers, within rounding.
        #[test]
        fn a_steady_factor_is_found(factor in 0.3_f64..4.0, ests in prop::collection::vec(200_u32..50_000, 1..30)) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
            let actual = |est: u32| (f64::from(est) * factor).round() as u32;
            let reports: Vec<Sample> = ests.iter().map(|est| Sample { est: *est, actual: actual(*est) }).collect();
            let learned = Calibration::learn(&reports).unwrap();
            prop_assert!((learned.factor / factor - 1.0).abs() < 0.01);
            prop_assert!(learned.error_pct.is_none_or(|error| error < 2.0));
            for est in ests {
                prop_assert_eq!(ShortRead::find(est, 0, Some(&learned), actual(est)), None, "no alarm at its usual count");
            }
        }

        /// One outlier among many reports does not change the factor much.
        #[test]
        fn an_outlier_does_not_move_it(wild in 1_u32..1_000_000, at in 0_usize..9) {
            let mut reports = samples(&[(1_000, 1_050), (1_000, 1_060), (1_000, 1_040), (1_000, 1_050), (1_000, 1_055),
                (1_000, 1_045), (1_000, 1_050), (1_000, 1_060), (1_000, 1_040)]);
            reports[at].actual = wild;
            let learned = Calibration::learn(&reports).unwrap();
            prop_assert!((1.04..=1.06).contains(&learned.factor), "{}", learned.factor);
        }
    }

    /// Computes slope, offset, and deviation directly from the definition of [`Calibration::learn`].
    fn by_definition(reports: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
        let middle = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
            Some((low + high) / 2.0)
        };
        let away = |slope: f64, offset: f64| {
            middle(reports.iter().map(|(est, actual)| (actual / (est * slope + offset).max(1.0) - 1.0).abs()).collect())
        };
        let factor = middle(reports.iter().map(|(est, actual)| actual / est).collect())?;
        let plain = (factor, 0.0, away(factor, 0.0)?);
        let mut slopes = Vec::new();
        for (at, (x, y)) in reports.iter().enumerate() {
            for (other, value) in reports.iter().skip(at + 1) {
                if (x - other).abs() > 0.5 {
                    slopes.push((value - y) / (other - x));
                }
            }
        }
        let slope = middle(slopes).filter(|slope| reports.len() >= 5 && (0.25..=4.0).contains(slope));
        let line = slope.and_then(|slope| {
            let offset = middle(reports.iter().map(|(est, actual)| actual - slope * est).collect())?;
            Some((slope, offset, away(slope, offset)?))
        });
        Some(line.filter(|line| line.2 < plain.2 / 2.0).unwrap_or(plain))
    }

    proptest! {
        /// The estimates have few different values, so that many reports share one; an offset makes a line fit better
        /// than a factor.
        #[test]
        fn the_fit_is_the_line_or_factor_of_the_medians(
            reports in prop::collection::vec((1_u32..7, 0_u32..60), 1..12), slope in 0.3_f64..3.0, offset in 0_u32..2_000,
        ) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
            let reports: Vec<Sample> = reports.iter().map(|(size, noise)| {
                Sample { est: size * 400, actual: (f64::from(size * 400) * slope) as u32 + offset + noise }
            }).collect();
            let pairs: Vec<(f64, f64)> = reports.iter().map(|one| (one.est.into(), one.actual.into())).collect();
            let (factor, offset, deviation_within) = by_definition(&pairs).unwrap();
            let learned = Calibration::learn(&reports).unwrap();
            prop_assert!((learned.factor - factor).abs() < 1e-9, "{} is not {factor}", learned.factor);
            prop_assert!((f64::from(learned.offset) - offset).abs() <= 0.5 + 1e-6, "{} is not {offset}", learned.offset);
            prop_assert_eq!(learned.samples as usize, reports.len());
            let before = |at: usize| {
                let (slope, offset, _) = by_definition(&pairs[at + 1..]).unwrap();
                (pairs[at].1 / (pairs[at].0 * slope + offset).max(1.0) - 1.0).abs()
            };
            let mut ahead: Vec<f64> = (0..pairs.len() - 1).map(before).collect();
            ahead.sort_by(f64::total_cmp);
            let ahead = if ahead.is_empty() { 0.0 } else { f64::midpoint(ahead[(ahead.len() - 1) / 2], ahead[ahead.len() / 2]) };
            match learned.error_pct {
                Some(error) => prop_assert!(reports.len() > 2 && (error - 100.0 * ahead.max(deviation_within)).abs() < 1e-6),
                None => prop_assert!(reports.len() < 3),
            }
        }
    }

    #[test]
    fn errors_and_offsets_as_text() {
        let words = [0.0, 0.04, 0.1, 0.5, 0.94, 0.95, 1.4, 1.6, 12.0].map(percent);
        assert_eq!(words, ["0.1%", "0.1%", "0.1%", "0.5%", "0.9%", "1%", "1%", "2%", "12%"]);
        let text = |offset, samples| Calibration { factor: 0.5, offset, error_pct: None, samples }.sentence();
        assert_eq!(text(0, 2), "0.500 times the estimate (from 2 calls)");
        assert_eq!(text(1, 1), "0.500 times the estimate plus 1 token (from 1 call)");
        assert_eq!(text(-40, 5), "0.500 times the estimate minus 40 tokens (from 5 calls)");
        let known = Calibration { factor: 2.0, offset: -30, error_pct: Some(5.0), samples: 5 };
        assert_eq!(([0, 10, 15, 16, 100].map(|est| known.apply(est))), [0, 0, 0, 2, 170]);
        assert_eq!(known.to_text(1_000), "1,970 cal ±5%");
    }

    #[test]
    fn every_sign_of_a_truncated_prompt_is_required() {
        let known = |factor, error| Calibration { factor, offset: 0, error_pct: Some(error), samples: 9 };
        let find = |est, fixed, known: &Calibration, read| ShortRead::find(est, fixed, Some(known), read).is_some();
        // The share: a fifth, then four deviations (5.9304 percent per percent), at most half.
        for (error, least) in
            [(0.0, 8_000), (3.0, 8_000), (4.0, 7_628), (6.0, 6_442), (8.0, 5_256), (9.0, 5_000), (50.0, 5_000)]
        {
            let known = known(1.0, error);
            assert_eq!((find(10_000, 0, &known, least), find(10_000, 0, &known, least - 1)), (false, true), "{error}");
        }
        // The texts alone.
        let one = known(1.0, 1.0);
        assert_eq!((find(10_000, 3_000, &one, 7_000), find(10_000, 3_000, &one, 6_999)), (false, true));
        assert!(!find(10_000, 10_001, &one, 1));
        // The minimum number of tokens.
        assert_eq!((find(1_000, 0, &one, 745), find(1_000, 0, &one, 744)), (false, true));
    }

    #[test]
    fn cached_tokens_never_exceed_the_prompt() {
        let price = Price { input: 1.0, output: 3.0, cached: Some(0.5), ..Price::default() };
        let of = |est, prefix, known: Option<&Calibration>| PromptCost::new(&price, est, prefix, 7, known).cached;
        assert_eq!((of(100, 100, None), of(100, 999, None), of(100, 0, None), of(0, 50, None)), (100, 100, 0, 0));
        let half = Calibration { factor: 0.5, offset: 0, error_pct: None, samples: 1 };
        assert_eq!((of(100, 30, Some(&half)), of(100, 100, Some(&half))), (15, 50));
        assert_eq!(PromptCost::new(&price, 1, 0, 7, None).answer_most_micro, 21);
    }
}
