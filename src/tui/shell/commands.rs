//! The thread on which the command line's own code runs commands that were typed after a slash, one after another.
//! Not for: the meaning of commands (`config::commands`), or which commands run here (`chat::update::commands`).

use crate::config::commands::Printed;
use crate::config::commands::args::Args;
use crate::engine::api::{Event, Events, Ticket};
use crate::tui::msg::{Done, Msg};
use crate::tui::text::code::Job;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// Runs a command with the command line's own code, which reads the answers to its requests from these events.
pub type RunCommand = Box<dyn FnMut(&Args, &Events) -> Printed + Send>;

/// Channels to the background threads, and back.
pub(crate) type Threads = (Sender<Job>, Sender<Line>, Sender<Msg>);

/// A line and its parsed arguments.
pub(crate) type Line = (String, Box<Args>);

/// Starts the thread; returns the channels for answers and for lines.
pub(crate) fn begin(mut run: RunCommand, to: Sender<Msg>) -> io::Result<(Sender<Event>, Sender<Line>)> {
    let (answers, events) = channel();
    let (lines, typed) = channel::<Line>();
    let work = move || {
        for (line, args) in typed {
            let printed = run(&args, &events);
            if to.send(Msg::Done(Done::Printed(line, printed))).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("commands".to_owned()).spawn(work)?;
    Ok((answers, lines))
}

/// Whether an event answers a request of a command.
pub(crate) fn is_answer(event: &Event) -> bool {
    matches!(event, Event::Answer { ticket, .. } if *ticket >= Ticket::COMMANDS)
}
