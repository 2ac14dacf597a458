//! Dead letters, and what becomes too old: `dead.lua`, `resend.lua` and `expire.lua`.

use std::sync::{Arc, LazyLock};

use ::redis::{Script, Value};

use super::answer::{MALFORMED, Parts};
use super::calls::{Queues, word};
use super::unit;
use crate::script::script;
use crate::value::DecodeError;
use model::subscribers::SubscriberId;
use storage::owner_queues::{BYTES_MAX, Dead, DeadReason, Number, RESENT_MAX};
use storage::store_error::StoreError;

static DEAD: LazyLock<Script> = LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("dead.lua"))));
static RESEND: LazyLock<Script> =
    LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("resend.lua"))));
static EXPIRE: LazyLock<Script> =
    LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("expire.lua"))));

pub async fn dead(
    queues: &Queues,
    id: &SubscriberId,
    after: Number,
    limit: usize,
) -> Result<Option<Vec<Dead>>, StoreError> {
    let answer = queues.of_owner(&DEAD, id, [word(after), word(limit), word(BYTES_MAX)]).await?;
    if answer == Value::Nil {
        return Ok(None);
    }
    let mut answer = Parts::of(answer)?;
    let mut letters = Vec::new();
    while !answer.is_over() {
        letters.push(read(answer.parts()?)?);
    }
    Ok(Some(letters))
}

fn read(mut parts: Parts) -> Result<Dead, DecodeError> {
    let (number, event) = (parts.number()?, Arc::from(parts.text()?));
    let reason = parts.text()?;
    let reason = [DeadReason::QueueFull, DeadReason::TooOld].into_iter().find(|known| known.word() == reason);
    Ok(Dead { number, event, reason: reason.ok_or(MALFORMED)?, at: parts.number()? })
}

/// In several steps, each of which moves some.
pub async fn resend(queues: &Queues, id: &SubscriberId) -> Result<Option<u64>, StoreError> {
    let mut sent = 0;
    loop {
        let answer = queues.of_owner(&RESEND, id, [word(RESENT_MAX - sent)]).await?;
        if answer == Value::Nil {
            // It may have been deleted in between.
            return Ok((sent > 0).then_some(sent));
        }
        let mut answer = Parts::of(answer)?;
        sent += answer.number()?;
        if answer.number()? == 0 || sent >= RESENT_MAX {
            return Ok(Some(sent));
        }
    }
}

/// In as many steps as it needs.
pub async fn expire(queues: &Queues) -> Result<u64, StoreError> {
    let (mut died, mut open) = (0, queues.parts(unit::all()));
    while !open.is_empty() {
        let calls = open.iter().map(|part| queues.of_units(part.clone(), [])).collect();
        let answers = queues.redis.run(&EXPIRE, calls).await?;
        let parts = std::mem::take(&mut open);
        for (part, answer) in parts.into_iter().zip(answers) {
            let mut answer = Parts::of(answer)?;
            died += answer.number()?;
            if answer.number()? == 1 {
                open.push(part);
            }
        }
    }
    Ok(died)
}
