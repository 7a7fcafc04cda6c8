// Coroutines that are suspended when the program aborts: a generator in an object of the heap, one that is done, three
// that await each other and were begun by another thread, one of a lambda with a capture, one whose frame comes from
// the program's own allocator. Not to be shown: two functions in a structure that is no frame, a frame that was
// destroyed. A destroyed frame whose memory still looks right (stale) is shown as possible at most: Clang's look as
// if they were suspended, GCC marks them.
#include <coroutine>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>
#include <utility>

template <class T> struct Generator {
  struct promise_type {
    T value{};
    Generator get_return_object() { return Generator{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(T v) { value = v; return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };
  std::coroutine_handle<promise_type> h;
  explicit Generator(std::coroutine_handle<promise_type> h) : h(h) {}
  Generator(Generator &&o) : h(std::exchange(o.h, {})) {}
  ~Generator() { if (h) h.destroy(); }
  bool next() { h.resume(); return !h.done(); }
};

struct Task {
  struct promise_type {
    std::coroutine_handle<> continuation;
    Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
        auto c = h.promise().continuation;
        return c ? c : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };
  std::coroutine_handle<promise_type> h;
  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> c) { h.promise().continuation = c; return h; }
  void await_resume() {}
};

static std::vector<std::coroutine_handle<>> queue; // suspended until something happens

struct Event {
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<> h) { queue.push_back(h); }
  void await_resume() {}
};

Task leaf(int depth) {
  int local = depth * 7;
  co_await Event{};
  if (local == 1) std::abort();
}

Task middle(int depth) {
  long saved = depth + 100;
  co_await leaf(depth + 1);
  if (saved == 1) std::abort();
}

Task top() {
  const char *name = "outer";
  co_await middle(1);
  if (!name) std::abort();
}

Generator<int> count(int from, int to) {
  for (int i = from; i < to; i++) {
    int square = i * i;
    co_yield square;
    if (square < 0) std::abort();
  }
}

struct Holder { int tag = 42; Generator<int> gen; };

struct TwoPointers { void (*resume)(void *); void (*destroy)(void *); };
static void one(void *) {}
static void two(void *) {}
static TwoPointers decoy{one, two};
TwoPointers *volatile decoy_at = &decoy;

// Frames of this one come from memory that nobody clears.
struct Pooled {
  struct promise_type {
    static inline char pool[4096];
    static inline std::size_t used;
    static void *operator new(std::size_t n) { void *p = pool + used; used += (n + 63) / 64 * 64; return p; }
    static void operator delete(void *) {}
    Pooled get_return_object() { return Pooled{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };
  std::coroutine_handle<promise_type> h;
};

Pooled pooled(int number) {
  co_await std::suspend_always{};
  if (number == 99) std::abort();
}

Pooled stale(int number) {
  co_await std::suspend_always{};
  if (number == 99) std::abort();
}

Generator<int> finished() { co_yield 1; }

static void *volatile keep; // nothing may be optimised away

int main() {
  auto holder = std::make_unique<Holder>(Holder{42, count(3, 100)});
  holder->gen.next();
  holder->gen.next();
  auto done = finished();
  done.next();
  done.next();
  Task t = top();
  std::thread([&] { t.h.resume(); }).join();
  int captured = 9;
  auto lambda = [captured](int arg) -> Generator<int> { co_yield captured + arg; co_yield arg; };
  auto lg = lambda(5);
  lg.next();
  auto gone = count(1000, 2000);
  gone.next();
  gone.h.destroy();
  Pooled mine = pooled(7);
  mine.h.resume();
  Pooled old = stale(8);
  old.h.resume();
  old.h.destroy();
  for (void *p : {(void *)holder.get(), (void *)&done, (void *)&t, (void *)&lg, (void *)&mine, (void *)&old}) keep = p;
  std::abort();
}
