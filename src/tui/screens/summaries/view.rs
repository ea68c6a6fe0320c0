//! Draws the draft of a summary next to its sources, and below them the kept and the missing facts.
//!
//! ```text
//! ┌ Summary of turns 1–7: a draft ───────────────────────────┐
//! │ tokens before and after, facts covered, author, cause      │
//! │ Draft                       │ Sources                     │   below 100 columns one of the two
//! │ kept 1 · dropped 12, 3 that may matter ────────────────── │
//! └ keys ────────────────────────────────────────────────────┘
//! ```
//! Not for: the list of summaries in use (`view_accepted`).

use super::model::{DraftScreen, Item, Part};
use super::model_effect::describe_effect;
use crate::domain::base::Hash;
use crate::domain::conversation::Role;
use crate::domain::summary::turns_in_words;
use crate::domain::summary::{KeepReason, SourceTurn, Summary, SummaryAuthor, SummaryDraft, SummarySource};
use crate::tui::view::cache::CacheKey;
use crate::tui::view::prelude::*;

/// From this width on, the draft is drawn next to its sources.
const MIN_WIDTH_BESIDE: u16 = 100;
/// How many characters of a message are shown.
const MAX_MESSAGE_CHARS: usize = 20_000;
/// How many bytes of all sources are shown.
const MAX_SOURCE_BYTES: usize = 600_000;

/// The measurements of a frame for scrolling: rows of the draft, rows of the sources, height of the focused part; and
/// the scroll position of the sources.
pub(crate) struct FrameRows {
    pub(crate) seen: (usize, usize, usize),
    pub(crate) source_scroll: usize,
}

/// The areas inside the frame.
#[derive(Clone, Copy, Default)]
struct Areas {
    head: Rect,
    draft: Rect,
    sources: Rect,
    items: Rect,
}

pub(crate) fn draw(
    view: &ViewContext<'_>,
    screen: &DraftScreen,
    cache: &mut Cache,
    area: Rect,
    buf: &mut Buffer,
) -> FrameRows {
    let inside = view.full_screen(title(screen), hints(view, screen, usize::from(area.width)), area, buf);
    let mut measured = FrameRows { seen: screen.seen, source_scroll: screen.source_scroll };
    let Some(draft) = &screen.draft else {
        paint::lines(view.theme, &progress(view, screen, usize::from(inside.width)), inside, buf);
        return measured;
    };
    let facts = facts(view, screen, draft, usize::from(inside.width));
    let areas = areas(screen, inside, u16::try_from(facts.len()).unwrap_or(u16::MAX));
    paint::lines(view.theme, &facts, areas.head, buf);
    let alone = areas.draft.is_empty() || areas.sources.is_empty();
    let other = |name: &'static str| if alone { name } else { "" };
    if !areas.draft.is_empty() {
        measured.seen.0 = text_of(view, screen, draft, cache, (areas.draft, other("   Sources")), buf);
    }
    if !areas.sources.is_empty() {
        let room = (areas.sources, other("   Draft"));
        (measured.seen.1, measured.source_scroll) = sources(view, screen, draft, cache, room, buf);
        if areas.sources.x > inside.x {
            paint::left_rule(view.theme, areas.sources, buf);
        }
    }
    items(view, screen, draft, areas.items, buf);
    let page = match screen.part {
        Part::Draft => areas.draft,
        Part::Sources => areas.sources,
        Part::Items => areas.items,
    };
    measured.seen.2 = usize::from(page.height.saturating_sub(1)).max(1);
    measured
}

fn areas(screen: &DraftScreen, inside: Rect, facts: u16) -> Areas {
    let head = facts.min(inside.height / 3);
    let body = Rect { y: inside.y + head, height: inside.height - head, ..inside };
    let mut areas = Areas { head: Rect { height: head, ..inside }, ..Areas::default() };
    if body.height < 10 {
        match screen.part {
            Part::Draft => areas.draft = body,
            Part::Sources => areas.sources = body,
            Part::Items => areas.items = body,
        }
        return areas;
    }
    let most = if screen.part == Part::Items { body.height / 2 } else { body.height * 2 / 5 };
    let wanted = u16::try_from(screen.items() + 1).unwrap_or(u16::MAX);
    let below = wanted.max(2).min(most);
    let above = Rect { height: body.height - below, ..body };
    areas.items = Rect { y: above.bottom(), height: below, ..body };
    if inside.width >= MIN_WIDTH_BESIDE {
        let left = body.width / 2 - 2;
        areas.draft = Rect { width: left, ..above };
        areas.sources = Rect { x: above.x + left + 3, width: above.width - left - 3, ..above };
    } else if screen.text == Part::Sources {
        areas.sources = above;
    } else {
        areas.draft = above;
    }
    areas
}

fn title(screen: &DraftScreen) -> Line {
    let Some(draft) = &screen.draft else { return Line::of(Ink::Heading, "Writing a summary") };
    Line::of(Ink::Heading, &format!("Summary of {}: a draft", turns_in_words(draft.summary.turns)))
}

fn hints(view: &ViewContext<'_>, screen: &DraftScreen, width: usize) -> Line {
    let making = view.model.drafts.making.contains_key(&screen.branch);
    let keep = if matches!(screen.selected(), Some(Item::Kept(_))) { "stop keeping it" } else { "keep it" };
    let other = match screen.draft.as_ref().map(|draft| draft.summary.source) {
        Some(SummarySource::Llm) => "extract sentences",
        Some(SummarySource::Extractive | SummarySource::User) | None => "by the model",
    };
    let words: &[(Action, &str)] = if screen.draft.is_none() {
        &[(Action::Leave, "stop"), (Action::Draft, "close; writing continues")]
    } else {
        &[
            (Action::AcceptDraft, "accept"),
            (Action::RejectDraft, "discard"),
            (Action::EditDraft, "edit"),
            (Action::KeepItem, keep),
            (Action::Open, "source"),
            (Action::Leave, if making { "stop" } else { "later" }),
            (Action::NextPane, "next pane"),
            (Action::KeepAll, "keep what fits"),
            (Action::Redraft, other),
            (Action::TakeBack, "undo the last"),
        ]
    };
    view.keys_line(KeyPlace::Summaries, words, width)
}

/// The progress, shown until there is a draft.
fn progress(view: &ViewContext<'_>, screen: &DraftScreen, width: usize) -> Vec<Line> {
    let mut rows = vec![Line::new()];
    let making = view.model.drafts.making.get(&screen.branch);
    let words = making.map_or_else(|| "Reading the turns.".to_owned(), |making| making_words(view, making));
    rows.extend(TextRows::plain(&words, width.max(1), Ink::Text));
    rows.push(Line::new());
    let calm = "You can keep writing in the meantime. A summary is used only after you accept it.";
    rows.extend(TextRows::plain(calm, width.max(1), Ink::Dim));
    rows
}

/// Describes the progress: `Summarizing turns 1–7: gpt-4.1-mini: part 2 of 3, 120 tokens (estimated) so far.`
fn making_words(view: &ViewContext<'_>, making: &super::model::PendingSummary) -> String {
    let turns = turns_in_words(making.turns);
    let by = match (making.by, view.model.session.as_ref().and_then(|session| session.settings())) {
        (SummaryAuthor::Model, Some(settings)) => settings.model.name.clone(),
        (SummaryAuthor::Model, None) => "the model".to_owned(),
        (SummaryAuthor::Extractive, _) => "extracted from the turns".to_owned(),
    };
    let (done, of) = making.parts;
    let part = if of > 1 { format!(": part {} of {of}", (done + 1).min(of)) } else { String::new() };
    let tokens = match making.tokens {
        0 => String::new(),
        n => format!("{} {} tokens (estimated) so far", if of > 1 { "," } else { ":" }, text::number(u64::from(n))),
    };
    format!("Summarizing {turns}: {by}{part}{tokens}.")
}

/// The figures of the draft, its author and cause, and its warnings.
fn facts(view: &ViewContext<'_>, screen: &DraftScreen, draft: &SummaryDraft, width: usize) -> Vec<Line> {
    let dot = format!(" {} ", view.theme.glyphs.dot);
    let summary = &draft.summary;
    let covered = u64::from(draft.checked).saturating_sub(draft.dropped.len() as u64);
    let mut sum = Line::of(Ink::Heading, &tokens_words(view, summary, width >= usize::from(MIN_WIDTH_BESIDE)));
    sum.push(Ink::Text, &format!("{dot}covers {covered} of {} checked facts", text::number(u64::from(draft.checked))));
    let mut by = writer(summary);
    if let Some(cause) = &draft.cause {
        by = format!("{by}{dot}automatic: {cause}");
    }
    if summary.parent.is_some() {
        by = format!("{by}{dot}replaces the summary in use");
    }
    let two = |words: &str, ink: Ink| TextRows::plain(words, width.max(1), ink).into_iter().take(2);
    let mut rows = vec![sum];
    rows.extend(two(&by, Ink::Text));
    let mut notes = draft.warnings.clone();
    notes.extend(KeepReason::sentence(&draft.stays));
    if let Some(making) = view.model.drafts.making.get(&screen.branch) {
        notes.insert(0, making_words(view, making));
    }
    if !notes.is_empty() {
        rows.extend(two(&notes.join(" "), Ink::Warn));
    }
    let effect = screen.preview.outcome.as_ref().map(|outcome| match outcome {
        Ok(found) => match &found.result {
            Ok(figures) => describe_effect(found.est, figures, found.left_out.as_deref(), true),
            Err(why) => format!("No request would fit: {why}"),
        },
        Err(why) => format!("No preview: {why}"),
    });
    match effect {
        Some(effect) => rows.extend(two(&effect, Ink::Text)),
        None if screen.preview.key.is_some() => rows.extend(two("Previewing the next request with it", Ink::Dim)),
        None => {}
    }
    rows
}

/// Compares the tokens: `4,310 → 512 tokens (estimated), 8.4 times shorter`
pub(crate) fn tokens_words(view: &ViewContext<'_>, summary: &Summary, wide: bool) -> String {
    let number = |n: u32| text::number(u64::from(n));
    let becomes = view.theme.glyphs.becomes;
    let ratio = summary.ratio_milli();
    let words = format!("{} {becomes} {} tokens", number(summary.original_tokens), number(summary.tokens));
    let certainty = match view.model.plan.calibration().filter(|_| wide) {
        Some(known) => {
            let after = known.to_text(summary.tokens).replace('±', view.theme.glyphs.within);
            format!("{} {becomes} {after}", number(known.apply(summary.original_tokens)))
        }
        None => "estimated".to_owned(),
    };
    format!("{words} ({certainty}), {}.{} times shorter", ratio / 1_000, ratio % 1_000 / 100)
}

/// Who wrote a summary: `by gpt-4.1-mini`.
pub(crate) fn writer(summary: &Summary) -> String {
    match (summary.source, &summary.model) {
        (SummarySource::Llm, Some(model)) => format!("by {model}"),
        (SummarySource::Llm, None) => "by a model".to_owned(),
        (SummarySource::Extractive, _) => "extracted from the turns' own sentences".to_owned(),
        (SummarySource::User, _) => "by you".to_owned(),
    }
}

/// Draws a part's heading, highlighted if it has the focus. Returns the area below.
fn heading(view: &ViewContext<'_>, words: &str, other: &str, focus: bool, area: Rect, buf: &mut Buffer) -> Rect {
    let (ink, sign) = if focus { (Ink::Accent, view.theme.glyphs.folded) } else { (Ink::Dim, " ") };
    let line = Line::of(ink, &format!("{sign} {words}")).with(Ink::Dim, other);
    paint::line(view.theme, &line, area, buf);
    Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area }
}

/// Draws the draft's text. Returns its number of rows.
fn text_of(
    view: &ViewContext<'_>,
    screen: &DraftScreen,
    draft: &SummaryDraft,
    cache: &mut Cache,
    (area, other): (Rect, &str),
    buf: &mut Buffer,
) -> usize {
    let summary = &draft.summary;
    let words = format!("Draft, {} (estimated)", text::counted(u64::from(summary.tokens), "token"));
    let room = heading(view, &words, other, screen.part == Part::Draft, area, buf);
    let body = summary.text.as_deref().unwrap_or_default();
    let width = room.width.saturating_sub(1).max(1);
    let rows = cache.rows(CacheKey::Text(Hash::of(body.as_bytes()), false), width, || {
        TextRows::all(body, usize::from(width), Ink::Text)
    });
    view.scrolled(&rows, screen.draft_scroll, room, buf).0
}

/// Draws the sources, scrolled to the fact under the cursor if they follow it. Returns the number of rows and the
/// scroll position.
fn sources(
    view: &ViewContext<'_>,
    screen: &DraftScreen,
    draft: &SummaryDraft,
    cache: &mut Cache,
    (area, other): (Rect, &str),
    buf: &mut Buffer,
) -> (usize, usize) {
    let turns = text::counted(draft.sources.len() as u64, "turn");
    let words =
        format!("Sources: {turns}, {} (estimated)", text::counted(u64::from(draft.summary.original_tokens), "token"));
    let room = heading(view, &words, other, screen.part == Part::Sources, area, buf);
    let width = room.width.saturating_sub(1).max(1);
    let of = CacheKey::Text(draft.summary.source_hash, true);
    let rows = cache.rows(of, width, || source_rows(&draft.sources, usize::from(width)));
    let page = usize::from(room.height);
    let marked = screen.dropped().and_then(|item| place(&draft.sources, &rows, item.node, &item.text));
    let followed = marked.filter(|_| screen.follow).map(|at| at.saturating_sub(page / 3));
    let from = followed.unwrap_or(screen.source_scroll).min(rows.len().saturating_sub(page));
    paint::lines(view.theme, rows.iter().skip(from), room, buf);
    if let Some(at) = marked.filter(|at| (from..from + page).contains(at)) {
        let y = room.y + u16::try_from(at - from).unwrap_or(0);
        paint::select(view.theme, Rect { y, height: 1, ..room }, buf);
    }
    paint::thumb(view.theme, from, rows.len(), page, room, buf);
    (rows.len(), from)
}

/// The rows of the sources. Only the headings of messages have the inks of speakers; `place` finds them by these inks.
fn source_rows(turns: &[SourceTurn], room: usize) -> Vec<Line> {
    let mut rows = Vec::new();
    let mut bytes = 0;
    for (at, turn) in turns.iter().enumerate() {
        for message in turn.messages.iter().filter(|message| !message.text.trim().is_empty()) {
            let ink = speaker(message.role);
            rows.push(Line::of(ink, &format!("turn {} {}", turn.number, message.role.name())));
            let end = message.text.char_indices().nth(MAX_MESSAGE_CHARS).map_or(message.text.len(), |(end, _)| end);
            rows.extend(TextRows::plain(message.text[..end].trim_end(), room, Ink::Text));
            rows.push(Line::new());
            bytes += end;
        }
        if bytes > MAX_SOURCE_BYTES && at + 1 < turns.len() {
            let rest = text::counted((turns.len() - at - 1) as u64, "more turn");
            rows.push(Line::of(Ink::Dim, &format!("{rest}: read them in the conversation")));
            break;
        }
    }
    rows
}

fn speaker(role: Role) -> Ink {
    match role {
        Role::User => Ink::You,
        Role::Assistant => Ink::Model,
        Role::System | Role::Tool => Ink::Tool,
    }
}

/// The row of a message that contains a fact, or the message's first row.
fn place(turns: &[SourceTurn], rows: &[Line], node: Hash, item: &str) -> Option<usize> {
    let messages = turns.iter().flat_map(|turn| &turn.messages).filter(|message| !message.text.trim().is_empty());
    let wanted = messages.enumerate().find(|(_, message)| message.node == node)?.0;
    let heads = |line: &Line| line.pieces.first().is_some_and(|p| matches!(p.ink, Ink::You | Ink::Model | Ink::Tool));
    let mut starts = rows.iter().enumerate().filter(|(_, line)| heads(line)).map(|(at, _)| at).skip(wanted);
    let start = starts.next()?;
    let end = starts.next().unwrap_or(rows.len());
    let first = item.split_whitespace().next().unwrap_or(item);
    let holds = |what: &str| (start + 1..end).find(|at| rows[*at].plain().contains(what));
    holds(item).or_else(|| holds(first)).or(Some(start + 1).filter(|at| *at < end)).or(Some(start))
}

/// Draws the kept sentences, then the missing facts, most important first.
fn items(view: &ViewContext<'_>, screen: &DraftScreen, draft: &SummaryDraft, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let (kept, salient) = (draft.summary.kept.len(), screen.salient_count());
    let dropped = match (draft.dropped.len(), salient) {
        (0, _) => "all checked facts are in the draft".to_owned(),
        (all, 0) => format!("{all} facts missing, none important"),
        (all, some) => format!("{all} facts missing, {some} important"),
    };
    let key = view.key_in(Action::KeepItem, KeyPlace::Summaries);
    let words = if kept > 0 { format!("kept {kept} {} {dropped}", view.theme.glyphs.dot) } else { dropped };
    let more = if screen.items() > 0 { format!("  {key} keeps an item verbatim") } else { String::new() };
    let room = heading(view, &words, &more, screen.part == Part::Items, area, buf);
    let page = usize::from(room.height);
    let from = paint::first_row(screen.cursor, screen.items(), page);
    let beside = Rect { width: room.width.saturating_sub(u16::from(screen.items() > page)), ..room };
    for (at, row) in (from..screen.items()).zip(beside.rows()) {
        match screen.item(at) {
            Some(Item::Kept(place)) => {
                let kept = &draft.summary.kept[place];
                let value = format!(" turn {} {}", kept.turn, kept.who);
                let left = usize::from(row.width).saturating_sub(text::width(&value) + 3);
                let words = text::fit(&kept.text, left, view.theme.glyphs.ellipsis);
                let label = Line::of(Ink::Pinned, &format!("{} ", view.theme.glyphs.pin)).with(Ink::Text, &words);
                paint::pair(view.theme, &label, &Line::of(Ink::Dim, &value), row, buf);
            }
            Some(Item::Dropped(place)) => dropped_row(view, draft, place, place < salient, row, buf),
            None => {}
        }
        view.item(row, at);
        if at == screen.cursor && screen.part == Part::Items {
            paint::select(view.theme, row, buf);
        }
    }
    paint::thumb(view.theme, from, screen.items(), page, room, buf);
}

fn dropped_row(view: &ViewContext<'_>, draft: &SummaryDraft, at: usize, matters: bool, area: Rect, buf: &mut Buffer) {
    let item = &draft.dropped[at];
    let (ink, sign) = if matters { (Ink::Text, "! ") } else { (Ink::Dim, "  ") };
    let ellipsis = view.theme.glyphs.ellipsis;
    let value = format!(" turn {} {}", item.turn, item.role.name());
    let width = usize::from(area.width).saturating_sub(text::width(&value) + 15);
    let mut label = Line::of(Ink::Warn, sign).with(Ink::Dim, &format!("{:<11} ", item.kind.name().replace('_', " ")));
    let alone = item.sentence == item.text;
    let name = text::fit(&item.text, if alone { width } else { width.min(28.max(width / 3)) }, ellipsis);
    label.push(ink, &name);
    let left = width.saturating_sub(text::width(&name) + 2);
    if !alone && left > 12 {
        label.push(Ink::Dim, &format!("  {}", text::fit(&item.sentence, left, ellipsis)));
    }
    paint::pair(view.theme, &label, &Line::of(Ink::Dim, &value), area, buf);
}
