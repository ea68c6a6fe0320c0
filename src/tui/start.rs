//! What the workbench is started with, from the configuration.
//! Not for: anything that changes while it runs.

use super::Setup;
use crate::config::keymap::Keymap;
use crate::config::load::Config;
use crate::config::settings::Theme;

impl Setup {
    /// The setup for a configuration and the command line's choices.
    #[must_use]
    pub fn new(config: &Config, session: Option<String>, branch: Option<String>, demo: bool) -> Self {
        let screen = &config.settings.screen;
        let own = std::fs::read_to_string(config.paths.keymap_file()).ok();
        let no_colour = config.env.get("NO_COLOR").is_some_and(|value| !value.is_empty());
        let theme = match screen.theme {
            _ if no_colour => "none",
            Theme::Auto | Theme::Dark => "dark",
            Theme::Light => "light",
            Theme::Mono => "none",
        };
        Self {
            keymap: Keymap::load(own.as_deref()),
            theme: theme.into(),
            few_colours: !config.env.get("COLORTERM").is_some_and(|said| said == "truecolor" || said == "24bit"),
            ascii: screen.ascii,
            session,
            branch,
            first_start: config.start_profile().is_none() && !demo,
            demo,
            policies: config.policies.keys().cloned().collect(),
            mouse: screen.mouse,
            notices: config.notes.clone(),
        }
    }
}
