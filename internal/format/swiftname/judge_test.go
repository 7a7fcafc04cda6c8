package swiftname

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// judged calls f with each name of a file and what swift-demangle -simplified says of it.
func judged(t testing.TB, path string, f func(mangled, want string)) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		mangled, want, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			t.Fatalf("line without a tab: %q", lines.Text())
		}
		f(mangled, want)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestMany compares the names of a file, whose lines have a name, a tab and what swift-demangle -simplified says of it.
func TestMany(t *testing.T) {
	path := os.Getenv("COREWALK_SWIFT_NAMES")
	if path == "" {
		t.Skip("COREWALK_SWIFT_NAMES names no file")
	}
	same, other, refused, shown := 0, 0, 0, 0
	judged(t, path, func(mangled, want string) {
		got, ok := Name(mangled, Options{})
		switch {
		case !ok && want == mangled, got == want:
			same++
			return
		case !ok:
			refused++
		default:
			other++
		}
		if strings.Contains(want, ")partial apply") || strings.HasSuffix(want, "specialized ") {
			return
		}
		if shown++; !ok || shown%17 == 1 || shown < 10 {
			t.Logf("%s\n got %s\nwant %s", mangled, got, want)
		}
	})
	t.Logf("%d same, %d other, %d not understood", same, other, refused)
}
