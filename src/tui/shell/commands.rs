//! The thread that runs slash commands with the command line's own code, one after another.
//! Both queues have no bound: a person types the command lines one by one, and the thread that passes answers on also
//! passes the events of calls, which must not wait for a command.
//! Not for: the commands (`config::commands`), or choosing the commands that run here (`chat::update::commands`).

use crate::config::commands::Printed;
use crate::config::commands::args::Args;
use crate::engine::api::{Event, Events, Ticket};
use crate::tui::msg::{Done, EngineMsg, Msg};
use crate::tui::text::code::Job;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// Runs a command with the command line's own code, which receives the answers to its requests through the events.
pub type RunCommand = Box<dyn FnMut(&Args, &Events) -> Printed + Send>;

/// Senders to the highlighter, to the commands thread, and back to the run loop.
pub(crate) type Threads = (Sender<Job>, Sender<Line>, Sender<Msg>);

/// A command line with its parsed arguments.
pub(crate) type Line = (String, Box<Args>);

/// Starts the thread. Returns the sender for answers to its requests and the sender for command lines.
pub(crate) fn start(mut run: RunCommand, to: Sender<Msg>) -> io::Result<(Sender<Event>, Sender<Line>)> {
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

/// Passes the answers to requests of commands to the commands thread, and all other events to the run loop, until the
/// engine or the run loop has ended.
pub(crate) fn forward(
    events: Events,
    answers: &Sender<Event>,
    to: &Sender<Msg>,
    wrap: impl Fn(Box<Event>) -> EngineMsg,
) {
    for event in events {
        if matches!(event, Event::Answer { ticket, .. } if ticket >= Ticket::COMMANDS) {
            drop(answers.send(event));
        } else if to.send(Msg::Engine(wrap(Box::new(event)))).is_err() {
            return;
        }
    }
}
