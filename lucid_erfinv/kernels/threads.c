/* A pool of worker threads, started when first needed.  SPDX-License-Identifier: MIT
 *
 * A call of lucid_parallel is a job on its caller's stack.  The caller lists it in the pool, takes
 * pieces of it like everyone else, unlists it and waits for the workers still inside; a worker that
 * wakes too late finds nothing and is not waited for.  So no call depends on a worker: without any
 * it is merely slower, and several callers share those there are. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, sigset_t */
#include "threads.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum {
    GRAINS_PER_THREAD = 8, /* waking a worker costs its caller as much, in a virtual machine */
    MAX_RANGES = 64,       /* more threads than that share ranges */
    SPIN_NS = 50000        /* what sleeping would cost: spinning first is at most twice the best */
};

struct range {
    alignas(64) atomic_size_t next; /* first element that nobody has taken */
    size_t end;
};

struct job {
    lucid_task *task;
    void *context;
    size_t grain, count;
    struct range ranges[MAX_RANGES]; /* contiguous, as caches like it; the first `count` are used */
    struct job *link;
    int wanted;        /* workers that may still join */
    atomic_int inside; /* workers that have joined and not left */
    unsigned flags;
    pthread_cond_t left; /* the last one inside has left */
};

static struct {
    pthread_mutex_t lock; /* guards the rest, and of every job the members from `link` on */
    pthread_cond_t listed;
    struct job *jobs;
    atomic_uint listings; /* how often a job was listed, for those who look without the lock */
    int workers;
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0};

static atomic_int num_threads = 1;

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static int fork_error;

/* The child has the forking thread only: no workers, no other callers, locks in any state. */
static void reset_in_child(void) {
    pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.listed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pool.jobs = NULL;
    pool.workers = 0;
}

static void watch_forks(void) {
    fork_error = pthread_atfork(NULL, NULL, reset_in_child);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void split(struct job *job, size_t n, size_t threads) {
    size_t grains = n / job->grain, begin = 0;
    job->count = threads < MAX_RANGES ? threads : MAX_RANGES;
    for (size_t i = 0; i < job->count; i++) {
        size_t share = grains / job->count + (i < grains % job->count);
        atomic_init(&job->ranges[i].next, begin);
        begin += share * job->grain;
        job->ranges[i].end = begin;
    }
    job->ranges[job->count - 1].end = n;
}

/* First the thread's own range, then what others have left of theirs. */
static unsigned take_pieces(struct job *job, size_t own) {
    unsigned flags = 0;
    for (size_t i = 0; i < job->count; i++) {
        struct range *range = &job->ranges[(own + i) % job->count];
        for (;;) {
            size_t begin =
                atomic_fetch_add_explicit(&range->next, job->grain, memory_order_relaxed);
            if (begin >= range->end) {
                break;
            }
            size_t rest = range->end - begin;
            size_t size = rest < job->grain ? rest : job->grain;
            flags |= job->task(job->context, begin, begin + size);
        }
    }
    return flags;
}

/* Called, and returns, under the lock. */
static struct job *wait_for_job(void) {
    int64_t end = now_ns() + SPIN_NS;
    for (;;) {
        struct job *job = pool.jobs;
        while (job && job->wanted == 0) {
            job = job->link;
        }
        if (job) {
            return job;
        }
        if (now_ns() < end) {
            unsigned listings = atomic_load_explicit(&pool.listings, memory_order_relaxed);
            pthread_mutex_unlock(&pool.lock);
            while (atomic_load_explicit(&pool.listings, memory_order_relaxed) == listings &&
                   now_ns() < end) {
            }
            pthread_mutex_lock(&pool.lock);
        } else {
            pthread_cond_wait(&pool.listed, &pool.lock);
        }
    }
}

static void *work(void *unused) {
    (void)unused;
    pthread_detach(pthread_self());
    fesetenv(FE_DFL_ENV); /* a thread starts in its creator's environment */
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        struct job *job = wait_for_job();
        int own = job->wanted--; /* the caller's range is 0 */
        atomic_fetch_add_explicit(&job->inside, 1, memory_order_relaxed);
        pthread_mutex_unlock(&pool.lock);
        /* The caller wakes one worker and each worker two more, so that none wakes all in turn. */
        for (int i = 1; i < own && i <= 2; i++) {
            pthread_cond_signal(&pool.listed);
        }
        unsigned flags = take_pieces(job, (size_t)own);
        pthread_mutex_lock(&pool.lock);
        job->flags |= flags;
        if (atomic_fetch_sub_explicit(&job->inside, 1, memory_order_relaxed) == 1) {
            pthread_cond_signal(&job->left); /* under the lock: then the job ends */
        }
    }
    return NULL;
}

/* Under the lock.  What cannot be started is done without. */
static void start_workers(int count) {
    /* Signals are for the program's own threads; only a crash must be seen where it happens. */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigset_t blocked, saved;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(&blocked, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &saved);
    pthread_t thread;
    while (pool.workers < count && pthread_create(&thread, NULL, work, NULL) == 0) {
        pool.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

static void list_job(struct job *job) {
    pthread_mutex_lock(&pool.lock);
    if (pool.workers < job->wanted) {
        start_workers(job->wanted);
    }
    job->link = pool.jobs;
    pool.jobs = job;
    atomic_fetch_add_explicit(&pool.listings, 1, memory_order_relaxed);
    pthread_mutex_unlock(&pool.lock);
    pthread_cond_signal(&pool.listed);
}

static void unlist_job(struct job *job) {
    pthread_mutex_lock(&pool.lock);
    struct job **link = &pool.jobs;
    while (*link != job) {
        link = &(*link)->link;
    }
    *link = job->link;
    pthread_mutex_unlock(&pool.lock);
}

static void wait_until_left(struct job *job) {
    int64_t end = now_ns() + SPIN_NS;
    while (atomic_load_explicit(&job->inside, memory_order_relaxed) > 0 && now_ns() < end) {
    }
    pthread_mutex_lock(&pool.lock); /* the last worker's writes are visible from here on */
    while (atomic_load_explicit(&job->inside, memory_order_relaxed) > 0) {
        pthread_cond_wait(&job->left, &pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
}

unsigned lucid_parallel(lucid_task *task, void *context, size_t n, size_t grain) {
    int threads = lucid_get_num_threads();
    if (threads > 1) {
        size_t useful = n / grain / GRAINS_PER_THREAD;
        threads = useful < (size_t)threads ? (int)useful : threads;
    }
    if (threads > 1) {
        pthread_once(&fork_once, watch_forks); /* before the lock is first taken */
    }
    if (threads <= 1 || fork_error) {
        return task(context, 0, n);
    }
    struct job job;
    job.task = task;
    job.context = context;
    job.grain = grain;
    split(&job, n, (size_t)threads);
    job.wanted = threads - 1;
    atomic_init(&job.inside, 0);
    job.flags = 0;
    pthread_cond_init(&job.left, NULL);
    list_job(&job);
    unsigned flags = take_pieces(&job, 0);
    unlist_job(&job);
    wait_until_left(&job);
    pthread_cond_destroy(&job.left);
    return flags | job.flags;
}

void lucid_set_num_threads(int n) {
    atomic_store(&num_threads, n < 1 ? 1 : n);
}

int lucid_get_num_threads(void) {
    return atomic_load(&num_threads);
}
