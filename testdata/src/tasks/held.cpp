// Threads that hold a lock each, taken in as many ways, and wait for ever; others wait for those locks. A comment
// "name: certainty" is at the line where the lock is taken, the first certainty is that
// of unoptimised code, the second of optimised.
#include "settle.h"
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <thread>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

extern "C" {
pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, again = PTHREAD_MUTEX_INITIALIZER, twice, other = PTHREAD_MUTEX_INITIALIZER,
	wrapped = PTHREAD_MUTEX_INITIALIZER, member[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER},
	early = PTHREAD_MUTEX_INITIALIZER, gone = PTHREAD_MUTEX_INITIALIZER, branch = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
}
std::mutex guarded, later, first, second, two;
std::recursive_mutex deep;
std::shared_mutex shared;
static volatile int no;

extern "C" NOINLINE void rest(void) { for (;;) pause(); }

static void *take_plain(void *) {
	pthread_mutex_lock(&other);
	pthread_mutex_lock(&plain); // plain: likely likely
	pthread_mutex_unlock(&other);
	rest();
	return 0;
}

static void *take_again(void *) {
	pthread_mutex_lock(&again);
	usleep(1);
	pthread_mutex_unlock(&again);
	pthread_mutex_lock(&again); // again: likely likely
	rest();
	return 0;
}

static void *take_early(void *) {
	pthread_mutex_lock(&early); // early: likely likely
	if (no) {
		pthread_mutex_unlock(&early);
		return 0;
	}
	rest();
	pthread_mutex_unlock(&early);
	return 0;
}

static void *take_branch(void *) {
	if (no)
		pthread_mutex_lock(&branch);
	else
		pthread_mutex_lock(&branch); // branch: any skip
	rest();
	return 0;
}

struct queue { int n; pthread_mutex_t *m; };
NOINLINE static void queue_lock(queue *q) { pthread_mutex_lock(q->m); q->n++; }
NOINLINE static void queue_unlock(queue *q) { q->n--; pthread_mutex_unlock(q->m); }
static queue jobs = {0, &wrapped};

static void *take_wrapped(void *) {
	queue_lock(&jobs);
	queue_unlock(&jobs);
	queue_lock(&jobs); // wrapped: likely likely
	rest();
	return 0;
}

static void *take_member(void *arg) {
	pthread_mutex_t *m = (pthread_mutex_t *)arg;
	for (int i = 0; i < 3; i++)
		pthread_mutex_lock(m + i); // member: any
	rest();
	return 0;
}

NOINLINE static int take_inside(int n) { pthread_mutex_lock(&gone); return n + no; }
NOINLINE static int take_and_return(int n) { return take_inside(n) + no; }

static void *take_gone(void *) {
	take_and_return(1);
	rest();
	return 0;
}

static void *take_written(void *) {
	pthread_rwlock_rdlock(&written);
	pthread_rwlock_unlock(&written);
	pthread_rwlock_wrlock(&written); // written: likely likely
	rest();
	return 0;
}

NOINLINE static void take_guarded() {
	std::lock_guard<std::mutex> g(guarded); // guarded: certain likely
	rest();
}

NOINLINE static void take_later() {
	std::unique_lock<std::mutex> l(later);
	l.unlock();
	usleep(1);
	l.lock(); // later: certain certain
	rest();
}

NOINLINE static void take_two() {
	std::scoped_lock g(first, second); // first: certain any
	rest();
}

NOINLINE static void take_two_levels() {
	std::lock_guard<std::mutex> g(two); // two: certain likely
	take_two();
}

NOINLINE static void take_deep(int n) {
	std::lock_guard<std::recursive_mutex> g(deep); // deep: certain any
	if (n > 0)
		take_deep(n - 1);
	rest();
}

NOINLINE static void take_shared() {
	std::unique_lock<std::shared_mutex> g(shared); // shared: certain likely
	rest();
}

static void *want(void *m) { pthread_mutex_lock((pthread_mutex_t *)m); return 0; }
static void *want_read(void *m) { pthread_rwlock_rdlock((pthread_rwlock_t *)m); return 0; }

int main()
{
	pthread_t t;
	for (auto f : {take_plain, take_again, take_early, take_branch, take_wrapped, take_gone, take_written})
		pthread_create(&t, 0, f, 0);
	pthread_create(&t, 0, take_member, member);
	for (auto f : {take_guarded, take_later, take_two_levels, take_shared})
		std::thread(f).detach();
	std::thread(take_deep, 2).detach();
	settle();
	for (auto m : {&plain, &again, &early, &branch, &wrapped, &gone, &member[1], guarded.native_handle(), later.native_handle(), first.native_handle(),
	               two.native_handle(), deep.native_handle()})
		pthread_create(&t, 0, want, m);
	pthread_create(&t, 0, want_read, &written);
	std::thread([] { shared.lock_shared(); }).detach();
	settle();
	abort();
}
