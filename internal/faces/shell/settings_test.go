package shell_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// Settings of gdb's are obeyed, or say that they change nothing; those that ask for what is so already are taken without a word.
func TestSettingsSayWhatTheyDo(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("frame 2", "records")
	for _, q := range []string{"set pagination off", "set confirm off", "set height 0", "set width 0", "set print address on", "set print symbol on", "set print demangle on", "set print demangle",
		"set print union on", "set auto-load safe-path /", "set language auto", "set disassembly-flavor intel", "set history save on", "set output-radix 10", "set input-radix 10", "set radix 10",
		"set debuginfod enabled off", "set print sevenbit-strings off", "set print asm-demangle", "set backtrace past-main on", "set print frame-arguments all"} {
		p.nothing(q)
	}
	for _, q := range []string{"set pagination on", "set width 80", "set print array on", "set print array-indexes on", "set print array", "set print union off", "set print symbol off", "set print null-stop on", "set print repeats 3",
		"set print static-members on", "set print vtbl on", "set print sevenbit-strings on", "set print frame-arguments none", "set print frame-arguments scalars", "set print nibbles on", "set print max-symbolic-offset 1", "set language pascal",
		"set disassembly-flavor att", "set follow-fork-mode child", "set max-value-size 10", "set backtrace past-main off", "set charset KOI8-R", "set args x", "set cwd /", "set case-sensitive off"} {
		p.wants(q, q+" changes nothing here")
	}
	p.fails("set radix 16", "set output-radix 16 is for what is printed")
	p.fails("set input-radix 8", "always decimal ones")
	p.fails("set output-radix 7", `8, 10 or 16: "7" is none`)
	p.fails("set nosuch 7", "no setting is called")
	p.wants("set backtrace limit 1", "")
	p.wants("bt", "more frames follow")
	p.wants("show backtrace limit", "1")
	p.wants("set backtrace limit unlimited", "")
	p.wants("bt", "#3 ")
}

// Integers are in the base of output-radix, whatever they are in; pointers, floating-point numbers, enumerators and strings are as ever.
func TestOutputRadix(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("frame function records", "")
	p.wants("set output-radix 16", "in base 16; bt does not")
	p.wants("show output-radix", "16")
	p.wants("p 255", "= 0xff\n")
	p.wants("p -1", "= 0xffffffff\n")
	p.wants("p/d 255", "= 255\n")
	p.wants("p 2.5", "= 2.5\n")
	p.wants("p 'a'", "= 0x61\n")
	p.wants("output 16", "0x10")
	p.wants("p here", "x = 0x")
	p.wants("p &here", "= (")
	p.wants(`p "abc"`, `"abc"`)
	p.wants("info locals", "= 0x")
	p.wants("with output-radix 8 -- p 8", "= 010\n")
	p.wants("p 8", "= 0x8\n")
	p.nothing("set output-radix 10")
	p.wants("p 255", "= 255\n")
	p.wants("p here", "x = ")
}

// Without addresses values have what they point to, and types.
func TestPrintAddress(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("frame function records", "")
	p.nothing("set print address off")
	p.wants("show print address", "off")
	addresses := regexp.MustCompile(`0x[0-9a-f]{6,}`)
	for _, q := range []string{"p &here", "p p", "p *&here", "info locals", "info args", "bt", "p records"} {
		got, err := p.types(q)
		if err != nil || got == "" {
			t.Errorf("%s: %v", q, err)
		}
		for line := range strings.Lines(got) {
			if addresses.MatchString(line) && !regexp.MustCompile(`^  #\d+ +0x`).MatchString(line) {
				t.Errorf("%s: %s", q, line)
			}
		}
	}
	p.wants("p/x 0x123456789", "0x123456789")
	p.wants(`p "0x123456789 \" 0x123456789"`, `"0x123456789 \" 0x123456789"`)
	p.wants("p &here", "= (")
	p.wants("with print address on -- p &here", "0x7ff")
	q := at(t, "amd64-vars-cxx-O0")
	q.wants("frame function owners", "")
	q.nothing("set print address off")
	q.wants("p base", "= (shop::Base *) \n")
}

// Every setting that gdb lists is known.
func TestAllSettings(t *testing.T) {
	fixture.Tools(t)
	path, err := exec.LookPath("gdb")
	if err != nil {
		t.Skip("gdb is not installed (Debian: gdb): nothing to compare with")
	}
	out, err := exec.Command(path, "-nx", "-q", "-batch", "-ex", "help set", "-ex", "help set print").Output()
	if err != nil {
		t.Fatal(err)
	}
	p := at(t, "amd64-vars-c-O0")
	n := 0
	for line := range strings.Lines(string(out)) {
		names, _, ok := strings.Cut(line, " -- ")
		if !ok || !strings.HasPrefix(line, "set ") {
			continue
		}
		for name := range strings.SplitSeq(names, ", ") {
			n++
			if name == "set print" || len(name) < len("set xyz") { // what others begin with, and abbreviations that may be variables
				continue
			}
			if _, err := p.types(name + " off"); err != nil && strings.Contains(err.Error(), "no setting is called") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n < 100 {
		t.Errorf("%d settings", n)
	}
}

// A long value does not make a line of several kB among others: print has all of it.
func TestLongValuesInLines(t *testing.T) {
	p := at(t, "amd64-vars-cxx-O0")
	p.wants("frame function containers", "")
	longest := func(q string) (n int) {
		got, err := p.types(q)
		if err != nil || got == "" {
			t.Errorf("%s: %v", q, err)
		}
		for line := range strings.Lines(got) {
			n = max(n, len(line))
		}
		return n
	}
	for _, q := range []string{"info locals", "bt full", "bt"} {
		if n := longest(q); n > 700 {
			t.Errorf("%s: a line of %d bytes", q, n)
		}
	}
	if n := longest("p line"); n < 800 {
		t.Errorf("p line: %d bytes", n)
	}
	p.wants("info locals", "…")
	p.wants("set print elements 1000", "") // somebody wants them
	for _, q := range []string{"info locals", "bt full"} {
		if n := longest(q); n < 800 {
			t.Errorf("%s with long values: %d bytes", q, n)
		}
	}
}
