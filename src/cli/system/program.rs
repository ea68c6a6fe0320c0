//! `models`, `doctor`, `config`, `completions`, and `man`.
//! Not for: conversations.

use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::{Io, column, in_commands, number, padded};
use crate::cli::stop::Stop;
use crate::config::commands::args::Args;
use crate::config::commands::command::Command;
use crate::config::commands::system::{ConfigCommand, Forget, ProgramCommand};
use crate::config::error::ConfigError;
use crate::config::load::Config;
use crate::config::renamed;
use crate::config::settings::AUTO;
use crate::config::themes;
use crate::domain::base::{Failure, FailureKind};
use crate::domain::call::{Calibration, CalibrationEntry, ModelInfo};
use crate::domain::tool::{FolderSettings, SettingsFileStatus};
use crate::engine::api::{Finding, ProgramAnswer, ProgramRequest};
use serde_json::{Value, json};

pub(crate) fn models(run: &mut Run<'_, '_>) -> Result<(), Stop> {
    let found = expect_answer!(
        run,
        Program(ProgramAnswer::Models),
        ProgramRequest::Models { profile: run.global.profile.clone(), unready: false }
    );
    let learned = expect_answer!(run, Program(ProgramAnswer::Meters), ProgramRequest::Meters);
    let of = |profile: &str, model: &ModelInfo| {
        let is = |known: &&CalibrationEntry| {
            known.profile == profile && known.model == model.name && known.encoding == model.encoding.name()
        };
        learned.iter().find(is).map(|known| known.calibration)
    };
    if run.io.json {
        let shape = |profile: &str, model: &ModelInfo| {
            let mut value = serde_json::to_value(model).unwrap_or_default();
            value["calibration"] = json!(of(profile, model));
            value
        };
        let shapes: Vec<Value> = found
            .iter()
            .map(|(profile, result)| match result {
                Ok(models) => {
                    let models: Vec<Value> = models.iter().map(|model| shape(profile, model)).collect();
                    json!({ "profile": profile, "models": models })
                }
                Err(failure) => json!({ "profile": profile, "models": [], "error": failure.to_string() }),
            })
            .collect();
        return run.io.value(&shapes);
    }
    for (profile, result) in &found {
        run.io.say(profile);
        match result {
            Ok(models) => models.iter().for_each(|model| run.io.say(&model_line(model, of(profile, model)))),
            Err(failure) => run.io.say(&format!("  {}", crate::cli::execution::describe(failure))),
        }
    }
    Ok(())
}

fn model_line(model: &ModelInfo, known: Option<Calibration>) -> String {
    let price = model
        .price
        .map_or_else(String::new, |price| format!("  ${} in, ${} out per million tokens", price.input, price.output));
    let meter = known.map_or_else(String::new, |known| format!("  counts {}", known.sentence()));
    format!(
        "  {}  {:>9} tokens of context ({}){price}{meter}",
        column(&model.name, 40),
        number(model.context_window),
        model.source
    )
}

/// `doctor`. Prints all findings. Fails with the exit code of a store failure if the store is damaged.
pub(crate) fn doctor(run: &mut Run<'_, '_>, forget: Option<Forget>) -> Result<(), Stop> {
    if let Some(forget) = forget {
        return forget_quirks(run, forget);
    }
    let findings = expect_answer!(run, Program(ProgramAnswer::Doctor), ProgramRequest::Doctor);
    if run.io.json {
        let shapes: Vec<Value> = findings
            .iter()
            .map(|f| {
                let mut shape = json!({ "subject": f.subject, "ok": f.ok, "text": f.text, "todo": f.todo });
                f.facts.iter().for_each(|(name, value)| shape[*name] = json!(value));
                shape
            })
            .collect();
        run.io.value(&shapes)?;
        return verdict(&findings);
    }
    for finding in &findings {
        let mark = match finding.ok {
            Some(true) => "✓",
            Some(false) => "✗",
            None => "·",
        };
        let subject = finding.subject.strip_prefix("meter ").map(|model| format!("token count {model}"));
        let subject = subject.as_deref().unwrap_or(&finding.subject);
        run.io.say(&format!("{mark} {}  {}", padded(subject, 24), finding.text));
        if !finding.todo.is_empty() {
            // The hint to run the doctor is redundant here.
            run.io.say(&format!("    {}", finding.todo.replace(" `pleach doctor` checks every profile.", "")));
        }
    }
    verdict(&findings)
}

/// Returns the exit code for scripts: a damaged store is a store failure, but an unreachable server is only a finding.
fn verdict(findings: &[Finding]) -> Result<(), Stop> {
    let damaged = findings
        .iter()
        .any(|finding| finding.ok == Some(false) && matches!(finding.subject.as_str(), "store" | "store content"));
    if damaged { Err(Stop::Printed(FailureKind::Store.exit_code())) } else { Ok(()) }
}

/// `doctor --forget`.
fn forget_quirks(run: &mut Run<'_, '_>, forget: Forget) -> Result<(), Stop> {
    let quirk = match forget {
        Forget::All => None,
        Forget::One(quirk) => Some(quirk),
    };
    let (profile, model) = (run.global.profile.clone(), run.global.model.clone());
    run.change(ProgramRequest::ForgetQuirks { profile, model, quirk }, "")
}

/// `theme`: lists the themes, or sets the theme of the full-screen program.
pub(crate) fn choose_theme(run: &mut Run<'_, '_>, name: Option<&str>) -> Result<(), Stop> {
    let Some(name) = name else { return theme(run.config, None, &mut run.io) };
    let (all, _) = themes::load(&run.config.paths.themes_dir());
    if name != AUTO && !all.iter().any(|theme| theme.name == name) {
        let known = std::iter::once(AUTO).chain(all.iter().map(|theme| theme.name.as_str()));
        return Err(themes::unknown(name, known).into());
    }
    run.config.clone().save_theme(name).map_err(|error| error.failure())?;
    let message = format!("Theme {name} saved in {}.", run.config.paths.user_file().display());
    run.io.either(&json!({ "done": true, "message": message }), &message)
}

/// Runs a command that does not need the engine.
#[deny(clippy::wildcard_enum_match_arm)]
pub(crate) fn local(args: &Args, loaded: &Result<Config, ConfigError>, io: &mut Io<'_>) -> Result<(), Stop> {
    if let Some(refusal) = args.json_refusal() {
        return Err(Stop::Usage(refusal));
    }
    let Some(Command::Program(command)) = &args.command else {
        return Err(Failure::new(FailureKind::Internal, "This command needs the engine.").into());
    };
    match command {
        ProgramCommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Args::description(), "pleach", &mut script);
            io.data(&String::from_utf8_lossy(&script));
            Ok(())
        }
        ProgramCommand::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Args::description())
                .render(&mut page)
                .map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))?;
            io.data(&String::from_utf8_lossy(&page));
            Ok(())
        }
        ProgramCommand::Config(command) => {
            let config = loaded.as_ref().map_err(ConfigError::failure)?;
            settings(command, config, io)
        }
    }
}

fn settings(command: &ConfigCommand, config: &Config, io: &mut Io<'_>) -> Result<(), Stop> {
    match command {
        ConfigCommand::Path => {
            let paths = &config.paths;
            let places = [
                ("config", paths.user_file()),
                ("keymap", paths.keymap_file()),
                ("policies", paths.policies_dir()),
                ("themes", paths.themes_dir()),
                ("store", paths.store.clone()),
                ("log", paths.state_dir.join("log").join("pleach.log")),
            ];
            if io.json {
                let map: serde_json::Map<String, Value> =
                    places.iter().map(|(name, path)| ((*name).into(), path.display().to_string().into())).collect();
                return io.value(&map);
            }
            for (name, path) in places {
                io.say(&format!("{}  {}", column(name, 8), path.display()));
            }
            Ok(())
        }
        ConfigCommand::Show => {
            if io.json {
                let mut value: Value = toml::from_str(&config.shown()).unwrap_or_default();
                value["origins"] = json!(config.origins);
                renamed::add_earlier_names(&mut value);
                value["folder"] = json!(config.folder);
                return io.value(&value);
            }
            io.data(&in_commands(&config.explained()));
            Ok(())
        }
        ConfigCommand::Check => check(config, io),
        ConfigCommand::Theme { name } => theme(config, name.as_deref(), io),
        ConfigCommand::Default { profile, model } => set_default(config, profile, model.as_deref().unwrap_or(""), io),
    }
}

/// Lists the themes, or prints one: `pleach config theme dark > ~/.config/pleach/themes/mine.toml`.
fn theme(config: &Config, name: Option<&str>, io: &mut Io<'_>) -> Result<(), Stop> {
    let (all, problems) = themes::load(&config.paths.themes_dir());
    for problem in problems {
        io.note(&problem);
    }
    let Some(name) = name else {
        if io.json {
            let shapes: Vec<Value> = all
                .iter()
                .map(|theme| json!({ "name": theme.name, "own": theme.own, "about": theme.about() }))
                .collect();
            return io.value(&shapes);
        }
        for theme in &all {
            let own = if theme.own { " (your own)" } else { "" };
            io.say(&format!("{}  {}{own}", column(&theme.name, 12), theme.about()));
        }
        return Ok(());
    };
    let unknown = || themes::unknown(name, all.iter().map(|theme| theme.name.as_str()));
    let theme = all.iter().find(|theme| theme.name == name).ok_or_else(unknown)?;
    if io.json {
        return io.value(&json!({ "name": theme.name, "own": theme.own, "toml": theme.text }));
    }
    io.data(&theme.text);
    Ok(())
}

fn set_default(config: &Config, profile: &str, model: &str, io: &mut Io<'_>) -> Result<(), Stop> {
    if config.profile(profile).is_none() {
        let known: Vec<&str> = config.settings.profiles.keys().map(String::as_str).collect();
        return Err(Failure::new(FailureKind::Config, format!("There is no profile {profile:?}."))
            .kept("Nothing changed.")
            .todo(format!("Known names: {}.", known.join(", ")))
            .into());
    }
    let mut config = config.clone();
    config.save_default(profile, model).map_err(|error| error.failure())?;
    let (file, and) = (config.paths.user_file(), if model.is_empty() { "" } else { " and " });
    let message = format!("{} now sets the default to {profile}{and}{model}.", file.display());
    io.either(&json!({ "profile": profile, "model": model }), &message)
}

fn check(config: &Config, io: &mut Io<'_>) -> Result<(), Stop> {
    let faulty = config.folder.as_ref().filter(|card| card.status == SettingsFileStatus::Faulty);
    if io.json {
        let ok = faulty.is_none();
        io.value(&json!({ "ok": ok, "files": config.files, "notes": config.notes, "folder": config.folder }))?;
    }
    if let Some(notice) = faulty.and_then(FolderSettings::notice) {
        return Err(Failure::new(FailureKind::Config, notice).into());
    }
    if io.json {
        return Ok(());
    }
    for file in &config.files {
        io.say(&format!("read {}", file.display()));
    }
    for note in &config.notes {
        io.say(&in_commands(note));
    }
    io.say("Settings are valid.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::execution::finish;
    use crate::cli::tests::{done, execute};
    use clap::Parser as _;

    #[test]
    fn commands_without_an_engine() {
        let printed = execute(&["completions", "bash"], done);
        assert!(printed.out.contains("_pleach") && printed.out.contains("regenerate"));
        assert!(execute(&["man"], done).out.contains(".TH pleach"));
        assert!(execute(&["config", "path", "--json"], done).json()["store"].as_str().unwrap().ends_with("pleach.db"));
        assert!(execute(&["config", "show"], done).out.contains("[profiles.openai]"));
        let args = Args::try_parse_from(["pleach", "config", "check"]).unwrap();
        assert!(args.local());
        let why = ConfigError::NoHome("x".into());
        let (mut out, mut err, mut input) = (Vec::new(), Vec::new(), &b""[..]);
        let mut io = Io {
            out: &mut out,
            err: &mut err,
            input: &mut input,
            out_tty: false,
            err_tty: false,
            in_tty: false,
            joins: true,
            json: false,
            escape: false,
            interrupts: &|| 0,
        };
        let result = local(&args, &Err(why), &mut io);
        assert_eq!(finish(result, &mut io), 2);
    }
}
