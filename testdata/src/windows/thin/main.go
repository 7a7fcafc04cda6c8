// Command thin leaves of a PE image what a walk needs of a library that is not ours:
// headers, exports and unwind tables. Other sections keep their addresses and lose
// their content. The image keeps its size and time, by which dumps know it.
//
//	go run main.go FROM TO
package main

import (
	"encoding/binary"
	"log"
	"os"
	"strings"
)

func main() {
	log.SetFlags(0)
	b, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	le := binary.LittleEndian
	coff := b[le.Uint32(b[0x3c:])+4:]
	clear(coff[8:16]) // symbols and strings
	sections := coff[20+int(le.Uint16(coff[16:])):]
	head := le.Uint32(coff[20+60:]) // SizeOfHeaders
	out := append([]byte(nil), b[:head]...)
	outSections := out[len(b)-len(sections):]
	for i := range int(le.Uint16(coff[2:])) {
		s, to := sections[40*i:], outSections[40*i:]
		size, off := le.Uint32(s[16:]), le.Uint32(s[20:])
		if s[0] == '/' { // a long name, in the table of strings that is gone
			copy(to, ".gone\x00\x00\x00")
		}
		switch strings.TrimRight(string(s[:8]), "\x00") {
		case ".edata", ".pdata", ".xdata":
			le.PutUint32(to[20:], uint32(len(out)))
			out = append(out, b[off:off+size]...)
			outSections = out[len(b)-len(sections):] // they may have moved
		default:
			le.PutUint32(to[16:], 0)
			le.PutUint32(to[20:], 0)
		}
	}
	if err := os.WriteFile(os.Args[2], out, 0o644); err != nil {
		log.Fatal(err)
	}
}
