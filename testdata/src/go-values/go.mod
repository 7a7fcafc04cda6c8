module fixtures/deep/go-values

go 1.20
