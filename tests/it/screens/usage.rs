//! Usage charts: snapshots at several sizes and counts, and keys.
//! Not for: the meter of the next request (`chat::next_request`).

use super::Stage;
use super::fixture::{self, MAIN, NOON, run_id};
use super::pictures::{picture, pictures};
use pleach::domain::call::{CallCost, Ledger, RunCard, RunStatus, Totals, Usage, UseTotals};
use pleach::engine::api::{CallAnswer, CallRequest, Event, Request, TurnEvent};
use pleach::tui::model::pointer::{Mouse, PointerAction};
use pleach::tui::msg::{Input, Msg};
use pleach::tui::screens::calls::model::Calls;
use pleach::tui::theme::Theme;

fn card(n: u32) -> RunCard {
    let nodes = fixture::story();
    let is_reported = n % 5 != 3;
    let prompt = 900 + n * 137 % 2_400;
    RunCard {
        est_total: prompt - prompt / 50 + n % 90,
        usage: if is_reported {
            let cached = (!n.is_multiple_of(4)).then_some(prompt * (n % 9) / 10);
            Usage { prompt: Some(prompt), completion: Some(40 + n * 71 % 700), cached_read: cached, ..Usage::default() }
        } else {
            Usage::default()
        },
        cost_micro: is_reported.then_some(u64::from(prompt) * 2),
        round: 1 + n % 2,
        at: NOON + i64::from(n) * 60_000,
        ..fixture::run(u128::from(n), &nodes[0], &nodes[3])
    }
}

fn ledger(count: u32, whole: bool) -> Box<Ledger> {
    let mut totals = Totals::default();
    let mut calls = Vec::new();
    for n in 1..=count {
        let call = CallCost::of(&card(n), Some(n.div_ceil(2)), "Why does login fail\u{202e} after the refresh?".into());
        totals.add(&call);
        calls.push(call);
    }
    let older = calls.len().saturating_sub(4_000);
    let calls = calls.split_off(older);
    let older = u32::try_from(older).unwrap();
    Box::new(Ledger { branch: MAIN, whole, calls, older, totals, uses: UseTotals::default() })
}

fn asked(request: &Request) -> bool {
    matches!(request, Request::Call(CallRequest::Ledger { .. }))
}

pub(super) fn opened(count: u32) -> Stage {
    let mut stage = fixture::opened();
    stage.press("f10");
    assert_eq!(*stage.last(), Request::Call(CallRequest::Ledger { branch: MAIN, whole: false }));
    stage.reply(asked, CallAnswer::Ledger(ledger(count, false)));
    stage
}

#[test]
fn charts_for_any_number_of_calls() {
    let mut none = opened(0);
    let screen = none.screen(80, 24);
    assert!(screen.contains("No calls on this branch yet") && !screen.contains("open it"), "{screen}");
    none.press("h l j k g G enter");
    assert!(none.screen(80, 24).contains("Each call becomes a"), "keys do nothing on an empty screen");
    picture("ledger_one", (80, 24), &mut opened(1));
    pictures("ledger", &mut opened(23));
    let mut many = opened(10_000);
    picture("ledger_many", (120, 35), &mut many);
    many.press("g");
    let screen = many.screen(120, 35);
    assert!(screen.contains("call 6,001 of 10,000"), "only the newest calls: {screen}");
    let mut tiny = opened(23);
    picture("ledger", (40, 12), &mut tiny);
    tiny.press("j j j j");
    assert!(tiny.screen(40, 12).contains("estimate error"), "j scrolls to the charts below");
    let mut plain = opened(23);
    plain.theme = Theme::built_in("none", true);
    let screen = plain.screen(120, 35);
    let signs = screen.replace(['⟨', '⟩'], "");
    assert!(signs.is_ascii(), "{screen}");
    picture("ledger_ascii", (120, 35), &mut plain);
}

#[test]
fn selecting_a_call_and_the_whole_session() {
    let mut stage = opened(23);
    assert!(stage.screen(120, 35).contains("call 23 of 23"), "the newest first");
    stage.press("h h left l");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("call 21 of 23"), "{screen}");
    stage.model.facts.mouse = true;
    stage.screen(120, 35);
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Press, x: 3, y: 5 })));
    assert!(stage.screen(120, 35).contains("call 1 of 23"), "a click takes the column");
    stage.press("l l l l l l l l l l l l l l l l l l l l h h h");
    let screen = stage.screen(120, 35);
    assert!(
        screen.contains("call 18 of 23") && screen.contains("in unknown (estimated") && screen.contains("out unknown")
    );
    stage.press("a");
    assert_eq!(*stage.last(), Request::Call(CallRequest::Ledger { branch: MAIN, whole: true }));
    stage.reply(asked, CallAnswer::Ledger(ledger(30, true)));
    let screen = stage.screen(120, 35);
    assert!(screen.contains("the whole session") && screen.contains("call 18 of 30"), "{screen}");
    let nodes = fixture::story();
    stage.event(Event::Turn(TurnEvent::Run(Box::new(fixture::run(77, &nodes[0], &nodes[3])))));
    assert_eq!(
        *stage.last(),
        Request::Call(CallRequest::Ledger { branch: MAIN, whole: true }),
        "a call ended: the figures are requested again"
    );
    stage.reply(asked, CallAnswer::Ledger(ledger(31, true)));
    stage.press("enter");
    let runs = (1..=31).map(card).collect();
    stage.reply(|request| matches!(request, Request::Call(CallRequest::List)), CallAnswer::Runs(runs));
    let screen = stage.screen(120, 35);
    let selected = stage.model.layers.top::<Calls>().and_then(Calls::selected).map(|card| card.id);
    assert!(screen.contains("Call history") && selected == Some(run_id(18)), "{selected:?} {screen}");
    stage.press("esc f10");
    assert!(stage.model.layers.is_empty(), "the same key closes it");
}

#[test]
fn running_call_is_not_zero() {
    let mut stage = fixture::opened();
    stage.type_text("/stats").press("enter");
    let mut found = ledger(3, false);
    let open = RunCard { status: RunStatus::Open, usage: Usage::default(), cost_micro: None, ..card(4) };
    let call = CallCost::of(&open, Some(2), "now".into());
    found.totals.add(&call);
    found.calls.push(call);
    stage.reply(asked, CallAnswer::Ledger(found));
    let screen = stage.screen(120, 35);
    assert!(screen.contains('◌') && screen.contains("open"), "{screen}");
}
