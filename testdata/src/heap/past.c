/* past BUG: writes numbers past the end of an array, keeps a pointer to a variable of a function that has returned, or gives back an array of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rate { int per; char name[20]; };
struct frame { struct frame *up; const char *name; long depth; };
struct link { struct link *next; long code; };
struct text { char *at; size_t size; char small[16]; };

static struct rate base = {44, "base"};
static struct { int slots[6]; struct rate *rate; } pool = {{0}, &base};
static struct frame *current;
static struct link *first;
static long table[8];
static struct { long numbers[6]; struct rate *rate; } list = {{0}, &base};
static struct { double m[3][3]; struct rate *rate; } plane = {{{0}}, &base};
static struct { int of[8]; struct rate *rate; } count = {{0}, &base};
static struct { int of[2]; struct rate *rate; } few = {{0}, &base};
static struct { int of[8]; unsigned long address; } odd;
static struct meter { int of[6]; struct rate *rate; } *meters[2];
static long *row;
static char *lines[3];

static void __attribute__((noinline)) mark(int n) { for (int i = 0; i < n; i++) pool.slots[i] = 100 + i; }
static void __attribute__((noinline)) enter(const char *name) { struct frame f = {current, name, 1}; current = &f; if (*name == 'z') current = f.up; }
static long __attribute__((noinline)) noise(long n) { volatile long a[40]; for (int i = 0; i < 40; i++) a[i] = 0x5151515151510000 + n + i; return a[7]; }
static long __attribute__((noinline)) depth(void) { long n = 0; for (struct frame *f = current; f; f = f->up) n += f->depth; return n; }
static void __attribute__((noinline)) put(struct text *t, const char *s) { t->at = strlen(s) < 16 ? t->small : malloc(100); strcpy(t->at, s); }

int main(int argc, char **argv) {
  const char *bug = argc > 1 ? argv[1] : "";
  if (!strcmp(bug, "array")) {
    mark(8);
    return pool.rate->per;
  } else if (!strcmp(bug, "beside")) { /* the pointer's own fault */
    mark(6);
    pool.rate = (struct rate *)0x7b0000007a;
    return pool.rate->per;
  } else if (!strcmp(bug, "gone")) {
    enter("outer");
    return (int)(noise(argc) + depth());
  } else if (!strcmp(bug, "alive")) { /* the variable is there, and was filled with a bad value */
    struct frame f = {(struct frame *)0x5151515151510025, "f", 1};
    current = &f;
    return (int)depth();
  } else if (!strcmp(bug, "member")) {
    struct text t;
    put(&t, "short");
    free(t.at);
    return t.small[1];
  } else if (!strcmp(bug, "between")) { /* what stands there may be what was written since */
    struct text t;
    put(&t, "short");
    char *p = *(char *volatile *)&t.at;
    *(volatile size_t *)&t.size = 7;
    free(p);
    return t.small[1];
  } else if (!strcmp(bug, "added")) {
    struct text t;
    put(&t, "short");
    char *p = *(char *volatile *)&t.at;
    __asm__ volatile("addq $7, %0" : "+m"(t.size));
    free(p);
    return t.small[1];
  } else if (!strcmp(bug, "null")) { /* which the source has no name for */
    first = calloc(1, sizeof *first);
    volatile unsigned long three = 3 * (unsigned long)first;
    unsigned long n;
    __asm__ volatile("movq (%1), %0; movq (%0), %0" : "=&r"(n) : "r"(three * 0xaaaaaaaaaaaaaaab));
    return (int)n;
  } else if (!strcmp(bug, "self")) { /* an element is used as a pointer */
    for (int i = 0; i < 8; i++) table[i] = 0x5151515151510000 + 3 * i;
    return *(char *)table[5];
  } else if (!strcmp(bug, "two")) { /* two numbers are no series of an array's */
    for (int i = 0; i < 6; i++) list.numbers[i] = (i % 2 ? -1 : 1) * (0x515151515151L << i);
    list.numbers[4] = 0x5151515151510003; list.numbers[5] = 0x5151515151510006;
    list.rate = (struct rate *)0x5151515151510009;
    return list.rate->per;
  } else if (!strcmp(bug, "matrix")) {
    for (int i = 0; i < 4; i++) for (int k = 0; k < (i < 3 ? 3 : 1); k++) (&plane.m[0][0])[3 * i + k] = i + k * 0.5 + 1;
    return plane.rate->per;
  } else if (!strcmp(bug, "counts")) {
    for (int i = 0; i < 10; i++) (&count.of[0])[i] = (i * 7) % 5 + 3;
    return count.rate->per;
  } else if (!strcmp(bug, "garbage")) { /* no such numbers */
    for (int i = 0; i < 8; i++) count.of[i] = i % 3 + 1;
    count.rate = (struct rate *)0x7b0000217a;
    return count.rate->per;
  } else if (!strcmp(bug, "pair")) { /* too few to tell */
    few.of[0] = 3; few.of[1] = 7;
    few.rate = (struct rate *)0x500000004;
    return few.rate->per;
  } else if (!strcmp(bug, "word")) { /* no pointer, but used as one */
    for (int i = 0; i < 8; i++) odd.of[i] = (i * 7) % 5 + 3;
    odd.address = 0x500000004;
    return *(int *)odd.address;
  } else if (!strcmp(bug, "zeros")) {
    count.rate = (struct rate *)0x7b0000007a;
    return count.rate->per;
  } else if (!strcmp(bug, "meter")) { /* in a block */
    meters[1] = calloc(1, sizeof **meters);
    for (int i = 0; i < 8; i++) (&meters[1]->of[0])[i] = (i * 7) % 5 + 3;
    return meters[1]->rate->per;
  } else if (!strcmp(bug, "format")) { /* a fault of the C library beside a heap that is damaged */
    for (int i = 0; i < 3; i++) lines[i] = malloc(16);
    memset(lines[0], '0', 40);
    return printf((char *)0x51515151510000);
  } else if (!strcmp(bug, "under")) { /* the allocator fails over what it finds */
    row = malloc(128);
    row[-1] = 0x99; row[-2] = 0x55667788; row[-3] = 0x11223344;
    free(row);
  } else if (!strcmp(bug, "small")) {
    row = malloc(24);
    for (int i = 0; i < 3; i++) { struct link *l = malloc(sizeof *l + 8); l->next = first; l->code = i; first = l; }
    for (int i = 0; i < 10; i++) row[i] = 1000 + 3 * i;
    long sum = 0;
    for (struct link *l = first; l; l = l->next) sum += l->code;
    return (int)sum;
  } else if (!strcmp(bug, "few")) { /* a small number that nothing leads to */
    first = calloc(1, sizeof *first);
    first->next = (struct link *)1006;
    return (int)first->next->code;
  } else if (!strcmp(bug, "end")) {
    for (int i = 0; i < 3; i++) lines[i] = malloc(16);
    strcpy(lines[0], "0123456789012345678901234567890123456789012345678901234567890123");
    for (int i = 0; i < 3; i++) free(lines[i]);
  }
  return 0;
}
