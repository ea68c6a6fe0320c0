//! `compress` and `summary`: drafts, accepts, lists, and undoes summaries.
//! Not for: making summaries (`engine`), or usage (`stats`).

use super::drafts;
use crate::cli::Run;
use crate::cli::client::{expect_answer, unexpected};
use crate::cli::output::{column, number};
use crate::cli::stop::Stop;
use crate::config::commands::calls::{Compress, SummariesCommand};
use crate::domain::base::{BranchId, Failure};
use crate::domain::call::tokens::counted;
use crate::domain::conversation::Branch;
use crate::domain::summary::draft::{SALIENT, no_draft};
use crate::domain::summary::turns_in_words;
use crate::domain::summary::{
    AutoSummaryAcceptance, AutoSummaryOverride, AutoSummarySettings, AutoSummaryTrigger, MissingFact, Summary,
    SummaryAuthor, SummaryCard, SummaryDraft, SummaryKind,
};
use crate::engine::api::{Answer, Request, SummaryAct, SummaryAnswer};
use serde_json::{Value, json};
use std::sync::Arc;

/// The maximum number of dropped items in the text output; the JSON has all of them.
const MAX_PRINTED: usize = 40;

pub(crate) fn compress(run: &mut Run<'_, '_>, args: &Compress) -> Result<(), Stop> {
    let view = run.open(false)?;
    let branch = view.current;
    let by = if args.by_model { SummaryAuthor::Model } else { SummaryAuthor::Extractive };
    let kind = if args.whole_session { SummaryKind::Session } else { SummaryKind::Lane };
    let mut draft = request_draft(run, branch, SummaryAct::Draft { kind, up_to: args.up_to, by })?;
    draft = drafts::keep(run, branch, draft, &args.keep)?;
    let accepted = if args.accept { Some(drafts::accept_draft(run, &view, &draft)?) } else { None };
    if run.io.json {
        let drafted = || draft_shape(&draft, false);
        return run.io.value(&accepted.map_or_else(drafted, |accepted| accepted.shape(&draft)));
    }
    print_draft(run, &draft);
    run.io.say("");
    let unchanged = "Nothing changed. --keep ITEM… keeps dropped items verbatim; --accept uses the summary.";
    run.io.say(&accepted.map_or_else(|| unchanged.to_owned(), |accepted| accepted.describe(&draft)));
    Ok(())
}

pub(super) fn request_draft(
    run: &mut Run<'_, '_>,
    branch: BranchId,
    act: SummaryAct,
) -> Result<Arc<SummaryDraft>, Stop> {
    let stop = Request::Summary { branch, act: SummaryAct::Stop };
    match run.client.stoppable(Request::Summary { branch, act }, stop, &mut run.io)? {
        Answer::Summary(SummaryAnswer::Draft(Some(draft))) => Ok(draft),
        Answer::Summary(SummaryAnswer::Draft(None)) => Err(no_draft().into()),
        other => Err(unexpected(&other)),
    }
}

/// Returns the indexes of dropped items, which are named by their number in the list or by their text.
pub(super) fn indexes(draft: &SummaryDraft, items: &[String]) -> Result<Vec<usize>, Stop> {
    let place = |item: &String| {
        let numbered = item.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|n| *n < draft.dropped.len());
        let named = || draft.dropped.iter().position(|dropped| dropped.text == *item);
        let none = || {
            Failure::user(format!("No dropped item {item:?}."))
                .todo("Name an item by its number in the list or by its text, or use `all`.")
        };
        numbered.or_else(named).ok_or_else(|| none().into())
    };
    items.iter().map(place).collect()
}

pub(super) fn print_draft(run: &mut Run<'_, '_>, draft: &SummaryDraft) {
    let summary = &draft.summary;
    run.io.quote(summary.text.as_deref().unwrap_or_default());
    run.io.say(&format!(
        "\n{} → {} tokens, {}; {} of {} checked facts covered",
        number(summary.original_tokens),
        number(summary.tokens),
        ratio(summary.ratio_milli()),
        u64::from(draft.checked).saturating_sub(draft.dropped.len() as u64),
        draft.checked
    ));
    let all = draft.dropped.len();
    let salient = draft.dropped.iter().take_while(|item| item.weight >= SALIENT).count();
    let printed = if salient > 0 { salient } else { all }.min(MAX_PRINTED);
    match (all, salient) {
        (0, _) => {}
        (_, 0) => run.io.say(&format!("\nDropped: {}, none of them important:", counted(all as u64, "fact"))),
        (_, _) => run.io.say(&format!("\nDropped: {} of {all} in total:", counted(salient as u64, "important fact"))),
    }
    for (place, item) in draft.dropped.iter().enumerate().take(printed) {
        run.io.say(&format!(
            "{:>4}  {} {}  turn {}, {}: {}",
            place + 1,
            column(item.kind.name(), 10),
            column(&item.text, 32),
            item.turn,
            item.role.name(),
            column(&item.sentence, 72).trim_end()
        ));
    }
    if printed < all {
        run.io.say(&format!("      and {} more; --json lists all", all - printed));
    }
    for (turn, why) in &draft.stays {
        let why = json!(why);
        run.io.say(&format!("turn {turn} is not summarized ({})", why.as_str().unwrap_or_default()));
    }
    for warning in &draft.warnings {
        run.io.note(warning);
    }
}

/// Formats a ratio, for example `4.2x`.
pub(crate) fn ratio(milli: u32) -> String {
    format!("{}.{}x", milli / 1_000, milli % 1_000 / 100)
}

fn summary_shape(summary: &Summary) -> Value {
    json!({
        "id": summary.id,
        "kind": summary.kind,
        "level": summary.kind.level(),
        "lane": summary.lane,
        "source": summary.source,
        "model": summary.model,
        "prompt_version": summary.prompt_version,
        "confidence": f64::from(summary.confidence) / 1_000.0,
        "generated_at": summary.generated_at,
        "from_turn": summary.turns.0,
        "to_turn": summary.turns.1,
        "covered_turns": summary.covers.len(),
        "source_hash": summary.source_hash,
        "parent_capsule": summary.parent,
        "original_tokens": summary.original_tokens,
        "tokens": summary.tokens,
        "ratio": f64::from(summary.ratio_milli()) / 1_000.0,
        "kept": summary.kept,
        "text": summary.text,
    })
}

pub(super) fn draft_shape(draft: &SummaryDraft, accepted: bool) -> Value {
    let item = |(place, item): (usize, &MissingFact)| {
        json!({
            "item": place + 1,
            "kind": item.kind,
            "text": item.text,
            "sentence": item.sentence,
            "turn": item.turn,
            "message": item.node,
            "role": item.role,
            "times": item.times,
            "weight": item.weight,
            "salient": item.weight >= SALIENT,
        })
    };
    let shape = summary_shape(&draft.summary);
    json!({
        "accepted": accepted,
        "original_tokens": draft.summary.original_tokens,
        "compressed_tokens": draft.summary.tokens,
        "ratio": f64::from(draft.summary.ratio_milli()) / 1_000.0,
        "checked": draft.checked,
        "dropped": draft.dropped.iter().enumerate().map(item).collect::<Vec<_>>(),
        "stays": draft.stays.iter().map(|(turn, why)| json!({ "turn": turn, "why": why })).collect::<Vec<_>>(),
        "masked": draft.masked,
        "run": draft.run,
        "cause": draft.cause,
        "warnings": draft.warnings,
        "summary": shape,
        "capsule": shape,
    })
}

/// `summaries` without a value: whether the branch's summaries are automatic, and the list of its summaries.
pub(crate) fn overview(run: &mut Run<'_, '_>, branch: &Branch) -> Result<(), Stop> {
    let cards = cards(run, branch.id)?;
    let draft = drafts::waiting(run, branch.id)?;
    let (own, settings) = (branch.overrides.auto_summaries, &run.config.settings);
    let name = run.config.overrides.policy.as_ref().or(branch.overrides.policy.as_ref()).unwrap_or(&settings.policy);
    let policy = run.config.policies.get(name).map(|policy| policy.auto_summaries).unwrap_or_default();
    let used = policy.under(own.or(settings.summaries.over_policy()));
    if run.io.json {
        let chosen = own.map_or(settings.summaries.name(), AutoSummaryOverride::name);
        return run.io.value(&json!({
            "summaries": chosen,
            "from": if own.is_some() { "branch" } else { "settings" },
            "branch": branch.id,
            "policy": name,
            "automatic": automatic(used),
            "list": cards.iter().map(card_shape).collect::<Vec<_>>(),
            "draft": draft.as_deref().map(|draft| draft_shape(draft, false)),
        }));
    }
    let from = match (own, settings.summaries.over_policy()) {
        (Some(_), _) => "set on the branch".to_owned(),
        (None, Some(_)) => "set in the settings".to_owned(),
        (None, None) => format!("policy {name}"),
    };
    let on = &branch.name;
    run.io.say(&match automatic(used) {
        "off" if policy.measure == AutoSummaryTrigger::Off => {
            format!("No automatic summaries on branch {on}: policy {name} has no rule for them.")
        }
        "off" => format!("No automatic summaries on branch {on} ({from})."),
        "auto" => format!("Automatic summaries on branch {on} are used at once ({from})."),
        _ => format!("Automatic summaries on branch {on} wait as drafts until you accept them ({from})."),
    });
    list(run, &cards, draft.as_deref())
}

/// Returns how these settings treat automatic summaries, in one word.
fn automatic(settings: AutoSummarySettings) -> &'static str {
    match (settings.measure, settings.accept) {
        (AutoSummaryTrigger::Off, _) => "off",
        (_, AutoSummaryAcceptance::Draft) => "draft",
        (_, AutoSummaryAcceptance::Auto) => "auto",
    }
}

pub(crate) fn cards(run: &mut Run<'_, '_>, branch: BranchId) -> Result<Vec<SummaryCard>, Stop> {
    let cards =
        expect_answer!(run, Summary(SummaryAnswer::Summaries), Request::Summary { branch, act: SummaryAct::List });
    Ok(cards)
}

pub(crate) fn summaries(run: &mut Run<'_, '_>, command: &SummariesCommand) -> Result<(), Stop> {
    if let SummariesCommand::Draft(command) = command {
        return drafts::run(run, command);
    }
    let branch = run.open(false)?.current;
    if let SummariesCommand::Undo { whole_session } = command {
        let kind = if *whole_session { SummaryKind::Session } else { SummaryKind::Lane };
        return run.change(Request::Summary { branch, act: SummaryAct::UndoNewest { kind } }, "Undone.");
    }
    let cards = cards(run, branch)?;
    match command {
        SummariesCommand::Show { id } => show(run, &cards, id.as_deref()),
        SummariesCommand::List | SummariesCommand::Undo { .. } | SummariesCommand::Draft(_) => {
            let draft = drafts::waiting(run, branch)?;
            list(run, &cards, draft.as_deref())
        }
    }
}

fn card_shape(card: &SummaryCard) -> Value {
    let mut value = summary_shape(&card.summary);
    value["state"] = json!(card.state);
    value["active"] = card.active.into();
    value["goes"] = card.included.into();
    value["older_levels"] = card.depth.into();
    value
}

fn list(run: &mut Run<'_, '_>, cards: &[SummaryCard], draft: Option<&SummaryDraft>) -> Result<(), Stop> {
    if run.io.json {
        return run.io.value(&cards.iter().map(card_shape).collect::<Vec<_>>());
    }
    for card in cards {
        let summary = &card.summary;
        let here = if card.included { "●" } else { "○" };
        run.io.say(&format!(
            "{here} {}  {} {} {:>7} → {:>5} tokens  {:>6}  {}  {}",
            summary.id.short(),
            column(summary.kind.name(), 7),
            column(&turns_in_words(summary.turns), 15),
            number(summary.original_tokens),
            number(summary.tokens),
            ratio(summary.ratio_milli()),
            column(summary.source.name(), 10),
            card.state.name()
        ));
    }
    drafts::say_waiting(run, draft);
    if cards.is_empty() && draft.is_none() {
        run.io.say("No summaries on this branch; `pleach compress` drafts one.");
    }
    Ok(())
}

fn show(run: &mut Run<'_, '_>, cards: &[SummaryCard], id: Option<&str>) -> Result<(), Stop> {
    let wanted = |card: &&SummaryCard| match id {
        Some(id) => card.summary.id.to_string().starts_with(&id.to_lowercase()),
        None => card.included,
    };
    let card = cards.iter().find(wanted).ok_or_else(|| {
        Failure::user("No such summary on this branch.").todo("`pleach summary list` lists the summaries.")
    })?;
    if run.io.json {
        return run.io.value(&card_shape(card));
    }
    let gone = "[text deleted, because a source message was deleted]";
    run.io.quote(card.summary.text.as_deref().unwrap_or(gone));
    Ok(())
}
