package dwarfvars_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// TestRenamedMembers renames members of the types of libraries, as another version of the library
// could, one at a time. What the printers need and do not find is not guessed: the object is shown
// as its members.
func TestRenamedMembers(t *testing.T) {
	fixture.Long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		function string
		members  string
	}{
		"amd64-vars-cxx-O0":    {"containers<int>", "_M_impl _M_start _M_finish _M_end_of_storage _M_p _M_string_length _M_offset _M_cur _M_last _M_node _M_first _M_t _M_header _M_node_count _M_left _M_h _M_before_begin _M_element_count _M_next _M_head _M_elems _M_str _M_len"},
		"amd64-vars-libcxx":    {"containers<int>", "__r_ __value_ __begin_ __end_ __end_cap_ __size_ __start_ __map_ __tree_ __begin_node_ __pair3_ __table_ __p1_ __p2_ __next_ __before_begin_ __elems_ __s __l __data_ __is_long_"},
		"amd64-boost":          {"main", "m_holder m_size m_start m_capacity storage m_flat_tree m_data m_seq members_ m_repr s_aligner h is_short length data m_initialized m_storage ptr_ which_ storage_ ix_ st1_ px pn pi_ use_count_ weak_count_ m_buff m_end m_first m_bits m_num_bits elems table_ size_ bucket_count_ buckets_ ptr_bucket"},
		"amd64-absl":           {"main", "storage_ metadata_ value data_ inlined inlined_data allocated allocated_data allocated_capacity size_alloc_ ptr_ len_ length_ engaged_ index_ state_ rep_ status_ contents_ as_chars_ as_tree_ rep length tag storage ctrl_ slots_ size_ capacity_ tree_ root_ _M_string_length _M_local_buf _M_allocated_capacity"},
		"amd64-glib-described": {"main", "nnodes noccupied hashes hash_func have_big_keys have_big_values next prev allocated_len pdata message"},
		"amd64-qt5":            {"main", "size alloc offset begin end array header left mostLeftNode numBuckets buckets next key value strongref weakref _q_value q_hash mds jd ucs is_shared type"},
		"amd64-qt6":            {"main", "size ptr spans numBuckets offsets entries key value strongref weakref _q_value q_hash mds jd ucs is_shared packedType"},
		"amd64-cxx-errors":     {"main", "_M_value _M_cat"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fixture.Get(t, name)
			whole, err := os.ReadFile(f.Binary(t))
			if err != nil {
				t.Fatal(err)
			}
			was := renamed(t, f, whole, c.function)
			var b strings.Builder
			for _, member := range strings.Fields(c.members) {
				other := bytes.ReplaceAll(whole, []byte("\x00"+member+"\x00"), []byte("\x00"+strings.Repeat("?", len(member))+"\x00"))
				fmt.Fprintf(&b, "%s\n", member)
				for i, line := range renamed(t, f, other, c.function) {
					if i < len(was) && line != was[i] {
						fmt.Fprintf(&b, "  %s\n", line)
					}
				}
			}
			compareGolden(t, filepath.Join("testdata", "renamed", name+".txt"), b.String())
		})
	}
}

// withProgram opens a fixture's core with another program and walks its crashing thread.
func withProgram(t *testing.T, c fixture.Case, program []byte, sysroot string) scene {
	t.Helper()
	exe := filepath.Join(t.TempDir(), c.Program)
	if err := os.WriteFile(exe, program, 0o700); err != nil {
		t.Fatal(err)
	}
	target, err := corewalk.Open(context.Background(), c.Core(t), corewalk.WithExecutable(exe), corewalk.WithSysroot(sysroot), corewalk.WithDebugDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	stack, _ := w.WalkStack(unwind.NullThread)
	return scene{target.Variables(), stack.Frames}
}

// renamed lists the variables of a function of a fixture, with another program.
func renamed(t *testing.T, c fixture.Case, program []byte, function string) (lines []string) {
	t.Helper()
	s := withProgram(t, c, program, c.Sysroot(t))
	a, err := s.At(s.frames, s.frame(t, function))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, scope := range a.Live() {
		for _, v := range slices.Concat(scope.Params, scope.Locals) {
			lines = append(lines, fmt.Sprintf("%s: %s", v.Name, a.Read(v, dwarfvars.Options{MaxElements: 2, MaxString: 4, MaxDepth: 2})))
		}
	}
	return lines
}
