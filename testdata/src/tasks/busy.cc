// busy MODE: C++ threads that are busy and never wait for each other for ever; "busy list" prints the modes. It runs
// until it is killed.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>
#include <unistd.h>

static std::mutex a, b;
static std::recursive_mutex again;
static std::timed_mutex timed[2];
static std::shared_mutex shared;
static std::condition_variable_any changed;
static volatile long sink;
static int turn;

static void work(int n) { for (int i = 0; i < n; i++) sink = sink + i; }
static void both(long i) { // in opposite orders: std::lock backs off
	for (;;) {
		if (i % 2) { std::scoped_lock l(a, b); work(300); } else { std::scoped_lock l(b, a); work(300); }
	}
}
static void limits(long i) {
	for (;;) {
		std::lock_guard l(timed[i % 2]);
		work(200);
		if (timed[1 - i % 2].try_lock_for(std::chrono::milliseconds(3))) timed[1 - i % 2].unlock();
	}
}
static void readers(long i) {
	for (;;) {
		if (i) { std::shared_lock l(shared); work(500); } else { std::unique_lock l(shared); work(500); }
	}
}
static void turns(long i) {
	for (;;) { std::unique_lock l(a); changed.wait(l, [&] { return turn == i; }); turn = (turn + 1) % 4; changed.notify_all(); }
}
static long deep(int n) { std::lock_guard l(again); work(100); return n ? deep(n - 1) : 0; }
static void recursion(long) { for (;;) deep(4); }
static void futures(long) {
	for (;;) { std::vector<std::future<void>> f; for (int i = 0; i < 3; i++) f.push_back(std::async(std::launch::async, [] { std::lock_guard l(a); work(2000); })); for (auto &x : f) x.get(); }
}
static void onces(long) {
	for (;;) {
		std::once_flag flag;
		std::thread other([&] { std::call_once(flag, [] { std::lock_guard l(a); work(2000); }); });
		std::call_once(flag, [] { std::lock_guard l(a); work(2000); });
		other.join();
	}
}
template <int n> static int made() { static int v = [] { std::lock_guard l(b); usleep(2000); return n; }(); return v; }
static void statics(long) {
	made<0>(); made<1>(); made<2>(); made<3>(); made<4>(); made<5>(); made<6>(); made<7>();
	for (;;) { std::lock_guard l(b); work(500); }
}

static const struct { const char *name; void (*f)(long); } modes[] = {{"both", both}, {"limits", limits}, {"readers", readers}, {"turns", turns},
	{"recursion", recursion}, {"futures", futures}, {"onces", onces}, {"statics", statics}};

int main(int, char **argv) {
	alarm(600);
	for (auto &m : modes) {
		if (!argv[1] || !strcmp(argv[1], "list")) { puts(m.name); continue; }
		if (strcmp(argv[1], m.name)) continue;
		for (long i = 0; i < 4; i++) std::thread(m.f, i).detach();
		puts("0");
		fflush(stdout);
		for (;;) pause();
	}
}
