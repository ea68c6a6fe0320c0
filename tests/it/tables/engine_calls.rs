//! Calls through the whole engine: drafting, editing, accepting, and taking back summaries; comparing, repeating, and
//! racing calls; what-if variants; and diagnostics.

use super::record::Record;
use super::same;
use crate::support::bench::{Bench, Client, Echo, Model, Say, message, text};
use pleach::domain::base::BranchId;
use pleach::domain::call::Limits;
use pleach::domain::conversation::{MarkKind, Overrides};
use pleach::domain::planning::Mode;
use pleach::domain::summary::{SummaryAuthor, SummaryKind};
use pleach::engine::api::{
    Act, Answer, BranchRequest, CallRequest, CallSelector, Event, Exact, ItemName, PlanAnswer, PlanRequest,
    ProgramRequest, Request, SessionEvent, SessionRequest, SummaryAct, SummaryAnswer,
};
use std::sync::Arc;

const TURNS: usize = 9;

struct Calls {
    client: Client,
    record: Record,
    branch: BranchId,
    model: Arc<Model>,
    bench: Bench,
}

fn reply(n: usize) -> Vec<Say> {
    let more = "The rest is plain talk about how the parts of the service fit together. ".repeat(4);
    text(&format!(
        "Run `cargo test --lib part{n}` and look at retry_limit_{n}. It took {n}5 ms when we measured it. {more}"
    ))
}

fn calls() -> Calls {
    let model = Model::new((1..=TURNS).map(reply));
    let mut bench = Bench::new(&model);
    bench.tools = Some(Arc::new(Echo));
    let mut client = bench.start();
    let branch = client.session();
    for n in 1..=TURNS {
        let port = 8_000 + n;
        client.say(
            branch,
            &format!("Step {n}: the service must listen on port {port} and read /srv/app/conf{n}.toml. What next?"),
        );
    }
    let record = Record::new(&bench);
    Calls { client, record, branch, model, bench }
}

impl Calls {
    fn ask(&mut self, label: &str, request: Request) -> Option<Answer> {
        self.record.ask(&mut self.client, label, request)
    }

    fn act(&mut self, act: SummaryAct) -> Option<Answer> {
        let branch = self.branch;
        self.ask(&format!("{act:?}"), Request::Summary { branch, act })
    }

    fn mark(&mut self, turn: u32, kind: MarkKind) {
        let (branch, items) = (self.branch, vec![ItemName::Named { text: turn.to_string(), message: false }]);
        self.client.must(Request::Branch(BranchRequest::Mark { branch, items, act: Act::Set { kind, toggle: false } }));
    }

    /// Drafts a summary and returns its number.
    fn draft(&mut self, kind: SummaryKind, up_to: Option<u32>) -> u64 {
        match self.act(SummaryAct::Draft { kind, up_to, by: SummaryAuthor::Extractive }) {
            Some(Answer::Summary(SummaryAnswer::Draft(Some(draft)))) => draft.number,
            _ => 0,
        }
    }

    fn plan(&mut self, words: &str) {
        let planned = self.client.plan(self.branch, &message(words));
        self.record.note(&format!("plan {words:?}"), &planned);
    }
}

#[test]
fn summaries_from_draft_to_request() {
    let mut calls = calls();
    calls.mark(2, MarkKind::Sticky);
    calls.mark(3, MarkKind::Exclude);
    calls.act(SummaryAct::Show);
    for up_to in [Some(0), Some(99), Some(1)] {
        calls.draft(SummaryKind::Lane, up_to);
    }
    let draft = calls.draft(SummaryKind::Lane, None);
    calls.act(SummaryAct::Keep { draft, items: vec![0, 1] });
    calls.act(SummaryAct::Unkeep { draft, item: 0 });
    calls.act(SummaryAct::KeepAll { draft });
    calls.act(SummaryAct::Accept { draft: draft + 9 });
    calls.act(SummaryAct::Accept { draft });
    calls.plan("What is the port of step 4?");
    let draft = calls.draft(SummaryKind::Lane, Some(6));
    calls.act(SummaryAct::Edit { draft, text: "It listens on 8005, see /srv/app/conf5.toml.".into() });
    calls.act(SummaryAct::Accept { draft });
    calls.draft(SummaryKind::Lane, Some(5));
    let draft = calls.draft(SummaryKind::Session, Some(4));
    calls.act(SummaryAct::Accept { draft });
    calls.act(SummaryAct::List);
    calls.act(SummaryAct::Stats);
    calls.plan("And the port of step 5?");
    calls.act(SummaryAct::UndoNewest { kind: SummaryKind::Lane });
    if let Some(Answer::Summary(SummaryAnswer::Summaries(cards))) = calls.act(SummaryAct::List) {
        let summary = cards[0].summary.id;
        calls.act(SummaryAct::Rewrite { summary, text: "Written by hand: 8001.".into() });
        calls.act(SummaryAct::TakeBack { summary });
    }
    calls.ask("undo", Request::Session(SessionRequest::Undo));
    calls.act(SummaryAct::List);
    calls.act(SummaryAct::Reject);
    calls.client.stop();
    let mut record = calls.record;
    record.store(&calls.bench);
    same("engine_summaries", &record.end());
}

/// The first round of a running turn is already stored, but the turn is not closed and cannot be summarized.
#[test]
fn running_turn_is_not_summarized() {
    let mut calls = calls();
    let number = u32::try_from(TURNS).unwrap();
    calls.model.then(vec![Say::Call("echo".into(), "{\"size\": 40}".into())]);
    calls.model.then(vec![Say::Hold]);
    let from = calls.client.seen.len();
    calls.client.send(calls.branch, &message("Look it up.")).unwrap();
    let first_round =
        |event: &Event| matches!(event, Event::Session(SessionEvent::Nodes { heads, .. }) if heads.len() > 1);
    calls.client.wait(from, first_round);
    let (branch, asked) = (calls.branch, |up_to| SummaryAct::Draft {
        kind: SummaryKind::Lane,
        up_to: Some(up_to),
        by: SummaryAuthor::Extractive,
    });
    let refused = calls.client.ask(Request::Summary { branch, act: asked(number + 1) }).unwrap_err();
    assert!(refused.what.contains(&format!("the last finished turn is {number}")), "{refused}");
    let Answer::Summary(SummaryAnswer::Draft(Some(draft))) =
        calls.client.must(Request::Summary { branch, act: asked(number) })
    else {
        panic!()
    };
    assert_eq!(draft.summary.turns, (1, number));
    calls.model.release();
    calls.client.closed(from, branch);
    let Answer::Summary(SummaryAnswer::Draft(Some(draft))) =
        calls.client.must(Request::Summary { branch, act: asked(number + 1) })
    else {
        panic!()
    };
    assert_eq!(draft.summary.turns, (1, number + 1), "once it is closed it counts");
}

#[test]
#[allow(clippy::too_many_lines, reason = "one history, act by act")]
fn calls_compared_and_repeated() {
    let mut calls = calls();
    let branch = calls.branch;
    let runs = calls.client.runs();
    let named = |at: usize| CallSelector::Named(runs[at].id.to_string());
    let diff = |before, after| Request::Call(CallRequest::DiffPlans { before, after });
    calls.mark(3, MarkKind::Sticky);
    calls.ask("diff", diff(None, named(8)));
    calls.ask("diff far", diff(Some(named(1)), named(7)));
    let _ = calls.client.plan(branch, &message("And the port of step 5?"));
    calls.ask("diff next", diff(Some(named(8)), CallSelector::Next(branch)));
    calls.ask("diff nothing", diff(None, CallSelector::Named("zz".into())));
    for item in ["3", "9", "77"] {
        let item = ItemName::Named { text: item.into(), message: false };
        calls.ask("why", Request::Plan(PlanRequest::Why { branch, item, most: None }));
    }
    let variants = vec![
        Overrides { mode: Some(Mode::Off), ..Overrides::default() },
        Overrides { window: Some(2), policy: Some("window".into()), ..Overrides::default() },
        Overrides { budget: Some(900), ..Overrides::default() },
        Overrides { profile: Some("two".into()), ..Overrides::default() },
    ];
    calls.ask("what if", Request::Plan(PlanRequest::WhatIf { branch, draft: message("What of the port?"), variants }));
    for kind in [MarkKind::Exclude, MarkKind::IncludeOnce, MarkKind::Sticky] {
        let items = vec![ItemName::Named { text: "5".into(), message: false }];
        let act = Act::Set { kind, toggle: false };
        calls.ask("preview", Request::Plan(PlanRequest::Preview { branch, draft: message("So?"), items, act }));
    }
    calls.plan("What of port 8004?");
    calls.ask("exact", Request::Plan(PlanRequest::Exact { branch, act: Exact::Show }));
    let body: Arc<str> = r#"{"model":"x","messages":[{"role":"user","content":"by hand"}]}"#.into();
    calls.ask("weigh", Request::Plan(PlanRequest::Exact { branch, act: Exact::Weigh { draft: message("x"), body } }));
    let retrieve = |query: &str, anyway| PlanRequest::Retrieve {
        session: None,
        branch: None,
        query: query.into(),
        at: None,
        budget: Some(300),
        anyway,
    };
    for (query, anyway) in [("port 8003", false), ("why?", false), ("why?", true)] {
        if let Ok(Answer::Plan(PlanAnswer::Retrieved(found))) = calls.client.ask(Request::Plan(retrieve(query, anyway)))
        {
            calls.record.note(
                query,
                &(
                    found.set.gate,
                    found.items.len(),
                    found.set.items.iter().map(|item| (item.rank, item.tokens)).collect::<Vec<_>>(),
                ),
            );
        }
    }
    calls.ask("again", Request::Call(CallRequest::ReplayDryRun { run: runs[4].id.to_string(), without: None }));
    for whole in [false, true] {
        calls.ask("ledger", Request::Call(CallRequest::Ledger { branch, whole }));
    }
    let (variants, limits, draft) = (Vec::new(), Limits::default(), message("What of the port?"));
    calls.ask("limits", Request::Call(CallRequest::Race { branch, variants, limits, draft }));
    calls.ask("keep one", Request::Call(CallRequest::KeepOne { branch }));
    calls.ask("models", Request::Program(ProgramRequest::Models { profile: None, unready: false }));
    calls.ask("meters", Request::Program(ProgramRequest::Meters));
    calls.ask("quirks", Request::Program(ProgramRequest::ForgetQuirks { profile: None, model: None, quirk: None }));
    calls.client.stop();
    same("engine_calls", &calls.record.end());
}
