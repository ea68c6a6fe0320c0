//! The place of a closed turn or leased text in a request.
//! Not for: choosing it (`admit`, `leases`).

use crate::domain::planning::Section;

/// The place of a closed turn or leased text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::context) enum RowPosition {
    Window,
    /// Before the window, as a card.
    Card(Section),
    /// Left out by the window or the budget.
    Outside,
    /// Left out by a person's mark.
    Excluded {
        /// For this call only.
        once: bool,
    },
    /// A summary that is not used.
    Idle,
    /// A lease whose text is part of a turn in the window.
    Repeated,
    /// A lease for which its cap or the budget leaves no room.
    NoLease {
        /// Whether the cap is the limit.
        capped: bool,
    },
}

impl RowPosition {
    /// Returns whether the turn is sent, in full or as a card.
    pub(in crate::context) fn is_sent(self) -> bool {
        matches!(self, Self::Window | Self::Card(_))
    }

    pub(in crate::context) fn is_excluded(self) -> bool {
        matches!(self, Self::Excluded { .. })
    }
}
