//! The guard: a process of its own session that starts the command, takes in what the command leaves behind, and ends all
//! of it when the command ends, when the program asks for it or is gone, or when there are too many processes.
//! Not for: time limits and output (`tools::command::run`).

use super::{Orders, Report, Space, Stage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, wait};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long what is asked to end may take.
const GRACE: Duration = Duration::from_millis(500);
/// How long what a command leaves running may take to end.
const REST: Duration = Duration::from_millis(200);
/// How long ending everything may take at most.
const SWEEP: Duration = Duration::from_secs(8);

pub(crate) fn run(orders: Orders) -> Report {
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let processes = orders.processes;
    match start(orders) {
        Ok(guard) => guard.watch(ProcessCount::new(processes)),
        Err(why) => Report { failed: Some(why), ..Report::default() },
    }
}

/// Finds out whether a command can have the namespaces that are asked for, and what else it can have in them.
pub(crate) fn probe(mut orders: Orders) -> u8 {
    let tried = enter(&orders).and_then(|()| {
        orders.stage = Stage::Trial;
        let mut child = spawn(&orders, Stdio::null()).map_err(|error| error.to_string())?;
        child.wait().map_err(|error| error.to_string())
    });
    u8::from(!tried.is_ok_and(|status| status.success()))
}

fn start(mut orders: Orders) -> Result<Guard, String> {
    orders.stage = Stage::Inside;
    orders.priority = rustix::process::getpriority_process(None).unwrap_or(0);
    #[cfg(target_os = "linux")]
    {
        orders.threads = super::processes::threads_of(rustix::process::getuid().as_raw());
    }
    enter(&orders)?;
    let first = orders.need.space == Space::Whole;
    let told = |error: io::Error| error.to_string();
    let said = || io::stdout().as_fd().try_clone_to_owned();
    let mut child = spawn(&orders, if first { Stdio::piped() } else { said().map_err(told)?.into() }).map_err(told)?;
    let pid = Pid::from_child(&child);
    // Where this user may, the guard goes before what it guards.
    let _ = rustix::process::setpriority_process(None, -10);
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let wake = child.stderr.take().map_or_else(|| ends(pid), |words| Some(words.into()));
    Ok(Guard { child: pid, first, wake, report: Report::default(), ended: false })
}

#[cfg(target_os = "linux")]
fn enter(orders: &Orders) -> Result<(), String> {
    super::space::enter(orders, orders.need.space)
}

#[cfg(not(target_os = "linux"))]
fn enter(_: &Orders) -> Result<(), String> {
    Ok(())
}

/// What becomes readable when a process ends.
#[cfg(target_os = "linux")]
fn ends(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn ends(_: Pid) -> Option<OwnedFd> {
    None
}

/// This program anew, in a group of processes of its own, with its orders.
fn spawn(orders: &Orders, errors: Stdio) -> io::Result<Child> {
    let text = serde_json::to_string(orders)?;
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
    /// It is the first process of a namespace: it says how the shell ended, and with it all others end.
    first: bool,
    /// What becomes readable when the shell has ended, or the child.
    wake: Option<OwnedFd>,
    report: Report,
    /// The shell has ended.
    ended: bool,
}

impl Guard {
    fn watch(mut self, mut crowd: ProcessCount) -> Report {
        let mut stopping: Option<Instant> = None;
        loop {
            let asked = self.asked(stopping.is_none(), Duration::from_millis(10));
            self.reap();
            if self.ended {
                break;
            }
            if self.is_swarm(&mut crowd) {
                break;
            }
            match stopping {
                None if asked => {
                    self.signal(Signal::TERM);
                    stopping = Some(Instant::now());
                }
                Some(since) if since.elapsed() > GRACE => break,
                _ => {}
            }
        }
        let by_itself = self.ended && stopping.is_none();
        let rest = if by_itself && !self.is_swarm(&mut crowd) { self.living().len() } else { 0 };
        if rest > 0 {
            self.report.left = rest;
            self.signal(Signal::TERM);
            let since = Instant::now();
            while since.elapsed() < REST && !self.is_swarm(&mut crowd) && !self.living().is_empty() {
                self.asked(false, Duration::from_millis(5));
                self.reap();
            }
        }
        self.sweep();
        self.report
    }

    /// Whether there are too many; then the first blow is done at once.
    fn is_swarm(&mut self, crowd: &mut ProcessCount) -> bool {
        let swarm = self.report.swarm || crowd.is_too_large(self);
        if swarm && !self.report.swarm {
            self.report.swarm = true;
            self.signal(Signal::KILL);
        }
        swarm
    }

    /// The shell's group, while that number is nobody else's.
    fn group(&self) -> Option<Pid> {
        if self.first {
            // All others end with the first process of their namespace.
            return None;
        }
        let own = self.child.as_raw_nonzero().get();
        (!self.ended || self.living().iter().any(|(_, group)| *group == own)).then_some(self.child)
    }

    /// Everything that the command started, beneath this process, and that has not ended.
    fn living(&self) -> Vec<(Pid, i32)> {
        let mut all = living();
        all.retain(|(pid, _)| !self.first || *pid != self.child);
        all
    }

    /// Kills until nothing is left.
    fn sweep(&mut self) {
        let since = Instant::now();
        while since.elapsed() < SWEEP {
            self.signal(Signal::KILL);
            if !self.reap() {
                return;
            }
            self.asked(false, Duration::from_millis(2));
        }
    }

    /// To the shell's group in one go, so that nothing in it can outrun this, and to all others.
    fn signal(&self, signal: Signal) {
        if self.first && signal == Signal::KILL {
            // All others of its namespace end with it.
            let _ = kill_process(self.child, signal);
        }
        if let Some(group) = self.group() {
            let _ = kill_process_group(group, signal);
        }
        for (pid, _) in self.living() {
            let _ = kill_process(pid, signal);
        }
    }

    /// Takes in those that have ended. False: there is nobody left.
    fn reap(&mut self) -> bool {
        self.hear();
        // No more than so many at once: a swarm leaves more behind, faster than they can be taken in.
        for _ in 0..100 {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.child => {
                    self.hear();
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

    /// Takes in what the first process says of the shell's end: a line, written in one go.
    fn hear(&mut self) {
        let Some(words) = self.wake.as_ref().filter(|_| self.first) else { return };
        let mut on = [PollFd::new(words, PollFlags::IN)];
        if !matches!(poll(&mut on, Some(&Timespec::default())), Ok(count) if count > 0) {
            return;
        }
        let mut line = [0; 1_024];
        let count = rustix::io::read(words, &mut line).unwrap_or(0);
        match serde_json::from_slice::<Report>(line.get(..count).unwrap_or_default()) {
            Ok(report) => self.end(report.exit, report.signal),
            // It ends without a word; how, is seen when it is taken in.
            Err(_) => self.wake = None,
        }
    }

    /// Waits a little, or until something ends; whether the program has asked to stop, or is gone.
    fn asked(&self, listen: bool, most: Duration) -> bool {
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

/// Everything that descends from this process and has not ended.
#[cfg(target_os = "linux")]
fn living() -> Vec<(Pid, i32)> {
    super::processes::descendants(rustix::process::getpid())
}

#[cfg(not(target_os = "linux"))]
fn living() -> Vec<(Pid, i32)> {
    Vec::new()
}

/// Watches how many there are. Looking at all is dear, so it is done once a second, and at once when
/// the system has that many more than before.
struct ProcessCount {
    #[cfg(target_os = "linux")]
    most: usize,
    #[cfg(target_os = "linux")]
    before: usize,
    #[cfg(target_os = "linux")]
    looked: Instant,
}

#[cfg(target_os = "linux")]
impl ProcessCount {
    fn new(processes: u32) -> Self {
        let most = usize::try_from(processes).unwrap_or(usize::MAX);
        Self { most, before: super::processes::tasks().unwrap_or(0), looked: Instant::now() }
    }

    fn is_too_large(&mut self, guard: &Guard) -> bool {
        let now = super::processes::tasks();
        let more = now.is_some_and(|now| now > self.before + self.most);
        if !more && self.looked.elapsed() < Duration::from_secs(1) {
            return false;
        }
        // While they are counted they stand still, or there would be many more of them by then.
        let still = if more && !guard.ended { guard.group() } else { None };
        if let Some(group) = still {
            let _ = kill_process_group(group, Signal::STOP);
        }
        let too_many = guard.living().len() > self.most;
        if let Some(group) = still.filter(|_| !too_many) {
            let _ = kill_process_group(group, Signal::CONT);
        }
        self.looked = Instant::now();
        if more && !too_many {
            // Somebody else's.
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

    /// A process in a group of its own, which lives until its input ends.
    fn other() -> Child {
        let mut other = Command::new("cat");
        other.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0).spawn().unwrap()
    }

    fn guard(child: &Child, first: bool) -> Guard {
        let pid = Pid::from_child(child);
        Guard { child: pid, first, wake: ends(pid), report: Report::default(), ended: false }
    }

    #[test]
    fn the_group_is_signalled_while_it_is_the_commands() {
        let (mut one, mut two) = (other(), other());
        let mut guard = guard(&one, false);
        let own = Some(Pid::from_child(&one));
        assert_eq!(guard.group(), own, "the shell runs");
        guard.ended = true;
        assert_eq!(guard.group(), own, "something of it does");
        drop(one.stdin.take());
        assert!(one.wait().unwrap().success());
        assert_eq!(guard.group(), None, "its number may be another's by now");
        guard.ended = false;
        assert_eq!(guard.group(), own, "while it is not taken in, the number is its own");
        guard.first = true;
        assert_eq!(guard.group(), None, "all end with the first of a namespace");
        drop(two.stdin.take());
        two.wait().unwrap();
    }

    #[test]
    fn what_was_told_first_of_the_end_stays() {
        let mut child = other();
        let mut guard = guard(&child, true);
        assert!(guard.wake.is_some());
        guard.end(Some(3), None);
        assert!(guard.ended && guard.wake.is_none());
        // The first process of a namespace tells how the shell ended, and is killed then.
        guard.end(None, Some(9));
        assert_eq!((guard.report.exit, guard.report.signal), (Some(3), None));
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    /// The system has not so many more tasks than before: nobody is counted, and what was known of it stays.
    #[test]
    fn what_descends_is_counted_when_the_system_has_more_tasks_or_after_a_while() {
        let mut child = other();
        let mut guard = guard(&child, true);
        let tasks = super::super::processes::tasks().unwrap();
        let mut count = ProcessCount { most: 10, before: usize::MAX / 2, looked: Instant::now() };
        assert!(!count.is_too_large(&guard));
        assert_eq!(count.before, usize::MAX / 2, "nobody was counted");
        // Somebody else's: what is more is what there is now, with room for half as many as are allowed.
        let most = tasks.div_ceil(2);
        if most > 60 {
            let mut count = ProcessCount { most, before: 0, looked: Instant::now() };
            assert!(!count.is_too_large(&guard));
            assert!(count.before > 0 && count.before < 2 * tasks, "{} of {tasks}", count.before);
        }
        // It has a descendant at least: more than none.
        guard.first = false;
        let mut count = ProcessCount { most: 0, before: 0, looked: Instant::now() };
        assert!(count.is_too_large(&guard));
        let long_ago = Instant::now().checked_sub(Duration::from_secs(2));
        if let Some(looked) = long_ago {
            let mut count = ProcessCount { most: 0, before: usize::MAX / 2, looked };
            assert!(count.is_too_large(&guard), "now and then all are counted");
            assert!(count.looked > looked);
        }
        // It was told to stand still.
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
