//! A session as the engine would send it, and its plan.

use super::Stage;
use pleach::config::themes::BUILT_IN;
use pleach::domain::base::{BranchId, Hash, NodeId, RunId, SessionId};
use pleach::domain::call::{
    Calibration, Certainty, Encoding, ModelInfo, PromptCost, RunCard, RunStatus, Supports, Usage,
};
use pleach::domain::conversation::message::node_key;
use pleach::domain::conversation::{
    Actor, Atom, Branch, Content, End, Mark, MarkKind, Node, NodeHead, Part, Role, SessionCard, StateVersion,
};
use pleach::domain::planning::{
    Basis, Budget, ContextPlan, Form, Item, Layout, Mode, Row, RowKind, Section, Source, Verdict,
};
use pleach::domain::planning::{Reason, Remedy, Warning};
use pleach::domain::tool::{ToolStatus, ToolTrace};
use pleach::engine::api::{
    Event, PlanAnswer, PlanRequest, Planned, Request, SessionAnswer, SessionEvent, SessionRequest, SessionView,
    Settings,
};
use pleach::tui::theme::Themes;
use std::sync::Arc;
use uuid::Uuid;

pub(crate) const SESSION: SessionId = SessionId(Uuid::from_u128(1));
pub(crate) const MAIN: BranchId = BranchId(Uuid::from_u128(2));
pub(crate) const RETRY: BranchId = BranchId(Uuid::from_u128(3));
/// A branch that is made while the test runs.
pub(crate) fn third() -> BranchId {
    BranchId(Uuid::from_u128(4))
}

/// 2026-11-22 12:01 UTC.
pub(crate) const NOON: i64 = 1_795_348_800_000;

pub(crate) fn node_id(n: u128) -> NodeId {
    NodeId(Uuid::from_u128(1_000 + n))
}

pub(crate) fn run_id(n: u128) -> RunId {
    RunId(Uuid::from_u128(9_000 + n))
}

pub(crate) fn node(n: u128, parent: Option<&Node>, role: Role, parts: Vec<Part>) -> Node {
    let content = Content { parts, extra: None };
    let hash = content.hash();
    let head = NodeHead {
        id: node_id(n),
        key: node_key(parent.map(|p| p.head.key), role, Some(hash), 0, None),
        parent: parent.map(|p| p.head.id),
        ord: u32::try_from(n).unwrap(),
        role,
        end: End::Complete,
        at: NOON + i64::try_from(n).unwrap() * 60_000,
        bytes: content.bytes(),
        calls: u16::try_from(content.calls().count()).unwrap(),
        hidden: false,
        imported: false,
        content: Some(hash),
        preview: NodeHead::preview_of(&content.plain_text()),
        model: (role == Role::Assistant).then(|| "gpt-4.1-mini".to_owned()),
        name: None,
        lane: String::new(),
        external_id: None,
    };
    Node { head, content }
}

pub(crate) fn text_node(n: u128, parent: Option<&Node>, role: Role, text: &str) -> Node {
    node(n, parent, role, vec![Part::Text { text: text.to_owned() }])
}

pub(crate) fn branch(id: BranchId, name: &str, head: Option<&Node>, parent: Option<BranchId>) -> Branch {
    Branch { parent, seq: 1, ..Branch::new(id, SESSION, name, head.map(|node| node.head.id), NOON) }
}

pub(crate) fn settings() -> Settings {
    Settings {
        profile: "openai".into(),
        model: ModelInfo {
            name: "gpt-4.1-mini".into(),
            context_window: 8_000,
            input_limit: None,
            max_output: None,
            encoding: Encoding::O200kBase,
            exact_encoding: true,
            price: None,
            source: "table".into(),
            supports: Supports::default(),
        },
        mode: Mode::Light,
        policy: "layered".into(),
        layout: "classic".into(),
        ready: Ok(()),
    }
}

pub(crate) fn run(n: u128, user: &Node, answer: &Node) -> RunCard {
    RunCard {
        id: run_id(n),
        session: SESSION,
        branch: MAIN,
        user: Some(user.head.id),
        answer: Some(answer.head.id),
        round: 1,
        plan: Hash::of(b"plan"),
        request_digest: Hash::of(b"request"),
        profile: "openai".into(),
        model: "gpt-4.1-mini".into(),
        policy: "layered".into(),
        mode: Mode::Light,
        status: RunStatus::Complete,
        est_total: 1_200,
        items: 5,
        attached: 612,
        marked: 0,
        marks: None,
        usage: Usage { prompt: Some(1_204), completion: Some(310), ..Usage::default() },
        short_read: None,
        edited: false,
        cost_micro: Some(1_100),
        finish_reason: Some("stop".into()),
        ttft_ms: Some(300),
        total_ms: Some(2_000),
        attempts: 1,
        error: None,
        diagnostics: Vec::new(),
        aside: false,
        uses: None,
        at: NOON,
    }
}

pub(crate) fn card(title: &str) -> SessionCard {
    SessionCard { id: SESSION, title: title.into(), created_at: NOON, updated_at: NOON, messages: 6, branches: 2 }
}

pub(crate) fn view(nodes: &[Node], branches: Vec<Branch>) -> SessionView {
    SessionView {
        card: card("auth-bug"),
        nodes: nodes.iter().map(|node| node.head.clone()).collect(),
        branches,
        current: MAIN,
        runs: Vec::new(),
        tags: Vec::new(),
        races: Vec::new(),
        traces: Vec::new(),
        workspace: ("/home/me/project".into(), false),
        drafts: Vec::new(),
        cleared: Vec::new(),
        recovered: Vec::new(),
    }
}

/// A short conversation: a question, a tool call, an answer with code and state, and a cut answer.
pub(crate) fn story() -> Vec<Node> {
    let one = text_node(1, None, Role::User, "Why does login fail after the refresh?");
    let call = Part::Call { id: "c1".into(), name: "read_file".into(), args: "{\"path\":\"src/auth.rs\"}".into() };
    let two = node(2, Some(&one), Role::Assistant, vec![Part::Text { text: "Let me look.".into() }, call]);
    let body = Part::Reply { call: "c1".into(), name: "read_file".into(), body: "fn refresh() {}\n".into() };
    let three = node(3, Some(&two), Role::Tool, vec![body]);
    let answer = "The refresh token is rotated *before* the old one is stored, so the second request still carries \
                  the old one:\n\n```rust\nstore.rotate(&token)?;\nsession.save(&token)?; // too late\n```\n\n\
                  - store first\n- then rotate\n\n---STATE---\nGoal: fix login\n---END STATE---";
    let four = node(
        4,
        Some(&three),
        Role::Assistant,
        vec![Part::Reasoning { text: "They rotate too early.".into() }, Part::Text { text: answer.into() }],
    );
    let five = text_node(5, Some(&four), Role::User, "And with two tabs open? 日本語 works too.");
    let mut six = text_node(6, Some(&five), Role::Assistant, "With two tabs both");
    six.head.end = End::Cancelled;
    let seven = text_node(7, Some(&four), Role::User, "Show me the patch.");
    vec![one, two, three, four, five, six, seven]
}

pub(crate) fn row(atom: &[u8], section: Section, tokens: u32, title: &str, reason: Reason) -> Row {
    Row {
        atom: Atom::Section { text: Hash::of(atom) },
        kind: RowKind::Text,
        verdict: Verdict::In { section },
        reason,
        tokens,
        title: title.into(),
        text: None,
        scores: pleach::domain::planning::plan::Scores::default(),
        source: Source::default(),
        pin: None,
        items: Vec::new(),
        turns: 1,
    }
}

pub(crate) fn turn_row(nodes: &[Node], turn: u32, tokens: u32, verdict: Verdict, reason: Reason) -> Row {
    let (first, last) = (&nodes[0], &nodes[nodes.len() - 1]);
    let item = |node: &Node| Item {
        key: node.head.key,
        node: Some(node.head.id),
        role: node.head.role,
        form: Form::Full,
        tokens: 40,
        title: node.head.preview.clone(),
        calls: node.head.calls,
        orphan: false,
    };
    Row {
        atom: Atom::Turn { user: first.head.key, tip: last.head.key },
        kind: RowKind::Turn,
        verdict,
        reason,
        tokens,
        title: first.head.preview.clone(),
        text: None,
        scores: pleach::domain::planning::plan::Scores::default(),
        source: Source { turn: Some(turn), message: Some(first.head.id), at: Some(first.head.at), ..Source::default() },
        pin: None,
        items: nodes.iter().map(item).collect(),
        turns: 1,
    }
}

#[allow(clippy::too_many_lines, reason = "one value, written out")]
pub(crate) fn plan(nodes: &[Node]) -> ContextPlan {
    let recent = || Verdict::In { section: Section::Recent };
    let mut pinned = row(b"note", Section::StickyPins, 340, "Never log tokens.", Reason::Sticky);
    pinned.pin = Some(MarkKind::Sticky);
    let remedy = Remedy { action: "include-once".into(), does: "includes it for this call".into() };
    let mut out =
        turn_row(&nodes[..4], 1, 900, Verdict::Out { needed: 700, remedy: Some(remedy) }, Reason::OutsideWindow);
    out.title = "An older turn about sessions".into();
    out.atom = Atom::Turn { user: Hash::of(b"older"), tip: Hash::of(b"tip") };
    let mut suggested = row(b"sug", Section::Recent, 80, "The error message of the gateway", Reason::Recent);
    suggested.verdict = Verdict::Suggested;
    let draft = Item {
        key: Hash::of(b"d"),
        node: None,
        role: Role::User,
        form: Form::Full,
        tokens: 12,
        title: "…".into(),
        calls: 0,
        orphan: false,
    };
    let mut open = row(b"draft", Section::UserMessage, 12, "type here", Reason::Open);
    open.items.push(draft);
    ContextPlan {
        id: Hash::of(b"plan"),
        basis: Basis {
            head: Hash::default(),
            marks: Hash::default(),
            draft: Hash::default(),
            wire: Hash::default(),
            frozen: Hash::default(),
        },
        input_digest: Hash::of(b"input"),
        policy: "layered".into(),
        policy_version: 1,
        mode: Mode::Light,
        layout: Layout::Classic,
        profile: "openai".into(),
        model: "gpt-4.1-mini".into(),
        encoding: Encoding::O200kBase,
        certainty: Certainty::Estimated,
        budget: Budget {
            context_window: 12_000,
            reserved_output: 3_000,
            safety: 1_000,
            prompt: 8_000,
            cap: Some(9_000),
            input_limit: None,
            results: 0,
        },
        est_total: 5_213,
        framing: 60,
        tools: 0,
        tool_costs: Vec::new(),
        level_budgets: None,
        rows: vec![
            row(b"sys", Section::System, 210, "You are a helpful assistant.", Reason::Instructions),
            row(b"state", Section::State, 88, "Goal: fix login", Reason::CurrentState),
            pinned,
            turn_row(&nodes[..4], 2, 3_963, recent(), Reason::Recent),
            open,
            suggested,
            out,
        ],
        anchor: None,
        retrieval_set_ids: Vec::new(),
        warnings: vec![Warning::MarksInactive { count: 1, replaced: 0 }],
    }
}

pub(crate) fn planned(plan: ContextPlan) -> Planned {
    let newest = plan.included().filter(|row| row.section() == Some(Section::Recent)).last();
    let breaks = newest.and_then(|row| row.items.first()).map(|item| item.key);
    Planned::Plan {
        plan: Arc::new(plan),
        request_digest: Hash::of(b"body"),
        bytes: 21_004,
        calibration: Some(Calibration { factor: 1.0512, offset: 0, error_pct: Some(2.04), samples: 20 }),
        cost: Some(PromptCost {
            micro: 900,
            uncached_micro: 2_190,
            cached: 4_200,
            answer_most_micro: 4_800,
            certainty: Certainty::Calibrated,
        }),
        same_prefix: Some(4_000),
        breaks,
        code_set: None,
        state_request: None,
    }
}

/// The conversation on two branches, open, planned, and idle.
pub(crate) fn opened() -> Stage {
    let nodes = story();
    let mut main = branch(MAIN, "main", Some(&nodes[5]), None);
    main.state = Some(StateVersion {
        text: "Goal: fix login".into(),
        node: nodes[3].head.id,
        key: nodes[3].head.key,
        edited: false,
        branch: None,
        withdrawn: false,
        offered: false,
        version: 1,
        at: NOON,
        pins: Vec::new(),
    });
    main.marks.push(Mark {
        target: Atom::Turn { user: nodes[0].head.key, tip: nodes[3].head.key },
        kind: MarkKind::Sticky,
        by: Actor::User,
        note: None,
        inherited_from: None,
        revision: 1,
        counted: None,
        renewals: 0,
        origin: None,
        code: None,
    });
    let retry = branch(RETRY, "retry-with-trace", Some(&nodes[6]), Some(MAIN));
    let mut view = view(&nodes, vec![main, retry]);
    view.runs.push(run(1, &nodes[0], &nodes[3]));
    view.traces.push(trace(&nodes[2], Some(ToolStatus::Ok)));
    open(nodes, view)
}

/// The session with the built-in themes to choose from and with the mouse.
pub(crate) fn opened_with_themes() -> Stage {
    let mut stage = opened();
    stage.model.display.themes = Themes::default().list();
    stage.model.display.themes.extend(BUILT_IN.iter().map(|(name, text)| {
        ((*name).to_owned(), text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned())
    }));
    stage.model.display.theme = "auto".into();
    stage.model.facts.mouse = true;
    stage
}

pub(crate) fn trace(node: &Node, status: Option<ToolStatus>) -> ToolTrace {
    ToolTrace {
        call_id: "c1".into(),
        run: run_id(1),
        node: Some(node.head.id),
        turn: None,
        name: "read_file".into(),
        args: "{\"path\":\"src/auth.rs\"}".into(),
        status,
        bytes: 1_300,
        truncated_from: None,
        est_tokens: 310,
        duration_ms: 12,
        at: NOON,
        preview: "fn refresh() {}".into(),
        word: None,
        exit: None,
        changed: Vec::new(),
        more: pleach::domain::tool::trace::TraceDetails::default(),
    }
}

/// A stage with an open session.
pub(crate) fn open(nodes: Vec<Node>, view: SessionView) -> Stage {
    let mut stage = Stage::new();
    let plan = (nodes.len() >= 4).then(|| plan(&nodes));
    stage.bodies = nodes.into_iter().map(|node| (node.head.id, Arc::new(node))).collect();
    stage.reply(
        |request| matches!(request, Request::Session(SessionRequest::Open { .. })),
        SessionAnswer::Opened(Arc::new(view)),
    );
    stage.event(Event::Session(SessionEvent::Settings { branch: MAIN, settings: Box::new(settings()) }));
    stage.wait(100);
    if let Some(plan) = plan {
        stage.reply(
            |request| matches!(request, Request::Plan(PlanRequest::Replan { .. })),
            PlanAnswer::Planned(planned(plan)),
        );
    }
    stage.wait(60_000);
    stage
}
