//! Maps each request and each report to its handler, one line each.
//! Not for: the handlers themselves.
//!
//! Every family is matched exhaustively, so a request or report without a handler does not compile.
#![deny(clippy::wildcard_enum_match_arm)]

use super::api::{
    Answer, BranchAnswer, BranchRequest, CallAnswer, CallRequest, EditableAct, Exact, FileAct, MemoryRequest,
    PlanRequest, ProgramAnswer, ProgramRequest, Request, RuleAct, SessionAnswer, SessionRequest, SummaryAct, Ticket,
    ToolRequest, TurnRequest,
};
use super::core::Core;
use super::inbox::{Inbox, OutsideChange, PlanReport, SummaryReport, TurnReport};
use super::indexing::retrieve::RetrievalRequest;
use super::plans::queries;
use super::plans::worker::WorkerEvent;
use crate::domain::base::{BranchId, Failure};
use crate::domain::conversation::Overrides;
use crate::domain::summary::SummaryAuthor;
use crate::engine::calls::bundle::collect_bundle;
use crate::engine::calls::comparisons::compare_branches;
use crate::engine::calls::ledger::uses_of;
use crate::engine::calls::replay::replay_dry;
use crate::engine::plans::queries::stored_plan;
use crate::engine::sessions::item_history::steps;
use crate::engine::sessions::library::{keep_draft, markdown, search_sessions, transcript};
use crate::engine::sessions::memory::memories;
use crate::engine::sessions::state::Sessions;
use crate::engine::tools::workspace_rules::project_changed;
use crate::engine::turns::claims::release_claims;
use crate::store::Store;
use crate::store::types::Write;

impl Core {
    /// Handles a message to the engine's thread.
    pub(super) fn handle(&mut self, message: Inbox) {
        #[cfg(debug_assertions)]
        panic_on_request(&message);
        match message {
            Inbox::Request(ticket, request) => self.request(ticket, *request),
            Inbox::Answer(ticket, result) => self.answer(ticket, *result),
            Inbox::Plan(report) => self.on_plan_report(report),
            Inbox::Turn(report) => self.on_turn_report(report),
            Inbox::Summary(report) => self.on_summary_report(report),
            Inbox::Title(titled) => self.apply_title(*titled),
            Inbox::State(written) => self.apply_written_state(*written),
            Inbox::Changed(change) => self.on_outside_change(change),
            Inbox::Stop => {}
        }
    }

    fn on_plan_report(&mut self, report: PlanReport) {
        match report {
            PlanReport::Worker(event) => match *event {
                WorkerEvent::Done(done) => self.finish_plan(done),
                WorkerEvent::Indexed(indexed) => self.report_indexing(&indexed),
            },
            PlanReport::WhatIf(work) => self.report_what_if(*work),
            PlanReport::Preview(preview) => self.report_preview(*preview),
            PlanReport::Race(race) => self.race_planned(*race),
            PlanReport::EditedBody(body) => self.report_edited_body(*body),
            PlanReport::PreviousRequest(branch, run, request) => self.put_previous_request(branch, run, request),
        }
    }

    fn on_turn_report(&mut self, report: TurnReport) {
        match report {
            TurnReport::Call(branch, report) => self.on_call_report(branch, *report),
            TurnReport::Aside(report) => self.aside_report(*report),
            TurnReport::Rerun(event) => self.on_rerun_event(*event),
            TurnReport::Claimed(ticket, branch, claim) => self.claim_granted(ticket, branch, *claim),
        }
    }

    fn on_summary_report(&mut self, report: SummaryReport) {
        match report {
            SummaryReport::Draft(made) => self.finish_draft(*made),
            SummaryReport::Due(due) => self.draft_if_due(*due),
            SummaryReport::Module(made) => self.finish_module_summary(*made),
        }
    }

    fn on_outside_change(&mut self, change: OutsideChange) {
        match change {
            OutsideChange::Servers => self.servers_changed(),
            OutsideChange::Code => self.code_changed(),
            OutsideChange::Project => project_changed(&mut self.plans, &mut self.turns),
            OutsideChange::Models(models) => self.learn_models(models),
            OutsideChange::Store => self.check_store(),
        }
    }

    /// Handles a request. It is answered immediately or later; a request that needs the tool servers waits until they
    /// have started.
    pub(super) fn request(&mut self, ticket: Ticket, request: Request) {
        if let Some(request) = self.wait_for_servers(ticket, request) {
            self.request_now(ticket, request);
        }
    }

    /// Handles a request without waiting for the tool servers.
    pub(super) fn request_now(&mut self, ticket: Ticket, request: Request) {
        if let Err(failure) = self.begin(ticket, request) {
            release_claims(&mut self.plans, &mut self.turns);
            self.answer(ticket, Err(failure));
        }
    }

    fn begin(&mut self, ticket: Ticket, request: Request) -> Result<(), Failure> {
        match request {
            Request::Session(request) => self.on_session(ticket, request),
            Request::Branch(request) => self.on_branch(ticket, request),
            Request::Turn(request) => self.on_turn(ticket, request),
            Request::Plan(request) => self.on_plan(ticket, request),
            Request::Call(request) => self.on_call(ticket, request),
            Request::Memory(request) => {
                let result = self.on_memory(request);
                self.answer_now(ticket, result)
            }
            Request::Tool(request) => self.on_tool(ticket, request),
            Request::Editable(request) => self.on_editable(ticket, request),
            Request::Summary { branch, act: SummaryAct::Draft { kind, up_to, by } } => {
                self.start_draft(Some(ticket), branch, kind, up_to, by, None)
            }
            Request::Summary { branch, act } => {
                let result = self.act_on_summary(branch, act);
                self.answer_now(ticket, result)
            }
            Request::Program(request) => self.on_program(ticket, request),
        }
    }

    /// Sends an answer at once.
    #[expect(clippy::unnecessary_wraps, reason = "the last step of handlers that can fail")]
    pub(super) fn answer_now(&self, ticket: Ticket, result: Result<Answer, Failure>) -> Result<(), Failure> {
        self.answer(ticket, result);
        Ok(())
    }

    /// Handles requests about sessions.
    fn on_session(&mut self, ticket: Ticket, request: SessionRequest) -> Result<(), Failure> {
        let result = match request {
            SessionRequest::List => {
                self.store.sessions().map(|found| SessionAnswer::Sessions(found).into()).map_err(Failure::from)
            }
            SessionRequest::New { title } => self.new_session(&title),
            SessionRequest::Open { session, branch, create } => {
                self.open_session(session.as_deref(), branch.as_deref(), create)
            }
            SessionRequest::OpenUnsaved { session, branch } => self.open_unsaved(session.as_deref(), branch.as_deref()),
            SessionRequest::OpenAt { session, node } => self.open_at(session, node),
            SessionRequest::Rename { session, title: None } => return self.title_by_model(ticket, session.as_deref()),
            SessionRequest::Rename { session, title: Some(title) } => self.rename_session(session.as_deref(), &title),
            SessionRequest::Delete { session } => self.delete_session(session.as_deref()),
            SessionRequest::Search { words } => search_sessions(&self.store, &words),
            SessionRequest::Find { line, limit } => {
                self.workers.search.look(ticket, line, limit);
                return Ok(());
            }
            SessionRequest::Import { reading } => self.import(&reading),
            SessionRequest::Markdown { branch } => markdown(&self.sessions, &self.store, branch),
            SessionRequest::Transcript { session, branch } => transcript(&self.store, session.as_deref(), branch)
                .map(|transcript| Answer::Session(SessionAnswer::Transcript(Box::new(transcript)))),
            SessionRequest::Bundle { session, branch } => {
                let store = self.store.clone();
                self.jobs.answer("bundle", ticket, move |cancel| {
                    let bundle = collect_bundle(&store, session.as_deref(), branch, cancel)?;
                    Ok(SessionAnswer::Bundle(Box::new(bundle)).into())
                });
                return Ok(());
            }
            SessionRequest::Bodies { nodes } => queries::bodies(self, &nodes),
            SessionRequest::Undo => self.undo_or_redo(true),
            SessionRequest::Redo => self.undo_or_redo(false),
        };
        let opened = matches!(result, Ok(Answer::Session(SessionAnswer::Opened(_))));
        self.answer(ticket, result);
        // The screen can use a branch's settings only once it knows the session, so they follow the answer.
        if let Some(branch) = self.sessions.current().ok().filter(|_| opened).map(|session| session.current) {
            self.show_settings(&self.sessions.branch(branch)?);
            self.check_later(branch);
        }
        Ok(())
    }

    /// Handles requests about one branch.
    fn on_branch(&mut self, ticket: Ticket, request: BranchRequest) -> Result<(), Failure> {
        let result = match request {
            BranchRequest::Compare { a, b } => return compare_branches(&self.sessions, &self.workers, ticket, a, b),
            BranchRequest::Switch { branch } => self.switch(branch),
            BranchRequest::Fork { branch, at, name, switch } => self.fork(branch, at, name, switch),
            BranchRequest::Rename { branch, name } => self.rename(branch, &name),
            BranchRequest::Archive { branch, archived } => self.archive(branch, archived),
            BranchRequest::ArchiveAll { branches } => self.archive_all(&branches),
            BranchRequest::Sibling { branch, node, step } => self.sibling(branch, node, step),
            BranchRequest::Mark { branch, items, act } => self.mark(branch, &items, act),
            BranchRequest::Dismiss { branch, item } => self.dismiss(branch, &item),
            BranchRequest::Tag { branch, item, act } => self.tag(branch, &item, &act),
            BranchRequest::Override { branch, overrides } => self.set_overrides(branch, overrides),
            BranchRequest::Choose { branch, chosen } => self.choose(branch, &chosen),
            BranchRequest::KeepDraft { branch, text } => keep_draft(&mut self.sessions, &self.store, branch, &text),
            BranchRequest::KeepCleared { branch, text } => self.keep_cleared(branch, &text),
            BranchRequest::EditState { branch, text } => self.edit_state(branch, &text, "edited the state"),
            BranchRequest::RebuildState { branch, by: SummaryAuthor::Model } => {
                return self.state_by_model(ticket, branch);
            }
            BranchRequest::RebuildState { branch, by: SummaryAuthor::Extractive } => self.rebuild_state(branch),
            BranchRequest::AdoptState(branch) => self.adopt_state(branch),
            BranchRequest::AddMessage { branch, role, text, priority } => {
                self.add_message(branch, (role, &text), priority)
            }
            BranchRequest::RemoveMessage { branch, item } => self.remove_message(branch, &item),
            BranchRequest::Task { branch, act } => self.task(branch, &act),
            BranchRequest::Steps { branch, atom } => steps(&self.sessions, &self.store, branch, atom.as_ref()),
            BranchRequest::Pick { from, items, onto, together } => self.pick(from, &items, onto, together),
            BranchRequest::BringBack { from, onto } => self.return_result(from, onto),
        };
        self.answer_now(ticket, result)
    }

    /// Handles requests about a turn in progress and about side questions.
    fn on_turn(&mut self, ticket: Ticket, request: TurnRequest) -> Result<(), Failure> {
        let result = match request {
            TurnRequest::Ask { branch, draft, plan } => return self.ask(ticket, branch, draft, plan),
            TurnRequest::Claim(branch) => return self.await_claim(ticket, branch),
            TurnRequest::Aside { branch, text } => return self.aside(ticket, branch, text),
            TurnRequest::GiveBackClaim(branch) => Ok(self.turns.release_claim(branch)),
            TurnRequest::Cancel { branch } => self.cancel(branch).map(|()| Answer::Done("Stopped.".into())),
            TurnRequest::Consent { branch, index, consent, always } => self.consent(branch, index, consent, always),
            TurnRequest::DropAside { run } => self.turns.drop_aside(run),
            TurnRequest::KeepAside { run } => self.keep_aside(run),
        };
        self.answer_now(ticket, result)
    }

    /// Handles requests about the next call.
    fn on_plan(&mut self, ticket: Ticket, request: PlanRequest) -> Result<(), Failure> {
        let result = match request {
            PlanRequest::Replan { branch, generation, draft } => {
                return self.replan(Some(ticket), branch, generation, draft);
            }
            PlanRequest::WhatIf { branch, draft, variants } => {
                return self.what_if(ticket, branch, draft, &variants, true);
            }
            PlanRequest::Preview { branch, draft, items, act } => {
                return self.preview(ticket, branch, &draft, &items, act);
            }
            PlanRequest::PreviewSummary { branch, draft, number } => {
                return self.preview_summary(ticket, branch, &draft, number);
            }
            PlanRequest::Exact { branch, act: Exact::Weigh { draft, body } } => {
                return self.submit_edited_body(ticket, branch, draft, body, false);
            }
            PlanRequest::Exact { branch, act: Exact::Send { draft, body } } => {
                return self.submit_edited_body(ticket, branch, draft, body, true);
            }
            PlanRequest::Exact { branch, act: Exact::Show } => self.plans.raw_request(branch),
            PlanRequest::Why { branch, item, most } => return self.compare_item(ticket, branch, &item, most),
            PlanRequest::Retrieve { session, branch, query, at, budget, anyway } => {
                let request = RetrievalRequest { query, at, budget, anyway };
                return self.retrieve(ticket, session.as_deref(), branch.as_deref(), request);
            }
            PlanRequest::RowText { branch, atom } => self.row_text(branch, &atom),
            PlanRequest::WireText { branch } => self.plans.wire_text(branch),
        };
        self.answer_now(ticket, result)
    }

    /// Handles requests about calls that were made.
    fn on_call(&mut self, ticket: Ticket, request: CallRequest) -> Result<(), Failure> {
        let result = match request {
            CallRequest::DiffPlans { before, after } => return self.compare_calls(ticket, before, after),
            CallRequest::List => runs(&self.sessions, &self.store),
            CallRequest::Ledger { branch, whole } => self.ledger(branch, whole),
            CallRequest::Uses { run } => uses_of(&self.store, run),
            CallRequest::StoredPlan { id } => stored_plan(&self.store, &id),
            CallRequest::SentRequest { branch, run } => self.sent_request(branch, run),
            CallRequest::SentText { run, atom } => self.sent_text(run, &atom),
            CallRequest::ReplayDryRun { run, without } => replay_dry(&self.store, &run, without.as_ref()),
            CallRequest::Replay { run, profile, model, without } => {
                self.replay(&run, (profile, model), without.as_ref())
            }
            CallRequest::Race { branch, variants, limits, draft } => {
                return self.race(ticket, branch, variants, limits, draft);
            }
            CallRequest::KeepOne { branch } => self.keep_one(branch),
        };
        self.answer_now(ticket, result)
    }

    /// Handles requests about memories.
    fn on_memory(&mut self, request: MemoryRequest) -> Result<Answer, Failure> {
        match request {
            MemoryRequest::List { session, words, scope } => {
                memories(&self.sessions, &self.store, session.as_deref(), words.as_deref(), scope)
            }
            MemoryRequest::Remember { kind, text, scope } => self.remember(kind, &text, scope),
            MemoryRequest::Change { id, act } => self.act_on_memory(&id, &act),
        }
    }

    /// Handles requests about tools and the workspace.
    fn on_tool(&mut self, ticket: Ticket, request: ToolRequest) -> Result<(), Failure> {
        let result = match request {
            ToolRequest::Files(FileAct::Find { query, limit }) => {
                self.files(ticket, query, limit);
                return Ok(());
            }
            ToolRequest::Files(FileAct::Read { path }) => return self.attach(ticket, path),
            ToolRequest::Code { root, act } => return self.ask_code(ticket, act, root),
            ToolRequest::Project(act) => return self.project_act(ticket, act),
            ToolRequest::Trust { trusted } => Ok(self.trust(trusted)),
            ToolRequest::FolderSettings(act) => self.folder_settings(act),
            ToolRequest::Servers(branch, act) => self.act_on_servers(branch, act),
            ToolRequest::Traces(act) => self.traces(act),
            ToolRequest::Rule(RuleAct::List) => self.list_rules(),
            ToolRequest::Rule(RuleAct::Set { scope, rule, on }) => self.set_rule(scope, rule, on),
        };
        self.answer_now(ticket, result)
    }

    /// Handles requests about editable texts.
    fn on_editable(&mut self, ticket: Ticket, request: EditableAct) -> Result<(), Failure> {
        let result = match request {
            EditableAct::TryPolicy { branch, draft, policy } => {
                let variant = Overrides { policy: Some(policy), ..Overrides::default() };
                return self.what_if(ticket, branch, draft, &[variant], false);
            }
            EditableAct::List { branch, kind } => return self.list_editables(ticket, branch, kind),
            EditableAct::SavePolicy { name, text, preset } => self.save_policy(&name, &text, preset.as_deref()),
            EditableAct::StepPolicy { name, forward } => self.step_policy(&name, forward),
        };
        self.answer_now(ticket, result)
    }

    /// Handles requests about the program itself.
    fn on_program(&mut self, ticket: Ticket, request: ProgramRequest) -> Result<(), Failure> {
        let result = match request {
            ProgramRequest::Models { profile, unready } => return self.models(ticket, profile.as_deref(), unready),
            ProgramRequest::Doctor => {
                self.doctor(ticket);
                return Ok(());
            }
            ProgramRequest::Reload => self.reload_config(),
            ProgramRequest::Meters => Ok(ProgramAnswer::Meters(super::calls::meters::learned(&self.store)).into()),
            ProgramRequest::ForgetQuirks { profile, model, quirk } => {
                self.forget_quirks((profile.as_deref(), model.as_deref()), quirk)
            }
            ProgramRequest::Backups(act) => {
                self.store.copies(act).map(|found| ProgramAnswer::Backups(found).into()).map_err(Failure::from)
            }
        };
        self.answer_now(ticket, result)
    }

    fn switch(&mut self, branch: BranchId) -> Result<Answer, Failure> {
        let found = self.sessions.branch(branch)?;
        if !self.store.read_only() {
            self.store.write(vec![Write::UseBranch(branch)])?;
        }
        let session = self.sessions.of_branch_mut(branch)?;
        session.current = branch;
        let id = session.card.id;
        self.sessions.current_id = Some(id);
        self.show_settings(&found);
        self.check_later(branch);
        Ok(BranchAnswer::Branch(Box::new(found)).into())
    }
}

/// Returns the calls of the open session, newest last.
fn runs(sessions: &Sessions, store: &Store) -> Result<Answer, Failure> {
    Ok(CallAnswer::Runs(store.runs(sessions.current()?.card.id)?).into())
}

/// Panics if a test asked for it, to show how the screen behaves without the engine.
#[cfg(debug_assertions)]
fn panic_on_request(message: &Inbox) {
    let undo =
        matches!(message, Inbox::Request(_, request) if matches!(**request, Request::Session(SessionRequest::Undo)));
    let wanted = undo && std::env::var_os("PLEACH_TEST_PANIC").is_some_and(|what| what == "engine");
    assert!(!wanted, "simulated panic in the engine");
}
