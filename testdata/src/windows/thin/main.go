// Command thin leaves of a PE image what walks of the fixtures need of a library that
// is not ours: headers, exports, unwind tables, and the code near some exports. Other
// code is int3 now, other sections have no content. The image keeps its size and time,
// by which dumps know it.
//
//	go run main.go FROM TO EXPORT...
package main

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"log"
	"os"
	"slices"
	"strings"
)

// near is how much code around an export stays, in bytes each way.
const near = 2048

var le = binary.LittleEndian

func main() {
	log.SetFlags(0)
	b, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	keep := exports(b, os.Args[3:])
	coff := b[le.Uint32(b[0x3c:])+4:]
	clear(coff[8:16]) // symbols and strings
	head := len(b) - len(coff) + 20 + int(le.Uint16(coff[16:]))
	out := slices.Clone(b[:le.Uint32(coff[20+60:])]) // SizeOfHeaders
	for i := range int(le.Uint16(coff[2:])) {
		s := b[head+40*i:]
		rva, size, off := le.Uint32(s[12:]), le.Uint32(s[16:]), le.Uint32(s[20:])
		var content []byte
		switch name := strings.TrimRight(string(s[:8]), "\x00"); name {
		case ".text":
			content = bytes.Repeat([]byte{0xcc}, int(size))
			for _, at := range keep {
				from, to := max(at, rva+near)-near-rva, min(at+near-rva, size)
				copy(content[from:to], b[off+from:])
			}
		case ".edata", ".pdata", ".xdata":
			content = b[off : off+size]
		default:
			size = 0
			if name[0] == '/' { // a long name, in the table of strings that is gone
				copy(out[head+40*i:], ".gone\x00\x00\x00")
			}
		}
		le.PutUint32(out[head+40*i+16:], size)
		le.PutUint32(out[head+40*i+20:], uint32(len(out)))
		out = append(out, content...)
	}
	if err := os.WriteFile(os.Args[2], out, 0o644); err != nil {
		log.Fatal(err)
	}
}

// exports answers the RVAs of some exports.
func exports(b []byte, names []string) []uint32 {
	f, err := pe.NewFile(bytes.NewReader(b))
	if err != nil {
		log.Fatal(err)
	}
	s := f.Section(".edata")
	data, err := s.Data()
	if err != nil {
		log.Fatal(err)
	}
	at := func(rva uint32) []byte { return data[rva-s.VirtualAddress:] }
	var found []uint32
	for i := range le.Uint32(data[24:]) {
		name, _, _ := bytes.Cut(at(le.Uint32(at(le.Uint32(data[32:]))[4*i:])), []byte{0})
		if slices.Contains(names, string(name)) {
			ordinal := le.Uint16(at(le.Uint32(data[36:]))[2*i:])
			found = append(found, le.Uint32(at(le.Uint32(data[28:]))[4*ordinal:]))
		}
	}
	if len(found) != len(names) {
		log.Fatalf("%d of the exports %q", len(found), names)
	}
	return found
}
