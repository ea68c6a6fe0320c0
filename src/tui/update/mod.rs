//! How the workbench changes: a message in, commands out, nothing else touched.
//! Not for: looks (`view`) or doing the commands (the run loop).

pub(crate) mod actions;
pub(crate) mod answers;
pub(crate) mod effects;
mod engine;
mod keys;
mod leave;
mod mouse;
pub(crate) mod open;
pub(crate) mod panes;
pub(crate) mod session;
pub(crate) mod settings;
mod travel;

use crate::engine::api::{ProgramRequest, Request, SessionRequest};
use crate::tui::chat::model::pending::MessagePending;
use crate::tui::model::Model;
use crate::tui::model::pending::{Pending, ProgramPending, SessionPending};
use crate::tui::model::status::Severity;
use crate::tui::msg::{Cmd, Msg};
use effects::send;

/// Changes the model by what happened, and returns what is to be done outside.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Cmd> {
    let mut out = Vec::new();
    match msg {
        Msg::Tick(now) => {
            model.now = model.now.max(now);
            model.status.pass(model.now);
            super::chat::update::ask::tell_that_it_waits(model);
            super::screens::tree::update::sift(model);
        }
        Msg::Key(chord) => keys::key(model, chord, &mut out),
        Msg::Paste(text) => keys::paste(model, &text, &mut out),
        Msg::Resize(columns, rows) => {
            let tour = super::screens::tour::model::rows(model, rows);
            model.size = (columns, rows.saturating_sub(tour));
        }
        Msg::Mouse(pointer) => mouse::mouse(model, pointer, &mut out),
        Msg::Focus(here) => {
            model.away = !here;
            // Files are written in other windows.
            out.extend(here.then_some(Cmd::Reload(false)));
        }
        Msg::Touched => out.push(Cmd::Reload(false)),
        Msg::Reloaded(result) => settings::reloaded(model, result, &mut out),
        Msg::Written(result) => settings::written(model, result),
        Msg::Ran(line, printed) => super::chat::update::printed::came(model, &line, printed),
        Msg::Engine(event) => engine::event(model, *event, &mut out),
        Msg::Wanted(nodes) => want(model, &nodes, &mut out),
        // Taken in by the view and its cache, and told apart by the run loop.
        Msg::Ground(_) | Msg::Coloured(_) | Msg::TourEvent(..) => {}
        Msg::Unsaved(path, result) => super::chat::update::quit::saved(model, path, result),
        Msg::Copied(how) => model.status.say(Severity::Notice, how, model.now),
        Msg::Signal(_) | Msg::EngineGone => model.quit = true,
        Msg::Resumed => out.push(Cmd::Redraw),
        Msg::Suspend => out.push(Cmd::Suspend),
        Msg::Composed(result) => super::chat::update::composing::edited(model, result),
    }
    while let Some(action) = model.next_actions.pop_front() {
        actions::run(model, action, None, &mut out);
    }
    super::chat::update::completing::follow(model, &mut out);
    super::chat::update::composing::keep(model, &mut out);
    super::chat::update::planning::replan_when_due(model, &mut out);
    if let Some(run) = model.layers.last().and_then(|screen| screen.after()) {
        run(model, &mut out);
    }
    super::screens::tour::update::follow(model);
    out
}

/// The first commands: open the session that was wished, and look around where nothing is set up.
pub fn start(model: &mut Model, session: Option<String>, branch: Option<String>) -> Vec<Cmd> {
    let mut out = Vec::new();
    send(
        model,
        Request::Session(SessionRequest::Open { session, branch, create: true }),
        Pending::Session(SessionPending::Open),
        &mut out,
    );
    if model.facts.first_start {
        send(model, Request::Program(ProgramRequest::Doctor), Pending::Program(ProgramPending::Doctor), &mut out);
    }
    for problem in model.keys.problems().to_vec() {
        model.status.say(Severity::Trouble, problem, model.now);
    }
    out
}

fn want(model: &mut Model, nodes: &[crate::domain::base::ids::NodeId], out: &mut Vec<Cmd>) {
    let nodes = model.bodies.lacking(nodes);
    if !nodes.is_empty() {
        send(
            model,
            Request::Session(SessionRequest::Bodies { nodes: nodes.clone() }),
            Pending::Message(MessagePending::Contents),
            out,
        );
    }
}
