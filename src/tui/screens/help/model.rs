//! The scroll position of the list of keys.
//! Not for: the keys (`config::keys`).

/// All keys.
#[derive(Debug, Default)]
pub struct HelpScreen {
    /// Scrolled rows.
    pub scroll: usize,
}
