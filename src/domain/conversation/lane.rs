//! Lanes: the topic or the chain of replies that a message belongs to, as a short text stored with the message.
//! Not for: the window of a lane (`context`) or branches, which are other continuations rather than other topics.

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::SessionId;

/// Prefix of a reply lane's text.
const REPLY: &str = "reply:";
/// Optional prefix of a topic's text; imported topics have none.
const TOPIC: &str = "topic:";

/// A lane. Its stored text is empty for the root, `reply:` and a key, or a topic's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lane {
    /// No topic and no reply.
    Root,
    /// The replies to one message: the root of the reply chain, by its key in hex (whole or a prefix).
    Reply(String),
    /// A named topic.
    Topic(String),
}

impl Lane {
    /// Parses a stored text, or a text that a person typed. `root` and an empty text name the root lane.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let text = text.trim();
        let topic = text.strip_prefix(TOPIC).unwrap_or(text).trim();
        match text.strip_prefix(REPLY) {
            Some(root) if !root.trim().is_empty() => Self::Reply(root.trim().to_owned()),
            _ if topic.is_empty() || text.eq_ignore_ascii_case("root") || text.starts_with("root:") => Self::Root,
            _ => Self::Topic(topic.to_owned()),
        }
    }

    /// Returns the text that is stored with messages.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Reply(root) => format!("{REPLY}{root}"),
            Self::Topic(name) => name.clone(),
        }
    }

    /// Returns the key that identifies the lane among all sessions: `topic:<session>:<name>`, `reply:<session>:<root>`,
    /// `root:<session>`.
    #[must_use]
    pub fn key(&self, session: SessionId) -> String {
        match self {
            Self::Root => format!("root:{session}"),
            Self::Reply(root) => format!("{REPLY}{session}:{root}"),
            Self::Topic(name) => format!("{TOPIC}{session}:{name}"),
        }
    }

    /// Returns the display name.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::Root => "root".into(),
            Self::Reply(root) => format!("replies to {}", root.chars().take(8).collect::<String>()),
            Self::Topic(name) => name.clone(),
        }
    }

    /// Returns the lane of a new message. `replied` is the message replied to: its lane and key. In order of
    /// precedence: the topic or reply lane of that message, so that a chain of replies stays in the lane of its root;
    /// the branch's topic; a new reply lane rooted at that message; the branch's present lane.
    #[must_use]
    pub fn of_message(current: &Self, replied: Option<(&Self, Hash)>) -> Self {
        match (replied, current) {
            (Some((Self::Root, _)), Self::Topic(name)) => Self::Topic(name.clone()),
            (Some((Self::Root, root)), Self::Root | Self::Reply(_)) => Self::Reply(root.short()),
            (Some((lane @ (Self::Topic(_) | Self::Reply(_)), _)), _) | (None, lane) => lane.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let chain = Lane::Reply(key.short());
        assert_eq!(Lane::of_message(&Lane::Root, None), Lane::Root);
        assert_eq!(Lane::of_message(&topic, None), topic);
        assert_eq!(Lane::of_message(&Lane::Root, Some((&Lane::Root, key))), chain);
        assert_eq!(Lane::of_message(&topic, Some((&Lane::Root, key))), topic);
        assert_eq!(Lane::of_message(&topic, Some((&other, key))), other);
    }

    /// An answer to an answer does not begin another lane.
    #[test]
    fn a_reply_to_a_reply_stays_in_the_lane_of_the_chains_root() {
        let root = Hash::of(b"root of the chain");
        let first = Lane::of_message(&Lane::Root, Some((&Lane::Root, root)));
        let second = Lane::of_message(&Lane::Root, Some((&first, Hash::of(b"the reply"))));
        let third = Lane::of_message(&second, Some((&second, Hash::of(b"the reply to it"))));
        assert_eq!((&second, &third), (&first, &first));
        assert_eq!(first, Lane::Reply(root.short()));
    }
}
