//! Collects a bundle: a session or one branch of it, with its calls, their plans, searches, and tool calls, and each
//! request rendered again from the store.
//! Not for: masking and writing it (`export`).

use super::replay::{rendered_again, stored};
use super::stored_runs::{plan_json, unreadable};
use crate::domain::base::{BranchId, Failure, Hash, NodeId, RunId};
use crate::domain::call::{Bundle, BundledCall, RunCard, RunStatus, UsageReport};
use crate::domain::conversation::Role;
use crate::engine::jobs::CancelToken;
use crate::engine::sessions::library::{exported, public_id, records_of};
use crate::engine::sessions::lookup::named_session;
use crate::engine::sessions::session::Session;
use crate::engine::tools::trace_records::MOST_SEARCHED;
use crate::store::Store;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Why a request is not in the bundle.
const NOT_EXACT: &str = "it can no longer be rendered byte for byte; one of its messages may have been deleted";

/// Collects a session, or one branch of it, with its calls.
pub(crate) fn collect_bundle(
    store: &Store,
    named: Option<&str>,
    branch: Option<BranchId>,
    cancel: &CancelToken,
) -> Result<Bundle, Failure> {
    let id = named_session(store, named)?.ok_or_else(Failure::no_session)?;
    let session = Session::load(store, id)?;
    let only = branch.map(|branch| session.branch(branch).cloned()).transpose()?;
    let heads = exported(&session, only.as_ref()).into_iter().map(|slot| session.tree.head(slot));
    let (nodes, keys): (HashSet<NodeId>, Vec<Hash>) = heads.map(|head| (head.id, head.key)).unzip();
    let belongs = |run: &RunCard| match (run.answer, run.user) {
        (Some(node), _) | (None, Some(node)) => nodes.contains(&node),
        (None, None) => only.as_ref().is_none_or(|branch| branch.id == run.branch),
    };
    let runs: Vec<RunCard> =
        store.runs(id)?.into_iter().filter(|run| run.status != RunStatus::Open && belongs(run)).collect();
    let ids: HashSet<RunId> = runs.iter().map(|run| run.id).collect();
    let mut usage: HashMap<RunId, UsageReport> = HashMap::new();
    store.recent_usage(usize::MAX, |report| {
        if ids.contains(&report.run) {
            usage.insert(report.run, report);
        }
        usage.len() < ids.len()
    })?;
    let mut bundle = Bundle {
        transcript: records_of(store, &session, only.as_ref())?,
        keys,
        branch: only.map(|branch| branch.name),
        tool_calls: store.traces(id, MOST_SEARCHED)?.into_iter().filter(|trace| ids.contains(&trace.run)).collect(),
        ..Bundle::default()
    };
    let mut known = HashSet::new();
    for run in runs {
        cancel.check()?;
        add_plan(store, run.plan, &mut bundle, &mut known)?;
        let usage = usage.remove(&run.id);
        bundle.calls.push(call(store, &session, run, usage, &nodes)?);
    }
    Ok(bundle)
}

/// Adds a plan and its searches, unless they are already in the bundle or can't be read.
fn add_plan(store: &Store, id: Hash, bundle: &mut Bundle, known: &mut HashSet<Hash>) -> Result<(), Failure> {
    if !known.insert(id) {
        return Ok(());
    }
    let Ok(text) = plan_json(store, id) else { return Ok(()) };
    let plan: Value = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
    for set in plan["retrieval_set_ids"].as_array().into_iter().flatten() {
        let Some(set) = set.as_str().and_then(|text| text.parse::<Hash>().ok()).filter(|set| known.insert(*set)) else {
            continue;
        };
        let messages = store.retrieval_set(set)?.map(|found| json!(found));
        let found = match messages {
            Some(found) => Some(found),
            None => store.code_set(set)?.map(|found| json!(found)),
        };
        bundle.searches.extend(found);
    }
    bundle.plans.push(plan);
    Ok(())
}

fn call(
    store: &Store,
    session: &Session,
    card: RunCard,
    usage: Option<UsageReport>,
    nodes: &HashSet<NodeId>,
) -> Result<BundledCall, Failure> {
    let tree = &session.tree;
    let message = |id: Option<NodeId>| id.filter(|id| nodes.contains(id)).and_then(|id| tree.get(id));
    let (question, answer) = (message(card.user), message(card.answer));
    let asked = |place| tree.path(place).into_iter().filter(|slot| tree.head(*slot).role == Role::User).count();
    let place = answer.or(question).and_then(|head| tree.slot(head.id));
    let turn = place.and_then(|place| u32::try_from(asked(place)).ok());
    Ok(BundledCall {
        turn,
        question: question.map(public_id),
        answer: answer.map(public_id),
        uses: store.uses_of(card.id)?,
        request: request(store, session, &card),
        usage,
        card,
    })
}

/// Returns the exact body of a call, or why it is not available.
fn request(store: &Store, session: &Session, run: &RunCard) -> Result<Arc<str>, String> {
    let rendered = stored(store, run).and_then(|stored| rendered_again(store, session, run, &stored));
    let (wire, _) = rendered.map_err(|failure| failure.what)?;
    let text = std::str::from_utf8(&wire.bytes).ok().filter(|_| wire.digest == run.request_digest);
    text.map(Arc::from).ok_or_else(|| NOT_EXACT.to_owned())
}
