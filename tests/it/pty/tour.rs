//! The recorded tour: the main features from start to end, against a server with two models. `PLEACH_TOUR=FILE` also
//! writes the recording in this repository: `PLEACH_TOUR=$PWD/assets/tour.cast cargo test --test it -- tour`.

use crate::support::cast::Cast;
use crate::support::pty::{Home, Pty, Start};
use crate::support::server::Server;
use serde_json::Value;

const SIZE: (u16, u16) = (110, 32);
const STEADY: &str = "Store the new token first, then rotate: a crash in between loses nothing.";
const SWIFT: &str = "Rotate first; it is one write less.";
/// The text before the request's digest in the details.
const DIGEST: &str = ", request ";
const FIRST: &str = "Why does login fail after the refresh?";
const SECOND: &str = "And which order is safer?";
const THIRD: &str = "Show me the test for it.";

struct Tour {
    pty: Pty,
    cast: Cast,
}

impl Tour {
    fn keys(&self, keys: &str) -> &Self {
        self.pty.keys(keys);
        self
    }

    /// Types, waiting for the screen after each character.
    fn types(&self, text: &str) -> &Self {
        for word in text.split_inclusive(' ') {
            self.pty.keys(word);
            self.pty.see(word.trim());
        }
        self.pty.see(text);
        self
    }

    /// Ends a step by checking the screen for texts.
    #[track_caller]
    fn shows(&mut self, step: &str, wanted: &[&str]) -> String {
        let screen = self.pty.until(step, |screen| wanted.iter().all(|words| screen.contains(words)));
        self.cast.step(step, &self.pty.raw());
        screen
    }
}

/// The word that follows another one on the screen.
fn after(screen: &str, word: &str) -> String {
    let rest = screen.split_once(word).unwrap_or_else(|| panic!("no {word:?} in:\n{screen}")).1;
    rest.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn the_tour() {
    let server = Server::models(&[("steady", STEADY), ("swift", SWIFT)]);
    let mut home = Home::server(&server.base_url());
    home.set("PLEACH_MODEL", "steady");
    home.set("COLORTERM", "truecolor");
    let pty = Start::new(&home).size(SIZE.0, SIZE.1).run();
    let mut tour = Tour { pty, cast: Cast::new(SIZE, "pleach: a tour") };
    let planned = ask_and_look_at_why(&mut tour);
    exclude_and_see_the_what_if(&mut tour, &planned);
    fork_and_race(&mut tour);
    compare_and_pick_back(&mut tour);
    replay_without_an_item(&mut tour);
    undo_everything(&mut tour, &planned);
    tour.keys("\x1b");
    tour.pty.until("the composer has the keys", |screen| screen.contains("^P actions"));
    tour.keys("\x03");
    tour.shows("that was the tour", &["Type a message"]);
    tour.keys("\x04");
    let Tour { pty, cast } = tour;
    assert_eq!(pty.ended().code, 0);
    check_records(&home, &server);
    if let Some(file) = std::env::var_os("PLEACH_TOUR") {
        std::fs::write(file, cast.text()).unwrap();
    }
}

/// Returns the digest of the request that was displayed before any change.
fn ask_and_look_at_why(tour: &mut Tour) -> String {
    tour.shows("open: Enter sends exactly what the panel shows", &["Type a message", "Next request"]);
    tour.types(FIRST).keys("\r");
    tour.shows("ask: the answer streams", &["loses nothing.", "in (estimated)"]);
    tour.pty.until("the turn is over", |screen| screen.contains("Type a message"));
    tour.types(SECOND).keys("\r");
    tour.pty.until("the second answer", |screen| screen.matches("loses nothing.").count() == 2);
    tour.pty.until("the turn is over", |screen| screen.contains("Type a message"));
    tour.types(THIRD);
    tour.pty.until("the plan of the draft", |screen| screen.contains("Recent turns 2"));
    tour.keys("\x0f");
    tour.shows(
        "look: every row of the next request, in or out, with its tokens and its reason",
        &["Next request ·", "Recent turns", &FIRST[..30], SECOND, THIRD],
    );
    tour.keys("v");
    let screen = tour.shows("details: what was counted, and the digest of the request", &["Safety margin", DIGEST]);
    let planned = after(&screen, DIGEST);
    tour.keys("jj");
    tour.shows(
        "why: the text of a turn, its window, its calls",
        &["Inside the window of recent turns.", "user:", "1 call: your message"],
    );
    tour.keys("h");
    tour.shows("why: an item over all calls", &["History of turn 1", "call on main", "Inside the window"]);
    tour.keys("\x1b");
    tour.shows("back in the overlay", &["Next request ·"]);
    planned
}

fn exclude_and_see_the_what_if(tour: &mut Tour, planned: &str) {
    tour.keys("x");
    let screen = tour.shows(
        "exclude: the plan is solved again at once",
        &["You left this out.", "1 left out", "x removes the exclusion", DIGEST],
    );
    assert_ne!(after(&screen, DIGEST), planned, "{screen}");
    tour.keys("\x1b");
    tour.shows("the turn is marked in the conversation", &["✕ you", "✕ steady", THIRD]);
    tour.keys("\x1b[18~");
    tour.shows(
        "what if: the same call under other settings, before it is made",
        &["What if", "current", "mode Heavy", "policy window", "layout classic", "Enter apply to this branch"],
    );
    tour.keys("jj");
    tour.shows("what if: one is chosen", &["mode Heavy"]);
    tour.keys("\r");
    tour.shows("what if: and taken, undoably", &["CTX: Heavy", "u undoes it"]);
}

fn fork_and_race(tour: &mut Tour) {
    tour.keys("\tG");
    // Beside an unsent message, a letter acts on the second press.
    tour.keys("ff");
    tour.shows(
        "fork: another branch with its own pins and settings",
        &["▸ main-2", "○ main", "● main-2", "CTX: Heavy"],
    );
    // The fork took the unsent message along.
    tour.keys("\x15");
    tour.types("/race model:swift model:steady Which is faster?").keys("\r");
    tour.shows(
        "race: one question, two models, side by side",
        &["Race: 2", "race-1: model swift", "race-2: model steady", SWIFT, "Store the new token"],
    );
    tour.pty.until("both have ended", |screen| screen.matches(" in (estimated)").count() == 2);
    tour.keys("\x1b");
    tour.shows("race: all are kept as branches", &["○ race-1", "○ race-2"]);
}

fn compare_and_pick_back(tour: &mut Tour) {
    tour.keys("\x02g\r");
    tour.shows("stand on the first branch", &["▸ main  ", "● main  "]);
    tour.keys("\x02jj");
    tour.pty.until("the branches have the keys", |screen| screen.contains("switch to"));
    tour.keys("c");
    tour.shows(
        "compare: two branches from where they part",
        &["main and race-1", "They diverge after turn 2", "Which is faster?", SWIFT, "other side"],
    );
    tour.keys("\tp");
    tour.shows("pick back: the comparison says what was picked", &["▸ race-1", "Picked 1 item of race-1 for main"]);
    tour.keys("\x1b");
    tour.shows("pick back: a pinned text that knows where it came from", &["Pins 1", "◆"]);
    tour.keys("\x0f");
    tour.shows("pick back: it goes in the next request", &["branch \"race-1\"", "pinned", "1 left out"]);
    tour.keys("\x1b");
    tour.shows("back in the chat", &["● main  "]);
}

fn replay_without_an_item(tour: &mut Tour) {
    tour.keys("\x1b");
    tour.pty.until("the composer has the keys", |screen| screen.contains("^P actions"));
    tour.keys("\tG");
    tour.shows("the newest answer is selected", &["p pin", "R regenerate"]);
    tour.keys("Z");
    tour.shows("replay: a stored call, made again", &["Replay this call?", "send without one item"]);
    tour.keys("w");
    tour.shows("replay: which item is left out?", &["Replay the call without", "turn 1: Why does login"]);
    tour.types("login").keys("\r");
    tour.shows(
        "replay: then and now, side by side",
        &["Replay without an item", "now, without Why does login", "may be due to chance"],
    );
    tour.pty.until("both answers", |screen| screen.matches(" in (estimated)").count() == 2);
    tour.keys("m");
    tour.pty.until("the note is taken", |screen| screen.contains("Replay without an item"));
    tour.keys("\x1b");
    tour.shows("replay: that the item mattered is noted, as a suggested pin", &["Suggested a pin on main", "replay-1"]);
}

fn undo_everything(tour: &mut Tour, planned: &str) {
    tour.keys("\x02");
    tour.pty.until("the branches have the keys", |screen| screen.contains("switch to"));
    let steps = [
        ("the note", "Undone: suggested a pin on main"),
        ("the replay", "Undone: replayed a call"),
        ("what was picked", "Undone: picked 1 item of race-1 for main"),
        ("the race", "Undone: started a race of 2"),
        ("the fork", "Undone: forked main-2"),
        ("the mode", "Undone: set the mode of main to Heavy"),
        ("the exclusion", "Undone: excluded"),
    ];
    for (what, notice) in steps {
        tour.keys("u");
        tour.shows(&format!("undo: {what}"), &[notice]);
    }
    tour.keys("u");
    tour.shows("undo: nothing is left to undo", &["There is nothing to undo", "CTX: Light", "● main"]);
    let gone = |screen: &str| ["race-1", "main-2", "✕"].iter().all(|words| !screen.contains(words));
    tour.pty.until("nothing of it is left", gone);
    tour.keys("\x1b");
    tour.pty.until("the composer has the keys", |screen| screen.contains("^P actions"));
    tour.types(THIRD);
    tour.pty.until("the message is typed again", |screen| screen.contains(THIRD));
    tour.keys("\x0f");
    tour.shows("the request again", &["Next request ·", THIRD]);
    tour.keys("v");
    tour.shows("the plan is the first one again, to the byte", &[&format!("{DIGEST}{planned}")]);
}

/// The stored and received calls.
fn check_records(home: &Home, server: &Server) {
    let runs = home.json(&["plans", "list"]);
    let mut stored: Vec<String> =
        runs.as_array().unwrap().iter().map(|run| run["request_digest"].as_str().unwrap().to_owned()).collect();
    let posts = server.requests().into_iter().filter(|request| request.method == "POST");
    let mut came: Vec<String> = Vec::new();
    let mut models: Vec<String> = Vec::new();
    for request in posts {
        came.push(blake3::hash(&request.body).to_hex().to_string());
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        models.push(body["model"].as_str().unwrap().to_owned());
    }
    stored.sort();
    came.sort();
    assert_eq!(came, stored, "every call is in the store as it was sent");
    models.sort();
    assert_eq!(models, ["steady", "steady", "steady", "steady", "swift"]);
}
