//! The completion popup over the composer while a name is typed after an `@`.
//! Not for: commands after a slash (`slash`), or requesting the names (`update::completing`).
//!
//! Names come from sources. A source is a variant of [`CompletionSource`], a request that `update::completing` sends
//! for the typed text, and items in the popup's list.

use crate::domain::code::NamedSymbol;

/// The source of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum CompletionSource {
    /// Files of the workspace.
    Files,
    /// Symbols of the workspace's code.
    Symbols,
}

/// A name that can be inserted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompletionItem {
    pub source: CompletionSource,
    /// The text shown in the list and inserted after the `@`, not sanitized.
    pub name: String,
    /// The symbol, if the source is `Symbols`.
    pub symbol: Option<Box<NamedSymbol>>,
}

impl CompletionItem {
    /// Creates an item for a file.
    pub fn file(path: String) -> Self {
        Self { source: CompletionSource::Files, name: path, symbol: None }
    }

    /// Creates an item for a symbol.
    pub fn symbol(named: NamedSymbol) -> Self {
        Self { source: CompletionSource::Symbols, name: named.short.clone(), symbol: Some(Box::new(named)) }
    }
}

/// A position in the text: line and column, in characters.
pub type TextPosition = (usize, usize);

/// The completion popup.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompletionPopup {
    pub at: TextPosition,
    /// The text typed after the `@`.
    pub word: String,
    /// The names that can be inserted, in display order.
    pub items: Vec<CompletionItem>,
    /// Index of the selected item.
    pub cursor: usize,
    /// Why the list is empty or incomplete.
    pub note: String,
    /// Ticket of the newest request for files.
    pub ticket: u64,
    /// Ticket of the newest request for symbols.
    pub symbols: u64,
    /// Whether the person closed the popup for this word.
    pub closed: bool,
}

impl CompletionPopup {
    /// The selected item; None while the popup is closed.
    pub fn selected(&self) -> Option<&CompletionItem> {
        self.items.get(self.cursor).filter(|_| !self.closed)
    }

    /// Whether the popup is visible.
    pub fn seen(&self) -> bool {
        !self.closed && (!self.items.is_empty() || !self.note.is_empty())
    }

    /// Replaces the items of one source. The selection stays on its item.
    pub fn fill(&mut self, source: CompletionSource, items: Vec<CompletionItem>) {
        let kept = self.selected().cloned();
        self.items.retain(|item| item.source != source);
        self.items.extend(items);
        self.order();
        let again = kept.filter(|_| self.cursor > 0).and_then(|kept| self.items.iter().position(|i| *i == kept));
        self.cursor = again.unwrap_or(0);
    }

    /// Orders the items: a symbol with exactly the typed name first, then files, with the first symbols after the third
    /// file.
    fn order(&mut self) {
        let mut nth = [0_usize; 2];
        let mut placed: Vec<(usize, CompletionItem)> = Vec::with_capacity(self.items.len());
        for item in self.items.drain(..) {
            let count = &mut nth[item.source as usize];
            *count += 1;
            // After three files, symbols and files alternate.
            let place = match item.source {
                CompletionSource::Symbols if own_name(&item.name) == self.word => 0,
                CompletionSource::Files if *count <= 3 => 1,
                CompletionSource::Files => *count * 2,
                CompletionSource::Symbols => (*count + 3) * 2 - 1,
            };
            placed.push((place, item));
        }
        placed.sort_by_key(|(place, _)| *place);
        self.items = placed.into_iter().map(|(_, item)| item).collect();
    }

    /// Selects the next or the previous item, cyclically.
    pub fn step(&mut self, up: bool) {
        let count = self.items.len().max(1);
        self.cursor = if up { (self.cursor + count - 1) % count } else { (self.cursor + 1) % count };
    }
}

/// A symbol's own name, without its file and type.
fn own_name(name: &str) -> &str {
    name.rsplit(['#', ':', '.']).next().unwrap_or_default()
}

/// The mention being typed before a column of a line: the column of its `@` and the text after it.
pub fn mention(line: &str, column: usize) -> Option<(usize, String)> {
    let end = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let (before, word) = line[..end].rsplit_once('@')?;
    let begins = before.chars().next_back().is_none_or(|c| c.is_whitespace() || "([{\"'`".contains(c));
    let plain = word.chars().count() <= 200 && !word.chars().any(|c| c.is_whitespace() || c.is_control());
    (begins && plain).then(|| (before.chars().count(), word.to_owned()))
}

/// Whether a name occurs in the text as a whole word.
pub(super) fn named(lines: &[String], token: &str) -> bool {
    let goes_on = |rest: &str| {
        let mut next = rest.chars();
        match (next.next(), next.next()) {
            (Some('.'), Some(then)) => then.is_alphanumeric(),
            (Some(':'), Some(then)) => then == ':',
            (Some(c), _) => c.is_alphanumeric() || "/_-#".contains(c),
            (None, _) => false,
        }
    };
    let ends = |rest: &str| !goes_on(rest);
    lines.iter().any(|line| line.match_indices(token).any(|(at, _)| ends(&line[at + token.len()..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_end_at_the_cursor() {
        assert_eq!(mention("see @src/a.rs now", 13), Some((4, "src/a.rs".into())));
        assert_eq!(mention("see @src/a.rs now", 7), Some((4, "sr".into())));
        assert_eq!(mention("(@", 2), Some((1, String::new())));
        assert_eq!(mention("@日本", 3), Some((0, "日本".into())));
        for (line, column) in [("me@home.org", 8), ("see @src now", 12), ("none", 4), ("", 0)] {
            assert_eq!(mention(line, column), None, "{line}");
        }
    }

    #[test]
    fn files_and_symbols_are_both_visible() {
        let named = |short: &str| NamedSymbol {
            path: "a.rs".into(),
            short: short.into(),
            qualified: short.into(),
            kind: crate::domain::code::symbols::Kind::Function,
            lines: (1, 2),
        };
        let mut popup = CompletionPopup { word: "go".into(), ..CompletionPopup::default() };
        popup.fill(CompletionSource::Files, (0..9).map(|n| CompletionItem::file(format!("go{n}.rs"))).collect());
        popup.fill(
            CompletionSource::Symbols,
            vec![CompletionItem::symbol(named("A::go")), CompletionItem::symbol(named("gone"))],
        );
        let first: Vec<&str> = popup.items.iter().take(6).map(|item| item.name.as_str()).collect();
        assert_eq!(first, ["A::go", "go0.rs", "go1.rs", "go2.rs", "go3.rs", "gone"]);
        popup.fill(CompletionSource::Symbols, Vec::new());
        assert_eq!(popup.items.len(), 9);
    }

    #[test]
    fn the_selection_stays_on_its_item() {
        let mut popup = CompletionPopup::default();
        let files = |names: &[&str]| names.iter().map(|name| CompletionItem::file((*name).into())).collect::<Vec<_>>();
        popup.fill(CompletionSource::Files, files(&["a", "b", "c"]));
        popup.step(false);
        popup.fill(CompletionSource::Files, files(&["b", "c"]));
        assert_eq!(popup.selected().unwrap().name, "b");
        popup.step(true);
        assert_eq!(popup.selected().unwrap().name, "c", "round the end");
        popup.closed = true;
        assert!(popup.selected().is_none() && !popup.seen());
    }
}
