//! Lists the lanes on the current branch's path, so that one can be chosen for the next message.
//! Not for: the command that names a lane (`chat::update::commands`).

use super::model::{Choice, Entry, Kind, Picker, PickerPending};
use super::update::waiting_for;
use crate::config::commands::setting::Setting;
use crate::domain::base::time;
use crate::domain::call::tokens::{counted, short};
use crate::domain::conversation::{Lane, lane_use};
use crate::domain::summary::{LaneSummaries, SummaryCard};
use crate::engine::api::{Request, SummaryAct};
use crate::tui::chat::update::branches;
use crate::tui::update::prelude::*;

/// Opens the list, with the cursor on the lane of the next message, and requests the summaries.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let mut picker = Picker::new(Kind::Lanes);
    picker.ticket = send(model, Request::Summary { branch, act: SummaryAct::List }, PickerPending::Lanes, out);
    let entries = entries(model, None);
    let next = model.session.as_ref().map(|session| Choice::Lane(session.lane().text()));
    picker.cursor = entries.iter().position(|entry| Some(&entry.choice) == next.as_ref()).unwrap_or(0);
    picker.fill(entries);
    model.layers.push(picker);
}

/// Adds the summaries to the list.
pub(crate) fn fill(model: &mut Model, ticket: u64, cards: &[SummaryCard]) {
    let entries = entries(model, Some(cards));
    if let Some(picker) = waiting_for(model, ticket) {
        picker.fill(entries);
    }
}

/// The lanes, last used first: `● billing   3 turns · 1.2k tokens · summary · 2026-11-22 12:01`. The state of their
/// summaries is left out while `cards` are not known.
fn entries(model: &Model, cards: Option<&[SummaryCard]>) -> Vec<Entry> {
    let Some(session) = &model.session else { return Vec::new() };
    let (tree, next, offset) = (&session.tree, session.lane(), model.facts.offset);
    let draft = model.drafts.waiting.get(&session.current).map(|draft| &**draft);
    let entry = |one: lane_use::LaneUse| {
        let sign = if one.lane == next { "● " } else { "  " };
        let last = one.last.map(|at| format!("{} {}", time::date(at, offset), time::clock(at, offset)));
        let mut detail = vec![counted(one.turns.into(), "turn"), format!("{} tokens", short(one.est_tokens()))];
        detail.extend(cards.map(|cards| LaneSummaries::of(&one.lane, cards, draft).status().to_owned()));
        detail.push(last.unwrap_or_else(|| "not used yet".to_owned()));
        Entry {
            label: format!("{sign}{}", lane_use::title(tree, &one.lane, "…")),
            detail: detail.join(" · "),
            choice: Choice::Lane(one.lane.text()),
        }
    };
    lane_use::with_next(tree, &model.conversation.path, &next).into_iter().map(entry).collect()
}

/// Chooses a lane for the next message, as `/lane` with its name does.
pub(crate) fn choose(model: &mut Model, text: &str, out: &mut Vec<Cmd>) {
    model.layers.pop();
    let setting = Setting::Lane(Some(Lane::read(text)));
    branches::choose(model, |overrides| setting.apply(overrides), out);
}
