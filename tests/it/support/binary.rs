//! Runs the real binary in a world of its own: folders, settings and a store that nothing else uses.
//! Not for: what it should say; the tests know.

use serde_json::Value;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;
use tempfile::TempDir;

/// A command that has not ended by then has hung.
const LONGEST: Duration = Duration::from_secs(150);

/// A person's machine: home, settings, store, a folder to work in.
pub(crate) struct Home {
    folder: TempDir,
}

/// What a command left.
pub(crate) struct Said {
    /// The exit code; -1 after a signal.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Home {
    /// A fresh one. The built-in offline model answers where `config` says nothing else.
    pub(crate) fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Self { folder };
        std::fs::create_dir_all(home.workspace()).unwrap();
        std::fs::create_dir_all(home.config_file().parent().unwrap()).unwrap();
        home.configure(config);
        home
    }

    /// One that asks a server on loopback.
    pub(crate) fn asking(base_url: &str) -> Self {
        Self::new(&profile(base_url))
    }

    /// One that replays a recording: quick, and no vocabulary is read.
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

    /// Something in this world.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// The store's file.
    pub(crate) fn store(&self) -> PathBuf {
        self.path("store/pleach.db")
    }

    /// The files beside the store, and itself, that hold these bytes; backups are not looked at.
    pub(crate) fn holding(&self, word: &str) -> Vec<String> {
        let folder = std::fs::read_dir(self.store().parent().unwrap()).unwrap();
        let files = folder.flatten().filter(|entry| entry.path().is_file());
        let named =
            files.map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()));
        let holds = |bytes: &[u8]| bytes.windows(word.len()).any(|found| found == word.as_bytes());
        named.filter(|(name, bytes)| !name.contains(".backup-") && holds(bytes)).map(|(name, _)| name).collect()
    }

    /// The folder in which commands run.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("work")
    }

    /// The environment of this world, and nothing of the one around it.
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

    /// The command, not started yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pleach"));
        command.args(args).env_clear().envs(self.env()).current_dir(self.workspace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        finish(self.command(args).spawn().unwrap())
    }

    /// Runs it with something on standard input.
    pub(crate) fn fed(&self, args: &[&str], input: &[u8]) -> Said {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let input = input.to_vec();
        std::thread::spawn(move || {
            let _ = pipe.write_all(&input);
        });
        finish(child)
    }

    /// Runs it with more in the environment.
    pub(crate) fn with(&self, env: &[(&str, &str)], args: &[&str]) -> Said {
        finish(self.command(args).envs(env.iter().copied()).spawn().unwrap())
    }

    /// Runs what must succeed, and gives its standard output.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.code, 0, "{args:?}\n{}\n{}", said.out, said.err);
        said.out
    }

    /// Runs what must succeed with `--json`.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        let out = self.ok(&all);
        assert_eq!(out.trim_end().lines().count(), 1, "{args:?}: one value in one line\n{out}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}\n{out}"))
    }

    /// SQLite's own opinion of the store.
    pub(crate) fn assert_sound(&self) {
        let store = rusqlite::Connection::open(self.store()).unwrap();
        let verdict: String = store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(verdict, "ok");
        let orphans = store.prepare("PRAGMA foreign_key_check").unwrap().query_map([], |_| Ok(())).unwrap().count();
        assert_eq!(orphans, 0, "rows that point nowhere");
    }
}

/// Settings that ask a server on loopback, once.
pub(crate) fn profile(base_url: &str) -> String {
    format!(
        "profile = \"test\"\n[profiles.test]\nbase_url = \"{base_url}\"\nmodel = \"gpt-4o-mini\"\napi_key_env = \"TEST_KEY\"\n\
         attempts = 1\ncontext_window = 16000\n"
    )
}

/// Waits for the end of a command.
pub(crate) fn finish(mut child: Child) -> Said {
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (said, heard) = channel();
    let also = said.clone();
    std::thread::spawn(move || said.send((true, read(&mut out))));
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
    assert!(!hung, "the command hung\n{}\n{}", texts[0], texts[1]);
    let [out, err] = texts;
    Said { code, out, err }
}

fn read(from: &mut dyn Read) -> String {
    let mut bytes = Vec::new();
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8(bytes).expect("everything that is printed is UTF-8")
}
