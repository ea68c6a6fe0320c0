//! Shortens the JSON schemas of tool arguments that are too large to be sent with every call, and reports the omitted
//! parts.
//! Not for: validating arguments.

use serde_json::{Map, Value, json};

/// Maximum bytes of a schema.
const MAX_BYTES: usize = 24_000;
/// Maximum characters of each description in a schema that is shortened.
const MAX_DESCRIPTION: usize = 160;
/// Keywords that a shortened schema omits.
const OPTIONAL: [&str; 8] = ["title", "examples", "example", "default", "$comment", "$id", "deprecated", "format"];
/// Keywords whose values are schemas by name.
const NAMED: [&str; 4] = ["properties", "$defs", "definitions", "patternProperties"];
/// Keywords whose values are not schemas.
const VALUES: [&str; 3] = ["enum", "const", "required"];

/// Returns the schema that is sent, and, if it was shortened, a sentence about the omitted parts.
pub fn bounded(schema: Value) -> (Value, Option<String>) {
    let size = schema.to_string().len();
    if size <= MAX_BYTES {
        return (schema, None);
    }
    let note =
        |what: &str| Some(format!("The argument schema is {} KB, too large for every request: {what}", size >> 10));
    let mut short = schema;
    remove_optional(&mut short);
    if fits(&short) {
        return (short, note("examples, defaults, and long descriptions were removed"));
    }
    let short = top_level(&short);
    if fits(&short) {
        return (short, note("only the top-level arguments and their types are sent"));
    }
    (json!({ "type": "object" }), note("no arguments are sent"))
}

fn fits(schema: &Value) -> bool {
    schema.to_string().len() <= MAX_BYTES
}

fn remove_optional(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|key, _| !OPTIONAL.contains(&key.as_str()));
            if let Some(Value::String(words)) = fields.get_mut("description") {
                *words = shortened(words, MAX_DESCRIPTION);
            }
            for (key, value) in fields.iter_mut().filter(|(key, _)| !VALUES.contains(&key.as_str())) {
                match value {
                    Value::Object(named) if NAMED.contains(&key.as_str()) => {
                        named.values_mut().for_each(remove_optional);
                    }
                    other => remove_optional(other),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(remove_optional),
        _ => {}
    }
}

/// Returns the first `most` characters of a text, with an ellipsis if there are more.
pub(super) fn shortened(words: &str, most: usize) -> String {
    match words.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words.to_owned(),
    }
}

/// Returns a schema with only the names, types, and descriptions of the top-level arguments, and which of them are
/// required.
fn top_level(schema: &Value) -> Value {
    let summarized = |schema: &Value| -> Value {
        let kept =
            ["type", "description"].iter().filter_map(|key| Some(((*key).to_owned(), schema.get(*key)?.clone())));
        Value::Object(kept.collect())
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties: Map<String, Value> =
        properties.into_iter().flatten().map(|(name, value)| (name.clone(), summarized(value))).collect();
    let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
    json!({ "type": "object", "properties": properties, "required": required })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_schemas_stay_and_large_ones_report_shortening() {
        let small = json!({"type": "object", "properties": {"title": {"type": "string", "default": "x"}}});
        assert_eq!(bounded(small.clone()), (small, None));
        let full = json!({"type": "object", "required": ["title"], "properties": {
            "title": {"type": "string", "description": "w".repeat(30_000), "default": "x", "enum": ["title"]}}});
        let (short, note) = bounded(full);
        assert_eq!(short["properties"]["title"]["enum"], json!(["title"]), "an argument may be called like a keyword");
        assert!(fits(&short) && short["properties"]["title"].get("default").is_none());
        assert!(note.unwrap().contains("29 KB, too large for every request: examples"));
        let choice = json!({"anyOf": [{"type": "string", "examples": ["w".repeat(30_000)]}, {"type": "null"}]});
        let (short, _) = bounded(json!({"type": "object", "properties": {"title": choice}}));
        assert_eq!(short["properties"]["title"], json!({"anyOf": [{"type": "string"}, {"type": "null"}]}));
        let names: Vec<String> = (0..4_000).map(|n| format!("name{n}")).collect();
        let deep = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "object", "description": "It.", "properties": {"b": {"enum": names}}}}});
        let (short, note) = bounded(deep);
        assert_eq!(
            short,
            json!({"type": "object", "properties": {"a": {"type": "object", "description": "It."}}, "required": ["a"]})
        );
        assert!(note.unwrap().contains("only the top-level"));
        let wide: Map<String, Value> = names.into_iter().map(|name| (name, json!({"type": "string"}))).collect();
        let (short, note) = bounded(json!({"type": "object", "properties": wide}));
        assert_eq!(short, json!({"type": "object"}));
        assert!(note.unwrap().contains("no arguments"));
        assert!(bounded(json!("x".repeat(30_000))).0 == json!({"type": "object", "properties": {}, "required": []}));
    }
}
