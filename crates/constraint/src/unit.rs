//! Units, and what quantities count.

/// What a quantity counts: powers of seconds and of bytes. A share is a number, but is not compared with one
/// that has no unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Power of seconds.
    pub seconds: i8,
    /// Power of bytes.
    pub bytes: i8,
    /// It is a part of a whole, from 0 to 1.
    pub is_share: bool,
}

impl Kind {
    /// A number without a unit.
    pub const NUMBER: Kind = Kind::of(0, 0);
    /// Seconds.
    pub const TIME: Kind = Kind::of(1, 0);
    /// Bytes.
    pub const SIZE: Kind = Kind::of(0, 1);
    /// So many a second.
    pub const RATE: Kind = Kind::of(-1, 0);
    /// Bytes a second.
    pub const BYTE_RATE: Kind = Kind::of(-1, 1);
    /// A part of a whole.
    pub const SHARE: Kind = Kind {
        is_share: true,
        ..Kind::NUMBER
    };

    const fn of(seconds: i8, bytes: i8) -> Kind {
        Kind {
            seconds,
            bytes,
            is_share: false,
        }
    }

    /// The kind of a product.
    pub(crate) fn times(self, other: Kind) -> Kind {
        Kind::of(
            self.seconds.saturating_add(other.seconds),
            self.bytes.saturating_add(other.bytes),
        )
    }

    /// The kind of a quotient.
    pub(crate) fn over(self, other: Kind) -> Kind {
        Kind::of(
            self.seconds.saturating_sub(other.seconds),
            self.bytes.saturating_sub(other.bytes),
        )
    }

    /// Whether both count the same.
    pub(crate) fn is_like(self, other: Kind) -> bool {
        (self.seconds, self.bytes) == (other.seconds, other.bytes)
    }

    /// In words, for messages: `a time`.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Kind::SHARE => "a share",
            Kind::NUMBER => "a number",
            Kind::TIME => "a time",
            Kind::SIZE => "a size",
            Kind::RATE => "a rate",
            Kind::BYTE_RATE => "bytes a second",
            _ => "a product of units",
        }
    }

    /// How a quantity of this kind is written.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Kind::SHARE => "1 %",
            Kind::TIME => "50 ms",
            Kind::SIZE => "10 MB",
            Kind::RATE => "1000 /s",
            Kind::BYTE_RATE => "10 MB/s",
            _ => "10",
        }
    }
}

/// Units with what one of them is in seconds, bytes and parts of a whole. A longer unit stands before one that it
/// begins with.
pub(crate) const UNITS: [(&str, f64, Kind); 24] = [
    ("ns", 1e-9, Kind::TIME),
    ("us", 1e-6, Kind::TIME),
    // MICRO SIGN and GREEK SMALL LETTER MU look the same.
    ("\u{b5}s", 1e-6, Kind::TIME),
    ("\u{3bc}s", 1e-6, Kind::TIME),
    ("ms", 1e-3, Kind::TIME),
    ("min", 60.0, Kind::TIME),
    ("h", 3600.0, Kind::TIME),
    ("s", 1.0, Kind::TIME),
    ("%", 0.01, Kind::SHARE),
    ("/s", 1.0, Kind::RATE),
    ("kB/s", 1e3, Kind::BYTE_RATE),
    ("MB/s", 1e6, Kind::BYTE_RATE),
    ("GB/s", 1e9, Kind::BYTE_RATE),
    ("KiB/s", 1024.0, Kind::BYTE_RATE),
    ("MiB/s", 1_048_576.0, Kind::BYTE_RATE),
    ("GiB/s", 1_073_741_824.0, Kind::BYTE_RATE),
    ("B/s", 1.0, Kind::BYTE_RATE),
    ("kB", 1e3, Kind::SIZE),
    ("MB", 1e6, Kind::SIZE),
    ("GB", 1e9, Kind::SIZE),
    ("KiB", 1024.0, Kind::SIZE),
    ("MiB", 1_048_576.0, Kind::SIZE),
    ("GiB", 1_073_741_824.0, Kind::SIZE),
    ("B", 1.0, Kind::SIZE),
];
