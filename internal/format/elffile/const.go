package elffile

// Object file types (gABI, "ELF Header", e_type).
const (
	ET_NONE = 0
	ET_REL  = 1
	ET_EXEC = 2
	ET_DYN  = 3
	ET_CORE = 4
)

// Machines (gABI e_machine registry) whose symbol tables or dynamic sections follow special
// rules, and machines with known cores.
const (
	EM_386       = 3
	EM_68K       = 4
	EM_MIPS      = 8
	EM_PARISC    = 15
	EM_PPC       = 20
	EM_PPC64     = 21
	EM_S390      = 22
	EM_ARM       = 40
	EM_SPARCV9   = 43
	EM_X86_64    = 62
	EM_AARCH64   = 183
	EM_RISCV     = 243
	EM_LOONGARCH = 258
	EM_ALPHA     = 0x9026
)

// Segment types (gABI and GNU extensions, p_type).
const (
	PT_NULL         = 0
	PT_LOAD         = 1
	PT_DYNAMIC      = 2
	PT_INTERP       = 3
	PT_NOTE         = 4
	PT_PHDR         = 6
	PT_TLS          = 7
	PT_GNU_EH_FRAME = 0x6474e550
	PT_GNU_STACK    = 0x6474e551
	PT_GNU_RELRO    = 0x6474e552
	PT_GNU_PROPERTY = 0x6474e553
	PT_ARM_EXIDX    = 0x70000001
)

// Segment permissions (p_flags).
const (
	PF_X = 1
	PF_W = 2
	PF_R = 4
)

// Section types (sh_type).
const (
	SHT_NULL         = 0
	SHT_PROGBITS     = 1
	SHT_SYMTAB       = 2
	SHT_STRTAB       = 3
	SHT_RELA         = 4
	SHT_HASH         = 5
	SHT_DYNAMIC      = 6
	SHT_NOTE         = 7
	SHT_NOBITS       = 8
	SHT_REL          = 9
	SHT_DYNSYM       = 11
	SHT_SYMTAB_SHNDX = 18
	SHT_ARM_EXIDX    = 0x70000001
)

// Section flags (sh_flags).
const (
	SHF_WRITE      = 0x1
	SHF_ALLOC      = 0x2
	SHF_EXECINSTR  = 0x4
	SHF_TLS        = 0x400
	SHF_COMPRESSED = 0x800
)

// Special section indexes. Those of symbols have all high bits set, so that an index from
// SHT_SYMTAB_SHNDX with the same low 16 bits is different.
const (
	SHN_UNDEF  = 0
	SHN_ABS    = 0xfffffff1
	SHN_COMMON = 0xfffffff2
	SHN_XINDEX = 0xffffffff
)

// Special indexes in 16-bit fields (st_shndx, e_shstrndx).
const (
	rawReserve = 0xff00
	rawXIndex  = 0xffff
)

// pnXNum in e_phnum means that section 0's sh_info has the count.
const pnXNum = 0xffff

// Dynamic tags (d_tag).
const (
	DT_NULL           = 0
	DT_NEEDED         = 1
	DT_PLTGOT         = 3
	DT_HASH           = 4
	DT_STRTAB         = 5
	DT_SYMTAB         = 6
	DT_STRSZ          = 10
	DT_SYMENT         = 11
	DT_INIT           = 12
	DT_FINI           = 13
	DT_SONAME         = 14
	DT_RPATH          = 15
	DT_DEBUG          = 21
	DT_RUNPATH        = 29
	DT_GNU_HASH       = 0x6ffffef5
	DT_MIPS_SYMTABNO  = 0x70000011
	DT_MIPS_RLD_MAP   = 0x70000016
	DT_MIPS_RLD_MAP_R = 0x70000035
)

// Symbol types (low four bits of st_info).
const (
	STT_NOTYPE    = 0
	STT_OBJECT    = 1
	STT_FUNC      = 2
	STT_SECTION   = 3
	STT_FILE      = 4
	STT_COMMON    = 5
	STT_TLS       = 6
	STT_GNU_IFUNC = 10
)

// Symbol bindings (high four bits of st_info).
const (
	STB_LOCAL      = 0
	STB_GLOBAL     = 1
	STB_WEAK       = 2
	STB_GNU_UNIQUE = 10
)

// Types of notes with the name "GNU".
const (
	NT_GNU_BUILD_ID   = 3
	NT_GO_BUILD_ID    = 4 // of owner "Go"
	NT_GNU_PROPERTY_0 = 5
)
