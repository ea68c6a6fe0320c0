//! Determines the form of each message of a turn under a person's marks and the shortening of tool results, and what
//! that form costs.
//! Not for: how far results are shortened (`window`, `admit`).

use super::window::CLOSED_RESULT;
use crate::domain::base::Hash;
use crate::domain::conversation::{Atom, Mark, MarkKind, Role};
use crate::domain::planning::Reason;
use crate::domain::planning::input::{CALL_FRAMING, MESSAGE_FRAMING};
use crate::domain::planning::{Block, Form, MessageInput, SendBarrier, TurnInput};
use std::collections::HashMap;

pub(in crate::context) struct Marks<'a> {
    by_turn: HashMap<Hash, Vec<&'a Mark>>,
    by_message: HashMap<Hash, &'a Mark>,
}

impl<'a> Marks<'a> {
    pub(in crate::context) fn new(marks: &'a [Mark]) -> Self {
        let mut by_turn: HashMap<Hash, Vec<&Mark>> = HashMap::new();
        let mut by_message = HashMap::new();
        for mark in marks {
            match mark.target {
                Atom::Turn { user, .. } => by_turn.entry(user).or_default().push(mark),
                Atom::Preamble { first } => by_turn.entry(first).or_default().push(mark),
                Atom::Message { node } => drop(by_message.insert(node, mark)),
                Atom::Episode { call, .. } => drop(by_message.insert(call, mark)),
                Atom::Section { .. } | Atom::Range { .. } => {}
            }
        }
        Self { by_turn, by_message }
    }

    /// Returns the mark that decides about a turn: an exclusion of the turn, otherwise the strongest of its own mark and
    /// the marks on its messages, so that a lease never weakens a pin. The turn must begin with the mark's first message
    /// and contain the mark's last message, because two answers to one question are two turns. A turn with nothing to
    /// send cannot be pinned.
    pub(in crate::context) fn turn(&self, turn: &TurnInput) -> Option<&'a Mark> {
        let first = turn.messages.first()?.key;
        let is_on_turn = |mark: &&Mark| match mark.target {
            Atom::Turn { tip, .. } => turn.messages.iter().any(|message| message.key == tip),
            _ => true,
        };
        let own = self.by_turn.get(&first).and_then(|marks| marks.iter().rev().copied().find(is_on_turn));
        let is_excluded = own.is_some_and(|mark| mark.kind.excludes());
        let has_content = || turn.messages.iter().any(|message| message.bar.is_none());
        let own = own.filter(|_| is_excluded || has_content());
        if is_excluded { own } else { self.message_mark(turn).into_iter().chain(own).max_by_key(|mark| strength(mark)) }
    }

    /// Returns the strongest mark on one of the turn's messages that applies to the whole turn.
    fn message_mark(&self, turn: &TurnInput) -> Option<&'a Mark> {
        if self.by_message.is_empty() {
            return None;
        }
        let marks = turn.messages.iter().filter(|m| m.bar.is_none()).filter_map(|m| self.message(m.key));
        marks.filter(|mark| !mark.kind.excludes()).max_by_key(|mark| strength(mark))
    }

    /// Returns the mark that includes a turn whose messages would not be sent otherwise.
    pub(in crate::context) fn including_mark(&self, turn: &TurnInput) -> Option<&'a Mark> {
        let barred = turn.messages.iter().all(|message| message.bar.is_some());
        let mut marks = turn.messages.iter().filter_map(|message| self.message(message.key));
        marks.find(|mark| barred && mark.kind.includes())
    }

    /// Returns the mark on one message.
    pub(in crate::context) fn message(&self, key: Hash) -> Option<&'a Mark> {
        self.by_message.get(&key).copied()
    }

    /// Returns whether a person includes a message that would not be sent otherwise. An ended lease includes nothing.
    pub(in crate::context) fn includes_message(&self, key: Hash) -> bool {
        self.message(key).is_some_and(|mark| mark.kind.includes())
    }

    /// Returns whether a person excluded this message of a turn.
    pub(in crate::context) fn excludes_message(&self, key: Hash) -> bool {
        self.message(key).is_some_and(|mark| mark.kind.excludes())
    }
}

/// Ranks marks: a required item is stronger than a lease, and a longer lease than a shorter one.
fn strength(mark: &Mark) -> u32 {
    match mark.kind {
        MarkKind::Sticky => u32::MAX,
        MarkKind::IncludeOnce => u32::MAX - 1,
        MarkKind::Leased { turns } => u32::from(turns).min(u32::MAX - 2),
        MarkKind::Ephemeral => 1,
        MarkKind::Exclude | MarkKind::ExcludeOnce => 0,
    }
}

/// The assistant message whose calls the following results answer.
#[derive(Clone, Copy, Default)]
struct CallingMessage {
    /// The calls are sent, so their results must be sent too.
    keeps: bool,
    /// The whole episode was excluded.
    out: bool,
}

/// Returns the form of each message of a turn when its tool results are sent in `tools` (`Full`, `Cut`, or `Elided`).
pub(in crate::context) fn turn_forms(turn: &TurnInput, tools: Form, marks: &Marks<'_>) -> Vec<Form> {
    let mut caller = CallingMessage::default();
    let each = turn.messages.iter().map(|message| {
        let form = if message.bar.is_some() {
            form_if_included(message, marks)
        } else {
            form_of(message, tools, marks, caller)
        };
        if message.bar.is_none() && message.role != Role::Tool {
            let episode = marks.message(message.key).is_some_and(|mark| matches!(mark.target, Atom::Episode { .. }));
            caller =
                CallingMessage { keeps: form != Form::Elided, out: episode && marks.excludes_message(message.key) };
        }
        form
    });
    each.collect()
}

/// Returns the form of a message that is left out unless a person includes it. Its calls are never sent, since their
/// results would be missing.
fn form_if_included(message: &MessageInput, marks: &Marks<'_>) -> Form {
    let is_allowed =
        matches!(message.bar, Some(SendBarrier::Hidden | SendBarrier::Foreign)) && marks.includes_message(message.key);
    let result = message.role == Role::Tool && !message.orphan;
    match (message.calls, message.elided) {
        _ if !is_allowed || result => Form::Out,
        (0, _) => message.whole,
        (_, Some(_)) => Form::Elided,
        (_, None) => Form::Out,
    }
}

fn form_of(message: &MessageInput, tools: Form, marks: &Marks<'_>, caller: CallingMessage) -> Form {
    let excluded = marks.excludes_message(message.key);
    let result = message.role == Role::Tool && !message.orphan;
    match tools {
        _ if message.role == Role::System && excluded => Form::Out,
        Form::Elided if result && !caller.keeps => Form::Gone,
        _ if excluded || (result && caller.out) => Form::Placeholder,
        Form::Elided if message.elided.is_some() => Form::Elided,
        Form::Elided if result => cut_to(message, CLOSED_RESULT),
        Form::Cut(limit) if result => cut_to(message, limit),
        _ => message.whole,
    }
}

/// Shortens a result only if that saves tokens, because the note about the cut takes tokens too.
fn cut_to(message: &MessageInput, limit: u32) -> Form {
    let saves = message.cuts.iter().any(|(at, tokens)| *at == limit && *tokens < message.tokens);
    if saves { Form::Cut(limit) } else { message.whole }
}

/// Returns the tokens of a message's content in a form.
pub(in crate::context) fn tokens_in(message: &MessageInput, form: Form) -> u32 {
    match form {
        Form::Full | Form::NoState | Form::Card => message.tokens,
        Form::Cut(limit) => {
            message.cuts.iter().find(|(at, _)| *at == limit).map_or(message.tokens, |(_, tokens)| *tokens)
        }
        Form::Elided => message.elided.unwrap_or(message.tokens),
        Form::Placeholder => message.placeholder,
        Form::Gone | Form::Out => 0,
    }
}

/// Returns the tokens of a message in a form, with framing.
pub(in crate::context) fn cost_in(message: &MessageInput, form: Form) -> u32 {
    let framing = match form {
        Form::Gone | Form::Out => return 0,
        Form::Elided => MESSAGE_FRAMING,
        Form::Full | Form::NoState | Form::Card | Form::Cut(_) | Form::Placeholder => {
            MESSAGE_FRAMING + CALL_FRAMING * u32::from(message.calls)
        }
    };
    tokens_in(message, form).saturating_add(framing)
}

/// Returns the tokens of a whole turn in these forms, with framing.
pub(in crate::context) fn cost_of(turn: &TurnInput, forms: &[Form]) -> u32 {
    turn.messages.iter().zip(forms).fold(0_u32, |sum, (message, form)| sum.saturating_add(cost_in(message, *form)))
}

/// Returns the tokens of a whole turn with its tool results in `tools`, with framing.
pub(in crate::context) fn turn_cost(turn: &TurnInput, tools: Form, marks: &Marks<'_>) -> u32 {
    cost_of(turn, &turn_forms(turn, tools, marks))
}

/// Returns whether a block is sent only within its lease, the cap of leases, and the budget.
pub(in crate::context) fn is_lease(block: &Block) -> bool {
    matches!(block.reason, Reason::Leased { .. } | Reason::Ephemeral)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::admission::laws_tests::{input, key, mark};
    use crate::domain::conversation::mark::LeaseTurns;
    use crate::domain::planning::policy::PolicySpec;

    /// A mark on the turn, and one on its question.
    #[test]
    fn the_strongest_mark_decides_about_a_turn_unless_the_turn_is_excluded() {
        use MarkKind::{Ephemeral, Exclude, ExcludeOnce, IncludeOnce, Sticky};
        let (lease, longer) = (MarkKind::leased(2), MarkKind::leased(3));
        let ended = MarkKind::Leased { turns: LeaseTurns::Ended };
        let turn = &input(&[[1; 3]], PolicySpec::default(), 100).turns[0];
        for (own, message, decides) in [
            (lease, Sticky, Sticky),
            (ended, Sticky, Sticky),
            (Ephemeral, Sticky, Sticky),
            (IncludeOnce, Sticky, Sticky),
            (lease, IncludeOnce, IncludeOnce),
            (ended, lease, lease),
            (lease, longer, longer),
            (longer, lease, longer),
            (Sticky, lease, Sticky),
            (Exclude, Sticky, Exclude),
            (ExcludeOnce, Sticky, ExcludeOnce),
            (lease, Exclude, lease),
        ] {
            let marks = [mark(turn.atom, own), mark(Atom::Message { node: key(0, 0) }, message)];
            let found = Marks::new(&marks).turn(turn).map(|mark| mark.kind);
            assert_eq!(found, Some(decides), "{own:?} on the turn, {message:?} on its question");
        }
    }
}
