//! Readers of other formats, which return neutral records: pleach JSON lines and bundles, JSON lists of chat messages,
//! ChatGPT exports, and Telegram Desktop exports.
//! Not for: storing the records (`engine`, `store`), or writing formats (`export`).
//!
//! The format is detected by content, never by file name. Everything readable is imported; the rest is reported with
//! its position. Reading is iterative and takes time linear in the size of the file. A file of any size is read piece
//! by piece: memory holds one message at a time, whole up to 4 MiB (`shorten` decides which parts of a larger one are
//! kept), and only the positions of finished messages. A conversation that is a separate document is read the same way
//! (`document`). An import never uses more than 200 MB of memory.

mod bundle;
mod chatgpt;
mod document;
mod fingerprint;
mod json;
mod lines;
mod message;
mod notes;
mod outline;
mod reader;
mod session_buffer;
mod shorten;
mod source;
mod split;
mod survey;
mod telegram;
#[cfg(test)]
mod telegram_tests;
mod time;
mod tree_builder;
mod verify;

use crate::domain::base::Failure;
use crate::domain::conversation::ImportedFile;
use reader::Shape;
use source::Source;
use split::Separator;
use std::io::Cursor;

pub use lines::Stream;
pub use source::Input;
pub use verify::{recorded, verify};

/// The number of bytes at the beginning of a file that decide its format.
pub const PREFIX: usize = 64 << 10;

/// The maximum size of a UTF-16 file in bytes. It is converted to UTF-8 in memory.
const MAX_UTF16_BYTES: u64 = 32 << 20;

/// Why a file could not be read at all.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ImportError {
    #[error("{file} is empty; there is nothing to import.")]
    Empty { file: String },
    /// The file is a zip archive.
    #[error("{file} is a zip archive. Unzip it first, then import the conversations.json inside.")]
    Zip { file: String },
    /// The file is compressed in another way.
    #[error("{file} is compressed ({kind}). Unpack it first, then import the file inside.")]
    Packed {
        file: String,
        /// The compression.
        kind: &'static str,
    },
    /// The file is a database.
    #[error(
        "{file} is an SQLite database, not an export. To open another store use --store; to import, export it first."
    )]
    Database { file: String },
    /// No reader knows the format.
    #[error(
        "{file} is not in a known format: {why}. Known formats: pleach JSON lines and bundles, chat messages \
            JSON, ChatGPT exports and Telegram Desktop exports."
    )]
    Unknown {
        file: String,
        /// The content that was found instead.
        why: String,
    },
}

/// Reads bytes in memory. `file_name` is used in messages, and as the title if the file has none.
pub fn read(bytes: &[u8], file_name: &str) -> Result<ImportedFile, Failure> {
    ImportedFile::collect(&mut open(Box::new(Cursor::new(bytes.to_vec())), file_name)?)
}

/// Checks whether a file with this beginning can be read, before more of it is read.
pub fn check(prefix: &[u8], file_name: &str) -> Result<(), Failure> {
    refuse(prefix, named(file_name)).map_err(|error| Failure::user(error.to_string()))
}

/// Opens a file that is then read piece by piece.
pub fn open(input: Box<dyn Input>, file_name: &str) -> Result<Stream, Failure> {
    let file = named(file_name);
    let unreadable = |error: std::io::Error| Failure::user(format!("{file} can't be read: {error}."));
    let mut source = Source::new(input).map_err(unreadable)?;
    let prefix = source.prefix(PREFIX as u64).map_err(unreadable)?;
    refuse(&prefix, file).map_err(|error| Failure::user(error.to_string()))?;
    if is_wide(&prefix) {
        let bytes = source.prefix(MAX_UTF16_BYTES + 1).map_err(unreadable)?;
        if bytes.len() as u64 > MAX_UTF16_BYTES {
            let what = format!("{file} is UTF-16 text and larger than {} MiB.", MAX_UTF16_BYTES >> 20);
            return Err(Failure::user(what).todo("Convert it to UTF-8 first, then import that file."));
        }
        let text = narrow(&bytes);
        drop(bytes);
        source = Source::new(Box::new(Cursor::new(text.into_bytes()))).map_err(unreadable)?;
        let prefix = source.prefix(PREFIX as u64).map_err(unreadable)?;
        refuse(&prefix, file).map_err(|error| Failure::user(error.to_string()))?;
    }
    let (shape, further) = shape(&mut source).map_err(unreadable)?;
    source.seek_to(shape.start).map_err(unreadable)?;
    Ok(Stream::new(source, (shape, further), file_name, file))
}

fn named(file_name: &str) -> &str {
    if file_name.is_empty() { "the input" } else { file_name }
}

/// Returns how the file is split, and the offsets of additional lists with chats of an account.
fn shape(source: &mut Source) -> std::io::Result<(Shape, Vec<u64>)> {
    let prefix = source.prefix(PREFIX as u64)?;
    let text = prefix.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&prefix).trim_ascii_start();
    let start = prefix.len() - text.len();
    let shape = |separator, element, unit, start: usize| {
        (Shape { separator, element, unit, start: start as u64, account: false }, Vec::new())
    };
    if text.first() == Some(&b'[') {
        return Ok(shape(Separator::Array, "element", "message", start + 1));
    }
    if let Some(list) = split::list_of(text, "conversations") {
        return Ok(shape(Separator::Array, "conversation", "message", start + list));
    }
    source.seek_to(start as u64)?;
    if text.first() != Some(&b'{') {
        return Ok(shape(Separator::Lines, "line", "line", start));
    }
    let mut lists = split::find_lists(source, telegram::LISTS)?.into_iter();
    if let Some(start) = lists.next() {
        let first = Shape { separator: Separator::Array, element: "chat", unit: "message", start, account: true };
        return Ok((first, lists.collect()));
    }
    // A document is exactly one JSON value. If anything follows the value, the file consists of lines, unless it is a
    // truncated chat.
    let one = split::is_whole(source)? || telegram::starts_like_chat(text);
    Ok(shape(if one { Separator::Nothing } else { Separator::Lines }, "line", "line", start))
}

/// Rejects files that are not conversations, by their beginning.
fn refuse(prefix: &[u8], file: &str) -> Result<(), ImportError> {
    refuse_packed(prefix, file)?;
    if is_wide(prefix) {
        return Ok(());
    }
    if prefix.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
        return Err(ImportError::Empty { file: file.to_owned() });
    }
    let unknown = |why: &str| Err(ImportError::Unknown { file: file.to_owned(), why: why.into() });
    if prefix.len() >= PREFIX {
        let text = String::from_utf8_lossy(prefix);
        let odd = |c: &char| *c == '\u{fffd}' || (c.is_control() && !c.is_whitespace() && *c != '\0');
        if text.chars().filter(odd).count() > prefix.len() / 5 {
            return unknown("it is not text");
        }
        let begins = |line: &str| lines::trimmed(line).starts_with(['{', '[']);
        if !text.lines().any(begins) {
            return unknown("none of its first lines is JSON");
        }
    }
    Ok(())
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

/// Whether the bytes are UTF-16 text.
fn is_wide(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
}

fn narrow(bytes: &[u8]) -> String {
    let little = bytes.first() == Some(&0xff);
    let units = bytes[2..].chunks_exact(2).map(|pair| {
        let pair = [pair[0], pair[1]];
        if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
    });
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests;
