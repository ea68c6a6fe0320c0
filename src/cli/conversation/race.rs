//! `race` and `replay`: calls on several branches at once, with their answers printed one after the other at the end.
//! Not for: deciding what is sent (`engine`).

use crate::cli::Run;
use crate::cli::client::{expect_answer, unexpected};
use crate::cli::stop::Stop;
use crate::cli::{input, pick, shape};
use crate::domain::base::money::money;
use crate::domain::base::{BranchId, Failure, FailureKind};
use crate::domain::call::run::CAUTION;
use crate::domain::call::{BranchRun, Limits, RunCard, RunStatus};
use crate::domain::conversation::Branch;
use crate::domain::conversation::state;
use crate::domain::planning::variant;
use crate::engine::api::{
    Answer, CallAnswer, CallRequest, Draft, Event, ItemName, ReplayedCall, SessionAnswer, SessionRequest, Ticket,
    TurnEvent, TurnRequest,
};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A branch that receives an answer, and the state of its turn.
#[derive(Default)]
struct RaceEntry {
    branch: BranchId,
    title: String,
    ticket: Option<Ticket>,
    cards: Vec<RunCard>,
    text: String,
    failure: Option<Failure>,
    record: Option<Box<BranchRun>>,
    over: bool,
}

impl RaceEntry {
    fn new(branch: &Branch, title: String) -> Self {
        Self { branch: branch.id, title, ..Self::default() }
    }

    /// Handles the events of turns, and the refusal of its own request. The client prints the others.
    fn handle(&mut self, event: &Event) {
        if let Event::Turn(event) = event {
            self.handle_turn(event);
        } else if let Event::Answer { ticket, result: Err(failure) } = event
            && Some(*ticket) == self.ticket
        {
            (self.failure, self.over) = (Some(failure.clone()), true);
        }
    }

    #[deny(clippy::wildcard_enum_match_arm)]
    fn handle_turn(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Stream { branch, text, .. } if *branch == self.branch => self.text.push_str(text),
            TurnEvent::Run(card) if card.branch == self.branch && card.uses.is_none() => {
                if let Some(known) = self.cards.iter_mut().find(|known| known.id == card.id) {
                    *known = (**card).clone();
                } else {
                    self.cards.push((**card).clone());
                    self.text.clear();
                }
            }
            TurnEvent::BranchRun(record) if record.branch == self.branch => self.record = Some(record.clone()),
            TurnEvent::Closed { branch, failure, .. } if *branch == self.branch => {
                (self.failure, self.over) = (failure.clone(), true);
            }
            TurnEvent::Opened { .. }
            | TurnEvent::Stream { .. }
            | TurnEvent::Run(_)
            | TurnEvent::Closed { .. }
            | TurnEvent::Retrying { .. }
            | TurnEvent::BranchRun(_)
            | TurnEvent::Aside(_) => {}
        }
    }

    fn answer_text(&self) -> String {
        state::strip(&self.text, self.failure.is_none())
    }

    fn succeeded(&self) -> bool {
        if self.record.as_ref().is_some_and(|record| record.stopped.is_some()) {
            return true;
        }
        self.failure.is_none() && self.cards.last().is_some_and(|card| card.status == RunStatus::Complete)
    }

    fn shape(&self, branches: &[Branch]) -> Value {
        let last = self.cards.last();
        json!({
            "branch": self.branch,
            "branch_name": branches.iter().find(|branch| branch.id == self.branch).map(|branch| branch.name.as_str()),
            "title": self.title,
            "run_id": last.map(|card| card.id),
            "plan_id": last.map(|card| card.plan),
            "request_digest": last.map(|card| card.request_digest),
            "model": last.map(|card| card.model.as_str()),
            "status": last.map(|card| card.status.name()),
            "text": self.answer_text(),
            "est_total": last.map(|card| card.est_total),
            "usage": last.map(|card| card.usage),
            "cost": last.and_then(|card| card.cost_micro).map(shape::dollars),
            "error": self.failure.as_ref().map(ToString::to_string),
            "branch_run": self.record.as_deref().map(shape::branch_run),
        })
    }
}

/// Waits until all branches have ended. Ctrl+C stops all of them; the text received so far is kept.
fn follow(run: &mut Run<'_, '_>, entries: &mut [RaceEntry]) -> Result<(), Stop> {
    let mut cancelled = false;
    while entries.iter().any(|entry| !entry.over) {
        run.cancel_on_ctrl_c(&mut cancelled, entries.iter().filter(|entry| !entry.over).map(|entry| entry.branch))?;
        if let Some(event) = run.client.next(&mut run.io)? {
            for entry in entries.iter_mut() {
                entry.handle(&event);
            }
        }
    }
    if cancelled { Err(Stop::Interrupted) } else { Ok(()) }
}

/// Returns the first failure of a branch as the result of the command.
fn verdict(entries: &[RaceEntry]) -> Result<(), Stop> {
    let Some(bad) = entries.iter().find(|entry| !entry.succeeded()) else { return Ok(()) };
    let why = bad.cards.last().and_then(|card| card.error.clone());
    let failure = bad.failure.clone().unwrap_or_else(|| {
        let why = why.unwrap_or_else(|| "The stream ended before the end of the answer.".into());
        Failure::new(FailureKind::Provider, why).kept("The text received so far is kept.")
    });
    Err(Stop::Failed(failure))
}

/// Appends a header, for example `── mode Off · gpt-4.1-mini · 1,204 in / 310 out · $0.0011 ──`, and the answer.
fn append_answer(text: &mut String, title: &str, card: Option<&RunCard>, words: &str, failure: Option<&Failure>) {
    let _ = write!(text, "── {title}");
    if let Some(card) = card {
        let cost = card.cost_micro.map_or_else(String::new, |micro| format!(" · {}", money(micro)));
        let _ = write!(text, " · {} · {}{cost}", card.model, card.usage.to_text(card.est_total, " · "));
    }
    let _ = writeln!(text, " ──\n{}", words.trim_end());
    if let Some(failure) = failure {
        let _ = writeln!(text, "! {failure}");
    }
    text.push('\n');
}

/// `race TEXT --arm …`
pub(crate) fn race(run: &mut Run<'_, '_>, words: &[String], variants: &[String], limits: Limits) -> Result<(), Stop> {
    if variants.is_empty() {
        let text = "A race needs two or more branches: give --arm for each, such as --arm mode=off --arm mode=heavy.";
        return Err(Stop::Usage(text.to_owned()));
    }
    let variants = input::variants(variants)?;
    let text = run.io.full_message(words)?;
    let view = run.open(true)?;
    let draft = Draft { text: text.into(), ..Draft::default() };
    let request = CallRequest::Race { branch: view.current, variants: variants.clone(), limits, draft: draft.clone() };
    let branches = expect_answer!(run, Call(CallAnswer::Race), request);
    let mut entries = Vec::new();
    for (branch, variant) in branches.iter().zip(&variants) {
        let mut entry = RaceEntry::new(branch, variant::title(variant));
        let draft = draft.clone();
        entry.ticket = Some(run.client.send(TurnRequest::Ask { branch: branch.id, draft, plan: None }));
        entries.push(entry);
    }
    follow(run, &mut entries)?;
    if run.io.json {
        run.io.value(&json!({ "arms": entries.iter().map(|entry| entry.shape(&branches)).collect::<Vec<_>>() }))?;
    } else {
        let mut text = String::new();
        for (entry, branch) in entries.iter().zip(&branches) {
            let title = format!("{}: {}", branch.name, entry.title);
            append_answer(&mut text, &title, entry.cards.last(), &entry.answer_text(), entry.failure.as_ref());
            let stopped = entry.record.as_ref().and_then(|record| Some(record.stopped?.sentence(record.limits)));
            if let Some(sentence) = stopped {
                let _ = writeln!(text, "! {sentence}\n");
            }
        }
        run.io.quote(text.trim_end());
    }
    verdict(&entries)
}

/// `replay RUN`: sends a stored call again.
pub(crate) fn replay(run: &mut Run<'_, '_>, id: &str, without: Option<&str>) -> Result<(), Stop> {
    let view = run.open(false)?;
    let id = pick::call(&view, id)?;
    let without = without.map(|text| ItemName::Named { text: text.to_owned(), message: false });
    let (profile, model) = (run.global.profile.clone(), run.global.model.clone());
    let ticket = run.client.send(CallRequest::Replay { run: id, profile, model, without });
    let mut early = Vec::new();
    let made = loop {
        match run.client.next(&mut run.io)? {
            Some(Event::Answer { ticket: whose, result }) if whose == ticket => match result {
                Ok(Answer::Call(CallAnswer::Replaying(made))) => break made,
                Ok(other) => return Err(unexpected(&other)),
                Err(failure) => return Err(run.client.failure_of(failure)),
            },
            event => early.extend(event),
        }
    };
    let mut entry = RaceEntry::new(&made.branch, difference(&made));
    for event in &early {
        entry.handle(event);
    }
    let mut entries = [entry];
    follow(run, &mut entries)?;
    let [entry] = &entries;
    let before = match made.of.answer {
        Some(node) => {
            let nodes =
                expect_answer!(run, Session(SessionAnswer::Bodies), SessionRequest::Bodies { nodes: vec![node] });
            nodes.first().map(|node| state::strip(&node.content.plain_text(), true))
        }
        None => None,
    };
    if run.io.json {
        let branches = [(*made.branch).clone()];
        let value = json!({
            "of": { "run_id": made.of.id, "request_digest": made.of.request_digest, "model": made.of.model, "text": before },
            "same_bytes": made.exact,
            "without": made.without.as_ref().map(|(atom, title)| json!({ "id": atom.key(), "title": title })),
            "replay": entry.shape(&branches),
            "caution": CAUTION,
        });
        run.io.value(&value)?;
    } else {
        let mut text = String::new();
        append_answer(&mut text, "original", Some(&made.of), before.as_deref().unwrap_or("(no stored answer)"), None);
        append_answer(
            &mut text,
            &format!("replay, {}", entry.title),
            entry.cards.last(),
            &entry.answer_text(),
            entry.failure.as_ref(),
        );
        let _ = write!(text, "Scratch branch: {}. {}", made.branch.name, CAUTION);
        run.io.quote(&text);
    }
    verdict(&entries)
}

/// Describes how the new call differs from the stored call.
fn difference(made: &ReplayedCall) -> String {
    match &made.without {
        Some((_, title)) => format!("without {title:?}"),
        None if made.exact => "the same bytes".to_owned(),
        None => "another model".to_owned(),
    }
}
