//! Journeys of a person through the whole program.

use crate::support::pty::{Home, Pty};

#[test]
fn a_newcomer() {
    let home = Home::fresh();
    let pty = Pty::open(&home);
    let s = pty.see("Ctrl+O");
    eprintln!("{s}");
    pty.until("findings", |s| s.contains("looked for"));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    eprintln!("{}", pty.screen());
    pty.keys("\x1bo");
    std::thread::sleep(std::time::Duration::from_millis(500));
    eprintln!("{}", pty.screen());
    pty.keys("hello there");
    std::thread::sleep(std::time::Duration::from_millis(1000));
    eprintln!("{}", pty.screen());
    pty.keys("\r");
    std::thread::sleep(std::time::Duration::from_millis(3000));
    eprintln!("{}", pty.screen());
    pty.keys("and again");
    std::thread::sleep(std::time::Duration::from_millis(300));
    pty.keys("\x0f");
    std::thread::sleep(std::time::Duration::from_millis(1000));
    eprintln!("{}", pty.screen());
    pty.keys("jjjjjx");
    std::thread::sleep(std::time::Duration::from_millis(1000));
    eprintln!("{}", pty.screen());
    let raw = pty.raw();
    eprintln!("{:?}", crate::support::lexer::foreign(&raw));
    pty.keys("w");
    std::thread::sleep(std::time::Duration::from_millis(1000));
    eprintln!("{}", pty.screen());
}
