//! The planner's thread: collects, solves and renders. At most one job waits per branch; a newer one replaces it unless
//! it will be sent. Older messages are indexed here in slices: until that is done, plans are made without them, and a
//! plan that waits for the index goes to the end of the queue.
//! Not for: deciding what to plan (`draft`).

use super::input_builder::{BuiltInput, Contents, InputBuilder};
use super::snapshot::Snapshot;
use super::sources::card_text::CardSettings;
use crate::context;
use crate::context::render::Outline;
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, SessionId};
use crate::domain::call::provider::Wire;
use crate::domain::conversation::mark::Atom;
use crate::domain::conversation::message::{Content, Role};
use crate::domain::planning::input::RequestShape;
use crate::domain::planning::plan::{Blocked, ContextPlan, RowKind};
use crate::engine::jobs;
use crate::engine::sessions::path::PathView;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A plan with the bytes made from it.
#[derive(Clone, Debug)]
pub(crate) struct Solved {
    pub(crate) plan: Arc<ContextPlan>,
    pub(crate) wire: Wire,
    pub(crate) outline: Arc<Outline>,
    pub(crate) stored: Arc<str>,
    pub(crate) contents: Arc<Contents>,
    /// The marks that counted, with their revisions.
    pub(crate) marks: Arc<[(Atom, u64)]>,
    /// A person edited the body by hand.
    pub(crate) edited: bool,
}

/// The result of a job.
pub(crate) type Solution = Result<Result<Solved, Arc<Blocked>>, Failure>;

/// A job.
pub(crate) struct Job {
    pub(crate) tag: Tag,
    pub(crate) snapshot: Snapshot,
}

/// The purpose of a job, returned with its result.
#[derive(Clone, Debug)]
pub(crate) struct Tag {
    pub(crate) branch: BranchId,
    pub(crate) id: u64,
    /// Will be sent: never dropped for a newer one.
    pub(crate) sends: bool,
}

/// A finished job.
pub(crate) struct Done {
    pub(crate) tag: Tag,
    pub(crate) solution: Solution,
}

/// Progress of indexing.
pub(crate) struct Indexed {
    /// For a plan of which branch.
    pub(crate) branch: BranchId,
    pub(crate) done: usize,
    pub(crate) total: usize,
}

/// An event of the planner's thread.
pub(crate) enum WorkerEvent {
    Done(Done),
    Indexed(Indexed),
}

/// The path of which not everything is indexed yet.
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

    fn told(&self, left: usize) -> WorkerEvent {
        WorkerEvent::Indexed(Indexed { branch: self.branch, done: self.until.saturating_sub(left), total: self.until })
    }
}

/// Other work that needs the state of the planner's thread, done after the waiting plans.
pub(crate) type WorkerTask = Box<dyn FnOnce(&mut InputBuilder) + Send>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    tasks: VecDeque<WorkerTask>,
    /// Done when there is nothing else to do.
    behind: Option<UnindexedPath>,
    closed: bool,
}

/// The handle of the thread.
#[derive(Clone, Default)]
pub(crate) struct Planner {
    queue: Arc<(Mutex<Queue>, Condvar)>,
    forget: Arc<AtomicBool>,
}

impl Planner {
    /// Messages were removed: nothing remembered of them may be used again.
    pub(crate) fn forget(&self) {
        self.forget.store(true, Ordering::SeqCst);
    }

    /// Starts the thread. It ends when [`Planner::close`] is called.
    ///
    /// # Errors
    /// The thread could not be started.
    pub(crate) fn start<M: Send + 'static>(
        builder: InputBuilder,
        out: Sender<M>,
        wrap: impl Fn(WorkerEvent) -> M + Send + 'static,
    ) -> Result<Self, Failure> {
        let planner = Self::default();
        let tell = move |told: WorkerEvent| out.send(wrap(told)).is_ok();
        let worker = Worker { builder, planner: planner.clone(), tell };
        jobs::service("planner", move || worker.run())?;
        Ok(planner)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a job in; an older one of the same branch that would not be sent is dropped and its id returned.
    pub(crate) fn submit(&self, job: Job) -> Option<u64> {
        let mut queue = self.queue();
        let old = queue.jobs.iter().position(|j| j.tag.branch == job.tag.branch && !j.tag.sends);
        let dropped = old.and_then(|at| queue.jobs.remove(at)).map(|job| job.tag.id);
        queue.jobs.push_back(job);
        self.queue.1.notify_one();
        dropped
    }

    /// Queues a task.
    pub(crate) fn run(&self, task: WorkerTask) {
        self.queue().tasks.push_back(task);
        self.queue.1.notify_one();
    }

    /// Ends the thread after the job it is at.
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

/// The thread's side.
struct Worker<T> {
    builder: InputBuilder,
    planner: Planner,
    tell: T,
}

impl<T: Fn(WorkerEvent) -> bool> Worker<T> {
    fn run(mut self) {
        while let Some(work) = self.next() {
            if self.planner.forget.swap(false, Ordering::SeqCst) {
                self.builder.forget();
            }
            let heard = match work {
                Work::Plan(job) => self.plan(*job),
                Work::Task(task) => {
                    let running = AssertUnwindSafe(|| task(&mut self.builder));
                    let _ = catch_unwind(running);
                    true
                }
                Work::Index(behind) => self.index(behind),
            };
            if !heard {
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
                return Some(Work::Task(task));
            }
            if let Some(behind) = queue.behind.take() {
                return Some(Work::Index(behind));
            }
            queue = self.planner.queue.1.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn plan(&mut self, job: Job) -> bool {
        let (solution, left) = try_out(&mut self.builder, &job.snapshot);
        if left == 0 {
            return (self.tell)(WorkerEvent::Done(Done { tag: job.tag, solution }));
        }
        let behind = UnindexedPath::of(&job.snapshot);
        if job.snapshot.waits {
            let heard = (self.tell)(behind.told(left));
            self.planner.queue().jobs.push_back(job);
            return heard;
        }
        self.planner.queue().behind = Some(behind);
        (self.tell)(WorkerEvent::Done(Done { tag: job.tag, solution }))
    }

    /// Indexes one more slice, and schedules the next one until all messages are indexed.
    fn index(&mut self, behind: UnindexedPath) -> bool {
        let taking =
            AssertUnwindSafe(|| self.builder.finder.take_in(behind.session, &behind.path.nodes[..behind.until]));
        let Ok(Ok(left)) = catch_unwind(taking) else { return true };
        let heard = (self.tell)(behind.told(left));
        if left > 0 {
            self.planner.queue().behind.get_or_insert(behind);
        }
        heard
    }
}

fn broken() -> Failure {
    Failure::new(FailureKind::Internal, "An internal error stopped planning.")
        .kept("Nothing was sent and nothing was changed.")
        .todo("Please report it with the log.")
}

/// The plan or the failure, also after a panic, and the number of messages that remain to be indexed for it.
pub(crate) fn try_out(builder: &mut InputBuilder, snapshot: &Snapshot) -> (Solution, usize) {
    match catch_unwind(AssertUnwindSafe(|| solve(builder, snapshot))) {
        Ok(Ok((solved, left))) => (Ok(solved), left),
        Ok(Err(failure)) => (Err(failure), 0),
        Err(_) => (Err(broken()), 0),
    }
}

/// The plan or why there is none, and the number of messages to be indexed before they can be searched.
fn solve(builder: &mut InputBuilder, snapshot: &Snapshot) -> Result<(Result<Solved, Arc<Blocked>>, usize), Failure> {
    let found = builder.collect(snapshot)?;
    let left = found.behind;
    let solved = match context::plan(&found.input) {
        Ok(plan) => Ok(rendered(builder, found, plan)?),
        Err(blocked) => Err(Arc::from(blocked)),
    };
    Ok((solved, left))
}

fn rendered(builder: &mut InputBuilder, found: BuiltInput, plan: ContextPlan) -> Result<Solved, Failure> {
    let BuiltInput { input, mut contents, .. } = found;
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
        .filter(|row| {
            use RowKind as K;
            matches!(
                row.kind,
                K::Text | K::Note | K::Card | K::Search | K::Memory | K::Rules | K::Skills | K::Module | K::Code
            )
        })
        .filter(|row| row.items.is_empty() && !row.text.is_some_and(|text| contents.recipes.contains_key(&text)))
        .filter_map(|row| row.text.and_then(|text| contents.blocks.get(&text).map(|said| (text, said.clone()))))
        .collect();
    let used = plan.included().filter_map(|row| row.text);
    let cards = used.filter_map(|text| contents.recipes.get(&text).map(|recipe| (text, recipe.clone()))).collect();
    let stored = Stored { plan: plan.clone(), request: input.shape, texts, cards, made, edited: None };
    let stored = serde_json::to_string(&stored)
        .map_err(|error| Failure::new(FailureKind::Internal, format!("The plan cannot be written: {error}.")))?;
    let (plan, outline, contents) = (Arc::new(plan), Arc::new(outline), Arc::new(contents));
    Ok(Solved { plan, wire, outline, stored: stored.into(), contents, marks, edited: false })
}

/// A stored plan: with the request's other fields and our own texts, so that it can be rendered again. Texts of
/// messages, including the new one, are not in it: they are found by their keys, so that the text of a deleted message
/// is not kept here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stored {
    #[serde(flatten)]
    pub(crate) plan: ContextPlan,
    pub(crate) request: RequestShape,
    pub(crate) texts: HashMap<Hash, Arc<str>>,
    pub(crate) made: HashMap<Hash, Content>,
    /// Cards of single messages, as recipes.
    #[serde(default)]
    pub(crate) cards: HashMap<Hash, CardSettings>,
    /// The body itself, if a person edited it by hand; empty once a message of its session was deleted permanently,
    /// because it may contain that message's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edited: Option<Arc<str>>,
}
