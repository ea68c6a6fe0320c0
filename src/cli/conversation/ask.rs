//! `ask`, `edit`, and `regenerate`: send one turn and print its answer while it streams.
//! Not for: deciding what is sent (`engine`, `context`).

use crate::cli::Run;
use crate::cli::client::unexpected;
use crate::cli::stop::Stop;
use crate::cli::{input, pick, shape};
use crate::domain::base::money::money;
use crate::domain::base::{BranchId, Failure, FailureKind, RunId};
use crate::domain::call::tokens::counted;
use crate::domain::call::{RunCard, RunStatus, ShortRead};
use crate::domain::conversation::{NodeHead, Role, state};
use crate::domain::planning::{ContextPlan, Warning};
use crate::domain::tool::resolution::unreadable;
use crate::domain::tool::{ToolStatus, ToolTrace};
use crate::engine::api::{
    Answer, Draft, DraftKind, Event, Exact, PlanAnswer, PlanRequest, Planned, Request, SessionEvent, SessionView,
    Ticket, ToolEvent, TurnEvent, TurnRequest,
};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// `ask TEXT`.
pub(crate) fn ask(run: &mut Run<'_, '_>, words: &[String], wait: bool) -> Result<(), Stop> {
    let text = run.io.full_message(words)?;
    let view = open(run, true, wait)?;
    turn(run, &view, Draft { text: text.into(), ..Draft::default() })
}

/// Opens the session. With `wait`, waits until no other process uses its branch.
fn open(run: &mut Run<'_, '_>, create: bool, wait: bool) -> Result<Arc<SessionView>, Stop> {
    let view = run.open(create)?;
    if !wait {
        return Ok(view);
    }
    let pressed = (run.io.interrupts)();
    let ticket = run.client.send(TurnRequest::Claim(view.current));
    loop {
        if (run.io.interrupts)() > pressed {
            let left = Failure::user("Stopped waiting.").kept("Your message was not saved and nothing was sent.");
            return Err(Stop::Stopped(left));
        }
        if let Some(Event::Answer { ticket: whose, result }) = run.client.next(&mut run.io)?
            && whose == ticket
        {
            result.map_err(|failure| run.client.failure_of(failure))?;
            // The other process may have added turns.
            let (session, branch) = (view.card.id.to_string(), view.current.to_string());
            return run.client.open(&Some(session), &Some(branch), false, &mut run.io);
        }
    }
}

/// `ask --request FILE [TEXT]`.
pub(crate) fn ask_with_body(run: &mut Run<'_, '_>, file: &Path, words: &[String], wait: bool) -> Result<(), Stop> {
    let body = input::text_of(run, file)?;
    let text = words.join(" ");
    if text == "-" && file == Path::new("-") {
        return Err(Stop::Usage(
            "Standard input already contains the request. Give the text on the command line.".into(),
        ));
    }
    let text = if text == "-" { run.io.read_all()? } else { text };
    let view = open(run, true, wait)?;
    let draft = Draft { text: text.into(), ..Draft::default() };
    let act = Exact::Send { draft, body: body.into() };
    follow(run, &view, PlanRequest::Exact { branch: view.current, act })
}

/// `edit MESSAGE TEXT`.
pub(crate) fn edit(run: &mut Run<'_, '_>, message: &str, words: &[String], wait: bool) -> Result<(), Stop> {
    let text = run.io.full_message(words)?;
    let view = open(run, false, wait)?;
    let edited = pick::message(&view, message)?;
    let left = left_behind(&view, edited);
    let draft = Draft { text: text.into(), kind: DraftKind::Edit(edited.id), ..Draft::default() };
    turn(run, &view, draft)?;
    note_left(run, left);
    Ok(())
}

/// Returns how many messages of the open branch follow a message, not counting tool results; 0 if no later turn follows.
fn left_behind(view: &SessionView, message: &NodeHead) -> usize {
    let tree = pick::tree(view);
    let head = pick::branch(view, None).ok().and_then(|branch| branch.head);
    let path = head.and_then(|head| tree.slot(head)).map(|head| tree.path(head)).unwrap_or_default();
    let after = path.iter().map(|slot| tree.head(*slot)).skip_while(|head| head.id != message.id).skip(1);
    let roles: Vec<Role> = after.map(|head| head.role).collect();
    let is_last = !roles.contains(&Role::User);
    if is_last { 0 } else { roles.iter().filter(|role| **role != Role::Tool).count() }
}

/// Says that the branch ends earlier than before, if later turns followed.
fn note_left(run: &mut Run<'_, '_>, left: usize) {
    if left > 0 {
        let messages = counted(left as u64, "message");
        run.io.note(&format!(
            "the branch now ends with the new answer; {messages} after the old version are kept: `pleach undo` returns to them"
        ));
    }
}

/// Returns the draft kind for an edit of this message.
pub(crate) fn edit_draft(view: &SessionView, message: &str) -> Result<DraftKind, Stop> {
    Ok(DraftKind::Edit(pick::message(view, message)?.id))
}

/// `regenerate [MESSAGE]`.
pub(crate) fn regenerate(run: &mut Run<'_, '_>, message: Option<&str>, wait: bool) -> Result<(), Stop> {
    let view = open(run, false, wait)?;
    let kind = regenerate_draft(&view, message)?;
    let question = match kind {
        DraftKind::Regenerate(id) => view.nodes.iter().find(|node| node.id == id),
        _ => None,
    };
    let left = question.map_or(0, |question| left_behind(&view, question));
    turn(run, &view, Draft { kind, ..Draft::default() })?;
    note_left(run, left);
    Ok(())
}

/// Returns the draft kind for another answer to this message. The default is the last message.
pub(crate) fn regenerate_draft(view: &SessionView, message: Option<&str>) -> Result<DraftKind, Stop> {
    let node = match message {
        Some(text) => pick::message(view, text)?.id,
        None => pick::branch(view, None)?
            .head
            .ok_or_else(|| Failure::user("Nothing to regenerate: the branch is empty."))?,
    };
    Ok(DraftKind::Regenerate(pick::user_message_of(view, node)?))
}

/// Whether a turn continues after an event.
enum Step {
    Continue,
    /// The turn ended; the failure, if any, is the reason.
    Ended(Option<Failure>),
}

#[derive(Default)]
struct Turn {
    ticket: Ticket,
    branch: BranchId,
    current: Option<RunId>,
    text: String,
    shown: usize,
    cards: Vec<RunCard>,
    /// The tool calls that were printed.
    traced: Vec<(RunId, String)>,
    /// The warnings that were printed.
    warned: Vec<Warning>,
    /// Whether the label of the answer was printed.
    labeled: bool,
    cancelled: bool,
    state_missing: bool,
}

/// Runs a turn and prints its answer while it streams.
pub(crate) fn turn(run: &mut Run<'_, '_>, view: &SessionView, draft: Draft) -> Result<(), Stop> {
    follow(run, view, TurnRequest::Ask { branch: view.current, draft, plan: None })
}

/// Sends a request and prints the answer while it streams.
fn follow(run: &mut Run<'_, '_>, view: &SessionView, request: impl Into<Request>) -> Result<(), Stop> {
    let ticket = run.client.send(request);
    let mut turn = Turn { ticket, branch: view.current, ..Turn::default() };
    let failure = loop {
        run.cancel_on_ctrl_c(&mut turn.cancelled, [turn.branch])?;
        let Some(event) = run.client.next(&mut run.io)? else { continue };
        if let Step::Ended(failure) = turn.handle(run, event)? {
            break failure;
        }
    };
    turn.end(run, view, failure)
}

impl Turn {
    #[deny(clippy::wildcard_enum_match_arm)]
    fn handle(&mut self, run: &mut Run<'_, '_>, event: Event) -> Result<Step, Stop> {
        match event {
            Event::Answer { ticket, result } if ticket == self.ticket => match result {
                Ok(Answer::Asked { .. }) => {}
                Ok(Answer::Plan(PlanAnswer::Planned(Planned::Blocked(blocked)))) => return Err(Stop::Unsent(blocked)),
                Ok(other) => return Err(unexpected(&other)),
                Err(failure) => return Err(run.client.failure_of(failure)),
            },
            Event::Turn(event) => return Ok(self.handle_turn(run, event)),
            Event::Tool(ToolEvent::Trace(trace)) if !run.io.json => self.print_trace(run, &trace),
            Event::Session(SessionEvent::State { branch, version, missing }) if branch == self.branch => {
                // Without an earlier state block, none stays in use.
                self.state_missing = missing && version.is_some();
            }
            Event::Planned { branch, planned: Planned::Plan { plan, .. }, .. } if branch == self.branch => {
                self.warn(run, &plan);
            }
            // Events of other branches, and events that the client prints.
            Event::Answer { .. }
            | Event::Planned { .. }
            | Event::Session(_)
            | Event::Tool(_)
            | Event::Summary(_)
            | Event::Indexing(_)
            | Event::Program(_) => {}
        }
        Ok(Step::Continue)
    }

    /// Prints once the items that the person included and the request leaves out.
    fn warn(&mut self, run: &mut Run<'_, '_>, plan: &ContextPlan) {
        for warning in plan.warnings.iter().filter(|warning| warning.is_about_decision()) {
            if !self.warned.contains(warning) {
                run.io.note(&format!("warning: {}", warning.sentence()));
                self.warned.push(warning.clone());
            }
        }
    }

    #[deny(clippy::wildcard_enum_match_arm)]
    fn handle_turn(&mut self, run: &mut Run<'_, '_>, event: TurnEvent) -> Step {
        match event {
            TurnEvent::Stream { branch, run: id, text, .. } if branch == self.branch => self.stream(run, id, &text),
            // Item uses are found after the answer; the uses of the last call may arrive too late.
            TurnEvent::Run(card) if card.uses.is_some() => {}
            TurnEvent::Run(card) if card.branch == self.branch => {
                match self.cards.iter_mut().find(|c| c.id == card.id) {
                    Some(known) => *known = *card,
                    None => self.cards.push(*card),
                }
            }
            TurnEvent::Closed { branch, draft, failure } if branch == self.branch => {
                return Step::Ended(failure.map(|failure| self.in_command_terms(run, failure, draft.is_some())));
            }
            TurnEvent::Opened { .. }
            | TurnEvent::Stream { .. }
            | TurnEvent::Run(_)
            | TurnEvent::Closed { .. }
            | TurnEvent::Retrying { .. }
            | TurnEvent::BranchRun(_)
            | TurnEvent::Aside(_) => {}
        }
        Step::Continue
    }

    /// Rewords a failure for the command line, which has no composer that a message could return to.
    fn in_command_terms(&self, run: &Run<'_, '_>, failure: Failure, nothing_came: bool) -> Failure {
        if !nothing_came {
            return failure;
        }
        let failure = failure.kept("The conversation is unchanged.");
        let profile = self.cards.last().and_then(|card| run.config.profile(&card.profile));
        match profile.filter(|profile| failure.todo.contains("api_key_env") && !profile.api_key_env.is_empty()) {
            Some(profile) => {
                let todo = format!("Check the API key in the environment variable {}.", profile.api_key_env);
                failure.todo(todo)
            }
            None => failure,
        }
    }

    fn stream(&mut self, run: &mut Run<'_, '_>, id: RunId, text: &str) {
        if self.current != Some(id) {
            self.flush(run);
            self.current = Some(id);
            self.text.clear();
            self.shown = 0;
        }
        self.text.push_str(text);
        self.show(run, printable_length(&self.text));
    }

    fn show(&mut self, run: &mut Run<'_, '_>, until: usize) {
        if until > self.shown && !run.io.json {
            self.label(run);
            run.io.words(&self.text[self.shown..until]);
            self.shown = until;
            run.client.line(true, &mut run.io);
        }
    }

    /// Prints in `--plain`, before the first text of the turn's answer, that an answer follows.
    fn label(&mut self, run: &mut Run<'_, '_>) {
        if !run.io.joins && !std::mem::replace(&mut self.labeled, true) {
            run.io.say("answer:");
        }
    }

    /// Prints text that was held back because it could have started a state block, and a line end.
    fn flush(&mut self, run: &mut Run<'_, '_>) {
        if run.io.json || self.text.is_empty() {
            return;
        }
        let whole = state::strip(&self.text, true);
        let mut printed = self.text[..self.shown].to_owned();
        if let Some(rest) = whole.strip_prefix(&printed) {
            if !rest.trim().is_empty() {
                self.label(run);
            }
            run.io.words(rest);
            printed = whole;
        }
        if !printed.is_empty() {
            run.io.end_line(&printed);
        }
        run.client.line(false, &mut run.io);
        self.text.clear();
        self.shown = 0;
    }

    fn print_trace(&mut self, run: &mut Run<'_, '_>, trace: &ToolTrace) {
        let ours = self.cards.iter().any(|card| card.id == trace.run);
        if let Some(status) = trace.status.filter(|_| ours) {
            // A trace arrives again when its result becomes a message.
            let which = (trace.run, trace.call_id.clone());
            if self.traced.contains(&which) {
                return;
            }
            self.traced.push(which);
            let args = unreadable(&trace.args).unwrap_or_else(|| trace.args.clone());
            let more = if args.chars().count() > 80 { "…" } else { "" };
            let args = args.chars().take(80).collect::<String>();
            let why = trace.preview.trim();
            let why = if status == ToolStatus::Ok || why.is_empty() { String::new() } else { format!(": {why}") };
            let (name, status) = (&trace.name, status.name());
            run.io.note(&format!("{name} {args}{more}: {status} in {} ms{why}", trace.duration_ms));
        }
    }

    fn end(mut self, run: &mut Run<'_, '_>, view: &SessionView, failure: Option<Failure>) -> Result<(), Stop> {
        self.cards.sort_by_key(|card| card.round);
        let last = self.cards.last().cloned();
        let text = state::strip(&self.text, failure.is_none());
        self.flush(run);
        if run.io.json {
            self.print(run, view, &text, failure.as_ref())?;
        }
        if let Some(short) = self.cards.iter().find_map(|card| card.short_read) {
            run.io.note(&short_read_warning(short));
        }
        if let Some(card) = last.as_ref().filter(|_| !run.io.json) {
            if run.io.out_tty {
                let text = if run.io.joins { run_line(card) } else { spoken_run_line(card) };
                run.io.note(&text);
            }
            if self.state_missing {
                run.io.note("the answer has no state block; the previous state block remains in use");
            }
        }
        match (failure, last) {
            _ if self.cancelled => Err(Stop::Interrupted),
            (Some(failure), _) => Err(Stop::Failed(failure)),
            (None, Some(card)) => outcome(run, &card),
            (None, None) => Ok(()),
        }
    }

    fn print(
        &self,
        run: &mut Run<'_, '_>,
        view: &SessionView,
        text: &str,
        failure: Option<&Failure>,
    ) -> Result<(), Stop> {
        let last = self.cards.last();
        let cost: u64 = self.cards.iter().filter_map(|card| card.cost_micro).sum();
        let known = self.cards.iter().any(|card| card.cost_micro.is_some());
        run.io.value(&json!({
            "session": view.card.id,
            "branch": self.branch,
            "run_id": last.map(|card| card.id),
            "plan_id": last.map(|card| card.plan),
            "request_digest": last.map(|card| card.request_digest),
            "text": text,
            "status": last.map(|card| card.status.name()),
            "finish_reason": last.and_then(|card| card.finish_reason.as_deref()),
            "model": last.map(|card| card.model.as_str()),
            "est_total": last.map(|card| card.est_total),
            "usage": last.map(|card| card.usage),
            "cost": known.then(|| shape::dollars(cost)),
            "runs": self.cards.iter().map(|card| shape::run(card, &view.branches)).collect::<Vec<_>>(),
            "error": failure.map(ToString::to_string),
        }))
    }
}

/// Returns the length of the part of a growing answer that cannot belong to a state block. Printed text cannot be
/// removed, so a last line that may start a state block waits, and so does trailing white space.
fn printable_length(text: &str) -> usize {
    let shown = &text[..state::shown_while_streaming(text)];
    let start = shown.rfind('\n').map_or(0, |at| at + 1);
    let line = &shown[start..];
    let waits = shown.len() == text.len() && ["---STATE---", "### STATE"].iter().any(|mark| mark.starts_with(line));
    if waits { shown[..start].trim_end().len() } else { shown.trim_end().len() }
}

/// Returns the result of a turn that ended without a failure. A partial answer is a failure, unless the user's output
/// limit cut it.
fn outcome(run: &mut Run<'_, '_>, card: &RunCard) -> Result<(), Stop> {
    match card.status {
        RunStatus::Truncated if card.finish_reason.is_some() => {
            run.io.note("the answer reached the output limit; the text received so far is kept");
            Ok(())
        }
        RunStatus::Truncated | RunStatus::Errored | RunStatus::Interrupted => {
            let why = card.error.clone().unwrap_or_else(|| "The stream ended before the end of the answer.".into());
            Err(Failure::new(FailureKind::Provider, why).kept("The text received so far is kept.").into())
        }
        RunStatus::Cancelled => Err(Stop::Interrupted),
        RunStatus::Open | RunStatus::Complete => Ok(()),
    }
}

fn short_read_warning(short: ShortRead) -> String {
    format!("warning: {} {}", short.sentence(), short.todo())
}

fn run_line(card: &RunCard) -> String {
    let cost = card.cost_micro.map_or_else(String::new, |micro| format!(" · {}", money(micro)));
    format!("{} · {}{cost}", card.model, card.usage.to_text(card.est_total, " · "))
}

/// Returns the line about a call for a screen reader: `offline: 2,313 tokens in, 284 out, $0.0011.`
fn spoken_run_line(card: &RunCard) -> String {
    let cost = card.cost_micro.map_or_else(String::new, |micro| format!(", {}", money(micro)));
    let used = card.usage.to_text(card.est_total, ", ").replacen(" in", " tokens in", 1);
    format!("{}: {used}{cost}.", card.model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{Harness, answer, card, execute, id};
    use crate::domain::base::hash::Hash;
    use crate::domain::base::ids::NodeId;
    use crate::domain::call::tokens::Certainty;

    fn answers(text: &'static [&'static str], status: RunStatus) -> impl Fn(Ticket, &Request) -> Vec<Event> + Send {
        move |ticket, request| {
            let branch = BranchId(id(91));
            let Request::Turn(TurnRequest::Ask { .. }) = request else { return vec![] };
            let mut events = vec![answer(ticket, Answer::Asked { run: RunId(id(70)) })];
            events.push(Event::Turn(TurnEvent::Run(Box::new(card(RunStatus::Open)))));
            events.extend(text.iter().map(|text| {
                Event::Turn(TurnEvent::Stream {
                    branch,
                    run: RunId(id(70)),
                    text: (*text).into(),
                    reasoning: String::new(),
                    tokens: 1,
                    certainty: Certainty::Estimated,
                    cost_micro: None,
                })
            }));
            events.push(Event::Turn(TurnEvent::Run(Box::new(card(status)))));
            events.push(Event::Turn(TurnEvent::Closed { branch, draft: None, failure: None }));
            events
        }
    }

    const STREAM: &[&str] = &["Hel", "lo\n--", "-STATE---\nGoal: x\n", "---END STATE---\n"];

    #[test]
    fn ask_streams_without_the_state_block() {
        let printed = execute(&["ask", "hi"], answers(STREAM, RunStatus::Complete));
        assert_eq!((printed.code, printed.out.as_str()), (0, "Hello\n"), "{}", printed.err);
        assert!(printed.err.contains("1 answer was interrupted"));
        let printed = execute(&["ask", "hi"], answers(&["a\n--", "- rule\nb"], RunStatus::Complete));
        assert_eq!(printed.out, "a\n--- rule\nb\n");
        let printed = execute(&["ask", "hi"], answers(&["x\n#", "## STATE\nGoal: y"], RunStatus::Complete));
        assert_eq!(printed.out, "x\n");
        let printed = execute(&["ask", "hi"], answers(&["x\n### STATE", "MENT\ny  \n"], RunStatus::Complete));
        assert_eq!(printed.out, "x\n### STATEMENT\ny  \n");
        let printed = Harness { tty: true, ..Harness::default() }
            .execute(&["ask", "hi"], answers(&["a\u{1b}[2Jb"], RunStatus::Complete));
        assert!(!printed.out.contains('\u{1b}') && printed.out.contains("⟨U+001B⟩"));
    }

    #[test]
    fn ask_as_json() {
        let printed = execute(&["ask", "--json", "hi"], answers(STREAM, RunStatus::Complete));
        let json = printed.json();
        assert_eq!((json["text"].as_str(), json["status"].as_str()), (Some("Hello"), Some("complete")));
        assert_eq!(json["plan_id"], Hash([7; 32]).to_string());
        assert_eq!(json["request_digest"], Hash([9; 32]).to_string());
        assert_eq!(json["usage"]["prompt"], 70);
        assert_eq!(json["cost"], 0.0015);
        assert_eq!(json["runs"][0]["branch_name"], "main");
    }

    #[test]
    fn ask_reads_standard_input() {
        for line in [&["ask", "-"][..], &["ask"][..]] {
            let harness = Harness { input: "two\nlines\n", ..Harness::default() };
            let printed = harness.execute(line, answers(&["ok"], RunStatus::Complete));
            let Some(Request::Turn(TurnRequest::Ask { draft, plan: None, .. })) = printed.seen.last() else { panic!() };
            assert_eq!(*draft, Draft { text: "two\nlines".into(), kind: DraftKind::Message, ..Draft::default() });
        }
        assert_eq!(Harness { input: "\n", ..Harness::default() }.execute(&["ask", "-"], |_, _| vec![]).code, 2);
        assert_eq!(Harness { tty: true, ..Harness::default() }.execute(&["ask"], |_, _| vec![]).code, 2);
    }

    #[test]
    fn ask_sends_a_body_byte_for_byte() {
        let body = "{\"model\":\"m\",\r\n \"messages\":[]}\n";
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), body).unwrap();
        let path = file.path().display().to_string();
        for line in [&["ask", "--request", &path][..], &["ask", "--request", "-", "my", "words"][..]] {
            let harness = Harness { input: body, ..Harness::default() };
            let printed = harness.execute(line, |ticket, request| {
                let Request::Plan(PlanRequest::Exact { .. }) = request else { return vec![] };
                vec![Event::Answer { ticket, result: Err(Failure::new(FailureKind::Blocked, "9 too many")) }]
            });
            assert_eq!(printed.code, 3, "{}", printed.err);
            let Some(Request::Plan(PlanRequest::Exact { act: Exact::Send { draft, body: sent }, .. })) =
                printed.seen.last()
            else {
                panic!()
            };
            assert_eq!((&**sent, &*draft.text), (body, line.get(3..).unwrap_or_default().join(" ").as_str()));
        }
        assert_eq!(execute(&["ask", "--request", "/no/such/file"], |_, _| vec![]).code, 1);
        assert_eq!(
            Harness { input: "{}", ..Harness::default() }.execute(&["ask", "--request", "-", "-"], |_, _| vec![]).code,
            2
        );
    }

    #[test]
    fn tool_results_are_not_left_behind() {
        let head = |n: u128, role| crate::domain::conversation::tree::tests::head(n, (n > 1).then_some(n - 1), role);
        let mut roles = vec![Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::Assistant];
        let view = |roles: &[Role]| {
            let mut view = crate::cli::tests::view();
            view.nodes = roles.iter().zip(1..).map(|(role, n)| head(n, *role)).collect();
            view.branches[0].head = view.nodes.last().map(|node| node.id);
            view
        };
        let left = |roles: &[Role]| left_behind(&view(roles), &view(roles).nodes[0]);
        assert_eq!(left(&roles), 0, "no turn follows the last one");
        roles.extend([Role::User, Role::Assistant]);
        assert_eq!(left(&roles), 4, "two answers of the turn, and a turn");
    }

    #[test]
    fn regenerate_and_edit_send_drafts() {
        let printed = execute(&["regenerate"], answers(&["x"], RunStatus::Complete));
        let Some(Request::Turn(TurnRequest::Ask { draft, .. })) = printed.seen.last() else { panic!() };
        assert_eq!(draft.kind, DraftKind::Regenerate(NodeId(id(3))));
        let printed = execute(&["edit", "ext-1", "better", "words"], answers(&["x"], RunStatus::Complete));
        let Some(Request::Turn(TurnRequest::Ask { draft, .. })) = printed.seen.last() else { panic!() };
        assert_eq!(
            *draft,
            Draft { text: "better words".into(), kind: DraftKind::Edit(NodeId(id(1))), ..Draft::default() }
        );
    }

    #[test]
    fn exit_codes_distinguish_causes() {
        let refused =
            |kind| move |ticket, _: &Request| vec![Event::Answer { ticket, result: Err(Failure::new(kind, "no")) }];
        for (kind, code) in [
            (FailureKind::User, 1),
            (FailureKind::Busy, 6),
            (FailureKind::Config, 2),
            (FailureKind::Blocked, 3),
            (FailureKind::Provider, 4),
            (FailureKind::Store, 5),
        ] {
            assert_eq!(execute(&["ask", "x"], refused(kind)).code, code);
            assert_eq!(execute(&["undo"], refused(kind)).code, code);
        }
        assert_eq!(execute(&["ask", "x"], answers(&["par"], RunStatus::Errored)).code, 4);
        let printed = execute(&["ask", "x"], |ticket, _| {
            let failure = Some(Failure::new(FailureKind::Provider, "refused \u{1b}[31m").kept("Your words are kept."));
            let asked = answer(ticket, Answer::Asked { run: RunId(id(70)) });
            vec![asked, Event::Turn(TurnEvent::Closed { branch: BranchId(id(91)), draft: None, failure })]
        });
        assert_eq!((printed.code, printed.out.as_str()), (4, ""));
        assert!(printed.err.contains("Your words are kept") && !printed.err.contains('\u{1b}'));
    }

    #[test]
    fn ctrl_c_cancels_and_keeps_waiting() {
        let harness = Harness { presses: 1, ..Harness::default() };
        let printed = harness.execute(&["ask", "x"], |ticket, request| match request {
            Request::Turn(TurnRequest::Ask { .. }) => vec![answer(ticket, Answer::Asked { run: RunId(id(70)) })],
            Request::Turn(TurnRequest::Cancel { branch }) => vec![
                answer(ticket, Answer::Done(String::new())),
                Event::Turn(TurnEvent::Closed { branch: *branch, draft: None, failure: None }),
            ],
            other => panic!("{other:?}"),
        });
        assert_eq!(printed.code, 130);
        assert!(matches!(printed.seen.last(), Some(Request::Turn(TurnRequest::Cancel { .. }))));
        let harness = Harness { presses: 2, ..Harness::default() };
        assert_eq!(harness.execute(&["ask", "x"], |_, _| vec![]).code, 130);
    }
}
