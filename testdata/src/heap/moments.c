/* moments PATH SEED THREADS MICROSECONDS: threads allocate and free blocks, and note which they hold where PATH says, until the program dies at some moment.
 * A block is noted once malloc has returned it, and no more before free is called. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 2000, MOST = 16 };

struct block {
  _Atomic(char *) at;
  _Atomic(size_t) size;
};
static struct block held[MOST][KEPT];
static unsigned long seed;

static void *work(void *arg) {
  struct block *mine = arg;
  unsigned long r = seed * 7919 + (mine - held[0]);
  for (;;) {
    r = r * 6364136223846793005UL + 1442695040888963407UL;
    struct block *b = &mine[(r >> 33) % KEPT];
    char *p = b->at;
    if (p) {
      b->at = NULL;
      free(p);
      continue;
    }
    size_t n = (r >> 20) % 300;
    if ((r >> 45) % 50 == 0)
      n = (r >> 20) % 60000;
    p = malloc(n);
    memset(p, 'x', n);
    b->size = n;
    b->at = p;
  }
}

int main(int argc, char **argv) {
  if (argc < 5)
    return 2;
  FILE *out = fopen(argv[1], "w");
  if (!out)
    return 2;
  fprintf(out, "held %p %d\n", (void *)held, MOST * KEPT);
  fclose(out);
  seed = strtoul(argv[2], NULL, 0);
  int n = atoi(argv[3]);
  for (int i = 0; i < n; i++) {
    pthread_t id;
    pthread_create(&id, NULL, work, held[i]);
  }
  usleep(atoi(argv[4]));
  abort();
}
