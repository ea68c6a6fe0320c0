//! Texts of blocks that are made from messages (state, cards of turns, quotes), and the titles of turns in rows.
//! Not for: which of them are sent (`input`), or cards of single messages (`sources::cards`).

use crate::context::render::render_forms;
use crate::domain::base::Hash;
use crate::domain::conversation::{Atom, Content, Mark, NodeHead, Role};
use crate::domain::planning::Form;
use std::sync::Arc;

/// The maximum size of a state block in bytes; longer ones are cut at a line end.
const STATE_BYTES: usize = 8 * 1024;

/// The item of the search's row: the same in every plan.
pub(crate) fn search_atom() -> Atom {
    Atom::Section { text: Hash::of(b"search") }
}

/// Returns a state block as it is sent.
pub(crate) fn state_text(state: &str) -> String {
    render_forms::block("State", bounded(state))
}

/// Returns a turn as a card, which is sent outside the window.
pub(crate) fn card_text(number: u32, at: i64, parts: &[(Role, Arc<Content>)]) -> String {
    let body = render_forms::card_body(parts.iter().map(|(role, content)| (*role, content.as_ref())));
    render_forms::fenced(&format!("Turn {number} of this conversation, {} (kept as context)", date(at)), &body)
}

/// Returns a message as the quote that is replied to.
pub(crate) fn quote_text(head: &NodeHead, content: &Content) -> String {
    let text = render_forms::message_text(head.key, head.role, content, Form::NoState);
    render_forms::fenced(&format!("The user replies to this {} message of {}", head.role.name(), date(head.at)), &text)
}

fn bounded(state: &str) -> &str {
    if state.len() <= STATE_BYTES {
        return state;
    }
    let end = state.floor_char_boundary(STATE_BYTES);
    state[..end].rfind('\n').map_or(&state[..end], |line| &state[..line])
}

/// Returns the atom of the turn with this number (0 for the preamble).
pub(crate) fn atom_of(number: u32, heads: &[NodeHead]) -> Atom {
    let first = heads.first().map(|head| head.key).unwrap_or_default();
    if number == 0 {
        return Atom::Preamble { first };
    }
    Atom::Turn { user: first, tip: heads.last().map_or(first, |head| head.key) }
}

pub(crate) fn title_of(heads: &[NodeHead]) -> String {
    heads.iter().map(|head| head.preview.as_str()).find(|preview| !preview.is_empty()).unwrap_or_default().to_owned()
}

/// Returns the day of a time in UTC, so that the same message has the same label on every machine.
pub(super) fn date(at: i64) -> String {
    jiff::Timestamp::from_millisecond(at).map_or_else(|_| "undated".into(), |t| t.strftime("%Y-%m-%d").to_string())
}

/// Whether a message is marked in a way that may send its turn as a card.
pub(super) fn wants_card(marks: &[Mark], key: Hash) -> bool {
    marks.iter().any(|mark| match mark.target {
        Atom::Turn { user, .. } => user == key,
        Atom::Preamble { first } => first == key,
        Atom::Message { node } => node == key && !mark.kind.excludes(),
        Atom::Episode { call, .. } => call == key && !mark.kind.excludes(),
        Atom::Section { .. } | Atom::Range { .. } => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::conversation::mark::{Actor, MarkKind};
    use crate::engine::sessions::path::tests::head;

    #[test]
    fn a_long_state_is_cut_at_a_line() {
        let lines = |first: usize, second: usize| format!("{}\n{}", "x".repeat(first), "y".repeat(second));
        for (state, sent) in [
            (lines(5, STATE_BYTES - 6), STATE_BYTES),
            (lines(5, STATE_BYTES - 5), 5),
            (lines(STATE_BYTES - 1, 9), STATE_BYTES - 1),
            (lines(STATE_BYTES, 9), STATE_BYTES),
            ("x".repeat(STATE_BYTES + 1), STATE_BYTES),
            (format!("x{}", "é".repeat(STATE_BYTES)), STATE_BYTES - 1),
        ] {
            assert_eq!(bounded(&state).len(), sent);
        }
    }

    #[test]
    fn turns_are_named_by_their_first_and_last_message() {
        let mut heads = [head(1, None, Role::User), head(2, Some(1), Role::Assistant)];
        heads[1].preview = "words".into();
        let [first, tip] = [heads[0].key, heads[1].key];
        assert_eq!(atom_of(0, &heads), Atom::Preamble { first });
        assert_eq!(atom_of(1, &heads), Atom::Turn { user: first, tip });
        assert_eq!(atom_of(2, &[]), Atom::Turn { user: Hash::default(), tip: Hash::default() });
        heads[0].preview = String::new();
        assert_eq!((title_of(&heads), title_of(&heads[..1])), ("words".into(), String::new()));
        assert_eq!([date(0), date(86_400_000 - 1), date(i64::MAX)], ["1970-01-01", "1970-01-01", "undated"]);
    }

    #[test]
    fn a_turn_has_a_card_if_one_of_its_messages_is_marked_and_not_excluded() {
        let (key, other) = (Hash([1; 32]), Hash([2; 32]));
        let mark = |target, kind| {
            let (note, inherited_from, counted, origin, code) = (None, None, None, None, None);
            let by = Actor::User;
            Mark { target, kind, by, note, inherited_from, revision: 1, counted, renewals: 0, origin, code }
        };
        // Each atom with whether a card is needed when it is pinned, and when it is excluded.
        for (target, pinned, excluded) in [
            (Atom::Turn { user: key, tip: other }, true, true),
            (Atom::Turn { user: other, tip: key }, false, false),
            (Atom::Preamble { first: key }, true, true),
            (Atom::Preamble { first: other }, false, false),
            (Atom::Message { node: key }, true, false),
            (Atom::Message { node: other }, false, false),
            (Atom::Episode { call: key, tip: other }, true, false),
            (Atom::Episode { call: other, tip: key }, false, false),
            (Atom::Section { text: key }, false, false),
        ] {
            let wants = |kind| wants_card(&[mark(target, kind)], key);
            let leased = [MarkKind::Sticky, MarkKind::leased(2), MarkKind::IncludeOnce, MarkKind::Ephemeral].map(wants);
            assert_eq!(leased, [pinned; 4], "{target:?}");
            assert_eq!([MarkKind::Exclude, MarkKind::ExcludeOnce].map(wants), [excluded; 2], "{target:?}");
            let two = [mark(Atom::Message { node: other }, MarkKind::Sticky), mark(target, MarkKind::Sticky)];
            assert_eq!(wants_card(&two, key), pinned, "any mark counts");
        }
        assert!(!wants_card(&[], key));
    }
}
