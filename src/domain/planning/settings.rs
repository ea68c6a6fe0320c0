//! The settings under which the next call of a branch is planned and made.
//! Not for: what a branch overrides (`domain::conversation::branch::Overrides`), or reading settings (`config`).

use super::mode::Mode;
use crate::domain::base::failure::Failure;
use crate::domain::call::model::ModelInfo;

/// Which model a branch asks at present, and by what rules.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Profile.
    pub profile: String,
    /// Model.
    pub model: ModelInfo,
    /// Mode.
    pub mode: Mode,
    /// Policy.
    pub policy: String,
    /// Layout.
    pub layout: String,
    /// Whether it can be called now; else why not and what to do.
    pub ready: Result<(), Failure>,
}
