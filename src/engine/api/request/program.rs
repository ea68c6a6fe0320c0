//! Requests about the program itself: its settings, its servers, its store.
//! Not for: sessions and their contents (`session`).

use crate::domain::base::BackupAct;
use crate::domain::call::Quirk;

/// A request about the program itself.
#[derive(Clone, PartialEq, Debug)]
pub enum ProgramRequest {
    /// Reload the configuration. Models, policies, prompts, and tools apply immediately. Answered by a sentence about
    /// the changes, empty if there are none; an invalid configuration changes nothing.
    Reload,
    /// List models by asking the servers of the profiles.
    Models {
        /// Only this profile; all if `None`.
        profile: Option<String>,
        /// Whether to also list profiles that lack a key or an address, at the end, each with the missing part.
        unready: bool,
    },
    /// List the calibrations of models' token counts.
    Meters,
    /// Check the setup and report findings. Also runs at the first start.
    Doctor,
    /// Forget quirks that were learned from refusals.
    ForgetQuirks {
        /// Only quirks of this profile.
        profile: Option<String>,
        /// Only quirks of this model.
        model: Option<String>,
        /// Only this quirk.
        quirk: Option<Quirk>,
    },
    /// List or delete backups that still contain removed texts.
    Backups(BackupAct),
}
