//! A sample conversation about a project over several days, with instructions, code, errors, numbers, and small talk.

use pleach::domain::conversation::Role;

/// A message: the speaker, the minutes since the previous message, and the text.
pub(crate) struct Line {
    pub(crate) role: Role,
    pub(crate) after: i64,
    pub(crate) text: String,
}

fn user(after: i64, text: &str) -> Line {
    Line { role: Role::User, after, text: text.into() }
}

fn model(text: &str) -> Line {
    Line { role: Role::Assistant, after: 2, text: text.into() }
}

fn tool(text: &str) -> Line {
    Line { role: Role::Tool, after: 1, text: text.into() }
}

/// The messages, oldest first.
pub(crate) fn lines() -> Vec<Line> {
    let long = (1..=30)
        .map(|n| {
            format!(
                "Step {n}: the worker of region {} copies its share, then waits {} ms for the next one.",
                n % 7,
                n * 35
            )
        })
        .collect::<Vec<_>>()
        .join(if cfg!(windows) { " " } else { "\n" });
    let mut all = first_day();
    all.extend([
        user(2_900, "Back to the migration. How should the workers share the regions, and what does e.g. Dr. Weber say about it?"),
        model(&format!("Here is the whole plan.\n\n{long}\n\n> A person decided: the copy never blocks readers.")),
        user(3, "Why?"),
        model("Because a lock would stop the readers. We agreed on that instead of a longer window. Still unclear: the order of regions."),
        user(5, "Remember that the deadline is 2026-03-14 and the budget is $12,500. Weber prefers Friday evening at 18:30."),
        model("I'm not sure that 18:30 works; it would need more information about the backup, which ran 4 hours last week."),
        user(9, "Was ist mit dem Backup in /var/backups/daily? 备份什么时候运行？谁负责。"),
        model("Das Backup läuft täglich. 备份每天运行。The file `backup.sh` lies in ./ops/scripts/ and `~/.config/backup.toml` names the host."),
        user(4, "thanks, that works!"),
        model("Good. Next step: rotate the keys tomorrow. TBD: who does it?"),
        user(8, "Please write documentation about logging formats for newcomers."),
        model("# Logging\n\n* Each line is JSON.\n- `level` is one of `debug`, `info`.\n+ See [the page](https://example.org/docs/logging?x=1), section 3.\n| a | b |\nShould the service also log to syslog in production?"),
        user(3, "Tell me what the limit of connections was, and describe retry_with_backoff again."),
        model("The limit was 200 connections. `retry_with_backoff` waits 250 ms, then twice as long, at most 5 times."),
    ]);
    all
}

fn first_day() -> Vec<Line> {
    vec![
        user(0, "I want the login service to survive a restart. Which store should hold sessions?"),
        model(
            "Redis would work. A table in Postgres is simpler to run and back up: postgres://db.internal:5432/app, pool of 20.",
        ),
        user(3, "We decided to go with Postgres for sessions. The limit is 200 connections, never more."),
        model(
            "Then run:\n```sh\n$ cargo run -- migrate --dry-run\n# a comment\npsql -c 'select 1'\n```\nThe test of expiry failed once with exit code 137.",
        ),
        tool("error: connection refused\nECONNREFUSED 10.0.0.7:5432\n0 failed"),
        user(4, "We still need to rotate the keys tomorrow. Look at src/auth/token.rs and the struct TokenBucket."),
        model(
            "```rust\npub fn rotate(&self, keys: &[Key]) -> Result<(), Error> {\n    let path = \"/etc/app/keys.pem\";\n}\nstruct KeyRing;\n```\nIt uses `std::sync::Mutex` and MAX_RETRIES; commit 4f2a9c1 changed it.",
        ),
        user(6, "ok continue"),
        model(
            "The function retry_with_backoff fails because `max_delay` is 0. I fixed it: version 1.82.0 of the crate works now, 37% faster.",
        ),
        user(2, "What does \"too many open files\" mean in the log?"),
        model(
            "The process reached its limit of file descriptors (ulimit -n). Set LimitNOFILE=65536 in app.service, i.e. the unit. Then run systemctl daemon-reload.",
        ),
        user(2, "I prefer short answers. Always name the file. Do not use and/or, read/write is fine."),
        model("Noted. src/config/limits.toml holds it."),
        user(400, "The build broke: error E0382 in src/store/writer.rs, and TS2345 in web/app.tsx. It took 4,210 ms."),
        tool(
            "[exit code 101]\nerror[E0382]: borrow of moved value: `rows`\n  --> src/store/writer.rs:42:13\ntest result: FAILED. 3 passed; 1 failed",
        ),
        model(
            "The value `rows` moves in line 42. Clone it, or take a slice: `fn write_all(rows: &[Row])`. I tried both; the slice passes all 118 tests.",
        ),
        user(3, "Use the slice. How large will the index grow?"),
        model("I don't know. It would need to see the data. About 3 GB per 1,000,000 rows, roughly."),
        user(2, "Use the slice, and open question: do we keep JIRA-1234 in this release?"),
        model(
            "Let's decide later. The root cause of JIRA-1234 turned out to be a timeout of 30s in nginx at 10.0.0.7.",
        ),
        user(5, "yes please"),
        model(
            "Done. ![picture](assets/plan.png) All of it is in CHANGELOG.md; see \"smart\" notes, https://ci.example.org/job/77.",
        ),
    ]
}
