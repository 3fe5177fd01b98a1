//! The right word for a misspelt one.

use alloc::vec::Vec;

/// The candidate that `word` was most probably meant to be: the one with the fewest letters
/// inserted, deleted or replaced, if they are at most half of the word and three in all.
#[inline]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 2).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (edits(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance, one row of the table at a time.
#[inline]
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_edits_win_and_strangers_are_refused() {
        let words = ["delay", "loss", "rate", "limit"];
        assert_eq!(nearest("dely", words), Some("delay"));
        assert_eq!(nearest("los", words), Some("loss"));
        assert_eq!(nearest("bandwidth", words), None);
    }
}
