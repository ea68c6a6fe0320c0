//! Runs the real binary in an isolated environment with its own folders, settings, and store.
//! Not for: assertions about its output, which belong to the tests.

use serde_json::Value;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;
use tempfile::TempDir;

/// A command that runs longer is considered stuck.
const LONGEST: Duration = Duration::from_secs(150);

/// An isolated environment: home, settings, store, and a working folder.
pub(crate) struct Home {
    folder: TempDir,
}

/// The result of a command.
pub(crate) struct CommandOutput {
    /// The exit code, or -1 after a signal.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Home {
    /// A new environment. The built-in offline model answers unless `config` says otherwise.
    pub(crate) fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Self { folder };
        std::fs::create_dir_all(home.workspace()).unwrap();
        std::fs::create_dir_all(home.config_file().parent().unwrap()).unwrap();
        home.configure(config);
        home
    }

    /// An environment that asks a loopback server.
    pub(crate) fn asking(base_url: &str) -> Self {
        Self::new(&profile(base_url))
    }

    /// Like [`Home::asking`] with approximate token counts. No vocabulary is loaded, which saves most of the CPU time of a
    /// call.
    pub(crate) fn approximate(base_url: &str) -> Self {
        Self::new(&format!("{}[models.\"gpt-4o-mini\"]\nencoding = \"approximate\"\n", profile(base_url)))
    }

    /// An environment that replays a recording, which is fast because no vocabulary is loaded.
    pub(crate) fn scripted(recording: &str) -> Self {
        let home = Self::new("");
        let file = home.path("recording.jsonl");
        std::fs::write(&file, recording).unwrap();
        home.configure(&format!(
            "profile = \"rec\"\nstate_block = \"off\"\n[profiles.rec]\nbackend = \"scripted\"\nmodel = \"m\"\n\
             recording = {:?}\n[models.m]\ncontext_window = 1000000\nencoding = \"approximate\"\n",
            file.display().to_string()
        ));
        home
    }

    /// Writes the settings.
    pub(crate) fn configure(&self, config: &str) {
        std::fs::write(self.config_file(), config).unwrap();
    }

    /// The settings' file.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.path("config/pleach/config.toml")
    }

    /// A path in this environment.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// The store's file.
    pub(crate) fn store(&self) -> PathBuf {
        self.path("store/pleach.db")
    }

    /// The store and the files beside it that contain these bytes, without backups.
    pub(crate) fn files_containing(&self, word: &str) -> Vec<String> {
        let folder = std::fs::read_dir(self.store().parent().unwrap()).unwrap();
        let files = folder.flatten().filter(|entry| entry.path().is_file());
        let named =
            files.map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()));
        let contains = |bytes: &[u8]| bytes.windows(word.len()).any(|found| found == word.as_bytes());
        named.filter(|(name, bytes)| !name.contains(".backup-") && contains(bytes)).map(|(name, _)| name).collect()
    }

    /// The working folder of commands.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("work")
    }

    /// Only this environment's variables.
    pub(crate) fn env(&self) -> Vec<(String, String)> {
        let at = |name: &str| self.path(name).display().to_string();
        vec![
            ("HOME".into(), at("home")),
            ("XDG_CONFIG_HOME".into(), at("config")),
            ("XDG_DATA_HOME".into(), at("data")),
            ("XDG_STATE_HOME".into(), at("state")),
            ("XDG_CACHE_HOME".into(), at("cache")),
            ("PLEACH_STORE".into(), self.store().display().to_string()),
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("TZ".into(), "UTC".into()),
            ("TERM".into(), "xterm-256color".into()),
        ]
    }

    /// The command, not yet started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pleach"));
        command.args(args).env_clear().envs(self.env()).current_dir(self.workspace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        finish(self.command(args).spawn().unwrap())
    }

    /// Runs a command with standard input.
    pub(crate) fn with_input(&self, args: &[&str], input: &[u8]) -> CommandOutput {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let input = input.to_vec();
        std::thread::spawn(move || {
            let _ = pipe.write_all(&input);
        });
        finish(child)
    }

    /// Runs a command with additional environment variables.
    pub(crate) fn with(&self, env: &[(&str, &str)], args: &[&str]) -> CommandOutput {
        finish(self.command(args).envs(env.iter().copied()).spawn().unwrap())
    }

    /// Runs a command that must succeed, and returns its standard output.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.code, 0, "{args:?}\n{}\n{}", output.out, output.err);
        output.out
    }

    /// Runs a command that must succeed with `--json`.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        let out = self.ok(&all);
        assert_eq!(out.trim_end().lines().count(), 1, "{args:?}: one value in one line\n{out}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}\n{out}"))
    }

    /// SQLite's integrity check of the store.
    pub(crate) fn assert_sound(&self) {
        let store = rusqlite::Connection::open(self.store()).unwrap();
        let verdict: String = store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(verdict, "ok");
        let orphans = store.prepare("PRAGMA foreign_key_check").unwrap().query_map([], |_| Ok(())).unwrap().count();
        assert_eq!(orphans, 0, "dangling rows");
    }
}

/// Settings for a loopback server, without retries.
pub(crate) fn profile(base_url: &str) -> String {
    format!(
        "profile = \"test\"\n[profiles.test]\nbase_url = \"{base_url}\"\nmodel = \"gpt-4o-mini\"\napi_key_env = \"TEST_KEY\"\n\
         attempts = 1\ncontext_window = 16000\n"
    )
}

/// Waits for a command to end.
pub(crate) fn finish(mut child: Child) -> CommandOutput {
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (sender, heard) = channel();
    let also = sender.clone();
    std::thread::spawn(move || sender.send((true, read(&mut out))));
    std::thread::spawn(move || also.send((false, read(&mut err))));
    let (mut texts, mut hung) = ([String::new(), String::new()], false);
    for _ in 0..2 {
        if let Ok((out, text)) = heard.recv_timeout(LONGEST) {
            texts[usize::from(!out)] = text;
        } else {
            hung = true;
            let _ = child.kill();
        }
    }
    let code = child.wait().unwrap().code().unwrap_or(-1);
    assert!(!hung, "the command is stuck\n{}\n{}", texts[0], texts[1]);
    let [out, err] = texts;
    CommandOutput { code, out, err }
}

fn read(from: &mut dyn Read) -> String {
    let mut bytes = Vec::new();
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8(bytes).expect("all output is UTF-8")
}
