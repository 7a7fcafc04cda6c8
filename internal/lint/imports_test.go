// Package lint tests the laws of docs/architecture.md: which room (package) may import which, which may use which
// outside package, which may print.
package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/corewalk/corewalk"

// floors orders the rooms. An import must go to a lower floor, or be listed in sideways. docs/architecture.md
// draws the floors.
var floors = map[string]int{
	"cmd/corewalk":                       9,
	"cmd/corewalkd":                      9,
	"internal/command":                   8,
	"internal/command/fleet":             8,
	"internal/command/serving":           7,
	"debuginfod":                         7,
	"internal/triage":                    7,
	"internal/service":                   7,
	"internal/service/work":              7,
	"internal/service/notify":            6,
	"internal/service/fleet":             7,
	"internal/service/store/sqlite":      6,
	"internal/service/store/postgres":    6,
	"internal/service/store/tables":      5,
	"internal/service/store":             -2,
	"internal/service/objects":           -2,
	"internal/service/objects/s3":        -1,
	"internal/service/backup":            -1,
	"internal/service/receive":           -2,
	"internal/service/signin":            -2,
	"internal/service/question":          -2,
	"internal/live/corecheck":            7,
	"session":                            7,
	"internal/faces/shell":               7,
	"internal/faces/dap":                 7,
	"internal/faces/mcp":                 7,
	"internal/faces/ask":                 7,
	"internal/faces":                     7,
	"crashself":                          7,
	"":                                   6, // the facade
	"internal/why/analysis":              5,
	"internal/why/subject":               5,
	"internal/why/reason":                4,
	"internal/triage/signature":          4,
	"internal/triage/ledger":             4,
	"internal/triage/ledger/sqlite":      6,
	"internal/triage/ledger/postgres":    6,
	"internal/triage/ledger/tables":      5,
	"internal/triage/render":             5,
	"internal/live/livecore":             4,
	"internal/carry/slim":                4,
	"internal/carry/convert":             4,
	"internal/carry/pack":                4,
	"internal/carry/capture":             5,
	"internal/carry/handle":              6,
	"internal/heap/glibc":                3,
	"internal/heap/gtcmalloc":            3,
	"internal/heap/jemalloc":             3,
	"internal/heap/mallocng":             3,
	"internal/heap/asan":                 3,
	"internal/heap/mimalloc":             3,
	"internal/heap/oldmalloc":            3,
	"internal/heap/scudo":                3,
	"internal/heap/tcmalloc":             3,
	"internal/heap":                      2,
	"internal/heap/export":               1,
	"internal/htmlpage":                  0,
	"internal/reportpage":                5,
	"internal/heap/graph":                0,
	"internal/heap/typing":               3,
	"internal/why/message":               4,
	"internal/why/process":               4,
	"corestate":                          3,
	"livestate":                          3,
	"steppers":                           3,
	"dwarfvars":                          3,
	"symlookup":                          3,
	"report":                             2,
	"tasks":                              3,
	"internal/runtimes/ada":              4,
	"internal/runtimes/beam":             4,
	"internal/runtimes/coro":             4,
	"internal/runtimes/ghc":              4,
	"internal/runtimes/golang":           4,
	"internal/runtimes/lua":              4,
	"internal/runtimes/mono":             3,
	"internal/runtimes/native":           4,
	"internal/runtimes/python":           4,
	"internal/runtimes/perl":             4,
	"internal/runtimes/php":              4,
	"internal/runtimes/ruby":             4,
	"internal/runtimes/jitcode":          3,
	"internal/runtimes/starts":           3,
	"internal/runtimes/layouts":          -2,
	"internal/runtimes/hotspot":          4,
	"internal/runtimes/v8":               4,
	"internal/runtimes/remote":           -1,
	"internal/procmem":                   -1,
	"internal/live/sample":               3,
	"unwind":                             2,
	"modules":                            2,
	"internal/code/relocated":            2,
	"internal/vars/types":                2,
	"internal/vars/values":               2,
	"internal/vars/where":                2,
	"internal/vars/paths":                0,
	"internal/files/jitmaps":             3,
	"internal/files/libraries":           2,
	"libstate":                           1,
	"internal/vars/unknown":              0,
	"internal/files/image":               0,
	"internal/sandbox":                   0,
	"internal/format/archive":            0,
	"internal/code/dyninst":              0,
	"internal/code/provenance":           0,
	"internal/files/find":                0,
	"internal/files/debuginfod":          3,
	"internal/files/debuginfod/settings": 0,
	"internal/files/broker":              3,
	"internal/live/corewrite":            0,

	"internal/format/slimnote":  -1,
	"internal/files/kept":       -1,
	"internal/files/rootfs":     -1,
	"internal/format/dwarf":     -1,
	"internal/format/dwarf/cfi": -1,
	"internal/format/dwarf/op":  -1,
	"internal/format/elffile":   -1,
	"internal/format/exidx":     -1,
	"internal/format/ecma335":   -1,
	"internal/format/jitmap":    -1,
	"internal/format/gopclntab": -1,
	"internal/code/disasm":      -1,

	"internal/format/minidump/dumpwrite": -2,

	"internal/code/stackflow":     -1,
	"internal/format/decompress":  -1,
	"internal/format/minidump":    -1,
	"internal/format/breakpad":    -1,
	"internal/format/pdb":         -1,
	"internal/format/winunwind":   -1,
	"internal/format/pefile":      -1,
	"demangle":                    -1,
	"docs/schema":                 -2,
	"unwind/arch":                 -2,
	"internal/format/binbuf":      -2,
	"internal/format/spans":       -2,
	"internal/format/codeview":    -2,
	"internal/format/swiftname":   -2,
	"internal/format/wincodes":    -2,
	"internal/files/mmapfile":     -2,
	"internal/files/scratch":      -2,
	"internal/files/owned":        -2,
	"internal/files/dirlock":      -2,
	"internal/files/reach":        -2,
	"internal/format/pprof":       -2,
	"internal/format/unwindrules": -2,
	"internal/format/ziplist":     -2,
	"internal/triage/similar":     -2,
	"internal/code/disasm/words":  -2,
	"internal/recovered":          -3,
	"internal/lazy":               -3,
	"internal/holes":              -3,
	"internal/budget":             -2,
	"internal/sqlite":             -2,
	"internal/postgres":           -2,
	"internal/sqldb":              -3,
}

// testRooms may be imported by tests only.
var testRooms = []string{"internal/fixture", "internal/fixture/servers", "internal/fixture/browser", "internal/fixture/slimmed", "internal/heap/heaptest", "internal/triage/ledger/ledgertest", "internal/service/store/storetest", "internal/lint", "internal/systemtest", "internal/corebuild", "internal/stranger", "internal/format/dwarf/cfi/cfitest",
	"internal/format/minidump/dumpbuild", "internal/format/decompress/cabtest", "internal/format/elffile/elftest",
	"internal/fuzzing", "internal/mutants", "internal/mutants/mut", "internal/release", "internal/release/linuxpackages", "internal/testsof", "internal/torture", "internal/benchpeers", "internal/runtimes/golang/layouts", "internal/runtimes/remote/remotetest", "internal/runtimes/remote/remotetest/replayed", "internal/runtimes/remote/remotetest/judged", "internal/code/disasm/words/make", "internal/format/wincodes/make"}

// sideways are the imports allowed within a floor.
var sideways = map[string][]string{
	"internal/files/image":      {"internal/files/find"},
	"internal/files/rootfs":     {"internal/format/decompress", "internal/files/kept"},
	"internal/format/dwarf/cfi": {"internal/format/dwarf/op"},
	"internal/code/stackflow":   {"internal/code/disasm"},
	"internal/format/winunwind": {"internal/code/disasm"},
	"internal/code/relocated":   {"modules"},
	"modules":                   {"unwind"}, // its errors
	"internal/faces/shell":      {"session"},
	"internal/faces":            {"session"},
	"internal/faces/dap":        {"session", "internal/faces", "internal/faces/shell"},
	"internal/faces/mcp":        {"session", "internal/faces"},
	"internal/faces/ask":        {"session"},
	"internal/command/serving":  {"internal/service", "internal/triage"},
	"internal/service":          {"internal/service/work", "internal/triage"},
	"internal/service/work":     {"internal/triage"},
	"internal/service/fleet":    {"internal/service/work"},
	"internal/vars/values":      {"internal/vars/types"},
	"internal/vars/where":       {"internal/vars/types", "unwind"},
	"internal/files/libraries":  {"modules"},
	"livestate":                 {"corestate"}, // decodes what cores and ptrace have in common
	"internal/live/sample":      {"report"},    // tables
	"internal/runtimes/jitcode": {"tasks"},
}

// forbidden are imports that a room must not have, although they go to a lower floor.
var forbidden = map[string][]string{
	"unwind":   {"internal/"},
	"libstate": {"internal/", "net/"},
	"report":   {module},
}

// outside lists the rooms that may use each outside package.
var outside = map[string][]string{
	"github.com/peterh/liner":                {"internal/command"},
	"github.com/google/go-dap":               {"internal/faces/dap"},
	"github.com/modelcontextprotocol/go-sdk": {}, // the client of tests
	"golang.org/x/sys":                       {"internal/files/mmapfile", "internal/files/scratch", "internal/files/dirlock", "internal/sandbox", "livestate", "internal/command", "internal/carry/handle", "internal/triage", "crashself"},
	"golang.org/x/arch":                      {"internal/code/disasm", "internal/code/disasm/words/make", "internal/format/wincodes/make"},
	"github.com/ianlancetaylor/demangle":     {"demangle"},
	"github.com/spf13/pflag":                 {"internal/command"},
	"github.com/klauspost/compress":          {"internal/format/decompress"},
	"github.com/pierrec/lz4":                 {"internal/format/decompress"},
	"github.com/ulikunitz/xz":                {"internal/format/decompress"},
	"compress/":                              {"internal/format/decompress", "internal/format/wincodes", "internal/heap/export", "internal/live/sample", "internal/service/receive"},
	"net/http":                               {"internal/files/debuginfod", "internal/files/reach", "internal/service", "internal/service/notify", "internal/service/signin"},
	"github.com/coreos/go-oidc":              {"internal/service/signin"},
	"golang.org/x/oauth2":                    {"internal/service/signin"},
	"golang.org/x/crypto":                    {"internal/service/signin"},
	"golang.org/x/term":                      {"internal/command"},
	"github.com/tus/tusd":                    {"internal/service"},
	"golang.org/x/exp":                       {"internal/service"}, // tusd logs with it
	"golang.org/x/time":                      {"internal/service"},
	"github.com/olekukonko/tablewriter":      {"report"},
	"github.com/mattn/go-runewidth":          {"report"},
	"modernc.org/sqlite":                     {"internal/sqlite"},
	"github.com/jackc/pgx":                   {"internal/postgres", "internal/triage/ledger/postgres", "internal/service/store/postgres", "internal/service/fleet", "internal/command/fleet"},
	"github.com/riverqueue/river":            {"internal/service/fleet"},
	"github.com/minio/minio-go":              {"internal/service/objects/s3"},

	"github.com/rogpeppe/go-internal": {},
	"github.com/google/go-cmp":        {},
}

// only lists the rooms that may import a room whose packages few programs need: corewalkd's PostgreSQL, queue and S3 are not in corewalk, and the HTTP
// client and SQLite are not in programs that use the library, unless they import debuginfod (TestLibraryLinks).
var only = map[string][]string{
	"internal/files/debuginfod":       {"internal/command", "debuginfod"},
	"internal/sqlite":                 {"internal/triage/ledger/sqlite", "internal/service/store/sqlite"},
	"internal/postgres":               {"internal/triage/ledger/postgres", "internal/service/store/postgres"},
	"internal/triage/ledger/sqlite":   {"internal/command", "internal/command/serving"},
	"internal/triage/ledger/postgres": {"internal/service/fleet", "internal/command/fleet"},
	"internal/service":                {"internal/command/serving", "internal/command/fleet"},
	"internal/service/signin":         {"internal/service", "internal/command/serving"},
	"internal/service/backup":         {"internal/service/fleet", "internal/command/serving", "internal/command/fleet"},
	"internal/service/fleet":          {"internal/command/fleet"},
	"internal/service/store/sqlite":   {"internal/command/serving"},
	"internal/service/store/postgres": {"internal/service/fleet"},
	"internal/service/objects/s3":     {"internal/command/fleet"},
	"internal/command/serving":        {"internal/command", "internal/command/fleet"},
	"internal/command/fleet":          {"cmd/corewalkd"},
}

type source struct {
	room, file string
	test       bool
	imports    []string
	text       string
	parsed     *ast.File // its places are of sourceSet
}

// sourceSet has the places of all sources.
var sourceSet = token.NewFileSet()

// allSources are what sources returns: a dozen laws ask for them.
var allSources = sync.OnceValues(readSources)

// sources returns the source files of the module. The caller must not change the list.
func sources(t *testing.T) []source {
	t.Helper()
	out, err := allSources()
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("only %d source files found", len(out))
	}
	return out
}

func readSources() ([]source, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	var out []source
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(sourceSet, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		s := source{room: filepath.ToSlash(filepath.Dir(rel)), file: rel, test: strings.HasSuffix(path, "_test.go"), text: string(text), parsed: f}
		if s.room == "." {
			s.room = ""
		}
		for _, i := range f.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			s.imports = append(s.imports, p)
		}
		out = append(out, s)
		return nil
	})
	return out, err
}

func TestImportsGoDownward(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || slices.Contains(testRooms, s.room) {
			continue
		}
		floor, known := floors[s.room]
		if !known {
			t.Errorf("%s: room %q has no floor: add it to floors", s.file, s.room)
			continue
		}
		for _, imp := range s.imports {
			for _, bad := range forbidden[s.room] {
				if strings.HasPrefix(strings.TrimPrefix(imp, module+"/"), bad) || strings.HasPrefix(imp, bad) {
					t.Errorf("%s imports %s, which room %s must not import", s.file, imp, s.room)
				}
			}
			target, ours := strings.CutPrefix(imp, module)
			if !ours {
				continue
			}
			target = strings.TrimPrefix(target, "/")
			if slices.Contains(testRooms, target) {
				t.Errorf("%s imports %s, which is for tests only", s.file, imp)
				continue
			}
			if rooms, few := only[target]; few && !slices.Contains(rooms, s.room) {
				t.Errorf("%s imports %s, which only %v may import", s.file, imp, rooms)
			}
			to, known := floors[target]
			switch {
			case !known:
				t.Errorf("%s imports %s, which has no floor: add it to floors", s.file, imp)
			case to < floor, slices.Contains(sideways[s.room], target):
			default:
				t.Errorf("%s (floor %d) imports %s (floor %d)", s.file, floor, imp, to)
			}
		}
	}
}

func TestOutsidePackagesHaveOneRoom(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || slices.Contains(testRooms, s.room) {
			continue
		}
		for _, imp := range s.imports {
			for pkg, rooms := range outside {
				if strings.HasPrefix(imp, pkg) && !slices.Contains(rooms, s.room) {
					t.Errorf("%s imports %s, which only %v may import", s.file, imp, rooms)
				}
			}
			first, _, _ := strings.Cut(imp, "/")
			if strings.Contains(first, ".") && !strings.HasPrefix(imp, module) && !listed(imp) {
				t.Errorf("%s imports %s, which no room may import: add it to outside", s.file, imp)
			}
		}
	}
}

func listed(imp string) bool {
	for pkg := range outside {
		if strings.HasPrefix(imp, pkg) {
			return true
		}
	}
	return false
}

// TestRuntimesAreListedOnce: whoever adds a runtime adds its room, and a line to the table of the root. No other file of the tool knows it.
func TestRuntimesAreListedOnce(t *testing.T) {
	const rooms, table = "internal/runtimes/", "runtimes.go"
	listed := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || slices.Contains(testRooms, s.room) || strings.HasPrefix(s.room, rooms) {
			continue
		}
		for _, imp := range s.imports {
			room, ours := strings.CutPrefix(imp, module+"/"+rooms)
			switch {
			case !ours || room == "layouts": // it reads tables, and knows no runtime
			case s.room == "" && filepath.Base(s.file) == table:
				listed[room] = true
			default:
				t.Errorf("%s imports %s: %s lists the runtimes", s.file, imp, table)
			}
		}
	}
	if len(listed) < 5 {
		t.Errorf("%s lists %v", table, listed)
	}
}
