//! Letters in a pane beside an unsent message: whether a letter asks for a second press, and what the notice says.
//! Not for: the guard's state (`model::letter_guard`), or the effect of the actions (`actions`).

use crate::domain::conversation::Atom;
use crate::domain::planning::Verdict;
use crate::engine::api::ItemName;
use crate::tui::chat::update::acts;
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::keys::{Action, Chord};
use crate::tui::model::letter_guard::LetterGuard;
use crate::tui::screens::screen::Screen;

/// Topic of the notice about a letter that waits.
const LETTER: &str = "letter";

/// Whether a letter beside an unsent message waits for a second press; if so, a notice says that. A letter that cannot
/// act does not wait: its action says why.
pub(super) fn asks_first(model: &mut Model, run: Action, chord: Chord) -> bool {
    let approval = model.layers.last().is_some_and(Screen::above_composer);
    let pane = approval || model.layers.is_empty() && model.focus != Focus::Composer;
    if !pane || model.composer.is_empty() {
        model.letters = LetterGuard::default();
        model.status.end(LETTER);
        return false;
    }
    if chord.typed().is_none() || !run.changes_something() || (!approval && !can_act(model, run)) {
        model.letters.forget();
        model.status.end(LETTER);
        return false;
    }
    let waits = model.letters.press((model.focus, approval), chord);
    if waits {
        let esc = model.keys.key_of(Action::Leave).unwrap_or_default();
        let text = format!("{chord} here {}. Again to do it, {esc} to type.", effect(model, run));
        model.status.report(LETTER, text, model.now);
    } else {
        model.status.end(LETTER);
    }
    waits
}

/// The effect of an action in the focused pane, in the words of its footer: `leaves out this turn`.
fn effect(model: &Model, run: Action) -> String {
    let item = match acts::selected_item(model, is_about_message(run)) {
        Some(ItemName::Message(_)) => "this message",
        Some(ItemName::TurnOf(_) | ItemName::Atom(Atom::Turn { .. })) => "this turn",
        Some(ItemName::Named { .. } | ItemName::Atom(_) | ItemName::Span { .. } | ItemName::Note(_)) | None => {
            "this item"
        }
    };
    run.does().replace("the item", item).replace("excludes", "leaves out")
}

/// Whether an action on an answer is about that message instead of its turn.
fn is_about_message(run: Action) -> bool {
    matches!(run, Action::Exclude | Action::ExcludeOnce | Action::Reply)
}

/// Whether an action of the focused pane has something to act on.
fn can_act(model: &Model, run: Action) -> bool {
    use Action as A;
    let Some(session) = &model.session else { return true };
    if matches!(run, A::Pin | A::Lease | A::Exclude | A::ExcludeOnce | A::IncludeOnce | A::Reply) {
        return acts::selected_item(model, is_about_message(run)).is_some();
    }
    if run == A::Dismiss {
        return model.panel_row().is_some_and(|row| row.verdict == Verdict::Suggested);
    }
    if matches!(run, A::Edit | A::Regenerate) {
        return acts::selected_question(model).is_some();
    }
    if matches!(run, A::NextSibling | A::PrevSibling) {
        let upto = model.conversation.path.get(..=model.conversation.cursor).unwrap_or_default();
        return upto.iter().any(|slot| session.tree.place(*slot).1 > 1);
    }
    if run == A::Continue {
        return model.conversation.unfinished(&session.tree).is_some();
    }
    if run == A::Archive {
        let selected = model.panel.selected().filter(|_| model.focus == Focus::Branches);
        let selected = selected.and_then(|id| session.find(id));
        return selected.is_some_and(|branch| branch.archived || branch.id != session.current);
    }
    if run == A::Fork && model.on_next_request() {
        return acts::last_selected(model).is_some();
    }
    run != A::Fork || session.find(session.current).is_some_and(|branch| branch.head.is_some())
}
