// asan BUG: a bug that AddressSanitizer reports.
#include <cstdlib>
#include <cstring>
#include <thread>

__attribute__((noinline)) static char *grow(size_t n) {
  char *p = static_cast<char *>(malloc(n));
  return p;
}
__attribute__((noinline)) static char *made(size_t n) {
  char *p = new char[n];
  return p;
}
__attribute__((noinline)) static void drop(char *p) {
  free(p);
}
static void kill(char *p) { delete[] p; }

int main(int, char **argv) {
  char *a = grow(10), *b = made(100), *big = grow(300000);
  memset(b, 1, 100);
  switch (argv[1][0]) {
  case 'o': a[12] = 1; break;           // heap-buffer-overflow
  case 'n': b[100] = 1; break;          // of operator new[]
  case 'l': big[300000] = 1; break;     // of a large block
  case 'b': a[-1] = 1; break;           // before the beginning
  case 'u': drop(a); a[5] = 1; break;   // heap-use-after-free
  case 't': std::thread(kill, b).join(); b[7] = 1; break; // of another thread
  case 'd': drop(a); drop(a); break;    // double-free
  case 'm': drop(b); break;             // alloc-dealloc-mismatch
  }
  return 0;
}
