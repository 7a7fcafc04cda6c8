# One fixture for each way to die in arch/crashes.c, on the architectures whose
# instructions are decoded to tell it.
#
#   line of the table of architectures | way | signal | what happens
crash_table='
amd64   | far        | SIGSEGV | an element far into a table that is null
amd64   | negative   | SIGSEGV | the struct around a member that is null
amd64   | poison     | SIGSEGV | a pointer out of freed memory
amd64   | flip       | SIGSEGV | a pointer with one bit changed
amd64   | misaligned | SIGSEGV | an aligned store of 16 bytes to where it may not be
amd64   | least      | SIGFPE  | the most negative number divided by -1
amd64   | undefined  | SIGILL  | what a compiler puts where undefined behaviour is found
amd64   | breakpoint | SIGTRAP | a breakpoint instruction
amd64   | seccomp    | SIGSYS  | a system call that a filter forbids
amd64   | guard      | SIGSEGV | a page without permissions between others
amd64   | halt       | SIGSEGV | an instruction for the kernel
amd64   | run_out    | SIGSEGV | an instruction that ends on a page without code
amd64   | minus_one  | SIGSEGV | the answer of a failed mmap used as a pointer
amd64   | time       | SIGXCPU | more processor time than allowed
i386    | misaligned | SIGSEGV | an aligned store of 16 bytes to where it may not be
i386    | negative   | SIGSEGV | the struct around a member that is null
i386    | least      | SIGFPE  | the most negative number divided by -1
i386    | seccomp    | SIGSYS  | a system call that a filter forbids
i386    | again      | SIGSEGV | a handler sends its signal again
i386    | null_call  | SIGSEGV | a function pointer that is null
arm     | misaligned | SIGBUS  | a load of two registers from an odd address
arm     | trap       | SIGILL  | what a compiler puts where code must not be reached
arm     | null_call  | SIGSEGV | a function pointer that is null
aarch64 | far        | SIGSEGV | an element far into a table that is null
aarch64 | undefined  | SIGTRAP | what a compiler puts where undefined behaviour is found
aarch64 | null_call  | SIGSEGV | a function pointer that is null
'

# crash_make LINE WAY SIGNAL DESCRIPTION
crash_make() {
	arch_setup "$1" || return $?
	out=$here/cores/$1-crash-$2
	arch_bare crashes crashes.c -O1 -g -fasynchronous-unwind-tables -fno-omit-frame-pointer "-DWAY=way_$2" || return 1
	mkdir -p "$out"
	[ -f "$out/case.json" ] ||
		sed -e "s/DESCRIPTION/$4/" -e "s/SIGNAL/$3/" -e "s/way_WAY/way_$2/" "$here/src/arch/crashes.json" >"$out/case.json"
	arch_run crashes && ship crashes && finish crashes
}

while IFS='|' read -r crash_line crash_way crash_signal crash_words; do
	[ -n "$crash_line" ] || continue
	read -r crash_line crash_way crash_signal <<<"$crash_line $crash_way $crash_signal"
	crash_name=$crash_line-crash-$crash_way
	eval "make_${crash_name#amd64-}() { crash_make $crash_line $crash_way $crash_signal '${crash_words# }'; }"
done <<<"$crash_table"
unset crash_name crash_line crash_way crash_signal crash_words

make_use-after-free() { simple use_after_free -O1 -g; }
