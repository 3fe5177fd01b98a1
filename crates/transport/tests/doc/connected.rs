/// The two ends of a connection over loopback, the client's first: what examples in the
/// documentation begin with, where it is hidden.
async fn connected()
-> Result<(paceline::Connection, paceline::Connection), Box<dyn std::error::Error>> {
    let certificate = paceline::tls::SelfSigned::generate(["localhost"])?;
    let local = (std::net::Ipv4Addr::LOCALHOST, 0).into();
    let server = paceline::Endpoint::server(certificate.server().config()?, local)?;
    let client = paceline::Endpoint::client(local)?;
    let config = paceline::tls::client_with_fingerprint(certificate.fingerprint).config()?;
    let connecting = client.connect_with(config, server.local_addr()?, "localhost")?;
    let accepting = async {
        let attempt = server.accept().await.ok_or("the endpoint is closed")?;
        Ok::<_, Box<dyn std::error::Error>>(attempt.await?)
    };
    let (client, server) = tokio::join!(connecting, accepting);
    Ok((client?, server?))
}
