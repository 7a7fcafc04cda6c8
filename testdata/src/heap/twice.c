/* twice PATH: gives a block back twice, writes it down, and dies. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  FILE *out = argc > 1 ? fopen(argv[1], "w") : NULL;
  if (!out)
    return 2;
  setbuf(out, NULL);
  for (int i = 0; i < 100; i++)
    fprintf(out, "held %p 40\n", malloc(40));
  void *volatile p = malloc(100), *volatile q = p;
  fprintf(out, "freed %p 100\n", p);
  free(p);
  free(q);
  *(volatile int *)0 = 1;
}
