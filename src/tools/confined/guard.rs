//! The guard: a process of its own session that starts the command, takes in what the command leaves behind, and ends all
//! of it when the command ends, when the program asks for it or is gone, or when there are too many processes.
//! Not for: time limits and output (`tools::command`).

use super::{Orders, Report, Stage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, wait};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long what is asked to end may take.
const GRACE: Duration = Duration::from_millis(500);
/// How long what a command leaves running may take to end.
const REST: Duration = Duration::from_millis(200);
/// How long ending everything may take at most.
const SWEEP: Duration = Duration::from_secs(8);

pub(super) fn run(orders: Orders) -> Report {
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let processes = orders.processes;
    match start(orders) {
        Ok(shell) => Guard::new(shell, processes).watch(),
        Err(error) => Report { failed: Some(error.to_string()), ..Report::default() },
    }
}

fn start(mut orders: Orders) -> io::Result<Pid> {
    orders.stage = Stage::Inside;
    orders.priority = rustix::process::getpriority_process(None).unwrap_or(0);
    let text = serde_json::to_string(&orders)?;
    let mut child = Command::new(super::this_program()?)
        .arg(super::ARGUMENT)
        .stdin(Stdio::piped())
        .stdout(Stdio::inherit())
        .stderr(io::stdout().as_fd().try_clone_to_owned()?)
        .process_group(0)
        .spawn()?;
    let shell = Pid::from_child(&child);
    if let Some(mut input) = child.stdin.take() {
        writeln!(input, "{text}")?;
    }
    // Where this user may, the guard goes before what it guards.
    let _ = rustix::process::setpriority_process(None, -10);
    Ok(shell)
}

struct Guard {
    shell: Pid,
    report: Report,
    /// The shell has ended.
    ended: bool,
    crowd: Crowd,
}

impl Guard {
    fn new(shell: Pid, processes: u32) -> Self {
        Self { shell, report: Report::default(), ended: false, crowd: Crowd::new(processes) }
    }

    fn watch(mut self) -> Report {
        let mut stopping: Option<Instant> = None;
        loop {
            let asked = asked(stopping.is_none(), Duration::from_millis(10));
            self.reap();
            if self.ended {
                break;
            }
            if self.is_swarm() {
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
        let rest = if by_itself && !self.is_swarm() { living().len() } else { 0 };
        if rest > 0 {
            self.report.left = rest;
            self.signal(Signal::TERM);
            let since = Instant::now();
            while since.elapsed() < REST && !self.is_swarm() && !living().is_empty() {
                asked(false, Duration::from_millis(5));
                self.reap();
            }
        }
        self.sweep();
        self.report
    }

    /// Whether there are too many; then the first blow is done at once.
    fn is_swarm(&mut self) -> bool {
        let swarm = self.report.swarm || self.crowd.is_too_large(self.shell, self.ended);
        if swarm && !self.report.swarm {
            self.report.swarm = true;
            self.signal(Signal::KILL);
        }
        swarm
    }

    /// Kills until nothing is left.
    fn sweep(&mut self) {
        let since = Instant::now();
        while since.elapsed() < SWEEP {
            self.signal(Signal::KILL);
            if !self.reap() {
                return;
            }
            asked(false, Duration::from_millis(2));
        }
    }

    /// To the shell's group in one go, so that nothing in it can outrun this, and to all others.
    fn signal(&self, signal: Signal) {
        if !self.ended {
            let _ = kill_process_group(self.shell, signal);
        }
        let living = living();
        // Once the shell is gone its number is the group's only while somebody is in that.
        if self.ended && living.iter().any(|(_, group)| *group == self.shell.as_raw_nonzero().get()) {
            let _ = kill_process_group(self.shell, signal);
        }
        for (pid, _) in living {
            let _ = kill_process(pid, signal);
        }
    }

    /// Takes in those that have ended. False: there is nobody left.
    fn reap(&mut self) -> bool {
        // No more than so many at once: a swarm leaves more behind, faster than they can be taken in.
        for _ in 0..100 {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.shell => {
                    self.ended = true;
                    self.report.exit = status.exit_status();
                    self.report.signal = status.terminating_signal();
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        true
    }
}

/// Waits a little; whether the program has asked to stop, or is gone.
fn asked(listen: bool, most: Duration) -> bool {
    let input = io::stdin();
    let mut on = [PollFd::new(&input, PollFlags::IN)];
    let fds = if listen { &mut on[..] } else { &mut [] };
    let time = Timespec { tv_sec: 0, tv_nsec: i64::from(most.subsec_nanos()) };
    matches!(poll(fds, Some(&time)), Ok(count) if count > 0)
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
struct Crowd {
    #[cfg(target_os = "linux")]
    most: usize,
    #[cfg(target_os = "linux")]
    before: usize,
    #[cfg(target_os = "linux")]
    looked: Instant,
}

#[cfg(target_os = "linux")]
impl Crowd {
    fn new(processes: u32) -> Self {
        let most = usize::try_from(processes).unwrap_or(usize::MAX);
        Self { most, before: super::processes::tasks().unwrap_or(0), looked: Instant::now() }
    }

    fn is_too_large(&mut self, shell: Pid, ended: bool) -> bool {
        let now = super::processes::tasks();
        let more = now.is_some_and(|now| now > self.before + self.most);
        if !more && self.looked.elapsed() < Duration::from_secs(1) {
            return false;
        }
        // While they are counted they stand still, or there would be many more of them by then.
        let still = more && !ended;
        if still {
            let _ = kill_process_group(shell, Signal::STOP);
        }
        let too_many = living().len() > self.most;
        if still && !too_many {
            let _ = kill_process_group(shell, Signal::CONT);
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
impl Crowd {
    fn new(_: u32) -> Self {
        Self {}
    }

    fn is_too_large(&mut self, _: Pid, _: bool) -> bool {
        false
    }
}
