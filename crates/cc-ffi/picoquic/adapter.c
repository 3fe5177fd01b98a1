// Paceline's controllers as a congestion algorithm of picoquic: `paceline`, whose option names the
// controller, as in `picoquic_set_default_congestion_algorithm_ex(quic, algorithm, "bbr3")`.
//
// picoquic is not changed. It tells its algorithms sums of an ACK, and nothing of sending, while
// Paceline takes packets one by one. So this file reads them from picoquic's queues:
//
// - a packet leaves: the linker has picoquic_update_pacing_after_send call a function of this file
//   (`--wrap`), which finds the packet at the end of the queue of pending ones;
// - a packet is acknowledged: it is in no queue any more when picoquic notifies of the ACK;
// - a packet is lost, or was late: the notification has its number.
//
// Only packets of 1-RTT are counted, and one path: a handle has one sequence of numbers. `run.sh`
// builds picoquic's simulator with it.

#include "paceline_cc.h"
#include "picoquic_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The function that the linker's `--wrap` replaces, and picoquic's own.
void __real_picoquic_update_pacing_after_send(picoquic_path_t *path, size_t length,
                                              uint64_t current_time);
void __wrap_picoquic_update_pacing_after_send(picoquic_path_t *path, size_t length,
                                              uint64_t current_time);
void __real_picoquic_register_all_congestion_control_algorithms(void);
void __wrap_picoquic_register_all_congestion_control_algorithms(void);

// A packet that was reported as sent, and not yet what became of it.
typedef struct {
    uint64_t number;
    int is_mtu_probe;
} flying_t;

typedef struct {
    PacelineCc *cc;
    uint64_t mss;
    // By rising numbers.
    flying_t *flying;
    size_t count;
    size_t capacity;
    // The largest number that was acknowledged: a round-trip time is of a larger one.
    uint64_t largest_acked;
    int has_acked;
} state_t;

// A status other than OK is a fault of this file: it is said, and ends the program.
static void expect_ok(PacelineCcStatus status, const char *call) {
    if (status != PACELINE_CC_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", call, paceline_cc_status_text(status));
        abort();
    }
}

static uint64_t nanoseconds(uint64_t microseconds) { return microseconds * 1000; }

static uint64_t packet_size(const picoquic_path_t *path) { return path->send_mtu; }

// The decision in force is picoquic's from now on.
static void apply(state_t *state, picoquic_path_t *path) {
    PacelineCcControl control;
    expect_ok(paceline_cc_control(state->cc, &control), "paceline_cc_control");
    path->cwin = control.cwnd;
    if (control.pacing_rate == UINT64_MAX) {
        picoquic_update_pacing_data(path, 0);
    } else {
        uint64_t quantum = control.send_quantum < path->send_mtu ? path->send_mtu
                                                                 : control.send_quantum;
        picoquic_update_pacing_rate(path, (double)control.pacing_rate, quantum);
    }
    path->is_cc_data_updated = 1;
}

static void init(picoquic_path_t *path, char const *option, uint64_t current_time) {
    state_t *state = calloc(1, sizeof(state_t));
    path->congestion_alg_state = state;
    if (state == NULL) {
        return;
    }
    const char *controller = option != NULL && option[0] != 0 ? option : "paceline";
    PacelineCcSetup setup = {
        .now_ns = nanoseconds(current_time), .mss = packet_size(path), .seed = 1};
    char error[256];
    if (paceline_cc_new(controller, &setup, &state->cc, error, sizeof error) !=
        PACELINE_CC_STATUS_OK) {
        fprintf(stderr, "%s\n", error);
        abort();
    }
    state->mss = setup.mss;
    apply(state, path);
}

static void release(picoquic_path_t *path) {
    state_t *state = path->congestion_alg_state;
    if (state != NULL) {
        paceline_cc_free(state->cc);
        free(state->flying);
        free(state);
        path->congestion_alg_state = NULL;
    }
}

static void push(state_t *state, flying_t packet) {
    if (state->count == state->capacity) {
        state->capacity = state->capacity == 0 ? 256 : 2 * state->capacity;
        state->flying = realloc(state->flying, state->capacity * sizeof(flying_t));
        if (state->flying == NULL) {
            abort();
        }
    }
    state->flying[state->count++] = packet;
}

static void on_sent(state_t *state, picoquic_path_t *path, uint64_t current_time) {
    picoquic_packet_context_t *queue =
        &path->cnx->pkt_ctx[picoquic_packet_context_application];
    picoquic_packet_t *packet = queue->pending_last;
    size_t count = state->count;
    if (packet == NULL || packet->send_path != path || packet->is_ack_trap ||
        packet->send_time != current_time ||
        (count > 0 && packet->sequence_number <= state->flying[count - 1].number)) {
        return; // A packet of the handshake.
    }
    if (packet->delivered_app_limited) {
        expect_ok(paceline_cc_on_app_limited(state->cc), "paceline_cc_on_app_limited");
    }
    uint64_t bytes = packet->length + packet->checksum_overhead;
    expect_ok(paceline_cc_on_sent(state->cc, nanoseconds(current_time), packet->sequence_number,
                                  bytes),
              "paceline_cc_on_sent");
    push(state, (flying_t){packet->sequence_number, packet->is_mtu_probe});
}

// Whether picoquic takes it for lost and waits for its late arrival.
static int is_lost(const picoquic_packet_context_t *queue, uint64_t number) {
    const picoquic_packet_t *packet = queue->retransmitted_newest;
    while (packet != NULL && packet->sequence_number > number) {
        packet = packet->packet_next;
    }
    return packet != NULL && packet->sequence_number == number;
}

// What has left picoquic's queue of pending packets without a notification was acknowledged, but
// for a probe of the packet size that the path did not carry.
static void settle(state_t *state, picoquic_path_t *path, uint64_t rtt, uint64_t current_time) {
    const picoquic_packet_context_t *queue =
        &path->cnx->pkt_ctx[picoquic_packet_context_application];
    const picoquic_packet_t *pending = queue->pending_first;
    size_t kept = 0;
    int is_new = 0;
    // A probe; there is one at a time.
    int has_discarded = 0;
    uint64_t discarded = 0;
    for (size_t i = 0; i < state->count; i++) {
        flying_t packet = state->flying[i];
        while (pending != NULL && pending->sequence_number < packet.number) {
            pending = pending->packet_next;
        }
        if (pending != NULL && pending->sequence_number == packet.number) {
            state->flying[kept++] = packet;
        } else if (is_lost(queue, packet.number)) {
            expect_ok(paceline_cc_on_lost(state->cc, packet.number), "paceline_cc_on_lost");
        } else if (packet.is_mtu_probe && path->send_mtu == state->mss) {
            has_discarded = 1;
            discarded = packet.number;
        } else {
            expect_ok(paceline_cc_on_acked(state->cc, packet.number), "paceline_cc_on_acked");
            is_new |= !state->has_acked || packet.number > state->largest_acked;
            if (is_new) {
                state->largest_acked = packet.number;
                state->has_acked = 1;
            }
        }
    }
    state->count = kept;
    PacelineCcFeedback feedback = {.now_ns = nanoseconds(current_time),
                                   .rtt_ns = is_new ? nanoseconds(rtt) : 0};
    expect_ok(paceline_cc_end_feedback(state->cc, &feedback), "paceline_cc_end_feedback");
    if (has_discarded) {
        expect_ok(paceline_cc_on_discarded(state->cc, discarded), "paceline_cc_on_discarded");
    }
}

static void on_lost(state_t *state, uint64_t number, uint64_t current_time) {
    for (size_t i = 0; i < state->count; i++) {
        if (state->flying[i].number == number) {
            expect_ok(paceline_cc_on_lost(state->cc, number), "paceline_cc_on_lost");
            PacelineCcFeedback feedback = {.now_ns = nanoseconds(current_time)};
            expect_ok(paceline_cc_end_feedback(state->cc, &feedback),
                      "paceline_cc_end_feedback");
            memmove(&state->flying[i], &state->flying[i + 1],
                    (state->count - i - 1) * sizeof(flying_t));
            state->count--;
            return;
        }
    }
}

static void notify(picoquic_cnx_t *cnx, picoquic_path_t *path,
                   picoquic_congestion_notification_t notification,
                   picoquic_per_ack_state_t *ack, uint64_t current_time) {
    (void)cnx;
    state_t *state = path->congestion_alg_state;
    if (state == NULL) {
        return;
    }
    uint64_t now = nanoseconds(current_time);
    int is_1rtt = ack != NULL && ack->pc == picoquic_packet_context_application;
    switch (notification) {
    case picoquic_congestion_notification_acknowledgement:
        if (is_1rtt) {
            settle(state, path, ack->rtt_measurement, current_time);
        }
        break;
    case picoquic_congestion_notification_repeat:
    case picoquic_congestion_notification_timeout:
        if (is_1rtt) {
            on_lost(state, ack->lost_packet_number, current_time);
        }
        break;
    case picoquic_congestion_notification_spurious_repeat:
        // Of a packet that was not counted, or is long forgotten, nothing is known.
        if (is_1rtt) {
            paceline_cc_on_spurious_loss(state->cc, now, ack->lost_packet_number);
        }
        break;
    case picoquic_congestion_notification_ecn_ec: {
        PacelineCcFeedback feedback = {.now_ns = now, .ce_marked = 1};
        expect_ok(paceline_cc_end_feedback(state->cc, &feedback), "paceline_cc_end_feedback");
        break;
    }
    case picoquic_congestion_notification_reset:
        state->mss = packet_size(path);
        expect_ok(paceline_cc_on_path_change(state->cc, now, state->mss),
                  "paceline_cc_on_path_change");
        break;
    default:
        break;
    }
    if (packet_size(path) != state->mss) {
        state->mss = packet_size(path);
        expect_ok(paceline_cc_on_mss(state->cc, now, state->mss), "paceline_cc_on_mss");
    }
    apply(state, path);
}

static void observe(picoquic_path_t *path, uint64_t *cc_state, uint64_t *cc_param) {
    *cc_state = 0;
    *cc_param = path->cwin;
}

static picoquic_congestion_algorithm_t const paceline = {
    .congestion_algorithm_id = "paceline",
    .congestion_algorithm_number = 200,
    .ecn_mark = PICOQUIC_ECN_ECT_0,
    .alg_init = init,
    .alg_notify = notify,
    .alg_delete = release,
    .alg_observe = observe,
};

void __wrap_picoquic_update_pacing_after_send(picoquic_path_t *path, size_t length,
                                              uint64_t current_time) {
    __real_picoquic_update_pacing_after_send(path, length, current_time);
    const picoquic_congestion_algorithm_t *algorithm = path->cnx->congestion_alg;
    if (algorithm == &paceline && path->congestion_alg_state != NULL) {
        on_sent(path->congestion_alg_state, path, current_time);
    }
}

void __wrap_picoquic_register_all_congestion_control_algorithms(void) {
    static picoquic_congestion_algorithm_t const *all[32];
    __real_picoquic_register_all_congestion_control_algorithms();
    size_t count = picoquic_nb_congestion_control_algorithms;
    if (count + 1 > sizeof all / sizeof all[0]) {
        abort();
    }
    memcpy(all, picoquic_congestion_control_algorithms, count * sizeof all[0]);
    all[count] = &paceline;
    picoquic_register_congestion_control_algorithms(all, count + 1);
}
