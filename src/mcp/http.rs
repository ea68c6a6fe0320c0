//! The transport to a server with a URL: streamable HTTP.
//! Not for: the messages (`server_process`, `call`).

use crate::domain::tool::Secret;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use std::collections::HashMap;
use std::time::Duration;

/// The time limit for making a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes the transport for a URL. Nothing is sent yet.
pub(super) fn open(
    url: &Secret,
    headers: &[(String, Secret)],
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let url = reqwest::Url::parse(url.reveal()).map_err(|error| format!("its address can't be read: {error}"))?;
    let mut map = HashMap::new();
    for (name, value) in headers {
        let faulty = || format!("the header {name} can't be sent");
        let key = reqwest::header::HeaderName::from_bytes(name.as_bytes()).map_err(|_| faulty())?;
        let mut value = reqwest::header::HeaderValue::from_str(value.reveal()).map_err(|_| faulty())?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    // An error means that a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let local = url.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"));
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        // Headers can contain secrets, so redirects are not followed.
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(0)
        .tcp_nodelay(true)
        .user_agent(concat!("pleach/", env!("CARGO_PKG_VERSION")));
    let client = if local { client.no_proxy() } else { client };
    let client = client.build().map_err(|error| format!("the HTTP client can't be started: {error}"))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(map);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}
