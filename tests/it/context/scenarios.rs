//! Plans as scenarios: each file in `tests/scenarios` describes a conversation with its settings and the expected plan,
//! one row for each line with its reason. `PLEACH_SCENARIOS=write cargo test scenarios` rewrites the plans. Read the
//! diff before committing it.
//!
//! Notation: `you 100 | model 200` is a turn with a question of 100 tokens and an answer of 200; `6000c` is a length in
//! characters. A message with calls is `model 10 calls a b`, and a result is `result a 6000c`. The prefixes `hidden`,
//! `removed`, and `foreign` apply to a message. Marks are `turn 2 sticky`, `message 2.3 exclude` (its third message),
//! `open.2 exclude`, and `note 30 lease 4`. Facts about a turn are `turn 2 age 3600 lane billing flags error,code
//! similarity 200 mentions 1/4 priority 10 task debugging` (the flags belong to its question).

use crate::support::talk::{self, MarkTarget, OwnText, Quarter, Talk, TalkMessage};
use pleach::context::render::checks;
use pleach::context::{plan, render};
use pleach::domain::call::Encoding;
use pleach::domain::conversation::{MarkKind, Role};
use pleach::domain::planning::Blocked;
use pleach::domain::planning::{
    Anchor, ContextPlan, Form, Layout, MessageFacts, Milli, Mode, PolicySpec, Row, RowKind, Section, SendBarrier,
    TurnFacts, TurnSelection, Verdict,
};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A scenario file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    #[serde(rename = "about")]
    _about: String,
    policy: String,
    budget: u32,
    #[serde(default)]
    window: u32,
    #[serde(default)]
    layout: Option<String>,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    leased_cap: Option<u32>,
    #[serde(default)]
    tools: usize,
    /// Whether roles must alternate.
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    instructions: Option<String>,
    /// `turn 3 cut 300 up to 4`: where the last call's window started, and how far results were shortened.
    #[serde(default)]
    anchor: Option<String>,
    #[serde(default)]
    own: Vec<String>,
    #[serde(default)]
    preamble: Option<String>,
    #[serde(default)]
    turns: Vec<String>,
    /// The number of turns `you 20 | model 30` before the others.
    #[serde(default)]
    earlier: usize,
    now: String,
    #[serde(default)]
    marks: Vec<String>,
    #[serde(default)]
    asleep: Vec<String>,
    #[serde(default)]
    gap: Option<(usize, u32)>,
    /// Parameters of the policy, as in its file.
    #[serde(default)]
    tune: PolicySpec,
    /// The lane of the message.
    #[serde(default)]
    lane: String,
    #[serde(default)]
    facts: Vec<String>,
    /// `lane 1-3,5 40`: an accepted lane summary of 40 tokens for turns 1 to 3 and 5; likewise `session`.
    #[serde(default)]
    summaries: Vec<String>,
    /// Turns whose questions were found, best first.
    #[serde(default)]
    found: Vec<usize>,
    /// `lane`: the message names the lane of the summaries; `lacks`: it names something that they do not mention.
    #[serde(default)]
    names: Vec<String>,
    plan: String,
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

/// A text of a given number of tokens (or characters, with a `c`) that starts with its own name.
fn text(size: &str, name: &str) -> String {
    let chars = size.strip_suffix('c').map_or_else(|| number(size) * 4, number) as usize;
    let mut text = format!("{name} ");
    text.extend(std::iter::repeat_n('x', chars.saturating_sub(text.chars().count())));
    text.chars().take(chars).collect()
}

fn parse_message(text: &str, name: &str) -> TalkMessage {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let bar = match words[0] {
        "hidden" => Some(SendBarrier::Hidden),
        "removed" => Some(SendBarrier::Removed),
        _ => None,
    };
    if bar.is_some() {
        words.remove(0);
    }
    let message = match words.as_slice() {
        ["you", size] => TalkMessage::new(Role::User, self::text(size, name)),
        ["foreign", size] => TalkMessage::new(Role::System, self::text(size, name)),
        ["model", size] => TalkMessage::new(Role::Assistant, self::text(size, name)),
        ["model", size, "state"] => {
            let state = "---STATE---\ngoal: done\n---END STATE---";
            TalkMessage::new(Role::Assistant, format!("{}\n\n{state}", self::text(size, name)))
        }
        ["model", size, "calls", calls @ ..] => TalkMessage::calling(self::text(size, name), calls),
        ["result", call, size] => TalkMessage::result(call, self::text(size, name)),
        other => panic!("{other:?}"),
    };
    TalkMessage { bar, ..message }
}

fn turn(text: &str, name: &str) -> Vec<TalkMessage> {
    text.split('|').enumerate().map(|(at, one)| parse_message(one.trim(), &format!("{name}.{}", at + 1))).collect()
}

fn kind(words: &[&str]) -> MarkKind {
    match words {
        ["sticky"] => MarkKind::Sticky,
        ["lease", turns] => MarkKind::leased(number(turns)),
        ["ephemeral"] => MarkKind::Ephemeral,
        ["exclude"] => MarkKind::Exclude,
        ["exclude", "once"] => MarkKind::ExcludeOnce,
        ["include", "once"] => MarkKind::IncludeOnce,
        other => panic!("{other:?}"),
    }
}

fn own(text: &str) -> OwnText {
    let (name, size) = text.split_once(' ').unwrap();
    let section = match name {
        "system" => Section::System,
        "personality" => Section::Personality,
        "guidelines" | "own-rules" => Section::Guidelines,
        "rules" | "map" => Section::Orientation,
        "state" => Section::State,
        "quote" => Section::QuotedReply,
        "code" => Section::Retrieved,
        "go-on" => Section::UserMessage,
        other => panic!("{other:?}"),
    };
    OwnText { section, text: self::text(size, name) }
}

/// A text in `own` with this prefix asks the model for a state block when turns are left out.
const REQUEST: &str = "state-request ";

impl Scenario {
    fn texts(&self) -> Vec<OwnText> {
        self.own.iter().filter(|text| !text.starts_with(REQUEST)).map(|text| own(text)).collect()
    }

    fn state_request(&self) -> Option<String> {
        self.own.iter().find_map(|own| own.strip_prefix(REQUEST)).map(|size| text(size, "request"))
    }

    fn talk(&self) -> Talk {
        let mut turns: Vec<Vec<TalkMessage>> = Vec::new();
        turns.extend(self.preamble.iter().map(|text| turn(text, "preamble")));
        let shift = turns.len();
        let named = |turn: &str| number(turn) as usize + shift - 1;
        for at in 1..=self.earlier {
            turns.push(turn("you 20 | model 30", &format!("turn {at}")));
        }
        for (at, text) in self.turns.iter().enumerate() {
            turns.push(turn(text, &format!("turn {}", at + 1 + self.earlier)));
        }
        let mark = |text: &String| {
            let words: Vec<&str> = text.split(' ').collect();
            let on = match words[0] {
                "turn" => MarkTarget::Turn(named(words[1])),
                "preamble" => MarkTarget::Turn(0),
                "message" => {
                    let (turn, at) = words[1].split_once('.').unwrap();
                    MarkTarget::Message(named(turn), number(at) as usize - 1)
                }
                "open" => MarkTarget::Open(number(words[1]) as usize - 1),
                "note" => MarkTarget::Note(self::text(words[1], "note")),
                other => panic!("{other:?}"),
            };
            (on, kind(&words[if words[0] == "preamble" { 1 } else { 2 }..]))
        };
        let facts = self.known(&turns, named);
        let mut talk = Talk {
            facts,
            lane: self.lane.clone(),
            preamble: shift == 1,
            open: turn(&self.now, "now"),
            own: self.texts(),
            state_request: self.state_request(),
            marks: self.marks.iter().map(mark).collect(),
            inactive_marks: self
                .asleep
                .iter()
                .map(|text| text.split_once(' ').unwrap())
                .map(|(tokens, marked)| (kind(&marked.split(' ').collect::<Vec<_>>()), number(tokens)))
                .collect(),
            gap: self.gap,
            policy: self.spec(),
            window_turns: self.window,
            mode: self.mode.as_deref().map_or(Mode::Light, |name| Mode::from_name(name).unwrap()),
            layout: self.layout.as_deref().map_or_else(Layout::default, |name| Layout::from_name(name).unwrap()),
            budget: self.budget,
            tools: self.tools,
            turns,
            ..Talk::default()
        };
        talk.dialect.strict_alternation = self.strict;
        if let Some(role) = &self.instructions {
            talk.dialect.instruction_role.clone_from(role);
        }
        self.summarize(&mut talk, named);
        talk.search_results.fits = self.found.iter().map(|turn| (turn - 1 + shift, 0)).collect();
        talk.anchor = self.anchor.as_deref().map(|text| anchor(&talk, text, named));
        talk
    }
}

impl Scenario {
    /// Adds the accepted summaries and what the message names of them.
    fn summarize(&self, talk: &mut Talk, turn: impl Fn(&str) -> usize) {
        let summary = |kind: &str| {
            let plan_text = self.summaries.iter().find_map(|text| text.strip_prefix(kind))?;
            let (turns, size) = plan_text.trim().split_once(' ').unwrap();
            let part = |part: &str| {
                let (from, to) = part.split_once('-').unwrap_or((part, part));
                turn(from)..=turn(to)
            };
            Some((turns.split(',').flat_map(part).collect(), text(size, "summary")))
        };
        (talk.summary, talk.session) = (summary("lane"), summary("session"));
        let has = |row_name: &str| self.names.iter().any(|name| name == row_name);
        talk.names = (has("lane"), has("lacks"));
    }

    /// The policy with the scenario's parameters.
    fn spec(&self) -> PolicySpec {
        PolicySpec {
            name: self.policy.clone(),
            anchored: self.policy == "layered",
            shorten_tools: self.policy != "window",
            leased_cap_tokens: self.leased_cap.unwrap_or(2_048),
            choose: match self.policy.as_str() {
                "lanes" => TurnSelection::Lane,
                "adaptive" => TurnSelection::Relevance,
                "levels" => TurnSelection::Levels,
                _ => TurnSelection::Recent,
            },
            ..self.tune.clone()
        }
    }

    /// Facts about the turns: roles from the messages, and the rest from the scenario.
    fn known(&self, turns: &[Vec<TalkMessage>], named: impl Fn(&str) -> usize) -> Vec<TurnFacts> {
        let facts_of = |message: &TalkMessage| MessageFacts { role: message.role, age: 0, flags: Vec::new() };
        let messages =
            |turn: &Vec<TalkMessage>| turn.iter().filter(|message| message.bar.is_none()).map(facts_of).collect();
        let plain = |turn| TurnFacts { messages: messages(turn), similarity: Some(0), ..TurnFacts::default() };
        let mut facts: Vec<TurnFacts> = turns.iter().map(plain).collect();
        for text in &self.facts {
            let words: Vec<&str> = text.split(' ').collect();
            for pair in words[2..].chunks(2) {
                add_fact(&mut facts[named(words[1])], pair[0], pair[1]);
            }
        }
        facts
    }
}

fn add_fact(facts: &mut TurnFacts, key: &str, value: &str) {
    match key {
        "lane" => value.clone_into(&mut facts.lane),
        "age" => {
            facts.age = number(value).into();
            facts.messages.iter_mut().for_each(|message| message.age = number(value).into());
        }
        "similarity" => facts.similarity = Some(value.parse().unwrap()),
        "mentions" => {
            let (later, all) = value.split_once('/').unwrap();
            facts.mentions = (number(later), number(all));
        }
        "flags" => facts.messages[0].flags = value.split(',').map(word_as).collect(),
        "priority" => facts.priority = value.parse().unwrap(),
        "task" => facts.task = word_as(value),
        "part" => facts.part = word_as(value),
        other => panic!("{other:?}"),
    }
}

/// Parses a word as a JSON string.
fn word_as<T: serde::de::DeserializeOwned>(word: &str) -> T {
    serde_json::from_value(word.into()).unwrap()
}

fn anchor(talk: &Talk, text: &str, named: impl Fn(&str) -> usize) -> Anchor {
    let words: Vec<&str> = text.split(' ').collect();
    let (form, to) = match words[2..] {
        ["full"] => (Form::Full, None),
        ["cut", limit, "up", "to", turn] => (Form::Cut(number(limit)), Some(turn)),
        ["elided", "up", "to", turn] => (Form::Elided, Some(turn)),
        _ => panic!("{text:?}"),
    };
    Anchor {
        start: talk.key(named(words[1]), 0),
        shortened_to: to.map(|turn| talk.key(named(turn), 0)),
        form,
        budget: talk.budget,
        policy: talk.policy.name.clone(),
        summaries: Vec::new(),
    }
}

fn form(form: Form) -> Option<String> {
    match form {
        Form::Full | Form::Card | Form::Out => None,
        Form::NoState => Some("without its state".into()),
        Form::Cut(limit) => Some(format!("cut to {limit}")),
        Form::Elided => Some("elided".into()),
        Form::Gone => Some("gone".into()),
        Form::Placeholder => Some("placeholder".into()),
    }
}

fn row_name(row: &Row) -> String {
    let numbered = |word: &str| format!("{word} {}", row.source.turn.unwrap_or(0));
    match row.kind {
        RowKind::Turn if row.reason.name() == "open" => "now".into(),
        RowKind::Turn if row.reason.name() == "off_path" => "elsewhere".into(),
        RowKind::Turn => numbered("turn"),
        RowKind::Card if row.items.is_empty() => "note".into(),
        RowKind::Card => numbered("card of turn"),
        RowKind::Message => format!("message of turn {}", row.source.turn.unwrap_or(0)),
        RowKind::Range => format!("{} from turn {}", row.title, row.source.turn.unwrap_or(0)),
        other => other.name().into(),
    }
}

fn line(row: &Row) -> String {
    let place = row.section().map_or("out", Section::name);
    let mut line = format!("{place:12}  {:16} {:>6}  {}", row_name(row), row.tokens, row.reason.sentence());
    let forms: Vec<String> = row
        .items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| Some(format!("{} {} {}", item.role, at + 1, form(item.form)?)))
        .collect();
    if row.included() && !forms.is_empty() {
        let _ = write!(line, " [{}]", forms.join(", "));
    }
    if let Some(score) = row.scores.score {
        let parts: Vec<String> =
            row.scores.parts.iter().map(|(name, part)| format!("{name} {}", Milli(*part))).collect();
        let _ = write!(line, " {{{} = {}}}", Milli(score), parts.join(" + "));
    }
    if let Verdict::Out { remedy: Some(remedy), .. } = &row.verdict {
        let _ = write!(line, " > {}", remedy.sentence(&remedy.action));
    }
    line
}

pub(crate) fn plan_text(plan: &ContextPlan, roles: &[String]) -> String {
    let mut lines = vec![format!("{} of {} tokens: {}", plan.est_total, plan.budget.prompt, roles.join(" "))];
    lines.extend(plan.rows.iter().map(line));
    lines.extend(plan.warnings.iter().map(|warning| format!("! {}", warning.sentence())));
    lines.join("\n")
}

pub(crate) fn blocked_text(blocked: &Blocked) -> String {
    let mut lines = vec![blocked.sentence()];
    lines.extend(blocked.rows.iter().map(line));
    lines.extend(blocked.choices.iter().map(|choice| format!("> {}", choice.sentence())));
    lines.join("\n")
}

/// Solves a scenario. The request of a plan is also rendered and counted.
fn solve(scenario: &Scenario) -> String {
    let talk = scenario.talk();
    let (input, bag) = talk::build_input(&talk, Encoding::Approximate, &Quarter);
    let plan = match plan(&input) {
        Ok(plan) => plan,
        Err(blocked) => return blocked_text(&blocked),
    };
    let (wire, _) = render::render(&plan, &input.shape, &bag).unwrap();
    assert_eq!(checks::count_body(&wire.bytes, Encoding::Approximate, &Quarter), Some(plan.est_total));
    let body: serde_json::Value = serde_json::from_slice(&wire.bytes).unwrap();
    let roles = body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap().to_owned());
    let mut runs: Vec<(String, usize)> = Vec::new();
    for role in roles {
        match runs.last_mut().filter(|(last, _)| *last == role) {
            Some((_, count)) => *count += 1,
            None => runs.push((role, 1)),
        }
    }
    let roles: Vec<String> =
        runs.into_iter().map(|(role, count)| if count > 1 { format!("{role}×{count}") } else { role }).collect();
    plan_text(&plan, &shortened(roles))
}

fn shortened(mut roles: Vec<String>) -> Vec<String> {
    if roles.len() > 16 {
        let left_out = roles.len() - 12;
        roles.splice(6..6 + left_out, [format!("… {left_out} more …")]);
    }
    roles
}

fn difference(wanted: &str, got: &str) -> String {
    let (wanted, got): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), got.lines().collect());
    let mut out = String::new();
    for line in &wanted {
        let _ = writeln!(out, "{} {line}", if got.contains(line) { ' ' } else { '-' });
    }
    for line in got.iter().filter(|line| !wanted.contains(line)) {
        let _ = writeln!(out, "+ {line}");
    }
    out
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    files
}

#[test]
fn scenarios_give_the_expected_plans() {
    let write = std::env::var_os("PLEACH_SCENARIOS").is_some_and(|value| value == "write");
    let mut failures = String::new();
    let files = files();
    assert!(files.len() >= 20, "no scenarios were found");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let scenario: Scenario = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let got = solve(&scenario);
        if got.trim() == scenario.plan.trim() {
            continue;
        }
        if write {
            let start = text.find("plan = '''").expect("a plan in a literal block");
            std::fs::write(&file, format!("{}plan = '''\n{got}\n'''\n", &text[..start])).unwrap();
        } else {
            let _ = writeln!(failures, "{}\n{}", file.display(), difference(scenario.plan.trim(), &got));
        }
    }
    assert!(failures.is_empty(), "- is expected, + is the result\n{failures}");
}
