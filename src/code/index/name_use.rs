//! How names are used in the whole index: a use is the same for all symbols that use a name so.
//! Not for: uses as stored with a file (`record`), or what they mean (`resolve`).

/// The number of no name.
pub(crate) const NO_NAME: u32 = u32::MAX;

/// The use of a name, the same for all symbols that use it so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NameUse {
    /// The number of the name.
    pub(crate) name: u32,
    pub(crate) shape: NameShape,
}

/// How a name is used (see `parse::receivers`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum NameShape {
    Unsure,
    Name,
    Member,
    /// As a member of a type or module, by the number of its name, in a module if that is known.
    Owner {
        owner: u32,
        module: u32,
    },
}
