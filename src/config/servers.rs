//! MCP servers in the settings and in a folder's `.mcp.json`: reads and checks their entries, expands variables, and
//! hides secrets.
//! Not for: starting servers (`mcp`), or approving a folder's file (`engine`).

use super::load::{Config, Environment};
use super::paths::expand;
use super::settings::{McpKind, McpServer};
use crate::domain::base::Hash;
use crate::domain::call::address;
use crate::domain::tool::{ConfiguredServers, FolderFile, Origin, Secret, ServerSpec, ServerTransport};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

/// The name of a folder's own server file.
const MCP_FILE: &str = ".mcp.json";
/// The maximum size of the file in bytes, and the maximum number of servers in it.
const MOST_BYTES: u64 = 1 << 20;
const MOST_SERVERS: usize = 64;
/// Seconds without a message after which a call fails.
const DEFAULT_TIMEOUT: u32 = 60;
/// Maximum seconds for a start; the first start of a downloaded program takes long.
const DEFAULT_START_TIMEOUT: u32 = 30;
const FIELDS: [&str; 9] = ["type", "command", "args", "env", "cwd", "url", "headers", "disabled", "timeout"];

impl Config {
    /// Returns the configured servers. Reads the folder's file again.
    pub fn named_servers(&self) -> ConfiguredServers {
        let folder = self.workspace.display().to_string();
        let own = |(name, server): (&String, &McpServer)| spec(name, server, Origin::Settings, &folder, &self.env);
        let servers = self.settings.mcp_servers.iter().map(own).collect();
        let file = read(&self.workspace.join(MCP_FILE)).map(|bytes| {
            let digest = bytes.as_ref().map_or_else(|why| Hash::of(why.as_bytes()), |bytes| Hash::of(bytes));
            let servers = bytes.and_then(|bytes| parse(&bytes)).map(|all| {
                all.iter().map(|(name, server)| spec(name, server, Origin::Folder, &folder, &self.env)).collect()
            });
            FolderFile { path: MCP_FILE.to_owned(), digest, servers }
        });
        ConfiguredServers { servers, file }
    }
}

/// Checks a server. The error has the key and the reason.
pub(super) fn check(server: &McpServer) -> Result<(), (&'static str, String)> {
    let (program, address) = (!server.command.trim().is_empty(), !server.url.trim().is_empty());
    match (program, address, server.kind) {
        (_, _, Some(McpKind::Sse)) => Err((
            "type",
            "the old SSE transport is not supported; use the server's streamable HTTP address with type = \"http\""
                .into(),
        )),
        (true, true, _) => Err(("url", "a server can have a command or a url, not both".into())),
        (false, false, _) => Err(("command", "a server needs a command or a url".into())),
        (false, true, Some(McpKind::Stdio)) => Err(("type", "stdio needs a command".into())),
        (true, false, Some(McpKind::Http)) => Err(("type", "http needs a url".into())),
        (false, true, _) if super::load::host(&server.url).is_none() && !server.url.contains("${") => {
            Err(("url", "must be an address like https://host/mcp".into()))
        }
        _ => Ok(()),
    }
}

/// Reads a regular file of limited size. Returns None if the file does not exist.
fn read(path: &Path) -> Option<Result<Vec<u8>, String>> {
    let about = std::fs::symlink_metadata(path).ok()?;
    if !about.is_file() {
        return Some(Err("it is not a regular file".into()));
    }
    if about.len() > MOST_BYTES {
        return Some(Err("it is larger than 1 MiB".into()));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| error.to_string());
    let read = file.and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| error.to_string()));
    Some(read.map(|_| bytes))
}

/// Parses a folder's file. Unknown fields are for other programs and are skipped.
fn parse(bytes: &[u8]) -> Result<BTreeMap<String, McpServer>, String> {
    let whole: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| format!("it is not valid JSON: {error}"))?;
    let named = whole.get("mcpServers").and_then(serde_json::Value::as_object);
    let named = named.ok_or("it has no `mcpServers` object")?;
    if named.len() > MOST_SERVERS {
        return Err(format!("it has more than {MOST_SERVERS} servers"));
    }
    let mut all = BTreeMap::new();
    for (name, value) in named {
        let fields = value.as_object().ok_or_else(|| format!("{name} is not an object"))?;
        let known = fields.iter().filter(|(key, _)| FIELDS.contains(&key.as_str()));
        let known: serde_json::Map<_, _> = known.map(|(key, value)| (key.clone(), value.clone())).collect();
        let mut server: McpServer = serde_json::from_value(known.into()).map_err(|error| format!("{name}: {error}"))?;
        check(&server).map_err(|(key, what)| format!("{name}: {key}: {what}"))?;
        // Other programs use milliseconds here.
        server.timeout = server.timeout.div_ceil(1_000);
        all.insert(name.clone(), server);
    }
    Ok(all)
}

fn spec(name: &str, server: &McpServer, origin: Origin, folder: &str, env: &Environment) -> ServerSpec {
    let given = if server.url.is_empty() { &server.env } else { &server.headers };
    ServerSpec {
        name: name.to_owned(),
        origin,
        way: transport(server, folder, env),
        shown: shown(server),
        given: given
            .iter()
            .map(|(name, value)| reference(value).map_or(name.clone(), |is| format!("{name}={is}")))
            .collect(),
        disabled: server.disabled,
        seconds: if server.timeout == 0 { DEFAULT_TIMEOUT } else { server.timeout },
        start_seconds: if server.start_timeout == 0 { DEFAULT_START_TIMEOUT } else { server.start_timeout },
    }
}

/// Returns a value that only refers to a variable, without the variable's default. None for any other value.
fn reference(value: &str) -> Option<String> {
    let inner = value.strip_prefix("${")?.strip_suffix('}')?;
    let name = inner.split(":-").next()?;
    (!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).then(|| format!("${{{name}}}"))
}

fn transport(server: &McpServer, folder: &str, env: &Environment) -> Result<ServerTransport, String> {
    let fill = |text: &str| fill(text, env);
    let pairs = |map: &BTreeMap<String, String>| -> Result<Vec<(String, Secret)>, String> {
        map.iter().map(|(name, value)| Ok((name.clone(), Secret::new(fill(value)?)))).collect()
    };
    if !server.url.is_empty() {
        let url = fill(&server.url)?;
        if super::load::host(&url).is_none() {
            return Err("its url is not an address like https://host/mcp".into());
        }
        return Ok(ServerTransport::Address { url: Secret::new(url), headers: pairs(&server.headers)? });
    }
    let place = |text: &str| -> Result<String, String> { Ok(expand(&fill(text)?, env).display().to_string()) };
    let cwd = if server.cwd.is_empty() { folder.to_owned() } else { place(&server.cwd)? };
    Ok(ServerTransport::Program {
        command: Secret::new(place(&server.command)?),
        args: server.args.iter().map(|arg| Ok(Secret::new(fill(arg)?))).collect::<Result<_, String>>()?,
        env: pairs(&server.env)?,
        folder: Path::new(folder).join(cwd).display().to_string(),
    })
}

/// Expands `${NAME}` and `${NAME:-words}`. Fails if a variable without a default is not set.
fn fill(text: &str, env: &Environment) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((inner, tail)) = after.split_once('}') else {
            expanded.push_str("${");
            rest = after;
            continue;
        };
        let (name, or) = inner.split_once(":-").map_or((inner, None), |(name, or)| (name, Some(or)));
        match env.get(name).or_else(|| or.map(str::to_owned)) {
            Some(value) => expanded.push_str(&value),
            None => return Err(format!("the variable {name} is not set")),
        }
        rest = tail;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Returns the whole command or address for display. Variables stay unexpanded.
fn shown(server: &McpServer) -> String {
    if !server.url.is_empty() {
        return address::without_secrets(&server.url);
    }
    let quoted = |word: &String| {
        let bare = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,${}~".contains(c);
        if !word.is_empty() && word.chars().all(bare) { word.clone() } else { format!("{word:?}") }
    };
    let words: Vec<String> = std::iter::once(&server.command).chain(&server.args).map(quoted).collect();
    let place = if server.cwd.is_empty() { String::new() } else { format!("  (in {})", server.cwd) };
    format!("{}{place}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env() -> Environment {
        Environment::of([("KEY", "s3cret"), ("HOME", "/home/me")])
    }

    #[test]
    fn variables_are_filled_in() {
        assert_eq!(fill("a ${KEY} ${NO:-b} $KEY ${", &env()).unwrap(), "a s3cret b $KEY ${");
        assert_eq!(fill("${NO}", &env()).unwrap_err(), "the variable NO is not set");
    }

    #[test]
    fn a_folders_file_is_read_and_hides_secrets() {
        let file = br#"{"mcpServers": {
            "one": {"command": "npx", "args": ["-y", "a b"], "env": {"K": "${KEY}", "T": "literal"}, "alwaysAllow": []},
            "two": {"type": "http", "url": "https://u:pw@h/mcp?key=abc&x=1", "headers": {"A": "Bearer ${KEY}"}, "timeout": 1500}
        }}"#;
        let all = parse(file).unwrap();
        let one = spec("one", &all["one"], Origin::Folder, "/w", &env());
        assert_eq!(one.shown, "npx -y \"a b\"");
        assert_eq!(one.given, ["K=${KEY}", "T"]);
        let Ok(ServerTransport::Program { env: given, folder, .. }) = &one.way else { panic!("{one:?}") };
        assert_eq!((given[0].1.reveal(), folder.as_str()), ("s3cret", "/w"));
        let two = spec("two", &all["two"], Origin::Folder, "/w", &env());
        assert_eq!((two.shown.as_str(), two.seconds), ("https://h/mcp?key=•••&x=•••", 2));
        let output = format!("{one:?}{two:?}{all:?}");
        assert!(!output.contains("s3cret") && !output.contains("literal"), "{output}");
    }

    #[test]
    fn server_errors_name_the_field() {
        for (file, why) in [
            ("[", "it is not valid JSON"),
            ("{}", "it has no `mcpServers` object"),
            (r#"{"mcpServers":{"a":{}}}"#, "a: command: a server needs a command or a url"),
            (r#"{"mcpServers":{"a":{"type":"sse","url":"http://h/sse"}}}"#, "a: type: the old SSE"),
            (r#"{"mcpServers":{"a":{"command":7}}}"#, "a: invalid type"),
        ] {
            let output = parse(file.as_bytes()).unwrap_err();
            assert!(output.starts_with(why), "{file}: {output}");
        }
    }
}
