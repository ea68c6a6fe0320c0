//! Limits of the kernel on one process and what it starts.
//! Not for: time, which the program keeps itself.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The largest file that a command may write, in bytes.
pub(crate) const FILE: u64 = 4 << 30;

/// Lowers this process's limits for good: no core files, bounded files, memory and processes, beside others of the user's.
///
/// # Errors
/// A sentence.
pub(crate) fn set(processes: u32, others: u64) -> Result<(), String> {
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, FILE)?;
    #[cfg(target_os = "linux")]
    {
        if let Some(memory) = memory() {
            lower(Resource::Data, memory / 4 * 3)?;
        }
        // It counts threads of all of the user's processes; for root it counts nothing.
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

/// Bytes of the machine's memory.
#[cfg(target_os = "linux")]
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
