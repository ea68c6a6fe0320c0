//! Commands that show lanes: `lane` without a name, and `lane list`.
//! Not for: choosing a lane (`settings`).

use crate::cli::Run;
use crate::cli::context::{drafts, summaries};
use crate::cli::output::{column, number, time};
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::domain::conversation::lane_use;
use crate::domain::conversation::{Branch, Lane, LaneUse, Tree};
use crate::domain::summary::LaneSummaries;
use crate::engine::api::SessionView;
use serde_json::{Value, json};

/// Returns the lane of a branch's next message, and whether a person chose it.
fn next(tree: &Tree, branch: &Branch) -> (Lane, bool) {
    let path_lane = branch.head.and_then(|id| tree.get(id)).map(|head| head.lane.as_str());
    let chosen = branch.overrides.lane.as_deref();
    (Lane::read(chosen.or(path_lane).unwrap_or_default()), chosen.is_some())
}

/// Shows the lane of the branch's next message.
pub(super) fn show(run: &mut Run<'_, '_>, view: &SessionView, branch: &Branch) -> Result<(), Stop> {
    let (lane, chosen) = next(&pick::tree(view), branch);
    let from = if chosen { "branch" } else { "path" };
    let name = branch.overrides.policy.as_ref().unwrap_or(&run.config.settings.policy);
    let alone = run.config.policies.get(name).is_some_and(|policy| policy.keeps_to_lane(chosen));
    let window = if alone { "lane" } else { "all" };
    let mut value = json!({ "lane": lane.text(), "key": lane.key(branch.session), "from": from, "branch": branch.id });
    value["window"] = window.into();
    let holds = if alone { "only this lane" } else { "all lanes" };
    let place = if lane == Lane::Root { "the root lane".to_owned() } else { format!("lane {}", lane.word()) };
    let back = if chosen { "; `pleach lane none` continues in the lane of the last message" } else { "" };
    let text = format!(
        "The next message of branch {} goes into {place} (the window holds {holds}). `pleach lane NAME` changes it{back}.",
        branch.name
    );
    run.io.either(&value, &text)
}

pub(super) fn list(run: &mut Run<'_, '_>) -> Result<(), Stop> {
    let view = run.open(false)?;
    let branch = pick::branch(&view, None)?;
    let tree = pick::tree(&view);
    let (next, _) = next(&tree, branch);
    let lanes = lane_use::with_next(&tree, &pick::path(&tree, branch), &next);
    let (cards, draft) = (summaries::cards(run, branch.id)?, drafts::waiting(run, branch.id)?);
    let of = |lane: &Lane| LaneSummaries::of(lane, &cards, draft.as_deref());
    if run.io.json {
        let shapes: Vec<Value> =
            lanes.iter().map(|one| shape(branch, &tree, one, &of(&one.lane), one.lane == next)).collect();
        return run.io.value(&shapes);
    }
    if tree.heads().next().is_none() && next == Lane::Root {
        run.io.say("No lanes yet: they appear with the first message.");
        return Ok(());
    }
    for one in &lanes {
        run.io.say(&format!(
            "{} {} {:>5} {} {:>9} tokens (estimated)  {}  {}  {}",
            if one.lane == next { "●" } else { "○" },
            column(&lane_use::title(&tree, &one.lane, "…"), 38),
            one.turns,
            if one.turns == 1 { "turn " } else { "turns" },
            number(u32::try_from(one.est_tokens()).unwrap_or(u32::MAX)),
            column(of(&one.lane).status(), 13),
            column(&one.last.map_or_else(|| "not used yet".to_owned(), time), 16),
            one.lane.key(branch.session)
        ));
    }
    Ok(())
}

fn shape(branch: &Branch, tree: &Tree, one: &LaneUse, summarized: &LaneSummaries<'_>, next: bool) -> Value {
    json!({
        "lane": one.lane.text(),
        "key": one.lane.key(branch.session),
        "title": lane_use::title(tree, &one.lane, "…"),
        "turns": one.turns,
        "messages": one.messages,
        "est_tokens": one.est_tokens(),
        "summary": summarized.card.map(|card| card.summary.id),
        "summary_goes": summarized.card.is_some_and(|card| card.included),
        "draft_waits": summarized.draft,
        "last_used": one.last,
        "next": next,
        "branch": branch.id,
    })
}
