//! How many random cases a property test runs.
//! Not for: tests whose number of cases is fixed.

use proptest::prelude::ProptestConfig;

/// Runs this many cases, scaled by the ratio of `PROPTEST_CASES` to proptest's default of 256. Failures are not written
/// to files.
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let own = ProptestConfig::default();
    let cases = scaled(usual, own.cases);
    ProptestConfig { cases, failure_persistence: None, ..own }
}

fn scaled(usual: u32, asked: u32) -> u32 {
    let cases = u64::from(usual) * u64::from(asked) / 256;
    u32::try_from(cases).unwrap_or(u32::MAX).max(1)
}

#[test]
fn cases_follow_the_variable() {
    assert_eq!([256, 2_560, 128, 1, u32::MAX].map(|asked| scaled(64, asked)), [64, 640, 32, 1, 1_073_741_823]);
    assert_eq!(scaled(512, u32::MAX), u32::MAX);
}
