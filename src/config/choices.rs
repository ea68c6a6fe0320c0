//! Values of settings that leave a decision to the policy unless they are set.
//! Not for: the settings themselves (`settings`).

use crate::domain::planning::Layout;
use crate::domain::summary::AutoSummaryOverride;
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Serialize};

/// The order of the prompt's sections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayoutChoice {
    /// As the policy says.
    #[default]
    Policy,
    /// See [`Layout::Classic`].
    Classic,
    /// See [`Layout::CacheFriendly`].
    CacheFriendly,
}

impl LayoutChoice {
    /// Returns the layout that the setting names, or None if the policy decides.
    pub fn named(self) -> Option<Layout> {
        match self {
            Self::Policy => None,
            Self::Classic => Some(Layout::Classic),
            Self::CacheFriendly => Some(Layout::CacheFriendly),
        }
    }

    /// Returns the name in the settings.
    pub fn name(self) -> &'static str {
        self.named().map_or("policy", Layout::name)
    }
}

/// Automatic summaries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummariesChoice {
    /// As the policy says.
    #[default]
    Policy,
    /// Never.
    Off,
    /// Drafts wait for acceptance; also written "ask".
    #[serde(alias = "ask")]
    Draft,
    /// Summaries are used at once; also written "self".
    #[serde(alias = "self")]
    Auto,
}

impl SummariesChoice {
    /// Returns the name in the settings.
    pub fn name(self) -> &'static str {
        self.over_policy().map_or("policy", AutoSummaryOverride::name)
    }

    /// Parses a name, present or earlier.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::deserialize(StrDeserializer::<serde::de::value::Error>::new(name)).ok()
    }

    /// Returns the choice that overrides the policy, or None if the policy decides.
    pub fn over_policy(self) -> Option<AutoSummaryOverride> {
        match self {
            Self::Policy => None,
            Self::Off => Some(AutoSummaryOverride::Off),
            Self::Draft => Some(AutoSummaryOverride::Draft),
            Self::Auto => Some(AutoSummaryOverride::Auto),
        }
    }
}
