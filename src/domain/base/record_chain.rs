//! Lines of records in which each line states a hash of itself and of all lines before it, so that a changed, missing,
//! or moved line is found. The hashes are no signature: whoever changes a line can compute all later hashes again, and
//! then the last hash differs.
//! Not for: the contents of the records (`call::bundle`).

use super::hash::{Fields, Hash};
use super::safe_text::Safe;
use serde_json::{Map, Value};
use std::fmt;

/// The names of the fields that the chain adds to a record: its kind, its number, and its hash.
pub const CHAIN_FIELDS: [&str; 3] = ["bundle", "n", "bundle_hash"];

/// The end of a line: the field before its hash, and the length of the rest.
const HASH_FIELD: &[u8] = b",\"bundle_hash\":\"";
const HASH_DIGITS: usize = 64;
const LINE_END: &[u8] = b"\"}\n";

/// Writes the lines of a chain.
#[derive(Default)]
pub struct ChainWriter {
    number: u64,
    last: Hash,
}

impl ChainWriter {
    /// Returns the next line, with its line end: the kind, the number, the fields, and the hash.
    pub fn line(&mut self, kind: &str, fields: &Map<String, Value>) -> String {
        self.number += 1;
        let body = serde_json::to_string(fields).unwrap_or_default();
        let inner = body.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
        let comma = if inner.is_empty() { "" } else { "," };
        let sealed = Safe::json(&format!("{{\"bundle\":\"{kind}\",\"n\":{}{comma}{inner}", self.number));
        self.last = link(self.last, sealed.as_bytes());
        format!("{sealed},\"bundle_hash\":\"{}\"}}\n", self.last)
    }

    /// Returns the hash of the last line, which depends on every byte of the file.
    pub fn digest(&self) -> Hash {
        self.last
    }
}

/// A fault of a chain at one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChainFault {
    /// The line is not a whole record.
    NotARecord,
    /// The hash does not match the record.
    Changed,
    /// Records before this one are missing: the first and the last of them.
    Missing(u64, u64),
    /// The record with this number is not in its place.
    Moved(u64),
}

impl fmt::Display for ChainFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecord => f.write_str("this is not a whole record of a bundle"),
            Self::Changed => f.write_str("the record was changed: its hash does not match"),
            Self::Missing(first, last) if first == last => write!(f, "record {first} is missing before this line"),
            Self::Missing(first, last) => write!(f, "records {first} to {last} are missing before this line"),
            Self::Moved(number) => write!(f, "record {number} is not in its place"),
        }
    }
}

/// Checks the lines of a chain. After a fault, the check continues with the next line.
pub struct ChainReader {
    next: u64,
    /// The hashes that the last line may have: as it states, and as computed. Empty if unknown.
    before: Vec<Hash>,
}

impl Default for ChainReader {
    fn default() -> Self {
        Self { next: 1, before: vec![Hash::default()] }
    }
}

impl ChainReader {
    /// Checks the next line, which includes its line end.
    ///
    /// # Errors
    /// Returns the fault of the line.
    pub fn check(&mut self, line: &[u8]) -> Result<(), ChainFault> {
        let Some(((_, number), (sealed, stated))) = heading(line).zip(split(line)) else {
            self.next += 1;
            self.before.clear();
            return Err(ChainFault::NotARecord);
        };
        if number < self.next {
            return Err(ChainFault::Moved(number));
        }
        let links: Vec<Hash> = self.before.iter().map(|before| link(*before, sealed)).collect();
        let expected = std::mem::replace(&mut self.next, number.saturating_add(1));
        let matches = links.is_empty() || links.contains(&stated);
        self.before = links.into_iter().take(1).chain([stated]).collect();
        if number > expected {
            self.before = vec![stated];
            return Err(ChainFault::Missing(expected, number - 1));
        }
        if matches { Ok(()) } else { Err(ChainFault::Changed) }
    }

    /// Passes over a line that can't be checked.
    pub fn pass(&mut self, line: &[u8]) {
        self.next = heading(line).map_or(self.next, |(_, number)| number).saturating_add(1);
        self.before.clear();
    }
}

/// Returns the kind and the number of a record from the beginning of its line; `None` if it is not one.
pub fn heading(line: &[u8]) -> Option<(&str, u64)> {
    let rest = line.strip_prefix(b"{\"bundle\":\"")?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    let kind = std::str::from_utf8(&rest[..end]).ok()?;
    let rest = rest[end..].strip_prefix(b"\",\"n\":")?;
    let digits = &rest[..rest.iter().position(|byte| !byte.is_ascii_digit())?];
    Some((kind, std::str::from_utf8(digits).ok()?.parse().ok()?))
}

/// Splits a line into the bytes that its hash covers and the hash that it states.
fn split(line: &[u8]) -> Option<(&[u8], Hash)> {
    let rest = line.strip_suffix(LINE_END)?;
    let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(HASH_DIGITS)?)?;
    let digits = std::str::from_utf8(digits).ok()?;
    let stated: Hash = digits.parse().ok()?;
    // Another spelling of the same hash is a change too.
    (stated.to_string() == digits).then_some((rest.strip_suffix(HASH_FIELD)?, stated))
}

fn link(before: Hash, sealed: &[u8]) -> Hash {
    Fields::new("bundle record").hash(before).bytes(sealed).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn lines(count: u64) -> Vec<String> {
        let mut writer = ChainWriter::default();
        let fields = |n| json!({ "text": format!("\"{n}\u{9b}\n{{") }).as_object().cloned().unwrap();
        (0..count).map(|n| writer.line("message", &fields(n))).collect()
    }

    fn faults(lines: &[String]) -> Vec<(usize, ChainFault)> {
        let mut reader = ChainReader::default();
        let found = (1..).zip(lines).map(|(at, line)| (at, reader.check(line.as_bytes())));
        found.filter_map(|(at, found)| Some((at, found.err()?))).collect()
    }

    #[test]
    fn a_line_is_one_json_object_with_its_kind_its_number_and_its_hash() {
        let all = lines(2);
        let value: Value = serde_json::from_str(&all[1]).unwrap();
        assert_eq!((&value["bundle"], &value["n"]), (&"message".into(), &2.into()));
        assert_eq!(value["text"], "\"1\u{9b}\n{");
        assert!(all.iter().all(|line| line.is_ascii() && line.matches('\n').count() == 1));
        assert_eq!(faults(&all), []);
        assert_eq!(ChainWriter::default().line("end", &Map::new()).matches(",,").count(), 0);
    }

    #[test]
    fn each_fault_is_reported_once_and_at_its_line() {
        let all = lines(6);
        let mut changed = all.clone();
        changed[2] = changed[2].replace("\\n{", "\\n[");
        assert_eq!(faults(&changed), [(3, ChainFault::Changed)]);
        let mut hash = all.clone();
        let (start, end) = (hash[2].len() - 4, if hash[2].ends_with("0\"}\n") { "1\"}\n" } else { "0\"}\n" });
        hash[2].replace_range(start.., end);
        assert_eq!(faults(&hash), [(3, ChainFault::Changed)]);
        let mut missing = all.clone();
        missing.drain(1..3);
        assert_eq!(faults(&missing), [(2, ChainFault::Missing(2, 3))]);
        let mut swapped = all.clone();
        swapped.swap(2, 3);
        assert_eq!(faults(&swapped), [(3, ChainFault::Missing(3, 3)), (4, ChainFault::Moved(3))]);
        let mut twice = all.clone();
        twice.insert(3, all[2].clone());
        assert_eq!(faults(&twice), [(4, ChainFault::Moved(3))]);
        let mut garbage = all.clone();
        garbage[1] = "no JSON\n".into();
        garbage[5].pop();
        assert_eq!(faults(&garbage), [(2, ChainFault::NotARecord), (6, ChainFault::NotARecord)]);
        assert_eq!(ChainFault::Missing(2, 3).to_string(), "records 2 to 3 are missing before this line");
    }

    #[test]
    fn another_line_gives_another_digest() {
        let digest = |text: &str| {
            let mut writer = ChainWriter::default();
            writer.line("message", json!({ "text": text }).as_object().unwrap());
            writer.line("end", &Map::new());
            writer.digest()
        };
        assert_eq!(digest("a"), digest("a"));
        assert_ne!(digest("a"), digest("b"));
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_found(at in any::<prop::sample::Index>(), xor in 1..=255_u8) {
            let all = lines(4).concat();
            let mut bytes = all.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] ^= xor;
            let mut reader = ChainReader::default();
            let found = bytes.split_inclusive(|byte| *byte == b'\n').any(|line| reader.check(line).is_err());
            prop_assert!(found, "byte {at}");
        }
    }
}
