//! Finds the message that a person names: by id, a prefix of its id, the id it was imported with, or the number of its
//! turn; also ranges of turns, the call of a turn, branches, and sessions. Every command that takes one of them uses this.
//! Not for: items that are not messages (`engine::sessions::lookup`).

use super::branch::{Branch, SessionCard};
use super::message::Role;
use super::tree::{Slot, Tree};
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::RunId;
use crate::domain::call::run::RunCard;

/// Minimum length of a prefix of an id. A shorter number is always the number of a turn.
pub const SHORTEST_ID: usize = 4;

/// The word that names the branch's last message.
pub const LAST: &str = "last";

/// Precedes the id that a message was imported with. Needed where that id is also the number of a turn.
const IMPORTED: &str = "id:";

/// Returns the external id that `text` names explicitly: `7` for `id:7`.
pub fn imported(text: &str) -> Option<&str> {
    text.trim().strip_prefix(IMPORTED).filter(|id| !id.is_empty())
}

/// Returns the message named by `text`, which is searched on the branch's `path` first and then in the whole session.
/// `text` is `last`; the number of a turn of the path, from 1, which names the turn's user message; a whole id, key, or
/// external id; `id:` and an external id; or an unambiguous prefix of an id or key.
pub fn message(tree: &Tree, path: &[Slot], text: &str) -> Result<Slot, Failure> {
    let text = text.trim();
    let wanted = text.to_lowercase();
    if let Some(slot) = path.last().filter(|_| wanted == LAST) {
        return Ok(*slot);
    }
    if let Some(slot) = numbered(tree, path, &wanted)? {
        return Ok(slot);
    }
    let outside = imported(text);
    let exact = |slot: &Slot| {
        let head = tree.head(*slot);
        let of_import = head.external_id.as_deref();
        of_import.is_some_and(|id| id == text || Some(id) == outside)
            || head.id.to_string() == wanted
            || head.key.to_string() == wanted
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
    for slots in [path, &all] {
        if let Some(slot) = at_most_one(slots.iter().copied().filter(|slot| !wanted.is_empty() && begins(slot)), text)?
        {
            return Ok(slot);
        }
    }
    if range(text).is_some() {
        let what = format!("{text} is a range of turns; a single message is expected here.");
        return Err(Failure::user(what).todo("Name one message, or leave out --message."));
    }
    Err(Failure::user(format!("There is no message {text:?} in this session."))
        .todo("`pleach message list` lists the turns and ids."))
}

/// Returns the words for the turn of a message that [`message`] would find: `turn 2`, `the last turn`, or
/// `the turn of message 0191`.
pub fn turn_words(text: &str) -> String {
    let text = text.trim();
    if text.len() < SHORTEST_ID && text.parse::<u32>().is_ok() {
        format!("turn {text}")
    } else if text.eq_ignore_ascii_case(LAST) {
        "the last turn".to_owned()
    } else {
        format!("the turn of message {text}")
    }
}

/// Like [`message`], but the number of a turn names the last message of that turn, because a branch starts after the
/// turn.
pub fn end(tree: &Tree, path: &[Slot], text: &str) -> Result<Slot, Failure> {
    let found = message(tree, path, text)?;
    let number = text.trim().parse().ok().filter(|number| question(tree, path, *number) == Some(found));
    let Some(at) = number.and_then(|_| path.iter().position(|slot| *slot == found)) else { return Ok(found) };
    let rest = path[at + 1..].iter().take_while(|slot| tree.head(**slot).role != Role::User);
    Ok(rest.last().copied().unwrap_or(found))
}

/// Returns the user message of the turn whose number is `text`; `None` if `text` is not a number, or may be the prefix
/// of an id.
fn numbered(tree: &Tree, path: &[Slot], text: &str) -> Result<Option<Slot>, Failure> {
    let Some(number) = text.parse::<usize>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())) else {
        return Ok(None);
    };
    let found = question(tree, path, number);
    if found.is_some() || text.len() >= SHORTEST_ID {
        return Ok(found);
    }
    let turns = path.iter().filter(|slot| tree.head(**slot).role == Role::User).count();
    let known = if turns == 0 { "it has no turns yet".to_owned() } else { format!("the last one is {turns}") };
    let slots = 0..u32::try_from(tree.len()).unwrap_or(u32::MAX);
    let todo = if slots.into_iter().any(|slot| tree.head(slot).external_id.as_deref() == Some(text)) {
        format!("`{IMPORTED}{text}` names the message that was imported with the id {text}.")
    } else {
        "`pleach message list` lists the turns and ids.".to_owned()
    };
    Err(Failure::user(format!("There is no turn {number} on this branch; {known}.")).todo(todo))
}

/// Returns the call that `text` names by the number of its turn on the branch's `path`, or by `last`: the newest of
/// that turn, or of the path. `runs` are the calls of the session, oldest first. `None` if `text` names a call by its
/// id.
pub fn call<'a>(
    tree: &Tree,
    path: &[Slot],
    mut runs: impl DoubleEndedIterator<Item = &'a RunCard> + Clone,
    text: &str,
) -> Result<Option<RunId>, Failure> {
    let wanted = text.trim().to_lowercase();
    let turn = numbered(tree, path, &wanted)?;
    if turn.is_none() && wanted != LAST {
        return Ok(None);
    }
    let question = turn.map(|slot| tree.head(slot).id);
    let on_path = |id| tree.slot(id).is_some_and(|slot| path.contains(&slot));
    let of_turn = |run: &&RunCard| {
        !run.aside && run.user.is_some_and(|user| question.map_or_else(|| on_path(user), |id| user == id))
    };
    let answered_here = |run: &&RunCard| of_turn(run) && run.answer.is_none_or(&on_path);
    let newest = runs.clone().rfind(answered_here).or_else(|| runs.rfind(of_turn));
    let none = || match turn {
        Some(_) => format!("Turn {wanted} has no call: its messages were added or imported."),
        None => "There are no calls on this branch yet.".to_owned(),
    };
    newest.map(|run| Some(run.id)).ok_or_else(|| Failure::user(none()).todo("`pleach plans list` lists the calls."))
}

/// Returns the branch of a session with this name or id, or with an unambiguous prefix of its id.
pub fn branch<'a>(branches: &'a [Branch], text: &str) -> Result<&'a Branch, Failure> {
    let is_exact = |branch: &&Branch| branch.name == text || branch.id.to_string() == text;
    let begins = |branch: &&Branch| !text.is_empty() && branch.id.to_string().starts_with(text);
    let mut found: Vec<&Branch> = branches.iter().filter(is_exact).collect();
    if found.is_empty() {
        found = branches.iter().filter(begins).collect();
    }
    match found.as_slice() {
        [only] => Ok(only),
        [] => Err(no_branch(text)),
        many => Err(Failure::user(format!("{} branches match {text:?}.", many.len())).todo("Use the id of a branch.")),
    }
}

/// Returns the session with this id or title, or with an unambiguous prefix of one.
pub fn session<'a>(cards: &'a [SessionCard], text: &str) -> Result<&'a SessionCard, Failure> {
    let none =
        || Failure::user(format!("There is no session {text:?}.")).todo("`pleach session list` lists the sessions.");
    let wanted = text.trim();
    if wanted.is_empty() {
        return Err(none());
    }
    pick(wanted, "session", cards, |card| (card.id.to_string(), card.title.clone()))?.ok_or_else(none)
}

/// Returns the question before a session is deleted.
pub fn deletion_question(card: &SessionCard) -> String {
    format!("Permanently delete the session {:?} and all its messages?", card.title)
}

/// A predicate on an id and a name.
type Fits<'a> = dyn Fn(&(String, String)) -> bool + 'a;

/// Returns the element that a text identifies: by id, by name, by a unique prefix of an id, or by a unique prefix of a
/// name; `None` if there is none.
pub fn pick<'a, T>(
    text: &str,
    what: &str,
    all: &'a [T],
    names: impl Fn(&T) -> (String, String),
) -> Result<Option<&'a T>, Failure> {
    let wanted = text.to_lowercase();
    let rules: [&Fits<'_>; 4] = [
        &|(id, _)| *id == wanted,
        &|(_, name)| name == text,
        &|(id, _)| wanted.len() >= SHORTEST_ID && id.starts_with(&wanted),
        &|(_, name)| name.to_lowercase().starts_with(&wanted),
    ];
    for rule in rules {
        let found: Vec<&T> = all.iter().filter(|one| rule(&names(one))).collect();
        match found.as_slice() {
            [] => {}
            [one] => return Ok(Some(one)),
            more => {
                let some: Vec<String> = more.iter().take(4).map(|one| names(one).0).collect();
                return Err(Failure::user(format!("{text:?} matches {} {what}s: {} …", more.len(), some.join(", ")))
                    .todo("Type more of the id."));
            }
        }
    }
    Ok(None)
}

/// Returns the failure for a name that no branch of the session has.
pub fn no_branch(text: &str) -> Failure {
    Failure::user(format!("There is no branch {text:?} in this session."))
        .todo("`pleach branch list` lists the branches.")
}

/// Splits `FIRST..LAST` into the names of the first and the last turn of a range; `None` if `text` is not a range.
pub fn range(text: &str) -> Option<(&str, &str)> {
    text.split_once("..").filter(|(first, last)| !first.is_empty() && !last.is_empty())
}

/// Returns the user messages of all turns of the path from `first` to `last`, inclusive; each is named as in
/// [`message`].
pub fn turns(tree: &Tree, path: &[Slot], first: &str, last: &str) -> Result<Vec<Slot>, Failure> {
    let place = |text: &str| {
        let found = message(tree, path, text)?;
        let user = |slot: &Slot| tree.head(*slot).role == Role::User;
        let at = path.iter().position(|slot| *slot == found);
        Ok::<_, Failure>(at.map(|at| path[..=at].iter().rposition(user).unwrap_or(at)))
    };
    let found = match (place(first)?, place(last)?) {
        (Some(first), Some(last)) if first <= last => {
            path[first..=last].iter().copied().filter(|slot| tree.head(*slot).role == Role::User).collect()
        }
        _ => Vec::new(),
    };
    if found.is_empty() {
        let what = format!("{first}..{last} is not a range of turns of this branch.");
        return Err(Failure::user(what).todo("Name the earlier turn first."));
    }
    Ok(found)
}

/// Returns the user message of turn `number`, from 1; `None` if the path has no such turn.
pub fn question(tree: &Tree, path: &[Slot], number: usize) -> Option<Slot> {
    let mut questions = path.iter().copied().filter(|slot| tree.head(*slot).role == Role::User);
    questions.nth(number.checked_sub(1)?)
}

/// Returns the only message found; `None` if there is none.
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
    use crate::domain::base::ids::BranchId;
    use crate::domain::conversation::message::NodeHead;
    use crate::domain::conversation::tree::tests::head;

    /// Three turns of a question and an answer. The second and third were imported with ids.
    fn three_turns() -> (Tree, Vec<Slot>) {
        let role = |n: u128| if n % 2 == 1 { Role::User } else { Role::Assistant };
        let mut heads: Vec<NodeHead> = (1..=6).map(|n| head(n, (n > 1).then(|| n - 1), role(n))).collect();
        heads[2].external_id = Some("3".to_owned());
        heads[3].external_id = Some("12".to_owned());
        heads[4].external_id = Some("a3".to_owned());
        heads[5].external_id = Some("2024".to_owned());
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
        assert_eq!((found("last"), found(&id), found(&id.to_uppercase())), (5, 3, 3));
        assert_eq!((found("id:3"), found("id:12"), found("a3"), found("2024")), (2, 3, 4, 5), "the id of the import");
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
    fn a_branch_is_named_by_name_id_and_start_of_its_id() {
        let one = |n: u128, name: &str| Branch {
            id: BranchId(uuid::Uuid::from_u128(n)),
            name: name.into(),
            ..Branch::default()
        };
        let all = [one(1 << 120, "main"), one(2 << 120, "side"), one(3 << 120, "side"), one(4 << 120, "02")];
        let found = |text: &str| branch(&all, text).map(|found| found.id).map_err(|failure| failure.what);
        assert_eq!(
            (found("main"), found("01"), found(&all[1].id.to_string())),
            (Ok(all[0].id), Ok(all[0].id), Ok(all[1].id))
        );
        assert_eq!(found("02"), Ok(all[3].id), "a name precedes the start of an id");
        assert_eq!(found("side").unwrap_err(), "2 branches match \"side\".");
        assert_eq!(found("0").unwrap_err(), "4 branches match \"0\".");
        assert_eq!((found("ma").is_err(), found("").is_err()), (true, true));
    }

    #[test]
    fn a_range_names_each_of_its_turns() {
        let (tree, path) = three_turns();
        assert_eq!((range("2..3"), range("2.."), range("..3"), range("2")), (Some(("2", "3")), None, None, None));
        let answer = tree.head(3).id.to_string();
        assert_eq!(turns(&tree, &path, "1", "2").unwrap(), [0, 2]);
        assert_eq!(turns(&tree, &path, &answer, "last").unwrap(), [2, 4], "an answer names its turn");
        assert_eq!(turns(&tree, &path, "2", "2").unwrap(), [2]);
        assert!(turns(&tree, &path, "3", "1").unwrap_err().what.contains("3..1 is not a range"));
        assert!(turns(&tree, &path, "2", "9").unwrap_err().what.contains("no turn 9"));
    }

    #[test]
    fn a_call_is_named_by_the_number_of_its_turn() {
        let (tree, path) = three_turns();
        let run = |n: u128, user: Slot, answer: Option<Slot>| RunCard {
            id: RunId(uuid::Uuid::from_u128(n)),
            user: Some(tree.head(user).id),
            answer: answer.map(|slot| tree.head(slot).id),
            ..RunCard::default()
        };
        let aside = RunCard { aside: true, ..run(5, 2, None) };
        let runs = [run(1, 0, Some(1)), run(2, 2, Some(3)), run(3, 2, Some(3)), run(4, 2, Some(5)), aside];
        let named = |path: &[Slot], text: &str| {
            call(&tree, path, runs.iter(), text).map(|id| id.map(|id| id.0.as_u128())).map_err(|failure| failure.what)
        };
        assert_eq!((named(&path, "1"), named(&path, "2")), (Ok(Some(1)), Ok(Some(4))));
        assert_eq!(named(&path[..4], "2"), Ok(Some(3)), "an answer on another branch comes last");
        assert_eq!((named(&path, " Last "), named(&path[..2], "last")), (Ok(Some(4)), Ok(Some(1))));
        assert_eq!((named(&path, "2f"), named(&path, "123456")), (Ok(None), Ok(None)), "the prefix of an id");
        assert!(named(&path, "3").unwrap_err().contains("Turn 3 has no call"));
        assert_eq!(named(&path, "9").unwrap_err(), "There is no turn 9 on this branch; the last one is 3.");
        assert!(named(&[], "last").unwrap_err().contains("no calls"));
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
        let (what, todo) = message(&tree, &path, "12").map_err(|failure| (failure.what, failure.todo)).unwrap_err();
        assert_eq!(what, "There is no turn 12 on this branch; the last one is 3.");
        assert!(todo.contains("`id:12` names"), "the number of a turn is never an id");
        assert!(refused("id:9").contains("no message") && refused("id:").contains("no message"));
        assert!(refused("0000").contains("matches 6 messages"));
        assert!(refused("nobody").contains("no message") && refused("").contains("no message"));
        assert!(message(&tree, &[], "last").is_err());
    }

    #[test]
    fn turns_are_named_by_number_word_or_message() {
        let all = ["2", " Last ", "01919f3e", "2024"].map(turn_words);
        let expected = ["turn 2", "the last turn", "the turn of message 01919f3e", "the turn of message 2024"];
        assert_eq!(all, expected);
    }
}
