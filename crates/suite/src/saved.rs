//! Values that steps save for later ones: names, and where they have a value.

use crate::position::Position;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SavedName {
    pub(crate) name: String,
    /// Position of the first step that saves it.
    pub(crate) position: Position,
    /// Part of the test: `setup`, `loop` or `cleanup`.
    pub(crate) part: &'static str,
}

impl SavedName {
    /// The reason why it has no value where it is used.
    pub(crate) fn unfilled(&self) -> String {
        let SavedName {
            name,
            position,
            part,
        } = self;
        format!(
            "`{name}` has no value here: it is saved at line {}, in `{part}`; what a step saves can be used by steps \
             behind it in the same `setup` or iteration of `loop`, and by `cleanup` after the last iteration",
            position.line
        )
    }
}

/// Saved names that earlier steps may have given a value.
#[derive(Debug, Clone, Default)]
pub(crate) struct SavedSlots(Vec<bool>);

impl SavedSlots {
    /// The name has a value from here on.
    pub(crate) fn insert(&mut self, slot: usize) {
        if slot >= self.0.len() {
            self.0.resize(slot + 1, false);
        }
        self.0[slot] = true;
    }

    /// True if the name may have a value.
    pub(crate) fn contains(&self, slot: usize) -> bool {
        self.0.get(slot).copied().unwrap_or_default()
    }

    /// Adds names that have a value on another path.
    pub(crate) fn join(&mut self, other: &SavedSlots) {
        let others = other.0.iter().enumerate();
        for (slot, _) in others.filter(|(_, is_filled)| **is_filled) {
            self.insert(slot);
        }
    }
}
