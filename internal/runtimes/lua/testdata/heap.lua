-- Makes objects, says how many and how much Lua itself counts, and dies.
local Point = {}
Point.__index = Point

kept = { points = {}, texts = {}, functions = {}, threads = {}, files = {} }
for i = 1, 5000 do
	kept.points[i] = setmetatable({ x = i, y = 2 * i }, Point)
end
for i = 1, 3000 do
	kept.texts[i] = ("the text of number %d, which is long enough for a block of its own"):format(i)
end
for i = 1, 2000 do
	local n = i
	kept.functions[i] = function() n = n + 1 return n end
end
for i = 1, 200 do
	local co = coroutine.create(function() coroutine.yield(i) end)
	coroutine.resume(co)
	kept.threads[i] = co
end
for i = 1, 7 do
	kept.files[i] = io.tmpfile()
end
collectgarbage()
collectgarbage()
local log = io.open("log", "w")
log:write(("%d\n"):format(collectgarbage("count") * 1024))
log:close()
os.execute("kill -ABRT $PPID")
