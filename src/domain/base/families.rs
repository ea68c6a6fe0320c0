//! Conversion of a family of requests, answers, or purposes into the enum of all families.
//! Not for: families with several fields.

/// Implements `From` of each family for the enum that has a variant with this family as its only field.
macro_rules! from_families {
    ($whole:ident: $($variant:ident($family:ty)),+ $(,)?) => {$(
        impl From<$family> for $whole {
            fn from(family: $family) -> Self {
                Self::$variant(family)
            }
        }
    )+};
}

pub(crate) use from_families;
