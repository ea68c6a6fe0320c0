//! Key to frame: the update and the views on a large session while an answer is streaming, and on a large tree.
//! Prints a table in microseconds. Needs no terminal and no network; the bytes are those that a terminal would get.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints its figures and stops where it cannot go on"
)]

use pleach::config::keymap::{Chord, Key, Keymap};
use pleach::domain::branch::{Branch, Overrides, SessionCard};
use pleach::domain::ids::{BranchId, NodeId, RunId, SessionId};
use pleach::domain::message::{Content, End, Node, NodeHead, Part, Role, node_key};
use pleach::domain::tokens::Certainty;
use pleach::engine::api::{Answer, Event, Request, SessionView, Ticket};
use pleach::tui::model::{Facts, Model};
use pleach::tui::msg::{Cmd, Msg};
use pleach::tui::theme::Theme;
use pleach::tui::view::cache::Cache;
use pleach::tui::{update, view};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use uuid::Uuid;

const MAIN: BranchId = BranchId(Uuid::from_u128(2));
const SESSION: SessionId = SessionId(Uuid::from_u128(1));
const SIZE: (u16, u16) = (200, 50);
/// Tokens of a streaming answer in a second, and keys that are pressed in it.
const TOKENS: u64 = 200;
const KEYS: u64 = 30;

/// Counts what a terminal would get.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU64>);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Bench {
    model: Model,
    cache: Cache,
    theme: Theme,
    bodies: HashMap<NodeId, Arc<Node>>,
    open: Option<Ticket>,
    terminal: Terminal<CrosstermBackend<Count>>,
    bytes: Count,
}

impl Bench {
    fn new(nodes: Vec<Node>, head: NodeId) -> Self {
        let bytes = Count::default();
        let area = Rect::new(0, 0, SIZE.0, SIZE.1);
        let backend = CrosstermBackend::new(bytes.clone());
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Fixed(area) }).unwrap();
        let model = Model { size: SIZE, keys: Keymap::built_in(), facts: Facts::default(), ..Model::default() };
        let view = view_of(&nodes, head);
        let bodies = nodes.into_iter().map(|node| (node.head.id, Arc::new(node))).collect();
        let (cache, theme) = (Cache::default(), Theme::built_in("dark", false));
        let mut bench = Self { model, cache, theme, bodies, open: None, terminal, bytes };
        let cmds = update::start(&mut bench.model, None, None);
        bench.take(cmds);
        let ticket = bench.open.unwrap();
        bench.event(Event::Answer { ticket, result: Ok(Answer::Opened(Arc::new(view))) });
        bench.frame();
        bench
    }

    fn msg(&mut self, msg: Msg) {
        let cmds = update::update(&mut self.model, msg);
        self.take(cmds);
    }

    fn event(&mut self, event: Event) {
        self.msg(Msg::Engine(Box::new(event)));
    }

    fn take(&mut self, cmds: Vec<Cmd>) {
        for cmd in cmds {
            match cmd {
                Cmd::Send(ticket, Request::Bodies { nodes }) => {
                    let found = nodes.iter().filter_map(|id| self.bodies.get(id).cloned()).collect();
                    self.event(Event::Answer { ticket, result: Ok(Answer::Bodies(found)) });
                }
                Cmd::Send(ticket, Request::OpenSession { .. }) => self.open = Some(ticket),
                _ => {}
            }
        }
    }

    fn frame(&mut self) {
        let mut wanted = Vec::new();
        let (model, cache, theme) = (&mut self.model, &mut self.cache, &self.theme);
        self.terminal.draw(|frame| wanted = view::frame(model, cache, theme, frame.buffer_mut())).unwrap();
        self.msg(Msg::Wanted(wanted));
    }

    /// From a key to its frame.
    fn press(&mut self, key: Key) -> Duration {
        let began = Instant::now();
        self.msg(Msg::Key(Chord::plain(key)));
        self.frame();
        began.elapsed()
    }
}

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
        preview: NodeHead::preview_of(&content.words()),
        model: (role == Role::Assistant).then(|| "model".to_owned()),
        name: None,
        lane: String::new(),
        external_id: None,
    };
    Node { head, content }
}

fn view_of(nodes: &[Node], head: NodeId) -> SessionView {
    let messages = nodes.len() as u64;
    let main = Branch {
        id: MAIN,
        session: SESSION,
        name: "main".into(),
        head: Some(head),
        parent: None,
        fork: None,
        archived: false,
        created_at: 0,
        seq: 1,
        overrides: Overrides::default(),
        anchor: None,
        marks: Vec::new(),
        state: None,
        reply: None,
        capsules: Vec::new(),
    };
    let card = SessionCard { id: SESSION, title: "bench".into(), created_at: 0, updated_at: 0, messages, branches: 1 };
    SessionView {
        card,
        nodes: nodes.iter().map(|node| node.head.clone()).collect(),
        branches: vec![main],
        current: MAIN,
        runs: Vec::new(),
        tags: Vec::new(),
        races: Vec::new(),
        traces: Vec::new(),
        workspace: ("/project".into(), false),
        drafts: Vec::new(),
        recovered: Vec::new(),
    }
}

/// A path of so many messages of so many bytes; every `side`-th message has another version beside it.
fn talk(count: u128, bytes: usize, side: u128) -> (Vec<Node>, NodeId) {
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

/// A piece of an answer that grows by `TOKENS` a second.
fn stream(bench: &mut Bench, sent: &mut String, tokens: u64) {
    let from = sent.len();
    for n in 0..tokens {
        sent.push_str(if n % 12 == 11 { "word.\n" } else { "word " });
    }
    bench.event(Event::Stream {
        branch: MAIN,
        run: RunId(Uuid::from_u128(9)),
        text: sent[from..].into(),
        reasoning: String::new(),
        tokens: u32::try_from(sent.len() / 5).unwrap(),
        certainty: Certainty::Estimated,
        cost_micro: Some(1),
    });
}

fn tell(name: &str, mut times: Vec<Duration>, bytes: u64) {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_micros();
    let each = bytes / times.len() as u64;
    println!("{name:<44} {:>8} {:>8} {:>8} {each:>10}", at(50), at(99), times[times.len() - 1].as_micros());
}

fn keys(bench: &mut Bench, name: &str, streaming: bool, keys: &[Key], rounds: usize) {
    let before = bench.bytes.0.load(Ordering::Relaxed);
    let mut sent = String::new();
    let mut times = Vec::new();
    for round in 0..rounds {
        let now = bench.model.now + 1_000 / KEYS;
        bench.msg(Msg::Tick(now));
        if streaming {
            stream(bench, &mut sent, TOKENS / KEYS);
        }
        times.push(bench.press(keys[round % keys.len()]));
    }
    tell(name, times, bench.bytes.0.load(Ordering::Relaxed) - before);
}

/// What is left to do by itself after a key, in its slices.
fn rest(bench: &mut Bench, slices: &mut Vec<Duration>) {
    for _ in 0..500 {
        let now = bench.model.now;
        if bench.model.next_wake().is_none_or(|wake| wake > now) {
            return;
        }
        let began = Instant::now();
        bench.msg(Msg::Tick(now));
        bench.frame();
        slices.push(began.elapsed());
    }
}

/// The whole tree as a place: opening it, moving about, filtering, an answer that comes while it is open.
fn tree(bench: &mut Bench, head: NodeId) {
    let mut slices = Vec::new();
    rest(bench, &mut slices);
    let first = bench.press(Key::F(8));
    println!("the tree opened for the first time in {} us", first.as_micros());
    bench.press(Key::F(8));
    keys(bench, "tree: open and close", false, &[Key::F(8)], 40);
    bench.press(Key::F(8));
    keys(bench, "tree: down", false, &[Key::Char('j')], 300);
    keys(bench, "tree: a page up, a page down", false, &[Key::PageUp, Key::PageDown], 300);
    keys(bench, "tree: start and end", false, &[Key::Char('g'), Key::Char('G')], 100);
    keys(bench, "tree: fold and unfold", false, &[Key::Char('g'), Key::Char('h'), Key::Char('l')], 150);
    bench.press(Key::Char('/'));
    let word = ['v', 'e', 'r', 's', 'i', 'o', 'n', ' ', 'o', 'f'].map(Key::Char);
    let typed: Vec<Key> = word.into_iter().chain([Key::Backspace; 10]).collect();
    let (mut times, mut slices) = (Vec::new(), Vec::new());
    let before = bench.bytes.0.load(Ordering::Relaxed);
    for round in 0..200 {
        let now = bench.model.now + 1_000 / KEYS;
        bench.msg(Msg::Tick(now));
        times.push(bench.press(typed[round % typed.len()]));
        rest(bench, &mut slices);
    }
    tell("tree: filter, a key", times, bench.bytes.0.load(Ordering::Relaxed) - before);
    if !slices.is_empty() {
        tell("tree: filter, what goes on by itself", slices, 0);
    }
    bench.press(Key::Esc);
    let (mut times, mut above) = (Vec::new(), head);
    for n in 0..60_u128 {
        let role = if n % 2 == 0 { Role::User } else { Role::Assistant };
        let parent = bench.model.session.as_ref().unwrap().tree.get(above).unwrap().clone();
        let more = node(900_000 + n, Some(&parent), role, format!("It goes on {n}."));
        above = more.head.id;
        let mut branch = bench.model.branch().unwrap().clone();
        branch.head = Some(above);
        let began = Instant::now();
        bench.event(Event::Nodes { session: SESSION, heads: vec![more.head] });
        bench.event(Event::Branch(Box::new(branch)));
        bench.frame();
        times.push(began.elapsed());
    }
    tell("tree: a message comes while it is open", times, 0);
}

fn main() {
    let began = Instant::now();
    println!("key to frame at {}x{}, in microseconds", SIZE.0, SIZE.1);
    println!("{:<44} {:>8} {:>8} {:>8} {:>10}", "", "p50", "p99", "most", "bytes");
    let (nodes, head) = talk(10_000, 5_000, 0);
    let size: u64 = nodes.iter().map(|node| node.head.bytes).sum();
    let opening = Instant::now();
    let mut bench = Bench::new(nodes, head);
    println!("10,000 messages, {} MB: opened and drawn in {} ms", size / 1_000_000, opening.elapsed().as_millis());
    let letters = ['a', 'b', ' ', 'c', 'd'].map(Key::Char);
    keys(&mut bench, "typing", false, &letters, 600);
    bench.event(Event::TurnOpened { branch: MAIN, text: "And?".into(), after: Some(head) });
    keys(&mut bench, "typing, an answer at 200 tokens/s", true, &letters, 600);
    bench.press(Key::Tab);
    keys(&mut bench, "message up, the same", true, &[Key::Char('k')], 600);
    keys(&mut bench, "page up, the same", true, &[Key::PageUp], 600);
    keys(&mut bench, "start and end, the same", true, &[Key::Char('g'), Key::Char('G')], 300);
    drop(bench);

    let (nodes, head) = talk(80_000, 60, 4);
    let count = nodes.len();
    let opening = Instant::now();
    let mut bench = Bench::new(nodes, head);
    println!("a tree of {count} messages: opened and drawn in {} ms", opening.elapsed().as_millis());
    keys(&mut bench, "typing", false, &letters, 300);
    bench.press(Key::Tab);
    keys(&mut bench, "message up", false, &[Key::Char('k')], 300);
    keys(&mut bench, "start and end", false, &[Key::Char('g'), Key::Char('G')], 100);
    tree(&mut bench, head);
    println!("all in {} s", began.elapsed().as_secs());
}
