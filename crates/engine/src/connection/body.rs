//! Use of the body of a response as it arrives: it is kept, compared, or counted.

use std::sync::Arc;

use html::MOST_BYTES;
use wire::response::ResponseHead;

/// Part of the body of a response that is kept to explain a failure.
const EXCERPT: usize = 2 * 1024;
/// Largest response that is kept: every 207 is read as a whole.
const LARGEST_KEPT: usize = 64 << 20;

/// Part of the body of a good response that is kept; a 207 is always kept, and of others an
/// excerpt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum KeptBody {
    /// Nothing: only its length is checked.
    #[default]
    Nothing,
    Excerpt,
    All,
    /// As much as is read of a page of HTML, and a byte more, which shows that there is more.
    Beginning,
    /// Nothing: it is compared with this while it arrives, which avoids a copy.
    Compared(Arc<[u8]>),
}

impl KeptBody {
    fn most(&self, head: &ResponseHead) -> usize {
        match (head.status, self) {
            (207, _) | (200..=299, KeptBody::All) => LARGEST_KEPT,
            (200..=299, KeptBody::Beginning) => MOST_BYTES + 1,
            (200..=299, KeptBody::Nothing | KeptBody::Compared(_)) => 0,
            _ => EXCERPT,
        }
    }
}

/// Difference of a body that is not kept from the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComparedBody {
    /// None, as far as both go.
    Alike,
    /// From this byte on.
    Differs(u64),
}

/// The body of a response in progress.
#[derive(Debug, Default)]
pub(super) struct BodyIntake {
    allowance: usize,
    expected: Option<Arc<[u8]>>,
    pub(super) length: u64,
    pub(super) compared: Option<ComparedBody>,
}

impl BodyIntake {
    pub(super) fn after(head: &ResponseHead, keep: &KeptBody) -> BodyIntake {
        let expected = match keep {
            KeptBody::Compared(expected) if (200..=299).contains(&head.status) => {
                (head.status != 207).then(|| Arc::clone(expected))
            }
            _ => None,
        };
        BodyIntake {
            allowance: keep.most(head),
            length: 0,
            compared: expected.as_ref().map(|_| ComparedBody::Alike),
            expected,
        }
    }

    /// Adds a piece, and puts the kept part of it into `body`.
    pub(super) fn take(&mut self, data: &[u8], body: &mut Vec<u8>) {
        let at = self.length;
        self.length += data.len() as u64;
        let kept = data.len().min(self.allowance);
        self.allowance -= kept;
        body.extend_from_slice(&data[..kept]);
        if let (Some(expected), Some(ComparedBody::Alike)) = (&self.expected, self.compared) {
            let left = usize::try_from(at).ok().and_then(|at| expected.get(at..));
            let left = left.unwrap_or_default();
            let both = left.len().min(data.len());
            if data[..both] != left[..both] {
                let mut pairs = data.iter().zip(left);
                let offset = pairs
                    .position(|(received, expected)| received != expected)
                    .unwrap_or(both);
                self.compared = Some(ComparedBody::Differs(at + offset as u64));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head(status: u16) -> ResponseHead {
        ResponseHead {
            status,
            ..ResponseHead::default()
        }
    }

    proptest! {
        /// For each way to cut a body into pieces, it differs where the whole does.
        #[test]
        fn pieces_are_compared_as_the_whole(
            expected in prop::collection::vec(0_u8..4, 0..60),
            received in prop::collection::vec(0_u8..4, 0..60),
            cuts in prop::collection::vec(1_usize..9, 1..60),
        ) {
            let keep = KeptBody::Compared(expected.as_slice().into());
            let mut intake = BodyIntake::after(&head(200), &keep);
            let (mut left, mut body) = (received.as_slice(), Vec::new());
            for cut in cuts.iter().cycle() {
                let (piece, rest) = left.split_at((*cut).min(left.len()));
                intake.take(piece, &mut body);
                left = rest;
                if left.is_empty() {
                    break;
                }
            }
            let offset = received.iter().zip(&expected).position(|(a, b)| a != b);
            let found = offset.map_or(ComparedBody::Alike, |at| ComparedBody::Differs(at as u64));
            prop_assert_eq!(intake.compared, Some(found));
            prop_assert_eq!(intake.length, received.len() as u64);
            prop_assert!(body.is_empty());
        }
    }

    #[test]
    fn what_explains_a_failure_is_kept_and_not_compared() {
        let keep = KeptBody::Compared(b"expected".as_slice().into());
        for (status, kept) in [(404, 2048), (207, 5000), (200, 0)] {
            let mut intake = BodyIntake::after(&head(status), &keep);
            let mut body = Vec::new();
            intake.take(&[7; 5000], &mut body);
            assert_eq!(body.len(), kept, "{status}");
            assert_eq!(intake.compared.is_some(), status == 200);
        }
    }
}
