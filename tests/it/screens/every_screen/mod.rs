//! What holds on every screen: keys that do something, empty lists that say so, and no panic at any size.
//! Not for: one screen, whose tests are in the file with its name.

mod bound_keys;
mod empty_lists;
mod properties;
