//! Approval of tool calls on the command line: by `--allow`, by a person at the terminal, or denied if there is no
//! terminal. Also the `rules` command.
//! Not for: the rules of the settings, the session, and the folder, which the engine applies.

use super::Run;
use super::client::expect_answer;
use super::output::Io;
use super::stop::Stop;
use crate::config::commands::system::RulesCommand;
use crate::config::error::unknown_tool;
use crate::domain::tool::consent::decide;
use crate::domain::tool::folded_text::{folded, folded_difference, length};
use crate::domain::tool::mcp::OUTSIDE;
use crate::domain::tool::{Consent, FileChange, PendingApproval, Row, Rule, RuleScope, ToolEffect, Verdict};
use crate::engine::api::{RuleAct, ToolAnswer, ToolRequest};
use serde_json::json;

/// The number of unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// Parses the value of `--allow`: `TOOL` or `TOOL:ON`.
pub(super) fn parse_allow(text: &str) -> Rule {
    let (tool, on) = text.split_once(':').map_or((text, None), |(tool, on)| (tool, Some(on.to_owned())));
    Rule { tool: tool.to_owned(), on, verdict: Verdict::Allow }
}

pub(super) fn rules(run: &mut Run<'_, '_>, command: Option<&RulesCommand>) -> Result<(), Stop> {
    run.open(false)?;
    let (args, verdict, on) = match command {
        None | Some(RulesCommand::List) => return list(run),
        Some(RulesCommand::Allow(args)) => (args, Verdict::Allow, true),
        Some(RulesCommand::Ask(args)) => (args, Verdict::Ask, true),
        Some(RulesCommand::Deny(args)) => (args, Verdict::Deny, true),
        Some(RulesCommand::Remove { verdict, rule }) => (rule, *verdict, false),
    };
    let set = ToolRequest::Rule(RuleAct::Set { scope: args.scope(), rule: args.rule(verdict), on });
    let Some(warning) = unknown_tool(&args.tool).filter(|_| on) else { return run.change(set, "Done.") };
    run.call(set)?;
    run.io.note(&warning);
    if run.io.json { run.io.value(&json!({ "done": true, "message": warning })) } else { Ok(()) }
}

fn list(run: &mut Run<'_, '_>) -> Result<(), Stop> {
    let all = expect_answer!(run, Tool(ToolAnswer::Rules), ToolRequest::Rule(RuleAct::List));
    if run.io.json {
        let shape = |(scope, rule): &(RuleScope, Rule)| json!({ "scope": scope, "tool": rule.tool, "on": rule.on, "verdict": rule.verdict });
        return run.io.value(&all.iter().map(shape).collect::<Vec<_>>());
    }
    for (scope, rule) in &all {
        let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let on = rule.on.as_deref().unwrap_or("anything");
        run.io.say(&format!("{:<8} {:<6} {} on {on}", word(json!(scope)), word(json!(rule.verdict)), rule.tool));
    }
    if all.is_empty() {
        run.io.note("No rules: reads run; everything else asks.");
    }
    Ok(())
}

/// Returns the `--allow` value that approves a call, quoted for a shell: the command line if it is short, or else the
/// tool if a rule for the tool is enough, or else the long command line. None if no rule can approve the call. A star
/// in a rule matches any text, so no rule can match only one command line that contains a star.
fn allow_flag(pending: &PendingApproval) -> Option<String> {
    let ToolEffect::Run(command) = &pending.effect else { return Some(pending.tool.clone()) };
    let line = &command.line;
    let whole = format!("{}:{line}", pending.tool);
    let short = line.len() <= 100 && !line.contains(['\n', '\r']);
    let words = if short { [&whole, &pending.tool] } else { [&pending.tool, &whole] };
    let approves =
        |word: &&&String| decide([parse_allow(word)].iter(), &pending.tool, &pending.effect).0 == Verdict::Allow;
    let word = words.iter().find(approves)?;
    Some(if **word == whole { format!("'{}'", whole.replace('\'', r"'\''")) } else { pending.tool.clone() })
}

/// The message about a call that was denied because there is no terminal to ask on.
fn denial_message(asking: &PendingApproval) -> String {
    let tool = &asking.tool;
    match (asking.effect.config_change(), allow_flag(asking)) {
        (Some((path, what)), _) => {
            format!("{tool} was denied: {path} {what}, so only approval at a terminal lets a tool change the file.")
        }
        (None, Some(word)) => {
            format!("{tool} was denied: no terminal to ask on. To approve the call, use --allow {word}.")
        }
        (None, None) => format!(
            "{tool} was denied: no terminal to ask on. The command contains an asterisk (*) and more than one \
            program or a redirection, so no rule can allow the command; approve it at a terminal."
        ),
    }
}

/// Decides about a call that needs approval. Returns None after Ctrl+C, which stops the turn.
pub(super) fn approve(io: &mut Io<'_>, rules: &[Rule], pending: &PendingApproval) -> Option<Consent> {
    if decide(rules.iter(), &pending.tool, &pending.effect).0 == Verdict::Allow {
        return Some(Consent::Yes { hunks: Vec::new() });
    }
    if !(io.in_tty && io.err_tty) || io.json {
        io.note(&denial_message(pending));
        return Some(Consent::Unasked);
    }
    for line in effects(pending) {
        io.note(&line);
    }
    let answer = io.answer("Enter y to approve, n to deny, or text to deny with a message; Ctrl+C stops the turn:")?;
    Some(match answer.as_str() {
        "y" | "yes" => Consent::Yes { hunks: Vec::new() },
        "" | "n" | "no" => Consent::No { why: None },
        why => Consent::No { why: Some(why.to_owned()) },
    })
}

/// Describes everything that the call would do, in lines.
fn effects(pending: &PendingApproval) -> Vec<String> {
    let mut lines = vec![format!("{} needs approval.", pending.tool)];
    match &pending.effect {
        ToolEffect::Run(command) => {
            let folder = if command.folder.is_empty() { "." } else { &command.folder };
            lines.push(format!("In {folder}, for at most {} seconds:", command.seconds));
            lines.extend(folded(&command.line).iter().map(|row| format!("  $ {}", row.to_text())));
            lines.extend(length(&command.line).map(|length| format!("End of the text: {length}.")));
            lines.extend(command.confinement().cloned());
        }
        ToolEffect::Change(changes) => {
            lines.extend(
                pending
                    .effect
                    .config_change()
                    .map(|(path, what)| format!("{path} {what}. No rule can allow this change.")),
            );
            for change in changes {
                let difference = change.unified(CONTEXT_LINES);
                lines.extend(folded_difference(difference.trim_end_matches('\n')).iter().map(Row::to_text));
            }
            let (more, less) = changes.iter().map(FileChange::size).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
            lines.push(format!("+{more} −{less} lines"));
        }
        ToolEffect::Foreign { server, tool, looks } => {
            lines.push(OUTSIDE.to_owned());
            if *looks {
                lines.push("The server declares this tool read-only; pleach can't verify that.".to_owned());
            }
            let call = format!("{server}: {tool} {}", pending.args);
            lines.extend(folded(&call).iter().map(Row::to_text));
            lines.extend(length(&call).map(|length| format!("End of the text: {length}.")));
        }
        ToolEffect::Read { what } => lines.extend(folded(what).iter().map(Row::to_text)),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::consent::Command;

    #[test]
    fn the_approval_shows_the_end_of_a_command() {
        let line = format!("ls{}touch PWNED\u{200b}", "\n".repeat(200));
        let effect = ToolEffect::Run(Command {
            line,
            folder: String::new(),
            seconds: 1,
            protection: Vec::new(),
            mechanisms: None,
        });
        let lines = effects(&PendingApproval { index: 0, tool: "run".into(), args: "{}".into(), effect, rule: None });
        let wanted = [
            "  $ ls",
            "  $ [199 blank lines]",
            "  $ touch PWNED⟨U+200B⟩",
            "End of the text: 201 lines, 199 of them blank.",
        ];
        assert_eq!(lines[2..], wanted);
    }

    /// The flag in the message about a denied command approves exactly that command.
    #[test]
    fn the_suggested_flag_allows_the_command() {
        let long = format!("echo {}; ls", "x".repeat(150));
        let lines = ["ls", "echo 'a b'", "ls | wc", "echo 'a'; ls", "echo *", "echo *; ls", "a\nb", long.as_str()];
        for line in lines {
            let effect = ToolEffect::Run(Command {
                line: line.into(),
                folder: String::new(),
                seconds: 1,
                protection: Vec::new(),
                mechanisms: None,
            });
            let pending = PendingApproval { index: 0, tool: "run".into(), args: "{}".into(), effect, rule: None };
            let Some(flag) = allow_flag(&pending) else {
                assert!(line.contains('*') && line.contains(';'), "{line:?} can be spelled out");
                continue;
            };
            // Split the flag as a shell would.
            let read = shell_words(&flag);
            assert_eq!(read.len(), 1, "{flag}");
            let rule = parse_allow(&read[0]);
            assert_eq!(decide([&rule].into_iter(), "run", &pending.effect).0, Verdict::Allow, "{flag} for {line:?}");
        }
    }

    /// Splits a text into words, with single quotes and backslashes.
    fn shell_words(text: &str) -> Vec<String> {
        let (mut words, mut quoted, mut chars) = (vec![String::new()], false, text.chars());
        while let Some(c) = chars.next() {
            match c {
                '\'' => quoted = !quoted,
                '\\' if !quoted => words.last_mut().unwrap().extend(chars.next()),
                ' ' | '\n' if !quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        assert!(!quoted, "{text}");
        words
    }

    #[test]
    fn rules_about_unknown_tools_are_reported_and_used() {
        use crate::cli::tests::{done, execute};
        let warning = "No tool has the name \"rnu\", so the rule has no effect. Did you mean run?\n";
        let printed = execute(&["rules", "allow", "rnu"], done);
        assert_eq!((printed.code, printed.out.as_str()), (0, ""), "the warning stands in place of the result");
        assert!(printed.err.ends_with(&format!("pleach: {warning}")), "{}", printed.err);
        let json = execute(&["rules", "allow", "rnu", "--json"], done).out;
        assert!(json.contains("so the rule has no effect"), "{json}");
        assert!(!execute(&["rules", "remove", "allow", "rnu"], done).err.contains("No tool"));
        let printed = execute(&["undo", "--allow", "rnu:ls", "--allow", "mcp__a__b", "--allow", "run:ls"], done);
        assert_eq!((printed.code, printed.err.matches("No tool").count()), (0, 1), "{}", printed.err);
        assert!(printed.err.contains(&format!("pleach: --allow: {warning}")), "{}", printed.err);
    }

    #[test]
    fn an_allow_flag_names_a_tool_and_a_pattern() {
        assert_eq!(parse_allow("run:cargo test*").on.as_deref(), Some("cargo test*"));
        assert_eq!((parse_allow("edit_file").tool.as_str(), parse_allow("edit_file").on), ("edit_file", None));
    }
}
