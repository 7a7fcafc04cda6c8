module go-many

go 1.18
