/* Does what a JIT compiler does that records its code for profilers: puts functions
   where no file is mapped, and writes perf-PID.map ("map"), or jit-PID.dump with the
   code and its lines, which it maps as perf wants it ("dump"). Dies of SIGSEGV in
   leaf. Stack: leaf < middle < outer < run < main. outer and middle keep rbx on the
   stack and have no frame pointer. Older records of the same places come first. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* void call(void **next): calls next[0](next + 1). */
static const unsigned char call_code[] = {
	0x53,                   /* push rbx */
	0x48, 0x83, 0xec, 0x20, /* sub rsp, 32 */
	0x48, 0x8d, 0x5f, 0x08, /* lea rbx, [rdi+8] */
	0x48, 0x8b, 0x07,       /* mov rax, [rdi] */
	0x48, 0x89, 0xdf,       /* mov rdi, rbx */
	0xff, 0xd0,             /* call rax */
	0x48, 0x83, 0xc4, 0x20, /* add rsp, 32 */
	0x5b,                   /* pop rbx */
	0xc3,                   /* ret */
};
static const unsigned char leaf_code[] = {
	0x41, 0x54,       /* push r12 */
	0x31, 0xc0,       /* xor eax, eax */
	0x48, 0x8b, 0x00, /* mov rax, [rax] */
	0x41, 0x5c,       /* pop r12 */
	0xc3,             /* ret */
};

static char *code;
static void *chain[4];
static FILE *f;

static void u32(uint32_t v) { fwrite(&v, 4, 1, f); }
static void u64(uint64_t v) { fwrite(&v, 8, 1, f); }

static void head(uint32_t id, uint32_t size) { u32(id); u32(size + 16); u64(1); }

static void line(uint64_t addr, uint32_t n, const char *file)
{
	u64(addr);
	u32(n);
	u32(0);
	fwrite(file, strlen(file) + 1, 1, f);
}

/* Records a function of the dump with two lines, of which the second begins at its sixth byte. */
static void load(char *at, const unsigned char *bytes, int size, const char *name, int n)
{
	const char *file = "/srv/shop.toy";

	head(2, 16 + 32 + strlen(file) + 1 + 2);
	u64((uint64_t)at);
	u64(2);
	line((uint64_t)at, n, file);
	line((uint64_t)at + 5, n + 1, "\xff");
	head(0, 40 + strlen(name) + 1 + size);
	u32(getpid());
	u32(getpid());
	u64((uint64_t)at);
	u64((uint64_t)at);
	u64(size);
	u64(1);
	fwrite(name, strlen(name) + 1, 1, f);
	fwrite(bytes, size, 1, f);
}

__attribute__((noinline)) static void run(void)
{
	((void (*)(void **))chain[0])(chain + 1);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	char name[64];
	int dump = argc > 1 && !strcmp(argv[1], "dump");

	code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, call_code, sizeof call_code);
	memcpy(code + 64, call_code, sizeof call_code);
	memcpy(code + 128, leaf_code, sizeof leaf_code);
	chain[0] = code;
	chain[1] = code + 64;
	chain[2] = code + 128;
	snprintf(name, sizeof name, dump ? "jit-%d.dump" : "perf-%d.map", getpid());
	f = fopen(name, "w");
	if (dump) {
		u32(0x4a695444);
		u32(1);
		u32(40);
		u32(62);
		u32(0);
		u32(getpid());
		u64(0);
		u64(0);
		load(code, call_code, sizeof call_code, "toy::outer", 10);
		load(code + 512, call_code, sizeof call_code, "toy::middle", 20);
		load(code + 128, call_code, 10, "toy::stale", 30); /* the code there is another one by now */
		head(1, 48);
		u32(getpid());
		u32(getpid());
		u64((uint64_t)code + 64);
		u64((uint64_t)code + 512);
		u64((uint64_t)code + 64);
		u64(sizeof call_code);
		u64(1);
		load(code + 128, leaf_code, sizeof leaf_code, "toy::leaf", 40);
	} else {
		fprintf(f, "%lx 1000 stale\n", (long)code);
		fprintf(f, "%lx %zx toy::outer\n", (long)code, sizeof call_code);
		fprintf(f, "0x%lx 0x%zx toy::middle\n", (long)code + 64, sizeof call_code);
		fprintf(f, "%lx %zx toy::leaf [inlined: 0]\n", (long)code + 128, sizeof leaf_code);
	}
	fclose(f);
	if (dump)
		mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(name, O_RDONLY), 0);
	run();
	return 0;
}
