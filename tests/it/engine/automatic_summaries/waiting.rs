//! Drafts that wait across programs: the same text everywhere, decided once, and only where their sources are on the path
//! and unchanged.

use super::*;
use pleach::domain::base::{BranchId, FailureKind};
use pleach::domain::conversation::Branch;
use pleach::engine::api::{BranchAnswer, DraftKind, SummaryAnswer};

/// A program that runs one command: the workbench's engine, but it waits for all of its work.
fn command(bench: &Bench, spec: &PolicySpec) -> Client {
    let spec = spec.clone();
    bench.start_with(|setup| {
        setup.patient = true;
        setup.settings.defaults.policy = Some(spec.name.clone());
        setup.settings.policies.insert(spec.name.clone(), spec);
    })
}

fn spec() -> PolicySpec {
    lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Extractive)
}

/// The draft that waits on a branch.
fn waiting(client: &mut Client, branch: BranchId) -> Option<Arc<SummaryDraft>> {
    match act(client, branch, SummaryAct::Show) {
        Answer::Summary(SummaryAnswer::Draft(draft)) => draft,
        other => panic!("{other:?}"),
    }
}

/// A draft without its number, which counts drafts in one program.
fn same(draft: &SummaryDraft) -> SummaryDraft {
    SummaryDraft { number: 0, ..draft.clone() }
}

/// Four turns by a command, after which a draft waits.
fn four_turns(bench: &Bench) -> (BranchId, SummaryDraft) {
    let mut client = command(bench, &spec());
    let branch = client.session();
    say(&mut client, branch, 1..=4);
    let (draft, _) = drafted(&mut client, 0);
    let stored = bench.store().summary_draft(branch).unwrap().expect("stored before the program ends");
    assert_eq!((stored.summary.id, &stored.body, stored.branch), (draft.summary.id, &draft.body, branch));
    assert_eq!(stored.summary.source_hash, draft.summary.source_hash);
    client.stop();
    (branch, same(&draft))
}

fn fork(client: &mut Client, branch: BranchId, at: Option<NodeId>) -> Box<Branch> {
    match client.must(Request::Branch(BranchRequest::Fork { branch, at, name: None, switch: false })) {
        Answer::Branch(BranchAnswer::Branch(child)) => child,
        other => panic!("{other:?}"),
    }
}

fn exclude(client: &mut Client, branch: BranchId, number: usize, kind: MarkKind) {
    let items = vec![ItemName::TurnOf(node(client, number))];
    client.must(Request::Branch(BranchRequest::Mark { branch, items, act: Act::Set { kind, toggle: false } }));
}

/// A draft that a command made is the same in the next command and in the workbench, with a person's changes, and is
/// accepted there.
#[test]
fn draft_of_a_command_waits_in_every_program() {
    let bench = Bench::new(&model(4));
    let (branch, made) = four_turns(&bench);

    let mut second = command(&bench, &spec());
    second.open();
    let found = waiting(&mut second, branch).unwrap();
    assert_eq!(same(&found), made);
    act(&mut second, branch, SummaryAct::Keep { draft: found.number, items: vec![0] });
    let text = "The service reads its settings first.".to_owned();
    act(&mut second, branch, SummaryAct::Edit { draft: found.number, text });
    let edited = waiting(&mut second, branch).unwrap();
    assert_eq!((edited.summary.source, edited.summary.kept.len()), (SummarySource::User, 1));
    second.stop();

    let mut workbench = client(&bench, &spec());
    workbench.open();
    let (shown, _) = drafted(&mut workbench, 0);
    assert_eq!(same(&shown), same(&edited));
    assert!(summary(&plan(&mut workbench, branch)).is_none(), "a draft is not sent");
    act(&mut workbench, branch, SummaryAct::Accept { draft: shown.number });
    assert!(summary(&plan(&mut workbench, branch)).unwrap().included());
    workbench.stop();
    assert_eq!(bench.store().summary_draft(branch).unwrap(), None);
    let mut last = command(&bench, &spec());
    last.open();
    assert!(waiting(&mut last, branch).is_none());
}

/// A draft is hidden while one of its turns is excluded or not on the path, and a new one takes its place when one is
/// due. An exclusion for one call changes nothing.
#[test]
fn draft_of_changed_turns_is_dropped() {
    let bench = Bench::new(&model(6));
    let (branch, made) = four_turns(&bench);
    let mut client = command(&bench, &spec());
    client.open();
    exclude(&mut client, branch, 3, MarkKind::ExcludeOnce);
    assert_eq!(waiting(&mut client, branch).map(|draft| same(&draft)), Some(made.clone()));
    client.must(Request::Session(SessionRequest::Undo));
    exclude(&mut client, branch, 2, MarkKind::Exclude);
    assert!(waiting(&mut client, branch).is_none());
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(waiting(&mut client, branch).map(|draft| same(&draft)), Some(made.clone()), "undone with the exclusion");
    exclude(&mut client, branch, 2, MarkKind::Exclude);
    client.stop();

    let mut later = command(&bench, &spec());
    later.open();
    assert!(waiting(&mut later, branch).is_none());
    say(&mut later, branch, 5..=5);
    let (other, _) = drafted(&mut later, 0);
    assert!(other.sources.iter().map(|turn| turn.number).eq([1, 3, 4]), "without the excluded turn");
    assert_eq!(bench.store().summary_draft_id(branch).unwrap(), Some(other.summary.id), "in place of the first");
    let item = ItemName::TurnOf(node(&mut later, 3));
    later.must(Request::Branch(BranchRequest::RemoveMessage { branch, item }));
    assert!(waiting(&mut later, branch).is_none());
    assert_eq!(bench.store().summary_draft(branch).unwrap(), None, "its text is deleted with its source");
}

/// In the workbench, an exclusion hides the draft at once.
#[test]
fn excluding_a_turn_hides_the_draft_on_the_screen() {
    let bench = Bench::new(&model(4));
    let (branch, _) = four_turns(&bench);
    let mut client = client(&bench, &spec());
    client.open();
    let (_, next) = drafted(&mut client, 0);
    exclude(&mut client, branch, 1, MarkKind::Exclude);
    plan(&mut client, branch);
    client.wait(next, |event| matches!(event, Event::Summary(SummaryEvent::Draft { draft: None, .. })));
}

/// The index after the event that hid the draft, among those from `from` on.
fn hidden(client: &mut Client, from: usize) -> usize {
    client.wait(from, |event| matches!(event, Event::Summary(SummaryEvent::Draft { draft: None, .. }))) + 1
}

/// In the workbench, a hidden draft shows again by itself as soon as its turns are as they were read: the exclusion is
/// undone or removed, or the edited message is restored. It is still hidden if its turns change while it returns.
#[test]
fn draft_returns_to_the_screen_with_its_turns() {
    let bench = Bench::new(&model(5));
    let (branch, made) = four_turns(&bench);
    let mut client = client(&bench, &spec());
    client.open();
    let (_, mut next) = drafted(&mut client, 0);
    let undo = || Request::Session(SessionRequest::Undo);
    let exclusion = |node| {
        let act = Act::Set { kind: MarkKind::Exclude, toggle: true };
        Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::TurnOf(node)], act })
    };
    let second = node(&mut client, 2);
    for (way, restores) in [("undone", undo()), ("removed", exclusion(second))] {
        client.must(exclusion(second));
        next = hidden(&mut client, next);
        client.must(restores);
        let (again, after) = drafted(&mut client, next);
        assert_eq!(same(&again), made, "{way}");
        next = after;
    }
    // Changes that arrive while it returns count as well.
    for _ in 0..4 {
        for _ in 0..3 {
            client.post(exclusion(second));
        }
        assert!(waiting(&mut client, branch).is_none());
        client.must(exclusion(second));
        while waiting(&mut client, branch).is_none() {
            std::thread::yield_now();
        }
        next = client.seen.len();
    }
    let edit = crate::support::bench::draft("Step 2, in other words.", DraftKind::Edit(second));
    client.turn(branch, &edit);
    next = hidden(&mut client, next);
    assert!(waiting(&mut client, branch).is_none(), "another turn is in its place");
    client.must(undo());
    let (again, _) = drafted(&mut client, next);
    assert_eq!(same(&again), made, "the message is restored");
    act(&mut client, branch, SummaryAct::Accept { draft: again.number });
    assert!(summary(&plan(&mut client, branch)).unwrap().included());
}

/// A draft whose turn was excluded when the program started shows once the exclusion is undone.
#[test]
fn draft_hidden_at_the_start_returns() {
    let bench = Bench::new(&model(4));
    let (branch, made) = four_turns(&bench);
    let mut first = command(&bench, &spec());
    first.open();
    exclude(&mut first, branch, 2, MarkKind::Exclude);
    first.stop();
    let mut client = client(&bench, &spec());
    client.open();
    assert_eq!(drafts(&client), 0);
    client.must(Request::Session(SessionRequest::Undo));
    let (again, _) = drafted(&mut client, 0);
    assert_eq!((same(&again), again.branch), (made, branch));
}

/// A discarded draft is not made again of the same turns, also not by another program.
#[test]
fn discarding_is_remembered() {
    let bench = Bench::new(&model(7));
    let (branch, made) = four_turns(&bench);
    let mut client = command(&bench, &spec());
    client.open();
    act(&mut client, branch, SummaryAct::Reject);
    client.stop();
    let mut later = command(&bench, &spec());
    later.open();
    assert!(waiting(&mut later, branch).is_none());
    say(&mut later, branch, 5..=6);
    assert_eq!(drafts(&later), 0);
    say(&mut later, branch, 7..=7);
    let (next, _) = drafted(&mut later, 0);
    assert!(next.summary.turns.1 > made.summary.turns.1);
}

/// Two programs: the second one finds the draft of the first one instead of making another, and cannot accept what the
/// first one changed or discarded.
#[test]
fn two_programs_have_one_draft() {
    let bench = Bench::new(&model(6));
    let (mut one, mut two) = (command(&bench, &spec()), command(&bench, &spec()));
    let branch = one.session();
    say(&mut one, branch, 1..=3);
    two.open();
    say(&mut one, branch, 4..=4);
    let (draft, _) = drafted(&mut one, 0);
    say(&mut two, branch, 5..=5);
    let other = waiting(&mut two, branch).unwrap();
    assert_eq!(same(&other), same(&draft));
    let text = "The service reads its settings first.".to_owned();
    act(&mut one, branch, SummaryAct::Edit { draft: draft.number, text });
    let outdated = two.ask(Request::Summary { branch, act: SummaryAct::Accept { draft: other.number } }).unwrap_err();
    assert_eq!(outdated.kind, FailureKind::Stale);
    let other = waiting(&mut two, branch).unwrap();
    assert_eq!(other.summary.source, SummarySource::User, "the changed draft");
    act(&mut two, branch, SummaryAct::Reject);
    assert!(waiting(&mut one, branch).is_none());
    say(&mut one, branch, 6..=6);
    assert!(waiting(&mut one, branch).is_none() && waiting(&mut two, branch).is_none());
}

/// Two programs write a draft at once: the first one that is finished counts in both.
#[test]
fn first_finished_draft_counts() {
    let mut scripts: Vec<Vec<Say>> = (1..=4).map(|n| text(&answer(n))).collect();
    scripts.push([vec![Say::Hold], text("- The service reads its settings first.")].concat());
    scripts.push(text(&answer(5)));
    let model = Model::new(scripts);
    let bench = Bench::new(&model);
    let by_model = lanes(AutoSummaryAcceptance::Draft, SummaryAuthor::Model);
    let mut slow = client(&bench, &by_model);
    let branch = slow.session();
    say(&mut slow, branch, 1..=4);
    while model.bodies().len() < 5 {
        std::thread::yield_now();
    }
    let mut fast = command(&bench, &spec());
    fast.open();
    say(&mut fast, branch, 5..=5);
    let (first, _) = drafted(&mut fast, 0);
    model.release();
    let (shown, _) = drafted(&mut slow, 0);
    assert_eq!(same(&shown), same(&first));
    assert_eq!(bench.store().summary_draft_id(branch).unwrap(), Some(first.summary.id));
}

/// A fork has a copy of the draft if its turns are on the fork's path. Both are decided separately.
#[test]
fn forks_copy_drafts_of_their_turns() {
    let bench = Bench::new(&model(4));
    let (branch, made) = four_turns(&bench);
    let mut client = command(&bench, &spec());
    client.open();
    let at = node(&mut client, 3);
    let early = fork(&mut client, branch, Some(at)).id;
    let [kept, discarded] = [(); 2].map(|()| fork(&mut client, branch, None).id);
    assert!(waiting(&mut client, early).is_none(), "turn 3 is open there");
    for child in [kept, discarded] {
        let copy = waiting(&mut client, child).unwrap();
        assert_eq!(SummaryDraft { branch, ..same(&copy) }, made);
    }
    act(&mut client, discarded, SummaryAct::Reject);
    let copy = waiting(&mut client, kept).unwrap();
    act(&mut client, kept, SummaryAct::Accept { draft: copy.number });
    for decided in [kept, discarded] {
        assert!(waiting(&mut client, decided).is_none(), "decided there");
    }
    client.stop();
    let mut later = command(&bench, &spec());
    later.open();
    assert_eq!(waiting(&mut later, branch).map(|draft| same(&draft)), Some(made));
    assert!(waiting(&mut later, kept).is_none() && waiting(&mut later, discarded).is_none());
}

/// Ending a task by a command drafts a summary of the session so far, as in the workbench.
#[test]
fn task_that_a_command_ends_gets_a_draft() {
    let bench = Bench::new(&model(3));
    let mut client = command(&bench, &spec());
    let branch = client.session();
    let task = |act| Request::Branch(BranchRequest::Task { branch, act });
    client.must(task(TaskAct::Start("ports".into())));
    say(&mut client, branch, 1..=3);
    client.must(task(TaskAct::Start("roads".into())));
    client.stop();
    let mut later = command(&bench, &spec());
    later.open();
    let draft = waiting(&mut later, branch).unwrap();
    assert_eq!((draft.summary.kind, draft.summary.turns), (SummaryKind::Session, (1, 3)));
    assert_eq!(draft.cause.as_deref(), Some("task ports is done"));
}
