//! Quirks that a server's refusals revealed: stored per model, listed, and forgotten on request.
//! Not for: reading a refusal (`llm::fault`), or the effect of a quirk ([`Quirk::apply`]).

use crate::domain::base::{Failure, FailureKind, Hash};
use crate::domain::call::{Profile, Quirk};
use crate::engine::api::{Answer, Finding};
use crate::engine::core::{Core, stored_value};
use crate::engine::startup::learned::LearnedSettings;
use crate::engine::turns::state::{LiveTurn, RefusedRequest};
use crate::store::Store;
use crate::store::types::Write;
use std::collections::{BTreeMap, HashMap};

/// The stored quirks of a profile's models. Lists without models, as earlier versions wrote, are ignored: their model
/// is unknown, and one refusal teaches a quirk again.
type Stored = BTreeMap<String, Vec<Quirk>>;

impl Core {
    /// Reads the quirks that this and other windows learned. Returns whether they changed.
    pub(crate) fn load_quirks(&mut self) -> bool {
        let mut all = HashMap::new();
        for profile in self.setup.settings.profiles.values() {
            let stored = stored_quirks(&self.store, profile);
            all.extend(stored.into_iter().map(|(model, quirks)| ((profile.name.clone(), model), quirks)));
        }
        let changed = self.learned.quirks != all;
        self.learned.quirks = all;
        changed
    }

    /// Changes the stored quirks of a profile, based on the current quirks in the store, and updates the quirks in
    /// memory.
    fn change_quirks(&mut self, profile: &str, change: &mut dyn FnMut(&mut Stored)) -> Result<(), Failure> {
        let Some(profile) = self.setup.settings.profiles.get(profile).cloned() else { return Ok(()) };
        let mut stored = stored_quirks(&self.store, &profile);
        change(&mut stored);
        stored.retain(|_, quirks| !quirks.is_empty());
        let value = (!stored.is_empty()).then(|| serde_json::to_string(&stored).ok()).flatten();
        let written = self.store.write(vec![Write::SetValue { key: quirk_key(&profile), value }]);
        self.learned.quirks.retain(|(of, _), _| *of != profile.name);
        let here = stored.into_iter().map(|(model, quirks)| ((profile.name.clone(), model), quirks));
        self.learned.quirks.extend(here);
        self.outdate_all_plans();
        Ok(written?)
    }

    /// Stores a quirk of a model. If the store cannot be written, the quirk applies until the program ends.
    pub(crate) fn learn_quirk(&mut self, profile: &str, model: &str, quirk: Quirk) {
        let _ = self.change_quirks(profile, &mut |stored| {
            let quirks = stored.entry(model.to_owned()).or_default();
            if !quirks.contains(&quirk) {
                quirks.push(quirk);
            }
        });
    }

    fn unlearn_quirk(&mut self, profile: &str, model: &str, quirk: Quirk) {
        let _ = self.change_quirks(profile, &mut |stored| {
            stored.entry(model.to_owned()).or_default().retain(|known| *known != quirk);
        });
    }

    /// Handles a refusal that asks for another form of a turn's request: learns the quirk. Fails if no other form can
    /// be tried.
    pub(crate) fn handle_refusal(&mut self, live: &mut LiveTurn, quirk: Quirk) -> Result<(), Failure> {
        let refused = live.failure.take();
        if live.solved.edited {
            let wants = format!("The server expects a different request format ({}).", quirk.sentence());
            return Err(Failure::new(FailureKind::Provider, wants)
                .kept("Your edited request was sent once, unchanged.")
                .todo("Edit the request again, or send the planned request."));
        }
        let what = "The server rejects the request in every format that pleach knows.";
        let failure = refused.unwrap_or_else(|| Failure::new(FailureKind::Provider, what));
        let of = (live.card.profile.clone(), live.card.model.clone());
        if self.learned.quirks.get(&of).is_some_and(|quirks| quirks.contains(&quirk)) {
            return Err(failure);
        }
        self.learn_quirk(&of.0, &of.1, quirk);
        live.refused = Some(RefusedRequest { digest: live.card.request_digest, quirk, failure });
        Ok(())
    }

    /// Checks the request in its new form. If it equals the refused one byte for byte, nothing is sent and the quirk is
    /// removed again.
    pub(crate) fn check_new_form(&mut self, live: &mut LiveTurn, digest: Hash) -> Result<(), Failure> {
        let Some(refused) = live.refused.take() else { return Ok(()) };
        let (profile, model) = (live.card.profile.clone(), live.card.model.clone());
        if digest == refused.digest {
            self.unlearn_quirk(&profile, &model, refused.quirk);
            let todo =
                "The format that the server seems to expect gives the same bytes, so the request was not sent again.";
            return Err(refused.failure.todo(todo));
        }
        let wants = refused.quirk.sentence();
        self.notify(format!(
            "The server of {profile} expects a different request format for {model} ({wants}); sending again. \
            `pleach doctor` lists the learned quirks."
        ));
        Ok(())
    }

    /// Forgets quirks: all, or only the quirks of a profile or model, or a single one.
    pub(crate) fn forget_quirks(
        &mut self,
        (profile, model): (Option<&str>, Option<&str>),
        quirk: Option<Quirk>,
    ) -> Result<Answer, Failure> {
        self.load_quirks();
        let meant = |of: &(String, String)| {
            profile.is_none_or(|profile| profile == of.0) && model.is_none_or(|model| model == of.1)
        };
        let is_meant = |known: Quirk| quirk.is_none_or(|quirk| quirk == known);
        let hit = self.learned.quirks.iter().filter(|(of, _)| meant(of));
        let hit: Vec<(String, String, Vec<Quirk>)> = hit
            .map(|((p, m), known)| (p.clone(), m.clone(), known.iter().copied().filter(|k| is_meant(*k)).collect()))
            .filter(|(.., removed): &(_, _, Vec<Quirk>)| !removed.is_empty())
            .collect();
        if hit.is_empty() {
            return Err(Failure::user("No such quirk is stored.")
                .kept("Nothing was changed.")
                .todo(known(&self.learned)));
        }
        let mut forgotten = Vec::new();
        for (profile, model, removed) in hit {
            self.change_quirks(&profile, &mut |stored| {
                if let Some(quirks) = stored.get_mut(&model) {
                    quirks.retain(|quirk| !removed.contains(quirk));
                }
            })?;
            let names: Vec<&str> = removed.iter().map(|quirk| quirk.name()).collect();
            forgotten.push(format!("{profile}/{model}: {}", names.join(", ")));
        }
        forgotten.sort();
        Ok(Answer::Done(format!("Forgot {}. The next request uses the usual format.", forgotten.join("; "))))
    }
}

fn stored_quirks(store: &Store, profile: &Profile) -> Stored {
    stored_value(store, &quirk_key(profile)).unwrap_or_default()
}

impl LearnedSettings {
    /// Returns the learned quirks as findings for the checks of `doctor`.
    pub(crate) fn quirk_findings(&self) -> Vec<Finding> {
        let mut all: Vec<_> = self.quirks.iter().collect();
        all.sort_by_key(|(of, _)| *of);
        let finding = |((profile, model), quirks): (&(String, String), &Vec<Quirk>)| {
            let names: Vec<&str> = quirks.iter().map(|quirk| quirk.name()).collect();
            let text: Vec<String> =
                quirks.iter().map(|quirk| format!("{}: {}", quirk.name(), quirk.sentence())).collect();
            let first = names.first().copied().unwrap_or_default();
            let text = format!("learned from refusals: {}", text.join("; "));
            let todo = format!(
                "If this is no longer true, run `pleach doctor --forget {first} --profile {profile} --model {model}`."
            );
            let facts = vec![("profile", profile.clone()), ("model", model.clone()), ("quirks", names.join(","))];
            Finding { facts, ..Finding::new(&format!("quirks {profile}/{model}"), None, text, &todo) }
        };
        all.into_iter().map(finding).collect()
    }
}

fn known(learned: &LearnedSettings) -> String {
    let all = learned.quirks.iter().flat_map(|((profile, model), quirks)| {
        quirks.iter().map(move |quirk| format!("{} of {profile}/{model}", quirk.name()))
    });
    let mut all: Vec<String> = all.collect();
    all.sort();
    if all.is_empty() { "No quirks are stored.".into() } else { format!("Learned quirks: {}.", all.join(", ")) }
}

fn quirk_key(profile: &Profile) -> String {
    format!("quirks:{}:{}", profile.name, profile.base_url)
}
