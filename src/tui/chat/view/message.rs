//! Builds the rows of a message (header, body, footer) and of the open turn.
//! Not for: scrolling (`conversation`).

use super::block::Block;
use super::tools;
use crate::domain::base::money::money;
use crate::domain::base::{BranchId, Fields, time};
use crate::domain::call::{Certainty, RunCard, StopCause, Usage};
use crate::domain::conversation::state;
use crate::domain::conversation::{Content, End, MarkKind, NodeHead, Part, Role, Slot};
use crate::domain::tool::ToolStatus;
use crate::domain::tool::resolution::argument;
use crate::tui::chat::model::live::Live;
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::session::Session;
use crate::tui::text::markdown::{GrowingText, MarkdownStyle};
use crate::tui::text::matches;
use crate::tui::theme::Theme;
use crate::tui::view::cache::{CacheKey, GrowingRows};
use crate::tui::view::prelude::*;
use std::rc::Rc;

/// How many bytes of a long user message are shown while it is folded.
const FOLD_BYTES: usize = 6_000;
/// How many rows of a long user message are shown while it is folded.
const FOLD_ROWS: usize = 40;
/// Code blocks with more lines than this are folded to half of it in an answer.
const FOLD_CODE: usize = 60;
/// How many bytes of an expanded tool result are shown; the list of tool calls has the rest.
const TOOL_BYTES: usize = 200_000;

/// A width at which no row of a searched text wraps.
const SEARCHED_WIDTH: usize = 100_000;

/// Builds blocks from the model, at a width.
pub(crate) struct BlockBuilder<'a> {
    pub(crate) model: &'a Model,
    pub(crate) session: &'a Session,
    pub(crate) theme: &'a Theme,
    pub(crate) width: u16,
}

impl BlockBuilder<'_> {
    /// Number of blocks: the messages of the path, and one for the open or failed turn.
    pub(crate) fn count(&self) -> usize {
        self.model.conversation.path.len() + usize::from(self.tail_there())
    }

    fn tail_there(&self) -> bool {
        let branch = self.session.current;
        self.model.live.contains_key(&branch)
            || self.model.conversation.failed.contains_key(&branch)
            || !self.model.queue.of(branch).is_empty()
    }

    /// Builds the block at an index.
    pub(crate) fn block(&self, at: usize, cache: &mut Cache) -> Block {
        match self.model.conversation.path.get(at) {
            Some(slot) => self.message(at, *slot, cache),
            None => self.tail(self.session.current, cache),
        }
    }

    fn message(&self, at: usize, slot: Slot, cache: &mut Cache) -> Block {
        let head = self.session.tree.head(slot);
        if head.is_blank() {
            return Block::default();
        }
        let mark = self.model.conversation.marks.get(at).copied().flatten();
        let mut block = Block { out: mark.is_some_and(MarkKind::excludes) || head.hidden, ..Block::default() };
        if head.role == Role::Tool {
            block.own(vec![self.tool_line(at, head, mark)]);
            if self.opened(head) {
                block.body(self.body(head, cache));
            }
            block.own(self.stop(at, head));
        } else {
            block.own(vec![self.header(at, slot, head, mark)]);
            block.body(self.body(head, cache));
            block.own(self.footer(at, head));
        }
        let next = self.model.conversation.path.get(at + 1).map(|slot| self.session.tree.head(*slot).role);
        if next != Some(Role::Tool) {
            block.own(vec![Line::new()]);
        }
        block
    }

    fn opened(&self, head: &NodeHead) -> bool {
        self.model.conversation.opened.contains(&head.id)
    }

    fn dot(&self) -> String {
        format!(" {} ", self.theme.glyphs.dot)
    }

    fn header(&self, at: usize, slot: Slot, head: &NodeHead, mark: Option<MarkKind>) -> Line {
        let mut line = Line::new();
        self.put_signs(&mut line, head, mark);
        let name = match head.role {
            Role::User => head.name.as_deref().unwrap_or("you"),
            Role::Assistant => head.model.as_deref().unwrap_or("model"),
            Role::System => "instructions",
            Role::Tool => "tool",
        };
        line.push(if head.role == Role::User { Ink::You } else { Ink::Model }, name);
        if head.at > 0 {
            line.push(Ink::Dim, &format!("{}{}", self.dot(), time::clock(head.at, self.model.facts.offset)));
        }
        if let Some(run) = self.session.run_of_answer(head.id) {
            let room = usize::from(self.width).saturating_sub(line.width());
            let is_selected = self.model.focus == Focus::Conversation && self.model.conversation.cursor == at;
            line.push(Ink::Dim, &self.account(run, is_selected, room));
        }
        let (place, count) = self.session.tree.place(slot);
        if count > 1 {
            let (open, close) = self.theme.glyphs.sibling;
            line.push(Ink::Accent, &format!(" {open}{}/{count}{close}", place + 1));
        }
        if head.hidden {
            line.push(Ink::Dim, &format!("{}hidden, never sent", self.dot()));
        }
        line
    }

    /// Appends the signs of a message's mark and tag.
    fn put_signs(&self, line: &mut Line, head: &NodeHead, mark: Option<MarkKind>) {
        let glyphs = &self.theme.glyphs;
        let sign = mark.map(|mark| match mark {
            MarkKind::Sticky => (Ink::Pinned, glyphs.pin, String::new()),
            MarkKind::Leased { turns } => (Ink::Leased, glyphs.lease, turns.to_string()),
            MarkKind::Exclude => (Ink::Excluded, glyphs.out, String::new()),
            MarkKind::ExcludeOnce => (Ink::Excluded, glyphs.out, "1".to_owned()),
            MarkKind::IncludeOnce => (Ink::Accent, glyphs.once, "1".to_owned()),
            MarkKind::Ephemeral => (Ink::Leased, glyphs.lease, "1".to_owned()),
        });
        if let Some((ink, sign, left)) = sign {
            line.push(ink, &format!("{sign}{left} "));
        }
        if let Some(tag) = self.session.tag(head) {
            paint::tag(self.theme, line, tag);
        }
    }

    /// The known figures of a call, ` · 1,204 in (600 cached) · 310 out · $0.0011`, shortened to fit. For the selected
    /// message, also how much of its context the answer used, ` · 12 shown, 3 used`.
    fn account(&self, run: &RunCard, is_selected: bool, room: usize) -> String {
        let dot = self.dot();
        let usage = &run.usage;
        let bare = Usage { prompt: usage.prompt, completion: usage.completion, ..Usage::default() };
        let cost = run.cost_micro.map_or_else(String::new, |micro| dot.clone() + &money(micro));
        let (full, less) = (usage.to_text(run.est_total, &dot), bare.to_text(run.est_total, &dot));
        let uses = run.uses.filter(|_| is_selected).map_or_else(String::new, |uses| dot.clone() + &uses.to_text());
        let short = less.clone() + &cost;
        let ways =
            [full.clone() + &cost + &uses, short.clone() + &uses, less.clone() + &uses, full + &cost, short, less];
        let fits = ways.into_iter().map(|words| dot.clone() + &words).find(|words| text::width(words) <= room);
        fits.unwrap_or_default()
    }

    fn body(&self, head: &NodeHead, cache: &mut Cache) -> Rc<Vec<Line>> {
        let width = usize::from(self.width);
        if head.end == End::Removed {
            return Rc::new(vec![Line::of(Ink::Dim, "text deleted")]);
        }
        let Some(node) = self.model.bodies.get(head.id) else {
            if head.content.is_none() && head.bytes == 0 {
                return Rc::default();
            }
            let preview = format!("{} {}", head.preview, self.theme.glyphs.ellipsis);
            return Rc::new(TextRows::plain(&preview, width, Ink::Dim));
        };
        let opened = self.opened(head);
        let of = CacheKey::Body(head.id, head.content, opened);
        cache.rows(of, self.width, || self.wrap(head, &node.content, opened, width))
    }

    /// The text of a message for the search: all text that the expanded message shows.
    pub(crate) fn searched_text(&self, head: &NodeHead, content: &Content) -> String {
        matches::text_of(&self.wrap(head, content, true, SEARCHED_WIDTH))
    }

    fn wrap(&self, head: &NodeHead, content: &Content, opened: bool, width: usize) -> Vec<Line> {
        let mut rows = Vec::new();
        for part in &content.parts {
            match part {
                Part::Reasoning { text } => rows.extend(self.thought(text, opened, width)),
                Part::Opaque { mime, bytes, .. } => {
                    rows.push(Line::of(Ink::Tool, &format!("[{mime}, {} bytes]", text::number(*bytes))));
                }
                Part::Text { .. } | Part::Call { .. } | Part::Reply { .. } => {}
            }
        }
        let text = content.plain_text();
        match head.role {
            Role::Assistant => {
                rows.extend(self.filled(&state::strip(&text, head.end == End::Complete), width, opened));
            }
            Role::Tool => {
                rows.extend(TextRows::plain(&text[..text.floor_char_boundary(TOOL_BYTES)], width, Ink::Code));
            }
            Role::User | Role::System if opened => rows.extend(self.filled(&text, width, true)),
            Role::User | Role::System => rows.extend(self.folded(&text, width)),
        }
        let unanswered = usize::from(head.calls).saturating_sub(self.answered(head));
        if unanswered > 0 {
            for (_, name, args) in content.calls().take(unanswered) {
                let line = Line::of(Ink::Warn, self.theme.glyphs.folded).with(Ink::Tool, &format!(" {name} "));
                rows.push(line.with(Ink::Dim, &text::fit(args, 60, self.theme.glyphs.ellipsis)));
            }
        }
        rows
    }

    /// Number of results below this message that answer its tool calls.
    fn answered(&self, head: &NodeHead) -> usize {
        let Some(mut at) = self.session.tree.slot(head.id) else { return 0 };
        let mut count = 0;
        while let [only, ..] = self.session.tree.children(Some(at)) {
            if self.session.tree.head(*only).role != Role::Tool {
                break;
            }
            at = *only;
            count += 1;
        }
        count
    }

    fn thought(&self, thought: &str, opened: bool, width: usize) -> Vec<Line> {
        let glyphs = &self.theme.glyphs;
        let sign = if opened { glyphs.opened } else { glyphs.folded };
        let chars = u64::try_from(thought.chars().count()).unwrap_or(0);
        let line = format!("{sign} thinking{}{} characters", self.dot(), text::number(chars));
        let mut rows = vec![Line::of(Ink::Dim, &line)];
        if opened {
            rows.extend(TextRows::plain(thought, width, Ink::Dim));
        }
        rows
    }

    fn folded(&self, text: &str, width: usize) -> Vec<Line> {
        if text.len() <= FOLD_BYTES && text.lines().count() <= FOLD_ROWS {
            return self.filled(text, width, false);
        }
        let shown = text.floor_char_boundary(FOLD_BYTES);
        let mut rows = self.filled(&text[..shown], width, true);
        rows.truncate(FOLD_ROWS);
        let (shown, bytes) = (text::number(shown as u64), text::number(text.len() as u64));
        let sign = self.theme.glyphs.folded;
        let line = format!("{sign} the first {shown} of {bytes} bytes{}", self.opens());
        rows.push(Line::of(Ink::Accent, &text::fit(&line, width, self.theme.glyphs.ellipsis)));
        rows
    }

    /// The arguments of the call that the result at this place answers, if the call's message is loaded.
    fn arguments(&self, at: usize) -> Option<String> {
        let path = &self.model.conversation.path;
        let heads = || path[..at].iter().rev().map(|slot| self.session.tree.head(*slot));
        let before = heads().take_while(|head| head.role == Role::Tool).count();
        let call = self.model.bodies.get(heads().nth(before)?.id)?;
        call.content.calls().nth(before).map(|(_, _, args)| argument(args))
    }

    fn tool_line(&self, at: usize, head: &NodeHead, mark: Option<MarkKind>) -> Line {
        let glyphs = &self.theme.glyphs;
        let sign = if self.opened(head) { glyphs.opened } else { glyphs.folded };
        let mut line = Line::of(Ink::Dim, &format!("{sign} "));
        self.put_signs(&mut line, head, mark);
        let Some(trace) = self.session.trace_of(head.id) else {
            line.push(Ink::Tool, head.name.as_deref().unwrap_or("tool result"));
            let words = self.arguments(at).unwrap_or_else(|| tools::preview(&head.preview).into_owned());
            let room = usize::from(self.width).saturating_sub(line.width() + 1);
            return line.with(Ink::Dim, &format!(" {}", text::fit(&words, room, glyphs.ellipsis)));
        };
        line.push(Ink::Tool, &trace.title());
        let fixed = self.model.tools.fixes.get(&head.id);
        let reserved = fixed.map_or(0, |(_, text)| (text::width(text) + 3).min(usize::from(self.width) / 2));
        let room = usize::from(self.width).saturating_sub(line.width() + 14 + reserved).min(60);
        line.push(Ink::Dim, &format!(" {} ", text::fit(&argument(&trace.args), room, glyphs.ellipsis)));
        let (ink, sign) = tools::sign(self.theme, trace.status);
        line.push(ink, sign);
        line.push(Ink::Dim, &format!(" {}", text::duration(trace.duration_ms)));
        let failed = matches!(trace.status, Some(ToolStatus::Failed | ToolStatus::Refused));
        let note = fixed.map(|(good, text)| (if *good { Ink::Good } else { Ink::Warn }, text.as_str()));
        let preview = tools::preview(&head.preview);
        if let Some((ink, text)) = note.or_else(|| failed.then_some((Ink::Dim, &*preview))) {
            let room = usize::from(self.width).saturating_sub(line.width() + 3);
            if room >= 12 && !text.is_empty() {
                line.push(ink, &format!("{}{}", self.dot(), text::fit(text, room, glyphs.ellipsis)));
            }
        }
        line
    }

    fn footer(&self, at: usize, head: &NodeHead) -> Vec<Line> {
        let mut rows = Vec::new();
        if head.role == Role::User
            && let Some(run) = self.session.run_of_user(head.id)
        {
            rows.extend(self.attached(run, self.has_new_marks(at, run)));
        }
        if let Some(short) = self.session.short_read_at(&self.model.conversation.path, at) {
            let wrapped = |ink, text: &str| TextRows::plain(text, usize::from(self.width).max(3) - 2, ink);
            let all = wrapped(Ink::Warn, &short.sentence()).into_iter().chain(wrapped(Ink::Dim, short.todo()));
            let signs = std::iter::once("! ").chain(std::iter::repeat("  "));
            rows.extend(signs.zip(all).map(|(sign, row)| Line::of(Ink::Warn, sign).and(row)));
        }
        let what = match head.end {
            End::Complete | End::Removed => return rows,
            End::Truncated => self.why_truncated(head),
            End::Cancelled => "stopped",
            End::Interrupted => "interrupted: pleach ended during the answer",
            End::Errored => "failed; the text received so far is kept",
        };
        rows.push(self.unfinished(at, what));
        rows
    }

    /// Says below the last tool result that the turn ended without an answer.
    fn stop(&self, at: usize, head: &NodeHead) -> Vec<Line> {
        let is_last = at + 1 == self.model.conversation.path.len();
        if !is_last || self.model.live.contains_key(&self.session.current) {
            return Vec::new();
        }
        let trace = self.session.trace_of(head.id);
        let is_stopped = trace.is_some_and(|trace| trace.status == Some(ToolStatus::Cancelled));
        vec![self.unfinished(at, if is_stopped { "stopped" } else { "no answer to this result yet" })]
    }

    /// `✕ stopped · c continue · R regenerate`, only below the last message; the commands `/continue · /regenerate` while
    /// the keys would be typed.
    fn unfinished(&self, at: usize, what: &str) -> Line {
        let mut line = Line::of(Ink::Warn, &format!("{} {what}", self.theme.glyphs.out));
        if at + 1 == self.model.conversation.path.len() {
            let has_focus = self.model.focus == Focus::Conversation;
            let key = |action| self.model.keys.key_of(action).filter(|_| has_focus);
            for (action, word) in [(Action::Continue, "continue"), (Action::Regenerate, "regenerate")] {
                let act = key(action).map_or_else(|| format!("/{}", action.name()), |key| format!("{key} {word}"));
                let hint = format!("{}{act}", self.dot());
                // A hint that does not fit is left out, and so are those after it.
                if line.width() + text::width(&hint) > usize::from(self.width) {
                    break;
                }
                line.push(Ink::Dim, &hint);
            }
        }
        line
    }

    /// Why an answer is not complete although no call failed, by the finish reason that the server gave.
    fn why_truncated(&self, head: &NodeHead) -> &'static str {
        let run = self.session.run_of_answer(head.id);
        match run.map(|run| run.finish_reason.as_deref().map(StopCause::of)) {
            Some(Some(StopCause::OutputLimit)) => "cut off: the answer reached the output limit",
            Some(Some(StopCause::ContentFilter)) => "cut off by the server's content filter",
            Some(Some(StopCause::Other) | None) => "cut off: the server ended the stream early",
            None => "cut off",
        }
    }

    /// Whether a call has other marked items than the call of the turn before it.
    fn has_new_marks(&self, at: usize, run: &RunCard) -> bool {
        let mut earlier = self.model.conversation.path[..at].iter().rev().map(|slot| self.session.tree.head(*slot).id);
        let is_other = |before: &RunCard| (before.marked, before.marks) != (run.marked, run.marks);
        run.marked > 0 && earlier.find_map(|node| self.session.run_of_user(node)).is_none_or(is_other)
    }

    /// What is unusual about a request: the items that the mode added, and the number of items that a person marked if
    /// the marks changed; None if nothing is.
    /// `└ Light added 5 items, 612 tokens · 1 marked item · Ctrl+O shows the request`
    fn attached(&self, run: &RunCard, has_new_marks: bool) -> Option<Line> {
        let dot = self.dot();
        let key = self.model.keys.key_of(Action::NextRequest).unwrap_or_default();
        let mut facts = Vec::new();
        if run.edited {
            facts.push("request edited by hand".to_owned());
        }
        if run.items > 0 {
            let (items, tokens) = (text::counted(u64::from(run.items), "item"), text::short(u64::from(run.attached)));
            facts.push(format!("{} added {items}, {tokens} tokens", run.mode.title()));
        }
        facts.extend(has_new_marks.then(|| text::counted(u64::from(run.marked), "marked item")));
        let line = format!("{} {}{dot}{key} shows the request", self.theme.glyphs.under, facts.join(&dot));
        (!facts.is_empty()).then(|| Line::of(Ink::Dim, &line))
    }

    fn tail(&self, branch: BranchId, cache: &mut Cache) -> Block {
        let mut block = Block::default();
        if let Some(live) = self.model.live.get(&branch) {
            self.live(live, &mut block, cache);
        }
        self.failure(branch, &mut block);
        self.queued(branch, &mut block);
        block
    }

    fn live(&self, live: &Live, block: &mut Block, cache: &mut Cache) {
        let width = usize::from(self.width);
        if !live.user.is_empty() {
            block.own(vec![Line::of(Ink::You, "you").with(Ink::Dim, &format!("{}now", self.dot()))]);
            // A folded message depends only on its beginning and its length.
            let start = &live.user.as_bytes()[..live.user.floor_char_boundary(FOLD_BYTES)];
            let key = Fields::new("open message").bytes(start).number(live.user.len() as u64).finish();
            block.parts.push(cache.rows(CacheKey::Text(key, false), self.width, || self.folded(&live.user, width)));
            block.own(vec![Line::new()]);
        }
        block.own(vec![self.live_header(live)]);
        if !live.reasoning.is_empty() {
            let chars = text::number(u64::try_from(live.reasoning.len()).unwrap_or(0));
            let sign = self.theme.glyphs.folded;
            block.own(vec![Line::of(Ink::Dim, &format!("{sign} thinking{}{chars} bytes", self.dot()))]);
        }
        self.growing(live, block, cache);
        let open = self.session.traces.iter().rev().take(64).filter(|t| t.node.is_none() && Some(t.run) == live.run);
        let mut calls: Vec<Line> = open.map(|trace| self.open_call(trace)).collect();
        calls.reverse();
        block.own(calls);
        let view = ViewContext { theme: self.theme, model: self.model };
        block.own(tools::running_output(&view, live, cache, width));
        if let Some(retry) = &live.retry {
            let seconds = retry.until.saturating_sub(self.model.now).div_ceil(1000);
            let why = crate::domain::base::plain_text::capitalized(retry.why.trim_end_matches('.'));
            let key = view.key(Action::Leave);
            let text = format!("{why}. Attempt {} starts in {seconds} s; {key} stops.", retry.attempt);
            block.own(TextRows::plain(&text, width, Ink::Warn));
        }
        block.own(vec![Line::new()]);
    }

    fn open_call(&self, trace: &crate::domain::tool::trace::ToolTrace) -> Line {
        let (ink, sign) = tools::sign(self.theme, trace.status);
        let line = Line::of(Ink::Dim, &format!("{} ", self.theme.glyphs.folded)).with(Ink::Tool, &trace.title());
        let args = text::fit(&argument(&trace.args), usize::from(self.width / 2), self.theme.glyphs.ellipsis);
        line.with(Ink::Dim, &format!(" {args} ")).with(ink, sign)
    }

    fn live_header(&self, live: &Live) -> Line {
        let name = self.session.settings().map_or("model", |settings| settings.model.name.as_str());
        let mut parts = vec![(0, Line::of(Ink::Model, name))];
        let doing = match (live.stopping, live.text.is_empty() && live.reasoning.is_empty()) {
            (true, _) => "stopping",
            (false, true) => "waiting",
            (false, false) => "answering",
        };
        let (dot, sign, seconds) = (self.dot(), self.theme.glyphs.running, live.seconds(self.model.now));
        if live.asks.is_some() && !live.stopping {
            parts.push((0, Line::of(Ink::Warn, &format!("{dot}{sign} waiting for approval"))));
        } else {
            parts.push((0, Line::of(Ink::Accent, &format!("{dot}{sign} {doing} {seconds} s"))));
        }
        if live.tokens > 0 {
            let counted = live.certainty == Some(Certainty::Actual);
            let about = if counted { String::new() } else { format!("{} ", self.theme.glyphs.about) };
            let words = format!("{dot}{about}{} out", text::number(u64::from(live.tokens)));
            parts.push((1, Line::of(Ink::Dim, &words)));
        }
        if let Some(cost) = live.cost {
            let words = format!("{dot}{}", text::about_money(self.theme.glyphs.about, cost));
            parts.push((2, Line::of(Ink::Dim, &words)));
        }
        let width = usize::from(self.width);
        Line::of_parts(parts, width).fit(width, self.theme.glyphs.ellipsis)
    }

    /// Appends the streamed text. Finished Markdown blocks are laid out once; only the last block is laid out again.
    fn growing(&self, live: &Live, block: &mut Block, cache: &mut Cache) {
        let shown = live.text.get(..state::shown_while_streaming(&live.text)).unwrap_or_default();
        let stale = |g: &GrowingRows| g.run != live.run || g.width != self.width || g.rows.is_ahead_of(shown);
        if cache.growing.as_ref().is_none_or(stale) {
            let rows = GrowingText::new(usize::from(self.width), Ink::Text, self.look());
            cache.growing = Some(GrowingRows { run: live.run, width: self.width, rows });
        }
        let Some(growing) = &mut cache.growing else { return };
        growing.rows.feed(shown);
        block.parts.push(growing.rows.done.clone());
        block.parts.push(growing.rows.open.clone());
    }

    fn look(&self) -> MarkdownStyle {
        ViewContext { theme: self.theme, model: self.model }.markdown()
    }

    /// Names the key that unfolds a message.
    fn opens(&self) -> String {
        let key = self.model.keys.key_of(Action::FoldMessage);
        key.map_or_else(String::new, |key| format!("; {key} on the message opens it"))
    }

    /// The rows of a Markdown text; long code blocks are folded unless `opened`.
    fn filled(&self, text: &str, width: usize, opened: bool) -> Vec<Line> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        let look = self.look();
        let look = if opened { look } else { look.folding(FOLD_CODE, &self.opens()) };
        TextRows::drawn(text.trim_end(), width, Ink::Text, look)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::ids::SessionId;
    use crate::domain::conversation::branch::{Branch, SessionCard};
    use std::sync::Arc;

    #[test]
    fn a_fact_of_the_open_turn_is_whole_or_absent() {
        let (id, branch) = (SessionId(uuid::Uuid::nil()), BranchId(uuid::Uuid::nil()));
        let card = SessionCard { id, title: String::new(), created_at: 0, updated_at: 0, messages: 0, branches: 1 };
        let session = Session::new(card, Vec::new(), vec![Branch::new(branch, id, "main", None, 0)], branch);
        let (model, theme) = (Model::default(), Theme::built_in("mono", false));
        let live = Live { tokens: 26, ..Live::open("hello".into(), None, 0) };
        let header =
            |width| BlockBuilder { model: &model, session: &session, theme: &theme, width }.live_header(&live).plain();
        assert_eq!(header(60), "model · ◌ waiting 0 s · ≈ 26 out");
        assert_eq!(header(31), "model · ◌ waiting 0 s");
    }

    #[test]
    fn a_message_at_the_address_of_another_has_its_own_rows() {
        let (id, branch) = (SessionId(uuid::Uuid::nil()), BranchId(uuid::Uuid::nil()));
        let card = SessionCard { id, title: String::new(), created_at: 0, updated_at: 0, messages: 0, branches: 1 };
        let session = Session::new(card, Vec::new(), vec![Branch::new(branch, id, "main", None, 0)], branch);
        let (model, theme) = (Model::default(), Theme::built_in("mono", false));
        let maker = BlockBuilder { model: &model, session: &session, theme: &theme, width: 40 };
        let mut cache = Cache::default();
        let mut shown = |live: &Live| {
            let mut block = Block::default();
            maker.live(live, &mut block, &mut cache);
            block.rows(1).next().map(Line::plain)
        };
        let mut live = Live::open("hello".into(), None, 0);
        assert_eq!(shown(&live).as_deref(), Some("hello"));
        Arc::get_mut(&mut live.user).unwrap().make_ascii_uppercase();
        assert_eq!(shown(&live).as_deref(), Some("HELLO"));
    }
}
