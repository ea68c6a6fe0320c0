//! The rules of lanes: the recent turns of a lane, the time and range of a due summary, the focus of a message, and the
//! question that waits for a typed answer.
//! Not for: making summaries, or assigning a lane to a new message (`domain::conversation::lane`).

use crate::domain::base::named_enum::named_enum;
use crate::domain::planning::Lanes;

/// A turn of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaneTurn {
    pub messages: u32,
    pub tokens: u32,
}

/// Returns the index of the first of these turns (oldest first) that is within the newest `most` messages, rounded to
/// whole turns; the newest turn is always included.
pub fn recent(turns: &[LaneTurn], most: u32) -> usize {
    let mut messages = 0_u32;
    let mut start = turns.len();
    for (at, turn) in turns.iter().enumerate().rev() {
        messages = messages.saturating_add(turn.messages);
        if messages > most && start < turns.len() {
            break;
        }
        start = at;
    }
    start
}

/// Why a summary is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Messages that are not summarized yet.
    Messages(u32),
    /// Tokens that are not summarized yet.
    Tokens(u32),
    /// Hours since the last summary.
    Hours(u64),
}

/// A summary that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueSummary {
    /// Why.
    pub cause: Cause,
    /// Index of the first turn that stays; the summary covers the unsummarized turns before it.
    pub upto: usize,
}

/// Returns the summary that a lane's unsummarized turns (oldest first) need, if any. `since` is the age in seconds of
/// the last summary, or else of the lane's first message. Only unsummarized turns count, so that one summary does not
/// trigger the next. The cut is between turns, so that nothing is lost or repeated. Returns `None` if no limit is
/// exceeded, or if there are no more than the newest `keep` messages.
pub fn due(unsummarized: &[LaneTurn], since: u64, spec: &Lanes) -> Option<DueSummary> {
    let messages = unsummarized.iter().fold(0_u32, |sum, turn| sum.saturating_add(turn.messages));
    let tokens = unsummarized.iter().fold(0_u32, |sum, turn| sum.saturating_add(turn.tokens));
    let hours = since / 3_600;
    let cause = if messages > spec.messages {
        Cause::Messages(messages)
    } else if tokens > spec.tokens {
        Cause::Tokens(tokens)
    } else if spec.hours > 0 && since > u64::from(spec.hours) * 3_600 {
        Cause::Hours(hours)
    } else {
        return None;
    };
    let upto = recent(unsummarized, spec.keep);
    (upto > 0).then_some(DueSummary { cause, upto })
}

named_enum! {
    /// The type of an expected answer.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum AnswerSlot {
        /// Yes or no.
        YesNo => "yes_no",
        /// A number, optionally with a unit.
        Number => "number",
        /// A path or file name.
        Path => "path",
        /// Any words that do not ask a question back.
        Text => "text",
    }
    /// Returns its name in a state block.
    pub fn name
}

impl AnswerSlot {
    /// Returns whether a message consists only of such an answer. A new task that contains a number is not.
    pub fn matches(self, message: &str) -> bool {
        let text = message.trim().trim_end_matches(['.', '!', ',']).trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        let small = |most: usize| !words.is_empty() && words.len() <= most && !text.contains(['\n', '?']);
        match self {
            Self::YesNo => small(4) && yes_or_no(words[0]),
            Self::Number => small(3) && words.iter().any(|word| number(word)),
            Self::Path => small(1) && path(words[0]),
            Self::Text => small(40),
        }
    }
}

fn yes_or_no(word: &str) -> bool {
    const WORDS: &[&str] = &["yes", "no", "y", "n", "yeah", "yep", "nope", "sure", "ok", "okay", "true", "false"];
    let word = word.trim_end_matches([',', ';', ':']);
    WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn number(word: &str) -> bool {
    let digits = word.trim_start_matches(['-', '+', '$', '€', '£', '#']);
    let digits = digits.trim_end_matches(|c: char| c.is_alphabetic() || c == '%');
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '_' | ':'))
}

fn path(word: &str) -> bool {
    let word = word.trim_matches(['`', '"', '\'']);
    let ending = word.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && !end.is_empty() && end.len() <= 8 && end.chars().all(char::is_alphanumeric)
    });
    !word.is_empty() && !word.contains("://") && (word.contains(['/', '\\']) || (ending && !number(word)))
}

/// A question that waits for a typed answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingQuestion {
    /// The expected type.
    pub slot: AnswerSlot,
    /// The question as the model wrote it.
    pub question: String,
}

/// Seconds after which a pending question expires.
const EXPIRES: u64 = 24 * 3_600;

/// Returns the pending question of a state block: its last line `Pending: <type> <question>`, ignoring the case of key
/// and type. `None` without a known type or without a question.
pub fn pending(state: &str) -> Option<PendingQuestion> {
    let mut found = None;
    for line in state.lines() {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '*'));
        let Some((key, rest)) = line.split_once(':') else { continue };
        if !key.trim_matches(['*', ' ']).eq_ignore_ascii_case("pending") {
            continue;
        }
        let rest = rest.trim_start_matches(['*', ' ']).trim();
        let (word, question) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let slot =
            AnswerSlot::ALL.into_iter().find(|slot| word.trim_end_matches(':').eq_ignore_ascii_case(slot.name()));
        found = slot.map(|slot| PendingQuestion { slot, question: question.trim().to_owned() });
    }
    found.filter(|pending| !pending.question.is_empty())
}

/// What a message refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Focus<K> {
    /// The message it replies to.
    Reply(K),
    /// The question that waited for it.
    Pending,
    /// The newest answer in its lane.
    Latest(K),
    /// Nothing; it is the first in its lane.
    None,
}

/// Returns a message's focus: an explicit reply; else a pending question of its lane that the message matches and that
/// has not expired; else the newest answer in its lane. Also returns whether the pending question stays open: a message
/// that does not match clears it and keeps its other focus.
pub fn focus<K>(
    reply: Option<K>,
    pending: Option<(&PendingQuestion, u64)>,
    latest: Option<K>,
    message: &str,
) -> (Focus<K>, bool) {
    let live = pending.filter(|(_, age)| *age <= EXPIRES);
    if let Some(key) = reply {
        return (Focus::Reply(key), live.is_some());
    }
    if live.is_some_and(|(pending, _)| pending.slot.matches(message)) {
        return (Focus::Pending, false);
    }
    (latest.map_or(Focus::None, Focus::Latest), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn turns(count: usize, tokens: u32) -> Vec<LaneTurn> {
        vec![LaneTurn { messages: 2, tokens }; count]
    }

    #[test]
    fn a_summary_is_due_by_messages_tokens_or_hours() {
        let spec = Lanes::default();
        assert_eq!(due(&turns(15, 10), 0, &spec), None, "30 messages are not more than 30");
        assert_eq!(due(&turns(16, 10), 0, &spec), Some(DueSummary { cause: Cause::Messages(32), upto: 11 }));
        assert_eq!(due(&turns(10, 250), 0, &spec), None);
        assert_eq!(due(&turns(10, 251), 0, &spec), Some(DueSummary { cause: Cause::Tokens(2_510), upto: 5 }));
        assert_eq!(due(&turns(10, 1), 24 * 3_600, &spec), None);
        assert_eq!(due(&turns(10, 1), 24 * 3_600 + 1, &spec), Some(DueSummary { cause: Cause::Hours(24), upto: 5 }));
        assert_eq!(due(&turns(10, 1), u64::MAX, &Lanes { hours: 0, ..spec }), None);
        assert_eq!(due(&turns(5, 900), 0, &spec), None, "the last ten stay, however long");
    }

    /// Only unsummarized messages count.
    #[test]
    fn one_summary_does_not_trigger_the_next() {
        let spec = Lanes::default();
        let (mut lane, mut first_raw, mut made) = (Vec::new(), 0, 0);
        for number in 0..100 {
            lane.push(LaneTurn { messages: 2, tokens: 20 });
            if let Some(due) = due(&lane[first_raw..], 0, &spec) {
                assert_eq!(lane[first_raw + due.upto..].len(), 5, "turn {number}");
                first_raw += due.upto;
                made += 1;
            }
        }
        assert_eq!(made, 8, "every eleventh turn after the first sixteen");
    }

    proptest! {
        /// A summary covers exactly the turns before the first one that stays, and at least the newest turn stays.
        #[test]
        fn summaries_end_where_the_tail_begins(sizes in prop::collection::vec((1_u32..9, 0_u32..800), 1..60), keep in 0_u32..30) {
            let lane: Vec<LaneTurn> = sizes.into_iter().map(|(messages, tokens)| LaneTurn { messages, tokens }).collect();
            let spec = Lanes { keep, ..Lanes::default() };
            if let Some(due) = due(&lane, 0, &spec) {
                let tail: u32 = lane[due.upto..].iter().map(|turn| turn.messages).sum();
                prop_assert!(due.upto > 0 && due.upto < lane.len());
                prop_assert!(tail <= keep || due.upto + 1 == lane.len());
                prop_assert!(tail + lane[due.upto - 1].messages > keep);
            }
        }
    }

    #[test]
    fn slots_know_their_answers() {
        let yes = [
            (AnswerSlot::YesNo, "Yes."),
            (AnswerSlot::YesNo, "no, thanks"),
            (AnswerSlot::YesNo, "ok do it"),
            (AnswerSlot::Number, "42"),
            (AnswerSlot::Number, "about 3.5 GB"),
            (AnswerSlot::Number, "12%"),
            (AnswerSlot::Number, "1,000"),
            (AnswerSlot::Path, "src/main.rs"),
            (AnswerSlot::Path, "`Cargo.toml`"),
            (AnswerSlot::Path, "C:\\temp"),
            (AnswerSlot::Text, "the blue one with the long handle"),
        ];
        let no = [
            (AnswerSlot::YesNo, "Not now: please write a function that sorts"),
            (AnswerSlot::YesNo, "yes?"),
            (AnswerSlot::YesNo, ""),
            (AnswerSlot::Number, "Translate chapter 7 into French for me"),
            (AnswerSlot::Number, "v2beta"),
            (AnswerSlot::Path, "see src/main.rs please"),
            (AnswerSlot::Path, "https://a.b/c"),
            (AnswerSlot::Path, "3.5"),
            (AnswerSlot::Path, "hello."),
            (AnswerSlot::Text, "what do you mean?"),
        ];
        for (slot, text) in yes {
            assert!(slot.matches(text), "{slot:?} {text}");
        }
        for (slot, text) in no {
            assert!(!slot.matches(text), "{slot:?} {text}");
        }
    }

    #[test]
    fn a_state_block_opens_a_slot() {
        let found = pending("Goal: ship\n- **Pending:** yes_no Shall I push it?\nNext: wait").unwrap();
        assert_eq!((found.slot, found.question.as_str()), (AnswerSlot::YesNo, "Shall I push it?"));
        assert_eq!(pending("pending: Number How many?").unwrap().slot, AnswerSlot::Number);
        assert_eq!(pending("Pending: none"), None);
        assert_eq!(pending("Pending: path"), None, "a slot without a question asks nothing");
        assert_eq!(pending("Pending: text Name?\nPending: none"), None, "the last line counts");
        assert_eq!(pending("nothing pending: here"), None);
    }

    /// A matching pending question comes before the newest answer.
    #[test]
    fn a_pending_question_comes_before_the_newest_answer() {
        let question = PendingQuestion { slot: AnswerSlot::YesNo, question: "Push?".into() };
        let waiting = |age| Some((&question, age));
        assert_eq!(focus(None, waiting(60), Some(7), "yes"), (Focus::Pending, false));
        assert_eq!(
            focus(Some(3), waiting(60), Some(7), "yes"),
            (Focus::Reply(3), true),
            "a reply is about its message"
        );
        assert_eq!(focus(None, waiting(EXPIRES + 1), Some(7), "yes"), (Focus::Latest(7), false), "expired");
        assert_eq!(
            focus(None, waiting(60), Some(7), "Write a poem"),
            (Focus::Latest(7), false),
            "cleared, focus untouched"
        );
        assert_eq!(focus::<u8>(None, None, None, "hi"), (Focus::None, false));
    }
}
