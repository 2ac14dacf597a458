//! Makes the code of the gRPC service from its schema. The compiler of schemas is a library, so none has to be installed.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message;

const SCHEMA: &str = "src/edge/grpc/proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={SCHEMA}");
    let files = protox::compile(["heartline/v1/history.proto"], [SCHEMA])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // What reflection answers.
    fs::write(out.join("heartline.v1.bin"), files.encode_to_vec())?;
    tonic_prost_build::configure().build_transport(false).compile_fds(files)?;
    Ok(())
}
