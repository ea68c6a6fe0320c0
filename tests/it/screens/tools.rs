//! Tools and MCP servers: snapshots at several sizes, and requests.

use super::Stage;
use super::fixture::{self, MAIN};
use pleach::domain::base::Hash;
use pleach::domain::summary::EditableKind;
use pleach::domain::tool::mcp::{offered_name, switch};
use pleach::domain::tool::{
    FileCard, FileDecision, FileServer, Origin, ServerCard, ServerState, ToolCard, ToolHints, ToolList,
};
use pleach::engine::api::{Answer, Event, Request, ServerAct, ToolAnswer, ToolEvent, ToolRequest};
use pleach::tui::model::status::Severity;
use pleach::tui::screens::reader::model::Reader;
use pleach::tui::screens::tools::model::ToolsScreen;
use pleach::tui::theme::Theme;

const SIZES: [(u16, u16); 5] = [(60, 16), (80, 24), (120, 35), (160, 40), (200, 50)];

fn pictures(name: &str, sizes: &[(u16, u16)], stage: &mut Stage) {
    for (width, height) in sizes {
        let screen = stage.screen(*width, *height);
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots" }, {
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), screen);
        });
    }
}

fn tool(server: &str, name: &str, tokens: u32) -> ToolCard {
    ToolCard {
        key: switch(server, Some(name)),
        name: offered_name(server, name),
        tool: name.into(),
        description: "Returns the sum of two numbers.\nIt \u{202e}never\u{1b}[31m lies.".into(),
        parameters:
            "{\n  \"type\": \"object\",\n  \"properties\": {\n    \"a\": {\n      \"type\": \"number\"\n    }\n  }\n}"
                .into(),
        hints: ToolHints { read_only: Some(true), destructive: None, open_world: Some(true) },
        tokens,
        on: true,
        waits: false,
        before: None,
    }
}

fn server(name: &str, state: ServerState, tools: Vec<ToolCard>) -> ServerCard {
    ServerCard {
        key: switch(name, None),
        name: name.into(),
        origin: Origin::Settings,
        state,
        command: format!("npx -y @someone/{name} stdio"),
        given: vec!["TOKEN=${NOTES_TOKEN}".into()],
        about: "mcp-servers/everything 2.0.0, MCP 2025-11-25".into(),
        instructions: "Always call echo first.".into(),
        tail: "Starting default (STDIO) server...\n\u{1b}[31mwarning\u{1b}[0m: no cache\n".into(),
        strays: 2,
        notes: Vec::new(),
        on: true,
        tokens: tools.iter().map(|tool| tool.tokens).sum(),
        tools,
    }
}

fn tool_list(word: FileDecision) -> Box<ToolList> {
    let own = server("pleach", ServerState::Ready, vec![tool("pleach", "read_file", 95), tool("pleach", "run", 131)]);
    let mut tools: Vec<ToolCard> =
        ["echo", "get-sum", "get-env", "get-tiny-image"].map(|name| tool("everything", name, 67)).into();
    tools[2].on = false;
    tools[3].waits = true;
    tools[3].before = Some("Returns a tiny image.".into());
    let broken = ServerState::Failed {
        why: "it exited with code 1: npm error 404 Not Found".into(),
        todo: "/mcp shows its output and restarts it.".into(),
    };
    let file = FileCard {
        path: ".mcp.json".into(),
        digest: Hash::of(b"file"),
        word,
        servers: vec![FileServer {
            name: "tests".into(),
            command: "uvx run-tests --all --server \"a b\"".into(),
            given: vec!["API_KEY".into()],
            taken: false,
        }],
        fault: None,
    };
    Box::new(ToolList {
        built: true,
        trusted: true,
        enabled: true,
        file: Some(file),
        servers: vec![
            ServerCard { origin: Origin::Own, key: "*".into(), command: String::new(), given: Vec::new(), ..own },
            server("everything", ServerState::Ready, tools),
            server("notes", ServerState::Starting, Vec::new()),
            server("weather", broken, Vec::new()),
        ],
        tokens: 1_398,
    })
}

fn asked(request: &Request) -> bool {
    matches!(request, Request::Tool(ToolRequest::Servers(_, ServerAct::List)))
}

pub(super) fn opened(word: FileDecision) -> Stage {
    let mut stage = fixture::opened();
    stage.type_text("/mcp").press("enter");
    assert_eq!(*stage.last(), Request::Tool(ToolRequest::Servers(Some(MAIN), ServerAct::List)));
    stage.reply(asked, ToolAnswer::ToolList(tool_list(word)));
    stage
}

#[test]
fn tools_and_servers_at_all_sizes() {
    let mut stage = opened(FileDecision::Yes);
    stage.press("j j j j");
    pictures("toolbox_tool", &SIZES, &mut stage);
    stage.press("j j");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Previous description") && screen.contains("Returns a tiny image."), "{screen}");
    stage.press("G");
    pictures("toolbox_failed", &SIZES[1..3], &mut stage);
    let screen = stage.screen(120, 50);
    assert!(screen.contains("⟨U+001B⟩[31mwarning"), "text from a server is shown, not interpreted: {screen}");
    let mut plain = opened(FileDecision::Yes);
    plain.theme = Theme::built_in("none", true);
    let screen = plain.screen(120, 35);
    assert!(screen.replace(['⟨', '⟩'], "").is_ascii(), "{screen}");
}

#[test]
fn folder_file_is_approved_with_its_full_commands() {
    let mut stage = opened(FileDecision::Waits);
    pictures("toolbox_question", &SIZES[..3], &mut stage);
    let screen = stage.screen(80, 24);
    assert!(screen.contains("uvx run-tests --all --server \"a b\"") && screen.contains("API_KEY"), "{screen}");
    stage.press("enter");
    assert!(stage.model.layers.on::<ToolsScreen>(), "Enter alone postpones the decision");
    stage.press("a y");
    stage.press("enter");
    let yes = ServerAct::File { digest: Hash::of(b"file"), yes: true };
    let approved =
        stage.sent.iter().any(|(_, request)| *request == Request::Tool(ToolRequest::Servers(None, yes.clone())));
    assert!(approved, "{:?}", stage.sent);
}

#[test]
fn keys_switch_restart_and_approve() {
    let mut stage = opened(FileDecision::Yes);
    let servers = |act: ServerAct| Request::Tool(ToolRequest::Servers(None, act));
    stage.press("j j space");
    let off = ServerAct::Switch { keys: vec!["everything/*".into()], on: false };
    assert_eq!(*stage.last(), Request::Tool(ToolRequest::Servers(Some(MAIN), off)));
    stage.press("j j j space");
    let on = ServerAct::Switch { keys: vec!["everything/get-env".into()], on: true };
    assert_eq!(*stage.last(), Request::Tool(ToolRequest::Servers(Some(MAIN), on)));
    stage.press("j a");
    let approve = ServerAct::Approve { server: "everything".into(), tool: Some("get-tiny-image".into()) };
    assert_eq!(*stage.last(), servers(approve));
    stage.press("G r");
    assert_eq!(*stage.last(), servers(ServerAct::Restart { server: "weather".into() }));
    stage.press("g j r");
    assert!(stage.screen(120, 35).contains("Only servers can be restarted."));
    stage.event(Event::Tool(ToolEvent::ServersChanged));
    assert_eq!(
        *stage.last(),
        Request::Tool(ToolRequest::Servers(Some(MAIN), ServerAct::List)),
        "after a change the list is requested again"
    );
    stage.press("G k k k enter");
    assert!(stage.model.layers.on::<Reader>(), "Enter shows a complete tool");
}

#[test]
fn skipped_tools_are_reported() {
    let mut stage = opened(FileDecision::Yes);
    let mut all = tool_list(FileDecision::Yes);
    if let Some(file) = &mut all.file {
        file.servers[0].taken = true;
    }
    all.servers[1].notes = vec!["2 tools are skipped: another tool has the same name.".into()];
    stage.event(Event::Tool(ToolEvent::ServersChanged));
    stage.reply(asked, ToolAnswer::ToolList(all));
    let screen = stage.press("g").screen(120, 35);
    assert!(screen.contains("1 skipped  used"), "{screen}");
    assert!(screen.contains("Skipped: your settings have a server with this name."), "{screen}");
    let screen = stage.press("j j").screen(120, 35);
    assert!(screen.contains("2 tools are skipped: another tool"), "{screen}");
    assert!(screen.contains("outside the sandbox"), "{screen}");
}

#[test]
fn the_answer_to_an_act_goes_when_the_screen_closes() {
    let mut stage = opened(FileDecision::Yes);
    let restarts = |r: &Request| matches!(r, Request::Tool(ToolRequest::Servers(_, ServerAct::Restart { .. })));
    stage.press("G r").reply(restarts, Answer::Done("weather starts again.".into()));
    assert!(stage.screen(120, 35).contains("weather starts again."));
    stage.press("esc");
    assert!(!stage.screen(120, 35).contains("weather starts again."));
    stage.press("ctrl-t");
    assert!(!stage.screen(120, 35).contains("weather starts again."), "it is not about this list");
    stage.press("esc").type_text("/mcp").press("enter");
    stage.reply(asked, Answer::Tool(ToolAnswer::ToolList(tool_list(FileDecision::Yes))));
    stage.press("G r esc").reply(restarts, Answer::Done("weather starts again.".into()));
    assert!(stage.screen(120, 35).contains("weather starts again."), "the screen was closed before the answer came");
}

/// A notice that takes two rows in 80 columns.
const LONG_NOTICE: &str = "weather could not be started again: it exited with code 1 right after it began, and its \
                           output is below.";

/// Whether the words of a text are all on the screen, on several rows.
fn wraps(screen: &str, text: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (all, wanted) = (words(screen), words(text));
    !screen.contains(text) && all.windows(wanted.len()).any(|part| part == wanted)
}

#[test]
fn a_long_notice_wraps() {
    let mut stage = opened(FileDecision::Yes);
    stage.model.status.say(Severity::Notice, LONG_NOTICE, stage.model.now);
    let screen = stage.screen(80, 24);
    assert!(wraps(&screen, LONG_NOTICE), "{screen}");
    let mut stage = fixture::opened();
    stage.type_text("/editors").press("enter");
    super::editor::fill(&mut stage, EditableKind::State, Vec::new());
    stage.model.status.say(Severity::Notice, LONG_NOTICE, stage.model.now);
    let screen = stage.screen(80, 24);
    assert!(wraps(&screen, LONG_NOTICE), "in the editors: {screen}");
    let versions = vec![super::editor::version("version 1", "Goal: fix login", true, None)];
    let block = super::editor::thing(EditableKind::State, "", versions);
    stage.press("tab shift-tab");
    super::editor::fill(&mut stage, EditableKind::State, vec![block]);
    stage.model.status.say(Severity::Notice, LONG_NOTICE, stage.model.now);
    let screen = stage.screen(80, 24);
    assert!(wraps(&screen, LONG_NOTICE), "above the text of an item: {screen}");
}
