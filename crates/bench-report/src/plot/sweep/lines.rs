use super::super::figure::{Figure, LEFT, RIGHT};
use super::super::grid::Point;
use super::super::legend::{self, LegendSymbol};
use super::super::panel::{Inside, Panel, Reference, XLABELS};
use super::super::series::Series;
use super::super::svg::{BOLD, Svg, fitting};
use super::numbers::Numbers;
use super::state::Sweep;
use crate::result::Summary;

impl Sweep<'_> {
    /// The same where the main axis has numbers: a line per contender, with its intervals.
    pub(super) fn lines(
        &self,
        numbers: &Numbers,
        condition: &str,
        points: &[&Point<'_>],
    ) -> Figure {
        let axis = self.grid.axes[self.along];
        let heading = fitting(&self.heading(condition), (RIGHT - LEFT) / BOLD);
        let values = self.values.clone();
        let panel = Panel::new(heading, 0.0, HEIGHT, numbers.axis(axis), values);
        let mut svg = Svg::default();
        panel.frame(&mut svg);
        let bound = self.bound(numbers, points);
        panel.area(&mut svg, |svg, inside| {
            if let Some(bound) = &bound {
                inside.line(svg, "reference", &self.scaled(bound));
            }
            for place in 0..self.grid.contenders.len() {
                self.line(svg, inside, place, numbers, points);
            }
        });
        if let Some(rate) = self.link_rate(points).filter(|_| bound.is_none()) {
            let reference = Reference::ceiling("link", rate, self.scale);
            panel.labelled_reference(&mut svg, &reference);
        }
        panel.x_labels(&mut svg, &fitting(&axis.name, RIGHT - LEFT));
        let mut entries = self.entries(LegendSymbol::line);
        if bound.is_some() {
            entries.push((
                LegendSymbol::Line("reference".to_owned()),
                "rate × (1 − loss)".to_owned(),
            ));
        }
        let height = panel.bottom() + XLABELS + 2.0;
        let legend = legend::rows(&mut svg, height, &entries);
        Figure::new(self.title(condition), height + legend, svg)
    }

    fn line(
        &self,
        svg: &mut Svg,
        inside: &Inside<'_>,
        place: usize,
        numbers: &Numbers,
        points: &[&Point<'_>],
    ) {
        let style = self.style(place);
        let x = |point: &Point<'_>| numbers.drawn(point.at[self.along]);
        let mut values: Vec<(f64, Summary)> = points
            .iter()
            .filter_map(|point| Some((x(point), self.measure.of(point, place)?)))
            .collect();
        values.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let line = |of: fn(&Summary) -> f64| values.iter().map(move |(x, s)| (*x, of(s)));
        let medians = Series(vec![line(|s| s.median.get()).collect()]);
        for (x, summary) in &values {
            if let Some((low, high)) = summary.low.zip(summary.high) {
                let ends = [(*x, low.get()), (*x, high.get())];
                let whisker = self.scaled(&Series(vec![ends.to_vec()]));
                inside.line(svg, &format!("whisker {}", style.class), &whisker);
            }
        }
        inside.line(
            svg,
            &format!("bold {}", style.class),
            &self.scaled(&medians),
        );
        for (x, summary) in &values {
            let at = inside.point(*x, summary.median.get() / self.scale.divisor);
            style.mark(svg, "", at, 3.0);
        }
    }

    fn scaled(&self, series: &Series) -> Series {
        series.clone().divided_by(self.scale.divisor)
    }

    /// What no sender can exceed where a share of the packets is lost.
    fn bound(&self, numbers: &Numbers, points: &[&Point<'_>]) -> Option<Series> {
        let rate = self.link_rate(points)?;
        if numbers.unit != "%" || !self.grid.axes[self.along].name.contains("loss") {
            return None;
        }
        let (low, high) = numbers.extent();
        let steps = (0..=BOUND_STEPS).map(|step| f64::from(step) / f64::from(BOUND_STEPS));
        let losses = steps.map(|share| match numbers.is_log {
            true => low * (high / low).powf(share),
            false => low + (high - low) * share,
        });
        let bound = losses.map(|loss| (loss, rate * (1.0 - loss / 100.0).max(0.0)));
        Some(Series(vec![bound.collect()]))
    }
}

const HEIGHT: f64 = 190.0;

/// A curve of so many pieces looks smooth.
const BOUND_STEPS: u32 = 60;
