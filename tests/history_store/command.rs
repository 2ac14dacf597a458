//! `heartline history`.
