//! The engine's own thread: handles requests and the reports of other threads, one at a time.
//! Not for: the work itself; each family of requests has its own file.
//!
//! Each part of the state is a type in a file that does not import this file (`sessions::state`, `turns::state`,
//! `plans::state`, `summaries::state`, `tools::state`, `workers`). The methods of [`Core`] are in the files that
//! correspond to their work.

use super::api::{Answer, Event, ProgramEvent, SessionEvent, Settings, Ticket, TurnEvent};
use super::calls::diff_worker::DiffWorker;
use super::inbox::{Inbox, OutsideChange};
use super::indexing::code_indexer::CodeIndexer;
use super::indexing::vectors::Vectors;
use super::jobs::Jobs;
use super::plans::state::Plans;
use super::plans::worker::Planner;
use super::sessions::search::SearchWorker;
use super::sessions::state::Sessions;
use super::startup::learned::{LearnedSettings, rules};
use super::startup::rules::Rules;
use super::startup::setup::Setup;
use super::summaries::state::Summaries;
use super::tools::added::WithAdded;
use super::tools::skills::{self, SkillTools};
use super::tools::state::{FileNames, ServerRegistry, Tools};
use super::tools::workspace::Project;
use super::turns::state::Turns;
use super::workers::Workers;
use crate::domain::base::{BranchId, Failure, NodeId, SessionId};
use crate::domain::call::RunCard;
use crate::domain::conversation::{Branch, Content, NodeHead};
use crate::domain::tool::RunTools;
use crate::engine::turns::claims::release_claims;
use crate::store::Store;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// The engine's state and the handles of its threads.
pub(super) struct Core {
    pub(super) setup: Setup,
    /// Facts that the program learned about servers, models, and code.
    pub(super) learned: LearnedSettings,
    pub(super) store: Store,
    /// A sender for threads that report to this one.
    pub(super) inbox: Sender<Inbox>,
    pub(super) events: Sender<Event>,
    pub(super) jobs: Jobs<Inbox>,
    pub(super) workers: Workers,
    pub(super) sessions: Sessions,
    pub(super) turns: Turns,
    pub(super) plans: Plans,
    pub(super) summaries: Summaries,
    pub(super) tools: Tools,
}

impl Core {
    pub(super) fn new(
        mut setup: Setup,
        project: Arc<Project>,
        (planner, vectors, code): (Planner, Option<Vectors>, CodeIndexer),
        inbox: Sender<Inbox>,
        events: Sender<Event>,
    ) -> Result<Self, Failure> {
        setup.settings.tools = setup.settings.tools.take().map(|inner| with_skills(inner, &project));
        Ok(Self {
            learned: LearnedSettings { code: Some(code.workspace()), ..LearnedSettings::default() },
            workers: Workers {
                code,
                vectors,
                search: SearchWorker::start(setup.store.clone(), events.clone())?,
                diff: DiffWorker::start(setup.store.clone(), events.clone())?,
            },
            sessions: Sessions { recovered: setup.notices.clone(), ..Sessions::default() },
            turns: Turns::default(),
            plans: Plans::new(planner),
            summaries: Summaries::default(),
            tools: Tools {
                servers: ServerRegistry::default(),
                files: FileNames::default(),
                project,
                trusted: setup.settings.trusted,
            },
            jobs: Jobs::new(inbox.clone()),
            store: setup.store.clone(),
            setup,
            inbox,
            events,
        })
    }

    /// Handles messages until [`Inbox::Stop`] arrives or all senders have been dropped; then saves the turns in
    /// progress, backs up the store, and closes it.
    pub(super) fn run(mut self, inbox: &Receiver<Inbox>) {
        let tell = self.inbox.clone();
        self.setup.foreign.tell(Box::new(move || drop(tell.send(Inbox::Changed(OutsideChange::Servers)))));
        self.load_learned();
        self.recover();
        if let Some(reading) = self.setup.reading.take()
            && let Err(failure) = self.import_reading(reading)
        {
            self.sessions.recovered.push(failure.to_string());
        }
        self.sessions.data_version = self.store.data_version().unwrap_or_default();
        self.sessions.memory_clock = self.store.memory_clock().unwrap_or_default();
        while let Ok(message) = inbox.recv() {
            if matches!(message, Inbox::Stop) {
                break;
            }
            self.handle(message);
            release_claims(&mut self.plans, &mut self.turns);
            self.check_uses();
            self.compare_drafts();
            self.replan_when_due();
        }
        self.setup.foreign.close();
        self.plans.planner.close();
        if let Some(vectors) = &self.workers.vectors {
            vectors.close();
        }
        self.end_all_turns(inbox);
        self.check_uses();
        if let Some(folder) = self.setup.temporary.take() {
            self.store.close();
            drop(folder);
        } else {
            let _ = self.store.backup(self.setup.backups);
            self.store.close();
        }
    }

    /// Sends the answer to a request.
    pub(super) fn answer(&self, ticket: Ticket, result: Result<Answer, Failure>) {
        self.emit(Event::Answer { ticket, result });
    }

    /// Sends an event. A missing receiver is not an error: the screen may have closed while an answer is still being
    /// saved.
    pub(super) fn emit(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Sends a sentence for the status line.
    pub(super) fn notify(&self, sentence: impl Into<String>) {
        self.emit(Event::Program(ProgramEvent::Notice(sentence.into())));
    }

    /// Sends an important sentence, which stays until it is read.
    pub(super) fn alarm(&self, sentence: String) {
        self.emit(Event::Program(ProgramEvent::Alarm(sentence)));
    }

    /// Returns the rules of a branch: its profile, model, policy, tools, and settings.
    pub(super) fn rules(&self, branch: &Branch) -> Result<Rules, Failure> {
        self.apply_denials(Some(branch.id));
        let mut rules = self.rules_with(branch, self.tools.trusted)?;
        let listed = skills::atom();
        if branch.marks.iter().any(|mark| mark.target == listed && mark.kind.excludes()) {
            rules.tools.retain(|tool| tool.name != skills::TOOL);
        }
        if let Some(code) = &mut rules.code {
            code.visibility = self.file_visibility(branch.id);
        }
        Ok(rules)
    }

    /// Returns the rules of a branch without tools and code, for a call that must have no effects.
    pub(super) fn rules_without_tools(&self, branch: &Branch) -> Result<Rules, Failure> {
        self.rules_with(branch, false)
    }

    fn rules_with(&self, branch: &Branch, trusted: bool) -> Result<Rules, Failure> {
        let before = self.sessions.before_choices(branch.id).unwrap_or(&branch.overrides);
        rules(&self.setup, &self.learned, (branch, before), trusted)
    }

    /// Sends the current state of a branch to the screen.
    pub(super) fn show_branch(&mut self, id: BranchId) {
        self.plans.touch(id);
        if let Ok(session) = self.sessions.of_branch_mut(id) {
            session.refresh_state(id);
        }
        if let Ok(branch) = self.sessions.branch(id) {
            self.show_settings(&branch);
            self.emit(Event::Session(SessionEvent::Branch(Box::new(branch))));
        }
    }

    /// Sends the current state of all branches of the open sessions to the screen.
    pub(super) fn show_all_branches(&mut self) {
        for branch in self.sessions.branch_ids() {
            self.show_branch(branch);
        }
    }

    /// Adds the card of a call to its session, or replaces its older version, and sends it to the screen.
    pub(super) fn show_run(&mut self, card: RunCard) {
        if let Ok(session) = self.sessions.of_branch_mut(card.branch) {
            session.put_run(&card);
        }
        self.emit(Event::Turn(TurnEvent::Run(Box::new(card))));
    }

    /// Sends the settings of a branch to the screen; nothing if its rules cannot be resolved.
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
        self.emit(Event::Session(SessionEvent::Settings { branch: branch.id, settings: Box::new(settings) }));
    }

    /// Drops the plans and drafts of deleted branches.
    pub(super) fn forget_branches(&mut self, gone: &[BranchId]) {
        for id in gone {
            self.cancel_pending_send(*id);
            self.plans.forget(*id);
        }
        self.plans.planner.forget();
        self.workers.diff.forget();
        self.drop_drafts(gone);
    }

    /// Sends new or changed nodes to the screen.
    pub(super) fn show_nodes(&self, session: SessionId, heads: Vec<NodeHead>) {
        if !heads.is_empty() {
            self.emit(Event::Session(SessionEvent::Nodes { session, heads }));
        }
    }
}

/// Returns a value that is stored as JSON under a settings key; `None` if there is no readable value.
pub(super) fn stored_value<T: DeserializeOwned>(store: &Store, key: &str) -> Option<T> {
    serde_json::from_str(&store.setting(key).ok().flatten()?).ok()
}

impl Setup {
    pub(super) fn now(&self) -> i64 {
        (self.now)()
    }
}

/// Adds the tool that loads skills to the tools of the setup.
pub(super) fn with_skills(inner: Arc<dyn RunTools>, project: &Arc<Project>) -> Arc<dyn RunTools> {
    Arc::new(WithAdded { inner, added: SkillTools { project: project.clone() } })
}

/// Reads a node's whole content from the store.
pub(super) fn content(store: &Store, node: NodeId) -> Result<Content, Failure> {
    let found = store.nodes(&[node])?.pop();
    found.map(|node| node.content).ok_or_else(Failure::message_gone)
}
