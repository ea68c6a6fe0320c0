//! The workbench at its largest: key to frame in a session of 10,000 messages and 50 MB during a streaming answer, in a
//! tree of 100,000 messages, and in an overlay of 2,000 candidates; bytes of a frame and allocations of a key; then,
//! with the real engine on a real store, the time to open that session, to a plan, and to the first results of an
//! incremental search over 1,000,000 messages. Needs neither a terminal nor a network; the bytes are those that a
//! terminal would receive.
//! `cargo bench --bench workbench [-- MESSAGES [FOLDER]]` (MESSAGES of the search, 0 to skip it; FOLDER keeps the store
//! for the next run). Sets no limits.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/it/support"]
mod support {
    pub(crate) mod bench;
    pub(crate) mod live;
    pub(crate) mod server;
}
#[allow(dead_code, reason = "other benches use the rest of it")]
#[path = "shared/dice.rs"]
mod dice;
#[allow(dead_code, reason = "another bench uses the rest of it")]
#[path = "bounded/fill.rs"]
mod fill;
#[path = "workbench/made.rs"]
mod made;
#[allow(dead_code, reason = "other benches use the rest of it")]
#[path = "shared/setup.rs"]
mod shared;
#[path = "workbench/stored.rs"]
mod stored;

use made::view_of;
use pleach::config::keys::keymap::{Chord, Key, Keymap};
use pleach::domain::base::{BranchId, Hash, NodeId, RunId, SessionId};
use pleach::domain::call::Certainty;
use pleach::domain::conversation::Node;
use pleach::domain::planning::ContextPlan;
use pleach::engine::api::{Event, Planned, Request, SessionAnswer, SessionRequest, Ticket, TurnEvent};
use pleach::tui::model::{Facts, Model};
use pleach::tui::msg::{Cmd, EngineMsg, FrameMsg, Input, Msg};
use pleach::tui::theme::Theme;
use pleach::tui::view::cache::Cache;
use pleach::tui::{update, view};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Counts allocations in this process, which does nothing else while the screen is measured.
#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const MAIN: BranchId = BranchId(Uuid::from_u128(2));
const SESSION: SessionId = SessionId(Uuid::from_u128(1));
const SIZE: (u16, u16) = (200, 50);
/// Tokens of a streaming answer in a second, and keys pressed in it.
const TOKENS: u64 = 200;
const KEYS: u64 = 30;
/// Rows of the plan in the overlay.
const CANDIDATES: usize = 2_000;

/// Counts the bytes that a terminal would receive.
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
        bench.event(Event::Answer { ticket, result: Ok(SessionAnswer::Opened(Arc::new(view)).into()) });
        bench.frame();
        bench
    }

    fn msg(&mut self, msg: Msg) {
        let cmds = update::update(&mut self.model, msg);
        self.take(cmds);
    }

    fn event(&mut self, event: Event) {
        self.msg(Msg::Engine(EngineMsg::Event(Box::new(event))));
    }

    fn take(&mut self, cmds: Vec<Cmd>) {
        for cmd in cmds {
            match cmd {
                Cmd::Send(ticket, Request::Session(SessionRequest::Bodies { nodes })) => {
                    let found = nodes.iter().filter_map(|id| self.bodies.get(id).cloned()).collect();
                    self.event(Event::Answer { ticket, result: Ok(SessionAnswer::Bodies(found).into()) });
                }
                Cmd::Send(ticket, Request::Session(SessionRequest::Open { .. })) => self.open = Some(ticket),
                _ => {}
            }
        }
    }

    fn frame(&mut self) {
        let mut wanted = Vec::new();
        let (model, cache, theme) = (&mut self.model, &mut self.cache, &self.theme);
        self.terminal.draw(|frame| wanted = view::frame::draw(model, cache, theme, frame.buffer_mut())).unwrap();
        self.msg(Msg::Frame(FrameMsg::Missing(wanted)));
    }

    /// The time from a key to its frame.
    fn press(&mut self, key: Key) -> Duration {
        self.chord(Chord::plain(key))
    }

    fn chord(&mut self, chord: Chord) -> Duration {
        let began = Instant::now();
        self.msg(Msg::Input(Input::Key(chord)));
        self.frame();
        began.elapsed()
    }

    /// The next request's plan arrives.
    fn plan(&mut self, plan: ContextPlan) {
        self.model.plan.schedule_now(self.model.now);
        self.msg(Msg::Tick(self.model.now));
        let planned = Planned::Plan {
            code_set: None,
            state_request: None,
            plan: Arc::new(plan),
            request_digest: Hash::of(b"body"),
            bytes: 400_000,
            calibration: None,
            cost: None,
            same_prefix: None,
            breaks: None,
        };
        self.event(Event::Planned { branch: MAIN, generation: self.model.plan.generation, planned });
    }
}

/// A piece of an answer that grows by `TOKENS` a second: lines of twelve words in one paragraph.
fn stream(bench: &mut Bench, sent: &mut String, tokens: u64) {
    let from = sent.len();
    for _ in 0..tokens {
        let is_last_of_line = (sent.len() / 5) % 12 == 11;
        sent.push_str(if is_last_of_line { "word\n" } else { "word " });
    }
    arrives(bench, &sent[from..], sent.len() / 5);
}

/// A piece of the answer arrives, with which the answer has `tokens` tokens.
fn arrives(bench: &mut Bench, text: &str, tokens: usize) {
    bench.event(Event::Turn(TurnEvent::Stream {
        branch: MAIN,
        run: RunId(Uuid::from_u128(9)),
        text: text.into(),
        reasoning: String::new(),
        tokens: u32::try_from(tokens).unwrap(),
        certainty: Certainty::Estimated,
        cost_micro: Some(1),
    }));
}

/// Types while the last line of the answer, of more than 200 KB, grows by words.
fn long_line(bench: &mut Bench, name: &str, word: &str) {
    arrives(bench, &format!("\n\n{}", word.repeat(200_000 / word.len())), 50_000);
    bench.frame();
    let (mut times, mut allocations) = (Vec::new(), 0);
    let before = bench.bytes.0.load(Ordering::Relaxed);
    for _ in 0..60 {
        arrives(bench, &word.repeat(6), 50_000);
        let region = Region::new(COUNTING);
        times.push(bench.press(LETTERS[0]));
        let made = region.change();
        allocations += made.allocations + made.reallocations;
    }
    report(name, times, bench.bytes.0.load(Ordering::Relaxed) - before, allocations);
}

fn report(name: &str, mut times: Vec<Duration>, bytes: u64, allocations: usize) {
    let each = |sum: u64| sum / times.len() as u64;
    let (bytes, allocations) = (each(bytes), each(allocations as u64));
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_micros();
    println!("{name:<44} {:>8} {:>8} {:>8} {bytes:>10} {allocations:>8}", at(50), at(99), at(100));
}

/// Presses keys one after the other, while an answer streams if `streaming`.
fn keys(bench: &mut Bench, name: &str, streaming: bool, keys: &[Key], rounds: usize) {
    let before = bench.bytes.0.load(Ordering::Relaxed);
    let mut sent = String::new();
    let (mut times, mut allocations) = (Vec::new(), 0);
    for round in 0..rounds {
        let now = bench.model.now + 1_000 / KEYS;
        bench.msg(Msg::Tick(now));
        if streaming {
            stream(bench, &mut sent, TOKENS / KEYS);
        }
        let region = Region::new(COUNTING);
        times.push(bench.press(keys[round % keys.len()]));
        let made = region.change();
        allocations += made.allocations + made.reallocations;
    }
    report(name, times, bench.bytes.0.load(Ordering::Relaxed) - before, allocations);
}

/// Repeats a key, each time followed by `back`, which is not timed.
fn repeat(bench: &mut Bench, name: &str, key: Key, back: Key, rounds: usize) {
    let (mut times, mut bytes, mut allocations) = (Vec::new(), 0, 0);
    for _ in 0..rounds {
        let before = bench.bytes.0.load(Ordering::Relaxed);
        let region = Region::new(COUNTING);
        times.push(bench.press(key));
        let made = region.change();
        allocations += made.allocations + made.reallocations;
        bytes += bench.bytes.0.load(Ordering::Relaxed) - before;
        bench.press(back);
    }
    report(name, times, bytes, allocations);
}

const LETTERS: [Key; 5] = [Key::Char('a'), Key::Char('b'), Key::Char(' '), Key::Char('c'), Key::Char('d')];

fn session() {
    let (nodes, head) = made::talk(10_000, 5_000, 0);
    let size: u64 = nodes.iter().map(|node| node.head.bytes).sum();
    let plan = made::plan(&nodes, CANDIDATES);
    let opening = Instant::now();
    let mut bench = Bench::new(nodes, head);
    println!("10,000 messages, {} MB: opened and drawn in {} ms", size / 1_000_000, opening.elapsed().as_millis());
    keys(&mut bench, "typing", false, &LETTERS, 600);
    bench.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "And?".into(), after: Some(head) }));
    keys(&mut bench, "typing, an answer at 200 tokens/s", true, &LETTERS, 600);
    bench.press(Key::Tab);
    keys(&mut bench, "message up, the same", true, &[Key::Char('k')], 600);
    keys(&mut bench, "page up, the same", true, &[Key::PageUp], 600);
    keys(&mut bench, "start and end, the same", true, &[Key::Char('g'), Key::Char('G')], 300);
    bench.press(Key::Esc);
    long_line(&mut bench, "typing, an answer in one line", "word ");
    long_line(&mut bench, "typing, an answer in one line of code spans", "`word` ");
    bench.plan(plan);
    println!("what the next request holds: {CANDIDATES} candidates");
    let open = Chord { ctrl: true, ..Chord::plain(Key::Char('o')) };
    let mut times = Vec::new();
    let (before, region) = (bench.bytes.0.load(Ordering::Relaxed), Region::new(COUNTING));
    for _ in 0..100 {
        times.push(bench.chord(open));
        bench.chord(open);
    }
    let made = region.change();
    let bytes = bench.bytes.0.load(Ordering::Relaxed) - before;
    report("opening it (bytes, allocations: and closing)", times, bytes, made.allocations + made.reallocations);
    bench.chord(open);
    keys(&mut bench, "row down in it", false, &[Key::Char('j')], 600);
    keys(&mut bench, "page down in it", false, &[Key::PageDown], 100);
    keys(&mut bench, "start and end of it", false, &[Key::Char('g'), Key::Char('G')], 100);
    bench.press(Key::Char('/'));
    keys(&mut bench, "filtering it, a letter typed", false, &LETTERS[..1], 3);
}

fn tree() {
    let (nodes, head) = made::talk(80_000, 60, 4);
    let count = nodes.len();
    let opening = Instant::now();
    let mut bench = Bench::new(nodes, head);
    println!("a tree of {count} messages: opened and drawn in {} ms", opening.elapsed().as_millis());
    keys(&mut bench, "typing", false, &LETTERS, 300);
    for _ in 0..LETTERS.len() * 100 {
        bench.press(Key::Backspace);
    }
    bench.press(Key::Tab);
    keys(&mut bench, "message up", false, &[Key::Char('k')], 300);
    keys(&mut bench, "start and end", false, &[Key::Char('g'), Key::Char('G')], 100);
    bench.press(Key::Esc);
    repeat(&mut bench, "opening the whole tree", Key::F(8), Key::Esc, 20);
    bench.press(Key::F(8));
    keys(&mut bench, "row up in it", false, &[Key::Char('k')], 300);
    keys(&mut bench, "its start and end", false, &[Key::Char('g'), Key::Char('G')], 100);
    keys(&mut bench, "folding and unfolding", false, &[Key::Char('k'), Key::Char('h'), Key::Char('l')], 300);
    jumps(&mut bench);
}

/// From one end of the tree to another place with Enter, and back.
fn jumps(bench: &mut Bench) {
    bench.press(Key::Esc);
    let (mut times, mut allocations) = (Vec::new(), 0);
    let before = bench.bytes.0.load(Ordering::Relaxed);
    for round in 0..20 {
        bench.press(Key::F(8));
        for key in [if round % 2 == 0 { 'g' } else { 'G' }, 'k', 'k'] {
            bench.press(Key::Char(key));
        }
        let region = Region::new(COUNTING);
        times.push(bench.press(Key::Enter));
        let made = region.change();
        allocations += made.allocations + made.reallocations;
        for _ in 0..3 {
            bench.press(Key::Esc);
        }
    }
    report("Enter: to a message across the tree", times, bench.bytes.0.load(Ordering::Relaxed) - before, allocations);
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let searched = args.first().map_or(1_000_000, |arg| arg.parse().expect("how many messages are searched"));
    println!("key to frame at {}x{}, microseconds; bytes to the terminal and allocations of a key", SIZE.0, SIZE.1);
    println!("{:<44} {:>8} {:>8} {:>8} {:>10} {:>8}", "", "p50", "p99", "most", "bytes", "allocs");
    session();
    tree();
    stored::session(SIZE);
    if searched > 0 {
        stored::search(searched, args.get(1).map(std::path::Path::new));
    }
}
