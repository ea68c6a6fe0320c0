//! Commands in the real sandbox, including every known way out of it.
//! Protections that this kernel lacks are printed, and the checks that need them are skipped.
#![cfg(unix)]

use pleach::domain::tool::{
    Command, FileVisibility, RunTools, ToolEffect, ToolObserver, ToolOutcome, ToolOutput, ToolStatus,
};
use pleach::tools::{EffectOptions, Workspace};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

/// Collects output, and stops the command once it contains a text.
#[derive(Default)]
struct Listener {
    stop_at: Option<&'static str>,
    heard: Mutex<Vec<String>>,
    stop: AtomicBool,
}

impl Listener {
    fn until(text: &'static str) -> Self {
        Self { stop_at: Some(text), ..Self::default() }
    }

    fn all(&self) -> String {
        self.heard.lock().unwrap().concat()
    }
}

impl ToolObserver for Listener {
    fn file_visibility(&self) -> FileVisibility {
        FileVisibility::default()
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn on_output(&self, text: &str) {
        self.heard.lock().unwrap().push(text.to_owned());
        if self.stop_at.is_some_and(|stop| self.all().contains(stop)) {
            self.stop.store(true, Ordering::SeqCst);
        }
    }
}

pub(crate) struct Place {
    pub(crate) outer: TempDir,
    pub(crate) space: Workspace,
}

pub(crate) fn options() -> EffectOptions {
    EffectOptions { program: Some(env!("CARGO_BIN_EXE_pleach").into()), ..EffectOptions::default() }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with(options(), 20_000)
    }

    pub(crate) fn with(options: EffectOptions, limit: usize) -> Self {
        let outer = TempDir::new().unwrap();
        for name in ["in/src", "out"] {
            fs::create_dir_all(outer.path().join(name)).unwrap();
        }
        fs::write(outer.path().join("out/secret"), "outside-secret").unwrap();
        let space = Workspace::open_with_effects(&outer.path().join("in"), limit, options).unwrap();
        Self { outer, space }
    }

    pub(crate) fn inside(&self, name: &str) -> PathBuf {
        self.outer.path().join("in").join(name)
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.outer.path().join("out").join(name)
    }

    pub(crate) fn effect(&self, args: &serde_json::Value) -> Result<Command, ToolOutput> {
        match self.space.effect("run", &args.to_string())? {
            ToolEffect::Run(command) => Ok(command),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn go(&self, args: &serde_json::Value, watch: &dyn ToolObserver) -> ToolOutcome {
        let effect = ToolEffect::Run(self.effect(args).unwrap());
        let done = self.space.carry_out("run", &args.to_string(), &effect, &[], watch);
        assert!(done.changed.is_empty() && done.output.full_bytes >= done.output.body.len() as u64);
        done
    }

    pub(crate) fn line(&self, line: &str) -> ToolOutcome {
        self.go(&json!({ "line": line }), &Listener::default())
    }

    /// Whether the sandbox has a protection. Prints a note if not.
    fn has(&self, part: &str) -> bool {
        let mechanisms = self.effect(&json!({"line": "true"})).unwrap().mechanisms.unwrap();
        let has = mechanisms.contains(part) && !mechanisms.contains(&format!("no {part}"));
        if !has {
            #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
            {
                println!("skipped: this kernel has no {part}");
            }
        }
        has
    }
}

/// A command that never ends, and a mark that identifies it among all processes.
pub(crate) fn sleeper(which: u8) -> (String, String) {
    let mark = format!("9{}.{which}", std::process::id());
    (mark.clone(), format!("tail -s {mark} -f /dev/null"))
}

/// Whether any process has a mark in its command line.
pub(crate) fn runs(mark: &str) -> bool {
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_name().to_string_lossy() != own)
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(mark))
}

#[test]
fn commands_report_their_end_and_output() {
    let place = Place::new();
    let done = place.line("echo out; echo err >&2; pwd");
    let root = place.inside("").canonicalize().unwrap();
    assert_eq!((done.output.status, done.exit), (ToolStatus::Ok, Some(0)), "{}", done.output.body);
    assert_eq!(done.output.body, format!("[exit 0]\nout\nerr\n{}\n", root.display()));
    let failed = place.line("exit 3");
    assert_eq!((failed.output.status, failed.exit), (ToolStatus::Failed, Some(3)));
    assert_eq!(failed.output.body, "[exit 3; no output]\n");
    let killed = place.line("kill -9 $$");
    assert_eq!((killed.output.status, killed.exit), (ToolStatus::Failed, None));
    assert!(killed.output.body.starts_with("[terminated by signal 9"), "{}", killed.output.body);
    let inner = place.go(
        &json!({"line": "basename \"$PWD\"; cat; [ -t 0 ] || echo no terminal", "folder": "src"}),
        &Listener::default(),
    );
    assert_eq!(inner.output.body, "[exit 0]\nsrc\nno terminal\n");
    assert_eq!(place.line("yes | head -n 2; echo \"${PIPESTATUS[0]}\"").output.body, "[exit 0]\ny\ny\n141\n");
    let limits = place.line("ulimit -c; [ \"$(ulimit -f)\" = unlimited ] || echo bounded");
    assert_eq!(limits.output.body, "[exit 0]\n0\nbounded\n");
    assert!(place.line("true > made; printf 'caf\\351'").output.body.ends_with("caf\u{fffd}"));
    assert!(place.inside("made").exists());
}

#[test]
fn output_is_streamed_while_a_command_runs() {
    let place = Place::new();
    // The command runs forever unless its first output is received meanwhile.
    let watch = Listener::until("first");
    let done = place.go(&json!({"line": "echo first; tail -f /dev/null"}), &watch);
    assert_eq!(done.output.status, ToolStatus::Cancelled);
    assert!(done.output.body.starts_with("[stopped by the user]\nfirst\n"), "{}", done.output.body);
    assert!(watch.all().contains("first"));
}

#[test]
fn stubborn_commands_are_killed() {
    let place = Place::new();
    let (mark, sleeper) = sleeper(8);
    let line = format!("trap '' TERM INT HUP; echo ready; while :; do {sleeper}; done");
    let done = place.go(&json!({ "line": line }), &Listener::until("ready"));
    assert_eq!((done.output.status, done.exit), (ToolStatus::Cancelled, None));
    let done = place.go(&json!({"line": line, "seconds": 1}), &Listener::default());
    assert_eq!(done.output.status, ToolStatus::Failed);
    assert!(done.output.body.starts_with("[stopped after 1 s, its time limit"), "{}", done.output.body);
    assert!(!runs(&mark), "a process is left");
    assert_eq!(place.effect(&json!({"line": "true", "seconds": 1_000_000})).unwrap().seconds, 600);
}

#[test]
fn background_processes_are_killed() {
    let place = Place::new();
    let (mark, sleeper) = sleeper(7);
    let line =
        format!("({sleeper} &) ; setsid {sleeper} >/dev/null 2>&1 & nohup {sleeper} >/dev/null 2>&1 & echo done");
    let done = place.line(&line);
    assert_eq!((done.output.status, done.exit), (ToolStatus::Ok, Some(0)), "{}", done.output.body);
    assert!(done.output.body.contains("left running"), "{}", done.output.body);
    assert!(done.output.body.contains("done\n"));
    assert!(!cfg!(target_os = "linux") || !runs(&mark), "a process is left");
}

#[test]
fn large_output_is_cut_in_the_middle() {
    let place = Place::with(options(), 4_000);
    let watch = Listener::default();
    let line = "echo begin; yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | head -c 1000000000; echo end";
    let done = place.go(&json!({ "line": line }), &watch);
    let body = &done.output.body;
    assert_eq!(done.exit, Some(0), "{body}");
    assert!(body.len() < 5_000 && body.starts_with("[exit 0]\nbegin\n") && body.ends_with("end\n"), "{body}");
    assert!(body.contains("bytes of output in the middle were not kept; run the command again through grep"), "{body}");
    assert_eq!(done.output.full_bytes, 1_000_000_010 + "[exit 0]\n".len() as u64);
    let longest = watch.heard.lock().unwrap().iter().map(String::len).max().unwrap();
    assert!(longest < 9_000, "a piece of {longest} bytes");
}

#[test]
fn fork_bomb_is_killed() {
    let place = Place::with(EffectOptions { processes: 60, ..options() }, 20_000);
    if !cfg!(target_os = "linux") {
        return;
    }
    let (mark, sleeper) = sleeper(6);
    let done = place.line(&format!("for i in $(seq 400); do {sleeper} & done; wait"));
    assert_eq!(done.output.status, ToolStatus::Failed);
    assert!(done.output.body.starts_with("[stopped: too many processes"), "{}", done.output.body);
    assert!(!runs(&mark), "a process is left");
    // Each starts two, as in a real fork bomb, but only eight levels deep, so that the machine survives a failure.
    let line = format!("f() {{ if [ $1 -gt 0 ]; then f $(($1 - 1)) | f $(($1 - 1)) & fi; {sleeper}; }}; f 8");
    let done = place.line(&line);
    assert!(done.output.body.starts_with("[stopped: too many processes"), "{}", done.output.body);
    assert!(!runs(&mark), "a process is left");
}

#[test]
fn environment_contains_no_secrets() {
    let place = Place::new();
    // Cargo sets many variables for this test, and none of them is on the list.
    assert!(std::env::vars().any(|(name, _)| name == "CARGO_PKG_NAME"));
    for line in ["env", "tr '\\0' '\\n' < /proc/self/environ", "tr '\\0' '\\n' < /proc/$PPID/environ; true"] {
        let body = place.line(line).output.body;
        assert!(!body.contains("CARGO_PKG_NAME") && !body.contains("CARGO_MANIFEST"), "{line}: {body}");
    }
    let body = place.line("env").output.body;
    assert!(body.contains("\nPATH=") && body.contains("\nTERM=dumb\n") && body.contains("\nTMPDIR="), "{body}");
    if place.has("landlock") {
        let line = format!("cat /proc/{}/environ", std::process::id());
        let done = place.line(&line);
        assert_ne!(done.exit, Some(0));
        assert!(!done.output.body.contains("CARGO_PKG_NAME"), "{}", done.output.body);
    }
}

#[test]
fn nothing_outside_is_read_or_written() {
    let place = Place::new();
    if !place.has("landlock") {
        return;
    }
    let protection = place.effect(&json!({"line": "true"})).unwrap().protection;
    assert!(protection.iter().any(|line| line.contains("files that control pleach")), "{protection:?}");
    let outside = place.outside("new");
    let secret = place.outside("secret");
    std::os::unix::fs::symlink(place.outer.path().join("out"), place.inside("way")).unwrap();
    for line in [
        format!("echo x > {}", outside.display()),
        "echo x > ../out/new".into(),
        "echo x > way/new".into(),
        format!("cp /etc/hostname {}", outside.display()),
        format!("ln {} hard", secret.display()),
        format!("mv {} here", secret.display()),
        format!("rm {}", secret.display()),
        format!("cat {}", secret.display()),
        "cat way/secret".into(),
        "ls ~/.ssh ~/.config".into(),
        "echo x > ~/.pleach-test-file".into(),
        "echo x > /etc/pleach-test-file".into(),
        "mknod disk b 8 0".into(),
        "cat /dev/mem".into(),
        "ls /home/.".into(),
    ] {
        let done = place.line(&line);
        assert_ne!(done.exit, Some(0), "{line}: {}", done.output.body);
        assert!(!done.output.body.contains("outside-secret"), "{line}");
    }
    let names: Vec<_> =
        fs::read_dir(place.outer.path().join("out")).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(names, ["secret"]);
    assert_eq!(fs::read_to_string(&secret).unwrap(), "outside-secret");
    let fine = place.line(
        "echo x > src/new && mkdir -p a/b && mv src/new a/b && t=$(mktemp) && echo y > $t && cat $t \
        a/b/new && ls /usr > /dev/null",
    );
    assert_eq!(fine.output.body, "[exit 0]\ny\nx\n");
}

#[test]
fn configured_folders_are_accessible() {
    let outer = TempDir::new().unwrap();
    let more = outer.path().join("more");
    fs::create_dir_all(&more).unwrap();
    let own = outer.path().join("own");
    fs::create_dir_all(&own).unwrap();
    let acting =
        EffectOptions { writable: vec![more.clone(), outer.path().to_owned()], hidden: vec![own.clone()], ..options() };
    let place = Place::with(acting, 5_000);
    let done = place.line(&format!("echo x > {}/new", more.display()));
    assert_eq!(done.exit, Some(0), "{}", done.output.body);
    if place.has("landlock") {
        let done = place.line(&format!("echo x > {}/new", own.display()));
        assert_ne!(done.exit, Some(0), "a folder that contains the program's own files is not opened");
        assert_eq!(fs::read_dir(&own).unwrap().count(), 0);
    }
}

#[test]
fn no_network_tracing_or_new_namespaces() {
    let place = Place::new();
    if !place.has("seccomp") {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let socket = place.inside("socket");
    let _local = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    for line in [connect.as_str(), "unshare -r true", "unshare -n true", "mount -t tmpfs none src"] {
        let done = place.line(line);
        assert_ne!(done.exit, Some(0), "{line}: {}", done.output.body);
    }
    let python = "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('socket')\"";
    assert_ne!(place.line(python).exit, Some(0));
    assert_eq!(place.line("true").exit, Some(0));
    let open = Place::with(EffectOptions { network: true, ..options() }, 5_000);
    let done = open.line(&connect);
    assert_eq!(done.exit, Some(0), "{}", done.output.body);
    assert!(listener.accept().is_ok());
    assert!(
        open.effect(&json!({"line": "true"})).unwrap().protection.iter().any(|one| one.starts_with("network: open"))
    );
    let specs = |place: &Place| place.space.specs().into_iter().find(|spec| spec.name == "run").unwrap().description;
    assert!(specs(&place).contains("no network") && !specs(&open).contains("no network"));
}

#[test]
fn command_cannot_reach_its_guard() {
    let place = Place::new();
    if !place.has("landlock 6") && !place.has("landlock 7") && !place.has("landlock 8") && !place.has("landlock 9") {
        return;
    }
    // In its own process namespace the command does not see the guard, and the first process ignores signals.
    let program = std::process::id();
    let done = place.line(&format!("kill -9 $PPID; kill -9 {program}; kill -0 {program} || echo alive"));
    assert_eq!(done.exit, Some(0), "{}", done.output.body);
    assert!(done.output.body.ends_with("alive\n"), "{}", done.output.body);
}

#[test]
fn invalid_commands_are_refused() {
    let place = Place::new();
    std::os::unix::fs::symlink(place.outer.path().join("out"), place.inside("way")).unwrap();
    for (args, status) in [
        (json!({"line": "pwd", "folder": "../out"}), ToolStatus::Refused),
        (json!({"line": "pwd", "folder": "/etc"}), ToolStatus::Refused),
        (json!({"line": "pwd", "folder": "way"}), ToolStatus::Refused),
        (json!({"line": "pwd", "folder": "none"}), ToolStatus::Failed),
        (json!({"line": "a\0b"}), ToolStatus::Refused),
        (json!({"line": ""}), ToolStatus::Failed),
        (json!({"line": "x".repeat(40_000)}), ToolStatus::Failed),
        (json!({"line": "pwd", "seconds": 0}), ToolStatus::Failed),
    ] {
        assert_eq!(place.effect(&args).unwrap_err().status, status, "{args}");
    }
    // The folder was replaced by a link after the command was prepared.
    let effect = place.effect(&json!({"line": "pwd; cat secret", "folder": "src"})).unwrap();
    fs::remove_dir(place.inside("src")).unwrap();
    std::os::unix::fs::symlink(place.outer.path().join("out"), place.inside("src")).unwrap();
    let done = place.space.carry_out("run", "", &ToolEffect::Run(effect), &[], &Listener::default());
    assert_eq!(done.output.status, ToolStatus::Failed);
    assert!(
        done.output.body.contains("not run") && !done.output.body.contains("outside-secret"),
        "{}",
        done.output.body
    );
}

#[test]
fn hidden_argument_gives_no_rights() {
    let run = |input: std::process::Stdio| {
        std::process::Command::new(env!("CARGO_BIN_EXE_pleach")).arg("__confined").stdin(input).output().unwrap()
    };
    let nothing = run(std::process::Stdio::null());
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("do not run it yourself"));
    // Inside the sandbox it leads at most to a stricter sandbox.
    let place = Place::new();
    if place.has("landlock") {
        let line = format!("echo '{{}}' | {} __confined", env!("CARGO_BIN_EXE_pleach"));
        assert_ne!(place.line(&line).exit, Some(0));
    }
    let broken = Place::with(EffectOptions { program: Some("/bin/true".into()), ..EffectOptions::default() }, 1_000);
    let out = broken.effect(&json!({"line": "true"})).unwrap_err();
    assert!(out.body.contains("Nothing was run"), "{}", out.body);
}

#[test]
fn temporary_files_are_removed_with_the_workspace() {
    let place = Place::new();
    let done = place.line("echo x > $TMPDIR/kept; echo $TMPDIR");
    let folder = PathBuf::from(done.output.body.lines().nth(1).unwrap());
    assert_eq!(fs::read_to_string(folder.join("kept")).unwrap(), "x\n");
    assert_eq!(place.line("cat $TMPDIR/kept").output.body, "[exit 0]\nx\n", "the next command finds them");
    drop(place);
    assert!(!folder.exists());
}

#[test]
fn command_time_limit_follows_the_settings() {
    let place = Place::with(EffectOptions { usual: 7, seconds: 70, ..options() }, 1_000);
    let seconds = |args: serde_json::Value| place.effect(&args).unwrap().seconds;
    assert_eq!(seconds(json!({"line": "true"})), 7);
    assert_eq!(seconds(json!({"line": "true", "seconds": 9})), 9);
    assert_eq!(seconds(json!({"line": "true", "seconds": 99_999})), 70);
}

/// In a process namespace the command sees only its own processes in `/proc`, and cannot write there.
#[test]
#[cfg(target_os = "linux")]
fn own_proc_is_read_only() {
    let place = Place::new();
    let protection = place.effect(&json!({"line": "true"})).unwrap().protection;
    if !protection.iter().any(|line| line.starts_with("processes: sees only its own processes")) {
        return;
    }
    let body = place
        .line("grep ' /proc ' /proc/self/mountinfo | tail -n 1 | cut -d' ' -f6; ls /proc | grep -c '^[0-9]'")
        .output
        .body;
    let options = body.lines().nth(1).unwrap_or_default();
    for option in ["ro", "nosuid", "nodev", "noexec"] {
        assert!(options.split(',').any(|known| known == option), "{body}");
    }
    let processes: usize = body.lines().nth(2).unwrap_or_default().trim().parse().unwrap();
    assert!((1..20).contains(&processes), "{body}");
}
