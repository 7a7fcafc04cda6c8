// busy MODE: threads that are busy, slow or starved, and never wait for each other for ever. MODE is a number or a name;
// "busy list" prints the names. It runs until it is killed. Each thread keeps in "slots" which locks it holds: the truth, to
// compare with.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N 4
typedef void *body(void *);
static pthread_mutex_t m[N], r[2], robust, pi[2], check;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER, prefer;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER, c2 = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t bar;
static pthread_spinlock_t spin;
static sem_t s[N];
static pthread_once_t once[64];
static atomic_int level;
static int fd[2];
static volatile long sink;

struct slot { atomic_long tid; long changing, held[8]; };
static struct slot slots[64];
static pthread_key_t leaving;
static __thread struct slot *me;

static void leave(void *slot) { memset(slot, 0, sizeof(struct slot)); }
static void begin(long lock) { // what comes may take the lock, or give it back
	for (int i = 0; !me; i = (i + 1) % 64) {
		long none = 0;
		if (atomic_compare_exchange_strong(&slots[i].tid, &none, -1)) { me = &slots[i]; me->tid = syscall(SYS_gettid); pthread_setspecific(leaving, me); }
	}
	me->changing = lock;
	atomic_signal_fence(memory_order_seq_cst);
}
static void end(long lock, int change) {
	atomic_signal_fence(memory_order_seq_cst);
	for (int i = 0; change && i < 8; i++)
		if (me->held[i] == (change > 0 ? 0 : lock)) { me->held[i] = change > 0 ? lock : 0; break; }
	atomic_signal_fence(memory_order_seq_cst);
	me->changing = 0;
}
#define CHANGE(call, lock, change) ({ long l_ = (long)(lock); begin(l_); int e_ = call; end(l_, e_ && e_ != EOWNERDEAD ? 0 : change); e_; })
#define pthread_mutex_lock(x) CHANGE(pthread_mutex_lock(x), x, 1)
#define pthread_mutex_trylock(x) CHANGE(pthread_mutex_trylock(x), x, 1)
#define pthread_mutex_timedlock(x, t) CHANGE(pthread_mutex_timedlock(x, t), x, 1)
#define pthread_mutex_unlock(x) CHANGE(pthread_mutex_unlock(x), x, -1)
#define pthread_cond_wait(c, x) CHANGE(pthread_cond_wait(c, x), x, 0)
#define pthread_rwlock_wrlock(x) CHANGE(pthread_rwlock_wrlock(x), x, 1)
#define pthread_rwlock_unlock(x) CHANGE(pthread_rwlock_unlock(x), x, -1)

static void work(int n) { for (int i = 0; i < n; i++) sink += i; }
static void nap(long us) { usleep(us); }
static void pthread_start(body *f, long arg) { pthread_t t; pthread_create(&t, 0, f, (void *)arg); pthread_detach(t); }

static void *convoy(void *a) { for (;;) { pthread_mutex_lock(&m[0]); work(2000); pthread_mutex_unlock(&m[0]); } return a; }
static void *slow(void *a) { for (;;) { pthread_mutex_lock(&m[0]); nap(3000); pthread_mutex_unlock(&m[0]); sched_yield(); } return a; }
static void *ordered(void *a) {
	for (;;) {
		for (int i = 0; i < N; i++) pthread_mutex_lock(&m[i]);
		work(500);
		for (int i = N; i-- > 0;) pthread_mutex_unlock(&m[i]);
	}
	return a;
}
static void *hand_over_hand(void *a) {
	for (;;) {
		pthread_mutex_lock(&m[0]);
		for (int i = 1; i < N; i++) { pthread_mutex_lock(&m[i]); work(300); pthread_mutex_unlock(&m[i - 1]); }
		pthread_mutex_unlock(&m[N - 1]);
	}
	return a;
}
static void *pairs(void *a) {
	long i = (long)a % N, j = (i + 1) % N;
	for (;;) {
		pthread_mutex_t *x = &m[i < j ? i : j], *y = &m[i < j ? j : i];
		pthread_mutex_lock(x); work(100); pthread_mutex_lock(y); work(400);
		pthread_mutex_unlock(y); pthread_mutex_unlock(x);
	}
	return a;
}
static void *trying(void *a) { // the wrong order, but it gives up
	long i = (long)a % 2;
	for (;;) {
		pthread_mutex_lock(&m[i]);
		work(200);
		if (!pthread_mutex_trylock(&m[1 - i])) { work(100); pthread_mutex_unlock(&m[1 - i]); }
		pthread_mutex_unlock(&m[i]);
	}
	return a;
}
static void *timed(void *a) { // the wrong order, with a limit
	long i = (long)a % 2;
	for (;;) {
		pthread_mutex_lock(&m[i]);
		nap(200);
		struct timespec t; clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 5000000; if (t.tv_nsec >= 1000000000) { t.tv_nsec -= 1000000000; t.tv_sec++; }
		if (!pthread_mutex_timedlock(&m[1 - i], &t)) pthread_mutex_unlock(&m[1 - i]);
		pthread_mutex_unlock(&m[i]);
	}
	return a;
}
static void *recursive(void *a) {
	for (;;) {
		for (int i = 0; i < 3; i++) pthread_mutex_lock(&r[0]);
		work(1000);
		for (int i = 0; i < 3; i++) pthread_mutex_unlock(&r[0]);
	}
	return a;
}
static void *checked(void *a) {
	for (;;) {
		pthread_mutex_lock(&check);
		if (pthread_mutex_lock(&check) != EDEADLK) abort();
		work(1000);
		pthread_mutex_unlock(&check);
	}
	return a;
}
static void *inherit(void *a) { for (;;) { pthread_mutex_lock(&pi[0]); pthread_mutex_lock(&pi[1]); work(1000); pthread_mutex_unlock(&pi[1]); pthread_mutex_unlock(&pi[0]); } return a; }
static void *die_with(void *a) { pthread_mutex_lock(&robust); work(500); return a; }
static void *dying(void *a) { // owners that end with the lock; the next one mends it
	for (;;) {
		pthread_t t;
		pthread_create(&t, 0, die_with, 0);
		pthread_join(t, 0);
		if (pthread_mutex_lock(&robust) == EOWNERDEAD) pthread_mutex_consistent(&robust);
		work(500);
		pthread_mutex_unlock(&robust);
	}
	return a;
}
static void *using_robust(void *a) {
	for (;;) {
		int e = pthread_mutex_lock(&robust);
		if (e == EOWNERDEAD) pthread_mutex_consistent(&robust);
		work(800);
		pthread_mutex_unlock(&robust);
	}
	return a;
}
static void *reading(void *a) { for (;;) { pthread_rwlock_rdlock(&rw); work(800); pthread_rwlock_unlock(&rw); } return a; }
static void *writing(void *a) { for (;;) { pthread_rwlock_wrlock(&rw); work(800); pthread_rwlock_unlock(&rw); } return a; }
static void *read_prefer(void *a) { for (;;) { pthread_rwlock_rdlock(&prefer); work(800); pthread_rwlock_unlock(&prefer); } return a; }
static void *write_prefer(void *a) { for (;;) { pthread_rwlock_wrlock(&prefer); work(300); pthread_rwlock_unlock(&prefer); nap(100); } return a; }
static void *rw_and_mutex(void *a) {
	for (;;) {
		pthread_rwlock_wrlock(&rw); pthread_mutex_lock(&m[0]); work(300);
		pthread_mutex_unlock(&m[0]); pthread_rwlock_unlock(&rw);
		pthread_rwlock_rdlock(&rw); pthread_mutex_lock(&m[0]); work(300);
		pthread_mutex_unlock(&m[0]); pthread_rwlock_unlock(&rw);
	}
	return a;
}
static int queued;
static void *produce(void *a) {
	for (;;) {
		pthread_mutex_lock(&m[0]);
		while (queued > 3) pthread_cond_wait(&c2, &m[0]);
		queued++;
		pthread_cond_signal(&c);
		pthread_mutex_unlock(&m[0]);
	}
	return a;
}
static void *consume(void *a) {
	for (;;) {
		pthread_mutex_lock(&m[0]);
		while (!queued) pthread_cond_wait(&c, &m[0]);
		queued--;
		pthread_cond_broadcast(&c2);
		pthread_mutex_unlock(&m[0]);
		work(300);
	}
	return a;
}
static void *herd(void *a) { for (;;) { pthread_mutex_lock(&m[0]); pthread_cond_wait(&c, &m[0]); work(200); pthread_mutex_unlock(&m[0]); } return a; }
static void *drive(void *a) { for (;;) { pthread_mutex_lock(&m[0]); pthread_cond_broadcast(&c); pthread_mutex_unlock(&m[0]); work(3000); } return a; }
static void *starved(void *a) { pthread_mutex_lock(&m[0]); pthread_cond_wait(&c, &m[0]); return a; }
static void *meet(void *a) { for (;;) { work(500 * ((long)a + 1)); pthread_barrier_wait(&bar); } return a; }
static void *ring(void *a) { long i = (long)a; for (;;) { sem_wait(&s[i]); work(500); sem_post(&s[(i + 1) % N]); } return a; }
static void *spinning(void *a) { for (;;) { pthread_spin_lock(&spin); work(500); pthread_spin_unlock(&spin); } return a; }
static void *short_lived(void *a) { pthread_mutex_lock(&m[0]); work(200); pthread_mutex_unlock(&m[0]); return a; }
static void *joining(void *a) {
	for (;;) { pthread_t t[3]; for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, short_lived, 0); for (int i = 0; i < 3; i++) pthread_join(t[i], 0); }
	return a;
}
static void init_slow(void) { nap(300); }
static void *onces(void *a) {
	for (unsigned i = 0;; i++) {
		pthread_once(&once[i % 64], init_slow);
		if (!a && i % 64 == 63) { pthread_once_t fresh = PTHREAD_ONCE_INIT; nap(2000); (void)fresh; }
	}
	return a;
}
static void *pipe_in(void *a) { char b[64]; for (;;) { if (read(fd[0], b, sizeof b) < 0) nap(10); } return a; }
static void *pipe_out(void *a) { char b[512] = {0}; for (;;) { if (write(fd[1], b, sizeof b) < 0) nap(10); } return a; }
static void *polling(void *a) { struct pollfd p = {fd[0], POLLIN, 0}; char b[64]; for (;;) { poll(&p, 1, -1); if (read(fd[0], b, 64) < 0) nap(10); } return a; }
static void *forking(void *a) { // while others hold locks
	for (;;) { pid_t p = fork(); if (!p) _exit(0); waitpid(p, 0, 0); }
	return a;
}
static void on_signal(int sig) { work(2000); (void)sig; }
static void on_post(int sig) { sem_post(&s[0]); (void)sig; }
static void *signals(void *a) { for (;;) { kill(getpid(), SIGUSR1); nap(200); } return a; }
static void *wait_post(void *a) { for (;;) { sem_wait(&s[0]); work(100); } return a; }
static void *streams(void *a) { FILE *f = fopen("/dev/null", "w"); for (;;) { flockfile(stderr); fprintf(f, "x"); work(300); funlockfile(stderr); } return a; }
static void *allocating(void *a) { for (;;) { void *p[64]; for (int i = 0; i < 64; i++) p[i] = malloc(100 + i * 50); for (int i = 0; i < 64; i++) free(p[i]); } return a; }
static void *sleeping(void *a) { pthread_mutex_lock(&m[(long)a]); for (;;) nap(50000); return a; }
static void *behind(void *a) { pthread_mutex_lock(&m[(long)a - 1]); return a; }
static void *cancelled(void *a) { for (;;) { pthread_testcancel(); nap(100); } return a; }
static void *cancelling(void *a) { for (;;) { pthread_t t; pthread_create(&t, 0, cancelled, 0); nap(500); pthread_cancel(t); pthread_join(t, 0); } return a; }
static void *swap_roles(void *a) { // holds one, waits until the other has let go of its own
	long i = (long)a % 2;
	for (;;) {
		pthread_mutex_lock(&m[i]); atomic_fetch_add(&level, 1); work(200); pthread_mutex_unlock(&m[i]);
		pthread_mutex_lock(&m[1 - i]); work(200); pthread_mutex_unlock(&m[1 - i]);
	}
	return a;
}
static void *lock_in_handler(void *a) { // a signal takes the time of a thread that waits for a lock
	for (;;) { pthread_mutex_lock(&m[0]); nap(400); pthread_mutex_unlock(&m[0]); }
	return a;
}

static void *philosopher(void *a) { // the lower fork first
	long i = (long)a, x = i < (i + 1) % N ? i : (i + 1) % N, y = i + (i + 1) % N - x;
	for (;;) { pthread_mutex_lock(&m[x]); work(50); pthread_mutex_lock(&m[y]); work(400); pthread_mutex_unlock(&m[y]); pthread_mutex_unlock(&m[x]); work(50); }
	return a;
}
static void *ending(void *a) { pthread_mutex_lock((pthread_mutex_t *)a); return 0; } // with a lock that nobody wants
static void *dead_owners(void *a) {
	for (;;) {
		pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
		pthread_t t;
		pthread_create(&t, 0, ending, &own);
		pthread_mutex_lock(&m[0]); pthread_join(t, 0); work(300); pthread_mutex_unlock(&m[0]);
	}
	return a;
}
// A mutex that is made, fought for, destroyed, and made again at its address, as another type.
static pthread_mutex_t passing;
static void *passing_by(void *a) { pthread_mutex_lock(&passing); work(200); pthread_mutex_unlock(&passing); return a; }
static void *reuse(void *a) {
	for (int i = 0;; i++) {
		pthread_mutexattr_t t; pthread_mutexattr_init(&t); pthread_mutexattr_settype(&t, i % 3);
		pthread_mutex_init(&passing, &t);
		pthread_t p[3]; pthread_mutex_lock(&passing);
		for (int k = 0; k < 3; k++) pthread_create(&p[k], 0, passing_by, 0);
		work(3000); pthread_mutex_unlock(&passing);
		for (int k = 0; k < 3; k++) pthread_join(p[k], 0);
		pthread_mutex_destroy(&passing); memset(&passing, 0xff, sizeof passing);
	}
	return a;
}
static void *take(void *a) { for (;;) { sem_wait(&s[0]); work(400); sem_post(&s[1]); } return a; } // what one takes, another gives back
static void *give(void *a) { for (;;) { sem_wait(&s[1]); work(400); sem_post(&s[0]); } return a; }
static void *hold_and_read(void *a) { char b[8]; for (;;) { pthread_mutex_lock(&m[0]); if (read(fd[0], b, 8) < 0) nap(10); pthread_mutex_unlock(&m[0]); } return a; }
static void *trickle(void *a) { for (;;) { if (write(fd[1], "12345678", 8) < 0) nap(10); nap(800); } return a; }
static struct { pthread_mutex_t lock; pthread_cond_t ready; int done; } job[N];
static void *promise(void *a) { // each waits for a result of the next one, of an earlier round
	for (long i = (long)a;;) {
		pthread_mutex_lock(&job[i].lock); job[i].done++; pthread_cond_broadcast(&job[i].ready); int mine = job[i].done; pthread_mutex_unlock(&job[i].lock);
		long j = (i + 1) % N;
		pthread_mutex_lock(&job[j].lock); while (job[j].done < mine) pthread_cond_wait(&job[j].ready, &job[j].lock); pthread_mutex_unlock(&job[j].lock);
	}
	return a;
}
// A robust mutex that processes share: some of them are killed with it.
static pthread_mutex_t *between;
static void *children(void *a) {
	for (;;) {
		pid_t self = getpid(), p = fork();
		if (!p) { prctl(PR_SET_PDEATHSIG, SIGKILL); if (getppid() != self) _exit(0); } // killed before it was asked to be
		if (!p) for (;;) { if (pthread_mutex_lock(between) == EOWNERDEAD) pthread_mutex_consistent(between); work(2000); pthread_mutex_unlock(between); }
		nap(3000); kill(p, SIGKILL); waitpid(p, 0, 0);
	}
	return a;
}
static void *with_children(void *a) {
	for (;;) { if (pthread_mutex_lock(between) == EOWNERDEAD) pthread_mutex_consistent(between); work(1000); pthread_mutex_unlock(between); }
	return a;
}
static void *chain(void *a) { // each joins the next, and holds a lock that only the last wants
	long n = (long)a; pthread_t t;
	if (n >= 64) { work(3000); return 0; }
	pthread_create(&t, 0, chain, (void *)(n + 16)); pthread_join(t, 0);
	return a;
}
static void *chains(void *a) { for (;;) { pthread_mutex_lock(&m[(long)a]); chain(0); pthread_mutex_unlock(&m[(long)a]); } return a; }
static void *upgrade(void *a) { // gives the lock back before it takes it for writing
	for (;;) {
		pthread_rwlock_rdlock(&prefer); work(300); pthread_rwlock_unlock(&prefer);
		pthread_rwlock_wrlock(&prefer); pthread_mutex_lock(&m[0]); work(100); pthread_mutex_unlock(&m[0]); pthread_rwlock_unlock(&prefer);
	}
	return a;
}

static struct { const char *name; body *f[N]; } modes[] = {
	{"convoy", {convoy, convoy, convoy, convoy}}, {"slow", {slow, slow, slow, slow}}, {"ordered", {ordered, ordered, ordered, ordered}},
	{"hand-over-hand", {hand_over_hand, hand_over_hand, hand_over_hand}}, {"pairs", {pairs, pairs, pairs, pairs}},
	{"trylock", {trying, trying}}, {"timed", {timed, timed, timed, timed}}, {"recursive", {recursive, recursive, recursive}},
	{"checked", {checked, checked, checked}}, {"inherit", {inherit, inherit, inherit}}, {"robust", {using_robust, using_robust, dying}},
	{"readers", {reading, reading, reading, writing}}, {"writers", {reading, writing, writing, writing}},
	{"prefer-writers", {read_prefer, read_prefer, write_prefer, write_prefer}}, {"rw-and-mutex", {rw_and_mutex, rw_and_mutex, rw_and_mutex}},
	{"queue", {produce, consume, produce, consume}}, {"herd", {herd, herd, herd, drive}}, {"starved", {starved, starved, convoy, convoy}},
	{"barrier", {meet, meet, meet, meet}}, {"ring", {ring, ring, ring, ring}},
	{"spin", {spinning, spinning}}, {"join", {joining, joining, convoy}}, {"once", {onces, onces, onces}},
	{"pipe", {pipe_in, pipe_out, pipe_in}}, {"poll", {polling, pipe_out}}, {"fork", {forking, convoy, convoy}},
	{"signals", {signals, lock_in_handler, lock_in_handler, ordered}}, {"post", {signals, wait_post, wait_post}},
	{"streams", {streams, streams, streams}}, {"malloc", {allocating, allocating, allocating, allocating}},
	{"sleeping", {sleeping, behind, sleeping, behind}}, {"cancel", {cancelling, cancelling}}, {"swap", {swap_roles, swap_roles, swap_roles, swap_roles}},
	{"philosophers", {philosopher, philosopher, philosopher, philosopher}}, {"dead-owners", {dead_owners, dead_owners, convoy}},
	{"reuse", {reuse}}, {"take-and-give", {take, give, take, give}}, {"hold-and-read", {hold_and_read, hold_and_read, trickle}},
	{"promises", {promise, promise, promise, promise}}, {"children", {with_children, with_children, children, with_children}},
	{"chains", {chains, chains, convoy}}, {"upgrade", {upgrade, upgrade, upgrade}},
};
enum { MODES = sizeof modes / sizeof *modes };

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "list";
	if (!strcmp(mode, "list")) {
		for (int i = 0; i < MODES; i++) puts(modes[i].name);
		return 0;
	}
	pthread_key_create(&leaving, leave);
	pthread_mutexattr_t a;
	for (int i = 0; i < N; i++) pthread_mutex_init(&m[i], 0);
	pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE); pthread_mutex_init(&r[0], &a);
	pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK); pthread_mutex_init(&check, &a);
	pthread_mutexattr_init(&a); pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT); pthread_mutex_init(&pi[0], &a); pthread_mutex_init(&pi[1], &a);
	pthread_mutexattr_init(&a); pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST); pthread_mutex_init(&robust, &a);
	pthread_rwlockattr_t ra; pthread_rwlockattr_init(&ra);
#ifdef __GLIBC__
	pthread_rwlockattr_setkind_np(&ra, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
	pthread_rwlock_init(&prefer, &ra);
	pthread_barrier_init(&bar, 0, N);
	pthread_spin_init(&spin, 0);
	for (int i = 0; i < N; i++) sem_init(&s[i], 0, i == 0);
	for (int i = 0; i < N; i++) { pthread_mutex_init(&job[i].lock, 0); pthread_cond_init(&job[i].ready, 0); }
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	between = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutex_init(between, &a);
	if (pipe(fd)) return 1;
	signal(SIGUSR1, !strcmp(mode, "post") ? on_post : on_signal);
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < MODES; i++)
		if (!strcmp(mode, modes[i].name)) {
			for (long k = 0; k < N && modes[i].f[k]; k++) pthread_start(modes[i].f[k], k);
			printf("%p\n", (void *)slots);
			fflush(stdout);
			alarm(600);
			for (;;) pause();
		}
	return 2;
}
