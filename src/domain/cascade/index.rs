//! Which owners want an event.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use model::content_name::ContentIds;
use model::counters::CounterId;
use model::ids::{Content, UserId};
use model::subscribers::{EventType, Facts, Filter, State, SubscriberId};
use storage::owner_queues::{Subscription, Subscriptions};

/// All subscriptions, found by the narrowest field of their filters: an event is compared with the owners that name its
/// user, its content, its counter, its rule or its kind, and with those that name none.
#[derive(Default)]
pub struct Index {
    /// How events name contents.
    pub ids: ContentIds,
    owners: HashMap<SubscriberId, Arc<Subscription>>,
    by_type: HashMap<EventType, ByField>,
}

/// The owners that want events of one type.
#[derive(Default)]
struct ByField {
    by_user: Map<UserId>,
    by_content: Map<Content>,
    by_counter: Map<CounterId>,
    by_rule: Map<String>,
    by_kind: Map<u16>,
    /// The filter restricts nothing that this type has.
    of_all: Owners,
}

type Map<K> = HashMap<K, Owners>;

/// By their ids. Most keys have one owner, and there are millions of keys.
#[derive(Default)]
enum Owners {
    #[default]
    None,
    One(Arc<Subscription>),
    Several(BTreeMap<SubscriberId, Arc<Subscription>>),
}

#[derive(Clone, Copy)]
enum Act {
    Add,
    Remove,
}

impl Index {
    /// Without owners. `ids`: how events name contents.
    pub fn of(ids: ContentIds) -> Self {
        Index { ids, ..Index::default() }
    }

    /// Takes over what has changed. The number of owners afterwards.
    pub fn change(&mut self, changes: Subscriptions) -> usize {
        for (id, now) in changes.changed {
            if let Some(before) = self.owners.remove(&id) {
                self.update(&before, Act::Remove);
            }
            // Nothing is queued for an owner that is disabled.
            if let Some(now) = now.filter(|now| now.state != State::Disabled) {
                let now = Arc::new(now);
                self.update(&now, Act::Add);
                self.owners.insert(id, now);
            }
        }
        self.owners.len()
    }

    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// In the order of their ids.
    pub fn wanting(&self, facts: &Facts) -> Vec<&Arc<Subscription>> {
        let Some(by_field) = self.by_type.get(&facts.event_type) else { return Vec::new() };
        let mut found: Vec<_> =
            by_field.candidates(facts).filter(|subscription| subscription.subscriber.wants(facts)).collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found.dedup_by(|a, b| a.id == b.id);
        found
    }

    fn update(&mut self, subscription: &Arc<Subscription>, act: Act) {
        let types: HashSet<EventType> = subscription.subscriber.types.iter().copied().collect();
        for event_type in types {
            self.by_type.entry(event_type).or_default().update(event_type, subscription, act);
        }
    }
}

impl ByField {
    fn update(&mut self, event_type: EventType, subscription: &Arc<Subscription>, act: Act) {
        let Filter { rules, counters, kinds, contents, users } = &subscription.subscriber.filter;
        let has_user = event_type != EventType::Counter;
        let has_content = matches!(event_type, EventType::Reward | EventType::Position);
        match event_type {
            _ if has_user && !users.is_empty() => at_keys(&mut self.by_user, users, subscription, act),
            _ if has_content && !contents.is_empty() => at_keys(&mut self.by_content, contents, subscription, act),
            EventType::Reward if !rules.is_empty() => at_keys(&mut self.by_rule, rules, subscription, act),
            _ if has_content && !kinds.is_empty() => at_keys(&mut self.by_kind, kinds, subscription, act),
            EventType::Counter if !counters.is_empty() => at_keys(&mut self.by_counter, counters, subscription, act),
            _ => act.on(&mut self.of_all, subscription),
        }
    }

    /// The owners that may want it.
    fn candidates<'a>(&'a self, facts: &Facts) -> impl Iterator<Item = &'a Arc<Subscription>> {
        let content = facts.content;
        let named = [
            facts.user.and_then(|user| self.by_user.get(&user)),
            content.and_then(|content| self.by_content.get(&content)),
            facts.counter.as_ref().and_then(|counter| self.by_counter.get(counter)),
            facts.rule.as_deref().and_then(|rule| self.by_rule.get(rule)),
            content.and_then(|content| self.by_kind.get(&content.kind)),
            Some(&self.of_all),
        ];
        named.into_iter().flatten().flat_map(Owners::iter)
    }
}

impl Act {
    fn on(self, owners: &mut Owners, subscription: &Arc<Subscription>) {
        match self {
            Act::Add => owners.add(subscription),
            Act::Remove => owners.remove(&subscription.id),
        }
    }
}

impl Owners {
    fn is_empty(&self) -> bool {
        matches!(self, Owners::None)
    }

    fn add(&mut self, subscription: &Arc<Subscription>) {
        let added = subscription.clone();
        match self {
            Owners::None => *self = Owners::One(added),
            Owners::One(one) if one.id == added.id => *one = added,
            Owners::One(one) => {
                let both = [one.clone(), added].map(|one| (one.id.clone(), one));
                *self = Owners::Several(both.into());
            }
            Owners::Several(several) => drop(several.insert(added.id.clone(), added)),
        }
    }

    fn remove(&mut self, id: &SubscriberId) {
        let is_over = match self {
            Owners::None => true,
            Owners::One(one) => one.id == *id,
            Owners::Several(several) => {
                several.remove(id);
                several.is_empty()
            }
        };
        if is_over {
            *self = Owners::None;
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<Subscription>> {
        let (one, several) = match self {
            Owners::None => (None, None),
            Owners::One(one) => (Some(one), None),
            Owners::Several(several) => (None, Some(several.values())),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }
}

fn at_keys<K: Hash + Eq + Clone>(map: &mut Map<K>, keys: &[K], subscription: &Arc<Subscription>, act: Act) {
    for key in keys {
        let owners = map.entry(key.clone()).or_default();
        act.on(owners, subscription);
        if owners.is_empty() {
            map.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::subscribers::{Newer, Secrets, SigningSecret, Subscriber};
    use storage::owner_queues::Revision;

    fn changes(changed: Vec<(&str, Option<(&str, State)>)>) -> Subscriptions {
        let change = |(id, now): (&str, Option<(&str, State)>)| {
            let id: SubscriberId = id.parse().expect("it is an id");
            let subscription = now.map(|(filter, state)| Subscription {
                id: id.clone(),
                incarnation: 1,
                version: 1,
                subscriber: Arc::new(subscriber(filter)),
                state,
            });
            (id, subscription)
        };
        Subscriptions { revision: Revision::default(), changed: changed.into_iter().map(change).collect() }
    }

    fn subscriber(filter: &str) -> Subscriber {
        Subscriber {
            url: "https://example.com/".parse().expect("it is a URL"),
            types: vec![EventType::Reward],
            filter: serde_json::from_str(filter).expect("it is a filter"),
            batch: 1,
            secrets: Secrets::new(SigningSecret::of(vec![1; 32]).expect("it is long enough")),
            newer: Newer::default(),
        }
    }

    fn reward(mid: u64, oid: u64) -> Facts<'static> {
        Facts {
            event_type: EventType::Reward,
            rule: Some("first-of-day".into()),
            counter: None,
            content: Some(Content { kind: 1, oid }),
            user: Some(UserId(mid)),
        }
    }

    fn wanting(index: &Index, facts: &Facts) -> Vec<String> {
        index.wanting(facts).into_iter().map(|subscription| subscription.id.to_string()).collect()
    }

    const ACTIVE: State = State::Active;

    #[test]
    fn an_event_is_for_the_owners_whose_filters_it_fits() {
        let mut index = Index::default();
        let filters = [
            ("all", "{}"),
            ("other-rule", r#"{"rules":["other"]}"#),
            ("rule", r#"{"rules":["other","first-of-day"]}"#),
            ("user", r#"{"mids":["42","43"]}"#),
            ("user-and-kind", r#"{"mids":["42"],"kinds":[2]}"#),
            ("content", r#"{"contents":["1:100"]}"#),
            ("kind", r#"{"kinds":[1]}"#),
            ("counter", r#"{"counters":["likes"]}"#),
        ];
        let count = index.change(changes(filters.map(|(id, filter)| (id, Some((filter, ACTIVE)))).to_vec()));
        assert_eq!(count, filters.len());
        assert_eq!(wanting(&index, &reward(42, 100)), ["all", "content", "counter", "kind", "rule", "user"]);
        assert_eq!(wanting(&index, &reward(44, 101)), ["all", "counter", "kind", "rule"]);
        let crossing = Facts { event_type: EventType::Counter, counter: "likes".parse().ok(), ..reward(42, 100) };
        assert!(wanting(&index, &crossing).is_empty(), "all want rewards only");
    }

    #[test]
    fn a_position_is_for_those_who_name_its_user_or_content_and_a_forgetting_for_its_users() {
        let mut index = Index::default();
        let filters = [
            ("all", "{}"),
            ("content", r#"{"contents":["1:100"]}"#),
            ("kind", r#"{"kinds":[2]}"#),
            ("user", r#"{"mids":["42"]}"#),
        ];
        let mut all = changes(filters.map(|(id, filter)| (id, Some((filter, ACTIVE)))).to_vec());
        for (_, subscription) in &mut all.changed {
            let subscription = subscription.as_mut().expect("each was made");
            let mut subscriber = (*subscription.subscriber).clone();
            subscriber.types = vec![EventType::Position, EventType::Forgotten];
            subscription.subscriber = Arc::new(subscriber);
        }
        index.change(all);
        let position = |mid, oid| Facts { event_type: EventType::Position, rule: None, ..reward(mid, oid) };
        assert_eq!(wanting(&index, &position(42, 101)), ["all", "user"]);
        assert_eq!(wanting(&index, &position(43, 100)), ["all", "content"]);
        let forgotten = |mid| Facts { event_type: EventType::Forgotten, content: None, ..position(mid, 0) };
        assert_eq!(wanting(&index, &forgotten(42)), ["all", "content", "kind", "user"]);
        assert_eq!(wanting(&index, &forgotten(43)), ["all", "content", "kind"]);
        assert!(wanting(&index, &reward(42, 100)).is_empty());
    }

    #[test]
    fn a_change_replaces_what_was_known_of_an_owner() {
        let mut index = Index::default();
        index.change(changes(vec![("a", Some((r#"{"mids":["42"]}"#, ACTIVE))), ("b", Some(("{}", ACTIVE)))]));
        index.change(changes(vec![("a", Some((r#"{"mids":["43"]}"#, ACTIVE)))]));
        assert_eq!(wanting(&index, &reward(42, 1)), ["b"]);
        assert_eq!(wanting(&index, &reward(43, 1)), ["a", "b"]);
        index.change(changes(vec![("a", Some(("{}", State::Disabled))), ("b", None), ("c", None)]));
        assert!(index.is_empty() && wanting(&index, &reward(43, 1)).is_empty());
        let by_field = &index.by_type[&EventType::Reward];
        assert!(by_field.by_user.is_empty() && by_field.of_all.is_empty(), "nothing is left of them");
    }
}
