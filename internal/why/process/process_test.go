package process

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestSecret(t *testing.T) {
	for _, name := range []string{"PASSWORD", "DB_PASSWORD", "PGPASSWORD", "db-passwd", "API_KEY", "ApiKey", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "auth", "AUTHORIZATION", "--pwd",
		"SESSION", "session.id", "CLIENT_CREDENTIALS", "MYSQL_PWD", "SENTRY_DSN", "OAUTH2", "cookie", "PRIVATE_KEY", "key", "KEYS", "JWT", "X_PIN", "PASSWORD_" + strings.Repeat("x", 1000)} {
		if !Secret(name) {
			t.Errorf("%s is no secret", name)
		}
	}
	for _, name := range []string{"", "PATH", "HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "MONKEY", "KEYBOARD", "AUTHOR", "PINNED", "compass", "DB_PASSWORD_FILE",
		"ssl-key-path", "SECRETS_DIR", "SALTY", "LANG"} {
		if Secret(name) {
			t.Errorf("%s is a secret", name)
		}
	}
}

// Each word of the lists decides alone, however the name is written; what only resembles it does not.
func TestSecretWords(t *testing.T) {
	for _, part := range secretParts {
		for _, name := range []string{part, "x" + part + "s", "X_" + part[:2] + "_" + part[2:], part[:3] + "-" + part[3:], part[:2] + "." + part[2:]} {
			if !Secret(name) {
				t.Errorf("%s is no secret", name)
			}
		}
		if name := part[:2] + "/" + part[2:]; Secret(name) {
			t.Errorf("%s is a secret", name)
		}
	}
	for word := range secretWords.Get() {
		for _, name := range []string{word, "A_" + strings.ToUpper(word), word + "-b", "a." + word + ".b", "a:" + word} {
			if !Secret(name) {
				t.Errorf("%s is no secret", name)
			}
		}
		for _, name := range []string{"z" + word + "z", word + "0", "9" + word, "a" + word} {
			if Secret(name) {
				t.Errorf("%s is a secret", name)
			}
		}
	}
	for name := range publicNames.Get() {
		if Secret(name) || !Secret(name+"_KEY") {
			t.Errorf("%s is a secret, or %s_KEY is none", name, name)
		}
	}
}

func TestMask(t *testing.T) {
	for _, c := range [][3]string{
		{"DB_PASSWORD", "x", Masked}, {"DB_PASSWORD", "", ""}, {"LANG", "C", "C"},
		{"URL", "postgres://me:pw@db/x", "postgres://me:" + Masked + "@db/x"}, {"URL", "https://:pw@h", "https://:" + Masked + "@h"},
		{"URL", "https://me@host/a:b@c", "https://me@host/a:b@c"}, {"URL", "a://b:c@d e://f:g@h", "a://b:" + Masked + "@d e://f:" + Masked + "@h"}, {"MAIL", "me:pw@host", "me:pw@host"},
	} {
		if got := Mask(c[0], c[1]); got != c[2] {
			t.Errorf("%s=%s: %s, not %s", c[0], c[1], got, c[2])
		}
	}
	got := MaskArguments([]string{"./token=x", "--token=abc", "--password", "s3cret", "--key", "--verbose", "file", "-v", "TOKEN=x", "https://a:b@c", "--auth"}, false)
	want := []string{"./token=x", "--token=" + Masked, "--password", Masked, "--key", "--verbose", "file", "-v", "TOKEN=" + Masked, "https://a:" + Masked + "@c", "--auth"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\n%q", got, want)
	}
	// Only the argument after a secret option is its value: not after one with a value, nor after a word, nor the
	// one after that.
	got = MaskArguments([]string{"--token", "a", "--token=b", "c", "token", "d", "--token", "e", "f", "--token", "-v", "g"}, false)
	want = []string{"--token", "a", "--token=" + Masked, "c", "token", "d", "--token", Masked, "f", "--token", "-v", "g"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\n%q", got, want)
	}
}

func TestMaskLine(t *testing.T) {
	for line, want := range map[string]string{"": "", "./x  -v": "./x  -v", "./x  --token abc": "./x  --token " + Masked} {
		if got := MaskLine(line); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}

func TestContainer(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{nil, ""}, {[]string{"container=docker"}, "docker"}, {[]string{"containers=x", "CONTAINER=y"}, ""}, {[]string{"container=\x1b[31m"}, ""}, {[]string{"container=a b"}, ""}, {[]string{"container=a~!"}, "a~!"}, {[]string{"container=\x7f"}, ""}, {[]string{"containe"}, ""},
		{[]string{"container=" + strings.Repeat("x", 32)}, strings.Repeat("x", 32)}, {[]string{"container=" + strings.Repeat("x", 33)}, ""}, {[]string{"ECS_CONTAINER_METADATA_URI=x"}, "ecs"},
		{[]string{"container=podman", "KUBERNETES_SERVICE_HOST=10.0.0.1"}, "kubernetes"}, {[]string{"ECS_CONTAINER_METADATA_URI_V4=http://x"}, "ecs"},
	} {
		if got := Container(c.env); got != c.want {
			t.Errorf("%q: %q, not %q", c.env, got, c.want)
		}
	}
}

// A block is memory from an address on.
type block struct {
	a    *arch.Arch
	at   arch.Address
	data []byte
}

func (b block) ReadMem(addr arch.Address, buf []byte) (int, error) {
	if addr < b.at || addr-b.at >= uint64(len(b.data)) {
		return 0, arch.ErrUnmapped
	}
	n := copy(buf, b.data[addr-b.at:])
	if n < len(buf) {
		return n, arch.ErrUnmapped
	}
	return n, nil
}

func (b block) ReadWord(addr arch.Address) (uint64, error) {
	var buf [8]byte
	if _, err := b.ReadMem(addr, buf[:b.a.WordSize]); err != nil {
		return 0, err
	}
	if b.a.WordSize == 4 {
		return uint64(b.a.ByteOrder.Uint32(buf[:])), nil
	}
	return b.a.ByteOrder.Uint64(buf[:]), nil
}

// start lays out a first stack as the kernel does. change may damage its words.
func start(a *arch.Arch, args, env []string, change func([]uint64)) (block, libstate.Auxv) {
	const base = 0x7ff00000
	auxv := libstate.Auxv{{Key: libstate.ATSysinfoEhdr, Value: 0x7fff1000}, {Key: libstate.ATPageSize, Value: 4096}, {Key: libstate.ATExecFn}}
	var text []byte
	var words, at []uint64
	strings := func(list []string) {
		for _, s := range list {
			at = append(at, uint64(len(text)))
			text = append(append(text, s...), 0)
		}
	}
	strings(args)
	strings(env)
	at = append(at, uint64(len(text)))
	text = append(text, "./x\x00"...)
	n := len(args) + len(env) + 3 + 2*len(auxv) + 2
	texts := base + uint64(n*a.WordSize)
	auxv[2].Value = texts + at[len(at)-1]
	words = append(words, uint64(len(args)))
	for i := range args {
		words = append(words, texts+at[i])
	}
	words = append(words, 0)
	for i := range env {
		words = append(words, texts+at[len(args)+i])
	}
	words = append(words, 0)
	for _, e := range auxv {
		words = append(words, e.Key, e.Value)
	}
	words = append(words, 0, 0)
	if change != nil {
		change(words)
	}
	b := block{a: a, at: base}
	for _, w := range words {
		if a.WordSize == 4 {
			b.data = appendUint32(a, b.data, uint32(w))
		} else {
			b.data = appendUint64(a, b.data, w)
		}
	}
	b.data = append(b.data, text...)
	return b, auxv
}

func appendUint32(a *arch.Arch, b []byte, v uint32) []byte {
	b = append(b, 0, 0, 0, 0)
	a.ByteOrder.PutUint32(b[len(b)-4:], v)
	return b
}

func appendUint64(a *arch.Arch, b []byte, v uint64) []byte {
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	a.ByteOrder.PutUint64(b[len(b)-8:], v)
	return b
}

func TestStarted(t *testing.T) {
	args, env := []string{"./x", "", "two words"}, []string{"A=1", "B=", "C=x=y"}
	for _, a := range []*arch.Arch{arch.AMD64, arch.X86, arch.S390X} {
		mem, auxv := start(a, args, env, nil)
		gotArgs, gotEnv, _, ok := Started(mem, a, auxv)
		if !ok || !slices.Equal(gotArgs, args) || !slices.Equal(gotEnv, env) {
			t.Errorf("%s: %q, %q, %v", a.Name, gotArgs, gotEnv, ok)
		}
	}
	for _, c := range []struct{ args, env []string }{{nil, nil}, {args, nil}, {nil, env}} {
		mem, auxv := start(arch.AMD64, c.args, c.env, nil)
		gotArgs, gotEnv, _, ok := Started(mem, arch.AMD64, auxv)
		if !ok || !slices.Equal(gotArgs, c.args) || !slices.Equal(gotEnv, c.env) {
			t.Errorf("%q, %q: %q, %q, %v", c.args, c.env, gotArgs, gotEnv, ok)
		}
	}
}

// A title that the program wrote over its arguments is one string, and variables that it wrote over are left out.
func TestStartedTitle(t *testing.T) {
	toEnd := func(w []uint64) { w[2], w[3] = w[6]+4, w[6]+4 } // as PHP and PostgreSQL do: to the end of the last variable
	for _, c := range []struct {
		name      string
		args, env []string
		title     string // written from the first argument on
		fill      byte   // of what is behind it
		until     int    // where the filling ends
		change    func([]uint64)
		wantArgs  []string
		wantEnv   []string
		whole     bool
	}{
		{"as started", []string{"./x", "y"}, []string{"A=1", "B=2"}, "", 0, 0, nil, []string{"./x", "y"}, []string{"A=1", "B=2"}, true},
		{"in another order", []string{"./x", "y", "z"}, []string{"A=1"}, "", 0, 0, func(w []uint64) { w[2], w[3] = w[3], w[2] }, []string{"./x", "y", "z"}, []string{"A=1"}, true},
		{"a variable elsewhere", []string{"./x", "y"}, []string{"A=1", "B=2"}, "", 0, 0, func(w []uint64) { w[4] = w[1] - 8 }, []string{"./x", "y"}, []string{"", "B=2"}, true},
		{"an empty variable", []string{"./x", "y"}, []string{"", "B=2"}, "", 0, 0, nil, []string{"./x", "y"}, []string{"", "B=2"}, true},
		{"over a whole variable", []string{"./x", "y"}, []string{"A=1", "B=2", "C=3"}, "title", 0, 14, nil, []string{"title"}, []string{"C=3"}, false},
		{"over all arguments", []string{"/usr/sbin/x", "-c", "file"}, []string{"A=1"}, "work", 0, 20, nil, []string{"work"}, []string{"A=1"}, false},
		{"a shorter last argument", []string{"./x", "y", "long"}, []string{"A=1"}, "./x\x00y\x00lo", 0, 11, nil, []string{"./x"}, []string{"A=1"}, false},
		{"a shorter only argument", []string{"./long"}, []string{"A=1"}, "./lo", 0, 7, nil, []string{"./lo"}, []string{"A=1"}, false},
		{"with spaces", []string{"/usr/sbin/x", "-c", "file"}, []string{"A=1"}, "work", ' ', 19, nil, []string{"work"}, []string{"A=1"}, false},
		{"over the only argument", []string{"/usr/sbin/x"}, []string{"A=1"}, "work", 0, 12, nil, []string{"work"}, []string{"A=1"}, false},
		{"over variables", []string{"./x", "y"}, []string{"A=1", "B=2", "C=3"}, "a long ti=t", 0, 12, nil, []string{"a long ti=t"}, []string{"C=3"}, false},
		{"over variables, of the only argument", []string{"./x"}, []string{"A=1", "B=2"}, "a title", 0, 8, nil, []string{"a title"}, []string{"B=2"}, false},
		{"ended behind the first", []string{"./sshd", "-p", "22"}, []string{"A=1"}, "sshd -p 22 [on]", 0, 17, func(w []uint64) { w[2] = 0 }, []string{"sshd -p 22 [on]"}, nil, false},
		{"made ready for a title", []string{"./x", "y", "two words"}, []string{"A=1", "BC=2"}, "", 0, 0, toEnd, []string{"./x", "y", "two words"}, []string{"A=1", "BC=2"}, true},
		{"made ready, and over a part of the first", []string{"./long", "y", "z"}, []string{"A=1", "BC=2"}, "./l", 0, 4, toEnd, []string{"./l"}, []string{"A=1", "BC=2"}, false},
		{"made ready, and over all", []string{"./x", "y", "z"}, []string{"A=1", "BC=2"}, "title", 0, 8, toEnd, []string{"title"}, []string{"A=1", "BC=2"}, false},
		{"made ready, and one longer, one shorter", []string{"./x", "y", "zz"}, []string{"A=1", "BC=2"}, "./xxx\x00z", 0, 8, toEnd, []string{"./xxx"}, []string{"A=1", "BC=2"}, false},
		{"made ready, and over the ends of some", []string{"./x", "y", "zz"}, []string{"A=1", "BC=2"}, "./x yy", 0, 7, toEnd, []string{"./x yy"}, []string{"A=1", "BC=2"}, false},
		{"made ready, without variables", []string{"./x", "y", "z"}, nil, "", 0, 0, func(w []uint64) { w[2], w[3] = w[1]+3, w[1]+3 }, []string{"./x"}, nil, false},
		{"pointers to nothing in common", []string{"./x", "y", "z"}, []string{"A=1", "BC=2"}, "", 0, 0, func(w []uint64) { w[2], w[3] = w[5]+3, w[6]+4 }, []string{"./x"}, []string{"A=1", "BC=2"}, false},
		{"pointers to other text", []string{"./x", "y", "z"}, []string{"A=1", "BC=2"}, "", 0, 0, func(w []uint64) { w[2], w[3] = w[6]+1, w[6]+1 }, []string{"./x"}, []string{"A=1", "BC=2"}, false},
		{"to the end of a variable", []string{"./x"}, []string{"AB=1", "B=2"}, "title", 0, 8, nil, []string{"title"}, []string{"B=2"}, false},
	} {
		mem, auxv := start(arch.AMD64, c.args, c.env, c.change)
		texts := mem.data[len(mem.data)-len(strings.Join(append(append(slices.Clone(c.args), c.env...), "./x"), "\x00"))-1:]
		if c.title != "" {
			for i := range texts[:c.until] {
				texts[i] = c.fill
			}
			copy(texts, c.title)
		}
		args, env, whole, ok := Started(mem, arch.AMD64, auxv)
		if !ok || whole != c.whole || !slices.Equal(args, c.wantArgs) || !slices.Equal(env, c.wantEnv) {
			t.Errorf("%s: %q, %q, whole %v, %v", c.name, args, env, whole, ok)
		}
	}
}

// What is not the layout that the kernel makes is not guessed at.
func TestStartedDamaged(t *testing.T) {
	args, env := []string{"./x", "y"}, []string{"A=1"}
	for name, change := range map[string]func([]uint64){
		"the number of arguments": func(w []uint64) { w[0] = 3 },
		"no end of arguments":     func(w []uint64) { w[3] = 1 << 40 },
		"no end of environment":   func(w []uint64) { w[5] = 1 << 40 },
		"another vector":          func(w []uint64) { w[7]++ },
	} {
		mem, auxv := start(arch.AMD64, args, env, change)
		if gotArgs, gotEnv, _, ok := Started(mem, arch.AMD64, auxv); ok {
			t.Errorf("%s: %q, %q", name, gotArgs, gotEnv)
		}
	}
	mem, auxv := start(arch.AMD64, args, env, nil)
	for name, vector := range map[string]libstate.Auxv{"none": nil, "one entry": auxv[:1], "no address": auxv[:2], "an address elsewhere": append(auxv[:2:2], libstate.AuxEntry{Key: libstate.ATExecFn, Value: 8})} {
		if _, _, _, ok := Started(mem, arch.AMD64, vector); ok {
			t.Errorf("%s: found", name)
		}
	}
	// Strings that are not in the dump are empty.
	short := mem
	short.data = short.data[:len(short.data)-8] // "A=1" and the name that was executed
	if gotArgs, gotEnv, _, ok := Started(short, arch.AMD64, auxv); !ok || !slices.Equal(gotArgs, args) || !slices.Equal(gotEnv, []string{""}) {
		t.Errorf("%q, %q, %v", gotArgs, gotEnv, ok)
	}
}

func FuzzStarted(f *testing.F) {
	mem, _ := start(arch.AMD64, []string{"./x", "y"}, []string{"A=1"}, nil)
	f.Add(mem.data, uint64(len(mem.data)-3))
	f.Fuzz(func(t *testing.T, data []byte, execFn uint64) {
		b := block{arch.AMD64, 0x1000, data}
		auxv := libstate.Auxv{{Key: libstate.ATSysinfoEhdr, Value: 0x7fff1000}, {Key: libstate.ATPageSize, Value: 4096}, {Key: libstate.ATExecFn, Value: 0x1000 + execFn}}
		args, env, _, _ := Started(b, arch.AMD64, auxv)
		total := 0
		for _, s := range append(args, env...) {
			total += len(s)
		}
		if total > maxTotal {
			t.Errorf("%d bytes", total)
		}
	})
}

// A nothing has no readable memory, and counts who asks.
type nothing struct{ asked *int }

func (nothing) ReadMem(addr arch.Address, _ []byte) (int, error) {
	return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
}

func (n nothing) ReadWord(addr arch.Address) (uint64, error) {
	*n.asked++
	return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
}

// Memory that is not there is not searched word by word.
func TestStartedOfNothing(t *testing.T) {
	asked := 0
	n := nothing{&asked}
	_, auxv := start(arch.AMD64, []string{"a"}, nil, nil)
	if _, _, _, ok := Started(n, arch.AMD64, auxv); ok || asked > maxVector/smallestPage+maxMisses+1 {
		t.Errorf("found: %v, %d words asked for", ok, asked)
	}
}
