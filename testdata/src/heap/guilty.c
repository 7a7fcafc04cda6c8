// Heap bugs of which memory still shows the guilty block, and beside each what looks like it and is none.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct card { char *name; char *place; struct card *next; long number; };
static struct card *cards;
static struct card table[1];

// through: a text goes through a block of pointers into one that is free.
static void add(const char *phone) {
  char *p = malloc(32);
  struct card *c = malloc(sizeof *c);
  c->name = p; c->place = strdup("there"); c->next = cards; c->number = 7;
  strcpy(p, phone);
  cards = c;
}
static long through() {
  add("1234");
  add("+00 00 0000 0000 and so on and so on, until the block behind that one is full");
  add("5678");
  return strlen(cards->name);
}

// again: the place that a bad value was read from holds another one since.
struct shared { char *text; long *weights; struct shared *self; long version; };
static _Atomic(struct shared *) current;
static atomic_int phase;
static char *volatile status;
static void *reader(void *arg) {
  long sum = 0;
  struct shared *s = current;
  atomic_store(&phase, 1);
  while (atomic_load(&phase) < 2) ;
  for (int i = 0; i < 4; i++) sum += s->weights[i];
  *(long *)arg = sum;
  return 0;
}
static long again() {
  struct shared *s = malloc(sizeof *s), *n = malloc(sizeof *n);
  s->weights = calloc(8, 8);
  current = s;
  long sum = 0;
  pthread_t t;
  pthread_create(&t, 0, reader, &sum);
  while (atomic_load(&phase) < 1) ;
  *n = *s;
  current = n;
  free(s);
  status = malloc(sizeof *s);
  strcpy(status, "a text of the same length, ok");
  atomic_store(&phase, 2);
  pthread_join(t, 0);
  return sum;
}

// several: blocks that are free have the bad value, too.
struct node { int key, value; struct node *left, *right; };
static struct node *root;
static void insert(int key) {
  struct node **p = &root;
  while (*p) p = key < (*p)->key ? &(*p)->left : &(*p)->right;
  *p = malloc(sizeof **p);
  (*p)->key = key; (*p)->left = 0;
}
static long several() {
  char *old[4];
  for (int i = 0; i < 4; i++) { old[i] = malloc(24); strcpy(old[i], "what was there longxx"); }
  for (int i = 0; i < 4; i++) free(old[i]);
  insert(5); insert(3); insert(8); insert(9);
  return root->value + (old[0] != 0);
}

// begins: a copy that is too long begins with numbers and goes on with text, across two blocks.
struct head { long kind, length, from, to; };
static struct card *first;
static struct head *kept;
static long begins() {
  struct { struct head h; char body[64]; } frame = {{3, 64, 0, 0}, "GET /index.html?session=8812734 HTTP/1.1 Host: example.invalid"};
  struct head *hole = malloc(sizeof *hole);
  first = malloc(sizeof *first);
  struct card *second = malloc(sizeof *second);
  first->next = second; second->next = first;
  free(hole);
  kept = malloc(sizeof *kept);
  memcpy(kept, &frame, sizeof frame);
  second->name = 0;
  return *second->place;
}

// reals: numbers in floating point go on from a block to the next one; own: the next one has them of its own.
struct filter { double *gain; long count[7]; };
static struct { double *window; struct filter *filter; } track;
static struct { double *window; double **own; } plot;
static long reals(int own) {
  track.window = plot.window = malloc(64);
  void *f = malloc(64);
  double sum = 0;
  for (int i = 0; i < (own ? 8 : 14); i++) track.window[i] = 0.5 + i * 0.25;
  if (own) {
    plot.own = f;
    for (int i = 0; i < 8; i++) ((double *)f)[i] = 2.5 + i * 0.25;
    return *plot.own[0];
  }
  track.filter = f;
  return track.filter->gain[0] + sum;
}

// small: a number of a series is an address, and others called what failed there.
struct channel { long *gains; struct text { const char *name; long tags[7]; } *text; };
static long small() {
  struct channel c = {malloc(64), malloc(64)};
  c.text->name = "left";
  for (int i = 0; i < 18; i++) c.gains[i] = 500 + 3 * i;
  volatile unsigned long three = 3 * (unsigned long)c.text->name; /* code does not tell what it was */
  char line[64];
  return snprintf(line, sizeof line, "%s.", (char *)(three * 0xaaaaaaaaaaaaaaab)) + c.gains[0];
}

// twice: a block is freed twice, and stays on the list; the allocator stops at another one.
static long twice() {
  char *p = malloc(200);
  free(p);
  free(p);
  char **q = malloc(64);
  free(q);
  *q = (char *)0x4141414141414141;
  malloc(64);
  return *(char *)malloc(64);
}

// unfilled: a block is handed out again, and begins with what it had when it was free.
struct object { struct object *to; long of[5]; };
static long unfilled() {
  struct object *o = malloc(sizeof *o), *other;
  o->to = o;
  free(o);
  other = malloc(sizeof *other);
  other->of[2] = 1;
  long n = o->to->of[0];
  return n + other->of[2];
}

// stdio: the C library has pointers into its own frames.
static long stdio() {
  char *bad = (char *)0x40b8030000000000;
  table[0].name = bad;
  printf("%s %s\n", table[0].name, "x");
  return 0;
}

// binary: what is no text and no series goes on from a block to the pointers of the next.
struct row { unsigned char bytes[64]; };
static struct { struct row *row; struct card64 { struct card64 *to, *from; long more[6]; } *card; struct card64 *others[2]; } place;
static long binary(int own) {
  place.row = malloc(64);
  place.card = malloc(64);
  place.others[0] = malloc(64);
  for (int i = 0; i < (own ? 64 : 80); i++) ((volatile unsigned char *)place.row)[i] = (unsigned char)(i * 167 + 0x93);
  if (own) place.card->from = (void *)0x1122334455667788, place.card->to = place.others[0];
  return place.card->from->more[0];
}

// runaway: text is written from a block on until there is no more memory; beyond: past the end of memory that is no heap's, beside a heap that is damaged.
static char *tape;
static long runaway(int own) {
  tape = malloc(72);
  char *next = malloc(72);
  strcpy(next, "next");
  char *to = tape;
  if (own) {
    memset(tape, 'q', 90);
    to = (char *)mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 2048;
    munmap(to + 2048, 4096);
  }
  for (long i = 0;; i++) to[i] = "on and on and on "[i % 17];
}

int main(int argc, char **argv) {
  const char *bug = argc > 1 ? argv[1] : "";
  long n = 0;
  if (!strcmp(bug, "through")) n = through();
  if (!strcmp(bug, "again")) n = again();
  if (!strcmp(bug, "several")) n = several();
  if (!strcmp(bug, "begins")) n = begins();
  if (!strcmp(bug, "reals")) n = reals(0);
  if (!strcmp(bug, "own")) n = reals(1);
  if (!strcmp(bug, "small")) n = small();
  if (!strcmp(bug, "twice")) n = twice();
  if (!strcmp(bug, "unfilled")) n = unfilled();
  if (!strcmp(bug, "stdio")) n = stdio();
  if (!strcmp(bug, "runaway")) n = runaway(0);
  if (!strcmp(bug, "beyond")) n = runaway(1);
  if (!strcmp(bug, "binary")) n = binary(0);
  if (!strcmp(bug, "binaryown")) n = binary(1);
  return (int)n;
}
