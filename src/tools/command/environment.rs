//! The environment of a command: variables of an allowlist, except those whose name looks like a secret.
//! Not for: this program's settings.

use std::ffi::OsString;
use std::path::Path;

const PASSED_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "CARGO_TARGET_DIR",
    "RUSTFLAGS",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "GOPATH",
    "GOROOT",
    "GOFLAGS",
    "GOMODCACHE",
    "NVM_DIR",
    "NODE_PATH",
    "NODE_ENV",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONPATH",
    "PYTHONDONTWRITEBYTECODE",
    "GEM_HOME",
    "GEM_PATH",
    "RBENV_ROOT",
    "JAVA_HOME",
    "ANDROID_HOME",
    "DOTNET_ROOT",
    "CC",
    "CXX",
    "CPP",
    "AR",
    "LD",
    "NM",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "CMAKE_PREFIX_PATH",
    "NIX_PATH",
    "NIX_PROFILES",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE",
    "SOURCE_DATE_EPOCH",
];
/// Parts of names that mark a variable as secret, even if it is on the list.
const SECRET_PARTS: &[&str] = &["KEY", "SECRET", "TOKEN", "PASSW", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE"];

/// Returns the environment of a command: the allowed variables, and variables that point to the scratch folder and to
/// the copied git settings.
pub(crate) fn filtered(
    all: impl Iterator<Item = (OsString, OsString)>,
    scratch: &Path,
    git: &Path,
) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<(OsString, OsString)> = all.filter(|(name, _)| name.to_str().is_some_and(is_passed_on)).collect();
    kept.sort();
    let cache = scratch.join("cache");
    let own: [(&str, OsString); 11] = [
        ("TERM", "dumb".into()),
        ("NO_COLOR", "1".into()),
        ("CARGO_TERM_COLOR", "never".into()),
        ("PAGER", "cat".into()),
        ("GIT_PAGER", "cat".into()),
        ("GIT_TERMINAL_PROMPT", "0".into()),
        ("GIT_CONFIG_GLOBAL", git.as_os_str().to_owned()),
        // As root, tar would try to restore file owners, which the sandbox refuses.
        ("TAR_OPTIONS", "--no-same-owner".into()),
        ("TMPDIR", scratch.as_os_str().to_owned()),
        ("npm_config_cache", cache.join("npm").into_os_string()),
        ("XDG_CACHE_HOME", cache.into_os_string()),
    ];
    kept.extend(own.map(|(name, value)| (name.into(), value)));
    kept
}

fn is_passed_on(name: &str) -> bool {
    (PASSED_VARIABLES.contains(&name) || name.starts_with("LC_")) && !is_secret(name)
}

/// Whether a variable's name looks like a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let big = name.to_ascii_uppercase();
    SECRET_PARTS.iter().any(|part| big.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_are_passed_on() {
        let given = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("OPENAI_API_KEY", "sk-1"),
            ("LC_TOKEN", "x"),
            ("GITHUB_TOKEN", "x"),
            ("TMPDIR", "/elsewhere"),
            ("BASH_ENV", "/evil"),
            ("LD_PRELOAD", "/evil"),
            ("SSH_AUTH_SOCK", "/s"),
        ];
        let got = filtered(
            given.map(|(name, value)| (name.into(), value.into())).into_iter(),
            Path::new("/own"),
            Path::new("/git"),
        );
        let names: Vec<&str> = got.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names[..3], ["LC_ALL", "PATH", "TERM"]);
        assert!(!names.iter().any(|name| name.contains("KEY") || name.contains("TOKEN") || name.contains("SSH")));
        let temporary: Vec<_> = got.iter().filter(|(name, _)| name == "TMPDIR").collect();
        assert_eq!(temporary.len(), 1);
        assert_eq!(temporary[0].1, "/own");
    }
}
