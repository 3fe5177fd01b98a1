/// Name of the link that data takes unless its flow says otherwise.
pub(crate) const LINK: &str = "link";
/// Name of the link that ACKs take unless their flow says otherwise.
pub(crate) const RETURN: &str = "return";
