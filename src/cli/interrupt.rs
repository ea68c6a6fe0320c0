//! Ctrl+C, counted by a small thread.
//! Not for: what a count means (the commands).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Starts counting. From then on Ctrl+C no longer ends the program by itself.
pub(super) fn count() -> Arc<AtomicUsize> {
    let presses = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&presses);
    let (ready, started) = std::sync::mpsc::channel::<()>();
    let _ = std::thread::Builder::new().name("interrupt".into()).spawn(move || {
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() {
            runtime.block_on(listen(&counter, ready));
        }
    });
    // Ends when the signal is registered, or when it cannot be: then Ctrl+C ends the program as it always did.
    let _ = started.recv();
    presses
}

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
    fn a_pressed_ctrl_c_is_counted_and_ends_nothing() {
        let presses = count();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT).unwrap();
        let begun = Instant::now();
        while presses.load(Ordering::SeqCst) == 0 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        assert_eq!(presses.load(Ordering::SeqCst), 1);
    }
}
