//! Parses times in import files into milliseconds since 1970.
//! Not for: the current time.

use serde_json::Value;

/// The smallest bare number that counts as milliseconds. In seconds, it would be after the year 5138.
const MILLIS_FROM: f64 = 1e11;

/// Parses an RFC 3339 time, a date with a time and an optional zone (the default is UTC), a date, or Unix time in
/// seconds or milliseconds.
pub(super) fn millis(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().map_or_else(|| number.as_f64().map(of_float), |n| Some(of_int(n))),
        Value::String(text) => of_text(text.trim()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn of_int(number: i64) -> i64 {
    if number.unsigned_abs() >= 100_000_000_000 { number } else { number * 1_000 }
}

#[allow(clippy::cast_possible_truncation, reason = "float to integer casts saturate, which is right for absurd times")]
fn of_float(number: f64) -> i64 {
    if number.abs() >= MILLIS_FROM { number.round() as i64 } else { (number * 1_000.0).round() as i64 }
}

fn of_text(text: &str) -> Option<i64> {
    if let Ok(stamp) = text.parse::<jiff::Timestamp>() {
        return Some(stamp.as_millisecond());
    }
    if let Ok(civil) = text.parse::<jiff::civil::DateTime>() {
        return civil.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|at| at.timestamp().as_millisecond());
    }
    text.parse::<i64>().map(of_int).ok().or_else(|| text.parse::<f64>().ok().filter(|n| n.is_finite()).map(of_float))
}

#[cfg(test)]
mod tests {
    use super::millis;
    use serde_json::json;

    #[test]
    fn every_way_to_write_a_time() {
        for same in [
            json!("2026-03-01T12:00:00Z"),
            json!("2026-03-01T13:00:00+01:00"),
            json!("2026-03-01 12:00:00"),
            json!("2026-03-01T12:00:00"),
            json!(1_772_366_400),
            json!(1_772_366_400.0),
            json!(1_772_366_400_000_i64),
            json!("1772366400"),
        ] {
            assert_eq!(millis(&same), Some(1_772_366_400_000), "{same}");
        }
        assert_eq!(millis(&json!("2026-03-01")), Some(1_772_323_200_000));
        assert_eq!(millis(&json!(1_700_000_000.123_4)), Some(1_700_000_000_123));
        assert_eq!(millis(&json!(1e300)), Some(i64::MAX));
        for none in [json!("yesterday"), json!(null), json!(true), json!(""), json!("NaN")] {
            assert_eq!(millis(&none), None, "{none}");
        }
    }
}
