// Command release makes the archives of a release: corewalk and corewalkd for each target, with the manual
// pages, completions and licences, for Linux also deb and rpm packages, and the SHA-256 sums of all. The same sources and the same
// Go give the same bytes, on any machine: paths are left out, and everything in an archive has
// the time of the last commit.
//
//	go run ./internal/release [-o DIR] [-version V] [-time UNIX] [-archives] [TARGET...]
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corewalk/corewalk"
)

// targets are the systems and processors that releases are for.
var targets = []string{"linux/amd64", "linux/arm64", "linux/386", "linux/arm", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// programs are those of a release: all of cmd, the one that makes the manual page first.
var programs = []string{"corewalk", "corewalkd"}

func main() {
	r := release{}
	var unix int64
	flag.StringVar(&r.dir, "o", "dist", "write to this `DIR`")
	flag.StringVar(&r.version, "version", "", "stamp this `VERSION` (default: the last tag, else the source's version, and the commit)")
	flag.Int64Var(&unix, "time", 0, "the time of everything in the archives, in `SECONDS` since 1970 (default: SOURCE_DATE_EPOCH, else the last commit's)")
	flag.BoolVar(&r.archivesOnly, "archives", false, "make no packages")
	flag.Parse()
	r.targets = flag.Args()
	if len(r.targets) == 0 {
		r.targets = targets
	}
	if err := r.run(unix); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// A release is what is being made.
type release struct {
	dir, version string
	targets      []string
	archivesOnly bool
	time         time.Time
	shared       []file // what all archives have
	built        map[string][]file
}

func (r *release) run(unix int64) error {
	for _, t := range r.targets {
		if !slices.Contains(targets, t) {
			return fmt.Errorf("%s: must be one of %s", t, strings.Join(targets, ", "))
		}
	}
	if r.version == "" {
		r.version = describe()
	}
	var err error
	if r.time, err = stamp(unix); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	if r.shared, err = r.sharedFiles(); err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, t := range r.targets {
		names, err := r.make(t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(r.dir, name))
			if err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
			fmt.Printf("%s: %.1f MB\n", filepath.Join(r.dir, name), float64(len(data))/1e6)
		}
	}
	return os.WriteFile(filepath.Join(r.dir, "SHA256SUMS"), sums.Bytes(), 0o644)
}

// describe returns the version of the sources: that of the last tag, and which commit it is
// unless it is the tagged one.
func describe() string {
	if out, err := exec.Command("git", "describe", "--tags", "--dirty", "--match", "v[0-9]*").Output(); err == nil {
		return strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
	}
	if out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output(); err == nil {
		return corewalk.Version + "-g" + strings.TrimSpace(string(out))
	}
	return corewalk.Version
}

// stamp returns the time of the files in the archives.
func stamp(unix int64) (time.Time, error) {
	if unix > 0 {
		return time.Unix(unix, 0).UTC(), nil
	}
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("the time of the last commit is not known (%w): give -time", err)
		}
		text = strings.TrimSpace(string(out))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}, fmt.Errorf("%q is not a time in seconds since 1970: give -time", text)
	}
	return time.Unix(n, 0).UTC(), nil
}

// A file is a file in an archive.
type file struct {
	name string
	data []byte
	exec bool
}

// make builds the programs for a target, writes its archive and packages, and returns their names.
func (r *release) make(target string) ([]string, error) {
	system, processor, _ := strings.Cut(target, "/")
	programs, err := r.build(system, processor)
	if err != nil {
		return nil, err
	}
	base := fmt.Sprintf("corewalk-%s-%s-%s", r.version, system, processor)
	files := slices.Concat(programs, r.shared)
	name, pack := base+".tar.gz", tarOf
	if system == "windows" {
		name, pack = base+".zip", zipOf
	}
	data, err := pack(base, files, r.time)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, name), data, 0o644)
	}
	if err != nil || system != "linux" || r.archivesOnly {
		return []string{name}, err
	}
	packages, err := r.packages(processor, files)
	return append(packages, name), err
}

// build returns the programs for a target, corewalk first. It builds them once.
func (r *release) build(system, processor string) ([]file, error) {
	target := system + "/" + processor
	if list, ok := r.built[target]; ok {
		return list, nil
	}
	dir, err := os.MkdirTemp("", "corewalk-release-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "nethttpomithttp2",
		"-ldflags", "-s -w -buildid= -X github.com/corewalk/corewalk/internal/command.stamped="+r.version, "-o", dir+string(filepath.Separator), "./cmd/...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	end := ""
	if system == "windows" {
		end = ".exe"
	}
	var list []file
	for _, name := range programs {
		data, err := os.ReadFile(filepath.Join(dir, name+end))
		if err != nil {
			return nil, err
		}
		list = append(list, file{name + end, data, true})
	}
	if r.built == nil {
		r.built = map[string][]file{}
	}
	r.built[target] = list
	return list, nil
}

// sharedFiles are the files that are the same for all targets: some of them from corewalk
// itself, built for this machine.
func (r *release) sharedFiles() ([]file, error) {
	programs, err := r.build(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "corewalk-release-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, p := range programs { // with a name that every system runs
		if err := os.WriteFile(filepath.Join(dir, strings.TrimSuffix(p.name, ".exe")+".exe"), p.data, 0o755); err != nil {
			return nil, err
		}
	}
	var list []file
	for _, name := range []string{"README.md", "CHANGELOG.md", "LICENSE"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list = append(list, file{name: name, data: data})
	}
	for _, made := range []struct{ name, command string }{{"corewalk.1", "corewalk man"}, {"corewalkd.1", "corewalkd man"}, {"completion/corewalk.bash", "corewalk completion bash"},
		{"completion/_corewalk", "corewalk completion zsh"}, {"completion/corewalk.fish", "corewalk completion fish"}} {
		args := strings.Fields(made.command)
		data, err := exec.Command(filepath.Join(dir, args[0]+".exe"), args[1:]...).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", made.command, err)
		}
		list = append(list, file{name: made.name, data: data})
	}
	text, err := licences()
	return append(list, file{name: "LICENSES", data: text}), err
}
