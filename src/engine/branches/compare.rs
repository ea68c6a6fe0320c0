//! Compares two branches by their messages, calls, and tool traces.
//! Not for: differences between plans (`calls::plan_diff`), or copying items between branches (`pick`).

use crate::domain::base::{BranchId, Failure, NodeId};
use crate::domain::call::RunCard;
use crate::domain::conversation::compare::Turn;
use crate::domain::conversation::{
    Ancestor, Branch, ComparedMessage, Comparison, End, Mark, NodeHead, Role, Side, Slot, state, tree,
};
use crate::engine::api::{Answer, BranchAnswer};
use crate::engine::calls::diff_worker::DiffContext;
use crate::engine::calls::plan_diff::PlanWithCall;
use crate::engine::core::content;
use crate::engine::sessions::session::SessionSnapshot;
use std::collections::{BTreeMap, HashSet};

/// The maximum number of turns listed per side, from the point where the branches diverge.
const TURNS: usize = 200;
/// The maximum number of characters of a message that are compared.
const WORDS: usize = 8_000;

impl DiffContext<'_> {
    /// Compares two branches of a session.
    pub(crate) fn compared(&mut self, a: BranchId, b: BranchId) -> Result<Answer, Failure> {
        let last = [a, b].map(|branch| self.call_of_text(branch));
        let session = self.session_of(a)?;
        let (one, two) = (session.branch(a)?, session.branch(b)?);
        let common = match (session.head(one), session.head(two)) {
            (Some(one), Some(two)) => session.tree.common_ancestor(one, two),
            _ => None,
        };
        let ancestor = common.map(|slot| ancestor(session, slot));
        let from = common.map_or(0, |slot| session.tree.depth(slot) as usize + 1);
        let mut sides = [self.side(session, one, from)?, self.side(session, two, from)?];
        sides[0].turns.extend(pins(one, two));
        sides[1].turns.extend(pins(two, one));
        let plans = match &last {
            [Ok(one), Ok(two)] => Some(Box::new(self.plan_diff(one, two)?)),
            _ => None,
        };
        for (side, called) in sides.iter_mut().zip(&last) {
            side.last = called.as_ref().ok().map(|called| crate::engine::calls::plan_diff::call(session, called));
        }
        Ok(BranchAnswer::Compared(Box::new(Comparison { ancestor, sides, plans })).into())
    }

    /// Returns the call that produced the end of a branch's text: the newest call with its answer on the branch's path.
    fn call_of_text(&mut self, id: BranchId) -> Result<PlanWithCall, Failure> {
        let session = self.session_of(id)?;
        let path = session.head(session.branch(id)?).map(|tip| session.tree.path(tip)).unwrap_or_default();
        let own: HashSet<NodeId> = path.iter().map(|slot| session.tree.head(*slot).id).collect();
        let is_answered = |run: &RunCard| run.answer.is_some_and(|answer| own.contains(&answer));
        let run = self.calls(id)?.into_iter().rfind(is_answered);
        self.of_run(run.ok_or_else(Failure::no_calls)?)
    }

    /// Returns the part of a branch that starts at a position of its path.
    fn side(&self, session: &SessionSnapshot, branch: &Branch, from: usize) -> Result<Side, Failure> {
        let path = session.head(branch).map(|tip| session.tree.path(tip)).unwrap_or_default();
        let mut turns = Vec::new();
        let (mut number, mut more) = (0, 0);
        for turn in tree::turns(&session.tree, &path) {
            number += u32::from(turn.asked);
            if turn.nodes.end <= from {
                continue;
            }
            if turns.len() == TURNS {
                more += 1;
                continue;
            }
            let heads: Vec<NodeHead> = path[turn.nodes.clone()].iter().map(|s| session.tree.head(*s).clone()).collect();
            let own = &path[turn.nodes.start.max(from)..turn.nodes.end];
            let number = if turn.asked { number } else { 0 };
            turns.push(Turn {
                number,
                atom: crate::engine::plans::labels::atom_of(number, &heads),
                messages: self.messages(session, own)?,
                pin: None,
            });
        }
        let own: HashSet<NodeId> = path.iter().skip(from).map(|slot| session.tree.head(*slot).id).collect();
        let is_own = |node: Option<NodeId>| node.is_some_and(|node| own.contains(&node));
        let runs: Vec<&RunCard> = session.runs.iter().filter(|run| is_own(run.user) || is_own(run.answer)).collect();
        let mut models: Vec<String> = Vec::new();
        for run in &runs {
            if !models.contains(&run.model) {
                models.push(run.model.clone());
            }
        }
        let priced: Vec<u64> = runs.iter().filter_map(|run| run.cost_micro).collect();
        Ok(Side {
            branch: branch.id,
            name: branch.name.clone(),
            turns,
            more,
            calls: u32::try_from(runs.len()).unwrap_or(u32::MAX),
            prompt: runs.iter().map(|run| u64::from(run.usage.prompt.unwrap_or(run.est_total))).sum(),
            answer: runs.iter().filter_map(|run| run.usage.completion).map(u64::from).sum(),
            cost_micro: (!priced.is_empty()).then(|| priced.iter().sum()),
            tools: self.tools_of(&path[from.min(path.len())..], session)?,
            models,
            last: None,
        })
    }

    fn messages(&self, session: &SessionSnapshot, slots: &[Slot]) -> Result<Vec<ComparedMessage>, Failure> {
        let mut messages = Vec::new();
        for slot in slots {
            let head = session.tree.head(*slot);
            let content = content(self.store, head.id)?;
            let words = match head.role {
                Role::Tool => crate::context::render::render_forms::plain(&content),
                Role::Assistant => state::strip(&content.plain_text(), head.end == End::Complete),
                _ => content.plain_text(),
            };
            let end = words.char_indices().nth(WORDS).map_or(words.len(), |(end, _)| end);
            let mut text = words[..end].to_owned();
            for (_, name, _) in content.calls() {
                text = format!("{text}{}[calls {name}]", if text.is_empty() { "" } else { "\n" });
            }
            messages.push(ComparedMessage { node: head.id, role: head.role, text });
        }
        Ok(messages)
    }

    /// Returns the tools that messages call, the most called first.
    fn tools_of(&self, slots: &[Slot], session: &SessionSnapshot) -> Result<Vec<(String, u32)>, Failure> {
        let mut found: BTreeMap<String, u32> = BTreeMap::new();
        for slot in slots.iter().filter(|slot| session.tree.head(**slot).calls > 0) {
            for (_, name, _) in content(self.store, session.tree.head(*slot).id)?.calls() {
                *found.entry(name.to_owned()).or_default() += 1;
            }
        }
        let mut found: Vec<(String, u32)> = found.into_iter().collect();
        found.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        Ok(found)
    }
}

/// Returns the texts that are pinned on one branch and not on the other.
fn pins(own: &Branch, other: &Branch) -> Vec<Turn> {
    let there = |mark: &Mark| other.marks.iter().any(|known| known.target == mark.target);
    let texts = own.marks.iter().filter(|mark| mark.kind.pins() && !there(mark));
    let turn = |mark: &Mark| {
        let pin = Some(mark.note.as_ref()?.chars().take(WORDS).collect());
        Some(Turn { number: 0, atom: mark.target, messages: Vec::new(), pin })
    };
    texts.filter_map(turn).collect()
}

fn ancestor(session: &SessionSnapshot, slot: Slot) -> Ancestor {
    let head = session.tree.head(slot);
    let path = session.tree.path(slot);
    let asked = path.iter().filter(|slot| session.tree.head(**slot).role == Role::User).count();
    let question = path.iter().rev().map(|slot| session.tree.head(*slot)).find(|head| head.role == Role::User);
    Ancestor {
        node: head.id,
        turn: u32::try_from(asked).unwrap_or(u32::MAX),
        title: question.unwrap_or(head).preview.clone(),
        at: head.at,
    }
}
