//! Answers about the program itself: models, the setup, and backups.
//! Not for: tools (`tool`).

use crate::domain::base::{BackupReport, Failure, Finding};
use crate::domain::call::{CalibrationEntry, ModelInfo};

/// An answer about the program.
#[derive(Clone, PartialEq, Debug)]
pub enum ProgramAnswer {
    /// Models by profile.
    Models(Vec<(String, Result<Vec<ModelInfo>, Failure>)>),
    /// Calibrations of models' token counts.
    Meters(Vec<CalibrationEntry>),
    /// The findings of a check of the setup.
    Doctor(Vec<Finding>),
    /// The backups of the store, newest first.
    Backups(Vec<BackupReport>),
}
