//! The report of `doctor` on tool servers: their names, transport, state, and faults. Starts none of them.
//! Not for: using them (`servers`).

use crate::domain::tool::{
    ConfiguredServers, FileDecision, FolderFile, Origin, ServerSpec, ServerState, ServerTransport,
};
use crate::engine::api::Finding;
use crate::engine::core::Core;
use crate::engine::tools::servers::file_decision;
use crate::mcp;

/// The state of a server: a word for programs, whether it is good, a sentence, and the next step.
struct State(&'static str, Option<bool>, String, String);

impl Core {
    /// Returns one finding for each server in the settings and in the folder's file, and one finding for an unreadable
    /// file.
    pub(crate) fn examine_servers(&self) -> Vec<Finding> {
        let ConfiguredServers { servers, file } =
            self.setup.settings.named.as_ref().map_or_else(ConfiguredServers::default, |read| read());
        let mut found: Vec<Finding> = servers.iter().map(|spec| finding(spec, self.state_of(spec, None))).collect();
        let Some(file) = file else { return found };
        match &file.servers {
            Err(why) => found.push(Finding {
                subject: file.path.clone(),
                ok: Some(false),
                text: format!("not used: {why}"),
                todo: "Correct the file.".into(),
                facts: vec![("state", "fault".into())],
            }),
            Ok(all) => {
                let taken = |spec: &ServerSpec| servers.iter().any(|own| own.name == spec.name);
                found.extend(all.iter().map(|spec| {
                    let state = if taken(spec) { passed_over(&file) } else { self.state_of(spec, Some(&file)) };
                    finding(spec, state)
                }));
            }
        }
        found
    }

    fn state_of(&self, spec: &ServerSpec, file: Option<&FolderFile>) -> State {
        let word = file.map_or(FileDecision::Yes, |file| file_decision(&self.setup, &self.store, file.digest));
        let lives = self.setup.foreign.servers().into_iter().find(|server| server.spec == *spec);
        let still = |word, why: &str, todo: &str| State(word, None, why.to_owned(), todo.to_owned());
        if !mcp::BUILT {
            return State("absent", Some(false), "this build has no MCP support".into(), String::new());
        }
        if spec.disabled {
            return still("disabled", "disabled in its settings", "");
        }
        if word == FileDecision::No {
            return still("refused", "you denied the file that configures it", "`pleach mcp use` asks again.");
        }
        if let Some((why, todo)) = mcp::missing(spec) {
            return State("missing", Some(false), why, todo);
        }
        if word == FileDecision::Waits {
            return still(
                "waits",
                "the file that configures it needs your approval",
                "`pleach mcp use` shows it and asks for approval.",
            );
        }
        if !self.tools.trusted {
            return still("untrusted", "not started: this folder is not trusted", "");
        }
        match lives.map(|server| (server.state, server.tools.len())) {
            Some((ServerState::Ready, tools)) => {
                State("ready", Some(true), format!("running, {tools} tools"), String::new())
            }
            Some((ServerState::Starting, _)) => still("starting", "starting", ""),
            Some((ServerState::Failed { why, todo }, _)) => State("failed", Some(false), why, todo),
            Some((ServerState::Off { why }, _)) => State("off", None, why, String::new()),
            None if matches!(spec.way, Ok(ServerTransport::Address { .. })) => {
                still("unasked", "not called for this report", "`pleach mcp test NAME` calls it.")
            }
            None => State(
                "found",
                Some(true),
                "its program was found; it was not started for this report".into(),
                String::new(),
            ),
        }
    }
}

fn passed_over(file: &FolderFile) -> State {
    let why = format!("skipped: your settings and {} both configure a server with this name", file.path);
    State("passed over", None, why, "Rename one of them to use both.".into())
}

fn finding(spec: &ServerSpec, State(word, ok, text, todo): State) -> Finding {
    let (transport, how) = match &spec.way {
        Ok(ServerTransport::Address { .. }) => ("http", "http"),
        Ok(ServerTransport::Program { .. }) => ("stdio", "stdio"),
        Err(_) => ("unknown", "unknown transport"),
    };
    let (origin, whose) = match spec.origin {
        Origin::Folder => ("folder", ".mcp.json"),
        Origin::Settings | Origin::Own => ("settings", "settings"),
    };
    Finding {
        subject: format!("server {}", spec.name),
        ok,
        text: format!("{text} ({how}, {whose}: {})", spec.shown),
        todo: todo.replace("NAME", &spec.name),
        facts: vec![
            ("name", spec.name.clone()),
            ("transport", transport.to_owned()),
            ("named_by", origin.to_owned()),
            ("state", word.to_owned()),
            ("command", spec.shown.clone()),
        ],
    }
}
