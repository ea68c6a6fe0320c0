//! What lies over the chat: reader, question, prompt, editor; overlay, list, help, tool calls and summaries are drawn in
//! their own files.
//! Not for: the chat itself.

use super::cache::{Cache, Of};
use super::{Look, paint};
use crate::domain::base::ids::NodeId;
use crate::tui::chat::view::composer;
use crate::tui::model::layer::{Edited, Editor, Layer, Prompt, Question, Reader};
use crate::tui::model::{Action, Model, When};
use crate::tui::screens;
use crate::tui::screens::calls::view_diff;
use crate::tui::screens::summaries::view_accepted;
use crate::tui::text::Line;
use crate::tui::text::markdown::Flow;
use crate::tui::theme::{Ink, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

/// Notes sizes that moving about needs.
pub(super) fn settle(layer: &mut Layer, area: Rect) {
    match layer {
        Layer::Overlay(overlay) => overlay.page = screens::request::view::list_rows(area),
        Layer::Diff(view) => view.page = view_diff::list_rows(area),
        Layer::Ledger(sheet) => sheet.settle(screens::usage::view::page(sheet, area)),
        Layer::Raw(it) => screens::raw_request::view::settle(it, area),
        _ => {}
    }
}

/// Draws the layer at a place of the stack. Returns the contents that it lacks.
pub(super) fn draw(
    model: &mut Model,
    at: usize,
    cache: &mut Cache,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
) -> Vec<NodeId> {
    let mut seen = None;
    let mut landed = None;
    let mut asked = None;
    let mut listed = None;
    let mut wanted = Vec::new();
    {
        let look = Look { theme, model };
        match &model.layers[at] {
            Layer::Overlay(it) => screens::request::view::draw(&look, it, cache, area, buf),
            Layer::Reader(it) => seen = Some(reader(&look, it, cache, area, buf)),
            Layer::Raw(it) => screens::raw_request::view::draw(&look, it, area, buf),
            Layer::Traces(it) => listed = Some(screens::traces::view::draw(&look, it, cache, area, buf)),
            Layer::Picker(it) => screens::picker::view::draw(&look, it, area, buf),
            Layer::Question(it) => question(&look, it, area, buf),
            Layer::Prompt(it) => prompt(&look, it, area, buf),
            Layer::Editor(it) => editor(&look, it, area, buf),
            Layer::Draft(it) => landed = Some(screens::summaries::view::draw(&look, it, cache, area, buf)),
            Layer::WhatIf(it) => screens::what_if::view::draw(&look, it, area, buf),
            Layer::Arena(it) => {
                let (lacking, sizes) = screens::race::view::draw(&look, it, cache, area, buf);
                (wanted, seen) = (lacking, Some(sizes));
            }
            Layer::Aside(it) => seen = Some(screens::aside::view::draw(&look, it, cache, area, buf)),
            Layer::Capsules(it) => view_accepted::draw(&look, it, area, buf),
            Layer::Calls(it) => screens::calls::view::draw(&look, it, area, buf),
            Layer::Workshop(it) => seen = Some(screens::editor::view::draw(&look, it, area, buf)),
            Layer::Toolbox(it) => seen = Some(screens::tools::view::draw(&look, it, area, buf)),
            Layer::Ledger(it) => screens::usage::view::draw(&look, it, area, buf),
            Layer::Compare(it) => screens::compare::view::draw(&look, it, area, buf),
            Layer::Diff(it) => view_diff::draw(&look, it, area, buf),
            Layer::History(it) => seen = Some(view_diff::tale(&look, it, area, buf)),
            Layer::Find(it) => seen = Some((screens::search::view::draw(&look, it, area, buf), 0)),
            Layer::Consent(it) => asked = Some(screens::approval::view::draw(&look, it, cache, area, buf)),
            Layer::Tree(it) => seen = Some((screens::tree::view::draw(&look, it, area, buf), 0)),
            Layer::Help { scroll } => seen = Some((screens::help::view::draw(&look, *scroll, area, buf), 0)),
        }
    }
    if let (Layer::Draft(desk), Some(landed)) = (&mut model.layers[at], landed) {
        (desk.seen, desk.source_scroll) = (landed.seen, landed.source_scroll);
    }
    if let (Layer::Consent(ask), Some((seen, starts))) = (&mut model.layers[at], asked) {
        ask.drawn(seen, starts);
    }
    if let (Layer::Traces(screen), Some(landed)) = (&mut model.layers[at], listed) {
        wanted = landed.put(screen);
    }
    note(&mut model.layers[at], seen);
    wanted
}

/// Keeps what a layer showed, by which it moves.
fn note(layer: &mut Layer, seen: Option<(usize, usize)>) {
    match (layer, seen) {
        (Layer::Reader(reader), Some(seen)) => reader.seen = seen,
        (Layer::Arena(ring), Some(seen)) => ring.seen = seen,
        (Layer::Aside(pane), Some(seen)) => pane.seen = seen,
        (Layer::History(tale), Some(seen)) => tale.seen = seen,
        (Layer::Workshop(shop), Some(seen)) => shop.seen = seen,
        (Layer::Toolbox(rack), Some(seen)) => rack.seen = seen,
        (Layer::Find(finder), Some((page, _))) => finder.page = page,
        (Layer::Tree(grove), Some((page, _))) => grove.page = page,
        (Layer::Help { scroll }, Some((last, _))) => *scroll = (*scroll).min(last),
        _ => {}
    }
}

fn reader(look: &Look<'_>, reader: &Reader, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> (usize, usize) {
    paint::wipe(area, buf);
    let title = paint::cut(look.theme, Ink::Heading, &reader.title, usize::from(area.width.saturating_sub(6)));
    let inside = look.frame(title, true, area, buf);
    if area.height >= 2 {
        let words = [(Action::ScrollDown, "on"), (Action::Copy, "copy"), (Action::Leave, "leave")];
        let line = view_accepted::hint_line(look, When::Panel, &words, usize::from(area.width));
        paint::caption(look.theme, line, Rect { y: area.bottom() - 1, height: 1, ..area }, buf);
    }
    let width = inside.width.saturating_sub(1).max(1);
    let rows = cache.rows(Of::Text(reader.key, reader.exact), width, || {
        let room = usize::from(width);
        if reader.exact { Flow::exact(&reader.text, room, Ink::Text) } else { Flow::all(&reader.text, room, Ink::Text) }
    });
    paint::lines(look.theme, rows.iter().skip(reader.scroll), inside, buf);
    let page = usize::from(inside.height);
    let count = |n: usize| u64::try_from(n).unwrap_or(0);
    paint::thumb(look.theme, count(reader.scroll), count(rows.len()), count(page), inside, buf);
    (rows.len(), page)
}

fn question(look: &Look<'_>, question: &Question, area: Rect, buf: &mut Buffer) {
    let width = area.width.saturating_sub(4).clamp(1, 76);
    let room = usize::from(width.saturating_sub(4)).max(1);
    let mut rows = Vec::new();
    for words in &question.words {
        rows.extend(Flow::plain(words, room, Ink::Text));
    }
    rows.push(Line::new());
    let first = rows.len();
    for (key, words, _) in &question.choices {
        let words = paint::cut(look.theme, Ink::Text, words, room.saturating_sub(4));
        let mut line = Line::of(Ink::Accent, &format!(" {key}  "));
        line.pieces.extend(words.pieces);
        rows.push(line);
    }
    let height = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX);
    let place = paint::middle(area, width, height);
    paint::wipe(place, buf);
    let inside = look.frame(Line::of(Ink::Warn, &question.title), true, place, buf);
    let over = rows.len().saturating_sub(usize::from(inside.height)).min(first);
    let within = Rect { x: inside.x + 1, width: inside.width.saturating_sub(1), ..inside };
    paint::lines(look.theme, rows.iter().skip(over), within, buf);
    for at in 0..question.choices.len() {
        let y = inside.y.saturating_add(u16::try_from(first - over + at).unwrap_or(0));
        look.item(Rect { y, height: 1, ..inside }.intersection(inside), at);
    }
    let y = inside.y.saturating_add(u16::try_from(first - over + question.cursor).unwrap_or(0));
    if y < inside.bottom() {
        paint::select(look.theme, Rect { y, height: 1, ..inside }, buf);
    }
}

fn prompt(look: &Look<'_>, prompt: &Prompt, area: Rect, buf: &mut Buffer) {
    let place = paint::middle(area, 70, 3);
    paint::wipe(place, buf);
    let title = paint::cut(look.theme, Ink::Heading, &prompt.title, usize::from(place.width.saturating_sub(6)));
    let inside = look.frame(title, true, place, buf);
    let shown = crate::domain::base::safe_text::Safe::line(&prompt.text);
    let mut line = Line::of(Ink::Text, shown.as_str()).with(Ink::Accent, "_");
    let over = line.width().saturating_sub(usize::from(inside.width));
    if over > 0 {
        let tail: String = shown.as_str().chars().skip(over + 1).collect();
        line = Line::of(Ink::Text, &tail).with(Ink::Accent, "_");
    }
    paint::line(look.theme, &line, inside, buf);
}

fn editor(look: &Look<'_>, editor: &Editor, area: Rect, buf: &mut Buffer) {
    paint::wipe(area, buf);
    let inside = look.frame(Line::of(Ink::Heading, &editor.title), true, area, buf);
    if area.height >= 2 {
        let (save, own) = (look.key(Action::Save), look.key_in(Action::Compose, When::Editor));
        let saves = match editor.what {
            Edited::Request { .. } => "shows it before it goes",
            _ => "saves",
        };
        let hint = format!("{save} {saves}  {own} your editor  Esc leaves it as it was");
        paint::caption(look.theme, Line::of(Ink::Dim, &hint), Rect { y: area.bottom() - 1, height: 1, ..area }, buf);
    }
    let fault = editor.fault.as_ref().map(|words| Flow::plain(words, usize::from(inside.width).max(1), Ink::Danger));
    let rows = fault.unwrap_or_default();
    let foot = u16::try_from(rows.len()).unwrap_or(0).min(inside.height / 2);
    let below = Rect { y: inside.bottom() - foot, height: foot, ..inside };
    paint::lines(look.theme, &rows, below, buf);
    let inside = Rect { height: inside.height - foot, ..inside };
    if !inside.is_empty() {
        let said = look.model.status.shown().is_some() && inside.height > 3;
        let room = Rect { height: inside.height - u16::from(said), ..inside };
        editor.area.render(room, buf);
        if said {
            composer::notice(look, Rect { y: room.bottom(), height: 1, ..inside }, buf);
        }
    }
}
