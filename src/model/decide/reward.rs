//! Claims: the rules that a written beat has earned, and whether its user is the first.

use std::sync::Arc;

use super::{Decider, Draft, StoredUser};
use crate::beat::Beat;
use crate::change::Decided;
use crate::record::Record;
use crate::rewards::claim::{Claim, ClaimKey};
use crate::rewards::rewarding::Rewarding;
use crate::rewards::rule::RuleSet;

impl Decider<'_> {
    /// `beat` was written as `after`. Makes the claims that the beat has earned, as far as the outbox has room.
    pub(super) fn reward<S: StoredUser>(
        &mut self,
        draft: &mut Draft<S>,
        beat: &Beat,
        after: &Record,
        asks: RuleSet,
    ) -> Result<(), S::Error> {
        if asks.is_empty() {
            return Ok(());
        }
        let Some(earned) = after.credit.earned(beat, self.moment.now) else { return Ok(()) };
        let Rewarding { rules, today, .. } = self.rewards;
        for index in rules.may_apply(asks.and(today.rules), beat.content, earned).iter() {
            let rule = rules.get(index);
            let key = ClaimKey::of(rule, today.day, self.user, after.content);
            let first = !draft.is_claimed(&key)?;
            // A view has no entry in the outbox, so it needs no room.
            let enters = first && !rules.counts_views(index);
            if enters && self.claims >= self.claims_max {
                // The rule stays undecided: a later beat asks again when there is room.
                continue;
            }
            if first {
                draft.claim(self.index, self.claim(key, after));
                self.claims += u64::from(enters);
            }
            self.decided.push(Decided { change: self.index, rule: index, first });
        }
        Ok(())
    }

    fn claim(&self, key: ClaimKey, after: &Record) -> Claim {
        Claim {
            key,
            content: after.content,
            session: after.session,
            device: Arc::clone(&after.device),
            watched: after.watched,
            claimed_at: self.moment.now,
            zone: Arc::clone(&self.rewards.today.zone),
        }
    }
}
