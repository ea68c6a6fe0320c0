//! Summaries through the whole engine: drafted beside everything, used only when accepted, taken back level by level,
//! never over what a person pinned or took out.

use crate::support::bench::{Bench, Client, Dice, Model, Say, message, text};
use pleach::domain::base::failure::FailureKind;
use pleach::domain::base::ids::{BranchId, NodeId};
use pleach::domain::call::run::RunStatus;
use pleach::domain::conversation::branch::Overrides;
use pleach::domain::conversation::mark::MarkKind;
use pleach::domain::planning::mode::Mode;
use pleach::domain::planning::plan::{ContextPlan, Reason, Row, RowKind, Warning};
use pleach::domain::planning::policy::Section;
use pleach::domain::summary::accepted::{CapsuleKind, CapsuleSource, CapsuleState};
use pleach::domain::summary::draft::{By, CapsuleCard, CapsuleDraft, Stays};
use pleach::engine::api::{Act, Answer, BranchRequest, Condense, Item, Request, SessionRequest};
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

/// A branch with so many turns.
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

fn act(client: &mut Client, branch: BranchId, act: Condense) -> Answer {
    client.must(Request::Condense { branch, act })
}

fn asks(up_to: Option<u32>) -> Condense {
    Condense::Draft { kind: CapsuleKind::Lane, up_to, by: By::Extractive }
}

fn draft(client: &mut Client, branch: BranchId, up_to: Option<u32>) -> Arc<CapsuleDraft> {
    match act(client, branch, asks(up_to)) {
        Answer::Draft(Some(draft)) => draft,
        other => panic!("{other:?}"),
    }
}

fn accept(client: &mut Client, branch: BranchId, up_to: Option<u32>) -> Arc<CapsuleDraft> {
    let made = draft(client, branch, up_to);
    act(client, branch, Condense::Accept { draft: made.number });
    made
}

fn cards(client: &mut Client, branch: BranchId) -> Vec<CapsuleCard> {
    match act(client, branch, Condense::List) {
        Answer::Capsules(cards) => cards,
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
    let item = Item::TurnOf(user(client, number));
    client.must(Request::Branch(BranchRequest::Mark {
        branch,
        items: vec![item],
        act: Act::Set { kind, toggle: false },
    }));
}

#[test]
fn a_summary_goes_in_place_of_its_turns_and_undo_brings_back_every_byte() {
    let (bench, mut client, branch) = bench(12);
    mark(&mut client, branch, 2, MarkKind::Sticky);
    mark(&mut client, branch, 3, MarkKind::Exclude);
    let before = client.drawn(branch, &message("and now?")).unwrap();
    let made = draft(&mut client, branch, None);
    assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), before, "a draft changes nothing");
    assert_eq!(made.capsule.turns, (1, 7), "the newest ten messages stay");
    assert_eq!(made.stays, [(2, Stays::Pinned), (3, Stays::Excluded)]);
    assert!(made.sources.iter().all(|turn| turn.number != 2 && turn.number != 3));
    assert!(made.capsule.tokens < made.capsule.original_tokens);
    assert!(made.capsule.text.as_deref().unwrap().starts_with("Extractive summary"));
    let total = plan(&mut client, branch).est_total;
    act(&mut client, branch, Condense::Accept { draft: made.number });
    let now = plan(&mut client, branch);
    assert!(now.est_total < total);
    let row = summary(&now).unwrap();
    assert_eq!((row.section(), &row.reason), (Some(Section::LaneSummary), &Reason::Summary));
    let whole = |row: &&Row| !row.items.is_empty();
    let by_number = |number: u32| now.rows.iter().filter(whole).find(|row| row.source.turn == Some(number)).unwrap();
    for number in [1, 4, 5, 6, 7] {
        assert_eq!(by_number(number).reason, Reason::Superseded { by: made.capsule.id });
    }
    assert_eq!((by_number(2).kind, by_number(2).section()), (RowKind::Card, Some(Section::StickyPins)));
    assert_eq!(by_number(3).reason, Reason::UserExcluded { once: false });
    assert_eq!(by_number(8).section(), Some(Section::Recent), "the first raw turn follows the last covered one");
    let used = client.drawn(branch, &message("and now?")).unwrap();
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), before);
    client.must(Request::Session(SessionRequest::Redo));
    assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), used);
    client.stop();
    let mut again = bench.start();
    again.open();
    assert_eq!(again.drawn(branch, &message("and now?")).unwrap(), used, "a restart gives the same bytes");
}

#[test]
fn the_window_comes_back_after_calls_too_and_replay_gives_the_same_bytes() {
    let (_bench, mut client, branch) = bench(8);
    let before = plan(&mut client, branch);
    accept(&mut client, branch, Some(5));
    client.say(branch, "one more thing");
    let run = client.runs().pop().unwrap();
    assert_eq!(client.replay(&run).unwrap(), run.request_digest, "the summary's text is found again");
    act(&mut client, branch, Condense::UndoLevel { kind: CapsuleKind::Lane });
    let after = plan(&mut client, branch);
    assert!(summary(&after).is_none());
    let recent = |plan: &ContextPlan| plan.rows.iter().filter(|row| row.section() == Some(Section::Recent)).count();
    assert_eq!(recent(&after), recent(&before) + 1, "all turns stand in the window again");
}

#[test]
fn levels_are_built_from_the_sources_and_taken_back_one_by_one() {
    let (_bench, mut client, branch) = bench(12);
    let first = accept(&mut client, branch, Some(3));
    let port = first.dropped.iter().position(|item| item.text.starts_with("/srv/")).unwrap_or(0);
    let again = draft(&mut client, branch, Some(5));
    let kept = match act(&mut client, branch, Condense::Keep { draft: again.number, items: vec![port] }) {
        Answer::Draft(Some(draft)) => draft.capsule.kept[0].text.clone(),
        other => panic!("{other:?}"),
    };
    act(&mut client, branch, Condense::Accept { draft: again.number });
    let third = accept(&mut client, branch, Some(7));
    assert_eq!(third.capsule.covers.len(), 7, "all of its turns were read, not the summary of five");
    assert!(third.capsule.text.as_deref().unwrap().contains(&kept), "kept words stay");
    let levels: Vec<(u32, bool)> =
        cards(&mut client, branch).iter().map(|card| (card.capsule.turns.1, card.goes)).collect();
    assert_eq!(levels, [(7, true), (5, false), (3, false)]);
    for expected in [Some(5), Some(3), None] {
        act(&mut client, branch, Condense::UndoLevel { kind: CapsuleKind::Lane });
        let goes = cards(&mut client, branch).into_iter().find(|card| card.goes).map(|card| card.capsule.turns.1);
        assert_eq!(goes, expected);
    }
    let none = client.ask(Request::Condense { branch, act: Condense::UndoLevel { kind: CapsuleKind::Lane } });
    assert_eq!(none.unwrap_err().kind, FailureKind::User);
    client.must(Request::Session(SessionRequest::Undo));
    assert!(cards(&mut client, branch)[0].goes, "taking a level back is undone like anything else");
}

#[test]
fn what_a_person_takes_out_goes_in_no_summary() {
    let (_bench, mut client, branch) = bench(12);
    accept(&mut client, branch, Some(3));
    accept(&mut client, branch, Some(6));
    mark(&mut client, branch, 5, MarkKind::Exclude);
    let now = plan(&mut client, branch);
    assert!(now.warnings.contains(&Warning::SummaryOlder { to: Some(3) }), "{:?}", now.warnings);
    assert_eq!(now.rows.iter().find(|row| row.source.turn == Some(6)).unwrap().section(), Some(Section::Recent));
    let states: Vec<CapsuleState> = cards(&mut client, branch).iter().map(|card| card.state).collect();
    assert_eq!(states, [CapsuleState::StaleSource, CapsuleState::Fresh]);
    mark(&mut client, branch, 1, MarkKind::ExcludeOnce);
    let now = plan(&mut client, branch);
    assert!(now.warnings.contains(&Warning::SummaryOlder { to: None }) && summary(&now).is_none());
    client.must(Request::Session(SessionRequest::Undo));
    client.must(Request::Session(SessionRequest::Undo));
    assert!(plan(&mut client, branch).warnings.iter().all(|w| !matches!(w, Warning::SummaryOlder { .. })));
}

#[test]
fn a_draft_is_refused_when_the_conversation_moved_on_under_it() {
    let (_bench, mut client, branch) = bench(8);
    let made = draft(&mut client, branch, Some(4));
    mark(&mut client, branch, 2, MarkKind::Sticky);
    let stale = client.ask(Request::Condense { branch, act: Condense::Accept { draft: made.number } }).unwrap_err();
    assert_eq!(stale.kind, FailureKind::Stale);
    act(&mut client, branch, Condense::Reject);
    let gone = client.ask(Request::Condense { branch, act: Condense::Accept { draft: made.number } }).unwrap_err();
    assert_eq!(gone.kind, FailureKind::Stale);
    let refused = |client: &mut Client, up_to| client.ask(Request::Condense { branch, act: asks(up_to) }).unwrap_err();
    assert_eq!(refused(&mut client, Some(99)).kind, FailureKind::User);
    accept(&mut client, branch, Some(4));
    assert!(refused(&mut client, Some(4)).what.contains("covers everything up to turn 4"));
}

#[test]
fn edits_and_kept_words_are_sized_and_checked() {
    let (_bench, mut client, branch) = bench(10);
    let made = draft(&mut client, branch, Some(6));
    let all = match act(&mut client, branch, Condense::KeepAll { draft: made.number }) {
        Answer::Draft(Some(draft)) => draft,
        other => panic!("{other:?}"),
    };
    assert!(all.dropped.len() < made.dropped.len() && !all.capsule.too_detailed(), "{}", all.capsule.ratio_milli());
    let longer = "words ".repeat(5_000);
    let edit = |text: String| Request::Condense { branch, act: Condense::Edit { draft: made.number, text } };
    assert!(client.ask(edit(longer)).unwrap_err().what.contains("would save nothing"));
    let edited = match client.must(edit("The service listens on port 8001.".into())) {
        Answer::Draft(Some(draft)) => draft,
        other => panic!("{other:?}"),
    };
    assert_eq!(edited.capsule.source, CapsuleSource::User);
    assert_eq!(edited.capsule.kept, all.capsule.kept);
    assert!(!edited.dropped.iter().any(|item| item.text == "8001"));
}

#[test]
fn a_model_writes_beside_a_turn_and_its_call_is_recorded_with_secrets_masked() {
    let key = format!("ghp_{}", "4fT9xQ2mZ7bK1wL8pR3vN6cJ5hG0sD4yA2eU");
    let mut scripts: Vec<Vec<Say>> = (1..=8).map(reply).collect();
    scripts.push(vec![Say::Hold, Say::Text("### Decisions\n- [turn 1] Port 8001 it is.".into())]);
    scripts.push(text("answered meanwhile"));
    let model = Model::new(scripts);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, &format!("My key is {key} and the port is 8001, as we decided. What else is there?"));
    for n in 2..=8 {
        client.say(branch, &question(n));
    }
    let act = Condense::Draft { kind: CapsuleKind::Lane, up_to: Some(5), by: By::Model };
    let ticket = client.post(Request::Condense { branch, act });
    while model.bodies().len() < 9 {
        std::thread::yield_now();
    }
    client.say(branch, "go on while it is written");
    model.release();
    let Ok(Answer::Draft(Some(made))) = client.answer(ticket) else { panic!("no draft") };
    assert_eq!(made.body, "### Decisions\n- [turn 1] Port 8001 it is.");
    assert_eq!((made.capsule.source, made.masked), (CapsuleSource::Llm, 1));
    let body = String::from_utf8(model.bodies()[8].clone()).unwrap();
    assert!(!body.contains(&key) && body.contains("[masked:github]") && body.contains("### Pending"));
    let run = client.runs().into_iter().find(|run| Some(run.id) == made.run).unwrap();
    assert_eq!((run.status, run.policy.as_str()), (RunStatus::Complete, "summarise"));
    client.must(Request::Condense { branch, act: Condense::Accept { draft: made.number } });
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
    let wish = Condense::Draft { kind: CapsuleKind::Lane, up_to: None, by: By::Model };
    let ticket = client.post(Request::Condense { branch, act: wish });
    while model.bodies().len() < 9 {
        std::thread::yield_now();
    }
    act(&mut client, branch, Condense::Reject);
    assert_eq!(client.answer(ticket).unwrap_err().kind, FailureKind::User);
    assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), before);
    assert_eq!(client.runs().pop().unwrap().status, RunStatus::Cancelled);
}

#[test]
fn forks_keep_the_summary_and_are_on_their_own() {
    let (_bench, mut client, branch) = bench(10);
    accept(&mut client, branch, Some(5));
    let fork = |at| Request::Branch(BranchRequest::Fork { branch, at, name: None, switch: false });
    let Answer::Branch(child) = client.must(fork(None)) else { panic!("no branch") };
    let early = Some(user(&mut client, 3));
    let Answer::Branch(early) = client.must(fork(early)) else { panic!("no branch") };
    let child_plan = client.drawn(child.id, &message("and now?")).unwrap();
    assert!(summary(&plan(&mut client, child.id)).is_some());
    let short = plan(&mut client, early.id);
    assert!(summary(&short).is_none(), "its turns are not all on that path");
    act(&mut client, branch, Condense::UndoLevel { kind: CapsuleKind::Lane });
    assert_eq!(client.drawn(child.id, &message("and now?")).unwrap(), child_plan);
}

#[test]
fn removal_takes_the_summary_with_it() {
    let (bench, mut client, branch) = bench(10);
    accept(&mut client, branch, Some(5));
    let item = Item::TurnOf(user(&mut client, 4));
    client.must(Request::Branch(BranchRequest::RemoveMessage { branch, item }));
    let card = &cards(&mut client, branch)[0];
    assert_eq!((card.state, card.capsule.text.as_deref(), card.goes), (CapsuleState::StaleSource, None, false));
    assert!(summary(&plan(&mut client, branch)).is_none());
    client.stop();
    let store = bench.store();
    let session = store.sessions().unwrap()[0].id;
    assert_eq!(store.capsules(session).unwrap()[0].text, None);
}

#[test]
fn off_takes_a_summary_only_where_the_window_lost_turns() {
    let (_bench, mut client, branch) = bench(10);
    accept(&mut client, branch, Some(5));
    let mode = |budget| Overrides { mode: Some(Mode::Off), budget, ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch, overrides: mode(None) }));
    let roomy = plan(&mut client, branch);
    assert_eq!(summary(&roomy).unwrap().reason, Reason::ModeOff);
    assert!(roomy.rows.iter().all(|row| !matches!(row.reason, Reason::Superseded { .. })));
    client.must(Request::Branch(BranchRequest::Override { branch, overrides: mode(Some(1_200)) }));
    let tight = plan(&mut client, branch);
    assert!(summary(&tight).unwrap().included(), "{:#?}", summary(&tight));
}

/// Random acts on a conversation with summaries: nothing is lost, undoing everything gives the very first bytes.
#[test]
fn any_history_of_summaries_and_marks_is_undone_to_the_byte() {
    for seed in 0..4 {
        let mut dice = Dice::new(seed);
        let (_bench, mut client, branch) = bench(11);
        let first = client.drawn(branch, &message("and now?")).unwrap();
        let mut done = 0;
        for _ in 0..14 {
            let changed = match dice.below(4) {
                0 | 1 => {
                    let up_to = u32::try_from(2 + dice.below(9)).ok();
                    match client.ask(Request::Condense { branch, act: asks(up_to) }) {
                        Ok(Answer::Draft(Some(made))) => {
                            let act = Condense::Accept { draft: made.number };
                            client.ask(Request::Condense { branch, act }).is_ok()
                        }
                        _ => false,
                    }
                }
                2 => {
                    let act = Condense::UndoLevel { kind: CapsuleKind::Lane };
                    client.ask(Request::Condense { branch, act }).is_ok()
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
