//! The planner's thread: collects, solves, and renders. For each branch, at most two jobs wait: one to draw a plan,
//! which a newer one replaces, and one whose plan will be sent. Other tasks wait in a bounded queue that drops canceled
//! ones. Older messages are indexed here in slices: until that is done, plans are made without them, and a plan that
//! waits for the index is moved to the end of the queue.
//! Not for: deciding what to plan (`draft`).

use super::input_builder::{BuiltInput, Contents, InputBuilder};
use super::snapshot::{RoundBefore, Snapshot};
use super::sources::card_text::CardSettings;
use super::sources::cards::record_search;
use crate::context;
use crate::context::render::Outline;
use crate::domain::base::{BranchId, Failure, FailureKind, Hash, SessionId};
use crate::domain::call::Wire;
use crate::domain::conversation::{Atom, Content, Role};
use crate::domain::planning::Blocked;
use crate::domain::planning::{ContextPlan, RequestShape, RowKind, StateRequestOutcome};
use crate::engine::calls::stored_runs::unwritable;
use crate::engine::jobs::{self, guarded};
use crate::engine::sessions::path::PathView;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The maximum number of tasks that wait.
const MOST_TASKS: usize = 32;

/// A plan with its rendered request.
#[derive(Clone, Debug)]
pub(crate) struct Solved {
    pub(crate) plan: Arc<ContextPlan>,
    pub(crate) wire: Wire,
    pub(crate) outline: Arc<Outline>,
    pub(crate) stored: Arc<str>,
    pub(crate) contents: Arc<Contents>,
    /// The marks that the plan considered, with their revisions.
    pub(crate) marks: Arc<[(Atom, u64)]>,
    /// Whether it asks for a state block; `None` if that is not known.
    pub(crate) state_request: Option<StateRequestOutcome>,
    /// Whether a person edited the body by hand.
    pub(crate) edited: bool,
}

impl Solved {
    /// Returns the plan with its texts, for the next round of its turn.
    pub(crate) fn as_round(&self) -> RoundBefore {
        RoundBefore { plan: self.plan.clone(), contents: self.contents.clone() }
    }
}

/// The result of a job: a plan, the reason why none is possible, or a failure.
pub(crate) type Solution = Result<Result<Solved, Arc<Blocked>>, Failure>;

/// A planning job.
pub(crate) struct Job {
    pub(crate) tag: Tag,
    pub(crate) snapshot: Snapshot,
}

/// Identifies a job; returned with its result.
#[derive(Clone, Debug)]
pub(crate) struct Tag {
    pub(crate) branch: BranchId,
    pub(crate) id: u64,
    /// Whether the plan will be sent. Such a job is never replaced by a newer one.
    pub(crate) sends: bool,
}

/// A finished job.
pub(crate) struct Done {
    pub(crate) tag: Tag,
    pub(crate) solution: Solution,
}

/// Progress of indexing.
pub(crate) struct Indexed {
    /// The branch whose plan needs the index.
    pub(crate) branch: BranchId,
    pub(crate) done: usize,
    pub(crate) total: usize,
}

/// An event of the planner's thread.
pub(crate) enum WorkerEvent {
    Done(Done),
    Indexed(Indexed),
}

/// A path that is not fully indexed yet.
struct UnindexedPath {
    branch: BranchId,
    session: SessionId,
    path: Arc<PathView>,
    until: usize,
}

impl UnindexedPath {
    fn of(snapshot: &Snapshot) -> Self {
        let (path, until) = (snapshot.path.clone(), snapshot.open_at);
        Self { branch: snapshot.branch.id, session: snapshot.session, path, until }
    }

    fn progress(&self, left: usize) -> WorkerEvent {
        WorkerEvent::Indexed(Indexed { branch: self.branch, done: self.until.saturating_sub(left), total: self.until })
    }
}

/// The work of a task. Returns the rest of the task, which runs later; `None` if the task is done.
type TaskWork = Box<dyn FnOnce(&mut InputBuilder) -> Option<WorkerTask> + Send>;

/// Other work that needs the caches of the planner's thread. It runs after the plans that wait.
pub(crate) struct WorkerTask {
    pub(crate) work: TaskWork,
    /// Set once the task is canceled and its ticket answered; `None` for a task that is not canceled.
    pub(crate) stop: Option<Arc<AtomicBool>>,
}

impl WorkerTask {
    fn is_canceled(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    tasks: VecDeque<WorkerTask>,
    /// Indexed when there is nothing else to do.
    unindexed: Option<UnindexedPath>,
    closed: bool,
}

/// A handle to the planner's thread.
#[derive(Clone, Default)]
pub(crate) struct Planner {
    queue: Arc<(Mutex<Queue>, Condvar)>,
    forget: Arc<AtomicBool>,
}

impl Planner {
    /// Makes the thread clear its caches before its next work, because messages were removed.
    pub(crate) fn forget(&self) {
        self.forget.store(true, Ordering::SeqCst);
    }

    /// Starts the thread. It ends when [`Planner::close`] is called.
    pub(crate) fn start<M: Send + 'static>(
        builder: InputBuilder,
        out: Sender<M>,
        wrap: impl Fn(WorkerEvent) -> M + Send + 'static,
    ) -> Result<Self, Failure> {
        let planner = Self::default();
        let report = move |progress: WorkerEvent| out.send(wrap(progress)).is_ok();
        let worker = Worker { builder, planner: planner.clone(), report };
        jobs::service("planner", move || worker.run())?;
        Ok(planner)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job. Drops an older waiting job of the same branch whose plan would not be sent, and returns its id.
    pub(crate) fn submit(&self, job: Job) -> Option<u64> {
        let mut queue = self.queue();
        let old = queue.jobs.iter().position(|j| j.tag.branch == job.tag.branch && !j.tag.sends);
        let dropped = old.and_then(|at| queue.jobs.remove(at)).map(|job| job.tag.id);
        queue.jobs.push_back(job);
        self.queue.1.notify_one();
        dropped
    }

    /// Removes a job that waits, because its plan is no longer needed.
    pub(crate) fn withdraw(&self, id: u64) {
        self.queue().jobs.retain(|job| job.tag.id != id);
    }

    /// Queues a task, and drops canceled ones.
    ///
    /// # Errors
    /// Fails if too many tasks wait; the task is then dropped.
    pub(crate) fn run(&self, task: WorkerTask) -> Result<(), Failure> {
        let mut queue = self.queue();
        queue.tasks.retain(|task| !task.is_canceled());
        if queue.tasks.len() >= MOST_TASKS {
            let what = "The planner is busy.";
            return Err(Failure::new(FailureKind::Busy, what).todo("Try again in a moment."));
        }
        queue.tasks.push_back(task);
        self.queue.1.notify_one();
        Ok(())
    }

    /// Ends the thread after its current job.
    pub(crate) fn close(&self) {
        self.queue().closed = true;
        self.queue.1.notify_all();
    }
}

enum Work {
    Plan(Box<Job>),
    Task(WorkerTask),
    Index(UnindexedPath),
}

/// The state of the planner's thread.
struct Worker<T> {
    builder: InputBuilder,
    planner: Planner,
    report: T,
}

impl<T: Fn(WorkerEvent) -> bool> Worker<T> {
    fn run(mut self) {
        while let Some(work) = self.next() {
            if self.planner.forget.swap(false, Ordering::SeqCst) {
                self.builder.forget();
            }
            let received = match work {
                Work::Plan(job) => self.plan(*job),
                Work::Task(task) => {
                    // A task guards code that could leave its ticket unanswered.
                    let rest = guarded("planning", || Ok((task.work)(&mut self.builder)));
                    self.planner.queue().tasks.extend(rest.ok().flatten());
                    true
                }
                Work::Index(unindexed) => self.index(unindexed),
            };
            if !received {
                break;
            }
        }
    }

    fn next(&self) -> Option<Work> {
        let mut queue = self.planner.queue();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(job) = queue.jobs.pop_front() {
                return Some(Work::Plan(Box::new(job)));
            }
            if let Some(task) = queue.tasks.pop_front() {
                if task.is_canceled() {
                    continue;
                }
                return Some(Work::Task(task));
            }
            if let Some(unindexed) = queue.unindexed.take() {
                return Some(Work::Index(unindexed));
            }
            queue = self.planner.queue.1.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn plan(&mut self, job: Job) -> bool {
        let (solution, left) = try_solve(&mut self.builder, &job.snapshot);
        if left == 0 {
            return (self.report)(WorkerEvent::Done(Done { tag: job.tag, solution }));
        }
        let unindexed = UnindexedPath::of(&job.snapshot);
        if job.snapshot.waits {
            let received = (self.report)(unindexed.progress(left));
            self.planner.queue().jobs.push_back(job);
            return received;
        }
        self.planner.queue().unindexed = Some(unindexed);
        (self.report)(WorkerEvent::Done(Done { tag: job.tag, solution }))
    }

    /// Indexes one more slice. If messages are left, the path is queued again for when there is nothing else to do.
    fn index(&mut self, unindexed: UnindexedPath) -> bool {
        let indexing = || self.builder.finder.index_path(unindexed.session, &unindexed.path.nodes[..unindexed.until]);
        let Ok(left) = guarded("indexing", indexing) else { return true };
        let received = (self.report)(unindexed.progress(left));
        if left > 0 {
            self.planner.queue().unindexed.get_or_insert(unindexed);
        }
        received
    }
}

/// Solves a snapshot, with panics turned into failures. Also returns the number of messages that are still to be
/// indexed for it.
pub(crate) fn try_solve(builder: &mut InputBuilder, snapshot: &Snapshot) -> (Solution, usize) {
    match guarded("planning", || solve(builder, snapshot)) {
        Ok((solved, left)) => (Ok(solved), left),
        Err(failure) => (Err(failure), 0),
    }
}

/// Solves a snapshot; `None` while older messages are still being indexed.
pub(super) fn solved(builder: &mut InputBuilder, snapshot: &Snapshot) -> Option<Result<Solved, Failure>> {
    let (solution, left) = try_solve(builder, snapshot);
    if left > 0 && snapshot.waits {
        return None;
    }
    let unfit = |blocked: Arc<Blocked>| Failure::new(FailureKind::Blocked, blocked.sentence());
    Some(solution.and_then(|solved| solved.map_err(unfit)))
}

/// Solves a snapshot: a plan, or why none is possible. Also returns the number of messages that are not indexed yet.
fn solve(builder: &mut InputBuilder, snapshot: &Snapshot) -> Result<(Result<Solved, Arc<Blocked>>, usize), Failure> {
    let built = builder.collect(snapshot)?;
    let left = built.unindexed;
    let solved = match context::plan_with_state(&built.input) {
        Ok((plan, decided)) => {
            let state_request = decided.or(built.never_asks);
            Ok(Solved { state_request, ..rendered(builder, built, plan)? })
        }
        Err(blocked) => Err(Arc::from(blocked)),
    };
    Ok((solved, left))
}

fn rendered(builder: &mut InputBuilder, built: BuiltInput, mut plan: ContextPlan) -> Result<Solved, Failure> {
    let BuiltInput { input, mut contents, .. } = built;
    record_search(&mut contents, &mut plan, input.allowance);
    record_code_set(&mut contents, &mut plan);
    let marks = input.marks.iter().map(|mark| (mark.target, mark.revision)).collect();
    let mut made = HashMap::new();
    for item in plan.included().flat_map(|row| &row.items) {
        match contents.messages.get(&item.key) {
            Some(content) if item.node.is_none() && item.role == Role::Tool => {
                made.insert(item.key, content.as_ref().clone());
            }
            Some(_) => {}
            None => {
                if let Some(content) = builder.content(item.key, item.node)? {
                    contents.messages.insert(item.key, content);
                }
            }
        }
    }
    let (wire, outline) = context::render::render(&plan, &input.shape, &contents)
        .map_err(|gone| Failure::user(format!("{gone}.")).kept("Nothing was sent."))?;
    let texts = plan
        .included()
        .filter(|row| has_own_text(row.kind))
        .filter(|row| row.items.is_empty() && !row.text.is_some_and(|text| contents.card_settings.contains_key(&text)))
        .filter_map(|row| row.text.and_then(|text| contents.blocks.get(&text).map(|block| (text, block.clone()))))
        .collect();
    let used = plan.included().filter_map(|row| row.text);
    let cards =
        used.filter_map(|text| contents.card_settings.get(&text).map(|settings| (text, settings.clone()))).collect();
    let stored = Stored { plan: plan.clone(), request: input.shape, texts, cards, made, edited: None };
    let stored = serde_json::to_string(&stored).map_err(|error| unwritable(&error))?;
    let (plan, outline, contents) = (Arc::new(plan), Arc::new(outline), Arc::new(contents));
    let state_request = None;
    Ok(Solved { plan, wire, outline, stored: stored.into(), contents, marks, state_request, edited: false })
}

/// Whether the text of a row is stored with its plan, because no message contains it.
fn has_own_text(kind: RowKind) -> bool {
    use RowKind as K;
    matches!(kind, K::Text | K::Note | K::Card | K::Search | K::Memory | K::Rules | K::Skills | K::Module | K::Code)
}

/// Records in the retrieval set of the code search which symbols the plan sends, and adds the id of the set to the
/// plan.
fn record_code_set(contents: &mut Contents, plan: &mut ContextPlan) {
    let Some(set) = contents.code_set.take() else { return };
    let mut set = Arc::unwrap_or_clone(set);
    let tokens: HashMap<Hash, u32> =
        plan.included().filter_map(|row| Some((row.source.code.as_ref()?.key(), row.tokens))).collect();
    set.record_sent(&|key| tokens.get(&key).copied());
    let set = set.with_id();
    plan.retrieval_set_ids.push(set.id);
    contents.code_set = Some(Arc::new(set));
}

/// A plan as it is stored: with the other fields of the request and the program's own texts, so that it can be rendered
/// again. Texts of messages, including the new message, are not part of it: they are found by the keys in the plan, so
/// that a removed text disappears from here too.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stored {
    #[serde(flatten)]
    pub(crate) plan: ContextPlan,
    pub(crate) request: RequestShape,
    pub(crate) texts: HashMap<Hash, Arc<str>>,
    pub(crate) made: HashMap<Hash, Content>,
    /// The settings of cards that are made from single messages.
    #[serde(default)]
    pub(crate) cards: HashMap<Hash, CardSettings>,
    /// The body, if a person edited it by hand. Empty once a message of its session was permanently removed, because
    /// the body may contain that message's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edited: Option<Arc<str>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(stop: Option<Arc<AtomicBool>>) -> WorkerTask {
        WorkerTask { work: Box::new(|_| None), stop }
    }

    #[test]
    fn tasks_that_do_not_fit_are_refused_and_canceled_ones_make_room() {
        let planner = Planner::default();
        let stop = Arc::new(AtomicBool::new(false));
        planner.run(task(Some(stop.clone()))).unwrap();
        for _ in 1..MOST_TASKS {
            planner.run(task(None)).unwrap();
        }
        let refused = || planner.run(task(None)).err().map(|failure| failure.kind);
        assert_eq!(refused(), Some(FailureKind::Busy));
        stop.store(true, Ordering::Relaxed);
        assert_eq!([refused(), refused()], [None, Some(FailureKind::Busy)]);
        assert_eq!(planner.queue().tasks.len(), MOST_TASKS);
    }
}
