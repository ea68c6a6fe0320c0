//! Lists a server's tools page by page, up to a limit. Tools that cannot be used are skipped and reported.
//! Not for: choosing the tools that a model gets (`engine`).

use crate::domain::tool::{ServerTool, ToolHints};
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The maximum number of pages and of tools, and the maximum length of a tool's name in characters.
const MAX_PAGES: usize = 50;
const MAX_TOOLS: usize = 500;
const MAX_NAME: usize = 200;

/// The tools in the server's order, and sentences about tools that were skipped.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) tools: Vec<ServerTool>,
    pub(super) notes: Vec<String>,
}

/// The number of skipped tools, by reason.
#[derive(Default)]
struct SkippedTools {
    unreadable: usize,
    twice: usize,
    unnamed: usize,
}

/// Reads the whole list of tools.
pub(super) async fn read(peer: &Peer<RoleClient>) -> Result<Listing, ServiceError> {
    let mut found = Listing::default();
    if peer.peer_info().is_some_and(|info| info.capabilities.tools.is_none()) {
        found.notes.push("The server says that it has no tools.".into());
        return Ok(found);
    }
    let (mut skipped, mut names, mut cursors) = (SkippedTools::default(), BTreeSet::new(), BTreeSet::new());
    let mut cursor = None;
    let endless = loop {
        let (page, bad, next) = page(peer, cursor).await?;
        skipped.unreadable += bad;
        for tool in &page {
            if tool.name.is_empty() || tool.name.chars().count() > MAX_NAME {
                skipped.unnamed += 1;
            } else if names.insert(tool.name.clone()) {
                found.tools.push(tool_card(tool));
            } else {
                skipped.twice += 1;
            }
        }
        match next {
            None => break None,
            Some(_) if found.tools.len() >= MAX_TOOLS => {
                break Some(format!("Its list is longer than {MAX_TOOLS} tools"));
            }
            Some(next) if !cursors.insert(next.clone()) => {
                break Some("Its list of tools repeats".to_owned());
            }
            Some(_) if cursors.len() >= MAX_PAGES => {
                break Some(format!("Its list did not end after {MAX_PAGES} pages"));
            }
            next => cursor = next,
        }
    };
    if found.tools.len() > MAX_TOOLS {
        found.notes.push(format!("Of its {} tools, only the first {MAX_TOOLS} are used.", found.tools.len()));
        found.tools.truncate(MAX_TOOLS);
    }
    found.notes.extend(endless.map(|how| format!("{how}; the rest is skipped.")));
    skipped.report(&mut found.notes);
    Ok(found)
}

impl SkippedTools {
    fn report(&self, notes: &mut Vec<String>) {
        let mut report = |count: usize, why: &str| {
            if count > 0 {
                let what = if count == 1 { "A tool is".to_owned() } else { format!("{count} tools are") };
                notes.push(format!("{what} skipped: {why}."));
            }
        };
        report(self.unreadable, "not described as the protocol requires");
        report(self.twice, "another tool has the same name");
        report(self.unnamed, "its name is missing or too long");
    }
}

/// Reads one page. Returns its tools, the number of tools that could not be read, and the cursor of the next page.
async fn page(
    peer: &Peer<RoleClient>,
    cursor: Option<String>,
) -> Result<(Vec<Tool>, usize, Option<String>), ServiceError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ListToolsRequest::with_param(params);
    match peer.send_request(ClientRequest::ListToolsRequest(request)).await? {
        ServerResult::ListToolsResult(page) => Ok((page.tools, 0, page.next_cursor)),
        // A single malformed tool turns the whole page into another type.
        ServerResult::CustomResult(page) => lenient(page.0),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

fn lenient(mut page: Value) -> Result<(Vec<Tool>, usize, Option<String>), ServiceError> {
    let next = page["nextCursor"].as_str().map(str::to_owned);
    let Some(all) = page.get_mut("tools").and_then(Value::as_array_mut) else {
        return Err(ServiceError::UnexpectedResponse);
    };
    let count = all.len();
    let tools: Vec<Tool> = all.iter_mut().filter_map(|tool| parse_tool(tool.take())).collect();
    let bad = count - tools.len();
    Ok((tools, bad, next))
}

/// Parses a tool. Only its name is required; a tool without a schema accepts any arguments.
fn parse_tool(tool: Value) -> Option<Tool> {
    let schema = tool.get("inputSchema").filter(|schema| schema.is_object()).cloned();
    let needed = json!({
        "name": tool.get("name")?.as_str()?,
        "description": tool.get("description").and_then(Value::as_str).unwrap_or_default(),
        "inputSchema": schema.unwrap_or_else(|| json!({ "type": "object" })),
    });
    serde_json::from_value(tool).or_else(|_| serde_json::from_value(needed)).ok()
}

fn tool_card(tool: &Tool) -> ServerTool {
    let hints = tool.annotations.as_ref().map_or_else(ToolHints::default, |annotations| ToolHints {
        read_only: annotations.read_only_hint,
        destructive: annotations.destructive_hint,
        open_world: annotations.open_world_hint,
    });
    let parameters = Value::Object((*tool.input_schema).clone());
    ServerTool::new(&tool.name, tool.description.as_deref().unwrap_or_default(), parameters, hints)
}
