use super::queue::Capacity;

/// What of a link tc has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::spec) struct Unsupported {
    pub(in crate::spec) word: &'static str,
    pub(in crate::spec) problem: String,
}

impl Unsupported {
    pub(in crate::spec) fn new(word: &'static str, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        Self { word, problem }
    }
}

/// A queue's limit for a discipline of tc that counts packets.
pub(in crate::spec) fn in_packets(capacity: Capacity, name: &str) -> Result<u64, Unsupported> {
    match capacity {
        Capacity::Packets(packets) => Ok(packets),
        Capacity::Bytes(_) => Err(Unsupported::new(
            "queue",
            format!("tc's {name} counts packets; give it a `queue` in packets"),
        )),
    }
}

/// A queue's limit for a discipline of tc that counts bytes.
pub(in crate::spec) fn in_bytes(capacity: Capacity, name: &str) -> Result<u64, Unsupported> {
    match capacity {
        Capacity::Bytes(bytes) => Ok(bytes.get()),
        Capacity::Packets(_) => {
            let problem = format!("tc's {name} counts bytes; give it a `queue` in bytes");
            Err(Unsupported::new("aqm", problem))
        }
    }
}
