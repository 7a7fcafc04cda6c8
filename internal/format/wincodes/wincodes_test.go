package wincodes

import (
	"strconv"
	"strings"
	"testing"
)

// TestNames: known names, of ntstatus.h, winerror.h and bugcodes.h.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		of   func(uint32) string
		code uint32
		want string
	}{
		{Status, 0xc0000005, "STATUS_ACCESS_VIOLATION"}, {Status, 0x80000001, "STATUS_GUARD_PAGE_VIOLATION"}, {Status, 0xc0000017, "STATUS_NO_MEMORY"},
		{Status, 0x8000000d, "STATUS_PARTIAL_COPY"}, {Status, 0xc0000374, "STATUS_HEAP_CORRUPTION"}, {Status, 0xc000027b, "STATUS_STOWED_EXCEPTION"},
		{Status, 0x40010006, "DBG_PRINTEXCEPTION_C"}, {Status, 0xc0020001, "RPC_NT_INVALID_STRING_BINDING"}, {Status, 0xc0000602, "STATUS_FAIL_FAST_EXCEPTION"},
		{Status, 0xc0000001, "STATUS_UNSUCCESSFUL"}, {Status, 0x40000000, "STATUS_OBJECT_NAME_EXISTS"},
		{Status, 0, ""}, {Status, 0x102, ""}, // success
		{Status, 0xe0000005, ""}, {Status, 0xe06d7363, ""}, {Status, 0xa0000001, ""}, // customer bit
		{Status, 0xd0000005, ""}, {Status, 0xcfffffff, ""}, {Status, 0xffffffff, ""}, {Status, 0x7fffffff, ""},
		{HResult, 0x8007000e, "E_OUTOFMEMORY"}, {HResult, 0x80004005, "E_FAIL"}, {HResult, 0x8001010d, "RPC_E_CANTCALLOUT_ININPUTSYNCCALL"},
		{HResult, 0x887a0005, "DXGI_ERROR_DEVICE_REMOVED"}, {HResult, 0xd0000005, "HRESULT_FROM_NT(STATUS_ACCESS_VIOLATION)"},
		{HResult, 1, ""}, {HResult, 0xa0040001, ""}, {HResult, 0x80000008, ""}, {HResult, 0x8fffffff, ""}, {HResult, 0xdfffffff, ""},
		{RPC, 1722, "RPC_S_SERVER_UNAVAILABLE"}, {RPC, 1783, "RPC_X_BAD_STUB_DATA"}, {RPC, 5, ""}, {RPC, 1699, ""}, {RPC, 5000, ""},
		{BugCheck, 0xa, "IRQL_NOT_LESS_OR_EQUAL"}, {BugCheck, 0x116, "VIDEO_TDR_FAILURE"}, {BugCheck, 0xef, "CRITICAL_PROCESS_DIED"},
		{BugCheck, 0xc000021a, "WINLOGON_FATAL_ERROR"}, {BugCheck, 0, ""}, {BugCheck, 0x40010001, ""}, {BugCheck, 0xffffffff, ""},
	} {
		if got := tt.of(tt.code); got != tt.want {
			t.Errorf("%#08x is %q, want %q", tt.code, got, tt.want)
		}
	}
}

// TestTable checks the order that the lookup relies on, that every name is found, and how many there are.
func TestTable(t *testing.T) {
	of := map[string]func(uint32) string{"status": Status, "hresult": HResult, "rpc": RPC, "bugcheck": BugCheck}
	least := map[string]int{"status": 2800, "hresult": 3400, "rpc": 100, "bugcheck": 500}
	for _, part := range strings.Split(codes.Get(), "\n\n")[1:] {
		head, text, _ := strings.Cut(part, "\n")
		title, prefix, _ := strings.Cut(head, " ")
		next, count := uint64(0), 0
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			n, err := strconv.ParseUint(words[0], 16, 32)
			if err != nil || n < next || len(words) < 2 {
				t.Fatalf("%s: %q before %x: %v", title, line, next, err)
			}
			for _, w := range words[1:] {
				want := prefix + w
				if w[0] == '=' {
					want = w[1:]
				}
				if count++; count%16 == 0 || count < 50 {
					if got := of[title](uint32(n)); got != want {
						t.Errorf("%s %x is %q, want %q", title, n, got, want)
					}
				}
				n++
			}
			next = n
		}
		if count < least[title] {
			t.Errorf("%s: %d names", title, count)
		}
		delete(least, title)
	}
	if len(least) > 0 {
		t.Errorf("parts are missing: %v", least)
	}
}

func BenchmarkStatus(b *testing.B) {
	for b.Loop() {
		Status(0xc0000602)
	}
}
