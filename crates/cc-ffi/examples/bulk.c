/* A bulk transfer over a simulated link, paced and limited by one of Paceline's controllers.
 *
 *   cargo build --release -p paceline-cc-ffi
 *   cc -O2 -I crates/cc-ffi/include crates/cc-ffi/examples/bulk.c \
 *      target/release/libpaceline_cc.a -lpthread -ldl -lm -o bulk
 *   ./bulk bbr3 10
 *
 * The link has 20 Mbit/s, 40 ms of round trip and a queue of one bandwidth-delay product that drops
 * what does not fit. Time is virtual: every run prints the same. Loss detection is the packet
 * threshold of RFC 9002, and a timer for the end of a flight; a transport has its own.
 */
#include "paceline_cc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MSS 1200u
#define SECOND UINT64_C(1000000000)
#define LINK_RATE 2500000.0 /* bytes per second */
#define DELAY (SECOND / 25) /* both ways together */
#define QUEUE_BYTES 100000.0
#define REORDERING 3 /* packets, RFC 9002 section 6.1.1 */
#define OUTSTANDING 65536 /* a power of two */
#define NEVER UINT64_MAX
#define SETTLED 0

typedef struct {
    uint64_t sent_ns;
    uint64_t ack_ns; /* NEVER if the queue dropped it, SETTLED once it was reported */
} Packet;

typedef struct {
    PacelineCc *cc;
    PacelineCcControl control;
    uint64_t now_ns;
    double tokens; /* bytes the pacer lets leave now */
    uint64_t tokens_ns;
    uint64_t link_free_ns; /* when the link has sent what it holds */
    uint64_t first, next;  /* numbers of the oldest outstanding packet and of the next one */
    uint64_t in_flight;
    uint64_t acked, lost; /* packets */
    double rtt_sum_ns;
    Packet packets[OUTSTANDING];
} Sender;

static void check(PacelineCcStatus status, const char *what) {
    if (status != PACELINE_CC_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, paceline_cc_status_text((int32_t)status));
        exit(1);
    }
}

static Packet *packet(Sender *sender, uint64_t number) {
    return &sender->packets[number % OUTSTANDING];
}

/* When the pacer has tokens for a packet. */
static uint64_t pacer_ready(Sender *sender) {
    double rate = (double)sender->control.pacing_rate;
    if (sender->control.pacing_rate == UINT64_MAX) {
        return sender->now_ns;
    }
    sender->tokens += rate * (double)(sender->now_ns - sender->tokens_ns) / 1e9;
    sender->tokens_ns = sender->now_ns;
    double depth = (double)sender->control.send_quantum;
    if (depth < MSS) {
        depth = MSS;
    }
    if (sender->tokens > depth) {
        sender->tokens = depth;
    }
    if (sender->tokens >= MSS) {
        return sender->now_ns;
    }
    return sender->now_ns + (uint64_t)((MSS - sender->tokens) / rate * 1e9) + 1;
}

static void send_packet(Sender *sender) {
    Packet *sent = packet(sender, sender->next);
    check(paceline_cc_on_sent(sender->cc, sender->now_ns, sender->next, MSS), "on_sent");
    uint64_t start =
        sender->link_free_ns > sender->now_ns ? sender->link_free_ns : sender->now_ns;
    double queued = (double)(start - sender->now_ns) / 1e9 * LINK_RATE;
    sent->sent_ns = sender->now_ns;
    sent->ack_ns = NEVER;
    if (queued + MSS <= QUEUE_BYTES) {
        sender->link_free_ns = start + (uint64_t)(MSS / LINK_RATE * 1e9);
        sent->ack_ns = sender->link_free_ns + DELAY;
    }
    sender->tokens -= MSS;
    sender->in_flight += MSS;
    sender->next++;
}

/* Reports those as lost that the queue dropped of the packets before `end`. */
static void report_lost(Sender *sender, uint64_t end) {
    for (uint64_t number = sender->first; number < end; number++) {
        if (packet(sender, number)->ack_ns == NEVER) {
            check(paceline_cc_on_lost(sender->cc, number), "on_lost");
            packet(sender, number)->ack_ns = SETTLED;
            sender->in_flight -= MSS;
            sender->lost++;
        }
    }
    while (sender->first < sender->next && packet(sender, sender->first)->ack_ns == SETTLED) {
        sender->first++;
    }
}

/* The packet whose ACK comes next, or `next` if none will come. */
static uint64_t next_acked(Sender *sender) {
    uint64_t number = sender->first;
    while (number < sender->next && (packet(sender, number)->ack_ns == NEVER ||
                                     packet(sender, number)->ack_ns == SETTLED)) {
        number++;
    }
    return number;
}

/* What is next in time happens: an ACK, or a loss timer where no ACK will come. */
static void receive(Sender *sender, uint64_t number) {
    PacelineCcFeedback feedback = {sender->now_ns, 0, 0, 0};
    if (number < sender->next) {
        check(paceline_cc_on_acked(sender->cc, number), "on_acked");
        feedback.rtt_ns = sender->now_ns - packet(sender, number)->sent_ns;
        sender->rtt_sum_ns += (double)feedback.rtt_ns;
        sender->acked++;
        sender->in_flight -= MSS;
        packet(sender, number)->ack_ns = SETTLED;
        /* A packet is lost once one arrives that left so many packets later. */
        report_lost(sender, number < REORDERING ? 0 : number - REORDERING + 1);
    } else {
        report_lost(sender, sender->next);
    }
    check(paceline_cc_end_feedback(sender->cc, &feedback), "end_feedback");
}

static void run(Sender *sender, uint64_t end_ns) {
    while (sender->now_ns < end_ns) {
        check(paceline_cc_control(sender->cc, &sender->control), "control");
        uint64_t send_ns = NEVER;
        if (sender->in_flight + MSS <= sender->control.cwnd &&
            sender->next - sender->first < OUTSTANDING) {
            send_ns = pacer_ready(sender);
        }
        uint64_t number = next_acked(sender);
        uint64_t ack_ns = NEVER;
        if (number < sender->next) {
            ack_ns = packet(sender, number)->ack_ns;
        } else if (sender->first < sender->next) {
            ack_ns = packet(sender, sender->next - 1)->sent_ns + 3 * DELAY;
        }
        if (send_ns == NEVER && ack_ns == NEVER) {
            fprintf(stderr, "nothing is in flight and the window admits nothing\n");
            exit(1);
        }
        if (send_ns <= ack_ns) {
            uint64_t before = sender->now_ns;
            sender->now_ns = send_ns;
            if (send_ns == before) {
                send_packet(sender);
            }
        } else {
            sender->now_ns = ack_ns > sender->now_ns ? ack_ns : sender->now_ns;
            receive(sender, number);
        }
    }
}

int main(int argc, char **argv) {
    const char *controller = argc > 1 ? argv[1] : "bbr3";
    const char *time = argc > 2 ? argv[2] : "10";
    char *rest;
    uint64_t seconds = strtoull(time, &rest, 10);
    static Sender sender;
    char text[512];

    /* strtoull takes a minus sign, too. */
    if (*rest != '\0' || seconds < 1 || seconds > 3600) {
        fprintf(stderr, "`%s` is no time to run for; give seconds from 1 to 3600\n", time);
        return 1;
    }
    PacelineCcSetup setup = {0, MSS, 0, 1, 0};
    PacelineCcStatus status =
        paceline_cc_new(controller, &setup, &sender.cc, text, sizeof text);
    if (status != PACELINE_CC_STATUS_OK) {
        fprintf(stderr, "%s\n",
                status == PACELINE_CC_STATUS_BAD_CONTROLLER
                    ? text
                    : paceline_cc_status_text((int32_t)status));
        return 1;
    }
    printf("controllers:");
    for (size_t index = 0; paceline_cc_name(index) != NULL; index++) {
        printf(" %s", paceline_cc_name(index));
    }
    printf("\n%8s %16s %11s %9s %6s  %s\n", "time_s", "goodput_mbit_s", "rtt_ms", "cwnd", "lost",
           "state");
    for (uint64_t second = 1; second <= seconds; second++) {
        uint64_t acked = sender.acked, lost = sender.lost;
        double rtt_sum_ns = sender.rtt_sum_ns;
        run(&sender, second * SECOND);
        acked = sender.acked - acked;
        double rtt_ms = acked ? (sender.rtt_sum_ns - rtt_sum_ns) / (double)acked / 1e6 : 0.0;
        check(paceline_cc_state(sender.cc, text, sizeof text), "state");
        printf("%8" PRIu64 " %16.3f %11.3f %9" PRIu64 " %6" PRIu64 "  %s\n", second,
               (double)acked * MSS * 8 / 1e6, rtt_ms, sender.control.cwnd, sender.lost - lost,
               text);
    }
    PacelineCcPath path;
    check(paceline_cc_path(sender.cc, &path), "path");
    if (path.in_flight != sender.in_flight || path.delivered != sender.acked * MSS) {
        fprintf(stderr, "the handle and the sender count differently\n");
        return 1;
    }
    paceline_cc_free(sender.cc);
    return 0;
}
