//! Attacks of sandboxed commands on the rest of the system, and commands that must work in the sandbox: as root and as
//! an ordinary user, with all namespaces, without a process namespace, and without any. Each case runs in a process
//! with its own home folder. Where the machine lacks a protection, the tests check that the program says so before
//! approval.

use crate::tools::sandbox_commands::{Place, options, runs, sleeper};
use pleach::domain::tool::{FileVisibility, ToolObserver};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

/// Capabilities that are taken from the test process and its children.
const REFUSED: &[&str] = &["nothing", "processes", "namespaces"];
const REFUSE: &str = "CAGE_TEST_REFUSE";
/// A user id without an account.
const OTHER_USER: u32 = 54_321;

/// Files in a home folder with content that no command may read.
const CREDENTIALS: &[&str] = &[
    ".ssh/id_ed25519",
    ".gnupg/key",
    ".aws/credentials",
    ".azure/token",
    ".config/gcloud/credentials.db",
    ".kube/config",
    ".docker/config.json",
    ".config/gh/hosts.yml",
    ".config/git/credentials",
    ".config/git/config",
    ".git-credentials",
    ".gitconfig",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".config/pip/pip.conf",
    ".condarc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".cargo/config.toml",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet/NuGet.Config",
    ".dotnet/corefx/cryptography/key",
    ".local/share/keyrings/login.keyring",
    ".local/share/uv/credentials/credentials.toml",
    ".bash_history",
    ".pyenv/versions/3.1/pip.conf",
    ".nvm/versions/node/v1/etc/npmrc",
    "miniconda3/.condarc",
    ".julia/servers/x/auth.toml",
    ".stack/upload/credentials.json",
    ".cabal/config",
];
/// Paths in a home folder that commands need and may read.
const NEEDED: &[&str] =
    &[".cargo/registry/index", ".pyenv/versions/3.1/bin/x", ".nvm/versions/node/v1/bin/x", ".config/git/ignore"];

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Fills the home folder of this process, which must be one that `each` made.
fn home() -> PathBuf {
    assert!(
        std::env::var_os(REFUSE).is_some(),
        "this test overwrites files of the home folder; another test starts it"
    );
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    for (number, name) in CREDENTIALS.iter().enumerate() {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = match *name {
            ".gitconfig" => "[user]\n\tname = Ann\n\temail = a@b\n[github]\n\ttoken = HIDDEN-THING\n".into(),
            ".config/git/config" => "[alias]\n\tst = status\n[http]\n\textraheader = HIDDEN-THING\n".into(),
            ".cargo/config.toml" => "[term]\nquiet = true\n[registry]\ntoken = \"HIDDEN-THING\"\n".into(),
            _ => format!("HIDDEN-THING {number}\n"),
        };
        fs::write(path, text).unwrap();
    }
    for name in NEEDED {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "NEEDED\n").unwrap();
    }
    fs::set_permissions(home.join(".ssh"), fs::Permissions::from_mode(0o700)).unwrap();
    home
}

/// Runs a test as each user and on each kind of system, in separate processes.
fn each(test: &str) {
    let users: &[Option<u32>] = if is_root() { &[None, Some(OTHER_USER)] } else { &[None] };
    for (user, refused) in users.iter().flat_map(|user| REFUSED.iter().map(move |refused| (*user, *refused))) {
        let place = TempDir::new().unwrap();
        let mut own = Command::new(std::env::current_exe().unwrap());
        own.args([
            "--ignored",
            "--exact",
            &format!("tools::sandbox_attacks::{test}"),
            "--nocapture",
            "--test-threads=1",
        ]);
        for name in ["home", "tmp"] {
            fs::create_dir(place.path().join(name)).unwrap();
            std::os::unix::fs::chown(place.path().join(name), user, user).unwrap();
        }
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let old = std::env::home_dir().unwrap();
        for (name, usual) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
            own.env(name, std::env::var_os(name).map_or_else(|| old.join(usual), PathBuf::from));
        }
        own.env("HOME", place.path().join("home")).env("TMPDIR", place.path().join("tmp")).env(REFUSE, refused);
        own.env("CARGO_NET_OFFLINE", "true").current_dir("/");
        if let Some(user) = user {
            own.uid(user).gid(user);
        }
        let output = match own.output() {
            Ok(output) => output,
            // Only another user may lack access to the test binary's folder. Written directly to the terminal, because
            // the harness hides the output of passing tests.
            Err(error) if user.is_some() && error.kind() == ErrorKind::PermissionDenied => {
                let binary = std::env::current_exe().unwrap();
                let notice = format!(
                    "tools::sandbox_attacks::{test}: not tried as user {user:?}, who may not start {}",
                    binary.display()
                );
                std::io::stderr().write_all(format!("{notice}: {error}\n").as_bytes()).unwrap();
                continue;
            }
            Err(error) => panic!("as {user:?} without {refused}: {error}"),
        };
        let shown = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && shown.contains("1 passed"), "as {user:?} without {refused}:\n{shown}");
    }
}

/// Restricts this thread and its children as the environment says.
fn refuse() -> String {
    use seccompiler::{SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule};
    let refused = std::env::var(REFUSE).expect("started by another test");
    let rules = match refused.as_str() {
        "processes" => {
            let flag = u64::from(libc::CLONE_NEWPID.unsigned_abs());
            let op = SeccompCmpOp::MaskedEq(flag);
            let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, op, flag).unwrap();
            vec![SeccompRule::new(vec![condition]).unwrap()]
        }
        "namespaces" => Vec::new(),
        _ => return refused,
    };
    let rules = BTreeMap::from([(libc::SYS_unshare, rules)]);
    let machine = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(1), machine).unwrap();
    let program: seccompiler::BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
    refused
}

/// What the program reports about namespaces, which determines the expected results.
fn namespaces(place: &Place) -> (bool, bool) {
    let protection = place.effect(&json!({"line": "true"})).unwrap().protection;
    let line = protection.iter().find(|line| line.starts_with("processes: ")).unwrap().clone();
    let none = line.contains("can change modes and times of your files anywhere");
    let whole = line.contains("sees only its own processes");
    assert!(none || whole || line.contains("sees other processes"), "{line}");
    (!none, whole)
}

struct Bystander(Child);

impl Bystander {
    fn new() -> Self {
        let child = Command::new("tail").args(["-f", "/dev/null"]).stdout(Stdio::null()).spawn().unwrap();
        Self(child)
    }

    /// State that another process could have changed.
    fn state(&mut self) -> Vec<String> {
        assert!(self.0.try_wait().unwrap().is_none(), "it was killed");
        state(self.0.id())
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Limits, priority, scheduler, and CPU affinity.
fn state(pid: u32) -> Vec<String> {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
    let stat = read("stat");
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let allowed = read("status").lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap().to_owned();
    let io = Command::new("ionice").args(["-p", &pid.to_string()]).output();
    let io = io.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
    vec![read("limits"), fields[15..17].join(" "), fields[37..39].join(" "), allowed, io]
}

#[derive(PartialEq, Debug)]
struct FileState {
    mode: u32,
    owner: (u32, u32),
    times: (i64, i64),
    attributes: String,
}

fn file_state(path: &Path) -> FileState {
    let meta = fs::metadata(path).unwrap();
    let mut names = vec![0; 1_000];
    let count = rustix::fs::listxattr(path, &mut names[..]).unwrap_or(0);
    FileState {
        mode: meta.mode() & 0o7777,
        owner: (meta.uid(), meta.gid()),
        times: (meta.mtime(), meta.mtime_nsec()),
        attributes: String::from_utf8_lossy(&names[..count]).into_owned(),
    }
}

#[test]
fn attacks_fail_as_any_user_on_any_system() {
    each("attacks");
}

#[test]
#[ignore = "another test starts it in a process of its own"]
fn attacks() {
    let home = home();
    let refused = refuse();
    let place = Place::with(options(), 200_000);
    let (mounts, whole) = namespaces(&place);
    assert!(refused != "namespaces" || !mounts, "they were refused");
    assert!(refused == "nothing" || !whole, "the call was denied");
    processes(&place, whole);
    files(&place, &home, mounts);
    credentials(&place, &home, mounts);
}

fn processes(place: &Place, whole: bool) {
    let mut outside = Bystander::new();
    let pids = [outside.0.id(), std::process::id()];
    let before = (outside.state(), state(pids[1]));
    for pid in pids {
        for line in [
            format!("prlimit --pid {pid} --nofile=9:9 --core=0:0"),
            format!("renice -n 19 -p {pid}"),
            "renice -n 19 -u $(id -u)".into(),
            format!("taskset -p 1 {pid}"),
            format!("chrt -b -p 0 {pid}"),
            format!("chrt -i -p 0 {pid}"),
            format!("ionice -c 3 -p {pid}"),
            "ionice -c 3 -u $(id -u)".into(),
            format!("kill -STOP {pid}"),
            format!("kill -9 {pid}"),
            format!("cat /proc/{pid}/environ"),
            format!("head -c 1 /proc/{pid}/mem"),
            format!("exec 9< /proc/{pid}/fd/0"),
            format!("gdb -p {pid} -batch"),
        ] {
            let done = place.line(&line);
            assert!(done.exit != Some(0) || line.contains(" -u "), "{line}: {}", done.output.body);
            assert!(!done.output.body.contains(&format!("{REFUSE}=")), "{line}");
        }
    }
    assert_eq!((outside.state(), state(pids[1])), before);
    if whole {
        let done = place.line("kill -9 -1; kill -9 1; ls /proc | grep -c '^[0-9]'");
        let count = done.output.body.lines().last().unwrap_or_default().parse::<u32>();
        assert!(count.is_ok_and(|count| count < 6), "{}", done.output.body);
    } else {
        assert_ne!(place.line("kill -9 -1").exit, Some(0));
    }
    assert_eq!((outside.state(), state(pids[1])), before);
}

fn files(place: &Place, home: &Path, mounts: bool) {
    let tool = place.outside("tool");
    fs::write(&tool, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let all = [tool, place.outside("secret"), home.join(".ssh"), home.join(".cargo/registry/index")];
    let python = "/usr/bin/python3 -c 'import os, sys; p = sys.argv[1]; ";
    for path in &all {
        let before = file_state(path);
        let name = path.display();
        for line in [
            format!("chmod 0777 {name}"),
            format!("chmod u+s {name}"),
            format!("chmod 06755 {name}"),
            format!("chown 1:1 {name}"),
            format!("chown -h {} {name}", before.owner.0),
            format!("chgrp 1 {name}"),
            format!("setfattr -n user.x -v y {name}"),
            format!("chattr +d {name}"),
            format!("{python}os.setxattr(p, \"user.x\", b\"y\")' {name}"),
            format!("{python}f = os.open(p, os.O_RDONLY); os.fchmod(f, 0o4755)' {name}"),
            format!("{python}f = os.open(p, os.O_RDONLY); os.setxattr(f, \"user.x\", b\"y\")' {name}"),
        ] {
            let done = place.line(&line);
            assert!(done.exit != Some(0) || line.starts_with("chown -h"), "{line}: {}", done.output.body);
        }
        assert_eq!(file_state(path), before, "{name}");
        // What a command without its own mounts can do is reported, as `namespaces` asserts.
        for line in [format!("touch -d 2001-01-01 {name}"), format!("chmod 0711 {name}")] {
            let exit = place.line(&line).exit;
            assert!(!mounts || exit != Some(0), "{line}");
        }
        assert!(!mounts || file_state(path) == before, "{name}");
    }
    // Set-user-ID and set-group-ID files cannot be created in the workspace either.
    for mode in ["4755", "2755", "g+s"] {
        let made = format!("cp /bin/true own; chmod {mode} own; echo $?; [ ! -u own ] && [ ! -g own ] && echo plain");
        assert_eq!(place.line(&made).output.body.lines().last(), Some("plain"), "{mode}");
    }
    let made = "/usr/bin/python3 -c 'import os; os.open(\"new\", os.O_CREAT | os.O_WRONLY, 0o2755)'; [ ! -g new ] && \
                echo plain";
    assert_eq!(place.line(made).output.body.lines().last(), Some("plain"));
}

fn credentials(place: &Place, home: &Path, mounts: bool) {
    let command =
        format!("cd {}; cat {}; grep -rs HIDDEN-THING . ; cat /etc/shadow", home.display(), CREDENTIALS.join(" "));
    let done = place.line(&command);
    assert!(!done.output.body.contains("HIDDEN-THING") && !done.output.body.contains("root:"), "{}", done.output.body);
    let done = place.line(&format!("cd {} && cat {}", home.display(), NEEDED.join(" ")));
    assert_eq!(done.output.body.matches("NEEDED").count(), NEEDED.len(), "{}", done.output.body);
    let done = place.line("cat ~/.cargo/config.toml");
    assert_eq!(done.output.body.contains("quiet = true"), mounts, "{}", done.output.body);
    let protection = place.effect(&json!({"line": "true"})).unwrap().protection;
    assert_eq!(
        protection.iter().any(|line| line.starts_with("hidden: ") && line.contains(".cargo/config.toml")),
        !mounts
    );
    let named = home.join(".aws");
    for (readable, open) in [(home.to_owned(), false), (named, true)] {
        let place = Place::with(pleach::tools::EffectOptions { readable: vec![readable], ..options() }, 20_000);
        let done = place.line("cat ~/.aws/credentials ~/.ssh/id_ed25519");
        assert_eq!(done.output.body.matches("HIDDEN-THING").count(), usize::from(open), "{}", done.output.body);
    }
}

/// Commands that must work in the sandbox, each with its requirement, which is first checked outside.
const WORKS: &[(&str, &str)] = &[
    ("true", "touch x && chmod +x x && [ -x x ] && chmod 600 x && touch -d 2020-01-01 x && [ x -ot /etc/passwd ]"),
    ("true", "t=$(mktemp -d) && echo a > $t/b && mv $t/b c && cat c"),
    ("true", "sleep 99 & kill $!; wait $!; [ $? = 143 ]"),
    ("true", "set -m; sleep 99 & kill %1; wait; true"),
    ("true", "nice -n 5 true && exec 3< <(echo y) && read -r z <&3 && [ $z = y ]"),
    ("true", "bash -c 'kill -9 $$'; [ $? = 137 ]"),
    ("true", "[ -r /proc/self/status ] && [ -d /proc/$$ ]"),
    ("true", "mkdir d && echo a > d/e && cp -a d f && cat f/e"),
    ("tar --version", "mkdir g && echo a > g/h && tar cf g.tar g && rm -r g && tar xf g.tar && cat g/h"),
    ("cc --version", "echo 'int main(){return 7;}' > a.c && cc a.c -o a && { ./a; [ $? = 7 ]; }"),
    ("make --version", "printf 'all:\\n\\techo made > out.txt\\n' > Makefile && make && cat out.txt"),
    (
        "git --version",
        "git init -q repo && cd repo && echo a > b && git add b && git commit -qm c && git st --short && \
         [ $(git log --format=%an) = Ann ]",
    ),
    (
        "/usr/bin/python3 --version",
        "/usr/bin/python3 -c 'import subprocess, tempfile; subprocess.check_call([\"true\"]); tempfile.mkdtemp()'",
    ),
    ("node --version", "node -e 'require(\"child_process\").execSync(\"true\")'"),
    ("npm --version", "npm --version"),
    (
        "cargo --version",
        "cargo init -q $VCS --name tiny tiny && cd tiny && cargo build -q --offline && ./target/debug/tiny && cargo \
            test -q --offline",
    ),
];

#[test]
fn needed_commands_work_as_any_user_on_any_system() {
    each("works");
}

#[test]
#[ignore = "another test starts it in a process of its own"]
fn works() {
    home();
    refuse();
    let place = Place::with(options(), 200_000);
    let (mounts, whole) = namespaces(&place);
    // Without mounts, `.gitconfig` with its token is hidden, and the git library in cargo insists on reading it.
    let vcs = if mounts { "" } else { "--vcs none" };
    for (needs, line) in WORKS {
        let outside = Command::new("bash").args(["-c", needs]).output().unwrap();
        if !outside.status.success() {
            println!("skipped: {needs} fails outside too");
            continue;
        }
        let done = place.line(&line.replace("$VCS", vcs));
        assert_eq!(done.exit, Some(0), "{line}: {}", done.output.body);
    }
    let orphan = "(sh -c 'exit 4' & echo $! > pid); read p < pid; while kill -0 $p 2> /dev/null; do :; done; exit 3";
    for (line, starts) in [
        ("exit 3", "[exit 3;"),
        (orphan, "[exit 3;"),
        ("kill -9 $$", "[terminated by signal 9;"),
        ("kill $$", "[terminated by signal 15;"),
    ] {
        let done = place.line(line);
        assert!(done.output.body.starts_with(starts), "{line}: {}", done.output.body);
    }
    if whole {
        kill_the_guard(&place);
    }
}

/// Kills the guard after the first output.
struct Killer(AtomicBool);

impl ToolObserver for Killer {
    fn file_visibility(&self) -> FileVisibility {
        FileVisibility::default()
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn on_output(&self, _: &str) {
        if self.0.swap(true, Ordering::SeqCst) {
            return;
        }
        let own = format!(" {} ", std::process::id());
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let read = |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
            let is_child = read("stat").rsplit_once(')').is_some_and(|(_, rest)| rest[2..].starts_with(&own));
            let pid = entry.file_name().to_string_lossy().parse::<i32>().ok().and_then(rustix::process::Pid::from_raw);
            if let Some(pid) = pid.filter(|_| is_child && read("cmdline").contains("__confined")) {
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            }
        }
    }
}

fn kill_the_guard(place: &Place) {
    let (mark, sleeper) = sleeper(5);
    let line = json!({ "line": format!("trap '' TERM; setsid {sleeper} & echo ready; {sleeper}") });
    let done = place.go(&line, &Killer(AtomicBool::new(false)));
    assert!(done.output.body.contains("its guard process was ended"), "{}", done.output.body);
    assert!(!runs(&mark), "processes are left");
}

#[test]
fn next_start_clears_what_a_killed_program_left() {
    let place = TempDir::new().unwrap();
    let own = |test: &str, home: &Path| {
        let mut own = Command::new(std::env::current_exe().unwrap());
        own.args(["--ignored", "--exact", &format!("tools::sandbox_attacks::{test}"), "--nocapture"]);
        let output = own.env("TMPDIR", place.path()).env("HOME", home).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let count = || {
        fs::read_dir(place.path())
            .unwrap()
            .filter(|one| one.as_ref().unwrap().file_name().to_string_lossy().starts_with("pleach-"))
            .count()
    };
    let living = Place::new();
    let body = living.line("echo $TMPDIR").output.body;
    own("leaves", place.path());
    assert_eq!(count(), 1, "it left its folder");
    assert!(own("starts", place.path()).contains("1 passed"));
    assert_eq!(count(), 0);
    let file_state = PathBuf::from(body.lines().nth(1).unwrap());
    drop(Place::new());
    assert!(file_state.is_dir(), "the folder of a running program stays");
    assert!(own("starts", Path::new("elsewhere")).contains("HOME is a relative path (elsewhere)"));
}

#[test]
#[ignore = "another test starts it in a process of its own"]
fn leaves() {
    let place = Place::new();
    assert_eq!(place.line("mkdir -p $TMPDIR/a/b && echo x > $TMPDIR/a/b/c").exit, Some(0));
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
}

#[test]
#[ignore = "another test starts it in a process of its own"]
fn starts() {
    if let Err(refused) = Place::new().effect(&json!({"line": "true"})) {
        println!("{}", refused.body);
    }
}
