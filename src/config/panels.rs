//! The screen arrangement: layout, panel widths, and hidden panels, saved for each class of screen sizes in a file in
//! the state folder.
//! Not for: the user's settings (`settings`), or the positions of the panes (the workbench).

use super::save;
use crate::domain::base::named_enum::named_enum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

named_enum! {
    /// The screen layouts, in the order of the key that cycles through them.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    pub enum Shape {
        /// Panels beside the conversation, if they fit.
        #[default]
        Wide = "wide",
        /// One pane at a time.
        Narrow = "narrow",
        /// Only the conversation and the composer.
        Zen = "zen",
    }
}

impl Shape {
    /// Returns the layout with this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// A class of screen sizes with a common arrangement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Below 60 columns or 16 rows.
    Small,
    /// Below 100 columns.
    Narrow,
    /// Below 160 columns.
    Middle,
    /// All larger sizes.
    Large,
}

impl Class {
    /// Returns the class of a size in columns and rows.
    pub fn of((columns, rows): (u16, u16)) -> Self {
        match (columns, rows) {
            (0..60, _) | (_, 0..16) => Self::Small,
            (..100, _) => Self::Narrow,
            (..160, _) => Self::Middle,
            _ => Self::Large,
        }
    }
}

/// The arrangement of a size class. A width or height of 0 is the default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Arrangement {
    pub layout: Shape,
    /// Width of the left panels in columns.
    pub left: u16,
    /// Width of the right panel in columns.
    pub right: u16,
    /// Height of the tools panel in rows.
    pub tools: u16,
    /// The branches are hidden.
    pub no_branches: bool,
    /// The next request is hidden.
    pub no_context: bool,
    /// The tools are hidden.
    pub no_tools: bool,
}

/// The arrangements of all size classes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Arrangements {
    by_class: BTreeMap<Class, Arrangement>,
}

impl Arrangements {
    /// Reads the file. A file that cannot be read counts as empty, because a few keys restore the arrangement.
    pub fn load(file: &Path) -> Self {
        std::fs::read_to_string(file).ok().and_then(|text| toml::from_str(&text).ok()).unwrap_or_default()
    }

    /// Writes the file.
    pub fn save(&self, file: &Path) -> std::io::Result<()> {
        let text = toml::to_string(self).map_err(std::io::Error::other)?;
        save::write(file, &text)
    }

    /// Returns the arrangement for a size in columns and rows.
    pub fn of(&self, size: (u16, u16)) -> Arrangement {
        self.by_class.get(&Class::of(size)).copied().unwrap_or_default()
    }

    /// Sets the arrangement for the class of a size.
    pub fn put(&mut self, size: (u16, u16), arrangement: Arrangement) {
        self.by_class.insert(Class::of(size), arrangement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrangements_are_kept_by_size_class() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deep/screen.toml");
        assert_eq!(Arrangements::load(&file), Arrangements::default());
        let mut all = Arrangements::default();
        let zen = Arrangement { layout: Shape::Zen, ..Arrangement::default() };
        let slim = Arrangement { left: 20, no_context: true, ..Arrangement::default() };
        all.put((120, 30), zen);
        all.put((200, 50), slim);
        all.save(&file).unwrap();
        let read = Arrangements::load(&file);
        assert_eq!(read, all);
        assert_eq!((read.of((110, 40)), read.of((300, 90))), (zen, slim));
        assert_eq!(read.of((80, 24)), Arrangement::default());
        std::fs::write(&file, "large = 3").unwrap();
        assert_eq!(Arrangements::load(&file), Arrangements::default());
    }

    #[test]
    fn size_classes_have_no_gaps() {
        use Class::{Large, Middle, Narrow, Small};
        let classes = [(59, 30), (80, 15), (60, 16), (99, 30), (100, 30), (159, 50), (160, 50)].map(Class::of);
        assert_eq!(classes, [Small, Small, Narrow, Narrow, Middle, Middle, Large]);
    }
}
