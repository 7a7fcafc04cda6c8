// Command make makes the table of Windows' status codes from three headers of the Windows SDK, of which only names and
// numbers are taken:
//
//	go run ./internal/format/wincodes/make ntstatus.h winerror.h bugcodes.h
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A kind is one of the table's parts.
type kind struct {
	title, prefix string
	header        int // which argument
	define        *regexp.Regexp
	want          func(code uint64, name string) bool
}

const success = 1 << 30 // codes below it report success

var kinds = []kind{
	{"status", "STATUS_", 0, regexp.MustCompile(`^#define\s+(\w+)\s+\(\(NTSTATUS\)(0x[0-9A-Fa-f]{8})L\)`), func(c uint64, _ string) bool { return c >= success }},
	{"hresult", "", 1, regexp.MustCompile(`^#define\s+(\w+)\s+(?:_HRESULT_TYPEDEF_|_NDIS_ERROR_TYPEDEF_|\(HRESULT\))\((0x[0-9A-Fa-f]{8})L\)`),
		// Those up to 0x80000009 are of 16-bit Windows.
		func(c uint64, _ string) bool { return c > 0x80000009 }},
	{"rpc", "RPC_", 1, regexp.MustCompile(`^#define\s+(RPC_[SX]_\w+)\s+(\d+)L`), func(uint64, string) bool { return true }},
	{"bugcheck", "", 2, regexp.MustCompile(`^#define\s+(\w+)\s+\(\(ULONG\)(0x[0-9A-Fa-f]{8})L?\)`),
		func(_ uint64, name string) bool { return !strings.HasSuffix(name, "_STRING") }},
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: make ntstatus.h winerror.h bugcodes.h")
	}
	out := bytes.NewBufferString("# Made by internal/format/wincodes/make. A line has the first code and the names of those from there on.\n" +
		"# Names are without the prefix of their part; those that have another begin with =.\n")
	taken := map[uint64]bool{}
	for _, k := range kinds {
		text, err := os.ReadFile(os.Args[1+k.header])
		if err != nil {
			log.Fatal(err)
		}
		codes := map[uint64]string{}
		for line := range strings.Lines(string(text)) {
			m := k.define.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			n, err := strconv.ParseUint(m[2], 0, 32)
			if err != nil {
				log.Fatal(err)
			}
			// The first name of a code is used; what is a status is not listed as another code again.
			if _, twice := codes[n]; !twice && k.want(n, m[1]) && !(k.title == "hresult" && taken[n]) {
				codes[n] = m[1]
			}
		}
		fmt.Fprintf(out, "\n%s %s\n", k.title, k.prefix)
		write(out, k.prefix, codes)
		for n := range codes {
			taken[n] = true
		}
		log.Printf("%s: %d", k.title, len(codes))
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(out.Bytes())
	}
	if err = errors.Join(err, w.Close()); err == nil {
		err = os.WriteFile("internal/format/wincodes/codes.gz", packed.Bytes(), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// width is how long lines become.
const width = 160

func write(out *bytes.Buffer, prefix string, codes map[uint64]string) {
	next, length := uint64(0), 0
	for _, n := range slices.Sorted(maps.Keys(codes)) {
		name, own := strings.CutPrefix(codes[n], prefix)
		if !own {
			name = "=" + name
		}
		if length == 0 || n != next || length+len(name) > width {
			if length > 0 {
				out.WriteByte('\n')
			}
			length, _ = fmt.Fprintf(out, "%x", n)
		}
		out.WriteString(" " + name)
		length += 1 + len(name)
		next = n + 1
	}
	out.WriteByte('\n')
}
