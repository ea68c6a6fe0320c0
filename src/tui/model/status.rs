//! Sentences for the user: notices that expire, and alarms that stay until Esc.
//! Not for: questions (`screens::question`).

use std::collections::VecDeque;

/// Topic: older messages are being indexed.
pub const INDEXING: &str = "indexing";
/// Topic: a message that was sent waits for its plan.
pub const WAITING: &str = "waiting";
/// Topic: a tool call waits for approval.
pub const ASKING: &str = "asking";

/// The severity of a sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// It expires.
    Notice,
    /// Something failed; it stays longer.
    Trouble,
    /// It stays until the user dismisses it.
    Alarm,
}

/// One sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusMessage {
    /// The sentence, unsanitized.
    pub text: String,
    /// Its severity.
    pub weight: Severity,
    /// When it expires, if it does.
    pub until: Option<u64>,
    /// Its topic. A newer sentence on the same topic replaces it.
    pub topic: Option<&'static str>,
}

/// All current sentences, newest last.
#[derive(Clone, Debug, Default)]
pub struct Status {
    said: VecDeque<StatusMessage>,
    /// The number of failures reported so far.
    troubles: u64,
}

impl Status {
    /// Adds a sentence.
    pub fn say(&mut self, weight: Severity, text: impl Into<String>, now: u64) {
        self.put(weight, text.into(), now, None);
    }

    /// Reports progress on a topic, in place of the previous sentence on it.
    pub fn report(&mut self, topic: &'static str, text: impl Into<String>, now: u64) {
        self.end(topic);
        self.put(Severity::Notice, text.into(), now, Some(topic));
    }

    /// Reports something on a topic that stays until the topic ends or the user dismisses it.
    pub fn alarm(&mut self, topic: &'static str, text: impl Into<String>, now: u64) {
        self.put(Severity::Alarm, text.into(), now, Some(topic));
    }

    /// Removes the sentence on a topic.
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

    /// The sentence that is shown: the newest alarm, else the newest sentence.
    #[must_use]
    pub fn shown(&self) -> Option<&StatusMessage> {
        self.said.iter().rev().find(|said| said.weight == Severity::Alarm).or_else(|| self.said.back())
    }

    /// How many other sentences there are.
    #[must_use]
    pub fn more(&self) -> usize {
        self.said.len().saturating_sub(1)
    }

    /// Dismisses the shown sentence. False when there is none.
    pub fn dismiss(&mut self) -> bool {
        let alarm = self.said.iter().rposition(|said| said.weight == Severity::Alarm);
        match alarm.or_else(|| self.said.len().checked_sub(1)) {
            Some(at) => self.said.remove(at).is_some(),
            None => false,
        }
    }

    /// The number of failures reported so far.
    #[must_use]
    pub fn troubles(&self) -> u64 {
        self.troubles
    }

    /// Removes sentences that expire, because another screen opens.
    pub fn settle(&mut self) {
        self.said.retain(|said| said.until.is_none());
    }

    /// Removes a sentence that is no longer true.
    pub fn retract(&mut self, text: &str) {
        self.said.retain(|said| said.text != text);
    }

    /// Removes expired sentences.
    pub fn pass(&mut self, now: u64) {
        self.said.retain(|said| said.until.is_none_or(|until| until > now));
    }

    /// When the next sentence expires.
    #[must_use]
    pub fn until(&self) -> Option<u64> {
        self.said.iter().filter_map(|said| said.until).min()
    }
}
