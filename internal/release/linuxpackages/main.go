// Command linuxpackages makes a deb and an rpm package of files. It is a module of its own, because what it is linked with brings forty modules along that
// nobody needs who uses corewalk: go.mod of the library would list them. Command release starts it.
//
//	go -C internal/release/linuxpackages run . <FILE   a Request as JSON; the answer is a list of the files' names
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// A Request says what is to be packed.
type Request struct {
	Version, Arch string // Arch is GOARCH
	Unix          int64  // the time of everything, in seconds since 1970
	Dir           string // where the packages are written
	Files         []File
	// Scripts are files that run after the package was installed, and before it is removed.
	Installed, Removing string
}

// A File is one of a package.
type File struct {
	Source, Path string
	Only         string // the kind of package that has it; "" for both
	Exec, Config bool
}

func main() {
	var r Request
	err := json.NewDecoder(os.Stdin).Decode(&r)
	if err == nil {
		var names []string
		if names, err = r.pack(); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(names)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "linuxpackages:", err)
		os.Exit(1)
	}
}

// pack writes the packages and returns their names.
func (r *Request) pack() (names []string, err error) {
	for _, kind := range []string{"deb", "rpm"} {
		info := r.info(kind)
		if err := nfpm.PrepareForPackager(info, kind); err != nil {
			return nil, err
		}
		p, err := nfpm.Get(kind)
		if err != nil {
			return nil, err
		}
		name := p.ConventionalFileName(info)
		out, err := os.Create(filepath.Join(r.Dir, name))
		if err != nil {
			return nil, err
		}
		err = p.Package(info, out)
		if cerr := out.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		names = append(names, name)
	}
	return names, nil
}

// info is what nfpm is told.
func (r *Request) info(kind string) *nfpm.Info {
	at := time.Unix(r.Unix, 0).UTC()
	var list files.Contents
	for _, f := range r.Files {
		if f.Only != "" && f.Only != kind {
			continue
		}
		c := &files.Content{Source: f.Source, Destination: f.Path, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o644, MTime: at}}
		if f.Exec {
			c.FileInfo.Mode = 0o755
		}
		if f.Config {
			c.Type = files.TypeConfigNoReplace
		}
		list = append(list, c)
	}
	info := &nfpm.Info{Name: "corewalk", Arch: r.Arch, Platform: "linux", Version: r.Version, VersionSchema: "none", Section: "devel", Priority: "optional",
		Maintainer: "corewalk <https://github.com/corewalk/corewalk>", Vendor: "corewalk", Homepage: "https://github.com/corewalk/corewalk", License: "Apache-2.0",
		Description: "says why a program died, from its core\nPost-mortem analysis of cores and minidumps: reports, triage of many dumps,\na crash handler and a crash service.",
		MTime:       at, DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: list, Scripts: nfpm.Scripts{PostInstall: r.Installed, PreRemove: r.Removing}, Umask: 0o022}}
	info.Deb.Compression, info.RPM.Compression = "gzip", "gzip" // xz takes a minute for a tenth less
	info.RPM.BuildHost, info.RPM.Summary = "reproducible", "says why a program died, from its core"
	return nfpm.WithDefaults(info)
}
