//! The code of a turn's later rounds: the map, the marked symbols, and the touchpoints of the round before, in the same
//! bytes and order, so that a server can use its cached prefix. Nothing is searched again.
//! Not for: the first round (`code`), or the code of earlier turns (`code_history`).

use crate::code::find::cards::Sources as _;
use crate::domain::base::hash::Hash;
use crate::domain::conversation::mark::{Actor, Atom};
use crate::domain::planning::input::{Block, Candidate, Offer, OmittedItem};
use crate::domain::planning::plan::Row;
use crate::domain::planning::policy::Section;
use crate::engine::indexing::code_workspace::{CodeWorkspace, WorkspaceFiles};
use crate::engine::plans::input_builder::BuiltInput;
use crate::engine::plans::snapshot::{RoundBefore, Snapshot};
use std::path::Path;

/// Returns the block of a marked symbol as the round before sent it; `None` if it did not, or the mark has changed.
pub(crate) fn marked(round: &RoundBefore, atom: Atom, section: Section) -> Option<Block> {
    let was_sent = |row: &Row| row.atom == atom && row.section() == Some(section);
    if !round.plan.included().any(was_sent) {
        return None;
    }
    let same = |old: &&Block| old.atom == Some(atom) && old.section == section;
    round.contents.code_parts.marked.iter().find(same).cloned()
}

/// Offers the map and the touchpoints that the round before sent, and repeats the rows of what it left out. Symbols that
/// a person marked since then are left to their marks.
pub(crate) fn repeat(round: &RoundBefore, snapshot: &Snapshot, book: &CodeWorkspace, found: &mut BuiltInput) {
    let parts = &round.contents.code_parts;
    let is_marked =
        |atom: Option<Atom>| snapshot.marks.iter().any(|mark| Some(mark.target) == atom && mark.by != Actor::Engine);
    for (offer, is_map) in [(&parts.map, true), (&parts.touchpoints, false)] {
        let Some(offer) = offer.as_ref().filter(|_| !(is_map && excludes_map(snapshot))) else { continue };
        let mine = |one: &&Candidate| is_map || !is_marked(one.block.atom);
        let candidates = offer.candidates.iter().filter(mine).filter_map(|one| as_sent(round, one)).collect();
        let again = Offer { candidates, ..offer.clone() };
        if again.candidates.is_empty() {
            continue;
        }
        let texts = again.candidates.iter().flat_map(|one| one.texts).map(|(text, _)| text);
        for text in texts.chain(again.heading.iter().map(|heading| heading.text)) {
            copy_text(round, text, found);
        }
        let mut shown = again.clone();
        shown.candidates.iter_mut().for_each(|one| note_change(&mut one.block, book));
        let kept = &mut found.contents.code_parts;
        *(if is_map { &mut kept.map } else { &mut kept.touchpoints }) = Some(again);
        found.offer(shown);
    }
    let left = |near: &&OmittedItem| !is_marked(Some(near.atom));
    let near: Vec<OmittedItem> = parts.near.iter().filter(left).cloned().collect();
    found.input.near.extend(near.iter().cloned());
    found.contents.code_parts.near = near;
    found.contents.code_set.clone_from(&round.contents.code_set);
}

/// Returns whether a person excluded the map.
pub(crate) fn excludes_map(snapshot: &Snapshot) -> bool {
    snapshot.marks.iter().any(|mark| mark.target == Atom::code_map() && mark.kind.excludes())
}

/// Copies a text of the round before.
pub(crate) fn copy_text(round: &RoundBefore, text: Hash, found: &mut BuiltInput) {
    if let Some(said) = round.contents.blocks.get(&text) {
        found.contents.blocks.insert(text, said.clone());
    }
}

/// Returns a candidate with the text that was sent, apart from the delimiter after the last one; `None` if it was not
/// sent.
fn as_sent(round: &RoundBefore, one: &Candidate) -> Option<Candidate> {
    let row = round
        .plan
        .included()
        .find(|row| Some(row.atom) == one.block.atom && row.section() == Some(one.block.section))?;
    let is_text = |alone: bool| [false, true].iter().any(|last| Some(one.text(alone, *last).0) == row.text);
    let alone = !is_text(false) && is_text(true);
    let [between, last] = [one.text(alone, false), one.text(alone, true)];
    let texts = [between, last, one.text(true, false), one.text(true, true)];
    let block = Block { text: between.0, tokens: between.1, ..one.block.clone() };
    Some(Candidate { texts, turn: None, block, ..one.clone() })
}

/// Notes in a row's title that its file changed after it was sent.
pub(crate) fn note_change(block: &mut Block, book: &CodeWorkspace) {
    let Some(code) = &block.source.code else { return };
    let now = book.look(|loaded| WorkspaceFiles(&loaded.root).text(Path::new(&code.path)).map(|text| Hash::of(&text)));
    if now.is_some_and(|now| now != Some(code.file)) {
        block.title.push_str("; its file has changed since it was sent");
    }
}
