//! Whether an end sends as much as its congestion window permits, by what it sends in each round trip. Pure.
//!
//! Without a loss, a congestion window that limits its sender grows: by a segment in each round trip, or faster (RFC 5681,
//! section 3.1), and it does not grow while it limits nobody (RFC 7661). So a sender that sends the same or less in each
//! round trip, and lost nothing, is held back by something else: its program, its send buffer, or a pace that its
//! congestion control computes (BBR).

/// Round trips without growth from which on the pace is steady. CUBIC can take some of them for a segment (RFC 9438,
/// section 4.3).
const STEADY_ROUNDS: u32 = 10;

/// The same, where what is in flight does not show: bytes of a round trip vary with its length.
const STEADY_ROUNDS_OF_BYTES: u32 = 20;

/// No round is shorter.
const LEAST_ROUND_NS: i64 = 1_000_000;

/// What the pace says about the waits of a sender since the last verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PaceVerdict {
    /// It sends more in each round trip, or has lost something: its congestion window limits it.
    Growing,
    /// Not known yet.
    Undecided,
    /// It sends no more than before.
    Steady,
}

/// What an end sends in each round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SendingPace {
    /// When the round began.
    start_ns: Option<i64>,
    /// The most in flight in it, or bytes that passed in it so far.
    amount: i64,
    /// That of the round with the most.
    most: i64,
    /// Rounds since then.
    rounds: u32,
    has_lost: bool,
}

impl SendingPace {
    /// A segment was lost: from now on the window is smaller, and grows slowly.
    pub(crate) fn lost(&mut self) {
        self.has_lost = true;
    }

    /// Behind a pause the window starts small again.
    pub(crate) fn restart(&mut self) {
        *self = SendingPace {
            has_lost: self.has_lost,
            ..SendingPace::default()
        };
    }

    /// New bytes pass. `flight`: with them, where that shows. `round_ns`: how long a round trip takes.
    pub(crate) fn sent(
        &mut self,
        at_ns: i64,
        length: i64,
        flight: Option<i64>,
        round_ns: i64,
        segment_size: i64,
    ) -> PaceVerdict {
        // The next burst can come a little sooner than a round trip behind the first segment of the one before.
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
