//! How far the list of keys is scrolled.
//! Not for: the keys (`config::keys`).

/// All keys.
#[derive(Debug, Default)]
pub struct HelpScreen {
    /// Rows scrolled past.
    pub scroll: usize,
}
