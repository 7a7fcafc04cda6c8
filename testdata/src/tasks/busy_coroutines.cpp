// busy_coroutines MODE: coroutines of C++20 that are busy, and never stuck; "list" lists the modes.
#include <condition_variable>
#include <coroutine>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <utility>

struct task {
	struct promise_type {
		task get_return_object() { return task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		auto final_suspend() noexcept {
			struct back {
				bool await_ready() noexcept { return false; }
				std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept { return h.promise().next ? h.promise().next : std::noop_coroutine(); }
				void await_resume() noexcept {}
			};
			return back{};
		}
		void return_void() {}
		void unhandled_exception() {}
		std::coroutine_handle<> next;
	};
	explicit task(std::coroutine_handle<promise_type> handle) : h(handle) {}
	task(task &&o) : h(std::exchange(o.h, {})) {}
	~task() { if (h) h.destroy(); }
	bool await_ready() { return false; }
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> c) { h.promise().next = c; return h; }
	void await_resume() {}
	std::coroutine_handle<promise_type> h;
};

static std::mutex m, state;
static std::condition_variable more;
static std::deque<std::coroutine_handle<>> ready;
static void post(std::coroutine_handle<> h) { { std::lock_guard l(m); ready.push_back(h); } more.notify_one(); }
struct yield { bool await_ready() { return false; } void await_suspend(std::coroutine_handle<> h) { post(h); } void await_resume() {} };

static long shared_sum;
static task leaf(int n) { { std::lock_guard l(state); shared_sum += n; } co_await yield{}; usleep(20); }
static task deep(int n) { if (n > 0) { co_await deep(n - 1); } else { co_await leaf(n); } }
static task yields(int i) { for (;;) { co_await yield{}; usleep(10 * i); } }
static task chains(int i) { for (;;) co_await deep(3 + i % 4); }
static task locked(int i) { for (;;) { { std::lock_guard l(state); shared_sum += i; usleep(100); } co_await yield{}; } }

static const struct { const char *name; task (*f)(int); } modes[] = {{"yields", yields}, {"chains", chains}, {"locked", locked}};

int main(int, char **argv) {
	alarm(600);
	for (auto &mode : modes) {
		if (!argv[1] || !strcmp(argv[1], "list")) { puts(mode.name); continue; }
		if (strcmp(argv[1], mode.name)) continue;
		static std::deque<task> all;
		for (int i = 0; i < 8; i++) { all.push_back(mode.f(i)); post(all.back().h); }
		for (int i = 0; i < 3; i++)
			std::thread([] {
				for (;;) {
					std::unique_lock l(m);
					more.wait(l, [] { return !ready.empty(); });
					auto h = ready.front();
					ready.pop_front();
					l.unlock();
					h.resume();
				}
			}).detach();
		puts("0");
		fflush(stdout);
		for (;;) pause();
	}
}
