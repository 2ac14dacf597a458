//! Makes the code of the gRPC services between gateways and history services from their schema. The compiler of schemas is a
//! library, so none has to be installed.

use std::error::Error;

const SCHEMAS: &str = "gateway_messages/proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={SCHEMAS}");
    let files = protox::compile(["heartline/internal/v1/gateways.proto"], [SCHEMAS])?;
    tonic_prost_build::configure().build_transport(false).compile_fds(files)?;
    Ok(())
}
