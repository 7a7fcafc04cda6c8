// Package wincodes names the status codes of Windows: NTSTATUS, HRESULT and the codes of bug checks (stop codes). The
// table is compressed text, which is read when the first name is asked for and searched for each.
package wincodes

import (
	"compress/gzip"
	_ "embed"
	"io"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

// packed is the table, compressed by gzip; zcat shows it. The command make makes it.
//
//go:embed codes.gz
var packed string

// codes has the names, in parts. What cannot be read of it is no name.
var codes = lazy.Value[string]{Make: func() string {
	r, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		return ""
	}
	b, _ := io.ReadAll(r)
	return string(b)
}}

const (
	severity = 3 << 30 // 0 for success
	customer = 1 << 29 // the code is not Microsoft's
	wrapped  = 1 << 28 // an HRESULT that is an NTSTATUS otherwise
)

// Status returns the name of an NTSTATUS, as ntstatus.h has it: "STATUS_NO_MEMORY". It returns "" for codes that report
// success, which are no reason for anything, and for those that it does not know: any code with the customer bit.
func Status(code uint32) string {
	if code&severity == 0 || code&customer != 0 {
		return ""
	}
	return lookup("status", code)
}

// HResult returns the name of an HRESULT that reports failure, as winerror.h has it, "" if it is not known: "E_OUTOFMEMORY".
// Those that stand for an NTSTATUS are HRESULT_FROM_NT of its name.
func HResult(code uint32) string {
	if code>>31 == 0 || code&customer != 0 {
		return ""
	}
	if code&wrapped != 0 {
		if name := Status(code &^ wrapped); name != "" {
			return "HRESULT_FROM_NT(" + name + ")"
		}
	}
	return lookup("hresult", code)
}

// RPC returns the name of an error of remote procedure calls, which they also raise as an exception; "" for other numbers.
func RPC(code uint32) string { return lookup("rpc", code) }

// BugCheck returns the name of a stop code, as bugcodes.h has it, "" if it is not known: "IRQL_NOT_LESS_OR_EQUAL".
func BugCheck(code uint32) string { return lookup("bugcheck", code) }

// lookup returns the name of a code in a part of the table, in which codes ascend.
func lookup(part string, code uint32) string {
	_, text, _ := strings.Cut(codes.Get(), "\n\n"+part+" ")
	text, _, _ = strings.Cut(text, "\n\n")
	prefix, text, _ := strings.Cut(text, "\n")
	for line := range strings.Lines(text) {
		first, names, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.ParseUint(first, 16, 32)
		if err != nil || n > uint64(code) {
			break
		}
		if uint64(code)-n > uint64(len(names)) {
			continue
		}
		for name := range strings.SplitSeq(names, " ") {
			if n == uint64(code) {
				if other, ok := strings.CutPrefix(name, "="); ok {
					return other
				}
				return prefix + name
			}
			n++
		}
	}
	return ""
}
