//! Conversations for planner tests as plain data, and a small builder of plan inputs with texts rendered and counted as
//! they will be sent. Does not use the engine's builder.

use super::look;
use pleach::context;
use pleach::context::render::render_forms::{self, WireState};
use pleach::context::render::{TextSource, tools_json};
use pleach::domain::base::{Fields, Hash};
use pleach::domain::call::tokens::approximate;
use pleach::domain::call::{Certainty, CountTokens, Dialect, Encoding};
use pleach::domain::conversation::mark::marks_digest;
use pleach::domain::conversation::{Actor, Atom, Content, LeaseTurns, Mark, MarkKind, Part, Role, state};
use pleach::domain::planning::Reason;
use pleach::domain::planning::{
    Anchor, Basis, Block, Budget, CoveredTurn, Form, Gap, InactiveMark, Layout, MessageInput, Mode, PartInput,
    PlanInput, PolicySpec, RequestShape, RowKind, Scores, Section, SendBarrier, Source, SummaryInput, TurnFacts,
    TurnInput,
};
use pleach::domain::tool::ToolSpec;
use std::collections::HashMap;
use std::sync::Arc;

/// The key of the summary in a section.
fn summary_key(section: Section) -> Hash {
    Hash::of(section.name().as_bytes())
}

/// A token for every four characters: fast, and additive over safe cuts.
pub(crate) struct Quarter;

impl CountTokens for Quarter {
    fn count(&self, _: Encoding, text: &str) -> u32 {
        approximate(text)
    }
}

/// A message.
#[derive(Clone)]
pub(crate) struct TalkMessage {
    pub(crate) role: Role,
    pub(crate) text: String,
    /// The ids of its calls, all to one tool.
    pub(crate) calls: Vec<String>,
    /// For a result: the call that it answers.
    pub(crate) reply: Option<String>,
    pub(crate) bar: Option<SendBarrier>,
    /// Whether it contains an image.
    pub(crate) image: bool,
}

/// One line with the beginning and length of the text, so that failing cases are readable.
impl std::fmt::Debug for TalkMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let begins: String = self.text.chars().take(24).collect();
        write!(f, "{:?} {begins:?} ({} bytes)", self.role, self.text.len())?;
        if !self.calls.is_empty() {
            write!(f, " calls {}", self.calls.join(" "))?;
        }
        self.reply.iter().try_for_each(|call| write!(f, " answers {call}"))?;
        self.bar.iter().try_for_each(|bar| write!(f, " {bar:?}"))?;
        if self.image { f.write_str(" with an image") } else { Ok(()) }
    }
}

impl TalkMessage {
    pub(crate) fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), calls: Vec::new(), reply: None, bar: None, image: false }
    }

    pub(crate) fn calling(text: impl Into<String>, calls: &[&str]) -> Self {
        Self { calls: calls.iter().map(|id| (*id).to_owned()).collect(), ..Self::new(Role::Assistant, text) }
    }

    pub(crate) fn result(call: &str, text: impl Into<String>) -> Self {
        Self { reply: Some(call.to_owned()), ..Self::new(Role::Tool, text) }
    }

    fn content(&self) -> Content {
        let mut parts = Vec::new();
        if let Some(call) = &self.reply {
            parts.push(Part::Reply { call: call.clone(), name: "look".into(), body: self.text.clone() });
        } else if !self.text.is_empty() {
            parts.push(Part::Text { text: self.text.clone() });
        }
        if self.image {
            parts.push(Part::Opaque { mime: "image/png".into(), bytes: 7, raw: Hash::of(b"an image") });
        }
        parts.extend(self.calls.iter().map(|id| Part::Call { id: id.clone(), name: "look".into(), args: "{}".into() }));
        Content { parts, extra: None }
    }
}

/// The target of a mark.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MarkTarget {
    Turn(usize),
    Message(usize, usize),
    Episode(usize, usize),
    Open(usize),
    Note(String),
    Memory(String),
}

/// A text of the program.
#[derive(Clone, Debug)]
pub(crate) struct OwnText {
    pub(crate) section: Section,
    pub(crate) text: String,
}

/// The results of searching older messages and memories.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchResults {
    /// Matching messages, best first, as turn and index. Those outside the window are sent as cards.
    pub(crate) fits: Vec<(usize, usize)>,
    /// Matching memories, best first.
    pub(crate) memories: Vec<String>,
    /// Messages that the model suggested to pin.
    pub(crate) suggested: Vec<(usize, usize)>,
}

/// A conversation and the settings under which its next call is planned.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    /// Closed turns.
    pub(crate) turns: Vec<Vec<TalkMessage>>,
    /// Whether the first of them is the preamble.
    pub(crate) preamble: bool,
    pub(crate) open: Vec<TalkMessage>,
    pub(crate) own: Vec<OwnText>,
    /// The text that asks the model for a state block when turns are left out.
    pub(crate) state_request: Option<String>,
    /// Whether the state block is requested even if no turn is left out.
    pub(crate) always_asks: bool,
    pub(crate) marks: Vec<(MarkTarget, MarkKind)>,
    pub(crate) inactive_marks: Vec<(MarkKind, u32)>,
    /// The closed turns of a summary, and its text.
    pub(crate) summary: Option<(Vec<usize>, String)>,
    /// Likewise for the session summary, accepted later.
    pub(crate) session: Option<(Vec<usize>, String)>,
    /// Whether the question names the lane or task of the summaries, and something that they do not mention.
    pub(crate) names: (bool, bool),
    /// Whether the lane of the lane's summary is another one.
    pub(crate) elsewhere: bool,
    /// A turn, and the number of turns before it that are unknown.
    pub(crate) gap: Option<(usize, u32)>,
    pub(crate) policy: PolicySpec,
    pub(crate) window_turns: u32,
    pub(crate) mode: Mode,
    pub(crate) layout: Layout,
    pub(crate) budget: u32,
    pub(crate) dialect: Dialect,
    pub(crate) tools: usize,
    pub(crate) anchor: Option<Anchor>,
    /// An offset of the keys, for another conversation.
    pub(crate) born: u64,
    /// Facts about the closed turns.
    pub(crate) facts: Vec<TurnFacts>,
    /// The lane of the open turn.
    pub(crate) lane: String,
    pub(crate) search_results: SearchResults,
}

impl Default for Talk {
    fn default() -> Self {
        Self {
            turns: Vec::new(),
            preamble: false,
            open: Vec::new(),
            own: vec![OwnText { section: Section::System, text: "Be helpful and exact.".into() }],
            state_request: None,
            always_asks: false,
            marks: Vec::new(),
            inactive_marks: Vec::new(),
            summary: None,
            session: None,
            names: (false, false),
            elsewhere: false,
            gap: None,
            policy: PolicySpec { name: "layered".into(), ..PolicySpec::default() },
            window_turns: 0,
            mode: Mode::Light,
            layout: Layout::Classic,
            budget: 8_000,
            dialect: Dialect::default(),
            tools: 0,
            anchor: None,
            born: 0,
            facts: Vec::new(),
            lane: String::new(),
            search_results: SearchResults::default(),
        }
    }
}

/// The atom of a memory in marks.
pub(crate) fn memory_atom(text: &str) -> Atom {
    Atom::Section { text: Fields::new("memory").text(text).finish() }
}

/// Texts by hash and key.
#[derive(Default)]
pub(crate) struct Contents {
    pub(super) blocks: HashMap<Hash, Arc<str>>,
    contents: HashMap<Hash, Arc<Content>>,
}

impl TextSource for Contents {
    fn block(&self, text: Hash) -> Option<Arc<str>> {
        self.blocks.get(&text).cloned()
    }

    fn content(&self, key: Hash) -> Option<Arc<Content>> {
        self.contents.get(&key).cloned()
    }
}

/// Builds the input of a plan for a conversation.
pub(crate) struct InputBuilder<'a> {
    talk: &'a Talk,
    counter: &'a dyn CountTokens,
    encoding: Encoding,
    bag: Contents,
}

fn image(key: Hash) -> PartInput {
    PartInput { atom: Fields::new("part").hash(key).finish(), title: "image/png, 7 bytes".into() }
}

const OPEN: usize = usize::MAX;

/// Builds the input of a plan and the texts of its request.
pub(crate) fn build_input(talk: &Talk, encoding: Encoding, counter: &dyn CountTokens) -> (PlanInput, Contents) {
    let (input, bag, reopened) = InputBuilder { talk, counter, encoding, bag: Contents::default() }.build_input();
    let Some(before) = talk.without_newest_summary().filter(|_| reopened) else { return (input, bag) };
    let (mut without, other_bag) = build_input(&before, encoding, counter);
    let Some(why) = context::why_worse(&input, &without) else { return (input, bag) };
    without.near.push(look::summary_left_out(why));
    (without, other_bag)
}

impl Talk {
    /// The talk before its newest summary was accepted; `None` without summaries.
    pub(crate) fn without_newest_summary(&self) -> Option<Talk> {
        match (&self.summary, &self.session) {
            (None, None) => None,
            (_, Some(_)) => Some(Talk { session: None, ..self.clone() }),
            (Some(_), None) => Some(Talk { summary: None, ..self.clone() }),
        }
    }

    /// Whether a turn contains what the question names and the summaries lack.
    pub(crate) fn has_lacking(&self, turn: usize) -> bool {
        self.names.1 && turn % 3 != 2
    }

    /// The key of a message.
    pub(crate) fn key(&self, turn: usize, message: usize) -> Hash {
        let turn = if turn == OPEN { self.turns.len() } else { turn };
        Fields::new("said").number(self.born).number(turn as u64).number(message as u64).finish()
    }

    /// The key of a message in the open turn.
    pub(crate) fn open_key(&self, message: usize) -> Hash {
        self.key(OPEN, message)
    }

    /// The atom of a turn.
    pub(crate) fn atom(&self, turn: usize) -> Atom {
        if turn == 0 && self.preamble {
            return Atom::Preamble { first: self.key(0, 0) };
        }
        let messages = self.turns.get(turn).unwrap_or(&self.open);
        Atom::Turn { user: self.key(turn, 0), tip: self.key(turn, messages.len().saturating_sub(1)) }
    }

    fn number(&self, turn: usize) -> u32 {
        let missing = self.gap.filter(|(before, _)| turn >= *before).map_or(0, |(_, turns)| turns);
        u32::try_from(turn + 1 - usize::from(self.preamble)).unwrap() + missing
    }

    fn mark(&self, (on, kind): &(MarkTarget, MarkKind)) -> Mark {
        let (target, note) = match on {
            MarkTarget::Turn(turn) => (self.atom(*turn), None),
            MarkTarget::Message(turn, message) => (Atom::Message { node: self.key(*turn, *message) }, None),
            MarkTarget::Episode(turn, message) => {
                let call = self.key(*turn, *message);
                (Atom::Episode { call, tip: self.key(*turn, message + 1) }, None)
            }
            MarkTarget::Open(message) => (Atom::Message { node: self.open_key(*message) }, None),
            MarkTarget::Note(text) => (Atom::Section { text: Hash::of(text.as_bytes()) }, Some(text.clone())),
            MarkTarget::Memory(text) => (memory_atom(text), None),
        };
        Mark {
            target,
            kind: *kind,
            by: Actor::User,
            note,
            inherited_from: None,
            revision: 1,
            counted: None,
            renewals: 0,
            origin: None,
            code: None,
        }
    }

    /// The budget of a plan: a cap below the window, with nothing reserved.
    pub(crate) fn room(&self) -> Budget {
        let prompt = self.budget;
        let window = prompt.max(8_000);
        Budget {
            context_window: window,
            reserved_output: 0,
            safety: 0,
            prompt,
            cap: Some(prompt),
            input_limit: None,
            results: 0,
        }
    }
}

impl InputBuilder<'_> {
    fn build_input(mut self) -> (PlanInput, Contents, bool) {
        let talk = self.talk;
        let turns: Vec<TurnInput> = (0..talk.turns.len()).map(|turn| self.turn(turn, &talk.turns[turn])).collect();
        let (open, blocks) = (self.turn(OPEN, &talk.open), self.blocks());
        let tools = (0..talk.tools).map(|n| ToolSpec {
            name: format!("tool_{n}"),
            description: "Looks something up.".into(),
            parameters: serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        });
        let (model, dialect, tools) = ("model".into(), talk.dialect.clone(), tools.collect());
        let shape = RequestShape { model, dialect, max_output: Some(500), temperature: None, tools };
        let marks: Vec<Mark> = talk.marks.iter().map(|mark| talk.mark(mark)).collect();
        let basis = Basis {
            head: turns.last().map_or(Hash::default(), |turn| turn.messages[0].key),
            marks: marks_digest(&marks),
            draft: Hash::default(),
            wire: Hash::default(),
            frozen: Hash::default(),
        };
        let gaps = talk.gap.iter().map(|(before, turns)| Gap {
            before: *before,
            range: (Hash::of(b"first of gap"), Hash::of(b"last of gap")),
            turns: *turns,
            tokens: turns * 100,
            from: u32::try_from(*before).unwrap() + 1,
            elsewhere: false,
        });
        let mut input = PlanInput {
            near: Vec::new(),
            offers: Vec::new(),
            allowance: 0,
            retrieval_set_ids: Vec::new(),
            basis,
            policy: talk.policy.clone(),
            window_turns: talk.window_turns,
            mode: talk.mode,
            layout: talk.layout,
            profile: "test".into(),
            tools_tokens: tools_json(&shape).map_or(0, |tools| self.count(&tools.to_string())),
            tool_costs: Vec::new(),
            shape,
            encoding: self.encoding,
            certainty: Certainty::Estimated,
            budget: talk.room(),
            summaries: self.summaries(&blocks),
            blocks,
            state_request: talk.state_request.as_ref().map(|text| self.state_request(text)),
            always_asks: talk.state_request.is_some() && talk.always_asks,
            turns,
            gaps: gaps.collect(),
            labeled: self.labeled(&open),
            open,
            marks,
            inactive_marks: self.inactive_marks(),
            covered: self.covered(),
            anchor: talk.anchor.clone(),
            round_before: None,
            warnings: Vec::new(),
        };
        let found = look::add(talk, self.encoding, self.counter, self.bag, &mut input);
        (input, found.0, found.1)
    }

    /// The summaries, the lane's before the session's, each with its section.
    fn accepted(&self) -> impl Iterator<Item = (Section, &(Vec<usize>, String))> {
        let all = [(Section::LaneSummary, &self.talk.summary), (Section::SessionSummary, &self.talk.session)];
        all.into_iter().filter_map(|(section, summary)| Some((section, summary.as_ref()?)))
    }

    fn covered(&self) -> Vec<CoveredTurn> {
        let each = self.accepted().flat_map(|(section, (turns, _))| {
            turns.iter().filter_map(move |turn| match self.talk.atom(*turn) {
                Atom::Turn { user, tip } => {
                    Some(CoveredTurn { user, tip, by: summary_key(section), lacks: self.talk.has_lacking(*turn) })
                }
                _ => None,
            })
        });
        each.collect()
    }

    fn summaries(&self, blocks: &[Block]) -> Vec<SummaryInput> {
        let named = self.talk.names.0;
        let text = |section: Section| blocks.iter().find(|block| block.section == section).unwrap().text;
        let one = |section: Section| SummaryInput {
            by: summary_key(section),
            text: text(section),
            named,
            elsewhere: named && self.talk.elsewhere && section == Section::LaneSummary,
            lacks: false,
            older: false,
            turns: None,
        };
        let lacks = |turns: &[usize]| turns.iter().any(|turn| self.talk.has_lacking(*turn));
        self.accepted().map(|(section, (turns, _))| SummaryInput { lacks: lacks(turns), ..one(section) }).collect()
    }

    fn inactive_marks(&self) -> Vec<InactiveMark> {
        let each = self.talk.inactive_marks.iter().enumerate().map(|(at, (kind, tokens))| {
            let away = Hash::of(format!("away {at}").as_bytes());
            let mark = Mark { kind: *kind, ..self.talk.mark(&(MarkTarget::Turn(0), *kind)) };
            let mark = Mark { target: Atom::Turn { user: away, tip: away }, ..mark };
            InactiveMark {
                mark,
                title: format!("elsewhere {at}"),
                source: Source::default(),
                tokens: *tokens,
                replaced: false,
            }
        });
        each.collect()
    }

    fn count(&self, text: &str) -> u32 {
        self.counter.count(self.encoding, text)
    }

    fn text(&mut self, text: String) -> (Hash, u32) {
        let hash = Hash::of(text.as_bytes());
        let tokens = self.count(&text);
        self.bag.blocks.insert(hash, text.into());
        (hash, tokens)
    }

    fn turn(&mut self, turn: usize, talk_messages: &[TalkMessage]) -> TurnInput {
        let talk = self.talk;
        let place = if turn == OPEN { talk.turns.len() } else { turn };
        let mut messages = Vec::new();
        let mut waiting: Vec<String> = Vec::new();
        for (at, one) in talk_messages.iter().enumerate() {
            let mut message = self.message(talk.key(turn, at), one, false);
            if one.role == Role::Tool {
                let known = one.reply.as_ref().and_then(|id| waiting.iter().position(|call| call == id));
                match known.filter(|_| message.bar.is_none()) {
                    Some(call) => drop(waiting.remove(call)),
                    None => message = self.message(talk.key(turn, at), one, true),
                }
            } else if message.bar.is_none() {
                self.make(&mut messages, turn, &mut waiting);
                waiting.clone_from(&one.calls);
            }
            messages.push(message);
        }
        self.make(&mut messages, turn, &mut waiting);
        let number = talk.number(place);
        let first = talk_messages.iter().find(|one| !one.text.is_empty()).map_or("", |one| one.text.as_str());
        let card = talk.marks.iter().any(|(on, kind)| match on {
            MarkTarget::Turn(marked) => *marked == turn,
            MarkTarget::Message(marked, _) | MarkTarget::Episode(marked, _) => *marked == turn && !kind.excludes(),
            MarkTarget::Open(_) | MarkTarget::Note(_) | MarkTarget::Memory(_) => false,
        });
        TurnInput {
            atom: talk.atom(place),
            number: if place == 0 && talk.preamble { 0 } else { number },
            title: first.chars().take(24).collect(),
            source: Source { turn: Some(number), ..Source::default() },
            card: card.then(|| self.card(turn, talk_messages, &messages)),
            messages,
            facts: if turn == OPEN {
                TurnFacts { lane: talk.lane.clone(), ..TurnFacts::default() }
            } else {
                talk.facts.get(turn).cloned().unwrap_or_default()
            },
        }
    }

    fn card(&mut self, turn: usize, talk_messages: &[TalkMessage], messages: &[MessageInput]) -> (Hash, u32) {
        let talk = self.talk;
        let out = |key: Hash| {
            talk.marks.iter().any(|mark| match talk.mark(mark).target {
                Atom::Message { node } | Atom::Episode { call: node, .. } => node == key && mark.1.excludes(),
                _ => false,
            })
        };
        let spoken = talk_messages.iter().enumerate().filter(|(at, _)| {
            let key = talk.key(turn, *at);
            !out(key) && messages.iter().any(|message| message.key == key && message.bar.is_none())
        });
        let contents: Vec<(Role, Content)> = spoken.map(|(_, one)| (one.role, one.content())).collect();
        let body = render_forms::card_body(contents.iter().map(|(role, content)| (*role, content)));
        self.text(render_forms::fenced(&format!("Turn {} of this conversation", talk.number(turn)), &body))
    }

    fn make(&mut self, messages: &mut Vec<MessageInput>, turn: usize, waiting: &mut Vec<String>) {
        for id in std::mem::take(waiting) {
            let key = Fields::new("made").hash(self.talk.key(turn, messages.len())).text(&id).finish();
            messages.push(self.message(key, &TalkMessage::result(&id, "[cancelled]"), false));
        }
    }

    fn message(&mut self, key: Hash, talk_message: &TalkMessage, orphan: bool) -> MessageInput {
        let content = talk_message.content();
        let state = WireState { orphan, joins: self.talk.dialect.strict_alternation, labeled: false };
        let text = |form: Form| render_forms::wire_text(key, talk_message.role, &content, form, state);
        let stateful =
            talk_message.role == Role::Assistant && state::find(&render_forms::plain(&content), true).is_some();
        let whole = if stateful { Form::NoState } else { Form::Full };
        let called: u32 = talk_message.calls.iter().map(|_| self.count("look") + self.count("{}")).sum();
        let long = |limit: u32| {
            talk_message.role == Role::Tool && !orphan && talk_message.text.chars().count() > limit as usize
        };
        let empty = text(whole).is_empty() && talk_message.calls.is_empty() && talk_message.role != Role::Tool;
        let message = MessageInput {
            key,
            node: None,
            role: talk_message.role,
            title: talk_message.text.chars().take(24).collect(),
            whole,
            tokens: self.count(&text(whole)) + called,
            cuts: [300, 1_000, 5_000]
                .into_iter()
                .filter(|limit| long(*limit))
                .map(|limit| (limit, self.count(&text(Form::Cut(limit)))))
                .collect(),
            elided: (!talk_message.calls.is_empty()).then(|| self.count(&text(Form::Elided))),
            placeholder: self.count(&text(Form::Placeholder)) + called,
            calls: u16::try_from(talk_message.calls.len()).unwrap(),
            orphan,
            bar: match (talk_message.bar, talk_message.role) {
                (Some(SendBarrier::Removed), _) => Some(SendBarrier::Removed),
                _ if empty => Some(SendBarrier::Empty),
                (None, Role::System) => Some(SendBarrier::Foreign),
                (bar, _) => bar,
            },
            parts: talk_message.image.then(|| image(key)).into_iter().collect(),
        };
        self.bag.contents.insert(key, Arc::new(content));
        message
    }

    fn labeled(&self, open: &TurnInput) -> u32 {
        let brought = |key: Hash| self.talk.marks.iter().any(|mark| self.talk.mark(mark).includes_message(key));
        let able = |message: &&MessageInput| match message.bar {
            None => true,
            Some(SendBarrier::Hidden | SendBarrier::Foreign) => brought(message.key),
            Some(SendBarrier::Empty | SendBarrier::Removed | SendBarrier::Instructions) => false,
        };
        let Some(asks) = open.messages.iter().filter(able).rfind(|message| message.role == Role::User) else {
            return 0;
        };
        let state = WireState { labeled: true, joins: self.talk.dialect.strict_alternation, orphan: false };
        let content = &self.bag.contents[&asks.key];
        self.count(&render_forms::wire_text(asks.key, Role::User, content, Form::Full, state)) - asks.tokens
    }

    fn blocks(&mut self) -> Vec<Block> {
        let talk = self.talk;
        let mut blocks = Vec::new();
        for own in &talk.own {
            let (kind, reason, text) = match own.section {
                Section::QuotedReply => {
                    (RowKind::Quote, Reason::Replied, render_forms::fenced("The user replies to", &own.text))
                }
                Section::State => (RowKind::State, Reason::CurrentState, render_forms::block("State", &own.text)),
                Section::UserMessage => (RowKind::Text, Reason::GoOn, render_forms::joinable(own.text.trim())),
                Section::System => {
                    (RowKind::Text, Reason::Instructions, render_forms::block("Instructions", &own.text))
                }
                Section::Orientation if own.text.starts_with("map") => {
                    (RowKind::Code, Reason::CodeMap, render_forms::fenced("Map of the code", &own.text))
                }
                Section::Orientation => {
                    let reason = Reason::ProjectRules { folder: "the workspace".into(), changed: false, left: 0 };
                    (RowKind::Rules, reason, render_forms::fenced("Rules of this project", &own.text))
                }
                Section::Guidelines if own.text.starts_with("own-rules") => {
                    let reason = Reason::OwnRules { changed: false, left: 0 };
                    (RowKind::Rules, reason, render_forms::fenced("The user's own rules", &own.text))
                }
                Section::Retrieved => {
                    let reason = Reason::Touchpoint { rank: 1, because: "it is named".into() };
                    (RowKind::Code, reason, render_forms::fenced("Code that may bear on this", &own.text))
                }
                other => (RowKind::Text, Reason::Configured, render_forms::block(other.title(), &own.text)),
            };
            blocks.push(self.block(own.section, kind, reason, text, None));
        }
        let accepted = [(Section::LaneSummary, &talk.summary), (Section::SessionSummary, &talk.session)];
        for (section, summary) in accepted {
            let Some((turns, text)) = summary else { continue };
            let text = render_forms::block(&summary_heading(section, turns.len()), text);
            blocks.push(self.block(section, RowKind::Summary, Reason::Summary, text, None));
        }
        for (on, kind) in &talk.marks {
            let (section, reason) = match kind {
                MarkKind::Sticky => (Section::StickyPins, Reason::Sticky),
                MarkKind::Leased { turns: LeaseTurns::Left(turns) } => {
                    (Section::LeasedPins, Reason::Leased { left: turns.get(), engine: false })
                }
                MarkKind::IncludeOnce => (Section::LeasedPins, Reason::IncludedOnce),
                MarkKind::Leased { .. } | MarkKind::Ephemeral | MarkKind::Exclude | MarkKind::ExcludeOnce => continue,
            };
            let (row, text) = match on {
                MarkTarget::Note(note) if section == Section::StickyPins => {
                    (RowKind::Note, render_forms::block("Note pinned by the user", note))
                }
                MarkTarget::Note(note) => (RowKind::Card, render_forms::fenced("Note kept for some turns", note)),
                MarkTarget::Memory(memory) => (RowKind::Memory, render_forms::fenced("Remembered", memory)),
                MarkTarget::Turn(_) | MarkTarget::Message(..) | MarkTarget::Episode(..) | MarkTarget::Open(_) => {
                    continue;
                }
            };
            let atom = Some(talk.mark(&(on.clone(), *kind)).target);
            blocks.push(self.block(section, row, reason, text, atom));
        }
        blocks
    }

    fn state_request(&mut self, text: &str) -> Block {
        let text = render_forms::block("Keeping the state", text);
        self.block(
            Section::Guidelines,
            RowKind::Text,
            Reason::StateRequested { older: true, has_state: Some(false), optional: None, by_policy: false },
            text,
            None,
        )
    }

    fn block(&mut self, section: Section, kind: RowKind, reason: Reason, text: String, atom: Option<Atom>) -> Block {
        let (text, tokens) = self.text(text);
        Block {
            section,
            kind,
            text,
            tokens,
            title: section.title().into(),
            reason,
            atom,
            source: Source::default(),
            scores: Scores::default(),
            repeats: Vec::new(),
        }
    }
}

fn summary_heading(section: Section, turns: usize) -> String {
    format!("Summary of {turns} turns: {}", section.name().replace('_', " "))
}
