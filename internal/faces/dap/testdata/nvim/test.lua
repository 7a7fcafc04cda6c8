-- The plugin opens a core: what is in the quickfix list, the line that it leads to, and a value are written as JSON to the file of the
-- environment's OUT. nvim-dap is the one of the runtime path.
local function wait(what, until_)
  if not vim.wait(30000, until_, 5) then
    error("no " .. what)
  end
end

local ok, result = pcall(function()
  local dap = require("dap")
  vim.cmd("Corewalk " .. vim.env.CORE .. " " .. vim.env.BINARY)
  wait("quickfix list", function()
    return #vim.fn.getqflist() > 0
  end)
  local texts, first = {}, nil
  for i, entry in ipairs(vim.fn.getqflist()) do
    table.insert(texts, entry.text)
    first = first or (entry.text:match("^#2 ") and i)
  end
  local session = dap.session()
  local function ask(command, arguments)
    local answer, failed
    session:request(command, arguments, function(err, body)
      answer, failed = body or {}, err
    end)
    wait("response to " .. command, function()
      return answer or failed
    end)
    if failed then
      error(command .. ": " .. failed.message)
    end
    return answer
  end
  local frame = ask("stackTrace", { threadId = session.stopped_thread_id, levels = 4 }).stackFrames[3]
  local value = ask("evaluate", { expression = "here.next->weight.whole", frameId = frame.id, context = "watch" })
  vim.cmd("cc " .. first)
  local line = vim.api.nvim_get_current_line()
  local notified
  vim.notify = function(text)
    notified = text
  end
  vim.cmd("CorewalkMore")
  wait("notice", function()
    return notified
  end)
  return { texts = texts, line = line, value = value.result, more = notified, configured = dap.configurations.c[1].name }
end)
local out = io.open(vim.env.OUT, "w")
out:write(vim.fn.json_encode(ok and result or { error = tostring(result) }))
out:close()
vim.cmd("qall!")
