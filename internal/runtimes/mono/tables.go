package mono

import "sort"

// A domain has the code that was compiled for it.
type domain struct {
	tables [][]uint64 // each a list of chunks, in order of addresses
}

const (
	// domainSize is how much of a domain is searched for its tables, in bytes.
	domainSize = 1 << 10
	// maxTables is how many tables a domain has: that of methods, and that of what was compiled ahead of time.
	maxTables = 2
	// maxChunks is how many chunks of all tables are read, of up to chunkMethods methods.
	maxChunks    = 1 << 16
	chunkMethods = 64
)

// Where the fields of MonoJitInfoTable and MonoJitInfoTableChunk are.
const (
	tableChunks, tableFirst                = 8, 16
	chunkElements, chunkLast, chunkMethod0 = 4, 8, 24
)

// addDomain adds a domain; false if there is none at an address. A table names the domain that it is of.
func (r *runtime) addDomain(at uint64) bool {
	var d domain
	for off := uint64(0); off < domainSize && len(d.tables) < maxTables; off += 8 {
		t, ok := r.LookupWord(at + off)
		if !ok {
			break
		}
		if t == 0 || t == at || r.Word(t) != at {
			continue
		}
		n, ok := r.U32(t + tableChunks)
		if !ok || n == 0 || n > maxChunks-r.chunks {
			continue
		}
		chunks := make([]uint64, 0, n)
		for _, c := range r.words(t+tableFirst, int(n)) {
			if elements, ok := r.U32(c + chunkElements); !ok || elements > chunkMethods {
				break
			}
			chunks = append(chunks, c)
		}
		if len(chunks) == int(n) {
			r.chunks += n
			d.tables = append(d.tables, chunks)
		}
	}
	if len(d.tables) == 0 {
		return false
	}
	r.domains = append(r.domains, d)
	return true
}

// words reads n words.
func (r *runtime) words(at uint64, n int) []uint64 {
	b := r.Bytes(at, 8*n)
	list := make([]uint64, len(b)/8)
	for i := range list {
		list[i] = r.Arch.ByteOrder.Uint64(b[8*i:])
	}
	return list
}

// at finds the method whose code is at an address, of no size if there is none, and says how many chunks were searched.
func (r *runtime) at(addr uint64) (found Method, searched int) {
	for i := range r.domains {
		for _, chunks := range r.domains[i].tables {
			searched++
			if m, ok := r.inTable(chunks, addr); ok {
				return m, searched
			}
		}
	}
	return Method{}, searched
}

// inTable finds a method in a table. A chunk says where the last of its methods ends; the first that ends behind the address may have it.
func (r *runtime) inTable(chunks []uint64, addr uint64) (Method, bool) {
	i := sort.Search(len(chunks), func(i int) bool { return r.Word(chunks[i]+chunkLast) > addr })
	if i == len(chunks) {
		return Method{}, false
	}
	n, _ := r.U32(chunks[i] + chunkElements)
	for _, info := range r.words(chunks[i]+chunkMethod0, int(min(n, chunkMethods))) {
		start, ok := r.LookupWord(info + r.fields.codeStart)
		if !ok || addr < start {
			continue
		}
		size, ok := r.U32(info + r.fields.codeSize)
		if !ok || addr-start >= uint64(size) || start+uint64(size) < start {
			continue
		}
		of := r.Word(info)
		if name := r.stub(of, start); name != "" {
			return Method{name, start, uint64(size), r.stubTable(start, uint64(size))}, true
		}
		if name := r.name(of); name != "" { // else it was thrown away
			return Method{Name: name, Start: start, Size: uint64(size)}, true
		}
	}
	return Method{}, false
}
