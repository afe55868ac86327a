-- Works in Neovim like a user who has the lines of docs/editors.md: opens files, reads findings, applies fixes, saves.
-- Writes what it saw to the file $STEPSMITH_REPORT as JSON; tests/test_other_editors.py judges it.

local LIMIT = 300000 -- milliseconds for one step
local PAUSE = 20
local report = {}
local messages = {} -- that were shown

local function snippet()
  local page = table.concat(vim.fn.readfile(vim.env.STEPSMITH_DOCS), "\n")
  local lines = page:match("\n## Neovim\n.-\n```lua\n(.-)\n```\n")
  return assert(loadstring(assert(lines, "docs/editors.md has no lines for Neovim"), "@docs/editors.md"))
end

local function finish(problem)
  report.problem = problem
  vim.fn.writefile({ vim.fn.json_encode(report) }, vim.env.STEPSMITH_REPORT)
  vim.cmd("qall!")
end

-- The steps run as a coroutine, so that between two looks Neovim handles messages and keys as ever.
local function wait(what, condition)
  local ending = vim.loop.now() + LIMIT
  while not condition() do
    if vim.loop.now() > ending then
      error("waited in vain for " .. what, 0)
    end
    coroutine.yield()
  end
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

local function go_to(words, column)
  local position = vim.fn.searchpos("\\V" .. words, "w")
  assert(position[1] > 0, words .. " is not in the text")
  vim.api.nvim_win_set_cursor(0, { position[1], position[2] - 1 + (column or 0) })
end

local function findings()
  local found = {}
  for _, item in ipairs(vim.diagnostic.get(0)) do
    local code = item.user_data and item.user_data.lsp and item.user_data.lsp.code
    table.insert(found, { line = item.lnum, column = item.col, message = ("[%s]: %s"):format(code, item.message) })
  end
  return found
end

local function wait_for_findings(wanted)
  wait("findings", function() return (#vim.diagnostic.get(0) > 0) == wanted end)
  return findings()
end

local function floating()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      return window
    end
  end
end

local function hover()
  vim.lsp.buf.hover()
  wait("the hover", floating)
  local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(floating()), 0, -1, false)
  vim.api.nvim_win_close(floating(), true)
  return table.concat(lines, "\n")
end

-- Applies the first action that is offered here, and returns the titles of all.
local function fix()
  local titles
  vim.ui.select = function(items, options, choose)
    titles = vim.tbl_map(options.format_item, items)
    choose(items[1])
  end
  local before = text()
  vim.lsp.buf.code_action()
  wait("a code action", function() return text() ~= before end)
  return titles
end

-- Types keys and returns the labels of the menu that opens, before it is closed again without a choice.
local function complete(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys .. "<C-x><C-o>", true, false, true), "t", false)
  wait("the menu", function() return #vim.fn.complete_info({ "items" }).items > 0 end)
  local labels = vim.tbl_map(function(item) return item.abbr end, vim.fn.complete_info({ "items" }).items)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes("<C-e><Esc>u", true, false, true), "t", false)
  wait("the end of insertion", function() return vim.fn.mode() == "n" end)
  return labels
end

-- Saves, waits until a message that begins with `verdict` is shown, and returns that message.
local function save(verdict)
  local before = #messages
  local shown
  vim.cmd("write")
  wait(verdict, function()
    for number = before + 1, #messages do
      shown = vim.startswith(messages[number], verdict) and messages[number] or shown
    end
    return shown
  end)
  return shown
end

local function lens_titles()
  return vim.tbl_map(function(lens) return lens.command.title end, vim.lsp.codelens.get(0))
end

local function python_file()
  vim.cmd("edit overused.py")
  report.python = wait_for_findings(true)
  go_to("(E1, E1)", 1)
  report.hover = hover()
  vim.lsp.buf.definition()
  wait("the definition", function() return vim.fn.getline("."):find("E1 = ", 1, true) end)
  report.definition = vim.trim(vim.fn.getline("."))
  go_to("(E1, E1)", 5)
  report.actions = fix()
  wait_for_findings(false)
  report.fixed = text()
  go_to("E1 = ")
  vim.lsp.buf.rename("twice")
  wait("the new name", function() return text():find("twice = ", 1, true) end)
  report.renamed = text()
  go_to("step.Map(fn=add)", 5)
  report.completions = complete("i")
  wait("the text of before", function() return text() == report.renamed end)
  report.verdict = save("overused passed")
  vim.lsp.codelens.refresh()
  wait("a code lens", function() return #vim.lsp.codelens.get(0) > 0 end)
  report.lenses = lens_titles()
  go_to("@step.program")
  local before = #messages
  vim.ui.select = function(lenses, how, choose)
    for number, lens in ipairs(lenses) do
      if how.format_item(lens):find("Simulate", 1, true) then choose(lens, number) end
    end
  end
  vim.lsp.codelens.run()
  wait("the second verdict", function() return #messages > before end)
  report.lens_verdict = messages[#messages]
  vim.cmd("%s/reference=quadrupled/reference=doubled/")
  report.mismatch = save("overused failed")
  report.wrong = wait_for_findings(true)
end

local function task_file()
  vim.cmd("edit doubled.step.yaml")
  report.task = wait_for_findings(true)
  go_to("fn_doubled")
  report.task_actions = fix()
  wait_for_findings(false)
  report.task_verdict = save("doubled passed")
  go_to("fn=fn_double", 4)
  report.task_hover = hover()
end

local function processes()
  local answers = vim.lsp.buf_request_sync(0, "stepsmith/status", {}, LIMIT)
  local _, answer = next(assert(answers))
  report.processes = { answer.result.server.pid }
  for _, simulator in ipairs(answer.result.simulators) do
    vim.list_extend(report.processes, simulator.pids)
  end
  report.clients = #vim.lsp.get_active_clients()
end

vim.notify = function(message) table.insert(messages, message) end
snippet()()

local steps = coroutine.create(function()
  python_file()
  task_file()
  processes()
end)
local timer = vim.loop.new_timer()
timer:start(PAUSE, PAUSE, vim.schedule_wrap(function()
  if coroutine.status(steps) ~= "suspended" then
    return
  end
  local is_well, problem = coroutine.resume(steps)
  if not is_well or coroutine.status(steps) == "dead" then
    timer:stop()
    finish(problem)
  end
end))
