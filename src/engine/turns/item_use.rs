//! Determines which items of a call its answer used. This runs after the answer was stored and shown, and the result is
//! stored with the call, so that undo and forks do not change it.
//! Not for: the evidence (`context::item_use`), or totals (`calls::ledger`).

use super::state::{AnswerToCheck, LiveTurn};
use crate::context::item_use::{ChangedFile, SentItem, ToolUse, find_uses};
use crate::context::render::render_forms;
use crate::domain::base::{BranchId, SessionId};
use crate::domain::call::item_use::{RULE, counts};
use crate::domain::call::{CallUses, ItemUse, RunCard};
use crate::domain::conversation::{Content, Role};
use crate::domain::planning::{Form, Row};
use crate::domain::tool::{ToolStatus, ToolTrace};
use crate::engine::core::Core;
use crate::engine::plans::input_builder::Contents;
use crate::engine::turns::state::Turns;
use crate::store::Store;
use crate::store::types::Write;

impl Core {
    /// Determines the items that the queued answers used. Called after everything else that follows from a message: by
    /// then the answer is on the screen, and a next round is being planned.
    pub(crate) fn check_uses(&mut self) {
        for answer in std::mem::take(&mut self.turns.unchecked) {
            let calls: Vec<ToolUse> =
                answer.traces.iter().map(|trace| tool_use(&self.store, answer.session, trace)).collect();
            let uses = uses(&answer, &calls);
            let count = uses.count();
            // Nothing depends on the result: if the store refuses the write, the call has no recorded uses.
            if self.store.write(vec![Write::PutUses { run: answer.run, uses }]).is_err() {
                continue;
            }
            let Ok(session) = self.sessions.of_branch(answer.branch) else { continue };
            if let Some(card) = session.runs.iter().rev().find(|card| card.id == answer.run) {
                self.show_run(RunCard { uses: Some(count), ..card.clone() });
            }
        }
    }
}

fn tool_use(store: &Store, session: SessionId, trace: &ToolTrace) -> ToolUse {
    let text = |hash| store.file_text(session, hash).ok().flatten();
    let changed = trace.changed.iter().map(|path| {
        let texts = trace.more.files.iter().find(|texts| texts.path == *path);
        let both = texts.and_then(|texts| Some((text(texts.before?)?, text(texts.after?)?)));
        ChangedFile { path: path.clone(), lines: both.and_then(|(before, after)| ChangedFile::lines(&before, &after)) }
    });
    ToolUse { args: trace.args.clone(), done: trace.status == Some(ToolStatus::Ok), changed: changed.collect() }
}

impl Turns {
    /// Queues an answer that was just written. An edited request has no items that could be distinguished.
    pub(crate) fn check_uses_later(&mut self, branch: BranchId, live: &LiveTurn, text: &Content, traces: &[ToolTrace]) {
        if live.solved.edited || !live.solved.plan.included().any(counts) {
            return;
        }
        self.unchecked.push(AnswerToCheck {
            session: live.session,
            branch,
            run: live.card.id,
            plan: live.solved.plan.clone(),
            contents: live.solved.contents.clone(),
            content: text.clone(),
            traces: traces.to_vec(),
        });
    }
}

fn uses(answer: &AnswerToCheck, calls: &[ToolUse]) -> CallUses {
    let (items, rest): (Vec<&Row>, Vec<&Row>) = answer.plan.included().partition(|row| counts(row));
    let texts: Vec<String> = items.iter().map(|row| text(row, &answer.contents)).collect();
    let sent: Vec<SentItem<'_>> = items
        .iter()
        .zip(&texts)
        .map(|(row, text)| SentItem {
            text,
            turn: row.source.turn,
            path: row.source.path.as_deref(),
            code: row.source.code.as_deref(),
        })
        .collect();
    let known: Vec<String> = rest.iter().map(|row| text_of_others(row, &answer.contents)).collect();
    let text = render_forms::message_text(answer.plan.id, Role::Assistant, &answer.content, Form::NoState);
    let found = find_uses(&sent, &known.join("\n"), &text, calls);
    let items = items.iter().zip(found).filter_map(|(row, by)| {
        let section = row.section()?;
        Some(ItemUse { item: row.atom.key(), section, tokens: row.tokens, by })
    });
    CallUses { rule: RULE, items: items.collect() }
}

/// Returns a row's text as it was sent.
fn text(row: &Row, contents: &Contents) -> String {
    let block = row.text.and_then(|text| contents.blocks.get(&text)).map(ToString::to_string);
    let messages = row.items.iter().filter_map(|item| {
        let content = contents.messages.get(&item.key)?;
        Some(render_forms::message_text(item.key, item.role, content, item.form))
    });
    block.into_iter().chain(messages).collect::<Vec<_>>().join("\n")
}

/// Returns the text that the model had in addition to the items: the instructions, and the question and tool results of
/// the open turn. Omits the model's own messages in the open turn, because their content came from another source.
fn text_of_others(row: &Row, contents: &Contents) -> String {
    let items = row.items.iter().filter(|item| item.role != Role::Assistant).cloned().collect();
    text(&Row { items, ..row.clone() }, contents)
}
