// again BUG: objects that are freed and still in a container, blocks that are freed twice, and what goes on through blocks that were freed since.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <string>
#include <vector>

struct part { double w[3]; part *next; };
struct item { long kind; part *parts; long uses; };
static std::map<int, item *> shelf;
static double __attribute__((noinline)) total() {
  double t = 0;
  for (auto &kv : shelf) { for (part *p = kv.second->parts; p; p = p->next) t += p->w[1]; kv.second->uses++; }
  return t;
}
static int names() {
  for (int k = 0; k < 9; k++) shelf[k] = new item{k, new part{{1.0 * k, 2, 3}, nullptr}, 0};
  double t = total();
  delete shelf[4]->parts;
  delete shelf[4];
  std::string *s[6];
  for (auto &x : s) x = new std::string("a string of some length is here now");
  return (int)(t + total()) + (int)s[2]->size();
}

struct owner { long load; };
struct job { owner *of; job *next; long cost[6]; };
static std::vector<job *> jobs;
static char *line;
static owner company;
static void __attribute__((noinline)) fill(const char *s, int times) { for (char *p = line; times--; p += strlen(s)) strcpy(p, s); }
static long __attribute__((noinline)) bill() { long t = 0; for (job *j : jobs) t += j->of->load * j->cost[1]; return t; }
static int freed(bool own) {
  for (int i = 0; i < 20; i++) { jobs.push_back(new job{&company, nullptr, {i, 2}}); if (i == 6) line = (char *)malloc(64); }
  fill("name=value&", own ? 4 : 32);
  if (own) for (int i = 7; i < 11; i++) memset(jobs[i], 't', 64); // text of their own
  for (int k = 0; k < 3; k++) { delete jobs[7]; jobs.erase(jobs.begin() + 7); }
  return (int)bill();
}

struct chan { chan *peer; int v[36]; long id; };
static int *samples;
static std::list<chan *> chans;
static void __attribute__((noinline)) record(int n) { unsigned x = 77; for (int i = 0; i < n; i++) { x = x * 1103515245 + 12345; samples[i] = 2000 + (x >> 16) % 900; } }
static long __attribute__((noinline)) sum() { long t = 0; for (auto *c : chans) t += c->peer ? c->peer->id : 0; return t; }
static int small() {
  chan *last = nullptr, *mine[3];
  for (int i = 0; i < 5; i++) chans.push_back(last = new chan{last, {}, i});
  samples = new int[40];
  for (auto &m : mine) m = new chan{nullptr, {}, 9};
  for (int i = 0; i < 5; i++) chans.push_back(last = new chan{last, {}, 100 + i});
  record(200);
  for (auto *m : mine) delete m;
  return (int)sum();
}

struct image { int w, h; unsigned char *px; image(int w, int h) : w(w), h(h), px(new unsigned char[w * h]()) {} ~image() { delete[] px; } };
static int __attribute__((noinline)) light(image i) { int s = 0; for (int k = 0; k < i.w * i.h; k++) s += i.px[k]; return s; }
static int __attribute__((noinline)) top() { image a(40, 30); a.px[3] = 7; return light(a); }

static int cycle() {
  char *k[20], *x = (char *)malloc(4096);
  free(x);
  free(x);
  for (auto &p : k) memset(p = (char *)malloc(4096), 'a', 4096);
  return k[3][7];
}

struct img { unsigned *px; int w, h; };
struct tex { img *of; int refs; float scale; };
struct slot { int unit; tex *t; };
static std::vector<slot> slots;
static std::vector<int *> rows;
static unsigned __attribute__((noinline)) draw() { unsigned s = 0; for (const slot &o : slots) { const tex *t = o.t; s += t->of->px[1] * (unsigned)t->scale; } return s; }
static int far() {
  for (int i = 0; i < 4; i++) slots.push_back({i, new tex{new img{new unsigned[8](), 4, 2}, 1, 1.0f}});
  delete slots[2].t;
  for (int i = 0; i < 6; i++) rows.push_back(new int[4]{i, 300, 5 * i, 9});
  return (int)draw();
}

struct cell { std::string name; long n = 0; };
struct pool { cell *cells, *second; };
static pool *all;
static void __attribute__((noinline)) give(cell *c) { delete c; }
static void __attribute__((noinline)) make() { all = new pool; all->cells = new cell[16]; all->second = all->cells + 1; }
static int inside() {
  make();
  give(all->second);
  return 0;
}
static void *volatile other;
static void __attribute__((noinline)) either(cell *c, void *p) { if (c) c->name.clear(); free(p ? p : c); }
static int unsure() { make(); either(all->second, other); return 0; }

static void __attribute__((noinline)) drop(pool *p) { p->cells = nullptr; free(p->second); }
static int held() { make(); drop(all); return 0; }

static void __attribute__((noinline)) drop(pool *p, long k) { if (k) free(p->second); else delete p; }
static int two() { make(); drop(all, (long)all->second); return 0; }

static struct { char *p, *q; } pair;
static int three() {
  char *k[24];
  pair.p = (char *)malloc(200);
  pair.q = (char *)malloc(200);
  free(pair.p);
  free(pair.q);
  free(pair.p);
  for (auto &x : k) memset(x = (char *)malloc(200), 'k', 200);
  return k[3][2];
}

struct bucket { bucket *next; int count[14]; };
static int *hist;
static bucket *first;
static void __attribute__((noinline)) tally(int n) { for (int i = 0; i < n; i++) hist[i] = 40 + (i * 37) % 50; }
static long __attribute__((noinline)) walk() { long s = 0; for (bucket *b = first; b; b = b->next) s += b->count[3]; return s; }
static int period() {
  for (int i = 0; i < 3; i++) first = new bucket{first, {i}};
  hist = new int[16];
  bucket *tmp[2];
  for (auto &t : tmp) t = new bucket{nullptr, {5}};
  for (int i = 0; i < 3; i++) first = new bucket{first, {i}};
  tally(70);
  for (auto *t : tmp) delete t;
  return (int)walk();
}

struct conf { std::string path; int level = 3; };
struct app { int n = 1; conf of; std::string title = "an application with a long title"; };
static app *running;
static conf *used;
static void __attribute__((noinline)) reset(conf *c) { delete used; used = c; }
static int member() {
  running = new app;
  used = &running->of;
  reset(new conf);
  std::string *s[20];
  for (auto &x : s) x = new std::string(40, 'z');
  for (auto *x : s) delete x;
  delete running;
  return 0;
}

int main(int argc, char **argv) {
  std::string bug = argc > 1 ? argv[1] : "";
  if (bug == "names") return names();
  if (bug == "freed") return freed(false);
  if (bug == "freedown") return freed(true);
  if (bug == "small") return small();
  if (bug == "top") { int s = top(); puts("here"); return s; }
  if (bug == "cycle") return cycle();
  if (bug == "far") return far();
  if (bug == "inside") return inside();
  if (bug == "held") return held();
  if (bug == "member") return member();
  if (bug == "two") return two();
  if (bug == "three") return three();
  if (bug == "period") return period();
  if (bug == "unsure") return unsure();
}
