/* bugs NAME: damages the heap in one way, and dies of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
  char name[24];
  struct item *next;
  int n;
};

static struct cache {
  struct item **items;
  int count;
} cache;

static char *label;
static char *big, *big2;

static void add(const char *name) {
  struct item *it = calloc(1, sizeof *it);
  strncpy(it->name, name, 23);
  it->next = cache.count ? cache.items[cache.count - 1] : NULL;
  cache.items[cache.count++] = it;
}

__attribute__((noinline)) static void fill(char *p, int n) {
  for (int i = 0; i < n; i++)
    p[i] = 'A' + i % 26;
}

int main(int argc, char **argv) {
  const char *bug = argc > 1 ? argv[1] : "";
  char text[20];
  cache.items = calloc(64, sizeof(void *));
  for (int i = 0; i < 20; i++) {
    snprintf(text, sizeof text, "item-%d", i);
    add(text);
  }
  label = malloc(32);
  struct item *victim = malloc(sizeof *victim);
  big = malloc(5000);
  big2 = malloc(5000);
  char *last = malloc(10);
  strcpy(victim->name, "victim");
  if (!strcmp(bug, "overrun")) {
    fill(label, 48);
    free(victim);
  } else if (!strcmp(bug, "large")) {
    fill(big, 5016);
    free(big2);
  } else if (!strcmp(bug, "twice")) {
    free(victim);
    free(victim);
  } else if (!strcmp(bug, "used")) {
    free(cache.items[3]);
    cache.items[3]->next->next->next = victim;
    *(int *)*(long *)cache.items[3] = 1;
  } else if (!strcmp(bug, "written")) {
    free(big);
    memset(big, 'B', 8);
    memset(big + 8, 'C', 8);
    malloc(4000);
    malloc(6000);
  } else if (!strcmp(bug, "before")) {
    label[-8] = 'X';
    label[-7] = 'Y';
    free(label);
  } else if (!strcmp(bug, "below")) { /* from the block before on */
    memset(label - 24, 'Z', 24);
    free(label);
  } else if (!strcmp(bug, "inside")) {
    memset(big, 1, 5000);
    free(big + 8);
  } else if (!strcmp(bug, "sound")) {
    abort();
  }
  last[0] = 0;
  puts("it survived");
  abort();
}
