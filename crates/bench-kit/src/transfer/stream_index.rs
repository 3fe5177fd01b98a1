use crate::plan::Plan;
use paceline::StreamId;

/// The first of a side's streams of payload that is one: before it there is a video.
pub(super) fn first(plan: &Plan) -> usize {
    usize::from(plan.extras.media.is_some())
}

/// Which of its side's streams of payload this is, from 0: both sides count alike.
pub(super) fn index_of(stream: StreamId) -> usize {
    usize::try_from(stream.index()).unwrap_or(usize::MAX)
}
