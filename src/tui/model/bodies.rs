//! A cache of the loaded contents of nodes. When it exceeds its size limit, it drops the least recently shown contents.
//! Not for: deciding which contents to load (the view reports missing ones).

use crate::domain::base::NodeId;
use crate::domain::conversation::Node;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The most bytes to keep.
pub const LIMIT: u64 = 32 * 1024 * 1024;

/// The loaded contents.
#[derive(Debug, Default)]
pub struct Bodies {
    loaded: HashMap<NodeId, (Arc<Node>, u64)>,
    bytes: u64,
    clock: u64,
    floor: u64,
    asked: HashSet<NodeId>,
}

impl Bodies {
    /// The content of a node, if it is loaded.
    pub fn get(&self, id: NodeId) -> Option<&Arc<Node>> {
        self.loaded.get(&id).map(|(node, _)| node)
    }

    /// Marks a node as shown, so that it stays longer.
    pub fn touch(&mut self, id: NodeId) {
        self.clock += 1;
        if let Some((_, at)) = self.loaded.get_mut(&id) {
            *at = self.clock;
        }
    }

    /// Adds a content, and drops the least recently shown contents beyond the limit.
    pub fn put(&mut self, node: Arc<Node>) {
        self.asked.remove(&node.head.id);
        self.clock += 1;
        self.bytes += weight(&node);
        if let Some((old, _)) = self.loaded.insert(node.head.id, (node, self.clock)) {
            self.bytes -= weight(&old);
        }
        if self.bytes > LIMIT && self.loaded.len() > 1 {
            self.shrink();
        }
    }

    /// Forgets a content that changed.
    pub fn forget(&mut self, id: NodeId) {
        self.asked.remove(&id);
        if let Some((old, _)) = self.loaded.remove(&id) {
            self.bytes -= weight(&old);
        }
    }

    /// Returns the nodes to request now, and records them as requested.
    pub fn lacking(&mut self, wanted: &[NodeId]) -> Vec<NodeId> {
        let lacks = |id: &&NodeId| !self.loaded.contains_key(id) && !self.asked.contains(id);
        let lacking: Vec<NodeId> = wanted.iter().filter(lacks).copied().collect();
        self.asked.extend(&lacking);
        lacking
    }

    /// Allows contents that were requested and did not arrive to be requested again.
    pub fn retry(&mut self) {
        self.asked.clear();
    }

    /// Begins a frame. Contents that it shows are not dropped, regardless of their size.
    pub fn begin_frame(&mut self) {
        self.clock += 1;
        self.floor = self.clock;
    }

    /// The bytes in the cache.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn shrink(&mut self) {
        let unseen = self.loaded.iter().filter(|(_, (_, at))| *at < self.floor);
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
