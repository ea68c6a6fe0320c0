//! Shortens JSON schemas of tools' arguments that are too large for every call, and reports that.
//! Not for: validating arguments.

use serde_json::{Map, Value, json};

/// Maximum bytes of a schema.
const LONGEST: usize = 24_000;
/// Maximum characters of a description in a schema that is too long.
const WORDS: usize = 160;
/// Optional keywords.
const EXTRA: [&str; 8] = ["title", "examples", "example", "default", "$comment", "$id", "deprecated", "format"];
/// Keywords that contain named schemas.
const NAMED: [&str; 4] = ["properties", "$defs", "definitions", "patternProperties"];
/// Keywords that contain values.
const VALUES: [&str; 3] = ["enum", "const", "required"];

/// A schema as sent, and if it was shortened, what is missing.
#[must_use]
pub fn bounded(schema: Value) -> (Value, Option<String>) {
    let size = schema.to_string().len();
    if size <= LONGEST {
        return (schema, None);
    }
    let said = |what: &str| {
        Some(format!("The schema of its arguments has {} KB, too much for every request: {what}", size >> 10))
    };
    let mut short = schema;
    strip(&mut short);
    if fits(&short) {
        return (short, said("examples, defaults and long descriptions were removed"));
    }
    let short = outermost(&short);
    if fits(&short) {
        return (short, said("only the top-level arguments and their types are sent"));
    }
    (json!({ "type": "object" }), said("no arguments are sent"))
}

fn fits(schema: &Value) -> bool {
    schema.to_string().len() <= LONGEST
}

fn strip(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|key, _| !EXTRA.contains(&key.as_str()));
            if let Some(Value::String(words)) = fields.get_mut("description") {
                *words = first(words);
            }
            for (key, value) in fields.iter_mut().filter(|(key, _)| !VALUES.contains(&key.as_str())) {
                match value {
                    Value::Object(named) if NAMED.contains(&key.as_str()) => named.values_mut().for_each(strip),
                    other => strip(other),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(strip),
        _ => {}
    }
}

fn first(words: &str) -> String {
    match words.char_indices().nth(WORDS) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words.to_owned(),
    }
}

/// Names, types and descriptions of the top-level arguments, and which are required.
fn outermost(schema: &Value) -> Value {
    let of = |schema: &Value| -> Value {
        let kept =
            ["type", "description"].iter().filter_map(|key| Some(((*key).to_owned(), schema.get(*key)?.clone())));
        Value::Object(kept.collect())
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties: Map<String, Value> =
        properties.into_iter().flatten().map(|(name, value)| (name.clone(), of(value))).collect();
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
        let (short, said) = bounded(full);
        assert_eq!(short["properties"]["title"]["enum"], json!(["title"]), "an argument may be called like a keyword");
        assert!(fits(&short) && short["properties"]["title"].get("default").is_none());
        assert!(said.unwrap().contains("29 KB, too much for every request: examples"));
        let choice = json!({"anyOf": [{"type": "string", "examples": ["w".repeat(30_000)]}, {"type": "null"}]});
        let (short, _) = bounded(json!({"type": "object", "properties": {"title": choice}}));
        assert_eq!(short["properties"]["title"], json!({"anyOf": [{"type": "string"}, {"type": "null"}]}));
        let names: Vec<String> = (0..4_000).map(|n| format!("name{n}")).collect();
        let deep = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "object", "description": "It.", "properties": {"b": {"enum": names}}}}});
        let (short, said) = bounded(deep);
        assert_eq!(
            short,
            json!({"type": "object", "properties": {"a": {"type": "object", "description": "It."}}, "required": ["a"]})
        );
        assert!(said.unwrap().contains("only the top-level"));
        let wide: Map<String, Value> = names.into_iter().map(|name| (name, json!({"type": "string"}))).collect();
        let (short, said) = bounded(json!({"type": "object", "properties": wide}));
        assert_eq!(short, json!({"type": "object"}));
        assert!(said.unwrap().contains("no arguments"));
        assert!(bounded(json!("x".repeat(30_000))).0 == json!({"type": "object", "properties": {}, "required": []}));
    }
}
