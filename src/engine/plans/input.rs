//! Builds a plan's input: turns with their results, the open turn, the blocks around them, warnings, the basis.
//! Not for: fetching and counting (`input_builder`), or solving (`context`).

use super::basis;
use super::inactive_marks::InactiveNode;
use super::input_builder::{BuiltInput, Contents, InputBuilder, send_barrier};
use super::labels::{atom_of, card_text, quote_text, state_text, title_of, wants_card};
use super::snapshot::{Snapshot, TurnHeads};
use super::sources::rounds;
use super::sources::summaries::{self, SentSummary, summary_text};
use super::state_request::never_asks;
use crate::context::render::render_forms::{self, WireState};
use crate::context::summary::survive::LackingFacts;
use crate::domain::base::secrets;
use crate::domain::base::{Failure, Fields, Hash, Safe};
use crate::domain::call::{Certainty, Encoding};
use crate::domain::conversation::{Actor, Atom, Content, LeaseTurns, MarkKind, NodeHead, Part, Role};
use crate::domain::planning::{
    Basis, Block, CoveredTurn, Form, InactiveMark, MessageInput, OmittedItem, PlanInput, RowKind, Section, SendBarrier,
    Source, StateBlock, SummaryInput, TurnFacts, TurnInput,
};
use crate::domain::planning::{Reason, Warning};
use crate::domain::summary::{Summary, SummaryKind};
use std::sync::Arc;

/// A plan's input under construction.
pub(crate) struct InputAssembly<'a> {
    pub(super) builder: &'a mut InputBuilder,
    pub(super) snapshot: &'a Snapshot,
    contents: Contents,
    warnings: Vec<Warning>,
    made_results: u32,
    question: &'a str,
    summaries: Vec<SummaryInput>,
    /// What the question names and each offered summary lacks.
    lacking: Vec<(Hash, LackingFacts)>,
    pub(super) near: Vec<OmittedItem>,
}

impl<'a> InputAssembly<'a> {
    pub(crate) fn new(builder: &'a mut InputBuilder, snapshot: &'a Snapshot, question: &'a str) -> Self {
        Self {
            builder,
            snapshot,
            contents: Contents::default(),
            warnings: Vec::new(),
            made_results: 0,
            question,
            summaries: Vec::new(),
            lacking: Vec::new(),
            near: Vec::new(),
        }
    }

    /// Builds the whole input.
    pub(crate) fn build(mut self) -> Result<BuiltInput, Failure> {
        let mut turns: Vec<TurnInput> =
            self.snapshot.turns.iter().map(|turn| self.turn(turn)).collect::<Result<_, Failure>>()?;
        let (mut open, labeled) = self.open()?;
        super::facts::fill_facts(self.builder, self.snapshot, &mut turns, (&mut open, self.question))?;
        let blocks = self.blocks()?;
        let covered = self.covered()?;
        let inactive_marks = self.inactive_marks();
        Ok(self.finish(turns, open, labeled, (blocks, covered), inactive_marks))
    }

    fn encoding(&self) -> Encoding {
        self.snapshot.rules.model.encoding
    }

    fn joins(&self) -> bool {
        self.snapshot.rules.profile.dialect.strict_alternation
    }

    /// Returns a turn's messages. Calls without a result get a placeholder result, and results without a call are
    /// marked as orphans.
    fn messages(&mut self, turn: &TurnHeads) -> Vec<MessageInput> {
        let mut messages: Vec<MessageInput> = Vec::with_capacity(turn.heads.len());
        let (mut open, mut caller): (Vec<(String, String)>, Hash) = (Vec::new(), Hash::default());
        for head in &turn.heads {
            let Some(counted) = self.builder.counted(head.key, self.encoding(), self.joins()) else { continue };
            let mut message = counted.message;
            message.bar = self.bar_of(head, message.bar);
            if message.bar.is_some() && message.role == Role::Tool {
                self.make_orphan(&mut message);
            } else if message.bar.is_none() {
                if message.role == Role::Tool {
                    let at = counted.reply.and_then(|reply| open.iter().position(|(id, _)| *id == reply));
                    match at {
                        Some(at) => drop(open.remove(at)),
                        None => self.make_orphan(&mut message),
                    }
                } else {
                    self.make_results(&mut messages, caller, std::mem::take(&mut open));
                    open = counted.calls;
                    caller = head.key;
                }
            }
            messages.push(message);
        }
        self.make_results(&mut messages, caller, open);
        messages
    }

    fn make_orphan(&mut self, message: &mut MessageInput) {
        message.orphan = true;
        message.cuts.clear();
        if let Ok(Some(content)) = self.builder.content(message.key, message.node) {
            if render_forms::plain(&content).is_empty() && message.bar != Some(SendBarrier::Removed) {
                message.bar = Some(SendBarrier::Empty);
            }
            let wire_state = WireState { orphan: true, joins: self.joins(), labeled: false };
            let text = |form| render_forms::wire_text(message.key, message.role, &content, form, wire_state);
            message.tokens = self.builder.count(self.encoding(), &text(Form::Full));
            message.placeholder = self.builder.count(self.encoding(), &text(Form::Placeholder));
        }
    }

    fn make_results(&mut self, messages: &mut Vec<MessageInput>, caller: Hash, open: Vec<(String, String)>) {
        for (id, name) in open {
            let key = Fields::new("made result").hash(caller).text(&id).finish();
            let body = "[cancelled]".to_owned();
            let tokens = self.builder.count(self.encoding(), &body);
            self.contents
                .messages
                .insert(key, Arc::new(Content { parts: vec![Part::Reply { call: id, name, body }], extra: None }));
            self.made_results += 1;
            let made = MessageInput::plain(key, Role::Tool, "[cancelled]".into(), tokens);
            messages.push(MessageInput { placeholder: tokens, ..made });
        }
    }

    fn turn(&mut self, turn: &TurnHeads) -> Result<TurnInput, Failure> {
        let messages = self.messages(turn);
        let first = turn.heads.first();
        let marked = turn.heads.iter().any(|head| wants_card(&self.snapshot.marks, head.key));
        let card = if marked { self.card(turn)? } else { None };
        Ok(TurnInput {
            atom: atom_of(turn.number, &turn.heads),
            number: turn.number,
            title: title_of(&turn.heads),
            source: self.source(turn.number, first),
            messages,
            card,
            facts: TurnFacts::default(),
        })
    }

    pub(super) fn source(&self, number: u32, first: Option<&NodeHead>) -> Source {
        Source {
            session: Some(self.snapshot.session),
            branch: Some(self.snapshot.branch.id),
            turn: Some(number).filter(|n| *n > 0),
            message: first.map(|head| head.id),
            external_id: first.and_then(|head| head.external_id.clone()),
            at: first.map(|head| head.at),
            ..Source::default()
        }
    }

    fn card(&mut self, turn: &TurnHeads) -> Result<Option<(Hash, u32)>, Failure> {
        let heads: Vec<&NodeHead> = turn.heads.iter().collect();
        self.builder.fetch(&heads)?;
        let parts: Vec<(Role, Arc<Content>)> = turn
            .heads
            .iter()
            .filter(|head| send_barrier(head, false).is_none() && !self.snapshot.excludes_message(head.key))
            .filter_map(|head| self.builder.cached_content(head.key).map(|content| (head.role, content)))
            .collect();
        let at = turn.heads.first().map_or(0, |head| head.at);
        Ok(Some(self.text(card_text(turn.number, at, &parts))))
    }

    /// Adds a block's text to the contents and returns its hash and its tokens.
    pub(super) fn text(&mut self, text: String) -> (Hash, u32) {
        let encoding = self.encoding();
        self.contents.add_block(text, &|text| self.builder.count(encoding, text))
    }

    /// Returns the open turn, and the tokens that a label before the person's message would add.
    fn open(&mut self) -> Result<(TurnInput, u32), Failure> {
        let snapshot = self.snapshot;
        let mut open = self.turn(&snapshot.open)?;
        if let Some((key, content)) = &snapshot.draft {
            let content = Arc::new(content.clone());
            let message = self.draft(*key, &content);
            open.atom = Atom::Turn { user: *key, tip: *key };
            open.title.clone_from(&message.title);
            open.messages.push(message);
            self.contents.messages.insert(*key, content);
        }
        let is_included = |key: Hash| snapshot.marks.iter().any(|mark| mark.includes_message(key));
        let is_sent = |message: &MessageInput| match message.bar {
            None => true,
            Some(SendBarrier::Hidden | SendBarrier::Foreign) => is_included(message.key),
            Some(SendBarrier::Empty | SendBarrier::Removed | SendBarrier::Instructions) => false,
        };
        let asks = open.messages.iter().rfind(|message| message.role == Role::User && is_sent(message));
        let asks = asks.map(|message| (message.key, message.node, message.tokens));
        let Some((key, node, plain)) = asks else { return Ok((open, 0)) };
        let content = match self.contents.messages.get(&key) {
            Some(content) => content.clone(),
            None => self.builder.content(key, node)?.unwrap_or_default(),
        };
        let wire_state = WireState { labeled: true, joins: self.joins(), orphan: false };
        let labeled = render_forms::wire_text(key, Role::User, &content, Form::Full, wire_state);
        let tokens = self.builder.count(self.encoding(), &labeled);
        Ok((open, tokens.saturating_sub(plain)))
    }

    fn draft(&mut self, key: Hash, content: &Content) -> MessageInput {
        let wire_state = WireState { joins: self.joins(), ..WireState::default() };
        let text = render_forms::wire_text(key, Role::User, content, Form::Full, wire_state);
        let hidden = Safe::hidden(&text);
        if hidden > 0 {
            self.warnings.push(Warning::HiddenCharacters { count: u32::try_from(hidden).unwrap_or(u32::MAX) });
        }
        let tokens = self.builder.count(self.encoding(), &text);
        MessageInput::plain(key, Role::User, NodeHead::preview_of(&text), tokens)
    }

    fn blocks(&mut self) -> Result<Vec<Block>, Failure> {
        let mut blocks = self.own_texts();
        blocks.extend(self.instructions()?);
        blocks.extend(self.summaries());
        blocks.extend(self.notes());
        blocks.extend(self.quote()?);
        blocks.extend(self.pending()?);
        if self.snapshot.go_on {
            let text = render_forms::joinable(self.snapshot.rules.prompts.go_on.trim());
            blocks.push(self.block(Section::UserMessage, RowKind::Text, text, "go on", Reason::GoOn));
        }
        Ok(blocks)
    }

    fn own_texts(&mut self) -> Vec<Block> {
        let rules = &self.snapshot.rules;
        let prompts = rules.prompts.clone();
        let asks_state = rules.policy.state_block != StateBlock::Off;
        let personality = rules.personality.clone();
        let plain = [
            (Section::System, "Instructions", prompts.system.clone(), Reason::Instructions),
            (Section::Personality, "Personality", personality, Reason::Configured),
            (Section::Guidelines, "Guidelines", prompts.guidelines.trim().to_owned(), Reason::Guideline),
        ];
        let mut blocks = Vec::new();
        for (section, label, body, reason) in plain {
            if !body.trim().is_empty() {
                let text = render_forms::block(label, &body);
                blocks.push(self.block(section, RowKind::Text, text, section.title(), reason));
            }
        }
        // A later round asks if the previous round did.
        let asked = self.snapshot.round_before.as_ref().is_some_and(rounds::asks_for_state);
        blocks.extend(self.state_request().filter(|_| asked));
        if let Some(state) = self.snapshot.state.as_ref().filter(|_| asks_state) {
            let (sent, masked) = secrets::mask(&state.text);
            let edited = if state.edited { ", edited by you" } else { "" };
            let secrets = if masked > 0 { ", secrets masked" } else { "" };
            let title = format!("state v{}{edited}{secrets}", state.version);
            blocks.push(self.block(Section::State, RowKind::State, state_text(&sent), &title, Reason::CurrentState));
        }
        blocks
    }

    pub(super) fn block(
        &mut self,
        section: Section,
        kind: RowKind,
        text: String,
        title: &str,
        reason: Reason,
    ) -> Block {
        Block::new(section, kind, self.text(text), title, reason)
    }

    /// Returns the accepted summaries that may be sent as blocks, and adds the others as omitted items.
    fn summaries(&mut self) -> Vec<Block> {
        let snapshot = self.snapshot;
        for summary in &snapshot.summaries.stale {
            self.omit_summary(summary, Reason::StaleSummary);
        }
        let mut blocks = Vec::new();
        for sent in &snapshot.summaries.sent {
            let SentSummary { summary, stale, elsewhere, older, .. } = sent;
            let named = sent.named_in(self.question);
            if *elsewhere && !named {
                self.omit_summary(summary, Reason::OtherLane);
                continue;
            }
            let section =
                if summary.kind == SummaryKind::Session { Section::SessionSummary } else { Section::LaneSummary };
            let text = summary_text(summary, *stale);
            let lacking = LackingFacts::of(self.question, summary.text.as_deref().unwrap_or_default());
            self.lacking.push((summary.id, lacking));
            let block = self.block(section, RowKind::Summary, text, &summaries::title(summary), Reason::Summary);
            let turns = Some(summary.turns);
            self.summaries.push(SummaryInput {
                by: summary.id,
                text: block.text,
                named,
                elsewhere: *elsewhere,
                lacks: false,
                older: *older,
                turns,
            });
            blocks.push(block);
        }
        blocks
    }

    /// Returns the turns that the offered summaries cover, and records which summaries lack something that the question
    /// names and one of their turns contains.
    fn covered(&mut self) -> Result<Vec<CoveredTurn>, Failure> {
        let covered = summaries::covered(self.builder, self.snapshot, &self.lacking)?;
        for one in &mut self.summaries {
            one.lacks = covered.iter().any(|covered| covered.by == one.by && covered.lacks);
        }
        Ok(covered)
    }

    fn omit_summary(&mut self, summary: &Summary, reason: Reason) {
        self.near.push(summaries::omitted(summary, reason));
    }

    /// Returns a person's notes: pinned ones as instructions, texts that were copied from other branches as cards.
    fn notes(&mut self) -> Vec<Block> {
        let snapshot = self.snapshot;
        let noted = snapshot.marks.iter().filter_map(|mark| mark.note.as_ref().map(|note| (mark, note)));
        let mut blocks = Vec::new();
        for (mark, note) in noted {
            let title = match &mark.origin {
                Some(origin) => format!("{}: {}", origin.to_text(), NodeHead::preview_of(note)),
                None => NodeHead::preview_of(note),
            };
            let mut block = match mark.kind {
                // A text from another branch is information, not an instruction.
                MarkKind::Sticky if mark.origin.is_some() => {
                    let origin = mark.origin.as_ref().map(|origin| origin.to_text()).unwrap_or_default();
                    let text = render_forms::fenced(&origin, note);
                    self.block(Section::StickyPins, RowKind::Card, text, &title, Reason::Sticky)
                }
                MarkKind::Sticky => {
                    let text = render_forms::block("Note pinned by the user", note);
                    self.block(Section::StickyPins, RowKind::Note, text, &title, Reason::Sticky)
                }
                MarkKind::Leased { turns: LeaseTurns::Left(turns) } => {
                    let text = render_forms::fenced("Note kept for some turns", note);
                    let reason = Reason::Leased { left: turns.get(), engine: false };
                    self.block(Section::LeasedPins, RowKind::Card, text, &title, reason)
                }
                MarkKind::IncludeOnce if mark.by == Actor::Engine => {
                    let text = render_forms::block("Note", note);
                    self.block(Section::LeasedPins, RowKind::Note, text, &title, Reason::FilesReverted)
                }
                MarkKind::IncludeOnce => {
                    let text = render_forms::fenced("Text carried along from another branch", note);
                    self.block(Section::LeasedPins, RowKind::Card, text, &title, Reason::IncludedOnce)
                }
                MarkKind::Leased { .. } | MarkKind::Ephemeral | MarkKind::Exclude | MarkKind::ExcludeOnce => continue,
            };
            block.atom = Some(mark.target);
            if let Some(origin) = &mark.origin {
                (block.source.branch, block.source.message) = (Some(origin.branch), Some(origin.node));
            }
            blocks.push(block);
        }
        blocks
    }

    fn quote(&mut self) -> Result<Option<Block>, Failure> {
        let Some(head) = self.snapshot.reply.clone() else { return Ok(None) };
        let Some(content) = self.builder.content(head.key, Some(head.id))? else { return Ok(None) };
        let text = quote_text(&head, &content);
        let mut block = self.block(Section::QuotedReply, RowKind::Quote, text, &head.preview, Reason::Replied);
        block.source = self.source(0, Some(&head));
        Ok(Some(block))
    }

    /// Returns the question that the message answers, as a labeled block before the message.
    fn pending(&mut self) -> Result<Option<Block>, Failure> {
        let content = match (&self.snapshot.draft, self.snapshot.open.heads.iter().find(|h| h.role == Role::User)) {
            (Some((_, content)), _) => Some(Arc::new(content.clone())),
            (None, Some(head)) => self.builder.content(head.key, Some(head.id))?,
            (None, None) => None,
        };
        let answered = content
            .and_then(|content| crate::engine::turns::open_question::answered(self.snapshot, &content.plain_text()));
        Ok(answered.map(|pending| {
            let text = crate::engine::turns::open_question::text(&pending);
            let title = format!("pending {}: {}", pending.slot.name(), pending.question);
            self.block(Section::QuotedReply, RowKind::Quote, text, &title, Reason::Pending)
        }))
    }

    fn inactive_marks(&self) -> Vec<InactiveMark> {
        let title = |node: &InactiveNode| match &node.head {
            None => "a deleted message".to_owned(),
            Some(head) if node.replaced => format!("earlier version: {}", head.preview),
            Some(head) => head.preview.clone(),
        };
        let inactive = self.snapshot.inactive_marks.iter().map(|node| InactiveMark {
            mark: node.mark.clone(),
            title: title(node),
            source: self.source(0, node.head.as_ref()),
            tokens: node.head.as_ref().map_or(0, |head| u32::try_from(head.bytes / 4).unwrap_or(u32::MAX)),
            replaced: node.replaced,
        });
        inactive.collect()
    }

    fn finish(
        mut self,
        turns: Vec<TurnInput>,
        open: TurnInput,
        labeled: u32,
        (blocks, covered): (Vec<Block>, Vec<CoveredTurn>),
        inactive_marks: Vec<InactiveMark>,
    ) -> BuiltInput {
        let rules = &self.snapshot.rules;
        let shape = rules.shape(rules.tools.clone());
        let (tools_tokens, tool_costs) = self.builder.count_tools(rules, &shape);
        let round_before = self.snapshot.round_before.as_ref();
        let round_before = round_before.and_then(|round| rounds::turns(round, &rules.policy.name));
        let results = if rules.cap_by_policy { crate::context::results_tokens(&open) } else { 0 };
        self.add_warnings();
        let state_request = self.state_request().filter(|_| self.snapshot.round_before.is_none());
        let mut input = PlanInput {
            basis: Basis::default(),
            policy: rules.policy.clone(),
            window_turns: rules.window_turns,
            mode: rules.mode,
            layout: rules.layout,
            profile: rules.profile.name.clone(),
            tools_tokens,
            tool_costs,
            encoding: rules.model.encoding,
            certainty: Certainty::Estimated,
            budget: rules.budget.with_results(results),
            shape,
            blocks,
            always_asks: state_request.is_some() && self.always_asks_for_state(),
            state_request,
            turns,
            gaps: self.snapshot.gaps.clone(),
            open,
            labeled,
            marks: self.snapshot.marks.clone(),
            inactive_marks,
            summaries: self.summaries,
            covered,
            anchor: self.snapshot.branch.anchor.clone(),
            round_before,
            near: self.near,
            offers: Vec::new(),
            allowance: 0,
            retrieval_set_ids: Vec::new(),
            warnings: self.warnings,
        };
        input.basis = basis::of(self.snapshot, &input);
        BuiltInput { input, contents: self.contents, never_asks: never_asks(self.snapshot), unindexed: 0 }
    }

    fn add_warnings(&mut self) {
        self.warnings.extend(self.snapshot.summaries.warnings.iter().cloned());
        if self.snapshot.rules.model.source == "assumed" {
            self.warnings.push(Warning::WindowAssumed { tokens: self.snapshot.rules.model.context_window });
        }
        if self.made_results > 0 {
            self.warnings.push(Warning::ResultsMade { count: self.made_results });
        }
        if self.snapshot.state_missing
            && self.snapshot.state.is_some()
            && matches!(self.snapshot.rules.policy.state_block, StateBlock::Required | StateBlock::Auto)
        {
            self.warnings.push(Warning::StateMissing);
        }
    }
}
