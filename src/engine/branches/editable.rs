//! Texts that a person can edit, with their versions: state blocks, summaries, memories, policies. Also stores an
//! edited summary.
//! Not for: saving policies (`policy_files`), or other acts, which have their own requests.

use crate::config::policy_files::{self, PolicyText};
use crate::context::summary::ratio;
use crate::context::summary::survive::RequiredFacts;
use crate::domain::base::{BranchId, Failure, Hash, NodeId, SessionId, secrets};
use crate::domain::conversation::{Change, Memory, MemoryStatus, Node, Operation, Scope, StateVersion};
use crate::domain::summary::turns_in_words;
use crate::domain::summary::{
    Editability, Editable, EditableKind, SourceMessage, SourceTurn, Summary, SummaryCard, SummarySource, Version,
};
use crate::engine::api::{Answer, EditableAnswer, SummaryAnswer, Ticket};
use crate::engine::core::Core;
use crate::engine::plans::sources::summaries::{LoadedSummary, summary_text};
use crate::engine::sessions::session::Session;
use crate::engine::sessions::state::Sessions;
use crate::engine::summaries::writer;
use crate::store::Store;
use crate::store::types::Write;
use std::collections::{BTreeMap, HashSet};

/// The maximum number of versions of a text that are listed; the newest are kept.
const MOST: usize = 200;

impl Core {
    /// Lists all editable texts of a kind with their versions. The versions of memories are read from the operations,
    /// on a separate thread.
    pub(crate) fn list_editables(
        &mut self,
        ticket: Ticket,
        branch: BranchId,
        kind: EditableKind,
    ) -> Result<(), Failure> {
        let editables = match kind {
            EditableKind::State => self.sessions.state_editable(branch)?,
            EditableKind::Summaries => self.summary_editables(branch)?,
            EditableKind::Policies => self.policy_editables(branch)?,
            EditableKind::Modules => return self.list_module_summaries(ticket, branch),
            EditableKind::Rules | EditableKind::Skills => return self.list_project_texts(ticket, branch, kind),
            EditableKind::Memories => {
                let (store, session) = (self.store.clone(), self.sessions.branch(branch)?.session);
                self.jobs.answer("memories", ticket, move |_| {
                    memory_editables(&store, session)
                        .map(|editables| Answer::Editable(EditableAnswer::Editables(kind, editables)))
                });
                return Ok(());
            }
        };
        self.answer_now(ticket, Ok(EditableAnswer::Editables(kind, editables).into()))
    }

    /// Returns the summaries in use, each with its earlier versions.
    fn summary_editables(&self, id: BranchId) -> Result<Vec<Editable>, Failure> {
        let Answer::Summary(SummaryAnswer::Summaries(cards)) = self.list_summaries(id)? else { return Ok(Vec::new()) };
        let mut editables: Vec<Editable> = Vec::new();
        for card in &cards {
            if card.active || editables.is_empty() {
                editables.push(summary(card));
            }
            let Some(editable) = editables.last_mut() else { continue };
            let earlier = card.depth as usize;
            editable.in_use |= card.included;
            let at = editable.versions.len();
            editable.versions.push(Version {
                what: format!("summary {}, {}", earlier + 1, card.summary.source.phrase()),
                at: None,
                text: card.summary.text.clone().unwrap_or_default().into(),
                current: card.included,
                from: (earlier > 0).then_some(at + 1),
            });
        }
        Ok(editables)
    }

    fn policy_editables(&self, id: BranchId) -> Result<Vec<Editable>, Failure> {
        let policy_in_use = self.rules(&self.sessions.branch(id)?)?.policy.name;
        let folder = self.setup.policies_dir.clone().unwrap_or_default();
        let all = policy_files::list(&folder).map_err(|error| error.failure())?;
        let about =
            |name: &str| self.setup.settings.policies.get(name).map(|spec| spec.about.clone()).unwrap_or_default();
        Ok(all.into_iter().map(|policy| policy_editable(&policy, about(&policy.name), &policy_in_use)).collect())
    }

    /// Stores a person's version of a summary: a new version of the summary in use, for the same turns (undoable).
    pub(crate) fn rewrite(&mut self, id: BranchId, summary: Hash, text: &str) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let session = self.sessions.of_branch(id)?;
        let unused = || Failure::user("That summary is not in use on this branch.").kept("Nothing was changed.");
        let old = session.summary(summary).filter(|_| branch.summaries.contains(&summary)).ok_or_else(unused)?;
        let old: Summary = old.summary.as_ref().clone();
        let text = text.trim().to_owned();
        let kept = old.kept.iter().filter(|kept| text.contains(&kept.text)).cloned().collect();
        let sources = sources(&self.store, session, &old)?;
        let mut made = Summary {
            confidence: RequiredFacts::of(&sources).survival(&text).milli(),
            parent: Some(old.id),
            source: SummarySource::User,
            model: None,
            text: Some(text),
            kept,
            ..old.clone()
        };
        let encoding = self.rules(&branch)?.model.encoding;
        made.tokens = self.setup.counter.count(encoding, &summary_text(&made, None));
        if made.text.as_deref().is_none_or(str::is_empty) {
            made.tokens = 0;
        }
        ratio(made.original_tokens, made.tokens)?;
        let made = made.sealed();
        if made.text == old.text || made.id == old.id {
            return Ok(Answer::Done("There is no change to save.".into()));
        }
        let mut after = branch.summaries.clone();
        after.retain(|other| *other != old.id);
        after.push(made.id);
        let put = Write::PutSummary { session: branch.session, summary: Box::new(made.clone()), at: self.setup.now() };
        let what = format!("edited the summary of {}", turns_in_words(made.turns));
        self.use_summaries(&branch, what, after, vec![put], |core| {
            if let Ok(session) = core.sessions.of_branch_mut(id) {
                session.summaries.insert(made.id, LoadedSummary::new(made));
            }
        })?;
        Ok(Answer::Done("The summary now has your text; u undoes it.".into()))
    }
}

/// Returns the messages that a summary was made from, with secrets masked; messages that no longer exist are
/// omitted.
fn sources(store: &Store, session: &Session, summary: &Summary) -> Result<Vec<SourceTurn>, Failure> {
    let mut sources = Vec::new();
    let tree = &session.tree;
    for (number, cover) in (summary.turns.0..).zip(&summary.covers) {
        let slots = cover.nodes.iter().filter_map(|(key, _)| tree.by_key(*key));
        let ids: Vec<NodeId> = slots.map(|slot| tree.head(slot).id).collect();
        let message = |Node { head, content }: Node| SourceMessage {
            node: head.key,
            content: head.content.unwrap_or_default(),
            role: head.role,
            text: secrets::mask(&writer::source_text(&head, &content)).0.into_owned(),
        };
        let messages: Vec<SourceMessage> = store.nodes(&ids)?.into_iter().map(message).collect();
        sources.push(SourceTurn {
            user: cover.user,
            tip: cover.tip,
            number,
            node: ids.first().copied().unwrap_or(NodeId(uuid::Uuid::nil())),
            title: String::new(),
            at: 0,
            count: u32::try_from(messages.len()).unwrap_or(u32::MAX),
            tokens: 0,
            stays: None,
            messages,
        });
    }
    Ok(sources)
}

impl Sessions {
    /// Returns the state block of a branch with all versions on its path, including undone ones.
    fn state_editable(&self, id: BranchId) -> Result<Vec<Editable>, Failure> {
        let branch = self.branch(id)?;
        let session = self.of_branch(id)?;
        let path: HashSet<NodeId> = session.path(&branch).into_iter().map(|slot| session.tree.head(slot).id).collect();
        let here = |state: &&StateVersion| path.contains(&state.node) && state.branch.is_none_or(|of| of == id);
        let mut states: Vec<_> = session.states.iter().filter(here).collect();
        states.sort_by_key(|state| std::cmp::Reverse(state.version));
        states.truncate(MOST);
        let current = branch.state.as_ref().map(|state| state.version);
        let last = states.len().saturating_sub(1);
        let version = |(at, state): (usize, &&StateVersion)| {
            let by = match (state.edited, state.offered) {
                (true, _) => "edited by you",
                (false, true) => "imported; not in use until you adopt it (/adopt-state)",
                (false, false) => "by the model",
            };
            let undone = if state.withdrawn { ", undone" } else { "" };
            Version {
                what: format!("version {}, {by}{undone}", state.version),
                at: Some(state.at),
                text: state.text.as_str().into(),
                current: Some(state.version) == current,
                from: (at < last).then_some(at + 1),
            }
        };
        let empty = session.head(&branch).is_none();
        Ok(vec![Editable {
            kind: EditableKind::State,
            id: String::new(),
            title: format!("The state block of {}", branch.name),
            note: current.map_or("", |_| "sent with each request that asks for a state block").into(),
            source: None,
            editing: if empty {
                Editability::Not("A state block belongs to a message, and this branch has no messages yet.")
            } else {
                Editability::Here
            },
            in_use: current.is_some(),
            versions: states.iter().enumerate().map(version).collect(),
        }])
    }
}

fn summary(card: &SummaryCard) -> Editable {
    let gone = card.summary.text.is_none();
    Editable {
        kind: EditableKind::Summaries,
        id: card.summary.id.to_string(),
        title: turns_in_words(card.summary.turns),
        note: format!("{}, {}", card.summary.kind.name(), card.state.name().replace('_', " ")),
        source: None,
        editing: if gone { Editability::Not("The text was deleted with a message.") } else { Editability::Here },
        in_use: false,
        versions: Vec::new(),
    }
}

fn policy_editable(policy: &PolicyText, about: String, policy_in_use: &str) -> Editable {
    let mut versions: Vec<(u32, u32, Version)> = Vec::new();
    let one = |what: String, at: Option<i64>, text: &str, current: bool| Version {
        what,
        at,
        text: text.into(),
        current,
        from: None,
    };
    if policy.built_in {
        versions.push((0, 0, one("built in".into(), None, &policy.text, true)));
    } else {
        let last = policy.versions.last().map_or(0, |version| version.number);
        if policy.current == 0 {
            let version = one("edited outside pleach, not saved as a version".into(), None, &policy.text, true);
            versions.push((u32::MAX, last, version));
        }
        versions.extend(policy.versions.iter().rev().take(MOST).map(|version| {
            let what = format!("version {}", version.number);
            (version.number, version.from, one(what, version.at, &version.text, version.number == policy.current))
        }));
        if let Some((name, text)) = &policy.preset {
            versions.push((0, 0, one(format!("the preset {name}"), None, text, false)));
        }
    }
    let places: BTreeMap<u32, usize> = versions.iter().enumerate().map(|(at, (number, ..))| (*number, at)).collect();
    let versions = versions.into_iter().enumerate().map(|(at, (_, from, version))| {
        let from = places.get(&from).copied().filter(|place| *place > at);
        Version { from, ..version }
    });
    let in_use = policy.name == policy_in_use;
    Editable {
        kind: EditableKind::Policies,
        id: policy.name.clone(),
        title: policy.name.clone(),
        note: about,
        source: None,
        editing: if policy.built_in { Editability::Copy } else { Editability::Here },
        in_use,
        versions: versions.collect(),
    }
}

/// Returns the memories, newest first, each with its earlier versions.
fn memory_editables(store: &Store, session: SessionId) -> Result<Vec<Editable>, Failure> {
    let mut memories = store.memories(Some(session))?;
    memories.sort_by_key(|memory| std::cmp::Reverse((memory.updated_at, memory.id)));
    let mut from: Vec<SessionId> = memories.iter().filter_map(|memory| memory.source.session).collect();
    from.push(session);
    from.sort_unstable();
    from.dedup();
    let mut versions_by_id: BTreeMap<String, Vec<(bool, Memory)>> = BTreeMap::new();
    for session in from {
        for Operation { changes, undone, .. } in store.ops(session)? {
            for change in changes {
                let Change::Memory { before, after } = change else { continue };
                for (side, undone) in [(before, false), (after, undone)] {
                    let Some(memory) = side else { continue };
                    let versions = versions_by_id.entry(memory.id.to_string()).or_default();
                    if versions.last().is_none_or(|(_, last)| !last.same(&memory)) {
                        versions.push((undone, *memory));
                    }
                }
            }
        }
    }
    Ok(memories
        .into_iter()
        .map(|memory| memory_editable(&memory, versions_by_id.remove(&memory.id.to_string())))
        .collect())
}

fn memory_editable(memory: &Memory, recorded: Option<Vec<(bool, Memory)>>) -> Editable {
    let mut all = recorded.unwrap_or_default();
    let is_current = |(undone, known): &(bool, Memory)| !undone && known.same(memory);
    if !all.iter().any(is_current) {
        all.push((false, memory.clone()));
    }
    let current = all.iter().rposition(is_current);
    let count = all.len();
    let version = |(place, (undone, version)): (usize, &(bool, Memory))| {
        let undone = if *undone { ", undone" } else { "" };
        let at = count - 1 - place;
        Version {
            what: format!("version {}, {}{undone}", place + 1, version.status.name()),
            at: Some(version.updated_at),
            text: version.text.as_str().into(),
            current: current == Some(place),
            from: (at + 1 < count).then_some(at + 1),
        }
    };
    let versions = all.iter().enumerate().rev().take(MOST).map(version).collect();
    let place = if memory.scope == Scope::All { "in all sessions" } else { "in this session" };
    Editable {
        kind: EditableKind::Memories,
        id: memory.id.to_string(),
        title: memory.text.clone(),
        note: format!("{}, {}, {place}", memory.kind.name(), memory.status.name()),
        source: None,
        editing: Editability::Here,
        in_use: memory.status == MemoryStatus::Confirmed,
        versions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::ids::MemoryId;
    use crate::domain::conversation::mark::Actor;
    use crate::domain::conversation::memory::{MemoryKind, Origin};
    use uuid::Uuid;

    fn memory(text: &str, status: MemoryStatus, version: u32) -> Memory {
        Memory {
            id: MemoryId(Uuid::nil()),
            kind: MemoryKind::Fact,
            text: text.into(),
            scope: Scope::All,
            lane: String::new(),
            source: Origin { session: None, node: None, by: Actor::User },
            status,
            version,
            created_at: 1,
            updated_at: i64::from(version) * 10,
        }
    }

    /// Returns the listed versions, newest first: description, text, whether it is current, and the version that it
    /// came from.
    fn shown(now: &Memory, recorded: &[(bool, Memory)]) -> Vec<(String, String, bool, Option<usize>)> {
        let versions = memory_editable(now, Some(recorded.to_vec())).versions.into_iter();
        versions.map(|version| (version.what, version.text.to_string(), version.current, version.from)).collect()
    }

    #[test]
    fn versions_of_a_memory_are_listed_with_the_current_one() {
        let [a, b] = ["a", "b"].map(|text| memory(text, MemoryStatus::Confirmed, 1));
        let waits = memory("a", MemoryStatus::Suggested, 1);
        let line = |number: usize, status: &str, text: &str, current, from| {
            (format!("version {number}, {status}"), text.to_owned(), current, from)
        };
        let first = line(1, "confirmed", "a", true, None);
        assert_eq!(shown(&a, &[]), std::slice::from_ref(&first), "nothing was recorded");
        let version = (false, a.clone());
        assert_eq!(shown(&a, std::slice::from_ref(&version)), [first]);
        let second = line(2, "confirmed", "b", true, Some(1));
        let older = line(1, "confirmed", "a", false, None);
        assert_eq!(shown(&b, &[(false, a.clone())]), [second.clone(), older.clone()], "the newest was not recorded");
        assert_eq!(shown(&b, &[(false, a.clone()), (false, b.clone())]), [second, older]);
        // After an edit was undone, the first version is current again.
        let undone = line(2, "confirmed, undone", "b", false, Some(1));
        let back = line(1, "confirmed", "a", true, None);
        assert_eq!(shown(&a, &[(false, a.clone()), (true, b.clone())]), [undone, back]);
        // All recorded versions were undone.
        let (third, gone) = (line(2, "confirmed", "a", true, Some(1)), line(1, "confirmed, undone", "a", false, None));
        assert_eq!(shown(&a, &[(true, a.clone())]), [third, gone]);
        let (confirmed, suggested) = (line(2, "confirmed", "a", true, Some(1)), line(1, "suggested", "a", false, None));
        assert_eq!(shown(&a, &[(false, waits.clone())]), [confirmed, suggested]);
        let editable = memory_editable(&waits, None);
        assert_eq!(
            (editable.in_use, editable.note.as_str(), editable.title.as_str()),
            (false, "fact, suggested, in all sessions", "a")
        );
        let here = Memory { scope: Scope::Session(SessionId(Uuid::nil())), ..a };
        let editable = memory_editable(&here, None);
        assert_eq!((editable.in_use, editable.note.as_str()), (true, "fact, confirmed, in this session"));
        let many: Vec<(bool, Memory)> =
            (0..205).map(|n| (false, memory(&n.to_string(), MemoryStatus::Confirmed, n))).collect();
        let listed = shown(&many[204].1, &many);
        assert_eq!((listed.len(), listed[0].0.as_str(), listed[0].2), (MOST, "version 205, confirmed", true));
    }

    #[test]
    fn versions_of_a_policy_name_the_version_that_they_came_from() {
        let version = |number: u32, from: u32| policy_files::Version {
            number,
            from,
            at: Some(i64::from(number)),
            text: format!("text {number}"),
        };
        let policy = |built_in, current, numbers: &[(u32, u32)], preset: bool| PolicyText {
            name: "p".into(),
            built_in,
            current,
            text: "now".into(),
            versions: numbers.iter().map(|(number, from)| version(*number, *from)).collect(),
            preset: preset.then(|| ("layered".to_owned(), "preset".into())),
        };
        let shown = |policy: &PolicyText, policy_in_use: &str| {
            let editable = policy_editable(policy, "about".into(), policy_in_use);
            let versions = editable.versions.into_iter();
            let versions: Vec<_> = versions.map(|v| (v.what, v.text.to_string(), v.current, v.from)).collect();
            (editable.in_use, editable.editing == Editability::Copy, versions)
        };
        let line = |what: &str, text: &str, current, from| (what.to_owned(), text.to_owned(), current, from);
        let built = policy(true, 0, &[], false);
        assert_eq!(shown(&built, "p"), (true, true, vec![line("built in", "now", true, None)]));
        let saved = policy(false, 3, &[(1, 0), (2, 1), (3, 1)], true);
        let expected = vec![
            line("version 3", "text 3", true, Some(2)),
            line("version 2", "text 2", false, Some(2)),
            line("version 1", "text 1", false, Some(3)),
            line("the preset layered", "preset", false, None),
        ];
        assert_eq!(shown(&saved, "other"), (false, false, expected));
        let outside = policy(false, 0, &[(1, 0)], false);
        let expected = vec![
            line("edited outside pleach, not saved as a version", "now", true, Some(1)),
            line("version 1", "text 1", false, None),
        ];
        assert_eq!(shown(&outside, "other").2, expected);
    }
}
