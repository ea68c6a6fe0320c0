//! The output of `plan`, `plans`, `build`, `context`, and `replay --dry-run`.

use super::*;
use crate::cli::tests::{answer, card, execute, id};
use crate::domain::base::{BranchId, NodeId};
use crate::domain::call::{Certainty, Encoding, RunStatus};
use crate::domain::conversation::{Atom, MarkKind, Role};
use crate::domain::planning::{
    Basis, Budget, Form, Item, Layout, LeftOutTurns, Mode, RowKind, Scores, Section, Source,
};
use crate::domain::planning::{Blocked, BlockedRemedy, Reason, Remedy, Warning};
use crate::engine::api::{CallAnswer, Event, PlanAnswer, PlanRequest, RawRequest, Request, Ticket};

fn row(n: u8, kind: RowKind, verdict: Verdict, reason: Reason, tokens: u32) -> Row {
    Row {
        atom: Atom::Message { node: Hash([n; 32]) },
        kind,
        verdict,
        reason,
        tokens,
        title: format!("row {n}"),
        source: Source { turn: Some(u32::from(n)), message: Some(NodeId(id(u128::from(n)))), ..Source::default() },
        pin: None,
        items: Vec::new(),
        turns: 0,
        text: None,
        scores: Scores::default(),
    }
}

fn budget() -> Budget {
    Budget::compute(8_192, None, None, Some(4_000))
}

fn solved() -> ContextPlan {
    let hash = Hash([7; 32]);
    let inside = |section| Verdict::In { section };
    let remedy = Remedy { action: "include-once".into(), does: "takes it in".into() };
    let mut pinned = row(2, RowKind::Turn, inside(Section::Recent), Reason::Sticky, 50);
    pinned.pin = Some(MarkKind::Sticky);
    pinned.items = vec![Item {
        key: hash,
        node: None,
        role: Role::Tool,
        form: Form::Cut(300),
        tokens: 9,
        title: String::new(),
        calls: 0,
        orphan: false,
    }];
    let mut range =
        row(4, RowKind::Range, Verdict::Out { needed: 40, remedy: Some(remedy) }, Reason::OutsideWindow, 900);
    range.turns = 12;
    ContextPlan {
        id: hash,
        basis: Basis { head: hash, marks: hash, draft: hash, wire: hash, frozen: hash },
        input_digest: Hash([8; 32]),
        policy: "layered".into(),
        policy_version: 1,
        mode: Mode::Light,
        layout: Layout::Classic,
        profile: "openai".into(),
        model: "gpt-4.1-mini".into(),
        encoding: Encoding::O200kBase,
        certainty: Certainty::Estimated,
        budget: budget(),
        est_total: 71,
        framing: 6,
        tools: 0,
        tool_costs: Vec::new(),
        level_budgets: None,
        rows: vec![
            row(1, RowKind::Text, inside(Section::System), Reason::Instructions, 10),
            pinned,
            row(3, RowKind::Turn, inside(Section::UserMessage), Reason::Open, 5),
            range,
        ],
        anchor: None,
        retrieval_set_ids: vec![],
        warnings: vec![Warning::ToolsShortened { count: 1 }],
    }
}

fn refused() -> Blocked {
    let choices = vec![BlockedRemedy::LargerBudget { at_least: 9_000 }, BlockedRemedy::OtherModel];
    Blocked { basis: solved().basis, needed: 9_000, budget: budget(), choices, rows: vec![], left_out: vec![] }
}

fn planned() -> Planned {
    Planned::Plan {
        plan: Arc::new(solved()),
        request_digest: Hash([9; 32]),
        bytes: 1_234,
        calibration: Some(Calibration { factor: 1.1, offset: 0, error_pct: Some(2.0), samples: 5 }),
        cost: Some(PromptCost {
            micro: 28,
            uncached_micro: 40,
            cached: 20,
            answer_most_micro: 1_640,
            certainty: Certainty::Calibrated,
        }),
        same_prefix: None,
        breaks: None,
        code_set: None,
        state_request: Some(StateRequestOutcome::NotNeeded { turns: LeftOutTurns::KeptOut, tokens: 9 }),
    }
}

const BODY: &str = r#"{"model":"m","messages":[{"role":"system","content":"be"},{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"file"}],"stream":true}"#;

fn planning(ticket: Ticket, request: &Request) -> Vec<Event> {
    match request {
        Request::Plan(PlanRequest::Replan { .. }) => vec![answer(ticket, PlanAnswer::Planned(planned()))],
        Request::Plan(PlanRequest::WireText { .. }) => vec![answer(ticket, Answer::Text(BODY.into()))],
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_shape_of_a_plan() {
    let printed = execute(&["plan", "--json", "hello", "there"], planning);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let Some(Request::Plan(PlanRequest::Replan { draft, .. })) = printed.seen.last() else { panic!() };
    assert_eq!(&*draft.text, "hello there");
    insta::assert_snapshot!(serde_json::to_string_pretty(&printed.json()).unwrap());
}

#[test]
fn a_plan_as_text_and_as_bytes() {
    let printed = execute(&["plan", "--request", "x"], planning);
    assert_eq!(printed.out, BODY);
    let printed = execute(&["plan", "x"], planning);
    for part in ["71 of", "recent turns", "You pinned this", "left out 1", "takes it in"] {
        assert!(printed.out.contains(part), "{part}: {}", printed.out);
    }
    let printed = execute(&["build"], planning);
    assert_eq!(
        printed.out,
        "──── system ────\nbe\n\n──── assistant ────\n→ read({}) c1\n\n──── tool (answers c1) ────\nfile\n\n"
    );
    let printed = execute(&["context", "show"], planning);
    assert!(printed.out.contains("model: \"m\"") && printed.out.contains("──── system ────\nbe"));
    assert_eq!(execute(&["context", "show", "--json"], planning).json()["stream"], true);
}

#[test]
fn heavy_says_that_the_code_of_an_untrusted_folder_is_not_searched() {
    for (mode, is_noted) in [(Mode::Heavy, true), (Mode::Light, false)] {
        let planning = move |ticket, _: &Request| {
            let mut planned = planned();
            if let Planned::Plan { plan, .. } = &mut planned {
                Arc::make_mut(plan).mode = mode;
            }
            vec![answer(ticket, PlanAnswer::Planned(planned))]
        };
        let note = "Code is not searched: this folder is not trusted. `pleach trust` trusts it.";
        assert_eq!(execute(&["plan", "x"], planning).out.contains(note), is_noted, "{mode:?}");
        let json = execute(&["plan", "--json", "x"], planning).json();
        assert_eq!(json["note"].as_str(), is_noted.then_some(note), "{mode:?}");
    }
}

#[test]
fn a_blocked_plan_exits_with_3() {
    for refuses in [true, false] {
        let printed = execute(&["plan", "--json", "x"], move |ticket, _| {
            let planned = Planned::Blocked(Arc::new(refused()));
            if refuses {
                let event = Event::Planned { branch: BranchId(id(91)), generation: 1, planned };
                let failure = Failure::new(FailureKind::Blocked, "no room");
                vec![event, Event::Answer { ticket, result: Err(failure) }]
            } else {
                vec![answer(ticket, PlanAnswer::Planned(planned))]
            }
        });
        assert_eq!(printed.code, 3);
        let json = printed.json();
        assert_eq!((json["blocked"].as_bool(), json["needed"].as_u64()), (Some(true), Some(9_000)));
        assert_eq!(json["choices"][0]["choice"], "larger_budget");
        assert_eq!(json["choices"][0]["at_least"], 9_000);
        assert_eq!(json["budget"]["prompt"], budget().prompt);
        assert!(printed.err.contains("needs at least 9,000 tokens") && printed.err.contains("larger context window"));
    }
}

#[test]
fn replay_says_whether_the_bytes_are_the_same() {
    for (digest, code) in [(Hash([9; 32]), 0), (Hash([1; 32]), 1)] {
        let printed = execute(&["replay", "abc", "--dry-run", "--json"], move |ticket, _| {
            let run = Box::new(card(RunStatus::Complete));
            let request = RawRequest { body: BODY.into(), digest, parts: Vec::new(), tokens: 1, budget: 2 };
            vec![answer(ticket, CallAnswer::Replayed { run, request: Box::new(request) })]
        });
        assert_eq!((printed.code, printed.json()["same"].as_bool()), (code, Some(code == 0)));
    }
}

#[test]
fn past_calls_as_json() {
    let runs = |ticket, _: &Request| vec![answer(ticket, CallAnswer::Runs(vec![card(RunStatus::Complete)]))];
    let json = execute(&["plans", "list", "--json"], runs).json();
    for key in ["run_id", "plan_id", "request_digest", "branch", "model", "status", "est_total", "usage"] {
        assert!(!json[0][key].is_null(), "{key}");
    }
}

#[test]
fn the_commands_of_hints_exist() {
    let actions =
        ["include-once", "exclude", "exclude-once", "pin", "budget-up", "models", "capsules", "show-state", "focus"];
    for action in actions {
        let remedy = Remedy { action: action.into(), does: String::new() };
        let command = remedy.command("3").expect("a command");
        let row = crate::config::commands::table::row_of(&command);
        assert!(row.is_some_and(|row| !row.example.is_empty()), "{action}: {command}");
    }
    let remedy = Remedy { action: "search-anyway".into(), does: String::new() };
    assert_eq!(remedy.command("3"), None, "only the screen has this act");
}

#[test]
fn the_effect_of_an_act_names_what_changes() {
    use crate::cli::context::what_if::effect;
    use crate::domain::planning::{ChangedItem, PlanFigures};
    let plan = solved();
    let none = PlanFigures::of(&plan, &plan, None, None);
    assert_eq!(effect("`pleach include 4`", &none), "`pleach include 4` changes nothing in the next request.\n");
    let change = ChangedItem { kind: RowKind::Turn, title: "row 2".into(), turn: Some(2), before: 50, after: 9 };
    let shortened = PlanFigures { changed: 1, changes: vec![change], ..none.clone() };
    let text = effect("`pleach include 4`", &shortened);
    assert!(text.starts_with("`pleach include 4` changes 1 item of the next request:\n  ~ turn"), "{text}");
    let adds = effect("The summary", &PlanFigures { sums: [(1, 40), (0, 0)], ..none });
    assert!(adds.starts_with("The summary adds 40 tokens and removes 0 tokens:\n"), "{adds}");
}
