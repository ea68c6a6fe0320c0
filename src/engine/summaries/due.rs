//! The check whether a summary is due, on a separate thread: its inputs from a branch, and the measures of the
//! policies.
//! Not for: drafting a summary that is due (`automatic`), or the measures themselves (`context::policy`).

use super::candidates::{readable, stays};
use super::state::{Counts, Due, DueResult};
use super::writer::cost;
use crate::context::policy::lanes::{self, Cause, LaneTurn};
use crate::context::policy::levels::{self, UnsummarizedTurn};
use crate::context::summary::Size;
use crate::domain::base::{BranchId, Failure, NodeId};
use crate::domain::call::tokens::grouped;
use crate::domain::call::{CountTokens, Encoding};
use crate::domain::conversation::{Branch, Node, NodeHead};
use crate::domain::planning::Reason;
use crate::domain::planning::input::{ANSWER_FRAMING, MESSAGE_FRAMING};
use crate::domain::planning::{ContextPlan, PolicySpec, Row, RowKind, Section};
use crate::domain::summary::{AutoSummarySettings, AutoSummaryTrigger};
use crate::engine::inbox::{Inbox, SummaryReport};
use crate::engine::jobs::Jobs;
use crate::engine::sessions::path::PathView;
use crate::engine::sessions::session::Session;
use crate::store::Store;
use std::sync::{Arc, PoisonError};

/// The number of cached counts at which the cache is cleared.
const MAX_CACHED: usize = 20_000;
/// Tokens of a summary's heading and of the space that it may need beyond its target.
const SUMMARY_FRAMING: u32 = 60;
/// The number of messages that are read at a time.
const BATCH: usize = 256;
/// The number of turns that are counted at a time, because a few may be enough for a decision.
const BATCH_TURNS: usize = 16;

/// A turn that no summary covers.
pub(crate) struct Turn {
    number: u32,
    age: u64,
    pub(crate) heads: Vec<NodeHead>,
}

/// The input of a check whether a summary is due.
pub(crate) struct DueCheck {
    pub(crate) branch: BranchId,
    /// Whether the branch was just opened or switched to, and no turn ended.
    pub(crate) opened: bool,
    pub(crate) turns: Vec<Turn>,
    pub(crate) policy: PolicySpec,
    pub(crate) settings: AutoSummarySettings,
    /// Seconds since the last summary, or since the first unsummarized turn.
    pub(crate) since: u64,
    /// The number of the first turn in the last request's window.
    pub(crate) window: u32,
    /// Tokens of the request without the turns.
    pub(crate) fixed: u32,
    /// The numbers of the turns that the levels left out of the last request.
    pub(crate) left_out: Vec<u32>,
    pub(crate) total: u32,
    pub(crate) encoding: Encoding,
    pub(crate) store: Store,
    pub(crate) counter: Arc<dyn CountTokens>,
    pub(crate) counts: Counts,
}

/// Returns the seconds between two times in milliseconds.
pub(super) fn seconds(now: i64, then: i64) -> u64 {
    u64::try_from(now.saturating_sub(then)).unwrap_or(0) / 1_000
}

/// Returns the closed turns of a lane, from an index on, that could be summarized.
pub(super) fn unsummarized_turns(
    session: &Session,
    branch: &Branch,
    path: &PathView,
    from: usize,
    (lane, now): (&str, i64),
) -> Vec<Turn> {
    let mut found = Vec::new();
    for (index, turn) in path.turns.iter().enumerate().skip(from) {
        let heads: Vec<&NodeHead> = turn.nodes.clone().map(|at| session.tree.head(path.slots[at])).collect();
        let [first, .., last] = heads.as_slice() else { continue };
        if !turn.asked || first.lane != lane {
            continue;
        }
        let age = seconds(now, last.at);
        let read = readable(branch, &heads);
        if stays(branch, &heads, read.is_empty()).is_none() {
            found.push(Turn { number: path.number(index), age, heads: read });
        }
    }
    found
}

/// Returns the tokens of a call without its turns: instructions, pins, state, summaries, retrieved content, tools.
pub(super) fn beside_turns(plan: &ContextPlan) -> u32 {
    let turns = |section: Option<Section>| {
        matches!(section, Some(Section::Recent | Section::UserMessage | Section::QuotedReply))
    };
    let rows = plan.included().filter(|row| row.pin.is_some() || !turns(row.section()));
    let fixed = plan.tools.saturating_add(MESSAGE_FRAMING + ANSWER_FRAMING);
    rows.fold(fixed, |sum, row| sum.saturating_add(row.tokens))
}

/// Returns the number of the first turn in the window; 0 if the window is empty.
pub(super) fn window_start(plan: &ContextPlan) -> u32 {
    let recent = plan.included().filter(|row| row.section() == Some(Section::Recent) && row.pin.is_none());
    recent.filter_map(|row| row.source.turn).min().unwrap_or(0)
}

/// Returns the numbers of the turns that the levels left out, and that no person marked.
pub(super) fn left_out_by_levels(plan: &ContextPlan) -> Vec<u32> {
    let by_level = |row: &&Row| matches!(row.reason, Reason::LevelFull { .. } | Reason::LevelsOver { .. });
    let turns = plan.excluded().filter(|row| row.kind == RowKind::Turn && row.pin.is_none());
    turns.filter(by_level).filter_map(|row| row.source.turn).collect()
}

impl DueCheck {
    /// Starts the check on a separate thread.
    pub(super) fn start(self, jobs: &Jobs<Inbox>) {
        let (branch, opened) = (self.branch, self.opened);
        let ended = move |due: Result<Option<Due>, Failure>| {
            let due = due.unwrap_or_else(|failure: Failure| {
                tracing::debug!(%failure, "could not determine whether a summary is due");
                None
            });
            Inbox::Summary(SummaryReport::Due(Box::new(DueResult { branch, opened, due })))
        };
        jobs.report(
            "due",
            move |failure| ended(Err(failure)),
            move |cancel| ended(cancel.check().and_then(|()| self.due())),
        );
    }

    /// Returns the turns to summarize and the reason, if a summary is due.
    pub(super) fn due(&self) -> Result<Option<Due>, Failure> {
        let found = match self.settings.measure {
            AutoSummaryTrigger::Off => None,
            AutoSummaryTrigger::Lane => self.lane_due()?,
            AutoSummaryTrigger::Levels => self.levels_due()?,
            AutoSummaryTrigger::Window => self.window_due()?,
        };
        let first = self.turns.first().map_or(0, |turn| turn.number);
        let last = |upto: usize| upto.checked_sub(1).and_then(|at| self.turns.get(at)).map(|turn| turn.number);
        Ok(found.and_then(|(upto, cause)| Some(Due { first, up_to: last(upto)?, cause })))
    }

    /// Checks messages, tokens, and hours of a lane. Tokens are counted only if the number of messages does not decide.
    fn lane_due(&self) -> Result<Option<(usize, String)>, Failure> {
        let spec = &self.policy.lanes;
        let messages = |turn: &Turn| u32::try_from(turn.heads.len()).unwrap_or(u32::MAX);
        let all = self.turns.iter().fold(0_u32, |sum, turn| sum.saturating_add(messages(turn)));
        let counted = if all > spec.messages { vec![0; self.turns.len()] } else { self.tokens()? };
        let one = |(turn, tokens): (&Turn, u32)| LaneTurn { messages: messages(turn), tokens };
        let turns: Vec<LaneTurn> = self.turns.iter().zip(counted).map(one).collect();
        Ok(lanes::due(&turns, self.since, spec).map(|due| {
            let cause = match due.cause {
                Cause::Messages(n) => format!("{n} messages had no summary, more than {}", spec.messages),
                Cause::Tokens(n) => {
                    let (n, most) = (grouped(n.into()), grouped(spec.tokens.into()));
                    format!("an estimated {n} tokens had no summary, more than {most}")
                }
                Cause::Hours(n) => format!("{} hours passed without a summary, more than {}", grouped(n), spec.hours),
            };
            (due.upto, cause)
        }))
    }

    /// Checks the tokens in all priority levels.
    fn levels_due(&self) -> Result<Option<(usize, String)>, Failure> {
        let counted = self.tokens()?;
        let one = |(turn, tokens): (&Turn, u32)| {
            let left_out = self.left_out.contains(&turn.number);
            UnsummarizedTurn { tokens, age: turn.age, left_out }
        };
        let turns: Vec<UnsummarizedTurn> = self.turns.iter().zip(counted).map(one).collect();
        let spec = &self.policy.levels;
        let due = levels::due(&turns, self.fixed, self.total, self.policy.refill_percent, spec);
        Ok(due.map(|due| {
            if due.lost {
                return (due.upto, "turns were left out without a summary".to_owned());
            }
            let (used, total) = (grouped(due.used), grouped(self.total.into()));
            (
                due.upto,
                format!("the levels held an estimated {used} of {total} tokens, more than {}%", spec.trigger_percent),
            )
        }))
    }

    /// Checks the tokens of turns before the window, counting only as many as are needed.
    fn window_due(&self) -> Result<Option<(usize, String)>, Failure> {
        let outside = self.turns.partition_point(|turn| turn.number < self.window);
        let (most, mut held) = (self.settings.tokens, 0_u32);
        for turns in self.turns[..outside].chunks(BATCH_TURNS) {
            held = self.tokens_of(turns)?.into_iter().fold(held, u32::saturating_add);
            if held > most {
                let most = grouped(most.into());
                let cause =
                    format!("turns before the window hold more than an estimated {most} tokens without a summary");
                return Ok(Some((self.with_turns_of_the_window(outside)?, cause)));
            }
        }
        Ok(None)
    }

    /// Returns how many turns a summary should cover so that the oldest turns of the window that it replaces take at
    /// least as many tokens as the summary; otherwise it would make the request larger and stay out of it. At most half
    /// of the window's turns are covered, and none if these are not enough. The first turn of the window does not count,
    /// because it leaves a window that is limited to a number of turns with the next message.
    fn with_turns_of_the_window(&self, outside: usize) -> Result<usize, Failure> {
        let tokens = self.tokens()?;
        let (before, window) = tokens.split_at(outside);
        let before = before.iter().chain(window.first()).fold(0_u32, |sum, tokens| sum.saturating_add(*tokens));
        let mut covered = 0_u32;
        for (at, tokens) in window.iter().enumerate().take(window.len() / 2).skip(1) {
            covered = covered.saturating_add(*tokens);
            let target = Size::default().target(before.saturating_add(covered));
            if covered >= target.saturating_add(target / 2).saturating_add(SUMMARY_FRAMING) {
                return Ok(outside + at + 1);
            }
        }
        Ok(outside)
    }

    fn tokens(&self) -> Result<Vec<u32>, Failure> {
        self.tokens_of(&self.turns)
    }

    /// Returns the tokens of each turn in full form.
    fn tokens_of(&self, turns: &[Turn]) -> Result<Vec<u32>, Failure> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if counts.len() > MAX_CACHED {
            counts.clear();
        }
        let unknown = |head: &&NodeHead| !counts.contains_key(&(head.key, self.encoding));
        let missing: Vec<NodeId> =
            turns.iter().flat_map(|turn| &turn.heads).filter(unknown).map(|head| head.id).collect();
        for batch in missing.chunks(BATCH) {
            for Node { head, content } in self.store.nodes(batch)? {
                let tokens = cost(&head, &content, &|text| self.counter.count(self.encoding, text));
                counts.insert((head.key, self.encoding), tokens);
            }
        }
        let known = |head: &NodeHead| counts.get(&(head.key, self.encoding)).copied().unwrap_or(0);
        let sums = turns.iter().map(|turn| turn.heads.iter().map(known).fold(0, u32::saturating_add)).collect();
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner) = counts;
        Ok(sums)
    }
}
