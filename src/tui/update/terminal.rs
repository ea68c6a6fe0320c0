//! Changes of the terminal, signals, and requests of the shell.
//! Not for: keys and the mouse (`keys`, `mouse`).

use crate::tui::model::Model;
use crate::tui::msg::{Cmd, FileCmd, ProcessMsg, TerminalMsg};

/// Handles a change of the terminal.
pub(super) fn terminal(model: &mut Model, msg: TerminalMsg, out: &mut Vec<Cmd>) {
    match msg {
        TerminalMsg::Resize(columns, rows) => {
            // The next frame subtracts the rows of the tour.
            model.size = (columns, rows);
        }
        TerminalMsg::Focus(here) => {
            model.away = !here;
            // Files may have been written in other windows.
            out.extend(here.then_some(Cmd::File(FileCmd::Reload(false))));
        }
        // The run loop chooses the theme.
        TerminalMsg::Background(_) => {}
    }
}

/// Handles a signal or a request of the shell.
pub(super) fn process(model: &mut Model, msg: ProcessMsg, out: &mut Vec<Cmd>) {
    match msg {
        ProcessMsg::Signal(_) => model.quit = true,
        ProcessMsg::Suspend => out.push(Cmd::Suspend),
        ProcessMsg::Resumed => out.push(Cmd::Redraw),
    }
}
