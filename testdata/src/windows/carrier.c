/* Carries a Windows program that needs no library to its death, on Linux, and writes
   the minidump that Windows would have: its code, its frames, its registers are real.
   Not shipped.

     carrier PROGRAM DUMP MODULE

   PROGRAM is mapped where it is linked for and entered on a stack of its own, with a
   return address of zero. MODULE is the path that the dump says. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { stack_size = 1 << 16 };

static unsigned char *image, *stack;
static uint32_t image_size, stamp;
static uint64_t base;
static const char *dump_path, *module;

static unsigned char out[1 << 18];
static uint32_t used;

static uint32_t u32(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static void p16(uint32_t at, uint16_t v) { memcpy(out + at, &v, 2); }
static void p32(uint32_t at, uint32_t v) { memcpy(out + at, &v, 4); }
static void p64(uint32_t at, uint64_t v) { memcpy(out + at, &v, 8); }

static uint32_t room(uint32_t n)
{
	uint32_t at = used;
	used += (n + 3) & ~3u;
	return at;
}

static uint32_t blob(const void *p, uint32_t n)
{
	uint32_t at = room(n);
	memcpy(out + at, p, n);
	return at;
}

/* The CONTEXT of the fault; answers its size and the stack pointer. */
static uint32_t context(ucontext_t *uc, uint32_t *size, uint64_t *sp, uint64_t *pc)
{
#ifdef __aarch64__
	uint32_t at = room(*size = 912);
	mcontext_t *m = &uc->uc_mcontext;
	p32(at, 0x400007);
	p32(at + 4, (uint32_t)m->pstate);
	for (int i = 0; i < 31; i++)
		p64(at + 8 + 8 * i, m->regs[i]);
	p64(at + 0x100, *sp = m->sp);
	p64(at + 0x108, *pc = m->pc);
	struct fpsimd_context *v = (void *)m->__reserved; /* the kernel, and qemu, put it first */
	if (v->head.magic == FPSIMD_MAGIC)
		memcpy(out + at + 0x110, v->vregs, sizeof v->vregs);
#else
	static const int where[][2] = {{REG_EDI, 0x9c}, {REG_ESI, 0xa0}, {REG_EBX, 0xa4}, {REG_EDX, 0xa8}, {REG_ECX, 0xac}, {REG_EAX, 0xb0}, {REG_EBP, 0xb4}, {REG_EIP, 0xb8}, {REG_ESP, 0xc4}, {REG_EFL, 0xc0}};
	uint32_t at = room(*size = 716);
	p32(at, 0x10007);
	for (unsigned i = 0; i < sizeof where / sizeof *where; i++)
		p32(at + where[i][1], (uint32_t)uc->uc_mcontext.gregs[where[i][0]]);
	*sp = (uint32_t)uc->uc_mcontext.gregs[REG_ESP];
	*pc = (uint32_t)uc->uc_mcontext.gregs[REG_EIP];
#endif
	return at;
}

/* The record of the PDB in the debug directory. */
static uint32_t codeview(uint32_t *size)
{
	unsigned char *opt = image + u32(image + 0x3c) + 24;
	unsigned char *dirs = opt + (sizeof(void *) == 8 ? 112 : 96);
	unsigned char *d = image + u32(dirs + 6 * 8);
	for (uint32_t n = u32(dirs + 6 * 8 + 4); n >= 28; n -= 28, d += 28)
		if (u32(d + 12) == 2)
			return blob(image + u32(d + 20), *size = u32(d + 16));
	return *size = 0;
}

static void died(int number, siginfo_t *info, void *p)
{
	(void)number;
	uint32_t context_size, cv_size, n = strlen(module);
	uint64_t sp, pc;
	used = 32 + 6 * 12;
	uint32_t ctx = context(p, &context_size, &sp, &pc);
	uint32_t stack_used = (uint32_t)((uintptr_t)stack + stack_size - sp);
	uint32_t words = blob((void *)(uintptr_t)sp, stack_used);
	uint32_t code = blob((void *)(uintptr_t)(pc - 64), 128);
	uint32_t cv = codeview(&cv_size), name = room(4 + 2 * n + 2);
	p32(name, 2 * n);
	for (uint32_t i = 0; i < n; i++)
		p16(name + 4 + 2 * i, (unsigned char)module[i]);
	struct { uint32_t kind, size, at; } s[6] = {{7, 56}, {3, 52}, {4, 112}, {5, 36}, {6, 168}, {15, 24}};
	for (int i = 0; i < 6; i++)
		s[i].at = room(s[i].size);
	p16(s[0].at, sizeof(void *) == 8 ? 12 : 0);
	out[s[0].at + 6] = 1;
	p32(s[0].at + 8, 10);
	p32(s[0].at + 16, 19045);
	p32(s[0].at + 20, 2);
	p32(s[0].at + 24, name); /* a string; it must be one */
	p32(s[1].at, 1);
	p32(s[1].at + 4, 100);
	p64(s[1].at + 4 + 24, sp);
	p32(s[1].at + 4 + 32, stack_used);
	p32(s[1].at + 4 + 36, words);
	p32(s[1].at + 4 + 40, context_size);
	p32(s[1].at + 4 + 44, ctx);
	p32(s[2].at, 1);
	p64(s[2].at + 4, base);
	p32(s[2].at + 12, image_size);
	p32(s[2].at + 20, stamp);
	p32(s[2].at + 24, name);
	p32(s[2].at + 4 + 76, cv_size);
	p32(s[2].at + 4 + 80, cv);
	p32(s[3].at, 2);
	p64(s[3].at + 4, sp);
	p32(s[3].at + 12, stack_used);
	p32(s[3].at + 16, words);
	p64(s[3].at + 20, pc - 64);
	p32(s[3].at + 28, 128);
	p32(s[3].at + 32, code);
	p32(s[4].at, 100);
	p32(s[4].at + 8, 0xc0000005);
	p64(s[4].at + 24, pc);
	p32(s[4].at + 32, 2);
	p64(s[4].at + 40, 1);
	p64(s[4].at + 48, (uintptr_t)info->si_addr);
	p32(s[4].at + 160, context_size);
	p32(s[4].at + 164, ctx);
	p32(s[5].at, 24);
	p32(s[5].at + 4, 1);
	p32(s[5].at + 8, 4000);
	p32(0, 0x504d444d);
	p32(4, 0xa793);
	p32(8, 6);
	p32(12, 32);
	for (int i = 0; i < 6; i++) {
		p32(32 + 12 * i, s[i].kind);
		p32(32 + 12 * i + 4, s[i].size);
		p32(32 + 12 * i + 8, s[i].at);
	}
	int fd = open(dump_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	_exit(write(fd, out, used) == (ssize_t)used ? 0 : 4);
}

int main(int argc, char **argv)
{
	static unsigned char file[1 << 20], handlers[1 << 16];
	if (argc != 4)
		return 2;
	dump_path = argv[2];
	module = argv[3];
	int fd = open(argv[1], O_RDONLY);
	if (read(fd, file, sizeof file) < 512)
		return 2;
	unsigned char *coff = file + u32(file + 0x3c) + 4, *opt = coff + 20;
	stamp = u32(coff + 4);
	image_size = u32(opt + 56);
	base = sizeof(void *) == 8 ? u32(opt + 24) | (uint64_t)u32(opt + 28) << 32 : u32(opt + 28);
	image = mmap((void *)(uintptr_t)base, image_size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	stack = mmap(NULL, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image == MAP_FAILED || stack == MAP_FAILED)
		return 3;
	memcpy(image, file, u32(opt + 60));
	unsigned char *s = opt + (coff[16] | coff[17] << 8);
	for (int i = 0; i < coff[2]; i++, s += 40)
		memcpy(image + u32(s + 12), file + u32(s + 20), u32(s + 16) < u32(s + 8) ? u32(s + 16) : u32(s + 8));
	__builtin___clear_cache((char *)image, (char *)image + image_size);
	sigaltstack(&(stack_t){.ss_sp = handlers, .ss_size = sizeof handlers}, NULL);
	struct sigaction act = {.sa_sigaction = died, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaction(SIGSEGV, &act, NULL);
	unsigned char *top = stack + stack_size - 64, *entry = image + u32(opt + 16);
#ifdef __aarch64__
	__asm__ volatile("mov sp, %0\n mov x29, #0\n mov x30, #0\n br %1" : : "r"(top), "r"(entry));
#else
	__asm__ volatile("mov %0, %%esp\n push $0\n xor %%ebp, %%ebp\n jmp *%1" : : "r"(top), "r"(entry));
#endif
	__builtin_unreachable();
}
