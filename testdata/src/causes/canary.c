/* canary CASE: writes past a variable on the stack into the word that protects the return address. */
#include <string.h>

void __stack_chk_fail(void);

#define PART __attribute__((noinline))
volatile int sink;
static char letters[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";

PART void text(int n) { char line[24]; memcpy(line, letters, n); sink = line[n % 24]; }
PART void numbers(int n) { int table[8]; for (int i = 0; i < n; i++) table[i] = 7 * i + 1; sink = table[n % 8]; }
struct record { int id; char name[20]; };
PART void member(int n) { struct record r; r.id = n; memcpy(r.name, letters, n); sink = r.name[n % 20] + r.id; }

/* Text of its own fills the lower array to its end, or nearly. */
PART void lower(int n) { char low[16], high[16]; memcpy(low, "0123456789012345", 16); memcpy(high, letters, n); sink = low[n % 16] + high[n % 16]; }
PART void tail(int n) { char low[16], high[16]; memcpy(low, "\1\2\3\4\1\2\3\4\1\2\3\4mnop", 16); memcpy(high, letters, n); sink = low[n % 16] + high[n % 16]; }
/* The lower array is overrun, through the higher. */
PART void through(int n) { char low[16], high[16]; memset(high, 0, 16); memcpy(low, letters, n); sink = low[n % 16] + high[n % 16]; }
PART void either(int n) { int low[8]; long high[8]; for (int i = 0; i < 8; i++) high[i] = low[i] = i; high[n] = 0x77; sink = low[n % 8] + high[n % 8]; }
/* The array has its scope within the function. */
PART void block(int n) { if (n > 4) { char inner[24]; memcpy(inner, letters, n); sink = inner[n % 24]; } }
/* The array is of an inlined function that calls none. */
static inline __attribute__((always_inline)) int spread(int n) { unsigned char digits[12]; int t = 0; for (int i = 0; i < n; i++) digits[i] = 200 + i % 50; for (int i = 0; i < n; i++) t += digits[i]; return t; }
PART void inlined(int n) { sink = spread(n); }

/* Text that ends in the last row of an array may have begun in any. */
struct grid { int n; char rows[3][8]; };
PART void rows(int n) { struct grid g; g.n = n; for (int i = 0; i < 3; i++) memset(g.rows[i], 0, 8); ((long *)g.rows[0])[n] = 0x1002; sink = g.rows[n % 3][1]; }

/* Nobody wrote past the array. */
PART void sound(int n) { char line[24]; memcpy(line, letters, n); sink = line[n % 24]; if (n) __stack_chk_fail(); }

int main(int argc, char **argv) {
  const char *c = argc > 1 ? argv[1] : "";
  if (!strcmp(c, "text")) text(44);
  else if (!strcmp(c, "numbers")) numbers(14);
  else if (!strcmp(c, "member")) member(44);
  else if (!strcmp(c, "lower")) lower(28);
  else if (!strcmp(c, "tail")) tail(28);
  else if (!strcmp(c, "through")) through(44);
  else if (!strcmp(c, "either")) either(9);
  else if (!strcmp(c, "block")) block(44);
  else if (!strcmp(c, "rows")) rows(3);
  else if (!strcmp(c, "inlined")) inlined(40);
  else sound(20);
  return 0;
}
