//! Recovery at the start: runs whose program died become interrupted answers, and nothing is sent again. Also loads
//! quirks and applies changes by other windows.
//! Not for: damaged stores (`store`).

use crate::domain::base::{BranchId, Failure, NodeId, SessionId};
use crate::domain::call::{ModelInfo, Profile, RunCard, RunStatus, address};
use crate::domain::conversation::{Branch, Change, Content, End, Node, NodeHead, Role};
use crate::engine::api::{Event, SessionEvent, TurnEvent};
use crate::engine::core::{Core, stored_value};
use crate::engine::plans::snapshot::fresh_key;
use crate::engine::sessions::session::Session;
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::setup::Setup;
use crate::engine::turns::stream::restore;
use crate::store::Store;
use crate::store::types::{OpenRun, Write};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use uuid::Uuid;

impl Core {
    /// Ends the runs of dead programs.
    pub(crate) fn recover(&mut self) {
        let notices = self.recover_where(|_| true);
        self.sessions.recovered.extend(notices);
    }

    /// Ends a branch's open run if its program died while this program was running, or if this program abandoned the
    /// run.
    pub(crate) fn recover_branch(&mut self, branch: BranchId) {
        for sentence in self.recover_where(|run| run.card.branch == branch) {
            self.notify(sentence);
        }
    }

    /// Ends such runs in a whole session.
    pub(crate) fn recover_session(&mut self, session: SessionId) {
        for sentence in self.recover_where(|run| run.card.session == session) {
            self.notify(sentence);
        }
    }

    fn recover_where(&mut self, wanted: impl Fn(&OpenRun) -> bool) -> Vec<String> {
        if self.store.read_only() {
            return Vec::new();
        }
        let ours = |run: &OpenRun| self.turns.live.values().any(|live| live.card.id == run.card.id);
        let given_up = |run: &OpenRun| run.owner == self.store.owner() && !ours(run);
        let open = self.store.open_runs().unwrap_or_default();
        let dead = |run: &OpenRun| wanted(run) && (given_up(run) || !self.store.owner_alive(&run.owner));
        let dead: Vec<OpenRun> = open.into_iter().filter(dead).collect();
        let each = dead.iter().filter_map(|run| {
            let sentence = match recover_run(&self.setup, &self.store, run) {
                Ok(sentence) => Some(sentence),
                // Its program ended the run between the two checks, or another program is recovering it.
                Err(_) if !still_open(&self.store, run) => None,
                Err(failure) => Some(format!("A call could not be recovered: {failure}")),
            };
            if self.sessions.open.contains_key(&run.card.session) {
                let _ = self.reload(run.card.session);
            }
            sentence
        });
        each.collect()
    }

    /// Reads the quirks and models of servers that were learned earlier.
    pub(crate) fn load_learned(&mut self) {
        self.load_quirks();
        for (name, profile) in &self.setup.settings.profiles {
            let key = model_key(&profile.base_url, name);
            let models: Vec<ModelInfo> = stored_value(&self.store, &key).unwrap_or_default();
            for model in models {
                self.learned.models.insert((name.clone(), model.name.clone()), model);
            }
        }
    }

    /// Forgets in memory the facts learned about servers of profiles whose address changed, and reads the stored facts
    /// about their new servers.
    pub(crate) fn forget_learned(&mut self, profiles: &[String]) {
        if profiles.is_empty() {
            return;
        }
        self.learned.models.retain(|(of, _), _| !profiles.contains(of));
        self.learned.listed.retain(|of, _| !profiles.contains(of));
        self.load_learned();
        self.outdate_all_plans();
    }

    /// Remembers the models that servers listed, and stores the facts that a server reported about its models, unless
    /// its profile has another address now. Plans become stale only if such a fact is new.
    pub(crate) fn learn_models(&mut self, models: Vec<(Profile, ModelInfo)>) {
        let mut changed = BTreeSet::new();
        let mut listed: HashMap<String, Vec<String>> = HashMap::new();
        for (asked, model) in models {
            let name = (asked.name.clone(), model.name.clone());
            let now = self.setup.settings.profiles.get(&asked.name);
            let same_server = now.is_some_and(|now| now.base_url == asked.base_url);
            if same_server {
                listed.entry(asked.name.clone()).or_default().push(model.name.clone());
            }
            if same_server && model.source == "server" && self.learned.models.get(&name) != Some(&model) {
                self.learned.models.insert(name, model);
                changed.insert(asked.name);
            }
        }
        self.learned.listed.extend(listed);
        for profile in &changed {
            let mut known: Vec<&ModelInfo> =
                self.learned.models.iter().filter(|((of, _), _)| of == profile).map(|(_, model)| model).collect();
            known.sort_by(|a, b| a.name.cmp(&b.name));
            let url = self.setup.settings.profiles.get(profile).map(|p| p.base_url.as_str()).unwrap_or_default();
            let value = serde_json::to_string(&known).ok();
            let _ = self.store.write(vec![Write::SetValue { key: model_key(url, profile), value }]);
        }
        if changed.is_empty() {
            return;
        }
        self.outdate_all_plans();
        let branches: Vec<_> = self.sessions.open.values().flat_map(|s| s.branches.clone()).collect();
        for branch in branches {
            self.show_settings(&branch);
        }
    }

    pub(crate) fn outdate_all_plans(&mut self) {
        for branch in self.sessions.branch_ids() {
            self.plans.touch(branch);
        }
    }

    /// Checks whether another window wrote to the store, and applies its changes. Also retries writes that the store
    /// refused.
    pub(crate) fn check_store(&mut self) {
        self.retry_stalled();
        self.watch_code();
        let Ok(version) = self.store.data_version() else { return };
        if version == self.sessions.data_version {
            return;
        }
        self.sessions.data_version = version;
        let clock = self.store.memory_clock().unwrap_or_default();
        if std::mem::replace(&mut self.sessions.memory_clock, clock.clone()) != clock {
            self.memories_changed();
        }
        self.learned.meters.forget();
        if self.load_quirks() {
            self.outdate_all_plans();
        }
        let ids: Vec<SessionId> = self.sessions.open.keys().copied().collect();
        for id in ids {
            if changed(&self.sessions, &self.store, id).unwrap_or(true) {
                let _ = self.reload(id);
            }
        }
        let current = self.sessions.current().map(|session| session.current);
        if let (Ok(branch), false) = (current, self.setup.patient) {
            self.sync_draft(branch);
        }
    }

    /// Removes a session that another window deleted.
    fn drop_session(&mut self, id: SessionId) {
        let Some(old) = self.close_session(id) else { return };
        self.notify(format!("The session \"{}\" was deleted in another window.", old.card.title));
    }

    /// Reads a session again and sends the differences to the screen.
    pub(crate) fn reload(&mut self, id: SessionId) -> Result<(), Failure> {
        if self.store.session(id)?.is_none() {
            self.drop_session(id);
            return Ok(());
        }
        let fresh = Session::load(&self.store, id)?;
        let Some(old) = self.sessions.open.get_mut(&id) else { return Ok(()) };
        let news: Vec<NodeHead> =
            fresh.tree.heads().filter(|head| old.tree.get(head.id) != Some(*head)).cloned().collect();
        let mut changed = Vec::new();
        for branch in &fresh.branches {
            let before = old.branches.iter().find(|b| b.id == branch.id);
            if before != Some(branch) {
                changed.push(branch.id);
            }
        }
        let runs: Vec<RunCard> = fresh.runs.iter().filter(|run| !old.runs.contains(run)).cloned().collect();
        let tags_changed = old.tags != fresh.tags;
        let records: Vec<_> = fresh.races.iter().filter(|record| !old.races.contains(record)).cloned().collect();
        let card_changed = old.card != fresh.card;
        let removed = news.iter().any(|head| head.end == End::Removed);
        let branches: Vec<BranchId> = fresh.branches.iter().map(|branch| branch.id).collect();
        let (current, missing) = (old.current, std::mem::take(&mut old.state_missing));
        *old = Session { current, state_missing: missing, ..fresh };
        let card = old.card.clone();
        if removed {
            self.forget_branches(&branches);
            changed = branches;
        }
        self.show_nodes(id, news);
        for run in runs {
            self.emit(Event::Turn(TurnEvent::Run(Box::new(run))));
        }
        for branch in changed {
            self.show_branch(branch);
        }
        if tags_changed {
            self.show_tags(id);
        }
        self.show_records(&records);
        if card_changed {
            self.emit(Event::Session(SessionEvent::Card(card)));
        }
        Ok(())
    }
}

fn recover_run(setup: &Setup, store: &Store, run: &OpenRun) -> Result<String, Failure> {
    let mut session = Session::load(store, run.card.session)?;
    let arrived = restore(&store.chunks(run.card.id)?);
    let branch = session.branch(run.card.branch)?.clone();
    let mut writes = Vec::new();
    let mut tip = run.after;
    if let Some((head, content)) = &run.user
        && session.tree.get(head.id).is_none()
    {
        session.put_node(head.clone());
        tip = Some(head.id);
        writes.push(Write::PutNodes {
            session: run.card.session,
            nodes: vec![Node { head: head.clone(), content: content.clone() }],
        });
        if branch.reply.is_some() && content.extra.as_ref().is_some_and(|extra| extra.get("reply_to").is_some()) {
            writes.push(Write::SetReply { branch: branch.id, reply: None });
        }
    } else if let Some((head, _)) = &run.user {
        tip = Some(head.id);
    }
    let mut card = RunCard { status: RunStatus::Interrupted, ..run.card.clone() };
    card.user = card.user.or(run.user.as_ref().map(|(head, _)| head.id));
    if !arrived.is_empty() {
        let content = arrived.without_calls();
        let head = interrupted(&session, tip, &content, &card);
        card.answer = Some(head.id);
        tip = Some(head.id);
        writes.push(Write::PutNodes { session: run.card.session, nodes: vec![Node { head, content }] });
    }
    let stays = branch.head == run.head || branch.head == card.user;
    if stays && tip != branch.head {
        writes.push(Write::MoveHead { branch: branch.id, expect: branch.head, head: tip });
    }
    if stays && run.head != run.after && tip != run.head {
        let change = Change::Head { branch: branch.id, before: run.head, after: tip };
        writes.push(setup.operation(branch.session, "kept an interrupted answer".into(), vec![change]));
    }
    writes.push(Write::CloseRun(Box::new(card)));
    store.write(writes)?;
    Ok(interruption(&branch.name, &session.card.title, arrived.is_empty()))
}

/// Says that an answer was interrupted, in at most two rows of a screen.
fn interruption(branch: &str, title: &str, is_empty: bool) -> String {
    let what = if is_empty { "no text arrived" } else { "its text is kept" };
    let title = beginning(title);
    format!(
        "An answer on {branch} (\"{title}\") was interrupted; {what}. Nothing was sent again: R regenerates, c continues."
    )
}

/// The beginning of a title, up to the end of a word if it has several.
fn beginning(title: &str) -> Cow<'_, str> {
    const MOST: usize = 18;
    let Some((end, _)) = title.char_indices().nth(MOST) else { return title.into() };
    let cut = title[..end].rsplit_once(char::is_whitespace).map_or(&title[..end], |(words, _)| words);
    format!("{}…", cut.trim_end_matches(|c: char| c.is_whitespace() || c == '\u{200d}')).into()
}

/// Whether a session in the store differs from the session in memory. Compares everything except the messages,
/// because their number and time are part of the session's card.
fn changed(sessions: &Sessions, store: &Store, id: SessionId) -> Result<bool, Failure> {
    let Some(old) = sessions.open.get(&id) else { return Ok(false) };
    let branches: Vec<Branch> =
        old.branches.iter().map(|b| Branch { state: None, offered: None, ..b.clone() }).collect();
    Ok(store.session(id)?.as_ref() != Some(&old.card)
        || store.branches(id)? != branches
        || store.runs(id)? != *old.runs
        || !store.tags(id)?.iter().eq(old.tags.values())
        || store.branch_runs(id)? != old.races
        || store.states(id)? != old.states)
}

fn still_open(store: &Store, run: &OpenRun) -> bool {
    store.open_runs().is_ok_and(|open| open.iter().any(|other| other.card.id == run.card.id))
}

fn model_key(url: &str, profile: &str) -> String {
    format!("models:{profile}:{}", address::without_secrets(url))
}

fn interrupted(session: &Session, tip: Option<NodeId>, content: &Content, card: &RunCard) -> NodeHead {
    let parent = tip.and_then(|id| session.tree.slot(id));
    let key = fresh_key(session, parent, Role::Assistant, content);
    let above = parent.map(|slot| session.tree.head(slot));
    NodeHead {
        id: NodeId(Uuid::now_v7()),
        end: End::Interrupted,
        model: Some(card.model.clone()),
        ..crate::engine::turns::live::new_head(
            session,
            parent,
            key,
            Role::Assistant,
            content,
            above.map_or(card.at, |head| head.at + 1),
            &above.map_or_else(String::new, |head| head.lane.clone()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A joined emoji is text, and a long title ends after a word.
    #[test]
    fn an_interrupted_answer_is_named_by_the_beginning_of_its_title() {
        let (family, pair) = ("\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}", "\u{1f469}\u{200d}\u{1f469}");
        let joined = family.repeat(9);
        for (title, expected) in [
            (family, family.to_owned()),
            ("Why \"not\"?", "Why \"not\"?".to_owned()),
            ("Why does the login fail after the refresh?", "Why does the…".to_owned()),
            (joined.as_str(), format!("{}{pair}…", family.repeat(3))),
        ] {
            let sentence = interruption("main", title, false);
            assert!(sentence.starts_with(&format!("An answer on main (\"{expected}\") was")), "{sentence}");
            assert!(sentence.chars().count() < 140, "{sentence}");
        }
    }
}
