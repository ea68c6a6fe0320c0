//! Reads one chat of a Telegram Desktop export (`result.json`). Topics of a forum and chains of replies become lanes.
//! Not for: finding the chats of a file (`split`), or reading a chat piece by piece (`document`).

use super::json::{self, Object};
use super::message::{Draft, Parent};
use super::outline::Outline;
use super::time;
use super::tree_builder::short;
use crate::domain::conversation::{Content, Lane, Part, Role};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// The format's name.
pub(super) const FORMAT: &str = "telegram";

/// The fields of an account's export that contain chats, and the name of the list in each of them.
pub(super) const LISTS: ([&str; 2], &str) = (["chats", "left_chats"], "list");

/// The types of chats that do not end in `_chat`, `_group`, `_supergroup`, or `_channel`.
const TYPES: [&str; 3] = ["saved_messages", "replies", "verify_codes"];

/// The maximum length of a name in characters.
const MAX_NAME_CHARS: usize = 100;

/// The maximum size of the names of all topics in bytes. Topics beyond it are read as chains of replies.
const MAX_NAMES_BYTES: usize = 4 << 20;

/// A chat that is being read.
#[derive(Default)]
pub(super) struct Chat {
    id: String,
    /// The sender of the bot's messages, in a chat with a bot.
    bot: Option<String>,
    /// For each message that is a reply: the message at the root of its chain.
    roots: HashMap<i64, i64>,
    /// The names of topics by the message that created them, the same names as a set, and their size in bytes.
    topics: HashMap<i64, String>,
    names: HashSet<String>,
    bytes: usize,
}

/// The facts that a chat's fields state about it.
pub(super) struct ChatFacts {
    pub(super) source: String,
    pub(super) title: String,
    pub(super) chat: Chat,
}

/// Returns whether an object with a list of messages is a chat.
pub(super) fn is_chat(object: &Object) -> bool {
    let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
    let ends = ["_chat", "_group", "_supergroup", "_channel"].iter().any(|end| kind.ends_with(end));
    let field = |key: &str, is: fn(&Value) -> bool| object.get(key).is_some_and(is);
    (ends || TYPES.contains(&kind)) && field("id", Value::is_i64) && field("messages", Value::is_array)
}

/// Returns whether a file with this beginning, which may be truncated, is a single chat.
pub(super) fn starts_like_chat(prefix: &[u8]) -> bool {
    let mut outline = Outline::default();
    outline.feed(prefix);
    let around = outline.finish().around;
    matches!(json::parse(&String::from_utf8_lossy(&around)), Ok(Value::Object(object)) if is_chat(&object))
}

/// Removes the fields of a chat from an object and returns them.
pub(super) fn about(object: &mut Object) -> ChatFacts {
    let kind = json::text(object, "type").unwrap_or_default();
    let name = json::text(object, "name").map(|name| plain(&name)).filter(|name| !name.is_empty());
    let id = json::id(object, "id").unwrap_or_else(|| {
        // Every export contains the id. If it is missing, the name identifies the chat.
        format!("{:016x}", short(&format!("{kind} {}", name.as_deref().unwrap_or_default())))
    });
    let title = name.unwrap_or_else(|| match kind.as_str() {
        "saved_messages" => "Saved Messages".to_owned(),
        "replies" => "Replies".to_owned(),
        _ => format!("Telegram chat {id}"),
    });
    let bot = (kind == "bot_chat").then(|| format!("user{id}"));
    ChatFacts { source: format!("{FORMAT}:chat:{id}"), title, chat: Chat { id, bot, ..Chat::default() } }
}

impl Chat {
    /// Reads the next message. The error states why it cannot be read.
    pub(super) fn draft(&mut self, mut object: Object, number: u64) -> Result<Draft, &'static str> {
        let id = object.get("id").and_then(Value::as_i64).ok_or("it has no numeric id")?;
        object.shift_remove("id");
        let mut draft = Draft::placeholder(id.to_string(), Parent::Unstated, number, "message");
        draft.placeholder = false;
        let kind = json::text(&mut object, "type").unwrap_or_default();
        let record = &mut draft.record;
        record.lane = self.lane(id, &kind, &object).text();
        record.at = ["date_unixtime", "date"].into_iter().find_map(|key| object.get(key).and_then(time::millis));
        if record.at.is_some() {
            object.shift_remove("date_unixtime");
            object.shift_remove("date");
        }
        let mut kept = Vec::new();
        let parts = match kind.as_str() {
            // A message that the exporting program did not support has only an id.
            "unsupported" => Vec::new(),
            "service" => {
                record.name = sender(&mut object, "actor");
                vec![Part::Text { text: action(&object) }]
            }
            _ => {
                let from_bot =
                    self.bot.is_some() && object.get("from_id").and_then(Value::as_str) == self.bot.as_deref();
                record.role = if from_bot { Role::Assistant } else { Role::User };
                record.name = sender(&mut object, "from");
                record.hidden = false;
                parts(&mut object, &mut kept)
            }
        };
        if !kept.is_empty() {
            object.insert("opaque".into(), Value::Array(kept));
        }
        record.content = Content { parts, extra: (!object.is_empty()).then_some(Value::Object(object)) };
        Ok(draft)
    }

    /// Returns the lane of a message: the topic that it creates or that its chain of replies belongs to, or otherwise
    /// the chain itself.
    fn lane(&mut self, id: i64, kind: &str, object: &Object) -> Lane {
        if kind == "service" && object.get("action").and_then(Value::as_str) == Some("topic_created") {
            let title = object.get("title").and_then(Value::as_str).unwrap_or_default();
            if let Some(lane) = self.topic(id, title) {
                return lane;
            }
        }
        let Some(to) = self.replies_to(object) else { return Lane::Root };
        let root = self.roots.get(&to).copied().unwrap_or(to);
        self.roots.insert(id, root);
        self.topics.get(&root).map_or_else(|| Lane::Reply(root.to_string()), |name| Lane::Topic(name.clone()))
    }

    /// Adds a topic. If several have the same title, the names of the later ones also contain their ids. Returns `None`
    /// for a topic that exists or exceeds the limit.
    fn topic(&mut self, id: i64, title: &str) -> Option<Lane> {
        let title = plain(title);
        let name = match title.as_str() {
            "" => format!("topic {id}"),
            _ if self.names.contains(&title) => format!("{title} ({id})"),
            _ => title,
        };
        self.bytes += 2 * name.len();
        if self.bytes > MAX_NAMES_BYTES || self.topics.contains_key(&id) {
            return None;
        }
        self.names.insert(name.clone());
        self.topics.insert(id, name.clone());
        Some(Lane::Topic(name))
    }

    /// Returns the message of this chat that a message replies to.
    fn replies_to(&self, object: &Object) -> Option<i64> {
        let peer = object.get("reply_to_peer_id").and_then(Value::as_str);
        let here = peer.is_none_or(|peer| peer.trim_start_matches(|c: char| c.is_ascii_alphabetic()) == self.id);
        object.get("reply_to_message_id").and_then(Value::as_i64).filter(|_| here)
    }
}

fn sender(object: &mut Object, key: &str) -> Option<String> {
    json::drop_null(object, key);
    json::text(object, key)
}

/// Returns a name on one line.
fn plain(name: &str) -> String {
    let words: Vec<&str> =
        name.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    words.join(" ").chars().take(MAX_NAME_CHARS).collect::<String>().trim().to_owned()
}

/// Describes a service message, as in `topic created: Billing`.
fn action(object: &Object) -> String {
    let text = |key: &str| object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let what = text("action").unwrap_or("service message").replace('_', " ");
    let members = object.get("members").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let members: Vec<&str> = members.collect();
    let about = ["title", "new_title", "information_text", "text"].into_iter().find_map(text).map(str::to_owned);
    match about.or_else(|| (!members.is_empty()).then(|| members.join(", "))) {
        Some(about) => format!("{what}: {about}"),
        None => what,
    }
}

/// Returns the parts of a message: its texts, and markers for everything else, whose values are added to `kept`.
fn parts(object: &mut Object, kept: &mut Vec<Value>) -> Vec<Part> {
    let entities = object.shift_remove("text_entities");
    let mut text = object.shift_remove("text").map(|text| text_of(&text)).unwrap_or_default();
    if text.is_empty() {
        text = entities.map(|entities| text_of(&entities)).unwrap_or_default();
    }
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(Part::Text { text });
    }
    if let Some(text) = object.get("poll").and_then(poll) {
        object.shift_remove("poll");
        parts.push(Part::Text { text });
    }
    parts.extend(file(object).into_iter().chain(attachments(object)).map(|value| json::opaque(value, kept)));
    parts
}

/// Returns a text, or the joined texts of a list of entities. Code becomes Markdown code, and a link keeps its address.
fn text_of(text: &Value) -> String {
    let entity = |entity: &Value| -> String {
        let field = |key: &str| entity.get(key).and_then(Value::as_str).unwrap_or_default();
        let (text, href) = (field("text"), field("href"));
        match field("type") {
            "code" if !text.contains('`') && !text.is_empty() => format!("`{text}`"),
            "pre" if !text.contains("```") => {
                format!("```{}\n{}\n```\n", field("language"), text.trim_end_matches('\n'))
            }
            "text_link" if !href.is_empty() && href != text => format!("{text} ({href})"),
            _ => text.to_owned(),
        }
    };
    match text {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(|one| one.as_str().map_or_else(|| entity(one), str::to_owned)).collect(),
        one => entity(one),
    }
}

fn poll(poll: &Value) -> Option<String> {
    let question = poll.get("question").map(text_of).filter(|question| !question.is_empty())?;
    let answers = poll.get("answers").and_then(Value::as_array).into_iter().flatten();
    let answers: String =
        answers.filter_map(|answer| answer.get("text")).flat_map(|text| ["\n- ".to_owned(), text_of(text)]).collect();
    Some(format!("Poll: {question}{answers}"))
}

/// Returns a photo or a file. Whether and where the export saved it differs between exports and is not part of the
/// message.
fn file(object: &mut Object) -> Option<Value> {
    let kind = object.get("media_type").and_then(Value::as_str).unwrap_or_default();
    let kind = match kind {
        "sticker" => "sticker image",
        "voice_message" | "audio_file" => "audio",
        "video_message" | "video_file" | "animation" => "video",
        _ if object.contains_key("photo") => "image",
        _ if object.contains_key("file") => "file",
        _ => return None,
    };
    let mut about = Object::new();
    about.insert("type".into(), kind.into());
    let fields =
        ["mime_type", "file_name", "sticker_emoji", "performer", "title", "duration_seconds", "width", "height"];
    for key in fields {
        about.extend(object.shift_remove(key).map(|value| (key.to_owned(), value)));
    }
    Some(Value::Object(about))
}

/// Removes and returns places, contacts, and other values that are neither texts nor files.
fn attachments(object: &mut Object) -> impl Iterator<Item = Value> + use<> {
    let mut found = Vec::new();
    for key in ["location_information", "contact_information", "invoice_information", "poll"] {
        if object.get(key).is_some_and(|value| !value.is_null())
            && let Some(value) = object.shift_remove(key)
        {
            let name = object.shift_remove("place_name").unwrap_or_default();
            let mut about = json!({ "type": key.trim_end_matches("_information"), "about": value });
            if let (Some(about), false) = (about.as_object_mut(), name.is_null()) {
                about.insert("name".into(), name);
            }
            found.push(about);
        }
    }
    if let Some(title) = object.shift_remove("game_title") {
        found.push(json!({ "type": "game", "name": title }));
    }
    found.into_iter()
}
