module fixtures/go-declared

go 1.18
