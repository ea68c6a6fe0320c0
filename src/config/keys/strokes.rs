//! A key, or a sequence of keys, as the key table writes them: `ctrl-x t`.
//! Not for: the actions that keys run (`keymap`).

use super::keymap::Chord;
use std::fmt;
use std::str::FromStr;

/// The maximum number of keys in a sequence.
const MAX_KEYS: usize = 3;

/// A key, or a sequence of keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Strokes {
    first: Chord,
    rest: [Option<Chord>; MAX_KEYS - 1],
}

impl Strokes {
    /// Returns the keys in order.
    pub fn chords(self) -> impl Iterator<Item = Chord> {
        std::iter::once(self.first).chain(self.rest.into_iter().flatten())
    }

    /// The number of keys.
    pub fn count(self) -> usize {
        self.chords().count()
    }

    /// Whether `typed` is the complete sequence.
    pub fn is(self, typed: &[Chord]) -> bool {
        self.chords().eq(typed.iter().copied())
    }

    /// Whether the sequence starts with `typed` and continues.
    pub fn continues(self, typed: &[Chord]) -> bool {
        self.count() > typed.len() && self.chords().take(typed.len()).eq(typed.iter().copied())
    }

    /// Returns the key at an index, or None after the end.
    pub fn after(self, count: usize) -> Option<Chord> {
        self.chords().nth(count)
    }

    /// Whether one sequence equals the other or is a prefix of it. Two such sequences cannot be bound in the same
    /// place.
    pub fn is_prefix_of_either(self, other: Self) -> bool {
        self.chords().zip(other.chords()).all(|(a, b)| a == b)
    }

    /// Replaces the first key by `new` if it is `old` and the sequence has more than one key.
    pub(crate) fn replace_leader(&mut self, old: Chord, new: Chord) {
        if self.count() > 1 && self.first == old {
            self.first = new;
        }
    }
}

impl FromStr for Strokes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let first = words.next().ok_or_else(|| format!("{text:?} is not a key"))?.parse()?;
        let mut strokes = Self { first, rest: [None; MAX_KEYS - 1] };
        for (at, word) in words.enumerate() {
            let place = strokes.rest.get_mut(at).ok_or_else(|| format!("{text:?} has more than {MAX_KEYS} keys"))?;
            *place = Some(word.parse()?);
        }
        Ok(strokes)
    }
}

impl fmt::Display for Strokes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.chords().map(|chord| chord.to_string()).collect();
        f.pad(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_sequences() {
        let read = |text: &str| text.parse::<Strokes>();
        let two = read("ctrl-x t").unwrap();
        assert_eq!((two.to_string().as_str(), two.count()), ("Ctrl+X t", 2));
        let typed: Vec<Chord> = two.chords().collect();
        assert!(two.is(&typed) && two.continues(&typed[..1]) && !two.continues(&typed));
        assert_eq!(two.after(1).unwrap().to_string(), "t");
        assert!(
            read("ctrl-x").unwrap().is_prefix_of_either(two) && two.is_prefix_of_either(read("ctrl-x t b").unwrap())
        );
        assert!(!two.is_prefix_of_either(read("ctrl-x b").unwrap()));
        assert!(read("").is_err() && read("a b c d").is_err() && read("ctrl-x f13").is_err());
        assert_eq!(read("space").unwrap().to_string(), "Space");
    }
}
