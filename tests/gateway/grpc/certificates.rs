//! TLS on the gRPC listener, and callers that show certificates.

use std::fs;
use std::io::{Error, ErrorKind};
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tonic::Code;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

use super::wire::OpenRequest;
use super::wire::history_client::HistoryClient;
use super::{BOTH, Bearer, Client, LISTENS, address_of, batch, service};
use crate::support::{MID, TestGateway};

const HOST: &str = "history.example";
const RANKER: &str = "spiffe://example/ranker";

/// An authority with the files of a gateway.
struct Authority {
    files: TempDir,
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

/// A certificate of a caller, with its key.
struct Proof(CertificateDer<'static>, PrivateKeyDer<'static>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).expect("names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority");
        let key = KeyPair::generate().expect("a key");
        let own = params.self_signed(&key).expect("a certificate");
        let files = tempfile::tempdir().expect("a directory");
        fs::write(files.path().join("ca.pem"), own.pem()).expect("a file");
        let authority = Authority { files, certificate: own.der().clone(), issuer: Issuer::new(params, key) };
        let (certificate, key) = authority.issued(&[SanType::DnsName(HOST.try_into().expect("a name"))], false);
        fs::write(authority.files.path().join("cert.pem"), certificate.pem()).expect("a file");
        fs::write(authority.files.path().join("key.pem"), key.serialize_pem()).expect("a file");
        authority
    }

    fn issued(&self, names: &[SanType], for_client: bool) -> (rcgen::Certificate, KeyPair) {
        let mut params = CertificateParams::new([]).expect("names");
        params.subject_alt_names = names.to_vec();
        let purpose =
            if for_client { ExtendedKeyUsagePurpose::ClientAuth } else { ExtendedKeyUsagePurpose::ServerAuth };
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().expect("a key");
        (params.signed_by(&key, &self.issuer).expect("a certificate"), key)
    }

    fn proof(&self, names: &[SanType]) -> Proof {
        let (certificate, key) = self.issued(names, true);
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).expect("a key");
        Proof(certificate.der().clone(), key)
    }

    fn path(&self, name: &str) -> String {
        self.files.path().join(name).to_str().expect("ASCII").to_owned()
    }

    fn gateway(&self, client_auth: &str, settings: &[(&str, &str)]) -> TestGateway {
        self.process("all", client_auth, settings)
    }

    fn process(&self, role: &'static str, client_auth: &str, settings: &[(&str, &str)]) -> TestGateway {
        let (cert, key, authorities) = (self.path("cert.pem"), self.path("key.pem"), self.path("ca.pem"));
        let mut all = vec![("grpc.tls_cert", cert.as_str()), ("grpc.tls_key", &key), ("grpc.client_auth", client_auth)];
        if client_auth != "none" {
            all.push(("grpc.client_ca", &authorities));
        }
        TestGateway::of_role(role, &[&[LISTENS], &all[..], settings].concat())
    }

    async fn channel(&self, gateway: &TestGateway, proof: Option<Proof>) -> Result<Channel, tonic::transport::Error> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).expect("a certificate");
        let config = ClientConfig::builder().with_root_certificates(roots);
        let mut config = match proof {
            Some(Proof(certificate, key)) => config.with_client_auth_cert(vec![certificate], key).expect("a pair"),
            None => config.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        let (connector, address) = (TlsConnector::from(Arc::new(config)), address_of(gateway));
        let connect = service_fn(move |_: Uri| {
            let connector = connector.clone();
            async move {
                let name = ServerName::try_from(HOST).map_err(|error| Error::new(ErrorKind::InvalidInput, error))?;
                let stream = TcpStream::connect(address).await?;
                Ok::<_, Error>(TokioIo::new(Box::pin(connector.connect(name, stream)).await?))
            }
        });
        Endpoint::from_static("http://history.example").connect_with_connector(connect).await
    }

    async fn client(&self, gateway: &TestGateway, proof: Option<Proof>, token: Option<String>) -> Client {
        let channel = self.channel(gateway, proof).await.expect("a connection");
        HistoryClient::with_interceptor(channel, Bearer(token))
    }
}

fn uri(name: &str) -> SanType {
    SanType::URI(name.try_into().expect("a name"))
}

fn dns(name: &str) -> SanType {
    SanType::DnsName(name.try_into().expect("a name"))
}

/// What it may do: read, and write.
async fn may(client: &mut Client) -> (Code, Code) {
    let read = client.open(OpenRequest { mid: Some(MID), sub: String::new() }).await;
    let read = read.map_or_else(|status| status.code(), |_| Code::Ok);
    let write = client.put(batch([])).await;
    (read, write.map_or_else(|status| status.code(), |_| Code::Ok))
}

#[tokio::test]
async fn tokens_go_over_tls() {
    let authority = Authority::new();
    let gateway = authority.gateway("none", &[]);
    let mut client = authority.client(&gateway, None, Some(service(BOTH).sign())).await;
    assert_eq!(may(&mut client).await, (Code::Ok, Code::Ok));
    let mut nobody = authority.client(&gateway, None, None).await;
    assert_eq!(may(&mut nobody).await, (Code::Unauthenticated, Code::Unauthenticated));
    let plain = Endpoint::from_shared(format!("http://{}", address_of(&gateway))).expect("an address");
    let mut plain = HistoryClient::new(plain.connect_lazy());
    assert!(plain.open(OpenRequest::default()).await.is_err(), "only TLS is spoken");
}

#[tokio::test]
async fn a_certificate_of_the_authority_is_proof_enough() {
    let authority = Authority::new();
    let gateway = authority.gateway("required", &[]);
    let mut client = authority.client(&gateway, Some(authority.proof(&[uri(RANKER)])), None).await;
    assert_eq!(may(&mut client).await, (Code::Ok, Code::Ok));
    let refused = async |proof: Option<Proof>| {
        // With TLS 1.3 the client learns of it with its first call.
        match authority.channel(&gateway, proof).await {
            Ok(channel) => HistoryClient::new(channel).open(OpenRequest::default()).await.is_err(),
            Err(_) => true,
        }
    };
    assert!(refused(None).await, "without a certificate");
    assert!(refused(Some(Authority::new().proof(&[uri(RANKER)]))).await, "of another authority");
    let mut nameless = authority.client(&gateway, Some(authority.proof(&[])), None).await;
    assert_eq!(may(&mut nameless).await, (Code::Unauthenticated, Code::Unauthenticated), "without a name");
}

#[tokio::test]
async fn the_name_of_a_certificate_says_what_it_allows() {
    let authority = Authority::new();
    let callers = format!(
        r#"[{{ name = "{RANKER}", scopes = ["heartline.read"] }}, {{ name = "batch.example", scopes = ["heartline.write"] }}]"#
    );
    let gateway = authority.gateway("optional", &[("grpc.callers", &callers)]);
    let with =
        async |names: &[SanType]| may(&mut authority.client(&gateway, Some(authority.proof(names)), None).await).await;
    assert_eq!(with(&[uri(RANKER)]).await, (Code::Ok, Code::PermissionDenied));
    assert_eq!(with(&[dns("batch.example")]).await, (Code::PermissionDenied, Code::Ok));
    assert_eq!(
        with(&[dns("batch.example"), uri(RANKER)]).await,
        (Code::Ok, Code::PermissionDenied),
        "a URI goes first"
    );
    assert_eq!(with(&[dns("other.example")]).await, (Code::PermissionDenied, Code::PermissionDenied), "not listed");
    let mut token = authority.client(&gateway, None, Some(service(BOTH).claim("sub", "other").sign())).await;
    assert_eq!(may(&mut token).await, (Code::Ok, Code::Ok), "a certificate may be left out");
    let proof = authority.proof(&[uri(RANKER)]);
    let mut both = authority.client(&gateway, Some(proof), Some(service("heartline.write").sign())).await;
    assert_eq!(may(&mut both).await, (Code::PermissionDenied, Code::PermissionDenied), "both must allow");
    let proof = authority.proof(&[uri(RANKER)]);
    let mut bad = authority.client(&gateway, Some(proof), Some("x.y.z".to_owned())).await;
    assert_eq!(may(&mut bad).await, (Code::Unauthenticated, Code::Unauthenticated), "a bad token is not made good");
}

#[tokio::test]
async fn certificates_are_read_again_at_sighup() {
    for role in ["all", "history"] {
        are_read_again_by(role).await;
    }
}

async fn are_read_again_by(role: &'static str) {
    let authority = Authority::new();
    let gateway = authority.process(role, "required", &[]);
    let mut open = authority.client(&gateway, Some(authority.proof(&[uri(RANKER)])), None).await;
    assert_eq!(may(&mut open).await, (Code::Ok, Code::Ok));
    let next = Authority::new();
    for name in ["cert.pem", "key.pem", "ca.pem"] {
        fs::copy(next.path(name), authority.path(name)).expect("a file");
    }
    gateway.hang_up();
    gateway.wait_for_log("certificate reloaded").await;
    let mut client = next.client(&gateway, Some(next.proof(&[uri(RANKER)])), None).await;
    assert_eq!(may(&mut client).await, (Code::Ok, Code::Ok));
    assert_eq!(may(&mut open).await, (Code::Ok, Code::Ok), "open connections stay");
    assert!(authority.channel(&gateway, Some(authority.proof(&[uri(RANKER)]))).await.is_err());
}
