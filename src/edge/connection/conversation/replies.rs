//! The frames to send on a connection, in order.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;

use crate::protocol::frame::{Answer, ErrorCode, ServerFrame};
use domain::content_names::NamedContents;
use model::content_name::ContentTexts;

pub enum Replies {
    Ready(VecDeque<ServerFrame>),
    /// The first of them waits for the names of its contents, or has them. Boxed, since names are mostly remembered.
    First(Box<First>),
}

pub struct First {
    frames: VecDeque<ServerFrame>,
    names: Names,
}

enum Names {
    Awaited(BoxFuture<'static, ContentTexts>),
    Known(ContentTexts),
}

impl Default for Replies {
    fn default() -> Self {
        Replies::Ready(VecDeque::new())
    }
}

impl Replies {
    /// The next frame with the names of its contents, unless these have to be waited for. `contents`: where contents have
    /// names.
    pub fn next(&mut self, contents: Option<&NamedContents>) -> Option<(ServerFrame, ContentTexts)> {
        match std::mem::take(self) {
            Replies::Ready(mut frames) => {
                let frame = frames.pop_front()?;
                match contents.map_or_else(|| Some(ContentTexts::default()), |names| names.remembered(frame.contents()))
                {
                    Some(texts) => {
                        self.keep(frames);
                        Some((frame, texts))
                    }
                    None => {
                        let awaited = contents.map(|names| names.texts_patiently(frame.contents().collect()))?;
                        frames.push_front(frame);
                        *self = Replies::First(Box::new(First { frames, names: Names::Awaited(awaited) }));
                        None
                    }
                }
            }
            Replies::First(first) => match *first {
                First { mut frames, names: Names::Known(texts) } => {
                    let frame = frames.pop_front()?;
                    self.keep(frames);
                    Some((frame, texts))
                }
                waits => {
                    *self = Replies::First(Box::new(waits));
                    None
                }
            },
        }
    }

    /// Mostly one ack at a time; an idle connection keeps no room for the next.
    fn keep(&mut self, frames: VecDeque<ServerFrame>) {
        *self = Replies::Ready(if frames.is_empty() { VecDeque::new() } else { frames });
    }

    /// Whether there is a frame that waits for nothing, as far as is known.
    pub fn has_next(&self) -> bool {
        match self {
            Replies::Ready(frames) => !frames.is_empty(),
            Replies::First(first) => matches!(first.names, Names::Known(_)),
        }
    }

    /// Whether frames wait for names.
    pub fn waits(&self) -> bool {
        matches!(self, Replies::First(_)) && !self.has_next()
    }

    /// Whether the first frame has its names now.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let Replies::First(first) = self else { return false };
        let Names::Awaited(awaited) = &mut first.names else { return false };
        let Poll::Ready(texts) = awaited.as_mut().poll(cx) else { return false };
        first.names = Names::Known(texts);
        true
    }

    pub fn add(&mut self, more: impl IntoIterator<Item = ServerFrame>) {
        self.frames().extend(more);
    }

    pub fn success(&mut self, seq: u32, answer: Answer) {
        self.add([ServerFrame::Result { seq, answer }]);
    }

    pub fn failure(&mut self, seq: Option<u32>, code: ErrorCode, message: String) {
        self.add([ServerFrame::Error { seq, code, message }]);
    }

    pub fn unavailable(&mut self, seq: u32) {
        self.failure(Some(seq), ErrorCode::Unavailable, "store: unavailable, try again".to_owned());
    }

    /// `cause`: what is wrong with the token of a renewal.
    pub fn unauthorized(&mut self, seq: u32, path: &str, cause: &str) {
        self.failure(Some(seq), ErrorCode::Unauthorized, format!("{path}: {cause}"));
    }

    fn frames(&mut self) -> &mut VecDeque<ServerFrame> {
        match self {
            Replies::Ready(frames) => frames,
            Replies::First(first) => &mut first.frames,
        }
    }
}
