use super::axis::Linear;
use super::figure::{Figure, LEFT, RIGHT};
use super::legend::LegendSymbol;
use super::panel::{HEADING, Panel, TIME, XLABELS};
use super::series::Series;
use super::series_style::SeriesStyle;
use super::svg::{Anchor, Svg};
use super::variants::{self, drawn};
use crate::result::{AbResult, Round, Variant};
use crate::stats::jain_index;

/// How variants that ran at once shared the goodput over time, and Jain's index of fairness over
/// their connections: of the block whose index is the median. `None` when they did not compete, or
/// no block has a time series of each.
///
/// Goodput is joined over at least half a second. The index is over the connections that had
/// started, those of a variant taken for equal.
pub fn share(result: &AbResult) -> Option<Figure> {
    result.competition.as_ref()?;
    let blocks = blocks(result);
    let chosen = median_block(result, &blocks)?;
    let end = chosen.bins.len() as f64 * chosen.width;
    let time = Linear::exact(0.0, end, 6);
    let mut svg = Svg::default();
    let shares = Linear::exact(0.0, 100.0, 4);
    let heading = "Share of goodput, %".to_owned();
    let panel = Panel::new(heading, 0.0, SHARE_HEIGHT, time.clone(), shares).over_time();
    panel.frame(&mut svg);
    panel.area(&mut svg, |svg, inside| {
        for (place, (_, style)) in drawn(result).enumerate() {
            let edge = |upper| chosen.edge(place, upper);
            let mut corners: Vec<(f64, f64)> = edge(true);
            corners.extend(edge(false).into_iter().rev());
            let corners: Vec<(f64, f64)> =
                corners.iter().map(|&(x, y)| inside.point(x, y)).collect();
            svg.polygon(&format!("{}-fill area", style.class), &corners);
        }
    });
    for (place, (variant, _)) in drawn(result).enumerate() {
        letter(
            &mut svg,
            &panel,
            &chosen.edge(place, true),
            &chosen.edge(place, false),
            &variant.name,
        );
    }
    let top = panel.bottom() + 8.0;
    let index = Panel::new(
        "Jain's index".to_owned(),
        top,
        INDEX_HEIGHT,
        time,
        Linear::exact(0.0, 1.05, 4),
    )
    .over_time();
    index.frame(&mut svg);
    index.area(&mut svg, |svg, inside| {
        for block in blocks
            .iter()
            .filter(|block| block.number != chosen.number)
            .take(super::MAX_ROUNDS)
        {
            inside.line(svg, "thin second", &Series(vec![block.index()]));
        }
        inside.line(svg, "bold second", &Series(vec![chosen.index()]));
    });
    index.x_labels(&mut svg, TIME);
    let height = index.bottom() + XLABELS;
    let area = |style: SeriesStyle| LegendSymbol::Area(format!("{}-fill", style.class));
    let legend = variants::legend(&mut svg, result, area, 0.0, height);
    let title = "Share of goodput and Jain's index over time".to_owned();
    Some(Figure::new(title, height + legend, svg))
}

/// A variant's letter where its band is highest, if that is high enough.
fn letter(svg: &mut Svg, panel: &Panel, upper: &[(f64, f64)], lower: &[(f64, f64)], name: &str) {
    let thickness = |index: usize| upper[index].1 - lower[index].1;
    // Not at an edge, where the letter would be cut.
    let inner = upper.len() / 20..upper.len() - upper.len() / 20;
    let Some(index) = inner.max_by(|a, b| thickness(*a).total_cmp(&thickness(*b))) else {
        return;
    };
    if thickness(index) / 100.0 * SHARE_HEIGHT >= 15.0 {
        let middle = f64::midpoint(upper[index].1, lower[index].1);
        let (x, y) = panel.place(upper[index].0, middle);
        let x = x.clamp(LEFT + 8.0, RIGHT - 8.0);
        svg.text(
            "inverse",
            (x, y + 4.0),
            Anchor::Middle,
            &super::svg::fitting(name, 40.0),
        );
    }
}

/// One block of the competition, in equal stretches of time.
struct Block {
    number: u32,
    width: f64,
    /// The goodput of each variant in each stretch, in bits per second.
    bins: Vec<Vec<f64>>,
    /// How many connections each variant has, and since when.
    flows: Vec<(usize, f64)>,
}

impl Block {
    /// `None` when a variant has no time series in this block.
    fn of(result: &AbResult, number: u32) -> Option<Self> {
        let rounds: Option<Vec<(&Variant, &Round)>> = drawn(result)
            .map(|(variant, _)| {
                let of_block =
                    |round: &&Round| round.block == number && !round.intervals.is_empty();
                Some((variant, variant.rounds.iter().find(of_block)?))
            })
            .collect();
        let rounds = rounds.filter(|rounds| rounds.len() > 1)?;
        let ends = rounds
            .iter()
            .filter_map(|(_, round)| Some(round.intervals.last()?.t.get()));
        let end = ends.fold(0.0, f64::max);
        let count = ((end / SHORTEST).floor() as usize).clamp(1, MAX_BINS);
        let width = end / count as f64;
        let mut bins = vec![vec![0.0; rounds.len()]; count];
        for (place, (_, round)) in rounds.iter().enumerate() {
            for interval in &round.intervals {
                let to = interval.t.get();
                let stretch = (to - interval.seconds.get(), to);
                let goodput = interval.goodput_bits_per_second as f64;
                spread(&mut bins, place, width, stretch, goodput);
            }
        }
        let flows = rounds.iter().map(|(variant, _)| {
            let flows = variant.flows.clamp(1, MAX_FLOWS);
            (flows as usize, variant.start_seconds.get())
        });
        Some(Self {
            number,
            width,
            bins,
            flows: flows.collect(),
        })
    }

    /// The lower or upper edge of a variant's band, in percent, over time.
    fn edge(&self, place: usize, is_upper: bool) -> Vec<(f64, f64)> {
        let below = place + usize::from(is_upper);
        let share = |bin: &Vec<f64>| {
            let total: f64 = bin.iter().sum();
            let part: f64 = bin[..below].iter().sum();
            if total > 0.0 {
                part / total * 100.0
            } else {
                0.0
            }
        };
        let middle = |index: usize| (index as f64 + 0.5) * self.width;
        let bins = self.bins.iter().enumerate();
        let edge = bins.map(|(index, bin)| (middle(index), share(bin)));
        let mut edge: Vec<(f64, f64)> = edge.collect();
        // The first and the last stretch are filled to their ends.
        if let [(first, _), .., (last, _)] = edge.as_mut_slice() {
            *first = 0.0;
            *last += self.width / 2.0;
        }
        edge
    }

    /// Jain's index over the connections that had started in each stretch.
    fn index(&self) -> Vec<(f64, f64)> {
        let bins = self.bins.iter().enumerate();
        bins.filter_map(|(index, bin)| {
            let middle = (index as f64 + 0.5) * self.width;
            let variants = bin.iter().zip(&self.flows);
            let started = variants.filter(|(_, (_, start))| *start <= middle);
            let rates = started.flat_map(|(goodput, (flows, _))| {
                std::iter::repeat_n(goodput / *flows as f64, *flows)
            });
            let index = jain_index(&rates.collect::<Vec<_>>())?;
            Some((middle, index))
        })
        .collect()
    }
}

/// Adds a rate that held over a stretch of time to the bins that it overlaps.
fn spread(bins: &mut [Vec<f64>], place: usize, width: f64, (from, to): (f64, f64), rate: f64) {
    let first = (from.max(0.0) / width).floor() as usize;
    let last = (to / width).ceil() as usize;
    let end = last.min(bins.len());
    for (index, bin) in bins.iter_mut().enumerate().take(end).skip(first) {
        let (left, right) = (index as f64 * width, (index + 1) as f64 * width);
        let overlap = (to.min(right) - from.max(left)).max(0.0);
        bin[place] += rate * overlap / width;
    }
}

fn blocks(result: &AbResult) -> Vec<Block> {
    let first = result.variants.first();
    let numbers = first
        .iter()
        .flat_map(|variant| &variant.rounds)
        .map(|round| round.block);
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
        .into_iter()
        .filter_map(|number| Block::of(result, number))
        .collect()
}

/// The block of the median index, of an even number the less fair of the middle two; the first one
/// where the index is not known.
fn median_block<'a>(result: &AbResult, blocks: &'a [Block]) -> Option<&'a Block> {
    let rounds = &result.competition.as_ref()?.rounds;
    let known = blocks.iter().filter_map(|block| {
        let round = rounds.iter().find(|round| round.block == block.number)?;
        Some((round.jain_index.get(), block))
    });
    let mut known: Vec<(f64, &Block)> = known.collect();
    known.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    match known.len() {
        0 => blocks.first(),
        count => Some(known[(count - 1) / 2].1),
    }
}

const SHARE_HEIGHT: f64 = 160.0;
const INDEX_HEIGHT: f64 = 190.0 - SHARE_HEIGHT + 2.0 * HEADING;
/// The shortest stretch that is drawn, in seconds: a few round trips of most paths.
const SHORTEST: f64 = 0.5;
const MAX_BINS: usize = 240;
/// More than a test may have.
const MAX_FLOWS: u32 = 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn block(bins: &[[f64; 2]], flows: [(usize, f64); 2]) -> Block {
        Block {
            number: 0,
            width: 1.0,
            bins: bins.iter().map(|bin| bin.to_vec()).collect(),
            flows: flows.to_vec(),
        }
    }

    #[test]
    fn a_rate_counts_in_every_stretch_that_it_overlaps() {
        let mut bins = vec![vec![0.0]; 3];
        spread(&mut bins, 0, 1.0, (0.5, 2.0), 10.0);
        assert_eq!(bins, [[5.0], [10.0], [0.0]]);
        spread(&mut bins, 0, 1.0, (-1.0, 9.0), 1.0);
        assert_eq!(bins, [[6.0], [11.0], [1.0]]);
    }

    #[test]
    fn the_bands_lie_on_each_other_and_fill_the_panel() {
        let block = block(&[[30.0, 10.0], [0.0, 0.0]], [(1, 0.0); 2]);
        assert_eq!(block.edge(0, false), [(0.0, 0.0), (2.0, 0.0)]);
        assert_eq!(block.edge(0, true), block.edge(1, false));
        assert_eq!(block.edge(1, true), [(0.0, 100.0), (2.0, 0.0)]);
    }

    #[test]
    fn the_index_is_jains_over_those_that_have_started() {
        // One connection with all of two has a half; three equal ones have one.
        let alone = block(&[[8.0, 0.0]], [(1, 0.0), (1, 0.0)]);
        assert_eq!(alone.index(), [(0.5, 0.5)]);
        let equal = block(&[[2.0, 1.0]], [(2, 0.0), (1, 0.0)]);
        assert_eq!(equal.index(), [(0.5, 1.0)]);
        let later = block(&[[8.0, 0.0]], [(1, 0.0), (1, 5.0)]);
        assert_eq!(later.index(), [(0.5, 1.0)]);
    }

    #[test]
    fn only_a_competition_with_time_series_has_shares() {
        assert!(share(&fixtures::ab()).is_none());
        let mut result = fixtures::competition();
        assert!(share(&result).is_some());
        result.variants[1].rounds.clear();
        assert!(share(&result).is_none());
    }

    #[test]
    fn the_drawn_block_is_that_of_the_median_index() {
        let mut result = fixtures::competition();
        let number = |result: &AbResult| {
            let blocks = blocks(result);
            median_block(result, &blocks).map(|block| block.number)
        };
        // The indices of the blocks are 0.9, 0.5 and 0.7.
        assert_eq!(number(&result), Some(2));
        result.competition.as_mut().unwrap().rounds.pop();
        assert_eq!(number(&result), Some(1));
    }
}
