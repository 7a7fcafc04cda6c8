// waits KIND: a thread that waits in the way of KIND; then abort.
#include "settle.h"
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <future>
#include <latch>
#include <mutex>
#include <pthread.h>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <unistd.h>

static std::mutex plain;
static std::recursive_mutex again;
static std::shared_mutex shared;
static std::condition_variable never;
static std::promise<int> promise;
static std::latch latch(2);
static std::barrier<> meet(2);
static std::counting_semaphore<8> none(0);
static std::atomic<int> word(5);
static std::once_flag once;
static pthread_spinlock_t spin;

static void recurse() { std::call_once(once, recurse); }
struct Slow { Slow() { pause(); } };
static void first_use() { static Slow slow; }
static void crossed(std::mutex &a, std::mutex &b, std::latch &both) {
	a.lock();
	both.arrive_and_wait();
	b.lock();
}

int main(int argc, char **argv) {
	const char *kind = argc > 1 ? argv[1] : "mutex";
	auto is = [&](const char *k) { return !strcmp(kind, k); };
	auto start = [](auto f) { std::thread(f).detach(); usleep(30000); };
	std::mutex other;
	if (is("mutex")) { plain.lock(); start([] { plain.lock(); }); }
	if (is("recursive")) { again.lock(); start([] { again.lock(); }); }
	if (is("shared")) { shared.lock(); start([] { shared.lock_shared(); }); }
	if (is("exclusive")) { shared.lock_shared(); start([] { shared.lock(); }); }
	if (is("condition")) start([] { std::unique_lock<std::mutex> l(plain); never.wait(l); });
	if (is("future")) start([] { promise.get_future().get(); });
	if (is("latch")) start([] { latch.wait(); });
	if (is("barrier")) start([] { meet.arrive_and_wait(); });
	if (is("semaphore")) start([] { none.acquire(); });
	if (is("atomic")) start([] { word.wait(5); });
	if (is("once")) start(recurse);
	if (is("twice")) { start([] { std::call_once(once, pause); }); start([] { std::call_once(once, pause); }); }
	if (is("static")) { start(first_use); start(first_use); }
	if (is("spin")) {
		static std::atomic<bool> here;
		pthread_spin_init(&spin, 0);
		pthread_spin_lock(&spin);
		start([] { here = true; pthread_spin_lock(&spin); });
		while (!here) usleep(1000);
		usleep(100000);
		abort();
	}
	if (is("circle")) {
		static std::latch both(2);
		start([&] { crossed(plain, other, both); });
		start([&] { crossed(other, plain, both); });
	}
	settle();
	abort();
}
