//! The sending half of a member's socket, and the sequence numbers of its frames.

use tokio::net::tcp::OwnedWriteHalf;

use super::stage::Stage;
use super::wire::{self, Opcode};

/// Down until it is put up. Numbers go on across all sockets of a member.
#[derive(Default)]
pub struct Link {
    half: Option<OwnedWriteHalf>,
    seq: u32,
}

impl Link {
    pub fn put_up(&mut self, half: OwnedWriteHalf) {
        self.half = Some(half);
    }

    /// Goes down; the socket is gone already.
    pub fn take_down(&mut self) {
        if let Some(half) = self.half.take() {
            half.forget();
        }
    }

    /// Sends a close frame, and goes down.
    pub fn close(&mut self, stage: &Stage) {
        let mut frame = Vec::new();
        wire::push(Opcode::Close, &1000u16.to_be_bytes(), stage.mask(), &mut frame);
        self.write(stage, &frame);
        self.half = None;
    }

    pub fn is_up(&self) -> bool {
        self.half.is_some()
    }

    /// Sends the text that `write` makes for the next number, and returns that number.
    pub fn send(&mut self, stage: &Stage, write: impl FnOnce(u32, &mut Vec<u8>)) -> u32 {
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

    /// With so few frames in flight, a frame always fits into the kernel's buffer. If it does not, or if the socket is
    /// closing, nothing more is sent, and the reader will notice.
    fn write(&mut self, stage: &Stage, frame: &[u8]) {
        let Some(half) = &self.half else { return };
        if half.try_write(frame).ok() != Some(frame.len()) {
            stage.tally.borrow_mut().error("not written");
            self.half = None;
        }
    }
}
