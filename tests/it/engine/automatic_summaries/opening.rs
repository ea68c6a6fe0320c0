//! Automatic summaries when a session is opened or a branch is switched to.

use super::*;

/// Ten turns by single commands, without automatic summaries.
fn turns_by_commands(bench: &Bench) -> BranchId {
    let mut spec = windowed(AutoSummaryAcceptance::Draft);
    spec.auto_summaries.measure = AutoSummaryTrigger::Off;
    let mut client = bench.start_with(|setup| {
        setup.patient = true;
        setup.settings.defaults.policy = Some(spec.name.clone());
        setup.settings.policies.insert(spec.name.clone(), spec);
    });
    let branch = client.session();
    say(&mut client, branch, 1..=10);
    assert_eq!(drafts(&client), 0);
    client.stop();
    branch
}

/// Opening a session drafts what is due, and a branch that is forked or switched to shows the draft at once. The draft waits also after the program ended. What a
/// person rejected is not drafted again.
#[test]
fn opening_a_branch_drafts_what_is_due() {
    let bench = Bench::new(&model(18));
    let branch = turns_by_commands(&bench);
    let spec = windowed(AutoSummaryAcceptance::Draft);
    let mut opened = client(&bench, &spec);
    opened.open();
    plan(&mut opened, branch);
    let (first, _) = drafted(&mut opened, 0);
    assert_eq!(first.summary.turns.0, 1);
    assert!(
        first.cause.as_deref().unwrap().starts_with("turns before the window hold more than an estimated 300"),
        "{first:?}"
    );
    opened.stop();

    let mut second = client(&bench, &spec);
    second.open();
    let (again, next) = drafted(&mut second, 0);
    assert_eq!(again.summary, first.summary, "the same draft");
    plan(&mut second, branch);
    for switch in [true, false] {
        let fork = BranchRequest::Fork { branch, at: None, name: None, switch };
        let Answer::Branch(BranchAnswer::Branch(child)) = second.must(Request::Branch(fork)) else {
            panic!("no branch")
        };
        if !switch {
            second.must(Request::Branch(BranchRequest::Switch { branch: child.id }));
        }
        let on_child = |event: &Event| matches!(event, Event::Summary(SummaryEvent::Draft { branch, draft: Some(_) }) if *branch == child.id);
        second.wait(next, on_child);
    }
    act(&mut second, branch, SummaryAct::Reject);
    second.must(Request::Branch(BranchRequest::Switch { branch }));
    second.stop();

    let mut third = client(&bench, &spec);
    third.open();
    plan(&mut third, branch);
    let mut turn = 10;
    while drafts(&third) == 0 {
        turn += 1;
        assert!(turn <= 18, "no summary was ever due again");
        say(&mut third, branch, turn..=turn);
        third.must(Request::Summary { branch, act: SummaryAct::List });
    }
    let (later, _) = drafted(&mut third, 0);
    assert!(later.summary.turns.1 > first.summary.turns.1, "the rejected draft is not repeated");
}

/// If no acceptance is needed, an extractive summary is used as soon as the branch is opened.
#[test]
fn opening_a_branch_uses_an_extractive_summary() {
    let bench = Bench::new(&model(10));
    let branch = turns_by_commands(&bench);
    let mut client = client(&bench, &windowed(AutoSummaryAcceptance::Auto));
    client.open();
    assert!(summary(&plan(&mut client, branch)).is_none());
    let used = |event: &Event| matches!(event, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("the policy accepts drafts automatically"));
    client.wait(0, used);
    let Answer::Summary(SummaryAnswer::Summaries(cards)) = act(&mut client, branch, SummaryAct::List) else {
        panic!("no list")
    };
    assert_eq!((cards.len(), cards[0].summary.turns, cards[0].active), (1, (1, 7), true));
    assert!(summary(&plan(&mut client, branch)).is_some());
}

/// A draft by the model costs a call, which opening a branch never makes: a notice says once that a summary is due.
#[test]
fn opening_a_branch_calls_no_model() {
    let model = model(11);
    let bench = Bench::new(&model);
    let branch = turns_by_commands(&bench);
    for accept in [AutoSummaryAcceptance::Draft, AutoSummaryAcceptance::Auto] {
        let mut spec = windowed(accept);
        spec.auto_summaries.by = SummaryAuthor::Model;
        let due = |event: &Event| matches!(event, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("is due") && notice.contains(" model drafts it."));
        let mut client = client(&bench, &spec);
        client.open();
        plan(&mut client, branch);
        if accept == AutoSummaryAcceptance::Draft {
            client.wait(0, due);
            assert_eq!((model.bodies().len(), drafts(&client)), (10, 0));
            client.stop();
        } else {
            say(&mut client, branch, 11..=11);
            drafted(&mut client, 0);
            assert_eq!(model.bodies().len(), 12, "a turn makes the call");
            assert!(!client.seen.iter().any(due), "reported once for the same turns");
        }
    }
}
