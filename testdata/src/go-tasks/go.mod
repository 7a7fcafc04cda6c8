module go-tasks

go 1.18
