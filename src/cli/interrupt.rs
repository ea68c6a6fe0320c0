//! Signals of the command line: a thread counts Ctrl+C, and exceeding the file size limit does not end the program.
//! Not for: reacting to a number of presses (the commands), or the workbench's signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Starts to count presses of Ctrl+C. From then on, Ctrl+C no longer ends the program by itself.
pub(super) fn count() -> Arc<AtomicUsize> {
    let presses = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&presses);
    let (ready, started) = std::sync::mpsc::channel::<()>();
    let _ = std::thread::Builder::new().name("interrupt".into()).spawn(move || {
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() {
            runtime.block_on(listen(&counter, ready));
        }
    });
    // Returns once the signal is registered or its registration has failed; then Ctrl+C still ends the program.
    let _ = started.recv();
    presses
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail like a write to a full disk instead of ending the
/// program. Child processes get the system's default again, as for every handled signal.
#[cfg(unix)]
pub(super) fn ignore_file_limit() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let _inside = runtime.enter();
    // The handler stays registered when the listener and the runtime are dropped.
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

/// Other systems than Unix do not end a program because of a file's size.
#[cfg(not(unix))]
pub(super) fn ignore_file_limit() {}

#[cfg(unix)]
async fn listen(counter: &AtomicUsize, ready: std::sync::mpsc::Sender<()>) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut pressed) = signal(SignalKind::interrupt()) else { return };
    drop(ready);
    while pressed.recv().await.is_some() {
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(not(unix))]
async fn listen(counter: &AtomicUsize, ready: std::sync::mpsc::Sender<()>) {
    drop(ready);
    while tokio::signal::ctrl_c().await.is_ok() {
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn ctrl_c_is_counted_and_does_not_end_the_program() {
        let presses = count();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT).unwrap();
        let begun = Instant::now();
        while presses.load(Ordering::SeqCst) == 0 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        assert_eq!(presses.load(Ordering::SeqCst), 1);
    }
}
