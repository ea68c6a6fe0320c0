//! Readers of foreign formats, into neutral records: pleach JSON lines, chat messages JSON, ChatGPT exports.
//! Not for: storing what was read (`engine`, `store`) or writing formats (`export`).
//!
//! The format is found by content, never by the file's name. Whatever can be read goes in; the rest is reported with its
//! place. Everything is iterative and linear in the size of the file.

mod arrange;
mod chatgpt;
mod json;
mod lines;
mod message;
mod notes;
mod split;
mod time;

use crate::domain::record::Reading;
use lines::Gathering;
use notes::Notes;
use serde_json::Value;

/// Why a file could not be read at all.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ImportError {
    /// There is nothing in it.
    #[error("{file} is empty; there is nothing to import.")]
    Empty {
        /// The file.
        file: String,
    },
    /// It is a zip archive.
    #[error("{file} is a zip archive. Unzip it first, then import the conversations.json inside.")]
    Zip {
        /// The file.
        file: String,
    },
    /// It is packed in another way.
    #[error("{file} is compressed ({kind}). Unpack it first, then import what is inside.")]
    Packed {
        /// The file.
        file: String,
        /// How.
        kind: &'static str,
    },
    /// It is a database.
    #[error(
        "{file} is an SQLite database, not an export. To open another store use --store; to import, export it first."
    )]
    Database {
        /// The file.
        file: String,
    },
    /// No reader knows it.
    #[error(
        "{file} is in no known format: {why}. Known are pleach JSON lines, chat messages JSON and ChatGPT exports."
    )]
    Unknown {
        /// The file.
        file: String,
        /// What was found.
        why: String,
    },
}

/// Reads a whole file. `file_name` serves for messages and as a title where the file has none.
pub fn read(bytes: &[u8], file_name: &str) -> Result<Reading, ImportError> {
    let file = if file_name.is_empty() { "the input" } else { file_name };
    refuse_packed(bytes, file)?;
    let mut notes = Notes::default();
    let text = decode(bytes, &mut notes);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.trim_matches(|c: char| c.is_whitespace() || c == '\0').is_empty() {
        return Err(ImportError::Empty { file: file.to_owned() });
    }
    let mut gathering = Gathering::new(file_name, notes);
    if text.starts_with('[') {
        read_array(text, &mut gathering);
    } else {
        // Only one JSON value as a whole is a document; with anything after it these are lines.
        match serde_json::from_str::<Value>(text) {
            Ok(value) => read_document(value, &mut gathering),
            Err(_) => read_lines(text, &mut gathering),
        }
    }
    gathering.finish().map_err(|why| ImportError::Unknown { file: file.to_owned(), why })
}

fn refuse_packed(bytes: &[u8], file: &str) -> Result<(), ImportError> {
    let file = file.to_owned();
    match bytes {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Err(ImportError::Zip { file }),
        [0x1f, 0x8b, ..] => Err(ImportError::Packed { file, kind: "gzip" }),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Err(ImportError::Packed { file, kind: "zstd" }),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Err(ImportError::Packed { file, kind: "bzip2" }),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Err(ImportError::Packed { file, kind: "xz" }),
        [b'7', b'z', 0xbc, 0xaf, ..] => Err(ImportError::Packed { file, kind: "7z" }),
        _ if bytes.starts_with(b"SQLite format 3\0") => Err(ImportError::Database { file }),
        _ => Ok(()),
    }
}

fn decode<'a>(bytes: &'a [u8], notes: &mut Notes) -> std::borrow::Cow<'a, str> {
    if let [first, second, rest @ ..] = bytes
        && (*first, *second) != (0xff, 0xff)
        && (*first == 0xff && *second == 0xfe || *first == 0xfe && *second == 0xff)
    {
        let little = *first == 0xff;
        let units: Vec<u16> = rest
            .chunks_exact(2)
            .map(|pair| {
                let pair = [pair[0], pair[1]];
                if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
            })
            .collect();
        return String::from_utf16_lossy(&units).into();
    }
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        notes.skip("file", "some bytes were not UTF-8; each such place now reads U+FFFD");
    }
    text
}

fn read_array(text: &str, gathering: &mut Gathering) {
    for (index, element) in split::Elements::new(text).enumerate() {
        let place = format!("element {}", index + 1);
        match serde_json::from_str::<Value>(element) {
            Ok(value) => gathering.take(value, &place, index as u64 + 1, "message"),
            Err(error) => gathering.notes.skip(place, format!("not readable as JSON: {error}")),
        }
    }
}

fn read_document(mut value: Value, gathering: &mut Gathering) {
    if let Some(Value::Array(all)) = value.get_mut("conversations").map(Value::take) {
        for (index, one) in all.into_iter().enumerate() {
            gathering.take(one, &format!("conversation {}", index + 1), index as u64 + 1, "message");
        }
    } else {
        gathering.take(value, "the document", 1, "line");
    }
}

fn read_lines(text: &str, gathering: &mut Gathering) {
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0');
        if line.is_empty() {
            continue;
        }
        match serde_json::from_str::<Value>(line) {
            Ok(value) => gathering.take(value, &format!("line {}", index + 1), index as u64 + 1, "line"),
            Err(error) => {
                gathering.notes.skip(format!("line {}", index + 1), format!("not readable as JSON: {error}"));
            }
        }
    }
}

#[cfg(test)]
mod tests;
