//! Contents of nodes that were loaded, the least recently shown dropped when there are too many bytes of them.
//! Not for: deciding what is loaded (the view says what it lacks).

use crate::domain::base::ids::NodeId;
use crate::domain::conversation::message::Node;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Bytes kept at most.
pub const LIMIT: u64 = 32 * 1024 * 1024;

/// The loaded contents.
#[derive(Debug, Default)]
pub struct Bodies {
    held: HashMap<NodeId, (Arc<Node>, u64)>,
    bytes: u64,
    clock: u64,
    floor: u64,
    asked: HashSet<NodeId>,
}

impl Bodies {
    /// A node's content, if it is loaded.
    #[must_use]
    pub fn get(&self, id: NodeId) -> Option<&Arc<Node>> {
        self.held.get(&id).map(|(node, _)| node)
    }

    /// Says that a node was shown, so that it stays longer.
    pub fn touch(&mut self, id: NodeId) {
        self.clock += 1;
        if let Some((_, at)) = self.held.get_mut(&id) {
            *at = self.clock;
        }
    }

    /// Takes a content in and drops the longest unseen ones beyond the limit.
    pub fn put(&mut self, node: Arc<Node>) {
        self.asked.remove(&node.head.id);
        self.clock += 1;
        self.bytes += weight(&node);
        if let Some((old, _)) = self.held.insert(node.head.id, (node, self.clock)) {
            self.bytes -= weight(&old);
        }
        if self.bytes > LIMIT && self.held.len() > 1 {
            self.shrink();
        }
    }

    /// Forgets a content that changed.
    pub fn forget(&mut self, id: NodeId) {
        self.asked.remove(&id);
        if let Some((old, _)) = self.held.remove(&id) {
            self.bytes -= weight(&old);
        }
    }

    /// Of these nodes, the ones to ask for now; they count as asked from here on.
    pub fn lacking(&mut self, wanted: &[NodeId]) -> Vec<NodeId> {
        let lacks = |id: &&NodeId| !self.held.contains_key(id) && !self.asked.contains(id);
        let lacking: Vec<NodeId> = wanted.iter().filter(lacks).copied().collect();
        self.asked.extend(&lacking);
        lacking
    }

    /// What was asked for and did not come may be asked for again.
    pub fn retry(&mut self) {
        self.asked.clear();
    }

    /// A frame begins: what it shows stays, whatever its size.
    pub fn begin_frame(&mut self) {
        self.clock += 1;
        self.floor = self.clock;
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn shrink(&mut self) {
        let unseen = self.held.iter().filter(|(_, (_, at))| *at < self.floor);
        let mut by_age: Vec<(u64, NodeId)> = unseen.map(|(id, (_, at))| (*at, *id)).collect();
        by_age.sort_unstable();
        for (_, id) in by_age {
            if self.bytes <= LIMIT / 4 * 3 {
                break;
            }
            self.forget(id);
        }
    }
}

fn weight(node: &Node) -> u64 {
    node.content.bytes() + 256
}
