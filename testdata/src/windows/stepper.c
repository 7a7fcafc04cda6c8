/* Records what a program did at each instruction of its own code, under a debugger
   that steps it. Not shipped; the record is.

     stepper PROGRAM >RECORD

   It begins with the call of a function between the exported edges_first and
   edges_last, and ends when that returns. Each line of the record is about one thing:

     i RIP                     an instruction there is about to be executed
     r NAME VALUE              a general register has this value since the last i
     x NAME LOW HIGH           a vector register that calls preserve, likewise
     m ADDRESS VALUE           a word of the stack, likewise
     c RETURN CFA              the last i was a call that entered this code: its return
                               address, and the stack pointer after the return
     t                         the code of the last c returned

   i stands behind what is new in its line's registers and memory. Numbers are in
   hexadecimal. The caller is known from the calls that were made, from nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

enum { depth = 65536, calls = 256 };

static HANDLE process, thread;
static DWORD64 first, last, base, size, top, below;
static DWORD64 seen[18];
static M128A seen_xmm[16];
static unsigned char memory[depth], known[depth];
static struct { DWORD64 ret, cfa; } stack[calls];
static int open_calls, recording;

static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};

static DWORD64 word_at(DWORD64 address)
{
	DWORD64 v = 0;
	ReadProcessMemory(process, (void *)address, &v, sizeof v, NULL);
	return v;
}

static void changes(CONTEXT *c)
{
	DWORD64 *regs = &c->Rax;
	for (int i = 0; i < 16; i++)
		if (regs[i] != seen[i] || !recording)
			printf("r %s %llx\n", names[i], seen[i] = regs[i]);
	for (int i = 6; i < 16; i++) {
		M128A *x = &c->FltSave.XmmRegisters[i];
		if (memcmp(x, &seen_xmm[i], sizeof *x)) {
			printf("x xmm%d %llx %llx\n", i, (unsigned long long)x->Low, (unsigned long long)x->High);
			seen_xmm[i] = *x;
		}
	}
	SIZE_T used = top - c->Rsp;
	if (used > depth || !ReadProcessMemory(process, (void *)c->Rsp, memory + depth - used, used, NULL))
		return;
	for (SIZE_T at = depth - used; at < depth; at += 8)
		if (memcmp(memory + at, known + at, 8)) {
			memcpy(known + at, memory + at, 8);
			printf("m %llx %llx\n", top - depth + at, *(DWORD64 *)(memory + at));
		}
	recording = 1;
}

/* An instruction is about to be executed; before, below was the stack pointer and
   last_rip the last instruction, both of the program's own code. */
static void step(CONTEXT *c)
{
	static DWORD64 last_rip;
	int inside = open_calls ? c->Rip >= base && c->Rip < base + size : c->Rip >= first && c->Rip < last;
	while (open_calls > 0 && c->Rip == stack[open_calls - 1].ret && c->Rsp == stack[open_calls - 1].cfa) {
		open_calls--;
		puts("t");
	}
	if (!open_calls && recording)
		inside = 0;
	if (!inside) {
		last_rip = 0;
		return;
	}
	DWORD64 ret = word_at(c->Rsp);
	/* A call leaves the address behind itself on the stack, and it is the only
	   instruction that does and goes elsewhere; the first is that of a caller outside. */
	if (!open_calls || last_rip && c->Rsp == below - 8 && ret > last_rip && ret <= last_rip + 7 && c->Rip != ret) {
		if (!open_calls)
			top = (c->Rsp + 8 + 63) & ~63ull;
		stack[open_calls].ret = ret;
		stack[open_calls++].cfa = c->Rsp + 8;
		changes(c);
		printf("c %llx %llx\n", ret, c->Rsp + 8);
	} else
		changes(c);
	printf("i %llx\n", c->Rip);
	last_rip = c->Rip;
	below = c->Rsp;
}

int main(int argc, char **argv)
{
	(void)argc;
	HMODULE image = LoadLibraryExA(argv[1], NULL, DONT_RESOLVE_DLL_REFERENCES);
	DWORD64 from = (DWORD64)GetProcAddress(image, "edges_first") - (DWORD64)image;
	DWORD64 to = (DWORD64)GetProcAddress(image, "edges_last") - (DWORD64)image;
	IMAGE_NT_HEADERS64 *headers = (void *)((char *)image + ((IMAGE_DOS_HEADER *)image)->e_lfanew);
	STARTUPINFOA si = {sizeof si};
	PROCESS_INFORMATION pi;
	size = headers->OptionalHeader.SizeOfImage;
	int begun = 0;
	if (!image || !CreateProcessA(NULL, argv[1], NULL, NULL, FALSE, DEBUG_ONLY_THIS_PROCESS, NULL, NULL, &si, &pi))
		return 2;
	process = pi.hProcess;
	thread = pi.hThread;
	for (;;) {
		DEBUG_EVENT ev;
		CONTEXT c = {.ContextFlags = CONTEXT_ALL};
		DWORD status = DBG_CONTINUE;
		if (!WaitForDebugEvent(&ev, 20000))
			return 3;
		switch (ev.dwDebugEventCode) {
		case CREATE_PROCESS_DEBUG_EVENT:
			base = (DWORD64)ev.u.CreateProcessInfo.lpBaseOfImage;
			first = base + from;
			last = base + to;
			break;
		case EXIT_PROCESS_DEBUG_EVENT:
			return !recording;
		case EXCEPTION_DEBUG_EVENT:
			switch (ev.u.Exception.ExceptionRecord.ExceptionCode) {
			case EXCEPTION_BREAKPOINT: /* the loader's, then the program's: it begins, and ends */
				begun++;
				GetThreadContext(thread, &c);
				c.EFlags = begun == 2 ? c.EFlags | 0x100 : c.EFlags & ~0x100;
				SetThreadContext(thread, &c);
				break;
			case EXCEPTION_SINGLE_STEP:
				GetThreadContext(thread, &c);
				if (begun < 3) {
					step(&c);
					c.EFlags |= 0x100;
					SetThreadContext(thread, &c);
				}
				break;
			default:
				status = DBG_EXCEPTION_NOT_HANDLED;
			}
		}
		ContinueDebugEvent(ev.dwProcessId, ev.dwThreadId, status);
	}
}
