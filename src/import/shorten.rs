//! Shortens a JSON value while it is read: cuts long strings and, if that is not enough, drops the last entries of
//! nested lists and objects. Valid JSON stays valid.
//! Not for: values that are small enough to be kept whole.

use memchr::memchr2;

/// The maximum size of a value that is kept whole, in bytes.
pub(super) const MAX_VALUE_BYTES: usize = 4 << 20;

/// The maximum weight of a value that is kept whole (see [`weight`]).
pub(super) const MAX_VALUE_WEIGHT: u64 = 12_000_000;

/// The estimated size in memory of an entry or a list, and of an object, without their strings but with derived data,
/// in bytes.
const ENTRY_BYTES: u64 = 200;
const OBJECT_BYTES: u64 = 700;

/// Limits on the kept part; sizes are in bytes.
struct Limits {
    /// The maximum size of a string.
    text: usize,
    /// The total size above which later strings are limited to `short`.
    enough: usize,
    /// The maximum size of a string in a value that is already large.
    short: usize,
    /// The total size above which nested entries are dropped.
    full: usize,
    /// The maximum size of a value; a value that needs more is dropped.
    most: usize,
    /// The weight above which nested entries are dropped.
    heavy: u64,
    /// The maximum weight of a value; a heavier one is dropped.
    heaviest: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            text: MAX_VALUE_BYTES,
            enough: MAX_VALUE_BYTES,
            short: 1 << 10,
            full: 5 << 20,
            most: 6 << 20,
            heavy: MAX_VALUE_WEIGHT,
            heaviest: 2 * MAX_VALUE_WEIGHT,
        }
    }
}

/// Estimates the weight of JSON in memory: its size plus a surcharge for syntax outside strings.
pub(super) fn weight(bytes: &[u8]) -> u64 {
    let (mut at, mut sum) = (0, bytes.len() as u64);
    while at < bytes.len() {
        sum += entry(bytes[at]);
        at += 1;
        if bytes[at - 1] != b'"' {
            continue;
        }
        while let Some(mark) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
            at += mark + 1;
            if bytes[at - 1] == b'"' {
                break;
            }
            at += 1;
        }
    }
    sum
}

fn entry(byte: u8) -> u64 {
    match byte {
        b',' | b'[' => ENTRY_BYTES,
        b'{' => OBJECT_BYTES,
        _ => 0,
    }
}

/// The state of the shortening.
#[derive(Default)]
pub(super) struct Shortener {
    limits: Limits,
    kept: Vec<u8>,
    /// The weight of the kept entries, without their bytes.
    weight: u64,
    dropped: u64,
    lost: bool,
    depth: usize,
    quoted: bool,
    /// The number of remaining bytes of an escape.
    escape: u8,
    /// The escape after its backslash.
    code: Vec<u8>,
    /// Whether the last escape was the first half of a surrogate pair.
    half: bool,
    /// The number of bytes that were kept of the current string.
    text: usize,
    /// Whether the rest of the current string is dropped.
    cutting: bool,
    /// The depth of the list or object whose remaining entries are dropped.
    skipping: Option<usize>,
}

impl Shortener {
    /// Handles more bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            if self.quoted && self.escape == 0 {
                let end = memchr2(b'"', b'\\', &bytes[at..]).map_or(bytes.len(), |found| at + found);
                self.string_content(&bytes[at..end]);
                at = end;
                if let Some(byte) = bytes.get(at) {
                    self.mark(*byte);
                    at += 1;
                }
            } else if self.quoted {
                self.escaped(bytes[at]);
                at += 1;
            } else {
                self.outside(bytes[at]);
                at += 1;
            }
        }
    }

    /// Returns the kept bytes, whether the value was dropped, and the number of dropped bytes.
    pub(super) fn finish(self) -> (Vec<u8>, bool, u64) {
        (if self.lost { Vec::new() } else { self.kept }, self.lost, self.dropped)
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.skipping.is_some() || self.lost {
            self.dropped += bytes.len() as u64;
        } else if self.kept.len() + bytes.len() > self.limits.most || self.weight > self.limits.heaviest {
            self.lost = true;
            self.dropped += (self.kept.len() + bytes.len()) as u64;
            self.kept = Vec::new();
        } else {
            self.kept.extend_from_slice(bytes);
        }
    }

    fn room(&self) -> usize {
        let most = if self.kept.len() < self.limits.enough { self.limits.text } else { self.limits.short };
        most.saturating_sub(self.text)
    }

    /// Handles string content without quotes and backslashes.
    fn string_content(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.half = false;
        let mut count = if self.cutting { 0 } else { bytes.len().min(self.room()) };
        let inside = |byte: u8| byte & 0xc0 == 0x80;
        while count > 0 && count < bytes.len() && inside(bytes[count]) {
            count -= 1;
        }
        if count == 0 && !self.cutting && inside(bytes[0]) {
            self.uncut();
        }
        self.keep(&bytes[..count]);
        self.text += count;
        self.cutting |= count < bytes.len();
        self.dropped += (bytes.len() - count) as u64;
    }

    /// Removes the beginning of a character whose rest does not fit.
    fn uncut(&mut self) {
        if self.skipping.is_some() {
            return;
        }
        for _ in 0..3 {
            let Some(byte) = self.kept.pop_if(|byte| !byte.is_ascii()) else { return };
            self.dropped += 1;
            if byte & 0xc0 == 0xc0 {
                return;
            }
        }
    }

    /// Handles a quote or a backslash in a string.
    fn mark(&mut self, byte: u8) {
        if byte == b'"' {
            self.quoted = false;
            self.keep(b"\"");
            return;
        }
        self.cutting |= self.room() == 0 && !self.half;
        self.escape = 1;
        self.code.clear();
        self.one(byte);
    }

    /// Handles a byte of an escape.
    fn escaped(&mut self, byte: u8) {
        if self.escape == 1 && self.code.is_empty() && byte == b'u' {
            self.escape = 5;
        }
        self.code.push(byte);
        self.escape -= 1;
        self.one(byte);
        if self.escape == 0 {
            let high = matches!(self.code[..], [b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..]);
            self.half = high && !self.half;
        }
    }

    fn one(&mut self, byte: u8) {
        if self.cutting {
            self.dropped += 1;
        } else {
            self.keep(&[byte]);
            self.text += 1;
        }
    }

    fn outside(&mut self, byte: u8) {
        match byte {
            b'"' => {
                (self.quoted, self.cutting, self.half, self.text) = (true, false, false, 0);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.skipping == Some(self.depth) {
                    self.skipping = None;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.depth >= 2 && self.skipping.is_none() && self.is_full() => {
                self.skipping = Some(self.depth);
            }
            0 | b' ' | b'\t' | b'\n' | b'\r' => return,
            _ => {}
        }
        if self.skipping.is_none() {
            self.weight += entry(byte);
        }
        self.keep(&[byte]);
    }

    fn is_full(&self) -> bool {
        self.kept.len() > self.limits.full || self.weight > self.limits.heavy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const SMALL_LIMITS: Limits =
        Limits { text: 800, enough: 1_600, short: 10, full: 2_400, most: 2_800, heavy: 1_000_000, heaviest: 2_000_000 };

    fn short(text: &str, step: usize) -> (Vec<u8>, bool, u64) {
        let mut short = Shortener { limits: SMALL_LIMITS, ..Shortener::default() };
        for part in text.as_bytes().chunks(step) {
            short.feed(part);
        }
        short.finish()
    }

    #[test]
    fn a_long_string_is_cut_at_a_character_boundary() {
        for unit in ["x", "ü", "\u{1f600}", r"\n", r"\u00fc", r"\ud83d\ude00", r#"\""#] {
            for (lead, step) in [("", 1), ("a", 7), ("ab", 1_000), ("abc", 3)] {
                let text = format!("{{\"a\":\"{lead}{}\",\"id\":\"z\"}}", unit.repeat(2_000));
                let (kept, lost, dropped) = short(&text, step);
                let value: Value = serde_json::from_slice(&kept).unwrap_or_else(|e| panic!("{unit} {lead}: {e}"));
                assert_eq!(value["id"], "z");
                assert!(
                    !lost && kept.len() < SMALL_LIMITS.text + 40 && kept.len() > SMALL_LIMITS.text - 20,
                    "{}",
                    kept.len()
                );
                assert_eq!(usize::try_from(dropped).unwrap(), text.len() - kept.len(), "{unit}");
            }
        }
    }

    #[test]
    fn a_large_value_is_shortened_to_valid_json() {
        let entry = format!("{{\"k\":[\"{}\",{{}}]}}", "y".repeat(30));
        let items = vec![entry.as_str(); 500].join(", ");
        let (rest, gone, dropped) = short(&format!("{{\"m\":[{items}],\"id\":7}}"), 13);
        let value: Value = serde_json::from_slice(&rest).unwrap();
        assert!(!gone && dropped > 0 && rest.len() <= SMALL_LIMITS.most);
        assert!(value["id"] == 7 && value["m"].as_array().unwrap().len() > 40);
        let (rest, gone, _) = short(&"x".repeat(SMALL_LIMITS.most + 1), 9);
        assert!(gone && rest.is_empty());
        let (rest, gone, _) = short(&" ".repeat(SMALL_LIMITS.most + 1), 9);
        assert!(!gone && rest.is_empty());
    }
}
