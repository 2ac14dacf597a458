//! The sending side of a member's socket, and the numbers of what it says.

use tokio::net::tcp::OwnedWriteHalf;

use super::stage::Stage;
use super::wire::{self, Opcode};

/// Down until it is put up; numbers go on over all the sockets of a member.
#[derive(Default)]
pub struct Link {
    half: Option<OwnedWriteHalf>,
    seq: u32,
}

impl Link {
    pub fn put_up(&mut self, half: OwnedWriteHalf) {
        self.half = Some(half);
    }

    /// The socket is gone already.
    pub fn take_down(&mut self) {
        if let Some(half) = self.half.take() {
            half.forget();
        }
    }

    /// Says goodbye, and is down.
    pub fn close(&mut self, stage: &Stage) {
        let mut frame = Vec::new();
        wire::push(Opcode::Close, &1000u16.to_be_bytes(), stage.mask(), &mut frame);
        self.write(stage, &frame);
        self.half = None;
    }

    pub fn is_up(&self) -> bool {
        self.half.is_some()
    }

    /// Says the text that is written under the next number, which is returned.
    pub fn say(&mut self, stage: &Stage, write: impl FnOnce(u32, &mut Vec<u8>)) -> u32 {
        self.seq += 1;
        let mut buffers = stage.buffers.borrow_mut();
        let buffers = &mut *buffers;
        buffers.text.clear();
        buffers.frame.clear();
        write(self.seq, &mut buffers.text);
        wire::push(Opcode::Text, &buffers.text, stage.mask(), &mut buffers.frame);
        self.write(stage, &buffers.frame);
        self.seq
    }

    pub fn pong(&mut self, stage: &Stage, payload: &[u8]) {
        let mut frame = Vec::new();
        wire::push(Opcode::Pong, payload, stage.mask(), &mut frame);
        self.write(stage, &frame);
    }

    /// A frame always fits into the kernel's buffer, with so few in flight. If not, or if the socket is dying, nothing
    /// more is sent, and the reader will notice.
    fn write(&mut self, stage: &Stage, frame: &[u8]) {
        let Some(half) = &self.half else { return };
        if half.try_write(frame).ok() != Some(frame.len()) {
            stage.tally.borrow_mut().error("not written");
            self.half = None;
        }
    }
}
