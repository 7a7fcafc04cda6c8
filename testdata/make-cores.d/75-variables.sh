# Programs with variables of every kind, as several compilers describe them.

# vars_c COMPILER FLAG...: compiles vars.c with a function of 00-helpers.sh.
vars_c() { "$@" vars.c -o vars && run vars && ship vars && finish vars; }

make_vars-c-O0() { vars_c cc -O0 -g -w; }
make_vars-c-O2() { vars_c cc -O2 -g -w; }
make_vars-c-dwarf4-O1() { vars_c cc -O1 -g -gdwarf-4 -gstrict-dwarf -w; }
make_vars-c-clang-O0() { need clang-19 || return $?; vars_c clang -O0 -g -w; }
make_vars-c-clang-O2() { need clang-19 || return $?; vars_c clang -O2 -g -w; }

# vars_cxx COMPILER FLAG...: the same for vars.cpp.
vars_cxx() { "$@" -std=c++20 vars.cpp -o vars && run vars && ship vars && finish vars; }

make_vars-cxx-O0() { vars_cxx cxx -O0 -g -w; }
make_vars-cxx-O2() { vars_cxx cxx -O2 -g -w; }
