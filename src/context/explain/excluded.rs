//! Makes the rows of items that are left out, each with its reason, and a remedy where one exists.
//! Not for: decisions (`admission`), rows of included items (`explain`), or what a remedy would change: only a plan with
//! it says so (`engine::plans::preview`).

use crate::context::admission::admit::{Admitted, AllowanceUse, admit_with};
use crate::context::admission::choose;
use crate::context::admission::forms::{Marks, cost_in, turn_cost};
use crate::context::admission::position::RowPosition;
use crate::context::admission::window::Window;
use crate::context::explain::{block_row, empty_row, is_optional, items};
use crate::domain::base::Hash;
use crate::domain::conversation::{Atom, LeaseTurns, MarkKind, Role};
use crate::domain::planning::row_reason::part_name;
use crate::domain::planning::{
    Block, Form, Gap, InactiveMark, MessageInput, OmittedItem, PlanInput, Reason, Remedy, Row, RowKind, SendBarrier,
    Source, TurnInput, Verdict,
};
use std::collections::HashSet;

/// Turns that are listed one by one before older ones share a row.
const LISTED: usize = 100;
/// Estimates for a card that does not exist yet: tokens of its label and delimiters, and of the speaker's name before
/// each message.
const CARD: u32 = 64;
const SPEAKER: u32 = 4;

/// Makes the rows of everything that is left out, newest first.
pub(in crate::context) fn rows(admitted: &Admitted<'_>) -> Vec<Row> {
    let input = admitted.input;
    let mut rows: Vec<Row> = input.inactive_marks.iter().map(|mark| inactive_row(admitted, mark)).collect();
    let notes = input.blocks.iter().zip(&admitted.leases);
    rows.extend(notes.filter_map(|(block, place)| lease_row(admitted, block, (*place)?)));
    rows.extend(admitted.omitted_candidates().iter().chain(&input.near).map(|omitted| omitted_row(admitted, omitted)));
    rows.extend(barred(admitted, &input.open, None));
    rows.extend(left_out_messages(admitted, &input.open, None));
    rows.extend(unsupported_parts(&input.open));
    let mut listed = 0_usize;
    let mut merged: Option<Row> = None;
    for index in (0..input.turns.len()).rev() {
        merge_gaps(admitted, index + 1, &mut merged, &mut rows);
        let mut messages = barred(admitted, &input.turns[index], Some(index));
        messages.extend(left_out_messages(admitted, &input.turns[index], Some(index)));
        if !messages.is_empty() {
            rows.extend(merged.take());
        }
        rows.extend(messages);
        if admitted.places[index] == RowPosition::Window {
            rows.extend(unsupported_parts(&input.turns[index]));
        }
        if let Some(row) = mergeable_row(admitted, index).filter(|_| listed >= LISTED) {
            add(row, &mut merged, &mut rows);
            continue;
        }
        rows.extend(merged.take());
        if let Some(row) = out_row(admitted, index) {
            listed += 1;
            rows.push(row);
        }
    }
    merge_gaps(admitted, 0, &mut merged, &mut rows);
    rows.extend(merged);
    rows
}

/// Makes the rows of the turns, leases, summaries, and rules that have no room in a call whose `required` rows exceed
/// the budget, newest first.
pub(in crate::context) fn without_room(input: &PlanInput, marks: &Marks<'_>, required: &[Row]) -> Vec<Row> {
    let verdict = Verdict::Out { needed: 0, remedy: None };
    let no_room = Reason::Budget { free: 0 };
    let offered =
        input.offers.iter().filter(|offer| !offer.limit.is_of_allowance()).flat_map(|offer| &offer.candidates);
    let blocks = input.blocks.iter().filter(|block| is_optional(block)).chain(offered.map(|one| &one.block));
    let block = |block: &Block| Row { verdict: verdict.clone(), reason: no_room.clone(), ..block_row(input, block) };
    let mut rows: Vec<Row> = blocks.map(block).collect();
    let listed: HashSet<Atom> = required.iter().map(|row| row.atom).collect();
    let mut merged: Option<Row> = None;
    let others = |turn: &&TurnInput| !listed.contains(&turn.atom);
    for (at, turn) in input.turns.iter().rev().filter(others).enumerate() {
        let (Some(tokens), mark) = (sent_tokens(turn), marks.turn(turn).map(|mark| mark.kind)) else { continue };
        let reason = match mark.filter(|mark| mark.excludes()) {
            Some(mark) => Reason::UserExcluded { once: mark.once() },
            None => no_room.clone(),
        };
        let ends = turn.messages.first().zip(turn.messages.last()).map(|(first, last)| (first.key, last.key));
        match ends.filter(|_| at >= LISTED && mark.is_none()) {
            Some(ends) => add(range(ends, 1, tokens, Some(turn.number), reason), &mut merged, &mut rows),
            None => rows.push(Row { verdict: verdict.clone(), reason, tokens, pin: mark, ..empty_row(turn) }),
        }
    }
    for gap in input.gaps.iter().rev() {
        add(range(gap.range, gap.turns, gap.tokens, Some(gap.from), no_room.clone()), &mut merged, &mut rows);
    }
    rows.extend(merged);
    rows
}

fn merge_gaps(admitted: &Admitted<'_>, before: usize, merged: &mut Option<Row>, rows: &mut Vec<Row>) {
    for gap in admitted.input.gaps.iter().filter(|gap| gap.before == before) {
        add(gap_row(gap, admitted), merged, rows);
    }
}

/// Merges an older row into the open range if it has the same reason; otherwise closes the range and starts a new one.
fn add(older: Row, merged: &mut Option<Row>, rows: &mut Vec<Row>) {
    *merged = Some(match merged.take() {
        Some(newer) if newer.reason == older.reason => merge_rows(&newer, &older),
        done => {
            rows.extend(done);
            older
        }
    });
}

fn merge_rows(newer: &Row, older: &Row) -> Row {
    let ends = |row: &Row| row.atom.ends().unwrap_or_default();
    range(
        (ends(older).0, ends(newer).1),
        older.turns + newer.turns,
        older.tokens.saturating_add(newer.tokens),
        older.source.turn,
        newer.reason.clone(),
    )
}

/// Makes the row of a turn that is only too old, to be merged into a range.
fn mergeable_row(admitted: &Admitted<'_>, index: usize) -> Option<Row> {
    let turn = &admitted.input.turns[index];
    let plain = admitted.places[index] == RowPosition::Outside && admitted.marks.turn(turn).is_none();
    let tokens = sent_tokens(turn).filter(|_| plain)?;
    let first = turn.messages.first()?.key;
    let last = turn.messages.last().map_or(first, |message| message.key);
    let reason = reason_outside(admitted, index, None);
    let mergeable = !matches!(reason, Reason::TtlExpired | Reason::TooLarge);
    mergeable.then(|| range((first, last), 1, tokens, Some(turn.number), reason))
}

fn gap_row(gap: &Gap, admitted: &Admitted<'_>) -> Row {
    let lost = if gap.elsewhere { choose::other_lane(admitted.input) } else { Reason::OutsideWindow };
    let reason = admitted.summed.gap(gap).map_or(lost, |by| admitted.input.superseded(by));
    range(gap.range, gap.turns, gap.tokens, Some(gap.from), reason)
}

fn range((first, last): (Hash, Hash), turns: u32, tokens: u32, from: Option<u32>, reason: Reason) -> Row {
    let remedy = Remedy { action: "open".into(), does: "lists these turns, each of which can be included".into() };
    let verdict = Verdict::Out { needed: tokens, remedy: Some(remedy) };
    Row {
        tokens,
        title: if turns == 1 { "1 older turn".into() } else { format!("{turns} older turns") },
        source: Source { turn: from, ..Source::default() },
        turns,
        ..Row::new(Atom::Range { first, last }, RowKind::Range, verdict, reason)
    }
}

fn out_row(admitted: &Admitted<'_>, index: usize) -> Option<Row> {
    let turn = &admitted.input.turns[index];
    let tokens = sent_tokens(turn)?;
    let mark = admitted.marks.turn(turn).map(|mark| mark.kind);
    let card = card_tokens(turn);
    let include = ("include-once", "includes it in the next request");
    let (reason, (action, does)) = match admitted.places[index] {
        RowPosition::Window | RowPosition::Card(_) | RowPosition::Idle | RowPosition::Repeated => return None,
        RowPosition::Excluded { once } => {
            let undo = (if once { "exclude-once" } else { "exclude" }, "removes the exclusion");
            (Reason::UserExcluded { once }, if returns_unmarked(admitted, index) { undo } else { include })
        }
        RowPosition::NoLease { capped } => (no_lease(admitted, capped, (tokens, card)), ("pin", "pins it permanently")),
        RowPosition::Outside => (reason_outside(admitted, index, mark), include),
    };
    let whole: Vec<Form> = turn.messages.iter().map(|m| if m.bar.is_some() { Form::Out } else { m.whole }).collect();
    let mut items = items(&turn.messages, &whole);
    for item in &mut items {
        item.form = Form::Out;
    }
    let Window { start, shortened, form, .. } = admitted.window;
    let in_window = index >= start && !admitted.summed.covers(index);
    let form = if index < shortened { form } else { Form::Full };
    let needed = if in_window { turn_cost(turn, form, &admitted.marks) } else { card };
    let verdict = omitted_verdict(admitted, needed, action, does);
    Some(Row { verdict, reason, tokens, pin: mark, items, ..empty_row(turn) })
}

/// Returns whether an excluded turn would be sent if its exclusion were removed.
fn returns_unmarked(admitted: &Admitted<'_>, index: usize) -> bool {
    let input = admitted.input;
    if index < admitted.window.start || !admitted.choice.takes_itself(index) {
        return false;
    }
    let excluding = admitted.marks.turn(&input.turns[index]).map(|mark| mark.target);
    let marks = input.marks.iter().filter(|mark| Some(mark.target) != excluding).cloned().collect();
    let unmarked = PlanInput { marks, ..input.clone() };
    let then = admit_with(&unmarked, admitted.summed.clone(), AllowanceUse::Offered, admitted.most);
    then.is_ok_and(|then| then.places[index].is_sent())
}

/// Returns the tokens of a turn's messages that can be sent; `None` if there are none.
fn sent_tokens(turn: &TurnInput) -> Option<u32> {
    let sent = turn.messages.iter().filter(|message| message.bar.is_none()).map(|message| message.tokens);
    sent.reduce(u32::saturating_add)
}

/// Returns the verdict on an item that would take `tokens`.
fn omitted_verdict(admitted: &Admitted<'_>, tokens: u32, action: &str, does: &str) -> Verdict {
    let remedy = Remedy { action: action.into(), does: does.into() };
    Verdict::Out { needed: tokens.saturating_sub(admitted.free()), remedy: Some(remedy) }
}

/// Returns the tokens of a turn's card: exact for marked turns, else an upper estimate. Tool results are not part of
/// it.
fn card_tokens(turn: &TurnInput) -> u32 {
    let sent = turn.messages.iter().filter(|message| message.bar.is_none() && message.role != Role::Tool);
    let costs = sent.map(|message| message.elided.unwrap_or(message.tokens).saturating_add(SPEAKER));
    turn.card.map_or_else(|| costs.fold(CARD, u32::saturating_add), |(_, tokens)| tokens)
}

fn no_lease(admitted: &Admitted<'_>, capped: bool, (tokens, needed): (u32, u32)) -> Reason {
    let free = admitted.free_beside_framing();
    if capped { Reason::LeaseCap { cap: admitted.lease_cap } } else { no_room(free, tokens, needed) }
}

/// Returns the reason with the tokens that are free for an item, without the tokens that it needs beyond its own.
fn no_room(free: u32, tokens: u32, needed: u32) -> Reason {
    Reason::Budget { free: free.saturating_sub(needed.saturating_sub(tokens)) }
}

fn reason_outside(admitted: &Admitted<'_>, index: usize, mark: Option<MarkKind>) -> Reason {
    let shortest = if admitted.input.policy.shorten_tools { Form::Elided } else { Form::Full };
    let turn = &admitted.input.turns[index];
    let tokens = turn_cost(turn, shortest, &admitted.marks);
    if matches!(mark, Some(MarkKind::Leased { turns: LeaseTurns::Ended })) {
        Reason::TtlExpired
    } else if let Some(by) = admitted.summed.by[index] {
        admitted.input.superseded(by)
    } else if tokens > admitted.input.budget.prompt {
        Reason::TooLarge
    } else if let Some(reason) = admitted.choice.reason(index) {
        // What precedes an anchored window is left out, even if the target would hold it.
        let precedes = admitted.input.policy.anchored && index < admitted.window.start;
        if precedes && matches!(reason, Reason::SoftTarget { .. }) { Reason::OutsideWindow } else { reason.clone() }
    } else if index >= admitted.window.floor && tokens > admitted.free() {
        no_room(admitted.free(), sent_tokens(turn).unwrap_or(0), tokens)
    } else if index >= admitted.window.floor && admitted.most.is_some() {
        Reason::SummaryLimit
    } else {
        Reason::OutsideWindow
    }
}

/// Returns a leased text that is not sent: a summary that is not used, a text that a turn repeats, or one without room.
fn lease_row(admitted: &Admitted<'_>, block: &Block, place: RowPosition) -> Option<Row> {
    if place == RowPosition::Idle {
        let input = admitted.input;
        let room = (admitted.free(), &input.budget);
        return admitted.summed.row(block_row(input, block), room, &input.summaries);
    }
    if place == RowPosition::Repeated {
        let remedy = Remedy { action: "pin".into(), does: "pins it".into() };
        let verdict = Verdict::Out { needed: 0, remedy: Some(remedy) };
        return Some(Row {
            verdict,
            reason: Reason::Duplicate,
            tokens: 0,
            text: None,
            ..block_row(admitted.input, block)
        });
    }
    let RowPosition::NoLease { capped } = place else { return None };
    let verdict = omitted_verdict(admitted, block.tokens, "pin", "pins it permanently");
    Some(Row {
        verdict,
        reason: no_lease(admitted, capped, (block.tokens, block.tokens)),
        ..block_row(admitted.input, block)
    })
}

/// Makes a row for each message that is not sent by default. A person can include some of these in the window and in
/// the open turn, but none if their turn is left out.
fn barred(admitted: &Admitted<'_>, turn: &TurnInput, index: Option<usize>) -> Vec<Row> {
    let is_included = index.is_none_or(|index| admitted.places[index] == RowPosition::Window);
    let row = |message: &MessageInput| -> Option<Row> {
        let (reason, may) = match message.bar? {
            SendBarrier::Hidden => (Reason::Hidden, true),
            SendBarrier::Foreign => (Reason::ForeignInstructions, true),
            SendBarrier::Removed => (Reason::Removed, false),
            SendBarrier::Empty | SendBarrier::Instructions => return None,
        };
        let mark = admitted.marks.message(message.key);
        let excluded = mark.filter(|mark| may && mark.kind.excludes()).map(|mark| mark.kind.once());
        if may && is_included && admitted.marks.includes_message(message.key) {
            return None;
        }
        let verdict = if let Some(once) = excluded {
            let remedy = Remedy { action: exclusion(once).into(), does: "removes the exclusion".into() };
            Verdict::Out { needed: 0, remedy: Some(remedy) }
        } else if may && is_included {
            let form = if message.calls > 0 { Form::Elided } else { message.whole };
            let cost = cost_in(message, form);
            omitted_verdict(admitted, cost, "include-once", "includes it in the next request")
        } else {
            Verdict::Out { needed: 0, remedy: None }
        };
        Some(Row {
            tokens: message.tokens,
            title: message.title.clone(),
            source: source_of(turn, message),
            pin: mark.map(|mark| mark.kind),
            ..Row::new(
                Atom::Message { node: message.key },
                RowKind::Message,
                verdict,
                excluded.map_or(reason, |once| Reason::UserExcluded { once }),
            )
        })
    };
    turn.messages.iter().filter_map(row).collect()
}

/// Returns the action that removes an exclusion.
fn exclusion(once: bool) -> &'static str {
    if once { "exclude-once" } else { "exclude" }
}

/// Returns the source of a message of a turn. The source of the turn names its first message.
fn source_of(turn: &TurnInput, message: &MessageInput) -> Source {
    let is_first = turn.source.message == message.node;
    let external_id = turn.source.external_id.clone().filter(|_| is_first);
    Source { message: message.node, external_id, ..turn.source.clone() }
}

/// Makes a row for each message that a person left out of a turn that is sent. An episode is left out with its results.
fn left_out_messages(admitted: &Admitted<'_>, turn: &TurnInput, index: Option<usize>) -> Vec<Row> {
    let place = index.map(|index| admitted.places[index]);
    if !matches!(place, None | Some(RowPosition::Window | RowPosition::Card(_))) {
        return Vec::new();
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut is_in_episode = false;
    for message in turn.messages.iter().filter(|message| message.bar.is_none()) {
        let is_result = message.role == Role::Tool && !message.orphan;
        is_in_episode &= is_result;
        let mark = admitted.marks.message(message.key).filter(|mark| mark.kind.excludes());
        let listed = |omitted: &OmittedItem| mark.is_some_and(|mark| mark.target == omitted.atom);
        if let Some(row) = rows.last_mut().filter(|_| is_in_episode) {
            row.tokens = row.tokens.saturating_add(message.tokens);
        } else if let Some(mark) = mark.filter(|_| !admitted.input.near.iter().any(listed)) {
            is_in_episode = matches!(mark.target, Atom::Episode { .. });
            let (once, saved) = (mark.kind.once(), message.tokens.saturating_sub(message.placeholder));
            let verdict = omitted_verdict(admitted, saved, exclusion(once), "removes the exclusion");
            let name = part_name(message.role);
            let of = if turn.number == 0 { String::new() } else { format!(" of turn {}", turn.number) };
            rows.push(Row {
                tokens: message.tokens,
                title: format!("{name}{of}: {}", message.title),
                source: source_of(turn, message),
                pin: Some(mark.kind),
                ..Row::new(mark.target, RowKind::Message, verdict, Reason::UserExcluded { once })
            });
        }
    }
    rows
}

/// Returns the row of a retrieved or retrievable item that is left out.
fn omitted_row(admitted: &Admitted<'_>, omitted: &OmittedItem) -> Row {
    let budget = admitted.input.budget.remedy();
    // Rules are admitted if there is room; a mark that includes them makes no room.
    let is_out_of_room = matches!(omitted.kind, RowKind::Rules | RowKind::Skills | RowKind::Module)
        && matches!(omitted.reason, Reason::Budget { .. });
    let (action, does) = if is_out_of_room { budget } else { (omitted.remedy.0.as_str(), omitted.remedy.1.as_str()) };
    let suggested = matches!(
        omitted.reason,
        Reason::SuggestedByModel | Reason::SuggestedByRating | Reason::SuggestedByRenewals { .. }
    );
    let verdict = if suggested { Verdict::Suggested } else { omitted_verdict(admitted, omitted.tokens, action, does) };
    Row {
        tokens: omitted.tokens,
        title: omitted.title.clone(),
        source: omitted.source.clone(),
        pin: admitted.input.marks.iter().find(|mark| mark.target == omitted.atom).map(|mark| mark.kind),
        scores: omitted.scores.clone(),
        ..Row::new(omitted.atom, omitted.kind, verdict, omitted.reason.clone())
    }
}

/// Returns the rows of the parts of included messages that no request can carry.
fn unsupported_parts(turn: &TurnInput) -> impl Iterator<Item = Row> {
    let messages = turn.messages.iter().filter(|message| message.bar.is_none());
    let verdict = Verdict::Out { needed: 0, remedy: None };
    messages.flat_map(|message| &message.parts).map(move |part| Row {
        title: part.title.clone(),
        source: turn.source.clone(),
        ..Row::new(Atom::Section { text: part.atom }, RowKind::Part, verdict.clone(), Reason::ModelCannot)
    })
}

fn inactive_row(admitted: &Admitted<'_>, mark: &InactiveMark) -> Row {
    let tokens = mark.tokens.saturating_add(CARD);
    let verdict = omitted_verdict(admitted, tokens, "include-once", "quotes it in the next request");
    Row {
        tokens: mark.tokens,
        title: mark.title.clone(),
        source: mark.source.clone(),
        pin: Some(mark.mark.kind),
        turns: 1,
        ..Row::new(mark.mark.target, RowKind::Turn, verdict, Reason::OffPath)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_rows_with_one_reason_are_merged() {
        use Reason::{OtherLane, OutsideWindow};
        let key = |n: u32| Hash::of(&n.to_le_bytes());
        let (mut merged, mut rows) = (None, Vec::new());
        for (n, reason) in [(5, OutsideWindow), (4, OutsideWindow), (3, OtherLane), (2, OutsideWindow)] {
            add(range((key(n), key(n)), 1, n, Some(n), reason), &mut merged, &mut rows);
        }
        rows.extend(merged);
        let listed: Vec<_> =
            rows.iter().map(|row| (row.turns, row.tokens, row.source.turn, row.reason.name())).collect();
        let (outside, other) = (OutsideWindow.name(), OtherLane.name());
        assert_eq!(listed, [(2, 9, Some(4), outside), (1, 3, Some(3), other), (1, 2, Some(2), outside)]);
        assert_eq!(rows[0].atom, Atom::Range { first: key(4), last: key(5) });
    }
}
