//! Requests about the workspace's rules and skills: list them, exclude a file from a branch's calls, write one, load a
//! skill into a message.
//! Not for: finding and reading them (`workspace`, `skills`), or plans (`plans::sources::rules`).

use super::skills;
use super::workspace::{AROUND, NAMES, Project, RulesFile, RulesText};
use crate::domain::base::{BranchId, Failure, FailureKind, Hash};
use crate::domain::call::tokens::grouped;
use crate::domain::call::{CountTokens, Encoding};
use crate::domain::code::{ProjectItem, ProjectKind, ProjectList, RuleState};
use crate::domain::conversation::{Atom, Change, Mark, MarkKind};
use crate::domain::planning::Reason;
use crate::domain::planning::{ContextPlan, Row, Verdict};
use crate::domain::summary::{Editability, Editable, EditableKind, Version};
use crate::domain::tool::{FileVisibility, RunTools};
use crate::engine::api::{Act, Answer, EditableAnswer, ItemName, ProjectAct, Ticket, ToolAnswer};
use crate::engine::core::Core;
use crate::engine::plans::sources::rules;
use crate::engine::plans::state::Plans;
use crate::engine::summaries::module_cards;
use crate::engine::tools::state::Tools;
use crate::engine::turns::state::Turns;
use crate::store::Store;
use crate::store::types::Write;
use std::sync::Arc;

/// The maximum number of workspace files that are searched for rules.
const MOST: usize = 50_000;
/// The maximum number of folders whose rules are listed.
const LISTED: usize = 300;
/// The name that identifies the list of skills.
const SKILL_LIST: &str = "skills";

/// Returns the act that includes or excludes rules; if `on` is `None`, the opposite of the current state. `off` rules
/// are switched off in the settings; `nested` rules are sent only if a message concerns a path near them. The error
/// says why nothing changes.
fn switch(
    on: Option<bool>,
    mark: Option<MarkKind>,
    (off, nested): (bool, bool),
    once: bool,
) -> Result<Act, &'static str> {
    let out = mark.is_some_and(MarkKind::excludes);
    let on = on.unwrap_or(out || (off && mark.is_none()));
    match (on, out, off) {
        (true, true, _) => Ok(Act::Clear),
        (true, false, true) => Ok(Act::Set { kind: MarkKind::IncludeOnce, toggle: false }),
        (true, false, false) if nested => Err("is not excluded; it is sent once a file near it is named or touched"),
        (true, false, false) => Err("is not excluded"),
        (false, true, _) => Err("is already excluded"),
        (false, false, true) if mark.is_some() => Ok(Act::Clear),
        (false, false, _) if once => Ok(Act::Set { kind: MarkKind::ExcludeOnce, toggle: false }),
        (false, false, _) => Ok(Act::Set { kind: MarkKind::Exclude, toggle: false }),
    }
}

/// The input of the list, so that it can be made on another thread.
struct ListInput {
    denied: FileVisibility,
    project: Arc<Project>,
    tools: Option<Arc<dyn RunTools>>,
    marks: Vec<Mark>,
    plan: Option<Arc<ContextPlan>>,
    counter: Arc<dyn CountTokens>,
    encoding: Encoding,
}

impl Core {
    /// Handles a request about the project. The list is made on a separate thread.
    pub(crate) fn project_act(&mut self, ticket: Ticket, act: ProjectAct) -> Result<(), Failure> {
        let result = match act {
            ProjectAct::List { branch } => {
                return self.answer_in_background(ticket, branch, |input| {
                    Answer::Tool(ToolAnswer::Project(Box::new(input.list())))
                });
            }
            ProjectAct::Module(act) => return self.module_act(ticket, act),
            ProjectAct::Set { branch, path, on, once } => self.set_item(branch, &path, on, once),
            ProjectAct::Save { branch, path, text, expected } => self.save_rules(branch, &path, &text, expected),
        };
        self.answer_now(ticket, result)
    }

    fn answer_in_background(
        &self,
        ticket: Ticket,
        branch: BranchId,
        make: impl FnOnce(&ListInput) -> Answer + Send + 'static,
    ) -> Result<(), Failure> {
        let branch = self.sessions.branch(branch)?;
        let input = ListInput {
            denied: self.denied(),
            project: self.tools.project.clone(),
            tools: self.setup.settings.tools.clone().filter(|_| self.tools.trusted),
            marks: branch.marks.clone(),
            plan: self.plans.drawn.get(&branch.id).map(|drawn| drawn.solved.plan.clone()),
            counter: self.setup.counter.clone(),
            encoding: self.rules(&branch)?.model.encoding,
        };
        self.jobs.answer("project", ticket, move |_| Ok(make(&input)));
        Ok(())
    }

    /// Lists rules or skills as editable texts.
    pub(crate) fn list_project_texts(
        &self,
        ticket: Ticket,
        branch: BranchId,
        kind: EditableKind,
    ) -> Result<(), Failure> {
        self.answer_in_background(ticket, branch, move |input| {
            let wanted = if kind == EditableKind::Rules { ProjectKind::Rules } else { ProjectKind::Skill };
            let items = input.list().items.into_iter().filter(|item| item.kind == wanted);
            Answer::Editable(EditableAnswer::Editables(kind, items.map(|item| editable(kind, item)).collect()))
        })
    }

    fn set_item(&mut self, id: BranchId, path: &str, on: Option<bool>, once: bool) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let (atom, off, nested) = if path == SKILL_LIST {
            (skills::atom(), false, false)
        } else {
            let rules_file = self.tools.rules_file(path)?;
            (rules_file.atom, rules_file.off, rules_file.nested)
        };
        let mark = branch.marks.iter().find(|mark| mark.target == atom).map(|mark| mark.kind);
        match switch(on, mark, (off, nested), once) {
            Ok(act) => self.mark(id, &[ItemName::Atom(atom)], act),
            Err(why) => Ok(Answer::Done(format!("{path} {why}."))),
        }
    }

    /// Writes a rules file in the same way as the tools do, so that undo reverts it.
    fn save_rules(&mut self, id: BranchId, path: &str, text: &str, expected: Option<Hash>) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let kept = |failure: Failure| failure.kept("Nothing was written; your text is kept.");
        if !is_rules(path) {
            return Err(kept(Failure::user(format!("{path} is not a valid name for a rules file."))));
        }
        let text = if text.ends_with('\n') || text.is_empty() { text.to_owned() } else { format!("{text}\n") };
        let tools = self.setup.settings.tools.clone().filter(|_| self.tools.trusted);
        let tools =
            tools.ok_or_else(|| kept(Failure::user("Files are written only in a trusted folder, with tools on.")))?;
        let denied = self.denied();
        let before =
            expected.map(|_| tools.text(path, 2 << 20, &denied)).transpose().map_err(|why| kept(Failure::user(why)))?;
        if before.as_ref().map(|text| Hash::of(text.as_bytes())) != expected {
            let why = format!("{path} was changed by another program in the meantime.");
            return Err(kept(Failure::new(FailureKind::Stale, why).todo("Leave the editor and open the file again.")));
        }
        // The failure itself says that nothing was written.
        tools.put_back(path, expected, Some(&text)).map_err(|why| Failure::user(why).kept("Your text is kept."))?;
        let change = Change::File { path: path.to_owned(), before: expected, after: Some(Hash::of(text.as_bytes())) };
        let texts = before.into_iter().map(Into::into).chain([text.as_str().into()]);
        let mut writes: Vec<Write> = texts.map(|text| Write::PutFileText { session: branch.session, text }).collect();
        writes.push(self.setup.operation(branch.session, format!("wrote {path}"), vec![change]));
        self.store.write(writes)?;
        project_changed(&mut self.plans, &mut self.turns);
        Ok(Answer::Done(format!("Wrote {path}; u undoes it.")))
    }
}

/// Returns the text of an item of the project that is left out.
pub(crate) fn project_text(store: &Store, tools: &Tools, atom: &Atom, path: Option<&str>) -> Option<String> {
    if *atom == skills::atom() {
        return Some(skills::listed(&tools.project.skills()));
    }
    let modules = module_cards::current(store, &tools.project).unwrap_or_default();
    if let Some((_, card, stale)) = modules.into_iter().find(|(of, ..)| of == atom) {
        return Some(module_cards::sent(&card, Some(&stale)));
    }
    let rules_file = tools.rules_file(path?).ok().filter(|rules_file| rules_file.atom == *atom)?;
    rules_file.found.ok().map(|text| text.sent.to_string())
}

/// Requests a new plan for the screen after the project's rules or skills changed. Drawn plans stay valid for
/// sending. During a turn nothing happens, because its end makes a new plan.
pub(crate) fn project_changed(plans: &mut Plans, turns: &mut Turns) {
    let here = plans.on_screen.as_ref().map(|screen| screen.branch);
    if here.is_some_and(|branch| !turns.live.contains_key(&branch)) {
        plans.outdate();
    }
}

impl Tools {
    fn rules_file(&self, path: &str) -> Result<RulesFile, Failure> {
        let found = self.project.rules_files(&[path.to_owned()], AROUND).list;
        let found = found.into_iter().find(|rules_file| rules_file.path == path);
        let gone =
            || Failure::user(format!("There are no rules in {path:?}.")).todo("`pleach project` lists the rules.");
        found.ok_or_else(gone)
    }

    /// Returns the skills whose names match the typed text, with or without the prefix `skill:`.
    pub(crate) fn skill_names(&self, query: &str) -> Vec<String> {
        let query = query.strip_prefix(skills::PREFIX).unwrap_or(query).to_lowercase();
        let begins = skills::PREFIX.starts_with(&query);
        let all = self.project.skills();
        let fits = all.iter().filter(|skill| begins || skill.name.to_lowercase().contains(&query));
        fits.map(|skill| format!("{}{}", skills::PREFIX, skill.name)).take(20).collect()
    }

    /// Reads a skill's text for a message.
    pub(crate) fn skill_text(&self, name: &str) -> Result<Answer, Failure> {
        let skills = self.project.skills();
        let found = skills.iter().find(|skill| skill.name == name);
        let found = found
            .ok_or_else(|| Failure::user(format!("There is no skill {name:?}.")).todo("/skills lists the skills."))?;
        let (text, masked) = found.text().map_err(Failure::user)?;
        Ok(ToolAnswer::Attached { text: text.into(), masked }.into())
    }
}

/// Whether a path ends in the name of a rules file.
fn is_rules(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| NAMES.contains(&name))
}

impl ListInput {
    fn list(&self) -> ProjectList {
        let (_, trusted) = self.project.settings();
        let names = self.tools.as_ref().map(|tools| tools.files(MOST, &self.denied).0).unwrap_or_default();
        let near: Vec<String> = names.into_iter().filter(|name| is_rules(name)).collect();
        let rules_files = self.project.rules_files(&near, LISTED).list;
        let mut items: Vec<ProjectItem> = rules_files.iter().map(|rules_file| self.rules(rules_file)).collect();
        items.extend(self.untrusted());
        let listed = self.marks.iter().find(|mark| mark.target == skills::atom() && mark.kind.excludes());
        let stands =
            listed.map_or(RuleState::Waits, |mark| RuleState::Excluded { once: mark.kind == MarkKind::ExcludeOnce });
        items.extend(self.project.skills().iter().map(|skill| {
            let (text, notes) = match skill.text() {
                Ok((text, masked)) => (text, (masked > 0).then(|| format!("{masked} masked")).into_iter().collect()),
                Err(why) => (String::new(), vec![why]),
            };
            ProjectItem {
                kind: ProjectKind::Skill,
                atom: Some(skills::atom()),
                path: skill.path.clone(),
                title: skill.name.clone(),
                about: skill.about.clone(),
                state: stands.clone(),
                tokens: self.counter.count(self.encoding, &text),
                bytes: skill.bytes(),
                left: 0,
                notes,
                hash: Hash::of(text.as_bytes()),
                text: text.into(),
                writable: false,
            }
        }));
        let root = self.project.top().map(|top| top.path.display().to_string()).unwrap_or_default();
        ProjectList { root, trusted, items }
    }

    fn rules(&self, rules_file: &RulesFile) -> ProjectItem {
        let none = Arc::new(RulesText::default());
        let text = rules_file.found.as_ref().unwrap_or(&none);
        let whole = text.left == 0 && rules_file.found.is_ok();
        let tokens = |text: &Arc<RulesText>| self.counter.count(self.encoding, &rules::sent(rules_file, text));
        ProjectItem {
            kind: ProjectKind::Rules,
            atom: Some(rules_file.atom),
            path: rules_file.path.clone(),
            title: rules_file.path.clone(),
            about: if rules_file.own { "all your projects".into() } else { rules_file.folder.clone() },
            state: self.stands(rules_file),
            tokens: rules_file.found.as_ref().map_or(0, tokens),
            bytes: text.bytes,
            left: text.left,
            notes: text.notes.clone(),
            hash: Hash::of(text.raw.as_bytes()),
            text: text.raw.clone(),
            writable: whole && !rules_file.own && !rules_file.path.starts_with("../") && self.tools.is_some(),
        }
    }

    fn stands(&self, rules_file: &RulesFile) -> RuleState {
        if let Err(why) = &rules_file.found {
            return RuleState::Unread { why: why.clone() };
        }
        let row = self.plan.as_ref().and_then(|plan| plan.rows.iter().find(|row| row.atom == rules_file.atom));
        let mark = self.marks.iter().find(|mark| mark.target == rules_file.atom).map(|mark| mark.kind);
        let lacks_room =
            |row: &Row| matches!((&row.verdict, &row.reason), (Verdict::Out { .. }, Reason::Budget { .. }));
        match mark {
            Some(MarkKind::Exclude) => RuleState::Excluded { once: false },
            Some(MarkKind::ExcludeOnce) => RuleState::Excluded { once: true },
            _ if row.is_some_and(Row::included) => RuleState::Goes,
            _ if row.is_some_and(lacks_room) => RuleState::NoRoom,
            Some(MarkKind::IncludeOnce) => RuleState::Goes,
            _ if rules_file.off => RuleState::Off,
            _ if rules_file.nested => RuleState::Waits,
            _ => RuleState::Goes,
        }
    }

    /// Returns the names of the rules files in a folder that is not trusted, without their text.
    fn untrusted(&self) -> Vec<ProjectItem> {
        let (set, trusted) = self.project.settings();
        if trusted || !set.rules {
            return Vec::new();
        }
        let named = self.project.untrusted();
        let item = |path: String| ProjectItem {
            kind: ProjectKind::Rules,
            atom: None,
            title: path.clone(),
            path,
            about: String::new(),
            state: RuleState::Untrusted,
            tokens: 0,
            bytes: 0,
            left: 0,
            notes: Vec::new(),
            text: Arc::from(""),
            writable: false,
            hash: Hash::default(),
        };
        named.into_iter().map(item).collect()
    }
}

/// Converts an item to an editable text.
fn editable(kind: EditableKind, item: ProjectItem) -> Editable {
    let mut note = Vec::new();
    if kind == EditableKind::Rules {
        note.extend([item.state.short().to_owned(), item.state.to_text()]);
        note.dedup();
        if !item.about.is_empty() {
            note.push(format!("for {}", item.about));
        }
    } else {
        note.extend(Some(item.about.clone()).filter(|about| !about.is_empty()));
        note.push(item.path.clone());
    }
    note.push(format!("{} tokens (estimated)", grouped(u64::from(item.tokens))));
    note.extend(item.notes.iter().cloned());
    let editing = match kind {
        EditableKind::Rules if item.writable => Editability::Here,
        EditableKind::Rules if item.left > 0 => {
            Editability::Not("The file is too large for this editor; edit it elsewhere.")
        }
        EditableKind::Rules if item.state == RuleState::Untrusted => {
            Editability::Not("This folder is not trusted; /trust changes that.")
        }
        EditableKind::Rules => Editability::Not("The file is outside this folder; edit it there."),
        _ => Editability::Not("Edit a skill in its file; a adds it to the message."),
    };
    let version = Version { what: "current version".into(), at: None, text: item.text, current: true, from: None };
    Editable {
        kind,
        id: if kind == EditableKind::Rules { item.path } else { item.title.clone() },
        title: item.title,
        note: note.join("; "),
        source: None,
        editing,
        in_use: item.state.is_sent() || (kind == EditableKind::Skills && item.state == RuleState::Waits),
        versions: if item.state == RuleState::Untrusted { Vec::new() } else { vec![version] },
    }
}

/// Checks whether a mark makes sense for an item of the project: rules are sent if there is room, so a pin changes
/// nothing.
pub(crate) fn markable(kind: MarkKind) -> Result<(), Failure> {
    if matches!(kind, MarkKind::Sticky | MarkKind::Leased { .. }) {
        return Err(Failure::user(
            "Pins and leases do not apply to rules: a request includes rules as far as the budget allows.",
        )
        .todo("x leaves rules out until you include them again; a larger budget makes room."));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_key_includes_and_excludes_rules() {
        let goes = |mark: Option<MarkKind>, off: bool| mark.map_or(!off, |kind| !kind.excludes());
        let marks = [
            None,
            Some(MarkKind::Sticky),
            Some(MarkKind::IncludeOnce),
            Some(MarkKind::Exclude),
            Some(MarkKind::ExcludeOnce),
        ];
        for (mark, bits) in marks.into_iter().flat_map(|mark| (0..8).map(move |bits| (mark, bits))) {
            let [off, nested, once] = [1, 2, 4].map(|bit| bits & bit != 0);
            let (now, given) = (goes(mark, off), |on| switch(on, mark, (off, nested), once));
            let about = format!("{mark:?} off {off} nested {nested} once {once}");
            assert_eq!(given(None), given(Some(!now)), "{about}");
            let after = match given(None) {
                Ok(Act::Set { kind, toggle: false }) => Some(kind),
                Ok(Act::Clear) => None,
                other => panic!("{about}: {other:?}"),
            };
            // An exclusion of rules that the settings switch off is removed first; then the rules can be included.
            let (cleared, excluded) = (off && !now && mark.is_some(), after.is_some_and(MarkKind::excludes));
            assert!(goes(after, off) != now || cleared, "{about}: {after:?}");
            assert_eq!(excluded && once, after == Some(MarkKind::ExcludeOnce), "{about}");
            if !off {
                assert!(given(Some(now)).is_err(), "{about}");
            }
        }
        let near = switch(Some(true), None, (false, true), false).unwrap_err();
        assert!(near.contains("near it") && switch(Some(true), None, (false, false), false) == Err("is not excluded"));
    }

    #[test]
    fn only_completely_read_rules_of_this_folder_are_editable() {
        let edits = |kind, writable, left, stands| {
            let (path, title, about, text) =
                ("AGENTS.md".to_owned(), "AGENTS.md".to_owned(), String::new(), "x".into());
            let (atom, notes, hash, of) = (None, Vec::new(), Hash::default(), ProjectKind::Rules);
            let item = ProjectItem {
                kind: of,
                atom,
                path,
                title,
                about,
                state: stands,
                tokens: 1,
                bytes: 1,
                left,
                notes,
                text,
                writable,
                hash,
            };
            editable(kind, item).editing
        };
        let not = |editing, word: &str| matches!(editing, Editability::Not(why) if why.contains(word));
        assert_eq!(edits(EditableKind::Rules, true, 0, RuleState::Goes), Editability::Here);
        assert!(not(edits(EditableKind::Rules, false, 0, RuleState::Goes), "outside"));
        assert!(not(edits(EditableKind::Rules, false, 9, RuleState::Goes), "too large"));
        assert!(not(edits(EditableKind::Rules, false, 0, RuleState::Untrusted), "not trusted"));
        assert!(not(edits(EditableKind::Skills, true, 0, RuleState::Goes), "skill"));
    }
}
