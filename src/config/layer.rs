//! A layer of configuration: a TOML text with its origin. Each layer is checked alone, so that errors point to its
//! file, and then merged table by table.
//! Not for: the list and the order of the layers (`load`).

use super::error::{ConfigError, Place, nearest};
use super::renamed;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::path::Path;
use toml_edit::{Document, Item, TableLike};

/// A layer of configuration.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The file, or another description of the origin.
    pub origin: String,
    /// The whole text.
    pub text: String,
    /// The parsed table.
    pub table: toml::Table,
}

impl Layer {
    /// Parses a text, which must be a valid `T` by itself.
    pub fn parse<T: DeserializeOwned>(origin: &str, text: &str) -> Result<Self, ConfigError> {
        if let Err(error) = toml::from_str::<T>(text) {
            return Err(explain(origin, text, error.message(), error.span()));
        }
        let table = toml::from_str(text).map_err(|error| explain(origin, text, error.message(), error.span()))?;
        Ok(Self { origin: origin.to_owned(), text: text.to_owned(), table })
    }

    /// Reads a file; returns None if the file does not exist.
    pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<Self>, ConfigError> {
        let origin = path.display().to_string();
        let bytes = match read_small(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ConfigError::unreadable(path, &error)),
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            ConfigError::Faulty {
                file: origin.clone(),
                place: Place::of(&text, valid),
                key: String::new(),
                what: "the file is not UTF-8 text".into(),
                nearest: None,
            }
        })?;
        Self::parse::<T>(&origin, &text).map(Some)
    }

    /// Returns the position of a key in the text.
    pub fn place(&self, path: &[&str]) -> Option<Place> {
        let document = Document::parse(self.text.as_str()).ok()?;
        let mut table: &dyn TableLike = document.as_table();
        let mut place = None;
        for (depth, part) in path.iter().enumerate() {
            let (key, item) = table.get_key_value(part)?;
            place = key.span().map(|span| Place::of(&self.text, span.start));
            if depth + 1 < path.len() {
                table = item.as_table_like()?;
            }
        }
        place
    }
}

/// Reads a regular file of at most 4 MiB. A folder is not trusted: it can contain special files and very large ones.
fn read_small(path: &Path) -> std::io::Result<Vec<u8>> {
    const MAX_BYTES: u64 = 4 << 20;
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    if about.len() > MAX_BYTES {
        return Err(std::io::Error::other("it is larger than 4 MiB"));
    }
    std::fs::read(path)
}

/// Merges `upper` into `base`: tables are merged, other values are replaced.
pub fn merge(base: &mut toml::Table, upper: &toml::Table) {
    for (key, value) in upper {
        match (base.get_mut(key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => merge(below, above),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

fn explain(origin: &str, text: &str, message: &str, span: Option<Range<usize>>) -> ConfigError {
    let span = span.unwrap_or(0..0);
    let path = path_at(text, &span);
    let (what, near) = unknown(message).map_or_else(
        || (one_line(message), None),
        |Unknown { field, word, expected }| {
            let near = nearest(&word, expected.iter().map(String::as_str));
            if field {
                ("unknown setting".to_owned(), near.or_else(|| find_elsewhere(&word)))
            } else {
                (format!("{word:?} is not one of {}", expected.join(", ")), near)
            }
        },
    );
    ConfigError::Faulty { file: origin.to_owned(), place: Place::of(text, span.start), key: path, what, nearest: near }
}

fn one_line(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ").trim_end_matches('.').to_owned()
}

struct Unknown {
    field: bool,
    word: String,
    expected: Vec<String>,
}

/// Parses serde's message: "unknown field `x`, expected one of `a`, `b`". Returns None for any other message.
fn unknown(message: &str) -> Option<Unknown> {
    let field = message.strip_prefix("unknown field `");
    let (word, tail) = field.or_else(|| message.strip_prefix("unknown variant `"))?.split_once('`')?;
    let mut expected: Vec<String> = tail.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let accepted = expected.clone();
    expected.retain(|name| !renamed::is_earlier(name, &accepted));
    Some(Unknown { field: field.is_some(), word: word.to_owned(), expected })
}

/// Returns the dotted name of a built-in setting with a similar name, in any table.
fn find_elsewhere(field: &str) -> Option<String> {
    let known: toml::Table = toml::from_str(super::DEFAULT).ok()?;
    let mut paths = Vec::new();
    for (section, value) in &known {
        if let Some(table) = value.as_table().filter(|_| section != "profiles" && section != "models") {
            paths.extend(table.keys().map(|key| (key.clone(), format!("{section}.{key}"))));
        } else {
            paths.push((section.clone(), section.clone()));
        }
    }
    let near = nearest(field, paths.iter().map(|(key, _)| key.as_str()))?;
    paths.into_iter().find(|(key, _)| *key == near).map(|(_, path)| path)
}

/// Returns the dotted path of the key or value at a span; empty if the text is not valid TOML.
fn path_at(text: &str, span: &Range<usize>) -> String {
    let Ok(document) = Document::parse(text) else { return String::new() };
    let mut parts = Vec::new();
    descend(document.as_table(), span.start, &mut parts);
    parts.join(".")
}

fn descend(table: &dyn TableLike, at: usize, parts: &mut Vec<String>) -> bool {
    for (name, item) in table.iter() {
        let on_key = table.get_key_value(name).and_then(|(key, _)| key.span()).is_some_and(|span| span.contains(&at));
        parts.push(name.to_owned());
        let within = item.as_table_like().is_some_and(|inner| descend(inner, at, parts));
        let on_value = !matches!(item, Item::Table(_)) && item.span().is_some_and(|span| span.contains(&at));
        if within || on_key || on_value {
            return true;
        }
        parts.pop();
    }
    false
}
