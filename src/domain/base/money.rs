//! Amounts of money as text, in one format for the screen and the command line.
//! Not for: computing costs (`domain::call`), or prices per million tokens.

/// Returns millionths of a dollar as text: `$0`, `<$0.0001`, `$0.0011`, `$1.20`. Amounts from a dollar on have cents.
pub fn money(micro: u64) -> String {
    let (whole, part) = (micro / 1_000_000, micro % 1_000_000);
    if whole > 0 {
        return format!("${whole}.{:02}", part / 10_000);
    }
    match part {
        0 => "$0".to_owned(),
        1..100 => "<$0.0001".to_owned(),
        _ => format!("$0.{:04}", part / 100),
    }
}

/// Returns an amount that a person set, such as a limit, without rounding: `$0.01`, `$0.000005`.
pub fn exact_money(micro: u64) -> String {
    let part = format!("{:06}", micro % 1_000_000);
    let part = part.trim_end_matches('0');
    format!("${}.{part:0<2}", micro / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_down_and_limits_are_exact() {
        assert_eq!([0, 3, 1_100, 999_999, 1_204_000].map(money), ["$0", "<$0.0001", "$0.0011", "$0.9999", "$1.20"]);
        assert_eq!([5, 10_000, 1_234_500].map(exact_money), ["$0.000005", "$0.01", "$1.2345"]);
    }
}
