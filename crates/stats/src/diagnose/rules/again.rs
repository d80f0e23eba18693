//! What has to be seen in each measurement of a row.

/// Items in which something is seen whenever they are measured, or else, where there are none, those that
/// were measured only once; and whether they are the latter. `repeats` gives the further measurements of
/// an item.
pub(super) fn seen_again<Item, Seen>(
    items: impl Iterator<Item = Item>,
    look: impl Fn(&Item) -> Option<Seen>,
    repeats: impl Fn(&Item) -> Vec<Item>,
) -> (Vec<(Item, Seen)>, bool) {
    let (mut again, mut once) = (Vec::new(), Vec::new());
    for item in items {
        let Some(seen) = look(&item) else { continue };
        let repeats = repeats(&item);
        match repeats.is_empty() {
            true => once.push((item, seen)),
            false if repeats.iter().all(|repeat| look(repeat).is_some()) => {
                again.push((item, seen));
            }
            false => {}
        }
    }
    match again.is_empty() {
        true => (once, true),
        false => (again, false),
    }
}
