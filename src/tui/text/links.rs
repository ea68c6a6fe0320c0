//! Addresses on the screen: which cells belong to which address.
//! Not for: which addresses are allowed (`rich`), or writing them to the terminal (`tui::shell::links`).
//!
//! A cell has no field for an address. Its underline color, which is not used otherwise, contains a number, and this
//! table maps the number to the address. So a cell whose address changed counts as changed and is drawn again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;

/// Maximum number of known addresses.
const KNOWN: usize = 4_000;

/// Addresses by number.
#[derive(Clone, Debug, Default)]
pub struct Links(Rc<RefCell<HashMap<[u8; 3], Rc<str>>>>);

impl Links {
    /// The number of an address; `None` if another address has it.
    #[must_use]
    pub fn number(&self, address: &Rc<str>) -> Option<[u8; 3]> {
        let mut hasher = DefaultHasher::new();
        address.hash(&mut hasher);
        let [a, b, c, ..] = hasher.finish().to_le_bytes();
        let mut known = self.0.borrow_mut();
        if known.len() > KNOWN {
            known.clear();
        }
        let held = known.entry([a, b, c]).or_insert_with(|| address.clone());
        (held == address).then_some([a, b, c])
    }

    /// The address of a number.
    #[must_use]
    pub fn address(&self, number: [u8; 3]) -> Option<Rc<str>> {
        self.0.borrow().get(&number).cloned()
    }
}
