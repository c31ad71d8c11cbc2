//! Faults of the database, outside of any operation.

/// The reason why a database cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Another process holds a lock.
    Locked,
    /// The disk, or the quota of the user.
    Full,
    ReadOnly,
    /// The disk does not read or write.
    Io,
    /// The system lacks memory or file descriptors.
    Short,
    /// The file was deleted or replaced while it was open.
    Gone,
    Damaged,
}

impl Fault {
    const ALL: [Self; 7] = [
        Self::Locked,
        Self::Full,
        Self::ReadOnly,
        Self::Io,
        Self::Short,
        Self::Gone,
        Self::Damaged,
    ];

    /// Returns the stable name for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Locked => "locked",
            Self::Full => "full",
            Self::ReadOnly => "readOnly",
            Self::Io => "io",
            Self::Short => "short",
            Self::Gone => "gone",
            Self::Damaged => "damaged",
        }
    }

    /// Finds a fault by its stable name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.as_str() == name)
    }

    /// Whether the same operation may succeed later without an operator.
    pub const fn may_pass(self) -> bool {
        !matches!(self, Self::Gone | Self::Damaged)
    }
}
