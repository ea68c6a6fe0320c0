//! Finds the message that a person names: by id, a prefix of its id, the id it was imported with, or the number of its
//! turn. Every command that takes a message or an item uses this.
//! Not for: sessions, branches, and items that are not messages (`engine::sessions::lookup`).

use super::message::Role;
use super::tree::{Slot, Tree};
use crate::domain::base::failure::Failure;

/// Minimum digits of a number that may be a prefix of an id; a shorter number is always the number of a turn.
const SHORTEST_ID: usize = 4;

/// The word that names the branch's last message.
pub const LAST: &str = "last";

/// Returns the message named by `text`, which is searched on the branch's `path` first and then in the whole session.
/// `text` is a whole id, key, or external id; `last`; the number of a turn of the path, from 1, which names the turn's
/// user message; or an unambiguous prefix of an id or key.
///
/// # Errors
/// If no message or several messages match.
pub fn message(tree: &Tree, path: &[Slot], text: &str) -> Result<Slot, Failure> {
    let text = text.trim();
    let wanted = text.to_lowercase();
    let exact = |slot: &Slot| {
        let head = tree.head(*slot);
        head.external_id.as_deref() == Some(text) || head.id.to_string() == wanted || head.key.to_string() == wanted
    };
    let begins = |slot: &Slot| {
        let head = tree.head(*slot);
        head.id.begins(&wanted) || head.key.begins(&wanted)
    };
    let all: Vec<Slot> = (0..u32::try_from(tree.len()).unwrap_or(u32::MAX)).collect();
    for slots in [path, &all] {
        if let Some(slot) = at_most_one(slots.iter().copied().filter(&exact), text)? {
            return Ok(slot);
        }
    }
    if let Some(slot) = path.last().filter(|_| wanted == LAST) {
        return Ok(*slot);
    }
    let number = wanted.parse::<usize>().ok().filter(|_| wanted.bytes().all(|byte| byte.is_ascii_digit()));
    if let Some(slot) = number.and_then(|number| question(tree, path, number)) {
        return Ok(slot);
    }
    if let Some(number) = number.filter(|_| wanted.len() < SHORTEST_ID) {
        let turns = path.iter().filter(|slot| tree.head(**slot).role == Role::User).count();
        return Err(Failure::user(format!("There is no turn {number} on this branch; the last one is {turns}."))
            .todo("`pleach message list` shows the turns and ids."));
    }
    for slots in [path, &all] {
        if let Some(slot) = at_most_one(slots.iter().copied().filter(|slot| !wanted.is_empty() && begins(slot)), text)?
        {
            return Ok(slot);
        }
    }
    Err(Failure::user(format!("There is no message {text:?} in this session."))
        .todo("`pleach message list` shows the turns and ids."))
}

/// Like [`message`], but the number of a turn names the last message of that turn, because a branch starts after the
/// turn.
///
/// # Errors
/// See [`message`].
pub fn end(tree: &Tree, path: &[Slot], text: &str) -> Result<Slot, Failure> {
    let found = message(tree, path, text)?;
    let number = text.trim().parse().ok().filter(|number| question(tree, path, *number) == Some(found));
    let Some(at) = number.and_then(|_| path.iter().position(|slot| *slot == found)) else { return Ok(found) };
    let rest = path[at + 1..].iter().take_while(|slot| tree.head(**slot).role != Role::User);
    Ok(rest.last().copied().unwrap_or(found))
}

/// Returns the user message of turn `number`, from 1; `None` if the path has no such turn.
pub fn question(tree: &Tree, path: &[Slot], number: usize) -> Option<Slot> {
    let mut questions = path.iter().copied().filter(|slot| tree.head(*slot).role == Role::User);
    questions.nth(number.checked_sub(1)?)
}

/// Returns the only message found; `None` if there is none.
///
/// # Errors
/// If there are several.
fn at_most_one(mut found: impl Iterator<Item = Slot>, text: &str) -> Result<Option<Slot>, Failure> {
    let first = found.next();
    match found.count() {
        0 => Ok(first),
        more => Err(Failure::user(format!("{text:?} matches {} messages.", more + 1)).todo("Type more of the id.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::conversation::message::NodeHead;
    use crate::domain::conversation::tree::tests::head;

    /// Three turns of a question and an answer. The second question was imported with the id `12`.
    fn three_turns() -> (Tree, Vec<Slot>) {
        let role = |n: u128| if n % 2 == 1 { Role::User } else { Role::Assistant };
        let mut heads: Vec<NodeHead> = (1..=6).map(|n| head(n, (n > 1).then(|| n - 1), role(n))).collect();
        heads[2].external_id = Some("12".to_owned());
        let tree = Tree::build(heads);
        let path = tree.path(5);
        (tree, path)
    }

    #[test]
    fn a_message_is_named_by_turn_id_and_external_id() {
        let (tree, path) = three_turns();
        let found = |text: &str| message(&tree, &path, text).unwrap();
        let id = tree.head(3).id.to_string();
        assert_eq!((found("1"), found("2"), found("3"), found(" 3 ")), (0, 2, 4, 4), "the question of the turn");
        assert_eq!((found("last"), found("12"), found(&id), found(&id.to_uppercase())), (5, 2, 3, 3));
        assert_eq!(
            (end(&tree, &path, "2").unwrap(), end(&tree, &path, &id).unwrap()),
            (3, 3),
            "the turn's last message"
        );
        assert_eq!(end(&tree, &path, &tree.head(2).id.to_string()).unwrap(), 2);
        let key = tree.head(4).key.to_string();
        assert_eq!((found(&key), found(&key[..12])), (4, 4));
    }

    #[test]
    fn a_whole_id_that_is_also_an_external_id_is_ambiguous() {
        let mut heads: Vec<NodeHead> = (1..=2).map(|n| head(n, (n > 1).then(|| n - 1), Role::User)).collect();
        for name in [heads[1].id.to_string(), heads[1].key.to_string()] {
            heads[0].external_id = Some(name.clone());
            let tree = Tree::build(heads.clone());
            assert!(message(&tree, &tree.path(1), &name).unwrap_err().what.contains("matches 2 messages"));
        }
    }

    #[test]
    fn unknown_names_are_refused() {
        let (tree, path) = three_turns();
        let refused = |text: &str| message(&tree, &path, text).unwrap_err().what;
        assert_eq!(refused("4"), "There is no turn 4 on this branch; the last one is 3.");
        assert_eq!(refused("0"), "There is no turn 0 on this branch; the last one is 3.");
        assert!(refused("0000").contains("matches 6 messages"));
        assert!(refused("nobody").contains("no message") && refused("").contains("no message"));
        assert!(message(&tree, &[], "last").is_err());
    }
}
