module inlined

go 1.18
