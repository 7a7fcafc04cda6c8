package lint

import (
	"go/build"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// printing matches code that writes to standard output or standard error, or ends the process.
var printing = regexp.MustCompile(`\b(fmt\.Print(ln|f)?\(|os\.Stdout|os\.Stderr|log\.[A-Z]|os\.Exit\()`)

// panicking matches a deliberate panic.
var panicking = regexp.MustCompile(`(^|[^.\w])panic\(`)

func TestOnlyTheCommandPrints(t *testing.T) {
	eachLine(t, func(s source, n int, line string) {
		if s.room == "crashself" { // its watcher is a process of its own
			line = strings.ReplaceAll(line, "os.Exit(", "")
		}
		if s.room != "internal/command" && printing.MatchString(line) {
			t.Errorf("%s:%d: only internal/command prints or exits: %s", s.file, n, strings.TrimSpace(line))
		}
	})
}

func TestNobodyPanics(t *testing.T) {
	// Guard raises panics that are not its own again.
	allowed := []string{filepath.Join("internal", "files", "mmapfile", "guard.go")}
	eachLine(t, func(s source, n int, line string) {
		if strings.Contains(line, "panic") && panicking.MatchString(line) && !slices.Contains(allowed, s.file) {
			t.Errorf("%s:%d: panics: %s", s.file, n, strings.TrimSpace(line))
		}
	})
}

// TestTestsAreBuilt: a name that ends in an architecture, such as x_arm64_test.go, keeps a
// test from every machine but those. A line that begins with go:build says what is meant for
// some machines only.
func TestTestsAreBuilt(t *testing.T) {
	here := build.Default
	here.GOOS, here.GOARCH = "linux", "amd64"
	for _, s := range sources(t) {
		path := filepath.Join("..", "..", s.file)
		built, err := here.MatchFile(filepath.Dir(path), filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		if s.test && !built && !strings.Contains(s.text, "//go:build ") {
			t.Errorf("%s: its name says that it is for another architecture or system: no test runs it", s.file)
		}
	}
}

// eachLine calls f for each line of all sources except tests, without comments.
func eachLine(t *testing.T, f func(source, int, string)) {
	for _, s := range sources(t) {
		if s.test || slices.Contains(testRooms, s.room) {
			continue
		}
		for i, line := range strings.Split(s.text, "\n") {
			code, _, _ := strings.Cut(line, "//")
			f(s, i+1, code)
		}
	}
}

// missing matches a test that is skipped because a program or library is missing.
var missing = regexp.MustCompile(`\.Skipf?\(.*is not installed`)

func TestSkipsSayWhatToInstall(t *testing.T) {
	n := 0
	for _, s := range sources(t) {
		for i, line := range strings.Split(s.text, "\n") {
			if !strings.Contains(line, "Skip") || !missing.MatchString(line) {
				continue
			}
			if n++; !strings.Contains(line, "Debian") {
				t.Errorf("%s:%d: which package of Debian has it? %s", s.file, i+1, strings.TrimSpace(line))
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d such tests found", n)
	}
}
