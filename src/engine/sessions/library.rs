//! Sessions as a library: create, open, rename, delete, search, import, export.
//! Not for: the content of a session.

use super::session::{Session, cleared_key, cleared_texts, draft_key, earlier_cleared_key, state_at, undoable};
use crate::domain::base::damage::deleted_text_sentence;
use crate::domain::base::{BackupAct, BranchId, Failure, FailureKind, Hash, NodeId, SessionId};
use crate::domain::conversation::message::PRIORITY;
use crate::domain::conversation::{
    Atom, Branch, BranchPointer, Change, Content, End, Node, NodeHead, Record, Role, SessionCard, Slot, StateVersion,
    Transcript, state, state_suggestions, tree,
};
use crate::engine::api::{Answer, BranchAnswer, ItemName, SessionAnswer};
use crate::engine::branches::pick::remove_copied_texts;
use crate::engine::core::Core;
use crate::engine::plans::snapshot::{Question, anchor_key, fresh_key, lane_of};
use crate::engine::sessions::lookup::{named_branch, named_session};
use crate::engine::sessions::memory::kept_memories_sentence;
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::embedder::vectors_of;
use crate::engine::turns::live::new_head;
use crate::store::Store;
use crate::store::types::Write;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use uuid::Uuid;

/// The name of the branch that every session begins with.
pub(crate) const FIRST: &str = "main";

/// The maximum number of search results.
const HITS: usize = 200;

/// The maximum number of cleared messages that are stored for a branch.
const MAX_CLEARED: usize = 20;

/// The maximum total size in bytes of a branch's stored cleared messages, without the last one.
const MAX_CLEARED_BYTES: usize = 4 << 20;

impl Core {
    /// Creates a session with a branch `main` and opens it.
    pub(crate) fn new_session(&mut self, title: &str) -> Result<Answer, Failure> {
        let at = self.setup.now();
        let title = if title.trim().is_empty() { dated(at) } else { title.trim().to_owned() };
        let id = SessionId(Uuid::now_v7());
        let branch = first_branch(id, None, at);
        self.store.write(vec![
            Write::PutSession { id, title, at },
            Write::PutBranch(Box::new(branch.clone())),
            Write::UseSession(id),
            Write::UseBranch(branch.id),
        ])?;
        self.open(id, None, false)
    }

    /// Opens a session by name or id; the last used session if `None`.
    pub(crate) fn open_session(
        &mut self,
        session: Option<&str>,
        branch: Option<&str>,
        create: bool,
    ) -> Result<Answer, Failure> {
        match named_session(&self.store, session)? {
            Some(id) => self.open(id, branch, create),
            None if create => self.new_session(""),
            None => Err(Failure::no_session()),
        }
    }

    /// Opens a session by name or id; the last used session if `None`. If there is none, opens a new session that is not
    /// stored.
    pub(crate) fn open_unsaved(&mut self, session: Option<&str>, branch: Option<&str>) -> Result<Answer, Failure> {
        let known = named_session(&self.store, session)?;
        let id = known.unwrap_or_else(|| SessionId(Uuid::now_v7()));
        if known.is_none() {
            let at = self.setup.now();
            let card = SessionCard { id, title: dated(at), created_at: at, updated_at: at, messages: 0, branches: 1 };
            let branch = first_branch(id, None, at);
            let session = Session { current: branch.id, branches: vec![branch], ..Session::blank(card) };
            self.sessions.open.insert(id, session);
        }
        self.open(id, branch, true)
    }

    /// Removes a deleted session and everything about its branches from memory. Returns it if it was open.
    pub(crate) fn close_session(&mut self, id: SessionId) -> Option<Session> {
        let old = self.sessions.open.remove(&id)?;
        let branches: Vec<BranchId> = old.branches.iter().map(|branch| branch.id).collect();
        self.forget_branches(&branches);
        self.sessions.current_id = self.sessions.current_id.filter(|current| *current != id);
        Some(old)
    }

    pub(crate) fn open(&mut self, id: SessionId, branch: Option<&str>, create: bool) -> Result<Answer, Failure> {
        let session = load_session(&mut self.sessions, &self.store, id)?;
        session.current = named_branch(session, branch)?;
        let current = session.current;
        self.sessions.current_id = Some(id);
        if !self.store.read_only() {
            // Storing the last used session is optional: a full disk must not prevent reading.
            let _ = self.store.write(vec![Write::UseSession(id), Write::UseBranch(current)]);
        }
        let recovered = std::mem::take(&mut self.sessions.recovered);
        let workspace = (self.setup.workspace.clone(), self.tools.trusted);
        let view = self.sessions.current()?.view(&self.store, workspace, recovered)?;
        let branch = self.sessions.branch(current)?;
        if create {
            self.learn_window(&branch);
        }
        Ok(SessionAnswer::Opened(Arc::new(view)).into())
    }

    /// Renames a session (undoable).
    pub(crate) fn rename_session(&mut self, named: Option<&str>, title: &str) -> Result<Answer, Failure> {
        let id = named_session(&self.store, named)?.ok_or_else(Failure::no_session)?;
        let card = self.store.session(id)?.ok_or_else(Failure::session_gone)?;
        let title = title.trim().to_owned();
        if title.is_empty() {
            return Err(Failure::user("A session needs a title."));
        }
        let change = Change::Title { before: card.title.clone(), after: title.clone() };
        let what = format!("renamed the session {:?} to {title:?}", card.title);
        let operation = self.setup.operation(id, what.clone(), vec![change]);
        self.store.write(vec![Write::SetTitle { session: id, title: title.clone() }, operation])?;
        self.show_title(card, title);
        Ok(undoable(&what))
    }

    /// Deletes a session permanently.
    pub(crate) fn delete_session(&mut self, named: Option<&str>) -> Result<Answer, Failure> {
        let id = named_session(&self.store, named)?.ok_or_else(Failure::no_session)?;
        if self.turns.live.values().any(|live| live.session == id) {
            return Err(
                Failure::new(FailureKind::Busy, "An answer is still arriving in that session.").todo("Stop it first.")
            );
        }
        self.recover_session(id);
        let whole = Session::load(&self.store, id)?;
        let nodes: Vec<NodeId> = whole.tree.heads().map(|head| head.id).collect();
        let vectors = vectors_of(&self.store, &self.workers, &nodes)?;
        let own = |id| [draft_key(id), cleared_key(id), earlier_cleared_key(id)];
        let keys = whole.branches.iter().flat_map(|branch| own(branch.id));
        let drafts = keys.map(|key| Write::SetValue { key, value: None });
        self.store.write(drafts.chain([Write::DropEmbeddings(vectors), Write::DeleteSession(id)]).collect())?;
        self.workers.forget_vectors();
        self.close_session(id);
        Ok(Answer::Done(with_remaining_copies(&self.store, "The session and all its messages are deleted.".into())))
    }

    /// Appends a message without calling a model.
    pub(crate) fn add_message(
        &mut self,
        id: BranchId,
        (role, text): (Role, &str),
        priority: Option<u8>,
    ) -> Result<Answer, Failure> {
        self.turns.ensure_idle(id)?;
        let branch = self.sessions.branch(id)?;
        let session = self.sessions.of_branch(id)?;
        let extra = priority.map(|priority| serde_json::json!({ PRIORITY: priority }));
        let content = Content { extra, ..Content::text(text) };
        let parent = session.head(&branch);
        let key = fresh_key(session, parent, role, &content);
        let above = parent.map(|slot| session.tree.head(slot));
        let asked = Question { text: Some(text.into()), ..Default::default() };
        let lane = if role == Role::User {
            lane_of(session, &branch, parent, &asked)
        } else {
            above.map_or_else(String::new, |head| head.lane.clone())
        };
        let head = new_head(session, parent, key, role, &content, self.setup.now(), &lane);
        let session_id = session.card.id;
        self.store.write(vec![
            Write::PutNodes { session: session_id, nodes: vec![Node { head: head.clone(), content }] },
            Write::MoveHead { branch: id, expect: branch.head, head: Some(head.id) },
        ])?;
        self.adopt(id, vec![head.clone()], Some(head.id));
        self.show_branch(id);
        Ok(BranchAnswer::Added(Box::new(head)).into())
    }

    /// Deletes a turn or message permanently; its place in the tree remains.
    pub(crate) fn remove_message(&mut self, id: BranchId, item: &ItemName) -> Result<Answer, Failure> {
        let open = self.sessions.of_branch(id)?.card.id;
        self.recover_session(open);
        let branch = self.sessions.branch(id)?;
        let (atom, _) = self.target(&branch, item)?;
        let session = self.sessions.of_branch(id)?;
        let nodes = whole(session, &branch, &atom).ok_or_else(|| Failure::user("Only messages can be deleted."))?;
        let session_id = session.card.id;
        let count = nodes.len();
        let keys: Vec<Hash> = nodes.iter().filter_map(|id| session.tree.get(*id)).map(|head| head.key).collect();
        let memories = kept_memories_sentence(&self.store, session_id, &keys)?;
        let vectors = vectors_of(&self.store, &self.workers, &nodes)?;
        let mut writes = remove_copied_texts(session, &keys);
        writes.extend([Write::DropEmbeddings(vectors), Write::Tombstone { session: session_id, nodes }]);
        let (_, plans) = self.store.unconverted_plans()?;
        self.store.write(writes)?;
        let dropped = if self.store.unconverted_plans()?.1 < plans {
            " Stored plans that could not be read were dropped, because they might have contained the text."
        } else {
            ""
        };
        let fresh = Session::load(&self.store, session_id)?;
        let heads: Vec<NodeHead> = fresh.tree.heads().filter(|head| head.end == End::Removed).cloned().collect();
        let branches: Vec<BranchId> = fresh.branches.iter().map(|b| b.id).collect();
        let old = self.sessions.of_branch(id)?;
        let (current, state_missing) = (old.current, old.state_missing.clone());
        self.sessions.open.insert(session_id, Session { current, state_missing, ..fresh });
        self.forget_branches(&branches);
        self.workers.forget_vectors();
        self.show_nodes(session_id, heads);
        for branch in branches {
            self.show_branch(branch);
        }
        let done = if count == 1 {
            "1 message is deleted permanently; a placeholder remains.".to_owned()
        } else {
            format!("{count} messages are deleted permanently; placeholders remain.")
        };
        Ok(Answer::Done(with_remaining_copies(&self.store, format!("{done}{memories}{dropped}"))))
    }
}

/// Returns all nodes, parents before children and siblings in their order.
fn whole_tree(session: &Session) -> Vec<Slot> {
    let mut slots = Vec::with_capacity(session.tree.len());
    let mut waiting: Vec<Slot> = session.tree.children(None).iter().rev().copied().collect();
    while let Some(slot) = waiting.pop() {
        slots.push(slot);
        waiting.extend(session.tree.children(Some(slot)).iter().rev());
    }
    slots
}

/// Returns all nodes of an atom. For a message inside an episode, returns the whole episode, so that calls keep their
/// results.
fn whole(session: &Session, branch: &Branch, atom: &Atom) -> Option<Vec<NodeId>> {
    let tree = &session.tree;
    let at = tree.by_key(anchor_key(atom)?)?;
    let below = |role: Role| tree.children(Some(at)).iter().any(|child| tree.head(*child).role == role);
    let tip = match (atom, session.head(branch)) {
        (Atom::Turn { .. }, _) | (_, None) => at,
        (_, Some(tip)) if tree.contains(at, tip) => tip,
        _ if below(Role::Tool) => tree.leaf(at),
        _ => at,
    };
    let path = tree.path(tip);
    let position = tree.depth(at) as usize;
    let range = match *atom {
        Atom::Turn { user, .. } => tree.by_key(user).map_or(position, |slot| tree.depth(slot) as usize)..position + 1,
        Atom::Preamble { .. } => {
            let asked = path.iter().position(|slot| tree.head(*slot).role == Role::User);
            position..asked.unwrap_or(path.len()).max(position + 1)
        }
        _ => {
            let episodes = tree::episodes(tree, &path, 0..path.len());
            episodes.into_iter().find(|nodes| nodes.contains(&position)).unwrap_or(position..position + 1)
        }
    };
    Some(path[range].iter().map(|slot| tree.head(*slot).id).collect())
}

/// Returns the state blocks that imported answers contain. They are only offered; a state block applies only after a
/// person adopts it.
pub(crate) fn states_of(nodes: &[Node], first: u32) -> Vec<StateVersion> {
    let answers = nodes.iter().filter(|node| node.head.role == Role::Assistant && !node.head.hidden);
    let found = answers.filter_map(|node| {
        let block = state::find(&node.content.plain_text(), node.head.end == End::Complete)?;
        let state = state_suggestions::read(&block.text).state;
        (!state.is_empty()).then_some((node, state))
    });
    let version = |((node, text), version): ((&Node, String), u32)| StateVersion {
        offered: true,
        ..state_at(&node.head, version, text)
    };
    found.zip(first..).map(version).collect()
}

pub(crate) fn origin_key(session: SessionId) -> String {
    format!("source:{session}")
}

/// Returns the branches for an export; empty if there is only the default branch.
fn pointers(session: &Session) -> Vec<BranchPointer> {
    if let [only] = session.branches.as_slice()
        && only.name == FIRST
    {
        return Vec::new();
    }
    let head = |branch: &Branch| branch.head.and_then(|id| session.tree.get(id)).map(public_id);
    let pointer = |branch: &Branch| BranchPointer {
        name: branch.name.clone(),
        head: head(branch),
        archived: branch.archived,
        current: branch.id == session.current,
    };
    session.branches.iter().map(pointer).collect()
}

/// Returns the id of a node for export: its external id, or else its own.
pub(crate) fn public_id(head: &NodeHead) -> String {
    head.external_id.clone().unwrap_or_else(|| head.id.to_string())
}

fn record(session: &Session, node: Node) -> Record {
    let Node { head, content } = node;
    let parent = head.parent.and_then(|id| session.tree.get(id)).map(public_id);
    let tag = session.tags.get(&head.key);
    Record {
        label: tag.map(|tag| tag.label.clone()).unwrap_or_default(),
        favorite: tag.is_some_and(|tag| tag.favorite),
        id: public_id(&head),
        parent,
        role: head.role,
        name: head.name.clone(),
        content,
        end: head.end,
        at: Some(head.at),
        lane: head.lane.clone(),
        hidden: head.hidden,
        model: head.model.clone(),
    }
}

pub(crate) fn first_branch(session: SessionId, head: Option<NodeId>, at: i64) -> Branch {
    Branch::new(BranchId(Uuid::now_v7()), session, FIRST, head, at)
}

pub(crate) fn dated(at: i64) -> String {
    let zoned = jiff::Timestamp::from_millisecond(at).map(|t| t.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map_or_else(|_| "session".into(), |t| t.strftime("%Y-%m-%d %H:%M").to_string())
}

impl Core {
    /// Opens a session on a branch whose path contains a message.
    pub(crate) fn open_at(&mut self, id: SessionId, node: NodeId) -> Result<Answer, Failure> {
        let holding = load_session(&mut self.sessions, &self.store, id)?.holding(node);
        self.open(id, holding.map(|branch| branch.to_string()).as_deref(), false)
    }

    /// Stores a message that was cleared on a branch, together with earlier cleared messages: at most [`MAX_CLEARED`]
    /// messages in all, and at most [`MAX_CLEARED_BYTES`] of earlier messages.
    pub(crate) fn keep_cleared(&mut self, branch: BranchId, text: &str) -> Result<Answer, Failure> {
        self.sessions.branch(branch)?;
        if !self.store.read_only() && !text.is_empty() {
            let mut bytes = 0;
            let before = cleared_texts(&self.store, branch)?.into_iter().filter(|(_, known)| known != text);
            let before = before.take(MAX_CLEARED - 1).take_while(|(_, known)| {
                bytes += known.len();
                bytes <= MAX_CLEARED_BYTES
            });
            let before: Vec<(i64, String)> = before.collect();
            let earlier = (!before.is_empty()).then(|| serde_json::to_string(&before).ok()).flatten();
            let last = Some(format!("{} {text}", self.setup.now()));
            self.store.write(vec![
                Write::SetValue { key: earlier_cleared_key(branch), value: earlier },
                Write::SetValue { key: cleared_key(branch), value: last },
            ])?;
        }
        Ok(Answer::Done(String::new()))
    }
}

/// Returns a session, reading it from the store unless it is open.
pub(crate) fn load_session<'a>(
    sessions: &'a mut Sessions,
    store: &Store,
    id: SessionId,
) -> Result<&'a mut Session, Failure> {
    Ok(match sessions.open.entry(id) {
        Entry::Occupied(open) => open.into_mut(),
        Entry::Vacant(place) => place.insert(Session::load(store, id)?),
    })
}

/// Returns a branch's path as Markdown, with secrets masked.
pub(crate) fn markdown(sessions: &Sessions, store: &Store, branch: BranchId) -> Result<Answer, Failure> {
    let id = sessions.of_branch(branch)?.card.id.to_string();
    Ok(Answer::Text(crate::export::markdown(&transcript(store, Some(&id), Some(branch))?, true)))
}

/// Stores the unsent text of a branch.
pub(crate) fn keep_draft(
    sessions: &mut Sessions,
    store: &Store,
    branch: BranchId,
    text: &str,
) -> Result<Answer, Failure> {
    sessions.branch(branch)?;
    if !store.read_only() {
        let value = (!text.is_empty()).then(|| text.to_owned());
        store.write(vec![Write::SetValue { key: draft_key(branch), value }])?;
    }
    Ok(Answer::Done(String::new()))
}

/// Returns the sessions that contain these words, best match first.
pub(crate) fn search_sessions(store: &Store, words: &str) -> Result<Answer, Failure> {
    let cards = store.sessions()?;
    let titled = |card: &&SessionCard| card.title.to_lowercase().contains(&words.to_lowercase());
    let mut found: Vec<SessionCard> = cards.iter().filter(titled).cloned().collect();
    for session in store.search(words, HITS)? {
        if !found.iter().any(|card| card.id == session) {
            found.extend(cards.iter().find(|card| card.id == session).cloned());
        }
    }
    Ok(SessionAnswer::Sessions(found).into())
}

/// Adds to a sentence where deleted text still exists: in the log while another program reads it, and in backups.
fn with_remaining_copies(store: &Store, mut done: String) -> String {
    if let Some(held) = store.copies(BackupAct::List).ok().and_then(|all| deleted_text_sentence(&all)) {
        done = format!("{done} {held}");
    }
    if !store.purge_pending() {
        return done;
    }
    format!(
        "{done} The old text is still in the store's log, because another program is reading the store; the text \
        is deleted when that program is done (until then, `pleach doctor` reports it)."
    )
}

/// Returns a session, or one branch of it, as neutral records.
pub(crate) fn transcript(store: &Store, named: Option<&str>, branch: Option<BranchId>) -> Result<Transcript, Failure> {
    let id = named_session(store, named)?.ok_or_else(Failure::no_session)?;
    let session = Session::load(store, id)?;
    let only = branch.map(|branch| session.branch(branch).cloned()).transpose()?;
    records_of(store, &session, only.as_ref())
}

/// Returns the places of the exported messages: the path of one branch, or the whole tree.
pub(crate) fn exported(session: &Session, only: Option<&Branch>) -> Vec<Slot> {
    only.map_or_else(|| whole_tree(session), |branch| session.path(branch))
}

/// Returns a loaded session, or one branch of it, as neutral records.
pub(crate) fn records_of(store: &Store, session: &Session, only: Option<&Branch>) -> Result<Transcript, Failure> {
    let id = session.card.id;
    let ids: Vec<NodeId> = exported(session, only).into_iter().map(|slot| session.tree.head(slot).id).collect();
    let mut records = Vec::with_capacity(ids.len());
    for batch in ids.chunks(1_000) {
        records.extend(store.nodes(batch)?.into_iter().map(|node| record(session, node)));
    }
    let branch = only.or(session.branches.iter().find(|b| b.id == session.current));
    let current = branch.and_then(|branch| branch.head).and_then(|id| session.tree.get(id)).map(public_id);
    let source = store.setting(&origin_key(id))?.unwrap_or_else(|| format!("pleach:{id}"));
    let branches = if only.is_some() { Vec::new() } else { pointers(session) };
    Ok(Transcript { source, title: session.card.title.clone(), records, current, branches })
}
