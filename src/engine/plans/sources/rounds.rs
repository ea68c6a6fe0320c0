//! The later rounds of a turn: they repeat the turns that the policy chose, the map, the marked symbols, the
//! touchpoints, the older messages, and the error pairs of the previous round in the same bytes and order, so that a
//! server can use its cached prefix. Items that only a later round sends (rules of a folder that a tool touched, an
//! error that recurs) come after the results.
//! Not for: the first round (the other sources), or the code of earlier turns (`code_history`).

use super::code_rows::near_excluded;
use super::sent_lines::excluded;
use crate::code::find::cards::{SentLines, Sources as _};
use crate::domain::base::{Hash, NodeId};
use crate::domain::code::CodeRef;
use crate::domain::conversation::{Atom, Mark};
use crate::domain::planning::Reason;
use crate::domain::planning::{
    Block, Candidate, Form, Item, Offer, OmittedItem, Preceding, Row, RowKind, Section, TurnBefore, Verdict,
};
use crate::engine::indexing::code_workspace::{CodeWorkspace, WorkspaceFiles};
use crate::engine::plans::input_builder::BuiltInput;
use crate::engine::plans::snapshot::{RoundBefore, Snapshot};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// Returns the policy's decisions about closed turns in the previous round; `None` if another policy decided. Turns in
/// the window stay there, regardless of their marks, and so do turns that only an exclusion or a summary kept out.
/// Turns that were sent as cards stay outside.
pub(crate) fn turns(round: &RoundBefore, policy: &str) -> Option<Vec<TurnBefore>> {
    let decided = |row: &Row| {
        let sent = match (&row.verdict, &row.reason) {
            (Verdict::In { section: Section::Recent }, _)
            | (Verdict::Out { .. }, Reason::UserExcluded { .. } | Reason::Superseded { .. }) => Ok(tool_form(row)),
            (Verdict::Out { .. }, reason) => Err(reason.clone()),
            (Verdict::In { .. } | Verdict::Suggested, _) => return None,
        };
        let is_turn = matches!(row.atom, Atom::Turn { .. } | Atom::Preamble { .. });
        let (relevant, in_window) = (row.reason == Reason::Relevant, row.section() == Some(Section::Recent));
        is_turn.then_some(TurnBefore { atom: row.atom, sent, relevant, in_window })
    };
    (round.plan.policy == policy).then(|| round.plan.rows.iter().filter_map(decided).collect())
}

/// Returns the form in which a row's tool results were sent.
fn tool_form(row: &Row) -> Form {
    let shortened = |item: &Item| match item.form {
        Form::Elided => 2,
        Form::Cut(_) => 1,
        Form::Full | Form::NoState | Form::Gone | Form::Placeholder | Form::Card | Form::Out => 0,
    };
    row.items
        .iter()
        .max_by_key(|item| shortened(item))
        .filter(|item| shortened(item) > 0)
        .map_or(Form::Full, |item| item.form)
}

/// Returns whether a round asked the model for a state block.
pub(crate) fn asks_for_state(round: &RoundBefore) -> bool {
    round.plan.included().any(|row| matches!(row.reason, Reason::StateRequested { .. }))
}

/// Returns the section of an item that this round sends and the previous round did not. In a later round, the item
/// comes after the results, unless the model accepts no user message there.
pub(crate) fn section(snapshot: &Snapshot, first: Section) -> Section {
    let is_later = snapshot.round_before.is_some() && !snapshot.rules.profile.dialect.strict_alternation;
    if is_later { Section::DuringTurn } else { first }
}

/// Returns the section and text of an item in the previous round; `None` if that round did not send it.
pub(crate) fn text_before(snapshot: &Snapshot, atom: Atom) -> Option<(Section, Arc<str>)> {
    let round = snapshot.round_before.as_ref()?;
    let row = round.plan.included().find(|row| row.atom == atom)?;
    Some((row.section()?, round.contents.blocks.get(&row.text?)?.clone()))
}

/// Returns the block of a marked symbol as the previous round sent it; `None` if it did not, or the mark has changed.
pub(crate) fn marked(round: &RoundBefore, atom: Atom, section: Section) -> Option<Block> {
    let was_sent = |row: &Row| row.atom == atom && row.section() == Some(section);
    if !round.plan.included().any(was_sent) {
        return None;
    }
    let same = |old: &&Block| old.atom == Some(atom) && old.section == section;
    let sent = round.contents.round_parts.marked.iter().find(same)?;
    Some(Block { repeats: Vec::new(), ..sent.clone() })
}

/// Offers the map and the touchpoints that the previous round sent, and repeats the rows of the code that it left out.
/// The marks decide about symbols that a person marked since then.
pub(crate) fn repeat_code(round: &RoundBefore, snapshot: &Snapshot, workspace: &CodeWorkspace, found: &mut BuiltInput) {
    let parts = &round.contents.round_parts;
    let map = parts.map.as_ref().filter(|_| !excludes_map(snapshot));
    if let Some(map) = map.and_then(|map| sent_again(round, map, &|_| true)) {
        found.contents.round_parts.map = Some(map.clone());
        offer(round, as_noted(map, workspace), found);
    }
    let excluded = excluded_since(round, snapshot, workspace);
    let is_excluded = |code: &CodeRef| excluded.first_in(&code.path, code.lines).is_some();
    let code_of = |one: &Candidate| one.block.source.code.as_deref().filter(|code| is_excluded(code)).cloned();
    let unmarked = |one: &Candidate| !is_decided(snapshot, one.block.atom) && code_of(one).is_none();
    if let Some(touchpoints) = parts.touchpoints.as_ref().and_then(|offer| sent_again(round, offer, &unmarked)) {
        found.contents.round_parts.touchpoints = Some(touchpoints.clone());
        offer(round, as_noted(touchpoints, workspace), found);
    }
    let left = |near: &OmittedItem| !is_decided(snapshot, Some(near.atom));
    let near = parts.near.iter().cloned();
    let near = near.chain(parts.touchpoints.as_ref().map(|offer| left_out(round, offer)).unwrap_or_default());
    let again = parts.touchpoints.iter().flat_map(|offer| &offer.candidates).filter(|one| !one.extends);
    let again = again.filter(|one| as_sent(round, one).is_some()).filter_map(code_of);
    let again = again.map(near_excluded);
    let near: Vec<OmittedItem> = near.chain(again).filter(left).collect();
    found.input.near.extend(near.iter().cloned());
    found.contents.round_parts.near = near;
    found.contents.code_set.clone_from(&round.contents.code_set);
}

/// Returns the lines that a person excluded since the previous round.
fn excluded_since(round: &RoundBefore, snapshot: &Snapshot, workspace: &CodeWorkspace) -> SentLines {
    let is_new = |mark: &&Mark| {
        let is_excluded = |row: &Row| row.atom == mark.target && matches!(row.reason, Reason::UserExcluded { .. });
        !round.plan.excluded().any(is_excluded)
    };
    let since: Vec<&Mark> = snapshot.marks.iter().filter(is_new).collect();
    workspace.look(|loaded| excluded(&loaded.index, since)).unwrap_or_default()
}

/// Offers the older messages that the previous round sent, and repeats the rows of the messages that it left out. The
/// marks decide about messages that a person marked since then.
pub(crate) fn repeat_cards(round: &RoundBefore, snapshot: &Snapshot, found: &mut BuiltInput) {
    let parts = &round.contents.round_parts;
    let cards = parts.cards.as_ref();
    if let Some(cards) = cards.and_then(|cards| sent_again(round, cards, &|one| is_free(snapshot, one))) {
        found.contents.round_parts.cards = Some(cards.clone());
        offer(round, cards, found);
    }
    let left = |near: &OmittedItem| !is_decided(snapshot, Some(near.atom));
    let near = parts.near_cards.iter().cloned().chain(cards.map(|cards| left_out(round, cards)).unwrap_or_default());
    let near: Vec<OmittedItem> = near.filter(left).collect();
    found.input.near.extend(near.iter().cloned());
    found.contents.round_parts.near_cards = near;
    found.input.retrieval_set_ids.extend(round.contents.sets.iter().map(|set| set.id));
    found.contents.sets.clone_from(&round.contents.sets);
}

/// Returns whether the previous round sent older messages that contain all of these.
pub(crate) fn sends_messages(round: &RoundBefore, ids: &[Option<NodeId>]) -> bool {
    let sent: Vec<_> = round.plan.included().filter(|row| matches!(row.reason, Reason::Retrieved { .. })).collect();
    ids.iter().all(|id| id.is_some() && sent.iter().any(|row| row.source.message == *id))
}

/// Offers the error pairs that the previous round sent.
pub(crate) fn repeat_error_pairs(round: &RoundBefore, snapshot: &Snapshot, found: &mut BuiltInput) {
    for pair in &round.contents.round_parts.error_pairs {
        let both = pair.candidates.iter().all(|one| is_free(snapshot, one));
        if let Some(pair) = sent_again(round, pair, &|_| both) {
            found.contents.round_parts.error_pairs.push(pair.clone());
            offer(round, pair, found);
        }
    }
}

/// Returns whether a person has decided about an item by a mark.
fn is_decided(snapshot: &Snapshot, atom: Option<Atom>) -> bool {
    snapshot.marks.iter().any(|mark| Some(mark.target) == atom && mark.is_decision())
}

/// Returns whether a person has decided neither about a candidate nor about its turn.
fn is_free(snapshot: &Snapshot, one: &Candidate) -> bool {
    !is_decided(snapshot, one.block.atom) && (one.turn.is_none() || !is_decided(snapshot, one.turn))
}

/// Returns the part of an offer that the previous round sent; `None` if it sent nothing.
fn sent_again(round: &RoundBefore, offer: &Offer, stays: &dyn Fn(&Candidate) -> bool) -> Option<Offer> {
    let stay = offer.candidates.iter().filter(|one| stays(one));
    let candidates: Vec<Candidate> = stay.filter_map(|one| as_sent(round, one)).collect();
    (!candidates.is_empty()).then(|| Offer { candidates, others: Vec::new(), ..offer.clone() })
}

/// Returns the rows of an offer's items that the previous round left out.
fn left_out(round: &RoundBefore, offer: &Offer) -> Vec<OmittedItem> {
    let remedy = |row: &Row| match &row.verdict {
        Verdict::Out { remedy: Some(remedy), .. } => (remedy.action.clone(), remedy.does.clone()),
        Verdict::Out { remedy: None, .. } | Verdict::In { .. } | Verdict::Suggested => Default::default(),
    };
    let blocks = offer.candidates.iter().filter(|one| !one.extends).map(|one| &one.block);
    let of_blocks = offer.heading.iter().chain(blocks).filter_map(|block| Some((block.atom?, block.kind)));
    let of_others = offer.others.iter().map(|other| (other.atom, other.kind));
    let items: HashSet<(Atom, RowKind)> = of_blocks.chain(of_others).collect();
    let rows = round.plan.excluded().filter(|row| items.contains(&(row.atom, row.kind)));
    let item = |row: &Row| OmittedItem {
        atom: row.atom,
        kind: row.kind,
        title: row.title.clone(),
        tokens: row.tokens,
        reason: row.reason.clone(),
        remedy: remedy(row),
        source: row.source.clone(),
        scores: row.scores.clone(),
    };
    rows.map(item).collect()
}

/// Returns an offer of code that is sent regardless of which turns are sent, with notes on files that have changed.
fn as_noted(mut offer: Offer, workspace: &CodeWorkspace) -> Offer {
    for one in &mut offer.candidates {
        one.turn = None;
        note_change(&mut one.block, workspace);
    }
    offer
}

/// Adds an offer with the texts of the previous round.
fn offer(round: &RoundBefore, offer: Offer, found: &mut BuiltInput) {
    let texts = offer.candidates.iter().flat_map(|one| one.texts).map(|(text, _)| text);
    for text in texts.chain(offer.heading.iter().map(|heading| heading.text)) {
        copy_text(round, text, found);
    }
    found.offer(offer);
}

/// Returns whether a person excluded the map.
pub(crate) fn excludes_map(snapshot: &Snapshot) -> bool {
    snapshot.marks.iter().any(|mark| mark.target == Atom::code_map() && mark.kind.excludes())
}

/// Copies a text of the previous round.
pub(crate) fn copy_text(round: &RoundBefore, text: Hash, found: &mut BuiltInput) {
    if let Some(block) = round.contents.blocks.get(&text) {
        found.contents.blocks.insert(text, block.clone());
    }
    if let Some(settings) = round.contents.card_settings.get(&text) {
        found.contents.card_settings.insert(text, settings.clone());
    }
}

/// Returns a candidate with the text that was sent, apart from the delimiter after the last one; `None` if it was not
/// sent.
fn as_sent(round: &RoundBefore, one: &Candidate) -> Option<Candidate> {
    let row = round
        .plan
        .included()
        .find(|row| Some(row.atom) == one.block.atom && row.section() == Some(one.block.section))?;
    let is_text = |after: &Preceding| [false, true].iter().any(|last| Some(one.text(*after, *last).0) == row.text);
    let after = Preceding::ALL.into_iter().find(is_text)?;
    let [between, last] = [one.text(after, false), one.text(after, true)];
    let texts = [between, last, between, last, between, last];
    let block = Block { text: between.0, tokens: between.1, ..one.block.clone() };
    Some(Candidate { block, texts, extends: false, ..one.clone() })
}

/// Notes in a row's title that its file changed after it was sent.
pub(crate) fn note_change(block: &mut Block, workspace: &CodeWorkspace) {
    let Some(code) = &block.source.code else { return };
    let now =
        workspace.look(|loaded| WorkspaceFiles(&loaded.root).text(Path::new(&code.path)).map(|text| Hash::of(&text)));
    if now.is_some_and(|now| now != Some(code.file)) {
        block.title.push_str("; its file has changed since it was sent");
    }
}
