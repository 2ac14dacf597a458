//! Makes the code of the public gRPC services from their schemas. The compiler of schemas is a library, so none has to be
//! installed.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message;

const SCHEMAS: &str = "grpc/proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={SCHEMAS}");
    let files = protox::compile(["heartline/v1/history.proto"], [SCHEMAS])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // The schema that gRPC reflection answers with.
    fs::write(out.join("heartline.v1.bin"), files.encode_to_vec())?;
    tonic_prost_build::configure().build_transport(false).compile_fds(files)?;
    Ok(())
}
