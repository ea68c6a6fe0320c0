//! Calls an OpenAI-compatible server: posts the given bytes unchanged and passes on the response.
//! Not for: reading the response (`stream`) or making the request's bytes (`context::render`).
//!
//! One POST is one attempt. Another attempt is made only before the first event, only if the server reported a
//! temporary fault or the connection was never established, and it is always announced.

use super::fault::Fault;
use super::http::{Endpoint, problem, runtime};
use super::stream::AnswerReader;
use super::{LlmError, body, retry};
use crate::domain::base::RunId;
use crate::domain::call::provider::ProviderErrorKind as Kind;
use crate::domain::call::{CallEnd, Delta, Outcome, Profile, Provider, ProviderError, Usage, Wire};
use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use secrecy::SecretString;
use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, sleep_until};

/// Bytes of an error's body that are read.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// Bytes of a response that are read. Text received by then is kept.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// Timeouts and intervals.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Time without a byte after which a call is abandoned.
    pub idle: Duration,
    /// Time without a delta after which the sink is called regardless.
    pub tick: Duration,
    /// Time to wait for the end of the stream after a finish reason.
    pub after_finish: Duration,
    /// Pause before the second attempt if the server does not request one; doubles with each attempt.
    pub backoff: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(90),
            tick: Duration::from_millis(40),
            after_finish: Duration::from_secs(2),
            backoff: Duration::from_millis(500),
        }
    }
}

/// An OpenAI-compatible server.
pub struct OpenAi {
    endpoint: Endpoint,
    attempts: u32,
    timing: Timing,
}

type Sink<'a> = dyn FnMut(Delta) -> bool + 'a;

enum WaitResult<T> {
    Ready(T),
    Late,
    Stopped,
}

/// The result of one POST before its first event.
enum Attempt {
    Open(Response),
    Failed { error: ProviderError, retry: Option<RetryHint> },
    Stopped,
}

/// A possible retry: the delay that the server asked for, and the last attempt number allowed.
struct RetryHint {
    wait: Option<Duration>,
    limit: u32,
}

struct Timer {
    start: Instant,
    first: Option<Instant>,
    attempts: u32,
}

impl OpenAi {
    /// Creates the provider for a profile's server. The key is sent only to the profile's own host.
    pub fn new(profile: &Profile, key: Option<&SecretString>) -> Result<Self, LlmError> {
        let endpoint = Endpoint::new(profile, key)?;
        let idle = Duration::from_secs(u64::from(profile.idle_timeout.max(1)));
        Ok(Self { endpoint, attempts: profile.attempts.max(1), timing: Timing { idle, ..Timing::default() } })
    }

    /// Sets other timeouts.
    #[must_use]
    pub fn with_timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Returns the timeouts in use.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    async fn call(&self, run: RunId, wire: &Wire, sink: &mut Sink<'_>) -> Outcome {
        let mut clock = Timer { start: Instant::now(), first: None, attempts: 0 };
        loop {
            clock.attempts += 1;
            match self.attempt(run, wire, sink).await {
                Attempt::Open(response) => return self.read((run, wire), response, clock, sink).await,
                Attempt::Stopped => return clock.outcome(CallEnd::Cancelled, None),
                Attempt::Failed { error, retry } => {
                    let error = self.endpoint.clean(error);
                    let Some(wait) = self.wait(run, retry, clock.attempts) else {
                        return clock.outcome(CallEnd::Errored, Some(error));
                    };
                    if !self.announce(clock.attempts + 1, wait, &error, sink).await {
                        return clock.outcome(CallEnd::Cancelled, None);
                    }
                }
            }
        }
    }

    /// Returns the pause before the next attempt; `None` if there is no next attempt.
    fn wait(&self, run: RunId, retry: Option<RetryHint>, made: u32) -> Option<Duration> {
        let retry = retry.filter(|retry| made < self.attempts.min(retry.limit))?;
        let wait = retry.wait.unwrap_or_else(|| retry::backoff(run, made + 1, self.timing.backoff));
        Some(wait).filter(|wait| *wait <= retry::MAX_WAIT)
    }

    async fn announce(&self, attempt: u32, wait: Duration, error: &ProviderError, sink: &mut Sink<'_>) -> bool {
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        if !sink(Delta::Retry { attempt, wait_ms, why: error.what.clone() }) {
            return false;
        }
        let slept = self.wait_stoppable(std::future::pending::<()>(), wait, sink).await;
        !matches!(slept, WaitResult::Stopped)
    }

    async fn attempt(&self, run: RunId, wire: &Wire, sink: &mut Sink<'_>) -> Attempt {
        let posted = reqwest::Body::from(wire.bytes.to_vec());
        let request = self
            .endpoint
            .client
            .post(self.endpoint.url_for("/chat/completions"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .header("idempotency-key", run.to_string())
            .headers(self.endpoint.headers.clone())
            .body(posted);
        match self.wait_stoppable(request.send(), self.timing.idle, sink).await {
            WaitResult::Stopped => Attempt::Stopped,
            WaitResult::Late => Attempt::Failed { error: self.idle(), retry: None },
            WaitResult::Ready(Err(error)) => {
                let connecting = error.is_connect();
                let error = self.endpoint.transport_error(error);
                let retry = connecting && !unknown_host(&error.what);
                let retry = retry.then_some(RetryHint { wait: None, limit: retry::CONNECT_ATTEMPTS });
                Attempt::Failed { error, retry }
            }
            WaitResult::Ready(Ok(response)) if response.status().is_success() => Attempt::Open(response),
            WaitResult::Ready(Ok(response)) => self.refused(wire, response, sink).await,
        }
    }

    async fn refused(&self, wire: &Wire, mut response: Response, sink: &mut Sink<'_>) -> Attempt {
        let status = response.status().as_u16();
        if response.status().is_redirection() {
            return Attempt::Failed { error: self.redirected(status, response.headers()), retry: None };
        }
        let asked = retry::requested_wait(response.headers(), now_ms());
        let encoding = encoding(&response);
        let mut body = Vec::new();
        while body.len() < MAX_ERROR_BODY {
            match self.wait_stoppable(response.chunk(), Duration::from_secs(5).min(self.timing.idle), sink).await {
                WaitResult::Stopped => return Attempt::Stopped,
                WaitResult::Ready(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                WaitResult::Ready(_) | WaitResult::Late => break,
            }
        }
        body.truncate(MAX_ERROR_BODY);
        let fault = match body::compression_of(&body, encoding.as_deref()) {
            Some(name) => Fault::in_body(&format!("for the reason, see {}", body::compressed_sentence(name))),
            None => Fault::in_body(&String::from_utf8_lossy(&body)),
        };
        let mut error = fault.sort_for(Some(status), &wire.bytes);
        if let Some(wait) = asked.filter(|wait| *wait > retry::MAX_WAIT) {
            error.hint = format!("The server says to wait {} s. {}", wait.as_secs(), error.hint);
        }
        let retry = retry::is_retryable(status, &error.kind).then_some(RetryHint { wait: asked, limit: u32::MAX });
        Attempt::Failed { error, retry }
    }

    fn redirected(&self, status: u16, headers: &HeaderMap) -> ProviderError {
        let to = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("an unnamed address");
        let host_and_port = self.endpoint.host_and_port();
        let what = format!(
            "{host_and_port} redirects to {to}; pleach does not follow redirects, so that the key stays with its server"
        );
        let hint = "If that is the right server, use its address as the profile's base_url.".to_owned();
        ProviderError { kind: Kind::Refused, what, hint, status: Some(status) }
    }

    async fn read(
        &self,
        (run, wire): (RunId, &Wire),
        mut response: Response,
        mut clock: Timer,
        sink: &mut Sink<'_>,
    ) -> Outcome {
        let mut reading = AnswerReader::new(run).to(wire).encoded(encoding(&response).as_deref());
        let mut stopped = !sink(Delta::Accepted);
        let (mut events, mut event_at, mut room) = (0, Instant::now(), MAX_ANSWER);
        while !stopped && !reading.is_over() {
            let limit = if reading.finished() {
                self.timing.after_finish.saturating_sub(event_at.elapsed())
            } else {
                self.timing.idle
            };
            match self.wait_stoppable(response.chunk(), limit, sink).await {
                WaitResult::Stopped => stopped = true,
                WaitResult::Late if reading.finished() => break,
                WaitResult::Late => reading.fail(self.idle()),
                WaitResult::Ready(Ok(Some(bytes))) => {
                    reading.feed(&bytes);
                    room = room.saturating_sub(bytes.len());
                    if room == 0 {
                        reading.fail(problem(Kind::Protocol, "the answer is longer than 64 MB; the rest was not read"));
                    }
                    if reading.events() > events {
                        (events, event_at) = (reading.events(), Instant::now());
                        clock.first.get_or_insert(event_at);
                    }
                    stopped = !self.deliver(&mut reading, true, sink);
                }
                WaitResult::Ready(Ok(None)) => {
                    reading.end(None);
                    break;
                }
                WaitResult::Ready(Err(error)) => {
                    reading.end(Some(self.endpoint.transport_error(error)));
                    break;
                }
            }
        }
        drop(response);
        if !stopped {
            reading.end(None);
            if reading.events() > events {
                clock.first.get_or_insert_with(Instant::now);
            }
            stopped = !self.deliver(&mut reading, false, sink);
        }
        self.closed(reading, stopped, &clock)
    }

    fn closed(&self, reading: AnswerReader, stopped: bool, clock: &Timer) -> Outcome {
        let closed = reading.close();
        let error = closed.error.filter(|_| !stopped).map(|error| self.endpoint.clean(error));
        let end = if stopped { CallEnd::Cancelled } else { closed.end };
        let finish_reason = closed.finish;
        Outcome { any: closed.any, finish_reason, usage: closed.usage, ..clock.outcome(end, error) }
    }

    /// Waits for a future up to a limit. The sink can cancel at any time.
    async fn wait_stoppable<F: Future>(
        &self,
        future: F,
        limit: Duration,
        sink: &mut Sink<'_>,
    ) -> WaitResult<F::Output> {
        let mut future = std::pin::pin!(future);
        let deadline = Instant::now() + limit;
        loop {
            let wake = (Instant::now() + self.timing.tick).min(deadline);
            tokio::select! {
                biased;
                done = &mut future => return WaitResult::Ready(done),
                () = sleep_until(wake) => {
                    if !sink(Delta::Tick) {
                        return WaitResult::Stopped;
                    }
                    if Instant::now() >= deadline {
                        return WaitResult::Late;
                    }
                }
            }
        }
    }

    /// Delivers the deltas read so far. The receiver can also cancel when bytes without deltas (comments) arrive.
    fn deliver(&self, reading: &mut AnswerReader, tick: bool, sink: &mut Sink<'_>) -> bool {
        let deltas = reading.take();
        if deltas.is_empty() && tick {
            return sink(Delta::Tick);
        }
        let clean = |delta| match delta {
            Delta::Diagnostic(found) => Delta::Diagnostic(self.endpoint.clean_diagnostic(found)),
            delta => delta,
        };
        deltas.into_iter().map(clean).all(sink)
    }

    fn idle(&self) -> ProviderError {
        let seconds = self.timing.idle.as_secs_f32();
        problem(Kind::Idle, format!("nothing arrived from {} for {seconds} s", self.endpoint.host_and_port()))
    }
}

impl Provider for OpenAi {
    /// Must not be called inside an async runtime; call it on a plain thread.
    fn post(&self, run: RunId, wire: &Wire, sink: &mut dyn FnMut(Delta) -> bool) -> Outcome {
        match runtime() {
            Ok(runtime) => runtime.block_on(self.call(run, wire, sink)),
            Err(error) => {
                Timer { start: Instant::now(), first: None, attempts: 0 }.outcome(CallEnd::Errored, Some(error))
            }
        }
    }
}

impl Timer {
    fn outcome(&self, end: CallEnd, error: Option<ProviderError>) -> Outcome {
        let ms = |from: Instant, to: Instant| u64::try_from((to - from).as_millis()).unwrap_or(u64::MAX);
        Outcome {
            end,
            any: false,
            finish_reason: None,
            usage: Usage::default(),
            error,
            attempts: self.attempts,
            ttft_ms: self.first.map(|first| ms(self.start, first)),
            total_ms: ms(self.start, Instant::now()),
        }
    }
}

/// Returns the compression named in a response's header.
fn encoding(response: &Response) -> Option<String> {
    response.headers().get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).map(str::to_lowercase)
}

/// Returns whether the failure is permanent: an unknown host name or an invalid certificate will still be so a second
/// later.
fn unknown_host(what: &str) -> bool {
    let what = what.to_lowercase();
    ["dns error", "lookup address", "name resolution", "certificate"].iter().any(|word| what.contains(word))
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permanent_faults_are_not_retried() {
        assert!(unknown_host("no connection to h: dns error: failed to lookup address information"));
        assert!(unknown_host("invalid peer certificate: UnknownIssuer"));
        assert!(!unknown_host("tcp connect error: Connection refused (os error 111)"));
    }
}
