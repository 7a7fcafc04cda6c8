/* A type of eight members of a type of eight members, and so on: two million members in all. */
#include <signal.h>
#include <stdlib.h>

struct l0 {};
#define LEVEL(n, m) struct l##n { struct l##m a, b, c, d, e, f, g, h; };
LEVEL(1, 0) LEVEL(2, 1) LEVEL(3, 2) LEVEL(4, 3) LEVEL(5, 4) LEVEL(6, 5) LEVEL(7, 6)

struct item { long a, b; };
struct top { struct item *first; struct l7 deep; struct item *last; } top;

int main(void) {
  top.first = calloc(1, sizeof *top.first);
  top.last = calloc(1, sizeof *top.last);
  raise(SIGABRT);
}
