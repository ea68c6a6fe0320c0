//! Updates of the tools screen: loading the list, switching tools, restarting servers, and approving changed tools.
//! Not for: moving the cursor (`tui::update::travel`).

use super::model::{ListEntry, ToolsPending, ToolsScreen};
use crate::domain::base::{Failure, Hash};
use crate::domain::tool::{FileCard, ToolList};
use crate::engine::api::{Answer, ServerAct, ToolAnswer, ToolRequest};
use crate::tui::screens::question::model::{Act, Question};
use crate::tui::screens::reader::model::Reader;
use crate::tui::update::effects::{show_answer, show_failure};
use crate::tui::update::prelude::*;

/// Handles the answers to the requests of this screen.
pub(crate) fn answered(
    model: &mut Model,
    ticket: u64,
    pending: ToolsPending,
    result: Result<Answer, Failure>,
    out: &mut Vec<Cmd>,
) {
    match (pending, result) {
        (ToolsPending::List, Ok(Answer::Tool(ToolAnswer::ToolList(all)))) => arrived(model, ticket, all),
        (ToolsPending::List, Err(failure)) => {
            model.layers.close::<ToolsScreen>(|screen| screen.ticket == ticket);
            show_failure(model, &failure);
        }
        (ToolsPending::List, result) => show_answer(model, result),
        (ToolsPending::Change, result) => {
            match result {
                Ok(Answer::Done(text)) if !text.is_empty() => model.status.say(Severity::Notice, text, model.now),
                Ok(_) => {}
                Err(failure) => show_failure(model, &failure),
            }
            changed(model, out);
        }
    }
}

fn top(model: &Model) -> Option<&ToolsScreen> {
    model.layers.top::<ToolsScreen>()
}

/// Opens the screen, or closes it if it is open.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.layers.close::<ToolsScreen>(|_| true) {
        return;
    }
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let ticket = send(model, ToolRequest::Servers(Some(branch), ServerAct::List), ToolsPending::List, out);
    model.layers.push(ToolsScreen::new(branch, ticket));
}

/// Opens the screen at a tool, by the name that the model sees.
pub(crate) fn show(model: &mut Model, tool: String, out: &mut Vec<Cmd>) {
    model.layers.close::<ToolsScreen>(|_| true);
    open(model, out);
    if let Some(screen) = model.layers.top_mut::<ToolsScreen>() {
        screen.wanted = Some(tool);
    }
}

/// Loads the list again if it is open.
pub(crate) fn changed(model: &mut Model, out: &mut Vec<Cmd>) {
    let open = model.layers.all::<ToolsScreen>().next().map(|screen| screen.branch);
    let Some(branch) = open else { return };
    let ticket = send(model, ToolRequest::Servers(Some(branch), ServerAct::List), ToolsPending::List, out);
    for screen in model.layers.all_mut::<ToolsScreen>() {
        screen.ticket = ticket;
    }
}

/// Stores the list, and asks about servers in the folder that need a decision.
fn arrived(model: &mut Model, ticket: u64, all: Box<ToolList>) {
    let is_it = |screen: &ToolsScreen| screen.ticket == ticket;
    let on_top = top(model).is_some_and(is_it);
    let Some(screen) = model.layers.all_mut::<ToolsScreen>().find(|screen| is_it(screen)) else { return };
    screen.show(all);
    if on_top && !screen.asked {
        screen.asked = true;
        let question = screen.waiting_file().map(ask_file);
        model.layers.extend(question);
    }
}

/// Asks whether to use the folder's servers, with the command of each.
fn ask_file(file: &FileCard) -> Question {
    let about = "Server programs run with your permissions, outside the sandbox; pleach reaches servers with a URL \
    over the network.";
    let mut words = vec![about.to_owned()];
    let skipped = |names| format!("Skipped, because your settings have servers with these names: {names}.");
    words.extend(file.skipped_servers().map(skipped));
    words.extend(file.servers.iter().filter(|server| !server.taken).map(|server| {
        let given =
            if server.given.is_empty() { String::new() } else { format!("  (receives {})", server.given.join(", ")) };
        format!("{}: {}{given}", server.name, server.command)
    }));
    let choices = vec![
        ('n', "not now".to_owned(), Act::Close),
        ('y', "yes, until the file changes".to_owned(), Act::FolderServers(file.digest, true)),
        ('x', "no, until the file changes".to_owned(), Act::FolderServers(file.digest, false)),
    ];
    Question::new(format!("Use the servers in {} in this folder?", file.path), words, choices)
}

/// Sends the decision about the folder's file.
pub(crate) fn decide_file(model: &mut Model, digest: Hash, yes: bool, out: &mut Vec<Cmd>) {
    send(model, ToolRequest::Servers(None, ServerAct::File { digest, yes }), ToolsPending::Change, out);
}

/// Switches the selected tool, or all tools of the selected server, on or off.
pub(crate) fn toggle(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some((screen, entry)) = top(model).and_then(|screen| Some((screen, screen.entry()?))) else { return };
    let (key, on) = match (screen.tool(entry), screen.server(entry)) {
        (Some(_), Some(server)) if !server.on => (server.key.clone(), true),
        (Some(tool), _) => (tool.key.clone(), !tool.on),
        (None, Some(server)) => (server.key.clone(), !server.on),
        (None, None) => return approve(model, out),
    };
    let branch = Some(screen.branch);
    send(model, ToolRequest::Servers(branch, ServerAct::Switch { keys: vec![key], on }), ToolsPending::Change, out);
}

pub(crate) fn restart(model: &mut Model, out: &mut Vec<Cmd>) {
    let server =
        top(model).and_then(|screen| screen.server(screen.entry()?)).filter(|server| !server.command.is_empty());
    let Some(server) = server.map(|server| server.name.clone()) else {
        return model.status.say(Severity::Notice, "Only servers can be restarted.", model.now);
    };
    send(model, ToolRequest::Servers(None, ServerAct::Restart { server }), ToolsPending::Change, out);
}

/// Approves the selected line: a changed tool, all changed tools of a server, or, after asking, the folder's file.
pub(crate) fn approve(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some((screen, entry)) = top(model).and_then(|screen| Some((screen, screen.entry()?))) else { return };
    if entry == ListEntry::File {
        let file = screen.tool_list.as_ref().and_then(|all| all.file.as_ref()).filter(|file| file.fault.is_none());
        let question = file.map(ask_file);
        model.layers.extend(question);
        return;
    }
    let Some(server) = screen.server(entry) else { return };
    let (name, tool) = (server.name.clone(), screen.tool(entry));
    let waits = tool.map_or_else(|| server.tools.iter().any(|tool| tool.waits), |tool| tool.waits);
    if !waits {
        return model.status.say(Severity::Notice, "Nothing needs approval here.", model.now);
    }
    let tool = tool.map(|tool| tool.tool.clone());
    send(model, ToolRequest::Servers(None, ServerAct::Approve { server: name, tool }), ToolsPending::Change, out);
}

/// Handles Enter: opens a tool's description, folds a server's tools, or asks about the folder's file.
pub(crate) fn enter(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some((screen, entry)) = top(model).and_then(|screen| Some((screen, screen.entry()?))) else { return };
    match (entry, screen.tool(entry)) {
        (ListEntry::File, _) => approve(model, out),
        (_, Some(tool)) => {
            let text = format!("{}\n\n{}\n\n{}", tool.name, tool.description, tool.parameters);
            let reader = Reader::new(tool.name.clone(), text, true);
            model.layers.push(reader);
        }
        (_, None) => {
            if let Some(screen) = model.layers.top_mut::<ToolsScreen>() {
                screen.fold();
            }
        }
    }
}
