//! The settings for planning and making the next call of a branch.
//! Not for: the settings that a branch overrides (`domain::conversation::branch::Overrides`), or reading settings
//! (`config`).

use super::mode::Mode;
use crate::domain::base::failure::Failure;
use crate::domain::call::model::ModelInfo;

/// The model that a branch currently calls, and the settings for planning its calls.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    pub profile: String,
    pub model: ModelInfo,
    pub mode: Mode,
    pub policy: String,
    pub layout: String,
    /// Whether the model can be called now; otherwise the reason and the next step.
    pub ready: Result<(), Failure>,
}
