//! Checks whether a server could be started, without starting it.
//! Not for: starting a server (`server_process`).

use crate::domain::tool::{ServerSpec, ServerTransport};
use std::path::Path;

/// Returns the missing requirement for starting a server and the next step, or `None` if the server could be started.
pub fn missing(spec: &ServerSpec) -> Option<(String, String)> {
    let (command, env, folder) = match &spec.way {
        Err(why) => return Some((why.clone(), "Correct the server's entry.".into())),
        Ok(ServerTransport::Address { .. }) => return None,
        Ok(ServerTransport::Program { command, env, folder, .. }) => (command.reveal(), env, Path::new(folder)),
    };
    let own = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.reveal().into());
    let path: Option<std::ffi::OsString> = own.or_else(|| std::env::var_os("PATH"));
    // The command as written in the settings, because the value of a variable can be a secret.
    let shown = spec.shown.split_whitespace().next().unwrap_or_default();
    if !folder.is_dir() {
        return Some(("the folder it should run in was not found".into(), "Correct its cwd.".into()));
    }
    let there = if Path::new(command).components().count() > 1 {
        runs(&folder.join(command))
    } else {
        path.is_some_and(|path| std::env::split_paths(&path).any(|place| runs(&folder.join(place).join(command))))
    };
    let todo = "Install it, or give its full path as `command`.";
    (!there).then(|| (format!("the program {shown} was not found"), todo.into()))
}

#[cfg(unix)]
fn runs(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// On other systems, the system decides which files are executable.
#[cfg(not(unix))]
fn runs(_: &Path) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::domain::tool::mcp::{Origin, Secret};

    fn spec(command: &str, path: Option<&str>, folder: &str) -> ServerSpec {
        let env = path.map(|path| ("PATH".to_owned(), Secret::new(path))).into_iter().collect();
        let way = ServerTransport::Program { command: Secret::new(command), args: vec![], env, folder: folder.into() };
        ServerSpec {
            name: "s".into(),
            origin: Origin::Settings,
            way: Ok(way),
            shown: format!("{command} -x"),
            given: vec![],
            disabled: false,
            seconds: 1,
            start_seconds: 1,
        }
    }

    #[test]
    fn a_program_is_searched_where_it_would_be_started() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().display().to_string();
        let file = folder.path().join("tool");
        std::fs::write(&file, "").unwrap();
        assert!(missing(&spec("tool", Some(&here), "/")).is_some(), "a file that is not executable is no program");
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(missing(&spec("tool", Some(&here), "/")), None);
        assert_eq!(missing(&spec("./tool", None, &here)), None);
        assert_eq!(missing(&spec("sh", None, "/")), None);
        let (why, todo) = missing(&spec("tool", None, "/")).unwrap();
        assert!(why == "the program tool was not found" && todo.starts_with("Install it"));
        assert!(missing(&spec("sh", None, "/no/such")).unwrap().0.contains("the folder"));
        let unset = ServerSpec { way: Err("the variable KEY is not set".into()), ..spec("sh", None, "/") };
        assert_eq!(missing(&unset).unwrap().0, "the variable KEY is not set");
    }
}
