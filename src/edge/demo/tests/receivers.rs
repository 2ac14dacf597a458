//! The receivers of events; tests/subscribers has them on a gateway that delivers.

use super::*;

#[tokio::test]
async fn a_gateway_that_cannot_deliver_to_itself_says_why() {
    for request in [
        Request::get("/demo/receivers"),
        Request::put("/demo/receivers"),
        Request::delete("/demo/receivers"),
        Request::put("/demo/receivers/receiver"),
        Request::post("/demo/receivers/receiver"),
    ] {
        let (head, body) = ask(of_the_page(request), "").await;
        assert_eq!(head.status, StatusCode::NOT_FOUND);
        assert!(str::from_utf8(&body).expect("text").contains("not embedded"), "{body:?}");
    }
}
