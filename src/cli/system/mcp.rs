//! `mcp`: tools and MCP servers with their state and cost, and their approval.
//! Not for: tool calls (`consent`), or starting servers (`engine`).

use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::{column, in_commands};
use crate::cli::stop::Stop;
use crate::config::commands::system::McpCommand;
use crate::domain::base::{BranchId, Failure};
use crate::domain::call::tokens::counted;
use crate::domain::tool::{FileCard, FileDecision, Origin, ServerCard, ServerState, ToolList};
use crate::engine::api::{ServerAct, ToolAnswer, ToolRequest};

pub(crate) fn mcp(run: &mut Run<'_, '_>, command: Option<&McpCommand>) -> Result<(), Stop> {
    match command {
        None | Some(McpCommand::List) => {
            let branch = run.open(false).ok().map(|view| view.current);
            let all = tool_list(run, branch, ServerAct::Settle)?;
            if run.io.json {
                return run.io.value(&all);
            }
            list(run, &all);
            Ok(())
        }
        Some(McpCommand::Test { server }) => test(run, server),
        Some(McpCommand::On { keys }) => switch(run, keys, true),
        Some(McpCommand::Off { keys }) => switch(run, keys, false),
        Some(McpCommand::Approve { server, tool }) => {
            tool_list(run, None, ServerAct::Settle)?;
            let act = ServerAct::Approve { server: server.clone(), tool: tool.clone() };
            run.change(ToolRequest::Servers(None, act), "Approved.")
        }
        Some(McpCommand::Use { yes }) => file(run, *yes),
    }
}

fn tool_list(run: &mut Run<'_, '_>, branch: Option<BranchId>, act: ServerAct) -> Result<ToolList, Stop> {
    let all = expect_answer!(run, Tool(ToolAnswer::ToolList), ToolRequest::Servers(branch, act));
    Ok(*all)
}

fn switch(run: &mut Run<'_, '_>, keys: &[String], on: bool) -> Result<(), Stop> {
    let branch = run.open(false)?.current;
    let all = tool_list(run, Some(branch), ServerAct::List)?;
    let known =
        |key: &str| all.servers.iter().any(|server| server.key == key || server.tools.iter().any(|t| t.key == key));
    // The tools of a server that has not started are unknown, so any key with that server's name is accepted. Keys of
    // unknown servers are not.
    let served = |key: &str| key.split_once('/').is_some_and(|(name, _)| all.servers.iter().any(|s| s.name == name));
    if let Some(key) = keys.iter().find(|key| !known(key) && !served(key)) {
        return Err(Failure::user(format!("There is no tool {key:?}."))
            .todo("`pleach mcp list` lists the tools.")
            .into());
    }
    let act = ServerAct::Switch { keys: keys.to_vec(), on };
    run.change(ToolRequest::Servers(Some(branch), act), if on { "Already enabled." } else { "Already disabled." })
}

fn test(run: &mut Run<'_, '_>, name: &str) -> Result<(), Stop> {
    let all = tool_list(run, None, ServerAct::Test { server: name.to_owned() })?;
    let Some(server) = all.servers.iter().find(|server| server.name == name && server.origin != Origin::Own) else {
        let why = if all.trusted { "" } else { " This folder is not trusted, so no server starts." };
        let names: Vec<&str> = all.servers.iter().skip(1).map(|server| server.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(Failure::user(format!("There is no server {name:?}. Known servers: {names}.{why}")).into());
    };
    if run.io.json {
        run.io.value(server)?;
    } else {
        print_server(run, server, true);
    }
    match &server.state {
        ServerState::Failed { why, todo } => Err(Failure::user(format!("{name}: {why}.")).todo(todo.clone()).into()),
        ServerState::Off { why } => Err(Failure::user(format!("{name} is off: {why}.")).into()),
        _ => Ok(()),
    }
}

fn list(run: &mut Run<'_, '_>, all: &ToolList) {
    if !all.trusted {
        run.io.note("this folder is not trusted: no tools are offered and no server starts");
    }
    if let Some(file) = &all.file {
        print_file(run, file);
    }
    for server in &all.servers {
        print_server(run, server, false);
    }
    if all.servers.iter().all(|server| server.origin == Origin::Own) && all.file.is_none() {
        run.io.note(if all.built {
            "no servers: add [mcpServers.NAME] to the settings, or .mcp.json to the folder"
        } else {
            "this build has no MCP support"
        });
    }
    if all.trusted {
        let offered: usize = all.servers.iter().map(|server| server.sent_tools().count()).sum();
        run.io.say(&format!(
            "{} in every request: {} (estimated)",
            counted(offered as u64, "tool"),
            counted(all.tokens.into(), "token")
        ));
    }
}

fn print_file(run: &mut Run<'_, '_>, file: &FileCard) {
    let words = match (&file.fault, file.word) {
        (Some(why), _) => format!("unusable: {why}"),
        (None, FileDecision::Waits) => "not used until you approve it with `pleach mcp use`".to_owned(),
        (None, FileDecision::Yes) => "used".to_owned(),
        (None, FileDecision::No) => "not used".to_owned(),
    };
    run.io.say(&format!("{}: {words}", file.path));
    for server in file.servers.iter().filter(|server| server.taken) {
        run.io.say(&format!("  {}: skipped: your settings have a server with this name", server.name));
    }
}

fn print_server(run: &mut Run<'_, '_>, server: &ServerCard, whole: bool) {
    let state = match &server.state {
        ServerState::Ready if !server.on => "off".to_owned(),
        ServerState::Ready => {
            format!(
                "ready, {}, {} (estimated)",
                counted(server.sent_tools().count() as u64, "tool"),
                counted(server.tokens.into(), "token")
            )
        }
        ServerState::Starting => "starting".to_owned(),
        ServerState::Off { why } => format!("off: {why}"),
        ServerState::Failed { why, todo } => format!("failed: {why}. {}", in_commands(todo)),
    };
    run.io.say(&format!("{}: {state}", server.name));
    if whole {
        run.io.say(&format!("  {}", server.about));
        run.io.say(&format!("  $ {}", server.command));
    }
    for note in &server.notes {
        run.io.say(&format!("  {note}"));
    }
    for tool in &server.tools {
        let sign = if matches!(server.state, ServerState::Off { .. }) {
            "off"
        } else if tool.waits {
            "changed"
        } else if server.on && tool.on {
            "on"
        } else {
            "off"
        };
        let words = column(tool.description.lines().next().unwrap_or_default(), 90);
        run.io.say(&format!("  {sign:<8}{:>6}  {}  {}", tool.tokens, tool.key, words.trim_end()));
    }
}

/// Prints the folder's whole file and asks for approval.
fn file(run: &mut Run<'_, '_>, yes: bool) -> Result<(), Stop> {
    let all = tool_list(run, None, ServerAct::List)?;
    let Some(file) = all.file.filter(|_| all.trusted) else {
        let what = if all.trusted { "This folder has no .mcp.json." } else { "This folder is not trusted." };
        return Err(Failure::user(what).into());
    };
    if let Some(why) = &file.fault {
        return Err(Failure::user(format!("{} can't be used: {why}.", file.path)).into());
    }
    for server in &file.servers {
        let over = if server.taken { "  (skipped: your settings have a server with this name)" } else { "" };
        run.io.note(&format!("{}: {}{over}", server.name, server.command));
        if !server.given.is_empty() {
            run.io.note(&format!("  receives {}", server.given.join(", ")));
        }
    }
    let approved = yes || {
        if !run.io.in_tty {
            return Err(Failure::user("No terminal to ask on.")
                .todo("Read the file, then run `pleach mcp use --yes`.")
                .into());
        }
        run.io.note(
            "Server programs run with your permissions, outside the sandbox; pleach reaches servers with a URL over \
            the network.",
        );
        run.io.agrees("Enter y to approve the file until it changes:")?
    };
    run.change(ToolRequest::Servers(None, ServerAct::File { digest: file.digest, yes: approved }), "Done.")
}
