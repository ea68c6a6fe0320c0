//! Summaries through the whole engine: drafted in the background, used only after acceptance, taken back one by one,
//! and never covering pinned or excluded turns.

use crate::support::bench::{Bench, Client, Dice, Model, Say, histories, message, text};
use pleach::domain::base::{BranchId, FailureKind, NodeId};
use pleach::domain::call::RunStatus;
use pleach::domain::conversation::{LeaseTurns, MarkKind, Overrides, Role};
use pleach::domain::planning::{ContextPlan, Mode, Row, RowKind, Section, omitted_summary};
use pleach::domain::planning::{Reason, Warning};
use pleach::domain::summary::{
    KeepReason, SummaryAuthor, SummaryCard, SummaryDraft, SummaryKind, SummarySource, SummaryState,
};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, Event, ItemName, PlanAnswer, PlanRequest, Request, SessionRequest,
    SummaryAct, SummaryAnswer, SummaryEvent, TaskAct,
};
use std::sync::Arc;

fn question(n: usize) -> String {
    format!(
        "Step {n}: the service listens on port {} and must read /srv/app/conf{n}.toml first. What comes next here?",
        8_000 + n
    )
}

fn reply(n: usize) -> Vec<Say> {
    text(&format!(
        "Run `cargo test --lib part{n}` and look at retry_limit_{n}. It took {n}5 ms when we measured it. {}",
        "The rest is plain talk about how the parts of the service fit together. ".repeat(4)
    ))
}

/// A branch with a number of turns.
fn talk(client: &mut Client, turns: usize) -> BranchId {
    let branch = client.session();
    for n in 1..=turns {
        client.say(branch, &question(n));
    }
    branch
}

fn bench(turns: usize) -> (Bench, Client, BranchId) {
    let model = Model::new((1..=turns).map(reply));
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = talk(&mut client, turns);
    (bench, client, branch)
}

fn act(client: &mut Client, branch: BranchId, act: SummaryAct) -> Answer {
    client.must(Request::Summary { branch, act })
}

fn draft_request(up_to: Option<u32>) -> SummaryAct {
    SummaryAct::Draft { kind: SummaryKind::Lane, up_to, by: SummaryAuthor::Extractive }
}

fn draft(client: &mut Client, branch: BranchId, up_to: Option<u32>) -> Arc<SummaryDraft> {
    match act(client, branch, draft_request(up_to)) {
        Answer::Summary(SummaryAnswer::Draft(Some(draft))) => draft,
        other => panic!("{other:?}"),
    }
}

fn accept(client: &mut Client, branch: BranchId, up_to: Option<u32>) -> Arc<SummaryDraft> {
    let made = draft(client, branch, up_to);
    act(client, branch, SummaryAct::Accept { draft: made.number });
    made
}

fn cards(client: &mut Client, branch: BranchId) -> Vec<SummaryCard> {
    match act(client, branch, SummaryAct::List) {
        Answer::Summary(SummaryAnswer::Summaries(cards)) => cards,
        other => panic!("{other:?}"),
    }
}

fn plan(client: &mut Client, branch: BranchId) -> Arc<ContextPlan> {
    client.whole_plan(branch, &message("and now?"))
}

fn summary(plan: &ContextPlan) -> Option<&Row> {
    plan.rows.iter().find(|row| row.kind == RowKind::Summary)
}

fn user(client: &mut Client, number: usize) -> NodeId {
    let view = client.open();
    let wanted = format!("Step {number}:");
    view.nodes.iter().find(|head| head.preview.starts_with(&wanted)).unwrap().id
}

fn mark(client: &mut Client, branch: BranchId, number: usize, kind: MarkKind) {
    let item = ItemName::TurnOf(user(client, number));
    client.must(Request::Branch(BranchRequest::Mark {
        branch,
        items: vec![item],
        act: Act::Set { kind, toggle: false },
    }));
}

/// A turn that is kept as it is has its own reason: a lease is not called a pin.
#[test]
fn kept_turns_have_their_own_reasons() {
    let (_bench, mut client, branch) = bench(12);
    let ended = MarkKind::Leased { turns: LeaseTurns::Ended };
    for (number, kind) in [
        (2, MarkKind::Sticky),
        (3, MarkKind::leased(5)),
        (4, MarkKind::IncludeOnce),
        (5, MarkKind::ExcludeOnce),
        (6, ended),
    ] {
        mark(&mut client, branch, number, kind);
    }
    let made = draft(&mut client, branch, None);
    let expected =
        [(2, KeepReason::Pinned), (3, KeepReason::Leased), (4, KeepReason::Included), (5, KeepReason::Excluded)];
    assert_eq!((made.summary.turns, made.stays.as_slice()), ((1, 7), expected.as_slice()));
}

/// The preview of an acceptance has the plan that follows from it, and changes nothing.
#[test]
fn a_preview_says_what_accepting_a_draft_changes() {
    let (_bench, mut client, branch) = bench(12);
    for (window, is_sent) in [(None, true), (Some(3), false)] {
        client.must(Request::Branch(BranchRequest::Override {
            branch,
            overrides: Overrides { window, ..Overrides::default() },
        }));
        let made = draft(&mut client, branch, None);
        let before = plan(&mut client, branch);
        let number = made.number;
        let preview = PlanRequest::PreviewSummary { branch, draft: message("and now?"), number };
        let Answer::Plan(PlanAnswer::Preview(found)) = client.must(Request::Plan(preview)) else { panic!() };
        assert_eq!(plan(&mut client, branch), before, "a preview changes nothing");
        act(&mut client, branch, SummaryAct::Accept { draft: made.number });
        let after = plan(&mut client, branch);
        let figures = found.result.unwrap();
        assert_eq!((found.present, found.est), (before.id, before.est_total));
        assert_eq!((figures.plan, figures.est), (after.id, after.est_total));
        assert_eq!(found.left_out, omitted_summary(&after, &before));
        assert_eq!(found.left_out.is_none(), is_sent, "window {window:?}: {:?}", found.left_out);
        client.must(Request::Session(SessionRequest::Undo));
        assert_eq!(plan(&mut client, branch), before);
    }
    let gone = PlanRequest::PreviewSummary { branch, draft: message("and now?"), number: 99 };
    assert!(client.ask(Request::Plan(gone)).is_err());
}

#[test]
fn summary_replaces_its_turns_and_undo_restores_every_byte() {
    let (bench, mut client, branch) = bench(12);
    mark(&mut client, branch, 2, MarkKind::Sticky);
    mark(&mut client, branch, 3, MarkKind::Exclude);
    let before = client.drawn(branch, &message("and now?")).unwrap();
    let made = draft(&mut client, branch, None);
    assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), before, "a draft changes nothing");
    assert_eq!(made.summary.turns, (1, 7), "the newest ten messages stay");
    assert_eq!(made.stays, [(2, KeepReason::Pinned), (3, KeepReason::Excluded)]);
    assert!(made.sources.iter().all(|turn| turn.number != 2 && turn.number != 3));
    assert!(made.summary.tokens < made.summary.original_tokens);
    assert!(made.summary.text.as_deref().unwrap().starts_with("Extractive summary"));
    let total = plan(&mut client, branch).est_total;
    act(&mut client, branch, SummaryAct::Accept { draft: made.number });
    let now = plan(&mut client, branch);
    assert!(now.est_total < total);
    let row = summary(&now).unwrap();
    assert_eq!((row.section(), &row.reason), (Some(Section::LaneSummary), &Reason::Summary));
    let exclude = BranchRequest::Mark {
        branch,
        items: vec![ItemName::Named { text: "4".into(), message: false }],
        act: Act::Set { kind: MarkKind::Exclude, toggle: false },
    };
    let Answer::Done(sentence) = client.must(Request::Branch(exclude)) else { panic!() };
    let lost = "Excluded turn 4. The summary of turns 1–7 no longer applies; its turns are sent again, as many as fit.";
    assert!(sentence.starts_with(lost), "{sentence}");
    client.must(Request::Session(SessionRequest::Undo));
    let whole = |row: &&Row| !row.items.is_empty();
    let by_number = |number: u32| now.rows.iter().filter(whole).find(|row| row.source.turn == Some(number)).unwrap();
    for number in [1, 4, 5, 6, 7] {
        let reason = &by_number(number).reason;
        assert_eq!(*reason, Reason::Superseded { by: made.summary.id, turns: Some((1, 7)) });
        assert_eq!(reason.sentence(), "The accepted summary of turns 1–7 replaces this.");
    }
    assert_eq!(
        (by_number(2).kind, by_number(2).section()),
        (RowKind::Turn, Some(Section::Recent)),
        "it is not covered"
    );
    assert_eq!(by_number(3).reason, Reason::UserExcluded { once: false });
    assert_eq!(by_number(8).section(), Some(Section::Recent), "the first raw turn follows the last covered one");
    let used = client.drawn(branch, &message("and now?")).unwrap();
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), before);
    let mut beside = bench.start();
    beside.open();
    assert_eq!(beside.drawn(branch, &message("and now?")).unwrap(), before, "it is undone in the store too");
    beside.stop();
    client.must(Request::Session(SessionRequest::Redo));
    assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), used);
    client.stop();
    let mut again = bench.start();
    again.open();
    assert_eq!(again.drawn(branch, &message("and now?")).unwrap(), used, "a restart sends the same bytes");
}

#[test]
fn undo_after_calls_restores_the_window() {
    let (_bench, mut client, branch) = bench(8);
    let before = plan(&mut client, branch);
    accept(&mut client, branch, Some(5));
    client.say(branch, "one more thing");
    let run = client.runs().pop().unwrap();
    assert_eq!(client.replay(&run).unwrap(), run.request_digest, "search finds the summary's text");
    act(&mut client, branch, SummaryAct::UndoNewest { kind: SummaryKind::Lane });
    let after = plan(&mut client, branch);
    assert!(summary(&after).is_none());
    let recent = |plan: &ContextPlan| plan.rows.iter().filter(|row| row.section() == Some(Section::Recent)).count();
    assert_eq!(recent(&after), recent(&before) + 1, "all turns are in the window again");
}

#[test]
fn summaries_are_built_from_sources_and_taken_back_one_by_one() {
    let (_bench, mut client, branch) = bench(12);
    let first = accept(&mut client, branch, Some(3));
    let port = first.dropped.iter().position(|item| item.text.starts_with("/srv/")).unwrap_or(0);
    let again = draft(&mut client, branch, Some(5));
    let kept = match act(&mut client, branch, SummaryAct::Keep { draft: again.number, items: vec![port] }) {
        Answer::Summary(SummaryAnswer::Draft(Some(draft))) => draft.summary.kept[0].text.clone(),
        other => panic!("{other:?}"),
    };
    act(&mut client, branch, SummaryAct::Accept { draft: again.number });
    let third = accept(&mut client, branch, Some(7));
    assert_eq!(third.summary.covers.len(), 7, "all turns were read, not the earlier summary");
    assert!(third.summary.text.as_deref().unwrap().contains(&kept), "kept items stay");
    let versions: Vec<(u32, bool)> =
        cards(&mut client, branch).iter().map(|card| (card.summary.turns.1, card.included)).collect();
    assert_eq!(versions, [(7, true), (5, false), (3, false)]);
    for expected in [Some(5), Some(3), None] {
        act(&mut client, branch, SummaryAct::UndoNewest { kind: SummaryKind::Lane });
        let sent = cards(&mut client, branch).into_iter().find(|card| card.included).map(|card| card.summary.turns.1);
        assert_eq!(sent, expected);
    }
    let none = client.ask(Request::Summary { branch, act: SummaryAct::UndoNewest { kind: SummaryKind::Lane } });
    assert_eq!(none.unwrap_err().kind, FailureKind::User);
    client.must(Request::Session(SessionRequest::Undo));
    assert!(cards(&mut client, branch)[0].included, "taking back a summary can be undone");
}

#[test]
fn excluded_turns_are_in_no_summary() {
    let (_bench, mut client, branch) = bench(12);
    accept(&mut client, branch, Some(3));
    accept(&mut client, branch, Some(6));
    mark(&mut client, branch, 5, MarkKind::Exclude);
    let now = plan(&mut client, branch);
    assert!(now.warnings.contains(&Warning::SummaryOlder { to: Some(3) }), "{:?}", now.warnings);
    assert_eq!(now.rows.iter().find(|row| row.source.turn == Some(6)).unwrap().section(), Some(Section::Recent));
    let states: Vec<SummaryState> = cards(&mut client, branch).iter().map(|card| card.state).collect();
    assert_eq!(states, [SummaryState::StaleSource, SummaryState::Fresh]);
    mark(&mut client, branch, 1, MarkKind::ExcludeOnce);
    let now = plan(&mut client, branch);
    assert!(now.warnings.contains(&Warning::SummaryOlder { to: None }));
    assert_eq!(summary(&now).unwrap().reason, Reason::StaleSummary);
    client.must(Request::Session(SessionRequest::Undo));
    client.must(Request::Session(SessionRequest::Undo));
    assert!(plan(&mut client, branch).warnings.iter().all(|w| !matches!(w, Warning::SummaryOlder { .. })));
}

/// A pin, a lease, and an exclusion from one request change nothing that a draft read: it can still be accepted, and the
/// marked turn is sent beside it.
#[test]
fn a_mark_on_a_covered_turn_does_not_refuse_the_draft() {
    for kind in [MarkKind::Sticky, MarkKind::leased(5), MarkKind::IncludeOnce, MarkKind::ExcludeOnce] {
        let (_bench, mut client, branch) = bench(8);
        let made = draft(&mut client, branch, Some(4));
        mark(&mut client, branch, 2, kind);
        act(&mut client, branch, SummaryAct::Accept { draft: made.number });
        let now = plan(&mut client, branch);
        let row = now.rows.iter().find(|row| row.source.turn == Some(2)).unwrap();
        assert_eq!(row.included(), kind != MarkKind::ExcludeOnce, "{kind:?}: {row:?}");
    }
}

#[test]
fn outdated_draft_is_refused() {
    let (_bench, mut client, branch) = bench(8);
    let made = draft(&mut client, branch, Some(4));
    mark(&mut client, branch, 2, MarkKind::Exclude);
    let stale = client.ask(Request::Summary { branch, act: SummaryAct::Accept { draft: made.number } }).unwrap_err();
    assert_eq!(stale.kind, FailureKind::Stale);
    let refused =
        |client: &mut Client, up_to| client.ask(Request::Summary { branch, act: draft_request(up_to) }).unwrap_err();
    assert_eq!(refused(&mut client, Some(99)).kind, FailureKind::User);
    accept(&mut client, branch, Some(4));
    assert!(refused(&mut client, Some(4)).what.contains("covers everything up to turn 4"));
}

#[test]
fn edited_drafts_are_measured_and_checked() {
    let (_bench, mut client, branch) = bench(10);
    let made = draft(&mut client, branch, Some(6));
    let all = match act(&mut client, branch, SummaryAct::KeepAll { draft: made.number }) {
        Answer::Summary(SummaryAnswer::Draft(Some(draft))) => draft,
        other => panic!("{other:?}"),
    };
    assert!(all.dropped.len() < made.dropped.len() && !all.summary.too_detailed(), "{}", all.summary.ratio_milli());
    let longer = "words ".repeat(5_000);
    let edit = |text: String| Request::Summary { branch, act: SummaryAct::Edit { draft: made.number, text } };
    assert!(client.ask(edit(longer)).unwrap_err().what.contains("would save no tokens"));
    let edited = match client.must(edit("The service listens on port 8001.".into())) {
        Answer::Summary(SummaryAnswer::Draft(Some(draft))) => draft,
        other => panic!("{other:?}"),
    };
    assert_eq!(edited.summary.source, SummarySource::User);
    assert_eq!(edited.summary.kept, all.summary.kept);
    assert!(!edited.dropped.iter().any(|item| item.text == "8001"));
}

#[test]
fn model_drafts_in_the_background_with_secrets_masked() {
    let key = format!("ghp_{}", "4fT9xQ2mZ7bK1wL8pR3vN6cJ5hG0sD4yA2eU");
    let mut scripts: Vec<Vec<Say>> = (1..=8).map(reply).collect();
    let odd = Say::Odd("A line was no event.".into());
    scripts.push(vec![Say::Hold, odd, Say::Text("### Decisions\n- [turn 1] Port 8001 it is.".into())]);
    scripts.push(text("answered meanwhile"));
    let model = Model::new(scripts);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, &format!("My key is {key} and the port is 8001, as we decided. What else is there?"));
    for n in 2..=8 {
        client.say(branch, &question(n));
    }
    let act = SummaryAct::Draft { kind: SummaryKind::Lane, up_to: Some(5), by: SummaryAuthor::Model };
    let ticket = client.post(Request::Summary { branch, act });
    while model.bodies().len() < 9 {
        std::thread::yield_now();
    }
    client.say(branch, "go on while it is written");
    model.release();
    let Ok(Answer::Summary(SummaryAnswer::Draft(Some(made)))) = client.answer(ticket) else { panic!("no draft") };
    assert_eq!(made.body, "### Decisions\n- [turn 1] Port 8001 it is.");
    assert_eq!((made.summary.source, made.masked), (SummarySource::Llm, 1));
    let body = String::from_utf8(model.bodies()[8].clone()).unwrap();
    assert!(!body.contains(&key) && body.contains("[masked:github]") && body.contains("### Pending"));
    let run = client.runs().into_iter().find(|run| Some(run.id) == made.run).unwrap();
    assert_eq!((run.status, run.policy.as_str()), (RunStatus::Complete, "summarise"));
    let diagnostics: Vec<&str> = run.diagnostics.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(diagnostics, ["A line was no event."], "the unusable text is stored with the call");
    client.must(Request::Summary { branch, act: SummaryAct::Accept { draft: made.number } });
    assert!(summary(&plan(&mut client, branch)).is_some());
}

#[test]
fn stopping_a_model_changes_nothing() {
    let mut scripts: Vec<Vec<Say>> = (1..=8).map(reply).collect();
    scripts.push(vec![Say::Hold]);
    let model = Model::new(scripts);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = talk(&mut client, 8);
    let before = client.drawn(branch, &message("and now?")).unwrap();
    let draft_act = SummaryAct::Draft { kind: SummaryKind::Lane, up_to: None, by: SummaryAuthor::Model };
    let ticket = client.post(Request::Summary { branch, act: draft_act });
    while model.bodies().len() < 9 {
        std::thread::yield_now();
    }
    act(&mut client, branch, SummaryAct::Reject);
    assert_eq!(client.answer(ticket).unwrap_err().kind, FailureKind::User);
    assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), before);
    assert_eq!(client.runs().pop().unwrap().status, RunStatus::Cancelled);
}

#[test]
fn forks_copy_summaries() {
    let (_bench, mut client, branch) = bench(10);
    accept(&mut client, branch, Some(5));
    let fork = |at| Request::Branch(BranchRequest::Fork { branch, at, name: None, switch: false });
    let Answer::Branch(BranchAnswer::Branch(child)) = client.must(fork(None)) else { panic!("no branch") };
    let early = Some(user(&mut client, 3));
    let Answer::Branch(BranchAnswer::Branch(early)) = client.must(fork(early)) else { panic!("no branch") };
    let child_plan = client.drawn(child.id, &message("and now?")).unwrap();
    assert!(summary(&plan(&mut client, child.id)).is_some());
    let short = plan(&mut client, early.id);
    assert_eq!(summary(&short).unwrap().reason, Reason::StaleSummary, "its turns are not all on that path");
    act(&mut client, branch, SummaryAct::UndoNewest { kind: SummaryKind::Lane });
    assert_eq!(client.drawn(child.id, &message("and now?")).unwrap(), child_plan);
}

#[test]
fn removal_deletes_the_summary() {
    let (bench, mut client, branch) = bench(10);
    accept(&mut client, branch, Some(5));
    let item = ItemName::TurnOf(user(&mut client, 4));
    client.must(Request::Branch(BranchRequest::RemoveMessage { branch, item }));
    let card = &cards(&mut client, branch)[0];
    assert_eq!((card.state, card.summary.text.as_deref(), card.included), (SummaryState::StaleSource, None, false));
    assert_eq!(summary(&plan(&mut client, branch)).unwrap().reason, Reason::StaleSummary);
    client.stop();
    let store = bench.store();
    let session = store.sessions().unwrap()[0].id;
    assert_eq!(store.summaries(session).unwrap()[0].text, None);
}

/// An accepted summary is a row in every mode. One that would make the request larger has a row that says so.
#[test]
fn accepted_summary_is_a_row_in_every_mode() {
    let (_bench, mut client, branch) = bench(10);
    let overrides = |mode, budget| Overrides { mode: Some(mode), budget, ..Overrides::default() };
    let sizes = |client: &mut Client| -> Vec<(u32, Option<Reason>)> {
        let ways =
            [Mode::Off, Mode::Light, Mode::Heavy].into_iter().flat_map(|mode| [(mode, None), (mode, Some(1_200))]);
        let each = ways.map(|(mode, budget)| {
            client.must(Request::Branch(BranchRequest::Override { branch, overrides: overrides(mode, budget) }));
            let plan = client.whole_plan(branch, &message("Which port does the service listen on at first?"));
            (plan.est_total, summary(&plan).map(|row| row.reason.clone()))
        });
        each.collect()
    };
    let before = sizes(&mut client);
    accept(&mut client, branch, Some(5));
    let lane = sizes(&mut client);
    let Answer::Summary(SummaryAnswer::Draft(Some(made))) = act(
        &mut client,
        branch,
        SummaryAct::Draft { kind: SummaryKind::Session, up_to: Some(3), by: SummaryAuthor::Extractive },
    ) else {
        panic!("no draft")
    };
    act(&mut client, branch, SummaryAct::Accept { draft: made.number });
    let both = sizes(&mut client);
    for ((before, lane), both) in before.iter().zip(&lane).zip(&both) {
        assert_eq!(
            (&before.1, lane.1.as_ref(), both.1.as_ref()),
            (&None, Some(&Reason::Summary), Some(&Reason::Summary))
        );
        assert!(lane.0 <= before.0 && both.0 <= lane.0, "{before:?} {lane:?} {both:?}");
    }
    let rows = client.whole_plan(branch, &message("and now?"));
    let rows: Vec<_> = rows.rows.iter().filter(|row| row.kind == RowKind::Summary).map(|row| &row.reason).collect();
    assert_eq!(rows, [&Reason::Summary, &Reason::Duplicate], "the lane's summary covers everything in the session's");
}

/// Every built-in policy, mode, and two budgets, for several kinds of questions: an accepted summary makes no call
/// larger, and nothing that it covers is quoted unless it contains what the question names and the summary lacks.
#[test]
fn accepting_makes_no_plan_larger() {
    let questions = [
        "and now?",
        "Which port does the service listen on at first, and what must it read?",
        "What did `cargo test --lib part2` and retry_limit_3 have to do with it?",
        "How long did it take when we measured it: 45 ms?",
        "Tell me how the parts of the service fit together.",
    ];
    let model = Model::new((1..=14).map(reply));
    let bench = Bench::new(&model);
    let all = pleach::config::policies::load(std::path::Path::new("no policies of one's own")).unwrap();
    let mut client = bench.start_with(|setup| setup.settings.policies.extend(all.clone()));
    let branch = talk(&mut client, 14);
    let measure = |client: &mut Client| -> Vec<(String, Arc<ContextPlan>)> {
        let mut plans = Vec::new();
        for (policy, mode, budget) in all.keys().flat_map(|policy| {
            Mode::ALL.into_iter().flat_map(move |mode| [None, Some(2_200)].map(|budget| (policy, mode, budget)))
        }) {
            let overrides =
                Overrides { policy: Some(policy.clone()), mode: Some(mode), budget, ..Overrides::default() };
            client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
            for question in questions {
                let plan = client.whole_plan(branch, &message(question));
                plans.push((format!("{policy} {} {budget:?}: {question}", mode.title()), plan));
            }
        }
        plans
    };
    let mut before = measure(&mut client);
    for up_to in [4, 9] {
        let made = accept(&mut client, branch, Some(up_to));
        let after = measure(&mut client);
        for ((way, then), (_, now)) in before.iter().zip(&after) {
            let row = summary(now).unwrap();
            assert!(now.est_total <= then.est_total, "{way}: {} of {}: {row:#?}", now.est_total, then.est_total);
            let covered = |row: &&Row| row.source.turn.is_some_and(|turn| turn <= made.summary.turns.1);
            let mut quoted = now.included().filter(|row| matches!(row.reason, Reason::Retrieved { .. }));
            let named = |row: &&Row| match row.source.turn {
                Some(2 | 3) => way.contains("retry_limit_3"),
                Some(4) => way.contains("45 ms"),
                _ => false,
            };
            let quoted = quoted.find(|row| covered(row) && !named(row));
            assert!(!row.included() || quoted.is_none(), "{way}: {quoted:#?}");
        }
        before = after;
    }
}

/// The question names something that the summary lacks, but no turn that it covers contains it.
#[test]
fn turns_without_the_named_thing_are_not_quoted() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let branch = client.session();
    let mut add = |role: Role, text: String| {
        client.must(Request::Branch(BranchRequest::AddMessage { branch, role, text, priority: None }));
    };
    for n in 1..=12 {
        let plain = format!("The beacon of node {n} fell behind while the window of its log was open. ").repeat(6);
        add(Role::User, format!("Note {n}: {plain}"));
        add(Role::Assistant, "Noted.".into());
    }
    add(Role::User, "The fix for the beacon?".into());
    add(Role::Assistant, "Raise BEACON_WINDOW to 52.".into());
    accept(&mut client, branch, Some(12));
    let overrides = Overrides { mode: Some(Mode::Heavy), ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
    let plan = client.whole_plan(branch, &message("What is BEACON_WINDOW, and why did the beacon fall behind?"));
    assert!(summary(&plan).unwrap().included());
    let covered = |row: &&Row| row.source.turn.is_some_and(|turn| turn <= 12);
    let quoted: Vec<&Row> = plan.included().filter(covered).collect();
    assert!(quoted.is_empty(), "{quoted:#?}");
}

/// Questions that name what the summaries lack: more messages are searched then, and policies that choose by score find
/// others. The request is no larger all the same.
#[test]
fn accepting_makes_no_plan_larger_when_more_is_searched() {
    let mut dice = Dice::new(21);
    let mut words = |count: usize| -> String {
        let all =
            ["cache", "parser", "thread", "socket", "window", "layout", "token", "buffer", "index", "query", "planner"];
        (0..count).map(|_| *dice.pick(&all)).collect::<Vec<_>>().join(" ")
    };
    let turns: Vec<(String, String)> = (0..60)
        .map(|n| {
            let (limit, long) = (1_000 + n * 7, [30, 120, 300, 30, 300][n * 7 % 11 % 5]);
            let asked = format!("Look at mod_{n}.rs, {}", words(20));
            let body =
                format!("In mod_{n}.rs the limit is {limit}. {}. Call setup_{n}() first. {}", words(long), words(60));
            (asked, body)
        })
        .collect();
    let model = Model::new(turns.iter().map(|(_, answer)| text(answer)));
    let bench = Bench::new(&model);
    let all = pleach::config::policies::load(std::path::Path::new("no policies of one's own")).unwrap();
    let mut client = bench.start_with(|setup| setup.settings.policies.extend(all.clone()));
    let branch = client.session();
    for (asked, _) in &turns {
        client.say(branch, asked);
    }
    let measure = |client: &mut Client| -> Vec<(String, u32)> {
        let ways = [("adaptive", 3_000, Mode::Heavy), ("adaptive", 5_000, Mode::Light), ("levels", 8_000, Mode::Light)];
        let mut sizes = Vec::new();
        for (policy, budget, mode) in ways {
            let (policy, budget) = (Some(policy.to_owned()), Some(budget));
            let overrides = Overrides { policy: policy.clone(), mode: Some(mode), budget, ..Overrides::default() };
            client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
            for question in ["What is in mod_7.rs?", "What about mod_25.rs and setup_7?", "where does 1231 come from"] {
                let plan = client.whole_plan(branch, &message(question));
                sizes.push((format!("{policy:?} {budget:?}: {question}"), plan.est_total));
            }
        }
        sizes
    };
    let mut before = measure(&mut client);
    for up_to in [20, 40] {
        accept(&mut client, branch, Some(up_to));
        let after = measure(&mut client);
        for ((way, then), (_, now)) in before.iter().zip(&after) {
            assert!(now <= then, "{way}: {now} of {then}");
        }
        before = after;
    }
}

/// A summary of another lane is left out. Naming that lane, or one of its tasks, includes it.
#[test]
fn naming_a_lane_or_a_task_brings_its_summary() {
    let model = Model::new((1..=12).map(reply));
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = talk(&mut client, 3);
    let lane = |lane: &str| Overrides { lane: Some(lane.into()), ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch, overrides: lane("billing") }));
    for n in 5..=8 {
        client.say(branch, &question(n));
    }
    let made = accept(&mut client, branch, Some(6));
    assert_eq!((made.summary.lane.as_str(), made.summary.covers.len()), ("billing", 3));
    client.must(Request::Branch(BranchRequest::Override { branch, overrides: lane("travel") }));
    client.say(branch, &question(9));
    let row = |client: &mut Client, asked: &str| {
        let plan = client.whole_plan(branch, &message(asked));
        summary(&plan).map(|row| (row.included(), row.reason.clone()))
    };
    assert_eq!(row(&mut client, "and now?"), Some((false, Reason::OtherLane)));
    assert_eq!(row(&mut client, "is rebilling done?"), Some((false, Reason::OtherLane)), "no text of its own");
    assert_eq!(row(&mut client, "What did we decide on Billing?"), Some((true, Reason::Summary)));
    act(&mut client, branch, SummaryAct::UndoNewest { kind: SummaryKind::Lane });
    client.must(Request::Branch(BranchRequest::Task { branch, act: TaskAct::Start("ports".into()) }));
    client.say(branch, "ok");
    client.must(Request::Branch(BranchRequest::Task { branch, act: TaskAct::Done(None) }));
    let up_to = Some(9);
    let draft_act = SummaryAct::Draft { kind: SummaryKind::Session, up_to, by: SummaryAuthor::Extractive };
    let Answer::Summary(SummaryAnswer::Draft(Some(made))) = act(&mut client, branch, draft_act) else {
        panic!("no draft")
    };
    act(&mut client, branch, SummaryAct::Accept { draft: made.number });
    assert_eq!(row(&mut client, "What came of the ports?"), Some((true, Reason::Summary)));
}

/// The workbench closes the screen of a draft when the draft is gone, so it must know before why there is none.
#[test]
fn a_draft_that_fails_is_answered_with_the_reason_before_it_is_gone() {
    let model = Model::new((1..=5).map(|_| text("Yes.")));
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    for n in 1..=5 {
        client.say(branch, &format!("Step {n}: the retry service listens on its gateway port."));
    }
    mark(&mut client, branch, 2, MarkKind::Sticky);
    let ticket = client.post(Request::Summary { branch, act: draft_request(Some(3)) });
    let failure = client.answer(ticket).unwrap_err();
    assert!(failure.what.starts_with("A summary of turns 1–3 ("), "{failure}");
    assert!(failure.what.contains("and no sentence fits. Turn 2 (pinned) is kept verbatim."), "{failure}");
    assert!(failure.todo.contains("let the model write the summary: `pleach compress 3 model`."), "{failure}");
    let events = client.stop();
    let answered = events.iter().position(|event| matches!(event, Event::Answer { ticket: of, .. } if *of == ticket));
    let is_gone = |event: &Event| matches!(event, Event::Summary(SummaryEvent::Draft { draft: None, .. }));
    let gone = events.iter().position(is_gone);
    assert!(answered.is_some() && gone.is_none_or(|gone| answered < Some(gone)), "{answered:?} {gone:?}");
}

/// Random acts on a conversation with summaries: nothing is lost, and undoing everything gives the first bytes.
#[test]
fn random_summary_histories_undo_to_the_byte() {
    for seed in histories(2) {
        let mut dice = Dice::new(seed);
        let (_bench, mut client, branch) = bench(11);
        let first = client.drawn(branch, &message("and now?")).unwrap();
        let mut done = 0;
        for _ in 0..14 {
            let changed = match dice.below(4) {
                0 | 1 => {
                    let up_to = u32::try_from(2 + dice.below(9)).ok();
                    match client.ask(Request::Summary { branch, act: draft_request(up_to) }) {
                        Ok(Answer::Summary(SummaryAnswer::Draft(Some(made)))) => {
                            let act = SummaryAct::Accept { draft: made.number };
                            client.ask(Request::Summary { branch, act }).is_ok()
                        }
                        _ => false,
                    }
                }
                2 => {
                    let act = SummaryAct::UndoNewest { kind: SummaryKind::Lane };
                    client.ask(Request::Summary { branch, act }).is_ok()
                }
                _ => {
                    let kinds = [MarkKind::Sticky, MarkKind::Exclude, MarkKind::IncludeOnce, MarkKind::leased(2)];
                    let (number, kind) = (1 + dice.below(11), *dice.pick(&kinds));
                    mark(&mut client, branch, number, kind);
                    true
                }
            };
            done += usize::from(changed);
            let now = plan(&mut client, branch);
            assert!(now.est_total <= now.budget.prompt);
            let window = now.rows.iter().filter(|row| row.section() == Some(Section::Recent)).map(|row| row.atom);
            let superseded = now.rows.iter().filter(|row| matches!(row.reason, Reason::Superseded { .. }));
            let superseded: Vec<_> = superseded.map(|row| row.atom).collect();
            assert!(window.into_iter().all(|atom| !superseded.contains(&atom)));
        }
        for _ in 0..done {
            client.must(Request::Session(SessionRequest::Undo));
        }
        assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), first, "seed {seed}");
    }
}
