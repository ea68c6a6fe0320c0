//! The screen of tools and MCP servers: the selected line, folded servers, and the scroll position of the details.
//! Not for: the state of tools and servers (`domain::tool::cards`), or their appearance (`view`).

use crate::domain::base::ids::BranchId;
use crate::domain::tool::cards::{FileCard, FileDecision, ServerCard, ToolCard, Toolbox};
use crate::tui::model::list::shift;
use std::collections::BTreeSet;

/// A line of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListEntry {
    /// The folder's own file with servers.
    File,
    /// A server, by its index.
    Server(usize),
    /// A tool of a server.
    Tool(usize, usize),
}

/// The state of the screen.
#[derive(Clone, Debug)]
pub struct ToolsScreen {
    /// The branch.
    pub branch: BranchId,
    /// All tools, once they are loaded.
    pub toolbox: Option<Box<Toolbox>>,
    /// The ticket of the last request.
    pub ticket: u64,
    /// The selected line.
    pub cursor: usize,
    /// Servers whose tools are not listed.
    pub folded: BTreeSet<String>,
    /// Scrolled rows of the details.
    pub scroll: usize,
    /// The total rows and the visible rows, when last drawn.
    pub seen: (usize, usize),
    /// The user was asked about the folder's file since the screen was opened.
    pub asked: bool,
    /// The tool to select once the list is loaded, by its name for the model.
    pub wanted: Option<String>,
}

impl ToolsScreen {
    /// An empty screen whose list was requested with this ticket.
    #[must_use]
    pub fn new(branch: BranchId, ticket: u64) -> Self {
        Self {
            branch,
            toolbox: None,
            ticket,
            cursor: 0,
            folded: BTreeSet::new(),
            scroll: 0,
            seen: (0, 0),
            asked: false,
            wanted: None,
        }
    }

    /// The lines of the list.
    #[must_use]
    pub fn spots(&self) -> Vec<ListEntry> {
        let Some(all) = &self.toolbox else { return Vec::new() };
        let mut spots: Vec<ListEntry> = all.file.iter().map(|_| ListEntry::File).collect();
        for (at, server) in all.servers.iter().enumerate() {
            spots.push(ListEntry::Server(at));
            if !self.folded.contains(&server.key) {
                spots.extend((0..server.tools.len()).map(|tool| ListEntry::Tool(at, tool)));
            }
        }
        spots
    }

    /// The selected line.
    #[must_use]
    pub fn spot(&self) -> Option<ListEntry> {
        self.spots().get(self.cursor).copied()
    }

    /// The server of a line.
    #[must_use]
    pub fn server(&self, spot: ListEntry) -> Option<&ServerCard> {
        match spot {
            ListEntry::File => None,
            ListEntry::Server(at) | ListEntry::Tool(at, _) => self.toolbox.as_ref()?.servers.get(at),
        }
    }

    /// The tool of a line.
    #[must_use]
    pub fn tool(&self, spot: ListEntry) -> Option<&ToolCard> {
        match spot {
            ListEntry::Tool(_, tool) => self.server(spot)?.tools.get(tool),
            _ => None,
        }
    }

    /// The folder's file, if it needs approval and is valid.
    #[must_use]
    pub fn waiting_file(&self) -> Option<&FileCard> {
        let all = self.toolbox.as_ref().filter(|all| all.trusted && all.enabled)?;
        all.file.as_ref().filter(|file| {
            file.word == FileDecision::Waits && file.fault.is_none() && file.servers.iter().any(|one| !one.taken)
        })
    }

    /// An identifier of a line that stays the same across changes.
    fn name(&self, spot: ListEntry) -> Option<String> {
        match spot {
            ListEntry::File => Some(String::new()),
            _ => self.tool(spot).map(|tool| &tool.key).or(self.server(spot).map(|server| &server.key)).cloned(),
        }
    }

    /// Shows all tools; the selection stays on its line. The built-in tools are initially folded if there are others.
    pub fn show(&mut self, all: Box<Toolbox>) {
        let selected = self.spot().and_then(|spot| self.name(spot));
        let first = self.toolbox.is_none();
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
        self.toolbox = Some(all);
        let spots = self.spots();
        let found = match wanted {
            Some(name) => spots.iter().position(|spot| self.tool(*spot).is_some_and(|tool| tool.name == name)),
            None => spots.iter().position(|spot| selected.is_some() && self.name(*spot) == selected),
        };
        self.cursor = found.unwrap_or(if first { 0 } else { self.cursor }).min(spots.len().saturating_sub(1));
    }

    /// Moves the selection.
    pub fn step(&mut self, by: i64) {
        let last = self.spots().len().saturating_sub(1);
        let to = shift(self.cursor, by, last);
        if to != self.cursor {
            (self.cursor, self.scroll) = (to, 0);
        }
    }

    /// Scrolls the details.
    pub fn roll(&mut self, by: i64) {
        self.scroll = shift(self.scroll, by, self.seen.0.saturating_sub(self.seen.1));
    }

    /// Expands or folds the tools of the selected server. The selection moves to the server.
    pub fn fold(&mut self) {
        let Some((spot, key)) = self.spot().and_then(|spot| Some((spot, self.server(spot)?.key.clone()))) else {
            return;
        };
        if let ListEntry::Tool(at, _) = spot {
            self.cursor = self.spots().iter().position(|known| *known == ListEntry::Server(at)).unwrap_or(0);
        }
        if !self.folded.remove(&key) {
            self.folded.insert(key);
        }
        self.scroll = 0;
    }
}

/// The purpose of a request of the list of tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolsPending {
    /// To list tools and servers.
    List,
    /// To change one; the list is read again afterwards.
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

    fn toolbox(servers: Vec<ServerCard>) -> Box<Toolbox> {
        Box::new(Toolbox { built: true, trusted: true, enabled: true, file: None, servers, tokens: 0 })
    }

    #[test]
    fn the_selection_stays_on_its_tool() {
        let mut rack = ToolsScreen::new(BranchId(uuid::Uuid::nil()), 1);
        assert_eq!(rack.spot(), None);
        rack.show(toolbox(vec![card("own", 3), card("a", 2)]));
        assert_eq!(
            rack.spots(),
            [ListEntry::Server(0), ListEntry::Server(1), ListEntry::Tool(1, 0), ListEntry::Tool(1, 1)]
        );
        rack.step(9);
        assert_eq!(rack.tool(ListEntry::Tool(1, 1)).map(|tool| tool.tool.as_str()), Some("t1"));
        rack.show(toolbox(vec![card("own", 3), card("b", 1), card("a", 2)]));
        assert_eq!(rack.spot(), Some(ListEntry::Tool(2, 1)), "also where a server came before it");
        rack.fold();
        assert_eq!(rack.spot(), Some(ListEntry::Server(2)));
        rack.show(toolbox(vec![card("own", 3)]));
        assert_eq!(rack.spot(), Some(ListEntry::Server(0)), "a deleted item is not selected");
    }
}
