package handle

import (
	"regexp"
	"strings"

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
		{"containerd", `(?:^|/)cri-containerd[-:]([0-9a-f]{64})(?:\.scope)?(?:/|$)`},
		{"cri-o", `(?:^|/)crio-([0-9a-f]{64})(?:\.scope)?(?:/|$)`},
		{"podman", `(?:^|/)libpod-([0-9a-f]{64})(?:\.scope)?(?:/|$)`},
		{"lxc", `(?:^|/)lxc(?:\.payload\.|\.payload/|/)([A-Za-z0-9_.-]{1,64})(?:/|$)`},
		{"nspawn", `(?:^|/)machine\.slice/(?:machine-|systemd-nspawn@)([^/]{1,64}?)\.(?:scope|service)(?:/|$)`},
		{"", `(?:^|/)(?:kubepods[^/]*/)(?:.*/)?([0-9a-f]{64})(?:/|$)`},
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
		for _, p := range containers.Get() {
			if m := p.path.FindStringSubmatch(f[2]); m != nil && c.ID == "" {
				c.Runtime, c.ID = p.runtime, m[1]
			}
		}
	}
}
