//! The lanes of a path: the title of each, its size, and when it was last used.
//! Not for: the lane of a message (`lane`) or summaries (`domain::summary`).

use super::lane::{EARLIER_DIGITS, Lane};
use super::message::{End, NodeHead};
use super::tree::{self, Slot, Tree};
use crate::domain::base::hash::Hash;

/// Length of the beginning of a message in the title of a lane of replies, in characters.
const TITLE_CHARS: usize = 24;

/// A lane of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneUse {
    pub lane: Lane,
    /// Number of the lane's turns.
    pub turns: u32,
    /// Number of messages in those turns that requests can contain.
    pub messages: u32,
    /// Bytes of those messages.
    pub bytes: u64,
    /// Time of the newest message, in milliseconds since 1970; `None` for a lane without turns.
    pub last: Option<i64>,
}

impl LaneUse {
    /// Creates the entry of a lane that has no turns.
    pub fn unused(lane: Lane) -> Self {
        Self { lane, turns: 0, messages: 0, bytes: 0, last: None }
    }

    /// Returns the number of tokens, estimated as a quarter of the bytes.
    pub fn est_tokens(&self) -> u64 {
        self.bytes.div_ceil(4)
    }
}

/// Returns the lanes of a path's turns, last used first. A turn is in the lane of its first message.
pub fn of(tree: &Tree, path: &[Slot]) -> Vec<LaneUse> {
    let mut found: Vec<LaneUse> = Vec::new();
    let mut places: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    for turn in tree::turns(tree, path).into_iter().filter(|turn| turn.asked) {
        let heads: Vec<&NodeHead> = path[turn.nodes].iter().map(|slot| tree.head(*slot)).collect();
        let Some(first) = heads.first() else { continue };
        let lane = Lane::read(&first.lane);
        let at = *places.entry(lane.text()).or_insert_with(|| {
            found.push(LaneUse::unused(lane));
            found.len() - 1
        });
        let one = &mut found[at];
        one.turns += 1;
        one.last = one.last.max(Some(first.at));
        for head in heads.iter().filter(|head| !head.hidden && head.end != End::Removed) {
            one.messages += 1;
            one.bytes += head.bytes;
            one.last = one.last.max(Some(head.at));
        }
    }
    found.sort_by_key(|one| std::cmp::Reverse(one.last));
    found
}

/// Returns the lanes of a path, as [`of`] does, with the lane of the next message first if no turn is in it.
pub fn with_next(tree: &Tree, path: &[Slot], next: &Lane) -> Vec<LaneUse> {
    let mut lanes = of(tree, path);
    if lanes.iter().all(|one| one.lane != *next) {
        lanes.insert(0, LaneUse::unused(next.clone()));
    }
    lanes
}

/// Returns a lane's title. The title of a lane of replies is the beginning of the message that they reply to, with
/// `ellipsis` where it is cut, or the lane's own title if the tree does not contain the message.
pub fn title(tree: &Tree, lane: &Lane, ellipsis: &str) -> String {
    let Lane::Reply(root) = lane else { return lane.title() };
    let beginning = root_message(tree, root).map(|head| beginning(&head.preview, ellipsis));
    match beginning.filter(|beginning| !beginning.is_empty()) {
        Some(beginning) => format!("replies to \"{beginning}\""),
        None => lane.title(),
    }
}

/// Returns the message whose whole or partial key a lane of replies contains.
fn root_message<'a>(tree: &'a Tree, root: &str) -> Option<&'a NodeHead> {
    if let Ok(key) = root.parse::<Hash>() {
        return tree.by_key(key).map(|slot| tree.head(slot));
    }
    let part = u32::from_str_radix(root, 16).ok().filter(|_| root.len() == EARLIER_DIGITS)?.to_be_bytes();
    tree.heads().find(|head| head.key.0.starts_with(&part))
}

/// Returns the first words of a line.
fn beginning(line: &str, ellipsis: &str) -> String {
    let Some((end, _)) = line.char_indices().nth(TITLE_CHARS) else { return line.to_owned() };
    let whole = line[..end].rfind(' ').map_or(&line[..end], |space| &line[..space]);
    format!("{}{ellipsis}", whole.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::conversation::message::{Content, Role};

    fn head(at: u128, role: Role, lane: &str) -> NodeHead {
        let content = Content::text("12345678");
        NodeHead {
            at: i64::try_from(at).unwrap(),
            bytes: content.bytes(),
            content: Some(content.hash()),
            lane: lane.to_owned(),
            ..tree::tests::head(at, (at > 1).then(|| at - 1), role)
        }
    }

    #[test]
    fn a_lane_of_replies_is_named_by_its_root_message() {
        let previews =
            ["", "Where do we keep the old invoices?", "Short", &"x".repeat(30), "日本語 in twenty-five chars!"];
        let heads: Vec<NodeHead> = previews
            .iter()
            .zip(1..)
            .map(|(preview, at)| NodeHead { preview: (*preview).to_owned(), ..head(at, Role::User, "") })
            .collect();
        let tree = Tree::build(heads.clone());
        for (at, expected) in [
            (1, "replies to \"Where do we keep the…\"".to_owned()),
            (2, "replies to \"Short\"".to_owned()),
            (3, format!("replies to \"{}…\"", "x".repeat(24))),
            (4, "replies to \"日本語 in twenty-five…\"".to_owned()),
            (0, format!("replies to {}", heads[0].key.short())),
        ] {
            let of = |root: String| title(&tree, &Lane::Reply(root), "…");
            assert_eq!(of(heads[at].key.to_string()), expected, "{at}");
            assert_eq!(of(heads[at].key.short()), expected, "the beginning of the key, as in earlier versions");
        }
        let of = |lane: Lane| title(&tree, &lane, "…");
        assert_eq!(of(Lane::Reply("12345".into())), "replies to 12345", "a message that was not imported");
        assert_eq!((of(Lane::Root), of(Lane::Topic("billing".into()))), ("root".to_owned(), "billing".to_owned()));
    }

    #[test]
    fn every_turn_is_in_the_lane_of_its_question() {
        let (user, model) = (Role::User, Role::Assistant);
        let mut heads = vec![
            head(1, Role::System, "x"),
            head(2, user, ""),
            head(3, model, ""),
            head(4, user, "topic:billing"),
            head(5, model, "topic:billing"),
            head(6, user, "billing"),
            head(7, model, "billing"),
            head(8, user, ""),
        ];
        (heads[6].hidden, heads[4].end) = (true, End::Removed);
        let bytes = heads[1].bytes;
        let tree = Tree::build(heads);
        let path = tree.path(u32::try_from(tree.len() - 1).unwrap());
        let root = LaneUse { lane: Lane::Root, turns: 2, messages: 3, bytes: 3 * bytes, last: Some(8) };
        let billing =
            LaneUse { lane: Lane::Topic("billing".into()), turns: 2, messages: 2, bytes: 2 * bytes, last: Some(6) };
        assert_eq!(of(&tree, &path), [root, billing.clone()]);
        assert_eq!(billing.est_tokens(), (2 * bytes).div_ceil(4));
        assert_eq!(of(&tree, &[]), []);
    }
}
