//! Only the engine plans again: after every act that affects the displayed plan, it sends a new plan without being
//! asked, and that is the plan a request would return.

use crate::support::bench::{Bench, Client, Model, message};
use pleach::domain::base::Hash;
use pleach::domain::conversation::{MarkKind, MemoryKind, Overrides};
use pleach::domain::planning::Basis;
use pleach::engine::api::{
    Act, BranchRequest, CallRequest, Event, ItemName, MemoryRequest, MemoryScope, PlanRequest, Planned, Request,
    SessionRequest, Ticket,
};

/// A plan's hash and its basis.
type Known = (Hash, Basis);

/// Performs an act and waits for another, unrequested plan.
fn plan_after(client: &mut Client, before: Known, act: Request) -> Known {
    let planned = |event: &Event| match event {
        Event::Planned { planned: Planned::Plan { plan, .. }, .. } => {
            Some((plan.id, plan.basis)).filter(|known| *known != before)
        }
        _ => None,
    };
    let from = client.seen.len();
    client.must(act);
    let at = client.wait(from, |event| planned(event).is_some());
    planned(&client.seen[at]).unwrap()
}

#[test]
fn every_act_is_followed_by_a_current_plan() {
    let mut client = Bench::new(&Model::new([])).start();
    let branch = client.session();
    for n in 0..6 {
        client.say(branch, &format!("Question {n} about the garden gate?"));
    }
    let draft = message("What colour is the garden gate?");
    let known = |client: &mut Client| {
        let plan = client.whole_plan(branch, &draft);
        (plan.id, plan.basis)
    };
    let mut before = known(&mut client);
    let turn = || vec![ItemName::Named { text: "1".into(), message: false }];
    let mark =
        |kind| Request::Branch(BranchRequest::Mark { branch, items: turn(), act: Act::Set { kind, toggle: false } });
    let overrides = |overrides| Request::Branch(BranchRequest::Override { branch, overrides });
    let acts = [
        ("pin", mark(MarkKind::Sticky)),
        ("exclude", mark(MarkKind::Exclude)),
        ("lease", Request::Branch(BranchRequest::Mark { branch, items: turn(), act: Act::Lease { toggle: false } })),
        ("undo", Request::Session(SessionRequest::Undo)),
        ("redo", Request::Session(SessionRequest::Redo)),
        ("budget", overrides(Overrides { budget: Some(700), ..Overrides::default() })),
        ("policy", overrides(Overrides { policy: Some("window".into()), ..Overrides::default() })),
        ("own settings off", overrides(Overrides::default())),
        ("state", Request::Branch(BranchRequest::EditState { branch, text: "The gate is being painted.".into() })),
        (
            "memory",
            Request::Memory(MemoryRequest::Remember {
                kind: MemoryKind::Fact,
                text: "The garden gate is green".into(),
                scope: MemoryScope::Session,
            }),
        ),
        (
            "remove",
            Request::Branch(BranchRequest::RemoveMessage {
                branch,
                item: ItemName::Named { text: "2".into(), message: false },
            }),
        ),
    ];
    for (name, act) in acts {
        let replanned = plan_after(&mut client, before, act);
        before = known(&mut client);
        assert_eq!(replanned, before, "{name}: asking gives the same plan");
    }
}

#[test]
fn unrelated_acts_cause_no_plan() {
    let mut client = Bench::new(&Model::new([])).start();
    let branch = client.session();
    client.say(branch, "A question?");
    client.whole_plan(branch, &message("Another?"));
    let from = client.seen.len();
    for quiet in [
        Request::Session(SessionRequest::List),
        Request::Branch(BranchRequest::KeepDraft { branch, text: "Another?".into() }),
        Request::Session(SessionRequest::Rename { session: None, title: Some("The gate".into()) }),
        Request::Call(CallRequest::List),
    ] {
        client.must(quiet);
    }
    client.whole_plan(branch, &message("Another?"));
    let planned = client.seen[from..].iter().filter(|event| matches!(event, Event::Planned { .. })).count();
    assert_eq!(planned, 1, "only the requested one");
}

/// A command inside the workbench plans a draft of its own. The screen's plan follows it.
#[test]
fn command_plan_is_followed_by_the_screens_plan() {
    let mut client = Bench::new(&Model::new([])).start();
    let branch = client.session();
    client.say(branch, "A question?");
    let shown = client.whole_plan(branch, &message("The draft on the screen")).id;
    let (from, ticket) = (client.seen.len(), Ticket(Ticket::COMMANDS.0 + 1));
    let draft = message("What a command plans");
    let request = PlanRequest::Replan { branch, generation: 0, draft };
    client.send_as(ticket, Request::Plan(request));
    let is = |event: &Event, wanted: bool| match event {
        Event::Planned { planned: Planned::Plan { plan, .. }, .. } => (plan.id == shown) == wanted,
        _ => false,
    };
    let at = client.wait(from, |event| is(event, false));
    client.wait(at, |event| is(event, true));
}
