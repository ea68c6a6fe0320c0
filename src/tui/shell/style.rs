//! The theme and title of the terminal, and the commands that touch the person's files.
//! Not for: parsing themes (`theme`) or loading the configuration (`configuration`).

use super::terminal;
use crate::config::save::create_private;
use crate::config::settings::AUTO;
use crate::tui::Workbench;
use crate::tui::model::title::title;
use crate::tui::msg::{ConfigMsg, Done, FileCmd, Msg};
use std::io::{self, Write as _};
use std::path::PathBuf;

impl Workbench {
    /// Runs a command that reads or writes the person's files. The demo writes only a file that the person names.
    pub(crate) fn perform_on_files(&mut self, cmd: FileCmd) -> io::Result<()> {
        let news = match (cmd, &mut self.reading) {
            (FileCmd::SaveUnsaved(path, text), _) => {
                let result = save(&path, &text).map_err(|error| error.to_string());
                Some(Msg::Done(Done::Saved(path, result)))
            }
            (FileCmd::SaveTheme(_) | FileCmd::SaveArrangement | FileCmd::Reload(_), None) => None,
            (FileCmd::SaveTheme(name), Some(reading)) => {
                Some(Msg::Config(ConfigMsg::Written(reading.keep_theme(&name))))
            }
            (FileCmd::SaveArrangement, Some(_)) if self.model.facts.demo => None,
            (FileCmd::SaveArrangement, Some(reading)) => {
                let kept = self.model.display.arrangements.save(&reading.screen_file());
                let why = |why| format!("The layout could not be saved for the next start: {why}.");
                kept.err().map(|error| Msg::Config(ConfigMsg::Written(Err(why(error)))))
            }
            (FileCmd::Reload(asked), Some(reading)) => reading.reload(asked, self.themes.light).map(|read| {
                Msg::Config(ConfigMsg::Reloaded(read.map(|(fresh, themes)| {
                    (self.themes, self.applied_theme) = (themes, None);
                    Box::new(fresh)
                })))
            }),
        };
        match news {
            Some(msg) => self.handle(msg),
            None => Ok(()),
        }
    }

    /// Applies the theme and title that the model requests.
    pub(crate) fn apply_style(&mut self) -> io::Result<()> {
        let wanted = self.model.shown_theme();
        if self.applied_theme.as_deref() != Some(wanted) {
            let wanted = wanted.to_owned();
            self.theme = self.themes.get(&wanted).0;
            if wanted == AUTO {
                self.ask_background()?;
            }
            self.applied_theme = Some(wanted);
        }
        if !self.model.display.settings.title {
            return if self.applied_title.take().is_some() { terminal::restore_title() } else { Ok(()) };
        }
        let now = title(&self.model, self.themes.ascii);
        if self.applied_title.as_deref() != Some(now.as_str()) {
            terminal::title(&now)?;
            self.applied_title = Some(now);
        }
        Ok(())
    }
}

/// The suggested file for saving the text that the store could not write.
pub(crate) fn suggested_save_path() -> String {
    let name = format!("pleach-unsaved-{}.jsonl", jiff::Zoned::now().strftime("%Y-%m-%dT%H%M%S"));
    std::env::temp_dir().join(name).display().to_string()
}

/// Writes a new file that only its owner can read. An existing file is not overwritten; an incomplete one is removed.
fn save(path: &str, text: &str) -> io::Result<()> {
    let home = path.strip_prefix("~/").and_then(|rest| Some(PathBuf::from(std::env::var_os("HOME")?).join(rest)));
    let path = home.unwrap_or_else(|| path.into());
    let mut file = create_private(&path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.inspect_err(|_| drop(std::fs::remove_file(&path)))
}
