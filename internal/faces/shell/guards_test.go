package shell_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/faces/shell"
)

// A typist types lines, and sees what is written and what fails.
type typist struct {
	t   *testing.T
	sh  *shell.Shell
	out *bytes.Buffer
}

func (p typist) types(line string) (string, error) {
	p.t.Helper()
	p.out.Reset()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	err := p.sh.Run(ctx, line)
	if ctx.Err() != nil {
		p.t.Fatalf("%.80s does not end", line)
	}
	return p.out.String(), err
}

func (p typist) wants(line, want string) {
	p.t.Helper()
	if got, err := p.types(line); err != nil || !strings.Contains(got, want) {
		p.t.Errorf("%.80s: %.300s, %v, want %s", line, got, err, want)
	}
}

func (p typist) fails(line, want string) {
	p.t.Helper()
	if got, err := p.types(line); err == nil || !strings.Contains(err.Error(), want) {
		p.t.Errorf("%.80s: %.300s, %v, want %s", line, got, err, want)
	}
}

func at(t *testing.T, fixture string) typist {
	sh, out := open(t, fixture)
	return typist{t, sh, out}
}

// Nothing that is typed, or that a file of commands has, goes on for ever or keeps more and more.
func TestBounds(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("frame 2", "records")
	for range 1001 { // more than are kept
		p.wants("p sum", " = 7")
	}
	p.fails("p $1", "no such value")
	p.wants("p $1001", "$1002 = 7")
	for i := range 1000 {
		p.wants(fmt.Sprintf("set $v%d = sum", i), "")
	}
	p.fails("set $more = sum", "there are 1000 variables")
	p.wants("set $v0 = 8", "")
	p.wants("p $v0 + $v1", " = 15")
	p.fails("set $rip = 1", "is a register of the process")
	p.fails("set $1 = 1", "is no name for a variable")
	for range 50 {
		p.wants("display sum", "sum = 7")
	}
	p.fails("display sum", "50 expressions are displayed")
	p.wants("undisplay", "")

	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("output sum\nsource "+script+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := p.types("source " + script); err == nil || strings.Count(got, "7") < 8 || !strings.Contains(got, "files of commands name each other 8 deep") {
		t.Errorf("%v, %s", err, got)
	}
	p.fails("find 0, +0x200000000, 1", "at most 4294967296 are searched")
	p.wants("find 0xfffffffffffff000, 0xffffffffffffffff, 1", "4.1 kB of the range are not in the dump")
	p.wants("find &sum, +4, 7", "1 pattern found.")
	p.wants("find &sum, +4, 12345", "Pattern not found.")
	p.fails("find &sum, +4", "needs a range and a value")
	p.fails("x/5000x &sum", "from 1 to 4096 units")
	p.fails("p/q sum", "the format /q is not known")
}

// Formats of large values are written up to a limit, which is that of the whole.
func TestFormatsAreBounded(t *testing.T) {
	p := at(t, "amd64-vars-cxx-O0")
	p.wants("frame 1", "containers")
	p.wants("p/x nested", "{{0x1, 0x2}, std::vector of length 0, capacity 0, {0x3}}")
	p.wants("p/x line", "0x14, 0x15, ") // a deque
	if got, err := p.types("p/x *(char (*)[100][100][100])$sp"); err == nil && (strings.Count(got, "0x") > 1100 || !strings.Contains(got, "...")) {
		t.Errorf("%d numbers", strings.Count(got, "0x"))
	}
}

// Files are made, and none is written over.
func TestDump(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("frame 2", "records")
	file := filepath.Join(t.TempDir(), "memory")
	p.wants("dump binary memory "+file+" &sum &sum+1", "4 bytes were written")
	if b, err := os.ReadFile(file); err != nil || !bytes.Equal(b, []byte{7, 0, 0, 0}) {
		t.Errorf("%x, %v", b, err)
	}
	p.fails("dump memory "+file+" &sum &sum+1", "dump writes new files only")
	if b, _ := os.ReadFile(file); len(b) != 4 {
		t.Errorf("%d bytes", len(b))
	}
	p.wants("dump value "+file+"2 here", "48 bytes were written")
	p.fails("dump memory "+file+"3 0 16", "no memory at 0x0")
	if _, err := os.Stat(file + "3"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what could not be written stays: %v", err)
	}
}

// A question that may mean several things, or means another one at gdb's prompt, is not answered with one of them.
func TestNotAnotherAnswer(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("frame 2", "records")
	p.fails("info line 1", "has no code that is known")
	p.wants("info line vars.c:97", "line 97 of vars.c is at 0x562e0c1e458a")
	p.wants("info line records", "line 97 of /src/vars.c is at 0x562e0c1e458a")
	p.fails("set radix 16", "set output-radix 16 is for what is printed")
	p.fails("set sysroot /x", "--sysroot DIR")
	p.fails("list 5,2", "before the first")
	p.wants("p/x b.c", "0x123456789a") // of a bit-field the memory has more
	p.wants("list 100,102", "100\t")
	p.wants("list", "103\t")
	p.wants("list -", "93\t")
	p = at(t, "amd64-vars-cxx-O0")
	p.fails("disassemble size", "is the name of several functions: ")
	p.wants("disassemble owners", "owners+4")
}
