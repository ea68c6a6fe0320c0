//! The program's entry point: reads the settings, starts the engine, and runs the command line or the workbench.
//! Not for: any other work.

use pleach::cli::{self, BundleFormat, Formats, system::repair};
use pleach::config::{commands::args::Args, load};
use pleach::domain::{base::failure::Failure, conversation::record::IncomingPieces};
use pleach::engine::{Engine, startup::wiring};
use pleach::{export, import, telemetry, tools, tui};

const FORMATS: Formats = Formats {
    check: import::check,
    read: |file, name| import::open(Box::new(file), name).map(IncomingPieces::new),
    jsonl: export::jsonl,
    markdown: export::markdown,
    html: export::html,
    bundles: BundleFormat { write: export::bundle, verify: import::verify, recorded: import::recorded },
};

fn main() -> std::process::ExitCode {
    let parsed = tools::sandbox::main(std::env::args_os()).map_or_else(cli::parse, Err);
    let Ok(args) = &parsed else { return parsed.err().unwrap_or_default().into() };
    let workspace = std::env::current_dir().unwrap_or_else(|_| ".".into());
    let (env, store) = (load::Environment::of_process(), args.global.store.clone());
    let loaded = load::load(load::Sources { env, workspace, store, overrides: args.overrides() });
    if args.local() {
        return cli::run_local(args, &loaded, &FORMATS).into();
    }
    let ran = loaded.map_err(|error| error.failure()).and_then(|config| run(args, &config));
    ran.unwrap_or_else(|failure| cli::fail(args, &failure)).into()
}

fn run(args: &Args, config: &load::Config) -> Result<u8, Failure> {
    let _ = telemetry::init(&config.paths.state_dir, config.settings.log.level.name());
    if repair::wanted(args) {
        let store = repair::Store {
            check: &|| wiring::damaged(config, true),
            drop_plans: &|| wiring::drop_unreadable_plans(config),
            repair: &|start| wiring::repair(config, start),
        };
        return Ok(repair::run(args, &store));
    } else if args.command.is_some() || args.plain {
        let (engine, events) = Engine::start(wiring::setup(config, args.global.demo)?)?;
        return Ok(cli::run(args, config, &engine.sender(), &events, &FORMATS));
    }
    let (engine, events) = Engine::start(wiring::setup_or_ask(config, args.global.demo, &tui::ask_about)?)?;
    let commands = cli::command_runner(config.clone(), Box::new(engine.sender()), FORMATS);
    let setup = tui::Setup::new(config, &args.global);
    Ok(tui::run(Box::new(engine.sender()), events, setup, (commands, tour(config)))?.code())
}

/// Returns a function that starts an engine for the tour, with the demo's conversation.
fn tour(config: &load::Config) -> tui::OpenTour {
    let config = config.clone();
    Box::new(move || {
        let mut setup = wiring::setup(&config, true)?;
        setup.patient = false;
        let (engine, events) = Engine::start(setup)?;
        let commands = cli::command_runner(config.clone(), Box::new(engine.sender()), FORMATS);
        Ok(tui::TourEngine { sender: Box::new(engine.sender()), events, commands, engine: Box::new(engine) })
    })
}
