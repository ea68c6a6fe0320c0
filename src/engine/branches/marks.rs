//! A person's acts on branches: marks, heads, names, overrides. Each act is written to the store with the operation
//! that undoes it, and then applied in memory.
//! Not for: undoing (`undo`), the state block (`state_block`), or turns (`turns::live`).

use super::fork::ensure_name_free;
use super::mark_state::{
    MarkUpdate, excluded_in, excluded_message, message_of_row, noted, pin_on, replaces_pin, sentence, unchanged,
};
use super::undo::store_anchor_for_head;
use crate::domain::base::{BranchId, Failure, Hash, NodeId, SessionId};
use crate::domain::conversation::{
    Actor, Atom, Branch, Change, LeaseTurns, Mark, MarkKind, NodeHead, Operation, Overrides, Role, Slot, resolve, task,
    tree,
};
use crate::engine::api::{Act, Answer, BranchAnswer, ItemName};
use crate::engine::branches::pick::text_of;
use crate::engine::core::Core;
use crate::engine::indexing::code_refresh::with_unknown_focus;
use crate::engine::plans::snapshot::anchor_key;
use crate::engine::plans::sources::suggested_pins::suggested_symbol;
use crate::engine::sessions::lookup;
use crate::engine::sessions::memory::is_memory;
use crate::engine::sessions::session::{Session, capital, undoable};
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::setup::Setup;
use crate::engine::summaries::accepted::{applicable_summaries, lost_summaries};
use crate::store::Store;
use crate::store::types::Write;

impl Core {
    /// Applies an act to items (undoable).
    pub(crate) fn mark(&mut self, id: BranchId, items: &[ItemName], act: Act) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        if let (Act::Reply, Some(item)) = (act, items.first()) {
            let target = self.target(&branch, item)?.0;
            return self.reply(&branch, target);
        }
        let marked = self.mark_changes(&branch, items, act)?;
        if let (0, Some(notice)) = (marked.items, &marked.unchanged) {
            let passed_over = marked.passed_over_sentence();
            return Ok(Answer::Done(format!("{notice}{passed_over}{}", marked.excluded_sentence())));
        }
        let Some(notice) = marked.sentence() else { return Ok(Answer::Done("Select an item first.".into())) };
        let summaries = applicable_summaries(&self.sessions, &branch);
        let mut writes = Vec::new();
        let mut changes = Vec::new();
        for (update, why) in &marked.updates {
            let change = update.change(id);
            writes.push(update.write(id));
            writes.extend(self.mark_step(&change, why));
            changes.push(change);
        }
        writes.push(self.setup.operation(branch.session, notice.clone(), changes.clone()));
        self.store.write(writes)?;
        self.sessions.with_branch(id, |branch| apply_to(branch, &changes));
        self.show_branch(id);
        let lost = lost_summaries(&self.sessions, &self.sessions.branch(id)?, &summaries);
        let passed_over = marked.passed_over_sentence();
        Ok(Answer::Done(format!("{notice}.{passed_over}{}{lost} u undoes it.", marked.excluded_sentence())))
    }

    /// Returns the mark changes of an act on items without applying them. An item that is named twice is changed once.
    pub(crate) fn mark_changes(&self, branch: &Branch, items: &[ItemName], act: Act) -> Result<MarkChange, Failure> {
        let session = self.sessions.of_branch(branch.id)?;
        let pins = matches!(act, Act::Set { kind: MarkKind::Sticky, .. });
        let mut marked = MarkChange::default();
        for item in &each_turn(session, branch, items)? {
            let (target, note) = match excluded_message(session, branch, item, act) {
                Some(message) => (message, None),
                None => self.target(branch, item)?,
            };
            let (target, note) = resolve_inclusion(&self.sessions, &self.store, branch, target, note, act)?;
            let before = branch.marks.iter().find(|mark| same_target(session, mark, &target)).cloned();
            let target = before.as_ref().map_or(target, |mark| mark.target);
            if marked.holds(&target) {
                continue;
            }
            let after = self.resulting_mark(branch, before.as_ref(), target, note, act)?;
            if after.as_ref().is_some_and(|mark| !mark.kind.excludes()) {
                marked.still_excluded += excluded_in(session, branch, &target);
            }
            let item = self.item_in_words(branch, &target, after.as_ref().or(before.as_ref()));
            if let Some(notice) = unchanged(before.as_ref(), after.as_ref()) {
                marked.passed_over.push(item.clone());
                marked.unchanged = Some(notice.replace("the item", &item));
            } else {
                marked.items += 1;
                marked.kinds = Some((before.as_ref().map(|mark| mark.kind), after.as_ref().map(|mark| mark.kind)));
                marked.item = item;
                marked.updates.push((MarkUpdate { target, before, after }, "decided by the person"));
            }
            for mark in if pins { self.sessions.replaced_marks(branch, &target) } else { Vec::new() } {
                if !marked.holds(&mark.target) {
                    let update = MarkUpdate { target: mark.target, before: Some(mark), after: None };
                    marked.updates.push((update, "pinned instead"));
                }
            }
        }
        Ok(marked)
    }

    /// Returns the mark that results from an act on an item with mark `before`.
    fn resulting_mark(
        &self,
        branch: &Branch,
        before: Option<&Mark>,
        target: Atom,
        note: Option<String>,
        act: Act,
    ) -> Result<Option<Mark>, Failure> {
        let (kind, toggle) = match act {
            Act::Lease { toggle } => (MarkKind::leased(self.rules(branch)?.policy.lease_turns), toggle),
            Act::Set { kind, toggle } => (kind, toggle),
            Act::Clear | Act::Reply => return Ok(None),
        };
        if kind == (MarkKind::Leased { turns: LeaseTurns::TASK }) && task::running(&branch.overrides.tasks).is_none() {
            return Err(Failure::user("No task is running here.").todo("`pleach task start NAME` starts a task."));
        }
        let same = |mark: &Mark| std::mem::discriminant(&mark.kind) == std::mem::discriminant(&kind);
        let ended = |mark: &Mark| mark.kind == MarkKind::Leased { turns: LeaseTurns::Ended };
        let ours = self.tools.project.knows(&target);
        if ours && !before.is_some_and(&same) {
            crate::engine::tools::workspace_rules::markable(kind)?;
        }
        let named =
            || ours || is_memory(&self.sessions, &self.store, branch.id, &target) || self.is_code(branch, &target);
        let noted = matches!(target, Atom::Section { .. }) && (note.is_some() || !named());
        let again = toggle && before.is_some_and(|mark| same(mark) && !ended(mark));
        if again || (noted && kind.excludes()) {
            return Ok(None);
        }
        Ok(Some(Mark {
            kind,
            note: note.or_else(|| before.and_then(|mark| mark.note.clone())),
            revision: before.map_or(0, |mark| mark.revision) + 1,
            origin: before.and_then(|mark| mark.origin.clone()),
            code: (!noted).then(|| self.code_ref(branch, &target)).flatten(),
            ..pin_on(target)
        }))
    }

    /// Returns the atom that an item names on a branch, and the text if it is a note.
    pub(crate) fn target(&self, branch: &Branch, item: &ItemName) -> Result<(Atom, Option<String>), Failure> {
        let session = self.sessions.of_branch(branch.id)?;
        if let ItemName::Atom(atom) = item
            && let Some(symbol) = suggested_symbol(session, branch, atom)
        {
            return Ok((symbol, None));
        }
        match item {
            ItemName::Atom(atom)
                if self.tools.project.knows(atom) || is_memory(&self.sessions, &self.store, branch.id, atom) =>
            {
                Ok((*atom, None))
            }
            ItemName::Atom(atom) if self.is_code(branch, atom) => Ok((*atom, None)),
            ItemName::Atom(atom) => Ok((*atom, noted(session, branch, atom, self.plans.drawn_row(branch.id, atom))?)),
            ItemName::Note(text) => Ok((Atom::Section { text: Hash::of(text.as_bytes()) }, Some(text.clone()))),
            ItemName::Message(node) => Ok((Atom::Message { node: session.node(*node)?.key }, None)),
            ItemName::TurnOf(node) => {
                let slot = session.slot(*node)?;
                // Instructions are marked separately, because they are not part of the content that their turn sends.
                if session.tree.head(slot).role == Role::System {
                    return Ok((Atom::Message { node: session.tree.head(slot).key }, None));
                }
                Ok((turn_at(session, branch, slot), None))
            }
            ItemName::Span { first, last } => {
                let at = |text| Ok::<_, Failure>(turn_at(session, branch, lookup::node(session, branch, text)?));
                let ends = at(first)?.ends().zip(at(last)?.ends());
                let no_turns = || Failure::user("A range runs from one turn to another: select a turn.");
                let ((first, _), (_, last)) = ends.ok_or_else(no_turns)?;
                Ok((Atom::Range { first, last }, None))
            }
            ItemName::Named { text, message } => match lookup::node(session, branch, text) {
                Ok(slot) if *message || session.tree.head(slot).role == Role::System => {
                    Ok((Atom::Message { node: session.tree.head(slot).key }, None))
                }
                Ok(slot) => Ok((turn_at(session, branch, slot), None)),
                Err(failure) => match self.item_by_row_id(branch, text)? {
                    Some(Atom::Message { node }) if !*message => {
                        let slot = session.tree.by_key(node).ok_or(failure)?;
                        let message = message_of_row(session, branch, slot);
                        Ok((message.unwrap_or_else(|| turn_at(session, branch, slot)), None))
                    }
                    Some(atom) => self.target(branch, &ItemName::Atom(atom)),
                    None => Err(lookup::no_item(text, failure)),
                },
            },
        }
    }

    fn reply(&mut self, branch: &Branch, target: Atom) -> Result<Answer, Failure> {
        let key = anchor_key(&target).ok_or_else(|| Failure::user("You can reply only to messages."))?;
        let reply = Some(key).filter(|key| branch.reply != Some(*key));
        self.store.write(vec![Write::SetReply { branch: branch.id, reply }])?;
        self.sessions.with_branch(branch.id, |branch| branch.reply = reply);
        self.show_branch(branch.id);
        let notice =
            reply.map_or("Your next message is no longer a reply.", |_| "Your next message replies to this message.");
        Ok(Answer::Done(notice.into()))
    }

    /// Renames a branch.
    pub(crate) fn rename(&mut self, id: BranchId, name: &str) -> Result<Answer, Failure> {
        let name = name.trim().to_owned();
        if name.is_empty() {
            return Err(Failure::user("A branch needs a name."));
        }
        let branch = self.sessions.branch(id)?;
        if name != branch.name {
            ensure_name_free(self.sessions.of_branch(id)?, &name)?;
        }
        let change = Change::Name { branch: id, before: branch.name.clone(), after: name.clone() };
        let what = format!("renamed {} to {name}", branch.name);
        self.record(branch.session, &what, vec![Write::RenameBranch { branch: id, name }], &[change])
    }

    /// Archives or unarchives a branch (undoable).
    pub(crate) fn archive(&mut self, id: BranchId, archived: bool) -> Result<Answer, Failure> {
        self.turns.ensure_idle(id)?;
        let branch = self.sessions.branch(id)?;
        let open = self.sessions.of_branch(id)?.branches.iter().filter(|b| !b.archived).count();
        if archived && open == 1 && !branch.archived {
            return Err(Failure::user("The last open branch can't be archived.").todo("Fork it first."));
        }
        let change = Change::Archived { branch: id, before: branch.archived, after: archived };
        let what = format!("{} {}", if archived { "archived" } else { "restored" }, branch.name);
        self.record(branch.session, &what, vec![Write::ArchiveBranch { branch: id, archived }], &[change])
    }

    /// Replaces a branch's overrides (undoable). A screen shows a choice before it is stored; if the choice is refused,
    /// the branch is sent as it is.
    pub(crate) fn set_overrides(&mut self, id: BranchId, overrides: Overrides) -> Result<Answer, Failure> {
        let result = self.replace_overrides(id, overrides);
        if result.is_err() {
            self.show_branch(id);
        }
        result
    }

    fn replace_overrides(&mut self, id: BranchId, overrides: Overrides) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        if overrides == branch.overrides {
            return Ok(Answer::Done("No change.".into()));
        }
        let act = branch.overrides.act(&overrides, &branch.name);
        let what = act.unwrap_or_else(|| format!("changed the settings of {}", branch.name));
        let focus = overrides.focus.clone();
        let answer = self.override_as(id, overrides, &what)?;
        Ok(if focus == branch.overrides.focus {
            answer
        } else {
            with_unknown_focus(&self.tools, &self.workers, answer, &focus)
        })
    }

    /// Makes settings of a branch, which a person chose although they are stored already, take precedence over the
    /// settings from the command line.
    pub(crate) fn choose(&mut self, id: BranchId, chosen: &Overrides) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let rules = self.rules(&branch)?;
        let before = self.sessions.before_choices(id).unwrap_or(&branch.overrides).without(chosen);
        self.sessions.before_choices.insert(id, before);
        if self.rules(&branch)? == rules {
            return Ok(Answer::Done("No change.".into()));
        }
        self.show_branch(id);
        let act = Overrides::default().act(chosen, &branch.name);
        let what = act.unwrap_or_else(|| format!("changed the settings of {}", branch.name));
        Ok(Answer::Done(format!("{}.", capital(&what))))
    }

    /// Replaces a branch's overrides as an operation of this name.
    pub(crate) fn override_as(&mut self, id: BranchId, overrides: Overrides, what: &str) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let trial = Branch { overrides: overrides.clone(), ..branch.clone() };
        self.rules(&trial)?;
        let (write, change) = overrides_change(&branch, overrides);
        self.sessions.before_choices.entry(id).or_insert(branch.overrides);
        self.record(branch.session, what, vec![write], &[change])
    }

    /// Writes changes with the operation that undoes them, then applies them.
    pub(crate) fn record(
        &mut self,
        session: SessionId,
        what: &str,
        mut writes: Vec<Write>,
        changes: &[Change],
    ) -> Result<Answer, Failure> {
        writes.push(self.setup.operation(session, what.to_owned(), changes.to_vec()));
        self.store.write(writes)?;
        for change in changes {
            self.apply(change, true);
        }
        Ok(undoable(what))
    }

    /// Moves a branch's head to the newest leaf below a node (undoable).
    fn move_head(&mut self, id: BranchId, node: NodeId) -> Result<Answer, Failure> {
        self.turns.ensure_idle(id)?;
        let branch = self.sessions.branch(id)?;
        let session = self.sessions.of_branch(id)?;
        let head = Some(session.tree.head(session.tree.leaf(session.slot(node)?)).id);
        if head == branch.head {
            return Ok(BranchAnswer::Branch(Box::new(branch)).into());
        }
        let change = Change::Head { branch: id, before: branch.head, after: head };
        let write = Write::MoveHead { branch: id, expect: branch.head, head };
        let anchor = store_anchor_for_head(id, branch.head, branch.anchor.as_ref());
        self.record(branch.session, &format!("moved {}", branch.name), vec![write, anchor], &[change])?;
        Ok(BranchAnswer::Branch(Box::new(self.sessions.branch(id)?)).into())
    }

    /// Moves the head to a sibling of the node, or of the nearest message above it that has siblings.
    pub(crate) fn sibling(&mut self, id: BranchId, node: NodeId, step: i32) -> Result<Answer, Failure> {
        let session = self.sessions.of_branch(id)?;
        let mut at = session.tree.slot(node);
        while let Some(slot) = at {
            let (place, count) = session.tree.place(slot);
            if count > 1 {
                let next = i64::try_from(place).unwrap_or(0) + i64::from(step);
                let Some(next) = usize::try_from(next).ok().filter(|next| *next < count) else {
                    let end = if step < 0 { "first" } else { "last" };
                    return Ok(Answer::Done(format!("This is the {end} of {count} versions.")));
                };
                let sibling = session.tree.children(session.tree.parent(slot))[next];
                let node = session.tree.head(sibling).id;
                return self.move_head(id, node);
            }
            at = session.tree.parent(slot);
        }
        Ok(Answer::Done("There is no other answer here; R generates another answer.".into()))
    }
}

/// Resolves the inclusion of an item that is not on the path: its text is copied as a note, and its inactive mark
/// stays.
fn resolve_inclusion(
    sessions: &Sessions,
    store: &Store,
    branch: &Branch,
    target: Atom,
    note: Option<String>,
    act: Act,
) -> Result<(Atom, Option<String>), Failure> {
    let includes = matches!(act, Act::Set { kind: MarkKind::IncludeOnce, .. });
    let session = sessions.of_branch(branch.id)?;
    let key = anchor_key(&target);
    let tip = session.head(branch);
    let off = key.and_then(|key| session.tree.by_key(key));
    let off = off.filter(|slot| tip.is_none_or(|tip| !session.tree.contains(*slot, tip)));
    let Some(slot) = off.filter(|_| includes) else { return Ok((target, note)) };
    let first = match target {
        Atom::Turn { user, .. } => session.tree.by_key(user).unwrap_or(slot),
        _ => slot,
    };
    let text = text_of(store, session, &session.tree.path(slot)[session.tree.depth(first) as usize..])?;
    Ok((Atom::Section { text: Hash::of(text.as_bytes()) }, Some(text)))
}

impl Setup {
    /// Returns the write of an operation, to be stored with its changes.
    pub(crate) fn operation(&self, session: SessionId, what: String, changes: Vec<Change>) -> Write {
        let at = self.now();
        Write::PutOperation(Box::new(Operation { seq: 0, session, what, changes, undone: false, at }))
    }
}

impl Sessions {
    /// Returns the program's own marks on a turn that a person's pin on one of its messages replaces.
    fn replaced_marks(&self, branch: &Branch, target: &Atom) -> Vec<Mark> {
        let Ok(session) = self.of_branch(branch.id) else { return Vec::new() };
        let key = anchor_key(target).and_then(|key| session.tree.by_key(key));
        let Some(turn) = key.map(|slot| turn_at(session, branch, slot)) else { return Vec::new() };
        let own = branch.marks.iter().filter(|mark| mark.by == Actor::Engine && mark.target != *target);
        own.filter(|mark| same_target(session, mark, &turn)).cloned().collect()
    }
}

/// Returns the items with each range of turns replaced by its turns.
fn each_turn(session: &Session, branch: &Branch, items: &[ItemName]) -> Result<Vec<ItemName>, Failure> {
    let mut each = Vec::with_capacity(items.len());
    for item in items {
        if let ItemName::Span { first, last } = item {
            let found = resolve::turns(&session.tree, &session.path(branch), first, last)?;
            each.extend(found.into_iter().map(|slot| ItemName::TurnOf(session.tree.head(slot).id)));
        } else {
            each.push(item.clone());
        }
    }
    Ok(each)
}

/// The mark changes of an act.
#[derive(Default)]
pub(crate) struct MarkChange {
    /// The updates, each with its reason.
    pub(crate) updates: Vec<(MarkUpdate, &'static str)>,
    items: usize,
    /// The last changed item, in words, and its kinds of mark before and after.
    item: String,
    kinds: Option<(Option<MarkKind>, Option<MarkKind>)>,
    /// The notice about an item whose mark stays as it is.
    unchanged: Option<String>,
    /// The items whose marks stay as they are.
    passed_over: Vec<String>,
    /// Number of messages of the pinned, leased, or included turns that a person excluded. They stay excluded.
    still_excluded: usize,
}

impl MarkChange {
    fn holds(&self, atom: &Atom) -> bool {
        self.updates.iter().any(|(update, _)| update.target == *atom)
    }

    /// Returns a sentence, after a space, about the messages that stay excluded from the turns; empty if there are none.
    fn excluded_sentence(&self) -> String {
        match self.still_excluded {
            0 => String::new(),
            1 => " One of its messages stays excluded.".to_owned(),
            many => format!(" {many} of its messages stay excluded."),
        }
    }

    /// Returns a sentence, after a space, about the items of an act on several items that stay as they are; empty if there
    /// are none.
    fn passed_over_sentence(&self) -> String {
        if self.passed_over.is_empty() || self.items + self.passed_over.len() == 1 {
            return String::new();
        }
        format!(" Unchanged: {}.", self.passed_over.join(", "))
    }

    /// Returns the sentence about the act; `None` if nothing changes.
    fn sentence(&self) -> Option<String> {
        let (before, after) = self.kinds?;
        let items = if self.items > 1 { format!("{} items", self.items) } else { self.item.clone() };
        let replaced = match self.updates.iter().filter(|(update, _)| replaces_pin(update)).count() {
            0 => String::new(),
            1 if self.items == 1 => ", in place of its pin".to_owned(),
            pins if pins == self.items => ", in place of their pins".to_owned(),
            pins => format!(", {pins} of them in place of a pin"),
        };
        Some(format!("{}{replaced}", sentence(before, after, &items)))
    }
}

/// Returns the write and the change that replace a branch's overrides.
pub(crate) fn overrides_change(branch: &Branch, after: Overrides) -> (Write, Change) {
    let (id, before, after) = (branch.id, Box::new(branch.overrides.clone()), Box::new(after));
    (Write::SetOverrides { branch: id, overrides: after.clone() }, Change::Overrides { branch: id, before, after })
}

/// Applies mark changes to a branch.
pub(crate) fn apply_to(branch: &mut Branch, changes: &[Change]) {
    for change in changes {
        if let Change::Mark { target, after, .. } = change {
            branch.marks.retain(|mark| mark.target != *target);
            branch.marks.extend(after.as_deref().cloned());
        }
    }
}

/// Whether a mark is on this target. A turn that grew is the same turn; two answers to one question are two turns.
fn same_target(session: &Session, mark: &Mark, target: &Atom) -> bool {
    let slot = |key| session.tree.by_key(key);
    match (mark.target, target) {
        (Atom::Turn { user: a, tip: old }, Atom::Turn { user: b, tip: new }) if a == *b => {
            let grown = |a, b| session.tree.contains(a, b) || session.tree.contains(b, a);
            old == *new || slot(old).zip(slot(*new)).is_some_and(|(a, b)| grown(a, b))
        }
        (a, b) => a == *b,
    }
}

/// The turn that contains a node: as on the branch's path if the node is on it, or else down to the node itself.
pub(crate) fn turn_at(session: &Session, branch: &Branch, slot: Slot) -> Atom {
    let tip = session.head(branch).filter(|tip| session.tree.contains(slot, *tip)).unwrap_or(slot);
    let path = session.tree.path(tip);
    let at = session.tree.depth(slot) as usize;
    let turns = tree::turns(&session.tree, &path);
    let found = turns.into_iter().find(|turn| turn.nodes.contains(&at));
    let range = found.as_ref().map_or(at..at + 1, |turn| turn.nodes.clone());
    let heads: Vec<NodeHead> = path[range].iter().map(|slot| session.tree.head(*slot).clone()).collect();
    crate::engine::plans::labels::atom_of(u32::from(found.is_some_and(|turn| turn.asked)), &heads)
}
