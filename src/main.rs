//! The thin binary: reads settings, starts the engine, and lets the command line or the workbench in.

use clap::Parser as _;
use pleach::cli::{self, Formats, args::Args};
use pleach::config::load::{Environment, Sources, load};
use pleach::domain::failure::Failure;
use pleach::engine::{Engine, wiring};
use pleach::{export, import};
use std::process::ExitCode;

const FORMATS: Formats = Formats {
    read: |bytes, name| import::read(bytes, name).map_err(|error| Failure::user(error.to_string())),
    jsonl: |transcript, mask| export::jsonl(transcript, mask).text,
    markdown: |transcript, mask| export::markdown(transcript, mask).text,
};

fn main() -> ExitCode {
    let args = Args::parse();
    let env = Environment::of_process();
    let workspace = std::env::current_dir().unwrap_or_else(|_| ".".into());
    let sources = Sources { env, workspace, store: args.global.store.clone(), overrides: args.overrides() };
    let loaded = load(sources);
    if args.local() {
        return cli::run_local(&args, &loaded).into();
    }
    let config = match loaded {
        Ok(config) => config,
        Err(error) => return cli::fail(&args, &error.failure()).into(),
    };
    let setup = if args.global.demo { wiring::demo(&config) } else { wiring::setup(&config) };
    let setup = match setup {
        Ok(setup) => setup,
        Err(failure) => return cli::fail(&args, &failure).into(),
    };
    let (engine, events) = Engine::start(setup);
    let code = cli::run(&args, &config, &engine.door(), &events, &FORMATS);
    engine.stop();
    code.into()
}
