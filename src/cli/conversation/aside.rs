//! `aside`: a side question that does not become a message.
//! Not for: turns (`ask`).

use crate::cli::Run;
use crate::cli::client::{expect_answer, unexpected};
use crate::cli::shape;
use crate::cli::stop::Stop;
use crate::domain::base::RunId;
use crate::domain::base::money::money;
use crate::domain::conversation::state;
use crate::engine::api::{Answer, AsideView, BranchAnswer, Event, TurnEvent, TurnRequest};
use serde_json::json;

/// `aside TEXT [--keep]`.
pub(crate) fn aside(run: &mut Run<'_, '_>, words: &[String], keep: bool) -> Result<(), Stop> {
    let text = run.io.message(words)?.unwrap_or_default();
    if text.trim().is_empty() {
        return Err(Stop::Usage("The question is empty; nothing was sent.".into()));
    }
    let view = run.open(true)?;
    let answer = run.call(TurnRequest::Aside { branch: view.current, text: text.into() })?;
    let Answer::Asked { run: id } = answer else { return Err(unexpected(&answer)) };
    let over = follow(run, id)?;
    let kept = if keep && over.failure.is_none() {
        Some(expect_answer!(run, Branch(BranchAnswer::Branch), TurnRequest::KeepAside { run: id }))
    } else {
        run.call(TurnRequest::DropAside { run: id })?;
        None
    };
    let words = state::strip(&over.text, true);
    let card = over.card.as_deref();
    if run.io.json {
        run.io.value(&json!({
            "text": words,
            "run_id": id,
            "plan_id": card.map(|card| card.plan),
            "request_digest": card.map(|card| card.request_digest),
            "model": card.map(|card| card.model.as_str()),
            "status": card.map(|card| card.status.name()),
            "usage": card.map(|card| card.usage),
            "cost": over.cost_micro.map(shape::dollars),
            "branch": kept.as_ref().map(|branch| branch.id),
            "error": over.failure.as_ref().map(ToString::to_string),
        }))?;
    } else {
        run.io.quote(words.trim_end());
        let cost = over.cost_micro.map_or_else(String::new, |micro| format!(" Cost: {}.", money(micro)));
        let kept = kept.map_or_else(
            || "Side question not saved; the call counts as usage.".to_owned(),
            |branch| format!("Saved on branch {}.", branch.name),
        );
        run.io.note(&format!("{kept}{cost}"));
    }
    match over.failure {
        Some(failure) => Err(Stop::Failed(failure)),
        None => Ok(()),
    }
}

/// Waits for the end of the side question. Ctrl+C discards the question.
fn follow(run: &mut Run<'_, '_>, id: RunId) -> Result<AsideView, Stop> {
    loop {
        if (run.io.interrupts)() > 0 {
            run.call(TurnRequest::DropAside { run: id })?;
            return Err(Stop::Interrupted);
        }
        if let Some(Event::Turn(TurnEvent::Aside(view))) = run.client.next(&mut run.io)?
            && view.run == id
            && view.card.is_some()
        {
            return Ok(*view);
        }
    }
}
