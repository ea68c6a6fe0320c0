//! Brings drafts into a tree: parents before children, siblings in the order in which they came.
//! Not for: what the messages say.

use super::message::{Draft, Parent};
use super::notes::Notes;
use crate::domain::base::hash::Fields;
use crate::domain::conversation::message::{Part, Role};
use crate::domain::conversation::record::Record;
use std::collections::{HashMap, HashSet, VecDeque};

/// A tree's records, parents first, and the id of the current one where it was marked.
pub(super) struct Arranged {
    /// The records.
    pub(super) records: Vec<Record>,
    /// The marked one.
    pub(super) current: Option<String>,
}

/// Arranges drafts. What cannot keep a place is noted and left out.
pub(super) fn arrange(drafts: Vec<Draft>, prefix: &str, notes: &mut Notes) -> Arranged {
    let mut drafts = settle(drafts, prefix, notes);
    let mut by_id: HashMap<String, usize> =
        drafts.iter().enumerate().map(|(at, draft)| (draft.record.id.clone(), at)).collect();
    for at in 0..drafts.len() {
        if let Some(parent) = drafts[at].record.parent.clone()
            && !by_id.contains_key(&parent)
        {
            notes.skip(
                drafts[at].place(prefix),
                format!("its parent {parent:?} is missing; an empty message keeps the place"),
            );
            by_id.insert(parent.clone(), drafts.len());
            drafts.push(Draft::ghost(parent, Parent::Root, drafts[at].number, drafts[at].unit));
        }
    }
    let current = drafts.iter().rfind(|draft| draft.current && !draft.ghost).map(|draft| draft.record.id.clone());
    let (order, lost) = order(&drafts, &by_id);
    for at in lost {
        notes.skip(drafts[at].place(prefix), "its parents go round in a circle");
    }
    let mut slots: Vec<Option<Draft>> = drafts.into_iter().map(Some).collect();
    let sorted: Vec<Draft> = order.into_iter().filter_map(|at| slots[at].take()).collect();
    let records = name_calls(sorted);
    let current = current.filter(|id| records.iter().any(|record| &record.id == id));
    Arranged { records, current }
}

/// Gives each draft its parent and its id, and drops second ones and ghosts on which nothing hangs.
fn settle(drafts: Vec<Draft>, prefix: &str, notes: &mut Notes) -> Vec<Draft> {
    let is_tree = drafts.iter().any(|draft| matches!(draft.parent, Parent::Of(_)));
    let wanted: HashSet<String> = drafts
        .iter()
        .filter_map(|draft| match &draft.parent {
            Parent::Of(id) => Some(id.clone()),
            Parent::Unsaid | Parent::Root => None,
        })
        .collect();
    let mut seen: HashSet<String> = HashSet::new();
    let mut twins: HashMap<String, u32> = HashMap::new();
    let mut previous: Option<String> = None;
    let mut settled: Vec<Draft> = Vec::with_capacity(drafts.len());
    for mut draft in drafts {
        if draft.ghost && !wanted.contains(&draft.record.id) {
            continue;
        }
        draft.record.parent = match &draft.parent {
            Parent::Of(id) => Some(id.clone()),
            Parent::Unsaid if !is_tree => previous.clone(),
            Parent::Unsaid | Parent::Root => None,
        };
        if draft.record.id.is_empty() {
            let id = derived_id(&draft.record);
            let twin = twins.entry(id.clone()).or_default();
            *twin += 1;
            draft.record.id = if *twin == 1 { id } else { format!("{id}-{twin}") };
        }
        if !seen.insert(draft.record.id.clone()) {
            notes.skip(
                draft.place(prefix),
                format!("the id {:?} was there before; the first one stays", draft.record.id),
            );
            continue;
        }
        previous = Some(draft.record.id.clone());
        settled.push(draft);
    }
    settled
}

/// An id from what a message says and where it hangs, so that a grown or changed file meets what it shares.
pub(super) fn derived_id(record: &Record) -> String {
    let fields = Fields::new("record").text(record.parent.as_deref().unwrap_or("")).text(record.role.name());
    let hash = fields.hash(record.content.hash()).finish().to_string();
    hash[..20].to_owned()
}

/// The order of emission, and those that no root reaches. Linear: each draft waits at most once.
fn order(drafts: &[Draft], by_id: &HashMap<String, usize>) -> (Vec<usize>, Vec<usize>) {
    let mut placed = vec![false; drafts.len()];
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); drafts.len()];
    let mut order = Vec::with_capacity(drafts.len());
    let mut ready = VecDeque::new();
    for (at, draft) in drafts.iter().enumerate() {
        match draft.record.parent.as_ref().and_then(|id| by_id.get(id)).copied() {
            Some(parent) if !placed[parent] => waiting[parent].push(at),
            Some(_) | None => ready.push_back(at),
        }
        while let Some(next) = ready.pop_front() {
            placed[next] = true;
            order.push(next);
            ready.extend(std::mem::take(&mut waiting[next]));
        }
    }
    let lost = (0..drafts.len()).filter(|at| !placed[*at]).collect();
    (order, lost)
}

/// Gives results that name no call the call whose turn it is: the n-th result after a message answers its n-th call.
fn name_calls(drafts: Vec<Draft>) -> Vec<Record> {
    let mut open: HashMap<String, (usize, usize)> = HashMap::new();
    let mut records: Vec<Record> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let mut record = draft.record;
        if record.role == Role::Assistant && record.content.calls().next().is_some() {
            open.insert(record.id.clone(), (records.len(), 0));
        } else if record.role == Role::Tool
            && let Some((asker, turn)) = record.parent.as_ref().and_then(|parent| open.get(parent)).copied()
        {
            if draft.loose
                && let Some((id, name, _)) = records[asker].content.calls().nth(turn)
            {
                let (id, name) = (id.to_owned(), name.to_owned());
                answer(&mut record, &id, &name);
            }
            open.insert(record.id.clone(), (asker, turn + 1));
        }
        records.push(record);
    }
    records
}

/// Makes a result answer this call.
pub(super) fn answer(record: &mut Record, id: &str, called: &str) {
    if let Some(Part::Reply { call, name, .. }) = record.content.parts.first_mut() {
        id.clone_into(call);
        if name.is_empty() {
            called.clone_into(name);
        }
    }
}
