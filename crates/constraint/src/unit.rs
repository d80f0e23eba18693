//! Units, and what quantities count.

/// Dimension of a quantity: powers of seconds and of bytes. A share is a number, but is not
/// compared with one that has no unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitKind {
    /// Power of seconds.
    pub seconds: i8,
    /// Power of bytes.
    pub bytes: i8,
    /// A part of a whole, from 0 to 1.
    pub is_share: bool,
}

impl UnitKind {
    /// A number without a unit.
    pub const NUMBER: UnitKind = UnitKind::of(0, 0);
    /// Signs of all units, each once.
    pub fn signs() -> impl Iterator<Item = &'static str> {
        let signs = UNITS.iter().map(|(sign, ..)| *sign);
        signs.filter(|sign| *sign != "\u{3bc}s")
    }

    /// Seconds.
    pub const TIME: UnitKind = UnitKind::of(1, 0);
    /// Bytes.
    pub const SIZE: UnitKind = UnitKind::of(0, 1);
    /// A number per second.
    pub const RATE: UnitKind = UnitKind::of(-1, 0);
    /// Bytes a second.
    pub const BYTE_RATE: UnitKind = UnitKind::of(-1, 1);
    /// A part of a whole.
    pub const SHARE: UnitKind = UnitKind {
        is_share: true,
        ..UnitKind::NUMBER
    };

    const fn of(seconds: i8, bytes: i8) -> UnitKind {
        UnitKind {
            seconds,
            bytes,
            is_share: false,
        }
    }

    /// The kind of a product.
    pub(crate) fn times(self, other: UnitKind) -> UnitKind {
        UnitKind::of(
            self.seconds.saturating_add(other.seconds),
            self.bytes.saturating_add(other.bytes),
        )
    }

    /// The kind of a quotient.
    pub(crate) fn over(self, other: UnitKind) -> UnitKind {
        UnitKind::of(
            self.seconds.saturating_sub(other.seconds),
            self.bytes.saturating_sub(other.bytes),
        )
    }

    pub(crate) fn is_like(self, other: UnitKind) -> bool {
        (self.seconds, self.bytes) == (other.seconds, other.bytes)
    }

    /// In words, for messages: `a time`.
    pub(crate) fn words(self) -> &'static str {
        match self {
            UnitKind::SHARE => "a share",
            UnitKind::NUMBER => "a number",
            UnitKind::TIME => "a time",
            UnitKind::SIZE => "a size",
            UnitKind::RATE => "a rate",
            UnitKind::BYTE_RATE => "bytes a second",
            _ => "a product of units",
        }
    }

    /// An example of a quantity of this kind.
    pub(crate) fn example(self) -> &'static str {
        match self {
            UnitKind::SHARE => "1 %",
            UnitKind::TIME => "50 ms",
            UnitKind::SIZE => "10 MB",
            UnitKind::RATE => "1000 /s",
            UnitKind::BYTE_RATE => "10 MB/s",
            _ => "10",
        }
    }
}

/// Units with their size in seconds, bytes and parts. A longer unit precedes its own prefixes.
pub(crate) const UNITS: [(&str, f64, UnitKind); 28] = [
    ("ns", 1e-9, UnitKind::TIME),
    ("us", 1e-6, UnitKind::TIME),
    // MICRO SIGN and GREEK SMALL LETTER MU look the same.
    ("\u{b5}s", 1e-6, UnitKind::TIME),
    ("\u{3bc}s", 1e-6, UnitKind::TIME),
    ("ms", 1e-3, UnitKind::TIME),
    ("min", 60.0, UnitKind::TIME),
    ("h", 3600.0, UnitKind::TIME),
    ("s", 1.0, UnitKind::TIME),
    ("%", 0.01, UnitKind::SHARE),
    ("/s", 1.0, UnitKind::RATE),
    ("kbit/s", 125.0, UnitKind::BYTE_RATE),
    ("Mbit/s", 125e3, UnitKind::BYTE_RATE),
    ("Gbit/s", 125e6, UnitKind::BYTE_RATE),
    ("bit/s", 0.125, UnitKind::BYTE_RATE),
    ("kB/s", 1e3, UnitKind::BYTE_RATE),
    ("MB/s", 1e6, UnitKind::BYTE_RATE),
    ("GB/s", 1e9, UnitKind::BYTE_RATE),
    ("KiB/s", 1024.0, UnitKind::BYTE_RATE),
    ("MiB/s", 1_048_576.0, UnitKind::BYTE_RATE),
    ("GiB/s", 1_073_741_824.0, UnitKind::BYTE_RATE),
    ("B/s", 1.0, UnitKind::BYTE_RATE),
    ("kB", 1e3, UnitKind::SIZE),
    ("MB", 1e6, UnitKind::SIZE),
    ("GB", 1e9, UnitKind::SIZE),
    ("KiB", 1024.0, UnitKind::SIZE),
    ("MiB", 1_048_576.0, UnitKind::SIZE),
    ("GiB", 1_073_741_824.0, UnitKind::SIZE),
    ("B", 1.0, UnitKind::SIZE),
];

/// Bits are written as in traffic files (`10mbit`): always bits per second, even without `/s`.
pub(crate) fn rate_of_bits(name: &str) -> Option<&'static str> {
    match name {
        "bit" => Some("bit/s"),
        "kbit" => Some("kbit/s"),
        "Mbit" | "mbit" => Some("Mbit/s"),
        "Gbit" | "gbit" => Some("Gbit/s"),
        _ => None,
    }
}
