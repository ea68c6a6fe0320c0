//! Resolves names that a person typed: ids, unique prefixes of ids or keys, names, external ids.
//! Not for: full-text search (`search`).

use super::session::Session;
use crate::domain::base::{BranchId, Failure, SessionId};
use crate::domain::conversation::{Atom, Branch, Memory, Slot, resolve, tree};
use crate::engine::core::Core;
use crate::engine::plans::labels::{atom_of, search_atom};
use crate::store::Store;
use std::collections::BTreeSet;

/// The minimum length of a prefix; shorter ones would soon be ambiguous.
const SHORTEST: usize = 4;

/// Returns the node that a text names: on the branch's path first, then anywhere in the session.
pub(crate) fn node(session: &Session, branch: &Branch, text: &str) -> Result<Slot, Failure> {
    let path = session.path(branch);
    resolve::message(&session.tree, &path, text)
}

impl Core {
    /// Returns the item that a text names by its row's id or a prefix of it, as `plan --json` prints it: the target of
    /// a mark, a row of the last drawn plan, a memory, a turn, a message, or code of the workspace, which its path, its
    /// lines, or its name identifies too. `None` if nothing matches.
    pub(crate) fn item_by_row_id(&self, branch: &Branch, text: &str) -> Result<Option<Atom>, Failure> {
        let wanted = text.trim().to_lowercase();
        if wanted.len() < SHORTEST {
            return Ok(None);
        }
        let fits = |atom: &Atom| atom.key().to_string().starts_with(&wanted);
        let session = self.sessions.of_branch(branch.id)?;
        let drawn = self.plans.drawn.get(&branch.id).into_iter().flat_map(|drawn| &drawn.solved.plan.rows);
        let mut known: BTreeSet<Atom> = branch.marks.iter().map(|mark| mark.target).collect();
        known.extend([search_atom(), Atom::code_search()]);
        known.extend(drawn.map(|row| row.atom));
        known.extend(self.store.memories(Some(session.card.id))?.iter().map(Memory::atom));
        let path = session.path(branch);
        known.extend(tree::turns(&session.tree, &path).into_iter().map(|turn| {
            let heads = path[turn.nodes].iter().map(|slot| session.tree.head(*slot).clone());
            atom_of(u32::from(turn.asked), &heads.collect::<Vec<_>>())
        }));
        let mut found: Vec<Atom> = known.into_iter().filter(fits).collect();
        if found.is_empty() {
            let messages = path.iter().map(|slot| Atom::Message { node: session.tree.head(*slot).key });
            found = messages.filter(fits).collect();
        }
        if found.is_empty() {
            found = self.code_items(branch, &fits);
        }
        match found.as_slice() {
            [] => self.code_at(branch, text.trim()),
            [one] => Ok(Some(*one)),
            more => Err(Failure::user(format!("{text:?} matches {} items.", more.len())).todo("Type more of the id.")),
        }
    }
}

/// Returns the failure about a text that names no item: for an id, it says which ids can be named.
pub(crate) fn no_item(text: &str, failure: Failure) -> Failure {
    let text = text.trim();
    let is_id = text.len() >= SHORTEST && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id || text.bytes().all(|byte| byte.is_ascii_digit()) {
        return failure;
    }
    Failure::user(format!("There is no message and no row {text:?} in this session.")).todo(
        "An id names a message, a memory, code, or a row that `pleach plan --json` prints without a message: rows that \
         depend on the words of a message can't be named.",
    )
}

/// Returns the named branch of a session or, without a name, its last used branch.
pub(crate) fn named_branch(session: &Session, named: Option<&str>) -> Result<BranchId, Failure> {
    let Some(text) = named.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(session.current) };
    resolve::pick(text, "branch", &session.branches, |branch: &Branch| (branch.id.to_string(), branch.name.clone()))?
        .map(|branch| branch.id)
        .ok_or_else(|| resolve::no_branch(text))
}

/// Returns the named session or, without a name, the last used session; `None` if there are no sessions.
pub(crate) fn named_session(store: &Store, named: Option<&str>) -> Result<Option<SessionId>, Failure> {
    let Some(text) = named.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(match store.last_session()? {
            Some(id) => Some(id),
            None => store.sessions()?.first().map(|card| card.id),
        });
    };
    resolve::session(&store.sessions()?, text).map(|card| Some(card.id))
}
