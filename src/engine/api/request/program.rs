//! What is asked about the program itself: its settings, its servers, its store.
//! Not for: sessions and what they hold (`request`).

use crate::domain::base::damage::BackupAct;
use crate::domain::call::model::Quirk;

/// A request about the program itself.
#[derive(Clone, PartialEq, Debug)]
pub enum ProgramRequest {
    /// Reads the configuration again: what it says of models, policies, prompts and tools holds from now on. Answered by a
    /// sentence about what changed, empty where nothing did; a configuration with a fault changes nothing.
    Reload,
    /// Models that the profiles offer, asked from their servers (`None` asks all that are set up).
    Models {
        /// One profile only.
        profile: Option<String>,
    },
    /// What was learned of how models' servers count beside us.
    Meters,
    /// Looks for servers and reports (also at first start).
    Doctor,
    /// Forgets what was learned from a server's refusals.
    ForgetQuirks {
        /// Of one profile only.
        profile: Option<String>,
        /// Of one model only.
        model: Option<String>,
        /// One quirk only.
        quirk: Option<Quirk>,
    },
    /// Copies of the store that hold what was removed from it.
    Backups(BackupAct),
}
