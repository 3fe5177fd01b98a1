use units::Rng;

/// The order in which the rounds of a test run: blocks of one round per variant, every second
/// block the mirror of the one before it.
///
/// For two variants that is `A B B A` or `B A A B`, the seed says which. Mirrored blocks give each
/// variant the same mean place in time, so that a steady drift of the machine or the path cancels;
/// the draw keeps the variants from always meeting the same phase of something periodic.
///
/// ```
/// use bench_report::stats::Schedule;
/// let order: String = Schedule::new(1, 2, 4)
///     .map(|slot| if slot.variant == 0 { 'a' } else { 'b' })
///     .collect();
/// assert!(["abba", "baab"].contains(&&order[..4]));
/// assert!(["abba", "baab"].contains(&&order[4..]));
/// ```
#[derive(Debug, Clone)]
pub struct Schedule {
    seed: u64,
    is_independent: bool,
    blocks: u32,
    next_block: u32,
    next_order: u32,
    /// Of the present block; drained from its end.
    queue: Vec<usize>,
    /// The permutation of the latest block, in the order it ran.
    latest: Vec<usize>,
}

/// One round to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The block, from 0.
    pub block: u32,
    /// The place among all rounds, from 0.
    pub order: u32,
    /// The index of the variant.
    pub variant: usize,
    /// What this round draws its random numbers from. All rounds of a block have the same, so
    /// that the link loses and delays by the same draws for each variant, unless the schedule is
    /// [independent](Schedule::independent).
    pub seed: u64,
}

impl Schedule {
    /// `rounds` blocks with one round of each of `variants`.
    pub fn new(seed: u64, variants: usize, rounds: u32) -> Self {
        Self {
            seed,
            is_independent: false,
            blocks: rounds,
            next_block: 0,
            next_order: 0,
            queue: Vec::new(),
            latest: (0..variants).collect(),
        }
    }

    /// The same order, in which each round draws its random numbers for itself.
    #[must_use]
    pub fn independent(self) -> Self {
        Self {
            is_independent: true,
            ..self
        }
    }

    fn start_block(&mut self, block: u32) {
        if block.is_multiple_of(2) {
            shuffle(
                &mut self.latest,
                &mut Rng::derive(self.seed, ORDERS + u64::from(block)),
            );
        } else {
            self.latest.reverse();
        }
        self.queue = self.latest.iter().rev().copied().collect();
    }
}

impl Iterator for Schedule {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        if self.queue.is_empty() && self.next_block < self.blocks {
            self.start_block(self.next_block);
            self.next_block += 1;
        }
        let variant = self.queue.pop()?;
        let (block, order) = (self.next_block - 1, self.next_order);
        self.next_order += 1;
        let of_block = Rng::derive(self.seed, ROUND_SEEDS + u64::from(block)).next_u64();
        let seed = if self.is_independent {
            Rng::derive(of_block, variant as u64).next_u64()
        } else {
            of_block
        };
        Some(Slot {
            block,
            order,
            variant,
            seed,
        })
    }
}

/// Fisher and Yates: every permutation equally likely.
fn shuffle(items: &mut [usize], rng: &mut Rng) {
    for last in (1..items.len()).rev() {
        let other = usize::try_from(rng.below(last as u64 + 1)).expect("below a usize");
        items.swap(last, other);
    }
}

/// Where the labels of the blocks' orders begin.
const ORDERS: u64 = 1 << 32;

/// Where the labels of the blocks' seeds begin.
const ROUND_SEEDS: u64 = 2 << 32;
