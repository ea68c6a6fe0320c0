//! Appearance: about twenty inks (what a thing means) with a style each, read from TOML, and the glyphs.
//! Not for: deciding which ink a thing has; views do that, and they know no colours.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::str::FromStr;

macro_rules! inks {
    ($($variant:ident $name:literal $doc:literal),* $(,)?) => {
        /// What a piece of text means.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum Ink { $(#[doc = $doc] $variant,)* }

        const NAMES: &[(Ink, &str)] = &[$((Ink::$variant, $name),)*];
    };
}

inks! {
    Text "text" "Plain words.",
    Dim "dim" "Less important words.",
    Accent "accent" "What a person may act on.",
    Heading "heading" "Titles and headings.",
    Border "border" "Frames.",
    Focus "focus" "The frame of the pane with the focus.",
    You "you" "The person's name over a message.",
    Model "model" "The model's name over a message.",
    Tool "tool" "Tool calls.",
    Code "code" "Code blocks.",
    Pinned "pinned" "Sticky pins.",
    Leased "leased" "Leases.",
    Excluded "excluded" "What is left out.",
    Good "good" "What went well.",
    Warn "warn" "What asks for attention.",
    Danger "danger" "What went wrong.",
    MeterLow "meter_low" "The meter while there is room.",
    MeterMid "meter_mid" "The meter when room gets short.",
    MeterHigh "meter_high" "The meter when it is nearly full.",
    MeterFree "meter_free" "The empty part of the meter.",
    Selected "selected" "The selected line.",
    Ground "ground" "What everything stands on; without one the terminal's own colours stay.",
}

/// Signs that carry meaning, so that colour never does it alone.
#[derive(Clone, Copy, Debug)]
pub struct Glyphs {
    /// Only ASCII.
    pub ascii: bool,
    /// A sticky pin.
    pub pin: &'static str,
    /// A lease.
    pub lease: &'static str,
    /// Left out.
    pub out: &'static str,
    /// Put in once.
    pub once: &'static str,
    /// It went well.
    pub ok: &'static str,
    /// It failed.
    pub fail: &'static str,
    /// Under way.
    pub running: &'static str,
    /// A folded thing.
    pub folded: &'static str,
    /// An opened thing.
    pub opened: &'static str,
    /// A branch; the current one.
    pub branch: &'static str,
    /// Another branch.
    pub other: &'static str,
    /// Marks the current branch at its right.
    pub here: &'static str,
    /// Tree lines: a child with siblings after it.
    pub tee: &'static str,
    /// Tree lines: the last child.
    pub corner: &'static str,
    /// Tree lines: going past.
    pub pipe: &'static str,
    /// A horizontal rule.
    pub rule: &'static str,
    /// The line under a message.
    pub under: &'static str,
    /// A full cell of the meter.
    pub full: &'static str,
    /// An empty cell of the meter.
    pub empty: &'static str,
    /// Separates facts on a line.
    pub dot: &'static str,
    /// About.
    pub about: &'static str,
    /// It is not the same.
    pub differs: &'static str,
    /// One number becomes another.
    pub becomes: &'static str,
    /// More or less by so much.
    pub within: &'static str,
    /// Something was cut.
    pub ellipsis: &'static str,
    /// Something unread.
    pub unread: &'static str,
    /// A favourite.
    pub star: &'static str,
    /// Around `2/3`.
    pub sibling: (&'static str, &'static str),
    /// The scroll thumb.
    pub thumb: &'static str,
    /// Frames.
    pub frame: border::Set<'static>,
}

const FANCY: Glyphs = Glyphs {
    ascii: false,
    pin: "◆",
    lease: "◇",
    out: "✕",
    once: "＋",
    ok: "✓",
    fail: "✗",
    running: "◌",
    folded: "▸",
    opened: "▾",
    branch: "●",
    other: "○",
    here: "◀",
    tee: "├─",
    corner: "└─",
    pipe: "│ ",
    rule: "─",
    under: "└",
    full: "▇",
    empty: "░",
    dot: "·",
    about: "≈",
    differs: "≠",
    becomes: "→",
    within: "±",
    ellipsis: "…",
    unread: "•",
    star: "★",
    sibling: ("‹", "›"),
    thumb: "┃",
    frame: border::PLAIN,
};

const PLAIN: Glyphs = Glyphs {
    ascii: true,
    pin: "#",
    lease: "~",
    out: "x",
    once: "+",
    ok: "+",
    fail: "!",
    running: "*",
    folded: ">",
    opened: "v",
    branch: "@",
    other: "o",
    here: "<",
    tee: "|-",
    corner: "`-",
    pipe: "| ",
    rule: "-",
    under: "`-",
    full: "#",
    empty: ".",
    dot: "-",
    about: "~",
    differs: "#",
    becomes: "->",
    within: "+-",
    ellipsis: "...",
    unread: "*",
    star: "*",
    sibling: ("<", ">"),
    thumb: "#",
    frame: border::Set {
        top_left: "+",
        top_right: "+",
        bottom_left: "+",
        bottom_right: "+",
        vertical_left: "|",
        vertical_right: "|",
        horizontal_top: "-",
        horizontal_bottom: "-",
    },
};

/// Styles and glyphs.
#[derive(Clone, Debug)]
pub struct Theme {
    styles: BTreeMap<Ink, Style>,
    /// The signs.
    pub glyphs: Glyphs,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "a style in a file is a list of switches")]
struct Raw {
    fg: Option<String>,
    bg: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    reverse: bool,
}

/// A theme file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("theme {name}: {why}")]
pub struct ThemeError {
    name: String,
    why: String,
}

impl Theme {
    /// The built-in theme of this name: `dark`, `light` or `none`; the dark one for any other name.
    #[must_use]
    pub fn built_in(name: &str, ascii: bool) -> Self {
        let text = match name {
            "light" => include_str!("../../assets/themes/light.toml"),
            "none" => include_str!("../../assets/themes/none.toml"),
            _ => include_str!("../../assets/themes/dark.toml"),
        };
        Self::read(name, text, ascii)
            .unwrap_or_else(|_| Self { styles: BTreeMap::new(), glyphs: if ascii { PLAIN } else { FANCY } })
    }

    /// Reads a theme.
    pub fn read(name: &str, text: &str, ascii: bool) -> Result<Self, ThemeError> {
        let wrong = |why: String| ThemeError { name: name.to_owned(), why };
        let raw: BTreeMap<String, Raw> = toml::from_str(text).map_err(|why| wrong(why.to_string()))?;
        let mut styles = BTreeMap::new();
        for (key, raw) in raw {
            let found = NAMES.iter().find(|(_, name)| *name == key);
            let (ink, _) = found.ok_or_else(|| wrong(format!("there is no ink {key:?}")))?;
            styles.insert(*ink, style(&raw).map_err(wrong)?);
        }
        Ok(Self { styles, glyphs: if ascii { PLAIN } else { FANCY } })
    }

    /// The same theme in the 256 colours that every terminal has.
    #[must_use]
    pub fn in_256_colours(mut self) -> Self {
        for style in self.styles.values_mut() {
            style.fg = style.fg.map(nearest);
            style.bg = style.bg.map(nearest);
        }
        self
    }

    /// The style of an ink.
    #[must_use]
    pub fn style(&self, ink: Ink) -> Style {
        self.styles.get(&ink).copied().unwrap_or_default()
    }
}

/// The nearest of the 6 × 6 × 6 colours and the 24 greys.
fn nearest(colour: Color) -> Color {
    let Color::Rgb(r, g, b) = colour else { return colour };
    let level = |v: u8| if v < 48 { 0_u8 } else { (v.max(75) - 35) / 40 };
    let value = |level: u8| if level == 0 { 0 } else { 55 + i32::from(level) * 40 };
    let far =
        |x: i32, y: i32, z: i32| (x - i32::from(r)).pow(2) + (y - i32::from(g)).pow(2) + (z - i32::from(b)).pow(2);
    let (lr, lg, lb) = (level(r), level(g), level(b));
    let cube = far(value(lr), value(lg), value(lb));
    let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let step = u8::try_from(mean.saturating_sub(3) / 10).unwrap_or(23).min(23);
    let grey = 8 + i32::from(step) * 10;
    if far(grey, grey, grey) < cube { Color::Indexed(232 + step) } else { Color::Indexed(16 + 36 * lr + 6 * lg + lb) }
}

fn style(raw: &Raw) -> Result<Style, String> {
    let colour = |text: &String| Color::from_str(text).map_err(|_| format!("{text:?} is no colour"));
    let mut style = Style::default();
    if let Some(fg) = &raw.fg {
        style = style.fg(colour(fg)?);
    }
    if let Some(bg) = &raw.bg {
        style = style.bg(colour(bg)?);
    }
    let modifiers = [
        (raw.bold, Modifier::BOLD),
        (raw.dim, Modifier::DIM),
        (raw.italic, Modifier::ITALIC),
        (raw.underline, Modifier::UNDERLINED),
        (raw.reverse, Modifier::REVERSED),
    ];
    Ok(modifiers.into_iter().filter(|(on, _)| *on).fold(style, |style, (_, m)| style.add_modifier(m)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_have_neighbours_among_256() {
        assert_eq!(nearest(Color::Rgb(255, 0, 0)), Color::Indexed(196));
        assert_eq!(nearest(Color::Rgb(18, 21, 26)), Color::Indexed(233));
        assert_eq!(nearest(Color::Rgb(255, 255, 255)), Color::Indexed(231));
        assert_eq!(nearest(Color::Reset), Color::Reset);
    }

    #[test]
    fn every_theme_knows_every_ink() {
        for (name, text) in [
            ("dark", include_str!("../../assets/themes/dark.toml")),
            ("light", include_str!("../../assets/themes/light.toml")),
            ("none", include_str!("../../assets/themes/none.toml")),
        ] {
            let theme = Theme::read(name, text, false).unwrap();
            for (ink, key) in NAMES {
                assert!(theme.styles.contains_key(ink), "{name} lacks {key}");
            }
            let colours = theme.styles.values().any(|style| style.fg.is_some() || style.bg.is_some());
            assert_eq!(colours, name != "none");
        }
        assert!(Theme::read("x", "text = { fg = \"nope\" }", false).is_err());
    }
}
