//! Draws the tree of the session over the whole screen. Only visible rows are built.
//!
//! ```text
//! ┌ Tree of Bees and wasps ──────────────────────────────────┐
//! │ ● How do bees dance?                      2 messages      │
//! │ ├─○ And in the dark?              try-2   4 messages      │
//! │ ● And wasps?                      main ◀  6 messages      │
//! └ keys ────────────────────────────────────────────────────┘
//! ```
//! Not for: building the segments (`tui::model::tree_rows`).

use super::model::{Row, TreeScreen, title_slot};
use crate::domain::base::{Hash, NodeId, plain_text};
use crate::domain::conversation::{End, NodeHead, Role, Slot, Tag, state};
use crate::tui::model::session::Session;
use crate::tui::view::hints_line;
use crate::tui::view::prelude::*;

/// From this width on, the date is shown on the right.
const DATED: u16 = 100;
/// The content of a larger message is not loaded for its title.
const MAX_TITLED_BYTES: u64 = 64 << 10;

/// Draws the tree. Returns how many rows fit, and the messages whose contents the titles use.
pub(crate) fn draw(view: &ViewContext<'_>, screen: &TreeScreen, area: Rect, buf: &mut Buffer) -> (usize, Vec<NodeId>) {
    let mut titled = Vec::new();
    let Some(session) = &view.model.session else {
        paint::clear(area, buf);
        return (1, titled);
    };
    let room = usize::from(area.width.saturating_sub(6));
    let heading = format!("Tree of {}", session.card.title);
    let keys = hints(view, screen, usize::from(area.width));
    let inside = view.full_screen(paint::cut(view.theme, Ink::Heading, &heading, room), keys, area, buf);
    if inside.height < 3 {
        return (1, titled);
    }
    paint::pair(view.theme, &filter(view, session, screen), &facts(session, screen), Rect { height: 1, ..inside }, buf);
    let list = Rect { y: inside.y + 2, height: inside.height - 2, ..inside };
    let page = usize::from(list.height).max(1);
    if screen.shown.is_empty() {
        let words = match (screen.filter.is_empty(), screen.looking()) {
            (true, _) => " No messages yet. Once you send a message, the tree with its forks appears here.",
            (false, true) => " Searching.",
            (false, false) => " Nothing matches. Filter with words, label:LABEL, fav.",
        };
        paint::line(view.theme, &Line::of(Ink::Dim, words), list, buf);
    }
    let from = paint::first_row(screen.cursor, screen.shown.len(), page);
    let pinned = session.tree_rows.pinned(session);
    for ((nth, line), place) in screen.shown.iter().enumerate().skip(from).zip(list.rows()) {
        let Some(row) = session.tree_rows.rows.get(line.row) else { continue };
        titled.extend(one(view, session, screen, (row, line.hit, pinned.contains(&line.row)), place, buf));
        view.entry(place, nth, nth == screen.cursor, buf);
    }
    paint::thumb(view.theme, from, screen.shown.len(), page, list, buf);
    (page, titled)
}

fn hints(view: &ViewContext<'_>, screen: &TreeScreen, width: usize) -> Line {
    if screen.filtering {
        let keys = view.keys_line(KeyPlace::Picker, &[(Action::Open, "keep"), (Action::Leave, "remove")], width);
        return Line::of(Ink::Dim, "words, label:LABEL, fav  ").and(keys);
    }
    let key = |action, when| view.key_in(action, when);
    if screen.shown.is_empty() {
        let filter = (!screen.filter.is_empty()).then(|| (key(Action::Filter, KeyPlace::Panel), "change the filter"));
        let close = (key(Action::Leave, KeyPlace::Tree), "close");
        return hints_line(filter.into_iter().chain([close]), width);
    }
    let fold = format!("{} {}", key(Action::Fold, KeyPlace::Tree), key(Action::Unfold, KeyPlace::Tree));
    let words = [
        (key(Action::Open, KeyPlace::Panel), "go to"),
        (fold, "fold"),
        (key(Action::Filter, KeyPlace::Panel), "filter"),
        (key(Action::Label, KeyPlace::Tree), "label"),
        (key(Action::Favorite, KeyPlace::Tree), "favorite"),
        (key(Action::Leave, KeyPlace::Tree), "close"),
        (key(Action::Fork, KeyPlace::Panel), "fork"),
    ];
    hints_line(words.into_iter(), width)
}

fn filter(view: &ViewContext<'_>, session: &Session, screen: &TreeScreen) -> Line {
    let here = screen.selected(session).map(|row| row.first);
    if screen.wanted.is_some_and(|(_, stretch)| Some(stretch) == here) && !screen.filtering {
        let key = view.key_in(Action::Open, KeyPlace::Panel);
        return Line::of(Ink::Warn, &format!(" No branch contains that message; {key} creates a branch here."));
    }
    if !screen.filtering && screen.filter.is_empty() {
        return Line::of(Ink::Dim, " A line is a run of messages; forks are indented.");
    }
    let line = Line::of(Ink::Accent, " / ");
    if screen.filtering { paint::typed(line, &screen.filter, usize::MAX) } else { line.with(Ink::Text, &screen.filter) }
}

fn facts(session: &Session, screen: &TreeScreen) -> Line {
    let messages = text::counted(session.tree.len() as u64, "message");
    let words = if screen.filter.is_empty() {
        format!("{messages} ")
    } else {
        let all = session.tree_rows.rows.len() as u64;
        let words = format!("{} of {} lines ", text::number(screen.shown.len() as u64), text::number(all));
        if screen.looking() { format!("{}% searched, {words}", screen.filter_progress(session)) } else { words }
    };
    Line::of(Ink::Dim, &words)
}

/// Draws a row. Returns the message of its title if the row has room for more than the message's preview.
fn one(
    view: &ViewContext<'_>,
    session: &Session,
    screen: &TreeScreen,
    (row, hit, pinned): (&Row, Option<Slot>, bool),
    area: Rect,
    buf: &mut Buffer,
) -> Option<NodeId> {
    let glyphs = &view.theme.glyphs;
    let folded = screen.is_folded(&session.tree, row);
    let sign = if session.tree_rows.branches(row).iter().any(|id| view.model.live.contains_key(id)) {
        (Ink::Accent, glyphs.running)
    } else if folded {
        (Ink::Accent, glyphs.folded)
    } else if row.on_path {
        (Ink::Good, glyphs.branch)
    } else {
        (Ink::Dim, glyphs.other)
    };
    let ink = if row.on_path { Ink::Text } else { Ink::Dim };
    let value = value(view, session, row, folded, area.width);
    let lead = guides(view, row, usize::from(area.width) / 3);
    let mut label = Line::of(Ink::Border, &lead).with(sign.0, sign.1).with(Ink::Text, " ");
    if pinned {
        label.push(Ink::Pinned, &format!("{} ", glyphs.pin));
    }
    let tags = tags(session, row, hit);
    let sign = Tag { favorite: tags.iter().any(|tag| tag.favorite), ..Tag::new(Hash::default()) };
    paint::tag(view.theme, &mut label, &sign);
    for tag in tags {
        paint::tag(view.theme, &mut label, &Tag { favorite: false, ..tag.clone() });
    }
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 2).max(4);
    let head = session.tree.head(hit.unwrap_or_else(|| title_slot(&session.tree, row)));
    let (words, is_missing) = title(view, head, room);
    paint::pair(view.theme, &label.with(ink, &words), &value, area, buf);
    is_missing.then_some(head.id)
}

/// The beginning of a message in at most `room` columns, and whether the row has room for more than the message's
/// preview. Until the message is loaded, the title is the preview.
fn title(view: &ViewContext<'_>, head: &NodeHead, room: usize) -> (String, bool) {
    let ellipsis = view.theme.glyphs.ellipsis;
    let preview = plain_text::beginning(head);
    let is_long = !head.preview_is_whole() && text::width(&preview) < room && head.bytes <= MAX_TITLED_BYTES;
    let Some(node) = view.model.bodies.get(head.id).filter(|_| is_long) else {
        return (text::fit_words(&preview, head.preview_is_whole(), room, ellipsis), is_long);
    };
    // Marks of Markdown are read, but not shown.
    let most = room * 2;
    let text = node.content.plain_text();
    let text = if head.role == Role::Assistant { state::strip(&text, head.end == End::Complete) } else { text };
    let words = NodeHead::first_words(&text, most);
    let is_whole = words.chars().count() < most;
    (text::fit_words(&plain_text::words_of(head, &words), is_whole, room, ellipsis), is_long)
}

/// The tags of a line: of the message that matches the filter, or else the first three of the segment.
fn tags<'a>(session: &'a Session, row: &Row, hit: Option<Slot>) -> Vec<&'a Tag> {
    if session.tags.is_empty() {
        return Vec::new();
    }
    if let Some(slot) = hit {
        return session.tag(session.tree.head(slot)).into_iter().collect();
    }
    let place = session.tree_rows.place(row.first);
    let slots = session.tags.values().filter_map(|tag| Some((session.tree.by_key(tag.node)?, tag)));
    let mut here: Vec<(Slot, &Tag)> = slots.filter(|(slot, _)| session.tree_rows.place(*slot) == place).collect();
    here.sort_by_key(|(slot, _)| session.tree.depth(*slot));
    here.into_iter().take(3).map(|(_, tag)| tag).collect()
}

/// The guide lines before a row, or only the last ones if there are too many.
fn guides(view: &ViewContext<'_>, row: &Row, room: usize) -> String {
    let glyphs = &view.theme.glyphs;
    let depth = usize::try_from(row.depth).unwrap_or(usize::MAX);
    let past = depth - usize::from(row.side && depth > 0);
    let most = (room / 2).max(1);
    let mut lead = String::from(" ");
    if past > most {
        lead.push_str(glyphs.ellipsis);
    }
    let is_closed = |column: usize| column < 64 && row.closed >> column & 1 == 1;
    for column in past.saturating_sub(most)..past {
        lead.push_str(if is_closed(column) { "  " } else { glyphs.pipe });
    }
    if row.side {
        lead.push_str(if is_closed(past) { glyphs.corner } else { glyphs.tee });
    }
    lead
}

/// The right side of a row: branches, unread answers, number of messages, and date.
fn value(view: &ViewContext<'_>, session: &Session, row: &Row, folded: bool, width: u16) -> Line {
    let glyphs = &view.theme.glyphs;
    let mut line = Line::new();
    let branches = session.tree_rows.branches(row);
    for branch in branches.iter().take(3).filter_map(|id| session.find(*id)) {
        let here = branch.id == session.current;
        if session.unread.contains(&branch.id) {
            line.push(Ink::Warn, &format!("{} ", glyphs.unread));
        }
        let name = text::fit(&branch.name, usize::from(width) / 4, glyphs.ellipsis);
        line.push(if here { Ink::Heading } else { Ink::Accent }, &name);
        if here {
            line.push(Ink::Accent, &format!(" {}", glyphs.here));
        }
        line.push(Ink::Text, "  ");
    }
    if branches.len() > 3 {
        line.push(Ink::Dim, &format!("and {} more  ", branches.len() - 3));
    }
    let below = if folded { format!("+{} folded  ", text::number(u64::from(row.below))) } else { String::new() };
    line.push(Ink::Accent, &below);
    line.push(Ink::Dim, &format!("{:>5} ", text::number(u64::from(row.messages))));
    if width >= DATED {
        line.push(Ink::Dim, &format!("  {} ", view.date_time(session.tree.head(row.last).at)));
    }
    line
}
