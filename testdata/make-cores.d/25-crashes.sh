# One fixture for each way to die in arch/crashes.c, on the architectures whose
# instructions are decoded to tell it.
#
#   line of the table of architectures | way | signal | what happens
crash_table='
amd64   | far        | SIGSEGV | an element at a large index of a null array
amd64   | negative   | SIGSEGV | container_of applied to a null pointer
amd64   | poison     | SIGSEGV | a pointer read from freed memory
amd64   | flip       | SIGSEGV | a pointer with one bit changed
amd64   | misaligned | SIGSEGV | an aligned 16-byte store to a misaligned address
amd64   | least      | SIGFPE  | division of the most negative number by -1
amd64   | undefined  | SIGILL  | the trap instruction that a compiler generates for undefined behaviour
amd64   | breakpoint | SIGTRAP | a breakpoint instruction
amd64   | seccomp    | SIGSYS  | a system call that a seccomp filter forbids
amd64   | guard      | SIGSEGV | a page without access permissions between other pages
amd64   | halt       | SIGSEGV | a privileged instruction
amd64   | run_out    | SIGSEGV | an instruction that extends into a page without code
amd64   | minus_one  | SIGSEGV | the result of a failed mmap used as a pointer
amd64   | time       | SIGXCPU | the limit on processor time is exceeded
i386    | misaligned | SIGSEGV | an aligned 16-byte store to a misaligned address
i386    | negative   | SIGSEGV | container_of applied to a null pointer
i386    | least      | SIGFPE  | division of the most negative number by -1
i386    | seccomp    | SIGSYS  | a system call that a seccomp filter forbids
i386    | again      | SIGSEGV | a signal handler raises its signal again
i386    | null_call  | SIGSEGV | a call through a null function pointer
arm     | misaligned | SIGBUS  | a load of two registers from an odd address
arm     | trap       | SIGILL  | the trap instruction that a compiler generates for unreachable code
arm     | null_call  | SIGSEGV | a call through a null function pointer
aarch64 | far        | SIGSEGV | an element at a large index of a null array
aarch64 | undefined  | SIGTRAP | the trap instruction that a compiler generates for undefined behaviour
aarch64 | null_call  | SIGSEGV | a call through a null function pointer
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
