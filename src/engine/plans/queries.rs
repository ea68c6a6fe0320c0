//! Read-only requests: texts of rows, stored plans, models, the checks of `doctor`.
//! Not for: anything that changes a session.

use super::input_builder::Contents;
use crate::context::render::render_forms::{self, WireState};
use crate::domain::base::damage::deleted_text_sentence;
use crate::domain::base::{BackupAct, BranchId, Failure, FailureKind, NodeId};
use crate::domain::call::tokens::counted;
use crate::domain::call::{
    Backend, CalibrationEntry, CodeSet, CountTokens, Encoding, ModelInfo, Profile, ProviderError, Quirk, address,
};
use crate::domain::conversation::{Atom, Branch, Role};
use crate::domain::planning::{ContextPlan, Item, Row, RowKind};
use crate::domain::tool::SettingsFileStatus;
use crate::engine::api::{Answer, CallAnswer, Finding, ProgramAnswer, SessionAnswer, Ticket};
use crate::engine::calls::meters::learned;
use crate::engine::calls::stored_runs::{one_run, plan_json, unreadable};
use crate::engine::core::{Core, content};
use crate::engine::inbox::{Inbox, OutsideChange};
use crate::engine::jobs::{Part, together};
use crate::engine::plans::state::Plans;
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::setup::{ModelLookup, Servers, Setup};
use crate::engine::tools::state::Tools;
use crate::engine::tools::workspace_rules::project_text;
use crate::store::Store;
use crate::store::file::examine::Examined;
use crate::store::types::StoreError;
use std::fmt::Write as _;
use std::sync::Arc;

impl Core {
    /// Returns the text of a row of the last plan drawn: as sent, or in full if the row is not sent.
    pub(crate) fn row_text(&self, branch: BranchId, atom: &Atom) -> Result<Answer, Failure> {
        let drawn = self.plans.drawn.get(&branch).ok_or_else(Failure::not_planned_yet)?;
        let plan = &drawn.solved.plan;
        let row = row_or_message(plan, atom).ok_or_else(|| Failure::user("That row is not in the plan."))?;
        if let Some(text) = row.text.and_then(|text| drawn.solved.contents.blocks.get(&text)) {
            return Ok(Answer::Text(text.to_string()));
        }
        if matches!(row.kind, RowKind::Rules | RowKind::Skills | RowKind::Module)
            && let Some(text) = project_text(&self.store, &self.tools, atom, row.source.path.as_deref())
        {
            return Ok(Answer::Text(text));
        }
        if row.kind == RowKind::Memory {
            return Ok(Answer::Text(row.title.clone()));
        }
        let mut out = String::new();
        for item in &row.items {
            if let Some(text) = item_text(&self.store, item, &drawn.solved.contents, row.included())? {
                add_message(&mut out, item.role, &text);
            }
        }
        if out.is_empty() {
            out = message_text(&self.sessions, &self.store, branch, atom, row.included())?;
        }
        Ok(Answer::Text(out))
    }

    /// Asks servers for their models, on separate threads. With `unready`, the answer also lists the profiles that lack
    /// a key or an address, at the end, each with the missing part.
    pub(crate) fn models(&self, ticket: Ticket, only: Option<&str>, unready: bool) -> Result<(), Failure> {
        let lack = |profile: &Profile| Some((profile.name.clone(), Err(self.setup.servers.ready(profile).err()?)));
        let lacking: Vec<_> = self.setup.settings.profiles.values().filter(|_| unready).filter_map(lack).collect();
        let profiles = match self.setup.wanted_profiles(only) {
            Err(_) if !lacking.is_empty() => Vec::new(),
            profiles => profiles?,
        };
        let (servers, inbox) = (self.setup.servers.clone(), self.inbox.clone());
        let (lookup, counter) = (self.setup.settings.models.clone(), self.setup.counter.clone());
        let quirks = self.learned.quirks.clone();
        self.jobs.answer("models", ticket, move |cancel| {
            let ask = |profile: Profile| -> Part<_> {
                let (servers, cancel) = (servers.clone(), cancel.clone());
                Box::new(move || {
                    let found = cancel.check().ok().map(|()| servers.models(&profile));
                    (profile, found)
                })
            };
            let mut all = Vec::new();
            let mut reported = Vec::new();
            for (profile, found) in together(profiles.into_iter().map(ask).collect()).into_iter().flatten() {
                let Some(found) = found else { continue };
                let name = profile.name.clone();
                let whole = |model| {
                    let mut model = complete_model_info(model, &profile, &lookup);
                    let refused = quirks.get(&(name.clone(), model.name.clone()));
                    if !profile.dialect.tools || refused.is_some_and(|all| all.contains(&Quirk::NoTools)) {
                        model.supports.tools = Some(false);
                    }
                    ModelInfo { encoding: counter.settle(model.encoding).0, ..model }
                };
                let found = found.map(|models| models.into_iter().map(whole).collect::<Vec<ModelInfo>>());
                if let Ok(models) = &found {
                    reported.extend(models.iter().map(|model| (profile.clone(), model.clone())));
                }
                all.push((name, found.map_err(provider_failure)));
            }
            cancel.check()?;
            all.extend(lacking);
            let _ = inbox.send(Inbox::Changed(OutsideChange::Models(reported)));
            Ok(ProgramAnswer::Models(all).into())
        });
        Ok(())
    }

    /// Asks a branch's server for its models if the size of the model's window is only assumed.
    pub(crate) fn learn_window(&self, branch: &Branch) {
        let Ok(rules) = self.rules(branch) else { return };
        let openai = rules.profile.backend == Backend::Openai;
        if rules.model.source != "assumed" || !openai || self.setup.servers.ready(&rules.profile).is_err() {
            return;
        }
        let (servers, lookup) = (self.setup.servers.clone(), self.setup.settings.models.clone());
        self.jobs.report(
            "models",
            |_| Inbox::Changed(OutsideChange::Models(Vec::new())),
            move |cancel| {
                let asked = cancel.check().ok().and_then(|()| servers.models(&rules.profile).ok());
                let models = asked.unwrap_or_default();
                let reported = models.into_iter().map(|model| complete_model_info(model, &rules.profile, &lookup));
                Inbox::Changed(OutsideChange::Models(reported.map(|model| (rules.profile.clone(), model)).collect()))
            },
        );
    }

    /// Checks the store, the workspace, and every profile.
    pub(crate) fn doctor(&self, ticket: Ticket) {
        let (store, workspace) = (self.store.clone(), workspace_findings(&self.setup, &self.tools));
        let (tools, quirks) = (self.examine_servers(), self.learned.quirk_findings());
        let profiles: Vec<Profile> = self.setup.settings.profiles.values().cloned().collect();
        let servers = self.setup.servers.clone();
        let of_branch = self.sessions.current().ok().and_then(|session| {
            session.branch(session.current).ok().and_then(|branch| branch.overrides.profile.clone())
        });
        // Without a session, no profile is in use yet.
        let mark = if self.sessions.current().is_ok() { " (in use)" } else { " (default)" };
        let chosen = of_branch.unwrap_or_else(|| self.setup.settings.profile.clone());
        let embedder = self.setup.embedder.clone();
        let (lookup, counter, model) =
            (self.setup.settings.models.clone(), self.setup.counter.clone(), self.setup.settings.model.clone());
        self.jobs.answer("doctor", ticket, move |cancel| {
            let named = profiles.iter().find(|profile| profile.name == chosen);
            let asked = |named: &Profile| lookup(model.as_ref().unwrap_or(&named.model), named);
            let tokenizer = named.and_then(|named| tokenizer_finding(&asked(named), counter.as_ref()));
            let meters = store.clone();
            // In display order.
            let mut parts: Vec<Part<Vec<Finding>>> = vec![
                Box::new(move || store_findings(&store).into_iter().chain(workspace).collect()),
                Box::new(move || vec![crate::engine::startup::embedder::finding(embedder.as_ref())]),
                Box::new(move || tokenizer.into_iter().chain(meter_findings(&meters)).collect()),
            ];
            parts.extend(profiles.into_iter().map(|profile| -> Part<_> {
                let (servers, chosen, cancel) = (servers.clone(), chosen.clone(), cancel.clone());
                Box::new(move || match cancel.check() {
                    Ok(()) => vec![profile_finding(
                        servers.as_ref(),
                        &profile,
                        if profile.name == chosen { mark } else { "" },
                    )],
                    Err(_) => Vec::new(),
                })
            }));
            let found = together(parts).into_iter().flatten().flatten();
            cancel.check()?;
            Ok(ProgramAnswer::Doctor(found.chain(quirks).chain(tools).collect()).into())
        });
    }
}

fn workspace_findings(setup: &Setup, tools: &Tools) -> Vec<Finding> {
    let trust = if tools.trusted {
        "trusted: tools are offered; changes need approval"
    } else {
        "not trusted: no tools are offered"
    };
    let workspace = Finding::new("workspace", None, format!("{} ({trust})", setup.workspace), "");
    let settings = setup.folder_card().map(|card| {
        let todo = match card.status {
            SettingsFileStatus::Untrusted => "`pleach trust` trusts the folder.",
            SettingsFileStatus::Faulty => "Correct or delete the file.",
            SettingsFileStatus::Waits => "`pleach trust --config` shows it and asks for approval.",
            SettingsFileStatus::Used | SettingsFileStatus::Declined => "",
        };
        let status = serde_json::to_value(card.status).ok().and_then(|word| Some(word.as_str()?.to_owned()));
        let ok = (card.status == SettingsFileStatus::Faulty).then_some(false);
        let finding = Finding::new("folder settings", ok, format!("{} ({})", card.path, card.to_text()), todo);
        Finding { facts: vec![("standing", status.unwrap_or_default())], ..finding }
    });
    [workspace].into_iter().chain(settings).collect()
}

pub(crate) fn message_text(
    sessions: &Sessions,
    store: &Store,
    branch: BranchId,
    atom: &Atom,
    sent: bool,
) -> Result<String, Failure> {
    let session = sessions.of_branch(branch)?;
    let slot = super::snapshot::anchor_key(atom).and_then(|key| session.tree.by_key(key));
    let nothing =
        if sent { "That row has no text of its own." } else { "This item is left out; its text is not loaded." };
    let slot = slot.ok_or_else(|| Failure::user(nothing))?;
    Ok(render_forms::plain(&content(store, session.tree.head(slot).id)?))
}

/// Returns the text of a message in a row: in the form in which it is sent, or in full; `None` for a draft whose
/// text is not in `contents`.
pub(crate) fn item_text(
    store: &Store,
    item: &Item,
    contents: &Contents,
    sent: bool,
) -> Result<Option<String>, Failure> {
    let content = match (contents.messages.get(&item.key), item.node) {
        (Some(content), _) => content.clone(),
        (None, Some(node)) => Arc::new(content(store, node)?),
        (None, None) => return Ok(None),
    };
    let wire_state = WireState { orphan: item.orphan, ..WireState::default() };
    let mut text = if sent {
        render_forms::wire_text(item.key, item.role, &content, item.form, wire_state)
    } else {
        render_forms::plain(&content)
    };
    for (_, name, args) in content.calls().filter(|_| !sent || render_forms::keeps_calls(item.form)) {
        let _ = write!(text, "\n[calls {name} {args}]");
    }
    Ok(Some(text))
}

/// Returns a stored plan by a prefix of its id or of a run's id.
pub(crate) fn stored_plan(store: &Store, prefix: &str) -> Result<Answer, Failure> {
    let (id, stored) = match store.plan_by_prefix(prefix)?.as_slice() {
        [one] => one.clone(),
        [] => {
            let id = one_run(store, prefix)?.plan;
            (id, plan_json(store, id)?)
        }
        _ => return Err(Failure::user(format!("{prefix:?} matches several plans.")).todo("Type more of the id.")),
    };
    let plan: ContextPlan = serde_json::from_str(&stored).map_err(|error| unreadable(&error))?;
    let code_set = code_set_of(store, &plan)?;
    Ok(CallAnswer::StoredPlan { plan: Arc::new(plan), runs: store.plan_runs(id)?, code_set }.into())
}

/// Returns the retrieval set of the code search that belongs to a plan.
pub(crate) fn code_set_of(store: &Store, plan: &ContextPlan) -> Result<Option<Arc<CodeSet>>, Failure> {
    for id in plan.retrieval_set_ids.iter().rev() {
        if let Some(found) = store.code_set(*id)? {
            return Ok(Some(Arc::new(found)));
        }
    }
    Ok(None)
}

impl Setup {
    /// Returns the profiles that a request about servers concerns.
    fn wanted_profiles(&self, only: Option<&str>) -> Result<Vec<Profile>, Failure> {
        let all = self.settings.profiles.values();
        let chosen: Vec<Profile> = match only {
            Some(name) => all.filter(|profile| profile.name == name).cloned().collect(),
            None => all.filter(|profile| self.servers.ready(profile).is_ok()).cloned().collect(),
        };
        if chosen.is_empty() {
            let known: Vec<&str> = self.settings.profiles.keys().map(String::as_str).collect();
            return Err(Failure::user("There is no such profile, or no profile is set up.")
                .todo(format!("Known profiles: {}.", known.join(", "))));
        }
        Ok(chosen)
    }
}

impl Plans {
    /// Returns the exact body of the last drawn plan.
    pub(crate) fn wire_text(&self, branch: BranchId) -> Result<Answer, Failure> {
        let drawn = self.drawn.get(&branch).ok_or_else(Failure::not_planned_yet)?;
        Ok(Answer::Text(String::from_utf8_lossy(&drawn.solved.wire.bytes).into_owned()))
    }
}

const REPAIR_HINT: &str = "Export the sessions that you need; then `pleach doctor --repair` moves the store aside \
and starts from the newest backup.";

const DROP_HINT: &str = "`pleach doctor --repair` drops what can't be read; nothing else in the store changes.";

/// Checks the state of the store, which reads the whole file once.
fn store_findings(store: &Store) -> Vec<Finding> {
    let finding = |ok, text: String, todo: &str| Finding::new("store", Some(ok), text, todo);
    let mode = if store.read_only() { ", read-only" } else { "" };
    let mut found = vec![match (store.sessions(), store.quick_check()) {
        (Ok(_), Ok(Some(why))) => finding(false, format!("damaged: {why}"), REPAIR_HINT),
        (Err(error @ StoreError::Corrupt { .. }), _) => finding(false, error.to_string(), REPAIR_HINT),
        (Err(error), _) | (_, Err(error)) => finding(false, error.to_string(), ""),
        (Ok(sessions), Ok(None)) => {
            let last = store.backups().len();
            let (sessions, backups) = (counted(sessions.len() as u64, "session"), counted(last as u64, "backup"));
            finding(true, format!("{sessions}{mode}; no damage found; {backups}"), "")
        }
    }];
    let examined = store.examine();
    found.push(content_finding(&examined));
    let plain = |subject: &str, text: String, todo: &str| Finding::new(subject, None, text, todo);
    if let Some(seen) = examined.ok().filter(|seen| !seen.notes.is_empty()) {
        found.push(plain("store notes", seen.notes.join("; "), ""));
    }
    if let Ok((left @ 1.., all)) = store.unconverted_plans() {
        let text = format!("{} of {all} are in the current format", all - left);
        let todo = "The rest are converted while pleach is open; you can quit at any time.";
        found.push(plain("stored plans", text, todo));
    }
    if let Some(held) = store.copies(BackupAct::List).ok().and_then(|all| deleted_text_sentence(&all)) {
        found.push(plain("backups", held, ""));
    }
    if store.purge_pending() {
        let text = "deleted text is still in the log, because another program is reading the store".into();
        found.push(plain("purge pending", text, "Close the other pleach windows."));
    }
    found
}

/// Checks whether the contents of the store are consistent.
fn content_finding(examined: &Result<Examined, StoreError>) -> Finding {
    let (todo, text, facts) = match examined {
        Err(error) => (REPAIR_HINT, error.to_string(), Vec::new()),
        Ok(seen) => {
            let faults: Vec<String> = seen.faults.iter().cloned().chain(seen.plan_fault()).collect();
            let faults = faults.join("; ");
            let messages = counted(seen.messages, "message");
            let whole = format!("{messages}: every table, index, head, parent, and hash is correct");
            let facts = vec![
                ("tables", seen.schema.to_string()),
                ("branches", seen.branches.to_string()),
                ("messages", seen.messages.to_string()),
                ("contents", seen.contents.to_string()),
                ("faults", faults.clone()),
            ];
            match (seen.faults.is_empty(), seen.plans.is_empty()) {
                (true, true) => ("", whole, facts),
                (true, false) => (DROP_HINT, format!("damaged: {faults}"), facts),
                (false, _) => (REPAIR_HINT, format!("damaged: {faults}"), facts),
            }
        }
    };
    Finding { facts, ..Finding::new("store content", Some(todo.is_empty()), text, todo) }
}

/// Returns how the models that were called count tokens, compared with the program's estimates.
fn meter_findings(store: &Store) -> Vec<Finding> {
    let finding = |known: CalibrationEntry| {
        let text = format!("the server counts {}, estimated with {}", known.calibration.sentence(), known.encoding);
        Finding::new(&format!("meter {}/{}", known.profile, known.model), None, text, "")
    };
    learned(store).into_iter().map(finding).collect()
}

/// Checks whether the model's own tokenizer can be used, if one is configured.
fn tokenizer_finding(model: &ModelInfo, counter: &dyn CountTokens) -> Option<Finding> {
    let Encoding::File(_) = model.encoding else { return None };
    let (encoding, why) = counter.settle(model.encoding);
    let by = format!("tokens of {} are counted with {}", model.name, encoding.title());
    let todo = if why.is_some() { "Check `tokenizer` in the settings." } else { "" };
    let ok = Some(why.is_none());
    let text = why.map_or_else(|| by.clone(), |why| format!("{why}; {by}"));
    Some(Finding::new("tokenizer", ok, text, todo))
}

/// Converts a provider's error to a failure.
pub(crate) fn provider_failure(error: ProviderError) -> Failure {
    Failure::new(FailureKind::Provider, error.what).todo(error.hint)
}

/// Completes a model that its server described with values from the model table.
fn complete_model_info(model: ModelInfo, profile: &Profile, lookup: &ModelLookup) -> ModelInfo {
    let known = lookup(&model.name, profile);
    if model.context_window == 0 {
        return ModelInfo { supports: model.supports.or(known.supports), ..known };
    }
    ModelInfo {
        price: model.price.or(known.price),
        encoding: known.encoding,
        exact_encoding: known.exact_encoding,
        supports: model.supports.or(known.supports),
        ..model
    }
}

fn profile_finding(servers: &dyn Servers, profile: &Profile, mark: &str) -> Finding {
    let subject = format!("profile {}{mark}", profile.name);
    if profile.backend != Backend::Openai {
        return Finding::new(&subject, Some(true), "built in: a placeholder that quotes its context".into(), "");
    }
    if let Err(failure) = servers.ready(profile) {
        return Finding::new(&subject, None, failure.what, &failure.todo);
    }
    match servers.probe(profile) {
        Ok(count) => {
            let text =
                format!("{} answers, {}", address::without_secrets(&profile.base_url), counted(count as u64, "model"));
            Finding::new(&subject, Some(true), text, "")
        }
        Err(error) => Finding::new(&subject, Some(false), error.what, &error.hint),
    }
}

/// Adds a message to the text of a row, under its role.
pub(crate) fn add_message(out: &mut String, role: Role, text: &str) {
    let gap = if out.is_empty() { "" } else { "\n" };
    let _ = writeln!(out, "{gap}{}:\n{text}", role.name());
}

/// Returns the row of an atom, or a row with the single message that the atom names.
pub(crate) fn row_or_message(plan: &ContextPlan, atom: &Atom) -> Option<Row> {
    if let Some(row) = plan.rows.iter().find(|row| row.atom == *atom) {
        return Some(row.clone());
    }
    let Atom::Message { node } = atom else { return None };
    let of = |row: &Row| -> Option<Item> { row.items.iter().find(|item| item.key == *node).cloned() };
    let (row, item) = plan.rows.iter().find_map(|row| Some((row, of(row)?)))?;
    Some(Row { items: vec![item], ..Row::new(*atom, RowKind::Message, row.verdict.clone(), row.reason.clone()) })
}

/// Reads the contents of nodes; nodes that no longer exist are omitted.
pub(crate) fn bodies(core: &Core, nodes: &[NodeId]) -> Result<Answer, Failure> {
    Ok(SessionAnswer::Bodies(core.store.nodes(nodes)?.into_iter().map(Arc::new).collect()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;
    use crate::domain::call::model::Supports;

    /// A counter that can load no vocabulary if it has a reason.
    struct Counter(Option<&'static str>);

    impl CountTokens for Counter {
        fn count(&self, _: Encoding, _: &str) -> u32 {
            0
        }

        fn settle(&self, encoding: Encoding) -> (Encoding, Option<String>) {
            (if self.0.is_some() { Encoding::Approximate } else { encoding }, self.0.map(String::from))
        }
    }

    #[test]
    fn doctor_says_whether_the_models_own_tokenizer_counts() {
        let model = |encoding| ModelInfo {
            name: "m".into(),
            context_window: 8_000,
            input_limit: None,
            max_output: None,
            encoding,
            exact_encoding: false,
            price: None,
            source: "table".into(),
            supports: Supports::default(),
        };
        let file = model(Encoding::File(Hash::default()));
        let found = tokenizer_finding(&file, &Counter(None)).unwrap();
        assert_eq!(
            (found.ok, found.text.as_str()),
            (Some(true), "tokens of m are counted with tokenizer.json 00000000")
        );
        let found = tokenizer_finding(&file, &Counter(Some("it is damaged"))).unwrap();
        let by = format!("it is damaged; tokens of m are counted with {}", Encoding::Approximate.title());
        assert_eq!((found.ok, found.text, found.todo.is_empty()), (Some(false), by, false));
        assert_eq!(tokenizer_finding(&model(Encoding::O200kBase), &Counter(None)).map(|found| found.text), None);
    }
}
