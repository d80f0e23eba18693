//! The number of users that a load has next, from the measurements with its current users.
//!
//! ```text
//! users
//!   |        .-- lower was true: from here on, an eighth at a time
//!   |     .--'  '--.  .--
//!   |   .-'        '--'      neither is true: they stay (hysteresis)
//!   | .-'  raise is true: twice as many each time
//!   +--------------------- time, in steps of `every`
//! ```

/// Result of `raise` and `lower`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadWish {
    /// There can be more users.
    pub raise: bool,
    /// There are too many.
    pub lower: bool,
}

/// The number of users of a load that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adaptation {
    least: u32,
    most: u32,
    users: u32,
    /// Numbers that follow, the next one last; `None` where wishes decide.
    ladder: Option<Vec<u32>>,
    /// There were too many once: steps are small from then on.
    is_near: bool,
}

impl Adaptation {
    /// By wishes, from the fewest users on.
    pub fn steered(least: u32, most: u32) -> Adaptation {
        Adaptation {
            least,
            most,
            users: least,
            ladder: None,
            is_near: false,
        }
    }

    /// By a list of numbers of users, at least one.
    pub fn ladder(rungs: &[u32]) -> Adaptation {
        let first = rungs.first().copied().unwrap_or(1);
        Adaptation {
            least: 1,
            most: u32::MAX,
            users: first,
            ladder: Some(rungs.iter().skip(1).rev().copied().collect()),
            is_near: false,
        }
    }

    /// Users now.
    pub fn users(&self) -> u32 {
        self.users
    }

    /// Another step: users from now on.
    pub fn step(&mut self, wish: LoadWish) -> u32 {
        if let Some(rungs) = &mut self.ladder {
            self.users = rungs.pop().unwrap_or(self.users);
            return self.users;
        }
        let wanted = match wish {
            LoadWish { lower: true, .. } => {
                // The first one comes behind a doubling, of which half was known to be fine.
                let is_first = !std::mem::replace(&mut self.is_near, true);
                let divisor = if is_first { 4 } else { 8 };
                self.users.saturating_sub((self.users / divisor).max(1))
            }
            LoadWish { raise: true, .. } if self.is_near => {
                self.users.saturating_add((self.users / 8).max(1))
            }
            LoadWish { raise: true, .. } => self.users.saturating_mul(2),
            LoadWish { .. } => self.users,
        };
        self.users = wanted.clamp(self.least, self.most);
        self.users
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of the users of a server with capacity for `room`, which is fine below 90 % of it.
    fn courses(room: u32, most: u32) -> Vec<u32> {
        let mut load = Adaptation::steered(1, most);
        let step = |_| {
            let users = load.users();
            load.step(LoadWish {
                raise: f64::from(users) < 0.9 * f64::from(room),
                lower: users > room,
            })
        };
        (0..40).map(step).collect()
    }

    #[test]
    fn a_load_grows_until_it_is_too_much_and_stays_where_neither_is_wished() {
        assert_eq!(courses(6, 64)[..6], [2, 4, 8, 6, 6, 6]);
        for room in [10, 37, 100, 1000] {
            let course = courses(room, 4000);
            let end = course[course.len() - 1];
            assert!(
                end <= room && f64::from(end) >= 0.9 * f64::from(room),
                "{room}: {course:?}"
            );
            assert!(
                course
                    .windows(2)
                    .rev()
                    .take(10)
                    .all(|pair| pair[0] == pair[1]),
                "{course:?}"
            );
        }
        assert_eq!(courses(1000, 16).last(), Some(&16));
        assert_eq!(courses(0, 16).last(), Some(&1));
    }

    #[test]
    fn a_ladder_is_climbed_and_the_last_rung_is_kept() {
        let mut load = Adaptation::ladder(&[1, 8, 2]);
        let none = LoadWish {
            raise: false,
            lower: true,
        };
        assert_eq!(load.users(), 1);
        assert_eq!(
            [load.step(none), load.step(none), load.step(none)],
            [8, 2, 2]
        );
    }
}
