//! The scroll position of the list of keys.
//! Not for: the keys (`config::keys`).

/// All keys.
#[derive(Debug, Default)]
pub struct HelpScreen {
    /// Rows scrolled past.
    pub scroll: usize,
}
