/* keeps: allocates and never frees, so that a static program of musl has no free() in it; then dies. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *volatile kept[1000];

int main(void) {
  for (int i = 0; i < 1000; i++)
    memset(kept[i] = malloc(10 + i), 'x', 10 + i);
  *(volatile int *)0 = 1;
  return 0;
}
