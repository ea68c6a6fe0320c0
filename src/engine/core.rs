//! The engine's own thread: takes requests and what other threads report, one after the other, and keeps the sessions.
//! Not for: the work itself; each family of requests has its file.

use super::api::{Answer, Event, Request, SessionEvent, Settings, Ticket};
use super::calls::diff_worker::DiffWorker;
use super::calls::meters::Meters;
use super::indexing::code_indexer::CodeIndexer;
use super::indexing::vectors::Vectors;
use super::jobs::Jobs;
use super::plans::edited::EditedBody;
use super::plans::preview::PreviewWork;
use super::plans::state::Plans;
use super::plans::what_if::Trials;
use super::plans::worker::{Planner, WorkerEvent};
use super::sessions::search::SearchWorker;
use super::sessions::session::Session;
use super::sessions::titles::Titled;
use super::startup::setup::{LearnedSettings, Rules, Setup, rules};
use super::summaries::automatic::DueResult;
use super::summaries::drafts::Drafts;
use super::summaries::modules::ModuleResult;
use super::summaries::writer::Made;
use super::tools::added::WithAdded;
use super::tools::skills::{self, SkillTools};
use super::tools::workspace::Project;
use super::turns::aside::Asides;
use super::turns::live::Live;
use super::turns::stream::Report;
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::conversation::branch::Branch;
use crate::domain::conversation::message::{Content, NodeHead};
use crate::domain::tool::trace::RunTools;
use crate::store::Store;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// What reaches the engine's thread.
pub(super) enum Inbox {
    /// A person asks.
    Request(Ticket, Box<Request>),
    /// The planner is done with a job, or tells how far it is.
    Planned(Box<WorkerEvent>),
    /// A call or a tool reports.
    Report(BranchId, Box<Report>),
    /// The call of a side question reports.
    Aside(Box<Report>),
    /// A summary is drafted, or could not be.
    SummaryMade(Box<Made>),
    /// A session's title is made, or could not be.
    Titled(Box<Titled>),
    /// It was worked out whether a summary is due.
    Looked(Box<DueResult>),
    /// Other ways of making a call are solved.
    Tried(Box<Trials>),
    /// The last request of a branch was read from the store again, or could not be.
    Recalled(BranchId, RunId, Option<super::plans::previous_request::Request>),
    /// A call that a person runs again reports.
    Again(Box<super::calls::rerun::RerunEvent>),
    /// What an act would do is worked out.
    PreviewMade(Box<PreviewWork>),
    /// A body edited by hand is weighed.
    ByHand(Box<EditedBody>),
    /// A slow answer, worked out on another thread.
    Answer(Ticket, Box<Result<Answer, Failure>>),
    /// A server of tools stands otherwise.
    Servers,
    /// The workspace's code, or the map of it, is another than before.
    CodeChanged,
    /// A server told of its models.
    Learned(Vec<(String, crate::domain::call::model::ModelInfo)>),
    /// Time to look whether another window wrote.
    Look,
    /// Rules or skills of the project are no longer as they were.
    ProjectChanged,
    /// A summary of a part of the program was made, or could not be.
    Moduled(Box<ModuleResult>),
    /// The right to ask on a branch, which was waited for.
    Claimed(Ticket, BranchId, Box<crate::store::file::claims::Claim>),
    /// The door was closed.
    Stop,
}

/// The engine's thread.
pub(super) struct Core {
    pub(super) setup: Setup,
    pub(super) store: Store,
    pub(super) inbox: Sender<Inbox>,
    pub(super) jobs: Jobs,
    pub(super) events: Sender<Event>,
    pub(super) sessions: HashMap<SessionId, Session>,
    pub(super) current: Option<SessionId>,
    pub(super) live: HashMap<BranchId, Live>,
    /// Branches on which only this program may ask now.
    pub(super) claims: HashMap<BranchId, super::turns::claims::HeldClaim>,
    pub(super) plans: Plans,
    pub(super) learned: LearnedSettings,
    pub(super) meters: Meters,
    pub(super) trusted: bool,
    pub(super) recovered: Vec<String>,
    pub(super) search_worker: SearchWorker,
    pub(super) diff_worker: DiffWorker,
    pub(super) files: super::tools::files::Listed,
    /// The workspace's code.
    pub(super) code_indexer: CodeIndexer,
    /// What the workspace says of itself.
    pub(super) project: Arc<Project>,
    /// Summaries of parts of the program that are being made.
    pub(super) modules: super::summaries::module_model::PendingModules,
    /// Vectors, where there is an embedder.
    pub(super) vectors: Option<Vectors>,
    pub(super) drafts: Drafts,
    /// Side questions that are asked or answered.
    pub(super) asides: Asides,
    /// Sessions for which the model is making a title.
    pub(super) titling: HashSet<SessionId>,
    /// A call that a person runs again.
    pub(super) again: Option<super::calls::rerun::RunningCall>,
    /// Answers of which is still to be found out what they used.
    pub(super) unchecked: Vec<super::turns::item_use::AnswerToCheck>,
    /// Servers of tools.
    pub(super) foreign: super::tools::servers::Foreign,
    pub(super) data_version: i64,
    /// The memories' clock when it was last looked at (see the store).
    pub(super) memory_clock: Option<String>,
}

impl Core {
    pub(super) fn new(
        mut setup: Setup,
        project: Arc<Project>,
        (planner, vectors, code_indexer): (Planner, Option<Vectors>, CodeIndexer),
        inbox: Sender<Inbox>,
        events: Sender<Event>,
    ) -> Result<Self, Failure> {
        setup.tools = setup.tools.take().map(|inner| with_skills(inner, &project));
        Ok(Self {
            search_worker: SearchWorker::start(setup.store.clone(), events.clone())?,
            diff_worker: DiffWorker::start(setup.store.clone(), events.clone())?,
            jobs: Jobs::new(inbox.clone()),
            files: super::tools::files::Listed::default(),
            project,
            modules: super::summaries::module_model::PendingModules::default(),
            store: setup.store.clone(),
            trusted: setup.trusted,
            recovered: setup.notices.clone(),
            setup,
            inbox,
            events,
            sessions: HashMap::new(),
            current: None,
            live: HashMap::new(),
            claims: HashMap::new(),
            plans: Plans::new(planner),
            learned: LearnedSettings { code: Some(code_indexer.book()), ..LearnedSettings::default() },
            code_indexer,
            meters: Meters::default(),
            vectors,
            drafts: Drafts::default(),
            asides: Asides::default(),
            titling: HashSet::new(),
            again: None,
            unchecked: Vec::new(),
            foreign: super::tools::servers::Foreign::default(),
            data_version: 0,
            memory_clock: None,
        })
    }

    /// Works until the door is closed; then saves what is under way.
    pub(super) fn run(mut self, inbox: &Receiver<Inbox>) {
        let tell = self.inbox.clone();
        self.setup.foreign.tell(Box::new(move || drop(tell.send(Inbox::Servers))));
        self.recall();
        self.recover();
        if let Some(reading) = self.setup.reading.take()
            && let Err(failure) = self.take_in(reading)
        {
            self.recovered.push(failure.to_string());
        }
        self.data_version = self.store.data_version().unwrap_or_default();
        self.memory_clock = self.store.memory_clock().unwrap_or_default();
        while let Ok(message) = inbox.recv() {
            #[cfg(debug_assertions)]
            rehearse(&message);
            match message {
                Inbox::Request(ticket, request) => self.request(ticket, *request),
                Inbox::Planned(told) => match *told {
                    WorkerEvent::Done(done) => self.planned(done),
                    WorkerEvent::Indexed(indexed) => self.indexed(&indexed),
                },
                Inbox::Report(branch, report) => self.report(branch, *report),
                Inbox::Aside(report) => self.aside_report(*report),
                Inbox::SummaryMade(made) => self.drafted(*made),
                Inbox::Titled(titled) => self.titled(*titled),
                Inbox::Looked(looked) => self.looked(*looked),
                Inbox::Tried(tries) => self.tried(*tries),
                Inbox::Recalled(branch, run, request) => self.recalled(branch, run, request),
                Inbox::Again(told) => self.again_told(*told),
                Inbox::PreviewMade(made) => self.previewed(*made),
                Inbox::ByHand(made) => self.weighed(*made),
                Inbox::Answer(ticket, result) => self.answer(ticket, *result),
                Inbox::Servers => self.servers_changed(),
                Inbox::CodeChanged => self.code_changed(),
                Inbox::Learned(models) => self.learn_models(models),
                Inbox::Look => self.look(),
                Inbox::ProjectChanged => self.project_changed(),
                Inbox::Moduled(made) => self.moduled(*made),
                Inbox::Claimed(ticket, branch, claim) => self.claimed(ticket, branch, *claim),
                Inbox::Stop => break,
            }
            self.drop_claims();
            self.check_uses();
            self.replan_when_due();
        }
        self.setup.foreign.close();
        self.plans.planner.close();
        if let Some(vectors) = &self.vectors {
            vectors.close();
        }
        self.abandon(inbox);
        self.check_uses();
        if let Some(folder) = &self.setup.temporary {
            self.store.close();
            let _ = std::fs::remove_dir_all(folder);
        } else {
            let _ = self.store.backup(self.setup.backups);
            self.store.close();
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
        self.keep_back(Some(branch.id));
        let mut rules = rules(&self.setup, &self.learned, branch, self.trusted)?;
        let listed = skills::atom();
        if branch.marks.iter().any(|mark| mark.target == listed && mark.kind.excludes()) {
            rules.tools.retain(|tool| tool.name != skills::TOOL);
        }
        if let Some(code) = &mut rules.code {
            code.sight = self.sight(branch.id);
        }
        Ok(rules)
    }

    /// Tells the screen how a branch stands now.
    pub(super) fn show_branch(&mut self, id: BranchId) {
        self.plans.touch(id);
        if let Ok(session) = self.session_mut(id) {
            session.refresh_state(id);
        }
        if let Ok(branch) = self.branch(id) {
            self.show_settings(&branch);
            self.say(Event::Session(SessionEvent::Branch(Box::new(branch))));
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
        self.say(Event::Session(SessionEvent::Settings { branch: branch.id, settings: Box::new(settings) }));
    }

    /// What is kept of branches that are gone.
    pub(super) fn forget_branches(&mut self, gone: &[BranchId]) {
        for id in gone {
            self.unlatch(*id);
            self.plans.forget(*id);
        }
        self.plans.planner.forget();
        self.diff_worker.forget();
        self.drop_drafts(gone);
    }

    /// Tells of nodes that are new or changed.
    pub(super) fn show_nodes(&self, session: SessionId, heads: Vec<NodeHead>) {
        if !heads.is_empty() {
            self.say(Event::Session(SessionEvent::Nodes { session, heads }));
        }
    }

    /// The node's whole content, read from the store.
    pub(super) fn content(&self, node: NodeId) -> Result<Content, Failure> {
        content(&self.store, node)
    }
}

/// The tools, with the one that loads skills.
pub(super) fn with_skills(inner: Arc<dyn RunTools>, project: &Arc<Project>) -> Arc<dyn RunTools> {
    Arc::new(WithAdded { inner, added: SkillTools { project: project.clone() } })
}

/// A node's whole content, read from the store.
pub(super) fn content(store: &Store, node: NodeId) -> Result<Content, Failure> {
    let found = store.nodes(&[node])?.pop();
    found.map(|node| node.content).ok_or_else(|| Failure::user("That message no longer exists."))
}

/// Lets a test see what becomes of the workbench when this thread panics.
#[cfg(debug_assertions)]
fn rehearse(message: &Inbox) {
    let undo = matches!(message, Inbox::Request(_, request) if matches!(**request, Request::Session(super::api::SessionRequest::Undo)));
    let wished = undo && std::env::var_os("PLEACH_TEST_PANIC").is_some_and(|what| what == "engine");
    assert!(!wished, "rehearsed in the engine");
}
