//! Lanes: the topic or the chain of replies that a message belongs to, as a short text stored with the message.
//! Not for: the window of a lane (`context`), or branches, which are other continuations rather than other topics.

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::SessionId;

/// Prefix of a reply lane's text.
const REPLY: &str = "reply:";
/// Digits of the message's key in the lanes of replies of earlier versions.
pub(super) const EARLIER_DIGITS: usize = 8;
/// Optional prefix of a topic's text. It is stored only for a name that would otherwise read as something else.
const TOPIC: &str = "topic:";

/// A lane. Its stored text is empty for the root, `reply:` and a key, or a topic's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lane {
    /// No topic and no reply.
    Root,
    /// The replies to one message: the key in hex of the message at the root of the reply chain (lanes of earlier
    /// versions have a prefix of it), or that message's id in another program if the imported file does not contain the
    /// message.
    Reply(String),
    /// A named topic.
    Topic(String),
}

impl Lane {
    /// Parses a stored text, or a text that a person typed, which can be a lane's key. `root` and an empty text name
    /// the root lane.
    pub fn read(text: &str) -> Self {
        let text = text.trim();
        let topic = text.strip_prefix(TOPIC).map_or(text, without_session).trim();
        match text.strip_prefix(REPLY).map(|root| without_session(root).trim()) {
            Some(root) if !root.is_empty() => Self::Reply(root.to_owned()),
            _ if topic.is_empty() || text.eq_ignore_ascii_case("root") || text.starts_with("root:") => Self::Root,
            _ => Self::Topic(topic.to_owned()),
        }
    }

    /// Returns the text that is stored with messages. [`Lane::read`] parses it.
    pub fn text(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Reply(root) => format!("{REPLY}{root}"),
            Self::Topic(name) if Self::read(name) == *self => name.clone(),
            Self::Topic(name) => format!("{TOPIC}{name}"),
        }
    }

    /// Returns the word that names the lane in a command: its stored text, or `root` for the root lane.
    pub fn word(&self) -> String {
        if *self == Self::Root { "root".to_owned() } else { self.text() }
    }

    /// Returns the key that identifies the lane among all sessions: `topic:<session>:<name>`, `reply:<session>:<root>`,
    /// `root:<session>`.
    pub fn key(&self, session: SessionId) -> String {
        match self {
            Self::Root => format!("root:{session}"),
            Self::Reply(root) => format!("{REPLY}{session}:{root}"),
            Self::Topic(name) => format!("{TOPIC}{session}:{name}"),
        }
    }

    /// Returns the name, without the message that a lane of replies replies to (see [`super::lane_use::title`]).
    pub fn title(&self) -> String {
        match self {
            Self::Root => "root".into(),
            Self::Reply(root) => format!("replies to {}", root.chars().take(8).collect::<String>()),
            Self::Topic(name) => name.clone(),
        }
    }

    /// Returns the lane of a new message. `replied` is the message replied to: its lane and key. In order of
    /// precedence: the topic or reply lane of that message, so that a chain of replies stays in the lane of its root;
    /// the branch's topic; a new reply lane rooted at that message; the branch's current lane.
    pub fn of_message(current: &Self, replied: Option<(&Self, Hash)>) -> Self {
        match (replied, current) {
            (Some((Self::Root, _)), Self::Topic(name)) => Self::Topic(name.clone()),
            (Some((Self::Root, root)), Self::Root | Self::Reply(_)) => Self::Reply(root.to_string()),
            (Some((lane @ (Self::Topic(_) | Self::Reply(_)), _)), _) | (None, lane) => lane.clone(),
        }
    }

    /// Completes a reply lane whose root is only a prefix: returns the only lane among the `known` lanes (given by
    /// their texts) whose root starts with the prefix; this lane if there is none or several.
    #[must_use]
    pub fn among<'a>(self, known: impl Iterator<Item = &'a str>) -> Self {
        let Self::Reply(root) = &self else { return self };
        let mut found: Vec<Self> = Vec::new();
        for lane in known.map(Self::read) {
            let begins = matches!(&lane, Self::Reply(other) if other.starts_with(root.as_str()));
            if begins && !found.contains(&lane) {
                found.push(lane);
            }
        }
        match <[Self; 1]>::try_from(found) {
            Ok([only]) => only,
            Err(_) => self,
        }
    }

    /// Returns whether `text` is this lane of replies as an earlier version stored it: with only a prefix of the key.
    pub fn was_named(&self, text: &str) -> bool {
        let Self::Reply(root) = self else { return false };
        text.strip_prefix(REPLY).is_some_and(|begins| begins.len() == EARLIER_DIGITS && root.starts_with(begins))
    }
}

/// Returns a lane's text without the session id at its beginning, which a lane's key has.
fn without_session(text: &str) -> &str {
    match text.split_once(':') {
        Some((session, rest)) if session.len() == 36 && session.parse::<SessionId>().is_ok() => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stored_texts_round_trip() {
        for lane in [Lane::Root, Lane::Reply("ab12".into()), Lane::Topic("login bug".into())] {
            assert_eq!(Lane::read(&lane.text()), lane);
        }
        assert_eq!(Lane::read("topic:billing"), Lane::Topic("billing".into()));
        assert_eq!(Lane::read(" root "), Lane::Root);
        assert_eq!(Lane::read("reply:"), Lane::Topic("reply:".into()), "a name, since it names no root");
        assert_eq!(Lane::read("topic:"), Lane::Root);
    }

    proptest! {
        /// Regardless of a topic's name, its stored text, its word in a command, and its key identify only that topic.
        #[test]
        fn every_name_is_read_back(
            name in prop_oneof!["[a-z:]{1,9}", "(root|reply|topic)(:[a-z]{0,3}){0,2}", "\\PC{1,12}"],
            reply in any::<bool>(),
            id in any::<u128>(),
        ) {
            let name = name.trim().to_owned();
            prop_assume!(!name.is_empty());
            let lane = if reply { Lane::Reply(name) } else { Lane::Topic(name) };
            for text in [lane.text(), lane.word(), lane.key(SessionId(uuid::Uuid::from_u128(id)))] {
                prop_assert_eq!(Lane::read(&text), lane.clone(), "{}", text);
            }
        }
    }

    #[test]
    fn keys_contain_the_session() {
        let session = SessionId(uuid::Uuid::nil());
        assert_eq!(Lane::Root.key(session), format!("root:{session}"));
        assert_eq!(Lane::Topic("a".into()).key(session), format!("topic:{session}:a"));
        assert_eq!(Lane::Reply("b".into()).key(session), format!("reply:{session}:b"));
    }

    #[test]
    fn topic_precedes_reply_precedes_root() {
        let (topic, other) = (Lane::Topic("t".into()), Lane::Topic("u".into()));
        let key = Hash::of(b"asked");
        let chain = Lane::Reply(key.to_string());
        assert_eq!(Lane::of_message(&Lane::Root, None), Lane::Root);
        assert_eq!(Lane::of_message(&topic, None), topic);
        assert_eq!(Lane::of_message(&Lane::Root, Some((&Lane::Root, key))), chain);
        assert_eq!(Lane::of_message(&topic, Some((&Lane::Root, key))), topic);
        assert_eq!(Lane::of_message(&topic, Some((&other, key))), other);
    }

    #[test]
    fn the_beginning_of_a_key_is_enough_where_one_lane_has_it() {
        let known = ["", "reply:abcd", "reply:abef", "reply:abef", "topic:ab", "reply:12"];
        let among = |typed: &str| Lane::read(typed).among(known.into_iter()).text();
        assert_eq!(among("reply:1"), "reply:12");
        assert_eq!(among("reply:abe"), "reply:abef");
        assert_eq!(
            (among("reply:ab"), among("reply:9"), among("ab")),
            ("reply:ab".into(), "reply:9".into(), "ab".into())
        );
    }

    /// An answer to an answer does not begin another lane.
    #[test]
    fn a_reply_to_a_reply_stays_in_the_lane_of_the_chains_root() {
        let root = Hash::of(b"root of the chain");
        let first = Lane::of_message(&Lane::Root, Some((&Lane::Root, root)));
        let second = Lane::of_message(&Lane::Root, Some((&first, Hash::of(b"the reply"))));
        let third = Lane::of_message(&second, Some((&second, Hash::of(b"the reply to it"))));
        assert_eq!((&second, &third), (&first, &first));
        assert_eq!(first, Lane::Reply(root.to_string()));
        let named = |digits: &str| first.was_named(&format!("reply:{digits}"));
        assert!(named(&root.short()) && !named("00000000") && !named(&root.short()[..1]) && !named(&root.to_string()));
        assert!(!first.was_named(&root.short()) && !Lane::Root.was_named("reply:12345678"));
    }
}
