//! Changes on their way to a history service.

use std::sync::Arc;

use super::{Malformed, decode_contents, decode_day, decode_kind, encode_content, encode_day, required, wire};
use model::beat::{Beat, State};
use model::change::{Action, Change};
use model::ids::{ConnectionId, Content, SessionId, UserId};
use model::rewards::decided::DecidedRules;
use model::sender::Sender;
use model::visitor::{Browser, Country, DeviceClass, Os, Visitor};

/// A change as a history service gets it.
#[derive(Clone, Debug)]
pub struct SentChange {
    pub user: UserId,
    pub sender: Sender,
    pub what: Sent,
}

#[derive(Clone, Debug)]
pub enum Sent {
    /// Beats of one session and content, the oldest first, at least one.
    Beats {
        device: Arc<str>,
        beats: Vec<Beat>,
    },
    Order(Action),
}

pub fn encode(change: &Change, sender: &Sender) -> wire::Change {
    let Sender { connection, visitor, known } = sender;
    let mut sent = wire::Change {
        mid: change.user.0,
        connection: connection.0,
        visitor: encode_visitor(visitor),
        decided_user: encode_day(known.user),
        decided_content: encode_day(known.content),
        ..wire::Change::default()
    };
    match &change.action {
        Action::Beat { beat, earlier, device, .. } => {
            sent.device = device.as_ref().to_owned();
            sent.beats = earlier.iter().chain([beat]).map(encode_beat).collect();
        }
        order => sent.order = Some(encode_order(order)),
    }
    sent
}

/// `now`: when it arrived, server-clock milliseconds.
pub fn decode(sent: wire::Change, now: u64) -> Result<SentChange, Malformed> {
    let known = DecidedRules { user: decode_day(sent.decided_user)?, content: decode_day(sent.decided_content)? };
    let visitor = sent.visitor.as_ref().map(decode_visitor).unwrap_or_default();
    let sender = Sender { connection: ConnectionId(sent.connection), visitor, known };
    let what = match sent.order {
        Some(wire::Order { order, at }) => Sent::Order(decode_order(required(order, "order")?, at, now)?),
        None if sent.beats.is_empty() => return Err(Malformed("a change without beats".to_owned())),
        None => {
            let beats = sent.beats.iter().map(decode_beat).collect::<Result<_, _>>()?;
            Sent::Beats { device: sent.device.into(), beats }
        }
    };
    Ok(SentChange { user: UserId(sent.mid), sender, what })
}

fn encode_beat(beat: &Beat) -> wire::Beat {
    wire::Beat {
        kind: beat.content.kind.into(),
        oid: beat.content.oid,
        pos: beat.pos,
        dur: beat.dur,
        state: beat.state.number().into(),
        session: beat.session.0,
        watched: beat.watched,
        rate: beat.rate,
        at: beat.at,
    }
}

fn decode_beat(sent: &wire::Beat) -> Result<Beat, Malformed> {
    let state = u8::try_from(sent.state).ok().and_then(State::of_number);
    Ok(Beat {
        content: Content { kind: decode_kind(sent.kind)?, oid: sent.oid },
        pos: sent.pos,
        dur: sent.dur,
        state: state.ok_or_else(|| Malformed(format!("state {}", sent.state)))?,
        session: SessionId(sent.session),
        watched: sent.watched,
        rate: sent.rate,
        at: sent.at,
    })
}

/// Without an order: it is not made by a client, and never sent.
fn encode_order(action: &Action) -> wire::Order {
    use wire::order::Order;
    let order = match action {
        Action::Delete { contents, at } => {
            let contents = contents.iter().copied().map(encode_content).collect();
            Some(Order::Delete(wire::Forget { contents, at: *at }))
        }
        Action::Clear { at } => Some(Order::Clear(*at)),
        Action::Recording { paused, at } => Some(Order::Recording(wire::Switch { paused: *paused, at: *at })),
        Action::Erase { .. } => Some(Order::Erase(true)),
        Action::Beat { .. } | Action::Prune { .. } => None,
    };
    let at = if let Action::Erase { at } = action { *at } else { 0 };
    wire::Order { order, at }
}

fn decode_order(order: wire::order::Order, at: u64, now: u64) -> Result<Action, Malformed> {
    use wire::order::Order;
    Ok(match order {
        Order::Delete(wire::Forget { contents, at }) => Action::Delete { contents: decode_contents(&contents)?, at },
        Order::Clear(at) => Action::Clear { at },
        Order::Recording(wire::Switch { paused, at }) => Action::Recording { paused, at },
        Order::Erase(_) => Action::Erase { at: if at == 0 { now } else { at } },
    })
}

/// `None`: nothing is known of it.
fn encode_visitor(visitor: &Visitor) -> Option<wire::Visitor> {
    if *visitor == Visitor::default() {
        return None;
    }
    let index = |device| DeviceClass::ALL.iter().position(|class| *class == device);
    Some(wire::Visitor {
        device: visitor.device.and_then(index).map_or(0, |index| index as u32 + 1),
        os: visitor.os.map(Os::as_str).unwrap_or_default().to_owned(),
        browser: visitor.browser.map(Browser::as_str).unwrap_or_default().to_owned(),
        country: visitor.country.as_ref().map(Country::as_str).unwrap_or_default().to_owned(),
    })
}

/// A name that this version does not know is as none.
fn decode_visitor(sent: &wire::Visitor) -> Visitor {
    let class = sent.device.checked_sub(1).and_then(|index| DeviceClass::ALL.get(index as usize).copied());
    Visitor {
        device: class,
        os: Os::of(&sent.os),
        browser: Browser::of(&sent.browser),
        country: Country::of(&sent.country),
    }
}
