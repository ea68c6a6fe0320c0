//! What the workbench looks like beside its frames: theme, title, and what of it is kept in the person's files.
//! Not for: themes themselves (`theme`) or reading the configuration (`reading`).

use super::model::title::title;
use super::msg::{Cmd, Msg};
use super::{Bench, terminal};
use crate::config::settings::AUTO;
use std::io;

impl Bench {
    /// What touches the person's files. The demo leaves none behind.
    pub(super) fn perform_on_files(&mut self, cmd: Cmd) -> io::Result<()> {
        let Some(reading) = &mut self.reading else { return Ok(()) };
        let news = match cmd {
            Cmd::KeepTheme(name) => Some(Msg::Written(reading.keep_theme(&name))),
            Cmd::KeepPanes if !self.model.facts.demo => {
                let kept = self.model.arrangements.save(&reading.screen_file());
                let why = |why| format!("How the screen is arranged could not be kept for the next start: {why}.");
                kept.err().map(|error| Msg::Written(Err(why(error))))
            }
            Cmd::Reload(asked) => reading.again(asked, self.themes.light).map(|read| {
                Msg::Reloaded(read.map(|(fresh, themes)| {
                    (self.themes, self.painted) = (themes, None);
                    Box::new(fresh)
                }))
            }),
            _ => None,
        };
        match news {
            Some(msg) => self.take(msg),
            None => Ok(()),
        }
    }

    /// Takes up the theme that is to be shown, and the title.
    pub(super) fn dress(&mut self) -> io::Result<()> {
        let wanted = self.model.shown_theme();
        if self.painted.as_deref() != Some(wanted) {
            let wanted = wanted.to_owned();
            self.theme = self.themes.get(&wanted).0;
            if wanted == AUTO {
                self.ask_ground()?;
            }
            self.painted = Some(wanted);
        }
        if !self.model.screen.title {
            return if self.titled.take().is_some() { terminal::untitle() } else { Ok(()) };
        }
        let now = title(&self.model, self.themes.ascii);
        if self.titled.as_deref() != Some(now.as_str()) {
            terminal::title(&now)?;
            self.titled = Some(now);
        }
        Ok(())
    }
}
