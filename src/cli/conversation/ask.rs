//! `ask`, `edit` and `regenerate`: one turn, streamed.
//! Not for: deciding what is sent (`engine`, `context`).

use crate::cli::Run;
use crate::cli::client::unexpected;
use crate::cli::output::money;
use crate::cli::stop::Stop;
use crate::cli::{input, pick, shape};
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::ids::{BranchId, RunId};
use crate::domain::call::meter::ShortRead;
use crate::domain::call::run::{RunCard, RunStatus};
use crate::domain::conversation::state;
use crate::domain::tool::resolution::unreadable;
use crate::domain::tool::trace::ToolTrace;
use crate::engine::api::{
    Answer, Draft, DraftKind, Event, Exact, PlanRequest, Planned, Request, SessionView, Ticket, TurnRequest,
};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// `ask TEXT`.
pub(crate) fn ask(run: &mut Run<'_, '_>, words: &[String], wait: bool) -> Result<(), Stop> {
    let Some(text) = run.io.message(words)? else {
        return Err(Stop::Usage("Say what to ask, or give it on standard input.".into()));
    };
    if text.trim().is_empty() {
        return Err(Stop::Usage("The message is empty; nothing was sent.".into()));
    }
    let view = open(run, true, wait)?;
    turn(run, &view, Draft { text: text.into(), kind: DraftKind::Message, ..Draft::default() })
}

/// Opens the session, and where that is wished waits until nobody else asks on its branch.
fn open(run: &mut Run<'_, '_>, create: bool, wait: bool) -> Result<Arc<SessionView>, Stop> {
    let view = run.open(create)?;
    if !wait {
        return Ok(view);
    }
    let pressed = (run.io.interrupts)();
    let ticket = run.client.send(Request::Turn(TurnRequest::Claim(view.current)));
    loop {
        if (run.io.interrupts)() > pressed {
            let left = Failure::user("You left the line.").kept("Your message was not saved and nothing was sent.");
            return Err(Stop::Stopped(left));
        }
        if let Some(Event::Answer { ticket: whose, result }) = run.client.next(&mut run.io)?
            && whose == ticket
        {
            result.map_err(|failure| run.client.refused(failure))?;
            // What was asked meanwhile belongs to the conversation now.
            let (session, branch) = (view.card.id.to_string(), view.current.to_string());
            return run.client.open(&Some(session), &Some(branch), false, &mut run.io);
        }
    }
}

/// `ask --request FILE [TEXT]`.
pub(crate) fn exactly(run: &mut Run<'_, '_>, file: &Path, words: &[String], wait: bool) -> Result<(), Stop> {
    let body = input::text_of(run, file)?;
    let text = words.join(" ");
    if text == "-" && file == Path::new("-") {
        return Err(Stop::Usage("Standard input is the request already; give the text on the command line.".into()));
    }
    let text = if text == "-" { run.io.read_all()? } else { text };
    let view = open(run, true, wait)?;
    let draft = Draft { text: text.into(), kind: DraftKind::Message, ..Draft::default() };
    let act = Exact::Send { draft, body: body.into() };
    follow(run, &view, Request::Plan(PlanRequest::Exact { branch: view.current, act }))
}

/// `edit MESSAGE TEXT`.
pub(crate) fn edit(run: &mut Run<'_, '_>, message: &str, words: &[String], wait: bool) -> Result<(), Stop> {
    let text = run.io.message(words)?.unwrap_or_default();
    if text.trim().is_empty() {
        return Err(Stop::Usage("The message is empty; nothing was sent.".into()));
    }
    let view = open(run, false, wait)?;
    let kind = edited(&view, message)?;
    turn(run, &view, Draft { text: text.into(), kind, ..Draft::default() })
}

/// The kind of a draft that edits this message.
pub(crate) fn edited(view: &SessionView, message: &str) -> Result<DraftKind, Stop> {
    Ok(DraftKind::Edit(pick::message(view, message)?.id))
}

/// `regenerate [MESSAGE]`.
pub(crate) fn regenerate(run: &mut Run<'_, '_>, message: Option<&str>, wait: bool) -> Result<(), Stop> {
    let view = open(run, false, wait)?;
    let kind = regenerated(&view, message)?;
    turn(run, &view, Draft { text: Arc::from(""), kind, ..Draft::default() })
}

/// The kind of a draft that answers this message (the last one when none is named) again.
pub(crate) fn regenerated(view: &SessionView, message: Option<&str>) -> Result<DraftKind, Stop> {
    let node = match message {
        Some(text) => pick::message(view, text)?.id,
        None => pick::branch(view, None)?
            .head
            .ok_or_else(|| Failure::user("The branch is empty, so there is nothing to answer again."))?,
    };
    Ok(DraftKind::Regenerate(pick::asked(view, node)?))
}

/// Whether the turn goes on.
enum Step {
    Goes,
    /// It is over, with its failure, if any.
    Over(Option<Failure>),
}

/// What has come of a turn so far.
struct Turn {
    ticket: Ticket,
    branch: BranchId,
    current: Option<RunId>,
    text: String,
    shown: usize,
    cards: Vec<RunCard>,
    /// Tool calls that were told of.
    traced: Vec<(RunId, String)>,
    cancelled: bool,
    state_missing: bool,
}

/// One turn, its answer said as it comes.
pub(crate) fn turn(run: &mut Run<'_, '_>, view: &SessionView, draft: Draft) -> Result<(), Stop> {
    follow(run, view, Request::Turn(TurnRequest::Ask { branch: view.current, draft, plan: None }))
}

/// Hands a call in and streams what comes of it.
fn follow(run: &mut Run<'_, '_>, view: &SessionView, request: Request) -> Result<(), Stop> {
    let ticket = run.client.send(request);
    let mut turn = Turn {
        ticket,
        branch: view.current,
        current: None,
        text: String::new(),
        shown: 0,
        cards: Vec::new(),
        traced: Vec::new(),
        cancelled: false,
        state_missing: false,
    };
    let failure = loop {
        turn.interrupt(run)?;
        let Some(event) = run.client.next(&mut run.io)? else { continue };
        if let Step::Over(failure) = turn.take(run, event)? {
            break failure;
        }
    };
    turn.end(run, view, failure)
}

impl Turn {
    fn interrupt(&mut self, run: &mut Run<'_, '_>) -> Result<(), Stop> {
        match (run.io.interrupts)() {
            0 => {}
            1 if self.cancelled => {}
            1 => {
                self.cancelled = true;
                run.client.send(Request::Turn(TurnRequest::Cancel { branch: self.branch }));
            }
            _ => return Err(Stop::Interrupted),
        }
        Ok(())
    }

    /// Takes an event in.
    #[deny(clippy::wildcard_enum_match_arm)]
    fn take(&mut self, run: &mut Run<'_, '_>, event: Event) -> Result<Step, Stop> {
        match event {
            Event::Answer { ticket, result } if ticket == self.ticket => match result {
                Ok(Answer::Asked { .. }) => {}
                Ok(Answer::Planned(Planned::Blocked(blocked))) => return Err(Stop::Blocked(blocked)),
                Ok(other) => return Err(unexpected(&other)),
                Err(failure) => return Err(run.client.refused(failure)),
            },
            Event::Stream { branch, run: id, text, .. } if branch == self.branch => self.stream(run, id, &text),
            Event::Run(card) if card.branch == self.branch => match self.cards.iter_mut().find(|c| c.id == card.id) {
                Some(known) => *known = *card,
                None => self.cards.push(*card),
            },
            Event::Trace(trace) if !run.io.json => self.trace(run, &trace),
            Event::State { branch, version, missing } if branch == self.branch => {
                // Where there never was a state, there is nothing that still counts.
                self.state_missing = missing && version.is_some();
            }
            Event::TurnClosed { branch, draft, failure } if branch == self.branch => {
                return Ok(Step::Over(failure.map(|failure| self.named(run, failure, draft.is_some()))));
            }
            // Of other branches, or told by the client.
            Event::Answer { .. }
            | Event::Planned { .. }
            | Event::Nodes { .. }
            | Event::Branch(_)
            | Event::Tags { .. }
            | Event::BranchRun(_)
            | Event::Aside(_)
            | Event::Again(_)
            | Event::Card(_)
            | Event::Run(_)
            | Event::TurnOpened { .. }
            | Event::Stream { .. }
            | Event::Retrying { .. }
            | Event::Trace(_)
            | Event::ToolSaid { .. }
            | Event::Asks { .. }
            | Event::TurnClosed { .. }
            | Event::State { .. }
            | Event::Settings { .. }
            | Event::Condensing { .. }
            | Event::Moduling { .. }
            | Event::Draft { .. }
            | Event::Embedding { .. }
            | Event::Coding { .. }
            | Event::Indexing { .. }
            | Event::Servers
            | Event::Notice(_)
            | Event::Room(_)
            | Event::Alarm(_) => {}
        }
        Ok(Step::Goes)
    }

    /// The failure in the words of the command line, where there is no composer that a message could go back to.
    fn named(&self, run: &Run<'_, '_>, failure: Failure, nothing_came: bool) -> Failure {
        if !nothing_came {
            return failure;
        }
        let failure = failure.kept("Nothing was added to the conversation.");
        let profile = self.cards.last().and_then(|card| run.config.profile(&card.profile));
        match profile.filter(|profile| failure.todo.contains("api_key_env") && !profile.api_key_env.is_empty()) {
            Some(profile) => {
                let todo = format!("Check the key: it is read from {} in the environment.", profile.api_key_env);
                failure.todo(todo)
            }
            None => failure,
        }
    }

    fn stream(&mut self, run: &mut Run<'_, '_>, id: RunId, text: &str) {
        if self.current != Some(id) {
            self.flush(run);
            self.current = Some(id);
            self.text.clear();
            self.shown = 0;
        }
        self.text.push_str(text);
        self.show(run, sure(&self.text));
    }

    fn show(&mut self, run: &mut Run<'_, '_>, until: usize) {
        if until > self.shown && !run.io.json {
            run.io.words(&self.text[self.shown..until]);
            self.shown = until;
            run.client.line(true, &mut run.io);
        }
    }

    /// What was held back because it might have become a state block, once that is known; and a line end.
    fn flush(&mut self, run: &mut Run<'_, '_>) {
        if run.io.json || self.text.is_empty() {
            return;
        }
        let whole = state::strip(&self.text, true);
        let mut printed = self.text[..self.shown].to_owned();
        if let Some(rest) = whole.strip_prefix(&printed) {
            run.io.words(rest);
            printed = whole;
        }
        if !printed.is_empty() {
            run.io.end_line(&printed);
        }
        run.client.line(false, &mut run.io);
        self.text.clear();
        self.shown = 0;
    }

    fn trace(&mut self, run: &mut Run<'_, '_>, trace: &ToolTrace) {
        let ours = self.cards.iter().any(|card| card.id == trace.run);
        if let Some(status) = trace.status.filter(|_| ours) {
            // A trace is told again when its result becomes a message.
            let which = (trace.run, trace.call_id.clone());
            if self.traced.contains(&which) {
                return;
            }
            self.traced.push(which);
            let args = unreadable(&trace.args).unwrap_or_else(|| trace.args.clone());
            let args = args.chars().take(80).collect::<String>();
            run.io.note(&format!("{} {args}: {} in {} ms", trace.name, status.name(), trace.duration_ms));
        }
    }

    fn end(mut self, run: &mut Run<'_, '_>, view: &SessionView, failure: Option<Failure>) -> Result<(), Stop> {
        self.cards.sort_by_key(|card| card.round);
        let last = self.cards.last().cloned();
        let text = state::strip(&self.text, failure.is_none());
        self.flush(run);
        if run.io.json {
            self.print(run, view, &text, failure.as_ref())?;
        }
        let cards = self.cards.iter();
        cards.filter_map(|card| card.short_read).for_each(|short| run.io.note(&warned(short)));
        if let Some(card) = last.as_ref().filter(|_| !run.io.json) {
            if run.io.out_tty {
                run.io.note(&account(card));
            }
            if self.state_missing {
                run.io.note("the answer brought no state block; the one before it still counts");
            }
        }
        match (failure, last) {
            _ if self.cancelled => Err(Stop::Interrupted),
            (Some(failure), _) => Err(Stop::Failed(failure)),
            (None, Some(card)) => ended(run, &card),
            (None, None) => Ok(()),
        }
    }

    fn print(
        &self,
        run: &mut Run<'_, '_>,
        view: &SessionView,
        text: &str,
        failure: Option<&Failure>,
    ) -> Result<(), Stop> {
        let last = self.cards.last();
        let cost: u64 = self.cards.iter().filter_map(|card| card.cost_micro).sum();
        let known = self.cards.iter().any(|card| card.cost_micro.is_some());
        run.io.value(&json!({
            "session": view.card.id,
            "branch": self.branch,
            "run_id": last.map(|card| card.id),
            "plan_id": last.map(|card| card.plan),
            "request_digest": last.map(|card| card.request_digest),
            "text": text,
            "status": last.map(|card| card.status.name()),
            "finish_reason": last.and_then(|card| card.finish_reason.as_deref()),
            "model": last.map(|card| card.model.as_str()),
            "est_total": last.map(|card| card.est_total),
            "usage": last.map(|card| card.usage),
            "cost": known.then(|| shape::dollars(cost)),
            "runs": self.cards.iter().map(|card| shape::run(card, &view.branches)).collect::<Vec<_>>(),
            "error": failure.map(ToString::to_string),
        }))
    }
}

/// How much of a growing answer is surely not part of a state block. What is printed cannot be taken back, so the last
/// line waits from its first character on, and so does space at the end.
fn sure(text: &str) -> usize {
    let shown = &text[..state::shown_while_streaming(text)];
    let start = shown.rfind('\n').map_or(0, |at| at + 1);
    let line = &shown[start..];
    let waits = shown.len() == text.len() && ["---STATE---", "### STATE"].iter().any(|mark| mark.starts_with(line));
    if waits { shown[..start].trim_end().len() } else { shown.trim_end().len() }
}

/// An answer that came only in part is not a success, but for the output limit that the person set.
fn ended(run: &mut Run<'_, '_>, card: &RunCard) -> Result<(), Stop> {
    match card.status {
        RunStatus::Truncated if card.finish_reason.is_some() => {
            run.io.note("the answer ran into its output limit; what came is kept");
            Ok(())
        }
        RunStatus::Truncated | RunStatus::Errored | RunStatus::Interrupted => {
            let why = card.error.clone().unwrap_or_else(|| "The stream ended before the answer did.".into());
            Err(Failure::new(FailureKind::Provider, why).kept("What came is kept.").into())
        }
        RunStatus::Cancelled => Err(Stop::Interrupted),
        RunStatus::Open | RunStatus::Complete => Ok(()),
    }
}

fn warned(short: ShortRead) -> String {
    format!("warning: {} {}", short.sentence(), short.todo())
}

fn account(card: &RunCard) -> String {
    let cost = card.cost_micro.map_or_else(String::new, |micro| format!(" · {}", money(micro)));
    format!("{} · {}{cost} · run {}", card.model, card.usage.words(card.est_total, " · "), card.id)
}
