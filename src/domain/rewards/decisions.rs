//! A connection's knowledge of today's decisions, which spares look-ups in the gateway's memory.

use model::ids::Content;
use model::rewards::day::Day;
use model::rewards::decided::DecidedRules;

/// Contents remembered, those decided last: usually the content being played and the one before it.
const CONTENTS_MAX: usize = 2;

/// The decisions of one user. Bounded by [`CONTENTS_MAX`]; forgotten contents are looked up in the gateway's memory.
#[derive(Debug, Default)]
pub struct Decisions {
    /// The newest day on which all rules are decided for the user.
    user: Option<Day>,
    /// The newest day on which all rules are decided for any content.
    contents_day: Option<Day>,
    /// The contents decided on that day, the last decided first. They are stored inline, although every connection
    /// keeps the room for them: every beat looks here.
    contents: [Option<Content>; CONTENTS_MAX],
}

impl Decisions {
    pub fn new(flag: Option<Day>) -> Self {
        Decisions { user: flag, ..Decisions::default() }
    }

    /// The day itself if all rules are decided for the user.
    pub fn flag(&self, today: Day) -> Option<Day> {
        self.user.filter(|day| *day == today)
    }

    /// The decisions for a beat that came with `flag`. A flag of another day has no effect, since the days are compared
    /// later.
    pub fn of(&self, content: Content, flag: Option<Day>) -> DecidedRules {
        DecidedRules { user: self.user.max(flag), content: self.decided(content) }
    }

    pub fn decided_user(&mut self, day: Day) {
        self.user = self.user.max(Some(day));
    }

    pub fn decided_content(&mut self, day: Day, content: Content) {
        if self.contents_day < Some(day) {
            (self.contents_day, self.contents) = (Some(day), Default::default());
        }
        if self.contents_day == Some(day) && !self.contents.contains(&Some(content)) {
            self.contents.rotate_right(1);
            self.contents[0] = Some(content);
        }
    }

    fn decided(&self, content: Content) -> Option<Day> {
        self.contents_day.filter(|_| self.contents.contains(&Some(content)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(oid: u64) -> Content {
        Content { kind: 1, oid }
    }

    #[test]
    fn a_new_day_knows_nothing_of_the_old_one() {
        let (old, new) = (Day::of_number(20_000), Day::of_number(20_001));
        let mut decisions = Decisions::new(Some(old));
        decisions.decided_content(old, content(1));
        assert_eq!((decisions.flag(old), decisions.flag(new)), (Some(old), None));
        assert_eq!(decisions.of(content(1), None), DecidedRules { user: Some(old), content: Some(old) });
        decisions.decided_content(new, content(2));
        assert_eq!(decisions.of(content(1), Some(new)), DecidedRules { user: Some(new), content: None });
        decisions.decided_content(old, content(1));
        assert_eq!(decisions.of(content(1), None).content, None);
    }

    #[test]
    fn the_oldest_content_is_forgotten_first() {
        let (day, mut decisions) = (Day::of_number(20_000), Decisions::default());
        (0..=CONTENTS_MAX as u64).for_each(|oid| decisions.decided_content(day, content(oid)));
        assert_eq!(decisions.of(content(0), None).content, None);
        assert_eq!(decisions.of(content(1), None).content, Some(day));
    }
}
