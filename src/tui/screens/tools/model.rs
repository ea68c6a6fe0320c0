//! State of the tools screen: the selected line, the folded servers, and the scroll position of the details.
//! Not for: the state of tools and servers (`domain::tool::cards`) or drawing (`view`).

use crate::domain::base::BranchId;
use crate::domain::tool::{FileCard, FileDecision, ServerCard, ToolCard, ToolList};
use crate::tui::model::list::Scroll;
use std::collections::BTreeSet;

/// A line of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListEntry {
    /// The folder's own file with servers.
    File,
    /// A server, by its index.
    Server(usize),
    /// A tool, by the indices of its server and of the tool.
    Tool(usize, usize),
}

/// The screen of tools and MCP servers.
#[derive(Clone, Debug, Default)]
pub struct ToolsScreen {
    /// The branch whose tools are switched.
    pub branch: BranchId,
    /// The tools and servers; None until they are loaded.
    pub tool_list: Option<Box<ToolList>>,
    /// Ticket of the newest request.
    pub ticket: u64,
    /// Index of the line under the cursor.
    pub cursor: usize,
    /// Keys of the servers whose tools are hidden.
    pub folded: BTreeSet<String>,
    /// The scroll position of the details.
    pub scroll: Scroll,
    /// Whether the person was asked about the folder's file since the screen was opened.
    pub asked: bool,
    /// A tool to select once the list is loaded, by the name that the model sees.
    pub wanted: Option<String>,
}

impl ToolsScreen {
    /// Creates the screen while its list is being loaded under `ticket`.
    pub fn new(branch: BranchId, ticket: u64) -> Self {
        Self { branch, ticket, ..Self::default() }
    }

    /// The lines of the list.
    pub fn entries(&self) -> Vec<ListEntry> {
        let Some(all) = &self.tool_list else { return Vec::new() };
        let mut entries: Vec<ListEntry> = all.file.iter().map(|_| ListEntry::File).collect();
        for (at, server) in all.servers.iter().enumerate() {
            entries.push(ListEntry::Server(at));
            if !self.folded.contains(&server.key) {
                entries.extend((0..server.tools.len()).map(|tool| ListEntry::Tool(at, tool)));
            }
        }
        entries
    }

    /// The line under the cursor.
    pub fn entry(&self) -> Option<ListEntry> {
        self.entries().get(self.cursor).copied()
    }

    /// The server of a line, or of the tool on it.
    pub fn server(&self, entry: ListEntry) -> Option<&ServerCard> {
        match entry {
            ListEntry::File => None,
            ListEntry::Server(at) | ListEntry::Tool(at, _) => self.tool_list.as_ref()?.servers.get(at),
        }
    }

    /// The tool of a line.
    pub fn tool(&self, entry: ListEntry) -> Option<&ToolCard> {
        let ListEntry::Tool(_, tool) = entry else { return None };
        self.server(entry)?.tools.get(tool)
    }

    /// The folder's file of servers, if it needs a decision and could be used.
    pub fn waiting_file(&self) -> Option<&FileCard> {
        let all = self.tool_list.as_ref().filter(|all| all.trusted && all.enabled)?;
        all.file.as_ref().filter(|file| {
            file.word == FileDecision::Waits && file.fault.is_none() && file.servers.iter().any(|one| !one.taken)
        })
    }

    /// A stable name of a line, which does not change with the list.
    fn name(&self, entry: ListEntry) -> Option<String> {
        match entry {
            ListEntry::File => Some(String::new()),
            ListEntry::Server(_) => self.server(entry).map(|server| server.key.clone()),
            ListEntry::Tool(..) => self.tool(entry).map(|tool| tool.key.clone()),
        }
    }

    /// Stores the tools. The cursor stays on its line. When they are first shown together with other servers, the
    /// built-in tools are folded.
    pub fn show(&mut self, all: Box<ToolList>) {
        let selected = self.entry().and_then(|entry| self.name(entry));
        let first = self.tool_list.is_none();
        let own = all.servers.first().map(|server| server.key.clone());
        let others = all.servers.len() > 1 || all.file.is_some();
        if first && others {
            self.folded.extend(own);
        }
        let wanted = self.wanted.take();
        let of = wanted.as_ref().and_then(|name| all.servers.iter().find(|s| s.tools.iter().any(|t| t.name == *name)));
        if let Some(server) = of {
            self.folded.remove(&server.key);
        }
        self.tool_list = Some(all);
        let entries = self.entries();
        let found = match wanted {
            Some(name) => entries.iter().position(|entry| self.tool(*entry).is_some_and(|tool| tool.name == name)),
            None => entries.iter().position(|entry| selected.is_some() && self.name(*entry) == selected),
        };
        self.cursor = found.unwrap_or(if first { 0 } else { self.cursor }).min(entries.len().saturating_sub(1));
    }

    /// Shows or hides the tools of the selected server, and moves the cursor to the server.
    pub fn fold(&mut self) {
        let Some((entry, key)) = self.entry().and_then(|entry| Some((entry, self.server(entry)?.key.clone()))) else {
            return;
        };
        if let ListEntry::Tool(at, _) = entry {
            self.cursor = self.entries().iter().position(|known| *known == ListEntry::Server(at)).unwrap_or(0);
        }
        if !self.folded.remove(&key) {
            self.folded.insert(key);
        }
        self.scroll.top = 0;
    }
}

/// The purpose of a request of the tools screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolsPending {
    /// To list tools and servers.
    List,
    /// To change one; the list is loaded again afterward.
    Change,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::mcp::{Origin, ServerState, ToolHints};

    fn card(name: &str, tools: usize) -> ServerCard {
        let tool = |at: usize| ToolCard {
            key: format!("{name}/t{at}"),
            name: format!("mcp__{name}__t{at}"),
            tool: format!("t{at}"),
            description: String::new(),
            parameters: String::new(),
            hints: ToolHints::default(),
            tokens: 10,
            on: true,
            waits: false,
            before: None,
        };
        ServerCard {
            key: format!("{name}/*"),
            name: name.into(),
            origin: Origin::Settings,
            state: ServerState::Ready,
            command: String::new(),
            given: Vec::new(),
            about: String::new(),
            instructions: String::new(),
            tail: String::new(),
            strays: 0,
            notes: Vec::new(),
            on: true,
            tokens: 0,
            tools: (0..tools).map(tool).collect(),
        }
    }

    fn tool_list(servers: Vec<ServerCard>) -> Box<ToolList> {
        Box::new(ToolList { built: true, trusted: true, enabled: true, file: None, servers, tokens: 0 })
    }

    #[test]
    fn the_selection_stays_on_its_tool() {
        let mut screen = ToolsScreen::new(BranchId(uuid::Uuid::nil()), 1);
        assert_eq!(screen.entry(), None);
        screen.show(tool_list(vec![card("own", 3), card("a", 2)]));
        assert_eq!(
            screen.entries(),
            [ListEntry::Server(0), ListEntry::Server(1), ListEntry::Tool(1, 0), ListEntry::Tool(1, 1)]
        );
        screen.cursor = 3;
        assert_eq!(screen.tool(ListEntry::Tool(1, 1)).map(|tool| tool.tool.as_str()), Some("t1"));
        screen.show(tool_list(vec![card("own", 3), card("b", 1), card("a", 2)]));
        assert_eq!(screen.entry(), Some(ListEntry::Tool(2, 1)), "also after another server was added before it");
        screen.fold();
        assert_eq!(screen.entry(), Some(ListEntry::Server(2)));
        screen.show(tool_list(vec![card("own", 3)]));
        assert_eq!(screen.entry(), Some(ListEntry::Server(0)), "a deleted item is not selected");
    }
}
