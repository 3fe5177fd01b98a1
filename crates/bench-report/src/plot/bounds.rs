/// The most points of one line; of more, each group leaves its smallest and largest.
pub const MAX_POINTS: usize = 600;

/// The most rounds of one variant that a figure draws thin, the earliest ones.
pub const MAX_ROUNDS: usize = 8;

/// The most figures of one kind and metric that a matrix has, however many axes it has.
pub const MAX_FIGURES: usize = 12;
