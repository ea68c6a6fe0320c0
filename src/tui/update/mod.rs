//! The update of the workbench: a message changes the model and returns commands. It touches nothing else.
//! Not for: drawing (`view`), or carrying commands out (the run loop).
//!
//! Enums are matched exhaustively, so an action, an event, or an answer without a handler does not compile.
#![deny(clippy::wildcard_enum_match_arm)]

pub(crate) mod actions;
pub(crate) mod answers;
pub(crate) mod effects;
mod engine;
mod keys;
mod leave;
mod letters;
mod mouse;
pub(crate) mod open;
pub(crate) mod panels;
pub(crate) mod prelude;
pub(crate) mod session;
pub(crate) mod settings;
mod shared;
mod terminal;
mod travel;

use crate::domain::base::NodeId;
use crate::engine::api::{Event, ProgramRequest, SessionRequest};
use crate::tui::chat::model::pending::MessagePending;
use crate::tui::chat::update::{ask, commands, completing, composing, planning, printed, quit};
use crate::tui::model::Model;
use crate::tui::model::pending::{ProgramPending, SessionPending};
use crate::tui::model::status::Severity;
use crate::tui::msg::{Cmd, Done, EngineMsg, FrameMsg, Msg};
use crate::tui::screens;
use effects::send;
use std::any::TypeId;

/// Changes the model by a message, and returns the commands for the run loop.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Cmd> {
    let mut out = Vec::new();
    let (before, last_ticket) = (model.layers.kind(), model.requests.last);
    let caused_on = cause(model, &msg, before);
    match msg {
        Msg::Tick(now) => tick(model, now),
        Msg::Input(input) => keys::input(model, input, &mut out),
        Msg::Terminal(msg) => terminal::terminal(model, msg, &mut out),
        Msg::Process(msg) => terminal::process(model, msg, &mut out),
        Msg::Config(msg) => settings::config(model, msg, &mut out),
        Msg::Engine(msg) => engine::message(model, msg, &mut out),
        Msg::Frame(FrameMsg::Missing(nodes)) => ask_for_missing(model, &nodes, &mut out),
        // The run loop stores it in the view's cache.
        Msg::Frame(FrameMsg::Highlighted(_)) => {}
        Msg::Done(done) => finish(model, done),
    }
    while let Some(action) = model.input.next_actions.pop_front() {
        actions::run(model, action, None, &mut out);
    }
    while let Some(line) = model.input.next_commands.pop_front() {
        commands::typed(model, &line, &mut out);
    }
    completing::follow(model, &mut out);
    composing::save_when_due(model, &mut out);
    planning::request_plan_when_due(model, &mut out);
    if let Some(run) = model.layers.last().and_then(|screen| screen.after()) {
        run(model, &mut out);
    }
    screens::tour::update::follow(model);
    let topmost = model.layers.kind();
    model.requests.sent_from(last_ticket, topmost);
    model.status.follow([before, topmost], caused_on);
    out
}

/// The screen on which a person caused a message: by a key, or by a request that the message answers.
fn cause(model: &mut Model, msg: &Msg, topmost: Option<TypeId>) -> Option<TypeId> {
    match msg {
        Msg::Input(_) => topmost,
        Msg::Engine(EngineMsg::Event(event)) => match &**event {
            Event::Answer { ticket, .. } => model.requests.take_screen(ticket.0),
            Event::Planned { .. }
            | Event::Session(_)
            | Event::Turn(_)
            | Event::Tool(_)
            | Event::Summary(_)
            | Event::Indexing(_)
            | Event::Program(_) => None,
        },
        Msg::Tick(_)
        | Msg::Terminal(_)
        | Msg::Process(_)
        | Msg::Config(_)
        | Msg::Engine(EngineMsg::TourEvent(..) | EngineMsg::Gone)
        | Msg::Frame(_)
        | Msg::Done(_) => None,
    }
}

fn tick(model: &mut Model, now: u64) {
    model.now = model.now.max(now);
    model.status.pass(model.now);
    ask::report_waiting(model);
    screens::tree::update::continue_filter(model);
}

/// Handles the result of a command.
fn finish(model: &mut Model, done: Done) {
    match done {
        Done::Printed(line, printed) => printed::arrived(model, &line, printed),
        Done::Copied(how) => model.status.say(Severity::Notice, how, model.now),
        Done::Saved(path, result) => quit::saved(model, path, result),
        Done::Edited(result) => composing::edited(model, result),
    }
}

/// Returns the first commands: open the session, and look for servers if nothing is set up.
pub fn start(model: &mut Model, session: Option<String>, branch: Option<String>) -> Vec<Cmd> {
    let mut out = Vec::new();
    send(model, SessionRequest::Open { session, branch, create: true }, SessionPending::Open, &mut out);
    if model.facts.first_start {
        send(model, ProgramRequest::Doctor, ProgramPending::Doctor, &mut out);
    }
    for problem in model.keys.problems().to_vec() {
        model.status.say(Severity::Warning, problem, model.now);
    }
    out
}

/// Requests the contents that a frame lacks, unless they were requested already.
fn ask_for_missing(model: &mut Model, nodes: &[NodeId], out: &mut Vec<Cmd>) {
    let nodes = model.bodies.lacking(nodes);
    if !nodes.is_empty() {
        send(model, SessionRequest::Bodies { nodes }, MessagePending::Contents, out);
    }
}
