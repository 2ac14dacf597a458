//! Two generations of a counter in the statistics store, compared.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::sleep;

use crate::model::counters::{CounterId, CounterKey, Difference};
use crate::storage::counters::CountersError;
use crate::storage::statistics::CounterStatistics;
use crate::storage::sums::PendingSums;

/// Numbers of a generation that are read together.
const PAGE: usize = 1_000;
/// While a flight is under way.
const PAUSE: Duration = Duration::from_millis(20);

/// How far the comparison of a counter is.
#[derive(Default)]
pub struct Compared {
    after: Option<CounterKey>,
    over: bool,
}

impl Compared {
    pub fn is_over(&self) -> bool {
        self.over
    }
}

/// Compares the next numbers. A flight changes both generations alike, but not at the same moment: what was read while one
/// was under way is read again.
pub async fn compare(
    statistics: &dyn CounterStatistics,
    sums: &dyn PendingSums,
    id: &CounterId,
    [current, next]: [u32; 2],
    compared: &mut Compared,
) -> Result<Vec<Difference>, CountersError> {
    loop {
        let before = sums.look().await?;
        if before.is_quiet() {
            let page = |generation| statistics.counter_page(generation, id.clone(), compared.after.clone(), PAGE);
            let (was, is) = (page(current).await?, page(next).await?);
            let after = sums.look().await?;
            if after.is_quiet() && after.last == before.last {
                return Ok(differences(was, is, compared));
            }
        }
        sleep(PAUSE).await;
    }
}

fn differences(was: Vec<(CounterKey, i64)>, is: Vec<(CounterKey, i64)>, compared: &mut Compared) -> Vec<Difference> {
    // Behind the end of a full page there may be more.
    let end = |page: &Vec<(CounterKey, i64)>| (page.len() == PAGE).then(|| page[PAGE - 1].0.clone());
    let end = end(&was).into_iter().chain(end(&is)).min();
    let mut numbers = BTreeMap::<CounterKey, (i64, i64)>::new();
    was.into_iter().for_each(|(key, number)| numbers.entry(key).or_default().0 = number);
    is.into_iter().for_each(|(key, number)| numbers.entry(key).or_default().1 = number);
    (compared.over, compared.after) = (end.is_none(), end.clone());
    let numbers = numbers.into_iter().filter(|(key, _)| end.as_ref().is_none_or(|end| key <= end));
    let differ = numbers.filter(|(_, (was, is))| was != is);
    differ.map(|(key, (was, is))| Difference { key, was, is }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> CounterKey {
        CounterKey::of([format!("{number:06}").as_str()]).unwrap()
    }

    #[test]
    fn pages_of_different_keys_are_compared_up_to_the_nearer_end() {
        let page = |numbers: Vec<usize>| numbers.into_iter().map(|number| (key(number), 1)).collect::<Vec<_>>();
        let mut compared = Compared::default();
        // Every second key is missing in one of them.
        let was = page((0..PAGE).collect());
        let is = page((0..PAGE).map(|number| 2 * number).collect());
        let found = differences(was, is, &mut compared);
        let expected =
            (0..PAGE).filter(|number| number % 2 == 1).map(|number| Difference { key: key(number), was: 1, is: 0 });
        assert_eq!(found, expected.collect::<Vec<_>>());
        assert_eq!((compared.after.clone(), compared.over), (Some(key(PAGE - 1)), false));
        let found = differences(page(vec![PAGE]), page(vec![PAGE, PAGE + 2]), &mut compared);
        assert_eq!(found, [Difference { key: key(PAGE + 2), was: 0, is: 1 }]);
        assert!(compared.is_over());
    }
}
