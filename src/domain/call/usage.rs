//! The usage of a call: the server's own numbers, the program's estimates, and the cost in millionths of a dollar.
//! Not for: estimating (`tokens`, `planning::plan`).

use super::meter::Sample;
use super::provider::Outcome;
use super::run::RunCard;
use super::tokens::grouped;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::RunId;
use crate::domain::planning::ContextPlan;
use serde::{Deserialize, Serialize};

/// Token counts as reported by a server; `None` for those it does not report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub prompt: Option<u32>,
    /// Tokens of the answer, reasoning included.
    pub completion: Option<u32>,
    /// Reasoning tokens.
    pub reasoning: Option<u32>,
    /// Prompt tokens read from the server's cache.
    pub cached_read: Option<u32>,
    /// Prompt tokens written to the server's cache.
    pub cache_write: Option<u32>,
}

impl Usage {
    /// Returns the number of tokens of the whole prompt; `None` if the server did not report it. Cached tokens are part
    /// of `prompt`, unless there are more of them than `prompt`: then they are added.
    pub fn whole_prompt(&self) -> Option<u32> {
        let (prompt, cached_total) = (self.prompt?, self.cached_total());
        Some(if cached_total > prompt { prompt.saturating_add(cached_total) } else { prompt })
    }

    /// Returns the tokens read from and written to the server's cache.
    fn cached_total(&self) -> u32 {
        self.cached_read.unwrap_or(0).saturating_add(self.cache_write.unwrap_or(0))
    }

    /// Returns the number of tokens that the server read of a prompt of about `expected` tokens. If `prompt` alone is
    /// more than a fifth below `expected`, and about equal to it with cached tokens added, the server reports only the
    /// uncached part. `None` if it reports nothing or 0.
    pub fn prompt_read(&self, expected: u32) -> Option<u32> {
        let whole = self.whole_prompt().filter(|tokens| *tokens > 0)?;
        let with = u64::from(whole) + u64::from(self.cached_total());
        let (least, most) = (u64::from(expected) * 4 / 5, u64::from(expected) * 5 / 4);
        let beside = self.prompt == Some(whole) && u64::from(whole) < least && (least..=most).contains(&with);
        Some(if beside { u32::try_from(with).unwrap_or(u32::MAX) } else { whole })
    }

    /// Returns the usage with cached tokens limited to the prompt, unless they are plausibly counted separately in a
    /// prompt of about `expected` tokens.
    #[must_use]
    pub fn bounded(self, expected: u32) -> Self {
        let Some(prompt) = self.prompt else { return self };
        let with = u64::from(prompt) + u64::from(self.cached_total());
        if self.cached_total() <= prompt || with <= u64::from(expected) * 4 {
            return self;
        }
        let read = self.cached_read.map(|read| read.min(prompt));
        let room = prompt - read.unwrap_or(0);
        Self { cached_read: read, cache_write: self.cache_write.map(|written| written.min(room)), ..self }
    }

    /// Returns prompt and answer as text: `441 in (300 cached) · 18 out`, or `450 in (estimated)` if nothing was
    /// reported. `est` is the estimate of the prompt; `dot` separates the parts.
    pub fn to_text(&self, est: u32, dot: &str) -> String {
        let parts = |known: &[(Option<u32>, &str)]| -> String {
            let known = known.iter().filter_map(|(n, word)| Some((n.filter(|n| *n > 0)?, word)));
            let reported: Vec<String> = known.map(|(n, word)| format!("{} {word}", grouped(n.into()))).collect();
            if reported.is_empty() { String::new() } else { format!(" ({})", reported.join(", ")) }
        };
        let prompt = self.prompt.map(|tokens| {
            let more = parts(&[(self.cached_read, "cached"), (self.cache_write, "to cache")]);
            format!("{} in{more}", grouped(tokens.into()))
        });
        let answer = self.completion.map(|tokens| {
            let more = parts(&[(self.reasoning, "reasoning")]);
            format!("{} out{more}", grouped(tokens.into()))
        });
        match (prompt, answer) {
            (Some(prompt), Some(answer)) => format!("{prompt}{dot}{answer}"),
            (Some(prompt), None) => prompt,
            (None, Some(answer)) => format!("{} in (estimated){dot}{answer}", grouped(est.into())),
            (None, None) => format!("{} in (estimated)", grouped(est.into())),
        }
    }
}

/// The accounting of one call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct UsageReport {
    /// The call.
    pub run: RunId,
    pub plan: Hash,
    /// The profile.
    pub provider: String,
    pub model: String,
    /// The encoding of the estimates; empty in reports of older versions.
    #[serde(default)]
    pub encoding: String,
    /// The estimated tokens of the prompt.
    pub est_prompt: u32,
    /// The estimated tokens by section.
    pub est_by_section: Vec<(String, u32)>,
    /// The server's report.
    pub usage: Usage,
    /// Whether the server read far less than was sent. Nothing is learned from such a report.
    #[serde(default)]
    pub short: bool,
    /// (actual − estimate) / estimate in percent, if the server reported usage.
    pub est_error_pct: Option<f64>,
    /// The finish reason, verbatim.
    pub finish_reason: Option<String>,
    /// Milliseconds to the first event.
    pub ttft_ms: Option<u64>,
    /// Milliseconds in total.
    pub total_ms: u64,
    /// Number of POSTs.
    pub attempts: u32,
    /// Cost in millionths of a dollar, if prices are known.
    pub cost_micro: Option<u64>,
    /// Milliseconds since 1970.
    pub at: i64,
}

impl UsageReport {
    /// Returns the accounting of an ended call, from its card, its plan, and its outcome.
    pub fn of(card: &RunCard, plan: &ContextPlan, outcome: &Outcome) -> Self {
        Self {
            run: card.id,
            plan: plan.id,
            provider: card.profile.clone(),
            model: card.model.clone(),
            encoding: plan.encoding.name().into_owned(),
            est_prompt: plan.est_total,
            est_by_section: plan.sections().into_iter().map(|(s, tokens)| (s.name().to_owned(), tokens)).collect(),
            usage: outcome.usage,
            short: card.short_read.is_some(),
            est_error_pct: outcome.usage.prompt_read(plan.est_total).map(|actual| error_pct(plan.est_total, actual)),
            finish_reason: outcome.finish_reason.clone(),
            ttft_ms: outcome.ttft_ms,
            total_ms: outcome.total_ms,
            attempts: outcome.attempts,
            cost_micro: card.cost_micro,
            at: card.at,
        }
    }

    /// Returns the sample for the meter; `None` if the server did not report the prompt, or read far less than was
    /// sent.
    pub fn sample(&self) -> Option<Sample> {
        let actual = self.usage.prompt_read(self.est_prompt).filter(|_| !self.short)?;
        Some(Sample { est: self.est_prompt, actual })
    }
}

/// How much more than estimated was read, in percent.
fn error_pct(est: u32, actual: u32) -> f64 {
    (f64::from(actual) - f64::from(est)) / f64::from(est.max(1)) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_off_by_a_share_of_itself() {
        for (est, actual, off) in [(200, 150, -25.0), (200, 200, 0.0), (200, 500, 150.0), (0, 5, 500.0)] {
            assert!((error_pct(est, actual) - off).abs() < 1e-9, "{actual} for {est}");
        }
    }

    fn usage(prompt: u32, cached: Option<u32>, written: Option<u32>) -> Usage {
        Usage { prompt: Some(prompt), cached_read: cached, cache_write: written, ..Usage::default() }
    }

    #[test]
    fn cached_tokens_within_the_prompt_or_beside_it() {
        assert_eq!(usage(10_000, Some(9_000), None).prompt_read(10_400), Some(10_000), "most count them in");
        assert_eq!(usage(1_000, Some(600), None).prompt_read(1_250), Some(1_000), "a fifth less is no sign");
        assert_eq!(usage(7_000, Some(3_000), None).prompt_read(10_400), Some(10_000), "alone it would look cut");
        assert_eq!(usage(1_000, Some(9_000), None).prompt_read(10_400), Some(10_000), "some do not");
        assert_eq!(usage(4_000, Some(2_000), Some(4_300)).prompt_read(10_400), Some(10_300));
        assert_eq!(usage(4_000, Some(3_900), None).prompt_read(10_400), Some(4_000), "less than sent in both readings");
        assert_eq!(usage(4_096, None, None).prompt_read(10_400), Some(4_096));
        assert_eq!(usage(0, None, None).prompt_read(10), None);
        assert_eq!(Usage::default().prompt_read(10), None, "never invented");
    }

    #[test]
    fn absurd_numbers_of_cached_tokens_are_bounded_by_the_prompt() {
        for kept in
            [usage(10_000, Some(9_000), None), usage(1_000, Some(9_000), None), usage(4_000, Some(2_000), Some(4_300))]
        {
            assert_eq!(kept.bounded(10_400), kept);
        }
        assert_eq!(usage(50, Some(4_000_000), None).bounded(300), usage(50, Some(50), None));
        assert_eq!(usage(50, Some(30), Some(u32::MAX)).bounded(300), usage(50, Some(30), Some(20)));
        assert_eq!(usage(0, Some(u32::MAX), Some(1)).bounded(0), usage(0, Some(0), Some(0)));
        let none = Usage { cached_read: Some(7), ..Usage::default() };
        assert_eq!(none.bounded(1), none, "never invented");
    }

    #[test]
    fn estimates_are_marked() {
        let reported = Usage { completion: Some(1_018), ..usage(441, None, None) };
        assert_eq!(reported.to_text(450, " · "), "441 in · 1,018 out");
        let more = Usage { reasoning: Some(12), cached_read: Some(300), cache_write: Some(0), ..reported };
        assert_eq!(more.to_text(450, " · "), "441 in (300 cached) · 1,018 out (12 reasoning)");
        assert_eq!(usage(441, None, None).to_text(450, " · "), "441 in");
        assert_eq!(Usage::default().to_text(1_450, " · "), "1,450 in (estimated)");
        let half = Usage { completion: Some(3), ..Usage::default() };
        assert_eq!(half.to_text(1_450, " - "), "1,450 in (estimated) - 3 out");
    }
}
