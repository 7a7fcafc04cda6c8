package find

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

var le = binary.LittleEndian

// Identifiers of the files that the tests make.
const (
	testGUID    = "0123ABCD45670089A0B1C2D3E4F50617"
	testDebugID = testGUID + "1a"
	testCodeID  = "5F3A00BC7000"
)

// guidBytes encodes a GUID's 32 digits as in a file.
func guidBytes(t testing.TB, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != 16 {
		t.Fatalf("%q is no GUID", digits)
	}
	b[0], b[1], b[2], b[3] = b[3], b[2], b[1], b[0]
	b[4], b[5] = b[5], b[4]
	b[6], b[7] = b[7], b[6]
	return b
}

// split splits a debug identifier.
func split(t testing.TB, debugID string) (guid []byte, age uint32) {
	t.Helper()
	if _, err := fmt.Sscanf(debugID[32:], "%x", &age); err != nil {
		t.Fatal(err)
	}
	return guidBytes(t, debugID[:32]), age
}

// peWith makes a PE image with one section, and with a CodeView record if debugID is not
// "".
func peWith(t testing.TB, codeID, debugID, pdb string) []byte {
	t.Helper()
	var stamp, size uint32
	if _, err := fmt.Sscanf(codeID, "%8x%x", &stamp, &size); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 0x400)
	copy(b, "MZ")
	b[0x3c] = 0x40
	copy(b[0x40:], "PE\x00\x00")
	coff := b[0x44:]
	le.PutUint16(coff, 0x8664)
	le.PutUint16(coff[2:], 1) // sections
	le.PutUint32(coff[4:], stamp)
	le.PutUint16(coff[16:], 240)
	opt := b[0x58:]
	le.PutUint16(opt, 0x20b)
	le.PutUint32(opt[32:], 0x1000) // alignment in memory and in the file
	le.PutUint32(opt[36:], 0x200)
	le.PutUint32(opt[56:], size)
	le.PutUint32(opt[60:], 0x200)
	le.PutUint32(opt[108:], 16)
	section := b[0x58+240:]
	copy(section, ".rdata")
	for i, v := range []uint32{0x200, 0x1000, 0x200, 0x200} {
		le.PutUint32(section[8+4*i:], v)
	}
	if debugID != "" {
		le.PutUint32(opt[112+8*6:], 0x1000)
		le.PutUint32(opt[112+8*6+4:], 28)
		guid, age := split(t, debugID)
		record := append([]byte("RSDS"), guid...)
		record = append(append(le.AppendUint32(record, age), pdb...), 0)
		entry := b[0x200:]
		le.PutUint32(entry[12:], 2)
		le.PutUint32(entry[16:], uint32(len(record)))
		le.PutUint32(entry[20:], 0x1020)
		le.PutUint32(entry[24:], 0x220)
		copy(b[0x220:], record)
	}
	return b
}

// pdbWith makes a program database that consists of headers only.
func pdbWith(t testing.TB, debugID string) []byte {
	t.Helper()
	const block = 512
	guid, age := split(t, debugID)
	info := make([]byte, 12, 64)
	le.PutUint32(info[8:], age+1) // older than the one that counts
	info = append(info, guid...)
	info = append(info, make([]byte, 20)...) // no named streams
	dbi := make([]byte, 64)
	le.PutUint32(dbi, 0xffffffff)
	le.PutUint32(dbi[8:], age)
	sizes := []int{0, len(info), 0, len(dbi)}
	dir := le.AppendUint32(nil, uint32(len(sizes)))
	for _, n := range sizes {
		dir = le.AppendUint32(dir, uint32(n))
	}
	dir = le.AppendUint32(dir, 3)
	dir = le.AppendUint32(dir, 4)
	b := make([]byte, 8*block) // the last is not used
	copy(b, pdbMagic)
	for i, v := range []uint32{block, 1, 8, uint32(len(dir)), 0, 6} {
		le.PutUint32(b[32+4*i:], v)
	}
	copy(b[3*block:], info)
	copy(b[4*block:], dbi)
	copy(b[5*block:], dir)
	le.PutUint32(b[6*block:], 5)
	return b
}

// symWith makes a Breakpad symbol file.
func symWith(debugID, codeID, name string) []byte {
	text := "MODULE windows x86_64 " + debugID + " " + name + "\n"
	if codeID != "" {
		text += "INFO CODE_ID " + codeID + " " + strings.TrimSuffix(name, ".pdb") + ".dll\n"
	}
	return []byte(text + "PUBLIC 1000 0 main\n")
}

func TestIdentify(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		data []byte
		want ids
	}{
		"app.dll":     {peWith(t, testCodeID, testDebugID, `c:\b\app.pdb`), ids{kind: peFile, codeID: "5f3a00bc7000", debugID: strings.ToLower(testDebugID)}},
		"plain.dll":   {peWith(t, testCodeID, "", ""), ids{kind: peFile, codeID: "5f3a00bc7000"}},
		"app.pdb":     {pdbWith(t, testDebugID), ids{kind: pdbFile, debugID: strings.ToLower(testDebugID)}},
		"app.sym":     {symWith(testDebugID, testCodeID, "app.pdb"), ids{kind: symFile, codeID: "5f3a00bc7000", debugID: strings.ToLower(testDebugID)}},
		"nocode.sym":  {symWith(testDebugID, "", "app.pdb"), ids{kind: symFile, debugID: strings.ToLower(testDebugID)}},
		"app.so":      {elftest.WithID(3, []byte{1, 2}, 0), ids{kind: elfFile, buildID: "0102"}},
		"core":        {elftest.WithID(4, []byte{1, 2}, 0), ids{}},
		"dos.exe":     {append([]byte("MZ"), make([]byte, 100)...), ids{}},
		"cut.pdb":     {pdbWith(t, testDebugID)[:100], ids{}},
		"cut.sym":     {[]byte("MODULE windows x86_64 \nINFO CODE_ID 12\n"), ids{}},
		"text":        {[]byte("hello"), ids{}},
		"empty":       {nil, ids{}},
		"only a line": {[]byte("MODULE Linux x86_64 " + testDebugID + " a"), ids{kind: symFile, debugID: strings.ToLower(testDebugID)}},
	} {
		if got := identify(write(t, dir+"/"+name, tt.data), make([]byte, headSize)); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
