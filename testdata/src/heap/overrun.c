/* overrun PATH: holds blocks that are aligned beyond what malloc does, writes one byte past the end of another, writes both down, and dies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  FILE *out = argc > 1 ? fopen(argv[1], "w") : NULL;
  if (!out)
    return 2;
  setbuf(out, NULL);
  for (size_t align = 32; align <= 4 << 20; align *= 2) {
    char *p = aligned_alloc(align, align + 8);
    fprintf(out, "held %p %zu\n", p, align + 8);
    memset(p, 'h', align + 8);
  }
  char *few[8];
  for (int i = 0; i < 8; i++)
    memset(few[i] = malloc(30), 'x', 30);
  for (int i = 0; i < 8; i++)
    if (i != 4)
      fprintf(out, "held %p 30\n", few[i]);
  few[4][30] = 'A';
  fprintf(out, "held %p 30\n", few[4]); /* the last is the one that was overrun */
  free(malloc(1)); /* free is linked */
  *(volatile int *)0 = 1;
}
