//! The conversation pane: which rows of which messages are visible, and drawing exactly those.
//! Not for: the rows of one message (`message`).

use super::empty;
use super::message::{Block, BlockBuilder};
use crate::domain::base::ids::NodeId;
use crate::tui::chat::model::conversation::ScrollAnchor;
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::theme::{Ink, Theme};
use crate::tui::view::cache::Cache;
use crate::tui::view::{ViewContext, paint};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Works off what hangs on heights: scrolling, following, bringing the selection into view. Returns the nodes around the
/// view whose contents are not there.
pub(crate) fn settle(model: &mut Model, cache: &mut Cache, theme: &Theme, area: Rect) -> Vec<NodeId> {
    model.conversation.page = area.height;
    let Some(session) = &model.session else { return Vec::new() };
    let maker = BlockBuilder { model, session, theme, width: text_width(area) };
    let mut walk = Walk { maker: &maker, cache, page: usize::from(area.height) };
    let place = walk.settle();
    let top = walk.top(place);
    let shown = walk.visible(top);
    let last = model.conversation.path.len();
    let from = shown.start.saturating_sub(4);
    let nodes = &model.conversation.path[from.min(last)..(shown.end + 4).min(last)];
    let wanted = nodes.iter().map(|slot| session.tree.head(*slot).id).collect();
    let conversation = &mut model.conversation;
    conversation.place = place;
    conversation.scroll = 0;
    conversation.reveal = false;
    wanted
}

/// One column is kept free at the right for the scroll thumb, one at the left for the selection.
fn text_width(area: Rect) -> u16 {
    area.width.saturating_sub(3).max(1)
}

struct Walk<'a> {
    maker: &'a BlockBuilder<'a>,
    cache: &'a mut Cache,
    page: usize,
}

impl Walk<'_> {
    fn block(&mut self, at: usize) -> Block {
        self.maker.block(at, self.cache)
    }

    fn height(&mut self, at: usize) -> usize {
        self.block(at).len()
    }

    fn settle(&mut self) -> ScrollAnchor {
        let conversation = &self.maker.model.conversation;
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
        if reveal && count > 0 {
            place = self.revealed(place, conversation.cursor.min(count - 1));
        }
        self.settled(place)
    }

    /// Where a place begins, as a block and a row.
    fn top(&mut self, place: ScrollAnchor) -> (usize, usize) {
        match place {
            ScrollAnchor::At { block, row } => (block, row),
            ScrollAnchor::Bottom => self.above(self.maker.count(), self.page),
        }
    }

    /// The row that stands `rows` rows above the beginning of a block.
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

    /// A place from which a block is visible: unchanged if it is, else at the nearer edge.
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

    /// A place whose page reaches the end follows the end.
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

    /// The blocks visible from a row on.
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

pub(crate) fn draw(look: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) {
    let focus = look.focused(Focus::Conversation);
    let inside = area;
    if inside.is_empty() {
        return;
    }
    let Some(session) = &look.model.session else {
        return empty::opening(look, inside, buf);
    };
    let maker = BlockBuilder { model: look.model, session, theme: look.theme, width: text_width(inside) };
    let count = maker.count();
    if count == 0 {
        return empty::chat(look, session, inside, buf);
    }
    let mut walk = Walk { maker: &maker, cache, page: usize::from(inside.height) };
    let (mut block, mut row) = walk.top(look.model.conversation.place);
    let first = block;
    let mut y = inside.y;
    while y < inside.bottom() && block < count {
        let rows = walk.block(block);
        let from = y;
        let selected = focus && block == look.model.conversation.cursor;
        for line in rows.rows(row) {
            if y >= inside.bottom() {
                break;
            }
            let place = Rect { x: inside.x + 1, y, width: inside.width - 1, height: 1 };
            if rows.out {
                paint::line(look.theme, &line.clone().inked(Ink::Excluded), place, buf);
            } else {
                paint::coloured(look.theme, line, walk.cache, place, buf);
            }
            if selected {
                paint::select(look.theme, Rect { x: inside.x, y, width: inside.width, height: 1 }, buf);
            }
            y += 1;
        }
        if block < look.model.conversation.path.len() {
            let height = y - from;
            look.row(Focus::Conversation, Rect { y: from, height, ..inside }, block);
        }
        (block, row) = (block + 1, 0);
    }
    thumb(look, first, block, inside, buf);
}

fn thumb(look: &ViewContext<'_>, first: usize, after: usize, area: Rect, buf: &mut Buffer) {
    let weight = &look.model.conversation.weight;
    let upto = |at: usize| at.checked_sub(1).and_then(|at| weight.get(at.min(weight.len().saturating_sub(1)))).copied();
    let all = weight.last().copied().unwrap_or(0);
    let (from, to) = (upto(first).unwrap_or(0), upto(after).unwrap_or(all));
    if first > 0 || after < weight.len() {
        paint::thumb(look.theme, from, all, to.saturating_sub(from).max(1), area, buf);
    }
}
