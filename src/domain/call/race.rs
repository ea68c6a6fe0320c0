//! What is stored about each branch of a race: its settings, limits and usage.
//! Not for: the settings themselves (`planning::variant`) or the calls (`run`).

use super::run::RunStatus;
use crate::domain::base::ids::{BranchId, RaceId, RunId};
use crate::domain::conversation::branch::Overrides;
use crate::domain::planning::mode::Mode;
use serde::{Deserialize, Serialize};

/// The limits of one branch of a race. `None` and 0 mean no limit, so that a limit from the settings can be lifted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Tokens of its answer over all tool rounds, estimated while it is received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// Millionths of a dollar over all its calls, if prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micro: Option<u64>,
    /// Seconds from the first call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
}

/// Which limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Tokens of the answer.
    Tokens,
    /// Cost.
    Cost,
    /// Time.
    Time,
}

/// The usage of a branch of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RaceUsage {
    /// Tokens of the answer: as reported by the server, estimated before that.
    pub tokens: u32,
    /// Millionths of a dollar, if prices are known.
    pub cost_micro: Option<u64>,
    /// Milliseconds.
    pub ms: u64,
}

impl Limits {
    /// These limits, with `other` for those that are not set.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.or(other.tokens),
            cost_micro: self.cost_micro.or(other.cost_micro),
            seconds: self.seconds.or(other.seconds),
        }
    }

    /// Without limits that are 0.
    #[must_use]
    pub fn set(self) -> Self {
        Self {
            tokens: self.tokens.filter(|most| *most > 0),
            cost_micro: self.cost_micro.filter(|most| *most > 0),
            seconds: self.seconds.filter(|most| *most > 0),
        }
    }

    /// Whether no limit is set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.set() == Self::default()
    }

    /// The first limit that was reached.
    #[must_use]
    pub fn reached(self, spent: RaceUsage) -> Option<Limit> {
        let limits = self.set();
        if limits.tokens.is_some_and(|most| spent.tokens >= most) {
            return Some(Limit::Tokens);
        }
        if limits.cost_micro.zip(spent.cost_micro).is_some_and(|(most, cost)| cost >= most) {
            return Some(Limit::Cost);
        }
        limits.seconds.filter(|most| spent.ms >= u64::from(*most) * 1_000).map(|_| Limit::Time)
    }

    /// The limits as text, such as `400 tok, $0.01, 30 s`; empty if there are none.
    #[must_use]
    pub fn to_text(self) -> String {
        let limits = self.set();
        let mut words = Vec::new();
        words.extend(limits.tokens.map(|most| format!("{most} tok")));
        words.extend(limits.cost_micro.map(dollars));
        words.extend(limits.seconds.map(|most| format!("{most} s")));
        words.join(", ")
    }

    /// Reads one word such as `tokens:400`, `cost:0.01` (dollars) or `time:30` (seconds) into the limits. Returns false
    /// for any other word.
    ///
    /// # Errors
    /// If the limit cannot have this value.
    pub fn take(&mut self, word: &str) -> Result<bool, String> {
        let Some((name, value)) = word.split_once([':', '=']) else { return Ok(false) };
        let bad = |wants: &str| format!("{name} can't be {value:?}; it takes {wants}");
        match name {
            "tokens" => self.tokens = Some(value.parse().map_err(|_| bad("a number of tokens"))?),
            "time" => self.seconds = Some(value.parse().map_err(|_| bad("a number of seconds"))?),
            "cost" => self.cost_micro = Some(micro(value).ok_or_else(|| bad("dollars, such as 0.01"))?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Parses dollars with at most six decimals as millionths of a dollar.
#[must_use]
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

fn dollars(micro: u64) -> String {
    let part = format!("{:06}", micro % 1_000_000);
    let part = part.trim_end_matches('0');
    format!("${}.{part:0<2}", micro / 1_000_000)
}

impl Limit {
    /// Why a call was stopped, as a sentence.
    #[must_use]
    pub fn sentence(self, limits: Limits) -> String {
        let most = |only: Limits| only.to_text();
        match self {
            Self::Tokens => {
                format!("Stopped at its limit of {}.", most(Limits { tokens: limits.tokens, ..Limits::default() }))
            }
            Self::Cost => {
                let only = Limits { cost_micro: limits.cost_micro, ..Limits::default() };
                format!("Stopped at its limit of {}.", most(only))
            }
            Self::Time => {
                format!("Stopped at its limit of {}.", most(Limits { seconds: limits.seconds, ..Limits::default() }))
            }
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Time => "time",
        }
    }
}

/// The settings with which a branch was called, as they were at that moment, defaults included.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Profile.
    pub profile: String,
    /// Model.
    pub model: String,
    /// Policy.
    pub policy: String,
    /// Layout.
    pub layout: String,
    /// Context mode.
    pub mode: Mode,
    /// Maximum tokens of the prompt.
    pub budget: u32,
    /// Maximum tokens of the answer, as in the request.
    pub max_output: u32,
    /// The branch's own overrides.
    pub overrides: Overrides,
}

/// What is stored about one branch of a race.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BranchRun {
    /// The race.
    pub race: RaceId,
    /// The branch.
    pub branch: BranchId,
    /// The branch it was forked from.
    pub from: BranchId,
    /// Its index in the race, from 0.
    pub place: u32,
    /// Its settings.
    pub config: Config,
    /// Its limits.
    pub limits: Limits,
    /// Its calls in order: one, and one more for each tool round.
    pub runs: Vec<RunId>,
    /// Its usage so far.
    pub spent: RaceUsage,
    /// The limit that stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Limit>,
    /// How its turn ended; `None` before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<RunStatus>,
    /// Milliseconds since 1970.
    pub at: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_parse_and_display() {
        let mut limits = Limits::default();
        assert_eq!(limits.take("tokens:400"), Ok(true));
        assert_eq!(limits.take("cost=0.01"), Ok(true));
        assert_eq!(limits.take("time:30"), Ok(true));
        assert_eq!(limits.take("mode:off"), Ok(false));
        assert!(limits.take("cost:much").unwrap_err().contains("dollars"));
        assert_eq!(limits.to_text(), "400 tok, $0.01, 30 s");
        assert_eq!(micro("$1.5"), Some(1_500_000));
        assert_eq!((micro("."), micro("1.0000001"), micro("-1")), (None, None, None));
        for cost in (0..18).map(|power| 10_u64.pow(power)).flat_map(|power| [power - 1, power, power * 12 / 10]) {
            assert_eq!(micro(&dollars(cost)), Some(cost), "{}", dollars(cost));
        }
    }

    #[test]
    fn the_first_limit_that_is_reached_counts() {
        let limits = Limits { tokens: Some(10), cost_micro: Some(5), seconds: Some(2) };
        let spent = |tokens, cost_micro, ms| limits.reached(RaceUsage { tokens, cost_micro, ms });
        assert_eq!(spent(9, Some(4), 1_999), None);
        assert_eq!(spent(9, None, 1_999), None, "what has no price has no such limit");
        assert_eq!(spent(10, Some(9), 9_000), Some(Limit::Tokens));
        assert_eq!(spent(1, Some(5), 9_000), Some(Limit::Cost));
        assert_eq!(spent(1, Some(1), 2_000), Some(Limit::Time));
        let sentences = [Limit::Tokens, Limit::Cost, Limit::Time].map(|limit| limit.sentence(limits));
        let most = ["10 tok", "$0.000005", "2 s"].map(|most| format!("Stopped at its limit of {most}."));
        assert_eq!(sentences, most, "each names its own limit only");
        let none = Limits { tokens: Some(0), ..Limits::default() };
        assert!(none.is_empty() && none.reached(RaceUsage { tokens: 9, ..RaceUsage::default() }).is_none());
        assert_eq!(none.over(limits).tokens, Some(0), "a limit of 0 lifts the one of the settings");
    }
}
