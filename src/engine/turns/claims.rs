//! Claims: only one program at a time asks on a branch. A program takes the claim before it sends a message and holds
//! it until the turn ends. A program that does not get the claim learns who holds it, or waits in line.
//! Not for: the locks (`store`).

use super::state::HeldClaim;
use crate::domain::base::{BranchId, Failure, FailureKind, NodeId};
use crate::domain::conversation::Branch;
use crate::engine::api::{Answer, Ticket};
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, TurnReport};
use crate::engine::plans::state::Plans;
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::setup::Setup;
use crate::engine::turns::state::Turns;
use crate::store::file::claims::{Claim, ClaimOwner};
use crate::store::types::OpenRun;
use std::sync::Arc;

impl Core {
    /// Takes the claim on a branch, then loads the changes that other programs made meanwhile, and ends the run of a
    /// killed program.
    pub(crate) fn claim(&mut self, branch: BranchId) -> Result<(), Failure> {
        if let Some(held) = self.turns.claims.get_mut(&branch) {
            held.unused = false;
            return Ok(());
        }
        match self.store.claim(branch, &claim_owner(&self.setup.now, !self.setup.patient)) {
            Ok(claim) => {
                self.turns.claims.insert(branch, HeldClaim { _claim: claim, unused: false });
                self.check_store();
                self.recover_branch(branch);
                Ok(())
            }
            Err(other) => Err(claimed_elsewhere(&self.sessions, &self.setup, branch, other.as_ref())),
        }
    }

    /// Fails if this or another program asks on a branch.
    pub(crate) fn ensure_idle_everywhere(&mut self, branch: BranchId) -> Result<(), Failure> {
        self.turns.ensure_idle(branch)?;
        // A claim that a queued message waits for stays held.
        if self.turns.claims.contains_key(&branch) {
            return Ok(());
        }
        let wait = |taken: Failure| taken.kept("Nothing was sent.").todo("Wait until the other call is done.");
        self.claim(branch).map_err(wait)?;
        release_claims(&mut self.plans, &mut self.turns);
        Ok(())
    }

    /// The head of a branch before its open turn, in this program or another; its head if no turn is open.
    pub(crate) fn before_turn(&mut self, branch: &Branch) -> Option<NodeId> {
        if let Some(live) = self.turns.live.get(&branch.id) {
            return live.before.0;
        }
        let here = |run: &OpenRun| run.card.branch == branch.id && self.store.owner_alive(&run.owner);
        let open = self.store.open_runs().unwrap_or_default().into_iter().find(here);
        let Some(run) = open else { return branch.head };
        if run.card.round <= 1 {
            return run.head;
        }
        // A later round follows tool results that are already nodes.
        self.check_store();
        let question = self.sessions.user_above(branch.id, run.after);
        let question = question.and_then(|id| self.sessions.of_branch(branch.id).ok()?.tree.get(id));
        question.map_or(branch.head, |question| question.parent)
    }

    /// Queues for the claim on a branch. Answered when it is granted.
    pub(crate) fn await_claim(&mut self, ticket: Ticket, branch: BranchId) -> Result<(), Failure> {
        self.sessions.branch(branch)?;
        match self.claim(branch) {
            Ok(()) => {
                let unused = !asks(&self.plans, &self.turns, branch);
                if let Some(held) = self.turns.claims.get_mut(&branch) {
                    held.unused = unused;
                }
                self.answer(ticket, Ok(Answer::Done(String::new())));
                return Ok(());
            }
            Err(taken) => self.notify(format!("{} Your message is sent when that call is done.", taken.what)),
        }
        let store = self.store.clone();
        let (now, workbench) = (self.setup.now.clone(), !self.setup.patient);
        let lost = move |failure| Inbox::Answer(ticket, Box::new(Err(failure)));
        self.jobs.report("branch-claim", lost, move |cancel| {
            let claim = store.await_claim(branch, &|| cancel.is_canceled(), || claim_owner(&now, workbench));
            match claim {
                Some(claim) => Inbox::Turn(TurnReport::Claimed(ticket, branch, Box::new(claim))),
                None => Inbox::Answer(ticket, Box::new(Err(Failure::user("Stopped waiting for the branch.")))),
            }
        });
        Ok(())
    }

    /// Stores a claim that was granted and answers the request that waited for it.
    pub(crate) fn claim_granted(&mut self, ticket: Ticket, branch: BranchId, claim: Claim) {
        self.turns.claims.insert(branch, HeldClaim { _claim: claim, unused: true });
        self.check_store();
        self.recover_branch(branch);
        self.answer(ticket, Ok(Answer::Done(String::new())));
    }
}

/// Whether this program has an open turn or a pending send on a branch.
fn asks(plans: &Plans, turns: &Turns, branch: BranchId) -> bool {
    turns.live.contains_key(&branch) || plans.about_to_send(branch)
}

/// Releases the claims on branches without an open turn or a pending send.
pub(crate) fn release_claims(plans: &mut Plans, turns: &mut Turns) {
    let (live, plans) = (&turns.live, plans);
    let asks = |branch: &BranchId| live.contains_key(branch) || plans.about_to_send(*branch);
    turns.claims.retain(|branch, held| held.unused || asks(branch));
}

fn claimed_elsewhere(sessions: &Sessions, setup: &Setup, branch: BranchId, other: Option<&ClaimOwner>) -> Failure {
    let name = sessions.branch(branch).map_or_else(|_| "this branch".into(), |branch| branch.name);
    let who = match other {
        Some(ClaimOwner { process, since, workbench }) => {
            let place = if *workbench { "the workbench" } else { "the command line" };
            format!("{place} (process {process}), since {}", clock(*since))
        }
        None => "another pleach process".into(),
    };
    let failure = Failure::new(FailureKind::Busy, format!("Another process is sending on {name}: {who}."));
    if setup.patient {
        failure
            .kept("Your message was not saved and nothing was sent.")
            .todo("Use --wait to send it afterward, or fork and ask there.")
    } else {
        failure.kept("Nothing was sent; your draft is kept.").todo("Wait for it, or fork and ask there.")
    }
}

impl Turns {
    /// Releases a claim that is no longer needed.
    pub(crate) fn release_claim(&mut self, branch: BranchId) -> Answer {
        if let Some(held) = self.claims.get_mut(&branch) {
            held.unused = false;
        }
        Answer::Done(String::new())
    }
}

fn claim_owner(now: &Arc<dyn Fn() -> i64 + Send + Sync>, workbench: bool) -> ClaimOwner {
    ClaimOwner { process: std::process::id(), since: now(), workbench }
}

/// Formats a time in the person's own time zone, with the date.
fn clock(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(
        |_| "?".into(),
        |at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}
