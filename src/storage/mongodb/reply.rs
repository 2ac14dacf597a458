//! MongoDB's answers to an `update` command.
//!
//! The driver returns the answer unread, as a success even if single statements or the write concern failed.

use mongodb::bson::{Bson, Document};

const DUPLICATE_KEY: i32 = 11000;

/// The result of an `update` command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// Statements that changed or created their document.
    pub applied: usize,
    /// Statements that failed because a document of their `_id` exists, by their indexes in the command.
    pub duplicates: Vec<usize>,
    /// The server stopped at a failed statement, whatever `ordered` is, and says neither which one it was nor how many
    /// it had applied. MongoDB goes on; FerretDB 1 does not.
    pub is_cut: bool,
}

impl Reply {
    /// `statements`: their number; `upserts`: the number of them that create a missing document.
    ///
    /// # Errors
    /// Why some statement is not known to be done and durable.
    pub fn read(reply: &Document, statements: usize, upserts: usize) -> Result<Self, String> {
        if let Some(concern) = reply.get("writeConcernError") {
            return Err(format!("it is not known to be durable: {concern}"));
        }
        let mut duplicates = Vec::new();
        for error in reply.get_array("writeErrors").map(Vec::as_slice).unwrap_or_default() {
            let index =
                error.as_document().filter(|error| is_duplicate_id(error)).and_then(|error| count(error, "index"));
            match index {
                Some(index) if index < statements => duplicates.push(index),
                _ => return Err(format!("a document is not written: {error}")),
            }
        }
        let Some(applied) = count(reply, "n") else {
            return match duplicates.len() {
                0 => Err(format!("an answer without a count: {reply}")),
                _ => Ok(Reply { applied: 0, duplicates, is_cut: statements > 1 }),
            };
        };
        // Each statement that may create its document has created it, found it, or failed.
        if applied + duplicates.len() < upserts || applied > statements {
            return Err(format!("an answer for {applied} of {statements} documents: {reply}"));
        }
        Ok(Reply { applied, duplicates, is_cut: false })
    }
}

/// Other unique indexes refuse documents, too. MongoDB names the index; servers that only speak its protocol may not.
fn is_duplicate_id(error: &Document) -> bool {
    count(error, "code") == Some(DUPLICATE_KEY as usize)
        && error.get_document("keyPattern").ok().is_none_or(|index| index.keys().eq(["_id"]))
}

fn count(document: &Document, field: &str) -> Option<usize> {
    match document.get(field)? {
        Bson::Int32(number) => usize::try_from(*number).ok(),
        Bson::Int64(number) => usize::try_from(*number).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    fn error(index: i32, code: i32) -> Document {
        doc! { "index": index, "code": code, "errmsg": "E" }
    }

    #[test]
    fn applied_and_duplicate_statements_are_told_apart() {
        let all = doc! { "n": 2, "nModified": 1, "ok": 1.0 };
        assert_eq!(Reply::read(&all, 2, 2), Ok(Reply { applied: 2, duplicates: vec![], is_cut: false }));
        let named = doc! { "keyPattern": { "_id": 1 }, "keyValue": { "_id": "1:100" } };
        let named: Document = error(2, DUPLICATE_KEY).into_iter().chain(named).collect();
        let some = doc! { "n": 1, "writeErrors": [error(0, DUPLICATE_KEY), named], "ok": 1.0 };
        assert_eq!(Reply::read(&some, 3, 3), Ok(Reply { applied: 1, duplicates: vec![0, 2], is_cut: false }));
        let one_not_found = doc! { "n": 1, "ok": 1.0 };
        assert_eq!(Reply::read(&one_not_found, 2, 1), Ok(Reply { applied: 1, duplicates: vec![], is_cut: false }));
    }

    #[test]
    fn a_server_that_stops_at_a_failed_statement_is_told_apart() {
        let stopped = doc! { "ok": 1.0, "writeErrors": [error(0, DUPLICATE_KEY)] };
        for (statements, is_cut) in [(1, false), (3, true)] {
            let reply = Reply { applied: 0, duplicates: vec![0], is_cut };
            assert_eq!(Reply::read(&stopped, statements, 1), Ok(reply));
        }
    }

    #[test]
    fn an_unconfirmed_write_is_an_error() {
        let concern = doc! { "code": 64, "errmsg": "waiting for replication timed out" };
        let mut other_index = error(0, DUPLICATE_KEY);
        other_index.insert("keyPattern", doc! { "total": 1 });
        for (reply, word) in [
            (doc! { "n": 1, "ok": 1.0, "writeConcernError": concern }, "timed out"),
            (doc! { "n": 0, "ok": 1.0, "writeErrors": [error(0, 10107)] }, "10107"),
            (doc! { "n": 0, "ok": 1.0, "writeErrors": [other_index] }, "total"),
            (doc! { "n": 0, "ok": 1.0, "writeErrors": [error(1, DUPLICATE_KEY)] }, "not written"),
            (doc! { "n": 0, "ok": 1.0, "writeErrors": ["E"] }, "not written"),
            (doc! { "n": 0, "ok": 1.0 }, "0 of 1"),
            (doc! { "n": 2, "ok": 1.0 }, "2 of 1"),
            (doc! { "ok": 1.0 }, "without a count"),
        ] {
            let refused = Reply::read(&reply, 1, 1).expect_err("not written");
            assert!(refused.contains(word), "{refused}");
        }
    }
}
