//! More than two variants by their goodput.

use super::*;

#[test]
fn more_than_two_variants_are_ranked_in_eighty_columns() {
    let result = fixtures::five();
    let table = ab_table(&result);
    let (_, ranked) = table.split_once("No. By goodput ").unwrap();
    let head = ranked.lines().next().unwrap();
    assert!(head.ends_with(" Mbit/s p95 RTT ms  Against a"), "{table}");
    let places = ranked.lines().skip(1).take_while(|line| !line.is_empty());
    assert_eq!(places.count(), result.variants.len());
    assert!(ranked.contains("the reference"), "{ranked}");
    let longest = table.lines().map(|line| line.chars().count()).max();
    assert!(longest.unwrap() <= 80, "{table}");
    assert!(!ab_table(&fixtures::ab()).contains("By goodput"));
}

#[test]
fn the_ranking_shows_by_what_its_variants_differ() {
    let mut result = fixtures::five();
    let parameters = ["0.8", "0.9", "0.85", "0.75"];
    for (variant, beta) in result.variants.iter_mut().skip(1).zip(parameters) {
        variant.cc = format!("bbr3:beta={beta}");
    }
    let table = ab_table(&result);
    let (_, ranked) = table.split_once("By goodput").unwrap();
    for beta in parameters {
        assert!(ranked.contains(&format!("bbr3:beta={beta} ")), "{ranked}");
    }
    result.variants[1].cc = format!("bbr3:{}beta=1", "startup_pacing_gain=2,".repeat(4));
    let table = ab_table(&result);
    let (_, ranked) = table.split_once("By goodput").unwrap();
    assert!(ranked.contains('…'), "{ranked}");
    let longest = table.lines().map(|line| line.chars().count()).max();
    assert!(longest.unwrap() <= 80, "{table}");
}

#[test]
fn variants_that_are_equally_good_are_no_lack_of_rounds() {
    let with_third = |third: &[u64]| {
        let mut result = fixtures::ab_of(&[20; 8], &[90; 8]);
        let mut c = fixtures::ab_of(&[], third).variants[1].clone();
        c.name = "c".to_owned();
        c.cc = "copa".to_owned();
        result.variants.push(c);
        stats::conclude(&mut result);
        stats::verdict(&result)
    };
    let two = with_third(&[90; 8]);
    assert!(
        two.ends_with("bbr3 and copa have the most goodput."),
        "{two}"
    );
    let one = with_third(&[50; 8]);
    assert!(one.ends_with("bbr3 has the most goodput."), "{one}");
    let mut all = fixtures::ab_of(&[90; 8], &[90; 8]);
    let mut third = all.variants[1].clone();
    third.name = "c".to_owned();
    all.variants.push(third);
    stats::conclude(&mut all);
    let all = stats::verdict(&all);
    assert!(all.ends_with("All have the same goodput."), "{all}");
}

#[test]
fn of_those_with_the_same_goodput_the_one_with_less_delay_comes_first() {
    let mut result = fixtures::five();
    for (variant, (goodput, rtt)) in result.variants.iter_mut().zip([
        (19_000_000, 80.0),
        (19_004_000, 83.0),
        (5, 1.0),
        (6, 1.0),
        (7, 1.0),
    ]) {
        for round in &mut variant.rounds {
            round.goodput_bits_per_second = goodput;
            round.rtt_ms.p95 = Some(finite(rtt));
        }
    }
    stats::conclude(&mut result);
    let ranking = stats::ranking(&result).unwrap();
    let names = ranking.places.iter().map(|(variant, _)| &variant.name[..]);
    assert_eq!(names.collect::<String>(), "abedc");
}

#[test]
fn a_label_is_whole_for_all_or_for_none_and_keeps_the_value() {
    let mut result = fixtures::five();
    result.variants.truncate(3);
    let ccs = [
        "bbr3:startup_pacing_gain=2",
        "bbr3:startup_pacing_gain=3",
        "cubic",
    ];
    for (variant, cc) in result.variants.iter_mut().zip(ccs) {
        variant.cc = cc.to_owned();
    }
    let table = ab_table(&result);
    for end in ["gain=2 ", "gain=3 "] {
        assert!(table.contains(end), "{table}");
    }
    result.variants[1].cc = format!("{},loss_thresh=0.03", ccs[0]);
    let table = ab_table(&result);
    for label in ["a: bbr3  ", "b: bbr3:loss_thresh=0.03 "] {
        assert!(table.contains(label), "{table}");
    }
}
