//! Draws the pane for the selected line: its reason, the action that would include it with the items that would leave,
//! its source, its history, and its text.
//! Not for: the list (`view`).

use super::model::{Content, RequestScreen};
use super::view_row::breaks_at;
use super::{view_code_set, view_figures, view_sent, view_state_request};
use crate::domain::base::Hash;
use crate::domain::conversation::{MarkKind, Role};
use crate::domain::planning::{ActPreview, ChangedItem, Item, MovedItem, PlanFigures, Row, RowKind, Verdict};
use crate::domain::planning::{BlockedRemedy, Reason};
use crate::domain::tool::ToolCost;
use crate::tui::model::row_titles::{item_title, row_title, title_of};
use crate::tui::screens::calls::view_diff;
use crate::tui::view::cache::CacheKey;
use crate::tui::view::prelude::*;

/// How many bytes of a text the pane shows at most; the raw request has all of it.
const DETAIL_BYTES: usize = 200_000;

/// How many state changes are shown, newest first.
const STEPS: usize = 4;

/// How many added and how many removed items are named.
const NAMED: usize = 5;

pub(crate) fn rows(view: &ViewContext<'_>, overlay: &RequestScreen, cache: &mut Cache, width: u16) -> Vec<Line> {
    let room = usize::from(width).max(1);
    if let Some(rows) = line_without_row(view, overlay, room) {
        return rows;
    }
    let Some((row, item)) = overlay.selected() else { return Vec::new() };
    let mut rows = choices(view, overlay, room);
    rows.extend(selection(view, overlay, room));
    rows.extend(TextRows::plain(&row.reason_sentence(), room, Ink::Accent));
    if overlay.sent().is_some() {
        rows.extend(view_sent::about_row(overlay, row, room));
    } else {
        rows.extend(remedy(view, overlay, row, room));
        rows.extend(change(row, room));
    }
    rows.extend(unused(overlay, row, room));
    if overlay.selection.is_empty() {
        rows.extend(preview_of_action(view, overlay, room));
    }
    if breaks_at(view, overlay, row) {
        let words = "The cache breaks here: everything above is the same as in the last request on this branch.";
        rows.extend(TextRows::plain(words, room, Ink::Text));
    }
    rows.extend(TextRows::plain(&source(view, row, overlay.details), room, Ink::Dim));
    if overlay.sent().is_none() {
        rows.extend(origin(view, row, room));
    }
    rows.extend(view_code_set::rows(view, overlay, row, room));
    if overlay.details {
        rows.extend(scores_and_steps(view, overlay, row, room));
        rows.extend(view_figures::rows(view, overlay, room));
    }
    rows.push(Line::new());
    if let Some(item) = item.and_then(|at| row.items.get(at)) {
        let words = format!("{}: {}", item.role.name(), item_title(item));
        rows.extend(TextRows::plain(&words, room, Ink::Dim));
        rows.push(Line::new());
    }
    let found = overlay.selected_atom().and_then(|atom| overlay.texts.get(&atom.key()));
    match found {
        Some(text) => {
            let text = &text[..text.floor_char_boundary(DETAIL_BYTES)];
            let exact = overlay.details || !is_prose(row, item);
            let of = CacheKey::Text(Hash::of(text.as_bytes()), exact);
            let wrapped = cache.rows(of, width, || {
                if exact {
                    TextRows::exact(text, room, Ink::Text)
                } else {
                    TextRows::drawn(text, room, Ink::Text, view.markdown())
                }
            });
            rows.extend(wrapped.iter().take(4_000).cloned());
        }
        None => rows.extend(TextRows::plain(&row_title(row), room, Ink::Dim)),
    }
    rows
}

/// The pane of a line that has no row in the plan: a tool, all tools, or the request for a state block; None for other
/// lines.
fn line_without_row(view: &ViewContext<'_>, overlay: &RequestScreen, room: usize) -> Option<Vec<Line>> {
    if let Some(tool) = overlay.selected_tool() {
        return Some(one_tool(view, overlay, tool, room));
    }
    if overlay.on_tools() {
        let sent = if overlay.sent().is_some() { "were sent with this request" } else { "are sent with every request" };
        let key = view.key_in(Action::Open, KeyPlace::Panel);
        let words = format!("Tool definitions {sent}. {key} lists the tools with their tokens.");
        return Some(TextRows::plain(&words, room, Ink::Accent));
    }
    Some(view_state_request::pane(view, overlay, overlay.unasked_state()?, room))
}

/// The parts of a row's score, the changes of its state, and its recent calls.
fn scores_and_steps(view: &ViewContext<'_>, overlay: &RequestScreen, row: &Row, room: usize) -> Vec<Line> {
    let mut rows: Vec<Line> = score(row).iter().flat_map(|words| TextRows::plain(words, room, Ink::Dim)).collect();
    let atom = overlay.selected_atom().map(|atom| atom.key());
    let steps = atom.and_then(|key| overlay.steps.get(&key));
    for step in steps.into_iter().flatten().rev().take(STEPS) {
        rows.extend(TextRows::plain(&format!("{} {step}", view.theme.glyphs.dot), room, Ink::Dim));
    }
    let recent_history = atom.and_then(|key| overlay.recent_history.get(&key));
    rows.extend(recent_history.map(|history| view_diff::recent_calls(view, history, room)).unwrap_or_default());
    rows
}

/// Whether the text of a row, or of one of its items, is written for people and thus drawn as Markdown, as in the
/// conversation. The details show each text exactly as it is sent.
fn is_prose(row: &Row, item: Option<usize>) -> bool {
    use RowKind as K;
    let written = |item: &Item| item.role != Role::Tool && item.calls == 0;
    match row.kind {
        K::Text | K::Note | K::Preamble | K::Turn | K::Card | K::Summary | K::Quote | K::Message | K::Memory => {
            match item.and_then(|at| row.items.get(at)) {
                Some(item) => written(item),
                None => row.items.iter().all(written),
            }
        }
        K::Rules | K::Module => true,
        K::State | K::Range | K::Part | K::Search | K::Request | K::Skills | K::Code => false,
    }
}

fn one_tool(view: &ViewContext<'_>, overlay: &RequestScreen, tool: &ToolCost, room: usize) -> Vec<Line> {
    let (tokens, sent) = (text::counted(u64::from(tool.tokens), "token"), overlay.sent().is_some());
    let words = match (sent, tool.on) {
        (true, true) => {
            format!("This request contained the tool's name, description, and arguments: {tokens}.")
        }
        (true, false) => format!("You had disabled this tool on the branch; it would have added {tokens}."),
        (false, true) => {
            format!("Every request contains this tool's name, description, and arguments: {tokens}.")
        }
        (false, false) => format!("You disabled this tool on this branch. Adds {tokens} to every request."),
    };
    let mut rows = TextRows::plain(&words, room, Ink::Accent);
    if !sent {
        let (key, acts) =
            (view.key_in(Action::Exclude, KeyPlace::Overlay), if tool.on { "disables" } else { "enables" });
        rows.extend(TextRows::plain(&format!("{key} {acts} the tool on this branch."), room, Ink::Text));
    }
    let key = view.key_in(Action::Open, KeyPlace::Panel);
    rows.extend(TextRows::plain(&format!("{key} shows its description."), room, Ink::Dim));
    rows
}

/// The selection, and the preview of including it.
fn selection(view: &ViewContext<'_>, overlay: &RequestScreen, room: usize) -> Vec<Line> {
    if overlay.selection.is_empty() {
        return Vec::new();
    }
    let count = text::counted(overlay.selection.len() as u64, "item");
    let key = |action| view.key_in(action, KeyPlace::Overlay);
    let words = format!(
        "{count} selected: {} {} {} {} {} apply to all of them; {} clears the selection.",
        key(Action::Pin),
        key(Action::Lease),
        key(Action::Exclude),
        key(Action::ExcludeOnce),
        key(Action::IncludeOnce),
        key(Action::Leave)
    );
    let mut rows = TextRows::plain(&words, room, Ink::Pinned);
    rows.extend(preview_of_action(view, overlay, room));
    rows.push(Line::new());
    rows
}

/// The action that includes a row that is left out. The preview adds what it would change.
fn remedy(view: &ViewContext<'_>, overlay: &RequestScreen, row: &Row, room: usize) -> Vec<Line> {
    let Verdict::Out { needed, remedy } = &row.verdict else { return Vec::new() };
    // The remedies of a request that does not fit are shown above, and a preview without effect, or after which no
    // request would fit, names the key itself.
    if matches!(overlay.content, Some(Content::Blocked(_))) || has_no_effect(overlay) || fits_nowhere(overlay) {
        return Vec::new();
    }
    let mut rows = Vec::new();
    let known = overlay.selection.is_empty() && matches!(overlay.preview.outcome, Some(Ok(_)));
    match remedy {
        Some(remedy) => {
            let key = view.model.keys.key_named(&remedy.action);
            rows.extend(TextRows::plain(&format!("{}.", remedy.sentence(&key)), room, Ink::Text));
        }
        None if row.reason == Reason::ForeignInstructions => {
            let [once, pin] = [Action::IncludeOnce, Action::Pin].map(|action| view.key_in(action, KeyPlace::Panel));
            let words = format!("{once} includes it in the next request; {pin} sends it with every request.");
            rows.extend(TextRows::plain(&words, room, Ink::Text));
        }
        None => rows.push(Line::of(Ink::Dim, "No action includes this item.")),
    }
    if *needed > 0 && !known {
        let words = format!("Needs {} more than are free.", text::short_tokens(u64::from(*needed)));
        rows.extend(TextRows::plain(&words, room, Ink::Text));
    }
    rows
}

/// What changes an included row on which marks have no effect.
fn change(row: &Row, room: usize) -> Vec<Line> {
    let Some(found) = row.unmarkable().filter(|_| row.included()) else { return Vec::new() };
    TextRows::plain(
        crate::tui::model::status::in_program(&format!("{} {}", found.why, found.change)).trim_end(),
        room,
        Ink::Text,
    )
}

/// Whether no request would fit after the previewed action of the row under the cursor.
fn fits_nowhere(overlay: &RequestScreen) -> bool {
    overlay.selection.is_empty() && matches!(&overlay.preview.outcome, Some(Ok(found)) if found.result.is_err())
}

/// Whether the previewed action of the row under the cursor would change nothing.
fn has_no_effect(overlay: &RequestScreen) -> bool {
    let figures = match &overlay.preview.outcome {
        Some(Ok(found)) => found.result.as_ref().ok(),
        Some(Err(_)) | None => None,
    };
    overlay.selection.is_empty()
        && figures.is_some_and(|figures| figures.sums.iter().all(|sum| sum.0 == 0) && figures.changed == 0)
}

/// The remedies for a request that does not fit; empty for a request that fits.
fn choices(view: &ViewContext<'_>, overlay: &RequestScreen, room: usize) -> Vec<Line> {
    let Some(Content::Blocked(blocked)) = &overlay.content else { return Vec::new() };
    let mut rows = TextRows::plain("This request does not fit. To make it fit:", room, Ink::Danger);
    for choice in &blocked.choices {
        let key = match choice {
            BlockedRemedy::LargerBudget { .. } => Some(view.key_in(Action::BudgetUp, KeyPlace::Overlay)),
            BlockedRemedy::OtherModel => Some(view.key(Action::Models)),
            BlockedRemedy::Unpin { acts, .. } => {
                let is_pin = acts.iter().any(|act| act.starts_with("unpin"));
                Some(view.key_in(if is_pin { Action::Pin } else { Action::IncludeOnce }, KeyPlace::Overlay))
            }
            BlockedRemedy::ShortenBodies { .. }
            | BlockedRemedy::FewerTools { .. }
            | BlockedRemedy::ShorterMessage { .. } => None,
        };
        let key = key.map_or_else(String::new, |key| format!(" ({key})"));
        rows.extend(TextRows::plain(&format!("- {}{key}", choice.sentence()), room, Ink::Text));
    }
    rows.push(Line::new());
    rows
}

/// A note that no answer used a row.
fn unused(overlay: &RequestScreen, row: &Row, room: usize) -> Vec<Line> {
    let Some(item) = overlay.unused_row(row) else { return Vec::new() };
    TextRows::plain(&format!("Item {}.", item.to_text()), room, Ink::Text)
}

/// The action that would leave out the included row under the cursor, or remove its mark, and what that would change:
/// `x leaves it out and removes 381 tokens.`
fn removal(view: &ViewContext<'_>, overlay: &RequestScreen, room: usize) -> Vec<Line> {
    let preview = &overlay.preview;
    let Some(previewed) = &preview.action else { return Vec::new() };
    let does = match previewed.kind {
        MarkKind::Sticky => "unpins it",
        MarkKind::Leased { .. } => "ends its lease",
        MarkKind::IncludeOnce => "no longer includes it once",
        MarkKind::Exclude | MarkKind::ExcludeOnce | MarkKind::Ephemeral => "leaves it out",
    };
    let start = format!("{} {does}", view.key_in(previewed.action, KeyPlace::Overlay));
    let (found, figures) = match &preview.outcome {
        None => return TextRows::plain(&format!("{start}."), room, Ink::Text),
        Some(Err(why)) => return TextRows::plain(&format!("{start}. No preview: {why}"), room, Ink::Text),
        Some(Ok(found)) => match &found.result {
            Err(why) => {
                return TextRows::plain(&format!("{start}, but no request would fit: {why}"), room, Ink::Danger);
            }
            Ok(figures) => (found, figures),
        },
    };
    let [(more, more_tokens), (less, less_tokens)] = figures.sums;
    let tokens = |n: u32| text::counted(u64::from(n), "token");
    let removes = (less > 0).then(|| format!("removes {}", tokens(less_tokens)));
    let adds = (more > 0).then(|| format!("adds {}", tokens(more_tokens)));
    let others = others(view, found, figures).map(|by| format!("changes others by {by}"));
    let effects: Vec<String> = removes.into_iter().chain(adds).chain(others).collect();
    let effects = match effects.as_slice() {
        [] => "; the next request stays the same".to_owned(),
        [one] => format!(" and {one}"),
        [first @ .., last] => format!(", {} and {last}", first.join(", ")),
    };
    let mut rows = TextRows::plain(&format!("{start}{effects}."), room, Ink::Text);
    if more > 0 || less > 0 || figures.changed > 0 {
        rows.push(Line::of(Ink::Dim, &size_after(view, found, figures)));
    }
    if less > 1 {
        rows.extend(named(view, view.theme.glyphs.out, &figures.lost, less, room));
    }
    rows.extend(changed(view, figures, room));
    rows.extend(named(view, "+", &figures.gained, more, room));
    rows
}

/// By how many tokens an act changes the items that it neither adds nor removes; None if it does not.
fn others(view: &ViewContext<'_>, found: &ActPreview, figures: &PlanFigures) -> Option<String> {
    let [(_, more), (_, less)] = figures.sums;
    match i64::from(figures.est) + i64::from(less) - i64::from(more) - i64::from(found.est) {
        0 => None,
        by => Some(format!("{}{}", if by < 0 { view.theme.glyphs.minus } else { "+" }, text::short(by.unsigned_abs()))),
    }
}

/// The size of the request before and after an act: `4.2k → 3.9k of 28k`.
fn size_after(view: &ViewContext<'_>, found: &ActPreview, figures: &PlanFigures) -> String {
    let number = |n: u32| text::short(u64::from(n));
    let becomes = view.theme.glyphs.becomes;
    format!("{} {becomes} {} of {}", number(found.est), number(figures.est), number(figures.budget.total()))
}

/// The preview of the action on the selected items.
fn preview_of_action(view: &ViewContext<'_>, overlay: &RequestScreen, room: usize) -> Vec<Line> {
    let preview = &overlay.preview;
    let Some(previewed) = &preview.action else { return Vec::new() };
    if overlay.selection.is_empty() && overlay.selected().is_some_and(|(row, _)| row.included()) {
        return removal(view, overlay, room);
    }
    let key = view.key_in(previewed.action, KeyPlace::Overlay);
    match &preview.outcome {
        None => TextRows::plain(&format!("Previewing {key}"), room, Ink::Dim),
        Some(Err(why)) => TextRows::plain(&format!("No preview of {key}: {why}"), room, Ink::Warn),
        Some(Ok(found)) => match &found.result {
            Err(why) => TextRows::plain(&format!("{key}: no request would fit: {why}"), room, Ink::Danger),
            Ok(figures) => {
                let named = overlay.selected().and_then(|(row, _)| match &row.verdict {
                    Verdict::Out { remedy, .. } => remedy.as_ref().map(|remedy| remedy.action.clone()),
                    Verdict::In { .. } | Verdict::Suggested => None,
                });
                let same = overlay.selection.is_empty()
                    && named.as_deref() == Some(previewed.action.name())
                    && !has_no_effect(overlay);
                outcome(view, if same { "" } else { &key }, found, figures, room)
            }
        },
    }
}

fn outcome(view: &ViewContext<'_>, key: &str, found: &ActPreview, figures: &PlanFigures, room: usize) -> Vec<Line> {
    let number = |n: u32| text::short(u64::from(n));
    let start = if key.is_empty() { String::new() } else { format!("{key}: ") };
    let [(more, more_tokens), (less, less_tokens)] = figures.sums;
    if more == 0 && less == 0 && figures.changed == 0 {
        let words = if key.is_empty() {
            "Changes nothing in the next request.".to_owned()
        } else {
            format!("{key} changes nothing in the next request.")
        };
        return TextRows::plain(&words, room, Ink::Text);
    }
    let brings = match more {
        0 => format!("{start}Adds no item"),
        _ => format!("{start}Adds {}", text::counted(u64::from(more_tokens), "token")),
    };
    let removes = if less == 0 { ", removes nothing".to_owned() } else { format!(", removes {}", number(less_tokens)) };
    let others = others(view, found, figures).map_or_else(String::new, |by| format!(", changes others by {by}"));
    let ink = if less == 0 && figures.changed == 0 { Ink::Good } else { Ink::Warn };
    let mut rows = TextRows::plain(&format!("{brings}{removes}{others}:"), room, ink);
    rows.extend(TextRows::plain(&size_after(view, found, figures), room, Ink::Dim));
    rows.extend(named(view, view.theme.glyphs.out, &figures.lost, less, room));
    rows.extend(changed(view, figures, room));
    if more > 1 {
        rows.push(Line::of(Ink::Dim, "Adds:"));
        rows.extend(named(view, "+", &figures.gained, more, room));
    }
    rows
}

/// Names the first of the items that are sent in another form, one per line.
fn changed(view: &ViewContext<'_>, figures: &PlanFigures, room: usize) -> Vec<Line> {
    let becomes = view.theme.glyphs.becomes;
    let one = |item: &ChangedItem| {
        let tokens = format!("{} {becomes} {}", text::short(item.before.into()), text::short(item.after.into()));
        listed(view, "~", (item.kind, &item.title, item.turn), &tokens, room)
    };
    with_rest(figures.changes.iter().take(NAMED).map(one).collect(), figures.changed)
}

/// Names the first of some items, one per line.
fn named(view: &ViewContext<'_>, sign: &str, items: &[MovedItem], count: u32, room: usize) -> Vec<Line> {
    let one = |item: &MovedItem| {
        listed(view, sign, (item.kind, &item.title, item.turn), &text::short(u64::from(item.tokens)), room)
    };
    with_rest(items.iter().take(NAMED).map(one).collect(), count)
}

/// The line of an item: its sign, turn, title, and tokens.
fn listed(
    view: &ViewContext<'_>,
    sign: &str,
    (kind, title, turn): (RowKind, &str, Option<u32>),
    tokens: &str,
    room: usize,
) -> Line {
    let turn = turn.map_or_else(String::new, |turn| format!("{turn:>3} "));
    let left = room.saturating_sub(text::width(tokens) + turn.len() + text::width(sign) + 5);
    let title = if title.is_empty() { kind.name().into() } else { title_of(kind, title) };
    let title = text::fit(&title, left, view.theme.glyphs.ellipsis);
    let gap = " ".repeat(left.saturating_sub(text::width(&title)) + 1);
    Line::of(Ink::Excluded, &format!("  {sign} {turn}"))
        .with(Ink::Text, &title)
        .with(Ink::Dim, &format!("{gap}{tokens}"))
}

/// Adds the number of the items that are not listed.
fn with_rest(mut rows: Vec<Line>, count: u32) -> Vec<Line> {
    let rest = (count as usize).saturating_sub(rows.len());
    if rest > 0 {
        rows.push(Line::of(Ink::Dim, &format!("    and {rest} more")));
    }
    rows
}

/// Where a text picked or merged from another branch came from, and whether that branch has new messages since.
fn origin(view: &ViewContext<'_>, row: &Row, room: usize) -> Vec<Line> {
    let mark = view.model.branch().and_then(|branch| branch.marks.iter().find(|mark| mark.target == row.atom));
    let Some(origin) = mark.and_then(|mark| mark.origin.as_ref()) else { return Vec::new() };
    let messages = text::counted(origin.sources.len() as u64, "message");
    let mut rows = TextRows::plain(&format!("{}, {messages}.", origin.to_text()), room, Ink::Text);
    if view.stale(origin) {
        let key = view.key_in(Action::Compare, KeyPlace::Branches);
        let words = format!(
            "Stale: the other branch has new messages. {key} in Branches compares the branches; pick the result again."
        );
        rows.extend(TextRows::plain(&words, room, Ink::Warn));
    }
    rows
}

/// A score and its parts.
fn score(row: &Row) -> Option<String> {
    let whole = row.scores.score?;
    let parts: Vec<String> =
        row.scores.parts.iter().map(|(name, part)| format!("{name} {}", text::thousandths(*part))).collect();
    Some(format!("score {} = {}", text::thousandths(whole), parts.join(" + ")))
}

/// A mark in the words of the list.
fn mark_words(mark: MarkKind) -> &'static str {
    match mark {
        MarkKind::Sticky => "pinned",
        MarkKind::Leased { .. } => "leased",
        MarkKind::Exclude => "left out by you",
        MarkKind::ExcludeOnce => "left out once by you",
        MarkKind::IncludeOnce => "included once by you",
        MarkKind::Ephemeral => "kept for one turn",
    }
}

fn source(view: &ViewContext<'_>, row: &Row, details: bool) -> String {
    let dot = format!(" {} ", view.theme.glyphs.dot);
    let mut words = vec![format!("{}, {}", row.kind.name(), text::short_tokens(u64::from(row.tokens)))];
    if row.turns > 1 {
        words.push(text::counted(u64::from(row.turns), "turn"));
    }
    words.extend(row.source.turn.map(|turn| format!("turn {turn}")));
    words.extend(row.source.at.map(|at| view.date_time(at)));
    match &row.source.external_id {
        Some(id) if details => words.push(format!("imported, id {id}")),
        Some(_) => words.push("imported".to_owned()),
        None => {}
    }
    words.extend(row.pin.map(|pin| mark_words(pin).to_owned()));
    let here = view.model.branch();
    let branch = row.source.branch.filter(|id| here.is_some_and(|here| here.id != *id));
    let named = branch.and_then(|id| view.model.session.as_ref()?.find(id)).map(|branch| branch.name.clone());
    words.extend(named.map(|name| format!("branch {name}")));
    words.extend(row.source.span.filter(|_| details).map(|(from, to)| format!("bytes {from} to {to}")));
    words.extend(row.source.code.as_ref().map(|code| {
        let (first, last) = code.lines;
        format!("{} {}, {} lines {first} to {last}", code.kind.name(), code.qualified, code.path)
    }));
    words.extend(row.source.message.filter(|_| details).map(|id| format!("message {id}")));
    words.join(&dot)
}
