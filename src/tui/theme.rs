//! Appearance: the inks (each names the role of a piece of text and has a style), read from TOML, and the glyphs.
//! Not for: choosing inks, which views do without knowing colors.

use crate::config::error::Place;
use crate::config::settings::AUTO;
use crate::config::themes::{self, ThemeText};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::str::FromStr;

macro_rules! inks {
    ($($variant:ident $name:literal $doc:literal),* $(,)?) => {
        /// The role of a piece of text.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum Ink { $(#[doc = $doc] $variant,)* }

        const NAMES: &[(Ink, &str)] = &[$((Ink::$variant, $name),)*];
    };
}

inks! {
    Text "text" "Text.",
    Dim "dim" "Secondary text.",
    Accent "accent" "Active controls.",
    Heading "heading" "Titles and headings.",
    Border "border" "Borders.",
    Focus "focus" "The border of the focused pane.",
    You "you" "Your name over a message.",
    Model "model" "The model's name over a message.",
    Tool "tool" "Tool calls.",
    Code "code" "Code blocks.",
    CodeBackground "code_background" "The background of code blocks.",
    Keyword "keyword" "Keywords in code.",
    Literal "literal" "Strings in code.",
    Number "number" "Numbers and constants in code.",
    Comment "comment" "Comments in code.",
    Name "name" "Names of types and functions in code.",
    Emphasis "emphasis" "Emphasized words.",
    Link "link" "Links.",
    Pinned "pinned" "Pins.",
    Leased "leased" "Leases.",
    Excluded "excluded" "Items that are left out.",
    Good "good" "Success.",
    Warn "warn" "Warnings.",
    Danger "danger" "Errors.",
    MeterLow "meter_low" "Recent turns in the meter, and its number when there is room.",
    MeterMid "meter_mid" "The meter's number when little room is left.",
    MeterHigh "meter_high" "The meter's number when the request does not fit.",
    MeterFree "meter_free" "The empty part of the meter.",
    MeterInstructions "meter_instructions" "Instructions in the meter.",
    MeterPersonality "meter_personality" "The personality in the meter.",
    MeterGuidelines "meter_guidelines" "The guidelines in the meter.",
    MeterState "meter_state" "The state block in the meter.",
    MeterSummaries "meter_summaries" "Pinned summaries in the meter.",
    MeterSummary "meter_summary" "The summary of the path in the meter.",
    MeterMap "meter_map" "Rules and the code map in the meter.",
    MeterFound "meter_found" "Found items in the meter.",
    MeterReply "meter_reply" "The quoted reply in the meter.",
    MeterAdded "meter_added" "Messages added during the turn, in the meter.",
    MeterTools "meter_tools" "Tool definitions in the meter.",
    Match "match" "Letters that match the typed text.",
    SearchMatch "search_match" "Matches of a search.",
    CurrentMatch "current_match" "The current match of a search.",
    Selected "selected" "The selected line.",
    Background "background" "The background; without one, the terminal's own colors are used.",
}

/// Earlier names of inks in theme files, which are still read.
const FORMER_NAMES: &[(&str, &str)] = &[("code_ground", "code_background"), ("ground", "background")];

type Glyph = &'static str;

macro_rules! glyphs {
    ($($name:ident: $type:ty = $unicode:expr, $ascii:expr, $doc:literal;)*) => {
        /// Glyphs that carry meaning, so that no meaning depends on color alone.
        #[derive(Clone, Copy, Debug)]
        pub struct Glyphs { $(#[doc = $doc] pub $name: $type,)* }

        pub(crate) const UNICODE: Glyphs = Glyphs { $($name: $unicode,)* };

        const ASCII: Glyphs = Glyphs { $($name: $ascii,)* };
    };
}

glyphs! {
    ascii: bool = false, true, "Whether all glyphs are ASCII.";
    pin: Glyph = "◆", "#", "A pin.";
    lease: Glyph = "◇", "~", "A lease.";
    out: Glyph = "✕", "x", "Left out.";
    once: Glyph = "+", "+", "Included once.";
    kept: Glyph = "·", ".", "Included automatically.";
    ok: Glyph = "✓", "+", "Success.";
    fail: Glyph = "✗", "!", "Failure.";
    running: Glyph = "◌", "*", "In progress.";
    folded: Glyph = "▸", ">", "A folded item.";
    opened: Glyph = "▾", "v", "An expanded item.";
    branch: Glyph = "●", "@", "The current branch.";
    other: Glyph = "○", "o", "Another branch.";
    here: Glyph = "◀", "<", "Marks the current branch, on the right.";
    tee: Glyph = "├─", "|-", "Tree lines: a child with siblings after it.";
    corner: Glyph = "└─", "`-", "Tree lines: the last child.";
    pipe: Glyph = "│ ", "| ", "Tree lines: a line that passes a row.";
    rule: Glyph = "─", "-", "A horizontal rule.";
    joins: (Glyph, Glyph) = ("┬", "┴"), ("+", "+"), "Where a vertical line meets a rule above it, and one below it.";
    under: Glyph = "└", "`-", "The line under a message.";
    full: Glyph = "█", "#", "A full cell of the meter.";
    empty: Glyph = "░", ".", "An empty cell of the meter.";
    dot: Glyph = "·", "-", "Separates facts on a line.";
    about: Glyph = "≈", "~", "Approximately.";
    differs: Glyph = "≠", "!=", "Unequal.";
    becomes: Glyph = "→", "->", "One number becomes another.";
    minus: Glyph = "−", "-", "Less.";
    within: Glyph = "±", "+-", "Plus or minus.";
    ellipsis: Glyph = "…", "...", "Truncated text.";
    unread: Glyph = "•", "*", "Unread.";
    favorite: Glyph = "★", "*", "A favorite.";
    sibling: (Glyph, Glyph) = ("‹", "›"), ("<", ">"), "The brackets around `2/3`.";
    thumb: Glyph = "┃", "#", "The scroll thumb.";
    frame: border::Set<'static> = border::PLAIN, ASCII_FRAME, "The borders of frames.";
}

const ASCII_FRAME: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

impl Glyphs {
    fn of(ascii: bool) -> Self {
        if ascii { ASCII } else { UNICODE }
    }
}

/// Styles and glyphs.
#[derive(Clone, Debug)]
pub struct Theme {
    styles: BTreeMap<Ink, Style>,
    pub glyphs: Glyphs,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Raw {
    fg: Option<String>,
    bg: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    reverse: bool,
}

/// Why a theme file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("theme {name}: {why}")]
pub struct ThemeError {
    name: String,
    why: String,
}

impl Theme {
    /// The built-in theme with this name (`none` is `mono`); the dark theme for any other name.
    pub fn built_in(name: &str, ascii: bool) -> Self {
        let name = if name == "none" { "mono" } else { name };
        let found = themes::BUILT_IN.iter().find(|(known, _)| *known == name).unwrap_or(&themes::BUILT_IN[0]);
        let unstyled = |_| Self { styles: BTreeMap::new(), glyphs: Glyphs::of(ascii) };
        Self::read(found.0, found.1, ascii).unwrap_or_else(unstyled)
    }

    /// Parses a theme. Inks that it does not mention have no style.
    pub fn read(name: &str, text: &str, ascii: bool) -> Result<Self, ThemeError> {
        let wrong = |why: String| ThemeError { name: name.to_owned(), why };
        let raw: BTreeMap<String, Raw> = toml::from_str(text).map_err(|why: toml::de::Error| match why.span() {
            Some(span) => wrong(format!("{}: {}", Place::of(text, span.start), why.message())),
            None => wrong(why.message().to_owned()),
        })?;
        let mut styles = BTreeMap::new();
        for (key, raw) in raw {
            let at = text.lines().position(|line| line.trim_start().starts_with(&key)).map_or(0, |line| line + 1);
            let wrong = |why: String| wrong(format!("line {at}: {why}"));
            let former = FORMER_NAMES.iter().find(|(former, _)| *former == key);
            let current = former.map_or(key.as_str(), |(_, current)| current);
            let found = NAMES.iter().find(|(_, name)| *name == current);
            let (ink, _) = found.ok_or_else(|| wrong(format!("unknown role {key:?}")))?;
            let style = style(&raw).map_err(wrong)?;
            // The keys are sorted, so a current name comes before its former name and takes precedence.
            styles.entry(*ink).or_insert(style);
        }
        Ok(Self { styles, glyphs: Glyphs::of(ascii) })
    }

    /// Adds the missing inks from the built-in theme that suits its background.
    fn with_missing_inks(mut self, ascii: bool) -> Self {
        let base = match self.styles.get(&Ink::Background).and_then(|style| style.bg) {
            Some(Color::Rgb(r, g, b)) if is_light((u16::from(r) * 257, u16::from(g) * 257, u16::from(b) * 257)) => {
                "light"
            }
            Some(_) => "dark",
            None => "terminal",
        };
        for (ink, style) in Self::built_in(base, ascii).styles {
            self.styles.entry(ink).or_insert(style);
        }
        self
    }

    /// Converts the theme to the 256 colors that every terminal has.
    #[must_use]
    pub fn in_256_colors(mut self) -> Self {
        for style in self.styles.values_mut() {
            style.fg = style.fg.map(nearest_indexed);
            style.bg = style.bg.map(nearest_indexed);
        }
        self
    }

    /// Whether the theme has colors; without colors, glyphs must make the distinctions.
    pub fn has_colors(&self) -> bool {
        self.styles.values().any(|style| style.fg.is_some() || style.bg.is_some())
    }

    /// The style of an ink.
    pub fn style(&self, ink: Ink) -> Style {
        self.styles.get(&ink).copied().unwrap_or_default()
    }
}

/// Whether a background is light: its luma is above the middle. Channels range to 65,535.
pub fn is_light((r, g, b): (u16, u16, u16)) -> bool {
    let luma = 2_126 * u64::from(r) + 7_152 * u64::from(g) + 722 * u64::from(b);
    luma > 10_000 * 65_535 / 2
}

/// All available themes, and the terminal's capabilities.
#[derive(Clone, Debug, Default)]
pub struct Themes {
    texts: Vec<ThemeText>,
    /// Whether the terminal has only 256 colors.
    pub few_colors: bool,
    /// Whether only ASCII glyphs are used.
    pub ascii: bool,
    /// Whether the terminal's background is light; None if unknown.
    pub light: Option<bool>,
}

impl Themes {
    /// Creates the list from theme files.
    pub fn new(texts: Vec<ThemeText>, few_colors: bool, ascii: bool, light: Option<bool>) -> Self {
        Self { texts, few_colors, ascii, light }
    }

    /// The name of the theme for the terminal's background.
    fn by_background(&self) -> &'static str {
        if self.light == Some(true) { "light" } else { "dark" }
    }

    /// Names of the themes with their descriptions.
    pub fn list(&self) -> Vec<(String, String)> {
        let about = format!("Follows the terminal's background; currently {}.", self.by_background());
        let auto = (AUTO.to_owned(), about);
        let about = |theme: &ThemeText| match (theme.own, theme.about()) {
            (true, "") => "Your theme.".to_owned(),
            (true, about) => format!("Your theme. {about}"),
            (false, about) => about.to_owned(),
        };
        std::iter::once(auto).chain(self.texts.iter().map(|theme| (theme.name.clone(), about(theme)))).collect()
    }

    /// The theme with this name; `auto` depends on the background. A theme that cannot be parsed is replaced, and the
    /// error is returned with it.
    pub fn get(&self, name: &str) -> (Theme, Option<ThemeError>) {
        let name = if name == AUTO { self.by_background() } else { name };
        let text = self.texts.iter().find(|theme| theme.name == name);
        let (theme, problem) = match text.map(|theme| Theme::read(name, &theme.text, self.ascii)) {
            Some(Ok(theme)) => (theme.with_missing_inks(self.ascii), None),
            Some(Err(why)) => (Theme::built_in(self.by_background(), self.ascii), Some(why)),
            None => (Theme::built_in(name, self.ascii), None),
        };
        (if self.few_colors { theme.in_256_colors() } else { theme }, problem)
    }
}

/// The nearest of the 6 × 6 × 6 colors and the 24 grays.
fn nearest_indexed(color: Color) -> Color {
    let Color::Rgb(r, g, b) = color else { return color };
    let level = |v: u8| if v < 48 { 0_u8 } else { (v.max(75) - 35) / 40 };
    let value = |level: u8| if level == 0 { 0 } else { 55 + i32::from(level) * 40 };
    let far =
        |x: i32, y: i32, z: i32| (x - i32::from(r)).pow(2) + (y - i32::from(g)).pow(2) + (z - i32::from(b)).pow(2);
    let (lr, lg, lb) = (level(r), level(g), level(b));
    let cube = far(value(lr), value(lg), value(lb));
    let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let step = u8::try_from(mean.saturating_sub(3) / 10).unwrap_or(23).min(23);
    let gray = 8 + i32::from(step) * 10;
    if far(gray, gray, gray) < cube { Color::Indexed(232 + step) } else { Color::Indexed(16 + 36 * lr + 6 * lg + lb) }
}

fn style(raw: &Raw) -> Result<Style, String> {
    let color = |text: &String| Color::from_str(text).map_err(|_| format!("{text:?} is not a color"));
    let (fg, bg) = (raw.fg.as_ref().map(color).transpose()?, raw.bg.as_ref().map(color).transpose()?);
    let style = Style { fg, bg, ..Style::default() };
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
    fn colors_have_neighbors_among_256() {
        assert_eq!(nearest_indexed(Color::Rgb(255, 0, 0)), Color::Indexed(196));
        assert_eq!(nearest_indexed(Color::Rgb(18, 21, 26)), Color::Indexed(233));
        assert_eq!(nearest_indexed(Color::Rgb(255, 255, 255)), Color::Indexed(231));
        assert_eq!(nearest_indexed(Color::Reset), Color::Reset);
    }

    #[test]
    fn every_theme_styles_every_ink() {
        for (name, text) in themes::BUILT_IN {
            let theme = Theme::read(name, text, false).unwrap();
            for (ink, key) in NAMES {
                assert!(theme.styles.contains_key(ink), "{name} lacks {key}");
            }
            assert_eq!(theme.has_colors(), name != "mono");
        }
        assert!(Theme::read("x", "text = { fg = \"nope\" }", false).is_err());
    }

    /// The contrast of two colors by WCAG 2.1, from 1 to 21.
    fn contrast(a: Color, b: Color) -> f64 {
        let light = |color: Color| {
            let Color::Rgb(red, green, blue) = color else { panic!("{color:?}") };
            let part = |byte: u8| {
                let share = f64::from(byte) / 255.0;
                if share <= 0.039_28 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue)
        };
        let (x, y) = (light(a).max(light(b)), light(a).min(light(b)));
        (x + 0.05) / (y + 0.05)
    }

    #[test]
    fn text_contrasts_with_its_background() {
        let least = |name: &str| if name == "contrast" { 7.0 } else { 3.0 };
        for name in ["dark", "light", "contrast", "sepia"] {
            let theme = Theme::built_in(name, false);
            let background = theme.style(Ink::Background);
            let (fg, bg) = (background.fg.unwrap(), background.bg.unwrap());
            for (ink, key) in NAMES.iter().filter(|(ink, _)| !matches!(ink, Ink::Border | Ink::MeterFree)) {
                let style = theme.style(*ink);
                let (fg, bg) = (style.fg.unwrap_or(fg), style.bg.unwrap_or(bg));
                let found = contrast(fg, bg);
                assert!(found >= least(name), "{key} of {name}: {found:.1}");
            }
        }
    }

    #[test]
    fn former_names_of_inks_are_read() {
        let read = |text: &str| Theme::read("mine", text, false).unwrap();
        let backgrounds = |theme: &Theme| (theme.style(Ink::Background).bg, theme.style(Ink::CodeBackground).bg);
        let [one, two] = [1, 2].map(|blue| Some(Color::Rgb(0, 0, blue)));
        let former = "ground = { bg = \"#000001\" }\ncode_ground = { bg = \"#000002\" }";
        assert_eq!(backgrounds(&read(former)), (one, two));
        let both = format!("{former}\nbackground = {{ bg = \"#000002\" }}");
        assert_eq!(backgrounds(&read(&both)), (two, two), "the current name takes precedence");
    }

    #[test]
    fn own_themes_are_completed_and_errors_have_positions() {
        let own = |text: &str| ThemeText { name: "mine".into(), text: text.into(), own: true };
        let themes = |text: &str| Themes::new(vec![own(text)], false, false, None);
        let (theme, problem) = themes("background = { bg = \"#ffffff\" }").get("mine");
        assert!(problem.is_none());
        assert_eq!(theme.style(Ink::Accent), Theme::built_in("light", false).style(Ink::Accent));
        let (theme, _) = themes("accent = { fg = \"#010203\" }").get("mine");
        assert_eq!(theme.style(Ink::Accent).fg, Some(Color::Rgb(1, 2, 3)));
        assert_eq!(theme.style(Ink::You), Theme::built_in("terminal", false).style(Ink::You));
        for (text, expected) in [
            ("\naccent = { fg = \"nope\" }", "line 2: \"nope\" is not a color"),
            ("text = {}\nacent = {}", "line 2: unknown role \"acent\""),
            ("text = {}\nyou = { bald = true }", "line 2, column 9"),
        ] {
            let why = themes(text).get("mine").1.unwrap().to_string();
            assert!(why.contains(expected), "{why}");
        }
        let auto = Themes::new(Vec::new(), false, false, Some(true));
        assert_eq!(auto.get("auto").0.style(Ink::Background), Theme::built_in("light", false).style(Ink::Background));
        assert!(is_light((60_000, 60_000, 60_000)) && !is_light((0x1e1e, 0x1e1e, 0x1e1e)));
    }
}
