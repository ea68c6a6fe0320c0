//! BLAKE3 hashes as values, and unambiguous hashing of several fields.
//! Not for: choosing which fields are hashed; each type does that.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A 256-bit BLAKE3 hash, displayed and serialized as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Returns the hash of raw bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Returns the first eight hex digits. For display only, never for identity.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }

    /// Returns whether the hex digits of the hash start with `digits` (in lower case).
    pub fn begins(&self, digits: &str) -> bool {
        blake3::Hash::from_bytes(self.0).to_hex().starts_with(digits)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.short())
    }
}

/// The error for a text that is not 64 hex digits.
#[derive(Debug, thiserror::Error)]
#[error("not a hash of 64 hex digits: {0:?}")]
pub struct NotAHash(String);

impl FromStr for Hash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        blake3::Hash::from_hex(text).map(|hash| Self(*hash.as_bytes())).map_err(|_| NotAHash(text.to_owned()))
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Hashes fields one after the other, each preceded by its length. The first field is the name of the hashed type.
pub struct Fields(blake3::Hasher);

impl Fields {
    /// Starts the hash of a value of the type called `what` ("node", "plan", …). Values of two types never share a
    /// hash.
    pub fn new(what: &str) -> Self {
        Self(blake3::Hasher::new()).bytes(what.as_bytes())
    }

    /// Adds raw bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds a text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// Adds an integer.
    #[must_use]
    pub fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    /// Adds another hash.
    #[must_use]
    pub fn hash(self, hash: Hash) -> Self {
        self.bytes(&hash.0)
    }

    /// Adds an optional hash; `None` differs from every hash.
    #[must_use]
    pub fn optional(self, hash: Option<Hash>) -> Self {
        match hash {
            Some(hash) => self.hash(hash),
            None => self.bytes(&[]),
        }
    }

    /// Adds any serializable value as JSON.
    #[must_use]
    pub fn json<T: Serialize + ?Sized>(self, value: &T) -> Self {
        self.bytes(&serde_json::to_vec(value).unwrap_or_default())
    }

    /// Returns the hash of all added fields.
    pub fn finish(self) -> Hash {
        Hash(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_boundaries_matter() {
        let joined = Fields::new("x").text("ab").text("c").finish();
        let other = Fields::new("x").text("a").text("bc").finish();
        assert_ne!(joined, other);
        assert_ne!(Fields::new("x").optional(None).finish(), Fields::new("x").optional(Some(Hash::default())).finish());
    }

    #[test]
    fn hex_round_trip() {
        let hash = Hash::of(b"pleach");
        assert_eq!(hash.to_string().parse::<Hash>().unwrap(), hash);
        assert!("xyz".parse::<Hash>().is_err());
    }
}
