//! Records of an import as nodes.
//! Not for: reading files (`import`) or what an import does to a session (`library`).

use super::api::Answer;
use super::core::Core;
use super::library::public_id;
use super::session::Session;
use crate::domain::branch::StateVersion;
use crate::domain::failure::Failure;
use crate::domain::hash::Hash;
use crate::domain::ids::NodeId;
use crate::domain::message::{End, Node, NodeHead, node_key};
use crate::domain::record::{Reading, Record, Transcript};
use crate::domain::tag::Tag;
use crate::store::types::Write;
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

impl Core {
    /// Takes the program's own conversation in (the demo): its states count at once.
    pub(super) fn take_in(&mut self, reading: Reading) -> Result<(), Failure> {
        let Answer::Imported { sessions, .. } = self.import(reading)? else { return Ok(()) };
        for id in sessions.into_iter().map(|imported| imported.session) {
            let states = self.store.states(id)?.into_iter();
            let counting = states.map(|state| StateVersion { offered: false, ..state });
            self.store.write(counting.map(|version| Write::PutState { session: id, version }).collect())?;
        }
        Ok(())
    }
}

/// The nodes of an import.
pub(super) struct Built {
    pub(super) nodes: Vec<Node>,
    /// Records that were there already.
    pub(super) known: u64,
    pub(super) current: Option<NodeId>,
    /// Names and stars that came with them, one a message.
    pub(super) tags: Vec<Tag>,
}

/// Records as nodes: keys carry source and external id, so that the same record is the same node in every import.
pub(super) fn build_nodes(transcript: &Transcript, old: Option<&Session>, now: i64) -> Built {
    let mut by_record: HashMap<&str, (NodeId, Hash, i64)> = HashMap::new();
    let mut tagged: HashSet<Hash> = HashSet::new();
    let mut ords: HashMap<Option<NodeId>, u32> = HashMap::new();
    let mut built = Built { nodes: Vec::new(), known: 0, current: None, tags: Vec::new() };
    let exported = old.filter(|session| transcript.source == format!("pleach:{}", session.card.id));
    let ours: HashMap<String, &NodeHead> =
        exported.iter().flat_map(|session| session.tree.heads()).map(|head| (public_id(head), head)).collect();
    for record in &transcript.records {
        let parent = record.parent.as_deref().and_then(|id| by_record.get(id)).copied();
        let content = (!record.content.parts.is_empty()).then(|| record.content.hash());
        let origin = (transcript.source.as_str(), record.id.as_str());
        let key = node_key(parent.map(|(_, key, _)| key), record.role, content, 0, Some(origin));
        let ord = ords.entry(parent.map(|(id, ..)| id)).or_default();
        let at = record
            .at
            .unwrap_or_else(|| parent.map_or(now, |(_, _, at)| at))
            .max(parent.map_or(i64::MIN, |(_, _, at)| at.saturating_add(1)));
        let own = ours.get(&record.id).copied().filter(|head| head.content == content || head.end == End::Removed);
        let there =
            own.or_else(|| old.and_then(|session| session.tree.by_key(key).map(|slot| session.tree.head(slot))));
        let key = there.map_or(key, |head| head.key);
        let id = there.map_or_else(|| NodeId(Uuid::now_v7()), |head| head.id);
        by_record.insert(&record.id, (id, key, there.map_or(at, |head| head.at)));
        if transcript.current.as_deref() == Some(&record.id) {
            built.current = Some(id);
        }
        let tag = Tag { node: key, label: record.label.clone(), favourite: record.favourite };
        if !tag.is_empty() && tagged.insert(key) {
            built.tags.push(tag);
        }
        if there.is_some() {
            built.known += 1;
        } else {
            built.nodes.push(imported_node(record, id, key, parent.map(|(id, ..)| id), *ord, at, content));
        }
        *ord += 1;
    }
    let last = transcript.records.last().and_then(|record| by_record.get(record.id.as_str())).map(|(id, ..)| *id);
    built.current = built.current.or(last);
    built
}

fn imported_node(
    record: &Record,
    id: NodeId,
    key: Hash,
    parent: Option<NodeId>,
    ord: u32,
    at: i64,
    content: Option<Hash>,
) -> Node {
    Node {
        head: NodeHead {
            id,
            key,
            parent,
            ord,
            role: record.role,
            end: record.end,
            at,
            bytes: record.content.bytes(),
            calls: u16::try_from(record.content.calls().count()).unwrap_or(u16::MAX),
            hidden: record.hidden,
            imported: true,
            content,
            preview: NodeHead::preview_of(&record.content.words()),
            model: record.model.clone(),
            name: record.name.clone(),
            lane: record.lane.clone(),
            external_id: Some(record.id.clone()),
        },
        content: record.content.clone(),
    }
}
