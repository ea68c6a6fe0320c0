//! What several benches set up in the same way: models, policies, prompts, and the server of one model.

use pleach::config::{policies, prompts};
use pleach::domain::base::Failure;
use pleach::domain::call::{Encoding, ModelInfo, Profile, Provider, ProviderError, Supports};
use pleach::domain::planning::PolicySpec;
use pleach::engine::startup::setup::{ModelLookup, Prompts, Servers};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Every model has this context window and the vocabulary `o200k`.
pub(crate) fn models(context_window: u32) -> ModelLookup {
    Arc::new(move |name, _| ModelInfo {
        name: name.into(),
        context_window,
        input_limit: None,
        max_output: None,
        encoding: Encoding::O200kBase,
        exact_encoding: true,
        price: None,
        source: "table".into(),
        supports: Supports::default(),
    })
}

/// The built-in policies by name.
pub(crate) fn presets() -> BTreeMap<String, PolicySpec> {
    policies::load(Path::new("no policies of one's own")).expect("the presets are valid")
}

/// The built-in prompts.
pub(crate) fn prompts() -> Arc<Prompts> {
    Arc::new(Prompts {
        system: prompts::SYSTEM.trim().into(),
        guidelines: prompts::GUIDELINES.into(),
        state_request: prompts::STATE_BLOCK.into(),
        go_on: prompts::CONTINUE.into(),
        personality: String::new(),
    })
}

/// A server whose only model is this one, whatever the profile.
pub(crate) struct OneServer(pub(crate) Arc<dyn Provider>);

impl Servers for OneServer {
    fn provider(&self, _: &Profile) -> Result<Arc<dyn Provider>, Failure> {
        Ok(self.0.clone())
    }

    fn ready(&self, _: &Profile) -> Result<(), Failure> {
        Ok(())
    }

    fn models(&self, _: &Profile) -> Result<Vec<ModelInfo>, ProviderError> {
        Ok(Vec::new())
    }

    fn probe(&self, _: &Profile) -> Result<usize, ProviderError> {
        Ok(1)
    }
}
