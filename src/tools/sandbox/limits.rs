//! Kernel limits for a process and its descendants.
//! Not for: time limits, which the program enforces itself.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The maximum size of a file that a command may write, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 4 << 30;

/// Lowers this process's limits permanently: no core files, and limited file size, memory, and number of processes.
/// `others` is the number of threads that the user already has.
pub(crate) fn set(processes: u32, others: u64) -> Result<(), String> {
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, MAX_FILE_BYTES)?;
    #[cfg(target_os = "linux")]
    {
        if let Some(memory) = memory() {
            lower(Resource::Data, memory / 4 * 3)?;
        }
        // The kernel counts the threads of all processes of the user. For root it counts none.
        lower(Resource::Nproc, others + 4 * u64::from(processes))?;
    }
    let _ = (processes, others);
    Ok(())
}

fn lower(resource: Resource, most: u64) -> Result<(), String> {
    let now = getrlimit(resource);
    let bound = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    let new = Rlimit { current: bound(now.current), maximum: bound(now.maximum) };
    setrlimit(resource, new).map_err(|error| format!("a limit ({resource:?}) could not be set: {error}."))
}

/// Returns the size of the machine's memory in bytes.
#[cfg(target_os = "linux")]
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
