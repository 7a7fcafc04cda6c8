// Objects of which a pure virtual function was called, whose table is none, and blocks to which containers lead.
#include <cstdio>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct listener { virtual long tick() = 0; virtual ~listener() {} };
struct label : listener { long last = 0, pad[5] = {}; long tick() override { return ++last; } };
static std::vector<listener *> all;
static long __attribute__((noinline)) run() { long n = 0; for (auto *l : all) n += l->tick(); return n; }
static long deleted() { auto *l = new label; all.push_back(l); run(); delete l; return run(); }

struct host;
struct plugin { host *of; plugin(host *h); virtual ~plugin(); virtual long stop() = 0; };
struct host { plugin *p = nullptr; long n = 0; void __attribute__((noinline)) unload(plugin *q) { n += q->stop(); } };
plugin::plugin(host *h) : of(h) { h->p = this; }
plugin::~plugin() { of->unload(this); }
struct sound : plugin { using plugin::plugin; long stop() override { return 1; } };
static long ending() { host h; delete new sound(&h); return h.n; }

struct stream; static long attach(stream *s);
struct stream { long n = attach(this); virtual ~stream() {} virtual long fd() const = 0; };
static long __attribute__((noinline)) attach(stream *s) { return s->fd() + 1; }
struct file : stream { long fd() const override { return n; } };
static long making() { file here; return here.n; }

static long table() {
  auto *l = new label; all.push_back(l); run(); delete l;
  auto *v = new unsigned short[28]; for (int i = 0; i < 28; i++) v[i] = 0x7e00 + i;
  return run() + v[1];
}

struct buffer { char data[32]; };
struct entry { const char *mime; entry *next; long n, m; };
static std::map<std::string, buffer *> cache;
static entry *entries;
static long mapped() {
  cache["a"] = new buffer;
  entries = new entry{"text/html", nullptr, 1, 2};
  strcpy(cache["a"]->data, "<html><head><title>A page that is larger</title>");
  return entries->mime[0];
}

struct item { const char *name; long price; };
static std::list<item> cart;
static long iterator() {
  long n = 0;
  for (int i = 0; i < 3; i++) cart.push_back({"pear", i});
  for (auto it = cart.begin(); it != cart.end(); ++it) {
    if (it->price == 1) { cart.erase(it); auto *p = new unsigned long[4]{0xdeadbeef00000001, 0xdeadbeef00000002, 0xdeadbeef00000003, 4}; n += p[0]; }
  }
  return n;
}

int main(int, char **argv) {
  std::string w = argv[1];
  printf("%ld\n", w == "deleted" ? deleted() : w == "ending" ? ending() : w == "making" ? making() : w == "table" ? table() : w == "mapped" ? mapped() : iterator());
}
