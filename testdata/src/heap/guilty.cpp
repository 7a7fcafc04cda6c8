// An object that a register alone leads to, and a closure that has a reference to what is gone.
#include <cstdio>
#include <cstring>
#include <functional>
#include <list>
#include <string>
#include <vector>

struct watcher { virtual void changed(int) = 0; virtual ~watcher() {} };
struct gauge : watcher { int last = 0; long more[4] = {}; void changed(int v) override { last = v; } };
static std::list<watcher *> all;
static void __attribute__((noinline)) set(int v) { for (auto *w : all) w->changed(v); }
static std::string *caption;
static int text() {
  auto *g = new gauge;
  all.push_back(g);
  delete g;
  caption = new std::string("this caption is forty bytes long, it is.");
  set(2);
  return caption->size();
}

struct words { const char **of; long n; };
static std::vector<std::function<int(int)>> hooks;
static void __attribute__((noinline)) install(int n) {
  const char *w[4] = {"a", "bb", "ccc", "dddd"};
  words s{w, n};
  hooks.push_back([&s](int i) { return s.of[i & 3][0] + (int)s.n; });
}
static int __attribute__((noinline)) noise(int n) { volatile double d[40]; for (int i = 0; i < 40; i++) d[i] = i * 1.1 + n; return (int)d[n]; }
static int closure() {
  install(2);
  int n = noise(7);
  for (auto &h : hooks) n += h(1);
  return n;
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "text")) return text();
  if (argc > 1 && !strcmp(argv[1], "closure")) return closure();
}
