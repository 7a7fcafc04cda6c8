/* given BUG: gives the allocator what is no block, or reads from a block that somebody else has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { char label[24]; struct node *next; long *count; long size; };
struct outer { struct node first; double more; };
struct point { double x, y, z, w, v, u, t; };

static struct node *kept, *other;
static struct outer *whole;
static struct node *inner;
static struct point *points[40];
static char banner[64], *text;
static long counts[4];

static void __attribute__((noinline)) give(void *p) { free(p); }
static void __attribute__((noinline)) choose(char **at) { *at = banner + 8; }
static void __attribute__((noinline)) shared() { char *mine; choose(&mine); free(mine); }
static void __attribute__((noinline)) walk(struct node *n) { for (; n; n = n->next) counts[0] += *n->count; }

int main(int argc, char **argv) {
  const char *bug = argc > 1 ? argv[1] : "";
  char local[64];
  kept = calloc(1, sizeof *kept);
  kept->count = counts;
  other = calloc(1, sizeof *other);
  text = calloc(1, 200);
  if (!strcmp(bug, "stack")) give(local + 16);
  else if (!strcmp(bug, "global")) give(banner);
  else if (!strcmp(bug, "shared")) shared();
  else if (!strcmp(bug, "inside")) give(text + 24);
  else if (!strcmp(bug, "types")) {
    free(kept);
    for (int i = 0; i < 40; i++) { points[i] = malloc(sizeof **points); for (int k = 0; k < 7; k++) (&points[i]->x)[k] = 1.25 + k; }
    walk(kept);
  } else if (!strcmp(bug, "place")) {
    other->next = kept;
    other->count = counts;
    kept->count = (long *)0x6161616161616161;
    walk(other);
  } else if (!strcmp(bug, "first")) {
    whole = calloc(1, sizeof *whole);
    inner = &whole->first;
    inner->count = (long *)0x6161616161616161;
    counts[1] += *inner->count;
  } else if (!strcmp(bug, "null")) {
    kept->count = 0;
    walk(kept);
  }
  printf("%ld %p\n", counts[0], (void *)local);
  return 0;
}
