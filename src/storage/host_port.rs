//! Addresses of servers, as settings name them.

/// Whether it is `HOST:PORT`.
pub fn is_host_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte);
    !host.is_empty() && host.bytes().all(plain) && port.parse::<u16>().is_ok_and(|port| port > 0)
}
