// The C ABI of Paceline's congestion controllers: docs/c-abi.md has the order of calls.

#ifndef PACELINE_CC_H
#define PACELINE_CC_H

// Made of the Rust sources, see CONTRIBUTING.md. Change those, not this file.

#include <stddef.h>
#include <stdint.h>

// The most packets that a handle has in flight, 315 MB of data in packets of 1200 bytes: 2.5 s at
// 1 Gbit/s. They take up to 24 MiB of memory. To send more is an error.
#define PACELINE_CC_MAX_IN_FLIGHT (1 << 18)

// The most lost packets that a handle remembers in case they arrive after all. Of those beyond it
// the oldest are forgotten.
#define PACELINE_CC_MAX_LOST (1 << 14)

// What became of a call. Everything but `PACELINE_CC_STATUS_OK` has changed nothing, except that a
// panic ends the handle.
typedef enum {
  // The call did what it says.
  PACELINE_CC_STATUS_OK = 0,
  // A pointer that has to point to something is null or not aligned.
  PACELINE_CC_STATUS_NULL_POINTER = 1,
  // A number is outside the range that its documentation gives, or a text is not UTF-8.
  PACELINE_CC_STATUS_BAD_ARGUMENT = 2,
  // The text names no controller, or a parameter that it does not have.
  PACELINE_CC_STATUS_BAD_CONTROLLER = 3,
  // The time is earlier than that of a call before.
  PACELINE_CC_STATUS_TIME_WENT_BACK = 4,
  // A packet number is not greater than those of all packets sent before.
  PACELINE_CC_STATUS_NUMBER_NOT_NEW = 5,
  // No packet of this number is in flight, or for a spurious loss: none is known to be lost.
  PACELINE_CC_STATUS_UNKNOWN_PACKET = 6,
  // Packets were reported since the last `paceline_cc_end_feedback`, which has to come first.
  PACELINE_CC_STATUS_FEEDBACK_NOT_ENDED = 7,
  // From the oldest packet that is not settled on, a handle holds no more packets.
  PACELINE_CC_STATUS_TOO_MANY_PACKETS = 8,
  // The controller has panicked, now or before. The handle can only be freed.
  PACELINE_CC_STATUS_PANICKED = 9,
} PacelineCcStatus;

// Congestion control of one connection. `paceline_cc_new` makes it, `paceline_cc_free` ends it.
typedef struct PacelineCc PacelineCc;

// What is known when a handle is made. Set all fields; zeros are valid where the field says so.
typedef struct {
  // The current time in nanoseconds of any monotonic clock.
  uint64_t now_ns;
  // The largest packet in bytes of UDP payload, 64 to 65527.
  uint64_t mss;
  // The window to begin with in bytes; 0 for that of RFC 9002, section 7.2. At least two packets
  // of `mss`, at most 2^32.
  uint64_t initial_cwnd;
  // The seed of all randomness. The same seed and the same calls give the same decisions.
  uint64_t seed;
  // 1 if packets will carry ECT(1) where the controller wants it (RFC 9331), otherwise 0.
  uint64_t sends_ect1;
} PacelineCcSetup;

// What an ACK or an expiry of the loss timer says besides its packets.
typedef struct {
  // When it came, in nanoseconds.
  uint64_t now_ns;
  // The round-trip time of the newest acknowledged packet less the peer's reported delay, in
  // nanoseconds, at most a day; 0 if there is no sample (RFC 9002, section 5.1).
  uint64_t rtt_ns;
  // Packets newly reported as marked Congestion Experienced, at most 2^32.
  uint64_t ce_marked;
  // 1 if the losses establish persistent congestion (RFC 9002, section 7.6), otherwise 0.
  uint64_t is_persistent_congestion;
} PacelineCcFeedback;

// What a sender may do until the next call.
typedef struct {
  // The most bytes that may be in flight.
  uint64_t cwnd;
  // The rate at which bytes may leave, in bytes per second; UINT64_MAX if the window alone
  // limits.
  uint64_t pacing_rate;
  // The most bytes that may leave in one burst: the depth of the pacer's token bucket.
  // UINT64_MAX if nothing limits it.
  uint64_t send_quantum;
  // 1 if packets are to carry ECT(1) instead of ECT(0), otherwise 0.
  uint64_t wants_ect1;
} PacelineCcControl;

// The connection as the handle sees it, for logs and to check a caller by. Amounts are sums since
// the handle was made or the path last changed.
typedef struct {
  // Bytes sent and neither acknowledged, lost nor discarded.
  uint64_t in_flight;
  // Bytes acknowledged.
  uint64_t delivered;
  // Bytes declared lost, less those that arrived after all.
  uint64_t lost;
  // The smoothed round-trip time in nanoseconds; 0 before the first sample.
  uint64_t srtt_ns;
  // The minimum round-trip time in nanoseconds; 0 before the first sample.
  uint64_t min_rtt_ns;
} PacelineCcPath;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes congestion control for one connection under the controller that `controller` names, such
// as "bbr3" or "bbr3:loss_thresh=5%", as of `setup`, and stores it in `handle`.
//
// Where the text names none, up to `error_size` bytes of a message go to `error`, a terminating
// zero included; `error` may be null. Without a handle, `handle` is set to null.
//
// # Safety
// Each pointer is null or points to what its type says: `controller` to a text that ends with a
// zero, `error` to `error_size` writable bytes.
PacelineCcStatus paceline_cc_new(const char *controller,
                                 const PacelineCcSetup *setup,
                                 PacelineCc **handle,
                                 char *error,
                                 size_t error_size);

// Ends a handle. Null is ignored.
//
// # Safety
// `handle` is null, or one of `paceline_cc_new` that was not freed; nothing uses it afterwards.
void paceline_cc_free(PacelineCc *handle);

// A packet leaves now: `number` is greater than that of every packet before, `bytes` its size as
// it counts in flight, 1 to 65527. Packets that do not count in flight are not reported. A stack
// with several packet number spaces numbers packets in the order of sending.
//
// # Safety
// `handle` is null or a handle in use by this thread alone.
PacelineCcStatus paceline_cc_on_sent(PacelineCc *handle,
                                     uint64_t now_ns,
                                     uint64_t number,
                                     uint64_t bytes);

// A packet in flight was acknowledged. Takes effect with `paceline_cc_end_feedback`.
//
// # Safety
// `handle` is null or a handle in use by this thread alone.
PacelineCcStatus paceline_cc_on_acked(PacelineCc *handle,
                                      uint64_t number);

// A packet in flight was declared lost. Takes effect with `paceline_cc_end_feedback`. A lost probe
// of the path's packet size is discarded instead: it says nothing of congestion.
//
// # Safety
// `handle` is null or a handle in use by this thread alone.
PacelineCcStatus paceline_cc_on_lost(PacelineCc *handle,
                                     uint64_t number);

// All packets were reported that one ACK acknowledges, with those declared lost because of it; or
// all those that one expiry of the loss timer declares lost. The controller decides now.
//
// # Safety
// Each pointer is null or points to what its type says; the handle is in use by this thread alone.
PacelineCcStatus paceline_cc_end_feedback(PacelineCc *handle,
                                          const PacelineCcFeedback *feedback);

// A packet that was declared lost has arrived after all. Lost packets are remembered until 16384
// later ones were lost.
//
// # Safety
// `handle` is null or a handle in use by this thread alone.
PacelineCcStatus paceline_cc_on_spurious_loss(PacelineCc *handle,
                                              uint64_t now_ns,
                                              uint64_t number);

// A packet left flight without being acknowledged or lost, as when keys are discarded.
//
// # Safety
// `handle` is null or a handle in use by this thread alone.
PacelineCcStatus paceline_cc_on_discarded(PacelineCc *handle,
                                          uint64_t number);

// Window and pacer would let more leave, but the application has nothing to send. Not for what the
// peer's flow control holds back.
//
// # Safety
// `handle` is null or a handle in use by this thread alone.
PacelineCcStatus paceline_cc_on_app_limited(PacelineCc *handle);

// Packets may now be as large as `mss` bytes, 64 to 65527.
//
// # Safety
// `handle` is null or a handle in use by this thread alone.
PacelineCcStatus paceline_cc_on_mss(PacelineCc *handle,
                                    uint64_t now_ns,
                                    uint64_t mss);

// The connection goes on over another network path (RFC 9000, section 9.4): the controller begins
// anew with packets of `mss` bytes, 64 to 65527. What was sent before may still be reported, and
// is ignored. After a mere change of the peer's port this is not called.
//
// # Safety
// `handle` is null or a handle in use by this thread alone.
PacelineCcStatus paceline_cc_on_path_change(PacelineCc *handle,
                                            uint64_t now_ns,
                                            uint64_t mss);

// Packets that leave from now on carry ECT(1) if the controller wants it (`sends_ect1` is 1), or
// never do (0), as when the path does not carry ECN.
//
// # Safety
// `handle` is null or a handle in use by this thread alone.
PacelineCcStatus paceline_cc_set_sends_ect1(PacelineCc *handle,
                                            uint64_t now_ns,
                                            uint64_t sends_ect1);

// Stores the decision in force.
//
// # Safety
// Each pointer is null or points to what its type says; the handle is in use by this thread alone.
PacelineCcStatus paceline_cc_control(const PacelineCc *handle,
                                     PacelineCcControl *control);

// Stores the connection's state as the handle sees it.
//
// # Safety
// Each pointer is null or points to what its type says; the handle is in use by this thread alone.
PacelineCcStatus paceline_cc_path(const PacelineCc *handle,
                                  PacelineCcPath *path);

// Writes the name of the controller's state, such as "Startup", to `text`: up to `size` bytes, a
// terminating zero included. 64 are enough for every state.
//
// # Safety
// `handle` is null or a handle in use by this thread alone; `text` is null or points to `size`
// writable bytes.
PacelineCcStatus paceline_cc_state(const PacelineCc *handle,
                                   char *text,
                                   size_t size);

// The name of the controller at `index`, counted from 0; null behind the last one. The text lasts
// as long as the program.
const char *paceline_cc_name(size_t index);

// What a status means and what to do about it. The text lasts as long as the program.
const char *paceline_cc_status_text(int32_t status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PACELINE_CC_H */
