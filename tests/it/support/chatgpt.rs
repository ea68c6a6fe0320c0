//! Generates a realistic ChatGPT export: long conversations with edits, regenerations, hidden nodes, tools, and images.
//! The output depends only on the arguments.
//! Not for: reading exports.

use serde_json::{Map, Value, json};

/// An export and what a reader must find in it.
pub(crate) struct Made {
    /// The text of `conversations.json`.
    pub(crate) json: String,
    /// All nodes of each conversation: `(id, parent)`, siblings in the order of their parent's `children`.
    pub(crate) trees: Vec<Vec<(String, Option<String>)>>,
    /// The current node of each conversation.
    pub(crate) current: Vec<String>,
}

const ASKED: [&str; 6] = [
    "The refresh token is rejected after a deploy. Where would you look first?",
    "Show me the middleware with the race fixed.",
    "Why does the second tab log me out?",
    "Write a test that fails before the fix.",
    "Now explain it as if to a new colleague — with the trade-offs.",
    "Can we do without the table lock?",
];

/// A conversation while it is generated.
struct Growing {
    name: String,
    clock: f64,
    nodes: Vec<(String, Option<String>, Value)>,
    children: std::collections::HashMap<String, Vec<String>>,
}

impl Growing {
    fn add(&mut self, parent: Option<&str>, message: Value) -> String {
        let id = format!("{}-{:05}", self.name, self.nodes.len());
        if let Some(parent) = parent {
            self.children.entry(parent.to_owned()).or_default().push(id.clone());
        }
        let mut message = message;
        if let Some(object) = message.as_object_mut() {
            self.clock += 17.25;
            object.insert("id".into(), id.clone().into());
            object.insert("create_time".into(), json!(self.clock));
        }
        self.nodes.push((id.clone(), parent.map(str::to_owned), message));
        id
    }

    fn user(&mut self, parent: &str, n: usize) -> String {
        let text = format!("{} (question {n})", ASKED[n % ASKED.len()]);
        let content = if n % 29 == 7 {
            let image = json!({"content_type": "image_asset_pointer", "asset_pointer": format!("file-service://file-{n}"),
                               "size_bytes": 20_480, "width": 640, "height": 480});
            json!({"content_type": "multimodal_text", "parts": [image, text]})
        } else {
            json!({"content_type": "text", "parts": [text]})
        };
        self.add(
            Some(parent),
            json!({"author": {"role": "user", "name": null, "metadata": {}}, "update_time": null,
            "content": content, "status": "finished_successfully", "end_turn": null, "weight": 1.0, "recipient": "all",
            "metadata": {"timestamp_": "absolute"}}),
        )
    }

    fn answer(&mut self, parent: &str, n: usize, version: usize) -> String {
        let mut parent = parent.to_owned();
        if n % 11 == 4 {
            parent = self.add(Some(&parent), json!({"author": {"role": "assistant", "name": null, "metadata": {}},
                "content": {"content_type": "code", "language": "python", "text": format!("print(sum(range({n})))")},
                "status": "finished_successfully", "weight": 1.0, "recipient": "python", "metadata": {"model_slug": "gpt-4o"}}));
            parent = self.add(
                Some(&parent),
                json!({"author": {"role": "tool", "name": "python", "metadata": {}},
                "content": {"content_type": "execution_output", "text": format!("{}\n", n * (n.max(1) - 1) / 2)},
                "status": "finished_successfully", "weight": 1.0, "recipient": "all", "metadata": {}}),
            );
        }
        let text = format!(
            "Answer {n}.{version}: rotate the token inside one transaction.\n\n```rust\nlet next = store.rotate(&old)?;\n```\n"
        );
        self.add(
            Some(&parent),
            json!({"author": {"role": "assistant", "name": null, "metadata": {}},
            "content": {"content_type": "text", "parts": [text]}, "status": "finished_successfully", "end_turn": true,
            "weight": 1.0, "recipient": "all", "metadata": {"model_slug": if version == 0 { "gpt-4o" } else { "o3" },
            "finish_details": {"type": "stop"}, "is_complete": true}}),
        )
    }

    fn beginning(&mut self) -> String {
        let root = self.add(None, Value::Null);
        let system = self.add(
            Some(&root),
            json!({"author": {"role": "system", "name": null, "metadata": {}},
            "content": {"content_type": "text", "parts": [""]}, "status": "finished_successfully", "end_turn": true,
            "weight": 0.0, "recipient": "all", "metadata": {"is_visually_hidden_from_conversation": true}}),
        );
        self.add(Some(&system), json!({"author": {"role": "user", "name": null, "metadata": {}},
            "content": {"content_type": "user_editable_context", "user_profile": "Rust, mostly.", "user_instructions": "Be brief."},
            "status": "finished_successfully", "weight": 1.0, "recipient": "all",
            "metadata": {"is_visually_hidden_from_conversation": true, "is_user_system_message": true}}))
    }

    /// The mapping with entries in another order than the tree, as in real exports.
    fn mapping(&self) -> Value {
        let mut entries: Vec<&(String, Option<String>, Value)> = self.nodes.iter().collect();
        entries.sort_by_key(|(id, _, _)| id.bytes().rev().collect::<Vec<u8>>());
        let mapping: Map<String, Value> = entries
            .into_iter()
            .map(|(id, parent, message)| {
                let children = self.children.get(id).cloned().unwrap_or_default();
                (id.clone(), json!({"id": id, "message": message, "parent": parent, "children": children}))
            })
            .collect();
        Value::Object(mapping)
    }
}

/// Generates `conversations` conversations of at least `nodes` nodes each. Every 5th question is edited, every 4th
/// answer is regenerated, and some conversations continue from the older version.
pub(crate) fn export(conversations: usize, nodes: usize) -> Made {
    let (mut all, mut trees, mut current) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..conversations {
        let clock = 1_760_000_000.5 + number as f64 * 86_400.0;
        let mut tree = Growing {
            name: format!("c{number}"),
            clock,
            nodes: Vec::new(),
            children: std::collections::HashMap::new(),
        };
        let mut tip = tree.beginning();
        let mut n = 0;
        while tree.nodes.len() < nodes {
            let mut question = tree.user(&tip, n);
            if n % 5 == 3 {
                tree.answer(&question, n, 0);
                question = tree.user(&tip, n + 1_000);
            }
            let first = tree.answer(&question, n, 0);
            let second = (n % 4 == 2).then(|| tree.answer(&question, n, 1));
            tip = if n % 8 == 6 { first } else { second.unwrap_or(first) };
            n += 1;
        }
        trees.push(tree.nodes.iter().map(|(id, parent, _)| (id.clone(), parent.clone())).collect());
        all.push(json!({"title": format!("Login bug {number}"), "create_time": clock, "update_time": tree.clock,
            "mapping": tree.mapping(), "moderation_results": [], "current_node": tip, "plugin_ids": null,
            "conversation_id": format!("68ff-{number}"), "conversation_template_id": null, "id": format!("68ff-{number}")}));
        current.push(tip);
    }
    Made { json: Value::Array(all).to_string(), trees, current }
}
