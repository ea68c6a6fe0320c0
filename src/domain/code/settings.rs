//! The settings for code that is sent with calls.
//! Not for: finding code (`code`) or adding it to a plan (`engine::plans::sources::code`).

use crate::domain::planning::mode::Mode;
use serde::{Deserialize, Serialize};

/// The settings for code. They apply only in a trusted folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodeSettings {
    /// Whether code is indexed, offered after `@`, and added to calls.
    pub enabled: bool,
    /// Maximum tokens of the map; 0 means no map.
    pub map_tokens: u32,
    /// Number of central symbols listed with the map in Heavy; 0 lists none.
    pub anchors: u32,
    /// Maximum share of the retrieval allowance for code, in percent.
    pub share: u32,
    /// Whether the model may search and open symbols.
    pub tools: bool,
}

impl Default for CodeSettings {
    fn default() -> Self {
        Self { enabled: true, map_tokens: 200, anchors: 6, share: 50, tools: true }
    }
}

/// The limits for code in a mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeLimits {
    /// Maximum tokens of the map.
    pub map: u32,
    /// Number of central symbols listed with the map.
    pub anchors: usize,
    /// Maximum number of touchpoints.
    pub items: usize,
    /// Maximum lines of each touchpoint.
    pub lines: usize,
    /// Maximum tokens of each touchpoint.
    pub tokens: u32,
}

impl CodeSettings {
    /// Returns the limits in a mode: nothing in Off, the map and short touchpoints in Light, more of each in Heavy.
    pub fn limits(&self, mode: Mode) -> CodeLimits {
        let items = mode.limits(u32::MAX).cards as usize;
        match mode {
            Mode::Off => CodeLimits { map: 0, anchors: 0, items: 0, lines: 0, tokens: 0 },
            Mode::Light => CodeLimits { map: self.map_tokens.min(200), anchors: 0, items, lines: 5, tokens: 120 },
            Mode::Heavy => CodeLimits {
                map: self.map_tokens,
                anchors: if self.anchors == 0 { 0 } else { self.anchors.clamp(5, 8) as usize },
                items,
                lines: 30,
                tokens: 600,
            },
        }
    }
}

/// Maximum number of names in a focus.
const MAX_NAMES: usize = 32;

/// Parses a focus as typed: names separated by white space or commas, each with or without `@`. Drops duplicates, and
/// names beyond the maximum.
pub fn focus(words: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in words.split([' ', ',', '\t', '\n']).map(|word| word.trim_start_matches('@')) {
        if !word.is_empty() && names.len() < MAX_NAMES && names.iter().all(|name| name != word) {
            names.push(word.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_focus_is_read_as_typed() {
        assert_eq!(focus(" @src/tui,  Parser::go src/tui "), ["src/tui", "Parser::go"]);
        assert_eq!(focus(" , "), [""; 0]);
    }

    #[test]
    fn each_mode_has_its_limits() {
        let of = |mode| CodeSettings::default().limits(mode);
        assert_eq!(of(Mode::Off), CodeLimits { map: 0, anchors: 0, items: 0, lines: 0, tokens: 0 });
        assert_eq!(of(Mode::Light), CodeLimits { map: 200, anchors: 0, items: 6, lines: 5, tokens: 120 });
        assert_eq!(of(Mode::Heavy), CodeLimits { map: 200, anchors: 6, items: 12, lines: 30, tokens: 600 });
        let wide = CodeSettings { map_tokens: 900, anchors: 40, ..CodeSettings::default() };
        assert_eq!((wide.limits(Mode::Light).map, wide.limits(Mode::Heavy).map), (200, 900));
        assert_eq!(wide.limits(Mode::Heavy).anchors, 8);
    }
}
