/* Runs a program as its debugger and writes a minidump of it when it faults, from
   outside, as an error reporting service does. Not shipped.

     dumper DUMP PROGRAM ARG...

   C++ exceptions, and what names a thread, are the program's own business. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include <dbghelp.h>

enum { cxx_gcc = 0x474343, cxx_msvc = 0xe06d7363, thread_name = 0x406d1388, debug_print = 0x40010006, debug_wide = 0x4001000a };

static HANDLE threads[64];
static DWORD ids[64];
static int count;

static HANDLE thread_of(DWORD id)
{
	for (int i = 0; i < count; i++)
		if (ids[i] == id)
			return threads[i];
	return NULL;
}

static void remember(DWORD id, HANDLE thread)
{
	if (count < 64) {
		ids[count] = id;
		threads[count++] = thread;
	}
}

static int write_dump(const char *path, PROCESS_INFORMATION *pi, DEBUG_EVENT *ev)
{
	CONTEXT ctx = {.ContextFlags = CONTEXT_ALL};
	EXCEPTION_POINTERS p = {&ev->u.Exception.ExceptionRecord, &ctx};
	MINIDUMP_EXCEPTION_INFORMATION info = {ev->dwThreadId, &p, FALSE};
	HANDLE file = CreateFileA(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
	if (file == INVALID_HANDLE_VALUE || !GetThreadContext(thread_of(ev->dwThreadId), &ctx))
		return 0;
	int ok = MiniDumpWriteDump(pi->hProcess, pi->dwProcessId, file, MiniDumpNormal, &info, NULL, NULL);
	CloseHandle(file);
	return ok;
}

/* Answers whether the event is the fault that is waited for. The loader's own
   breakpoint comes first and is none. */
static int fault(DEBUG_EVENT *ev, int *begun)
{
	DWORD code = ev->u.Exception.ExceptionRecord.ExceptionCode;
	if (code == EXCEPTION_BREAKPOINT && !*begun) {
		*begun = 1;
		return 0;
	}
	return (code & 0xffffff) != cxx_gcc && code != cxx_msvc && code != thread_name && code != debug_print && code != debug_wide;
}

int main(int argc, char **argv)
{
	char line[1024] = "";
	for (int i = 2; i < argc; i++) {
		strcat(line, argv[i]);
		strcat(line, " ");
	}
	STARTUPINFOA si = {sizeof si};
	PROCESS_INFORMATION pi;
	if (!CreateProcessA(NULL, line, NULL, NULL, FALSE, DEBUG_ONLY_THIS_PROCESS, NULL, NULL, &si, &pi))
		return 2;
	remember(pi.dwThreadId, pi.hThread);
	int begun = 0;
	for (;;) {
		DEBUG_EVENT ev;
		DWORD status = DBG_CONTINUE;
		if (!WaitForDebugEvent(&ev, 20000))
			return 3;
		switch (ev.dwDebugEventCode) {
		case CREATE_THREAD_DEBUG_EVENT:
			remember(ev.dwThreadId, ev.u.CreateThread.hThread);
			break;
		case EXIT_PROCESS_DEBUG_EVENT:
			return 4;
		case EXCEPTION_DEBUG_EVENT:
			if (fault(&ev, &begun)) {
				int ok = write_dump(argv[1], &pi, &ev);
				printf("dump=%d code=%lx\n", ok, ev.u.Exception.ExceptionRecord.ExceptionCode);
				TerminateProcess(pi.hProcess, 1);
				return ok ? 0 : 5;
			}
			if (begun && ev.u.Exception.ExceptionRecord.ExceptionCode != EXCEPTION_BREAKPOINT)
				status = DBG_EXCEPTION_NOT_HANDLED;
		}
		ContinueDebugEvent(ev.dwProcessId, ev.dwThreadId, status);
	}
}
