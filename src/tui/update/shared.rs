//! Actions that a screen may have or not have: the topmost screen decides their effect. A screen without the action
//! passes, and a notice says so; no other screen's effect takes place.
//! Not for: actions that work everywhere (`actions`).

use crate::tui::model::keys::Chord;
use crate::tui::screens::screen::{Outcome, Run, Screen};
use crate::tui::update::prelude::*;

/// An action, and the key that was pressed for it.
pub(super) type Trigger = (Action, Option<Chord>);

/// Topic of the notice about an action that a screen does not have.
const ELSEWHERE: &str = "elsewhere";

/// Offers an action to the topmost screen. Returns false if the screen passes or none is open.
pub(super) fn taken(
    model: &mut Model,
    handle: impl FnOnce(&mut (dyn Screen + 'static)) -> Outcome,
    out: &mut Vec<Cmd>,
) -> bool {
    model.layers.last_mut().map_or(Outcome::Pass, handle).finish(model, out)
}

/// Offers an action to the topmost screen. If it passes, a notice says that the action does nothing there.
pub(super) fn offer(
    model: &mut Model,
    trigger: Trigger,
    handle: impl FnOnce(&mut (dyn Screen + 'static)) -> Outcome,
    out: &mut Vec<Cmd>,
) {
    if !taken(model, handle, out) {
        elsewhere(model, trigger);
    }
}

/// Changes the topmost screen if it has type `S`; otherwise a notice says that the action does nothing there.
pub(super) fn on<S: Screen>(model: &mut Model, trigger: Trigger, change: impl FnOnce(&mut S)) {
    match model.layers.top_mut() {
        Some(screen) => change(screen),
        None => elsewhere(model, trigger),
    }
}

/// Runs a change if the topmost screen has type `S`; otherwise a notice says that the action does nothing there.
pub(super) fn only<S: Screen>(model: &mut Model, trigger: Trigger, run: Run, out: &mut Vec<Cmd>) {
    if model.layers.on::<S>() {
        run(model, out);
    } else {
        elsewhere(model, trigger);
    }
}

/// Requests, screens, and notices; they change with every action that does something on another screen.
pub(super) fn visible(model: &Model, out: &[Cmd]) -> (usize, usize, Option<String>) {
    (out.len(), model.layers.len(), model.status.shown().map(|notice| notice.text.clone()))
}

/// Says that an action does nothing on the topmost screen, and where it works.
pub(super) fn elsewhere(model: &mut Model, (action, chord): Trigger) {
    let name = chord.map_or_else(|| format!("/{}", action.name()), |chord| chord.to_string());
    let list = match model.focus {
        Focus::Context => Some(Action::NextRequest),
        Focus::Tools => Some(Action::Traces),
        Focus::Branches => Some(Action::Tree),
        Focus::Composer | Focus::Conversation => None,
    };
    let places: Vec<&str> = model.keys.elsewhere(action, model.places()).into_iter().map(KeyPlace::title).collect();
    let text = match list.filter(|_| model.layers.is_empty()) {
        Some(list) => format!("This works in the list; {} opens it.", model.keys.key(list)),
        None if chord.is_none() && !places.is_empty() => {
            format!("{name} does nothing here. It works on another screen: {}.", places.join(", "))
        }
        None => format!("{name} does nothing here; {} shows all keys.", model.keys.key(Action::Help)),
    };
    model.status.report(ELSEWHERE, text, model.now);
}
