//! Finds the key of a profile: an environment variable, else the first line of a command's output.
//! Not for: storing keys; nothing here is written, logged, or shown.

use super::{LlmError, clip};
use crate::domain::call::Profile;
use secrecy::SecretString;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Time limit of a key command.
const KEY_COMMAND_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a command's output that are read.
const MAX_OUTPUT: u64 = 64 * 1024;

/// Returns the key of a profile; `None` if it names none, or if its variable is empty and it has no command.
pub fn resolve(profile: &Profile, env: &dyn Fn(&str) -> Option<String>) -> Result<Option<SecretString>, LlmError> {
    resolve_within(profile, env, KEY_COMMAND_TIMEOUT)
}

fn resolve_within(
    profile: &Profile,
    env: &dyn Fn(&str) -> Option<String>,
    timeout: Duration,
) -> Result<Option<SecretString>, LlmError> {
    let named = Some(profile.api_key_env.trim()).filter(|name| !name.is_empty()).and_then(env);
    if let Some(key) = named.as_deref().map(str::trim).filter(|key| !key.is_empty()) {
        return Ok(Some(SecretString::from(key)));
    }
    if !profile.api_key_cmd.trim().is_empty() {
        let key = run(&profile.api_key_cmd, timeout)
            .map_err(|why| LlmError::KeyCommand { profile: profile.name.clone(), why })?;
        return Ok(Some(SecretString::from(key)));
    }
    if profile.needs_key { Err(missing(profile)) } else { Ok(None) }
}

/// Returns the error that lists the places where a key was searched for.
pub(super) fn missing(profile: &Profile) -> LlmError {
    let why = match profile.api_key_env.trim() {
        "" => "the profile has neither api_key_env nor api_key_cmd".to_owned(),
        name => format!("the environment variable {name} is not set"),
    };
    LlmError::NoKey { profile: profile.name.clone(), why }
}

fn run(command: &str, timeout: Duration) -> Result<String, String> {
    let mut child = shell(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let readers = reader(child.stdout.take()).and_then(|out| Ok((out, reader(child.stderr.take())?)));
    let (out, err) = match readers {
        Ok(readers) => readers,
        Err(error) => {
            kill(&mut child);
            return Err(format!("its output can't be read: {error}"));
        }
    };
    let Some(status) = wait(&mut child, timeout).map_err(|error| error.to_string())? else {
        kill(&mut child);
        return Err(format!("it took longer than {} s", timeout.as_secs_f32()));
    };
    // Child processes that the command left running may keep the pipes open; the program does not wait for them.
    let grace = Duration::from_secs(1);
    if !status.success() {
        let message = err.recv_timeout(grace).unwrap_or_default();
        let message = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing").trim();
        return Err(format!("{status}: {}", clip(message, 200)));
    }
    let output = out.recv_timeout(grace).unwrap_or_default();
    let key = output.lines().next().unwrap_or_default().trim().to_owned();
    if key.is_empty() { Err("its first line of output is empty".to_owned()) } else { Ok(key) }
}

#[cfg(unix)]
fn shell(command: &str) -> Command {
    use std::os::unix::process::CommandExt;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).process_group(0);
    shell
}

#[cfg(not(unix))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.arg("/C").arg(command);
    shell
}

/// Starts a thread that reads a pipe. Returns the receiver of the text; fails if the thread cannot be started.
fn reader<R: Read + Send + 'static>(pipe: Option<R>) -> std::io::Result<mpsc::Receiver<String>> {
    let (send, receive) = mpsc::sync_channel(1);
    std::thread::Builder::new().name("key-command".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(MAX_OUTPUT).read_to_end(&mut bytes);
        }
        let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
    })?;
    Ok(receive)
}

fn wait(child: &mut Child, timeout: Duration) -> std::io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills the command and its child processes.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    fn profile(env: &str, cmd: &str) -> Profile {
        Profile { name: "p".into(), api_key_env: env.into(), api_key_cmd: cmd.into(), ..Profile::default() }
    }

    fn key(profile: &Profile, env: Option<&str>) -> Result<Option<String>, String> {
        let found = resolve(profile, &|name| (name == "KEY").then(|| env.map(str::to_owned)).flatten());
        found.map(|key| key.map(|key| key.expose_secret().to_owned())).map_err(|error| error.to_string())
    }

    #[test]
    fn output_of_a_failing_command_is_no_part_of_its_error() {
        let failed = key(&profile("", "echo canary; echo locked >&2; exit 3"), None).unwrap_err();
        assert!(failed.contains("locked") && failed.contains('3') && !failed.contains("canary"), "{failed}");
    }

    #[test]
    fn a_hanging_command_is_killed_with_its_children() {
        let began = Instant::now();
        let hanging = profile("", "sleep 30 & sleep 30");
        let error = resolve_within(&hanging, &|_| None, Duration::from_millis(100)).unwrap_err();
        assert!(error.to_string().contains("longer"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_killed_command_has_ended() {
        use std::os::unix::process::CommandExt as _;
        let mut child = Command::new("sh").args(["-c", "sleep 30 & sleep 30"]).process_group(0).spawn().unwrap();
        kill(&mut child);
        assert!(child.try_wait().unwrap().is_some_and(|status| !status.success()));
    }

    #[test]
    fn debug_shows_no_key() {
        let found = resolve(&profile("KEY", ""), &|_| Some("sk-canary".into()));
        assert!(!format!("{found:?}").contains("canary"));
    }

    #[test]
    fn a_key_is_found_where_the_profile_says() {
        let needs = |env: &str, cmd: &str| Profile { needs_key: true, ..profile(env, cmd) };
        for (profile, env, found) in [
            (profile("", ""), None, Ok(None)),
            (profile(" KEY ", ""), Some("env"), Ok(Some("env"))),
            (profile("KEY", "echo cmd"), Some(" env\n"), Ok(Some("env"))),
            (profile("KEY", "echo cmd; echo more"), Some(""), Ok(Some("cmd"))),
            (profile("OTHER", ""), Some("env"), Ok(None)),
            (profile("KEY", ""), Some("  "), Ok(None)),
            (profile("KEY", "  "), None, Ok(None)),
            (profile("", "printf ' key \\nmore'"), None, Ok(Some("key"))),
            (needs("", ""), None, Err("neither api_key_env nor api_key_cmd")),
            (needs("KEY", ""), None, Err("the environment variable KEY is not set")),
            (needs("KEY", "echo key"), None, Ok(Some("key"))),
            (profile("", "echo; echo key"), None, Err("its first line of output is empty")),
            (profile("", "true"), None, Err("its first line of output is empty")),
            (profile("", "exit 1"), None, Err("it printed nothing")),
            (profile("", "echo ' ' >&2; echo why >&2; exit 4"), None, Err(": why")),
        ] {
            match (key(&profile, env), found) {
                (Ok(key), Ok(found)) => assert_eq!(key.as_deref(), found),
                (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
