//! Searches older messages that match the open turn and offers the results: a heading, one card per message, and a row
//! for each near miss. Messages that are sent anyway, or that a person excluded, are not searched.
//! Not for: indexes (`indexing::messages`), scores (`retrieval`), or admission (`context`).

use super::cards::Cards;
use crate::context::AlreadyIn;
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::NodeId;
use crate::domain::call::retrieval_set::{Gate, PassReason, SkipReason};
use crate::domain::conversation::mark::Atom;
use crate::domain::conversation::message::{NodeHead, Role};
use crate::domain::planning::input::{OmittedItem, PlanInput};
use crate::domain::planning::mode::{Mode, ModeLimits, SearchWish};
use crate::domain::planning::plan::{Reason, RowKind, Scores, Source, Warning};
use crate::engine::indexing::messages::{PathIndex, lane_number, together};
use crate::engine::indexing::priority::Priority;
use crate::engine::plans::input_builder::{BuiltInput, InputBuilder};
use crate::engine::plans::snapshot::{Snapshot, TurnHeads};
use crate::engine::sessions::path::{PathNode, PathView};
use crate::retrieval::fill::{CardRoom, Filled, fill};
use crate::retrieval::floor::Floor;
use crate::retrieval::gate;
use crate::retrieval::query::Query;
use crate::retrieval::scope::Filter;
use crate::retrieval::search::{Hit, SearchOptions, search};
use std::ops::Range;

/// Near misses that get a row.
const NEAR: usize = 8;
/// Maximum tokens of the frame around the cards.
const FRAME: u32 = 48;

/// How like a query passages are, by their numbers.
type Cosines = Vec<(u32, f32)>;

/// A query, its scope and its token budget.
pub(crate) struct RetrievalQuery<'a> {
    pub(crate) path: &'a [PathNode],
    pub(crate) query: &'a str,
    pub(crate) out: Vec<Range<usize>>,
    pub(crate) lane: Option<String>,
    pub(crate) tokens: u32,
    pub(crate) near: usize,
    pub(crate) forced: bool,
    /// How an embedder may be used.
    pub(crate) priority: Priority,
    pub(crate) count: &'a dyn Fn(&str) -> u32,
}

/// The retrieved messages, with the facts for their cards.
pub(crate) struct RetrievedCards {
    pub(crate) gate: Gate,
    /// The embedder that was used.
    pub(crate) query: String,
    pub(crate) among: u32,
    pub(crate) filled: Filled,
    /// Whose vectors were compared.
    pub(crate) embedder: Option<String>,
}

/// Searches a path.
pub(crate) fn look(library: &PathIndex<'_>, wanted: &RetrievalQuery<'_>) -> Result<RetrievedCards, Failure> {
    let (shelf, scope) = (library.shelf, library.scope);
    let lane = wanted.lane.as_deref().map(lane_number);
    let filter = Filter { out: wanted.out.clone(), lane };
    let ask = SearchOptions {
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
    let mut looked = RetrievedCards {
        gate: Gate::Skipped(SkipReason::NothingToFind),
        query: wanted.query.to_owned(),
        among: u32::try_from(among).unwrap_or(u32::MAX),
        filled: Filled::default(),
        embedder: None,
    };
    if among == 0 {
        return Ok(looked);
    }
    let (gate, cosines) = if wanted.forced {
        (Gate::Pass(PassReason::Forced), cosines(library, wanted.query, &allowed, wanted.priority))
    } else {
        gated(library, &ask, (wanted.query, &allowed), Some(wanted.priority))?
    };
    looked.gate = gate;
    if matches!(looked.gate, Gate::Skipped(_)) {
        return Ok(looked);
    }
    looked.embedder = cosines.as_ref().and_then(|_| library.vectors?.id());
    let ask = SearchOptions { cosines: cosines.as_deref(), ..ask };
    let hits = hits(&ask, &looked.query)?;
    // A person who asks for a search gets what there is.
    let floor =
        (!wanted.forced).then(|| Floor::new(&ask, &looked.query)).transpose().map_err(|error| unreadable(&error))?;
    let run = |at: usize| together(wanted.path, at);
    let room = CardRoom {
        tokens: wanted.tokens,
        count: wanted.count,
        together: &run,
        near: wanted.near,
        floor: floor.as_ref(),
    };
    looked.filled = fill(&ask, &hits, &room);
    Ok(looked)
}

/// Whether a query opens the search, and the similarity of the passages if vectors are requested and ready.
fn gated(
    library: &PathIndex<'_>,
    ask: &SearchOptions<'_>,
    (query, allowed): (&str, &[bool]),
    vectors: Option<Priority>,
) -> Result<(Gate, Option<Cosines>), Failure> {
    let near = || cosines(library, query, allowed, vectors?);
    let by_words = opens(ask, query)?;
    match by_words {
        Gate::Skipped(SkipReason::Unknown | SkipReason::Common | SkipReason::Faint) => {
            let near = near();
            Ok((opens(&SearchOptions { cosines: near.as_deref(), ..*ask }, query)?, near))
        }
        Gate::Skipped(_) => Ok((by_words, None)),
        Gate::Pass(_) | Gate::Inherited(_) => Ok((by_words, near())),
    }
}

fn hits(ask: &SearchOptions<'_>, query: &str) -> Result<Vec<Hit>, Failure> {
    search(ask, &Query::new(ask.index, ask.scope, query)).map_err(|error| unreadable(&error))
}

/// For each turn of the snapshot, the similarity of its best message to the question, in thousandths of the best of
/// all: by words, rare ones above all, and by an embedder's vectors if there is one and the mode allows retrieval. All
/// 0 if the question refers to nothing in the conversation; `None` while messages are being indexed.
pub(crate) fn likeness(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    asked: &str,
) -> Result<Option<Vec<i32>>, Failure> {
    let path = &snapshot.path.nodes[..snapshot.open_at];
    if path.is_empty() || asked.trim().is_empty() || builder.finder.take_in(snapshot.session, path)? > 0 {
        return Ok(None);
    }
    let vectors = (limits(snapshot).retrieval_tokens > 0).then_some(snapshot.priority);
    let library = &builder.finder.shelf(snapshot.session, path)?;
    let (index, scope, filter) = (&library.shelf.index, library.scope, &Filter::default());
    let ask = SearchOptions { index, scope, source: library, texts: library, filter, cosines: None, tuning: None };
    let (gate, cosines) = gated(library, &ask, (asked, &filter.allowed(index, scope)), vectors)?;
    if matches!(gate, Gate::Skipped(_)) {
        return Ok(Some(vec![0; snapshot.turns.len()]));
    }
    let found = hits(&SearchOptions { cosines: cosines.as_deref(), ..ask }, asked)?;
    let mut scores = vec![0.0_f32; path.len()];
    for hit in &found {
        scores[hit.position] = scores[hit.position].max(hit.score);
    }
    let best = scores.iter().copied().fold(0.0, f32::max);
    #[allow(clippy::cast_possible_truncation, reason = "it is between 0 and 1000")]
    let of_best = |score: f32| if best > 0.0 { (score / best * 1_000.0).round() as i32 } else { 0 };
    let turn = |heads: &TurnHeads| scores[heads.at..heads.at + heads.heads.len()].iter().copied().fold(0.0, f32::max);
    Ok(Some(snapshot.turns.iter().map(|heads| of_best(turn(heads))).collect()))
}

/// The similarity of the passages to the query, if all required vectors exist.
fn cosines(library: &PathIndex<'_>, query: &str, allowed: &[bool], priority: Priority) -> Option<Cosines> {
    let question = library.vectors?.question(query, priority)?;
    library.cosines(&question, allowed)
}

fn opens(ask: &SearchOptions<'_>, text: &str) -> Result<Gate, Failure> {
    gate::gate(ask, text).map_err(|error| unreadable(&error))
}

fn unreadable(error: &crate::retrieval::RetrievalError) -> Failure {
    Failure::new(FailureKind::Store, format!("Older messages can't be searched: {error}."))
        .kept("Nothing was sent and nothing was changed.")
        .todo("Set the context mode to Off to send without them.")
}

/// Offers the retrieved messages.
pub(crate) fn add(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    asked: Option<String>,
    already_in: &AlreadyIn,
    found: &mut BuiltInput,
) -> Result<(), Failure> {
    let path = &snapshot.path.nodes[..snapshot.open_at];
    let allowance = found.input.allowance;
    let Some(query) = asked.filter(|query| !path.is_empty() && !query.trim().is_empty()) else {
        return Ok(());
    };
    let out = taken(snapshot, &found.input, already_in);
    found.input.near.extend(left_out_by_hand(snapshot, &out));
    let closed: usize = out.iter().map(Range::len).sum();
    if closed >= path.len()
        || (allowance == 0 && snapshot.search == SearchWish::Auto && !snapshot.rules.policy.retrieval)
    {
        return Ok(());
    }
    if allowance > 0 {
        found.behind = builder.finder.take_in(snapshot.session, path)?;
    }
    if allowance == 0 || found.behind > 0 {
        not_searched(snapshot.search, path.len() - closed, found);
        return Ok(());
    }
    let counter = builder.counter();
    let encoding = snapshot.rules.model.encoding;
    let count = |text: &str| counter.count(encoding, text);
    let wanted = RetrievalQuery {
        path,
        query: &query,
        out,
        lane: snapshot.lane_searched().map(str::to_owned),
        tokens: allowance.saturating_sub(FRAME),
        near: NEAR,
        forced: snapshot.search == SearchWish::Anyway,
        priority: snapshot.priority,
        count: &count,
    };
    let library = builder.finder.shelf(snapshot.session, path)?;
    let looked = look(&library, &wanted)?;
    if let Some(vectors) = library.vectors.filter(|_| snapshot.priority == Priority::Asked) {
        vectors.looked(&query);
    }
    let cards = Cards { snapshot, library: &library, count: &count };
    cards.put(found, &looked);
    Ok(())
}

/// Adds a row that says why nothing is searched, and a warning if the person turned search off.
fn not_searched(wish: SearchWish, among: usize, found: &mut BuiltInput) {
    let input = &mut found.input;
    let because = match wish {
        _ if found.behind > 0 => Reason::NotSearched { because: SkipReason::Indexing },
        SearchWish::Never => Reason::NotSearched { because: SkipReason::NotWanted },
        SearchWish::Auto | SearchWish::Anyway => Reason::ModeOff,
    };
    input.warnings.extend((wish == SearchWish::Never).then_some(Warning::NotSearched));
    input.basis.frozen = Fields::new("not searched").hash(input.basis.frozen).json(&because).finish();
    input.near.push(nothing(because, among));
}

/// The limits of mode and policy, and the person's choice for this call.
pub(crate) fn limits(snapshot: &Snapshot) -> ModeLimits {
    let rules = &snapshot.rules;
    let mode = match (snapshot.search, rules.mode) {
        (SearchWish::Never, _) => Mode::Off,
        (SearchWish::Anyway, Mode::Off) => Mode::Light,
        (SearchWish::Auto, _) if !rules.policy.retrieval => Mode::Off,
        (SearchWish::Anyway | SearchWish::Auto, mode) => mode,
    };
    mode.limits(rules.budget.prompt)
}

/// The question of the open turn.
pub(crate) fn asked(builder: &mut InputBuilder, snapshot: &Snapshot) -> Result<Option<String>, Failure> {
    if let Some((_, content)) = &snapshot.draft {
        return Ok(Some(content.plain_text()));
    }
    let head = snapshot.open.heads.iter().rfind(|head| head.role == Role::User && !head.hidden);
    let Some(head) = head else { return Ok(None) };
    Ok(builder.content(head.key, Some(head.id))?.map(|content| content.plain_text()))
}

/// Positions on the path that are sent in any case, or that a person excluded.
fn taken(snapshot: &Snapshot, input: &PlanInput, already_in: &AlreadyIn) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for (turn, heads) in input.turns.iter().zip(&snapshot.turns) {
        if already_in.closed.contains(&turn.atom) {
            out.push(heads.at..heads.at + heads.heads.len());
        } else {
            out.extend(by_hand(snapshot, heads.at, &heads.heads).map(|at| at..at + 1));
        }
    }
    super::error_pairs::held(snapshot, input, &mut out);
    out
}

/// The turn at a position of the path, if it is considered individually.
pub(crate) fn turn_at(snapshot: &Snapshot, input: &PlanInput, at: usize) -> Option<Atom> {
    let mut turns = input.turns.iter().zip(&snapshot.turns);
    turns.find(|(_, heads)| (heads.at..heads.at + heads.heads.len()).contains(&at)).map(|(turn, _)| turn.atom)
}

/// Positions of messages that a person excluded one by one.
fn by_hand<'a>(snapshot: &'a Snapshot, at: usize, heads: &'a [NodeHead]) -> impl Iterator<Item = usize> + 'a {
    heads.iter().enumerate().filter_map(move |(offset, head)| {
        let excludes = snapshot.marks.iter().any(|mark| {
            mark.kind.excludes()
                && matches!(mark.target, Atom::Message { node } | Atom::Episode { call: node, .. } if node == head.key)
        });
        excludes.then_some(at + offset)
    })
}

/// Rows for messages outside the window that a person excluded one by one, so that they can be included again.
fn left_out_by_hand(snapshot: &Snapshot, out: &[Range<usize>]) -> Vec<OmittedItem> {
    let alone = |at: usize| out.iter().any(|run| *run == (at..at + 1));
    let mut rows = Vec::new();
    for turn in &snapshot.turns {
        for at in by_hand(snapshot, turn.at, &turn.heads).filter(|at| alone(*at)) {
            let head = &turn.heads[at - turn.at];
            rows.push(OmittedItem {
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

pub(crate) fn source(
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
        path: None,
        span,
        code: None,
    }
}

fn turn_number(path: &PathView, at: usize) -> u32 {
    let preamble = usize::from(path.turns.first().is_some_and(|turn| !turn.asked));
    u32::try_from((path.turn_at(at) + 1).saturating_sub(preamble)).unwrap_or(u32::MAX)
}

/// The row that says why nothing was searched.
pub(crate) fn nothing(reason: Reason, among: usize) -> OmittedItem {
    let messages = if among == 1 { "message" } else { "messages" };
    OmittedItem {
        atom: Atom::Section { text: Hash::of(b"search") },
        kind: RowKind::Search,
        title: format!("search of {among} older {messages}"),
        tokens: 0,
        reason,
        remedy: ("search-anyway".into(), "searches them for this request".into()),
        source: Source::default(),
        scores: Scores::default(),
    }
}
