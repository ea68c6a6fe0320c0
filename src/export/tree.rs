//! The tree of an exported session, and the words about a message, for formats that people read.
//! Not for: the formats themselves.

use crate::domain::conversation::{End, NodeHead, Record, Role, Transcript};
use std::collections::HashMap;

/// Parents and children, by the index of the record.
pub(super) struct ChildrenByParent {
    pub(super) parents: Vec<Option<usize>>,
    pub(super) children: Vec<Vec<usize>>,
    pub(super) roots: Vec<usize>,
    pub(super) on_path: Vec<bool>,
}

impl ChildrenByParent {
    pub(super) fn of(transcript: &Transcript) -> Self {
        let count = transcript.records.len();
        let by_id: HashMap<&str, usize> =
            transcript.records.iter().enumerate().map(|(at, record)| (record.id.as_str(), at)).collect();
        // Only an earlier record counts as a parent. Records list parents first, so there cannot be a cycle.
        let parents: Vec<Option<usize>> = transcript
            .records
            .iter()
            .enumerate()
            .map(|(at, record)| record.parent.as_deref().and_then(|id| by_id.get(id)).copied().filter(|p| *p < at))
            .collect();
        let (mut children, mut roots) = (vec![Vec::new(); count], Vec::new());
        for (at, parent) in parents.iter().enumerate() {
            match parent {
                Some(parent) => children[*parent].push(at),
                None => roots.push(at),
            }
        }
        let mut on_path = vec![false; count];
        let mut at = transcript.current.as_deref().and_then(|id| by_id.get(id)).copied();
        while let Some(node) = at {
            on_path[node] = true;
            at = parents[node];
        }
        Self { parents, children, roots, on_path }
    }

    /// Returns the root that the text begins with: the root of the current path, or else the first.
    pub(super) fn main_root(&self) -> Option<usize> {
        self.roots.iter().find(|root| self.on_path[**root]).or(self.roots.first()).copied()
    }

    /// Returns the child that the text continues with: the child on the current path, or else the newest.
    pub(super) fn next(&self, node: usize) -> Option<usize> {
        let children = &self.children[node];
        children.iter().find(|kid| self.on_path[**kid]).or(children.last()).copied()
    }
}

/// Returns who wrote a message.
pub(super) fn who(record: &Record) -> &'static str {
    match record.role {
        Role::System => "Instructions",
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Tool => "Tool",
    }
}

/// Whether a message has anything to show.
pub(super) fn is_shown(record: &Record) -> bool {
    !record.content.parts.is_empty() || record.end != End::Complete
}

/// Returns the time, the model, the lane, and the state of a message, as far as they are known.
pub(super) fn about(record: &Record) -> Vec<String> {
    let mut about = Vec::new();
    about.extend(record.at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok()).map(|stamp| stamp.to_string()));
    about.extend(record.model.as_deref().map(one_line));
    if !record.lane.is_empty() {
        about.push(format!("lane {}", one_line(&record.lane)));
    }
    if record.end != End::Complete {
        about.push(record.end.name().to_owned());
    }
    if record.hidden {
        about.push("hidden".to_owned());
    }
    about
}

/// Returns the beginning of a text in one line.
pub(super) fn one_line(text: &str) -> String {
    NodeHead::preview_of(text)
}
