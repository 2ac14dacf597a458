//! Two generations of a counter in the statistics store, compared.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use model::counters::{CounterId, CounterKey, Difference};
use storage::counters::CountersError;
use storage::statistics::{CounterStatistics, StatisticsAway};
use storage::sums::PendingSums;
use storage::turn::Turn;

/// Numbers of a generation that are read together.
const PAGE: usize = 1_000;
/// While a flight is under way.
const PAUSE: Duration = Duration::from_millis(20);
/// After this time without a flight, one may go first.
const HELD_BACK_MAX: Duration = Duration::from_secs(2);
/// Longer than a flight waits between two attempts to begin.
const LET_GO: Duration = Duration::from_millis(200);
/// For so long no flight begins, if this process ends meanwhile or reading takes longer.
const RIGHT: Duration = Duration::from_secs(5);

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

/// Compares two generations. A flight changes both alike, but not at the same moment. So flights are held back while numbers
/// are read; otherwise they might follow each other without a moment between them.
pub struct Comparison<'a> {
    statistics: &'a dyn CounterStatistics,
    sums: &'a dyn PendingSums,
    generations: [u32; 2],
    /// Since when flights are held back.
    holding: Option<Instant>,
}

impl<'a> Comparison<'a> {
    /// `sums`: an instance that writes no flights, since the right to write is of an instance.
    pub fn new(statistics: &'a dyn CounterStatistics, sums: &'a dyn PendingSums, generations: [u32; 2]) -> Self {
        Comparison { statistics, sums, generations, holding: None }
    }

    /// Compares the next numbers of a counter. Reads them again if a flight was written meanwhile, which happens when a
    /// read takes longer than the right lasts.
    pub async fn next(&mut self, id: &CounterId, compared: &mut Compared) -> Result<Vec<Difference>, CountersError> {
        loop {
            self.hold_back().await?;
            let before = self.sums.look().await?;
            if before.is_quiet() {
                let [was, is] = self.pages(id, compared).await?;
                let after = self.sums.look().await?;
                if after.is_quiet() && after.last == before.last {
                    return Ok(differences(was, is, compared));
                }
            }
            self.let_go().await;
            sleep(LET_GO).await;
        }
    }

    /// Flights may begin again. To be called at the end, also after an error.
    pub async fn let_go(&mut self) {
        if self.holding.take().is_some() {
            // If this fails, the right expires.
            let _ = self.sums.end_writing().await;
        }
    }

    /// Takes the right to write, and writes nothing.
    async fn hold_back(&mut self) -> Result<(), CountersError> {
        if self.holding.is_some_and(|since| since.elapsed() > HELD_BACK_MAX) {
            self.let_go().await;
            sleep(LET_GO).await;
        }
        while self.sums.begin_writing(RIGHT).await? != Turn::Mine {
            self.holding = None;
            sleep(PAUSE).await;
        }
        self.holding.get_or_insert_with(Instant::now);
        Ok(())
    }

    async fn pages(&self, id: &CounterId, compared: &Compared) -> Result<[Page; 2], StatisticsAway> {
        let page = |of| self.statistics.counter_page(of, id.clone(), compared.after.clone(), PAGE);
        let [current, next] = self.generations;
        Ok([page(current).await?, page(next).await?])
    }
}

type Page = Vec<(CounterKey, i64)>;

fn differences(was: Page, is: Page, compared: &mut Compared) -> Vec<Difference> {
    // After the end of a full page there may be more.
    let end = |page: &Page| (page.len() == PAGE).then(|| page[PAGE - 1].0.clone());
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
