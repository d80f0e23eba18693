//! Call chains as the kernel writes them: addresses from the innermost function outwards, and marks
//! between them.

/// Marks have the highest numbers that there are (`PERF_CONTEXT_MAX` in `linux/perf_event.h`).
const FIRST_MARK: u64 = -4095_i64 as u64;
const KERNEL: u64 = -128_i64 as u64;
const USER: u64 = -512_i64 as u64;

/// Most functions of each of both parts that are kept, the innermost ones.
pub(super) const MOST_FRAMES: usize = 64;

/// The addresses of a call chain, from the innermost function outwards. Those of callers are of the
/// instruction before the return address, so that they lie in the calling function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct CallChain {
    pub(super) kernel: Vec<u64>,
    pub(super) user: Vec<u64>,
}

impl CallChain {
    /// A chain without the addresses behind unknown marks, such as that of a virtual machine.
    pub(super) fn of(addresses: &[u64]) -> CallChain {
        let mut chain = CallChain::default();
        let mut mark = USER;
        for &address in addresses {
            if address >= FIRST_MARK {
                mark = address;
                continue;
            }
            let part = match mark {
                KERNEL => &mut chain.kernel,
                USER => &mut chain.user,
                _ => continue,
            };
            if part.len() < MOST_FRAMES {
                let is_caller = !part.is_empty();
                part.push(address.saturating_sub(u64::from(is_caller)));
            }
        }
        chain
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_tell_the_kernel_from_the_program() {
        let guest = -2048_i64 as u64;
        let chain = CallChain::of(&[KERNEL, 0xf0, 0xf5, USER, 0x10, 0x20, 0, guest, 0x30]);
        assert_eq!(chain.kernel, [0xf0, 0xf4]);
        assert_eq!(chain.user, [0x10, 0x1f, 0]);
        assert_eq!(CallChain::of(&[]), CallChain::default());
        assert_eq!(CallChain::of(&[0x10]).user, [0x10]);
    }

    proptest! {
        #[test]
        fn no_chain_panics_or_grows(
            addresses in prop::collection::vec(prop_oneof![any::<u64>(), Just(KERNEL), Just(USER), FIRST_MARK..], 0..500)
        ) {
            let chain = CallChain::of(&addresses);
            prop_assert!(chain.kernel.len() <= MOST_FRAMES && chain.user.len() <= MOST_FRAMES);
            let marks = chain.kernel.iter().chain(&chain.user).filter(|address| **address >= FIRST_MARK);
            prop_assert_eq!(marks.count(), 0);
        }
    }
}
