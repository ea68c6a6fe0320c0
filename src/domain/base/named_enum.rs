//! Enums whose variants have fixed names, which JSON and files use too.
//! Not for: names that are only displayed.

/// Declares an enum with `ALL` and `name`. The name of each variant is also the one in its serialized form.
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        pub enum $kind:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $name:tt,)+
        }
    ) => {
        $(#[$attribute])*
        pub enum $kind {
            $($(#[$variant_attribute])* #[serde(rename = $name)] $variant,)+
        }

        impl $kind {
            /// All variants, in the order of their declaration.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name used in JSON and files, and on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

pub(crate) use named_enum;

#[cfg(test)]
mod tests {
    use crate::domain::conversation::message::End;

    #[test]
    fn a_name_is_also_the_serialized_form() {
        assert_eq!(End::ALL.map(End::name)[..2], ["complete", "truncated"]);
        for end in End::ALL {
            assert_eq!(serde_json::to_value(end).unwrap(), end.name());
            assert_eq!(serde_json::from_value::<End>(end.name().into()).unwrap(), end);
        }
    }
}
