//! Finds what a person typed: ids, unique prefixes of ids or keys, names, external ids.
//! Not for: search in texts.

use super::session::Session;
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::{BranchId, SessionId};
use crate::domain::conversation::branch::{Branch, SessionCard};
use crate::domain::conversation::tree::Slot;
use crate::engine::core::Core;

/// Shorter prefixes are refused: they would soon be ambiguous.
const SHORTEST: usize = 4;

/// The node that a text names: on the branch's path first, then anywhere in the session.
pub(crate) fn node(session: &Session, branch: &Branch, text: &str) -> Result<Slot, Failure> {
    let wanted = text.trim().to_lowercase();
    let exact = |slot: Slot| {
        let head = session.tree.head(slot);
        head.external_id.as_deref() == Some(text.trim())
            || head.id.to_string() == wanted
            || head.key.to_string() == wanted
    };
    let close = |slot: Slot| {
        let head = session.tree.head(slot);
        wanted.len() >= SHORTEST
            && (head.id.to_string().starts_with(&wanted) || head.key.to_string().starts_with(&wanted))
    };
    let path = session.head(branch).map(|tip| session.tree.path(tip)).unwrap_or_default();
    let all = || (0..u32::try_from(session.tree.len()).unwrap_or(u32::MAX)).collect::<Vec<Slot>>();
    for (slots, rule) in
        [(path.clone(), &exact as &dyn Fn(Slot) -> bool), (all(), &exact), (path, &close), (all(), &close)]
    {
        let found: Vec<Slot> = slots.into_iter().filter(|slot| rule(*slot)).collect();
        match found.as_slice() {
            [] => {}
            [one] => return Ok(*one),
            more => {
                return Err(
                    Failure::user(format!("{text:?} names {} messages.", more.len())).todo("Type more of the id.")
                );
            }
        }
    }
    Err(Failure::user(format!("There is no message {text:?} in this session."))
        .todo("pleach message list shows the ids."))
}

impl Core {
    /// The session that was named; the last used when none was.
    pub(crate) fn named_session(&self, named: Option<&str>) -> Result<Option<SessionId>, Failure> {
        let Some(text) = named.map(str::trim).filter(|text| !text.is_empty()) else {
            let last = self.store.last_session()?;
            let first = || Ok::<_, Failure>(self.store.sessions()?.first().map(|card| card.id));
            return match last {
                Some(id) => Ok(Some(id)),
                None => first(),
            };
        };
        let cards = self.store.sessions()?;
        pick(text, "session", &cards, |card: &SessionCard| (card.id.to_string(), card.title.clone()))
            .map(|c| Some(c.id))
    }

    /// The branch of a session that was named; the last used when none was.
    pub(crate) fn named_branch(session: &Session, named: Option<&str>) -> Result<BranchId, Failure> {
        let Some(text) = named.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(session.current) };
        pick(text, "branch", &session.branches, |branch: &Branch| (branch.id.to_string(), branch.name.clone()))
            .map(|b| b.id)
    }
}

/// Whether an id and a name fit.
type Fits<'a> = dyn Fn(&(String, String)) -> bool + 'a;

/// By id, by name, by unique prefix of an id, by unique beginning of a name.
fn pick<'a, T>(text: &str, what: &str, all: &'a [T], names: impl Fn(&T) -> (String, String)) -> Result<&'a T, Failure> {
    let wanted = text.to_lowercase();
    let rules: [&Fits<'_>; 4] = [
        &|(id, _)| *id == wanted,
        &|(_, name)| name == text,
        &|(id, _)| wanted.len() >= SHORTEST && id.starts_with(&wanted),
        &|(_, name)| name.to_lowercase().starts_with(&wanted),
    ];
    for rule in rules {
        let found: Vec<&T> = all.iter().filter(|one| rule(&names(one))).collect();
        match found.as_slice() {
            [] => {}
            [one] => return Ok(one),
            more => {
                let some: Vec<String> = more.iter().take(4).map(|one| names(one).0).collect();
                return Err(Failure::user(format!("{text:?} names {} {what}s: {} …", more.len(), some.join(", ")))
                    .todo("Use more of the id."));
            }
        }
    }
    Err(Failure::user(format!("There is no {what} {text:?}.")).todo(format!("pleach {what} list shows them.")))
}
