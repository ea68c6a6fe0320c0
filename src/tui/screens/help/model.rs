//! State of the help screen.
//! Not for: the keys (`config::keys`).

/// The list of all keys.
#[derive(Debug, Default)]
pub struct HelpScreen {
    /// Rows scrolled off the top.
    pub scroll: usize,
}
