// Bugs of which a block beside, what is left in a block, or the stack below still tells, and beside each what looks like it and is none.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct match { long when, where; struct match *home, *guest; };
static struct match *match;
static long *scores;
static struct match *pair(void) {
  scores = malloc(32);
  match = malloc(sizeof *match);
  match->when = match->where = 0;
  match->home = match->guest = match;
  for (int i = 0; i < 4; i++) scores[i] = 100 + i;
  return match;
}
static long guest(void) { return match->home->when + match->guest->where; }

// jump: an index leads past what is between.
static void __attribute__((noinline)) set(int i, long n) { scores[i] = n; }
static long jump(void) { pair(); for (int i = 6; i < 10; i++) set(i, 4000 + i); return guest(); }
// mark: what programs put in a pointer's place on purpose.
static long mark(void) { pair()->guest = (struct match *)3; return guest(); }
// other: beside are no numbers.
static long other(void) { struct match *a = malloc(32); *a = (struct match){1, 2, a, a}; match = malloc(32); match->home = match; match->guest = (struct match *)4009; return guest() + a->when; }

// below: a negative index.
static long below(void) { match = malloc(32); *match = (struct match){1, 2, match, match}; scores = malloc(32); for (int i = 1; i < 5; i++) set(-i, 40 + i); return guest(); }

// counted: the upper half of a pointer is counted up.
static int *counts;
static long counted(void) { match = malloc(32); *match = (struct match){1, 2, match, match}; counts = malloc(32); memset(counts, 0, 32); for (int i = -6; i < 0; i++) counts[i] += 5; return guest(); }

// left: what was in the block before.
struct session { long id; char *user; long state; char *host; char *agent; };
static struct session *active;
static long __attribute__((noinline)) request(const char *text) { char *copy = malloc(40); memset(copy, ' ', 40); memcpy(copy, text, strlen(text)); copy[39] = 0; long n = copy[3]; free(copy); return n; }
static long left(void) { long n = request("GET /index.html?a=b HTTP/1.0, a line."); active = malloc(sizeof *active); active->id = n; active->user = "u"; active->state = 0; return active->agent[0]; }
// within: text of its own that goes on.
struct label { long id; char name[12]; char *more; };
static struct label *label;
static long within(void) { label = malloc(40); label->id = 1; strcpy(label->name, "a name that is too long for it"); return label->more[0]; }

// numbers: of a block that holds them now.
struct task { long prio; char *name; struct task *next; long more; };
static struct task *task;
static long *ids;
static long numbers(void) { task = malloc(32); task->name = "t"; char **into = &task->name; free(task); long *t = malloc(32); for (int i = 0; i < 4; i++) t[i] = 0x8000800080008000 + i; return (*into)[0]; }

// member: a pointer in a structure leads below the stack that is in use.
struct addr { const char *host; long port; };
struct res { struct addr *addr; int n; };
static void __attribute__((noinline)) lookup(const char *h, struct res *r) { struct addr found[2] = {{h, 80}, {h, 443}}; r->addr = found; __asm__ volatile("" ::"r"(found) : "memory"); }
static int __attribute__((noinline)) noise(int n) { volatile unsigned char t[256]; memset((char *)t, 0x81 + n, 256); return t[n]; }
static long __attribute__((noinline)) member(int n) { struct res r; lookup("h", &r); n += noise(n); return n + r.addr[0].host[0]; }
// called, lazily: the same, where a function is called since, for the first time or again.
static long called(int n) { struct res r; lookup("h", &r); n += noise(n); return n + strlen(r.addr[0].host); }
static long again_called(int n) { n += strlen("x"); return called(n); }
// held: a block leads there.
static struct res *held;
static long in_block(int n) { held = malloc(sizeof *held); lookup("h", held); n += noise(n); return n + held->addr[0].host[0]; }
// lives: the same, of what is there.
static long lives(int n) { struct addr here[2]; struct res r = {here, 2}; memset(here, 0x82, sizeof here); __asm__ volatile("" ::"r"(here) : "memory"); return n + r.addr[0].host[0]; }

// hashes: numbers that go through one block into another.
struct peer { char *host; struct peer *next; char *zone; long rtt; };
static struct peer *peers;
static unsigned long *hashes;
static long through(int n) {
  hashes = malloc(32);
  for (int i = 0; i < 2; i++) { struct peer *p = malloc(32); *p = (struct peer){"a", peers, "z", 1}; peers = p; }
  unsigned long h = 14695981039346656037ul;
  for (int i = 0; i < n; i++) { h = (h ^ i) * 1099511628211ul; hashes[i] = h; }
  return peers->host[0];
}
// own: the one between has its pointers, and the last one none.
static long own(void) { through(4); peers->host = (char *)0x1122334455667788; return peers->host[0]; }

// twice: a block that was on a list twice, and was written to by both who have it.
static char *again[4];
static long twice(int fill) {
  char *p = malloc(100), *copy = p;
  free(p);
  free(copy);
  for (int i = 0; i < 4; i++) { again[i] = malloc(100); memset(again[i], fill + i, 100); }
  return again[0][0];
}
// letters: the same, and what was written looks like text that goes on.
static long letters(void) {
  char *p = malloc(112), *copy = p;
  free(p);
  free(copy);
  for (int i = 0; i < 4; i++) { again[i] = malloc(112); for (int k = 0; k < 14; k++) ((long *)again[i])[k] = 0x2222222222222222 + i; }
  return again[0][0];
}

// inside: a pointer into a block is given back, by a function that leaves by a jump.
struct frame { long kind, len; char payload[48]; };
static struct frame *frames[4];
static char *__attribute__((noinline)) payload(int i) { return frames[i]->payload; }
static void __attribute__((noinline)) release(char *p) { free(p); }
static long inside(void) {
  for (int i = 0; i < 4; i++) { frames[i] = malloc(sizeof *frames[i]); memset(frames[i], 'p', sizeof *frames[i]); frames[i]->kind = i; }
  release(payload(1));
  return 0;
}

// edge: the last byte of a number before a block looks like a letter.
struct shape { double (*area)(struct shape *); double of[2], r; };
static double circle(struct shape *s) { return s->r * s->r; }
static struct shape *shapes[2];
static long edge(void) {
  for (int i = 0; i < 2; i++) { shapes[i] = malloc(32); *shapes[i] = (struct shape){circle, {1, 2}, 3}; }
  free(shapes[1]);
  strcpy(malloc(32), "a caption for the second shape");
  double a = 0;
  for (int i = 0; i < 2; i++) a += shapes[i]->area(shapes[i]);
  return a;
}

// given: the record of what is given back was not written to, but that behind it.
static long given(void) {
  hashes = malloc(32);
  struct peer *p = malloc(32), *q = malloc(32);
  *p = *q = (struct peer){"a", 0, "z", 1};
  peers = p;
  for (int i = 0; i < 12; i++) hashes[i] = 0x0123456700000000 + 77 * i * i;
  free(hashes);
  return 0;
}

// backwards: a text is written from its end on, to before the block's beginning.
struct rule { char *from, *to; long hits; char *note; };
static struct rule *rule;
static void __attribute__((noinline)) fill_back(char *end, const char *with, int n) { while (n > 0) *--end = with[--n]; }
static long backwards(void) {
  rule = malloc(sizeof *rule);
  *rule = (struct rule){"a", "b", 1, "c"};
  char *buf = malloc(32);
  memset(buf, 0, 32);
  const char *w = "the digits of a number that is longer than thirty-two places";
  fill_back(buf + 31, w, strlen(w));
  free(buf);
  return 0;
}

int main(int argc, char **argv) {
  char *w = argv[1];
#define IS(name, call) if (!strcmp(w, name)) { printf("%ld\n", (long)(call)); return 0; }
  IS("jump", jump()) IS("mark", mark()) IS("other", other()) IS("below", below()) IS("counted", counted()) IS("left", left()) IS("within", within())
  IS("numbers", numbers()) IS("member", member(argc)) IS("lives", lives(argc)) IS("held", in_block(argc)) IS("lazily", called(argc)) IS("called", again_called(argc)) IS("through", through(12)) IS("own", own())
  IS("twice", twice('a')) IS("letters", letters()) IS("inside", inside()) IS("edge", edge()) IS("backwards", backwards()) IS("given", given())
  return 0;
}
