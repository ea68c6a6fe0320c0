//! Searches older messages for matches with the open turn and offers the results: a heading, a card for each message,
//! and a row for each near miss. Messages that are already sent or that a person excluded are not searched.
//! Not for: indexes (`indexing::messages`), scores (`retrieval`), or admission (`context`).

use super::cards::Cards;
use super::rounds;
use crate::context::{self, AlreadyIn};
use crate::domain::base::{Failure, FailureKind, Fields};
use crate::domain::call::{Gate, PassReason, SkipReason};
use crate::domain::conversation::{Atom, NodeHead, Role};
use crate::domain::planning::{
    Mode, ModeLimits, OmittedItem, PlanInput, RowKind, SearchChoice, SendBarrier, TurnSelection,
};
use crate::domain::planning::{Reason, Warning};
use crate::engine::indexing::messages::{PathIndex, lane_number, together};
use crate::engine::indexing::priority::Priority;
use crate::engine::plans::input_builder::{BuiltInput, InputBuilder, send_barrier};
use crate::engine::plans::labels::search_atom;
use crate::engine::plans::snapshot::{Snapshot, TurnHeads};
use crate::engine::sessions::path::PathNode;
use crate::retrieval::compose::{CardRules, Composed, compose};
use crate::retrieval::floor::Floor;
use crate::retrieval::gate;
use crate::retrieval::query::Query;
use crate::retrieval::scope::Filter;
use crate::retrieval::search::{Hit, SearchOptions, search};
use std::collections::HashSet;
use std::ops::Range;

/// The maximum number of rows for near misses.
pub(crate) const NEAR: usize = 8;

/// The similarity of passages to a query, by their numbers.
type Cosines = Vec<(u32, f32)>;

/// A search: the query and its scope.
pub(crate) struct RetrievalQuery<'a> {
    pub(crate) path: &'a [PathNode],
    pub(crate) query: &'a str,
    pub(crate) out: Vec<Range<usize>>,
    /// Ranges of `out` whose scores count for the others.
    pub(crate) sent: Vec<Range<usize>>,
    pub(crate) lane: Option<String>,
    pub(crate) near: usize,
    /// Returns whether cards with about this many tokens in total are enough to choose from.
    pub(crate) is_enough: &'a dyn Fn(u32) -> bool,
    pub(crate) forced: bool,
    /// Whether a remote embedder may be asked.
    pub(crate) priority: Priority,
    pub(crate) count: &'a dyn Fn(&str) -> u32,
}

/// The result of a search.
pub(crate) struct RetrievedCards {
    pub(crate) gate: Gate,
    pub(crate) query: String,
    pub(crate) among: u32,
    pub(crate) composed: Composed,
    /// The embedder whose vectors were compared; `None` without vectors.
    pub(crate) embedder: Option<String>,
}

/// Searches a path.
pub(crate) fn search_path(path_index: &PathIndex<'_>, wanted: &RetrievalQuery<'_>) -> Result<RetrievedCards, Failure> {
    let (session_index, scope) = (path_index.session_index, path_index.scope);
    let lane = wanted.lane.as_deref().map(lane_number);
    let filter = Filter { out: wanted.out.clone(), sent: wanted.sent.clone(), lane };
    let ask = SearchOptions {
        index: &session_index.index,
        scope,
        source: path_index,
        texts: path_index,
        filter: &filter,
        cosines: None,
        tuning: None,
    };
    let allowed = filter.allowed(&session_index.index, scope);
    let among = allowed.iter().filter(|may| **may).count();
    let mut result = RetrievedCards {
        gate: Gate::Skipped(SkipReason::NothingToFind),
        query: wanted.query.to_owned(),
        among: u32::try_from(among).unwrap_or(u32::MAX),
        composed: Composed::default(),
        embedder: None,
    };
    if among == 0 {
        return Ok(result);
    }
    let (gate, cosines) = if wanted.forced {
        (Gate::Pass(PassReason::Forced), cosines(path_index, wanted.query, &allowed, wanted.priority))
    } else {
        gated(path_index, &ask, (wanted.query, &allowed), Some(wanted.priority))?
    };
    result.gate = gate;
    if matches!(result.gate, Gate::Skipped(_)) {
        return Ok(result);
    }
    result.embedder = cosines.as_ref().and_then(|_| path_index.vectors?.id());
    let ask = SearchOptions { cosines: cosines.as_deref(), ..ask };
    let hits = hits(&ask, &result.query)?;
    // A search that a person forces returns everything, without a minimum score.
    let floor =
        (!wanted.forced).then(|| Floor::new(&ask, &result.query)).transpose().map_err(|error| unreadable(&error))?;
    let run = |at: usize| together(wanted.path, at);
    let (count, near, is_enough) = (wanted.count, wanted.near, wanted.is_enough);
    let rules = CardRules { count, together: &run, near, floor: floor.as_ref(), is_enough };
    result.composed = compose(&ask, &hits, &rules);
    Ok(result)
}

/// Decides whether a query passes the gate. Also returns the similarity of passages, if vectors are requested and
/// available.
fn gated(
    path_index: &PathIndex<'_>,
    ask: &SearchOptions<'_>,
    (query, allowed): (&str, &[bool]),
    vectors: Option<Priority>,
) -> Result<(Gate, Option<Cosines>), Failure> {
    let near = || cosines(path_index, query, allowed, vectors?);
    let by_words = gate_decision(ask, query)?;
    match by_words {
        Gate::Skipped(SkipReason::Unknown | SkipReason::Common | SkipReason::Faint) => {
            let near = near();
            Ok((gate_decision(&SearchOptions { cosines: near.as_deref(), ..*ask }, query)?, near))
        }
        Gate::Skipped(_) => Ok((by_words, None)),
        Gate::Pass(_) | Gate::Inherited(_) => Ok((by_words, near())),
    }
}

fn hits(ask: &SearchOptions<'_>, query: &str) -> Result<Vec<Hit>, Failure> {
    search(ask, &Query::new(ask.index, ask.scope, query)).map_err(|error| unreadable(&error))
}

/// Returns for each turn of the snapshot the similarity of its best message to the question, in thousandths of the best
/// of all: by terms, weighted by rarity, and also by vectors if there is an embedder and the mode allows retrieval. All
/// are 0 if the question does not pass the gate; `None` while messages are being indexed.
pub(crate) fn similarity(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    asked: &str,
) -> Result<Option<Vec<i32>>, Failure> {
    let path = &snapshot.path.nodes[..snapshot.open_at];
    if path.is_empty() || asked.trim().is_empty() || builder.finder.index_path(snapshot.session, path)? > 0 {
        return Ok(None);
    }
    let vectors = limits(snapshot).retrieves().then_some(snapshot.priority);
    let path_index = &builder.finder.path_index(snapshot.session, path)?;
    let (index, scope, filter) = (&path_index.session_index.index, path_index.scope, &Filter::default());
    let ask =
        SearchOptions { index, scope, source: path_index, texts: path_index, filter, cosines: None, tuning: None };
    let (gate, cosines) = gated(path_index, &ask, (asked, &filter.allowed(index, scope)), vectors)?;
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

/// Returns the similarity of the passages to the query; `None` unless all required vectors exist.
fn cosines(path_index: &PathIndex<'_>, query: &str, allowed: &[bool], priority: Priority) -> Option<Cosines> {
    let question = path_index.vectors?.question(query, priority)?;
    path_index.cosines(&question, allowed)
}

fn gate_decision(ask: &SearchOptions<'_>, text: &str) -> Result<Gate, Failure> {
    gate::gate(ask, text).map_err(|error| unreadable(&error))
}

fn unreadable(error: &crate::retrieval::RetrievalError) -> Failure {
    Failure::new(FailureKind::Store, format!("Older messages can't be searched: {error}."))
        .kept("Nothing was sent and nothing was changed.")
        .todo("Set the context mode to Off to send without them.")
}

/// Searches older messages and offers the results.
pub(crate) fn add(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    asked: Option<String>,
    already_in: &AlreadyIn,
    found: &mut BuiltInput,
) -> Result<(), Failure> {
    let path = &snapshot.path.nodes[..snapshot.open_at];
    let Some(query) = asked.filter(|query| !path.is_empty() && !query.trim().is_empty()) else {
        return Ok(());
    };
    let out = skipped_positions(snapshot, &found.input, already_in);
    found.input.near.extend(excluded_rows(snapshot, &out));
    if let Some(round) = &snapshot.round_before {
        rounds::repeat_cards(round, snapshot, found);
        let unwanted = snapshot.search == SearchChoice::Never && !found.contents.round_parts.near_cards.is_empty();
        found.input.warnings.extend(unwanted.then_some(Warning::NotSearched));
        return Ok(());
    }
    let listed = found.input.near.len();
    let sent = sent_positions(snapshot, &found.input, already_in);
    search_older(builder, snapshot, &query, (out, sent), found)?;
    found.contents.round_parts.near_cards = found.input.near[listed..].to_vec();
    Ok(())
}

/// Searches the positions that are not skipped and offers the results; adds rows for the others.
fn search_older(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    query: &str,
    (out, sent): (Vec<Range<usize>>, Vec<Range<usize>>),
    found: &mut BuiltInput,
) -> Result<(), Failure> {
    let path = &snapshot.path.nodes[..snapshot.open_at];
    let searches = limits(snapshot).retrieves();
    let closed: usize = out.iter().map(Range::len).sum();
    if closed >= path.len() || (!searches && snapshot.search == SearchChoice::Auto && !snapshot.rules.policy.retrieval)
    {
        return Ok(());
    }
    if searches {
        found.unindexed = builder.finder.index_path(snapshot.session, path)?;
    }
    if !searches || found.unindexed > 0 {
        not_searched(snapshot.search, path.len() - closed, found);
        return Ok(());
    }
    let count = builder.counting(snapshot.rules.model.encoding);
    let wanted = RetrievalQuery {
        path,
        query,
        out,
        sent,
        lane: snapshot.lane_searched().map(str::to_owned),
        near: NEAR,
        is_enough: &context::enough_for(&found.input),
        forced: snapshot.search == SearchChoice::Anyway,
        priority: snapshot.priority,
        count: &count,
    };
    let path_index = builder.finder.path_index(snapshot.session, path)?;
    let result = search_path(&path_index, &wanted)?;
    if let Some(vectors) = path_index.vectors.filter(|_| snapshot.priority == Priority::Asked) {
        vectors.note_searched(query);
    }
    let cards = Cards { snapshot, path_index: &path_index, count: &count };
    cards.put(found, &result);
    Ok(())
}

/// Adds a row that says why nothing is searched, and a warning if a person turned the search off.
fn not_searched(search: SearchChoice, among: usize, found: &mut BuiltInput) {
    let input = &mut found.input;
    let because = match search {
        _ if found.unindexed > 0 => Reason::NotSearched { because: SkipReason::Indexing },
        SearchChoice::Never => Reason::NotSearched { because: SkipReason::NotWanted },
        SearchChoice::Auto | SearchChoice::Anyway => Reason::ModeOff,
    };
    input.warnings.extend((search == SearchChoice::Never).then_some(Warning::NotSearched));
    input.basis.frozen = Fields::new("not searched").hash(input.basis.frozen).json(&because).finish();
    input.near.push(nothing(because, among));
}

/// Returns what turns the automatic search off, if it is off: the mode, otherwise the policy.
pub(crate) fn off(snapshot: &Snapshot) -> Reason {
    if snapshot.rules.mode == Mode::Off {
        Reason::ModeOff
    } else {
        Reason::NotSearched { because: SkipReason::PolicyOff }
    }
}

/// Returns the limits that result from the mode, the policy, and the person's choice for this call.
pub(crate) fn limits(snapshot: &Snapshot) -> ModeLimits {
    let rules = &snapshot.rules;
    let mode = match (snapshot.search, rules.mode) {
        (SearchChoice::Never, _) => Mode::Off,
        (SearchChoice::Anyway, Mode::Off) => Mode::Light,
        (SearchChoice::Auto, _) if !rules.policy.retrieval => Mode::Off,
        (SearchChoice::Anyway | SearchChoice::Auto, mode) => mode,
    };
    mode.limits(rules.budget.prompt)
}

/// Returns the question of the open turn: the draft, or its last user message.
pub(crate) fn question(builder: &mut InputBuilder, snapshot: &Snapshot) -> Result<Option<String>, Failure> {
    if let Some((_, content)) = &snapshot.draft {
        return Ok(Some(content.plain_text()));
    }
    let head = snapshot.open.heads.iter().rfind(|head| head.role == Role::User && !head.hidden);
    let Some(head) = head else { return Ok(None) };
    Ok(builder.content(head.key, Some(head.id))?.map(|content| content.plain_text()))
}

/// Returns the positions on the path that are already in the request or that a person excluded.
fn skipped_positions(snapshot: &Snapshot, input: &PlanInput, already_in: &AlreadyIn) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for (turn, heads) in input.turns.iter().zip(&snapshot.turns) {
        if already_in.closed.contains(&turn.atom) {
            out.push(heads.at..heads.at + heads.heads.len());
        } else {
            out.extend(excluded_positions(snapshot, heads.at, &heads.heads).map(|at| at..at + 1));
        }
    }
    super::error_pairs::add_quoted_positions(snapshot, input, &mut out);
    out
}

/// Returns the positions on the path that are in the request and count for the scores of others, under a policy that
/// chooses turns for their similarity to the question: it takes the best matches out of the search, whose neighbors
/// often hold the answer. Other policies choose turns for their age, and only older messages count.
fn sent_positions(snapshot: &Snapshot, input: &PlanInput, already_in: &AlreadyIn) -> Vec<Range<usize>> {
    if !matches!(input.policy.choose, TurnSelection::Relevance | TurnSelection::Levels) {
        return Vec::new();
    }
    let turns = already_in.rows.iter().filter(|row| row.kind == RowKind::Turn);
    let sent: HashSet<Atom> = turns.map(|row| row.atom).filter(|atom| already_in.closed.contains(atom)).collect();
    let turns = input.turns.iter().zip(&snapshot.turns).filter(|(turn, _)| sent.contains(&turn.atom));
    let positions = turns.flat_map(|(_, heads)| {
        let is_sent = move |(_, head): &(usize, &NodeHead)| !snapshot.excludes_message(head.key);
        heads.heads.iter().enumerate().filter(is_sent).map(|(offset, _)| heads.at + offset)
    });
    positions.map(|at| at..at + 1).collect()
}

/// Returns the turn at a position of the path, if it is considered one by one.
pub(crate) fn turn_at(snapshot: &Snapshot, input: &PlanInput, at: usize) -> Option<Atom> {
    let mut turns = input.turns.iter().zip(&snapshot.turns);
    turns.find(|(_, heads)| (heads.at..heads.at + heads.heads.len()).contains(&at)).map(|(turn, _)| turn.atom)
}

/// Returns the positions of messages that a person excluded one by one.
fn excluded_positions<'a>(
    snapshot: &'a Snapshot,
    at: usize,
    heads: &'a [NodeHead],
) -> impl Iterator<Item = usize> + 'a {
    let excluded = heads.iter().enumerate().filter(|(_, head)| snapshot.excludes_message(head.key));
    excluded.map(move |(offset, _)| at + offset)
}

/// Returns rows for messages outside the window that a person excluded one by one, so that the exclusions can be
/// removed.
fn excluded_rows(snapshot: &Snapshot, out: &[Range<usize>]) -> Vec<OmittedItem> {
    let alone = |at: usize| out.iter().any(|run| *run == (at..at + 1));
    let mut rows = Vec::new();
    for turn in &snapshot.turns {
        for at in excluded_positions(snapshot, turn.at, &turn.heads).filter(|at| alone(*at)) {
            let head = &turn.heads[at - turn.at];
            // Excluded instructions and messages that are not sent by default have a row already.
            let is_listed = snapshot.instructions.iter().any(|one| one.key == head.key)
                || matches!(send_barrier(head, false), Some(SendBarrier::Hidden | SendBarrier::Foreign));
            if is_listed {
                continue;
            }
            let (atom, reason) = (Atom::Message { node: head.key }, Reason::UserExcluded { once: false });
            let tokens = u32::try_from(head.bytes / 4).unwrap_or(u32::MAX);
            let remedy = ("exclude", "allows it in search results again");
            let row = OmittedItem::new(atom, RowKind::Message, &head.preview, tokens, reason, remedy);
            let source = snapshot.source(at, head.id, head.external_id.clone(), None);
            rows.push(OmittedItem { source, ..row });
        }
    }
    rows
}

/// Returns the row that says why nothing was searched.
pub(crate) fn nothing(reason: Reason, among: usize) -> OmittedItem {
    let messages = if among == 1 { "message" } else { "messages" };
    let (atom, title) = (search_atom(), format!("search of {among} older {messages}"));
    let remedy = ("search-anyway", "searches older messages for this request");
    OmittedItem::new(atom, RowKind::Search, &title, 0, reason, remedy)
}
