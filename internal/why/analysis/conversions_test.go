package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestFormats: the conversions whose arguments are pointers, with their numbers and those of their arguments, and how many arguments there
// are. printf(3) and scanf(3) say what is right.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, want string
		scan       bool
	}{
		{"plain", "0", false},
		{"%s", "%s#1@0 1", false},
		{"%d %s", "%s#2@1 2", false},
		{"100%% %s", "%s#1@0 1", false},
		{"%-+ #0'I*.*s|%n", "%-+ #0'I*.*s#1@2 %n#2@3 4", false},
		{"%5.3s%.-1s%.s", "%5.3s#1@0 %.-1s#2@1 %.s#3@2 3", false},
		{"%m %s", "%s#2@0 1", false},
		{"%ls %S %hhn", "%ls#1@0 %S#2@1 %hhn#3@2 3", false},
		{"%2$s %1$*3$d", "%2$s#1@1 3", false},
		{"%3$s %1$d", "%3$s#1@2 1", false}, // what lies before the second is not known
		{"%1$s %s", "%1$s#1@0 1", false},   // no standard allows to mix them
		{"%d %2$s", "1", false},
		{"%1$d %1$s", "%1$s#2@0 1", false},
		{"%1$f %1$s", "1", false}, // two ways to pass it
		{"%y %s", "0", false},
		{"%w64d %w32u %s", "%s#3@2 3", false},
		{"%wf16d %s", "0", false},
		{"%hf %s", "0", false},
		{"%s %", "%s#1@0 1", false},
		{"%99999999999999999999s", "%99999999999999999999s#1@0 1", false},
		{"%99999999$s", "0", false},
		{"%0$s", "0", false},
		{"%d %*d %5s %[^]a%s] %n", "%d#1@0 %5s#3@1 %[^]a%s]#4@2 %n#5@3 4", true},
		{"%[]abc]%ms%*[x]%s", "%[]abc]#1@0 %ms#2@1 %s#4@2 3", true},
		{"%[abc", "0", true},
		{"%d %y %d", "%d#1@0 1", true},
		{"%2$d %1$s", "%2$d#1@1 %1$s#2@0 2", true},
	} {
		f := parseFormat(c.text, c.scan)
		var got []string
		for _, one := range f.conversions {
			if one.pointer {
				got = append(got, fmt.Sprintf("%s#%d@%d", one.text, one.number, one.argument))
			}
		}
		if got = append(got, fmt.Sprint(len(f.arguments))); strings.Join(got, " ") != c.want {
			t.Errorf("%q: %s, want %s", c.text, strings.Join(got, " "), c.want)
		}
	}
	if f := parseFormat(strings.Repeat("%s", 5000), false); len(f.conversions) > maxConversions {
		t.Errorf("%d conversions", len(f.conversions))
	}
	if f := parseFormat(strings.Repeat("%*.*%", 5000), false); len(f.arguments) > maxConversions {
		t.Errorf("%d arguments", len(f.arguments))
	}
}

// TestFormatFunctions: names of one function in glibc, musl and by compilers that check sizes, and names of others.
func TestFormatFunctions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target, name string
		same         bool
	}{
		{"printf", "__printf", true}, {"printf", "_IO_printf", true}, {"__snprintf_chk", "___snprintf_chk", true}, {"sprintf", "__GI_sprintf", true},
		{"printf", "vprintf", false}, {"printf", "", false}, {"printf", "__vfprintf_internal", false},
	} {
		if got := sameFormatFunction(c.target, unwind.Call{Name: c.name}); got != c.same {
			t.Errorf("%s is %q: %v", c.target, c.name, got)
		}
	}
	for name, want := range map[string]string{"__isoc99_sscanf": "sscanf", "__snprintf_chk": "snprintf", "printf": "printf", "vsyslog": "vsyslog", "puts": ""} {
		called, _, ok := formatFunctionOf(name)
		if ok != (want != "") || ok && called != want {
			t.Errorf("%s: %q", name, called)
		}
	}
}

// TestPlaces: where arguments are, by the System V ABI.
func TestPlaces(t *testing.T) {
	t.Parallel()
	amd64, _ := layoutOf(arch.AMD64)
	x86, _ := layoutOf(arch.X86)
	if _, ok := layoutOf(arch.ARM64); ok {
		t.Error("ARM64 is not known")
	}
	nine := strings.Repeat("%f", 9)
	for _, c := range []struct {
		l                        layout
		text                     string
		integers, floats, stack  int
		register, offset, number int // -1 for not known
	}{
		{amd64, "%s", 1, 0, 0, 1, 0, 0},
		{amd64, "%d%f%s", 1, 0, 0, 2, 0, 2},
		{amd64, "%f", 1, 0, 0, -1, -1, 0},
		{amd64, "%d%d%d%d%d%s", 1, 0, 0, -1, 0, 5},
		{amd64, "%d%d%d%d%d%d%s", 1, 0, 16, -1, 24, 6},
		{amd64, nine + "%s", 1, 0, 0, 1, 8, 9},
		{amd64, nine + "%d%d%d%d%d%s", 1, 0, 0, -1, 8, 14},
		{amd64, "%f%d%d%d%d%d%s", 1, 8, 0, -1, 8, 6},
		{amd64, "%Lf%d%d%d%d%d%s", 1, 0, 0, -1, 16, 6},
		{amd64, "%d%d%d%d%d%d%Lf%s", 1, 0, 0, -1, 32, 7},
		{amd64, "%lld%s", 1, 0, 0, 2, 0, 1},
		{x86, "%s", 0, 0, 4, -1, 4, 0},
		{x86, "%d%lld%f%Lf%s", 0, 0, 4, -1, 4 + 4 + 8 + 8 + 12, 4},
		{x86, "%lld", 0, 0, 4, -1, -1, 0},
		{amd64, "%s", 1, 0, 0, -1, -1, 1},
	} {
		p, ok := c.l.place(parseFormat(c.text, false).arguments, c.number, c.integers, c.floats, int64(c.stack))
		switch {
		case ok != (c.offset >= 0):
			t.Errorf("%s: known is %v", c.text, ok)
		case ok && (p.register != c.register || p.register < 0 && p.stack != int64(c.offset)):
			t.Errorf("%s: register %d, stack %d; want %d, %d", c.text, p.register, p.stack, c.register, c.offset)
		}
	}
}
