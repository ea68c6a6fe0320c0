//! A conversation with a third-party server: for every call its journal contains the plan's request, and the meter is
//! the count of that body.

use crate::support::binary::Home;
use crate::support::foreign::{Aimock, KEY};
use pleach::context::render::checks::count_body;
use pleach::domain::call::Encoding;
use pleach::llm::counting::tokens::Tokenizers;
use serde_json::Value;

struct Chat {
    home: Home,
    server: Aimock,
    /// The output of the dry run before each call. `None` for later rounds, which depend on tool results.
    planned: Vec<Option<Value>>,
}

impl Chat {
    fn start(server: Aimock) -> Self {
        let home = Home::new("");
        home.configure(&format!(
            "profile = \"aimock\"\ntrusted_folders = [{:?}]\n[profiles.aimock]\nbase_url = \"{}\"\nmodel = \"gpt-4o-mini\"\n\
             api_key_env = \"TEST_KEY\"\nattempts = 1\ncontext_window = 16000\n",
            home.workspace().display().to_string(),
            server.base_url(),
        ));
        std::fs::write(home.workspace().join("NOTES.md"), "# Notes\n\nRotate the token once.\n").unwrap();
        Self { home, server, planned: Vec::new() }
    }

    fn say(&self, args: &[&str]) -> String {
        let output = self.home.with(&[("TEST_KEY", KEY)], args);
        assert_eq!(output.code, 0, "{args:?}\n{}", output.err);
        output.out
    }

    /// Standard output, parsed as JSON.
    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.say(&[args, &["--json"]].concat())).unwrap()
    }

    fn ask(&mut self, text: &str) -> Value {
        self.turn(&["plan", text], &["ask", text])
    }

    /// Runs the dry run and then the command itself.
    fn turn(&mut self, dry: &[&str], ask: &[&str]) -> Value {
        let before = self.server.bodies().len();
        let plan = self.json(dry);
        let body: Value = serde_json::from_str(&self.say(&[dry, &["--request"]].concat())).unwrap();
        let answer = self.json(ask);
        assert_eq!(answer["runs"][0]["plan_id"], plan["plan_id"], "the displayed plan was sent");
        assert_eq!(answer["runs"][0]["est_total"], plan["est_total"]);
        self.planned.push(Some(body));
        self.planned.resize(before + answer["runs"].as_array().unwrap().len(), None);
        answer
    }

    /// The newest message of the user. Cards in it may make the mock call a tool.
    fn asked(&self) -> String {
        let list = self.json(&["message", "list"]);
        let list = list.as_array().unwrap();
        list.iter().rfind(|message| message["role"] == "user").unwrap()["id"].as_str().unwrap().to_owned()
    }

    /// The nth message of the branch, counted from its end.
    fn message(&self, back: usize) -> String {
        let list = self.json(&["message", "list"]);
        let list = list.as_array().unwrap();
        list[list.len() - 1 - back]["id"].as_str().unwrap().to_owned()
    }
}

fn conversation(chat: &mut Chat) {
    chat.ask("Why does login fail after the refresh?");
    chat.say(&["pin", &chat.message(1)]);
    chat.ask("And what would you change?");
    let read = chat.ask("Read NOTES.md and say what it asks for.");
    assert_eq!(read["runs"].as_array().unwrap().len(), 2, "a request with tools and one with their results");
    chat.say(&["exclude", &chat.message(0), "--message"]);
    chat.ask("Think first, then answer.");
    chat.say(&["branch", "fork", "with-trace", "--at", &chat.message(2)]);
    chat.ask("Say it with usage, please.");
    chat.ask("On the fork: \"quotes\", \\slashes\\, tabs\tand 日本 \u{1F980}.");
    chat.turn(&["plan", "--regenerate"], &["regenerate"]);
    chat.say(&["pin", "--note", "Answer in one sentence."]);
    chat.say(&["exclude", &chat.message(3), "--once"]);
    chat.ask("What did we decide?");
    let main = ["-b", "main"];
    chat.say(&[&main[..], &["mode", "heavy"]].concat());
    chat.ask("Back again?");
    chat.say(&["context", "window", "2"]);
    chat.ask("A narrow window.");
    let (message, words) = (chat.asked(), "A narrow window, in other words.");
    chat.turn(&["plan", "--edit", &message, words], &["edit", &message, words]);
}

/// Compares every body as JSON, and its count.
fn compare(chat: &Chat) {
    let bodies = chat.server.bodies();
    let runs = chat.json(&["plans", "list"]);
    let runs = runs.as_array().unwrap();
    assert_eq!(runs.len(), bodies.len(), "a run for every request, and a request for every run");
    assert_eq!(chat.planned.len(), bodies.len());
    let counter = Tokenizers::new();
    for (index, (run, body)) in runs.iter().zip(&bodies).enumerate() {
        let id = run["run_id"].as_str().unwrap();
        assert_eq!(run["status"], "complete", "{run}");
        if let Some(planned) = &chat.planned[index] {
            assert_eq!(planned, body, "call {index}: the dry run");
        }
        let replayed = chat.say(&["replay", id, "--dry-run", "--request"]);
        assert_eq!(&serde_json::from_str::<Value>(&replayed).unwrap(), body, "call {index}: the replay");
        assert_eq!(blake3::hash(replayed.as_bytes()).to_hex().as_str(), run["request_digest"], "call {index}");
        let meter = count_body(body.to_string().as_bytes(), Encoding::O200kBase, &counter).unwrap();
        assert_eq!(run["est_total"], meter, "call {index}: the meter is the count of the body");
    }
}

#[test]
fn every_call_matches_its_plan() {
    let Some(server) = Aimock::start() else { return };
    let mut chat = Chat::start(server);
    conversation(&mut chat);
    compare(&chat);
    assert!(chat.planned.len() >= 12);
    chat.home.assert_sound();
    let stored = std::fs::read(chat.home.store()).unwrap();
    assert!(!stored.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "the key is nowhere in the store");
}

/// The same on the screen: the overlay's digest before Enter matches the journal after it.
#[cfg(unix)]
#[test]
fn workbench_sends_what_it_shows() {
    use crate::support::pty;
    let Some(server) = Aimock::start() else { return };
    let mut home = pty::Home::fresh();
    home.set("TEST_KEY", KEY);
    home.config(&format!(
        "profile = \"aimock\"\n[profiles.aimock]\nbase_url = \"{}\"\nmodel = \"gpt-4o-mini\"\napi_key_env = \"TEST_KEY\"\n\
         attempts = 1\ncontext_window = 16000\n",
        server.base_url()
    ));
    let screen = pty::Start::new(&home).size(180, 50).run();
    screen.see("Type a message");
    for (number, question) in
        ["Why does login fail after the refresh?", "And what would you change?"].iter().enumerate()
    {
        screen.keys(question);
        screen.see(&format!("> {question}"));
        screen.keys("\x0f");
        screen.until("the overlay", |text| text.contains("Next request ·") && text.contains(question));
        screen.keys("v");
        let shown = screen.until("the digests", |text| text.contains(", request "));
        let digest = shown.split_once(", request ").unwrap().1.split_whitespace().next().unwrap().to_owned();
        screen.keys("\x1b");
        screen.until("the chat again", |text| !text.contains("Next request ·"));
        screen.keys("\r");
        screen.until("the answer", |text| text.matches(" in · ").count() == number + 1);
        let runs = home.json(&["plans", "list"]);
        let run = runs.as_array().unwrap().iter().max_by_key(|run| run["at"].as_i64()).unwrap().clone();
        let whole = run["request_digest"].as_str().unwrap();
        assert!(whole.starts_with(digest.trim_end_matches(['…', ','])), "{digest} was shown, {whole} went");
        let (replayed, code) = home.cli(&["replay", run["run_id"].as_str().unwrap(), "--dry-run", "--request"]);
        assert_eq!(code, 0);
        assert_eq!(blake3::hash(replayed.as_bytes()).to_hex().as_str(), whole);
        let bodies = server.bodies();
        assert_eq!(bodies.len(), number + 1);
        assert_eq!(serde_json::from_str::<Value>(&replayed).unwrap(), bodies[number]);
        assert_eq!(
            run["est_total"],
            count_body(bodies[number].to_string().as_bytes(), Encoding::O200kBase, &Tokenizers::new()).unwrap()
        );
    }
}

#[test]
fn refusals_of_the_server_are_understood() {
    let Some(server) = Aimock::start() else { return };
    let chat = Chat::start(server);
    let wrong = chat.home.with(&[("TEST_KEY", "sk-wrong")], &["ask", "hi"]);
    assert_eq!(wrong.code, 4);
    assert!(wrong.err.contains("401") && wrong.err.contains("TEST_KEY"), "{}", wrong.err);
    let models = chat.say(&["models", "--profile", "aimock"]);
    assert!(models.contains("aimock"), "{models}");
}
