//! Lines of code that a person excluded: no card, touchpoint, map, or lease of the program contains them, unless the
//! person includes an item around them or inside them.

use crate::code::context::{bench, body, code, found, set, start};
use crate::support::bench::{Bench, Client, Dice, Model, message, text};
use pleach::domain::base::BranchId;
use pleach::domain::conversation::MarkKind;
use pleach::domain::planning::Reason;
use pleach::domain::planning::{ContextPlan, Mode, PolicySpec, Row, RowKind, Section};
use pleach::engine::api::{Act, BranchRequest, ItemName, Request, SessionRequest};
use serde_json::Value;

const PATH: &str = "app/templates.py";

/// No line of this file occurs twice.
const TEMPLATES: &str = "\"\"\"Texts with places for values.\"\"\"\nclass Template:\n    \"\"\"A template of a text.\"\"\"\n    \
    name: str\n\n    def evaluate(self, values):\n        \"\"\"Evaluates the template.\"\"\"\n        filled = \
    self.interpolate(values)\n        return filled.strip()\n\n    def interpolate(self, parts):\n        \"\"\"Puts \
    parts into the template.\"\"\"\n        pieces = self.name.split(parts)\n        return \"\".join(pieces)\n\n\ndef \
    load_template(source):\n    \"\"\"Loads a template by its name.\"\"\"\n    made = Template(source)\n    return \
    made\n";

const ITEMS: [&str; 5] = [PATH, "Template", "Template.evaluate", "Template.interpolate", "load_template"];

const QUESTIONS: [&str; 5] = [
    "What does `Template` evaluate?",
    "How does `Template` work?",
    "What does app/templates.py do?",
    "Where does load_template interpolate the parts of a template?",
    "ok continue",
];

fn files(bench: &Bench) {
    std::fs::write(bench.workspace.join(PATH), TEMPLATES).unwrap();
}

fn named(client: &mut Client, branch: BranchId, name: &str, kind: MarkKind) {
    let act = Act::Set { kind, toggle: true };
    let items = vec![ItemName::Named { text: name.to_owned(), message: false }];
    client.must(Request::Branch(BranchRequest::Mark { branch, items, act }));
}

/// The texts of a request.
fn lines(client: &mut Client, branch: BranchId) -> Vec<String> {
    let sent: Value = serde_json::from_str(&body(client, branch)).unwrap();
    let messages = sent["messages"].as_array().unwrap().iter().filter_map(|message| message["content"].as_str());
    messages.flat_map(str::lines).map(|line| line.trim().to_owned()).collect()
}

/// The lines of the file that an item spans and that are not empty.
fn span(item: &str) -> Vec<&'static str> {
    let (first, last) = match item {
        PATH => (1, 20),
        "Template" => (2, 14),
        "Template.evaluate" => (6, 9),
        "Template.interpolate" => (11, 14),
        _ => (17, 20),
    };
    TEMPLATES.lines().take(last).skip(first - 1).map(str::trim).filter(|line| !line.is_empty()).collect()
}

fn row<'a>(plan: &'a ContextPlan, name: &str) -> &'a Row {
    found(plan, name).unwrap_or_else(|| panic!("{name} in {:#?}", code(plan)))
}

#[test]
fn a_class_leaves_out_its_excluded_method() {
    let bench = bench(&Model::new([]));
    files(&bench);
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    client.whole_plan(branch, &message(QUESTIONS[1]));
    assert!(lines(&mut client, branch).contains(&"filled = self.interpolate(values)".to_owned()));
    named(&mut client, branch, "Template.evaluate", MarkKind::Exclude);
    let plan = client.whole_plan(branch, &message(QUESTIONS[1]));
    assert!(row(&plan, "Template").included());
    let sent = lines(&mut client, branch);
    assert!(span("Template.evaluate").iter().all(|line| !sent.iter().any(|sent| sent.contains(line))), "{sent:#?}");
    assert!(sent.contains(&"name: str".to_owned()) && sent.contains(&"… left out by the user".to_owned()), "{sent:#?}");
    // A pin on the class sends it whole, and says so.
    named(&mut client, branch, "Template", MarkKind::Sticky);
    let plan = client.whole_plan(branch, &message(QUESTIONS[1]));
    let pinned = row(&plan, "Template");
    assert!(pinned.included() && pinned.title.ends_with("; you also left out lines of it"), "{pinned:?}");
    assert!(lines(&mut client, branch).contains(&"filled = self.interpolate(values)".to_owned()));
}

#[test]
fn an_excluded_class_or_file_excludes_what_is_inside() {
    let bench = bench(&Model::new([]));
    files(&bench);
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    for item in ["Template", PATH] {
        named(&mut client, branch, item, MarkKind::Exclude);
        let plan = client.whole_plan(branch, &message(QUESTIONS[0]));
        let inside = row(&plan, "evaluate");
        assert_eq!((inside.included(), &inside.reason), (false, &Reason::UserExcluded { once: false }), "{item}");
        assert!(inside.title.ends_with("; part of what you left out"), "{inside:?}");
        let sent = lines(&mut client, branch);
        assert!(span(item).iter().all(|line| !sent.contains(&(*line).to_owned())), "{item}: {sent:#?}");
        named(&mut client, branch, "Template.evaluate", MarkKind::IncludeOnce);
        let plan = client.whole_plan(branch, &message(QUESTIONS[0]));
        let inside = row(&plan, "evaluate");
        assert!(inside.included() && inside.title.ends_with("; you also left out lines of it"), "{inside:?}");
        client.must(Request::Session(SessionRequest::Undo));
        client.must(Request::Session(SessionRequest::Undo));
    }
}

/// Whatever is excluded, and whatever is asked, no line of it is sent.
#[test]
fn no_line_of_an_excluded_span_is_sent() {
    let bench = bench(&Model::new([]));
    files(&bench);
    let mut client = start(&bench);
    let branch = client.session();
    client.say(branch, QUESTIONS[0]);
    let mut dice = Dice::new(7);
    let mut sent_before = 0;
    for _ in 0..24 {
        let mode = if dice.below(3) == 0 { Mode::Light } else { Mode::Heavy };
        set(&mut client, branch, |o| o.mode = Some(mode));
        let chosen: Vec<&str> = ITEMS.into_iter().filter(|_| dice.below(3) == 0).collect();
        for item in &chosen {
            let kind = if dice.below(2) == 0 { MarkKind::Exclude } else { MarkKind::ExcludeOnce };
            named(&mut client, branch, item, kind);
        }
        let plan = client.whole_plan(branch, &message(QUESTIONS[dice.below(QUESTIONS.len())]));
        let found = |row: &&Row| row.kind == RowKind::Code && row.section() == Some(Section::Retrieved);
        sent_before += plan.rows.iter().filter(found).count();
        let sent = lines(&mut client, branch);
        for line in chosen.iter().flat_map(|item| span(item)) {
            let line = line.trim_end_matches(':');
            assert!(!sent.iter().any(|sent| sent.contains(line)), "{line:?} of {chosen:?} in {sent:#?}");
        }
        for _ in &chosen {
            client.must(Request::Session(SessionRequest::Undo));
        }
    }
    assert!(sent_before > 20, "{sent_before}");
}

/// A symbol that the program leased is not sent if the file around it is excluded.
#[test]
fn a_lease_of_the_program_respects_an_excluded_file() {
    let model = Model::new([text("It depends on `backoff`, which doubles.")]);
    let bench = bench(&model);
    let policy = PolicySpec { retrieval: true, lease_turns: 4, ..crate::engine::activation::spec() };
    let mut client = bench.start_with(|setup| {
        setup.patient = true;
        setup.settings.policies.insert(policy.name.clone(), policy.clone());
    });
    let branch = client.session();
    set(&mut client, branch, |_| {});
    client.say(branch, "Tell me of tea.");
    assert!(row(&client.whole_plan(branch, &message("Tell me of tea.")), "backoff").included());
    named(&mut client, branch, "src/net/retry.rs", MarkKind::Exclude);
    let plan = client.whole_plan(branch, &message("Tell me of tea."));
    let leased = row(&plan, "backoff");
    assert_eq!((leased.included(), &leased.reason), (false, &Reason::UserExcluded { once: false }));
    assert!(!body(&mut client, branch).contains("fn backoff"));
}
