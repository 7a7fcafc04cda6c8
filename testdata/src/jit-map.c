/* Does what a JIT compiler does that records its code for profilers: puts functions
   where no file is mapped, and writes perf-PID.map ("map"), or jit-PID.dump with the
   code and its lines, which it maps as perf wants it ("dump"), and with unwind tables
   ("unwind"). Dies of SIGSEGV in leaf. Stack: leaf < middle < outer < run < main. outer and middle keep rbx on the
   stack and have no frame pointer. Older records of the same places come first. With
   tables, they take as much of the stack as their argument says, and keep it in rbx. */
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

/* The same, with rbx as its frame pointer. */
static const unsigned char table_code[] = {
	0x53,                                     /* push rbx */
	0x48, 0x89, 0xe3,                         /* mov rbx, rsp */
	0x48, 0x8d, 0x05, 0x02, 0x00, 0x00, 0x00, /* lea rax, [rip+2] */
	0xff, 0xe0,                               /* jmp rax */
	0x48, 0x0f, 0xb6, 0xc7,                   /* movzx rax, dil */
	0x48, 0x29, 0xc4,                         /* sub rsp, rax */
	0x48, 0x83, 0xe4, 0xc0,                   /* and rsp, -64 */
	0x48, 0x8b, 0x07,                         /* mov rax, [rdi] */
	0x48, 0x83, 0xc7, 0x08,                   /* add rdi, 8 */
	0xff, 0xd0,                               /* call rax */
	0x48, 0x89, 0xdc,                         /* mov rsp, rbx */
	0x5b,                                     /* pop rbx */
	0xc3,                                     /* ret */
};
/* Rows of both after the CIE's: the CFA, and where rbx is. */
static const unsigned char table_rows[] = { 0x41, 0x0e, 0x10, 0x83, 0x02, 0x43, 0x0d, 0x03, 0x60, 0x0d, 0x07, 0x41, 0x0e, 0x08 };
static const unsigned char leaf_rows[] = { 0x42, 0x0e, 0x10, 0x8c, 0x02, 0x47, 0x0e, 0x08 };

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

/* Records the unwind table of a function of size bytes that is recorded next: .eh_frame and .eh_frame_hdr, the addresses
   in which are those that perf makes of it: behind the function. */
static void table(int size, const unsigned char *rows, int n)
{
	static const unsigned char cie[] = { 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0 };
	static const unsigned char zeros[8];
	int whole = (17 + n + 7) / 8 * 8 - 4, end = 24 + 4 + whole + 4, body = (size + 7) / 8 * 8;

	head(4, 24 + end + 20 + 4);
	u64(end + 20);
	u64(20);
	u64(end + 20);
	fwrite(cie, sizeof cie, 1, f);
	u32(whole);
	u32(24 + 4);
	u32(-(body + 24 + 8));
	u32(size);
	fwrite(zeros, 1, 1, f);
	fwrite(rows, n, 1, f);
	fwrite(zeros, whole - 13 - n, 1, f);
	u32(0);
	u32(0x3b031b01);
	u32(-(end + 4));
	u32(1);
	u32(-(body + end));
	u32(-(end - 24));
	u32(0);
}

__attribute__((noinline)) static void run(void)
{
	((void (*)(void **))chain[0])(chain + 1);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	char name[64];
	int unwind = argc > 1 && !strcmp(argv[1], "unwind"), dump = unwind || argc > 1 && !strcmp(argv[1], "dump");
	const unsigned char *outer = unwind ? table_code : call_code;
	int size = unwind ? sizeof table_code : sizeof call_code;

	code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, outer, size);
	memcpy(code + 64, outer, size);
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
		if (unwind)
			table(size, table_rows, sizeof table_rows);
		load(code, outer, size, "toy::outer", 10);
		if (unwind)
			table(size, table_rows, sizeof table_rows);
		load(code + 512, outer, size, "toy::middle", 20);
		load(code + 128, call_code, 10, "toy::stale", 30); /* the code there is another one by now */
		head(1, 48);
		u32(getpid());
		u32(getpid());
		u64((uint64_t)code + 64);
		u64((uint64_t)code + 512);
		u64((uint64_t)code + 64);
		u64(size);
		u64(1);
		if (unwind)
			table(sizeof leaf_code, leaf_rows, sizeof leaf_rows);
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
