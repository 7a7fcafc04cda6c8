/* foreign BUG: a pointer in a block in use is overwritten, by whoever overruns the block before or has the block besides, and is followed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plate { long *hole; long size; char label[16]; struct plate *next; };

static char *plates[40];
static long *rows[40];
static char *lines[400];
static struct plate *boxes[40], *kept;
static long sum;

static void write_text(char *to) { strcpy(to, "0123456789012345678901234567890123456789abcdefghijklmnopqrstuvwxyz!?+-*#=<>"); }
static void write_numbers(long *to, int n) { for (int i = 0; i < n; i++) to[i] = 0x4000000000000 + 3 * i; }

int main(int argc, char **argv) {
  const char *bug = argc > 1 ? argv[1] : "";
  for (int i = 0; i < 40; i++) {
    if (strncmp(bug, "number", 6)) plates[i] = calloc(1, 48); else rows[i] = calloc(6, 8);
    boxes[i] = calloc(1, 48);
    boxes[i]->hole = &sum;
    boxes[i]->next = boxes[i];
  }
  kept = boxes[25];
  if (!strcmp(bug, "text")) {
    write_text(plates[20]);
  } else if (!strcmp(bug, "number")) { /* one word past the end */
    write_numbers(rows[20], 7);
  } else if (!strcmp(bug, "numbers")) {
    write_numbers(rows[20], 8);
  } else if (!strcmp(bug, "reused")) {
    free(kept);
    boxes[25] = boxes[24];
    for (int i = 0; i < 400; i++) { lines[i] = malloc(48); snprintf(lines[i], 48, "line %d of a long text, or so", i); }
  } else if (!strcmp(bug, "filled")) {
    free(kept);
    boxes[25] = boxes[24];
    for (int i = 0; i < 400; i++) { void *p = malloc(48); memset(p, 'f', 40); }
  } else { /* a pointer of the block's own that was never one */
    memset(kept->label, 'l', sizeof kept->label + 4);
    sum += kept->next->size;
  }
  for (int i = 0; i < 40; i++)
    if (boxes[i] != kept) sum += *boxes[i]->hole;
  sum += *kept->hole;
  printf("%ld\n", sum);
}
