/* What the layout.c of runtimes is made of: each line "record.field number" is text of the assembler, which layouts.sh cuts out. No program need run. */
#include <stddef.h>

#define SAY(name, n) __asm__ volatile("\n->" name " %c0" : : "i"((long)(n)))
#define FIELD(name, type, field) SAY(name, offsetof(type, field))
