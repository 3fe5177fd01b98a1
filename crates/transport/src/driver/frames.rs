//! Telling ACKs alone from everything else that leaves.

use quinn_proto::FrameStats;

/// All frames but ACKs; their number grows with every packet that is not an ACK alone.
pub(super) fn frames_but_acks(frames: &FrameStats) -> u64 {
    let FrameStats {
        ack_frequency,
        crypto,
        connection_close,
        data_blocked,
        datagram,
        handshake_done,
        immediate_ack,
        max_data,
        max_stream_data,
        max_streams_bidi,
        max_streams_uni,
        new_connection_id,
        new_token,
        path_challenge,
        path_response,
        ping,
        reset_stream,
        retire_connection_id,
        stream_data_blocked,
        streams_blocked_bidi,
        streams_blocked_uni,
        stop_sending,
        stream,
        ..
    } = *frames;
    u64::from(handshake_done)
        + ack_frequency
        + crypto
        + connection_close
        + data_blocked
        + datagram
        + immediate_ack
        + max_data
        + max_stream_data
        + max_streams_bidi
        + max_streams_uni
        + new_connection_id
        + new_token
        + path_challenge
        + path_response
        + ping
        + reset_stream
        + retire_connection_id
        + stream_data_blocked
        + streams_blocked_bidi
        + streams_blocked_uni
        + stop_sending
        + stream
}
