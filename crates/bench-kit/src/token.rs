//! The secret that a server shares with its clients.
//!
//! It never crosses the network. A client shows that it knows it by a code over secret bytes that
//! TLS derives for this one connection (RFC 8446 §7.5), so that the proof is worth nothing in any
//! other: not to those who have recorded it, and not to somebody between the two sides, who has a
//! connection with each and the same bytes on neither. Somebody in between can try out short
//! secrets, though, which is why there is a least length.

use crate::failure::Failure;
use crate::hex;
use aws_lc_rs::hmac;
use paceline::Connection;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A token that client and server know.
#[derive(Clone)]
pub struct Token(hmac::Key);

impl Token {
    /// The token in the file that `--token` names, else that in the environment variable
    /// `PACELINE_TOKEN`; `None` when there is neither.
    ///
    /// # Errors
    /// When the file cannot be read, or the token has fewer than 16 or more than 1,024 bytes.
    pub fn find(file: Option<&Path>) -> Result<Option<Self>, Failure> {
        if let Some(path) = file {
            let of_file = || format!("--token {}", path.display());
            let text =
                read(path).map_err(|error| Failure::run(format!("{}: {error}", of_file())))?;
            return Self::new(&text, &of_file()).map(Some);
        }
        match std::env::var_os(VARIABLE) {
            Some(text) => Self::new(OsStr::as_encoded_bytes(&text), VARIABLE).map(Some),
            None => Ok(None),
        }
    }

    /// The token in `text`, without the white space around it.
    fn new(text: &[u8], source: &str) -> Result<Self, Failure> {
        let secret = text.trim_ascii();
        if !LENGTHS.contains(&secret.len()) {
            return Err(Failure::usage(format!(
                "{source}: expected a token of {} to {} bytes, found {}; make one with `openssl \
                 rand -hex 32`",
                LENGTHS.start(),
                LENGTHS.end(),
                secret.len()
            )));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, secret)))
    }

    /// What shows to the peer of `connection`, and to nobody else, that this side knows the token.
    pub fn proof(&self, connection: &Connection) -> String {
        let tag = hmac::sign(&self.0, &bound_to(connection));
        hex::encode(tag.as_ref())
    }

    /// Whether `proof` is that of `connection`. Takes the same time for every wrong one.
    pub fn is_proved(&self, connection: &Connection, proof: &str) -> bool {
        hex::decode(proof)
            .is_some_and(|tag| hmac::verify(&self.0, &bound_to(connection), &tag).is_ok())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Bytes that only the two ends of this connection have.
fn bound_to(connection: &Connection) -> [u8; 32] {
    let mut bytes = [0; 32];
    connection
        .export_keying_material(&mut bytes, LABEL, b"")
        .expect("TLS 1.3 exports up to 255 hashes");
    bytes
}

/// As much of the file as a token can have, and a little white space.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let max = *LENGTHS.end() as u64 + 64;
    File::open(path)?.take(max).read_to_end(&mut text)?;
    Ok(text)
}

/// The environment variable that holds a token where no file does.
pub(crate) const VARIABLE: &str = "PACELINE_TOKEN";

/// What the bytes of TLS are for.
const LABEL: &[u8] = b"EXPORTER-paceline-bench-token";

/// In bytes: 16 random hexadecimal digits are 64 bits, out of reach of those who try.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=1_024;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &[u8]) -> String {
        Token::new(text, "--token t").unwrap_err().to_string()
    }

    #[test]
    fn a_token_that_could_be_guessed_is_refused() {
        assert_eq!(
            refusal(b"  secret\n"),
            "--token t: expected a token of 16 to 1024 bytes, found 6; make one with `openssl rand \
             -hex 32`"
        );
        assert!(refusal(&[b'a'; 1_025]).contains("found 1025"));
        assert!(Token::new(&[b'a'; 16], "").is_ok());
    }

    #[test]
    fn an_endless_file_is_no_token() {
        let refused = Token::find(Some(Path::new("/dev/zero"))).unwrap_err();
        assert!(refused.to_string().contains("found 1088"), "{refused}");
    }

    #[test]
    fn white_space_around_it_does_not_count_and_no_text_shows_it() {
        let plain = Token::new(b"0123456789abcdef", "").unwrap();
        let framed = Token::new(b" 0123456789abcdef\r\n", "").unwrap();
        let sign = |token: &Token| hmac::sign(&token.0, b"x").as_ref().to_vec();
        assert_eq!(sign(&plain), sign(&framed));
        assert_eq!(format!("{plain:?}"), "Token(..)");
    }
}
