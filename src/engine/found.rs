//! Looks through older messages for what fits the open turn and puts what is found into a plan's input: a heading, a card a
//! message, and a row for each that nearly went. What is in the window or taken out by a person is not looked at.
//! Not for: indexes (`finder`), scores (`retrieval`) or the verdict (`context`).

use super::finder::{Library, lane_number, together};
use super::gather::{Gathered, Gatherer};
use super::path::{PathNode, PathView};
use super::recipe::Recipe;
use super::snapshot::Snapshot;
use super::vectors::Haste;
use crate::context;
use crate::context::project;
use crate::domain::evidence::{Evidence, Gate, MissWhy, NearMiss, PassWhy, RetrievalSet, ScoreParts, SkipWhy};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::hash::{Fields, Hash};
use crate::domain::ids::NodeId;
use crate::domain::input::{Block, Near, PlanInput};
use crate::domain::mark::Atom;
use crate::domain::message::{NodeHead, Role};
use crate::domain::mode::{Mode, ModeLimits, SearchWish};
use crate::domain::plan::{ContextPlan, Reason, RowKind, Scores, Source};
use crate::domain::policy::Section;
use crate::retrieval::fill::{Card, Filled, Room, fill};
use crate::retrieval::gate;
use crate::retrieval::query::Query;
use crate::retrieval::scope::Filter;
use crate::retrieval::search::{Ask, search};
use std::collections::HashSet;
use std::ops::Range;

/// Near misses that get a row.
const NEAR: usize = 8;
/// Tokens that the frame around the cards takes at most.
const FRAME: u32 = 48;
/// How many earlier messages are tried when the present one says nothing of its own.
const BACK: usize = 8;

/// What is to be looked for, where, and in what room.
pub(super) struct Wanted<'a> {
    pub(super) path: &'a [PathNode],
    pub(super) query: &'a str,
    pub(super) out: Vec<Range<usize>>,
    pub(super) lane: Option<String>,
    pub(super) tokens: u32,
    pub(super) near: usize,
    pub(super) forced: bool,
    /// How an embedder may be used.
    pub(super) haste: Haste,
    /// Where the message says nothing of its own: look with the last one that did.
    pub(super) inherits: bool,
    pub(super) count: &'a dyn Fn(&str) -> u32,
}

/// What was found, with what cards need to be written.
pub(super) struct Looked {
    pub(super) gate: Gate,
    /// What was looked with: the message itself, or the earlier one that it goes on with.
    pub(super) query: String,
    pub(super) among: u32,
    pub(super) filled: Filled,
    /// Whose vectors were compared.
    pub(super) embedder: Option<String>,
}

/// Looks through a path.
pub(super) fn look(library: &Library<'_>, wanted: &Wanted<'_>) -> Result<Looked, Failure> {
    let (shelf, scope) = (library.shelf, library.scope);
    let lane = wanted.lane.as_deref().map(lane_number);
    let filter = Filter { out: wanted.out.clone(), lane };
    let ask = Ask {
        index: &shelf.index,
        scope,
        source: library,
        texts: library,
        filter: &filter,
        cosines: None,
        tuning: None,
    };
    let allowed = filter.allowed(&shelf.index, scope);
    let among = allowed.iter().filter(|may| **may).count();
    let mut looked = Looked {
        gate: Gate::Skipped(SkipWhy::NothingToFind),
        query: wanted.query.to_owned(),
        among: u32::try_from(among).unwrap_or(u32::MAX),
        filled: Filled::default(),
        embedder: None,
    };
    if among == 0 {
        return Ok(looked);
    }
    looked.gate = if wanted.forced { Gate::Pass(PassWhy::Forced) } else { opens(&ask, wanted.query)? };
    if let Gate::Skipped(why) = looked.gate
        && wanted.inherits
        && let Some(earlier) = earlier(&ask, library, wanted.path)?
    {
        looked.gate = Gate::Inherited(why);
        looked.query = earlier;
    }
    if matches!(looked.gate, Gate::Skipped(_)) {
        return Ok(looked);
    }
    let cosines = cosines(library, &looked.query, &allowed, wanted.haste);
    looked.embedder = cosines.as_ref().and_then(|_| library.vectors?.id());
    let ask = Ask { cosines: cosines.as_deref(), ..ask };
    let hits = search(&ask, &Query::new(&shelf.index, scope, &looked.query)).map_err(|error| unreadable(&error))?;
    let run = |at: usize| together(wanted.path, at);
    let room = Room { tokens: wanted.tokens, count: wanted.count, together: &run, near: wanted.near };
    looked.filled = fill(&ask, &hits, &room);
    Ok(looked)
}

/// How like the query the passages are, where all vectors that this takes are there.
fn cosines(library: &Library<'_>, query: &str, allowed: &[bool], haste: Haste) -> Option<Vec<(u32, f32)>> {
    let question = library.vectors?.question(query, haste)?;
    library.cosines(&question, allowed)
}

fn opens(ask: &Ask<'_>, text: &str) -> Result<Gate, Failure> {
    gate::gate(ask, text, false).map_err(|error| unreadable(&error))
}

/// The last of the person's earlier messages that says something of its own.
fn earlier(ask: &Ask<'_>, library: &Library<'_>, path: &[PathNode]) -> Result<Option<String>, Failure> {
    let asked = path.iter().rev().filter(|node| node.role == Role::User && node.speaks).take(BACK);
    for node in asked {
        let Some(told) = library.told(&node.key) else { continue };
        if opens(ask, &told.text)?.is_open() {
            return Ok(Some(told.text));
        }
    }
    Ok(None)
}

fn unreadable(error: &crate::retrieval::RetrievalError) -> Failure {
    Failure::new(FailureKind::Store, format!("Older messages cannot be searched: {error}."))
        .kept("Nothing was sent and nothing was changed.")
        .todo("Switch the context mode to Off to go without.")
}

/// Adds what is found to a plan's input.
pub(super) fn add(
    gatherer: &mut Gatherer,
    snapshot: &Snapshot,
    asked: Option<String>,
    found: &mut Gathered,
) -> Result<(), Failure> {
    let path = &snapshot.path.nodes[..snapshot.open_at];
    let tokens = allowance(snapshot);
    let Some(query) = asked.filter(|query| !path.is_empty() && !query.trim().is_empty()) else {
        return Ok(());
    };
    let Some(first) = first_plan(&mut found.input, tokens) else { return Ok(()) };
    let out = taken(snapshot, &found.input, &first);
    found.input.near.extend(left_out_by_hand(snapshot, &out));
    let closed: usize = out.iter().map(Range::len).sum();
    if closed >= path.len() || (tokens == 0 && snapshot.search == SearchWish::Auto && !snapshot.rules.policy.retrieval)
    {
        found.input.reserve = 0;
        return Ok(());
    }
    if found.input.reserve == 0 {
        let because = Reason::ModeOff;
        found.input.near.push(nothing(because, path.len() - closed));
        return Ok(());
    }
    let counter = gatherer.counter();
    let encoding = snapshot.rules.model.encoding;
    let count = |text: &str| counter.count(encoding, text);
    let wanted = Wanted {
        path,
        query: &query,
        out: out.clone(),
        lane: snapshot.rules.policy.one_lane.then(|| snapshot.lane.clone()),
        tokens: found.input.reserve.saturating_sub(FRAME).saturating_sub(super::remembered::held(&found.input)),
        near: NEAR,
        forced: snapshot.search == SearchWish::Anyway,
        haste: snapshot.haste,
        inherits: true,
        count: &count,
    };
    let library = gatherer.finder.shelf(snapshot.session, path)?;
    let looked = look(&library, &wanted)?;
    if let Some(vectors) = library.vectors.filter(|_| snapshot.haste == Haste::Asked) {
        vectors.looked(&query);
    }
    let cards = Cards { snapshot, library: &library, count: &count };
    cards.put(found, &looked);
    fit(&mut found.input, snapshot, &out);
    Ok(())
}

/// Tokens that may be spent on what is found.
fn allowance(snapshot: &Snapshot) -> u32 {
    limits(snapshot).retrieval_tokens
}

/// What mode, policy and the person's wish for this call allow.
pub(super) fn limits(snapshot: &Snapshot) -> ModeLimits {
    let rules = &snapshot.rules;
    let mode = match (snapshot.search, rules.mode) {
        (SearchWish::Never, _) => Mode::Off,
        (SearchWish::Anyway, Mode::Off) => Mode::Light,
        (SearchWish::Auto, _) if !rules.policy.retrieval => Mode::Off,
        (SearchWish::Anyway | SearchWish::Auto, mode) => mode,
    };
    mode.limits(rules.budget.prompt)
}

/// What the person asks in the open turn.
pub(super) fn asked(gatherer: &mut Gatherer, snapshot: &Snapshot) -> Result<Option<String>, Failure> {
    if let Some((_, content)) = &snapshot.draft {
        return Ok(Some(content.words()));
    }
    let head = snapshot.open.heads.iter().rfind(|head| head.role == Role::User && !head.hidden);
    let Some(head) = head else { return Ok(None) };
    Ok(gatherer.content(head.key, Some(head.id))?.map(|content| content.words()))
}

/// The plan without cards, the room for them kept free; without that room where it fits no other way. None where the call
/// is blocked.
fn first_plan(input: &mut PlanInput, tokens: u32) -> Option<ContextPlan> {
    for reserve in [tokens, 0] {
        input.reserve = reserve;
        if let Ok(plan) = context::plan(input) {
            return Some(plan);
        }
    }
    None
}

/// Positions on the path that are in the request already, or that a person took out.
fn taken(snapshot: &Snapshot, input: &PlanInput, plan: &ContextPlan) -> Vec<Range<usize>> {
    let closed: HashSet<Atom> = plan
        .rows
        .iter()
        .filter(|row| row.included() || matches!(row.reason, Reason::UserExcluded { .. }))
        .map(|row| row.atom)
        .collect();
    let mut out: Vec<Range<usize>> = Vec::new();
    for (turn, heads) in input.turns.iter().zip(&snapshot.turns) {
        if closed.contains(&turn.atom) {
            out.push(heads.at..heads.at + heads.heads.len());
        } else {
            out.extend(by_hand(snapshot, heads.at, &heads.heads).map(|at| at..at + 1));
        }
    }
    super::repeats::held(snapshot, input, &mut out);
    out
}

/// Positions of messages that a person took out one by one.
fn by_hand<'a>(snapshot: &'a Snapshot, at: usize, heads: &'a [NodeHead]) -> impl Iterator<Item = usize> + 'a {
    heads.iter().enumerate().filter_map(move |(offset, head)| {
        let excludes = snapshot.marks.iter().any(|mark| {
            mark.kind.excludes()
                && matches!(mark.target, Atom::Message { node } | Atom::Episode { call: node, .. } if node == head.key)
        });
        excludes.then_some(at + offset)
    })
}

/// Rows for messages outside the window that a person took out one by one: they can be let back in.
fn left_out_by_hand(snapshot: &Snapshot, out: &[Range<usize>]) -> Vec<Near> {
    let alone = |at: usize| out.iter().any(|run| *run == (at..at + 1));
    let mut rows = Vec::new();
    for turn in &snapshot.turns {
        for at in by_hand(snapshot, turn.at, &turn.heads).filter(|at| alone(*at)) {
            let head = &turn.heads[at - turn.at];
            rows.push(Near {
                atom: Atom::Message { node: head.key },
                kind: RowKind::Message,
                title: head.preview.clone(),
                tokens: u32::try_from(head.bytes / 4).unwrap_or(u32::MAX),
                reason: Reason::UserExcluded { once: false },
                remedy: ("exclude".into(), "lets it be found again".into()),
                source: source(snapshot, at, head.id, head.external_id.clone(), None),
                scores: Scores::default(),
            });
        }
    }
    rows
}

fn source(
    snapshot: &Snapshot,
    at: usize,
    node: NodeId,
    external_id: Option<String>,
    span: Option<(u32, u32)>,
) -> Source {
    Source {
        session: Some(snapshot.session),
        branch: Some(snapshot.branch.id),
        turn: Some(turn_number(&snapshot.path, at)).filter(|turn| *turn > 0),
        message: Some(node),
        external_id,
        at: snapshot.path.nodes.get(at).map(|node| node.at),
        span,
    }
}

fn turn_number(path: &PathView, at: usize) -> u32 {
    let preamble = usize::from(path.turns.first().is_some_and(|turn| !turn.asked));
    u32::try_from((path.turn_at(at) + 1).saturating_sub(preamble)).unwrap_or(u32::MAX)
}

/// The row that says why nothing was looked up.
fn nothing(reason: Reason, among: usize) -> Near {
    let messages = if among == 1 { "message" } else { "messages" };
    Near {
        atom: Atom::Section { text: Hash::of(b"search") },
        kind: RowKind::Search,
        title: format!("search of {among} older {messages}"),
        tokens: 0,
        reason,
        remedy: ("search-anyway".into(), "looks through them for this call".into()),
        source: Source::default(),
        scores: Scores::default(),
    }
}

/// Frees the room that the cards leave; where the window would then reach a turn that a card quotes, it stays free.
fn fit(input: &mut PlanInput, snapshot: &Snapshot, out: &[Range<usize>]) {
    let kept = std::mem::replace(&mut input.reserve, 0);
    let grew = match context::plan(input) {
        Ok(plan) => taken(snapshot, input, &plan) != out,
        Err(_) => true,
    };
    let cards = input.blocks.iter().any(|block| block.section == Section::Retrieved && block.kind != RowKind::Memory);
    if grew && cards {
        input.reserve = kept;
    }
}

/// Writes what was found.
struct Cards<'a> {
    snapshot: &'a Snapshot,
    library: &'a Library<'a>,
    count: &'a dyn Fn(&str) -> u32,
}

impl Cards<'_> {
    fn put(&self, found: &mut Gathered, looked: &Looked) {
        let cluster = found.bag.subject.map(|subject| subject.id);
        let set = RetrievalSet { cluster, ..set(looked, self.library, &self.snapshot.rules.mode) };
        let input = &mut found.input;
        let before = input.basis.frozen;
        let mut frozen = Fields::new("looked up").hash(before).hash(set.id).json(&set.gate);
        if let Gate::Skipped(why) = looked.gate {
            input.near.push(nothing(Reason::NotSearched { because: why }, looked.among as usize));
        } else if looked.filled.cards.is_empty() {
            input.near.push(nothing(Reason::NotSearched { because: SkipWhy::Faint }, looked.among as usize));
        } else {
            for block in self.blocks(found, looked) {
                frozen = frozen.hash(block.text).number(u64::from(block.tokens));
                found.input.blocks.push(block);
            }
        }
        let input = &mut found.input;
        input.near.extend(looked.filled.near.iter().filter_map(|near| self.near(near)));
        input.basis.frozen = frozen.finish();
        if !matches!(looked.gate, Gate::Skipped(_)) {
            input.retrieval_set_ids.push(set.id);
            found.bag.sets.push(set);
        }
    }

    /// The heading, then the cards, between delimiters that do not occur in them.
    fn blocks(&self, found: &mut Gathered, looked: &Looked) -> Vec<Block> {
        let all: String = looked.filled.cards.iter().map(|card| card.text.as_str()).collect();
        let mark = project::delimiter(&all);
        let heading = format!("## Earlier messages that may bear on this, quoted\n\n<<<{mark}\n");
        let count = looked.filled.cards.len();
        let title = match looked.gate {
            Gate::Inherited(_) => format!("{count} found, as for: {}", NodeHead::preview_of(&looked.query)),
            Gate::Pass(_) | Gate::Skipped(_) => format!("{count} found among {} older messages", looked.among),
        };
        let mut blocks = vec![self.block(found, heading, RowKind::Search, Reason::Searched { among: looked.among })];
        (blocks[0].title, blocks[0].scores) = super::subjects::told(title, found.bag.subject);
        blocks[0].atom = Some(Atom::Section { text: Hash::of(b"search") });
        for (place, card) in looked.filled.cards.iter().enumerate() {
            let last = if place + 1 == count { format!("{mark}>>>\n\n") } else { String::new() };
            let Some(block) = self.card(found, card, &last) else { continue };
            blocks.push(block);
        }
        blocks
    }

    fn card(&self, found: &mut Gathered, card: &Card, tail: &str) -> Option<Block> {
        let told = self.library.told(&card.key)?;
        let text = format!("{}{tail}", card.text);
        let recipe = Recipe::of(told.id, card.key, &text, &told.text, &card.spans);
        let span = card.spans.first().zip(card.spans.last()).map(|(first, last)| (short(first.start), short(last.end)));
        let first = card.spans.first().cloned().unwrap_or_default();
        let mut block = self.block(found, text, RowKind::Card, Reason::Retrieved { rank: card.rank });
        found.bag.recipes.insert(block.text, recipe);
        block.title = NodeHead::preview_of(told.text.get(first).unwrap_or_default());
        block.atom = Some(Atom::Message { node: card.key });
        block.source = source(self.snapshot, card.position, told.id, told.external_id, span);
        block.scores = scores(card.score, &card.parts);
        Some(block)
    }

    fn block(&self, found: &mut Gathered, text: String, kind: RowKind, reason: Reason) -> Block {
        let hash = Hash::of(text.as_bytes());
        let tokens = (self.count)(&text);
        found.bag.blocks.insert(hash, text.into());
        Block {
            section: Section::Retrieved,
            kind,
            text: hash,
            tokens,
            title: String::new(),
            reason,
            atom: None,
            source: Source::default(),
            scores: Scores::default(),
        }
    }

    fn near(&self, near: &crate::retrieval::fill::Near) -> Option<Near> {
        let told = self.library.told(&near.key)?;
        let passage = told.text.get(near.span.clone()).unwrap_or_default();
        let reason = match near.why {
            MissWhy::NoRoom { missing } => Reason::Budget { free: (self.count)(passage).saturating_sub(missing) },
            MissWhy::Duplicate => Reason::Duplicate,
            MissWhy::Below => Reason::BelowThreshold,
        };
        let span = Some((short(near.span.start), short(near.span.end)));
        Some(Near {
            atom: Atom::Message { node: near.key },
            kind: RowKind::Card,
            title: NodeHead::preview_of(passage),
            tokens: (self.count)(passage),
            reason,
            remedy: ("include-once".into(), "includes its turn in this call".into()),
            source: source(self.snapshot, near.position, told.id, told.external_id, span),
            scores: scores(near.score, &near.parts),
        })
    }
}

fn short(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The set as it is stored.
pub(super) fn set(looked: &Looked, library: &Library<'_>, filters: &impl serde::Serialize) -> RetrievalSet {
    let text = |key: &Hash| library.told(key).map(|told| Hash::of(told.text.as_bytes())).unwrap_or_default();
    let span = |spans: &[Range<usize>]| {
        (short(spans.first().map_or(0, |s| s.start)), short(spans.last().map_or(0, |s| s.end)))
    };
    let items = looked.filled.cards.iter().map(|card| Evidence {
        key: card.key,
        content: text(&card.key),
        span: span(&card.spans),
        score: card.score,
        score_parts: card.parts,
        rank: card.rank,
        tokens: card.tokens,
    });
    let near = looked.filled.near.iter().map(|near| NearMiss {
        key: near.key,
        span: (short(near.span.start), short(near.span.end)),
        score: near.score,
        score_parts: near.parts,
        why: near.why,
    });
    let filters = Fields::new("filters").json(filters).finish();
    let set = RetrievalSet::new(looked.query.clone(), filters, looked.gate, items.collect(), near.collect());
    RetrievalSet { embedder: looked.embedder.clone(), ..set }
}

/// A score with its parts, in thousandths.
pub(super) fn scores(score: f32, parts: &ScoreParts) -> Scores {
    let named = [
        ("bm25", parts.bm25),
        ("feedback", parts.feedback),
        ("smooth", parts.smooth),
        ("sitting", parts.sitting),
        ("speaker", parts.speaker),
        ("prior", parts.prior),
        ("cos", parts.cos),
    ];
    let parts = named.iter().filter(|(_, part)| *part != 0.0).map(|(name, part)| ((*name).to_owned(), milli(*part)));
    Scores { score: Some(milli(score)), parts: parts.collect() }
}

#[allow(clippy::cast_possible_truncation, reason = "scores are small; what is not is held at the ends")]
fn milli(score: f32) -> i32 {
    (score * 1_000.0).round() as i32
}
