//! Decides whether and when to retry a failed attempt. Retries happen only before the first event of an answer.
//! Not for: waiting (`openai`) or sorting errors (`fault`).

use crate::domain::base::{Fields, RunId};
use crate::domain::call::provider::ProviderErrorKind as Kind;
use reqwest::header::HeaderMap;
use std::time::Duration;

/// If a server asks for a longer wait, no retry is made, and the person decides.
pub const MAX_WAIT: Duration = Duration::from_mins(1);
/// Maximum attempts to connect, regardless of the profile's limit: a refused connection rarely recovers without
/// intervention.
pub const CONNECT_ATTEMPTS: u32 = 2;

/// Returns whether a response with this status and kind of error may be retried.
pub fn is_retryable(status: u16, kind: &Kind) -> bool {
    let is_temporary = matches!(status, 408 | 409 | 429) || (status >= 500 && !matches!(status, 501 | 505));
    is_temporary && matches!(kind, Kind::RateLimit | Kind::Server | Kind::Refused)
}

/// Returns the wait that the server asks for, if any. `now` is in milliseconds since 1970.
pub fn requested_wait(headers: &HeaderMap, now: i64) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()).and_then(|ms| seconds(ms / 1000.0));
    millis.or_else(|| {
        ["retry-after", "llm_provider-retry-after"]
            .into_iter()
            .filter_map(text)
            .find_map(|value| value.parse::<f64>().ok().and_then(seconds).or_else(|| until_date(value, now)))
    })
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

fn until_date(date: &str, now: i64) -> Option<Duration> {
    let at = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok()?;
    u64::try_from(at.as_millisecond() - now).ok().or(Some(0)).map(Duration::from_millis)
}

/// Returns the pause before attempt `next` (from 2): doubles from `base`, with a jitter of up to a quarter in either
/// direction, so that many clients do not return at the same time. The jitter is derived from the run's id.
pub fn backoff(run: RunId, next: u32, base: Duration) -> Duration {
    let full = base.saturating_mul(1 << next.saturating_sub(2).min(6)).min(MAX_WAIT / 2);
    let jitter = Fields::new("jitter").text(&run.to_string()).number(u64::from(next)).finish().0[0];
    full.mul_f64(0.75 + 0.5 * f64::from(jitter) / 255.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};
    use uuid::Uuid;

    fn asked_by(name: &'static str, value: &'static str, now: i64) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        requested_wait(&headers, now)
    }

    #[test]
    fn reads_every_form_of_retry_after() {
        assert_eq!(asked_by("retry-after", "7", 0), Some(Duration::from_secs(7)));
        assert_eq!(asked_by("retry-after-ms", "250", 0), Some(Duration::from_millis(250)));
        assert_eq!(asked_by("llm_provider-retry-after", "1.5", 0), Some(Duration::from_millis(1500)));
        let date = "Wed, 21 Oct 2015 07:28:00 GMT";
        assert_eq!(asked_by("retry-after", date, 1_445_412_470_000), Some(Duration::from_secs(10)));
        assert_eq!(asked_by("retry-after", date, 1_500_000_000_000), Some(Duration::ZERO));
        assert_eq!(asked_by("retry-after", "soon", 0), None);
        assert_eq!(asked_by("retry-after", "-1", 0), None);
        assert_eq!(asked_by("retry-after", "NaN", 0), None);
    }

    #[test]
    fn backoff_grows_and_has_jitter() {
        let base = Duration::from_millis(500);
        let runs: Vec<RunId> = (0..50).map(|n| RunId(Uuid::from_u128(n))).collect();
        let second: std::collections::HashSet<Duration> = runs.iter().map(|run| backoff(*run, 2, base)).collect();
        assert!(second.len() > 20);
        assert!(second.iter().all(|wait| (375..=625).contains(&wait.as_millis())));
        assert!(backoff(runs[0], 4, base) > Duration::from_millis(1_400));
        assert!(backoff(runs[0], 99, base) <= MAX_WAIT);
    }

    #[test]
    fn only_temporary_faults_are_retried() {
        let retried: Vec<u16> = (200..600).filter(|status| is_retryable(*status, &Kind::Refused)).collect();
        let expected: Vec<u16> =
            [408, 409, 429].into_iter().chain((500..600).filter(|s| *s != 501 && *s != 505)).collect();
        assert_eq!(retried, expected);
        for (kind, again) in [
            (Kind::RateLimit, true),
            (Kind::Server, true),
            (Kind::Refused, true),
            (Kind::Quota, false),
            (Kind::Auth, false),
            (Kind::Model, false),
            (Kind::TooLong, false),
            (Kind::Body(crate::domain::call::model::Quirk::NoTools), false),
            (Kind::Protocol, false),
            (Kind::Idle, false),
        ] {
            assert_eq!(is_retryable(503, &kind), again, "{kind:?}");
        }
    }
}
