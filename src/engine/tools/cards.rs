//! Cards of all tools, for the screen and the command line.
//! Not for: acts on tools (`servers`, `switches`).

use super::selection::{OWN, alone, switched};
use crate::context::render::tools_text;
use crate::domain::base::{BranchId, Failure};
use crate::domain::call::Encoding;
use crate::domain::conversation::Branch;
use crate::domain::tool::{
    FileCard, FileServer, Origin, RunTools, Server, ServerCard, ServerSpec, ServerState, ServerTool, ToolCard,
    ToolList, ToolSpec, mcp,
};
use crate::engine::core::Core;
use crate::engine::startup::learned;
use crate::engine::startup::setup::Setup;
use crate::engine::tools::servers::file_decision;
use crate::engine::tools::state::Tools;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Core {
    /// Returns all tools with their state on a branch.
    pub(crate) fn tool_list(&mut self, branch: Option<BranchId>) -> Result<ToolList, Failure> {
        // A server file that was changed meanwhile is read again.
        let fresh = self.setup.settings.named.as_ref().map(|read| read());
        if fresh.is_some_and(|fresh| fresh != self.tools.servers.named) {
            self.set_servers();
        }
        let branch = branch.map(|id| self.sessions.branch(id)).transpose()?;
        let rules = branch.as_ref().map(|branch| self.rules(branch)).transpose()?;
        let encoding = rules.as_ref().map_or_else(|| learned::encoding(&self.setup), |rules| rules.model.encoding);
        let off = branch.map(|branch: Branch| branch.overrides.tools_off).unwrap_or_default();
        let own_specs = |own: &Arc<dyn RunTools>| self.learned.own_specs(&self.setup, &**own);
        let own = self
            .setup
            .settings
            .tools
            .as_ref()
            .map(|own| own_card(&self.setup, &self.tools, own_specs(own), &off, encoding));
        let servers = self.setup.foreign.servers();
        let cards = servers.iter().map(|server| self.server_card(server, &off, encoding));
        let mut servers: Vec<ServerCard> = own.into_iter().chain(cards).collect();
        let specs = if let Some(rules) = &rules {
            rules.tools.clone()
        } else {
            let own = self.setup.settings.tools.as_ref().filter(|_| self.tools.trusted);
            own.map_or_else(Vec::new, |own| switched(own_specs(own), &self.learned.offered, &off).0)
        };
        let tokens = self.setup.share_tokens(&mut servers, &specs, encoding);
        Ok(ToolList {
            built: crate::mcp::BUILT,
            trusted: self.tools.trusted,
            enabled: self.setup.settings.tools.is_some() && rules.is_none_or(|rules| rules.profile.dialect.tools),
            file: self.tools.servers.named.file.as_ref().map(|file| self.file_card(file)),
            servers,
            tokens,
        })
    }

    fn file_card(&self, file: &mcp::FolderFile) -> FileCard {
        let shown = |spec: &ServerSpec| FileServer {
            name: spec.name.clone(),
            command: spec.shown.clone(),
            given: spec.given.clone(),
            taken: self.tools.servers.named.servers.iter().any(|own| own.name == spec.name),
        };
        FileCard {
            path: file.path.clone(),
            digest: file.digest,
            word: file_decision(&self.setup, &self.store, file.digest),
            servers: file.servers.as_ref().map(|all| all.iter().map(shown).collect()).unwrap_or_default(),
            fault: file.servers.as_ref().err().cloned(),
        }
    }

    fn server_card(&self, server: &Server, off: &[String], encoding: Encoding) -> ServerCard {
        let name = &server.spec.name;
        let approved = self.approved(server);
        let card = |tool: &ServerTool| {
            let kept = approved.get(&tool.name);
            let waits = kept.is_none_or(|kept| kept.digest != tool.digest());
            let spec = ToolSpec {
                name: mcp::offered_name(name, &tool.name),
                description: tool.description.clone(),
                parameters: tool.parameters.clone(),
            };
            let key = mcp::switch(name, Some(&tool.name));
            ToolCard {
                on: !off.contains(&key),
                key,
                tokens: alone(&spec, &*self.setup.counter, encoding),
                name: spec.name,
                tool: tool.name.clone(),
                description: tool.description.clone(),
                parameters: laid_out(&tool.parameters),
                hints: tool.hints,
                waits,
                before: kept.filter(|_| waits).map(|kept| kept.description.clone()),
            }
        };
        let tools = server.tools.iter().map(card).collect();
        let key = mcp::switch(name, None);
        let on = !off.contains(&key);
        ServerCard {
            command: server.spec.shown.clone(),
            given: server.spec.given.clone(),
            about: server.about.clone(),
            instructions: server.instructions.clone(),
            tail: server.tail.clone(),
            strays: server.strays,
            notes: server.notes.clone(),
            ..blank(key, name, server.spec.origin, server.state.clone(), on, tools)
        }
    }
}

fn own_card(setup: &Setup, tools: &Tools, own: Vec<ToolSpec>, off: &[String], encoding: Encoding) -> ServerCard {
    let card = |spec: ToolSpec| ToolCard {
        key: spec.name.clone(),
        tool: spec.name.clone(),
        on: !off.contains(&spec.name),
        tokens: alone(&spec, &*setup.counter, encoding),
        parameters: laid_out(&spec.parameters),
        name: spec.name,
        description: spec.description,
        hints: mcp::ToolHints::default(),
        waits: false,
        before: None,
    };
    let cards: Vec<ToolCard> = own.into_iter().map(card).collect();
    let state =
        if tools.trusted { ServerState::Ready } else { ServerState::Off { why: "this folder is not trusted".into() } };
    let about = "Read and change files in this folder, and run commands in a sandbox.".to_owned();
    let on = !off.contains(&OWN.to_owned());
    ServerCard { about, ..blank(OWN.into(), "pleach", Origin::Own, state, on, cards) }
}

impl Setup {
    /// Counts the tools that are sent as one text, as a plan does, and gives each server the tokens that its tools add
    /// to the text. Returns the tokens of the whole text, which are the sum.
    fn share_tokens(&self, servers: &mut [ServerCard], sent: &[ToolSpec], encoding: Encoding) -> u32 {
        let (mut names, mut so_far) = (BTreeSet::new(), 0);
        for server in servers {
            names.extend(server.sent_tools().map(|tool| tool.name.clone()));
            let specs: Vec<ToolSpec> = sent.iter().filter(|spec| names.contains(&spec.name)).cloned().collect();
            let tokens = self.counter.count(encoding, &tools_text(&specs));
            (server.tokens, so_far) = (tokens.saturating_sub(so_far), tokens);
        }
        so_far
    }
}

fn blank(key: String, name: &str, origin: Origin, state: ServerState, on: bool, tools: Vec<ToolCard>) -> ServerCard {
    ServerCard {
        key,
        name: name.to_owned(),
        origin,
        state,
        command: String::new(),
        given: Vec::new(),
        about: String::new(),
        instructions: String::new(),
        tail: String::new(),
        strays: 0,
        notes: Vec::new(),
        on,
        tokens: 0,
        tools,
    }
}

fn laid_out(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
