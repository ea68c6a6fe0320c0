//! Runs commands for the full-screen program and returns their output as text.
//! Not for: choosing those commands (`tui`), or commands in their own process (`run`).

use super::client::Client;
use super::output::Io;
use super::{Formats, Run, finish};
use crate::config::commands::Printed;
use crate::config::commands::args::Args;
use crate::config::load::Config;
use crate::engine::api::{Events, RequestSender, Ticket};

/// Runs a command and returns its output. The answers to the command's requests arrive as events.
pub type CommandRunner = Box<dyn FnMut(&Args, &Events) -> Printed + Send>;

/// Creates a command runner for an engine that the full-screen program uses too. The tickets of commands start at
/// [`Ticket::COMMANDS`], and `events` must contain only the answers to them.
pub fn command_runner(config: Config, sender: Box<dyn RequestSender>, formats: Formats) -> CommandRunner {
    let mut next = Ticket::COMMANDS.0;
    Box::new(move |args, events| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut client = Client::new(&*sender, events, Vec::new());
        client.continue_from(next);
        let io = Io {
            out: &mut out,
            err: &mut err,
            input: &mut std::io::empty(),
            // The output is shown on a terminal, but questions cannot be answered there.
            out_tty: true,
            err_tty: false,
            in_tty: false,
            joins: false,
            json: args.global.json,
            escape: args.global.escape,
            interrupts: &|| 0,
        };
        let mut run = Run { global: &args.global, config: &config, client, io, formats: &formats };
        let result = run.command(args);
        let code = finish(result, &mut run.io);
        next = run.client.next_ticket();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let err =
            text(err).lines().map(|line| line.strip_prefix("pleach: ").unwrap_or(line)).collect::<Vec<_>>().join("\n");
        Printed { code, out: text(out), err }
    })
}
