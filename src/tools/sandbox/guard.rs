//! The guard: a process in a separate session that starts the command, reaps orphans, and ends every process of the
//! command. It does so when the command ends, when the program requests it or has ended, or when there are too many
//! processes.
//! Not for: time limits and output (`tools::command::run`).

use super::{Instructions, Namespaces, Report, Stage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, wait};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a process may take to end after it was asked to end.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);
/// How long processes that a command left running may take to end.
const LEFTOVER_TIMEOUT: Duration = Duration::from_millis(200);
/// The maximum time for ending all processes.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(8);

pub(crate) fn run(instructions: Instructions) -> Report {
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let processes = instructions.processes;
    match start(instructions) {
        Ok(guard) => guard.watch(ProcessCount::new(processes)),
        Err(why) => Report { failed: Some(why), ..Report::default() },
    }
}

/// Probes whether a command can have the requested namespaces, and which other protections it can have inside them.
pub(crate) fn probe(mut instructions: Instructions) -> u8 {
    let tried = enter(&instructions).and_then(|()| {
        instructions.stage = Stage::Trial;
        let mut child = spawn(&instructions, Stdio::null()).map_err(|error| error.to_string())?;
        child.wait().map_err(|error| error.to_string())
    });
    u8::from(!tried.is_ok_and(|status| status.success()))
}

fn start(mut instructions: Instructions) -> Result<Guard, String> {
    instructions.stage = Stage::Confined;
    instructions.priority = rustix::process::getpriority_process(None).unwrap_or(0);
    #[cfg(target_os = "linux")]
    {
        instructions.threads = super::processes::threads_of(rustix::process::getuid().as_raw());
    }
    enter(&instructions)?;
    let first = instructions.need.namespaces == Namespaces::Full;
    let to_text = |error: io::Error| error.to_string();
    let shell_output = || io::stdout().as_fd().try_clone_to_owned();
    let mut child = spawn(&instructions, if first { Stdio::piped() } else { shell_output().map_err(to_text)?.into() })
        .map_err(to_text)?;
    let pid = Pid::from_child(&child);
    // Give the guard a higher priority than the command, if the user may do that.
    let _ = rustix::process::setpriority_process(None, -10);
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let wake = child.stderr.take().map_or_else(|| end_signal(pid), |report_pipe| Some(report_pipe.into()));
    Ok(Guard { child: pid, first, wake, report: Report::default(), ended: false })
}

#[cfg(target_os = "linux")]
fn enter(instructions: &Instructions) -> Result<(), String> {
    super::namespaces::enter(instructions, instructions.need.namespaces)
}

#[cfg(not(target_os = "linux"))]
fn enter(_: &Instructions) -> Result<(), String> {
    Ok(())
}

/// Returns a descriptor that becomes readable when the process ends.
#[cfg(target_os = "linux")]
fn end_signal(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_signal(_: Pid) -> Option<OwnedFd> {
    None
}

/// Starts this program again, in a separate process group and with its instructions.
fn spawn(instructions: &Instructions, errors: Stdio) -> io::Result<Child> {
    let text = serde_json::to_string(instructions)?;
    let mut child = Command::new(super::this_program()?)
        .arg(super::ARGUMENT)
        .stdin(Stdio::piped())
        .stdout(Stdio::inherit())
        .stderr(errors)
        .process_group(0)
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        writeln!(input, "{text}")?;
    }
    Ok(child)
}

struct Guard {
    /// The shell, or the first process of its namespace.
    child: Pid,
    /// Whether the child is the first process of a namespace. In that case, it reports how the shell ended, and all
    /// other processes end with it.
    first: bool,
    /// Becomes readable when the shell or the child has ended.
    wake: Option<OwnedFd>,
    report: Report,
    /// Whether the shell has ended.
    ended: bool,
}

impl Guard {
    fn watch(mut self, mut count: ProcessCount) -> Report {
        let mut stopping: Option<Instant> = None;
        loop {
            let stop_requested = self.stop_requested(stopping.is_none(), Duration::from_millis(10));
            self.reap();
            if self.ended {
                break;
            }
            if self.has_too_many(&mut count) {
                break;
            }
            match stopping {
                None if stop_requested => {
                    self.signal(Signal::TERM);
                    stopping = Some(Instant::now());
                }
                Some(since) if since.elapsed() > STOP_TIMEOUT => break,
                _ => {}
            }
        }
        let by_itself = self.ended && stopping.is_none();
        let rest = if by_itself && !self.has_too_many(&mut count) { self.living().len() } else { 0 };
        if rest > 0 {
            self.report.left = rest;
            self.signal(Signal::TERM);
            let since = Instant::now();
            while since.elapsed() < LEFTOVER_TIMEOUT && !self.has_too_many(&mut count) && !self.living().is_empty() {
                self.stop_requested(false, Duration::from_millis(5));
                self.reap();
            }
        }
        self.sweep();
        self.report
    }

    /// Whether there are too many processes. If so, starts to kill them immediately.
    fn has_too_many(&mut self, count: &mut ProcessCount) -> bool {
        let too_many = self.report.too_many || count.is_too_large(self);
        if too_many && !self.report.too_many {
            self.report.too_many = true;
            self.signal(Signal::KILL);
        }
        too_many
    }

    /// Returns the shell's process group, unless its number may be in use by another process.
    fn group(&self) -> Option<Pid> {
        if self.first {
            // All other processes end with the first process of their namespace.
            return None;
        }
        let own = self.child.as_raw_nonzero().get();
        (!self.ended || self.living().iter().any(|(_, group)| *group == own)).then_some(self.child)
    }

    /// Returns all living descendants of this process, each with its group.
    fn living(&self) -> Vec<(Pid, i32)> {
        let mut all = living();
        all.retain(|(pid, _)| !self.first || *pid != self.child);
        all
    }

    /// Kills processes until none is left.
    fn sweep(&mut self) {
        let since = Instant::now();
        while since.elapsed() < SWEEP_TIMEOUT {
            self.signal(Signal::KILL);
            if !self.reap() {
                return;
            }
            self.stop_requested(false, Duration::from_millis(2));
        }
    }

    /// Signals the shell's whole group in one call, so that no process in it can escape the signal, and then all other
    /// processes.
    fn signal(&self, signal: Signal) {
        if self.first && signal == Signal::KILL {
            // All other processes of its namespace end with it.
            let _ = kill_process(self.child, signal);
        }
        if let Some(group) = self.group() {
            let _ = kill_process_group(group, signal);
        }
        for (pid, _) in self.living() {
            let _ = kill_process(pid, signal);
        }
    }

    /// Reaps processes that have ended. Returns false if no process is left.
    fn reap(&mut self) -> bool {
        self.read_first_report();
        // Each round is limited, because a fork bomb can create processes faster than they can be reaped.
        for _ in 0..100 {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.child => {
                    self.read_first_report();
                    self.end(status.exit_status(), status.terminating_signal());
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        true
    }

    fn end(&mut self, exit: Option<i32>, signal: Option<i32>) {
        if !self.ended {
            self.ended = true;
            self.report.exit = exit;
            self.report.signal = signal;
        }
        self.wake = None;
    }

    /// Reads the first process's report of how the shell ended: one line in a single write.
    fn read_first_report(&mut self) {
        let Some(report_pipe) = self.wake.as_ref().filter(|_| self.first) else { return };
        let mut on = [PollFd::new(report_pipe, PollFlags::IN)];
        if !matches!(poll(&mut on, Some(&Timespec::default())), Ok(count) if count > 0) {
            return;
        }
        let mut line = [0; 1_024];
        let count = rustix::io::read(report_pipe, &mut line).unwrap_or(0);
        match serde_json::from_slice::<Report>(line.get(..count).unwrap_or_default()) {
            Ok(report) => self.end(report.exit, report.signal),
            // The process ends without a report. Reaping it tells how it ended.
            Err(_) => self.wake = None,
        }
    }

    /// Waits briefly, or until a process ends. Returns whether the program has asked the guard to stop, or has ended.
    fn stop_requested(&self, listen: bool, most: Duration) -> bool {
        let input = io::stdin();
        let mut on: Vec<PollFd<'_>> = self.wake.iter().map(|wake| PollFd::new(wake, PollFlags::IN)).collect();
        if listen {
            on.push(PollFd::new(&input, PollFlags::IN));
        }
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(most.subsec_nanos()) };
        matches!(poll(&mut on, Some(&time)), Ok(count) if count > 0)
            && listen
            && on.last().is_some_and(|input| !input.revents().is_empty())
    }
}

/// Returns all living descendants of this process, each with its group.
#[cfg(target_os = "linux")]
fn living() -> Vec<(Pid, i32)> {
    super::processes::descendants(rustix::process::getpid())
}

#[cfg(not(target_os = "linux"))]
fn living() -> Vec<(Pid, i32)> {
    Vec::new()
}

/// Watches the number of processes. Counting them is expensive, so they are counted once a second, and immediately when
/// the system's number of tasks has grown by more than the limit.
struct ProcessCount {
    #[cfg(target_os = "linux")]
    most: usize,
    #[cfg(target_os = "linux")]
    before: usize,
    #[cfg(target_os = "linux")]
    counted_at: Instant,
}

#[cfg(target_os = "linux")]
impl ProcessCount {
    fn new(processes: u32) -> Self {
        let most = usize::try_from(processes).unwrap_or(usize::MAX);
        Self { most, before: super::processes::tasks().unwrap_or(0), counted_at: Instant::now() }
    }

    fn is_too_large(&mut self, guard: &Guard) -> bool {
        let now = super::processes::tasks();
        let more = now.is_some_and(|now| now > self.before + self.most);
        if !more && self.counted_at.elapsed() < Duration::from_secs(1) {
            return false;
        }
        // Stop the group while counting. Otherwise it would continue to grow.
        let stopped = if more && !guard.ended { guard.group() } else { None };
        if let Some(group) = stopped {
            let _ = kill_process_group(group, Signal::STOP);
        }
        let too_many = guard.living().len() > self.most;
        if let Some(group) = stopped.filter(|_| !too_many) {
            let _ = kill_process_group(group, Signal::CONT);
        }
        self.counted_at = Instant::now();
        if more && !too_many {
            // The new tasks belong to other programs.
            self.before = now.unwrap_or(0).saturating_sub(self.most / 2);
        }
        too_many
    }
}

#[cfg(not(target_os = "linux"))]
impl ProcessCount {
    fn new(_: u32) -> Self {
        Self {}
    }

    fn is_too_large(&mut self, _: &Guard) -> bool {
        false
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// Starts a process in a separate group that lives until its input closes.
    fn other() -> Child {
        let mut other = Command::new("cat");
        other.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0).spawn().unwrap()
    }

    fn guard(child: &Child, first: bool) -> Guard {
        let pid = Pid::from_child(child);
        Guard { child: pid, first, wake: end_signal(pid), report: Report::default(), ended: false }
    }

    #[test]
    fn group_is_signaled_only_while_it_belongs_to_the_command() {
        let (mut one, mut two) = (other(), other());
        let mut guard = guard(&one, false);
        let own = Some(Pid::from_child(&one));
        assert_eq!(guard.group(), own, "the shell is running");
        guard.ended = true;
        assert_eq!(guard.group(), own, "a process of the group is running");
        drop(one.stdin.take());
        assert!(one.wait().unwrap().success());
        assert_eq!(guard.group(), None, "another process may have the number by now");
        guard.ended = false;
        assert_eq!(guard.group(), own, "an unreaped process keeps its number");
        guard.first = true;
        assert_eq!(guard.group(), None, "all processes end with the first of a namespace");
        drop(two.stdin.take());
        two.wait().unwrap();
    }

    #[test]
    fn first_reported_end_is_kept() {
        let mut child = other();
        let mut guard = guard(&child, true);
        assert!(guard.wake.is_some());
        guard.end(Some(3), None);
        assert!(guard.ended && guard.wake.is_none());
        // The first process of a namespace reports how the shell ended and is then killed.
        guard.end(None, Some(9));
        assert_eq!((guard.report.exit, guard.report.signal), (Some(3), None));
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    /// While the system's number of tasks has not grown by the limit, nothing is counted, and the baseline stays.
    #[test]
    fn descendants_are_counted_when_tasks_grow_or_after_a_second() {
        let mut child = other();
        let mut guard = guard(&child, true);
        let tasks = super::super::processes::tasks().unwrap();
        let mut count = ProcessCount { most: 10, before: usize::MAX / 2, counted_at: Instant::now() };
        assert!(!count.is_too_large(&guard));
        assert_eq!(count.before, usize::MAX / 2, "nothing was counted");
        // The tasks belong to other programs: the new baseline is the current number minus half the limit.
        let most = tasks.div_ceil(2);
        if most > 60 {
            let mut count = ProcessCount { most, before: 0, counted_at: Instant::now() };
            assert!(!count.is_too_large(&guard));
            assert!(count.before > 0 && count.before < 2 * tasks, "{} of {tasks}", count.before);
        }
        // The test process has at least one descendant, which exceeds a limit of 0.
        guard.first = false;
        let mut count = ProcessCount { most: 0, before: 0, counted_at: Instant::now() };
        assert!(count.is_too_large(&guard));
        let long_ago = Instant::now().checked_sub(Duration::from_secs(2));
        if let Some(counted_at) = long_ago {
            let mut count = ProcessCount { most: 0, before: usize::MAX / 2, counted_at };
            assert!(count.is_too_large(&guard), "counted again after a second");
            assert!(count.counted_at > counted_at);
        }
        // The child was stopped.
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
