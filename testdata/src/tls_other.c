// Another library with a variable of each thread, between the program and libtls.so.
static __thread int other = 1;

int *other_of_thread(void) { return &other; }
