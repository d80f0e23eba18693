//! Decides if an end sends as much as its congestion window permits, by the data of each round
//! trip. Pure.
//!
//! Without a loss, a congestion window that limits its sender grows: by a segment in each round
//! trip, or faster (RFC 5681, section 3.1), and one that does not limit it does not grow (RFC
//! 7661). So a sender that sends the same or less in each round trip, and lost nothing, has another
//! limit: its program, its send buffer, or a pace that its congestion control computes (BBR).

/// Round trips without growth from which on the pace is steady. CUBIC can take some of them for a
/// segment (RFC 9438, section 4.3).
const STEADY_ROUNDS: u32 = 10;

/// The same, if the data in flight are unknown: bytes of a round trip vary with its length.
const STEADY_ROUNDS_OF_BYTES: u32 = 20;

/// Length of the shortest round.
const LEAST_ROUND_NS: i64 = 1_000_000;

/// Verdict about the waits of a sender since the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PaceVerdict {
    /// Growth of the data of a round trip, or a loss: the congestion window limits the sender.
    Growing,
    /// Not decided yet.
    Undecided,
    /// No growth.
    Steady,
}

/// Data of an end in each round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SendingPace {
    /// Beginning of the round.
    start_ns: Option<i64>,
    /// The most in flight in it, or bytes that passed in it so far.
    amount: i64,
    /// Amount of the round with the most.
    most: i64,
    /// Rounds since then.
    rounds: u32,
    has_lost: bool,
}

impl SendingPace {
    /// Handles a loss: from now on the window is smaller, and grows slowly.
    pub(crate) fn lost(&mut self) {
        self.has_lost = true;
    }

    /// Handles a pause, after which the window starts small again.
    pub(crate) fn restart(&mut self) {
        *self = SendingPace {
            has_lost: self.has_lost,
            ..SendingPace::default()
        };
    }

    /// Adds new bytes. `flight`: data in flight with them, if known. `round_ns`: length of a round
    /// trip.
    pub(crate) fn sent(
        &mut self,
        at_ns: i64,
        length: i64,
        flight: Option<i64>,
        round_ns: i64,
        segment_size: i64,
    ) -> PaceVerdict {
        // The next burst can come slightly sooner than a round trip after the first segment of the
        // one before.
        let round_ns = (round_ns - round_ns / 10).max(LEAST_ROUND_NS);
        let start_ns = *self.start_ns.get_or_insert(at_ns);
        let mut verdict = PaceVerdict::Undecided;
        if at_ns - start_ns >= round_ns {
            let rounds = match flight {
                Some(_) => STEADY_ROUNDS,
                None => STEADY_ROUNDS_OF_BYTES,
            };
            verdict = self.judge(segment_size, rounds);
            self.start_ns = Some(at_ns);
            self.amount = 0;
        }
        self.amount = match flight {
            Some(flight) => self.amount.max(flight),
            None => self.amount.saturating_add(length),
        };
        verdict
    }

    fn judge(&mut self, segment_size: i64, rounds: u32) -> PaceVerdict {
        if self.has_lost || self.amount >= self.most.saturating_add(segment_size) {
            self.most = self.most.max(self.amount);
            self.rounds = 0;
            return PaceVerdict::Growing;
        }
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds >= rounds {
            PaceVerdict::Steady
        } else {
            PaceVerdict::Undecided
        }
    }
}
