//! The settings under which the next call of a branch is planned and made.
//! Not for: what a branch overrides (`domain::conversation::branch::Overrides`), or reading settings (`config`).

use super::mode::Mode;
use crate::domain::base::failure::Failure;
use crate::domain::call::model::ModelInfo;

/// The model that a branch calls at present, and the settings by which its calls are planned.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Profile name.
    pub profile: String,
    /// Model.
    pub model: ModelInfo,
    /// Context mode.
    pub mode: Mode,
    /// Policy name.
    pub policy: String,
    /// Layout name.
    pub layout: String,
    /// Whether the model can be called now; otherwise the reason, and what to do.
    pub ready: Result<(), Failure>,
}
