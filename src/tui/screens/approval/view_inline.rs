//! Draws a pending tool call within the conversation: its effect and its protection. The footer names the key that answers.
//! Not for: the screen that takes the answer (`view`).

use super::model::ApprovalScreen;
use super::view;
use crate::domain::base::Fields;
use crate::domain::tool::mcp::{OUTSIDE, display_name};
use crate::domain::tool::{FileChange, PendingApproval, ToolEffect};
use crate::tui::screens::traces::view::{AROUND, pretty};
use crate::tui::view::cache::CacheKey;
use crate::tui::view::prelude::*;
use std::sync::Arc;

/// Least number of rows for the effect, in a low conversation.
const LEAST_ROWS: usize = 3;

/// Below this height of the conversation, the protection gets only one row.
const LOW: u16 = 10;

/// The rows for a call that waits. The effect gets about a third of the conversation's height; if that is not enough, a
/// diff shows only its changed lines.
pub(crate) fn rows(
    view: &ViewContext<'_>,
    pending: &Arc<PendingApproval>,
    cache: &mut Cache,
    width: usize,
) -> Vec<Line> {
    let key = view.key(Action::AnswerTool);
    let title = format!("{} needs approval", display_name(&pending.tool));
    if view.model.layers.all::<ApprovalScreen>().any(|ask| Arc::ptr_eq(&ask.pending, pending)) {
        return TextRows::plain(&format!("{title}, see below"), width, Ink::Warn);
    }
    let mut rows = TextRows::plain(&format!("{title} ({key})"), width, Ink::Warn);
    let room = width.saturating_sub(2).max(1);
    let mut effect_rows = |around: usize| {
        let fields = Fields::new("inline approval").text(&pending.tool).text(&pending.args).number(around as u64);
        let of = CacheKey::Text(fields.number(pending.index as u64).finish(), true);
        cache.rows(of, u16::try_from(room).unwrap_or(u16::MAX), || effect(pending, room, around))
    };
    let most = (usize::from(view.model.conversation.height) / 3).max(LEAST_ROWS);
    let mut all = effect_rows(AROUND);
    if all.len() > most {
        all = effect_rows(0);
    }
    // A row that says how much is missing is not better than the row itself.
    let shown = if all.len() > most { most - 1 } else { all.len() };
    let indent = |line: &Line| Line::of(Ink::Text, "  ").and(line.clone());
    rows.extend(all[..shown].iter().map(indent));
    if shown < all.len() {
        let more = text::counted((all.len() - shown) as u64, "more line");
        rows.push(paint::cut(view.theme, Ink::Warn, &format!("  {more}; {key} shows all"), width));
    }
    let low = view.model.conversation.height < LOW;
    if let Some((ink, words)) = protection(pending) {
        let one = || vec![paint::cut(view.theme, ink, &words, width)];
        rows.extend(if low { one() } else { TextRows::plain(&words, width, ink) });
    }
    rows
}

/// The effect of the call: the command line, the diff with `around` unchanged lines, or the call of a server's tool.
fn effect(pending: &PendingApproval, width: usize, around: usize) -> Vec<Line> {
    match &pending.effect {
        ToolEffect::Run(command) => {
            let mut rows = view::whole(&command.line, width);
            if !command.folder.is_empty() {
                rows.extend(TextRows::plain(&format!("in {}", command.folder), width, Ink::Dim));
            }
            rows
        }
        ToolEffect::Foreign { server, tool, .. } => {
            let mut rows = view::whole(&format!("{server}: {tool}"), width);
            rows.extend(view::whole(&pretty(&pending.args), width));
            rows
        }
        ToolEffect::Read { what } => TextRows::exact(&format!("Read {what}"), width, Ink::Text),
        ToolEffect::Change(changes) => changes.iter().flat_map(|change| difference(change, width, around)).collect(),
    }
}

/// The name of a file with the size of its change, and its changed lines with `around` unchanged lines.
fn difference(change: &FileChange, width: usize, around: usize) -> Vec<Line> {
    let (more, less) = change.size();
    let what = match (&change.before, &change.after) {
        (None, _) => format!("new file, +{more}"),
        (_, None) => format!("deleted, -{less}"),
        _ => format!("+{more} -{less}"),
    };
    let mut rows = TextRows::exact(&format!("{}  ({what})", change.path), width, Ink::Heading);
    rows.extend((0..change.hunks.len()).flat_map(|at| view::hunk(change, at, width, around)));
    rows
}

/// One sentence about the protection.
fn protection(pending: &PendingApproval) -> Option<(Ink, String)> {
    match &pending.effect {
        ToolEffect::Run(command) => Some((Ink::Dim, command.protection.first()?.clone())),
        ToolEffect::Foreign { .. } => Some((Ink::Warn, OUTSIDE.to_owned())),
        ToolEffect::Read { .. } => Some((Ink::Dim, "Read-only.".to_owned())),
        ToolEffect::Change(_) => Some(match pending.effect.config_change() {
            Some((path, what)) => (Ink::Warn, format!("{path} {what}.")),
            None => (Ink::Dim, "Changes nothing but these lines; undo reverts the change.".to_owned()),
        }),
    }
}
