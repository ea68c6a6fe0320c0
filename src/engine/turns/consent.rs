//! Consent to tool calls, by rules or by a person; a person's rules; and undoing the changes of tools.
//! Not for: the effect of a call (`tools`), reading rules (`domain::tool::consent`), or the thread that waits
//! (`tool_calls`).

use super::state::WaitingCall;
use super::tool_calls::CallDecision;
use crate::domain::base::{BranchId, Failure, FailureKind, Hash, NodeId, SessionId};
use crate::domain::conversation::{Change, End};
use crate::domain::tool::consent::decide;
use crate::domain::tool::resolution::files;
use crate::domain::tool::trace::UNDECIDED;
use crate::domain::tool::{
    Consent, FileChange, FileVisibility, PendingApproval, Rule, RuleScope, ToolEffect, ToolStatus, Verdict,
};
use crate::engine::api::{Answer, Event, ToolAnswer, ToolEvent};
use crate::engine::core::{Core, stored_value};
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::setup::Setup;
use crate::store::Store;
use crate::store::types::Write;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The maximum number of rules of one scope.
const MAX_RULES: usize = 200;

/// The number of earlier calls that are checked when a rule is added.
const MAX_CALLS: usize = 10_000;

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
        let visibility = visibility_of(&rules);
        let effect = with_rule_warning(effect, &visibility);
        let Some(live) = self.turns.live.get_mut(&branch) else { return };
        let Some(trace) = live.traces.get_mut(index) else { return };
        trace.more.protection = protection(&effect);
        let (tool, args) = (trace.name.clone(), trace.args.clone());
        let asking = PendingApproval { index, tool, args, effect, rule: None };
        match decide_by_rules(&rules, asking) {
            Ok((consent, words)) => {
                trace.word = words;
                let _ = reply.send(CallDecision { consent, by_person: false, visibility });
            }
            Err(asking) => {
                live.asks = Some(WaitingCall { asking: asking.clone(), reply });
                self.emit(Event::Tool(ToolEvent::Approval { branch, pending: Some(asking) }));
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
        let waiting = waits.filter(|waiting| waiting.asking.index == index).ok_or_else(no_longer_waits)?;
        let asking = waiting.asking.clone();
        let kept = self.add_rule_for(&asking, always)?;
        let Some(live) = self.turns.live.get_mut(&branch) else { return Ok(Answer::Done(String::new())) };
        if let Some(trace) = live.traces.get_mut(index) {
            trace.word = Some(if consent == Consent::Unasked { "nobody" } else { "you" }.into());
        }
        if let Some(waiting) = live.asks.take() {
            let visibility = self.file_visibility(branch).answered(&asking.tool, &asking.effect);
            let _ = waiting.reply.send(CallDecision { consent, by_person: true, visibility });
        }
        self.emit(Event::Tool(ToolEvent::Approval { branch, pending: None }));
        Ok(kept.unwrap_or_else(|| Answer::Done(String::new())))
    }

    /// Adds the rule that a person gave with a decision on a call. Fails if no rule can decide on such calls.
    pub(crate) fn add_rule_for(
        &mut self,
        asking: &PendingApproval,
        always: Option<(RuleScope, Rule)>,
    ) -> Result<Option<Answer>, Failure> {
        let Some((scope, rule)) = always else { return Ok(None) };
        if let Some((path, _)) = asking.effect.config_change() {
            return Err(Failure::user(format!("No rule can allow changing {path}: it controls pleach."))
                .kept("Nothing was done.")
                .todo("Approve or deny only this call."));
        }
        self.set_rule(scope, rule, true).map(Some)
    }

    /// Withdraws the approval request of a call that ended.
    pub(crate) fn close_approval(&mut self, branch: BranchId, index: usize) {
        let Some(live) = self.turns.live.get_mut(&branch) else { return };
        if live.asks.take_if(|waiting| waiting.asking.index == index).is_some() {
            if let Some(trace) = live.traces.get_mut(index) {
                trace.word = Some(UNDECIDED.into());
            }
            self.emit(Event::Tool(ToolEvent::Approval { branch, pending: None }));
        }
    }

    /// Returns the rules about files on a branch, which limit the files that the model sees.
    pub(crate) fn file_visibility(&self, branch: BranchId) -> FileVisibility {
        visibility_of(&self.all_rules(branch))
    }

    /// Returns the denials of the person's own rules: the rules of the open session, the folder, and the settings.
    pub(crate) fn denied(&self) -> FileVisibility {
        let here = self.sessions.current().ok().map(|session| session.current);
        let rules = here.map_or_else(|| rules_of(&self.setup, &self.store, None), |branch| self.all_rules(branch));
        FileVisibility::denying(rules.into_iter().map(|(_, rule)| rule))
    }

    /// Passes the denials to the readers of files that work without a call: the denials of a branch's session, or the
    /// denials that apply without a session.
    pub(crate) fn apply_denials(&self, branch: Option<BranchId>) {
        let session = branch.and_then(|branch| self.sessions.of_branch(branch).ok()).map(|session| session.card.id);
        let denies = |(_, rule): (RuleScope, Rule)| Some(rule).filter(|rule| rule.verdict == Verdict::Deny);
        let rules = rules_of(&self.setup, &self.store, session).into_iter().filter_map(denies).collect();
        self.tools.project.apply_denials(self.workers.code.workspace().apply_denials(session, rules));
    }

    /// Returns the rules that apply on a branch, the session's first.
    pub(crate) fn all_rules(&self, branch: BranchId) -> Vec<(RuleScope, Rule)> {
        rules_of(&self.setup, &self.store, self.sessions.of_branch(branch).map(|session| session.card.id).ok())
    }

    /// Returns all rules that apply, with their scopes.
    pub(crate) fn list_rules(&self) -> Result<Answer, Failure> {
        Ok(ToolAnswer::Rules(self.all_rules(self.sessions.current()?.current)).into())
    }

    /// Adds or removes a person's rule. Fails for rules of the settings.
    pub(crate) fn set_rule(&mut self, scope: RuleScope, rule: Rule, on: bool) -> Result<Answer, Failure> {
        if scope == RuleScope::Config {
            return Err(Failure::user("That rule is in the settings.").todo("Change it under [tools] there."));
        }
        let session = self.sessions.current()?.card.id;
        let mut rules = rules_in_scope(&self.setup, &self.store, scope, session);
        let words = rule.to_text();
        let before = rules.len();
        rules.retain(|known| *known != rule);
        if !on && rules.len() == before {
            return Err(Failure::user(format!("There is no such rule: {words}.")));
        }
        if on {
            rules.insert(0, rule);
        }
        if rules.len() > MAX_RULES {
            return Err(Failure::user(format!("At most {MAX_RULES} rules are kept.")).todo("Remove one first."));
        }
        let remaining = if on { remaining_results(&self.sessions, &self.store, &rules[0])? } else { None };
        let value = serde_json::to_string(&rules).ok().filter(|_| !rules.is_empty());
        self.store.write(vec![Write::SetValue { key: self.setup.rules_key(scope, session), value }])?;
        let place = if scope == RuleScope::Session { "in this session" } else { "in this folder" };
        Ok(Answer::Done(if on {
            let remaining = remaining.map_or_else(String::new, |sentence| format!(" {sentence}"));
            format!("From now on {place}: {words}.{remaining}")
        } else {
            format!("Removed {place}: {words}.")
        }))
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
        writes.push(self.setup.operation(session, format!("changed {}", names.join(", ")), files.collect()));
        if let Err(error) = self.store.write(writes) {
            self.alarm(format!("{} was changed, but undo can't restore it: {error}", names.join(", ")));
        }
    }
}

fn rules_of(setup: &Setup, store: &Store, session: Option<SessionId>) -> Vec<(RuleScope, Rule)> {
    let own = session.map(|id| rules_in_scope(setup, store, RuleScope::Session, id)).unwrap_or_default();
    let folder: Vec<Rule> = stored_value(store, &setup.folder_key()).unwrap_or_default();
    let of = |scope: RuleScope| move |rule: Rule| (scope, rule);
    let config = setup.settings.tool_rules.iter().cloned();
    let all = own.into_iter().map(of(RuleScope::Session)).chain(folder.into_iter().map(of(RuleScope::Folder)));
    all.chain(config.map(of(RuleScope::Config))).collect()
}

fn rules_in_scope(setup: &Setup, store: &Store, scope: RuleScope, session: SessionId) -> Vec<Rule> {
    stored_value(store, &setup.rules_key(scope, session)).unwrap_or_default()
}

/// Restores the file contents that changes name. If one file cannot be restored, those already restored are
/// reverted.
pub(crate) fn revert_files(
    setup: &Setup,
    store: &Store,
    session: SessionId,
    changes: &[Change],
) -> Result<(), Failure> {
    let mut done: Vec<(&str, Option<Hash>, Option<Hash>)> = Vec::new();
    for change in changes {
        let Change::File { path, before, after } = change else { continue };
        if let Err(failure) = revert_file(setup, store, session, path, *before, *after) {
            for (path, before, after) in done.into_iter().rev() {
                let _ = revert_file(setup, store, session, path, after, before);
            }
            return Err(failure);
        }
        done.push((path, *before, *after));
    }
    Ok(())
}

fn revert_file(
    setup: &Setup,
    store: &Store,
    session: SessionId,
    path: &str,
    expected: Option<Hash>,
    wanted: Option<Hash>,
) -> Result<(), Failure> {
    let text = wanted.map(|hash| store.file_text(session, hash)).transpose()?.flatten();
    if wanted.is_some() && text.is_none() {
        let what = format!("The earlier content of {path} was not kept.");
        return Err(Failure::user(what).kept("The file was left as it is."));
    }
    let Some(tools) = &setup.settings.tools else {
        return Err(Failure::user(format!("{path} can't be changed: tools are off."))
            .kept("The file was left as it is.")
            .todo("Enable tools in the settings ([tools] enabled = true)."));
    };
    let stale = |why| {
        let failure = Failure::new(FailureKind::Stale, why).kept("Nothing was undone or redone.");
        failure.todo("Change the file yourself.")
    };
    tools.put_back(path, expected, text.as_deref()).map_err(stale)
}

/// Returns a sentence about earlier tool results that contain files that a new rule denies; `None` if there are
/// none. These results are messages that the person sees in every plan, so they stay and are sent until a person
/// excludes them.
fn remaining_results(sessions: &Sessions, store: &Store, rule: &Rule) -> Result<Option<String>, Failure> {
    let visibility = FileVisibility::new([rule.clone()]);
    if rule.verdict != Verdict::Deny || visibility.is_open() {
        return Ok(None);
    }
    let session = sessions.current()?;
    let there = |id: NodeId| session.tree.slot(id).is_some_and(|slot| session.tree.head(slot).end != End::Removed);
    let mut traces = store.traces(session.card.id, MAX_CALLS)?;
    traces.retain(|trace| trace.status == Some(ToolStatus::Ok) && trace.node.is_some_and(there));
    // A search names files in its result.
    let searches: Vec<NodeId> =
        traces.iter().filter(|trace| trace.name == "search").filter_map(|trace| trace.node).collect();
    let found = store.nodes(&searches)?;
    let found: HashMap<NodeId, String> = found.iter().map(|node| (node.head.id, node.content.plain_text())).collect();
    let mut count = 0;
    let mut denied = BTreeSet::new();
    for trace in &traces {
        let mut files = files(trace);
        let lines = trace.node.and_then(|id| found.get(&id)).into_iter().flat_map(|text| text.lines());
        files.extend(lines.filter_map(|line| Some(line.split_once(':')?.0.to_owned())));
        files.retain(|path| visibility.denies(&trace.name, path).is_some());
        count += usize::from(!files.is_empty());
        denied.extend(files);
    }
    Ok((count > 0).then(|| remaining_results_sentence(count, &denied)))
}

impl Setup {
    fn rules_key(&self, scope: RuleScope, session: SessionId) -> String {
        match scope {
            RuleScope::Session => format!("rules.session.{session}"),
            RuleScope::Folder | RuleScope::Config => self.folder_key(),
        }
    }

    fn folder_key(&self) -> String {
        format!("rules.folder.{}", Hash::of(self.workspace.as_bytes()))
    }
}

/// Returns the decision of the rules and a description of its source.
///
/// # Errors
/// Returns the approval request if the rules do not decide, so that a person is asked.
pub(crate) fn decide_by_rules(
    rules: &[(RuleScope, Rule)],
    asking: PendingApproval,
) -> Result<(Consent, Option<String>), Arc<PendingApproval>> {
    if let Some(why) = refusal_beside_others(&asking.effect) {
        return Ok((Consent::No { why: Some(why) }, Some("pleach".into())));
    }
    let (verdict, rule) = decide(rules.iter().map(|(_, rule)| rule), &asking.tool, &asking.effect);
    let words = rule.map(Rule::to_text);
    let consent = match verdict {
        Verdict::Allow => Consent::Yes { hunks: Vec::new() },
        Verdict::Deny => Consent::No {
            why: Some(format!("One of the user's rules denies the call: {}.", words.clone().unwrap_or_default())),
        },
        Verdict::Ask => return Err(Arc::new(PendingApproval { rule: rule.cloned(), ..asking })),
    };
    Ok((consent, words.map(|words| format!("rule {words}"))))
}

/// The failure for a decision on a call that no longer waits for approval.
pub(crate) fn no_longer_waits() -> Failure {
    Failure::new(FailureKind::Stale, "That call no longer waits for approval: it was decided, or its turn was stopped.")
        .kept("Nothing was done.")
}

/// Returns the rules about files.
pub(crate) fn visibility_of(rules: &[(RuleScope, Rule)]) -> FileVisibility {
    FileVisibility::new(rules.iter().map(|(_, rule)| rule.clone()))
}

/// Adds to a command a warning about denials that cannot be enforced, because the sandbox does not know the rules.
pub(crate) fn with_rule_warning(effect: ToolEffect, visibility: &FileVisibility) -> ToolEffect {
    let ToolEffect::Run(mut command) = effect else { return effect };
    let denied: Vec<String> = visibility.denied().into_iter().take(8).map(|on| format!("{on:?}")).collect();
    if denied.is_empty() {
        return ToolEffect::Run(command);
    }
    command.protection.push(format!(
        "rules: a command can read the files of the workspace that rules deny ({}); only the command line itself is \
        checked",
        denied.join(", ")
    ));
    ToolEffect::Run(command)
}

/// Why a file that configures the program is not changed together with others: its change needs a separate approval.
fn refusal_beside_others(effect: &ToolEffect) -> Option<String> {
    let (path, what) = effect.config_change()?;
    let ToolEffect::Change(changes) = effect else { return None };
    (changes.len() > 1).then(|| format!("{path} {what}. Change it in a separate call, which needs its own approval."))
}

/// Returns the sentence about earlier results that stay in the conversation.
fn remaining_results_sentence(count: usize, files: &BTreeSet<String>) -> String {
    let names: Vec<&str> = files.iter().take(3).map(String::as_str).collect();
    let more =
        if files.len() > names.len() { format!(" and {} more", files.len() - names.len()) } else { String::new() };
    let what = if count == 1 {
        "1 earlier tool result in this session shows".to_owned()
    } else {
        format!("{count} earlier tool results in this session show")
    };
    format!(
        "{what} files that the rule denies ({}{more}). The rule does not affect earlier results: they stay in the \
            conversation and are still sent. Exclude or delete their messages if their text must not be sent.",
        names.join(", ")
    )
}

/// The protection of a call, as sentences.
pub(crate) fn protection(effect: &ToolEffect) -> Vec<String> {
    match effect {
        ToolEffect::Run(command) => command.confinement().cloned().collect(),
        ToolEffect::Read { .. } | ToolEffect::Change(_) | ToolEffect::Foreign { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_controls_the_program_is_not_changed_together_with_others() {
        let change =
            |path: &str| FileChange { path: path.into(), before: None, after: Some("x".into()), hunks: Vec::new() };
        let asking = |effect: ToolEffect| PendingApproval {
            index: 0,
            tool: "write_file".into(),
            args: String::new(),
            effect,
            rule: None,
        };
        let both = decide_by_rules(&[], asking(ToolEffect::Change(vec![change("a"), change(".mcp.json")])));
        assert!(matches!(both, Ok((Consent::No { why: Some(why) }, _)) if why.starts_with(".mcp.json names programs")));
        assert!(
            decide_by_rules(&[], asking(ToolEffect::Change(vec![change(".mcp.json")]))).is_err(),
            "alone it is asked about"
        );
    }

    #[test]
    fn three_files_are_named_and_the_others_counted() {
        let sentence = |count: u32| remaining_results_sentence(2, &(0..count).map(|n| format!("f{n}")).collect());
        for count in [1, 3, 4, 9] {
            let sentence = sentence(count);
            assert!(sentence.contains("f0") && !sentence.contains("f3"), "{sentence}");
            let more = if count > 3 { Some(format!(" and {} more", count - 3)) } else { None };
            assert_eq!(sentence.contains(" more"), more.is_some(), "{sentence}");
            assert!(more.is_none_or(|more| sentence.contains(&more)), "{sentence}");
        }
    }
}
