//! Questions to the kernel about routes and queueing disciplines (rtnetlink(7)).
//!
//! A message is a header of 16 octets, a fixed part by its type, and attributes: length, type and
//! value, padded to four octets. Numbers have the machine's byte order.

use super::qdiscs::Qdisc;
use nix::errno::Errno;
use nix::net::if_::if_indextoname;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// A socket to ask through.
#[derive(Debug)]
pub(super) struct Netlink(OwnedFd);

/// One message of an answer: its type, and all that stands behind the header.
type Answer<'a> = (u16, &'a [u8]);

impl Netlink {
    pub(super) fn new() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let protocol = SockProtocol::NetlinkRoute;
        Ok(Self(socket(
            AddressFamily::Netlink,
            SockType::Raw,
            flags,
            protocol,
        )?))
    }

    /// The number of the device by which packets to `remote` leave.
    pub(super) fn device_to(&mut self, local: Option<IpAddr>, remote: IpAddr) -> io::Result<u32> {
        let request = route_request(local, remote);
        let mut device = None;
        self.ask(&request, |(kind, body)| {
            if kind == RTM_NEWROUTE {
                device = device.or_else(|| output_device(body));
            }
        })?;
        device.ok_or_else(|| io::Error::other("the route has no device"))
    }

    /// All that queues what `device` sends.
    pub(super) fn qdiscs_of(&mut self, device: u32) -> io::Result<Vec<Qdisc>> {
        let mut qdiscs = Vec::new();
        self.ask(&qdisc_request(device), |(kind, body)| {
            // Kernels answer with those of every device.
            let found = (kind == RTM_NEWQDISC).then(|| qdisc(body)).flatten();
            qdiscs.extend(found.filter(|found| found.0 == device).map(|found| found.1));
        })?;
        Ok(qdiscs)
    }

    /// Sends `request` and hands on what is answered.
    fn ask(&mut self, request: &[u8], mut on_answer: impl FnMut(Answer<'_>)) -> io::Result<()> {
        let fd = self.0.as_raw_fd();
        sendto(fd, request, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        // The kernel has written its answer, or the first part of it, when the request is sent.
        let mut memory = vec![0; 32 << 10];
        loop {
            let length = recv(fd, &mut memory, MsgFlags::MSG_DONTWAIT)?;
            if read_answers(&memory[..length], &mut on_answer)? == Rest::Complete {
                return Ok(());
            }
        }
    }
}

/// The name of a device, or its number if it has gone.
pub(super) fn name_of(device: u32) -> String {
    let name = if_indextoname(device).ok();
    let name = name.and_then(|name| name.into_string().ok());
    name.unwrap_or_else(|| device.to_string())
}

#[derive(Debug, PartialEq, Eq)]
enum Rest {
    Follows,
    Complete,
}

/// Hands on each message of a datagram. An answer is complete with a message that is not part of
/// several, or with the one that ends these.
fn read_answers(mut datagram: &[u8], mut on_answer: impl FnMut(Answer<'_>)) -> io::Result<Rest> {
    while let Some(length) = number_at(datagram, 0) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let broken = || io::Error::other("a netlink message is broken");
        let message = datagram.get(..length).ok_or_else(broken)?;
        let body = message.get(HEADER..).ok_or_else(broken)?;
        let kind = u16::from_ne_bytes([message[4], message[5]]);
        let flags = u16::from_ne_bytes([message[6], message[7]]);
        match kind {
            NLMSG_DONE => return Ok(Rest::Complete),
            NLMSG_ERROR => {
                let code = number_at(body, 0).map_or(0, u32::cast_signed);
                return Err(Errno::from_raw(code.saturating_neg()).into());
            }
            _ => on_answer((kind, body)),
        }
        if flags & NLM_F_MULTI == 0 {
            return Ok(Rest::Complete);
        }
        datagram = datagram.get(padded(length)..).unwrap_or_default();
    }
    Ok(Rest::Follows)
}

/// As `ip route get REMOTE from LOCAL` asks.
fn route_request(local: Option<IpAddr>, remote: IpAddr) -> Vec<u8> {
    let mut body = vec![0; ROUTE];
    body[0] = match remote {
        IpAddr::V4(_) => AddressFamily::Inet as u8,
        IpAddr::V6(_) => AddressFamily::Inet6 as u8,
    };
    body[1] = push_address(&mut body, RTA_DST, remote);
    let local =
        local.filter(|local| !local.is_unspecified() && local.is_ipv4() == remote.is_ipv4());
    if let Some(local) = local {
        body[2] = push_address(&mut body, RTA_SRC, local);
    }
    message(RTM_GETROUTE, NLM_F_REQUEST, &body)
}

/// As `tc qdisc show` asks.
fn qdisc_request(device: u32) -> Vec<u8> {
    let mut body = [0; QDISC];
    body[4..8].copy_from_slice(&device.to_ne_bytes());
    message(RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, &body)
}

fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + body.len()).expect("requests are short");
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(length.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    // A sequence number and the sender's, which only the asker needs.
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// Appends an attribute; returns how many bits the address has.
fn push_address(body: &mut Vec<u8>, kind: u16, address: IpAddr) -> u8 {
    let octets = match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    let length = u16::try_from(ATTRIBUTE + octets.len()).expect("an address is short");
    body.extend(length.to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(&octets);
    u8::try_from(octets.len() * 8).expect("no more than 128")
}

/// The device of a route.
fn output_device(body: &[u8]) -> Option<u32> {
    number_at(attribute(body.get(ROUTE..)?, RTA_OIF)?, 0)
}

/// The device of a qdisc, and the qdisc.
fn qdisc(body: &[u8]) -> Option<(u32, Qdisc)> {
    let kind = attribute(body.get(QDISC..)?, TCA_KIND)?;
    let kind = kind.split(|octet| *octet == 0).next()?;
    let qdisc = Qdisc {
        kind: String::from_utf8_lossy(kind).into_owned(),
        parent: number_at(body, 12)?,
    };
    Some((number_at(body, 4)?, qdisc))
}

/// The value of the first attribute of type `wanted`.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    while let Some(&[l0, l1, k0, k1]) = attributes.first_chunk::<ATTRIBUTE>() {
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let value = attributes.get(ATTRIBUTE..length)?;
        if u16::from_ne_bytes([k0, k1]) == wanted {
            return Some(value);
        }
        attributes = attributes.get(padded(length)..).unwrap_or_default();
    }
    None
}

fn number_at(octets: &[u8], at: usize) -> Option<u32> {
    let octets = octets.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*octets))
}

fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// Octets of `struct nlmsghdr`, `rtattr`, `rtmsg` and `tcmsg`.
const HEADER: usize = 16;
const ATTRIBUTE: usize = 4;
const ROUTE: usize = 12;
const QDISC: usize = 20;

// linux/netlink.h
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_MULTI: u16 = 0x2;
const NLM_F_DUMP: u16 = 0x300;

// linux/rtnetlink.h
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_OIF: u16 = 4;
const TCA_KIND: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(ATTRIBUTE + value.len()).unwrap();
        let mut octets = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        octets.extend(value);
        octets.resize(padded(octets.len()), 0);
        octets
    }

    fn qdisc_message(device: u32, parent: u32, kind: &str) -> Vec<u8> {
        let mut body = vec![0; QDISC];
        body[4..8].copy_from_slice(&device.to_ne_bytes());
        body[12..16].copy_from_slice(&parent.to_ne_bytes());
        body.extend(attribute_of(99, b"another"));
        body.extend(attribute_of(TCA_KIND, format!("{kind}\0").as_bytes()));
        message(RTM_NEWQDISC, NLM_F_MULTI, &body)
    }

    #[test]
    fn each_qdisc_of_an_answer_is_read() {
        let mut datagram = qdisc_message(2, 7, "fq");
        datagram.extend(qdisc_message(3, 8, "noqueue"));
        let mut read = Vec::new();
        let on_answer = |(_, body): Answer<'_>| read.extend(qdisc(body));
        assert_eq!(read_answers(&datagram, on_answer).unwrap(), Rest::Follows);
        let of = |kind: &str, parent| Qdisc {
            kind: kind.to_owned(),
            parent,
        };
        assert_eq!(read, [(2, of("fq", 7)), (3, of("noqueue", 8))]);
        let end = message(NLMSG_DONE, NLM_F_MULTI, &[0; 4]);
        assert_eq!(read_answers(&end, |_| panic!()).unwrap(), Rest::Complete);
    }

    #[test]
    fn the_kernels_error_is_passed_on() {
        let refusal = (-101_i32).to_ne_bytes();
        let error = read_answers(&message(NLMSG_ERROR, 0, &refusal), |_| panic!());
        assert_eq!(error.unwrap_err().raw_os_error(), Some(101));
    }

    #[test]
    fn messages_cut_short_anywhere_do_no_harm() {
        let whole = qdisc_message(2, 7, "fq");
        for length in 0..whole.len() {
            let _ = read_answers(&whole[..length], |(_, body)| drop(qdisc(body)));
            let _ = qdisc(&whole[..length]);
            let _ = output_device(&whole[..length]);
        }
        // A length of nothing would be read for ever.
        let endless = [&[0; ROUTE][..], &[0; 8]].concat();
        assert_eq!(output_device(&endless), None);
    }

    #[test]
    fn this_kernel_tells_of_loopback() {
        let mut netlink = Netlink::new().unwrap();
        let device = netlink.device_to(None, [127, 0, 0, 1].into()).unwrap();
        assert_eq!(name_of(device), "lo");
        assert_eq!(netlink.qdiscs_of(device).unwrap().len(), 1);
        let device = netlink.device_to(None, "::1".parse().unwrap()).unwrap();
        assert_eq!(name_of(device), "lo");
    }
}
