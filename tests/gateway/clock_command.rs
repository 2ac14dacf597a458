//! `heartline clock`, and `/v1/clock` of the control listener. `tests/faults/clock.py` steps the clock.

use serde_json::Value;

use crate::support::{CONTROL_TOKEN, TestGateway, run};

#[tokio::test]
async fn the_clock_command_shows_the_clocks_of_a_gateway() {
    let gateway = TestGateway::start();
    let clocks = gateway.control().get("/v1/clock").await.json();
    let [wall, server] = ["wall", "server"].map(|name| clocks[name].as_u64().expect("milliseconds"));
    assert!(wall.abs_diff(server) < 5_000, "{clocks}");
    assert_eq!(clocks["step"], Value::Null);
    let control = gateway.control_address().to_string();
    for arguments in [&["clock"][..], &["clock", "--accept"]] {
        let output = run(arguments, &[("control.listen", &control), ("control.token", CONTROL_TOKEN)]);
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(output.status.success(), "{:?}", String::from_utf8_lossy(&output.stderr));
        assert!(said.ends_with("the wall clock is believed\n"), "{said}");
    }
}
