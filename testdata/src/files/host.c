/* Loads the library at a path in an odd way, and calls it: plain, deleted, memfd, or from an archive at an offset. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* in_archive maps the library that begins at base in an archive, as Android's linker does. Only the relocations that
 * this library has are applied. */
static void *in_archive(const char *path, long base)
{
	int fd = open(path, O_RDONLY);
	ElfW(Ehdr) eh;
	ElfW(Phdr) ph[32];
	if (fd < 0 || pread(fd, &eh, sizeof eh, base) != sizeof eh || eh.e_phnum > 32)
		exit(1);
	pread(fd, ph, eh.e_phnum * sizeof *ph, base + eh.e_phoff);
	char *at = mmap(0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ElfW(Dyn) *dyn = 0;
	for (int i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type == PT_DYNAMIC)
			dyn = (void *)(at + ph[i].p_vaddr);
		if (ph[i].p_type != PT_LOAD)
			continue;
		int prot = (ph[i].p_flags & PF_R ? PROT_READ : 0) | (ph[i].p_flags & PF_W ? PROT_WRITE : 0) | (ph[i].p_flags & PF_X ? PROT_EXEC : 0);
		unsigned long lead = ph[i].p_vaddr & 4095;
		if (mmap(at + ph[i].p_vaddr - lead, ph[i].p_filesz + lead, prot, MAP_PRIVATE | MAP_FIXED, fd, base + ph[i].p_offset - lead) == MAP_FAILED)
			exit(1);
	}
	ElfW(Sym) *symbols = 0;
	char *names = 0;
	unsigned *hash = 0;
	ElfW(Rela) *tables[2] = {0, 0};
	unsigned long sizes[2] = {0, 0};
	for (; dyn->d_tag != DT_NULL; dyn++)
		switch (dyn->d_tag) {
		case DT_SYMTAB: symbols = (void *)(at + dyn->d_un.d_ptr); break;
		case DT_STRTAB: names = at + dyn->d_un.d_ptr; break;
		case DT_HASH: hash = (void *)(at + dyn->d_un.d_ptr); break;
		case DT_RELA: tables[0] = (void *)(at + dyn->d_un.d_ptr); break;
		case DT_RELASZ: sizes[0] = dyn->d_un.d_val; break;
		case DT_JMPREL: tables[1] = (void *)(at + dyn->d_un.d_ptr); break;
		case DT_PLTRELSZ: sizes[1] = dyn->d_un.d_val; break;
		}
	for (int t = 0; t < 2; t++)
		for (unsigned long i = 0; i < sizes[t] / sizeof(ElfW(Rela)); i++) {
			ElfW(Rela) *r = &tables[t][i];
			ElfW(Sym) *s = &symbols[r->r_info >> 32];
			ElfW(Addr) *to = (void *)(at + r->r_offset);
			if (r->r_info >> 32 == 0)
				*to = (ElfW(Addr))at + r->r_addend;
			else if (s->st_value)
				*to = (ElfW(Addr))at + s->st_value + r->r_addend;
		}
	for (unsigned i = 0; i < hash[1]; i++)
		if (strcmp(names + symbols[i].st_name, "lib_top") == 0)
			return at + symbols[i].st_value;
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argv[1], *path = argv[2];
	char held[64];
	int (*top)(int);
	if (argc > 3) {
		top = in_archive(path, atol(argv[3]));
	} else {
		if (strcmp(how, "memfd") == 0) {
			char buf[4096];
			int to = memfd_create("a library", 0), from = open(path, O_RDONLY);
			for (ssize_t n; (n = read(from, buf, sizeof buf)) > 0;)
				write(to, buf, n);
			snprintf(held, sizeof held, "/proc/self/fd/%d", to);
			path = held;
		}
		void *lib = dlopen(path, RTLD_NOW);
		if (!lib) {
			puts(dlerror());
			return 1;
		}
		if (strcmp(how, "deleted") == 0)
			unlink(path);
		top = (int (*)(int))dlsym(lib, "lib_top");
	}
	return top(7) + 1;
}
