//! The framing of a request apart from that of its turns: messages that only some items need, and the label of the user
//! message. Admission reserves it for every item that may be sent, so that it never pushes a request over the budget.
//! Not for: the framing of turns (`sums`).

use super::admit::Admitted;
use super::coverage::SummaryCoverage;
use super::forms::{Marks, is_lease};
use super::position::RowPosition;
use crate::context::render::{TextPlace, text_place};
use crate::domain::conversation::{MarkKind, Role};
use crate::domain::planning::input::{ANSWER_FRAMING, MESSAGE_FRAMING};
use crate::domain::planning::{Block, PlanInput, RowKind, Section};

/// The framing that admission reserves.
#[derive(Clone, Copy, Default)]
pub(super) struct Reserved {
    /// For required items alone.
    pub(super) required: u32,
    /// For everything that may be sent.
    pub(super) all: u32,
}

impl Reserved {
    pub(super) fn new(input: &PlanInput, marks: &Marks<'_>, summed: &SummaryCoverage) -> Self {
        let sent = || input.blocks.iter().filter(|block| !summed.omits(block));
        let marked = input.turns.iter().filter_map(|turn| marks.turn(turn).map(|mark| mark.kind));
        let marked: Vec<MarkKind> = marked.filter(|kind| kind.includes()).collect();
        let card = |kind: &MarkKind| match kind {
            MarkKind::Sticky => (Section::StickyPins, RowKind::Card),
            _ => (Section::LeasedPins, RowKind::Card),
        };
        let is_required = |kind: &&MarkKind| matches!(kind, MarkKind::Sticky | MarkKind::IncludeOnce);
        let required = sent().filter(|block| !is_lease(block)).map(place);
        let required = required.chain(marked.iter().filter(is_required).map(card));
        let offers = input.offers.iter();
        let offered =
            offers.flat_map(|offer| offer.heading.iter().chain(offer.candidates.iter().map(|one| &one.block)));
        let all = sent().chain(offered).map(place).chain(marked.iter().map(card));
        Self { required: framing(input, required), all: framing(input, all) }
    }
}

/// Returns the tokens of the framing that an admission needs.
pub(super) fn used(admitted: &Admitted<'_>, offered: &[Block]) -> u32 {
    let input = admitted.input;
    let is_out = |place: &Option<RowPosition>| place.is_some_and(|place| !place.is_sent());
    let blocks = input.blocks.iter().zip(&admitted.leases).filter(|(_, lease)| !is_out(lease)).map(|(block, _)| block);
    let card = |place: &RowPosition| match place {
        RowPosition::Card(section) => Some((*section, RowKind::Card)),
        _ => None,
    };
    framing(input, blocks.chain(offered).map(place).chain(admitted.places.iter().filter_map(card)))
}

fn place(block: &Block) -> (Section, RowKind) {
    (block.section, block.kind)
}

/// Returns the tokens of the framing of these items, of the answer, and of the label.
fn framing(input: &PlanInput, items: impl Iterator<Item = (Section, RowKind)>) -> u32 {
    let asks = input.open.messages.iter().any(|message| message.role == Role::User && message.bar.is_none());
    let mut places: Vec<TextPlace> = Vec::new();
    for (section, kind) in items {
        let place = text_place(section, kind, input.layout);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let tokens = |place: &TextPlace| match place {
        TextPlace::UserMessage if asks => input.labeled,
        TextPlace::Turns => 0,
        TextPlace::Instructions
        | TextPlace::BeforeTurns
        | TextPlace::UserMessage
        | TextPlace::DuringTurn
        | TextPlace::Last => MESSAGE_FRAMING,
    };
    places.iter().map(tokens).fold(ANSWER_FRAMING, u32::saturating_add)
}
