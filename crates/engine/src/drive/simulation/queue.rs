//! The queueing model that runs are compared with: users or connections, one queue, processors.
//! Written independently, so that its errors would be different ones.

use record::Nanos;

/// A station of this many processors that serve in the order of arrival.
#[derive(Clone)]
pub(super) struct Station {
    free: Vec<Nanos>,
}

impl Station {
    pub(super) fn new(processors: usize) -> Station {
        Station {
            free: vec![0; processors],
        }
    }

    /// Departure of a customer with this arrival and work. Arrivals come in order.
    pub(super) fn leaves(&mut self, arrival: Nanos, work: Nanos) -> Nanos {
        let first = self.free.iter().enumerate().min_by_key(|(_, free)| **free);
        let (index, free) = first.unwrap();
        let leaves = arrival.max(*free) + work;
        self.free[index] = leaves;
        leaves
    }
}

/// When the operations of a closed loop begin and end: `users` begin at `begun`, each begins its
/// next when its last has ended. Sorted.
pub(super) fn closed(
    users: usize,
    processors: usize,
    begun: Nanos,
    work: &[Nanos],
) -> Vec<(Nanos, Nanos)> {
    let mut station = Station::new(processors);
    let mut ready = vec![begun; users];
    let mut spans = Vec::new();
    for work in work {
        let next = ready.iter().enumerate().min_by_key(|(_, ready)| **ready);
        let (user, begins) = next.map(|(user, ready)| (user, *ready)).unwrap();
        let leaves = station.leaves(begins, *work);
        ready[user] = leaves;
        spans.push((begins, leaves));
    }
    spans.sort_unstable();
    spans
}

/// Results of planned operations of an open loop.
pub(super) struct OpenModel {
    /// Planned, begun, ended; in the order of the schedule.
    pub(super) done: Vec<(Nanos, Nanos, Nanos)>,
    /// Number of those for which there was no room.
    pub(super) dropped: usize,
}

/// Planned moments on this many connections to this many processors, of which a limited number may
/// wait for a connection.
pub(super) fn open(
    planned: &[Nanos],
    connections: usize,
    room: usize,
    processors: usize,
    work: &[Nanos],
) -> OpenModel {
    let mut station = Station::new(processors);
    let mut free = vec![0; connections];
    let (mut done, mut dropped): (Vec<(Nanos, Nanos, Nanos)>, usize) = (Vec::new(), 0);
    for planned in planned {
        // Earlier ones without a connection yet.
        let waiting = done.iter().filter(|(_, begun, _)| begun > planned).count();
        let free_at = free.iter().copied().enumerate();
        let (index, at) = free_at.min_by_key(|(_, free)| *free).unwrap();
        if at > *planned && waiting >= room {
            dropped += 1;
            continue;
        }
        let begun = at.max(*planned);
        let ended = station.leaves(begun, work[done.len()]);
        free[index] = ended;
        done.push((*planned, begun, ended));
    }
    OpenModel { done, dropped }
}
