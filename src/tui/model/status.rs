//! Sentences for the person: notices that pass, alarms that stay until Esc.
//! Not for: questions (`screens::question`).

use std::collections::VecDeque;

/// Topic: older messages are being indexed.
pub const INDEXING: &str = "indexing";
/// Topic: a message that was sent waits for its plan.
pub const WAITING: &str = "waiting";
/// Topic: a call to a tool waits for a word.
pub const ASKING: &str = "asking";

/// How much a sentence matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// It passes by itself.
    Notice,
    /// Something failed; it stays a while longer.
    Trouble,
    /// It stays until a person puts it away.
    Alarm,
}

/// One sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusMessage {
    /// The sentence, unsanitised.
    pub text: String,
    /// How much it matters.
    pub weight: Severity,
    /// When it goes, if by itself.
    pub until: Option<u64>,
    /// What it goes on about: a newer one on the same takes its place.
    pub topic: Option<&'static str>,
}

/// All sentences waiting, newest last; the last is shown.
#[derive(Clone, Debug, Default)]
pub struct Status {
    said: VecDeque<StatusMessage>,
    /// Sentences about failures so far.
    troubles: u64,
}

impl Status {
    /// Says something.
    pub fn say(&mut self, weight: Severity, text: impl Into<String>, now: u64) {
        self.put(weight, text.into(), now, None);
    }

    /// Says how something goes on, in place of what was said on it.
    pub fn report(&mut self, topic: &'static str, text: impl Into<String>, now: u64) {
        self.end(topic);
        self.put(Severity::Notice, text.into(), now, Some(topic));
    }

    /// Says what must be seen and stays until it is over, or put away.
    pub fn alarm(&mut self, topic: &'static str, text: impl Into<String>, now: u64) {
        self.put(Severity::Alarm, text.into(), now, Some(topic));
    }

    /// What was said on something is over.
    pub fn end(&mut self, topic: &'static str) {
        self.said.retain(|said| said.topic != Some(topic));
    }

    fn put(&mut self, weight: Severity, text: String, now: u64, topic: Option<&'static str>) {
        if text.trim().is_empty() {
            return;
        }
        let rest = match weight {
            Severity::Notice => Some(6_000),
            Severity::Trouble => Some(20_000),
            Severity::Alarm => None,
        };
        self.troubles += u64::from(weight != Severity::Notice);
        self.said.retain(|said| said.text != text);
        self.said.push_back(StatusMessage { text, weight, until: rest.map(|rest| now + rest), topic });
        if self.said.len() > 20 {
            self.said.pop_front();
        }
    }

    /// What is shown: an alarm before all else, then the newest.
    #[must_use]
    pub fn shown(&self) -> Option<&StatusMessage> {
        self.said.iter().rev().find(|said| said.weight == Severity::Alarm).or_else(|| self.said.back())
    }

    /// How many more there are.
    #[must_use]
    pub fn more(&self) -> usize {
        self.said.len().saturating_sub(1)
    }

    /// Puts the shown one away. False when there was none.
    pub fn dismiss(&mut self) -> bool {
        let alarm = self.said.iter().rposition(|said| said.weight == Severity::Alarm);
        match alarm.or_else(|| self.said.len().checked_sub(1)) {
            Some(at) => self.said.remove(at).is_some(),
            None => false,
        }
    }

    /// How many failures were told of so far.
    #[must_use]
    pub fn troubles(&self) -> u64 {
        self.troubles
    }

    /// What passes by itself goes now: another screen opens, to which it says nothing.
    pub fn settle(&mut self) {
        self.said.retain(|said| said.until.is_none());
    }

    /// Takes a sentence back that is no longer true.
    pub fn retract(&mut self, text: &str) {
        self.said.retain(|said| said.text != text);
    }

    /// Drops what has passed.
    pub fn pass(&mut self, now: u64) {
        self.said.retain(|said| said.until.is_none_or(|until| until > now));
    }

    /// When the next one goes by itself.
    #[must_use]
    pub fn until(&self) -> Option<u64> {
        self.said.iter().filter_map(|said| said.until).min()
    }
}
