//! The examples: a file server and a client that fetches.

use crate::h3::{
    NAME, Requests, any, connect, drive, h3_client, h3_server, limited, noise, ours, sha256,
};
use e2e::programs::scratch_file;
use http::{Method, Request, StatusCode};
use paceline::Endpoint;
use paceline::tls::SelfSigned;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The example's server over a directory of this test's own.
pub(crate) struct Files {
    pub(crate) directory: PathBuf,
    pub(crate) address: SocketAddr,
    pub(crate) certificate: SelfSigned,
}

impl Files {
    pub(crate) fn serve(name: &str) -> Self {
        let directory = scratch_file(name);
        std::fs::create_dir_all(directory.join("below")).unwrap();
        let certificate = SelfSigned::generate([NAME, "127.0.0.1"]).unwrap();
        let mut config = certificate.server().alpn(&[ours::ALPN]).config().unwrap();
        config.congestion("bbr3").unwrap();
        let endpoint = Endpoint::server(config, any()).unwrap();
        let address = endpoint.local_addr().unwrap();
        let root = directory.clone();
        tokio::spawn(async move { h3_server::serve(endpoint, &root).await });
        Self {
            directory,
            address,
            certificate,
        }
    }

    async fn connect(&self) -> Requests {
        drive(connect(&self.certificate, self.address).await).await
    }

    pub(crate) fn put(&self, name: impl AsRef<Path>, content: &[u8]) {
        std::fs::write(self.directory.join(name), content).unwrap();
    }

    /// Status and body.
    async fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let (mut requests, mut body) = (self.connect().await, Vec::new());
        let uri = format!("https://{NAME}{path}").parse().unwrap();
        let fetched = h3_client::fetch(&mut requests, uri, &mut body);
        let (status, length) = limited(fetched).await.unwrap();
        assert_eq!(length, body.len() as u64);
        (status.as_u16(), body)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.directory).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_megabytes_arrive_as_they_were() {
    let files = Files::serve("large");
    let content = noise(100_000_000);
    files.put("large", &content);
    let (status, body) = files.get("/large").await;
    assert_eq!((status, body.len()), (200, content.len()));
    assert_eq!(sha256(&body).as_ref(), sha256(&content).as_ref());
}

#[tokio::test]
async fn a_directory_is_its_index_and_names_are_decoded() {
    let files = Files::serve("names");
    files.put("index.html", b"the index");
    files.put("below/a b.txt", b"a file");
    files.put("empty", b"");
    assert_eq!(files.get("/").await, (200, b"the index".to_vec()));
    assert_eq!(
        files.get("/below/a%20b.txt?query").await,
        (200, b"a file".to_vec())
    );
    assert_eq!(files.get("/empty").await, (200, Vec::new()));
    for missing in [
        "/none", "/below", "/below/", "/a%2", "/a%zz", "/%ff", "/%00",
    ] {
        assert_eq!(files.get(missing).await, (404, Vec::new()), "{missing}");
    }
}

#[tokio::test]
async fn nothing_outside_of_the_directory_is_served() {
    let files = Files::serve("inside");
    let secret = scratch_file("secret");
    std::fs::write(&secret, "a secret").unwrap();
    let name = secret.file_name().unwrap().to_str().unwrap();
    let absolute = secret.to_str().unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret, files.directory.join("link")).unwrap();
    for path in [
        format!("/../{name}"),
        format!("/%2e%2e/{name}"),
        format!("/below/..%2f..%2f{name}"),
        format!("/{absolute}"),
        format!("/%2f{absolute}"),
        "/link".to_owned(),
    ] {
        assert_eq!(files.get(&path).await, (404, Vec::new()), "{path}");
    }
    std::fs::remove_file(secret).unwrap();
}

#[tokio::test]
async fn a_head_has_a_length_and_no_body_and_other_methods_are_refused() {
    let files = Files::serve("methods");
    files.put("a.html", b"a page");
    let mut requests = files.connect().await;
    for (method, status, length) in [
        (Method::GET, StatusCode::OK, "6"),
        (Method::HEAD, StatusCode::OK, "6"),
        (Method::DELETE, StatusCode::METHOD_NOT_ALLOWED, "0"),
    ] {
        let request = Request::builder()
            .method(&method)
            .uri("https://localhost/a.html");
        let mut stream = requests
            .send_request(request.body(()).unwrap())
            .await
            .unwrap();
        stream.finish().await.unwrap();
        let response = limited(stream.recv_response()).await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()["content-length"], length);
        assert_eq!(
            response.headers().contains_key("allow"),
            status != StatusCode::OK
        );
        let has_body = limited(stream.recv_data()).await.unwrap().is_some();
        assert_eq!(has_body, method == Method::GET);
    }
}
