//! `stats`: prints the size of the next request, the stored messages and summaries, and the usage of calls, as numbers
//! and sparklines. A value that the server did not report is shown as unknown, never as 0.
//! Not for: computing the values (`engine`, `domain::call::ledger`).

use super::item_use;
use super::summaries::ratio;
use crate::cli::Run;
use crate::cli::client::{expect_answer, unexpected};
use crate::cli::output::{column, number, time};
use crate::cli::shape::dollars;
use crate::cli::stop::Stop;
use crate::domain::base::BranchId;
use crate::domain::base::chart::spark;
use crate::domain::base::money::money;
use crate::domain::call::ledger::{lean_words, percent as per_cent};
use crate::domain::call::{CallCost, Ledger, RunStatus, Sum};
use crate::domain::planning::level_use::level_uses;
use crate::domain::planning::{Row, Section};
use crate::domain::summary::Stats;
use crate::engine::api::{Answer, CallAnswer, CallRequest, Draft, Planned, Request, SummaryAct, SummaryAnswer};
use serde_json::{Value, json};

/// The maximum width of an item's title in columns.
const TITLE_WIDTH: usize = 60;

/// The maximum width of a sparkline in columns.
const COLUMNS: usize = 60;

pub(crate) fn stats(run: &mut Run<'_, '_>, whole: bool) -> Result<(), Stop> {
    let view = run.open(false)?;
    let branch = view.current;
    let mut stats =
        expect_answer!(run, Summary(SummaryAnswer::Stats), Request::Summary { branch, act: SummaryAct::Stats });
    let mut problem = None;
    let budget = match run.client.plan(&view, Draft::default(), &mut run.io) {
        Ok(Planned::Plan { plan, .. }) => {
            (stats.used, stats.levels) = (plan.est_total, level_uses(&plan).into());
            plan.budget
        }
        Ok(Planned::Blocked(blocked)) | Err(Stop::Blocked(blocked)) => {
            stats.used = blocked.needed;
            problem = Some(blocked.sentence());
            blocked.budget
        }
        Err(stop) => return Err(stop),
    };
    stats.budget = budget.prompt;
    let ledger = expect_answer!(run, Call(CallAnswer::Ledger), CallRequest::Ledger { branch, whole });
    let found = last_answered(&ledger, branch).map_or_else(|| Ok(Vec::new()), |call| retrieved(run, call))?;
    stats.retrieved = found.iter().map(|(id, _)| id.clone()).collect();
    if run.io.json {
        let mut shape = stats_shape(&stats);
        shape["calls"] = ledger_shape(&ledger);
        shape["uses"] = item_use::shape(&ledger.uses);
        if let Some(problem) = problem {
            shape["problem"] = problem.into();
        }
        return run.io.value(&shape);
    }
    if let Some(problem) = problem {
        run.io.say(&problem);
    }
    print_stats(run, &stats, budget.total());
    for (_, title) in &found {
        run.io.say(&format!("retrieved      {title}"));
    }
    print_ledger(run, &ledger);
    item_use::print(run, &ledger.uses);
    Ok(())
}

/// Returns the last call that was answered: on the branch, if the calls are those of its whole session.
fn last_answered(ledger: &Ledger, branch: BranchId) -> Option<&CallCost> {
    let is_answered = |call: &&CallCost| matches!(call.status, RunStatus::Complete | RunStatus::Truncated);
    ledger.calls.iter().rev().filter(is_answered).find(|call| !ledger.whole || call.branch == branch)
}

/// Returns the ids and titles of the items that a call retrieved; none if its plan was deleted.
fn retrieved(run: &mut Run<'_, '_>, call: &CallCost) -> Result<Vec<(String, String)>, Stop> {
    let id = call.run.to_string();
    let plan = match run.call(CallRequest::StoredPlan { id }) {
        Ok(Answer::Call(CallAnswer::StoredPlan { plan, .. })) => plan,
        Ok(other) => return Err(unexpected(&other)),
        Err(_) => return Ok(Vec::new()),
    };
    let rows = plan.included().filter(|row| row.section() == Some(Section::Retrieved));
    let titled = |row: &Row| {
        let turn = row.source.turn.map_or_else(String::new, |turn| format!("turn {turn}: "));
        let title = column(row.title.lines().next().unwrap_or_default(), TITLE_WIDTH);
        (row.atom.key().short(), format!("{turn}{}", title.trim_end()))
    };
    Ok(rows.map(titled).collect())
}

fn percent(used: u32, budget: u32) -> f64 {
    f64::from(used) * 100.0 / f64::from(budget.max(1))
}

fn stats_shape(stats: &Stats) -> Value {
    json!({
        "total_used": stats.used,
        "total_budget": stats.budget,
        "percent": (percent(stats.used, stats.budget) * 10.0).round() / 10.0,
        "messages_stored": stats.messages,
        "summaries": stats.summaries,
        "average_compression_ratio": stats.ratio_milli.map(|milli| f64::from(milli) / 1_000.0),
        "levels": stats.levels,
        "last_compression": stats.last,
        "retrieved": stats.retrieved,
    })
}

/// Prints the size of the next request, of a `budget`, and the stored messages and summaries.
fn print_stats(run: &mut Run<'_, '_>, stats: &Stats, budget: u32) {
    let (used, share) = (number(stats.used), percent(stats.used, budget));
    run.io.say(&format!("total          {used} / {} tokens ({share:.1}%)", number(budget)));
    run.io.say(&format!("messages       {} stored", number(stats.messages)));
    let average =
        stats.ratio_milli.map_or_else(|| "none in use".to_owned(), |milli| format!("{} on average", ratio(milli)));
    run.io.say(&format!("summaries      {} ({average})", stats.summaries));
    // Only the policy `levels` gives the levels budgets; without it, their names mean nothing to a reader.
    for (level, budget) in stats.levels.iter().filter_map(|level| Some((level, level.budget?))) {
        run.io.say(&format!("{} {} / {}", column(&level.name, 14), number(level.used), number(budget)));
    }
    run.io.say(&format!("last summary   {}", stats.last.map_or_else(|| "never".to_owned(), time)));
}

fn sum_shape(sum: &Sum, value: impl Fn(u64) -> Value) -> Value {
    json!({ "known": sum.known, "total": sum.known().map(&value), "mean": sum.mean().map(&value), "highest": sum.known().map(|_| value(sum.most)) })
}

fn share(milli: u64) -> Value {
    // Thousandths are precise enough for a share.
    json!(f64::from(u32::try_from(milli).unwrap_or(u32::MAX)) / 1_000.0)
}

fn signed_share(milli: i64) -> Value {
    json!(f64::from(i32::try_from(milli).unwrap_or(i32::MAX)) / 1_000.0)
}

/// Returns the calls and their totals as JSON; unknown values are null.
fn ledger_shape(ledger: &Ledger) -> Value {
    let sums = &ledger.totals;
    let one = |call: &CallCost| {
        json!({
            "run_id": call.run,
            "branch": call.branch,
            "turn": call.turn,
            "round": call.round,
            "at": call.at,
            "status": call.status.name(),
            "model": call.model,
            "est_total": call.est,
            "tokens_in": call.input,
            "tokens_out": call.output,
            "cached_tokens": call.cached,
            "cached_share": call.cached_milli().map(share),
            "cost": call.cost_micro.map(dollars),
            "estimate_error": call.error_milli.map(signed_share),
            "uses": call.uses,
        })
    };
    json!({
        "scope": if ledger.whole { "session" } else { "branch" },
        "count": sums.calls,
        "est_total": sums.est.total,
        "tokens_in": sum_shape(&sums.input, Value::from),
        "tokens_out": sum_shape(&sums.output, Value::from),
        "cost": sum_shape(&sums.cost, |micro| json!(dollars(micro))),
        "cached": {
            "known": sums.cached.known,
            "tokens": sums.cached.known(),
            "of": sums.cached.known().map(|_| sums.cached_of),
            "share": sums.cached_milli().map(share),
        },
        "estimate_error": {
            "known": sums.error.known,
            "mean": sums.error.mean().map(share),
            "leaning": sums.mean_signed_error().map(signed_share),
        },
        "older": ledger.older,
        "runs": ledger.calls.iter().map(one).collect::<Vec<_>>(),
    })
}

fn print_ledger(run: &mut Run<'_, '_>, ledger: &Ledger) {
    let sums = &ledger.totals;
    let of = if ledger.whole { "in this session" } else { "on this branch" };
    if sums.calls == 0 {
        return run.io.say(&format!("calls          none {of} yet"));
    }
    let from = ledger.calls.len().saturating_sub(COLUMNS);
    let newest = &ledger.calls[from..];
    let shown =
        if newest.len() < sums.calls as usize { format!(", newest {} shown", newest.len()) } else { String::new() };
    run.io.say(&format!("calls          {} {of}{shown}", number(sums.calls)));
    let ascii = run.config.settings.screen.ascii;
    let line = |most: u64, of: &dyn Fn(&CallCost) -> Option<u64>| spark(newest.iter().map(of), most, ascii);
    let tokens = |sum: &Sum| figures(sum, sums.calls, number);
    let lines = [
        ("tokens in", line(sums.input.most, &|call| call.input.map(u64::from)), tokens(&sums.input)),
        ("tokens out", line(sums.output.most, &|call| call.output.map(u64::from)), tokens(&sums.output)),
        ("cost", line(sums.cost.most, &|call| call.cost_micro), figures(&sums.cost, sums.calls, money)),
        ("cached", line(1_000, &CallCost::cached_milli), cached(ledger)),
        (
            "estimate error",
            line(sums.error.most.max(10), &|call| call.error_milli.map(i64::unsigned_abs)),
            errors(ledger),
        ),
    ];
    for (name, columns, words) in lines {
        run.io.say(&format!("{} {columns}  {words}", column(name, 14)));
    }
    if sums.error.known > 0 {
        run.io.say(
            "               estimate error = the server's count of the prompt against the estimate before the call",
        );
    }
    if sums.input.known < sums.calls {
        run.io.say(&format!(
            "               ? = not reported by the server; estimated {} tokens in",
            number(sums.est.total)
        ));
    }
}

fn figures(sum: &Sum, calls: u32, words: impl Fn(u64) -> String) -> String {
    let Some(mean) = sum.mean() else { return "unknown".to_owned() };
    let unknown = unknown(calls - sum.known);
    format!("sum {}  mean {}  highest {}{unknown}", words(sum.total), words(mean), words(sum.most))
}

fn unknown(calls: u32) -> String {
    if calls > 0 { format!("  {} unknown", number(calls)) } else { String::new() }
}

fn cached(ledger: &Ledger) -> String {
    let sums = &ledger.totals;
    let Some(share) = sums.cached_milli() else { return "unknown".to_owned() };
    format!("{} of the input{}", per_cent(share), unknown(sums.calls - sums.cached.known))
}

fn errors(ledger: &Ledger) -> String {
    let sums = &ledger.totals;
    match (sums.error.mean(), sums.mean_signed_error()) {
        (Some(mean), Some(lean)) => format!("mean {}; {}", per_cent(mean), lean_words(lean)),
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::RunId;
    use crate::domain::call::{RunCard, Totals, UseTotals};
    use uuid::Uuid;

    #[test]
    fn the_last_answered_call_is_no_failed_call() {
        let (here, elsewhere) = (BranchId(Uuid::from_u128(1)), BranchId(Uuid::from_u128(2)));
        let call = |id: u128, branch: BranchId, status: RunStatus| {
            CallCost::of(
                &RunCard { id: RunId(Uuid::from_u128(id)), branch, status, ..RunCard::default() },
                None,
                String::new(),
            )
        };
        let calls = vec![
            call(1, here, RunStatus::Complete),
            call(2, elsewhere, RunStatus::Complete),
            call(3, here, RunStatus::Errored),
        ];
        let last = |whole| {
            let (calls, totals, uses) = (calls.clone(), Totals::default(), UseTotals::default());
            let ledger = Ledger { branch: here, whole, calls, older: 0, totals, uses };
            last_answered(&ledger, here).map(|call| call.run.0.as_u128())
        };
        assert_eq!([last(true), last(false)], [Some(1), Some(2)]);
    }
}
