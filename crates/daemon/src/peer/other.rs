//! Systems without a supported way to ask for the owner of a TCP socket (macOS): nobody is vouched
//! for, so that TCP needs the token. The Unix socket is not concerned.

use super::TcpClient;
use std::net::SocketAddr;

pub(super) fn owner(_client: SocketAddr, _server: SocketAddr) -> Option<u32> {
    None
}

pub(super) fn client_process(_client: SocketAddr, _server: SocketAddr) -> TcpClient {
    TcpClient::Unknown
}

pub(super) fn listener_of(_port: u16) -> Option<String> {
    None
}
