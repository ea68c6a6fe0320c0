//! Marks that the program sets by itself, through the whole engine: mentioned, kept for a call, leased, renewed,
//! suggested, expired, and undone; tasks; recurring errors; subjects.

use crate::support::bench::{Bench, Client, Model, Say, message, text};
use crate::support::binary::Home;
use crate::support::server::{Server, end, stream, words};
use pleach::domain::base::BranchId;
use pleach::domain::conversation::{Activation, Actor, Branch, ItemState, LeaseTurns, Mark, MarkKind};
use pleach::domain::planning::Reason;
use pleach::domain::planning::{ContextPlan, Mode, PolicySpec, Row, RowKind, Section};
use pleach::domain::tool::{RunTools, ToolOutput, ToolSpec, ToolStatus};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, CallAnswer, CallRequest, Event, ItemName, ProgramEvent, Request,
    SessionRequest, TaskAct, TransitionReport,
};
use std::sync::Arc;

/// A window of two turns, leases of two turns, and no search.
pub(crate) fn spec() -> PolicySpec {
    PolicySpec {
        name: "layered".into(),
        anchored: false,
        window_turns: 2,
        lease_turns: 2,
        retrieval: false,
        ..PolicySpec::default()
    }
}

fn client(bench: &Bench, spec: PolicySpec) -> Client {
    bench.start_with(|setup| {
        setup.settings.rounds = 10;
        setup.settings.policies.insert(spec.name.clone(), spec);
    })
}

/// The first turn names the vault. Three others follow, so that it is outside the window.
fn begun(client: &mut Client) -> BranchId {
    let branch = client.session();
    for words in ["The number of the vault is 107.", "Tell me of tea.", "Of coffee?", "Of water?"] {
        client.say(branch, words);
    }
    branch
}

fn branch_of(client: &mut Client, branch: BranchId) -> Branch {
    client.open().branches.iter().find(|b| b.id == branch).unwrap().clone()
}

fn marks(client: &mut Client, branch: BranchId) -> Vec<Mark> {
    branch_of(client, branch).marks
}

fn row_of(plan: &ContextPlan, turn: u32) -> Option<Row> {
    plan.rows.iter().find(|row| row.source.turn == Some(turn) && row.kind != RowKind::Range).cloned()
}

fn steps(client: &mut Client, branch: BranchId) -> Vec<TransitionReport> {
    match client.must(Request::Branch(BranchRequest::Steps { branch, atom: None })) {
        Answer::Branch(BranchAnswer::Steps(steps)) => steps,
        other => panic!("{other:?}"),
    }
}

fn messages(steps: &[TransitionReport]) -> Vec<String> {
    let line = |messages: &TransitionReport| {
        let (turn, at) = (messages.turn.unwrap_or(0), messages.at_turn.unwrap_or(0));
        format!(
            "{turn}@{at} {} {} {:?}: {}",
            messages.step.from.name(),
            messages.step.to.name(),
            messages.step.by,
            messages.step.reason
        )
    };
    steps.iter().map(line).collect()
}

#[test]
fn mentioned_turn_is_kept_leased_sent_and_expires() {
    let answer = |answer_text: &str| vec![stream(), words(answer_text), end()];
    let server = Server::start_posts(vec![answer("Well."), answer("Well.")]);
    let bench = Bench::http(&server);
    let mut client = client(&bench, spec());
    let branch = begun(&mut client);
    assert!(row_of(&client.whole_plan(branch, &message("next")), 1).is_none_or(|row| !row.included()));
    client.say(branch, "What did I say in turn 1?");
    let draft = message("And what else?");
    let kept = row_of(&client.whole_plan(branch, &draft), 1).unwrap();
    assert_eq!(
        (kept.section(), &kept.reason, kept.pin),
        (Some(Section::LeasedPins), &Reason::Ephemeral, Some(MarkKind::Ephemeral))
    );
    let active: Vec<(&str, i32)> = kept.scores.parts.iter().map(|(name, part)| (name.as_str(), *part)).collect();
    assert_eq!((kept.scores.score, active), (Some(1_000), vec![("user", 1_000)]));
    client.say(branch, "Go back to turn 1, please.");
    let body = String::from_utf8(server.requests().last().unwrap().body.clone()).unwrap();
    assert!(body.contains("Turn 1 of this conversation") && body.contains("The number of the vault is 107."), "{body}");
    let leased = |client: &mut Client| {
        let row = row_of(&client.whole_plan(branch, &draft), 1);
        row.filter(Row::included).map(|row| row.reason)
    };
    assert_eq!(leased(&mut client), Some(Reason::Leased { left: 2, engine: true }));
    assert!(
        client
            .seen
            .iter()
            .any(|event| matches!(event, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("Turn 1 is \
                leased for 2 turns")))
    );
    client.say(branch, "Of juice?");
    assert_eq!(leased(&mut client), Some(Reason::Leased { left: 1, engine: true }));
    client.say(branch, "Of milk?");
    assert_eq!(leased(&mut client), None);
    let over = row_of(&client.whole_plan(branch, &draft), 1).unwrap();
    assert_eq!(over.reason, Reason::TtlExpired, "reported once");
    client.say(branch, "Of wine?");
    assert!(marks(&mut client, branch).is_empty(), "then it is gone");
    let wanted = [
        "1@5 none ephemeral Engine: your message mentioned it",
        "1@6 ephemeral leased Engine: mentioned in 2 of the last 5 turns",
        "1@8 leased none Engine: the lease ended",
    ];
    assert_eq!(messages(&steps(&mut client, branch)), wanted);
    for run in client.runs() {
        assert_eq!(client.replay(&run).unwrap(), run.request_digest);
    }
    assert!(
        matches!(client.must(Request::Session(SessionRequest::Undo)), Answer::Done(sentence) if sentence.starts_with("There is nothing"))
    );
}

#[test]
fn undone_lease_is_not_repeated() {
    let bench = Bench::new(&Model::new([]));
    let mut client = client(&bench, spec());
    let branch = begun(&mut client);
    for words in ["What did I say in turn 1?", "Go back to turn 1, please."] {
        client.say(branch, words);
    }
    let lease = marks(&mut client, branch);
    assert_eq!((lease.len(), lease[0].by, lease[0].kind), (1, Actor::Engine, MarkKind::leased(2)));
    client.say(branch, "Of juice?");
    client.must(Request::Session(SessionRequest::Undo));
    assert!(marks(&mut client, branch).is_empty(), "a lease that was counted down is the same lease");
    client.must(Request::Session(SessionRequest::Redo));
    assert_eq!(marks(&mut client, branch).len(), 1);
    client.must(Request::Session(SessionRequest::Undo));
    client.say(branch, "Once more, turn 1!");
    assert!(marks(&mut client, branch).is_empty(), "a person removed it");
    let last = steps(&mut client, branch).pop().unwrap();
    assert_eq!(
        (last.step.by, last.step.to, last.step.reason.as_str()),
        (Actor::User, ItemState::None, "undone or redone")
    );
}

/// A mark for one call is used up by the call. Undo skips it, reports that, and continues with earlier acts.
#[test]
fn undo_skips_marks_that_a_call_used_up() {
    for (kind, named) in [
        (MarkKind::IncludeOnce, "included turn 1 in the next request"),
        (MarkKind::ExcludeOnce, "excluded turn 1 from the next request"),
    ] {
        let bench = Bench::new(&Model::new([]));
        let mut client = client(&bench, spec());
        let branch = begun(&mut client);
        let first = client.open().nodes[0].id;
        let set = |items: Vec<ItemName>, kind| {
            Request::Branch(BranchRequest::Mark { branch, items, act: Act::Set { kind, toggle: true } })
        };
        let sentence_of = |client: &mut Client, request| match client.must(request) {
            Answer::Done(sentence_of) => sentence_of,
            other => panic!("{other:?}"),
        };
        client.must(set(vec![ItemName::Note("Mind the gap.".into())], MarkKind::Sticky));
        client.must(set(vec![ItemName::TurnOf(first)], kind));
        client.say(branch, "Of juice?");
        assert_eq!(marks(&mut client, branch).len(), 1, "the mark for one call is gone");
        let undone = sentence_of(&mut client, Request::Session(SessionRequest::Undo));
        assert!(undone.ends_with("Undone instead: pinned \"Mind the gap\". U redoes it."), "{undone}");
        assert!(undone.contains(named) && undone.contains("has used"), "{undone}");
        assert!(marks(&mut client, branch).is_empty());
        let nothing = sentence_of(&mut client, Request::Session(SessionRequest::Undo));
        assert!(nothing.ends_with("There is nothing else to undo.") && nothing.contains(named), "{nothing}");
        assert_eq!(
            sentence_of(&mut client, Request::Session(SessionRequest::Redo)),
            "Redone: pinned \"Mind the gap\"."
        );
        // The mark that the one for one call had replaced comes back. Then the act before it can be undone too.
        client.must(Request::Session(SessionRequest::Undo));
        let earlier = if kind == MarkKind::IncludeOnce { MarkKind::Exclude } else { MarkKind::Sticky };
        client.must(set(vec![ItemName::TurnOf(first)], earlier));
        client.must(set(vec![ItemName::TurnOf(first)], kind));
        client.say(branch, "Of milk?");
        let back = sentence_of(&mut client, Request::Session(SessionRequest::Undo));
        assert!(back.contains(named) && back.contains("had used the mark"), "{back}");
        let kinds: Vec<MarkKind> = marks(&mut client, branch).iter().map(|mark| mark.kind).collect();
        assert_eq!(kinds, [earlier], "the earlier mark");
        client.must(Request::Session(SessionRequest::Undo));
        assert!(marks(&mut client, branch).is_empty());
        // Undone before a call and redone after it: redo skips nothing and blocks nothing.
        client.must(set(vec![ItemName::TurnOf(first)], kind));
        client.must(set(vec![ItemName::TurnOf(first)], kind));
        client.must(Request::Session(SessionRequest::Undo));
        client.say(branch, "Of wine?");
        assert!(marks(&mut client, branch).is_empty());
        let redone = sentence_of(&mut client, Request::Session(SessionRequest::Redo));
        assert!(redone.contains("nothing to redo") || redone.contains("nothing else to redo"), "{redone}");
    }
}

#[test]
fn exclusions_mode_and_setting_prevent_leases() {
    let quiet = Activation { on: false, ..Activation::default() };
    for way in ["excluded", "mode", "switch"] {
        let bench = Bench::new(&Model::new([]));
        let policy = if way == "switch" { PolicySpec { activation: quiet, ..spec() } } else { spec() };
        let mut client = client(&bench, policy);
        let branch = begun(&mut client);
        let there = branch_of(&mut client, branch);
        if way == "excluded" {
            let row = client.open().nodes[0].id;
            let act = Act::Set { kind: MarkKind::Exclude, toggle: true };
            client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::TurnOf(row)], act }));
        }
        if way == "mode" {
            let mut overrides = there.overrides;
            overrides.mode = Some(Mode::Off);
            client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
        }
        for words in ["What did I say in turn 1?", "Go back to turn 1, please."] {
            client.say(branch, words);
        }
        let made = marks(&mut client, branch);
        assert!(made.iter().all(|mark| mark.by == Actor::User), "{way}: {made:?}");
        let row = row_of(&client.whole_plan(branch, &message("next")), 1);
        assert!(row.is_none_or(|row| !row.included()), "{way}");
    }
}

#[test]
fn often_renewed_leases_become_suggested_pins() {
    for accept in [true, false] {
        let bench = Bench::new(&Model::new([]));
        let mut client = client(&bench, PolicySpec { lease_turns: 9, ..spec() });
        let branch = begun(&mut client);
        for words in ["Turn 1?", "In turn 1 now.", "So turn 1.", "Then turn 1.", "As turn 1 says."] {
            client.say(branch, words);
        }
        let plan = client.whole_plan(branch, &message("next"));
        let waiting: Vec<Row> = plan.suggested().cloned().collect();
        assert_eq!(waiting.len(), 1, "{:?}", messages(&steps(&mut client, branch)));
        assert_eq!(
            (&waiting[0].reason, waiting[0].source.turn),
            (&Reason::SuggestedByRenewals { renewals: 3 }, Some(1))
        );
        assert!(row_of(&plan, 1).is_some_and(|row| row.included()), "its lease continues meanwhile");
        let item = ItemName::Atom(waiting[0].atom);
        if accept {
            let act = Act::Set { kind: MarkKind::Sticky, toggle: true };
            client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![item], act }));
            let made = marks(&mut client, branch);
            assert_eq!((made.len(), made[0].kind, made[0].by), (1, MarkKind::Sticky, Actor::User));
            client.must(Request::Session(SessionRequest::Undo));
            assert_eq!(marks(&mut client, branch)[0].kind, MarkKind::leased(9));
        } else {
            client.must(Request::Branch(BranchRequest::Dismiss { branch, item }));
            client.say(branch, "And turn 1 again.");
            assert_eq!(marks(&mut client, branch)[0].renewals, 4);
            let last = steps(&mut client, branch);
            assert!(
                last.iter().any(|messages| messages.step.to == ItemState::Dismissed && messages.step.by == Actor::User)
            );
        }
        let plan = client.whole_plan(branch, &message("next"));
        assert_eq!(
            plan.suggested().count(),
            usize::from(accept),
            "undo restores the suggestion, and dismissing is permanent"
        );
    }
}

/// A dismissed suggestion stays dismissed, no matter whether the program or the model made it first.
#[test]
fn dismissed_suggestions_do_not_return() {
    let names = "Well.\n\n---STATE---\nGoal: drink\nSuggest pins: turn 1\n---END STATE---";
    let about = ["Turn 1?", "In turn 1 now.", "So turn 1.", "Then turn 1.", "As turn 1 says."];
    for (first, named, reason) in
        [(Actor::Model, 4, Reason::SuggestedByModel), (Actor::Engine, 10, Reason::SuggestedByRenewals { renewals: 3 })]
    {
        let model = Model::new((1..=10).map(|turn| text(if turn == named { names } else { "Well." })));
        let bench = Bench::new(&model);
        let mut client = client(&bench, PolicySpec { lease_turns: 9, ..spec() });
        let branch = begun(&mut client);
        let talk = |client: &mut Client| {
            for words in about {
                client.say(branch, words);
            }
        };
        if first == Actor::Engine {
            talk(&mut client);
        }
        let plan = client.whole_plan(branch, &message("next"));
        let waiting: Vec<&Row> = plan.suggested().collect();
        assert_eq!(waiting.iter().map(|row| &row.reason).collect::<Vec<_>>(), [&reason]);
        let item = ItemName::Atom(waiting[0].atom);
        client.must(Request::Branch(BranchRequest::Dismiss { branch, item }));
        let from = client.seen.len();
        if first == Actor::Engine {
            client.say(branch, "And what of juice?");
        } else {
            talk(&mut client);
        }
        let mut last = marks(&mut client, branch);
        assert_eq!(last.pop().map(|mark| (mark.by, mark.renewals)), Some((Actor::Engine, 3)));
        let states = client.open().branches.iter().find(|b| b.id == branch).unwrap().state.clone().unwrap();
        assert_eq!(states.text, "Goal: drink", "the model suggested it");
        let suggested =
            steps(&mut client, branch).into_iter().filter(|messages| messages.step.to == ItemState::Suggested);
        assert_eq!(
            suggested.map(|messages| messages.step.by).collect::<Vec<_>>(),
            [first],
            "{first:?} did, and nobody else"
        );
        let messages = |event: &Event| matches!(event, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("suggests to pin"));
        assert!(!client.seen[from..].iter().any(messages));
    }
}

/// A reply touches the turn that it replies to, whatever its words. (Replies form a lane of their own, so under
/// separate lanes only the quotation is sent.)
#[test]
fn reply_touches_its_turn() {
    let bench = Bench::new(&Model::new([]));
    let mut client = client(&bench, PolicySpec { one_lane: false, ..spec() });
    let branch = begun(&mut client);
    let answer = client.open().nodes[1].id;
    client.must(Request::Branch(BranchRequest::Mark {
        branch,
        items: vec![ItemName::Message(answer)],
        act: Act::Reply,
    }));
    client.say(branch, "Sure?");
    assert_eq!(messages(&steps(&mut client, branch)), ["1@5 none ephemeral Engine: your message mentioned it"]);
}

/// Only older turns are touched: not the turn that ends, even if it names itself, and not the preamble.
#[test]
fn only_older_turns_are_touched() {
    let bench = Bench::new(&Model::new([]));
    let mut client = client(&bench, spec());
    let lines = [r#"{"role":"assistant","content":"Welcome."}"#, r#"{"role":"user","content":"Which vault?"}"#];
    let text = format!("{}\n{}\n{}\n", lines[0], lines[1], r#"{"role":"assistant","content":"The red one."}"#);
    let reading = pleach::import::read(text.as_bytes(), "x.jsonl").unwrap();
    client.must(Request::Session(SessionRequest::Import { reading: reading.incoming() }));
    let view = client.open();
    let (branch, keys) = (view.current, view.nodes.iter().map(|node| node.key).collect::<Vec<_>>());
    let welcome = keys[0].to_string();
    client.say(branch, &format!("In #{} and in turn 1, not in turn 2?", &welcome[..12]));
    let view = client.open();
    let last = view.nodes.last().unwrap().key;
    let touches = bench.store().touches(view.card.id, &[last]).unwrap().remove(&last).unwrap();
    let items: Vec<_> = touches.touched.iter().map(|touch| (touch.item, touch.user)).collect();
    assert_eq!(items, [(keys[1], true)]);
}

/// A person's leases on turns and notes use up the room for leases. A person's pins do not.
#[test]
fn automatic_leases_use_the_room_left_by_manual_ones() {
    let long = "A note about the vault. ".repeat(8);
    let lease = Act::Set { kind: MarkKind::leased(9), toggle: false };
    let pin = Act::Set { kind: MarkKind::Sticky, toggle: false };
    for (what, act, fits) in
        [("nothing", None, true), ("turn", Some(lease), false), ("turn", Some(pin), true), ("note", Some(lease), false)]
    {
        let bench = Bench::new(&Model::new([]));
        let mut client = client(&bench, PolicySpec { leased_cap_tokens: 80, ..spec() });
        let branch = begun(&mut client);
        if let Some(act) = act {
            let item =
                if what == "note" { ItemName::Note(long.clone()) } else { ItemName::TurnOf(client.open().nodes[2].id) };
            client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![item], act }));
        }
        for words in ["What did I say in turn 1?", "Go back to turn 1, please."] {
            client.say(branch, words);
        }
        let own = marks(&mut client, branch).into_iter().filter(|mark| mark.by == Actor::Engine);
        let leased: Vec<MarkKind> = own.map(|mark| mark.kind).collect();
        assert_eq!(leased, if fits { vec![MarkKind::leased(2)] } else { Vec::new() }, "{what} {act:?}");
    }
}

#[test]
fn forks_copy_leases() {
    let bench = Bench::new(&Model::new([]));
    let mut client = client(&bench, spec());
    let branch = begun(&mut client);
    for words in ["What did I say in turn 1?", "Go back to turn 1, please."] {
        client.say(branch, words);
    }
    let Answer::Branch(BranchAnswer::Branch(fork)) =
        client.must(Request::Branch(BranchRequest::Fork { branch, at: None, name: None, switch: false }))
    else {
        panic!()
    };
    client.say(branch, "Of juice?");
    assert_eq!(marks(&mut client, branch)[0].kind, MarkKind::leased(1));
    let theirs = marks(&mut client, fork.id);
    assert_eq!((theirs[0].kind, theirs[0].inherited_from.is_some()), (MarkKind::leased(2), true));
}

/// A tool `read` that fails for names with a 7, each time with another number in the error.
struct Reader;

impl RunTools for Reader {
    fn specs(&self) -> Vec<ToolSpec> {
        let parameters = serde_json::json!({"type": "object"});
        vec![ToolSpec { name: "read".into(), description: "Reads.".into(), parameters }]
    }

    fn run(&self, _: &str, args: &str, _: &dyn Fn() -> bool) -> ToolOutput {
        let failed = args.contains('7');
        let body =
            if failed { format!("error {}: the disk is not mounted", args.len()) } else { "no error here".to_owned() };
        let status = if failed { ToolStatus::Failed } else { ToolStatus::Ok };
        ToolOutput { status, full_bytes: body.len() as u64, body }
    }
}

/// Fails, recovers, and fails in the same way four turns later.
fn failing() -> Arc<Model> {
    let call = |args: &str| vec![Say::Call("read".into(), args.into())];
    Model::new([
        call(r#"{"n":7}"#),
        call(r#"{"n":1}"#),
        text("Mounting it under another name helped."),
        text("Tea."),
        text("Coffee."),
        text("Water."),
        call(r#"{"n":7000}"#),
        text("I see."),
    ])
}

fn with_errors(model: &Arc<Model>, error_pairs: bool, last: &str) -> (Bench, Client) {
    let mut bench = Bench::new(model);
    bench.tools = Some(Arc::new(Reader));
    let mut client = client(&bench, PolicySpec { retrieval: true, error_pairs, ..spec() });
    let branch = client.session();
    for words in ["Read it.", "Tea?", "Coffee?", "Water?", last] {
        client.say(branch, words);
    }
    (bench, client)
}

fn is_error_pair(row: &Row) -> bool {
    matches!(row.reason, Reason::ErrorBefore | Reason::ErrorResolved)
}

#[test]
fn policy_without_error_pairs_gets_none() {
    let model = failing();
    let (_bench, mut client) = with_errors(&model, false, "Read the other one.");
    assert_eq!(model.bodies().len(), 8);
    let last = String::from_utf8(model.bodies().pop().unwrap()).unwrap();
    assert!(last.contains("error 10:") && !last.contains("An earlier error"), "{last}");
    assert!(!last.contains("Mounting it under another name helped."), "{last}");
    for run in client.runs() {
        let stored = client.must(Request::Call(CallRequest::StoredPlan { id: run.plan.to_string() }));
        let Answer::Call(CallAnswer::StoredPlan { plan, .. }) = stored else { panic!() };
        assert!(!plan.rows.iter().any(is_error_pair), "neither included nor left out");
    }
}

#[test]
fn recurring_error_brings_its_resolution() {
    let model = failing();
    let (bench, mut client) = with_errors(&model, true, "Read the other one.");
    let branch = client.open().current;
    let bodies = model.bodies();
    let last = String::from_utf8(bodies.last().unwrap().clone()).unwrap();
    assert!(last.contains("An earlier error like the last one"), "{last}");
    for quoted in ["Mounting it under another name helped.", "error 7: "] {
        assert_eq!(last.matches(quoted).count(), 1, "{last}");
    }
    let before = String::from_utf8(bodies[bodies.len() - 2].clone()).unwrap();
    assert!(!before.contains("An earlier error"), "no tool has failed yet");
    for run in client.runs() {
        assert_eq!(client.replay(&run).unwrap(), run.request_digest);
    }
    let last = client.runs().pop().unwrap();
    let Answer::Call(CallAnswer::StoredPlan { plan, .. }) =
        client.must(Request::Call(CallRequest::StoredPlan { id: last.plan.to_string() }))
    else {
        panic!()
    };
    let rows: Vec<(&Reason, Option<u32>)> =
        plan.included().filter(|row| is_error_pair(row)).map(|row| (&row.reason, row.source.turn)).collect();
    assert_eq!(rows, [(&Reason::ErrorBefore, Some(1)), (&Reason::ErrorResolved, Some(1))]);
    let pair: Vec<_> = plan.rows.iter().filter(|row| is_error_pair(row)).map(|row| row.source.message).collect();
    let rows_of_pair = plan.rows.iter().filter(|row| row.kind == RowKind::Card && pair.contains(&row.source.message));
    assert_eq!(rows_of_pair.count(), 2, "the search for older messages skips what is quoted");
    let first = client.open().nodes[0].id;
    client.must(Request::Branch(BranchRequest::RemoveMessage { branch, item: ItemName::TurnOf(first) }));
    let (_, written) = bench.store().plan_by_prefix(&last.plan.to_string()).unwrap().remove(0);
    assert!(!written.contains("Mounting it"), "a plan contains no message text");
}

/// The older messages that the first round of a turn sent, and a recurring error with its solution, stay in all later
/// rounds. The error comes after the results, so each request begins with the request before. An error that the older
/// messages contain is not sent twice.
#[test]
fn older_messages_and_errors_stay_through_the_rounds_of_a_turn() {
    for (question, found) in
        [("Should I drink tea or coffee?", false), ("Should I drink tea or coffee when the disk is not mounted?", true)]
    {
        let model = failing();
        let (_bench, mut client) = with_errors(&model, true, "And milk?");
        let branch = client.open().current;
        let call = |args: &str| vec![Say::Call("read".into(), args.into())];
        let rounds = [r#"{"n":2}"#, r#"{"n":3}"#, r#"{"n":70}"#, r#"{"n":4}"#, r#"{"n":5}"#];
        let before = model.bodies().len();
        for args in &rounds {
            model.then(call(args));
        }
        model.then(text("Done."));
        client.say(branch, question);
        let bodies: Vec<String> =
            model.bodies()[before..].iter().map(|body| String::from_utf8(body.clone()).unwrap()).collect();
        assert_eq!(bodies.len(), rounds.len() + 1);
        let cards = |body: &str| (body.matches("Earlier messages that may bear").count(), body.contains("Tea?"));
        let adds_error = |at: usize| at >= 3 && !found;
        for (at, body) in bodies.iter().enumerate() {
            assert_eq!(cards(body), (1, true), "round {at}: {body}");
            assert_eq!(body.contains("An earlier error like the last one"), adds_error(at), "round {at}: {body}");
            let solutions = body.matches("Mounting it under another name helped.").count();
            assert_eq!(solutions, 1 + usize::from(adds_error(at)), "round {at}: {body}");
        }
        let messages = |body: &str| serde_json::from_str::<serde_json::Value>(body).unwrap()["messages"].clone();
        for at in 1..bodies.len() {
            let (old, new) = (messages(&bodies[at - 1]), messages(&bodies[at]));
            let (old, new) = (old.as_array().unwrap(), new.as_array().unwrap());
            let same = old.len() - usize::from(adds_error(at - 1));
            assert_eq!(old[..same], new[..same], "round {at}");
        }
        for run in client.runs() {
            assert_eq!(client.replay(&run).unwrap(), run.request_digest);
        }
    }
}

#[test]
fn searches_report_their_subject() {
    let bench = Bench::new(&Model::new([]));
    let mut client = client(&bench, PolicySpec { retrieval: true, ..spec() });
    let branch = client.session();
    for words in [
        "How is the refresh token rotated in the login service?",
        "Which flour makes sourdough bread rise best?",
        "Does sourdough bread need more flour?",
        "How much water for sourdough bread?",
    ] {
        client.say(branch, words);
    }
    let plan = client.whole_plan(branch, &message("Where does the login service keep the refresh token?"));
    let heading = plan.included().find(|row| row.kind == RowKind::Search).unwrap();
    assert!(heading.title.ends_with("subject of turn 1"), "{}", heading.title);
    assert!(heading.scores.parts.iter().any(|(name, part)| name == "subject" && *part >= 350), "{:?}", heading.scores);
    client.say(branch, "Where does the login service keep the refresh token?");
    let run = client.runs().pop().unwrap();
    let Answer::Call(CallAnswer::StoredPlan { plan, .. }) =
        client.must(Request::Call(CallRequest::StoredPlan { id: run.plan.to_string() }))
    else {
        panic!()
    };
    let set = bench.store().retrieval_set(plan.retrieval_set_ids[0]).unwrap().unwrap();
    assert_eq!(set.cluster.map(|id| id.0), Some(1));
}

#[test]
fn tasks_on_the_command_line() {
    let home = Home::scripted("");
    home.ok(&["session", "new", "one"]);
    assert_eq!(home.run(&["task", "done"]).code, 1);
    home.ok(&["task", "start", "fix", "the", "login"]);
    home.ok(&["add", "user", "The login fails."]);
    home.ok(&["add", "assistant", "It was the clock."]);
    let plan = home.json(&["plan", "next"]);
    assert_eq!(plan["task"], "fix the login");
    let output = home.ok(&["task", "done", "the", "clock", "was", "wrong"]);
    assert!(output.contains("Ended task fix the login"), "{output}");
    let listed = home.json(&["task", "list"]);
    assert_eq!((&listed[0]["name"], &listed[0]["done"]), (&"fix the login".into(), &true.into()));
    assert_eq!(listed[0]["outcome"], "the clock was wrong");
    let kept = home.json(&["memory", "list"]);
    assert_eq!((&kept[0]["kind"], &kept[0]["text"]), (&"outcome".into(), &"fix the login: the clock was wrong".into()));
    assert!(home.json(&["plan", "next"])["task"].is_null());
    home.ok(&["undo"]);
    assert_eq!(home.json(&["plan", "next"])["task"], "fix the login");
    assert_eq!(home.json(&["memory", "list"]).as_array().unwrap().len(), 0, "one undo restores everything");
    home.ok(&["task", "start", "another"]);
    let listed = home.json(&["task", "list"]);
    assert_eq!((&listed[0]["done"], &listed[1]["name"]), (&true.into(), &"another".into()));
    let first = home.json(&["message", "list"])[0]["id"].as_str().unwrap().to_owned();
    home.ok(&["pin", &first]);
    home.ok(&["unpin", &first]);
    let history = home.json(&["pins", "--history"]);
    let ways: Vec<String> = history
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["kind"] == "item")
        .map(|step| {
            format!(
                "{} {} {} {}",
                step["from"].as_str().unwrap(),
                step["to"].as_str().unwrap(),
                step["by"].as_str().unwrap(),
                step["turn"]
            )
        })
        .collect();
    assert_eq!(ways, ["none sticky user 1", "sticky none user 1"]);
    home.ok(&["pin", &first, "--turns", "3"]);
    let pins = home.json(&["pins"]);
    assert_eq!((&pins[0]["pin"], &pins[0]["turns_left"], &pins[0]["turn"]), (&"leased".into(), &3.into(), &1.into()));
    home.assert_sound();
}

/// A lease until the task ends loses no turns, and ends with the task or when another one starts. Without a task there is
/// none.
#[test]
fn a_lease_can_last_until_the_task_ends() {
    let bench = Bench::new(&Model::new((1..=10).map(|_| text("Well."))));
    let mut client = client(&bench, spec());
    let branch = begun(&mut client);
    let first = client.open().nodes.iter().find(|head| head.preview.contains("vault")).unwrap().id;
    let kind = MarkKind::Leased { turns: LeaseTurns::TASK };
    let lease = Request::Branch(BranchRequest::Mark {
        branch,
        items: vec![ItemName::TurnOf(first)],
        act: Act::Set { kind, toggle: false },
    });
    let task = |act| Request::Branch(BranchRequest::Task { branch, act });
    assert!(client.ask(lease.clone()).unwrap_err().what.contains("No task is running"));
    for end in [TaskAct::Done(None), TaskAct::Start("roads".into())] {
        client.must(task(TaskAct::Start("ports".into())));
        client.must(lease.clone());
        client.say(branch, "Of milk?");
        client.say(branch, "Of juice?");
        let row = row_of(&client.whole_plan(branch, &message("and?")), 1).unwrap();
        assert!(row.included(), "{row:?}");
        assert_eq!(row.reason.sentence(), "Leased: included until the task ends.");
        client.must(task(end));
        assert_eq!(marks(&mut client, branch), []);
        client.must(Request::Session(SessionRequest::Undo));
        assert_eq!(marks(&mut client, branch).iter().map(|mark| mark.kind).collect::<Vec<_>>(), [kind]);
        client.must(task(TaskAct::Done(None)));
    }
}

#[test]
fn ending_a_task_removes_automatic_leases() {
    let bench = Bench::new(&Model::new([]));
    let mut client = client(&bench, PolicySpec { lease_turns: 9, ..spec() });
    let branch = begun(&mut client);
    client.must(Request::Branch(BranchRequest::Task { branch, act: TaskAct::Start("vault".into()) }));
    for words in ["What did I say in turn 1?", "Go back to turn 1, please."] {
        client.say(branch, words);
    }
    assert_eq!(marks(&mut client, branch).len(), 1);
    client.must(Request::Branch(BranchRequest::Task { branch, act: TaskAct::Done(None) }));
    assert!(marks(&mut client, branch).is_empty());
    let last = steps(&mut client, branch).pop().unwrap();
    assert_eq!((last.step.by, last.step.reason.as_str()), (Actor::Engine, "its task ended"));
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(marks(&mut client, branch).len(), 1);
}

#[test]
fn failed_tool_calls_lower_activation() {
    let four = ["Noted.", "Tea.", "Coffee.", "Water.", "You spoke of a vault."];
    let call = vec![Say::Call("read".into(), r#"{"path":"vault_door.rs","n":7}"#.into())];
    let model = Model::new(four.map(text).into_iter().chain([call, text("I see.")]));
    let mut bench = Bench::new(&model);
    bench.tools = Some(Arc::new(Reader));
    let mut client = client(&bench, spec());
    let branch = client.session();
    for words in
        ["The vault is in vault_door.rs.", "Tea?", "Coffee?", "Water?", "What did I say in turn 1?", "Read it."]
    {
        client.say(branch, words);
    }
    let nodes = client.open().nodes.clone();
    let (first, last) = (nodes[0].key, nodes.last().unwrap().key);
    let session = bench.store().sessions().unwrap()[0].id;
    let touches = bench.store().touches(session, &[last]).unwrap().remove(&last).unwrap();
    let touch = touches.touched.iter().find(|touch| touch.item == first).unwrap();
    assert!(touch.plan && touch.against && !touch.user && !touch.model, "{touch:?}");
}
