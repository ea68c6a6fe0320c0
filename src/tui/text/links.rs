//! The addresses of links on the screen, and the numbers that cells use to refer to them.
//! Not for: checking addresses (`rich`), or sending them to the terminal (`tui::shell::links`).
//!
//! A cell cannot store an address. Its underline color, which nothing else uses, stores a number instead, which this
//! table maps to the address. Therefore a cell whose address changed counts as changed and is drawn again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;

/// How many addresses are kept.
const MAX_ADDRESSES: usize = 4_000;

/// The addresses by number.
#[derive(Clone, Debug, Default)]
pub struct Links(Rc<RefCell<HashMap<[u8; 3], Rc<str>>>>);

impl Links {
    /// The number of an address; None if another address has it.
    pub fn number(&self, address: &Rc<str>) -> Option<[u8; 3]> {
        let mut hasher = DefaultHasher::new();
        address.hash(&mut hasher);
        let [a, b, c, ..] = hasher.finish().to_le_bytes();
        let mut known = self.0.borrow_mut();
        if known.len() > MAX_ADDRESSES {
            known.clear();
        }
        let held = known.entry([a, b, c]).or_insert_with(|| address.clone());
        (held == address).then_some([a, b, c])
    }

    /// The address with a number.
    pub fn address(&self, number: [u8; 3]) -> Option<Rc<str>> {
        self.0.borrow().get(&number).cloned()
    }
}
