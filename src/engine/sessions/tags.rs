//! Labels and favorites: undoable, shared by all branches, and not part of any plan.
//! Not for: marks (`branches::marks`).

use crate::domain::base::{BranchId, Failure, Hash, SessionId};
use crate::domain::conversation::tag::clean;
use crate::domain::conversation::{Atom, Change, Tag};
use crate::engine::api::{Answer, Event, ItemName, SessionEvent, TagAct};
use crate::engine::core::Core;
use crate::engine::sessions::state::Sessions;
use crate::store::types::Write;

impl Core {
    /// Labels a message, makes it a favorite, or undoes one of these. A turn means its user message.
    pub(crate) fn tag(&mut self, id: BranchId, item: &ItemName, act: &TagAct) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let (atom, _) = self.target(&branch, item)?;
        let node = match atom {
            Atom::Turn { user: key, .. }
            | Atom::Preamble { first: key }
            | Atom::Message { node: key }
            | Atom::Episode { call: key, .. } => key,
            Atom::Section { .. } | Atom::Range { .. } => {
                return Err(Failure::user("Only messages can have labels and be favorites.").todo("Select a message."));
            }
        };
        let session = self.sessions.of_branch(id)?;
        let before = session.tags.get(&node).cloned();
        let mut after = before.clone().unwrap_or_else(|| Tag::new(node));
        let message = self.item_in_words(&branch, &Atom::Message { node }, None);
        let what = match act {
            TagAct::Label(label) => {
                after.label = clean(label);
                let did = if after.label.is_empty() { "removed the label of" } else { "labeled" };
                format!("{did} {message}")
            }
            TagAct::Favorite(wished) => {
                after.favorite = wished.unwrap_or(!after.favorite);
                if after.favorite {
                    format!("added {message} to the favorites")
                } else {
                    format!("removed {message} from the favorites")
                }
            }
        };
        let after = Some(after).filter(|tag| !tag.is_empty());
        if before == after {
            return Ok(Answer::Done("Nothing to change.".into()));
        }
        let session = branch.session;
        let write = Write::PutTag { session, node, expect: before.clone(), tag: after.clone() };
        self.record(session, &what, vec![write], &[Change::Tag { session, node, before, after }])
    }

    /// Applies a message's tag in memory and on the screen.
    pub(crate) fn put_tag(&mut self, session: SessionId, node: Hash, tag: Option<&Tag>) {
        if let Some(open) = self.sessions.open.get_mut(&session) {
            match tag {
                Some(tag) => drop(open.tags.insert(node, tag.clone())),
                None => drop(open.tags.remove(&node)),
            }
        }
        self.show_tags(session);
    }

    /// Sends all labels and favorites of a session to the screen.
    pub(crate) fn show_tags(&self, session: SessionId) {
        if let Some(open) = self.sessions.open.get(&session) {
            self.emit(Event::Session(SessionEvent::Tags { session, tags: open.tags.values().cloned().collect() }));
        }
    }
}

impl Sessions {
    /// Whether a message still has this tag.
    pub(crate) fn tag_is_current(&self, session: SessionId, node: Hash, tag: Option<&Tag>) -> bool {
        self.open.get(&session).is_some_and(|session| session.tags.get(&node) == tag)
    }
}
