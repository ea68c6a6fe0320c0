//! From the draft to the call: planning while typing, Enter, commands after a slash.
//! Not for: the composer's own editing (`keys`).

use super::{branches, completing, queueing};
use crate::domain::base::ids::BranchId;
use crate::domain::call::model::Quirk;
use crate::domain::call::tokens::grouped;
use crate::domain::conversation::lane::Lane;
use crate::domain::conversation::mark::MarkKind;
use crate::domain::planning::mode::{Mode, SearchWish};
use crate::domain::planning::policy::Layout;
use crate::domain::summary::draft::Compacting;
use crate::engine::api::{
    Act, BranchRequest, Item, PlanRequest, ProgramRequest, Request, SessionRequest, TaskAct, TurnRequest,
};
use crate::tui::chat::model::composer::{Draft, DraftKind};
use crate::tui::chat::model::slash::{self, Typed};
use crate::tui::model::panes::Shape;
use crate::tui::model::status::{INDEXING, WAITING, Weight};
use crate::tui::model::{Action, Model, PATIENCE, Pending};
use crate::tui::msg::Cmd;
use crate::tui::screens;
use crate::tui::update::{open, send, wire};

/// The draft of the next call: none while a command is typed.
pub(crate) fn present(model: &mut Model) -> Draft {
    if model.composer.commanding() { Draft::default() } else { model.composer.draft() }
}

/// Asks for a new plan when typing has rested.
pub(crate) fn replan_when_due(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.plan.due.is_none_or(|due| due > model.now) {
        return;
    }
    model.plan.due = None;
    let Some(branch) = model.session.as_ref().map(|session| session.current) else { return };
    let draft = present(model);
    model.plan.generation += 1;
    model.plan.asked = Some((branch, draft.clone()));
    model.pending.retain(|_, what_for| *what_for != Pending::Replan);
    let generation = model.plan.generation;
    send(model, Request::Plan(PlanRequest::Replan { branch, generation, draft: wire(&draft) }), Pending::Replan, out);
}

/// Enter: sends exactly the plan on the screen, or a command.
pub(crate) fn enter(model: &mut Model, out: &mut Vec<Cmd>) {
    if completing::take(model, out) {
        return;
    }
    if model.composer.commanding() {
        command_line(model, out);
        return;
    }
    let draft = model.composer.draft();
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    if draft.text.trim().is_empty() {
        if model.queue.held(branch) {
            queueing::next(model, branch, true, out);
        }
        return;
    }
    if queueing::put(model, branch, &draft) {
        return;
    }
    if again(model, branch, &draft, out) {
        return;
    }
    if model.plan.exactly(branch, &draft).is_none() && model.plan.blocked(branch).is_some() && model.plan.due.is_none()
    {
        open::blocked_here(model, branch);
        return;
    }
    let plan = model.plan.exactly(branch, &draft);
    ask(model, branch, draft, plan, out);
}

/// Enter on a draft that is being sent already: once it was said that it waits, it goes without what it waits for.
fn again(model: &mut Model, branch: BranchId, draft: &Draft, out: &mut Vec<Cmd>) -> bool {
    let same = |d: &Draft| d.kind == draft.kind && d.text == draft.text;
    let waits = model.pending.iter().find_map(|(ticket, pending)| match pending {
        Pending::Ask { branch: b, draft: d, told, .. } if *b == branch && same(d) => {
            Some((*ticket, *told && d.search != SearchWish::Never))
        }
        _ => None,
    });
    let Some((ticket, may)) = waits else { return false };
    if may {
        model.pending.remove(&ticket);
        model.status.report(WAITING, "Sending without a search of older messages.", model.now);
        ask(model, branch, Draft { search: SearchWish::Never, ..draft.clone() }, None, out);
    }
    true
}

/// Says, after a while, that a call waits, and what can be done.
pub(crate) fn tell_that_it_waits(model: &mut Model) {
    let (now, mut late) = (model.now, false);
    for pending in model.pending.values_mut() {
        if let Pending::Ask { since, told, .. } = pending
            && !*told
            && *since + PATIENCE <= now
        {
            (*told, late) = (true, true);
        }
    }
    if late {
        say_that_it_waits(model);
    }
}

fn say_that_it_waits(model: &mut Model) {
    let key = |action| model.keys.key_of(action).unwrap_or_default();
    let first = match model.indexing {
        Some((done, total)) => {
            let number = |n: usize| grouped(n as u64);
            format!("older messages are indexed first, {} of {}", number(done), number(total))
        }
        None => "older messages are looked through first".to_owned(),
    };
    let (send, leave) = (key(Action::Send), key(Action::Leave));
    let text = format!("Not sent yet: {first}. {send} sends without them, {leave} takes it back.");
    model.status.report(WAITING, text, model.now);
}

/// Indexing went on.
pub(crate) fn indexing(model: &mut Model, done: usize, total: usize) {
    model.indexing = Some((done, total)).filter(|_| done < total);
    if model.indexing.is_none() {
        return model.status.end(INDEXING);
    }
    if model.pending.values().any(|pending| matches!(pending, Pending::Ask { told: true, .. })) {
        model.status.end(INDEXING);
        return say_that_it_waits(model);
    }
    let number = |n: usize| grouped(n as u64);
    model.status.report(INDEXING, format!("indexing older messages, {} of {}", number(done), number(total)), model.now);
}

/// Hands a call in.
pub(crate) fn ask(
    model: &mut Model,
    branch: BranchId,
    draft: Draft,
    plan: Option<crate::domain::base::hash::Hash>,
    out: &mut Vec<Cmd>,
) {
    model.conversation.failed.remove(&branch);
    let request = Request::Turn(TurnRequest::Ask { branch, draft: wire(&draft), plan });
    let since = model.now;
    send(model, request, Pending::Ask { branch, draft, since, told: false }, out);
}

/// Asks for something other than a new message, at once.
pub(crate) fn ask_kind(model: &mut Model, kind: DraftKind, out: &mut Vec<Cmd>) {
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        model.conversation.follow();
        ask(model, branch, Draft { text: "".into(), kind, ..Draft::default() }, None, out);
    }
}

/// Takes the selected completion. False when there is none.
pub(crate) fn complete(model: &mut Model) -> bool {
    if !model.composer.commanding() {
        return false;
    }
    let list = slash::completions(model.composer.first_line());
    let Some(choice) = list.get(model.composer.choice).or(list.first()) else { return false };
    let line = if choice.words.is_empty() { format!("/{}", choice.name) } else { format!("/{} ", choice.name) };
    model.composer.set(&line, DraftKind::Message);
    true
}

fn command_line(model: &mut Model, out: &mut Vec<Cmd>) {
    let line = model.composer.first_line().to_owned();
    let list = slash::completions(&line);
    let exact = list.iter().any(|command| line[1..] == *command.name);
    let line = match list.get(model.composer.choice) {
        Some(choice) if !exact || model.composer.choice > 0 => {
            if !choice.words.is_empty() {
                complete(model);
                return;
            }
            format!("/{}", choice.name)
        }
        _ => line,
    };
    match slash::read(&line) {
        Typed::Worded(name, words) => {
            let words = words.to_owned();
            let troubles = model.status.troubles();
            model.composer.clear();
            worded(model, name, &words, out);
            // What was refused can be mended where it was written.
            if model.status.troubles() > troubles && model.composer.is_empty() {
                model.composer.set(&line, DraftKind::Message);
            }
        }
        Typed::Action(action) => {
            model.composer.clear();
            crate::tui::update::actions::run(model, action, None, out);
        }
        Typed::Unknown(name) => {
            let text = format!(
                "There is no command /{name}. A message that begins with a slash is written with two: //{name}."
            );
            model.status.say(Weight::Trouble, text, model.now);
        }
    }
}

fn worded(model: &mut Model, name: &'static str, words: &str, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().cloned() else { return };
    let mut overrides = branch.overrides.clone();
    let given = (!words.is_empty()).then(|| words.to_owned());
    match name {
        "mode" => match Mode::from_name(words) {
            Some(mode) => overrides.mode = Some(mode),
            None => return wrong(model, "The modes are off, light and heavy."),
        },
        "model" if words.is_empty() => return screens::picker::update::models(model, out),
        "model" => overrides.model = given,
        "profile" => (overrides.profile, overrides.model) = (given, None),
        "budget" | "window" => {
            let digits: String = words.chars().filter(|c| !matches!(c, ',' | '_' | '.')).collect();
            match (digits.parse::<u32>(), name) {
                (Ok(n), "budget") => overrides.budget = (n > 0).then_some(n),
                (Ok(n), _) => overrides.window = Some(n),
                (Err(_), _) => return wrong(model, &format!("/{name} wants a number, as in /{name} 8000.")),
            }
        }
        "policy" if !model.facts.policies.is_empty() && !model.facts.policies.iter().any(|p| p == words) => {
            let known = model.facts.policies.join(", ");
            return wrong(model, &format!("There is no policy {words:?}; there are {known}."));
        }
        "policy" => overrides.policy = given,
        "compaction" => match (words, Compacting::from_name(words)) {
            ("policy", _) => overrides.compaction = None,
            (_, Some(wish)) => overrides.compaction = Some(wish),
            (_, None) => return wrong(model, "/compaction wants off, ask, self, or policy for the policy's own."),
        },
        "layout" if words.is_empty() => return crate::tui::update::panes::next_shape(model, out),
        "layout" if Shape::from_name(words).is_some() => {
            return crate::tui::update::panes::shape(model, Shape::from_name(words).unwrap_or_default(), out);
        }
        "layout" if Layout::from_name(words).is_none() => {
            let text = "The screen's layouts are wide, narrow and zen; the sections go classic or cache_friendly.";
            return wrong(model, text);
        }
        "layout" => overrides.layout = given,
        "personality" => overrides.personality = given,
        "compare" => return screens::compare::update::named(model, words, out),
        "focus" => return super::focus::typed(model, words, out),
        "lane" if words.is_empty() => {
            let lane = model.session.as_ref().map_or(Lane::Root, crate::tui::model::session::Session::lane);
            let text = format!("Your next message goes into the lane {}.", lane.title());
            return model.status.say(Weight::Notice, text, model.now);
        }
        "lane" => overrides.lane = Some(Lane::read(words).text()),
        _ => return other_words(model, name, words, branch.id, out),
    }
    branches::set_overrides(model, overrides, out);
}

fn other_words(model: &mut Model, name: &str, words: &str, branch: BranchId, out: &mut Vec<Cmd>) {
    let given = (!words.is_empty()).then(|| words.to_owned());
    match (name, given) {
        ("rename", Some(name)) => {
            send(model, Request::Branch(BranchRequest::Rename { branch, name }), Pending::Act, out);
        }
        ("rename", None) => branches::rename_prompt(model, branch),
        ("title", Some(title)) => {
            let session = model.session.as_ref().map(|session| session.card.id.to_string());
            send(model, Request::Session(SessionRequest::Rename { session, title: Some(title) }), Pending::Act, out);
        }
        ("retitle", _) => {
            let session = model.session.as_ref().map(|session| session.card.id.to_string());
            send(model, Request::Session(SessionRequest::Rename { session, title: None }), Pending::Act, out);
        }
        ("title", None) => branches::title_prompt(model),
        ("fork", name) => {
            let request = BranchRequest::Fork { branch, at: None, name, switch: true };
            send(model, Request::Branch(request), Pending::Fork(None), out);
        }
        ("new", title) => {
            send(model, Request::Session(SessionRequest::New { title: title.unwrap_or_default() }), Pending::Open, out);
        }
        ("note", Some(text)) => {
            let act = Act::Set { kind: MarkKind::Sticky, toggle: false };
            let request = BranchRequest::Mark { branch, items: vec![Item::Note(text)], act };
            send(model, Request::Branch(request), Pending::Act, out);
            model.plan.touch(model.now);
        }
        ("note", None) => wrong(model, "/note wants the words to pin."),
        ("task", None) => {
            let running = model.session.as_ref().and_then(|session| session.task()).map(str::to_owned);
            let text = running.map_or_else(
                || "No task is running here; /task NAME begins one.".to_owned(),
                |name| format!("The task {name} is running; /task done ends it."),
            );
            model.status.say(Weight::Notice, text, model.now);
        }
        ("task", Some(words)) => {
            send(model, Request::Branch(BranchRequest::Task { branch, act: task_act(&words) }), Pending::Act, out);
            model.plan.touch(model.now);
        }
        ("remember", Some(text)) => crate::tui::screens::memories::update::remember(model, &text, out),
        ("remember", None) => crate::tui::screens::memories::update::open(model, out),
        ("aside", words) => crate::tui::screens::aside::update::ask(model, &words.unwrap_or_default(), out),
        ("label", words) => super::tags::named(model, &words.unwrap_or_default(), out),
        ("theme", Some(name)) => crate::tui::update::comfort::keep_theme(model, &name, out),
        ("theme", None) => crate::tui::update::comfort::themes(model),
        ("race", words) => crate::tui::screens::race::update::race(model, &words.unwrap_or_default(), out),
        ("compress", words) => crate::tui::screens::summaries::update::compress(model, &words.unwrap_or_default(), out),
        ("search", words) => crate::tui::screens::search::update::open(model, words.unwrap_or_default(), out),
        ("capsule", Some(path)) => crate::tui::screens::summaries::update_modules::make(model, &path, out),
        ("capsule", None) => crate::tui::update::actions::run(model, Action::Modules, None, out),
        ("skill", Some(name)) => crate::tui::screens::editor::update::use_skill(model, &name, out),
        ("skill", None) => crate::tui::update::actions::run(model, Action::Skills, None, out),
        ("forget", name) => forget(model, &name.unwrap_or_default(), out),
        ("state", _) => open::state(model),
        (_, _) => {}
    }
}

/// One quirk by its name, or all.
fn forget(model: &mut Model, name: &str, out: &mut Vec<Cmd>) {
    let quirk = Quirk::from_name(name);
    if quirk.is_none() && name != "all" {
        let names: Vec<&str> = Quirk::ALL.iter().map(|quirk| quirk.name()).collect();
        return wrong(model, &format!("/forget wants all or one of {}.", names.join(", ")));
    }
    send(
        model,
        Request::Program(ProgramRequest::ForgetQuirks { profile: None, model: None, quirk }),
        Pending::Act,
        out,
    );
    model.plan.touch(model.now);
}

/// `done` and what came of it, or a task's name.
fn task_act(words: &str) -> TaskAct {
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    if first.eq_ignore_ascii_case("done") {
        return TaskAct::Done(Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty()));
    }
    TaskAct::Start(words.to_owned())
}

fn wrong(model: &mut Model, text: &str) {
    model.status.say(Weight::Trouble, text, model.now);
}
