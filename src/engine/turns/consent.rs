//! Consent to tool calls, by rules or by a person; a person's rules; and undoing what tools changed.
//! Not for: the effect of a call (`tools`), reading rules (`domain::tool::consent`), or the thread that waits
//! (`tool_calls`).

use super::state::WaitingCall;
use super::tool_calls::CallDecision;
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, SessionId};
use crate::domain::conversation::message::End;
use crate::domain::conversation::operation::Change;
use crate::domain::tool::consent::{
    Command, Consent, FileChange, PendingApproval, Rule, RuleScope, ToolEffect, Verdict, decide,
};
use crate::domain::tool::resolution::files;
use crate::domain::tool::trace::ToolStatus;
use crate::domain::tool::visibility::FileVisibility;
use crate::engine::api::{Answer, Event, ProgramEvent, ToolEvent};
use crate::engine::core::Core;
use crate::store::types::Write;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Rules of one scope that are kept at most.
const MOST: usize = 200;

/// Earlier calls that are checked when a rule is added.
const LOOKED: usize = 10_000;

impl Core {
    /// Decides on a parsed tool call by a rule, or asks a person.
    pub(crate) fn decide_tool_call(
        &mut self,
        branch: BranchId,
        index: usize,
        effect: ToolEffect,
        reply: Sender<CallDecision>,
    ) {
        let rules = self.all_rules(branch);
        let sight = sight(&rules);
        let effect = warned(effect, &sight);
        let Some(live) = self.turns.live.get_mut(&branch) else { return };
        let Some(trace) = live.traces.get_mut(index) else { return };
        trace.more.protection = protection(&effect);
        let (tool, args) = (trace.name.clone(), trace.args.clone());
        let asking = PendingApproval { index, tool, args, effect, rule: None };
        match by_rule(&rules, asking) {
            Ok((consent, words)) => {
                trace.word = words;
                let _ = reply.send(CallDecision { consent, sight });
            }
            Err(asking) => {
                live.asks = Some(WaitingCall { asking: asking.clone(), reply });
                self.say(Event::Tool(ToolEvent::Approval { branch, pending: Some(asking) }));
            }
        }
    }

    /// Records a person's decision, with a rule for similar calls if given.
    pub(crate) fn consent(
        &mut self,
        branch: BranchId,
        index: usize,
        consent: Consent,
        always: Option<(RuleScope, Rule)>,
    ) -> Result<Answer, Failure> {
        let waits = self.turns.live.get(&branch).and_then(|live| live.asks.as_ref());
        if waits.is_none_or(|waiting| waiting.asking.index != index) {
            return Err(Failure::new(FailureKind::Stale, "That call no longer waits for approval."));
        }
        if always.is_some()
            && let Some((path, _)) = waits.and_then(|waiting| waiting.asking.effect.config_change())
        {
            return Err(Failure::user(format!("No rule can allow changing {path}: it controls pleach."))
                .kept("Nothing was done.")
                .todo("Approve or deny this call alone."));
        }
        let kept = always.map(|(scope, rule)| self.set_rule(scope, rule, true)).transpose()?;
        let Some(live) = self.turns.live.get_mut(&branch) else { return Ok(Answer::Done(String::new())) };
        if let Some(trace) = live.traces.get_mut(index) {
            trace.word = Some(if consent == Consent::Unasked { "nobody" } else { "you" }.into());
        }
        let waiting = live.asks.take();
        if let Some(WaitingCall { asking, reply }) = waiting {
            let sight = self.sight(branch).answered(&asking.tool, &asking.effect);
            let _ = reply.send(CallDecision { consent, sight });
        }
        self.say(Event::Tool(ToolEvent::Approval { branch, pending: None }));
        Ok(kept.unwrap_or_else(|| Answer::Done(String::new())))
    }

    /// A call ended, with or without a decision.
    pub(crate) fn answered(&mut self, branch: BranchId, index: usize) {
        let Some(live) = self.turns.live.get_mut(&branch) else { return };
        if live.asks.take_if(|waiting| waiting.asking.index == index).is_some() {
            self.say(Event::Tool(ToolEvent::Approval { branch, pending: None }));
        }
    }

    /// The rules about files on a branch, for content shown to the model.
    pub(crate) fn sight(&self, branch: BranchId) -> FileVisibility {
        sight(&self.all_rules(branch))
    }

    /// The files hidden by the person's rules: those of the current session, the folder, and the settings.
    pub(crate) fn denied(&self) -> FileVisibility {
        let here = self.sessions.current().ok().map(|session| session.current);
        let rules = here.map_or_else(|| self.rules_of(None), |branch| self.all_rules(branch));
        FileVisibility::denying(rules.into_iter().map(|(_, rule)| rule))
    }

    /// Passes the denying rules to background readers of files: those of a branch's session, or those without a
    /// session.
    pub(crate) fn deny_files(&self, branch: Option<BranchId>) {
        let session = branch.and_then(|branch| self.sessions.of_branch(branch).ok()).map(|session| session.card.id);
        let denies = |(_, rule): (RuleScope, Rule)| Some(rule).filter(|rule| rule.verdict == Verdict::Deny);
        let rules = self.rules_of(session).into_iter().filter_map(denies).collect();
        self.tools.project.deny_files(self.workers.code.book().deny_files(session, rules));
    }

    /// Rules by scope, the session's first.
    pub(crate) fn all_rules(&self, branch: BranchId) -> Vec<(RuleScope, Rule)> {
        self.rules_of(self.sessions.of_branch(branch).map(|session| session.card.id).ok())
    }

    fn rules_of(&self, session: Option<SessionId>) -> Vec<(RuleScope, Rule)> {
        let own = session.map(|id| self.kept_rules(RuleScope::Session, id)).unwrap_or_default();
        let folder = self.kept(&self.folder_key());
        let of = |scope: RuleScope| move |rule: Rule| (scope, rule);
        let config = self.setup.tool_rules.iter().cloned();
        let all = own.into_iter().map(of(RuleScope::Session)).chain(folder.into_iter().map(of(RuleScope::Folder)));
        all.chain(config.map(of(RuleScope::Config))).collect()
    }

    fn kept_rules(&self, scope: RuleScope, session: SessionId) -> Vec<Rule> {
        self.kept(&self.rules_key(scope, session))
    }

    fn kept(&self, key: &str) -> Vec<Rule> {
        let kept = self.store.setting(key).ok().flatten();
        kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    fn rules_key(&self, scope: RuleScope, session: SessionId) -> String {
        match scope {
            RuleScope::Session => format!("rules.session.{session}"),
            RuleScope::Folder | RuleScope::Config => self.folder_key(),
        }
    }

    fn folder_key(&self) -> String {
        format!("rules.folder.{}", Hash::of(self.setup.workspace.as_bytes()))
    }

    /// All rules that apply, with their scopes.
    pub(crate) fn rules_listed(&self) -> Result<Answer, Failure> {
        Ok(Answer::Rules(self.all_rules(self.sessions.current()?.current)))
    }

    /// Adds or removes a person's rule.
    pub(crate) fn set_rule(&mut self, scope: RuleScope, rule: Rule, on: bool) -> Result<Answer, Failure> {
        if scope == RuleScope::Config {
            return Err(Failure::user("That rule is in the settings.").todo("Change it under [tools] there."));
        }
        let session = self.sessions.current()?.card.id;
        let mut rules = self.kept_rules(scope, session);
        let words = rule.to_text();
        let before = rules.len();
        rules.retain(|known| *known != rule);
        if !on && rules.len() == before {
            return Err(Failure::user(format!("There is no such rule: {words}.")));
        }
        if on {
            rules.insert(0, rule);
        }
        if rules.len() > MOST {
            return Err(Failure::user(format!("At most {MOST} rules are kept.")).todo("Remove one first."));
        }
        let earlier = if on { self.earlier(&rules[0])? } else { None };
        let value = serde_json::to_string(&rules).ok().filter(|_| !rules.is_empty());
        self.store.write(vec![Write::SetValue { key: self.rules_key(scope, session), value }])?;
        let place = if scope == RuleScope::Session { "in this session" } else { "in this folder" };
        Ok(Answer::Done(if on {
            let earlier = earlier.map_or_else(String::new, |sentence| format!(" {sentence}"));
            format!("From now on {place}: {words}.{earlier}")
        } else {
            format!("Removed {place}: {words}.")
        }))
    }

    /// Earlier results that a denying rule does not affect. They are messages that the person sees in every plan, so
    /// they stay and are sent until the person excludes them.
    fn earlier(&self, rule: &Rule) -> Result<Option<String>, Failure> {
        let sight = FileVisibility::new([rule.clone()]);
        if rule.verdict != Verdict::Deny || sight.is_open() {
            return Ok(None);
        }
        let session = self.sessions.current()?;
        let there = |id: NodeId| session.tree.slot(id).is_some_and(|slot| session.tree.head(slot).end != End::Removed);
        let mut traces = self.store.traces(session.card.id, LOOKED)?;
        traces.retain(|trace| trace.status == Some(ToolStatus::Ok) && trace.node.is_some_and(there));
        // A search names its files in what it found.
        let searches: Vec<NodeId> =
            traces.iter().filter(|trace| trace.name == "search").filter_map(|trace| trace.node).collect();
        let found = self.store.nodes(&searches)?;
        let found: HashMap<NodeId, String> =
            found.iter().map(|node| (node.head.id, node.content.plain_text())).collect();
        let mut count = 0;
        let mut denied = BTreeSet::new();
        for trace in &traces {
            let mut files = files(trace);
            let lines = trace.node.and_then(|id| found.get(&id)).into_iter().flat_map(|text| text.lines());
            files.extend(lines.filter_map(|line| Some(line.split_once(':')?.0.to_owned())));
            files.retain(|path| sight.denies(&trace.name, path).is_some());
            count += usize::from(!files.is_empty());
            denied.extend(files);
        }
        Ok((count > 0).then(|| stays(count, &denied)))
    }

    /// Records files that tools changed as an operation, so that undo reverts them.
    pub(crate) fn changed_files(&mut self, session: SessionId, changed: &[FileChange]) {
        if changed.is_empty() {
            return;
        }
        let hash = |text: &Option<Arc<str>>| text.as_ref().map(|text| Hash::of(text.as_bytes()));
        let texts = changed.iter().flat_map(|change| [&change.before, &change.after]).flatten();
        let mut writes: Vec<Write> = texts.map(|text| Write::PutFileText { session, text: text.clone() }).collect();
        let files = changed.iter().map(|change| Change::File {
            path: change.path.clone(),
            before: hash(&change.before),
            after: hash(&change.after),
        });
        let names: Vec<&str> = changed.iter().map(|change| change.path.as_str()).collect();
        writes.push(self.operation(session, format!("changed {}", names.join(", ")), files.collect()));
        if let Err(error) = self.store.write(writes) {
            self.say(Event::Program(ProgramEvent::Alarm(format!(
                "{} was changed, but undo can't restore it: {error}",
                names.join(", ")
            ))));
        }
    }

    /// Restores the texts of files from changes; if one of them cannot be restored, reverts the others.
    pub(crate) fn put_files_back(&self, session: SessionId, changes: &[Change]) -> Result<(), Failure> {
        let mut done: Vec<(&str, Option<Hash>, Option<Hash>)> = Vec::new();
        for change in changes {
            let Change::File { path, before, after } = change else { continue };
            if let Err(failure) = self.put_file_back(session, path, *before, *after) {
                for (path, before, after) in done.into_iter().rev() {
                    let _ = self.put_file_back(session, path, after, before);
                }
                return Err(failure);
            }
            done.push((path, *before, *after));
        }
        Ok(())
    }

    fn put_file_back(
        &self,
        session: SessionId,
        path: &str,
        expected: Option<Hash>,
        wanted: Option<Hash>,
    ) -> Result<(), Failure> {
        let text = wanted.map(|hash| self.store.file_text(session, hash)).transpose()?.flatten();
        if wanted.is_some() && text.is_none() {
            return Err(Failure::user(format!("The earlier content of {path} was not kept.")).kept(
                "The file was left as \
                it is.",
            ));
        }
        let Some(tools) = &self.setup.tools else {
            return Err(Failure::user(format!("{path} can't be changed: tools are off."))
                .kept("The file was left as it is.")
                .todo("Switch [tools] on."));
        };
        tools.put_back(path, expected, text.as_deref()).map_err(|why| {
            Failure::new(FailureKind::Stale, why).kept("Nothing was undone or redone.").todo(
                "Change the \
                file yourself.",
            )
        })
    }
}

/// The decision by rules, with its text.
///
/// # Errors
/// They give none: a person is asked.
pub(crate) fn by_rule(
    rules: &[(RuleScope, Rule)],
    asking: PendingApproval,
) -> Result<(Consent, Option<String>), Arc<PendingApproval>> {
    if let Some(why) = not_alone(&asking.effect) {
        return Ok((Consent::No { why: Some(why) }, Some("pleach".into())));
    }
    let (verdict, rule) = decide(rules.iter().map(|(_, rule)| rule), &asking.tool, &asking.effect);
    let words = rule.map(Rule::to_text);
    let consent = match verdict {
        Verdict::Allow => Consent::Yes { hunks: Vec::new() },
        Verdict::Deny => Consent::No {
            why: Some(format!("One of the person's rules denies it: {}.", words.clone().unwrap_or_default())),
        },
        Verdict::Ask => return Err(Arc::new(PendingApproval { rule: rule.cloned(), ..asking })),
    };
    Ok((consent, words.map(|words| format!("rule {words}"))))
}

/// The rules about files.
pub(crate) fn sight(rules: &[(RuleScope, Rule)]) -> FileVisibility {
    FileVisibility::new(rules.iter().map(|(_, rule)| rule.clone()))
}

/// A command with a note about rules that the sandbox does not enforce.
pub(crate) fn warned(effect: ToolEffect, sight: &FileVisibility) -> ToolEffect {
    let ToolEffect::Run(command) = effect else { return effect };
    let denied: Vec<String> = sight.denied().into_iter().take(8).map(|on| format!("{on:?}")).collect();
    if denied.is_empty() {
        return ToolEffect::Run(command);
    }
    let mut protection = command.protection;
    protection.push(format!(
        "rules: a command can read the files of the workspace that rules deny ({}); only the line itself is checked",
        denied.join(", ")
    ));
    ToolEffect::Run(Command { protection, ..command })
}

/// Why a file that configures the program is not changed together with others: its change needs a separate approval.
fn not_alone(effect: &ToolEffect) -> Option<String> {
    let (path, what) = effect.config_change()?;
    let ToolEffect::Change(changes) = effect else { return None };
    (changes.len() > 1).then(|| format!("{path} {what}. Change it in a separate call, which needs its own approval."))
}

/// The sentence about results that stay.
fn stays(count: usize, files: &BTreeSet<String>) -> String {
    let names: Vec<&str> = files.iter().take(3).map(String::as_str).collect();
    let more =
        if files.len() > names.len() { format!(" and {} more", files.len() - names.len()) } else { String::new() };
    let what = if count == 1 {
        "One earlier result of a tool in this session shows".to_owned()
    } else {
        format!("{count} earlier results of tools in this session show")
    };
    format!(
        "{what} what is denied now ({}{more}). The rule does not affect them: they stay in the conversation and are \
            still sent. Exclude or delete those messages if their text must not be sent.",
        names.join(", ")
    )
}

/// The protection of a call, as sentences.
pub(crate) fn protection(effect: &ToolEffect) -> Vec<String> {
    match effect {
        ToolEffect::Run(command) => command.protection.clone(),
        ToolEffect::Look { .. } | ToolEffect::Change(_) | ToolEffect::Foreign { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_steers_the_program_is_not_changed_beside_others() {
        let change =
            |path: &str| FileChange { path: path.into(), before: None, after: Some("x".into()), hunks: Vec::new() };
        let asking = |effect: ToolEffect| PendingApproval {
            index: 0,
            tool: "write_file".into(),
            args: String::new(),
            effect,
            rule: None,
        };
        let both = by_rule(&[], asking(ToolEffect::Change(vec![change("a"), change(".mcp.json")])));
        assert!(matches!(both, Ok((Consent::No { why: Some(why) }, _)) if why.starts_with(".mcp.json names programs")));
        assert!(
            by_rule(&[], asking(ToolEffect::Change(vec![change(".mcp.json")]))).is_err(),
            "alone it is asked about"
        );
    }

    #[test]
    fn three_files_are_named_and_the_rest_counted() {
        let told = |count: u32| stays(2, &(0..count).map(|n| format!("f{n}")).collect());
        for count in [1, 3, 4, 9] {
            let told = told(count);
            assert!(told.contains("f0") && !told.contains("f3"), "{told}");
            let more = if count > 3 { Some(format!(" and {} more", count - 3)) } else { None };
            assert_eq!(told.contains(" more"), more.is_some(), "{told}");
            assert!(more.is_none_or(|more| told.contains(&more)), "{told}");
        }
    }
}
