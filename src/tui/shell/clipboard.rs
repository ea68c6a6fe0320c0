//! Copies a text with a program of this machine, or else with the terminal, or else into a file, and reports the
//! method.
//! Not for: choosing the text.

use super::terminal;
use crate::domain::base::Safe;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a copying program may take.
const TOOL_TIMEOUT: Duration = Duration::from_secs(2);

/// A program that copies its standard input to the clipboard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tool {
    name: &'static str,
    args: &'static [&'static str],
    /// Whether it expects UTF-16.
    wide: bool,
}

const fn tool(name: &'static str, args: &'static [&'static str]) -> Tool {
    Tool { name, args, wide: false }
}

const PBCOPY: Tool = tool("pbcopy", &[]);
const WL_COPY: Tool = tool("wl-copy", &[]);
const XCLIP: Tool = tool("xclip", &["-selection", "clipboard", "-in"]);
const XSEL: Tool = tool("xsel", &["--clipboard", "--input"]);
const CLIP: Tool = Tool { name: "clip.exe", args: &[], wide: true };

/// Copies a text without control characters and invisible characters, and describes how. If [`native`] found a program
/// this may take a while, so it must not run on the screen's thread.
pub(crate) fn copy(text: &str, native: Option<Native>) -> String {
    let (text, left) = Safe::copied(text);
    let by = native.filter(|native| run_tool(native, &text).is_ok());
    let notice = by.map_or_else(
        || terminal::copy(&text),
        |native| format!("Copied {} bytes with {}.", text.len(), native.tool.name),
    );
    match left {
        0 => notice,
        1 => format!("{notice} An invisible character was removed."),
        left => format!("{notice} {left} invisible characters or escape sequences were removed."),
    }
}

/// A copying program that was found.
#[derive(Clone, Debug)]
pub(crate) struct Native {
    tool: Tool,
    path: PathBuf,
}

/// The program that reaches the clipboard of the person's screen, if there is one. Over SSH, only the terminal reaches
/// it.
pub(crate) fn native() -> Option<Native> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let path = std::env::var_os("PATH")?;
    let there = |tool: Tool| {
        let found = std::env::split_paths(&path).map(|folder| folder.join(tool.name)).find(|path| path.is_file());
        found.map(|path| Native { tool, path })
    };
    tools(&set).into_iter().find_map(there)
}

/// The programs to try according to the environment, best first.
fn tools(set: &dyn Fn(&str) -> bool) -> Vec<Tool> {
    if set("SSH_CONNECTION") || set("SSH_TTY") {
        return Vec::new();
    }
    if cfg!(target_os = "macos") {
        return vec![PBCOPY];
    }
    if cfg!(windows) {
        return vec![CLIP];
    }
    let mut tools = Vec::new();
    if set("WAYLAND_DISPLAY") {
        tools.push(WL_COPY);
    }
    if set("DISPLAY") {
        tools.extend([XCLIP, XSEL]);
    }
    if set("WSL_DISTRO_NAME") {
        tools.push(CLIP);
    }
    tools
}

fn run_tool(native: &Native, text: &str) -> std::io::Result<()> {
    let mut command = Command::new(&native.path);
    command.args(native.tool.args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let bytes = if native.tool.wide {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    } else {
        text.as_bytes().to_vec()
    };
    let pipe = child.stdin.take();
    // A separate thread writes, so that a program that reads nothing cannot block this program.
    let writer = thread::Builder::new().name("copy".to_owned()).spawn(move || match pipe {
        Some(mut pipe) => pipe.write_all(&bytes),
        None => Ok(()),
    })?;
    let result = wait(&mut child);
    if result.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let written = writer.join().unwrap_or_else(|_| Err(std::io::Error::other("its input could not be written")));
    result.and(written)
}

fn wait(child: &mut Child) -> std::io::Result<()> {
    let began = Instant::now();
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(std::io::Error::other(format!("it exited with {status}"))),
            None if began.elapsed() > TOOL_TIMEOUT => return Err(std::io::Error::other("it did not exit in time")),
            None => thread::sleep(Duration::from_millis(5)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipboard_programs_follow_the_environment() {
        let names =
            |vars: &[&str]| tools(&|name| vars.contains(&name)).iter().map(|tool| tool.name).collect::<Vec<_>>();
        if cfg!(target_os = "linux") {
            assert_eq!(names(&["WAYLAND_DISPLAY", "DISPLAY"]), ["wl-copy", "xclip", "xsel"]);
            assert_eq!(names(&[]), [""; 0]);
        }
        assert_eq!(names(&["DISPLAY", "SSH_CONNECTION"]), [""; 0], "the clipboard there is not the person's");
    }

    #[cfg(unix)]
    #[test]
    fn programs_receive_the_whole_text_and_failures_are_errors() {
        let native = |path: &str, args| Native { tool: tool("t", args), path: path.into() };
        let long = "words ".repeat(100_000);
        assert!(run_tool(&native("/bin/sh", &["-c", "test $(wc -c) = 600000"]), &long).is_ok());
        assert!(run_tool(&native("/bin/sh", &["-c", "exit 3"]), "x").is_err());
        assert!(run_tool(&native("/no/such/program", &[]), "x").is_err());
    }
}
