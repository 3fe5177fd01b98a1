use paceline::StreamId;

/// Which of its side's streams of payload this is, from 0: both sides count alike.
pub(super) fn index_of(stream: StreamId) -> usize {
    usize::try_from(stream.index()).unwrap_or(usize::MAX)
}
