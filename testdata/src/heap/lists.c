/* lists BUG: writes into a block that is free, from the block before or by an old pointer, and has the allocator notice that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct doc { char *title; long pages; };

static struct doc *docs[16];
static unsigned *counts[16];
static char *old, *lines[16];
static void *again[64];

static void __attribute__((noinline)) ask(size_t n) { for (int i = 0; i < 64; i++) memset(again[i] = malloc(n), 0, 16); }
static void __attribute__((noinline)) give(char *line) { free(line); }
static void __attribute__((noinline)) drop(struct doc *d) { free(d->title); free(d); }

int main(int argc, char **argv) {
  const char *bug = argc > 1 ? argv[1] : "";
  int free_from = 8;
  for (int i = 0; i < 16; i++) {
    counts[i] = calloc(12, 4);
    lines[i] = calloc(1, 112);
    (docs[i] = calloc(1, sizeof *docs[i]))->title = calloc(1, 208);
    strcpy(lines[i], "a line of some length, which is no matter to anybody");
  }
  if (!strcmp(bug, "series")) {
    for (int i = free_from; i < 16; i++) free(counts[i]);
    for (int i = 0; i < 40; i++) counts[7][i] = 0x10000000 + 7 * i;
    ask(48);
  } else if (!strcmp(bug, "text")) {
    for (int i = free_from; i < 16; i++) free(lines[i]);
    memset(lines[7], 'T', 112 + 100);
    ask(112);
  } else if (!strcmp(bug, "written")) {
    old = lines[9];
    for (int i = free_from; i < 16; i++) free(lines[i]);
    for (int i = 0; i < 8; i++) old[i] = 'q' + i % 3;
    ask(112);
  } else if (!strcmp(bug, "given")) {
    memset(docs[3]->title, 't', 208);
    memset(docs[5], 'w', sizeof *docs[5]);
    drop(docs[5]);
  } else if (!strcmp(bug, "twice")) {
    give(lines[4]);
    give(lines[5]);
    give(lines[4]);
    ask(112);
    for (int i = 0; i < 64; i++) free(again[i]);
    ask(112);
  } else if (!strcmp(bug, "local")) {
    char local[64];
    char *path = argc > 5 ? malloc(1000) : local;
    sprintf(path, "%s/%d", bug, argc);
    free(path);
    puts(local);
  }
  return 0;
}
