//! What is put right at the start: runs whose program died become interrupted answers; nothing is ever sent again by itself.
//! And what was learned before: quirks of servers, other windows' changes.
//! Not for: damaged stores (`store`).

use super::api::Event;
use super::core::Core;
use super::session::Session;
use super::snapshot::fresh_key;
use super::stream::restore;
use crate::domain::failure::Failure;
use crate::domain::ids::SessionId;
use crate::domain::message::{Content, End, Node, NodeHead, Role};
use crate::domain::model::{ModelInfo, Quirk};
use crate::domain::run::{RunCard, RunStatus};
use crate::store::types::{OpenRun, Write};
use uuid::Uuid;

impl Core {
    /// Ends the runs of dead programs.
    pub(super) fn recover(&mut self) {
        if self.store.read_only() {
            return;
        }
        let open = self.store.open_runs().unwrap_or_default();
        let dead: Vec<OpenRun> = open.into_iter().filter(|run| !self.store.owner_alive(&run.owner)).collect();
        for run in dead {
            match self.recover_run(&run) {
                Ok(sentence) => self.recovered.push(sentence),
                Err(failure) => self.recovered.push(format!("A call could not be recovered: {failure}")),
            }
        }
    }

    fn recover_run(&mut self, run: &OpenRun) -> Result<String, Failure> {
        let mut session = Session::load(&self.store, run.card.session)?;
        let arrived = restore(&self.store.chunks(run.card.id)?);
        let branch = session.branch(run.card.branch)?.clone();
        let mut writes = Vec::new();
        let mut tip = run.after;
        if let Some((head, content)) = &run.user
            && session.tree.get(head.id).is_none()
        {
            session.tree.insert(head.clone());
            tip = Some(head.id);
            writes.push(Write::PutNodes {
                session: run.card.session,
                nodes: vec![Node { head: head.clone(), content: content.clone() }],
            });
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
        writes.push(Write::CloseRun(Box::new(card)));
        self.store.write(writes)?;
        let what = if arrived.is_empty() { "nothing of it had come" } else { "what had come is kept" };
        Ok(format!(
            "An answer on {} in {:?} was interrupted when the program ended; {what}. Nothing was sent again: R asks anew, c goes on.",
            branch.name, session.card.title
        ))
    }

    /// Reads the quirks of servers that were met before.
    pub(super) fn learn_quirks(&mut self) {
        let names: Vec<String> = self.setup.profiles.keys().cloned().collect();
        for name in names {
            let known = self.store.setting(&quirk_key(&self.setup.profiles[&name].base_url, &name)).ok().flatten();
            let quirks: Vec<Quirk> = known.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
            if !quirks.is_empty() {
                self.learned.quirks.insert(name, quirks);
            }
        }
    }

    /// Remembers a quirk for a profile.
    pub(super) fn learn_quirk(&mut self, profile: &str, quirk: Quirk) {
        let quirks = self.learned.quirks.entry(profile.to_owned()).or_default();
        if !quirks.contains(&quirk) {
            quirks.push(quirk);
        }
        let value = serde_json::to_string(quirks).ok();
        let url = self.setup.profiles.get(profile).map(|p| p.base_url.clone()).unwrap_or_default();
        let _ = self.store.write(vec![Write::Setting { key: quirk_key(&url, profile), value }]);
    }

    /// Takes what a server told of its models.
    pub(super) fn learn_models(&mut self, models: Vec<(String, ModelInfo)>) {
        for (profile, model) in models {
            let key = format!("model:{profile}:{}", model.name);
            let _ = self.store.write(vec![Write::Setting { key, value: serde_json::to_string(&model).ok() }]);
            self.learned.models.insert((profile, model.name.clone()), model);
        }
        let branches: Vec<_> = self.sessions.values().flat_map(|s| s.branches.clone()).collect();
        for branch in branches {
            self.touched(branch.id);
            self.show_settings(&branch);
        }
    }

    /// Looks whether another window wrote, and takes over what it did.
    pub(super) fn look(&mut self) {
        let Ok(version) = self.store.data_version() else { return };
        if version == self.data_version {
            return;
        }
        self.data_version = version;
        let ids: Vec<SessionId> = self.sessions.keys().copied().collect();
        for id in ids {
            let _ = self.reload(id);
        }
    }

    fn reload(&mut self, id: SessionId) -> Result<(), Failure> {
        let fresh = Session::load(&self.store, id)?;
        let Some(old) = self.sessions.get_mut(&id) else { return Ok(()) };
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
        let card_changed = old.card != fresh.card;
        let (current, missing) = (old.current, std::mem::take(&mut old.state_missing));
        *old = Session { current, state_missing: missing, ..fresh };
        let card = old.card.clone();
        self.show_nodes(id, news);
        for run in runs {
            self.say(Event::Run(Box::new(run)));
        }
        for branch in changed {
            self.show_branch(branch);
        }
        if card_changed {
            self.say(Event::Card(card));
        }
        Ok(())
    }
}

fn quirk_key(url: &str, profile: &str) -> String {
    format!("quirks:{profile}:{url}")
}

fn interrupted(
    session: &Session,
    tip: Option<crate::domain::ids::NodeId>,
    content: &Content,
    card: &RunCard,
) -> NodeHead {
    let parent = tip.and_then(|id| session.tree.slot(id));
    let key = fresh_key(session, parent, Role::Assistant, content);
    let above = parent.map(|slot| session.tree.head(slot));
    NodeHead {
        id: crate::domain::ids::NodeId(Uuid::now_v7()),
        end: End::Interrupted,
        model: Some(card.model.clone()),
        ..super::live::new_head(
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
