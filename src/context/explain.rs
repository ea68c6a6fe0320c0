//! Turns what was admitted into rows: every item in exactly one, with tokens, reason and, where it is out, a remedy.
//! Not for: deciding anything (`admit`).

use super::admit::{Admitted, Marks, Place, tokens_in};
use super::render;
use crate::domain::hash::Fields;
use crate::domain::input::{Bar, Block, Gap, MESSAGE_FRAMING, MessageInput, PlanInput, Sleeper, TurnInput};
use crate::domain::mark::{Atom, MarkKind};
use crate::domain::message::Role;
use crate::domain::plan::{ContextPlan, Form, Item, Reason, Remedy, Row, RowKind, Verdict, Warning};
use crate::domain::policy::Section;

/// Excluded turns listed one by one before the older ones share a row.
const LISTED: usize = 100;

/// The plan for what was admitted.
pub(super) fn explain(input: &PlanInput, admitted: &Admitted<'_>) -> ContextPlan {
    let mut rows = included(admitted);
    rows.extend(excluded(admitted));
    let label = render::needs_label(&rows, input.layout);
    if label && let Some(row) = rows.iter_mut().find(|row| is_open(row)) {
        row.tokens += input.labelled;
    }
    let messages = render::skeleton(&rows, input.layout, &input.shape.dialect);
    let framing = render::framing(&messages);
    let sum: u32 = rows.iter().filter(|row| row.included()).map(|row| row.tokens).sum();
    let mut plan = ContextPlan {
        id: crate::domain::hash::Hash::default(),
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
        rows,
        anchor: super::window::anchor(input, admitted.window),
        retrieval_set_ids: Vec::new(),
        warnings: Vec::new(),
    };
    plan.warnings = warnings(input, &plan);
    plan.id = identity(input, &plan);
    plan
}

/// H(rows in order: atom, projection, section, reason; policy, layout, dialect, model, parameters, tools).
fn identity(input: &PlanInput, plan: &ContextPlan) -> crate::domain::hash::Hash {
    let mut fields = Fields::new("plan").text(&plan.policy).number(u64::from(plan.policy_version));
    fields = fields.json(&plan.layout).json(&input.shape);
    for row in &plan.rows {
        let forms: Vec<_> = row.items.iter().map(|item| (item.key, item.form)).collect();
        fields = fields.json(&row.atom).json(&forms).maybe(row.text).json(&row.section()).text(row.reason.name());
    }
    fields.finish()
}

fn is_open(row: &Row) -> bool {
    row.section() == Some(Section::UserMessage) && row.kind == RowKind::Turn
}

fn included(admitted: &Admitted<'_>) -> Vec<Row> {
    let input = admitted.input;
    let mut rows = Vec::new();
    for section in input.layout.sections() {
        let blocks = input.blocks.iter().filter(|block| block.section == *section);
        if *section != Section::UserMessage {
            rows.extend(blocks.clone().map(|block| block_row(input, block)));
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
            | Section::QuotedReply => {}
        }
    }
    rows
}

/// What must go, as rows, for a call that is blocked.
pub(super) fn required_rows(input: &PlanInput, marks: &Marks<'_>, open: &[Form]) -> Vec<Row> {
    let mut rows: Vec<Row> = input.blocks.iter().map(|block| block_row(input, block)).collect();
    let sticky = |turn: &&TurnInput| marks.turn(turn).is_some_and(|mark| mark.kind == MarkKind::Sticky);
    rows.extend(input.turns.iter().filter(sticky).map(|turn| card_row(turn, Section::StickyPins, MarkKind::Sticky)));
    rows.push(open_row(input, open));
    rows
}

fn block_row(input: &PlanInput, block: &Block) -> Row {
    let atom = block.atom.unwrap_or(Atom::Section { text: block.text });
    Row {
        atom,
        kind: block.kind,
        verdict: Verdict::In { section: block.section },
        reason: block.reason.clone(),
        tokens: block.tokens,
        title: block.title.clone(),
        source: block.source.clone(),
        pin: input.marks.iter().find(|mark| Some(mark.target) == block.atom).map(|mark| mark.kind),
        items: Vec::new(),
        turns: 0,
        text: Some(block.text),
    }
}

fn cards(admitted: &Admitted<'_>, section: Section) -> impl Iterator<Item = Row> {
    let turns = admitted.input.turns.iter().zip(&admitted.places);
    turns.filter(move |(_, place)| **place == Place::Card(section)).map(move |(turn, _)| {
        let kind = admitted.marks.turn(turn).map_or(MarkKind::IncludeOnce, |mark| mark.kind);
        card_row(turn, section, kind)
    })
}

fn card_row(turn: &TurnInput, section: Section, kind: MarkKind) -> Row {
    let reason = match kind {
        MarkKind::Sticky => Reason::Sticky,
        MarkKind::Leased { turns } => Reason::Leased { left: turns },
        MarkKind::IncludeOnce | MarkKind::Exclude | MarkKind::ExcludeOnce => Reason::IncludedOnce,
    };
    Row {
        kind: RowKind::Card,
        verdict: Verdict::In { section },
        reason,
        tokens: turn.card.map_or(0, |(_, tokens)| tokens),
        pin: Some(kind),
        items: items(&turn.messages, &vec![Form::Card; turn.messages.len()]),
        text: turn.card.map(|(text, _)| text),
        ..bare(turn)
    }
}

fn window(admitted: &Admitted<'_>) -> Vec<Row> {
    let turns = admitted.input.turns.iter().enumerate().zip(&admitted.places);
    turns
        .filter(|(_, place)| **place == Place::Window)
        .filter_map(|((index, turn), _)| {
            let mark = admitted.marks.turn(turn).map(|mark| mark.kind);
            let reason = match mark {
                Some(MarkKind::Sticky) => Reason::Sticky,
                Some(MarkKind::Leased { turns }) if turns > 0 => Reason::Leased { left: turns },
                Some(MarkKind::IncludeOnce) => Reason::IncludedOnce,
                Some(MarkKind::Leased { .. } | MarkKind::Exclude | MarkKind::ExcludeOnce) | None => Reason::Recent,
            };
            let row = turn_row(turn, &admitted.forms(index), Section::Recent, reason, mark);
            (!row.items.is_empty()).then_some(row)
        })
        .collect()
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
        ..bare(turn)
    }
}

fn bare(turn: &TurnInput) -> Row {
    Row {
        atom: turn.atom,
        kind: if turn.number == 0 { RowKind::Preamble } else { RowKind::Turn },
        verdict: Verdict::Suggested,
        reason: Reason::Recent,
        tokens: 0,
        title: turn.title.clone(),
        source: turn.source.clone(),
        pin: None,
        items: Vec::new(),
        turns: 1,
        text: None,
    }
}

fn items(messages: &[MessageInput], forms: &[Form]) -> Vec<Item> {
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

/// Rows that stay out, newest first.
fn excluded(admitted: &Admitted<'_>) -> Vec<Row> {
    let input = admitted.input;
    let mut rows: Vec<Row> = input.sleepers.iter().map(|sleeper| sleeper_row(admitted, sleeper)).collect();
    rows.extend(barred(&input.open, &admitted.marks));
    let mut listed = 0_usize;
    let mut pile: Option<Row> = None;
    for index in (0..input.turns.len()).rev() {
        pile_gaps(input, index + 1, &mut pile);
        let turn = &input.turns[index];
        rows.extend(barred(turn, &admitted.marks));
        let Some(row) = out_row(admitted, index) else {
            rows.extend(pile.take());
            continue;
        };
        listed += 1;
        if listed > LISTED && row.pin.is_none() && row.reason.name() == "outside_window" {
            pile = Some(piled(pile.take(), row));
        } else {
            rows.extend(pile.take());
            rows.push(row);
        }
    }
    pile_gaps(input, 0, &mut pile);
    rows.extend(pile);
    rows
}

fn pile_gaps(input: &PlanInput, before: usize, pile: &mut Option<Row>) {
    for gap in input.gaps.iter().filter(|gap| gap.before == before) {
        *pile = Some(piled(pile.take(), gap_row(gap)));
    }
}

/// Two neighbouring rows (the second older) as one range.
fn piled(newer: Option<Row>, older: Row) -> Row {
    let Some(newer) = newer else { return older };
    let (first, last) = (ends(&older).0, ends(&newer).1);
    let turns = older.turns + newer.turns;
    Row {
        atom: Atom::Range { first, last },
        kind: RowKind::Range,
        tokens: older.tokens.saturating_add(newer.tokens),
        title: format!("{turns} older turns"),
        items: Vec::new(),
        turns,
        text: None,
        ..older
    }
}

fn ends(row: &Row) -> (crate::domain::hash::Hash, crate::domain::hash::Hash) {
    match row.atom {
        Atom::Turn { user, tip } => (user, tip),
        Atom::Range { first, last } => (first, last),
        Atom::Preamble { first } => (first, row.items.last().map_or(first, |item| item.key)),
        Atom::Episode { call, tip } => (call, tip),
        Atom::Message { node } => (node, node),
        Atom::Section { text } => (text, text),
    }
}

fn gap_row(gap: &Gap) -> Row {
    Row {
        atom: Atom::Range { first: gap.range.0, last: gap.range.1 },
        kind: RowKind::Range,
        verdict: Verdict::Out {
            needed: gap.tokens,
            remedy: Some(Remedy {
                action: "open".into(),
                does: "lists these turns, each of which can be included".into(),
                pushes_out: 0,
                pushes_turns: 0,
            }),
        },
        reason: Reason::OutsideWindow,
        tokens: gap.tokens,
        title: format!("{} older turns", gap.turns),
        source: crate::domain::plan::Source { turn: Some(gap.from), ..Default::default() },
        pin: None,
        items: Vec::new(),
        turns: gap.turns,
        text: None,
    }
}

fn out_row(admitted: &Admitted<'_>, index: usize) -> Option<Row> {
    let turn = &admitted.input.turns[index];
    let mark = admitted.marks.turn(turn).map(|mark| mark.kind);
    let sent = turn.messages.iter().filter(|message| message.bar.is_none());
    let tokens: u32 = sent.clone().map(|message| message.tokens).sum();
    let in_window = index >= admitted.window.start;
    let (reason, action, does) = match admitted.places[index] {
        Place::Window | Place::Card(_) => return None,
        Place::Excluded { once } => {
            let action = if once { "exclude-once" } else { "exclude" };
            (Reason::UserExcluded { once }, action, "takes the exclusion back")
        }
        Place::NoLease { capped: true } => {
            (Reason::LeaseCap { cap: admitted.input.policy.leased_cap_tokens }, "pin", "pins it for good")
        }
        Place::NoLease { capped: false } => (Reason::Budget { free: admitted.free() }, "pin", "pins it for good"),
        Place::Outside => outside(admitted, index, tokens, mark),
    };
    sent.clone().next()?;
    let comes_back = matches!(admitted.places[index], Place::Excluded { .. }) && !in_window;
    let wanted = if comes_back { 0 } else { tokens + MESSAGE_FRAMING };
    let (pushes_out, pushes_turns) = admitted.pushed(wanted);
    let remedy = Remedy { action: action.into(), does: does.into(), pushes_out, pushes_turns };
    let needed = wanted.saturating_sub(admitted.free());
    Some(Row {
        verdict: Verdict::Out { needed, remedy: Some(remedy) },
        reason,
        tokens,
        pin: mark,
        items: listed_items(turn),
        ..bare(turn)
    })
}

/// The messages of a turn that is out, each with what it would take.
fn listed_items(turn: &TurnInput) -> Vec<Item> {
    let whole: Vec<Form> = turn.messages.iter().map(|m| if m.bar.is_some() { Form::Out } else { m.whole }).collect();
    let mut listed = items(&turn.messages, &whole);
    for item in &mut listed {
        item.form = Form::Out;
    }
    listed
}

fn outside(
    admitted: &Admitted<'_>,
    index: usize,
    tokens: u32,
    mark: Option<MarkKind>,
) -> (Reason, &'static str, &'static str) {
    let expired = matches!(mark, Some(MarkKind::Leased { turns: 0 }));
    let reason = if expired {
        Reason::TtlExpired
    } else if tokens > admitted.input.budget.prompt {
        Reason::TooLarge
    } else if index >= admitted.window.floor && tokens > admitted.free() {
        Reason::Budget { free: admitted.free() }
    } else {
        Reason::OutsideWindow
    };
    (reason, "include-once", "includes it in this call")
}

/// Messages of a turn that can never go as they are, each in a row of its own.
fn barred(turn: &TurnInput, marks: &Marks<'_>) -> Vec<Row> {
    let row = |message: &MessageInput| -> Option<Row> {
        let (reason, may) = match message.bar? {
            Bar::Hidden => (Reason::Hidden, true),
            Bar::Foreign => (Reason::ForeignInstructions, true),
            Bar::Removed => (Reason::Removed, false),
            Bar::Empty => return None,
        };
        let remedy = may.then(|| Remedy {
            action: "include-once".into(),
            does: "sends it with this call, labelled".into(),
            pushes_out: 0,
            pushes_turns: 0,
        });
        Some(Row {
            atom: Atom::Message { node: message.key },
            kind: RowKind::Message,
            verdict: Verdict::Out { needed: 0, remedy },
            reason,
            tokens: message.tokens,
            title: message.title.clone(),
            source: turn.source.clone(),
            pin: None,
            items: Vec::new(),
            turns: 0,
            text: None,
        })
    };
    let brought = |message: &&MessageInput| marks.message(message.key).is_none_or(|mark| mark.kind.excludes());
    turn.messages.iter().filter(brought).filter_map(row).collect()
}

fn sleeper_row(admitted: &Admitted<'_>, sleeper: &Sleeper) -> Row {
    let (pushes_out, pushes_turns) = admitted.pushed(sleeper.tokens + MESSAGE_FRAMING);
    Row {
        atom: sleeper.mark.target,
        kind: RowKind::Turn,
        verdict: Verdict::Out {
            needed: sleeper.tokens.saturating_sub(admitted.free()),
            remedy: Some(Remedy {
                action: "include-once".into(),
                does: "carries it along in this call as quoted text".into(),
                pushes_out,
                pushes_turns,
            }),
        },
        reason: Reason::OffPath,
        tokens: sleeper.tokens,
        title: sleeper.title.clone(),
        source: sleeper.source.clone(),
        pin: Some(sleeper.mark.kind),
        items: Vec::new(),
        turns: 1,
        text: None,
    }
}

fn warnings(input: &PlanInput, plan: &ContextPlan) -> Vec<Warning> {
    let mut warnings = input.warnings.clone();
    let items = plan.included().flat_map(|row| &row.items);
    let cut = items.filter(|item| item.role == Role::Tool && matches!(item.form, Form::Cut(_) | Form::Gone)).count();
    if cut > 0 {
        warnings.push(Warning::ToolsShortened { count: u32::try_from(cut).unwrap_or(u32::MAX) });
    }
    if !input.sleepers.is_empty() {
        warnings.push(Warning::MarksAsleep { count: u32::try_from(input.sleepers.len()).unwrap_or(u32::MAX) });
    }
    warnings
}
