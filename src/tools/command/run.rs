//! `run`: runs a shell command in the workspace with a time limit, confined by all protections that the system offers,
//! and reports its output while it runs.
//! Not for: the sandbox itself (`sandbox`).

use super::output::{OutputBuffer, OutputPieces};
use super::scratch::Scratch;
use super::{credentials, environment, protection};
use crate::domain::tool::{Command, ShortenedResult, ToolObserver, ToolOutcome, ToolOutput, ToolStatus};
use crate::tools::args::{Args, beneath};
use crate::tools::effects::EffectTools;
use crate::tools::sandbox::{self, Instructions, Namespaces, Protections, Report, Stage};
use crate::tools::{ToolFailure, Workspace, failed, path_text, shown, stop};
use cap_std::fs::MetadataExt as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::fs;
use std::io::{self, PipeReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The maximum length of a command line in bytes.
const MAX_LINE_BYTES: usize = 32 << 10;
/// The interval at which the loop checks whether to stop.
const TICK: Duration = Duration::from_millis(20);
/// How long the guard may take to stop, and how long the output may stay open after the guard has ended.
const STOP_TIMEOUT: Duration = Duration::from_secs(12);
const DRAIN_TIMEOUT: Duration = Duration::from_millis(300);

/// Returns the command that a call asks for. Runs nothing.
pub(crate) fn prepare(space: &Workspace, args: &Args) -> Result<Command, ToolFailure> {
    let effects = effects(space)?;
    let line = command_line(args)?;
    let folder = args.path_named("folder")?;
    if !folder.as_os_str().is_empty() {
        let meta = space.root.metadata(&folder).map_err(|error| stop(&folder, &error))?;
        if !meta.is_dir() {
            return Err(ToolFailure::Failed(format!("{} is not a folder.", shown(&folder))));
        }
    }
    refuse_own_files(effects)?;
    let most = effects.options.seconds.max(1);
    let seconds = args.number("seconds")?.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX));
    let seconds = seconds.unwrap_or(effects.options.usual).clamp(1, most);
    let protections = protections(effects)?;
    let protection = protection::describe(effects, protections);
    let mechanisms = Some(protection::mechanisms(protections));
    Ok(Command { line: line.to_owned(), folder: path_text(&folder), seconds, protection, mechanisms })
}

fn command_line(args: &Args) -> Result<&str, ToolFailure> {
    let line = args.needed("line")?;
    if line.contains('\0') {
        return Err(ToolFailure::Refused("The command line contains a NUL.".into()));
    }
    if line.len() > MAX_LINE_BYTES {
        let what = format!("The command line is longer than {} KB; write a script.", MAX_LINE_BYTES >> 10);
        return Err(ToolFailure::Failed(what));
    }
    Ok(line)
}

fn effects(space: &Workspace) -> Result<&EffectTools, ToolFailure> {
    space.effects.as_ref().ok_or_else(|| ToolFailure::Failed("There is no tool \"run\" here.".into()))
}

/// Refuses to run if the workspace contains this program's own files, or if `HOME` is a relative path. The sandbox can
/// hide neither a part of a writable folder nor a home folder whose path is unknown.
fn refuse_own_files(effects: &EffectTools) -> Result<(), ToolFailure> {
    if let Some(home) = std::env::var_os("HOME").filter(|home| !home.is_empty() && !Path::new(home).is_absolute()) {
        return Err(ToolFailure::Refused(format!(
            "Commands are not run while HOME is a relative path ({}): pleach would not know what to hide. Set \
                HOME to the full path of the home folder.",
            shown(Path::new(&home))
        )));
    }
    let own = effects.options.hidden.iter().filter_map(|path| path.canonicalize().ok());
    match own.into_iter().find(|own| own.starts_with(&effects.root)) {
        Some(own) => Err(ToolFailure::Refused(format!(
            "Commands are not run in a folder with pleach's own files ({}).",
            shown(&own)
        ))),
        None => Ok(()),
    }
}

/// Returns the protections that this system offers. They are probed once, in a child process.
fn protections(effects: &EffectTools) -> Result<Protections, ToolFailure> {
    effects.protections.get_or_init(|| probe(effects)).clone().map_err(ToolFailure::Failed)
}

fn probe(effects: &EffectTools) -> Result<Protections, String> {
    let most = if cfg!(target_os = "linux") { [Namespaces::Full, Namespaces::Mounts].as_slice() } else { &[] };
    // Try the strongest isolation first.
    most.iter()
        .find_map(|namespaces| probe_namespaces(effects, *namespaces).ok())
        .map_or_else(|| probe_namespaces(effects, Namespaces::None), Ok)
}

/// Returns the protections that a command would have with these namespaces.
fn probe_namespaces(effects: &EffectTools, namespaces: Namespaces) -> Result<Protections, String> {
    let fail = |error: &dyn std::fmt::Display| format!("Commands can't be confined here: {error}. Nothing was run.");
    let instructions = instructions(effects, Stage::Probe, Protections { namespaces, ..Protections::default() });
    let mut child = program(effects)
        .and_then(|program| {
            std::process::Command::new(program)
                .arg(sandbox::ARGUMENT)
                .env_clear()
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
        })
        .map_err(|error| fail(&error))?;
    if let Some(mut input) = child.stdin.take() {
        let _ = send(&mut input, &instructions);
    }
    let output = child.wait_with_output().map_err(|error| fail(&error))?;
    serde_json::from_slice(&output.stdout).map_err(|_| fail(&"the program does not answer its own call"))
}

fn program(effects: &EffectTools) -> io::Result<PathBuf> {
    effects.options.program.clone().map_or_else(sandbox::this_program, Ok)
}

fn send(input: &mut ChildStdin, instructions: &Instructions) -> io::Result<()> {
    let text = serde_json::to_string(instructions)?;
    input.write_all(format!("{text}\n").as_bytes())?;
    input.flush()
}

fn instructions(effects: &EffectTools, stage: Stage, need: Protections) -> Instructions {
    let names = |paths: &[PathBuf]| paths.iter().map(|path| path.clone().into_os_string()).collect();
    Instructions {
        stage,
        root: effects.root.clone().into_os_string(),
        network: effects.options.network,
        writable: names(&effects.options.writable),
        readable: names(&effects.options.readable),
        hidden: names(&effects.options.hidden),
        processes: effects.options.processes,
        need,
        ..Instructions::default()
    }
}

/// Writes copies of settings without credentials. Returns each copy with the file that it replaces.
fn covers(settings: &Path) -> io::Result<Vec<(OsString, OsString)>> {
    let clean = credentials::copies().into_iter().enumerate().map(|(number, (path, text))| {
        let copy = settings.join(format!("copy-{number}"));
        write_if_changed(&copy, &text)?;
        Ok((copy.into_os_string(), path.into_os_string()))
    });
    clean.collect()
}

/// Writes a file unless it already has this text, because running commands may be reading it.
fn write_if_changed(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|now| now == text) {
        return Ok(());
    }
    let new = path.with_extension(format!("{}.new", uuid::Uuid::now_v7().simple()));
    fs::write(&new, text)?;
    fs::rename(new, path)
}

/// Why a command was stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndReason {
    Cancelled,
    TimeUp,
}

/// Runs a command until it ends.
pub(crate) fn carry_out(space: &Workspace, command: &Command, watch: &dyn ToolObserver) -> ToolOutcome {
    match Running::start(space, command) {
        Err(error) => ToolOutcome::unchanged(failed(error)),
        Ok(running) => {
            let keep = space.effects.as_ref().map_or(0, |effects| effects.options.keep);
            running.listen((space.limit, keep), command.seconds, watch)
        }
    }
}

/// A running command.
struct Running {
    guard: Child,
    /// The command runs while this pipe is open.
    hold: Option<ChildStdin>,
    output: PipeReader,
    report: Option<ChildStderr>,
    /// Keeps the scratch folder while the command runs.
    _scratch: Arc<Scratch>,
}

impl Running {
    fn start(space: &Workspace, command: &Command) -> Result<Self, ToolFailure> {
        let effects = effects(space)?;
        refuse_own_files(effects)?;
        beneath(&command.folder)?;
        let protections = protections(effects)?;
        Self::spawn(space, effects, command, protections).map_err(|error| {
            ToolFailure::Failed(format!("The command could not be started: {error}. Nothing was run."))
        })
    }

    fn spawn(
        space: &Workspace,
        effects: &EffectTools,
        command: &Command,
        protections: Protections,
    ) -> io::Result<Self> {
        let scratch = effects.scratch()?;
        let meta = space.root.dir_metadata()?;
        let settings = scratch.settings();
        let git = settings.join("gitconfig");
        write_if_changed(&git, &credentials::of_git())?;
        let instructions = Instructions {
            covers: covers(&settings)?,
            line: command.line.clone(),
            identity: (meta.dev(), meta.ino()),
            folder: command.folder.clone().into(),
            ..instructions(effects, Stage::Guard, protections)
        };
        let (output, input) = io::pipe()?;
        let mut guard = std::process::Command::new(program(effects)?)
            .arg(sandbox::ARGUMENT)
            .env_clear()
            .envs(environment::filtered(std::env::vars_os(), &scratch.temporary(), &git))
            .current_dir(Path::new("/"))
            .stdin(Stdio::piped())
            .stdout(input)
            .stderr(Stdio::piped())
            .spawn()?;
        let mut hold = guard.stdin.take();
        let report = guard.stderr.take();
        if let Some(hold) = &mut hold {
            send(hold, &instructions)?;
        }
        Ok(Self { guard, hold, output, report, _scratch: scratch })
    }

    fn listen(mut self, (limit, keep): (usize, usize), seconds: u32, watch: &dyn ToolObserver) -> ToolOutcome {
        let say = |text: &str| watch.on_output(text);
        let (mut collected, mut pieces) = (OutputBuffer::new(limit), OutputPieces::new(&say));
        let kept_as = watch.full_result_path().filter(|_| keep > limit);
        let mut whole = kept_as.as_ref().map(|_| OutputBuffer::new(keep));
        let (start, mut ended, mut stop_sent) = (Instant::now(), None, None::<Instant>);
        let (mut buffer, mut open, mut exited) = (vec![0; 64 << 10], true, None::<Instant>);
        loop {
            if self.ready(open) && open {
                match self.output.read(&mut buffer) {
                    Ok(0) => open = false,
                    Ok(count) => {
                        let bytes = buffer.get(..count).unwrap_or_default();
                        collected.push(bytes);
                        if let Some(whole) = &mut whole {
                            whole.push(bytes);
                        }
                        pieces.push(bytes);
                        exited = exited.map(|_| Instant::now());
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => open = false,
                }
            }
            pieces.tick();
            if ended.is_none() {
                let up = start.elapsed() >= Duration::from_secs(seconds.into());
                ended = if watch.cancelled() { Some(EndReason::Cancelled) } else { up.then_some(EndReason::TimeUp) };
            }
            if ended.is_some() && stop_sent.is_none() {
                // Closing the pipe tells the guard to stop the command.
                self.hold = None;
                stop_sent = Some(Instant::now());
            }
            if stop_sent.is_some_and(|sent| sent.elapsed() > STOP_TIMEOUT) {
                let _ = self.guard.kill();
            }
            if exited.is_none() && !matches!(self.guard.try_wait(), Ok(None)) {
                exited = Some(Instant::now());
            }
            // A process that escaped may hold the output open.
            if exited.is_some_and(|exited| !open || exited.elapsed() > DRAIN_TIMEOUT) {
                break;
            }
        }
        pieces.flush(true);
        let report = self.read_report();
        answer(collected, whole.zip(kept_as), (ended, seconds), report)
    }

    /// Waits briefly for output, or after the output was closed for the guard's report.
    fn ready(&self, open: bool) -> bool {
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
        let from = if open { Some(PollFd::new(&self.output, PollFlags::IN)) } else { None };
        let mut on: Vec<PollFd<'_>> =
            from.or_else(|| Some(PollFd::new(self.report.as_ref()?, PollFlags::IN))).into_iter().collect();
        matches!(poll(&mut on, Some(&time)), Ok(count) if count > 0)
    }

    fn read_report(&mut self) -> Option<Report> {
        let mut text = String::new();
        self.report.take()?.take(64 << 10).read_to_string(&mut text).ok()?;
        text.lines().find_map(|line| serde_json::from_str(line).ok())
    }
}

/// Makes the result: the first line says how the command ended, followed by the output.
fn answer(
    collected: OutputBuffer,
    whole: Option<(OutputBuffer, String)>,
    (ended, seconds): (Option<EndReason>, u32),
    report: Option<Report>,
) -> ToolOutcome {
    let known = report.is_some();
    let report = report.unwrap_or_default();
    let (status, how) = match (ended, &report) {
        (Some(EndReason::Cancelled), _) => (ToolStatus::Cancelled, "stopped by the user".to_owned()),
        (Some(EndReason::TimeUp), _) => (ToolStatus::Failed, format!("stopped after {seconds} s, its time limit")),
        (None, Report { too_many: true, .. }) => (ToolStatus::Failed, "stopped: too many processes".to_owned()),
        (None, Report { failed: Some(why), .. }) => (ToolStatus::Failed, format!("not run: {why}")),
        (None, Report { exit: Some(code), .. }) => {
            (if *code == 0 { ToolStatus::Ok } else { ToolStatus::Failed }, format!("exit {code}"))
        }
        (None, Report { signal: Some(signal), .. }) => (ToolStatus::Failed, format!("terminated by signal {signal}")),
        _ if known => (ToolStatus::Failed, "ended for an unknown reason".to_owned()),
        _ => (ToolStatus::Failed, "its guard process was ended; some of its processes may still run".to_owned()),
    };
    let exit = report.exit.filter(|_| ended.is_none() && !report.too_many);
    let mut body = format!("[{how}");
    match report.left {
        0 => {}
        1 => body.push_str("; a process that it left running was ended"),
        _ => body.push_str("; processes that it left running were ended"),
    }
    let total = collected.total();
    if total == 0 {
        body.push_str("; no output");
    }
    body.push_str("]\n");
    let before = body.len() as u64;
    let (text, cut) = shown_text(&body, collected, whole);
    body.push_str(&text);
    let full_bytes = (before + total).max(body.len() as u64);
    ToolOutcome { output: ToolOutput { status, body, full_bytes }, changed: Vec::new(), exit, cut }
}

/// Returns the text for the model, and how to read the part that was cut.
fn shown_text(
    first: &str,
    collected: OutputBuffer,
    whole: Option<(OutputBuffer, String)>,
) -> (String, Option<ShortenedResult>) {
    let again = "were not kept; run the command again through grep, head, or tail to see them";
    if !collected.is_cut() {
        return (collected.text(again), None);
    }
    let Some((whole, path)) = whole else {
        return (
            collected.text(again),
            Some(ShortenedResult { back: "run the command again through grep, head, or tail".into(), full: None }),
        );
    };
    let parts = if whole.is_cut() { " except its middle" } else { "" };
    let rest = format!(
        "are not shown; read_file (start_line, lines) and search take {path:?} as path: all of it is kept{parts}"
    );
    let back = format!("read_file or search with path {path}");
    (collected.text(&rest), Some(ShortenedResult { back, full: Some(format!("{first}{}", whole.text(again))) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::visibility::FileVisibility;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn command_lines_are_bounded_and_hold_no_nul() {
        for (line, fine) in [
            ("true".to_owned(), true),
            ("x".repeat(MAX_LINE_BYTES), true),
            ("x".repeat(MAX_LINE_BYTES + 1), false),
            ("a\0b".into(), false),
        ] {
            let args = Args::parse(&serde_json::json!({ "line": line }).to_string()).ok().unwrap();
            assert_eq!(command_line(&args).is_ok(), fine, "{} bytes", line.len());
        }
    }

    fn collected(limit: usize, text: &str) -> OutputBuffer {
        let mut collected = OutputBuffer::new(limit);
        collected.push(text.as_bytes());
        collected
    }

    fn first_line(ended: Option<EndReason>, report: Option<Report>, text: &str) -> (ToolStatus, String, Option<i32>) {
        let done = answer(collected(400, text), None, (ended, 9), report);
        let first = done.output.body.lines().next().unwrap_or_default().to_owned();
        assert_eq!(done.output.full_bytes, done.output.body.len() as u64);
        assert_eq!(done.output.body[first.len() + 1..], *text);
        (done.output.status, first, done.exit)
    }

    /// Holds the output open, and closes it after many polls.
    struct OutputHolder {
        held: Mutex<Option<io::PipeWriter>>,
        polls: AtomicUsize,
    }

    impl ToolObserver for OutputHolder {
        fn cancelled(&self) -> bool {
            if self.polls.fetch_add(1, Ordering::Relaxed) == 200 {
                *self.held.lock().unwrap() = None;
            }
            false
        }

        fn file_visibility(&self) -> FileVisibility {
            FileVisibility::default()
        }
    }

    #[test]
    fn output_that_an_escaped_process_holds_open_is_not_awaited() {
        let (output, held) = io::pipe().unwrap();
        let mut guard = std::process::Command::new("true").spawn().unwrap();
        guard.wait().unwrap();
        let scratch = Arc::new(Scratch::new().unwrap());
        let watch = OutputHolder { held: Mutex::new(Some(held)), polls: AtomicUsize::new(0) };
        let running = Running { guard, hold: None, output, report: None, _scratch: scratch };
        running.listen((400, 0), 1_000, &watch);
        assert!(watch.held.lock().unwrap().is_some());
    }

    #[test]
    fn first_line_says_how_the_command_ended() {
        use ToolStatus::{Cancelled, Failed, Ok};
        let exit = |code| Report { exit: Some(code), ..Report::default() };
        for (ended, report, status, line, code) in [
            (None, Some(exit(0)), Ok, "[exit 0]", Some(0)),
            (None, Some(exit(3)), Failed, "[exit 3]", Some(3)),
            (None, Some(Report { signal: Some(9), ..Report::default() }), Failed, "[terminated by signal 9]", None),
            (None, Some(Report { too_many: true, ..exit(0) }), Failed, "[stopped: too many processes]", None),
            (None, Some(Report { failed: Some("no shell".into()), ..exit(1) }), Failed, "[not run: no shell]", Some(1)),
            (None, Some(Report::default()), Failed, "[ended for an unknown reason]", None),
            (None, None, Failed, "[its guard process was ended; some of its processes may still run]", None),
            (Some(EndReason::Cancelled), Some(exit(0)), Cancelled, "[stopped by the user]", None),
            (Some(EndReason::TimeUp), Some(exit(0)), Failed, "[stopped after 9 s, its time limit]", None),
            (Some(EndReason::TimeUp), None, Failed, "[stopped after 9 s, its time limit]", None),
            (
                None,
                Some(Report { left: 1, ..exit(0) }),
                Ok,
                "[exit 0; a process that it left running was ended]",
                Some(0),
            ),
            (
                None,
                Some(Report { left: 2, ..exit(0) }),
                Ok,
                "[exit 0; processes that it left running were ended]",
                Some(0),
            ),
        ] {
            assert_eq!(first_line(ended, report.clone(), "said\n"), (status, line.to_owned(), code), "{report:?}");
            let quiet = line.replace(']', "; no output]");
            assert_eq!(first_line(ended, report, "").1, quiet);
        }
    }

    #[test]
    fn cut_output_names_where_the_rest_is() {
        let text: String = std::iter::repeat_n("0123456789\n", 60).collect();
        let exit = || Some(Report { exit: Some(0), ..Report::default() });
        let all = answer(collected(2 * text.len(), &text), None, (None, 9), exit());
        assert_eq!((all.cut, all.output.body), (None, format!("[exit 0]\n{text}")));
        let lost = answer(collected(200, &text), None, (None, 9), exit());
        let body = &lost.output.body;
        assert!(
            body.contains(
                "were not kept; run the command again through grep, head, or tail to see \
            them"
            ),
            "{body}"
        );
        assert_eq!(lost.output.full_bytes, 9 + 660);
        let again = "run the command again through grep, head, or tail";
        assert_eq!(lost.cut, Some(ShortenedResult { back: again.into(), full: None }));
        let path = || "output:1".to_owned();
        let kept = answer(collected(200, &text), Some((collected(2_000, &text), path())), (None, 9), exit());
        assert!(kept.output.body.contains("take \"output:1\" as path: all of it is kept]"), "{}", kept.output.body);
        let full = Some(format!("[exit 0]\n{text}"));
        assert_eq!(kept.cut, Some(ShortenedResult { back: "read_file or search with path output:1".into(), full }));
        let partly = answer(collected(200, &text), Some((collected(400, &text), path())), (None, 9), exit());
        assert!(partly.output.body.contains("all of it is kept except its middle]"), "{}", partly.output.body);
        assert!(partly.cut.unwrap().full.unwrap().contains("were not kept; run the command again"));
        let short = answer(collected(200, "short"), Some((collected(400, "short"), path())), (None, 9), exit());
        assert_eq!((short.cut, short.output.body.as_str()), (None, "[exit 0]\nshort"));
    }

    #[test]
    fn unchanged_file_is_not_rewritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy-1");
        let number = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(&path).unwrap());
        write_if_changed(&path, "one").unwrap();
        let first = fs::File::open(&path).unwrap();
        let before = number();
        write_if_changed(&path, "one").unwrap();
        assert_eq!(number(), before, "not rewritten");
        write_if_changed(&path, "two").unwrap();
        assert_ne!(number(), before, "replaced by another file");
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(io::read_to_string(first).unwrap(), "one", "an open file keeps its content");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }
}
