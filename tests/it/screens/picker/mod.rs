//! Lists to choose from: the palette, models, themes, sessions, and approval rules.
//! Not for: empty lists (`every_screen::empty_lists`).

mod lists;
mod models;
mod palette;
mod themes;
