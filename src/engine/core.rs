//! The engine's own thread: takes requests and what other threads report, one after the other, and keeps the sessions.
//! Not for: the work itself; each family of requests has its file.

use super::api::{Answer, Draft, DraftKind, Event, Planned, Request, Settings, Ticket};
use super::live::Live;
use super::planner::{Done, Job, Planner, Solution, Solved, Tag};
use super::session::Session;
use super::setup::{Learned, Rules, Setup, rules};
use super::snapshot::{self, Question};
use super::stream::Report;
use crate::context::render::{Outline, same_prefix};
use crate::domain::branch::Branch;
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::ids::{BranchId, NodeId, SessionId};
use crate::domain::message::{NodeHead, Role};
use crate::store::Store;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// What reaches the engine's thread.
pub(super) enum Inbox {
    /// A person asks.
    Request(Ticket, Box<Request>),
    /// The planner is done with a job.
    Planned(Box<Done>),
    /// A call or a tool reports.
    Report(BranchId, Box<Report>),
    /// A slow answer, worked out on another thread.
    Answer(Ticket, Box<Result<Answer, Failure>>),
    /// A server told of its models.
    Learned(Vec<(String, crate::domain::model::ModelInfo)>),
    /// Time to look whether another window wrote.
    Look,
    /// The door was closed.
    Stop,
}

/// What a planning job was for.
enum Use {
    Draw { ticket: Option<Ticket>, generation: u64, draft: Draft, revision: u64 },
    Send { ticket: Ticket, draft: Draft, revision: u64 },
    Round,
}

/// The last plan drawn for a branch.
pub(super) struct Drawn {
    pub(super) draft: Draft,
    pub(super) generation: u64,
    pub(super) revision: u64,
    pub(super) solved: Solved,
}

/// The engine's thread.
pub(super) struct Core {
    pub(super) setup: Setup,
    pub(super) store: Store,
    pub(super) inbox: Sender<Inbox>,
    pub(super) events: Sender<Event>,
    pub(super) sessions: HashMap<SessionId, Session>,
    pub(super) current: Option<SessionId>,
    pub(super) live: HashMap<BranchId, Live>,
    pub(super) drawn: HashMap<BranchId, Drawn>,
    pub(super) outlines: HashMap<BranchId, Arc<Outline>>,
    pub(super) learned: Learned,
    pub(super) trusted: bool,
    pub(super) recovered: Vec<String>,
    pub(super) planner: Planner,
    jobs: HashMap<u64, Use>,
    next_job: u64,
    revisions: HashMap<BranchId, u64>,
    pub(super) data_version: i64,
}

impl Core {
    pub(super) fn new(setup: Setup, planner: Planner, inbox: Sender<Inbox>, events: Sender<Event>) -> Self {
        Self {
            store: setup.store.clone(),
            trusted: setup.trusted,
            recovered: setup.notices.clone(),
            setup,
            inbox,
            events,
            sessions: HashMap::new(),
            current: None,
            live: HashMap::new(),
            drawn: HashMap::new(),
            outlines: HashMap::new(),
            learned: Learned::default(),
            planner,
            jobs: HashMap::new(),
            next_job: 0,
            revisions: HashMap::new(),
            data_version: 0,
        }
    }

    /// Works until the door is closed; then saves what is under way.
    pub(super) fn run(mut self, inbox: &Receiver<Inbox>) {
        self.learn_quirks();
        self.recover();
        if let Some(reading) = self.setup.reading.take()
            && let Err(failure) = self.import(reading)
        {
            self.recovered.push(failure.to_string());
        }
        self.data_version = self.store.data_version().unwrap_or_default();
        while let Ok(message) = inbox.recv() {
            #[cfg(debug_assertions)]
            rehearse(&message);
            match message {
                Inbox::Request(ticket, request) => self.request(ticket, *request),
                Inbox::Planned(done) => self.planned(*done),
                Inbox::Report(branch, report) => self.report(branch, *report),
                Inbox::Answer(ticket, result) => self.answer(ticket, *result),
                Inbox::Learned(models) => self.learn_models(models),
                Inbox::Look => self.look(),
                Inbox::Stop => break,
            }
        }
        self.planner.close();
        self.abandon(inbox);
        match &self.setup.temporary {
            Some(folder) => {
                self.store.close();
                let _ = std::fs::remove_dir_all(folder);
            }
            None => {
                let _ = self.store.backup();
                self.store.close();
            }
        }
    }

    /// Answers a request.
    pub(super) fn answer(&self, ticket: Ticket, result: Result<Answer, Failure>) {
        self.say(Event::Answer { ticket, result });
    }

    /// Sends an event. Nobody listening is no failure: the screen may be gone while an answer is still saved.
    pub(super) fn say(&self, event: Event) {
        let _ = self.events.send(event);
    }

    pub(super) fn now(&self) -> i64 {
        (self.setup.now)()
    }

    /// The session that requests without a branch mean.
    pub(super) fn session(&self) -> Result<&Session, Failure> {
        let id = self.current.ok_or_else(|| Failure::user("No session is open."))?;
        self.sessions.get(&id).ok_or_else(|| Failure::user("No session is open."))
    }

    /// The session that holds a branch.
    pub(super) fn session_of(&self, branch: BranchId) -> Result<&Session, Failure> {
        let holds = |session: &&Session| session.branches.iter().any(|b| b.id == branch);
        self.sessions.values().find(holds).ok_or_else(|| Failure::user("That branch no longer exists."))
    }

    /// The session that holds a branch, to be changed.
    pub(super) fn session_mut(&mut self, branch: BranchId) -> Result<&mut Session, Failure> {
        let holds = |session: &&mut Session| session.branches.iter().any(|b| b.id == branch);
        self.sessions.values_mut().find(holds).ok_or_else(|| Failure::user("That branch no longer exists."))
    }

    /// A copy of a branch.
    pub(super) fn branch(&self, id: BranchId) -> Result<Branch, Failure> {
        self.session_of(id)?.branch(id).cloned()
    }

    /// The rules of a branch.
    pub(super) fn rules(&self, branch: &Branch) -> Result<Rules, Failure> {
        rules(&self.setup, &self.learned, branch, self.trusted)
    }

    /// A branch changed in a way that makes drawn plans stale.
    pub(super) fn touched(&mut self, branch: BranchId) {
        *self.revisions.entry(branch).or_default() += 1;
    }

    fn revision(&self, branch: BranchId) -> u64 {
        self.revisions.get(&branch).copied().unwrap_or_default()
    }

    /// Tells the screen how a branch stands now.
    pub(super) fn show_branch(&mut self, id: BranchId) {
        self.touched(id);
        if let Ok(session) = self.session_mut(id) {
            session.refresh_states();
        }
        if let Ok(branch) = self.branch(id) {
            self.show_settings(&branch);
            self.say(Event::Branch(Box::new(branch)));
        }
    }

    /// Tells the screen by which rules a branch is asked.
    pub(super) fn show_settings(&self, branch: &Branch) {
        let Ok(rules) = self.rules(branch) else { return };
        let settings = Settings {
            ready: self.setup.servers.ready(&rules.profile),
            profile: rules.profile.name.clone(),
            model: rules.model.clone(),
            mode: rules.mode,
            policy: rules.policy.name.clone(),
            layout: rules.layout.name().into(),
        };
        self.say(Event::Settings { branch: branch.id, settings: Box::new(settings) });
    }

    /// What a draft asks, on a session's branch.
    pub(super) fn question(session: &Session, branch: &Branch, draft: &Draft) -> Result<Question, Failure> {
        let gone = || Failure::user("That message is not on this branch.");
        match &draft.kind {
            DraftKind::Message => Ok(Question { base: branch.head, text: Some(draft.text.clone()), go_on: false }),
            DraftKind::Edit(node) => {
                let head = session.node(*node)?;
                if head.role != Role::User {
                    return Err(Failure::user("Only your own messages can be edited.")
                        .todo("Regenerate the answer (R), or fork."));
                }
                Ok(Question { base: head.parent, text: Some(draft.text.clone()), go_on: false })
            }
            DraftKind::Regenerate(node) => {
                let slot = session.tree.slot(*node).ok_or_else(gone)?;
                let path = session.tree.path(slot);
                let asks = path.iter().rev().find(|slot| session.tree.head(**slot).role == Role::User);
                let asks = asks.ok_or_else(|| Failure::user("There is no question before this message."))?;
                Ok(Question { base: Some(session.tree.head(*asks).id), text: None, go_on: false })
            }
            DraftKind::Continue(node) => {
                let head = session.node(*node)?;
                let said = head.role == Role::Assistant && head.calls == 0;
                Ok(Question { base: Some(head.id), text: None, go_on: said })
            }
        }
    }

    /// Starts solving a draft's plan.
    pub(super) fn replan(
        &mut self,
        ticket: Option<Ticket>,
        branch: BranchId,
        generation: u64,
        draft: Draft,
    ) -> Result<(), Failure> {
        let revision = self.revision(branch);
        self.solve(branch, &draft.clone(), Use::Draw { ticket, generation, draft, revision })
    }

    /// Starts solving a draft's plan in order to send it.
    pub(super) fn solve_and_send(&mut self, ticket: Ticket, branch: BranchId, draft: Draft) -> Result<(), Failure> {
        let revision = self.revision(branch);
        self.solve(branch, &draft.clone(), Use::Send { ticket, draft, revision })
    }

    fn solve(&mut self, id: BranchId, draft: &Draft, purpose: Use) -> Result<(), Failure> {
        let branch = self.branch(id)?;
        let session = self.session_of(id)?;
        let question = Self::question(session, &branch, draft)?;
        self.submit(&branch, &question, purpose)
    }

    /// Starts solving the next round of an open turn.
    pub(super) fn solve_round(&mut self, id: BranchId, question: &Question) -> Result<(), Failure> {
        let branch = self.branch(id)?;
        self.submit(&branch, question, Use::Round)
    }

    fn submit(&mut self, branch: &Branch, question: &Question, purpose: Use) -> Result<(), Failure> {
        let rules = self.rules(branch)?;
        let snapshot = snapshot::take(self.session_of(branch.id)?, branch, rules, question);
        self.next_job += 1;
        let sends = !matches!(purpose, Use::Draw { .. });
        self.jobs.insert(self.next_job, purpose);
        let tag = Tag { branch: branch.id, id: self.next_job, sends };
        if let Some(dropped) = self.planner.submit(Job { tag, snapshot })
            && let Some(Use::Draw { ticket: Some(ticket), .. }) = self.jobs.remove(&dropped)
        {
            self.answer(ticket, Ok(Answer::Done("A newer draft took its place.".into())));
        }
        Ok(())
    }

    fn planned(&mut self, done: Done) {
        let branch = done.tag.branch;
        match self.jobs.remove(&done.tag.id) {
            Some(Use::Draw { ticket, generation, draft, revision }) => {
                let result = self.draw(branch, generation, draft, revision, done.solution);
                if let Some(ticket) = ticket {
                    self.answer(ticket, result.map(Answer::Planned));
                } else if let Err(failure) = result {
                    self.say(Event::Notice(failure.to_string()));
                }
            }
            Some(Use::Send { ticket, draft, revision }) => {
                let generation = self.drawn.get(&branch).map_or(0, |drawn| drawn.generation);
                let result = self.draw(branch, generation, draft.clone(), revision, done.solution);
                self.send_drawn(ticket, branch, draft, result);
            }
            Some(Use::Round) => self.round_planned(branch, done.solution),
            None => {}
        }
    }

    /// Keeps a solution as what is drawn, and shows it.
    fn draw(
        &mut self,
        branch: BranchId,
        generation: u64,
        draft: Draft,
        revision: u64,
        solution: Solution,
    ) -> Result<Planned, Failure> {
        let planned = match solution? {
            Ok(solved) => {
                let planned = self.shown(branch, &solved);
                self.drawn.insert(branch, Drawn { draft, generation, revision, solved });
                planned
            }
            Err(blocked) => {
                self.drawn.remove(&branch);
                Planned::Blocked(blocked)
            }
        };
        self.say(Event::Planned { branch, generation, planned: planned.clone() });
        Ok(planned)
    }

    /// A solved plan as the screen gets it.
    pub(super) fn shown(&self, branch: BranchId, solved: &Solved) -> Planned {
        let rules = self.branch(branch).and_then(|branch| self.rules(&branch));
        let price = rules.ok().and_then(|rules| rules.model.price);
        Planned::Plan {
            plan: solved.plan.clone(),
            request_digest: solved.wire.digest,
            bytes: solved.wire.bytes.len() as u64,
            prompt_cost: price.map(|price| price.micro(solved.plan.est_total, 0, 0)),
            same_prefix: self.outlines.get(&branch).map(|before| same_prefix(before, &solved.outline)),
        }
    }

    /// `Ask`: sends what is drawn, or solves it first.
    pub(super) fn ask(
        &mut self,
        ticket: Ticket,
        branch: BranchId,
        draft: Draft,
        plan: Option<crate::domain::hash::Hash>,
    ) -> Result<(), Failure> {
        self.may_ask(branch, &draft)?;
        let Some(wanted) = plan else { return self.solve_and_send(ticket, branch, draft) };
        let current = self.revision(branch);
        match self.drawn.get(&branch) {
            Some(drawn) if drawn.draft == draft && drawn.solved.plan.id == wanted && drawn.revision == current => {
                let result = Ok(self.shown(branch, &drawn.solved));
                self.send_drawn(ticket, branch, draft, result);
                Ok(())
            }
            _ => {
                let generation = self.drawn.get(&branch).map_or(0, |drawn| drawn.generation);
                self.replan(None, branch, generation, draft)?;
                Err(Failure::new(FailureKind::Stale, "What would be sent is no longer what the screen showed.")
                    .kept("Nothing was sent; your draft is kept.")
                    .todo("Look at the new plan, then send again."))
            }
        }
    }

    fn may_ask(&self, branch: BranchId, draft: &Draft) -> Result<(), Failure> {
        let nothing = matches!(draft.kind, DraftKind::Message | DraftKind::Edit(_)) && draft.text.trim().is_empty();
        if nothing {
            return Err(Failure::user("There is nothing to send yet.").todo("Type a message first."));
        }
        if self.live.contains_key(&branch) {
            return Err(Failure::new(FailureKind::Busy, "An answer is still coming on this branch.")
                .kept("Your draft is kept.")
                .todo("Wait for it, stop it with Esc, or fork and ask there."));
        }
        let rules = self.rules(&self.branch(branch)?)?;
        self.setup
            .servers
            .ready(&rules.profile)
            .map_err(|failure| failure.kept("Nothing was sent; your draft is kept."))
    }

    fn send_drawn(&mut self, ticket: Ticket, branch: BranchId, draft: Draft, result: Result<Planned, Failure>) {
        let opened = match result {
            Ok(Planned::Plan { .. }) => match self.drawn.remove(&branch) {
                Some(drawn) => self.open_turn(branch, &draft, &drawn.solved),
                None => Err(Failure::new(FailureKind::Internal, "The plan was lost.").todo("Send again.")),
            },
            Ok(Planned::Blocked(blocked)) => {
                let ways: Vec<String> = blocked.choices.iter().map(crate::domain::plan::Choice::sentence).collect();
                Err(Failure::new(FailureKind::Blocked, blocked.sentence())
                    .kept("Your draft is kept.")
                    .todo(format!("You can: {}.", ways.join("; "))))
            }
            Err(failure) => Err(failure),
        };
        self.answer(ticket, opened.map(|run| Answer::Asked { run }));
    }

    /// Tells of nodes that are new or changed.
    pub(super) fn show_nodes(&self, session: SessionId, heads: Vec<NodeHead>) {
        if !heads.is_empty() {
            self.say(Event::Nodes { session, heads });
        }
    }

    /// The node's whole content, read from the store.
    pub(super) fn content(&self, node: NodeId) -> Result<crate::domain::message::Content, Failure> {
        let found = self.store.nodes(&[node])?.pop();
        found.map(|node| node.content).ok_or_else(|| Failure::user("That message no longer exists."))
    }
}

/// Lets a test see what becomes of the workbench when this thread panics.
#[cfg(debug_assertions)]
fn rehearse(message: &Inbox) {
    let undo = matches!(message, Inbox::Request(_, request) if matches!(**request, Request::Undo));
    if undo && std::env::var_os("PLEACH_TEST_PANIC").is_some_and(|what| what == "engine") {
        panic!("rehearsed in the engine");
    }
}
