//! Automatic summaries: drafted exactly when the policy says so, once for the same turns, never against a person's
//! refusal, without delaying other work, and sent only after acceptance.

mod opening;
mod waiting;

use crate::support::bench::{Bench, Client, Dice, Model, Say, histories, message, text};
use crate::support::server::{Server, end, stream, words};
use pleach::domain::base::{BranchId, NodeId};
use pleach::domain::call::{ProviderErrorKind, RunStatus};
use pleach::domain::conversation::{MarkKind, Overrides};
use pleach::domain::planning::Reason;
use pleach::domain::planning::{ContextPlan, Lanes, Levels, Mode, PolicySpec, Row, RowKind, TurnSelection};
use pleach::domain::summary::{
    AutoSummaryAcceptance, AutoSummaryOverride, AutoSummarySettings, AutoSummaryTrigger, SummaryAuthor, SummaryDraft,
    SummaryKind, SummarySource,
};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, Event, ItemName, ProgramEvent, Request, SessionRequest, SummaryAct,
    SummaryAnswer, SummaryEvent, TaskAct,
};
use std::sync::Arc;

/// More than six messages without a summary make one due, and the newest two stay: at turns 4, 7, 10 … if all are
/// accepted.
fn lanes(accept: AutoSummaryAcceptance, by: SummaryAuthor) -> PolicySpec {
    PolicySpec {
        name: "small".into(),
        choose: TurnSelection::Lane,
        anchored: false,
        retrieval: false,
        lanes: Lanes { messages: 6, tokens: 4_000, hours: 0, keep: 2 },
        auto_summaries: AutoSummarySettings {
            measure: AutoSummaryTrigger::Lane,
            accept,
            by,
            ..AutoSummarySettings::default()
        },
        ..PolicySpec::default()
    }
}

fn client(bench: &Bench, spec: &PolicySpec) -> Client {
    let spec = spec.clone();
    bench.start_with(|setup| {
        setup.settings.defaults.policy = Some(spec.name.clone());
        setup.settings.policies.insert(spec.name.clone(), spec);
    })
}

fn question(n: usize) -> String {
    format!("Step {n}: the service listens on port {} and must read /srv/app/conf{n}.toml first. And then?", 8_000 + n)
}

fn answer(n: usize) -> String {
    let rest = "The rest is plain talk about how the parts of the service fit together. ".repeat(4);
    format!("Run `cargo test --lib part{n}` and look at retry_limit_{n}. It took {n}5 ms when we measured it. {rest}")
}

fn model(turns: usize) -> Arc<Model> {
    Model::new((1..=turns).map(|n| text(&answer(n))))
}

fn say(client: &mut Client, branch: BranchId, turns: std::ops::RangeInclusive<usize>) {
    for n in turns {
        client.say(branch, &question(n));
    }
}

/// The next draft among the events from `from` on, and the index after it.
fn drafted(client: &mut Client, from: usize) -> (Arc<SummaryDraft>, usize) {
    let at = client.wait(from, |event| matches!(event, Event::Summary(SummaryEvent::Draft { draft: Some(_), .. })));
    match &client.seen[at] {
        Event::Summary(SummaryEvent::Draft { draft: Some(draft), .. }) => (draft.clone(), at + 1),
        other => panic!("{other:?}"),
    }
}

fn drafts(client: &Client) -> usize {
    client
        .seen
        .iter()
        .filter(|event| matches!(event, Event::Summary(SummaryEvent::Draft { draft: Some(_), .. })))
        .count()
}

fn act(client: &mut Client, branch: BranchId, act: SummaryAct) -> Answer {
    client.must(Request::Summary { branch, act })
}

fn plan(client: &mut Client, branch: BranchId) -> Arc<ContextPlan> {
    client.whole_plan(branch, &message("and now?"))
}

fn summary(plan: &ContextPlan) -> Option<&Row> {
    plan.rows.iter().find(|row| row.kind == RowKind::Summary)
}

fn node(client: &mut Client, number: usize) -> NodeId {
    let wanted = format!("Step {number}:");
    client.open().nodes.iter().find(|head| head.preview.starts_with(&wanted)).unwrap().id
}

/// With a real server: due, drafted by the model, displayed plans unchanged, accepted, in the next request's bytes, and
/// undone to the same bytes.
#[test]
fn draft_is_made_sent_and_undone() {
    let reply = |text: &str| vec![stream(), words(text), end()];
    let edited_text = "### Decisions\n- [turn 1] Port 8001 it is.\n- [turn 2] /srv/app/conf2.toml is read first.";
    let mut scripts: Vec<_> = (1..=4).map(|n| reply(&answer(n))).collect();
    scripts.extend([reply(edited_text), reply("Five."), reply("Six.")]);
    let server = Server::start_posts(scripts);
    let bench = Bench::http(&server);
    let mut client = client(&bench, &lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Model));
    let branch = client.session();
    say(&mut client, branch, 1..=4);
    let before = client.drawn(branch, &message("and now?")).unwrap();
    let (draft, _) = drafted(&mut client, 0);
    assert_eq!((draft.summary.turns, draft.summary.source), ((1, 3), SummarySource::Llm));
    assert_eq!(draft.cause.as_deref(), Some("8 messages had no summary, more than 6"));
    assert!(
        client.seen.iter().any(|e| matches!(
            e,
            Event::Summary(SummaryEvent::Progress { turns: (1, 3), by: SummaryAuthor::Model, .. })
        ))
    );
    assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), before, "a draft is not sent");
    act(&mut client, branch, SummaryAct::Accept { draft: draft.number });
    let used = client.drawn(branch, &message("and now?")).unwrap();
    let now = plan(&mut client, branch);
    assert_eq!(summary(&now).map(|row| &row.reason), Some(&Reason::Summary));
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), before);
    client.must(Request::Session(SessionRequest::Redo));
    assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), used);
    client.say(branch, "and now?");
    let posts: Vec<_> = server.requests().into_iter().filter(|request| request.method == "POST").collect();
    let body = String::from_utf8_lossy(&posts.last().unwrap().body).into_owned();
    assert!(body.contains("Port 8001 it is.") && !body.contains("cargo test --lib part2"), "{body}");
    let run = client.runs().into_iter().find(|run| Some(run.id) == draft.run).unwrap();
    assert_eq!((run.status, run.policy.as_str()), (RunStatus::Complete, "summarise"));
}

/// Each accepted summary covers all turns except the newest. The next one is due after as many turns, and the drafts'
/// turns are contiguous.
#[test]
fn turns_are_summarized_once() {
    let bench = Bench::new(&model(16));
    let mut client = client(&bench, &lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Extractive));
    let branch = client.session();
    let mut from = 0;
    for n in 1..=16 {
        say(&mut client, branch, n..=n);
        if n >= 4 && (n - 4) % 3 == 0 {
            let (draft, next) = drafted(&mut client, from);
            let reach = u32::try_from(n - 1).unwrap();
            assert_eq!(draft.summary.turns, (1, reach), "built from the sources");
            assert!(draft.summary.tokens < draft.summary.original_tokens);
            act(&mut client, branch, SummaryAct::Accept { draft: draft.number });
            assert!(summary(&plan(&mut client, branch)).is_some());
            from = next;
        }
    }
    let seen = client.stop();
    assert_eq!(
        seen.iter().filter(|event| matches!(event, Event::Summary(SummaryEvent::Draft { draft: Some(_), .. }))).count(),
        5
    );
}

/// While a draft waits, no other is made. After a refusal the policy's measure counts from the refused turns on, also
/// after a restart. Then the draft covers the refused turns and the new ones.
#[test]
fn refusal_holds_until_enough_new_turns() {
    let bench = Bench::new(&model(8));
    let mut first = client(&bench, &lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Extractive));
    let branch = first.session();
    say(&mut first, branch, 1..=4);
    let (draft, _) = drafted(&mut first, 0);
    say(&mut first, branch, 5..=5);
    assert_eq!(draft.summary.turns, (1, 3));
    act(&mut first, branch, SummaryAct::Reject);
    say(&mut first, branch, 6..=6);
    assert_eq!(drafts(&first), 1, "neither while it waited nor after the refusal");
    first.stop();
    let mut second = client(&bench, &lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Extractive));
    second.open();
    say(&mut second, branch, 7..=7);
    let (draft, _) = drafted(&mut second, 0);
    assert_eq!(draft.summary.turns, (1, 6), "turns 4 to 7 are eight messages after the three refused turns");
}

/// A summary that a person undid is not drafted again.
#[test]
fn undo_counts_as_refusal() {
    let bench = Bench::new(&model(8));
    let mut client = client(&bench, &lanes(AutoSummaryAcceptance::Auto, SummaryAuthor::Extractive));
    let branch = client.session();
    say(&mut client, branch, 1..=3);
    let plain = |client: &mut Client| summary(&plan(client, branch)).is_none();
    say(&mut client, branch, 4..=4);
    let used = |event: &Event| matches!(event, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("the policy accepts drafts automatically"));
    let at = client.wait(0, used);
    assert!(!plain(&mut client), "used without asking");
    client.must(Request::Session(SessionRequest::Undo));
    assert!(plain(&mut client));
    say(&mut client, branch, 5..=6);
    assert!(plain(&mut client), "not drafted again automatically");
    say(&mut client, branch, 7..=7);
    client.wait(at + 1, used);
    let summaries = match act(&mut client, branch, SummaryAct::List) {
        Answer::Summary(SummaryAnswer::Summaries(cards)) => cards,
        other => panic!("{other:?}"),
    };
    assert_eq!((summaries[0].summary.turns, summaries[0].included), ((1, 6), true));
    assert!(
        !summaries[0].summary.kept.is_empty() && !summaries[0].summary.too_detailed(),
        "the items that fit were added"
    );
    act(&mut client, branch, SummaryAct::TakeBack { summary: summaries[0].summary.id });
    assert!(plain(&mut client));
}

#[test]
fn no_summary_when_switched_off() {
    let bench = Bench::new(&model(12));
    let mut client = client(&bench, &lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Extractive));
    let branch = client.session();
    let overrides = |auto_summaries| Overrides { auto_summaries, ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override {
        branch,
        overrides: overrides(Some(AutoSummaryOverride::Off)),
    }));
    say(&mut client, branch, 1..=7);
    client.must(Request::Branch(BranchRequest::Override { branch, overrides: overrides(None) }));
    assert_eq!(drafts(&client), 0);
    say(&mut client, branch, 8..=8);
    let (draft, _) = drafted(&mut client, 0);
    assert_eq!(draft.summary.turns, (1, 7));
}

#[test]
fn pinned_and_excluded_turns_are_skipped() {
    let bench = Bench::new(&model(8));
    let mut client = client(&bench, &lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Extractive));
    let branch = client.session();
    say(&mut client, branch, 1..=3);
    for (number, kind) in [(2, MarkKind::Sticky), (3, MarkKind::Exclude)] {
        let item = ItemName::TurnOf(node(&mut client, number));
        client.must(Request::Branch(BranchRequest::Mark {
            branch,
            items: vec![item],
            act: Act::Set { kind, toggle: false },
        }));
    }
    say(&mut client, branch, 4..=6);
    let (draft, _) = drafted(&mut client, 0);
    assert_eq!((draft.summary.turns, draft.stays.len()), ((1, 5), 2), "four turns count at turn 6");
    assert!(draft.sources.iter().all(|turn| turn.number != 2 && turn.number != 3));
}

/// Turns of another lane are counted separately.
#[test]
fn lanes_are_counted_separately() {
    let bench = Bench::new(&model(10));
    let mut client = client(&bench, &lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Extractive));
    let branch = client.session();
    let lane = |lane: &str| Overrides { lane: Some(lane.into()), ..Overrides::default() };
    say(&mut client, branch, 1..=2);
    client.must(Request::Branch(BranchRequest::Override { branch, overrides: lane("billing") }));
    say(&mut client, branch, 3..=5);
    assert_eq!(drafts(&client), 0);
    say(&mut client, branch, 6..=6);
    let (draft, _) = drafted(&mut client, 0);
    assert_eq!((draft.summary.lane.as_str(), draft.summary.covers.len()), ("billing", 3));
    assert_eq!(draft.sources.iter().map(|turn| turn.number).collect::<Vec<_>>(), [3, 4, 5]);
}

fn levels() -> PolicySpec {
    PolicySpec {
        name: "levels".into(),
        choose: TurnSelection::Levels,
        anchored: false,
        levels: Levels {
            total: 1_500,
            permanent: 100,
            session: 300,
            working: 1_100,
            working_seconds: 1,
            ..Levels::default()
        },
        auto_summaries: AutoSummarySettings { measure: AutoSummaryTrigger::Levels, ..AutoSummarySettings::default() },
        ..PolicySpec::default()
    }
}

/// Above 80% of the total the oldest turns are summarized, down to 70%.
#[test]
fn full_levels_summarize_their_oldest_turns() {
    let bench = Bench::new(&model(20));
    let mut client = client(&bench, &levels());
    let branch = client.session();
    let mut turn = 0;
    while drafts(&client) == 0 {
        turn += 1;
        assert!(turn < 15, "no summary was ever due");
        say(&mut client, branch, turn..=turn);
        // Work beside the turns reports before this answer or with the next turn.
        client.must(Request::Summary { branch, act: SummaryAct::List });
    }
    let (draft, _) = drafted(&mut client, 0);
    let cause = draft.cause.clone().unwrap();
    let digits = |word: &str| word.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u64>().unwrap();
    let figures: Vec<u64> =
        cause.split(' ').filter(|word| word.contains(|c: char| c.is_ascii_digit())).map(digits).collect();
    assert_eq!(figures[1..], [1_500, 80], "{cause}");
    assert!(figures[0] * 100 > 1_500 * 80, "{cause}");
    let left = figures[0] - u64::from(draft.summary.original_tokens);
    assert!(left * 100 <= 1_500 * 70, "{cause}: {left} would be left");
    let last = draft.sources.last().unwrap().tokens;
    assert!((left + u64::from(last)) * 100 > 1_500 * 70, "no more turns than necessary");
    act(&mut client, branch, SummaryAct::Accept { draft: draft.number });
    assert!(summary(&plan(&mut client, branch)).unwrap().included());
}

/// A draft is no larger than what the session level holds beside the other summaries and the state block, however much it
/// covers and whatever a person keeps, so that it is sent once it is accepted.
#[test]
fn drafts_fit_into_the_session_level() {
    let session = 160;
    let spec = PolicySpec { levels: Levels { session, ..levels().levels }, ..levels() };
    let off = AutoSummarySettings { measure: AutoSummaryTrigger::Off, ..spec.auto_summaries };
    let bench = Bench::new(&model(9));
    let mut client = client(&bench, &PolicySpec { auto_summaries: off, ..spec });
    let branch = client.session();
    say(&mut client, branch, 1..=9);
    let draft = |client: &mut Client, kind, up_to| {
        let by = SummaryAuthor::Extractive;
        match client.ask(Request::Summary { branch, act: SummaryAct::Draft { kind, up_to: Some(up_to), by } }) {
            Ok(Answer::Summary(SummaryAnswer::Draft(Some(draft)))) => Ok(draft),
            Ok(other) => panic!("{other:?}"),
            Err(failure) => Err(failure),
        }
    };
    let made = draft(&mut client, SummaryKind::Lane, 8).unwrap();
    assert!(made.summary.tokens <= session && made.summary.tokens * 2 > session, "{}", made.summary.tokens);
    let Answer::Summary(SummaryAnswer::Draft(Some(kept))) =
        act(&mut client, branch, SummaryAct::KeepAll { draft: made.number })
    else {
        panic!("no draft")
    };
    assert!(kept.summary.tokens <= session, "{}", kept.summary.tokens);
    act(&mut client, branch, SummaryAct::Accept { draft: kept.number });
    assert!(summary(&plan(&mut client, branch)).unwrap().included());
    let full = draft(&mut client, SummaryKind::Session, 3).unwrap_err();
    assert!(full.what.contains("no room"), "{full}");
}

/// As under the default policy: turns that leave the window are summarized once they are more than a little.
fn windowed(accept: AutoSummaryAcceptance) -> PolicySpec {
    PolicySpec {
        name: "windowed".into(),
        window_turns: 3,
        anchored: false,
        retrieval: false,
        auto_summaries: AutoSummarySettings {
            measure: AutoSummaryTrigger::Window,
            tokens: 300,
            accept,
            ..AutoSummarySettings::default()
        },
        ..PolicySpec::default()
    }
}

#[test]
fn turns_outside_the_window_get_a_draft() {
    let bench = Bench::new(&model(12));
    let mut client = client(&bench, &windowed(AutoSummaryAcceptance::Draft));
    let branch = client.session();
    let mut turn = 0;
    while drafts(&client) == 0 {
        turn += 1;
        assert!(turn < 12, "no summary was ever due");
        say(&mut client, branch, turn..=turn);
        client.must(Request::Summary { branch, act: SummaryAct::List });
    }
    let (draft, _) = drafted(&mut client, 0);
    assert_eq!(draft.summary.turns.0, 1);
    assert!(draft.summary.turns.1 < u32::try_from(turn).unwrap() - 2, "the window stays the same");
    assert!(draft.summary.original_tokens > 300, "{:?}", draft.cause);
    let before = plan(&mut client, branch);
    act(&mut client, branch, SummaryAct::Accept { draft: draft.number });
    let after = plan(&mut client, branch);
    // The covered turns are outside the window anyway, and no turn of the window leaves for the summary.
    assert_eq!(summary(&after).unwrap().reason, Reason::SavesNothing);
    let sent = |plan: &ContextPlan| plan.included().map(|row| row.atom).collect::<Vec<_>>();
    assert_eq!(sent(&after), sent(&before));
}

/// A draft also covers the oldest turns of the window, as many as pay for the summary, so that it is sent once accepted.
#[test]
fn draft_covers_turns_of_the_window_that_pay_for_it() {
    let bench = Bench::new(&model(16));
    let spec = PolicySpec { window_turns: 8, ..windowed(AutoSummaryAcceptance::Draft) };
    let mut client = client(&bench, &spec);
    let branch = client.session();
    // Three turns of 118 tokens are outside the window of the twelfth call; two would be fewer than 300 tokens.
    say(&mut client, branch, 1..=12);
    let (draft, _) = drafted(&mut client, 0);
    let before = plan(&mut client, branch);
    act(&mut client, branch, SummaryAct::Accept { draft: draft.number });
    let after = plan(&mut client, branch);
    assert_eq!(
        summary(&after).unwrap().reason,
        Reason::Summary,
        "turns {:?}: {} → {} tokens",
        draft.summary.turns,
        draft.summary.original_tokens,
        draft.summary.tokens
    );
    assert!(after.est_total <= before.est_total, "{} > {}", after.est_total, before.est_total);
    let later = |plan: &ContextPlan| {
        let numbers = plan.included().filter(|row| row.kind == RowKind::Turn).filter_map(|row| row.source.turn);
        numbers.filter(|number| *number > draft.summary.turns.1).collect::<Vec<_>>()
    };
    assert_eq!(later(&after), later(&before), "no other turn leaves");
}

/// A command ends with its turn: a summary that needs no model is made before that. A draft is reported once, and so is
/// a summary that the model would write.
#[test]
fn commands_make_due_summaries() {
    let extractive = SummaryAuthor::Extractive;
    for (accept, by) in [
        (AutoSummaryAcceptance::Draft, extractive),
        (AutoSummaryAcceptance::Auto, extractive),
        (AutoSummaryAcceptance::Draft, SummaryAuthor::Model),
    ] {
        let model = model(10);
        let bench = Bench::new(&model);
        let mut spec = windowed(accept);
        spec.auto_summaries.by = by;
        let mut client = bench.start_with(|setup| {
            setup.patient = true;
            setup.settings.defaults.policy = Some(spec.name.clone());
            setup.settings.policies.insert(spec.name.clone(), spec.clone());
        });
        let branch = client.session();
        say(&mut client, branch, 1..=10);
        let notices: Vec<&String> = client
            .seen
            .iter()
            .filter_map(|event| match event {
                Event::Program(ProgramEvent::Notice(notice)) => Some(notice),
                _ => None,
            })
            .collect();
        match (accept, by) {
            (_, SummaryAuthor::Model) => {
                assert!(notices.len() == 1 && notices[0].contains("--by-model` drafts it"), "{notices:?}");
                assert_eq!((drafts(&client), model.bodies().len()), (0, 10), "no call without a decision");
            }
            (AutoSummaryAcceptance::Draft, _) => {
                assert!(notices.len() == 1 && notices[0].contains("`pleach summary accept` uses it"), "{notices:?}");
                assert_eq!(drafts(&client), 1);
            }
            (AutoSummaryAcceptance::Auto, _) => {
                assert!(!notices.is_empty() && notices[0].contains("accepts drafts automatically"), "{notices:?}");
                assert!(notices[0].contains("unless that makes them larger"), "{notices:?}");
                assert!(summary(&plan(&mut client, branch)).is_some());
            }
        }
    }
}

/// A slow model delays nothing, and its failure is reported once.
#[test]
fn turns_continue_while_a_draft_is_written() {
    let mut scripts: Vec<Vec<Say>> = (1..=4).map(|n| text(&answer(n))).collect();
    scripts.push(vec![Say::Hold, Say::Fail(ProviderErrorKind::Server)]);
    scripts.extend((5..=6).map(|n| text(&answer(n))));
    let model = Model::new(scripts);
    let bench = Bench::new(&model);
    let mut client = client(&bench, &lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Model));
    let branch = client.session();
    say(&mut client, branch, 1..=4);
    while model.bodies().len() < 5 {
        std::thread::yield_now();
    }
    say(&mut client, branch, 5..=5);
    let from = client.seen.len();
    model.release();
    let could_not_write = |event: &Event| matches!(event, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("could not be written"));
    client.wait(from, could_not_write);
    say(&mut client, branch, 6..=6);
    assert_eq!(model.bodies().len(), 7, "four turns, one attempt, two turns");
    assert_eq!(drafts(&client), 0);
}

#[test]
fn stopping_counts_as_refusal() {
    let mut scripts: Vec<Vec<Say>> = (1..=4).map(|n| text(&answer(n))).collect();
    scripts.push(vec![Say::Hold]);
    let model = Model::new(scripts);
    let bench = Bench::new(&model);
    let mut client = client(&bench, &lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Extractive));
    let branch = client.session();
    say(&mut client, branch, 1..=4);
    let (waiting, _) = drafted(&mut client, 0);
    let draft_act = SummaryAct::Draft { kind: SummaryKind::Lane, up_to: Some(3), by: SummaryAuthor::Model };
    let ticket = client.post(Request::Summary { branch, act: draft_act });
    while model.bodies().len() < 5 {
        std::thread::yield_now();
    }
    act(&mut client, branch, SummaryAct::Stop);
    assert!(client.answer(ticket).is_err());
    match act(&mut client, branch, SummaryAct::Show) {
        Answer::Summary(SummaryAnswer::Draft(Some(draft))) => assert_eq!(draft.number, waiting.number),
        other => panic!("{other:?}"),
    }
    assert!(client.ask(Request::Summary { branch, act: SummaryAct::Stop }).is_err(), "no draft is in progress");
    act(&mut client, branch, SummaryAct::Accept { draft: waiting.number });
}

/// Random decisions, undos, and pins: at most one draft waits, each reaches further than the last decision, none makes
/// a request larger, and undoing everything gives the first bytes.
#[test]
fn random_decisions_keep_the_rules() {
    for seed in histories(2) {
        let mut dice = Dice::new(seed);
        let bench = Bench::new(&model(24));
        let mut client = client(&bench, &lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Extractive));
        let branch = client.session();
        let (mut from, mut decided, mut waits) = (0, 0, None::<Arc<SummaryDraft>>);
        for n in 1..=24 {
            say(&mut client, branch, n..=n);
            if waits.is_none() && n - decided >= 4 {
                let (draft, next) = drafted(&mut client, from);
                assert_eq!(draft.summary.turns.1 as usize, n - 1, "seed {seed}, turn {n}");
                assert!(draft.summary.tokens < draft.summary.original_tokens);
                (from, waits) = (next, Some(draft));
            }
            let Some(draft) = waits.clone().filter(|_| dice.below(3) > 0) else { continue };
            let reach = draft.summary.turns.1 as usize;
            match dice.below(3) {
                0 => drop(act(&mut client, branch, SummaryAct::Reject)),
                1 => drop(act(&mut client, branch, SummaryAct::Accept { draft: draft.number })),
                _ => {
                    let before = client.drawn(branch, &message("and now?")).unwrap();
                    act(&mut client, branch, SummaryAct::Accept { draft: draft.number });
                    client.must(Request::Session(SessionRequest::Undo));
                    assert_eq!(client.drawn(branch, &message("and now?")).unwrap(), before, "seed {seed}, turn {n}");
                }
            }
            // After a long-waiting draft is decided, the next may already be due: it comes with the next turn.
            (decided, waits) = (reach, None);
            from = client.seen.len();
        }
    }
}

/// Starting a task ends the one before as `TaskAct::Done` does, with the same draft. Its accepted summary is a row in
/// every mode, and naming the task includes it.
#[test]
fn starting_a_task_ends_the_one_before() {
    let mut texts = Vec::new();
    for next in [TaskAct::Done(None), TaskAct::Start("roads".into())] {
        let bench = Bench::new(&model(6));
        let mut client = client(&bench, &lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Extractive));
        let branch = client.session();
        client.must(Request::Branch(BranchRequest::Task { branch, act: TaskAct::Start("ports".into()) }));
        say(&mut client, branch, 1..=3);
        let from = client.seen.len();
        let started = matches!(next, TaskAct::Start(_));
        let Answer::Done(sentence) = client.must(Request::Branch(BranchRequest::Task { branch, act: next })) else {
            panic!("no sentence")
        };
        let first = if started { "Ended task ports and started task roads." } else { "Ended task ports." };
        assert!(sentence.starts_with(first) && sentence.contains("F5 shows it"), "{sentence}");
        let (draft, _) = drafted(&mut client, from);
        let summed = &draft.summary;
        assert_eq!(
            (summed.kind, summed.turns, draft.cause.as_deref()),
            (SummaryKind::Session, (1, 3), Some("task ports is done"))
        );
        texts.push(summed.text.clone());
        let view = client.open();
        let tasks = &view.branches.iter().find(|one| one.id == branch).unwrap().overrides.tasks;
        let states: Vec<(&str, bool)> = tasks.iter().map(|task| (task.name.as_str(), task.done)).collect();
        let expected: &[(&str, bool)] = &[("ports", true), ("roads", false)];
        assert_eq!(states, expected[..=usize::from(started)]);

        act(&mut client, branch, SummaryAct::Accept { draft: draft.number });
        for mode in Mode::ALL {
            let mut overrides = client.open().branches.iter().find(|one| one.id == branch).unwrap().overrides.clone();
            overrides.mode = Some(mode);
            client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
            for asked in ["and now?", "What came of the ports?"] {
                let plan = client.whole_plan(branch, &message(asked));
                let row = summary(&plan).unwrap_or_else(|| panic!("no row in {mode:?}"));
                assert_eq!((row.included(), &row.reason), (true, &Reason::Summary), "{mode:?}: {asked}");
            }
        }
    }
    assert_eq!(texts[0], texts[1]);
}

/// With automatic summaries, ending a task makes a session summary. Otherwise a notice says how to make one.
#[test]
fn ending_a_task_summarizes_the_session() {
    let bench = Bench::new(&model(6));
    let mut client = client(&bench, &lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Extractive));
    let branch = client.session();
    client.must(Request::Branch(BranchRequest::Task { branch, act: TaskAct::Start("ports".into()) }));
    say(&mut client, branch, 1..=2);
    let from = client.seen.len();
    let Answer::Done(sentence) = client.must(Request::Branch(BranchRequest::Task { branch, act: TaskAct::Done(None) }))
    else {
        panic!()
    };
    assert!(sentence.contains("F5 shows it"), "{sentence}");
    let (draft, _) = drafted(&mut client, from);
    assert_eq!((draft.summary.kind, draft.summary.turns), (SummaryKind::Session, (1, 2)));
    assert_eq!(draft.cause.as_deref(), Some("task ports is done"));
    assert!(draft.body.contains("retry_limit_1") || draft.dropped.iter().any(|d| d.text.contains("retry_limit_1")));
    assert!(summary(&plan(&mut client, branch)).is_none(), "a draft is not used by itself");
    act(&mut client, branch, SummaryAct::Accept { draft: draft.number });
    client.must(Request::Branch(BranchRequest::Override {
        branch,
        overrides: Overrides { auto_summaries: Some(AutoSummaryOverride::Off), ..Overrides::default() },
    }));
    client.must(Request::Branch(BranchRequest::Task { branch, act: TaskAct::Start("roads".into()) }));
    say(&mut client, branch, 3..=3);
    let before = drafts(&client);
    let Answer::Done(sentence) = client.must(Request::Branch(BranchRequest::Task { branch, act: TaskAct::Done(None) }))
    else {
        panic!()
    };
    assert!(sentence.contains("/compress session 3"), "{sentence}");
    assert_eq!(drafts(&client), before);
}
