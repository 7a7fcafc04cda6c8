package lint

import (
	"bytes"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// mayAllocate lists the packages that allocate memory before main runs in corewalk, those of Go's library aside: how
// often at most. docs/decisions/start.md says what these cost. Ours make maps, regular expressions and tables at
// their first use (package lazy), or they are data; a package that is not listed must allocate nothing.
var mayAllocate = map[string]int{
	module + "/internal/files/find":                  3,
	module + "/unwind/arch":                          28, // the public tables of six MIPS and three PowerPC architectures
	"github.com/coreos/go-oidc/v3/oidc":              9,
	"github.com/dustin/go-humanize":                  125, // of modernc.org/libc
	"github.com/go-jose/go-jose/v4":                  2,
	"github.com/go-jose/go-jose/v4/json":             2,
	"github.com/google/go-dap":                       140, // 125 or 126: maps differ from run to run
	"github.com/ianlancetaylor/demangle":             110,
	"github.com/klauspost/compress/flate":            16,
	"github.com/klauspost/compress/internal/snapref": 3,
	"github.com/mattn/go-runewidth":                  50,
	"github.com/olekukonko/tablewriter":              220,
	"github.com/pierrec/lz4/v4":                      4,
	"github.com/spf13/pflag":                         1,
	"github.com/tus/tusd/v2/pkg/handler":             165,
	"github.com/ulikunitz/xz/lzma":                   2,
	"golang.org/x/arch/arm/armasm":                   5,
	"golang.org/x/arch/arm64/arm64asm":               10,
	"golang.org/x/arch/loong64/loong64asm":           7,
	"golang.org/x/arch/riscv64/riscv64asm":           5,
	"golang.org/x/exp/slog":                          3,  // of tusd
	"golang.org/x/sys/cpu":                           10, // of argon2
	"golang.org/x/sys/unix":                          1,
	"modernc.org/libc":                               28,
	"modernc.org/libc/sys/types":                     1,
	"modernc.org/libc/uuid/uuid":                     1,
	"modernc.org/mathutil":                           15,
	"modernc.org/sqlite":                             20,
}

// mayAllocateInAll is how often Go's library may allocate before main runs: its packages change with its version.
const mayAllocateInAll = 330

// mayLoad is how many bytes of the program, built as the Makefile does, may be mapped to run it: a report of a small core
// touches most of them, and they are most of its memory.
const mayLoad = 35_900_000

// TestStart: the start of corewalk costs as few allocations as the lists above say, whatever the machine's load.
func TestStart(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the numbers are those of linux/amd64")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "corewalk")
	if !fixture.IsLong(t) { // built as the tests are: all packages are compiled once more for what is installed
		fixture.Programs(t, dir, nil, "corewalk")
	} else {
		cmd := exec.Command("go", "build", "-trimpath", "-tags", "nethttpomithttp2", "-o", program, "../../cmd/corewalk")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if n := loaded(t, program); n > mayLoad {
			t.Errorf("%d bytes of corewalk are mapped to run it, at most %d are allowed: what is newly linked?", n, mayLoad)
		} else if n < mayLoad/2 {
			t.Errorf("only %d bytes of corewalk are mapped", n)
		}
	}
	cmd := exec.Command(program, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.String())
	}
	got, err := parseInitTrace(trace.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range startComplaints(got) {
		t.Error(complaint)
	}
}

// loaded returns how many bytes of a program's file are mapped when it starts.
func loaded(t *testing.T, program string) (n uint64) {
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD {
			n += p.Filesz
		}
	}
	return n
}

// parseInitTrace returns how often each package allocated, from lines such as
//
//	init unwind @1.5 ms, 0.025 ms clock, 4080 bytes, 28 allocs
func parseInitTrace(trace string) (map[string]int, error) {
	got := map[string]int{}
	for line := range strings.Lines(trace) {
		var pkg string
		var at, took float64
		var size, n int
		if _, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &pkg, &at, &took, &size, &n); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		got[pkg] = n
	}
	if len(got) < 50 {
		return nil, fmt.Errorf("only %d packages in the trace", len(got))
	}
	return got, nil
}

func startComplaints(got map[string]int) (list []string) {
	library := 0
	for _, pkg := range slices.Sorted(maps.Keys(got)) {
		first, _, _ := strings.Cut(pkg, "/")
		if !strings.Contains(first, ".") { // vendor/golang.org/x is Go's, too
			library += got[pkg]
			continue
		}
		if n, most := got[pkg], mayAllocate[pkg]; n > most {
			list = append(list, fmt.Sprintf("%s allocates %d times before main runs, at most %d times are allowed (GODEBUG=inittrace=1): make it data, or lazy.Value", pkg, n, most))
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(mayAllocate)) {
		if got[pkg] == 0 {
			list = append(list, pkg+" does not allocate any more before main runs: take it off the list")
		}
	}
	if library > mayAllocateInAll {
		list = append(list, fmt.Sprintf("Go's library allocates %d times before main runs, at most %d times are allowed: which of its packages is new?", library, mayAllocateInAll))
	}
	for _, pkg := range []string{"runtime/metrics", "encoding/gob", "github.com/google/jsonschema-go/jsonschema",
		"github.com/jackc/pgx/v5", "github.com/riverqueue/river", "github.com/minio/minio-go/v7",
		"golang.org/x/arch/ppc64/ppc64asm", "golang.org/x/arch/s390x/s390xasm"} {
		if _, linked := got[pkg]; linked {
			list = append(list, pkg+" is linked with corewalk: each start pays for it")
		}
	}
	return list
}

// What would make the start slower is told.
func TestStartComplaints(t *testing.T) {
	all := map[string]int{"os": 9}
	maps.Copy(all, mayAllocate)
	if list := startComplaints(all); len(list) > 0 {
		t.Fatal(list)
	}
	for _, tt := range []struct {
		pkg  string
		n    int
		want string
	}{
		{module + "/unwind", 1, "/unwind allocates 1 times"},
		{"github.com/spf13/pflag", 2, "pflag allocates 2 times before main runs, at most 1 times"},
		{"example.com/new", 1, "new allocates"},
		{"github.com/spf13/pflag", 0, "pflag does not allocate any more"},
		{"os", mayAllocateInAll + 1, "library allocates"},
		{"encoding/gob", 0, "encoding/gob is linked"},
	} {
		got := maps.Clone(all)
		got[tt.pkg] = tt.n
		if list := startComplaints(got); len(list) != 1 || !strings.Contains(list[0], tt.want) {
			t.Errorf("%s %d: %q", tt.pkg, tt.n, list)
		}
	}
	for _, trace := range []string{"", "init os @1 ms, 2 ms clock, 3 bytes\n"} {
		if _, err := parseInitTrace(trace); err == nil {
			t.Errorf("no error for %q", trace)
		}
	}
}
