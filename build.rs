//! Makes the code of the gRPC services from their schemas. The compiler of schemas is a library, so none has to be
//! installed.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message;

const PUBLIC: &str = "src/edge/grpc/proto";
const INTERNAL: &str = "src/storage/gateway_messages/proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={PUBLIC}");
    println!("cargo:rerun-if-changed={INTERNAL}");
    let files = protox::compile(["heartline/v1/history.proto"], [PUBLIC])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // What reflection answers.
    fs::write(out.join("heartline.v1.bin"), files.encode_to_vec())?;
    tonic_prost_build::configure().build_transport(false).compile_fds(files)?;
    let files = protox::compile(["heartline/internal/v1/gateways.proto"], [INTERNAL])?;
    tonic_prost_build::configure().build_transport(false).compile_fds(files)?;
    Ok(())
}
