module conds

go 1.18
