//! The record of each branch of a race: its settings, limits, and usage.
//! Not for: parsing the settings (`planning::variant`) or the calls (`run`).

use super::run::RunStatus;
use crate::domain::base::ids::{BranchId, RaceId, RunId};
use crate::domain::base::money::exact_money;
use crate::domain::conversation::branch::Overrides;
use crate::domain::planning::mode::Mode;
use serde::{Deserialize, Serialize};

/// The limits of one branch of a race. `None` means not set; 0 means no limit, so that a limit from the settings can be
/// lifted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Maximum tokens of the answer over all tool rounds, estimated while it arrives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// Maximum cost of all calls in millionths of a dollar. Has no effect if prices are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micro: Option<u64>,
    /// Maximum seconds since the first call began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
}

/// The limit that was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Tokens of the answer.
    Tokens,
    Cost,
    Time,
}

/// The usage of a branch of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RaceUsage {
    /// Tokens of the answer: estimated at first, then as reported by the server.
    pub tokens: u32,
    /// Millionths of a dollar, if prices are known.
    pub cost_micro: Option<u64>,
    /// Milliseconds since the first call began.
    pub ms: u64,
}

impl Limits {
    /// Returns these limits; limits that are not set are taken from `other`.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.or(other.tokens),
            cost_micro: self.cost_micro.or(other.cost_micro),
            seconds: self.seconds.or(other.seconds),
        }
    }

    /// Returns the limits; a limit of 0 is not set.
    #[must_use]
    pub fn without_zeros(self) -> Self {
        Self {
            tokens: self.tokens.filter(|most| *most > 0),
            cost_micro: self.cost_micro.filter(|most| *most > 0),
            seconds: self.seconds.filter(|most| *most > 0),
        }
    }

    /// Returns the limit that was reached, tokens before cost before time; `None` if none was.
    pub fn reached(self, spent: RaceUsage) -> Option<Limit> {
        let limits = self.without_zeros();
        if limits.tokens.is_some_and(|most| spent.tokens >= most) {
            return Some(Limit::Tokens);
        }
        if limits.cost_micro.zip(spent.cost_micro).is_some_and(|(most, cost)| cost >= most) {
            return Some(Limit::Cost);
        }
        limits.seconds.filter(|most| spent.ms >= u64::from(*most) * 1_000).map(|_| Limit::Time)
    }

    /// Returns the limits as text, such as `400 tok, $0.01, 30 s`; empty if there are none.
    pub fn to_text(self) -> String {
        let limits = self.without_zeros();
        let mut words = Vec::new();
        words.extend(limits.tokens.map(|most| format!("{most} tokens")));
        words.extend(limits.cost_micro.map(exact_money));
        words.extend(limits.seconds.map(|most| format!("{most} s")));
        words.join(", ")
    }
}

/// Parses an amount in dollars with at most six decimals. Returns millionths of a dollar; `None` for anything else.
pub fn micro(text: &str) -> Option<u64> {
    let text = text.trim().trim_start_matches('$');
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && part.is_empty()) || !digits(whole) || !digits(part) || part.len() > 6 {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u64 = format!("{part:0<6}").parse().ok()?;
    whole.checked_mul(1_000_000)?.checked_add(part)
}

impl Limit {
    /// Returns the reason why a call was stopped, as a sentence.
    pub fn sentence(self, limits: Limits) -> String {
        let none = Limits::default();
        let only = match self {
            Self::Tokens => Limits { tokens: limits.tokens, ..none },
            Self::Cost => Limits { cost_micro: limits.cost_micro, ..none },
            Self::Time => Limits { seconds: limits.seconds, ..none },
        };
        format!("Stopped at the limit of {}.", only.to_text())
    }
}

/// The settings of a branch at the time of its call, including defaults.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Config {
    pub profile: String,
    pub model: String,
    pub policy: String,
    pub layout: String,
    pub mode: Mode,
    /// Maximum tokens of the prompt.
    pub budget: u32,
    /// Maximum tokens of the answer, as in the request.
    pub max_output: u32,
    /// The branch's own overrides.
    pub overrides: Overrides,
}

/// The record of one branch of a race.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BranchRun {
    pub race: RaceId,
    pub branch: BranchId,
    /// The branch it was forked from.
    pub from: BranchId,
    /// The branch's index in the race, from 0.
    pub place: u32,
    /// The settings.
    pub config: Config,
    pub limits: Limits,
    /// The calls in order; one per tool round.
    pub runs: Vec<RunId>,
    /// The usage so far.
    pub spent: RaceUsage,
    /// The limit that stopped the branch; `None` if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Limit>,
    /// How the turn ended; `None` while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<RunStatus>,
    /// Milliseconds since 1970.
    pub at: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_display_and_amounts_parse() {
        let limits = Limits { tokens: Some(400), cost_micro: Some(10_000), seconds: Some(30) };
        assert_eq!(limits.to_text(), "400 tokens, $0.01, 30 s");
        assert_eq!(micro("$1.5"), Some(1_500_000));
        assert_eq!((micro("."), micro("1.0000001"), micro("-1")), (None, None, None));
        for cost in (0..18).map(|power| 10_u64.pow(power)).flat_map(|power| [power - 1, power, power * 12 / 10]) {
            assert_eq!(micro(&exact_money(cost)), Some(cost), "{}", exact_money(cost));
        }
    }

    #[test]
    fn limits_are_checked_in_order() {
        let limits = Limits { tokens: Some(10), cost_micro: Some(5), seconds: Some(2) };
        let spent = |tokens, cost_micro, ms| limits.reached(RaceUsage { tokens, cost_micro, ms });
        assert_eq!(spent(9, Some(4), 1_999), None);
        assert_eq!(spent(9, None, 1_999), None, "what has no price has no such limit");
        assert_eq!(spent(10, Some(9), 9_000), Some(Limit::Tokens));
        assert_eq!(spent(1, Some(5), 9_000), Some(Limit::Cost));
        assert_eq!(spent(1, Some(1), 2_000), Some(Limit::Time));
        let sentences = [Limit::Tokens, Limit::Cost, Limit::Time].map(|limit| limit.sentence(limits));
        let most = ["10 tokens", "$0.000005", "2 s"].map(|most| format!("Stopped at the limit of {most}."));
        assert_eq!(sentences, most, "each names its own limit only");
        let none = Limits { tokens: Some(0), ..Limits::default() };
        assert!(none.reached(RaceUsage { tokens: 9, ..RaceUsage::default() }).is_none());
        assert_eq!(none.over(limits).tokens, Some(0), "a limit of 0 lifts the limit from the settings");
    }
}
