package reason

import (
	"strconv"
	"strings"
	"testing"
)

func TestWinErrorName(t *testing.T) {
	for code, want := range map[uint32]string{
		0: "ERROR_SUCCESS", 2: "ERROR_FILE_NOT_FOUND", 5: "ERROR_ACCESS_DENIED", 6: "ERROR_INVALID_HANDLE", 87: "ERROR_INVALID_PARAMETER",
		122: "ERROR_INSUFFICIENT_BUFFER", 126: "ERROR_MOD_NOT_FOUND", 183: "ERROR_ALREADY_EXISTS", 203: "ERROR_ENVVAR_NOT_FOUND",
		997: "ERROR_IO_PENDING", 1400: "ERROR_INVALID_WINDOW_HANDLE", 1460: "ERROR_TIMEOUT",
		28: "ERROR_OUT_OF_PAPER", 58: "ERROR_BAD_NET_RESP", 47: "0x0000002f", 1999: "0x000007cf", 0xdeadbeef: "0xdeadbeef",
		0xc0000005: "EXCEPTION_ACCESS_VIOLATION",
	} {
		if got := WinErrorName(code); got != want {
			t.Errorf("%d is %s, want %s", code, got, want)
		}
	}
}

// TestWinErrorsAscend checks the order that the lookup relies on.
func TestWinErrorsAscend(t *testing.T) {
	next := 0
	for line := range strings.Lines(winErrors) {
		words := strings.Fields(line)
		n, err := strconv.Atoi(words[0])
		if err != nil || n < next || len(words) < 2 {
			t.Fatalf("%q after %d: %v", line, next-1, err)
		}
		next = n + len(words) - 1
	}
}
