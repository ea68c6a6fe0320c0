//! The parts of the home folder that a command may read: common toolchains, never credentials.
//! Not for: enforcing it (`landlock`).

use std::fs;
use std::path::{Path, PathBuf};

/// The folders of one toolchain.
struct Toolchain {
    /// Folder names in the home folder.
    folders: &'static [&'static str],
    /// The environment variable that names the folder.
    variable: Option<&'static str>,
    /// Subpaths that may be read. An empty name means the whole folder.
    parts: &'static [&'static str],
    /// Settings beneath these parts that stay hidden, because they contain names or keys of servers.
    but: &'static [Settings],
}

/// Folders beneath a toolchain's folder, and the settings in each of them. A component of a path can be `*`.
type Settings = (&'static str, &'static [&'static str]);

const fn of(folders: &'static [&'static str], parts: &'static [&'static str]) -> Toolchain {
    Toolchain { folders, variable: None, parts, but: &[] }
}

#[allow(clippy::needless_pass_by_value, reason = "a constant")]
const fn named(variable: &'static str, toolchain: Toolchain) -> Toolchain {
    Toolchain { variable: Some(variable), ..toolchain }
}

#[allow(clippy::needless_pass_by_value, reason = "a constant")]
const fn but(toolchain: Toolchain, but: &'static [Settings]) -> Toolchain {
    Toolchain { but, ..toolchain }
}

/// Settings of pip and conda in a Python folder.
const OF_PYTHON: &[&str] = &["pip.conf", ".condarc", "condarc", "envs/*/pip.conf", "envs/*/.condarc", "envs/*/condarc"];
/// Settings of npm in a Node folder.
const OF_NODE: &[&str] = &["etc"];
const OF_INSTALLS: &[Settings] =
    &[("installs/node/*", OF_NODE), ("installs/nodejs/*", OF_NODE), ("installs/python/*", OF_PYTHON)];
const TOOLCHAINS: &[Toolchain] = &[
    named("CARGO_HOME", of(&[".cargo"], &["bin", "registry", "git", "env", "config.toml", "config"])),
    named("RUSTUP_HOME", of(&[".rustup"], &["toolchains", "settings.toml", "update-hashes"])),
    of(&[".local/bin", ".local/lib", ".bun/bin", ".deno/bin", ".nix-profile"], &[""]),
    of(&[".local/share/uv"], &["python", "tools"]),
    of(&[".local/share/pnpm"], &["bin", "global", "nodejs", "store", "pnpm", "pnpx"]),
    but(of(&[".local/share/mise"], &["installs", "shims", "plugins"]), OF_INSTALLS),
    but(
        named("NVM_DIR", of(&[".nvm"], &["versions", "alias", "nvm.sh", "nvm-exec", "bash_completion"])),
        &[("versions/node/*", OF_NODE)],
    ),
    but(of(&[".fnm"], &["aliases", "node-versions"]), &[("node-versions/*/installation", OF_NODE)]),
    but(of(&[".volta"], &["bin", "cache", "hooks.json", "layout.v4", "tools"]), &[("tools/image/node/*", OF_NODE)]),
    but(
        named(
            "PYENV_ROOT",
            of(&[".pyenv"], &["bin", "completions", "libexec", "plugins", "pyenv.d", "shims", "version", "versions"]),
        ),
        &[("versions/*", OF_PYTHON)],
    ),
    named("RBENV_ROOT", of(&[".rbenv"], &["bin", "libexec", "plugins", "rbenv.d", "shims", "version", "versions"])),
    but(of(&[".asdf"], &["asdf.sh", "bin", "completions", "installs", "lib", "plugins", "shims"]), OF_INSTALLS),
    of(&[".sdkman"], &["bin", "candidates", "src"]),
    of(&[".jenv"], &["bin", "libexec", "plugins", "shims", "version", "versions"]),
    of(&[".juliaup"], &["bin"]),
    of(&[".julia"], &["artifacts", "compiled", "environments", "juliaup", "packages", "registries"]),
    of(&[".ghcup"], &["bin", "ghc", "hls"]),
    of(&[".cabal"], &["bin", "lib", "packages", "share", "store"]),
    of(&[".stack"], &["pantry", "programs", "snapshots", "global-project"]),
    named("OPAMROOT", of(&[".opam"], &[""])),
    named(
        "DOTNET_ROOT",
        of(&[".dotnet"], &["dotnet", "host", "packs", "sdk", "sdk-manifests", "shared", "templates", "tools"]),
    ),
    of(&[".nuget"], &["packages"]),
    named("GOPATH", of(&["go"], &["bin", "pkg", "src"])),
    named("GOROOT", of(&[], &[""])),
    named("JAVA_HOME", of(&[], &[""])),
    of(&[".m2"], &["repository", "wrapper"]),
    of(&[".gradle"], &["wrapper", "caches", "jdks"]),
    but(named("CONDA_PREFIX", of(&["miniconda3", "anaconda3", "miniforge3"], &[""])), &[("", OF_PYTHON)]),
    but(named("VIRTUAL_ENV", of(&[], &[""])), &[("", OF_PYTHON)]),
    of(&[".config/git"], &["config", "ignore", "attributes"]),
    of(&[".gitconfig", ".gitignore", ".gitignore_global", ".gitattributes"], &[""]),
];
/// Paths in the home folder that contain credentials or typed history. They stay hidden even in a folder that the
/// settings allow, unless the settings name them.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    ".pki",
    ".aws",
    ".azure",
    ".boto",
    ".s3cfg",
    ".oci",
    ".fly",
    ".kube",
    ".docker",
    ".terraform.d",
    ".vault-token",
    ".config/gcloud",
    ".config/containers",
    ".config/doctl",
    ".config/hcloud",
    ".config/rclone",
    ".config/op",
    ".config/sops",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/git/credentials",
    ".git-credentials",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".config/npm",
    ".config/yarn",
    ".config/pnpm",
    ".pypirc",
    ".pip",
    ".config/pip",
    ".config/pypoetry",
    ".local/share/uv/credentials",
    ".condarc",
    ".conda",
    ".continuum",
    ".gem/credentials",
    ".local/share/gem/credentials",
    ".bundle/config",
    ".composer/auth.json",
    ".config/composer",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".gradle/init.gradle",
    ".gradle/init.d",
    ".nuget/NuGet",
    ".config/NuGet",
    ".dotnet/corefx",
    ".julia/servers",
    ".cabal/config",
    ".stack/upload",
    ".stack/config.yaml",
    ".huggingface",
    ".cache/huggingface/token",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".lesshst",
    ".viminfo",
];
/// Paths of the system that only root may read.
const ROOT_ONLY: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/kubernetes",
    "/etc/krb5.keytab",
    "/etc/NetworkManager/system-connections",
    "/var/log",
    "/var/spool",
    "/var/backups",
    "/var/lib/docker",
    "/var/lib/kubelet",
];

/// Returns the folders where a toolchain can be.
fn folders<'a>(toolchain: &'a Toolchain, home: Option<&'a Path>) -> impl Iterator<Item = PathBuf> + 'a {
    let usual = toolchain.folders.iter().filter_map(move |name| Some(home?.join(name)));
    let named = toolchain.variable.and_then(std::env::var_os).map(PathBuf::from);
    // A variable that names the home folder or a folder above it allows nothing.
    let named = named.filter(|path| path.is_absolute() && home.is_none_or(|home| !home.starts_with(path)));
    usual.chain(named)
}

/// Returns the paths of toolchains that may be read.
pub(crate) fn readable(home: Option<&Path>) -> Vec<PathBuf> {
    let parts = |toolchain: &'static Toolchain| {
        folders(toolchain, home).flat_map(|folder| toolchain.parts.iter().map(move |part| folder.join(part)))
    };
    TOOLCHAINS.iter().flat_map(parts).collect()
}

/// Returns the paths that are never read, regardless of their folder.
pub(crate) fn secrets(home: Option<&Path>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = SECRETS.iter().filter_map(|name| Some(home?.join(name))).collect();
    for toolchain in TOOLCHAINS {
        for folder in folders(toolchain, home) {
            for (below, settings) in toolchain.but {
                let found = matching(&folder, below);
                all.extend(found.iter().flat_map(|at| settings.iter().flat_map(|name| matching(at, name))));
            }
        }
    }
    if rustix::process::geteuid().is_root() {
        all.extend(ROOT_ONLY.iter().map(PathBuf::from));
    }
    all.iter().filter_map(|path| path.canonicalize().ok()).collect()
}

/// Returns the paths beneath a folder that match a pattern. A `*` matches only existing entries.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for part in pattern.split('/') {
        found = match part {
            "*" => {
                let entries = found.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
                entries.map(|entry| entry.path()).collect()
            }
            name => found.into_iter().map(|folder| folder.join(name)).collect(),
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_matches_each_existing_folder() {
        let home = tempfile::tempdir().unwrap();
        for folder in ["a/x/etc", "a/y/etc", "a/y/lib"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let found = |pattern: &str| {
            let mut all = matching(home.path(), pattern);
            all.sort();
            let names = all.iter().map(|path| path.strip_prefix(home.path()).unwrap().display().to_string());
            names.collect::<Vec<_>>()
        };
        assert_eq!(found("a/*/etc"), ["a/x/etc", "a/y/etc"]);
        assert_eq!(found("a/y/*"), ["a/y/etc", "a/y/lib"]);
        assert_eq!(found("b/*"), [""; 0]);
        assert_eq!(found("b/c"), ["b/c"]);
    }

    #[test]
    fn settings_of_version_managers_are_hidden() {
        let home = tempfile::tempdir().unwrap();
        for file in [
            ".asdf/installs/nodejs/1/etc/npmrc",
            ".asdf/installs/python/3/pip.conf",
            ".local/share/mise/installs/node/1/etc/npmrc",
            ".local/share/mise/installs/python/3/pip.conf",
            ".local/share/mise/installs/python/conda-1/envs/one/.condarc",
            ".nvm/versions/node/v1/etc/npmrc",
            ".fnm/node-versions/v1/installation/etc/npmrc",
            ".volta/tools/image/node/1/etc/npmrc",
            ".pyenv/versions/3/pip.conf",
            ".pyenv/versions/conda-1/envs/one/pip.conf",
            ".pyenv/versions/conda-1/envs/one/.condarc",
            ".pyenv/versions/conda-1/envs/one/condarc",
        ] {
            let path = home.path().canonicalize().unwrap().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            assert!(readable(Some(home.path())).iter().any(|open| home.path().join(file).starts_with(open)), "{file}");
            assert!(secrets(Some(home.path())).iter().any(|hidden| path.starts_with(hidden)), "{file}");
        }
    }

    #[test]
    fn toolchains_are_readable_and_secrets_are_hidden() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        for folder in [".ssh", ".nvm/versions/node/v1/etc", ".nvm/versions/node/v1/lib", "miniconda3/envs/one"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        for file in [".netrc", "miniconda3/pip.conf", "miniconda3/envs/one/.condarc"] {
            fs::write(path(file), "").unwrap();
        }
        let open = readable(Some(home.path()));
        for part in [".cargo/bin", ".cargo/registry", ".nvm/versions", "miniconda3/", ".gitconfig/", "go/pkg"] {
            assert!(open.contains(&path(part)), "{part}");
        }
        assert!(!open.contains(&path(".cargo/credentials.toml")) && !open.contains(&path(".cargo")));
        let hidden = secrets(Some(home.path()));
        let whole = |name: &str| path(name).canonicalize().unwrap();
        for part in
            [".ssh", ".netrc", ".nvm/versions/node/v1/etc", "miniconda3/pip.conf", "miniconda3/envs/one/.condarc"]
        {
            assert!(hidden.contains(&whole(part)), "{part}");
        }
        assert!(!hidden.contains(&whole(".nvm/versions/node/v1/lib")) && !hidden.contains(&path(".gnupg")));
        let beneath = |all: Vec<PathBuf>| all.iter().any(|path| path.starts_with(home.path()));
        assert!(!beneath(readable(None)) && !beneath(secrets(None)));
    }
}
