//! The commands by which `heartline rebuild` fills a store before gateways serve it.

use ::redis::{Cmd, cmd};

use super::claims;
use super::keys::{COMMON, Keys, shard_of};
use model::counters::Generations;
use model::rewards::claim::ClaimKey;
use model::shard::Shard;

/// The commands that keep a claim that was published before the loss. It is kept exactly: the filters of its day are not
/// known.
pub(crate) fn refill(claim: &ClaimKey) -> (Shard, Vec<Cmd>) {
    let shard = shard_of(claim.user);
    let commands = claims::keep(&Keys::of(shard), claim, true, true, None);
    let command = |words: Vec<Vec<u8>>| {
        let (name, arguments) = words.split_first().expect("a command has a name");
        let mut command = cmd(std::str::from_utf8(name).expect("names are ASCII"));
        for argument in arguments {
            command.arg(argument);
        }
        command
    };
    (shard, commands.into_iter().map(command).collect())
}

/// The key and the value of generations of which `last` was the last one, and the numbers of `gone` are to be removed.
pub(crate) fn refilled_generations(last: u32, gone: Vec<u32>) -> (String, Vec<u8>) {
    let generations = Generations { last, gone, ..Generations::default() };
    (Keys::of(COMMON).generations(), serde_json::to_vec(&generations).expect("numbers are JSON"))
}
