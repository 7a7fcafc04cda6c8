/* blocks PATH SEED THREADS ROUNDS: each thread allocates and frees blocks of many sizes; then the program writes down which it holds, and
 * which it has given back last, and dies. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 3000 };

struct thread {
  pthread_t id;
  unsigned long random;
  int rounds;
  void *held[KEPT];
  size_t size[KEPT];
  void *freed[64]; /* that were not handed out again as far as this thread knows */
  int frees;
};

static struct thread threads[64];
static pthread_barrier_t done;

static unsigned long next(struct thread *t) {
  t->random = t->random * 6364136223846793005UL + 1442695040888963407UL;
  return t->random >> 16 & 0x7fffffff;
}

static void *work(void *arg) {
  struct thread *t = arg;
  for (int i = 0; i < t->rounds; i++) {
    int k = next(t) % KEPT;
    if (t->held[k]) {
      free(t->held[k]);
      t->held[k] = NULL;
      continue;
    }
    size_t n = next(t) % 200;
    switch (next(t) % 100) {
    case 0: n = 1000 + next(t) % 100000; break;
    case 1: n = next(t) % 5000; break;
    case 2: if (next(t) % 20 == 0) n = 200000 + next(t) % 1000000; break;
    }
    t->held[k] = malloc(n);
    t->size[k] = n;
    memset(t->held[k], 'a' + k % 26, n);
  }
  for (int i = 0; i < 40; i++) {
    void *p = malloc(24 + 16 * (i % 5));
    t->freed[t->frees++] = p;
  }
  for (int i = 0; i < t->frees; i++)
    free(t->freed[i]);
  if (t == threads)
    return NULL;
  pthread_barrier_wait(&done);
  for (;;)
    pthread_barrier_wait(&done);
}

int main(int argc, char **argv) {
  if (argc < 5)
    return 2;
  static char buffer[1 << 16];
  FILE *out = fopen(argv[1], "w");
  if (!out)
    return 2;
  setvbuf(out, buffer, _IOFBF, sizeof buffer);
  int n = atoi(argv[3]);
  pthread_barrier_init(&done, NULL, n);
  for (int i = 0; i < n; i++) {
    threads[i].random = strtoul(argv[2], NULL, 0) * 7919 + i;
    threads[i].rounds = atoi(argv[4]);
    if (i)
      pthread_create(&threads[i].id, NULL, work, &threads[i]);
  }
  work(&threads[0]);
  pthread_barrier_wait(&done);
  /* What other threads allocated, this one gives back. */
  for (int i = 1; i < n; i++)
    for (int k = 0; k < KEPT; k += 7)
      if (threads[i].held[k]) {
        fprintf(out, "freed %p 0\n", threads[i].held[k]);
        free(threads[i].held[k]);
        threads[i].held[k] = NULL;
      }
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < KEPT; k++)
      if (threads[i].held[k])
        fprintf(out, "held %p %zu\n", threads[i].held[k], threads[i].size[k]);
    for (int k = 0; k < threads[i].frees; k++)
      fprintf(out, "freed %p 0\n", threads[i].freed[k]);
  }
  fflush(out);
  abort();
}
