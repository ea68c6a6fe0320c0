//! The thin binary: reads settings, starts the engine, and lets the command line or the workbench in.

use pleach::cli::{self, Formats, args::Args, repair};
use pleach::config::load::{Config, Environment, Sources, load};
use pleach::domain::failure::Failure;
use pleach::engine::setup::Setup;
use pleach::engine::{Engine, wiring};
use pleach::{export, import, telemetry, tui};
use std::process::ExitCode;

const FORMATS: Formats = Formats {
    read: |bytes, name| import::read(bytes, name).map_err(|error| Failure::user(error.to_string())),
    jsonl: |transcript, mask| export::jsonl(transcript, mask).text,
    markdown: |transcript, mask| export::markdown(transcript, mask).text,
};

fn main() -> ExitCode {
    let args = match cli::parse() {
        Ok(args) => args,
        Err(code) => return code.into(),
    };
    let workspace = std::env::current_dir().unwrap_or_else(|_| ".".into());
    let (env, store) = (Environment::of_process(), args.global.store.clone());
    let loaded = load(Sources { env, workspace, store, overrides: args.overrides() });
    if args.local() {
        return cli::run_local(&args, &loaded).into();
    }
    let ran = loaded.map_err(|error| error.failure()).and_then(|config| run(&args, &config));
    ran.unwrap_or_else(|failure| cli::fail(&args, &failure)).into()
}

fn run(args: &Args, config: &Config) -> Result<u8, Failure> {
    let _ = telemetry::init(&config.paths.state_dir, config.settings.log.level.name());
    if repair::wanted(args) {
        let (look, mend) = (|| wiring::damaged(config, true), |start| wiring::mend(config, start));
        return Ok(repair::run(args, &repair::Surgeon { look: &look, mend: &mend }));
    }
    let (engine, events) = Engine::start(set_up(args, config)?);
    let global = args.global.clone();
    if args.command.is_some() {
        return Ok(cli::run(args, config, &engine.door(), &events, &FORMATS));
    }
    let setup = tui::Setup::new(config, global.session, global.branch, global.demo);
    tui::run(Box::new(engine.door()), events, setup).map(tui::Exit::code).map_err(|e| Failure::user(e.to_string()))
}

/// The engine's setup. Where the store is damaged and the workbench was asked for, the person says what becomes of it.
fn set_up(args: &Args, config: &Config) -> Result<Setup, Failure> {
    let failure = match wiring::setup(config, args.global.demo) {
        Ok(setup) => return Ok(setup),
        Err(failure) => failure,
    };
    let damage = if args.command.is_none() { wiring::damaged(config, false)? } else { None };
    let start = damage.as_ref().and_then(tui::ask_about).ok_or(failure)?;
    let mended = wiring::mend(config, start)?;
    let mut setup = wiring::setup(config, args.global.demo)?;
    setup.notices.extend(mended.sentences());
    Ok(setup)
}
