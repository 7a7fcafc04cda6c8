package command

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/files/broker"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/files/scratch"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/sandbox"
)

// The values of --sandbox.
const (
	sandboxOn   = "on"   // or fail
	sandboxAuto = "auto" // as far as the system can
	sandboxOff  = "off"
	// sandboxInside is for this program itself: it is the process in the sandbox.
	sandboxInside = "inside"
)

// sandboxWhen is the value of --sandbox. A process in the sandbox stays there: the user's own
// --sandbox follows on its command line.
type sandboxWhen string

func (w *sandboxWhen) String() string { return string(*w) }

// Set implements pflag.Value.
func (w *sandboxWhen) Set(v string) error {
	if *w != sandboxInside {
		*w = sandboxWhen(v)
	}
	return nil
}

// Type implements pflag.Value.
func (w *sandboxWhen) Type() string { return "WHEN" }

// sandboxFlags say whether dumps are analysed in a process that can read only what the flags
// name, and has no network.
type sandboxFlags struct {
	when sandboxWhen
	off  bool // --no-sandbox
	asks bool // the process in the sandbox reads standard input
}

func (f *sandboxFlags) register(fs *pflag.FlagSet, otherwise sandboxWhen) {
	if runtime.GOOS != "linux" {
		otherwise = sandboxOff
	}
	f.when = otherwise
	fs.Var(&f.when, "sandbox", "analyse in a process without network that can read only the dump, what flags name, and /usr and the like (Linux): `WHEN` is on, off or auto (where the system can)")
	fs.Lookup("sandbox").NoOptDefVal = sandboxOn
	choose(fs, "sandbox", sandboxOn, sandboxOff, sandboxAuto)
}

// check checks what the flag parser cannot.
func (f *sandboxFlags) check() error {
	if f.off {
		f.when.Set(sandboxOff)
	}
	if !slices.Contains([]sandboxWhen{"", sandboxOn, sandboxOff, sandboxAuto, sandboxInside}, f.when) {
		return fmt.Errorf("--sandbox=%s: must be on, off or auto", f.when)
	}
	return nil
}

// wanted reports whether this process is to start another in a sandbox. It says what the
// sandbox lacks, which is an error if one is required.
func (f *sandboxFlags) wanted(e env) (bool, error) {
	if f.when != sandboxOn && f.when != sandboxAuto {
		return false, nil
	}
	lacks := strings.Join(sandbox.Missing(), "; ")
	switch {
	case lacks == "":
	case f.when == sandboxOn:
		return false, fmt.Errorf("--sandbox: this system lacks %s; without --sandbox the dump is analysed unprotected", lacks)
	default:
		e.say("the sandbox of the analysis is incomplete: this system lacks %s (--sandbox=off silences this)", lacks)
	}
	return true, nil
}

// The files on which a sandboxed process asks for files and gets answers.
const answersFD, requestsFD = 3, 4

// asksForSandbox reports whether the flags of a command that has none ask for a sandbox.
func asksForSandbox(args []string) bool {
	for _, a := range args {
		switch {
		case a == "--":
			return false
		case a == "--sandbox", strings.HasPrefix(a, "--sandbox="):
			return true
		}
	}
	return false
}

// sandboxed is where each command that opens a dump begins: it returns the status of the
// sandboxed process if there is to be one. In that process itself it closes the sandbox and
// returns done false, and the environment to go on with.
func (f *fileFlags) sandboxed(e env, command, args, files []string) (in env, status int, done bool) {
	if f.sandbox.when == sandboxInside {
		e.catchInterrupts() // not possible later
		ctx, cancel := context.WithCancel(e.ctx)
		gone := func() { // nobody waits for the report
			scratch.RemoveAll()
			os.Exit(exitNothing)
		}
		f.fetch.via = broker.Connect(os.NewFile(answersFD, "answers"), os.NewFile(requestsFD, "requests"), cancel, gone)
		if err := errors.Join(sandbox.LimitMemory(hardMemory(cmp.Or(f.memoryLimit, defaultMemory))), sandbox.Enter()); err != nil {
			return e, e.fail(err), true
		}
		e.ctx = ctx
		return e, 0, false
	}
	wanted, err := f.sandbox.wanted(e)
	if err != nil {
		return e, e.fail(err), true
	}
	if !wanted {
		if e.catch != nil && f.memoryLimit != 0 { // not in tests, which go on
			// The process watches itself; this is for what grows faster than it looks.
			_ = sandbox.LimitMemory(hardMemory(f.memoryLimit))
		}
		return e, 0, false
	}
	e.catchInterrupts()
	status, err = f.confine(e, slices.Concat(command, []string{"--sandbox=" + sandboxInside}, args), files)
	if err != nil {
		return e, e.fail(fmt.Errorf("--sandbox: %w", err)), true
	}
	return e, status, true
}

// confine runs this program with other arguments in a sandbox, and fetches for it.
func (f *fileFlags) confine(e env, args, files []string) (status int, err error) {
	exe, err := os.Executable()
	if err != nil {
		return 0, err
	}
	c, err := f.confinement(files)
	if err != nil {
		return 0, err
	}
	defer c.close()
	f.fetch.begin(e)
	answers, answer, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	ask, requests, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = os.Environ()
	if f.sandbox.asks || slices.Contains(files, "-") {
		cmd.Stdin = e.stdin
	}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = e.stdout, e.stderr, []*os.File{answers, requests}
	err = c.Start(cmd, nil)
	answers.Close()
	requests.Close()
	if err != nil {
		return 0, err
	}
	defer answer.Close()
	go c.server.Relay(e.ctx, ask, answer)
	if err = cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return 0, err
	}
	if !cmd.ProcessState.Exited() {
		return 0, fmt.Errorf("the analysis was ended: %v", cmd.ProcessState)
	}
	return cmd.ProcessState.ExitCode(), nil
}

// A confinement is the sandbox of analysis processes. It is a triage.Confinement.
type confinement struct {
	policy sandbox.Policy
	temp   *scratch.Dir // for unpacked files
	server *broker.Server
	kept   map[string]bool // files that were not read because of the sandbox
}

// makeTemp makes the directory for the temporary files of analysis processes, of which some are killed.
func makeTemp() (*scratch.Dir, error) { return scratch.Make("", "corewalk-analysis-*") }

// confinement returns the sandbox in which the files and directories that the user names can
// be analysed.
func (f *fileFlags) confinement(files []string) (*confinement, error) {
	temp, err := makeTemp()
	if err != nil {
		return nil, err
	}
	c := &confinement{temp: temp, server: new(broker.Server)}
	c.server.Files, c.server.Symbols = f.fetch.fetchers()
	p := &c.policy
	p.Write = []string{temp.Path}
	p.Read = slices.Concat(find.PackagePaths(), find.LoaderFiles(), []string{find.DefaultDebugDir, "/etc/localtime"}, f.sysroots, f.debugDirs, f.search)
	for _, m := range f.sourceMaps {
		_, to, _ := strings.Cut(m, "=")
		p.Read = append(p.Read, to)
	}
	if dir, ok := f.keep.dir(); ok { // what is kept of other files than packages' says what is in them
		if dir, err := kept.Packages(dir); err == nil {
			p.Read = append(p.Read, dir)
		}
	}
	symbols := find.ParseSymbolPath(f.fetch.symbols.path)
	p.Read = append(p.Read, symbols.Dirs...)
	// Directories of caches must exist, or nothing that appears in them could be read.
	if f.fetch.client != nil {
		p.Read = append(p.Read, made(f.fetch.config(false).CacheDir, 0o700))
	}
	for _, s := range symbols.Servers {
		if s.Cache.Dir == "" {
			s.Cache, _ = find.DefaultSymbolCache()
		}
		p.Read = append(p.Read, made(s.Cache.Dir, 0o777))
	}
	if len(symbols.Dirs)+len(symbols.Servers)+len(f.search) > 0 { // compressed files of stores are expanded
		if symbols.Cache.Dir == "" {
			symbols.Cache, _ = find.DefaultSymbolCache()
		}
		p.Write = append(p.Write, made(symbols.Cache.Dir, 0o777))
	}
	var dirs []string
	for _, path := range files {
		if st, err := os.Stat(path); err == nil && !st.IsDir() {
			dirs = append(dirs, filepath.Dir(path))
		}
		p.Read = append(p.Read, path)
	}
	slices.Sort(dirs)
	p.Files = beside(slices.Compact(dirs))
	return c, nil
}

// made makes a directory and returns its path.
func made(dir string, perm fs.FileMode) string {
	_ = os.MkdirAll(dir, perm) // what needs it reports the error
	return dir
}

// close removes the temporary files.
func (c *confinement) close() {
	_ = c.temp.Remove() // what it leaves, the next run removes
}

// maxKept is how many of those files are counted.
const maxKept = 1000

// denied records that a file which a dump names was not read because of the sandbox.
func (c *confinement) denied(path string) {
	if c.kept == nil {
		c.kept = map[string]bool{}
	}
	if len(c.kept) < maxKept {
		c.kept[path] = true
	}
}

// sayDenied says what to do about such files.
func (c *confinement) sayDenied(e env) {
	paths := slices.Sorted(maps.Keys(c.kept))
	if len(paths) == 0 {
		return
	}
	more := ""
	if n := len(paths) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	e.say("the sandbox lets nothing be read outside of /usr and what you name: not %.200q%s; name directories of programs with --search, or use --no-sandbox", paths[0], more)
}

// Start implements triage.Confinement.
func (c *confinement) Start(cmd *exec.Cmd, also []string) error {
	cmd.Env = append(slices.DeleteFunc(cmd.Env, func(v string) bool { return !isNeeded(v) }), "TMPDIR="+c.temp.Path)
	p := c.policy
	p.Read = slices.Concat(p.Read, also)
	return sandbox.Start(cmd, p)
}

// Reaches implements triage.Confinement: links lead to other directories than those that the
// user names.
func (*confinement) Reaches(path string) bool {
	st, err := os.Lstat(path)
	return err != nil || st.Mode()&fs.ModeSymlink == 0
}

// neededVariables are those of the environment that an analysis uses, or their beginnings.
// Others may have secrets.
var neededVariables = []string{"HOME=", "XDG_CACHE_HOME=", "DEBUGINFOD_", "COREWALK_", "_NT_SYMBOL_PATH=", "TERM=", "NO_COLOR=", "COLUMNS=",
	"LANG=", "LC_", "TZ=", "PWD=", "GOGC=", "GOMEMLIMIT=", "GOMAXPROCS=", "GODEBUG=", "GOTRACEBACK=", "GOCOVERDIR=", "LD_LIBRARY_PATH="}

func isNeeded(variable string) bool {
	return slices.ContainsFunc(neededVariables, func(name string) bool { return strings.HasPrefix(variable, name) })
}

// maxBeside limits how many files beside the dumps can be read.
const maxBeside = 4096

// beside opens the binaries, symbol files and maps of generated code in directories, and in their .debug directories: those of a process are often beside its dump. Dumps and
// files of other kinds are left out, and so is what links lead to outside of the directory: whoever sent a dump in an archive may have put them there.
func beside(dirs []string) iter.Seq[*os.File] {
	return func(yield func(*os.File) bool) {
		n := 0
		for _, dir := range dirs {
			if !besideIn(dir, &n, yield) {
				return
			}
		}
	}
}

// besideIn is beside for one directory; n counts the files. It returns false when no more are wanted.
func besideIn(dir string, n *int, yield func(*os.File) bool) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return true
	}
	defer root.Close()
	for _, sub := range []string{".", ".debug"} {
		list, err := root.Open(sub)
		if err != nil {
			continue
		}
		names, _ := list.Readdirnames(-1)
		list.Close()
		slices.Sort(names)
		for _, name := range names {
			if *n == maxBeside {
				return false
			}
			name = filepath.Join(sub, name)
			if st, err := root.Stat(name); err != nil || !st.Mode().IsRegular() {
				continue // opening a pipe would wait for a writer
			}
			f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				continue
			}
			*n++
			more := !isBinary(f) && !isJITMap(name) || yield(f)
			f.Close()
			if !more {
				return false
			}
		}
	}
	return true
}

// isJITMap reports whether a file is called like those in which compilers describe the code that they make at run time.
func isJITMap(name string) bool {
	for _, pattern := range []string{"perf-*.map", "jit-*.dump"} {
		if ok, _ := filepath.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// isBinary reports whether a file is a program, a library, or a file with their symbols.
func isBinary(f *os.File) bool {
	head := make([]byte, 20)
	n, _ := f.ReadAt(head, 0)
	switch s := string(head[:n]); {
	case n == len(head) && strings.HasPrefix(s, "\x7fELF"):
		kind := binary.LittleEndian.Uint16(head[16:])
		if head[5] == 2 {
			kind = binary.BigEndian.Uint16(head[16:])
		}
		return kind != elffile.ET_CORE
	case strings.HasPrefix(s, "MZ"), strings.HasPrefix(s, "Microsoft C/C++ MSF"), strings.HasPrefix(s, "MODULE "):
		return true
	}
	return false
}
