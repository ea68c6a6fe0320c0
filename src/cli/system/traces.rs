//! `traces`: lists, prints, and reruns tool calls.
//! Not for: linking failures to their fixes (`domain::tool::resolution`).

use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::{column, number, time};
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::config::commands::system::{Traces, TracesCommand};
use crate::domain::base::Failure;
use crate::domain::conversation::memory::one_line;
use crate::domain::tool::resolution;
use crate::domain::tool::trace::UNDECIDED;
use crate::domain::tool::{FileChange, Link, Rerun, RerunState, ToolTrace, TraceFilter};
use crate::engine::api::{Event, SessionView, ToolAnswer, ToolEvent, ToolRequest, TraceAct, TraceWhole};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The maximum number of tool calls read from a session.
const MAX_CALLS: usize = 20_000;
/// The number of unchanged lines around a change.
const CONTEXT_LINES: usize = 3;
/// Width of a call's argument in columns.
const ARGUMENT_WIDTH: usize = 60;

pub(crate) fn traces(run: &mut Run<'_, '_>, args: &Traces) -> Result<(), Stop> {
    let view = run.open(false)?;
    match &args.command {
        Some(TracesCommand::Show { id }) => show(run, &view, id),
        Some(TracesCommand::Again { id }) => rerun_call(run, &view, id),
        None => list(run, &view, args),
    }
}

/// Tool calls, and the links between failures and their fixes.
struct TraceList {
    traces: Vec<ToolTrace>,
    links: Vec<Link>,
}

impl TraceList {
    fn read(run: &mut Run<'_, '_>, view: &SessionView, whole: bool) -> Result<Self, Stop> {
        let all =
            expect_answer!(run, Tool(ToolAnswer::Traces), ToolRequest::Traces(TraceAct::List { most: MAX_CALLS }));
        let tree = pick::tree(view);
        let slot = |trace: &ToolTrace| trace.node.and_then(|node| tree.slot(node));
        let path = pick::path(&tree, pick::branch(view, None)?);
        let on_path = |trace: &ToolTrace| {
            slot(trace)
                .is_some_and(|slot| path.get(usize::try_from(tree.depth(slot)).unwrap_or(usize::MAX)) == Some(&slot))
        };
        let of_path = |trace: &ToolTrace| match &trace.more.again {
            Some(call) => all.iter().any(|known| known.run == trace.run && known.call_id == *call && on_path(known)),
            None => on_path(trace),
        };
        let traces: Vec<ToolTrace> = all.iter().filter(|trace| whole || of_path(trace)).cloned().collect();
        let after = |above: &ToolTrace, below: &ToolTrace| match (slot(above), slot(below)) {
            (Some(above), Some(below)) => tree.contains(above, below),
            _ => above.run == below.run,
        };
        let links = resolution::links(&traces.iter().collect::<Vec<_>>(), after);
        Ok(Self { traces, links })
    }

    fn fix(&self, at: usize) -> Option<&Link> {
        self.links.iter().find(|link| link.failed == at)
    }

    fn fixes(&self, at: usize) -> Vec<String> {
        self.links.iter().filter(|link| link.fixed == at).map(|link| self.traces[link.failed].id()).collect()
    }

    /// Returns a call as JSON: its stored fields and its links.
    fn shape(&self, at: usize) -> Value {
        let trace = &self.traces[at];
        let mut shape = json!(trace);
        shape["id"] = json!(trace.id());
        shape["state"] = json!(resolution::state(trace));
        shape["argument"] = json!(resolution::argument(&trace.args));
        let fix = self.fix(at);
        shape["fixed_by"] = json!(fix.map(|link| self.traces[link.fixed].id()));
        shape["fixed_after"] = json!(fix.map(|link| &link.between));
        shape["resolves"] = json!(self.fixes(at));
        shape
    }
}

fn list(run: &mut Run<'_, '_>, view: &SessionView, args: &Traces) -> Result<(), Stop> {
    let trace_list = TraceList::read(run, view, args.whole_session)?;
    let trace_filter = TraceFilter::read(args.filter.as_deref().unwrap_or_default());
    let fits = |at: usize| {
        let trace = &trace_list.traces[at];
        trace_filter.matches(trace, trace_list.fix(at).is_some())
            && (!args.failed || resolution::failed(trace))
            && args.tool.as_ref().is_none_or(|tool| *tool == trace.name)
    };
    if args.grouped {
        return groups(run, &trace_list, &fits);
    }
    let chosen: Vec<usize> = (0..trace_list.traces.len()).rev().filter(|at| fits(*at)).collect();
    if run.io.json {
        return run.io.value(&chosen.iter().map(|at| trace_list.shape(*at)).collect::<Vec<_>>());
    }
    for at in &chosen {
        let line = line(&trace_list, *at);
        run.io.say(&line);
    }
    if chosen.is_empty() {
        run.io.note("No tool calls found.");
    }
    Ok(())
}

fn line(trace_list: &TraceList, at: usize) -> String {
    let trace = &trace_list.traces[at];
    let mut line = format!("{}  {} {}", trace.id(), column(resolution::state(trace), 9), column(&trace.name, 10));
    let _ = write!(line, " {}", column(&one_line(&resolution::argument(&trace.args)), ARGUMENT_WIDTH));
    let _ = write!(line, "  {:>7} ms  {:>6} tok", trace.duration_ms, number(trace.est_tokens));
    if let Some(exit) = trace.exit {
        let _ = write!(line, "  exit {exit}");
    }
    if trace.word.as_deref() == Some(UNDECIDED) {
        line.push_str("  stopped before a decision");
    } else if let Some(word) = &trace.word {
        let _ = write!(line, "  decided by {word}");
    }
    if trace.truncated_from.is_some() {
        line.push_str("  truncated");
    }
    if trace.more.again.is_some() {
        line.push_str("  rerun");
    }
    if let Some(link) = trace_list.fix(at) {
        let _ = write!(line, "  fixed by {}", trace_list.traces[link.fixed].id());
    }
    let fixes = trace_list.fixes(at);
    if !fixes.is_empty() {
        let _ = write!(line, "  fixes {}", fixes.join(", "));
    }
    line
}

fn groups(run: &mut Run<'_, '_>, trace_list: &TraceList, fits: &dyn Fn(usize) -> bool) -> Result<(), Stop> {
    let all: Vec<&ToolTrace> = trace_list.traces.iter().collect();
    let mut groups = resolution::groups(&all);
    for group in &mut groups {
        group.calls.retain(|at| fits(*at));
    }
    groups.retain(|group| !group.calls.is_empty());
    let fixed = |calls: &[usize]| calls.iter().filter(|at| trace_list.fix(**at).is_some()).count();
    if run.io.json {
        let shape = |group: &resolution::Group| {
            json!({
                "tool": group.tool, "kind": group.kind, "count": group.calls.len(), "fixed": fixed(&group.calls),
                "calls": group.calls.iter().map(|at| trace_list.traces[*at].id()).collect::<Vec<_>>(),
            })
        };
        return run.io.value(&groups.iter().map(shape).collect::<Vec<_>>());
    }
    for group in &groups {
        let (count, fixed) = (group.calls.len(), fixed(&group.calls));
        run.io.say(&format!("{count:>4} failed, {fixed} fixed later  {} {}", group.tool, group.kind));
        for at in &group.calls {
            let line = line(trace_list, *at);
            run.io.say(&format!("      {line}"));
        }
    }
    if groups.is_empty() {
        run.io.note("no failures found");
    }
    Ok(())
}

fn whole(run: &mut Run<'_, '_>, id: &str) -> Result<TraceWhole, Stop> {
    let whole = expect_answer!(run, Tool(ToolAnswer::Trace), ToolRequest::Traces(TraceAct::Show { id: id.to_owned() }));
    Ok(*whole)
}

fn show(run: &mut Run<'_, '_>, view: &SessionView, id: &str) -> Result<(), Stop> {
    let whole = whole(run, id)?;
    let trace_list = TraceList::read(run, view, true)?;
    let Some(at) = trace_list.traces.iter().position(|trace| trace.id() == whole.trace.id()) else {
        return Err(Failure::user("That tool call no longer exists.")
            .todo("`pleach traces` lists the tool calls.")
            .into());
    };
    let TraceWhole { trace, result, full, files } = whole;
    if run.io.json {
        let mut shape = trace_list.shape(at);
        shape["result"] = json!(result.as_deref());
        shape["full"] = json!(full.as_deref());
        shape["diffs"] = json!(files.iter().map(|change| change.unified(CONTEXT_LINES)).collect::<Vec<_>>());
        return run.io.value(&shape);
    }
    let head = line(&trace_list, at);
    run.io.say(&head);
    run.io.say(&format!("{} bytes, {}", trace.bytes, time(trace.at)));
    if let Some(bytes) = trace.truncated_from {
        let back = trace.more.back.as_ref().map_or_else(String::new, |back| format!("; for the rest: {back}"));
        run.io.say(&format!("shortened from {bytes} bytes{back}"));
    }
    if let Some(error) = &trace.more.error {
        run.io.say(&format!("error: {error}"));
    }
    if let Some(link) = trace_list.fix(at).filter(|link| !link.between.is_empty()) {
        run.io.say(&format!("fixed after changes to {}", link.between.join(", ")));
    }
    for line in &trace.more.protection {
        run.io.say(&format!("sandbox: {line}"));
    }
    print_part(run, "arguments", &trace.args);
    for change in &files {
        print_part(run, "changed", &change.unified(CONTEXT_LINES));
    }
    print_part(run, "result", result.as_deref().unwrap_or(&trace.preview));
    if let Some(full) = full.filter(|_| trace.node.is_some()) {
        print_part(run, "full result", &full);
    }
    Ok(())
}

fn print_part(run: &mut Run<'_, '_>, title: &str, text: &str) {
    run.io.say(&format!("\n{title}:"));
    run.io.words(text);
    run.io.end_line(text);
}

fn rerun_call(run: &mut Run<'_, '_>, view: &SessionView, id: &str) -> Result<(), Stop> {
    let again = TraceAct::Again { branch: view.current, id: id.to_owned() };
    let ticket = run.client.send(ToolRequest::Traces(again));
    let pressed = (run.io.interrupts)();
    let mut stopped = false;
    loop {
        if !stopped && (run.io.interrupts)() > pressed {
            stopped = true;
            run.client.send(ToolRequest::Traces(TraceAct::Stop));
        }
        let event = run.client.next(&mut run.io)?;
        if let Some(Event::Answer { ticket: whose, result: Err(failure) }) = event {
            if whose == ticket {
                return Err(failure.into());
            }
        } else if let Some(Event::Tool(ToolEvent::Rerun(view))) = event
            && view.state == RerunState::Ended
        {
            return ended(run, &view);
        }
    }
}

fn ended(run: &mut Run<'_, '_>, view: &Rerun) -> Result<(), Stop> {
    let change: Option<&FileChange> = view.change.as_ref();
    let differs = change.is_some_and(|change| !change.hunks.is_empty());
    if run.io.json {
        let mut shape = json!(view.trace);
        shape["id"] = json!(view.trace.id());
        shape["of"] = json!(view.of);
        shape["state"] = json!(resolution::state(&view.trace));
        shape["before"] = json!(change.and_then(|change| change.before.as_deref()));
        shape["result"] = json!(change.and_then(|change| change.after.as_deref()));
        shape["differs"] = json!(differs);
        return run.io.value(&shape);
    }
    let trace = &view.trace;
    let state = resolution::state(trace);
    run.io.say(&format!("{} {state} in {} ms; not added to the conversation", trace.id(), trace.duration_ms));
    match change {
        Some(change) if differs => print_part(run, "original (-) and rerun (+)", &change.unified(CONTEXT_LINES)),
        _ => run.io.say("same result as the original call"),
    }
    Ok(())
}
