//! Leases of symbols beside other mechanisms: accepted summaries of the turns that mentioned the symbol, and every
//! built-in policy.

use crate::code::context::{bench, body, code, mark, symbol};
use crate::support::bench::{Bench, Client, Dice, Model, Say, histories, message, text};
use pleach::domain::base::BranchId;
use pleach::domain::conversation::{Actor, Atom, LeaseTurns, Mark, MarkKind, Overrides};
use pleach::domain::planning::Reason;
use pleach::domain::planning::{ContextPlan, Mode, PolicySpec, Row, RowKind, SearchChoice, Section};
use pleach::domain::summary::{AutoSummaryTrigger, SummaryAuthor, SummaryKind};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, Draft, ItemName, Planned, Request, SessionRequest, SummaryAct,
    SummaryAnswer,
};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// The declaration of the symbol that is leased, which every form of the symbol contains.
const DECLARATION: &str = "fn backoff(n: u32) -> u32";
const SPEAKS: &str = "It depends on `backoff`, which doubles.";
/// A question that names no symbol.
const NEUTRAL: &str = "Tell me of tea.";
/// It, and a question about the symbol.
const QUESTIONS: [&str; 2] = [NEUTRAL, "How does backoff work?"];

/// The built-in policies, without automatic summaries and with automatic leases.
fn policies() -> Vec<PolicySpec> {
    let all = pleach::config::policies::load(Path::new("no policies of one's own")).expect("the presets are valid");
    assert_eq!(all.len(), 5);
    let each = all.into_values().map(|mut policy| {
        policy.auto_summaries.measure = AutoSummaryTrigger::Off;
        policy.activation.on = true;
        policy
    });
    each.collect()
}

/// A client under a policy on a folder of code.
fn client(bench: &Bench, policy: &PolicySpec) -> Client {
    let policy = policy.clone();
    bench.start_with(|setup| {
        setup.patient = true;
        setup.settings.defaults.policy = Some(policy.name.clone());
        setup.settings.policies.insert(policy.name.clone(), policy);
    })
}

fn settings(client: &mut Client, branch: BranchId, budget: Option<u32>) {
    let overrides = Overrides { mode: Some(Mode::Heavy), budget, ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
}

fn act(client: &mut Client, branch: BranchId, act: SummaryAct) -> Answer {
    client.must(Request::Summary { branch, act })
}

/// The branch's mark on the symbol that is leased.
fn mark_of(client: &mut Client, branch: BranchId) -> Option<Mark> {
    let view = client.open();
    let marks = &view.branches.iter().find(|one| one.id == branch).unwrap().marks;
    marks.iter().find(|mark| mark.code.as_ref().is_some_and(|code| code.qualified.ends_with("backoff"))).cloned()
}

fn turns_left(mark: Option<&Mark>) -> u32 {
    match mark.map(|mark| mark.kind) {
        Some(MarkKind::Leased { turns }) => turns.into(),
        _ => 0,
    }
}

/// The row of the symbol that is leased, included or not.
fn row(plan: &ContextPlan) -> Option<&Row> {
    code(plan).into_iter().find(|row| symbol(row).ends_with("backoff"))
}

fn is_leased(row: &Row) -> bool {
    row.section() == Some(Section::LeasedPins)
}

/// The atom of the symbol, from a plan whose question names it and that searches under any policy.
fn atom(client: &mut Client, branch: BranchId) -> Atom {
    let asked = Draft { search: SearchChoice::Anyway, ..message("Where is backoff computed?") };
    let plan = client.whole_plan(branch, &asked);
    row(&plan).unwrap_or_else(|| panic!("{:#?}", plan.rows)).atom
}

/// A person leases the symbol, whatever mark it has.
fn lease(client: &mut Client, branch: BranchId, atom: Atom, turns: u32) {
    let act = Act::Set { kind: MarkKind::leased(turns), toggle: false };
    client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::Atom(atom)], act }));
}

/// The number of the newest closed turn that is sent; 0 if none is.
fn newest_sent(plan: &ContextPlan) -> u32 {
    let closed = plan.included().filter(|row| row.kind == RowKind::Turn && row.reason != Reason::Open);
    closed.filter_map(|row| row.source.turn).max().unwrap_or(0)
}

fn long(n: usize) -> Vec<Say> {
    let rest = "The rest is plain talk about how the leaves are dried and rolled before they are sold. ".repeat(6);
    text(&format!("It took {n}5 minutes when we measured it. {rest}"))
}

/// A turn of a random history: talk, talk about the symbol by either side, or a tool call that reads its file.
fn random_turn(client: &mut Client, model: &Model, branch: BranchId, (n, dice): (usize, &mut Dice)) {
    let read = Say::Call("read_file".into(), json!({ "path": "src/net/retry.rs" }).to_string());
    let question = match dice.below(6) {
        0 => {
            model.then(vec![read]);
            model.then(long(n));
            format!("Step {n}: what does the file say?")
        }
        1 | 2 => {
            model.then(text(SPEAKS));
            format!("Step {n}: what of tea?")
        }
        3 => {
            model.then(long(n));
            format!("Step {n}: does backoff double?")
        }
        _ => {
            model.then(long(n));
            format!("Step {n}: and what of coffee, which is brewed at 9{n} degrees?")
        }
    };
    let closed = client.say(branch, &question);
    assert!(closed.failure.is_none(), "{closed:?}");
}

/// A plan's size and its rows, a line each.
fn brief(plan: &ContextPlan) -> String {
    let line = |row: &Row| format!("{:?} {} {:?}: {}\n", row.section(), row.tokens, row.reason, row.title);
    format!("{} tokens:\n{}", plan.est_total, plan.rows.iter().map(line).collect::<String>())
}

/// The plan of a question, and whether its request contains the symbol that is leased.
fn sends_symbol(client: &mut Client, branch: BranchId, question: &str) -> (Arc<ContextPlan>, bool) {
    let plan = client.whole_plan(branch, &message(question));
    let sent = body(client, branch).contains(DECLARATION);
    (plan, sent)
}

/// What a request says of the symbol before its turns are summarized, it says after, as far as the symbol is leased by
/// `mark`. The program's leases come last: in a tight budget they get what everything else leaves. A row that says that the
/// symbol is sent tells the truth.
fn assert_symbol_kept(
    place: &str,
    (before, sent): &(Arc<ContextPlan>, bool),
    (after, still): &(Arc<ContextPlan>, bool),
    (mark, tight): (Option<&Mark>, bool),
) {
    let now = row(after);
    let says_sent = now.is_some_and(|row| row.included() || row.reason == Reason::Duplicate);
    assert!(*still || !says_sent, "{place}: its row says that it is sent: {now:#?}");
    let Some(mark) = mark else { return };
    let last = tight && mark.by == Actor::Engine;
    let no_room = |row: &Row| last && matches!(row.reason, Reason::Budget { .. } | Reason::LeaseCap { .. });
    if now.is_some_and(no_room) {
        return;
    }
    assert!(*still || !sent, "{place}: the symbol is no longer sent: {now:#?}");
    let card = |row: &Row| (row.section(), row.tokens, row.text, row.reason.clone());
    let then = row(before).filter(|row| is_leased(row)).map(card);
    assert!(then.is_none() || now.map(card) == then, "{place}: {then:?}, {now:#?}");
}

/// An accepted summary of the turns that mentioned a leased symbol leaves its lease alone: what the request says of the
/// symbol before, it says after, and it is no larger. Undo gives the plan of before. Only in a budget that has no room for
/// both does the summary take the room of the program's lease; it never takes that of a person's.
#[test]
fn a_lease_outlives_the_turns_that_mentioned_the_symbol() {
    let (mut leased, mut by_tools, mut used) = (0, 0, 0);
    for seed in histories(30) {
        let mut dice = Dice::new(seed + 1);
        let mut policy = dice.pick(&policies()).clone();
        policy.lease_turns = 9;
        let model = Model::new([]);
        let bench = bench(&model);
        let mut client = client(&bench, &policy);
        let branch = client.session();
        settings(&mut client, branch, None);
        let by_person = dice.below(2) == 0;
        let turns = 5 + dice.below(4);
        for n in 1..=turns {
            random_turn(&mut client, &model, branch, (n, &mut dice));
            if by_person && n == 2 {
                let atom = atom(&mut client, branch);
                lease(&mut client, branch, atom, 20);
            }
        }
        let budget = [None, Some(900 + u32::try_from(dice.below(1_500)).unwrap())];
        let budget = *dice.pick(&budget);
        settings(&mut client, branch, budget);
        let place = format!("seed {seed}, {}, by a person: {by_person}", policy.name);
        let drawn = QUESTIONS.map(|question| client.drawn(branch, &message(question)));
        let before = QUESTIONS.map(|question| sends_symbol(&mut client, branch, question));
        let plan = &before[0].0;
        let mark = mark_of(&mut client, branch);
        let holds = turns_left(mark.as_ref()) > 0;
        leased += usize::from(holds);
        by_tools += usize::from(holds && row(plan).is_some_and(|row| row.reason == Reason::Duplicate));

        let up_to = Some(u32::try_from(turns - 1 - dice.below(2)).unwrap());
        let draft = SummaryAct::Draft { kind: SummaryKind::Lane, up_to, by: SummaryAuthor::Extractive };
        let draft = match client.ask(Request::Summary { branch, act: draft }) {
            Ok(Answer::Summary(SummaryAnswer::Draft(Some(draft)))) => draft,
            // The turns say nothing that a summary could keep.
            Err(_) => continue,
            other => panic!("{place}: {other:?}"),
        };
        act(&mut client, branch, SummaryAct::Accept { draft: draft.number });
        let mark = mark.filter(|_| holds);
        for (question, before) in QUESTIONS.iter().zip(&before) {
            let after = sends_symbol(&mut client, branch, question);
            used += usize::from(after.0.included().any(|row| row.kind == RowKind::Summary));
            assert_symbol_kept(&format!("{place}, {question}"), before, &after, (mark.as_ref(), budget.is_some()));
            let ([now, then], place) = ([&*after.0, &*before.0], &place);
            assert!(now.est_total <= then.est_total, "{place}: {} after {}", brief(now), brief(then));
        }
        client.must(Request::Session(SessionRequest::Undo));
        assert_eq!(QUESTIONS.map(|question| client.drawn(branch, &message(question))), drawn, "{place}");
    }
    let most = histories(30).count();
    assert!(leased * 2 > most && by_tools > 0 && used * 2 > most, "{leased} leased, {by_tools} read, {used} used");
}

/// A branch under a policy with three turns of plain talk.
fn begun(model: &Model, client: &mut Client) -> BranchId {
    let branch = client.session();
    settings(client, branch, None);
    for n in 1..=3 {
        model.then(long(n));
        client.say(branch, NEUTRAL);
    }
    branch
}

/// One turn in which the symbol is mentioned or not. Returns whether its request contained the symbol.
fn turn(client: &mut Client, model: &Model, branch: BranchId, speaks: bool) -> bool {
    model.then(text(if speaks { SPEAKS } else { "Tea is green." }));
    let closed = client.say(branch, NEUTRAL);
    assert!(closed.failure.is_none(), "{closed:?}");
    String::from_utf8(model.bodies().pop().unwrap()).unwrap().contains(DECLARATION)
}

/// Random mentions under each policy: the program's lease begins with the second mention, is sent with every call while
/// it lasts, loses a turn with each call that sends it, is renewed by a mention, and ends.
#[test]
fn the_programs_lease_of_a_symbol_keeps_its_turns_under_every_policy() {
    for policy in policies() {
        for seed in histories(3) {
            let place = format!("{}, seed {seed}", policy.name);
            let mut dice = Dice::new(seed + 7);
            let policy = PolicySpec { lease_turns: 3, ..policy.clone() };
            let model = Model::new([]);
            let bench = bench(&model);
            let mut client = client(&bench, &policy);
            let branch = begun(&model, &mut client);
            assert!(!turn(&mut client, &model, branch, true), "{place}");
            assert!(turn(&mut client, &model, branch, true), "{place}: mentioned once, sent once");
            let lease = mark_of(&mut client, branch).unwrap_or_else(|| panic!("{place}: no lease"));
            assert_eq!((lease.by, lease.kind), (Actor::Engine, MarkKind::leased(3)), "{place}");
            let (mut left, mut renewals) = (3, 0);
            for n in 0..9 {
                let speaks = n < 6 && dice.below(3) == 0;
                let sent = turn(&mut client, &model, branch, speaks);
                assert_eq!(sent, left > 0, "{place}: turn {n}, {left} left");
                let now = mark_of(&mut client, branch);
                match (left, speaks) {
                    (0, false) => assert!(now.is_none(), "{place}: turn {n}: {now:?}"),
                    (0, true) => {
                        // A new reference begins again: a call at first, a lease with the next one.
                        let kind = now.map(|mark| mark.kind);
                        assert!(
                            matches!(kind, Some(MarkKind::Ephemeral | MarkKind::Leased { .. })),
                            "{place}: {kind:?}"
                        );
                        break;
                    }
                    (_, true) => {
                        // A mention in its last turn begins it again.
                        (left, renewals) = (3, if left == 1 { 0 } else { renewals + 1 });
                        let now = now.unwrap_or_else(|| panic!("{place}: turn {n}: no lease"));
                        assert_eq!((now.kind, now.renewals), (MarkKind::leased(3), renewals), "{place}: turn {n}");
                    }
                    (_, false) => {
                        left -= 1;
                        let now = now.unwrap_or_else(|| panic!("{place}: turn {n}: no lease"));
                        assert_eq!(now.kind, MarkKind::leased(left), "{place}: turn {n}");
                    }
                }
            }
        }
    }
}

/// A person's lease of a symbol is counted down by every call that sends it, is not renewed by a mention, and ends, under
/// each policy.
#[test]
fn a_persons_lease_of_a_symbol_ends_under_every_policy() {
    for policy in policies() {
        let place = &policy.name;
        let model = Model::new([]);
        let bench = bench(&model);
        let mut client = client(&bench, &policy);
        let branch = begun(&model, &mut client);
        let atom = atom(&mut client, branch);
        lease(&mut client, branch, atom, 3);
        for left in [2, 1, 0] {
            assert!(turn(&mut client, &model, branch, left == 2), "{place}: {left}");
            let now = mark_of(&mut client, branch).unwrap();
            assert_eq!((now.by, now.kind), (Actor::User, MarkKind::leased(left)), "{place}");
        }
        assert!(!turn(&mut client, &model, branch, false), "{place}: it has ended");
        let now = mark_of(&mut client, branch).unwrap();
        assert_eq!(now.kind, MarkKind::Leased { turns: LeaseTurns::Ended }, "{place}");
        let (plan, sent) = sends_symbol(&mut client, branch, QUESTIONS[1]);
        let searches = place != "window";
        assert_eq!(sent, searches, "{place}: a question that names it finds it as before the lease\n{}", brief(&plan));
    }
}

/// In every budget, a symbol that the program leased leaves before the newest turn does, and no lease of a symbol blocks a
/// call. (A person's lease within the cap is admitted before the newest turn.)
#[test]
fn no_lease_of_a_symbol_displaces_the_newest_turn_under_any_policy() {
    for policy in policies() {
        let place = policy.name.clone();
        let model = Model::new([]);
        let bench = bench(&model);
        let mut client = client(&bench, &PolicySpec { lease_turns: 9, ..policy });
        let branch = begun(&model, &mut client);
        for _ in 0..2 {
            turn(&mut client, &model, branch, true);
        }
        model.then(long(9));
        client.say(branch, NEUTRAL);
        let leased = mark_of(&mut client, branch).unwrap();
        assert_eq!(leased.by, Actor::Engine, "{place}");
        let fork = BranchRequest::Fork { branch, at: None, name: None, switch: false };
        let Answer::Branch(BranchAnswer::Branch(plain)) = client.must(Request::Branch(fork)) else {
            panic!("no branch")
        };
        mark(&mut client, plain.id, leased.target, MarkKind::Exclude);
        let (mut without_lease, mut without_turn) = (0, 0);
        for budget in (300..1_800).step_by(25) {
            let planned = [branch, plain.id].map(|at| {
                settings(&mut client, at, Some(budget));
                match client.plan(at, &message(NEUTRAL)) {
                    Ok(Planned::Plan { plan, .. }) => Some(plan),
                    Ok(Planned::Blocked(_)) => None,
                    other => panic!("{other:?}"),
                }
            });
            let [with, without] = planned;
            assert_eq!(with.is_some(), without.is_some(), "{place}, {budget}: a lease blocks no call");
            let (Some(with), Some(without)) = (with, without) else { continue };
            assert_eq!(newest_sent(&with), newest_sent(&without), "{place}, {budget}");
            let sent = row(&with).is_some_and(Row::included);
            without_lease += u32::from(newest_sent(&with) > 0 && !sent);
            without_turn += u32::from(newest_sent(&with) == 0);
        }
        assert!(without_lease > 0 && without_turn > 0, "{place}: {without_lease}, {without_turn}");
    }
}
