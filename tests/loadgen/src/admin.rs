//! Requests to the probe listener and the control listener of a gateway.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::served::CONTROL_TOKEN;
use super::target::Target;

const ANSWER_MAX: Duration = Duration::from_secs(10);

/// The body of a successful answer.
pub async fn get(admin: &Target, path: &str) -> Result<String, String> {
    let answer = timeout(ANSWER_MAX, exchange(admin, path)).await.map_err(|_| "it takes too long".to_owned());
    let answer = answer.and_then(|answer| answer.map_err(|error| error.to_string()));
    let body = answer.and_then(|answer| body(&answer).ok_or_else(|| answer.lines().next().unwrap_or("").to_owned()));
    body.map_err(|why| format!("the gateway does not answer {path}: {why}"))
}

/// The value of a metric, with labels included in the name; `None` = absent.
pub fn metric(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

async fn exchange(admin: &Target, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(admin.address).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {CONTROL_TOKEN}\r\nConnection: close\r\n\r\n",
        admin.host
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn body(answer: &str) -> Option<String> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200 ").then(|| body.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_success_has_a_body() {
        assert_eq!(body("HTTP/1.1 200 OK\r\na: b\r\n\r\n{}").as_deref(), Some("{}"));
        assert_eq!(body("HTTP/1.1 404 Not Found\r\n\r\n{}"), None);
    }

    #[test]
    fn a_metric_is_found_by_its_whole_name() {
        let text = "# TYPE a counter\na_total{b=\"c\"} 7\na_total 12\n";
        assert_eq!(metric(text, "a_total{b=\"c\"}"), Some(7.0));
        assert_eq!((metric(text, "a_total"), metric(text, "a_")), (Some(12.0), None));
    }
}
