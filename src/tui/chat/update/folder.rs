//! The folder's own settings file: showing its changes, and asking whether to use it.
//! Not for: the folder's MCP servers (`screens::tools::update`), or trust in the folder (`questions`).

use crate::domain::base::Hash;
use crate::domain::tool::{FolderSettings, SettingChange, SettingsFileStatus};
use crate::engine::api::{FolderAct, ToolRequest};
use crate::tui::model::pending::ProgramPending;
use crate::tui::screens::question::model::{Act, Question};
use crate::tui::screens::reader::model::Reader;
use crate::tui::update::prelude::*;

/// Requests the state of the file.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    send(model, ToolRequest::FolderSettings(FolderAct::Show), ProgramPending::FolderSettings, out);
}

/// Asks whether to use the file. The question contains every change; if they do not fit, a reader above the question
/// shows them first.
pub(crate) fn arrived(model: &mut Model, card: Option<&FolderSettings>) {
    let Some(card) = card else {
        let text = "This folder has no .pleach.toml. /config shows your own settings.";
        return model.status.say(Severity::Notice, text, model.now);
    };
    let Some(digest) = card.digest.filter(|_| card.status != SettingsFileStatus::Faulty) else {
        let text = card.notice().unwrap_or_else(|| format!("{}: {}.", card.path, card.to_text()));
        return model.status.say(Severity::Notice, text, model.now);
    };
    let lines: Vec<String> = card.changes.iter().flat_map(SettingChange::lines).collect();
    let needed: usize = lines.iter().map(|line| line.chars().count() / 60 + 1).sum();
    let mut words = vec![card.path.clone()];
    let mut reader = None;
    if needed + 12 > usize::from(model.size.1) {
        words
            .push("Read the whole file before you answer; the text that you just closed shows the changes.".to_owned());
        reader = Some(Reader::new("What this folder's settings change", lines.join("\n"), true));
    } else {
        words.extend(lines);
    }
    let used = card.status == SettingsFileStatus::Used;
    let title = match (used, card.approved_before) {
        (true, _) => "The folder's settings are in use",
        (false, true) => "Use the changes in the folder's settings?",
        (false, false) => "Use the folder's settings?",
    };
    let (close, no) =
        if used { ("keep the current choice", "stop using them") } else { ("not now", "no, until they change") };
    let mut choices = vec![('n', close.to_owned(), Act::Close)];
    if !used {
        choices.push(('y', "yes, until they change".to_owned(), Act::FolderSettings(digest, true)));
    }
    if card.status != SettingsFileStatus::Declined {
        choices.push(('x', no.to_owned(), Act::FolderSettings(digest, false)));
    }
    model.layers.push(Question::new(title, words, choices));
    model.layers.extend(reader);
}

/// Sends the decision about the file.
pub(crate) fn decide(model: &mut Model, digest: Hash, yes: bool, out: &mut Vec<Cmd>) {
    send(model, ToolRequest::FolderSettings(FolderAct::Say { digest, yes }), Pending::Act, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(status: SettingsFileStatus, lines: usize) -> FolderSettings {
        let text = vec!["a line"; lines].join("\n");
        let change = SettingChange { key: "system.replace".into(), before: None, after: Some(text) };
        FolderSettings {
            path: "/w/.pleach.toml".into(),
            status,
            digest: Some(Hash::of(b"x")),
            keys: vec!["system".into()],
            changes: vec![change],
            approved_before: false,
            trusted_unasked: false,
            fault: None,
        }
    }

    #[test]
    fn every_change_is_shown_before_approval() {
        let mut model = Model { size: (80, 30), ..Model::default() };
        arrived(&mut model, Some(&card(SettingsFileStatus::Waits, 3)));
        let Some(question) = model.layers.top::<Question>() else { panic!() };
        assert_eq!(question.words[1..], ["system.replace", "+ a line", "+ a line", "+ a line"]);
        assert_eq!(question.choices.iter().map(|(key, ..)| *key).collect::<String>(), "nyx");
        assert_eq!(question.cursor, 0, "Enter alone changes nothing");
        // If the changes do not fit, their whole text is above the question.
        arrived(&mut model, Some(&card(SettingsFileStatus::Waits, 200)));
        let Some(reader) = model.layers.top::<Reader>() else { panic!() };
        assert_eq!(reader.text.lines().count(), 201);
        assert!(model.layers.below::<Question>().is_some());

        model.layers.clear();
        arrived(&mut model, Some(&card(SettingsFileStatus::Used, 1)));
        let Some(question) = model.layers.top::<Question>() else { panic!() };
        assert_eq!(question.choices.iter().map(|(key, ..)| *key).collect::<String>(), "nx");
        model.layers.clear();
        arrived(&mut model, Some(&FolderSettings { digest: None, ..card(SettingsFileStatus::Untrusted, 0) }));
        assert!(model.layers.is_empty());
    }
}
