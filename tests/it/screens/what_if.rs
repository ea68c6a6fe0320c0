//! The next call under other settings, side by side: snapshots and requests.
//! Not for: repeated calls and races (`race`).

use super::Stage;
use super::fixture::{self, MAIN};
use super::pictures::pictures;
use pleach::domain::base::{Failure, FailureKind, Hash};
use pleach::domain::call::{Certainty, ModelInfo, PromptCost};
use pleach::domain::conversation::Overrides;
use pleach::domain::planning::{Alternative, Budget, Mode, MovedItem, PlanFigures, RowKind, WhatIf};
use pleach::engine::api::{
    Answer, BranchRequest, Event, PlanAnswer, PlanRequest, ProgramAnswer, ProgramRequest, Request,
};
use pleach::tui::screens::what_if::model::WhatIfScreen;
use std::sync::Arc;

fn moved(turn: u32, title: &str, tokens: u32) -> MovedItem {
    MovedItem { kind: RowKind::Turn, title: title.into(), tokens, turn: Some(turn) }
}

fn figures(est: u32, micro: u64, same: u32, gained: Vec<MovedItem>, lost: Vec<MovedItem>) -> PlanFigures {
    let sum = |items: &[MovedItem]| (u32::try_from(items.len()).unwrap(), items.iter().map(|item| item.tokens).sum());
    PlanFigures {
        plan: Hash::of(&est.to_le_bytes()),
        est,
        certainty: Certainty::Estimated,
        budget: Budget { prompt: 7_000, safety: 1_000, ..Budget::compute(8_192, None, None, None) },
        same: Some(same),
        cost: Some(PromptCost {
            micro,
            uncached_micro: micro * 2,
            cached: same,
            answer_most_micro: 4_800,
            certainty: Certainty::Estimated,
        }),
        items: 14,
        sums: [sum(&gained), sum(&lost)],
        gained,
        lost,
        changed: 1,
        changes: Vec::new(),
    }
}

pub(super) fn found(words: &str) -> Arc<WhatIf> {
    let way = |title: &str, overrides: Overrides, result: Result<PlanFigures, Failure>| Alternative {
        title: title.into(),
        overrides,
        result,
    };
    let lost = |count: u32| (1..=count).map(|turn| moved(turn, words, 300 + turn)).collect::<Vec<_>>();
    let blank = Overrides::default;
    Arc::new(WhatIf {
        branch: MAIN,
        present: Ok(figures(5_213, 900, 4_000, Vec::new(), Vec::new())),
        alternatives: vec![
            way(
                "mode Off",
                Overrides { mode: Some(Mode::Off), ..blank() },
                Ok(figures(3_001, 700, 1_200, Vec::new(), lost(7))),
            ),
            way(
                "mode Heavy",
                Overrides { mode: Some(Mode::Heavy), ..blank() },
                Ok(figures(7_411, 1_800, 1_200, lost(4), vec![moved(9, "日本語 works too.", 80)])),
            ),
            way(
                "policy window",
                Overrides { policy: Some("window".into()), ..blank() },
                Ok(figures(5_213, 900, 4_000, Vec::new(), Vec::new())),
            ),
            way(
                "model gpt-4.1",
                Overrides { model: Some("gpt-4.1".into()), ..blank() },
                Ok(figures(5_213, 10_426, 0, Vec::new(), Vec::new())),
            ),
            way(
                "budget 2,000",
                Overrides { budget: Some(2_000), ..blank() },
                Err(Failure::new(FailureKind::Blocked, format!("Too large for the budget. {words}"))),
            ),
        ],
    })
}

fn asked(request: &Request) -> bool {
    matches!(request, Request::Plan(PlanRequest::WhatIf { .. }))
}

#[test]
fn variants_are_shown_and_one_is_applied() {
    let mut stage = fixture::opened();
    stage.type_text("Why twice?").press("f7");
    assert!(
        stage
            .sent
            .iter()
            .any(|(_, r)| matches!(r, Request::Plan(PlanRequest::WhatIf { branch: MAIN, draft, .. }) if &*draft.text == "Why twice?"))
    );
    pictures("whatif_loading", &mut stage);
    stage.reply(asked, PlanAnswer::WhatIf(found("Why does login fail after the refresh?")));
    stage.press("j j");
    pictures("whatif", &mut stage);
    stage.press("enter");
    let overrides = Overrides { mode: Some(Mode::Heavy), ..Overrides::default() };
    let wanted = Request::Branch(BranchRequest::Override { branch: MAIN, overrides });
    assert!(stage.sent.iter().any(|(_, request)| *request == wanted));
    assert!(stage.model.layers.is_empty());
}

/// A difference in tokens is explained although no item is added, removed, or changed; the budget stays in the table.
#[test]
fn a_difference_of_the_overhead_is_explained() {
    let mut stage = fixture::opened();
    stage.press("f7");
    let mut all = WhatIf::clone(&found("words"));
    let figures = all.alternatives[2].result.as_mut().unwrap();
    (figures.est, figures.changed) = (5_210, 0);
    stage.reply(asked, PlanAnswer::WhatIf(Arc::new(all)));
    stage.press("j j j");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("the other items and their overhead change by −3 tokens"), "{screen}");
    let screen = stage.screen(80, 24);
    assert!(screen.contains(" budget ") && screen.contains("8,000"), "{screen}");
}

/// The sentence about the budget is told once, and a difference from a plan that does not exist is no zero.
#[test]
fn plans_that_do_not_fit_are_told_briefly() {
    let mut stage = fixture::opened();
    stage.press("f7");
    let mut all = WhatIf::clone(&found("It needs far more tokens."));
    let blocked = || Failure::new(FailureKind::Blocked, "Too large for the budget. It needs far more tokens.");
    all.present = Err(blocked());
    all.alternatives[0].result = Err(blocked());
    stage.reply(asked, PlanAnswer::WhatIf(Arc::new(all)));
    let screen = stage.screen(120, 35);
    assert_eq!(screen.matches("does not fit the budget").count(), 3, "{screen}");
    assert_eq!(screen.matches("It needs far more tokens").count(), 1, "{screen}");
    let row = screen.lines().find(|line| line.contains("mode Heavy")).unwrap_or_default();
    assert_eq!(row.matches('–').count(), 3, "change, added, removed: {screen}");
    assert!(screen.contains("added   removed"), "{screen}");
}

#[test]
fn variants_are_requested_again_once_if_a_listed_model_has_no_row() {
    let mut stage = fixture::opened();
    stage.press("f7");
    let count = |stage: &Stage| stage.sent.iter().filter(|(_, r)| asked(r)).count();
    let lists = |request: &Request| matches!(request, Request::Program(ProgramRequest::Models { unready: false, .. }));
    let listed = |name: &str| {
        let info = ModelInfo { name: name.into(), ..fixture::settings().model };
        Answer::Program(ProgramAnswer::Models(vec![("own".to_owned(), Ok(vec![info]))]))
    };
    stage.reply(lists, listed("gpt-4.1"));
    assert_eq!(count(&stage), 1, "the first answer is still expected");
    stage.reply(asked, PlanAnswer::WhatIf(found("x")));
    assert_eq!(count(&stage), 1, "the model has a row");
    stage.press("esc f7");
    stage.reply(asked, PlanAnswer::WhatIf(found("x"))).press("j j j j j");
    stage.reply(lists, listed("new-model"));
    assert_eq!(count(&stage), 3, "requested again");
    let mut more = WhatIf::clone(&found("x"));
    let new = Alternative {
        overrides: Overrides { model: Some("new-model".into()), ..Overrides::default() },
        ..more.alternatives[3].clone()
    };
    more.alternatives.insert(4, new);
    stage.reply(asked, PlanAnswer::WhatIf(Arc::new(more)));
    assert_eq!(count(&stage), 3, "but only once");
    let screen = stage.model.layers.top::<WhatIfScreen>().unwrap();
    assert_eq!((screen.cursor, screen.line(screen.cursor).unwrap().0), (6, "budget 2,000"), "the same settings");
}

#[test]
fn viewing_variants_changes_nothing() {
    let mut stage = fixture::opened();
    stage.press("f7");
    let overrides = |stage: &Stage| {
        stage.sent.iter().filter(|(_, r)| matches!(r, Request::Branch(BranchRequest::Override { .. }))).count()
    };
    stage.press("enter");
    assert_eq!((overrides(&stage), stage.model.layers.len()), (0, 1), "there is nothing to apply yet");
    stage.reply(asked, PlanAnswer::WhatIf(found("x"))).press("enter");
    assert_eq!((overrides(&stage), stage.model.layers.len()), (0, 0), "unchanged");
    stage.press("f7 f7");
    assert!(stage.model.layers.is_empty(), "the same key closes it");
    stage.press("f7");
    let count = |stage: &Stage| stage.sent.iter().filter(|(_, r)| asked(r)).count();
    let before = count(&stage);
    let ticket = stage.sent.iter().rev().find(|(_, r)| asked(r)).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Stale, "The branch changed.")) });
    assert_eq!(count(&stage), before + 1, "requested again");
}
