//! Turns the admitted candidates into a plan: every item in exactly one row, with its tokens and its reason.
//! Not for: decisions (`admission`) or the request's bytes (`render`).
//!
//! * `excluded` makes the rows of the items that are left out.
//! * `level_facts` corrects what the policy `levels` said before admission.
//! * `blocked` describes a call whose required parts do not fit.
//! * [`variant`] changes a solved plan without solving it again: without one item, or for another model.
//! * [`cause`] determines which act caused a difference between two plans; [`transition`] describes what happened to an
//!   item.

pub(in crate::context) mod blocked;
pub mod cause;
#[cfg(test)]
pub(in crate::context) mod cause_tests;
mod excluded;
mod level_facts;
pub mod transition;
pub mod variant;

use crate::context::admission::admit::Admitted;
use crate::context::admission::choose;
use crate::context::admission::forms::{Marks, tokens_in, turn_forms};
use crate::context::admission::position::RowPosition;
use crate::context::admission::window::{Window, anchor};
use crate::context::render;
use crate::domain::base::{Fields, Hash};
use crate::domain::conversation::{Actor, Atom, LeaseTurns, Mark, MarkKind, Role};
use crate::domain::planning::level_use::level_uses;
use crate::domain::planning::{
    Block, ContextPlan, Form, Item, LevelUse, MessageInput, PlanInput, RequestShape, Row, RowKind, Section, TurnInput,
    Verdict,
};
use crate::domain::planning::{Reason, Warning};

/// Makes the plan from an admission.
pub(in crate::context) fn explain(admitted: &Admitted<'_>) -> ContextPlan {
    let input = admitted.input;
    let mut rows = included(admitted);
    let (suggested, out): (Vec<Row>, Vec<Row>) =
        excluded::rows(admitted).into_iter().partition(|row| row.verdict == Verdict::Suggested);
    rows.extend(suggested);
    rows.extend(out);
    choose::score_rows(&mut rows, input, &admitted.choice);
    add_activations(&mut rows, input);
    let (sum, framing) = measure(input, &mut rows);
    let mut plan = ContextPlan {
        id: Hash::default(),
        basis: input.basis,
        input_digest: Fields::new("basis").json(&input.basis).finish(),
        policy: input.policy.name.clone(),
        policy_version: input.policy.version,
        mode: input.mode,
        layout: input.layout,
        profile: input.profile.clone(),
        model: input.shape.model.clone(),
        encoding: input.encoding,
        certainty: input.certainty,
        budget: input.budget,
        est_total: sum + framing + input.tools_tokens,
        framing,
        tools: input.tools_tokens,
        tool_costs: input.tool_costs.clone(),
        level_budgets: admitted.choice.levels,
        rows,
        anchor: anchor(input, admitted.window, &admitted.summed.used),
        retrieval_set_ids: input.retrieval_set_ids.clone(),
        warnings: Vec::new(),
    };
    plan.warnings = warnings(input, &plan);
    let left_out: Vec<Warning> = decisions_left_out(admitted, &plan).collect();
    plan.warnings.extend(left_out);
    plan.warnings.extend(admitted.choice.warnings.iter().cloned());
    level_facts::correct(&mut plan, input);
    let over =
        |level: LevelUse| Warning::LevelOver { used: level.used, budget: level.budget.unwrap_or(0), level: level.name };
    plan.warnings.extend(level_uses(&plan).into_iter().take(2).filter(LevelUse::is_over).map(over));
    plan.id = identity(&input.shape, &plan);
    plan
}

/// Returns the tokens of the whole request.
pub(in crate::context) fn size(admitted: &Admitted<'_>) -> u32 {
    let (sum, framing) = measure(admitted.input, &mut included(admitted));
    sum + framing + admitted.input.tools_tokens
}

/// Returns the tokens of the included rows and of their framing. Adds the label's tokens to the user message where it
/// needs one.
fn measure(input: &PlanInput, rows: &mut [Row]) -> (u32, u32) {
    if render::needs_label(rows, input.layout)
        && let Some(row) = rows.iter_mut().find(|row| is_open(row))
    {
        row.tokens += input.labeled;
    }
    let messages = render::skeleton(rows, input.layout, &input.shape.dialect);
    let sum = rows.iter().filter(|row| row.included()).map(|row| row.tokens).sum();
    (sum, render::framing(&messages))
}

/// Returns the plan's id: a hash of its rows in order (atom, forms, section, reason) and of policy, layout, dialect,
/// model, parameters, and tools.
pub(in crate::context) fn identity(shape: &RequestShape, plan: &ContextPlan) -> Hash {
    let mut fields = Fields::new("plan").text(&plan.policy).number(u64::from(plan.policy_version));
    fields = fields.json(&plan.layout).json(shape);
    for row in &plan.rows {
        let forms: Vec<_> = row.items.iter().map(|item| (item.key, item.form)).collect();
        fields = fields.json(&row.atom).json(&forms).optional(row.text).json(&row.section()).text(row.reason.name());
    }
    fields.finish()
}

fn is_open(row: &Row) -> bool {
    row.section() == Some(Section::UserMessage) && row.kind == RowKind::Turn
}

/// Makes the rows of everything that is sent, in the order of the layout.
pub(in crate::context) fn included(admitted: &Admitted<'_>) -> Vec<Row> {
    let input = admitted.input;
    let offered = admitted.offered();
    let mut rows = Vec::new();
    for section in input.layout.sections() {
        let is_sent = |(_, place): &(&Block, &Option<RowPosition>)| {
            !matches!(place, Some(RowPosition::NoLease { .. } | RowPosition::Idle | RowPosition::Repeated))
        };
        let blocks = input.blocks.iter().zip(&admitted.leases).filter(is_sent).map(|(block, _)| block);
        let blocks = blocks.filter(|block| block.section == *section);
        if *section != Section::UserMessage {
            let offered = offered.iter().filter(|block| block.section == *section);
            rows.extend(blocks.clone().chain(offered).map(|block| block_row(input, block)));
        }
        match section {
            Section::StickyPins | Section::LeasedPins => rows.extend(cards(admitted, *section)),
            Section::Recent => rows.extend(window(admitted)),
            Section::UserMessage => {
                rows.push(open_row(input, &admitted.open));
                rows.extend(blocks.map(|block| block_row(input, block)));
            }
            Section::System
            | Section::Personality
            | Section::Guidelines
            | Section::State
            | Section::SessionSummary
            | Section::LaneSummary
            | Section::Orientation
            | Section::Retrieved
            | Section::QuotedReply
            | Section::DuringTurn => {}
        }
    }
    rows
}

/// Returns the rows of required items, for a call that is blocked: pinned turns are cards, or part of `window` where
/// that takes fewer tokens.
pub(in crate::context) fn required_rows(
    input: &PlanInput,
    marks: &Marks<'_>,
    window: Window,
    open: &[Form],
) -> Vec<Row> {
    let required = input.blocks.iter().filter(|block| !is_optional(block));
    let mut rows: Vec<Row> = required.map(|block| block_row(input, block)).collect();
    rows.extend(input.turns[..window.start].iter().filter_map(|turn| match marks.turn(turn)?.kind {
        MarkKind::Sticky => Some(card_row(turn, marks, Section::StickyPins, MarkKind::Sticky)),
        MarkKind::IncludeOnce => Some(card_row(turn, marks, Section::LeasedPins, MarkKind::IncludeOnce)),
        MarkKind::Leased { .. } | MarkKind::Ephemeral | MarkKind::Exclude | MarkKind::ExcludeOnce => None,
    }));
    let in_window = input.turns[window.start..].iter();
    rows.extend(
        in_window
            .filter(|turn| !marks.turn(turn).is_some_and(|mark| mark.kind.excludes()))
            .filter_map(|turn| window_row(turn, &turn_forms(turn, window.form, marks), marks, Reason::Recent)),
    );
    rows.push(open_row(input, open));
    rows
}

/// Whether a block is left out before a call is blocked.
fn is_optional(block: &Block) -> bool {
    matches!(block.reason, Reason::Leased { .. } | Reason::Ephemeral | Reason::Summary)
}

pub(in crate::context) fn block_row(input: &PlanInput, block: &Block) -> Row {
    let atom = block.atom.unwrap_or(Atom::Section { text: block.text });
    Row {
        tokens: block.tokens,
        title: block.title.clone(),
        source: block.source.clone(),
        pin: input.marks.iter().find(|mark| Some(mark.target) == block.atom).map(|mark| mark.kind),
        text: Some(block.text),
        scores: block.scores.clone(),
        ..Row::new(atom, block.kind, Verdict::In { section: block.section }, block.reason.clone())
    }
}

fn cards(admitted: &Admitted<'_>, section: Section) -> impl Iterator<Item = Row> {
    let turns = admitted.input.turns.iter().zip(&admitted.places);
    turns.filter(move |(_, place)| **place == RowPosition::Card(section)).map(move |(turn, _)| {
        let kind = admitted.marks.turn(turn).map_or(MarkKind::IncludeOnce, |mark| mark.kind);
        card_row(turn, &admitted.marks, section, kind)
    })
}

/// Returns a turn as a card, without the messages that a person excluded.
fn card_row(turn: &TurnInput, marks: &Marks<'_>, section: Section, kind: MarkKind) -> Row {
    let is_sendable = |message: &MessageInput| message.bar.is_none() && !marks.excludes_message(message.key);
    let forms: Vec<Form> = turn.messages.iter().map(|m| if is_sendable(m) { Form::Card } else { Form::Out }).collect();
    let reason = match kind {
        MarkKind::Sticky => Reason::Sticky,
        MarkKind::Leased { turns } => Reason::Leased { left: turns.into(), engine: by_engine(marks.turn(turn)) },
        MarkKind::Ephemeral => Reason::Ephemeral,
        MarkKind::IncludeOnce | MarkKind::Exclude | MarkKind::ExcludeOnce => Reason::IncludedOnce,
    };
    Row {
        kind: RowKind::Card,
        verdict: Verdict::In { section },
        reason,
        tokens: turn.card.map_or(0, |(_, tokens)| tokens),
        pin: Some(kind),
        items: items(&turn.messages, &forms),
        text: turn.card.map(|(text, _)| text),
        ..empty_row(turn)
    }
}

fn window(admitted: &Admitted<'_>) -> Vec<Row> {
    let turns = admitted.input.turns.iter().enumerate().zip(&admitted.places);
    turns
        .filter(|(_, place)| **place == RowPosition::Window)
        .filter_map(|((index, turn), _)| {
            window_row(turn, &admitted.forms(index), &admitted.marks, admitted.choice.takes(index))
        })
        .collect()
}

/// Makes the row of a turn in the window, with `reason` unless a mark keeps it; `None` if nothing of it is sent.
fn window_row(turn: &TurnInput, forms: &[Form], marks: &Marks<'_>, reason: Reason) -> Option<Row> {
    let own = marks.turn(turn).or_else(|| marks.including_mark(turn));
    let mark = own.map(|mark| mark.kind);
    let reason = match mark {
        Some(MarkKind::Sticky) => Reason::Sticky,
        Some(MarkKind::Leased { turns: LeaseTurns::Left(turns) }) => {
            Reason::Leased { left: turns.get(), engine: by_engine(own) }
        }
        Some(MarkKind::Ephemeral) => Reason::Ephemeral,
        Some(MarkKind::IncludeOnce) => Reason::IncludedOnce,
        Some(MarkKind::Leased { turns: LeaseTurns::Ended } | MarkKind::Exclude | MarkKind::ExcludeOnce) | None => {
            reason
        }
    };
    let row = turn_row(turn, forms, Section::Recent, reason, mark);
    (!row.items.is_empty()).then_some(row)
}

/// Adds activations to the scores of items that the program pinned.
fn add_activations(rows: &mut [Row], input: &PlanInput) {
    for turn in input.turns.iter().filter(|turn| !turn.facts.alive.is_empty()) {
        let Some(row) = rows.iter_mut().find(|row| row.atom == turn.atom && row.pin.is_some()) else { continue };
        if row.scores.is_empty() {
            row.scores = turn.facts.alive.clone();
        } else {
            row.scores.parts.push(("activation".into(), turn.facts.alive.score.unwrap_or(0)));
        }
    }
}

fn by_engine(mark: Option<&Mark>) -> bool {
    mark.is_some_and(|mark| mark.by == Actor::Engine)
}

fn open_row(input: &PlanInput, forms: &[Form]) -> Row {
    turn_row(&input.open, forms, Section::UserMessage, Reason::Open, None)
}

fn turn_row(turn: &TurnInput, forms: &[Form], section: Section, reason: Reason, pin: Option<MarkKind>) -> Row {
    let items = items(&turn.messages, forms);
    Row {
        verdict: Verdict::In { section },
        reason,
        tokens: items.iter().map(|item| item.tokens).sum(),
        pin,
        items,
        ..empty_row(turn)
    }
}

/// Makes a row for a turn, without a decision and without items.
pub(in crate::context) fn empty_row(turn: &TurnInput) -> Row {
    let kind = if turn.number == 0 { RowKind::Preamble } else { RowKind::Turn };
    Row {
        title: turn.title.clone(),
        source: turn.source.clone(),
        turns: 1,
        ..Row::new(turn.atom, kind, Verdict::Suggested, Reason::Recent)
    }
}

pub(in crate::context) fn items(messages: &[MessageInput], forms: &[Form]) -> Vec<Item> {
    let sent = messages.iter().zip(forms).filter(|(_, form)| **form != Form::Out);
    sent.map(|(message, form)| Item {
        key: message.key,
        node: message.node,
        role: message.role,
        form: *form,
        tokens: if *form == Form::Card { 0 } else { tokens_in(message, *form) },
        title: message.title.clone(),
        calls: message.calls,
        orphan: message.orphan,
    })
    .collect()
}

/// Returns a warning for each item on the path that a person leased or included and that is left out.
fn decisions_left_out<'a>(admitted: &'a Admitted<'_>, plan: &'a ContextPlan) -> impl Iterator<Item = Warning> + 'a {
    let input = admitted.input;
    let mark = |row: &Row| {
        let turn = input.turns.iter().find(|turn| turn.atom == row.atom).and_then(|turn| admitted.marks.turn(turn));
        let message = match row.atom {
            Atom::Message { node } => admitted.marks.message(node),
            _ => None,
        };
        turn.or(message).or_else(|| input.marks.iter().find(|mark| mark.target == row.atom))
    };
    let decided = move |row: &&Row| {
        let known = matches!(row.reason, Reason::OffPath | Reason::TtlExpired | Reason::Duplicate);
        row.pin.is_some_and(MarkKind::includes) && !known && mark(row).is_some_and(|mark| mark.by != Actor::Engine)
    };
    plan.excluded().filter(decided).map(|row| Warning::DecisionLeftOut {
        title: row.title.clone(),
        tokens: row.tokens,
        why: row.reason.sentence(),
    })
}

fn warnings(input: &PlanInput, plan: &ContextPlan) -> Vec<Warning> {
    let mut warnings = input.warnings.clone();
    let items = plan.included().flat_map(|row| &row.items);
    let cut = items.filter(|item| item.role == Role::Tool && matches!(item.form, Form::Cut(_) | Form::Gone)).count();
    if cut > 0 {
        warnings.push(Warning::ToolsShortened { count: u32::try_from(cut).unwrap_or(u32::MAX) });
    }
    if !input.inactive_marks.is_empty() {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let replaced = number(input.inactive_marks.iter().filter(|mark| mark.replaced).count());
        warnings.push(Warning::MarksInactive { count: number(input.inactive_marks.len()), replaced });
    }
    warnings
}
