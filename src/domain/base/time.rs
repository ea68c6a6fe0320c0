//! Times for display, in the local time zone.
//! Not for: reading dates (`conversation::search`, `import`), or the current time.

use jiff::ToSpan;

/// Returns the time of day, such as `09:30`, of a time in milliseconds since 1970, in a zone `offset` seconds east of
/// UTC.
pub fn clock(ms: i64, offset: i32) -> String {
    let seconds = ms.div_euclid(1000) + i64::from(offset);
    let of_day = seconds.rem_euclid(86_400);
    format!("{:02}:{:02}", of_day / 3600, of_day / 60 % 60)
}

/// Returns the date, such as `2026-11-22`, of a time in milliseconds since 1970, in a zone `offset` seconds east of
/// UTC.
pub fn date(ms: i64, offset: i32) -> String {
    let days = (ms.div_euclid(1000) + i64::from(offset)).div_euclid(86_400);
    // An imported file may claim any time; these bounds stay within the years of four digits.
    let days = days.clamp(-700_000, 2_900_000);
    jiff::civil::date(1970, 1, 1).saturating_add(days.days()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times() {
        assert_eq!(clock(0, 3600), "01:00");
        assert_eq!(date(1_793_145_600_000, 0), "2026-10-28");
        assert_eq!(date(-1, 0), "1969-12-31");
    }

    proptest::proptest! {
        #[test]
        fn times_agree_with_another_calendar(
            ms in -60_000_000_000_000_i64..250_000_000_000_000,
            offset in -86_400_i32..=86_400,
        ) {
            let zone = jiff::tz::TimeZone::fixed(jiff::tz::Offset::from_seconds(offset).unwrap());
            let there = jiff::Timestamp::from_millisecond(ms).unwrap().to_zoned(zone);
            proptest::prop_assert_eq!(date(ms, offset), there.strftime("%Y-%m-%d").to_string());
            proptest::prop_assert_eq!(clock(ms, offset), there.strftime("%H:%M").to_string());
        }
    }
}
