//! The items of the request overlay that are selected for an action on several at once.
//! Not for: the line under the cursor (`model`), or the action (`chat::update::acts`).

use super::model::{Content, Entry, RequestScreen};
use crate::domain::conversation::{Atom, MarkKind};
use crate::domain::planning::{Item, Row};
use std::collections::HashSet;

impl RequestScreen {
    /// Adds the item under the cursor to the selection or removes it, and moves on. The error says why it cannot be
    /// selected.
    pub fn toggle_selected(&mut self) -> Result<(), &'static str> {
        let Some(entry) = self.entries.get(self.cursor).copied() else { return Ok(()) };
        if matches!(entry, Entry::Tools(_) | Entry::Tool(_)) {
            return Err("Enable and disable tools one by one.");
        }
        if let Some(why) = self.fixed(entry) {
            return Err(why);
        }
        let Some(atom) = self.atom(entry) else { return Ok(()) };
        if !self.selection.remove(&atom) {
            self.selection.insert(atom);
        }
        self.selection_version += 1;
        self.cursor().step(1);
        Ok(())
    }

    /// Selects all listed rows and turns that can be marked; if all of them are selected, deselects them.
    pub fn toggle_all(&mut self) {
        let can = |entry: &Entry| matches!(entry, Entry::Row(_) | Entry::RangeTurn(..)) && self.fixed(*entry).is_none();
        let all: Vec<Atom> = self.entries.iter().filter(|e| can(e)).filter_map(|e| self.atom(*e)).collect();
        if all.iter().all(|atom| self.selection.contains(atom)) {
            self.selection.retain(|atom| !all.contains(atom));
        } else {
            self.selection.extend(all);
        }
        self.selection_version += 1;
    }

    /// Empties the selection. Returns false if it was empty.
    pub fn clear_selection(&mut self) -> bool {
        let any = !self.selection.is_empty();
        self.selection.clear();
        self.selection_version += u64::from(any);
        any
    }

    /// Whether the item of a line is selected.
    pub fn is_selected(&self, entry: Entry) -> bool {
        !self.selection.is_empty() && self.atom(entry).is_some_and(|atom| self.selection.contains(&atom))
    }

    /// The selected items: listed items in the order of the list, then the others.
    pub fn selected_atoms(&self) -> Vec<Atom> {
        let listed = self.entries.iter().filter_map(|entry| self.atom(*entry));
        let mut all: Vec<Atom> = listed.filter(|atom| self.selection.contains(atom)).collect();
        let mut rest: Vec<Atom> = self.selection.iter().filter(|atom| !all.contains(atom)).copied().collect();
        rest.sort_unstable();
        all.extend(rest);
        all
    }

    /// Sum of the selected items' tokens.
    pub fn selected_tokens(&self) -> u64 {
        let rows = self.content.as_ref().map(Content::rows).unwrap_or_default();
        let selected = |item: &&Item| self.selection.contains(&Atom::Message { node: item.key });
        let of = |row: &Row| {
            if self.selection.contains(&row.atom) {
                return u64::from(row.tokens);
            }
            row.items.iter().filter(selected).map(|item| u64::from(item.tokens)).sum()
        };
        let past = self.range_turns.values().flatten().filter(|turn| self.selection.contains(&turn.atom));
        rows.iter().map(of).sum::<u64>() + past.map(|turn| turn.tokens).sum::<u64>()
    }

    /// Whether every selected row has a mark of this kind.
    pub fn all_have(&self, kind: MarkKind) -> bool {
        let rows = self.content.as_ref().map(Content::rows).unwrap_or_default();
        let same = |pin: Option<MarkKind>| {
            pin.is_some_and(|pin| std::mem::discriminant(&pin) == std::mem::discriminant(&kind))
        };
        self.selection.iter().all(|atom| rows.iter().any(|row| row.atom == *atom && same(row.pin)))
    }

    /// Removes items from the selection that the list can no longer contain.
    pub(super) fn drop_missing(&mut self) {
        let Some(content) = self.content.as_ref().filter(|_| !self.selection.is_empty()) else { return };
        let rows = content.rows().iter();
        let inside = |row: &Row| row.items.iter().map(|item| Atom::Message { node: item.key }).collect::<Vec<_>>();
        let mut listable: HashSet<Atom> = rows.flat_map(|row| inside(row).into_iter().chain([row.atom])).collect();
        listable.extend(self.range_turns.values().flatten().map(|turn| turn.atom));
        let before = self.selection.len();
        self.selection.retain(|atom| listable.contains(atom));
        self.selection_version += u64::from(before != self.selection.len());
    }
}
