package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// packager is the module that makes packages for Linux: what it is linked with is not for those who use the library.
const packager = "internal/release/linuxpackages"

// A packageFile is a file of a package: package main of packager has it, too.
type packageFile struct {
	Source, Path, Only string
	Exec, Config       bool
}

// units are the files of deploy that packages have, and where they are installed.
var units = []packageFile{
	{Source: "deploy/systemd/corewalk-serve.service", Path: "/usr/lib/systemd/system/corewalk-serve.service"},
	{Source: "deploy/systemd/corewalk-handle.service", Path: "/usr/lib/systemd/system/corewalk-handle.service"},
	{Source: "deploy/systemd/corewalkd-serve.service", Path: "/usr/lib/systemd/system/corewalkd-serve.service"},
	{Source: "deploy/systemd/corewalkd-worker@.service", Path: "/usr/lib/systemd/system/corewalkd-worker@.service"},
	{Source: "deploy/systemd/corewalk.sysusers", Path: "/usr/lib/sysusers.d/corewalk.conf"},
	{Source: "deploy/systemd/serve.env", Path: "/etc/corewalk/serve.env", Config: true},
	{Source: "deploy/systemd/corewalkd.env", Path: "/etc/corewalk/corewalkd.env", Config: true},
	{Source: "deploy/monitoring/alerts.yaml", Path: "/usr/share/doc/corewalk/alerts.yaml"},
	{Source: "deploy/monitoring/dashboard.json", Path: "/usr/share/doc/corewalk/dashboard.json"},
}

// installed says where packages have the files of an archive; those that are not listed they have not.
func installed(f *file) (list []packageFile) {
	switch f.name {
	case "corewalk", "corewalkd":
		return []packageFile{{Path: "/usr/bin/" + f.name, Exec: true}}
	case "corewalk.1", "corewalkd.1":
		return []packageFile{{Path: "/usr/share/man/man1/" + f.name + ".gz"}}
	case "completion/corewalk.bash":
		return []packageFile{{Path: "/usr/share/bash-completion/completions/corewalk"}}
	case "completion/_corewalk":
		return []packageFile{{Path: "/usr/share/zsh/vendor-completions/_corewalk", Only: "deb"}, {Path: "/usr/share/zsh/site-functions/_corewalk", Only: "rpm"}}
	case "completion/corewalk.fish":
		return []packageFile{{Path: "/usr/share/fish/vendor_completions.d/corewalk.fish"}}
	case "LICENSE":
		return []packageFile{{Path: "/usr/share/doc/corewalk/copyright"}}
	case "LICENSES", "README.md", "CHANGELOG.md":
		return []packageFile{{Path: "/usr/share/doc/corewalk/" + f.name}}
	}
	return nil
}

// packages makes the deb and the rpm package for a processor of what the archive has, and returns their names.
func (r *release) packages(processor string, files []file) ([]string, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(r.dir)
	if err != nil {
		return nil, err
	}
	stage, err := os.MkdirTemp("", "corewalk-release-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	var list []packageFile
	for i := range files {
		f := &files[i]
		for _, p := range installed(f) {
			data := f.data
			if strings.HasSuffix(p.Path, ".gz") {
				if data, err = zipped(data); err != nil {
					return nil, err
				}
			}
			p.Source = filepath.Join(stage, fmt.Sprint(len(list)))
			if err := os.WriteFile(p.Source, data, 0o644); err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	for _, u := range units {
		u.Source = filepath.Join(root, u.Source)
		list = append(list, u)
	}
	scripts := filepath.Join(root, "deploy", "systemd")
	request, err := json.Marshal(map[string]any{"Version": packageVersion(r.version), "Arch": processor, "Unix": r.time.Unix(), "Dir": dir, "Files": list,
		"Installed": filepath.Join(scripts, "postinst.sh"), "Removing": filepath.Join(scripts, "prerm.sh")})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "-C", packager, "run", ".")
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	cmd.Stdin = bytes.NewReader(request)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("packages: %w\n%s", err, said.Bytes())
	}
	var names []string
	return names, json.Unmarshal(out, &names)
}

// zipped compresses a manual page as packages have them.
func zipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(data)
	}
	if err == nil {
		err = z.Close()
	}
	return b.Bytes(), err
}

var beforeRelease = regexp.MustCompile(`^([0-9.]+)-((?:alpha|beta|rc|pre)[0-9.]*)(.*)$`)

// packageVersion is a version as packages have it, where a hyphen means something else: what git counts since a tag comes after that version, a candidate
// for a release before it.
func packageVersion(v string) string {
	before := ""
	if m := beforeRelease.FindStringSubmatch(v); m != nil {
		v, before = m[1]+m[3], "~"+m[2]
	}
	number, rest, more := strings.Cut(v, "-")
	if more {
		rest = "+" + strings.ReplaceAll(rest, "-", ".")
	}
	return number + before + rest
}
