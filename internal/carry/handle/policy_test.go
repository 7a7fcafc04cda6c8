package handle

import (
	"strings"
	"testing"
	"time"
)

func TestPolicy(t *testing.T) {
	p, wrong := Read(strings.NewReader("# ours\ndirectory = /srv/crashes # here\nfull = server, /opt/*/bin/*\nmemory = 32MiB\nage=7d\nrate = 5/10m\nfiles = no\n"))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if p.Directory != "/srv/crashes" || len(p.Full) != 2 || p.Memory != 32<<20 || p.Age != 7*24*time.Hour || p.Rate != 5 || p.RateTime != 10*time.Minute || p.Files {
		t.Errorf("%+v", p)
	}
	if p, wrong := Read(strings.NewReader("")); len(wrong) > 0 || p.Directory != DefaultDirectory || !p.keeps("/any") {
		t.Errorf("empty: %+v, %v", p, wrong)
	}
}

// What is wrong is said with its line, and changes nothing; the other lines count.
func TestPolicyWrong(t *testing.T) {
	for line, want := range map[string]string{
		"colour = red":            "no key",
		"memory":                  "not key = value",
		"memory = lots":           "no size",
		"memory = 99999999999TiB": "no size",
		"age = -1h":               "no duration",
		"parallel = -1":           "no number",
		"files = maybe":           "neither yes nor no",
		"directory = var":         "no absolute path",
		"directory = /":           "no absolute path",
		"user = root":             "not made as root",
		"only = [":                "no pattern",
		"disk = 5GiB":             "given twice",
	} {
		p, wrong := Read(strings.NewReader("disk = 4GiB\n" + line + "\ncount = 7\n"))
		if len(wrong) != 1 || !strings.Contains(wrong[0].Error(), want) || !strings.Contains(wrong[0].Error(), "line 2") {
			t.Errorf("%s: %v", line, wrong)
		}
		if d := Default(); p.Disk != 4<<30 || p.Count != 7 || p.Memory != d.Memory || p.Age != d.Age || p.Directory != d.Directory || p.User != d.User {
			t.Errorf("%s: %+v", line, p)
		}
	}
}

func TestKeeps(t *testing.T) {
	for _, c := range []struct {
		only, never []string
		program     string
		want        bool
	}{
		{nil, nil, "/usr/bin/a", true},
		{[]string{"a"}, nil, "/usr/bin/a", true},
		{[]string{"b"}, nil, "/usr/bin/a", false},
		{[]string{"/usr/bin/*"}, nil, "/usr/bin/a", true},
		{[]string{"/usr/*"}, nil, "/usr/bin/a", false},
		{[]string{"*"}, []string{"a"}, "/usr/bin/a", false},
		{nil, []string{"*"}, "/usr/bin/a", false},
	} {
		p := Policy{Only: c.only, Never: c.never}
		if p.keeps(c.program) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add("memory = 1MiB\nrate = 1/1h\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, _ := Read(strings.NewReader(text))
		if p.Memory >= 1<<62 || p.Directory == "" || p.User == "" || p.Rate < 0 {
			t.Errorf("%+v", p)
		}
	})
}

// FuzzContainer: whoever may make control groups chooses their names.
func FuzzContainer(f *testing.F) {
	f.Add("0::/system.slice/docker-" + strings.Repeat("0123456789abcdef", 4) + ".scope\n")
	f.Add("0::/machine.slice/machine-tree.scope\n")
	f.Fuzz(func(t *testing.T, text string) {
		var c Container
		if c.named(text); len(c.ID) > 64 || strings.ContainsAny(c.ID, "/\n") || len(c.Pod) > 36 {
			t.Errorf("%+v", c)
		}
	})
}

func TestContainers(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	inner := strings.Repeat("fedcba9876543210", 4)
	const pod = "11111111_2222_3333_4444_555555555555"
	for cgroup, want := range map[string]Container{
		"0::/system.slice/docker-" + id + ".scope\n":                                                      {Runtime: "docker", ID: id},
		"12:memory:/docker/" + id + "\n":                                                                  {Runtime: "docker", ID: id},
		"0::/kubepods.slice/kubepods-pod" + pod + ".slice/cri-containerd-" + id + ".scope\n":              {Runtime: "containerd", ID: id, Pod: strings.ReplaceAll(pod, "_", "-")},
		"0::/kubepods/besteffort/pod" + pod + "/" + id + "\n":                                             {ID: id, Pod: strings.ReplaceAll(pod, "_", "-")},
		"0::/machine.slice/libpod-" + id + ".scope/container\n":                                           {Runtime: "podman", ID: id},
		"0::/lxc.payload.web/init.scope\n":                                                                {Runtime: "lxc", ID: "web"},
		"0::/machine.slice/machine-tree.scope\n":                                                          {Runtime: "nspawn", ID: "tree"},
		"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id + ".scope/container\n": {Runtime: "podman", ID: id},
		"0::/machine.slice/machine-libpod_pod_" + id + ".slice/libpod-" + id + ".scope/container\n":       {Runtime: "podman", ID: id},
		"0::/system.slice/nerdctl-" + id + ".scope\n":                                                     {Runtime: "containerd", ID: id},
		"0::/default/" + id + "\n":                                                                        {ID: id},
		"0::/ecs/0123456789abcdef0123456789abcdef/" + id + "\n":                                           {ID: id},
		"0::/system.slice/containerd.service/kubepods-burstable-pod" + pod + ".slice:cri-containerd:" + id + "\n": {
			Runtime: "containerd", ID: id, Pod: strings.ReplaceAll(pod, "_", "-")},
		"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + pod + ".slice/crio-" + id + ".scope/container\n": {
			Runtime: "cri-o", ID: id, Pod: strings.ReplaceAll(pod, "_", "-")},
		"0::/docker/" + id + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + pod + ".slice/cri-containerd-" + inner + ".scope\n": {
			Runtime: "containerd", ID: inner, Pod: strings.ReplaceAll(pod, "_", "-")},
		"0::/docker/" + id + "/docker/" + inner + "\n":                   {Runtime: "docker", ID: inner},
		"0::/machine.slice/systemd-nspawn@my\\x2dtree.service/payload\n": {Runtime: "nspawn", ID: "my-tree"},
		"0::/machine.slice/machine-lxc\\x2d12\\x2dweb.scope\n":           {Runtime: "lxc", ID: "12-web"},
		"0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope\n":            {},
		"0::/lxc.monitor.web\n":                                          {},
		"0::/user.slice/user-1000.slice\n":                               {},
		"0::/docker/short\n":                                             {},
		"nothing":                                                        {},
	} {
		var c Container
		if c.named(cgroup); c != want {
			t.Errorf("%s: %+v", cgroup, c)
		}
	}
}
