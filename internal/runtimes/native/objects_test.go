package native

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A stack is a thread of an invented process: its functions, innermost first, and what callee-saved registers have in the
// frame of a function: "pthread_once_slow=5000", "lock=5000,5008".
type stack []string

const glibcPath, muslPath = "/lib/libc.so.6", "/lib/ld-musl-x86_64.so.1"

// An invented is a process whose thread 1 is in a futex call on a word at lockAt.
type invented struct {
	*machine
	arch *arch.Arch
	regs map[unwind.ThreadID]arch.RegSet
}

func (p *invented) Arch() *arch.Arch { return p.arch }
func (p *invented) Registers(id unwind.ThreadID) (arch.RegSet, error) {
	return p.regs[id], nil
}

func (p *invented) ReadWord(addr arch.Address) (uint64, error) {
	v, err := p.machine.ReadWord(addr)
	if p.arch.WordSize == 4 {
		v = uint64(uint32(v))
	}
	return v, err
}

// frames makes the frames of a stack, with the registers of the thread in the youngest. Code of the library is at 0x1000 to 0x1fff.
func (s stack) frames(t *testing.T, w *unwind.Walker, base uint64, regs arch.RegSet) []*unwind.Frame {
	t.Helper()
	a := w.ProcessState().Arch()
	var frames []*unwind.Frame
	for i, text := range s {
		_, value, _ := strings.Cut(text, "=")
		f, err := unwind.NewFrame(base+uint64(i)<<4, 0x9000+uint64(i)<<8, 0, w)
		if err != nil {
			t.Fatal(err)
		}
		f.SetNonCall(true)
		for r := range arch.Reg(a.NumRegs()) {
			if v, ok := regs.Get(r); ok && i == 0 {
				f.SetReg(r, v, unwind.Location{})
			}
		}
		if value != "" {
			saved := a.CalleeSaved
			for text := range strings.SplitSeq(value, ",") {
				var v uint64
				fmt.Sscanf(text, "%x", &v)
				f.SetReg(saved.First(), v, unwind.Location{})
				saved &= saved - 1
			}
		}
		frames = append(frames, f)
	}
	return frames
}

// A stackNames names the code of two stacks.
type stackNames map[uint64]string

func (n stackNames) LookupAtAddr(at unwind.Address) (string, any, error) {
	if name, ok := n[at&^0xf]; ok && name != "" {
		return name, nil, nil
	}
	return "", nil, unwind.ErrNoSymbol
}

// A listAt is a symbol table with the list of FILEs at an address, and, below it, where a struct pthread has the thread's id.
type listAt uint64

func (l listAt) SymbolByName(_ *libstate.Library, name string) (unwind.Symbol, bool) {
	if name == "_thread_db_pthread_tid" {
		return unwind.Symbol{Name: name, Addr: uint64(l) - 0x10}, true
	}
	return unwind.Symbol{Name: name, Addr: uint64(l)}, name == "_IO_list_all"
}

func (l listAt) SymbolAt(*libstate.Library, unwind.Address) (unwind.Symbol, bool) {
	return unwind.Symbol{}, false
}

// A situation is what thread 1 does, and what memory has.
type situation struct {
	arch     *arch.Arch // nil for x86-64
	libc     string     // glibcPath if empty
	op       uint64     // of futex; 0x80 if 0
	expected uint32
	timeout  uint64
	stack    stack
	other    stack  // of thread 2
	code     uint64 // where the code of stack is; in the C library if 0
	mem      map[uint64]uint32
	word     uint64 // the address of the word; lockAt if 0
	files    uint64 // the address of glibc's list of FILEs
	waits    bool   // thread 2 waits for what thread 1 has
	waitsAt  uint64 // the address of that
}

// describe says what thread 1 waits for.
func (s situation) describe(t *testing.T) string {
	t.Helper()
	a := s.arch
	if a == nil {
		a = arch.AMD64
	}
	word := uint64(lockAt)
	if s.word != 0 {
		word = s.word
	}
	mem := map[uint64]uint32{word: s.expected}
	for i := uint64(0x4f00); i < 0x5100; i += 4 {
		if _, ok := mem[i]; !ok {
			mem[i] = 0
		}
	}
	for k, v := range s.mem {
		mem[k] = v
	}
	path := s.libc
	if path == "" {
		path = glibcPath
	}
	lib := func(path string, start uint64) *libstate.Library {
		return &libstate.Library{Path: path, Start: start, End: start + 0x1000, Mappings: []libstate.Mapping{{Start: start, End: start + 0x1000}}}
	}
	p := &invented{machine: &machine{mem: mem, libs: libstate.NewTable([]*libstate.Library{lib(path, 0x1000)}, 0)}, arch: a, regs: map[unwind.ThreadID]arch.RegSet{}}
	c, _ := conventionOf(a)
	var regs arch.RegSet
	op := s.op
	if op == 0 {
		op = 0x80
	}
	again := int64(-restartSys)
	regs.Set(c.result, uint64(again))
	for r, v := range map[arch.Reg]uint64{c.number: c.futex[0], c.addr: word, c.op: op, c.val: uint64(s.expected), c.timeout: s.timeout} {
		regs.Set(r, v)
	}
	var two arch.RegSet
	two.Set(arch.FSBase, 0x4f00)
	p.regs[1], p.regs[2] = regs, two
	names := stackNames{}
	code := s.code
	if code == 0 {
		code = 0x1100
	}
	if c.sameRegister { // it stands at the call
		regs.Set(a.PC, code)
		p.regs[1], mem[code] = regs, binary.LittleEndian.Uint32([]byte(callCode(a)[0]))
	}
	for base, st := range map[uint64]stack{code: s.stack, 0x3000: s.other} {
		for i, text := range st {
			names[base+uint64(i)<<4], _, _ = strings.Cut(text, "=")
		}
	}
	w, err := unwind.NewWalker(p, unwind.WithSymbolLookup(names))
	if err != nil {
		t.Fatal(err)
	}
	frames, others := s.stack.frames(t, w, code, regs), s.other.frames(t, w, 0x3000, two)
	process := &tasks.Process{State: p, Names: names}
	if s.files != 0 {
		process.Symbols = listAt(s.files)
	}
	found, err := Find(process)
	if err != nil || found == nil {
		t.Fatal("no runtime", err)
	}
	r := found.(*runtime)
	task := r.Thread(1, frames)
	if task == nil {
		return "does not wait"
	}
	if task.Wait = r.Wait(context.Background(), task, frames); task.Wait == nil {
		return "no wait"
	}
	all := []*tasks.Task{task}
	if s.waits {
		all = append(all, &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 2}, Runtime: "native", Wait: &tasks.Wait{Kind: tasks.WaitLock, Proved: true,
			Object: tasks.Object{Address: s.waitsAt}, Holders: []tasks.Holder{{Key: task.Key, Certainty: tasks.Certain}}}})
	}
	r.Resolve(context.Background(), all, func(_ context.Context, id unwind.ThreadID) []*unwind.Frame {
		if id == 1 {
			return frames
		}
		return others
	})
	v := task.Wait
	out := fmt.Sprintf("%s %s %#x", v.Kind, v.Object.Type, v.Object.Address)
	if v.Object.Detail != "" {
		out += " [" + v.Object.Detail + "]"
	}
	if v.Timed {
		out += " timed"
	}
	if !v.Proved {
		out += " unproved"
	}
	for _, h := range v.Holders {
		out += fmt.Sprintf(" %d %s", h.ID, h.Certainty)
	}
	if v.Note != "" {
		out += " (" + v.Note + ")"
	}
	return out
}

// TestObjects: what is said of each kind of wait, from registers, names and memory alone.
func TestObjects(t *testing.T) {
	const at = lockAt
	at1 := func(pairs ...uint64) map[uint64]uint32 { // memory from the lock: offset, value
		m := map[uint64]uint32{}
		for i := 0; i < len(pairs); i += 2 {
			m[at+pairs[i]] = uint32(pairs[i+1])
		}
		return m
	}
	words := func(lock int64, pairs ...int64) map[uint64]uint32 { // memory around a lock
		m := map[uint64]uint32{}
		for i := 0; i < len(pairs); i += 2 {
			m[uint64(lock+pairs[i])] = uint32(pairs[i+1])
		}
		return m
	}
	file := func(pairs ...int64) map[uint64]uint32 { // a FILE at 0x4f60 with the lock, first of the list that begins at 0x50f0
		m := words(at, 0xf0, 0x4f60, -0xa0, 0xfbad2484, -0x30, 3, -0x18, at)
		for k, v := range words(at, pairs...) {
			m[k] = v
		}
		return m
	}
	byID := func(a *arch.Arch, bits, number, offset, id int64) situation { // the owner's struct pthread is at 0x4f10
		return situation{arch: a, expected: 2, stack: stack{"__lll_lock_wait_private", "fputs", "work"}, files: 0x50f0,
			mem: file(4, 1, 8, 0x4f10, 0xe0, bits, 0xe4, number, 0xe8, offset, -0x50, id, 0x1f10, id)}
	}
	rdlock, wrlock := stack{"pthread_rwlock_rdlock"}, stack{"pthread_rwlock_wrlock"}
	below := func(off uint64, v uint32) map[uint64]uint32 { return map[uint64]uint32{at - off: v} }
	for name, c := range map[string]struct {
		situation
		want string
	}{
		// glibc
		"mutex":         {situation{expected: 2, stack: stack{"__lll_lock_wait", "___pthread_mutex_lock@@GLIBC_2.2.5", "work"}, mem: at1(8, 2)}, "lock pthread_mutex_t 0x5000 2 certain"},
		"recursive":     {situation{expected: 2, stack: stack{"pthread_mutex_lock"}, mem: at1(8, 2, 16, 1)}, "lock pthread_mutex_t 0x5000 [recursive] 2 certain"},
		"error check":   {situation{expected: 2, stack: stack{"pthread_mutex_lock"}, mem: at1(8, 2, 16, 2)}, "lock pthread_mutex_t 0x5000 [error-checking] 2 certain"},
		"adaptive":      {situation{expected: 2, stack: stack{"pthread_mutex_lock"}, mem: at1(8, 2, 16, 3)}, "lock pthread_mutex_t 0x5000 2 certain"},
		"no elision":    {situation{expected: 2, stack: stack{"pthread_mutex_lock"}, mem: at1(8, 2, 16, 0x200)}, "lock pthread_mutex_t 0x5000 2 certain"},
		"its own":       {situation{expected: 2, stack: stack{"pthread_mutex_lock"}, mem: at1(8, 1)}, "lock pthread_mutex_t 0x5000 1 certain"},
		"with a limit":  {situation{expected: 2, timeout: 0x9000, stack: stack{"pthread_mutex_clocklock"}, mem: at1(8, 2)}, "lock pthread_mutex_t 0x5000 timed 2 certain"},
		"other process": {situation{expected: 2, stack: stack{"pthread_mutex_lock"}, mem: at1(8, 77, 16, 0x80)}, "lock pthread_mutex_t 0x5000 [shared] 77 possible (held by thread 77 of another process)"},
		"owner ended":   {situation{expected: 2, stack: stack{"pthread_mutex_lock"}, mem: at1(8, 77)}, "lock pthread_mutex_t 0x5000 (the thread that held it has ended)"},
		"by the kernel": {situation{expected: 0, op: 0x86, stack: stack{"", "work"}, mem: at1(0, 0x80000002, 16, 0x20)}, "lock pthread_mutex_t 0x5000 [priority-inheriting] 2 certain"},
		"by the kernel, newer call": {situation{expected: 0, op: 0x8d, stack: stack{"", "work"}, mem: at1(0, 0x80000002, 16, 0x20)},
			"lock pthread_mutex_t 0x5000 [priority-inheriting] 2 certain"},
		"x86":                       {situation{arch: arch.X86, expected: 2, stack: stack{"pthread_mutex_lock"}, mem: at1(8, 2, 12, 1, 16, 0x7777)}, "lock pthread_mutex_t 0x5000 [recursive] 2 certain"},
		"once of x86":               {situation{arch: arch.X86, expected: 1, op: 0x80, stack: stack{"pthread_once"}}, "once pthread_once_t 0x5000"},
		"robust, without names":     {situation{expected: 0x80000002, op: 0x100, stack: stack{"", "work"}, mem: at1(16, 0x90)}, "lock pthread_mutex_t 0x5000 [robust] 2 certain"},
		"not robust, without names": {situation{expected: 0x80000002, stack: stack{"", "work"}, mem: at1(16, 0x80)}, "address  0x5000 unproved"},
		"robust, of no thread":      {situation{expected: 0x80000003, stack: stack{"", "work"}, mem: at1(16, 0x90)}, "address  0x5000 unproved"},

		// rwlocks: its words are at 0, 8 and 12, who writes at 24, on i386 at 28; to glibc 2.24 readers at 4, who sleeps at 16 and 20
		"read, written":                    {situation{expected: 3, stack: rdlock, mem: words(0x4ff8, 0, 0xb, 24, 2)}, "read-lock pthread_rwlock_t 0x4ff8 [locked for writing] 2 certain"},
		"read, written by one gone":        {situation{expected: 3, stack: rdlock, mem: words(0x4ff8, 0, 0xb, 24, 77)}, "read-lock pthread_rwlock_t 0x4ff8 [locked for writing] (the thread that held it has ended)"},
		"read, written elsewhere":          {situation{expected: 3, stack: rdlock, mem: words(0x4ff8, 0, 0xb, 24, 77, 28, 1)}, "read-lock pthread_rwlock_t 0x4ff8 [locked for writing] 77 possible (held by thread 77 of another process)"},
		"read, not yet written":            {situation{expected: 3, stack: rdlock, mem: words(0x4ff8, 0, 0xb)}, "read-lock pthread_rwlock_t 0x4ff8 [locked for writing] unproved (the owner is not recorded yet)"},
		"read, one reader":                 {situation{expected: 3, stack: rdlock, mem: words(0x4ff8, 0, 0xa)}, "read-lock pthread_rwlock_t 0x4ff8 [1 readers] (readers are not recorded)"},
		"read, readers wait":               {situation{expected: 3, stack: rdlock, mem: words(0x4ff8, 0, 0x9)}, "read-lock pthread_rwlock_t 0x4ff8 unproved (the lock is free: it is being handed over)"},
		"read, a writer comes first":       {situation{expected: 0xe, stack: rdlock, mem: words(0x5000, 0, 0xe)}, "read-lock pthread_rwlock_t 0x5000 [1 readers] (readers are not recorded)"},
		"read, no reader comes first":      {situation{expected: 6, stack: rdlock, mem: words(0x5000, 0, 6)}, "read-lock pthread_rwlock_t 0x0 unproved"},
		"write, old or new, two addresses": {situation{arch: arch.X86, expected: 2, stack: stack{"futex_wait", "pthread_rwlock_wrlock=4ff4,4ff8"}, mem: words(0x4ff4, 4, 2, 20, 1)}, "lock pthread_rwlock_t 0x0 unproved"},
		"write, with rubbish in it":        {situation{word: 0x5004, expected: 3, stack: wrlock, mem: words(0x4ff8, 0, 3, 20, 5, 24, 2)}, "lock pthread_rwlock_t 0x4ff8 [locked for writing] 2 certain"},
		"read, in no known way":            {situation{expected: 0xa, stack: rdlock, mem: words(0x4ff8, 0, 0xa, 8, 0xa)}, "read-lock pthread_rwlock_t 0x0 unproved"},
		"read, readers and a writer":       {situation{expected: 3, stack: rdlock, mem: words(0x4ff8, 0, 0xa, 24, 2)}, "read-lock pthread_rwlock_t 0x4ff8 unproved (the lock is free: it is being handed over)"},
		"write, readers":                   {situation{expected: 2, stack: wrlock, mem: words(0x4ff8, 0, 0x1a)}, "lock pthread_rwlock_t 0x4ff8 [3 readers] (readers are not recorded)"},
		"write, after a pointer":           {situation{expected: 2, stack: wrlock, mem: words(0x4ff8, -8, 0x12345672, -4, 0x55d2, 0, 0xa)}, "lock pthread_rwlock_t 0x4ff8 [1 readers] (readers are not recorded)"},
		"write, after 0":                   {situation{expected: 2, stack: wrlock, mem: words(0x4ff8, 0, 0xa, 12, 3, 16, 7)}, "lock pthread_rwlock_t 0x4ff8 [1 readers] (readers are not recorded)"},
		"write, written":                   {situation{word: 0x5004, expected: 3, stack: wrlock, mem: words(0x4ff8, 0, 3, 24, 2)}, "lock pthread_rwlock_t 0x4ff8 [locked for writing] 2 certain"},
		"write, before a word":             {situation{word: 0x5004, expected: 3, stack: wrlock, mem: words(0x4ff8, 0, 0xa, 4, 0x1a)}, "lock pthread_rwlock_t 0x4ff8 [1 readers] (readers are not recorded)"},
		"write, not aligned":               {situation{expected: 3, stack: wrlock, mem: words(0x4ff4, 0, 3, 24, 2)}, "lock pthread_rwlock_t 0x0 unproved"},
		"write, packed":                    {situation{expected: 3, stack: stack{"pthread_rwlock_wrlock=4ff4"}, mem: words(0x4ff4, 0, 3, 24, 2)}, "lock pthread_rwlock_t 0x4ff4 [locked for writing] 2 certain"},
		"write, x86":                       {situation{arch: arch.X86, expected: 3, stack: wrlock, mem: words(0x4ff4, 0, 3, 28, 2)}, "lock pthread_rwlock_t 0x4ff4 [locked for writing] 2 certain"},
		"write, x86, elsewhere":            {situation{arch: arch.X86, expected: 3, stack: wrlock, mem: words(0x4ff4, 0, 3, 24, 0x100, 28, 77)}, "lock pthread_rwlock_t 0x4ff4 [locked for writing] 77 possible (held by thread 77 of another process)"},
		"write, x86, after a pointer":      {situation{arch: arch.X86, expected: 2, stack: wrlock, mem: words(0x4ff8, -4, 0x56789abe, 0, 0xa)}, "lock pthread_rwlock_t 0x4ff8 [1 readers] (readers are not recorded)"},
		"write, old glibc":                 {situation{word: 0x5004, expected: 7, stack: wrlock, mem: words(0x4ff8, 20, 1, 24, 2)}, "lock pthread_rwlock_t 0x4ff8 [locked for writing] 2 certain"},
		"write, old, readers":              {situation{word: 0x5004, expected: 7, stack: wrlock, mem: words(0x4ff8, 4, 2, 20, 1)}, "lock pthread_rwlock_t 0x4ff8 [2 readers] (readers are not recorded)"},
		"write, old, nobody sleeps":        {situation{word: 0x5004, expected: 7, stack: wrlock, mem: words(0x4ff8, 4, 2)}, "lock pthread_rwlock_t 0x0 unproved"},
		"read, old glibc":                  {situation{expected: 7, stack: rdlock, mem: words(0x4ff8, 16, 1, 24, 2)}, "read-lock pthread_rwlock_t 0x4ff8 [locked for writing] 2 certain"},
		"write, old or new":                {situation{arch: arch.X86, expected: 2, stack: wrlock, mem: words(0x4ff4, 4, 2, 20, 1)}, "lock pthread_rwlock_t 0x0 unproved"},
		"write, old by its address":        {situation{arch: arch.X86, expected: 2, stack: stack{"futex_wait", "pthread_rwlock_wrlock=4ff4"}, mem: words(0x4ff4, 4, 2, 20, 1)}, "lock pthread_rwlock_t 0x4ff4 [2 readers] (readers are not recorded)"},
		"write, new by its address":        {situation{arch: arch.X86, expected: 2, stack: stack{"futex_wait", "pthread_rwlock_wrlock=4ff8"}, mem: words(0x4ff4, 4, 0xa, 20, 1)}, "lock pthread_rwlock_t 0x4ff8 [1 readers] (readers are not recorded)"},
		"write, of an unknown C library":   {situation{libc: "/lib/libother.so", word: 0x5004, expected: 3, stack: wrlock, mem: words(0x4ff8, 0, 3, 24, 2)}, "lock pthread_rwlock_t 0x0 unproved"},

		"barrier, all left":                {situation{expected: 5, stack: stack{"pthread_barrier_wait"}, mem: map[uint64]uint32{at - 4: 3, at + 4: 4}}, "barrier pthread_barrier_t 0x4ffc unproved"},
		"of another C library":             {situation{libc: "/lib/libother.so", expected: 2, stack: stack{"pthread_mutex_lock"}, mem: at1(8, 2)}, "lock pthread_mutex_t 0x5000 unproved"},
		"condition":                        {situation{expected: 1, stack: stack{"pthread_cond_wait@@GLIBC_2.3.2"}}, "condition pthread_cond_t 0x4fd8"},
		"condition of a new glibc":         {situation{expected: 1, stack: stack{"pthread_cond_wait=4fe0"}}, "condition pthread_cond_t 0x4fe0"},
		"condition of an old glibc":        {situation{expected: 1, stack: stack{"pthread_cond_wait=4ffc"}}, "condition pthread_cond_t 0x4ffc"},
		"join":                             {situation{op: 0x109, expected: 2, stack: stack{"__pthread_clockjoin_ex"}}, "join  0x0 2 certain"},
		"join, no thread":                  {situation{op: 0x109, expected: 3, stack: stack{"pthread_join"}}, "join  0x0 unproved"},
		"semaphore, 64-bit time":           {situation{op: 0x189, stack: stack{"__sem_clockwait_time64"}}, "semaphore sem_t 0x5000"},
		"condition, 64-bit time":           {situation{op: 0x189, word: 0x5028, stack: stack{"___pthread_cond_clockwait64"}}, "condition pthread_cond_t 0x5000"},
		"semaphore":                        {situation{op: 0x189, stack: stack{"__new_sem_wait_slow64"}}, "semaphore sem_t 0x5000"},
		"barrier":                          {situation{expected: 5, stack: stack{"pthread_barrier_wait"}, mem: map[uint64]uint32{at - 4: 7, at + 4: 4}}, "barrier pthread_barrier_t 0x4ffc [2 of 4 arrived]"},
		"barrier of no size":               {situation{expected: 5, stack: stack{"pthread_barrier_wait"}, mem: map[uint64]uint32{at - 4: 7, at + 4: 0}}, "barrier pthread_barrier_t 0x4ffc unproved"},
		"stream":                           {situation{expected: 2, stack: stack{"_IO_flockfile"}, mem: at1(4, 1, 8, 0x4f00, 12, 0)}, "lock lock of a FILE 0x5000 2 certain"},
		"stream of nobody":                 {situation{expected: 2, stack: stack{"_IO_flockfile"}, mem: at1(4, 1, 8, 0x4f08, 12, 0)}, "lock lock of a FILE 0x5000 unproved"},
		"stream, given back":               {situation{expected: 2, stack: stack{"_IO_flockfile"}, mem: at1(4, 0, 8, 0x4f00, 12, 0)}, "lock lock of a FILE 0x5000 unproved"},
		"FILE":                             {situation{expected: 2, stack: stack{"__lll_lock_wait_private", "fputs", "work"}, files: 0x50f0, mem: file(4, 1, 8, 0x4f00)}, "lock FILE 0x4f60 [descriptor 3] 2 certain"},
		"FILE of nobody":                   {situation{expected: 2, stack: stack{"__lll_lock_wait_private", "fputs", "work"}, files: 0x50f0, mem: file(4, 1, 8, 0x4f08)}, "lock FILE 0x4f60 [descriptor 3]"},
		"FILE without a descriptor":        {situation{expected: 2, stack: stack{"__lll_lock_wait_private", "fputs", "work"}, files: 0x50f0, mem: file(-0x30, 0xffffffff)}, "lock FILE 0x4f60"},
		"FILE, the second":                 {situation{expected: 2, stack: stack{"__lll_lock_wait_private", "fputs", "work"}, files: 0x50f0, mem: file(0xf0, 0x5010, 0x10, 0xfbad0000, 0x78, 0x4f60, 0x98, 0x5060)}, "lock FILE 0x4f60 [descriptor 3]"},
		"FILE, after what is none":         {situation{expected: 2, stack: stack{"__lll_lock_wait_private", "fputs", "work"}, files: 0x50f0, mem: file(0xf0, 0x5010, 0x10, 0xfbac0000, 0x78, 0x4f60, 0x98, 0x5060)}, "lock lock of the C library 0x5000"},
		"FILE, in a circle":                {situation{expected: 2, stack: stack{"__lll_lock_wait_private", "fputs", "work"}, files: 0x50f0, mem: file(-0x38, 0x4f60)}, "lock FILE 0x4f60 [descriptor 3]"},
		"FILE, x86":                        {situation{arch: arch.X86, expected: 2, stack: stack{"__lll_lock_wait_private", "fputs", "work"}, files: 0x50f0, mem: words(0x4f80, 0x170, 0x4f80, 0, 0xfbad2484, 72, 0x5000, 56, 5)}, "lock FILE 0x4f80 [descriptor 5]"},
		"FILE, arm64, by the owner's id":   {byID(arch.ARM64, 32, 1, 0xa0, 2), "lock FILE 0x4f60 [descriptor 3] 2 certain"},
		"FILE, the owner has no such id":   {byID(arch.ARM64, 32, 1, 0xa0, 3), "lock FILE 0x4f60 [descriptor 3]"},
		"FILE, the id is no number":        {byID(arch.ARM64, 64, 1, 0xa0, 2), "lock FILE 0x4f60 [descriptor 3]"},
		"FILE, the ids are several":        {byID(arch.ARM64, 32, 2, 0xa0, 2), "lock FILE 0x4f60 [descriptor 3]"},
		"FILE, the id is too far":          {byID(arch.ARM64, 32, 1, 1<<13, 2), "lock FILE 0x4f60 [descriptor 3]"},
		"FILE, x86, by the owner's id":     {situation{arch: arch.X86, expected: 2, stack: stack{"__lll_lock_wait_private", "fputs", "work"}, files: 0x50f0, mem: words(0x4f80, 0x170, 0x4f80, 0, 0xfbad2484, 72, 0x5000, 56, 5, 0x84, 1, 0x88, 0x4f10, 0x160, 32, 0x164, 1, 0x168, 0x68, -8, 2)}, "lock FILE 0x4f80 [descriptor 5] 2 certain"},
		"no FILE":                          {situation{expected: 2, stack: stack{"__lll_lock_wait_private", "fputs", "work"}, files: 0x50f0, mem: file(-0x18, 0x5004)}, "lock lock of the C library 0x5000"},
		"no list of FILEs":                 {situation{expected: 2, stack: stack{"__lll_lock_wait_private", "fputs", "work"}, mem: file()}, "lock lock of the C library 0x5000"},
		"lock of another C library":        {situation{libc: "/lib/libother.so", expected: 2, stack: stack{"__lll_lock_wait_private", "fputs", "work"}, files: 0x50f0, mem: file()}, "lock lock of the C library 0x5000 unproved"},
		"FILE of musl":                     {situation{libc: muslPath, expected: 0x40000002, stack: stack{"__lockfile", "fputs", "work"}}, "lock lock of a FILE 0x5000 2 certain"},
		"FILE of musl, no symbols":         {situation{libc: muslPath, expected: 0x40000002, stack: stack{"", "vfprintf", "work"}}, "lock lock of a FILE 0x5000 2 certain"},
		"a word of musl, no such owner":    {situation{libc: muslPath, expected: 0x40000009, stack: stack{"", "vfprintf", "work"}}, "address  0x5000 unproved"},
		"a word of musl, nobody waits":     {situation{libc: muslPath, expected: 2, stack: stack{"", "vfprintf", "work"}}, "address  0x5000 unproved"},
		"a word like musl's, of glibc":     {situation{expected: 0x40000002, stack: stack{"", "vfprintf", "work"}}, "address  0x5000 unproved"},
		"a word like musl's, another code": {situation{libc: muslPath, expected: 0x40000002, code: 0x2800, stack: stack{"", "work"}}, "address  0x5000 unproved"},
		"FILE of musl, free":               {situation{libc: muslPath, expected: 0x40000000, stack: stack{"__lockfile", "fputs", "work"}}, "lock lock of a FILE 0x5000 unproved"},
		"FILE of another C library":        {situation{libc: "/lib/libother.so", expected: 2, stack: stack{"flockfile"}, files: 0x50f0, mem: file(4, 1, 8, 0x4f00)}, "lock lock of a FILE 0x5000 unproved"},

		// refused by the kernel
		"refused":                                   {situation{op: 0x189, stack: stack{"__futex_abstimed_wait64", "__pthread_mutex_lock_full=5040"}, mem: at1(0x40, 0x80000002, 0x50, 0x20)}.onStack(), "lock pthread_mutex_t 0x0 unproved (the lock was refused: there would be a deadlock)"},
		"refused, of one who waits":                 {situation{op: 0x189, stack: stack{"__futex_abstimed_wait64", "__pthread_mutex_lock_full=5040"}, mem: at1(0x40, 0x80000002, 0x50, 0x20), waits: true}.onStack(), "lock pthread_mutex_t 0x5040 [priority-inheriting] unproved 2 possible (a lock was refused, possibly this one: there would be a deadlock)"},
		"refused, with a limit":                     {situation{op: 0x189, timeout: 1, stack: stack{"__futex_abstimed_wait64", "__pthread_mutex_lock_full=5040"}, mem: at1(0x40, 0x80000002, 0x50, 0x20), waits: true}.onStack(), "lock pthread_mutex_t 0x5040 [priority-inheriting] timed unproved 2 possible (a lock was refused, possibly this one: there would be a deadlock)"},
		"refused, by the kind":                      {situation{op: 0x189, stack: stack{"__futex_abstimed_wait64", "__pthread_mutex_lock_full=5050"}, mem: at1(0x40, 0x80000002, 0x50, 0x20), waits: true}.onStack(), "lock pthread_mutex_t 0x5040 [priority-inheriting] unproved 2 possible (a lock was refused, possibly this one: there would be a deadlock)"},
		"refused, another's mutex is not wanted":    {situation{op: 0x189, stack: stack{"__futex_abstimed_wait64", "__pthread_mutex_lock_full=5040"}, mem: at1(0x40, 2, 0x50, 0x20), waits: true}.onStack(), "lock pthread_mutex_t 0x0 unproved (the lock was refused: there would be a deadlock)"},
		"refused, its own":                          {situation{op: 0x189, stack: stack{"__futex_abstimed_wait64", "__pthread_mutex_lock_full=5040"}, mem: at1(0x40, 0x80000001, 0x50, 0x20), waits: true}.onStack(), "lock pthread_mutex_t 0x0 unproved (the lock was refused: there would be a deadlock)"},
		"refused, one of two":                       {situation{op: 0x189, stack: stack{"__futex_abstimed_wait64", "__pthread_mutex_lock_full=5040,5080"}, mem: at1(0x40, 0x80000002, 0x50, 0x20, 0x80, 0x80000002, 0x90, 0x20), waits: true}.onStack(), "lock pthread_mutex_t 0x0 unproved (the lock was refused: there would be a deadlock)"},
		"refused, one of two that nobody waits for": {situation{op: 0x189, stack: stack{"__futex_abstimed_wait64", "__pthread_mutex_lock_full=5040,5080"}, mem: at1(0x40, 0x80000002, 0x50, 0x20, 0x80, 0x80000002, 0x90, 0x20), waits: true, waitsAt: 0x5080}.onStack(), "lock pthread_mutex_t 0x5040 [priority-inheriting] unproved 2 possible (a lock was refused, possibly this one: there would be a deadlock)"},
		"refused, no mutex":                         {situation{op: 0x189, stack: stack{"__futex_abstimed_wait64", "__pthread_mutex_lock_full=5040"}, mem: at1(0x40, 0x80000002, 0x50, 0), waits: true}.onStack(), "lock pthread_mutex_t 0x0 unproved (the lock was refused: there would be a deadlock)"},
		"refused, free":                             {situation{op: 0x189, stack: stack{"__futex_abstimed_wait64", "__pthread_mutex_lock_full=5040"}, mem: at1(0x40, 0x80000000, 0x50, 0x20), waits: true}.onStack(), "lock pthread_mutex_t 0x0 unproved (the lock was refused: there would be a deadlock)"},
		"refused by musl":                           {situation{libc: muslPath, stack: stack{"__timedwait", "__pthread_mutex_timedlock=5040"}, mem: at1(0x40, 8, 0x44, 0x80000002), waits: true}.onStack(), "lock pthread_mutex_t 0x5040 [priority-inheriting] unproved 2 possible (a lock was refused, possibly this one: there would be a deadlock)"},
		"refused by musl, not wanted":               {situation{libc: muslPath, stack: stack{"__timedwait", "__pthread_mutex_timedlock=5040"}, mem: at1(0x40, 8, 0x44, 2), waits: true}.onStack(), "lock pthread_mutex_t 0x0 unproved (the lock was refused: there would be a deadlock)"},

		"not refused, another value": {situation{op: 0x189, expected: 1, stack: stack{"__futex_abstimed_wait64", "__pthread_mutex_lock_full=5040"}, mem: at1(0x40, 2, 0x50, 0x20)}.onStack(), "lock pthread_mutex_t 0x9110 unproved"},

		// musl
		"musl, normal":       {situation{libc: muslPath, expected: 0x80000010, stack: stack{"__timedwait", "pthread_mutex_lock"}}, "lock pthread_mutex_t 0x4ffc (musl does not record who holds such a mutex)"},
		"musl, recursive":    {situation{libc: muslPath, expected: 0x80000002, stack: stack{"pthread_mutex_lock"}, mem: below(4, 1)}, "lock pthread_mutex_t 0x4ffc [recursive] 2 certain"},
		"musl, robust":       {situation{libc: muslPath, expected: 0x80000002, stack: stack{"pthread_mutex_lock"}, mem: below(4, 6)}, "lock pthread_mutex_t 0x4ffc [error-checking, robust] 2 certain"},
		"musl, owner died":   {situation{libc: muslPath, expected: 0xc0000002, stack: stack{"pthread_mutex_lock"}, mem: below(4, 5)}, "lock pthread_mutex_t 0x4ffc [recursive, robust] unproved (its owner died holding it)"},
		"musl, shared":       {situation{libc: muslPath, expected: 0x8000004d, stack: stack{"pthread_mutex_lock"}, mem: below(4, 0x81)}, "lock pthread_mutex_t 0x4ffc [recursive, shared] 77 possible (held by thread 77 of another process)"},
		"musl, read":         {situation{libc: muslPath, expected: 0xffffffff, stack: stack{"pthread_rwlock_timedrdlock"}}, "read-lock pthread_rwlock_t 0x5000 [locked for writing] (musl does not record who holds such a lock)"},
		"musl, write":        {situation{libc: muslPath, expected: 0x80000002, stack: stack{"pthread_rwlock_timedwrlock"}}, "lock pthread_rwlock_t 0x5000 [2 readers] (readers are not recorded)"},
		"musl, free":         {situation{libc: muslPath, expected: 0x80000000, stack: stack{"pthread_rwlock_timedwrlock"}}, "lock pthread_rwlock_t 0x5000 unproved"},
		"musl, condition":    {situation{libc: muslPath, expected: 2, stack: stack{"pthread_cond_timedwait=5040"}, mem: at1(0x48, at-20, 0x4c, 0)}, "condition pthread_cond_t 0x5040"},
		"musl, last of many": {situation{libc: muslPath, expected: 2, stack: stack{"pthread_cond_timedwait=5040"}, mem: at1(0x68, at-20, 0x6c, 0)}, "condition pthread_cond_t 0x5040"},
		"musl, in between":   {situation{libc: muslPath, expected: 2, stack: stack{"pthread_cond_timedwait=5040"}}, "condition pthread_cond_t 0x0"},
		"musl, join":         {situation{libc: muslPath, expected: 2, stack: stack{"pthread_join"}, mem: below(8, 2)}, "join  0x0 2 certain"},
		"musl, barrier":      {situation{libc: muslPath, expected: 1, stack: stack{"pthread_barrier_wait"}}, "barrier pthread_barrier_t 0x0"},

		// once
		"once":           {situation{expected: 1, stack: stack{"futex_wait", "__pthread_once_slow"}, other: stack{"init", "__pthread_once_slow=5000", "work"}}, "once pthread_once_t 0x5000 2 certain"},
		"once, another":  {situation{expected: 1, stack: stack{"futex_wait", "__pthread_once_slow"}, other: stack{"init", "__pthread_once_slow=5010", "work"}}, "once pthread_once_t 0x5000"},
		"once, itself":   {situation{expected: 1, stack: stack{"__pthread_once_slow", "init", "__pthread_once_slow=5000"}}, "once pthread_once_t 0x5000 1 certain"},
		"once, in doubt": {situation{expected: 1, stack: stack{"__pthread_once_slow", "init", "__pthread_once_slow=5000"}, other: stack{"init", "__pthread_once_slow=5000"}}, "once pthread_once_t 0x5000 1 possible 2 possible"},
		"static":         {situation{expected: 0x10100, stack: stack{"syscall", "__cxa_guard_acquire", "first"}, other: stack{"Slow::Slow", "first", "work"}}, "once guard of a static variable 0x5000 2 possible"},
		"static, alone":  {situation{expected: 0x10100, stack: stack{"syscall", "__cxa_guard_acquire", "first"}, other: stack{"second", "work"}}, "once guard of a static variable 0x5000"},

		// languages
		"future":                {situation{expected: 0x80000000, stack: stack{"syscall", "std::__atomic_futex_unsigned_base::_M_futex_wait_until", "work"}}, "future shared state of a std::future 0x4ff0"},
		"latch":                 {situation{expected: 1, op: 0x180, stack: stack{"syscall", "std::__detail::__platform_wait<int>", "std::__atomic_base<int>::wait", "std::latch::wait", "work"}}, "barrier std::latch 0x5000"},
		"atomic":                {situation{expected: 1, stack: stack{"syscall", "std::__detail::__platform_wait<int>", "std::__atomic_base<int>::wait", "work", "std::latch::wait"}}, "address std::atomic<int> 0x5000"},
		"barrier, C++":          {situation{expected: 1, stack: stack{"syscall", "std::__tree_barrier<E>::wait", "std::barrier<E>::arrive_and_wait"}}, "barrier std::barrier 0x0"},
		"read, Rust":            {situation{expected: 0x3fffffff, stack: stack{"syscall", "<std::sys::sync::rwlock::futex::RwLock>::read_contended"}}, "read-lock std::sync::RwLock 0x5000 [locked for writing]"},
		"read, a writer waits":  {situation{expected: 0x80000002, stack: stack{"syscall", "std::sys::sync::rwlock::futex::RwLock::read_contended"}}, "read-lock std::sync::RwLock 0x5000 [2 readers, and a writer waits]"},
		"write, Rust":           {situation{expected: 1, stack: stack{"syscall", "std::sys::unix::locks::futex_rwlock::RwLock::write_contended"}, mem: below(4, 0x80000002)}, "lock std::sync::RwLock 0x4ffc [2 readers] (readers are not recorded)"},
		"write, Rust, written":  {situation{expected: 1, stack: stack{"syscall", "std::sys::sync::rwlock::futex::RwLock::write_contended"}, mem: below(4, 0xbfffffff)}, "lock std::sync::RwLock 0x4ffc [locked for writing]"},
		"write, Rust, free":     {situation{expected: 1, stack: stack{"syscall", "std::sys::sync::rwlock::futex::RwLock::write_contended"}}, "lock std::sync::RwLock 0x4ffc unproved (the lock is free: it is being handed over)"},
		"mutex, Rust":           {situation{expected: 2, stack: stack{"syscall", "std::sys::sync::mutex::futex::Mutex::lock_contended"}}, "lock std::sync::Mutex 0x5000"},
		"channel":               {situation{expected: 0xffffffff, stack: stack{"syscall", "<std::sys::sync::thread_parking::futex::Parker>::park", "std::sync::mpmc::list::Channel<T>::recv::{{closure}}"}}, "channel-receive std::sync::mpsc channel 0x0"},
		"parked":                {situation{expected: 0xffffffff, stack: stack{"syscall", "<std::sys::sync::thread_parking::futex::Parker>::park", "work"}}, "signal std::thread::Thread::unpark 0x0"},
		"parking_lot":           {situation{expected: 1, stack: stack{"syscall", "parking_lot::raw_mutex::RawMutex::lock_slow"}, mem: map[uint64]uint32{at - 32: 0x5080, 0x5080: 3}}, "lock parking_lot::Mutex 0x5080"},
		"parking_lot, a writer": {situation{expected: 1, stack: stack{"syscall", "parking_lot::raw_rwlock::RawRwLock::lock_exclusive_slow"}, mem: map[uint64]uint32{at - 32: 0x5081, 0x5080: 3}}, "lock parking_lot::RwLock 0x5080"},
		"parking_lot, free":     {situation{expected: 1, stack: stack{"syscall", "parking_lot::raw_mutex::RawMutex::lock_slow"}, mem: map[uint64]uint32{at - 32: 0x5080}}, "lock parking_lot::Mutex 0x0 unproved"},
		"OpenMP, lock":          {situation{libc: "/usr/lib/libgomp.so.1", expected: 0xffffffff, stack: stack{"", "work"}}, "lock lock of OpenMP 0x5000"},
		"OpenMP, barrier":       {situation{libc: "/usr/lib/libgomp.so.1", expected: 8, stack: stack{"", "work"}}, "barrier barrier of OpenMP 0x5000"},
		"Go":                    {situation{stack: stack{"runtime.futex", "runtime.stopm"}}, "no wait"},
	} {
		if got := c.describe(t); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// onStack moves the word to the stack of the second frame.
func (s situation) onStack() situation {
	s.word = 0x9110
	return s
}
