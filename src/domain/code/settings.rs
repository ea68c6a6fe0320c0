//! What of a workspace's code goes into a call by itself, as the settings say it.
//! Not for: finding it (`code`) or putting it into a plan (`engine::plans::sources::code`).

use crate::domain::planning::mode::Mode;
use serde::{Deserialize, Serialize};

/// The settings about code. All of it wants the folder's trust.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodeSettings {
    /// Code is read, named behind an `@`, and put into calls.
    pub enabled: bool,
    /// Tokens of the map; 0 for none.
    pub map_tokens: u32,
    /// Central symbols beside the map in Heavy.
    pub anchors: u32,
    /// Hundredths of what may be looked up that code may take.
    pub share: u32,
    /// The model may look for symbols and open them.
    pub tools: bool,
}

impl Default for CodeSettings {
    fn default() -> Self {
        Self { enabled: true, map_tokens: 200, anchors: 6, share: 50, tools: true }
    }
}

/// What goes of code in a mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeLimits {
    /// Tokens of the map.
    pub map: u32,
    /// Central symbols beside it.
    pub anchors: usize,
    /// Touchpoints.
    pub items: usize,
    /// Lines of each.
    pub lines: usize,
    /// Tokens of each.
    pub tokens: u32,
}

impl CodeSettings {
    /// What goes in a mode: nothing in Off; the map, and for a focus thin cards, in Light; more of each in Heavy.
    #[must_use]
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

/// Names that are kept to, at most.
const NAMES: usize = 32;

/// What a person keeps to, as typed: names between spaces or commas, an `@` before each or not, each once.
#[must_use]
pub fn focus(words: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in words.split([' ', ',', '\t', '\n']).map(|word| word.trim_start_matches('@')) {
        if !word.is_empty() && names.len() < NAMES && names.iter().all(|name| name != word) {
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
