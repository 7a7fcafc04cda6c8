package handle

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/lazy"
)

// A Container is where a process ran, if its namespaces are not those of the handler.
type Container struct {
	// Runtime is "docker", "containerd", "cri-o", "podman", "lxc", "nspawn", or "" for another.
	Runtime string `json:"runtime,omitempty"`
	ID      string `json:"id,omitempty"`
	Pod     string `json:"pod,omitempty"` // of Kubernetes, a UID
	// The namespaces, as the kernel numbers them.
	PID  uint64 `json:"pid_namespace,omitempty"`
	Mnt  uint64 `json:"mount_namespace,omitempty"`
	Host string `json:"hostname,omitempty"`
}

type pattern struct {
	runtime string
	path    *regexp.Regexp
}

// containers are the control groups of runtimes.
var containers = lazy.Value[[]pattern]{Make: func() (list []pattern) {
	for _, p := range [][2]string{
		{"docker", `(?:^|/)docker[-/]([0-9a-f]{64})(?:\.scope)?(?:/|$)`},
		{"containerd", `(?:^|[/:])(?:cri-containerd|nerdctl)[-:]([0-9a-f]{64})(?:\.scope)?(?:/|$)`},
		{"cri-o", `(?:^|[/:])crio[-:]([0-9a-f]{64})(?:\.scope)?(?:/|$)`},
		{"podman", `(?:^|/)libpod-([0-9a-f]{64})(?:\.scope)?(?:/|$)`},
		{"lxc", `(?:^|/)lxc(?:\.payload\.|\.payload/|/)([A-Za-z0-9_.-]{1,64})(?:/|$)`},
		{"nspawn", `(?:^|/)machine\.slice/(?:machine-|systemd-nspawn@)([^/]{1,256}?)\.(?:scope|service)(?:/|$)`},
		{"", `(?:^|/)([0-9a-f]{64})(?:/|$)`},
	} {
		list = append(list, pattern{p[0], regexp.MustCompile(p[1])})
	}
	return list
}}

var pods = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12})`)
}}

// named fills in what the paths of a process's control groups (/proc/PID/cgroup) say.
func (c *Container) named(cgroups string) {
	for line := range strings.Lines(cgroups) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) < 3 {
			continue
		}
		if m := pods.Get().FindStringSubmatch(f[2]); m != nil && c.Pod == "" {
			c.Pod = strings.ReplaceAll(m[1], "_", "-")
		}
		if c.ID != "" {
			continue
		}
		last := -1 // of containers in one another, the innermost
		for _, p := range containers.Get() {
			for at := 0; ; {
				m := p.path.FindStringSubmatchIndex(f[2][at:])
				if m == nil {
					break
				}
				start, runtime := at+m[2], p.runtime
				at += m[3]
				id := f[2][start:at]
				if runtime == "nspawn" {
					if id, runtime = machine(id); id == "" {
						continue
					}
				}
				if start > last {
					c.Runtime, c.ID, last = runtime, id, start
				}
			}
		}
	}
}

// machine returns the name of a machine of systemd and what runs it: "" for a virtual one, which is a process like others.
func machine(unit string) (name, runtime string) {
	name = escaped.Get().ReplaceAllStringFunc(unit, func(s string) string {
		n, _ := strconv.ParseUint(s[2:], 16, 8)
		return string([]byte{byte(n)})
	})
	libvirt, rest, ok := strings.Cut(name, "-")
	switch {
	case !utf8.ValidString(name) || strings.ContainsAny(name, "/\x00\n") || len(name) > 64:
		return "", ""
	case ok && libvirt == "qemu":
		return "", ""
	case ok && libvirt == "lxc":
		return rest, "lxc"
	}
	return name, "nspawn"
}

var escaped = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp { return regexp.MustCompile(`\\x[0-9a-f]{2}`) }}
