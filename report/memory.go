package report

// MemorySchema identifies the schema of WriteMemoryJSON's document.
const MemorySchema = "corewalk-memory/1"

// A Memory says what fills the memory of a process.
type Memory struct {
	// Schema is the constant MemorySchema. WriteMemoryJSON writes the constant whatever this field holds.
	Schema string `json:"schema"`
	Dump   Dump   `json:"dump"` // what is known of the dump
	// Mapped is the number of bytes of all mappings, Missing how many of those that may be written the dump has not got.
	Mapped  uint64 `json:"mapped"`
	Missing uint64 `json:"missing,omitempty"`
	// Areas are what mappings are for, the largest first.
	Areas      []MemoryPart      `json:"areas"`
	Allocators []MemoryAllocator `json:"allocators"`
	// Types are the types of blocks in use, those with the most bytes first. What has no Name is of a type that is not known: of each size apart.
	Types []MemoryType `json:"types"`
	// Roots are variables and the like from which most is reached. A block counts for one of them: the nearest of those with the best names.
	Roots []MemoryRoot `json:"roots,omitempty"`
	// Largest are the largest blocks, Keepers those that keep most alive.
	Largest []MemoryBlock `json:"largest"`
	Keepers []MemoryBlock `json:"keepers,omitempty"`
	// Unreached are blocks in use to which nothing leads, not even by a word that only looks like a pointer; nil if that was not found out.
	Unreached *MemoryUnreached `json:"unreached,omitempty"`
	Warnings  []Warning        `json:"warnings"`
}

// A MemoryPart is all mappings that are for one thing.
type MemoryPart struct {
	Kind     string `json:"kind"`     // one of the Area constants
	Mappings int    `json:"mappings"` // how many
	Bytes    uint64 `json:"bytes"`    // of all of them
}

// The values of MemoryPart.Kind.
const (
	AreaHeap     = "heap"      // of an allocator that is known
	AreaStack    = "stack"     // of a thread
	AreaCode     = "code"      // of modules
	AreaConstant = "constants" // of modules: what is read only
	AreaData     = "data"      // of modules
	AreaFile     = "files"     // that are no modules
	AreaShared   = "shared memory"
	AreaReserved = "reserved" // without access
	AreaOther    = "other"    // without a file
)

// A MemoryAllocator is one allocator with its blocks.
type MemoryAllocator struct {
	Name string      `json:"name"` // "glibc malloc"
	Used MemoryCount `json:"used"`
	Free MemoryCount `json:"free"`
	Own  MemoryCount `json:"own"` // blocks with its own records
	// LargestFree is the size of the largest free block, in bytes.
	LargestFree uint64 `json:"largest_free"`
	// Lists are where free blocks are.
	Lists []MemoryList `json:"lists,omitempty"`
	// Sizes are the blocks in use by their size: each row has those that are larger than the one before, and up to Size bytes.
	Sizes []MemorySize `json:"sizes"`
	// Damages are places where its records contradict themselves.
	Damages []string `json:"damages,omitempty"`
}

// A MemoryCount is a number of blocks, and of their bytes.
type MemoryCount struct {
	Count int    `json:"count"` // of blocks
	Bytes uint64 `json:"bytes"` // of all of them
}

// A MemoryList has free blocks.
type MemoryList struct {
	Name  string `json:"name"`  // "tcache"
	Count int    `json:"count"` // of blocks
	Bytes uint64 `json:"bytes"` // of all of them
}

// A MemorySize has the blocks of a range of sizes.
type MemorySize struct {
	Size  uint64 `json:"size"`  // of the largest, in bytes
	Count int    `json:"count"` // of blocks
	Bytes uint64 `json:"bytes"` // of all of them
}

// A MemoryType is all blocks of a type.
type MemoryType struct {
	Name string `json:"name,omitempty"` // "Order", "char[]"; "" if it is not known
	// Size is that of each block, in bytes, of those whose type is not known.
	Size  uint64 `json:"size,omitempty"`
	Count int    `json:"count"` // of blocks
	Bytes uint64 `json:"bytes"` // of all of them
	// Retained is how many bytes would be free without them: their own, and what is reached through them only; 0 if that was not found out.
	Retained uint64 `json:"retained,omitempty"`
	// Idle is how many of Bytes containers have for elements that they do not hold: std::vector, std::string, Vec, Python's lists. Of others it is not known.
	Idle uint64 `json:"idle,omitempty"`
	// By is how the type is known, one of the TypeBy constants; "" if it is not. All of it is likely only: a block that was handed out again may
	// hold what was there before, and a pointer may be of another type than what it leads to.
	By string `json:"by,omitempty"`
}

// The values of MemoryType.By.
const (
	TypeByTable   = "table"   // the blocks begin with the table of virtual functions of the type
	TypeByPointer = "pointer" // pointers of the type lead to them
	TypeByObject  = "object"  // the blocks are objects of a language that name their type, or parts of such
)

// A MemoryRoot is what leads into the heap from outside: a variable, a register, a stack.
type MemoryRoot struct {
	Name  string `json:"name"`  // "g_cache", "stack of thread 4242"
	Bytes uint64 `json:"bytes"` // of all of them
	Count int    `json:"count"` // of blocks
}

// A MemoryBlock is one block in use.
type MemoryBlock struct {
	Address Addr   `json:"address"`        // lowest
	Size    uint64 `json:"size"`           // in bytes
	Type    string `json:"type,omitempty"` // as in MemoryType
	// Path is the way that leads to it from outside of the heap, on the shortest way: "cache->items[3]"; "" if nothing does.
	Path     string `json:"path,omitempty"`
	Retained uint64 `json:"retained,omitempty"` // as in MemoryType
}

// A MemoryUnreached is what nothing leads to.
type MemoryUnreached struct {
	Count int    `json:"count"` // of blocks
	Bytes uint64 `json:"bytes"` // of all of them
	// Heads are those of them to which no other of them points.
	Heads MemoryCount  `json:"heads"`
	Types []MemoryType `json:"types"` // as in Memory
	// Blocks are the largest of the heads.
	Blocks []MemoryBlock `json:"blocks"`
}
