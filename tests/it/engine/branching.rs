//! Work across branches: picking, comparing, racing and keeping a winner, side questions, names, and tags; with undo
//! and redo, restarts, removals, and a second window on the same store.

use crate::support::bench::{
    Bench, Client, Dice, Echo, Model, Say, draft, histories, message, model_of, path, run_sql, text,
};
use pleach::domain::base::{BranchId, FailureKind, Hash, NodeId};
use pleach::domain::call::{BranchRun, Limit, Limits, ModelInfo, Price, RunStatus};
use pleach::domain::conversation::{Atom, Branch, Comparison, Mark, MarkKind, Overrides, Role, Tag};
use pleach::domain::planning::Warning;
use pleach::domain::planning::{Draft, Mode, RowKind};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, CallAnswer, CallRequest, DraftKind, Event, ItemName, PlanRequest,
    ProgramEvent, Request, SessionAnswer, SessionEvent, SessionRequest, SessionView, TagAct, TurnEvent, TurnRequest,
};
use pleach::store::types::Write;
use std::sync::Arc;

/// A branch `main` of three turns, and `side`, forked after the second turn, with one more turn.
struct Two {
    client: Client,
    main: BranchId,
    side: BranchId,
}

fn two_branches(bench: &Bench) -> Two {
    let mut client = bench.start();
    let main = client.session();
    client.say(main, "the first question about cranes");
    client.say(main, "the second question about piers");
    let side = fork(&mut client, main, "side");
    client.say(main, "the third question, on main only");
    client.say(side, "the question on the side only");
    Two { client, main, side }
}

fn fork(client: &mut Client, from: BranchId, name: &str) -> BranchId {
    match client.must(Request::Branch(BranchRequest::Fork {
        branch: from,
        at: None,
        name: Some(name.into()),
        switch: false,
    })) {
        Answer::Branch(BranchAnswer::Branch(branch)) => branch.id,
        other => panic!("{other:?}"),
    }
}

fn branch(view: &SessionView, id: BranchId) -> Branch {
    view.branches.iter().find(|branch| branch.id == id).unwrap().clone()
}

fn head(client: &mut Client, id: BranchId) -> NodeId {
    branch(&client.open(), id).head.unwrap()
}

/// Digests of the plans of several drafts.
fn plans(client: &mut Client, id: BranchId) -> Vec<Option<(Hash, Hash)>> {
    ["why?", "and then, at the pier?"].map(|words| client.drawn(id, &message(words))).into()
}

/// The text of the request that would be sent.
fn wire(client: &mut Client, id: BranchId) -> String {
    client.whole_plan(id, &message("so?"));
    match client.must(Request::Plan(PlanRequest::WireText { branch: id })) {
        Answer::Text(body) => body,
        other => panic!("{other:?}"),
    }
}

fn picked_marks(client: &mut Client, id: BranchId) -> Vec<Mark> {
    branch(&client.open(), id).marks.into_iter().filter(|mark| mark.origin.is_some()).collect()
}

fn compare(client: &mut Client, a: BranchId, b: BranchId) -> Box<Comparison> {
    match client.must(Request::Branch(BranchRequest::Compare { a, b })) {
        Answer::Branch(BranchAnswer::Compared(compared)) => compared,
        other => panic!("{other:?}"),
    }
}

#[test]
fn picked_turn_names_its_origin_and_undoes_exactly() {
    let bench = Bench::new(&Model::new([]));
    let Two { mut client, main, side } = two_branches(&bench);
    let (before, ask_aside) = (plans(&mut client, main), plans(&mut client, side));
    let node = head(&mut client, side);
    let pick = Request::Branch(BranchRequest::Pick {
        from: side,
        items: vec![ItemName::TurnOf(node)],
        onto: main,
        together: false,
    });
    client.must(pick);
    let marks = picked_marks(&mut client, main);
    let origin = marks[0].origin.clone().unwrap();
    assert_eq!((origin.branch, origin.name.as_str(), origin.turn, origin.turns), (side, "side", Some(3), 1));
    assert_eq!(origin.sources.len(), 2, "question and answer");
    let body = wire(&mut client, main);
    assert!(body.contains("the question on the side only") && body.contains("of branch"), "{body}");
    let picked = plans(&mut client, main);
    assert_ne!(picked, before);
    assert_eq!(plans(&mut client, side), ask_aside, "the plans of the source are unchanged");

    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(plans(&mut client, main), before);
    client.must(Request::Session(SessionRequest::Redo));
    assert_eq!(plans(&mut client, main), picked);
    client.stop();
    let mut client = bench.start();
    client.open();
    assert_eq!(plans(&mut client, main), picked, "a restart changes nothing");
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(plans(&mut client, main), before);
}

/// A range of turns that the other branch has already is pinned there, turn by turn, and the notice says so.
#[test]
fn shared_range_is_pinned_by_turns() {
    let bench = Bench::new(&Model::new([]));
    let Two { mut client, main, side } = two_branches(&bench);
    let items = vec![ItemName::Span { first: "1".into(), last: "2".into() }];
    let pick = BranchRequest::Pick { from: main, items, onto: side, together: true };
    let Answer::Done(sentence) = client.must(Request::Branch(pick)) else { panic!() };
    assert!(sentence.starts_with("Pinned 2 items on side without copies: they are there already"), "{sentence}");
    let plan = client.whole_plan(side, &message("so?"));
    let pinned = plan.rows.iter().filter(|row| row.pin == Some(MarkKind::Sticky) && row.included());
    assert_eq!(pinned.filter_map(|row| row.source.turn).collect::<Vec<_>>(), [1, 2]);
}

/// An act on an excluded message concerns the message; an act on its turn says that the message stays excluded.
#[test]
fn excluded_message_is_included_by_its_own_name() {
    let bench = Bench::new(&Model::new([]));
    let Two { mut client, main, .. } = two_branches(&bench);
    let question = client.open().nodes[0].clone();
    assert_eq!(question.role, Role::User);
    let answer = path(&bench.store(), client.open().card.id, main)[1].head.clone();
    let mark = |client: &mut Client, item: ItemName, kind: MarkKind| {
        let act = Act::Set { kind, toggle: false };
        match client.must(Request::Branch(BranchRequest::Mark { branch: main, items: vec![item], act })) {
            Answer::Done(sentence) => sentence,
            other => panic!("{other:?}"),
        }
    };
    let before = plans(&mut client, main);
    mark(&mut client, ItemName::Message(answer.id), MarkKind::Exclude);
    let excluded = plans(&mut client, main);
    assert_ne!(excluded, before);
    assert!(wire(&mut client, main).contains("left out by the user"));
    let sentence = mark(&mut client, ItemName::TurnOf(question.id), MarkKind::Sticky);
    assert_eq!(sentence, "Pinned turn 1. One of its messages stays excluded. u undoes it.");
    client.must(Request::Session(SessionRequest::Undo));
    let sentence = mark(&mut client, ItemName::TurnOf(answer.id), MarkKind::IncludeOnce);
    assert_eq!(sentence, "Included a message of turn 1 in the next request. u undoes it.");
    assert!(!wire(&mut client, main).contains("left out by the user"));
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(plans(&mut client, main), excluded);
    let named = ItemName::Named { text: answer.id.to_string(), message: false };
    let sentence = mark(&mut client, named, MarkKind::Sticky);
    assert_eq!(sentence, "Pinned a message of turn 1. u undoes it.");
}

/// The id of the row of a retrieved message names the message's turn.
#[test]
fn row_id_of_a_message_names_its_turn() {
    let bench = Bench::new(&Model::new([]));
    let Two { mut client, main, .. } = two_branches(&bench);
    let answer = path(&bench.store(), client.open().card.id, main)[1].head.clone();
    let id = Atom::Message { node: answer.key }.key().to_string();
    let items = vec![ItemName::Named { text: id[..8].to_owned(), message: false }];
    let act = Act::Set { kind: MarkKind::IncludeOnce, toggle: false };
    let Answer::Done(sentence) = client.must(Request::Branch(BranchRequest::Mark { branch: main, items, act })) else {
        panic!()
    };
    assert_eq!(sentence, "Included turn 1 in the next request. u undoes it.");
}

#[test]
fn shared_items_are_marked_and_pinned_texts_copied() {
    let bench = Bench::new(&Model::new([]));
    let Two { mut client, main, side } = two_branches(&bench);
    let view = client.open();
    let shared = path(&bench.store(), view.card.id, main)[0].head.id;
    let note = ItemName::Note("never on a Friday".into());
    client.must(Request::Branch(BranchRequest::Mark {
        branch: side,
        items: vec![note],
        act: Act::Set { kind: MarkKind::Sticky, toggle: false },
    }));
    let pin = branch(&client.open(), side).marks.iter().find(|mark| mark.note.is_some()).unwrap().target;
    let compared = compare(&mut client, main, side);
    let pins: Vec<_> = compared.sides[1].turns.iter().filter(|turn| turn.pin.is_some()).collect();
    assert_eq!((pins.len(), pins[0].atom, compared.sides[1].count()), (1, pin, 1), "it is listed and is not a turn");
    let items = vec![ItemName::TurnOf(shared), ItemName::Atom(pin)];
    client.must(Request::Branch(BranchRequest::Pick { from: side, items, onto: main, together: false }));
    let marks = branch(&client.open(), main).marks;
    assert_eq!(marks.len(), 2);
    assert!(marks.iter().all(|mark| mark.inherited_from.as_deref() == Some("side") && mark.origin.is_none()));
    assert!(wire(&mut client, main).contains("never on a Friday"));
    assert_eq!(branch(&client.open(), side).marks.len(), 1, "the source has no new mark");
}

#[test]
fn ranges_are_picked_as_one_text() {
    let bench = Bench::new(&Model::new([]));
    let Two { mut client, main, side } = two_branches(&bench);
    client.say(side, "one more on the side");
    client.say(side, "and a last one there");
    let nodes = path(&bench.store(), client.open().card.id, side);
    let id = |n: usize| nodes[n].head.id.to_string();
    let pick = |first, last| {
        Request::Branch(BranchRequest::Pick {
            from: side,
            items: vec![ItemName::Span { first, last }],
            onto: main,
            together: false,
        })
    };
    client.must(pick(id(4), id(7)));
    let marks = picked_marks(&mut client, main);
    let origin = marks[0].origin.clone().unwrap();
    assert_eq!((origin.turn, origin.turns, origin.sources.len()), (Some(3), 2, 4));
    let note = marks[0].note.clone().unwrap();
    assert!(note.contains("the question on the side only") && note.contains("one more on the side"));
    assert!(!note.contains("and a last one"));
    assert!(client.ask(pick(id(7), id(4))).unwrap_err().what.contains("before it starts"));
}

#[test]
fn stale_result_card_is_replaced() {
    let bench = Bench::new(&Model::new([]));
    let Two { mut client, main, side } = two_branches(&bench);
    client.must(Request::Branch(BranchRequest::BringBack { from: side, onto: None }));
    let first = picked_marks(&mut client, main);
    let key = |client: &mut Client| {
        let view = client.open();
        let head = branch(&view, side).head.unwrap();
        view.nodes.iter().find(|node| node.id == head).unwrap().key
    };
    let stale = |mark: &Mark, head: Hash| mark.origin.as_ref().unwrap().stale(Some(head));
    assert!(!stale(&first[0], key(&mut client)));
    let (calm, digest) = (plans(&mut client, main), first[0].origin.clone());
    client.say(side, "the side goes on");
    assert!(stale(&first[0], key(&mut client)), "the branch continued");
    assert_eq!(plans(&mut client, main), calm, "but main's plans do not change by themselves");

    client.must(Request::Branch(BranchRequest::BringBack { from: side, onto: None }));
    let second = picked_marks(&mut client, main);
    assert_eq!(second.len(), 1, "the new card replaces the old one");
    assert!(!stale(&second[0], key(&mut client)));
    assert!(second[0].note.clone().unwrap().contains("the side goes on"));
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(picked_marks(&mut client, main)[0].origin, digest);
    assert_eq!(plans(&mut client, main), calm);
}

#[test]
fn removing_the_source_removes_the_copy() {
    let bench = Bench::new(&Model::new([text("one"), text("two"), text("three"), text("a secret of the side")]));
    let Two { mut client, main, side } = two_branches(&bench);
    let node = head(&mut client, side);
    client.must(Request::Branch(BranchRequest::Tag {
        branch: side,
        item: ItemName::Message(node),
        act: TagAct::Label("here it was".into()),
    }));
    client.must(Request::Branch(BranchRequest::Pick {
        from: side,
        items: vec![ItemName::TurnOf(node)],
        onto: main,
        together: false,
    }));
    client.must(Request::Branch(BranchRequest::BringBack { from: side, onto: Some(main) }));
    assert!(wire(&mut client, main).contains("a secret of the side"));
    client.must(Request::Branch(BranchRequest::RemoveMessage { branch: side, item: ItemName::TurnOf(node) }));
    assert!(!wire(&mut client, main).contains("a secret of the side"));
    assert!(client.open().tags.is_empty(), "marks on the message were removed too");
    for request in [
        Request::Session(SessionRequest::Undo),
        Request::Session(SessionRequest::Undo),
        Request::Session(SessionRequest::Undo),
        Request::Session(SessionRequest::Redo),
        Request::Session(SessionRequest::Redo),
    ] {
        let _ = client.ask(request);
        assert!(!wire(&mut client, main).contains("a secret of the side"));
        assert!(client.open().tags.is_empty());
    }
    client.stop();
    let bytes = std::fs::read(bench.store_path()).unwrap();
    let secret = b"a secret of the side";
    assert!(!bytes.windows(secret.len()).any(|part| part == secret), "not in the file either");
}

#[test]
fn branches_are_compared_from_their_fork() {
    let bench = Bench::new(&Model::new([text("1"), text("2"), text("3"), text("4")]));
    let Two { mut client, main, side } = two_branches(&bench);
    let compared = compare(&mut client, main, side);
    let ancestor = compared.ancestor.unwrap();
    assert_eq!((ancestor.turn, ancestor.title.as_str()), (2, "the second question about piers"));
    let words = |at: usize| compared.sides[at].turns.iter().map(|t| t.messages[0].text.clone()).collect::<Vec<_>>();
    assert_eq!(words(0), ["the third question, on main only"]);
    assert_eq!(words(1), ["the question on the side only"]);
    assert_eq!((compared.sides[0].calls, compared.sides[1].calls), (1, 1));
    assert!(compared.plans.is_some());
    assert!(client.ask(Request::Branch(BranchRequest::Compare { a: main, b: main })).is_err());
    let empty = fork(&mut client, main, "empty");
    assert!(compare(&mut client, main, empty).sides[1].turns.is_empty());
}

/// An edit that was undone leaves its call in the call history. A comparison names the call of the text that it shows.
#[test]
fn a_comparison_names_the_call_of_its_text() {
    let bench = Bench::new(&Model::new([]));
    let Two { mut client, main, side } = two_branches(&bench);
    let last = |client: &mut Client| compare(client, main, side).sides[0].last.clone().and_then(|call| call.run);
    let before = last(&mut client);
    let view = client.open();
    let question = view.nodes.iter().rfind(|node| node.preview.contains("on main only")).unwrap().id;
    client.turn(main, &draft("other words on main", DraftKind::Edit(question)));
    assert_ne!(last(&mut client), before, "the edited message has a call of its own");
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!((last(&mut client), before.is_some()), (before, true));
}

/// A race of two variants on a branch, asked and answered.
fn race(client: &mut Client, on: BranchId, limits: Limits, words: &str) -> Vec<BranchId> {
    let variants = vec![
        Overrides { mode: Some(Mode::Off), ..Overrides::default() },
        Overrides { mode: Some(Mode::Heavy), ..Overrides::default() },
    ];
    let made =
        match client.must(Request::Call(CallRequest::Race { branch: on, variants, limits, draft: message(words) })) {
            Answer::Call(CallAnswer::Race(made)) => made.iter().map(|branch| branch.id).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
    let from = client.seen.len();
    for id in &made {
        client.send(*id, &message(words)).unwrap();
    }
    for id in &made {
        client.closed(from, *id);
    }
    made
}

/// The claim of a message that waited for another program is not lost to an act before the message is sent.
#[test]
fn race_keeps_the_claim_of_a_queued_message() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    client.must(Request::Turn(TurnRequest::Claim(main)));
    race(&mut client, main, Limits::default(), "hi");
    let mut other = bench.start();
    other.open();
    assert_eq!(other.send(main, &message("hi")).unwrap_err().kind, FailureKind::Busy);
    client.say(main, "hi");
    other.say(main, "hi");
}

fn record(view: &SessionView, id: BranchId) -> BranchRun {
    view.races.iter().find(|record| record.branch == id).unwrap().clone()
}

type Names = Vec<(String, bool, Option<NodeId>)>;

fn names(client: &mut Client) -> Names {
    client.open().branches.iter().map(|b| (b.name.clone(), b.archived, b.head)).collect()
}

#[test]
fn keeping_a_winner_moves_the_name_in_one_step() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    client.say(main, "a question before");
    let raced = race(&mut client, main, Limits::default(), "which is better?");
    let before = names(&mut client);
    client.must(Request::Call(CallRequest::KeepOne { branch: raced[1] }));
    let view = client.open();
    let [old, lost, kept] = [main, raced[0], raced[1]].map(|id| branch(&view, id));
    assert_eq!((kept.name.as_str(), kept.archived), ("main", false), "the winner has the name");
    assert!(old.archived && old.name == "main-before-1" && lost.archived);
    assert_eq!(view.current, kept.id, "and is the active branch");
    assert_eq!(kept.overrides.mode, Some(Mode::Heavy), "with its settings");
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(names(&mut client), before, "undone in one step");
    client.must(Request::Session(SessionRequest::Redo));
    client.stop();
    let mut client = bench.start();
    assert_eq!(branch(&client.open(), raced[1]).name, "main");
    assert!(
        client
            .ask(Request::Call(CallRequest::KeepOne { branch: raced[1] }))
            .is_ok_and(|a| matches!(a, Answer::Done(_)))
    );
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(names(&mut client), before);
}

/// Undo passes over the choice of a race's winner, and over the race, once the winner has later turns.
#[test]
fn undoing_a_race_never_strands_later_turns() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    client.say(main, "a question before");
    let first = client.open().nodes[0].id;
    let act = Act::Set { kind: MarkKind::Exclude, toggle: false };
    client.must(Request::Branch(BranchRequest::Mark { branch: main, items: vec![ItemName::TurnOf(first)], act }));
    let raced = race(&mut client, main, Limits::default(), "which is better?");
    client.must(Request::Call(CallRequest::KeepOne { branch: raced[1] }));
    client.say(raced[1], "on with the winner");
    let before = names(&mut client);
    let Answer::Done(sentence) = client.must(Request::Session(SessionRequest::Undo)) else { panic!("a sentence") };
    assert!(sentence.contains("because main has later messages: kept"), "{sentence}");
    assert!(sentence.contains("with the settings of the race (mode Heavy) and archived"), "{sentence}");
    // The exclusion was made on the branch that the race archived: undoing it there would change nothing to see.
    assert!(
        sentence.starts_with("Not undone because ") && sentence.contains("because its branch is archived: "),
        "{sentence}"
    );
    assert_eq!(names(&mut client), before);
    assert_eq!(client.open().current, raced[1]);
}

fn done(client: &mut Client, request: SessionRequest) -> String {
    match client.must(Request::Session(request)) {
        Answer::Done(sentence) => sentence,
        other => panic!("{other:?}"),
    }
}

/// A screen shows a choice before its answer. When it is refused, the branch and its settings are sent as they are, and the
/// next choice is accepted.
#[test]
fn a_refused_choice_leaves_the_settings_as_they_are() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    let heavy = Overrides { mode: Some(Mode::Heavy), ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch: main, overrides: heavy.clone() }));
    let wrong = Overrides { profile: Some("nosuch".into()), mode: Some(Mode::Off), ..Overrides::default() };
    let from = client.seen.len();
    let ticket = client.post(Request::Branch(BranchRequest::Override { branch: main, overrides: wrong }));
    assert!(client.answer(ticket).unwrap_err().to_string().contains("nosuch"));
    let shown = client.seen[from..].iter().filter_map(|event| match event {
        Event::Session(SessionEvent::Branch(branch)) => Some(branch.overrides == heavy),
        Event::Session(SessionEvent::Settings { settings, .. }) => Some(settings.mode == Mode::Heavy),
        _ => None,
    });
    assert_eq!(shown.collect::<Vec<_>>(), [true, true]);
}

/// Undo passes over an edit whose branch went on, says where the earlier version is, and undoes what came before.
#[test]
fn undo_passes_over_an_edit_with_later_messages() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    client.say(main, "a question before");
    let overrides = Overrides { budget: Some(9_000), ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch: main, overrides }));
    let first = client.open().nodes[0].id;
    client.turn(main, &draft("another question", DraftKind::Edit(first)));
    client.say(main, "and on with it");
    let sentence = done(&mut client, SessionRequest::Undo);
    assert!(sentence.starts_with("Not undone because main has later messages: edited"), "{sentence}");
    assert!(sentence.contains("h in the messages shows the earlier version, 1 of 2"), "{sentence}");
    assert!(sentence.contains("Undone instead: set the budget"), "{sentence}");
    assert_eq!(branch(&client.open(), main).overrides.budget, None);
}

/// A mark stays with the version of a message that it was set on: an edit and a regeneration make marks of every kind
/// inactive, the plan names the reason, and undo makes them active again.
#[test]
fn marks_stay_with_the_version_that_was_marked() {
    let kinds = [MarkKind::Sticky, MarkKind::leased(3), MarkKind::IncludeOnce, MarkKind::Exclude];
    for kind in kinds {
        let bench = Bench::new(&Model::new([]));
        let mut client = bench.start();
        let main = client.session();
        client.say(main, "a question before");
        let [first, answer] = [0, 1].map(|at| client.open().nodes[at].id);
        let act = Act::Set { kind, toggle: false };
        let items = vec![ItemName::TurnOf(first)];
        client.must(Request::Branch(BranchRequest::Mark { branch: main, items, act }));
        let inactive = |client: &mut Client, draft: &Draft| {
            let plan = client.whole_plan(main, draft);
            let of =
                |warning: &Warning| matches!(warning, Warning::MarksInactive { .. } | Warning::DecisionLeftOut { .. });
            plan.warnings.iter().filter(|warning| of(warning)).map(Warning::sentence).collect::<Vec<_>>()
        };
        let replaced = ["1 mark inactive: this branch has another version of its message.".to_owned()];
        let edit = draft("another question", DraftKind::Edit(first));
        assert!(inactive(&mut client, &message("so?")).is_empty(), "{kind:?}");
        assert_eq!(inactive(&mut client, &edit), replaced, "{kind:?}, while it is edited");
        let regenerated = draft("", DraftKind::Regenerate(answer));
        assert_eq!(inactive(&mut client, &regenerated), replaced, "{kind:?}, while it is answered again");
        client.turn(main, &edit);
        if kind.once() {
            continue;
        }
        assert_eq!(inactive(&mut client, &message("so?")), replaced, "{kind:?}, once it is edited");
        client.must(Request::Session(SessionRequest::Undo));
        assert!(inactive(&mut client, &message("so?")).is_empty(), "{kind:?}");
    }
}

/// Redo passes over an undone edit whose branch went on instead, and redoes what came after it.
#[test]
fn redo_passes_over_an_edit_that_later_messages_replaced() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    client.say(main, "a question before");
    let first = client.open().nodes[0].id;
    client.turn(main, &draft("another question", DraftKind::Edit(first)));
    let overrides = Overrides { budget: Some(9_000), ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch: main, overrides }));
    client.must(Request::Session(SessionRequest::Undo));
    client.must(Request::Session(SessionRequest::Undo));
    client.say(main, "and on with it");
    let sentence = done(&mut client, SessionRequest::Redo);
    assert!(sentence.starts_with("Not redone because main has later messages: edited"), "{sentence}");
    assert!(sentence.contains("Redone instead: set the budget"), "{sentence}");
    assert_eq!(branch(&client.open(), main).overrides.budget, Some(9_000));
}

/// A race whose branch goes on is not undone: its later turns would be on no open branch.
#[test]
fn undo_skips_a_race_that_goes_on() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    client.say(main, "a question before");
    let raced = race(&mut client, main, Limits::default(), "which is better?");
    client.say(raced[0], "on with the first");
    let sentence = done(&mut client, SessionRequest::Undo);
    assert!(sentence.contains("because race-1 has later messages: started a race"), "{sentence}");
    assert!(raced.iter().all(|arm| !branch(&client.open(), *arm).archived));
}

/// Undoing a race archives its answers and says so; redo restores them and says where the person is.
#[test]
fn an_undone_race_says_that_its_answers_are_archived() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    client.say(main, "a question before");
    race(&mut client, main, Limits::default(), "which is better?");
    let sentence = done(&mut client, SessionRequest::Undo);
    let archived = "The messages on race-1 and race-2 are archived with them; the session tree shows them.";
    assert_eq!(sentence, format!("Undone: started a race of 2. {archived} U redoes it."));
    assert_eq!(done(&mut client, SessionRequest::Redo), "Redone: started a race of 2. You are on main.");
}

/// Undoing a fork closes its branch with its messages, and redo brings both back.
#[test]
fn undone_fork_returns_with_its_messages() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    client.say(main, "a question before");
    let side = fork(&mut client, main, "side");
    client.say(side, "try");
    let head = branch(&client.open(), side).head;
    assert_eq!(
        done(&mut client, SessionRequest::Undo),
        "Undone: forked side. The messages on side are archived with it; the session tree shows them. U redoes it."
    );
    assert!(branch(&client.open(), side).archived);
    let sentence = done(&mut client, SessionRequest::Redo);
    let view = client.open();
    assert_eq!((branch(&view, side).archived, branch(&view, side).head), (false, head));
    let here = &branch(&view, view.current).name;
    assert_eq!(sentence, format!("Redone: forked side. You are on {here}."));
    assert_ne!(here, "side");
}

#[test]
fn redo_never_archives_a_branch_with_later_messages() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    client.say(main, "a question before");
    let side = fork(&mut client, main, "side");
    client.must(Request::Branch(BranchRequest::Archive { branch: side, archived: true }));
    client.must(Request::Session(SessionRequest::Undo));
    client.say(side, "try");
    let sentence = done(&mut client, SessionRequest::Redo);
    assert_eq!(sentence, "Not redone because side has later messages: archived side. There is nothing else to redo.");
    assert!(!branch(&client.open(), side).archived);
}

#[test]
fn cleared_messages_are_stored_newest_first() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    let key = |end: &str| format!("cleared:{main}{end}");
    let earlier = Write::SetValue { key: key(""), value: Some("5 of an earlier version".into()) };
    bench.store().write(vec![earlier]).unwrap();
    let texts = |client: &mut Client| -> Vec<String> {
        client.open().cleared.iter().map(|(_, _, text)| text.to_string()).collect()
    };
    assert_eq!(texts(&mut client), ["of an earlier version"]);
    for n in 0..22 {
        client.must(Request::Branch(BranchRequest::KeepCleared { branch: main, text: format!("text {n}").into() }));
        if n == 0 {
            assert_eq!(texts(&mut client), ["text 0", "of an earlier version"]);
        }
    }
    client.stop();
    let mut client = bench.start();
    let expected: Vec<String> = (2..22).rev().map(|n| format!("text {n}")).collect();
    assert_eq!(texts(&mut client), expected, "the last 20, also after a restart");
    client.must(Request::Session(SessionRequest::Delete { session: None }));
    assert_eq!(bench.store().setting(&key(":earlier")).unwrap(), None, "they are deleted with the session");
}

#[test]
fn continued_branch_keeps_its_name() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    client.say(main, "a question before");
    let raced = race(&mut client, main, Limits::default(), "which?");
    client.say(main, "main goes on meanwhile");
    client.must(Request::Call(CallRequest::KeepOne { branch: raced[0] }));
    let view = client.open();
    assert_eq!((branch(&view, main).name.as_str(), branch(&view, main).archived), ("main", false));
    assert_eq!(branch(&view, raced[0]).name, "race-1");
    assert!(branch(&view, raced[1]).archived);
    let failure = client.ask(Request::Call(CallRequest::KeepOne { branch: main })).unwrap_err();
    assert!(failure.what.contains("not a branch of a race"));
}

#[test]
fn races_are_recorded() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let main = client.session();
    let limits = Limits { tokens: Some(5_000), seconds: Some(600), ..Limits::default() };
    let raced = race(&mut client, main, limits, "which?");
    let view = client.open();
    let (one, other) = (record(&view, raced[0]), record(&view, raced[1]));
    assert_eq!((one.race, one.from, one.place, other.place), (other.race, main, 0, 1));
    assert_eq!((one.config.mode, other.config.mode), (Mode::Off, Mode::Heavy));
    assert_eq!((one.config.profile.as_str(), one.config.model.as_str()), ("one", "one-model"));
    assert_eq!((one.limits, one.stopped, one.ended), (limits, None, Some(RunStatus::Complete)));
    let run = client.runs().into_iter().find(|run| run.branch == raced[0]).unwrap();
    assert_eq!(one.runs, [run.id]);
    assert!(one.spent.tokens > 0);
    client.stop();
    let mut client = bench.start();
    assert_eq!(record(&client.open(), raced[0]), one, "survives a restart");
}

#[test]
fn race_record_ends_with_a_turn_that_is_given_up() {
    let model = Model::new([vec![Say::Text("precious".into()), Say::Hold]]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let main = client.session();
    let variants = vec![Overrides::default(), Overrides { mode: Some(Mode::Off), ..Overrides::default() }];
    let (limits, draft) = (Limits::default(), message("which?"));
    let Answer::Call(CallAnswer::Race(made)) =
        client.must(Request::Call(CallRequest::Race { branch: main, variants, limits, draft }))
    else {
        panic!("no race")
    };
    let arm = made[0].id;
    let from = client.seen.len();
    client.send(arm, &message("which?")).unwrap();
    client.wait(from, |event| matches!(event, Event::Turn(TurnEvent::Stream { .. })));
    let full = "CREATE TRIGGER full BEFORE INSERT ON node BEGIN SELECT RAISE(ABORT, 'disk full'); END;";
    run_sql(&bench.store_path(), full);
    model.release();
    client.wait(
        from,
        |event| matches!(event, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("stays on the screen")),
    );
    client.must(Request::Turn(TurnRequest::Cancel { branch: arm }));
    assert_eq!(client.closed(from, arm).failure.map(|failure| failure.kind), Some(FailureKind::Store));
    assert_eq!(record(&client.open(), arm).ended, Some(RunStatus::Interrupted));
    client.stop();
    assert_eq!(record(&bench.start().open(), arm).ended, Some(RunStatus::Interrupted), "survives a restart");
}

#[test]
fn race_token_limit_keeps_partial_answers() {
    let long = || vec![Say::Text("word ".repeat(40)), Say::Hold, Say::Text("too much".into())];
    let bench = Bench::new(&Model::new([long(), long()]));
    let mut client = bench.start();
    let main = client.session();
    let limits = Limits { tokens: Some(20), ..Limits::default() };
    let raced = race(&mut client, main, limits, "at length, please");
    let view = client.open();
    for id in &raced {
        let found = record(&view, *id);
        assert_eq!((found.stopped, found.ended), (Some(Limit::Tokens), Some(RunStatus::Cancelled)));
        let nodes = path(&bench.store(), view.card.id, *id);
        assert!(nodes.last().unwrap().content.plain_text().starts_with("word word"), "the received text is kept");
        assert!(!nodes.last().unwrap().content.plain_text().contains("too much"));
        let run = client.runs().into_iter().find(|run| run.branch == *id).unwrap();
        assert_eq!(run.error.as_deref(), Some("Stopped at the limit of 20 tokens."));
    }
    let closed = client.say(raced[0], "and now without a limit");
    assert!(closed.failure.is_none(), "only the race is limited");
}

#[test]
fn race_time_is_limited() {
    let bench = Bench::new(&Model::new([vec![Say::Text("so".into()), Say::Hold], text("quick")]));
    let mut client = bench.start();
    let main = client.session();
    let limits = Limits { seconds: Some(1), ..Limits::default() };
    let raced = race(&mut client, main, limits, "slowly, please");
    let view = client.open();
    let stopped: Vec<_> =
        raced.iter().map(|id| record(&view, *id)).filter(|r| r.stopped == Some(Limit::Time)).collect();
    assert_eq!(stopped.len(), 1, "the one that was waiting");
    assert!(stopped[0].spent.ms >= 1_000);
}

/// A setting from the command line hides the stored one, until a person chooses the stored one again.
#[test]
fn chosen_setting_takes_precedence_over_the_command_line() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let branch = client.session();
    let overrides = Overrides { mode: Some(Mode::Heavy), budget: Some(900), ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
    client.stop();
    let mut client = bench.start_with(|setup| (setup.call.mode, setup.call.budget) = (Some(Mode::Off), Some(1_200)));
    client.open();
    let used = |client: &mut Client| {
        let plan = client.whole_plan(branch, &message("Hi?"));
        (plan.mode, plan.budget.cap)
    };
    assert_eq!(used(&mut client), (Mode::Off, Some(1_200)));
    let heavy = || {
        let chosen = Overrides { mode: Some(Mode::Heavy), ..Overrides::default() };
        Request::Branch(BranchRequest::Choose { branch, chosen })
    };
    let Answer::Done(first) = client.must(heavy()) else { panic!() };
    assert_eq!(first, "Set the mode of main to Heavy.");
    assert_eq!(used(&mut client), (Mode::Heavy, Some(1_200)), "the other setting stays hidden");
    let Answer::Done(second) = client.must(heavy()) else { panic!() };
    assert_eq!(second, "No change.");
}

#[test]
fn race_cost_is_limited() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start_with(|setup| {
        let price = Price { input: 10.0, output: 10.0, ..Price::default() };
        setup.settings.models = Arc::new(move |name, _| ModelInfo { price: Some(price), ..model_of(name) });
        setup.settings.race = Limits { cost_micro: Some(1), ..Limits::default() };
    });
    let main = client.session();
    let variants = vec![Overrides { mode: Some(Mode::Off), ..Overrides::default() }; 2];
    let (limits, draft) = (Limits::default(), message("which?"));
    let Answer::Call(CallAnswer::Race(made)) =
        client.must(Request::Call(CallRequest::Race { branch: main, variants, limits, draft }))
    else {
        panic!()
    };
    let failure = client.send(made[0].id, &message("hello")).unwrap_err();
    assert!(failure.what.contains("limit of $0.000001"), "{failure}");
    assert!(model.bodies().is_empty(), "nothing was sent");
}

/// Asks a side question and waits for the answer. Returns the run and the answer's text.
fn ask_aside(client: &mut Client, on: BranchId, words: &str) -> (pleach::domain::base::ids::RunId, String) {
    let from = client.seen.len();
    let run = match client.must(Request::Turn(TurnRequest::Aside { branch: on, text: words.into() })) {
        Answer::Asked { run } => run,
        other => panic!("{other:?}"),
    };
    let over =
        |event: &Event| matches!(event, Event::Turn(TurnEvent::Aside(view)) if view.run == run && view.card.is_some());
    let at = client.wait(from, over);
    match &client.seen[at] {
        Event::Turn(TurnEvent::Aside(view)) => (run, view.text.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn side_question_leaves_only_its_cost() {
    let model = Model::new([text("one"), text("beside a streaming answer")]);
    let mut bench = Bench::new(&model);
    bench.tools = Some(Arc::new(Echo));
    let mut client = bench.start();
    let main = client.session();
    client.say(main, "a question about cranes");
    let node = head(&mut client, main);
    let once = Act::Set { kind: MarkKind::IncludeOnce, toggle: false };
    client.must(Request::Branch(BranchRequest::Mark { branch: main, items: vec![ItemName::TurnOf(node)], act: once }));
    let (view, before) = (client.open(), plans(&mut client, main));
    let (_, answer) = ask_aside(&mut client, main, "what is a xylophone-crane?");
    assert_eq!(answer, "beside a streaming answer");
    let body = String::from_utf8(model.bodies()[1].clone()).unwrap();
    assert!(body.contains("a question about cranes"), "asked in the current context");
    assert!(!body.contains("\"tools\""), "tools cannot run");
    let after = client.open();
    assert_eq!((&after.nodes, &after.branches), (&view.nodes, &view.branches), "tree, heads, and marks are unchanged");
    assert_eq!(plans(&mut client, main), before);
    let runs = client.runs();
    let run = runs.last().unwrap();
    assert!(run.aside && run.status == RunStatus::Complete && run.est_total > 0 && runs.len() == 2, "it is counted");
    let last = pleach::engine::api::CallSelector::Last(main);
    match client.must(Request::Call(CallRequest::DiffPlans { before: Some(last.clone()), after: last })) {
        Answer::Call(CallAnswer::Diff(diff)) => {
            assert_ne!(diff.after.run, Some(run.id), "the call does not belong to the branch");
        }
        other => panic!("{other:?}"),
    }
    client.stop();
    for file in ["pleach.db", "pleach.db-wal"] {
        let bytes = std::fs::read(bench.store_path().with_file_name(file)).unwrap_or_default();
        for secret in [&b"xylophone-crane"[..], b"beside a streaming answer"] {
            assert!(!bytes.windows(secret.len()).any(|part| part == secret), "{file} holds words of it");
        }
    }
}

#[test]
fn side_question_can_become_a_branch() {
    let state = "Beside.\n---STATE---\nGoal: other\n---END STATE---";
    let bench = Bench::new(&Model::new([text("one"), text(state)]));
    let mut client = bench.start_with(|setup| setup.now = Arc::new(|| 1_790_000_000_000));
    let main = client.session();
    client.say(main, "a question");
    client.must(Request::Branch(BranchRequest::EditState { branch: main, text: "Goal: mine".into() }));
    let before = plans(&mut client, main);
    let (run, _) = ask_aside(&mut client, main, "and beside it?");
    let Answer::Branch(BranchAnswer::Branch(kept)) = client.must(Request::Turn(TurnRequest::KeepAside { run })) else {
        panic!()
    };
    let nodes = path(&bench.store(), client.open().card.id, kept.id);
    let words: Vec<String> = nodes.iter().map(|node| node.content.plain_text()).collect();
    assert_eq!(words[2..], ["and beside it?".to_owned(), state.to_owned()]);
    assert_eq!((nodes[2].head.role, nodes[3].head.role), (Role::User, Role::Assistant));
    assert!(
        nodes.is_sorted_by_key(|node| node.head.at) && nodes[3].head.at == nodes[0].head.at + 3,
        "the clock stands"
    );
    let view = client.open();
    assert_eq!(branch(&view, kept.id).state.unwrap().text, "Goal: other");
    assert_eq!(branch(&view, main).state.unwrap().text, "Goal: mine", "the branch keeps its own state");
    assert_eq!(plans(&mut client, main), before);
    let card = client.runs().pop().unwrap();
    assert_eq!((card.id, card.answer, card.aside), (run, Some(nodes[3].head.id), false));
    assert_eq!(card.branch, kept.id, "the call stands with its answer");
    assert!(client.say(kept.id, "go on").failure.is_none());
    assert!(client.ask(Request::Turn(TurnRequest::KeepAside { run })).is_err(), "only once");
}

#[test]
fn side_question_runs_beside_an_answer_and_can_be_dropped() {
    let model = Model::new([vec![Say::Text("slow".into()), Say::Hold], vec![Say::Text("be".into()), Say::Hold]]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let main = client.session();
    let from = client.seen.len();
    client.send(main, &message("a long one")).unwrap();
    client.wait(from, |event| matches!(event, Event::Turn(TurnEvent::Stream { .. })));
    let Answer::Asked { run } = client.must(Request::Turn(TurnRequest::Aside { branch: main, text: "quick?".into() }))
    else {
        panic!()
    };
    client.wait(from, |event| matches!(event, Event::Turn(TurnEvent::Aside(view)) if view.text == "be"));
    client.must(Request::Turn(TurnRequest::DropAside { run }));
    let at = client.wait(
        from,
        |event| matches!(event, Event::Turn(TurnEvent::Run(card)) if card.id == run && card.status != RunStatus::Open),
    );
    assert!(
        matches!(&client.seen[at], Event::Turn(TurnEvent::Run(card)) if card.status == RunStatus::Cancelled && card.aside)
    );
    assert!(client.ask(Request::Turn(TurnRequest::KeepAside { run })).is_err());
    model.release();
    assert!(client.closed(from, main).failure.is_none(), "the branch's own answer is complete");
}

#[test]
fn names_and_tags_are_undone_and_visible_in_another_window() {
    let bench = Bench::new(&Model::new([]));
    let Two { mut client, main, side } = two_branches(&bench);
    let (before, ask_aside) = (plans(&mut client, main), plans(&mut client, side));
    let node = head(&mut client, main);
    let tag = |act| Request::Branch(BranchRequest::Tag { branch: main, item: ItemName::Message(node), act });
    let mut other = bench.start();
    other.open();
    let from = other.seen.len();
    client.must(tag(TagAct::Label("  the\nplace ".into())));
    client.must(tag(TagAct::Favorite(None)));
    let found = client.open().tags.clone();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].label.as_str(), found[0].favorite), ("the place", true));
    assert_eq!((plans(&mut client, main), plans(&mut client, side)), (before, ask_aside), "no plan contains it");
    let same = found.clone();
    other.wait(from, move |event| matches!(event, Event::Session(SessionEvent::Tags { tags, .. }) if *tags == same));
    // The other window changes the tag, so this window's old value no longer matches.
    other.must(Request::Branch(BranchRequest::Tag {
        branch: side,
        item: ItemName::Message(node),
        act: TagAct::Label("elsewhere".into()),
    }));
    let stale = client.ask(tag(TagAct::Label("mine".into())));
    if stale.is_err() {
        let there = |event: &Event| matches!(event, Event::Session(SessionEvent::Tags { tags, .. }) if tags.iter().any(|t| t.label == "elsewhere"));
        client.wait(0, there);
    }
    other.stop();
    client.stop();

    let mut client = bench.start();
    let label = |client: &mut Client| client.open().tags.first().map(|tag: &Tag| (tag.label.clone(), tag.favorite));
    let last = label(&mut client);
    client.must(Request::Session(SessionRequest::Undo));
    client.must(Request::Session(SessionRequest::Undo));
    let undone = label(&mut client);
    assert_ne!(undone, last);
    assert_eq!(label(&mut bench.start()), undone, "also in the store");
    client.must(Request::Session(SessionRequest::Redo));
    client.must(Request::Session(SessionRequest::Redo));
    assert_eq!([label(&mut client), label(&mut bench.start())], [last.clone(), last]);
}

#[test]
fn names_and_tags_survive_export_and_import() {
    let bench = Bench::new(&Model::new([]));
    let Two { mut client, main, .. } = two_branches(&bench);
    let node = head(&mut client, main);
    client.must(Request::Branch(BranchRequest::Tag {
        branch: main,
        item: ItemName::Message(node),
        act: TagAct::Label("the place".into()),
    }));
    client.must(Request::Branch(BranchRequest::Tag {
        branch: main,
        item: ItemName::TurnOf(node),
        act: TagAct::Favorite(Some(true)),
    }));
    let Answer::Session(SessionAnswer::Transcript(out)) =
        client.must(Request::Session(SessionRequest::Transcript { session: None, branch: None }))
    else {
        panic!()
    };
    let text = pleach::export::jsonl(&out, false);
    let reading = pleach::import::read(text.as_bytes(), "x.jsonl").unwrap();
    let elsewhere = Bench::new(&Model::new([]));
    let mut other = elsewhere.start();
    other.must(Request::Session(SessionRequest::Import { reading: reading.clone().incoming() }));
    let labels = |view: &SessionView| {
        let of = |tag: &Tag| view.nodes.iter().find(|node| node.key == tag.node).unwrap().preview.clone();
        let mut snapshot: Vec<_> = view.tags.iter().map(|tag| (of(tag), tag.label.clone(), tag.favorite)).collect();
        snapshot.sort();
        snapshot
    };
    assert_eq!(labels(&other.open()), labels(&client.open()));
    assert_eq!(labels(&client.open()).len(), 2);
    other.must(Request::Session(SessionRequest::Import { reading: reading.incoming() }));
    assert_eq!(labels(&other.open()), labels(&client.open()), "a second import changes nothing");
}

#[test]
fn importing_an_export_again_after_a_branch_was_renamed_adds_nothing() {
    let bench = Bench::new(&Model::new([]));
    let Two { mut client, side, .. } = two_branches(&bench);
    let whole = SessionRequest::Transcript { session: None, branch: None };
    let Answer::Session(SessionAnswer::Transcript(out)) = client.must(Request::Session(whole)) else { panic!() };
    let reading = pleach::import::read(pleach::export::jsonl(&out, false).as_bytes(), "x.jsonl").unwrap();
    client.must(Request::Branch(BranchRequest::Rename { branch: side, name: "renamed".into() }));
    let branches =
        |view: &SessionView| view.branches.iter().map(|branch| (branch.name.clone(), branch.head)).collect::<Vec<_>>();
    let before = branches(&client.open());
    assert_eq!(before.len(), 2);
    client.must(Request::Session(SessionRequest::Import { reading: reading.incoming() }));
    assert_eq!(branches(&client.open()), before);
}

/// Whether a branch is archived: on the screen, and in the store.
fn is_archived(bench: &Bench, client: &mut Client, id: BranchId) -> bool {
    let view = client.open();
    let stored = bench.store().branches(view.card.id).unwrap();
    let stored = stored.iter().find(|branch| branch.id == id).unwrap().archived;
    assert_eq!(branch(&view, id).archived, stored);
    stored
}

#[test]
fn archive_and_fork_are_undone_on_screen_and_in_store() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let main = client.session();
    client.say(main, "the first question about cranes");
    let fork = BranchRequest::Fork { branch: main, at: None, name: Some("side".into()), switch: true };
    let Answer::Branch(BranchAnswer::Branch(side)) = client.must(Request::Branch(fork)) else { panic!() };
    let (side, undo, redo) = (side.id, Request::Session(SessionRequest::Undo), Request::Session(SessionRequest::Redo));
    let put = |branch, archived| Request::Branch(BranchRequest::Archive { branch, archived });
    for archived in [true, false] {
        client.must(put(side, archived));
        for (act, then) in [(&undo, !archived), (&redo, archived)] {
            client.must(act.clone());
            assert_eq!(is_archived(&bench, &mut client, side), then, "{archived} {act:?}");
        }
    }
    client.must(undo.clone());
    client.must(undo.clone());
    assert!(!is_archived(&bench, &mut client, side));

    // Undoing a fork archives it and returns to the original branch.
    client.must(Request::Branch(BranchRequest::Switch { branch: side }));
    client.must(undo.clone());
    assert_eq!((is_archived(&bench, &mut client, side), client.open().current), (true, main));
    client.stop();
    let mut client = bench.start();
    assert_eq!((is_archived(&bench, &mut client, side), client.open().current), (true, main));
    client.must(redo.clone());
    assert!(!is_archived(&bench, &mut client, side));
}

/// Neither undo nor redo archives a branch while an answer is streaming on it.
#[test]
fn streaming_branch_is_not_archived() {
    let undo = Request::Session(SessionRequest::Undo);
    let put = |branch, archived| Request::Branch(BranchRequest::Archive { branch, archived });
    for way in ["its fork is undone", "it had been taken back", "it is put away again"] {
        let model = Model::new([text("one"), vec![Say::Hold, Say::Text("two".into())]]);
        let bench = Bench::new(&model);
        let mut client = bench.start();
        let main = client.session();
        client.say(main, "the first question about cranes");
        let side = fork(&mut client, main, "side");
        let mut act = undo.clone();
        if way != "its fork is undone" {
            client.must(put(side, true));
        }
        if way == "it had been taken back" {
            client.must(put(side, false));
        } else if way == "it is put away again" {
            client.must(undo.clone());
            act = Request::Session(SessionRequest::Redo);
        }
        let from = client.seen.len();
        client.send(side, &message("on the side")).unwrap();
        assert_eq!(client.ask(act.clone()).unwrap_err().kind, FailureKind::Stale, "{way}");
        assert!(!is_archived(&bench, &mut client, side), "{way}");
        model.release();
        assert!(client.closed(from, side).failure.is_none());
        client.must(act);
        // A redo does not archive a branch that has gained messages.
        assert_eq!(is_archived(&bench, &mut client, side), way != "it is put away again", "{way}");
    }
}

/// One step of a random history between branches; on `only`, if given.
fn step(client: &mut Client, dice: &mut Dice, only: Option<BranchId>) -> Option<Request> {
    let view = client.open();
    let open: Vec<BranchId> = view.branches.iter().filter(|b| !b.archived).map(|b| b.id).collect();
    let here = only.unwrap_or_else(|| *dice.pick(&open));
    let from = *dice.pick(&view.branches.iter().map(|b| b.id).collect::<Vec<_>>());
    let store = path_of(&view, from);
    let own = path_of(&view, here);
    let node = (!own.is_empty()).then(|| *dice.pick(&own));
    Some(match dice.below(9) {
        0 => Request::Branch(BranchRequest::Fork { branch: here, at: node, name: None, switch: false }),
        1 | 2 => {
            let most = if store.is_empty() { 0 } else { dice.below(2) + 1 };
            let items = (0..most).map(|_| ItemName::TurnOf(*dice.pick(&store))).collect();
            Request::Branch(BranchRequest::Pick { from, items, onto: here, together: dice.below(2) == 0 })
        }
        3 => Request::Branch(BranchRequest::BringBack { from, onto: Some(here) }),
        4 => Request::Branch(BranchRequest::Tag {
            branch: here,
            item: ItemName::Message(node?),
            act: TagAct::Label(format!("n{}", dice.below(3))),
        }),
        5 => Request::Branch(BranchRequest::Tag {
            branch: here,
            item: ItemName::Message(node?),
            act: TagAct::Favorite(None),
        }),
        6 => Request::Branch(BranchRequest::Mark {
            branch: here,
            items: vec![ItemName::TurnOf(node?)],
            act: Act::Set { kind: *dice.pick(&[MarkKind::Sticky, MarkKind::Exclude]), toggle: true },
        }),
        7 => Request::Branch(BranchRequest::Rename { branch: here, name: format!("b{}", dice.below(50)) }),
        _ => {
            client.say(here, &format!("question {}", dice.below(1_000)));
            return None;
        }
    })
}

fn path_of(view: &SessionView, id: BranchId) -> Vec<NodeId> {
    let mut at = branch(view, id).head;
    let mut ids = Vec::new();
    while let Some(id) = at {
        ids.push(id);
        at = view.nodes.iter().find(|node| node.id == id).unwrap().parent;
    }
    ids.reverse();
    ids
}

/// Plans and their digests, by branch.
type Drawn = Vec<Vec<Option<(Hash, Hash)>>>;

/// What undo must restore: plans of all branches, names, archived state, and tags.
fn snapshot(client: &mut Client) -> (Names, Vec<Tag>, Drawn) {
    let view = client.open();
    let open: Vec<BranchId> = view.branches.iter().filter(|b| !b.archived).map(|b| b.id).collect();
    let plans = open.into_iter().map(|id| plans(client, id)).collect();
    // Undoing a fork archives it, so only open branches are compared.
    let names = names(client).into_iter().filter(|(_, archived, _)| !archived).collect();
    (names, view.tags.clone(), plans)
}

#[test]
fn random_histories_undo_exactly() {
    for seed in histories(5) {
        let mut dice = Dice::new(seed + 40_000);
        let bench = Bench::new(&Model::new([]));
        let Two { mut client, .. } = two_branches(&bench);
        let store = bench.store();
        let session = client.open().card.id;
        let count = || store.ops(session).unwrap().iter().filter(|op| !op.undone).count();
        // The two forks at the start are not part of the trail.
        let mut trail = vec![snapshot(&mut client)];
        for _ in 0..9 {
            let before = count();
            // Messages are never undone, so the history asks nothing.
            let request = loop {
                let calls_before = client.runs().len();
                if let Some(request) = step(&mut client, &mut dice, None) {
                    break request;
                }
                assert!(client.runs().len() > calls_before);
                trail = vec![snapshot(&mut client)];
            };
            let _ = client.ask(request);
            if count() > before {
                trail.push(snapshot(&mut client));
            }
        }
        for round in 0..2 {
            for at in (0..trail.len() - 1).rev() {
                client.must(Request::Session(SessionRequest::Undo));
                assert_eq!(snapshot(&mut client), trail[at], "seed {seed}, round {round}, undo to {at}");
            }
            for (at, there) in trail.iter().enumerate().skip(1) {
                client.must(Request::Session(SessionRequest::Redo));
                assert_eq!(snapshot(&mut client), *there, "seed {seed}, round {round}, redo to {at}");
            }
        }
    }
}

#[test]
fn random_histories_leave_other_branches_unchanged() {
    for seed in histories(5) {
        let mut dice = Dice::new(seed + 41_000);
        let bench = Bench::new(&Model::new([]));
        let Two { mut client, main, side } = two_branches(&bench);
        client.must(Request::Branch(BranchRequest::BringBack { from: side, onto: Some(main) }));
        let (before, marks) = (plans(&mut client, main), branch(&client.open(), main).marks);
        for _ in 0..10 {
            if let Some(request) = step(&mut client, &mut dice, Some(side)) {
                let _ = client.ask(request);
            }
            assert_eq!(plans(&mut client, main), before, "seed {seed}");
        }
        assert_eq!(branch(&client.open(), main).marks, marks);
        let rows = client.whole_plan(main, &message("why?"));
        assert!(rows.rows.iter().any(|row| row.kind == RowKind::Card && row.included()), "the card is always included");
    }
}
