//! The uses of names in the whole index. Symbols that use a name in the same way share one use.
//! Not for: uses as stored with a file (`record`), or the definitions that they refer to (`resolve`).

/// The number of no name.
pub(crate) const NO_NAME: u32 = u32::MAX;

/// The use of a name, shared by all symbols that use it in the same way.
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
    /// A member of a type or module, by the number of its name, and its module if that is known.
    Owner {
        owner: u32,
        module: u32,
    },
}
