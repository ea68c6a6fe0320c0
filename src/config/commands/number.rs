//! Reads whole numbers of the command line, and says in words which numbers are allowed.
//! Not for: numbers with units (`calls::cost`, `setting::tokens`).

/// Returns a parser of whole numbers from `first` to `last`; without `last`, to the largest number of the type.
pub(super) fn number<N: TryFrom<u64>>(
    first: u64,
    last: Option<u64>,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static {
    move |text| {
        let allowed = match last {
            Some(last) => format!("from {first} to {last}"),
            None => format!("{first} or more"),
        };
        let Ok(number) = text.parse::<u64>() else { return Err(format!("must be a whole number, {allowed}")) };
        if number < first || last.is_some_and(|last| number > last) {
            return Err(format!("must be {allowed}"));
        }
        N::try_from(number).map_err(|_| "is too large".to_owned())
    }
}
