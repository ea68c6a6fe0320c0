//! Draws a tool call that needs approval, with all of its effects, below the conversation that led to it.
//! Not for: the list of tool calls (`tools`).

use super::model::ApprovalScreen;
use crate::domain::tool::folded_text::{folded, folded_difference, length};
use crate::domain::tool::mcp::{OUTSIDE, display_name};
use crate::domain::tool::{FileChange, Row, ToolEffect};
use crate::tui::screens::traces::view::{AROUND, pretty};
use crate::tui::view::cache::CacheKey;
use crate::tui::view::layout;
use crate::tui::view::prelude::*;

/// Below this height of the terminal or the conversation, the screen covers all of it.
const LEAST_HEIGHT: u16 = 14;
/// Rows of the conversation that stay visible above the screen.
const ABOVE: u16 = 2;

/// The measurements for scrolling: number of rows and height of the view, the number of rows after which the effect is
/// complete, and the first row of each hunk.
pub(crate) type FrameRows = ((usize, usize), usize, Vec<usize>);

pub(crate) fn draw(
    view: &ViewContext<'_>,
    ask: &ApprovalScreen,
    cache: &mut Cache,
    area: Rect,
    buf: &mut Buffer,
) -> FrameRows {
    let title = format!("{} needs approval", display_name(&ask.pending.tool));
    let inside = frame(view, Line::of(Ink::Warn, &title), &hints(view, ask, usize::from(area.width)), area, buf);
    let inside = match last_line(view, ask, usize::from(inside.width)) {
        Some(line) => {
            let last = Rect { y: inside.bottom().saturating_sub(1), height: inside.height.min(1), ..inside };
            paint::line(view.theme, &line, last, buf);
            Rect { height: inside.height.saturating_sub(1), ..inside }
        }
        None => inside,
    };
    let (rows, end, starts) = rows(view, ask, cache, inside.width);
    let inside = tail(view, &rows[..end], rows.len(), ask.scroll.top, inside, buf);
    (view.scrolled(&rows, ask.scroll.top, inside, buf), end, starts)
}

/// Clears the area, and draws the title on a rule above and the keys below. Returns the area between.
fn frame(view: &ViewContext<'_>, title: Line, keys: &Line, area: Rect, buf: &mut Buffer) -> Rect {
    paint::clear(area, buf);
    let inside = layout::inside(area);
    if inside == area {
        return area;
    }
    let top = Rect { height: 1, ..area };
    paint::rule(view.theme, top, buf);
    paint::caption(view.theme, title, top, buf);
    paint::line(view.theme, keys, Rect { y: area.bottom() - 1, height: 1, ..inside }, buf);
    inside
}

/// The message to the model that is being typed, or the reason why the last key had no effect.
fn last_line(view: &ViewContext<'_>, ask: &ApprovalScreen, width: usize) -> Option<Line> {
    let Some(reason) = &ask.reason else {
        return ask.note.as_ref().map(|note| paint::cut(view.theme, Ink::Warn, note, width));
    };
    let lead = Line::of(Ink::Heading, "Deny, and tell the model why: ");
    let room = width.saturating_sub(lead.width());
    Some(paint::typed(lead, reason, room))
}

/// Height at the bottom of the conversation: as many rows as needed, at most all but a few rows of the conversation, or
/// all rows of a low conversation.
pub(crate) fn height(view: &ViewContext<'_>, ask: &ApprovalScreen, cache: &mut Cache, area: Rect) -> u16 {
    let rows = rows(view, ask, cache, layout::inside(area).width).0.len();
    // Title, keys, and a note about a key without effect.
    let wanted = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(3);
    match area.height {
        height @ ..LEAST_HEIGHT => height,
        height => wanted.min(height - ABOVE),
    }
}

/// All rows, the number of rows after which the effect of the call is complete, and the first row of each hunk.
fn rows(view: &ViewContext<'_>, ask: &ApprovalScreen, cache: &mut Cache, wide: u16) -> (Vec<Line>, usize, Vec<usize>) {
    let width = usize::from(wide.saturating_sub(1).max(1));
    let ((mut rows, end), mut starts) = (head(ask, width), Vec::new());
    for (at, taken) in ask.hunks.iter().enumerate() {
        let ToolEffect::Change(changes) = &ask.pending.effect else { break };
        let Some(change) = changes.get(taken.file) else { continue };
        if taken.hunk == 0 {
            rows.extend(file(change, width));
        }
        starts.push(rows.len());
        rows.push(mark(view, ask, at, change));
        let of = CacheKey::Text(ask.key(at), true);
        let lines = cache.rows(of, wide, || hunk(change, taken.hunk, width, AROUND));
        rows.extend(lines.iter().cloned());
    }
    let end = if ask.hunks.is_empty() { end } else { rows.len() };
    (rows, end, starts)
}

/// Draws the last rows of the effect at the bottom until the person has scrolled to them. Returns the area above them.
fn tail(view: &ViewContext<'_>, rows: &[Line], all: usize, scroll: usize, inside: Rect, buf: &mut Buffer) -> Rect {
    const LAST: usize = 2;
    let height = usize::from(inside.height);
    let above = height.saturating_sub(LAST + 1);
    let below = rows.len().saturating_sub(scroll + above);
    if all <= height || above < LAST || below <= LAST || scroll + height >= all {
        return inside;
    }
    let split = inside.height - u16::try_from(LAST + 1).unwrap_or(0);
    let (room, edge) = (Rect { height: split, ..inside }, Rect { y: inside.y + split, height: 1, ..inside });
    let words = format!("{} more rows; the last rows:", text::number((below - LAST) as u64));
    paint::line(view.theme, &Line::of(Ink::Warn, &words), edge, buf);
    let last = Rect { y: edge.y + 1, height: inside.height - split - 1, ..inside };
    paint::lines(view.theme, rows.iter().skip(rows.len() - LAST), last, buf);
    room
}

fn hints(view: &ViewContext<'_>, ask: &ApprovalScreen, width: usize) -> Line {
    if ask.reason.is_some() {
        let words = [(Action::Open, "deny with this message"), (Action::Leave, "back")];
        return view.keys_line(KeyPlace::Picker, &words, width);
    }
    let yes = if ask.hunks.iter().any(|taken| !taken.taken) { "approve the selected changes" } else { "approve" };
    let mut words = vec![(Action::AllowTool, yes), (Action::RefuseTool, "deny")];
    if !ask.hunks.is_empty() {
        words.push((Action::TakeHunk, "choose"));
    }
    let more = [(Action::RefuseWhy, "deny with a message"), (Action::AllowAlways, "always"), (Action::Leave, "later")];
    words.extend(more);
    if matches!(&ask.pending.effect, ToolEffect::Run(command) if command.protection.len() > 1) {
        words.push((Action::Details, "details"));
    }
    view.keys_line(KeyPlace::Approval, &words, width)
}

/// The rows above the hunks (for a command, all rows; of its protection only the first sentence, unless the details are
/// shown), and the number of rows after which the effect is complete.
fn head(ask: &ApprovalScreen, width: usize) -> (Vec<Line>, usize) {
    let (mut rows, mut end) = (Vec::new(), None);
    if let Some(rule) = &ask.pending.rule {
        let on = rule.on.as_deref().unwrap_or("anything");
        rows.extend(TextRows::plain(&format!("A rule asks about {} on {on}.", rule.tool), width, Ink::Dim));
    }
    match &ask.pending.effect {
        ToolEffect::Run(command) => {
            rows.extend(TextRows::plain(&headed("Run this command", &command.line), width, Ink::Dim));
            rows.extend(whole(&command.line, width));
            end = Some(rows.len());
            rows.push(Line::new());
            let folder = if command.folder.is_empty() { "the workspace root" } else { &command.folder };
            let place = format!("In {folder}, for at most {} seconds.", command.seconds);
            rows.extend(TextRows::plain(&place, width, Ink::Text));
            let shown = if ask.details { command.protection.len() } else { 1 };
            for line in command.protection.iter().take(shown) {
                rows.extend(TextRows::plain(line, width, Ink::Dim));
            }
        }
        ToolEffect::Foreign { server, tool, looks } => {
            // Above the call: its arguments may fill the screen.
            let words = format!("Call a tool of the MCP server {server}. {OUTSIDE}");
            rows.extend(TextRows::plain(&words, width, Ink::Warn));
            if *looks {
                let says = "The server declares this tool read-only; pleach can't verify that.";
                rows.extend(TextRows::plain(says, width, Ink::Text));
            }
            rows.push(Line::new());
            let args = pretty(&ask.pending.args);
            rows.extend(whole(&headed(&format!("{server}: {tool}"), &args), width));
            rows.extend(whole(&args, width));
        }
        ToolEffect::Read { what } => rows.extend(TextRows::exact(&format!("Read {what}"), width, Ink::Text)),
        ToolEffect::Change(changes) => {
            let (more, less) = changes.iter().map(FileChange::size).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
            let files = text::counted(changes.len() as u64, "file");
            let (added, removed) = (text::counted(more as u64, "line"), text::number(less as u64));
            let words = format!("Changes {files}: {added} added, {removed} removed.");
            rows.extend(TextRows::plain(&words, width, Ink::Text));
            if let Some((path, what)) = ask.pending.effect.config_change() {
                rows.extend(TextRows::plain(
                    &format!("{path} {what}. No rule can allow this change."),
                    width,
                    Ink::Warn,
                ));
            }
        }
    }
    let end = end.unwrap_or(rows.len());
    (rows, end)
}

/// A heading for a text, with the text's length if that is not obvious.
fn headed(words: &str, text: &str) -> String {
    length(text).map_or_else(|| format!("{words}:"), |length| format!("{words} ({length}):"))
}

/// Wraps a text so that no part of it can be hidden.
pub(super) fn whole(raw: &str, width: usize) -> Vec<Line> {
    folded(raw).iter().flat_map(|row| shown_row(row, width, Ink::Code)).collect()
}

fn shown_row(row: &Row, width: usize, ink: Ink) -> Vec<Line> {
    let ink = if matches!(row, Row::Blank(..)) { Ink::Warn } else { ink };
    TextRows::plain(&row.to_text(), width, ink)
}

fn file(change: &FileChange, width: usize) -> Vec<Line> {
    let what = match (&change.before, &change.after) {
        (None, _) => "new file",
        (_, None) => "deleted",
        _ => "changed",
    };
    let mut rows = vec![Line::new()];
    rows.extend(TextRows::exact(&format!("{}  ({what})", change.path), width, Ink::Heading));
    rows
}

fn mark(view: &ViewContext<'_>, ask: &ApprovalScreen, at: usize, change: &FileChange) -> Line {
    let taken = ask.hunks[at];
    let hunk = &change.hunks[taken.hunk];
    let glyphs = &view.theme.glyphs;
    let (ink, sign) = if taken.taken { (Ink::Good, glyphs.ok) } else { (Ink::Excluded, glyphs.out) };
    let here = if at == ask.cursor { glyphs.folded } else { " " };
    let words = format!("@@ -{},{} +{},{} @@", hunk.old.start + 1, hunk.old.len(), hunk.new.start + 1, hunk.new.len());
    let line = Line::of(Ink::Accent, here).with(ink, &format!(" {sign} ")).with(Ink::Dim, &words);
    if taken.taken { line } else { line.with(Ink::Excluded, "  left out") }
}

/// A hunk with at most `around` unchanged lines above and below it, none of them cut.
pub(super) fn hunk(change: &FileChange, at: usize, width: usize, around: usize) -> Vec<Line> {
    let ink = |row: &Row| match row.sign() {
        Some('+') => Ink::Good,
        Some('-') => Ink::Danger,
        _ => Ink::Dim,
    };
    let lines = change.hunk_lines(at, around);
    folded_difference(lines.trim_end_matches('\n')).iter().flat_map(|row| shown_row(row, width, ink(row))).collect()
}
