// Crashes below two units with much debug information.
// Stack: crash, deep x4, main.
#include <cstdlib>
int entry7(int); int entry9(int);
volatile int *bad;
__attribute__((noinline)) int crash(int x) { *bad = x; return x; }
__attribute__((noinline)) int deep(int x) { if (x == 0) return crash(entry7(1) + entry9(2)); return deep(x - 1) + 1; }
int main() { return deep(3); }
