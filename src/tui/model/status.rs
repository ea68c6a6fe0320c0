//! Notices, which disappear by themselves, and alarms, which stay until Esc.
//! Not for: questions (`screens::question`).

use crate::config::commands::read::slashed;
use ratatui::layout::Rect;
use std::any::TypeId;
use std::cell::Cell;
use std::collections::VecDeque;

/// Topic: older messages are being indexed.
pub const INDEXING: &str = "indexing";
/// Topic: a message that was sent waits for its plan.
pub const WAITING: &str = "waiting";
/// Topic: the model is writing a state block.
pub const WRITING_STATE: &str = "writing-state";
/// Topic: an archived branch was left for another one.
pub const MOVED: &str = "moved";
/// Topic: a tool call waits for approval.
pub const ASKING: &str = "asking";

/// A text with its commands as they are typed inside the program.
pub fn in_program(text: &str) -> String {
    slashed(text)
}

/// How long it takes to read one byte of a notice, in milliseconds.
const READING_MS: u64 = 50;

/// The severity of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// A notice for information. It expires after enough time to read it, after four seconds at the earliest.
    Notice,
    /// A failure, which stays longer than a notice.
    Warning,
    /// A message that stays until the user dismisses it.
    Alarm,
}

/// A message to the person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusMessage {
    /// The text, not sanitized.
    pub text: String,
    pub severity: Severity,
    /// When it disappears, in milliseconds of the model's clock; None if it stays.
    pub until: Option<u64>,
    /// Its topic. A newer message on the same topic replaces it.
    pub topic: Option<&'static str>,
    /// The type of the screen that the message is about, if it is about one.
    screen: Option<TypeId>,
    /// The type of the screen that was topmost when the message appeared; None over the chat.
    began_on: Option<TypeId>,
    /// Whether a key was pressed while the message was displayed.
    seen: bool,
}

/// All current messages, newest last.
#[derive(Clone, Debug, Default)]
pub struct Status {
    messages: VecDeque<StatusMessage>,
    /// How many of the newest messages are not yet assigned to a screen.
    unplaced: usize,
    /// The rows of the current notice over the screen that is being drawn; empty if the screen placed none.
    pub place: Cell<Rect>,
}

impl Status {
    /// Adds a message. A notice or a failure replaces the previous message of its severity; an alarm does not.
    pub fn say(&mut self, severity: Severity, text: impl Into<String>, now: u64) {
        let text = text.into();
        if severity != Severity::Alarm && !text.trim().is_empty() {
            self.messages.retain(|message| message.severity != severity || message.topic.is_some());
        }
        if severity == Severity::Notice {
            self.drop_seen();
        }
        self.put(severity, &text, now, None);
    }

    /// Reports progress on a topic, replacing the previous message on it.
    pub fn report(&mut self, topic: &'static str, text: impl Into<String>, now: u64) {
        self.end(topic);
        self.drop_seen();
        self.put(Severity::Notice, &text.into(), now, Some(topic));
    }

    /// Adds an alarm on a topic; it stays until the topic ends or a person dismisses it.
    pub fn alarm(&mut self, topic: &'static str, text: impl Into<String>, now: u64) {
        self.put(Severity::Alarm, &text.into(), now, Some(topic));
    }

    /// Records that a key is pressed: the displayed message was seen.
    pub fn mark_seen(&mut self) {
        if let Some(at) = self.shown_at() {
            self.messages[at].seen = true;
        }
    }

    /// Removes failures that were seen, because something newer succeeded.
    pub fn drop_seen(&mut self) {
        self.messages.retain(|message| message.severity != Severity::Warning || !message.seen);
    }

    /// Removes the message on a topic and returns its text.
    pub fn take(&mut self, topic: &'static str) -> Option<String> {
        let at = self.messages.iter().position(|message| message.topic == Some(topic))?;
        self.messages.remove(at).map(|message| message.text)
    }

    /// Removes the message on a topic.
    pub fn end(&mut self, topic: &'static str) {
        self.messages.retain(|message| message.topic != Some(topic));
    }

    fn put(&mut self, severity: Severity, text: &str, now: u64, topic: Option<&'static str>) {
        if text.trim().is_empty() {
            return;
        }
        let text = slashed(text);
        let rest = match severity {
            Severity::Notice => Some((text.len() as u64 * READING_MS).max(4_000)),
            Severity::Warning => Some(20_000),
            Severity::Alarm => None,
        };
        self.messages.retain(|message| message.text != text);
        self.messages.push_back(StatusMessage {
            text,
            severity,
            until: rest.map(|rest| now + rest),
            topic,
            screen: None,
            began_on: None,
            seen: false,
        });
        self.unplaced += 1;
        if self.messages.len() > 20 {
            self.messages.pop_front();
        }
    }

    /// The displayed message: the newest alarm, or else the newest message.
    pub fn shown(&self) -> Option<&StatusMessage> {
        self.shown_at().and_then(|at| self.messages.get(at))
    }

    /// Whether the displayed message appeared while a screen of this type was topmost.
    pub fn began_on(&self, screen: TypeId) -> bool {
        self.shown().is_some_and(|message| message.began_on == Some(screen))
    }

    fn shown_at(&self) -> Option<usize> {
        let alarm = self.messages.iter().rposition(|message| message.severity == Severity::Alarm);
        alarm.or_else(|| self.messages.len().checked_sub(1))
    }

    /// Number of the other messages.
    pub fn more(&self) -> usize {
        self.messages.len().saturating_sub(1)
    }

    /// Dismisses the displayed message. Returns false if there is none.
    pub fn dismiss(&mut self) -> bool {
        self.shown_at().and_then(|at| self.messages.remove(at)).is_some()
    }

    /// Removes messages that disappear by themselves, because another screen opens.
    pub fn settle(&mut self) {
        self.messages.retain(|message| message.until.is_none());
    }

    /// Removes notices about a screen that is no longer topmost, and failures that were seen before another screen came
    /// to the top. A notice is about the screen on which a key or a request caused it, if that screen was topmost before
    /// the notice and still is.
    pub fn follow(&mut self, [before, topmost]: [Option<TypeId>; 2], caused_on: Option<TypeId>) {
        self.messages.retain(|message| message.screen.is_none() || message.screen == topmost);
        if before != topmost {
            self.drop_seen();
        }
        let new = std::mem::take(&mut self.unplaced);
        self.messages.iter_mut().rev().take(new).for_each(|message| message.began_on = topmost);
        if caused_on == before && before == topmost {
            let notices = self.messages.iter_mut().rev().take(new).filter(|new| new.severity == Severity::Notice);
            notices.for_each(|notice| notice.screen = topmost);
        }
    }

    /// Removes a message that is no longer true.
    pub fn retract(&mut self, text: &str) {
        let text = slashed(text);
        self.messages.retain(|message| message.text != text);
    }

    /// Removes messages whose time has passed.
    pub fn pass(&mut self, now: u64) {
        self.messages.retain(|message| message.until.is_none_or(|until| until > now));
    }

    /// When the next message disappears.
    pub fn until(&self) -> Option<u64> {
        self.messages.iter().filter_map(|message| message.until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_named_as_they_are_typed_here() {
        let mut status = Status::default();
        status.say(Severity::Warning, "There is no turn 99; `pleach message list` shows the turns.", 0);
        let shown = |status: &Status| status.shown().map(|message| message.text.clone());
        assert_eq!(shown(&status).as_deref(), Some("There is no turn 99; `/message list` shows the turns."));
        status.retract("There is no turn 99; `pleach message list` shows the turns.");
        assert_eq!(shown(&status), None);
        assert_eq!(slashed("Quit, and run `pleach doctor --repair`."), "Quit, and run `pleach doctor --repair`.");
    }

    #[test]
    fn a_notice_about_a_screen_goes_with_it() {
        let (list, reader) = (Some(TypeId::of::<u8>()), Some(TypeId::of::<u16>()));
        let mut status = Status::default();
        let shown = |status: &Status| status.shown().map(|message| message.text.clone());
        for (caused_on, why) in [(None, "no act on a screen"), (reader, "an act on a screen that was closed since")] {
            status.say(Severity::Notice, "Copied.", 0);
            status.follow([list, list], caused_on);
            status.follow([list, reader], list);
            assert_eq!(shown(&status).as_deref(), Some("Copied."), "{why}");
        }
        status.say(Severity::Notice, "Enter lists the tools.", 0);
        status.follow([list, list], list);
        assert_eq!(shown(&status).as_deref(), Some("Enter lists the tools."));
        status.follow([list, reader], list);
        assert_eq!(shown(&status), None);
        status.say(Severity::Warning, "refused", 0);
        status.follow([list, list], list);
        status.follow([list, None], list);
        assert_eq!(shown(&status).as_deref(), Some("refused"));
    }

    #[test]
    fn a_seen_failure_goes_once_something_succeeds() {
        let (editor, none) = (Some(TypeId::of::<u8>()), None);
        let shown = |status: &Status| status.shown().map(|message| message.text.clone());
        let failed = || {
            let mut status = Status::default();
            status.say(Severity::Warning, "refused", 0);
            status.follow([none, none], none);
            status
        };
        let mut status = failed();
        status.say(Severity::Notice, "Pinned.", 0);
        assert_eq!((shown(&status).as_deref(), status.more()), (Some("Pinned."), 1), "nobody has seen the failure");
        let mut status = failed();
        status.mark_seen();
        assert_eq!(shown(&status).as_deref(), Some("refused"), "typing keeps it");
        status.say(Severity::Notice, "Pinned.", 0);
        assert_eq!((shown(&status).as_deref(), status.more()), (Some("Pinned."), 0));
        let mut status = failed();
        status.mark_seen();
        status.follow([none, editor], none);
        assert_eq!(shown(&status), None, "it is not about the screen that opened");
        status.say(Severity::Warning, "not saved", 0);
        status.follow([editor, editor], none);
        assert!(status.began_on(TypeId::of::<u8>()) && !status.began_on(TypeId::of::<u16>()));
    }

    #[test]
    fn a_newer_message_replaces_one_of_its_kind() {
        let mut status = Status::default();
        status.say(Severity::Notice, "Pinned.", 0);
        status.report(INDEXING, "indexing", 0);
        status.say(Severity::Notice, "Unpinned.", 1);
        let texts = |status: &Status| status.messages.iter().map(|message| message.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&status), ["indexing", "Unpinned."]);
        status.say(Severity::Alarm, "first", 2);
        status.say(Severity::Alarm, "second", 2);
        status.say(Severity::Warning, "refused", 2);
        status.say(Severity::Warning, " ", 2);
        assert_eq!((status.more(), texts(&status).len()), (4, 5), "alarms stay until they are read");
        status.say(Severity::Warning, "refused again", 3);
        assert_eq!(texts(&status).last().map(String::as_str), Some("refused again"));
        assert_eq!(status.more(), 4);
    }
}
