/* Records what the code of a 32-bit image of Windows did at each of its instructions: puts
   the image where it wants to be, and steps through its entry point, which must need
   nothing of Windows. A program of 32-bit Linux. Not shipped; the record is.

     stepper32 IMAGE >RECORD

   The record is written as that of stepper.c, with words of four bytes. */
#include <elf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { depth = 65536, calls = 256 };

static pid_t child;
static uint32_t base, size, top, below, seen[8];
static unsigned char memory[depth], known[depth];
static struct { uint32_t ret, cfa; } stack[calls];
static int open_calls, recording;

static const char *const names[] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"};

static uint32_t at32(const unsigned char *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return v;
}

static int peek(uint32_t from, unsigned char *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i += 4) {
		uint32_t v = (uint32_t)ptrace(PTRACE_PEEKDATA, child, (void *)(from + i), NULL);
		memcpy(to + i, &v, 4);
	}
	return 1;
}

static void changes(const struct user_regs_struct *r)
{
	uint32_t regs[] = {r->eax, r->ecx, r->edx, r->ebx, r->esp, r->ebp, r->esi, r->edi};
	for (int i = 0; i < 8; i++)
		if (regs[i] != seen[i] || !recording)
			printf("r %s %x\n", names[i], seen[i] = regs[i]);
	uint32_t used = top - (uint32_t)r->esp;
	if (used > depth || !peek(r->esp, memory + depth - used, used))
		return;
	for (uint32_t at = depth - used; at < depth; at += 4)
		if (memcmp(memory + at, known + at, 4)) {
			memcpy(known + at, memory + at, 4);
			printf("m %x %x\n", top - depth + at, at32(memory + at));
		}
	recording = 1;
}

/* An instruction is about to be executed. Calls are told from other instructions by what
   they leave on the stack. */
static void step(const struct user_regs_struct *r)
{
	static uint32_t last;
	uint32_t pc = r->eip, sp = r->esp;
	if (open_calls > 0 && pc == stack[open_calls - 1].ret) { /* what probes the stack returns further down */
		open_calls--;
		puts("t");
	}
	if (pc < base || pc >= base + size || (!open_calls && recording))
		return;
	unsigned char word[4];
	peek(sp, word, 4);
	uint32_t ret = at32(word);
	if (!open_calls || (sp == below - 4 && ret > last && ret <= last + 7 && pc != ret)) {
		if (!open_calls)
			top = (sp + 4 + 63) & ~63u;
		stack[open_calls].ret = ret;
		stack[open_calls++].cfa = sp + 4;
		changes(r);
		printf("c %x %x\n", ret, sp + 4);
	} else
		changes(r);
	printf("i %x\n", pc);
	last = pc;
	below = sp;
}

/* load puts the image in its place and answers its entry point. */
static uint32_t load(const char *path)
{
	static unsigned char file[1 << 20];
	FILE *f = fopen(path, "rb");
	if (!f || fread(file, 1, sizeof file, f) < 512)
		return 0;
	const unsigned char *pe = file + at32(file + 0x3c), *opt = pe + 24;
	base = at32(opt + 28);
	size = at32(opt + 56);
	if (mmap((void *)base, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		return 0;
	const unsigned char *s = opt + (pe[20] | pe[21] << 8);
	for (int i = 0; i < (pe[6] | pe[7] << 8); i++, s += 40) {
		uint32_t n = at32(s + 16), virtual = at32(s + 8);
		memcpy((void *)(base + at32(s + 12)), file + at32(s + 20), n < virtual ? n : virtual);
	}
	return base + at32(opt + 16);
}

int main(int argc, char **argv)
{
	uint32_t entry = argc == 2 ? load(argv[1]) : 0;
	if (!entry)
		return 2;
	if (!(child = fork())) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		((void (*)(void))entry)();
		_exit(0);
	}
	for (int status; waitpid(child, &status, 0) == child && WIFSTOPPED(status);) {
		struct user_regs_struct r;
		ptrace(PTRACE_GETREGS, child, NULL, &r);
		step(&r);
		ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
	}
	return !recording;
}
