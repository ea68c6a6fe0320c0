//! A macro for enums whose variants have fixed names, texts for display, or both.
//! Not for: enums whose variants hold data.

/// Declares an enum without data with its constant `ALL` of all variants. A variant has a name (`= "name"`), which is
/// also its serialized form, or a text (`=> "text"`), which the function declared after the enum returns, or both.
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $kind:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $name:tt,)+
        }
    ) => {
        $(#[$attribute])*
        $vis enum $kind {
            $($(#[$variant_attribute])* #[serde(rename = $name)] $variant,)+
        }

        impl $kind {
            /// All variants, in the order of their declaration.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name used in JSON and files, and on the command line.
            $vis fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
    (
        $(#[$attribute:meta])*
        $vis:vis enum $kind:ident {
            $($(#[$variant_attribute:meta])* $variant:ident => $text:literal,)+
        }
        $(#[$text_attribute:meta])*
        $text_vis:vis fn $text_of:ident
    ) => {
        $(#[$attribute])*
        $vis enum $kind {
            $($(#[$variant_attribute])* $variant,)+
        }

        impl $kind {
            /// All variants, in the order of their declaration.
            $vis const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            $(#[$text_attribute])*
            $text_vis const fn $text_of(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
    (
        $(#[$attribute:meta])*
        $vis:vis enum $kind:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $name:tt => $text:literal,)+
        }
        $(#[$text_attribute:meta])*
        $text_vis:vis fn $text_of:ident
    ) => {
        $crate::domain::base::named_enum::named_enum! {
            $(#[$attribute])*
            $vis enum $kind {
                $($(#[$variant_attribute])* $variant = $name,)+
            }
        }

        impl $kind {
            $(#[$text_attribute])*
            $text_vis fn $text_of(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
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
