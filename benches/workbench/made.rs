//! Generated sessions and plans, as the engine would send them.

use crate::{MAIN, SESSION};
use pleach::domain::base::{Hash, NodeId};
use pleach::domain::call::{Certainty, Encoding};
use pleach::domain::conversation::message::node_key;
use pleach::domain::conversation::{Atom, Branch, Content, End, Node, NodeHead, Part, Role, SessionCard};
use pleach::domain::planning::{
    Basis, Budget, ContextPlan, Form, Item, Layout, Mode, Row, RowKind, Scores, Section, Source, Verdict,
};
use pleach::domain::planning::{Reason, Remedy};
use pleach::engine::api::SessionView;
use uuid::Uuid;

fn node(n: u128, parent: Option<&NodeHead>, role: Role, text: String) -> Node {
    let content = Content { parts: vec![Part::Text { text }], extra: None };
    let hash = content.hash();
    let head = NodeHead {
        id: NodeId(Uuid::from_u128(1_000 + n)),
        key: node_key(parent.map(|p| p.key), role, Some(hash), 0, None),
        parent: parent.map(|p| p.id),
        ord: u32::try_from(n).unwrap(),
        role,
        end: End::Complete,
        at: 1_795_348_800_000 + i64::try_from(n).unwrap() * 1_000,
        bytes: content.bytes(),
        calls: 0,
        hidden: false,
        imported: false,
        content: Some(hash),
        preview: NodeHead::preview_of(&content.plain_text()),
        model: (role == Role::Assistant).then(|| "model".to_owned()),
        name: None,
        lane: String::new(),
        external_id: None,
    };
    Node { head, content }
}

pub(crate) fn view_of(nodes: &[Node], head: NodeId) -> SessionView {
    let messages = nodes.len() as u64;
    let main = Branch { seq: 1, ..Branch::new(MAIN, SESSION, "main", Some(head), 0) };
    let card = SessionCard { id: SESSION, title: "bench".into(), created_at: 0, updated_at: 0, messages, branches: 1 };
    SessionView {
        card,
        nodes: nodes.iter().map(|node| node.head.clone()).collect(),
        branches: vec![main],
        current: MAIN,
        runs: Vec::new(),
        traces: Vec::new(),
        tags: Vec::new(),
        races: Vec::new(),
        workspace: ("/project".into(), false),
        drafts: Vec::new(),
        cleared: Vec::new(),
        recovered: Vec::new(),
    }
}

/// A path of `count` messages of `bytes` bytes. Every `side`-th message has another version.
pub(crate) fn talk(count: u128, bytes: usize, side: u128) -> (Vec<Node>, NodeId) {
    let mut nodes: Vec<Node> = Vec::new();
    let mut parent: Option<NodeHead> = None;
    for n in 0..count {
        let role = if n % 2 == 0 { Role::User } else { Role::Assistant };
        let prose = "The *refresh* token is rotated before the `old` one is stored.\n\n- one\n- two\n\n";
        let text = format!("Message {n}.\n\n{}", prose.repeat((bytes / prose.len()).max(1)));
        let here = node(n, parent.as_ref(), role, text);
        if side > 0 && n % side == 0 {
            nodes.push(node(count + n, parent.as_ref(), role, format!("Another version of message {n}.")));
        }
        parent = Some(here.head.clone());
        nodes.push(here);
    }
    let head = parent.map(|head| head.id).unwrap();
    (nodes, head)
}

/// A plan with `candidates` turns, of which the newest tenth is included.
pub(crate) fn plan(nodes: &[Node], candidates: usize) -> ContextPlan {
    let turns: Vec<&[Node]> = nodes.chunks_exact(2).rev().take(candidates).collect();
    let rows = turns.iter().rev().enumerate().map(|(at, turn)| row(at, turn, at * 10 >= candidates * 9)).collect();
    let blank = Hash::default();
    ContextPlan {
        id: Hash::of(b"plan"),
        basis: Basis { head: blank, marks: blank, draft: blank, wire: blank, frozen: blank },
        input_digest: Hash::of(b"input"),
        policy: "layered".into(),
        policy_version: 1,
        mode: Mode::Light,
        layout: Layout::Classic,
        profile: "openai".into(),
        model: "model".into(),
        encoding: Encoding::O200kBase,
        certainty: Certainty::Estimated,
        budget: Budget {
            context_window: 128_000,
            reserved_output: 4_000,
            safety: 1_000,
            prompt: 120_000,
            cap: None,
            input_limit: None,
            results: 0,
        },
        est_total: 90_000,
        framing: 60,
        tools: 0,
        tool_costs: Vec::new(),
        level_budgets: None,
        rows,
        anchor: None,
        retrieval_set_ids: Vec::new(),
        warnings: Vec::new(),
    }
}

fn row(at: usize, turn: &[Node], goes: bool) -> Row {
    let item = |node: &Node| Item {
        key: node.head.key,
        node: Some(node.head.id),
        role: node.head.role,
        form: Form::Full,
        tokens: 450,
        title: node.head.preview.clone(),
        calls: 0,
        orphan: false,
    };
    let remedy = Remedy { action: "include-once".into(), does: "includes it for this call".into() };
    let (verdict, reason) = if goes {
        (Verdict::In { section: Section::Recent }, Reason::Recent)
    } else {
        (Verdict::Out { needed: 900, remedy: Some(remedy) }, Reason::OutsideWindow)
    };
    let (first, last) = (&turn[0].head, &turn[1].head);
    Row {
        atom: Atom::Turn { user: first.key, tip: last.key },
        kind: RowKind::Turn,
        verdict,
        reason,
        tokens: 900,
        title: first.preview.clone(),
        text: None,
        scores: Scores::default(),
        source: Source { turn: Some(at as u32 + 1), message: Some(first.id), at: Some(first.at), ..Source::default() },
        pin: None,
        items: turn.iter().map(item).collect(),
        turns: 1,
    }
}
