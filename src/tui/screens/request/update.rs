//! The overlay's list: taking lines to act on them together, arranging it, leaving it step by step; and the look ahead at
//! what the act at hand would do, asked for once the selection rests.
//! Not for: the acts themselves (`acts`), or opening the overlay (`open`).

use super::model::Overlay;
use super::model_preview::Ahead;
use crate::domain::base::failure::{Failure, FailureKind};
use crate::engine::api::{Act, Answer, Item, PlanRequest, Request};
use crate::tui::model::layer::{Layer, Reader};
use crate::tui::model::status::Weight;
use crate::tui::model::{Action, Model, Pending};
use crate::tui::msg::Cmd;
use crate::tui::screens::request::model_filter::Arranged;
use crate::tui::update::{send, wire};

/// How long the selection must rest before it is asked what its act would do, in milliseconds.
const REST: u64 = 150;

fn on_top(model: &mut Model) -> Option<&mut Overlay> {
    match model.layers.last_mut() {
        Some(Layer::Overlay(overlay)) => Some(overlay),
        _ => None,
    }
}

/// The list of the next request, or a sentence where it is not open.
fn listed(model: &mut Model) -> Option<&mut Overlay> {
    if on_top(model).is_none() {
        let key = model.keys.key_of(Action::Context).unwrap_or_default();
        model.status.say(Weight::Notice, format!("This works in the list that {key} opens."), model.now);
    }
    on_top(model)
}

/// Takes the selected line to act on several at once, or lets it go.
pub(crate) fn take_row(model: &mut Model) {
    if let Some(Err(why)) = listed(model).map(Overlay::take) {
        model.status.say(Weight::Notice, why, model.now);
    }
}

/// Takes all listed lines that can be acted on, or lets them go.
pub(crate) fn take_all(model: &mut Model) {
    if let Some(overlay) = listed(model) {
        overlay.take_all();
    }
}

/// Shows the details of the selected item and of the plan, or hides them.
pub(crate) fn details(model: &mut Model) {
    if let Some(overlay) = listed(model) {
        overlay.details = !overlay.details;
        overlay.detail_scroll = 0;
    }
}

/// Goes to the next order of the list.
pub(crate) fn order(model: &mut Model) {
    arrange(model, |arranged| arranged.order = arranged.order.next());
}

/// Goes to the next grouping of the list, or of the exact request.
pub(crate) fn group(model: &mut Model) {
    if let Some(Layer::Raw(raw)) = model.layers.last_mut() {
        return raw.regroup();
    }
    arrange(model, |arranged| arranged.group = arranged.group.next());
}

fn arrange(model: &mut Model, change: impl FnOnce(&mut Arranged)) {
    let Some(overlay) = listed(model) else { return };
    let mut arranged = overlay.arranged;
    change(&mut arranged);
    overlay.arrange(arranged);
    model.arranged = arranged;
    let words = arranged.words().unwrap_or_else(|| "by section, in plan order".to_owned());
    model.status.report("arranged", format!("The list is {words}."), model.now);
}

/// What was taken to be acted on together; none where nothing was.
pub(crate) fn taken(model: &Model) -> Option<Vec<Item>> {
    match model.layers.last() {
        Some(Layer::Overlay(overlay)) if !overlay.taken.is_empty() => {
            Some(overlay.taken().into_iter().map(Item::Atom).collect())
        }
        _ => None,
    }
}

/// Esc: first what was taken is let go, then the filter; says whether there was either.
pub(crate) fn leave(model: &mut Model) -> bool {
    let Some(overlay) = on_top(model) else { return false };
    if !overlay.filtering && overlay.let_go() {
        return true;
    }
    if overlay.filtering || !overlay.filter.is_empty() {
        overlay.filtering = false;
        overlay.filter.clear();
        overlay.list();
        overlay.land(1);
        return true;
    }
    false
}

/// Enter on a line that holds no others: its full text, or a tool among all.
pub(crate) fn read(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(overlay) = on_top(model) else { return };
    if let Some(tool) = overlay.selected_tool() {
        let name = tool.name.clone();
        return crate::tui::screens::tools::update::show(model, name, out);
    }
    let Some(atom) = overlay.selected_atom() else { return };
    let title = match (overlay.selected_past(), overlay.selected()) {
        (Some(turn), _) => turn.title.clone(),
        (None, Some((row, Some(item)))) => row.items.get(item).map(|item| item.title.clone()).unwrap_or_default(),
        (None, Some((row, None))) => row.title.clone(),
        (None, None) => return,
    };
    if let Some(text) = overlay.texts.get(&atom.key()).cloned().filter(|text| !text.is_empty()) {
        model.layers.push(Layer::Reader(Reader::new(title, text, true)));
    }
}

/// Asks what the act at hand would do, once the selection rests.
pub(crate) fn look_ahead(model: &mut Model, out: &mut Vec<Cmd>) {
    let now = model.now;
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let true_yet = model.plan.due.is_none();
    let draft = model.plan.shown.as_ref().map(|shown| shown.draft.clone());
    let Some(overlay) = on_top(model) else { return };
    let stamp = overlay.stamp();
    if stamp != overlay.ahead.stamp {
        let wish = overlay.wish();
        let due = wish.is_some().then_some(now + REST);
        overlay.ahead = Ahead { stamp, due, ticket: None, wish, found: None };
    }
    let due = overlay.ahead.due.is_some_and(|due| due <= now);
    let (Some(draft), true) = (draft, due && true_yet) else { return };
    overlay.ahead.due = None;
    let Some(wish) = overlay.ahead.wish.clone() else { return };
    let items = wish.atoms.into_iter().map(Item::Atom).collect();
    let act = Act::Set { kind: wish.kind, toggle: wish.toggle };
    let request = Request::Plan(PlanRequest::Preview { branch, draft: wire(&draft), items, act });
    let ticket = send(model, request, Pending::Ahead, out);
    if let Some(overlay) = on_top(model) {
        overlay.ahead.ticket = Some(ticket);
    }
}

/// It was worked out, or could not be.
pub(crate) fn ahead(model: &mut Model, ticket: u64, result: Result<Answer, Failure>) {
    for layer in &mut model.layers {
        let Layer::Overlay(overlay) = layer else { continue };
        let ahead = &mut overlay.ahead;
        if ahead.ticket != Some(ticket) {
            continue;
        }
        ahead.ticket = None;
        match result {
            Ok(Answer::Foreseen(found)) => ahead.found = Some(Ok(found)),
            Ok(_) => {}
            // A newer plan is on its way.
            Err(failure) if failure.kind == FailureKind::Stale => ahead.due = Some(model.now + 2 * REST),
            Err(failure) => ahead.found = Some(Err(failure.to_string())),
        }
        return;
    }
}
