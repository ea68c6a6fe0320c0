//! Facts about turns that policies use in addition to tokens (lanes, ages, flags, mentions, relevance). They are read
//! from the text once and cached.
//! Not for: the meaning of these facts (`context::policy`).

use super::caches::MessageTerms;
use super::input_builder::{InputBuilder, send_barrier};
use super::snapshot::{Snapshot, TurnHeads};
use crate::context::activation::{HORIZON, activation};
use crate::context::policy::{conversation, mentions};
use crate::context::render::render_forms;
use crate::domain::base::{Failure, Hash};
use crate::domain::call::ClusterId;
use crate::domain::conversation::message::PRIORITY;
use crate::domain::conversation::{Actor, Atom, Content, Lane, Mark, NodeHead, Role, Touch, Touches, state};
use crate::domain::planning::{
    Adaptive, MessageFacts, Scores, Task, TaskRelation, TurnFacts, TurnInput, TurnSelection,
};
use std::sync::Arc;

/// The number of messages that are read at a time.
const BATCH: usize = 256;

impl MessageTerms {
    fn of(role: Role, content: &Content, spec: &Adaptive) -> Self {
        let plain = render_forms::plain(content);
        let text = if role == Role::Assistant { state::strip(&plain, true) } else { plain };
        let asked = content.extra.as_ref().and_then(|extra| extra.get(PRIORITY)).and_then(serde_json::Value::as_u64);
        Self {
            flags: conversation::flags(role, &text, spec),
            terms: mentions::terms(&text),
            task: if role == Role::User { conversation::task(&text, spec, Task::General) } else { Task::General },
            priority: asked.map(|asked| u8::try_from(asked.min(100)).unwrap_or(100)),
        }
    }
}

/// Writes into the turns the facts that their policy needs.
pub(crate) fn fill_facts(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    turns: &mut [TurnInput],
    (open, asked): (&mut TurnInput, &str),
) -> Result<(), Failure> {
    let all = || snapshot.turns.iter().chain([&snapshot.open]);
    let now = all().flat_map(|turn| &turn.heads).map(|head| head.at).max().unwrap_or(0);
    for (turn, heads) in turns.iter_mut().chain([&mut *open]).zip(all()) {
        turn.facts = TurnFacts {
            lane: heads.heads.first().map_or_else(String::new, |head| Lane::read(&head.lane).text()),
            age: heads.heads.last().map_or(0, |head| age(now, head)),
            part: task_relation(snapshot, heads.at),
            ..TurnFacts::default()
        };
    }
    open.facts.lane = Lane::read(&snapshot.lane).text();
    fill_pin_activation(builder, snapshot, turns)?;
    if matches!(snapshot.rules.policy.choose, TurnSelection::Recent | TurnSelection::Lane) {
        return Ok(());
    }
    let spec = &snapshot.rules.policy.adaptive;
    builder.facts.reset_if_changed(spec);
    let heads: Vec<&NodeHead> = all().flat_map(sendable).collect();
    read_terms(builder, &heads, spec)?;
    let mut terms: Vec<Vec<u64>> = all().map(|turn| terms_of(builder, turn)).collect();
    if let (Some((_, content)), Some(last)) = (&snapshot.draft, terms.last_mut()) {
        *last = MessageTerms::of(Role::User, content, spec).terms;
    }
    let similarity = super::sources::retrieval::similarity(builder, snapshot, asked)?;
    let counted = mentions::mentions(&terms);
    let mut task = Task::General;
    for (at, (turn, heads)) in turns.iter_mut().zip(&snapshot.turns).enumerate() {
        let cached = sendable(heads).filter_map(|head| Some((head, builder.facts.by_message.get(&head.key)?)));
        for (head, message) in cached {
            task = if message.task == Task::General { task } else { message.task };
            turn.facts.priority = message.priority.unwrap_or(turn.facts.priority);
            let flags = message.flags.clone();
            turn.facts.messages.push(MessageFacts { role: head.role, age: age(now, head), flags });
        }
        turn.facts.task = task;
        turn.facts.mentions = counted[at];
        turn.facts.similarity = similarity.as_ref().map(|similarity| similarity[at]);
    }
    Ok(())
}

/// Computes the activation of the turns that the program pinned, from the items that the last turns of the path
/// touched.
fn fill_pin_activation(builder: &InputBuilder, snapshot: &Snapshot, turns: &mut [TurnInput]) -> Result<(), Failure> {
    let own: Vec<Hash> = snapshot.marks.iter().filter(|mark| mark.by == Actor::Engine).filter_map(turn_of).collect();
    if own.is_empty() {
        return Ok(());
    }
    let tips: Vec<Hash> = snapshot.closed_tips().take(HORIZON).collect();
    let mut known = builder.store().touches(snapshot.session, &tips)?;
    let past: Vec<Touches> = tips.iter().map(|tip| known.remove(tip).unwrap_or_default()).collect();
    let clusters: Vec<Option<ClusterId>> = past.iter().map(|touches| touches.cluster).collect();
    for turn in turns {
        let Atom::Turn { user, .. } = turn.atom else { continue };
        if own.contains(&user) {
            let of = |touches: &Touches| touches.touched.iter().find(|touch| touch.item == user).copied();
            let seen: Vec<Touch> = past.iter().map(|touches| of(touches).unwrap_or_default()).collect();
            let (whole, parts) = activation(&seen, &clusters, &snapshot.rules.policy.activation);
            let parts = parts.into_iter().filter(|(_, part)| *part != 0).map(|(name, part)| (name.to_owned(), part));
            turn.facts.alive = Scores { score: Some(whole), parts: parts.collect() };
        }
    }
    Ok(())
}

fn turn_of(mark: &Mark) -> Option<Hash> {
    match mark.target {
        Atom::Turn { user, .. } => Some(user),
        _ => None,
    }
}

/// Returns the relation of the turn that begins at a path position to the branch's tasks; the newest task that contains
/// it counts.
fn task_relation(snapshot: &Snapshot, at: usize) -> TaskRelation {
    let held = snapshot.tasks.iter().rev().find(|(from, to, _)| (*from..*to).contains(&at));
    held.map_or(TaskRelation::None, |(_, _, done)| if *done { TaskRelation::Done } else { TaskRelation::Running })
}

/// Returns the seconds between a message and the newest one on its path.
fn age(now: i64, head: &NodeHead) -> u64 {
    u64::try_from(now.saturating_sub(head.at)).unwrap_or(0) / 1_000
}

/// Returns the messages of a turn that are sent by default.
fn sendable(turn: &TurnHeads) -> impl Iterator<Item = &NodeHead> {
    turn.heads.iter().filter(|head| send_barrier(head, false).is_none())
}

/// Reads the messages that are not cached yet, in batches.
fn read_terms(builder: &mut InputBuilder, heads: &[&NodeHead], spec: &Adaptive) -> Result<(), Failure> {
    let missing: Vec<&NodeHead> =
        heads.iter().filter(|head| !builder.facts.by_message.contains_key(&head.key)).copied().collect();
    for batch in missing.chunks(BATCH) {
        builder.fetch(batch)?;
        for head in batch {
            let content = builder.cached_content(head.key).unwrap_or_default();
            builder.facts.by_message.insert(head.key, Arc::new(MessageTerms::of(head.role, &content, spec)));
        }
    }
    Ok(())
}

/// Returns the terms of a turn, sorted and without duplicates.
fn terms_of(builder: &InputBuilder, turn: &TurnHeads) -> Vec<u64> {
    let cached = sendable(turn).filter_map(|head| builder.facts.by_message.get(&head.key));
    let mut terms: Vec<u64> = cached.flat_map(|message| message.terms.iter().copied()).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}
