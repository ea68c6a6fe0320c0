//! The table of answers: each goes to the part of the screen whose request it answers. An answer to an unknown ticket
//! is dropped.
//! Not for: the effect of answers (each family's `answered`), or unrequested events (`engine`).

use super::effects::show_answer;
use super::{session, settings};
use crate::domain::base::Failure;
use crate::engine::api::{Answer, Ticket};
use crate::tui::chat::update::{ask, composing, messages, state};
use crate::tui::screens::{
    approval, aside, calls, compare, editor, memories, picker, race, raw_request, request, search, summaries, tools,
    traces, usage, what_if,
};
use crate::tui::update::prelude::*;

/// Passes an answer to the family of its request.
pub(super) fn answer(model: &mut Model, ticket: Ticket, result: Result<Answer, Failure>, out: &mut Vec<Cmd>) {
    let Some(pending) = model.requests.pending.remove(&ticket.0) else { return };
    let ticket = ticket.0;
    match pending {
        Pending::Turn(pending) => ask::answered(model, pending, result, out),
        Pending::Composer(pending) => composing::answered(model, ticket, pending, result, out),
        Pending::Message(pending) => messages::answered(model, pending, result, out),
        Pending::Session(pending) => session::answered(model, pending, result, out),
        Pending::Program(pending) => settings::answered(model, pending, result),
        Pending::Rules => approval::update::answered(model, result),
        Pending::Aside => aside::update::answered(model, ticket, result, out),
        Pending::Compare => compare::update::answered(model, ticket, result),
        Pending::Usage => usage::update::answered(model, ticket, result),
        Pending::WhatIf(branch) => what_if::update::answered(model, branch, result, out),
        Pending::WhatIfModels(branch) => what_if::update::listed(model, branch, result, out),
        Pending::Calls(pending) => calls::update::answered(model, ticket, pending, result),
        Pending::Editor(pending) => editor::update::answered(model, ticket, pending, result, out),
        Pending::Memories(pending) => memories::update::answered(model, ticket, pending, result, out),
        Pending::Picker(pending) => picker::update::answered(model, ticket, pending, result),
        Pending::Race(pending) => race::update::answered(model, pending, result, out),
        Pending::RawRequest(pending) => raw_request::update::answered(model, pending, result),
        Pending::Request(pending) => request::update::answered(model, ticket, pending, result),
        Pending::Search(pending) => search::update::answered(model, ticket, pending, result, out),
        Pending::Summary(pending) => summaries::update::answered(model, pending, result, out),
        Pending::Tools(pending) => tools::update::answered(model, ticket, pending, result, out),
        Pending::Trace(pending) => traces::update::answered(model, pending, result, out),
        Pending::State(by) => state::rebuilt(model, by, result),
        Pending::Act => show_answer(model, result),
    }
}
