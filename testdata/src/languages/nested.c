/* A function in a function of GNU C, called by another call of the function around it than the one that it belongs to. */
#include <stdlib.h>

__attribute__((noinline)) int outer(int n, int (*f)(int)) {
  int local = n * 10;
  int inner(int z) {
    if (z + local > 0) abort();
    return z;
  }
  if (f) return f(5) + local;
  return outer(n - 1, inner) + local;
}

int main(void) { return outer(3, NULL); }
