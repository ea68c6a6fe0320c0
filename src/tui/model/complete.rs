//! The list over the composer while a name is typed behind an `@`: what may be put in its place.
//! Not for: commands after a slash (`slash`), or asking for the names (`update::completing`).
//!
//! Names come from sources. Each has a variant of [`Source`], a request that `update::completing` sends for what was typed,
//! and items that stand in the one list, in the order of the variants.

/// Where a name comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Source {
    /// Files of the workspace.
    Files,
}

/// A name that may be taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Where it comes from.
    pub source: Source,
    /// What stands in the list and behind the `@`, unsanitised.
    pub name: String,
}

/// A place in the text: line and column, in characters.
pub type Spot = (usize, usize);

/// The list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Popup {
    /// Where the `@` stands.
    pub at: Spot,
    /// What was typed behind it.
    pub word: String,
    /// What may be taken.
    pub items: Vec<Item>,
    /// The selected one.
    pub cursor: usize,
    /// Why there is nothing, or not everything.
    pub note: String,
    /// The newest request for it.
    pub ticket: u64,
    /// The person closed it for this word.
    pub closed: bool,
}

impl Popup {
    /// The selected item, if the list is to be seen.
    #[must_use]
    pub fn selected(&self) -> Option<&Item> {
        self.items.get(self.cursor).filter(|_| !self.closed)
    }

    /// Whether there is something to see.
    #[must_use]
    pub fn seen(&self) -> bool {
        !self.closed && (!self.items.is_empty() || !self.note.is_empty())
    }

    /// Takes the items of one source in, in place of what that had before.
    pub fn fill(&mut self, source: Source, names: Vec<String>, note: String) {
        let kept = self.selected().map(|item| item.name.clone());
        self.items.retain(|item| item.source != source);
        self.items.extend(names.into_iter().map(|name| Item { source, name }));
        self.items.sort_by_key(|item| item.source);
        self.note = note;
        let again = kept.filter(|_| self.cursor > 0).and_then(|name| self.items.iter().position(|i| i.name == name));
        self.cursor = again.unwrap_or(0);
    }

    /// Selects another one, round the ends.
    pub fn step(&mut self, up: bool) {
        let count = self.items.len().max(1);
        self.cursor = if up { (self.cursor + count - 1) % count } else { (self.cursor + 1) % count };
    }
}

/// The name that is being typed in a line before a column: the column of its `@`, and what stands behind.
#[must_use]
pub fn mention(line: &str, column: usize) -> Option<(usize, String)> {
    let before: Vec<char> = line.chars().take(column).collect();
    let at = before.iter().rposition(|c| *c == '@')?;
    let word = &before[at + 1..];
    let begins = at.checked_sub(1).is_none_or(|left| before[left].is_whitespace() || "([{\"'`".contains(before[left]));
    let plain = word.len() <= 200 && !word.iter().any(|c| c.is_whitespace() || c.is_control());
    (begins && plain).then(|| (at, word.iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_stands_between_at_and_cursor() {
        assert_eq!(mention("see @src/a.rs now", 13), Some((4, "src/a.rs".into())));
        assert_eq!(mention("see @src/a.rs now", 7), Some((4, "sr".into())));
        assert_eq!(mention("(@", 2), Some((1, String::new())));
        assert_eq!(mention("@日本", 3), Some((0, "日本".into())));
        for (line, column) in [("me@home.org", 8), ("see @src now", 12), ("none", 4), ("", 0)] {
            assert_eq!(mention(line, column), None, "{line}");
        }
    }

    #[test]
    fn the_selection_stays_on_its_item() {
        let mut popup = Popup::default();
        popup.fill(Source::Files, vec!["a".into(), "b".into(), "c".into()], String::new());
        popup.step(false);
        popup.fill(Source::Files, vec!["b".into(), "c".into()], String::new());
        assert_eq!(popup.selected().unwrap().name, "b");
        popup.step(true);
        assert_eq!(popup.selected().unwrap().name, "c", "round the end");
        popup.closed = true;
        assert!(popup.selected().is_none() && !popup.seen());
    }
}
