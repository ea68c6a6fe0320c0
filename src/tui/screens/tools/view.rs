//! Draws tools and their servers, each with its state and its tokens, and the details of the selected line.
//!
//! ```text
//! ┌ Tools and servers ───── 20 tools, 2,310 tokens (estimated) a call ┐
//! │ ▸ pleach       6 tools 912 │ everything/get-sum             │
//! │ ▾ everything  13 tools 1,398│ 88 tokens (estimated) · read only     │
//! │   ✓ echo               71  │ Returns the sum of two numbers │   below 90 columns stacked
//! │   ✗ get-env            64  │ { "type": "object", …          │
//! └ keys ───────────────────────────────────────────────────────┘
//! ```
//! Not for: the state of tools and servers (`domain::tool::cards`).

use super::model::{ListEntry, ToolsScreen};
use crate::domain::tool::mcp::OUTSIDE;
use crate::domain::tool::{FileCard, FileDecision, Origin, ServerCard, ServerState, ToolCard, ToolList};
use crate::tui::view::prelude::*;

/// The largest number of tools that OpenAI accepts in a request.
const OPENAI_TOOL_LIMIT: usize = 128;

/// Draws the screen. Returns the number of rows of the details and the height of their view.
pub(crate) fn draw(view: &ViewContext<'_>, screen: &ToolsScreen, area: Rect, buf: &mut Buffer) -> (usize, usize) {
    let keys = keys(view, screen, usize::from(area.width));
    let inside = view.full_screen(Line::of(Ink::Heading, "Tools and servers"), keys, area, buf);
    let room = Rect { x: inside.x + 1, width: inside.width.saturating_sub(2), ..inside };
    let width = usize::from(room.width).max(1);
    let Some(all) = &screen.tool_list else {
        paint::lines(view.theme, &TextRows::plain("Loading.", width, Ink::Dim), room, buf);
        return (0, 0);
    };
    let (words, ink) = head(all);
    let first = Rect { height: room.height.min(1), ..room };
    paint::line(view.theme, &paint::cut(view.theme, ink, &words, width), first, buf);
    let body = Rect { y: room.y + 1, height: room.height.saturating_sub(1), ..room };
    if body.is_empty() {
        return (0, 0);
    }
    let (left, right) = split(screen, body);
    list(view, screen, left, buf);
    details(view, screen, paint::divide(view.theme, body, right, buf), buf)
}

fn split(screen: &ToolsScreen, body: Rect) -> (Rect, Rect) {
    let wanted = u16::try_from(screen.entries().len()).unwrap_or(u16::MAX);
    paint::split(body, 90, (body.width / 2).min(64), wanted.min(body.height / 2).max(1))
}

fn keys(view: &ViewContext<'_>, screen: &ToolsScreen, width: usize) -> Line {
    let waits = screen.entry().is_some_and(|entry| {
        entry == ListEntry::File
            || screen.tool(entry).map_or_else(|| any_waits(screen.server(entry)), |tool| tool.waits)
    });
    let mut words = vec![(Action::ToggleTool, "on or off")];
    if waits {
        words.push((Action::ApproveTool, "approve"));
    }
    words.extend([(Action::RestartServer, "restart"), (Action::Open, "open"), (Action::Undo, "undo")]);
    words.push((Action::Leave, "close"));
    // The screen's own actions have only one key each, regardless of the section.
    view.keys_line(KeyPlace::Panel, &words, width)
}

fn any_waits(server: Option<&ServerCard>) -> bool {
    server.is_some_and(|server| server.tools.iter().any(|tool| tool.waits))
}

/// The number of tools in every request, or the reason why there are none.
fn head(all: &ToolList) -> (String, Ink) {
    if !all.trusted {
        return ("Not trusted: no tools are offered and no server is started. /trust changes that.".into(), Ink::Warn);
    }
    if !all.enabled {
        return (
            "No tools are offered: the settings turn them off, or the model's server does not support them.".into(),
            Ink::Warn,
        );
    }
    let goes: usize = all.servers.iter().map(|server| server.sent_tools().count()).sum();
    if goes > OPENAI_TOOL_LIMIT {
        let words = format!(
            "Every request contains {goes} tools; some model servers accept at most {OPENAI_TOOL_LIMIT}. Space \
            disables the selected tool."
        );
        return (words, Ink::Warn);
    }
    let servers = all.servers.iter().filter(|server| server.origin != Origin::Own).count();
    let more = match servers {
        0 if all.file.is_some() => String::new(),
        0 if all.built => " · no servers: [mcpServers.NAME] in your settings, or .mcp.json in the folder".to_owned(),
        0 => " · this build has no MCP support".to_owned(),
        _ => String::new(),
    };
    let tokens = text::number(u64::from(all.tokens));
    (format!("{} in every request: {tokens} tokens (estimated){more}", text::counted(goes as u64, "tool")), Ink::Text)
}

fn list(view: &ViewContext<'_>, screen: &ToolsScreen, area: Rect, buf: &mut Buffer) {
    let entries = screen.entries();
    let page = usize::from(area.height);
    let from = paint::first_row(screen.cursor, entries.len(), page);
    for ((at, entry), row) in entries.iter().enumerate().skip(from).zip(area.rows()) {
        let (label, value) = match (*entry, screen.server(*entry), screen.tool(*entry)) {
            (ListEntry::File, ..) => file_line(view, screen),
            (_, Some(server), Some(tool)) => tool_line(view, server, tool),
            (_, Some(server), None) => server_line(view, screen, server),
            (ListEntry::Server(_) | ListEntry::Tool(..), None, _) => continue,
        };
        paint::pair(view.theme, &label, &value.with(Ink::Dim, " "), row, buf);
        view.entry(row, at, at == screen.cursor, buf);
    }
    paint::thumb(view.theme, from, entries.len(), page, area, buf);
}

fn file_line(view: &ViewContext<'_>, screen: &ToolsScreen) -> (Line, Line) {
    let Some(file) = screen.tool_list.as_ref().and_then(|all| all.file.as_ref()) else { return Default::default() };
    let (sign, ink, words) = match (&file.fault, file.word) {
        (Some(_), _) => (view.theme.glyphs.fail, Ink::Danger, "can't be read"),
        (None, FileDecision::Waits) => (view.theme.glyphs.running, Ink::Warn, "needs approval"),
        (None, FileDecision::Yes) => (view.theme.glyphs.ok, Ink::Good, "used"),
        (None, FileDecision::No) => (view.theme.glyphs.out, Ink::Excluded, "not used"),
    };
    let mut value = Line::new();
    let over = file.servers.iter().filter(|server| server.taken).count();
    if over > 0 {
        value.push(Ink::Warn, &format!("{over} skipped  "));
    }
    (Line::of(ink, &format!("{sign} ")).with(Ink::Text, &file.path), value.with(ink, words))
}

fn server_line(view: &ViewContext<'_>, screen: &ToolsScreen, server: &ServerCard) -> (Line, Line) {
    let glyphs = &view.theme.glyphs;
    let fold = match (server.tools.is_empty(), screen.folded.contains(&server.key)) {
        (true, _) => glyphs.dot,
        (false, true) => glyphs.folded,
        (false, false) => glyphs.opened,
    };
    let ink = if server.on { Ink::Heading } else { Ink::Excluded };
    let origin = match server.origin {
        Origin::Own => " built in",
        Origin::Settings => "",
        Origin::Folder => " .mcp.json",
    };
    let label = Line::of(Ink::Dim, &format!("{fold} ")).with(ink, &server.name).with(Ink::Dim, origin);
    let value = match &server.state {
        ServerState::Off { .. } => Line::of(Ink::Dim, "off"),
        ServerState::Starting => Line::of(Ink::Warn, &format!("{} starting", glyphs.running)),
        ServerState::Failed { .. } => Line::of(Ink::Danger, &format!("{} failed", glyphs.fail)),
        ServerState::Ready if !server.on => Line::of(Ink::Excluded, &format!("{} off", glyphs.out)),
        ServerState::Ready => {
            let goes = server.sent_tools().count();
            let of = server.tools.len();
            let count = if goes == of { text::counted(of as u64, "tool") } else { format!("{goes} of {of} tools") };
            let mut line = Line::new();
            if any_waits(Some(server)) {
                line.push(Ink::Warn, "changed  ");
            }
            line.with(Ink::Text, &format!("{count}  {} tok", text::number(u64::from(server.tokens))))
        }
    };
    (label, value)
}

fn tool_line(view: &ViewContext<'_>, server: &ServerCard, tool: &ToolCard) -> (Line, Line) {
    let glyphs = &view.theme.glyphs;
    let goes = server.on && tool.is_sent();
    let (sign, ink) = match goes {
        true => (glyphs.ok, Ink::Good),
        false if tool.waits => (glyphs.running, Ink::Warn),
        false => (glyphs.out, Ink::Excluded),
    };
    let words = if goes { Ink::Text } else { Ink::Dim };
    let label = Line::of(ink, &format!("  {sign} ")).with(words, &tool.tool);
    let tokens = format!("{} tok", text::number(u64::from(tool.tokens)));
    let value = match (tool.waits, &tool.before) {
        (true, Some(_)) => Line::of(Ink::Warn, "changed"),
        (true, None) => Line::of(Ink::Warn, "new"),
        (false, _) => Line::of(words, &tokens),
    };
    (label, value)
}

fn details(view: &ViewContext<'_>, screen: &ToolsScreen, area: Rect, buf: &mut Buffer) -> (usize, usize) {
    let width = usize::from(area.width).saturating_sub(1).max(1);
    let rows = match screen.entry() {
        Some(ListEntry::File) => {
            screen.tool_list.as_ref().and_then(|all| all.file.as_ref()).map(|file| file_rows(file, width))
        }
        Some(entry) => match (screen.server(entry), screen.tool(entry)) {
            (Some(server), Some(tool)) => Some(tool_rows(view, server, tool, width)),
            (Some(server), None) => Some(server_rows(view, server, width)),
            _ => None,
        },
        None => None,
    };
    view.scrolled(&rows.unwrap_or_default(), screen.scroll.top, area, buf)
}

/// Appends rows under a heading, after an empty row.
fn part(rows: &mut Vec<Line>, title: &str, more: Vec<Line>) {
    if more.iter().any(|row| !row.pieces.is_empty()) {
        rows.push(Line::new());
        rows.push(Line::of(Ink::Heading, title));
        rows.extend(more);
    }
}

fn file_rows(file: &FileCard, width: usize) -> Vec<Line> {
    let words = match (&file.fault, file.word) {
        (Some(why), _) => format!("{} in this folder is not used: {why}.", file.path),
        (None, FileDecision::Waits) => {
            format!("{} in this folder configures servers. None starts until you approve the file.", file.path)
        }
        (None, FileDecision::Yes) => {
            format!("You approved {} as it is now; pleach asks again if the file changes.", file.path)
        }
        (None, FileDecision::No) => format!("You denied {} as it is now.", file.path),
    };
    let mut rows = TextRows::plain(&words, width, Ink::Text);
    for server in &file.servers {
        let mut more = Vec::new();
        if server.taken {
            let why = "Skipped: your settings have a server with this name.";
            more.extend(TextRows::plain(why, width, Ink::Warn));
        }
        more.extend(command(&server.command, &server.given, width));
        part(&mut rows, &server.name, more);
    }
    rows
}

/// A server's command, and the names of the variables that it receives.
fn command(command: &str, given: &[String], width: usize) -> Vec<Line> {
    let mut rows = TextRows::exact(command, width, Ink::Code);
    if !given.is_empty() {
        rows.extend(TextRows::plain(&format!("receives {}", given.join(", ")), width, Ink::Dim));
    }
    rows
}

fn server_rows(view: &ViewContext<'_>, server: &ServerCard, width: usize) -> Vec<Line> {
    let mut rows = Vec::new();
    match &server.state {
        ServerState::Failed { why, todo } => {
            rows.extend(TextRows::plain(&format!("Failed: {why}."), width, Ink::Danger));
            let again = format!("{} restarts it.", view.key_in(Action::RestartServer, KeyPlace::Mcp));
            rows.extend(TextRows::plain(if todo.starts_with("/mcp") { &again } else { todo }, width, Ink::Text));
        }
        ServerState::Off { why } => rows.extend(TextRows::plain(&format!("Off: {why}."), width, Ink::Warn)),
        ServerState::Starting => rows.extend(TextRows::plain("Starting in the background.", width, Ink::Warn)),
        ServerState::Ready if !server.on => {
            rows.extend(TextRows::plain("All its tools are disabled on this branch.", width, Ink::Warn));
        }
        ServerState::Ready => {}
    }
    if !server.about.is_empty() {
        rows.extend(TextRows::plain(&server.about, width, Ink::Text));
    }
    if !server.command.is_empty() {
        let from = if server.origin == Origin::Folder { "From the folder's .mcp.json" } else { "From your settings" };
        let mut more = command(&server.command, &server.given, width);
        more.extend(TextRows::plain(OUTSIDE, width, Ink::Text));
        part(&mut rows, from, more);
    }
    part(&mut rows, "Its tools", TextRows::plain(&server.notes.join(" "), width, Ink::Warn));
    if any_waits(Some(server)) {
        let words = "New or changed tools are offered only after you approve them.";
        part(&mut rows, "Changed", TextRows::plain(words, width, Ink::Warn));
    }
    part(&mut rows, "Its instructions for models (not sent)", TextRows::plain(&server.instructions, width, Ink::Dim));
    if server.strays > 0 {
        let words = format!("{} were not protocol messages.", text::counted(server.strays, "line"));
        part(&mut rows, "Stray output", TextRows::plain(&words, width, Ink::Warn));
    }
    part(&mut rows, "Its last output outside the protocol", TextRows::exact(server.tail.trim_end(), width, Ink::Dim));
    rows
}

fn tool_rows(view: &ViewContext<'_>, server: &ServerCard, tool: &ToolCard, width: usize) -> Vec<Line> {
    let dot = format!(" {} ", view.theme.glyphs.dot);
    let mut rows = TextRows::plain(&tool.name, width, Ink::Heading);
    let mut facts = vec![format!("{} (estimated) in every request", text::counted(u64::from(tool.tokens), "token"))];
    let hints = tool.hints.to_text();
    if !hints.is_empty() {
        facts.push(format!("according to the server: {hints}"));
    }
    rows.extend(TextRows::plain(&facts.join(&dot), width, Ink::Dim));
    if tool.waits {
        let words = match &tool.before {
            Some(_) => {
                "The description changed after you approved the tool; the tool is offered again once you approve \
                    the new description."
            }
            None => "Added after you approved this server's tools; the tool is offered once you approve it.",
        };
        rows.extend(TextRows::plain(words, width, Ink::Warn));
    } else if !server.on || !tool.on {
        rows.extend(TextRows::plain("Disabled on this branch.", width, Ink::Warn));
    }
    if let Some(before) = tool.before.as_ref().filter(|before| **before != tool.description) {
        part(&mut rows, "Previous description", TextRows::exact(before, width, Ink::Dim));
    }
    part(&mut rows, "Description", TextRows::exact(&tool.description, width, Ink::Text));
    part(&mut rows, "Arguments", TextRows::exact(&tool.parameters, width, Ink::Code));
    rows
}
