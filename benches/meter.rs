//! How far the meter differs from the usage that servers report, before and after calibration, by profile and encoding.
//! Each turn is planned first, and the usage of the call is compared with the plan.
//!
//! `BASE_URLS="name=http://127.0.0.1:4400/v1=model=key name2=…" cargo bench --bench meter` asks running servers (a key
//! is optional). Without `BASE_URLS` it says so and does nothing.
//! Not for: our own servers, which report what we count.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]

use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Turns for each profile. Every fourth starts a new session.
const TURNS: usize = 12;

/// The encodings of the estimates. Servers usually tokenize differently.
const ENCODINGS: [&str; 3] = ["o200k_base", "cl100k_base", "approximate"];

struct Server<'a> {
    name: &'a str,
    url: &'a str,
    model: &'a str,
    key: &'a str,
}

impl<'a> Server<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(4, '=');
        let (name, url, model) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { name, url, model, key: parts.next().unwrap_or("none") })
    }
}

/// Texts of one kind: prose, Rust, JSON, Chinese, Japanese and Korean, a table with symbols, and a mixture.
fn content(turn: usize) -> String {
    const RUST: &str = include_str!("../src/domain/call/meter.rs");
    const PROSE: &str = include_str!("../README.md");
    let piece = |text: &str, from: usize, chars: usize| text.chars().skip(from).take(chars).collect::<String>();
    let json = |count: usize| {
        let rows: Vec<Value> = (0..count)
            .map(|n| serde_json::json!({"id": n * 7919, "name": format!("user_{n}"), "scores": [n, n * n], "ok": n % 3 == 0}))
            .collect();
        serde_json::to_string(&rows).unwrap()
    };
    let cjk = "令牌的数量取决于词表，同一句话在不同的模型里长度不同。昨日の会議で決まったことを短くまとめてください。\
               토큰 수는 모델마다 다르므로 서버가 알려 준 값을 믿어야 합니다。";
    match turn % 6 {
        0 => format!("Summarize this.\n\n{}", piece(PROSE, 300 * turn, 2_400)),
        1 => format!("Review this code.\n\n```rust\n{}\n```", piece(RUST, 400 * turn, 2_600)),
        2 => format!("What is odd in this data?\n\n{}", json(40)),
        3 => cjk.repeat(6),
        4 => (0..60).fold(String::from("Read the table.\n"), |mut text, n| {
            let _ = writeln!(
                text,
                "| {n:>4} | {:#06x} | {:.3} | ✓ é ü ñ → {} |",
                n * 37,
                f64::from(n) / 7.0,
                "=".repeat(9)
            );
            text
        }),
        _ => format!("{}\n{}\n{}", piece(PROSE, 90, 700), json(9), piece(cjk, 0, 80)),
    }
}

fn run(home: &Path, args: &[&str], input: &str) -> Value {
    let at = |name: &str| home.join(name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pleach"));
    command.args(args).env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").env("TZ", "UTC");
    command.env("XDG_CONFIG_HOME", at("config")).env("XDG_DATA_HOME", at("data"));
    command.env("XDG_STATE_HOME", at("state")).env("XDG_CACHE_HOME", at("cache"));
    command.env("BENCH_KEY", std::fs::read_to_string(at("key")).unwrap_or_default());
    command.current_dir(at("work")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&out).unwrap_or_else(|_| panic!("{args:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn settle(home: &Path, server: &Server<'_>, encoding: &str) {
    std::fs::create_dir_all(home.join("config/pleach")).unwrap();
    std::fs::create_dir_all(home.join("work")).unwrap();
    let work = home.join("work").canonicalize().unwrap();
    let config = format!(
        "profile = {:?}\ntrusted_folders = [{:?}]\n[profiles.{:?}]\nbase_url = {:?}\nmodel = {:?}\napi_key_env = \
            \"BENCH_KEY\"\n\
         max_output = 24\ncontext_window = 32000\nattempts = 1\nidle_timeout = 600\n[models.{:?}]\nencoding = {encoding:?}\n",
        server.name,
        work.display().to_string(),
        server.name,
        server.url,
        server.model,
        server.model
    );
    std::fs::write(home.join("config/pleach/config.toml"), config).unwrap();
    std::fs::write(home.join("key"), server.key).unwrap();
}

/// The signed error of a number in percent of the actual one.
fn error(number: f64, actual: f64) -> f64 {
    (number - actual) / actual * 100.0
}

/// The mean and maximum absolute error.
fn summed(errors: &[f64]) -> (f64, f64) {
    let count = u32::try_from(errors.len()).map_or(1.0, f64::from);
    (errors.iter().map(|error| error.abs()).sum::<f64>() / count, errors.iter().fold(0.0, |most, e| most.max(e.abs())))
}

/// Asks all turns. Returns the errors of the raw count and, from the second turn on, of the calibrated one.
fn measure(server: &Server<'_>, encoding: &str) -> (Vec<f64>, Vec<f64>) {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    settle(home, server, encoding);
    let (mut raw, mut calibrated) = (Vec::new(), Vec::new());
    println!("\n{} / {} counted as {encoding}\n", server.name, server.model);
    println!("turn   tok est   tok cal   actual     est error   cal error   ±");
    for turn in 0..TURNS {
        if turn % 4 == 0 {
            run(home, &["session", "new", "--json", "bench"], "");
        }
        let words = content(turn);
        let plan = run(home, &["plan", "--json", "-"], &words);
        let answer = run(home, &["ask", "--json", "-"], &words);
        let Some(actual) = answer["runs"][0]["usage"]["prompt"].as_f64() else {
            println!("{turn:>4}   the server reported no usage");
            continue;
        };
        let est = plan["est_total"].as_f64().unwrap();
        raw.push(error(est, actual));
        let known = plan["calibration"]["calibrated_total"].as_f64();
        calibrated.extend(known.map(|known| error(known, actual)));
        let known_error = known.map_or_else(|| "–".into(), |known| format!("{:+.2}%", error(known, actual)));
        let within = plan["calibration"]["error_pct"].as_f64().map_or_else(|| "–".into(), |e| format!("{e:.1}%"));
        let cal = known.map_or_else(|| "–".into(), |known| format!("{known:.0}"));
        println!(
            "{turn:>4} {est:>9.0} {cal:>9} {actual:>8.0} {:>11.2}% {known_error:>11}   {within}",
            error(est, actual)
        );
    }
    (raw, calibrated)
}

fn main() {
    let wanted = std::env::var("BASE_URLS").unwrap_or_default();
    let servers: Vec<Server<'_>> = wanted.split_whitespace().filter_map(Server::read).collect();
    if servers.is_empty() {
        println!("SKIPPED: BASE_URLS names no server (name=url=model=key …); nothing was measured.");
        return;
    }
    let mut lines = Vec::new();
    for server in &servers {
        for encoding in ENCODINGS {
            let (raw, calibrated) = measure(server, encoding);
            let (before, after) = (summed(&raw), summed(&calibrated));
            lines.push(format!(
                "{:<10} {encoding:<12} {:>5} {:>8.2}% {:>8.2}% {:>9.2}% {:>8.2}%",
                server.name,
                raw.len(),
                before.0,
                before.1,
                after.0,
                after.1
            ));
        }
    }
    println!("\nmeter error beside the usage reported, without sign: before and after calibration\n");
    println!("profile    encoding     calls   est mean    est max   cal mean   cal max");
    for line in lines {
        println!("{line}");
    }
}
