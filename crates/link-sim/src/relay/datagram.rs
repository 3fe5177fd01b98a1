/// A datagram from the client with this number, or for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Datagram {
    pub(super) client: u64,
    pub(super) data: Vec<u8>,
}
