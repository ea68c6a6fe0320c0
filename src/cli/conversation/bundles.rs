//! `verify FILE` and `replay RUN --bundle FILE`: commands that only read a bundle.
//! Not for: writing bundles (`files`), or their format (`Formats`).

use crate::cli::Formats;
use crate::cli::input::quoted_name;
use crate::cli::output::{Io, time};
use crate::cli::stop::Stop;
use crate::config::commands::args::Args;
use crate::config::commands::calls::Replay;
use crate::config::commands::command::Command;
use crate::domain::base::{Failure, Hash};
use crate::domain::call::bundle::{BundleReport, RecordedCall};
use crate::domain::call::tokens::counted;
use serde_json::json;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// The maximum number of problems that are printed.
const MOST_PROBLEMS: usize = 20;

/// Runs a command that only reads a bundle; `None` for other commands.
pub(crate) fn command(args: &Args, formats: &Formats, io: &mut Io<'_>) -> Option<Result<(), Stop>> {
    match &args.command {
        Some(Command::Verify { file }) => Some(verify(formats, file, io)),
        Some(Command::Replay(Replay { run, request, bundle: Some(file), .. })) => {
            Some(replay(formats, file, (run, *request), io))
        }
        _ => None,
    }
}

fn verify(formats: &Formats, file: &Path, io: &mut Io<'_>) -> Result<(), Stop> {
    let name = name_of(file);
    let report = if file == Path::new("-") {
        (formats.bundles.verify)(&mut io.input, &name)?
    } else {
        (formats.bundles.verify)(&mut opened(file)?, &name)?
    };
    print_problems(&report, io);
    if io.json {
        let mut value = json!(report);
        value["unchanged"] = report.problems.is_empty().into();
        io.value(&value)?;
    }
    match report.problems.len() {
        0 if io.json => Ok(()),
        0 => {
            io.say(&description(&name, &report));
            Ok(())
        }
        count => {
            let what = format!("{name} was changed after its export: {}.", counted(count as u64, "problem"));
            let failure = Failure::user(what).kept("The file was only read.");
            Err(failure.todo("Get the bundle again. `pleach import` reads what is left of its messages.").into())
        }
    }
}

/// `replay RUN --bundle FILE`: prints the recorded answer, or with `request` the body that was sent.
fn replay(formats: &Formats, file: &Path, (call, request): (&str, bool), io: &mut Io<'_>) -> Result<(), Stop> {
    let name = name_of(file);
    let (call, report) = (formats.bundles.recorded)(&mut opened(file)?, &name, call)?;
    print_problems(&report, io);
    if !report.problems.is_empty() {
        io.note("the bundle was changed after its export; `pleach verify` says more");
    }
    if request {
        let why = call.request_left_out.as_deref().unwrap_or("its digest does not match");
        let missing = || Failure::user(format!("The bundle does not contain the request: {why}."));
        let body = call.request.as_deref().ok_or_else(missing)?;
        io.data(body);
        if io.out_tty {
            io.end_line(body);
        }
        return Ok(());
    }
    if io.json {
        let mut value = json!(call);
        value["request_digest"] = json!(call.request.as_deref().map(|body| Hash::of(body.as_bytes())));
        value["same"] = call.request.is_some().into();
        value["bundle_unchanged"] = report.problems.is_empty().into();
        return io.value(&value);
    }
    io.say(&heading(&call));
    io.words(call.answer.as_deref().unwrap_or("(no recorded answer)"));
    io.data("\n");
    Ok(())
}

/// Returns the lines above a recorded answer: the call, and whether its request is the one that was sent.
fn heading(call: &RecordedCall) -> String {
    let request = match (&call.request, &call.request_left_out) {
        (Some(body), _) => format!("the same bytes as were sent, {}", counted(body.len() as u64, "byte")),
        (None, Some(why)) => format!("not in the bundle: {why}"),
        (None, None) => "its digest does not match".to_owned(),
    };
    let id = call.run_id.get(..8).unwrap_or(&call.run_id);
    format!(
        "Call {id} · {} · {} · {} · {}\nRequest: {request}\nRecorded answer, nothing was sent:\n",
        time(call.at),
        call.model,
        call.status,
        call.usage.to_text(call.est_total, " · ")
    )
}

/// Describes a bundle without problems.
fn description(name: &str, report: &BundleReport) -> String {
    let counts = &report.counts;
    let each = [
        (counts.messages, "message"),
        (counts.branches, "branch"),
        (counts.plans, "plan"),
        (counts.searches, "search"),
        (counts.calls, "call"),
        (counts.tool_calls, "tool call"),
    ];
    let each: Vec<String> =
        each.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| plural(count, noun)).collect();
    let digest = report.digest.unwrap_or_default();
    format!(
        "{name} is as {} exported it: all {} have their hashes and their places.\n\
        Contents: {}.\n\
        Requests: {} with the digest of what was sent, {} not in the bundle and not compared.\n\
        Masked: {}.\n\
        Digest: {digest}\n\
        If the export printed another digest, the whole file was replaced.",
        report.program,
        counted(report.records, "record"),
        if each.is_empty() { "no messages".to_owned() } else { each.join(", ") },
        report.requests_matched,
        report.requests_left_out,
        counted(report.masked, "secret"),
    )
}

fn plural(count: u64, noun: &str) -> String {
    match noun {
        "branch" | "search" if count != 1 => format!("{} {noun}es", crate::cli::output::number(count)),
        _ => counted(count, noun),
    }
}

fn print_problems(report: &BundleReport, io: &mut Io<'_>) {
    for problem in report.problems.iter().take(MOST_PROBLEMS) {
        io.note(&format!("problem in {}: {}", problem.place, problem.why));
    }
    if report.problems.len() > MOST_PROBLEMS {
        io.note(&format!("… and {} more (--json lists all)", report.problems.len() - MOST_PROBLEMS));
    }
}

fn name_of(file: &Path) -> String {
    if file == Path::new("-") { "Standard input".to_owned() } else { quoted_name(file) }
}

fn opened(file: &Path) -> Result<BufReader<File>, Failure> {
    let unreadable = |error: std::io::Error| Failure::user(format!("{} can't be read: {error}.", quoted_name(file)));
    File::open(file).map(BufReader::new).map_err(unreadable)
}
