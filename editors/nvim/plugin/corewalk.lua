-- Opens cores and minidumps in Neovim by nvim-dap: copy this file to ~/.config/nvim/plugin.
--   :Corewalk CORE [BINARY]  opens a dump; why the process died and its frames are in the quickfix list
--   :CorewalkMore            lists more goroutines and tasks
-- vim.g.corewalk = { command = "corewalk", launch = { search = "/builds" } } says where the program is, and what each launch request has.
local options = vim.tbl_extend("keep", vim.g.corewalk or {}, { command = "corewalk", launch = {} })

-- lines puts a text of several lines into entries of the quickfix list.
local function lines(entries, text)
  for line in (text or ""):gmatch("[^\n]+") do
    table.insert(entries, { text = line })
  end
end

-- entries are those of the quickfix list: the reason, the program's message, the causes, and the frames of the thread that died.
local function entries(report)
  local list, crash = {}, report.crash
  if type(crash) ~= "table" then
    return { { text = "nothing says that the process died" } }
  end
  lines(list, (crash.signal or crash.exception or "died") .. (crash.reason and ": " .. crash.reason or ""))
  lines(list, crash.message)
  for _, cause in ipairs(crash.causes or {}) do
    lines(list, "cause: " .. cause.text .. (cause.confidence and " [" .. cause.confidence .. "]" or ""))
  end
  for _, thread in ipairs(report.threads) do
    if thread.id == crash.thread then
      for _, frame in ipairs(thread.frames) do
        local source = type(frame.source) == "table" and frame.source or {}
        local entry = { text = "#" .. frame.index .. " " .. (frame["function"] or frame.pc), lnum = source.line }
        if source.file and vim.fn.filereadable(source.file) == 1 then
          entry.filename, entry.col = source.file, source.column
        end
        table.insert(list, entry)
      end
    end
  end
  return list
end

local function show(session)
  session:request("cause", nil, function(err, report)
    if err then
      vim.notify("corewalk: " .. (err.message or tostring(err)), vim.log.levels.ERROR)
      return
    end
    vim.schedule(function()
      vim.fn.setqflist({}, " ", { title = "corewalk", items = entries(report) })
    end)
  end)
end

-- setup tells nvim-dap of the adapter. It returns nvim-dap; nil if that is not installed.
local function setup()
  local ok, dap = pcall(require, "dap")
  if not ok then
    return nil
  end
  if dap.adapters.corewalk then
    return dap
  end
  dap.adapters.corewalk = { type = "executable", command = options.command, args = { "dap" } }
  for _, filetype in ipairs({ "c", "cpp", "objc", "objcpp", "rust", "go", "fortran", "ada", "d", "pascal", "nim", "crystal", "ocaml", "zig", "swift" }) do
    dap.configurations[filetype] = dap.configurations[filetype] or {}
    table.insert(dap.configurations[filetype], vim.tbl_extend("keep", {
      type = "corewalk", request = "launch", name = "corewalk: open core",
      core = function()
        return vim.fn.input("core: ", vim.fn.getcwd() .. "/", "file")
      end,
    }, options.launch))
  end
  dap.listeners.after.event_stopped.corewalk = function(session)
    if session.config.type == "corewalk" then
      show(session)
    end
  end
  return dap
end

local function needed()
  local dap = setup()
  if not dap then
    vim.notify("corewalk: nvim-dap is not installed", vim.log.levels.ERROR)
  end
  return dap
end

vim.api.nvim_create_user_command("Corewalk", function(command)
  local dap = needed()
  if not dap then
    return
  end
  local core, binary = unpack(command.fargs)
  dap.run(vim.tbl_extend("keep", { type = "corewalk", request = "launch", name = core, core = vim.fn.fnamemodify(core, ":p"), binary = binary and vim.fn.fnamemodify(binary, ":p") }, options.launch))
end, { nargs = "+", complete = "file", desc = "open a core or minidump" })

vim.api.nvim_create_user_command("CorewalkMore", function()
  local dap = needed()
  local session = dap and dap.session()
  if session and session.config.type == "corewalk" then
    session:request("moreThreads", nil, function(err, more)
      vim.notify("corewalk: " .. (err and (err.message or tostring(err)) or more.added .. " more" .. (more.more and ", others follow" or "")))
    end)
  end
end, { desc = "list more goroutines and tasks of the dump" })

setup()
