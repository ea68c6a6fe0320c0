//! Reads the tree of processes from `/proc`.
//! Not for: signals (`guard`).

use rustix::process::Pid;
use std::collections::BTreeSet;
use std::fs;

struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    threads: u64,
    ended: bool,
}

fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(read).collect()
}

fn read(pid: i32) -> Option<Process> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // The name is in parentheses and can contain parentheses itself.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ended = matches!(*fields.first()?, "Z" | "X");
    let group = fields.get(2)?.parse().ok()?;
    Some(Process { pid, parent: fields.get(1)?.parse().ok()?, group, threads: fields.get(17)?.parse().ok()?, ended })
}

/// Returns all living descendants of a process, each with its group.
pub(crate) fn descendants(of: Pid) -> Vec<(Pid, i32)> {
    let all = all();
    let mut known = BTreeSet::from([of.as_raw_nonzero().get()]);
    loop {
        let before = known.len();
        known.extend(
            all.iter().filter(|process| known.contains(&process.parent)).map(|process| process.pid).collect::<Vec<_>>(),
        );
        if known.len() == before {
            break;
        }
    }
    let living = all.iter().filter(|process| !process.ended && process.pid != of.as_raw_nonzero().get());
    living
        .filter(|process| known.contains(&process.pid))
        .filter_map(|process| Some((Pid::from_raw(process.pid)?, process.group)))
        .collect()
}

/// Returns the number of threads of a user's processes.
pub(crate) fn threads_of(user: u32) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let own = |process: &Process| fs::metadata(format!("/proc/{}", process.pid)).is_ok_and(|meta| meta.uid() == user);
    all().iter().filter(|process| own(process)).map(|process| process.threads).sum()
}

/// Returns the number of tasks on the system, which is read from one small file.
pub(crate) fn tasks() -> Option<usize> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn living_descendants_include_grandchildren() {
        let own = rustix::process::getpid();
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec 3<&0; cat <&3 & echo $!; wait"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        let (pid, grandchild) = (i32::try_from(child.id()).unwrap(), line.trim().parse::<i32>().unwrap());
        let found = |of: i32| -> Vec<i32> {
            let all = descendants(Pid::from_raw(of).unwrap());
            all.into_iter().map(|(pid, _)| pid.as_raw_nonzero().get()).collect()
        };
        let of_own = found(own.as_raw_nonzero().get());
        assert!(of_own.contains(&pid) && of_own.contains(&grandchild));
        assert!(!of_own.contains(&own.as_raw_nonzero().get()), "not itself");
        assert_eq!(found(pid), [grandchild]);
        let process = read(pid).unwrap();
        assert_eq!((process.pid, process.parent, process.ended), (pid, own.as_raw_nonzero().get(), false));
        assert!(process.threads == 1 && process.group != 0);
        let user = rustix::process::getuid().as_raw();
        assert!(threads_of(user) >= 3 && threads_of(u32::MAX - 1) == 0);
        assert!(tasks().unwrap() >= 3);
        child.kill().unwrap();
        // The number stays in use until the process is reaped.
        while !read(pid).is_none_or(|process| process.ended) {
            std::thread::yield_now();
        }
        assert!(!found(own.as_raw_nonzero().get()).contains(&pid));
        child.wait().unwrap();
        assert!(read(pid).is_none());
        let _ = rustix::process::kill_process(Pid::from_raw(grandchild).unwrap(), rustix::process::Signal::KILL);
    }
}
