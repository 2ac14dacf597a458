//! Tells a user's other connections what was committed; never the one it came from.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use super::mailbox::Mailbox;
use super::presence::Presence;
use crate::domain::ingest::commit::CommitListener;
use crate::domain::ingest::lane::Answered;
use crate::model::change::Outcome;
use crate::model::push::Push;
use crate::model::record::Record;
use crate::model::rule::Verdict;

/// A record is told at once when it is new or its state or session changed, otherwise the latest after at most
/// `steady_interval`.
pub struct Fanout {
    presence: Arc<Presence>,
    steady_interval: Duration,
    pushes: Counter,
}

impl Fanout {
    pub fn new(presence: Arc<Presence>, steady_interval: Duration, registry: &mut Registry) -> Self {
        let pushes = Counter::default();
        registry.register("pushes", "Changes left for other connections of the user", pushes.clone());
        Fanout { presence, steady_interval, pushes }
    }

    fn tell(&self, answered: &Answered) {
        let origin = answered.entry.mailbox();
        let others = |tell: &dyn Fn(&Mailbox)| {
            self.presence.others(origin.user, origin.origin, |other| {
                self.pushes.inc();
                tell(other);
            });
        };
        if let Some(news) = &answered.news
            && let Some(day) = news.flag.filter(|_| !news.claims.is_empty())
        {
            others(&|other| other.push(Push::Flag(day)));
        }
        match &answered.outcome {
            Outcome::Beat(Verdict::Written { before, after }) => {
                let steady = is_steady(before.as_ref(), after).then_some(self.steady_interval);
                others(&|other| other.push_record(after, steady));
            }
            Outcome::Deleted { moved, at } if !moved.is_empty() => {
                others(&|other| other.push(Push::Deleted { contents: moved.clone(), at: *at }));
            }
            Outcome::Cleared { moved: true, at } => others(&|other| other.push(Push::Cleared { at: *at })),
            Outcome::Erased { at, resumed } => others(&|other| {
                other.push(Push::Cleared { at: *at });
                if *resumed {
                    other.push(Push::Recording { paused: false });
                }
            }),
            Outcome::Recording { moved: true, paused } => {
                others(&|other| other.push(Push::Recording { paused: *paused }));
            }
            _ => {}
        }
    }
}

fn is_steady(before: Option<&Record>, after: &Record) -> bool {
    before.is_some_and(|before| before.state == after.state && before.session == after.session)
}

impl CommitListener for Fanout {
    fn committed(&self, answered: &[Answered]) {
        answered.iter().filter(|each| each.entry.mailbox().has_company()).for_each(|each| self.tell(each));
    }
}
