//! reqwest as a client of HTTP/3.

use crate::http3::{ALPN, serve};
use crate::support::{ANY, Certificate, MEGABYTE, limited, noise};
use crate::witness;
use quinn::Endpoint;
use reqwest::{ClientBuilder, Version};

#[tokio::test]
async fn reqwest_fetches_over_http3() {
    fetches(|builder| builder).await;
}

/// `BbrConfig` through quinn's own setter.
#[tokio::test]
async fn reqwest_fetches_with_bbr() {
    fetches(ClientBuilder::http3_congestion_bbr).await;
}

async fn fetches(configure: impl FnOnce(ClientBuilder) -> ClientBuilder) {
    limited(async {
        let certificate = Certificate::new();
        let endpoint = Endpoint::server(certificate.server(&[ALPN]), ANY).unwrap();
        let address = endpoint.local_addr().unwrap();
        let serving = tokio::spawn(serve(endpoint));
        let trusted = reqwest::Certificate::from_der(&certificate.der).unwrap();
        let builder = reqwest::Client::builder()
            .tls_certs_only([trusted])
            .http3_prior_knowledge();
        let client = configure(builder).build().unwrap();
        let url = format!("https://127.0.0.1:{}/", address.port());
        let request = client.get(url).version(Version::HTTP_3);
        let response = request.send().await.unwrap();
        assert_eq!(response.version(), Version::HTTP_3);
        assert!(response.bytes().await.unwrap() == noise(MEGABYTE));
        drop(client);
        serving.abort();
        witness::assert_has_client_of(address);
    })
    .await;
}
