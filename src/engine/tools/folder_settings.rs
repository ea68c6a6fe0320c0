//! Trust in the workspace folder, and a person's decision on the folder's own settings file.
//! Not for: reading that file (`config`), or the folder's tool servers (`servers`).

use crate::domain::base::{Failure, FailureKind, Hash};
use crate::domain::tool::{FolderSettings, SettingsFileStatus};
use crate::engine::api::{Answer, FolderAct, ToolAnswer};
use crate::engine::core::Core;
use crate::engine::startup::setup::Setup;

impl Core {
    /// Trusts the folder or revokes its trust, together with its settings file.
    pub(crate) fn trust(&mut self, trusted: bool) -> Answer {
        let saved = (self.setup.save_trust)(trusted);
        self.tools.trusted = trusted;
        self.set_servers();
        self.tools.project.configure(None, trusted);
        self.show_all_branches();
        let what = if trusted {
            "This folder is trusted: tools are offered; changes need approval."
        } else {
            "No tools are offered here."
        };
        if let Err(why) = saved {
            return Answer::Done(format!("{what} This lasts only until pleach quits: {why}"));
        }
        let more = match self.reload_config() {
            Err(failure) => Some(format!("The settings could not be reloaded: {failure}")),
            Ok(_) => self.setup.folder_card().filter(|_| trusted).and_then(|card| card.notice()),
        };
        Answer::Done(more.map_or_else(|| what.to_owned(), |more| format!("{what} {more}")))
    }

    /// Shows the folder's settings file, or records a decision on it.
    pub(crate) fn folder_settings(&mut self, act: FolderAct) -> Result<Answer, Failure> {
        match act {
            FolderAct::Show => Ok(ToolAnswer::FolderSettings(self.setup.folder_card().map(Box::new)).into()),
            FolderAct::Say { digest, yes } => self.decide_on_settings(digest, yes),
        }
    }

    fn decide_on_settings(&mut self, digest: Hash, yes: bool) -> Result<Answer, Failure> {
        let stale = || Failure::new(FailureKind::Stale, "The file was changed in the meantime; read it again.");
        let file = self.setup.folder.clone().ok_or_else(stale)?;
        let is_valid = |card: FolderSettings| card.digest == Some(digest) && card.status != SettingsFileStatus::Faulty;
        if !self.setup.folder_card().is_some_and(is_valid) || !(file.say)(digest, yes)? {
            return Err(stale());
        }
        self.reload_config()?;
        Ok(Answer::Done(if yes {
            "The folder's settings are in use; pleach asks again when they change.".into()
        } else {
            "The folder's settings are not used.".into()
        }))
    }
}

impl Setup {
    pub(crate) fn folder_card(&self) -> Option<FolderSettings> {
        self.folder.as_ref().and_then(|file| (file.look)())
    }
}
