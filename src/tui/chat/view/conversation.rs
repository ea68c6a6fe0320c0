//! Draws the conversation pane: finds the visible rows and draws only those.
//! Not for: the rows of one message (`message`).

use super::block::Block;
use super::empty;
use super::message::BlockBuilder;
use crate::domain::base::NodeId;
use crate::tui::chat::model::conversation::{DrawnRows, ScrollAnchor};
use crate::tui::chat::model::search::ConversationSearch;
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::text::matches::MatchPart;
use crate::tui::theme::Theme;
use crate::tui::view::prelude::*;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Applies pending scrolling, following, and revealing, which need the heights of rows. A notice covers `covered` rows
/// below the area. Returns the nodes near the view whose contents are missing.
pub(crate) fn settle(model: &mut Model, cache: &mut Cache, theme: &Theme, area: Rect, covered: u16) -> Vec<NodeId> {
    let size = (area.width, area.height + covered);
    (model.conversation.page, model.conversation.height) = (area.height, size.1);
    let unread = read_for_search(model, theme, area);
    expand_match(model, cache, theme, area);
    let Some(session) = &model.session else { return Vec::new() };
    let maker = BlockBuilder { model, session, theme, width: text_width(area) };
    let mut walk = Walk { maker: &maker, cache, page: usize::from(area.height), kept: None };
    let place = walk.settle(size);
    let top = walk.top(place);
    let drawn = DrawnRows { top, size, content: walk.content(top, size.1) };
    let shown = walk.visible(top);
    let last = model.conversation.path.len();
    let from = shown.start.saturating_sub(4);
    let nodes = &model.conversation.path[from.min(last)..(shown.end + 4).min(last)];
    let mut wanted: Vec<NodeId> = nodes.iter().map(|slot| session.tree.head(*slot).id).collect();
    wanted.extend(unread);
    let conversation = &mut model.conversation;
    (conversation.place, conversation.drawn) = (place, drawn);
    conversation.scroll = 0;
    conversation.reveal = false;
    if let Some(search) = &mut conversation.search {
        search.reveal = false;
    }
    wanted
}

/// How many messages the search reads per frame.
const READ_MESSAGES: usize = 200;
/// How many bytes of texts the search reads per frame.
const READ_BYTES: u64 = 512 << 10;

/// Reads the texts of more messages for the search. Returns the nodes whose contents are missing.
fn read_for_search(model: &mut Model, theme: &Theme, area: Rect) -> Vec<NodeId> {
    let (Some(mut search), Some(session)) = (model.conversation.search.take(), &model.session) else {
        return Vec::new();
    };
    let maker = BlockBuilder { model, session, theme, width: text_width(area) };
    let (mut missing, mut read, mut bytes, mut left) = (Vec::new(), 0, 0, 0);
    let path = model.conversation.path.as_slice();
    if !search.is_behind(path) {
        model.conversation.search = Some(search);
        return Vec::new();
    }
    for slot in path.iter().rev() {
        let head = session.tree.head(*slot);
        if search.knows(*slot, head.content) {
            continue;
        }
        if bytes > READ_BYTES || missing.len() + read >= READ_MESSAGES {
            left += 1;
            continue;
        }
        bytes += head.bytes;
        match model.bodies.get(head.id) {
            Some(node) => search.learn(*slot, head.content, &maker.searched_text(head, &node.content)),
            None if head.content.is_none() => search.learn(*slot, None, ""),
            None => {
                missing.push(head.id);
                left += 1;
                continue;
            }
        }
        read += 1;
    }
    search.was_read(path, left);
    if read > 0 {
        search.recount(&model.conversation.path);
        if let Some(found) = search.current().filter(|_| search.reveal) {
            model.conversation.point_at(found.block);
        }
    }
    model.conversation.search = Some(search);
    missing
}

/// Expands the message of the current match if its folded rows do not show the match, and folds the message that was
/// expanded before.
fn expand_match(model: &mut Model, cache: &mut Cache, theme: &Theme, area: Rect) {
    let (Some(search), Some(session)) = (&model.conversation.search, &model.session) else { return };
    let Some(found) = search.current().filter(|_| search.reveal) else { return };
    let Some(slot) = model.conversation.path.get(found.block).copied() else { return };
    let maker = BlockBuilder { model, session, theme, width: text_width(area) };
    let shown = maker.block(found.block, cache).matches(search);
    let lacks = shown.len() < search.count_in(found.block);
    let id = session.tree.head(slot).id;
    let before = search.expanded.filter(|before| *before != slot).map(|before| session.tree.head(before).id);
    let conversation = &mut model.conversation;
    let Some(search) = &mut conversation.search else { return };
    if let Some(before) = before {
        conversation.opened.remove(&before);
        search.expanded = None;
    }
    if lacks && conversation.opened.insert(id) {
        search.expanded = Some(slot);
    }
}

/// The number of the current match, ` 3 of 12`, and how many messages are still to be read.
pub(crate) fn search_count(view: &ViewContext<'_>, typed: bool) -> String {
    let Some(search) = view.model.conversation.search.as_ref().filter(|_| typed) else { return String::new() };
    let dot = view.theme.glyphs.dot;
    let reading = match search.unread {
        0 => String::new(),
        left => format!(" {dot} {} to read", text::counted(left as u64, "message")),
    };
    match search.position() {
        (_, 0) if search.unread > 0 => reading,
        (_, 0) => format!(" {dot} no match"),
        (at, count) => format!(" {dot} {} of {}{reading}", text::number(at as u64), text::number(count as u64)),
    }
}

/// Width of the text: without two columns for the selection and one for the scroll thumb.
fn text_width(area: Rect) -> u16 {
    area.width.saturating_sub(3).max(1)
}

/// Of how many rows at the end a change shows them above the notice: more than a notice covers.
const LAST_ROWS: usize = 6;

struct Walk<'a> {
    maker: &'a BlockBuilder<'a>,
    cache: &'a mut Cache,
    /// Number of visible rows.
    page: usize,
    /// The first row as last drawn, if it stays the first row while the end is followed.
    kept: Option<(usize, usize)>,
}

impl Walk<'_> {
    fn block(&mut self, at: usize) -> Block {
        self.maker.block(at, self.cache)
    }

    fn height(&mut self, at: usize) -> usize {
        self.block(at).len()
    }

    /// The scroll position after pending scrolling and revealing. `size` is that of the pane, including the rows that a
    /// notice covers.
    fn settle(&mut self, size: (u16, u16)) -> ScrollAnchor {
        let conversation = &self.maker.model.conversation;
        let drawn = conversation.drawn;
        self.kept = (drawn.size == size && drawn.content == self.content(drawn.top, size.1)).then_some(drawn.top);
        let before = conversation.place;
        let (mut place, scroll, reveal) = (conversation.place, conversation.scroll, conversation.reveal);
        let count = self.maker.count();
        if let ScrollAnchor::At { block, .. } = place
            && block >= count
        {
            place = ScrollAnchor::Bottom;
        }
        if scroll != 0 {
            place = self.scrolled(place, scroll);
        }
        if let Some(search) = conversation.search.as_ref().filter(|search| search.reveal) {
            place = self.match_revealed(place, search);
        } else if reveal && count > 0 {
            place = self.revealed(place, conversation.cursor.min(count - 1));
        }
        if scroll != 0 || place != before {
            self.kept = None;
        }
        self.settled(place)
    }

    /// Number of messages, number of rows from a row to the end, at most `height` + 1, and a hash of the last rows.
    fn content(&mut self, (top, row): (usize, usize), height: u16) -> (usize, usize, u64) {
        let (count, most) = (self.maker.count(), usize::from(height) + 1);
        let mut rows = 0;
        for block in top..count {
            rows += self.height(block);
            if rows >= row + most {
                return (count, most, 0);
            }
        }
        let mut hash = DefaultHasher::new();
        if let Some(last) = count.checked_sub(1) {
            let block = self.block(last);
            let pieces = block.rows(block.len().saturating_sub(LAST_ROWS)).flat_map(|line| &line.pieces);
            pieces.for_each(|piece| piece.text.hash(&mut hash));
        }
        (count, rows.saturating_sub(row), hash.finish())
    }

    /// The first visible row of a scroll position, as a block and a row in it.
    fn top(&mut self, place: ScrollAnchor) -> (usize, usize) {
        match place {
            ScrollAnchor::At { block, row } => (block, row),
            ScrollAnchor::Bottom => self.kept.unwrap_or_else(|| self.above(self.maker.count(), self.page)),
        }
    }

    /// The row that is `rows` rows above the beginning of a block.
    fn above(&mut self, mut block: usize, mut rows: usize) -> (usize, usize) {
        while block > 0 {
            block -= 1;
            let height = self.height(block);
            if height >= rows {
                return (block, height - rows);
            }
            rows -= height;
        }
        (0, 0)
    }

    fn scrolled(&mut self, place: ScrollAnchor, by: i64) -> ScrollAnchor {
        if by <= i64::MIN / 4 {
            return ScrollAnchor::At { block: 0, row: 0 };
        }
        if by >= i64::MAX / 4 {
            return ScrollAnchor::Bottom;
        }
        let (mut block, mut row) = self.top(place);
        let mut left = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX).min(100_000);
        if by < 0 {
            if left <= row {
                return ScrollAnchor::At { block, row: row - left };
            }
            left -= row;
            (block, row) = self.above(block, left);
            return ScrollAnchor::At { block, row };
        }
        let count = self.maker.count();
        while block < count {
            let height = self.height(block);
            if row + left < height {
                return ScrollAnchor::At { block, row: row + left };
            }
            left -= height.saturating_sub(row);
            (block, row) = (block + 1, 0);
        }
        ScrollAnchor::Bottom
    }

    /// A scroll position that shows a block: unchanged if the block is visible, otherwise with the block at the nearer
    /// edge.
    fn revealed(&mut self, place: ScrollAnchor, cursor: usize) -> ScrollAnchor {
        let (block, row) = self.top(place);
        if cursor < block || cursor == block && row > 0 {
            return ScrollAnchor::At { block: cursor, row: 0 };
        }
        let visible = self.visible((block, row));
        let mut used = 0;
        for at in visible.clone() {
            used += self.height(at) - if at == block { row } else { 0 };
            if at == cursor {
                break;
            }
        }
        if visible.contains(&cursor) && used <= self.page {
            return place;
        }
        if self.height(cursor) >= self.page {
            return ScrollAnchor::At { block: cursor, row: 0 };
        }
        let (block, row) = self.above(cursor + 1, self.page);
        ScrollAnchor::At { block, row }
    }

    /// A scroll position that shows the current match: unchanged if the match is visible, otherwise with the match at a
    /// third of the page.
    fn match_revealed(&mut self, place: ScrollAnchor, search: &ConversationSearch) -> ScrollAnchor {
        let Some(found) = search.current() else { return place };
        let rows = self.block(found.block).matches(search);
        let row = rows.get(found.nth).or(rows.last()).and_then(|parts| parts.first()).map_or(0, |part| part.row);
        let (block, top) = self.top(place);
        let above = found.block < block || found.block == block && row < top;
        let rows_before = (block..found.block).map(|at| self.height(at)).sum::<usize>() + row;
        if !above && rows_before < top + self.page {
            return place;
        }
        let room = self.page / 3;
        if row >= room {
            return ScrollAnchor::At { block: found.block, row: row - room };
        }
        let (block, row) = self.above(found.block, room - row);
        ScrollAnchor::At { block, row }
    }

    /// Converts a scroll position whose page reaches the end to one that follows the end.
    fn settled(&mut self, place: ScrollAnchor) -> ScrollAnchor {
        let ScrollAnchor::At { block, row } = place else { return place };
        let count = self.maker.count();
        let mut left = 0;
        for at in block..count {
            left += self.height(at);
            if left > row + self.page {
                return place;
            }
        }
        ScrollAnchor::Bottom
    }

    /// The visible blocks, starting from a row.
    fn visible(&mut self, (block, row): (usize, usize)) -> std::ops::Range<usize> {
        let count = self.maker.count();
        let mut used = 0;
        for at in block..count {
            used += self.height(at);
            if used >= row + self.page {
                return block..at + 1;
            }
        }
        block..count
    }
}

/// Draws the pane. `notice` is the number of rows that a notice takes from it.
pub(crate) fn draw(view: &ViewContext<'_>, cache: &mut Cache, area: Rect, notice: u16, buf: &mut Buffer) {
    let focus = view.focused(Focus::Conversation);
    if area.is_empty() {
        return;
    }
    let Some(session) = &view.model.session else { return empty::opening(view, area, buf) };
    let maker = BlockBuilder { model: view.model, session, theme: view.theme, width: text_width(area) };
    let count = maker.count();
    if count == 0 {
        return empty::chat(view, session, area, notice, buf);
    }
    let mut walk = Walk { maker: &maker, cache, page: usize::from(area.height), kept: None };
    let (mut block, mut row) = view.model.conversation.drawn.top;
    let first = block;
    let mut y = area.y;
    while y < area.bottom() && block < count {
        let rows = walk.block(block);
        let from = y;
        let search = view.model.conversation.search.as_ref();
        let selected = focus && block == view.model.conversation.cursor && search.is_none();
        let found = search.map(|search| rows.matches(search)).unwrap_or_default();
        let current = search.and_then(ConversationSearch::current).filter(|current| current.block == block);
        for (nth, line) in rows.rows(row).enumerate() {
            if y >= area.bottom() {
                break;
            }
            let place = Rect { x: area.x + 1, y, width: area.width - 1, height: 1 };
            if rows.out {
                paint::line(view.theme, &line.clone().inked(Ink::Excluded), place, buf);
            } else {
                paint::colored(view.theme, line, walk.cache, place, buf);
            }
            if selected {
                paint::select(view.theme, Rect { y, height: 1, ..area }, buf);
            }
            mark_matches(view, &found, current.map(|current| current.nth), row + nth, place, buf);
            y += 1;
        }
        if block < view.model.conversation.path.len() {
            let height = y - from;
            view.row(Focus::Conversation, Rect { y: from, height, ..area }, block);
        }
        (block, row) = (block + 1, 0);
    }
    thumb(view, first, block, area, buf);
}

/// Highlights the parts of matches in one row.
fn mark_matches(
    view: &ViewContext<'_>,
    found: &[Vec<MatchPart>],
    current: Option<usize>,
    row: usize,
    place: Rect,
    buf: &mut Buffer,
) {
    for (nth, parts) in found.iter().enumerate() {
        let ink = if current == Some(nth) { Ink::CurrentMatch } else { Ink::SearchMatch };
        for part in parts.iter().filter(|part| part.row == row) {
            let column = |at: usize| u16::try_from(at).unwrap_or(u16::MAX).min(place.width);
            let (from, to) = (column(part.columns.start), column(part.columns.end));
            paint::mark(view.theme, ink, Rect { x: place.x + from, width: to - from, ..place }, buf);
        }
    }
}

fn thumb(view: &ViewContext<'_>, first: usize, after: usize, area: Rect, buf: &mut Buffer) {
    let weight = &view.model.conversation.weight;
    let upto = |at: usize| at.checked_sub(1).and_then(|at| weight.get(at.min(weight.len().saturating_sub(1)))).copied();
    let all = weight.last().copied().unwrap_or(0);
    let (from, to) = (upto(first).unwrap_or(0), upto(after).unwrap_or(all));
    if first > 0 || after < weight.len() {
        let [from, all, page] =
            [from, all, to.saturating_sub(from).max(1)].map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
        paint::thumb(view.theme, from, all, page, area, buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::{BranchId, SessionId};
    use crate::domain::conversation::{Branch, SessionCard};
    use crate::tui::chat::model::live::Live;
    use crate::tui::model::session::Session;
    use std::rc::Rc;

    /// A frame asks for the rows of the arriving answer many times.
    #[test]
    fn the_rows_of_an_arriving_answer_are_not_copied() {
        let (id, branch) = (SessionId(uuid::Uuid::nil()), BranchId(uuid::Uuid::nil()));
        let card = SessionCard { id, title: String::new(), created_at: 0, updated_at: 0, messages: 0, branches: 1 };
        let session = Session::new(card, Vec::new(), vec![Branch::new(branch, id, "main", None, 0)], branch);
        let mut model = Model::default();
        model.live.insert(branch, Live { text: "one long paragraph ".repeat(100), ..Live::default() });
        let theme = Theme::built_in("mono", false);
        let maker = BlockBuilder { model: &model, session: &session, theme: &theme, width: 40 };
        let mut cache = Cache::default();
        let mut longest = || maker.block(0, &mut cache).parts.into_iter().max_by_key(|part| part.len()).unwrap();
        let (first, second) = (longest(), longest());
        assert!(first.len() > 40 && Rc::ptr_eq(&first, &second));
    }
}
