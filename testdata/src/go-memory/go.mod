module fixtures/go-memory

go 1.20
