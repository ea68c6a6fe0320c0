//! The typed question that waits for an answer: the newest state block of a lane opens it; the next message in that
//! lane answers or clears it.
//! Not for: matching a text to a type (`context::policy::lanes`).

use crate::context::policy::lanes::{self, Focus, PendingQuestion};
use crate::context::render::render_forms;
use crate::domain::conversation::{Lane, Role};
use crate::domain::planning::TurnSelection;
use crate::engine::plans::snapshot::Snapshot;

/// The line that the model is asked to add to its state block under policies with lanes.
pub(crate) const REQUEST: &str = "When you ask a question and need its answer, end the state block with one line \
    `Pending: <yes_no|number|path|text> <the question>`; otherwise leave that line out.";
/// The maximum number of characters of a question that are sent back.
const LONGEST: usize = 500;

/// Returns the block with the question, which is sent before the message that answers it.
pub(crate) fn text(pending: &PendingQuestion) -> String {
    let question: String = pending.question.chars().take(LONGEST).collect();
    render_forms::fenced("The user's message answers this question, which you asked", &question)
}

/// Returns the question that a new message answers. The state block that opened it must be of this lane, no later
/// question may exist in the lane, it must not have expired by the times of the messages, the message must reply to
/// nothing else, and its text must have the expected type.
pub(crate) fn answered(snapshot: &Snapshot, message: &str) -> Option<PendingQuestion> {
    if snapshot.rules.policy.choose != TurnSelection::Lane {
        return None;
    }
    let state = snapshot.state.as_ref()?;
    let pending = lanes::pending(&state.text)?;
    let mut since = snapshot.turns.iter().flat_map(|turn| &turn.heads).skip_while(|head| head.id != state.node);
    let opened = since.next()?;
    let current = Lane::read(&snapshot.lane);
    let mut newest = opened.at;
    for head in since {
        if head.role == Role::User && Lane::read(&head.lane) == current {
            return None;
        }
        newest = newest.max(head.at);
    }
    if Lane::read(&opened.lane) != current {
        return None;
    }
    let age = u64::try_from(newest.saturating_sub(opened.at)).unwrap_or(0) / 1_000;
    let reply = snapshot.reply.as_ref().map(|head| head.id);
    let (focus, _) = lanes::focus(reply, Some((&pending, age)), Some(opened.id), message);
    (focus == Focus::Pending).then_some(pending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::policy::lanes::AnswerSlot;

    #[test]
    fn the_question_is_sent_up_to_its_longest() {
        for (length, sent) in [(1, 1), (LONGEST, LONGEST), (LONGEST + 1, LONGEST)] {
            let text = text(&PendingQuestion { slot: AnswerSlot::Text, question: "é".repeat(length) });
            assert_eq!((text.matches('é').count(), text.contains("which you asked")), (sent, true), "{text}");
        }
    }
}
