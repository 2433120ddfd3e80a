vim.bo.commentstring = "# %s"
vim.bo.comments = ":#"
vim.bo.shiftwidth, vim.bo.expandtab = 2, true
require("ioplan").attach(vim.api.nvim_get_current_buf())
