//! Which request is done where, one line each.
//! Not for: doing any of it.

use super::api::{Answer, Condense, Exact, FileAct, ProgramRequest, Request, RuleAct, ThingAct, Ticket};
use super::core::Core;
use super::indexing::retrieve::Wish;
use super::plans::queries;
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::BranchId;
use crate::store::types::Write;

impl Core {
    /// Does a request and answers it, now or when it is done.
    pub(super) fn request(&mut self, ticket: Ticket, request: Request) {
        if let Some(request) = self.after_servers(ticket, request) {
            self.request_now(ticket, request);
        }
    }

    /// The same, whether servers of tools are still starting or not.
    pub(super) fn request_now(&mut self, ticket: Ticket, request: Request) {
        if let Err(failure) = self.begin(ticket, request) {
            self.drop_claims();
            self.answer(ticket, Err(failure));
        }
    }

    /// Requests that are answered later, when another thread is done.
    fn begin(&mut self, ticket: Ticket, request: Request) -> Result<(), Failure> {
        match request {
            Request::Replan { branch, generation, draft } => self.replan(Some(ticket), branch, generation, draft),
            Request::WhatIf { branch, draft, arms } => self.what_if(ticket, branch, draft, &arms, true),
            Request::Thing(ThingAct::TryPolicy { branch, draft, policy }) => {
                self.try_policy(ticket, branch, draft, policy)
            }
            Request::Thing(ThingAct::Things { branch, kind }) => self.things(ticket, branch, kind),
            Request::Foresee { branch, draft, items, act } => self.foresee(ticket, branch, &draft, &items, act),
            Request::Exact { branch, act: Exact::Weigh { draft, body } } => {
                self.by_hand(ticket, branch, draft, body, false)
            }
            Request::Exact { branch, act: Exact::Send { draft, body } } => {
                self.by_hand(ticket, branch, draft, body, true)
            }
            Request::Ask { branch, draft, plan } => self.ask(ticket, branch, draft, plan),
            Request::Turn(branch, true) => self.await_claim(ticket, branch),
            Request::Aside { branch, text } => self.aside(ticket, branch, text),
            Request::Retrieve { session, branch, query, at, budget, anyway } => {
                let wish = Wish { query, at, budget, anyway };
                self.retrieve(ticket, session.as_deref(), branch.as_deref(), wish)
            }
            Request::Condense { branch, act: Condense::Draft { kind, up_to, by } } => {
                self.start_draft(Some(ticket), branch, kind, up_to, by, None)
            }
            Request::RenameSession { session, title: None } => self.title_by_model(ticket, session.as_deref()),
            Request::Find { line, limit } => {
                self.seeker.look(ticket, line, limit);
                Ok(())
            }
            Request::DiffPlans { before, after } => self.look_at_diff(ticket, before, after),
            Request::Compare { a, b } => self.look_at_both(ticket, a, b),
            Request::Why { branch, item, most } => self.look_at_item(ticket, branch, &item, most),
            Request::Files(FileAct::Find { query, limit }) => {
                self.files(ticket, query, limit);
                Ok(())
            }
            Request::Files(FileAct::Read { path }) => self.attach(ticket, path),
            Request::Code { root, act } => self.ask_code(ticket, act, root),
            Request::Project(act) => self.project_act(ticket, act),
            Request::Program(request) => self.on_program(ticket, request),
            other => {
                let result = self.on_session(other);
                let opened = matches!(result, Ok(Answer::Opened(_)));
                self.answer(ticket, result);
                // Settings of a branch mean something only once its session is known.
                if let Some(branch) = self.session().ok().filter(|_| opened).map(|session| session.current) {
                    self.show_settings(&self.branch(branch)?);
                }
                Ok(())
            }
        }
    }

    /// Requests about the program itself.
    fn on_program(&mut self, ticket: Ticket, request: ProgramRequest) -> Result<(), Failure> {
        let result = match request {
            ProgramRequest::Models { profile } => return self.models(ticket, profile.as_deref()),
            ProgramRequest::Doctor => {
                self.doctor(ticket);
                return Ok(());
            }
            ProgramRequest::Reload => self.read_again(),
            ProgramRequest::Meters => Ok(Answer::Meters(super::calls::meters::learned(&self.store))),
            ProgramRequest::ForgetQuirks { profile, model, quirk } => {
                self.forget_quirks((profile.as_deref(), model.as_deref()), quirk)
            }
            ProgramRequest::Backups(act) => self.store.copies(act).map(Answer::Backups).map_err(Failure::from),
        };
        self.answer(ticket, result);
        Ok(())
    }

    /// Requests about sessions as a whole.
    fn on_session(&mut self, request: Request) -> Result<Answer, Failure> {
        match request {
            Request::Sessions => Ok(Answer::Sessions(self.store.sessions()?)),
            Request::NewSession { title } => self.new_session(&title),
            Request::OpenSession { session, branch, create } => {
                self.open_session(session.as_deref(), branch.as_deref(), create)
            }
            Request::OpenAt { session, node } => self.open_at(session, node),
            Request::RenameSession { session, title } => {
                self.rename_session(session.as_deref(), &title.unwrap_or_default())
            }
            Request::DeleteSession { session } => self.delete_session(session.as_deref()),
            Request::SearchSessions { words } => self.search_sessions(&words),
            Request::Import { reading } => self.import(&reading),
            Request::Markdown { branch } => self.markdown(branch),
            Request::Transcript { session, branch } => self.transcript(session.as_deref(), branch),
            Request::Bodies { nodes } => queries::bodies(self, &nodes),
            Request::Memories { session, words, scope } => self.memories(session.as_deref(), words.as_deref(), scope),
            Request::Remember { kind, text, scope } => self.remember(kind, &text, scope),
            Request::Memory { id, act } => self.act_on_memory(&id, &act),
            Request::Undo => self.undo(),
            Request::Redo => self.redo(),
            Request::Runs => Ok(Answer::Runs(self.store.runs(self.session()?.card.id)?)),
            Request::StoredPlan { id } => self.stored_plan(&id),
            Request::ReplayDryRun { run } => self.replay_dry(&run),
            Request::Thing(ThingAct::SavePolicy { name, text, preset }) => {
                self.save_policy(&name, &text, preset.as_deref())
            }
            Request::Thing(ThingAct::StepPolicy { name, forward }) => self.step_policy(&name, forward),
            Request::Trust { trusted } => Ok(self.trust(trusted)),
            Request::FolderSettings(act) => self.folder_settings(act),
            Request::Servers(branch, act) => self.act_on_servers(branch, act),
            Request::Traces(act) => self.traces(act),
            Request::Rule(RuleAct::List) => self.rules_listed(),
            Request::Rule(RuleAct::Set { scope, rule, on }) => self.set_rule(scope, rule, on),
            other => self.on_branch(other),
        }
    }

    /// Requests about one branch.
    fn on_branch(&mut self, request: Request) -> Result<Answer, Failure> {
        match request {
            Request::Switch { branch } => self.switch(branch),
            Request::Replay { run, profile, model, without } => self.replay(&run, (profile, model), without.as_ref()),
            Request::Race { branch, arms, limits } => self.race(branch, &arms, limits),
            Request::KeepOne { branch } => self.keep_one(branch),
            Request::Tag { branch, item, act } => self.tag(branch, &item, &act),
            Request::DropAside { run } => self.drop_aside(run),
            Request::KeepAside { run } => self.keep_aside(run),
            Request::PutAway { branches } => self.put_away(&branches),
            Request::Fork { branch, at, name, switch } => self.fork(branch, at, name, switch),
            Request::RenameBranch { branch, name } => self.rename(branch, &name),
            Request::ArchiveBranch { branch, archived } => self.archive(branch, archived),
            Request::MoveHead { branch, node, exact } => self.move_head(branch, node, exact),
            Request::Sibling { branch, node, step } => self.sibling(branch, node, step),
            Request::Mark { branch, items, act } => self.mark(branch, &items, act),
            Request::Override { branch, overrides } => self.set_overrides(branch, overrides),
            Request::KeepDraft { branch, text } => self.keep_draft(branch, &text),
            Request::Consent { branch, index, consent, always } => self.consent(branch, index, consent, always),
            Request::Turn(branch, false) => Ok(self.give_back(branch)),
            Request::Cancel { branch } => self.cancel(branch).map(|()| Answer::Done("Stopped.".into())),
            Request::RowText { branch, atom } => self.row_text(branch, &atom),
            Request::Exact { branch, act: Exact::Show } => self.raw_request(branch),
            Request::WireText { branch } => self.wire_text(branch),
            Request::EditState { branch, text } => self.edit_state(branch, &text, "edited the state"),
            Request::RebuildState(branch) => self.rebuild_state(branch),
            Request::AdoptState(branch) => self.adopt_state(branch),
            Request::AddMessage { branch, role, text } => self.add_message(branch, role, &text),
            Request::Condense { branch, act } => self.condense(branch, act),
            Request::Task { branch, act } => self.task(branch, &act),
            Request::Steps { branch, atom } => self.steps(branch, atom.as_ref()),
            Request::Pick { from, items, onto, together } => self.pick(from, &items, onto, together),
            Request::BringBack { from, onto } => self.bring_back(from, onto),
            Request::Ledger { branch, whole } => self.ledger(branch, whole),
            Request::Dismiss { branch, item } => self.dismiss(branch, &item),
            Request::RemoveMessage { branch, item } => self.remove_message(branch, &item),
            _ => Err(Failure::user("That cannot be asked here.")),
        }
    }

    fn switch(&mut self, branch: BranchId) -> Result<Answer, Failure> {
        let found = self.branch(branch)?;
        if !self.store.read_only() {
            self.store.write(vec![Write::UseBranch(branch)])?;
        }
        let session = self.session_mut(branch)?;
        session.current = branch;
        let id = session.card.id;
        self.current = Some(id);
        self.show_settings(&found);
        Ok(Answer::Branch(Box::new(found)))
    }
}
