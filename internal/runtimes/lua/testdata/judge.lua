-- Runs one of the cases below, writes what debug.traceback says of each level of each thread, youngest first, and dies.
-- judge.lua CASE
local unpack = table.unpack or unpack
local load = loadstring or load
local main = coroutine.running() -- nil until 5.1

local function write(list)
	local f = io.open("said", "w")
	for _, co in ipairs(list) do
		local level = co == "self" and 3 or 0 -- without write and dies
		while true do
			local text
			if co == "self" then
				text = debug.traceback("", level)
			else
				text = debug.traceback(co, "", level)
			end
			local line = text:match("^\nstack traceback:\n\t([^\n]*)")
			if not line then break end
			if line == "..." then -- until 5.2 it leaves some out
				local i = debug.getinfo(level, "Snl")
				line = i.short_src .. ":" .. i.currentline .. ": in function '" .. tostring(i.name) .. "'"
			end
			f:write(line, "\n")
			local tail = text:match("^\nstack traceback:\n[^\n]*\n\t(%(%.%.%.tail calls%.%.%.%))")
			if tail then f:write(tail, "\n") end
			level = level + 1
		end
	end
	f:close()
	local stat = io.open("/proc/self/stat"):read("*a")
	os.execute("kill -ABRT " .. stat:match("^%d+"))
end

-- dies is called by all cases; further threads are those that resumed the running one.
function dies(...)
	local a, b, c = "text", { 1, 2.5, x = { y = true } }, ...
	write({ "self", ... })
	return a, b, c
end

local cases = {}

cases["sort"] = function()
	local t = { 3, 1, 2 }
	table.sort(t, function(a, b)
		if a == 2 or b == 2 then
			string.gsub("abc", "b", function(m)
				local ok, e = pcall(pcall, function()
					dies()
				end)
			end)
		end
		return a < b
	end)
end

cases["coroutines"] = function()
	local outer
	outer = coroutine.create(function(n)
		local mine = outer
		local inner = coroutine.wrap(function(s)
			local co = coroutine.create(function()
				local function deep()
					dies(s, mine, main)
				end
				deep()
			end)
			s = coroutine.running()
			local waits = coroutine.wrap(function(x)
				local y = x .. "!"
				coroutine.yield(y)
			end)
			waits("waiting")
			local never = coroutine.create(function() end)
			coroutine.resume(co)
		end)
		inner()
	end)
	coroutine.resume(outer, 7)
end

cases["deep"] = function()
	local function down(n)
		if n == 0 then
			dies()
		end
		local r = down(n - 1)
		return r
	end
	down(180)
end

cases["tail"] = function()
	local function last(...)
		dies()
		return ...
	end
	local function middle(a)
		return last(a, 2, 3)
	end
	local t = { field = function(x)
		return middle(x)
	end }
	local r = t.field(1)
	return r
end

local V = {}
V.__index = V
function V.new(x)
	return setmetatable({ x = x }, V)
end
function V.__add(a, b)
	local n = a .. b
	return n
end
function V.__concat(a, b)
	return a < b and "" or "x"
end
function V.__lt(a, b)
	return a == b
end
function V.__eq(a, b)
	return -a
end
function V.__unm(a)
	local p = setmetatable({}, { __index = function(t, k)
		t[k] = 5
		return a(k)
	end, __newindex = function(t, k, v)
		rawset(t, k, v)
		V.method(a, k)
	end })
	return p.missing
end
function V.__call(self, ...)
	self:method(...)
end
function V:method(...)
	local n = select("#", ...)
	if rawget(self, "done") then
		return
	end
	self.done = true
	for _ in function()
		dies()
	end do
		break
	end
	return n
end

cases["metamethods"] = function()
	local a, b = V.new(1), V.new(2)
	local c = a + b
	return c
end

cases["chunks"] = function()
	local source = "local x, y = ...\nlocal f = function(...)\n\tlocal z = x\n\tdies()\n\treturn z\nend\nglobal = function(...) f(...) return 1 end\nglobal(1, nil, 'three')\nreturn x"
	load(source)(1, 2)
end

cases["named"] = function()
	load("local a = ...\na.b.c()\nreturn a", "=named")({ b = { c = function()
		select(2, unpack({ 1, pcall(dies) }))
	end } })
end

cases["closing"] = function()
	local function final()
		dies()
	end
	if newproxy then
		kept = newproxy(true)
		getmetatable(kept).__gc = final
	else
		kept = setmetatable({}, { __gc = final })
	end
end

cases["finalizer"] = function()
	local function final()
		local ok = pcall(error, { code = 7 })
		xpcall(function()
			local x = nil
			return x.field
		end, function(m)
			dies()
			return m
		end)
	end
	if newproxy then
		local p = newproxy(true)
		getmetatable(p).__gc = final
		p = nil
	else
		setmetatable({}, { __gc = final })
	end
	collectgarbage()
	collectgarbage()
end

cases["loops"] = function()
	for i = 1, 2 do
		for k, v in pairs({ a = 1 }) do
			local s = ("x"):rep(3)
			while true do
				local f = i == 1 and dies or print
				f()
				break
			end
		end
	end
end

cases["long"] = function()
	local lines = { "local t = {}" }
	for i = 1, 400 do
		lines[#lines + 1] = "t[" .. i .. "] = { " .. i .. " }" .. string.rep("\n", i % 7 == 0 and 150 or 1)
	end
	lines[#lines + 1] = "(function() dies() end)()\nreturn t"
	load(table.concat(lines, "\n"), "@long.lua")()
end

local run = cases[arg[1]]
run()
