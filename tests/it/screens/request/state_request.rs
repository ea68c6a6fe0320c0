//! The line for the request for a state block if the next request does not make it: where it is listed, what its keys do,
//! and what it says.
//! Not for: a request for a state block that is made or has no room, which is a row of the plan.

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN};
use crate::screens::pictures::picture;
use crate::screens::request::sent::found;
use pleach::domain::planning::{LeftOutTurns, Planned, StateRequestOutcome as Outcome};
use pleach::engine::api::{CallAnswer, CallRequest, Event, Request};
use pleach::tui::screens::text_editor::model::Editor;

const NOT_NEEDED: Outcome = Outcome::NotNeeded { turns: LeftOutTurns::NoTurn, tokens: 212 };
const TITLE: &str = "request for a state block";

/// The overlay of a plan with an outcome and without a state block.
fn stage(outcome: Outcome, is_anything_left_out: bool) -> Stage {
    let mut stage = fixture::opened();
    plan(&mut stage, outcome, is_anything_left_out);
    stage.press("ctrl-o");
    stage
}

fn plan(stage: &mut Stage, outcome: Outcome, is_anything_left_out: bool) {
    let mut plan = fixture::plan(&fixture::story());
    plan.rows.remove(1);
    plan.rows.truncate(if is_anything_left_out { plan.rows.len() } else { 4 });
    let mut planned = fixture::planned(plan);
    let Planned::Plan { state_request, .. } = &mut planned else { panic!() };
    *state_request = Some(outcome);
    stage.event(Event::Planned { branch: MAIN, generation: u64::MAX, planned });
}

/// Moves the cursor to the line.
fn select(stage: &mut Stage) {
    stage.press("end");
    for _ in 0..3 {
        if stage.screen(120, 35).contains("A state block is the model's own summary") {
            return;
        }
        stage.press("k");
    }
    panic!("{}", stage.screen(120, 35));
}

#[test]
fn a_request_that_is_not_needed_at_two_sizes() {
    let mut stage = stage(NOT_NEEDED, true);
    select(&mut stage);
    picture("state-request", (120, 35), &mut stage);
    picture("state-request", (80, 24), &mut stage);
}

/// The line is no item: it counts for nothing, and it has a heading of its own.
#[test]
fn the_line_is_listed_without_counting() {
    let screen = stage(NOT_NEEDED, true).screen(120, 35);
    assert!(screen.contains("1 left out") && screen.contains("Left out 1, ") && screen.contains(TITLE), "{screen}");
    let screen = stage(NOT_NEEDED, false).screen(120, 35);
    assert!(
        screen.contains("0 left out") && !screen.contains(" Left out "),
        "no row is under such a heading: {screen}"
    );
    let above = screen.lines().take_while(|line| !line.contains(TITLE)).last().unwrap();
    assert!(above.contains(" Not asked for \u{2500}"), "{screen}");
    assert!(screen.contains(TITLE) && screen.contains("auto: not needed yet    212"), "{screen}");
    for outcome in [Outcome::Asked, Outcome::NoRoom] {
        let screen = stage(outcome, true).screen(120, 35);
        assert!(!screen.contains(TITLE), "its row is in the plan: {screen}");
    }
}

#[test]
fn every_outcome_says_what_changes_it() {
    let not_needed = |turns| Outcome::NotNeeded { turns, tokens: 212 };
    for (outcome, label, words) in [
        (NOT_NEEDED, "auto: not needed yet", "no turn is left out."),
        (not_needed(LeftOutTurns::KeptOut), "auto: not needed yet", "turns are left out only by you"),
        (not_needed(LeftOutTurns::ForSummaries), "auto: not needed yet", "without the accepted summaries."),
        (Outcome::Off { has_state: false }, "state_block is off", "state_block = \"auto\" in the settings asks"),
        (Outcome::Off { has_state: true }, "state_block is off", "the branch's state block is not sent"),
        (Outcome::LaterRound, "not in this turn", "The first request of this turn did not ask"),
    ] {
        let mut stage = stage(outcome, true);
        select(&mut stage);
        let screen = stage.screen(200, 50);
        assert!(screen.contains(label), "{label} in {screen}");
        let pane = screen.lines().filter_map(|line| Some(line.rsplit_once('\u{2502}')?.1.trim()));
        let pane = pane.collect::<Vec<_>>().join(" ");
        assert!(pane.contains(words), "{words} in {pane}");
        assert_eq!(pane.contains("write one, and the model keeps it up to date."), outcome.remedies().0.is_some());
    }
}

/// Marks and the selection have no effect on the line; Enter opens the state block, or says why that changes nothing.
#[test]
fn the_keys_of_the_line() {
    let mut stage = stage(NOT_NEEDED, true);
    select(&mut stage);
    let before = stage.sent.len();
    for key in ["p", "x", "i", "P", "X", "space"] {
        let screen = stage.press(key).screen(120, 35);
        assert!(screen.contains("The settings control this text; marks have no effect on it."), "{key}: {screen}");
        stage.wait(60_000);
    }
    let acts = stage.sent[before..].iter().filter(|(_, request)| matches!(request, Request::Branch(_)));
    assert_eq!(acts.count(), 0);
    assert!(stage.screen(120, 35).contains("write a state block"), "{}", stage.screen(120, 35));
    stage.press("enter");
    assert!(stage.model.layers.top::<Editor>().is_some(), "{}", stage.screen(120, 35));
    let mut stage = self::stage(Outcome::Off { has_state: false }, true);
    select(&mut stage);
    let screen = stage.press("enter").screen(120, 35);
    assert!(stage.model.layers.top::<Editor>().is_none() && !screen.contains("write a state block"), "{screen}");
    assert_eq!(screen.matches("state_block is off: no request asks").count(), 2, "pane and notice: {screen}");
}

/// The cursor stays on the line while plans change, and a filter finds the line by its words.
#[test]
fn the_line_is_kept_and_found() {
    let mut stage = stage(NOT_NEEDED, true);
    select(&mut stage);
    plan(&mut stage, Outcome::NotNeeded { turns: LeftOutTurns::KeptOut, tokens: 212 }, false);
    assert!(stage.screen(120, 35).contains("turns are left out only by you"), "{}", stage.screen(120, 35));
    plan(&mut stage, Outcome::Asked, true);
    assert!(!stage.screen(120, 35).contains(TITLE));
    plan(&mut stage, NOT_NEEDED, true);
    for (words, is_found) in [("state block", true), ("section:out kind:text", true), ("kind:turn", false)] {
        stage.press("/").type_text(words);
        assert_eq!(stage.screen(120, 35).contains(TITLE), is_found, "{words}: {}", stage.screen(120, 35));
        stage.press("esc");
    }
}

/// A plan does not store why it has no request, so the request of a past call has no such line.
#[test]
fn the_request_of_a_past_call_has_no_line() {
    let mut stage = stage(NOT_NEEDED, true);
    stage.press("left");
    let asks = |request: &Request| matches!(request, Request::Call(CallRequest::SentRequest { .. }));
    stage.reply(asks, CallAnswer::SentRequest(Box::new(found())));
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Request of turn 2") && !screen.contains(TITLE), "{screen}");
    stage.press("esc");
    assert!(stage.screen(120, 35).contains(TITLE), "{}", stage.screen(120, 35));
}
