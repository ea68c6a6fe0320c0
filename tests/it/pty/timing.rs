//! Promised response times, measured by hand on an idle machine: `cargo test --test it timing -- --ignored
//! --nocapture`.
//! Not for: behavior, which other tests check without a clock.

use crate::support::pty::{Home, Start};
use crate::support::server::{Server, Step, stream, words};
use std::time::{Duration, Instant};

const ROUNDS: usize = 20;

#[allow(clippy::print_stdout, reason = "a measurement is printed")]
fn report(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort();
    let (half, most) = (times[times.len() / 2], times[times.len() - 1]);
    println!("{what}: median {half:?}, most {most:?} of {}", times.len());
    most
}

#[test]
#[ignore = "a measurement"]
fn esc_stops_within_100_ms() {
    let (mut closed, mut shown) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let server = Server::start_posts(vec![vec![stream(), words("Part of an answer"), Step::Hang]]);
        let home = Home::server(&server.base_url());
        let pty = Start::new(&home).size(180, 50).run();
        pty.see("Type a message");
        pty.keys("A question\r");
        pty.see("Part of an answer");
        let pressed = Instant::now();
        pty.keys("\x1b");
        assert!(server.saw_client_leave());
        closed.push(pressed.elapsed());
        pty.see("stopped");
        shown.push(pressed.elapsed());
    }
    assert!(report("Esc to the closed connection", closed) <= Duration::from_millis(100));
    assert!(report("Esc to the word on the screen", shown) <= Duration::from_millis(100));
}

#[test]
#[ignore = "a measurement"]
fn closed_terminal_ends_the_program_within_a_second() {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let server = Server::start_posts(vec![vec![stream(), words("Part of an answer"), Step::Hang]]);
        let home = Home::server(&server.base_url());
        let mut pty = Start::new(&home).run();
        pty.see("Type a message");
        pty.keys("A question\r");
        pty.see("Part of an answer");
        pty.close_window();
        let began = Instant::now();
        assert_eq!(pty.gone_within(Duration::from_secs(30)), Some(129));
        times.push(began.elapsed());
    }
    assert!(report("closed terminal to the end", times) <= Duration::from_secs(1));
}
