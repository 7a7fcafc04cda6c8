// The main program of sections.f90 and packing.adb, which a compiler flag names: no runtime library has to be linked.
#include <stdlib.h>

void START(void);

void stop_here_(void) { abort(); }

// What the compilers call when memory is short.
void _gfortran_os_error_at(const char *where, const char *what, ...) { (void)where, (void)what, abort(); }
void _gfortran_runtime_error_at(const char *where, const char *what, ...) { (void)where, (void)what, abort(); }
void _gfortran_runtime_error(const char *what, ...) { (void)what, abort(); }

int main(void) { START(); }
