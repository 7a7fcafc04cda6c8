module fixtures/go-bounds

go 1.20
