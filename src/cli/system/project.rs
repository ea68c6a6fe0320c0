//! `project`: project rules and skills, their status in the next request, and their exclusion on a branch.
//! Not for: approval rules (`consent`).

use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::{number, padded};
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::config::commands::system::ProjectCommand;
use crate::domain::base::Failure;
use crate::domain::code::{ProjectItem, ProjectKind, ProjectList};
use crate::domain::summary::{Staleness, SummaryAuthor};
use crate::engine::api::{ModuleAct, ProjectAct, Request, ToolAnswer, ToolRequest};

pub(crate) fn project(run: &mut Run<'_, '_>, command: Option<&ProjectCommand>) -> Result<(), Stop> {
    let marks = matches!(command, Some(ProjectCommand::Exclude { .. } | ProjectCommand::Include { .. }));
    let view = if marks { run.open(true)? } else { run.open_unsaved()? };
    let branch = pick::branch(&view, None)?.id;
    let set = |path: &str, on: bool, once: bool| {
        ToolRequest::Project(ProjectAct::Set { branch, path: path.to_owned(), on: Some(on), once })
    };
    match command {
        Some(ProjectCommand::Exclude { path, once }) => return run.change(set(path, false, *once), "Excluded."),
        Some(ProjectCommand::Include { path }) => return run.change(set(path, true, false), "Included again."),
        Some(ProjectCommand::List | ProjectCommand::Show { .. }) | None => {}
    }
    let list = expect_answer!(run, Tool(ToolAnswer::Project), ToolRequest::Project(ProjectAct::List { branch }));
    if let Some(ProjectCommand::Show { path }) = command {
        return show(run, &list, path);
    }
    if run.io.json {
        return run.io.value(&list);
    }
    run.io.say(&format!("{}{}", list.root, if list.trusted { "" } else { " (not trusted)" }));
    for item in &list.items {
        run.io.say(&line(item));
        for note in &item.notes {
            run.io.say(&format!("    {note}"));
        }
    }
    if list.items.is_empty() {
        run.io.note("no AGENTS.md, CLAUDE.md, or skills in this folder");
    }
    Ok(())
}

pub(crate) fn skill(run: &mut Run<'_, '_>, name: Option<&str>) -> Result<(), Stop> {
    let command = name.map_or(ProjectCommand::List, |path| ProjectCommand::Show { path: path.to_owned() });
    project(run, Some(&command))
}

pub(crate) fn summary(
    run: &mut Run<'_, '_>,
    path: Option<&str>,
    by: SummaryAuthor,
    (undo, redo): (bool, bool),
) -> Result<(), Stop> {
    let view = if path.is_some() { run.open(true)? } else { run.open_unsaved()? };
    let branch = pick::branch(&view, None)?.id;
    let ask = |act: ModuleAct| Request::Tool(ToolRequest::Project(ProjectAct::Module(act)));
    if let Some(path) = path {
        let path = path.trim_end_matches('/').to_owned();
        if undo || redo {
            return run.change(ask(ModuleAct::Step { path, forward: redo }), "Done.");
        }
        let (make, stop) = (ask(ModuleAct::Make { branch, path, by }), ask(ModuleAct::Stop { branch }));
        let answer = run.client.stoppable(make, stop, &mut run.io)?;
        return run.print_result(answer, "Module summary written.");
    }
    let all = expect_answer!(run, Tool(ToolAnswer::Modules), ask(ModuleAct::List { branch }));
    if run.io.json {
        return run.io.value(&all);
    }
    for one in all.iter().filter(|one| one.current) {
        let stale = one.stale.as_ref().map_or_else(String::new, |stale| stale.to_text(one.card.files.len()));
        let tokens = number(u64::from(one.tokens));
        run.io.say(&format!("{}  {tokens} tokens (estimated), by {}, {stale}", one.card.path, one.card.by()));
        let names = one.stale.as_ref().map(Staleness::names).unwrap_or_default();
        if !names.is_empty() {
            run.io.say(&format!("    {names}"));
        }
        run.io.words(&one.card.text);
    }
    if all.iter().all(|one| !one.current) {
        run.io.note("no module summaries; `pleach module-summary PATH` writes a module summary");
    }
    Ok(())
}

fn show(run: &mut Run<'_, '_>, list: &ProjectList, path: &str) -> Result<(), Stop> {
    let found = list.items.iter().find(|item| item.path == path || item.title == path);
    let found = found.ok_or_else(|| {
        Failure::user(format!("No rules file or skill {path:?} in this folder."))
            .todo("`pleach project` lists rules and skills.")
    })?;
    if run.io.json {
        return run.io.value(found);
    }
    run.io.words(&found.text);
    Ok(())
}

fn line(item: &ProjectItem) -> String {
    let what = if item.kind == ProjectKind::Skill { "skill" } else { "rules" };
    let about = if item.about.is_empty() { String::new() } else { format!("  {}", item.about) };
    let words = if item.kind == ProjectKind::Skill { "loadable".to_owned() } else { item.state.to_text() };
    let tokens = format!("{} tokens (estimated)", number(u64::from(item.tokens)));
    let line = format!("{what}  {}  {}  {}{about}", padded(&item.title, 28), padded(&tokens, 14), padded(&words, 28));
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;
    use crate::domain::code::workspace_rules::RuleState;

    #[test]
    fn a_line_is_never_cut() {
        let item = ProjectItem {
            kind: ProjectKind::Rules,
            atom: None,
            path: "a/path/of/more/than/28/characters/AGENTS.md".into(),
            title: "a/path/of/more/than/28/characters/AGENTS.md".into(),
            about: "a/path".into(),
            state: RuleState::Goes,
            tokens: 49,
            bytes: 200,
            left: 0,
            notes: Vec::new(),
            text: "".into(),
            writable: true,
            hash: Hash::of(b""),
        };
        let line = line(&item);
        assert!(
            line.starts_with("rules  a/path/of/more/than/28/characters/AGENTS.md  49 tokens (estimated)  "),
            "{line}"
        );
        assert!(line.ends_with("  included in the next request  a/path"), "{line}");
    }
}
