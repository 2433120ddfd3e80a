/* A backend in C: blocking I/O in threads. It speaks ioplan's protocol 1, docs/protocol.md.
   cc -O2 -pthread -o ioplan-pthreads pthreads.c */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json.h"

enum { READ, WRITE, BUCKETS = (65 - 7) << 7, BLOCK = 4096, GIVE_UP = 1000, SIZES = 64 };
typedef uint64_t u64;
struct counts { u64 ios, bytes, errors, min, max, sum; double square; u64 bins[BUCKETS]; };
struct stream {
    char name[512];
    int random, zeros, qd, threads, sizes[2];
    double reads, size_of[2][SIZES], percent_of[2][SIZES];
    u64 start, end, align, largest;
    pthread_mutex_t lock;
    struct counts part[2][2], total[2];         /* of an interval, in the warm-up or not; of the measured run */
};
struct lane {                                   /* a thread of a stream; `qd` workers do its I/O */
    struct stream *stream;
    u64 start, end, position, seed;
    int64_t left;
    pthread_mutex_t lock;
};
static int target, alive;
static volatile int over;
static u64 measured_from, ends_at;
static int64_t job_left = INT64_MAX;

static u64 now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static void read_sizes(struct stream *s, int way, char *at) {
    for (char *end = skip(at); (at = strchr(at, '{')) && at < end && s->sizes[way] < SIZES; at++) {
        int n = s->sizes[way]++;
        s->size_of[way][n] = number(at, "size_bytes");
        s->percent_of[way][n] = number(at, "percent");
        int used = way == READ ? s->reads > 0 : s->reads < 100;
        if (used && s->size_of[way][n] > s->largest) s->largest = s->size_of[way][n];
    }
}
static void read_stream(struct stream *s, char *json) {
    string(behind(json, "name"), s->name, sizeof s->name, 1);
    s->random = !strncmp(behind(json, "pattern"), "\"random", 7);
    s->zeros = !strncmp(behind(behind(json, "data"), "kind"), "\"zeros", 6);
    s->reads = number(json, "read_percent");
    s->qd = number(json, "qd"), s->threads = number(json, "threads");
    s->start = number(json, "region_start_bytes"), s->end = number(json, "region_end_bytes");
    s->align = number(json, "align_bytes");
    read_sizes(s, READ, behind(json, "read_sizes"));
    read_sizes(s, WRITE, behind(json, "write_sizes"));
    pthread_mutex_init(&s->lock, NULL);
}

static u64 draw(u64 *seed) {                    /* splitmix64 */
    u64 z = *seed += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9, z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}
static double share(u64 *seed) { return (draw(seed) >> 11) * 100.0 / (1ull << 53); }
static int next(struct lane *lane, int *way, u64 *size, u64 *offset, u64 *data) {
    struct stream *s = lane->stream;
    u64 at = now();
    if (over || at >= ends_at) return 0;
    pthread_mutex_lock(&lane->lock);
    *way = share(&lane->seed) < s->reads ? READ : WRITE;
    double rest = share(&lane->seed);
    int n = 0;
    while (n + 1 < s->sizes[*way] && (rest -= s->percent_of[*way][n]) >= 0) n++;
    *size = s->size_of[*way][n];
    u64 align = s->align ? s->align : *size, first = (lane->start + align - 1) / align * align;
    *offset = (lane->position + align - 1) / align * align;
    if (s->random) *offset = first + draw(&lane->seed) % ((lane->end - first - *size) / align + 1) * align;
    else if (*offset + *size > lane->end) *offset = first;
    lane->position = *offset + *size;
    *data = draw(&lane->seed);
    int any = at < measured_from || (lane->left > 0 && __atomic_fetch_sub(&job_left, *size, __ATOMIC_RELAXED) > 0);
    if (at >= measured_from) lane->left -= *size;
    pthread_mutex_unlock(&lane->lock);
    return any;
}
static void count(struct counts *c, int well, u64 size, u64 ns) {
    if (!well) { c->errors++; return; }
    int shift = ns < 128 ? -1 : 63 - __builtin_clzll(ns) - 7;
    c->bins[shift < 0 ? ns : (u64)(shift << 7) + (ns >> shift)]++;
    if (!c->ios++ || ns < c->min) c->min = ns;
    if (ns > c->max) c->max = ns;
    c->bytes += size, c->sum += ns, c->square += (double)ns * ns;
}
static void *work(void *of) {
    struct lane *lane = of;
    struct stream *s = lane->stream;
    u64 size, offset, data, *buffer;
    int way, failed = 0;
    if (posix_memalign((void **)&buffer, BLOCK, s->largest)) fail("memory", "the buffers do not fit");
    memset(buffer, 0, s->largest);
    while (failed < GIVE_UP && next(lane, &way, &size, &offset, &data)) {
        for (u64 i = 0; way == WRITE && !s->zeros && i < size / 8; i++) buffer[i] = draw(&data);
        u64 begun = now();
        ssize_t done = way == READ ? pread(target, buffer, size, offset) : pwrite(target, buffer, size, offset);
        u64 ended = now();
        int well = done == (ssize_t)size, warm = ended < measured_from;
        failed = well ? 0 : failed + 1;
        pthread_mutex_lock(&s->lock);
        count(&s->part[warm][way], well, size, ended - begun);
        if (!warm) count(&s->total[way], well, size, ended - begun);
        pthread_mutex_unlock(&s->lock);
    }
    free(buffer);
    if (!__atomic_sub_fetch(&alive, 1, __ATOMIC_SEQ_CST)) kill(getpid(), SIGUSR1);
    return NULL;
}

static void print_counts(struct counts *c, const char *name, int more) {
    printf("%s\"%s\":{\"ios\":%lu,\"bytes\":%lu,\"errors\":%lu,\"min_ns\":%lu,\"max_ns\":%lu,\"sum_ns\":%lu,"
           "\"sum_sq_ns2\":%.17g,\"bins\":[", more ? "," : "", name, c->ios, c->bytes, c->errors, c->min, c->max,
           c->sum, c->square);
    for (int i = 0, n = 0; i < BUCKETS; i++)
        if (c->bins[i]) printf("%s%d,%lu", n++ ? "," : "", i, c->bins[i]);
    printf("]}");
}
enum { MEASURED, WARM, TOTAL };
static void print_streams(struct stream *streams, int count, int which) {
    printf("\"streams\":[");
    for (struct stream *s = streams; s < streams + count; s++) {
        pthread_mutex_lock(&s->lock);
        struct counts *c = which == TOTAL ? s->total : s->part[which];
        int reads = c[READ].ios + c[READ].errors > 0;
        printf("%s{\"name\":\"%s\",\"directions\":{", s == streams ? "" : ",", s->name);
        if (reads) print_counts(&c[READ], "read", 0);
        if (c[WRITE].ios + c[WRITE].errors) print_counts(&c[WRITE], "write", reads);
        printf("}}");
        if (which != TOTAL) memset(c, 0, 2 * sizeof *c);
        pthread_mutex_unlock(&s->lock);
    }
    printf("]}\n");
    fflush(stdout);
}
static void progress(struct stream *streams, int count, u64 from, u64 last, u64 until, int warm) {
    printf("{\"event\":\"progress\",\"t_ns\":%lu,\"interval_ns\":%lu,\"warmup\":%s,", until - from, until - last,
           warm ? "true" : "false");
    print_streams(streams, count, warm);
}
static void *watch(void *of) {                  /* whoever started this has ended: so does this */
    while (getchar() != EOF);
    _exit(1);
    return of;
}

int main(void) {
    char *job = NULL, path[4096];
    size_t room = 0;
    if (getline(&job, &room, stdin) < 0) return 1;
    if (number(job, "protocol") != 1) fail("bad-job", "this program speaks protocol 1");
    string(behind(job, "target"), path, sizeof path, 0);
    int reads_only = *behind(job, "read_only") == 't', count = 0, lanes = 0;
    target = open(path, O_DIRECT | O_CLOEXEC | (reads_only ? O_RDONLY : O_RDWR));
    if (target < 0) fail("open", "the target cannot be opened with O_DIRECT");
    double run_ns = number(job, "run_ns"), passes = number(job, "passes"), limit = number(job, "limit_bytes");
    u64 warmup = number(job, "warmup_ns"), interval = number(job, "interval_ns"), seed = number(job, "seed");
    struct stream *streams = NULL;
    for (char *at = behind(job, "streams") + 1, *end; *at != ']'; at = end + strspn(end, ", ")) {
        end = skip(at);
        char *own = strndup(at, end - at);
        streams = realloc(streams, ++count * sizeof *streams);
        memset(&streams[count - 1], 0, sizeof *streams);
        read_stream(&streams[count - 1], own);
    }
    sigset_t signals;                           /* of all threads: they inherit the mask */
    sigemptyset(&signals);
    for (int i = 0; i < 4; i++) sigaddset(&signals, (int[]){SIGTERM, SIGINT, SIGHUP, SIGUSR1}[i]);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    pthread_t thread, *workers = NULL;
    pthread_create(&thread, NULL, watch, NULL);
    printf("{\"event\":\"started\",\"protocol\":1,\"mode\":\"pthreads\",\"facts\":{\"direct\":true}}\n");
    fflush(stdout);

    u64 begun = now(), last = begun, due;
    measured_from = begun + warmup, ends_at = run_ns ? measured_from + (u64)run_ns : UINT64_MAX;
    if (limit) job_left = limit;
    for (struct stream *s = streams; s < streams + count; s++) alive += s->qd * s->threads;
    workers = calloc(alive + 1, sizeof *workers);
    int all = alive;
    for (struct stream *s = streams; s < streams + count; s++)
        for (int i = 0; i < s->threads; i++) {
            struct lane *lane = calloc(1, sizeof *lane);
            u64 part = (s->end - s->start) / s->threads / s->largest * s->largest;
            *lane = (struct lane){s, s->start, s->end, 0, (seed << 20) + ++lanes, INT64_MAX, PTHREAD_MUTEX_INITIALIZER};
            if (!s->random) {                   /* threads have disjoint parts */
                lane->start = s->start + i * part;
                if (i + 1 < s->threads) lane->end = lane->start + part;
            }
            lane->position = lane->start;
            if (passes) lane->left = passes * (s->random ? (s->end - s->start) / s->threads : lane->end - lane->start);
            for (int j = 0; j < s->qd; j++)
                if (pthread_create(&workers[--all], NULL, work, lane)) fail("memory", "too many threads");
        }
    for (int warm = warmup > 0, signal = 0, stopped = 0;; last = due) {
        u64 end = warm ? measured_from : ends_at, at = now();
        due = last + interval < end ? last + interval : end;
        struct timespec rest = {due > at ? (due - at) / 1000000000 : 0, due > at ? (due - at) % 1000000000 : 0};
        signal = sigtimedwait(&signals, NULL, &rest);
        over = stopped = signal > 0 && signal != SIGUSR1; /* that one: no worker is left */
        if (signal < 0 && (due < end || warm)) {
            progress(streams, count, warm ? begun : measured_from, last, due, warm);
            warm = warm && due < end;
            continue;
        }
        for (int i = 0; workers[i]; i++) pthread_join(workers[i], NULL);
        due = now();
        if (due < measured_from) due = measured_from, last = due - 1;
        if (last < measured_from) last = measured_from;
        progress(streams, count, measured_from, last, due, MEASURED);
        printf("{\"event\":\"result\",\"run_ns\":%lu,\"stopped\":%s,", due - measured_from, stopped ? "true" : "false");
        print_streams(streams, count, TOTAL);
        return 0;
    }
}
