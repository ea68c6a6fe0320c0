//! A server that is a child process: starts it in a separate process group with a small environment, exchanges lines
//! with it, keeps the end of its error output, and ends it with every process that it started.
//! Not for: the content of the lines (`server_process`, `call`).

use crate::domain::tool::Secret;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::VecDeque;
use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

/// The number of bytes that are kept of the error output.
const MAX_TAIL: usize = 8 << 10;
/// The number of bytes that are kept of output lines that are not messages.
const STRAY_TAIL: usize = 512;
/// The maximum length of a line (one message) in bytes.
const MAX_LINE: usize = 16 << 20;
/// How long a process may take to end after its input was closed, and again after a signal.
const EXIT_TIMEOUT: Duration = Duration::from_millis(300);

/// The environment variables that every server inherits.
const INHERITED_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "TERM",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NVM_DIR",
    "SystemRoot",
    "APPDATA",
    "LOCALAPPDATA",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "PATHEXT",
    "COMSPEC",
];

/// The output of a server that is not part of the protocol.
#[derive(Default)]
pub(super) struct ServerOutput {
    tail: Mutex<VecDeque<u8>>,
    /// The end of the output lines that are not messages.
    stray_tail: Mutex<VecDeque<u8>>,
    strays: AtomicU64,
    secrets: Vec<String>,
}

impl ServerOutput {
    pub(super) fn new(secrets: Vec<String>) -> Self {
        Self { secrets, ..Self::default() }
    }

    /// Adds error output; only its end is kept.
    pub(super) fn take(&self, bytes: &[u8]) {
        keep_end(&self.tail, bytes, MAX_TAIL);
    }

    fn stray(&self, line: &[u8]) {
        self.strays.fetch_add(1, Ordering::Relaxed);
        keep_end(&self.stray_tail, &line[..line.len().min(STRAY_TAIL)], STRAY_TAIL);
        keep_end(&self.stray_tail, b"\n", STRAY_TAIL);
    }

    /// Returns the kept output without secrets, and the number of output lines that were not messages. These lines
    /// precede the error output, which says why the process ended, regardless of the order of reading.
    pub(super) fn tail_text(&self) -> (String, u64) {
        let mut bytes = Vec::new();
        for tail in [&self.stray_tail, &self.tail] {
            bytes.extend(tail.lock().unwrap_or_else(PoisonError::into_inner).iter());
        }
        (self.scrubbed(&String::from_utf8_lossy(&bytes)), self.strays.load(Ordering::Relaxed))
    }

    /// Returns a text without the secret values that were given to the server.
    pub(super) fn scrubbed(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[hidden]"))
    }

    /// Returns the last line that is not empty.
    pub(super) fn last_line(&self) -> Option<String> {
        let (tail, _) = self.tail_text();
        tail.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(|line| line.chars().take(200).collect())
    }
}

/// Appends bytes and drops the oldest ones beyond `most`.
fn keep_end(tail: &Mutex<VecDeque<u8>>, bytes: &[u8], most: usize) {
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = &bytes[bytes.len().saturating_sub(most)..];
    let over = (tail.len() + bytes.len()).saturating_sub(most);
    tail.drain(..over);
    tail.extend(bytes);
}

/// A running process.
pub(super) struct Program {
    child: Child,
    listener: Option<JoinHandle<()>>,
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
}

/// Starts a process. Returns its input and output, and the handle that ends it.
pub(super) fn start(
    command: &Secret,
    args: &[Secret],
    env: &[(String, Secret)],
    folder: &str,
    server_output: &Arc<ServerOutput>,
) -> io::Result<(Pipe, Program)> {
    let mut line = Command::new(command.reveal());
    line.args(args.iter().map(Secret::reveal)).current_dir(folder).env_clear();
    line.envs(INHERITED_VARIABLES.iter().filter_map(|name| std::env::var_os(name).map(|value| (*name, value))));
    line.envs(env.iter().map(|(name, value)| (name, value.reveal())));
    line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    line.process_group(0);
    let mut child = line.spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("it has no input or output"));
    };
    let listener = child.stderr.take().map(|errors| tokio::spawn(listen(errors, server_output.clone())));
    let pipe = Pipe {
        input: Arc::new(tokio::sync::Mutex::new(Some(input))),
        output: BufReader::with_capacity(64 << 10, output),
        line: Vec::new(),
        server_output: server_output.clone(),
    };
    #[cfg(unix)]
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    Ok((
        pipe,
        Program {
            child,
            listener,
            #[cfg(unix)]
            group,
        },
    ))
}

async fn listen(mut errors: ChildStderr, server_output: Arc<ServerOutput>) {
    let mut bytes = vec![0; 4 << 10];
    while let Ok(read @ 1..) = errors.read(&mut bytes).await {
        server_output.take(&bytes[..read]);
    }
}

impl Program {
    /// Waits briefly for the process to end by itself. After all of its output was read, returns a clause about its
    /// exit code or signal; `None` if it did not end in time.
    pub(super) async fn ended(&mut self) -> Option<String> {
        let status = tokio::time::timeout(EXIT_TIMEOUT, self.child.wait()).await.ok()?.ok()?;
        if let Some(listener) = self.listener.take() {
            // A process that it started can still hold the pipe open.
            let _ = tokio::time::timeout(EXIT_TIMEOUT, listener).await;
        }
        Some(match (status.code(), signal(status)) {
            (Some(code), _) => format!("it exited with code {code}"),
            (None, Some(signal)) => format!("it was terminated by signal {signal}"),
            (None, None) => "it ended".to_owned(),
        })
    }

    /// Ends the process and all processes that it started. Its input must be closed already.
    pub(super) async fn end(mut self) {
        if tokio::time::timeout(EXIT_TIMEOUT, self.child.wait()).await.is_err() {
            #[cfg(unix)]
            self.signal(rustix::process::Signal::TERM);
            if tokio::time::timeout(EXIT_TIMEOUT, self.child.wait()).await.is_err() {
                let _ = self.child.start_kill();
            }
        }
        // This also ends processes that outlived it: a group exists as long as one of its processes does.
        #[cfg(unix)]
        self.signal(rustix::process::Signal::KILL);
        let _ = tokio::time::timeout(EXIT_TIMEOUT, self.child.wait()).await;
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

#[cfg(unix)]
impl Drop for Program {
    fn drop(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }
}

#[cfg(unix)]
fn signal(status: std::process::ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: std::process::ExitStatus) -> Option<i32> {
    None
}

/// The input and output of a process as a transport of the protocol, with one message per line. Lines that are not
/// messages are counted and skipped; a line without an end ends the connection.
pub(super) struct Pipe {
    input: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    server_output: Arc<ServerOutput>,
}

impl Pipe {
    /// Returns the next whole line, or `None` at the end. Cancel-safe: received bytes stay in `line`.
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let chunk = self.output.fill_buf().await.ok()?;
            if chunk.is_empty() {
                return None;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |at| at + 1);
            self.line.extend_from_slice(&chunk[..end.unwrap_or(chunk.len())]);
            self.output.consume(taken);
            if self.line.len() > MAX_LINE {
                self.server_output
                    .take(format!("[a line of more than {MAX_LINE} bytes: the server was ended]\n").as_bytes());
                return None;
            }
            if end.is_some() {
                return Some(std::mem::take(&mut self.line));
            }
        }
    }
}

impl Transport<RoleClient> for Pipe {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let input = self.input.clone();
        async move {
            let mut bytes = serde_json::to_vec(&item)?;
            bytes.push(b'\n');
            let mut input = input.lock().await;
            let input = input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            input.write_all(&bytes).await?;
            input.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.next().await?;
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(message) => return Some(message),
                Err(_) => self.server_output.stray(line),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // Closing the input tells the server to end. If the server does not read, a blocked writer may hold the lock;
        // the server is ended regardless.
        if let Ok(mut input) = tokio::time::timeout(EXIT_TIMEOUT, self.input.lock()).await {
            input.take();
        }
        Ok(())
    }
}
