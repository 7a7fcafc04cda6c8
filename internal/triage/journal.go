package triage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// CoredumpDir is where systemd-coredump keeps dumps.
const CoredumpDir = "/var/lib/systemd/coredump"

// coredumpMessage is the message of systemd-coredump in the journal.
const coredumpMessage = "MESSAGE_ID=fc2e22bc6ee647b6b90729ab34a250b1"

// A Journal is a Source of the dumps of systemd-coredump: those that its messages in the
// journal name, and those in its directory of which the journal has no message any more.
// Without journalctl these are all. What users write into the journal names no file outside
// of the directory.
type Journal struct {
	Dir string // of the dumps; "" is CoredumpDir
}

// A message is what is needed of one in the journal.
type message struct {
	Filename  field `json:"COREDUMP_FILENAME"`
	Truncated field `json:"COREDUMP_TRUNCATED"`
	Comm      field `json:"COREDUMP_COMM"`
	PID       field `json:"COREDUMP_PID"`
}

// A field is one of a message: text, or the list of its bytes if it is not text.
type field string

// UnmarshalJSON implements json.Unmarshaler. What is neither is empty.
func (f *field) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*f = field(text)
		return nil
	}
	var list []int
	if json.Unmarshal(data, &list) == nil {
		b := make([]byte, len(list))
		for i, c := range list {
			b[i] = byte(c)
		}
		*f = field(b)
	}
	return nil
}

// Dumps implements Source: in the order of the journal, then of the directory.
func (j Journal) Dumps(ctx context.Context) iter.Seq2[string, error] {
	if j.Dir == "" {
		j.Dir = CoredumpDir
	}
	return func(yield func(string, error) bool) {
		w := journalWalk{Journal: j, yield: yield, seen: map[string]bool{}, lost: map[string]*lost{}}
		err := w.journal(ctx)
		if errors.Is(err, exec.ErrNotFound) {
			if _, derr := os.Stat(j.Dir); derr != nil {
				w.give("", fmt.Errorf("no journalctl, and no %s: systemd-coredump keeps no dumps on this machine", j.Dir))
				return
			}
		} else if err != nil && ctx.Err() == nil {
			w.give("", fmt.Errorf("journalctl: %w; only the files in %s are known", err, j.Dir))
		}
		w.directory(ctx)
		w.report()
	}
}

// A journalWalk is one walk through a Journal.
type journalWalk struct {
	Journal
	yield func(string, error) bool
	over  bool
	seen  map[string]bool
	lost  map[string]*lost // by why
	whys  []string
}

// lost counts dumps of which there is no file.
type lost struct {
	n    int
	last string
}

func (w *journalWalk) give(path string, err error) {
	if !w.over && !w.yield(path, err) {
		w.over = true
	}
}

func (w *journalWalk) lose(why, what string) {
	l := w.lost[why]
	if l == nil {
		l = &lost{}
		w.lost[why], w.whys = l, append(w.whys, why)
	}
	l.n++
	l.last = what
}

// maxMessage is the longest message that is read, in bytes.
const maxMessage = 1 << 20

// journal gives the dumps of the messages.
func (w *journalWalk) journal(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "journalctl", "--quiet", "--no-pager", "--output=json",
		"--output-fields=COREDUMP_FILENAME,COREDUMP_TRUNCATED,COREDUMP_COMM,COREDUMP_PID", coredumpMessage)
	var complaint tail
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxMessage)
	damaged := 0
	for !w.over && lines.Scan() {
		var m message
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			damaged++
			continue
		}
		w.message(&m)
	}
	err = lines.Err()
	if err != nil || w.over {
		cancel()
	}
	io.Copy(io.Discard, out)
	if werr := cmd.Wait(); err == nil && werr != nil && !w.over {
		if err = werr; complaint.first() != "" {
			err = errors.New(complaint.first())
		}
	}
	if err == nil && damaged > 0 {
		err = fmt.Errorf("%d messages could not be understood", damaged)
	}
	return err
}

// message gives the dump of a message, or says why there is none.
func (w *journalWalk) message(m *message) {
	who := fmt.Sprintf("%.100s[%.20s]", string(m.Comm), string(m.PID))
	path := filepath.Clean(string(m.Filename))
	switch {
	case m.Filename == "":
		w.lose("no file was kept, in the journal or at all (Storage= in coredump.conf)", who)
		return
	case filepath.Dir(path) != filepath.Clean(w.Dir):
		w.lose("the file is not in "+w.Dir+", and is not read", who+": "+path)
		return
	case w.seen[path]:
		return
	}
	w.seen[path] = true
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.lose("missing: the file was removed (systemd-tmpfiles does after some days)", path)
		return
	case errors.Is(err, fs.ErrPermission):
		w.lose("inaccessible: the file is another user's; run this as root", path)
		return
	case err != nil:
		w.lose("error: "+plainReason(err), path)
		return
	}
	f.Close()
	if m.Truncated == "1" {
		w.lose("truncated when it was written (ProcessSizeMax= and ExternalSizeMax= in coredump.conf): what there is was analysed", path)
	}
	w.give(path, nil)
}

// plainReason returns an error without the path.
func plainReason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// directory gives the dumps that no message names.
func (w *journalWalk) directory(ctx context.Context) {
	entries, err := os.ReadDir(w.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.give("", err)
	}
	for _, e := range entries {
		path := filepath.Join(w.Dir, e.Name())
		if w.over || ctx.Err() != nil {
			return
		}
		// Files that are being written have names that begin with .#
		if !e.Type().IsRegular() || w.seen[path] || !strings.HasPrefix(e.Name(), "core.") {
			continue
		}
		if f, err := os.Open(path); errors.Is(err, fs.ErrPermission) {
			w.lose("inaccessible: the file is another user's; run this as root", path)
			continue
		} else if err == nil {
			f.Close()
		}
		w.give(path, nil)
	}
}

// report says what was lost, each reason once.
func (w *journalWalk) report() {
	for _, why := range w.whys {
		l := w.lost[why]
		if l.n == 1 {
			w.give("", fmt.Errorf("%s: %s", l.last, why))
			continue
		}
		w.give("", fmt.Errorf("%d dumps, the last %s: %s", l.n, l.last, why))
	}
}
