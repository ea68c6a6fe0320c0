//! Stores the records of an import, in portions. Each portion is one transaction that first looks up the records that
//! are already stored, so that concurrent or interrupted imports add nothing twice.
//! Not for: reading files (`import`).

use super::library::{dated, first_branch, origin_key, states_of};
use crate::domain::base::{BranchId, Failure, FailureKind, Hash, NodeId, SessionId, secrets};
use crate::domain::conversation::message::node_key;
use crate::domain::conversation::{
    Branch, BranchPointer, ImportResult, ImportedFile, IncomingPieces, Lane, Node, NodeHead, Piece, PieceReader,
    PlacedRecord, Record, Report, Skipped, StateVersion, Tag,
};
use crate::engine::api::{Answer, SessionAnswer};
use crate::engine::core::Core;
use crate::store::tables::lookup::{BranchName, StoreLookup};
use crate::store::types::{StoreError, Write};
use std::collections::HashMap;
use uuid::Uuid;

/// The number of recent nodes in memory; parents among them are found without a look-up in the store.
const RECENT: usize = 8_192;

/// The maximum number of branches that are read from one file.
const BRANCHES: usize = 1_000;

/// The id and time of a node that a record became or already was.
#[derive(Clone, Copy)]
struct ImportedNode {
    id: NodeId,
    at: i64,
}

#[derive(Default)]
struct SessionImport {
    source: String,
    title: String,
    now: i64,
    /// The id of the session, once anything was written.
    session: Option<SessionId>,
    /// Whether this import created the session.
    made: bool,
    /// By the record's number: the key of its node, and the number of the file's records below it.
    placed: Vec<(Hash, u32)>,
    /// By the number of a record that became no node: the number of the record that its children follow.
    skipped: HashMap<u32, Option<u32>>,
    roots: u32,
    /// The most recent nodes with the numbers of their records, as a ring buffer.
    recent: Vec<(u32, ImportedNode)>,
    added: u64,
    known: u64,
    /// The session's branches.
    branches: u64,
    /// States that wait for a person's decision.
    states: u64,
    head: Option<NodeId>,
    /// Records that are not written yet, so that the last records are written together with the end of the session.
    waiting: Vec<PlacedRecord>,
}

#[derive(Default)]
struct ImportProgress {
    /// Sessions that are complete.
    sessions: Vec<ImportResult>,
    /// Sessions that could not be stored.
    failed: Vec<Skipped>,
    /// New messages of all sessions.
    added: u64,
}

/// The end of a session in the file.
#[derive(Default)]
struct SessionEnd {
    current: Option<u32>,
    branches: Vec<(BranchPointer, Option<u32>)>,
}

impl Core {
    /// Imports the program's own conversation (the demo); its states apply immediately.
    pub(crate) fn import_reading(&mut self, reading: ImportedFile) -> Result<(), Failure> {
        let Answer::Session(SessionAnswer::Imported { sessions, .. }) = self.import(&reading.incoming())? else {
            return Ok(());
        };
        for id in sessions.into_iter().map(|imported| imported.session) {
            let states = self.store.states(id)?.into_iter();
            let counting = states.map(|state| StateVersion { offered: false, ..state });
            self.store.write(counting.map(|version| Write::PutState { session: id, version }).collect())?;
        }
        Ok(())
    }

    /// Imports all pieces that a reader returns.
    pub(crate) fn import(&mut self, incoming: &IncomingPieces) -> Result<Answer, Failure> {
        let Ok(mut pieces) = incoming.0.lock() else {
            return Err(Failure::new(FailureKind::Internal, "The file could not be read."));
        };
        let mut taken = ImportProgress::default();
        let read = self.take_pieces(&mut *pieces, &mut taken);
        let Report { format, mut skipped } = pieces.report();
        let ImportProgress { sessions, failed, added } = taken;
        skipped.extend(failed);
        if !self.sessions.open.is_empty() && (added > 0 || !sessions.is_empty()) {
            self.sessions.data_version = -1;
            self.check_store();
        }
        read.map_err(|failure| failure.kept(kept(&sessions, added)))?;
        if let Some(last) = sessions.last() {
            self.store.write(vec![Write::UseSession(last.session)])?;
        }
        Ok(SessionAnswer::Imported { format, sessions, skipped }.into())
    }

    fn take_pieces(&self, pieces: &mut dyn PieceReader, taken: &mut ImportProgress) -> Result<(), Failure> {
        let mut open: HashMap<usize, SessionImport> = HashMap::new();
        let mut last = None;
        while let Some(piece) = pieces.next()? {
            let (session, records, end) = match piece {
                Piece::Begin { session, source, title } => {
                    open.insert(session, SessionImport::new(source, title, self.setup.now()));
                    continue;
                }
                Piece::Records { session, records } => (session, records, None),
                Piece::End { session, current, branches } => {
                    (session, Vec::new(), Some(SessionEnd { current, branches }))
                }
            };
            // Only one session at a time has records that are not written.
            if let Some(other) = last.replace(session).filter(|other| *other != session)
                && let Some(session_import) = open.remove(&other)
            {
                let written = self.write_portion(session_import, Vec::new(), None, taken)?;
                open.extend(written.map(|session_import| (other, session_import)));
            }
            let Some(session_import) = open.remove(&session) else { continue };
            let over = end.is_some();
            let Some(session_import) = self.write_portion(session_import, records, end, taken)? else { continue };
            if over {
                taken.sessions.extend(session_import.result());
            } else {
                open.insert(session, session_import);
            }
        }
        Ok(())
    }

    /// Writes the waiting records and keeps the fresh ones waiting, unless this is the end. Returns `None` if the
    /// session cannot be stored.
    fn write_portion(
        &self,
        mut session_import: SessionImport,
        fresh: Vec<PlacedRecord>,
        end: Option<SessionEnd>,
        taken: &mut ImportProgress,
    ) -> Result<Option<SessionImport>, Failure> {
        let waiting = std::mem::replace(&mut session_import.waiting, fresh);
        if waiting.is_empty() && end.is_none() {
            return Ok(Some(session_import));
        }
        let before = session_import.added;
        match self.store.decide(move |known| session_import.write(known, waiting, end)) {
            Ok(session_import) => {
                taken.added += session_import.added - before;
                Ok(Some(session_import))
            }
            Err(error) => {
                let failure = Failure::from(error);
                // If the store refuses one session, it refuses the next one too.
                if failure.kind == FailureKind::Store {
                    return Err(failure);
                }
                taken.failed.push(Skipped { place: "session".into(), why: failure.to_string() });
                Ok(None)
            }
        }
    }
}

/// Returns a sentence about the data that a failed import has stored.
fn kept(sessions: &[ImportResult], added: u64) -> String {
    match (sessions.len(), added) {
        (0, 0) => "Nothing was imported.".into(),
        (0, added) => format!("{added} messages were imported; import the file again for the rest."),
        (1, _) => "The first conversation was imported; import the file again for the rest.".into(),
        (whole, _) => format!("The first {whole} conversations were imported; import the file again for the rest."),
    }
}

impl SessionImport {
    fn new(source: String, title: String, now: i64) -> Self {
        Self { source, title, now, ..Self::default() }
    }

    /// Returns the result of the import of this session; `None` if nothing was written.
    fn result(self) -> Option<ImportResult> {
        let Self { session, title, added, known, branches, states, head, .. } = self;
        session.map(|session| ImportResult { states, session, title, added, known, branches, head })
    }

    /// Computes the writes of a portion, inside its transaction.
    fn write(
        mut self,
        known: &StoreLookup<'_>,
        records: Vec<PlacedRecord>,
        end: Option<SessionEnd>,
    ) -> Result<(Vec<Write>, Self), StoreError> {
        let mut writes = Vec::new();
        let session = match self.session {
            Some(session) => session,
            None => self.find(known, &mut writes)?,
        };
        let (nodes, tags) = self.nodes(known, session, records)?;
        let states = if nodes.is_empty() { Vec::new() } else { states_of(&nodes, known.next_state(session)?) };
        self.states += states.len() as u64;
        writes.push(Write::PutNodes { session, nodes });
        writes.extend(states.into_iter().map(|version| Write::PutState { session, version }));
        writes.extend(tags.into_iter().map(|tag| Write::PutTag {
            session,
            node: tag.node,
            expect: None,
            tag: Some(tag),
        }));
        let tip = u32::try_from(self.placed.len()).ok().and_then(|count| count.checked_sub(1));
        let current = end.as_ref().and_then(|stand| stand.current).or(tip);
        self.head = self.node(known, session, current)?;
        self.write_branches(known, session, end, &mut writes)?;
        let made = writes.iter().filter(|write| matches!(write, Write::PutBranch(_))).count();
        self.branches = (known.branches(session)?.len() + made) as u64;
        Ok((writes, self))
    }

    /// Returns the session that an earlier import from this source created, or a new one.
    fn find(&mut self, known: &StoreLookup<'_>, writes: &mut Vec<Write>) -> Result<SessionId, StoreError> {
        let source_key = format!("import:{}", self.source);
        let stored = known.setting(&source_key)?;
        let ids = [stored.as_deref(), self.source.strip_prefix("pleach:")];
        for id in ids.into_iter().flatten().filter_map(|id| id.parse::<SessionId>().ok()) {
            if let Some(title) = known.title(id)? {
                (self.session, self.title) = (Some(id), title);
                return Ok(id);
            }
        }
        let title = self.title.trim();
        self.title = if title.is_empty() { dated(self.now) } else { title.to_owned() };
        self.made = true;
        let id = SessionId(Uuid::now_v7());
        self.session = Some(id);
        writes.push(Write::PutSession { id, title: self.title.clone(), at: self.now });
        writes.push(Write::SetValue { key: source_key, value: Some(id.to_string()) });
        writes.push(Write::SetValue { key: origin_key(id), value: Some(self.source.clone()) });
        Ok(id)
    }

    /// Converts records to nodes. Keys contain the source and the external id, so that the same record is the same node
    /// in every import.
    fn nodes(
        &mut self,
        known: &StoreLookup<'_>,
        session: SessionId,
        records: Vec<PlacedRecord>,
    ) -> Result<(Vec<Node>, Vec<Tag>), StoreError> {
        let (mut nodes, mut tags) = (Vec::new(), Vec::new());
        // The time of a first message without one: just before the others, which keep theirs.
        let first = records.iter().filter_map(|it| it.record.at).min().map_or(self.now, |at| at.saturating_sub(1));
        for PlacedRecord { mut record, parent, reply_root, is_blank } in records {
            let parent = self.kept(parent);
            if let Some((root, _)) = reply_root.and_then(|number| self.placed.get(number as usize)) {
                record.lane = Lane::Reply(root.to_string()).text();
            }
            let above = self.node_of_record(known, session, parent)?;
            let content = (!record.content.parts.is_empty()).then(|| record.content.hash());
            let origin = (self.source.as_str(), record.id.as_str());
            let key = node_key(above.map(|(key, _)| key), record.role, content, 0, Some(origin));
            let own = record.id.parse::<NodeId>().ok().filter(|_| !self.made);
            let own = own.map(|id| known.by_id(session, id)).transpose()?.flatten();
            // A masked copy of a message is no other message.
            let masked = || serde_json::to_string(&record.content).is_ok_and(|text| secrets::was_masked(&text));
            let own = own.filter(|there| there.content == content || there.removed || masked());
            let there = if own.is_some() { own } else { known.by_key(session, key)? };
            let at = record.at.unwrap_or_else(|| above.map_or(first, |(_, above)| above.at));
            let at = at.max(above.map_or(i64::MIN, |(_, above)| above.at.saturating_add(1)));
            let spot = there.map_or_else(
                || ImportedNode { id: NodeId(Uuid::now_v7()), at },
                |there| ImportedNode { id: there.id, at: there.at },
            );
            let key = there.map_or(key, |there| there.key);
            let number = self.put(key, spot);
            // An earlier version stored such records. They stay in conversations that it imported.
            if is_blank && there.is_none() {
                self.skipped.insert(number, parent);
                continue;
            }
            let siblings = match parent.and_then(|number| self.placed.get_mut(number as usize)) {
                Some((_, children)) => children,
                None => &mut self.roots,
            };
            let ord = std::mem::replace(siblings, *siblings + 1);
            let tag = Tag { node: key, label: record.label.clone(), favorite: record.favorite };
            if !tag.is_empty() && !known.tagged(session, key)? && !tags.iter().any(|other: &Tag| other.node == key) {
                tags.push(tag);
            }
            if there.is_some() {
                self.known += 1;
            } else {
                self.added += 1;
                nodes.push(imported_node(record, spot, key, above.map(|(_, above)| above.id), ord, content));
            }
        }
        Ok((nodes, tags))
    }

    /// Adds the node of the next record. Returns the record's number.
    fn put(&mut self, key: Hash, spot: ImportedNode) -> u32 {
        let at = self.placed.len();
        self.placed.push((key, 0));
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        match self.recent.get_mut(at % RECENT) {
            Some(old) => *old = (number, spot),
            None => self.recent.push((number, spot)),
        }
        number
    }

    /// Returns the number of a record or, if it became no node, of the record that its children follow.
    fn kept(&self, number: Option<u32>) -> Option<u32> {
        number.and_then(|number| self.skipped.get(&number).copied().unwrap_or(Some(number)))
    }

    /// Returns the key and the node of a record.
    fn node_of_record(
        &self,
        known: &StoreLookup<'_>,
        session: SessionId,
        number: Option<u32>,
    ) -> Result<Option<(Hash, ImportedNode)>, StoreError> {
        let Some(number) = self.kept(number) else { return Ok(None) };
        let Some((key, _)) = self.placed.get(number as usize).copied() else { return Ok(None) };
        if let Some((whose, spot)) = self.recent.get(number as usize % RECENT).copied()
            && whose == number
        {
            return Ok(Some((key, spot)));
        }
        Ok(known.by_key(session, key)?.map(|there| (key, ImportedNode { id: there.id, at: there.at })))
    }

    fn node(
        &self,
        known: &StoreLookup<'_>,
        session: SessionId,
        number: Option<u32>,
    ) -> Result<Option<NodeId>, StoreError> {
        Ok(self.node_of_record(known, session, number)?.map(|(_, spot)| spot.id))
    }

    /// Adds the writes of the branches with their heads.
    fn write_branches(
        &self,
        known: &StoreLookup<'_>,
        session: SessionId,
        end: Option<SessionEnd>,
        writes: &mut Vec<Write>,
    ) -> Result<(), StoreError> {
        let over = end.is_some();
        let mut listed = end.map(|stand| stand.branches).unwrap_or_default().into_iter().take(BRANCHES);
        let first = listed.next();
        let head = match &first {
            Some((_, number)) => self.node(known, session, *number)?,
            None => self.head,
        };
        let there = known.branches(session)?;
        let branch = match there.first() {
            None => {
                let made = first_branch(session, head, self.now);
                let id = made.id;
                writes.push(import_head_write(session, head));
                writes.push(Write::PutBranch(Box::new(made)));
                id
            }
            Some(branch) => {
                // A grown export moves the head only if nobody has moved it here since the last import.
                let last = known.setting(&import_head_key(session))?;
                let unmoved = last == branch.head.map(|head| head.to_string());
                if unmoved && (self.made || over) && head != branch.head && head.is_some() {
                    writes.push(Write::MoveHead { branch: branch.id, expect: branch.head, head });
                    writes.push(import_head_write(session, head));
                }
                branch.id
            }
        };
        let mut names: Vec<String> = there.iter().map(|branch| branch.name.clone()).collect();
        if let Some((pointer, _)) = first.filter(|_| self.made) {
            let name = plain_name(&pointer.name);
            if !name.is_empty() {
                writes.push(Write::RenameBranch { branch, name: name.clone() });
                names = vec![name];
            }
            writes.extend(branch_state_writes(branch, &pointer));
        }
        let listed: Vec<_> = listed.collect();
        let is_listed = |name: &String| listed.iter().any(|(pointer, _)| plain_name(&pointer.name) == *name);
        // Only an export of this session contains the branches that were renamed here.
        let is_own = self.source.strip_prefix("pleach:").is_some_and(|id| id == session.to_string());
        let others = there.iter().skip(1).filter(|branch| is_own && !is_listed(&branch.name));
        let renamed: Vec<Option<NodeId>> = others.map(|branch| branch.head).collect();
        for (pointer, number) in &listed {
            let head = self.node(known, session, *number)?;
            self.other(known, session, (pointer, head, &renamed), (&there, &mut names), writes)?;
        }
        Ok(())
    }

    /// Adds the writes of another branch: a new branch, or a branch that an earlier import created and nobody has moved
    /// since.
    fn other(
        &self,
        known: &StoreLookup<'_>,
        session: SessionId,
        (pointer, head, renamed): (&BranchPointer, Option<NodeId>, &[Option<NodeId>]),
        (there, names): (&[BranchName], &mut Vec<String>),
        writes: &mut Vec<Write>,
    ) -> Result<(), StoreError> {
        let name = plain_name(&pointer.name);
        let key = format!("import-branch:{session}:{name}");
        let stands = |id: BranchId| format!("{id} {}", head.map_or_else(String::new, |head| head.to_string()));
        if let Some(stored) = known.setting(&key)? {
            let (id, last) = stored.split_once(' ').unwrap_or((stored.as_str(), ""));
            let same = |branch: &&BranchName| {
                branch.id.to_string() == id && branch.head.map_or_else(String::new, |head| head.to_string()) == last
            };
            if let Some(branch) = there.iter().find(same).filter(|branch| branch.head != head && head.is_some()) {
                writes.push(Write::MoveHead { branch: branch.id, expect: branch.head, head });
                writes.push(Write::SetValue { key, value: Some(stands(branch.id)) });
            }
            return Ok(());
        }
        // A branch that was renamed after the file was written has another name here, and the same head.
        if name.is_empty() || names.contains(&name) || (head.is_some() && renamed.contains(&head)) {
            return Ok(());
        }
        let made = Branch { name: name.clone(), ..first_branch(session, head, self.now) };
        let id = made.id;
        names.push(name);
        writes.push(Write::PutBranch(Box::new(made)));
        writes.push(Write::SetValue { key, value: Some(stands(id)) });
        writes.extend(branch_state_writes(id, pointer));
        Ok(())
    }
}

/// Returns the writes of a new branch's other properties in the file.
fn branch_state_writes(branch: BranchId, pointer: &BranchPointer) -> impl Iterator<Item = Write> {
    let away = pointer.archived.then_some(Write::ArchiveBranch { branch, archived: true });
    away.into_iter().chain(pointer.current.then_some(Write::UseBranch(branch)))
}

/// Returns a branch's name without control characters and of bounded length.
fn plain_name(name: &str) -> String {
    name.trim().chars().filter(|c| !c.is_control()).take(100).collect()
}

/// Returns the write that records the head that an import moved the first branch to.
fn import_head_write(session: SessionId, head: Option<NodeId>) -> Write {
    Write::SetValue { key: import_head_key(session), value: head.map(|head| head.to_string()) }
}

fn import_head_key(session: SessionId) -> String {
    format!("import-head:{session}")
}

fn imported_node(
    record: Record,
    spot: ImportedNode,
    key: Hash,
    parent: Option<NodeId>,
    ord: u32,
    content: Option<Hash>,
) -> Node {
    Node {
        head: NodeHead {
            id: spot.id,
            key,
            parent,
            ord,
            role: record.role,
            end: record.end,
            at: spot.at,
            bytes: record.content.bytes(),
            calls: u16::try_from(record.content.calls().count()).unwrap_or(u16::MAX),
            hidden: record.hidden,
            imported: true,
            content,
            preview: NodeHead::preview_of(&record.content.plain_text()),
            model: record.model,
            name: record.name,
            lane: record.lane,
            external_id: Some(record.id),
        },
        content: record.content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_its_own_key_for_the_import_head() {
        let [one, two] = [1, 2].map(|id| import_head_key(SessionId(uuid::Uuid::from_u128(id))));
        assert_ne!(one, two);
    }
}
