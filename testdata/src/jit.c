/* Compiles nothing itself, but does what a JIT compiler does: puts code where no
   file is mapped and registers an ELF file for it with GDB's interface. The code is
   jit_code.c. Dies of SIGSEGV in jit_leaf. Stack: jit_leaf < jit_middle < jit_entry
   < run < main. With "placed" the file is linked to an address; else it is an
   object file, whose sections are given their addresses here, as LLVM does. A second
   entry tells of other code. */
#define _GNU_SOURCE
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const char *symfile;
	uint64_t size;
};

struct jit_descriptor {
	uint32_t version, action;
	struct jit_code_entry *relevant, *first;
};

__attribute__((noinline)) void __jit_debug_register_code(void) { __asm__ volatile(""); }
struct jit_descriptor __jit_debug_descriptor = { 1, 0, 0, 0 };

extern char object[], object_end[], placed[], placed_end[];
static struct jit_code_entry entries[2];
static char copy[2][65536] __attribute__((aligned(16)));
static int calls;

static void add(int i, int size)
{
	struct jit_code_entry *e = &entries[i];

	e->symfile = copy[i];
	e->size = size;
	e->next = __jit_debug_descriptor.first;
	if (e->next)
		e->next->prev = e;
	__jit_debug_descriptor.first = __jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = 1;
	__jit_debug_register_code();
}

/* Maps the loaded sections of the file in copy[i] and returns where its code is. */
static char *load(int i, char *from, char *to)
{
	Elf64_Ehdr *eh = (Elf64_Ehdr *)copy[i];
	Elf64_Shdr *sh;
	char *text = 0, *at;
	int k;

	memcpy(copy[i], from, to - from);
	sh = (Elf64_Shdr *)(copy[i] + eh->e_shoff);
	at = mmap(0, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (k = 0; k < eh->e_shnum; k++) {
		if (!(sh[k].sh_flags & SHF_ALLOC) || sh[k].sh_type == SHT_NOBITS || sh[k].sh_size == 0)
			continue;
		if (eh->e_type == ET_REL)
			sh[k].sh_addr = (uint64_t)at;
		else
			mmap((void *)(sh[k].sh_addr & -4096), 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		memcpy((void *)sh[k].sh_addr, copy[i] + sh[k].sh_offset, sh[k].sh_size);
		at += (sh[k].sh_size + 63) & -64;
		if (sh[k].sh_flags & SHF_EXECINSTR)
			text = (char *)sh[k].sh_addr;
	}
	add(i, to - from);
	return text;
}

/* jit_entry comes first in the code. */
__attribute__((noinline)) int run(int (*code)(int *, int))
{
	int r = code(0, 7);

	calls++;
	return r;
}

int main(int argc, char **argv)
{
	char *first = load(0, object, object_end), *second = load(1, placed, placed_end);

	return run((int (*)(int *, int))(strcmp(argv[1], "placed") == 0 ? second : first)) + calls;
}
