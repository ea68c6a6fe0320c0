//! Signals, job control, and a closed terminal; the counterpart of the input thread.
//! Not for: modes of the terminal (`terminal`). This module works on Unix; on other systems, it does nothing.

#[cfg(unix)]
pub(crate) use unix::{release_terminal, suspend, terminal_closed, wake_reader, watch};

#[cfg(not(unix))]
pub(crate) fn watch(_to: std::sync::mpsc::Sender<crate::tui::msg::Msg>) -> std::io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn suspend() -> std::io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn terminal_closed() -> bool {
    false
}

#[cfg(not(unix))]
pub(crate) fn release_terminal() {}

#[cfg(not(unix))]
pub(crate) fn wake_reader() {}

#[cfg(unix)]
mod unix {
    use crate::tui::msg::{Msg, ProcessMsg};
    use crate::tui::shell::terminal;
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Pid, Signal, getpgrp, getpid, kill_current_process_group, kill_process};
    use rustix::termios::tcgetpgrp;
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::Sender;
    use std::task::Poll;
    use std::thread;
    use std::time::Duration;
    use tokio::signal::unix::{Signal as Listener, SignalKind, signal};

    /// How long the program may take to end after its terminal was closed.
    const HANGUP_TIMEOUT: Duration = Duration::from_millis(700);
    /// How long the program may take to end after a signal asked it to.
    const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
    /// The exit code if the terminal was closed.
    const HANGUP_EXIT_CODE: i32 = 129;

    /// Watches signals and the terminal on two threads.
    pub(crate) fn watch(to: Sender<Msg>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let gone = to.clone();
        // Listening starts here instead of on the thread: a signal that arrived earlier would end the program without
        // restoring the terminal.
        let listeners = {
            let _inside = runtime.enter();
            Signals::listen()?
        };
        thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(signals(listeners, to)))?;
        thread::Builder::new().name("watchdog".to_owned()).spawn(move || watchdog(&gone))?;
        Ok(())
    }

    /// Listeners for the handled signals.
    struct Signals {
        /// The signals that end the program, with their numbers.
        ending: Vec<(i32, Listener)>,
        cont: Listener,
        tstp: Listener,
    }

    /// The signals that would end the program and leave the terminal's modes switched on.
    const ENDING: [Signal; 11] = [
        Signal::HUP,
        Signal::INT,
        Signal::TERM,
        Signal::QUIT,
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
        Signal::VTALARM,
        Signal::PROF,
        Signal::XCPU,
        Signal::TRAP,
    ];

    impl Signals {
        fn listen() -> io::Result<Self> {
            let listener = |it: Signal| signal(SignalKind::from_raw(it.as_raw()));
            let ending = ENDING.into_iter().map(|it| Ok((it.as_raw(), listener(it)?)));
            Ok(Self {
                ending: ending.collect::<io::Result<_>>()?,
                cont: listener(Signal::CONT)?,
                tstp: listener(Signal::TSTP)?,
            })
        }
    }

    /// Waits for a signal that ends the program and returns its number.
    async fn ending(listeners: &mut [(i32, Listener)]) -> i32 {
        std::future::poll_fn(|context| {
            let mut each = listeners.iter_mut();
            let came = each.find_map(|(number, it)| it.poll_recv(context).is_ready().then_some(*number));
            came.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    async fn signals(mut listeners: Signals, to: Sender<Msg>) {
        loop {
            let msg = tokio::select! {
                number = ending(&mut listeners.ending) => {
                    // Ctrl+C and Ctrl+\ pressed in a program that has the terminal are for that program.
                    let typed = [Signal::INT, Signal::QUIT].iter().any(|it| it.as_raw() == number);
                    if typed && RELEASED.load(Ordering::SeqCst) {
                        continue;
                    }
                    Msg::Process(ProcessMsg::Signal(number))
                }
                _ = listeners.cont.recv() => {
                    if RELEASED.load(Ordering::SeqCst) || !foreground().unwrap_or(false) {
                        continue;
                    }
                    Msg::Process(ProcessMsg::Resumed)
                }
                _ = listeners.tstp.recv() => {
                    if RELEASED.load(Ordering::SeqCst) {
                        let _ = kill_current_process_group(Signal::STOP);
                        continue;
                    }
                    Msg::Process(ProcessMsg::Suspend)
                }
            };
            let number = if let Msg::Process(ProcessMsg::Signal(number)) = msg { Some(number) } else { None };
            if to.send(msg).is_err() {
                return;
            }
            if let Some(number) = number {
                let limit = move || {
                    thread::sleep(if number == 1 { HANGUP_TIMEOUT } else { EXIT_TIMEOUT });
                    leave(128 + number);
                };
                // Without the thread, the program ends as well, but without a time limit.
                drop(thread::Builder::new().name("exit-timeout".to_owned()).spawn(limit));
            }
        }
    }

    /// The input library waits forever, or spins, after the terminal was closed, so a separate thread watches the
    /// terminal.
    fn watchdog(to: &Sender<Msg>) {
        let tty = io::stdin();
        loop {
            let mut fds = [PollFd::new(&tty, PollFlags::empty())];
            match poll(&mut fds, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
            }
            if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
                let _ = to.send(Msg::Process(ProcessMsg::Signal(1)));
                thread::sleep(HANGUP_TIMEOUT);
                leave(HANGUP_EXIT_CODE);
            }
            if fds[0].revents().contains(PollFlags::NVAL) {
                return;
            }
        }
    }

    /// Whether the terminal is released to another program. Signals from keys are then for that program.
    static RELEASED: AtomicBool = AtomicBool::new(false);

    /// The terminal is released until this is dropped.
    pub(crate) struct ReleasedTerminal;

    impl Drop for ReleasedTerminal {
        fn drop(&mut self) {
            RELEASED.store(false, Ordering::SeqCst);
        }
    }

    /// Releases the terminal to another program: interrupts are ignored, and a stop signal stops both programs.
    pub(crate) fn release_terminal() -> ReleasedTerminal {
        RELEASED.store(true, Ordering::SeqCst);
        ReleasedTerminal
    }

    /// Wakes the input thread with the signal for a changed terminal size.
    pub(crate) fn wake_reader() {
        let _ = kill_process(getpid(), Signal::WINCH);
    }

    /// Whether the terminal was closed.
    pub(crate) fn terminal_closed() -> bool {
        let tty = io::stdin();
        let mut fds = [PollFd::new(&tty, PollFlags::empty())];
        let at_once = rustix::event::Timespec::default();
        poll(&mut fds, Some(&at_once)).is_ok() && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    fn leave(code: i32) -> ! {
        terminal::switch_off();
        std::process::exit(code)
    }

    /// Whether this job is in the shell's foreground; an error if the terminal was closed.
    fn foreground() -> io::Result<bool> {
        let group: Pid = tcgetpgrp(io::stdin())?;
        Ok(group == getpgrp())
    }

    /// Restores the terminal and stops the whole job until the shell brings it to the foreground again.
    pub(crate) fn suspend() -> io::Result<()> {
        terminal::switch_off();
        kill_current_process_group(Signal::STOP)?;
        while !foreground()? {
            kill_current_process_group(Signal::STOP)?;
        }
        terminal::switch_on()
    }
}
