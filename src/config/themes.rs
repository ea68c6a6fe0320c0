//! The texts of themes: built-in themes and the user's own files.
//! Not for: reading a theme (the workbench).

use super::policies::own_files;
use crate::domain::base::{Failure, FailureKind};
use std::path::Path;

/// Returns the sentences about a theme that does not exist.
pub fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    Failure::new(FailureKind::Config, format!("There is no theme {name:?}."))
        .todo(format!("Known names: {}.", known.collect::<Vec<_>>().join(", ")))
}

/// The maximum bytes of a theme file.
const MAX_BYTES: u64 = 256 << 10;

/// A theme's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThemeText {
    /// The name: the file name without its extension.
    pub name: String,
    /// The TOML text.
    pub text: String,
    /// Whether the theme is the user's own.
    pub own: bool,
}

impl ThemeText {
    /// Returns the description: the first line, if it is a comment.
    pub fn about(&self) -> &str {
        self.text.lines().next().and_then(|line| line.strip_prefix('#')).unwrap_or_default().trim()
    }
}

/// The built-in themes, in the order of the list.
pub const BUILT_IN: [(&str, &str); 6] = [
    ("dark", include_str!("../../config/themes/dark.toml")),
    ("light", include_str!("../../config/themes/light.toml")),
    ("contrast", include_str!("../../config/themes/contrast.toml")),
    ("sepia", include_str!("../../config/themes/sepia.toml")),
    ("terminal", include_str!("../../config/themes/terminal.toml")),
    ("mono", include_str!("../../config/themes/mono.toml")),
];

/// Returns all themes: the built-in ones, then the user's own by name. A user's theme replaces a built-in theme with
/// the same name. The second list has sentences about files that cannot be read.
pub fn load(dir: &Path) -> (Vec<ThemeText>, Vec<String>) {
    let built_in = |(name, text): &(&str, &str)| ThemeText { name: (*name).into(), text: (*text).into(), own: false };
    let mut all: Vec<ThemeText> = BUILT_IN.iter().map(built_in).collect();
    let mut problems = Vec::new();
    let mut own = Vec::new();
    for (name, path) in own_files(dir).unwrap_or_default() {
        if !std::fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() <= MAX_BYTES) {
            let file = path.display();
            problems.push(format!("{file} can't be a theme: it is not a regular file, or it is larger than 256 KiB."));
            continue;
        }
        match std::fs::read_to_string(&path) {
            Ok(text) => own.push(ThemeText { name, text, own: true }),
            Err(why) => problems.push(format!("{} can't be read: {why}.", path.display())),
        }
    }
    all.retain(|theme| own.iter().all(|mine| mine.name != theme.name));
    all.extend(own);
    (all, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_themes_add_to_and_override_the_built_in_ones() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mine.toml"), "# My own.\ntext = {}\n").unwrap();
        std::fs::write(dir.path().join("dark.toml"), "text = {}\n").unwrap();
        std::fs::write(dir.path().join("note.txt"), "no theme").unwrap();
        let (all, problems) = load(dir.path());
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(all.len(), BUILT_IN.len() + 1);
        let mine = all.iter().find(|theme| theme.name == "mine").unwrap();
        assert!(mine.own && mine.about() == "My own.");
        assert_eq!(all.iter().find(|theme| theme.name == "dark").unwrap().text, "text = {}\n");
        assert!(all.iter().all(|theme| theme.own || !theme.about().is_empty()));
        assert_eq!(load(&dir.path().join("none")).0.len(), BUILT_IN.len());
    }
}
